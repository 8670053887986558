"""Exact simulation of a spiking network, step by step.

It is the slow and obvious twin of unrolling: it follows the recurrence itself, without closed forms.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError
from sugenet.reprs import ShortRepr
from sugenet.spiking.network import Convention, SpikingLayer, SpikingNetwork

__all__ = ["Run", "run_neuron", "simulate", "simulate_floats", "trains_of"]

_Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Run(ShortRepr):
    """The result of a simulation over a window."""

    spikes: tuple[tuple[tuple[int, ...], ...], ...]
    """For each layer and neuron, 0 or 1 at each step."""
    potentials: tuple[tuple[Fraction, ...], ...]
    """For each neuron of the last layer, its potential at the end of each step."""
    scores: tuple[Fraction, ...]
    """Scores of the classes: T minus the time of the first spike, the number of spikes, or the potential."""
    label: int
    """The class."""


def trains_of(sample: Any, inputs: int, convention: Convention) -> list[list[int]]:
    """Return the spikes of each input at each step, decoded from a raw sample."""
    steps = convention.steps
    values = [int(value) for value in np.asarray(sample).reshape(-1)]
    if convention.code == "latency":
        if len(values) != inputs or not all(0 <= value <= steps for value in values):
            raise EncodingError(
                f"a sample is {inputs} times from 0 to {steps}, where {steps} means no spike."
            )
        return [[int(value == t) for t in range(steps)] for value in values]
    if len(values) != inputs * steps or not set(values) <= {0, 1}:
        raise EncodingError(f"a sample is {inputs} spikes, 0 or 1, for each of {steps} steps.")
    return [[values[t * inputs + i] for t in range(steps)] for i in range(inputs)]


def run_neuron(
    drive: Sequence[Fraction], leak: Fraction, threshold: Fraction, convention: Convention
) -> tuple[list[int], list[Fraction]]:
    """Return the spikes of one neuron and its potentials at the end of each step, given its input at each
    step.

    Examples
    --------
    Later spikes are not monotone in the input: with more input, the last spike disappears.

    >>> convention = Convention(steps=3, reset="zero", when="at once", fires=">=", code="spikes",
    ...                         decision="spike count", ties="lowest", step=None)
    >>> run_neuron([1, 0, 1], 1, 2, convention)[0], run_neuron([1, 1, 1], 1, 2, convention)[0]
    ([0, 0, 1], [0, 1, 0])
    """
    numbers = (np.array([number], object) for number in (leak, threshold, 0))
    spikes, potentials = _run(np.array([list(drive)], object), numbers, convention, spiking=True)
    return spikes[0].astype(int).tolist(), potentials[0].tolist()


def _run(
    drive: _Array, numbers: Iterable[_Array], convention: Convention, *, spiking: bool
) -> tuple[_Array, _Array]:
    """Return spikes of neurons, and their potentials at the end of each step, given their inputs.

    The last axes of `drive` are neurons and steps. `numbers` are leaks, thresholds and biases. The
    computation uses the number type of the arrays: exact numbers, or floats.
    """
    leak, threshold, bias = numbers
    fires = np.greater_equal if convention.fires == ">=" else np.greater
    when = convention.when if spiking else None
    v = np.zeros_like(drive[..., 0])
    before = ever = np.zeros(v.shape, bool)
    spikes, potentials = np.zeros(drive.shape, bool), np.zeros_like(drive)

    def reset(v: _Array, where: _Array) -> _Array:
        return np.where(where, 0 * v if convention.reset == "zero" else v - threshold, v)

    for t in range(drive.shape[-1]):
        if when == "before the leak":
            v = reset(v, before)
        still = fires(v, threshold) & (when == "at once as in snnTorch" and t > 0)
        v = leak * v + drive[..., t] + bias - still * threshold
        if when == "after the input":
            v = reset(v, before)
        spike = fires(v, threshold) & spiking & ~(ever & (convention.reset == "once"))
        if when == "at once":
            v = reset(v, spike)
        elif when == "at once as in snnTorch":
            v = v - (spike.astype(int) - still) * threshold
        before, ever = spike, ever | spike
        spikes[..., t], potentials[..., t] = spike, v
    return spikes, potentials


def simulate(network: SpikingNetwork, sample: Any) -> Run:
    """Run a network on one raw sample: times of the inputs, or their spikes step by step.

    Examples
    --------
    >>> convention = Convention(steps=4, reset="subtract", when="at once", fires=">=", code="latency",
    ...                         decision="first spike", ties="lowest", step=None)
    >>> net = SpikingNetwork([SpikingLayer([[2, 1], [1, 1]], leak="1/2", threshold=2)], convention)
    >>> run = simulate(net, [1, 1])
    >>> run.scores, run.label
    ((Fraction(3, 1), Fraction(3, 1)), 0)
    """
    convention = network.convention
    trains = trains_of(sample, network.inputs, convention)
    layers = []
    for layer in network.layers:
        drive = np.array([_drive(layer, j, trains) for j in range(layer.neurons)], object)
        numbers = (np.array(part, object) for part in (layer.leak, layer.threshold, layer.bias))
        spikes, potentials = _run(drive, numbers, convention, spiking=layer.spikes)
        trains = spikes.astype(int).tolist()
        layers.append(tuple(map(tuple, trains)))
    scores = tuple(map(Fraction, _scores(spikes, potentials, convention).tolist()))
    best = max(scores)
    winners = [k for k, score in enumerate(scores) if score == best]
    label = winners[0] if convention.ties == "lowest" else winners[-1]
    return Run(tuple(layers), tuple(map(tuple, potentials.tolist())), scores, label)


def _drive(layer: SpikingLayer, j: int, trains: Sequence[Sequence[int]]) -> list[Fraction]:
    """Return the input at each step, without the bias."""
    drive = [Fraction(0)] * len(trains[0])
    for weight, train in zip(layer.weights[j], trains, strict=True):
        if weight:
            for t, spike in enumerate(train):
                if spike:
                    drive[t] += weight
    return drive


def _scores(spikes: _Array, potentials: _Array, convention: Convention) -> _Array:
    match convention.decision:
        case "first spike":
            scores = np.logical_or.accumulate(spikes, axis=-1).sum(axis=-1)
        case "spike count":
            scores = spikes.sum(axis=-1)
        case "last potential":
            scores = potentials[..., -1]
        case "summed potential":
            scores = potentials.cumsum(axis=-1)[..., -1]  # step by step, also in floats
    return np.asarray(scores)


def simulate_floats(network: SpikingNetwork, samples: Any) -> np.ndarray[Any, Any]:
    """Return the classes of many samples by the same recurrence in float64, as usual simulators compute it.

    It shows where rounding matters, and never decides anything.
    """
    convention = network.convention
    x = np.array([trains_of(sample, network.inputs, convention) for sample in samples], np.float64)
    for layer in network.layers:
        weights, *numbers = (
            np.array(part, np.float64) for part in (layer.weights, layer.leak, layer.threshold, layer.bias)
        )
        drive = np.stack([x[..., t] @ weights.T for t in range(convention.steps)], axis=-1)
        spikes, potentials = _run(drive, numbers, convention, spiking=layer.spikes)
        x = spikes.astype(np.float64)
    scores = _scores(spikes, potentials, convention)
    if convention.ties == "lowest":
        return np.asarray(scores.argmax(axis=1))
    return np.asarray(scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1))
