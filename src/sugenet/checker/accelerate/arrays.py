"""Networks of the package as the checker sees them: the same form, with arrays behind it for compiled rules.

To be ensured: the form is that of the network's file (`network`; a test compares the two). What is evaluated
here goes through the layers as the definition says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import ConvLayer, Network, OneHot, PoolLayer, RealLayer, Steps
from sugenet.bnn import Real as RealCoding
from sugenet.bnn.lawful import lawful_parts
from sugenet.bnn.laws import Law, Literal
from sugenet.bnn.layer import gives, tops_of
from sugenet.bnn.stairs import StairConv, StairLayer
from sugenet.bnn.stopwatch import Stopwatch
from sugenet.checker.network import (
    NEVER,
    Categories,
    Clause,
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

__all__ = ["Backed", "cuts_of", "form_of", "inputs_of", "origin_of"]


@dataclass(frozen=True)
class Backed(NetworkForm):
    """A network with its arrays."""

    origin: Any = None
    """The `Network`; with laws, the one that has a class for broken ones."""

    def scores(self, states: Sequence[int]) -> list[Fraction]:
        """Exact scores of the classes, layer by layer."""
        values = inputs_of(self.origin, [states])
        for layer in self.origin.layers:
            values = layer.activity(values)
        head = self.origin.head
        return list(head.scores(head.match_counts(values))[0])

    def among(self, classes: Sequence[int]) -> NetworkForm:
        """The network that chooses among some classes alone."""
        return form_of(self.origin.among(classes))

    def see_texts(self, laws: Sequence[Any]) -> None:
        """See that laws say in words what their clauses say."""
        for law in laws:
            read = Law(law.text, self.origin.encoder)
            clauses = {frozenset(map(tuple, clause)) for clause in read.clauses}
            if read.text != law.text or clauses != {frozenset(clause) for clause in law.clauses}:
                raise CertificateError(
                    f"the clauses of the law {law.text[:60]!r} do not say what its text says."
                )

    def obeying(self, clauses: Sequence[Clause]) -> NetworkForm:
        """The network with finer features, so that clauses can be told, and a last class for broken ones."""
        form = super().obeying(clauses)
        if form is self:
            return form
        cut = self.origin.cut
        laws: Any = [_Lawful(form.clauses)]
        encoder, layers, head = lawful_parts(cut.encoder, cut.layers, cut.head, laws)
        return replace(form, origin=Network(encoder, layers, head))  # type: ignore[call-arg]


class _Lawful:
    """Clauses as `lawful_parts` reads those of a law."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.clauses = [frozenset(Literal(*literal) for literal in clause) for clause in clauses]


def form_of(network: Network) -> Backed:
    """The form of a network."""
    Stopwatch()  # from now on it is known how long anything is compiled
    known: dict[int, Coding] = {}
    for coding in network.encoder.codings:
        if id(coding) not in known:
            known[id(coding)] = _coding(coding)
    head = network.head
    weights = HeadWeights(head.weights.tolist(), head.scale, head.bias, tuple(head.sizes.tolist()))
    return Backed(
        tuple(network.encoder.names),
        network.classes,
        tuple(known[id(coding)] for coding in network.encoder.codings),
        network.reads_levels,
        weights,
        lambda: tuple(_layer(layer) for layer in network.layers),
        lambda _classes, _head: network.fingerprint,
        origin=network,
    )


def _coding(coding: Any) -> Coding:
    if isinstance(coding, OneHot):
        return Categories(coding.categories)
    if isinstance(coding, RealCoding):
        return RealNumbers((), coding.low, coding.high)
    assert isinstance(coding, Steps)
    return Numbers(coding.cuts, coding.low, coding.high, coding.whole, coding.bipolar, coding.silent)


def _layer(layer: Any) -> LayerForm:
    """The neurons of a layer, written out."""
    top = gives(layer) or 1
    if isinstance(layer, PoolLayer):
        size = layer.window.shape[1] * layer.window.shape[2]
        neurons: list[Any] = [
            Pooled(tuple(channel * size + tap for tap in taps if tap >= 0), bool(every))
            for channel, every in enumerate(layer.every.tolist())
            for taps in layer.window.taps.tolist()
        ]
        return LayerForm(tuple(neurons), top, layer.output_shape, layer.window.shape)
    if isinstance(layer, RealLayer):
        pairs = zip(layer.reads(), layer.theta, strict=True)
        neurons = [_summed(inputs.tolist(), row.tolist(), [ends]) for (inputs, row), ends in pairs]
        shape = None if layer.window is None else layer.window.shape
        return LayerForm(tuple(neurons), 1, None, shape)
    window = layer.window if isinstance(layer, ConvLayer | StairConv) else None
    rows = layer.dense().weights if isinstance(layer, StairConv) else None
    if rows is None:
        rows = layer.rows() if isinstance(layer, ConvLayer) else layer.weights
    if isinstance(layer, StairConv):  # thresholds on the sum over all taps, padding included
        taus, lowest = np.repeat(layer.steps, len(layer.window.taps), axis=0).tolist(), (-layer.rim).tolist()
    else:
        tops = np.array(tops_of(layer) or [1] * rows.shape[1], np.int64)
        taus, lowest = layer.tau.reshape(len(rows), -1).tolist(), (np.minimum(rows, 0) @ tops).tolist()
    never = NEVER if isinstance(layer, StairLayer | StairConv) else None
    neurons = [
        _summed(
            range(len(row)),
            row,
            [np.inf if tau == never else tau + low for tau in own],
        )
        for row, own, low in zip(rows.tolist(), taus, lowest, strict=True)
    ]
    maps = layer.output_shape if isinstance(layer, StairConv) else None
    return LayerForm(tuple(neurons), top, maps, None if window is None else window.shape)


def _summed(inputs: Any, row: list[int], thresholds: Any) -> Summed:
    kept = [(place, weight) for place, weight in zip(inputs, row, strict=True) if weight]
    return Summed(tuple(p for p, _ in kept), tuple(w for _, w in kept), tuple(thresholds))


def origin_of(network: NetworkForm) -> Network:
    """The network behind a form."""
    assert isinstance(network, Backed)
    found: Network = network.origin
    return found


def cuts_of(networks: Sequence[NetworkForm]) -> tuple[Network, ...]:
    """The networks of a setting over bits alone: staircases cut into their steps by the definition."""
    return tuple(origin_of(network).cut for network in networks)


def inputs_of(network: Network, states: Any) -> npt.NDArray[Any]:
    """What the first layer reads where features have given states, one row per input: levels, or bits."""
    rows = np.asarray(states, np.int64).reshape(-1, network.encoder.features)
    codings = network.encoder.codings
    if network.reads_levels:
        return rows
    if all(isinstance(coding, Steps) and coding.width == 1 for coding in codings):
        return np.asarray(rows > 0)
    parts = [np.zeros((len(rows), 0), bool)]
    for coding, column in zip(codings, rows.T[:, :, None], strict=True):
        places = np.arange(coding.width)
        parts.append(places < column if isinstance(coding, Steps) else places == column)
    return np.concatenate(parts, axis=1)
