"""What all commands share: progress on stderr, numbers as text, and a gentle Ctrl-C."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import Any

from specdemo.plain import finite

INTERRUPTED = 130


def add_command(
    commands: Any, name: str, summary: str, example: str, execute: Callable[..., int]
) -> argparse.ArgumentParser:
    """A new command whose help ends with an example."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(execute=execute)
    return command


def say(sentence: str) -> None:
    """Tell of progress: never on stdout, which holds results only."""
    print(sentence, file=sys.stderr, flush=True)


def print_json(value: object) -> None:
    """One JSON object on stdout."""
    print(json.dumps(finite(value), ensure_ascii=False, allow_nan=False))


@contextmanager
def interruptible() -> Iterator[Event]:
    """An event that the first Ctrl-C sets, so that what was measured is still told.

    The second one interrupts at once.
    """
    stop = Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("Stopping after this pass; press Ctrl-C again to leave at once.")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def number(value: float | None, form: str) -> str:
    """A number, or a dash where nothing was measured."""
    return "–" if value is None else format(value, form)
