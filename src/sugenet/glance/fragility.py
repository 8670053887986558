"""Where a network is fragile: features that turn samples alone, pairs that turn them together, and radii."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.engines.walk.singles import violating_singles
from sugenet.nn import Network
from sugenet.plottable import Plottable
from sugenet.problem import L0, Clock
from sugenet.reason import Counterfactual, NoCounterfactual, Robust, WhatIf, each
from sugenet.reason.questions.problems import problems_of
from sugenet.sweeps import sweep

__all__ = ["Fragility", "Radius", "fragility_of"]

_SINGLES = 0.4
"""Share of the time for changes of one feature; the rest is for radii."""
_SECONDS = 5.0
"""Seconds for the radius of one sample."""


@dataclass(frozen=True, eq=False)
class Radius:
    """How many features must change to turn one sample."""

    sample: int
    """Number of the sample in its data set."""
    label: int
    lower: int
    """No fewer features turn it: proved."""
    found: int | None
    """This many do; None if no change was found, or none exists."""
    features: tuple[int, ...] = ()
    """Features that turn it together."""
    after: tuple[Any, ...] | None = None
    """The changed sample, if one was found."""
    never: bool = False
    """Whether nothing turns it: proved."""
    answer: Any = None

    @property
    def is_exact(self) -> bool:
        """Whether the radius is known."""
        return self.never or self.found == self.lower

    def __str__(self) -> str:
        if self.never:
            return "never turns"
        if self.is_exact:
            return f"{self.found}"
        return f"at least {self.lower}" + ("" if self.found is None else f", at most {self.found}")

    def data(self) -> dict[str, Any]:
        """Return the radius as JSON data."""
        return {
            "sample": self.sample,
            "at least": None if self.never else self.lower,
            "at most": self.found,
            "features": list(self.features),
            "never": self.never,
        }


@dataclass(frozen=True, eq=False)
class Fragility(Plottable):
    """Changes that turn given samples."""

    network: Network
    X: Any
    """The samples that were asked about, one row each."""
    numbers: tuple[int, ...]
    """Their numbers in the data set."""
    labels: tuple[int, ...]
    """Their predicted classes, by index."""
    of: int
    """Number of samples that were given."""
    turned: npt.NDArray[np.bool_]
    """Whether some other value of a feature alone turns a sample: one row per sample, one column per feature.
    """
    radii: tuple[Radius, ...]

    def share(self, feature: int, label: int | None = None) -> Fraction | None:
        """Return the share of samples, of one predicted class or of all, that a feature alone turns."""
        rows = self.turned[:, feature]
        if label is not None:
            rows = rows[np.asarray(self.labels) == label]
        return Fraction(int(rows.sum()), len(rows)) if len(rows) else None

    @property
    def pairs(self) -> list[tuple[tuple[int, int], int]]:
        """Pairs of features found to turn samples that no single feature turns, most frequent first.

        One pair is found for each sample with radius 2; others may turn it, too.
        """
        exact = (one for one in self.radii if one.found == one.lower == 2)
        count = Counter((min(one.features), max(one.features)) for one in exact)
        return sorted(count.items(), key=lambda item: (-item[1], item[0]))

    @property
    def closest(self) -> list[Radius]:
        """Samples with a known radius, closest to a change first."""
        known = [one for one in self.radii if one.found is not None and one.is_exact]
        return sorted(known, key=lambda one: (one.found, one.sample))

    @property
    def most_robust(self) -> list[Radius]:
        """Samples by their proved lower bound, largest first."""
        return sorted(self.radii, key=lambda one: (not one.never, -one.lower, one.sample))

    def __str__(self) -> str:
        n = len(self.turned)
        among = "" if n == self.of else f", of {self.of:,} given,"
        alone = int(self.turned.any(axis=1).sum())
        names = self.network.encoder.feature_text
        order = sorted(range(len(names)), key=lambda f: -int(self.turned[:, f].sum()))
        lines = [f"{alone:,} of {n:,} samples{among} turn if one feature changes"]
        lines += [
            f"  {names[f]}: turns {_samples(int(self.turned[:, f].sum()))} alone"
            for f in order[:5]
            if self.turned[:, f].any()
        ]
        lines += [
            f"  {names[f]} and {names[g]}: turn {_samples(count)} together that no feature turns alone"
            for (f, g), count in self.pairs[:3]
        ]
        if self.radii:
            exact = [one for one in self.radii if one.is_exact]
            far = self.most_robust[0]
            lines.append(
                f"radius known for {len(exact):,} of {len(self.radii):,}; largest: sample {far.sample}, {far}"
            )
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        network = self.network
        return {
            "samples": list(self.numbers),
            "of": self.of,
            "alone": {
                network.encoder.names[f]: {
                    "share": _text(self.share(f)),
                    "by class": {name: _text(self.share(f, k)) for k, name in enumerate(network.classes)},
                }
                for f in range(network.encoder.features)
            }
            if len(self.turned)
            else {},
            "pairs": [[*pair, count] for pair, count in self.pairs],
            "radii": [one.data() for one in self.radii],
        }


def _samples(count: int) -> str:
    return f"{count:,} {'sample' if count == 1 else 'samples'}"


def _text(share: Fraction | None) -> str | None:
    return None if share is None else str(share)


def fragility_of(
    network: Network, X: Any, numbers: Sequence[int], of: int, clock: Clock, jobs: int | None = 1
) -> Fragility:
    """Return which changes turn samples, in their order, as far as the time goes.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(fragility_of(net, [[1, 1, 1], [1, 1, -1]], [0, 1], 2, Clock()))
    1 of 2 samples turn if one feature changes
      x1: turns 1 sample alone
      x2: turns 1 sample alone
      x1 and x2: turn 1 sample together that no feature turns alone
    radius known for 2 of 2; largest: sample 1, 2
    """
    rows = np.asarray(network.encoder.rows(X))
    labels = network.predict(rows).tolist()
    search = clock.share(_SINGLES)
    turned: list[npt.NDArray[np.bool_]] = []
    first: list[Radius | None] = []
    for row in rows:
        search.tell(f"changes of one feature: {len(turned):,} of {len(rows):,} samples")
        (problem,), _ = problems_of(network, Robust(row, L0(1)))
        alone, one = np.zeros(network.encoder.features, bool), None
        for move in violating_singles(problem, search):
            alone[move.feature] = True
            one = one or move
        if search.up():  # the last sample may lack some
            break
        k = len(turned)
        after = None if one is None else problem.near.moved([one])
        first.append(one and Radius(numbers[k], labels[k], 1, 1, (one.feature,), after))
        turned.append(alone)
    table = np.array(turned, bool).reshape(len(turned), network.encoder.features)
    count = len(table)
    radii = _radii(network, rows[:count], numbers[:count], labels, first, clock, jobs)
    return Fragility(
        network, rows[:count], tuple(numbers[:count]), tuple(labels[:count]), of, table, tuple(radii)
    )


def _radii(
    network: Network,
    rows: Any,
    numbers: Sequence[int],
    labels: Sequence[int],
    first: list[Radius | None],
    clock: Clock,
    jobs: int | None,
) -> list[Radius]:
    """Return the radius of each sample: 1 if a feature alone turns it, else from a sweep."""
    others = [k for k, one in enumerate(first) if one is None]
    answers: dict[int, Any] = {}
    if others and not clock.up():
        with sweep(
            network,
            rows[others],
            WhatIf(each),
            jobs=jobs,
            time_limit=_SECONDS,
            total_time=clock.left(),
            seed=clock.seed,
            notify=clock.notify,
        ) as results:
            answers = {row.sample: results.answer(row.sample) for row in results.rows()}
    others_of = iter([_radius(network, numbers[k], labels[k], answers.get(i)) for i, k in enumerate(others)])
    return [next(others_of) if one is None else one for one in first]


def _radius(network: Network, sample: int, label: int, answer: Any) -> Radius:
    if isinstance(answer, NoCounterfactual):
        return Radius(sample, label, network.encoder.features + 1, None, never=True, answer=answer)
    if answer is None:
        return Radius(sample, label, 2, None)
    lower = max(2, -(-answer.lower.numerator // answer.lower.denominator))  # one feature does not turn it
    if not isinstance(answer, Counterfactual):
        return Radius(sample, label, lower, None, answer=answer)
    features = tuple(network.encoder.names.index(name) for name in answer.changes())
    return Radius(sample, label, lower, int(answer.cost), features, answer.changed, answer=answer)
