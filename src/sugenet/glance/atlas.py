"""The neurons of a network: what each counts, how often it is on in each class, and what it is good for.

All shares are about given samples, exactly. That a neuron is constant, a copy of another one, or decides
nothing is stated for all inputs, with a certificate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import TooLargeError
from sugenet.glance.claims import Claim, fixed, prove, single
from sugenet.glance.power import voting_power
from sugenet.nn import Layer, Network
from sugenet.nn.arrays import Ints
from sugenet.nn.packed import compiled
from sugenet.plottable import Plottable
from sugenet.problem.clock import Clock
from sugenet.reason import Agree, Always

__all__ = ["Atlas", "NeuronProfile", "atlas_of", "class_name", "over_features", "paths_to"]

_HALF = Fraction(1, 2)
_NAMED = 5
"""Maximum number of classes in a short name."""
_INPUTS = 5
"""Number of inputs that are listed for a neuron."""
_UNROLLED = 1 << 26
"""Maximum number of weights of a layer that is written as rows."""
_WORK = 1 << 19
"""Maximum number of evaluations that tell how often a neuron decides."""
_SECONDS = 2.0
"""Seconds for one proof about a neuron."""


@dataclass(frozen=True, eq=False)
class NeuronProfile:
    """One neuron of a dense layer, or one channel of a convolution."""

    layer: int
    number: int
    """Number in its layer, from 1."""
    thresholds: tuple[int, ...]
    """Thresholds on the match count, tau; empty for a channel, whose positions may differ."""
    size: int
    """Largest match count."""
    template: tuple[int, ...] | None
    """Sum of its weights for each feature; None in later layers and for channels."""
    kernel: Ints | None
    """Kernel of a channel."""
    inputs: tuple[str, ...]
    """What it counts, in words with weights: first the inputs that follow it most closely on the samples."""
    more: int
    """Number of further inputs."""
    on: tuple[Fraction | None, ...]
    """For each class, how often it is on: its mean output as a share of the largest one."""
    decides: Fraction | None
    """Share of the samples whose class changes if the neuron is fixed off, or fixed on."""
    name: str
    family: str
    marks: tuple[str, ...] = ()
    power: tuple[Fraction, Fraction] | None = None
    """Shapley and Banzhaf value in the vote of the last layer, means over all pairs of classes; None in other
    layers.
    """

    @property
    def title(self) -> str:
        """Name with layer and number."""
        return f"neuron {self.number} of layer {self.layer}"

    def data(self) -> dict[str, Any]:
        """Return the neuron as JSON data."""
        return {
            "layer": self.layer,
            "neuron": self.number,
            "name": self.name,
            "family": self.family,
            "thresholds": list(self.thresholds),
            "size": self.size,
            "template": None if self.template is None else list(self.template),
            "inputs": list(self.inputs),
            "on": [None if share is None else str(share) for share in self.on],
            "decides": None if self.decides is None else str(self.decides),
            "marks": list(self.marks),
            "shapley": None if self.power is None else str(self.power[0]),
            "banzhaf": None if self.power is None else str(self.power[1]),
        }


@dataclass(frozen=True, eq=False)
class Atlas(Plottable):
    """All neurons of a network, layer by layer."""

    network: Network
    neurons: tuple[NeuronProfile, ...]
    samples: int
    """Number of samples that shares are about."""
    tested: dict[int, int]
    """For each layer, the number of samples on which neurons were fixed."""
    claims: tuple[Claim, ...] = ()
    missing: tuple[str, ...] = ()
    """Parts that are not shown, each with the reason."""
    families: dict[str, list[NeuronProfile]] = field(default_factory=dict)

    def of(self, layer: int) -> tuple[NeuronProfile, ...]:
        """Return the neurons of a layer, numbered from 1."""
        return tuple(one for one in self.neurons if one.layer == layer)

    def __str__(self) -> str:
        marked = sum(bool(one.marks) for one in self.neurons)
        count, families = len(self.neurons), len(self.families)
        lines = [
            f"{count:,} {'neuron' if count == 1 else 'neurons'} in "
            f"{families:,} {'family' if families == 1 else 'families'}, "
            f"{marked:,} with a mark; shares of {self.samples:,} samples"
        ]
        ranked = sorted(self.neurons, key=lambda one: -(one.decides or 0))
        lines += [
            f"  {one.title}: {one.name}"
            + ("" if one.decides is None else f"; decides {float(100 * one.decides):.3g} %")
            + "".join(f"; {mark}" for mark in one.marks)
            for one in ranked[:8]
        ]
        return "\n".join(lines)


# -- names ---------------------------------------------------------------------------------------------------


def class_name(shares: Sequence[Fraction | None], classes: Sequence[str]) -> tuple[str, str]:
    """Return a short name of a neuron and its family, from how often it is on per class.

    It is called "on for" the classes in which it is on more than half of the time, or "off for" the others if
    these are fewer. Neurons with the same or the opposite classes are one family.

    Examples
    --------
    >>> class_name([Fraction(3, 4), Fraction(1, 4), Fraction(1, 5)], ["0", "1", "2"])
    ('on for 0', '0 | 1, 2')
    >>> class_name([Fraction(1, 4), Fraction(3, 4), Fraction(4, 5)], ["0", "1", "2"])
    ('off for 0', '0 | 1, 2')
    >>> class_name([Fraction(0), Fraction(1, 2), Fraction(1, 9)], ["0", "1", "2"])
    ('on in less than half of every class', 'no class apart')
    """
    known = [k for k, share in enumerate(shares) if share is not None]
    on = [k for k in known if (shares[k] or 0) > _HALF]
    off = [k for k in known if k not in on]
    if not on or not off:
        amount = "more" if on else "less"
        return f"on in {amount} than half of every class", "no class apart"
    word, few, rest = ("on", on, off) if len(on) <= len(off) else ("off", off, on)
    first, second = sorted((few, rest), key=lambda part: (len(part), part))
    return f"{word} for {_some(few, classes, 'and')}", f"{_some(first, classes)} | {_some(second, classes)}"


def _some(chosen: Sequence[int], classes: Sequence[str], last: str = "") -> str:
    names = [classes[k] for k in chosen]
    if not last:
        return ", ".join(names)
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


# -- weights -------------------------------------------------------------------------------------------------


def over_features(network: Network, rows: Any) -> Ints:
    """Return rows over the bits of the encoder as rows over features: the sum of the weights of each."""
    encoder = network.encoder
    array = np.asarray(rows)
    if array.shape[1] == encoder.features:
        return array
    out = np.zeros((len(array), encoder.features), array.dtype)
    np.add.at(out.T, np.asarray(encoder.feature_of), array.T)
    return out


def paths_to(network: Network, vector: Any, layer: int) -> Ints | None:
    """Return weights over the outputs of a layer as weights over the inputs of the first layer.

    The weight of a path is the product of its weights, and all paths count. None if a layer is too large to
    be written as rows, or reads real numbers.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, 1], [1, -1]], [2, 1])], Head([[1, 1], [1, -1]]))
    >>> paths_to(net, [1, 1], 1).tolist()
    [2, 0]
    """
    paths = np.asarray(vector, object)
    for read in reversed(network.layers[:layer]):
        if read.kind == "real" or read.inputs * read.outputs > _UNROLLED:
            return None
        rows = read.rows()
        largest = max(map(abs, paths.tolist()), default=0) * int(np.abs(rows).sum(axis=0).max(initial=0))
        paths = (paths.astype(np.int64) @ rows if largest < 1 << 62 else paths @ rows.astype(object)).astype(
            object
        )
    return paths


# -- building ------------------------------------------------------------------------------------------------


def _units(layer: Layer) -> int:
    """Return the number of neurons, or of channels."""
    return layer.outputs if layer.output_shape is None else layer.output_shape[0]


def _totals(layer: Layer, active: npt.NDArray[Any]) -> Ints:
    """Return the sum of the outputs of each neuron or channel, one row per sample."""
    return np.asarray(active.reshape(len(active), _units(layer), -1).sum(axis=2, dtype=np.int64))


def atlas_of(network: Network, X: Any, labels: Sequence[int], clock: Clock) -> Atlas:
    """Return the atlas of a network on samples with their classes.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> layer = DenseLayer([[1, 1], [1, 1], [1, -1]], tau=[2, 2, 3])
    >>> net = Network.of_bits([layer], Head([[1, 1, 1], [-1, -1, -1]]))
    >>> atlas = atlas_of(net, [[1, 1], [1, -1], [-1, -1]], [0, 1, 1], Clock())
    >>> [(one.name, one.marks) for one in atlas.neurons]  # doctest: +NORMALIZE_WHITESPACE
    [('on for 0', ('same as neuron 2: proved',)),
     ('on for 0', ('same as neuron 1: proved',)),
     ('on in less than half of every class', ('always off: proved', 'decides nothing: proved'))]
    """
    inputs = network.inputs(X)
    outputs = network.packed("auto").hidden(inputs) if network.layers else []
    of_class = [np.flatnonzero(np.asarray(labels) == k) for k in range(len(network.classes))]
    neurons: list[NeuronProfile] = []
    claims: list[Claim] = []
    missing, tested = [], {}
    names: list[tuple[str, str | None]]
    before, encoder = inputs, network.encoder
    if network.reads_levels or network.passes_reals:
        names = [(name, None) for name in encoder.feature_text]
    else:
        names = [(encoder.words(i), encoder.words(i, False)) for i in range(encoder.width)]
    for number, (layer, active) in enumerate(zip(network.layers, outputs, strict=True), start=1):
        totals = _totals(layer, active)
        if layer.kind == "real" or layer.every is not None:
            what = "pools" if layer.every is not None else "reads real numbers"
            missing.append(f"the neurons of layer {number}, which {what}, have no template")
        top = layer.height * (active.shape[1] // _units(layer))
        decides, tested[number] = _deciding(network, number, active, clock)
        weights = _unit_weights(layer, before, names)
        here, dense = [], layer.output_shape is None and layer.kind != "real"
        for j in range(_units(layer)):
            on = tuple(
                Fraction(int(totals[rows, j].sum()), top * len(rows)) if len(rows) and top else None
                for rows in of_class
            )
            name, family = class_name(on, network.class_texts)
            inputs_of, more = _inputs(weights, names, before, totals, j)
            template = None
            if number == 1 and dense:
                template = tuple(over_features(network, layer.row(j)[None, :])[0].tolist())
            kernel = layer.weights[j] if layer.kind == "conv" and layer.every is None else None
            here.append(
                NeuronProfile(
                    number,
                    j + 1,
                    tuple(layer.thresholds_of(j)) if dense else (),
                    int(np.asarray(layer.sizes).reshape(_units(layer), -1)[j].max()) if dense else 0,
                    template,
                    kernel,
                    inputs_of,
                    more,
                    on,
                    decides[j],
                    name,
                    family,
                )
            )
        marked, proved = _marks(network, number, totals, here, clock)
        neurons += marked
        claims += proved
        names = []
        for one in here:
            words = f"{'neuron' if dense else 'channel'} {one.number} ({one.name})"
            names.append((words, f"not {words}") if layer.is_binary and dense else (words, None))
        before = totals
    last = network.layers[-1] if network.layers else None
    powers = voting_power(network) if last is not None and last.output_shape is None else None
    if powers is not None:
        first = len(neurons) - len(powers)
        voting = zip(neurons[first:], powers, strict=True)
        neurons[first:] = [replace(one, power=power) for one, power in voting]
    families: dict[str, list[NeuronProfile]] = {}
    for one in neurons:
        families.setdefault(one.family, []).append(one)
    families = dict(sorted(families.items(), key=lambda item: -len(item[1])))
    return Atlas(network, tuple(neurons), len(inputs), tested, tuple(claims), tuple(missing), families)


def _unit_weights(layer: Layer, before: Any, names: Sequence[Any]) -> Ints | None:
    """Return one weight per neuron or channel, and per neuron or channel that it reads; None if it has none.

    A kernel counts with its sum.
    """
    if layer.kind == "real" or layer.every is not None:
        return None
    if layer.output_shape is not None:
        sums = layer.weights.sum(axis=(2, 3))
        if sums.shape[1] != len(names) or before.shape[1] != len(names):  # pixels, or groups of channels
            return None
        return np.asarray(sums)
    if layer.inputs * layer.outputs > _UNROLLED:
        return None
    rows = layer.rows()
    if before.shape[1] == layer.inputs == len(names):
        return rows
    if layer.inputs % max(1, len(names)):
        return None
    return np.asarray(rows.reshape(len(rows), len(names), -1).sum(axis=2))


def _inputs(
    weights: Ints | None, names: list[tuple[str, str | None]], before: Any, totals: Ints, j: int
) -> tuple[tuple[str, ...], int]:
    """Return the inputs of a neuron that follow it most closely on the samples, and the number of others."""
    if weights is None or before.shape[1] != len(names):
        return (), 0
    a, b = np.asarray(before).astype(np.int64), totals[:, j]
    together = (a.T @ b) * len(b) - a.sum(axis=0) * b.sum()  # covariance times a positive number
    score = together * weights[j]
    read = np.flatnonzero(weights[j])
    order = read[np.argsort(-score[read], kind="stable")][:_INPUTS].tolist()
    return tuple(_literal(int(weights[j, i]), *names[i]) for i in order), len(read) - len(order)


def _literal(weight: int, on: str, off: str | None) -> str:
    """Return an input with its weight: a literal if it is a bit.

    Examples
    --------
    >>> _literal(1, "age >= 16", "age < 16"), _literal(-2, "age >= 16", "age < 16"), _literal(-3, "age", None)
    ('age >= 16', '2 x age < 16', '-3 x age')
    """
    if off is None:
        return f"{weight} x {on}"
    return ("" if abs(weight) == 1 else f"{abs(weight)} x ") + (on if weight > 0 else off)


def _deciding(
    network: Network, number: int, active: npt.NDArray[Any], clock: Clock
) -> tuple[list[Fraction | None], int]:
    """Return for each neuron how many samples change class if it is fixed off or on."""
    layer = network.layers[number - 1]
    units, width = _units(layer), active.shape[1] // _units(layer)
    tested = min(len(active), max(1, _WORK // (2 * units)))
    tail = compiled(network.layers[number:], network.head)
    shares: list[Fraction | None] = [None] * units
    try:
        start = active[:tested]
        classes = network.head.classes(tail.match_counts(start))
        for j in range(units):
            if clock.up():
                break
            changed = np.zeros(tested, bool)
            for value in (0, layer.height):
                rows = start.copy()
                rows[:, j * width : (j + 1) * width] = value
                changed |= network.head.classes(tail.match_counts(rows)) != classes
            shares[j] = Fraction(int(changed.sum()), tested)
    except TooLargeError:
        return [None] * units, 0
    return shares, tested


# -- marks ---------------------------------------------------------------------------------------------------


def _marks(
    network: Network, number: int, totals: Ints, here: list[NeuronProfile], clock: Clock
) -> tuple[list[NeuronProfile], list[Claim]]:
    """Mark neurons that are constant, equal or opposite to another one, or needless."""
    layer = network.layers[number - 1]
    marks: dict[int, list[str]] = {j: [] for j in range(len(here))}
    claims: list[Claim] = []
    dense = layer.output_shape is None and layer.kind == "dense"
    constant = None
    if layer.kind != "real":
        constant = np.asarray(layer.constant.reshape(len(here), -1).all(axis=1))

    def note(claim: Claim | bool, *words: tuple[int, str]) -> None:
        """Mark neurons if a claim about them is proved, or open."""
        for j, mark in words if claim else ():
            marks[j].append(f"{mark}: {'on these samples; open' if claim is True else 'proved'}")
        if isinstance(claim, Claim):
            claims.append(claim)

    steady = np.asarray((totals == totals[:1]).all(axis=0))
    for j in np.flatnonzero(steady).tolist():
        if dense and layer.is_binary:
            state = "on" if totals[0, j] else "off"
            words = f"neuron {j + 1} of layer {number} is always {state}"
            claim = prove(words, single(network, number, j), Always(state), clock, _SECONDS)
            note(claim, (j, f"always {state}"))
        elif constant is not None and constant[j]:
            marks[j].append("constant: no sum reaches another level")
    for i, j, opposite in _pairs(totals, steady) if dense and layer.is_binary else ():
        one, other = single(network, number, i), single(network, number, j, opposite=opposite)
        what = "opposite of neuron" if opposite else "same as neuron"
        words = f"neuron {j + 1} of layer {number} is the {what} {i + 1}"
        claim = prove(words, one, Agree(other), clock, _SECONDS)
        note(claim, (i, f"{what} {j + 1}"), (j, f"{what} {i + 1}"))
    for j in (j for j, neuron in enumerate(here) if dense and neuron.decides == 0):
        words = f"the class stays if neuron {j + 1} of layer {number} is fixed off, for every input"
        claim = prove(words, network, Agree(fixed(network, number, j)), clock, _SECONDS)
        note(claim, (j, "decides nothing"))
    return [replace(one, marks=tuple(marks[j])) for j, one in enumerate(here)], claims


def _pairs(totals: Ints, steady: Any) -> list[tuple[int, int, bool]]:
    """Return pairs of binary neurons that are equal, or opposite, on all samples; each with the first one."""
    first: dict[bytes, tuple[int, bool]] = {}
    pairs = []
    for j in np.flatnonzero(~steady).tolist():
        column = totals[:, j]
        opposite = bool(column[0])
        key = np.packbits(column != column[0]).tobytes()
        if key in first:
            i, other = first[key]
            pairs.append((i, j, opposite != other))
        else:
            first[key] = (j, opposite)
    return pairs
