"""Recorded runs in a real browser, without any model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import NoReturn

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from specdemo.errors import ModelLoadError
from specdemo.session import DecodeRequest
from specdemo.trace_file import TraceFile, dump
from tests import traces
from tests.browser.test_page import MINUTES, answer, lane
from tests.ui.fakes import ANSWER, FakeSession

pytestmark = pytest.mark.browser

REASON = "The bundled model file is missing from assets/models; clone the repository again."


class NoModel(FakeSession):
    """A machine without the models."""

    def load(self, *names: object) -> Iterator[str]:
        yield "Looking for the models …"
        raise ModelLoadError(REASON)

    def _refuse(self, *_: object) -> NoReturn:
        raise ModelLoadError(REASON)

    run = answer = write_draft = score = lent = _refuse


def recording(max_new_tokens: int = 128) -> TraceFile:
    request = DecodeRequest("Why is the sky blue?", max_new_tokens=max_new_tokens)
    *_, last = FakeSession().run(request, Event())
    return TraceFile(last, "Why is the sky blue?", "2026-12-01T08:30:00+00:00")


@pytest.fixture(scope="module")
def address(serve: Callable[..., str]) -> str:
    runs = {"chat": recording, "code": lambda: recording(9), "game": long_recording}
    return serve(NoModel(), runs)


@pytest.fixture
def opened(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator(".sd-status-line[data-kind=error]")).to_have_text(REASON, timeout=MINUTES)
    expect(page.get_by_role("button", name="Play")).to_be_enabled()
    return page


def long_recording() -> TraceFile:
    """3,000 tokens: more than one frame of the browser can show or hide."""
    snapshot = traces.race_of(
        traces.run(*"n" * 3000, prefill=1.0), traces.run(*["aab"] * 1000, prefill=1.0)
    )
    lanes = (
        replace(lane, pieces=tuple((" word",) * len(r.judged) for r in lane.trace.rounds))
        for lane in (snapshot.normal, snapshot.speculative)
    )
    normal, speculative = lanes
    return TraceFile(replace(snapshot, normal=normal, speculative=speculative), "", "2026-12-01")


def shown(page: Page, name: str) -> int:
    """How many rounds of a lane are on screen."""
    return lane(page, name).locator(".sd-round:not(.is-future)").count()


def clock(page: Page) -> Locator:
    return page.get_by_label("Race clock, seconds")


def seconds(page: Page) -> float:
    return float(clock(page).evaluate("slider => slider.value"))


def test_without_models_a_recorded_run_is_on_screen_and_racing_says_why_not(opened: Page) -> None:
    assert answer(opened, "normal") == answer(opened, "speculative") == ANSWER
    expect(opened.locator(".sd-measure-speedup b")).to_have_text(re.compile(r"\d\.\d\d×"))
    expect(opened.locator(".sd-why p").first).to_contain_text("times as fast")
    lane(opened, "speculative").locator(".is-rejected").first.click()
    expect(opened.locator(".sd-verdict")).to_contain_text("Refused")
    opened.get_by_role("button", name="Race").click()
    expect(opened.locator(".sd-status-line[data-kind=error]")).to_have_text(REASON)


@pytest.mark.parametrize(
    ("tab", "name"), [("Benchmark", "bench"), ("Draft and score", "score"), ("Proof", "proof")]
)
def test_without_models_a_measurement_says_why_not(opened: Page, tab: str, name: str) -> None:
    opened.get_by_role("tab", name=tab).click()
    opened.locator(f"#sd-{name}-start").click()
    said = opened.locator(f"#sd-{name}-status .sd-status-line[data-kind=error]")
    expect(said).to_contain_text(REASON, timeout=MINUTES)


def test_the_whole_replay_is_driven_by_keyboard(opened: Page) -> None:
    whole = shown(opened, "speculative")
    end = seconds(opened)
    opened.get_by_role("button", name="To the start").focus()
    opened.keyboard.press("Enter")
    assert (shown(opened, "normal"), shown(opened, "speculative"), seconds(opened)) == (0, 0, 0.0)
    clock(opened).focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowRight")
    forwards = seconds(opened)
    assert 0 < forwards < end
    opened.keyboard.press("ArrowLeft")
    assert 0 < seconds(opened) < forwards
    opened.get_by_role("button", name="Next refusal").focus()
    opened.keyboard.press("Enter")
    expect(lane(opened, "speculative").locator(".is-rejected:visible")).to_have_count(1)
    opened.get_by_role("button", name="To the end").focus()
    opened.keyboard.press("Enter")
    assert shown(opened, "speculative") == whole


def test_a_draft_is_pending_before_its_verdicts_land_together(opened: Page) -> None:
    opened.get_by_role("button", name="To the start").click()
    pending = lane(opened, "speculative").locator(".sd-round.is-drafted")
    for _ in range(12):
        if pending.count():
            break
        opened.get_by_role("button", name="Next pass").click()
    expect(
        pending.locator(".sd-mark:visible, .is-resampled:visible, .is-bonus:visible")
    ).to_have_count(0)
    drafted = pending.locator(".sd-chip:visible").count()
    assert drafted >= 1
    for _ in range(12):
        if not pending.count():
            break
        opened.get_by_role("button", name="Next pass").click()
    assert lane(opened, "speculative").locator(".sd-chip:visible").count() > drafted


def test_the_numbers_of_a_moment_are_those_of_the_tokens_on_screen(opened: Page) -> None:
    final = opened.locator(".sd-measure-speedup b").inner_text()
    clock(opened).evaluate(
        "slider => { slider.value = slider.max / 2; slider.dispatchEvent(new Event('input')); }"
    )
    tokens = lane(opened, "normal").locator(".sd-figure-tokens b")
    expect(tokens).to_have_text(str(lane(opened, "normal").locator(".sd-chip:visible").count()))
    opened.get_by_role("button", name="To the end").click()
    expect(opened.locator(".sd-measure-speedup b")).to_have_text(final)


def test_replay_keeps_the_recorded_clock(page: Page, address: str) -> None:
    """With the browser's own clock in the test's hands."""
    page.clock.install()
    page.goto(address)
    play = page.get_by_role("button", name="Play")
    expect(play).to_be_enabled(timeout=MINUTES)
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    page.get_by_role("button", name="To the start").click()
    play.click()
    page.clock.run_for(1000)
    assert seconds(page) == pytest.approx(1.0, rel=0.05)
    page.get_by_role("button", name="Pause").click()
    paused = seconds(page)
    page.clock.run_for(1000)
    assert seconds(page) == paused
    page.get_by_label("Speed").select_option("0.1")
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1000)
    assert seconds(page) - paused == pytest.approx(0.1, rel=0.05)


def test_a_jump_through_a_long_recording_ends_with_the_rounds_of_its_moment(
    opened: Page,
) -> None:
    opened.get_by_label("Recorded runs").select_option("game")
    rounds = lane(opened, "normal").locator(".sd-round:not(.is-future)")
    expect(rounds).to_have_count(3000)
    opened.get_by_role("button", name="To the start").click()
    expect(rounds).to_have_count(0)
    opened.get_by_role("button", name="To the end").click()
    clock(opened).evaluate(
        "slider => { slider.value = 2000.5; slider.dispatchEvent(new Event('input')); }"
    )
    expect(rounds).to_have_count(2000)  # one of them drafted and not judged
    expect(lane(opened, "speculative").locator(".sd-round:not(.is-future)")).to_have_count(1000)
    expect(lane(opened, "normal").locator(".sd-figure-tokens b")).to_have_text("1,999")


def test_space_plays_only_while_nothing_else_takes_it(opened: Page) -> None:
    opened.get_by_role("button", name="To the start").click()
    prompt = opened.get_by_label("Prompt", exact=True)
    prompt.press("Space")
    expect(opened.get_by_role("button", name="Play")).to_be_visible()
    opened.evaluate("document.activeElement.blur()")
    opened.keyboard.press("Space")
    expect(opened.get_by_role("button", name="Pause")).to_be_visible()


def test_another_recording_is_chosen_from_the_list(opened: Page) -> None:
    opened.get_by_label("Recorded runs").select_option("code")
    expect(lane(opened, "normal").locator(".sd-figure-tokens b")).to_have_text("9")
    status = opened.locator(".sd-status-line")
    expect(status).to_contain_text("Recorded on Imaginary Processor 9000 @ 2.0 GHz, 2026-12-01")


def test_a_run_is_saved_and_opened_again(opened: Page, tmp_path: Path) -> None:
    with opened.expect_download() as waiting:
        opened.get_by_role("button", name="Save this run").click()
    saved = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(saved)
    opened.get_by_label("Recorded runs").select_option("code")
    expect(lane(opened, "normal").locator(".sd-figure-tokens b")).to_have_text("9")
    opened.locator("#sd-recordings input").set_input_files(saved)
    expect(lane(opened, "normal").locator(".sd-figure-tokens b")).to_have_text("84")
    assert answer(opened, "speculative") == ANSWER


def test_a_file_dropped_on_the_page_is_opened(opened: Page) -> None:
    opened.evaluate(
        """bytes => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([new Uint8Array(bytes)], "run.json.gz"));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
        }""",
        list(dump(recording(9))),
    )
    expect(lane(opened, "normal").locator(".sd-figure-tokens b")).to_have_text("9")


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"<script>alert(1)</script>", dump(recording(9))[:-20]]
)
def test_a_file_that_is_no_trace_is_one_sentence(opened: Page, data: bytes) -> None:
    opened.locator("#sd-recordings input").set_input_files(
        {"name": "x.json.gz", "mimeType": "application/gzip", "buffer": data}
    )
    status = opened.locator(".sd-status-line[data-kind=error]")
    expect(status).not_to_have_text(REASON)
    expect(status).to_contain_text(re.compile("trace|gzip"))
    assert answer(opened, "normal") == ANSWER


def test_calm_readers_see_steps_and_no_gliding(browser: Browser, address: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.clock.install()
    page.goto(address)
    play = page.get_by_role("button", name="Play")
    expect(play).to_be_enabled(timeout=MINUTES)
    page.get_by_role("button", name="To the start").click()
    page.evaluate(
        """() => {
          window.positions = new Set();
          const slider = document.querySelector('.sd-player input');
          setInterval(() => window.positions.add(slider.value), 5);
        }"""
    )
    play.click()
    page.clock.run_for(600)
    moments = page.evaluate("window.positions.size")
    assert 1 < moments < 45
    context.close()
