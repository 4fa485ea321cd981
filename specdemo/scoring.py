"""Draft-and-score: the draft model writes, the target looks back, and nothing is refused.

This is what many tutorials call speculative decoding. Beside it stand normal and true speculative
decoding of the same prompt, so that one look shows the difference. Knows no screen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Protocol

from specdemo.events import FinishReason
from specdemo.session import Answer, DecodeRequest, ScoredText, ScoredToken
from specdemo.trace import Environment, LaneSnapshot, Snapshot


class Session(Protocol):
    """What draft-and-score needs of a session."""

    def write_draft(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """The draft model writing the whole answer by itself."""

    def score(
        self, request: DecodeRequest, answer_token_ids: Sequence[int], stop: Event
    ) -> ScoredText | None:
        """What the target thinks of an answer."""

    def run(self, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
        """Normal and speculative decoding."""


@dataclass(frozen=True, slots=True)
class Score:
    """The target's opinion of a text, in natural logarithms per token.

    `average_log_likelihood` counts every token but the first, the prompt's included, as the
    tutorial does; `answer_average_log_likelihood` the answer's alone. `first_difference` is the
    index in the answer of the first token that the target holds another one more likely than.
    """

    average_log_likelihood: float | None
    answer_average_log_likelihood: float | None
    perplexity: float | None
    answer_perplexity: float | None
    num_answer_tokens: int
    first_difference: int | None


@dataclass(frozen=True, slots=True)
class DraftAndScore:
    """How far draft-and-score is; what is not there yet is `None`."""

    draft: LaneSnapshot
    environment: Environment
    scored: ScoredText | None = None
    score: Score | None = None
    race: Snapshot | None = None

    @property
    def is_finished(self) -> bool:
        """Whether all three answers are there."""
        return self.race is not None and self.race.is_finished


def draft_and_score(
    session: Session, request: DecodeRequest, stop: Event
) -> Iterator[DraftAndScore]:
    """The draft as it is written, then its score, then normal and speculative decoding.

    Stopped, it ends with what there is. Raises a `SpecdemoError`.
    """
    state: DraftAndScore | None = None
    for answer in session.write_draft(request, stop):
        state = DraftAndScore(answer.lane, answer.environment)
        yield state
    if state is None or state.draft.trace.finish_reason is FinishReason.STOPPED:
        return
    token_ids = [i for i in state.draft.trace.token_ids if i is not None]
    scored = session.score(request, token_ids, stop)
    if scored is None:
        return
    state = replace(state, scored=scored, score=score_of(scored.tokens))
    yield state
    in_turn = replace(request, order="one_after_another")
    for snapshot in session.run(in_turn, stop):
        state = replace(state, race=snapshot)
        yield state


def score_of(tokens: Sequence[ScoredToken]) -> Score:
    """The averages of a scored text; `None` where there is nothing to average."""
    answer = [token for token in tokens if token.is_answer]
    average, answer_average = mean_log_prob(tokens), mean_log_prob(answer)
    return Score(
        average_log_likelihood=average,
        answer_average_log_likelihood=answer_average,
        perplexity=None if average is None else perplexity(average),
        answer_perplexity=None if answer_average is None else perplexity(answer_average),
        num_answer_tokens=len(answer),
        first_difference=next(
            (i for i, token in enumerate(answer) if is_other_choice(token)), None
        ),
    )


def mean_log_prob(tokens: Sequence[ScoredToken]) -> float | None:
    """The mean over the tokens that have a probability."""
    log_probs = [token.log_prob for token in tokens if token.log_prob is not None]
    return math.fsum(log_probs) / len(log_probs) if log_probs else None


def perplexity(average_log_likelihood: float) -> float:
    """exp(−average); infinite where a token had probability 0."""
    try:
        return math.exp(-average_log_likelihood)
    except OverflowError:
        return math.inf


def is_other_choice(token: ScoredToken) -> bool:
    """Whether the target holds another token more likely than this one."""
    if token.log_prob is None or token.best_log_prob is None:
        return False
    return token.best_log_prob > token.log_prob
