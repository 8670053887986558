"""Count the inputs of one part of a region by class.

To be ensured: every input of the part is counted once. Combinations are visited one by one (`walk`), and
every distinct pattern of the first layer is evaluated through the later layers. If there are too many,
features are added one after another, and equal sums are merged. In the plain form each input passes through
all layers separately. Very many inputs within a budget are counted in blocks (`words`). Every input belongs
to the part of the first feature, in order, that it changes.
"""
# mypy: disable-error-code="no-untyped-call,untyped-decorator,import-untyped"

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from sugenet.checker.accelerate.arrays import Arrays, Ints
from sugenet.checker.accelerate.integers import ArrayProblem, Demand
from sugenet.checker.accelerate.later import LaterLayers, cores
from sugenet.checker.accelerate.walk import SetWalk
from sugenet.checker.accelerate.words import SetsSeen, WordWalk
from sugenet.checker.limit import Limit
from sugenet.errors import CheckLimitError

__all__ = ["MANY", "CountPart", "CountRegion", "counted", "counted_in_words"]

MANY = 1 << 24
"""From this many inputs within a budget, they are counted in words."""
_FEW = 1 << 16  # up to this many combinations, nothing else is tried
_SUMS = 1 << 17  # largest number of distinct sums


@dataclass(frozen=True, eq=False)
class CountRegion:
    """The region of the question in integers, with features in order of their indices."""

    network: Arrays
    problem: ArrayProblem
    options: dict[int, list[tuple[int, Ints]]]
    """For each feature that can change, the weight and the gain of each option."""
    states: dict[int, list[int]]
    """The states of the options of each feature."""
    own: tuple[int, ...]
    """The states at the sample."""
    limit: Limit

    @cached_property
    def weights(self) -> dict[int, list[int]]:
        """The weights of the options of each feature."""
        return {feature: [weight for weight, _ in row] for feature, row in self.options.items()}

    @cached_property
    def later(self) -> LaterLayers:
        """The layers after the first."""
        return LaterLayers(self.problem.base >= 0, self.problem.later, self.problem.head)

    def tally(self, counts: Ints, multiplicities: Sequence[int]) -> list[int]:
        """Return inputs by class, from match counts of the classes with their multiplicities."""
        totals = [0] * len(self.network.head)
        for label, each in zip(self.network.classes(counts).tolist(), multiplicities, strict=True):
            totals[label] += int(each)
        return totals


@dataclass(frozen=True, eq=False)
class CountPart:
    """A part of a region: M - tau at the start, the features that may still change, and the
    remaining budget.
    """

    base: Ints
    rest: list[int]
    left: int | None
    size: int
    """Number of its inputs."""


def counted(region: CountRegion, parts: Sequence[list[CountPart]], *, visit: bool) -> list[list[int]]:
    """Return counts by class of parts of a region, each given by some roots."""
    threads = cores()
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda roots: _recount(region, roots, visit=visit, share=threads), parts))


def _recount(region: CountRegion, roots: list[CountPart], *, visit: bool, share: int) -> list[int]:
    counts = [0] * len(region.network.head)
    for root in roots:
        region.limit.look()
        if root.size == 0:
            continue
        part_counts = _by_sums(region, root, share) if root.size > _FEW else None
        if part_counts is None:
            if not visit:
                raise CheckLimitError(
                    f"{root.size:,} inputs of one part are too many to count again, and have too many "
                    "different sums."
                )
            part_counts = _by_visits(region, root)
        counts = [a + b for a, b in zip(counts, part_counts, strict=True)]
    return counts


