"""Greedy speculative output against greedy normal output and against transformers' generate.

    python benchmarks/exactness.py                 everything, resumable, into exactness.json
    python benchmarks/exactness.py --sample        6 prompts, 1 and 5 draft tokens, nothing written

In float32 a difference is a failure unless a float64 recomputation of its position gives a gap
between the two likeliest tokens below 1e-5; each such tie is listed. In bfloat16 our two lanes are
compared with each other, and a difference is judged as the page judges it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM, PreTrainedModel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.conversion import converted_folder
from specdemo.models.loading import LoadedSpec, ModelPair, load_pair
from specdemo.proof.greedy import explained, parting_of
from specdemo.session.lane import Lane
from specdemo.session.race import encode_prompt, run_through
from specdemo.session.request import DecodeRequest
from specdemo.settings import ASSETS_FOLDER, read_settings
from specdemo.trace import RunTrace

RESULTS = Path(__file__).with_name("exactness.json")
NEW_TOKENS = 64
TIE_GAP = 1e-5


@dataclass(frozen=True)
class Case:
    """One greedy comparison."""

    precision: str
    draft_source: str
    num_draft_tokens: int
    question_id: int

    @property
    def key(self) -> str:
        return "/".join(map(str, asdict(self).values()))


@dataclass(frozen=True)
class Difference:
    """Where two answers part, and how close the two candidates are there in float64."""

    position: int
    expected: int | None
    found: int | None
    top_2_gap: float

    @property
    def verdict(self) -> str:
        return "numerical tie" if self.top_2_gap < TIE_GAP else "defect"


def prompts() -> dict[int, str]:
    """The prompts by question id."""
    lines = (ASSETS_FOLDER / "prompts" / "spec_bench_60.jsonl").read_text().splitlines()
    return {row["question_id"]: row["prompt"] for row in map(json.loads, lines)}


def cases(is_sample: bool) -> Iterator[Case]:
    """What is compared: everything, or a fixed part."""
    ids = list(prompts())[::10] if is_sample else list(prompts())
    counts = (1, 5) if is_sample else (1, 3, 5, 8)
    for precision in ("float32", "bfloat16"):
        for question_id in ids:
            for source in ("model", "ngram"):
                for count in counts:
                    yield Case(precision, source, count, question_id)


def our_run(pair: ModelPair, request: DecodeRequest, source: str) -> RunTrace:
    """One of our runs."""
    lane = Lane(pair, request, encode_prompt(pair, request), source, lambda: False)
    while not lane.is_finished:
        lane.step()
    return lane.trace


def ids_of(trace: RunTrace) -> list[int]:
    return [token_id for token_id in trace.token_ids if token_id is not None]


@torch.inference_mode()
def their_answer(model: PreTrainedModel, pair: ModelPair, prompt: list[int]) -> list[int]:
    """Token ids of transformers' greedy generate, stopping at the same end tokens."""
    output = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        max_new_tokens=NEW_TOKENS,
        do_sample=False,
        eos_token_id=sorted(pair.tokenizer.end_token_ids),
        pad_token_id=0,
    )
    return output[0, len(prompt) :].tolist()


@torch.inference_mode()
def difference(
    exact: PreTrainedModel, prompt: Sequence[int], expected: list[int], found: list[int]
) -> Difference | None:
    """The first difference, judged by a float64 pass over everything before it."""
    if expected == found:
        return None
    length = min(len(expected), len(found))
    position = next((i for i in range(length) if expected[i] != found[i]), length)
    logits = exact(torch.tensor([[*prompt, *expected[:position]]])).logits[0, -1]
    top = logits.topk(2).values
    one, other = ((answer[position : position + 1] or [None])[0] for answer in (expected, found))
    return Difference(position, one, other, (top[0] - top[1]).item())


