"""Snapshots to lines of JSON, and the component that draws them as two lanes of tokens.

The value is one string that only grows during a run: Gradio then sends just what was added, and a
hidden tab loses nothing. Knows no formula: the numbers come from `metrics`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import gradio as gr

from specdemo import metrics
from specdemo.events import FinishReason, JudgedToken, Round
from specdemo.palette import STATE_STYLES
from specdemo.proof import Difference
from specdemo.trace import LaneSnapshot, Snapshot
from specdemo.ui.difference import difference_value
from specdemo.ui.json_view import encode, json_view
from specdemo.ui.served import served_notes

_NUMBER_DIGITS = 4
_UNKNOWN = "◌"


class Opening(NamedTuple):
    """What a run looks like before its first token."""

    run_id: str
    prompt: str
    is_chat: bool
    earlier_turns: tuple[tuple[str, str], ...] = ()
    recording: str = ""


class Chip(NamedTuple):
    """Tokens that share one character, or one token: what the page draws as one box.

    `position` is the last token's place among the judged tokens of its round.
    """

    text: str
    outcome: str
    position: int
    num_tokens: int = 1


def token_stream() -> gr.HTML:
    """Both lanes, the comparison, the legend and the verdict of one token."""
    marks = {state: style.mark for state, style in STATE_STYLES.items()}
    return json_view("stage", parts=("chips", "measures", "player", "picture"), marks=marks)


class LaneLines:
    """Lines for what one lane gained since the last call."""

    def __init__(self, lane: str) -> None:
        self._lane = lane
        self._num_rounds = 0
        self._num_pending = 0
        self._clock = 0.0
        self._carried: tuple[JudgedToken, ...] = ()
        self._is_over = False
        self._is_told = False

    def added(self, snapshot: LaneSnapshot) -> Iterator[str]:
        """New rounds with their times, then new pending tokens, then the end of the run."""
        trace = snapshot.trace
        if trace.steps and trace.steps.drafted and not self._is_told:
            # A server tells the fates with the end of its answer: the lane is drawn anew.
            self._is_told, self._num_rounds, self._carried = True, 0, ()
            yield encode(["again", self._lane])
        if not self._num_rounds and trace.prefill:
            self._clock = trace.prefill.seconds
        unseen = slice(self._num_rounds, None)
        for finished, pieces in zip(trace.rounds[unseen], snapshot.pieces[unseen], strict=True):
            self._num_pending = 0
            times = self._times(finished)
            yield encode(
                ["round", self._lane, finished.index, self._chips(finished, pieces), times]
            )
        self._num_rounds = len(trace.rounds)
        for piece in snapshot.pending_pieces[self._num_pending :]:
            yield encode(["pending", self._lane, piece])
        self._num_pending = len(snapshot.pending_pieces)
        if trace.finish_reason and not self._is_over:
            self._is_over = True
            yield encode(self._ending(trace.finish_reason, snapshot.text))

    def _times(self, finished: Round) -> tuple[float, float]:
        """When the round's draft was complete and when its verdicts landed, on the run's clock."""
        drafted = self._clock + (finished.draft_seconds or 0.0)
        self._clock += finished.seconds
        return round(drafted, 5), round(self._clock, 5)

    def _chips(self, finished: Round, pieces: tuple[str, ...]) -> list[Chip]:
        """One chip per character at least: an unfinished one waits for the token that ends it."""
        chips: list[Chip] = []
        for index, (token, piece) in enumerate(zip(finished.judged, pieces, strict=True)):
            if token.token_id is None and not token.outcome.is_output:
                _add_unknown(chips, token, index)
                continue
            if not token.outcome.is_output:
                chips.append(Chip(piece, token.outcome.value, index))
                continue
            tokens = (*self._carried, token)
            self._carried = () if piece else tokens
            if piece:
                chips.append(Chip(piece, token.outcome.value, index, len(tokens)))
        return chips

    def _ending(self, reason: FinishReason, text: str) -> list[object]:
        outcome = self._carried[-1].outcome.value if self._carried else ""
        return ["end", self._lane, reason.value, text, Chip("", outcome, 0, len(self._carried))]


def _add_unknown(chips: list[Chip], token: JudgedToken, position: int) -> None:
    """A token that no one here knows: those of one fate share a box, with their number."""
    before = chips[-1] if chips else None
    outcome = token.outcome.value
    if before and before.text.startswith(_UNKNOWN) and before.outcome == outcome:
        chips.pop()
        count = before.num_tokens + 1
        chips.append(Chip(f"{_UNKNOWN}×{count}", outcome, position, count))
    else:
        chips.append(Chip(_UNKNOWN, outcome, position))


class StreamLines:
    """The component's value: everything drawn so far in this run."""

    def __init__(self, opening: Opening) -> None:
        self._lines = [encode(["run", *opening])]
        self._lanes = (LaneLines("normal"), LaneLines("speculative"))

    @property
    def value(self) -> str:
        """All lines so far."""
        return "\n".join(self._lines) + "\n"

    def add_tokens(self, snapshot: Snapshot) -> None:
        """Append what both lanes gained."""
        normal, speculative = self._lanes
        self._lines.extend(normal.added(snapshot.normal))
        self._lines.extend(speculative.added(snapshot.speculative))

    def add_totals(self, snapshot: Snapshot, difference: Difference | None = None) -> None:
        """Append the numbers of this moment, and why the answers differ if that is known."""
        why = difference and difference_value(difference)
        self._lines.append(encode(["totals", {**totals(snapshot), "why": why}]))

    def add_failure(self) -> None:
        """Append that the run broke off."""
        self._lines.append(encode(["failed"]))


def totals(snapshot: Snapshot) -> dict[str, object]:
    """The numbers beside the tokens, as plain values."""
    comparison = metrics.compare(snapshot)
    best = snapshot.best_normal
    return {
        "normal": _lane_totals(snapshot.normal),
        "speculative": _lane_totals(snapshot.speculative),
        "speedup": _rounded(comparison.speedup),
        "greedy": snapshot.is_greedy,
        "strict": snapshot.settings.strict,
        "same": comparison.same_output,
        "difference": comparison.first_difference,
        "finished": snapshot.is_finished,
        "best": best and [best.precision, _rounded(best.tokens_per_second)],
        "speedup_over_best": _rounded(comparison.speedup_over_best_normal),
    }


def _lane_totals(lane: LaneSnapshot) -> dict[str, float | int | None]:
    run = metrics.run_metrics(lane.trace)
    return {
        "tokens": run.num_output_tokens,
        "seconds": _rounded(run.seconds),
        "rate": _rounded(run.tokens_per_second),
        "first": _rounded(run.time_to_first_token_seconds),
        "alpha": _rounded(run.acceptance_rate),
        "tau": _rounded(run.mean_acceptance_length),
        "accepted": run.num_accepted_tokens,
        "tested": run.num_tested_tokens,
    }


def environment_value(snapshot: Snapshot) -> str:
    """What the run was measured on, for the line under the lanes, and what servers tell of it."""
    environment = snapshot.environment
    return encode(
        {
            "word": "environment_served" if snapshot.settings.is_served else "environment",
            "notes": served_notes(snapshot),
            "pair": environment.pair,
            "device": environment.device,
            "processor": environment.processor,
            "threads": environment.num_threads,
            "precision": environment.precision,
            "versions": " · ".join(f"{name} {version}" for name, version in environment.versions),
        }
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_NUMBER_DIGITS}g}")
