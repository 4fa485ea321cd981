"""Files that exist whole or not at all, so that an interrupted run leaves nothing half-written."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Lends a path to write to, which becomes `path` once the block has succeeded."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    yield unfinished
    os.replace(unfinished, path)


def write_json(path: Path, value: object) -> None:
    """Writes `value` as JSON: a dictionary line by line, a list on one line."""
    with written_whole(path) as unfinished:
        indent = 1 if isinstance(value, dict) else None
        unfinished.write_text(json.dumps(value, indent=indent) + "\n", encoding="utf-8")
