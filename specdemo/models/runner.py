"""A transformers model with one cache for one run. No other file touches a transformers cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from transformers import DynamicCache, PreTrainedModel

from specdemo.engine.protocols import ForwardOutput
from specdemo.errors import UnsupportedCacheError


class HFModelRunner:
    """A `ModelRunner` over a transformers model.

    `feature_proj` (H, H) is there if the model reads the target's hidden states, which join the
    residual stream before the layer that its config names; `head_token_ids` (N,) if only these
    tokens may be drafted.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        vocab_size: int,
        *,
        feature_proj: torch.Tensor | None = None,
        head_token_ids: torch.Tensor | None = None,
    ) -> None:
        self._model = model
        self._vocab_size = vocab_size
        self._feature_proj = feature_proj
        self._head_token_ids = head_token_ids
        # Made without the model's config: all layers keep every position, so that a sliding
        # window can be rolled back too. The model masks what lies outside its window.
        self._cache = DynamicCache()
        self._num_cached_tokens = 0

    @property
    def num_cached_tokens(self) -> int:
        return self._num_cached_tokens

    @property
    def reads_features(self) -> bool:
        return self._feature_proj is not None

    @property
    def cache_bytes(self) -> int:
        """Bytes allocated for keys and values."""
        tensors = [t for layer in self._cache.layers for t in vars(layer).values()]
        return sum(t.nbytes for t in tensors if isinstance(t, torch.Tensor))

    @property
    def cache_used_bytes(self) -> int:
        """Bytes of the positions in use: all of them, since this cache grows step by step."""
        return self.cache_bytes

    @torch.inference_mode()
    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        device = self._model.device
        if not token_ids:
            width = self._model.config.get_text_config().hidden_size
            empty = torch.empty(0, width, device=device)
            return ForwardOutput(torch.empty(0, self._vocab_size, device=device), empty)
        with self._features_joined(features):
            output = self._model(
                input_ids=torch.tensor([list(token_ids)], device=device),
                cache=self._cache,
                use_cache=True,
                output_hidden_states=True,
                logits_to_keep=max(1, num_logits),
            )
        self._num_cached_tokens += len(token_ids)
        logits = output.logits[0, max(1, num_logits) - num_logits :, : self._vocab_size].float()
        logits = self._over_vocabulary(logits)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return ForwardOutput(logits, output.hidden_states[-1][0])

    def rollback(self, keep: int) -> None:
        surplus = self._num_cached_tokens - keep
        if surplus <= 0:
            return
        self._cache.crop(-surplus)
        self._num_cached_tokens = keep
        if self._cache.get_seq_length() != keep:
            raise UnsupportedCacheError(
                "This model's cache cannot be rolled back, so it cannot decode speculatively; "
                "choose a model with ordinary attention."
            )

    @contextmanager
    def _features_joined(self, features: torch.Tensor | None) -> Iterator[None]:
        """Add the projected features to what the model's feature layer reads."""
        if features is None or self._feature_proj is None:
            yield
            return
        projected = features.to(self._feature_proj.dtype) @ self._feature_proj.T

        def join(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            return (inputs[0] + projected, *inputs[1:])

        layers = cast(torch.nn.ModuleList, self._model.base_model.layers)
        layer = layers[self._model.config.target_feature_layer]
        hook = layer.register_forward_pre_hook(join)
        try:
            yield
        finally:
            hook.remove()

    def _over_vocabulary(self, logits: torch.Tensor) -> torch.Tensor:
        if self._head_token_ids is None:
            return logits
        whole = torch.full_like(logits, -torch.inf)
        whole[:, self._head_token_ids] = logits[:, self._head_token_ids]
        return whole
