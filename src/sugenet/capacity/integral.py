"""The Sugeno integral (paper equation 2): by definition, by sorting, by focal sets, by cuts, and in closed
form for each family.

All methods give the same answer, and tests compare them. ``auto`` uses the closed form if the family has one,
else sorting. Values are only compared.

Float samples are integrated in float arrays, although worths such as 1/3 or 1 - 0.3 are not floats. Let up(v)
be the smallest float that is at least v. It preserves the order and maps each float to itself. The integral
consists of minima and maxima only, so the integral of the worths rounded up is the integral S rounded up: f =
up(S). No float lies between S and f, so the criteria whose values reach S are those whose values reach f. By
cuts, S = min(f, mu(these criteria)) (docs/theory.md 6.12). This minimum is computed only if f does not
determine which of the two it is.
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

__all__ = [
    "Method",
    "RoundedUp",
    "best_sets",
    "integrals_by_table",
    "read_in_order",
    "read_samples",
    "shape_of",
    "sugeno",
    "up",
    "with_scale",
]

TABLE_CHUNK = 8192  # samples at a time: a chunk of 20 criteria stays in the cache
FLAT = np.uint64(31)  # low bits of a float, replaced by the index of its criterion while sorting


def integrals_by_table(table: Codes, X: Codes) -> Codes:
    """Return the integrals of the rows of `X` with respect to the table; both are codes of one scale.

    Sorts, then finds by bisection where values and worths cross (docs/theory.md 6.5).
    """
    if X.dtype != np.float64 or table.dtype != np.float64 or not 1 <= X.shape[1] <= 32:
        return _by_argsort(table, X)
    if table[0] < 0 or X.min(initial=0) < 0:
        return _by_argsort(table, X)  # codes of complements, which do not order like their bits
    chunks = [np.ascontiguousarray(X[start : start + TABLE_CHUNK]) for start in range(0, len(X), TABLE_CHUNK)]
    if len(chunks) < 4:
        parts = [_by_halving(table, chunk) for chunk in chunks]
    else:  # NumPy releases the interpreter lock inside its loops, so two threads help
        with ThreadPoolExecutor(min(len(chunks), os.cpu_count() or 1)) as pool:
            parts = list(pool.map(lambda chunk: _by_halving(table, chunk), chunks))
    return np.concatenate([*parts, np.zeros(0)])


def best_sets(X: Codes) -> tuple[Codes, Codes]:
    """Return the values of each row in falling order, and the masks of its k best criteria for k = 1 to n."""
    n = X.shape[1]
    is_plain = X.dtype == np.float64 and 1 <= n <= 32 and X.min(initial=0) >= 0
    order = _order_of_floats(X) if is_plain else None
    if order is None:
        order = np.argsort(X, axis=1)[:, ::-1]
    masks = np.cumsum(np.left_shift(np.int64(1), order), axis=1)
    return np.take_along_axis(X, order, axis=1), masks


def _order_of_floats(X: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | None:
    """Return the criteria of each row from the best, or None if two floats differ in their lowest bits only.

    Floats are sorted with the index of their criterion in these bits.
    """
    n = X.shape[1]
    # floats >= 0 order like their bits
    keys = (np.abs(X).view(np.uint64) & ~FLAT) | np.arange(n, dtype=np.uint64)
    keys.sort(axis=1)
    neighbours = keys.ravel()[1:] ^ keys.ravel()[:-1]
    if n > 1:
        neighbours[n - 1 :: n] = FLAT + np.uint64(1)  # the last of a sample and the first of the next
        if neighbours.size and neighbours.min() <= FLAT:
            return None
    return (keys & FLAT).astype(np.int64)[:, ::-1]


def _by_argsort(table: Codes, X: Codes) -> Codes:
    """Look up the worth of the best k values for every k: the plain version, for codes of any kind."""
    values, masks = best_sets(X)
    rated = np.minimum(values, table[masks])
    return np.asarray(np.maximum(rated.max(axis=1), table[0])) if X.shape[1] else np.repeat(table[:1], len(X))


def _by_halving(table: Codes, X: npt.NDArray[np.float64]) -> Codes:
    """Find by bisection where worths and values cross."""
    count, n = X.shape
    from_best = _order_of_floats(X)
    if from_best is None:
        return _by_argsort(table, X)  # ties or near ties: the plain version orders them exactly
    # row k: the criterion with the k-th best value
    order = np.ascontiguousarray(from_best.astype(np.int32).T)
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
    """Return the smallest float that is at least `value`.

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
    """The unit interval for one integral over float samples: the code of v is up(v), or -up(1 - v) if
    `flipped`.

    Flipped codes are for the conjugate, 1 - S_mu(1 - x): the code of 1 - x is -x.
    """

    flipped: bool = False
    meant: dict[float, set[Value]] = field(default_factory=dict)
    """From up(v) to the values v that were coded, all as values of the integral."""
    tables: dict[tuple[int, bool], Codes] = field(default_factory=dict)

    def flip(self) -> RoundedUp:
        """Return the scale for the other side of a conjugate."""
        return RoundedUp(not self.flipped, self.meant, self.tables)

    def codes(self, values: Any, what: str = "values") -> Codes:  # noqa: ARG002 the values were checked before
        """Return the codes of exact values."""
        numbers = [UNIT.reverse(value) if self.flipped else value for value in values]
        rounded = [up(number) for number in numbers]
        for code, number in zip(rounded, numbers, strict=True):
            self.meant.setdefault(code, set()).add(number)
        return np.array(rounded, dtype=np.float64) * (-1 if self.flipped else 1)

    def table(self, mu: SetFunction) -> Codes:
        """Return the codes of a table, computed once for all parts of a batch."""
        key = id(mu), self.flipped
        if key not in self.tables:
            values = mu.table()
            self.tables[key] = (
                values if values.dtype == np.float64 and not self.flipped else self.codes(values.tolist())
            )
        return self.tables[key]

    def reverse_codes(self, codes: Codes) -> Codes:
        """Return the codes of the complements on the flipped scale."""
        return -codes

    def element(self, code: Any) -> Value:
        """Return the value of a sample, which its code gives exactly."""
        return UNIT.reverse(-float(code)) if self.flipped else float(code)

    def exact(self, mu: SetFunction, X: Codes, rounded_up: Codes) -> Codes:
        """Return the exact integrals of the samples `X`, given the integrals rounded up.

        The result has floats if all integrals are floats, else objects.
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
    """Return the Sugeno integral of one sample or of a batch of samples with respect to `mu`.

    Reference: Sugeno [Sug74].

    Parameters
    ----------
    mu
        Any monotone set function.
    x
        One sample, as a mapping from criteria or a sequence in their order; or a batch, with one sample per
        row, as a sequence of mappings, or as a mapping from criteria to columns of equal length.
    method
        ``auto``, or one method by name: ``definition`` (2^n sets, up to 24 criteria), ``sorting``, ``focal``
        (up to two million focal sets), ``cuts``.
    scale
        The scale of `x` (default: that of `mu`). A Boolean `mu` can integrate a sample on any scale: its 0
        and 1 become bottom and top (docs/theory.md 6.1). Numbers in [0, 1] are recognized as values of the
        unit interval.

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
    codes, scale = read_samples(mu, read_in_order(mu, x), scale)
    batch = codes[None, :] if codes.ndim == 1 else codes
    if method == "auto":
        size = len(batch) if isinstance(mu, Dense) else CHUNK  # tables are split into chunks later
        inner = RoundedUp() if scale == UNIT and batch.dtype == np.float64 else scale
        parts = [_closed(mu, batch[start : start + size], inner) for start in range(0, len(batch), size or 1)]
        integrals = np.concatenate(parts) if parts else batch[:, :0].max(axis=1, initial=0)
        if isinstance(inner, RoundedUp):
            integrals = inner.exact(mu, batch, integrals)
    else:
        rows = ([scale.element(code) for code in row] for row in batch)
        integrals = scale.codes([ways[method](mu, row, scale) for row in rows])
    return scale.element(integrals[0]) if codes.ndim == 1 else scale.decode(integrals)


