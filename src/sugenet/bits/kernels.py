"""The compiled kernels: one lane per neuron, written as LLVM vector instructions.

A lane of a vector belongs to one neuron. A word of the sample is broadcast to all lanes and combined with the
words of eight neurons. The ones are counted and added, so no sum runs across a vector. A *tile* of `ROWS`
samples and `VECTORS` vectors keeps its sums in registers while it iterates over the words; comparing the sums
with the limits gives the packed output bits.

*Missed* literals are counted: with ``missed = |Lam| - M``, a neuron is active iff ``missed <= |Lam| - tau``.
Two kinds of tiles differ in how they find them:

- ``DENSE``, no weight is 0. Words are stored as running XORs, ``P[k] = a[0] ^ ... ^ a[k]`` where
  ``a = x ^ w``; the running XOR of a difference is the difference of the running XORs, so both sides are
  precomputed. Each coordinate of P starts at 0 and changes once per missed literal, so it falls from
  1 to 0 once for every two of them: ``missed = 2 * falls + ones(P[last])``. Two falls in succession exclude
  each other, so those of two words go into one word, ``P[k+1] ? ~P[k+2] : P[k]``, and are counted together.
  That is five operations for two words, where XOR, count and add take six.
- ``TERNARY``, some weights are 0: ``missed = x ? negative : positive``, three operations per word.

Two functions use these tiles: `_layers` for neurons over one input space, `_maps` for convolutions and
pooling. A convolution gathers the words under its window for a block of `BLOCK` positions, word by word,
``patches[word][position]``; the same tiles then read positions in place of samples. Maps lie in the *arena*
as ``[sample][word of the channels][pixel]`` with their padding around them, so that neighbouring positions
read neighbouring words. A third kind of tile, ``LEVELS``, reads bytes instead of bits, four at a time.

All compiled code is in this file and in `sugenet.bits.emitters`: the cache on disk is renewed when one of the
two changes.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import register_jitable

from sugenet.bits import emitters
from sugenet.bits.compile_policy import is_ready
from sugenet.bits.emitters import (
    I32,
    I64,
    SUM_LANES,
    SUMS,
    call,
    emitted,
    everywhere,
    int64,
    load,
    loop,
    weighted_sums,
)
from sugenet.bits.level_kernels import KERNEL as LEVELS_KERNEL
from sugenet.compiling import njit

__all__ = [
    "BLOCK",
    "DENSE",
    "LANES",
    "LEVELS",
    "LEVEL_LANES",
    "LEVEL_NEURONS",
    "NEURONS",
    "PITCH",
    "POOL",
    "ROWS",
    "SAMPLES",
    "TERNARY",
    "VECTORS",
    "is_on_disk",
    "load_kernel",
    "ones",
]

DENSE, TERNARY, LEVELS, POOL = range(4)
ROWS, VECTORS, LANES = 4, 2, 8  # a tile: 4 samples x 2 vectors of 8 neurons
NEURONS = VECTORS * LANES
SAMPLES = 64  # samples that pass through all layers together while their words stay in the first cache
BLOCK = 64  # positions of a convolution whose words are gathered together
# words from one word of a gathered block to the next: a whole vector may be written at the end of a row
PITCH = BLOCK + LANES
LEVEL_LANES, LEVEL_NEURONS = SUM_LANES, 32  # a tile over levels: 4 positions x 2 vectors of 16 neurons

_VECTOR = ir.VectorType(I64, LANES)
_ZERO = ir.Constant(_VECTOR, [0] * LANES)


def ones(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Count the 1 bits of each lane."""
    return call(b, f"llvm.ctpop.v{LANES}i64", value.type, [value])


def _falls(context: Any, b: ir.IRBuilder, before: ir.Value, middle: ir.Value, after: ir.Value) -> ir.Value:
    """``middle ? ~after : before``.

    LLVM emits two instructions even if AVX-512 has one for it, so that one is requested by name.
    """
    if "+avx512f" in context.codegen().magic_tuple()[2]:
        arguments = [middle, after, before, ir.Constant(I32, 0b00111010)]
        return call(b, "llvm.x86.avx512.pternlog.q.512", _VECTOR, arguments)
    return b.or_(b.and_(middle, b.not_(after)), b.and_(b.not_(middle), before))


