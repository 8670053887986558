"""The compiled part of `words`: blocks of sets go through the layers, their sums added up digit by digit.

To be ensured: a set of a block has the bits that the definition gives its neurons. A neuron is settled where
counting its literals tells it for all sets, whatever those inputs are that differ; else `reached` adds up its
inputs in binary numbers, one bit of every vector for each set.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-overload"

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["WORDS", "visit"]

WORDS = 4
"""Of a block."""


@nb.njit(nogil=True, cache=True, _nrt=False)
def _ones(x):
    x = x - ((x >> nb.uint64(1)) & nb.uint64(0x5555555555555555))
    x = (x & nb.uint64(0x3333333333333333)) + ((x >> nb.uint64(2)) & nb.uint64(0x3333333333333333))
    x = (x + (x >> nb.uint64(4))) & nb.uint64(0x0F0F0F0F0F0F0F0F)
    return nb.int64((x * nb.uint64(0x0101010101010101)) >> nb.uint64(56))


@nb.njit(nogil=True, cache=True, _nrt=False)
def _settle(plus, minus, tau, number, sizes, on, count, free, depends, left):
    """Which neurons of a layer depend on its open inputs, and what these still must bring: how many; those
    that are active without them go to the next row of `on`.
    """
    size, unknowns = sizes[number, 0], sizes.shape[0] + 1
    for q in range(size):
        count[q] = 0
        free[q] = 0
    for w in range((sizes[number, 1] + 63) >> 6):
        held, unknown = on[number, w], on[unknowns, w]
        off = ~(held | unknown)
        for q in range(size):
            p, m = plus[number, w, q], minus[number, w, q]
            count[q] += _ones((p & held) | (m & off))
            free[q] += _ones((p | m) & unknown)
    n = 0
    for w in range(on.shape[1]):
        active = nb.uint64(0)
        for q in range(64 * w, min(64 * w + 64, size)):
            missing = tau[number, q] - count[q]
            active |= nb.uint64(missing <= 0) << nb.uint64(q & 63)
            depends[number, n], left[number, n] = q, missing
            n += (missing > 0) & (missing <= free[q])
        on[number + 1, w] = active
    return n


def _reached(digits):
    """Adding up with so many binary digits, for sums of up to 2^digits that are to be reached."""

    @intrinsic
    def reached(_typing, inputs, values, signs, first, at, many, row, least, valid, to):
        """Whether at least so many inputs of a neuron match, for every set of a block: that goes to
        ``values[to:]``; 0, 1 or 2: for none, for all or for some of those that are `valid`.

        Input t is the block ``values[at + WORDS * t:]``; its sign stands at ``row + inputs[first + t]``: a
        weight of -1 turns it, one of 0 makes it match never.
        """
        del first, at, many, row, least, to
        i64 = nb.types.int64
        signature = i64(inputs, values, signs, i64, i64, i64, i64, i64, valid, i64)

        def emit(context, b, signature, arguments):
            word, block = ir.IntType(64), ir.VectorType(ir.IntType(64), WORDS)
            pointers = [
                context.make_array(signature.args[k])(context, b, arguments[k]).data for k in (0, 1, 2, 8)
            ]
            at_inputs, at_values, at_signs, at_valid = pointers
            first, at, many, row, least, to = (arguments[k] for k in (3, 4, 5, 6, 7, 9))

            def place(pointer, where):
                return b.bitcast(b.gep(pointer, [where]), block.as_pointer())

            def everywhere(value):
                lone = b.insert_element(
                    ir.Constant(block, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
                )
                return b.shuffle_vector(
                    lone, lone, ir.Constant(ir.VectorType(ir.IntType(32), WORDS), [0] * WORDS)
                )

            none, one = ir.Constant(word, 0), ir.Constant(word, 1)
            begin = b.sub(
                ir.Constant(word, 1 << digits), least
            )  # so that counting overflows when it is reached
            start = [
                everywhere(b.sub(none, b.and_(b.lshr(begin, ir.Constant(word, k)), one)))
                for k in range(digits)
            ]
            before, body, end = b.block, b.append_basic_block("body"), b.append_basic_block("end")
            b.branch(body)
            b.position_at_end(body)
            t, sums = b.phi(word), [b.phi(block) for _ in range(digits + 1)]
            sign = b.gep(at_signs, [b.add(row, b.load(b.gep(at_inputs, [b.add(first, t)])))])
            value = b.load(place(at_values, b.add(at, b.mul(t, ir.Constant(word, WORDS)))))
            value.align = 8
            kind = b.sext(b.load(sign), word)  # 1: as it is, -1: turned, 0: never
            turn = everywhere(b.ashr(kind, ir.Constant(word, 63)))
            some = everywhere(b.sub(none, b.and_(kind, one)))
            carry = b.and_(b.xor(value, turn), some)
            after = []
            for digit in sums[:-1]:
                after.append(b.xor(digit, carry))
                carry = b.and_(digit, carry)
            after.append(b.or_(sums[-1], carry))
            following = b.add(t, one)
            for phi, old, new in zip(
                [t, *sums], [none, *start, ir.Constant(block, [0] * WORDS)], [following, *after], strict=True
            ):
                phi.add_incoming(old, before)
                phi.add_incoming(new, body)
            b.cbranch(b.icmp_signed("<", following, many), body, end)
            b.position_at_end(end)
            valid_sets = b.load(place(at_valid, none))
            valid_sets.align = 8
            found = b.and_(after[-1], valid_sets)
            b.store(found, place(at_values, to)).align = 8
            join = cgutils.get_or_insert_function(
                b.module, ir.FunctionType(word, [block]), f"llvm.vector.reduce.or.v{WORDS}i64"
            )
            yes, no = (
                b.icmp_unsigned("!=", b.call(join, [sets]), none)
                for sets in (found, b.xor(found, valid_sets))
            )
            return b.add(b.zext(yes, word), b.zext(b.and_(yes, no), word))

        return signature, emit

    return reached


_reached_4, _reached_12 = _reached(4), _reached(12)


@nb.njit(nogil=True, cache=True, _nrt=False)
def _tell(keys, sets, parts, known, many, state):
    """Add the sets of each pattern to the table."""
    last = nb.uint64(len(known) - 1)
    for p in range(parts):
        mixed = nb.uint64(0)
        for w in range(keys.shape[1]):
            mixed = (mixed ^ keys[p, w]) * nb.uint64(0xD1342543DE82EF95)
            mixed ^= mixed >> nb.uint64(31)
        place = mixed & last
        while many[place] > 0:
            same = True
            for w in range(keys.shape[1]):
                same &= known[place, w] == keys[p, w]
            if same:
                break
            place = (place + nb.uint64(1)) & last
        if many[place] == 0:
            state[1] += 1
            for w in range(keys.shape[1]):
                known[place, w] = keys[p, w]
        for w in range(WORDS):
            many[place] += _ones(sets[p, w])


@nb.njit(nogil=True, cache=True, _nrt=False)
def _part(on, row, inputs, at, values, first, width, valid, keys, sets):
    """Part the sets of a block by the pattern of the last layer: how many patterns there are."""
    parts = 1
    for w in range(WORDS):
        sets[0, w] = valid[w]
    for w in range(keys.shape[1]):
        keys[0, w] = on[row, w]
    for t in range(width):
        q, where = inputs[at, t], first + WORDS * t
        bit = nb.uint64(1) << nb.uint64(q & 63)
        for p in range(parts):
            inside = outside = nb.uint64(0)
            for w in range(WORDS):
                inside |= sets[p, w] & values[where + w]
                outside |= sets[p, w] & ~values[where + w]
            if inside == nb.uint64(0):
                continue
            if outside == nb.uint64(0):
                keys[p, q >> 6] |= bit
                continue
            for w in range(WORDS):
                sets[parts, w] = sets[p, w] & values[where + w]
                sets[p, w] &= ~values[where + w]
            for w in range(keys.shape[1]):
                keys[parts, w] = keys[p, w]
            keys[parts, q >> 6] |= bit
            parts += 1
    return parts


@nb.njit(nogil=True, cache=True, _nrt=False)
def _through(
    candidates,
    lanes,
    inputs,
    values,
    plus,
    minus,
    signs,
    tau,
    sizes,
    on,
    count,
    free,
    depends,
    left,
    valid,
    keys,
    sets,
):
    """Take a block of sets through the layers: how many patterns there are, in `keys` and `sets`."""
    layers = sizes.shape[0]
    room, width = len(values) // (layers + 1), signs.shape[0] // tau.size
    at, many = layers, lanes
    for number in range(layers):
        if number == 0:
            for v in range(on.shape[1]):
                on[1, v] = on[layers + 2, v]
        else:
            for v in range(on.shape[1]):
                on[layers + 1, v] = 0
            for t in range(many):
                q = inputs[at, t]
                on[layers + 1, q >> 6] |= nb.uint64(1) << nb.uint64(q & 63)
            candidates = _settle(plus, minus, tau, number, sizes, on, count, free, depends, left)
        kept = 0
        for i in range(candidates):
            q = depends[number, i]
            row, to = (number * tau.shape[1] + q) * width, room * number + WORDS * kept
            first, least = at * inputs.shape[1], left[number, i]
            if least <= 16:
                found = _reached_4(inputs, values, signs, first, room * at, many, row, least, valid, to)
            else:
                found = _reached_12(inputs, values, signs, first, room * at, many, row, least, valid, to)
            if found == 1:
                on[1 + number, q >> 6] |= nb.uint64(1) << nb.uint64(q & 63)
            inputs[number, kept] = q
            kept += found == 2
        at, many = number, kept
    return _part(on, layers, inputs, at, values, room * at, many, valid, keys, sets)


@nb.njit(nogil=True, cache=True, _nrt=False)
def visit(
    state,
    chosen,
    sums,
    spent,
    weight,
    behind,
    lightest,
    heaviest,
    budget,
    gains,
    least,
    planes,
    plus,
    minus,
    signs,
    tau,
    sizes,
    on,
    count,
    free,
    places,
    depends,
    left,
    inputs,
    values,
    valid,
    keys,
    sets,
    known,
    many,
    steps,
):
    """Go through the sets that begin as `chosen`, from there on, and add up in the table what the last layer
    has. True when it ends early: after so many blocks, or with the table half full.

    ``state[0]`` is how many options are chosen; ``chosen[d]`` the last one tried behind them.
    """
    options, layers = gains.shape[0], sizes.shape[0]
    room = len(values) // (layers + 1)
    while state[0] > 0:
        if steps < 0 or 2 * state[1] > len(known):
            return True
        depth = state[0]
        begin = behind[chosen[depth - 1]]
        if chosen[depth] < begin:  # first, all sets with one option more
            lanes = 0
            for w in range(on.shape[1]):
                on[0, w] = on[layers + 1, w] = 0
            for j in range(gains.shape[1]):
                t = -sums[depth, j] - least - 1  # the last option must add more than t and the least
                if t < 0:
                    on[0, j >> 6] |= nb.uint64(1) << nb.uint64(j & 63)
                elif t < planes.shape[1]:
                    on[layers + 1, j >> 6] |= nb.uint64(1) << nb.uint64(j & 63)
                    inputs[layers, lanes], places[lanes] = j, t
                    lanes += 1
            candidates = _settle(plus, minus, tau, 0, sizes, on, count, free, depends, left)
            for w in range(on.shape[1]):
                on[layers + 2, w] = on[1, w]
            for block in range(begin >> 6, (options + 63) >> 6, WORDS):
                some = nb.uint64(0)
                for w in range(WORDS):
                    fits, here = nb.uint64(0), 64 * (block + w)
                    low, high = max(begin, here), min(options, here + 64)
                    if low < high and spent[depth] + heaviest <= budget:
                        fits = ~nb.uint64(0) >> nb.uint64(64 - high + low) << nb.uint64(low - here)
                    else:
                        for k in range(low, high):
                            fits |= nb.uint64(spent[depth] + weight[k] <= budget) << nb.uint64(k - here)
                    valid[w] = fits
                    some |= fits
                if some == nb.uint64(0):
                    continue
                for t in range(lanes):
                    for w in range(WORDS):
                        values[layers * room + WORDS * t + w] = planes[
                            inputs[layers, t], places[t], block + w
                        ]
                parts = _through(
                    candidates,
                    lanes,
                    inputs,
                    values,
                    plus,
                    minus,
                    signs,
                    tau,
                    sizes,
                    on,
                    count,
                    free,
                    depends,
                    left,
                    valid,
                    keys,
                    sets,
                )
                _tell(keys, sets, parts, known, many, state)
                steps -= 1
        k = max(chosen[depth] + 1, begin)
        while k < options and spent[depth] + weight[k] + lightest[behind[k]] > budget:
            k += 1
        if k == options or depth == len(chosen) - 1:
            state[0] -= 1
            continue
        chosen[depth] = k
        for j in range(gains.shape[1]):
            sums[depth + 1, j] = sums[depth, j] + gains[k, j]
        spent[depth + 1] = spent[depth] + weight[k]
        chosen[depth + 1] = -1
        state[0] += 1
    return False
