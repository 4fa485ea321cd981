"""`bench`: a whole suite, measured run by run into a file that can be continued."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from specdemo.benchmark import (
    BenchmarkPlan,
    Progress,
    Results,
    begin,
    recorded,
    run_benchmark,
    suite,
    summarize,
)
from specdemo.benchmark.report import environment_text, html_report, tables_of
from specdemo.benchmark.results import write_text
from specdemo.benchmark.tables import as_csv
from specdemo.cli.console import INTERRUPTED, add_command, interruptible, print_json, say
from specdemo.cli.engine import add_engine, on_servers, settings_from
from specdemo.plain import environment_json
from specdemo.report import markdown
from specdemo.session import DecodeSession
from specdemo.session.request import DEVICES, DRAFT_SOURCES, PRECISION_NAMES
from specdemo.ui.wording import words

_EXAMPLE = """  python -m specdemo bench --suite tutorial --html report.html
  python -m specdemo bench --suite spec-bench --precision float32 bfloat16
  python -m specdemo bench --suite my_prompts.jsonl --draft-source ngram hybrid --draft-length 2 4

Finished runs are kept in the --output file: the same command continues where it was stopped."""


def add_to(commands: Any) -> None:
    """Add this command."""
    bench = add_command(commands, "bench", "measure a suite of prompts", _EXAMPLE, execute)
    default: dict[str, Any] = {field.name: field.default for field in fields(BenchmarkPlan)}
    bench.add_argument(
        "--suite", default="tutorial", metavar="SUITE",
        help="tutorial, spec-bench, or a text or JSONL file of prompts",
    )  # fmt: skip
    add_engine(bench)
    bench.add_argument("--pair", default=default["pair"], metavar="NAME")
    bench.add_argument("--device", choices=DEVICES, default=default["device"])
    lists = (
        ("--precision", "precisions", PRECISION_NAMES, None),
        ("--draft-source", "draft_sources", DRAFT_SOURCES, None),
        ("--draft-length", "draft_lengths", None, "adaptive, heuristic, confidence or a number"),
    )
    for option, name, choices, note in lists:
        bench.add_argument(
            option, dest=name, nargs="+", choices=choices, help=note,
            default=list(default[name]), metavar=None if choices else "LENGTH",
        )  # fmt: skip
    bench.add_argument("--temperature", type=float, default=default["temperature"], metavar="T")
    bench.add_argument("--repeats", type=int, default=default["repeats"], metavar="N")
    bench.add_argument("--seed", type=int, default=default["seed"], metavar="S")
    bench.add_argument("--max-new-tokens", type=int, metavar="N", help="the suite's own unless set")
    bench.add_argument(
        "--output", type=Path, metavar="FILE",
        help="JSON of all runs, continued if it is there (bench-SUITE.json unless set)",
    )  # fmt: skip
    bench.add_argument("--csv", type=Path, metavar="FILE", help="write one line for each run")
    bench.add_argument("--html", type=Path, metavar="FILE", help="write a report")


def execute(options: argparse.Namespace) -> int:
    """Measure what is missing, then tell all; Ctrl-C tells what there is."""
    plan = plan_from(options)
    output = options.output or Path(f"bench-{Path(options.suite).stem}.json")
    results = begin(plan, output)
    if results.rows:
        say(f"{output} holds {len(results.rows)} of {plan.num_runs} runs; continuing.")
    session = DecodeSession(settings_from(options))
    with interruptible() as stop:
        for progress in recorded(run_benchmark(session, results, stop), output):
            results = progress.results
            say(told(progress))
        export(results, options)
        report(results, output, is_json=options.json)
        return 0 if results.is_complete else INTERRUPTED


def plan_from(options: argparse.Namespace) -> BenchmarkPlan:
    """The plan that the options describe; raises `InvalidRequestError`."""
    names = [field.name for field in fields(BenchmarkPlan) if field.name != "suite"]
    given = {name: getattr(options, name) for name in names}
    if options.engine == "vllm":
        asked = on_servers(options)
        given |= {"pair": asked["pair"], "precisions": [asked["precision"]],
                  "draft_sources": [asked["draft_source"]]}  # fmt: skip
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return BenchmarkPlan(suite=suite(options.suite), **{**given, **lists})


def told(progress: Progress) -> str:
    """One line of progress."""
    if progress.stage:
        return progress.stage
    results = progress.results
    left = progress.seconds_left
    rest = "" if left is None else f", about {left / 60:.1f} minutes left"
    return f"{len(results.rows)} of {results.plan.num_runs} runs{rest}"


def export(results: Results, options: argparse.Namespace) -> None:
    """The files that were asked for."""
    if options.csv:
        write_text(as_csv(results), options.csv)
    if options.html and results.rows:
        write_text(html_report(results, "en", words("en")), options.html)


def report(results: Results, output: Path, *, is_json: bool) -> None:
    """Everything on stdout."""
    if is_json:
        print_json(as_json(results, output))
        return
    with suppress(BrokenPipeError):
        print("\n".join(lines(results, output)))


def as_json(results: Results, output: Path) -> dict[str, Any]:
    """The result of `bench --json`."""
    return {
        "summary": asdict(summarize(results)),
        "num_runs": len(results.rows),
        "num_planned_runs": results.plan.num_runs,
        "environments": [environment_json(environment) for environment in results.environments],
        "output": str(output),
    }


def lines(results: Results, output: Path) -> Iterator[str]:
    """Tables in Markdown, and what they were measured on."""
    english = words("en")
    for table in tables_of(results, summarize(results), english):
        yield f"{table.title}\n\n{markdown(table)}\n"
    yield from map(environment_text, results.environments)
    yield f"{len(results.rows)} of {results.plan.num_runs} runs in {output}"
