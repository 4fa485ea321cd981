"""How smoothly a long recording scrubs: the longest task of the browser's main thread.

    python benchmarks/replay.py

Builds a recording of 4,000 tokens, opens it in chromium, drags the replay's clock across it and
prints the longest task that the browser reports, in milliseconds. Exit code 1 from 200 ms on.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from threading import Event

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import expect, sync_playwright

from specdemo.session import DecodeRequest
from specdemo.settings import read_settings
from specdemo.trace_file import TraceFile
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from tests.ui.fakes import ANSWER, FakeSession, advanced, normal_steps, speculative_steps, tokens_of

NUM_TOKENS = 4_000
MOVES = 60
LIMIT_MILLISECONDS = 200
MINUTES = 600_000

SCRUB = """async (moves) => {
  const slider = document.querySelector('.sd-player input');
  const longest = { milliseconds: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries())
      longest.milliseconds = Math.max(longest.milliseconds, duration);
  }).observe({ type: 'longtask' });
  for (let move = 0; move <= moves; move += 1) {
    const share = Math.abs(1 - (2 * move) / moves); // from the end to the start and back
    slider.value = slider.max * share;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((done) => setTimeout(done, 50));
  }
  return longest.milliseconds;
}"""


def long_recording() -> TraceFile:
    """A finished race of `NUM_TOKENS` tokens."""
    *_, last = FakeSession().run(DecodeRequest("A long story.", max_new_tokens=8), Event())
    one = tokens_of(ANSWER)
    words = (one * (NUM_TOKENS // len(one) + 1))[:NUM_TOKENS]
    lanes = []
    for has_draft in (False, True):
        lane = type(last.normal)()
        steps = speculative_steps(words, 5) if has_draft else normal_steps(words)
        for event, pieces in steps:
            lane = advanced(lane, event, pieces, has_draft=has_draft)
        lanes.append(lane)
    snapshot = type(last)(*lanes, last.environment, last.settings, words=last.words)
    return TraceFile(snapshot, "A long story.", "2026-12-01T00:00:00+00:00")


def main() -> int:
    """Print the longest task while scrubbing."""
    recording = long_recording()
    demo = build_page(FakeSession(), {"long": lambda: recording})
    _, address, _ = launch(demo, read_settings({}), prevent_thread_lock=True, quiet=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.goto(address)
        expect(page.locator(".sd-player input")).to_be_enabled(timeout=MINUTES)
        page.wait_for_timeout(3000)  # the charts draw themselves first
        longest = page.evaluate(SCRUB, MOVES)
        browser.close()
    demo.close(verbose=False)
    print(f"{NUM_TOKENS:,} tokens, {MOVES} moves: longest task {longest:.0f} ms")
    return int(longest >= LIMIT_MILLISECONDS)


if __name__ == "__main__":
    sys.exit(main())