def read_in_order(mu: SetFunction, x: Any) -> Any:
    """Return samples given by name in the order of the criteria; anything else unchanged."""
    x = mu.criteria.labelled(x)
    if isinstance(x, Mapping):
        row = mu.criteria.row(x, "the sample")
        return _columns(mu, row) if any(map(_is_column, row)) else row
    if isinstance(x, list | tuple) and any(isinstance(sample, Mapping) for sample in x):
        strange = next((index for index, sample in enumerate(x) if not isinstance(sample, Mapping)), None)
        if strange is not None:
            raise CriteriaError(
                f"sample {strange} of x is not a mapping, but others are. Give all samples in the same form."
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
    """Return a batch given by columns: one sequence per criterion, all of the same length."""
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


def read_samples(mu: SetFunction, x: Any, scale: Scale | None) -> tuple[Codes, Scale]:
    """Check a sample or batch and convert it to the scale of the integral."""
    shape_of(mu, x)
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


def shape_of(mu: SetFunction, x: Any) -> tuple[int, ...]:
    """Return the shape of one sample, or of a batch of samples in order."""
    n = len(mu.criteria)
    try:
        shape: tuple[int, ...] = np.shape(x)
    except ValueError:
        raise CriteriaError(
            f"the samples of x have different lengths; every sample has {n} values, one for each criterion."
        ) from None
    if len(shape) not in (1, 2) or shape[-1] != n:
        raise CriteriaError(
            f"x has shape {shape}, but a sample has {n} values, one for each criterion. Give a mapping, a "
            f"sequence of {n}, or a batch of shape (samples, {n})."
        )
    return shape


def _lift(mu: SetFunction, value: Value, scale: Scale) -> Value:
    """Return a value of `mu` on the scale of the integral: 0 and 1 of a Boolean set function become bottom
    and top.
    """
    if mu.scale != BOOLEAN or scale == BOOLEAN:
        return value
    return scale.top if value else scale.bottom


def _by_definition(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Maximize, over all sets, the minimum of the set's worth and its smallest value (equation 2)."""
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
    """Find by bisection where the worth of the best k values, which rises with k, crosses the k-th value,
    which falls (docs/theory.md 6.5).
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
    """Maximize, over focal sets, the minimum of the weight and the smallest value."""
    pairs = up_to_limit(mu.focal_masks(), "method='focal'", "Use method='sorting' or 'auto'.")
    rated = (min([_lift(mu, weight, scale), *(row[index] for index in bits(mask))]) for mask, weight in pairs)
    return max(rated, default=scale.bottom)


def _by_cuts(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Return the highest level a with mu({x >= a}) >= a.

    S is always a value of x or of mu on such a cut (docs/theory.md 6.1).
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
    """Return the integrals of a batch of codes. Families without a formula are sorted, one sample at a
    time.
    """
    rows = ([scale.element(code) for code in row] for row in X)
    return scale.codes([_by_sorting(mu, row, scale) for row in rows])


@_closed.register
def _(mu: CardinalityThreshold, X: Codes, scale: Scale) -> Codes:
    """Return the tau-th largest value on lam."""
    n = len(mu.lam)
    if not 1 <= mu.tau <= n:
        return _constant(scale.top if mu.tau < 1 else scale.bottom, X, scale)
    chosen = X if n == X.shape[1] else X[:, list(bits(mu.lam_mask))]
    ordered = np.sort(chosen, axis=1) if X.dtype == object else np.partition(chosen, n - mu.tau, axis=1)
    return np.asarray(ordered[:, n - mu.tau])


@_closed.register
def _(mu: WeightedThreshold, X: Codes, scale: Scale) -> Codes:
    """Return a weighted quantile: the value at which the weights of the best values reach theta."""
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
    """Maximize, over k, the minimum of the k-th value and g(k)."""
    g = _values(mu, mu.g, scale)
    falling = np.sort(X, axis=1)[:, ::-1]
    return _largest(np.minimum(falling, g[1:]), g[:1])


@_closed.register
def _(mu: Possibility, X: Codes, scale: Scale) -> Codes:
    """Maximize, over criteria, the minimum of pi and value."""
    pi = _values(mu, mu.pi, scale)
    return _largest(np.minimum(X, pi), scale.codes([scale.bottom]))


@_closed.register
def _(mu: Necessity, X: Codes, scale: Scale) -> Codes:
    """Minimize, over criteria, the maximum of 1 - pi and value."""
    impossible = _values(mu, tuple(mu.scale.reverse(value) for value in mu.pi), scale)
    return _least(np.maximum(X, impossible), scale.codes([scale.top]))


@_closed.register
def _(mu: Focal, X: Codes, scale: Scale) -> Codes:
    """Maximize, over focal sets, the minimum of the weight and the smallest value."""
    best = _constant(scale.bottom, X, scale)
    for mask, weight in mu.weights:
        best = np.maximum(best, _least(X[:, list(bits(mask))], _values(mu, (weight,), scale)))
    return best


@_closed.register
def _(mu: Join, X: Codes, scale: Scale) -> Codes:
    """Return the maximum of the integrals, which is the integral of the maximum."""
    return reduce(np.maximum, (_closed(member, X, scale) for member in mu.members))


@_closed.register
def _(mu: Meet, X: Codes, scale: Scale) -> Codes:
    """Return the minimum of the integrals, which is the integral of the minimum."""
    return reduce(np.minimum, (_closed(member, X, scale) for member in mu.members))


@_closed.register
def _(mu: Nested, X: Codes, scale: Scale) -> Codes:
    """Maximize, over levels, the minimum of the level and the Boolean integral."""
    rated = (
        np.minimum(_closed(member, X, scale), _values(mu, (level,), scale)) for level, member in mu.levels
    )
    return reduce(np.maximum, rated)


@_closed.register
def _(mu: Conjugate, X: Codes, scale: Scale) -> Codes:
    """Return 1 - S_mu(1 - x)."""
    other = scale.flip() if isinstance(scale, RoundedUp) else scale
    return scale.reverse_codes(_closed(mu.base, scale.reverse_codes(X), other))


@_closed.register
def _(mu: Dense, X: Codes, scale: Scale) -> Codes:
    """Sort, and look up the worths of the best k values in the table."""
    if isinstance(scale, RoundedUp) and mu.scale != BOOLEAN:
        return integrals_by_table(scale.table(mu), X)
    return integrals_by_table(with_scale(mu, mu.table(), scale), X)


def _values(mu: SetFunction, values: tuple[Value, ...], scale: Scale) -> Codes:
    return scale.codes([_lift(mu, value, scale) for value in values])


def with_scale(mu: SetFunction, codes: Codes, scale: Scale) -> Codes:
    """Return codes of worths as codes of the scale of the integral."""
    return _values(mu, (0, 1), scale)[codes] if mu.scale == BOOLEAN != scale else codes


def _constant(value: Value, X: Codes, scale: Scale) -> Codes:
    return np.repeat(scale.codes([value]), len(X))


def _largest(X: Codes, floor: Codes) -> Codes:
    """Return the largest value of each row, at least the one in `floor`."""
    return np.asarray(np.maximum(np.max(X, axis=1), floor)) if X.shape[1] else np.repeat(floor, len(X))


def _least(X: Codes, ceiling: Codes) -> Codes:
    """Return the smallest value of each row, at most the one in `ceiling`."""
    return np.asarray(np.minimum(np.min(X, axis=1), ceiling)) if X.shape[1] else np.repeat(ceiling, len(X))