class _Tile:
    """Emits the instructions of one tile; the cells are (sample, vector) pairs, each with its own sum.

    `pointers` are the words of the samples, the steps from sample to sample and from word to word, and the
    words of the neurons.
    """

    def __init__(
        self,
        context: Any,
        b: ir.IRBuilder,
        kind: int,
        rows: int,
        pointers: tuple[ir.Value, ...],
        words: ir.Value,
    ) -> None:
        self.context, self.b, self.kind, self.rows, self.words = context, b, kind, rows, words
        self.inputs, self.row_step, self.word_step, self.weights = pointers
        self.cells = [(row, vector) for row in range(rows) for vector in range(VECTORS)]

    def sample(self, k: ir.Value, row: int) -> ir.Value:
        """Return word `k` of one sample, in all lanes."""
        b = self.b
        index = b.add(b.mul(self.row_step, int64(row)), b.mul(self.word_step, k))
        return everywhere(b, b.load(b.gep(self.inputs, [index])), LANES)

    def neurons(self, k: ir.Value) -> list[ir.Value]:
        """Return word `k` of each neuron, one lane each."""
        b, vectors = self.b, []
        for vector in range(VECTORS):
            index = b.add(b.mul(k, int64(VECTORS)), int64(vector))
            # the weights begin at a cache line; promising less costs nothing and cannot crash
            vectors.append(load(b, b.gep(self.weights, [index]), _VECTOR, 8))
        return vectors

    def missed(self) -> dict[tuple[int, int], ir.Value]:
        """Emit the loop over all words and return the sum of each cell."""
        return self._dense() if self.kind == DENSE else self._masked()

    def _dense(self) -> dict[tuple[int, int], ir.Value]:
        b, cells = self.b, self.cells
        odd, even = b.function.append_basic_block("odd"), b.function.append_basic_block("even")
        b.cbranch(b.trunc(self.words, ir.IntType(1)), odd, even)
        b.position_at_end(odd)
        w = self.neurons(int64(0))
        first = {(row, vector): b.xor(self.sample(int64(0), row), w[vector]) for row, vector in cells}
        head, body, done = (b.function.append_basic_block(name) for name in ("head", "body", "done"))
        for block in (odd, even):
            with b.goto_block(block):
                b.branch(head)
        b.position_at_end(head)
        k = b.phi(I64)
        k.add_incoming(int64(1), odd)
        k.add_incoming(int64(0), even)
        before, total = {c: b.phi(_VECTOR) for c in cells}, {c: b.phi(_VECTOR) for c in cells}
        for c in cells:
            before[c].add_incoming(first[c], odd)
            before[c].add_incoming(_ZERO, even)
            total[c].add_incoming(_ZERO, odd)
            total[c].add_incoming(_ZERO, even)
        b.cbranch(b.icmp_signed("<", k, self.words), body, done)
        b.position_at_end(body)
        following = b.add(k, int64(1))
        w, w_following = self.neurons(k), self.neurons(following)
        # one sample after another: all at once, the words do not fit in the registers
        for row in range(self.rows):
            x, x_following = self.sample(k, row), self.sample(following, row)
            for vector in range(VECTORS):
                c = row, vector
                after = b.xor(x_following, w_following[vector])
                falls = _falls(self.context, b, before[c], b.xor(x, w[vector]), after)
                total[c].add_incoming(b.add(total[c], ones(b, falls)), body)
                before[c].add_incoming(after, body)
        k.add_incoming(b.add(k, int64(2)), body)
        b.branch(head)
        b.position_at_end(done)
        return {c: b.add(b.add(total[c], total[c]), ones(b, before[c])) for c in cells}

    def _masked(self) -> dict[tuple[int, int], ir.Value]:
        b = self.b
        with loop(b, self.words, [_ZERO] * len(self.cells)) as (k, totals, following):
            twice = b.mul(k, int64(2))
            positive, negative = self.neurons(twice), self.neurons(b.add(twice, int64(1)))
            for row in range(self.rows):
                x = self.sample(k, row)
                opposite = b.not_(x)
                for vector in range(VECTORS):
                    missed = b.or_(b.and_(opposite, positive[vector]), b.and_(x, negative[vector]))
                    following.append(b.add(totals[row * VECTORS + vector], ones(b, missed)))
        return dict(zip(self.cells, totals, strict=True))


