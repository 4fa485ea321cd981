"""What stands where on the page. Knows no event: `wiring` connects what is built here."""

from __future__ import annotations

from dataclasses import dataclass, fields

import gradio as gr

from specdemo.models.catalog import PAIRS
from specdemo.settings import Limits
from specdemo.ui.examples import Application, applications
from specdemo.ui.form import DEFAULTS, DRAFT_LENGTHS, DRAFT_SOURCES, MODES, ORDERS, PRECISIONS
from specdemo.ui.json_view import json_view
from specdemo.ui.labels import Labels
from specdemo.ui.live_chart import live_chart
from specdemo.ui.recordings import Recordings, recordings_view
from specdemo.ui.token_stream import token_stream
from specdemo.ui.verdict import verdict_view
from specdemo.ui.wording import DEFAULT_LANGUAGE, LANGUAGES


@dataclass(frozen=True, slots=True)
class SettingsFields:
    """The folded settings, in the order of `handlers.Form`."""

    mode: gr.Radio
    draft_source: gr.Dropdown
    draft_length: gr.Dropdown
    num_draft_tokens: gr.Slider
    temperature: gr.Slider
    top_k: gr.Number
    top_p: gr.Slider
    repetition_penalty: gr.Slider
    seed: gr.Number
    max_new_tokens: gr.Slider
    order: gr.Radio
    system_prompt: gr.Textbox


@dataclass(frozen=True, slots=True)
class Page:
    """Every component that an event reads or writes."""

    labels: Labels
    language: gr.Radio
    precision: gr.Dropdown
    prompt: gr.Textbox
    race: gr.Button
    step: gr.Button
    stop: gr.Button
    again: gr.Button
    examples: tuple[tuple[Application, gr.Button], ...]
    settings: SettingsFields
    status: gr.HTML
    recordings: gr.HTML
    stage: gr.HTML
    verdict: gr.HTML
    environment: gr.HTML
    follow_up: gr.Textbox
    ask: gr.Button
    charts: gr.HTML
    runs: gr.HTML
    conversation: gr.State
    to_start: gr.State
    listed_runs: gr.State

    @property
    def form(self) -> list[gr.components.Component]:
        """The fields of `handlers.Form`, in its order."""
        settings = [getattr(self.settings, field.name) for field in fields(self.settings)]
        return [self.prompt, self.precision, *settings]


def draw_page(recordings: Recordings) -> Page:
    """All components, from top to bottom; to be called inside `gr.Blocks`."""
    labels = Labels()
    with gr.Row(elem_id="sd-top"):
        with gr.Column(scale=6, min_width=320):
            labels.adopt(json_view("header", pair=PAIRS[DEFAULTS.pair].title))
        precision, language = _choices_at_the_top(labels)
    with gr.Row(elem_id="sd-ask"):
        prompt = _prompt(labels)
        race, step, stop, again = _actions(labels)
    examples = _examples(labels)
    settings = _settings(labels)
    with gr.Row(elem_id="sd-now"):
        status = labels.adopt(json_view("status"))
        recordings_row = labels.adopt(recordings_view(recordings))
    stage = labels.adopt(token_stream())
    verdict = labels.adopt(verdict_view())
    follow_up, ask = _follow_up(labels)
    environment = labels.adopt(json_view("environment"))
    charts = labels.adopt(live_chart())
    runs = labels.adopt(json_view("runs"))
    return Page(
        labels=labels,
        language=language,
        precision=precision,
        prompt=prompt,
        race=race,
        step=step,
        stop=stop,
        again=again,
        examples=examples,
        settings=settings,
        status=status,
        recordings=recordings_row,
        stage=stage,
        verdict=verdict,
        environment=environment,
        follow_up=follow_up,
        ask=ask,
        charts=charts,
        runs=runs,
        conversation=gr.State(()),
        to_start=gr.State(False),
        listed_runs=gr.State(()),
    )


def _choices_at_the_top(labels: Labels) -> tuple[gr.Dropdown, gr.Radio]:
    precision = labels.make(
        gr.Dropdown,
        {"label": "precision", "choices": PRECISIONS},
        value=DEFAULTS.precision,
        scale=1,
        min_width=150,
        elem_id="sd-precision",
    )
    language = labels.make(
        gr.Radio,
        {"label": "language"},
        choices=[(name, key) for key, name in LANGUAGES.items()],
        value=DEFAULT_LANGUAGE,
        scale=1,
        min_width=200,
        elem_id="sd-language",
    )
    return precision, language


