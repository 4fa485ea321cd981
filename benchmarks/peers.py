"""Our runs beside transformers' own: same weights, prompts and process, in alternating order.

    python benchmarks/peers.py --suite tutorial                five prompts, 200 new tokens
    python benchmarks/peers.py --suite spec-bench --ours-only  60 chats, 128 new tokens

Prints a table and writes it, with every single run, as JSON beside this file. Speedups are over the
fastest normal decoding in any precision, ours or theirs, prompt by prompt; medians and quartiles.
Looping text flatters every drafter, so the share of output tokens that lie in a repeated 4-gram
stands beside them, and the speedup over the prompts where it is below 20 %.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM, LlamaForCausalLM, PreTrainedModel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from specdemo.benchmark import suite
from specdemo.benchmark.results import repeated_share
from specdemo.benchmark.summary import LOOPING_SHARE
from specdemo.benchmark.summary import spread as spread_of
from specdemo.benchmark.tables import spread_text
from specdemo.metrics import predicted_speedup, round_costs, run_metrics
from specdemo.metrics.theory import speedup_at
from specdemo.models.bundled import read_draft
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.conversion import converted_folder
from specdemo.models.loading import (
    LoadedSpec,
    ModelPair,
    available_threads,
    load_pair,
)
from specdemo.session.environment import processor_name
from specdemo.session.lane import Lane
from specdemo.session.race import encode_prompt, run_through, warm_up
from specdemo.session.request import DecodeRequest
from specdemo.settings import read_settings
from specdemo.trace import RunTrace
from specdemo.ui.wording import words


@dataclass(frozen=True)
class Run:
    """One answer by one method."""

    method: str
    prompt: str
    task: str
    tokens_per_second: float
    repeated_share: float
    metrics: dict[str, Any] | None  # of our own runs
    formula: float | None  # the papers' speedup with α, c and v of this run
    textbook: float | None  # the same with v = 1


@dataclass(frozen=True)
class Answered:
    """What a method wrote, in how long; our own runs with their trace."""

    token_ids: list[int]
    seconds: float
    trace: RunTrace | None = None


Method = Callable[[DecodeRequest], Answered]


def requests_of(name: str, temperature: float) -> list[tuple[str, DecodeRequest]]:
    """Requests with their tasks."""
    chosen = suite(name)
    return [
        (
            case.task,
            DecodeRequest(
                case.prompt,
                is_chat=case.is_chat,
                max_new_tokens=chosen.max_new_tokens,
                temperature=temperature,
            ),
        )
        for case in chosen.cases
    ]


def ours(pair: ModelPair, source: str, **changes: Any) -> Method:
    """One of our lanes."""

    def run(request: DecodeRequest) -> Answered:
        torch.set_num_threads(1)
        request = replace(request, precision=pair.spec.precision, **changes)
        lane = Lane(pair, request, encode_prompt(pair, request), source, lambda: False)
        while not lane.is_finished:
            lane.step()
        token_ids = [token_id for token_id in lane.trace.token_ids if token_id is not None]
        return Answered(token_ids, lane.trace.seconds, lane.trace)

    return run


def theirs(model: PreTrainedModel, pair: ModelPair, **options: Any) -> Method:
    """Transformers' generate."""

    def run(request: DecodeRequest) -> Answered:
        torch.set_num_threads(available_threads())
        prompt = encode_prompt(pair, request)
        sampling = {
            "do_sample": request.temperature > 0,
            "temperature": request.temperature or None,
        }
        started = time.perf_counter()
        with torch.inference_mode():
            output = model.generate(
                torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                max_new_tokens=request.max_new_tokens,
                eos_token_id=sorted(pair.tokenizer.end_token_ids),
                pad_token_id=0,
                top_k=0,
                **sampling,
                **options,
            )
        seconds = time.perf_counter() - started
        return Answered(output[0, len(prompt) :].tolist(), seconds)

    return run


