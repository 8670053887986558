"""The compiled kernel over levels: products of bytes, sums of 32 bits, and steps in one pass.

Maps are stored in the *arena* as ``[sample][pixel][channel]``, one byte per level, with their padding around
them. A dense layer is a convolution whose window is the whole map. Four neighbouring bytes, a *quad*, are
multiplied by the four weights of each of 16 neurons in one instruction if the processor has it (VNNI). Lane
by lane, the four products are added to the neuron's sum. A *tile* of `ROWS` positions and 1, 2 or 4 vectors
of neurons keeps its sums in registers while it iterates over the quads of a *block* of neurons. Quads without
any weight are left out, so groups, depthwise kernels and values that are only copied cost little.

At the end of a tile, sums become levels: by a line (`sugenet.bits.lines`) in the registers, or they are
stored and compared with every threshold.

All compiled code of levels is in this file and in `sugenet.bits.emitters`: the cache on disk is renewed if
one of the two changes.
"""

from functools import partial
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import register_jitable

from sugenet.bits.emitters import (
    I8,
    I32,
    I64,
    SUM_LANES,
    SUMS,
    Products,
    call,
    emitted,
    int64,
    load,
    loop,
    weighted_sums,
)

__all__ = ["COMPARED", "CONV", "COUNTED", "LANES", "LINE", "LONG_LINE", "MAXIMUM", "ROOM", "ROWS", "VECTORS"]
__all__ += ["KERNEL"]

CONV, MAXIMUM = range(2)  # kinds of layers
LINE, LONG_LINE, COMPARED, COUNTED = range(4)  # how the sums of a block are processed
LANES = SUM_LANES  # neurons in a vector
VECTORS = (4, 2, 1)  # vectors in a block
ROWS = (
    6  # positions in a tile: with four vectors of sums, four of weights and one of quads 29 of 32 registers
)
ROOM = 96  # positions whose indices are computed together
PARTS = 8  # into which the positions of a layer are split if threads share them


def _on_line(context: Any, b: ir.IRBuilder, sums: ir.Value, line: list[ir.Value]) -> ir.Value:
    """Compute levels by lines (`sugenet.bits.lines`), as bytes; product and sum are rounded once if the
    processor can do so.
    """
    slope, offset, low, high = line
    floats = slope.type
    value = b.sitofp(sums, floats)
    if "+fma" in context.codegen().magic_tuple()[2].split(","):
        name = f"llvm.fma.v{LANES}f{'32' if isinstance(floats.element, ir.FloatType) else '64'}"
        value = call(b, name, floats, [value, slope, offset])
    else:
        value = b.fadd(b.fmul(value, slope), offset)
    level = b.fptosi(value, SUMS)
    level = b.select(b.icmp_signed(">", level, low), level, low)
    level = b.select(b.icmp_signed("<", level, high), level, high)
    return b.trunc(level, ir.VectorType(I8, LANES))


def _line(b: ir.IRBuilder, lines: ir.Value, floats: ir.Type, vector: int, of: int) -> list[ir.Value]:
    """Return slope, offset, smallest and largest level of 16 neurons, from bytes in which those of a block
    are consecutive.
    """
    parts, index, width = [], 0, of * LANES
    for kind in (floats, floats, I32, I32):
        size = 8 if isinstance(kind, ir.DoubleType) else 4
        start = b.gep(lines, [int64(index + vector * LANES * size)])
        parts.append(load(b, start, ir.VectorType(kind, LANES), 4))
        index += width * size
    return parts


