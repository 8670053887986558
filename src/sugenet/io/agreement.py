"""An exact network against its reference: equal in every layer on every sample, or the first neuron that
differs, with both numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.errors import FileError
from sugenet.io.exact.report import Imported, many
from sugenet.io.proof.tally import SHOWN, ClassDifference, Difference, NearTie, Tally
from sugenet.io.references import reference_of

__all__ = ["Agreement", "verify_against"]

_CHUNK = 256


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
    """Samples with another class whose exact scores, or the reference's outputs, are equal: a tie that is
    broken in another way.
    """
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
        parts = [many(self.layers, "layer"), many(self.neurons, "neuron")] if self.layers else []
        what = ", ".join([*parts, many(self.classes, "class")])
        ties = f"; {many(self.ties, 'tie')} between classes" if self.ties else ""
        near = (
            f"; {many(self.near_ties, 'near tie')}"
            if self.layers
            else f"; outputs only ({self.remark})"
            if self.remark
            else ""
        )
        if self.equal:
            return f"equal on {many(self.samples, 'sample')}: {what}{near}{ties}"
        shown = "; ".join(str(found) for found in (self.first, self.first_class) if found is not None)
        counts = (
            f"{many(self.differences, 'activity')} and {many(self.class_differences, 'class')} of "
            f"{many(self.samples, 'sample')} differ"
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
        A PyTorch module, the path of an .onnx file (both are compared layer by layer), an ONNX Runtime
        session, or a function from a batch to scores or classes.
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
    different: 0 activities and 1 class of 2 samples differ (2 classes; outputs only (a function shows its
    outputs only)). First: sample 0: class 1, but 0 in the reference
    """
    exact = network.network if isinstance(network, Imported) else network
    rows = exact.encoder.rows(X)
    shaped = np.asarray(X) if hasattr(X, "ndim") or isinstance(X, list | tuple) else rows
    samples = shaped if shaped.ndim > 2 and len(shaped) == len(rows) else rows
    if samples.ndim < 2 or not len(samples):
        raise FileError(f"X has shape {samples.shape}, but a batch of samples is needed: (samples, ...).")
    run, remark = reference_of(reference)
    ready = prepare or (lambda x: x.astype(np.float32))
    tally = Tally(exact, network.signs if isinstance(network, Imported) else ())
    for start in range(0, len(samples), _CHUNK):
        seen = run(np.asarray(ready(samples[start : start + _CHUNK])))
        part = rows[start : start + _CHUNK]
        tally.add(part, exact.hidden(part), seen, start)
        tally.add_classes(exact.match_counts(part, engine="definition"), seen.outputs, start)
    pairs = tally.pairs or []
    neurons = sum(exact.layers[pair.layer].outputs for pair in pairs)
    nearest = tuple(tie for _, tie in sorted(tally.nearest, key=lambda pair: pair[0])[:SHOWN])
    return Agreement(
        len(samples),
        len(pairs),
        neurons,
        exact.head.outputs,
        tally.differences,
        tally.found,
        tally.class_differences,
        tally.first_class,
        tally.ties,
        tally.near,
        nearest,
        remark or ("" if pairs else "no layer of the reference could be matched"),
    )
