"""What a run is measured on. Knows no request."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

import torch

from specdemo.models.loading import ModelPair
from specdemo.trace import Environment


def describe(pair: ModelPair) -> Environment:
    """What the run is measured on."""
    packages = ("torch", "transformers", "numba", "gradio")
    return Environment(
        device=pair.spec.device,
        processor=processor_name(),
        num_threads=pair.num_threads,
        precision=pair.spec.label,
        pair=pair.spec.pair.title,
        versions=(
            ("python", platform.python_version()),
            *((package, version(package)) for package in packages),
        ),
        gpu=torch.cuda.get_device_name() if pair.spec.device == "cuda" else None,
    )


def processor_name(cpu_info: Path = Path("/proc/cpuinfo")) -> str:
    """The processor as the system names it."""
    if cpu_info.exists():
        for line in cpu_info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
