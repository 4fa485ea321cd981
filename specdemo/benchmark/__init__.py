"""A benchmark: a plan in; rows as they finish, tables and a report out. Knows no screen."""

from specdemo.benchmark.plan import BenchmarkPlan
from specdemo.benchmark.results import Results, Row, begin
from specdemo.benchmark.running import Progress, Session, recorded, run_benchmark
from specdemo.benchmark.suites import Case, Suite, suite
from specdemo.benchmark.summary import Summary, summarize

__all__ = [
    "BenchmarkPlan",
    "Case",
    "Progress",
    "Results",
    "Row",
    "Session",
    "Suite",
    "Summary",
    "begin",
    "recorded",
    "run_benchmark",
    "suite",
    "summarize",
]
