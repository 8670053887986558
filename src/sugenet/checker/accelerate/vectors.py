"""Vector operations in compiled code, for `walk`, `digits` and `branching`.

To be ensured: each function does what its docstring says. ``b`` builds LLVM instructions. In vectors of words
every bit is separate, so one full adder sums as many triples of bits as a vector has.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped"
# mypy: disable-error-code="call-arg,var-annotated"

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "WORD",
    "bits_in",
    "everywhere",
    "fetch",
    "loaded",
    "lowest",
    "number",
    "ones",
    "reaches",
    "signs",
    "some_of",
    "stored",
    "summed",
]

WORD = ir.IntType(64)
_I64, _U64 = nb.types.int64, nb.types.uint64


@intrinsic
def lowest(_typing, word):  # noqa: ARG001 numba reads the names
    """Return the index of the lowest set bit; 64 if there is none."""

    def emit(_context, b, _signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return _I64(_U64), emit


@intrinsic
def ones(_typing, word):  # noqa: ARG001
    """Return the number of set bits."""

    def emit(_context, b, _signature, arguments):
        return b.ctpop(arguments[0])

    return _I64(_U64), emit


@intrinsic
def reaches(_typing, sums, at, rows, of):  # noqa: ARG001
    """Return which of 64 sums are 0 or more after adding a row; positions are in flat arrays of one item
    size.
    """
    signature = _U64(sums, _I64, rows, _I64)

    def emit(context, b, signature, arguments):
        sums, at, rows, of = arguments
        vector = ir.VectorType(ir.IntType(signature.args[0].dtype.bitwidth), 64)
        here = loaded(context, b, signature.args[0], sums, at, vector)
        return signs(b, b.add(here, loaded(context, b, signature.args[2], rows, of, vector)))

    return signature, emit


@intrinsic
def fetch(_typing, words, index):  # noqa: ARG001
    """Prefetch an element of a flat array; this has no other effect."""
    signature = nb.types.void(words, _I64)

    def emit(context, b, signature, arguments):
        byte, short = ir.IntType(8).as_pointer(), ir.IntType(32)
        asked = cgutils.get_or_insert_function(
            b.module, ir.FunctionType(ir.VoidType(), [byte, short, short, short]), "llvm.prefetch.p0i8"
        )
        spot = b.gep(context.make_array(signature.args[0])(context, b, arguments[0]).data, [arguments[1]])
        b.call(asked, [b.bitcast(spot, byte), *(ir.Constant(short, value) for value in (1, 3, 1))])
        return context.get_dummy_value()

    return signature, emit


def number(value):
    """Return an integer constant."""
    return ir.Constant(WORD, value)


def loaded(context, b, kind, array, index, vector):
    """Load a vector from an array at an index."""
    spot = b.gep(context.make_array(kind)(context, b, array).data, [index])
    value = b.load(b.bitcast(spot, vector.as_pointer()))
    value.align = vector.element.width // 8
    return value


def stored(context, b, kind, array, index, value):
    """Store a vector in an array at an index."""
    spot = b.gep(context.make_array(kind)(context, b, array).data, [index])
    b.store(value, b.bitcast(spot, value.type.as_pointer())).align = value.type.element.width // 8


def everywhere(b, value, vector):
    """Return a vector of equal numbers."""
    none = ir.Constant(vector, ir.Undefined)
    lone = b.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
    indices = ir.VectorType(ir.IntType(32), vector.count)
    return b.shuffle_vector(lone, none, ir.Constant(indices, [0] * vector.count))


def signs(b, numbers):
    """Return a bit for each of 64 numbers: whether it is not negative."""
    zero = ir.Constant(numbers.type, [0] * 64)
    return b.bitcast(b.icmp_signed(">=", numbers, zero), WORD)


def some_of(b, vector):
    """Return whether some bit of a vector of words is set."""
    mask_type, none = ir.IntType(vector.type.count), ir.Constant(vector.type, [0] * vector.type.count)
    return b.icmp_unsigned(
        "!=", b.bitcast(b.icmp_unsigned("!=", vector, none), mask_type), ir.Constant(mask_type, 0)
    )


def bits_in(b, vector):
    """Return the number of set bits of a vector of words."""
    join = cgutils.get_or_insert_function(
        b.module, ir.FunctionType(WORD, [vector.type]), f"llvm.vector.reduce.add.v{vector.type.count}i64"
    )
    count = cgutils.get_or_insert_function(
        b.module, ir.FunctionType(vector.type, [vector.type]), f"llvm.ctpop.v{vector.type.count}i64"
    )
    return b.call(join, [b.call(count, [vector])])


def summed(b, columns):
    """Return the binary digits of a sum, the lowest first, from the summands of each digit, and
    the carries.
    """
    digits, carries = [], []
    for column in columns:
        rest, carries = [*column, *carries], []
        while len(rest) > 1:
            *rest, x, y = rest
            z = rest.pop() if rest else None
            half = b.xor(x, y)
            # if x and y differ, the carry is z; it equals x unless x and z also differ
            carries.append(b.and_(x, y) if z is None else b.xor(x, b.and_(half, b.xor(x, z))))
            rest.insert(0, half if z is None else b.xor(half, z))
        digits.append(rest[0])
    return digits, carries
