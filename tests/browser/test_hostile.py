"""Input that nobody means well with, through one page in a real browser: nothing of it runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from specdemo.settings import ASSETS_FOLDER
from tests.browser.test_page import FINISHED, MINUTES, answer, race
from tests.hostile.inputs import MARK, SCRIPTS
from tests.hostile.trace_files import trace_files
from tests.ui.fakes import FakeSession

pytestmark = pytest.mark.browser

GOOD = (ASSETS_FOLDER / "traces" / "translation.trace.json.gz").read_bytes()
# An element that an input made, or an address that it would fetch.
MADE = f"""[...document.querySelectorAll('script, img, iframe, svg, a, style, math, object')]
  .filter(node => node.outerHTML.includes('{MARK}')).map(node => node.outerHTML.slice(0, 200))"""
# Links put their settings behind the `#`; whatever stands there is for the page's script to check.
NAMES = ("prompt", "language", "recording", "tab", "temperature", "position", "system_prompt")
FRAGMENTS = (
    *("#" + "&".join(f"{name}={quote(text)}" for name in NAMES) for text in SCRIPTS[:3]),
    f"#{quote(SCRIPTS[0])}={quote(SCRIPTS[1])}&__proto__[hostile]=1&constructor=1",
    "#tab=../../etc&recording=../../etc/passwd&position=1e999&prompt=%00%ff%fe&seed=NaN",
    "#max_new_tokens=-1&top_k=1e400&" + "a=b&" * 3000,
)


class Watched:
    """A page on which nothing may run, ask or be fetched."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._own = (address, "data:", "blob:", "about:")
        self.complaints: list[str] = []
        page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        page.on("popup", lambda popup: self.complaints.append(f"popup {popup.url}"))
        page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(self._own) or MARK in request.url.split("#")[0]:
            self.complaints.append(f"request {request.url[:200]}")

    def assert_calm(self, what: str) -> None:
        assert self.complaints == [], what
        assert self.page.evaluate(f"window.{MARK} ?? ({{}}).{MARK} ?? null") is None, what
        assert self.page.evaluate(MADE) == [], what


@pytest.fixture(scope="module")
def address(serve: Callable[..., str]) -> str:
    return serve(FakeSession())


def test_no_prompt_link_or_recording_runs_anything_in_the_page(page: Page, address: str) -> None:
    watched = Watched(page, address)
    for fragment in FRAGMENTS:
        # Without a reload a changed fragment would not be read again.
        page.goto("about:blank")
        page.goto(address + fragment)
        expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
        watched.assert_calm(fragment[:80])
    # The session echoes such prompts: as tokens, words of the table, list of runs, report.
    for text in ("echo " + " ".join(SCRIPTS[at::4]) for at in range(4)):
        race(page, text)
        expect(page.locator(FINISHED)).to_be_visible(timeout=MINUTES)
        assert answer(page, "normal") == text
        page.locator("[data-lane=normal] .sd-chip").first.click()
        page.get_by_role("tab", name="Learn").click()
        watched.assert_calm(text[:80])
        page.get_by_role("tab", name="Race").click()
    opener = page.locator("#sd-recordings input[type=file]")
    for name, data in recordings().items():
        file = {"name": f"{name}.json.gz", "mimeType": "application/gzip", "buffer": data}
        opener.set_input_files([file])  # type: ignore[list-item]
        expect(page.locator(f"#sd-status .sd-status-line:not({FINISHED})")).to_be_visible()
        watched.assert_calm(name)


def recordings() -> dict[str, bytes]:
    """Some that do not open, and one that does and whose every text would run."""
    files = trace_files(GOOD)
    chosen = ("html", "a zip bomb", "deep nesting", "a title that runs", "broken UTF-8")
    text = gzip.decompress(GOOD).decode()
    value = json.loads(text)
    words = value["snapshot"]["words"]
    hostile = iter(SCRIPTS * 1000)
    words["prompt_pieces"] = [next(hostile) for _ in words["prompt_pieces"]]
    words["by_token_id"] = {key: next(hostile) for key in words["by_token_id"]}
    for lane in ("normal", "speculative"):
        run = value["snapshot"][lane]
        run["pieces"] = [[next(hostile) for _ in pieces] for pieces in run["pieces"]]
        run["text"] = " ".join(SCRIPTS)
    value["snapshot"]["settings"]["prompt"] = SCRIPTS[0]
    value["snapshot"]["environment"]["processor"] = SCRIPTS[1]
    return {name: files[name] for name in chosen} | {"all of it": json.dumps(value).encode()}


def test_a_second_run_is_refused_where_it_was_asked_for_and_the_first_goes_on(
    page: Page, serve: Callable[..., str]
) -> None:
    page.goto(serve(FakeSession(pass_seconds=0.05)))
    expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    race(page, "Answer slowly, please")
    expect(page.locator("#sd-status .sd-status-line")).to_have_text("Racing …", timeout=MINUTES)
    page.get_by_role("tab", name="Draft and score").click()
    page.locator("#sd-score-start").click()
    said = page.locator("#sd-score-status .sd-status-line[data-kind=error]")
    expect(said).to_contain_text("Your earlier run still waits or goes on", timeout=30_000)
    page.get_by_role("tab", name="Race").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(f"#sd-status {FINISHED}")).to_be_visible(timeout=30_000)
