"""The runner of compiled weights: it owns a cache for one run, and the threads of a pass.

Knows no file and no tokenizer. The arithmetic is in `kernels/` and, for long prompts, `prefill.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from specdemo.engine import rows
from specdemo.engine.protocols import ForwardOutput
from specdemo.models import kernels, prefill
from specdemo.models.packed import Array, CompiledWeights


def zeros(shape: tuple[int, ...]) -> Array:
    """Numbers for the pass to write to, as it likes them to lie in memory."""
    array: Array = kernels.aligned_zeros(shape, np.float32)  # type: ignore[no-untyped-call]
    return array


def rotary_tables(length: int, head_size: int, theta: float) -> tuple[Array, Array]:
    """Cosines and sines (T, D / 2) of rotary embedding (Su et al. 2021, arXiv 2104.09864)."""
    exponents = np.arange(0, head_size, 2, dtype=np.float32) / np.float32(head_size)
    frequencies = np.float32(1.0) / np.float32(theta) ** exponents
    angles = np.outer(np.arange(length, dtype=np.float32), frequencies)
    return np.cos(angles), np.sin(angles)


class Threads:
    """Runs one function on several threads at once; the caller's thread is the first of them."""

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self._pool = ThreadPoolExecutor(max(1, num_threads - 1), thread_name_prefix="pass")

    def run(self, work: Callable[[int], None]) -> None:
        """Call `work` with each thread's number; returns when all have returned."""
        others = [self._pool.submit(work, thread) for thread in range(1, self.num_threads)]
        work(0)
        for other in others:
            other.result()


class CompiledRunner:
    """A `ModelRunner` over compiled weights; its cache is allocated once, for `capacity` tokens."""

    def __init__(self, weights: CompiledWeights, capacity: int, threads: Threads) -> None:
        self._weights = weights
        self._threads = threads
        self._capacity = -(-capacity // kernels.BLOCK) * kernels.BLOCK
        num_layers = weights.qkv.weights.shape[0]
        shape = (num_layers, weights.num_kv_heads, self._capacity, weights.head_size)
        self._keys = zeros(shape)
        self._values = zeros(shape)
        self._rotary = rotary_tables(self._capacity, weights.head_size, weights.rope_theta)
        self._num_cached_tokens = 0
        rows = kernels.MAX_ROWS
        self._scratch = (
            zeros((threads.num_threads, rows, weights.embedding.shape[1])),
            zeros((rows, weights.qkv.weights.shape[1])),
            zeros((rows, weights.output.weights.shape[2])),
            zeros((kernels.DOWN_PARTS, rows, weights.down.weights.shape[3])),
        )

    @property
    def num_cached_tokens(self) -> int:
        return self._num_cached_tokens

    @property
    def reads_features(self) -> bool:
        return self._weights.feature_proj is not None

    @property
    def cache_bytes(self) -> int:
        """Bytes allocated for keys and values."""
        return self._keys.nbytes + self._values.nbytes

    @property
    def cache_used_bytes(self) -> int:
        """Bytes of the positions in use."""
        return self.cache_bytes * self._num_cached_tokens // self._capacity

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        hidden = self._weights.embedding[torch.tensor(token_ids, dtype=torch.long)].float()
        projected = self._project(features)
        logits = torch.empty(num_logits, self._weights.head.weights.shape[0])
        first_judged = len(token_ids) - num_logits
        start = self._read_prompt(hidden[:first_judged], projected[:first_judged])
        for first in range(start, len(token_ids), kernels.MAX_ROWS):
            rows = hidden[first : first + kernels.MAX_ROWS]
            last = first + len(rows)
            judged = logits[max(0, first - first_judged) : max(0, last - first_judged)]
            self._run_pass(rows, projected[first:last], judged)
        return ForwardOutput(self._over_vocabulary(logits), hidden)

    def rollback(self, keep: int) -> None:
        self._num_cached_tokens = min(self._num_cached_tokens, keep)

    def _project(self, features: torch.Tensor | None) -> torch.Tensor:
        if features is None or self._weights.feature_proj is None:
            return torch.empty(0, self._weights.embedding.shape[1])
        return features @ self._weights.feature_proj.T

    def _read_prompt(self, hidden: torch.Tensor, features: torch.Tensor) -> int:
        """Read as many tokens as pays before compiled passes read the rest; returns how many."""
        if self._num_cached_tokens or len(hidden) < prefill.MIN_ROWS:
            return 0
        # The library's threads may be many for this only: later they would spin beside the pass's.
        torch.set_num_threads(self._threads.num_threads)
        try:
            prefill.prefill(self._weights, hidden, features, self._keys, self._values, self._rotary)
        finally:
            torch.set_num_threads(1)
        self._num_cached_tokens = len(hidden)
        return len(hidden)

    def _run_pass(self, rows: torch.Tensor, features: torch.Tensor, logits: torch.Tensor) -> None:
        w = self._weights
        counter = np.zeros(1, np.int64)
        hidden, extra, scores = rows.numpy(), features.numpy(), logits.numpy()

        def work(thread: int) -> None:
            kernels.llama_pass(
                thread, self._threads.num_threads, counter,
                self._num_cached_tokens, len(hidden), len(scores), hidden, extra, w.feature_layer,
                self._keys, self._values, *self._rotary,
                w.input_norms, w.qkv, w.output, w.mlp_norms, w.gate_up, w.down, w.final_norm,
                w.head, np.float32(w.epsilon), *self._scratch, scores,
            )  # fmt: skip

        self._threads.run(work)
        self._num_cached_tokens += len(hidden)

    def _over_vocabulary(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits (N, V) over the whole vocabulary; tokens outside a cut head have probability 0."""
        ids, width = self._weights.head_token_ids, self._weights.embedding.shape[0]
        if ids is None:
            return logits
        return torch.from_numpy(rows.spread(logits.numpy(), ids.numpy(), width))
