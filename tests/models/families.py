"""One tiny random pair for each architecture of the catalogue, its peculiarities switched on.

Real config classes, and tokenizers of the family's real type, trained here.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as BackendTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    MixtralConfig,
    PretrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

CORPUS = [
    "the quick brown fox jumps over the lazy dog and the dog sleeps in the sun",
    "a model drafts and another model judges what the first model drafted",
    "sunlight is scattered by the air, so the sky is blue and the evening is red",
]
WINDOW = 8
SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
}
SLIDING = {"sliding_window": WINDOW}
LAYERS = {"layer_types": ["sliding_attention", "full_attention"]}
NEOX = {
    key: value for key, value in SHAPE.items() if key not in ("num_key_value_heads", "head_dim")
}

# name: config class, its peculiarities, the kind of tokenizer, rows of padding (target, draft)
FAMILIES: dict[str, tuple[type[PretrainedConfig], dict[str, Any], str, tuple[int, int]]] = {
    "llama": (LlamaConfig, {**SHAPE, "tie_word_embeddings": False}, "sentencepiece", (0, 0)),
    "gemma": (GemmaConfig, SHAPE, "sentencepiece", (0, 0)),
    "gemma2": (
        Gemma2Config,
        {
            **SHAPE,
            **SLIDING,
            **LAYERS,
            "attn_logit_softcapping": 5.0,
            "final_logit_softcapping": 9.0,
            "query_pre_attn_scalar": 16,
        },
        "sentencepiece",
        (0, 0),
    ),
    "gemma3": (
        Gemma3TextConfig,
        {**SHAPE, **SLIDING, **LAYERS, "query_pre_attn_scalar": 16},
        "sentencepiece",
        (64, 0),
    ),
    "mistral": (MistralConfig, {**SHAPE, **SLIDING}, "sentencepiece", (0, 0)),
    "mixtral": (
        MixtralConfig,
        {**SHAPE, "num_local_experts": 4, "num_experts_per_tok": 2},
        "sentencepiece",
        (0, 0),
    ),
    "gpt_neox": (GPTNeoXConfig, NEOX, "bytes", (41, 27)),
    "qwen2": (Qwen2Config, {**SHAPE, "tie_word_embeddings": True}, "bytes", (128, 32)),
    "qwen3": (Qwen3Config, {**SHAPE, "tie_word_embeddings": True}, "bytes", (32, 32)),
}


@cache
def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE, as GPT-NeoX and Qwen have it: no beginning of text."""
    backend = BackendTokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|endoftext|>")


@cache
def sentencepiece_tokenizer() -> PreTrainedTokenizerFast:
    """BPE over words that begin with ▁, unknown characters as bytes, one beginning of text."""
    trained = BackendTokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=80, show_progress=False))
    learned = json.loads(trained.to_str())["model"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *learned["vocab"]]
    vocabulary = {name: token_id for token_id, name in enumerate(dict.fromkeys(names))}
    merges = [tuple(merge) for merge in learned["merges"]]
    backend = BackendTokenizer(
        models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True)
    )
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def save_model(folder: Path, family: str, *, seed: int, role: str = "target") -> str:
    """Write a random model of a family with its tokenizer; returns its folder as a source."""
    kind, options, tokenizer_kind, padding = FAMILIES[family]
    tokenizer = byte_tokenizer() if tokenizer_kind == "bytes" else sentencepiece_tokenizer()
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    rows = len(tokenizer) + padding[role == "draft"]
    config = kind(vocab_size=rows, pad_token_id=None, **ids, **options)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
