"""Pairs from the hub or from folders, as transformers modules or through the compiled pass.

Knows no request. Never runs code that comes with a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from specdemo.errors import (
    ModelLoadError,
    NotEnoughMemoryError,
    PairMismatchError,
    UnsupportedCacheError,
)
from specdemo.models import compiled
from specdemo.models.catalog import ModelSpec
from specdemo.models.checkpoint import Source, fetch_small_files, fetch_weights, locate
from specdemo.models.compiled import CompiledRunner, Threads, compile_weights
from specdemo.models.footprint import (
    Plan,
    cache_bytes_per_token,
    check_fits,
    planned_bytes,
    skeleton_of,
)
from specdemo.models.pair import LoadedSpec, ModelPair, SizedRunner
from specdemo.models.quantization import Quantization, config_of, resident_bytes
from specdemo.models.runner import HFModelRunner
from specdemo.models.tokenization import Tokenizer
from specdemo.models.vocabulary import shared_vocab_size

# A long prompt and the longest answer, which both lanes hold.
PLANNED_POSITIONS = 2 * 2048
NewRunner = Callable[[int], SizedRunner]


@dataclass(frozen=True, slots=True)
class Part:
    """One model of a pair before its weights are there."""

    role: str
    source: Source
    config: PretrainedConfig
    skeleton: nn.Module
    tokenizer: Tokenizer


def load_pretrained_pair(spec: LoadedSpec, num_threads: int) -> Generator[str, None, ModelPair]:
    """Both models, checked before anything large is read or downloaded."""
    models = {"target": spec.pair.target, "draft": spec.pair.draft}
    parts = []
    for role, model in models.items():
        if model:
            yield f"Looking at {model.name}…"
            parts.append(describe_part(role, model))
    vocab_size = shared_width(parts)
    check_fits(plan_of(spec, parts), spec.device)
    folders = []
    for part in parts:
        folders.append((yield from fetch_weights(part.source)))
    if is_compiled(spec, parts, vocab_size):
        yield "Laying the weights out for the compiled pass…"
        runners, sizes = compiled_runners(spec, parts, folders, num_threads)
    else:
        yield f"Loading {spec.pair.title} ({spec.label})…"
        runners, sizes = module_runners(spec, parts, folders, num_threads, vocab_size)
    target = parts[0]
    return ModelPair(
        spec=spec,
        tokenizer=target.tokenizer,
        vocab_size=vocab_size,
        context_length=int(target.config.get_text_config().max_position_embeddings),
        num_threads=num_threads,
        target_weights_bytes=sizes[0],
        draft_weights_bytes=sum(sizes[1:]),
        new_target_runner=runners[0],
        new_draft_runner=runners[1] if len(runners) > 1 else None,
    )


def describe_part(role: str, model: ModelSpec) -> Part:
    """Configuration and tokenizer, which are small; refuses what cannot be raced."""
    source = locate(model.source)
    # A GGUF file holds its configuration and tokenizer, so it comes whole.
    folder = run_out(fetch_weights(source)) if source.gguf_file else fetch_small_files(source)
    with loading_errors(source.title):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, **gguf_option(source))
        check_rollback(config, source.title)
        ends = end_token_ids(config, folder)
        tokenizer = Tokenizer.from_folder(folder, ends, gguf_file=source.gguf_file)
        return Part(role, source, config, skeleton_of(config), tokenizer)


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


def shared_width(parts: list[Part]) -> int:
    """How many token ids both models know, heads and vocabularies considered."""
    target, *drafts = parts
    widths = [part.config.get_text_config().vocab_size for part in parts]
    vocabulary = target.tokenizer.vocabulary
    sizes = [
        shared_vocab_size(
            vocabulary,
            draft.tokenizer.vocabulary,
            names=(target.source.title, draft.source.title),
        )
        for draft in drafts
    ] or [max(vocabulary.values()) + 1]
    width = min(*widths, *sizes)
    if not all(token_id < width for token_id in target.tokenizer.end_token_ids):
        raise PairMismatchError(
            f"{target.source.title} ends its answers with a token that {drafts[0].source.title} "
            "does not have; choose a draft of the same family, or leave the draft out."
        )
    return width


def plan_of(spec: LoadedSpec, parts: list[Part]) -> Plan:
    """The bytes that the pair will take."""
    weights = {
        part.role: planned_bytes(part.skeleton, spec.dtype, spec.quantization_of(part.role))
        for part in parts
    }
    per_token = sum(cache_bytes_per_token(part.config, spec.dtype) for part in parts)
    per_token += cache_bytes_per_token(parts[0].config, spec.dtype)  # the normal lane's
    context = int(parts[0].config.get_text_config().max_position_embeddings)
    return Plan(
        spec.pair.title,
        spec.label,
        weights["target"],
        weights.get("draft", 0),
        per_token * min(PLANNED_POSITIONS, context),
    )


def is_compiled(spec: LoadedSpec, parts: list[Part], vocab_size: int) -> bool:
    """Whether the compiled pass takes all models of the pair."""
    return (
        spec.device == "cpu"
        and not spec.is_quantized
        and all(
            compiled.supports(part.config)
            and not part.source.gguf_file
            and part.config.vocab_size == vocab_size
            for part in parts
        )
    )


def compiled_runners(
    spec: LoadedSpec, parts: list[Part], folders: list[Path], num_threads: int
) -> tuple[list[NewRunner], list[int]]:
    """Runners of the compiled pass, and the bytes of their weights."""
    threads = Threads(num_threads)
    runners: list[NewRunner] = []
    sizes = []
    for part, folder in zip(parts, folders):
        with loading_errors(part.source.title):
            files = [load_file(folder / name) for name in part.source.weights]
            state = {name: tensor for file in files for name, tensor in file.items()}
            weights = compile_weights(state, part.config, spec.dtype)  # type: ignore[arg-type]
        runners.append(compiled_runner(weights, threads))
        sizes.append(weights.num_bytes)
    return runners, sizes


def compiled_runner(weights: compiled.CompiledWeights, threads: Threads) -> NewRunner:
    """Makes runners; the pass brings its own threads, beside which torch's would spin."""

    def new_runner(capacity: int) -> SizedRunner:
        torch.set_num_threads(1)
        return CompiledRunner(weights, capacity, threads)

    new_runner(8).forward([0], 1)
    return new_runner


