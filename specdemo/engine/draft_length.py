"""How many tokens to draft: the policies. Knows no model; each object serves one run.

A longer draft saves target passes if it is kept; if not, it costs draft passes and verification
rows.
"""

from __future__ import annotations

from typing import Protocol

from specdemo.engine.protocols import Proposal
from specdemo.events import JudgedToken, Round, TokenOutcome


class DraftLength(Protocol):
    """Decides token by token, and learns from each verified round."""

    def wants_more(self, proposals: list[Proposal]) -> bool:
        """Whether to draft another token after these of the round."""

    def observe(self, finished: Round) -> None:
        """Take in what became of a round."""


class FixedLength:
    """Always `num_draft_tokens` (γ)."""

    def __init__(self, num_draft_tokens: int) -> None:
        self._num_draft_tokens = num_draft_tokens

    def wants_more(self, proposals: list[Proposal]) -> bool:
        return len(proposals) < self._num_draft_tokens

    def observe(self, finished: Round) -> None:
        pass


class HeuristicLength:
    """Two more after a round that was kept whole, one fewer after any other, within bounds."""

    def __init__(self, num_draft_tokens: int, maximum: int) -> None:
        self._length = num_draft_tokens
        self._maximum = maximum

    def wants_more(self, proposals: list[Proposal]) -> bool:
        return len(proposals) < self._length

    def observe(self, finished: Round) -> None:
        if not finished.num_draft_tokens:
            return
        kept_whole = finished.num_accepted_tokens == finished.num_draft_tokens
        change = 2 if kept_whole else -1
        self._length = min(max(self._length + change, 1), self._maximum)


class ConfidenceLength:
    """Stops after the first token that the drafter itself holds less likely than a threshold."""

    def __init__(self, maximum: int, threshold: float = 0.4) -> None:
        self._maximum = maximum
        self._threshold = threshold

    def wants_more(self, proposals: list[Proposal]) -> bool:
        is_sure = not proposals or confidence(proposals[-1]) >= self._threshold
        return is_sure and len(proposals) < self._maximum

    def observe(self, finished: Round) -> None:
        pass


class AdaptiveLength:
    """Drafts on while another token is expected to bring more tokens a second than the run makes.

    What it brings: the chance that everything before it is kept, which is the product of the
    drafter's confidences, times the running acceptance rate. What it costs: a draft pass and a
    verification row, as measured in this run.
    """

    # Beliefs that the first rounds start from; each weighs as much as a few observations.
    _PRIOR_ROUNDS = 4.0
    _PRIOR_RATE = 0.6
    _PRIOR_ROW_COST = 0.08  # of a target pass
    _KEEP = 0.8  # of what is known about acceptance, from round to round
    _MEMORY = 32  # passes that the cost of a row is read from

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._tested = {False: self._PRIOR_ROUNDS, True: self._PRIOR_ROUNDS}
        self._kept = {key: self._PRIOR_RATE * count for key, count in self._tested.items()}
        self._num_tokens = 0
        self._seconds = 0.0
        self._num_model_drafts = 0
        self._draft_seconds = 0.0
        self._passes: list[tuple[int, float]] = []

    def wants_more(self, proposals: list[Proposal]) -> bool:
        if len(proposals) >= self._maximum:
            return False
        if not proposals or not self._seconds:
            return len(proposals) < self._PRIOR_ROUNDS
        is_ngram, upcoming_share = is_copied(proposals[-1]), proposals[-1].upcoming_share
        all_kept = 1.0
        for proposal in proposals:
            all_kept *= self._rate(is_ngram) if is_ngram else confidence(proposal)
        gain = all_kept * (self._rate(is_ngram) if upcoming_share is None else upcoming_share)
        is_free = is_ngram or upcoming_share is not None
        return gain > self._cost(is_free) * self._num_tokens / self._seconds

    def observe(self, finished: Round) -> None:
        if any(is_copied(token) for token in finished.judged):
            self._forget(is_ngram=True)
        elif finished.num_draft_tokens:
            self._forget(is_ngram=False)
        drafted = [token for token in finished.judged if token.outcome.is_draft]
        for token in drafted:
            # The table's own shares are what is known about its drafts.
            if token.outcome is not TokenOutcome.UNTESTED and token.looked_up_share is None:
                self._tested[is_copied(token)] += 1
                self._kept[is_copied(token)] += token.outcome is TokenOutcome.ACCEPTED
        self._num_tokens += len(finished.output_tokens)
        self._seconds += finished.seconds
        split = finished.split
        assert split is not None  # the engine measures its own rounds
        self._passes.append((finished.num_draft_tokens + 1, split.verify))
        if split.draft:
            self._num_model_drafts += sum(token.looked_up_share is None for token in drafted)
            self._draft_seconds += split.draft

    def _forget(self, *, is_ngram: bool) -> None:
        """Let the last rounds weigh most: a text starts and stops repeating itself."""
        self._tested[is_ngram] *= self._KEEP
        self._kept[is_ngram] *= self._KEEP

    def _rate(self, is_ngram: bool) -> float:
        return self._kept[is_ngram] / self._tested[is_ngram]

    def _cost(self, is_free: bool) -> float:
        """Seconds that one more drafted token takes."""
        pass_seconds = self._draft_seconds / max(1, self._num_model_drafts)
        return self._row_seconds() + (0.0 if is_free else pass_seconds)

    def _row_seconds(self) -> float:
        """Seconds that one more row adds to a verification, by a line through the passes so far."""
        points = self._passes[-self._MEMORY :]
        mean_rows = sum(rows for rows, _ in points) / len(points)
        mean_seconds = sum(seconds for _, seconds in points) / len(points)
        # The prior acts as that many passes one row away from the mean.
        spread = sum((rows - mean_rows) ** 2 for rows, _ in points) + self._PRIOR_ROUNDS
        slope = sum((rows - mean_rows) * (seconds - mean_seconds) for rows, seconds in points)
        prior = self._PRIOR_ROUNDS * self._PRIOR_ROW_COST * mean_seconds
        return max(0.0, (slope + prior) / spread)


def is_copied(token: Proposal | JudgedToken) -> bool:
    """Whether an n-gram drafter copied it from the text."""
    return token.source_position is not None


def confidence(proposal: Proposal) -> float:
    """The drafter's own probability of its token; n-gram drafts are always sure."""
    if proposal.looked_up_share is not None:
        return proposal.looked_up_share
    likely = (top.prob for top in proposal.top if top.token_id == proposal.token_id)
    return next(likely, proposal.distribution.prob(proposal.token_id))
