"""What came out of an import: the exact network, for each layer what was flipped, what is constant and
whether zero can occur, and what was compared with the source.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.reprs import Sentences, ShortRepr

__all__ = ["ImportProof", "ImportReport", "LayerReport", "SignLocation", "many"]

_NEAR = 1e-4


@dataclass(frozen=True)
class LayerReport(Sentences):
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
    carried: int = 0
    """Neurons that are none of the file's: they carry a value past this layer to where a shortcut ends."""

    def __str__(self) -> str:
        if self.kind.startswith("QuantizedNeuron"):  # steps: there is no sign
            return f"{self.where}: {self.neurons} neurons of several levels, {self.constant} constant"
        tied = f"zero can occur in {self.ties}" if self.ties else "zero cannot occur"
        close = f", nearest sum {self.nearest:.2g} from turning" if self.nearest < _NEAR else ""
        return (
            f"{self.where}: {self.neurons} neurons, {self.flipped} flipped, "
            f"{self.constant} constant, {tied}{close}"
            f"{f'; {self.carried} of them carry a value of a shortcut' if self.carried else ''}"
        )


@dataclass(frozen=True, eq=False)
class SignLocation(ShortRepr):
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
    part: tuple[int, int] | None = None
    """First and last neuron of the layer, from 0 and not included, that are this sign's, where others carry
    values past it; None: all.
    """
    report: int | None = None
    """Which of the import's layer reports is about this sign, from 0; None of signs of bits."""

    @property
    def neurons(self) -> slice:
        """The neurons of the layer that are this sign's."""
        return slice(None) if self.part is None else slice(*self.part)


@dataclass(frozen=True)
class ImportProof(Sentences):
    """What was compared, on how many samples, and by whom."""

    judges: tuple[str, ...]
    """The names of the interpreters."""
    samples: int
    near: int
    """Of these, samples beside the threshold of a neuron."""
    layers: int
    """Hidden layers whose bits were compared."""
    unseen: tuple[str, ...]
    """Operations whose hidden bits no interpreter shows; they were compared through what follows only."""
    bits: int
    scores: int
    rounded: int
    """Bits left out because the interpreter's value was within its own float rounding of 0,
    or sign(0) was declared.
    """
    left: int
    """Samples whose scores were left out for this reason."""
    levels: bool = False
    """Whether what was compared as `bits` are levels."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {**asdict(self), "judges": list(self.judges), "unseen": list(self.unseen)}

    def __str__(self) -> str:
        word, edge = ("level", "a step") if self.levels else ("bit", "0")
        hidden = (
            f"{many(self.bits, f'hidden {word}')} of {many(self.layers, 'layer')} and " if self.layers else ""
        )
        out = (
            f"; left out within rounding of {edge}: {many(self.rounded, word)}, {many(self.left, 'sample')}"
            if self.rounded or self.left
            else ""
        )
        unseen = f"; not seen inside: {', '.join(self.unseen)}" if self.unseen else ""
        who = " and ".join(self.judges)
        return (
            f"equal to {who} on {many(self.samples, 'sample')}, {self.near:,} of them near thresholds: "
            f"{hidden}{self.scores:,} scores{out}{unseen}"
        )


@dataclass(frozen=True, eq=False)
class ImportReport(Sentences):
    """An exact network read from elsewhere, with the report of its import."""

    network: Network
    layers: tuple[LayerReport, ...]
    remarks: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    """Shape of one sample as the file has it; the network's features are in the same order."""
    signs: tuple[SignLocation, ...] = ()
    proof: ImportProof | None = None
    """What was compared with the source before the import returned; None: nothing was."""
    error: float = 0.0
    """How far scores can be from those of the source, where roots behind the last sign were rounded."""
    operations_judged_alone: int = 0
    """Operations of the source that were compared, each alone, with the framework's own, at, beside and
    beyond every number where they change.
    """

    @property
    def reported(self) -> Network:
        """The network, which has this report as its `report`."""
        return self.network.with_report(self)

    def data(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "network": str(self.network),
            "fingerprint": self.network.fingerprint,
            "layers": [
                {**asdict(layer), "nearest": None if layer.nearest == inf else layer.nearest}
                for layer in self.layers
            ],
            "remarks": list(self.remarks),
            "proof": None if self.proof is None else self.proof.data(),
            "operations_judged_alone": self.operations_judged_alone,
        }

    def __str__(self) -> str:
        proof = "nothing was compared with the source" if self.proof is None else str(self.proof)
        if self.operations_judged_alone:
            proof += f"; {many(self.operations_judged_alone, 'operation')} compared alone"
        return "\n".join([str(self.network), *(f"  {line}" for line in (*self.layers, *self.remarks, proof))])


def many(count: int, what: str) -> str:
    """A count with its word, in the plural unless it is one."""
    ends = {"s": what + "es", "y": what[:-1] + "ies"}
    return f"{count:,} {what if count == 1 else ends.get(what[-1], what + 's')}"
