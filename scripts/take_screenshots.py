"""Races one example on the bundled pair in a real browser and saves what the page looks like.

    python scripts/take_screenshots.py assets/screenshots

Needs chromium and the packages of requirements-dev.txt.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, expect, sync_playwright

from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page

MINUTES = 600_000
VIEWS = {"race": (1280, 1840)}


def take(browser: Browser, address: str, view: str, scheme: str, folder: Path) -> None:
    """One race, one picture."""
    width, height = VIEWS[view]
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB"
    )
    page.goto(f"{address}?__theme={scheme}")
    expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    page.get_by_role("button", name="Content").click()
    page.get_by_role("button", name="Race").click()
    expect(page.locator("#sd-stop")).to_be_enabled()
    expect(page.locator("#sd-stop")).to_be_disabled(timeout=MINUTES)
    page.locator("[data-lane=speculative] .is-rejected").first.click()
    expect(page.locator(".sd-verdict tbody tr").first).to_be_visible()
    expect(page.locator(".sd-chart-wide .bars .point").first).to_be_attached()
    page.screenshot(path=folder / f"{view}-{scheme}.png")
    page.close()


def main() -> None:
    """All pictures."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    demo = build_page(DecodeSession(read_settings()))
    _, address, _ = launch(demo, read_settings(), prevent_thread_lock=True, quiet=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        for view in VIEWS:
            for scheme in ("light", "dark"):
                take(browser, str(address), view, scheme, folder)
        browser.close()
    demo.close(verbose=False)


if __name__ == "__main__":
    main()
