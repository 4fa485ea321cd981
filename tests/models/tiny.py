"""Tiny random models, built in the test from the real config classes."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def tiny_llama(seed: int = 0, **changes: object) -> LlamaForCausalLM:
    """A Llama of three layers whose shapes the compiled pass takes."""
    config = LlamaConfig(
        **{
            "vocab_size": 160,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 256,
            "tie_word_embeddings": True,
            "initializer_range": 0.2,
            **changes,
        }
    )
    torch.manual_seed(seed)
    return LlamaForCausalLM(config).eval()


def with_features(model: LlamaForCausalLM, projected: torch.Tensor) -> torch.Tensor:
    """Logits (T, V) of tokens 1 … T, with `projected` (T, H) added to the input of layer 2."""
    add = lambda module, inputs: (inputs[0] + projected, *inputs[1:])  # noqa: E731
    hook = model.model.layers[2].register_forward_pre_hook(add)
    logits = model(torch.arange(1, len(projected) + 1).unsqueeze(0)).logits[0]
    hook.remove()
    return logits
