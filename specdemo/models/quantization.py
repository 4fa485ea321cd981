"""8-bit and 4-bit weights, and what they really weigh. The only file that names bitsandbytes.

Knows no pair and no file.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import torch
from torch import nn
from transformers import BitsAndBytesConfig, PreTrainedModel

# It reports every cast of every layer.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)

KINDS = ("8bit", "nf4")
_BLOCK = 64  # weights that share one scale
_NESTED_BLOCK = 256  # scales that share one scale, when quantized doubly
# What the kernels of processors with AVX512-BF16 can lay out; kept the same everywhere.
_OUTPUT_MULTIPLE = 32
_INPUT_MULTIPLE = _BLOCK


@dataclass(frozen=True, slots=True)
class Quantization:
    """How weights are rounded (Dettmers et al. 2022, arXiv 2208.07339; 2023, arXiv 2305.14314)."""

    kind: str
    is_double: bool = False


def has_bfloat16_products(device: str) -> bool:
    """Whether products of bfloat16 numbers run natively there."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported()) if device == "cpu" else False


def config_of(quantization: Quantization, device: str, skeleton: nn.Module) -> BitsAndBytesConfig:
    """The library's own description; `skeleton` tells which layers stay as they are."""
    skipped = kept_names(skeleton)
    if quantization.kind == "8bit":
        return BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_8bit=True, llm_int8_skip_modules=skipped
        )
    return BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=quantization.is_double,
        bnb_4bit_compute_dtype=compute_dtype(device),
        llm_int8_skip_modules=skipped,
    )


def compute_dtype(device: str) -> torch.dtype:
    """bfloat16, or float32 where bfloat16 products would be emulated."""
    return torch.bfloat16 if has_bfloat16_products(device) else torch.float32


def kept_names(model: nn.Module) -> list[str]:
    """Linear layers that stay in full precision: the head, and widths the kernels cannot take."""
    linear = ((name, m) for name, m in model.named_modules() if isinstance(m, nn.Linear))
    return [name for name, layer in linear if not is_quantized_layer(name, layer)]


def is_quantized_layer(name: str, layer: nn.Module) -> bool:
    """Whether a layer is one of those that quantization rounds."""
    is_head = name.rsplit(".", 1)[-1] in ("lm_head", "embed_out")
    return (
        isinstance(layer, nn.Linear)
        and not is_head
        and layer.out_features % _OUTPUT_MULTIPLE == 0
        and layer.in_features % _INPUT_MULTIPLE == 0
    )


def quantize_layers(model: nn.Module, quantization: Quantization, device: str) -> None:
    """Round the linear layers of a model that was built rather than loaded, in place."""
    for name, layer in list(model.named_modules()):
        if is_quantized_layer(name, layer):
            parent, _, attribute = name.rpartition(".")
            rounded = _rounded(layer, quantization, device)
            setattr(model.get_submodule(parent), attribute, rounded.to(device))


def _rounded(layer: Any, quantization: Quantization, device: str) -> nn.Module:
    # Imported here: it takes a second that full precision need not wait for.
    bnb: Any = import_module("bitsandbytes")

    rounded: Any
    sizes, has_bias = (layer.in_features, layer.out_features), layer.bias is not None
    weight = layer.weight.data
    if quantization.kind == "8bit":
        rounded = bnb.nn.Linear8bitLt(*sizes, has_bias, has_fp16_weights=False, threshold=6.0)
        rounded.weight = bnb.nn.Int8Params(weight, requires_grad=False, has_fp16_weights=False)
    else:
        is_double = quantization.is_double
        rounded = bnb.nn.Linear4bit(
            *sizes,
            has_bias,
            compute_dtype=compute_dtype(device),
            compress_statistics=is_double,
            quant_type="nf4",
        )
        rounded.weight = bnb.nn.Params4bit(
            weight, requires_grad=False, compress_statistics=is_double, quant_type="nf4"
        )
    rounded.bias = layer.bias
    return cast(nn.Module, rounded.eval())


def planned_layer_bytes(layer: nn.Linear, quantization: Quantization, device: str) -> int:
    """What a layer's weight will weigh once it is rounded, its scales included."""
    count = layer.weight.numel()
    if quantization.kind == "8bit":
        return count + 4 * layer.out_features
    scales = -(-count // _BLOCK)
    if device == "cpu" and has_bfloat16_products(device):
        # The first pass lays them out anew, as bfloat16 and no longer quantized doubly.
        return count // 2 + 2 * scales
    scale_bytes = scales + 4 * -(-scales // _NESTED_BLOCK) if quantization.is_double else 4 * scales
    return count // 2 + scale_bytes


def held_tensors(model: nn.Module) -> Iterator[torch.Tensor]:
    """Every tensor that a model keeps alive: parameters, buffers, and the state of quantization."""
    yield from model.parameters()
    yield from model.buffers()
    for module in model.modules():
        weight = getattr(module, "weight", None)
        for holder in (weight, getattr(module, "state", None)):
            yield from _tensors_of(holder, ("CB", "SCB"))
        state = getattr(weight, "quant_state", None)
        yield from _tensors_of(state, ("absmax", "code", "offset"))
        yield from _tensors_of(getattr(state, "state2", None), ("absmax", "code", "offset"))


def _tensors_of(holder: Any, names: tuple[str, ...]) -> Iterator[torch.Tensor]:
    values = (getattr(holder, name, None) for name in names)
    yield from (value for value in values if isinstance(value, torch.Tensor))


def resident_bytes(model: PreTrainedModel, *, shared_with: PreTrainedModel | None = None) -> int:
    """Bytes really held, each storage counted once; those of `shared_with` not at all."""
    storages = _storages(model)
    for pointer in _storages(shared_with) if shared_with else ():
        storages.pop(pointer, None)
    return sum(storages.values())


def _storages(model: nn.Module) -> dict[int, int]:
    found = (tensor.untyped_storage() for tensor in held_tensors(model))
    return {storage.data_ptr(): storage.nbytes() for storage in found}
