"""The Sugeno integral (paper equation 2): by definition, by sorting, by focal sets, by cuts, and in closed
form for each family.

All ways give the same answer; tests hold them against each other. ``auto`` takes the closed form where the
family has one, and sorting elsewhere. Values are only ever compared.

Float samples are integrated in float arrays, although worths such as 1/3 or 1 - 0.3 are not floats. Let up(v)
be the least float that is not smaller than v. It keeps the order and moves no float, and the integral is made
of minima and maxima alone, so the integral of the worths rounded up is the integral S rounded up: f = up(S).
No float lies between S and f, so the criteria whose values reach S are those whose values reach f, and
S = min(f, mu(these criteria)) by cuts (docs/theory.md 6.12). That question is asked only where f does not say
which of the two it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce, singledispatch
from math import inf, nextafter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sugenet.capacity.base import TABLE_LIMIT, SetFunction, need_set_function, up_to_limit
from sugenet.capacity.combine import Conjugate, Join, Meet, Nested
from sugenet.capacity.criteria import bits
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.scales import BOOLEAN, UNIT, Codes, Scale, UnitInterval, Value, need_scale
from sugenet.capacity.tables import Dense, Focal
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold
from sugenet.errors import CapacityError, CriteriaError, ScaleError, TooLargeError

__all__ = ["Method", "RoundedUp", "integrals_by_table", "sugeno", "up"]

TABLE_CHUNK = 8192  # samples at a time: a chunk of 20 criteria stays in the cache
FLAT = np.uint64(31)  # the low bits of a float that make room for the number of its criterion while sorting


def integrals_by_table(table: Codes, X: Codes) -> Codes:
    """Integrals of the rows of `X` with respect to the table; both are codes of one scale: sort, then find by
    halving where values and worths cross (docs/theory.md 6.5).
    """
    if X.dtype != np.float64 or table.dtype != np.float64 or not 1 <= X.shape[1] <= 32:
        return _by_argsort(table, X)
    if table[0] < 0 or X.min(initial=0) < 0:
        return _by_argsort(table, X)  # codes of complements, which do not order like their bits
    chunks = [np.ascontiguousarray(X[start : start + TABLE_CHUNK]) for start in range(0, len(X), TABLE_CHUNK)]
    if len(chunks) < 4:
        parts = [_by_halving(table, chunk) for chunk in chunks]
    else:  # NumPy lets go of the interpreter inside its loops, so two threads help
        with ThreadPoolExecutor(min(len(chunks), os.cpu_count() or 1)) as pool:
            parts = list(pool.map(lambda chunk: _by_halving(table, chunk), chunks))
    return np.concatenate([*parts, np.zeros(0)])


def _by_argsort(table: Codes, X: Codes) -> Codes:
    """The plain twin, for codes of any kind: look up the worth of the best k values for every k."""
    rising = np.argsort(X, axis=1)
    masks = np.cumsum((1 << rising.astype(np.int32))[:, ::-1], axis=1, dtype=np.int32)
    values = np.take_along_axis(X, rising, axis=1)[:, ::-1]
    rated = np.minimum(values, table[masks])
    return np.asarray(np.maximum(rated.max(axis=1), table[0])) if X.shape[1] else np.repeat(table[:1], len(X))


def _by_halving(table: Codes, X: npt.NDArray[np.float64]) -> Codes:
    """Sort floats with the number of their criterion in the lowest bits,
    which is exact unless two differ in those bits only.
    """
    count, n = X.shape
    # floats >= 0 order like their bits
    keys = (np.abs(X).view(np.uint64) & ~FLAT) | np.arange(n, dtype=np.uint64)
    keys.sort(axis=1)
    neighbours = keys.ravel()[1:] ^ keys.ravel()[:-1]
    if n > 1:
        neighbours[n - 1 :: n] = FLAT + np.uint64(1)  # the last of a sample and the first of the next
        if neighbours.size and neighbours.min() <= FLAT:
            return _by_argsort(table, X)  # ties or near ties: the plain way orders them exactly
    # row k: the criterion with the k-th best value
    order = np.ascontiguousarray((keys & FLAT).astype(np.int32)[:, ::-1].T)
    best = np.left_shift(np.int32(1), order)
    for k in range(1, n):
        best[k] |= best[k - 1]  # row k: the mask of the k + 1 best
    flat_order, flat_best, values = order.ravel(), best.ravel(), X.ravel()
    sample = np.arange(count)
    start = sample * n
    # the first k whose worth reaches its value, n if none
    low, high = (
        np.zeros(count, np.intp),
        np.full(count, n, np.intp),
    )
    for _ in range(n.bit_length()):
        middle = np.minimum((low + high) >> 1, n - 1)
        index = middle * count + sample
        reached = table.take(flat_best.take(index)) >= values.take(start + flat_order.take(index))
        high = np.where(reached & (low < high), middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    index = np.minimum(low, n - 1) * count + sample
    at = np.where(low < n, values.take(start + flat_order.take(index)), 0.0)
    before = np.where(
        low > 0, table.take(flat_best.take((np.maximum(low, 1) - 1) * count + sample)), table[0]
    )
    return np.asarray(np.maximum(at, before))


def up(value: Value) -> float:
    """The least float that is not smaller.

    Examples
    --------
    >>> from fractions import Fraction
    >>> up(0.3), up(1), up(Fraction(1, 3)) > Fraction(1, 3) > 0.3333333333333333
    (0.3, 1.0, True)
    """
    number = float(value)
    return nextafter(number, inf) if number < value else number


@dataclass(frozen=True, eq=False)
class RoundedUp(UnitInterval):
    """The unit interval for one integral over float samples: up(v) codes v,
    and if `flipped`, -up(1 - v) does.

    Flipped codes serve the conjugate, 1 - S_mu(1 - x): the code of 1 - x is simply -x.
    """

    flipped: bool = False
    meant: dict[float, set[Value]] = field(default_factory=dict)
    """For up(v) the values v that were coded, all as values of the integral."""
    tables: dict[tuple[int, bool], Codes] = field(default_factory=dict)

    def flip(self) -> RoundedUp:
        """The scale for the other side of a conjugate."""
        return RoundedUp(not self.flipped, self.meant, self.tables)

    def codes(self, values: Any, what: str = "values") -> Codes:  # noqa: ARG002 the values were checked before
        """Code exact values."""
        numbers = [UNIT.reverse(value) if self.flipped else value for value in values]
        rounded = [up(number) for number in numbers]
        for code, number in zip(rounded, numbers, strict=True):
            self.meant.setdefault(code, set()).add(number)
        return np.array(rounded, dtype=np.float64) * (-1 if self.flipped else 1)

    def table(self, mu: SetFunction) -> Codes:
        """The codes of a table, made once for all parts of a batch."""
        key = id(mu), self.flipped
        if key not in self.tables:
            values = mu.table()
            self.tables[key] = (
                values if values.dtype == np.float64 and not self.flipped else self.codes(values.tolist())
            )
        return self.tables[key]

    def reverse_codes(self, codes: Codes) -> Codes:
        """The codes of the complements on the flipped scale."""
        return -codes

    def element(self, code: Any) -> Value:
        """The value of a sample, which is exactly what its code says."""
        return UNIT.reverse(-float(code)) if self.flipped else float(code)

    def exact(self, mu: SetFunction, X: Codes, rounded_up: Codes) -> Codes:
        """The integrals of the samples `X` that `rounded_up` has rounded up:
        floats where all of them are, else objects.
        """
        if all(number == code for code, numbers in self.meant.items() for number in numbers):
            return rounded_up + 0.0  # no negative zero
        distinct, indices = np.unique(rounded_up, return_inverse=True)
        meant = [self.meant.get(code, set()) for code in distinct.tolist()]
        rounded = np.array(
            [
                any(number != code for number in numbers)
                for code, numbers in zip(distinct.tolist(), meant, strict=True)
            ]
        )
        rows = np.flatnonzero(rounded[indices])
        if not rows.size:
            return rounded_up + 0.0
        out = (rounded_up + 0.0).astype(object)
        tables = any(codes.dtype == np.float64 and not flipped for (_, flipped), codes in self.tables.items())
        unclear = (X[rows] == rounded_up[rows, None]).any(axis=1)  # the float is a value of the sample, too
        for row, ask in zip(rows.tolist(), unclear.tolist(), strict=True):
            numbers = meant[indices[row]]
            if ask or tables or len(numbers) > 1:
                reaching = sum(1 << index for index, value in enumerate(X[row].tolist()) if value >= out[row])
                out[row] = min(out[row], mu.at(reaching))
            else:
                (out[row],) = numbers
        return out


Method = Literal["auto", "definition", "sorting", "focal", "cuts"]
CHUNK = 4096  # samples at a time, so that a chunk of 20 criteria stays in the cache


def sugeno(mu: SetFunction, x: Any, method: Method = "auto", scale: Scale | None = None) -> Any:
    """Sugeno integral of one sample or of a batch of samples with respect to `mu`.

    Parameters
    ----------
    mu
        Any monotone set function.
    x
        One sample, as a mapping from criteria or a sequence in their order; or a batch, with one sample a
        row, as a sequence of mappings, or as a mapping from criteria to columns of equal length.
    method
        ``auto``, or one way by name: ``definition`` (2^n sets, up to 24 criteria), ``sorting``, ``focal`` (up
        to two million focal sets), ``cuts``.
    scale
        The scale of `x`; that of `mu` unless said. A Boolean `mu` can integrate a sample on any scale: its 0
        and 1 become bottom and top (docs/theory.md 6.1), and numbers in [0, 1] are recognized as such.

    Returns
    -------
    One value of the scale, or for a batch an array of them.

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold, Criteria, Focal
    >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.4})
    >>> sugeno(mu, {"price": 0.9, "comfort": 0.2, "safety": 0.7})
    0.7
    >>> sugeno(mu, [[0.9, 0.2, 0.7], [0.1, 1, 1]]).tolist()
    [0.7, 0.4]
    >>> sugeno(mu, {"price": [0.9, 0.1], "comfort": [0.2, 1], "safety": [0.7, 1]}).tolist()
    [0.7, 0.4]

    Graded inputs of a neuron: the tau-th largest degree among its literals.

    >>> neuron = CardinalityThreshold({1, -2}, tau=2, criteria=Criteria.literals(2))
    >>> sugeno(neuron, {1: 0.75, -1: 0.25, 2: 0.5, -2: 0.5})
    0.5
    """
    ways: dict[str, Callable[[SetFunction, list[Value], Scale], Value]] = {
        "definition": _by_definition,
        "sorting": _by_sorting,
        "focal": _by_focal_sets,
        "cuts": _by_cuts,
    }
    if method not in (*ways, "auto"):
        raise CapacityError(f"method={method!r} is not one of auto, {', '.join(ways)}.")
    need_set_function(mu)
    codes, scale = _read(mu, _in_order(mu, x), scale)
    batch = codes[None, :] if codes.ndim == 1 else codes
    if method == "auto":
        size = len(batch) if isinstance(mu, Dense) else CHUNK  # tables have chunks of their own
        inner = RoundedUp() if scale == UNIT and batch.dtype == np.float64 else scale
        parts = [_closed(mu, batch[start : start + size], inner) for start in range(0, len(batch), size or 1)]
        integrals = np.concatenate(parts) if parts else batch[:, :0].max(axis=1, initial=0)
        if isinstance(inner, RoundedUp):
            integrals = inner.exact(mu, batch, integrals)
    else:
        rows = ([scale.element(code) for code in row] for row in batch)
        integrals = scale.codes([ways[method](mu, row, scale) for row in rows])
    return scale.element(integrals[0]) if codes.ndim == 1 else scale.decode(integrals)


def _in_order(mu: SetFunction, x: Any) -> Any:
    """Samples given by name, put into the order of the criteria; anything else as it is."""
    if isinstance(x, Mapping):
        row = mu.criteria.row(x, "the sample")
        return _columns(mu, row) if any(map(_is_column, row)) else row
    if isinstance(x, list | tuple) and any(isinstance(sample, Mapping) for sample in x):
        strange = next((index for index, sample in enumerate(x) if not isinstance(sample, Mapping)), None)
        if strange is not None:
            raise CriteriaError(
                f"sample {strange} of x is no mapping while others are. Give all samples in the same way."
            )
        return [mu.criteria.row(sample, f"sample {index}") for index, sample in enumerate(x)]
    return x


def _is_column(values: object) -> bool:
    return (
        np.ndim(values) > 0
        if hasattr(values, "__array__")
        else isinstance(values, Sequence) and not isinstance(values, str)
    )


def _columns(mu: SetFunction, columns: list[Any]) -> Any:
    """A batch given by columns: one sequence for each criterion, all of the same length."""
    lengths = {
        name: len(column) if _is_column(column) else None
        for name, column in zip(mu.criteria, columns, strict=True)
    }
    if len(set(lengths.values())) > 1:
        shown = ", ".join(
            f"{name}: {'one value' if length is None else length}"
            for name, length in list(lengths.items())[:8]
        )
        raise CriteriaError(
            f"x gives columns of different lengths ({shown}). Give one value, or equally many, "
            f"for each criterion."
        )
    if all(isinstance(column, np.ndarray) and column.dtype.kind in "biuf" for column in columns):
        return np.stack(columns, axis=1)
    return [list(row) for row in zip(*columns, strict=True)] or np.empty((0, len(columns)))


def _read(mu: SetFunction, x: Any, scale: Scale | None) -> tuple[Codes, Scale]:
    """Check a sample or batch and bring it onto the scale of the integral."""
    n = len(mu.criteria)
    try:
        shape = np.shape(x)
    except ValueError:
        raise CriteriaError(
            f"the samples of x have different lengths; every sample has {n} values, one for each criterion."
        ) from None
    if len(shape) not in (1, 2) or shape[-1] != n:
        raise CriteriaError(
            f"x has shape {shape}, but a sample has {n} values, one for each criterion. Give a mapping, a "
            f"sequence of {n}, or a batch of shape (samples, {n})."
        )
    if scale is None and mu.scale == BOOLEAN:
        try:
            codes = UNIT.codes(x, "x")
        except ScaleError as error:
            raise ScaleError(
                f"{error} The set function is Boolean: for samples on another scale give scale=..."
            ) from None
        if not np.all((codes == 0) | (codes == 1)):
            return codes, UNIT
        return codes.astype(np.int8), BOOLEAN
    scale = mu.scale if scale is None else scale
    need_scale(scale)
    if mu.scale not in (scale, BOOLEAN):
        raise ScaleError(f"scale is {scale}, but the set function has values on {mu.scale}. They must agree.")
    return scale.codes(x, "x"), scale


def _lift(mu: SetFunction, value: Value, scale: Scale) -> Value:
    """A value of `mu` on the scale of the integral: 0 and 1 of a Boolean set function
    become bottom and top.
    """
    if mu.scale != BOOLEAN or scale == BOOLEAN:
        return value
    return scale.top if value else scale.bottom


def _by_definition(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Best over all sets of the lesser of the set's worth and its smallest value (equation 2)."""
    if len(row) > TABLE_LIMIT:
        raise TooLargeError(
            f"method='definition' looks at all 2^{len(row)} sets; the limit is {TABLE_LIMIT} criteria. Use "
            f"method='sorting' or 'auto'."
        )
    return max(
        min([_lift(mu, mu.at(mask), scale), *(row[index] for index in bits(mask))])
        for mask in range(1 << len(row))
    )


