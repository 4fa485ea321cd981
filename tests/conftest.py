from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Before anything imports a library that would look for a network.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Machines that run this are shared: a deadline would test them, not the code.
settings.register_profile("specdemo", deadline=None)
settings.load_profile("specdemo")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshots", type=Path, help="folder for the pictures of a finished race")
