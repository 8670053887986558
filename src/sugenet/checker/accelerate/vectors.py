"""Vector operations in compiled code, for `walk`, `digits` and `branching`.

To be ensured: each function does what its docstring says. ``b`` builds LLVM instructions. In vectors of words
every bit is separate, so one full adder sums as many triples of bits as a vector has.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped"
# mypy: disable-error-code="call-arg,var-annotated"

import inspect
from functools import partial

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "WORD",
    "bits_in",
    "called",
    "emitted",
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


def _plain(context, b, kind, value):
    return context.make_array(kind)(context, b, value).data if isinstance(kind, nb.types.Array) else value


def emitted(result):
    """Return a decorator that makes a function of compiled code from one that emits its instructions.

    The latter takes the builder, then arrays as pointers to their data, and integers of 64 bits. It returns
    the result, a list if that is a tuple, or nothing.
    """

    def decorated(emit):
        def typed(_typing, *kinds):
            def code(context, b, signature, arguments):
                made = emit(b, *map(partial(_plain, context, b), signature.args, arguments))
                if isinstance(made, list):
                    return context.make_tuple(b, signature.return_type, made)
                return context.get_dummy_value() if made is None else made

            return result(*(kind if isinstance(kind, nb.types.Array) else _I64 for kind in kinds)), code

        # numba reads the names; the first is its own
        typed.__signature__ = inspect.signature(emit)  # type: ignore[attr-defined]
        return intrinsic(typed)

    return decorated


@emitted(_I64)
def lowest(b, word):
    """Return the index of the lowest set bit; 64 if there is none."""
    return b.cttz(word, ir.Constant(ir.IntType(1), 0))


@emitted(_I64)
def ones(b, word):
    """Return the number of set bits."""
    return b.ctpop(word)


@emitted(_U64)
def reaches(b, sums, at, rows, of):
    """Return which of 64 sums are 0 or more after adding a row; positions are in flat arrays of one item
    size.
    """
    vector = ir.VectorType(sums.type.pointee, 64)
    return signs(b, b.add(loaded(b, sums, at, vector), loaded(b, rows, of, vector)))


@emitted(nb.types.void)
def fetch(b, words, index):
    """Prefetch an element of a flat array; this has no other effect."""
    spot = b.bitcast(b.gep(words, [index]), ir.IntType(8).as_pointer())
    hints = (ir.Constant(ir.IntType(32), value) for value in (1, 3, 1))
    called(b, "llvm.prefetch.p0i8", ir.VoidType(), [spot, *hints])


def called(b, name, result, arguments):
    """Call an instruction of LLVM by its name."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), arguments)


def number(value):
    """Return an integer constant."""
    return ir.Constant(WORD, value)


def loaded(b, array, index, vector):
    """Load a vector from an array at an index."""
    value = b.load(b.bitcast(b.gep(array, [index]), vector.as_pointer()))
    value.align = vector.element.width // 8
    return value


def stored(b, array, index, value):
    """Store a vector in an array at an index."""
    spot = b.bitcast(b.gep(array, [index]), value.type.as_pointer())
    b.store(value, spot).align = value.type.element.width // 8


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
    count = called(b, f"llvm.ctpop.v{vector.type.count}i64", vector.type, [vector])
    return called(b, f"llvm.vector.reduce.add.v{vector.type.count}i64", WORD, [count])


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
