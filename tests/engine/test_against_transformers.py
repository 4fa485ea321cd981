"""Our verification against transformers' own speculative sampling, draw for draw."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers.generation import utils as theirs

from specdemo.engine.distribution import Dense, residual
from specdemo.engine.protocols import Proposal
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.engine.verification import verify
from specdemo.events import TokenOutcome


class ScriptedSampler(Sampler):
    """Draws the numbers it was given."""

    def __init__(self, draws: Iterator[float]) -> None:
        super().__init__(SamplingParams(temperature=1.0), 0)
        self._draws = draws

    def draw(self) -> float:
        return next(self._draws)


def rows(count: int, vocab_size: int, spread: float, cut: float, seed: int) -> torch.Tensor:
    """Logits (count, V); each token but the first is impossible with probability `cut`."""
    chance = torch.Generator().manual_seed(seed)
    logits = spread * torch.randn(count, vocab_size, generator=chance)
    is_cut = torch.rand(count, vocab_size, generator=chance) < cut
    is_cut[:, 0] = False
    return logits.masked_fill(is_cut, -torch.inf)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    vocab_size=st.integers(2, 50),
    num_draft_tokens=st.integers(1, 12),
    spread=st.sampled_from([0.0, 0.5, 2.0, 6.0]),
    cut=st.sampled_from([0.0, 0.5, 0.9]),
    is_equal=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_the_same_draws_keep_the_same_tokens_and_leave_the_same_distribution(
    monkeypatch: pytest.MonkeyPatch,
    vocab_size: int,
    num_draft_tokens: int,
    spread: float,
    cut: float,
    is_equal: bool,
    seed: int,
) -> None:
    target_logits = rows(num_draft_tokens + 1, vocab_size, spread, cut, seed)
    draft_logits = rows(num_draft_tokens, vocab_size, spread, cut, seed + 1)
    if is_equal:
        draft_logits = target_logits[:-1].clone()
    targets = [Dense(row) for row in target_logits.softmax(-1)]
    drafts = [Dense(row) for row in draft_logits.softmax(-1)]
    chance = torch.Generator().manual_seed(seed + 2)
    draws = torch.rand(num_draft_tokens, generator=chance)
    picks = torch.rand(num_draft_tokens, generator=chance).tolist()
    drafted = [draft.pick(pick) for draft, pick in zip(drafts, picks)]

    left: list[torch.Tensor] = []

    def multinomial(probs: torch.Tensor, num_samples: int) -> torch.Tensor:
        left.append(probs[0].clone())
        return probs.argmax(dim=-1, keepdim=True)

    with monkeypatch.context() as patch:
        patch.setattr(theirs.torch, "rand_like", draws.to)
        patch.setattr(theirs.torch, "multinomial", multinomial)
        _, num_matches = theirs._speculative_sampling(
            torch.tensor([drafted]), draft_logits[None], num_draft_tokens, target_logits[None]
        )

    proposals = [Proposal(token_id, draft) for token_id, draft in zip(drafted, drafts)]
    judged = verify(proposals, targets, ScriptedSampler(iter([*draws.tolist(), 0.5])))
    num_kept = sum(token.outcome is TokenOutcome.ACCEPTED for token in judged)
    assert num_kept == int(num_matches)
    ours = (
        targets[num_kept]
        if num_kept == num_draft_tokens
        else residual(targets[num_kept], drafts[num_kept])
    )
    assert torch.allclose(ours.dense(), left[0], atol=1e-5)
    assert ours.prob(judged[-1].token_id or 0) > 0
