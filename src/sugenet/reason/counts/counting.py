"""Exact number of inputs of each class in a region: `count`, and its stopping rules.

`count` counts combinations of legal states of the features. Each state of a feature counts once, however many
raw values it stands for.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Real
from os import cpu_count
from threading import Timer, current_thread, main_thread
from typing import Any, TypeAlias, TypeVar
from warnings import warn

import numpy as np

from sugenet.compiling import notify_compiling
from sugenet.errors import QuestionError, TooLargeError, refuse
from sugenet.fields import FIELDS
from sugenet.nn import Network, network_of
from sugenet.problem import Box, Clock, Neighbourhood, Region, see_time, sets_within
from sugenet.reason.counts.answers import Counted, CountOpen, CountSampled
from sugenet.reason.counts.points import MOST_POINTS, count_points, interval, is_for_points, sample_classes
from sugenet.reason.counts.space import Space, combinations_within, ways
from sugenet.reason.counts.sums import count_sums
from sugenet.reason.counts.walk import Part, Partition, count_walk, scores_of
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import Count, described_within
from sugenet.reprs import quoted

__all__ = [
    "Alarm",
    "Where",
    "count",
]

_Found = TypeVar("_Found")


class Alarm:
    """Clock that compiled code can read, as a byte."""

    def __init__(self, clock: Clock, total: int) -> None:
        self.clock, self.total, self.told = clock, total, clock.seconds
        self.stop = np.zeros(1, np.uint8)
        """Byte that is set when it is time to stop."""
        self.is_interrupted = False

    def _ring(self) -> None:
        self.stop[0] = 1

    def is_up(self) -> bool:
        """Return whether the time is up."""
        return bool(self.stop[0])

    def step(self, share: float) -> None:
        """Report the share that is counted, at most once per second."""
        if self.clock.seconds - self.told > 1:
            self.told = self.clock.seconds
            self.clock.tell(f"counted {share:.0%} of {self.total:,}")

    def announce(self, combinations: int) -> None:
        """Announce the expected time of an enumeration before it starts; as a warning if there is no
        `notify`.
        """
        seconds = combinations * _EACH / (self.clock.threads or cpu_count() or 1)
        text = (
            f"counting enumerates {combinations:,} combinations, which takes about {_time_text(seconds)}. "
            f"Stop it with Ctrl-C or time_limit=, or estimate the shares with method='sample'."
        )
        if self.clock.notify is None:
            warn(text, stacklevel=2)
        else:
            self.clock.tell(text)

    @contextmanager
    def _set(self) -> Iterator[None]:
        timers: list[Timer] = []

        def look() -> None:
            left = self.clock.left()
            if left == 0:
                self._ring()
            elif left is not None and not done:  # set again if something was compiled in between
                timers[:] = [Timer(left, look)]
                timers[0].daemon = True
                timers[0].start()

        done: list[bool] = []
        look()
        try:
            yield
        finally:
            done.append(True)
            for timer in timers:
                timer.cancel()

    def run(self, work: Callable[[], _Found]) -> _Found:
        """Run work in a second thread, so that the main thread receives Ctrl-C while compiled code runs.

        Return the results found until the alarm.
        """
        with self._set():
            if current_thread() is not main_thread():
                return work()
            with ThreadPoolExecutor(1) as pool:
                future = pool.submit(work)
                try:
                    return future.result()
                except KeyboardInterrupt:
                    self.is_interrupted = True
                    self._ring()
                    return future.result()


def _time_text(seconds: float) -> str:
    """Return an approximate duration in the largest unit that fits."""
    for size, unit in ((31_557_600, "years"), (86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} seconds"


Where: TypeAlias = Mapping[Any, Any] | Box
"""Limits as in `Box`."""

_FEW = 1 << 22  # combinations that a walk enumerates at once
_MANY = 1 << 36  # combinations that a walk enumerates in minutes
_EACH = 1.5e-8
"""Approximate seconds per combination of a walk on one core."""
_FIRST, _MOST = 1 << 16, 1 << 22  # number of different sums: before a long walk, and instead of one
_LEVELS = 64
_SAMPLES = 10_000


def count(
    network: Network,
    x: Any = None,
    region: Region | None = None,
    *,
    where: Where | None = None,
    within: Any = None,
    method: str = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    samples: int | None = None,
    confidence: float = 0.99,
    notify: Callable[[str], None] | None = None,
) -> Counted | CountOpen | CountSampled:
    """Count the inputs of each class around a sample, within limits, or in the whole domain.

    Combinations of legal states of the features are counted, each state once, however many raw values it
    stands for.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    x : array, list or mapping, default: None
        One raw sample, with a region around it.
    region : region or str, default: None
        Region around the sample.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.
    within : str, list of str or Domain, default: None
        Ask only about inputs that can occur: ``"data"`` for the range of the training data, ``"any"`` for
        any values, laws as text, or a `Domain`, as in `Network.within`. None: the domain of the network.
    method : {"auto", "walk", "sums", "sample"}, default: "auto"
        ``"walk"`` enumerates all combinations, ``"sums"`` merges equal sums feature by feature, and
        ``"sample"`` only estimates.
    time_limit : float, default: None
        Seconds after which the counts so far are given as `CountOpen`. Without a limit, a huge enumeration
        says what it would take before it starts: to `notify`, or as a warning.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    samples : int, default: None
        How many inputs ``"sample"`` draws. None: 10,000.
    confidence : float, default: 0.99
        Confidence of the interval of each class, for ``"sample"``.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    Counted, CountOpen or CountSampled
        Its `outcome` is ``"counted"``, ``"undecided"`` or ``"estimated"``.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.
    TooLargeError
        If costs are too finely divided to count.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.problem.regions import Hamming
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1, 1]], [3])], Head([[-1], [1]]))
    >>> answer = count(net, [1, 1, 1, 1], Hamming(2))
    >>> answer.counts, answer.robustness
    ((6, 5), Fraction(5, 11))

    See Also
    --------
    verify : whether there is any input of another class.
    """
    _see_settings(method, samples, confidence)
    clock = Clock(time_limit, threads, seed, notify)
    network = network_of(network).within(within)
    question = Count(x, region, where)
    near = _asked(network, question)
    about = network, question, described_within(network, question.describe(network))
    try:
        space = _space(near, method, clock)
    except TooLargeError as error:
        if method == "sample" or not network.has_levels:
            raise
        none, reason = (0,) * network.head.outputs, str(error).rstrip(".")
        return CountOpen(*about, none, combinations_within(near), reason, clock.seconds)
    total = combinations_within(near) if space is None else space.total
    if space is not None and method == "sample":
        n_samples = _SAMPLES if samples is None else samples
        hits = sample_classes(space, n_samples, seed)[: network.head.outputs]
        obeying = sum(hits)  # among those that obey the laws, all are equally likely
        if not obeying:
            raise QuestionError("none of the inputs drawn obeys the laws. Draw more of them: samples=.")
        ends = tuple(interval(n_hits, obeying, confidence) for n_hits in hits)
        known = None if network.domain.laws else total
        return CountSampled(*about, hits, ends, confidence, known, seed, clock.seconds, n_samples)
    alarm = Alarm(clock, total)
    with notify_compiling(notify):
        used, partition = alarm.run(lambda: _counted(near, space, method, alarm))
    return _answer(about, near, alarm, used, partition)


def _see_settings(method: str, samples: int | None, confidence: float) -> None:
    """Check the settings of a count."""
    is_number = isinstance(samples, int) and not isinstance(samples, bool) and samples >= 1
    is_share = isinstance(confidence, Real) and not isinstance(confidence, bool) and 0 < confidence < 1
    refuse(
        QuestionError,
        (
            method not in FIELDS["method"].choices,
            f"method={quoted(method)} is unknown. Use auto, walk, sums or sample.",
        ),
        (
            samples is not None and method != "sample",
            f'samples={quoted(samples)} is for method="sample", and method is {quoted(method)}.',
        ),
        (
            samples is not None and not is_number,
            f"samples={quoted(samples)} must be an integer, at least 1.",
        ),
        (not is_share, f"confidence={quoted(confidence)} must be between 0 and 1."),
    )


def _answer(
    about: tuple[Network, Count, str], near: Neighbourhood, alarm: Alarm, used: str, partition: Partition
) -> Counted | CountOpen:
    """Return the counts as an answer, which is exact if nothing is left."""
    network, question, _ = about
    counts = [sum(row[k] for _, row in partition.parts) for k in range(near.network.head.outputs)]
    obeying, total, seconds = tuple(counts[: network.head.outputs]), alarm.total, alarm.clock.seconds
    if not partition.is_whole:
        reason = "too many to enumerate, and too many different sums"
        if alarm.is_up():
            reason = f"{'interrupted' if alarm.is_interrupted else 'stopped'} after {seconds:.1f} s"
        return CountOpen(*about, obeying, total - sum(counts) + sum(obeying), reason, seconds)
    assert sum(counts) == total, f"{sum(counts)} counted of {total}: a bug in sugenet, please report it"
    if not any(obeying):
        raise QuestionError("no input counted obeys the laws, so there is nothing to ask about.")
    parts = [[what, list(row)] for what, row in partition.parts]
    certificate = envelope(
        network,
        question,
        answer="counted",
        counts=counts,
        total=total,
        method=used,
        proof={"kind": "partition", "order": list(partition.order), "parts": parts},
    )
    return Counted(*about, obeying, used, seconds, certificate)


# -- the question --------------------------------------------------------------------------------------------


def _asked(network: Network, question: Count) -> Neighbourhood:
    """Return the question about the region."""
    near = question.near(network)
    if near.budget is not None and near.only(lambda move: move.weight * near.unit == move.price) is not near:
        raise TooLargeError(
            "the costs are too finely divided to count exactly: as integers they exceed 60 bits."
        )
    return near


def _space(near: Neighbourhood, method: str, clock: Clock) -> Space | None:
    """Return the region as a whole; None if its inputs are few and the network or its numbers are too large
    for it.
    """
    sets = sets_within(near)
    one_by_one = method in ("auto", "walk") and sets <= MOST_POINTS
    if one_by_one and is_for_points(near, sets):
        return None
    try:
        see_time(near, clock)
        space = Space.of(near)
        scores_of(space.tail)
        return space
    except TooLargeError:
        if one_by_one:
            return None
        raise


# -- the methods ---------------------------------------------------------------------------------------------


def _counted(near: Neighbourhood, space: Space | None, method: str, alarm: Alarm) -> tuple[str, Partition]:
    """Choose a method and count."""
    threads = alarm.clock.threads
    if space is None:
        return "walk", count_points(near, threads, alarm.is_up, lambda done: alarm.step(done / alarm.total))
    live = [f for f, rows in zip(space.features, space.gains, strict=True) if rows.any()]
    idle = [f for f in space.features if f not in set(live)]
    if not live:
        label = int(space.tail.labels(space.start[None] >= 0)[0])
        counts = tuple(space.total * (k == label) for k in range(space.near.network.head.outputs))
        return "constant", Partition((), (([], counts),), True)
    few = space.budget is None or space.budget <= _LEVELS
    part = space.only(live, space.budget) if few else space
    if method == "sums" or (method == "auto" and part.total > _FEW):
        partition = count_sums(space, _MOST if method == "sums" else _FIRST, alarm.is_up)
        if partition is None and method == "auto" and part.total > _MANY:
            partition = count_sums(space, _MOST, alarm.is_up)
        if partition is not None or method == "sums":
            return "sums", partition or Partition((), (), False)
    if part.total >= 1 << 60:
        return "walk", Partition((), (), False)
    if part.total > _MANY and alarm.clock.left() is None:
        alarm.announce(part.total)
    if not idle or not few:
        return "walk", count_walk(space, threads, alarm.stop, alarm.step)
    return "walk", _with_idle(space, live, idle, alarm)


def _with_idle(space: Space, live: list[int], idle: list[int], alarm: Alarm) -> Partition:
    """Count features that move no neuron by arithmetic: the number of ways that the remaining budget
    allows.
    """
    threads = alarm.clock.threads
    if space.budget is None:
        walked = count_walk(space.only(live, None), threads, alarm.stop, alarm.step)
        times = space.count(idle)
        return Partition(
            walked.order,
            tuple((what, tuple(times * n_sets for n_sets in row)) for what, row in walked.parts),
            walked.is_whole,
        )
    rows = [space.weights[space.features.index(f)].tolist() for f in idle]
    used = ways(rows, space.budget)
    upto = [
        sum(n_sets for weight, n_sets in used.items() if weight <= left) for left in range(space.budget + 1)
    ]
    totals: dict[Any, list[int]] = {}
    before: dict[Any, tuple[int, ...]] = {}
    is_complete, order = True, tuple[int, ...]()
    for level in range(space.budget + 1):
        walked = count_walk(space.only(live, level), threads, alarm.stop, alarm.step, groups=0)
        is_complete, order = is_complete and walked.is_whole, walked.order
        for what, row in ((None if what is None else tuple(what), row) for what, row in walked.parts):
            exactly = [
                max(0, n_sets - old)
                for n_sets, old in zip(row, before.get(what, (0,) * len(row)), strict=True)
            ]
            total = totals.setdefault(what, [0] * len(row))
            totals[what] = [a + upto[space.budget - level] * b for a, b in zip(total, exactly, strict=True)]
            before[what] = row
        if not is_complete:
            break
    parts: tuple[Part, ...] = tuple(
        (None if what is None else list(what), tuple(row)) for what, row in totals.items()
    )
    return Partition(order, parts, is_complete)