def _by_sorting(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Worth of the best k values rises with k, the k-th value falls:
    find where they cross by halving (docs/theory.md 6.5).
    """
    falling = sorted(range(len(row)), key=row.__getitem__, reverse=True)
    best = [0]
    for index in falling:
        best.append(best[-1] | 1 << index)

    def worth(k: int) -> Value:
        return _lift(mu, mu.at(best[k]), scale)

    # the first k with worth(k) >= k-th value, top for k = 0, is in low..high
    low, high, before = (
        0,
        len(row) + 1,
        scale.bottom,
    )
    while low < high:
        middle = (low + high) // 2
        reached = worth(middle)
        if reached >= (row[falling[middle - 1]] if middle else scale.top):
            high = middle
        else:
            low, before = middle + 1, reached
    if low == 0:
        return scale.top
    return before if low > len(row) else max(before, row[falling[low - 1]])


def _by_focal_sets(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Best over focal sets of the lesser of weight and smallest value."""
    pairs = up_to_limit(mu.focal_masks(), "method='focal'", "Use method='sorting' or 'auto'.")
    rated = (min([_lift(mu, weight, scale), *(row[index] for index in bits(mask))]) for mask, weight in pairs)
    return max(rated, default=scale.bottom)


def _by_cuts(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Highest level a with mu({x >= a}) >= a; S is always a value of x or of mu on such
    a cut (docs/theory.md 6.1).
    """

    def cut(level: Value) -> Value:
        return _lift(mu, mu.at(sum(1 << index for index, value in enumerate(row) if value >= level)), scale)

    levels = {scale.bottom, scale.top, *row}
    levels |= {cut(level) for level in levels} | {_lift(mu, mu.at(0), scale)}
    return next(
        level for level in sorted(levels, reverse=True) if level == scale.bottom or cut(level) >= level
    )


@singledispatch
def _closed(mu: SetFunction, X: Codes, scale: Scale) -> Codes:
    """Integrals of a batch of codes. Families without a formula are sorted, one sample at a time."""
    rows = ([scale.element(code) for code in row] for row in X)
    return scale.codes([_by_sorting(mu, row, scale) for row in rows])


@_closed.register
def _(mu: CardinalityThreshold, X: Codes, scale: Scale) -> Codes:
    """The tau-th largest value on lam."""
    n = len(mu.lam)
    if not 1 <= mu.tau <= n:
        return _constant(scale.top if mu.tau < 1 else scale.bottom, X, scale)
    chosen = X if n == X.shape[1] else X[:, list(bits(mu.lam_mask))]
    ordered = np.sort(chosen, axis=1) if X.dtype == object else np.partition(chosen, n - mu.tau, axis=1)
    return np.asarray(ordered[:, n - mu.tau])


@_closed.register
def _(mu: WeightedThreshold, X: Codes, scale: Scale) -> Codes:
    """A weighted quantile: the value at which the weights of the best values reach theta."""
    weights, theta = mu.integers
    if not 1 <= theta <= sum(weights):
        return _constant(scale.top if theta < 1 else scale.bottom, X, scale)
    falling = np.argsort(X, axis=1)[:, ::-1]
    row = np.array(weights, dtype=np.int64 if sum(weights) < 1 << 62 else object)
    reached = np.cumsum(row[falling], axis=1) >= theta
    crossing = np.take_along_axis(falling, np.argmax(reached, axis=1)[:, None], axis=1)
    return np.take_along_axis(X, crossing, axis=1)[:, 0]


@_closed.register
def _(mu: Symmetric, X: Codes, scale: Scale) -> Codes:
    """Best over k of the lesser of the k-th value and g(k)."""
    g = _values(mu, mu.g, scale)
    falling = np.sort(X, axis=1)[:, ::-1]
    return _largest(np.minimum(falling, g[1:]), g[:1])


@_closed.register
def _(mu: Possibility, X: Codes, scale: Scale) -> Codes:
    """Best over criteria of the lesser of pi and value."""
    pi = _values(mu, mu.pi, scale)
    return _largest(np.minimum(X, pi), scale.codes([scale.bottom]))


@_closed.register
def _(mu: Necessity, X: Codes, scale: Scale) -> Codes:
    """Least over criteria of the greater of 1 - pi and value."""
    impossible = _values(mu, tuple(mu.scale.reverse(value) for value in mu.pi), scale)
    return _least(np.maximum(X, impossible), scale.codes([scale.top]))


@_closed.register
def _(mu: Focal, X: Codes, scale: Scale) -> Codes:
    """Best over focal sets of the lesser of weight and smallest value."""
    best = _constant(scale.bottom, X, scale)
    for mask, weight in mu.weights:
        best = np.maximum(best, _least(X[:, list(bits(mask))], _values(mu, (weight,), scale)))
    return best


@_closed.register
def _(mu: Join, X: Codes, scale: Scale) -> Codes:
    """The integral of a maximum is the maximum of the integrals."""
    return reduce(np.maximum, (_closed(member, X, scale) for member in mu.members))


@_closed.register
def _(mu: Meet, X: Codes, scale: Scale) -> Codes:
    """The integral of a minimum is the minimum of the integrals."""
    return reduce(np.minimum, (_closed(member, X, scale) for member in mu.members))


@_closed.register
def _(mu: Nested, X: Codes, scale: Scale) -> Codes:
    """Best over levels of the lesser of level and Boolean integral."""
    rated = (
        np.minimum(_closed(member, X, scale), _values(mu, (level,), scale)) for level, member in mu.levels
    )
    return reduce(np.maximum, rated)


@_closed.register
def _(mu: Conjugate, X: Codes, scale: Scale) -> Codes:
    """1 - S_mu(1 - x)."""
    other = scale.flip() if isinstance(scale, RoundedUp) else scale
    return scale.reverse_codes(_closed(mu.base, scale.reverse_codes(X), other))


@_closed.register
def _(mu: Dense, X: Codes, scale: Scale) -> Codes:
    """Sort, and look the worths of the best k values up in the table."""
    if mu.scale == BOOLEAN != scale:
        return integrals_by_table(_values(mu, (0, 1), scale)[mu.table()], X)
    return integrals_by_table(scale.table(mu) if isinstance(scale, RoundedUp) else mu.table(), X)


def _values(mu: SetFunction, values: tuple[Value, ...], scale: Scale) -> Codes:
    return scale.codes([_lift(mu, value, scale) for value in values])


def _constant(value: Value, X: Codes, scale: Scale) -> Codes:
    return np.repeat(scale.codes([value]), len(X))


def _largest(X: Codes, floor: Codes) -> Codes:
    """Largest value of each row, at least the one in `floor`."""
    return np.asarray(np.maximum(np.max(X, axis=1), floor)) if X.shape[1] else np.repeat(floor, len(X))


def _least(X: Codes, ceiling: Codes) -> Codes:
    """Least value of each row, at most the one in `ceiling`."""
    return np.asarray(np.minimum(np.min(X, axis=1), ceiling)) if X.shape[1] else np.repeat(ceiling, len(X))
