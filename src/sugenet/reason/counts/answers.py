"""Answers to `count`: exact counts, incomplete counts, and estimates from random inputs.

Each prints as a table and is written to JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sugenet.errors import QuestionError
from sugenet.nn import Network
from sugenet.problem.neighbourhood import row_of
from sugenet.reason.envelope import Recorded, Source, is_outcome
from sugenet.reason.phrases import percent_text
from sugenet.reason.questions import Count, class_of, described_within

__all__ = ["METHODS", "CountOpen", "CountSampled", "Counted"]

METHODS = {
    "constant": "a closed form (no neuron can turn)",
    "sums": "merging equal sums",
    "walk": "a walk over all of them",
}


def _table(network: Network, rows: list[tuple[int, str]]) -> str:
    names = [network.class_texts[k] for k, _ in rows]
    return "\n".join(
        f"  {name:<{max(map(len, names))}}  {text}" for name, (_, text) in zip(names, rows, strict=True)
    )


@dataclass(frozen=True, eq=False)
class _Count(Recorded):
    """Base class of answers about the inputs of a region."""

    is_counted = is_outcome("counted")
    is_estimated = is_outcome("estimated")
    is_undecided = is_outcome("undecided")
    is_certified: ClassVar[bool] = False
    """Whether there is a certificate that can be checked by counting again."""

    network: Network
    question: Count
    region: str
    """Description of the region."""

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """Return the region."""
        return {"region": described_within(network, question.describe(network))}

    def by_class(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return values by class name.

        Parameters
        ----------
        values : list
            One value per class, in the order of the classes.

        Returns
        -------
        dict
            Value by class name.
        """
        return dict(zip(self.network.classes, values, strict=True))


@dataclass(frozen=True, eq=False)
class Counted(_Count):
    """How many inputs of each class there are, exactly: the outcome ``"counted"`` of `count`.

    An input is a combination of legal states of the features, each state once.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import count
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> count(net, [1, 1, 1], "L0(1)").robustness
    Fraction(1, 2)

    See Also
    --------
    count : gives this answer.
    check : verifies its certificate.
    """

    is_certified: ClassVar[bool] = True
    json: ClassVar[Mapping[str, Source]] = {
        "region": "region",
        "counts": lambda answer: answer.by_class(answer.counts),
        "total": "total",
        "label": "label",
        "index": "index",
        "robustness": lambda answer: None if answer.index is None else answer.robustness,
        "method": "method",
        "seconds": "seconds",
    }
    outcome: ClassVar[str] = "counted"

    counts: tuple[int, ...]
    method: str
    seconds: float
    certificate: dict[str, Any]

    @property
    def label(self) -> str | None:
        """Name of the class of the sample; None if there is no sample."""
        return None if self.index is None else self.network.classes[self.index]

    @cached_property
    def index(self) -> int | None:
        """Number of the class `label`, from 0."""
        sample = self.question.values(self.network)
        return None if sample is None else int(self.network.predict(row_of(sample))[0])

    @property
    def total(self) -> int:
        """Number of inputs in all."""
        return sum(self.counts)

    def share(self, label: Any) -> Fraction:
        """Return the share of a class, given by name or index.

        Parameters
        ----------
        label : str or int
            Name or index of the class.

        Returns
        -------
        Fraction
            Share of the counted inputs, from 0 to 1.
        """
        return Fraction(self.counts[class_of(self.network, label)], self.total)

    @property
    def robustness(self) -> Fraction:
        """Return the share of the sample's own class."""
        if self.index is None:
            raise QuestionError(
                "there is no sample whose class could stay the same: count around one, "
                "count(network, x, region)."
            )
        return Fraction(self.counts[self.index], self.total)

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the counts of the certificate, and the region."""
        kept = data["certificate"]
        counts = tuple(kept["counts"][: network.head.outputs])
        return {**super().known(network, question, data), "counts": counts, "method": kept["method"]}

    def __str__(self) -> str:
        some = sorted((-count, k) for k, count in enumerate(self.counts) if count)
        shown = [f"{-negative:,}" for negative, _ in some]
        shares = [self._percent(-negative) for negative, _ in some]
        width = max(map(len, shares), default=0)
        rows = [
            (k, f"{text:>{len(shown[0])}}  {share:>{width}}")
            for (_, k), text, share in zip(some, shown, shares, strict=True)
        ]
        index, names = self.index, self.network.class_texts
        stays = "" if index is None else f"; {self._percent(self.counts[index])} keep class {names[index]}"
        first = (
            f"{self.total:,} inputs ({self.region}), each legal state of a feature once{stays}; exact, "
            f"by {METHODS[self.method]}"
        )
        return f"{first}\n{_table(self.network, rows)}"

    def _percent(self, count: int) -> str:
        return percent_text(Fraction(count, max(self.total, 1)))


@dataclass(frozen=True, eq=False)
class CountOpen(_Count):
    """Not all inputs could be counted: the outcome ``"undecided"`` of `count`.

    `lower` and `upper` bound the number of inputs of each class; `total` is the number of all inputs.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import count
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> count(net, time_limit=0, method="walk").outcome
    'undecided'

    See Also
    --------
    count : gives this answer.
    check : verifies its certificate.
    """

    json: ClassVar[Mapping[str, Source]] = {
        "region": "region",
        "lower": lambda answer: answer.by_class(answer.lower),
        "upper": lambda answer: answer.by_class(answer.upper),
        "total": "total",
        "reason": "reason",
        "seconds": "seconds",
    }
    outcome: ClassVar[str] = "undecided"
    certificate: ClassVar[None] = None

    lower: tuple[int, ...]
    total: int
    reason: str
    seconds: float

    @property
    def upper(self) -> tuple[int, ...]:
        """Upper bound on the number of inputs of each class."""
        return tuple(count + self.total - sum(self.lower) for count in self.lower)

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the partial counts of each class, and the region."""
        lower = tuple(data["lower"][name] for name in network.classes)
        return {**super().known(network, question, data), "lower": lower}

    def __str__(self) -> str:
        order = sorted(range(len(self.lower)), key=lambda k: (-self.lower[k], k))
        rows = [(k, f"at least {self.lower[k]:,}") for k in order if self.lower[k]]
        # it was stopped, or is too large
        more = "Allow more time, or estimate" if " after " in self.reason else "Estimate"
        total = f"{'at most ' if self.network.domain.laws else ''}{self.total:,}"  # the rest may break laws
        first = (
            f"{total} inputs ({self.region}), {sum(self.lower):,} of them counted: {self.reason}. "
            f"{more} with method='sample'"
        )
        return "\n".join([first, *([_table(self.network, rows)] if rows else [])])


