"""A real Chromium, and a page served from inside the test process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from specdemo.settings import read_settings
from specdemo.ui.recordings import Recordings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page

_FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium where there is one: nothing is downloaded."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    found = {"executable_path": chromium} if chromium else {}
    return {**browser_type_launch_args, **found, "args": _FLAGS}


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., str]]:
    """Serve the page on a session and get its address; closed at the end of the module."""
    pages = []

    def start(session: Any, recordings: Recordings | None = None) -> str:
        page = build_page(session, recordings or {})
        pages.append(page)
        _, address, _ = launch(page, read_settings({}), prevent_thread_lock=True, quiet=True)
        return str(address)

    yield start
    for page in pages:
        page.close(verbose=False)
