"""A saved report in a real browser that has no network."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, PdfMargins, expect

from specdemo.benchmark.report import html_report
from specdemo.trace import Snapshot
from specdemo.ui.recordings import bundled_recordings
from specdemo.ui.run_report import run_report
from specdemo.ui.wording import words
from tests.benchmark.plans import finished, plan

pytestmark = pytest.mark.browser

MARGINS: PdfMargins = {"top": "12mm", "right": "12mm", "bottom": "12mm", "left": "12mm"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_offline_and_shows_its_charts(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html_report(finished(plan()), "en", words("en")), encoding="utf-8")
    context = browser.new_context(offline=True, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    plots = page.locator(".plot")
    assert plots.count() == 4
    for plot in plots.all():
        expect(plot.locator(".point path, .scatterlayer .point").first).to_be_attached()
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
    assert complaints == []
    expect(page.locator("table").first).to_contain_text("model, adaptive")
    context.close()


def longest(snapshot: Snapshot) -> Snapshot:
    """The run with a prompt and an answer that are both cut."""
    return replace(
        snapshot,
        settings=replace(snapshot.settings, prompt="A question of many words, " * 40),
        speculative=replace(snapshot.speculative, text="an answer of many words, " * 80),
    )


@pytest.mark.parametrize("language", ["en", "it"])
def test_a_run_prints_on_one_page_and_nothing_is_cut_off(
    page: Page, tmp_path: Path, language: str
) -> None:
    bundled = {name: read().snapshot for name, read in bundled_recordings().items()}
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 within its margins
    for name, snapshot in {**bundled, "longest": longest(bundled["chat"])}.items():
        path = tmp_path / f"{name}.html"
        path.write_text(run_report(snapshot, language), encoding="utf-8")
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 703, name
        for paper in ("A4", "Letter"):
            printed = page.pdf(format=paper, margin=MARGINS)
            assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1, f"{name} on {paper}"
