from __future__ import annotations

import re

from specdemo.benchmark import summarize
from specdemo.benchmark.report import charts_of
from specdemo.palette import dark_colours
from specdemo.ui.wording import words
from tests.benchmark.plans import finished, plan

RESULTS = finished(plan())
CHARTS = {chart.key: chart for chart in charts_of(summarize(RESULTS), words("en"))}


def test_every_method_has_its_bar_in_every_chart() -> None:
    names = ["bfloat16 · Normal", "bfloat16 · model, fixed 2", "bfloat16 · model, adaptive"]
    for key in ("rates", "latencies", "held"):
        assert list(CHARTS[key].figure.data[0].y) == names
        assert all(name in CHARTS[key].text for name in names)


def test_a_ring_stands_for_each_prompt_and_slower_is_not_hidden() -> None:
    rings, medians = CHARTS["speedups"].figure.data
    assert len(rings.x) == 2 * 3
    assert list(medians.y) == ["bfloat16 · model, fixed 2", "bfloat16 · model, adaptive"]
    assert CHARTS["speedups"].figure.layout.xaxis.range[0] == 0


def test_first_token_and_rest_add_up_to_the_whole_answer() -> None:
    first, rest, ends = CHARTS["latencies"].figure.data
    assert [round(a + b, 9) for a, b in zip(first.x, rest.x)] == [round(x, 9) for x in ends.x]


def test_every_colour_has_a_dark_twin() -> None:
    drawn = "".join(chart.figure.to_json() for chart in CHARTS.values())
    used = set(re.findall(r'"(#[0-9a-f]{6})"', drawn))
    assert used
    assert used <= set(dark_colours())
