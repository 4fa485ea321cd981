"""Whether the palette can be read, by the WCAG 2 formula."""

from __future__ import annotations

import re

import pytest

from specdemo.palette import LANE_COLOURS, STATE_STYLES
from specdemo.settings import ASSETS_FOLDER

ENOUGH = 4.5


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def page_colours(selector: str) -> dict[str, str]:
    css = (ASSETS_FOLDER / "css" / "page.css").read_text(encoding="utf-8")
    block = css.split(f"{selector} {{", 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--sd-([a-z]+): (#[0-9a-f]{6});", block))


@pytest.mark.parametrize("selector", [":root", ".dark"])
@pytest.mark.parametrize("state", STATE_STYLES)
def test_every_token_can_be_read(state: str, selector: str) -> None:
    page, style, is_dark = page_colours(selector), STATE_STYLES[state], selector == ".dark"
    ink = style.ink_dark if is_dark else style.ink_light
    fill = style.fill_dark if is_dark else style.fill_light
    assert contrast(ink, page["surface"]) >= ENOUGH
    if fill != "transparent":
        assert contrast(ink, fill) >= ENOUGH


@pytest.mark.parametrize("selector", [":root", ".dark"])
@pytest.mark.parametrize("name", ["ink", "quiet", "good", "bad"])
def test_every_text_can_be_read_on_page_and_card(name: str, selector: str) -> None:
    page = page_colours(selector)
    assert contrast(page[name], page["surface"]) >= ENOUGH
    assert contrast(page[name], page["page"]) >= ENOUGH


@pytest.mark.parametrize("selector", [":root", ".dark"])
@pytest.mark.parametrize("lane", LANE_COLOURS)
def test_every_lanes_figures_can_be_read(lane: str, selector: str) -> None:
    colour = LANE_COLOURS[lane].dark if selector == ".dark" else LANE_COLOURS[lane].light
    assert contrast(colour, page_colours(selector)["surface"]) >= ENOUGH


def test_no_two_states_share_hue_and_shape() -> None:
    looks = {(style.fill_light, style.mark, style.shape) for style in STATE_STYLES.values()}
    assert len(looks) == len(STATE_STYLES)
