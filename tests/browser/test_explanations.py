"""Charts, verdicts and the reasons, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_page import FINISHED, MINUTES, lane, race
from tests.ui.fakes import FakeSession

pytestmark = pytest.mark.browser

NUM_CHARTS = 9
HEIGHTS = "[...document.querySelectorAll('.sd-chart')].map(chart => chart.offsetHeight)"
MARKS = "[...document.querySelectorAll('.sd-plot')].map(plot => plot.mark)"
TALL = {"width": 1400, "height": 3400}  # every chart is in view, so every one is drawn


@pytest.fixture(scope="module")
def address(serve: Callable[[Any], str]) -> str:
    return serve(FakeSession(pass_seconds=0.004))


@pytest.fixture
def opened(page: Page, address: str) -> Page:
    page.set_viewport_size(TALL)
    page.goto(address)
    expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    return page


@pytest.fixture
def raced(opened: Page) -> Page:
    race(opened)
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    return opened


def sample(page: Page) -> None:
    """Set a temperature at which draws decide."""
    page.locator("#sd-settings").get_by_text("Settings", exact=True).click()
    temperature = page.get_by_label("number input for Temperature")
    temperature.fill("0.7")
    temperature.press("Tab")


def test_charts_keep_their_root_and_height_through_runs_and_themes(opened: Page) -> None:
    expect(opened.locator(".sd-plot .main-svg").first).to_be_attached(timeout=MINUTES)
    opened.evaluate(
        "document.querySelectorAll('.sd-plot').forEach((plot, i) => (plot.mark = i + 1))"
    )
    heights = opened.evaluate(HEIGHTS)
    for _ in range(2):
        race(opened)
        expect(lane(opened, "speculative").locator(".is-accepted").first).to_be_attached()
        assert heights == opened.evaluate(HEIGHTS)
        expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)
        opened.evaluate("document.body.classList.toggle('dark')")
    assert opened.evaluate(MARKS) == list(range(1, NUM_CHARTS + 1))
    assert heights == opened.evaluate(HEIGHTS)


def test_charts_change_while_the_race_runs(opened: Page) -> None:
    blocks = opened.locator(".sd-chart-wide .bars .point")
    race(opened, "Answer slowly, please")
    expect(blocks.nth(3)).to_be_attached(timeout=MINUTES)
    assert opened.locator(FINISHED).count() == 0
    opened.get_by_role("button", name="Stop").click()
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)


def test_a_refused_token_shows_its_draw_and_both_distributions(opened: Page) -> None:
    sample(opened)
    race(opened)
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    lane(opened, "speculative").locator(".is-rejected").first.click()
    verdict = opened.locator(".sd-verdict")
    expect(verdict).to_contain_text("u = 0.830 does not lie below min(1, p/q) = 0.190")
    expect(verdict.locator(".sd-ruler-mark")).to_be_visible()
    expect(verdict.locator("tbody tr").filter(has_text="chosen")).to_have_count(1)
    expect(verdict.locator("tbody tr").filter(has_text="drafted")).to_have_count(1)
    expect(verdict.locator("thead")).to_contain_text("max(0, p − q)")


def test_tokens_and_timeline_lead_to_each_other_by_keyboard(raced: Page) -> None:
    timeline = raced.locator(".sd-chart-wide .sd-plot")
    timeline.focus()
    raced.keyboard.press("ArrowRight")
    raced.keyboard.press("ArrowRight")
    said = raced.locator(".sd-timeline-said")
    expect(said).to_contain_text("Speculative, round 2: ")
    expect(lane(raced, "speculative").locator(".is-marked").first).to_be_visible()
    raced.keyboard.press("Enter")
    expect(lane(raced, "speculative").locator(".is-marked").first).to_be_focused()
    expect(raced.locator(".sd-verdict")).to_contain_text("round 2, place 1")
    box = lane(raced, "normal").locator(".sd-box")
    box.focus()
    box.press("Home")
    expect(said).to_contain_text("Normal, round 1: ")


def test_every_control_of_the_charts_is_reached_with_tab(raced: Page) -> None:
    raced.locator(".sd-chart-wide .sd-save button").first.focus()
    wanted = raced.locator(
        ".sd-charts :is(button, summary, input:not([disabled]), [tabindex='0']):visible"
    ).count()
    reached = set()
    for _ in range(wanted + 5):
        reached.add(
            raced.evaluate(
                """() => {
                  const all = [...document.querySelectorAll('.sd-charts *')];
                  return all.indexOf(document.activeElement);
                }"""
            )
        )
        raced.keyboard.press("Tab")
    assert len(reached - {-1}) == wanted


def test_what_if_moves_the_curve_and_goes_back_to_what_was_measured(raced: Page) -> None:
    curve = """() => {
      const plot = document.querySelector('.sd-chart-theory .sd-plot');
      return plot.data[0].y;
    }"""
    measured = raced.evaluate(curve)
    alpha = raced.get_by_label("α, drafts kept")
    alpha.focus()
    for _ in range(10):
        alpha.press("ArrowLeft")
    assert raced.evaluate(curve)[4] < measured[4]
    for _ in range(10):
        alpha.press("ArrowRight")
    # The page's formula and the server's agree, to the slider's step of a hundredth.
    assert raced.evaluate(curve)[4] == pytest.approx(measured[4], abs=0.05)
    raced.get_by_role("button", name="as measured").click()
    assert raced.evaluate(curve) == measured


def test_a_chart_is_saved_as_picture_and_as_table(raced: Page, tmp_path: Path) -> None:
    box = raced.locator(".sd-chart").filter(has_text="How many tokens per second?")
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"run,")):
        with raced.expect_download() as waiting:
            box.get_by_role("button", name=f"as {kind}").click()
        target = tmp_path / kind
        waiting.value.save_as(target)
        assert target.read_bytes().startswith(start), kind
        assert waiting.value.suggested_filename == f"specdemo-speed.{kind.lower()}"


def test_a_charts_table_holds_its_numbers(raced: Page) -> None:
    box = raced.locator(".sd-chart").filter(has_text="How much memory does it hold?")
    box.get_by_text("Table").click()
    expect(box.locator("tr").filter(has_text="target weights").first).to_contain_text("269.1")


def test_the_reasons_stand_under_the_finished_race(raced: Page) -> None:
    reasons = raced.locator(".sd-why p")
    expect(reasons.first).to_contain_text("times as fast as normal decoding")
    expect(reasons.nth(1)).to_contain_text("×")


def test_a_number_says_what_it_means_when_it_is_focused(raced: Page) -> None:
    raced.locator(".sd-measure-speedup").focus()
    raced.keyboard.press("Tab")
    cell = raced.locator(".sd-measure-acceptance_rate")
    expect(cell).to_be_focused()
    assert "acceptance_rate α" in (cell.get_attribute("aria-description") or "")
    shown = cell.evaluate("cell => getComputedStyle(cell, '::after').content")
    assert "draft tokens kept" in shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_contrast_and_names_pass_axe(
    browser: Browser, address: str, scheme: Any, width: int
) -> None:
    """No violation of WCAG 2 A and AA within what this project draws."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    race(page)
    expect(page.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    lane(page, "speculative").locator(".is-rejected").first.click()
    expect(page.locator(".sd-verdict tbody tr").first).to_be_visible()
    found = Axe().run(
        page,
        context={
            "include": [[part] for part in (".sd-stage", ".sd-verdict", ".sd-charts", ".sd-runs")]
        },
        options={"runOnly": ["wcag2a", "wcag2aa"]},
    )
    complaints = [
        (violation["id"], node["html"][:120], node["failureSummary"])
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]
    assert complaints == []
    context.close()


def test_where_greedy_answers_part_a_table_tells_how_close_the_tokens_were(opened: Page) -> None:
    expect(opened.locator(".sd-difference")).to_be_hidden()
    race(opened, "Please differ")
    table = opened.locator(".sd-difference")
    expect(table).to_contain_text("Numerical tie", timeout=MINUTES)
    expect(table.locator("tbody th")).to_have_text(
        ["bfloat16, one row", re.compile(r"bfloat16, \d+ rows"), "float32, one row"]
    )
    expect(table.locator("thead")).to_contain_text("<b>")
    expect(opened.locator(".sd-measure-output")).to_contain_text(
        "Differs from token 7 on: numerical tie"
    )
    race(opened, "Why is the sky blue?")
    expect(table).to_be_hidden(timeout=MINUTES)
