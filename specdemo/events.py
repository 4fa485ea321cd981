"""The language every room speaks: what happened to each token, in numbers.

Knows no tensor, no text, no tokenizer, no screen. `None` in a probability, a draw
or a token id means "not observed", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class TokenOutcome(StrEnum):
    """The fate of one token."""

    NORMAL = "normal"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNTESTED = "untested"
    RESAMPLED = "resampled"
    BONUS = "bonus"

    @property
    def is_output(self) -> bool:
        """Whether the token became part of the answer."""
        return self not in (TokenOutcome.REJECTED, TokenOutcome.UNTESTED)

    @property
    def is_draft(self) -> bool:
        """Whether the drafter proposed the token."""
        return self in (TokenOutcome.ACCEPTED, TokenOutcome.REJECTED, TokenOutcome.UNTESTED)


MaybeSeconds: TypeAlias = float | None


class FinishReason(StrEnum):
    """Why a run ended."""

    END_OF_TEXT = "end_of_text"
    MAX_NEW_TOKENS = "max_new_tokens"
    STOPPED = "stopped"


class Alternative(NamedTuple):
    """A token that a distribution held likely."""

    token_id: int
    prob: float


@dataclass(frozen=True, slots=True)
class JudgedToken:
    """One token with its verdict and the numbers that led to it.

    `target_prob` and `draft_prob` are taken from the warped distributions that decided (one-hots
    when greedy). The alternatives come from the same distributions, except in greedy
    runs, where they are the plain softmax: a one-hot has no second place worth showing.
    `source_position` is the index in the sequence that an n-gram draft was copied from,
    `looked_up_share` how often a draft from a table had followed the same tokens there.
    """

    token_id: int | None
    outcome: TokenOutcome
    target_prob: float | None = None
    draft_prob: float | None = None
    draw: float | None = None
    target_top: tuple[Alternative, ...] = ()
    draft_top: tuple[Alternative, ...] = ()
    residual_top: tuple[Alternative, ...] = ()
    source_position: int | None = None
    looked_up_share: float | None = None


class Split(NamedTuple):
    """A round's seconds by kind."""

    draft: float
    verify: float
    overhead: float


@dataclass(frozen=True, slots=True)
class Round:
    """One target pass over the draft, with everything it decided.

    `draft_seconds` and `verify_seconds` are seconds inside `ModelRunner.forward` of the drafter and
    of the target; `overhead_seconds` is the rest of the round. Of a server's round a client sees
    only how long it waited, `waited_seconds`; the other three are then not observed.
    """

    index: int
    judged: tuple[JudgedToken, ...]
    draft_seconds: MaybeSeconds
    verify_seconds: MaybeSeconds
    overhead_seconds: MaybeSeconds
    waited_seconds: MaybeSeconds = None

    @property
    def seconds(self) -> float:
        """The whole round, in seconds."""
        return added(
            self.draft_seconds, self.verify_seconds, self.overhead_seconds, self.waited_seconds
        )

    @property
    def split(self) -> Split | None:
        """The seconds by kind; `None` where only the wait was observed."""
        draft, verify, overhead = self.draft_seconds, self.verify_seconds, self.overhead_seconds
        if draft is None or verify is None or overhead is None:
            return None
        return Split(draft, verify, overhead)

    @property
    def num_draft_tokens(self) -> int:
        """How many tokens were drafted."""
        return sum(token.outcome.is_draft for token in self.judged)

    @property
    def num_tested_tokens(self) -> int:
        """How many drafted tokens the target judged."""
        tested = (TokenOutcome.ACCEPTED, TokenOutcome.REJECTED)
        return sum(token.outcome in tested for token in self.judged)

    @property
    def num_accepted_tokens(self) -> int:
        """How many drafted tokens were kept."""
        return sum(token.outcome is TokenOutcome.ACCEPTED for token in self.judged)

    @property
    def output_tokens(self) -> tuple[JudgedToken, ...]:
        """The tokens that became part of the answer, in order."""
        return tuple(token for token in self.judged if token.outcome.is_output)


@dataclass(frozen=True, slots=True)
class PrefillFinished:
    """The prompt without its last token lies in the caches.

    A server's prefill ends, for its client, when the first token arrives: that wait is
    `waited_seconds`, and the other three are not observed.
    """

    num_prompt_tokens: int
    target_seconds: MaybeSeconds
    draft_seconds: MaybeSeconds
    overhead_seconds: MaybeSeconds
    waited_seconds: MaybeSeconds = None

    @property
    def seconds(self) -> float:
        """The whole prefill, in seconds."""
        return added(
            self.target_seconds, self.draft_seconds, self.overhead_seconds, self.waited_seconds
        )


@dataclass(frozen=True, slots=True)
class TokenDrafted:
    """The drafter proposed a token; `seconds` is all that the proposal took."""

    round_index: int
    token_id: int
    draft_prob: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundVerified:
    """The target judged the round's draft."""

    round: Round


@dataclass(frozen=True, slots=True)
class DecodeFinished:
    """The run is over."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class ServerSteps:
    """What a server says it drafted and kept in each verification step that had a draft.

    Steps without a draft are left out, so a step's place in the answer need not be known.
    """

    drafted: tuple[int, ...]
    accepted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DraftsTold:
    """A server told, with the end of its answer, what became of its drafts.

    `rounds` are the run's rounds again, with every fate that follows from what was told.
    """

    rounds: tuple[Round, ...]
    steps: ServerSteps


DecodeEvent: TypeAlias = (
    PrefillFinished | TokenDrafted | RoundVerified | DraftsTold | DecodeFinished
)


def added(*seconds: MaybeSeconds) -> float:
    """The sum of what was observed."""
    return sum(value for value in seconds if value is not None)
