"""What the bundled recordings promise: made here, with these models, and made again alike."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from specdemo.models.catalog import PAIRS, BundledModelSpec
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.examples import applications
from specdemo.ui.recordings import bundled_recordings

RECORDINGS = bundled_recordings()


def test_each_example_has_a_recording_with_its_machine_and_models() -> None:
    assert RECORDINGS.keys() == {application.key for application in applications()}
    for reader in RECORDINGS.values():
        trace_file = reader()
        settings, environment = trace_file.snapshot.settings, trace_file.snapshot.environment
        assert environment.processor
        assert dict(environment.versions).keys() >= {"torch", "transformers"}
        assert trace_file.recorded_at[:2] == "20"
        pair = PAIRS[settings.pair]
        digests = {
            model.name: model.sha256
            for model in (pair.target, pair.draft)
            if isinstance(model, BundledModelSpec)
        }
        assert {model.name: model.sha256 for model in trace_file.models} == digests


@pytest.mark.slow
def test_greedy_recordings_are_made_again_with_the_same_token_ids() -> None:
    """In the recorded precision; a greedy answer does not depend on the length of its drafts."""
    session = DecodeSession(read_settings())
    for name, reader in RECORDINGS.items():
        recorded = reader().snapshot
        if not recorded.is_greedy:
            continue
        asked = {f: getattr(recorded.settings, f) for f in recorded.settings.__dataclass_fields__}
        request = replace(DecodeRequest(**asked), precision=recorded.environment.precision)
        *_, last = session.run(request, Event())
        for lane in ("normal", "speculative"):
            again, before = getattr(last, lane).trace, getattr(recorded, lane).trace
            assert again.token_ids == before.token_ids, f"{name}, {lane}"
