"""Pieces of LLVM code that the kernels share: loops, vectors, and weighted sums of bytes, four at a time.

Numba renews its cache on disk if the file of a kernel changes. Kernels are loaded with the age of this file,
too (`sugenet.bits.kernels`).
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "I8",
    "I16",
    "I32",
    "I64",
    "SUMS",
    "SUM_LANES",
    "Products",
    "call",
    "emitted",
    "everywhere",
    "int64",
    "load",
    "loop",
    "weighted_sums",
]

SUM_LANES = 16  # neurons in a vector of sums
I8, I16, I32, I64 = (ir.IntType(size) for size in (8, 16, 32, 64))
SUMS = ir.VectorType(I32, SUM_LANES)


def int64(value: int) -> ir.Constant:
    """Return a constant of 64 bits."""
    return ir.Constant(I64, value)


def call(b: ir.IRBuilder, name: str, result: ir.Type, arguments: list[ir.Value]) -> ir.Value:
    """Emit an LLVM intrinsic by its name and return its result."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), arguments)  # type: ignore[no-untyped-call]


def everywhere(b: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """Return a vector with one value in all lanes."""
    kind = ir.VectorType(value.type, lanes)
    undefined = ir.Constant(kind, ir.Undefined)
    one = b.insert_element(undefined, value, ir.Constant(I32, 0))
    return b.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))


def load(b: ir.IRBuilder, pointer: ir.Value, kind: ir.Type, align: int = 1) -> ir.Value:
    """Load a value of a type from a pointer, which is aligned to `align` bytes."""
    value = b.load(b.bitcast(pointer, kind.as_pointer()))
    value.align = align
    return value


@contextmanager
def loop(
    b: ir.IRBuilder, count: ir.Value, starts: list[ir.Value]
) -> Iterator[tuple[ir.Value, list[ir.Value], list[ir.Value]]]:
    """Emit a loop over k from 0 below `count`. Yields k, values that begin as `starts`, and a list to which
    the body appends their new values; after the loop they have the values of the last iteration.
    """
    entry = b.block
    head, body, done = (b.function.append_basic_block(name) for name in ("head", "body", "done"))
    b.branch(head)
    b.position_at_end(head)
    k, values, following = b.phi(I64), [b.phi(start.type) for start in starts], list[ir.Value]()
    for value, start in zip([k, *values], [int64(0), *starts], strict=True):
        value.add_incoming(start, entry)
    b.cbranch(b.icmp_signed("<", k, count), body, done)
    b.position_at_end(body)
    yield k, values, following
    for value, new in zip([k, *values], [b.add(k, int64(1)), *following], strict=True):
        value.add_incoming(new, body)
    b.branch(head)
    b.position_at_end(done)


def emitted(emit: Callable[..., Any], result: Any = types.void) -> Any:
    """Return a function for numba's kernels from one that emits its code. The latter takes context and
    builder, then its arguments, arrays as pointers to their data, and returns nothing, a value, or a list of
    the values of a tuple.
    """

    def typed(_: Any, *arguments: Any) -> tuple[Any, Callable[..., Any]]:
        kept = [kind if isinstance(kind, types.Array | types.Boolean) else types.intp for kind in arguments]

        def code(context: Any, b: ir.IRBuilder, signature: Any, args: Any) -> Any:
            values = [
                context.make_array(kind)(context, b, arg).data if isinstance(kind, types.Array) else arg
                for kind, arg in zip(signature.args, args, strict=True)
            ]
            made = emit(context, b, *values)
            if isinstance(made, list):
                return context.make_tuple(b, signature.return_type, made)
            return context.get_dummy_value() if made is None else made

        return result(*kept), code

    # numba omits the first parameter, its context
    parameters = list(inspect.signature(emit).parameters.values())[1:]
    typed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    typed.__name__ = emit.__name__
    return intrinsic(typed)


