"""An exact network against its reference: equal in every layer on every sample, or the first neuron that differs, with both numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.bnn.conv import ConvLayer, PoolLayer
from sugenet.errors import FileError
from sugenet.io.exact.report import Imported
from sugenet.io.references import Seen, Stage, reference_of

__all__ = ["Agreement", "ClassDifference", "Difference", "NearTie", "verify_against"]

_CHUNK = 256
_SHOWN = 20
_NEAR = 2.0**-20
"""Eight roundings of float32: a value this small beside the neuron's largest may have either sign in floats."""


@dataclass(frozen=True)
class Difference:
    """One neuron that is active here and not there, or the reverse. Layers and neurons count from 1, samples from 0."""

    layer: int
    neuron: int
    sample: int
    matches: int
    tau: int
    value: float
    """What the reference has before its sign."""
    reference: str
    """``on``, ``off``, or ``0`` where the reference's sign is neither."""

    def __str__(self) -> str:
        state = "on" if self.matches >= self.tau else "off"
        return (
            f"layer {self.layer}, neuron {self.neuron}, sample {self.sample}: {self.matches} matches against tau {self.tau}, so {state}; "
            f"the reference has {self.value:.6g} before its sign, so {self.reference}"
        )


@dataclass(frozen=True)
class NearTie:
    """A value before a sign that is so near to 0 that float rounding could turn it."""

    layer: int
    neuron: int
    sample: int
    value: float


@dataclass(frozen=True)
class ClassDifference:
    """A sample with another class; the exact scores are apart, so this is no matter of how a tie is broken."""

    sample: int
    network: int
    reference: int

    def __str__(self) -> str:
        return f"sample {self.sample}: class {self.network}, but {self.reference} in the reference"


@dataclass(frozen=True)
class Agreement:
    """What a comparison found; prints as a sentence."""

    samples: int
    layers: int
    """Hidden layers that could be compared."""
    neurons: int
    classes: int
    differences: int
    """Pairs of neuron and sample that differ."""
    first: Difference | None
    """Of the earliest layer: later ones may differ for no other reason."""
    class_differences: int
    first_class: ClassDifference | None
    ties: int
    """Samples with another class whose exact scores are equal: a tie that the reference breaks in another way."""
    near_ties: int
    nearest: tuple[NearTie, ...]
    """Up to 20 of them, the nearest first."""
    remark: str = ""

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differences and not self.class_differences

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return {**asdict(self), "equal": self.equal, "nearest": [asdict(tie) for tie in self.nearest]}

    def __str__(self) -> str:
        parts = [_many(self.layers, "layer"), _many(self.neurons, "neuron")] if self.layers else []
        what = ", ".join([*parts, _many(self.classes, "class")])
        ties = f"; {_many(self.ties, 'tie')} between classes" if self.ties else ""
        near = f"; {_many(self.near_ties, 'near tie')}" if self.layers else f"; outputs only ({self.remark})" if self.remark else ""
        if self.equal:
            return f"equal on {_many(self.samples, 'sample')}: {what}{near}{ties}"
        shown = "; ".join(str(found) for found in (self.first, self.first_class) if found is not None)
        counts = (
            f"{_many(self.differences, 'activity')} and {_many(self.class_differences, 'class')} of {_many(self.samples, 'sample')} differ"
        )
        return f"different: {counts} ({what}{near}{ties}). First: {shown}"


def verify_against(
    network: Network | Imported,
    reference: Any,
    X: Any,
    *,
    prepare: Callable[[npt.NDArray[Any]], Any] | None = None,
) -> Agreement:
    """Compare an exact network with what it was read from, on samples.

    Parameters
    ----------
    network
        The network, or what `lower` gave, which knows the shape of the file's samples.
    reference
        A PyTorch module, the path of an .onnx file (both are compared layer by layer), an ONNX Runtime session, or a function from a
        batch to scores or classes.
    X
        Raw samples, one row each, as the network reads them.
    prepare
        What turns raw samples into the reference's input; as float32 unless given. For pixels:
        ``lambda x: (x / 255).reshape(-1, 1, 28, 28).astype("float32")``.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], tau=[2])], Head([[-1], [1]]))
    >>> X = [[1, 1, 1], [1, -1, 1]]
    >>> print(verify_against(net, lambda x: (x @ [1, 1, -1] > 0).astype(int), X))
    equal on 2 samples: 2 classes; outputs only (a function shows its outputs only)
    >>> print(verify_against(net, lambda x: [0, 0], X))
    different: 0 activities and 1 class of 2 samples differ (2 classes; outputs only (a function shows its outputs only)). First: sample 0:
    class 1, but 0 in the reference
    """
    exact = network.network if isinstance(network, Imported) else network
    rows = exact.encoder.rows(X)
    shaped = np.asarray(X) if hasattr(X, "ndim") or isinstance(X, list | tuple) else rows
    samples = shaped if shaped.ndim > 2 and len(shaped) == len(rows) else rows
    if samples.ndim < 2 or not len(samples):
        raise FileError(f"X has shape {samples.shape}, but a batch of samples is needed: (samples, ...).")
    run, remark = reference_of(reference)
    ready = prepare or (lambda x: x.astype(np.float32))
    tally = _Tally(exact)
    for start in range(0, len(samples), _CHUNK):
        seen = run(np.asarray(ready(samples[start : start + _CHUNK])))
        tally.add(rows[start : start + _CHUNK], seen, start)
    return tally.result(len(samples), remark)


