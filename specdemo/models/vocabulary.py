"""Whether two models mean the same by the same token id. Knows no text and no weights."""

from __future__ import annotations

from collections.abc import Mapping

from specdemo.errors import PairMismatchError

# Special tokens that only one of two siblings has stand at the end and are few.
_LEAST_SHARED = 0.98


def shared_vocab_size(
    target: Mapping[str, int], draft: Mapping[str, int], *, names: tuple[str, str]
) -> int:
    """How many ids, from 0 on, stand for the same token in both vocabularies.

    Raises `PairMismatchError` where that is not nearly all of them.
    """
    by_id, draft_by_id = _by_id(target), _by_id(draft)
    size = max(by_id, default=-1) + 1
    shared = next((i for i in range(size) if by_id.get(i) != draft_by_id.get(i)), size)
    if shared < _LEAST_SHARED * size:
        target_name, draft_name = names
        raise PairMismatchError(
            f"{draft_name} and {target_name} use different tokenizers (they part at token "
            f"{shared:,} of {size:,}); choose a draft of the same family, or leave the draft out "
            "and draft by n-gram lookup."
        )
    return shared


def _by_id(vocabulary: Mapping[str, int]) -> dict[int, str]:
    return {token_id: token for token, token_id in vocabulary.items()}
