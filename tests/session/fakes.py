"""A pair of tables, and a session that holds it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.loading import LoadedSpec, ModelPair
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.session import decode_session as session_module
from specdemo.trace import Snapshot
from tests.fakes import TableRunner, random_table
from tests.models.test_tokenization import byte_tokenizer

VOCAB = 257


class SizedTable(TableRunner):
    """A table model with a cache of one byte a token."""

    cache_bytes = property(lambda self: 100)
    cache_used_bytes = property(lambda self: len(self.cached))


def table_pair(make_target: Callable[[int], SizedTable] | None = None) -> ModelPair:
    """A pair of table models over single bytes."""
    table = random_table(VOCAB, 1)
    return ModelPair(
        spec=LoadedSpec(SMOLLM2_135M, "cpu", "bfloat16"),
        tokenizer=byte_tokenizer(),
        vocab_size=VOCAB,
        context_length=200,
        num_threads=1,
        target_weights_bytes=1000,
        draft_weights_bytes=10,
        new_target_runner=make_target or (lambda capacity: SizedTable(table)),
        new_draft_runner=lambda capacity: SizedTable(table + random_table(VOCAB, 2)),
    )


def hold(session: DecodeSession, pair: ModelPair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make that pair the session's loaded one, whatever is asked for."""
    session._store._pair = pair
    monkeypatch.setattr(session_module, "loaded_spec", lambda *names: pair.spec)
    monkeypatch.setattr(session_module, "spec_of", lambda request: pair.spec)


def finish(session: DecodeSession, request: DecodeRequest, stop: Event | None = None) -> Snapshot:
    """A run's last snapshot."""
    *_, last = session.run(request, stop or Event())
    return last
