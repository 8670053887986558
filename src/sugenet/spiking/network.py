"""Layers of integrate-and-fire neurons, one after another, and the convention that they run by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from sugenet.brief import Brief, set_fields
from sugenet.errors import NetworkError
from sugenet.spiking.convention import Convention
from sugenet.spiking.numbers import exact

__all__ = ["SpikingLayer", "SpikingNetwork"]


@dataclass(frozen=True)
class SpikingLayer(Brief):
    """Neurons over the same inputs: in each step ``V = leak * V + weights @ spikes + bias``.

    Parameters
    ----------
    weights
        One row a neuron: exact numbers, floats as the numbers they are, texts such as "9/10" as written.
    leak
        What is kept of the potential from step to step, 0 to 1; 1 for integrate-and-fire. One number, or
        one a neuron.
    threshold
        One number, or one a neuron.
    bias
        What comes in at each step without any spike.
    spikes
        False for a last layer that has potentials and no spikes (leaky integrators): its thresholds are
        not used.

    Examples
    --------
    >>> SpikingLayer([[1, "-1/2"]], leak="9/10", threshold=1).leak
    (Fraction(9, 10),)
    """

    weights: tuple[tuple[Fraction, ...], ...]
    leak: tuple[Fraction, ...]
    threshold: tuple[Fraction, ...]
    bias: tuple[Fraction, ...]
    spikes: bool

    def __init__(
        self, weights: Any, *, leak: Any, threshold: Any = None, bias: Any = 0, spikes: bool = True
    ) -> None:
        rows = [list(row) for row in _listed(weights, "weights")]
        if not rows or any(len(row) != len(rows[0]) for row in rows) or not rows[0]:
            raise NetworkError("weights are one row a neuron, all of the same length, and not empty.")
        if spikes and threshold is None:
            raise NetworkError("a layer that spikes needs a threshold.")
        kept = tuple(
            tuple(exact(value, f"weight {i} of neuron {j}") for i, value in enumerate(row, start=1))
            for j, row in enumerate(rows, start=1)
        )
        set_fields(
            self,
            weights=kept,
            leak=_each(leak, len(kept), "leak"),
            threshold=_each(0 if threshold is None else threshold, len(kept), "threshold"),
            bias=_each(bias, len(kept), "bias"),
            spikes=bool(spikes),
        )
        wrong = next((value for value in self.leak if not 0 <= value <= 1), None)
        if wrong is not None:
            raise NetworkError(f"a leak of {wrong} is not from 0 to 1: it is what a step keeps.")

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.weights[0])

    @property
    def neurons(self) -> int:
        """Number of neurons."""
        return len(self.weights)

    @cached_property
    def whole(self) -> tuple[tuple[np.ndarray[Any, Any], int], ...]:
        """For each neuron its weights as Python integers, and what they are divided by."""
        found = []
        for row in self.weights:
            unit = lcm(*(value.denominator for value in row))
            found.append((np.array([int(value * unit) for value in row], object), unit))
        return tuple(found)


@dataclass(frozen=True)
class SpikingNetwork(Brief):
    """Layers of spiking neurons; the neurons of the last are the classes. Spikes reach the next layer in the
    step in which they occur.

    Parameters
    ----------
    layers
        First to last.
    convention
        How they run, and how the class is read off.
    names, classes
        Of the inputs and of the classes; ``x1``, ``x2``, ... and ``0``, ``1``, ... unless given.

    Examples
    --------
    >>> convention = Convention(steps=3, reset="zero", when="at once", fires=">=", code="spikes",
    ...                         decision="spike count", ties="lowest", step=None)
    >>> print(SpikingNetwork([SpikingLayer([[1]], leak=1, threshold=2)], convention))
    spiking network 1-1, 3 steps
    """

    layers: tuple[SpikingLayer, ...]
    convention: Convention
    names: tuple[str, ...]
    classes: tuple[str, ...]

    def __init__(
        self,
        layers: Sequence[SpikingLayer],
        convention: Convention,
        names: Iterable[object] | None = None,
        classes: Iterable[object] | None = None,
    ) -> None:
        kept = tuple(layers)
        if not kept:
            raise NetworkError("a spiking network has at least one layer.")
        for number, (one, two) in enumerate(pairwise(kept), start=1):
            if one.neurons != two.inputs:
                raise NetworkError(
                    f"layer {number + 1} reads {two.inputs} inputs, but layer {number} has {one.neurons} "
                    "neurons."
                )
            if not one.spikes:
                raise NetworkError(f"layer {number} does not spike, but only the last layer may do so.")
        if kept[-1].spikes is False and not convention.decision.endswith("potential"):
            raise NetworkError(
                f"decision={convention.decision!r}, but the last layer does not spike: decide by potential."
            )
        if kept[-1].spikes and convention.decision.endswith("potential") and convention.reset == "zero":
            raise NetworkError(
                f"decision={convention.decision!r} with reset='zero', and the last layer spikes: that "
                "potential is no weighted sum of spikes, so it has no exact head. Decide by spikes, or leave "
                "the last layer without a threshold, so that it does not spike."
            )
        set_fields(
            self,
            layers=kept,
            convention=convention,
            names=_named(names, kept[0].inputs, "x", 1, "inputs"),
            classes=_named(classes, kept[-1].neurons, "", 0, "classes"),
        )

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.layers[0].inputs

    def __str__(self) -> str:
        sizes = "-".join(map(str, (self.inputs, *(layer.neurons for layer in self.layers))))
        return f"spiking network {sizes}, {self.convention.steps} step{'s' * (self.convention.steps > 1)}"


def _listed(values: Any, what: str) -> list[Any]:
    array = np.asarray(values, dtype=object) if not isinstance(values, np.ndarray) else values
    if array.ndim != 2:
        raise NetworkError(f"{what} have shape {array.shape}, but one row a neuron is needed.")
    return list(array.tolist())


def _each(values: Any, count: int, what: str) -> tuple[Fraction, ...]:
    one = isinstance(values, str) or np.ndim(values) == 0
    row = [values] * count if one else list(values)
    if len(row) != count:
        raise NetworkError(f"{len(row)} values of {what} for {count} neurons. Give one for each, or one.")
    return tuple(exact(value, f"{what} of neuron {j}") for j, value in enumerate(row, start=1))


def _named(names: Iterable[object] | None, count: int, letter: str, first: int, what: str) -> tuple[str, ...]:
    kept = (
        tuple(f"{letter}{k}" for k in range(first, first + count))
        if names is None
        else tuple(map(str, names))
    )
    if len(kept) != count or len(set(kept)) < count:
        raise NetworkError(f"{len(kept)} names for {count} {what}: give each a name of its own.")
    return kept
