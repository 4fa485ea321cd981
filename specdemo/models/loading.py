"""`load_pair`: from a description to two models that can run. Knows no request and no screen."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from specdemo.engine.protocols import ModelRunner
from specdemo.errors import InvalidRequestError, ModelLoadError, NotEnoughMemoryError
from specdemo.models import compiled
from specdemo.models.catalog import PairSpec
from specdemo.models.compiled import CompiledRunner, Threads, compile_weights
from specdemo.models.continuations import ContinuationTable
from specdemo.models.conversion import converted_folder
from specdemo.models.memory import available_bytes
from specdemo.models.runner import HFModelRunner
from specdemo.models.tokenization import Tokenizer

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
MAX_THREADS = 8
# A draft need not be exact to leave the output exact, and a quarter of the bytes is a faster pass.
DRAFT_DTYPE = torch.int8
# Of the draft's tokens by frequency; rarer ones are hardly ever drafted and cost as much.
DRAFT_VOCABULARY = 8192


class SizedRunner(ModelRunner, Protocol):
    """A runner that can tell what its cache weighs."""

    @property
    def cache_bytes(self) -> int:
        """Bytes allocated for keys and values."""

    @property
    def cache_used_bytes(self) -> int:
        """Bytes of the positions in use."""


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """What a loaded pair answers to."""

    pair: PairSpec
    device: str
    precision: str


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models that share a tokenizer, ready to run.

    `new_target_runner` and `new_draft_runner` take how many positions the cache must hold.
    """

    spec: LoadedSpec
    tokenizer: Tokenizer
    vocab_size: int
    context_length: int
    num_threads: int
    target_weights_bytes: int
    draft_weights_bytes: int
    new_target_runner: Callable[[int], SizedRunner]
    new_draft_runner: Callable[[int], SizedRunner]
    continuations: ContinuationTable | None = None


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
    pair = spec.pair
    folder = yield from converted_folder(pair.target, cache_folder)
    yield f"Loading {pair.target.name} ({spec.precision})…"
    config = AutoConfig.from_pretrained(folder)
    check_memory(folder, spec)
    threads = num_threads or available_threads()
    if spec.device == "cpu" and compiled.supports(config):
        return (yield from _load_compiled(spec, folder, config, threads))
    torch.set_num_threads(threads)
    return _load_transformers(spec, folder, config, threads)


def check_memory(folder: Path, spec: LoadedSpec) -> None:
    """Raises `NotEnoughMemoryError` unless the weights fit while they are converted."""
    stored = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    # The file is mapped; the resident copy has the chosen width, the head is laid out once more.
    width = PRECISIONS[spec.precision].itemsize / torch.float32.itemsize
    needed, free = int(stored * width * 1.6), available_bytes(spec.device)
    if needed > free:
        raise NotEnoughMemoryError(
            f"{spec.pair.title} in {spec.precision} needs about {needed >> 20} MB and "
            f"{free >> 20} MB are free; close other programs or choose bfloat16."
        )


def read_draft(
    pair: PairSpec,
) -> tuple[LlamaConfig, dict[str, torch.Tensor], torch.Tensor | None]:
    """The draft's config, its state dict and the token ids its head covers."""
    folder = pair.draft.path
    try:
        config = LlamaConfig.from_pretrained(folder)
        state = load_file(folder / "model.safetensors")
    except (OSError, SafetensorError) as error:
        raise ModelLoadError(
            f"The draft model in assets/models/{folder.name} is missing or damaged; "
            "clone or download the repository again."
        ) from error
    ids_file = folder / "draft_token_ids.json"
    token_ids: torch.Tensor | None = None
    if ids_file.exists():
        token_ids = torch.tensor(json.loads(ids_file.read_text())[:DRAFT_VOCABULARY])
    return config, state, token_ids


def _load_compiled(
    spec: LoadedSpec, folder: Path, config: LlamaConfig, num_threads: int
) -> Generator[str, None, ModelPair]:
    """Both models for the compiled pass."""
    # The pass brings its own threads; torch's would spin beside them after every small operation.
    torch.set_num_threads(1)
    threads = Threads(num_threads)
    state = load_file(folder / "model.safetensors")
    target = compile_weights(state, config, PRECISIONS[spec.precision])
    yield f"Loading {spec.pair.draft.name}…"
    draft_config, draft_state, head_token_ids = read_draft(spec.pair)
    draft = compile_weights(
        draft_state,
        draft_config,
        DRAFT_DTYPE,
        embedding=target.embedding,
        head_token_ids=head_token_ids,
    )
    continuations = ContinuationTable.from_folder(spec.pair.draft.path)
    yield "Preparing the forward pass (compiled for this processor once, about 20 seconds)…"
    for weights in (target, draft):
        CompiledRunner(weights, capacity=8, threads=threads).forward([0], 1)
    return ModelPair(
        spec=spec,
        tokenizer=Tokenizer.from_folder(folder, end_token_ids(config)),
        vocab_size=config.vocab_size,
        context_length=config.max_position_embeddings,
        num_threads=num_threads,
        target_weights_bytes=target.num_bytes,
        draft_weights_bytes=draft.own_bytes + (continuations.num_bytes if continuations else 0),
        continuations=continuations,
        new_target_runner=lambda capacity: CompiledRunner(target, capacity, threads),
        new_draft_runner=lambda capacity: CompiledRunner(draft, capacity, threads),
    )


def _load_transformers(
    spec: LoadedSpec, folder: Path, config: LlamaConfig, num_threads: int
) -> ModelPair:
    """Both models as transformers modules on the device."""
    dtype = PRECISIONS[spec.precision]
    target = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    target = target.to(torch.device(spec.device)).eval()  # type: ignore[arg-type]
    draft_config, draft_state, head_token_ids = read_draft(spec.pair)
    feature_proj = draft_state.pop("model.feature_proj.weight", None)
    draft = LlamaForCausalLM(draft_config)
    draft.load_state_dict(draft_state, strict=False)
    draft = draft.to(device=torch.device(spec.device), dtype=dtype).eval()  # type: ignore[call-arg]
    draft.model.embed_tokens = target.get_input_embeddings()
    draft.lm_head = target.get_output_embeddings()
    own = [
        p
        for name, p in draft.named_parameters()
        if "embed_tokens" not in name and "lm_head" not in name
    ]

    def new_draft_runner(capacity: int) -> HFModelRunner:
        return HFModelRunner(
            draft,
            config.vocab_size,
            feature_proj=None if feature_proj is None else feature_proj.to(spec.device, dtype),
            head_token_ids=None if head_token_ids is None else head_token_ids.to(spec.device),
        )

    return ModelPair(
        spec=spec,
        tokenizer=Tokenizer.from_folder(folder, end_token_ids(config)),
        vocab_size=config.vocab_size,
        context_length=config.max_position_embeddings,
        num_threads=num_threads,
        target_weights_bytes=sum(parameter.nbytes for parameter in target.parameters()),
        draft_weights_bytes=sum(parameter.nbytes for parameter in own),
        continuations=ContinuationTable.from_folder(spec.pair.draft.path),
        new_target_runner=lambda capacity: HFModelRunner(target, config.vocab_size),
        new_draft_runner=new_draft_runner,
    )


def end_token_ids(config: LlamaConfig) -> list[int]:
    """The config's end tokens, of which some have one and some a list."""
    ids = config.eos_token_id
    return list(ids) if isinstance(ids, (list, tuple)) else [] if ids is None else [ids]