def _active(b: ir.IRBuilder, comparison: str, sums: list[ir.Value], limits: ir.Value) -> ir.Value:
    """Compare sums with the limits at an index and return the result as one integer, the first lane its
    lowest bit.
    """
    lanes = sums[0].type.count
    packed = ir.IntType(lanes * len(sums))
    value: ir.Value = ir.Constant(packed, 0)
    for vector, total in enumerate(sums):
        limit = b.load(b.gep(limits, [int64(vector)]))
        limit.align = total.type.element.width // 8
        active = b.bitcast(b.icmp_signed(comparison, total, limit), ir.IntType(lanes))
        value = b.or_(value, b.shl(b.zext(active, packed), ir.Constant(packed, vector * lanes)))
    return value


def _tile(kind: int, rows: int, *, bits: bool) -> Any:
    """Return the function that computes one tile and writes packed activity (`bits`) or the missed counts as
    int32.
    """

    def emit(context, b, x, x_at, stride, w, w_at, words, limit, limit_at, out, out_at, out_stride):  # type: ignore[no-untyped-def]
        pointers = (b.gep(x, [x_at]), stride, int64(1), _vectors(b, w, w_at))
        missed = _Tile(context, b, kind, rows, pointers, words).missed()
        if bits:
            # indices in `out` count in units of NEURONS bits
            first = b.gep(b.bitcast(out, ir.IntType(NEURONS).as_pointer()), [out_at])
            for row in range(rows):
                sums = [missed[row, vector] for vector in range(VECTORS)]
                value = _active(b, "<=", sums, _vectors(b, limit, limit_at))
                b.store(value, b.gep(first, [b.mul(out_stride, int64(row))])).align = 1
        else:
            narrow, first = ir.VectorType(I32, LANES), b.gep(out, [out_at])
            for row, vector in missed:
                position = b.add(b.mul(out_stride, int64(row)), int64(vector * LANES))
                target = b.bitcast(b.gep(first, [position]), narrow.as_pointer())
                b.store(b.trunc(missed[row, vector], narrow), target).align = 4

    return emitted(emit)


def _vectors(b: ir.IRBuilder, array: ir.Value, start: ir.Value) -> ir.Value:
    """Return a pointer to vectors at an index in an array of words."""
    return b.bitcast(b.gep(array, [start]), _VECTOR.as_pointer())


def _block(kind: int, *, bits: bool) -> Any:
    """Return the function that computes a block of neurons for all rows, complete tiles first."""
    tile, single = _tile(kind, ROWS, bits=bits), _tile(kind, 1, bits=bits)

    def run(x, words, weights, w, limits, at, out, out_at, out_stride, rows):  # type: ignore[no-untyped-def]
        tiled = rows - rows % ROWS
        for s in range(0, tiled, ROWS):
            out_row = out_at + s * out_stride
            tile(x, s * words, words, weights, w, words, limits, at, out, out_row, out_stride)
        for s in range(tiled, rows):
            out_row = out_at + s * out_stride
            single(x, s * words, words, weights, w, words, limits, at, out, out_row, out_stride)

    return register_jitable(inline="always")(run)  # a separate call takes a few percent


_dense_bits, _dense_counts = _block(DENSE, bits=True), _block(DENSE, bits=False)
_ternary_bits, _ternary_counts = _block(TERNARY, bits=True), _block(TERNARY, bits=False)


def _layers(x, start, stop, plan, weights, limits, sizes, now, then, wide, counts, activity):  # type: ignore[no-untyped-def]
    """Pass samples start..stop through all layers of `plan`; the last one writes `counts`, or `activity` if
    `counts` has no rows.

    A row of `plan`: kind, words, tail mask, neurons, blocks of `NEURONS` neurons, index in `weights`, index
    in `limits`, output words. `now` and `then` hold the words of `SAMPLES` samples before and after a layer,
    `wide` the counts of one block of neurons.
    """
    last = plan.shape[0] - 1
    for base in range(start, stop, SAMPLES):
        rows = min(SAMPLES, stop - base)
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
                        _dense_counts(now, words, weights, w, limits, at, wide, 0, NEURONS, rows)
                    else:
                        _ternary_counts(now, words, weights, w, limits, at, wide, 0, NEURONS, rows)
                    first = j * NEURONS
                    for s in range(rows):
                        for i in range(min(NEURONS, neurons - first)):
                            counts[base + s, first + i] = sizes[at + i] - wide[s * NEURONS + i]
            else:
                stride = out_words * 64 // NEURONS
                for s in range(rows):
                    # the last word may reach beyond the last block
                    then[(s + 1) * out_words - 1] = np.uint64(0)
                for j in range(blocks):
                    w, at = w0 + j * block_words, limit0 + j * NEURONS
                    if kind == DENSE:
                        _dense_bits(now, words, weights, w, limits, at, then, j, stride, rows)
                    else:
                        _ternary_bits(now, words, weights, w, limits, at, then, j, stride, rows)
                now, then = then, now
        if counts.shape[0] == 0:
            out_words = plan[last, 7]
            for s in range(rows):
                for k in range(out_words):
                    activity[base + s, k] = now[s * out_words + k]


