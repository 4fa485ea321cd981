"""The benchmark's and the draft-and-score tab, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from specdemo.ui.layout import TABS
from tests.ui.fakes import FakeSession

pytestmark = pytest.mark.browser

MINUTES = 180_000
HOSTILE = "echo <img src=x onerror='window.hacked=1'> ${window.hacked=1} {{constructor}}"


@pytest.fixture(scope="module")
def address(serve: Callable[[Any], str]) -> str:
    return serve(FakeSession(pass_seconds=0.001))


@pytest.fixture(scope="module")
def slow_address(serve: Callable[[Any], str]) -> str:
    """A server whose benchmark is still running when somebody presses Stop."""
    return serve(FakeSession(pass_seconds=0.1))


def opened(page: Page, address: str, tab: str) -> list[str]:
    """Open a tab; returns the complaints of the console, as they come."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    page.goto(address)
    expect(page.locator("#sd-status .sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    page.get_by_role("tab", name=tab).click()
    return complaints


def test_a_benchmark_fills_charts_and_tables_and_can_be_saved(page: Page, address: str) -> None:
    complaints = opened(page, address, "Benchmark")
    page.locator("#sd-bench-start").click()
    said = page.locator("#sd-bench-status .sd-status-line")
    expect(said).to_contain_text("Finished: 30 runs", timeout=MINUTES)
    plots = page.locator("#sd-benchmark .sd-plot")
    expect(plots).to_have_count(4)
    for plot in plots.all():
        expect(plot.locator(".point path, .scatterlayer .point").first).to_be_attached()
    expect(page.locator(".sd-bench-table").first).to_contain_text("hybrid, adaptive")
    with page.expect_download() as saved:
        page.locator("#sd-bench-json").click()
    content = json.loads(Path(saved.value.path()).read_text())
    assert len(content["rows"]) == 30
    assert complaints == []


def test_a_benchmark_can_be_stopped_and_keeps_its_rows(page: Page, slow_address: str) -> None:
    opened(page, slow_address, "Benchmark")
    page.locator("#sd-bench-start").click()
    said = page.locator("#sd-bench-status .sd-status-line")
    expect(said).to_contain_text("left", timeout=MINUTES)
    page.locator("#sd-bench-stop").click()
    expect(said).to_contain_text("Stopped after", timeout=MINUTES)
    expect(page.locator("#sd-bench-json")).to_be_enabled()


def test_the_draft_is_marked_by_surprise_beside_what_decoding_gives(
    page: Page, address: str
) -> None:
    complaints = opened(page, address, "Draft and score")
    page.locator("#sd-score-start").click()
    said = page.locator("#sd-score-status .sd-status-line")
    expect(said).to_contain_text("from answer token 5 on", timeout=MINUTES)
    first = page.locator(".sd-score-lanes .sd-surprise.is-first")
    expect(first).to_have_count(1)
    expect(first.locator("sup")).to_have_text("<0.01")
    first.hover()
    expect(page.locator("#sd-score-about")).to_contain_text("“because”")
    page.locator(".sd-score-lanes .sd-surprise").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#sd-score-about")).to_contain_text("“sky”")
    expect(page.locator('[data-score="normal"] .sd-text')).to_contain_text("because air")
    assert complaints == []


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ("nothing", "No difference found"),
        ("bonus token from the wrong row", "Caught"),
        ("replacement from the target, not the residual", "Caught"),
    ],
)
def test_a_proof_holds_and_catches_what_a_class_plants(
    page: Page, address: str, fault: str, verdict: str
) -> None:
    complaints = opened(page, address, "Proof")
    page.get_by_role("radio", name=fault).check()
    page.get_by_role("spinbutton", name="Runs of each lane").fill("4000")
    page.locator("#sd-proof-start").click()
    said = page.locator("#sd-proof-status .sd-status-line")
    expect(said).to_contain_text("Finished: 4000 runs", timeout=MINUTES)
    sentence = page.locator("#sd-proof .sd-proof-verdict")
    expect(sentence).to_contain_text(verdict)
    expect(page.locator("#sd-proof .sd-plot")).to_have_count(3)
    expect(page.locator("#sd-proof .sd-plot .point path").first).to_be_attached()
    assert complaints == []


def test_a_hostile_prompt_stays_text_in_the_score(page: Page, address: str) -> None:
    opened(page, address, "Draft and score")
    page.locator("#sd-score-prompt textarea").fill(HOSTILE)
    page.locator("#sd-score-start").click()
    expect(page.locator("#sd-score-status .sd-status-line")).to_contain_text(
        "Finished", timeout=MINUTES
    )
    expect(page.locator('[data-score="normal"] .sd-text')).to_have_text(HOSTILE)
    assert page.locator("#sd-score img").count() == 0
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("locale", ["en-GB", "it-IT"])
def test_every_tab_is_reached_on_a_phone_without_sideways_scrolling(
    browser: Browser, address: str, locale: str
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale=locale)
    page = context.new_page()
    page.goto(address)
    expect(page.locator("#sd-status .sd-status-line")).to_have_attribute(
        "data-kind", "info", timeout=MINUTES
    )
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_count(len(TABS))
    for tab in tabs.all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


@pytest.mark.parametrize("tab", ["Misure", "Bozza e punteggio"])
def test_a_phone_in_italian_needs_no_sideways_scrolling(
    browser: Browser, address: str, tab: str
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="it-IT")
    page = context.new_page()
    page.goto(address)
    page.get_by_role("tab", name=tab).click(timeout=MINUTES)
    button = "#sd-bench-start" if tab == "Misure" else "#sd-score-start"
    page.locator(button).click()
    expect(page.locator(".sd-status-line[data-kind=done]")).to_contain_text(
        "Finito", timeout=MINUTES
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
