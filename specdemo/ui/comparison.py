"""Another run beside the one on screen: its value, its view, its wiring. Knows no formula."""

from __future__ import annotations

import json
from collections.abc import Callable

import gradio as gr

from specdemo import charts, metrics
from specdemo.errors import SpecdemoError
from specdemo.palette import dark_colours
from specdemo.trace import Snapshot
from specdemo.trace_file import TraceFile
from specdemo.ui.json_view import encode, json_view
from specdemo.ui.numerals import decimal, percent
from specdemo.ui.recordings import Recordings, opened
from specdemo.ui.wording import words

_MEGABYTE = 1_000_000
_PROMPT_CHARACTERS = 80

LastSnapshot = Callable[[str | None], Snapshot | None]


def comparison_view(recordings: Recordings) -> gr.HTML:
    """A choice of a second run, the table of both and their speeds in one figure."""
    return json_view("comparison", parts=("plots",), names=list(recordings), dark=dark_colours())


def wire_comparison(
    view: gr.HTML, language: gr.Radio, recordings: Recordings, last_snapshot: LastSnapshot
) -> None:
    """The view asks for a comparison with a recording or with a file that it sends."""

    def choose(spoken: str, request: gr.Request, event: gr.EventData) -> str:
        reader = recordings.get(str((event._data or {}).get("name")))
        snapshot = last_snapshot(request.session_hash)
        return comparison_value(snapshot, reader, spoken) if reader else ""

    def take(spoken: str, request: gr.Request, event: gr.EventData) -> str:
        data = str((event._data or {}).get("data"))
        snapshot = last_snapshot(request.session_hash)
        return comparison_value(snapshot, lambda: opened(data), spoken)

    for listener, handler in ((view.comparison_select, choose), (view.comparison_open, take)):
        listener(handler, inputs=language, outputs=view, queue=False, show_progress="hidden")


def comparison_value(
    snapshot: Snapshot | None, read: Callable[[], TraceFile], language: str
) -> str:
    """Both runs' figures and speeds, or the sentence that says why not."""
    spoken = words(language)
    if snapshot is None:
        return encode({"error": spoken["compare_no_run"]})
    try:
        other = read().snapshot
    except SpecdemoError as error:
        return encode({"error": str(error)})
    ours, theirs = key_figures(snapshot, language), key_figures(other, language)
    lanes = (charts.lanes_of(snapshot), charts.lanes_of(other))
    figure = charts.overlay_figure(*lanes, spoken)
    rows = [(key, ours[key], theirs[key]) for key in ours]
    return encode({"rows": rows, "figure": json.loads(figure.to_json())})


def key_figures(snapshot: Snapshot, language: str) -> dict[str, str]:
    """What tells two runs apart, as text by the key of its words."""
    settings, run = snapshot.settings, metrics.run_metrics(snapshot.speculative.trace)
    normal = metrics.run_metrics(snapshot.normal.trace)
    memory = snapshot.speculative.memory
    spoken = words(language)
    source, length = f"draft_{settings.draft_source}", f"length_{settings.draft_length}"
    fixed = f" ({settings.num_draft_tokens})" if settings.draft_length == "fixed" else ""
    return {
        "compare_prompt": settings.prompt[:_PROMPT_CHARACTERS],
        "compare_pair": snapshot.environment.pair,
        "compare_draft": f"{spoken.get(source, '')} · {spoken.get(length, '')}{fixed}",
        "compare_temperature": decimal(settings.temperature, language, 2),
        "compare_precision": snapshot.environment.precision,
        "compare_device": snapshot.environment.processor,
        "compare_tokens": str(run.num_output_tokens),
        "compare_normal": decimal(normal.tokens_per_second, language, 1),
        "compare_speculative": decimal(run.tokens_per_second, language, 1),
        "compare_speedup": decimal(metrics.compare(snapshot).speedup, language, 2),
        "compare_alpha": _share(run.acceptance_rate, language),
        "compare_tau": decimal(run.mean_acceptance_length, language, 2),
        "compare_untested": str(run.num_draft_tokens - run.num_tested_tokens),
        "compare_overhead": _share(run.overhead_rate, language),
        "compare_memory": decimal(memory[-1].total_bytes / _MEGABYTE, language, 1)
        if memory
        else "–",
    }


def _share(value: float | None, language: str) -> str:
    return "–" if value is None else percent(value, language)