def _by_sums(region: CountRegion, root: CountPart, share: int) -> list[int] | None:
    """Add features one after another and merge equal sums; return None if there are too many
    distinct sums.
    """
    rows, used, multiplicities = root.base[None].copy(), np.zeros(1, np.int64), [1]
    far = [np.abs([gain for _, gain in region.options[f]]).max(axis=0) for f in root.rest]
    after = sum(far, np.zeros(len(root.base), np.int64))
    for feature, max_gain in zip(root.rest, far, strict=True):
        after = after - max_gain
        region.limit.look()
        room = region.limit.room()
        if (
            room is not None
            and 48 * (len(root.base) + 4) * len(rows) * (len(region.options[feature]) + 1) > room // share
        ):
            return None
        grown, spent, times = [rows], [used], list(multiplicities)
        for weight, gain in region.options[feature]:
            fits = np.ones(len(rows), bool) if root.left is None else used + weight <= root.left
            grown.append(rows[fits] + gain)
            spent.append(used[fits] + (0 if root.left is None else weight))
            times += [value for value, good in zip(multiplicities, fits.tolist(), strict=True) if good]
        rows, used = np.clip(np.concatenate(grown), -1 - after, after), np.concatenate(spent)
        both, where = np.unique(np.column_stack([rows, used]), axis=0, return_inverse=True)
        multiplicities = [0] * len(both)
        for index, value in zip(where.reshape(-1).tolist(), times, strict=True):
            multiplicities[index] += value
        rows, used = both[:, :-1], both[:, -1]
        if len(rows) > _SUMS or 64 * len(rows) > root.size:
            return None
    return region.tally(region.later.counts(rows >= 0), multiplicities)


def _by_visits(region: CountRegion, root: CountPart) -> list[int]:
    """Visit every combination."""
    options = [region.options[feature] for feature in root.rest]
    sets = SetWalk(root.base, options, root.left, region.limit.part(), 1)
    words, counts = sets.words, [0] * len(region.network.head)
    patterns_left = np.zeros((1, words), np.uint64)  # the empty set
    for patterns, _ in sets.visits(0, 1, 0):
        region.limit.look()
        patterns_left = np.concatenate([patterns_left, patterns])
        keys = patterns_left[:, 0] if words == 1 else patterns_left.view(f"V{8 * words}").reshape(-1)
        patterns_left = patterns_left[:0]
        met, multiplicities = np.unique(keys, return_counts=True)
        rows = np.ascontiguousarray(met).view(np.uint64).reshape(len(met), words)
        more = region.tally(region.later.counts_of(root.base >= 0, rows, sets.loose), multiplicities.tolist())
        counts = [a + b for a, b in zip(counts, more, strict=True)]
    return counts


# -- very many inputs within a budget, by the first feature in order that changes ----------------------------


def counted_in_words(region: CountRegion, order: list[int], names: list[Any]) -> list[list[int]] | None:
    """Return counts by class of all parts, or None if the region or the network does not fit this form.

    The parts are those of the certificate, whose order was checked to contain the features of the region.
    """
    problem, network = region.problem, region.network
    idle = [feature for feature in region.options if feature not in set(order)]
    features = [*order, *idle]
    if problem.budget is None or not features or not len(problem.base) or None not in names:
        return None
    options = [region.options[feature] for feature in features]
    sample_class = int(network.classes(region.later.counts(problem.base[None] >= 0))[0])
    walk = WordWalk(
        problem.base,
        options,
        int(problem.budget),
        problem.layers,
        problem.head,
        _others(network, sample_class),
        region.limit,
    )
    if not walk.is_for():
        return None
    part_of = {feature: number for number, name in enumerate(names) if name is not None for feature in name}
    part_of |= dict.fromkeys(idle, names.index(None))
    owner = [part_of[feature] for feature, row in zip(features, options, strict=True) for _ in row]
    class_counts, lock = np.zeros((len(names), len(network.head)), np.int64), Lock()
    class_counts[names.index(None), sample_class] += 1  # nothing changes

    def use(first: int, seen: SetsSeen) -> None:
        some = len(seen.patterns) > 0
        classes = network.classes(walk.counts(seen.patterns)) if some else np.zeros(0, np.int64)
        with lock:
            np.add.at(class_counts[owner[first]], classes, seen.set_counts)
            class_counts[owner[first], sample_class] += seen.n_others

    walk.each(use)
    return [row.tolist() for row in class_counts]


def _others(network: Arrays, label: int) -> list[list[Demand]]:
    """Return, for each other class, the inequality that it wins against a class: a larger score, or an equal
    score and a lower index.
    """
    slopes, offsets = network.integers  # of the scores
    cases = []
    for rival in range(len(slopes)):
        if rival != label:
            factors = [0] * len(slopes)
            factors[rival], factors[label] = slopes[rival], -slopes[label]
            cases.append([(factors, offsets[label] - offsets[rival] + (rival > label))])
    return cases
