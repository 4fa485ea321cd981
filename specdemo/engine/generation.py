"""Token ids in, events out. Knows no text, no tokenizer and no screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from specdemo.engine.draft_length import DraftLength
from specdemo.engine.drafting import Clock
from specdemo.engine.protocols import Drafter, ModelRunner, Proposal
from specdemo.engine.sampling import Sampler, Warped
from specdemo.engine.verification import Verify, verify
from specdemo.events import (
    DecodeEvent,
    DecodeFinished,
    FinishReason,
    JudgedToken,
    PrefillFinished,
    Round,
    RoundVerified,
    TokenDrafted,
    TokenOutcome,
)


def generate(
    target: ModelRunner,
    drafter: Drafter,
    sampler: Sampler,
    prompt_token_ids: Sequence[int],
    *,
    draft_length: DraftLength,
    max_new_tokens: int,
    end_token_ids: frozenset[int],
    should_stop: Callable[[], bool] = lambda: False,
    clock: Clock = time.perf_counter,
    verify: Verify = verify,
) -> Generator[DecodeEvent, None, None]:
    """Decode after a prompt of at least one token, one event per forward pass.

    The drafter proposes as many tokens a round as `draft_length` wants and `max_new_tokens` leaves
    room for; the target judges them in one pass. Between rounds the target's cache holds the
    sequence without its last token. No time span contains a `yield`.
    """
    sequence = list(prompt_token_ids)
    last_length = len(sequence) + max_new_tokens

    started = clock()
    prompt = target.forward(sequence[:-1], 0)
    target_seconds = clock() - started
    draft_seconds = drafter.prefill(sequence, prompt.hidden)
    overhead_seconds = clock() - started - target_seconds - draft_seconds
    yield PrefillFinished(len(sequence), target_seconds, draft_seconds, overhead_seconds)

    for index in range(max_new_tokens):
        proposals: list[Proposal] = []
        # The target adds a token of its own, so the draft may fill all places but one.
        room = last_length - len(sequence) - 1
        drafting = drafter.propose(sequence, room)
        round_seconds = 0.0
        while True:
            if should_stop():
                yield DecodeFinished(FinishReason.STOPPED)
                return
            started = clock()
            proposal = next(drafting, None) if draft_length.wants_more(proposals) else None
            seconds = clock() - started
            round_seconds += seconds
            if proposal is None:
                break
            proposals.append(proposal)
            draft_prob = proposal.distribution.prob(proposal.token_id)
            yield TokenDrafted(index, proposal.token_id, draft_prob, seconds)

        started = clock()
        drafted = [proposal.token_id for proposal in proposals]
        pending = sequence[target.num_cached_tokens :] + drafted
        judged_pass = target.forward(pending, len(drafted) + 1)
        verify_seconds = clock() - started
        warped = sampler.warp(judged_pass.logits, sequence, drafted)
        judged = with_target_top(verify(proposals, warped, sampler), warped)
        judged = cut_at_end(judged, end_token_ids)
        committed = [token.token_id for token in judged if token.outcome.is_output]
        sequence.extend(token_id for token_id in committed if token_id is not None)
        target.rollback(len(sequence) - 1)
        drafter.rollback(len(sequence) - 1)
        drafter.observe(judged_pass.hidden[: len(committed)])
        draft_seconds = sum(proposal.forward_seconds for proposal in proposals)
        round_seconds += clock() - started
        overhead_seconds = round_seconds - draft_seconds - verify_seconds
        finished = Round(index, judged, draft_seconds, verify_seconds, overhead_seconds)
        draft_length.observe(finished)
        yield RoundVerified(finished)

        if sequence[-1] in end_token_ids:
            yield DecodeFinished(FinishReason.END_OF_TEXT)
            return
        if len(sequence) == last_length:
            break
    yield DecodeFinished(FinishReason.MAX_NEW_TOKENS)


def with_target_top(judged: tuple[JudgedToken, ...], warped: Warped) -> tuple[JudgedToken, ...]:
    """Each judged token with the target's alternatives at its position.

    A resampled token stands at the position of the refused one; untested tokens have no verdict,
    so they get none.
    """
    result: list[JudgedToken] = []
    row = 0
    for token in judged:
        if token.outcome is TokenOutcome.UNTESTED:
            result.append(token)
            continue
        result.append(replace(token, target_top=warped.row(row).top))
        row += token.outcome is TokenOutcome.ACCEPTED
    return tuple(result)


def cut_at_end(
    judged: tuple[JudgedToken, ...], end_token_ids: frozenset[int]
) -> tuple[JudgedToken, ...]:
    """The round up to its first end token; drafted tokens behind it become untested."""
    for index, token in enumerate(judged):
        if token.outcome.is_output and token.token_id in end_token_ids:
            behind = [rest for rest in judged[index + 1 :] if rest.outcome.is_draft]
            untested = [
                JudgedToken(
                    rest.token_id, TokenOutcome.UNTESTED, None, rest.draft_prob,
                    draft_top=rest.draft_top, source_position=rest.source_position,
                    looked_up_share=rest.looked_up_share,
                )
                for rest in behind
            ]  # fmt: skip
            return (*judged[: index + 1], *untested)
    return judged
