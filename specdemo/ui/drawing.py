"""What changed in a run, as the values of the components that show it. Knows no event."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any

import gradio as gr

from specdemo.ui.form import PRECISIONS
from specdemo.ui.json_view import encode
from specdemo.ui.labels import choices_of
from specdemo.ui.layout import Page
from specdemo.ui.updates import Update
from specdemo.ui.wording import words


def run_outputs(page: Page) -> list[gr.blocks.Block]:
    """What a run writes."""
    return [
        page.stage,
        page.charts,
        page.environment,
        page.status,
        page.race,
        page.stop,
        page.follow_up,
        page.ask,
        page.precision,
        page.precisions,
        page.conversation,
        page.listed_runs,
        page.runs,
    ]


def drawn(page: Page, updates: Iterator[Update], language: str) -> Iterator[list[Any]]:
    """Updates as the values of `run_outputs`; closing this closes the run."""
    with closing(updates):  # type: ignore[type-var]
        for update in updates:
            changes = changes_of(page, update, language)
            yield [changes.get(component, gr.skip()) for component in run_outputs(page)]


def changes_of(page: Page, update: Update, language: str) -> dict[gr.blocks.Block, Any]:
    """An update's values by the components that show them."""
    changes: dict[gr.blocks.Block, Any] = {
        page.stage: update.stream,
        page.charts: update.charts,
        page.environment: update.environment,
        page.status: update.status,
        page.precisions: update.precisions,
        page.conversation: update.conversation,
        page.listed_runs: update.runs,
    }
    if update.is_running is not None:
        changes[page.race] = gr.update(interactive=not update.is_running)
        changes[page.stop] = gr.update(interactive=update.is_running)
    if update.conversation is not None:
        changes[page.follow_up] = gr.update(value="", interactive=bool(update.conversation))
        changes[page.ask] = gr.update(interactive=bool(update.conversation))
    if update.runs is not None:
        changes[page.runs] = encode([asdict(run) for run in update.runs])
    if update.chosen_precision is not None:
        spoken = words(language)
        label = spoken["precision_auto_chose"].format(precision=update.chosen_precision)
        others = [
            (shown, value) for shown, value in choices_of(PRECISIONS, spoken) if value != "auto"
        ]
        changes[page.precision] = gr.update(choices=[(label, "auto"), *others])
    return {component: change for component, change in changes.items() if change is not None}
