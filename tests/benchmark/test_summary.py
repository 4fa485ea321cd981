from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from specdemo.benchmark import Results, summarize
from specdemo.benchmark.plan import BenchmarkPlan, Method, PlannedRun
from specdemo.benchmark.results import Row
from specdemo.benchmark.suites import Suite
from specdemo.benchmark.summary import spread
from specdemo.benchmark.tables import as_csv, method_table, tutorial_table
from specdemo.metrics import RunMetrics
from specdemo.report import markdown
from specdemo.trace import MemorySample
from specdemo.ui.wording import words
from tests.benchmark.plans import SUITE, finished, plan
from tests.ui.fakes import ENVIRONMENT

NORMAL, FAST = Method("none"), Method("model", "adaptive")


def row(case: int, method: Method, seconds: float, tokens: int = 10, repeat: int = 0) -> Row:
    metrics = RunMetrics(
        tokens, tokens, seconds, 0.5, tokens / seconds, 0.5, 0.25, 2.0, 8, 4, 2, 0.1, None
    )
    memory = MemorySample(seconds, 100, 10 if method is FAST else 0, 5, 5, 0, 0, 900)
    run = PlannedRun(case, "auto", method, repeat, 42 + repeat)
    return Row(run, 0, metrics, memory, 0.0, tuple(range(tokens)), "text")


def results(*rows: Row) -> Results:
    chosen = BenchmarkPlan(SUITE, draft_sources=("model",), repeats=2)
    return Results(chosen, (ENVIRONMENT,), rows)


def test_averages_are_means_of_prompts_and_total_over_total_stands_beside() -> None:
    # Prompt 0 twice, at 10 and 20 tokens/s; prompt 1 once at 5.
    summary = summarize(
        results(row(0, NORMAL, 1.0), row(0, NORMAL, 0.5, repeat=1), row(1, NORMAL, 2.0))
    )
    (normal,) = summary.methods
    assert normal.tokens_per_second == pytest.approx((15 + 5) / 2)
    assert normal.total_tokens_per_second == pytest.approx(30 / 3.5)
    assert normal.latency_seconds == pytest.approx((0.75 + 2.0) / 2)


def test_a_speedup_compares_the_same_prompt_and_repeat() -> None:
    summary = summarize(
        results(
            row(0, NORMAL, 1.0), row(0, FAST, 0.5), row(1, FAST, 1.0), row(1, NORMAL, 4.0),
            row(1, FAST, 1.0, repeat=1),
        )
    )  # fmt: skip
    fast = next(method for method in summary.methods if method.method != "normal")
    assert fast.speedup is not None
    assert (fast.speedup.count, fast.speedup.median) == (2, pytest.approx(3.0))
    assert (fast.num_same_output, fast.num_compared) == (2, 2)


def test_a_different_answer_is_counted() -> None:
    other = replace(row(0, FAST, 1.0), token_ids=(9,))
    fast = summarize(results(row(0, NORMAL, 1.0), other)).methods[-1]
    assert (fast.num_same_output, fast.num_compared) == (0, 1)


def test_without_a_normal_run_there_is_no_speedup() -> None:
    (fast,) = summarize(results(row(0, FAST, 1.0))).methods
    assert fast.speedup is None
    assert "–" in markdown(method_table(summarize(results(row(0, FAST, 1.0))), words("en")))


def test_precisions_are_compared_with_the_fastest_normal_decoding_of_any() -> None:
    mixed = results(row(0, NORMAL, 1.0), row(0, FAST, 0.5))
    slow = replace(row(0, NORMAL, 2.0), run=replace(row(0, NORMAL, 2.0).run, precision="float32"))
    mixed = mixed.with_row(slow, replace(ENVIRONMENT, precision="float32"))
    summary = summarize(mixed)
    assert summary.best_normal == "bfloat16"
    float32 = summary.methods[-1]
    assert float32.speedup_over_best_normal is not None
    assert float32.speedup_over_best_normal.median == pytest.approx(0.5)


def test_quartiles_of_one_value_are_the_value() -> None:
    assert spread([]) is None
    one = spread([2.0])
    assert one is not None
    assert (one.low, one.median, one.high) == (2.0, 2.0, 2.0)


def test_the_tutorials_figures_stand_beside_ours_with_their_caveat() -> None:
    text = markdown(tutorial_table(summarize(finished(plan(repeats=1))), words("en")))
    for figure in ("25.09", "15.78", "1.59", "7.97", "12.68", "26,458", "8,993", "Ours"):
        assert figure in text
    assert "compares different precisions" in text


def test_csv_has_a_line_for_each_run_and_starts_no_formula() -> None:
    cases = (replace(SUITE.cases[0], prompt='=cmd|"x"\n, y'), *SUITE.cases[1:])
    chosen = replace(plan(), suite=Suite("three", cases, 24))
    lines = list(csv.DictReader(io.StringIO(as_csv(finished(chosen)))))
    assert len(lines) == chosen.num_runs
    assert lines[0]["prompt"] == '\'=cmd|"x"\n, y'
    assert lines[0]["acceptance_rate"] == ""
    assert lines[0]["processor"] == ENVIRONMENT.processor


def test_italian_tables_write_a_decimal_comma() -> None:
    table = method_table(summarize(finished(plan(repeats=1))), words("it"))
    assert any("," in cell and "." not in cell for cell in table.rows[0][2:])
