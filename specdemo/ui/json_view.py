"""A `gr.HTML` whose value is JSON, drawn by a script with `textContent`.

Knows no token and no figure. `gr.HTML` escapes nothing and evaluates its template, so the template
is static and no text of a model or a user ever becomes part of it.
"""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from specdemo.plain import finite
from specdemo.settings import ASSETS_FOLDER
from specdemo.ui.wording import DEFAULT_LANGUAGE, words


def encode(value: object) -> str:
    """One line of JSON without a `<`, so that no text in it can open a tag."""
    text = json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def json_view(
    name: str,
    *,
    value: str = "",
    parts: tuple[str, ...] = (),
    view_id: str = "",
    head: str | None = None,
    **fixed: Any,
) -> gr.HTML:
    """A view drawn by `assets/js/NAME.js` and its parts; `view_id` tells two of a kind apart.

    Its words can be replaced through the property `words`. What is `fixed` stands in the script
    itself: a property is lost when another one changes before the view's tab was ever opened.
    """
    scripts = (f"const fixed = {encode(fixed)};", *map(_script, ("helpers", *parts, name)))
    return gr.HTML(
        value=value,
        html_template=f'<div class="sd-{name}"></div>',
        js_on_load="\n".join(scripts),
        head=head,
        apply_default_css=False,
        elem_id=f"sd-{view_id or name}",
        words=dict(words(DEFAULT_LANGUAGE)),
        language=DEFAULT_LANGUAGE,
    )


def _script(name: str) -> str:
    return (ASSETS_FOLDER / "js" / f"{name}.js").read_text(encoding="utf-8")
