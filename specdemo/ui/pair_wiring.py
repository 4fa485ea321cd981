"""Connects the choice of pair and precision to loading. Knows no HTML and no formula."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gradio as gr

from specdemo.ui.form import CUSTOM
from specdemo.ui.handlers import Handlers
from specdemo.ui.layout import Page
from specdemo.ui.turn import DEVICE


def wire_pair(page: Page, handlers: Handlers, blocks: gr.Blocks) -> None:
    """Load what is chosen, at once and whenever it changes; Stop ends a load.

    Whoever has to wait is told which pair the device is busy with.
    """

    def load(  # the name is `turn.LOADING`
        request: gr.Request, models: str, precision: str, quantize: str, is_double: bool
    ) -> Iterator[list[Any]]:
        if models == CUSTOM:  # loaded when it is raced: it may not be typed to its end
            yield [gr.skip(), gr.skip()]
            return
        stages = handlers.load(
            precision, models, quantize, is_double, session_hash=request.session_hash
        )
        with closing(stages):  # type: ignore[type-var]
            for stage in stages:
                yield [stage, gr.update(interactive=True)]
        yield [gr.skip(), gr.update(interactive=False)]

    rounding = [page.settings.quantize, page.settings.double_quantization]
    loading: dict[str, Any] = {
        "inputs": [page.pair.models, page.precision, *rounding],
        "outputs": [page.status, page.stop],
        "concurrency_id": DEVICE,
        "show_progress": "hidden",
    }
    blocks.load(load, **loading)
    for choice in (page.pair.models, page.precision, *rounding):
        choice.input(load, **loading)  # type: ignore[attr-defined]
    chosen = [choice.input for choice in (page.pair.models, page.precision, *rounding)]  # type: ignore[attr-defined]
    gr.on(
        [*chosen, blocks.load],
        lambda: handlers.waiting() or gr.skip(),
        outputs=page.status,
        queue=False,
        show_progress="hidden",
    )
    # Also when a link chooses.
    page.pair.models.change(
        lambda models: gr.update(visible=models == CUSTOM),
        inputs=page.pair.models,
        outputs=page.pair.custom_row,
        queue=False,
        show_progress="hidden",
    )
