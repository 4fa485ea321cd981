"""One colour, one mark and one shape per token state; tokens, bars and legend read them here.

Hue never carries the meaning alone. Text in `ink` keeps a contrast of at least 4.5:1 on `fill` and
on the page's background, in both themes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class StateStyle:
    """How a token state looks: colours for light and dark, a mark, and the shape in words."""

    fill_light: str
    ink_light: str
    fill_dark: str
    ink_dark: str
    mark: str
    shape: str


class Colour(NamedTuple):
    """One colour in both themes."""

    light: str
    dark: str


STATE_STYLES: dict[str, StateStyle] = {
    "normal": StateStyle("transparent", "#1f2937", "transparent", "#e5e7eb", "", "plain"),
    "pending": StateStyle("transparent", "#4b5563", "transparent", "#a3adbb", "", "dashed"),
    "accepted": StateStyle("#cdf0e5", "#0b5345", "#0f4a40", "#a7f3d9", "", "filled"),
    "rejected": StateStyle("#fde0d6", "#9a2c0b", "#5a2413", "#ffb59c", "×", "struck"),
    "untested": StateStyle("#eceef1", "#565f6c", "#2b323d", "#aab3c0", "", "hatched"),
    "resampled": StateStyle("#fbe7b5", "#704700", "#4d3a08", "#ffd98a", "↳", "ruled"),
    "bonus": StateStyle("#d8e6fd", "#1b4b9b", "#1b3864", "#b3d0ff", "+", "ruled"),
}

LANE_COLOURS: dict[str, Colour] = {
    "normal": Colour("#64748b", "#a3b1c6"),
    "speculative": Colour("#0f766e", "#2dd4bf"),
}

MEMORY_COLOURS: dict[str, Colour] = {
    "target_weights": Colour("#475569", "#94a3b8"),
    "draft_weights": Colour("#0d9488", "#2dd4be"),
    "target_cache": Colour("#b45309", "#fbbf24"),
    "draft_cache": Colour("#7c3aed", "#c4b5fd"),
    "peak": Colour("#dbe1e9", "#3b4656"),
}


# Solid tones of the token states, for bars.
STATE_COLOURS: dict[str, Colour] = {
    "accepted": Colour("#12907a", "#34d3b0"),
    "rejected": Colour("#d9623b", "#ff9d78"),
}

TIME_COLOURS: dict[str, Colour] = {
    "prefill": Colour("#9aa7b8", "#5d6b7e"),
    "draft": Colour("#c98a12", "#f2c14e"),
    "verify": Colour("#3466b0", "#7fb0ff"),
    "overhead": Colour("#b9587f", "#f09ab9"),
    "waited": Colour("#5a6fb8", "#93a5ec"),
}

THEORY_COLOURS: dict[str, Colour] = {
    "textbook": Colour("#7b8796", "#94a1b3"),
    "point": Colour("#b0430f", "#ffab85"),
    "even": Colour("#8d99a8", "#7f8ca0"),
}


def dark_colours() -> dict[str, str]:
    """The dark theme's colour for each light one that a figure may hold."""
    tables = (LANE_COLOURS, MEMORY_COLOURS, STATE_COLOURS, TIME_COLOURS, THEORY_COLOURS)
    pairs = [colour for table in tables for colour in table.values()]
    return {colour.light: colour.dark for colour in pairs}
