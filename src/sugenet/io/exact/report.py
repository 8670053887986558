"""The report of an import: the exact network, a report per layer, and the comparison with the source. The
layer reports list flipped and constant channels, and channels where zero can occur.
"""

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from sugenet.nn import Network
from sugenet.nn.arrays import Indices
from sugenet.reprs import Sentences, ShortRepr

__all__ = ["ImportProof", "ImportReport", "LayerReport", "SignLocation", "many"]

_NEAR = 1e-4


@dataclass(frozen=True)
class LayerReport(Sentences):
    """Observations about one layer."""

    where: str
    kind: str
    neurons: int
    flipped: int
    """Number of channels whose weights were reversed by a negative scale."""
    constant: int
    ties: int
    """Number of channels for which a value of exactly zero can occur."""
    nearest: float = inf
    """Distance of the nearest possible sum to the point where a sign changes, in units of the file's sum."""
    carried: int = 0
    """Number of neurons that are not in the file. They carry a value past this layer to the end of a
    shortcut.
    """

    def __str__(self) -> str:
        if self.kind == "Gate":
            more = f", {self.carried} of them carry a value" if self.carried else ""
            return f"{self.where}: {self.neurons:,} neurons, {self.constant} constant{more}"
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
    """The location of one sign of the chain in the network."""

    number: int
    """Index among the signs of the chain, from 0."""
    where: str
    """The operation whose values it takes the sign of."""
    layer: int | None
    """Index of the layer with the bits of this sign, from 0; None for signs of the inputs and signs of
    bits.
    """
    places: Indices | None = None
    """For each neuron of the layer, its position among the values of the sign; None: in order."""
    part: tuple[int, int] | None = None
    """Range of neurons of the layer that belong to this sign, if others carry values past it: first from 0,
    end not included. None: all.
    """
    report: int | None = None
    """Index of the layer report about this sign, from 0; None for signs of bits."""

    @property
    def neurons(self) -> slice:
        """The neurons of the layer that belong to this sign."""
        return slice(None) if self.part is None else slice(*self.part)


@dataclass(frozen=True)
class ImportProof(Sentences):
    """The extent of a comparison: its interpreters, samples and layers."""

    interpreters: tuple[str, ...]
    """The names of the interpreters."""
    samples: int
    near: int
    """Number of these samples next to the threshold of a neuron."""
    layers: int
    """Number of hidden layers whose bits were compared."""
    unseen: tuple[str, ...]
    """Operations whose hidden bits no interpreter shows. They were compared only through later operations."""
    bits: int
    scores: int
    rounded: int
    """Number of bits left out because the interpreter's value was within its own float rounding of 0, or
    sign(0) was declared.
    """
    left: int
    """Number of samples whose scores were left out for this reason."""
    levels: bool = False
    """Whether `bits` are levels."""

    def data(self) -> dict[str, Any]:
        """Return the proof as JSON data."""
        return {**asdict(self), "interpreters": list(self.interpreters), "unseen": list(self.unseen)}

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
        who = " and ".join(self.interpreters)
        return (
            f"equal to {who} on {many(self.samples, 'sample')}, {self.near:,} of them near thresholds: "
            f"{hidden}{self.scores:,} scores{out}{unseen}"
        )


@dataclass(frozen=True, eq=False)
class ImportReport(Sentences):
    """An exact network from another tool, with the report of its import."""

    network: Network
    layers: tuple[LayerReport, ...]
    remarks: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    """Shape of one sample in the file. The features of the network are in the same order."""
    signs: tuple[SignLocation, ...] = ()
    proof: ImportProof | None = None
    """The comparison with the source before the import returned; None: not compared."""
    error: float = 0.0
    """Largest distance of scores to those of the source, if roots after the last sign were rounded."""
    operations_compared_alone: int = 0
    """Number of operations of the source that were compared one by one with those of the framework: at, next
    to and beyond every number where they change.
    """

    @property
    def reported(self) -> Network:
        """The network, with this report as its `report`."""
        return self.network.with_report(self)

    def data(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "network": str(self.network),
            "fingerprint": self.network.fingerprint,
            "layers": [
                {**asdict(layer), "nearest": None if layer.nearest == inf else layer.nearest}
                for layer in self.layers
            ],
            "remarks": list(self.remarks),
            "proof": None if self.proof is None else self.proof.data(),
            "operations_compared_alone": self.operations_compared_alone,
        }

    def __str__(self) -> str:
        proof = "nothing was compared with the source" if self.proof is None else str(self.proof)
        if self.operations_compared_alone:
            proof += f"; {many(self.operations_compared_alone, 'operation')} compared alone"
        return "\n".join([str(self.network), *(f"  {line}" for line in (*self.layers, *self.remarks, proof))])


def many(count: int, what: str) -> str:
    """Return a count with its noun, in the plural unless it is one."""
    ends = {"s": what + "es", "y": what[:-1] + "ies"}
    return f"{count:,} {what if count == 1 else ends.get(what[-1], what + 's')}"
