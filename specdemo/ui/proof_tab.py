"""The tab of the proof: what stands in it. Knows no event."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from specdemo.proof import FAULTS, NUM_RUNS, SOUND
from specdemo.settings import Limits
from specdemo.ui.form import MODES
from specdemo.ui.json_view import json_view
from specdemo.ui.labels import Labels

_PROMPT = "Give me a random word."
_FAULTS = {kind: f"proof_fault_{kind}" for kind in (SOUND, *FAULTS)}


@dataclass(frozen=True, slots=True)
class ProofTab:
    """Every component of the tab that an event reads or writes."""

    prompt: gr.Textbox
    mode: gr.Radio
    num_runs: gr.Slider
    fault: gr.Radio
    start: gr.Button
    stop: gr.Button
    status: gr.HTML
    view: gr.HTML

    @property
    def form(self) -> list[gr.components.Component]:
        """The tab's own fields of `ProofForm`, in its order; the page's precision comes last."""
        return [self.prompt, self.mode, self.num_runs, self.fault]

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """What an update writes, in the order of `drawn_run`."""
        return [self.view, self.status, self.start, self.stop]


def draw_proof_tab(labels: Labels) -> ProofTab:
    """All components, from top to bottom; to be called inside a tab."""
    prompt = labels.make(
        gr.Textbox, {"label": "prompt"}, value=_PROMPT, lines=1, max_lines=6,
        max_length=Limits().prompt_characters, elem_id="sd-proof-prompt",
    )  # fmt: skip
    with gr.Row(elem_classes="sd-options"):
        mode = labels.make(gr.Radio, {"label": "mode", "choices": MODES}, value="chat")
        num_runs = labels.make(
            gr.Slider, {"label": "proof_num_runs"}, minimum=1_000, maximum=100_000, step=1_000,
            value=NUM_RUNS,
        )  # fmt: skip
    fault = labels.make(
        gr.Radio, {"label": "proof_break_it", "choices": _FAULTS}, value=SOUND,
        elem_id="sd-proof-fault",
    )  # fmt: skip
    with gr.Row(elem_classes="sd-buttons"):
        start = labels.make(gr.Button, {"value": "proof_start"}, variant="primary",
                            min_width=160, elem_id="sd-proof-start")  # fmt: skip
        stop = labels.make(gr.Button, {"value": "stop"}, interactive=False, min_width=90,
                           elem_id="sd-proof-stop")  # fmt: skip
    status = labels.adopt(json_view("status", view_id="proof-status"))
    view = labels.adopt(json_view("proof", parts=("plots",)))
    return ProofTab(prompt, mode, num_runs, fault, start, stop, status, view)
