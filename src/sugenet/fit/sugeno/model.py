"""A learned model: levels of features in, a level of the target out, in integers only.

The model is the maximum of some Sugeno utility functionals, or a score card: every level of a feature gives
points, and the sum reaches levels of the target. Its rules use the units of the features. They print as
sentences that can be parsed again.

A score card is one Sugeno integral over the criteria "the feature reaches this level", with a capacity of
nested weighted thresholds (docs/theory.md 11.3). It is also the maximum of Sugeno utility functionals, one
for each minimal way to reach a level.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity import Criteria, Focal, Nested, Ordinal, WeightedThreshold
from sugenet.capacity.arguments import float_number, plain
from sugenet.capacity.text import Reader, write_name
from sugenet.errors import CapacityError, SugenetError
from sugenet.fit.sugeno.columns import FeatureLevels
from sugenet.fit.sugeno.learning import (
    Bools,
    Corners,
    Fitted,
    Ints,
    best_capacity,
    learn_all,
    learn_terms,
    see_rows,
)
from sugenet.nn.neuron import minimal_vectors
from sugenet.plottable import Plottable
from sugenet.reprs import Sentences
from sugenet.visible import visible

__all__ = [
    "LearnedModel",
    "LevelRule",
    "ScoreCard",
    "Terms",
    "learn_card",
    "learn_model",
    "parse_level_rule",
    "strongest",
]


@dataclass(frozen=True)
class LevelRule(Sentences):
    """Rule: if features reach these values, the target is at least some level.

    Parameters
    ----------
    conditions
        Feature, ``>=`` or ``<=``, and value; none for a rule that always holds.
    level
        The lower bound on the target if the rule applies.
    chains
        The features that the rule may mention, with their orders.

    Examples
    --------
    >>> room = FeatureLevels("room", ("good",), "rising", ("bad", "good"))
    >>> chains = (FeatureLevels("price", (300.0,), "falling"), room)
    >>> rule = LevelRule((("price", "<=", 300.0), ("room", ">=", "good")), "ok", chains)
    >>> print(rule)
    if price <= 300 and room >= good then at least ok
    >>> rule.holds({"price": 250, "room": "good"}), rule.holds({"price": 250, "room": "bad"})
    (True, False)
    >>> parse_level_rule(str(rule), chains, ["bad", "ok"]) == rule
    True
    """

    conditions: tuple[tuple[str, str, Any], ...]
    level: Any
    chains: tuple[FeatureLevels, ...]

    def holds(self, sample: Mapping[str, Any] | Sequence[Any]) -> bool:
        """Return whether a sample meets the conditions; values by name, or in the order of the features."""
        names = [chain.name for chain in self.chains]
        orders = {chain.name: chain.order for chain in self.chains}
        for name, sign, step in self.conditions:
            value = sample[name] if isinstance(sample, Mapping) else sample[names.index(name)]
            order = orders[name]
            if order is not None:
                value, step = order.index(value), order.index(step)
            if not (value >= step if sign == ">=" else value <= step):
                return False
        return True

    def __str__(self) -> str:
        if not self.conditions:
            return f"always at least {_write(self.level)}"
        conditions = [f"{write_name(name)} {sign} {_write(value)}" for name, sign, value in self.conditions]
        return f"if {' and '.join(conditions)} then at least {_write(self.level)}"


def _write(value: Any) -> str:
    """Return a value as written in a rule: names in quotes unless they are plain words, numbers in full."""
    if isinstance(value, str):
        return write_name(value) if not _is_number(value) else json.dumps(value)
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e15:
        return str(int(plain))
    return repr(plain) if isinstance(plain, int | float) else json.dumps(str(plain), ensure_ascii=False)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9.].*|[+-]?(inf|nan).*", text, re.IGNORECASE) is not None


def parse_level_rule(text: str, chains: Sequence[FeatureLevels], levels: Iterable[Any]) -> LevelRule:
    """Parse a rule from its `str` sentence.

    Parameters
    ----------
    text
        Such as ``if price <= 300 and room >= good then at least ok``.
    chains
        The features; ``model.chains`` of a learned model.
    levels
        The levels of the target.

    Examples
    --------
    >>> parse_level_rule("if size is 3 then at least 1", [FeatureLevels("size", (3.0,), "rising")], [0, 1])
    Traceback (most recent call last):
    ...
    sugenet.errors.RuleSyntaxError: column 9: found is, expected >= or <=.
        if size is 3 then at least 1
                ^
    Write it like this: if size >= 3 then at least 1
    """
    known = {chain.name: chain for chain in chains}
    targets = list(levels)
    example = LevelRule(
        tuple((chain.name, *chain.condition(1)) for chain in chains[:1] if chain.steps),
        targets[-1],
        tuple(chains),
    )
    reader = Reader(text, str(example))
    conditions: list[tuple[str, str, Any]] = []
    word = "and" if reader.take("if", "always") == "if" else "then"
    while word == "and":
        name = str(reader.name())
        if name not in known:
            reader.fail(f"unknown feature {write_name(name)}; they are {', '.join(list(known)[:8])}", back=1)
        sign = reader.take(">=", "<=")
        conditions.append((name, sign, _read_step(reader, known[name])))
        word = reader.take("and", "then")
    reader.take("at")
    reader.take("least")
    level = _named(reader, targets)
    reader.end()
    return LevelRule(tuple(conditions), level, tuple(chains))


def _read_step(reader: Reader, chain: FeatureLevels) -> Any:
    if chain.order is not None:
        return _named(reader, list(chain.order))
    _, text, _ = reader.tokens[reader.next] if not reader.at_end else ("", "the end", 0)
    try:
        number = float_number(text)
    except CapacityError:
        reader.fail(f"found {text}, expected a number, as {chain.name} has")
    reader.next += 1
    return number


def _named(reader: Reader, values: list[Any]) -> Any:  # noqa: RET503  # fail does not return
    """Return one of some values, as it is written."""
    kind, text, _ = reader.tokens[reader.next] if not reader.at_end else ("", "the end", 0)
    for value in values:
        if text == _write(value) or (kind == "quoted" and json.loads(text) == value):
            reader.next += 1
            return value
    shown = ", ".join(_write(value) for value in values[:12])
    reader.fail(f"found {text}, expected one of {shown}")


def strongest(
    corners: Iterable[tuple[int, tuple[tuple[int, int], ...]]],
    chains: Sequence[FeatureLevels],
    levels: Sequence[Any],
) -> tuple[LevelRule, ...]:
    """Return the rules that no other rule makes redundant, best level first, then short ones.

    Parameters
    ----------
    corners
        Levels of the target from 1, with sufficient levels of features.
    chains, levels
        The features, and the levels of the target by name.
    """
    able = [
        (level, needs)
        for level, needs in dict.fromkeys(corners)
        if all(rank <= len(chains[i].steps) for i, rank in needs)
    ]
    able.sort(key=lambda one: (-one[0], len(one[1]), one[1]))
    if not able:
        return ()
    points = np.zeros((len(able), len(chains)), dtype=np.int64)
    for row, (_, needs) in enumerate(able):
        for i, rank in needs:
            points[row, i] = rank
    heights = np.array([level for level, _ in able])
    rules = []
    for row, (level, needs) in enumerate(able):
        easier = (points <= points[row]).all(axis=1) & (heights >= level)
        easier[row] = False
        if not easier.any():
            conditions = tuple((chains[i].name, *chains[i].condition(rank)) for i, rank in needs)
            rules.append(LevelRule(conditions, levels[level], tuple(chains)))
    return tuple(rules)


_STEPS = 5_000_000
"""Largest number of steps in the search for minimal ways before it stops."""
_RIDGE = 0.01


@dataclass(frozen=True)
class ScoreCard(Sentences):
    """Integer points for each level of each feature, and the sums that reach each level of the target.

    Parameters
    ----------
    points
        ``points[i][t]`` are the points for level t of feature i; increasing, and 0 at level 0.
    thresholds
        The minimum sum for level 1, 2, ... of the target; increasing.

    Examples
    --------
    >>> card = ScoreCard(((0, 2, 3), (0, 1)), (2, 4))
    >>> card.ranks(np.array([[0, 1], [1, 0], [2, 1]])).tolist()
    [0, 1, 2]
    >>> list(card.corners())
    [(1, ((0, 1),)), (2, ((0, 2), (1, 1)))]
    """

    points: tuple[tuple[int, ...], ...]
    thresholds: tuple[int, ...]

    @property
    def height(self) -> int:
        """The best level of the target."""
        return len(self.thresholds)

    def scores(self, table: Ints) -> Ints:
        """Return the sum of points of each row."""
        columns = [np.array(row)[table[:, i]] for i, row in enumerate(self.points)]
        return np.asarray(np.sum(columns, axis=0, dtype=np.int64))

    def ranks(self, table: Ints) -> Ints:
        """Return the level of the target for each row of levels of the features."""
        return np.searchsorted(np.array(self.thresholds), self.scores(table), side="right").astype(np.int64)

    def capacity(self, names: Sequence[Sequence[str]], scale: Ordinal) -> Nested:
        """Return the capacity over the criteria "feature i reaches level t"; `names` has one for each t from
        1.
        """
        gained = [more - less for row in self.points for less, more in pairwise(row)]
        criteria = Criteria([name for row in names for name in row])
        levels = {
            scale.levels[j]: WeightedThreshold(gained, threshold, criteria)
            for j, threshold in enumerate(self.thresholds, start=1)
        }
        return Nested(levels, scale)

    def corners(self) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
        """Yield all minimal ways to reach each level of the target: pairs of feature and level."""
        for j, threshold in enumerate(self.thresholds, start=1):
            gains = [sorted(set(row)) for row in self.points]
            for way in minimal_vectors(gains, threshold, _STEPS):
                yield j, tuple((i, self.points[i].index(gain)) for i, gain in way)

    def __str__(self) -> str:
        features = len(self.points)
        return f"score card of {features} features, up to {sum(row[-1] for row in self.points)} points"


def learn_card(
    table: Ints,
    levels: Sequence[int],
    targets: Bools,
    weights: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.float64],
    smoothness: float,
    points: int,
) -> tuple[ScoreCard, npt.NDArray[np.float64]]:
    """Learn a card, and its log-odds for each sample and level.

    Cumulative logistic regression on "feature i reaches level t", with weights of at least 0. `smoothness`
    draws the weights of one feature together, so that a feature with few samples at a level is nearly linear.
    Floats are used for learning only; the card is rounded to integers.

    Parameters
    ----------
    table, levels
        Levels of the features, and the number of levels of each.
    targets
        Whether each sample reaches each level of the target from 1.
    weights
        Weight of each sample.
    offsets
        Added to the threshold of each level. If several levels share one column of targets, these are the
        log-odds at which each level is reached.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    rows, index = np.unique(table, axis=0, return_inverse=True)
    grid = np.concatenate(
        [rows[:, [i]] >= np.arange(1, n_levels) for i, n_levels in enumerate(levels)], axis=1
    )
    owner = np.repeat(np.arange(len(levels)), np.array(levels) - 1)
    width, height = grid.shape[1], targets.shape[1]
    Z = grid.astype(np.float64)
    reached, missed = np.zeros((len(rows), height)), np.zeros((len(rows), height))
    np.add.at(reached, index.reshape(-1), weights[:, None] * targets)
    np.add.at(missed, index.reshape(-1), weights[:, None] * ~targets)
    neighbours = np.flatnonzero(owner[1:] == owner[:-1])

    def loss(v: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        w, theta = v[:width], np.cumsum(v[width:])
        margin = (Z @ w)[:, None] - theta
        over = np.logaddexp(0, margin)
        chance = np.exp(margin - over)
        error = missed * chance - reached * (1 - chance)
        bend = w[neighbours + 1] - w[neighbours]
        slope = Z.T @ error.sum(axis=1) + _RIDGE * w
        np.add.at(slope, neighbours + 1, smoothness * bend)
        np.add.at(slope, neighbours, -smoothness * bend)
        value = float((missed * over + reached * (over - margin)).sum())
        value += float(smoothness * bend @ bend + _RIDGE * w @ w) / 2
        return value, np.concatenate([slope, -np.cumsum(error.sum(axis=0)[::-1])[::-1]])

    begin = np.concatenate([np.full(width, 2.0 / max(len(levels), 1)), [1.0], np.ones(height - 1)])
    bounds = [(0, None)] * width + [(None, None)] + [(0, None)] * (height - 1)
    solution = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300}).x
    gained, theta = solution[:width], np.cumsum(solution[width:])
    score = (Z @ gained)[index.reshape(-1)]
    thresholds = theta + offsets if height == 1 else theta
    counts = (reached + missed).max(axis=1)[:, None]
    believed = counts * np.tanh(((Z @ gained)[:, None] - thresholds) / 2)
    return _rounded(gained, owner, rows, thresholds, points, believed), score[:, None] - thresholds


