"""Going through all combinations of options once more, each one feature away from the one before.

To be ensured: every combination is met, and each is judged with all its layers. A step of one feature turns
some neurons of the first layer; each of them changes the match counts of the second layer by its weights,
and so on. Match counts stand in *planes*: word w of plane p has bit p of ``M - tau`` of 64 neurons, in two's
complement, and planes are added as digits are on paper. `plain` has the same with ``itertools``.
Nothing here is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped"

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints
from sugenet.checker.later import cores
from sugenet.checker.plain import plain_combinations
from sugenet.checker.whole import Whole, reachable
from sugenet.errors import CertificateError

__all__ = ["check_combinations", "combinations_seen"]

_MOST = 1 << 40
"""Combinations that are gone through."""
_PART = 1 << 15
"""Combinations between two looks at the clock."""
_ROWS = 15  # that are summed at a time, at most
_LARGE = 1 << 62


def check_combinations(proof: dict[str, Any], whole: Whole, *, plain: bool = False) -> str:
    """Go through all combinations once more; as many as the certificate says."""
    sets = proof["sets"]
    every = prod(len(options) + 1 for options in whole.features)
    if type(sets) is not int or sets != every or every > _MOST:
        raise CertificateError(
            f"there are {every:,} combinations of changes (at most {_MOST:,} are gone through), and the "
            f"certificate says {str(sets)[:40]}."
        )
    heaviest = sum(max(price for price, _ in options) for options in whole.features)
    if whole.budget is not None and heaviest > whole.budget:
        raise CertificateError("combinations prove questions without a budget, and this one has one.")
    seen = plain_combinations if plain else combinations_seen
    if seen(whole):
        raise CertificateError("a change that the certificate excludes is a violation.")
    return f"none of the {sets:,} combinations of changes is a violation"


def combinations_seen(whole: Whole, threads: int | None = None) -> bool:
    """Whether some combination is a violation."""
    limit, layers = whole.limit, [(np.asarray(rows), np.asarray(tau)) for rows, tau in whole.layers]
    if any(np.abs(rows).max(initial=0) > 1 or not len(tau) for rows, tau in layers):
        raise CertificateError("combinations are for later layers of weights -1, 0 and 1.")
    low, high = reachable(whole.base, whole.features, len(whole.features))
    loose = np.flatnonzero((low >= 0) != (high >= 0))
    if max(np.abs(low).max(initial=0), np.abs(high).max(initial=0)) >= 1 << 30:
        raise CertificateError("the sums of the first layer are too large for combinations.")
    offered = [[gain[loose] for _, gain in options] for options in whole.offered]
    digits = max(6, int(max(np.abs(low).max(initial=0), np.abs(high).max(initial=0))).bit_length() + 2)
    words = max(1, -(-len(loose) // 64))
    limit.take(64 * words * digits * sum(map(len, offered)), "all changes")
    tail = _Tail(whole, layers, loose)
    inner = 0
    while inner < len(offered) and prod(map(len, offered[: inner + 1])) <= _PART:
        inner += 1
    first = np.cumsum([0, *map(len, offered[:inner])]).astype(np.int64)
    # what a step from option k of a feature to the next one adds, and back
    steps = [np.diff(np.array(options), axis=0, append=options[-1:]) for options in offered[:inner]]
    up = np.array([_digits_of(row, digits) for row in (row for rows in steps for row in rows)], np.uint64)
    down = np.array([_digits_of(-row, digits) for row in (row for rows in steps for row in rows)], np.uint64)
    both = np.stack([up, down]).reshape(2, -1, words * digits) if inner else np.zeros((2, 0, 1), np.uint64)

    def look_at(part: int) -> bool:
        limit.look()
        margins = whole.base[loose].copy()
        for options in offered[inner:]:
            part, k = divmod(part, len(options))
            margins += options[k]
        for options in offered[:inner]:
            margins += options[0]
        chosen = np.zeros(inner, np.int64)
        return bool(_steps(_digits_of(margins, digits), digits, chosen, both, first, *tail.at_sample()))

    parts = prod(map(len, offered[inner:]))
    with ThreadPoolExecutor(threads or cores()) as pool:
        for begin in range(0, parts, 1 << 10):  # an error in one part ends it soon
            if any(pool.map(look_at, range(begin, min(begin + (1 << 10), parts)))):
                return True
    return False


def _digits_of(numbers: Ints, digits: int) -> npt.NDArray[np.uint64]:
    """Binary digits of whole numbers in two's complement: for each word of 64 numbers its lowest digits,
    the next ones, and so on.
    """
    planes = _words((np.asarray(numbers, np.int64) >> np.arange(digits)[:, None]) & 1 > 0)
    return np.ascontiguousarray(planes.T).reshape(-1)


class _Tail:
    """The layers behind the first at the sample: planes of each, and what turning a neuron adds."""

    def __init__(self, whole: Whole, layers: list[tuple[Ints, Ints]], loose: Any) -> None:
        active = np.asarray(whole.base) >= 0
        self.read = [_words(active[loose][None])[0]]
        self.planes, self.digits, self.rows, self.twice = [], [], [], []
        self.inside = [_words(np.ones((1, len(loose)), bool))[0]]
        for number, (weights, tau) in enumerate(layers):
            held = np.where(active, np.maximum(weights, 0), np.maximum(-weights, 0)).sum(axis=1)
            if number == 0:
                weights = weights[:, loose]
            margins = held - tau
            digits = max(6, (int(np.abs(margins).max()) + weights.shape[1]).bit_length() + 1)
            whole.limit.take(weights.size, "the later layers in planes")
            self.planes.append(_digits_of(margins, digits))
            self.digits.append(digits)
            twice = bool((weights != 0).all())
            self.rows.append(_turned(weights.T, twice=twice))
            self.twice.append(twice)
            active = margins >= 0
            self.read.append(_words(active[None])[0])
            self.inside.append(_words(np.ones((1, len(tau)), bool))[0])
        parts, self.cases = whole.inequalities
        factors = np.array([list(row) for row, _ in parts], object).reshape(len(parts), len(whole.head))
        worth = factors @ whole.head.astype(object)
        here = np.where(active, np.maximum(whole.head, 0), np.maximum(-whole.head, 0)).sum(axis=1)
        short = np.array([least for _, least in parts], object) - factors @ here.astype(object)
        if np.abs(worth).sum() + np.abs(short).sum() >= _LARGE:
            raise CertificateError("the scores are too finely divided for combinations.")
        if not layers:
            worth = worth[:, loose]
        self.worth, self.short = worth.T.astype(np.int64), short.astype(np.int64)

    def at_sample(self) -> tuple[Any, ...]:
        """Everything as it is at the sample, to be changed."""
        ends = np.cumsum([0, *map(len, self.read)]).astype(np.int64)
        planes = [part.copy() for part in self.planes]
        starts = np.cumsum([0, *(part.size for part in planes)]).astype(np.int64)
        places = np.cumsum([0, *(part.size for part in self.rows)]).astype(np.int64)
        members = np.zeros((len(self.cases), len(self.short)), np.bool_)
        for row, case in zip(members, self.cases, strict=True):
            row[case] = True
        none = [np.zeros(0, np.uint64)]
        return (
            np.concatenate(self.read),
            np.concatenate(self.inside),
            ends,
            np.concatenate([*none, *(part.reshape(-1) for part in planes)]),
            starts,
            np.array(self.digits, np.int64),
            np.concatenate([*none, *(part.reshape(-1) for part in self.rows)]),
            places,
            np.array(self.twice, np.bool_),
            np.ascontiguousarray(self.worth),
            self.short.copy(),
            members,
        )


def _words(truths: Bits) -> npt.NDArray[np.uint64]:
    """Rows of truth values as words, the first the lowest bit; one word at least."""
    wide = max(64, -(-truths.shape[1] // 64) * 64)
    padded = np.zeros((len(truths), wide), bool)
    padded[:, : truths.shape[1]] = truths
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _turned(weights: Ints, *, twice: bool) -> npt.NDArray[np.uint64]:
    """For each neuron before (a row of weights) what it adds when it goes off and when it goes on, plus 1, as
    rows of bits: those that win, and those that do not lose. Without a weight of 0 these are the same, and
    one row counts twice. In front a row of nothing.
    """
    rows = []
    for gained in (-weights, weights):
        rows += [gained > 0] if twice else [gained > 0, gained >= 0]
    stacked = np.stack([_words(part) for part in rows], axis=1)
    return np.concatenate([np.zeros((1, stacked.shape[2]), np.uint64), stacked.reshape(-1, stacked.shape[2])])


# -- one part ------------------------------------------------------------------------------------------------


@nb.njit(nogil=True, cache=True)
def _steps(
    margins,
    places,
    chosen,
    changes,
    first,
    read,
    inside,
    ends,
    planes,
    starts,
    digits,
    rows,
    begins,
    twice,
    worth,
    short,
    members,
):
    """Whether a combination of the options of some features is a violation: all are met, each but the first
    by one step of one feature up or down.
    """
    features, layers = len(chosen), len(digits)
    seen = read.copy()  # what the next layer has been told
    way = np.ones(features, np.int64)
    turned = np.zeros(2 * 64 * len(read) + _ROWS, np.uint64)
    while True:
        for w in range(ends[1]):
            read[w] = ~margins[(w + 1) * places - 1]  # not negative
        for layer in range(layers):
            words = ends[layer + 2] - ends[layer + 1]
            per = 1 if twice[layer] else 2
            many = _told(read, seen, inside, ends[layer], ends[layer + 1], per, begins[layer], words, turned)
            if many == 0:
                break
            _count(
                planes,
                starts[layer],
                digits[layer],
                words,
                rows,
                turned,
                many,
                twice[layer],
                read,
                ends[layer + 1],
            )
        at = ends[layers]
        for w in range(at, ends[layers + 1]):
            differ = (read[w] ^ seen[w]) & inside[w]
            seen[w] = read[w]
            while differ:
                j = _place(differ)
                differ &= differ - nb.uint64(1)
                on = (read[w] >> nb.uint64(j)) & nb.uint64(1)
                for q in range(len(short)):
                    short[q] += -worth[64 * (w - at) + j, q] if on else worth[64 * (w - at) + j, q]
        for case in range(len(members)):
            met = True
            for q in range(len(short)):
                met &= not members[case, q] or short[q] <= 0
            if met:
                return True
        f = 0
        while f < features and not 0 <= chosen[f] + way[f] < first[f + 1] - first[f]:
            way[f] = -way[f]  # at its end: the next feature moves, then this one goes back
            f += 1
        if f == features:
            return False
        down = 0 if way[f] > 0 else 1
        _add(margins, changes, down, first[f] + chosen[f] - down, places)
        chosen[f] += way[f]


_SPREAD = 0x03F79D71B4CB0A89
"""Its 64 runs of six bits are all different (a de Bruijn number), so that they tell places of bits."""
_PLACES = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACES[(_SPREAD << _bit) % 2**64 >> 58] = _bit


@nb.njit(nogil=True, cache=True)
def _place(word):
    """Number of the lowest bit that is set."""
    lowest = word & (~word + nb.uint64(1))
    return _PLACES[(lowest * nb.uint64(_SPREAD)) >> nb.uint64(58)]


@nb.njit(nogil=True, cache=True)
def _told(read, seen, inside, begin, end, per, place, words, turned):
    """Where the rows of the neurons begin that turned since the next layer was told, `per` rows each;
    how many neurons.
    """
    n = 0
    for w in range(begin, end):
        differ = (read[w] ^ seen[w]) & inside[w]
        seen[w] = read[w]
        while differ:
            j = _place(differ)
            differ &= differ - nb.uint64(1)
            on = nb.int64((read[w] >> nb.uint64(j)) & nb.uint64(1))
            for k in range(per):
                turned[n + k] = place + (1 + (2 * (64 * (w - begin) + j) + on) * per + k) * words
            n += per
    for k in range(n, n + _ROWS):
        turned[k] = place  # the row of nothing
    return n // per


@nb.njit(nogil=True, cache=True)
def _add(numbers, changes, way, which, digits):
    """Add a row of numbers to numbers, both in digits."""
    for begin in range(0, len(numbers), digits):
        carry = nb.uint64(0)
        for d in range(begin, begin + digits):
            numbers[d], carry = _full(numbers[d], changes[way, which, d], carry)


@nb.njit(nogil=True, cache=True)
def _count(planes, at, digits, words, rows, turned, many, twice, read, to):
    """Add rows of bits to the digits of each word of neurons, from the second digit on where they count
    twice, and take 1 a neuron off; who is active then, into `read` from `to` on.
    """
    begin = 1 if twice else 0
    for w in range(words):
        own, here = nb.uint64(at + w * digits), nb.uint64(w)
        end = own + nb.uint64(digits)
        k, last = nb.uint64(0), nb.uint64(many if twice else 2 * many)
        while k < last:
            low, middle, high = _seven(rows, here, turned, k)
            top = nb.uint64(0)
            k += nb.uint64(7)
            if k < last:  # seven more, and one
                more = _seven(rows, here, turned, k)
                low, carry = _full(low, more[0], rows[here + turned[k + nb.uint64(7)]])
                middle, carry = _full(middle, more[1], carry)
                high, top = _full(high, more[2], carry)
                k += nb.uint64(8)
            d = own + nb.uint64(begin)
            planes[d], carry = _full(planes[d], low, nb.uint64(0))
            planes[d + nb.uint64(1)], carry = _full(planes[d + nb.uint64(1)], middle, carry)
            planes[d + nb.uint64(2)], carry = _full(planes[d + nb.uint64(2)], high, carry)
            planes[d + nb.uint64(3)], carry = _full(planes[d + nb.uint64(3)], top, carry)
            d += nb.uint64(4)
            while d < end:
                digit = planes[d]
                planes[d], carry = digit ^ carry, digit & carry
                d += nb.uint64(1)
        carry, d, less = nb.uint64(0), own, -many
        while d < end:  # plus -many, whose digits all neurons share
            digit = nb.uint64(0) - nb.uint64(less & 1)
            less >>= 1
            planes[d], carry = _full(planes[d], digit, carry)
            d += nb.uint64(1)
        read[to + w] = ~planes[end - nb.uint64(1)]  # not negative


@nb.njit(nogil=True, cache=True, inline="always")
def _full(x, y, z):
    """The two digits of the sum of three bits, for 64 of them."""
    return x ^ y ^ z, (x & y) | (z & (x ^ y))


@nb.njit(nogil=True, cache=True, inline="always")
def _seven(rows, here, turned, k):
    """The three digits of the sum of seven rows."""
    one, over = _full(
        rows[here + turned[k]],
        rows[here + turned[k + nb.uint64(1)]],
        rows[here + turned[k + nb.uint64(2)]],
    )
    two, more = _full(
        rows[here + turned[k + nb.uint64(3)]],
        rows[here + turned[k + nb.uint64(4)]],
        rows[here + turned[k + nb.uint64(5)]],
    )
    low, last = _full(one, two, rows[here + turned[k + nb.uint64(6)]])
    middle, high = _full(over, more, last)
    return low, middle, high
