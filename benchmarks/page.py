"""What the page costs: the run's own clocks with and without a reader, and how soon things appear.

    python benchmarks/page.py

Prints the ratio of the runs' own clocks, streamed to a gradio_client reader and to a browser, to
the same runs iterated directly; the time to the first token of warm runs; and the time from the
server's start to a page that can be typed into.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Event

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gradio_client import Client
from playwright.sync_api import Page, expect, sync_playwright

from specdemo.metrics import run_metrics
from specdemo.session import Answer, DecodeRequest, DecodeSession
from specdemo.settings import read_settings
from specdemo.trace import Snapshot
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page

PROMPT = "Write a list of five tips for working from home."
REQUEST = DecodeRequest(PROMPT, max_new_tokens=128)
REPEATS = 3
MINUTES = 600_000


class Recorder(DecodeSession):
    """A session that remembers what its last run took on its own clocks."""

    seconds = 0.0

    def run(self, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
        for snapshot in super().run(request, stop):
            self.seconds = snapshot.normal.trace.seconds + snapshot.speculative.trace.seconds
            yield snapshot

    def answer(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        for answer in super().answer(request, stop):
            self.seconds = answer.lane.trace.seconds
            yield answer


@contextmanager
def browser_page() -> Iterator[Page]:
    """A page in the system's chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        yield browser.new_page()
        browser.close()


def first_tokens(session: Recorder) -> None:
    """Time to first token of warm runs by prompt length."""
    for words in (5, 30, 60):
        request = DecodeRequest("word " * words, max_new_tokens=4)
        seconds = []
        for _ in range(REPEATS):
            *_, last = session.run(request, Event())
            metrics = (run_metrics(lane.trace) for lane in (last.normal, last.speculative))
            seconds.append([m.time_to_first_token_seconds or 0.0 for m in metrics])
            prefill = last.normal.trace.prefill
        normal, speculative = (median(column) for column in zip(*seconds))
        print(f"{prefill and prefill.num_prompt_tokens} prompt tokens: first token after "
              f"{normal:.3f} s normal, {speculative:.3f} s speculative")  # fmt: skip


def compared(
    session: Recorder, name: str, direct: Callable[[], Iterator[object]], read: Callable[[], None]
) -> None:
    """The runs' own clocks streamed and direct, in turn."""
    ratios = []
    for _ in range(REPEATS):
        for _ in direct():
            pass
        seconds = session.seconds
        read()
        ratios.append(session.seconds / seconds)
    print(f"own clocks with {name} ÷ direct: {median(ratios):.3f} "
          f"({min(ratios):.3f}–{max(ratios):.3f})")  # fmt: skip


def main() -> None:
    """All three measurements."""
    session = Recorder(read_settings())
    demo = build_page(session)
    with browser_page() as page:
        _, address, _ = launch(demo, read_settings(), prevent_thread_lock=True, quiet=True)
        started = time.perf_counter()
        page.goto(str(address))
        page.get_by_label("Prompt", exact=True).wait_for()
        print(f"a page to type into after {time.perf_counter() - started:.2f} s")
        expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
        page.goto("about:blank")
        first_tokens(session)
        client = Client(str(address), verbose=False)
        given = {"prompt": PROMPT, "max_new_tokens": REQUEST.max_new_tokens}

        def stream() -> None:
            list(client.submit(**given, api_name="/decode_stream"))

        compared(session, "a client", lambda: session.answer(REQUEST, Event()), stream)
        page.goto(str(address))
        expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
        page.get_by_label("Prompt", exact=True).fill(PROMPT)

        def watch() -> None:
            page.get_by_role("button", name="Race").click()
            expect(page.locator("#sd-stop")).to_be_enabled()
            expect(page.locator("#sd-stop")).to_be_disabled(timeout=MINUTES)

        race = lambda: session.run(REQUEST, Event())  # noqa: E731
        compared(session, "a browser on the same cores", race, watch)
    demo.close(verbose=False)


if __name__ == "__main__":
    main()
