"""The three tabs that measure, as one part of the page. Knows none of their components."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specdemo.ui.benchmark_tab import (
    BenchmarkTab,
    draw_benchmark_tab,
    drawn_run,
    wire_benchmark_tab,
)
from specdemo.ui.labels import Labels
from specdemo.ui.measuring import MeasuringHandlers, MeasuringUpdate, ScoreForm
from specdemo.ui.proof_tab import ProofTab, draw_proof_tab
from specdemo.ui.proving import ProofForm, ProofHandlers
from specdemo.ui.score_tab import ScoreTab, draw_score_tab


@dataclass(frozen=True, slots=True)
class MeasuringTabs:
    """Benchmark, draft-and-score, and proof."""

    benchmark: BenchmarkTab
    score: ScoreTab
    proof: ProofTab

    @property
    def stops(self) -> list[tuple[gr.Button, gr.HTML]]:
        """Each stop button with the status line that it speaks on."""
        return [(tab.stop, tab.status) for tab in (self.benchmark, self.score, self.proof)]

    def views(
        self, handlers: MeasuringHandlers, session_hash: str | None, language: str
    ) -> dict[gr.blocks.Block, str]:
        """Their views as the visitor left them, in a language."""
        values = handlers.views(session_hash, language)
        return dict(zip((self.benchmark.view, self.score.view, self.proof.view), values))


def draw_measuring_tabs(labels: Labels) -> MeasuringTabs:
    """All three; to be called inside `gr.Tabs`."""
    with labels.make(gr.Tab, {"label": "tab_benchmark"}, id="benchmark"):
        benchmark = draw_benchmark_tab(labels)
    with labels.make(gr.Tab, {"label": "tab_score"}, id="score"):
        score = draw_score_tab(labels)
    with labels.make(gr.Tab, {"label": "tab_proof"}, id="proof"):
        proof = draw_proof_tab(labels)
    return MeasuringTabs(benchmark, score, proof)


def wire_measuring_tabs(
    tabs: MeasuringTabs,
    handlers: MeasuringHandlers,
    proving: ProofHandlers,
    language: gr.Radio,
    precision: gr.Dropdown,
    *,
    device: str,
    say_waiting: str,
    why_not: Callable[[gr.Request], str],
) -> None:
    """Connect them; `device` is the queue of everything that runs a model.

    `why_not` has the status of a run that the queue did not take.
    """
    queue: dict[str, Any] = {
        "concurrency_id": device, "concurrency_limit": 1, "show_progress": "minimal",
    }  # fmt: skip
    # Said in the browser, and wired first: the handlers of one click run in their order.
    gr.on(tabs.benchmark.start.click, None, outputs=tabs.benchmark.status, js=say_waiting)
    for tab in (tabs.score, tabs.proof):
        asked = [tab.start.click, tab.prompt.submit]
        gr.on(asked, None, outputs=tab.status, js=say_waiting)
    started = [
        (wire_benchmark_tab(tabs.benchmark, handlers, language, queue), tabs.benchmark.status)
    ]
    forms = ((tabs.score, handlers.score, ScoreForm), (tabs.proof, proving.prove, ProofForm))
    for tab, run, form in forms:
        inputs = [language, *tab.form, precision]
        started.append((_wire_prompted(tab, run, form, inputs, queue), tab.status))
    for run_started, shown in started:
        run_started.failure(why_not, outputs=shown, queue=False, show_progress="hidden")


def _wire_prompted(
    tab: ScoreTab | ProofTab,
    run: Callable[[str | None, Any, str], Iterator[MeasuringUpdate]],
    form: Callable[..., Any],
    inputs: list[gr.components.Component],
    queue: dict[str, Any],
) -> gr.events.Dependency:
    """Run what a tab asks for, from its button and from its prompt."""

    def drawn(request: gr.Request, language: str, *values: Any) -> Iterator[list[Any]]:
        updates = run(request.session_hash, form(*values), language)
        with closing(updates):  # type: ignore[type-var]
            yield from map(drawn_run, updates)

    return gr.on(
        [tab.start.click, tab.prompt.submit], drawn, inputs=inputs, outputs=tab.outputs,
        show_progress_on=tab.status, **queue,
    )  # fmt: skip
