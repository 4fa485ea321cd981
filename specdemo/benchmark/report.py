"""A benchmark as charts and as one page to hand on. Knows no screen; words are arguments."""

from __future__ import annotations

import json

from specdemo.benchmark.plan import NORMAL
from specdemo.benchmark.results import Results
from specdemo.benchmark.summary import Summary, summarize
from specdemo.benchmark.tables import (
    Words,
    method_name,
    method_table,
    prompt_table,
    tutorial_table,
)
from specdemo.benchmark_charts import Bar, BenchmarkChart, benchmark_charts
from specdemo.report import Report, ReportChart, Table, render
from specdemo.trace import Environment


def charts_of(summary: Summary, words: Words) -> tuple[BenchmarkChart, ...]:
    """Every chart of the numbers so far."""
    return benchmark_charts(_bars(summary, words), words)


def tables_of(results: Results, summary: Summary, words: Words) -> tuple[Table, ...]:
    """Every table of the numbers so far; the tutorial's own stand beside ours for its suite."""
    tables = [method_table(summary, words)]
    if results.plan.suite.name == "tutorial":
        tables.append(tutorial_table(summary, words))
    return (*tables, prompt_table(summary, words))


def html_report(results: Results, language: str, words: Words) -> str:
    """The whole benchmark as one HTML document that opens without a network."""
    summary = summarize(results)
    charts = tuple(
        ReportChart(
            words[f"bench_chart_{chart.key}"], chart.text, json.loads(chart.figure.to_json())
        )
        for chart in charts_of(summary, words)
    )
    title = words["bench_report"].format(suite=results.plan.suite.name)
    notes = (*_notes(results, words), *(environment_text(e) for e in results.environments))
    tables = tables_of(results, summary, words)
    return render(Report(language, title, _lead(results, words), tables, charts, notes))


def environment_text(environment: Environment) -> str:
    """What rows were measured on."""
    versions = ", ".join(f"{name} {version}" for name, version in environment.versions)
    gpu = f" · {environment.gpu}" if environment.gpu else ""
    threads = "" if environment.num_threads is None else f" · {environment.num_threads} threads"
    return (
        f"{environment.pair} · {environment.precision} · {environment.device}{gpu} · "
        f"{environment.processor}{threads} · {versions}"
    )


def _lead(results: Results, words: Words) -> tuple[str, ...]:
    plan = results.plan
    return (
        words["bench_lead"].format(
            done=len(results.rows),
            planned=plan.num_runs,
            prompts=len(plan.suite.cases),
            repeats=plan.repeats,
            tokens=plan.max_new_tokens or plan.suite.max_new_tokens,
            temperature=f"{plan.temperature:g}",
            first=plan.seed,
            last=plan.seed + plan.repeats - 1,
        ),
        words["bench_order"],
    )


def _notes(results: Results, words: Words) -> tuple[str, ...]:
    attribution = (words["bench_attribution"],) if results.plan.suite.name == "spec-bench" else ()
    return (words["bench_averages"], words["bench_equal_precision"], *attribution)


def _bars(summary: Summary, words: Words) -> list[Bar]:
    bars = []
    for method in summary.methods:
        speedups = [
            own.speedup.median
            for prompt in summary.prompts
            for own in prompt.methods
            if (own.precision, own.method) == (method.precision, method.method) and own.speedup
        ]
        bars.append(
            Bar(
                label=f"{method.precision} · {method_name(method.method, words)}",
                is_normal=method.method == NORMAL,
                tokens_per_second=method.tokens_per_second,
                time_to_first_token_seconds=method.time_to_first_token_seconds,
                latency_seconds=method.latency_seconds,
                speedups=tuple(speedups),
                median_speedup=method.speedup.median if method.speedup else None,
                memory=method.memory,
            )
        )
    return bars
