"""Numbers from a trace: rates, lengths, speeds, the papers' formulas, and what limits a run.

Pure functions. Knows no model and no figure. `None` means that the run holds nothing to
measure it by.
"""

from specdemo.metrics.diagnosis import Diagnosis, Finding, diagnose
from specdemo.metrics.rounds import (
    PositionCount,
    TimeShares,
    acceptance_by_position,
    accepted_histogram,
    per_token_seconds,
    server_metrics,
    time_shares,
)
from specdemo.metrics.runs import (
    Comparison,
    RunMetrics,
    compare,
    first_difference,
    overhead_rate,
    peak_bytes,
    ratio,
    run_metrics,
    time_per_output_token_seconds,
    time_to_first_token_seconds,
    token_times,
)
from specdemo.metrics.theory import (
    RoundCosts,
    best_length,
    break_even_acceptance_rate,
    expected_tokens,
    predicted_speedup,
    round_costs,
)

__all__ = [
    "Comparison",
    "Diagnosis",
    "Finding",
    "PositionCount",
    "RoundCosts",
    "RunMetrics",
    "TimeShares",
    "acceptance_by_position",
    "accepted_histogram",
    "best_length",
    "break_even_acceptance_rate",
    "compare",
    "diagnose",
    "expected_tokens",
    "first_difference",
    "overhead_rate",
    "peak_bytes",
    "per_token_seconds",
    "predicted_speedup",
    "ratio",
    "round_costs",
    "run_metrics",
    "server_metrics",
    "time_per_output_token_seconds",
    "time_shares",
    "time_to_first_token_seconds",
    "token_times",
]
