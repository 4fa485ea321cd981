"""Hand-worked races and what is said of them."""

from __future__ import annotations

import pytest

from specdemo.events import FinishReason
from specdemo.metrics import diagnose
from specdemo.trace import RunTrace
from tests.traces import race_of, run

NORMAL = run(*["n"] * 12, verify=1.0)


def keys(diagnosis: object) -> list[str]:
    return [finding.key for finding in diagnosis.findings]  # type: ignore[attr-defined]


def test_an_empty_race_has_nothing_to_say() -> None:
    assert keys(diagnose(race_of(RunTrace(), RunTrace()))) == ["why_nothing"]


def test_a_race_without_drafts_says_so() -> None:
    assert keys(diagnose(race_of(NORMAL, NORMAL))) == ["why_no_draft"]


def test_a_free_draft_that_is_always_kept_has_no_costs() -> None:
    found = diagnose(race_of(NORMAL, run(*["aaab"] * 3)))
    assert keys(found) == ["why_faster"]
    assert found.verdict.values["speedup"] == pytest.approx(4.0)


def test_refusals_are_charged_with_the_rounds_they_cost() -> None:
    # 6 rounds of 4 drafts each keep 1: 12 tokens. Kept whole, 12/5 rounds would have done.
    found = diagnose(race_of(NORMAL, run(*["aruus"] * 6)))
    assert found.verdict.values["speedup"] == pytest.approx(2.0)
    assert found.costs[0].key == "why_refused"
    assert found.costs[0].values == pytest.approx({"drafted": 4.0, "kept": 1.0, "without": 5.0})


def test_a_dear_draft_is_named_with_its_share_and_ratio() -> None:
    found = diagnose(race_of(NORMAL, run(*["aab"] * 4, draft=0.5)))
    assert found.costs[0].key == "why_draft_cost"
    assert found.costs[0].values == pytest.approx({"share": 0.5, "ratio": 0.5, "without": 3.0})


def test_dear_verification_is_named() -> None:
    found = diagnose(race_of(NORMAL, run(*["aab"] * 4, verify=2.0)))
    assert found.costs[0].key == "why_verify_cost"
    assert found.costs[0].values == pytest.approx({"ratio": 2.0, "without": 3.0})


def test_overhead_is_named() -> None:
    found = diagnose(race_of(NORMAL, run(*["aab"] * 4, overhead=0.25)))
    assert found.costs[0].key == "why_overhead"
    assert found.costs[0].values == pytest.approx({"share": 0.2, "without": 3.0})


def test_slower_is_called_slower_and_no_drafting_advised() -> None:
    speculative = run(*["rs"] * 12, draft=0.5)
    found = diagnose(race_of(NORMAL, speculative, draft_length="fixed", num_draft_tokens=1))
    assert found.verdict.key == "why_slower"
    assert found.verdict.values["speedup"] == pytest.approx(1 / 1.5)
    assert found.advice is not None
    assert (found.advice.key, found.advice.values) == ("advice_none", {"expected": 1.0})


def test_a_better_fixed_length_is_advised_with_what_it_promises() -> None:
    # Everything kept, at no cost: the longest draft is best, and brings 17 tokens a pass.
    speculative = run(*["ab"] * 6)
    found = diagnose(race_of(NORMAL, speculative, draft_length="fixed", num_draft_tokens=1))
    assert found.advice is not None
    assert found.advice.values == pytest.approx({"length": 16, "expected": 17.0})


@pytest.mark.parametrize("policy", ["heuristic", "confidence", "adaptive"])
def test_a_length_that_adapts_itself_gets_no_advice(policy: str) -> None:
    race = race_of(NORMAL, run(*["ab"] * 6), draft_length=policy, num_draft_tokens=1)
    assert diagnose(race).advice is None


def test_a_short_answer_is_advised_to_go_on() -> None:
    normal, speculative = run(*["n"] * 4, prefill=4.0), run("aaab", prefill=4.0)
    found = diagnose(race_of(normal, speculative))
    assert found.verdict.values["speedup"] == pytest.approx(8 / 5)
    assert found.advice is not None
    assert found.advice.key == "advice_longer"
    assert found.advice.values == pytest.approx({"tokens": 8, "expected": 12 / 6})


def test_an_answer_that_ended_by_itself_is_not_asked_for_more() -> None:
    normal, speculative = run(*["n"] * 4, prefill=4.0), run("aaab", prefill=4.0)
    ended = RunTrace(speculative.prefill, speculative.rounds, (), FinishReason.END_OF_TEXT)
    assert diagnose(race_of(normal, ended)).advice is None


def test_a_busy_machine_is_told() -> None:
    calm, slow = run(*["n"] * 16, verify=1.0), run(*["n"] * 4, verify=3.0)
    normal = RunTrace(calm.prefill, (*calm.rounds, *slow.rounds), (), FinishReason.MAX_NEW_TOKENS)
    found = diagnose(race_of(normal, run(*["aaab"] * 5)))
    assert found.costs[-1].key == "why_busy"
    assert found.costs[-1].values["factor"] == pytest.approx(3.0)


def test_a_fixed_length_that_is_the_best_already_gets_no_advice() -> None:
    # Half of the drafts kept, at a tenth of a pass each: one token is best, and was asked for.
    speculative = run(*["ab", "rs"] * 4, draft=0.3)
    found = diagnose(race_of(NORMAL, speculative, draft_length="fixed", num_draft_tokens=1))
    assert found.advice is None
