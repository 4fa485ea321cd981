"""A benchmark's tables, for people and for programs. Knows no screen; words are arguments."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from specdemo.benchmark.plan import NORMAL
from specdemo.benchmark.results import Results
from specdemo.benchmark.summary import MethodSummary, Spread, Summary
from specdemo.report import Table

Words = Mapping[str, str]
_MEGABYTE = 1_000_000

# What the tutorial reports for Gemma-2 9B with 2B, five prompts of 200 new tokens: its label, the
# seconds of normal and "speculative" runs, tokens/s of both, MB of both. `None`: not reported.
TUTORIAL: tuple[tuple[str, tuple[float | None, ...]], ...] = (
    ("bench_tutorial_full", (25.09, 15.78, 7.97, 12.68, None, None)),
    ("bench_tutorial_4bit", (27.65, 15.56, None, None, 26_458, 8_993)),
)


def number(value: float | None, form: str, words: Words) -> str:
    """A number as the words' language writes it, or a dash where nothing was measured."""
    if value is None:
        return "–"
    text = format(value, form)
    swapped = str.maketrans(",.", ".,")
    return text.translate(swapped) if words["decimal_mark"] == "," else text


def spread_text(spread: Spread | None, words: Words) -> str:
    """Median (quartiles)."""
    if spread is None:
        return "–"
    middle = number(spread.median, ".2f", words)
    if spread.count < 2:
        return middle
    low, high = number(spread.low, ".2f", words), number(spread.high, ".2f", words)
    return f"{middle} ({low}–{high})"


def method_table(summary: Summary, words: Words) -> Table:
    """Precision × method, as the tutorial's tables have it."""
    has_several = len({method.precision for method in summary.methods}) > 1
    keys = ["latency", "first_token", "rate", "total_rate", "speedup", "fresh", "tau",
            "drafted_tau", "alpha", "drafted", "repeated", "held", "peak", "same"]  # fmt: skip
    header = [words["bench_precision"], words["bench_method"]]
    header += [words[f"bench_{key}"] for key in keys]
    if has_several:
        header.append(words["bench_over_best"].format(precision=summary.best_normal))
    rows = []
    for method in summary.methods:
        cells = _method_cells(method, words)
        if has_several:
            cells.append(spread_text(method.speedup_over_best_normal, words))
        rows.append((method.precision, method_name(method.method, words), *cells))
    return Table(words["bench_methods"], tuple(header), tuple(rows), words["bench_methods_note"], 2)


def prompt_table(summary: Summary, words: Words) -> Table:
    """Every prompt with every method."""
    keys = ("latency", "first_token", "rate", "speedup", "tau", "alpha", "drafted")
    header = ("bench_prompt", "bench_precision", "bench_method", *(f"bench_{key}" for key in keys))
    rows = [
        (
            prompt.prompt if len(prompt.prompt) <= 90 else f"{prompt.prompt[:89]}…",
            method.precision,
            method_name(method.method, words),
            number(method.latency_seconds, ".2f", words),
            number(method.time_to_first_token_seconds, ".3f", words),
            number(method.tokens_per_second, ".1f", words),
            spread_text(method.speedup, words),
            number(method.mean_acceptance_length, ".2f", words),
            number(method.acceptance_rate, ".2f", words),
            number(method.draft_acceptance_rate, ".2f", words),
        )
        for prompt in summary.prompts
        for method in prompt.methods
    ]
    titles = tuple(words[key] for key in header)
    return Table(words["bench_prompts"], titles, tuple(rows), num_labels=3)


def tutorial_table(summary: Summary, words: Words) -> Table:
    """The tutorial's figures beside ours, which hold the precision equal in both columns."""
    keys = ("who", "normal_s", "speculative_s", "ratio", "normal_rate", "speculative_rate",
            "normal_mb", "speculative_mb")  # fmt: skip
    rows = [(words[label], *_tutorial_cells(figures, words)) for label, figures in TUTORIAL]
    normals = {m.precision: m for m in summary.methods if m.method == NORMAL}
    for method in summary.methods:
        normal = normals.get(method.precision)
        if method.method != NORMAL and normal is not None:
            label = f"{words['bench_ours']}: {method.precision}, {method.method}"
            rows.append((label, *_tutorial_cells(_our_figures(normal, method), words)))
    header = tuple(words[f"bench_{key}"] for key in keys)
    return Table(words["bench_tutorial"], header, tuple(rows), words["bench_tutorial_note"])