class _Tally:
    """Counts over the chunks."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.pairs: list[tuple[int, int, bool]] | None = None
        """Hidden layer, stage of the reference, and whether the stage lies pixel by pixel."""
        self.differences = self.class_differences = self.ties = self.near = 0
        self.first: tuple[int, int, int] | None = None
        self.found: Difference | None = None
        self.first_class: ClassDifference | None = None
        self.nearest: list[tuple[float, NearTie]] = []

    def add(self, rows: npt.NDArray[Any], seen: Seen, start: int) -> None:
        bits = self.network.hidden(rows)
        if self.pairs is None:
            self.pairs = _aligned(self.network, bits, seen.stages)
        for layer, number, last in self.pairs:
            if number >= len(seen.stages):
                raise FileError("the reference performs other operations for other samples. Compare it with a fixed program.")
            stage = _ordered(self.network, layer, seen.stages[number]) if last else seen.stages[number]
            self._layer(rows, layer, bits[layer], stage, start)
        self._classes(rows, seen.outputs, start)

    def _layer(self, rows: npt.NDArray[Any], layer: int, bits: npt.NDArray[np.bool_], stage: Stage, start: int) -> None:
        wrong = np.where(bits, ~stage.high, ~stage.low)
        self.differences += int(wrong.sum())
        if wrong.any() and (self.first is None or layer < self.first[0]):
            sample, neuron = (int(k) for k in np.argwhere(wrong)[0])
            self.first = layer, sample, neuron
            trace = self.network.trace(rows[sample]).layers[layer]
            state = "on" if stage.high[sample, neuron] else "off" if stage.low[sample, neuron] else "0"
            value = float(stage.before[sample, neuron])
            counts = int(trace.matches[neuron]), int(trace.tau[neuron])
            self.found = Difference(layer + 1, neuron + 1, start + sample, *counts, value, state)
        size = np.abs(stage.before)
        near = size <= _NEAR * size.max(axis=0, keepdims=True, initial=0)
        self.near += int(near.sum())
        for sample, neuron in np.argwhere(near)[:_SHOWN].tolist():
            value = float(stage.before[sample, neuron])
            self.nearest.append((abs(value), NearTie(layer + 1, neuron + 1, start + sample, value)))

    def _classes(self, rows: npt.NDArray[Any], outputs: npt.NDArray[Any], start: int) -> None:
        counts = self.network.match_counts(rows, engine="definition")
        mine = self.network.head.classes(counts)
        scores = outputs.reshape(len(rows), -1) if outputs.size == len(rows) * self.network.head.outputs else None
        theirs = outputs.reshape(-1) if scores is None else np.argmax(scores, axis=1)
        if len(theirs) != len(rows):
            raise FileError(
                f"the reference gave shape {outputs.shape} for {len(rows)} samples: {self.network.head.outputs} scores or one class each "
                "are needed."
            )
        for sample in np.flatnonzero(mine != theirs).tolist():
            exact = self.network.head.scores(counts[sample : sample + 1])[0]
            other = int(theirs[sample])
            if 0 <= other < len(exact) and exact[other] == exact[mine[sample]]:
                self.ties += 1
                continue
            self.class_differences += 1
            if self.first_class is None:
                self.first_class = ClassDifference(start + sample, int(mine[sample]), other)

    def result(self, samples: int, remark: str) -> Agreement:
        pairs = self.pairs or []
        neurons = sum(self.network.layers[layer].outputs for layer, _, _ in pairs)
        nearest = tuple(tie for _, tie in sorted(self.nearest, key=lambda pair: pair[0])[:_SHOWN])
        return Agreement(
            samples,
            len(pairs),
            neurons,
            self.network.head.outputs,
            self.differences,
            self.found,
            self.class_differences,
            self.first_class,
            self.ties,
            self.near,
            nearest,
            remark or ("" if pairs else "no layer of the reference could be matched"),
        )


def _ordered(network: Network, layer: int, stage: Stage) -> Stage:
    """A stage that lies pixel by pixel, channel by channel."""
    found = network.layers[layer]
    assert isinstance(found, ConvLayer | PoolLayer)
    channels, height, width = found.output_shape
    order = np.arange(found.outputs).reshape(height, width, channels).transpose(2, 0, 1).reshape(-1)
    return Stage(stage.name, stage.before[:, order], stage.high[:, order], stage.low[:, order])


def _aligned(network: Network, bits: list[npt.NDArray[np.bool_]], stages: tuple[Stage, ...]) -> list[tuple[int, int, bool]]:
    """Which stage is which layer: in order, of the same size, and such that as much as possible agrees.

    A reference has more signs than the network has layers (those on the inputs) or fewer (pooling is a layer of its own here).
    """
    best: list[list[tuple[float, list[tuple[int, int, bool]]]]] = [[(0.0, [])] * (len(stages) + 1) for _ in range(len(bits) + 1)]
    for i in range(1, len(bits) + 1):
        for j in range(1, len(stages) + 1):
            choices = [best[i - 1][j], best[i][j - 1]]
            for last in (False, True):
                share = _share(network, i - 1, bits[i - 1], stages[j - 1], last)
                if share is not None:
                    total, pairs = best[i - 1][j - 1]
                    choices.append((total + 1 + share, [*pairs, (i - 1, j - 1, last)]))
            best[i][j] = max(choices, key=lambda choice: choice[0])
    return best[-1][-1][1]


def _share(network: Network, layer: int, bits: npt.NDArray[np.bool_], stage: Stage, last: bool) -> float | None:
    """How much of a layer agrees with a stage; None where it cannot be the same."""
    if stage.high.shape != bits.shape:
        return None
    if last:
        if not isinstance(network.layers[layer], ConvLayer | PoolLayer):
            return None
        stage = _ordered(network, layer, stage)
    return float((stage.high == bits).mean())


def _many(count: int, what: str) -> str:
    plural = what + ("es" if what.endswith("s") else "s") if not what.endswith("y") else what[:-1] + "ies"
    return f"{count:,} {what if count == 1 else plural}"
