"""Connects what a classroom uses: tools, lessons, comparisons. Knows no HTML and no formula."""

from __future__ import annotations

import gradio as gr

from specdemo.trace import Snapshot
from specdemo.ui.comparison import wire_comparison
from specdemo.ui.handlers import Handlers
from specdemo.ui.json_view import encode
from specdemo.ui.layout import Page
from specdemo.ui.learn_tab import wire_learn_tab
from specdemo.ui.recordings import Recordings
from specdemo.ui.run_report import run_report
from specdemo.ui.tools import wire_tools

_REPORT_NAME = "specdemo-report.html"


def wire_classroom(page: Page, handlers: Handlers, recordings: Recordings) -> None:
    """Every part works on the run that stands on this visitor's screen."""

    def last_snapshot(session_hash: str | None) -> Snapshot | None:
        return handlers.visitors.enter(session_hash).last_snapshot

    def report(language: str, request: gr.Request) -> str:
        snapshot = last_snapshot(request.session_hash)
        name = {"name": _REPORT_NAME}
        return encode({**name, "html": run_report(snapshot, language)}) if snapshot else ""

    wire_tools(page.tools, page.form, page.tabs, page.language)
    page.tools.report_wanted(
        report, inputs=page.language, outputs=page.tools, queue=False, show_progress="hidden"
    )
    wire_learn_tab(page.learn, page.language, last_snapshot)
    wire_comparison(page.comparison, page.language, recordings, last_snapshot)
