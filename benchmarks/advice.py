"""Each knob that "why (not) faster?" advises, really turned: predicted speedup against measured.

    python benchmarks/advice.py

Races with too short and too long a fixed draft, and with too short an answer, on the example
prompts. Where the page would advise something, the same race with that knob turned, and both
figures.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from threading import Event

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from specdemo.metrics import Finding, compare, diagnose
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.settings import read_settings
from specdemo.trace import Snapshot
from specdemo.ui.examples import applications

LENGTHS = (1, 8)
SHORT_ANSWER = 12


def requests() -> Iterator[DecodeRequest]:
    """Every example with each of the knobs turned the wrong way."""
    for application in applications():
        base = DecodeRequest(
            application.prompts[0],
            is_chat=application.is_chat,
            draft_source="model",
            draft_length="fixed",
            max_new_tokens=96,
        )
        for length in LENGTHS:
            yield replace(base, num_draft_tokens=length)
        yield replace(base, draft_length="adaptive", max_new_tokens=SHORT_ANSWER)


def turned(request: DecodeRequest, advice: Finding) -> DecodeRequest:
    """The request with the advised knob turned."""
    match advice.key:
        case "advice_length":
            return replace(request, num_draft_tokens=int(advice.values["length"]))
        case "advice_longer":
            return replace(request, max_new_tokens=int(advice.values["tokens"]))
        case _:
            return replace(request, draft_source="none")


def race(session: DecodeSession, request: DecodeRequest) -> Snapshot:
    """The last snapshot of a race."""
    *_, last = session.run(request, Event())
    return last


def main() -> None:
    """Print a row for each advice, then the median ratio."""
    session = DecodeSession(read_settings())
    for stage in session.load():
        print(stage, file=sys.stderr)
    print("| prompt | knob | before | predicted | measured | measured ÷ predicted |")
    print("|---|---|---|---|---|---|")
    ratios = []
    for request in requests():
        before = race(session, request)
        advice = diagnose(before).advice
        if advice is None:
            continue
        after = race(session, turned(request, advice))
        speedups = [compare(snapshot).speedup or 0.0 for snapshot in (before, after)]
        expected = advice.values["expected"]
        ratios.append(speedups[1] / expected)
        knob = f"{advice.key} {advice.values.get('length', advice.values.get('tokens', ''))}"
        print(f"| {request.prompt[:32]} | {knob} | {speedups[0]:.2f} | {expected:.2f} "
              f"| {speedups[1]:.2f} | {ratios[-1]:.2f} |", flush=True)  # fmt: skip
    if ratios:
        print(
            f"median {median(ratios):.2f}, {min(ratios):.2f}–{max(ratios):.2f}, n = {len(ratios)}"
        )


if __name__ == "__main__":
    main()
