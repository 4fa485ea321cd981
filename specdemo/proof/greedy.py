"""Where two greedy answers part, and why: a near-tie that rounding decided, or a defect.

The row of that position is computed anew in the shapes in which the two lanes saw it, and once in
float32, after both runs and in no clock of theirs. Knows no screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from threading import Event

import torch

from specdemo import metrics
from specdemo.engine.protocols import ModelRunner
from specdemo.engine.sampling import penalize
from specdemo.proof.sampling import Session
from specdemo.session import DecodeRequest
from specdemo.trace import RunTrace, Snapshot

# Logits closer than this are a tie in any precision that a model is run in.
TIE_GAP = 1e-5
# Rounding shows in the differences between likely tokens; two alone may happen to move alike.
NUM_WATCHED = 8
# A pass of several rows rounds otherwise than a pass of one, but not by much more: what moves its
# logits further is no rounding. Even in float32 they move by less than the second of the two.
_MOST_OF_ONE_ROW = 4.0
_MOST_IN_FLOAT32 = 1e-3


class Cause(StrEnum):
    """Why two greedy answers part; unknown where these weights have no float32."""

    NUMERICAL_TIE = "numerical_tie"
    DEFECT = "defect"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Parting:
    """The first place at which two answers differ; `None` is an answer that had ended there.

    The speculative lane judged it in row `row` of a pass over the last committed token and
    `drafted`, after `history`, which begins with the prompt's tokens.
    """

    position: int
    normal_token_id: int | None
    speculative_token_id: int | None
    history: tuple[int, ...]
    drafted: tuple[int, ...]
    row: int
    num_prompt_tokens: int

    @property
    def before(self) -> tuple[int, ...]:
        """Everything before the parting."""
        return (*self.history, *self.drafted[: self.row])


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A row of logits (V,) at the parting, as decoding compares them: penalties included.

    A candidate's logit is −infinity where the answer had ended.
    """

    logits: torch.Tensor
    normal_logit: float
    speculative_logit: float

    @property
    def top_2_gap(self) -> float:
        """By how much the likeliest token is ahead of the second."""
        first, second = self.logits.topk(2).values.tolist()
        return float(first - second)

    @property
    def behind(self) -> float:
        """By how much the likeliest token is ahead of the less likely candidate."""
        return self.logits.max().item() - min(self.normal_logit, self.speculative_logit)

    def moved(self, other: Recomputed) -> float:
        """The largest change in a difference between two of the other row's likeliest tokens."""
        watched = other.logits.topk(min(NUM_WATCHED, len(other.logits))).indices
        change = (self.logits - other.logits)[watched]
        return (change.max() - change.min()).item()


@dataclass(frozen=True, slots=True)
class Explained:
    """A parting with the row in both lanes' shapes and in float32, if these weights have one."""

    parting: Parting
    one_row: Recomputed
    several_rows: Recomputed
    float32: Recomputed | None

    @property
    def rounding_gap(self) -> float:
        """How far rounding moved two of the likeliest tokens apart or together."""
        if self.float32 is None:
            return self.several_rows.moved(self.one_row)
        return max(row.moved(self.float32) for row in (self.one_row, self.several_rows))

    @property
    def cause(self) -> Cause:
        """A tie if both candidates are as close to the likeliest token as rounding goes."""
        if self.float32 is None:
            return Cause.UNKNOWN
        allowed = max(_MOST_OF_ONE_ROW * self.one_row.moved(self.float32), _MOST_IN_FLOAT32)
        is_rounding = self.several_rows.moved(self.float32) <= allowed
        is_close = self.float32.behind <= max(self.rounding_gap, TIE_GAP)
        return Cause.NUMERICAL_TIE if is_rounding and is_close else Cause.DEFECT


@dataclass(frozen=True, slots=True)
class Difference:
    """What is told of the first difference of a race; `texts` are its tokens' by id."""

    explained: Explained
    texts: Mapping[int, str]
    precision: str


