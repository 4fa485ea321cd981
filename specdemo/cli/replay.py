"""`replay`: a recorded run on the page, or its numbers, without any model."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from specdemo.cli.console import add_command, print_json
from specdemo.errors import TraceFileError
from specdemo.plain import snapshot_json
from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from specdemo.trace_file import TraceFile, parse

_EXAMPLE = """  python -m specdemo replay specdemo-20261201-120000.trace.json.gz"""


def add_to(commands: Any) -> None:
    """Add this command."""
    summary = "open the page on a recorded run"
    replay = add_command(commands, "replay", summary, _EXAMPLE, execute)
    replay.add_argument("file", metavar="FILE", help="a trace that the page saved")


def execute(options: argparse.Namespace) -> int:
    """Serve the page, the recording first; or print the recording's numbers."""
    trace_file = read(Path(options.file))
    if options.json:
        print_json(snapshot_json(trace_file.snapshot))
    else:
        serve(Path(options.file).name, trace_file)
    return 0


def read(path: Path) -> TraceFile:
    """The trace in a file; raises `TraceFileError`."""
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise TraceFileError(f"{path} cannot be read: {error.strerror}.") from error


def serve(name: str, trace_file: TraceFile) -> None:
    """The page, opened on the recording, until it is interrupted."""
    # Gradio reads this on import, hence so late: nothing of a visit leaves the machine.
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    from specdemo.ui.recordings import bundled_recordings  # noqa: PLC0415
    from specdemo.ui.serving import launch  # noqa: PLC0415
    from specdemo.ui.wiring import build_page  # noqa: PLC0415

    settings = read_settings()
    page = build_page(
        DecodeSession(settings),
        {name: lambda: trace_file, **bundled_recordings()},
        allow_custom_models=settings.allow_custom_models,
        has_servers=settings.servers.are_known,
    )
    launch(page, settings, inbrowser=True)
