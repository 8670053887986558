"""An exact network against its reference: equal in every layer on every sample, or the first neuron that
differs, with both numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, Steps
from sugenet.brief import Said
from sugenet.errors import FileError
from sugenet.io.exact.relaxed import PartlyImported
from sugenet.io.exact.report import Imported, many
from sugenet.io.proof.tally import SHOWN, ClassDifference, Difference, NearTie, Tally
from sugenet.io.references import reference_of

__all__ = ["Agreement", "source_numbers", "verify_against"]

_CHUNK = 256


@dataclass(frozen=True)
class Agreement(Said):
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
        The network, or what an importer gave.
    reference
        A PyTorch module, the path of an .onnx file, packed by gzip or not (both are compared layer by
        layer), an ONNX Runtime session, or a function from a batch to scores or classes. A file that takes
        a fixed number of samples at once is run in blocks of so many.
    X
        Raw samples, one row each, as the network reads them.
    prepare
        What turns raw samples into the reference's input. Unless given, what the importer knows: ``start +
        step * x`` of the inputs that were declared, as float32, in the shape of the file's samples. For
        another: ``lambda x: (x / 255).reshape(-1, 1, 28, 28).astype("float32")``.

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
    if isinstance(network, PartlyImported):
        raise FileError(
            "only a part of the source was made exact. Compare the whole yourself: found.scores(X) or "
            "found.predict(X) with what the source gives."
        )
    exact = network.network if isinstance(network, Imported) else network
    rows = exact.encoder.rows(X)
    if rows.ndim != 2 or not len(rows):
        raise FileError(f"X has shape {rows.shape}, but a batch of samples is needed: (samples, ...).")
    given = np.asarray(X) if hasattr(X, "ndim") or isinstance(X, list | tuple) else rows
    shaped = given if given.ndim > 2 and len(given) == len(rows) else rows
    shape = exact.encoder.shape or shaped.shape[1:]
    run, remark = reference_of(reference)
    samples = shaped if prepare is not None else rows
    ready = prepare or (lambda x: source_numbers(network, x).reshape(len(x), *shape))
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


def source_numbers(network: Network | Imported, rows: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Raw samples in the numbers of the source, as float32; a network that has none has its own.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from sugenet.bnn import Encoder, Head, Source
    >>> net = Network(Encoder.of_bits(3), [], Head([[1, 1, 1], [-1, 1, 1]]), source=Source(0, Fraction(1, 2)))
    >>> source_numbers(net, np.array([[-1, 0, 1]]))
    array([[0. , 0. , 0.5]], dtype=float32)
    """
    exact = network.network if isinstance(network, Imported) else network
    source = exact.source
    on = [isinstance(coding, Steps) and coding.bipolar for coding in exact.encoder.codings]
    if source.is_plain and (exact is network or not any(on)):
        return rows.astype(np.float32)
    raw = np.where(on, rows > 0, rows)  # a bit is the raw number 0 or 1, however it is written
    if isinstance(source.step, tuple):
        moved = [source.inputs(row) for row in raw.tolist()]
        return np.array([[float(value) for value in row] for row in moved], np.float32).reshape(raw.shape)
    seen, places = np.unique(raw.astype(np.float64), return_inverse=True)
    assert isinstance(source.start, Fraction)
    numbers = np.array([float(source.start + source.step * Fraction(x)) for x in seen.tolist()])
    return numbers[places].reshape(rows.shape).astype(np.float32)
