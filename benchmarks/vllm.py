"""A real vLLM on this machine's processor beside ours: same target, same plain draft, same prompts.

    python benchmarks/vllm.py --python VENV/bin/python --models FOLDER --part exactness
    python benchmarks/vllm.py --python VENV/bin/python --models FOLDER --part speed
    python benchmarks/vllm.py --report

FOLDER holds `target` and `draft`, as `scripts/export_for_servers.py` writes them; VENV is the
environment that README.md here describes. Servers are started one at a time and ended.

Exactness: greedy float32 answers of vLLM (plain, n-gram, draft model) and of our two lanes, token
for token, and how many drafts each kept. Speed: bfloat16, vLLM's plain and draft model, then ours.
`--only` runs some of the methods; rows are kept in vllm-PART.json beside this file.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.vllm_servers import Served, serving
from specdemo.benchmark import suite
from specdemo.metrics import run_metrics, server_metrics
from specdemo.session import Answer, DecodeRequest, DecodeSession
from specdemo.session.environment import processor_name
from specdemo.settings import Servers, Settings, read_settings
from specdemo.trace import SERVER_DRAFTS, SERVER_PAIR

NUM_DRAFT_TOKENS = 4
PARTS = {"exactness": ("float32", 64), "speed": ("bfloat16", 64)}
SERVER_METHODS = {"vllm plain": "plain", "vllm n-gram": "ngram", "vllm draft": "draft_model"}
OUR_METHODS = {"ours normal": "none", "ours n-gram": "ngram", "ours draft": "model"}
BUNDLED = "ours bundled hybrid"


def requests(num_prompts: int, max_new_tokens: int) -> list[DecodeRequest]:
    """The tutorial's prompts, then chats of Spec-Bench, greedy."""
    every = 60 // max(1, num_prompts - 5)
    cases = [*suite("tutorial").cases, *suite("spec-bench").cases[::every]][:num_prompts]
    return [
        DecodeRequest(case.prompt, is_chat=case.is_chat, max_new_tokens=max_new_tokens)
        for case in cases
    ]


def answers_of(
    method: str, session: DecodeSession, asked: list[DecodeRequest], **changes: Any
) -> Iterator[dict[str, Any]]:
    """Each prompt answered alone, as rows."""
    for request in asked:
        *_, last = session.answer(replace(request, **changes), Event())
        yield row_of(method, request, last)


def row_of(method: str, request: DecodeRequest, answer: Answer) -> dict[str, Any]:
    """What is kept of an answer."""
    trace, run = answer.lane.trace, run_metrics(answer.lane.trace)
    steps = server_metrics(trace)
    server = answer.lane.server
    return {
        "method": method,
        "prompt": request.prompt,
        "token_ids": trace.token_ids,
        "seconds": run.seconds,
        "first_token_seconds": run.time_to_first_token_seconds,
        "tokens_per_second": run.tokens_per_second,
        "tau": run.mean_acceptance_length,
        "drafted_tau": run.drafted_mean_acceptance_length,
        "per_step_drafted": steps["per_step_drafted"],
        "per_step_accepted": steps["per_step_accepted"],
        "fates": server and server.fates.value,
        "counters_agree": server and server.counters_agree,
    }


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every chosen method on every prompt."""
    dtype, max_new_tokens = PARTS[options.part]
    asked = requests(options.prompts, max_new_tokens)
    settings = read_settings()
    for method in [*SERVER_METHODS, *OUR_METHODS, BUNDLED]:
        if options.only and method not in options.only:
            continue
        if method in SERVER_METHODS:
            yield from served(method, dtype, asked, options, settings)
            continue
        session = DecodeSession(settings)
        pair = f"{options.models / 'target'},{options.models / 'draft'}"
        changes: dict[str, Any] = {"draft_source": "hybrid", "precision": dtype}
        if method != BUNDLED:
            changes |= {
                "pair": pair, "draft_source": OUR_METHODS[method], "draft_length": "fixed",
                "num_draft_tokens": NUM_DRAFT_TOKENS,
            }  # fmt: skip
        for _ in session.load(changes.get("pair", "smollm2-135m"), dtype):
            pass
        yield from answers_of(method, session, asked, **changes)


def served(
    method: str,
    dtype: str,
    asked: list[DecodeRequest],
    options: argparse.Namespace,
    settings: Settings,
) -> Iterator[dict[str, Any]]:
    """A server of its own for a method, started and ended here."""
    kind = SERVER_METHODS[method]
    server = Served(
        options.python, options.models / "target", options.models / "draft", method=kind,
        dtype=dtype, num_draft_tokens=NUM_DRAFT_TOKENS, port=options.port,
    )  # fmt: skip
    with serving(server, options.models / f"vllm-{kind}.log") as url:
        session = DecodeSession(replace(settings, servers=Servers(url, url)))
        changes = {
            "pair": SERVER_PAIR,
            "draft_source": "none" if kind == "plain" else SERVER_DRAFTS,
        }
        for _ in answers_of(method, session, [replace(asked[0], max_new_tokens=16)], **changes):
            pass  # no measured answer pays a first-time cost
        yield from answers_of(method, session, asked, **changes)


def exactness_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Answers beside our normal ones, and the drafts that each method kept."""
    base = {row["prompt"]: row["token_ids"] for row in rows if row["method"] == "ours normal"}
    yield (
        "| float32, greedy | same as ours | drafted | kept | kept ÷ drafted | "
        "τ of drafted passes only |"
    )
    yield "|---|---|---|---|---|---|"
    for method, own in by_method(rows):
        same = sum(row["token_ids"] == base.get(row["prompt"]) for row in own)
        drafted, kept = totals(own)
        drafted_tau = [row["drafted_tau"] for row in own if row["drafted_tau"]]
        yield (
            f"| {method} | {same}/{len(own)} | {drafted or '–'} | {kept if drafted else '–'} | "
            f"{share(own)} | {mean(drafted_tau)} |"
        )


