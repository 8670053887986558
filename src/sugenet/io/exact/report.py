"""What came out of an import: the exact network, and for each layer what was flipped, what is constant, and
whether zero can occur.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network

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
        return (
            f"{self.where}: {self.neurons} neurons, {self.flipped} flipped, "
            f"{self.constant} constant, {tied}{close}"
        )


@dataclass(frozen=True, eq=False)
class SignPlace:
    """What became of one sign of the chain."""

    number: int
    """Among the signs of the chain, from 0."""
    where: str
    """The operation whose values it takes the sign of."""
    layer: int | None
    """The network's layer, from 0, whose bits are this sign's;
    None for signs on the inputs and signs of bits.
    """
    places: npt.NDArray[np.intp] | None = None
    """For each neuron of the layer its place among the sign's values; None: in order."""


@dataclass(frozen=True, eq=False)
class Imported:
    """An exact network read from elsewhere, with the report of its import."""

    network: Network
    layers: tuple[LayerReport, ...]
    remarks: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    """Shape of one sample as the file has it; the network's features are in the same order."""
    signs: tuple[SignPlace, ...] = ()
    proof: ImportProof | None = None
    """What was compared with the source before the import returned; None: nothing was."""

    def arrange(self, X: Any) -> npt.NDArray[Any]:
        """Samples as flat rows.

        Only for programs written when networks had another order than their files; `network` reads X itself.
        """
        return self.network.encoder.rows(X)

    def arrange_query(self, query: Any) -> Any:
        """The query as it is, for the same programs: a query about the file is one about `network`."""
        return query

    def data(self) -> dict[str, Any]:
        """The report as JSON data."""
        rows = [
            {**asdict(layer), "nearest": None if layer.nearest == inf else layer.nearest}
            for layer in self.layers
        ]
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
