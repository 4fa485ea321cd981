"""What a message may carry for each component: checked before anything of Gradio's looks at it.

The page's own handlers answer raw HTTP too, so nothing that the browser would forbid can be relied
on. Ranges are the business of the room that runs the request. Knows no handler and no visitor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

from specdemo.settings import Limits

_MAX_DEPTH = 20


def complaint_about(field: gr.blocks.Block, value: Any) -> str | None:
    """Why the value cannot be this component's, as the end of a sentence; nothing if it can."""
    if isinstance(field, gr.State):  # the server's own, whatever the message says
        return None
    if isinstance(field, gr.File):
        return None if value is None or is_upload(value) else "is no file that was uploaded here"
    if not is_plain(value):
        return "is no plain value"
    fits, otherwise = _check_of(field)
    return None if fits(value) else otherwise


def _check_of(field: Any) -> tuple[Callable[[Any], bool], str]:
    """What a component's value must fulfil, and what is wrong with one that does not."""
    match field:
        case gr.Textbox() | gr.HTML():
            limit = getattr(field, "max_length", None) or Limits().prompt_characters
            # An empty box may say nothing; what a script sends is always text.
            return partial(_is_text, limit, isinstance(field, gr.Textbox)), (
                f"is no text of at most {limit:,} characters"
            )
        case gr.Number() | gr.Slider():
            may_be_missing = isinstance(field, gr.Number)
            return lambda v: is_number(v) or (v is None and may_be_missing), "is no number"
        case gr.Checkbox():
            return lambda value: isinstance(value, bool), "is neither true nor false"
        case gr.CheckboxGroup():
            return partial(_are_choices, field), "is no list of its choices"
        case gr.Dropdown() | gr.Radio():
            return partial(_is_choice, field), "is none of the choices"
        case _:  # of an endpoint, which checks its own
            return lambda value: True, ""


def is_plain(value: Any, depth: int = _MAX_DEPTH) -> bool:
    """Whether a value is data alone: not too deep, whole characters, finite numbers, no file."""
    match value:
        case float():
            return math.isfinite(value)
        case str():
            return is_whole(value)
        case list():
            return depth > 0 and all(is_plain(one, depth - 1) for one in value)
        case dict():
            is_file = "meta" in value or "path" in value or "url" in value
            parts = (*value, *value.values())
            return depth > 0 and not is_file and all(is_plain(part, depth - 1) for part in parts)
        case _:
            return True


def is_whole(text: str) -> bool:
    """Whether a text can be written down: half of a character cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: Any) -> bool:
    """A number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and is_plain(value)


def is_upload(value: Any) -> bool:
    """Whether a value names a file that lies among the uploads, and nothing else."""
    path = value.get("path") if isinstance(value, dict) else None
    if not isinstance(path, str):
        return False
    try:
        place = Path(path).resolve()
        return place.is_relative_to(Path(get_upload_folder()).resolve()) and place.is_file()
    except (OSError, ValueError):  # too long, or no path at all
        return False


def _is_text(limit: int, may_be_missing: bool, value: Any) -> bool:
    return (value is None and may_be_missing) or (isinstance(value, str) and len(value) <= limit)


def _are_choices(field: Any, value: Any) -> bool:
    fits = isinstance(value, list) and all(_is_choice(field, one) for one in value)
    return fits and len(value) <= len(field.choices)


def _is_choice(field: Any, value: Any) -> bool:
    return isinstance(value, str) and value in [key for _, key in field.choices]
