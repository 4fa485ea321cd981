"""What the charts about rounds, time and theory promise, on traces worked out by hand."""

from __future__ import annotations

import pytest

from specdemo import metrics
from specdemo.charts import acceptance, charts, theory, time_use, timeline
from specdemo.events import FinishReason
from specdemo.trace import LaneSnapshot, RunTrace
from specdemo.ui.wording import words
from tests.traces import run

ENGLISH = words("en")


def lanes(normal: RunTrace, speculative: RunTrace) -> dict[str, LaneSnapshot]:
    return {"normal": LaneSnapshot(normal), "speculative": LaneSnapshot(speculative)}


CASES = {
    "all accepted": lanes(run("n", "n", "n"), run("aab")),
    "none accepted": lanes(run("n", "n"), run("ruus", "rus")),
    "end of text mid-block": lanes(
        run("n", "n", reason=FinishReason.END_OF_TEXT), run("auu", reason=FinishReason.END_OF_TEXT)
    ),
    "stopped": lanes(
        run("n", reason=FinishReason.STOPPED), run("ars", reason=FinishReason.STOPPED)
    ),
    "nothing yet": lanes(RunTrace(), RunTrace()),
    "one token": lanes(run("n"), run("n")),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_chart_has_a_text_and_a_table_whose_rows_are_of_one_width(
    case: dict[str, LaneSnapshot],
) -> None:
    for chart in charts(case, ENGLISH):
        assert chart.text.endswith("."), chart.key
        assert len({len(row) for row in chart.table}) == 1, chart.key
        chart.figure.to_json()


def test_acceptance_by_place_shows_kept_refused_and_the_rate() -> None:
    figure = acceptance.position_figure(run("aab", "ruus", "arus"), ENGLISH)
    kept, refused, rates = figure.data
    assert (list(kept.x), list(kept.y), list(refused.y)) == ([1, 2], [2, 1], [1, 1])
    assert list(rates.text) == ["67%", "50%"]


def test_untested_tokens_are_in_no_bar() -> None:
    figure = acceptance.position_figure(run("auu"), ENGLISH)
    assert list(figure.data[0].x) == [1]


def test_the_histogram_holds_every_round_with_a_draft() -> None:
    figure = acceptance.histogram_figure(run("aab", "ruus", "n"), ENGLISH)
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([0, 1, 2, 3], [1, 0, 1, 0])


def test_time_is_stacked_by_kind_in_total_and_for_the_mean_round() -> None:
    speculative = run("aab", "aab", prefill=1.0, draft=0.5, verify=2.0, overhead=0.25)
    figure = time_use.time_figure(lanes(run("n", prefill=1.0), speculative), ENGLISH)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    whole = {bar.name: bar.x[1] for bar in bars[:4]}
    mean = {bar.name: bar.x[1] for bar in bars[4:]}
    assert whole == {"prompt": 1.0, "draft": 2.0, "target pass": 4.0, "everything else": 0.5}
    assert mean == {"prompt": None, "draft": 1000, "target pass": 2000, "everything else": 250}


def test_theory_draws_the_measured_point_at_the_mean_length() -> None:
    both = lanes(run(*["n"] * 6), run("aab", "aab", draft=0.1))
    chart = theory.theory_chart(both, ENGLISH)
    own, textbook, best, measured = chart.figure.data
    assert (list(measured.x), list(measured.y)) == ([2.0], [pytest.approx(2.5)])
    assert own.y[2] == textbook.y[2] == pytest.approx(2.5)
    assert list(best.x) == [metrics.theory.MAX_LENGTH]
    assert own.y[0] == 1.0


def test_theory_says_alpha_c_and_v() -> None:
    both = lanes(run(*["n"] * 6), run("ars", "ars", draft=0.1, verify=1.5))
    text = theory.theory_chart(both, ENGLISH).text
    assert "α = 0.50, c = 0.10, v = 1.50 at 2.0 draft tokens" in text


def test_blocks_of_the_timeline_follow_each_other_on_the_runs_clock() -> None:
    speculative = run("aab", "rs", prefill=1.0, draft=0.25, verify=2.0, overhead=0.5)
    figure = timeline.timeline_figure(lanes(run("n"), speculative), ENGLISH)
    drafts, passes = (
        next(t for t in figure.data if t.name == name and t.y and t.y[0] == "Speculative")
        for name in ("draft", "target pass")
    )
    assert (list(drafts.base), list(drafts.x)) == ([1.0, 4.0], [0.5, 0.25])
    assert (list(passes.base), list(passes.x)) == ([1.5, 4.25], [2.0, 2.0])
    assert [block[:2] for block in passes.customdata] == [["speculative", 0], ["speculative", 1]]


def test_the_timelines_table_holds_every_round() -> None:
    both = lanes(run("n", "n"), run("aab", prefill=1.0, draft=0.5))
    rows = timeline.timeline_table(both, ENGLISH)[1:]
    assert len(rows) == 3
    assert rows[-1] == ("Speculative", 1, 1.0, 1.0, 1.0, 0.0, 2, 2, 3)
