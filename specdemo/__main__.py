"""The command line, as `python -m specdemo`."""

from __future__ import annotations

import sys

from specdemo.cli import main

if __name__ == "__main__":
    sys.exit(main())
