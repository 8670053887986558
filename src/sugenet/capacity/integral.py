"""The Sugeno integral (paper equation 2): by definition, by sorting, by focal sets, by cuts, and in closed
form for each family.

All ways give the same answer; tests hold them against each other. ``auto`` takes the closed form where the
family has one, and sorting elsewhere. Values are only ever compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce, singledispatch
from typing import Any, Literal

import numpy as np

from sugenet.capacity.base import TABLE_LIMIT, SetFunction, need_set_function, up_to_limit
from sugenet.capacity.combine import Conjugate, Join, Meet, Nested
from sugenet.capacity.criteria import bits
from sugenet.capacity.lookup import integrals_by_table
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.rounding import RoundedUp
from sugenet.capacity.scales import BOOLEAN, UNIT, Codes, Scale, Value, need_scale
from sugenet.capacity.tables import Dense, Focal
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold
from sugenet.errors import CapacityError, CriteriaError, ScaleError, TooLargeError

__all__ = ["Method", "sugeno"]

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
        found = np.concatenate(parts) if parts else batch[:, :0].max(axis=1, initial=0)
        if isinstance(inner, RoundedUp):
            found = inner.exact(mu, batch, found)
    else:
        rows = ([scale.element(code) for code in row] for row in batch)
        found = scale.codes([ways[method](mu, row, scale) for row in rows])
    return scale.element(found[0]) if codes.ndim == 1 else scale.decode(found)


def _in_order(mu: SetFunction, x: Any) -> Any:
    """Samples given by name, put into the order of the criteria; anything else as it is."""
    if isinstance(x, Mapping):
        row = mu.criteria.row(x, "the sample")
        return _columns(mu, row) if any(map(_is_column, row)) else row
    if isinstance(x, list | tuple) and any(isinstance(sample, Mapping) for sample in x):
        strange = next((place for place, sample in enumerate(x) if not isinstance(sample, Mapping)), None)
        if strange is not None:
            raise CriteriaError(
                f"sample {strange} of x is no mapping while others are. Give all samples in the same way."
            )
        return [mu.criteria.row(sample, f"sample {place}") for place, sample in enumerate(x)]
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
        min([_lift(mu, mu.at(mask), scale), *(row[place] for place in bits(mask))])
        for mask in range(1 << len(row))
    )


def _by_sorting(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Worth of the best k values rises with k, the k-th value falls:
    find where they cross by halving (docs/theory.md 6.5).
    """
    falling = sorted(range(len(row)), key=row.__getitem__, reverse=True)
    best = [0]
    for place in falling:
        best.append(best[-1] | 1 << place)

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
    rated = (min([_lift(mu, weight, scale), *(row[place] for place in bits(mask))]) for mask, weight in pairs)
    return max(rated, default=scale.bottom)


def _by_cuts(mu: SetFunction, row: list[Value], scale: Scale) -> Value:
    """Highest level a with mu({x >= a}) >= a; S is always a value of x or of mu on such
    a cut (docs/theory.md 6.1).
    """

    def cut(level: Value) -> Value:
        return _lift(mu, mu.at(sum(1 << place for place, value in enumerate(row) if value >= level)), scale)

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
    found = _constant(scale.bottom, X, scale)
    for mask, weight in mu.weights:
        found = np.maximum(found, _least(X[:, list(bits(mask))], _values(mu, (weight,), scale)))
    return found


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