def _tile(rows: int, of: int) -> Any:
    """Return the function that computes a tile of `rows` positions and `of` vectors of neurons.

    `places` has two rows: the start of a position in `arena` before and after. With lines the levels are
    written to the arena, else the sums to `scratch`, one position after another.
    """

    def emit(context, b, x, indices, r, offsets, offset_at, w, w_at, quads, lines, line_at, then, out_at, scratch):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
        def of_row(which: int, row: int) -> ir.Value:
            return b.load(b.gep(indices, [b.add(r, int64(which * ROOM + row))]))

        starts = [b.gep(x, [of_row(0, row)]) for row in range(rows)]
        weights, first_offset = b.bitcast(b.gep(w, [w_at]), SUMS.as_pointer()), b.gep(offsets, [offset_at])
        together = min(of, Products(context, b).together)
        sums: list[list[ir.Value]] = [[] for _ in range(rows)]  # positions, vectors
        for first in range(0, of, together):
            part = range(first, first + together)
            part_sums = weighted_sums(context, b, starts, first_offset, weights, part, of, quads)
            for totals, more in zip(sums, part_sums, strict=True):
                totals += more
        names = ("short", "long", "put_down", "done")
        *fused, put_down, done = (b.function.append_basic_block(name) for name in names)
        choice = b.switch(then, put_down)
        floats = (ir.FloatType(), ir.DoubleType())
        for kind, block, float_ in zip((LINE, LONG_LINE), fused, floats, strict=True):
            choice.add_case(int64(kind), block)
            b.position_at_end(block)
            targets = [b.gep(x, [b.add(of_row(1, row), out_at)]) for row in range(rows)]
            for vector in range(of):
                line = _line(b, b.gep(lines, [line_at]), float_, vector, of)
                for row in range(rows):
                    levels = _on_line(context, b, sums[row][vector], line)
                    target = b.gep(targets[row], [int64(vector * LANES)])
                    b.store(levels, b.bitcast(target, levels.type.as_pointer())).align = 1
            b.branch(done)
        b.position_at_end(put_down)
        for row in range(rows):
            for vector in range(of):
                target = b.gep(scratch, [int64((row * of + vector) * LANES)])
                b.store(sums[row][vector], b.bitcast(target, SUMS.as_pointer())).align = 4
        b.branch(done)
        b.position_at_end(done)

    return emitted(emit)


@emitted
def _compared(_, b, scratch, at, steps, step_at, of, count, arena, out_at):  # type: ignore[no-untyped-def]
    """Compute levels of 16 sums by comparison with `count` thresholds, which are `of` numbers apart."""
    sums, first = load(b, b.gep(scratch, [at]), SUMS, 4), b.gep(steps, [step_at])
    with loop(b, count, [ir.Constant(SUMS, [0] * LANES)]) as (k, (levels,), following):
        threshold = load(b, b.gep(first, [b.mul(k, of)]), SUMS, 4)
        reached = b.sext(b.icmp_signed(">=", sums, threshold), SUMS)
        following.append(b.sub(levels, reached))
    octets = b.trunc(levels, ir.VectorType(I8, LANES))
    b.store(octets, b.bitcast(b.gep(arena, [out_at]), octets.type.as_pointer())).align = 1


@emitted
def _maximum(_, b, arena, source, offsets, first, taps, masks, mask_at, target):  # type: ignore[no-untyped-def]
    """Compute the maximum of 16 bytes over the taps of a window; bytes are flipped by the mask before and
    after.
    """
    octets = ir.VectorType(I8, LANES)
    first_offset, start = b.gep(offsets, [first]), b.gep(arena, [source])
    mask = load(b, b.gep(masks, [mask_at]), octets)
    with loop(b, taps, [ir.Constant(octets, [0] * LANES)]) as (k, (largest,), following):
        offset = b.sext(b.load(b.gep(first_offset, [k])), I64)
        candidate = b.xor(load(b, b.gep(start, [offset]), octets), mask)
        following.append(b.select(b.icmp_unsigned(">", candidate, largest), candidate, largest))
    b.store(b.xor(largest, mask), b.bitcast(b.gep(arena, [target]), octets.as_pointer())).align = 1


_tile_4, _tile_2, _tile_1 = (_tile(ROWS, of) for of in VECTORS)
_row_4, _row_2, _row_1 = (_tile(1, of) for of in VECTORS)


@emitted
def _copy(_, b, x, source, source_step, y, target, target_step, count):  # type: ignore[no-untyped-def]
    """Copy `count` bytes that are some steps apart."""
    first, last = b.gep(x, [source]), b.gep(y, [target])
    together, apart, done = (b.function.append_basic_block(name) for name in ("together", "apart", "done"))
    ones = b.and_(*(b.icmp_signed("==", step, int64(1)) for step in (source_step, target_step)))
    b.cbranch(ones, together, apart)
    b.position_at_end(together)
    cgutils.raw_memcpy(b, last, first, count, 1)  # type: ignore[no-untyped-call]
    b.branch(done)
    b.position_at_end(apart)
    with cgutils.for_range(b, count) as turn:
        octet = b.load(b.gep(first, [b.mul(turn.index, source_step)]))
        b.store(octet, b.gep(last, [b.mul(turn.index, target_step)]))
    b.branch(done)
    b.position_at_end(done)