def speed_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Tokens per second, and speedups over the same engine's normal decoding, prompt by prompt."""
    yield "| bfloat16, greedy | tokens/s | first token, s | speedup over its own normal | τ |"
    yield "|---|---|---|---|---|"
    rates = {(row["method"], row["prompt"]): row["tokens_per_second"] for row in rows}
    for method, own in by_method(rows):
        normal = "vllm plain" if method in SERVER_METHODS else "ours normal"
        pairs = [(row, rates.get((normal, row["prompt"]))) for row in own]
        ratios = [row["tokens_per_second"] / base for row, base in pairs if base]
        yield (
            f"| {method} | {median(row['tokens_per_second'] for row in own):.1f} | "
            f"{median(row['first_token_seconds'] for row in own):.3f} | "
            f"{median(ratios):.2f} | {mean(row['tau'] for row in own if row['tau'])} |"
        )


def by_method(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The rows of each method, in the methods' order."""
    for method in [*SERVER_METHODS, *OUR_METHODS, BUNDLED]:
        own = [row for row in rows if row["method"] == method]
        if own:
            yield method, own


def totals(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """Drafted and kept tokens."""
    return tuple(
        sum(sum(row[f"per_step_{kind}"]) for row in rows) for kind in ("drafted", "accepted")
    )


def share(rows: list[dict[str, Any]]) -> str:
    """Kept ÷ drafted with its standard error, steps taken as independent."""
    steps = [
        (drafted, accepted)
        for row in rows
        for drafted, accepted in zip(row["per_step_drafted"], row["per_step_accepted"])
    ]
    drafted, kept = totals(rows)
    if not drafted:
        return "–"
    rate = kept / drafted
    spread = sum((accepted - rate * size) ** 2 for size, accepted in steps)
    return f"{rate:.3f} ± {math.sqrt(spread) / drafted:.3f}"


def results_file(part: str) -> Path:
    """Where a part's rows are kept."""
    return Path(__file__).with_name(f"vllm-{part}.json")


def mean(values: Any) -> str:
    """The mean, if there is anything to average."""
    known = list(values)
    return f"{sum(known) / len(known):.2f}" if known else "–"


def main() -> None:
    """Measure one part and add it to the results; or report all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--part", choices=tuple(PARTS))
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--only", nargs="+", metavar="METHOD")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        path = results_file(options.part)
        rows = json.loads(path.read_text()) if path.exists() else []
        for row in measured(options):
            key = (row["method"], row["prompt"])
            rows = [old for old in rows if (old["method"], old["prompt"]) != key] + [row]
            path.write_text(json.dumps(rows, ensure_ascii=False))
    print(f"{processor_name()}, Python {platform.python_version()}")
    for part, table in (("exactness", exactness_table), ("speed", speed_table)):
        if results_file(part).exists():
            print("\n".join(["", *table(json.loads(results_file(part).read_text()))]))


if __name__ == "__main__":
    main()
