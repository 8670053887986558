"""The certificate format: what a certificate holds, as frozen values. `reading` makes them from JSON.

Each class is a JSON object with its fields and no others. A field that nobody expects could narrow a question
without anybody noticing, so there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from sugenet.checker.network import NetworkForm
from sugenet.checker.reading import (
    ClassIndex,
    Feature,
    Features,
    Integer,
    Natural,
    Number,
    Row,
    Rows,
    Scalar,
    Sizes,
    Tree,
    exact,
    read,
)
from sugenet.errors import CertificateError

__all__ = [
    "Agree",
    "Always",
    "Anything",
    "Ball",
    "Bound",
    "Box",
    "ByBounds",
    "ByImpossible",
    "ByMultipliers",
    "BySplit",
    "CaseAsked",
    "Certificate",
    "Cost",
    "Count",
    "Counted",
    "Counterfactual",
    "Dual",
    "Enumerate",
    "Fair",
    "Free",
    "InputDomain",
    "LawAsked",
    "Lemma",
    "Limit",
    "Limits",
    "Measure",
    "Minimal",
    "Minimum",
    "Monotone",
    "Never",
    "NoCounterfactual",
    "OneOf",
    "OpenCounterfactual",
    "Partition",
    "PatchedCase",
    "Patches",
    "Plain",
    "Prices",
    "Proof",
    "Proved",
    "QueryAsked",
    "Question",
    "Reason",
    "Refuted",
    "Region",
    "Robust",
    "Single",
    "Sufficient",
    "Undecided",
    "UnknownReason",
    "Verdict",
    "WhatIf",
    "exact",
    "read_certificate",
    "sizes_of",
]

# -- limits and regions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OneOf:
    """A feature has one of some values."""

    values: tuple[Scalar, ...] = field(metadata={"json": "one of"})

    def __post_init__(self) -> None:
        if not self.values:
            raise CertificateError("a limit allows no value.")


Limit: TypeAlias = tuple[Number | None, Number | None] | OneOf
"""From a least to a largest number, both included, null for no bound; or one of some values."""
Limits: TypeAlias = tuple[tuple[Feature, Limit], ...]


@dataclass(frozen=True, slots=True)
class LawAsked:
    """A law that inputs obey: at least one condition of each clause holds. The text is for people.

    A condition is a feature, a value and a truth: whether the feature is at least the value, or has it as its
    category.
    """

    text: str
    clauses: tuple[tuple[tuple[Feature, Scalar, bool], ...], ...]


@dataclass(frozen=True, slots=True)
class InputDomain:
    """The inputs that can occur: limits of features, and laws."""

    limits: Limits
    laws: tuple[LawAsked, ...]

    def __post_init__(self) -> None:
        _see_once(feature for feature, _ in self.limits)
        if len({law.text for law in self.laws}) < len(self.laws):
            raise CertificateError("a law occurs twice.")
        if not self.limits and not self.laws:
            raise CertificateError("a domain without limits and laws must be left out.")


Measure: TypeAlias = Literal["Hamming", "L0", "L1", "L2", "Linf"]
"""Bits flipped, features changed, the sum of changes, of their squares, the largest change."""


@dataclass(frozen=True, slots=True)
class Ball:
    """Inputs whose changes measure at most `radius`, which is a distance for L2 too."""

    kind: Measure
    radius: Number

    def __post_init__(self) -> None:
        if self.radius < 0:
            raise CertificateError(f"the radius {self.radius} is negative.")


@dataclass(frozen=True, slots=True)
class Free:
    """Some features take any value, all others stay."""

    tag: ClassVar[tuple[str, str]] = ("kind", "Free")
    features: Features


@dataclass(frozen=True, slots=True)
class Box:
    """Some features are within limits, all others stay; the sample is in the box."""

    tag: ClassVar[tuple[str, str]] = ("kind", "Box")
    limits: Limits

    def __post_init__(self) -> None:
        _see_once(feature for feature, _ in self.limits)


@dataclass(frozen=True, slots=True)
class Anything:
    """All inputs."""

    tag: ClassVar[tuple[str, str]] = ("kind", "Anything")


Region: TypeAlias = Ball | Free | Box | Anything


@dataclass(frozen=True, slots=True)
class Plain:
    """What all changes of a counterfactual cost together; for L2 the sum of squares."""

    kind: Measure


@dataclass(frozen=True, slots=True)
class Prices:
    """What a change of each of these features costs, at all or by one unit; all others stay."""

    tag: ClassVar[tuple[str, str]] = ("kind", "Prices")
    prices: tuple[tuple[Feature, Number], ...]
    per_unit: bool

    def __post_init__(self) -> None:
        _see_once(feature for feature, _ in self.prices)
        if any(price < 0 for _, price in self.prices):
            raise CertificateError("a price is negative.")


Cost: TypeAlias = Plain | Prices


# -- questions -----------------------------------------------------------------------------------------------

Ties: TypeAlias = Literal["lowest", "against"]
"""A tie goes to the lowest class, or counts as a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    sample: Row
    label: ClassIndex
    """The class of the sample."""
    target: ClassIndex | None
    ties: Ties

    def __post_init__(self) -> None:
        if self.target == self.label:
            raise CertificateError("the target is the class of the sample.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Robust(_About):
    """No input of the region has another class than the sample; or none has the target."""

    tag: ClassVar[tuple[str, str]] = ("kind", "robust")
    region: Region


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(_About):
    """The same while some features stay as they are."""

    tag: ClassVar[tuple[str, str]] = ("kind", "reason")
    region: Region
    fixed: Features


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf(_About):
    """Which input of another class, or of the target, costs least? At most `limit`."""

    tag: ClassVar[tuple[str, str]] = ("kind", "whatif")
    cost: Cost
    movable: Features
    region: Region | None
    limit: Number | None
    """In units of the cost: for L2 a sum of squares."""

    def __post_init__(self) -> None:
        _About.__post_init__(self)
        if isinstance(self.region, Ball) and self.region.kind != "Linf":
            raise CertificateError("the region of a counterfactual has no budget of its own.")
        if self.limit is not None and self.limit < 0:
            raise CertificateError(f"the limit {self.limit} is negative.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limited:
    where: Limits

    def __post_init__(self) -> None:
        _see_once(feature for feature, _ in self.where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Always(_Limited):
    """Every input within limits has the class."""

    tag: ClassVar[tuple[str, str]] = ("kind", "always")
    label: ClassIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Never(_Limited):
    """No input within limits has the class."""

    tag: ClassVar[tuple[str, str]] = ("kind", "never")
    label: ClassIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Monotone(_Limited):
    """A larger (or smaller) value of a feature never gives a lower class, or never leaves `label`."""

    tag: ClassVar[tuple[str, str]] = ("kind", "monotone")
    feature: Feature
    label: ClassIndex | None
    rising: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fair(_Limited):
    """Two inputs that differ in protected features alone have the same class."""

    tag: ClassVar[tuple[str, str]] = ("kind", "fair")
    protected: Features

    def __post_init__(self) -> None:
        _Limited.__post_init__(self)
        if not self.protected:
            raise CertificateError("no feature is protected.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agree(_Limited):
    """Two networks give every input within limits the same class; the other one by its fingerprint."""

    tag: ClassVar[tuple[str, str]] = ("kind", "agree")
    other: str


@dataclass(frozen=True, slots=True)
class CaseAsked:
    """A box of inputs, and what violates the property there: all inequalities of some row.

    An inequality has factors by class, and what the weighted scores must reach.
    """

    lower: tuple[Number, ...]
    upper: tuple[Number, ...]
    condition: tuple[tuple[tuple[tuple[tuple[ClassIndex, Number], ...], Number], ...], ...]

    def __post_init__(self) -> None:
        for terms, _ in (part for row in self.condition for part in row):
            if not terms or not all(factor for _, factor in terms):
                raise CertificateError("an inequality has no terms, or a factor of 0.")
            if len({k for k, _ in terms}) < len(terms):
                raise CertificateError("an inequality names an output twice.")
        for low, high in zip(self.lower, self.upper, strict=False):
            if low > high:
                raise CertificateError(f"the box is empty: {low} is above {high}.")


@dataclass(frozen=True, slots=True)
class QueryAsked:
    """No input of a case meets the condition of that case."""

    tag: ClassVar[tuple[str, str]] = ("kind", "query")
    inputs: Natural
    outputs: Natural
    cases: tuple[CaseAsked, ...]

    def __post_init__(self) -> None:
        if not all(len(case.lower) == len(case.upper) == self.inputs for case in self.cases):
            raise CertificateError(f"a box of the query does not have {self.inputs} inputs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(_Limited):
    """How many combinations of states around a sample, and within limits, have each class."""

    tag: ClassVar[tuple[str, str]] = ("kind", "count")
    sample: Row | None
    region: Region | None

    def __post_init__(self) -> None:
        _Limited.__post_init__(self)
        if (self.sample is None) != (self.region is None):
            raise CertificateError("a sample needs a region, and a region needs a sample.")


Verdict: TypeAlias = Robust | Always | Never | Monotone | Fair | Agree | QueryAsked
Question: TypeAlias = Verdict | Reason | WhatIf | Count


# -- proofs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bound:
    """Interval bounds through all layers."""

    tag: ClassVar[tuple[str, str]] = ("kind", "bound")


@dataclass(frozen=True, slots=True)
class Enumerate:
    """None of the inputs is a violation: the checker enumerates them, in a form that it chooses."""

    tag: ClassVar[tuple[str, str]] = ("kind", "enumerate")


@dataclass(frozen=True, slots=True)
class Lemma:
    """Clauses that follow one after another by propagation, the last one empty; and sums between them.

    A sum derives a constraint from others by cutting planes. It is text in reverse Polish notation.
    """

    tag: ClassVar[tuple[str, str]] = ("kind", "lemma")
    variables: Natural
    facts: tuple[Integer, ...]
    cuts: tuple[tuple[Integer, Natural, Natural], ...]
    clauses: str | tuple[tuple[Integer, ...] | str, ...]
    encoding: Literal["zlib+base64"] | None = None
    sums: Natural = 0
    """How many sums there are."""

    def __post_init__(self) -> None:
        n_sums = sum(isinstance(step, str) for step in self.clauses)
        if isinstance(self.clauses, tuple) and n_sums != self.sums:
            raise CertificateError(f"the proof has {n_sums:,} sums, not {self.sums:,}.")


@dataclass(frozen=True, slots=True)
class Dual:
    """Multipliers and splits that exclude every case."""

    tag: ClassVar[tuple[str, str]] = ("kind", "dual")
    cases: tuple[Tree, ...]
    multipliers: str


@dataclass(frozen=True, slots=True)
class ByBounds:
    """A conjunction is excluded by a weighted sum of its inequalities."""

    tag: ClassVar[tuple[str, str]] = ("by", "bounds")
    mix: tuple[Natural, ...]


@dataclass(frozen=True, slots=True)
class ByMultipliers:
    """The same with multipliers: (patch, neuron, share)."""

    tag: ClassVar[tuple[str, str]] = ("by", "multipliers")
    mix: tuple[Natural, ...]
    shares: tuple[tuple[Natural, Natural, Integer], ...]


@dataclass(frozen=True, slots=True)
class BySplit:
    """A neuron is on or off."""

    tag: ClassVar[tuple[str, str]] = ("by", "split")
    neuron: Natural
    on: Closure
    off: Closure


@dataclass(frozen=True, slots=True)
class ByImpossible:
    """The signs of some neurons contradict each other: (neuron, share)."""

    tag: ClassVar[tuple[str, str]] = ("by", "impossible")
    shares: tuple[tuple[Natural, Natural], ...]


Closure: TypeAlias = ByBounds | ByMultipliers | BySplit | ByImpossible


@dataclass(frozen=True, slots=True)
class PatchedCase:
    """A case of a query, with a closure for each conjunction."""

    grid: Natural
    patches: tuple[tuple[Natural, ...], ...]
    closures: tuple[Closure, ...]


@dataclass(frozen=True, slots=True)
class Patches:
    """Bounds over sign patterns of groups of neurons, for each case of a query."""

    tag: ClassVar[tuple[str, str]] = ("kind", "patches")
    cases: tuple[PatchedCase, ...]


Single: TypeAlias = Bound | Enumerate | Lemma | Dual | Patches


Proof: TypeAlias = Single | tuple[Single, ...]
"""One proof; or one for each case of a query."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Parts of a region, and how many inputs of each class they have.

    A part is named by features in order, null for no change; or by states of features.
    """

    tag: ClassVar[tuple[str, str]] = ("kind", "partition")
    order: Features
    parts: tuple[tuple[Tree | None, tuple[Natural, ...]], ...]


# -- certificates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Envelope:
    format: Literal["sugenet certificate"]
    version: Literal[3]
    network: str
    """Its fingerprint."""
    domain: InputDomain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved(_Envelope):
    """The claim of the question holds."""

    tag: ClassVar[tuple[str, str]] = ("answer", "proved")
    question: Verdict
    witness: None
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuted(_Envelope):
    """An input, or a pair of inputs, violates the claim."""

    tag: ClassVar[tuple[str, str]] = ("answer", "refuted")
    question: Verdict
    witness: Rows
    proof: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided(_Envelope):
    """The claim holds up to a part of the radius, or nothing is claimed."""

    tag: ClassVar[tuple[str, str]] = ("answer", "undecided")
    question: Verdict
    witness: None
    proof: Proof | None
    proved_up_to: Number | None
    """In units of what a budget sums: for L2 a sum of squares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual(_Envelope):
    """The witness changes the class at this cost, and nothing below `lower` does."""

    tag: ClassVar[tuple[str, str]] = ("answer", "counterfactual")
    question: WhatIf
    witness: Row
    value: Number
    lower: Number
    proof: Proof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCounterfactual(_Envelope):
    """Nothing below `lower` changes the class."""

    tag: ClassVar[tuple[str, str]] = ("answer", "open")
    question: WhatIf
    witness: None
    lower: Number
    proof: Proof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCounterfactual(_Envelope):
    """Nothing up to the limit changes the class."""

    tag: ClassVar[tuple[str, str]] = ("answer", "none")
    question: WhatIf
    witness: None
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownReason(_Envelope):
    """Nothing is claimed."""

    tag: ClassVar[tuple[str, str]] = ("answer", "unknown")
    question: Reason
    witness: tuple[tuple[Feature, Row], ...] | None
    proof: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sufficient(_Envelope):
    """The fixed features suffice."""

    tag: ClassVar[tuple[str, str]] = ("answer", "sufficient")
    question: Reason
    witness: None
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimal(_Envelope):
    """They suffice, and none can be left out: for each a counterexample that changes it alone of them."""

    tag: ClassVar[tuple[str, str]] = ("answer", "minimal")
    question: Reason
    witness: tuple[tuple[Feature, Row], ...]
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum(_Envelope):
    """They suffice, and no smaller set does: none meets all contrasts, which are changes of the sample."""

    tag: ClassVar[tuple[str, str]] = ("answer", "minimum")
    question: Reason
    witness: tuple[tuple[Feature, Row], ...] | None
    proof: Proof
    contrasts: tuple[tuple[tuple[Feature, Scalar], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(_Envelope):
    """How many inputs each class has."""

    tag: ClassVar[tuple[str, str]] = ("answer", "counted")
    question: Count
    counts: tuple[Natural, ...]
    total: Natural
    method: Literal["constant", "sums", "walk"]
    proof: Partition


Certificate: TypeAlias = (
    Proved
    | Refuted
    | Undecided
    | Counterfactual
    | OpenCounterfactual
    | NoCounterfactual
    | UnknownReason
    | Sufficient
    | Minimal
    | Minimum
    | Counted
)


def sizes_of(network: NetworkForm) -> Sizes:
    """What indices of a certificate about a network must fit."""
    return Sizes(len(network.codings), network.head.outputs)


def read_certificate(data: Any, network: NetworkForm) -> Certificate:
    """Read a certificate about one network, or two.

    Raises
    ------
    CertificateError
        If it is for another network; else naming the field that is missing, unknown or not of its kind.
    """
    named = data.get("network") if isinstance(data, dict) else None
    if isinstance(named, str) and named != network.fingerprint:  # before the sizes of the network matter
        raise CertificateError(
            f"the certificate is for the network {named[:12]}, not for {network.fingerprint[:12]}."
        )
    certificate: Certificate = read(Certificate, data, sizes_of(network), "the certificate")
    return certificate


def _see_once(features: Iterable[int]) -> None:
    listed = list(features)
    if len(set(listed)) < len(listed):
        raise CertificateError("a feature has limits or a price twice.")
