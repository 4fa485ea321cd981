"""What stands where on the page. Knows no event: `wiring` connects what is built here."""

from __future__ import annotations

from dataclasses import dataclass, fields

import gradio as gr

from specdemo.settings import Limits
from specdemo.ui.comparison import comparison_view
from specdemo.ui.examples import Application, applications
from specdemo.ui.form import CUSTOM, DEFAULTS, MODELS, PRECISIONS, SERVERS
from specdemo.ui.json_view import json_view
from specdemo.ui.labels import Labels
from specdemo.ui.learn_tab import draw_learn_tab
from specdemo.ui.live_chart import live_chart
from specdemo.ui.measuring_tabs import MeasuringTabs, draw_measuring_tabs
from specdemo.ui.recordings import Recordings, recordings_view
from specdemo.ui.settings_fields import SettingsFields, draw_settings
from specdemo.ui.token_stream import token_stream
from specdemo.ui.tools import tools_view
from specdemo.ui.verdict import verdict_view
from specdemo.ui.wording import DEFAULT_LANGUAGE, LANGUAGES


@dataclass(frozen=True, slots=True)
class ModelFields:
    """Which pair: one of the catalogue, or two sources typed in a row of their own."""

    models: gr.Dropdown
    custom_row: gr.Row
    custom_target: gr.Textbox
    custom_draft: gr.Textbox


TABS = ("race", "benchmark", "score", "proof", "learn")


@dataclass(frozen=True, slots=True)
class Page:
    """Every component that an event reads or writes."""

    labels: Labels
    language: gr.Radio
    pair: ModelFields
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
    tools: gr.HTML
    stage: gr.HTML
    verdict: gr.HTML
    environment: gr.HTML
    follow_up: gr.Textbox
    ask: gr.Button
    charts: gr.HTML
    precisions: gr.HTML
    comparison: gr.HTML
    runs: gr.HTML
    measuring: MeasuringTabs
    learn: gr.HTML
    tabs: gr.Tabs
    conversation: gr.State
    to_start: gr.State
    listed_runs: gr.State

    @property
    def form(self) -> list[gr.components.Component]:
        """The fields of `handlers.Form`, in its order."""
        return _form(self.prompt, self.precision, self.settings, self.pair)


def draw_page(
    recordings: Recordings, pairs: tuple[str, ...] | None, *, has_custom: bool, has_servers: bool
) -> Page:
    """All components, from top to bottom; to be called inside `gr.Blocks`."""
    labels = Labels()
    with gr.Row(elem_id="sd-top"):
        with gr.Column(scale=6, min_width=320):
            labels.adopt(json_view("header"))
        models = _models(labels, pairs, has_custom=has_custom, has_servers=has_servers)
        precision, language = _choices_at_the_top(labels)
    pair = _custom_pair(labels, models)
    with gr.Tabs(elem_id="sd-tabs", overflow_behavior="wrap") as tabs:
        with labels.make(gr.Tab, {"label": "tab_race"}, id="race"):
            with gr.Row(elem_id="sd-ask"):
                prompt = _prompt(labels)
                race, step, stop, again = _actions(labels)
            examples = _examples(labels)
            settings = draw_settings(labels)
            with gr.Row(elem_id="sd-now"):
                status = labels.adopt(json_view("status"))
                recordings_row = labels.adopt(recordings_view(recordings))
            form = _form(prompt, precision, settings, pair)
            tools = labels.adopt(tools_view(form, recordings, TABS))
            stage = labels.adopt(token_stream())
            verdict = labels.adopt(verdict_view())
            follow_up, ask = _follow_up(labels)
            environment = labels.adopt(json_view("environment"))
            charts = labels.adopt(live_chart())
            precisions = labels.adopt(json_view("precisions"))
            comparison = labels.adopt(comparison_view(recordings))
            runs = labels.adopt(json_view("runs"))
        measuring = draw_measuring_tabs(labels)
        learn = draw_learn_tab(labels)
    return Page(
        labels=labels,
        language=language,
        pair=pair,
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
        tools=tools,
        stage=stage,
        verdict=verdict,
        environment=environment,
        follow_up=follow_up,
        ask=ask,
        charts=charts,
        precisions=precisions,
        comparison=comparison,
        runs=runs,
        measuring=measuring,
        learn=learn,
        tabs=tabs,
        conversation=gr.State(()),
        to_start=gr.State(False),
        listed_runs=gr.State(()),
    )


def _form(
    prompt: gr.Textbox, precision: gr.Dropdown, settings: SettingsFields, pair: ModelFields
) -> list[gr.components.Component]:
    options = [getattr(settings, field.name) for field in fields(settings)]
    return [
        prompt, precision, *options, pair.models, pair.custom_target, pair.custom_draft,
    ]  # fmt: skip


def _models(
    labels: Labels, pairs: tuple[str, ...] | None, *, has_custom: bool, has_servers: bool
) -> gr.Dropdown:
    choices = {
        **(SERVERS if has_servers else {}),
        **{name: title for name, title in MODELS.items() if pairs is None or name in pairs},
        **({CUSTOM: "custom_pair"} if has_custom else {}),
    }
    return labels.make(
        gr.Dropdown,
        {"label": "models", "choices": choices},
        value=DEFAULTS.pair,
        scale=1,
        min_width=190,
        elem_id="sd-models",
    )


def _custom_pair(labels: Labels, models: gr.Dropdown) -> ModelFields:
    with gr.Row(visible=False, elem_id="sd-custom") as row:
        target, draft = (
            labels.make(
                gr.Textbox,
                {"label": f"custom_{role}", "placeholder": f"custom_{role}_placeholder"},
                max_length=300,
                max_lines=1,
            )
            for role in ("target", "draft")
        )
    return ModelFields(models, row, target, draft)


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
