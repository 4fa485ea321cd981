"""Bytes free and bytes used, of the process or of the device. Knows no model."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

import psutil
import torch

# What torch says where the system, not CUDA, gives no more.
_EXHAUSTED = ("out of memory", "not enough memory", "can't allocate memory")
_CGROUP = Path("/sys/fs/cgroup")
_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def available_bytes(device: str) -> int:
    """Memory that new weights may take."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    free = int(psutil.virtual_memory().available)
    allowed = allowed_bytes()
    return free if allowed is None else min(free, allowed)


def allowed_bytes(cgroup: Path = _CGROUP) -> int | None:
    """What a container's limit leaves, if there is one; what the system can drop is not counted."""
    try:
        limit = int((cgroup / "memory.max").read_text())
        used = int((cgroup / "memory.current").read_text())
        told = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
        return max(0, limit - used + int(told.get("inactive_file", 0)))
    except (OSError, ValueError):
        # No such file, or the word "max": no limit.
        return None


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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the error says that the device or the system has no memory left."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _EXHAUSTED)


def free_unused() -> None:
    """Give back what nothing refers to any more, to the system too where its library can."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others have none
        if trim is not None:
            trim(0)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