_SHARES = np.arange(10, 4, -1) / 10
"""Shares of the points that are tried, because some divide them better among the levels."""


def _rounded(
    gained: npt.NDArray[np.float64],
    owner: Ints,
    table: Ints,
    thresholds: npt.NDArray[np.float64],
    points: int,
    believed: npt.NDArray[np.float64],
) -> ScoreCard:
    """Return a card of integers that agrees best with what is believed.

    `believed` is, for each row of the table and level of the target, how much better it is to reach it.
    """
    best: tuple[float, ScoreCard] | None = None
    for share in _SHARES:
        unit = points * share / max(float(gained.sum()), 1e-12)
        sums = [np.cumsum(gained[owner == i]) * unit for i in range(table.shape[1])]
        card = ScoreCard(tuple((0, *(int(value) for value in np.rint(sums_of))) for sums_of in sums), ())
        scores, max_sum = card.scores(table), sum(row[-1] for row in card.points)
        by_score = np.zeros((max_sum + 2, len(thresholds)))
        np.add.at(by_score, scores, believed)
        tails = by_score[::-1].cumsum(axis=0)[::-1]  # what each threshold gains
        first = tails.argmax(axis=0)
        last = np.append(np.unique(scores), max_sum + 1)[np.searchsorted(np.unique(scores), first)]
        near = np.clip(np.ceil(thresholds * unit), first, last).astype(np.int64)
        gain = float(tails[first, np.arange(len(first))].sum())
        if best is None or gain > best[0]:
            best = gain, ScoreCard(card.points, tuple(np.maximum.accumulate(near).tolist()))
    assert best is not None
    return best[1]


