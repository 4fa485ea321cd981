"""Starts the page: settings, session, layout, server."""

from __future__ import annotations

import logging
import os
import sys

# Gradio reads this on import: nothing of a visit leaves the machine.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.recordings import bundled_recordings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page

settings = read_settings()
session = DecodeSession(settings)
demo = build_page(session, bundled_recordings(), allow_custom_models=settings.allow_custom_models)

if __name__ == "__main__":
    # Warnings and failures are always told; with --verbose a line for each run too.
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("specdemo").setLevel("INFO" if "--verbose" in sys.argv else "WARNING")
    launch(demo, settings, is_ready=lambda: session.is_ready)
