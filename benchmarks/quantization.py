"""The bundled pair in full precision, 8-bit and NF4: memory, speed, acceptance, agreement.

    python benchmarks/quantization.py                       the table of benchmarks/README.md
    python benchmarks/quantization.py --prompts 1 --max-new-tokens 8 --only nf4-both

Quantized runs use the libraries' own modules in both lanes; full precision runs through the
compiled pass. Memory is what the tensors of the pair weigh, quantization state included. Agreement
is the share of tokens up to the first one that differs from full precision's greedy answer.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from specdemo.metrics import RunMetrics, first_difference, run_metrics
from specdemo.models.loading import LoadedSpec, ModelPair, load_pair
from specdemo.session.lane import Lane
from specdemo.session.race import encode_prompt, run_through, warm_up
from specdemo.session.request import DecodeRequest
from specdemo.session.specs import loaded_spec
from specdemo.settings import read_settings
from specdemo.trace import RunTrace
from specdemo.ui.examples import applications

HEADER = (
    "| weights | target, MB | draft, MB | normal, tokens/s | speculative, tokens/s | speedup "
    "| of full precision | accepted ÷ tested | agreement |\n" + "|---" * 9 + "|"
)


@dataclass(frozen=True)
class Row:
    """What one way of rounding came to, prompt by prompt."""

    label: str
    target_bytes: int
    draft_bytes: int
    normal: list[RunTrace]
    speculative: list[RunTrace]


def specs() -> Iterator[LoadedSpec]:
    """Full precision, then every way to round the pair."""
    yield loaded_spec("smollm2-135m", "bfloat16", "auto")
    for precision in ("8bit", "nf4"):
        for quantize in ("both", "target", "draft"):
            for is_double in (False, True)[: 1 + (precision == "nf4")]:
                yield loaded_spec("smollm2-135m", precision, "auto", quantize, is_double)


def key(spec: LoadedSpec) -> str:
    """A name without spaces, for `--only`."""
    parts = [spec.precision, spec.quantize if spec.is_quantized else ""]
    return "-".join(filter(None, [*parts, "double" if spec.double_quantization else ""]))


def requests(options: argparse.Namespace) -> list[DecodeRequest]:
    """The tutorial's prompts, greedy."""
    tutorial = next(a for a in applications() if a.key == "tutorial")
    request = DecodeRequest(
        prompt="?",
        is_chat=False,
        draft_source=options.draft_source,
        draft_length="fixed",
        num_draft_tokens=4,
        max_new_tokens=options.max_new_tokens,
    )
    return [replace(request, prompt=prompt) for prompt in tutorial.prompts[: options.prompts]]


def finished(pair: ModelPair, request: DecodeRequest, source: str) -> RunTrace:
    """One run to its end."""
    lane = Lane(pair, request, encode_prompt(pair, request), source, lambda: False)
    while not lane.is_finished:
        lane.step()
    return lane.trace


def measure(spec: LoadedSpec, asked: list[DecodeRequest]) -> Row:
    """Load, warm up, and run every prompt normally and speculatively, in alternating order."""
    settings = read_settings()
    pair = run_through(load_pair(spec, settings.cache_folder, settings.num_threads))
    warm_up(pair)
    traces: dict[str, list[RunTrace]] = {"none": [], asked[0].draft_source: []}
    for index, request in enumerate(asked):
        sources = list(traces) if index % 2 == 0 else list(traces)[::-1]
        for source in sources:
            traces[source].append(finished(pair, request, source))
    normal, speculative = traces.values()
    sizes = (pair.target_weights_bytes, pair.draft_weights_bytes)
    return Row(key(spec), *sizes, normal, speculative)


def agreement(row: Row, full: Row) -> float:
    """How far the normal answers follow full precision's, as a share of their length."""
    shares = []
    for mine, theirs in zip(row.normal, full.normal):
        length = min(len(mine.token_ids), len(theirs.token_ids))
        parting = first_difference(mine, theirs)
        shares.append((length if parting is None else parting) / length)
    return sum(shares) / len(shares)


def line(row: Row, full: Row) -> str:
    """One row of the table; rates are medians over prompts."""

    def rate(traces: list[RunTrace]) -> float:
        return median(run_metrics(trace).tokens_per_second or 0.0 for trace in traces)

    runs: list[RunMetrics] = [run_metrics(trace) for trace in row.speculative]
    tested = sum(run.num_tested_tokens for run in runs)
    accepted = sum(run.num_accepted_tokens for run in runs)
    normal, fast = rate(row.normal), rate(row.speculative)
    acceptance = f"{accepted / tested:.2f}" if tested else "–"
    return (
        f"| {row.label} | {row.target_bytes / 1e6:.1f} | {row.draft_bytes / 1e6:.1f} "
        f"| {normal:.2f} | {fast:.2f} | {fast / normal:.2f} | {fast / rate(full.speculative):.2f} "
        f"| {acceptance} | {agreement(row, full):.0%} |"
    )


def main() -> None:
    """Print the table row by row, so that nothing measured is lost."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--prompts", type=int, default=5)
    options.add_argument("--max-new-tokens", type=int, default=100)
    options.add_argument("--draft-source", default="hybrid", choices=("model", "hybrid", "ngram"))
    options.add_argument("--only", nargs="*", default=[], metavar="NAME", help="such as nf4-both")
    chosen = options.parse_args()
    full, *others = specs()
    asked = requests(chosen)
    reference = measure(full, asked)
    print(HEADER, line(reference, reference), sep="\n", flush=True)
    for spec in tqdm([s for s in others if not chosen.only or key(s) in chosen.only], disable=None):
        print(line(measure(spec, asked), reference), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
