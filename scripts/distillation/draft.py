"""The draft model: a few Llama layers that also read the target's last hidden state.

    x = embedding(token i); first half of the layers
    x += feature_proj(feature i), where there is one
    second half of the layers; norm; head over the draft vocabulary

Feature i is what the target's LM head reads at position i - 1. It enters half-way because the
residual stream grows from 0.1 (embedding) to 4 (first layer) to 31 (last): added to the
embedding, a feature is either lost on the late layers or drowns the token in the early ones.
Embedding and head rows belong to the target and stay frozen.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils import parametrize

from distillation.files import write_json, written_whole
from distillation.target import LlamaShape, rotary_tables, rotate

# The pilot's files name their tensors as LlamaForCausalLM does.
TENSOR_PREFIX = "model."

SMALLEST_VARIANCE = (
    1e-3  # of the mean one; keeps rare directions of the features from being blown up
)


class Attention(nn.Module):
    """Grouped-query attention under a mask of the caller's."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self._shape = shape
        query_size, key_size = (
            shape.num_heads * shape.head_dim,
            shape.num_key_value_heads * shape.head_dim,
        )
        self.q_proj = nn.Linear(shape.hidden_size, query_size, bias=False)
        self.k_proj = nn.Linear(shape.hidden_size, key_size, bias=False)
        self.v_proj = nn.Linear(shape.hidden_size, key_size, bias=False)
        self.o_proj = nn.Linear(query_size, shape.hidden_size, bias=False)

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Maps `x` (rows, n, hidden) under `mask` (rows or 1, 1, n, n)."""
        query, key, value = (
            self._heads(project(x)) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, key = rotate(query, cos, sin), rotate(key, cos, sin)
        num_sharing = self._shape.num_heads // self._shape.num_key_value_heads
        key, value = (heads.repeat_interleave(num_sharing, dim=1) for heads in (key, value))
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.o_proj(attended.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self._shape.head_dim)).transpose(1, 2)


class FeedForward(nn.Module):
    """Llama's gated feed-forward block."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Maps `x` (..., hidden)."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DraftLayer(nn.Module):
    """One pre-norm Llama layer."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = nn.RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.mlp = FeedForward(shape.hidden_size, shape.intermediate_size)

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Maps `x` (rows, n, hidden)."""
        x = x + self.self_attn(self.input_layernorm(x), mask, cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Whitening(nn.Module):
    """Learns a matrix in the coordinates of whitened inputs, so that Adam's steps suit all of them.

    The target's features share a large mean and a few huge dimensions: a step in their own
    coordinates moves every position alike, which shakes the layers more than it teaches them.
    """

    def __init__(self, inputs: Tensor) -> None:
        super().__init__()
        moments = inputs.T @ inputs / len(inputs)
        variances, directions = torch.linalg.eigh(moments)
        deviations = (variances + SMALLEST_VARIANCE * variances.mean()).sqrt()
        self.register_buffer("whiten", directions / deviations @ directions.T)
        self.register_buffer("color", directions * deviations @ directions.T)

    def forward(self, stepped: Tensor) -> Tensor:
        """Returns the matrix that reads plain inputs."""
        return stepped @ self.whiten

    def right_inverse(self, weight: Tensor) -> Tensor:
        """Returns the matrix to step, given one that reads plain inputs."""
        return weight @ self.color


class DraftModel(nn.Module):
    """The trained part of the draft model; embedding and head are passed in."""

    def __init__(self, shape: LlamaShape) -> None:
        super().__init__()
        self.shape = shape
        self.feature_layer = shape.num_layers // 2
        self.layers = nn.ModuleList(DraftLayer(shape) for _ in range(shape.num_layers))
        self.norm = nn.RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.feature_proj = nn.Linear(shape.hidden_size, shape.hidden_size, bias=False)
        nn.init.zeros_(self.feature_proj.weight)

    def whiten_features(self, features: Tensor) -> None:
        """Trains `feature_proj` in the coordinates that whiten `features` (n, hidden)."""
        parametrize.register_parametrization(self.feature_proj, "weight", Whitening(features))

    def forward(
        self, embedded: Tensor, features: Tensor, positions: Tensor, mask: Tensor
    ) -> Tensor:
        """Returns what the LM head reads, (rows, n, hidden).

        The first inputs of `embedded` (rows, n, hidden) get the `features` (rows, T <= n, hidden);
        `positions` is (rows, n), `mask` (rows, n, n).
        """
        projected = self.feature_proj(features)
        projected = F.pad(projected, (0, 0, 0, embedded.shape[1] - projected.shape[1]))
        tables = rotary_tables(self.shape, int(positions.max()) + 1)
        cos, sin = (table[positions][:, None] for table in tables)
        x = embedded
        for index, layer in enumerate(self.layers):
            if index == self.feature_layer:
                x = x + projected
            x = layer(x, mask[:, None], cos, sin)
        return self.norm(x)

    @classmethod
    def load(cls, folder: Path, kept_layers: Sequence[int] | None = None) -> "DraftModel":
        """Loads a draft folder, or only some of its layers; a missing `feature_proj` stays zero."""
        shape = LlamaShape.read(folder)
        kept_layers = range(shape.num_layers) if kept_layers is None else kept_layers
        model = cls(shape.with_num_layers(len(kept_layers)))
        state = _renumbered(load_file(folder / "model.safetensors"), kept_layers)
        missing, _ = model.load_state_dict(state, strict=False)
        if set(missing) - {"feature_proj.weight"}:
            raise ValueError(
                f"{folder} lacks {missing[0]}; choose a folder of Llama layers and a final norm."
            )
        return model

    def save(
        self, folder: Path, base_config: dict[str, object], draft_token_ids: Sequence[int]
    ) -> None:
        """Writes bfloat16 weights, configuration and draft vocabulary, each whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {
            TENSOR_PREFIX + name: tensor.to(torch.bfloat16).contiguous()
            for name, tensor in self._plain_state().items()
        }
        with written_whole(folder / "model.safetensors") as unfinished:
            save_file(tensors, unfinished, metadata={"format": "pt"})
        config = base_config | {
            "num_hidden_layers": self.shape.num_layers,
            "target_feature_size": self.shape.hidden_size,
            "target_feature_layer": self.feature_layer,
            "draft_vocab_size": len(draft_token_ids),
        }
        write_json(folder / "config.json", config)
        write_json(folder / "draft_token_ids.json", list(draft_token_ids))

    def _plain_state(self) -> dict[str, Tensor]:
        state = self.state_dict()
        trained = {name: state[name] for name in state if not name.startswith("feature_proj.")}
        return trained | {"feature_proj.weight": self.feature_proj.weight.detach()}


def _renumbered(tensors: Mapping[str, Tensor], kept_layers: Sequence[int]) -> dict[str, Tensor]:
    new_layers = {str(old): str(new) for new, old in enumerate(kept_layers)}
    state = {}
    for name, tensor in tensors.items():
        parts = name.removeprefix(TENSOR_PREFIX).split(".")
        if parts[0] == "layers":
            if parts[1] not in new_layers:
                continue
            parts[1] = new_layers[parts[1]]
        state[".".join(parts)] = tensor.float()
    return state
