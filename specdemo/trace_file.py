"""Traces to and from files: one versioned JSON schema, plain or gzipped, checked on the way in.

A file is data only: it names no path and no code. Knows no model and no screen.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from specdemo.errors import TraceFileError
from specdemo.events import JudgedToken, Round
from specdemo.trace import LaneSnapshot, Snapshot, Words

MAX_FILE_BYTES = 8_000_000
MAX_BYTES = 64_000_000
MAX_ROUNDS = 20_000
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """A model that a run was made with."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A race as it is kept and shared; `recorded_at` is an ISO 8601 time in UTC."""

    snapshot: Snapshot
    title: str
    recorded_at: str
    models: tuple[ModelDigest, ...] = ()
    format: Literal["specdemo-trace"] = "specdemo-trace"
    version: Literal[1] = 1


_ADAPTER: TypeAdapter[TraceFile] = TypeAdapter(TraceFile)


def schema() -> dict[str, Any]:
    """The JSON schema of a trace file."""
    return _ADAPTER.json_schema(mode="serialization")


def dump(trace_file: TraceFile) -> bytes:
    """The file's gzipped bytes; equal traces give equal bytes."""
    text = _ADAPTER.dump_json(_settled(trace_file))
    return gzip.compress(text, mtime=0)


def parse(data: bytes) -> TraceFile:
    """The trace in a file, plain or gzipped; raises `TraceFileError` that names the place."""
    try:
        parsed = _ADAPTER.validate_json(_unpacked(data))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "its beginning"
        raise TraceFileError(
            f"This is no trace that can be replayed: at {place}, {first['msg'].lower()}. "
            "Open a file that was saved by this page."
        ) from error
    for place, complaint in _complaints(parsed.snapshot):
        raise TraceFileError(
            f"This trace is damaged: {place} {complaint}. Save it again where it came from."
        )
    return parsed


def _settled(trace_file: TraceFile) -> TraceFile:
    """The texts of tokens in a fixed order, as a table of their own."""
    words = trace_file.snapshot.words
    texts = dict(sorted(words.by_token_id.items()))
    snapshot = replace(trace_file.snapshot, words=Words(words.prompt_pieces, texts))
    return replace(trace_file, snapshot=snapshot)


def _unpacked(data: bytes) -> bytes:
    if (len(data) > MAX_FILE_BYTES and data[:2] == _GZIP_MAGIC) or len(data) > MAX_BYTES:
        raise TraceFileError("This file is too large for a trace; open a smaller one.")
    if data[:2] != _GZIP_MAGIC:
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise TraceFileError(
            "This gzip file is damaged; save the trace again where it came from."
        ) from error
    if unpacker.unconsumed_tail:
        raise TraceFileError("This file unpacks to too much for a trace; open a smaller one.")
    return text


def _complaints(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """What no run could have produced, with its place."""
    for name, lane in (("normal", snapshot.normal), ("speculative", snapshot.speculative)):
        yield from _lane_complaints(name, lane)


def _lane_complaints(name: str, lane: LaneSnapshot) -> Iterator[tuple[str, str]]:
    trace = lane.trace
    if len(trace.rounds) > MAX_ROUNDS:
        yield f"{name}.trace.rounds", f"holds more than {MAX_ROUNDS:,} rounds"
    if len(lane.pieces) != len(trace.rounds):
        yield f"{name}.pieces", "does not hold the text of each round"
    if len(lane.pending_pieces) != len(trace.pending):
        yield f"{name}.pending_pieces", "does not hold the text of each drafted token"
    if trace.prefill is None and trace.rounds:
        yield f"{name}.trace.prefill", "is missing"
    for owner in (trace.prefill, *lane.memory, *trace.pending):
        yield from _bad_numbers(f"{name}.trace", owner)
    for index, (finished, pieces) in enumerate(zip(trace.rounds, lane.pieces)):
        yield from _round_complaints(f"{name}.trace.rounds[{index}]", finished, index, pieces)


def _round_complaints(
    place: str, finished: Round, index: int, pieces: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    yield from _bad_numbers(place, finished)
    if finished.index != index:
        yield f"{place}.index", f"is {finished.index}, not {index}"
    if len(pieces) != len(finished.judged):
        yield place, "does not have a text for each of its tokens"
    if not finished.output_tokens:
        yield place, "gave no token"
    for at, token in enumerate(finished.judged):
        yield from _token_complaints(f"{place}.judged[{at}]", token)


def _token_complaints(place: str, token: JudgedToken) -> Iterator[tuple[str, str]]:
    numbers = {
        "target_prob": token.target_prob,
        "draft_prob": token.draft_prob,
        "draw": token.draw,
    }
    tops = (token.target_top, token.draft_top, token.residual_top)
    alternatives = {f"alternative {a.token_id}": a.prob for top in tops for a in top}
    for name, value in {**numbers, **alternatives}.items():
        # Written so that NaN fails too; sums of float32 may exceed 1 by their rounding.
        if value is not None and not 0.0 <= value <= 1.0001:
            yield f"{place}.{name}", f"is {value}, not a probability"


def _bad_numbers(place: str, owner: object) -> Iterator[tuple[str, str]]:
    """Seconds and bytes that are negative or not finite."""
    for name in getattr(type(owner), "__dataclass_fields__", ()):
        value = getattr(owner, name)
        is_number = isinstance(value, (int, float)) and name != "token_id"
        if is_number and not (math.isfinite(value) and value >= 0):
            yield f"{place}.{name}", f"is {value}"