def as_csv(results: Results) -> str:
    """One line for each run, with plain numbers and empty cells for what was not measured."""
    text = io.StringIO()
    columns = ("case", "prompt", "task", "precision", "method", "repeat", "seed", "seconds",
               "time_to_first_token_seconds", "tokens_per_second", "num_output_tokens",
               "num_rounds", "mean_acceptance_length", "drafted_mean_acceptance_length",
               "acceptance_rate", "draft_acceptance_rate",
               "num_draft_tokens", "num_tested_tokens", "num_accepted_tokens", "overhead_rate",
               "finish_reason", "repeated_share", "held_bytes", "peak_bytes", "processor", "gpu",
               "device", "num_threads", "versions")  # fmt: skip
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in results.rows:
        case, run, m = results.plan.suite.cases[row.run.case], row.run, row.metrics
        environment = results.environments[row.environment]
        versions = " ".join(f"{name}={version}" for name, version in environment.versions)
        reason = m.finish_reason.value if m.finish_reason else None
        writer.writerow([
            run.case, _not_a_formula(case.prompt), _not_a_formula(case.task),
            environment.precision, run.method.name, run.repeat, run.seed, m.seconds,
            m.time_to_first_token_seconds, m.tokens_per_second, m.num_output_tokens, m.num_rounds,
            m.mean_acceptance_length, m.drafted_mean_acceptance_length, m.acceptance_rate,
            m.draft_acceptance_rate,
            m.num_draft_tokens, m.num_tested_tokens, m.num_accepted_tokens, m.overhead_rate,
            reason, row.repeated_share, row.memory and row.memory.total_bytes,
            row.memory and row.memory.peak_bytes,
            environment.processor, environment.gpu, environment.device, environment.num_threads,
            versions,
        ])  # fmt: skip
    return text.getvalue()


def method_name(method: str, words: Words) -> str:
    """The method, with normal decoding in words."""
    return words["lane_normal"] if method == NORMAL else method


def _method_cells(method: MethodSummary, words: Words) -> list[str]:
    compared = f"{method.num_same_output}/{method.num_compared}" if method.num_compared else "–"
    peak = None if method.peak_bytes is None else method.peak_bytes / _MEGABYTE
    return [
        number(method.latency_seconds, ".2f", words),
        number(method.time_to_first_token_seconds, ".3f", words),
        number(method.tokens_per_second, ".1f", words),
        number(method.total_tokens_per_second, ".1f", words),
        spread_text(method.speedup, words),
        spread_text(method.fresh_speedup, words),
        number(method.mean_acceptance_length, ".2f", words),
        number(method.drafted_mean_acceptance_length, ".2f", words),
        number(method.acceptance_rate, ".2f", words),
        number(method.draft_acceptance_rate, ".2f", words),
        number(method.repeated_share, ".0%", words),
        words["not_reported"]
        if method.memory is None
        else number(method.memory.total_bytes / _MEGABYTE, ",.0f", words),
        number(peak, ",.0f", words),
        compared,
    ]


def _our_figures(normal: MethodSummary, method: MethodSummary) -> tuple[float | None, ...]:
    """Seconds, tokens/s and MB of both, in the order of `TUTORIAL`."""
    return (
        normal.latency_seconds,
        method.latency_seconds,
        normal.tokens_per_second,
        method.tokens_per_second,
        normal.memory.total_bytes / _MEGABYTE if normal.memory else None,
        method.memory.total_bytes / _MEGABYTE if method.memory else None,
    )


def _tutorial_cells(figures: Sequence[float | None], words: Words) -> list[str]:
    normal, speculative, *_ = figures
    quotient = normal / speculative if normal and speculative else None
    forms = (".2f", ".2f", ".2f", ".2f", ".2f", ",.0f", ",.0f")
    shown = [normal, speculative, quotient, *figures[2:]]
    return [number(value, form, words) for value, form in zip(shown, forms)]


def _not_a_formula(text: str) -> str:
    """Spreadsheets run a cell that begins like a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
