"""What a benchmark will run, and in which order. Knows no model and no clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specdemo.benchmark.suites import Suite
from specdemo.errors import InvalidRequestError
from specdemo.session import DecodeRequest
from specdemo.trace import SERVER_DRAFTS

NORMAL = "normal"
_MAX_REPEATS = 100


@dataclass(frozen=True, slots=True)
class Method:
    """A way to answer: normal decoding, or a draft source with a draft length."""

    draft_source: str
    draft_length: str = "fixed"
    num_draft_tokens: int = 4

    @property
    def name(self) -> str:
        """How tables call it."""
        if self.draft_source == "none":
            return NORMAL
        if self.draft_source == SERVER_DRAFTS:
            return SERVER_DRAFTS
        fixed = f"fixed {self.num_draft_tokens}"
        return (
            f"{self.draft_source}, {fixed if self.draft_length == 'fixed' else self.draft_length}"
        )


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One answer to come: a prompt by its index, a precision, a method, a repeat, a seed."""

    case: int
    precision: str
    method: Method
    repeat: int
    seed: int


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """Prompts × precisions × draft sources × draft lengths × repeats, checked on creation.

    A draft length is the name of a policy, or a number for a fixed one. Normal decoding is always
    measured too. Repeat r has the seed `seed` + r. Raises `InvalidRequestError`.
    """

    suite: Suite
    pair: str = "smollm2-135m"
    device: str = "auto"
    precisions: tuple[str, ...] = ("auto",)
    draft_sources: tuple[str, ...] = ("hybrid",)
    draft_lengths: tuple[str, ...] = ("adaptive",)
    temperature: float = 0.0
    repeats: int = 3
    seed: int = 42
    max_new_tokens: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= _MAX_REPEATS:
            raise InvalidRequestError(
                f"The repeats must lie between 1 and {_MAX_REPEATS}; they are {self.repeats}."
            )
        for name in ("precisions", "draft_sources", "draft_lengths"):
            chosen = getattr(self, name)
            if not chosen or len(set(chosen)) != len(chosen):
                raise InvalidRequestError(
                    f"Choose at least one of the {name.replace('_', ' ')}, and each only once."
                )
        for run in self.runs():
            # Every choice appears in the first repeat, so its requests check them all.
            if run.repeat == 0:
                self.request(run)

    @property
    def methods(self) -> tuple[Method, ...]:
        """Normal decoding, then every draft source with every draft length."""
        drafted = (
            method_of(source, length)
            for source in self.draft_sources
            for length in self.draft_lengths
            if source != "none"
        )
        return (Method("none"), *drafted)

    @property
    def num_runs(self) -> int:
        """How many answers the plan asks for."""
        return len(self.suite.cases) * len(self.precisions) * len(self.methods) * self.repeats

    def runs(self) -> Iterator[PlannedRun]:
        """All runs in their order: a precision is loaded once, the methods' order alternates."""
        for precision in self.precisions:
            for repeat in range(self.repeats):
                for case in range(len(self.suite.cases)):
                    methods = self.methods if (repeat + case) % 2 == 0 else self.methods[::-1]
                    for method in methods:
                        yield PlannedRun(case, precision, method, repeat, self.seed + repeat)

    def request(self, run: PlannedRun) -> DecodeRequest:
        """The request that a run stands for."""
        case = self.suite.cases[run.case]
        return DecodeRequest(
            prompt=case.prompt,
            is_chat=case.is_chat,
            pair=self.pair,
            device=self.device,
            precision=run.precision,
            draft_source=run.method.draft_source,
            draft_length=run.method.draft_length,
            num_draft_tokens=run.method.num_draft_tokens,
            temperature=self.temperature,
            seed=run.seed,
            max_new_tokens=self.max_new_tokens or self.suite.max_new_tokens,
        )


def method_of(source: str, length: str) -> Method:
    """A draft source with a draft length as the user writes it."""
    return Method(source, "fixed", int(length)) if length.isdecimal() else Method(source, length)
