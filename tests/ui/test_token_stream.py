"""What the lines for the browser promise."""

from __future__ import annotations

import json
from threading import Event

import pytest

from specdemo.events import FinishReason, JudgedToken, Round, TokenDrafted, TokenOutcome
from specdemo.session import DecodeRequest
from specdemo.trace import LaneSnapshot, RunSettings, RunTrace, Snapshot
from specdemo.ui.token_stream import LaneLines, Opening, StreamLines, totals
from tests.ui.fakes import ANSWER, ENVIRONMENT, FakeSession

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "${alert(1)}",
    "{{constructor}}",
    '"\n\\u003c',
    "\u2028\u2029",
]


def finished_round(index: int, *tokens: tuple[str, TokenOutcome]) -> tuple[Round, tuple[str, ...]]:
    judged = tuple(JudgedToken(7, outcome, 0.5, 0.25, 0.1) for _, outcome in tokens)
    return Round(index, judged, 0.1, 0.1, 0.0), tuple(piece for piece, _ in tokens)


def lane(*rounds: tuple[Round, tuple[str, ...]], **changes: object) -> LaneSnapshot:
    trace = RunTrace(rounds=tuple(finished for finished, _ in rounds))
    return LaneSnapshot(trace=trace, pieces=tuple(pieces for _, pieces in rounds), **changes)  # type: ignore[arg-type]


def ended(reason: FinishReason, snapshot: LaneSnapshot) -> LaneSnapshot:
    trace = RunTrace(rounds=snapshot.trace.rounds, finish_reason=reason)
    return LaneSnapshot(trace=trace, pieces=snapshot.pieces, text=snapshot.text)


def lines(sender: LaneLines, snapshot: LaneSnapshot) -> list[list[object]]:
    return [json.loads(line) for line in sender.added(snapshot)]


def texts(round_line: list[object]) -> list[tuple[str, str, int]]:
    return [(text, outcome, count) for text, outcome, _, count in round_line[3]]  # type: ignore[attr-defined]


def test_every_round_is_sent_once() -> None:
    sender = LaneLines("speculative")
    first = finished_round(0, (" a", TokenOutcome.ACCEPTED), (" b", TokenOutcome.BONUS))
    second = finished_round(1, (" c", TokenOutcome.REJECTED), (" d", TokenOutcome.RESAMPLED))
    assert [line[2] for line in lines(sender, lane(first))] == [0]
    assert [line[2] for line in lines(sender, lane(first, second))] == [1]
    assert lines(sender, lane(first, second)) == []


def test_a_pending_token_is_sent_once_and_again_in_the_next_round() -> None:
    sender = LaneLines("speculative")
    one = TokenDrafted(0, 7, 0.5, 0.01)
    drafted = LaneSnapshot(trace=RunTrace(pending=(one,)), pending_pieces=(" x",))
    assert lines(sender, drafted) == [["pending", "speculative", " x"]]
    assert lines(sender, drafted) == []
    judged = finished_round(0, (" x", TokenOutcome.ACCEPTED))
    assert [line[0] for line in lines(sender, lane(judged))] == ["round"]
    again = LaneSnapshot(
        trace=RunTrace(rounds=(judged[0],), pending=(one,)),
        pieces=(judged[1],),
        pending_pieces=(" y",),
    )
    assert lines(sender, again) == [["pending", "speculative", " y"]]


def test_tokens_that_share_a_character_are_one_chip() -> None:
    sender = LaneLines("speculative")
    finished = finished_round(
        0, ("", TokenOutcome.ACCEPTED), ("😀", TokenOutcome.ACCEPTED), ("!", TokenOutcome.BONUS)
    )
    (line,) = lines(sender, lane(finished))
    assert texts(line) == [("😀", "accepted", 2), ("!", "bonus", 1)]


def test_a_character_may_end_in_the_next_round() -> None:
    sender = LaneLines("normal")
    first = finished_round(0, ("", TokenOutcome.NORMAL))
    second = finished_round(1, ("東", TokenOutcome.NORMAL))
    assert [texts(line) for line in lines(sender, lane(first))] == [[]]
    assert [texts(line) for line in lines(sender, lane(first, second))] == [[("東", "normal", 2)]]


def test_a_refused_token_never_completes_an_accepted_one() -> None:
    sender = LaneLines("speculative")
    finished = finished_round(
        0,
        ("", TokenOutcome.ACCEPTED),
        ("😀", TokenOutcome.REJECTED),
        ("🎉", TokenOutcome.RESAMPLED),
    )
    (line,) = lines(sender, lane(finished))
    assert texts(line) == [("😀", "rejected", 1), ("🎉", "resampled", 2)]


def test_the_end_carries_the_answer_and_is_sent_once() -> None:
    sender = LaneLines("normal")
    finished = finished_round(0, (" a", TokenOutcome.NORMAL))
    over = ended(FinishReason.END_OF_TEXT, lane(finished, text=" a"))
    assert lines(sender, over)[-1][:4] == ["end", "normal", "end_of_text", " a"]
    assert lines(sender, over) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_data(text: str) -> None:
    stream = StreamLines(Opening("1", text, True, (("user", text),)))
    finished = finished_round(0, (text, TokenOutcome.NORMAL))
    stream.add_tokens(Snapshot(lane(finished), LaneSnapshot(), ENVIRONMENT, RunSettings("?")))
    assert "<" not in stream.value
    opening, token_line = (json.loads(line) for line in stream.value.rstrip("\n").split("\n"))
    assert opening[2] == text
    assert token_line[3][0][0] == text


def test_the_value_only_grows() -> None:
    stream, before = StreamLines(Opening("1", "p", True)), ""
    for snapshot in FakeSession().run(DecodeRequest(prompt="p"), Event()):
        stream.add_tokens(snapshot)
        assert stream.value.startswith(before)
        before = stream.value


def test_the_lines_hold_the_whole_answer_of_both_lanes() -> None:
    stream = StreamLines(Opening("1", "p", True))
    for snapshot in FakeSession().run(DecodeRequest(prompt="p", max_new_tokens=1000), Event()):
        stream.add_tokens(snapshot)
    read = [json.loads(line) for line in stream.value.split("\n") if line]
    for name in ("normal", "speculative"):
        chips = [chip for line in read if line[:2] == ["round", name] for chip in line[3]]
        kept = [text for text, outcome, *_ in chips if outcome not in ("rejected", "untested")]
        assert "".join(kept) == ANSWER


def test_totals_of_an_empty_run_are_unknown_and_not_zero() -> None:
    shown = totals(Snapshot(LaneSnapshot(), LaneSnapshot(), ENVIRONMENT, RunSettings("?")))
    assert shown["speedup"] is None
    assert shown["normal"]["rate"] is None  # type: ignore[index]
    assert shown["speculative"]["alpha"] is None  # type: ignore[index]


def test_sampled_runs_make_no_claim_about_equal_output() -> None:
    *_, last = FakeSession().run(DecodeRequest(prompt="p", temperature=0.8), Event())
    assert totals(last)["same"] is None
