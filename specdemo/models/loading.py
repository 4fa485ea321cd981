"""`load_pair`: from a description to two models that can run. Knows no request and no screen."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import torch

from specdemo.errors import InvalidRequestError
from specdemo.models.bundled import load_bundled_pair
from specdemo.models.pair import PRECISIONS, LoadedSpec, ModelPair, SizedRunner
from specdemo.models.pretrained import load_pretrained_pair

__all__ = [
    "PRECISIONS",
    "LoadedSpec",
    "ModelPair",
    "SizedRunner",
    "available_threads",
    "load_pair",
    "resolve_device",
    "resolve_precision",
]

MAX_THREADS = 8


def resolve_device(device: str) -> str:
    """The device that `auto` stands for; raises if the one asked for is not there."""
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if device == "auto":
        return next(name for name, is_present in present.items() if is_present)
    if not present.get(device, False):
        raise InvalidRequestError(f"This machine has no {device} device; choose auto or cpu.")
    return device


def resolve_precision(precision: str, device: str) -> str:
    """The precision that `auto` stands for.

    On a CPU a pass costs what its weights weigh: bfloat16 halves them, and the compiled pass
    computes in float32 either way, so it needs no bfloat16 instructions to be the faster one.
    """
    if precision != "auto":
        return precision
    fits = device == "cpu" or (device == "cuda" and torch.cuda.is_bf16_supported())
    return "bfloat16" if fits else "float32"


def available_threads() -> int:
    """The cores this process may really use."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(cores, cgroup_cores() or cores, MAX_THREADS)


def cgroup_cores(path: Path = Path("/sys/fs/cgroup/cpu.max")) -> int | None:
    """The whole cores that a container's quota allows, if there is one."""
    try:
        quota, period = path.read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        # No such file, or the word "max": no quota.
        return None


def load_pair(
    spec: LoadedSpec, cache_folder: Path, num_threads: int | None
) -> Generator[str, None, ModelPair]:
    """Load both models, telling each stage; raises a `SpecdemoError` that says the way out."""
    threads = num_threads or available_threads()
    torch.set_num_threads(threads)
    if spec.pair.is_bundled:
        return (yield from load_bundled_pair(spec, cache_folder, threads))
    return (yield from load_pretrained_pair(spec, threads))
