from __future__ import annotations

from specdemo.benchmark.report import html_report
from specdemo.report import Report, ReportChart, Table, markdown, render
from specdemo.ui.wording import words
from tests.benchmark.plans import finished, plan

HOSTILE = "</script><script>window.hacked=1</script>{{ 7 * 7 }}<img src=x onerror=hack()>\u2028"


def test_whatever_a_user_or_a_model_wrote_stays_text() -> None:
    table = Table(HOSTILE, (HOSTILE,), ((HOSTILE,),), HOSTILE)
    chart = ReportChart(HOSTILE, HOSTILE, {"data": [{"name": HOSTILE}], "layout": {}})
    page = render(Report("en", HOSTILE, (HOSTILE,), (table,), (chart,), (HOSTILE,)))
    assert "<script>window" not in page
    assert "<img" not in page
    assert "\u2028" not in page.split("const figures")[1].split("const darkColours")[0]
    assert page.count("{{ 7 * 7 }}") == page.count("window.hacked") > 1


def test_a_report_asks_nobody_for_anything() -> None:
    page = html_report(finished(plan(repeats=1)), "en", words("en"))
    head = page.split("<script>")[0]
    assert "default-src 'none'" in head
    assert "src=" not in head.replace("default-src", "").replace("script-src", "").replace(
        "style-src", ""
    ).replace("img-src", "")
    assert "Imaginary Processor 9000" in page
    assert "torch 2.13.0" in page


def test_markdown_cells_cannot_end_their_row() -> None:
    table = Table("t", ("a|b", "n"), (("line\nbreak", "1|2"),))
    assert markdown(table).splitlines() == ["| a\\|b | n |", "| --- | ---: |",
                                            "| line break | 1\\|2 |"]  # fmt: skip
