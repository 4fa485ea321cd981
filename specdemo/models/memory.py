"""Bytes free and bytes used, of the process or of the device. Knows no model."""

from __future__ import annotations

from pathlib import Path

import psutil
import torch

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def available_bytes(device: str) -> int:
    """Memory that new weights may take."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    return int(psutil.virtual_memory().available)


def reset_peak(device: str) -> None:
    """Start a new peak, where the system allows it."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    elif _CLEAR.exists():
        try:
            _CLEAR.write_text("5")
        except OSError:
            # Containers may forbid it; `peak_bytes` then counts from the start of the process.
            return


def peak_bytes(device: str) -> int | None:
    """The most memory held since the last reset; `None` where it cannot be read."""
    if device == "cuda":
        return int(torch.cuda.max_memory_allocated())
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None
