"""A page that opens anywhere, without a network: text, tables and Plotly charts in one file.

Knows no benchmark: what it shows are values of its own. Everything is escaped, and a policy in the
page itself forbids it to fetch anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import plotly
from markupsafe import Markup

from specdemo.palette import dark_colours
from specdemo.settings import ASSETS_FOLDER

_PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts under a header; the first `num_labels` columns hold words, the rest numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    num_labels: int = 1


@dataclass(frozen=True, slots=True)
class ReportChart:
    """A figure as plain values, with its title and the same content in a sentence."""

    title: str
    text: str
    figure: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """All that one page shows."""

    language: str
    title: str
    lead: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    charts: tuple[ReportChart, ...] = ()
    notes: tuple[str, ...] = field(default=())


def render(report: Report) -> str:
    """The report as one HTML document."""
    figures = [chart.figure for chart in report.charts]
    return _template().render(
        report=report,
        figures=script_json(figures),
        dark=script_json(dark_colours()),
        plotly=Markup(_PLOTLY.read_text(encoding="utf-8")),
    )


def script_json(value: object) -> Markup:
    """JSON that can stand inside a script element: no text in it can close the element."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(text)


def markdown(table: Table) -> str:
    """The table in Markdown."""
    marks = ["---"] * table.num_labels + ["---:"] * (len(table.header) - table.num_labels)
    lines = [_line(table.header), _line(marks), *map(_line, table.rows)]
    return "\n".join([*lines, *([table.note] if table.note else [])])


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS_FOLDER / "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")
