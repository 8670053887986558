"""Answers to `whatif`: a changed sample, a proof that there is none, or partial results.

Each prints as a sentence and is written to JSON and read back with its certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from sugenet.checker.form import exact
from sugenet.errors import CertificateError
from sugenet.nn import Network
from sugenet.problem import LabelGoal, row_of
from sugenet.reason.envelope import (
    Certified,
    Settled,
    Source,
    changes_between,
    changes_data,
    conditions_of,
    is_outcome,
    opened,
)
from sugenet.reason.phrases import LISTED, advice, changes_listed, show_cost
from sugenet.reason.questions import WhatIf, described_within, raw_of
from sugenet.reason.shown import raw_cost, short_witness, tie_text, winners

__all__ = ["Answer", "Counterfactual", "NoCounterfactual", "OpenCounterfactual"]


@dataclass(frozen=True, eq=False)
class _OfWhatIf(Certified):
    """Base class of the answers to `whatif`: attributes that follow from the question."""

    is_found = is_outcome("found")
    is_none = is_outcome("none")
    is_undecided = is_outcome("undecided")

    network: Network
    question: WhatIf

    @property
    def prop(self) -> LabelGoal:
        """The property that a counterfactual violates."""
        return self.question.label_goal(self.network)

    @property
    def claim(self) -> str:
        """The property in words."""
        return str(self.prop)

    @property
    def metric(self) -> str:
        """Cost function: ``L0``, ``L1``, ``L2``, ``Linf``, ``Hamming`` or ``Prices``."""
        return self.question.cost_name


@dataclass(frozen=True, eq=False)
class Counterfactual(_OfWhatIf, Settled):
    """A changed sample of another class: the outcome ``"found"`` of `whatif`.

    `cost` is exact, `metric` its kind, and `lower` a proved lower bound: equal to `cost` if the change
    `is_minimum`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import whatif
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> whatif(net, [1, 1, 1]).cost
    Fraction(1, 1)

    See Also
    --------
    whatif : gives this answer.
    check : verifies its certificate.
    """

    json: ClassVar[Mapping[str, Source]] = {
        **{name: name for name in ("claim", "metric", "cost", "lower", "is_minimum", "label", "index")},
        "changes": lambda answer: changes_data(answer.changes()),
        "conditions": "conditions",
        "engine": "engine",
        "sets": "sets",
        "all_listed": lambda answer: ... if answer.all_listed else False,
        "others": lambda answer: [other.data() for other in answer.others] or ...,
    }

    outcome: ClassVar[str] = "found"

    cost: Fraction
    """Exact cost; for L2 the sum of squares. `metric` names the cost function."""
    lower: Fraction
    """Proved lower bound on the cost of any counterfactual: equal to `cost` if it is a minimum.

    The certificate may prove less, if an engine gives no proof.
    """
    changed: tuple[Any, ...]
    """The changed sample, each value the nearest one that works."""
    engine: str
    certificate: dict[str, Any]
    others: tuple[Counterfactual, ...] = ()
    """Further counterfactuals, cheapest first, if several were requested."""
    all_listed: bool = True
    """False if several were requested, but time or the number of sets did not allow listing them."""
    interrupted: bool = field(default=False, repr=False, compare=False)
    """Whether the user interrupted the search; callers with several questions then stop."""
    sets: int | None = None

    @property
    def is_minimum(self) -> bool:
        """Whether no cheaper counterfactual exists."""
        return self.lower == self.cost

    @property
    def is_certified(self) -> bool:
        """Whether the certificate also proves `lower`."""
        return exact(self.certificate["lower"]) == self.lower

    @property
    def label(self) -> str:
        """Name of the class of the changed sample."""
        return self.network.classes[self.index]

    @property
    def index(self) -> int:
        """Index of the class `label`, from 0."""
        return int(self.network.predict(row_of(self.changed), engine="definition")[0])

    @cached_property
    def example(self) -> tuple[Any, ...]:
        """The changed sample in few digits for display, with the same class.

        For costs on raw values it may cost a little more than `changed`, the nearest one, to which the proof
        refers.
        """
        return short_witness(self.network, self.question, self.changed)

    @property
    def is_long(self) -> bool:
        """Whether the sentence leaves out some changes; `example` is complete."""
        return len(self.changes()) > LISTED

    def changes(self) -> dict[str, tuple[Any, Any]]:
        """Return the changes by feature: values before, and after as in `example`."""
        return changes_between(self.network, self.sample, self.example)

    @property
    def _example_cost(self) -> Fraction:
        """Cost of the displayed values, if raw values have a cost."""
        return raw_cost(self.network, self.question.cost, self.sample, self.example) or self.cost

    def conditions(self) -> dict[str, str]:
        """Return the condition on each changed value, as text; any value that satisfies it works as well."""
        return conditions_of(self.network, self.changes())

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """Return the fields from the certificate, and further counterfactuals with theirs."""
        certificate = data["certificate"]
        cost, lower = exact(certificate["value"]), exact(data["lower"])
        if not exact(certificate["lower"]) <= lower <= cost:
            raise CertificateError("the field 'lower' does not fit the certificate of the answer.")
        others = [cls.of(network, opened(one["certificate"], network), one) for one in data.get("others", ())]
        changed = raw_of(network, certificate["witness"])
        return {"cost": cost, "lower": lower, "changed": changed, "others": tuple(others)}

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        names, proved = self.network.class_texts, mark("proved")
        shown, lower = show_cost(self.metric, self.cost), show_cost(self.metric, self.lower, -1)
        proof = f"{proved} to be the least" if self.is_minimum else f"the least is at least {lower}"
        if not self.is_certified:
            proof = f"{'the least' if self.is_minimum else proof}, {self._uncertified}"
        elif not self.is_minimum and shown == show_cost(
            self.metric, self.lower
        ):  # such as float costs that were rounded for the walk
            of = " of the sum of squares" if self.metric == "L2" else ""
            proof = f"{proved} to be the least to within {_above(self.cost - self.lower)}{of}"
        best = winners(self.network, self.changed)
        after = names[best[0]]
        if best[0] == self.prop.label:  # only if a tie counts as a change
            after = tie_text([names[k] for k in best])
        text = (
            f"{names[self.prop.label]} becomes {after} with "
            f"{shown}, {proof}: {changes_listed(self.network, self.changes())}"
        )
        if self._example_cost != self.cost:
            as_shown = show_cost(self.metric, self._example_cost, 1)
            text += f" (with just these values: {as_shown})"
        missing = (
            []
            if self.all_listed
            else ["others were not listed: there are too many sets of changes, or the time was up"]
        )
        return "\n".join([text, *(other.said(mark) for other in self.others), *missing])


@dataclass(frozen=True, eq=False)
class NoCounterfactual(_OfWhatIf, Settled):
    """No allowed change alters the class: the outcome ``"none"`` of `whatif`.

    `max_cost` is the largest cost of the search; None: any cost.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import whatif
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> whatif(net, [1, 1, 1], max_cost=0).is_none
    True

    See Also
    --------
    whatif : gives this answer.
    check : verifies its certificate.
    """

    json: ClassVar[Mapping[str, Source]] = {
        name: name for name in ("claim", "metric", "max_cost", "engine", "sets")
    }
    outcome: ClassVar[str] = "none"
    interrupted: ClassVar[bool] = False

    engine: str
    certificate: dict[str, Any] | None
    sets: int | None = None

    @property
    def max_cost(self) -> Fraction | None:
        """Largest cost of the search; None: any cost."""
        return self.question.most

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        within = (
            "whatever is changed"
            if self.max_cost is None
            else f"with up to {show_cost(self.metric, self.max_cost)}"
        )
        if self.question.region or self.question.keep or self.metric == "Prices":
            within += " of what may change"
        within = described_within(self.network, within)
        how = mark("proved") if self.is_certified else f"holds, {self._uncertified}"
        return f"{self.prop}, {within}: {how}"


@dataclass(frozen=True, eq=False)
class OpenCounterfactual(_OfWhatIf):
    """Nothing was found, and only a lower bound is proved: the outcome ``"undecided"`` of `whatif`.

    `lower` is the bound, and `reason` says why the search ended.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import whatif
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> whatif(net, [1, 1, 1], engine="bounds", time_limit=0).outcome
    'undecided'

    See Also
    --------
    whatif : gives this answer.
    check : verifies its certificate.
    """

    json: ClassVar[Mapping[str, Source]] = {name: name for name in ("claim", "metric", "lower", "reason")}
    outcome: ClassVar[str] = "undecided"

    lower: Fraction
    """Lower bound on the cost of any counterfactual."""
    reason: str
    certificate: dict[str, Any]

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted the search."""
        return self.reason == "interrupted"

    @property
    def is_certified(self) -> bool:
        """Whether the certificate proves everything: only the lower bound is claimed."""
        return False

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """Return the bound of the certificate."""
        return {"lower": exact(data["certificate"]["lower"])}

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        known = f"Proved so far: any change needs at least {show_cost(self.metric, self.lower, -1)}."
        return f"{mark('undecided')}: {self.reason}. {known} {advice(self.reason, 'allow fewer changes')}"


def _above(gap: Fraction) -> str:
    """Return the least power of ten that is not below a small number."""
    digits = 0
    while gap <= Fraction(1, 10 ** (digits + 1)):
        digits += 1
    return f"1e-{digits}"


Answer: TypeAlias = Counterfactual | NoCounterfactual | OpenCounterfactual
