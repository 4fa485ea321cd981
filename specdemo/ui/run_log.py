"""What the server's log says of a run. Knows no screen."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from specdemo import metrics
from specdemo.session import DecodeRequest
from specdemo.trace import Snapshot
from specdemo.ui.visitors import Visitor

_LOGGER = logging.getLogger(__name__)


@contextmanager
def logged(request: DecodeRequest, visitor: Visitor) -> Iterator[None]:
    """One line for the run inside: `finished`, `stopped`, `left`, or its error's name."""
    before, started = visitor.last_snapshot, time.perf_counter()
    outcome = "ended"
    try:
        yield
        outcome = "stopped" if visitor.stop.is_set() else "finished"
    except GeneratorExit:
        outcome = "left"
        raise
    except Exception as error:
        outcome = type(error).__name__
        raise
    finally:
        seconds = time.perf_counter() - started
        drawn = visitor.last_snapshot
        lanes = lanes_told(drawn) if drawn is not None and drawn is not before else {}
        told = {"outcome": outcome, "seconds": seconds, **settings_told(request), **lanes}
        _LOGGER.info("run %s", json.dumps(told))


def settings_told(request: DecodeRequest) -> dict[str, Any]:
    """The request; of its texts only their lengths."""
    told = asdict(request) | {"prompt": len(request.prompt), "history": len(request.history)}
    return told | {"system_prompt": len(request.system_prompt)}


def lanes_told(snapshot: Snapshot) -> dict[str, Any]:
    """What each lane had done when the page was last told."""
    lanes = {"normal": snapshot.normal, "speculative": snapshot.speculative}
    runs = {name: metrics.run_metrics(lane.trace) for name, lane in lanes.items()}
    return {
        name: {
            "tokens": run.num_output_tokens,
            "seconds": run.seconds,
            "finish_reason": run.finish_reason,
        }
        for name, run in runs.items()
    }
