"""The two tabs that measure, as one part of the page. Knows neither's components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from specdemo.ui.benchmark_tab import BenchmarkTab, draw_benchmark_tab, wire_benchmark_tab
from specdemo.ui.labels import Labels
from specdemo.ui.measuring import MeasuringHandlers
from specdemo.ui.score_tab import ScoreTab, draw_score_tab, wire_score_tab


@dataclass(frozen=True, slots=True)
class MeasuringTabs:
    """Benchmark, and draft-and-score."""

    benchmark: BenchmarkTab
    score: ScoreTab

    @property
    def stops(self) -> list[tuple[gr.Button, gr.HTML]]:
        """Each stop button with the status line that it speaks on."""
        return [(tab.stop, tab.status) for tab in (self.benchmark, self.score)]

    def views(
        self, handlers: MeasuringHandlers, session_hash: str | None, language: str
    ) -> dict[gr.blocks.Block, str]:
        """Both views as the visitor left them, in a language."""
        values = handlers.views(session_hash, language)
        return dict(zip((self.benchmark.view, self.score.view), values))


def draw_measuring_tabs(labels: Labels) -> MeasuringTabs:
    """Both tabs; to be called inside `gr.Tabs`."""
    with labels.make(gr.Tab, {"label": "tab_benchmark"}, id="benchmark"):
        benchmark = draw_benchmark_tab(labels)
    with labels.make(gr.Tab, {"label": "tab_score"}, id="score"):
        score = draw_score_tab(labels)
    return MeasuringTabs(benchmark, score)


def wire_measuring_tabs(
    tabs: MeasuringTabs,
    handlers: MeasuringHandlers,
    language: gr.Radio,
    precision: gr.Dropdown,
    *,
    device: str,
    say_waiting: str,
) -> None:
    """Connect both; `device` is the queue of everything that runs a model."""
    queue: dict[str, Any] = {
        "concurrency_id": device, "concurrency_limit": 1, "show_progress": "minimal",
    }  # fmt: skip
    # Said in the browser, and wired first: the handlers of one click run in their order.
    gr.on(tabs.benchmark.start.click, None, outputs=tabs.benchmark.status, js=say_waiting)
    asked = [tabs.score.start.click, tabs.score.prompt.submit]
    gr.on(asked, None, outputs=tabs.score.status, js=say_waiting)
    wire_benchmark_tab(tabs.benchmark, handlers, language, queue)
    wire_score_tab(tabs.score, handlers, language, precision, queue)
