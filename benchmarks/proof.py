"""How often the proof catches each planted fault, and how often it rejects the sound engine.

    python benchmarks/proof.py                     everything, resumable, into proof.json
    python benchmarks/proof.py --seconds 160       as much of it as this takes
    python benchmarks/proof.py --sample            a few tests, nothing written
    python benchmarks/proof.py --report            what is known, with exact 95 % bounds

Each test is the page's own with new draws: runs of the real `generate` on the bundled pair. A fault
is tested with far fewer runs than the page makes, since what is caught with those is caught with
more; so hundreds of tests are affordable. The sound engine is tested with the page's number. How
often the test rejects what truly follows the distribution is also counted over samples drawn from
that distribution itself: a rate below one in a thousand needs more tests than there is time for.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from scipy.stats import beta

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
# Tests of each kind, and the runs of each test. With 300 and no miss, the bound is under 0.01.
NUM_TESTS = {**dict.fromkeys(FAULTS, 310), SOUND: 20}
NUM_RUNS_OF = {SOUND: NUM_RUNS, **dict.fromkeys(FAULTS, 500)}


class Tests:
    """One kind of engine: remembers its passes from test to test."""

    def __init__(self, session: DecodeSession, kind: str, seed: int) -> None:
        self._kind = kind
        request = proof_request(PROMPT, seed=seed)
        self._lent = session.lent(request, Event())
        models = self._lent.__enter__()
        assert models is not None
        self._bench = Bench(models, ProofPlan(request, fault=kind))
        self.exact = self._bench.exact()

    def p_value(self) -> float | None:
        """Of one more test."""
        counts = Counter(self._bench.speculative() for _ in range(NUM_RUNS_OF[self._kind]))
        return goodness_of_fit(counts, self.exact).p_value

    def close(self) -> None:
        self._lent.__exit__(None, None, None)


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


def at_most(count: int, total: int) -> float:
    """The exact one-sided 95 % upper bound of a rate (Clopper and Pearson 1934)."""
    return 1.0 if count == total else float(beta.ppf(0.95, count + 1, total - count))


def measure(known: dict[str, Any], num_tests: dict[str, int], deadline: float) -> None:
    """Add what is missing, until it is there or the time is over."""
    session = DecodeSession(read_settings())
    for kind, wanted in num_tests.items():
        found = known["p_values"].setdefault(kind, [])
        if len(found) >= wanted or time.monotonic() > deadline:
            continue
        # A seed of its own for each piece, so that no draw is counted twice.
        tests = Tests(session, kind, seed=1 + len(found))
        if "true_samples_rejected" not in known:
            known["true_samples_rejected"] = false_alarms(tests.exact, known["true_samples"], 1)
            known["num_outcomes"] = len(tests.exact)
        while len(found) < wanted and time.monotonic() < deadline:
            found.append(tests.p_value())
        tests.close()


def report(known: dict[str, Any]) -> None:
    """Rates with their exact bounds."""
    rejected, total = known.get("true_samples_rejected", 0), known["true_samples"]
    print(f"true samples: {rejected} of {total} rejected, below {at_most(rejected, total):.2g}")
    for kind, values in known["p_values"].items():
        caught, total = sum(map(is_rejected, values)), len(values)
        if not total:
            continue
        bound = (
            f"rejected in fewer than {at_most(caught, total):.2g}"
            if kind == SOUND
            else f"caught in more than {1 - at_most(total - caught, total):.4f}"
        )
        print(
            f"{kind}: {caught} of {total} tests of {NUM_RUNS_OF[kind]:,} runs rejected "
            f"({bound}), p from {min(values):.3g} to {max(values):.3g}"
        )


def main() -> None:
    """Measure, write unless it is a sample, and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sample", action="store_true")
    options.add_argument("--report", action="store_true")
    options.add_argument("--seconds", type=float, default=float("inf"))
    given = options.parse_args()
    known: dict[str, Any] = {
        "prompt": PROMPT,
        "significance": SIGNIFICANCE,
        "true_samples": 1_000 if given.sample else NUM_TRUE_SAMPLES,
        "num_runs": NUM_RUNS_OF,
        "p_values": {},
    }
    if RESULTS.exists() and not given.sample:
        known = json.loads(RESULTS.read_text())
    if not given.report:
        num_tests = dict.fromkeys(NUM_TESTS, 2) if given.sample else NUM_TESTS
        measure(known, num_tests, time.monotonic() + given.seconds)
    if not (given.sample or given.report):
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    report(known)


if __name__ == "__main__":
    main()
