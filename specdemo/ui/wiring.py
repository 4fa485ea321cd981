"""Connects the page's components to the handlers. Knows no HTML and no formula."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

import gradio as gr

from specdemo.session import ChatTurn
from specdemo.ui.api import add_endpoints
from specdemo.ui.classroom_wiring import wire_classroom
from specdemo.ui.form import PRECISIONS, Form, new_seed
from specdemo.ui.handlers import Handlers, Session
from specdemo.ui.json_view import encode
from specdemo.ui.labels import choices_of
from specdemo.ui.layout import Page, draw_page
from specdemo.ui.measuring import MeasuringHandlers
from specdemo.ui.measuring_tabs import wire_measuring_tabs
from specdemo.ui.pair_wiring import DEVICE, wire_pair
from specdemo.ui.proving import ProofHandlers
from specdemo.ui.recordings import Recordings
from specdemo.ui.tools import JS_WANTED
from specdemo.ui.updates import ListedRun, Update, status
from specdemo.ui.verdict import chosen_place
from specdemo.ui.wording import language_of_visit, words

_SAY_WAITING = f"() => {json.dumps(status('busy', 'status_waiting'))}"


def build_page(
    session: Session,
    recordings: Recordings = MappingProxyType({}),
    *,
    allow_custom_models: bool = False,
) -> gr.Blocks:
    """The whole page on a session, ready to be launched; it opens with the first recording."""
    handlers = Handlers(session, recordings)
    measuring = MeasuringHandlers(session, handlers.visitors)
    with gr.Blocks(title=words("en")["title"], fill_width=True, analytics_enabled=False) as blocks:
        page = draw_page(recordings, allow_custom_models=allow_custom_models)
        _wire_words(page, handlers, measuring, blocks)
        _wire_form(page)
        _wire_runs(page, handlers)
        wire_measuring_tabs(
            page.measuring, measuring, ProofHandlers(session, handlers.visitors), page.language,
            page.precision, device=DEVICE, say_waiting=_SAY_WAITING,
        )  # fmt: skip
        _wire_visit(page, handlers, blocks)
        wire_pair(page, handlers, blocks)
        _wire_recordings(page, handlers, recordings, blocks)
        wire_classroom(page, handlers, recordings)
        add_endpoints(blocks, session, DEVICE)
    return blocks


def _wire_words(
    page: Page, handlers: Handlers, measuring: MeasuringHandlers, blocks: gr.Blocks
) -> None:
    def greet(_: str, wanted: str, request: gr.Request) -> list[Any]:
        language = language_of_visit(wanted, request.headers.get("accept-language", ""))
        return [language, *spoken(language, request)]

    def switch(language: str, request: gr.Request) -> list[Any]:
        return spoken(language, request)

    def spoken(language: str, request: gr.Request) -> list[Any]:
        session_hash = request.session_hash
        values = page.measuring.views(measuring, session_hash, language)
        values[page.charts] = handlers.charts(session_hash, language)
        return page.labels.updates(language, values)

    blocks.load(
        greet,
        inputs=[page.tools, page.recordings],
        outputs=[page.language, *page.labels.components],
        js=JS_WANTED,
        queue=False,
        show_progress="hidden",
    )
    page.language.input(
        switch,
        inputs=page.language,
        outputs=page.labels.components,
        queue=False,
        show_progress="hidden",
    )


def _wire_form(page: Page) -> None:
    for application, button in page.examples:

        def choose(prompt: str, application: Any = application) -> tuple[str, str]:
            mode = "chat" if application.is_chat else "completion"
            return application.prompt_after(prompt), mode

        button.click(
            choose,
            inputs=page.prompt,
            outputs=[page.prompt, page.settings.mode],
            queue=False,
            show_progress="hidden",
        )
    page.settings.temperature.change(
        lambda temperature: gr.update(interactive=bool(temperature)),
        inputs=page.settings.temperature,
        outputs=page.again,
        queue=False,
        show_progress="hidden",
    )


def _wire_runs(page: Page, handlers: Handlers) -> None:
    def race(
        request: gr.Request, language: str, runs: tuple[ListedRun, ...], *values: Any
    ) -> Iterator[list[Any]]:
        form = Form(*values)
        yield from _drawn(page, handlers.race(request.session_hash, form, language, runs), language)

    def ask(
        request: gr.Request,
        language: str,
        runs: tuple[ListedRun, ...],
        prompt: str,
        conversation: tuple[ChatTurn, ...],
        *values: Any,
    ) -> Iterator[list[Any]]:
        form = Form(*values)._replace(prompt=prompt)
        updates = handlers.race(request.session_hash, form, language, runs, conversation)
        yield from _drawn(page, updates, language)

    def again(
        request: gr.Request, language: str, runs: tuple[ListedRun, ...], *values: Any
    ) -> Iterator[list[Any]]:
        updates = handlers.again(request.session_hash, Form(*values), language, runs)
        yield from _drawn(page, updates, language)

    def step(request: gr.Request) -> bool:
        return not handlers.step(request.session_hash)

    def step_race(
        request: gr.Request,
        to_start: bool,
        language: str,
        runs: tuple[ListedRun, ...],
        *values: Any,
    ) -> Iterator[list[Any]]:
        if to_start:
            updates = handlers.step_race(request.session_hash, Form(*values), language, runs)
            yield from _drawn(page, updates, language)

    context = [page.language, page.listed_runs]
    queued = _on_the_device(page)
    asked = [*context, page.follow_up, page.conversation, *page.form]
    race_wanted = [page.race.click, page.prompt.submit]
    follow_up_wanted = [page.ask.click, page.follow_up.submit]
    # Said in the browser, and wired first: the handlers of one click run in their order.
    said = gr.on([*race_wanted, *follow_up_wanted], None, outputs=page.status, js=_SAY_WAITING)
    said.then(lambda: handlers.waiting() or gr.skip(), None, page.status, queue=False)
    gr.on(race_wanted, race, inputs=[*context, *page.form], **queued)
    gr.on(follow_up_wanted, ask, inputs=asked, **queued)
    stepped = page.step.click(step, outputs=page.to_start, queue=False)
    stepped.then(step_race, inputs=[page.to_start, *context, *page.form], **queued)
    fresh = page.again.click(new_seed, outputs=page.settings.seed, queue=False)
    fresh.then(again, inputs=[*context, *page.form], **queued)


def _wire_visit(page: Page, handlers: Handlers, blocks: gr.Blocks) -> None:
    def stop(request: gr.Request) -> str:
        return handlers.stop(request.session_hash)

    def pause(request: gr.Request) -> Any:
        return handlers.toggle_pause(request.session_hash) or gr.skip()

    def judge(language: str, request: gr.Request, event: gr.EventData) -> str:
        return handlers.verdict(request.session_hash, chosen_place(event), language)

    def leave(request: gr.Request) -> None:
        handlers.visitors.leave(request.session_hash)

    page.stage.token_select(
        judge,
        inputs=page.language,
        outputs=page.verdict,
        queue=False,
        show_progress="hidden",
        trigger_mode="always_last",
    )
    page.stage.pause_toggle(pause, outputs=page.status, queue=False, show_progress="hidden")
    for button, shown in [(page.stop, page.status), *page.measuring.stops]:
        button.click(stop, outputs=shown, queue=False, show_progress="hidden")
    blocks.unload(leave)


def _wire_recordings(
    page: Page, handlers: Handlers, recordings: Recordings, blocks: gr.Blocks
) -> None:
    def choose(language: str, request: gr.Request, event: gr.EventData) -> list[Any]:
        name = str((event._data or {}).get("name"))
        return drawn(handlers.recording(request.session_hash, name, language), language)

    def take(language: str, request: gr.Request, event: gr.EventData) -> list[Any]:
        data = str((event._data or {}).get("data"))
        return drawn(handlers.open_recording(request.session_hash, data, language), language)

    def first(wanted: str, wanted_language: str, request: gr.Request) -> list[Any]:
        language = language_of_visit(wanted_language, request.headers.get("accept-language", ""))
        name = wanted if wanted in recordings else next(iter(recordings))
        # The status line belongs to the models, which load meanwhile.
        update = replace(handlers.recording(request.session_hash, name, language), status=None)
        return drawn(update, language)

    def save(request: gr.Request) -> str:
        return handlers.save_recording(request.session_hash)

    def drawn(update: Update, language: str) -> list[Any]:
        changes = _changes(page, update, language)
        return [changes.get(component, gr.skip()) for component in _run_outputs(page)]

    shown: dict[str, Any] = {
        "outputs": _run_outputs(page),
        "queue": False,
        "show_progress": "hidden",
    }
    page.recordings.recording_select(choose, inputs=page.language, **shown)
    page.recordings.recording_open(take, inputs=page.language, **shown)
    page.recordings.recording_save(
        save, outputs=page.recordings, queue=False, show_progress="hidden"
    )
    if recordings:
        blocks.load(first, inputs=[page.tools, page.recordings], js=JS_WANTED, **shown)


def _on_the_device(page: Page) -> dict[str, Any]:
    """One run at a time, whoever asks; the status line shows the place in the queue."""
    return {
        "outputs": _run_outputs(page),
        "concurrency_id": DEVICE,
        "concurrency_limit": 1,
        "show_progress": "minimal",
        "show_progress_on": page.status,
    }


def _run_outputs(page: Page) -> list[gr.blocks.Block]:
    return [
        page.stage,
        page.charts,
        page.environment,
        page.status,
        page.race,
        page.stop,
        page.follow_up,
        page.ask,
        page.precision,
        page.precisions,
        page.conversation,
        page.listed_runs,
        page.runs,
    ]


def _drawn(page: Page, updates: Iterator[Update], language: str) -> Iterator[list[Any]]:
    """Updates as the values of `_run_outputs`; closing this closes the run."""
    with closing(updates):  # type: ignore[type-var]
        for update in updates:
            changes = _changes(page, update, language)
            yield [changes.get(component, gr.skip()) for component in _run_outputs(page)]


def _changes(page: Page, update: Update, language: str) -> dict[gr.blocks.Block, Any]:
    changes: dict[gr.blocks.Block, Any] = {
        page.stage: update.stream,
        page.charts: update.charts,
        page.environment: update.environment,
        page.status: update.status,
        page.precisions: update.precisions,
        page.conversation: update.conversation,
        page.listed_runs: update.runs,
    }
    if update.is_running is not None:
        changes[page.race] = gr.update(interactive=not update.is_running)
        changes[page.stop] = gr.update(interactive=update.is_running)
    if update.conversation is not None:
        changes[page.follow_up] = gr.update(value="", interactive=bool(update.conversation))
        changes[page.ask] = gr.update(interactive=bool(update.conversation))
    if update.runs is not None:
        changes[page.runs] = encode([asdict(run) for run in update.runs])
    if update.chosen_precision is not None:
        spoken = words(language)
        label = spoken["precision_auto_chose"].format(precision=update.chosen_precision)
        others = [
            (shown, value) for shown, value in choices_of(PRECISIONS, spoken) if value != "auto"
        ]
        changes[page.precision] = gr.update(choices=[(label, "auto"), *others])
    return {component: change for component, change in changes.items() if change is not None}
