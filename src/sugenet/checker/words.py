"""Going through very many sets of options, 512 at a time: one bit of eight words for each of them.

To be ensured: no set within the budget is left out or met twice, and what the layers make of each is what the
definition says. A set is some options and a last one behind them; a block has 512 of those last ones. A neuron
that is the same for all of them is settled by counting literals; the others add up their inputs digit by digit
of binary numbers, all sets of a block at once. Only how often each pattern of a late layer was met is kept, until it is
judged. Nothing here is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from sugenet.bnn.arrays import Ints
from sugenet.checker.bounds import most_together
from sugenet.checker.later import bits_of, cores, dense_counts
from sugenet.checker.limit import Limit
from sugenet.checker.whole import Options, reachable

__all__ = ["WordWalk"]

_LAYERS = 2  # behind the first, as words
_WORDS = 8  # of a block
_WIDEST = 1 << 12  # neurons of a layer
_PLANES = 1 << 25  # bytes of words that say what each option adds
_TABLE = 1 << 15  # patterns that are kept before they are judged
_STEPS = 1 << 13  # words between two looks at the clock

Seen = tuple[npt.NDArray[np.bool_], Ints]
"""Patterns of the last layer as words, and how many sets have each."""


class WordWalk:
    """All sets of one or more options of different features within a budget, by their first option.

    Parameters
    ----------
    base, features, budget
        As in `walk`.
    layers
        Weights and tau of all layers behind the first.
    limit
        Of time and memory.
    """

    def __init__(
        self, base: Ints, features: Options, budget: int, layers: list[tuple[Ints, Ints]], limit: Limit
    ) -> None:
        self.limit = limit
        weight = np.array([price for row in features for price, _ in row], np.int64)
        limit.take(24 * len(weight) * len(base), "all changes of a walk")
        gains = np.array([gain for row in features for _, gain in row], np.int64).reshape(len(weight), len(base))
        self.together = most_together((min(price for price, _ in row) for row in features), budget)
        low, high = reachable(np.asarray(base, np.int64), [list(row) for row in features], self.together)
        self.loose = np.flatnonzero((low >= 0) != (high >= 0))
        self.fixed = np.asarray(base) >= 0
        self.rest = layers[min(_LAYERS, len(layers)) :]
        sizes = [len(row) for row in features]
        behind = np.repeat(np.cumsum(sizes), sizes).astype(np.int64)
        lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], budget + 1)
        self.begin = np.asarray(base, np.int64)[self.loose]
        self.gains = np.ascontiguousarray(gains[:, self.loose])
        self.options = (weight, behind, lightest, budget)
        self.inside = layers[:_LAYERS]
        self.over = False
        self.key = -(-len(self.inside[-1][1]) // 64) if self.inside else 0

    def is_for(self) -> bool:
        """Whether layers and numbers are as this walk needs them."""
        spread = int(self.gains.max(initial=0)) - int(self.gains.min(initial=0))
        size = spread * len(self.loose) * (len(self.gains) // 8 + 16)
        small = all(np.abs(rows).max(initial=0) <= 1 and 0 < len(tau) <= _WIDEST for rows, tau in self.inside)
        return bool(self.inside) and small and 0 < len(self.loose) <= _WIDEST and size <= _PLANES

    def prepare(self) -> None:
        """Write out planes and layers."""
        self.least = int(self.gains.min())
        spread = int(self.gains.max()) - self.least
        words = -(-len(self.gains) // 64) + _WORDS
        self.limit.take(8 * words * len(self.loose) * spread, "what each change adds, as words")
        planes = np.zeros((len(self.loose), spread, words), np.uint64)
        for t in range(spread):
            planes[:, t] = _words((self.gains > self.least + t).T, words)
        first, tau = self.inside[0]
        held = np.where(self.fixed, np.maximum(first, 0), np.maximum(-first, 0))
        held[:, self.loose] = 0
        layers = [(first[:, self.loose], tau - held.sum(axis=1)), *self.inside[1:]]
        size, width = max(len(tau) for _, tau in layers), max(rows.shape[1] for rows, _ in layers)
        shape = len(layers), -(-width // 64), size
        plus, minus = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
        signs = np.zeros((len(layers), size, width), np.int8)
        taus, sizes = np.full((len(layers), size), 1 << 40), np.zeros((len(layers), 2), np.int64)
        for k, (rows, tau) in enumerate(layers):
            sizes[k] = rows.shape
            taus[k, : len(tau)] = tau
            for out, sign in ((plus, 1), (minus, -1)):
                out[k, :, : len(tau)] = _words(rows == sign, shape[1]).T
            signs[k, : rows.shape[0], : rows.shape[1]] = rows
        self.network = (plus, minus, signs.reshape(-1), taus, sizes)
        self.planes, self.width, self.size = planes, width, size

    def patterns(self, first: int) -> Iterator[Seen]:
        """What the sets that begin with an option were seen to have, in turns: patterns, and how many sets."""
        most = max(1, self.together)
        chosen, state = np.full(most + 1, -1, np.int64), np.zeros(2, np.int64)
        chosen[0] = first
        sums = np.zeros((most + 2, len(self.loose)), np.int64)
        sums[1] = self.begin + self.gains[first]
        spent = np.zeros(most + 2, np.int64)
        spent[1] = self.options[0][first]
        words, wide = -(-max(self.width, self.size) // 64), max(self.width, self.size) + 2
        layers = len(self.inside)
        room = (
            np.zeros((3 + layers, words), np.uint64),
            *np.zeros((3, wide), np.int64),
            *np.zeros((3, layers + 1, wide), np.int64),
            np.zeros((layers + 1) * wide * _WORDS, np.uint64),
            np.zeros(_WORDS, np.uint64),
            np.zeros((64 * _WORDS + 1, self.key), np.uint64),
            np.zeros((64 * _WORDS + 1, _WORDS), np.uint64),
        )
        if spent[1] > self.options[3]:
            return
        yield self._alone(sums[1])
        known, many = np.zeros((_TABLE, self.key), np.uint64), np.zeros(_TABLE, np.int64)
        state[0] = 1
        more = True
        while more and not self.over:
            self.limit.look()
            more = _visit(
                state, chosen, sums, spent, *self.options, self.gains, self.least, self.planes, *self.network,
                *room, known, many, _STEPS,
            )
            if not more or 2 * state[1] > _TABLE:
                met = many > 0
                yield known[met], many[met]
                known[:], many[:], state[1] = 0, 0, 0

    @property
    def many(self) -> int:
        """How many options there are."""
        return len(self.gains)

    def sample(self, head: Ints) -> Ints:
        """Match counts of the classes when nothing changes."""
        return self.counts(self._alone(self.begin)[0], head)

    def _alone(self, margins: Ints) -> Seen:
        """What one set has, from M - tau of the loose neurons."""
        bits = self.fixed.copy()
        bits[self.loose] = margins >= 0
        row = bits[None]
        for rows, tau in self.inside:
            row = np.asarray(dense_counts(rows, row) >= tau)
        return _words(row, self.key), np.ones(1, np.int64)

    def counts(self, patterns: Any, head: Ints) -> Ints:
        """Match counts of the classes for patterns of the last layer in words."""
        bits = bits_of(patterns, len(self.inside[-1][1]))
        for rows, tau in self.rest:
            bits = np.asarray(dense_counts(rows, bits) >= tau)
        return dense_counts(head, bits)

    def each(self, firsts: list[int], use: Callable[[int, Seen], None], threads: int | None = None) -> None:
        """Go through all sets with these first options; `use` is told what was seen, by several threads."""
        self.prepare()

        def work(first: int) -> None:
            for seen in self.patterns(first):
                use(first, seen)

        with ThreadPoolExecutor(threads or cores()) as pool:
            jobs = [pool.submit(work, first) for first in firsts]
            try:
                for job in jobs:
                    job.result()
            except BaseException:  # an interrupt, too, ends the others soon
                self.over = True
                for job in jobs:
                    job.cancel()
                raise


def _words(bits: npt.NDArray[np.bool_], words: int) -> npt.NDArray[np.uint64]:
    """Rows of truth values as so many words, the first in the lowest bit."""
    rows = np.asarray(bits)
    padded = np.zeros((len(rows), 64 * words), bool)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


@nb.njit(nogil=True, cache=True, _nrt=False)
def _ones(x):  # type: ignore[no-untyped-def]
    x = x - ((x >> nb.uint64(1)) & nb.uint64(0x5555555555555555))
    x = (x & nb.uint64(0x3333333333333333)) + ((x >> nb.uint64(2)) & nb.uint64(0x3333333333333333))
    x = (x + (x >> nb.uint64(4))) & nb.uint64(0x0F0F0F0F0F0F0F0F)
    return nb.int64((x * nb.uint64(0x0101010101010101)) >> nb.uint64(56))


@nb.njit(nogil=True, cache=True, _nrt=False)
def _settle(plus, minus, tau, number, sizes, on, count, free, depends, left):  # type: ignore[no-untyped-def]
    """Which neurons of a layer depend on its open inputs, what these still must bring, and how many there are;
    those that are active without them go to the next row of `on`.
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
    for w in range(on.shape[1]):
        on[number + 1, w] = 0
    n = 0
    for q in range(size):
        missing = tau[number, q] - count[q]
        on[number + 1, q >> 6] |= nb.uint64(missing <= 0) << nb.uint64(q & 63)
        depends[number, n], left[number, n] = q, missing
        n += (missing > 0) & (missing <= free[q])
    return n


