from __future__ import annotations

from specdemo.metrics import Finding
from specdemo.ui.why import spoken, why_sentences
from tests.traces import race_of, run


def test_a_race_is_explained_once_it_is_over() -> None:
    over = race_of(run(*["n"] * 12), run(*["aab"] * 4, draft=0.5))
    assert why_sentences(over, "en") == [
        "Speculative decoding was 1.50 times as fast as normal decoding.",
        "Drafting took 50 % of the run; a draft pass costs 0.50 of a target pass. "
        "Were it free: 3.00×.",
    ]
    running = race_of(run("n", reason=None), run("aab", reason=None))
    assert why_sentences(running, "en") == why_sentences(None, "en") == []


def test_every_finding_can_be_said_in_both_languages() -> None:
    values = dict.fromkeys(
        ["speedup", "without", "drafted", "kept", "share", "ratio", "factor", "length", "tokens",
         "expected"],
        0.5,
    )  # fmt: skip
    for key in (
        "why_nothing", "why_no_draft", "why_faster", "why_slower", "why_refused",
        "why_draft_cost", "why_verify_cost", "why_overhead", "why_busy", "advice_none",
        "advice_length", "advice_longer",
    ):  # fmt: skip
        for language in ("en", "it"):
            assert "{" not in spoken(Finding(key, values), language)
