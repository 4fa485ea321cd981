from __future__ import annotations

import pytest

from specdemo import metrics
from specdemo.trace import RunTrace
from tests.traces import run


def test_acceptance_by_position_counts_only_what_was_judged() -> None:
    counts = metrics.acceptance_by_position(run("aab", "ruus", "arus"))
    assert [(c.position, c.num_tested_tokens, c.num_accepted_tokens) for c in counts] == [
        (1, 3, 2),
        (2, 2, 1),
    ]
    assert counts[1].acceptance_rate == 0.5


def test_the_histogram_counts_rounds_by_what_they_kept() -> None:
    assert metrics.accepted_histogram(run("aab", "ruus", "arus", "n")) == (1, 1, 1, 0)


def test_rounds_without_a_draft_are_in_no_histogram() -> None:
    assert metrics.accepted_histogram(run("n", "n")) == ()


def test_the_shares_of_time_add_up_to_the_clock() -> None:
    trace = run("aab", "rs", prefill=2.0, draft=0.25, verify=1.0, overhead=0.5)
    shares = metrics.time_shares(trace)
    assert (shares.prefill_seconds, shares.draft_seconds) == (2.0, 0.75)
    assert (shares.verify_seconds, shares.overhead_seconds) == (2.0, 1.0)
    assert shares.seconds == trace.seconds


def test_a_round_shares_its_seconds_among_its_tokens() -> None:
    assert metrics.per_token_seconds(run("aab", "n", verify=3.0)) == (1.0, 1.0, 1.0, 3.0)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        (
            ("aab", "ruus", "arus", "n"),
            {
                "mean_acceptance_length": 2.0,
                "draft_acceptance_rate": 3 / 8,
                "acceptance_histogram": [1, 1, 1, 0],
                "num_spec_steps": 3,
                "num_accepted_draft_tokens": 3,
                "num_draft_tokens": 8,
                "num_spec_tokens": 3,
                "per_step_accepted": [2, 0, 1],
                "per_step_drafted": [2, 3, 3],
            },
        ),
        (
            ("n",),
            {
                "mean_acceptance_length": None,
                "draft_acceptance_rate": None,
                "acceptance_histogram": [],
                "num_spec_steps": 0,
                "num_accepted_draft_tokens": 0,
                "num_draft_tokens": 0,
                "num_spec_tokens": 0,
                "per_step_accepted": [],
                "per_step_drafted": [],
            },
        ),
    ],
)
def test_server_metrics_have_the_servers_keys(
    rounds: tuple[str, ...], expected: dict[str, object]
) -> None:
    assert metrics.server_metrics(run(*rounds)) == expected


def test_an_empty_run_has_empty_numbers() -> None:
    assert metrics.acceptance_by_position(RunTrace()) == ()
    assert metrics.time_shares(RunTrace()).seconds == 0.0
    assert metrics.per_token_seconds(RunTrace()) == ()
