"""What would change the answer: a counterfactual of least cost in raw features,
with proof (docs/theory.md 8.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any, Literal

from sugenet.bnn import Network, Steps
from sugenet.capacity.thresholds import exact_number
from sugenet.engines.ladder import decide
from sugenet.engines.walk.anneal import search
from sugenet.engines.walk.listing import needed_changes
from sugenet.engines.walk.sets import flip_level
from sugenet.errors import QuestionError, SoundnessError, TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.keeps import Keeps, Ties
from sugenet.problem.moves import Moves
from sugenet.problem.neighbourhood import Move, Neighbourhood, place_of, row_of, whole_weights
from sugenet.problem.outcomes import Fails, Holds, Outcome, walk_record
from sugenet.problem.problem import Problem
from sugenet.problem.regions import (
    L0,
    L1,
    L2,
    Anything,
    Box,
    Cost,
    Free,
    Hamming,
    Linf,
    Prices,
    Region,
    surroundings,
)
from sugenet.problem.sizes import heaviest, sets_within
from sugenet.reason.questions import class_of, plain, region_data
from sugenet.reason.verdicts.answers import Counterfactual, NoCounterfactual, OpenCounterfactual

__all__ = ["Answer", "whatif"]

Answer = Counterfactual | NoCounterfactual | OpenCounterfactual

_EXACT_LEVELS = 400
_WALK = 3e8
"""Sets of moves that are walked through level by level; beyond, the ladder of engines is asked."""


def whatif(
    network: Network,
    x: Any,
    cost: type[Cost] | Prices = L0,
    *,
    target: Any = None,
    immutable: Iterable[Any] = (),
    region: Region | None = None,
    limit: Any = None,
    ties: Ties = "lowest",
    n: int | Literal["all"] = 1,
    engine: str = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Answer:
    """Find a changed sample of another class at least cost, and prove that nothing cheaper is.

    Parameters
    ----------
    network, x
        The network and one raw sample.
    cost
        `L0` (features changed), `L1`, `L2` (squares are summed), `Linf` on raw values, `Hamming` on bits, or
        `Prices` of your own.
    target
        The class to reach, by name or number; any other one unless given.
    immutable
        Features that must stay as they are, by name or number from 0.
    region
        Where the changed sample must lie: `Linf`, `Free` or `Box`.
    limit
        Look no further than this cost (for `L2` the distance, not its square).
    ties
        ``lowest``: a tie goes to the lowest class, as in `predict`. ``against``: a tie counts as changed.
    n
        How many counterfactuals; the further ones are in `others`, cheapest first, each without a change that
        could be left out. ``"all"``: all of least cost.
    engine
        ``auto``, or the engine that shall prove that nothing cheaper is: see `sugenet.engines.ladder`.
    time_limit
        Seconds after which the best answer so far is given, with what is proved about it.
    threads
        How many may work at once; one for each core unless said.
    seed
        Of the local search.
    notify
        Is told what is going on.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[-1], [+1]]), classes=["off", "on"])
    >>> print(whatif(net, [+1, -1, +1, -1], n="all"))
    off becomes on with 1 feature changed, proved to be the least: x2 from -1 to 1
    off becomes on with 1 feature changed, proved to be the least: x3 from 1 to 0
    off becomes on with 1 feature changed, proved to be the least: x4 from -1 to 1
    """
    if not isinstance(cost, Prices) and cost not in (L0, L1, L2, Linf, Hamming):
        raise QuestionError(
            f"cost={cost!r} is no cost. Give L0, L1, L2, Linf or Hamming themselves, without a radius, "
            f"or Prices({{...}})."
        )
    if n != "all" and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise QuestionError(
            f"n={n!r} must be a number of counterfactuals, at least 1, or 'all' for all of least cost."
        )
    if region is not None and not isinstance(region, Linf | Free | Box | Anything):
        raise QuestionError(
            f"region={region!r} has a budget of its own. Use Linf, Free or Box, and limit= for the cost."
        )
    values = network.encoder.values(x)
    prop = Keeps(
        network,
        int(network.predict(row_of(values))[0]),
        None if target is None else class_of(network, target),
        ties,
    )
    fixed = {place_of(network, name) for name in immutable}
    most = None if limit is None else Fraction(exact_number(limit, "limit"))
    if most is not None and most < 0:
        raise QuestionError(f"limit={limit} is negative, but no change costs less than nothing.")
    hunt = _Hunt(
        prop, values, cost, fixed, region, None if most is None else most ** (2 if cost is L2 else 1), engine
    )
    hunt.clock = Clock(time_limit, threads, seed, notify)
    return hunt.run(n)


class _Hunt:
    """One question on its way: the best found, and the cost below which nothing is."""

    clock: Clock

    def __init__(
        self,
        prop: Keeps,
        values: list[Any],
        cost: Any,
        fixed: set[int],
        region: Region | None,
        most: Fraction | None,
        engine: str,
    ) -> None:
        self.prop, self.values, self.cost, self.region, self.most, self.engine = (
            prop,
            values,
            cost,
            region,
            most,
            engine,
        )
        self.movable = [place for place in range(prop.network.encoder.features) if place not in fixed]
        self.name = "Prices" if isinstance(cost, Prices) else cost.__name__
        self.whole = self._allowed(surroundings(prop.network, values, cost, None, self.movable))
        self.best: tuple[Move, ...] | None = None
        self.proof: dict[str, Any] | None = None
        self.how = "flips"
        """Which engine gave the proof."""
        self.lower = Fraction(0)
        """Nothing is cheaper than this, by the proof."""

    def _allowed(self, near: Neighbourhood) -> Neighbourhood:
        """Moves that stay in the region."""
        if self.region is None:
            return near
        inside = {
            (m.feature, m.state, m.value) for m in self.region.around(self.prop.network, self.values).moves
        }
        if isinstance(self.region, Box):  # a box has values of its own; those of the cost must lie in it too
            codings = self.prop.network.encoder.codings
            if any(
                isinstance(limit, frozenset)
                and len(limit) > 1
                and isinstance(codings[place_of(self.prop.network, f)], Steps)
                for f, limit in self.region.limits
            ):
                raise QuestionError(
                    "region= limits a number by values. Give bounds (low, high); "
                    "only categories are listed one by one."
                )
            limits = {
                place_of(self.prop.network, feature): Box({feature: limit})
                for feature, limit in self.region.limits
            }
            kept = [m for m in near.moves if m.feature in limits and self._stays(limits[m.feature], m)]
        else:
            kept = [m for m in near.moves if (m.feature, m.state, m.value) in inside]
        scale = whole_weights([move.price for move in kept])
        moves = tuple(replace(move, weight=floor(move.price * scale)) for move in kept)
        return replace(near, moves=moves, unit=Fraction(1, scale))

    def _stays(self, box: Box, move: Move) -> bool:
        changed = list(self.values)
        changed[move.feature] = move.value
        try:
            box.around(self.prop.network, changed)
        except QuestionError:
            return False
        return True

    def problem(self, budget: int) -> Problem:
        """The moves that a budget in whole units allows."""
        return Problem(
            replace(self.whole.only(lambda move: move.weight <= budget), budget=budget), self.prop.goal
        )

    def ball(self, radius: Fraction) -> Problem:
        """The moves that are no larger than a radius."""
        return Problem(self.whole.only(lambda move: move.price <= radius), self.prop.goal)

    def run(self, n: int | Literal["all"]) -> Answer:
        """Search for something, then prove or find something cheaper."""
        try:
            if self.problem(0).replays(()):
                self.best = ()
            elif self.cost is Linf:
                self._by_radius()
            else:
                self._by_levels()
            reason = "the time was up" if self.clock.up() else "no engine got further"
        except KeyboardInterrupt:
            reason = "interrupted"
        if self.best is not None:
            return self._several(self._found(self.best), n)
        if self.proof is not None and self._covers_everything():
            certificate = self._certificate("none", None)
            return NoCounterfactual(self.prop, self.name, self.most, self.how, certificate)
        certificate = self._certificate("open", None) | {"lower": str(self.lower)}
        return OpenCounterfactual(self.prop, self.name, self.lower, reason, certificate)

    # -- costs that add up -----------------------------------------------------------------------------------

    def _top(self) -> int:
        """The largest weight that is asked about."""
        total = heaviest(self.whole)
        return total if self.most is None else min(total, int(self.most / self.whole.unit // 1))

    def _covers_everything(self) -> bool:
        return bool(self.lower > self._top() * self.whole.unit) if self.cost is not Linf else self._radii_done

    def _weight(self, moves: tuple[Move, ...]) -> int:
        return sum(move.weight for move in moves)

    def _by_levels(self) -> None:
        top = self._top()
        lightest = self.whole.lightest
        if lightest:  # below the lightest move there is nothing
            self._proved(min(lightest, top + 1) - 1, Holds("bounds", {"kind": "bounds"}))
        everything = self.problem(top)
        if not self.clock.up():
            self.clock.tell("search ...")
            self._take(search(everything, self.clock))
        if self.engine == "auto":
            for level in self._steps(top):
                if (
                    self.clock.up()
                    or self._ended(top)
                    or sets_within(self.whole, self._within(level, top)) > _WALK
                ):
                    break
                if not self._walk(self._within(level, top)):
                    break
        while not self.clock.up() and not self._ended(top):
            budget = self._within(top, top)
            problem = self.problem(budget) if self.best is not None else self._everything(top)
            found = decide(problem, self.clock, self.engine)
            if isinstance(found, Holds):
                self._proved(budget, found)
            elif isinstance(found, Fails):
                before = self.best
                self._take(self._moves_to(found.witness))
                if self.best is before:  # no better than what was there: a difference that rounding hides
                    break
            else:
                break

    def _everything(self, top: int) -> Problem:
        """All that is asked about while nothing is known: as the certificate says it, without a budget where
        there is no limit.
        """
        if self.most is not None:
            return self.problem(floor(self.most / self.whole.unit))
        return self.problem(top) if self.engine == "flips" else Problem(self.whole, self.prop.goal)

    def _within(self, level: int, top: int) -> int:
        """A level, or just below the best that is known."""
        return min(level, top if self.best is None else self._weight(self.best) - 1)

    def _price(self, moves: tuple[Move, ...]) -> Fraction:
        return sum((move.price for move in moves), Fraction(0))

    def _ended(self, top: int) -> bool:
        return self.lower > self._within(top, top) * self.whole.unit

    def _walk(self, level: int) -> bool:
        """Walk all sets up to a weight; False when that was not possible."""
        try:
            found = flip_level(self.problem(level), level, self.clock)
        except TooLargeError as error:
            self.clock.tell(f"flips: {error}")
            return False
        if found is None:
            return False
        if found.violation is not None:
            before = None if self.best is None else self._price(self.best)
            self._take(found.violation)
            if self.best is None:  # beyond the limit by less than rounding
                return False
            return before is None or self._price(self.best) < before
        self.clock.tell(
            f"none of the {found.sets:,} changes up to {float(level * self.whole.unit):.6g} "
            f"changes the answer"
        )
        self._proved(level, Holds("flips", walk_record(found)))
        return True

    def _proved(self, level: int, outcome: Outcome) -> None:
        if isinstance(outcome, Holds) and (level + 1) * self.whole.unit > self.lower:
            self.proof, self.how, self.lower = outcome.proof, outcome.engine, (level + 1) * self.whole.unit

    def _take(self, moves: tuple[Move, ...] | None) -> None:
        """Keep what is cheaper than the best so far."""
        if moves is None or (self.most is not None and self._price(moves) > self.most):
            return
        if self.best is None or self._price(moves) < self._price(self.best):
            self.best = moves

    def _moves_to(self, witness: tuple[Any, ...]) -> tuple[Move, ...]:
        changed = {f: b for f, (a, b) in enumerate(zip(self.values, witness, strict=True)) if a != b}
        found = (self.whole.move_to(feature, value) for feature, value in changed.items())
        return tuple(move for move in found if move is not None)

    def _steps(self, top: int) -> list[int]:
        """Levels to walk, rising: every total that can occur while these are few, else growing steps."""
        totals = {0}
        every = self.whole.columns.weights
        for moves in self.whole.places.values():
            weights = set(every[moves].tolist())
            totals |= {total + weight for total in totals for weight in weights if total + weight <= top}
            if len(totals) > _EXACT_LEVELS:
                step = int(every[every > 0].min())
                steps = []
                while step < top:
                    steps.append(step)
                    step = step * 3 // 2 + 1
                return [*steps, top]
        return sorted(totals - {0}) or [top]

    # -- the largest change ----------------------------------------------------------------------------------

    _radii_done = False

    def _by_radius(self) -> None:
        """Double the radius until something is found, then close in on the least radius; what is open in
        between stays open.
        """
        radii = sorted(self._radii())
        low, high, at = -1, len(radii), 0
        self._reached(radii, low)
        while low + 1 < high and not self.clock.up():
            place = min(at, high - 1) if high == len(radii) else (low + high) // 2
            self.clock.tell(f"radius {float(radii[place]):.6g} ...")
            found = decide(self.ball(radii[place]), self.clock, self.engine)
            if isinstance(found, Holds):
                low = place
                self.proof, self.how = found.proof, found.engine
                self._reached(radii, low)
            elif isinstance(found, Fails):
                self.best = self._thinned(self._moves_to(found.witness))
                high = radii.index(self._value(self.best))
            elif high < len(radii) or place == len(radii) - 1:
                break
            at = min(2 * place + 2, len(radii) - 1)

    def _radii(self) -> set[Fraction]:
        moves = self.whole.moves
        ways = (
            {id(rows): rows for rows in moves.ways.values()}.values() if isinstance(moves, Moves) else [moves]
        )
        return {move.price for rows in ways for move in rows if self.most is None or move.price <= self.most}

    def _reached(self, radii: list[Fraction], low: int) -> None:
        """Up to this radius there is nothing."""
        self._radii_done = low == len(radii) - 1
        self.lower = radii[low + 1] if low + 1 < len(radii) else Fraction(0)
        if low == -1:  # below the smallest move there is nothing
            self.proof, self.how = {"kind": "bounds"}, "bounds"

    def _thinned(self, moves: tuple[Move, ...]) -> tuple[Move, ...]:
        """Leave out what is not needed, largest changes first."""
        problem = Problem(replace(self.whole, budget=None), self.prop.goal)
        for move in sorted(moves, key=lambda m: -m.price):
            fewer = tuple(m for m in moves if m is not move)
            if problem.replays(fewer):
                moves = fewer
        return moves

    # -- answers ---------------------------------------------------------------------------------------------

    def _value(self, moves: tuple[Move, ...]) -> Fraction:
        if self.cost is Linf:
            return max((move.price for move in moves), default=Fraction(0))
        return self._price(moves)

    def _found(self, moves: tuple[Move, ...]) -> Counterfactual:
        changed = list(self.values)
        for move in moves:
            changed[move.feature] = move.value
        if not self.prop.goal.violates(self.prop.network.match_counts(row_of(changed), engine="definition"))[
            0
        ]:
            raise SoundnessError(
                f"the changed sample {changed} does not violate: {self.prop}. Please report this input."
            )
        value = self._value(moves)
        lower = min(self.lower, value)
        certificate = self._certificate("counterfactual", changed) | {
            "value": str(value),
            "lower": str(lower),
        }
        how = self.how if lower > 0 else "search"
        return Counterfactual(
            self.prop, self.name, value, lower, tuple(self.values), tuple(changed), how, certificate
        )

    def _several(self, first: Counterfactual, n: int | Literal["all"]) -> Counterfactual:
        """More counterfactuals, by going through all sets at rising budgets until there are enough."""
        if n == 1 or not self.best or self.cost is Linf:
            return self._several_by_radius(first, n) if self.cost is Linf and n != 1 and self.best else first
        found: list[tuple[Move, ...]] = []
        complete = True
        budgets = (
            [self._weight(self.best)]
            if n == "all"
            else [s for s in self._steps(self._top()) if s >= self._weight(self.best)]
        )
        for budget in budgets:
            problem = self.problem(budget)
            listed = needed_changes(
                Problem(replace(problem.near, limit=self.most), problem.goal), budget, self.clock
            )
            if listed is None or self.clock.up():
                complete = False
                break
            found = listed
            if n == "all" or len(found) >= n:
                break
        if n == "all":
            found = [moves for moves in found if self._price(moves) == first.value]
        return replace(self._together(first, found, n), all_listed=complete)

    def _together(
        self, first: Counterfactual, found: list[tuple[Move, ...]], n: int | Literal["all"]
    ) -> Counterfactual:
        """One counterfactual with the others behind it."""
        if not found or self._value(found[0]) != first.value:
            return first
        listed = [self._found(moves) for moves in (found if n == "all" else found[:n])]
        return replace(listed[0], others=tuple(listed[1:]))

    def _several_by_radius(self, first: Counterfactual, n: int | Literal["all"]) -> Counterfactual:
        assert self.best is not None
        found: list[tuple[Move, ...]] = []
        complete = True
        for radius in (
            [first.value]
            if n == "all"
            else sorted(radius for radius in self._radii() if radius >= first.value)
        ):
            problem = self.ball(radius)
            total = int(problem.near.columns.weights.sum())
            everything = Problem(replace(problem.near, budget=total, limit=None), problem.goal)
            listed = needed_changes(everything, total, self.clock)
            if listed is None or self.clock.up():
                complete = False
                break
            found = listed
            if n == "all" or len(found) >= n:
                break
        ordered = sorted(found, key=lambda moves: (self._value(moves), len(moves)))
        return replace(self._together(first, ordered, n), all_listed=complete)

    def _certificate(self, answer: str, changed: list[Any] | None) -> dict[str, Any]:
        network = self.prop.network
        cost: dict[str, Any] = {"kind": self.name}
        if isinstance(self.cost, Prices):
            cost |= {
                "prices": [[f, str(p)] for f, p in sorted(self.cost.exact(network).items())],
                "per_unit": bool(self.cost.per_unit),
            }
        question = {
            "kind": "whatif",
            "sample": [plain(value) for value in self.values],
            "label": self.prop.label,
            "target": self.prop.target,
            "ties": self.prop.ties,
            "cost": cost,
            "movable": self.movable,
            "region": None if self.region is None else region_data(network, self.region),
            "limit": None if self.most is None else str(self.most),
        }
        return {
            "format": "sugenet certificate",
            "version": 2,
            "network": network.fingerprint,
            "question": question,
            "answer": answer,
            "witness": None if changed is None else [plain(value) for value in changed],
            "proof": self.proof,
        }
