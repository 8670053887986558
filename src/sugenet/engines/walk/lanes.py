"""Instructions that compiled kernels share: 64 lanes compared at once, bits of a word, a hint to the cache;
and a multiplier for hashes (docs/theory.md 7.3).

Numba caches compiled code by the file that contains it, so a change of *this* file does not recompile the
kernels: touch every file that imports it or `sugenet.bits.emitters`.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

from functools import partial

import numba as nb
from llvmlite import ir
from numba import types

from sugenet.bits.emitters import I8, I32, I64, call, emitted, load

__all__ = ["GOLDEN", "LANES", "fetch", "lowest", "ones", "turned"]

LANES = 64
GOLDEN = nb.uint64(0x9E3779B97F4A7C15)


@partial(emitted, result=types.uint64)
def turned(_, b, lanes, index, rows, where):
    """Return bits of 64 lanes: ``lanes[index:] + rows[where:] >= 0``, indices of the flattened arrays."""
    vector = ir.VectorType(lanes.type.pointee, LANES)
    sums = b.add(load(b, b.gep(lanes, [index]), vector), load(b, b.gep(rows, [where]), vector))
    return b.bitcast(b.icmp_signed(">=", sums, ir.Constant(vector, [0] * LANES)), I64)


@emitted
def fetch(_, b, words, index):
    """Prefetch an element of a flattened array into the cache."""
    where = b.bitcast(b.gep(words, [index]), I8.as_pointer())
    call(b, "llvm.prefetch.p0i8", ir.VoidType(), [where, *(ir.Constant(I32, value) for value in (1, 3, 1))])


@partial(emitted, result=types.int64)
def ones(_, b, word):
    """Return how many bits of a word are set."""
    return b.ctpop(word)


@partial(emitted, result=types.int64)
def lowest(_, b, word):
    """Return the index of the lowest bit of a word that is not 0."""
    return b.cttz(word, ir.Constant(ir.IntType(1), 1))
