"""The compiled kernels: one lane per neuron, written as LLVM vector instructions.

A lane of a vector belongs to one neuron. A word of the sample is broadcast to all lanes, combined with the words of eight neurons, and the
ones are counted and added, so no sum runs across a vector. A *tile* of `ROWS` samples and `VECTORS` vectors keeps its sums in registers
while it walks over the words; comparing the sums with the limits gives the packed output bits.

*Missed* literals are counted: with ``missed = |Lam| - M``, a neuron is active iff ``missed <= |Lam| - tau``. Three kinds of tiles differ
in how they find them:

- ``DENSE``, no weight is 0. Words are stored as running XORs, ``P[k] = a[0] ^ ... ^ a[k]`` where ``a = x ^ w``; the running XOR of a
  difference is the difference of the running XORs, so both sides are prepared beforehand. Each coordinate of P starts at 0 and changes
  once per missed literal, so it falls from 1 to 0 once for every two of them: ``missed = 2 * falls + ones(P[last])``. Two falls in
  succession exclude each other, so those of two words go into one word, ``P[k+1] ? ~P[k+2] : P[k]``, and are counted together. That is
  five operations for two words, where XOR, count and add take six.
- ``TERNARY``, some weights are 0: ``missed = x ? negative : positive``, three operations a word.
- ``POLARIZED``, for inputs of which only some are known: both literals of a coordinate are given, four operations a word.

All compiled code is in this file, since the cache on disk is renewed when *this* file changes.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic

__all__ = ["DENSE", "LANES", "NEURONS", "POLARIZED", "ROWS", "SAMPLES", "TERNARY", "VECTORS", "load"]

DENSE, TERNARY, POLARIZED = 0, 1, 2
ROWS, VECTORS, LANES = 4, 2, 8  # a tile: 4 samples x 2 vectors of 8 neurons
NEURONS = VECTORS * LANES
SAMPLES = 64  # samples that go through all layers together while their words stay in the first cache

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_I64, LANES)
_ZERO = ir.Constant(_VECTOR, [0] * LANES)


def _int(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


def _instruction(b: ir.IRBuilder, name: str, arguments: list[ir.Value]) -> ir.Value:
    kind = ir.FunctionType(_VECTOR, [argument.type for argument in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), arguments)  # type: ignore[no-untyped-call]


def _falls(context: Any, b: ir.IRBuilder, before: ir.Value, middle: ir.Value, after: ir.Value) -> ir.Value:
    """``middle ? ~after : before``. LLVM makes two instructions of it where AVX-512 has one, so that one is asked for by name."""
    if "+avx512f" in context.codegen().magic_tuple()[2]:
        return _instruction(b, "llvm.x86.avx512.pternlog.q.512", [middle, after, before, ir.Constant(_I32, 0b00111010)])
    return b.or_(b.and_(middle, b.not_(after)), b.and_(b.not_(middle), before))


class _Tile:
    """Emits the instructions of one tile; the cells are (sample, vector) pairs, each with its own sum."""

    def __init__(self, context: Any, b: ir.IRBuilder, kind: int, rows: int, pointers: tuple[ir.Value, ...], words: ir.Value) -> None:
        self.context, self.b, self.kind, self.rows, self.words = context, b, kind, rows, words
        self.inputs, self.others, self.stride, self.weights = pointers
        self.cells = [(row, vector) for row in range(rows) for vector in range(VECTORS)]

    def count(self, value: ir.Value) -> ir.Value:
        return _instruction(self.b, f"llvm.ctpop.v{LANES}i64", [value])

    def sample(self, k: ir.Value, row: int, source: ir.Value) -> ir.Value:
        """Word `k` of one sample, in all lanes."""
        b = self.b
        undefined, first = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
        word = b.load(b.gep(source, [b.add(b.mul(self.stride, _int(row)), k)]))
        return b.shuffle_vector(b.insert_element(undefined, word, ir.Constant(_I32, 0)), undefined, first)

    def neurons(self, k: ir.Value) -> list[ir.Value]:
        """Word `k` of each neuron, one lane each."""
        b, vectors = self.b, []
        for vector in range(VECTORS):
            words = b.load(b.gep(self.weights, [b.add(b.mul(k, _int(VECTORS)), _int(vector))]))
            words.align = 8  # the weights begin at a cache line; promising less costs nothing and cannot crash
            vectors.append(words)
        return vectors

    def missed(self) -> dict[tuple[int, int], ir.Value]:
        """Emit the walk over all words and return the sum of each cell."""
        return self._dense() if self.kind == DENSE else self._masked()

    def _loop(self, starts: list[tuple[ir.Value, ir.Block]], step: int) -> tuple[ir.PhiInstr, ir.Block, ir.Block]:
        b = self.b
        head, body, done = (b.function.append_basic_block(name) for name in ("head", "body", "done"))
        b.position_at_end(head)
        k = b.phi(_I64)
        for value, block in starts:
            with b.goto_block(block):
                b.branch(head)
            k.add_incoming(value, block)
        b.position_at_end(body)
        k.add_incoming(b.add(k, _int(step)), body)
        b.position_at_end(head)
        return k, body, done

    def _dense(self) -> dict[tuple[int, int], ir.Value]:
        b, cells = self.b, self.cells
        odd, even = b.function.append_basic_block("odd"), b.function.append_basic_block("even")
        b.cbranch(b.trunc(self.words, ir.IntType(1)), odd, even)
        b.position_at_end(odd)
        w = self.neurons(_int(0))
        first = {(row, vector): b.xor(self.sample(_int(0), row, self.inputs), w[vector]) for row, vector in cells}
        k, body, done = self._loop([(_int(1), odd), (_int(0), even)], step=2)
        before, total = {c: b.phi(_VECTOR) for c in cells}, {c: b.phi(_VECTOR) for c in cells}
        for c in cells:
            before[c].add_incoming(first[c], odd)
            before[c].add_incoming(_ZERO, even)
            total[c].add_incoming(_ZERO, odd)
            total[c].add_incoming(_ZERO, even)
        b.cbranch(b.icmp_signed("<", k, self.words), body, done)
        b.position_at_end(body)
        following = b.add(k, _int(1))
        w, w_following = self.neurons(k), self.neurons(following)
        for row in range(self.rows):  # one sample after the other: all at once, the words do not fit in the registers
            x, x_following = self.sample(k, row, self.inputs), self.sample(following, row, self.inputs)
            for vector in range(VECTORS):
                c = row, vector
                after = b.xor(x_following, w_following[vector])
                falls = _falls(self.context, b, before[c], b.xor(x, w[vector]), after)
                total[c].add_incoming(b.add(total[c], self.count(falls)), body)
                before[c].add_incoming(after, body)
        b.branch(k.parent)
        b.position_at_end(done)
        return {c: b.add(b.add(total[c], total[c]), self.count(before[c])) for c in cells}

    def _masked(self) -> dict[tuple[int, int], ir.Value]:
        b, cells = self.b, self.cells
        k, body, done = self._loop([(_int(0), b.block)], step=1)
        entry = k.incomings[0][1]
        total = {c: b.phi(_VECTOR) for c in cells}
        for c in cells:
            total[c].add_incoming(_ZERO, entry)
        b.cbranch(b.icmp_signed("<", k, self.words), body, done)
        b.position_at_end(body)
        twice = b.mul(k, _int(2))
        positive, negative = self.neurons(twice), self.neurons(b.add(twice, _int(1)))
        for row in range(self.rows):
            x = self.sample(k, row, self.inputs)
            no_positive = b.not_(x) if self.kind == TERNARY else x
            no_negative = x if self.kind == TERNARY else self.sample(k, row, self.others)
            for vector in range(VECTORS):
                missed = b.or_(b.and_(no_positive, positive[vector]), b.and_(no_negative, negative[vector]))
                total[row, vector].add_incoming(b.add(total[row, vector], self.count(missed)), body)
        b.branch(k.parent)
        b.position_at_end(done)
        return dict(total)


def _tile(kind: int, rows: int, *, bits: bool) -> Any:
    """Return the intrinsic that does one tile and writes packed activity (`bits`) or the missed counts as int32."""

    def typed(_, x, other, x_at, stride, w, w_at, words, limit, limit_at, out, out_at, out_stride):  # type: ignore[no-untyped-def]  # noqa: ARG001
        place = types.intp
        signature = types.void(x, other, place, place, w, place, place, limit, place, out, place, place)

        def emit(context: Any, b: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            def data(array: int) -> ir.Value:
                return context.make_array(signature.args[array])(context, b, args[array]).data

            def vectors(array: int, start: int) -> ir.Value:
                return b.bitcast(b.gep(data(array), [args[start]]), _VECTOR.as_pointer())

            pointers = (b.gep(data(0), [args[2]]), b.gep(data(1), [args[2]]), args[3], vectors(4, 5))
            missed = _Tile(context, b, kind, rows, pointers, args[6]).missed()
            if bits:
                packed, limits = ir.IntType(NEURONS), vectors(7, 8)
                out = b.gep(b.bitcast(data(9), packed.as_pointer()), [args[10]])  # places in `out` count in units of NEURONS bits
                for row in range(rows):
                    value: ir.Value = ir.Constant(packed, 0)
                    for vector in range(VECTORS):
                        limit = b.load(b.gep(limits, [_int(vector)]))
                        limit.align = 8
                        active = b.bitcast(b.icmp_signed("<=", missed[row, vector], limit), ir.IntType(LANES))
                        value = b.or_(value, b.shl(b.zext(active, packed), ir.Constant(packed, vector * LANES)))
                    b.store(value, b.gep(out, [b.mul(args[11], _int(row))])).align = 1
            else:
                narrow = ir.VectorType(_I32, LANES)
                out = b.gep(data(9), [args[10]])
                for row, vector in missed:
                    place = b.add(b.mul(args[11], _int(row)), _int(vector * LANES))
                    target = b.bitcast(b.gep(out, [place]), narrow.as_pointer())
                    b.store(b.trunc(missed[row, vector], narrow), target).align = 4
            return context.get_dummy_value()

        return signature, emit

    return intrinsic(typed)


_dense_bits, _dense_bits_1 = _tile(DENSE, ROWS, bits=True), _tile(DENSE, 1, bits=True)
_dense_counts, _dense_counts_1 = _tile(DENSE, ROWS, bits=False), _tile(DENSE, 1, bits=False)
_ternary_bits, _ternary_bits_1 = _tile(TERNARY, ROWS, bits=True), _tile(TERNARY, 1, bits=True)
_ternary_counts, _ternary_counts_1 = _tile(TERNARY, ROWS, bits=False), _tile(TERNARY, 1, bits=False)
_polarized_counts, _polarized_counts_1 = _tile(POLARIZED, ROWS, bits=False), _tile(POLARIZED, 1, bits=False)


def _layers(x, start, stop, plan, weights, limits, sizes, now, then, wide, counts, activity):  # type: ignore[no-untyped-def]
    """Take samples start..stop through all layers of `plan`; the last one writes `counts`, or `activity` where `counts` has no rows.

    A row of `plan`: kind, words, tail mask, neurons, blocks of `NEURONS` neurons, place in `weights`, place in `limits`, output words.
    `now` and `then` hold the words of `SAMPLES` samples before and after a layer, `wide` the counts of one block of neurons.
    """
    last = plan.shape[0] - 1
    for base in range(start, stop, SAMPLES):
        rows = min(SAMPLES, stop - base)
        tiled = rows - rows % ROWS
        words = plan[0, 1]
        for s in range(rows):
            for k in range(words):
                now[s * words + k] = x[base + s, k]
            now[s * words + words - 1] &= np.uint64(plan[0, 2])
        for layer in range(last + 1):
            kind, words, neurons, blocks = plan[layer, 0], plan[layer, 1], plan[layer, 3], plan[layer, 4]
            w0, limit0, out_words = plan[layer, 5], plan[layer, 6], plan[layer, 7]
            block_words = words * NEURONS * (1 if kind == DENSE else 2)
            if kind == DENSE:
                for s in range(rows):
                    running = np.uint64(0)
                    for k in range(s * words, (s + 1) * words):
                        running ^= now[k]
                        now[k] = running
            if layer == last and counts.shape[0] > 0:
                for j in range(blocks):
                    w, at = w0 + j * block_words, limit0 + j * NEURONS
                    if kind == DENSE:
                        for s in range(0, tiled, ROWS):
                            _dense_counts(now, now, s * words, words, weights, w, words, limits, at, wide, s * NEURONS, NEURONS)
                        for s in range(tiled, rows):
                            _dense_counts_1(now, now, s * words, words, weights, w, words, limits, at, wide, s * NEURONS, NEURONS)
                    else:
                        for s in range(0, tiled, ROWS):
                            _ternary_counts(now, now, s * words, words, weights, w, words, limits, at, wide, s * NEURONS, NEURONS)
                        for s in range(tiled, rows):
                            _ternary_counts_1(now, now, s * words, words, weights, w, words, limits, at, wide, s * NEURONS, NEURONS)
                    first = j * NEURONS
                    for s in range(rows):
                        for i in range(min(NEURONS, neurons - first)):
                            counts[base + s, first + i] = sizes[at + i] - wide[s * NEURONS + i]
            else:
                stride = out_words * 64 // NEURONS
                for s in range(rows):
                    then[(s + 1) * out_words - 1] = np.uint64(0)  # the last word may reach beyond the last block
                for j in range(blocks):
                    w, at = w0 + j * block_words, limit0 + j * NEURONS
                    if kind == DENSE:
                        for s in range(0, tiled, ROWS):
                            _dense_bits(now, now, s * words, words, weights, w, words, limits, at, then, s * stride + j, stride)
                        for s in range(tiled, rows):
                            _dense_bits_1(now, now, s * words, words, weights, w, words, limits, at, then, s * stride + j, stride)
                    else:
                        for s in range(0, tiled, ROWS):
                            _ternary_bits(now, now, s * words, words, weights, w, words, limits, at, then, s * stride + j, stride)
                        for s in range(tiled, rows):
                            _ternary_bits_1(now, now, s * words, words, weights, w, words, limits, at, then, s * stride + j, stride)
                now, then = then, now
        if counts.shape[0] == 0:
            out_words = plan[last, 7]
            for s in range(rows):
                for k in range(out_words):
                    activity[base + s, k] = now[s * out_words + k]


def _polarized(no_positive, no_negative, start, stop, neurons, weights, limits, wide, counts):  # type: ignore[no-untyped-def]
    """Count the missed literals of one layer for samples given by the literals that do not hold."""
    words = no_positive.shape[1]
    x, other = no_positive.reshape(-1), no_negative.reshape(-1)
    for base in range(start, stop, SAMPLES):
        rows = min(SAMPLES, stop - base)
        tiled = rows - rows % ROWS
        for first in range(0, neurons, NEURONS):
            w = first * words * 2
            for s in range(0, tiled, ROWS):
                _polarized_counts(x, other, (base + s) * words, words, weights, w, words, limits, first, wide, s * NEURONS, NEURONS)
            for s in range(tiled, rows):
                _polarized_counts_1(x, other, (base + s) * words, words, weights, w, words, limits, first, wide, s * NEURONS, NEURONS)
            for s in range(rows):
                for i in range(min(NEURONS, neurons - first)):
                    counts[base + s, first + i] = wide[s * NEURONS + i]


_PLACE, _FLAT, _TABLE = types.intp, types.uint64[::1], types.uint64[:, ::1]
_INTS, _NARROW, _COUNTS = types.int64[::1], types.int32[::1], types.int32[:, ::1]
_PLAN = types.int64[:, ::1]
_INPUT = types.Array(types.uint64, 2, "C", readonly=True)
_KERNELS: dict[str, tuple[Callable[..., Any], Any]] = {
    "layers": (_layers, types.void(_INPUT, _PLACE, _PLACE, _PLAN, _FLAT, _INTS, _INTS, _FLAT, _FLAT, _NARROW, _COUNTS, _TABLE)),
    "polarized": (_polarized, types.void(_INPUT, _INPUT, _PLACE, _PLACE, _PLACE, _FLAT, _INTS, _NARROW, _COUNTS)),
}


class _Telling(event.Listener):
    """Says once that something is being compiled."""

    def __init__(self, notify: Callable[[str], None] | None) -> None:
        self.tell = notify

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if self.tell is not None:
            self.tell("compiling kernels, once for this machine (some seconds)")
            self.tell = None

    def on_end(self, event: Any) -> None:
        pass


def load(name: str, notify: Callable[[str], None] | None = None) -> Any:
    """Return the kernel `name` ("layers" or "polarized"), from the cache on disk or compiled now; `notify` hears of the latter first."""
    function, signature = _KERNELS[name]
    with event.install_listener("numba:compile", _Telling(notify)):
        return _compiled(function, signature, (True, False))


def _compiled(function: Callable[..., Any], signature: Any, caches: Iterable[bool]) -> Any:
    """Compile with the first kind of cache that works: a folder that cannot be written, or a damaged file in it, costs time only."""
    *tries, final = caches
    for cache in tries:
        try:
            return _compiled(function, signature, [cache])
        except Exception:  # numba and the file system raise many types here; the last try shows a real error
            continue
    kernel = njit(nogil=True, cache=final)(function)
    kernel.compile(signature)
    kernel.disable_compile()
    return kernel
