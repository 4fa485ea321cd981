"""The benchmark's tab: what stands in it and what its buttons do. Knows no formula."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specdemo.benchmark import BenchmarkPlan
from specdemo.benchmark.suites import NAMED, tutorial
from specdemo.settings import Limits
from specdemo.ui.form import DRAFT_LENGTHS, DRAFT_SOURCES, PRECISIONS
from specdemo.ui.json_view import json_view
from specdemo.ui.labels import Labels
from specdemo.ui.measuring import OWN_FILE, BenchmarkForm, MeasuringHandlers, MeasuringUpdate

_SUITES = {**{name: f"bench_suite_{name.replace('-', '_')}" for name in NAMED},
           OWN_FILE: "bench_suite_own"}  # fmt: skip
_SOURCES = {name: word for name, word in DRAFT_SOURCES.items() if name != "none"}
_LENGTHS = {
    **{name: word for name, word in DRAFT_LENGTHS.items() if name != "fixed"},
    **{length: f"bench_length_{length}" for length in ("2", "4", "8")},
}
_MAX_REPEATS = 10


@dataclass(frozen=True, slots=True)
class BenchmarkTab:
    """Every component of the tab that an event reads or writes."""

    suite: gr.Radio
    own_file: gr.File
    precisions: gr.CheckboxGroup
    draft_sources: gr.CheckboxGroup
    draft_lengths: gr.CheckboxGroup
    temperature: gr.Slider
    repeats: gr.Slider
    max_new_tokens: gr.Slider
    resumed_file: gr.File
    start: gr.Button
    stop: gr.Button
    exports: tuple[gr.DownloadButton, ...]
    status: gr.HTML
    view: gr.HTML

    @property
    def form(self) -> list[gr.components.Component]:
        """The fields of `BenchmarkForm`, in its order."""
        return [getattr(self, name) for name in BenchmarkForm._fields]

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """What an update writes, in the order of `drawn`."""
        return [self.view, self.status, self.start, self.stop, *self.exports]


def draw_benchmark_tab(labels: Labels) -> BenchmarkTab:
    """All components, from top to bottom; to be called inside a tab."""
    plan = BenchmarkPlan(tutorial())
    with gr.Row(elem_classes="sd-options"):
        suite = labels.make(gr.Radio, {"label": "bench_suite", "choices": _SUITES},
                            value="tutorial", min_width=260)  # fmt: skip
        precisions = _choices(labels, "bench_precisions", PRECISIONS, plan.precisions)
        sources = _choices(labels, "bench_sources", _SOURCES, plan.draft_sources)
        lengths = _choices(labels, "bench_lengths", _LENGTHS, plan.draft_lengths)
    with gr.Row(elem_classes="sd-options"):
        repeats = labels.make(gr.Slider, {"label": "bench_repeats"}, minimum=1,
                              maximum=_MAX_REPEATS, step=1, value=plan.repeats)  # fmt: skip
        tokens = labels.make(
            gr.Slider, {"label": "bench_tokens", "info": "bench_tokens_info"},
            minimum=0, maximum=Limits().new_tokens, step=1, value=0,
        )  # fmt: skip
        temperature = labels.make(
            gr.Slider, {"label": "temperature", "info": "temperature_info"},
            minimum=0, maximum=2, step=0.05, value=plan.temperature,
        )  # fmt: skip
    with gr.Row(elem_classes="sd-options"):
        own_file = labels.make(gr.File, {"label": "bench_own"}, visible=False, height=150,
                               file_types=[".txt", ".jsonl", ".ndjson"])  # fmt: skip
        resumed = labels.make(gr.File, {"label": "bench_resume"}, file_types=[".json"],
                              height=150)  # fmt: skip
    with gr.Row(elem_classes="sd-buttons"):
        start = labels.make(gr.Button, {"value": "bench_start"}, variant="primary",
                            min_width=110, elem_id="sd-bench-start")  # fmt: skip
        stop = labels.make(gr.Button, {"value": "stop"}, interactive=False, min_width=90,
                           elem_id="sd-bench-stop")  # fmt: skip
        exports = tuple(
            labels.make(gr.DownloadButton, {"label": f"bench_{kind}"}, interactive=False,
                        min_width=90, elem_id=f"sd-bench-{kind}")
            for kind in ("json", "csv", "html")
        )  # fmt: skip
    status = labels.adopt(json_view("status", view_id="bench-status"))
    view = labels.adopt(json_view("benchmark", parts=("plots",)))
    return BenchmarkTab(
        suite, own_file, precisions, sources, lengths, temperature, repeats, tokens, resumed,
        start, stop, exports, status, view,
    )  # fmt: skip


def wire_benchmark_tab(
    tab: BenchmarkTab, handlers: MeasuringHandlers, language: gr.Radio, device: dict[str, Any]
) -> gr.events.Dependency:
    """Connect the tab; `device` says how runs queue for the device. Returns what starts a run."""

    def measure(request: gr.Request, spoken: str, *values: Any) -> Iterator[list[Any]]:
        updates = handlers.benchmark(request.session_hash, BenchmarkForm(*values), spoken)
        with closing(updates):  # type: ignore[type-var]
            yield from map(drawn, updates)

    tab.suite.change(
        lambda suite: gr.update(visible=suite == OWN_FILE), inputs=tab.suite,
        outputs=tab.own_file, queue=False, show_progress="hidden",
    )  # fmt: skip
    return tab.start.click(
        measure, inputs=[language, *tab.form], outputs=tab.outputs, show_progress_on=tab.status,
        **device,
    )  # fmt: skip


def drawn(update: MeasuringUpdate) -> list[Any]:
    """An update as the values of `BenchmarkTab.outputs`."""
    files = [gr.skip()] * 3
    if update.files is not None:
        files = [gr.update(value=path, interactive=True) for path in update.files]
    elif update.is_running:
        files = [gr.update(interactive=False)] * 3
    return [*drawn_run(update), *files]


def drawn_run(update: MeasuringUpdate) -> list[Any]:
    """View, status, start and stop."""
    start = stop = gr.skip()
    if update.is_running is not None:
        start = gr.update(interactive=not update.is_running)
        stop = gr.update(interactive=update.is_running)
    shown = [gr.skip() if value is None else value for value in (update.view, update.status)]
    return [*shown, start, stop]


def _choices(
    labels: Labels, key: str, choices: dict[str, str], chosen: tuple[str, ...]
) -> gr.CheckboxGroup:
    return labels.make(
        gr.CheckboxGroup, {"label": key, "choices": choices}, value=list(chosen), min_width=220
    )
