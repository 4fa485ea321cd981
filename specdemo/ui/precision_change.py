"""This run beside the last one in another precision. Knows no component and no formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from specdemo import metrics
from specdemo.trace import Snapshot
from specdemo.ui.json_view import encode

_QUANTIZED = ("8bit", "nf4")


@dataclass(frozen=True, slots=True)
class PrecisionRun:
    """What one run measured in its precision; bytes are those of the speculative lane."""

    pair: str
    precision: str
    prompt: str
    memory_bytes: int | None
    normal: float | None
    speculative: float | None
    acceptance_rate: float | None

    @property
    def is_quantized(self) -> bool:
        """Whether weights were rounded on loading."""
        return self.precision.startswith(_QUANTIZED)


def precision_run(prompt: str, snapshot: Snapshot) -> PrecisionRun:
    """The numbers of a run that a change of precision may move."""
    fast = metrics.run_metrics(snapshot.speculative.trace)
    memory = snapshot.speculative.memory
    return PrecisionRun(
        pair=snapshot.environment.pair,
        precision=snapshot.environment.precision,
        prompt=prompt,
        memory_bytes=memory[-1].total_bytes if memory else None,
        normal=metrics.run_metrics(snapshot.normal.trace).tokens_per_second,
        speculative=fast.tokens_per_second,
        acceptance_rate=fast.acceptance_rate,
    )


def compared(earlier: Sequence[PrecisionRun], now: PrecisionRun) -> tuple[PrecisionRun, ...]:
    """The latest run of the same pair in another precision, then this one."""
    others = [run for run in earlier if run.pair == now.pair and run.precision != now.precision]
    return (*others[-1:], now)


def precisions_value(runs: Sequence[PrecisionRun]) -> str:
    """The component's value: both rows, the verdict's word and what fills it in."""
    word, values = verdict(runs)
    is_other = len({run.prompt for run in runs}) > 1
    rows = [asdict(run) for run in runs]
    return encode({"rows": rows, "word": word, "values": values, "other_prompt": is_other})


def verdict(runs: Sequence[PrecisionRun]) -> tuple[str, dict[str, float | str]]:
    """Whether rounding the weights made the speculative run faster; empty where nobody can tell."""
    quantized = [run for run in runs if run.is_quantized]
    full = [run for run in runs if not run.is_quantized]
    if len(quantized) != 1 or len(full) != 1:
        return "", {}
    fast, other = quantized[0].speculative, full[0].speculative
    if fast is None or other is None:
        return "", {}
    word = "precision_faster" if fast > other else "precision_not_faster"
    return word, {"precision": quantized[0].precision, "rate": fast, "other": other}
