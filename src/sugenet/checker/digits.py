"""The compiled part of `words`: blocks of sets go through the layers, their sums added up digit by digit.

To be ensured: a set of a block has the bits that the definition gives its neurons. All is said against the
sample: a neuron has *turned*, for all sets of a block, for none, or for some, and then a bit of its words
tells which. M - tau of a neuron is that at the sample and what the turned neurons before it add; where that
is not told by those alone that turned for all sets, `reached` adds up the others in binary numbers, one
bit of every vector for each set.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-overload"

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["DIGITS", "MOST", "SLOT", "WORDS", "visit"]

WORDS = 4
"""Of a block."""
SLOT = 3 * WORDS
"""Words of a neuron that has turned for some sets: for which it has not; none; for which it has. What it adds
to another neuron, -1, 0 or 1, says which of them count.
"""
MOST = 1 << 12
"""Neurons of a layer, so that their sums have few digits."""
DIGITS = MOST.bit_length()

_I64, _U64 = nb.types.int64, nb.types.uint64
_WORD, _SHORT = ir.IntType(64), ir.IntType(16)
_BLOCK = ir.VectorType(_WORD, WORDS)


def _number(value):
    return ir.Constant(_WORD, value)


def _loaded(context, b, kind, array, place, vector):
    """What stands in an array from a place on, as a vector."""
    spot = b.gep(context.make_array(kind)(context, b, array).data, [place])
    value = b.load(b.bitcast(spot, vector.as_pointer()))
    value.align = vector.element.width // 8
    return value


def _stored(context, b, kind, array, place, value):
    spot = b.gep(context.make_array(kind)(context, b, array).data, [place])
    b.store(value, b.bitcast(spot, value.type.as_pointer())).align = value.type.element.width // 8


def _everywhere(b, value, vector):
    """A vector of equal numbers."""
    none = ir.Constant(vector, ir.Undefined)
    lone = b.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
    places = ir.VectorType(ir.IntType(32), vector.count)
    return b.shuffle_vector(lone, none, ir.Constant(places, [0] * vector.count))


def _signs(b, numbers):
    """A bit for each of 64 numbers: it is not negative."""
    zero = ir.Constant(numbers.type, [0] * 64)
    return b.bitcast(b.icmp_signed(">=", numbers, zero), _WORD)


@intrinsic
def _lowest(_typing, word):  # noqa: ARG001 numba reads the names
    """Number of the lowest bit that is set."""

    def emit(_context, b, _signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return _I64(_U64), emit


@intrinsic
def _ones(_typing, word):  # noqa: ARG001
    """How many bits are set."""

    def emit(_context, b, _signature, arguments):
        return b.ctpop(arguments[0])

    return _I64(_U64), emit


@intrinsic
def _sides(_typing, sums, at, least, most, of):  # noqa: ARG001
    """Of 64 sums which are 0 or more with the least that one option more adds, and which with the most."""
    signature = nb.types.UniTuple(_U64, 2)(sums, _I64, least, most, _I64)

    def emit(context, b, signature, arguments):
        sums, at, least, most, of = arguments
        kinds, vector = signature.args, ir.VectorType(ir.IntType(32), 64)
        here = _loaded(context, b, kinds[0], sums, at, vector)
        ends = [
            _signs(b, b.add(here, _loaded(context, b, kinds[k], array, of, vector)))
            for k, array in ((2, least), (3, most))
        ]
        return context.make_tuple(b, signature.return_type, ends)

    return signature, emit


@intrinsic
def _bounds(_typing, base, place, rows, at, step, turned, first, many, open_, begin, some, most, low):  # noqa: ARG001
    """Which of 64 neurons are active whatever the `some` open inputs do, of which up to `most` turn in a set,
    and which may be: with `many` inputs that turned. What each then has at least goes to `low`.
    """
    signature = nb.types.UniTuple(_U64, 2)(
        base, _I64, rows, _I64, _I64, turned, _I64, _I64, open_, _I64, _I64, _I64, low
    )

    def emit(context, b, signature, arguments):
        base, place, rows, at, step, turned, first, many, open_, begin, some, most, low = arguments
        kinds, vector = signature.args, ir.VectorType(_SHORT, 64)
        zero = ir.Constant(vector, [0] * 64)
        start = _loaded(context, b, kinds[0], base, place, vector)
        sums = [cgutils.alloca_once_value(b, start) for _ in range(2)]

        def row(array, kind, number):
            which = b.load(b.gep(context.make_array(kind)(context, b, array).data, [number]))
            bytes_ = ir.VectorType(ir.IntType(8), 64)
            return b.sext(
                _loaded(context, b, kinds[2], rows, b.add(at, b.mul(which, step)), bytes_), vector
            )

        with cgutils.for_range(b, many) as loop:
            added = row(turned, kinds[5], b.add(first, loop.index))
            for end in sums:
                b.store(b.add(b.load(end), added), end)
        alone = b.load(sums[0])
        with cgutils.for_range(b, some) as loop:
            added = row(open_, kinds[8], b.add(begin, loop.index))
            for end, sign in zip(sums, "<>", strict=True):
                part = b.select(b.icmp_signed(sign, added, zero), added, zero)
                b.store(b.add(b.load(end), part), end)
        least, largest = (b.load(end) for end in sums)
        _stored(context, b, kinds[12], low, place, least)
        change = _everywhere(b, b.trunc(most, _SHORT), vector)
        sure = b.or_(_signs(b, least), _signs(b, b.sub(alone, change)))
        may = b.and_(_signs(b, largest), _signs(b, b.add(alone, change)))
        return context.make_tuple(b, signature.return_type, [sure, may])

    return signature, emit


@intrinsic
def _copy(_typing, planes, at, values, to):  # noqa: ARG001
    """Fill a slot with words that tell who has turned."""
    signature = nb.types.void(planes, _I64, values, _I64)

    def emit(context, b, signature, arguments):
        planes, at, values, to = arguments
        has = _loaded(context, b, signature.args[0], planes, at, _BLOCK)
        not_ = b.xor(has, ir.Constant(_BLOCK, [-1] * WORDS))
        _stored(context, b, signature.args[2], values, to, not_)
        _stored(context, b, signature.args[2], values, b.add(to, _number(2 * WORDS)), has)
        return context.get_dummy_value()

    return signature, emit


_COUNTED = 5  # digits


@intrinsic
def _together(_typing, values, at, many, valid):  # noqa: ARG001
    """How many of the open inputs at ``values[at:]`` turn in a set of a block, at most; or how many there
    are, where they are more than are counted.
    """
    signature = _I64(values, _I64, _I64, valid)

    def emit(context, b, signature, arguments):
        values, at, many, valid = arguments
        kinds, none = signature.args, ir.Constant(_BLOCK, [0] * WORDS)
        found = cgutils.alloca_once_value(b, many)
        few = b.icmp_unsigned("<", many, _number(1 << _COUNTED))
        with b.if_then(few):
            sums = [cgutils.alloca_once_value(b, none) for _ in range(_COUNTED)]
            with cgutils.for_range(b, many) as loop:
                place = b.add(b.add(at, b.mul(loop.index, _number(SLOT))), _number(2 * WORDS))
                carry = _loaded(context, b, kinds[0], values, place, _BLOCK)
                for digit in sums:
                    old = b.load(digit)
                    b.store(b.xor(old, carry), digit)
                    carry = b.and_(old, carry)
            sets = _loaded(context, b, kinds[3], valid, _number(0), _BLOCK)
            most = _number(0)
            for k in reversed(range(_COUNTED)):  # sets with the largest count so far
                has = b.and_(sets, b.load(sums[k]))
                some = b.icmp_unsigned("!=", _any(b, has), _number(0))
                sets = b.select(some, has, sets)
                most = b.or_(most, b.select(some, _number(1 << k), _number(0)))
            b.store(most, found)
        return b.load(found)

    return signature, emit


def _any(b, block):
    """A word that is 0 where all of a block are."""
    join = cgutils.get_or_insert_function(
        b.module, ir.FunctionType(_WORD, [_BLOCK]), f"llvm.vector.reduce.or.v{WORDS}i64"
    )
    return b.call(join, [block])


def _sum(b, columns):
    """Binary digits of a sum, the lowest first; of each digit there are some summands."""
    found, carries = [], []
    for column in columns:
        rest, carries = [*column, *carries], []
        while len(rest) > 1:
            *rest, x, y = rest
            z = rest.pop() if rest else None
            half = b.xor(x, y)
            carries.append(b.and_(x, y) if z is None else b.or_(b.and_(x, y), b.and_(z, half)))
            rest.insert(0, half if z is None else b.xor(half, z))
        found.append(rest[0])
    return found, carries


def _reached(inputs_, groups=None):
    """Adding up to so many inputs, in groups of four: in a loop, or where it is said how many there are,
    all at once.
    """
    digits = (inputs_ - 1).bit_length()

    @intrinsic
    def reached(_typing, values, at, kinds, row, inputs, first, many, starts, least, valid, flips, q, to):  # noqa: ARG001
        """Whether a neuron has turned, for every set of a block: to the slot ``values[to:]``; 0, 1 or 2: for
        none, for all or for some of those that are `valid`.

        It is active where at least so many of its inputs count, so counting begins there where it overflows
        then: at ``2^digits - least``, which stands in `starts`. Of input t the part of the slot at
        ``values[at + SLOT * t:]`` counts that stands at ``kinds[row + inputs[first + t]]``. ``flips[q]`` is
        all ones where the neuron is active at the sample.
        """
        signature = _I64(
            values, _I64, kinds, _I64, inputs, _I64, _I64, starts, _I64, valid, flips, _I64, _I64
        )

        def emit(context, b, signature, arguments):
            values, at, kinds, row, inputs, first, many, starts, least, valid, flips, q, to = arguments
            types = signature.args

            def data(k):
                return context.make_array(types[k])(context, b, arguments[k]).data

            def one(t):
                which = b.load(b.gep(data(4), [b.add(first, t)]))
                part = b.zext(b.load(b.gep(data(2), [b.add(row, which)])), _WORD)
                place = b.add(b.add(at, b.mul(t, _number(SLOT))), part)
                return _loaded(context, b, types[0], values, place, _BLOCK)

            begin = b.mul(b.sub(_number(1 << digits), least), _number(DIGITS))
            start = [
                _everywhere(b, b.load(b.gep(data(7), [b.add(begin, _number(k))])), _BLOCK)
                for k in range(digits)
            ]
            if groups is not None:
                bits = [[one(_number(t)) for t in range(4 * groups)], *([] for _ in range(digits - 1))]
                _, over = _sum(b, [[*bits[k], start[k]] for k in range(digits)])
                active = over[0] if len(over) == 1 else b.or_(*over)
            else:
                sums = [
                    cgutils.alloca_once_value(b, value)
                    for value in [*start, ir.Constant(_BLOCK, [0] * WORDS)]
                ]
                with cgutils.for_range_slice(b, _number(0), many, _number(4), _WORD, inc=True) as (t, _):
                    before = [b.load(place) for place in sums]
                    given = [one(b.add(t, _number(k))) for k in range(4)]
                    after, over = _sum(b, [[*given, before[0]], *([digit] for digit in before[1:-1])])
                    for value, place in zip([*after, b.or_(before[-1], over[0])], sums, strict=True):
                        b.store(value, place)
                active = b.load(sums[-1])
            sets = _loaded(context, b, types[9], valid, _number(0), _BLOCK)
            flip = _everywhere(b, b.load(b.gep(data(10), [q])), _BLOCK)
            has = b.and_(b.xor(active, flip), sets)
            not_ = b.xor(has, sets)
            _stored(context, b, types[0], values, to, not_)
            _stored(context, b, types[0], values, b.add(to, _number(2 * WORDS)), has)
            yes, no = (b.icmp_unsigned("!=", _any(b, part), _number(0)) for part in (has, not_))
            return b.add(b.zext(yes, _WORD), b.zext(b.and_(yes, no), _WORD))

        return signature, emit

    return reached


_reached_4, _reached_8, _reached_12, _reached_16 = (_reached(many, many // 4) for many in (4, 8, 12, 16))
_reached_32, _reached_any = _reached(32), _reached(MOST)


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _sum_up(number, row, many, starts, least, flips, q, to, kinds, opens, values, valid):
    """`reached` for so many inputs, a multiple of 4."""
    at, first = opens.shape[1] * SLOT * number, opens.shape[1] * number
    if many == 4:
        return _reached_4(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many == 8:
        return _reached_8(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many == 12:
        return _reached_12(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many == 16:
        return _reached_16(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many <= 32:
        return _reached_32(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    return _reached_any(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _padded(number, many, opens, none):
    """So many open inputs of a layer, and behind them some that never count, up to a multiple of 4."""
    while many & 3:
        opens[number, many] = none
        many += 1
    return many


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _settle(number, most, network, lists):
    """Neurons of a layer that have turned for all sets go to its list, those that open inputs decide to
    another: how many of both.
    """
    base, rows, home, sizes, wide, _, _ = network
    turned, opens, many, depends, low = lists
    size = base.shape[1]
    n = k = 0
    for c in range(sizes[number]):
        place = number * size + 64 * c
        sure, may = _bounds(
            base,
            place,
            rows,
            number * wide * size + 64 * c,
            size,
            turned,
            number * turned.shape[1],
            many[number, 0],
            opens,
            number * opens.shape[1],
            many[number, 1],
            most,
            low,
        )
        some = may & ~sure
        always = (sure ^ home[number, c]) & ~some
        while always != nb.uint64(0):
            turned[number + 1, n] = 64 * c + _lowest(always)
            always &= always - nb.uint64(1)
            n += 1
        while some != nb.uint64(0):
            depends[number, k] = 64 * c + _lowest(some)
            some &= some - nb.uint64(1)
            k += 1
    return n, k


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _decide(number, n, candidates, network, lists, kinds, values, valid):
    """Add up what decides those candidates: the lists of the layer with them."""
    base, _, _, _, wide, flips, starts = network
    turned, opens, many, depends, low = lists
    size = base.shape[1]
    padded = _padded(number, many[number, 1], opens, wide - 1)
    begin, kept = opens.shape[1] * SLOT * (number + 1), 0
    for i in range(candidates):
        q = depends[number, i]
        place, to = number * size + q, begin + SLOT * kept
        least = -nb.int64(low[place])
        found = _sum_up(
            number, place * wide, padded, starts, least, flips, place, to, kinds, opens, values, valid
        )
        turned[number + 1, n] = q
        n += found == 1
        opens[number + 1, kept] = q
        kept += found == 2
    many[number + 1, 0], many[number + 1, 1] = n, kept


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _far(number, radius, network, lists, kinds, values, valid):
    """Keep the sets that turn more than so many neurons of a layer; whether there are any."""
    wide, flips, starts = network[4:]
    _, opens, many, _, _ = lists
    least = radius + 1 - many[number, 0]
    if least <= 0 or many[number, 1] < least:
        return least <= 0
    padded = _padded(number, many[number, 1], opens, wide - 1)
    to = values.shape[0] - SLOT
    row, place = len(kinds) - wide, len(flips) - 1  # which say that all inputs count that turned
    found = _sum_up(number, row, padded, starts, least, flips, place, to, kinds, opens, values, valid)
    for w in range(WORDS):
        valid[w] = values[to + 2 * WORDS + w]
    return found > 0


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _possible(number, network, lists, cases):
    """Whether the sets of a block may meet all inequalities of some case, which are the neurons of this
    layer, as far as its lists tell; and how many of them are decided, and how many are not.
    """
    turned, _, many, depends, _ = lists
    n, candidates = _settle(number, many[number, 1], network, lists)
    met = network[2][number, 0]
    for i in range(n):
        met ^= nb.uint64(1) << nb.uint64(turned[number + 1, i])
    for i in range(candidates):
        met |= nb.uint64(1) << nb.uint64(depends[number, i])
    some = False
    for case in cases:
        some |= case & ~met == nb.uint64(0)
    return some, n, candidates


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _may_meet(number, n, candidates, network, lists, cases):
    """Whether they may when each candidate of the layer before may turn or not."""
    _, opens, many, depends, _ = lists
    for i in range(candidates):
        opens[number, i] = depends[number - 1, i]
    many[number, 0], many[number, 1] = n, candidates
    return _possible(number, network, lists, cases)[0]


@nb.njit(nogil=True, cache=True, _nrt=False)
def _met(number, network, lists, kinds, values, valid, cases, meets):
    """Keep the sets that meet all inequalities of some case; whether there are any."""
    home = network[2]
    turned, opens, many, _, _ = lists
    some, n, candidates = _possible(number, network, lists, cases)
    if not some:
        return False
    _decide(number, n, candidates, network, lists, kinds, values, valid)
    sure = home[number, 0]
    for i in range(many[number + 1, 0]):
        sure ^= nb.uint64(1) << nb.uint64(turned[number + 1, i])
    begin = opens.shape[1] * SLOT * (number + 1)
    for w in range(WORDS):
        meets[w] = 0
        for case in cases:
            rest, inside = case, valid[w]
            for v in range(many[number + 1, 1]):
                q = nb.uint64(opens[number + 1, v])
                if (rest >> q) & nb.uint64(1):
                    rest &= ~(nb.uint64(1) << q)
                    active = nb.uint64(0) - ((sure >> q) & nb.uint64(1))
                    inside &= values[begin + SLOT * v + 2 * WORDS + w] ^ active
            if rest & ~sure == nb.uint64(0):
                meets[w] |= inside
    some = False
    for w in range(WORDS):
        valid[w] = meets[w]
        some |= meets[w] != nb.uint64(0)
    return some


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
def _part(number, home, lists, values, valid, keys, sets):
    """Part the sets of a block by the pattern of a layer: how many patterns there are."""
    turned, opens, many, _, _ = lists
    parts = 1
    for w in range(WORDS):
        sets[0, w] = valid[w]
    for w in range(keys.shape[1]):
        keys[0, w] = home[number - 1, w]
    for t in range(many[number, 0]):
        q = turned[number, t]
        keys[0, q >> 6] ^= nb.uint64(1) << nb.uint64(q & 63)
    begin = opens.shape[1] * SLOT * number + 2 * WORDS
    for t in range(many[number, 1]):
        q, where = opens[number, t], begin + SLOT * t
        bit = nb.uint64(1) << nb.uint64(q & 63)
        for p in range(parts):
            inside = outside = nb.uint64(0)
            for w in range(WORDS):
                inside |= sets[p, w] & values[where + w]
                outside |= sets[p, w] & ~values[where + w]
            if inside == nb.uint64(0):
                continue
            if outside == nb.uint64(0):
                keys[p, q >> 6] ^= bit
                continue
            for w in range(WORDS):
                sets[parts, w] = sets[p, w] & values[where + w]
                sets[p, w] &= ~values[where + w]
            for w in range(keys.shape[1]):
                keys[parts, w] = keys[p, w]
            keys[parts, q >> 6] ^= bit
            parts += 1
    return parts


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _fitting(block, begin, options, spent, weight, heaviest, budget, valid):
    """Which options of a block may be the last; how many."""
    size = 0
    for w in range(WORDS):
        fits, here = nb.uint64(0), 64 * (block + w)
        low, high = max(begin, here), min(options, here + 64)
        if low < high and spent + heaviest <= budget:
            fits = ~nb.uint64(0) >> nb.uint64(64 - high + low) << nb.uint64(low - here)
        else:
            for k in range(low, high):
                fits |= nb.uint64(spent + weight[k] <= budget) << nb.uint64(k - here)
        valid[w] = fits
        size += _ones(fits)
    return size


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _opened(sums, depth, begin, front, lists, places):
    """The lists of the first layer behind some options: neurons that one more cannot change, and those that
    it can, with the words that tell which do.
    """
    gains, least, most, active, lowest, steps, words = front
    turned, opens, many, _, _ = lists
    n = k = 0
    for w in range(gains.shape[1] >> 6):
        sure, may = _sides(sums, depth * gains.shape[1] + 64 * w, least, most, begin * gains.shape[1] + 64 * w)
        some = may & ~sure
        always = (sure ^ active[w]) & ~some
        while always != nb.uint64(0):
            turned[0, n] = 64 * w + _lowest(always)
            always &= always - nb.uint64(1)
            n += 1
        while some != nb.uint64(0):
            j = 64 * w + _lowest(some)
            some &= some - nb.uint64(1)
            opens[0, k] = j
            t = -nb.int64(sums[depth, j]) - lowest - 1  # the last option must add more than that
            places[k] = (j * steps + t) * words
            k += 1
    many[0, 0], many[0, 1] = n, k


@nb.njit(nogil=True, cache=True, _nrt=False)
def visit(state, path, options, front, planes, network, kinds, close, lists, room, table, steps):
    """Go through the sets that begin as chosen, from there on: those that no look at their pattern is needed
    for are counted, of the others the table adds up what pattern of the last layer they have. True when it
    ends early: after so many blocks, or with the table half full.

    ``state[0]`` is how many options are chosen, ``chosen[d]`` the last one tried behind them; ``state[2]``
    how many sets were counted.
    """
    chosen, sums, spent = path
    weight, behind, lightest, heaviest, budget = options
    gains = front[0]
    home, radius, near, cases = network[2], *close
    _, opens, many, _, _ = lists
    places, values, valid, meets, keys, sets = room
    layers = network[3].shape[0] - (len(cases) > 0)
    while state[0] > 0:
        if steps < 0 or 2 * state[1] > len(table[0]):
            return True
        depth = state[0]
        begin = behind[chosen[depth - 1]]
        if chosen[depth] < begin:  # first, all sets with one option more
            if begin == len(weight):
                state[0] -= 1
                continue
            _opened(sums, depth, begin, front, lists, places)
            n, candidates = _settle(0, many[0, 1], network, lists)
            for block in range(begin >> 6, (len(weight) + 63) >> 6, WORDS):
                size = _fitting(block, begin, len(weight), spent[depth], weight, heaviest, budget, valid)
                if size == 0:
                    continue
                steps -= 1
                for t in range(many[0, 1]):
                    _copy(planes, places[t] + block, values, SLOT * t)
                _decide(0, n, candidates, network, lists, kinds, values, valid)
                some = True
                for number in range(1, layers):
                    if number == near and not _far(number, radius, network, lists, kinds, values, valid):
                        some = False
                        break
                    most = _together(values, number * opens.shape[1] * SLOT, many[number, 1], valid)
                    more, undecided = _settle(number, most, network, lists)
                    if number + 1 == near and more + undecided <= radius:
                        some = False
                        break
                    if (
                        number + 1 == layers
                        and len(cases) > 0
                        and not _may_meet(layers, more, undecided, network, lists, cases)
                    ):
                        some = False
                        break
                    _decide(number, more, undecided, network, lists, kinds, values, valid)
                if some and len(cases) > 0:
                    some = _met(layers, network, lists, kinds, values, valid, cases, meets)
                left = 0
                if some:
                    for w in range(WORDS):
                        left += _ones(valid[w])
                    parts = _part(layers, home, lists, values, valid, keys, sets)
                    _tell(keys, sets, parts, *table, state)
                state[2] += size - left
        k = max(chosen[depth] + 1, begin)
        if spent[depth] + 2 * lightest[k] > budget:  # no two more
            k = len(weight)
        while k < len(weight) and spent[depth] + weight[k] + lightest[behind[k]] > budget:
            k += 1
        if k == len(weight) or depth == len(chosen) - 1:
            state[0] -= 1
            continue
        chosen[depth] = k
        for j in range(gains.shape[1]):
            sums[depth + 1, j] = sums[depth, j] + gains[k, j]
        spent[depth + 1] = spent[depth] + weight[k]
        chosen[depth + 1] = -1
        state[0] += 1
    return False
