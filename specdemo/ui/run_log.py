"""What the server's log says of a run. Knows no screen."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict

from specdemo import metrics
from specdemo.session import DecodeRequest
from specdemo.trace import Snapshot

_LOGGER = logging.getLogger(__name__)


def log_run(request: DecodeRequest, snapshot: Snapshot) -> None:
    """One line for each run, as JSON; of the prompt only its length."""
    told = asdict(request) | {"prompt": len(request.prompt), "history": len(request.history)}
    told["system_prompt"] = len(request.system_prompt)
    for name, lane in (("normal", snapshot.normal), ("speculative", snapshot.speculative)):
        run = metrics.run_metrics(lane.trace)
        told[name] = {"tokens": run.num_output_tokens, "seconds": run.seconds,
                      "finish_reason": run.finish_reason}  # fmt: skip
    _LOGGER.info("run %s", json.dumps(told))
