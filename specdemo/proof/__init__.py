"""Losslessness that anyone can test: many runs against the target's exact distribution."""

from specdemo.proof.faults import FAULTS, SOUND
from specdemo.proof.greedy import Cause, Difference, explain
from specdemo.proof.sampling import (
    NUM_RUNS,
    NUM_TOKENS,
    Proof,
    ProofPlan,
    Session,
    proof_request,
    prove,
)
from specdemo.proof.verdict import SIGNIFICANCE, Fit, Verdict, verdict

__all__ = [
    "FAULTS",
    "NUM_RUNS",
    "NUM_TOKENS",
    "SIGNIFICANCE",
    "SOUND",
    "Cause",
    "Difference",
    "Fit",
    "Proof",
    "ProofPlan",
    "Session",
    "Verdict",
    "explain",
    "proof_request",
    "prove",
    "verdict",
]
