"""The bundled pair: a draft that shares the target's embeddings and reads its hidden states.

In full precision on a CPU it runs through the compiled pass, else as transformers modules.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoConfig, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from specdemo.errors import ModelLoadError
from specdemo.models.catalog import BundledModelSpec
from specdemo.models.checkpoint import Source
from specdemo.models.compiled import Threads
from specdemo.models.continuations import ContinuationTable
from specdemo.models.conversion import converted_folder
from specdemo.models.footprint import check_fits, skeleton_of
from specdemo.models.modules import Part, end_token_ids, load_model, module_runner
from specdemo.models.packed import compile_weights, supports
from specdemo.models.pair import LoadedSpec, ModelPair
from specdemo.models.pretrained import compiled_runner, plan_of
from specdemo.models.quantization import quantize_layers, resident_bytes
from specdemo.models.tokenization import Tokenizer

# A draft need not be exact to leave the output exact, and a quarter of the bytes is a faster pass.
DRAFT_DTYPE = torch.int8
# Of the draft's tokens by frequency; rarer ones are hardly ever drafted and cost as much.
DRAFT_VOCABULARY = 8192


def load_bundled_pair(
    spec: LoadedSpec, cache_folder: Path, num_threads: int
) -> Generator[str, None, ModelPair]:
    """Convert the target if need be, then load both models."""
    target, draft = spec.pair.target, spec.pair.draft
    assert isinstance(target, BundledModelSpec)
    assert isinstance(draft, BundledModelSpec)
    folder = yield from converted_folder(target, cache_folder)
    yield f"Loading {target.name} ({spec.label})…"
    config = AutoConfig.from_pretrained(folder)
    source = Source(target.name, folder, "", ("model.safetensors",))
    tokenizer = Tokenizer.from_folder(folder, end_token_ids(config, folder))
    part = Part("target", source, config, skeleton_of(config), tokenizer)
    check_fits(plan_of(spec, [part]), spec.device)
    if spec.device == "cpu" and not spec.is_quantized and supports(config):
        return (yield from _compiled(spec, part, folder, draft, num_threads))
    return (yield from _modules(spec, part, folder, draft, num_threads))


def _compiled(
    spec: LoadedSpec, part: Part, folder: Path, draft_spec: BundledModelSpec, num_threads: int
) -> Generator[str, None, ModelPair]:
    torch.set_num_threads(1)
    threads = Threads(num_threads)
    assert isinstance(part.config, LlamaConfig)
    target = compile_weights(load_file(folder / "model.safetensors"), part.config, spec.dtype)
    yield f"Loading {draft_spec.name}…"
    draft_config, draft_state, head_token_ids = read_draft(draft_spec)
    draft = compile_weights(
        draft_state,
        draft_config,
        DRAFT_DTYPE,
        embedding=target.embedding,
        head_token_ids=head_token_ids,
    )
    continuations = ContinuationTable.from_folder(draft_spec.path)
    yield "Preparing the forward pass (compiled for this processor once, about 20 seconds)…"
    return ModelPair(
        spec=spec,
        tokenizer=part.tokenizer,
        vocab_size=part.config.vocab_size,
        context_length=part.config.max_position_embeddings,
        num_threads=num_threads,
        target_weights_bytes=target.num_bytes,
        draft_weights_bytes=draft.own_bytes + table_bytes(continuations),
        continuations=continuations,
        new_target_runner=compiled_runner(target, threads),
        new_draft_runner=compiled_runner(draft, threads),
    )


def _modules(
    spec: LoadedSpec, part: Part, folder: Path, draft_spec: BundledModelSpec, num_threads: int
) -> Generator[str, None, ModelPair]:
    target = load_model(part, folder, spec, spec.quantization_of("target"))
    yield f"Loading {draft_spec.name} ({spec.label})…"
    draft_config, draft_state, head_token_ids = read_draft(draft_spec)
    feature_proj = draft_state.pop("model.feature_proj.weight", None)
    draft = draft_module(draft_config, draft_state, spec, target)
    vocab_size = part.config.vocab_size
    new_target_runner = module_runner(target, vocab_size, num_threads)
    new_draft_runner = module_runner(
        draft,
        vocab_size,
        num_threads,
        feature_proj=None if feature_proj is None else feature_proj.to(spec.device, spec.dtype),
        head_token_ids=None if head_token_ids is None else head_token_ids.to(spec.device),
    )
    # The first pass may repack quantized weights: count what is there after it.
    for new_runner in (new_target_runner, new_draft_runner):
        new_runner(8).forward([0], 1)
    continuations = ContinuationTable.from_folder(draft_spec.path)
    own_bytes = resident_bytes(draft, shared_with=target) + table_bytes(continuations)
    if feature_proj is not None:
        own_bytes += feature_proj.numel() * spec.dtype.itemsize
    return ModelPair(
        spec=spec,
        tokenizer=part.tokenizer,
        vocab_size=vocab_size,
        context_length=part.config.max_position_embeddings,
        num_threads=num_threads,
        target_weights_bytes=resident_bytes(target),
        draft_weights_bytes=own_bytes,
        continuations=continuations,
        new_target_runner=new_target_runner,
        new_draft_runner=new_draft_runner,
    )


def table_bytes(continuations: ContinuationTable | None) -> int:
    """What the table of continuations adds to the draft."""
    return continuations.num_bytes if continuations else 0


def draft_module(
    config: LlamaConfig, state: dict[str, torch.Tensor], spec: LoadedSpec, target: PreTrainedModel
) -> LlamaForCausalLM:
    """The draft on the target's device, with the target's embeddings and head."""
    draft = LlamaForCausalLM(config)
    draft.load_state_dict(state, strict=False)
    draft = draft.to(device=torch.device(spec.device), dtype=spec.dtype).eval()  # type: ignore[call-arg]
    draft.model.embed_tokens = target.get_input_embeddings()
    draft.lm_head = target.get_output_embeddings()  # type: ignore[no-untyped-call]
    if quantization := spec.quantization_of("draft"):
        quantize_layers(draft, quantization, spec.device)
    return cast(LlamaForCausalLM, draft)


def read_draft(
    spec: BundledModelSpec,
) -> tuple[LlamaConfig, dict[str, torch.Tensor], torch.Tensor | None]:
    """The draft's config, its state dict and the token ids its head covers."""
    folder = spec.path
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
