"""A model's weights as transformers modules on their device. Knows no pair beside it and no hub."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING
from transformers.utils.logging import disable_progress_bar

from specdemo.errors import ModelLoadError, NotEnoughMemoryError, UnsupportedCacheError
from specdemo.models.checkpoint import Source
from specdemo.models.footprint import planned_bytes
from specdemo.models.memory import is_out_of_memory
from specdemo.models.pair import LoadedSpec, SizedRunner
from specdemo.models.quantization import Quantization, config_of
from specdemo.models.runner import HFModelRunner
from specdemo.models.tokenization import Tokenizer

# Loading is told stage by stage; bars would break a terminal's lines.
disable_progress_bar()  # type: ignore[no-untyped-call]

NewRunner = Callable[[int], SizedRunner]


@dataclass(frozen=True, slots=True)
class Part:
    """One model of a pair before its weights are there."""

    role: str
    source: Source
    config: PretrainedConfig
    skeleton: nn.Module
    tokenizer: Tokenizer


def check_rollback(config: PretrainedConfig, title: str) -> None:
    """Raises unless the model is a decoder whose cache forgets refused tokens."""
    kind = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    if kind is None:
        raise ModelLoadError(
            f"{title} is no model that continues text ({config.model_type}); choose a causal "
            "language model."
        )
    if getattr(kind, "_is_stateful", False):
        raise UnsupportedCacheError(
            f"The cache of {title} cannot be rolled back ({config.model_type} keeps a running "
            "state), so it cannot decode speculatively; choose a model with ordinary attention."
        )


def module_runner(
    model: PreTrainedModel, vocab_size: int, num_threads: int, **options: Any
) -> NewRunner:
    """Makes runners that use torch's threads."""

    def new_runner(capacity: int) -> SizedRunner:
        torch.set_num_threads(num_threads)
        return HFModelRunner(model, vocab_size, **options)

    return new_runner


def load_model(
    part: Part, folder: Path, spec: LoadedSpec, quantization: Quantization | None
) -> PreTrainedModel:
    """The weights on their device, rounded if asked for; refuses incomplete files."""
    options: dict[str, Any] = {}
    if quantization:
        options["quantization_config"] = config_of(quantization, spec.device, part.skeleton)
    if getattr(part.config.get_text_config(), "attn_logit_softcapping", None):
        options["attn_implementation"] = "eager"  # the others leave the capping out
    with loading_errors(part.source.title):
        model, report = cast(Any, AutoModelForCausalLM).from_pretrained(
            folder,
            dtype=spec.dtype,
            device_map=placement(part, spec, quantization),
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **gguf_option(part.source),
            **options,
        )
    if missing := sorted(report["missing_keys"]):
        raise ModelLoadError(
            f"{part.source.title} is incomplete: {len(missing)} of its weights are missing, "
            f"{missing[0]} for one; download it again."
        )
    check_placement(model, spec)
    return cast(PreTrainedModel, model.eval())


def placement(part: Part, spec: LoadedSpec, quantization: Quantization | None) -> Any:
    """One device, or all GPUs for a model that none of them holds alone."""
    if spec.device == "cuda" and torch.cuda.device_count() > 1:
        needed = planned_bytes(part.skeleton, spec.dtype, quantization, spec.device)
        if needed > torch.cuda.mem_get_info(0)[0]:
            return "auto"
    return {"": spec.device}


def check_placement(model: PreTrainedModel, spec: LoadedSpec) -> None:
    """Raises if parts of a GPU's model were put elsewhere, where each pass would crawl."""
    places = set(map(str, (getattr(model, "hf_device_map", None) or {}).values()))
    if spec.device == "cuda" and places & {"cpu", "disk"}:
        raise NotEnoughMemoryError(
            f"{spec.pair.title} in {spec.label} does not fit into the free GPU memory; choose a "
            "lower precision or a smaller pair."
        )


class loading_errors:
    """Turns what the libraries raise about a model into one sentence of ours."""

    def __init__(self, title: str) -> None:
        self._title = title

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and is_out_of_memory(error):
            return  # nothing is wrong with the model
        if isinstance(error, SafetensorError):
            raise ModelLoadError(
                f"A weight file of {self._title} is cut or damaged; delete it and download it "
                "again."
            ) from error
        if isinstance(error, ValueError) and "trust_remote_code" in str(error):
            raise ModelLoadError(
                f"{self._title} needs code of its own, which is never run here; choose a model "
                "that transformers knows."
            ) from error
        if isinstance(error, (OSError, ValueError, KeyError, ImportError, RuntimeError)):
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ModelLoadError(
                f"{self._title} could not be loaded ({reason[:200].rstrip('.')}); check that it is "
                "a complete causal language model."
            ) from error


def gguf_option(source: Source) -> dict[str, str]:
    """What `from_pretrained` wants to hear about a GGUF file."""
    return {"gguf_file": source.gguf_file} if source.gguf_file else {}


def end_token_ids(config: PretrainedConfig, folder: Path | None = None) -> list[int]:
    """The end tokens of configuration and generation settings; some have one, some a list."""
    found = [config.eos_token_id, getattr(config.get_text_config(), "eos_token_id", None)]
    settings = folder / "generation_config.json" if folder else None
    if settings and settings.exists():
        found.append(json.loads(settings.read_text()).get("eos_token_id"))
    ids: set[int] = set()
    for value in found:
        ids.update(value if isinstance(value, (list, tuple)) else [] if value is None else [value])
    return sorted(ids)
