"""How the threads of one pass keep step. Knows no arithmetic."""

from __future__ import annotations

# mypy: ignore-errors
# numba compiles the functions below from their bytecode; its decorators carry no types.
import platform
import sys

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from specdemo.compilation import njit

_IS_X86 = platform.machine() in ("x86_64", "AMD64")
_YIELD_FUNCTION = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


@intrinsic
def _arrive(typingctx, counter):
    """Add one to a counter that threads share."""

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "seq_cst")
        return context.get_dummy_value()

    return types.void(counter), codegen


@intrinsic
def _arrived(typingctx, counter):
    """The value of a counter that threads share."""

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(array.data, "seq_cst", 8)

    return types.int64(counter), codegen


@intrinsic
def _pause(typingctx):
    """Leave the core's units to its other thread for a moment."""

    def codegen(context, builder, signature, args):
        if _IS_X86:
            function_type = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def _give_way(typingctx):
    """Let another thread have the processor."""

    def codegen(context, builder, signature, args):
        function_type = ir.FunctionType(ir.IntType(32), [])
        give_way = cgutils.get_or_insert_function(builder.module, function_type, _YIELD_FUNCTION)
        builder.call(give_way, [])
        return context.get_dummy_value()

    return types.void(), codegen


@njit
def wait_for_all(counter, expected):
    """Arrive, then wait for the others: spin briefly, then give way, for a core may be taken."""
    _arrive(counter)
    spins = 0
    while _arrived(counter) < expected:
        spins += 1
        _pause()
        if spins > 1000:
            _give_way()


@njit
def share(num_items, thread, num_threads):
    """The range of items that is this thread's."""
    return num_items * thread // num_threads, num_items * (thread + 1) // num_threads
