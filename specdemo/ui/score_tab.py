"""The tab of draft-and-score: what stands in it. Knows no event."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from specdemo.benchmark.suites import tutorial
from specdemo.settings import Limits
from specdemo.ui.form import MODES
from specdemo.ui.json_view import json_view
from specdemo.ui.labels import Labels

_MAX_NEW_TOKENS = 100


@dataclass(frozen=True, slots=True)
class ScoreTab:
    """Every component of the tab that an event reads or writes."""

    prompt: gr.Textbox
    mode: gr.Radio
    max_new_tokens: gr.Slider
    start: gr.Button
    stop: gr.Button
    status: gr.HTML
    view: gr.HTML

    @property
    def form(self) -> list[gr.components.Component]:
        """The tab's own fields of `ScoreForm`, in its order; the page's precision comes last."""
        return [self.prompt, self.mode, self.max_new_tokens]

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """What an update writes, in the order of `drawn_run`."""
        return [self.view, self.status, self.start, self.stop]


def draw_score_tab(labels: Labels) -> ScoreTab:
    """All components, from top to bottom; to be called inside a tab."""
    prompt = labels.make(
        gr.Textbox, {"label": "prompt"}, value=tutorial().cases[0].prompt, lines=1, max_lines=6,
        max_length=Limits().prompt_characters, elem_id="sd-score-prompt",
    )  # fmt: skip
    with gr.Row(elem_classes="sd-options"):
        mode = labels.make(gr.Radio, {"label": "mode", "choices": MODES}, value="completion")
        tokens = labels.make(
            gr.Slider, {"label": "max_new_tokens"}, minimum=1, maximum=Limits().new_tokens, step=1,
            value=_MAX_NEW_TOKENS,
        )  # fmt: skip
    with gr.Row(elem_classes="sd-buttons"):
        start = labels.make(gr.Button, {"value": "score_start"}, variant="primary",
                            min_width=160, elem_id="sd-score-start")  # fmt: skip
        stop = labels.make(gr.Button, {"value": "stop"}, interactive=False, min_width=90,
                           elem_id="sd-score-stop")  # fmt: skip
    status = labels.adopt(json_view("status", view_id="score-status"))
    view = labels.adopt(json_view("score"))
    return ScoreTab(prompt, mode, tokens, start, stop, status, view)
