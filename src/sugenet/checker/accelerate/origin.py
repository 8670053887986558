"""Networks of the package as the checker sees them, in the same form and arrays as from their files.

To be ensured: the form is that of the network's file (`network`; a test compares the two).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sugenet.checker.accelerate.arrays import (
    Backed,
    Gathering,
    Layer,
    Picking,
    Sliding,
    Summing,
    Taps,
    sliding_quantized,
    summing_quantized,
)
from sugenet.checker.network import (
    NEVER,
    Categories,
    Coding,
    HeadWeights,
    LayerForm,
    NetworkForm,
    Numbers,
    Pooled,
    RealNumbers,
    Summed,
)
from sugenet.errors import CertificateError
from sugenet.nn import Law, Network, OneHot, RealLayer, SparseLayer, Steps
from sugenet.nn import Real as RealCoding

__all__ = ["Original", "form_of"]


@dataclass(frozen=True)
class Original(Backed):
    """The form of a network of the package."""

    origin: Any = field(default=None, compare=False)

    def among(self, classes: Sequence[int]) -> NetworkForm:
        """Return the network restricted to some classes."""
        return form_of(self.origin.with_classes(classes), plain=self.is_plain)

    def see_texts(self, laws: Sequence[Any]) -> None:
        """Check that the words of laws agree with their clauses."""
        for law in laws:
            read = Law(law.text, self.origin.encoder)
            clauses = {frozenset(map(tuple, clause)) for clause in read.clauses}
            if read.text != law.text or clauses != {frozenset(clause) for clause in law.clauses}:
                raise CertificateError(f"the clauses of the law {law.text[:60]!r} do not match its text.")


def form_of(network: Network, *, plain: bool = False) -> Original:
    """Return the form of a network; unless `plain`, its samples are evaluated as arrays."""
    if not isinstance(network, Network):
        raise CertificateError(
            f"a certificate is about a network or ratings, not about a {type(network).__name__}."
        )
    known: dict[int, Coding] = {}
    for coding in network.encoder.codings:
        if id(coding) not in known:
            known[id(coding)] = _coding(coding)
    head = network.head

    def arrays() -> tuple[Layer, ...]:
        return tuple(map(_arrays, network.layers))

    def written() -> tuple[LayerForm, ...]:
        return tuple(_written(layer) for layer in network.layers)

    return Original(
        tuple(network.encoder.names),
        network.classes,
        tuple(known[id(coding)] for coding in network.encoder.codings),
        network.reads_levels,
        HeadWeights(head.weights.tolist(), head.scale, head.bias, tuple(head.sizes.tolist())),
        written,
        lambda _classes, _head: network.fingerprint,
        make_arrays=arrays,
        reads_silent=any(getattr(coding, "silent", ()) for coding in known.values()),
        is_plain=plain,
        origin=network,
    )


def _coding(coding: Any) -> Coding:
    if isinstance(coding, OneHot):
        return Categories(coding.categories)
    if isinstance(coding, RealCoding):
        return RealNumbers((), coding.low, coding.high)
    assert isinstance(coding, Steps)
    return Numbers(coding.cuts, coding.low, coding.high, coding.whole, coding.bipolar, coding.silent)


def _arrays(layer: Any) -> Layer:
    """Return a layer of the package as arrays."""
    tops = layer.input_tops
    if isinstance(layer, SparseLayer):
        return Gathering(layer.factors, layer.thresholds, tops, layer.reads)
    if layer.window is None:
        make = Summing if layer.is_binary else summing_quantized
        return make(layer.weights, layer.thresholds, tops)
    window = Taps(layer.window.shape, layer.window.taps)
    if layer.every is not None:
        return Picking(window, layer.every, layer.height)
    kernels = layer.weights.reshape(*layer.weights.shape[:2], -1)
    if not layer.is_binary:
        return sliding_quantized(kernels, layer.steps, tops, window, layer.groups, layer.pad)
    return Sliding(kernels, layer.tau.reshape(-1, 1), tops, window, layer.groups)


def _written(layer: Any) -> LayerForm:
    """Return the neurons of a layer, written out."""
    if isinstance(layer, RealLayer):
        pairs = zip(layer.reads(), layer.theta, strict=True)
        neurons: list[Any] = [_summed(inputs.tolist(), row.tolist(), [ends]) for (inputs, row), ends in pairs]
        shape = None if layer.window is None else layer.window.shape
        return LayerForm(tuple(neurons), 1, None, shape)
    made = _arrays(layer)
    shape = None if isinstance(made, Summing | Gathering) else made.window.shape
    if isinstance(made, Picking):
        size = made.window.shape[1] * made.window.shape[2]
        neurons = [
            Pooled(tuple(channel * size + tap for tap in taps if tap >= 0), bool(every))
            for channel, every in enumerate(made.every.tolist())
            for taps in made.window.taps.tolist()
        ]
        return LayerForm(tuple(neurons), made.top, layer.output_shape, shape)
    steps = made.steps.tolist()
    if not layer.is_binary:
        never = np.repeat(layer.steps == NEVER, made.outputs // len(layer.steps), axis=0)
        steps = np.where(never, np.inf, made.steps.astype(object)).tolist()
    neurons = [
        _summed(indices, row, [tau + low for tau in taus])
        for (indices, row), taus, low in zip(_reads(made), steps, made.lowest.tolist(), strict=True)
    ]
    maps = None if layer.is_binary else layer.output_shape
    return LayerForm(tuple(neurons), made.top, maps, shape)


def _reads(layer: Summing | Sliding | Gathering) -> Iterator[tuple[Sequence[int], list[int]]]:
    """Yield the positions that each neuron reads, and their weights."""
    if isinstance(layer, Summing):
        yield from ((range(layer.inputs), row) for row in layer.weights.tolist())
        return
    if isinstance(layer, Gathering):
        yield from zip(layer.reads.tolist(), layer.weights.tolist(), strict=True)
        return
    channels, height, width = layer.window.shape
    per, out = channels // layer.groups, len(layer.weights) // layer.groups
    for number, kernel in enumerate(layer.weights.tolist()):
        maps = [(number // out * per + c) * height * width for c in range(per)]
        for taps in layer.window.taps.tolist():
            inside = [k for k, tap in enumerate(taps) if tap >= 0]
            indices = [start + taps[k] for start in maps for k in inside]
            yield indices, [row[k] for row in kernel for k in inside]


def _summed(inputs: Any, row: list[int], thresholds: Any) -> Summed:
    kept = [(index, weight) for index, weight in zip(inputs, row, strict=True) if weight]
    return Summed(tuple(p for p, _ in kept), tuple(w for _, w in kept), tuple(thresholds))
