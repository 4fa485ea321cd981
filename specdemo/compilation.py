"""Compiled functions and where they are kept. Knows no arithmetic.

Numba keeps machine code beside the file of each function and renews it when that file changes, but
not when a file that it calls into does. So it is kept in a folder named after all the sources.
"""

from __future__ import annotations

# mypy: ignore-errors
# numba's decorators carry no types.
import hashlib
from functools import partial
from pathlib import Path

import numba

from specdemo.settings import read_settings

_PACKAGE = Path(__file__).resolve().parent
_SOURCES = [_PACKAGE / "engine" / "rows.py", *sorted(_PACKAGE.glob("models/kernels/*.py"))]


def sources_digest() -> str:
    """A name that changes with any of the compiled sources."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:12]


# Someone's own NUMBA_CACHE_DIR goes first.
if not numba.config.CACHE_DIR:
    numba.config.CACHE_DIR = str(read_settings().cache_folder / f"compiled-{sources_digest()}")

# As numpy divides: without a branch for zero, which would keep loops from vectorizing.
njit = partial(numba.njit, cache=True, error_model="numpy")
