"""The certificate format: the content of a certificate as frozen values. `reading` creates them from JSON.

Each class is a JSON object with exactly its fields. An unexpected field could silently narrow a question, so
it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

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
    Tagged,
    Tree,
    exact,
    read,
)
from sugenet.errors import CertificateError

__all__ = [
    "Agree",
    "Always",
    "AnyInput",
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
    "Envelope",
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
    "Order",
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
    "Share",
    "Shares",
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
"""A pair (smallest, largest) of numbers, both included, with null for no bound; or one of some values."""
Limits: TypeAlias = tuple[tuple[Feature, Limit], ...]


@dataclass(frozen=True, slots=True)
class LawAsked:
    """A law that inputs obey: at least one condition of each clause holds. The text is for people.

    A condition is a feature, a value and a truth value. The truth value says whether the feature is at least
    the value, or has it as its category.
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
"""Bits flipped, features changed, sum of changes, sum of their squares, or largest change."""


@dataclass(frozen=True, slots=True)
class Ball:
    """Inputs whose changes measure at most `radius`; for L2 it is a distance, not a square."""

    kind: Measure
    radius: Number

    def __post_init__(self) -> None:
        if self.radius < 0:
            raise CertificateError(f"the radius {self.radius} is negative.")


@dataclass(frozen=True, slots=True)
class Free(Tagged, kind="Free"):
    """Some features take any value, all others stay fixed."""

    features: Features


@dataclass(frozen=True, slots=True)
class Box(Tagged, kind="Box"):
    """Some features are within limits, all others stay fixed; the sample is in the box."""

    limits: Limits

    def __post_init__(self) -> None:
        _see_once(feature for feature, _ in self.limits)


@dataclass(frozen=True, slots=True)
class AnyInput(Tagged, kind="AnyInput"):
    """All inputs."""


Region: TypeAlias = Ball | Free | Box | AnyInput


@dataclass(frozen=True, slots=True)
class Plain:
    """The total cost of the changes of a counterfactual; for L2 the sum of squares."""

    kind: Measure


