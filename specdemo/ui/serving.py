"""How the page is served: theme, colours, files and the queue. Knows no component and no run."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.routing import Route

from specdemo.palette import LANE_COLOURS, STATE_STYLES
from specdemo.settings import ASSETS_FOLDER, Settings
from specdemo.ui.guard import MAX_UPLOAD_BYTES, Guard
from specdemo.ui.health import health_route
from specdemo.ui.live_chart import PLOTLY_ADDRESS, PLOTLY_SCRIPT

MAX_WAITING = 64
MAX_SESSIONS = 128
_SHEETS = ("page", "classroom")
_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
_MONO_FONTS = ["ui-monospace", "Consolas", "monospace"]


def launch(
    page: gr.Blocks,
    settings: Settings,
    *,
    loaded: Callable[[], str | None] = lambda: None,
    **changes: Any,
) -> Any:
    """Serve the page, and `/health` beside it; `changes` go to Gradio's own `launch`."""
    page.queue(max_size=MAX_WAITING)
    options: dict[str, Any] = {
        "server_name": settings.host,
        "server_port": settings.port,
        "share": False,
        "ssr_mode": False,
        "run_history": False,
        "footer_links": [],
        "theme": theme(),
        "css": stylesheet(),
        "max_file_size": MAX_UPLOAD_BYTES,
        # Gradio keeps a third of a megabyte for each page and each call, for an hour at least. The
        # least recently used go first; a page whose state has gone is given a fresh one.
        "state_session_capacity": MAX_SESSIONS,
        "app_kwargs": {
            "routes": [health_route(page, loaded), plotly_route()],
            "middleware": [Middleware(Guard, page=page)],
        },
    }
    options = {**options, **changes}
    if not options.get("prevent_thread_lock"):
        signal.signal(signal.SIGTERM, _interrupt)
    return page.launch(**options)


def _interrupt(*_: object) -> None:
    """What Ctrl-C does: the server closes, and what is half-written is removed on the way out."""
    raise KeyboardInterrupt


def plotly_route() -> Route:
    """The figures' script, from the installed Python package."""

    async def script(_: Any) -> FileResponse:
        return FileResponse(PLOTLY_SCRIPT, headers={"Cache-Control": "max-age=86400"})

    return Route(f"/{PLOTLY_ADDRESS}", script)


def theme() -> gr.themes.Base:
    """Gradio's own theme with the fonts of the viewer's system: nothing is fetched."""
    return gr.themes.Default(
        primary_hue="teal",
        neutral_hue="slate",
        radius_size="lg",
        font=_FONTS,
        font_mono=_MONO_FONTS,
    ).set(
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover_dark="*primary_600",
    )


def stylesheet() -> str:
    """The palette as custom properties, then the page's own rules."""
    sheets = (ASSETS_FOLDER / "css" / f"{name}.css" for name in _SHEETS)
    rules = [sheet.read_text(encoding="utf-8") for sheet in sheets]
    return "\n".join(
        [_variables(":root", is_dark=False), _variables(".dark", is_dark=True), *rules]
    )


def _variables(selector: str, *, is_dark: bool) -> str:
    values = {
        f"lane-{lane}": colour.dark if is_dark else colour.light
        for lane, colour in LANE_COLOURS.items()
    }
    for state, style in STATE_STYLES.items():
        values[f"{state}-fill"] = style.fill_dark if is_dark else style.fill_light
        values[f"{state}-ink"] = style.ink_dark if is_dark else style.ink_light
    return f"{selector} {{ " + " ".join(f"--sd-{k}: {v};" for k, v in values.items()) + " }"
