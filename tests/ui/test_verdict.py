"""What a viewer is told about one token."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from specdemo.events import Alternative, JudgedToken, PrefillFinished, Round, TokenOutcome
from specdemo.trace import LaneSnapshot, RunSettings, RunTrace, Snapshot, Words
from specdemo.ui.verdict import TokenPlace, verdict_value
from tests.traces import HERE

A, R, U, S, B, N = (
    TokenOutcome.ACCEPTED,
    TokenOutcome.REJECTED,
    TokenOutcome.UNTESTED,
    TokenOutcome.RESAMPLED,
    TokenOutcome.BONUS,
    TokenOutcome.NORMAL,
)
TARGET = (Alternative(1, 0.6), Alternative(2, 0.2))
DRAFT = (Alternative(2, 0.8), Alternative(1, 0.1))
REFUSED = (
    JudgedToken(9, A, 0.9, 0.3, 0.5, target_top=(Alternative(9, 0.9),)),
    JudgedToken(2, R, 0.2, 0.8, 0.7, target_top=TARGET, draft_top=DRAFT),
    JudgedToken(3, U, None, 0.4),
    JudgedToken(1, S, 0.6, 0.1, target_top=TARGET, draft_top=DRAFT, residual_top=TARGET[:1]),
)
KEPT = (JudgedToken(9, A, 0.9, 1.0, 0.2, source_position=2), JudgedToken(1, B, 0.6))
ENDED = (JudgedToken(9, A, 0.9, 0.9, 0.2), JudgedToken(3, U, None, 0.4))
TEXTS = {1: " one", 2: " two", 9: " nine"}


def snapshot(*rounds: tuple[JudgedToken, ...], temperature: float = 0.7) -> Snapshot:
    trace = RunTrace(
        PrefillFinished(3, 0.0, 0.0, 0.0),
        tuple(Round(index, judged, 0.0, 1.0, 0.0) for index, judged in enumerate(rounds)),
    )
    pieces = tuple(tuple(f" t{token.token_id}" for token in judged) for judged in rounds)
    lane = LaneSnapshot(trace, pieces)
    words = Words(("Once", " upon", " a"), TEXTS)
    return Snapshot(lane, lane, HERE, RunSettings("?", temperature=temperature), words=words)


def verdict(at: int, *rounds: tuple[JudgedToken, ...], greedy: bool = False) -> dict[str, Any]:
    taken = snapshot(*rounds, temperature=0.0 if greedy else 0.7)
    place = TokenPlace("speculative", len(rounds) - 1, at)
    return dict(json.loads(verdict_value(taken, place, "en")))


def row(shown: dict[str, Any], text: str) -> dict[str, Any]:
    return next(row for row in shown["rows"] if row["text"] == text)


def test_a_refused_token_shows_its_draw_above_the_threshold() -> None:
    shown = verdict(1, REFUSED)
    assert shown["bar"] == {"threshold": 0.25, "draw": 0.7}
    assert "u = 0.700" in shown["sentence"]
    assert shown["where"] == "round 1, place 2"


def test_a_refused_token_shows_both_distributions_the_residual_and_what_was_drawn() -> None:
    shown = verdict(1, REFUSED)
    two, one = row(shown, " two"), row(shown, " one")
    assert (two["q"], two["p"], two["drafted"], two["chosen"]) == (0.8, 0.2, True, False)
    assert (one["q"], one["p"], one["r"], one["chosen"]) == (0.1, 0.6, 0.6, True)


def test_the_resampled_token_tells_the_same_story_from_its_side() -> None:
    assert verdict(3, REFUSED)["rows"] == verdict(1, REFUSED)["rows"]
    assert verdict(3, REFUSED)["bar"] is None


def test_a_probability_outside_the_alternatives_is_unknown_and_not_zero() -> None:
    assert row(verdict(1, REFUSED), " two")["r"] is None


def test_an_untested_token_was_judged_by_nobody() -> None:
    shown = verdict(2, REFUSED)
    assert "Nobody judged it" in shown["sentence"]
    assert shown["bar"] is None
    assert "text had already ended" in verdict(1, ENDED)["sentence"]


def test_the_bonus_token_names_its_row() -> None:
    assert "All 1 draft tokens were kept, so row 2" in verdict(1, KEPT)["sentence"]


def test_an_ngram_draft_says_where_it_was_copied_from() -> None:
    assert verdict(0, KEPT)["found"] == "Copied from token 3 of the text, after “Once upon”."
    assert verdict(1, KEPT)["found"] == ""


def test_a_looked_up_draft_says_how_often_it_followed() -> None:
    drafted = JudgedToken(9, A, 0.9, 1.0, 0.2, looked_up_share=0.7)
    assert "70 % of the time" in verdict(0, (drafted, KEPT[1]))["found"]


def test_a_greedy_run_compares_the_likeliest_tokens() -> None:
    shown = verdict(1, REFUSED, greedy=True)
    assert shown["sentence"] == "Refused: the target's likeliest token here is “one”."
    assert shown["bar"] is None
    assert row(shown, " one")["r"] is None


@pytest.mark.parametrize(
    "place",
    [
        None,
        TokenPlace("speculative", 4, 0),
        TokenPlace("speculative", -1, 0),
        TokenPlace("speculative", 0, 99),
    ],
)
def test_a_place_without_a_token_has_no_verdict(place: TokenPlace | None) -> None:
    assert verdict_value(snapshot(REFUSED), place, "en") == ""
    assert verdict_value(None, place, "en") == ""


def test_italian_numbers_have_a_comma() -> None:
    shown = json.loads(verdict_value(snapshot(REFUSED), TokenPlace("speculative", 0, 1), "it"))
    assert "u = 0,700" in shown["sentence"]


def test_the_normal_lane_has_verdicts_too() -> None:
    token = JudgedToken(1, N, 0.6, target_top=TARGET)
    taken = replace(snapshot((token,)))
    shown = json.loads(verdict_value(taken, TokenPlace("normal", 0, 0), "en"))
    assert "nothing was drafted" in shown["sentence"]
    assert row(shown, " one")["chosen"]
