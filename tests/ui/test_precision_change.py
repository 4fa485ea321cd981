from __future__ import annotations

from dataclasses import replace

from specdemo.ui.precision_change import PrecisionRun, compared, verdict

FULL = PrecisionRun("pair", "bfloat16", "why?", 300_000_000, 20.0, 40.0, 0.7)
NF4 = replace(FULL, precision="nf4", memory_bytes=120_000_000, speculative=9.0)


def test_a_run_is_set_beside_the_last_one_in_another_precision() -> None:
    earlier = (replace(FULL, precision="float32"), NF4, FULL)
    assert compared(earlier, replace(NF4, speculative=8.0))[0] is FULL
    assert compared((NF4,), NF4) == (NF4,)


def test_another_pair_is_no_comparison() -> None:
    other = replace(NF4, pair="another")
    assert compared((FULL,), other) == (other,)


def test_rounded_weights_that_are_not_faster_are_said_to_be_not_faster() -> None:
    values = {"precision": "nf4", "rate": 9.0, "other": 40.0}
    assert verdict((FULL, NF4)) == ("precision_not_faster", values)
    assert verdict((NF4, FULL)) == ("precision_not_faster", values)
    assert verdict((FULL, replace(NF4, speculative=40.0)))[0] == "precision_not_faster"
    assert verdict((FULL, replace(NF4, speculative=41.0)))[0] == "precision_faster"


def test_nothing_is_said_where_nothing_can_be_told() -> None:
    assert verdict((FULL,)) == ("", {})
    assert verdict((FULL, replace(FULL, precision="float32"))) == ("", {})
    assert verdict((FULL, replace(NF4, speculative=None))) == ("", {})
