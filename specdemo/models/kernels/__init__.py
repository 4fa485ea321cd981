"""The arithmetic of the compiled pass: products, threads that keep step, the pass itself."""

from specdemo.models.kernels.dot import MAX_ROWS
from specdemo.models.kernels.layout import BLOCK, INT8_LANES, LANES, PAIR, aligned_zeros, pack_rows
from specdemo.models.kernels.llama import DOWN_PARTS, GATE_GROUP, llama_pass

__all__ = [
    "BLOCK",
    "DOWN_PARTS",
    "GATE_GROUP",
    "INT8_LANES",
    "LANES",
    "MAX_ROWS",
    "PAIR",
    "aligned_zeros",
    "llama_pass",
    "pack_rows",
]
