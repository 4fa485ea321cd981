"""`models`: what can be run here."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from specdemo.cli.console import add_command, print_json
from specdemo.session.catalogue import ListedPair, listed_pairs
from specdemo.settings import read_settings

_GIGABYTE = 1_000_000_000


def add_to(commands: Any) -> None:
    """Add this command."""
    example = "  python -m specdemo models"
    add_command(commands, "models", "list the pairs that can be run", example, execute)


def execute(options: argparse.Namespace) -> int:
    """Print the catalogue."""
    pairs = listed_pairs(read_settings())
    if options.json:
        print_json({"models": [asdict(pair) for pair in pairs]})
    else:
        print("\n".join(map(line, pairs)))
    return 0


def line(pair: ListedPair) -> str:
    """One pair in a line."""
    size = "size not known" if pair.expected_bytes is None else _gigabytes(pair.expected_bytes)
    parts = [pair.title, size, pair.licence]
    parts += ["gated: needs a token"] if pair.is_gated else []
    parts += ["ready" if pair.is_cached else "fetched or unpacked on first use"]
    return f"{pair.name}  {' · '.join(parts)}"


def _gigabytes(num_bytes: int) -> str:
    return f"{num_bytes / _GIGABYTE:,.1f} GB"