def plain_draft(target: PreTrainedModel, num_draft_tokens: int, schedule: str) -> LlamaForCausalLM:
    """The bundled draft as transformers can run it: its layers, without the target's features."""
    config, state, _ = read_draft(SMOLLM2_135M.draft)
    draft = LlamaForCausalLM(config)
    draft.load_state_dict(state, strict=False)
    draft = draft.to(target.dtype).eval()
    draft.model.embed_tokens = target.model.embed_tokens
    draft.lm_head = target.lm_head
    draft.generation_config.num_assistant_tokens = num_draft_tokens
    draft.generation_config.num_assistant_tokens_schedule = schedule
    if schedule == "constant":
        draft.generation_config.assistant_confidence_threshold = 0.0
    return draft


def methods(is_ours_only: bool) -> dict[str, Method]:
    """All ways to answer, by name."""
    settings = read_settings()
    folder = run_through(converted_folder(SMOLLM2_135M.target, settings.cache_folder))
    spec = LoadedSpec(SMOLLM2_135M, "cpu", "bfloat16")
    pair = run_through(load_pair(spec, settings.cache_folder, None))
    warm_up(pair)
    chosen = {
        "ours normal": ours(pair, "none"),
        "ours model, fixed 4": ours(pair, "model", draft_length="fixed", num_draft_tokens=4),
        "ours n-gram, fixed 4": ours(pair, "ngram", draft_length="fixed", num_draft_tokens=4),
        "ours hybrid, fixed 4": ours(pair, "hybrid", draft_length="fixed", num_draft_tokens=4),
        "ours hybrid, fixed 8": ours(pair, "hybrid", draft_length="fixed", num_draft_tokens=8),
        "ours hybrid, fixed 12": ours(pair, "hybrid", draft_length="fixed", num_draft_tokens=12),
        "ours hybrid, heuristic": ours(pair, "hybrid", draft_length="heuristic"),
        "ours hybrid, confidence": ours(pair, "hybrid", draft_length="confidence"),
        "ours hybrid, adaptive": ours(pair, "hybrid", draft_length="adaptive"),
    }
    if is_ours_only:
        kept = (
            "ours normal", "ours model, fixed 4", "ours hybrid, fixed 12", "ours hybrid, adaptive",
        )  # fmt: skip
        return {name: method for name, method in chosen.items() if name in kept}
    precise_spec = replace(spec, precision="float32")
    precise = run_through(load_pair(precise_spec, settings.cache_folder, None))
    warm_up(precise)
    target, target16 = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
        for dtype in (torch.float32, torch.bfloat16)
    )
    return {
        **chosen,
        "ours normal, float32": ours(precise, "none"),
        "transformers normal, float32": theirs(target, pair),
        "transformers normal, bfloat16": theirs(target16, pair),
        "transformers assisted, 4 constant": theirs(
            target, pair, assistant_model=plain_draft(target, 4, "constant")
        ),
        "transformers assisted, default": theirs(
            target, pair, assistant_model=plain_draft(target, 20, "heuristic")
        ),
        "transformers prompt lookup, 5": theirs(target, pair, prompt_lookup_num_tokens=5),
    }


def measure(
    chosen: dict[str, Method], requests: list[tuple[str, DecodeRequest]], repeats: int
) -> Iterator[Run]:
    """Every method on every prompt; the order of the methods is turned round each time."""
    for repeat in range(repeats):
        for index, (task, request) in enumerate(tqdm(requests, disable=None)):
            names = list(chosen) if (repeat + index) % 2 == 0 else list(chosen)[::-1]
            seeded = replace(request, seed=42 + repeat)
            answers = {name: chosen[name](seeded) for name in names}
            normal = answers["ours normal"].trace
            for name, answer in answers.items():
                yield Run(
                    name, request.prompt, task, len(answer.token_ids) / answer.seconds,
                    repeated_share(answer.token_ids),
                    asdict(run_metrics(answer.trace)) if answer.trace else None,
                    *predicted(normal, answer.trace),
                )  # fmt: skip


def predicted(
    normal: RunTrace | None, speculative: RunTrace | None
) -> tuple[float | None, float | None]:
    """The formula for a run, and the textbook's."""
    costs = normal and speculative and round_costs(normal, speculative)
    if not costs:
        return None, None
    length = costs.num_draft_tokens
    alpha, c = costs.acceptance_rate, costs.cost_ratio
    return speedup_at(costs, length), predicted_speedup(alpha, c, 1.0, length)


