"""Instructions that compiled kernels share: 64 lanes compared at once, bits of a word, a hint to the cache;
and a multiplier for hashes (docs/theory.md 7.3).

Numba caches compiled code by the file that contains it, so a change of *this* file does not recompile the
kernels: touch every file that imports it.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["GOLDEN", "LANES", "fetch", "lowest", "ones", "turned"]

LANES = 64
GOLDEN = nb.uint64(0x9E3779B97F4A7C15)


@intrinsic
def turned(_typing, lanes, index, rows, where):  # noqa: ARG001 numba reads the names
    """Return bits of 64 lanes: ``lanes[index:] + rows[where:] >= 0``, indices of the flattened arrays."""
    signature = types.uint64(lanes, types.intp, rows, types.intp)

    def emit(context, b, signature, arguments):
        vector = ir.VectorType(ir.IntType(signature.args[0].dtype.bitwidth), LANES)

        def load(array):
            data = context.make_array(signature.args[array])(context, b, arguments[array]).data
            value = b.load(b.bitcast(b.gep(data, [arguments[array + 1]]), vector.as_pointer()))
            value.align = 1
            return value

        bits = b.icmp_signed(">=", b.add(load(0), load(2)), ir.Constant(vector, [0] * LANES))
        return b.bitcast(bits, ir.IntType(64))

    return signature, emit


@intrinsic
def fetch(_typing, words, index):  # noqa: ARG001 numba reads the names
    """Prefetch an element of a flattened array into the cache."""
    signature = types.void(words, types.intp)

    def emit(context, b, signature, arguments):
        data = context.make_array(signature.args[0])(context, b, arguments[0]).data
        kinds = [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3]
        function = cgutils.get_or_insert_function(
            b.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.prefetch.p0i8"
        )
        where = b.bitcast(b.gep(data, [arguments[1]]), kinds[0])
        b.call(function, [where, *(ir.Constant(ir.IntType(32), value) for value in (1, 3, 1))])
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def ones(_typing, word):  # noqa: ARG001 numba reads the names
    """Return how many bits of a word are set."""
    signature = types.int64(types.uint64)

    def emit(_context, b, _signature, arguments):
        return b.ctpop(arguments[0])

    return signature, emit


@intrinsic
def lowest(_typing, word):  # noqa: ARG001 numba reads the names
    """Return the index of the lowest bit of a word that is not 0."""
    signature = types.int64(types.uint64)

    def emit(_context, b, _signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return signature, emit
