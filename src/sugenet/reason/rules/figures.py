"""How far a rule about a network reaches, and how often it is right there: `coverage`, exactly.

As in `count`, inputs are combinations of legal states of the features, each state once; a rule covers a state
when some raw value of it meets the rule's conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from sugenet.bnn import Network
from sugenet.brief import Brief
from sugenet.errors import QuestionError, TooLargeError
from sugenet.problem.regions import Region
from sugenet.reason.counts.answers import Counted, CountOpen
from sugenet.reason.counts.counting import count
from sugenet.reason.counts.space import combinations_within
from sugenet.reason.questions import HowMany
from sugenet.reason.rules.rule import NetworkRule

__all__ = ["RuleFigures", "coverage"]


@dataclass(frozen=True, eq=False)
class RuleFigures(Brief):
    """How many inputs a rule covers, and how many of them have its class;
    bounds where not all could be counted.
    """

    rule: NetworkRule
    total: int
    """Inputs in all; 0 where it is not known how many of them obey the laws, and nothing here is known."""
    covered: int
    """Inputs that meet the rule's conditions."""
    right: int
    """Of these, at least so many have its class; exactly so many when `is_exact`."""
    right_at_most: int
    certificate: dict[str, Any] | None
    """Of the count of the covered inputs."""

    @property
    def is_exact(self) -> bool:
        """Whether everything was counted."""
        return self.right == self.right_at_most

    @property
    def coverage(self) -> Fraction:
        """Share of the inputs that the rule covers."""
        if not self.total:
            raise QuestionError("not all inputs that obey the laws were counted, so coverage is not known.")
        return Fraction(self.covered, self.total)

    @property
    def precision(self) -> Fraction:
        """Share of the covered inputs that have the rule's class."""
        low, high = self.precision_bounds
        if low != high:
            raise QuestionError(
                f"not all inputs were counted; the precision is between {low} and {high}: "
                f"see precision_bounds."
            )
        return low

    @property
    def precision_bounds(self) -> tuple[Fraction, Fraction]:
        """The precision is not smaller and not larger than these."""
        if not self.covered:
            raise QuestionError("the rule covers nothing, so there is no precision.")
        return Fraction(self.right, self.covered), Fraction(self.right_at_most, self.covered)

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        bounds = [str(end) for end in self.precision_bounds] if self.covered else None
        figures = {"total": self.total, "covered": self.covered, "right": [self.right, self.right_at_most]}
        return {
            "rule": str(self.rule),
            **figures,
            "coverage": str(self.coverage) if self.total else None,
            "precision": bounds,
            "certificate": self.certificate,
        }

    @classmethod
    def of(cls, rule: NetworkRule, data: Mapping[str, Any]) -> Self:
        """The figures from their JSON data."""
        least, most = data["right"]
        return cls(rule, data["total"], data["covered"], least, most, data["certificate"])

    def __str__(self) -> str:
        if not self.total:
            return f"{self.rule}: covers an unknown part of all inputs"
        text = f"{self.rule}: covers {self.covered:,} of {self.total:,} inputs ({float(self.coverage):.4g})"
        if not self.covered:
            return text
        if self.is_exact:
            return f"{text}, right for {self.right:,} of them ({float(self.precision):.4g})"
        return f"{text}, right for {self.right:,} to {self.right_at_most:,} of them"


def coverage(
    network: Network,
    rule: NetworkRule,
    x: Any = None,
    region: Region | None = None,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    notify: Callable[[str], None] | None = None,
) -> RuleFigures:
    """Coverage and precision of a rule, over the whole domain or a region around a sample.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> from sugenet.reason.rules.rule import parse_rule
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]))
    >>> figures = coverage(net, parse_rule(net, "x1 = 1 -> 1"))
    >>> figures.coverage, figures.precision
    (Fraction(1, 2), Fraction(3, 4))
    """
    if rule.network.fingerprint != network.fingerprint:
        raise QuestionError("the rule is about another network.")
    if (x is None) != (region is None):
        raise QuestionError("give a sample and a region around it, or neither.")
    total = combinations_within(HowMany(x, region).near(network))
    if network.domain.laws:  # of those that obey them
        everything = count(network, x, region, time_limit=time_limit, threads=threads, notify=notify)
        if not isinstance(everything, Counted):
            return RuleFigures(rule, 0, 0, 0, 0, None)
        total = everything.total
    try:
        answer = count(
            network, x, region, where=rule.box, time_limit=time_limit, threads=threads, notify=notify
        )
    except QuestionError:  # the rule covers nothing there
        return RuleFigures(rule, total, 0, 0, 0, None)
    except TooLargeError:  # what it covers is known all the same, unless some of it breaks laws
        if network.domain.laws:
            return RuleFigures(rule, 0, 0, 0, 0, None)
        covered = combinations_within(HowMany(x, region, rule.box).near(network))
        return RuleFigures(rule, total, covered, 0, covered, None)
    if isinstance(answer, Counted):
        return RuleFigures(
            rule,
            total,
            answer.total,
            answer.counts[rule.label],
            answer.counts[rule.label],
            answer.certificate,
        )
    assert isinstance(answer, CountOpen)
    if network.domain.laws:
        return RuleFigures(rule, 0, 0, 0, 0, None)
    return RuleFigures(rule, total, answer.total, answer.lower[rule.label], answer.upper[rule.label], None)
