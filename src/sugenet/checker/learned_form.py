"""Rated samples as plain integers, and the format of certificates about them, as frozen values (`reading`
makes them).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from json import dumps
from typing import Literal, TypeAlias

from sugenet.checker.form import Envelope
from sugenet.checker.reading import Natural, Number, Tagged
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
    "RatedSamples",
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
class VersionSpaceAsked(Tagged, kind="version space"):
    """The question which capacities give every sample its rating."""


@dataclass(frozen=True, slots=True)
class CostsOfErrors:
    """The cost of one unit above a rating, and of one below."""

    over: Number
    under: Number

    def __post_init__(self) -> None:
        _see_costs((self.over, self.under))


Costs: TypeAlias = CostsOfErrors | tuple[tuple[Number, ...], ...] | None
"""Prices, a table by rating and value, or null for 1 per unit."""


@dataclass(frozen=True, slots=True)
class TotalCost(Tagged, loss="total"):
    """The question which capacity has the smallest total cost."""

    kind: Literal["fit"]
    costs: Costs

    def __post_init__(self) -> None:
        for row in self.costs if isinstance(self.costs, tuple) else ():
            _see_costs(row)


@dataclass(frozen=True, slots=True)
class LargestError(Tagged, loss="largest"):
    """The question which capacities minimize the largest error, among all or among a restricted kind."""

    kind: Literal["fit"]
    maxitive: Natural | None
    minitive: Natural | None

    def __post_init__(self) -> None:
        if self.maxitive is not None and self.minitive is not None:
            raise CertificateError("maxitive or minitive must be null.")


# -- proofs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EnvelopeProof(Tagged, kind="envelopes"):
    """The samples that define the least and the greatest capacity."""

    lower: Samples
    upper: Samples


@dataclass(frozen=True, slots=True)
class ForcedProof(EnvelopeProof):
    """An envelope proof with one or two samples that force the error."""

    because: Samples


@dataclass(frozen=True, slots=True)
class ChainProof(Tagged, kind="chains"):
    """An envelope proof for the kept samples, with chains of samples in which each clashes with the next."""

    chains: tuple[Samples, ...]
    lower: Samples
    upper: Samples

    def __post_init__(self) -> None:
        if not all(self.chains):
            raise CertificateError("a chain has no samples.")


@dataclass(frozen=True, slots=True)
class SetsProof(Tagged, kind="sets"):
    """A capacity as sets of criteria with their worth, and a sample that forces the error."""

    because: Natural | None
    capacity: tuple[tuple[tuple[Natural, ...], Number], ...]


@dataclass(frozen=True, slots=True)
class FlowProof(Tagged, kind="flow"):
    """The value of each sample, and parts (k, t, m, s, amount).

    A part says that if sample k gets at least t, then sample m gets at least s.
    """

    fitted: tuple[Number, ...]
    parts: tuple[tuple[Natural, Number, Natural, Number, Number], ...]

    def __post_init__(self) -> None:
        if any(amount < 0 for *_, amount in self.parts):
            raise CertificateError("an amount is negative.")


# -- certificates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _LearnedEnvelope(Envelope):
    ratings: str
    """Fingerprint of the ratings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFit(_LearnedEnvelope, answer="fits"):
    """The capacities between the envelopes give every sample its rating."""

    question: VersionSpaceAsked
    proof: EnvelopeProof


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingConflict(_LearnedEnvelope, answer="conflict"):
    """They do so without some samples, and removing fewer samples does not suffice."""

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
class BestFit(_Measured, answer="fitted"):
    """No capacity has a smaller error or cost."""

    question: TotalCost | LargestError
    proof: ForcedProof | SetsProof | FlowProof


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBetween(_Measured, answer="between"):
    """Some capacity has this total cost, and none costs less than `least`."""

    question: TotalCost
    least: Number
    proof: FlowProof


LearnedCertificate: TypeAlias = RatingsFit | RatingConflict | BestFit | CostBetween


def _see_costs(costs: tuple[Number, ...]) -> None:
    if any(cost < 0 for cost in costs):
        raise CertificateError("a cost is negative.")


@dataclass(frozen=True)
class RatedSamples:
    """Values from 0 to `top`, one row per sample, and a rating for each row.

    On a scale of named levels the numbers are ranks. Otherwise the number v means v / top, and all numbers
    are even, so that half of a difference is also an integer.
    """

    rows: tuple[tuple[int, ...], ...]
    ratings: tuple[int, ...]
    weights: tuple[Fraction, ...]
    top: int
    criteria: tuple[str | int, ...]
    levels: tuple[str, ...] | None

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of all data."""
        about = dumps([self.criteria, self.levels, [str(weight) for weight in self.weights]])
        digest = sha256(about.encode())
        for numbers in ((self.top,), self.ratings, *self.rows):
            digest.update(b"%x," * len(numbers) % numbers)
        return digest.hexdigest()

    @property
    def unit(self) -> int:
        """The value 1 in these integers: one level, or the length of the scale."""
        return self.top if self.levels is None else 1
