from __future__ import annotations

from specdemo.events import JudgedToken, Round, TokenOutcome


def test_each_state_is_output_or_was_refused() -> None:
    assert {o for o in TokenOutcome if not o.is_output} == {
        TokenOutcome.REJECTED,
        TokenOutcome.UNTESTED,
    }


def test_a_round_counts_drafted_tested_and_accepted_apart() -> None:
    outcomes = ["accepted", "rejected", "untested", "resampled"]
    judged = tuple(JudgedToken(i, TokenOutcome(o)) for i, o in enumerate(outcomes))
    one = Round(0, judged, 1.0, 2.0, 3.0)
    assert (one.num_draft_tokens, one.num_tested_tokens, one.num_accepted_tokens) == (3, 2, 1)
    assert [token.token_id for token in one.output_tokens] == [0, 3]
    assert one.seconds == 6.0
