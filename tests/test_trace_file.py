"""What a trace file promises."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdemo import metrics, trace_file
from specdemo.errors import TraceFileError
from specdemo.events import (
    Alternative,
    FinishReason,
    JudgedToken,
    PrefillFinished,
    Round,
    TokenOutcome,
)
from specdemo.session import DecodeRequest
from specdemo.trace import LaneSnapshot, MemorySample, RunTrace, Snapshot, Words
from specdemo.trace_file import TraceFile, dump, parse
from tests.traces import HERE
from tests.ui.fakes import FakeSession

SCHEMA = Path(__file__).parent.parent / "docs" / "trace-schema.json"


def recorded() -> TraceFile:
    *_, last = FakeSession().run(DecodeRequest("Why?"), Event())
    return TraceFile(last, "Why?", "2026-12-01T00:00:00+00:00")


def changed(change: Any) -> bytes:
    """The recorded file with a change made to its JSON."""
    data = json.loads(gzip.decompress(dump(recorded())))
    change(data)
    return json.dumps(data).encode()


probs = st.none() | st.floats(0, 1)
texts = st.text(max_size=6)
alternatives = st.builds(Alternative, st.integers(0, 99), st.floats(0, 1))
tops = st.lists(alternatives, max_size=3).map(tuple)
tokens = st.builds(
    JudgedToken, st.none() | st.integers(0, 99), st.sampled_from(TokenOutcome), probs, probs, probs,
    tops, tops, tops, st.none() | st.integers(0, 9),
)  # fmt: skip
last_tokens = st.builds(JudgedToken, st.integers(0, 99), st.just(TokenOutcome.BONUS))
seconds = st.floats(0, 1e6)
samples = st.builds(MemorySample, seconds, *[st.integers(0, 2**40)] * 6, st.none() | st.integers(0))


@st.composite
def lanes(draw: st.DrawFn) -> LaneSnapshot:
    judged = draw(st.lists(st.tuples(st.lists(tokens, max_size=3), last_tokens), max_size=4))
    rounds = tuple(
        Round(index, (*own, last), draw(seconds), draw(seconds), draw(seconds))
        for index, (own, last) in enumerate(judged)
    )
    pieces = tuple(tuple(draw(texts) for _ in finished.judged) for finished in rounds)
    prefill = PrefillFinished(3, draw(seconds), draw(seconds), draw(seconds))
    trace = RunTrace(prefill, rounds, (), draw(st.none() | st.sampled_from(FinishReason)))
    memory = tuple(draw(st.lists(samples, max_size=2)))
    return LaneSnapshot(trace, pieces, (), draw(texts), memory)


snapshots = st.builds(
    Snapshot, lanes(), lanes(), st.just(HERE),
    st.builds(DecodeRequest, st.text(min_size=1, max_size=9).filter(str.strip)),
    words=st.builds(
        Words, st.lists(texts, max_size=3).map(tuple), st.dictionaries(st.integers(0, 99), texts)
    ),
)  # fmt: skip


@settings(deadline=None)
@given(snapshots, texts)
def test_export_then_import_then_export_gives_the_same_file(snapshot: Snapshot, title: str) -> None:
    data = dump(TraceFile(snapshot, title, "2026-12-01T00:00:00+00:00"))
    assert dump(parse(data)) == data


def test_an_imported_trace_has_the_metrics_of_the_live_run() -> None:
    live = recorded()
    imported = parse(dump(live)).snapshot
    assert metrics.compare(imported) == metrics.compare(live.snapshot)
    for one, other in (
        (imported.normal, live.snapshot.normal),
        (imported.speculative, live.snapshot.speculative),
    ):
        assert one == other
        assert metrics.run_metrics(one.trace) == metrics.run_metrics(other.trace)


def test_a_plain_file_is_as_good_as_a_gzipped_one() -> None:
    data = dump(recorded())
    assert parse(gzip.decompress(data)) == parse(data)


def test_the_published_schema_is_the_codes() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == trace_file.schema()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda data: data.pop("snapshot"), "snapshot"),
        (lambda data: data.update(version=99), "version"),
        (
            lambda data: data["snapshot"]["normal"]["trace"]["rounds"][3].update(index=1),
            "normal.trace.rounds[3].index",
        ),
        (
            lambda data: data["snapshot"]["speculative"]["trace"]["rounds"][0]["judged"][1].update(
                draw=1.5
            ),
            "speculative.trace.rounds[0].judged[1].draw",
        ),
        (
            lambda data: data["snapshot"]["normal"]["trace"]["rounds"][0].update(verify_seconds=-1),
            "normal.trace.rounds[0].verify_seconds",
        ),
        (lambda data: data["snapshot"]["normal"]["pieces"].pop(), "normal.pieces"),
        (lambda data: data["snapshot"]["normal"]["pieces"][2].pop(), "normal.trace.rounds[2]"),
        (lambda data: data["snapshot"]["normal"]["trace"].update(prefill=None), "prefill"),
        (
            lambda data: data["snapshot"]["normal"]["trace"]["rounds"][0].update(judged=[]),
            "normal.trace.rounds[0]",
        ),
        (
            lambda data: (
                data["snapshot"]["normal"]["trace"]["rounds"][0].update(judged=[]),
                data["snapshot"]["normal"]["pieces"].__setitem__(0, []),
            ),
            "normal.trace.rounds[0] gave no token",
        ),
        (
            lambda data: data["snapshot"]["normal"]["memory"][0].update(seconds=-2.0),
            "normal.trace.seconds",
        ),
        (
            lambda data: data["snapshot"]["normal"]["pending_pieces"].append("x"),
            "normal.pending_pieces",
        ),
        (
            lambda data: data["snapshot"]["speculative"]["trace"]["rounds"][0]["judged"][0].update(
                outcome="maybe"
            ),
            "outcome",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_the_place_named(change: Any, place: str) -> None:
    with pytest.raises(TraceFileError, match="trace") as caught:
        parse(changed(change))
    assert place in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[" * 100_000, b"\x1f\x8bnot gzip", b"\xff\xfe", b'{"version": NaN}'],
)
def test_what_is_no_trace_is_refused_in_one_sentence(data: bytes) -> None:
    with pytest.raises(TraceFileError) as caught:
        parse(data)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "data",
    [b" " * (trace_file.MAX_BYTES + 1), b"\x1f\x8b" + bytes(trace_file.MAX_FILE_BYTES)],
    ids=["plain", "gzipped"],
)
def test_a_file_that_is_too_large_is_not_even_read(data: bytes) -> None:
    with pytest.raises(TraceFileError, match="too large"):
        parse(data)


def test_a_run_of_more_rounds_than_a_page_can_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = recorded()
    most = max(len(lane.trace.rounds) for lane in (file.snapshot.normal, file.snapshot.speculative))
    monkeypatch.setattr(trace_file, "MAX_ROUNDS", most)
    assert len(parse(dump(file)).snapshot.normal.trace.rounds) == most
    monkeypatch.setattr(trace_file, "MAX_ROUNDS", most - 1)
    with pytest.raises(TraceFileError, match="more than"):
        parse(dump(file))


def test_a_file_that_unpacks_to_too_much_is_refused() -> None:
    bomb = gzip.compress(b" " * (trace_file.MAX_BYTES + 1))
    with pytest.raises(TraceFileError, match="too much"):
        parse(bomb)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_fuzzed_file_is_read_or_refused_and_never_crashes(data: st.DataObject) -> None:
    original = bytearray(gzip.decompress(SMALL))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(original) - 1))
        original[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with suppress(TraceFileError):
        parse(bytes(original))


def small() -> bytes:
    *_, last = FakeSession().run(DecodeRequest("Why?", max_new_tokens=6), Event())
    return dump(TraceFile(replace(last), "Why?", "2026-12-01T00:00:00+00:00"))


SMALL = small()
