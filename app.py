"""Starts the page: settings, session, layout, server."""

from __future__ import annotations

import logging
import os
import sys

# Gradio reads this on import: nothing of a visit leaves the machine.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

# On ZeroGPU this has to come before anything that could look for a GPU.
if "SPACES_ZERO_GPU" in os.environ:
    import spaces

from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.recordings import bundled_recordings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from specdemo.ui.zero import ZeroSession

settings = read_settings()
local = DecodeSession(settings)
session = ZeroSession(local, spaces.GPU) if "SPACES_ZERO_GPU" in os.environ else local
demo = build_page(
    session,
    bundled_recordings(),
    allow_custom_models=settings.allow_custom_models,
    pairs=settings.pairs,
    measuring_seconds=settings.measuring_seconds,
    has_servers=settings.servers.are_known,
)

if __name__ == "__main__":
    # Warnings and failures are always told; with --verbose a line for each run too.
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("specdemo").setLevel("INFO" if "--verbose" in sys.argv else "WARNING")
    launch(demo, settings, loaded=lambda: session.loaded)
