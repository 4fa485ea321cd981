"""The exact distribution of an answer's first tokens, from the target's own rows.

No sampling: every continuation that the target allows is followed. Knows no draft.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from specdemo.engine.sampling import Sampler
from specdemo.proof.remembering import PassTree, RememberingRunner

# Shorter where the answer ended before.
Tokens: TypeAlias = tuple[int, ...]
_Amount = TypeVar("_Amount", int, float)


def exact_distribution(
    tree: PassTree,
    sampler: Sampler,
    prompt_token_ids: Sequence[int],
    num_tokens: int,
    end_token_ids: frozenset[int],
) -> dict[Tokens, float]:
    """The probability of every first `num_tokens` tokens that the target can write.

    With top-k 8 and three tokens, these are at most 1 + 8 + 64 rows of one pass each.
    """
    found: dict[Tokens, float] = {}

    def follow(tokens: Tokens, prob: float) -> None:
        if len(tokens) == num_tokens or (tokens[-1:] and tokens[-1] in end_token_ids):
            found[tokens] = prob
            return
        for token_id, share in next_probs(tree, sampler, [*prompt_token_ids, *tokens]):
            follow((*tokens, token_id), prob * share)

    follow((), 1.0)
    return found


def next_probs(
    tree: PassTree, sampler: Sampler, token_ids: Sequence[int]
) -> Iterator[tuple[int, float]]:
    """Each token that may come next with its probability; they sum to 1."""
    runner = RememberingRunner(tree)
    runner.forward(token_ids[:-1], 0)
    row = sampler.warp(runner.forward(token_ids[-1:], 1).logits, token_ids)[0].dense().double()
    row = row / row.sum()
    for token_id in row.nonzero().flatten().tolist():
        yield token_id, row[token_id].item()


def marginal(amounts: Mapping[Tokens, _Amount], position: int) -> dict[int | None, _Amount]:
    """The same of one position alone; `None` where the answer had ended before it."""
    found: dict[int | None, _Amount] = defaultdict(type(next(iter(amounts.values()), 0)))
    for tokens, amount in amounts.items():
        found[tokens[position] if position < len(tokens) else None] += amount
    return dict(found)
