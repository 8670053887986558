"""What would change the answer: a counterfactual of least cost in raw features,
with proof (docs/theory.md 8.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal

from sugenet.bnn import Network
from sugenet.engines.walk.listing import needed_changes
from sugenet.errors import QuestionError
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Ties
from sugenet.problem.moves import FeatureMove
from sugenet.problem.regions import L0, Cost, Linf, Prices, Region
from sugenet.reason.counterfactuals.answers import (
    Answer,
    Counterfactual,
    NoCounterfactual,
    OpenCounterfactual,
)
from sugenet.reason.counterfactuals.hunt import Hunt
from sugenet.reason.counterfactuals.levels import ByLevels
from sugenet.reason.counterfactuals.radii import ByRadius
from sugenet.reason.questions import WhatIf

__all__ = ["hunted", "whatif"]


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
    within: Any = None,
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
    within
        Ask about inputs that can occur: ``"data"``, laws as text or a `Domain`, as in `Network.within`.
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
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(whatif(net, [+1, -1, +1, -1], n="all"))
    off becomes on with 1 feature changed, proved to be the least: x2 from -1 to 1
    off becomes on with 1 feature changed, proved to be the least: x3 from 1 to -1
    off becomes on with 1 feature changed, proved to be the least: x4 from -1 to 1
    """
    network = network.within(within)
    question = WhatIf(x, cost, target, immutable, region, limit, ties)
    if n != "all" and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise QuestionError(
            f"n={n!r} must be a number of counterfactuals, at least 1, or 'all' for all of least cost."
        )
    return hunted(Hunt(network, question, engine, Clock(time_limit, threads, seed, notify)), n)


def hunted(hunt: Hunt, n: int | Literal["all"] = 1) -> Answer:
    """What a hunt comes to. Its work does not depend on how much time there is, which only ends it, and what
    was found or proved until then is kept: more time never gives a worse answer.
    """
    network, question = hunt.network, hunt.question
    way = ByRadius(hunt) if question.cost is Linf else ByLevels(hunt)
    reason = _searched(hunt, way)
    if hunt.best is not None:
        return replace(_several(hunt, way, hunt.best, n), interrupted=reason == "interrupted")
    if way.is_complete:
        certificate = hunt.certificate("none") if hunt.is_shown else None
        return NoCounterfactual(network, question, hunt.how, certificate, hunt.sets)
    certificate = hunt.certificate("open", lower=str(hunt.shown))
    return OpenCounterfactual(network, question, hunt.shown, reason, certificate)


def _searched(hunt: Hunt, way: ByLevels | ByRadius) -> str:
    """Search for something, then prove or find something cheaper; why it ended."""
    try:
        if hunt.is_there:
            hunt.best = ()
        else:
            way.search()
    except KeyboardInterrupt:
        return "interrupted"
    return "the time was up" if hunt.clock.up() else "no engine got further"


def _several(
    hunt: Hunt, way: ByLevels | ByRadius, best: tuple[FeatureMove, ...], n: int | Literal["all"]
) -> Counterfactual:
    """The best with others behind it, by going through all sets at rising budgets until there are enough."""
    first = hunt.found(best, hunt.value(best))
    if n == 1 or not best:
        return first
    found, complete = _listed(hunt, way, best, n)
    if n == "all":
        found = [moves for moves in found if hunt.value(moves) == first.value]
    found = sorted(found, key=hunt.rank)
    if found and hunt.value(found[0]) <= first.value:
        kept = found if n == "all" else found[:n]
        first, *others = [hunt.found(moves, hunt.value(moves)) for moves in kept]
        first = replace(first, others=tuple(others))
    return replace(first, all_listed=complete)


def _listed(
    hunt: Hunt, way: ByLevels | ByRadius, best: tuple[FeatureMove, ...], n: int | Literal["all"]
) -> tuple[list[tuple[FeatureMove, ...]], bool]:
    """The sets of changes that were listed, and whether they are enough."""
    found: list[tuple[FeatureMove, ...]] = []
    try:
        for problem in way.rising(best, only=n == "all"):
            assert problem.near.budget is not None
            listed = needed_changes(problem, problem.near.budget, hunt.clock)
            if listed is None:
                return found, False
            found = listed
            if n == "all" or len(found) >= n:
                break
    except KeyboardInterrupt:
        return found, False
    return found, True
