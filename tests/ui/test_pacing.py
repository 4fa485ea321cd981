"""How often the page may be drawn."""

from __future__ import annotations

from specdemo.events import TokenDrafted
from specdemo.trace import LaneSnapshot, RunSettings, RunTrace, Snapshot
from specdemo.ui.pacing import MAX_SHARE, UPDATES_PER_SECOND, Pacer, Ticker
from tests.ui.fakes import ENVIRONMENT


def snapshot(num_pending: int = 0) -> Snapshot:
    drafted = (TokenDrafted(0, 1, 0.5, 0.01),) * num_pending
    lane = LaneSnapshot(trace=RunTrace(pending=drafted), pending_pieces=("x",) * num_pending)
    return Snapshot(LaneSnapshot(), lane, ENVIRONMENT, RunSettings("?"))


def test_a_fast_run_is_drawn_at_most_so_many_times_a_second() -> None:
    pacer = Pacer(num_draft_tokens=5)
    drawn = sum(pacer.is_due(snapshot(), now=index / 1000) for index in range(10_000))
    assert drawn <= 10 * UPDATES_PER_SECOND + 2


def test_a_whole_draft_and_its_verdict_are_both_seen_at_the_pace_of_a_small_model() -> None:
    """Drafts of 5 ms, passes of 55 ms: a plain minimum interval would show no draft at all."""
    pacer, now, drafts, verdicts = Pacer(num_draft_tokens=5), 0.0, 0, 0
    for _ in range(50):
        for num_pending in range(1, 6):
            now += 0.005
            drafts += pacer.is_due(snapshot(num_pending), now)
        now += 0.055
        verdicts += pacer.is_due(snapshot(), now)
    assert drafts >= 10
    assert verdicts >= 10


def test_half_a_draft_is_drawn_only_when_drafting_is_slow() -> None:
    pacer = Pacer(num_draft_tokens=5)
    assert pacer.is_due(snapshot(), now=0.0)
    assert not pacer.is_due(snapshot(2), now=0.15)
    assert pacer.is_due(snapshot(3), now=0.30)


def test_slow_work_waits_longer() -> None:
    ticker = Ticker(interval_seconds=0.5)
    assert ticker.is_due(0.0)
    ticker.done(0.0, 0.1)
    assert not ticker.is_due(0.6)
    assert ticker.is_due(0.1 / MAX_SHARE)


def test_quick_work_keeps_its_interval() -> None:
    ticker = Ticker(interval_seconds=0.5)
    ticker.done(0.0, 0.001)
    assert not ticker.is_due(0.4)
    assert ticker.is_due(0.5)
