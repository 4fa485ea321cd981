"""Connects the page's components to the handlers. Knows no HTML and no formula."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import gradio as gr

from specdemo.session import ChatTurn
from specdemo.ui.api import add_endpoints
from specdemo.ui.classroom_wiring import wire_classroom
from specdemo.ui.drawing import changes_of, drawn, run_outputs
from specdemo.ui.form import Form, new_seed
from specdemo.ui.handlers import Handlers, Session
from specdemo.ui.layout import Page, draw_page
from specdemo.ui.measuring import MeasuringHandlers
from specdemo.ui.measuring_tabs import wire_measuring_tabs
from specdemo.ui.pair_wiring import wire_pair
from specdemo.ui.proving import ProofHandlers
from specdemo.ui.recordings import Recordings
from specdemo.ui.tools import JS_WANTED
from specdemo.ui.turn import DEVICE, Turns
from specdemo.ui.updates import ListedRun, Update, status
from specdemo.ui.verdict import chosen_place
from specdemo.ui.wording import language_of_visit, words

_AT_ONCE: dict[str, Any] = {"queue": False, "show_progress": "hidden"}
WhyNot = Callable[[gr.Request], str]
_SAY_WAITING = f"() => {json.dumps(status('busy', 'status_waiting'))}"


def build_page(
    session: Session,
    recordings: Recordings = MappingProxyType({}),
    *,
    allow_custom_models: bool = False,
    pairs: tuple[str, ...] | None = None,
    measuring_seconds: float | None = None,
    has_servers: bool = False,
) -> gr.Blocks:
    """The whole page on a session, ready to be launched; it opens with the first recording.

    The last four are those of `Settings`.
    """
    handlers = Handlers(session, recordings)
    measuring = MeasuringHandlers(session, handlers.visitors, measuring_seconds)
    proving = ProofHandlers(session, handlers.visitors, measuring_seconds)
    with gr.Blocks(title=words("en")["title"], fill_width=True, analytics_enabled=False) as blocks:
        page = draw_page(recordings, pairs, has_custom=allow_custom_models, has_servers=has_servers)
        _wire_words(page, handlers, measuring, blocks)
        _wire_form(page)
        turns = Turns(blocks)

        def why_not(request: gr.Request) -> str:
            return status("error", turns.refusal(request.session_hash))

        _wire_runs(page, handlers, turns, why_not)
        wire_measuring_tabs(
            page.measuring, measuring, proving, page.language,
            page.precision, device=DEVICE, say_waiting=_SAY_WAITING, why_not=why_not,
        )  # fmt: skip
        _wire_visit(page, handlers, blocks)
        wire_pair(page, handlers, blocks)
        _wire_recordings(page, handlers, recordings, blocks)
        wire_classroom(page, handlers, recordings)
        add_endpoints(blocks, session, DEVICE, measuring_seconds)
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
        **_AT_ONCE,
    )
    page.language.input(
        switch,
        inputs=page.language,
        outputs=page.labels.components,
        **_AT_ONCE,
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
            **_AT_ONCE,
        )
    page.settings.temperature.change(
        lambda temperature: gr.update(interactive=bool(temperature)),
        inputs=page.settings.temperature,
        outputs=page.again,
        **_AT_ONCE,
    )


def _wire_runs(page: Page, handlers: Handlers, turns: Turns, why_not: WhyNot) -> None:
    def race(
        request: gr.Request, language: str, runs: tuple[ListedRun, ...], *values: Any
    ) -> Iterator[list[Any]]:
        form = Form(*values)
        yield from drawn(page, handlers.race(request.session_hash, form, language, runs), language)

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
        yield from drawn(page, updates, language)

    def again(
        request: gr.Request, language: str, runs: tuple[ListedRun, ...], *values: Any
    ) -> Iterator[list[Any]]:
        updates = handlers.again(request.session_hash, Form(*values), language, runs)
        yield from drawn(page, updates, language)

    def step(request: gr.Request) -> bool:
        session_hash = request.session_hash
        return not (handlers.step(session_hash) or turns.has_run(session_hash or ""))

    def step_race(
        request: gr.Request,
        to_start: bool,
        language: str,
        runs: tuple[ListedRun, ...],
        *values: Any,
    ) -> Iterator[list[Any]]:
        if to_start:
            updates = handlers.step_race(request.session_hash, Form(*values), language, runs)
            yield from drawn(page, updates, language)

    context = [page.language, page.listed_runs]
    queued = _on_the_device(page)
    asked = [*context, page.follow_up, page.conversation, *page.form]
    race_wanted = [page.race.click, page.prompt.submit]
    follow_up_wanted = [page.ask.click, page.follow_up.submit]
    # Said in the browser, and wired first: the handlers of one click run in their order.
    said = gr.on([*race_wanted, *follow_up_wanted], None, outputs=page.status, js=_SAY_WAITING)
    said.then(lambda: handlers.waiting() or gr.skip(), None, page.status, queue=False)
    runs = [
        gr.on(race_wanted, race, inputs=[*context, *page.form], **queued),
        gr.on(follow_up_wanted, ask, inputs=asked, **queued),
    ]
    stepped = page.step.click(step, outputs=page.to_start, queue=False)
    runs.append(stepped.then(step_race, inputs=[page.to_start, *context, *page.form], **queued))
    fresh = page.again.click(new_seed, outputs=page.settings.seed, queue=False)
    runs.append(fresh.then(again, inputs=[*context, *page.form], **queued))
    for run in runs:
        run.failure(why_not, outputs=page.status, **_AT_ONCE)


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
        **_AT_ONCE,
        trigger_mode="always_last",
    )
    page.stage.pause_toggle(pause, outputs=page.status, **_AT_ONCE)
    for button, shown in [(page.stop, page.status), *page.measuring.stops]:
        button.click(stop, outputs=shown, **_AT_ONCE)
    blocks.unload(leave)


def _wire_recordings(
    page: Page, handlers: Handlers, recordings: Recordings, blocks: gr.Blocks
) -> None:
    def choose(language: str, request: gr.Request, event: gr.EventData) -> list[Any]:
        name = str((event._data or {}).get("name"))
        return shown_as(handlers.recording(request.session_hash, name, language), language)

    def take(language: str, request: gr.Request, event: gr.EventData) -> list[Any]:
        data = str((event._data or {}).get("data"))
        return shown_as(handlers.open_recording(request.session_hash, data, language), language)

    def first(wanted: str, wanted_language: str, request: gr.Request) -> list[Any]:
        language = language_of_visit(wanted_language, request.headers.get("accept-language", ""))
        name = wanted if wanted in recordings else next(iter(recordings))
        # The status line belongs to the models, which load meanwhile.
        update = replace(handlers.recording(request.session_hash, name, language), status=None)
        return shown_as(update, language)

    def save(request: gr.Request) -> str:
        return handlers.save_recording(request.session_hash)

    def shown_as(update: Update, language: str) -> list[Any]:
        changes = changes_of(page, update, language)
        return [changes.get(component, gr.skip()) for component in run_outputs(page)]

    shown: dict[str, Any] = {
        "outputs": run_outputs(page),
        **_AT_ONCE,
    }
    page.recordings.recording_select(choose, inputs=page.language, **shown)
    page.recordings.recording_open(take, inputs=page.language, **shown)
    page.recordings.recording_save(save, outputs=page.recordings, **_AT_ONCE)
    if recordings:
        blocks.load(first, inputs=[page.tools, page.recordings], js=JS_WANTED, **shown)


def _on_the_device(page: Page) -> dict[str, Any]:
    """One run at a time, whoever asks; the status line shows the place in the queue."""
    return {
        "outputs": run_outputs(page),
        "concurrency_id": DEVICE,
        "concurrency_limit": 1,
        "show_progress": "minimal",
        "show_progress_on": page.status,
    }
