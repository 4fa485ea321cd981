"""Pairs from the hub or from folders, as transformers modules or through the compiled pass.

Knows no request. Never runs code that comes with a model.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoConfig

from specdemo.errors import PairMismatchError
from specdemo.models.catalog import ModelSpec
from specdemo.models.checkpoint import fetch_small_files, fetch_weights, locate
from specdemo.models.compiled import CompiledRunner, Threads
from specdemo.models.footprint import (
    Plan,
    cache_bytes_per_token,
    check_fits,
    planned_bytes,
    skeleton_of,
)
from specdemo.models.modules import (
    NewRunner,
    Part,
    check_rollback,
    end_token_ids,
    gguf_option,
    load_model,
    loading_errors,
    module_runner,
)
from specdemo.models.packed import CompiledWeights, compile_weights, supports
from specdemo.models.pair import LoadedSpec, ModelPair, SizedRunner
from specdemo.models.quantization import resident_bytes
from specdemo.models.tokenization import Tokenizer
from specdemo.models.vocabulary import shared_vocab_size

# A long prompt and the longest answer, which both lanes hold.
PLANNED_POSITIONS = 2 * 2048


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
    width: int = min(*widths, *sizes)
    if not all(token_id < width for token_id in target.tokenizer.end_token_ids):
        raise PairMismatchError(
            f"{target.source.title} ends its answers with a token that {drafts[0].source.title} "
            "does not have; choose a draft of the same family, or leave the draft out."
        )
    return width


def plan_of(spec: LoadedSpec, parts: list[Part]) -> Plan:
    """The bytes that the pair will take."""
    weights = {
        part.role: planned_bytes(
            part.skeleton, spec.dtype, spec.quantization_of(part.role), spec.device
        )
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
            supports(part.config)
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


def compiled_runner(weights: CompiledWeights, threads: Threads) -> NewRunner:
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


def run_out(stages: Generator[str, None, Path]) -> Path:
    """A download to its end, without telling how far it is."""
    while True:
        try:
            next(stages)
        except StopIteration as finished:
            return Path(finished.value)
