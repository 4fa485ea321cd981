"""What happens when memory runs out in the middle of something. Knows no request and no pair."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from specdemo.errors import NotEnoughMemoryError
from specdemo.models.memory import free_unused, is_out_of_memory


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turns an exhausted memory into one sentence of ours, and frees what the failure held."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        # The frames of the failed pass still name its tensors.
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        exhausted = NotEnoughMemoryError(
            "Memory ran out in the middle of it and was freed again; choose a lower precision or a "
            "smaller pair, ask for fewer tokens, or close other programs."
        )
    else:
        return
    free_unused()
    raise exhausted
