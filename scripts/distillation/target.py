"""The target's forward pass for many rows in lockstep, written out for two CPU cores.

Knows no text and no sampling: token ids in, hidden states and logits out. Products run on
oneDNN with weights packed once, which is up to twice as fast as MKL for 64 to 256 rows on
processors with AVX2 only.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor


@dataclass(frozen=True)
class LlamaShape:
    """The numbers of a Llama configuration that shape its tensors."""

    num_layers: int
    hidden_size: int
    num_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    rms_norm_eps: float
    rope_theta: float

    @classmethod
    def read(cls, folder: Path) -> "LlamaShape":
        """Reads the shape from `config.json` in a model folder."""
        config = json.loads((folder / "config.json").read_text())
        return cls(
            num_layers=config["num_hidden_layers"],
            hidden_size=config["hidden_size"],
            num_heads=config["num_attention_heads"],
            num_key_value_heads=config["num_key_value_heads"],
            head_dim=config.get("head_dim")
            or config["hidden_size"] // config["num_attention_heads"],
            intermediate_size=config["intermediate_size"],
            rms_norm_eps=config["rms_norm_eps"],
            rope_theta=config["rope_parameters"]["rope_theta"],
        )

    def with_num_layers(self, num_layers: int) -> "LlamaShape":
        """Returns the same shape with another depth."""
        return replace(self, num_layers=num_layers)


def rotary_tables(shape: LlamaShape, num_positions: int) -> tuple[Tensor, Tensor]:
    """Returns cosines and sines, each (num_positions, head_dim), in the half-rotation layout."""
    exponents = torch.arange(0, shape.head_dim, 2).float() / shape.head_dim
    angles = torch.outer(torch.arange(num_positions).float(), shape.rope_theta**-exponents)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Applies rotary position embeddings to `x` (..., head_dim)."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class PackedLinear:
    """A bias-free linear map whose weight is stored in oneDNN's blocked layout."""

    def __init__(self, weight: Tensor, num_rows: int) -> None:
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), num_rows)

    def __call__(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, None, "none", [], "")


@dataclass(frozen=True)
class Window:
    """One layer's cached positions, up to and including the n that a pass is about to write."""

    keys: Tensor  # (rows, groups, positions, head_dim), a view of the cache, like the values
    values: Tensor
    cos: Tensor  # (n, head_dim), like the sines
    sin: Tensor

    def append(self, key: Tensor, value: Tensor) -> None:
        """Writes the last n positions."""
        self.keys[:, :, -len(self.cos) :] = key
        self.values[:, :, -len(self.cos) :] = value

    def causal_mask(self) -> Tensor:
        """Returns which positions each of the last n sees, (n, positions) bool."""
        n, num_positions = len(self.cos), self.keys.shape[2]
        return torch.ones(n, num_positions, dtype=torch.bool).tril(num_positions - n)


class KeyValueCache:
    """Pre-allocated keys and values of `num_rows` rows that all have the same length."""

    def __init__(self, shape: LlamaShape, num_rows: int, num_positions: int) -> None:
        size = (
            shape.num_layers,
            num_rows,
            shape.num_key_value_heads,
            num_positions,
            shape.head_dim,
        )
        self.keys, self.values = torch.zeros(size), torch.zeros(size)
        self.length = 0

    def windows(self, num_rows: int, cos: Tensor, sin: Tensor) -> Iterator[Window]:
        """Makes room for as many positions as `cos` has, in the first rows; one window a layer."""
        self.length += len(cos)
        for keys, values in zip(self.keys, self.values):
            seen = (cached[:num_rows, :, : self.length] for cached in (keys, values))
            yield Window(*seen, cos, sin)

    def fill_all_rows_from_the_first(self) -> None:
        """Copies row 0 to every row, so that a common prefix is computed once."""
        for cached in (self.keys, self.values):
            cached[:, 1:, :, : self.length] = cached[:, :1, :, : self.length]