@partial(emitted, result=types.int64)
def _took(_, b, team, index):  # type: ignore[no-untyped-def]
    """Add 1 to a number that threads share, and return its old value."""
    return b.atomic_rmw("add", b.gep(team, [index]), int64(1), "seq_cst")


@emitted
def _wait(context, b, team, index, target):  # type: ignore[no-untyped-def]
    """Wait until a number that threads share is at least `target`."""
    look, pause, done = (b.function.append_basic_block(name) for name in ("look", "pause", "done"))
    b.branch(look)
    b.position_at_end(look)
    number = b.load_atomic(b.gep(team, [index]), "seq_cst", 8)
    b.cbranch(b.icmp_signed(">=", number, target), done, pause)
    b.position_at_end(pause)
    if context.codegen().magic_tuple()[0].startswith("x86"):
        call(b, "llvm.x86.sse2.pause", ir.VoidType(), [])
    b.branch(look)
    b.position_at_end(done)


@register_jitable
def _read(x, base, samples, source, arena):  # type: ignore[no-untyped-def]
    """Copy flat samples, channel by channel, into the arena, pixel by pixel, inside the padding.

    `source`: channels, height, width, bytes of a sample and of a pixel in the arena, index of the first
    pixel, and width with padding.
    """
    channels, height, width = source[0], source[1], source[2]
    size, pixel, first, pitch = source[3], source[4], source[5], source[6]
    for s in range(samples):
        here, index = (base + s) * x.shape[1], s * size + first
        if height * width == 1:
            _copy(x, here, 1, arena, index, 1, channels)
            continue
        for c in range(channels):
            for row in range(height):
                at = here + (c * height + row) * width
                _copy(x, at, 1, arena, index + row * pitch * pixel + c, pixel, width)


@register_jitable
def _pooled(plan, size, indices, offsets, masks, arena):  # type: ignore[no-untyped-def]
    channels, tap, taps, mask = plan[7], plan[8], plan[9], plan[10]
    for r in range(size):
        for c in range(0, channels, LANES):
            _maximum(arena, indices[0, r] + c, offsets, tap, taps, masks, mask + c, indices[1, r] + c)


@register_jitable
def _place(plan, first, size, positions, indices):  # type: ignore[no-untyped-def]
    """Compute where `size` positions from `first` on begin in the arena, before and after a layer."""
    in_at, in_size, out_at, out_size, count = plan[1], plan[2], plan[3], plan[4], plan[5]
    s, p = first // count, first % count
    for r in range(size):
        indices[0, r] = in_at + s * in_size + positions[plan[6] + p, 0]
        indices[1, r] = out_at + s * out_size + positions[plan[6] + p, 1]
        p += 1
        if p == count:
            s, p = s + 1, 0


@register_jitable
def _block(blocks, j, size, indices, offsets, weights, lines, steps, arena, scratch, sums, row0):  # type: ignore[no-untyped-def]
    """Compute a block of neurons for `size` positions; sums that are the output go to `sums` from `row0`
    on.
    """
    vectors, w, quads, offset = blocks[j, 0], blocks[j, 1], blocks[j, 2], blocks[j, 3]
    neuron, neurons, then = blocks[j, 4], blocks[j, 5], blocks[j, 6]
    line, n_steps = blocks[j, 7], blocks[j, 8]
    width = vectors * LANES
    r, done = 0, ROWS if size >= ROWS else 1
    while r < size:
        r = min(r, size - done)  # the last tile repeats some positions of the one before
        # fmt: off
        if done == ROWS:
            if vectors == 4:
                _tile_4(
                    arena, indices, r, offsets, offset, weights, w, quads, lines, line, then, neuron, scratch
                )
            elif vectors == 2:
                _tile_2(
                    arena, indices, r, offsets, offset, weights, w, quads, lines, line, then, neuron, scratch
                )
            else:
                _tile_1(
                    arena, indices, r, offsets, offset, weights, w, quads, lines, line, then, neuron, scratch
                )
        elif vectors == 4:
            _row_4(
                    arena, indices, r, offsets, offset, weights, w, quads, lines, line, then, neuron, scratch
                )
        elif vectors == 2:
            _row_2(
                    arena, indices, r, offsets, offset, weights, w, quads, lines, line, then, neuron, scratch
                )
        else:
            _row_1(
                    arena, indices, r, offsets, offset, weights, w, quads, lines, line, then, neuron, scratch
                )
        # fmt: on
        if then == COMPARED:
            for row in range(done):
                for c in range(0, width, LANES):
                    target = indices[1, r + row] + neuron + c
                    _compared(scratch, row * width + c, steps, line + c, width, n_steps, arena, target)
        elif then == COUNTED:
            for row in range(done):
                for c in range(neurons):
                    sums[row0 + r + row, neuron + c] = scratch[row * width + c]
        r += done


