"""How smoothly a long recording replays, and how well its clock keeps time.

    python benchmarks/replay.py

Builds a recording of 4,000 tokens, opens it in chromium with the timeline in sight, drags the
replay's clock across it, jumps to both ends, plays it, and prints the longest task that the browser
reports for each, in milliseconds. Then plays it and a bundled recording at 1× and prints how far
the replay's clock is from the wall clock. Exit code 1 from 200 ms on, or from 5 % on.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Page, expect, sync_playwright

from specdemo.events import DecodeEvent, RoundVerified
from specdemo.session import DecodeRequest
from specdemo.settings import read_settings
from specdemo.trace import LaneSnapshot, RunTrace, Snapshot, Words, advance
from specdemo.trace_file import TraceFile
from specdemo.ui.recordings import bundled_recordings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from tests.ui.fakes import (
    ANSWER,
    ENVIRONMENT,
    OTHER_ID,
    FakeSession,
    memory,
    normal_steps,
    speculative_steps,
    tokens_of,
)

NUM_TOKENS = 4_000
MOVES = 60
PLAYED_SECONDS = 5
LIMIT_MILLISECONDS = 200
LIMIT_SHARE = 0.05
MINUTES = 600_000

Steps = Iterator[tuple[DecodeEvent, tuple[str, ...]]]

# The longest task in milliseconds; 0 if none reached the 50 from which browsers report one.
WATCHED = """async ([action, count]) => {
  let longest = 0;
  const watcher = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
  });
  watcher.observe({ type: 'longtask' });
  const slider = document.querySelector('.sd-player input');
  const press = (name) => document.querySelector(`.sd-player [aria-label="${name}"]`).click();
  const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  for (let move = 0; move <= count; move += 1) {
    if (action === 'drag') {
      slider.value = slider.max * Math.abs(1 - (2 * move) / count); // to the start and back
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      await wait(50);
    } else if (action === 'jump') {
      press(move % 2 ? 'To the end' : 'To the start');
      await wait(500);
    }
  }
  if (action === 'play') {
    press('Play');
    await wait(count * 1000);
    press('Pause');
  }
  await wait(200); // entries come late
  watcher.disconnect();
  return longest;
}"""

# How far the replay's clock and the wall clock have come, in seconds.
CLOCKS = """async (seconds) => {
  const slider = document.querySelector('.sd-player input');
  const press = (name) => document.querySelector(`.sd-player [aria-label="${name}"]`).click();
  press('To the start');
  press('Play');
  const started = performance.now();
  const end = Math.min(seconds, Number(slider.max));
  while (Number(slider.value) < end) await new Promise(requestAnimationFrame);
  return [Number(slider.value), (performance.now() - started) / 1000];
}"""


def long_recording() -> TraceFile:
    """A finished race of `NUM_TOKENS` tokens."""
    one = tokens_of(ANSWER)
    words = (one * (NUM_TOKENS // len(one) + 1))[:NUM_TOKENS]
    texts = {OTHER_ID: " perhaps", 3: " maybe"} | {word.token_id: word.piece for word in words}
    snapshot = Snapshot(
        lane_of(normal_steps(words), has_draft=False),
        lane_of(speculative_steps(words, 5), has_draft=True),
        ENVIRONMENT,
        DecodeRequest("A long story."),
        words=Words((), texts),
    )
    return TraceFile(snapshot, "A long story.", "2026-12-01T00:00:00+00:00")


def lane_of(steps: Steps, *, has_draft: bool) -> LaneSnapshot:
    """The lane after all steps; its memory is sampled at the end."""
    trace, pieces = RunTrace(), []
    for event, texts in steps:
        trace = advance(trace, event)
        if isinstance(event, RoundVerified):
            pieces.append(texts)
    return LaneSnapshot(trace, tuple(pieces), memory=(memory(trace, has_draft=has_draft),))


def opened(page: Page, name: str) -> None:
    """Wait until a recording can be replayed and its charts stand still."""
    page.get_by_label("Recorded runs").select_option(name)
    expect(page.locator(".sd-player input")).to_be_enabled(timeout=MINUTES)
    page.wait_for_timeout(4000)


def longest_tasks(page: Page) -> list[float]:
    """Of dragging, jumping and playing, printed."""
    opened(page, "long")
    found = []
    for action, count in (("drag", MOVES), ("jump", 5), ("play", PLAYED_SECONDS)):
        found.append(page.evaluate(WATCHED, [action, count]))
        print(f"{NUM_TOKENS:,} tokens, {action} ({count}): longest task {found[-1]:.0f} ms")
    return found


def clock_errors(page: Page, names: tuple[str, ...]) -> list[float]:
    """Of each recording at 1×, printed."""
    found = []
    for name in names:
        opened(page, name)
        replayed, wall = page.evaluate(CLOCKS, PLAYED_SECONDS)
        found.append(abs(replayed / wall - 1))
        print(f"{name} at 1×: {replayed:.3f} s of its clock in {wall:.3f} s, {found[-1]:.1%} apart")
    return found


def main() -> int:
    """Print all; fail where one is beyond its limit."""
    recording, chat = long_recording(), bundled_recordings()["chat"]
    demo = build_page(FakeSession(), {"chat": chat, "long": lambda: recording})
    _, address, _ = launch(demo, read_settings({}), prevent_thread_lock=True, quiet=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        page = browser.new_page(viewport={"width": 1400, "height": 1800})
        page.goto(address)
        expect(page.locator(".sd-player input")).to_be_enabled(timeout=MINUTES)
        tasks = longest_tasks(page)
        errors = clock_errors(page, ("long", "chat"))
        browser.close()
    demo.close(verbose=False)
    return int(max(tasks) >= LIMIT_MILLISECONDS or max(errors) >= LIMIT_SHARE)


if __name__ == "__main__":
    sys.exit(main())
