"""What a visitor sees, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.ui.fakes import ANSWER, FakeSession

pytestmark = pytest.mark.browser

FINISHED = ".sd-status-line[data-kind=done]"
MINUTES = 180_000
HOSTILE = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> '
    "${window.hacked=1} {{constructor}} `echo`"
)

# Chips come and go within milliseconds; this notes each kind as soon as it is in the document.
NOTE_CHIPS = """() => {
  window.seen = new Set();
  new MutationObserver((changes) => {
    for (const change of changes)
      for (const node of change.addedNodes)
        for (const part of [node, ...(node.querySelectorAll?.('*') ?? [])])
          for (const name of part.classList ?? []) window.seen.add(name);
  }).observe(document.querySelector('.sd-stage'), { childList: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def session() -> FakeSession:
    return FakeSession(pass_seconds=0.004)


@pytest.fixture(scope="module")
def address(serve: Callable[[Any], str], session: FakeSession) -> str:
    return serve(session)


@pytest.fixture
def opened(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    return page


def race(page: Page, prompt: str | None = None) -> None:
    if prompt is not None:
        page.get_by_label("Prompt", exact=True).fill(prompt)
    page.get_by_role("button", name="Race").click()


def lane(page: Page, name: str) -> Locator:
    return page.locator(f'[data-lane="{name}"]')


def answer(page: Page, name: str) -> str:
    """The kept tokens' text, without marks and seams."""
    return str(
        lane(page, name).evaluate(
            """lane => [...lane.querySelectorAll('.sd-text .sd-chip')]
              .filter(chip => !chip.matches('.is-rejected, .is-untested'))
              .map(chip => chip.verdict.text).join('')"""
        )
    )


def assert_a_whole_race_was_seen(page: Page) -> None:
    """Run the prompt that is in the box, and watch everything that a race promises."""
    page.evaluate(NOTE_CHIPS)
    race(page)
    expect(page.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    seen = set(page.evaluate("[...window.seen]"))
    assert {"is-pending", "is-accepted", "is-rejected", "is-resampled", "is-normal"} <= seen
    assert page.locator(".sd-box .is-pending").count() == 0
    assert answer(page, "normal")
    for plot in page.locator(".sd-plot").all():
        plot.scroll_into_view_if_needed()
        expect(plot.locator(".trace path, .trace .js-line, .point path").first).to_be_attached()
    expect(page.locator(".sd-measure-speedup b")).to_contain_text("×")


def test_a_visitor_sees_drafts_verdicts_charts_and_the_same_answer_twice(opened: Page) -> None:
    assert_a_whole_race_was_seen(opened)
    assert answer(opened, "normal") == answer(opened, "speculative") == ANSWER
    expect(opened.locator(".sd-measure-output")).to_contain_text("Same output, token for token")
    expect(opened.locator(".sd-runs tbody tr").first).to_contain_text("small model")


def test_no_request_leaves_the_machine(page: Page, address: str) -> None:
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname or ""))
    page.goto(address)
    expect(page.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    race(page)
    expect(page.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    assert hosts - {""} == {urlsplit(address).hostname}


def test_the_browser_console_stays_clean(page: Page, address: str) -> None:
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    page.goto(address)
    race(page)
    expect(page.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    assert complaints == []


def test_a_change_of_precision_is_compared_without_moving_anything(opened: Page) -> None:
    table = opened.locator(".sd-precisions")
    height = table.evaluate("node => node.offsetHeight")
    race(opened)
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    opened.get_by_label("Precision", exact=True).click()
    opened.get_by_role("option", name="4-bit NF4").click()
    expect(opened.locator(".sd-status-line")).to_have_text("Ready.", timeout=MINUTES)
    race(opened)
    expect(table).to_contain_text("nf4 is not faster on this machine", timeout=MINUTES)
    assert table.evaluate("node => node.offsetHeight") == height


def test_models_of_ones_own_can_be_named_only_where_that_is_allowed(
    opened: Page,
) -> None:
    opened.get_by_label("Models", exact=True).click()
    expect(opened.get_by_role("option", name="Gemma 2 9B & 2B")).to_be_visible()
    expect(opened.get_by_role("option", name="your own …")).to_have_count(0)


def test_a_hostile_prompt_stays_text(opened: Page) -> None:
    race(opened, HOSTILE)
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    assert opened.evaluate("window.hacked") is None
    assert opened.locator(".sd-stage img, .sd-stage script, .sd-runs img").count() == 0
    assert answer(opened, "normal") == answer(opened, "speculative") == HOSTILE
    expect(lane(opened, "normal").locator(".sd-context")).to_contain_text(HOSTILE)
    expect(opened.locator(".sd-runs tbody tr").first).to_contain_text("<img src=x")


def test_enter_races_and_stop_leaves_partial_numbers(opened: Page) -> None:
    prompt = opened.get_by_label("Prompt", exact=True)
    prompt.fill("Answer slowly, please")
    prompt.press("Enter")
    expect(lane(opened, "speculative").locator(".sd-text .is-accepted").first).to_be_visible()
    opened.get_by_role("button", name="Stop").click()
    expect(opened.locator(FINISHED)).to_contain_text("Stopped", timeout=MINUTES)
    expect(lane(opened, "normal").locator(".sd-figure-rate b")).not_to_have_text("–")
    expect(opened.get_by_role("button", name="Race")).to_be_enabled()


def test_space_pauses_a_live_race_and_lets_it_go_on(opened: Page) -> None:
    said = opened.locator("#sd-status .sd-status-line")
    race(opened, "Answer slowly, please")
    expect(lane(opened, "speculative").locator(".is-accepted").first).to_be_visible()
    opened.evaluate("document.activeElement.blur()")
    opened.keyboard.press("Space")
    expect(said).to_contain_text("Paused")
    opened.keyboard.press("Space")
    expect(said).to_contain_text("Racing")
    opened.get_by_role("button", name="Stop").click()
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)


def test_step_makes_one_pass_of_a_live_race(opened: Page) -> None:
    opened.get_by_label("Prompt", exact=True).fill("Why is the sky blue?")
    said = opened.locator("#sd-status .sd-status-line")
    tokens = opened.locator(".sd-box .sd-text .sd-chip")
    step = opened.get_by_role("button", name="Step")
    for _ in range(3):  # both prefills, then a token of one lane
        step.click()
        expect(said).to_contain_text("Paused")
    expect(tokens).to_have_count(1)
    step.click()
    expect(tokens).to_have_count(2)
    opened.get_by_role("button", name="Stop").click()
    expect(opened.locator(FINISHED)).to_contain_text("Stopped", timeout=MINUTES)


def test_an_empty_prompt_is_one_sentence_and_the_next_run_works(opened: Page) -> None:
    race(opened, "   ")
    expect(opened.locator(".sd-status-line[data-kind=error]")).to_be_visible(timeout=MINUTES)
    race(opened, "Why is the sky blue?")
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)


def test_closing_the_tab_frees_the_device(
    page: Page, address: str, session: FakeSession, browser: Browser
) -> None:
    context = browser.new_context()
    leaver = context.new_page()
    leaver.goto(address)
    race(leaver)
    expect(lane(leaver, "normal").locator(".sd-text .is-normal").first).to_be_visible()
    context.close()
    # The device is free when the next visitor's race can run to its end.
    page.goto(address)
    race(page)
    expect(page.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    assert session.num_open_runs == 0


@pytest.mark.parametrize(
    ("locale", "race_button", "sentence"),
    [
        ("en-GB", "Race", "Waiting for the device, which is busy with Gemma 2 9B & 2B"),
        ("it-IT", "Gara", "il dispositivo è occupato con Gemma 2 9B & 2B"),
    ],
)
def test_a_visitor_who_waits_is_told_which_pair_for(
    opened: Page, address: str, session: FakeSession, browser: Browser, locale: str,
    race_button: str, sentence: str,
) -> None:  # fmt: skip
    race(opened, "Answer slowly, please")
    shown = lane(opened, "normal").locator(".sd-text .is-normal").first
    expect(shown).to_be_visible(timeout=MINUTES)
    session.busy_with = "Gemma 2 9B & 2B"
    waiter = browser.new_context(locale=locale).new_page()
    waiter.goto(address)
    said = waiter.locator("#sd-status .sd-status-line")
    expect(said).to_contain_text(sentence, timeout=MINUTES)
    waiter.get_by_role("button", name=race_button).click()
    expect(said).to_contain_text(sentence, timeout=MINUTES)
    opened.get_by_role("button", name="Stop").click()
    session.busy_with = None
    expect(waiter.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    waiter.context.close()


def test_every_token_is_reached_by_keyboard_and_shows_its_verdict(opened: Page) -> None:
    race(opened)
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    box = lane(opened, "speculative").locator(".sd-box")
    box.focus()
    box.press("Home")
    chips = box.locator(".sd-chip")
    expect(chips.first).to_be_focused()
    opened.keyboard.press("ArrowRight")
    expect(chips.nth(1)).to_be_focused()
    expect(opened.locator(".sd-verdict")).to_contain_text("accepted")
    expect(opened.locator(".sd-verdict .sd-odds-q").nth(1)).to_contain_text("0.410")
    opened.keyboard.press("End")
    expect(chips.last).to_be_focused()


def test_final_text_only_hides_what_was_refused(opened: Page) -> None:
    race(opened)
    expect(opened.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    refused = lane(opened, "speculative").locator(".is-rejected, .is-untested").first
    expect(refused).to_be_visible()
    opened.get_by_label("Final text only").check()
    expect(refused).to_be_hidden()


def test_an_example_fills_the_prompt_and_its_mode(opened: Page) -> None:
    opened.get_by_role("button", name="Tutorial").click()
    prompt = opened.get_by_label("Prompt", exact=True)
    expect(prompt).to_have_value("The future of artificial intelligence is ")
    opened.get_by_role("button", name="Tutorial").click()
    expect(prompt).to_have_value("Machine learning is transforming the world by ")


def test_a_chat_can_go_on(opened: Page) -> None:
    race(opened, "First question")
    follow_up = opened.get_by_label("Follow-up", exact=True)
    expect(follow_up).to_be_enabled(timeout=MINUTES)
    follow_up.fill("Second question")
    opened.get_by_role("button", name="Ask").click()
    context = lane(opened, "normal").locator(".sd-context")
    expect(context).to_contain_text("Second question", timeout=MINUTES)
    expect(context).to_contain_text("First question")


def test_the_page_speaks_italian_to_an_italian_browser(browser: Browser, address: str) -> None:
    context = browser.new_context(locale="it-IT")
    page = context.new_page()
    page.goto(address)
    expect(page.get_by_role("button", name="Gara")).to_be_visible(timeout=MINUTES)
    expect(page.locator(".sd-legend")).to_contain_text("ricampionato")
    page.get_by_label("English").check()
    expect(page.get_by_role("button", name="Race")).to_be_visible()
    expect(page.locator(".sd-legend")).to_contain_text("resampled")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(browser: Browser, address: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    race(page)
    expect(page.locator(FINISHED)).to_be_visible(timeout=MINUTES)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    parts = ".sd-lane, .sd-player, .sd-measures, .sd-legend-bar, .sd-verdict, .sd-charts"
    for part in page.locator(parts).all():
        assert part.evaluate("node => node.getBoundingClientRect().right") <= 390
    assert page.locator("body.dark").count() == (scheme == "dark")
    context.close()
