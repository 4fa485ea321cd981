"""The page on the bundled pair: nothing is faked, nothing is downloaded.

    pytest -m browser tests/browser/test_bundled_pair.py --screenshots assets/screenshots

takes the README's pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from tests.browser.test_page import MINUTES, answer, assert_a_whole_race_was_seen

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def bundled(serve: Callable[[Any], str]) -> str:
    return serve(DecodeSession(read_settings()))


@pytest.fixture
def screenshots(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder: Path = request.config.getoption("screenshots") or tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_example_races_to_the_end_on_the_bundled_pair_and_is_pictured(
    page: Page, bundled: str, screenshots: Path, scheme: str
) -> None:
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname or ""))
    page.set_viewport_size({"width": 1280, "height": 1840})
    page.goto(f"{bundled}?__theme={scheme}")
    expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    page.get_by_role("button", name="Content").click()
    expect(page.get_by_label("Prompt", exact=True)).not_to_have_value("")
    assert_a_whole_race_was_seen(page)
    assert answer(page, "speculative")
    assert hosts - {""} == {urlsplit(bundled).hostname}

    page.locator("[data-lane=speculative] .is-rejected").first.click()
    expect(page.locator(".sd-verdict tbody tr").first).to_be_visible()
    expect(page.locator(".sd-chart-wide .bars .point").first).to_be_attached()
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=screenshots / f"race-{scheme}.png")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, background.strip("rgba()").split(",")[:3]))
    assert (brightness < 3 * 128) == (scheme == "dark")
