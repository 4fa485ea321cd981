"""Record one race for each application example into assets/traces, on the bundled pair.

    python scripts/record_trace.py

The page opens with the first of them, so that something real is on screen before any model is.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.settings import ASSETS_FOLDER, read_settings
from specdemo.trace_file import dump
from specdemo.ui.examples import applications
from specdemo.ui.recordings import SUFFIX, recorded

FOLDER = ASSETS_FOLDER / "traces"
SAMPLED = ("game",)  # recorded at a temperature, so that a draw decides


def main() -> None:
    """Write a file for each application."""
    session = DecodeSession(read_settings())
    for stage in session.load():
        print(stage, file=sys.stderr)
    FOLDER.mkdir(exist_ok=True)
    for application in applications():
        request = DecodeRequest(
            application.prompts[0],
            is_chat=application.is_chat,
            temperature=0.7 if application.key in SAMPLED else 0.0,
            max_new_tokens=120,
        )
        *_, last = session.run(request, Event())
        now = datetime.now(UTC)
        path = FOLDER / f"{application.key}{SUFFIX}"
        path.write_bytes(dump(recorded(last, title=application.prompts[0], now=now)))
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
