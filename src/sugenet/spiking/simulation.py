"""A spiking network run step by step in exact numbers: the slow and obvious twin of what is unrolled, by the
recurrence itself, without closed forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.errors import EncodingError
from sugenet.reprs import ShortRepr
from sugenet.spiking.network import Convention, SpikingLayer, SpikingNetwork

__all__ = ["Run", "run_neuron", "simulate", "simulate_floats", "trains_of"]


@dataclass(frozen=True)
class Run(ShortRepr):
    """What happened in a window."""

    spikes: tuple[tuple[tuple[int, ...], ...], ...]
    """For each layer and neuron, 0 or 1 at each step."""
    potentials: tuple[tuple[Fraction, ...], ...]
    """For each neuron of the last layer, its potential at the end of each step."""
    scores: tuple[Fraction, ...]
    """Of the classes: T less the time of the first spike, the number of spikes, or the potential."""
    label: int
    """The class."""


def trains_of(sample: Any, inputs: int, convention: Convention) -> list[list[int]]:
    """The spikes of each input at each step that a raw sample stands for."""
    steps = convention.steps
    values = [int(value) for value in np.asarray(sample).reshape(-1)]
    if convention.code == "latency":
        if len(values) != inputs or not all(0 <= value <= steps for value in values):
            raise EncodingError(f"a sample is {inputs} times from 0 to {steps}, where {steps} is no spike.")
        return [[int(value == t) for t in range(steps)] for value in values]
    if len(values) != inputs * steps or not set(values) <= {0, 1}:
        raise EncodingError(f"a sample is {inputs} spikes, 0 or 1, for each of {steps} steps.")
    return [[values[t * inputs + i] for t in range(steps)] for i in range(inputs)]


def run_neuron(
    drive: Sequence[Fraction],
    leak: Fraction,
    threshold: Fraction,
    convention: Convention,
    *,
    spiking: bool = True,
) -> tuple[list[int], list[Fraction]]:
    """Spikes and potentials, at the end of each step, of one neuron, from what comes in at each step.

    Examples
    --------
    Later spikes are not monotone in the input: more of it, and the last spike is gone.

    >>> convention = Convention(steps=3, reset="zero", when="at once", fires=">=", code="spikes",
    ...                         decision="spike count", ties="lowest", step=None)
    >>> run_neuron([1, 0, 1], 1, 2, convention)[0], run_neuron([1, 1, 1], 1, 2, convention)[0]
    ([0, 0, 1], [0, 1, 0])
    """
    spikes: list[int] = []
    potentials: list[Fraction] = []
    v = Fraction(0)

    def fires(value: Fraction) -> bool:
        return spiking and (value >= threshold if convention.fires == ">=" else value > threshold)

    def reset(value: Fraction) -> Fraction:
        return Fraction(0) if convention.reset == "zero" else value - threshold

    for current in drive:
        due = spiking and convention.when is not None and bool(spikes and spikes[-1])
        match convention.when if spiking else None:
            case None:
                v = leak * v + current
                spike = fires(v) and not (convention.reset == "once" and any(spikes))
            case "at once":
                v = leak * v + current
                spike = fires(v)
                v = reset(v) if spike else v
            case "before the leak":
                v = reset(v) if due else v
                v = leak * v + current
                spike = fires(v)
            case "after the input":
                v = leak * v + current
                v = reset(v) if due else v
                spike = fires(v)
            case "at once as in snnTorch":
                still = int(bool(potentials) and fires(v))
                v = leak * v + current - still * threshold
                spike = fires(v)
                v = v - (int(spike) - still) * threshold
        spikes.append(int(spike))
        potentials.append(v)
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
    potentials: list[list[Fraction]] = []
    for layer in network.layers:
        ran = [
            run_neuron(
                _drive(layer, j, trains), layer.leak[j], layer.threshold[j], convention, spiking=layer.spikes
            )
            for j in range(layer.neurons)
        ]
        trains, potentials = [spikes for spikes, _ in ran], [after for _, after in ran]
        layers.append(tuple(tuple(train) for train in trains))
    scores = _scores(trains, potentials, convention)
    best = max(scores)
    winners = [k for k, score in enumerate(scores) if score == best]
    label = winners[0] if convention.ties == "lowest" else winners[-1]
    return Run(tuple(layers), tuple(map(tuple, potentials)), tuple(scores), label)


def _drive(layer: SpikingLayer, j: int, trains: Sequence[Sequence[int]]) -> list[Fraction]:
    """What comes in at each step."""
    drive = [layer.bias[j]] * len(trains[0])
    for weight, train in zip(layer.weights[j], trains, strict=True):
        if weight:
            for t, spike in enumerate(train):
                if spike:
                    drive[t] += weight
    return drive


def _scores(
    trains: Sequence[Sequence[int]], potentials: Sequence[Sequence[Fraction]], convention: Convention
) -> list[Fraction]:
    match convention.decision:
        case "first spike":
            steps = convention.steps
            return [Fraction(steps - train.index(1) if 1 in train else 0) for train in trains]
        case "spike count":
            return [Fraction(sum(train)) for train in trains]
        case "last potential":
            return [after[-1] for after in potentials]
    return [sum(after, Fraction(0)) for after in potentials]


def simulate_floats(network: SpikingNetwork, samples: Any) -> np.ndarray[Any, Any]:
    """The classes of many samples by the same recurrence in float64, as a simulator on a computer has it:
    to see where rounding matters, never to decide.
    """
    convention = network.convention
    x = np.array([trains_of(sample, network.inputs, convention) for sample in samples], np.float64)
    total = first = None
    for layer in network.layers:
        weights = np.array(layer.weights, np.float64)
        leak, threshold, bias = (
            np.array(part, np.float64) for part in (layer.leak, layer.threshold, layer.bias)
        )
        v = np.zeros((len(x), layer.neurons))
        before, ever = np.zeros(v.shape, bool), np.zeros(v.shape, bool)
        total, first = np.zeros(v.shape), np.full(v.shape, float(convention.steps))
        out = np.zeros((len(x), layer.neurons, convention.steps))
        for t in range(convention.steps):
            when = convention.when if layer.spikes else None
            gone = v if convention.reset == "zero" else np.broadcast_to(threshold, v.shape)
            fires = np.greater_equal if convention.fires == ">=" else np.greater
            still = fires(v, threshold) if when == "at once as in snnTorch" and t else np.zeros(v.shape, bool)
            if when == "before the leak":
                v = v - before * gone
            v = leak * v + x[:, :, t] @ weights.T + bias
            if when == "after the input":
                v = np.where(before, 0.0, v) if convention.reset == "zero" else v - before * threshold
            v = v - still * threshold if when == "at once as in snnTorch" else v
            spike = fires(v, threshold) & layer.spikes
            if convention.reset == "once":
                spike &= ~ever
            if when == "at once":
                v = np.where(spike, 0.0, v) if convention.reset == "zero" else v - spike * threshold
            elif when == "at once as in snnTorch":
                v = v - (spike.astype(float) - still) * threshold
            first = np.where(spike & ~ever, t, first)
            before, ever = spike, ever | spike
            out[:, :, t] = spike
            total = total + v
        x = out
    assert total is not None
    assert first is not None
    scores = {
        "first spike": -first,
        "spike count": x.sum(axis=2),
        "last potential": v,
        "summed potential": total,
    }[convention.decision]
    if convention.ties == "lowest":
        return np.asarray(scores.argmax(axis=1))
    return np.asarray(scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1))
