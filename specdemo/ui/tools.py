"""Link, report, picture, size and keys: the row of tools, and the page's state in its address.

The state lives in the address's fragment, which browsers do not send. What it may hold is said here
and checked in the browser; whatever it sets is checked again when it is raced. Knows no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from specdemo.ui.form import Form
from specdemo.ui.json_view import json_view
from specdemo.ui.recordings import Recordings
from specdemo.ui.wording import LANGUAGES

# What a link says of the recording and of the language, before any view is drawn.
JS_WANTED = """() => {
  const given = new URLSearchParams(location.hash.slice(1));
  return [given.get("recording") ?? "", given.get("language") ?? ""];
}"""
JS_RESTORE = "() => window.specdemo.restored()"
JS_KEEP_LANGUAGE = "(language) => { window.specdemo?.keepLanguage(language); return []; }"
JS_KEEP = "(...values) => { window.specdemo?.keepFields(values); return []; }"


def tools_view(
    form: Sequence[gr.components.Component], recordings: Recordings, tabs: Sequence[str]
) -> gr.HTML:
    """The row; `tabs` are their ids, the one that is open at first ahead."""
    return json_view(
        "tools",
        parts=("panels", "address", "keyboard"),
        fields=dict(zip(Form._fields, map(field_spec, form), strict=True)),
        names=list(recordings),
        first=next(iter(recordings), ""),
        tabs=list(tabs),
        languages=list(LANGUAGES),
    )


def wire_tools(
    view: gr.HTML,
    form: Sequence[gr.components.Component],
    tabs: gr.Tabs,
    language: gr.Radio,
) -> None:
    """Keep the address up to date with the form, tabs and language; set form and tab from it."""
    gr.on([field.change for field in form], None, inputs=list(form), js=JS_KEEP)  # type: ignore[attr-defined]
    language.input(None, inputs=language, js=JS_KEEP_LANGUAGE)
    view.fields_wanted(None, outputs=list(form), js=JS_RESTORE)
    for tab in (child for child in tabs.children if isinstance(child, gr.Tab)):
        tab.select(None, js=f"() => {{ window.specdemo?.keepTab('{tab.id}'); return []; }}")
    view.tab_wanted(_tab_of, outputs=tabs, queue=False, show_progress="hidden")


def field_spec(field: gr.components.Component) -> dict[str, Any]:
    """What a field may hold, for the browser to check a link by."""
    value = field.value
    match field:
        case gr.Checkbox():
            return {"kind": "flag", "value": value}
        case gr.Slider() | gr.Number():
            return {"kind": "number", "value": value, "least": field.minimum, "most": field.maximum}
        case gr.Dropdown() | gr.Radio():
            return {"kind": "choice", "value": value, "values": [key for _, key in field.choices]}
        case _:
            return {"kind": "text", "value": value or ""}


def _tab_of(event: gr.EventData) -> Any:
    return gr.Tabs(selected=str((event._data or {}).get("tab")))
