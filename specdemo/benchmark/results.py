"""What was measured: rows, the file that holds them, and how it is continued. Knows no model.

The file is rewritten whole after each row and takes its name last, so it is never half a file.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from specdemo.benchmark.plan import BenchmarkPlan, Method, PlannedRun
from specdemo.benchmark.suites import Case, Suite
from specdemo.errors import ResultsFileError, SpecdemoError
from specdemo.events import FinishReason
from specdemo.metrics import RunMetrics
from specdemo.trace import Environment, MemorySample

_FORMAT = "specdemo-benchmark"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One finished answer; `environment` is an index into the results' environments.

    Servers do not report the memory of an answer.
    """

    run: PlannedRun
    environment: int
    metrics: RunMetrics
    memory: MemorySample | None
    repeated_share: float
    token_ids: tuple[int | None, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Results:
    """A plan and the rows that are finished."""

    plan: BenchmarkPlan
    environments: tuple[Environment, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every planned run has its row."""
        return len(self.rows) == self.plan.num_runs

    @property
    def missing(self) -> tuple[PlannedRun, ...]:
        """The runs without a row, in their order."""
        done = {row.run for row in self.rows}
        return tuple(run for run in self.plan.runs() if run not in done)

    def precision_of(self, row: Row) -> str:
        """The precision that a row was really measured in."""
        return self.environments[row.environment].precision

    def with_row(self, row: Row, environment: Environment) -> Results:
        """The results after one more row, measured in `environment`."""
        known = self.environments
        if environment not in known:
            known = (*known, environment)
        placed = replace(row, environment=known.index(environment))
        return replace(self, environments=known, rows=(*self.rows, placed))


def repeated_share(token_ids: Iterable[int | None]) -> float:
    """Share of tokens that lie in a 4-gram seen before in the answer; looping flatters drafters."""
    ids = tuple(token_ids)
    seen: set[tuple[int | None, ...]] = set()
    inside: set[int] = set()
    for first in range(len(ids) - 3):
        gram = ids[first : first + 4]
        if gram in seen:
            inside.update(range(first, first + 4))
        seen.add(gram)
    return len(inside) / len(ids) if ids else 0.0


def as_json(results: Results) -> dict[str, Any]:
    """Results as the file holds them."""
    return {"format": _FORMAT, "version": _VERSION, **asdict(results)}


def from_json(content: Mapping[str, Any]) -> Results:
    """The results that `as_json` gave; raises KeyError, TypeError or ValueError."""
    if (content["format"], content["version"]) != (_FORMAT, _VERSION):
        raise ValueError("another format or version")
    return Results(
        _plan(content["plan"]),
        tuple(
            Environment(**{**given, "versions": tuple(map(tuple, given["versions"]))})
            for given in content["environments"]
        ),
        tuple(map(_row, content["rows"])),
    )


def read(path: Path) -> Results:
    """The results in a file; raises `ResultsFileError`."""
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ResultsFileError(f"{path} cannot be read ({error.strerror}).") from error
    except (KeyError, TypeError, ValueError, SpecdemoError) as error:
        raise ResultsFileError(
            f"{path} holds no benchmark results of this version; name another output file."
        ) from error


def begin(plan: BenchmarkPlan, path: Path | None) -> Results:
    """Results to add to: those in the file if it is there and holds the same plan."""
    if path is None or not path.exists():
        return Results(plan)
    found = read(path)
    if found.plan != plan:
        raise ResultsFileError(
            f"{path} holds results of another plan; repeat its options to continue it, or name "
            "another output file."
        )
    return found


def write(results: Results, path: Path) -> None:
    """Replace the file by these results; raises `ResultsFileError`."""
    write_text(json.dumps(as_json(results), ensure_ascii=False), path)


def write_text(text: str, path: Path) -> None:
    """Replace a file as a whole: nobody ever finds half of it. Raises `ResultsFileError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            half = Path(folder) / path.name
            half.write_text(text, encoding="utf-8")
            os.replace(half, path)
    except OSError as error:
        raise ResultsFileError(
            f"The results cannot be written to {path} ({error.strerror}); name a file in a folder "
            "that you may write to."
        ) from error


def _plan(given: Mapping[str, Any]) -> BenchmarkPlan:
    cases = tuple(Case(**case) for case in given["suite"]["cases"])
    lists = {name: tuple(given[name]) for name in ("precisions", "draft_sources", "draft_lengths")}
    return BenchmarkPlan(**{**given, "suite": Suite(**{**given["suite"], "cases": cases}), **lists})


def _row(given: Mapping[str, Any]) -> Row:
    run, metrics = given["run"], given["metrics"]
    reason = metrics["finish_reason"]
    return Row(
        run=PlannedRun(**{**run, "method": Method(**run["method"])}),
        environment=given["environment"],
        metrics=RunMetrics(**{**metrics, "finish_reason": reason and FinishReason(reason)}),
        memory=given["memory"] and MemorySample(**given["memory"]),
        repeated_share=given["repeated_share"],
        token_ids=tuple(given["token_ids"]),
        text=given["text"],
    )
