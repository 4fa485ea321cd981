"""The tab that teaches on the run on screen: its value, its view, its wiring. Knows no formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import gradio as gr

from specdemo import metrics
from specdemo.events import TokenOutcome
from specdemo.palette import STATE_STYLES
from specdemo.trace import Snapshot
from specdemo.ui.claims import claims
from specdemo.ui.json_view import encode, json_view
from specdemo.ui.labels import Labels
from specdemo.ui.lesson import Step, lesson
from specdemo.ui.numerals import decimal
from specdemo.ui.wording import words

_PROMPT_CHARACTERS = 120


def draw_learn_tab(labels: Labels) -> gr.HTML:
    """The tab with its one view; to be called inside `gr.Tabs`."""
    marks = {state: style.mark for state, style in STATE_STYLES.items()}
    with labels.make(gr.Tab, {"label": "tab_learn"}, id="learn"):
        return labels.adopt(json_view("learn", parts=("chips",), marks=marks))


def wire_learn_tab(
    view: gr.HTML, language: gr.Radio, last_snapshot: Callable[[str | None], Snapshot | None]
) -> None:
    """The view asks for its lesson when it is seen, and when another run stands on screen."""

    def teach(spoken: str, request: gr.Request) -> str:
        return learn_value(last_snapshot(request.session_hash), spoken)

    view.lesson_wanted(teach, inputs=language, outputs=view, queue=False, show_progress="hidden")


def learn_value(snapshot: Snapshot | None, language: str) -> str:
    """The view's value; empty where there is no run."""
    if snapshot is None:
        return ""
    found, run = lesson(snapshot), metrics.run_metrics(snapshot.speculative.trace)
    counts = {
        "tokens": run.num_output_tokens,
        "rounds": run.num_rounds,
        "drafted": run.num_draft_tokens,
        "tested": run.num_tested_tokens,
    }
    return encode(
        {
            "prompt": snapshot.settings.prompt[:_PROMPT_CHARACTERS],
            "is_greedy": snapshot.is_greedy,
            "steps": [
                {**asdict(step), "sentence": step_sentence(step, snapshot, language)}
                for step in found.steps
            ],
            "questions": [asdict(question) for question in found.questions],
            "tasks": [{**asdict(task), "values": counts} for task in found.tasks],
            "claims": [asdict(claim) for claim in claims(snapshot, language)],
        }
    )


def step_sentence(step: Step, snapshot: Snapshot, language: str) -> str:
    """What happens in the step, in the numbers of its round."""
    spoken = words(language)
    if step.round_index is None:
        return spoken[f"learn_none_{step.key}"]
    finished = snapshot.speculative.trace.rounds[step.round_index]
    greedy_key = f"learn_greedy_{step.key}"
    is_other = snapshot.is_greedy and greedy_key in spoken
    refused = next((t for t in step.tokens if t.outcome == TokenOutcome.REJECTED.value), None)
    chosen = [*step.texts(TokenOutcome.RESAMPLED), *step.texts(TokenOutcome.BONUS)]
    return spoken[greedy_key if is_other else f"learn_{step.key}"].format(
        drafted=finished.num_draft_tokens,
        tested=finished.num_tested_tokens,
        kept=finished.num_accepted_tokens,
        untested=finished.num_draft_tokens - finished.num_tested_tokens,
        refused=_quotable(refused.text if refused else ""),
        draw=decimal(refused.draw if refused else None, language),
        threshold=decimal(refused.threshold if refused else None, language),
        chosen=_quotable(chosen[0] if chosen else ""),
    )


def _quotable(text: str) -> str:
    """A token inside a sentence: white space as glyphs."""
    return text.strip(" ").replace("\n", "↵").replace("\t", "⇥") or "␣"
