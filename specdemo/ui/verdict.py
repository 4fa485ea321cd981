"""How one token was judged: its sentence, its bars, and the component that draws them.

Knows no formula beyond min(1, p ÷ q); every number is the one that decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import gradio as gr

from specdemo.events import Alternative, JudgedToken, Round, TokenOutcome
from specdemo.palette import STATE_STYLES
from specdemo.trace import LaneSnapshot, Snapshot
from specdemo.ui.json_view import encode, json_view
from specdemo.ui.numerals import decimal, percent
from specdemo.ui.wording import words

MAX_ROWS = 6
_CONTEXT_PIECES = 4
_DECIDED = (TokenOutcome.ACCEPTED, TokenOutcome.REJECTED)


class TokenPlace(NamedTuple):
    """Where a token stands: its lane, its round, its position among the round's judged tokens."""

    lane: str
    round_index: int
    position: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """One token among the tokens of its round."""

    token: JudgedToken
    finished: Round
    place: TokenPlace

    def first(self, outcome: TokenOutcome) -> JudgedToken | None:
        """The round's first token of that fate."""
        return next((t for t in self.finished.judged if t.outcome is outcome), None)

    @property
    def drafted(self) -> JudgedToken | None:
        """The draft at this position: the token itself, or the one it replaces."""
        if self.token.outcome.is_draft:
            return self.token
        is_replacement = self.token.outcome is TokenOutcome.RESAMPLED
        return self.first(TokenOutcome.REJECTED) if is_replacement else None

    @property
    def chosen(self) -> JudgedToken | None:
        """The token that became part of the answer at this position."""
        if self.token.outcome.is_output:
            return self.token
        is_refused = self.token.outcome is TokenOutcome.REJECTED
        return self.first(TokenOutcome.RESAMPLED) if is_refused else None


def verdict_view() -> gr.HTML:
    """The verdict of the token that was last chosen."""
    marks = {state: style.mark for state, style in STATE_STYLES.items()}
    return json_view("verdict", parts=("chips",), marks=marks)


def chosen_place(event: gr.EventData) -> TokenPlace | None:
    """The token that the page says was chosen; whatever else it says is nowhere."""
    match event._data:
        case {"lane": "normal" | "speculative" as lane, "round": int(index), "position": int(at)}:
            return TokenPlace(lane, index, at)
        case _:
            return None


def verdict_value(snapshot: Snapshot | None, place: TokenPlace | None, language: str) -> str:
    """The component's value; empty where there is no such token."""
    found = snapshot and place and find(snapshot, place)
    if not snapshot or not found:
        return ""
    lane = lane_of(snapshot, found.place.lane)
    spoken = words(language)
    return encode(
        {
            "text": lane.pieces[found.finished.index][found.place.position],
            "outcome": found.token.outcome.value,
            "sentence": sentence(snapshot, found, language),
            "found": found_in(snapshot, found, language),
            "where": spoken["verdict_round"].format(
                round=found.finished.index + 1, place=found.place.position + 1
            ),
            "is_greedy": snapshot.is_greedy,
            "bar": bar(snapshot, found.token),
            "rows": rows(snapshot, found),
        }
    )


def lane_of(snapshot: Snapshot, lane: str) -> LaneSnapshot:
    """A lane by its name."""
    return snapshot.normal if lane == "normal" else snapshot.speculative


def find(snapshot: Snapshot, place: TokenPlace) -> Judgement | None:
    """The token at a place, if there is one."""
    finished_rounds = lane_of(snapshot, place.lane).trace.rounds
    if not 0 <= place.round_index < len(finished_rounds):
        return None
    finished = finished_rounds[place.round_index]
    if not 0 <= place.position < len(finished.judged):
        return None
    return Judgement(finished.judged[place.position], finished, place)


