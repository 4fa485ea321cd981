from __future__ import annotations

from threading import Thread

from specdemo.ui.pace import Pace


def test_a_free_run_never_waits() -> None:
    pace = Pace(patience_seconds=0.0)
    assert all(pace.wait() for _ in range(5))


def test_each_step_allows_one_pass() -> None:
    pace = Pace(patience_seconds=0.0)
    pace.step()
    pace.step()
    assert [pace.wait() for _ in range(3)] == [True, True, False]


def test_a_paused_run_goes_on_when_told_to() -> None:
    pace = Pace(patience_seconds=60.0)
    assert pace.toggle()
    passes: list[bool] = []
    run = Thread(target=lambda: passes.append(pace.wait()))
    run.start()
    assert not pace.toggle()
    run.join()
    assert passes == [True]


def test_patience_with_a_pause_ends() -> None:
    pace = Pace(patience_seconds=0.0)
    pace.toggle()
    assert not pace.wait()


def test_a_run_that_is_to_end_is_let_go() -> None:
    pace = Pace(patience_seconds=0.0)
    pace.step()
    pace.free()
    assert all(pace.wait() for _ in range(3))
