"""Decide a query over real inputs: a search for a counterexample, then bounds, sign patterns of patches, and
cases.

For networks that keep real numbers unchanged (`Real` codings, `RealLayer`). A proof covers all real inputs of
the box. A counterexample consists of integers if possible, else of floats, else of fractions.
`check_patches` and `check_real_witness` check proofs and counterexamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, floor
from typing import Any

import numpy as np

from sugenet.engines.hard.reals.anneal import Search
from sugenet.engines.hard.reals.bound import Reach, Slack
from sugenet.engines.hard.reals.coupled import coupled_point
from sugenet.engines.hard.reals.first_layer import BoxFirstLayer
from sugenet.engines.hard.reals.gradient import Climber
from sugenet.engines.hard.reals.patterns import BoxPatches
from sugenet.engines.hard.reals.split import Closure, OutOfBudget, Splitter, Witness
from sugenet.engines.hard.reals.witness import check_real_witness, real_scores
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import Network
from sugenet.nn.arrays import Ints
from sugenet.nn.boxed import in_box
from sugenet.nn.reals import Placed
from sugenet.problem import Case, Clock, Fails, Holds, Open, Query

__all__ = ["decide_query"]

_ENGINE = "patches"
_PROBE, _QUICK, _LONG = 10_000, 100_000, 2_000_000  # steps of a walk
_CHEAP = 20_000  # patterns up to which a linear program is faster than a long walk
_TARGETS = 4  # number of conjunctions that are searched
_WALKS = 4  # number of long walks without a time limit
_CLIMBS = 3  # climbs for each conjunction before a long walk
_SHORT = 1 << 20  # floats with at most this many steps to 1 have few digits
_NODES = 500  # cases of a conjunction without a time limit
_STRICT = 1 << 20  # seeds of walks beyond a tie
_EVER = 1 << 30  # rounds or cases with a time limit


def decide_query(network: Network, query: Query, clock: Clock) -> Holds | Fails | Open:
    """Decide whether some real input of the query's boxes violates its property.

    Parameters
    ----------
    network
        Its first layer reads real numbers, as after import with ``inputs=Reals(low, high)``.
    query
        Over raw inputs in the order of the network.
    clock
        If its time is up, the question stays open; without a time limit, it stays open after a fixed amount
        of work.

    Returns
    -------
    Holds, Fails or Open
        A proof for `check_patches`, the raw values of a counterexample, or the reason why it is open.
    """
    run = _Run(network, query, clock)
    if query.inputs != network.encoder.features or query.outputs != network.head.outputs:
        raise QuestionError(
            f"the query has {query.inputs} inputs and {query.outputs} outputs, "
            f"but the network {network.encoder.features} and {network.head.outputs}."
        )
    try:
        boxes = [_Boxed.of(network, case, clock) for case in query.cases]
    except QuestionError as error:
        return Open(_ENGINE, str(error), {})
    return run.decide(boxes)


@dataclass(frozen=True, eq=False)
class _Boxed:
    """One case of the query with everything computed about its box."""

    case: Case
    first_layer: BoxFirstLayer
    patches: BoxPatches
    levels: tuple[list[Fraction], list[Fraction]]
    slacks: list[Slack]
    placed: Placed

    @cached_property
    def search(self) -> Search | None:
        """Walks over this box; None if the network is too large."""
        return Search.of(self.first_layer, self.inside())

    @cached_property
    def climber(self) -> Climber | None:
        return None if self.search is None else Climber(self.search)

    @classmethod
    def of(cls, network: Network, case: Case, clock: Clock) -> _Boxed:
        boxed = in_box(network, case.box.lower, case.box.upper)
        if boxed is None:
            raise QuestionError("the box leaves the real numbers that the features can be.")
        box_layers = BoxFirstLayer.of(boxed)
        slacks = [Slack.of(boxed.network.expanded.head, conjunction) for conjunction in case.condition]
        levels = boxed.lower, boxed.upper
        return cls(case, box_layers, BoxPatches(box_layers, clock), levels, slacks, boxed.placed)

    def raw(self, levels: Sequence[Fraction]) -> tuple[Any, ...]:
        """Return raw values of real levels: integers as int, others as float if a float represents them."""
        return tuple(map(_short, self.placed.raw(levels)))

    def inside(self) -> tuple[Ints, Ints]:
        """The box on the grid, rounded inwards; if that leaves nothing of a feature, the grid point below."""
        lower, upper = self.levels
        high = np.array([floor(value * self.first_layer.grid) for value in upper], np.int64)
        low = np.array([ceil(value * self.first_layer.grid) for value in lower], np.int64)
        return np.minimum(low, high), high

    def brought_in(self, x: Sequence[int | Fraction]) -> list[Fraction]:
        """Return a point in units of the grid as exact levels, moved into the box if it is outside."""
        ends = zip(x, *self.levels, strict=True)
        return [min(max(Fraction(value) / self.first_layer.grid, low), high) for value, low, high in ends]


class _Run:
    def __init__(self, network: Network, query: Query, clock: Clock) -> None:
        self.network, self.query, self.clock = network, query, clock
        self.pace: float | None = None  # steps of a walk per second
        self.walked = 0  # steps of all walks
        self.found: tuple[Any, ...] = ()  # the last accepted point

    def decide(self, boxes: Sequence[_Boxed]) -> Holds | Fails | Open:
        """Search briefly, prove what can be proved, and continue the search if something is open; of two
        methods the cheaper runs first.

        Each box has its share of the time; the search uses the time that is left.
        """
        closures: list[list[Closure | None]] = [[None] * len(boxed.slacks) for boxed in boxes]
        facts: list[dict[str, Any]] = []
        rest: list[tuple[_Boxed, list[int], int]] = []
        try:
            for boxed in boxes:
                self._search(boxed, range(len(boxed.slacks)), _QUICK, 1, self.clock)
            for number, (boxed, row) in enumerate(zip(boxes, closures, strict=True)):
                clock = self.clock.share(1 / (len(boxes) - number))
                still = self._bounded(boxed, row)
                self.clock.tell(
                    f"box {number + 1} of {len(boxes)}: bounds leave {len(still)} of {len(row)} ways open"
                )
                cheap = sum(len(patch.patterns) for patch in boxed.patches.found) <= _CHEAP
                if not cheap:
                    self._search(boxed, still, _LONG, 1, clock)
                still = self._split(boxed, row, still, 1, facts, clock)
                if cheap:
                    still = self._split(boxed, row, still, _NODES, [], clock.share(0.3))
                if not still:
                    continue
                self.clock.tell(
                    f"box {number + 1} of {len(boxes)}: patterns leave {len(still)} ways open, searching on"
                )
                walks, nodes = (_WALKS, _NODES) if clock.time_limit is None else (_EVER, _EVER)
                turns = self._search(boxed, still, _LONG, walks, clock.share(0.3))
                self._program(boxed, still, clock.share(0.7))
                still = self._split(boxed, row, still, nodes, [], clock)
                if still and boxed.search is not None and boxed.search.moves:
                    rest.append((boxed, still, turns))
            for more in range(_EVER) if rest and self.clock.time_limit is not None else ():
                if self.clock.up():
                    break
                for boxed, still, turns in rest:
                    self._search(boxed, still, _LONG, 1, self.clock, first=turns + more)
        except Witness as found:
            return Fails(found.engine, self._witness())
        return self._outcome(boxes, closures, facts)

    def _outcome(
        self, boxes: Sequence[_Boxed], closures: list[list[Closure | None]], reached: list[dict[str, Any]]
    ) -> Holds | Open:
        still = sum(closure is None for row in closures for closure in row)
        if still:
            why = (
                "time is up"
                if self.clock.up()
                else (
                    "the search found no counterexample, and no bound or case of the work allowed closes them"
                )
            )
            return Open(
                _ENGINE,
                f"{still} of {sum(map(len, closures))} ways to violate the property are open: {why}.",
                {"open": reached},
            )
        cases = [
            {
                "grid": boxed.first_layer.grid,
                "patches": [patch.outs.tolist() for patch in boxed.patches.found] if _needs(row) else [],
                "closures": row,
            }
            for boxed, row in zip(boxes, closures, strict=True)
        ]
        return Holds(_ENGINE, {"kind": "patches", "cases": cases})

    # -- proofs ----------------------------------------------------------------------------------------------

    def _bounded(self, boxed: _Boxed, row: list[Closure | None]) -> list[int]:
        """Close conjunctions by bounds, or by patterns without multipliers; return the open ones, hardest
        first.
        """
        still = []
        for k, slack in enumerate(boxed.slacks):
            reach = Reach(boxed.first_layer, boxed.patches, slack)
            by, values = "bounds", reach.by_bounds()
            if not any(value < 0 for value in values) and not self.clock.up():
                by, values = "multipliers", reach.decoupled()
            closing = next((number for number, value in enumerate(values) if value < 0), None)
            if closing is None:
                still.append((min(values, default=0), k))
            else:
                mix = [unit if number == closing else 0 for number, unit in enumerate(slack.units)]
                row[k] = {"by": by, "mix": mix} if by == "bounds" else {"by": by, "mix": mix, "shares": []}
        return [k for _, k in sorted(still, reverse=True)]

    def _split(
        self,
        boxed: _Boxed,
        row: list[Closure | None],
        still: Sequence[int],
        nodes: int,
        facts: list[dict[str, Any]],
        clock: Clock,
    ) -> list[int]:
        """Close conjunctions by multipliers and cases, until one stays open; return the open ones."""
        for index, k in enumerate(still):
            reach = Reach(boxed.first_layer, boxed.patches, boxed.slacks[k])
            splitter = Splitter(reach, boxed.levels, partial(self._violates, boxed), clock, nodes)
            try:
                row[k] = splitter.close({})
            except OutOfBudget:
                facts.append(
                    {"condition": " ".join(map(str, boxed.case.condition[k])), "bound": splitter.best}
                )
                return list(still[index:])
        return []

    # -- counterexamples -------------------------------------------------------------------------------------

    def _search(
        self,
        boxed: _Boxed,
        numbers: Sequence[int],
        steps: int,
        rounds: int,
        clock: Clock,
        first: int = 0,
    ) -> int:
        """Walk towards the conjunctions nearest to being met, in turn: on integers, sometimes on the whole
        grid. Before each long walk, climb by gradients.

        Returns the number of the next round, from which a later search continues. Raises `Witness` if a
        point is a counterexample.
        """
        search = boxed.search
        if search is None or not len(numbers) or clock.up():
            return first
        _, sums = search.start()
        nearest = sorted(numbers, key=lambda k: -search.value(boxed.slacks[k], sums))[:_TARGETS]
        if self.pace is None:  # a short walk to measure the speed
            self._walk(boxed, nearest[0], _PROBE, first, clock)
        for turn in range(first, first + rounds if search.moves else first + 1):
            seed = (clock.seed + turn) % (1 << 32)
            aims = nearest if steps <= _QUICK else [self._climb(boxed, nearest, seed, clock)]
            for k in aims:
                if clock.up():
                    return turn + 1
                self._walk(boxed, k, steps, turn, clock)
        return first + rounds

    def _walk(self, boxed: _Boxed, k: int, steps: int, turn: int, clock: Clock) -> None:
        """Walk towards a conjunction, for as many steps as there is time."""
        left, before = clock.left(), clock.seconds
        if left is not None and self.pace is not None:
            steps = max(_PROBE, min(steps, int(self.pace * left)))
        seed = (clock.seed + turn) % (1 << 32)
        assert boxed.search is not None
        _, x = boxed.search.walk(boxed.slacks[k], steps, seed, whole=turn % 4 < 3)
        self.pace = steps / max(clock.seconds - before, 1e-6)
        self.walked += steps
        if x is not None and self._violates(boxed, boxed.brought_in(x.tolist())):
            raise self._found(boxed, k, "search", clock)

    def _climb(self, boxed: _Boxed, numbers: Sequence[int], seed: int, clock: Clock) -> int:
        """Climb by gradients towards each conjunction, and then towards the one that came nearest; return its
        number. Raises `Witness` if a point is a counterexample.
        """
        levels = {k: -float("inf") for k in numbers}
        for number in range(_CLIMBS * len(levels)):
            if clock.up():
                break
            k = numbers[number] if number < len(levels) else max(levels, key=lambda k: levels[k])
            level = self._climbed(boxed, boxed.slacks[k], (seed, number), clock, strictly=False)
            if level == float("inf"):
                raise self._found(boxed, k, "gradient", clock)
            levels[k] = max(levels[k], level)
        return max(levels, key=lambda k: levels[k])

    def _climbed(
        self, boxed: _Boxed, slack: Slack, seed: tuple[int, ...], clock: Clock, *, strictly: bool
    ) -> float:
        """Return the best slack of a climb by gradients, infinite if a point was accepted."""

        def accepts(point: list[Fraction]) -> bool:
            return self._violates(boxed, boxed.brought_in(point), strictly=strictly)

        assert boxed.climber is not None
        return boxed.climber.climb(slack, seed, accepts, clock.up)

    def _program(self, boxed: _Boxed, still: Sequence[int], clock: Clock) -> None:
        """Solve an integer program for a point of the conjunctions nearest to being met, in turn."""
        for index, k in enumerate(still[:_TARGETS]):
            part = clock.share(1 / (min(len(still), _TARGETS) - index))
            left = part.left()
            if left is not None and left <= 0:
                return
            reach = Reach(boxed.first_layer, boxed.patches, boxed.slacks[k])
            point = coupled_point(reach, left)
            if point is not None:
                splitter = Splitter(reach, boxed.levels, partial(self._violates, boxed), self.clock, 0)
                with suppress(OutOfBudget):
                    splitter.attempt(*point, engine="program")

    def _found(self, boxed: _Boxed, k: int, engine: str, clock: Clock) -> Witness:
        """Return the witness. If it meets an inequality with equality (a tie), replace it by one that meets
        them strictly if a climb, as many steps again, or the remaining time, find one.
        """
        search, walked, turn = boxed.search, self.walked, 0
        if search is None or not search.moves or self._is_strict(self.found):
            return Witness(engine)
        strict = replace(boxed.slacks[k], constants=boxed.slacks[k].constants - 1)
        if self._climbed(boxed, strict, (clock.seed % (1 << 32),), clock, strictly=True) == float("inf"):
            return Witness(engine)
        while walked > 0:
            left = clock.left()
            few = max(min(walked, _QUICK), _PROBE)
            if left is not None and left * (self.pace or 0) < few:
                break
            walked, turn = walked - few, turn + 1
            _, x = search.walk(strict, few, (clock.seed + _STRICT + turn) % (1 << 32), whole=turn % 4 < 3)
            if x is not None and self._violates(boxed, boxed.brought_in(x.tolist()), strictly=True):
                break
        return Witness(engine)

    def _is_strict(self, point: Sequence[Any]) -> bool:
        """Return whether raw values that violate the property do so with a margin."""
        raw = [Fraction(value) for value in point]
        scores = real_scores(raw, self.network)
        return any(
            all(sum(value * scores[k] for k, value in part.terms) > part.bound for part in conjunction)
            for case in self.query.cases
            if case.box.contains(raw)
            for conjunction in case.condition
        )

    def _witness(self) -> tuple[Any, ...]:
        """Return the raw values of the counterexample; floats near them if these are a counterexample too."""
        exact = self.found
        near = tuple(
            round(value * _SHORT) / _SHORT if isinstance(value, Fraction) else value for value in exact
        )
        is_as_good = self._accepted(near) and (self._is_strict(near) or not self._is_strict(exact))
        return near if near != exact and is_as_good else exact

    def _violates(self, boxed: _Boxed, levels: Sequence[Fraction], *, strictly: bool = False) -> bool:
        """Return whether a point is a counterexample, and note it; `strictly` refuses a tie."""
        raw = boxed.raw(levels)
        if not self._accepted(raw) or (strictly and not self._is_strict(raw)):
            return False
        self.found = raw
        return True

    def _accepted(self, raw: Sequence[Any]) -> bool:
        try:
            check_real_witness(raw, self.network, self.query)
        except CertificateError:
            return False
        return True


def _short(value: Fraction) -> Any:
    """Return an integer as int, another number as float if a float represents it."""
    if value.denominator == 1:
        return int(value)
    return float(value) if Fraction(float(value)) == value else value


def _needs(closures: Sequence[Closure | None]) -> bool:
    """Return whether any closure refers to patches."""
    return any(closure is not None and closure["by"] != "bounds" for closure in closures)
