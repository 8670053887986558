"""The format of certificates about a composite, as frozen values (`reading` makes them)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sugenet.checker.form import AnyInput, Ball, Enumerate, Envelope, Lemma, Plain
from sugenet.checker.reading import Integer, Natural, Nested, Number, Scalar, Tagged
from sugenet.errors import CertificateError

__all__ = [
    "Change",
    "Composed",
    "CompositeClaim",
    "CompositeMinimal",
    "CompositeMinimum",
    "CompositePart",
    "CompositePossible",
    "CompositeProof",
    "CompositeProved",
    "CompositeReason",
    "CompositeRefuted",
    "CompositeRobust",
    "CompositeStated",
    "CompositeSudoku",
    "CompositeSufficient",
    "CompositeSum",
    "CompositeUndecided",
    "CompositeUnknown",
    "CompositeValue",
    "CompositeWhatIf",
    "EveryPart",
    "Formula",
    "Impossible",
    "KnownReading",
    "NamedClasses",
    "NamedRows",
    "NetworkReading",
    "NoChange",
    "OpenChange",
    "Possible",
    "SomePart",
]

# -- readings ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownReading(Tagged, kind="given"):
    """A variable whose gaps are given; the best value has gap 0."""

    name: str
    values: tuple[str, ...]
    gaps: tuple[Number, ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.gaps) or not self.gaps or min(self.gaps) != 0:
            raise CertificateError("a reading that is given needs a gap for each value, and 0 for the best.")
        if len(set(self.values)) < len(self.values):
            raise CertificateError("a reading that is given has a value twice.")


@dataclass(frozen=True, slots=True)
class NetworkReading:
    """The reading of a sample by a network, among all of its classes or some of them."""

    name: str
    network: Natural
    """The index of its fingerprint."""
    classes: tuple[Natural, ...] | None
    sample: tuple[Scalar, ...]
    domain: Nested | None = None
    """An `InputDomain` of that network."""

    def __post_init__(self) -> None:
        if self.classes is not None and (not self.classes or sorted(set(self.classes)) != [*self.classes]):
            raise CertificateError("classes must be indices that rise.")


# -- wholes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompositeSum(Tagged, kind="sum"):
    """Two numbers are added; the first readings are the digits of the left one."""

    left: Natural


@dataclass(frozen=True, slots=True)
class CompositeSudoku(Tagged, kind="sudoku"):
    """The readings are the cells of a grid, row by row."""


@dataclass(frozen=True, slots=True)
class NamedClasses(Tagged, kind="one of"):
    """A reading has one of some classes."""

    reading: Natural
    classes: tuple[Natural, ...]


@dataclass(frozen=True, slots=True)
class NamedRows(Tagged, kind="rows"):
    """Some readings have the classes of one of the rows; or, if not `on`, of none of them."""

    readings: tuple[Natural, ...]
    rows: tuple[tuple[Natural, ...], ...]
    on: bool

    def __post_init__(self) -> None:
        if len(set(self.readings)) < len(self.readings):
            raise CertificateError("a formula names a reading twice in one row.")
        if any(len(row) != len(self.readings) for row in self.rows):
            raise CertificateError("a row of a formula needs a class for each of its readings.")


@dataclass(frozen=True, slots=True)
class _FormulaParts(Tagged):
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class EveryPart(_FormulaParts, kind="every"):
    """All parts hold."""


@dataclass(frozen=True, slots=True)
class SomePart(_FormulaParts, kind="some"):
    """At least one part holds."""


Formula: TypeAlias = NamedClasses | NamedRows | EveryPart | SomePart


@dataclass(frozen=True, slots=True)
class CompositeStated(Tagged, kind="stated"):
    """A formula over the classes of the readings."""

    formula: Formula


CompositeClaim: TypeAlias = CompositeSum | CompositeSudoku | CompositeStated


# -- questions -----------------------------------------------------------------------------------------------

CompositeValue: TypeAlias = Integer | bool
"""An integer for a sum, else true or false."""


@dataclass(frozen=True, slots=True)
class CompositePossible(Tagged, kind="possible"):
    """The question how much less possible a value is than the most possible one."""

    value: CompositeValue


@dataclass(frozen=True, slots=True)
class CompositeRobust(Tagged, kind="robust"):
    """The value stays while every sample stays in the region, or all samples together if it is joint."""

    region: Ball | AnyInput
    joint: bool

    def __post_init__(self) -> None:
        if self.joint and (not isinstance(self.region, Ball) or self.region.kind == "Linf"):
            raise CertificateError("a budget that images share is one that adds up their changes.")


@dataclass(frozen=True, slots=True)
class CompositeReason(Tagged, kind="reason"):
    """The value stays while some features of the samples stay fixed."""

    region: Ball | AnyInput


@dataclass(frozen=True, slots=True)
class CompositeWhatIf(Tagged, kind="whatif"):
    """The cheapest changes of the samples that give the value, or another one."""

    cost: Plain
    value: CompositeValue
    other: bool

    def __post_init__(self) -> None:
        if self.cost.kind == "Linf":
            raise CertificateError("the costs of several images are not added up so.")


# -- certificates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompositePart:
    """A certificate about the network and the sample of a reading."""

    reading: Natural
    certificate: Nested


CompositeProof: TypeAlias = Enumerate | Lemma
"""Proof that no choice of classes is one that the claim excludes.

