"""What came out of an import: the exact network, and for each layer what was flipped, what is constant, and whether zero can occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.errors import QuestionError
from sugenet.reason.query import Box, Case, Query

if TYPE_CHECKING:
    from sugenet.io.proof import ImportProof

__all__ = ["Imported", "LayerReport", "SignPlace"]

_NEAR = 1e-4


@dataclass(frozen=True)
class LayerReport:
    """What folding noticed about one layer."""

    where: str
    kind: str
    neurons: int
    flipped: int
    """Channels whose weights were reversed by a negative scale."""
    constant: int
    ties: int
    """Channels for which a value of exactly zero can occur."""
    nearest: float = inf
    """How far the nearest possible sum is from where a sign turns, in units of the file's sum."""

    def __str__(self) -> str:
        tied = f"zero can occur in {self.ties}" if self.ties else "zero cannot occur"
        close = f", nearest sum {self.nearest:.2g} from turning" if self.nearest < _NEAR else ""
        return f"{self.where}: {self.neurons} neurons, {self.flipped} flipped, {self.constant} constant, {tied}{close}"


@dataclass(frozen=True, eq=False)
class SignPlace:
    """What became of one sign of the chain."""

    number: int
    """Among the signs of the chain, from 0."""
    where: str
    """The operation whose values it takes the sign of."""
    layer: int | None
    """The network's layer, from 0, whose bits are this sign's; None for signs on the inputs and signs of bits."""
    places: npt.NDArray[np.intp] | None = None
    """For each neuron of the layer its place among the sign's values; None: in order."""


@dataclass(frozen=True, eq=False)
class Imported:
    """An exact network read from elsewhere, with the report of its import."""

    network: Network
    layers: tuple[LayerReport, ...]
    remarks: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    """Shape of one sample as the file has it; the network reads samples flat, channel by channel."""
    channels_last: bool = False
    start: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    """A raw number x of the network is ``start + step * x`` in the file."""
    signs: tuple[SignPlace, ...] = ()
    proof: ImportProof | None = None
    """What was compared with the source before the import returned; None: nothing was."""

    def arrange(self, X: Any) -> npt.NDArray[Any]:
        """Samples in the shape of the file, as the flat rows that the network reads."""
        array = np.asarray(X)
        if self.channels_last and len(self.shape) == 3:
            c, h, w = self.shape
            return np.ascontiguousarray(array.reshape(-1, h, w, c).transpose(0, 3, 1, 2)).reshape(-1, c * h * w)
        return array.reshape(len(array), -1)

    @property
    def places(self) -> npt.NDArray[np.intp]:
        """For each flat input of the network, its place in a flat sample of the file."""
        return np.asarray(self.arrange(np.arange(prod(self.shape)).reshape(1, *self._file_shape))[0], dtype=np.intp)

    @property
    def _file_shape(self) -> tuple[int, ...]:
        return (*self.shape[1:], self.shape[0]) if self.channels_last and len(self.shape) == 3 else self.shape

    def arrange_query(self, query: Query) -> Query:
        """A query about the file, as one about the network: its inputs in the order and the numbers that the network reads.

        Where something was left out behind the scores, or the scores were rounded, only comparisons of two outputs mean the same.
        """
        parts = [part for case in query.cases for conjunction in case.condition for part in conjunction]
        if self.remarks and not all(part.bound == 0 and sorted(value for _, value in part.terms) == [-1, 1] for part in parts):
            raise QuestionError(f"the query does more than compare outputs, and the network's are not the file's: {self.remarks[0]}.")
        cases = []
        for case in query.reordered(self.places.tolist()).cases:
            ends = [[(value - self.start) / self.step for value in row] for row in (case.box.lower, case.box.upper)]
            cases.append(Case(Box(*(ends if self.step > 0 else reversed(ends))), case.condition))
        return Query(query.inputs, query.outputs, cases)

    def restore(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """A flat input of the network, such as a counterexample, in the order and the numbers of the file."""
        plain = self.start == 0 and self.step == 1
        values = {
            place: value if plain else self.start + self.step * Fraction(value)
            for place, value in zip(self.places.tolist(), x, strict=True)
        }
        return tuple(values[place] for place in range(len(values)))

    def data(self) -> dict[str, Any]:
        """The report as JSON data."""
        rows = [{**asdict(layer), "nearest": None if layer.nearest == inf else layer.nearest} for layer in self.layers]
        return {
            "network": str(self.network),
            "fingerprint": self.network.fingerprint,
            "layers": rows,
            "remarks": list(self.remarks),
            "proof": None if self.proof is None else self.proof.data(),
        }

    def __str__(self) -> str:
        proof = "nothing was compared with the source" if self.proof is None else str(self.proof)
        return "\n".join([str(self.network), *(f"  {line}" for line in (*self.layers, *self.remarks, proof))])