def explain(
    session: Session, request: DecodeRequest, snapshot: Snapshot, stop: Event
) -> Difference | None:
    """Why the answers of a greedy race part; `None` if they do not, or if stopped before.

    Servers keep their logits to themselves: of their races nobody can tell.

    Raises a `SpecdemoError`.
    """
    if request.is_served or metrics.compare(snapshot).first_difference is None:
        return None
    with session.lent(request, stop) as models:
        if models is None:
            return None
        parting = parting_of(
            snapshot.normal.trace, snapshot.speculative.trace, models.prompt_token_ids
        )
        assert parting is not None
        found = explained(
            models.target, models.new_float32_target(), parting, request.repetition_penalty
        )
        ids = (parting.normal_token_id, parting.speculative_token_id)
        texts = models.texts_of(token_id for token_id in ids if token_id is not None)
        return Difference(found, texts, models.environment.precision)


def parting_of(
    normal: RunTrace, speculative: RunTrace, prompt_token_ids: Sequence[int]
) -> Parting | None:
    """The first difference of two finished greedy answers; `None` if they are the same."""
    one, other = _ids(normal), _ids(speculative)
    if one == other:
        return None
    length = min(len(one), len(other))
    position = next((i for i in range(length) if one[i] != other[i]), length)
    committed: list[int] = []
    drafted: list[int] = []
    for finished in speculative.rounds:
        outputs = [token.token_id for token in finished.output_tokens if token.token_id is not None]
        drafted = [
            token.token_id
            for token in finished.judged
            if token.outcome.is_draft and token.token_id is not None
        ]
        if len(committed) + len(outputs) > position:
            break
        committed += outputs
    else:
        # The speculative answer had ended: what would have come next follows all of it.
        drafted = []
    return Parting(
        position,
        next(iter(one[position:]), None),
        next(iter(other[position:]), None),
        history=(*prompt_token_ids, *committed),
        drafted=tuple(drafted),
        row=position - len(committed),
        num_prompt_tokens=len(prompt_token_ids),
    )


def explained(
    runner: ModelRunner, float32: ModelRunner | None, parting: Parting, penalty: float = 1.0
) -> Explained:
    """A parting with its rows; `float32` runs the same weights in that precision."""
    return Explained(
        parting,
        recomputed_in_one_row(runner, parting, penalty),
        recomputed_in_several_rows(runner, parting, penalty),
        None if float32 is None else recomputed_in_one_row(float32, parting, penalty),
    )


def recomputed_in_one_row(runner: ModelRunner, parting: Parting, penalty: float) -> Recomputed:
    """The row as normal decoding computes it: a pass of one token."""
    before = parting.before
    _take_in(runner, before[:-1], parting)
    return _read(runner.forward(before[-1:], 1).logits, parting, penalty)


def recomputed_in_several_rows(runner: ModelRunner, parting: Parting, penalty: float) -> Recomputed:
    """The row as verification computed it: a pass over the whole draft."""
    _take_in(runner, parting.history[:-1], parting)
    pending = [parting.history[-1], *parting.drafted]
    logits = runner.forward(pending, len(pending)).logits
    return _read(logits[parting.row : parting.row + 1], parting, penalty)


def _take_in(runner: ModelRunner, token_ids: Sequence[int], parting: Parting) -> None:
    """The text before a pass: the prompt in one, as both lanes read it, then what was answered."""
    length = parting.num_prompt_tokens - 1
    runner.rollback(0)
    runner.forward(token_ids[:length], 0)
    if answered := token_ids[length:]:
        runner.forward(answered, 0)


def _read(row: torch.Tensor, parting: Parting, penalty: float) -> Recomputed:
    logits = penalize(row, parting.before, penalty)[0].cpu()
    candidates = (parting.normal_token_id, parting.speculative_token_id)
    return Recomputed(logits, *(_logit(logits, candidate) for candidate in candidates))


def _logit(logits: torch.Tensor, token_id: int | None) -> float:
    return -torch.inf if token_id is None else logits[token_id].item()


def _ids(trace: RunTrace) -> list[int]:
    return [token_id for token_id in trace.token_ids if token_id is not None]
