"""One run on one page for print. Knows no component and no formula."""

from __future__ import annotations

from itertools import zip_longest

from specdemo import metrics
from specdemo.report import Report, Table, render
from specdemo.trace import Snapshot
from specdemo.ui.claims import claims
from specdemo.ui.comparison import key_figures
from specdemo.ui.numerals import decimal
from specdemo.ui.wording import words

_MAX_CHARACTERS = 700  # both texts at this length still leave room for the rest on one page


def run_report(snapshot: Snapshot, language: str) -> str:
    """The run's request, figures, answer and limits as one HTML document."""
    spoken = words(language)
    return render(
        Report(
            language=language,
            title=f"{spoken['report_title']} – {spoken['title']}",
            lead=(
                spoken["report_prompt"].format(text=_cut(snapshot.settings.prompt)),
                spoken["report_answer"].format(text=_cut(snapshot.speculative.text)),
            ),
            tables=(lanes_table(snapshot, language), request_table(snapshot, language),
                    claims_table(snapshot, language)),
            notes=(spoken["report_rounds_note"],),
        )
    )  # fmt: skip


def lanes_table(snapshot: Snapshot, language: str) -> Table:
    """Both lanes beside each other."""
    spoken = words(language)
    rows = []
    for lane in ("normal", "speculative"):
        run = metrics.run_metrics(getattr(snapshot, lane).trace)
        rows.append(
            (
                spoken[f"lane_{lane}"],
                decimal(run.tokens_per_second, language, 1),
                decimal(run.seconds, language, 2),
                decimal(run.time_to_first_token_seconds, language, 3),
                str(run.num_output_tokens),
                str(run.num_rounds),
                decimal(run.mean_acceptance_length, language, 2),
            )
        )
    keys = ("report_rate", "report_seconds", "report_first_token", "compare_tokens",
            "report_passes", "compare_tau")  # fmt: skip
    header = ("", *(spoken[key] for key in keys))
    return Table(spoken["report_figures"], header, tuple(rows))


def request_table(snapshot: Snapshot, language: str) -> Table:
    """What was asked and what distinguishes the run, in two columns of names and values."""
    spoken = words(language)
    figures = key_figures(snapshot, language)
    cells = [(spoken[key], text) for key, text in figures.items() if key != "compare_prompt"]
    half = -(-len(cells) // 2)
    pairs = zip_longest(cells[:half], cells[half:], fillvalue=("", ""))
    header = (spoken["report_measure"], spoken["report_value"]) * 2
    return Table(spoken["report_request"], header, tuple((*a, *b) for a, b in pairs), num_labels=4)


def claims_table(snapshot: Snapshot, language: str) -> Table:
    """Claims and difficulties beside this run's own figures."""
    spoken = words(language)
    rows = tuple((claim.said, claim.own) for claim in claims(snapshot, language))
    header = (spoken["claims_head_said"], spoken["claims_head_own"])
    return Table(spoken["claims"], header, rows, num_labels=2)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