class Products:
    """Emitter of sums of products of quads; it chooses the instruction when it is created."""

    def __init__(self, context: Any, b: ir.IRBuilder) -> None:
        features = context.codegen().magic_tuple()[2].split(",")
        self.b = b
        self.wide = "+avx512vnni" in features
        self.half = not self.wide and "+avxvnni" in features
        self.words = not self.wide and not self.half and "+avx2" in features
        self.together = 4 if "+avx512f" in features else 1  # vectors whose sums fit into the registers

    def weights(self, vector: ir.Value) -> Any:
        """Convert a vector of weights, once for all rows."""
        b = self.b
        if self.wide:
            return vector
        if self.half:
            return _halves(b, vector)
        if self.words:
            byte_pairs = []
            for part in _halves(b, vector):
                pairs = b.bitcast(part, ir.VectorType(I16, 16))
                eight = ir.Constant(pairs.type, [8] * 16)
                byte_pairs.append((b.ashr(b.shl(pairs, eight), eight), b.ashr(pairs, eight)))
            return byte_pairs
        last = ir.Constant(SUMS, [24] * SUM_LANES)
        ups = [ir.Constant(SUMS, [24 - 8 * byte] * SUM_LANES) for byte in range(4)]
        return [b.ashr(b.shl(vector, up), last) for up in ups]

    def quad(self, value: ir.Value) -> Any:
        """Convert the four bytes of a position, once for all vectors."""
        b = self.b
        if self.wide:
            return everywhere(b, value, SUM_LANES)
        if self.half:
            return everywhere(b, value, 8)
        if self.words:
            mask = ir.Constant(I32, 0x00FF00FF)
            even, odd = b.and_(value, mask), b.and_(b.lshr(value, ir.Constant(I32, 8)), mask)
            return [b.bitcast(everywhere(b, part, 8), ir.VectorType(I16, 16)) for part in (even, odd)]
        return [
            everywhere(b, b.and_(b.lshr(value, ir.Constant(I32, 8 * byte)), ir.Constant(I32, 255)), SUM_LANES)
            for byte in range(4)
        ]

    def add(self, total: ir.Value, quad: Any, weights: Any) -> ir.Value:
        """Return the sums with four more products in each lane; unsigned bytes, signed weights."""
        b = self.b
        if self.wide:
            return call(b, "llvm.x86.avx512.vpdpbusd.512", SUMS, [total, quad, weights])
        if self.half:
            name, parts = "llvm.x86.avx512.vpdpbusd.256", _halves(b, total)
            return _joined(
                b, [call(b, name, p.type, [p, quad, w]) for p, w in zip(parts, weights, strict=True)]
            )
        if self.words:
            parts, eight = _halves(b, total), ir.VectorType(I32, 8)
            for number, (even, odd) in enumerate(weights):
                for x, w in ((quad[0], even), (quad[1], odd)):
                    parts[number] = b.add(parts[number], call(b, "llvm.x86.avx2.pmadd.wd", eight, [x, w]))
            return _joined(b, parts)
        for x, w in zip(quad, weights, strict=True):
            total = b.add(total, b.mul(x, w))
        return total


def _halves(b: ir.IRBuilder, vector: ir.Value) -> list[ir.Value]:
    indices = ir.VectorType(I32, 8)
    return [
        b.shuffle_vector(vector, vector, ir.Constant(indices, [start + i for i in range(8)]))
        for start in (0, 8)
    ]


def _joined(b: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    return b.shuffle_vector(parts[0], parts[1], ir.Constant(ir.VectorType(I32, 16), list(range(16))))


def weighted_sums(
    context: Any,
    b: ir.IRBuilder,
    starts: list[ir.Value],
    offsets: ir.Value,
    weights: ir.Value,
    vectors: range,
    of: int,
    quads: ir.Value,
) -> list[list[ir.Value]]:
    """Emit the loop over all quads for some vectors of a block of `of`; return a list of sums per
    position.
    """
    products, zero = Products(context, b), ir.Constant(SUMS, [0] * SUM_LANES)
    with loop(b, quads, [zero] * (len(starts) * len(vectors))) as (k, sums, following):
        first = b.mul(k, int64(of))
        w = [
            products.weights(load(b, b.gep(weights, [b.add(first, int64(vector))]), SUMS, 4))
            for vector in vectors
        ]
        offset = b.load(b.gep(offsets, [k]))
        rows = [sums[at : at + len(vectors)] for at in range(0, len(sums), len(vectors))]
        for start, row in zip(starts, rows, strict=True):
            quad = products.quad(load(b, b.gep(start, [offset]), I32))
            following += [products.add(total, quad, w[vector]) for vector, total in enumerate(row)]
    return rows
