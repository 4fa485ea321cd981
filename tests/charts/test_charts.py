"""What the charts promise, on traces worked out by hand."""

from __future__ import annotations

import pytest

from specdemo import metrics
from specdemo.charts import charts as all_charts
from specdemo.charts import latency, memory, speed
from specdemo.events import (
    FinishReason,
    JudgedToken,
    PrefillFinished,
    Round,
    TokenOutcome,
)
from specdemo.palette import LANE_COLOURS, dark_colours
from specdemo.trace import LaneSnapshot, MemorySample, RunTrace
from specdemo.ui.wording import words

ENGLISH = words("en")
EMPTY = {"normal": LaneSnapshot(), "speculative": LaneSnapshot()}


def lane(*rounds: tuple[float, int], peak: int | None = None) -> LaneSnapshot:
    """A prefill of one second, then rounds of so many seconds with so many output tokens."""
    token = JudgedToken(1, TokenOutcome.ACCEPTED)
    trace = RunTrace(
        prefill=PrefillFinished(5, 1.0, 0.0, 0.0),
        rounds=tuple(
            Round(index, (token,) * count, 0.0, seconds, 0.0)
            for index, (seconds, count) in enumerate(rounds)
        ),
    )
    sample = MemorySample(trace.seconds, 200_000_000, 20_000_000, 3_000_000, 0, 1_000_000, 0, peak)
    return LaneSnapshot(trace=trace, memory=(sample,))


def bars(figure: object) -> list[object]:
    return [trace for trace in figure.data if trace.type == "bar"]  # type: ignore[attr-defined]


def test_latency_shows_first_token_time_per_token_and_total() -> None:
    figure = latency.latency_figure(
        {"normal": lane((0.5, 1), (0.5, 1), (0.5, 1)), "speculative": lane((1.0, 3))}, ENGLISH
    )
    first, total = (list(bar.x) for bar in bars(figure))  # type: ignore[attr-defined]
    assert first == [1.5, 2.0]
    assert total == [2.5, 2.0]


def test_time_per_output_token_is_drawn_as_its_distribution() -> None:
    lanes = {"normal": lane(*[(0.5, 1)] * 4, (1.0, 1)), "speculative": lane((1.0, 4))}
    normal, speculative = (
        box for box in latency.latency_figure(lanes, ENGLISH).data if box.type == "box"
    )
    assert (normal.q1[0], normal.median[0], normal.q3[0]) == (500, 500, 500)
    assert normal.upperfence[0] == 900
    assert speculative.median[0] == 250


def test_one_token_has_no_time_per_output_token() -> None:
    assert metrics.time_per_output_token_seconds(lane((0.5, 1)).trace) is None


@pytest.mark.parametrize("chart", [1, 2, 3, 4])
def test_an_empty_run_draws_nothing_and_says_so(chart: int) -> None:
    drawn = all_charts(EMPTY, ENGLISH)[chart]
    values = [value for trace in drawn.figure.data for value in (trace.x or ())]
    assert not [value for value in values if isinstance(value, float)]
    assert ENGLISH["not_measured"] in drawn.text


def test_tokens_of_one_round_are_one_point_at_its_end() -> None:
    figure = speed.speed_figure(
        {"normal": lane((1.0, 1)), "speculative": lane((1.0, 3), (2.0, 5))}, ENGLISH
    )
    mean = next(t for t in figure.data if t.name == "Speculative, mean so far")
    assert list(mean.x) == [2.0, 4.0]
    assert list(mean.y) == [1.5, 2.0]


def test_recent_speed_counts_the_last_second_only() -> None:
    figure = speed.speed_figure(
        {"normal": lane(*[(0.25, 1)] * 8), "speculative": LaneSnapshot()}, ENGLISH
    )
    recent = next(t for t in figure.data if t.name == "Normal, last 1 s")
    assert recent.y[-1] == 4.0


def test_a_long_run_is_thinned_and_keeps_its_last_point() -> None:
    run = lane(*[(0.01, 1)] * 1000)
    figure = speed.speed_figure({"normal": run, "speculative": LaneSnapshot()}, ENGLISH)
    mean = next(t for t in figure.data if t.name == "Normal, mean so far")
    assert len(mean.x) <= speed.MAX_POINTS
    assert mean.x[-1] == pytest.approx(run.trace.seconds, abs=0.001)


def test_memory_stacks_weights_and_caches_and_draws_the_process_peak_once() -> None:
    lanes = {"normal": lane((1.0, 1), peak=400_000_000), "speculative": lane((1.0, 1))}
    drawn = {
        bar.name: (list(bar.y), list(bar.x)) for bar in bars(memory.memory_figure(lanes, ENGLISH))
    }  # type: ignore[attr-defined]
    both = ["Normal", "Speculative"]
    assert drawn["target weights"] == (both, [200.0, 200.0])
    assert drawn["draft weights"] == (both, [20.0, 20.0])
    assert drawn["target KV cache"] == (both, [3.0, 3.0])
    assert drawn["draft KV cache"] == (both, [1.0, 1.0])
    assert drawn["measured peak"] == (["measured peak"], [400.0])


def test_a_peak_that_cannot_be_read_is_missing_and_not_zero() -> None:
    lanes = {"normal": lane((1.0, 1)), "speculative": lane((1.0, 1))}
    assert "measured peak" not in {bar.name for bar in bars(memory.memory_figure(lanes, ENGLISH))}  # type: ignore[attr-defined]
    assert memory.memory_text(lanes, ENGLISH).endswith("measured peak: not measured yet.")


def test_a_stopped_run_is_drawn_like_any_other() -> None:
    stopped = LaneSnapshot(
        trace=RunTrace(
            prefill=PrefillFinished(5, 1.0, 0.0, 0.0), finish_reason=FinishReason.STOPPED
        )
    )
    text = latency.latency_text({"normal": stopped, "speculative": stopped}, ENGLISH)
    assert "Total, s: Normal 1, Speculative 1." in text


def test_every_colour_of_a_figure_has_a_dark_twin() -> None:
    lanes = {"normal": lane((1.0, 1), peak=1), "speculative": lane((1.0, 1))}
    used = {
        part for chart in all_charts(lanes, ENGLISH) for part in _colours(chart.figure.to_dict())
    }
    assert used
    assert used <= set(dark_colours())


def test_both_lanes_keep_their_colour_in_every_chart() -> None:
    lanes = {"normal": lane((1.0, 1)), "speculative": lane((1.0, 2))}
    expected = [LANE_COLOURS["normal"].light, LANE_COLOURS["speculative"].light]
    assert list(bars(latency.latency_figure(lanes, ENGLISH))[0].marker.color) == expected  # type: ignore[attr-defined]
    means = [trace for trace in speed.speed_figure(lanes, ENGLISH).data if trace.showlegend]
    assert [trace.line.color for trace in means] == expected


def _colours(node: object) -> set[str]:
    if isinstance(node, dict):
        return set().union(*map(_colours, node.values())) if node else set()
    if isinstance(node, (list, tuple)):
        return set().union(*map(_colours, node)) if node else set()
    return {node} if isinstance(node, str) and node.startswith("#") else set()