It is null if all classes together leave no choice, or none that is cheap enough.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ComposedEnvelope(Envelope):
    networks: tuple[str, ...]
    """Fingerprints of the networks."""
    readings: tuple[KnownReading | NetworkReading, ...]
    whole: CompositeClaim
    parts: tuple[CompositePart, ...]

    def __post_init__(self) -> None:
        names = [reading.name for reading in self.readings]
        if len(set(names)) < len(names):
            raise CertificateError("each reading needs a name of its own.")
        used = {reading.network for reading in self.readings if isinstance(reading, NetworkReading)}
        if used != set(range(len(self.networks))) or len(set(self.networks)) < len(self.networks):
            raise CertificateError("a network is named twice, reads nothing, or is not there.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _AboutGaps(_ComposedEnvelope):
    question: CompositePossible
    proof: CompositeProof | None
    margin: Number | None
    """The smallest gap of classes with another value; null if there are none."""
    other: tuple[Natural, ...] | None
    """Such classes."""
    other_proof: CompositeProof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible(_AboutGaps, answer="impossible"):
    """No classes have the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Possible(_AboutGaps, answer="possible"):
    """The classes of the choice have the value and the gap, and no classes with the value have
    a smaller gap.
    """

    gap: Number
    choice: tuple[Natural, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _AboutRegion(_ComposedEnvelope):
    question: CompositeRobust


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeProved(_AboutRegion, answer="proved"):
    """The value stays."""

    proof: CompositeProof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeRefuted(_AboutRegion, answer="refuted"):
    """With the witnesses of the parts, the readings have the classes of the choice and another value."""

    choice: tuple[Natural, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeUndecided(_AboutRegion, answer="undecided"):
    """Nothing is claimed except the parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _AboutReasons(_ComposedEnvelope):
    question: CompositeReason


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeUnknown(_AboutReasons, answer="unknown"):
    """Nothing is claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeSufficient(_AboutReasons, answer="sufficient"):
    """The reasons of the parts suffice."""

    proof: CompositeProof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeMinimal(_AboutReasons, answer="minimal"):
    """They suffice, and no feature can be dropped."""

    proof: CompositeProof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeMinimum(_AboutReasons, answer="minimum"):
    """They suffice, and no fewer features do."""

    proof: CompositeProof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _AboutCost(_ComposedEnvelope):
    question: CompositeWhatIf


@dataclass(frozen=True, slots=True, kw_only=True)
class NoChange(_AboutCost, answer="none"):
    """No changes give such a value."""

    proof: CompositeProof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChange(_AboutCost, answer="open"):
    """No changes that cost less than `lower` give such a value."""

    lower: Number
    proof: CompositeProof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(_AboutCost, answer="counterfactual"):
    """No cheaper changes do, and the witnesses of the parts give the classes of the choice at this cost."""

    lower: Number
    proof: CompositeProof | None
    cost: Number
    choice: tuple[Natural, ...]


Composed: TypeAlias = (
    Impossible
    | Possible
    | CompositeProved
    | CompositeRefuted
    | CompositeUndecided
    | CompositeUnknown
    | CompositeSufficient
    | CompositeMinimal
    | CompositeMinimum
    | NoChange
    | OpenChange
    | Change
)