def spread(values: Sequence[float]) -> str:
    """Median and quartiles."""
    return spread_text(spread_of(values), words("en"))


def table(runs: list[Run]) -> str:
    """Markdown: one row a method, then one row a task for the best of ours."""
    names = list(dict.fromkeys(run.method for run in runs))
    normals = [name for name in names if "normal" in name]
    speeds = {n: median(r.tokens_per_second for r in runs if r.method == n) for n in names}
    best = max(normals, key=speeds.__getitem__)
    base: dict[str, list[float]] = {}
    for run in runs:
        if run.method == best:
            base.setdefault(run.prompt, []).append(run.tokens_per_second)

    def ratios(chosen: list[Run]) -> list[float]:
        return [run.tokens_per_second / median(base[run.prompt]) for run in chosen]

    def share(chosen: list[Run], key: str, form: str) -> str:
        values = [r.metrics[key] for r in chosen if r.metrics and r.metrics[key] is not None]
        return format(mean(values), form) if values else "–"

    lines = [
        f"Speedup over: {best} ({speeds[best]:.1f} tokens/s)",
        "",
        "| method | tokens/s | speedup | where < 20 % repeats | repeated | τ | accepted ÷ tested "
        "| accepted ÷ drafted | outside passes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        own = [run for run in runs if run.method == name]
        fresh = [run for run in own if run.repeated_share < LOOPING_SHARE]
        cells = [
            name,
            spread([run.tokens_per_second for run in own]),
            spread(ratios(own)),
            spread(ratios(fresh)),
            f"{mean(run.repeated_share for run in own):.0%}",
            share(own, "mean_acceptance_length", ".2f"),
            share(own, "acceptance_rate", ".2f"),
            share(own, "draft_acceptance_rate", ".2f"),
            share(own, "overhead_rate", ".1%"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| fixed length | measured ÷ formula | measured ÷ textbook (v = 1) |",
        "|---|---|---|",
    ]
    for name in names:
        own = [run for run in runs if run.method == name and "fixed" in name and run.formula]
        if own:
            over = [[ratio / (getattr(run, kind) or 1.0) for ratio, run in zip(ratios(own), own)]
                    for kind in ("formula", "textbook")]  # fmt: skip
            lines.append(f"| {name} | {spread(over[0])} | {spread(over[1])} |")
    tasks = list(dict.fromkeys(run.task for run in runs))
    if len(tasks) > 1:
        fastest = max((n for n in names if n not in normals), key=speeds.__getitem__)
        lines += ["", f"| task ({fastest}) | speedup | repeated | τ |", "|---|---|---|---|"]
        for task in tasks:
            own = [run for run in runs if (run.method, run.task) == (fastest, task)]
            lines.append(
                f"| {task} | {spread(ratios(own))} | {mean(r.repeated_share for r in own):.0%} "
                f"| {share(own, 'mean_acceptance_length', '.2f')} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=("tutorial", "spec-bench"), default="tutorial")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="of the table's first column")
    parser.add_argument("--max-new-tokens", type=int, help="the suite's own unless set")
    options = parser.parse_args()
    chosen = methods(options.ours_only)
    if options.methods:
        chosen = {name: method for name, method in chosen.items() if name in options.methods}
    requests = requests_of(options.suite, options.temperature)
    if options.max_new_tokens:
        length = options.max_new_tokens
        requests = [(task, replace(r, max_new_tokens=length)) for task, r in requests]
    for method in chosen.values():
        method(replace(requests[0][1], max_new_tokens=8))
    runs = list(measure(chosen, requests, options.repeats))
    print(f"{processor_name()}, {available_threads()} threads, Python {platform.python_version()}")
    print(table(runs))
    name = f"peers-{options.suite}-{options.temperature:g}.json"
    content = {"table": table(runs), "runs": [asdict(run) for run in runs]}
    Path(__file__).with_name(name).write_text(json.dumps(content, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
