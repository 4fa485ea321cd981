"""The command line: everything the page can do, without a mouse. One file a command.

Results go to stdout, progress to stderr. Exit codes: 0 success, 2 the user's to mend,
130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from specdemo.cli import bench, models, replay, run, score, verify
from specdemo.errors import SpecdemoError

_COMMANDS = (run, bench, score, verify, models, replay)


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="specdemo",
        description=__doc__,
        epilog="`specdemo COMMAND --help` shows an example of each.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    for command in _COMMANDS:
        command.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.execute(options)
    except SpecdemoError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code
