"""Numbers from rows: means, medians, speedups with their spread. Pure; knows no table.

Averages are means of per-prompt means, as in the tutorial; total tokens ÷ total seconds stands
beside them. A speedup compares a run with normal decoding of the same prompt, precision and repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median, quantiles

from specdemo.benchmark.plan import NORMAL
from specdemo.benchmark.results import Results, Row
from specdemo.trace import MemorySample

LOOPING_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Spread:
    """A median between its quartiles; of fewer than two values both are the median itself."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """One method in one precision, over some prompts; `None` where nothing was measured.

    `fresh_speedup` covers the answers of which less than `LOOPING_SHARE` repeats itself.
    `memory` is the last sample of the run that held the most, `peak_bytes` the highest peak of all.
    `num_same_output` of `num_compared` greedy answers equal the normal one token for token.
    """

    precision: str
    method: str
    num_runs: int
    latency_seconds: float
    time_to_first_token_seconds: float | None
    tokens_per_second: float | None
    total_tokens_per_second: float | None
    speedup: Spread | None
    speedup_over_best_normal: Spread | None
    fresh_speedup: Spread | None
    mean_acceptance_length: float | None
    drafted_mean_acceptance_length: float | None
    acceptance_rate: float | None
    draft_acceptance_rate: float | None
    overhead_rate: float | None
    memory: MemorySample | None
    peak_bytes: int | None
    repeated_share: float
    num_same_output: int
    num_compared: int


@dataclass(frozen=True, slots=True)
class PromptSummary:
    """All methods on one prompt."""

    case: int
    prompt: str
    task: str
    methods: tuple[MethodSummary, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A benchmark in numbers; `best_normal` is the precision of the fastest normal decoding."""

    methods: tuple[MethodSummary, ...]
    prompts: tuple[PromptSummary, ...]
    best_normal: str | None


def summarize(results: Results) -> Summary:
    """The numbers of the rows so far."""
    cases = results.plan.suite.cases
    best = best_normal(results)
    prompts = []
    for index, case in enumerate(cases):
        rows = [row for row in results.rows if row.run.case == index]
        if rows:
            methods = _methods(results, rows, best)
            prompts.append(PromptSummary(index, case.prompt, case.task, methods))
    return Summary(_methods(results, results.rows, best), tuple(prompts), best)


def spread(values: Sequence[float]) -> Spread | None:
    """Median and quartiles; `None` of nothing."""
    if not values:
        return None
    if len(values) < 2:
        return Spread(values[0], values[0], values[0], 1)
    low, _, high = quantiles(values, n=4, method="inclusive")
    return Spread(median(values), low, high, len(values))


def mean_of_prompts(rows: Sequence[Row], value: Callable[[Row], float | None]) -> float | None:
    """The mean over prompts of each prompt's mean over its repeats."""
    by_case: dict[int, list[float]] = {}
    for row in rows:
        number = value(row)
        if number is not None:
            by_case.setdefault(row.run.case, []).append(number)
    return mean(map(mean, by_case.values())) if by_case else None


def best_normal(results: Results) -> str | None:
    """The precision in which normal decoding was fastest."""
    rates = {
        precision: mean_of_prompts(rows, _rate)
        for (precision, method), rows in _grouped(results, results.rows).items()
        if method == NORMAL
    }
    measured = {name: rate for name, rate in rates.items() if rate is not None}
    return max(measured, key=measured.__getitem__, default=None)


def _methods(results: Results, rows: Sequence[Row], best: str | None) -> tuple[MethodSummary, ...]:
    groups = _grouped(results, rows)
    return tuple(
        _summary(precision, method, group, groups.get((precision, NORMAL), []),
                 groups.get((best or "", NORMAL), []))
        for (precision, method), group in groups.items()
    )  # fmt: skip


def _grouped(results: Results, rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows by the precision they were really measured in and the method, in the plan's order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((results.precision_of(row), row.run.method.name), []).append(row)
    names = [method.name for method in results.plan.methods]
    precisions = list(dict.fromkeys(precision for precision, _ in groups))
    order = sorted(groups, key=lambda key: (precisions.index(key[0]), names.index(key[1])))
    return {key: groups[key] for key in order}


def _summary(
    precision: str, method: str, rows: Sequence[Row], normal: Sequence[Row], best: Sequence[Row]
) -> MethodSummary:
    fresh = [row for row in rows if row.repeated_share < LOOPING_SHARE]
    compared = [
        row.token_ids == base.token_ids for row, base in _pairs(rows, normal) if row is not base
    ]
    samples = [row.memory for row in rows if row.memory]
    peaks = [sample.peak_bytes for sample in samples if sample.peak_bytes is not None]
    seconds = sum(row.metrics.seconds for row in rows)
    return MethodSummary(
        precision=precision,
        method=method,
        num_runs=len(rows),
        latency_seconds=mean_of_prompts(rows, lambda row: row.metrics.seconds) or 0.0,
        time_to_first_token_seconds=mean_of_prompts(
            rows, lambda row: row.metrics.time_to_first_token_seconds
        ),
        tokens_per_second=mean_of_prompts(rows, _rate),
        total_tokens_per_second=(
            sum(row.metrics.num_output_tokens for row in rows) / seconds if seconds else None
        ),
        speedup=spread(_ratios(rows, normal)),
        speedup_over_best_normal=spread(_ratios(rows, best)),
        fresh_speedup=spread(_ratios(fresh, normal)),
        mean_acceptance_length=mean_of_prompts(
            rows, lambda row: row.metrics.mean_acceptance_length
        ),
        drafted_mean_acceptance_length=mean_of_prompts(
            rows, lambda row: row.metrics.drafted_mean_acceptance_length
        ),
        acceptance_rate=mean_of_prompts(rows, lambda row: row.metrics.acceptance_rate),
        draft_acceptance_rate=mean_of_prompts(rows, lambda row: row.metrics.draft_acceptance_rate),
        overhead_rate=mean_of_prompts(rows, lambda row: row.metrics.overhead_rate),
        memory=max(samples, key=lambda memory: memory.total_bytes, default=None),
        peak_bytes=max(peaks, default=None),
        repeated_share=mean(row.repeated_share for row in rows),
        num_same_output=sum(compared),
        num_compared=len(compared),
    )


def _pairs(rows: Sequence[Row], normal: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Each row with the normal one of its prompt and repeat."""
    bases = {(base.run.case, base.run.repeat): base for base in normal}
    keys = [(row.run.case, row.run.repeat) for row in rows]
    return [(row, bases[key]) for row, key in zip(rows, keys) if key in bases]


def _ratios(rows: Sequence[Row], normal: Sequence[Row]) -> list[float]:
    ratios = []
    for row, base in _pairs(rows, normal):
        rate, base_rate = _rate(row), _rate(base)
        if rate and base_rate:
            ratios.append(rate / base_rate)
    return ratios


def _rate(row: Row) -> float | None:
    return row.metrics.tokens_per_second
