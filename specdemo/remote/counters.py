"""What a server's /metrics say: its counters for all requests, and its caches. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from specdemo.events import ServerSteps

_SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)")
_CACHE_BYTES = re.compile(r'kv_cache_memory_bytes="(\d+)"')
_NAMES = {
    "vllm:spec_decode_num_drafts_total": "num_drafts",
    "vllm:spec_decode_num_draft_tokens_total": "num_draft_tokens",
    "vllm:spec_decode_num_accepted_tokens_total": "num_accepted_tokens",
    "vllm:request_success_total": "num_requests",
}


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters since the server started, over all its engines; `cache_bytes` is reserved.

    `drafts_at_all` tells whether the server has a drafter; `None` if these are not vLLM's metrics.
    """

    values: Mapping[str, float]
    cache_bytes: int | None
    drafts_at_all: bool | None

    def since(self, before: Counters) -> dict[str, float]:
        """How far each counter moved."""
        return {name: value - before.values.get(name, 0.0) for name, value in self.values.items()}


def counters_of(text: str) -> Counters:
    """The counters in Prometheus' text format."""
    values: dict[str, float] = {}
    cache_bytes: int | None = None
    is_vllm = False
    for name, labels, value in _samples(text):
        is_vllm = is_vllm or name.startswith("vllm:")
        if name in _NAMES:
            key = _NAMES[name]
            values[key] = values.get(key, 0.0) + value
        if name == "vllm:cache_config_info" and (found := _CACHE_BYTES.search(labels)):
            # One line for each engine; each has caches of its own.
            cache_bytes = (cache_bytes or 0) + int(found[1])
    return Counters(values, cache_bytes, "num_drafts" in values if is_vllm else None)


def agree(before: Counters | None, after: Counters | None, steps: ServerSteps) -> bool | None:
    """Whether the counters moved by what the server told of one answer.

    `None` where that cannot be known: without counters, or when others were served meanwhile.
    """
    if before is None or after is None or "num_drafts" not in after.values:
        return None
    moved = after.since(before)
    if moved.get("num_requests") != 1:
        return None
    told = {
        "num_drafts": len(steps.drafted),
        "num_draft_tokens": sum(steps.drafted),
        "num_accepted_tokens": sum(steps.accepted),
    }
    return all(moved.get(name) == value for name, value in told.items())


def _samples(text: str) -> Iterator[tuple[str, str, float]]:
    for line in text.splitlines():
        found = _SAMPLE.match(line)
        if found:
            try:
                yield found["name"], found["labels"] or "", float(found["value"])
            except ValueError:
                continue  # a line of another format holds no counter of ours