@dataclass(frozen=True, slots=True)
class Prices(Tagged, kind="Prices"):
    """The cost of a change of each of these features, per change or per unit; all others stay fixed."""

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
class _About(Tagged):
    sample: Row
    label: ClassIndex
    """The class of the sample."""
    target: ClassIndex | None
    ties: Ties

    def __post_init__(self) -> None:
        if self.target == self.label:
            raise CertificateError("the target is the class of the sample.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Robust(_About, kind="robust"):
    """No input of the region has another class than the sample or, with a target, none has the target."""

    region: Region


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(_About, kind="reason"):
    """The class stays while some features stay fixed, or stays for a share of the inputs."""

    region: Region
    fixed: Features
    precision: Number | None = None
    """Smallest share of the inputs that keep the class; None for all of them."""

    def __post_init__(self) -> None:
        _About.__post_init__(self)
        if self.precision is not None and not 0 < self.precision < 1:
            raise CertificateError(f"the share {self.precision} is not between 0 and 1.")
        if self.precision is not None and self.ties != "lowest":
            raise CertificateError("inputs are counted by class, where ties go to the lowest.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf(_About, kind="whatif"):
    """The question which input of another class, or of the target, is cheapest, up to `limit`."""

    cost: Cost
    movable: Features
    region: Region | None
    limit: Number | None
    """In units of the cost; for L2 a sum of squares."""

    def __post_init__(self) -> None:
        _About.__post_init__(self)
        if isinstance(self.region, Ball) and self.region.kind != "Linf":
            raise CertificateError("the region of a counterfactual has no budget of its own.")
        if self.limit is not None and self.limit < 0:
            raise CertificateError(f"the limit {self.limit} is negative.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limited(Tagged):
    where: Limits

    def __post_init__(self) -> None:
        _see_once(feature for feature, _ in self.where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Always(_Limited, kind="always"):
    """Every input within limits has the class."""

    label: ClassIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Never(_Limited, kind="never"):
    """No input within limits has the class."""

    label: ClassIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Monotone(_Limited, kind="monotone"):
    """A larger (or smaller) value of a feature never gives a lower class, or never leaves `label`."""

    feature: Feature
    label: ClassIndex | None
    rising: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fair(_Limited, kind="fair"):
    """Two inputs that differ only in protected features have the same class."""

    protected: Features

    def __post_init__(self) -> None:
        _Limited.__post_init__(self)
        if not self.protected:
            raise CertificateError("no feature is protected.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agree(_Limited, kind="agree"):
    """Two networks give every input within limits the same class; the other is named by its fingerprint.

    With a sample, this is about inputs of a region around it.
    """

    other: str
    sample: Row | None = None
    region: Region | None = None

    def __post_init__(self) -> None:
        _Limited.__post_init__(self)
        if (self.sample is None) != (self.region is None):
            raise CertificateError("a sample needs a region, and a region needs a sample.")
        if isinstance(self.region, Ball) and self.region.kind == "Hamming":
            raise CertificateError("two networks may read a feature as other bits: bits are not counted.")


@dataclass(frozen=True, slots=True)
class CaseAsked:
    """A box of inputs, and the violations there: all inequalities of some row.

    An inequality has factors by class, and a bound that the weighted scores must reach.
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
class QueryAsked(Tagged, kind="query"):
    """No input of a case meets the condition of that case."""

    inputs: Natural
    outputs: Natural
    cases: tuple[CaseAsked, ...]

    def __post_init__(self) -> None:
        if not all(len(case.lower) == len(case.upper) == self.inputs for case in self.cases):
            raise CertificateError(f"a box of the query does not have {self.inputs} inputs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(_Limited, kind="count"):
    """The number of combinations of states around a sample, and within limits, for each class."""

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
class Bound(Tagged, kind="bound"):
    """Interval bounds through all layers."""


@dataclass(frozen=True, slots=True)
class Order(Tagged, kind="order"):
    """Signs of weights: from the left input to the right one, no score moves towards a violation."""


@dataclass(frozen=True, slots=True)
class Enumerate(Tagged, kind="enumerate"):
    """None of the inputs is a violation. The checker enumerates them in a form of its choice."""


@dataclass(frozen=True, slots=True)
class Lemma(Tagged, kind="lemma"):
    """Clauses that follow one after another by propagation, the last one empty, and sums between them.

    A sum derives a constraint from others by cutting planes. It is text in reverse Polish notation.
    """

    variables: Natural
    facts: tuple[Integer, ...]
    cuts: tuple[tuple[Integer, Natural, Natural], ...]
    clauses: str | tuple[tuple[Integer, ...] | str, ...]
    encoding: Literal["zlib+base64"] | None = None
    sums: Natural = 0
    """Number of sums."""

    def __post_init__(self) -> None:
        n_sums = sum(isinstance(step, str) for step in self.clauses)
        if isinstance(self.clauses, tuple) and n_sums != self.sums:
            raise CertificateError(f"the proof has {n_sums:,} sums, not {self.sums:,}.")


@dataclass(frozen=True, slots=True)
class Dual(Tagged, kind="dual"):
    """Multipliers and splits that exclude every case."""

    cases: tuple[Tree, ...]
    multipliers: str


@dataclass(frozen=True, slots=True)
class ByBounds(Tagged, by="bounds"):
    """A weighted sum of its inequalities excludes a conjunction."""

    mix: tuple[Natural, ...]


@dataclass(frozen=True, slots=True)
class ByMultipliers(Tagged, by="multipliers"):
    """A weighted sum with multipliers (patch, neuron, share) excludes a conjunction."""

    mix: tuple[Natural, ...]
    shares: tuple[tuple[Natural, Natural, Integer], ...]


@dataclass(frozen=True, slots=True)
class BySplit(Tagged, by="split"):
    """A case split: a neuron is on or off."""

    neuron: Natural
    on: Closure
    off: Closure


@dataclass(frozen=True, slots=True)
class ByImpossible(Tagged, by="impossible"):
    """The signs of some neurons contradict each other: (neuron, share)."""

    shares: tuple[tuple[Natural, Natural], ...]


Closure: TypeAlias = ByBounds | ByMultipliers | BySplit | ByImpossible


@dataclass(frozen=True, slots=True)
class PatchedCase:
    """A case of a query, with a closure for each conjunction."""

    grid: Natural
    patches: tuple[tuple[Natural, ...], ...]
    closures: tuple[Closure, ...]


@dataclass(frozen=True, slots=True)
class Patches(Tagged, kind="patches"):
    """Bounds over sign patterns of groups of neurons, for each case of a query."""

    cases: tuple[PatchedCase, ...]


Single: TypeAlias = Bound | Order | Enumerate | Lemma | Dual | Patches


Proof: TypeAlias = Single | tuple[Single, ...]
"""One proof, or one for each case of a query."""


@dataclass(frozen=True, slots=True)
class Partition(Tagged, kind="partition"):
    """Parts of a region, with the number of inputs of each class.

    A part is named by features in order, with null for no change, or by states of features.
    """

    order: Features
    parts: tuple[tuple[Tree | None, tuple[Natural, ...]], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """The number of inputs of each class that agree with the sample on some features."""

    fixed: Features
    counts: tuple[Natural, ...]
    total: Natural
    method: Literal["constant", "sums", "walk"]
    proof: Partition


@dataclass(frozen=True, slots=True)
class Shares(Tagged, kind="shares"):
    """The count of a reason, which reaches its share, and those of other sets, which do not."""

    reason: Share
    others: tuple[Share, ...]


# -- certificates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope(Tagged):
    """The common first fields of all certificates."""

    format: Literal["sugenet certificate"]
    version: Literal[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class _NetworkEnvelope(Envelope):
    network: str
    """Its fingerprint."""
    domain: InputDomain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved(_NetworkEnvelope, answer="proved"):
    """The claim of the question holds."""

    question: Verdict
    witness: None
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuted(_NetworkEnvelope, answer="refuted"):
    """An input, or a pair of inputs, violates the claim."""

    question: Verdict
    witness: Rows
    proof: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided(_NetworkEnvelope, answer="undecided"):
    """The claim holds up to a part of the radius, or nothing is claimed."""

    question: Verdict
    witness: None
    proof: Proof | None
    proved_up_to: Number | None
    """In units of the budget; for L2 a sum of squares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual(_NetworkEnvelope, answer="counterfactual"):
    """The witness changes the class at this cost, and no change below `lower` does."""

    question: WhatIf
    witness: Row
    value: Number
    lower: Number
    proof: Proof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCounterfactual(_NetworkEnvelope, answer="open"):
    """No change below `lower` changes the class."""

    question: WhatIf
    witness: None
    lower: Number
    proof: Proof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCounterfactual(_NetworkEnvelope, answer="none"):
    """No change up to the limit changes the class."""

    question: WhatIf
    witness: None
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownReason(_NetworkEnvelope, answer="unknown"):
    """Nothing is claimed."""

    question: Reason
    witness: tuple[tuple[Feature, Row], ...] | None
    proof: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sufficient(_NetworkEnvelope, answer="sufficient"):
    """The fixed features suffice."""

    question: Reason
    witness: None
    proof: Proof | Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimal(_NetworkEnvelope, answer="minimal"):
    """They suffice, and none can be dropped: for each, a counterexample changes only that one of them.

    With a precision there are none: without any one of the features, the share is too small.
    """

    question: Reason
    witness: tuple[tuple[Feature, Row], ...]
    proof: Proof | Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum(_NetworkEnvelope, answer="minimum"):
    """They suffice, and no smaller set does: none intersects all contrasts, which are changes
    of the sample.

    With a precision there are none: the share of every smaller set is too small.
    """

    question: Reason
    witness: tuple[tuple[Feature, Row], ...] | None
    proof: Proof | Shares
    contrasts: tuple[tuple[tuple[Feature, Scalar], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(_NetworkEnvelope, answer="counted"):
    """The number of inputs of each class."""

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
    """Return the sizes that indices of a certificate about a network must fit."""
    return Sizes(len(network.codings), network.head.outputs)


def read_certificate(data: Any, network: NetworkForm) -> Certificate:
    """Read a certificate about one network, or two.

    Raises
    ------
    CertificateError
        If it is for another network, or a field is missing, unknown or of the wrong kind; the message names
        it.
    """
    named = data.get("network") if isinstance(data, dict) else None
    if isinstance(named, str) and named != network.fingerprint:  # check this before the sizes of the network
        raise CertificateError(
            f"the certificate is for the network {named[:12]}, not for {network.fingerprint[:12]}."
        )
    certificate: Certificate = read(Certificate, data, sizes_of(network), "the certificate")
    return certificate


def _see_once(features: Iterable[int]) -> None:
    listed = list(features)
    if len(set(listed)) < len(listed):
        raise CertificateError("a feature has limits or a price twice.")
