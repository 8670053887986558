"""`each`, the place of the sample in a question about a whole data set, and what questions about one sample
have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self, final

from sugenet.bnn import Network
from sugenet.bnn.laws import some_obey
from sugenet.brief import Brief
from sugenet.errors import QuestionError
from sugenet.problem.boxes import Box, plain_row
from sugenet.problem.neighbourhood import Neighbourhood
from sugenet.reason.questions.names import raw_of

__all__ = ["OfSample", "Predict", "each", "sample_in", "see_that_it_obeys", "see_that_some_obey"]


@final
class _Each:
    """The type of `each`, of which there is one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "each"

    def __reduce__(self) -> str:
        return "each"


each: Final = _Each()
"""Stands where the sample of a question stands, when it is asked of every sample of a data set."""


def sample_in(network: Network, data: Any) -> Any:
    """A sample from its JSON."""
    return each if data == "each" else raw_of(network, data)


def see_that_it_obeys(network: Network, values: Sequence[Any]) -> None:
    """Refuse a sample that cannot occur itself."""
    broken = network.domain.broken(values)
    if broken is not None:
        raise QuestionError(
            f'the sample itself breaks the law "{broken}", so it cannot occur. Ask without that law.'
        )


def see_that_some_obey(network: Network, near: Neighbourhood, box: Box) -> None:
    """Refuse a question about inputs within limits none of which obeys the laws, as far as that is seen."""
    clauses, ways = [clause for law in network.domain.laws for clause in law.clauses], near.moves.ways
    states = {f: (own, *(way.state for way in ways.get(f, ()))) for f, own in enumerate(near.states)}
    if not some_obey(clauses, near.network.encoder, states):
        limits = f" with {box}" if box.limits else ""
        raise QuestionError(f"there are no {network.domain}{limits}, so there is nothing to ask about.")


class OfSample(Brief):
    """What questions about one sample have in common."""

    sample: Any
    region: Any

    def about(self, x: Any) -> Self:
        """The same question about one sample.

        Examples
        --------
        >>> from sugenet import Hamming, Robust, each
        >>> Robust(each, Hamming(2)).about([1, -1])
        Robust(sample=[1, -1], region=Hamming(radius=2), target=None, ties='lowest')
        """
        return replace(self, sample=x)  # type: ignore[type-var]  # all of them are dataclasses

    def values(self, network: Network) -> list[Any]:
        """The sample as a list in the order of the features."""
        if self.sample is each:
            raise QuestionError(
                "each stands for every sample of a data set, and here one is asked about. "
                "Give a sample, or ask all of them: sweep(network, X, question)."
            )
        kept = self.__dict__.get("_values")
        if kept is None or kept[0] is not network.encoder:
            kept = self.__dict__["_values"] = (network.encoder, tuple(network.encoder.values(self.sample)))
        return list(kept[1])

    def sample_data(self, network: Network) -> Any:
        """The sample as JSON: its values, or the word each."""
        return "each" if self.sample is each else plain_row(self.values(network), network)

    def described_region(self, network: Network) -> str:
        """The region in words; a box without limits leaves every feature as it is."""
        region: Any = self.region
        return region.words(network) if isinstance(region, Box) and region.limits else str(region)


@dataclass(frozen=True, eq=False)
class Predict(OfSample):
    """Which class a sample has, by which match counts."""

    kind: ClassVar[str] = "predict"

    sample: Any

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {"kind": self.kind, "sample": self.sample_data(network)}

    @classmethod
    def of(cls, network: Network, data: Any) -> Self:
        """The question from its JSON."""
        return cls(sample_in(network, data["sample"]))

    def describe(self, network: Network) -> str:  # noqa: ARG002 as the other questions
        """The question in words."""
        return f"the class of {'each' if self.sample is each else 'the'} sample"
