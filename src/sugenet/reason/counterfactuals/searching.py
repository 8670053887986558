"""Search for the cheapest counterfactual in raw features, with proof (docs/theory.md 8.1).

If costs add up, sets of moves are enumerated by increasing weight; then engines search for anything cheaper
than the best. If the cost is the largest change, engines search balls.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any, Literal

from sugenet.engines.bounds import BOUNDS
from sugenet.engines.hard.dual.deciding import DUAL
from sugenet.engines.ladder import decide
from sugenet.engines.walk.anneal import Patience, search
from sugenet.engines.walk.descent import Descent
from sugenet.engines.walk.listing import needed_changes
from sugenet.engines.walk.sets import flip_level
from sugenet.errors import EncodingError, QuestionError, TooLargeError
from sugenet.nn import Network, network_of
from sugenet.nn.samples import is_table
from sugenet.problem import (
    ENUMERATED,
    L0,
    Clock,
    Cost,
    Fails,
    FeatureMove,
    Holds,
    Linf,
    Moves,
    Open,
    Outcome,
    Prices,
    Problem,
    Region,
    Ties,
    heaviest,
    is_soon_expanded,
    plain_row,
    replayed,
    sets_within,
    surroundings,
)
from sugenet.reason.counterfactuals.answers import (
    Answer,
    Counterfactual,
    NoCounterfactual,
    OpenCounterfactual,
)
from sugenet.reason.counterfactuals.several import Counterfactuals
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import WhatIf
from sugenet.reprs import quoted, roughly

__all__ = [
    "ByLevels",
    "ByRadius",
    "CounterfactualSearch",
    "answer_of",
    "is_minimum_up_to_rounding",
    "nearest",
    "whatif",
]

_FINE = 1 << 60
"""Total of all costs, as integers, from which on they are divided too finely to search."""


class CounterfactualSearch:
    """State of the search for one question."""

    def __init__(self, network: Network, question: WhatIf, engine: str, clock: Clock) -> None:
        self.network, self.question, self.engine, self.clock = network, question, engine, clock
        self.prop, self.values, self.most = (
            question.label_goal(network),
            question.values(network),
            question.most,
        )
        movable = question.movable(network)
        self.whole = surroundings(network.lawful, self.values, question.cost, None, movable, question.region)
        """All moves that are allowed."""
        self.best: tuple[FeatureMove, ...] | None = None
        self.proof: dict[str, Any] | None = None
        self.how = "flips"
        """Engine that gave the proof."""
        self.sets: int | None = None
        """Number of sets of moves that it enumerated."""
        self.lower = self.shown = Fraction(0)
        """Lower bounds on the cost: known, and covered by the proof."""
        self.is_shown = True
        """Whether the last engine that raised the bound gave a proof."""

    @property
    def everything(self) -> Problem:
        """Return all sets of moves, at any cost."""
        return Problem(self.whole, self.prop.goal)

    @property
    def is_there(self) -> bool:
        """Return whether the sample itself violates the property."""
        counts = self.whole.network.packed("auto").match_counts(self.whole.inputs, self.clock.threads)
        return bool(self.prop.goal.violates(counts)[0])

    def value(self, moves: Iterable[FeatureMove]) -> Fraction:
        """Return the total cost of moves."""
        prices = (move.price for move in moves)
        return max(prices, default=Fraction(0)) if self.question.cost is Linf else sum(prices, Fraction(0))

    def rank(self, moves: tuple[FeatureMove, ...]) -> tuple[Any, ...]:
        """Return the rank of a set of moves: cheapest first, then fewest changes, then by features and new
        states.
        """
        return self.value(moves), len(moves), [(move.feature, move.state) for move in moves]

    def take(self, moves: tuple[FeatureMove, ...]) -> None:
        """Keep a set of moves if it is within the limit, and cheaper than the best or as cheap with fewer
        changes.
        """
        cheap = self.value(moves), len(moves)
        if (self.most is None or cheap[0] <= self.most) and (
            self.best is None or cheap < (self.value(self.best), len(self.best))
        ):
            self.best = moves

    def first(self, asked: Problem) -> None:
        """Search for a first counterfactual at any cost, and make it cheaper.

        The search is the same for every cost, so that all costs start from the same result. `asked`: all
        moves, within the limit.
        """
        clock, soon = self.clock, is_soon_expanded(self.whole)
        if clock.up() or not self.whole.moves:
            return
        clock.tell("search ...")
        descent = Descent(self.everything, self.question.cost is Linf, clock, self.take)
        far = (self.most is None or not soon) and descent.far()
        moves = None
        if soon:
            moves = search(asked, clock, light=self.question.cost is not Linf, keep=self.take)
            if moves is None and not clock.up():
                moves = self._alike()
        if moves is not None:
            descent.nearer(moves)
        elif far or descent.far():
            descent.down()

    def _alike(self) -> tuple[FeatureMove, ...] | None:
        """Return moves that change the class, found with equal costs and without a limit; None if already
        searched.
        """
        near = self.whole
        if self.most is None and int(near.columns.weights.sum()) < _FINE:
            return None
        moves = near.moves
        alike = {key: tuple(way._replace(weight=1) for way in rows) for key, rows in moves.distinct.items()}
        moves = Moves({feature: alike[id(rows)] for feature, rows in moves.ways.items()})
        violation = search(Problem(replace(near, moves=moves), self.prop.goal), self.clock, light=False)
        return None if violation is None else near.moves_to(near.moved(violation))

    def improve(self, witness: tuple[Any, ...]) -> None:
        """Keep the result of an engine, and cheaper ones on the way back to the sample."""
        moves = self.whole.moves_to(witness)
        self.take(moves)
        Descent(self.everything, self.question.cost is Linf, self.clock, self.take).nearer(moves)

    def proved(self, outcome: Holds, lower: Fraction) -> None:
        """Keep the result of an engine, and its proof if it gives one."""
        self.how, self.sets, self.lower = outcome.engine, outcome.sets, lower
        self.is_shown = outcome.proof is not None
        if self.is_shown:
            self.proof, self.shown = outcome.proof, lower

    def found(self, moves: tuple[FeatureMove, ...], value: Fraction) -> Counterfactual:
        """Return the answer for moves of some cost, evaluated by the definition."""
        replay = replayed(self.everything, self.how, moves)
        assert isinstance(replay, Fails), "without a limit no cost is beyond it"
        changed = replay.witness
        lower = min(self.lower, value)
        witness = plain_row(changed, self.network)
        shown = str(min(self.shown, value))
        certificate = self.certificate("counterfactual", witness, value=str(value), lower=shown)
        how, sets = (self.how, self.sets) if lower > 0 else ("search", None)
        return Counterfactual(self.network, self.question, value, lower, changed, how, certificate, sets=sets)

    def certificate(self, answer: str, witness: list[Any] | None = None, **more: Any) -> dict[str, Any]:
        """Return a certificate with the proof so far."""
        return envelope(self.network, self.question, answer=answer, witness=witness, proof=self.proof, **more)


_EXACT_LEVELS = 400
_WALK = 3e8
"""Number of sets of moves that are enumerated level by level before anything else."""
_WALK_LATE = 3e10
"""Number of sets that are enumerated level by level after a longer search; beyond it, the ladder of engines
runs.
"""
_LADDER = 1e11
"""Number of sets beyond which proofs are rare, and a long search comes first."""
_SOME, _MANY = 4_000_000, 60_000_000
"""Steps of the longer search, and of the long one."""


class ByLevels:
    """Strategy for every cost except the largest change; a level is a sum of weights."""

    def __init__(self, searcher: CounterfactualSearch) -> None:
        self.searcher, self.near, self.unit = searcher, searcher.whole, searcher.whole.unit
        total = heaviest(self.near)
        self.top = total if searcher.most is None else min(total, int(searcher.most / self.unit // 1))
        """The largest weight of the question."""
        self.patience = Patience(self._within, searcher.clock, searcher.take)

    @property
    def is_complete(self) -> bool:
        """Return whether the proof covers the whole question."""
        return self.searcher.lower > self.top * self.unit

    def search(self) -> None:
        """Search for a first counterfactual, then prove it minimal or find a cheaper one."""
        searcher, clock, lightest = self.searcher, self.searcher.clock, self.near.lightest
        if lightest:  # nothing is lighter than the lightest move
            self._proved(min(lightest, self.top + 1) - 1, Holds("bounds", {"kind": "bound"}))
        searcher.first(self._within(self.top))
        if searcher.engine == "auto":
            self._walk_up(_WALK)
            if sets_within(self.near, self._below(self.top)) > _WALK_LATE:  # else everything is enumerated
                self._go_on(_SOME)
            self._walk_up(_WALK_LATE)
            if sets_within(self.near, self._below(self.top)) > _LADDER:
                self._go_on(_MANY)
        while not clock.up() and not self._is_ended:
            budget = self._below(self.top)
            outcome = decide(self._asked(budget), clock, searcher.engine)
            if isinstance(outcome, Holds):
                self._proved(budget, outcome)
                continue
            before = searcher.best
            if isinstance(outcome, Fails):
                searcher.improve(outcome.witness)
            if searcher.best is before:  # undecided, or no better: a difference that rounding hides
                break
        while searcher.engine == "auto" and clock.time_limit is not None and self._go_on(_MANY):
            pass

    def _walk_up(self, max_sets: float) -> None:
        """Enumerate increasing levels while there are not too many sets."""
        clock, proved = self.searcher.clock, 0
        for level in self._steps():
            if clock.up() or self._is_ended:
                break
            walked = self._last(proved, self._below(level), max_sets)
            if self.searcher.lower <= walked * self.unit and not self._walk(walked):
                break
            if walked < self._below(level):
                break
            proved = walked

    def _last(self, low: int, high: int, max_sets: float) -> int:
        """Return the largest weight up to `high` with at most this many sets, if those up to `low` are few
        enough.
        """
        if sets_within(self.near, high) <= max_sets:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if sets_within(self.near, middle) <= max_sets else (low, middle)
        return low

    def _go_on(self, steps: int) -> bool:
        """Search for something lighter than the best, and restart whenever it is found.

        False if nothing is left to search, or the time is up.
        """
        searcher = self.searcher
        if searcher.best is None or not is_soon_expanded(self.near):
            return False
        patience = self.patience
        searcher.clock.tell("search on ...")
        while not searcher.clock.up() and not self._is_ended and searcher.best is not None:
            best = _weight(searcher.best)
            if not patience.go_on(min(best - 1, self.top), steps):
                return not searcher.clock.up() and patience.annealer is not None and not self._is_ended
            searcher.improve(searcher.whole.moved(searcher.best))
            if searcher.best is None or _weight(searcher.best) >= best:  # not cheaper, up to rounding
                return False
        return False

    def _within(self, budget: int) -> Problem:
        """Return the moves that a budget in integer units allows."""
        near = self.near.only(lambda move: move.weight <= budget)
        return Problem(replace(near, budget=budget), self.searcher.prop.goal)

    def _asked(self, budget: int) -> Problem:
        """Return the problem for the engines.

        While nothing is known, it is the whole problem of the certificate, without a budget if there is no
        limit.
        """
        if self.searcher.best is not None:
            return self._within(budget)
        if self.searcher.most is not None:
            return self._within(floor(self.searcher.most / self.unit))
        return self._within(self.top) if self.searcher.engine == "flips" else self.searcher.everything

    def _below(self, level: int) -> int:
        """Return a level, or the one just below the best known."""
        best = self.searcher.best
        return min(level, self.top if best is None else _weight(best) - 1)

    @property
    def _is_ended(self) -> bool:
        return self.searcher.lower > self._below(self.top) * self.unit

    def _walk(self, level: int) -> bool:
        """Enumerate all sets up to a weight; False if this was not possible."""
        searcher, clock = self.searcher, self.searcher.clock
        try:
            walked = flip_level(self._within(level), level, clock)
        except TooLargeError as error:
            clock.tell(f"flips: {error}")
            return False
        if walked is None:
            return False
        if walked.violation is not None:
            before = searcher.best
            searcher.improve(searcher.whole.moved(walked.violation))
            return searcher.best is not before  # otherwise beyond the limit, or not cheaper within rounding
        clock.tell(
            f"none of the {walked.sets:,} changes up to {roughly(level * self.unit)} changes the answer"
        )
        self._proved(level, Holds("flips", ENUMERATED, walked.sets))
        return True

    def _proved(self, level: int, outcome: Holds) -> None:
        if (level + 1) * self.unit > self.searcher.lower:
            self.searcher.proved(outcome, (level + 1) * self.unit)

    def _steps(self) -> list[int]:
        """Yield increasing levels to enumerate.

        They are all possible totals, if there are few or all moves weigh the same; otherwise the steps grow.
        """
        totals = {0}
        every = self.near.columns.weights
        if len(every) and every.min() == every.max() > 0:
            each = int(every[0])
            return list(range(each, self.top + 1, each))[:_EXACT_LEVELS] or [self.top]
        for moves in self.near.places.values():
            weights = set(every[moves].tolist())
            totals |= {total + weight for total in totals for weight in weights if total + weight <= self.top}
            if len(totals) > _EXACT_LEVELS:
                step = int(every[every > 0].min())
                steps = []
                while step < self.top:
                    steps.append(step)
                    step = step * 3 // 2 + 1
                return [*steps, self.top]
        return sorted(totals - {0}) or [self.top]

    def rising(self, best: tuple[FeatureMove, ...], *, only: bool) -> Iterator[Problem]:
        """Yield problems with more and more sets of moves, starting with those as cheap as the best; `only`
        these.
        """
        best_weight = _weight(best)
        for budget in [best_weight] if only else [step for step in self._steps() if step >= best_weight]:
            problem = self._within(budget)
            yield Problem(replace(problem.near, limit=self.searcher.most), problem.goal)


def is_minimum_up_to_rounding(answer: Counterfactual) -> bool:
    """Return whether only costs within the rounding to integer weights are left below the best.

    This can occur if costs are sums of floats. More time could not prove more.
    """
    if answer.is_minimum or answer.question.cost is Linf:
        return answer.is_minimum
    near = CounterfactualSearch(answer.network, answer.question, "auto", Clock()).whole
    return answer.lower >= _weight(near.moves_to(answer.changed)) * near.unit


def _weight(moves: tuple[FeatureMove, ...]) -> int:
    return sum(move.weight for move in moves)


_QUICK = 1.0
"""Seconds that dual bounds get for a radius before all engines run."""


class ByRadius:
    """Strategy for the largest change."""

    def __init__(self, searcher: CounterfactualSearch) -> None:
        self.searcher = searcher
        ways = searcher.whole.moves.distinct.values()
        shared = {id(way.price): way.price for rows in ways for way in rows}
        prices = set(shared.values())
        self.radii = sorted(price for price in prices if searcher.most is None or price <= searcher.most)
        self.low = -1
        """Index of the largest radius that is proved to contain nothing."""
        self.is_complete = False
        """Whether the proof covers the whole question."""

    def search(self) -> None:
        """Search for a first counterfactual, then approach the minimum radius from below.

        Fast methods run first, then all engines. Radii that stay undecided in between are left undecided.
        """
        self._reached(-1, Holds("bounds", {"kind": "bound"}))  # nothing is below the smallest move
        if self.radii:
            self.searcher.first(self._ball(self.radii[-1]))
        if self.searcher.engine == "auto":
            self._close_in(self._bounded, onwards=False)
        self._close_in(self._sought, onwards=True)
        self._close_in(
            lambda problem: decide(problem, self.searcher.clock, self.searcher.engine), onwards=False
        )

    @property
    def _high(self) -> int:
        """The index of the smallest radius known to suffice, or one past the last."""
        best = self.searcher.best
        return len(self.radii) if best is None else bisect_left(self.radii, self.searcher.value(best))

    def _close_in(self, ask: Callable[[Problem], Outcome], *, onwards: bool) -> None:
        """Decide radii in growing steps, at most half of the way to the radius known to suffice.

        An undecided radius ends the loop, unless it runs `onwards` or no radius is known to suffice.
        """
        searcher, radii = self.searcher, self.radii
        low, step = self.low, 1
        while low + 1 < self._high and not searcher.clock.up():
            high = self._high
            index = min(low + step, len(radii) - 1 if high == len(radii) else (low + high) // 2)
            searcher.clock.tell(f"radius {roughly(radii[index])} ...")
            outcome = ask(self._ball(radii[index]))
            if isinstance(outcome, Fails):
                searcher.improve(outcome.witness)
                continue
            if isinstance(outcome, Holds):
                self._reached(index, outcome)
            elif not onwards and high < len(radii):
                return
            low, step = index, 2 * step

    def _bounded(self, problem: Problem) -> Outcome:
        """Return the result of bounds alone."""
        return (BOUNDS if is_soon_expanded(problem.near) else DUAL.within(_QUICK))(
            problem, self.searcher.clock
        )

    def _sought(self, problem: Problem) -> Outcome:
        """Return the result of a short search."""
        moves = None
        if is_soon_expanded(problem.near):
            moves = search(problem, self.searcher.clock, restarts=4, light=False)
        return (
            Open("search", "nothing was found", {}) if moves is None else replayed(problem, "search", moves)
        )

    def _ball(self, radius: Fraction) -> Problem:
        """Return the moves of at most a radius."""
        return Problem(self.searcher.whole.only(lambda move: move.price <= radius), self.searcher.prop.goal)

    def _reached(self, low: int, outcome: Holds) -> None:
        """Record that there is nothing up to this radius."""
        self.low = low
        self.is_complete = low == len(self.radii) - 1
        self.searcher.proved(outcome, Fraction(0) if self.is_complete else self.radii[low + 1])

    def rising(self, best: tuple[FeatureMove, ...], *, only: bool) -> Iterator[Problem]:
        """Yield problems with more and more sets of moves, starting with those no larger than the best;
        `only` these.
        """
        best_value = self.searcher.value(best)
        for radius in [best_value] if only else [radius for radius in self.radii if radius >= best_value]:
            problem = self._ball(radius)
            total = int(problem.near.columns.weights.sum())
            yield Problem(replace(problem.near, budget=total, limit=None), problem.goal)


def whatif(
    network: Network,
    x: Any,
    cost: type[Cost] | Prices = L0,
    *,
    target: Any = None,
    keep: Iterable[Any] = (),
    region: Region | None = None,
    max_cost: Any = None,
    ties: Ties = "lowest",
    within: Any = None,
    n: int | Literal["all"] = 1,
    engine: str = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Answer | Counterfactuals:
    """Find the cheapest change to a sample that gives it another class.

    The answer includes a proof that no cheaper change exists, if there was time for one.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    x : array, list, mapping or data frame
        One raw sample: values in the order of the features, or by name. Or several samples, as a list of
        samples or an array. Or a data frame, even with one row.
    cost : str, cost or Prices, default: L0
        Cost of a change: ``"L0"`` (features changed), ``"L1"``, ``"L2"`` (squares are summed) or
        ``"Linf"`` on raw values, ``"Hamming"`` on bits, the classes of these names, or `Prices`.
    target : str or int, default: None
        Class to reach, by name or index. None: any other class.
    keep : iterable, default: ()
        Features that must stay as they are, by name or number from 0.
    region : Linf, Free, Box or str, default: None
        Region in which the changed sample must lie.
    max_cost : int, float or Fraction, default: None
        Largest cost to look for; for `L2` the distance, not its square.
    ties : {"lowest", "against"}, default: "lowest"
        ``"lowest"``: a tie goes to the lowest class, as in `predict`. ``"against"``: a tie counts as a
        change.
    within : str, list of str or Domain, default: None
        Ask only about inputs that can occur: ``"data"`` for the range of the training data, ``"any"`` for
        any values, laws as text, or a `Domain`, as in `Network.within`. None: the domain of the network.
    n : int or "all", default: 1
        How many counterfactuals to list, cheapest first; those after the first are in `others`. No change of
        any can be dropped. ``"all"``: all of minimum cost.
    engine : str, default: "auto"
        ``"auto"``, or the engine that proves the minimum: see `sugenet.engines.ladder`.
    time_limit : float, default: None
        Seconds after which the best answer so far is given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    Counterfactual, NoCounterfactual, OpenCounterfactual or Counterfactuals
        Its `outcome` is ``"found"``, ``"none"`` or ``"undecided"``. A counterfactual `is_minimum` if no
        cheaper one exists. For several samples, one such answer each; `to_pandas` gives all as a data frame.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.
    EncodingError
        If the sample has a value that its feature cannot have.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(whatif(net, [+1, -1, +1, -1], n="all"))
    off becomes on with 1 feature changed, proved to be the least: x2 from -1 to 1
    off becomes on with 1 feature changed, proved to be the least: x3 from 1 to -1
    off becomes on with 1 feature changed, proved to be the least: x4 from -1 to 1

    See Also
    --------
    verify : whether the class can change at all in a region.
    why : features that suffice for the class.
    """
    network = network_of(network).within(within)
    question = WhatIf(x, cost, target, keep, region, max_cost, ties)

    how: dict[str, Any] = {"n": n, "engine": engine, "threads": threads, "seed": seed, "notify": notify}
    how["time_limit"] = time_limit
    rows = _several_rows(network, x)
    return nearest(network, question, **how) if rows is None else _about_each(network, question, rows, how)


def _several_rows(network: Network, x: Any) -> Any:
    """Return several samples, or those of a table, as rows; None if there is one, or none can be read."""
    try:
        rows = network.encoder.rows(x)
    except EncodingError:
        return None
    return rows if rows.ndim == 2 and len(rows) >= (1 if is_table(x) else 2) else None


def _about_each(
    network: Network,
    question: WhatIf,
    rows: Any,
    how: dict[str, Any],
) -> Counterfactuals:
    """Ask about every row; raise the first refusal if all are refused."""
    labels = tuple(network.predict(rows).tolist())  # refuses values that a feature cannot have
    answers: list[Answer | None] = [None] * len(rows)
    refused: dict[int, QuestionError] = {}
    for number, row in enumerate(rows):
        if how["notify"] is not None:
            how["notify"](f"sample {number + 1} of {len(rows)} ...")
        try:
            answer = answers[number] = nearest(network, question.about(row), **how)
        except QuestionError as error:
            refused[number] = error
            continue
        if answer.interrupted:
            break
    if len(refused) == len(rows):
        raise refused[0]
    refusals = {number: str(error) for number, error in refused.items()}
    return Counterfactuals(network, question.sample, rows, labels, tuple(answers), refusals)


def nearest(
    network: Network,
    question: WhatIf,
    n: int | Literal["all"] = 1,
    engine: str = "auto",
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Answer:
    """Answer a question about one sample, as `whatif` does."""
    return answer_of(
        CounterfactualSearch(network, question, engine, Clock(time_limit, threads, seed, notify)), n
    )


def answer_of(searcher: CounterfactualSearch, n: int | Literal["all"] = 1) -> Answer:
    """Return the result of the search.

    The time limit only ends the work and does not change it. Results up to then are kept, so more time never
    gives a worse answer.
    """
    if n != "all" and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise QuestionError(
            f"n={quoted(n)} must be a number of counterfactuals, at least 1, or 'all' for all of least cost."
        )
    network, question = searcher.network, searcher.question
    way = ByRadius(searcher) if question.cost is Linf else ByLevels(searcher)
    reason = _searched(searcher, way)
    if searcher.best is not None:
        if reason == "interrupted":
            return replace(_several(searcher, way, searcher.best, 1), interrupted=True, all_listed=n == 1)
        return _several(searcher, way, searcher.best, n)
    if way.is_complete:
        certificate = searcher.certificate("none") if searcher.is_shown else None
        return NoCounterfactual(network, question, searcher.how, certificate, searcher.sets)
    certificate = searcher.certificate("open", lower=str(searcher.shown))
    return OpenCounterfactual(network, question, searcher.shown, reason, certificate)


def _searched(searcher: CounterfactualSearch, way: ByLevels | ByRadius) -> str:
    """Search for a first counterfactual, then prove it minimal or find a cheaper one; return why it ended."""
    try:
        if searcher.is_there:
            searcher.best = ()
        else:
            way.search()
    except KeyboardInterrupt:
        return "interrupted"
    return "the time was up" if searcher.clock.up() else "no engine got further"


def _several(
    searcher: CounterfactualSearch,
    way: ByLevels | ByRadius,
    best: tuple[FeatureMove, ...],
    n: int | Literal["all"],
) -> Counterfactual:
    """Return the best counterfactual and further ones, by enumerating all sets at increasing budgets."""
    first = searcher.found(best, searcher.value(best))
    if n == 1 or not best:
        return first
    listed, complete = _listed(searcher, way, best, n)
    if n == "all":
        listed = [moves for moves in listed if searcher.value(moves) == first.cost]
    listed = sorted(listed, key=searcher.rank)
    if listed and searcher.value(listed[0]) <= first.cost:
        kept = listed if n == "all" else listed[:n]
        first, *others = [searcher.found(moves, searcher.value(moves)) for moves in kept]
        first = replace(first, others=tuple(others))
    return replace(first, all_listed=complete)


def _listed(
    searcher: CounterfactualSearch,
    way: ByLevels | ByRadius,
    best: tuple[FeatureMove, ...],
    n: int | Literal["all"],
) -> tuple[list[tuple[FeatureMove, ...]], bool]:
    """Return the enumerated sets of changes, and whether they are enough."""
    changes: list[tuple[FeatureMove, ...]] = []
    try:
        for problem in way.rising(best, only=n == "all"):
            assert problem.near.budget is not None
            listed = needed_changes(problem, problem.near.budget, searcher.clock)
            if listed is None:
                return changes, False
            changes = listed
            if n == "all" or len(changes) >= n:
                break
    except KeyboardInterrupt:
        return changes, False
    return changes, True
