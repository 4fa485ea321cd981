from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALONE = ["unshare", "--map-root-user", "--net"]


def may_be_alone() -> bool:
    """Whether this system lets a process have a network of its own."""
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not may_be_alone(), reason="no network namespace may be made here")
def test_the_page_works_on_the_bundled_pair_where_there_is_no_network_at_all() -> None:
    command = [*ALONE, sys.executable, "-m", "tests.without_network"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "status_finished" in done.stdout
    assert "Traceback" not in done.stderr
