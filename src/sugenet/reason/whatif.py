"""What would change the answer: a counterfactual of least cost in raw features, with proof (REASONING sections 1 to 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from time import monotonic
from typing import Any

import numpy as np

from sugenet.bnn import Network
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import QuestionError, SoundnessError, TooLargeError
from sugenet.reason.answers import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.flips import FlipLevel, flip_level
from sugenet.reason.front import Front
from sugenet.reason.property import Keeps, Ties
from sugenet.reason.regions import L0, L1, L2, Cost, Hamming, Linf, Move, Neighbourhood, surroundings
from sugenet.reason.search import search

__all__ = ["whatif"]

_EXACT_LEVELS = 400


def whatif(
    network: Network,
    x: Any,
    cost: type[Cost] = L0,
    *,
    target: int | None = None,
    immutable: Iterable[str] = (),
    limit: Any = None,
    ties: Ties = "lowest",
    time_limit: float | None = None,
    seed: int = 0,
) -> Counterfactual | NoCounterfactual | OpenCounterfactual:
    """Find a changed sample of another class at least cost, and prove that nothing cheaper is.

    Parameters
    ----------
    network, x
        The network and one raw sample.
    cost
        `L0` (features changed), `L1`, `L2` (its square is what is summed), `Linf` on raw values, or `Hamming` on bits.
    target
        The class to reach; any other one unless given.
    immutable
        Names of features that must stay as they are.
    limit
        Look no further than this cost (for `L2` the distance, not its square).
    ties
        ``lowest``: a tie goes to the lowest class, as in `predict`. ``against``: a tie counts as changed.
    time_limit
        Seconds after which the best answer so far is given, with what is proved about it.
    seed
        Of the local search.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[-1], [+1]]), classes=["off", "on"])
    >>> print(whatif(net, [+1, -1, +1, -1]))
    off becomes on with 1 feature changed, proved to be the least: x2 from -1 to 1
    """
    if cost not in (L0, L1, L2, Linf, Hamming):
        raise QuestionError(f"cost={cost!r} is no cost. Give L0, L1, L2, Linf or Hamming themselves, without a radius.")
    values = np.asarray(x, dtype=object).reshape(-1).tolist()
    row = np.empty((1, len(values)), dtype=object)
    row[0] = values
    prop = Keeps(network, int(network.predict(row)[0]), target, ties)
    names = {name: place for place, name in enumerate(network.encoder.names)}
    fixed = set()
    for name in immutable:
        if name not in names:
            raise QuestionError(f"there is no feature {name!r} to keep. The features are {', '.join(list(names)[:8])}, ...")
        fixed.add(names[name])
    movable = [place for place in range(network.encoder.features) if place not in fixed]
    most = None if limit is None else Fraction(exact_number(limit, "limit")) ** (2 if cost.__name__ == "L2" else 1)
    if most is not None and exact_number(limit, "limit") < 0:
        raise QuestionError(f"limit={limit} is negative, but no change costs less than nothing.")
    end = None if time_limit is None else monotonic() + time_limit
    return _Hunt(prop, values, cost, movable, most, lambda: end is not None and monotonic() > end, seed).run()


class _Hunt:
    """One question on its way: the best found, and the cost below which nothing is."""

    def __init__(
        self,
        prop: Keeps,
        values: list[Any],
        cost: type[Cost],
        movable: list[int],
        most: Fraction | None,
        stop: Callable[[], bool],
        seed: int,
    ) -> None:
        self.prop, self.values, self.cost, self.movable, self.most, self.stop, self.seed = prop, values, cost, movable, most, stop, seed
        self.levels: list[dict[str, Any]] = []

    def near(self, budget: Fraction | None) -> Neighbourhood:
        """The moves that a budget allows."""
        return surroundings(self.prop.network, self.values, self.cost, budget, self.movable)

    def run(self) -> Counterfactual | NoCounterfactual | OpenCounterfactual:
        """Search for something, then prove or find something cheaper."""
        everything = self.near(self.most)
        front = Front.of(everything)
        if self.prop.goal.violates(front.scores(front.active[None, front.fragile]))[0]:
            return self._found((), Fraction(0), Fraction(0), "the sample itself")
        return self._by_radius(everything) if self.cost is Linf else self._by_levels(everything, front)

    # -- costs that add up -----------------------------------------------------------------------------------------------------

    def _by_levels(self, everything: Neighbourhood, front: Front) -> Counterfactual | NoCounterfactual | OpenCounterfactual:
        best = search(front, self.prop.goal, seed=self.seed)
        top = self._heaviest(everything) if best is None else sum(move.weight for move in best)
        proved = 0
        for level in self._steps(everything, top):
            bound = level
            while bound > proved:
                try:
                    found = self._level(proved, bound, everything.unit)
                except TooLargeError as error:
                    return self._stopped(best, proved, everything, str(error))
                if found is None:
                    return self._stopped(best, proved, everything, "the time was up")
                if found.violation is None:
                    break
                best = found.violation
                bound = sum(move.weight for move in best) - 1
            proved = max(proved, bound)
            if best is not None and proved >= sum(move.weight for move in best) - 1:
                break
        if best is None:
            return NoCounterfactual(self.prop, self.cost.__name__, self.most, "flip enumeration", self._certificate(None))
        value = sum(move.weight for move in best) * everything.unit
        return self._found(best, value, value, "flip enumeration")

    def _level(self, floor: int, budget: int, unit: Fraction) -> FlipLevel | None:
        near = self.near(budget * unit)
        scale = unit / near.unit  # levels are written in units of the whole; a smaller neighbourhood may have coarser ones
        low, high = int(floor * scale), int(budget * scale)
        found = flip_level(Front.of(near), self.prop.goal.violates, low, high, self.stop)
        if found is not None and found.violation is None:
            self.levels.append({"floor": str(floor * unit), "budget": str(budget * unit), "sets": found.sets, "patterns": found.signatures})
        if found is None or found.violation is None:
            return found
        restated = tuple(Move(m.feature, m.state, m.value, m.distance, int(m.weight / scale)) for m in found.violation)
        return FlipLevel(floor, budget, found.sets, found.signatures, restated)

    def _heaviest(self, near: Neighbourhood) -> int:
        """The largest weight that can be reached at all, one more so that the last level is walked too."""
        best: dict[int, int] = {}
        for move in near.moves:
            best[move.feature] = max(best.get(move.feature, 0), move.weight)
        total = sum(best.values())
        return (total if near.budget is None else min(total, near.budget)) + 1

    def _steps(self, near: Neighbourhood, top: int) -> list[int]:
        """Levels to walk, rising to top - 1: every total that can occur while these are few, else doubling steps."""
        totals = {0}
        by_feature: dict[int, set[int]] = {}
        for move in near.moves:
            by_feature.setdefault(move.feature, set()).add(move.weight)
        for weights in by_feature.values():
            totals |= {total + weight for total in totals for weight in weights if total + weight < top}
            if len(totals) > _EXACT_LEVELS:
                lightest = min(move.weight for move in near.moves)
                steps, step = [], lightest
                while step < top - 1:
                    steps.append(step)
                    step = step * 3 // 2 + 1
                return [*steps, top - 1]
        return sorted(totals - {0})

    # -- the largest change ----------------------------------------------------------------------------------------------------

    def _by_radius(self, everything: Neighbourhood) -> Counterfactual | NoCounterfactual | OpenCounterfactual:
        radii = sorted({move.distance for move in everything.moves})
        lower = radii[0] if radii else Fraction(0)
        for radius in radii:
            near = self.near(None)
            inside = tuple(Move(m.feature, m.state, m.value, m.distance, 1) for m in near.moves if m.distance <= radius)
            ball = Neighbourhood(near.network, near.sample, near.states, inside, len(inside), Fraction(1))
            front = Front.of(ball)
            best = search(front, self.prop.goal, seed=self.seed)
            if best is not None:
                return self._found(best, max(move.distance for move in best), lower, "local search")
            walked = self._walk_ball(front, len({move.feature for move in inside}))
            if walked is None:
                return self._open(lower, f"a ball of radius {radius} was too large to walk")
            if walked.violation is not None:
                return self._found(walked.violation, radius, lower, "flip enumeration")
            self.levels.append({"radius": str(radius), "sets": walked.sets, "patterns": walked.signatures})
            lower = next((r for r in radii if r > radius), radius)
        return NoCounterfactual(self.prop, "Linf", self.most, "flip enumeration", self._certificate(None))

    def _walk_ball(self, front: Front, features: int) -> FlipLevel | None:
        if not len(front.fragile):
            return FlipLevel(0, features, 0, 0, None)
        per_feature: dict[int, int] = {}
        for move in front.neighbourhood.moves:
            per_feature[move.feature] = per_feature.get(move.feature, 1) + 1
        if np.prod([float(count) for count in per_feature.values()]) > 2**26:
            return None
        return flip_level(front, self.prop.goal.violates, 0, features, self.stop)

    # -- answers ---------------------------------------------------------------------------------------------------------------

    def _stopped(self, best: tuple[Move, ...] | None, proved: int, near: Neighbourhood, reason: str) -> Counterfactual | OpenCounterfactual:
        lower = (proved + 1) * near.unit
        if best is None:
            return self._open(lower, reason)
        return self._found(best, sum(move.weight for move in best) * near.unit, lower, f"local search; {reason}")

    def _open(self, lower: Fraction, reason: str) -> OpenCounterfactual:
        """Nothing found: the certificate claims the lower bound and no more."""
        return OpenCounterfactual(self.prop, self.cost.__name__, lower, reason, self._certificate(None) | {"open": str(lower)})

    def _found(self, moves: tuple[Move, ...], value: Fraction, lower: Fraction, engine: str) -> Counterfactual:
        changed = list(self.values)
        for move in moves:
            changed[move.feature] = move.value
        row = np.empty((1, len(changed)), dtype=object)
        row[0] = changed
        if not self.prop.goal.violates(self.prop.network.match_counts(row, engine="definition"))[0]:
            raise SoundnessError(f"the changed sample {changed} does not violate: {self.prop}. Please report this input.")
        certificate = self._certificate(changed) | {"value": str(value), "lower": str(lower)}
        return Counterfactual(self.prop, self.cost.__name__, value, lower, tuple(self.values), tuple(changed), engine, certificate)

    def _certificate(self, changed: list[Any] | None) -> dict[str, Any]:
        return {
            "format": "sugenet certificate",
            "version": 1,
            "network": self.prop.network.fingerprint,
            "sample": [_plain(value) for value in self.values],
            "label": self.prop.label,
            "target": self.prop.target,
            "ties": self.prop.ties,
            "cost": self.cost.__name__,
            "movable": self.movable,
            "limit": None if self.most is None else str(self.most),
            "witness": None if changed is None else [_plain(value) for value in changed],
            "walked": self.levels,
        }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
