"""A small plan on the fake session."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

from specdemo.benchmark import BenchmarkPlan, Case, Results, Suite, run_benchmark
from tests.ui.fakes import FakeSession

SUITE = Suite(
    "three",
    tuple(Case(f"Prompt {i}", "own", True, f"line {i} of three.txt") for i in (1, 2, 3)),
    24,
)


def plan(**changes: Any) -> BenchmarkPlan:
    """Three prompts, two methods beside normal decoding, two repeats."""
    options: dict[str, Any] = {
        "draft_sources": ("model",), "draft_lengths": ("2", "adaptive"), "repeats": 2,
    }  # fmt: skip
    return BenchmarkPlan(SUITE, **{**options, **changes})


def finished(chosen: BenchmarkPlan, session: FakeSession | None = None) -> Results:
    """Every row of a plan."""
    *_, last = run_benchmark(session or FakeSession(), Results(chosen), Event(), ticking())
    return last.results


def ticking() -> Any:
    """A clock that moves on by two seconds whenever it is read."""

    def ticks() -> Iterator[float]:
        now = 0.0
        while True:
            yield now
            now += 2.0

    times = ticks()
    return lambda: next(times)
