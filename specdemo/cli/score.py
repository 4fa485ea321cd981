"""`score`: the tutorial's draft-and-score, beside normal and true speculative decoding."""

from __future__ import annotations

import argparse
from dataclasses import asdict, fields
from typing import Any

from specdemo.cli.console import (
    INTERRUPTED,
    add_command,
    interruptible,
    number,
    print_json,
    say,
)
from specdemo.cli.run import summary
from specdemo.metrics import compare, run_metrics
from specdemo.plain import environment_json, lane_json
from specdemo.scoring import DraftAndScore, draft_and_score
from specdemo.session import DecodeRequest, DecodeSession, ScoredToken
from specdemo.session.request import DEVICES, PRECISION_NAMES
from specdemo.settings import read_settings

_EXAMPLE = """  python -m specdemo score --prompt "Explain photosynthesis." --max-new-tokens 100
  python -m specdemo score --prompt "Machine learning is " --completion --json"""


def add_to(commands: Any) -> None:
    """Add this command."""
    summary = "let the draft write, the target score, and compare with speculative decoding"
    score = add_command(commands, "score", summary, _EXAMPLE, execute)
    defaults = {field.name: field.default for field in fields(DecodeRequest)}
    score.add_argument("--prompt", required=True)
    score.add_argument("--completion", action="store_true", help="continue the prompt, do not chat")
    score.add_argument(
        "--max-new-tokens", type=int, metavar="N", default=defaults["max_new_tokens"]
    )
    score.add_argument("--pair", metavar="NAME", default=defaults["pair"])
    score.add_argument("--precision", choices=PRECISION_NAMES, default=defaults["precision"])
    score.add_argument("--device", choices=DEVICES, default=defaults["device"])


def execute(options: argparse.Namespace) -> int:
    """All three answers, or what there is at the first Ctrl-C."""
    request = DecodeRequest(
        prompt=options.prompt,
        is_chat=not options.completion,
        max_new_tokens=options.max_new_tokens,
        pair=options.pair,
        precision=options.precision,
        device=options.device,
    )
    session = DecodeSession(read_settings())
    for stage in session.load(request.pair, request.precision, request.device):
        say(stage)
    state: DraftAndScore | None = None
    with interruptible() as stop:
        for state in draft_and_score(session, request, stop):  # noqa: B007 - the last one is wanted
            pass
        if state is None:
            return INTERRUPTED
        if options.json:
            print_json(as_json(state))
        else:
            print(as_text(state))
        return INTERRUPTED if stop.is_set() else 0


def as_json(state: DraftAndScore) -> dict[str, Any]:
    """The result of `score --json`; what was not reached is null."""
    scored, score, race = state.scored, state.score, state.race
    return {
        "average_log_likelihood": score and score.average_log_likelihood,
        "answer_average_log_likelihood": score and score.answer_average_log_likelihood,
        "perplexity": score and score.perplexity,
        "answer_perplexity": score and score.answer_perplexity,
        "draft_seconds": state.draft.trace.seconds,
        "score_seconds": scored and scored.score_seconds,
        "num_answer_tokens": score and score.num_answer_tokens,
        "num_changed_ids": scored and scored.num_changed_ids,
        "draft_lacks_features": scored and scored.draft_lacks_features,
        "first_difference": score and score.first_difference,
        "tokens": scored and [asdict(token) for token in scored.tokens],
        "draft": lane_json(state.draft),
        "normal": race and lane_json(race.normal),
        "speculative": race and lane_json(race.speculative),
        "comparison": race and asdict(compare(race)),
        "environment": environment_json(state.environment),
    }


def as_text(state: DraftAndScore) -> str:
    """All three answers, for reading."""
    lines = [
        f"DRAFT, SCORED  {summary(run_metrics(state.draft.trace))}",
        state.draft.text,
        "",
        *_score_lines(state),
    ]
    if state.race is not None:
        for name, lane in (("SPECULATIVE", state.race.speculative), ("NORMAL", state.race.normal)):
            lines += ["", f"{name}  {summary(run_metrics(lane.trace))}", lane.text]
    return "\n".join(lines)


def _score_lines(state: DraftAndScore) -> list[str]:
    score, scored = state.score, state.scored
    if score is None or scored is None:
        return []
    lines = [
        f"average log-likelihood {number(score.average_log_likelihood, '.4f')} (prompt and answer)"
        f" · answer only {number(score.answer_average_log_likelihood, '.4f')} · perplexity "
        f"{number(score.perplexity, '.3f')} · scored in {scored.score_seconds:.3f} s",
        f"{scored.num_changed_ids} token ids changed when the text was tokenized again",
    ]
    if scored.draft_lacks_features:
        lines.append(
            "this draft model reads the target's hidden states in speculative decoding and had to "
            "write without them"
        )
    if score.first_difference is not None:
        answer = [token for token in scored.tokens if token.is_answer]
        lines.append(_difference(score.first_difference, answer[score.first_difference]))
    return lines


def _difference(index: int, token: ScoredToken) -> str:
    return (
        f"from answer token {index + 1} on the target would have written something else: "
        f"{token.best_piece!r} instead of {token.piece!r}"
    )