def _prompt(labels: Labels) -> gr.Textbox:
    return labels.make(
        gr.Textbox,
        {"label": "prompt", "placeholder": "prompt_placeholder"},
        value=applications()[0].prompts[0],
        lines=1,
        max_lines=6,
        max_length=Limits().prompt_characters,
        autofocus=True,
        container=False,
        scale=6,
        min_width=320,
        elem_id="sd-prompt",
    )


def _actions(labels: Labels) -> tuple[gr.Button, gr.Button, gr.Button, gr.Button]:
    with gr.Row(elem_id="sd-actions", scale=1):
        race = labels.make(
            gr.Button, {"value": "race"}, variant="primary", min_width=90, elem_id="sd-race"
        )
        step = labels.make(gr.Button, {"value": "step"}, min_width=70, elem_id="sd-step")
        stop = labels.make(
            gr.Button, {"value": "stop"}, interactive=False, min_width=90, elem_id="sd-stop"
        )
        again = labels.make(
            gr.Button, {"value": "again"}, interactive=False, min_width=190, elem_id="sd-again"
        )
    return race, step, stop, again


def _examples(labels: Labels) -> tuple[tuple[Application, gr.Button], ...]:
    with gr.Row(elem_id="sd-examples"):
        labels.adopt(json_view("caption"))
        return tuple(
            (
                application,
                labels.make(
                    gr.Button, {"value": f"example_{application.key}"}, size="sm", min_width=60
                ),
            )
            for application in applications()
        )


def _settings(labels: Labels) -> SettingsFields:
    limits, default = Limits(), DEFAULTS
    with labels.make(gr.Accordion, {"label": "settings"}, open=False, elem_id="sd-settings"):
        with gr.Row():
            mode = labels.make(gr.Radio, {"label": "mode", "choices": MODES}, value="chat")
            order = labels.make(
                gr.Radio, {"label": "order", "choices": ORDERS}, value=default.order
            )
            source = labels.make(
                gr.Dropdown,
                {"label": "draft_source", "choices": DRAFT_SOURCES},
                value=default.draft_source,
            )
            length = labels.make(
                gr.Dropdown,
                {"label": "draft_length", "choices": DRAFT_LENGTHS},
                value=default.draft_length,
            )
            num_draft_tokens = _slider(
                labels,
                "num_draft_tokens",
                default.num_draft_tokens,
                bounds=(1, limits.num_draft_tokens),
                step=1,
                has_info=True,
            )
        with gr.Row():
            max_new_tokens = _slider(
                labels,
                "max_new_tokens",
                default.max_new_tokens,
                bounds=(1, limits.new_tokens),
                step=1,
            )
            temperature = _slider(
                labels,
                "temperature",
                default.temperature,
                bounds=(0, 2),
                step=0.05,
                has_info=True,
            )
            penalty = _slider(
                labels,
                "repetition_penalty",
                default.repetition_penalty,
                bounds=(1, 2),
                step=0.01,
                has_info=True,
            )
        with gr.Row():
            top_p = _slider(
                labels, "top_p", default.top_p, bounds=(0.01, 1), step=0.01, has_info=True
            )
            top_k = _number(labels, "top_k", default.top_k)
            seed = _number(labels, "seed", default.seed)
        system_prompt = labels.make(
            gr.Textbox,
            {"label": "system_prompt", "placeholder": "system_prompt_placeholder"},
            max_length=limits.prompt_characters,
        )
    return SettingsFields(
        mode=mode,
        draft_source=source,
        draft_length=length,
        num_draft_tokens=num_draft_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        repetition_penalty=penalty,
        seed=seed,
        max_new_tokens=max_new_tokens,
        order=order,
        system_prompt=system_prompt,
    )


def _slider(
    labels: Labels,
    name: str,
    value: float,
    *,
    bounds: tuple[float, float],
    step: float,
    has_info: bool = False,
) -> gr.Slider:
    keys = {"label": name, "info": f"{name}_info"} if has_info else {"label": name}
    low, high = bounds
    return labels.make(
        gr.Slider, keys, minimum=low, maximum=high, step=step, value=value, min_width=220
    )


def _number(labels: Labels, name: str, value: int) -> gr.Number:
    keys = {"label": name, "info": f"{name}_info"}
    return labels.make(gr.Number, keys, value=value, precision=0, min_width=160)


def _follow_up(labels: Labels) -> tuple[gr.Textbox, gr.Button]:
    with gr.Row(elem_id="sd-follow-up"):
        text = labels.make(
            gr.Textbox,
            {"label": "follow_up", "placeholder": "follow_up_placeholder"},
            lines=1,
            max_lines=4,
            max_length=Limits().prompt_characters,
            interactive=False,
            container=False,
            scale=8,
        )
        ask = labels.make(gr.Button, {"value": "ask"}, interactive=False, scale=1, min_width=90)
    return text, ask
