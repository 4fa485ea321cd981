"""Every chart of a moment, in the order in which the page shows them."""

from __future__ import annotations

from specdemo.charts import acceptance, latency, memory, speed, theory, time_use, timeline
from specdemo.charts.chart import Chart, Lanes, Words
from specdemo.trace import Snapshot


def lanes_of(snapshot: Snapshot) -> Lanes:
    """Both lanes by name."""
    return {"normal": snapshot.normal, "speculative": snapshot.speculative}


def live_charts(lanes: Lanes, words: Words) -> tuple[Chart, ...]:
    """The charts that are worth following while a race runs."""
    return (
        timeline.timeline_chart(lanes, words),
        latency.latency_chart(lanes, words),
        speed.speed_chart(lanes, words),
        memory.memory_chart(lanes, words),
    )


def charts(lanes: Lanes, words: Words) -> tuple[Chart, ...]:
    """Every chart of this moment."""
    return (
        *live_charts(lanes, words),
        memory.caches_chart(lanes, words),
        acceptance.position_chart(lanes, words),
        acceptance.histogram_chart(lanes, words),
        time_use.time_chart(lanes, words),
        theory.theory_chart(lanes, words),
    )