def _map_tile(kind: int) -> Any:
    """Return the intrinsic that computes one tile of positions, whose limits and indices in `out` are looked
    up one by one.

    `rows` has three rows: the start of a position in `x` (used only for ``LEVELS``, whose four bytes then
    begin at `offsets`), in `out` and in `limit`. Indices in `out` count in units of 16 bits.
    """

    def emit(context, b, x, rows, r, offsets, offset_at, w, w_at, words, limit, limit_at, out, out_at):  # type: ignore[no-untyped-def]
        def of_row(which: int, row: int) -> ir.Value:
            return b.load(b.gep(rows, [b.add(r, int64(which * BLOCK + row))]))

        vector, comparison = (SUMS, ">=") if kind == LEVELS else (_VECTOR, "<=")
        weights = b.bitcast(b.gep(w, [w_at]), vector.as_pointer())
        if kind == LEVELS:
            starts = [b.gep(x, [of_row(0, row)]) for row in range(ROWS)]
            vectors = range(LEVEL_NEURONS // LEVEL_LANES)
            first = b.gep(offsets, [offset_at])
            sums = weighted_sums(context, b, starts, first, weights, vectors, len(vectors), words)
        else:
            first = b.gep(x, [b.add(r, int64(PITCH))])  # after the row of zeros
            pointers = (first, int64(1), int64(PITCH), weights)
            missed = _Tile(context, b, kind, ROWS, pointers, words).missed()
            sums = [[missed[row, part] for part in range(VECTORS)] for row in range(ROWS)]
        limits = b.bitcast(limit, vector.element.as_pointer())
        halves = b.bitcast(out, ir.IntType(16).as_pointer())
        for row in range(ROWS):
            limit_row = b.gep(limits, [b.add(of_row(2, row), limit_at)])
            value = _active(b, comparison, sums[row], b.bitcast(limit_row, vector.as_pointer()))
            target = b.gep(halves, [b.add(of_row(1, row), out_at)])
            b.store(value, b.bitcast(target, value.type.as_pointer())).align = 1

    return emitted(emit)


@emitted
def _gather(_, b, arena, source, step, patches, index, count, running):  # type: ignore[no-untyped-def]
    """Copy `count` words, `step` apart, into a row of `patches`; if `running`, XOR the row before to them.

    Neighbours are copied in complete vectors, so up to `LANES` - 1 more words are read and written. The rows
    are that much longer, and the next positions overwrite the excess.
    """
    first, target = b.gep(arena, [source]), b.gep(patches, [index])
    after = b.function.append_basic_block("after")

    def copy(kind: Any, stride: int) -> None:
        entry, body = b.block, b.function.append_basic_block("gather")
        b.branch(body)
        b.position_at_end(body)
        i = b.phi(I64)
        i.add_incoming(int64(0), entry)
        word = load(b, b.gep(first, [b.mul(i, step)]), kind, 8)
        before = load(b, b.gep(target, [b.sub(i, int64(PITCH))]), kind, 8)
        kept = b.select(running, before, ir.Constant(kind, None))
        b.store(b.xor(word, kept), b.bitcast(b.gep(target, [i]), kind.as_pointer())).align = 8
        following = b.add(i, int64(stride))
        i.add_incoming(following, body)
        b.cbranch(b.icmp_signed("<", following, count), body, after)

    alike, apart = b.function.append_basic_block("alike"), b.function.append_basic_block("apart")
    b.cbranch(b.icmp_signed("==", step, int64(1)), alike, apart)
    b.position_at_end(alike)
    copy(_VECTOR, LANES)
    b.position_at_end(apart)
    copy(I64, 1)
    b.position_at_end(after)


_dense_map, _ternary_map, _level_map = _map_tile(DENSE), _map_tile(TERNARY), _map_tile(LEVELS)


@register_jitable
def _read_maps(x, octets, base, samples, source, arena, bytes_):  # type: ignore[no-untyped-def]
    """Copy samples into the arena, or levels into `bytes_`, inside their padding.

    `source`: channels, height, width, words per pixel, mask of the last word, words of a sample in the arena.
    Then the index of the first pixel, and width with padding; for levels all of them in bytes.
    """
    channels, height, width, words = source[0], source[1], source[2], source[3]
    mask, size, first, pitch = np.uint64(source[4]), source[5], source[6], source[7]
    if x.shape[0] > 0:
        plane = size // words
        for s in range(samples):
            for k in range(words):
                keep = mask if k == words - 1 else ~np.uint64(0)
                for row in range(height):
                    index = s * size + k * plane + first + row * pitch
                    for column in range(width):
                        arena[index + column] = x[base + s, row * width + column, k] & keep
    else:
        for s in range(samples):
            for c in range(channels):
                for row in range(height):
                    index, at = s * size + first + row * pitch * channels + c, (c * height + row) * width
                    for column in range(width):
                        bytes_[index + column * channels] = octets[base + s, at + column]


@register_jitable
def _pool(plan, samples, positions, offsets, masks, arena):  # type: ignore[no-untyped-def]
    """Compute any or every input of a window: flip the channels that need every one, OR, flip back."""
    in_at, in_size, out_at, out_size, count, words = plan[1], plan[2], plan[3], plan[4], plan[5], plan[10]
    first, taps, mask_at = plan[11], plan[12], plan[13]
    in_plane, out_plane = in_size // words, out_size // words
    for s in range(samples):
        for k in range(words):
            mask = masks[mask_at + k]
            source, target = in_at + s * in_size + k * in_plane, out_at + s * out_size + k * out_plane
            for p in range(count):
                pooled = np.uint64(0)
                for tap in range(first, first + taps):
                    pooled |= arena[source + positions[plan[6] + p, 0] + offsets[tap]] ^ mask
                arena[target + positions[plan[6] + p, 1]] = pooled ^ mask


def _maps(  # type: ignore[no-untyped-def]
    x,
    octets,
    start,
    stop,
    batch,
    source,
    plan,
    blocks,
    positions,
    offsets,
    weights,
    limits,
    arena,
    bytes_,
    patches,
    rows,
    out,
):
    """Pass samples start..stop through convolutions and pooling, `batch` at a time, and write the maps of the
    last layer to `out`.

    A row of `plan`:

    - kind
    - index in the arena and words of a sample, for input and for output
    - number of positions, index of the first of them in `positions`, positions in a row, step between them
    - first and last block of neurons; for pooling words, first tap, taps and index of the mask

    A row of `blocks`: index in `weights`, words, index in `offsets`, index in a row of limits, index in a row
    of output. Last, whether its words differ from those of the block before. A row of `positions`: index of
    the input under the first tap, of the output, and of the limits. `rows` holds the same three for a block
    of positions. Row 0 of `patches` is zero.
    """
    last = plan.shape[0] - 1
    for base in range(start, stop, batch):
        samples = min(batch, stop - base)
        _read_maps(x, octets, base, samples, source, arena, bytes_)  # type: ignore[no-untyped-call]
        for layer in range(last + 1):
            kind = plan[layer, 0]
            if kind == POOL:
                _pool(plan[layer], samples, positions, offsets, weights, arena)  # type: ignore[no-untyped-call]
                continue
            in_at, in_size, out_at, out_size = plan[layer, 1], plan[layer, 2], plan[layer, 3], plan[layer, 4]
            count, first, width, step = plan[layer, 5], plan[layer, 6], plan[layer, 7], plan[layer, 8]
            total = samples * count
            s, p = 0, 0
            for r0 in range(0, total, BLOCK):
                column = p % width
                # rows that fill up the first tile, each overwritten by row `idle`
                idle = (r0 - total) % ROWS if total - r0 < BLOCK else 0
                size = min(BLOCK, idle + total - r0)
                for r in range(idle, size):
                    rows[0, r] = in_at + s * in_size + positions[first + p, 0]
                    rows[1, r] = 4 * (out_at + s * out_size + positions[first + p, 1])
                    rows[2, r] = positions[first + p, 2]
                    p += 1
                    if p == count:
                        s, p = s + 1, 0
                for r in range(idle):
                    for which in range(3):
                        rows[which, r] = rows[which, idle]
                for j in range(plan[layer, 9], plan[layer, 10]):
                    w, words, offset, limit, index = (
                        blocks[j, 0],
                        blocks[j, 1],
                        blocks[j, 2],
                        blocks[j, 3],
                        blocks[j, 4],
                    )
                    if blocks[j, 5]:
                        r, run = idle, width - column
                        while r < size:
                            run = min(run, size - r)
                            for k in range(words):
                                _gather(
                                    arena,
                                    rows[0, r] + offsets[offset + k],
                                    step,
                                    patches,
                                    (k + 1) * PITCH + r,
                                    run,
                                    kind == DENSE,
                                )
                            r, run = r + run, width
                    if kind == DENSE:
                        for r in range(0, size, ROWS):
                            _dense_map(
                                patches,
                                rows,
                                r,
                                offsets,
                                offset,
                                weights,
                                w,
                                words,
                                limits,
                                limit,
                                arena,
                                index,
                            )
                    elif kind == TERNARY:
                        for r in range(0, size, ROWS):
                            _ternary_map(
                                patches,
                                rows,
                                r,
                                offsets,
                                offset,
                                weights,
                                w,
                                words,
                                limits,
                                limit,
                                arena,
                                index,
                            )
                    else:
                        for r in range(0, size, ROWS):
                            _level_map(
                                bytes_,
                                rows,
                                r,
                                offsets,
                                offset,
                                weights,
                                w,
                                words,
                                limits,
                                limit,
                                arena,
                                index,
                            )
        out_at, out_size = plan[last, 3], plan[last, 4]
        for s in range(samples):
            for k in range(out.shape[2]):
                for pixel in range(out.shape[1]):
                    out[base + s, pixel, k] = arena[out_at + s * out_size + k * out.shape[1] + pixel]


_PLACE, _FLAT, _TABLE = types.intp, types.uint64[::1], types.uint64[:, ::1]
_INTS, _NARROW, _COUNTS = types.int64[::1], types.int32[::1], types.int32[:, ::1]
_PLAN = types.int64[:, ::1]
_INPUT, _OCTETS = (
    types.Array(types.uint64, 2, "C", readonly=True),
    types.Array(types.uint8, 2, "C", readonly=True),
)
_MAPS, _BYTES = types.Array(types.uint64, 3, "C", readonly=True), types.uint8[::1]
_KERNELS: dict[str, tuple[Callable[..., Any], Any]] = {
    "layers": (
        _layers,
        types.void(
            _INPUT, _PLACE, _PLACE, _PLAN, _FLAT, _INTS, _INTS, _FLAT, _FLAT, _NARROW, _COUNTS, _TABLE
        ),
    ),
    "maps": (
        _maps,
        types.void(
            *(_MAPS, _OCTETS, _PLACE, _PLACE, _PLACE, _INTS, _PLAN, _PLAN, _PLAN, _INTS, _FLAT, _INTS),
            *(_FLAT, _BYTES, _FLAT, _PLAN, types.uint64[:, :, ::1]),
        ),
    ),
}


def load_kernel(name: str) -> Any:
    """Return the kernel `name` ("layers", "maps", "levels") from the cache on disk, or compile it now."""
    function, signature = LEVELS_KERNEL if name == "levels" else _KERNELS[name]
    return _compiled(function, signature, (True, False))


def is_on_disk(name: str) -> bool:
    """Return whether the kernel `name` is in the cache on disk."""
    function, signature = LEVELS_KERNEL if name == "levels" else _KERNELS[name]
    try:
        return is_ready(_jitted(function, cache=True), signature.args)
    except Exception:  # a folder that is not writable has no cache
        return False


def _compiled(function: Callable[..., Any], signature: Any, caches: Iterable[bool]) -> Any:
    """Compile with the first kind of cache that works: a folder that is not writable, or a damaged file in
    it, only costs time.
    """
    *tries, final = caches
    for cache in tries:
        try:
            return _compiled(function, signature, [cache])
        except Exception:  # numba and the file system raise many types here; the last try shows a real error
            continue
    kernel = _jitted(function, cache=final)
    kernel.compile(signature)
    kernel.disable_compile()
    return kernel


def _jitted(function: Callable[..., Any], *, cache: bool) -> Any:
    """Return the uncompiled kernel of a function, cached on disk until its file or the emitters change."""
    kernel = njit(nogil=True, cache=cache)(function)
    index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if index is not None:
        files = [Path(file).stat() for file in (function.__code__.co_filename, str(emitters.__file__))]
        index._source_stamp = tuple((info.st_mtime, info.st_size) for info in files)
    return kernel
