"""`/health`: whether the models are ready and how many wait, for whoever watches the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.responses import JSONResponse
from starlette.routing import Route


def health_route(page: gr.Blocks, is_ready: Callable[[], bool]) -> Route:
    """A route that answers with the state of the models and the length of the queue."""

    async def health(_: Any) -> JSONResponse:
        state = {"models_ready": is_ready(), "num_waiting": len(page._queue)}
        return JSONResponse({"status": "ok", **state})

    return Route("/health", health)
