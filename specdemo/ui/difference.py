"""The first difference of two greedy answers as plain values. Knows no component and no run."""

from __future__ import annotations

from math import isfinite
from typing import Any

from specdemo.proof import Difference


def difference_value(difference: Difference) -> dict[str, Any]:
    """Both candidates, their logits in each shape and precision, and the verdict."""
    found = difference.explained
    parting = found.parting
    rows = [
        ("one", found.one_row),
        ("several", found.several_rows),
        *([("float32", found.float32)] if found.float32 else []),
    ]
    ids = (parting.normal_token_id, parting.speculative_token_id)
    return {
        "cause": found.cause.value,
        "index": parting.position + 1,
        "precision": difference.precision,
        "num_rows": len(parting.drafted) + 1,
        "rounding": found.rounding_gap,
        "behind": _number(found.float32.behind) if found.float32 else None,
        "texts": [None if i is None else difference.texts[i] for i in ids],
        "rows": [
            [name, _number(row.normal_logit), _number(row.speculative_logit), row.top_2_gap]
            for name, row in rows
        ],
    }


def _number(value: float) -> float | None:
    return value if isfinite(value) else None
