"""Refinements of minimum, maximum and the Sugeno integral: finer comparisons that never contradict them
(docs/theory.md 6.16).

Leximin and leximax are keys: tuples that compare as the refinement says. Discrimin and discrimax compare two
vectors after deleting what they have in common; as that depends on both, there is no key.
"""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal

from sugenet.capacity.arguments import in_order, plain
from sugenet.capacity.base import SetFunction, need_set_function, take_all
from sugenet.capacity.criteria import Criterion
from sugenet.capacity.rules import lifting, read_sample
from sugenet.capacity.scales import Level, Scale, Value, need_scale
from sugenet.errors import CapacityError, ScaleError

__all__ = ["discrimax", "discrimin", "discriminating_sugeno", "lexi_sugeno", "leximax", "leximin"]

Sample = Mapping[Criterion, Any] | Sequence[Any]


def leximin(values: Iterable[Any], scale: Scale | None = None) -> tuple[Value, ...]:
    """Return the key that compares by the worst value, then by the second worst, and so on.

    Parameters
    ----------
    values : iterable
        Values of one scale; vectors that are compared must be equally long.
    scale : Scale, optional
        The scale of the values; levels with names need it, unless they come from a scale (default: numbers).

    Returns
    -------
    tuple
        The values in rising order.

    Examples
    --------
    >>> leximin([0.5, 0.2, 0.9]) > leximin([0.2, 0.4, 1])
    True
    >>> from sugenet.capacity import Ordinal
    >>> leximin(["good", "bad", "ok"], Ordinal(["bad", "ok", "good"]))
    ('bad', 'ok', 'good')
    """
    return tuple(sorted(_read(values, scale)))


def leximax(values: Iterable[Any], scale: Scale | None = None) -> tuple[Value, ...]:
    """Return the key that compares by the best value, then by the second best, and so on.

    Parameters
    ----------
    values : iterable
        Values of one scale; vectors that are compared must be equally long.
    scale : Scale, optional
        The scale of the values; levels with names need it, unless they come from a scale (default: numbers).

    Returns
    -------
    tuple
        The values in falling order.

    Examples
    --------
    >>> leximax([0.5, 0.2, 0.9]) > leximax([0.9, 0.4, 0.1])
    True
    """
    return tuple(sorted(_read(values, scale), reverse=True))


def discrimin(x: Sequence[Any], y: Sequence[Any], scale: Scale | None = None) -> int:
    """Compare two vectors by the minimum of the coordinates in which they differ.

    Parameters
    ----------
    x, y : sequence
        Equally long vectors of values of one scale.
    scale : Scale, optional
        The scale of the values, as for `leximin` (default: numbers).

    Returns
    -------
    int
        1 if `x` is better, -1 if `y` is, 0 if neither.

    Examples
    --------
    >>> discrimin([0.2, 0.5, 0.9], [0.2, 0.7, 0.6]), discrimin([0, 0.5], [0, 0.5])
    (-1, 0)
    """
    return _compared(_read(x, scale), _read(y, scale), min)


def discrimax(x: Sequence[Any], y: Sequence[Any], scale: Scale | None = None) -> int:
    """Compare two vectors by the maximum of the coordinates in which they differ.

    Parameters
    ----------
    x, y : sequence
        Equally long vectors of values of one scale.
    scale : Scale, optional
        The scale of the values, as for `leximin` (default: numbers).

    Returns
    -------
    int
        1 if `x` is better, -1 if `y` is, 0 if neither.

    Examples
    --------
    >>> discrimax([0.9, 0.5, 0.1], [0.9, 0.2, 0.4]), discrimax([0, 0.5], [0, 0.5])
    (1, 0)
    """
    return _compared(_read(x, scale), _read(y, scale), max)


def _read(values: Iterable[Any], scale: Scale | None) -> list[Value]:
    """Check values; text alone has the order of the alphabet, which is that of no scale."""
    row = in_order(values, "values")
    if scale is not None:
        need_scale(scale)
        return [scale.check(value, "a value") for value in row]
    strange = [value for value in row if not isinstance(value, Level | Real) or value != value]  # noqa: PLR0124 NaN
    if strange:
        raise ScaleError(
            f"the value {plain(strange[0])!r} is not a number. Give the scale that has its level: scale=..."
        )
    return row


