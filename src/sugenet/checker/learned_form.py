"""The format of certificates about rated samples, as frozen values (`reading` makes them)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from sugenet.checker.reading import Natural, Number
from sugenet.errors import CertificateError

__all__ = [
    "BestFit",
    "ChainProof",
    "CostBetween",
    "Costs",
    "CostsOfErrors",
    "EnvelopeProof",
    "FlowProof",
    "ForcedProof",
    "LargestError",
    "LearnedCertificate",
    "RatingConflict",
    "RatingsFit",
    "SetsProof",
    "TotalCost",
    "VersionSpaceAsked",
]

Samples: TypeAlias = tuple[Natural, ...]
"""Different samples, by index."""

# -- questions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VersionSpaceAsked:
    """Which capacities give every sample its rating."""

    tag: ClassVar[tuple[str, str]] = ("kind", "version space")


@dataclass(frozen=True, slots=True)
class CostsOfErrors:
    """What one unit above a rating costs, and one below."""

    over: Number
    under: Number

    def __post_init__(self) -> None:
        _see_costs((self.over, self.under))


Costs: TypeAlias = CostsOfErrors | tuple[tuple[Number, ...], ...] | None
"""Prices; a table by rating and value; or null: 1 per unit."""


@dataclass(frozen=True, slots=True)
class TotalCost:
    """Which capacity has the smallest total cost."""

    tag: ClassVar[tuple[str, str]] = ("loss", "total")
    kind: Literal["fit"]
    costs: Costs

    def __post_init__(self) -> None:
        for row in self.costs if isinstance(self.costs, tuple) else ():
            _see_costs(row)


@dataclass(frozen=True, slots=True)
class LargestError:
    """Which capacities have the smallest largest error, of all or of those of a small kind."""

    tag: ClassVar[tuple[str, str]] = ("loss", "largest")
    kind: Literal["fit"]
    maxitive: Natural | None
    minitive: Natural | None

    def __post_init__(self) -> None:
        if self.maxitive is not None and self.minitive is not None:
            raise CertificateError("maxitive or minitive must be null.")


# -- proofs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EnvelopeProof:
    """The samples that make the least and the greatest capacity."""

    tag: ClassVar[tuple[str, str]] = ("kind", "envelopes")
    lower: Samples
    upper: Samples


@dataclass(frozen=True, slots=True)
class ForcedProof(EnvelopeProof):
    """The same; and one or two samples that force the error."""

    because: Samples


@dataclass(frozen=True, slots=True)
class ChainProof:
    """The same for the samples that are kept; and chains of samples of which each clashes with the next."""

    tag: ClassVar[tuple[str, str]] = ("kind", "chains")
    chains: tuple[Samples, ...]
    lower: Samples
    upper: Samples

    def __post_init__(self) -> None:
        if not all(self.chains):
            raise CertificateError("a chain has no samples.")


@dataclass(frozen=True, slots=True)
class SetsProof:
    """A capacity by sets of criteria and what each is worth; and a sample that forces the error."""

    tag: ClassVar[tuple[str, str]] = ("kind", "sets")
    because: Natural | None
    capacity: tuple[tuple[tuple[Natural, ...], Number], ...]


@dataclass(frozen=True, slots=True)
class FlowProof:
    """The value of each sample; and parts (k, t, m, s, amount), which say that if sample k gets at least t,
    then sample m gets at least s.
    """

    tag: ClassVar[tuple[str, str]] = ("kind", "flow")
    fitted: tuple[Number, ...]
    parts: tuple[tuple[Natural, Number, Natural, Number, Number], ...]

    def __post_init__(self) -> None:
        if any(amount < 0 for *_, amount in self.parts):
            raise CertificateError("an amount is negative.")


# -- certificates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _LearnedEnvelope:
    format: Literal["sugenet certificate"]
    version: Literal[3]
    ratings: str
    """Their fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFit(_LearnedEnvelope):
    """The capacities between the envelopes give every sample its rating."""

    tag: ClassVar[tuple[str, str]] = ("answer", "fits")
    question: VersionSpaceAsked
    proof: EnvelopeProof


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingConflict(_LearnedEnvelope):
    """They do so without some samples, and none do so without fewer."""

    tag: ClassVar[tuple[str, str]] = ("answer", "conflict")
    question: VersionSpaceAsked
    dropped: Samples
    proof: ChainProof


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured(_LearnedEnvelope):
    error: Number

    def __post_init__(self) -> None:
        if self.error < 0:
            raise CertificateError(f"the error {self.error} is negative.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BestFit(_Measured):
    """No capacity has a smaller error or cost."""

    tag: ClassVar[tuple[str, str]] = ("answer", "fitted")
    question: TotalCost | LargestError
    proof: ForcedProof | SetsProof | FlowProof


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBetween(_Measured):
    """Some capacity has this total cost, and none costs less than `least`."""

    tag: ClassVar[tuple[str, str]] = ("answer", "between")
    question: TotalCost
    least: Number
    proof: FlowProof


LearnedCertificate: TypeAlias = RatingsFit | RatingConflict | BestFit | CostBetween


def _see_costs(costs: tuple[Number, ...]) -> None:
    if any(cost < 0 for cost in costs):
        raise CertificateError("a cost is negative.")
