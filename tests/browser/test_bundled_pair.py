"""The page on the bundled pair: nothing is faked, nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from tests.browser.test_page import MINUTES, answer, assert_a_whole_race_was_seen

pytestmark = pytest.mark.browser


def test_an_example_races_to_the_end_on_the_bundled_pair(
    page: Page, serve: Callable[[Any], str]
) -> None:
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname or ""))
    address = serve(DecodeSession(read_settings()))
    page.goto(address)
    expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    page.get_by_role("button", name="Code").click()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(
        "Write a Python function that returns the first n prime numbers."
    )
    assert_a_whole_race_was_seen(page)
    assert answer(page, "speculative")
    assert hosts - {""} == {urlsplit(address).hostname}