def _reached(digits):  # type: ignore[no-untyped-def]
    """Adding up with so many binary digits, for sums of up to 2^digits that are to be reached."""

    @intrinsic
    def reached(_typing, inputs, values, signs, first, at, many, row, least, valid, to):  # type: ignore[no-untyped-def]
        """Whether at least so many inputs of a neuron match, for every set of a block: that goes to
        ``values[to:]``; 0, 1 or 2: for none, for all or for some of those that are `valid`.

        Input t is the block ``values[at + _WORDS * t:]``; its sign stands at ``row + inputs[first + t]``: a weight
        of -1 turns it, one of 0 makes it match never.
        """
        del first, at, many, row, least, to
        i64 = nb.types.int64
        signature = i64(inputs, values, signs, i64, i64, i64, i64, i64, valid, i64)

        def emit(context, b, signature, arguments):  # type: ignore[no-untyped-def]
            word, block = ir.IntType(64), ir.VectorType(ir.IntType(64), _WORDS)
            pointers = [context.make_array(signature.args[k])(context, b, arguments[k]).data for k in (0, 1, 2, 8)]
            at_inputs, at_values, at_signs, at_valid = pointers
            first, at, many, row, least, to = (arguments[k] for k in (3, 4, 5, 6, 7, 9))

            def place(pointer, where):  # type: ignore[no-untyped-def]
                return b.bitcast(b.gep(pointer, [where]), block.as_pointer())

            def everywhere(value):  # type: ignore[no-untyped-def]
                lone = b.insert_element(ir.Constant(block, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
                return b.shuffle_vector(lone, lone, ir.Constant(ir.VectorType(ir.IntType(32), _WORDS), [0] * _WORDS))

            none, one = ir.Constant(word, 0), ir.Constant(word, 1)
            begin = b.sub(ir.Constant(word, 1 << digits), least)  # so that counting overflows when it is reached
            start = [
                everywhere(b.sub(none, b.and_(b.lshr(begin, ir.Constant(word, k)), one))) for k in range(digits)
            ]
            before, body, end = b.block, b.append_basic_block("body"), b.append_basic_block("end")
            b.branch(body)
            b.position_at_end(body)
            t, sums = b.phi(word), [b.phi(block) for _ in range(digits + 1)]
            sign = b.gep(at_signs, [b.add(row, b.load(b.gep(at_inputs, [b.add(first, t)])))])
            value = b.load(place(at_values, b.add(at, b.mul(t, ir.Constant(word, _WORDS)))))
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
                [t, *sums], [none, *start, ir.Constant(block, [0] * _WORDS)], [following, *after], strict=True
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
                b.module, ir.FunctionType(word, [block]), f"llvm.vector.reduce.or.v{_WORDS}i64"
            )
            yes, no = (
                b.icmp_unsigned("!=", b.call(join, [sets]), none) for sets in (found, b.xor(found, valid_sets))
            )
            return b.add(b.zext(yes, word), b.zext(b.and_(yes, no), word))

        return signature, emit

    return reached


_reached_4, _reached_12 = _reached(4), _reached(12)


@nb.njit(nogil=True, cache=True, _nrt=False)
def _tell(keys, sets, parts, known, many, state):  # type: ignore[no-untyped-def]
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
        for w in range(_WORDS):
            many[place] += _ones(sets[p, w])


@nb.njit(nogil=True, cache=True, _nrt=False)
def _part(on, row, inputs, at, values, first, width, valid, keys, sets):  # type: ignore[no-untyped-def]
    """Part the sets of a block by the pattern of the last layer: how many patterns there are."""
    parts = 1
    for w in range(_WORDS):
        sets[0, w] = valid[w]
    for w in range(keys.shape[1]):
        keys[0, w] = on[row, w]
    for t in range(width):
        q, where = inputs[at, t], first + _WORDS * t
        bit = nb.uint64(1) << nb.uint64(q & 63)
        for p in range(parts):
            inside = outside = nb.uint64(0)
            for w in range(_WORDS):
                inside |= sets[p, w] & values[where + w]
                outside |= sets[p, w] & ~values[where + w]
            if inside == nb.uint64(0):
                continue
            if outside == nb.uint64(0):
                keys[p, q >> 6] |= bit
                continue
            for w in range(_WORDS):
                sets[parts, w] = sets[p, w] & values[where + w]
                sets[p, w] &= ~values[where + w]
            for w in range(keys.shape[1]):
                keys[parts, w] = keys[p, w]
            keys[parts, q >> 6] |= bit
            parts += 1
    return parts


@nb.njit(nogil=True, cache=True, _nrt=False)
def _through(candidates, lanes, inputs, values, plus, minus, signs, tau, sizes, on, count, free, depends, left, valid, keys, sets):  # type: ignore[no-untyped-def]
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
            row, to = (number * tau.shape[1] + q) * width, room * number + _WORDS * kept
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
def _visit(  # type: ignore[no-untyped-def]
    state, chosen, sums, spent, weight, behind, lightest, budget, gains, least, planes,
    plus, minus, signs, tau, sizes, on, count, free, places, depends, left, inputs, values, valid, keys, sets,
    known, many, steps,
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
            for block in range(begin >> 6, (options + 63) >> 6, _WORDS):
                some = nb.uint64(0)
                for w in range(_WORDS):
                    fits, here = nb.uint64(0), 64 * (block + w)
                    for k in range(max(begin, here), min(options, here + 64)):
                        fits |= nb.uint64(spent[depth] + weight[k] <= budget) << nb.uint64(k - here)
                    valid[w] = fits
                    some |= fits
                if some == nb.uint64(0):
                    continue
                for t in range(lanes):
                    for w in range(_WORDS):
                        values[layers * room + _WORDS * t + w] = planes[inputs[layers, t], places[t], block + w]
                parts = _through(
                    candidates, lanes, inputs, values, plus, minus, signs, tau, sizes, on, count, free, depends,
                    left, valid, keys, sets,
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