@dataclass(frozen=True, eq=False)
class CountSampled(_Count):
    """Estimated shares of the classes, from random inputs: the outcome ``"estimated"`` of `count`.

    Only the total is exact. The Clopper-Pearson interval of a class contains its true share, except in at
    most ``1 - confidence`` of all draws.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import count
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> count(net, method="sample", samples=100).outcome
    'estimated'

    See Also
    --------
    count : gives this answer.
    check : verifies its certificate.
    """

    json: ClassVar[Mapping[str, Source]] = {
        "region": "region",
        "hits": lambda answer: answer.by_class(answer.hits),
        "intervals": lambda answer: answer.by_class(list(map(list, answer.intervals))),
        "confidence": "confidence",
        "samples": "samples",
        "total": "total",
        "seed": "seed",
        "seconds": "seconds",
        "drawn": lambda answer: answer.drawn if answer.network.domain.laws else ...,
    }
    outcome: ClassVar[str] = "estimated"
    certificate: ClassVar[None] = None

    hits: tuple[int, ...]
    intervals: tuple[tuple[float, float], ...]
    """Lower and upper bound on the share of each class."""
    confidence: float
    total: int | None
    """Number of all inputs; None if it is not known how many obey the laws."""
    seed: int
    seconds: float
    drawn: int
    """Number of inputs drawn, including those that break a law."""

    @property
    def samples(self) -> int:
        """Number of drawn inputs that obey the laws."""
        return sum(self.hits)

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the drawn counts of each class, and the region."""
        hits = tuple(data["hits"][name] for name in network.classes)
        ends = tuple((low, high) for low, high in (data["intervals"][name] for name in network.classes))
        sampled = data["drawn"] if network.domain.laws else sum(hits)
        return {**super().known(network, question, data), "hits": hits, "intervals": ends, "drawn": sampled}

    def __str__(self) -> str:
        order = sorted(range(len(self.hits)), key=lambda k: (-self.hits[k], k))
        rows = [
            (k, f"{self.intervals[k][0]:.2%} to {self.intervals[k][1]:.2%}") for k in order if self.hits[k]
        ]
        first = (
            f"inputs ({self.region}); estimated from {self.samples:,} of them, in {self.drawn:,} drawn"
            if self.total is None
            else f"{self.total:,} inputs ({self.region}); estimated from {self.samples:,} of them"
        )
        return (
            f"{first}, Clopper-Pearson intervals at {self.confidence:g} for each class\n"
            f"{_table(self.network, rows)}"
        )
