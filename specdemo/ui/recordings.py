"""Recorded runs: the bundled ones, those that a visitor opens, and the run on screen to keep.

Files come and go as text inside the page's own messages: no path of a visitor reaches this machine.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import gradio as gr

from specdemo.errors import TraceFileError
from specdemo.models.catalog import PAIRS, BundledModelSpec
from specdemo.settings import ASSETS_FOLDER
from specdemo.trace import Snapshot
from specdemo.trace_file import ModelDigest, TraceFile, dump, parse
from specdemo.ui.json_view import encode, json_view

SUFFIX = ".trace.json.gz"
_FOLDER = ASSETS_FOLDER / "traces"

Recordings = Mapping[str, Callable[[], TraceFile]]


def bundled_recordings(folder: Path = _FOLDER) -> Recordings:
    """The recorded runs that come with the project, by name, each read when it is asked for."""

    def reader(path: Path) -> Callable[[], TraceFile]:
        return cache(lambda: parse(path.read_bytes()))

    return {
        path.name.removesuffix(SUFFIX): reader(path) for path in sorted(folder.glob(f"*{SUFFIX}"))
    }


def recordings_view(recordings: Recordings) -> gr.HTML:
    """The list of recorded runs, with buttons to open a file and to save the run on screen."""
    return json_view("recordings", names=list(recordings))


def opened(encoded: str) -> TraceFile:
    """The trace in a file that the page sent as base64; raises `TraceFileError`."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise TraceFileError("The file did not arrive whole; open it again.") from error
    return parse(data)


def to_save(snapshot: Snapshot) -> str:
    """The run on screen as a file for the page to hand to the visitor."""
    now = datetime.now(UTC)
    data = dump(recorded(snapshot, title=snapshot.settings.prompt, now=now))
    name = f"specdemo-{now:%Y%m%d-%H%M%S}{SUFFIX}"
    return encode({"name": name, "data": base64.b64encode(data).decode("ascii")})


def recorded(snapshot: Snapshot, *, title: str, now: datetime) -> TraceFile:
    """A run as a file, with the digests of its models where they are known."""
    pair = PAIRS.get(snapshot.settings.pair)
    models = (pair.target, pair.draft) if pair else ()
    return TraceFile(
        snapshot=snapshot,
        title=title,
        recorded_at=now.isoformat(timespec="seconds"),
        models=tuple(
            ModelDigest(model.name, model.sha256)
            for model in models
            if isinstance(model, BundledModelSpec)
        ),
    )
