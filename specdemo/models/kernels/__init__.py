"""The arithmetic of the compiled pass: products, threads that keep step, the pass itself."""

from specdemo.models.kernels.dot import BLOCK, LANES, MAX_ROWS, PAIR, pack_rows
from specdemo.models.kernels.llama import llama_pass

__all__ = ["BLOCK", "LANES", "MAX_ROWS", "PAIR", "llama_pass", "pack_rows"]
