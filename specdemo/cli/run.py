"""`run`: one prompt, answered twice and compared."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from specdemo.charts.all import lanes_of
from specdemo.charts.memory import memory_text
from specdemo.cli.console import (
    INTERRUPTED,
    add_command,
    interruptible,
    number,
    print_json,
    say,
)
from specdemo.cli.engine import add_engine, on_servers, settings_from
from specdemo.errors import ServerError, SpecdemoError
from specdemo.events import JudgedToken, TokenOutcome
from specdemo.metrics import RunMetrics, compare, run_metrics
from specdemo.plain import snapshot_json
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.session.request import (
    DEVICES,
    DRAFT_LENGTHS,
    DRAFT_SOURCES,
    PRECISION_NAMES,
    QUANTIZE_CHOICES,
)
from specdemo.trace import LaneSnapshot, Snapshot
from specdemo.ui.served import served_sentences
from specdemo.ui.wording import words

_EXAMPLE = """  python -m specdemo run --prompt "Explain photosynthesis." --max-new-tokens 100
  python -m specdemo run --engine vllm --normal-url http://127.0.0.1:8001 \\
      --speculative-url http://127.0.0.1:8002 --prompt "Explain photosynthesis.\""""

# Terminal colours that go with marks, so that neither carries the meaning alone.
_STYLES = {
    TokenOutcome.ACCEPTED: ("\033[32m", "", ""),
    TokenOutcome.REJECTED: ("\033[31;9m", "", "×"),
    TokenOutcome.UNTESTED: ("\033[90;9m", "", ""),
    TokenOutcome.RESAMPLED: ("\033[33;4m", "↳", ""),
    TokenOutcome.BONUS: ("\033[34;4m", "+", ""),
}
_RESET = "\033[0m"


def add_to(commands: Any) -> None:
    """Add this command."""
    summary = "answer one prompt normally and speculatively, and compare"
    run = add_command(commands, "run", summary, _EXAMPLE, execute)
    defaults = {field.name: field.default for field in fields(DecodeRequest)}
    run.add_argument("--prompt", required=True)
    add_engine(run)
    run.add_argument("--draft-source", choices=DRAFT_SOURCES)
    run.add_argument("--draft-length", choices=DRAFT_LENGTHS)
    run.add_argument("--num-draft-tokens", type=int, metavar="N")
    run.add_argument("--temperature", type=float, metavar="T", help="0 is greedy")
    run.add_argument("--top-k", type=int, metavar="K", help="0 is off")
    run.add_argument("--top-p", type=float, metavar="P", help="1 is off")
    run.add_argument("--repetition-penalty", type=float, metavar="R", help="1 is off")
    run.add_argument("--seed", type=int, metavar="S")
    run.add_argument("--max-new-tokens", type=int, metavar="N")
    run.add_argument("--completion", action="store_true", help="continue the prompt, do not chat")
    run.add_argument("--system-prompt", metavar="TEXT")
    run.add_argument(
        "--pair", metavar="NAME", help="of the catalogue, or TARGET,DRAFT as hub ids or folders"
    )
    run.add_argument("--precision", choices=PRECISION_NAMES)
    run.add_argument("--quantize", choices=QUANTIZE_CHOICES, help="which models, in 8bit and nf4")
    run.add_argument(
        "--double-quantization", action="store_true", help="quantize the scales of nf4 too"
    )
    run.add_argument("--device", choices=DEVICES)
    run.add_argument(
        "--strict",
        action="store_true",
        help="compute each token in passes of equal shape in both lanes, so that rounding cannot "
        "part them; the normal lane then takes longer than normal decoding does",
    )
    run.set_defaults(
        **{k: v for k, v in defaults.items() if k in vars(run.parse_args(["--prompt", ""]))}
    )


def request_from(options: argparse.Namespace) -> DecodeRequest:
    """The request that the options describe; raises `InvalidRequestError`."""
    known = {field.name for field in fields(DecodeRequest)}
    given = {name: value for name, value in vars(options).items() if name in known}
    given |= {"is_chat": not options.completion, "order": "one_after_another"}
    return DecodeRequest(**{**given, **on_servers(options)})


