"""`/health`: which models are ready and how many wait, for whoever watches the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.responses import JSONResponse
from starlette.routing import Route


def health_route(page: gr.Blocks, loaded: Callable[[], str | None]) -> Route:
    """A route that answers with the state of the models and the length of the queue."""

    async def health(_: Any) -> JSONResponse:
        models = loaded()
        state = {"models_ready": models is not None, "models": models}
        return JSONResponse({"status": "ok", **state, "num_waiting": len(page._queue)})

    return Route("/health", health)