def module_runners(
    spec: LoadedSpec,
    parts: list[Part],
    folders: list[Path],
    num_threads: int,
    vocab_size: int,
) -> tuple[list[NewRunner], list[int]]:
    """Runners of transformers modules, and the bytes really held."""
    runners: list[NewRunner] = []
    sizes = []
    for part, folder in zip(parts, folders):
        quantization = spec.quantization_of(part.role)
        model = load_model(part, folder, spec, quantization)
        new_runner = module_runner(model, vocab_size, num_threads)
        # The first pass may repack quantized weights: count what is there after it.
        new_runner(8).forward([0], 1)
        runners.append(new_runner)
        sizes.append(resident_bytes(model))
    return runners, sizes


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
        model, report = AutoModelForCausalLM.from_pretrained(
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
    return model.eval()  # type: ignore[no-any-return]


def placement(part: Part, spec: LoadedSpec, quantization: Quantization | None) -> Any:
    """One device, or all GPUs for a model that none of them holds alone."""
    if spec.device == "cuda" and torch.cuda.device_count() > 1:
        needed = planned_bytes(part.skeleton, spec.dtype, quantization)
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


def run_out(stages: Generator[str, None, Path]) -> Path:
    """A download to its end, without telling how far it is."""
    while True:
        try:
            next(stages)
        except StopIteration as finished:
            return Path(finished.value)