def execute(options: argparse.Namespace) -> int:
    """Both runs to their end, or to the first Ctrl-C; what was measured is printed all the same."""
    request = request_from(options)
    session = DecodeSession(settings_from(options))
    snapshot: Snapshot | None = None
    for stage in session.load(
        request.pair,
        request.precision,
        request.device,
        request.quantize,
        request.double_quantization,
    ):
        say(stage)
    failure: SpecdemoError | None = None
    with interruptible() as stop:
        try:
            for snapshot in session.run(request, stop):  # noqa: B007 - the last one is wanted
                pass
        except ServerError as error:
            failure = error  # what had arrived is told all the same
        if snapshot is not None:
            if options.json:
                print_json(snapshot_json(snapshot))
            else:
                print(as_text(snapshot, is_terminal=sys.stdout.isatty()))
    if failure is not None:
        raise failure
    return INTERRUPTED if snapshot is None or stop.is_set() else 0


def coloured(lane: LaneSnapshot, *, is_terminal: bool) -> str:
    """The speculative answer with the fate of every draft token; plain text gets marks only."""
    parts = [
        styled(token, piece, is_terminal=is_terminal)
        for finished, pieces in zip(lane.trace.rounds, lane.pieces)
        for token, piece in unknown(finished.judged, pieces)
    ]
    return "".join(parts)


def styled(token: JudgedToken, piece: str, *, is_terminal: bool) -> str:
    """One token in a terminal: refused ones keep their place but cannot break the line."""
    if token.outcome is TokenOutcome.NORMAL:
        return piece
    colour, before, after = _STYLES[token.outcome]
    shown = piece if token.outcome.is_output else piece.replace("\n", "⏎")
    if is_terminal:
        return f"{colour}{shown}{_RESET}"
    return f"[{before}{shown}{after}]" if not token.outcome.is_output else shown


def unknown(judged: Sequence[JudgedToken], pieces: Sequence[str]) -> list[tuple[JudgedToken, str]]:
    """Tokens with their pieces; drafts that no one here knows are a mark with their number."""
    shown: list[tuple[JudgedToken, str]] = []
    for token, piece in zip(judged, pieces):
        if token.token_id is not None or token.outcome.is_output:
            shown.append((token, piece))
        elif not shown or shown[-1][0] != token:
            count = sum(other == token for other in judged)
            shown.append((token, "◌" if count == 1 else f"◌×{count}"))
    return shown


def as_text(snapshot: Snapshot, *, is_terminal: bool) -> str:
    """Both answers and the comparison, for reading."""
    normal, speculative = (
        run_metrics(snapshot.normal.trace),
        run_metrics(snapshot.speculative.trace),
    )
    comparison = compare(snapshot)
    same = {None: "", True: " · same output", False: " · the outputs differ"}[
        comparison.same_output
    ]
    environment = snapshot.environment
    lines = [
        f"NORMAL       {summary(normal)}",
        snapshot.normal.text,
        "",
        f"SPECULATIVE  {summary(speculative)}",
        coloured(snapshot.speculative, is_terminal=is_terminal),
        "",
        f"speedup {number(comparison.speedup, '.2f')}×{same}",
        *(
            ["strict: no speedup over normal decoding, which computes one row for each token"]
            if snapshot.settings.strict
            else []
        ),
        f"acceptance rate {number(speculative.acceptance_rate, '.0%')} · tokens per target pass "
        f"{number(speculative.mean_acceptance_length, '.2f')} (of passes with a draft "
        f"{number(speculative.drafted_mean_acceptance_length, '.2f')}) · "
        f"overhead {number(speculative.overhead_rate, '.1%')}",
    ]
    if snapshot.best_normal:
        best = snapshot.best_normal
        lines.append(
            f"best normal decoding here: {best.precision}, {best.tokens_per_second:.1f} tokens/s · "
            f"speedup over it {number(comparison.speedup_over_best_normal, '.2f')}×"
        )
    threads = [] if environment.num_threads is None else [f"{environment.num_threads} threads"]
    lines.append(
        " · ".join([environment.processor, environment.device, *threads, environment.precision])
    )
    if snapshot.settings.is_served:
        lines += [memory_text(lanes_of(snapshot), words("en")), *served_sentences(snapshot, "en")]
    return "\n".join(lines)


def summary(metrics: RunMetrics) -> str:
    """One run in a line."""
    speed = number(metrics.tokens_per_second, ".1f")
    first = number(metrics.time_to_first_token_seconds, ".3f")
    return (
        f"{speed} tokens/s · {metrics.seconds:.2f} s · first token {first} s · "
        f"{metrics.num_output_tokens} tokens"
    )
