"""The arithmetic of the compiled pass: products, threads that keep step, the pass itself."""

from specdemo.models.kernels.dot import BLOCK, LANES, MAX_ROWS, PAIR, pack_rows
from specdemo.models.kernels.llama import DOWN_PARTS, llama_pass

__all__ = ["BLOCK", "DOWN_PARTS", "LANES", "MAX_ROWS", "PAIR", "llama_pass", "pack_rows"]