Terms: TypeAlias = int | Literal["card", "all"]
_LARGEST = 1 << 29
"""Limit on the sum of all gains, because SciPy's minimum cut uses 32 bits."""
_FINE = 1000
"""Units of a gain of 1."""


@dataclass(frozen=True)
class LearnedModel(Plottable):
    """The maximum of some Sugeno utility functionals, or a score card.

    Parameters
    ----------
    chains
        The features and their levels.
    levels
        The levels of the target, worst first.
    terms
        The fitted functionals; empty with a card.
    card
        The score card, or None.
    above
        With ``terms="all"``, levels of features at which no best monotone function reaches a level; else
        None.
    """

    chains: tuple[FeatureLevels, ...]
    levels: tuple[Any, ...]
    terms: tuple[Fitted, ...]
    card: ScoreCard | None
    above: Corners | None = None

    def read(self, table: npt.NDArray[Any]) -> Ints:
        """Return raw values as levels of the features."""
        return np.column_stack([chain.ranks(table[:, i]) for i, chain in enumerate(self.chains)])

    def ranks(self, table: npt.NDArray[Any]) -> Ints:
        """Return the level of the target of each row of raw values, by its index."""
        return self.ranks_of(self.read(table))

    def ranks_of(self, rows: Ints) -> Ints:
        """Return the same for rows of levels of the features."""
        if self.card is not None:
            return self.card.ranks(rows)
        worst = np.zeros(len(rows), dtype=np.int64)
        return np.asarray(np.max([worst, *(one.least.ranks(rows) for one in self.terms)], axis=0))

    def interval(self, table: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """Return the smallest and largest level over all capacities that fit as well, one term at a time.

        With ``terms="all"``, over all monotone functions that fit as well.
        """
        if self.card is not None:
            raise SugenetError(
                "predict_interval is about all capacities that fit equally well, and a score card has no "
                "such set. Give terms=1 or a larger integer."
            )
        rows = self.read(table)
        if self.above is not None:
            upper = np.full(len(rows), len(self.levels) - 1)
            for level, row in self.above:
                upper = np.where((rows <= row).all(axis=1), np.minimum(upper, level - 1), upper)
            return self.ranks_of(rows), upper
        low = [one.least.ranks(rows) for one in self.terms]
        high = [one.upper(rows) for one in self.terms]
        # the prediction uses the least capacity, so a term can differ only upwards
        return np.max(low, axis=0), np.max([*low, *high], axis=0)

    @cached_property
    def scale(self) -> Ordinal:
        """The levels of the target as a scale."""
        labels = [plain(level) for level in self.levels]
        return Ordinal([label if type(label) is int else str(label) for label in labels])

    @property
    def capacities(self) -> tuple[Focal, ...] | tuple[Nested]:
        """The capacity of each functional, over the features; for a card, one over the levels of the
        features.
        """
        if self.card is None:
            names = [chain.name for chain in self.chains]
            return tuple(one.least.capacity(names, self.scale) for one in self.terms)
        conditions = [
            [" ".join([chain.name, *map(str, chain.condition(t))]) for t in range(1, len(chain.steps) + 1)]
            for chain in self.chains
        ]
        return (self.card.capacity(conditions, self.scale),)

    def utilities(self, term: int = 0) -> dict[str, tuple[Any, ...]]:
        """Return, for each feature, the level of the target that each of its levels is worth, in one
        functional.
        """
        if self.card is not None:
            raise CapacityError("a score card has points and no utilities; see card_.")
        one = self.terms[term].least
        return {
            chain.name: tuple(self.levels[j] for j in one.utilities(i, len(chain.steps) + 1))
            for i, chain in enumerate(self.chains)
        }

    @cached_property
    def rules(self) -> tuple[LevelRule, ...]:
        """The model as rules without duplicates: the best level among the rules that hold, else the worst
        one.
        """
        corners = (
            list(self.card.corners())
            if self.card is not None
            else [corner for one in self.terms for corner in one.least.corners()]
        )
        return strongest(corners, self.chains, self.levels)

    def __str__(self) -> str:
        what = str(self.card) if self.card is not None else f"greatest of {len(self.terms)} Sugeno integrals"
        what = "one Sugeno integral" if len(self.terms) == 1 else what
        levels = " < ".join(visible(str(level)) for level in self.levels)
        return f"{what} over {len(self.chains)} features, levels {levels}"


def learn_model(
    table: npt.NDArray[Any],
    targets: Bools,
    chains: Sequence[FeatureLevels],
    levels: Sequence[Any],
    *,
    weights: npt.NDArray[np.float64],
    gaps: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.float64],
    terms: Terms,
    cuts: Ints | None,
    smoothing: float,
    smoothness: float,
    points: int,
    rng: np.random.Generator,
) -> LearnedModel:
    """Learn a model of samples that reach some levels of the target.

    `targets` has one column per level from 1, or one column if `offsets` has one log-odds per level: then
    level j means that the odds are this high. `cuts` are those of given utilities; without them, cuts are
    learned.
    """
    chain_list = tuple(chains)
    rows = np.column_stack([chain.ranks(table[:, i]) for i, chain in enumerate(chain_list)])
    level_counts = [len(chain.steps) + 1 for chain in chain_list]
    if terms == "all":
        see_rows(len(np.unique(rows, axis=0)))
    card: ScoreCard | None = None
    labels = np.where(targets, 1.0, -1.0) - np.tanh(
        offsets / 2
    )  # an event of odds o is worth it from 1 in 1 + o
    if terms == "card" or smoothing > 0:
        card, odds = learn_card(rows, level_counts, targets, weights, offsets, smoothness, points)
        if terms == "card":
            return LearnedModel(chain_list, tuple(levels), (), card)
        share = (
            np.tanh((odds + offsets) / 2) - np.tanh(offsets / 2)
            if targets.shape[1] == 1
            else np.tanh(odds / 2)
        )
        labels = (1 - smoothing) * labels + smoothing * share
    gains = labels * (weights[:, None] * (1 if terms == "all" else gaps))  # a level alone, whatever its gap
    unit = min(
        _FINE / max(float(np.abs(gains).max()), 1e-300), _LARGEST / max(float(np.abs(gains).sum()), 1e-300)
    )
    integer_gains = np.rint(gains * unit).astype(np.int64)
    if terms == "all":
        all_terms, above = learn_all(rows, np.array(level_counts) - 1, integer_gains)
        return LearnedModel(chain_list, tuple(levels), all_terms, None, above)
    if cuts is not None:
        fitted: tuple[Fitted, ...] = (best_capacity(rows, integer_gains, cuts),)
    else:
        fitted = learn_terms(rows, np.array(level_counts), integer_gains, int(terms), rng)
    return LearnedModel(chain_list, tuple(levels), fitted, None)