class Bench:
    """Loads each pair once and keeps the normal answers."""

    def __init__(self) -> None:
        settings = read_settings()
        self.folder = run_through(converted_folder(SMOLLM2_135M.target, settings.cache_folder))
        self.settings = settings

    @cache  # noqa: B019 - one bench a process
    def pair(self, precision: str) -> ModelPair:
        spec = LoadedSpec(SMOLLM2_135M, "cpu", precision)
        return run_through(load_pair(spec, self.settings.cache_folder, self.settings.num_threads))

    @cache  # noqa: B019
    def reference(self, dtype: torch.dtype) -> PreTrainedModel:
        return AutoModelForCausalLM.from_pretrained(self.folder, dtype=dtype).eval()

    def request(self, case: Case) -> DecodeRequest:
        return DecodeRequest(
            prompt=prompts()[case.question_id],
            precision=case.precision,
            draft_length="fixed",
            num_draft_tokens=case.num_draft_tokens,
            max_new_tokens=NEW_TOKENS,
        )

    @cache  # noqa: B019
    def normal_run(self, precision: str, question_id: int) -> RunTrace:
        request = self.request(Case(precision, "none", 1, question_id))
        return our_run(self.pair(precision), request, "none")

    def compare(self, case: Case) -> list[dict[str, object]]:
        """The differences of one case; none is the hope."""
        pair, request = self.pair(case.precision), self.request(case)
        prompt = encode_prompt(pair, request)
        normal_run = self.normal_run(case.precision, case.question_id)
        speculative_run = our_run(pair, request, case.draft_source)
        if case.precision == "bfloat16":
            return self.judged(pair, prompt, normal_run, speculative_run)
        normal, found = ids_of(normal_run), {"speculative": ids_of(speculative_run)}
        if case.precision == "float32" and case.num_draft_tokens == 1:
            found["transformers"] = their_answer(self.reference(torch.float32), pair, prompt)
        result = []
        for name, answer in found.items():
            if answer != normal:
                exact = self.reference(torch.float64)
                parting = difference(exact, prompt, normal, answer)
                assert parting is not None
                result.append({"with": name, **asdict(parting), "verdict": parting.verdict})
        return result

    def judged(
        self, pair: ModelPair, prompt: list[int], normal: RunTrace, speculative: RunTrace
    ) -> list[dict[str, object]]:
        """The first difference in low precision, as the page judges it."""
        parting = parting_of(normal, speculative, prompt)
        if parting is None:
            return []
        capacity = len(prompt) + 2 * NEW_TOKENS
        runners = [p.new_target_runner(capacity) for p in (pair, self.pair("float32"))]
        found = explained(*runners, parting)
        assert found.float32 is not None
        return [
            {
                "with": "speculative",
                "position": parting.position,
                "expected": parting.normal_token_id,
                "found": parting.speculative_token_id,
                "top_2_gap": found.float32.top_2_gap,
                "rounding_gap": found.rounding_gap,
                "verdict": found.cause.value.replace("_", " "),
            }
        ]


def main() -> int:
    """Exit code 1 if any difference is a defect."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sample", action="store_true")
    is_sample = options.parse_args().sample
    done: dict[str, list[dict[str, object]]] = {}
    if RESULTS.exists() and not is_sample:
        done = json.loads(RESULTS.read_text())
    bench = Bench()
    for case in tqdm([c for c in cases(is_sample) if c.key not in done], disable=None):
        done[case.key] = bench.compare(case)
        if not is_sample:
            RESULTS.write_text(json.dumps(done, indent=0))
    return report(done)


def report(done: dict[str, list[dict[str, object]]]) -> int:
    """Print what was compared; returns the exit code."""
    for precision in ("float32", "bfloat16"):
        chosen = {key: found for key, found in done.items() if key.startswith(precision)}
        parted = [(key, d) for key, found in chosen.items() for d in found]
        print(f"{precision}: {len(chosen)} comparisons, {len(parted)} differences")
        for key, parting in parted:
            print(f"  {key}: {parting}")
    defects = sum(d["verdict"] == "defect" for found in done.values() for d in found)
    print(f"{defects} defects")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
