"""The bundled GGUF file, turned once into safetensors in the user's cache. Knows no runner.

A converted folder is complete when its manifest is there, and the manifest is written last, into a
folder that gets its name last: nothing half-written is ever taken for a model.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
import tempfile
import zlib
from collections.abc import Generator
from pathlib import Path

import psutil
import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer

from specdemo.errors import CacheFolderError, ModelLoadError
from specdemo.models.catalog import BundledModelSpec

_MANIFEST = "manifest.json"
_HALF = ".converting-"


def converted_folder(spec: BundledModelSpec, cache_folder: Path) -> Generator[str, None, Path]:
    """The folder with the model as safetensors; converts it if need be, telling each stage."""
    folder = cache_folder / f"{spec.name}-{spec.sha256[:12]}"
    if is_intact(folder):
        return folder
    yield "Checking the bundled model file…"
    check_source(spec)
    try:
        cache_folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(cache_folder)
        prefix = f"{_HALF}{os.getpid()}-"
        with tempfile.TemporaryDirectory(dir=cache_folder, prefix=prefix) as half:
            yield "Unpacking the bundled weights, once, about 30 seconds…"
            convert(spec.path, Path(half))
            write_manifest(Path(half))
            shutil.rmtree(folder, ignore_errors=True)
            Path(half).rename(folder)
            Path(half).mkdir()  # for the temporary folder's own tidying
    except (OSError, SafetensorError) as error:  # the second wraps the first when it writes
        reason = getattr(error, "strerror", None) or str(error).rsplit(": ", 1)[-1]
        raise CacheFolderError(
            f"The converted model could not be written ({reason}); set "
            "SPECDEMO_CACHE to a folder with 600 MB of free space that you may write to."
        ) from error
    return folder


def remove_abandoned(cache_folder: Path) -> None:
    """Remove what conversions left that were ended by force."""
    for folder in cache_folder.glob(f"{_HALF}*-*"):
        process = folder.name.removeprefix(_HALF).split("-")[0]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def check_source(spec: BundledModelSpec) -> None:
    """Raises `ModelLoadError` unless the file is there and is the one that was recorded."""
    if not spec.path.is_file():
        raise ModelLoadError(
            f"The bundled model file {spec.path.name} is missing from assets/models; "
            "clone or download the repository again."
        )
    if hashlib.sha256(spec.path.read_bytes()).hexdigest() != spec.sha256:
        raise ModelLoadError(
            f"The bundled model file {spec.path.name} is damaged (its SHA-256 differs); "
            "clone or download the repository again."
        )


def convert(gguf_file: Path, folder: Path) -> None:
    """Write weights and tokenizer of a GGUF file as a transformers folder in float32."""
    source, name = gguf_file.parent, gguf_file.name
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.float32)
    # The dequantized model still calls itself quantized and would refuse to be saved.
    model.hf_quantizer = None  # type: ignore[assignment]
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=name).save_pretrained(folder)


def checksum(path: Path) -> int:
    """CRC-32 of a file: quick enough to run at every start."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return zlib.crc32(content)


def write_manifest(folder: Path) -> None:
    """Record every file of the folder with its checksum."""
    sums = {path.name: checksum(path) for path in sorted(folder.iterdir())}
    (folder / _MANIFEST).write_text(json.dumps(sums, indent=1))


def is_intact(folder: Path) -> bool:
    """Whether the folder was written to its end and has not changed since."""
    try:
        sums = json.loads((folder / _MANIFEST).read_text())
        return bool(sums) and all(checksum(folder / name) == crc for name, crc in sums.items())
    except (OSError, ValueError, AttributeError):
        # Missing, cut or not ours: it will be made anew.
        return False
