"""What one run can teach: its own rounds as examples, predictions and tasks.

Pure functions of a snapshot. Knows no words and no component.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from specdemo import metrics
from specdemo.events import JudgedToken, Round, TokenOutcome
from specdemo.trace import RunTrace, Snapshot
from specdemo.ui.verdict import output_pieces, threshold

STEPS = ("draft", "verify", "accept", "resample", "bonus")
MAX_QUESTIONS = 5
_CONTEXT_CHARACTERS = 80

Rounds = tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class ShownToken:
    """One judged token with the numbers that a reader compares.

    In greedy runs `draft_prob` and `target_prob` are the plain softmax: one-hots say nothing.
    `best` is the target's likeliest token there.
    """

    text: str
    outcome: str
    draft_prob: float | None
    target_prob: float | None
    threshold: float | None
    draw: float | None
    best: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step on one round of the run; without a round the run holds no example of it."""

    key: str
    round_index: int | None = None
    tokens: tuple[ShownToken, ...] = ()

    def texts(self, outcome: TokenOutcome) -> list[str]:
        """The texts of that fate, in order."""
        return [token.text for token in self.tokens if token.outcome == outcome.value]


@dataclass(frozen=True, slots=True)
class Question:
    """Will this draft token be accepted? `before` is the end of the answer up to it."""

    round_index: int
    position: int
    before: str
    token: ShownToken


@dataclass(frozen=True, slots=True)
class Task:
    """Something to find out from the run; any of `answers` is right, within `tolerance`."""

    key: str
    answers: tuple[float, ...]
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class Lesson:
    """All that a run teaches; empty where it holds nothing to teach with."""

    steps: tuple[Step, ...]
    questions: tuple[Question, ...]
    tasks: tuple[Task, ...]


def lesson(snapshot: Snapshot) -> Lesson:
    """The examples, predictions and tasks of a run."""
    rounds = snapshot.speculative.trace.rounds
    chosen = chosen_rounds(rounds)
    steps = tuple(
        Step(key, found.index, shown_tokens(snapshot, found)) if found else Step(key)
        for key, found in chosen.items()
    )
    return Lesson(steps, questions(snapshot), tasks(snapshot.speculative.trace))


def chosen_rounds(rounds: Rounds) -> Mapping[str, Round | None]:
    """For each step the round that shows it best: where it can, one round shows the first four."""
    told = tuple(filter(_is_a_models, rounds))
    mixed = (
        _first(told, _shows_all)
        or _first(told, _is_mixed)
        or _first(rounds, _shows_all)
        or _first(rounds, _is_mixed)
    )
    refused = mixed or _first(rounds, lambda r: _has(r, TokenOutcome.RESAMPLED))
    drafted = refused or _first(rounds, lambda r: bool(r.num_tested_tokens))
    return {
        "draft": drafted,
        "verify": drafted,
        "accept": mixed or _first(rounds, lambda r: bool(r.num_accepted_tokens)),
        "resample": refused,
        "bonus": _first(rounds, lambda r: _has(r, TokenOutcome.BONUS)),
    }


def shown_tokens(snapshot: Snapshot, finished: Round) -> tuple[ShownToken, ...]:
    """A round's tokens, in order."""
    pieces = snapshot.speculative.pieces[finished.index]
    return tuple(
        _shown(snapshot, token, piece) for token, piece in zip(finished.judged, pieces, strict=True)
    )


def questions(snapshot: Snapshot) -> tuple[Question, ...]:
    """Up to five judged draft tokens whose fate is not plain to see, in the run's order."""
    lane = snapshot.speculative
    found = []
    before = 0  # the answer's tokens ahead of the round
    pieces = output_pieces(lane)
    for finished in lane.trace.rounds:
        tokens = shown_tokens(snapshot, finished)
        for position, token in enumerate(tokens[: finished.num_tested_tokens]):
            context = "".join(pieces[: before + position])[-_CONTEXT_CHARACTERS:]
            found.append(Question(finished.index, position, context, token))
        before += len(finished.output_tokens)
    kept = sorted(found, key=_plainness)[:MAX_QUESTIONS]
    return tuple(question for question in found if question in kept)


def tasks(trace: RunTrace) -> tuple[Task, ...]:
    """What can be read off the run's numbers and charts."""
    run = metrics.run_metrics(trace)
    found = []
    if run.mean_acceptance_length is not None:
        found.append(Task("tau", (run.mean_acceptance_length,), tolerance=0.051))
    places = most_refused(trace)
    if places:
        found.append(Task("place", tuple(map(float, places))))
    if run.num_draft_tokens:
        found.append(Task("untested", (float(run.num_draft_tokens - run.num_tested_tokens),)))
    return tuple(found)


def most_refused(trace: RunTrace) -> tuple[int, ...]:
    """The places in the draft that were refused most often, from 1; empty without a refusal."""
    counts = {
        place.position: place.num_tested_tokens - place.num_accepted_tokens
        for place in metrics.acceptance_by_position(trace)
    }
    most = max(counts.values(), default=0)
    return tuple(position for position, count in counts.items() if most and count == most)


def _shown(snapshot: Snapshot, token: JudgedToken, piece: str) -> ShownToken:
    draft, target = (
        (_softmax(token, token.draft_top), _softmax(token, token.target_top))
        if snapshot.is_greedy
        else (token.draft_prob, token.target_prob)
    )
    best = token.target_top[0].token_id if token.target_top else None
    return ShownToken(
        text=piece,
        outcome=token.outcome.value,
        draft_prob=draft,
        target_prob=target,
        threshold=None if snapshot.is_greedy else threshold(token),
        draw=None if snapshot.is_greedy else token.draw,
        best="" if best is None else snapshot.words.by_token_id.get(best, ""),
    )


def _softmax(token: JudgedToken, top: tuple[tuple[int, float], ...]) -> float | None:
    return next((prob for token_id, prob in top if token_id == token.token_id), None)


def _plainness(question: Question) -> tuple[bool, float, int, int]:
    """How easy the question is: a threshold near 0 or 1, or a sure draft, gives it away."""
    token = question.token
    chance = token.threshold if token.threshold is not None else token.draft_prob
    distance = 0.5 if chance is None else abs(chance - 0.5)
    return not question.before.strip(), distance, question.round_index, question.position


def _first(rounds: Rounds, suits: Callable[[Round], bool]) -> Round | None:
    return next(filter(suits, rounds), None)


def _has(finished: Round, outcome: TokenOutcome) -> bool:
    return any(token.outcome is outcome for token in finished.judged)


def _is_a_models(finished: Round) -> bool:
    """Whether a model drafted the tokens, so that each has odds to show."""
    return all(t.source_position is None and t.looked_up_share is None for t in finished.judged)


def _is_mixed(finished: Round) -> bool:
    return bool(finished.num_accepted_tokens) and _has(finished, TokenOutcome.RESAMPLED)


def _shows_all(finished: Round) -> bool:
    return _is_mixed(finished) and _has(finished, TokenOutcome.UNTESTED)
