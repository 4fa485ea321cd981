"""What a model will weigh before it is loaded, and whether that fits. Knows no file and no hub."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from transformers import AutoModelForCausalLM, PretrainedConfig

from specdemo.errors import NotEnoughMemoryError
from specdemo.models.memory import available_bytes
from specdemo.models.quantization import Quantization, is_quantized_layer, planned_layer_bytes

# Rounding and conversion hold a layer twice for a moment, and a pass needs room for activations.
_WORKING_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """Bytes that a pair will take, part by part; the caches are those of both lanes."""

    title: str
    precision: str
    target_bytes: int
    draft_bytes: int
    cache_bytes: int

    @property
    def needed_bytes(self) -> int:
        """All parts and some room to work."""
        weights = self.target_bytes + self.draft_bytes
        return int(weights * (1 + _WORKING_SHARE)) + self.cache_bytes


def skeleton_of(config: PretrainedConfig) -> nn.Module:
    """The model's layers without their weights."""
    with torch.device("meta"):
        model: nn.Module = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    return model


def planned_bytes(
    skeleton: nn.Module, dtype: torch.dtype, quantization: Quantization | None, device: str
) -> int:
    """What the weights will weigh; fused experts are no linear layers and stay as they are."""
    total = sum(parameter.numel() for parameter in skeleton.parameters()) * dtype.itemsize
    if quantization:
        for name, layer in skeleton.named_modules():
            if is_quantized_layer(name, layer):
                assert isinstance(layer, nn.Linear)
                total += planned_layer_bytes(layer, quantization, device)
                total -= layer.weight.numel() * dtype.itemsize
    return total


def cache_bytes_per_token(config: PretrainedConfig, dtype: torch.dtype) -> int:
    """Keys and values of one position in all layers."""
    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return int(2 * text.num_hidden_layers * heads * size * dtype.itemsize)


def check_fits(plan: Plan, device: str) -> None:
    """Raises `NotEnoughMemoryError`, with every number, unless the pair fits into free memory."""
    free = available_bytes(device)
    if plan.needed_bytes <= free:
        return
    raise NotEnoughMemoryError(
        f"{plan.title} in {plan.precision} needs about {_shown(plan.needed_bytes)} (target "
        f"{_shown(plan.target_bytes)}, draft {_shown(plan.draft_bytes)}, caches "
        f"{_shown(plan.cache_bytes)}, the rest to work with) and {_shown(free)} of "
        f"{'GPU' if device == 'cuda' else 'system'} memory are free; choose a lower precision or a "
        "smaller pair, or close other programs."
    )


def _shown(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:,.1f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:,.0f} MB"
