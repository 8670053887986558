"""Features and targets as chains of levels, worst first: numbers by cuts or groups, names by their order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import exact_number
from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.sugeno.learning import Bools, Ints
from sugenet.reprs import quoted

__all__ = [
    "Direction",
    "FeatureLevels",
    "Target",
    "declared_chain",
    "declared_for",
    "learn_chain",
    "named_target",
    "nearest_ranks",
    "number_target",
    "ordered_categories",
    "read_directions",
]

Direction: TypeAlias = Literal["rising", "falling"]
_Column: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class FeatureLevels:
    """The levels of one feature, numbered from 0, worst first: level t is reached at the t-th step.

    Parameters
    ----------
    name
        Name of the feature.
    steps
        Values of the feature, each harder to reach than the one before: increasing numbers or names if more
        is better ("rising"), else decreasing ones.
    direction
        Whether a step is reached by values from it upwards (``>=``) or downwards (``<=``).
    order
        The names that can occur, lowest first; None for numbers.

    Examples
    --------
    >>> price = FeatureLevels("price", (300.0, 200.0), "falling")
    >>> price.ranks(np.array([400.0, 300.0, 250.0, 10.0])).tolist(), price.condition(2)
    ([0, 1, 1, 2], ('<=', 200.0))
    >>> room = FeatureLevels("room", ("ok", "good"), "rising", ("bad", "ok", "good"))
    >>> room.ranks(np.array(["good", "bad"])).tolist()
    [2, 0]
    """

    name: str
    steps: tuple[Any, ...]
    direction: Direction
    order: tuple[Any, ...] | None = None

    def ranks(self, column: _Column) -> npt.NDArray[np.int64]:
        """Return the level of each value: the number of steps it reaches."""
        values, steps = _places(column, self.order, self.name), self._numbers
        if self.direction == "falling":
            values, steps = -values, -steps
        return np.searchsorted(steps, values, side="right").astype(np.int64)

    @property
    def _numbers(self) -> npt.NDArray[np.float64]:
        if self.order is None:
            return np.array(self.steps, dtype=np.float64)
        return np.array([self.order.index(step) for step in self.steps], dtype=np.float64)

    def condition(self, level: int) -> tuple[str, Any]:
        """Return the condition for a level from 1: a comparison sign and a value of the feature."""
        return (">=" if self.direction == "rising" else "<="), self.steps[level - 1]


def learn_chain(
    column: _Column,
    name: str,
    target: npt.NDArray[np.int64],
    order: Sequence[Any] | None,
    cuts: int,
    way: Any,
) -> FeatureLevels:
    """Return all levels of names; for numbers all values, or about `cuts` quantiles.

    If the direction is not given, it is learned from all pairs of samples that differ in value and target:
    whether better targets more often have larger or smaller values.
    """
    known = None if order is None else tuple(order)
    values = _places(column, known, name)
    direction: Direction = way or ("rising" if _concordance(values, target) >= 0 else "falling")
    if known is not None:
        chain = known if direction == "rising" else known[::-1]
        return FeatureLevels(name, chain[1:], direction, known)
    steps = np.unique(values if direction == "rising" else -values)
    if len(steps) - 1 > cuts:
        signed = values if direction == "rising" else -values
        shares = np.arange(1, cuts + 1) / (cuts + 1)
        steps = np.unique(np.concatenate([steps[:1], np.quantile(signed, shares, method="higher")]))
    kept = steps[1:] if direction == "rising" else -steps[1:]
    return FeatureLevels(name, tuple(float(step) for step in kept), direction)


def declared_chain(
    name: str, utility: Mapping[Any, Any] | None, levels: Sequence[Any]
) -> tuple[FeatureLevels, tuple[int, ...]]:
    """Return a feature with given utilities, and the level that it must reach for each level of the target
    from 1.

    Parameters
    ----------
    name
        Name of the feature.
    utility
        From its values to levels of the target; None if its levels are those of the target.
    levels
        Levels of the target, worst first.

    Examples
    --------
    >>> price = declared_chain("price", {500: "bad", 300: "ok", 100: "ok"}, ["bad", "ok", "good"])
    >>> price[0].steps, price[0].direction, price[1]
    ((300.0, 100.0), 'falling', (1, 3))
    """
    ranks = {level: rank for rank, level in enumerate(levels)}
    if utility is None:
        utility = {level: level for level in levels}
    if not isinstance(utility, Mapping) or len(utility) < 1:
        raise SugenetError(
            f"the utilities of {name} are {utility!r}. Give a mapping from its values to levels of y."
        )
    wrong = next((level for level in utility.values() if level not in ranks), None)
    if wrong is not None:
        raise SugenetError(
            f"the utilities of {name} hold {wrong!r}, which is not a level of y: "
            f"{' < '.join(map(str, levels))}."
        )
    number = all(isinstance(value, int | float | np.number) for value in utility)
    values = sorted(utility) if number else list(utility)
    worth = [ranks[utility[value]] for value in values]
    direction: Direction = "rising" if worth == sorted(worth) or not number else "falling"
    if direction == "falling":
        values, worth = values[::-1], worth[::-1]
    if not number:
        order = np.argsort(worth, kind="stable")
        values, worth = [values[k] for k in order], [worth[k] for k in order]
    if worth != sorted(worth):
        raise SugenetError(
            f"the utilities of {name} rise and fall. Larger values must have better levels, or all worse."
        )
    cuts = tuple(sum(rank < j for rank in worth) for j in range(1, len(levels)))
    steps = tuple(float(value) for value in values[1:]) if number else tuple(values[1:])
    return FeatureLevels(name, steps, direction, None if number else tuple(values)), cuts


def _concordance(values: npt.NDArray[np.float64], target: npt.NDArray[np.int64]) -> int:
    """Return the number of sample pairs in which value and target differ alike, minus those that differ
    oppositely.
    """
    value, index = np.unique(values, return_inverse=True)
    if len(value) > 64:  # long columns are ranked in 64 groups
        index = index * 64 // len(value)
    table = np.zeros((min(len(value), 64), int(target.max()) + 1), dtype=np.int64)
    np.add.at(table, (index.reshape(-1), target), 1)
    later = table[::-1].cumsum(axis=0)[::-1]
    more = later[1:, ::-1].cumsum(axis=1)[:, ::-1]  # from the next value on, from this target on
    less = later[1:].cumsum(axis=1)
    return int((table[:-1, :-1] * more[:, 1:]).sum() - (table[:-1, 1:] * less[:, :-1]).sum())


def _places(column: _Column, order: tuple[Any, ...] | None, name: str) -> npt.NDArray[np.float64]:
    """Return numbers unchanged, and names as their indices in the order."""
    if order is None:
        try:
            return column.astype(np.float64)
        except TypeError as error:
            raise TypeError(
                f"{name} cannot be read: {error}. Give numbers, or names and their order."
            ) from error
        except ValueError as error:
            raise EncodingError(
                f"{name} holds names ({error}), and nothing says which are better. Give their order, least "
                f"first, in orders: {{{name!r}: ['bad', 'ok', 'good']}}, or a column of ordered categories."
            ) from error
    known = {value: index for index, value in enumerate(order)}
    indices = [known.get(value, -1) for value in column.tolist()]
    if -1 in indices:
        strange = column.tolist()[indices.index(-1)]
        raise EncodingError(
            f"{name} is {strange!r} in sample {indices.index(-1)}, which is not among its levels: "
            f"{' < '.join(map(str, order))}."
        )
    return np.array(indices, dtype=np.float64)


def ordered_categories(column: Any) -> tuple[Any, ...] | None:
    """Return the levels of a column of ordered categories, lowest first; None for any other column."""
    kind: Any = getattr(column, "dtype", None)
    return tuple(kind.categories) if getattr(kind, "ordered", False) else None


def declared_for(setting: Any, names: Sequence[str], what: str) -> list[Any]:
    """Return the setting of each feature, from a list or a mapping by name or index from 0; None if not
    given.
    """
    if setting is None:
        return [None] * len(names)
    if isinstance(setting, Mapping):
        unknown = [key for key in setting if key not in names and not _is_index(key, len(names))]
        if unknown:
            raise SugenetError(
                f"{what} names {unknown[0]!r}, which is not a feature. They are {', '.join(names[:8])}"
                f"{' and more' if len(names) > 8 else ''}."
            )
        for index, name in enumerate(names):
            if name in setting and index in setting:
                raise SugenetError(
                    f"{what} names {name!r} twice, by name and by index {index}. Leave one of them out."
                )
        return [setting.get(name, setting.get(index)) for index, name in enumerate(names)]
    if (
        isinstance(setting, str)
        or not isinstance(setting, Sequence | np.ndarray)
        or len(setting) != len(names)
    ):
        raise SugenetError(
            f"{what} is {quoted(setting)}. Give a mapping from features, or a list with an entry for each of "
            f"the {len(names)}."
        )
    return list(setting)


def _is_index(key: object, count: int) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= int(key) < count


def _is_key(word: object) -> bool:
    """Return whether a direction may be looked up: True is not +1, and lists have no hash."""
    return word is None or (isinstance(word, str | int | float | np.number) and not isinstance(word, bool))


def read_directions(
    directions: Any, names: Sequence[str], what: str = "directions"
) -> list[Direction | None]:
    """Return the direction of each feature as given; None if the setting `what` gives none."""
    direction_of: dict[Any, Direction | None] = {
        None: None,
        "rising": "rising",
        "falling": "falling",
        1: "rising",
        -1: "falling",
    }
    if isinstance(directions, str):
        directions = [directions] * len(names)
    entries = declared_for(directions, names, what)
    wrong = next((word for word in entries if not _is_key(word) or word not in direction_of), None)
    if wrong is not None:
        raise SugenetError(
            f"{what} holds {quoted(wrong)}; a direction is 'rising' (+1), 'falling' (-1) or None."
        )
    return [direction_of[word] for word in entries]


@dataclass(frozen=True)
class Target:
    """The levels of a target, worst first, and the level of each sample."""

    levels: npt.NDArray[Any]
    ranks: Ints
    is_number: bool

    @property
    def reached(self) -> Bools:
        """Whether each sample reaches each level from 1."""
        return np.asarray(self.ranks[:, None] >= np.arange(1, len(self.levels)))

    @property
    def gaps(self) -> npt.NDArray[np.float64]:
        """The distance from each level to the next; 1 for names."""
        return np.diff(self.levels.astype(np.float64)) if self.is_number else np.ones(len(self.levels) - 1)


def number_target(y: npt.NDArray[Any], max_levels: int) -> Target:
    """Return a target with all values of y, or with groups of about equal size if it has more than
    `max_levels`.

    The median represents each group.

    Examples
    --------
    >>> number_target(np.array([1.0, 2.0, 3.0, 4.0, 50.0, 60.0]), 2).levels.tolist()
    [2.0, 50.0]
    """
    values, ranks = np.unique(y, return_inverse=True)
    if len(values) <= max_levels:
        return Target(values, ranks.reshape(-1).astype(np.int64), True)
    edges = np.unique(np.quantile(y, np.arange(1, max_levels) / max_levels, method="higher"))
    groups = np.searchsorted(edges, y, side="right")
    kept, ranks = np.unique(groups, return_inverse=True)
    medians = np.array([np.quantile(y[groups == group], 0.5, method="lower") for group in kept])
    return Target(medians, ranks.reshape(-1).astype(np.int64), True)


def nearest_ranks(y: Any, levels: npt.NDArray[Any]) -> Ints:
    """Return the rank of the level nearest to each number, exactly; of two equally near levels, the lower
    one.

    Examples
    --------
    >>> nearest_ranks([0.4, 0.5, 0.6], np.array([0, 1])).tolist()
    [0, 0, 1]
    """
    known = [Fraction(exact_number(level, "a level")) for level in levels.tolist()]
    values = np.asarray(y, dtype=object).ravel().tolist()
    rank_of: dict[Any, int] = {}
    for index, value in enumerate(values):
        if value not in rank_of:
            gaps = [abs(level - exact_number(value, f"y[{index}]")) for level in known]
            rank_of[value] = gaps.index(min(gaps))
    return np.array([rank_of[value] for value in values], dtype=np.int64)


def named_target(y: npt.NDArray[Any], order: Sequence[Any]) -> Target:
    """Return a target of names in their order; names that do not occur keep their level."""
    if isinstance(order, str) or len(set(order)) != len(order) or len(order) < 2:
        raise SugenetError(f"order is {order!r}. Give all levels of y once, worst first.")
    indices = {name: index for index, name in enumerate(order)}
    strange = next((value for value in y.tolist() if value not in indices), None)
    if strange is not None:
        raise EncodingError(f"y holds {strange!r}, which is not in its order: {' < '.join(map(str, order))}.")
    ranks = np.array([indices[value] for value in y.tolist()], dtype=np.int64)
    levels = np.array(list(order), dtype=y.dtype if y.dtype.kind != "U" else None)
    return Target(levels, ranks, False)
