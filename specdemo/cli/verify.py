"""`verify`: does speculative decoding follow the target's distribution? Tested, not claimed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, fields
from threading import Event
from typing import Any

from specdemo.cli.console import (
    INTERRUPTED,
    add_command,
    interruptible,
    number,
    print_json,
    say,
)
from specdemo.plain import environment_json
from specdemo.proof import (
    FAULTS,
    NUM_RUNS,
    SIGNIFICANCE,
    SOUND,
    Fit,
    Proof,
    ProofPlan,
    Verdict,
    proof_request,
    prove,
    verdict,
)
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.session.request import DEVICES, PRECISION_NAMES
from specdemo.settings import read_settings

_EXAMPLE = """  python -m specdemo verify
  python -m specdemo verify --break-it wrong_bonus_row --json"""
PROMPT = "Give me a random word."
_SAY_EVERY = 2_000
_VERDICTS = {
    True: "REJECTED: this lane does not follow the target's distribution",
    False: "not rejected",
    None: "nothing to test: the target allows a single outcome",
}


def add_to(commands: Any) -> None:
    """Add this command."""
    summary = "test the speculative output against the target's exact distribution"
    options = add_command(commands, "verify", summary, _EXAMPLE, execute)
    defaults = {field.name: field.default for field in fields(DecodeRequest)}
    options.add_argument("--prompt", default=PROMPT)
    options.add_argument(
        "--completion", action="store_true", help="continue the prompt, do not chat"
    )
    options.add_argument("--num-runs", type=int, metavar="N", default=NUM_RUNS, help="of each lane")
    options.add_argument("--seed", type=int, metavar="S", default=defaults["seed"])
    options.add_argument(
        "--break-it",
        choices=(SOUND, *FAULTS),
        default=SOUND,
        help="plant a known fault, to see the test catch it",
    )
    options.add_argument("--pair", metavar="NAME", default=defaults["pair"])
    options.add_argument("--precision", choices=PRECISION_NAMES, default=defaults["precision"])
    options.add_argument("--device", choices=DEVICES, default=defaults["device"])


def execute(options: argparse.Namespace) -> int:
    """The whole test, or what was counted until the first Ctrl-C; 0 whatever the test says."""
    request = proof_request(
        options.prompt,
        is_chat=not options.completion,
        seed=options.seed,
        pair=options.pair,
        precision=options.precision,
        device=options.device,
    )
    plan = ProofPlan(request, options.num_runs, options.break_it)
    session = DecodeSession(read_settings())
    for stage in session.load(request.pair, request.precision, request.device):
        say(stage)
    with interruptible() as stop:
        proof = counted(session, plan, stop)
        if proof is None:
            return INTERRUPTED
        found = verdict(proof)
        if options.json:
            print_json(as_json(proof, found))
        else:
            print(as_text(proof, found))
        return INTERRUPTED if stop.is_set() else 0


def counted(session: DecodeSession, plan: ProofPlan, stop: Event) -> Proof | None:
    """The last state of the proof, telling of progress."""
    proof: Proof | None = None
    for proof in prove(session, plan, stop):
        if proof.num_runs % _SAY_EVERY == 0:
            say(f"{proof.num_runs:,} of {plan.num_runs:,} runs of each lane")
    return proof


def as_json(proof: Proof, found: Verdict) -> dict[str, Any]:
    """The result of `verify --json`; each outcome is its token ids, separated by spaces."""
    request = proof.plan.request
    return {
        "prompt": request.prompt,
        "num_runs": proof.num_runs,
        "num_planned_runs": proof.plan.num_runs,
        "seed": request.seed,
        "fault": proof.plan.fault,
        "temperature": request.temperature,
        "top_k": request.top_k,
        "top_p": request.top_p,
        "num_draft_tokens": request.num_draft_tokens,
        "significance": SIGNIFICANCE,
        "num_passes": proof.num_passes,
        "seconds": proof.seconds,
        "exact": _keyed(proof.exact),
        "speculative": {**_fit_json(found.speculative), "counts": _keyed(proof.speculative)},
        "normal": {**_fit_json(found.normal), "counts": _keyed(proof.normal)},
        "environment": environment_json(proof.environment),
    }


def as_text(proof: Proof, found: Verdict) -> str:
    """The result, for reading."""
    request = proof.plan.request
    planted = "" if proof.plan.fault == SOUND else f" · planted fault: {proof.plan.fault}"
    return "\n".join(
        [
            f"{proof.num_runs:,} runs of each lane · first {request.max_new_tokens} tokens · top-k "
            f"{request.top_k}, temperature {request.temperature}, top-p {request.top_p} · seed "
            f"{request.seed}{planted}",
            f"{len(proof.exact)} outcomes that the target allows, their probabilities from its own "
            "rows",
            "",
            _line("SPECULATIVE", found.speculative),
            _line("NORMAL", found.normal),
            "",
            f"A lane is rejected below p = {SIGNIFICANCE:g}. Every run is a real one; only its "
            f"forward passes and warped rows are remembered: {proof.num_passes:,} passes were "
            f"computed, {proof.seconds:.1f} s in all.",
        ]
    )


def _line(name: str, fit: Fit) -> str:
    joint, distance = fit.joint, fit.distance
    return (
        f"{name:<11}  p = {number(joint.p_value, '.3g')} · χ² {joint.statistic:.1f} at "
        f"{joint.degrees_of_freedom} degrees of freedom · total variation {distance.value:.4f} "
        f"(by chance {distance.low:.4f}–{distance.high:.4f}) · {_VERDICTS[fit.is_rejected]}"
    )


def _fit_json(fit: Fit) -> dict[str, Any]:
    return {**asdict(fit), "is_rejected": fit.is_rejected}


def _keyed(amounts: Mapping[tuple[int, ...], float]) -> dict[str, float]:
    return {" ".join(map(str, tokens)): amount for tokens, amount in amounts.items()}
