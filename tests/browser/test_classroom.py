"""Links, keys, lessons and shares in a real browser, without any model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from specdemo import metrics
from specdemo.trace_file import dump
from specdemo.ui.recordings import bundled_recordings
from tests.browser.test_page import HOSTILE, MINUTES, lane
from tests.browser.test_replay import NoModel, clock, recording

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(serve: Callable[..., str]) -> str:
    game = bundled_recordings()["game"]
    return serve(NoModel(), {"chat": recording, "code": lambda: recording(9), "game": game})


@pytest.fixture
def opened(page: Page, address: str) -> Page:
    return ready(page, address)


def ready(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator(".sd-player button").first).to_be_enabled(timeout=MINUTES)
    return page


def state(page: Page) -> dict[str, str]:
    """What the address says, once it has been written."""
    fragment = urlsplit(page.url).fragment
    return {name: values[0] for name, values in parse_qs(fragment).items()}


def learn(page: Page) -> Locator:
    page.get_by_role("tab", name="Learn").click()
    view = page.locator(".sd-learn")
    expect(view.get_by_role("heading", name="Claims and limits")).to_be_visible(timeout=MINUTES)
    return view


def test_a_link_restores_the_state_in_a_fresh_browser_profile(
    browser: Browser, opened: Page, address: str
) -> None:
    opened.get_by_label("Recorded runs").select_option("code")
    expect(lane(opened, "normal").locator(".sd-figure-tokens b")).to_have_text("9")
    prompt = "Why & how? #1 = 100 % è <b>"
    opened.get_by_label("Prompt", exact=True).fill(prompt)
    opened.get_by_role("button", name="Settings").click()
    opened.get_by_label("Seed").fill("77")
    opened.get_by_label("completion").first.check()
    opened.get_by_label("Presenter size").check()
    opened.get_by_label("Final text only").check()
    opened.get_by_text("Panels", exact=True).click()
    for name in ("Normal lane", "Charts"):
        opened.get_by_label(name, exact=True).uncheck()
    opened.keyboard.press("Escape")
    clock(opened).evaluate(
        "slider => { slider.value = slider.max / 2; slider.dispatchEvent(new Event('input')); }"
    )
    learn(opened)
    opened.wait_for_url(re.compile("tab=learn"))
    link = opened.url
    assert state(opened).keys() == {
        "prompt", "seed", "mode", "tab", "recording", "at", "presenter", "final", "hidden",
        "language",
    }  # fmt: skip

    fresh = browser.new_context(locale="it-IT").new_page()
    requests: list[str] = []
    fresh.on("request", lambda request: requests.append(request.url))
    fresh.goto(link)
    expect(fresh.get_by_role("tab", name="Learn")).to_have_attribute(
        "aria-selected", "true", timeout=MINUTES
    )
    fresh.get_by_role("tab", name="Race").click()
    expect(fresh.get_by_label("Prompt", exact=True)).to_have_value(prompt)
    expect(lane(fresh, "normal").locator(".sd-figure-tokens b")).not_to_have_text("9")
    expect(fresh.locator(".sd-player output")).to_have_text(
        opened.locator(".sd-player output").text_content() or ""
    )
    size = "node => Number.parseFloat(getComputedStyle(node).fontSize)"
    assert lane(fresh, "speculative").locator(".sd-text").evaluate(size) >= 20
    expect(fresh.get_by_label("Final text only")).to_be_checked()
    expect(lane(fresh, "speculative")).to_be_visible()
    for hidden in (lane(fresh, "normal"), fresh.locator(".sd-grid")):
        expect(hidden).to_be_hidden()
    fresh.get_by_label("Presenter size").uncheck()
    fresh.get_by_role("button", name="Settings").click()
    expect(fresh.get_by_label("Seed")).to_have_value("77")
    expect(fresh.get_by_label("completion").first).to_be_checked()
    left = {"tab", "presenter"}
    fresh.wait_for_url(lambda url: "recording=code" in url and not left & state(fresh).keys())
    assert state(fresh) == {k: v for k, v in state(opened).items() if k not in left}
    assert not [url for url in requests if "100" in url and "prompt" in url]
    fresh.context.close()


def test_a_panel_comes_back_and_a_language_stays_with_the_link(
    browser: Browser, opened: Page, address: str
) -> None:
    opened.get_by_text("Panels", exact=True).click()
    verdict = opened.locator("#sd-verdict").first
    opened.get_by_label("Verdict of a token").uncheck()
    expect(verdict).to_be_hidden()
    opened.get_by_label("Verdict of a token").check()
    expect(verdict).to_be_visible()
    opened.locator("h1").click()
    expect(opened.get_by_label("Verdict of a token")).to_be_hidden()
    opened.get_by_label("Italiano").check()
    opened.wait_for_url(re.compile("language=it"))
    fresh = browser.new_context(locale="en-GB").new_page()
    fresh.goto(opened.url)
    expect(fresh.get_by_role("button", name="Gara")).to_be_visible(timeout=MINUTES)
    expect(fresh.get_by_label("Italiano")).to_be_checked()
    expect(fresh.locator(".sd-why p").first).to_contain_text("volte")
    fresh.context.close()


def test_a_hostile_link_sets_nothing_and_runs_nothing(page: Page, address: str) -> None:
    page.goto(
        f"{address}#temperature=99&seed=abc&draft_source=__proto__&tab=<b>&recording=../x&at=NaN"
        f"&precision=rm&prompt={'x' * 1001}&language=xx&hidden=body,__proto__,<b>"
    )
    expect(page.locator(".sd-player button").first).to_be_enabled(timeout=MINUTES)
    expect(page.get_by_label("Prompt", exact=True)).not_to_have_value(re.compile("xxx"))
    expect(page.get_by_role("tab", name="Race")).to_have_attribute("aria-selected", "true")
    assert page.locator("body").get_attribute("data-hidden") == ""
    expect(lane(page, "normal").locator(".sd-figure-tokens b")).to_have_text("84")


def test_the_keyboard_map_opens_by_its_key_and_closes_by_escape(opened: Page) -> None:
    dialog = opened.get_by_role("dialog", name="Keyboard")
    opened.get_by_label("Prompt", exact=True).press("?")
    expect(dialog).to_be_hidden()
    opened.evaluate("document.activeElement.blur()")
    opened.keyboard.press("?")
    expect(dialog).to_be_visible()
    opened.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_lesson_walks_through_the_run_on_screen(opened: Page) -> None:
    opened.get_by_label("Recorded runs").select_option("game")
    expect(lane(opened, "normal").locator(".sd-figure-tokens b")).to_have_text("120")
    view = learn(opened)
    for step in ("Verify", "Accept", "Resample", "Bonus"):
        view.get_by_role("button", name="Next").click()
        expect(view.locator("[aria-current=step]")).to_have_text(step)
        expect(view.locator(".sd-learn-token").first).to_be_visible()
    hidden = view.locator(".sd-learn-fact.is-hidden")
    expect(hidden).to_contain_text("after your answer")
    view.get_by_role("button", name="Accepted").click()
    expect(hidden).to_have_count(0)
    expect(view.locator(".sd-learn-verdict")).to_contain_text(re.compile(r"The draw 0\.\d\d\d was"))
    task = view.locator(".sd-learn-task").first
    run = metrics.run_metrics(bundled_recordings()["game"]().snapshot.speculative.trace)
    task.get_by_role("textbox").fill(f"{run.mean_acceptance_length:.2f}".replace(".", ","))
    task.get_by_role("button", name="Check").click()
    expect(task.get_by_role("status")).to_contain_text("Right")
    view.get_by_role("button", name="Show this round").click()
    expect(lane(opened, "speculative").locator(".is-marked").first).to_be_visible()


def test_two_runs_stand_side_by_side(opened: Page, tmp_path: Path) -> None:
    view = opened.locator(".sd-comparison")
    view.locator("select").select_option("code")
    expect(view.get_by_role("row", name="Tokens 84 9", exact=True)).to_be_visible()
    view.scroll_into_view_if_needed()
    expect(view.locator(".scatterlayer .js-line")).to_have_count(4)
    path = tmp_path / "other.json.gz"
    path.write_bytes(dump(recording(20)))
    view.locator("input").set_input_files(path)
    expect(view.get_by_role("row", name="Tokens 84 20", exact=True)).to_be_visible()
    view.locator("input").set_input_files({"name": "x", "mimeType": "", "buffer": b"{}"})
    expect(view.locator(".sd-error")).to_contain_text("no trace")


def test_a_picture_and_a_report_hold_the_answer_escaped(opened: Page, tmp_path: Path) -> None:
    opened.evaluate(
        """hostile => {
          const chip = document.querySelector('[data-lane=speculative] .is-accepted');
          chip.querySelector('.sd-letters').textContent = hostile;
        }""",
        HOSTILE,
    )
    with opened.expect_download() as waiting:
        opened.get_by_label("Picture of the answer, SVG").click()
    drawing = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "<script" not in drawing
    assert "&lt;img" in drawing
    assert "scatters" in drawing
    with opened.expect_download() as waiting:
        opened.get_by_label("Picture of the answer, PNG").click()
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")
    with opened.expect_download() as waiting:
        opened.get_by_role("button", name="Report").click()
    report = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "&lt;b&gt;That&lt;/b&gt;" in report