@register_jitable
def _write(plan, base, samples, arena, out):  # type: ignore[no-untyped-def]
    """Write the levels of the last layer, channel by channel."""
    out_at, out_size, count, channels = plan[3], plan[4], plan[5], plan[11]
    for s in range(samples):
        index, here = out_at + s * out_size, (base + s) * out.shape[1]
        if count == 1:
            _copy(arena, index, 1, out, here, 1, channels)
            continue
        for c in range(channels):
            _copy(arena, index + c, out_size // count, out, here + c * count, 1, count)


def _levels(  # type: ignore[no-untyped-def]
    x,
    start,
    stop,
    batch,
    source,
    plan,
    blocks,
    positions,
    offsets,
    weights,
    lines,
    steps,
    masks,
    arena,
    indices,
    scratch,
    team,
    out,
    sums,
):
    """Pass samples start..stop through all layers, `batch` at a time, and write the last layer's levels to
    `out` or, if its blocks are counted, its sums to `sums`.

    If `team` has numbers, several threads process the same samples, at most `batch`, in one arena. Each takes
    parts of a layer's positions while there are any, and waits until all parts are done. A late thread finds
    no parts left and changes nothing. The numbers are, for reading and for each layer, how many parts have
    been taken and how many are done; all are 0 at first.

    A row of `plan`:

    - kind
    - index in the arena and bytes of a sample, for input and for output
    - number of positions, and index of the first of them in `positions`
    - first and last block; for a maximum the channels, first tap, taps and index of the mask
    - channels of the output and bytes of a pixel

    A row of `blocks`: vectors, index in `weights`, quads, index in `offsets`, first neuron, neurons,
    processing of the sums, index in `lines` or `steps`, and number of steps. A row of `positions`: index of
    the input under the first tap and index of the output.
    """
    last, shared = plan.shape[0] - 1, team.shape[0] > 0
    for base in range(start, stop, batch):
        samples = min(batch, stop - base)
        if not shared or _took(team, 0) == 0:
            _read(x, base, samples, source, arena)  # type: ignore[no-untyped-call]
            if shared:
                _took(team, 1)
        if shared:
            _wait(team, 1, 1)
        for layer in range(last + 1):
            total = samples * plan[layer, 5]
            part = min(ROOM, (total // (PARTS * ROWS) + 1) * ROWS) if shared else ROOM
            parts = (total + part - 1) // part
            turn = 0
            while True:
                number = _took(team, 2 * layer + 2) if shared else turn
                turn += 1
                if number >= parts:
                    break
                r0 = number * part
                size = min(part, total - r0)
                _place(plan[layer], r0, size, positions, indices)  # type: ignore[no-untyped-call]
                if plan[layer, 0] == MAXIMUM:
                    _pooled(plan[layer], size, indices, offsets, masks, arena)  # type: ignore[no-untyped-call]
                else:
                    for j in range(plan[layer, 7], plan[layer, 8]):
                        _block(  # type: ignore[no-untyped-call]
                            blocks, j, size, indices, offsets, weights, lines, steps, arena, scratch,
                            sums, base + r0,
                        )  # fmt: skip
                if shared:
                    _took(team, 2 * layer + 3)
            if shared:
                _wait(team, 2 * layer + 3, parts)
        if out.shape[0] > 0:
            _write(plan[last], base, samples, arena, out)  # type: ignore[no-untyped-call]


_PLACE, _PLAN, _BYTES = types.intp, types.int64[:, ::1], types.uint8[::1]
KERNEL = (
    _levels,
    types.void(
        *(types.Array(types.uint8, 2, "C", readonly=True), _PLACE, _PLACE, _PLACE, types.int64[::1]),
        *(_PLAN, _PLAN, _PLAN, types.int32[::1], types.int8[::1], _BYTES),
        *(types.int32[::1], _BYTES, _BYTES, _PLAN, types.int32[::1], types.int64[::1], types.uint8[:, ::1]),
        types.int32[:, ::1],
    ),
)
"""The one kernel, as its function and signature."""
