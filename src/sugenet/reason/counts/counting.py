"""How many inputs of each class there are in a region, exactly: `count`.

What is counted are combinations of legal states of the features, each state of a feature once, however many
raw values it stands for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from threading import Timer, current_thread, main_thread
from typing import Any, TypeAlias

import numpy as np

from sugenet.bnn import Network
from sugenet.errors import QuestionError, TooLargeError
from sugenet.problem.boxes import Box
from sugenet.problem.clock import Clock
from sugenet.problem.moves import Moves, listed
from sugenet.problem.neighbourhood import Neighbourhood, place_of, row_of
from sugenet.problem.regions import Region
from sugenet.problem.sizes import sets_within
from sugenet.reason.counts.answers import Counted, CountOpen, CountSampled
from sugenet.reason.counts.points import MOST_POINTS, count_points, is_for_points
from sugenet.reason.counts.sample import interval, sample_classes
from sugenet.reason.counts.space import Space, combinations_within, ways
from sugenet.reason.counts.sums import count_sums
from sugenet.reason.counts.walk import Part, Walked, count_walk
from sugenet.reason.questions import plain, region_data

__all__ = ["CountOpen", "CountSampled", "Counted", "Where", "count", "within"]

Where: TypeAlias = Mapping[Any, Any] | Box
"""Limits as in `Box`."""

_FEW = 1 << 22  # combinations that a walk goes through at once
_MANY = 1 << 36  # that it goes through in minutes
_FIRST, _MOST = 1 << 16, 1 << 22  # different sums: before a long walk, and instead of one
_LEVELS = 64
_SAMPLES = 10_000


def count(
    network: Network,
    x: Any = None,
    region: Region | Neighbourhood | None = None,
    *,
    where: Where | None = None,
    method: str = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    samples: int | None = None,
    confidence: float = 0.99,
    notify: Callable[[str], None] | None = None,
) -> Counted | CountOpen | CountSampled:
    """Count the inputs of each class around a sample, within limits, or in the whole domain.

    Parameters
    ----------
    network
        What gives the classes.
    x, region
        A raw sample and a region around it; or a ready neighbourhood. Without them, all inputs.
    where
        Limits as in `Box`: only inputs within them are counted.
        Features without limits stay as free as they are.
    method
        ``auto``; ``walk`` goes through all combinations, ``sums`` merges equal sums feature by feature;
        ``sample`` only estimates.
    time_limit
        Seconds, after which what was counted so far is given as `CountOpen`.
    threads
        One per core unless given.
    seed, samples, confidence
        For ``sample``: how many inputs are drawn (10,000 unless given), and of the interval for each class.
    notify
        Told in words what goes on in a long count.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> from sugenet.problem.regions import Hamming
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1, 1]], [3])], Head([[-1], [1]]))
    >>> answer = count(net, [1, 1, 1, 1], Hamming(2))
    >>> answer.counts, answer.robustness
    ((6, 5), Fraction(5, 11))
    """
    if method not in ("auto", "walk", "sums", "sample"):
        raise QuestionError(f"method={method!r} is unknown. Use auto, walk, sums or sample.")
    Clock(time_limit, threads, seed)  # says what is wrong with them
    if samples is not None and (isinstance(samples, bool) or not isinstance(samples, int) or samples < 1):
        raise QuestionError(f"samples={samples!r} must be a whole number, at least 1.")
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise QuestionError(f"confidence={confidence!r} must be between 0 and 1.")
    begin = time.perf_counter()
    near, sample, question, words = _asked(network, x, region, where)
    if near is None:
        raise QuestionError(f"nothing in the region meets the limits: {words}.")
    label = None if sample is None else int(network.predict(row_of(sample))[0])
    space = _space(near, method)
    if space is None:
        total = combinations_within(near)
        clock = _Clock(time_limit, notify, total, begin)

        def run() -> tuple[str, Walked]:
            return "walk", count_points(near, threads, clock.is_up, lambda many: clock.step(many / total))

    else:
        total = space.total
        if method == "sample":
            drawn = _SAMPLES if samples is None else samples
            hits = sample_classes(space, drawn, seed)
            ends = tuple(interval(many, drawn, confidence) for many in hits)
            return CountSampled(
                network, words, hits, ends, confidence, total, seed, time.perf_counter() - begin
            )
        clock = _Clock(time_limit, notify, total, begin)

        def run() -> tuple[str, Walked]:
            assert space is not None
            return _counted(space, method, threads, clock)

    try:
        used, walked = _prepared(notify, lambda: _interruptible(run, clock))
    finally:
        clock.end()
    lower = [sum(column) for column in zip(*(row for _, row in walked.parts), strict=True)] or [
        0
    ] * network.head.outputs
    seconds = time.perf_counter() - begin
    if not walked.is_whole:
        stopped = "interrupted" if clock.is_interrupted else "stopped"
        reason = (
            f"{stopped} after {seconds:.1f} s"
            if clock.stop[0]
            else "too many to go through, and too many different sums"
        )
        return CountOpen(network, words, tuple(lower), total, reason, seconds)
    assert sum(lower) == total, f"{sum(lower)} counted of {total}: a bug in sugenet, please report it"
    certificate = {
        "format": "sugenet certificate",
        "version": 2,
        "network": network.fingerprint,
        "question": question,
        "answer": "counted",
        "counts": lower,
        "total": total,
        "method": used,
        "proof": {
            "kind": "partition",
            "order": list(walked.order),
            "parts": [[what, list(row)] for what, row in walked.parts],
        },
    }
    return Counted(network, words, tuple(lower), label, used, seconds, certificate)


# -- the question --------------------------------------------------------------------------------------------


def _asked(
    network: Network, x: Any, region: Any, where: Any
) -> tuple[Neighbourhood | None, tuple[Any, ...] | None, dict[str, Any], str]:
    """The neighbourhood and its sample, the question as JSON, and the region in words."""
    if isinstance(x, Neighbourhood) and region is None:
        x, region = None, x
    box = where if isinstance(where, Box) else Box({} if where is None else where)
    limits = region_data(network, box)["limits"]
    words = (
        [str(Box([(network.encoder.names[place_of(network, f)], limit) for f, limit in box.limits]))]
        if limits
        else []
    )
    if region is None:
        if x is not None:
            raise QuestionError("a sample needs a region around it, such as Hamming(2) or Anything().")
        alone = {"kind": "count", "sample": None, "region": None, "where": limits}
        return box.of(network), None, alone, words[0] if words else "any input"
    if isinstance(region, Neighbourhood):
        if x is not None or region.network is not network:
            raise QuestionError(
                "a neighbourhood has its own sample and network: give it alone, with its network."
            )
        near, data = region, _moves_data(region)
        words = [
            f"{len(near.moves)} changes"
            + ("" if near.budget is None else f" within {near.budget * near.unit}"),
            *words,
        ]
    elif hasattr(region, "around"):
        if x is None:
            raise QuestionError(
                "a region needs a sample: count(network, x, region). For limits alone, where={...}."
            )
        near, data = region.around(network, x), region_data(network, region)
        words = [str(region), *words]
    else:
        raise QuestionError(
            f"region={region!r} is no region. Give one such as Hamming(2), Linf(4), "
            f"Free([...]) or Anything()."
        )
    if near.budget is not None and near.only(lambda move: move.weight * near.unit == move.price) is not near:
        raise TooLargeError(
            "the costs are too finely divided to count exactly: as whole numbers they leave 60 bits."
        )
    question = {
        "kind": "count",
        "sample": [plain(value) for value in near.sample],
        "region": data,
        "where": limits,
    }
    return within(near, box), near.sample, question, " and ".join(words)


def _moves_data(near: Neighbourhood) -> dict[str, Any]:
    """A ready neighbourhood as JSON."""
    moves = [[move.feature, move.state, plain(move.value), move.weight] for move in near.moves]
    return {"kind": "Moves", "moves": moves, "budget": near.budget}


def within(near: Neighbourhood, box: Box) -> Neighbourhood | None:
    """The part of a neighbourhood whose states are within limits; None when nothing is.

    Where the sample's own state is not, the lightest change that is becomes part of the sample, and its
    weight is taken off.
    """
    if not box.limits:
        return near
    inside = box.of(near.network)
    named = {place_of(near.network, feature) for feature, _ in box.limits}
    ways, limits = dict(near.ways), inside.ways
    allowed = {f: {inside.states[f], *(way.state for way in limits.get(f, ()))} for f in named}
    sample, states, budget, limit = list(near.sample), list(near.states), near.budget, near.limit
    for feature in sorted(named):
        kept = tuple(way for way in ways.get(feature, ()) if way.state in allowed[feature])
        if near.states[feature] not in allowed[feature]:
            if not kept:
                return None
            base = min(kept, key=lambda way: (way.weight, way.state))
            sample[feature], states[feature] = base.value, base.state
            budget = None if budget is None else budget - base.weight
            limit = None if limit is None else limit - base.price
            lighter = (
                way._replace(price=way.price - base.price, weight=way.weight - base.weight)
                for way in kept
                if way is not base
            )
            kept = tuple(lighter)
        ways[feature] = kept
    if budget is not None and budget < 0:
        return None
    moves = Moves(dict(sorted(ways.items()))).where(lambda _, way: budget is None or way.weight <= budget)
    return Neighbourhood(near.network, tuple(sample), tuple(states), listed(moves), budget, near.unit, limit)


def _space(near: Neighbourhood, method: str) -> Space | None:
    """The region as a whole; None where its inputs are few, and the network or its numbers are
    too large for that.
    """
    sets = sets_within(near)
    one_by_one = method in ("auto", "walk") and sets <= MOST_POINTS
    if one_by_one and is_for_points(near, sets):
        return None
    try:
        return Space.of(near)
    except TooLargeError:
        if one_by_one:
            return None
        raise


# -- the methods ---------------------------------------------------------------------------------------------


class _Clock:
    """Tells when to stop, and how far it is."""

    def __init__(
        self, limit: float | None, notify: Callable[[str], None] | None, total: int, begin: float
    ) -> None:
        self.stop, self.notify, self.total, self.told = (
            np.zeros(1, np.uint8),
            notify,
            total,
            time.perf_counter(),
        )
        self.is_interrupted = False
        left = None if limit is None else begin + limit - time.perf_counter()  # what came before counts
        self.timer = None if left is None else Timer(max(0.0, left), self._ring)
        if left is not None and left <= 0:
            self._ring()
        elif self.timer is not None:
            self.timer.daemon = True
            self.timer.start()

    def _ring(self) -> None:
        self.stop[0] = 1

    def is_up(self) -> bool:
        return bool(self.stop[0])

    def interrupt(self) -> None:
        self.is_interrupted = True
        self._ring()

    def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def step(self, share: float) -> None:
        now = time.perf_counter()
        if self.notify is not None and now - self.told > 1:
            self.told = now
            self.notify(f"counted {share:.0%} of {self.total:,}")


def _prepared(
    notify: Callable[[str], None] | None, run: Callable[[], tuple[str, Walked]]
) -> tuple[str, Walked]:
    """Run with a word when something has to be compiled first."""
    if notify is None:
        return run()
    from sugenet.engines.walk.kernels import prepare

    found: list[tuple[str, Walked]] = []
    prepare(notify, lambda: found.append(run()))
    return found[0]


def _interruptible(run: Callable[[], tuple[str, Walked]], clock: _Clock) -> tuple[str, Walked]:
    """Run beside the main thread, which hears Ctrl-C while compiled code runs;
    what is counted until then is given.
    """
    if current_thread() is not main_thread():
        return run()
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(run)
        try:
            return found.result()
        except KeyboardInterrupt:
            clock.interrupt()
            return found.result()


def _counted(space: Space, method: str, threads: int | None, clock: _Clock) -> tuple[str, Walked]:
    """Choose a method, and count."""
    live = [f for f, rows in zip(space.features, space.gains, strict=True) if rows.any()]
    idle = [f for f in space.features if f not in set(live)]
    if not live:
        own = int(space.tail.labels(space.start[None] >= 0)[0])
        counts = tuple(space.total * (k == own) for k in range(space.near.network.head.outputs))
        return "constant", Walked((), (([], counts),), True)
    few = space.budget is None or space.budget <= _LEVELS
    part = space.only(live, space.budget) if few else space
    if method == "sums" or (method == "auto" and part.total > _FEW):
        found = count_sums(space, _MOST if method == "sums" else _FIRST, lambda: bool(clock.stop[0]))
        if found is None and method == "auto" and part.total > _MANY:
            found = count_sums(space, _MOST, lambda: bool(clock.stop[0]))
        if found is not None or method == "sums":
            return "sums", found or Walked((), (), False)
    if part.total >= 1 << 60:
        return "walk", Walked((), (), False)
    if not idle or not few:
        return "walk", count_walk(space, threads, clock.stop, clock.step)
    return "walk", _with_idle(space, live, idle, threads, clock)


def _with_idle(space: Space, live: list[int], idle: list[int], threads: int | None, clock: _Clock) -> Walked:
    """Features that move no neuron are counted by arithmetic:
    as many ways as what is left of the budget allows them.
    """
    if space.budget is None:
        walked = count_walk(space.only(live, None), threads, clock.stop, clock.step)
        times = space.count(idle)
        return Walked(
            walked.order,
            tuple((what, tuple(times * many for many in row)) for what, row in walked.parts),
            walked.is_whole,
        )
    rows = [space.weights[space.features.index(f)].tolist() for f in idle]
    used = ways(rows, space.budget)
    upto = [sum(many for weight, many in used.items() if weight <= left) for left in range(space.budget + 1)]
    found: dict[Any, list[int]] = {}
    before: dict[Any, tuple[int, ...]] = {}
    whole, order = True, tuple[int, ...]()
    for level in range(space.budget + 1):
        walked = count_walk(space.only(live, level), threads, clock.stop, clock.step, groups=0)
        whole, order = whole and walked.is_whole, walked.order
        for what, row in ((None if what is None else tuple(what), row) for what, row in walked.parts):
            exactly = [
                max(0, many - old) for many, old in zip(row, before.get(what, (0,) * len(row)), strict=True)
            ]
            total = found.setdefault(what, [0] * len(row))
            found[what] = [a + upto[space.budget - level] * b for a, b in zip(total, exactly, strict=True)]
            before[what] = row
        if not whole:
            break
    parts: tuple[Part, ...] = tuple(
        (None if what is None else list(what), tuple(row)) for what, row in found.items()
    )
    return Walked(order, parts, whole)
