"""Starts the page: settings, session, layout, server."""

from __future__ import annotations

import os

# Gradio reads this on import: nothing of a visit leaves the machine.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.recordings import bundled_recordings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page

settings = read_settings()
demo = build_page(
    DecodeSession(settings),
    bundled_recordings(),
    allow_custom_models=settings.allow_custom_models,
)

if __name__ == "__main__":
    launch(demo, settings)
