"""A saved report in a real browser that has no network."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from specdemo.benchmark.report import html_report
from specdemo.ui.wording import words
from tests.benchmark.plans import finished, plan

pytestmark = pytest.mark.browser


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
