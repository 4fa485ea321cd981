"""Where two greedy answers part, and why: a near-tie that rounding decided, or a defect.

The row of that position is computed anew in the shapes in which the two lanes saw it, and once in
a finer precision. Knows no screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch

from specdemo.engine.protocols import ModelRunner
from specdemo.trace import RunTrace

# Logits closer than this are a tie in any precision that a model is run in.
TIE_GAP = 1e-5


class Cause(StrEnum):
    """Why two greedy answers part."""

    NUMERICAL_TIE = "numerical_tie"
    DEFECT = "defect"


@dataclass(frozen=True, slots=True)
class Parting:
    """The first place at which two answers differ; `None` is an answer that had ended there.

    The speculative lane judged it in row `row` of a pass over the last committed token and
    `drafted`, after `history`.
    """

    position: int
    normal_token_id: int | None
    speculative_token_id: int | None
    history: tuple[int, ...]
    drafted: tuple[int, ...]
    row: int


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A row of logits at the parting: both candidates, the likeliest two, and the gap of those."""

    normal_logit: float
    speculative_logit: float
    top: tuple[int, int]
    top_2_gap: float

    @property
    def lead(self) -> float:
        """By how much the normal lane's candidate is ahead."""
        return self.normal_logit - self.speculative_logit


@dataclass(frozen=True, slots=True)
class Explained:
    """A parting with the row in both lanes' shapes and in a finer precision."""

    parting: Parting
    one_row: Recomputed
    several_rows: Recomputed
    finer: Recomputed

    @property
    def rounding_gap(self) -> float:
        """How far rounding moved the candidates apart or together."""
        leads = [self.one_row.lead, self.several_rows.lead, self.finer.lead]
        return max(leads) - min(leads)

    @property
    def cause(self) -> Cause:
        """A tie if the candidates are the likeliest two and no further apart than rounding goes."""
        candidates = {self.parting.normal_token_id, self.parting.speculative_token_id}
        is_close = self.finer.top_2_gap <= max(self.rounding_gap, TIE_GAP)
        is_tie = candidates == set(self.finer.top) and is_close
        return Cause.NUMERICAL_TIE if is_tie else Cause.DEFECT


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
    )


def recomputed_in_one_row(runner: ModelRunner, parting: Parting) -> Recomputed:
    """The row as normal decoding computes it: a pass of one token."""
    before = [*parting.history, *parting.drafted[: parting.row]]
    runner.rollback(0)
    runner.forward(before[:-1], 0)
    return _read(runner.forward(before[-1:], 1).logits[0], parting)


def recomputed_in_several_rows(runner: ModelRunner, parting: Parting) -> Recomputed:
    """The row as verification computed it: a pass over the whole draft."""
    runner.rollback(0)
    runner.forward(parting.history[:-1], 0)
    pending = [parting.history[-1], *parting.drafted]
    return _read(runner.forward(pending, len(pending)).logits[parting.row], parting)


def explained(runner: ModelRunner, finer: ModelRunner, parting: Parting) -> Explained:
    """A parting with its rows; `finer` runs the same model in a finer precision."""
    return Explained(
        parting,
        recomputed_in_one_row(runner, parting),
        recomputed_in_several_rows(runner, parting),
        recomputed_in_one_row(finer, parting),
    )


def _read(logits: torch.Tensor, parting: Parting) -> Recomputed:
    top = logits.topk(2)
    first, second = top.indices.tolist()
    return Recomputed(
        _logit(logits, parting.normal_token_id),
        _logit(logits, parting.speculative_token_id),
        top=(first, second),
        top_2_gap=(top.values[0] - top.values[1]).item(),
    )


def _logit(logits: torch.Tensor, token_id: int | None) -> float:
    return float("nan") if token_id is None else logits[token_id].item()


def _ids(trace: RunTrace) -> list[int]:
    return [token_id for token_id in trace.token_ids if token_id is not None]