class TargetLayer:
    """One Llama layer with q/k/v and gate/up fused into one product each."""

    def __init__(
        self, weights: Mapping[str, Tensor], index: int, shape: LlamaShape, num_rows: int
    ) -> None:
        def weight(name: str) -> Tensor:
            return weights[f"model.layers.{index}.{name}.weight"].float()

        def packed(*names: str) -> PackedLinear:
            return PackedLinear(torch.cat([weight(name) for name in names]), num_rows)

        self._shape = shape
        self._attention_norm = weight("input_layernorm")
        self._mlp_norm = weight("post_attention_layernorm")
        self._query_key_value = packed("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        self._attention_out = packed("self_attn.o_proj")
        self._gate_up = packed("mlp.gate_proj", "mlp.up_proj")
        self._down = packed("mlp.down_proj")

    def forward(self, x: Tensor, window: Window) -> Tensor:
        """Maps `x` (rows, n, hidden) and leaves its keys and values at the end of the window."""
        x = x + self._attend(self._norm(x, self._attention_norm), window)
        gate, up = self._gate_up(self._norm(x, self._mlp_norm)).chunk(2, dim=-1)
        return x + self._down(F.silu(gate).mul_(up))

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (self._shape.hidden_size,), weight, self._shape.rms_norm_eps)

    def _attend(self, x: Tensor, window: Window) -> Tensor:
        num_heads, num_groups = self._shape.num_heads, self._shape.num_key_value_heads
        heads = self._query_key_value(x).unflatten(-1, (-1, self._shape.head_dim)).transpose(1, 2)
        query, key, value = heads.split((num_heads, num_groups, num_groups), dim=1)
        window.append(rotate(key, window.cos, window.sin), value)
        query = rotate(query, window.cos, window.sin)
        if x.shape[1] == 1:
            # One query a head: let the heads that share keys form the rows of one product.
            query = query.unflatten(1, (num_groups, -1)).flatten(2, 3)
            attended = F.scaled_dot_product_attention(query, window.keys, window.values)
            return self._attention_out(attended.flatten(1)[:, None])
        attended = F.scaled_dot_product_attention(
            query, window.keys, window.values, attn_mask=window.causal_mask(), enable_gqa=True
        )
        return self._attention_out(attended.transpose(1, 2).flatten(2))


class TargetModel:
    """The frozen target: embedding, layers, final norm and tied LM head, in float32."""

    def __init__(self, weights: Mapping[str, Tensor], shape: LlamaShape, num_rows: int) -> None:
        self.shape = shape
        self.embedding = weights["model.embed_tokens.weight"].float()
        self._layers = [TargetLayer(weights, i, shape, num_rows) for i in range(shape.num_layers)]
        self._norm = weights["model.norm.weight"].float()
        self._head = PackedLinear(self.embedding, num_rows)

    @classmethod
    def load(cls, folder: Path, num_rows: int) -> "TargetModel":
        """Loads a Llama folder, packed for passes of about `num_rows` tokens."""
        return cls(load_file(folder / "model.safetensors"), LlamaShape.read(folder), num_rows)

    def forward(self, token_ids: Tensor, cache: KeyValueCache) -> Tensor:
        """Appends `token_ids` (rows, n); returns what the LM head reads, (rows, n, hidden)."""
        num_rows, n = token_ids.shape
        tables = rotary_tables(self.shape, cache.length + n)
        windows = cache.windows(num_rows, *(table[-n:] for table in tables))
        x = F.embedding(token_ids, self.embedding)
        for layer, window in zip(self._layers, windows):
            x = layer.forward(x, window)
        return F.rms_norm(x, (self.shape.hidden_size,), self._norm, self.shape.rms_norm_eps)

    def logits(self, hidden: Tensor) -> Tensor:
        """Returns the logits of `hidden` (n, hidden): (n, vocabulary)."""
        return self._head(hidden)