def _compared(x: list[Value], y: list[Value], choose: Any) -> int:
    if len(x) != len(y):
        raise CapacityError(f"the vectors have {len(x)} and {len(y)} values. Give vectors of equal length.")
    different = [(one, other) for one, other in zip(x, y, strict=True) if one != other]
    if not different:
        return 0
    left, right = (choose(side) for side in zip(*different, strict=True))
    return int(left > right) - int(left < right)


def lexi_sugeno(
    mu: SetFunction, x: Sample, rows: Literal["focal", "levels"] = "focal", scale: Scale | None = None
) -> tuple[tuple[Value, ...], ...]:
    """Return a key that refines the Sugeno integral: the leximax of leximin vectors.

    The integral is the maximum of minima of rows. The rows are compared as wholes: each sorted from its worst
    value, and the rows from the best. The first value of the key is the integral itself.

    Reference: Couceiro, Dubois, Fargier and others [CDF19].

    Parameters
    ----------
    mu : SetFunction
        Any set function.
    x : mapping or sequence
        One sample.
    rows : str
        ``"focal"``: one row per focal set F, with its weight, the values on F, and top for all other criteria
        (default). ``"levels"``: one row (a, mu({x >= a})) per level a above the bottom, on finite scales.
    scale : Scale, optional
        The scale of `x`, for a Boolean `mu` (default: that of `mu`).

    Returns
    -------
    tuple of tuples
        Keys of samples compare as the refinement says.

    Examples
    --------
    >>> from sugenet.capacity import Focal, sugeno
    >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.5})
    >>> cheap, safe = [0.5, 0.5, 0.5], [0.5, 0.5, 1]
    >>> sugeno(mu, cheap) == sugeno(mu, safe), lexi_sugeno(mu, cheap) < lexi_sugeno(mu, safe)
    (True, True)
    """
    return tuple(sorted((leximin(row) for row in _rows(mu, x, rows, scale)), reverse=True))


def discriminating_sugeno(mu: SetFunction, x: Sample, y: Sample, scale: Scale | None = None) -> int:
    """Compare two samples by the Sugeno integral without the focal sets on which they agree.

    A focal set gives the minimum of its weight and the values on it. The sets that give the same to both
    samples are left out, and the maxima of the others are compared: the discrimax of what the sets give.

    Reference: Couceiro, Dubois, Fargier and others [CDF19].

    Parameters
    ----------
    mu : SetFunction
        Any set function.
    x, y : mapping or sequence
        One sample each.
    scale : Scale, optional
        The scale of the samples, for a Boolean `mu` (default: that of `mu`).

    Returns
    -------
    int
        1 if `x` is better, -1 if `y` is, 0 if neither.

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.5})
    >>> discriminating_sugeno(mu, [0.5, 0.6, 0.5], [0.4, 0.6, 0.5])  # both have the integral 0.5
    1
    """
    left, right = ([min(row) for row in _rows(mu, one, "focal", scale)] for one in (x, y))
    return discrimax(left, right)


def _rows(mu: SetFunction, x: Sample, rows: str, scale: Scale | None) -> list[list[Value]]:
    """Return the rows of which the Sugeno integral is the maximum of minima."""
    need_set_function(mu)
    chosen, lift = lifting(mu, scale)
    values = read_sample(mu.criteria, chosen, x)
    if rows == "focal":
        pairs = take_all(
            mu.focal_masks(), "a refinement by focal sets", "Use rows='levels' on a finite scale."
        )
        return [
            [
                lift(weight),
                *(value if mask >> index & 1 else chosen.top for index, value in enumerate(values)),
            ]
            for mask, weight in sorted(pairs)
        ]
    if rows != "levels":
        raise CapacityError(f"rows={rows!r} is unknown. Use 'focal' or 'levels'.")
    if chosen.levels is None:
        raise CapacityError(
            f"rows='levels' needs a finite scale, and {chosen} has infinitely many values. Use rows='focal', "
            f"or an Ordinal scale."
        )
    return [
        [level, lift(mu.at(sum(1 << index for index, value in enumerate(values) if value >= level)))]
        for level in chosen.levels[1:]
    ]
