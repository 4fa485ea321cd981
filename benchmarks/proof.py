"""How often the proof catches each planted fault, and how often it rejects the sound engine.

    python benchmarks/proof.py                     everything, into proof.json
    python benchmarks/proof.py --sample            2 repeats, nothing written

Each repeat is the page's whole test with new draws: its runs of the real `generate` on the bundled
pair. The test's own false alarms are also counted over many samples drawn from the exact
distribution itself, since a rate under one in a thousand needs more tests than there is time for.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from threading import Event

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from specdemo.cli.verify import PROMPT
from specdemo.proof import FAULTS, NUM_RUNS, SIGNIFICANCE, SOUND, ProofPlan, proof_request
from specdemo.proof.exact import Tokens
from specdemo.proof.sampling import Bench
from specdemo.proof.statistics import goodness_of_fit
from specdemo.session import DecodeSession
from specdemo.settings import read_settings

RESULTS = Path(__file__).with_name("proof.json")
NUM_TRUE_SAMPLES = 20_000


def p_values(session: DecodeSession, fault: str, repeats: int, seed: int) -> list[float | None]:
    """The p-value of each repeat; all share the passes and go on with one generator."""
    request = proof_request(PROMPT, seed=seed)
    with session.lent(request, Event()) as models:
        assert models is not None
        bench = Bench(models, ProofPlan(request, fault=fault))
        exact = bench.exact()
        found = []
        for _ in tqdm(range(repeats), desc=fault, disable=None):
            counts = Counter(bench.speculative() for _ in range(NUM_RUNS))
            found.append(goodness_of_fit(counts, exact).p_value)
        return found


def exact_distribution_of(session: DecodeSession) -> dict[Tokens, float]:
    """What the page's prompt leads to."""
    request = proof_request(PROMPT)
    with session.lent(request, Event()) as models:
        assert models is not None
        return Bench(models, ProofPlan(request)).exact()


def false_alarms(exact: dict[Tokens, float], num_samples: int, seed: int) -> int:
    """How many true samples of the page's size are rejected."""
    outcomes, probs = list(exact), np.array(list(exact.values()))
    samples = np.random.default_rng(seed).multinomial(NUM_RUNS, probs / probs.sum(), num_samples)
    return sum(
        is_rejected(goodness_of_fit(dict(zip(outcomes, sample.tolist())), exact).p_value)
        for sample in samples
    )


def is_rejected(p_value: float | None) -> bool:
    return p_value is not None and p_value < SIGNIFICANCE


def main() -> None:
    """Measure, print, and write unless it is a sample."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sample", action="store_true")
    options.add_argument("--repeats", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    repeats = 2 if given.sample else given.repeats
    session = DecodeSession(read_settings())
    exact = exact_distribution_of(session)
    num_true = NUM_TRUE_SAMPLES // (20 if given.sample else 1)
    result = {
        "prompt": PROMPT,
        "num_runs": NUM_RUNS,
        "significance": SIGNIFICANCE,
        "seed": given.seed,
        "num_outcomes": len(exact),
        "true_samples": num_true,
        "true_samples_rejected": false_alarms(exact, num_true, given.seed),
        "p_values": {
            fault: p_values(session, fault, repeats, given.seed) for fault in (SOUND, *FAULTS)
        },
    }
    print(f"true samples rejected: {result['true_samples_rejected']} of {num_true}")
    for fault, values in result["p_values"].items():
        rejected = sum(map(is_rejected, values))
        smallest, largest = min(values), max(values)
        print(f"{fault}: {rejected} of {repeats} rejected, p from {smallest:.3g} to {largest:.3g}")
    if not given.sample:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