def sentence(snapshot: Snapshot, found: Judgement, language: str) -> str:
    """What became of the token, and why."""
    spoken, token = words(language), found.token
    if snapshot.settings.is_served and found.place.lane == "speculative":
        return spoken["verdict_served"]
    key = f"verdict_{token.outcome.value}"
    if token.outcome is TokenOutcome.UNTESTED and not found.first(TokenOutcome.REJECTED):
        key = "verdict_untested_end"
    if snapshot.is_greedy:
        key = key.replace("verdict_", "verdict_greedy_", 1)
        key = key if key in spoken else f"verdict_{token.outcome.value}"
    best = token.target_top[0].token_id if token.target_top else None
    return spoken[key].format(
        draw=decimal(token.draw, language),
        threshold=decimal(threshold(token), language),
        kept=found.finished.num_accepted_tokens,
        row=found.finished.num_accepted_tokens + 1,
        best="" if best is None else snapshot.words.by_token_id.get(best, "").strip(),
    )


def found_in(snapshot: Snapshot, found: Judgement, language: str) -> str:
    """Where a draft came from that no model made; empty for other drafts."""
    spoken, position = words(language), found.token.source_position
    if found.token.looked_up_share is not None:
        return spoken["verdict_looked_up"].format(
            share=percent(found.token.looked_up_share, language)
        )
    if position is None:
        return ""
    lane = lane_of(snapshot, found.place.lane)
    pieces = [*snapshot.words.prompt_pieces, *output_pieces(lane)]
    before = "".join(pieces[max(0, position - _CONTEXT_PIECES) : position]).strip()
    return spoken["verdict_copied"].format(position=position + 1, before=before)


def output_pieces(lane: LaneSnapshot) -> list[str]:
    """The pieces of the answer's tokens, in order."""
    return [
        piece
        for finished, pieces in zip(lane.trace.rounds, lane.pieces)
        for token, piece in zip(finished.judged, pieces)
        if token.outcome.is_output
    ]


def threshold(token: JudgedToken) -> float | None:
    """min(1, p ÷ q): draws below it accept."""
    if token.target_prob is None or not token.draft_prob:
        return None
    return min(1.0, token.target_prob / token.draft_prob)


def bar(snapshot: Snapshot, token: JudgedToken) -> dict[str, float] | None:
    """The acceptance threshold and the draw; greedy runs compare tokens, not numbers."""
    limit = threshold(token)
    if snapshot.is_greedy or token.outcome not in _DECIDED or token.draw is None or limit is None:
        return None
    return {"threshold": round(limit, 4), "draw": round(token.draw, 4)}


def rows(snapshot: Snapshot, found: Judgement) -> list[dict[str, Any]]:
    """The likeliest tokens at this position, with p, q and what their difference left."""
    drafted, chosen = found.drafted, found.chosen
    target = probabilities((chosen or found.token).target_top) or probabilities(
        found.token.target_top
    )
    draft = probabilities(drafted.draft_top) if drafted else {}
    if drafted and drafted.token_id is not None and not snapshot.is_greedy:
        draft.setdefault(drafted.token_id, drafted.draft_prob)
        target.setdefault(drafted.token_id, drafted.target_prob)
    left = probabilities(chosen.residual_top) if chosen and not snapshot.is_greedy else {}
    marked = [t.token_id for t in (chosen, drafted) if t and t.token_id is not None]
    ranked = sorted({*target, *draft}, key=lambda i: (-(target.get(i) or 0), -(draft.get(i) or 0)))
    shown = [i for i in dict.fromkeys([*marked, *ranked]) if i in ranked][:MAX_ROWS]
    return [
        {
            "text": snapshot.words.by_token_id.get(token_id) or piece_of(snapshot, found, token_id),
            "p": _short(target.get(token_id)),
            "q": _short(draft.get(token_id)),
            "r": _short(left.get(token_id)),
            "drafted": bool(drafted and token_id == drafted.token_id),
            "chosen": bool(chosen and token_id == chosen.token_id),
        }
        for token_id in sorted(shown, key=ranked.index)
    ]


def piece_of(snapshot: Snapshot, found: Judgement, token_id: int) -> str:
    """The text of a token that stands in the round itself."""
    pieces = lane_of(snapshot, found.place.lane).pieces[found.finished.index]
    pairs = zip(found.finished.judged, pieces)
    return next((piece for token, piece in pairs if token.token_id == token_id), "")


def probabilities(top: tuple[Alternative, ...]) -> dict[int, float | None]:
    """Alternatives as a table."""
    return {alternative.token_id: alternative.prob for alternative in top}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
