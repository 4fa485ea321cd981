"""Results as plain values for JSON: what the command line prints and the endpoints return."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from specdemo.metrics import compare, run_metrics, server_metrics
from specdemo.trace import Environment, LaneSnapshot, Snapshot


def finite(value: Any) -> Any:
    """Plain values with null for every number that JSON cannot hold: infinities and NaN."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: finite(item) for key, item in value.items()}
        case list() | tuple():
            return [finite(item) for item in value]
        case _:
            return value


def snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    """Both answers, their numbers and the comparison."""
    return {
        "normal": lane_json(snapshot.normal),
        "speculative": {
            **lane_json(snapshot.speculative),
            "vllm": server_metrics(snapshot.speculative.trace),
        },
        "comparison": asdict(compare(snapshot)),
        "environment": environment_json(snapshot.environment),
    }


def lane_json(lane: LaneSnapshot) -> dict[str, Any]:
    """One run: its answer and its numbers."""
    return {
        "text": lane.text,
        "token_ids": list(lane.trace.token_ids),
        **asdict(run_metrics(lane.trace)),
        **({"server": asdict(lane.server)} if lane.server else {}),
    }


def environment_json(environment: Environment) -> dict[str, Any]:
    """What a run was measured on."""
    return {**asdict(environment), "versions": dict(environment.versions)}
