"""Usual claims and known difficulties of speculative decoding, each beside a run's own figure.

Knows no component. Every figure is a measured one of the run, or a sentence that there is none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from specdemo import metrics
from specdemo.trace import RunTrace, Snapshot
from specdemo.ui.numerals import decimal, percent
from specdemo.ui.wording import words

CLAIMS = ("latency", "memory", "computation")
CHALLENGES = ("extra", "tuning", "verification", "strategies", "batches")
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said, what this run measured, and what to make of it."""

    kind: str
    said: str
    own: str
    note: str


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Rows of tokens that went through the target in both runs, and where the drafts came from.

    The target computes a row for each prompt token and, in a round, for the last token and each
    drafted one.
    """

    normal_target: int
    speculative_target: int
    from_model: int
    from_text: int
    from_table: int


def claims(snapshot: Snapshot, language: str) -> tuple[Claim, ...]:
    """All rows of the panel."""
    figures = own_figures(snapshot, language)
    spoken = words(language)
    rows = [*(("claim", key) for key in CLAIMS), *(("challenge", key) for key in CHALLENGES)]
    return tuple(
        Claim(kind, spoken[f"claim_{key}"], figures[key], spoken[f"claim_{key}_note"])
        for kind, key in rows
    )


def own_figures(snapshot: Snapshot, language: str) -> dict[str, str]:
    """The run's own figure for each row, as a sentence."""
    figures = (latency, memory, computation, extra, tuning, verification, strategies, batches)
    return dict(
        zip((*CLAIMS, *CHALLENGES), (figure(snapshot, language) for figure in figures), strict=True)
    )


def latency(snapshot: Snapshot, language: str) -> str:
    """How much less time a token took."""
    speedup = metrics.compare(snapshot).speedup
    if not speedup:
        return words(language)["not_measured"]
    change = 1 - 1 / speedup
    key = "claim_own_less" if change >= 0 else "claim_own_more"
    share, times = percent(abs(change), language), decimal(speedup, language, 2)
    return words(language)[key].format(share=share, speedup=times)


def memory(snapshot: Snapshot, language: str) -> str:
    """The bytes of the weights as they lay in memory, and in which precision."""
    samples = snapshot.speculative.memory
    if not samples:
        return _no_memory(snapshot, language)
    return words(language)["claim_own_memory"].format(
        target=_megabytes(samples[-1].target_weights_bytes, language),
        precision=snapshot.environment.precision,
    )


def computation(snapshot: Snapshot, language: str) -> str:
    """Passes saved beside rows added."""
    normal, speculative = snapshot.normal.trace, snapshot.speculative.trace
    rows = token_rows(normal, speculative)
    saved = len(normal.rounds) - len(speculative.rounds)
    key = "claim_own_passes" if saved >= 0 else "claim_own_passes_more"
    return words(language)[key].format(
        normal=len(normal.rounds), speculative=len(speculative.rounds), saved=abs(saved),
        normal_rows=rows.normal_target, speculative_rows=rows.speculative_target,
        model=rows.from_model, text=rows.from_text, table=rows.from_table,
    )  # fmt: skip


def extra(snapshot: Snapshot, language: str) -> str:
    """What the draft adds in memory."""
    if not snapshot.speculative.memory:
        return _no_memory(snapshot, language)
    last = snapshot.speculative.memory[-1]
    added = last.draft_weights_bytes + last.draft_cache_bytes
    alone = last.total_bytes - added
    return words(language)["claim_own_extra"].format(
        weights=_megabytes(last.draft_weights_bytes, language),
        cache=_megabytes(last.draft_cache_bytes, language),
        share=percent(added / alone, language) if alone else "–",
    )


def _no_memory(snapshot: Snapshot, language: str) -> str:
    is_served = snapshot.speculative.server is not None
    return words(language)["not_reported" if is_served else "not_measured"]


def tuning(snapshot: Snapshot, language: str) -> str:
    """How well the draft guessed."""
    run = metrics.run_metrics(snapshot.speculative.trace)
    if run.acceptance_rate is None:
        return words(language)["claim_own_no_draft"]
    return words(language)["claim_own_tuning"].format(
        rate=percent(run.acceptance_rate, language),
        tau=decimal(run.mean_acceptance_length, language, 2),
    )


def verification(snapshot: Snapshot, language: str) -> str:
    """What judging cost, and how much was drafted in vain."""
    run = metrics.run_metrics(snapshot.speculative.trace)
    costs = metrics.round_costs(snapshot.normal.trace, snapshot.speculative.trace)
    if costs is None:
        return words(language)["claim_own_no_draft"]
    return words(language)["claim_own_verification"].format(
        ratio=decimal(costs.verify_ratio, language, 2),
        overhead=percent(run.overhead_rate or 0.0, language),
        refused=run.num_tested_tokens - run.num_accepted_tokens,
        untested=run.num_draft_tokens - run.num_tested_tokens,
        drafted=run.num_draft_tokens,
    )


def strategies(snapshot: Snapshot, language: str) -> str:
    """How tokens were chosen in this run."""
    settings = snapshot.settings
    key = "claim_own_greedy" if snapshot.is_greedy else "claim_own_sampling"
    return words(language)[key].format(
        temperature=decimal(settings.temperature, language, 2),
        top_k=settings.top_k,
        top_p=decimal(settings.top_p, language, 2),
    )


def batches(snapshot: Snapshot, language: str) -> str:
    """One prompt at a time, on one device."""
    return words(language)["claim_own_batches"].format(processor=snapshot.environment.processor)


def token_rows(normal: RunTrace, speculative: RunTrace) -> TokenRows:
    """The rows of both runs."""
    sources: Counter[str] = Counter()
    for finished in speculative.rounds:
        for token in finished.judged:
            if not token.outcome.is_draft:
                continue
            is_copied = token.source_position is not None
            is_looked_up = token.looked_up_share is not None
            sources["text" if is_copied else "table" if is_looked_up else "model"] += 1
    return TokenRows(
        _target_rows(normal), _target_rows(speculative),
        sources["model"], sources["text"], sources["table"],
    )  # fmt: skip


def _target_rows(trace: RunTrace) -> int:
    prompt = trace.prefill.num_prompt_tokens if trace.prefill else 0
    # The prompt's last token is the first round's own row.
    return max(0, prompt - 1) + sum(1 + finished.num_draft_tokens for finished in trace.rounds)


def _megabytes(num_bytes: int, language: str) -> str:
    return decimal(num_bytes / _MEGABYTE, language, 1)
