"""Layers of integrate-and-fire neurons, and the convention that they run by (docs/spiking.md).

The weights of such a network do not determine how it runs. Without a stated convention, two simulators of the
same weights disagree.

No field of a convention has a default. A file of weights, leaks and thresholds does not contain them, and a
wrong guess would give answers about another network. Fractions and decimals are read as written. Floats are
read by their exact values, or as the shortest decimals that name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sugenet.capacity.arguments import number_text, plain, read_number
from sugenet.errors import NetworkError, refuse
from sugenet.reprs import ShortRepr, set_fields

__all__ = [
    "FIELDS",
    "MAX_STEPS",
    "Code",
    "Convention",
    "Decision",
    "Fires",
    "Floats",
    "Reset",
    "SpikingLayer",
    "SpikingNetwork",
    "Ties",
    "When",
    "exact",
    "meant",
    "on_grid",
]

Floats: TypeAlias = Literal["exact", "decimal"]
"""How floats are read: 0.9 in a float32 is exactly 15099494/16777216, and 9/10 as a decimal."""


def exact(value: Any, what: str) -> Fraction:
    """Return an exact number: a float by its exact value, text as `read_number` reads it.

    Examples
    --------
    >>> exact("9/10", "leak"), exact("0.9", "leak") == Fraction(0.9), exact(0.5, "leak")
    (Fraction(9, 10), True, Fraction(1, 2))
    >>> exact("fast", "leak")
    Traceback (most recent call last):
    ...
    sugenet.errors.NetworkError: leak is 'fast', which is not a number such as 12, 0.5, 1e-3 or 1/3.
    """
    plain_value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return Fraction(read_number(plain_value, what, NetworkError))


def meant(value: Any, what: str, floats: Floats) -> Fraction:
    """Return a number of a file, read exactly or as a decimal.

    Examples
    --------
    >>> meant(np.float32(0.9), "leak", "decimal"), meant(np.float32(0.9), "leak", "exact")
    (Fraction(9, 10), Fraction(7549747, 8388608))
    """
    if floats == "exact" or not isinstance(value, np.floating | float):
        return exact(plain(value), what)
    if not np.isfinite(value):
        raise NetworkError(f"{what} is {value!r}, which is not a finite number.")
    return Fraction(repr(value) if isinstance(value, float) else np.format_float_scientific(value))


def on_grid(value: Fraction, grid: Fraction | None) -> Fraction:
    """Return the nearest multiple of a grid, ties to even. Without a grid, return the value itself.

    Examples
    --------
    >>> on_grid(Fraction(7, 10), Fraction(1, 4)), on_grid(Fraction(7, 10), None)
    (Fraction(3, 4), Fraction(7, 10))
    """
    return value if grid is None else round(value / grid) * grid


Reset: TypeAlias = Literal["zero", "subtract", "none", "once"]
When: TypeAlias = Literal["at once", "before the leak", "after the input", "at once as in snnTorch"]
Fires: TypeAlias = Literal[">", ">="]
Code: TypeAlias = Literal["latency", "spikes"]
Decision: TypeAlias = Literal["first spike", "spike count", "last potential", "summed potential"]
Ties: TypeAlias = Literal["lowest", "highest"]

FIELDS: dict[str, Any] = {
    "reset": Reset,
    "when": When,
    "fires": Fires,
    "code": Code,
    "decision": Decision,
    "ties": Ties,
}
"""The fields that take one of a few words, and their words."""
MAX_STEPS = 64

_RESETS = {
    "zero": "goes to zero",
    "subtract": "falls by the threshold",
    "none": "stays as it is",
    "once": "stays as it is, and the neuron is silent for good",
}
_WHENS = {
    "at once": "at once, so that the new potential is what leaks",
    "before the leak": "at the next step, before the leak",
    "after the input": "at the next step, after leak and input",
    "at once as in snnTorch": "at once, and a neuron that is still above its threshold needs twice as much",
}
_CODES = {
    "latency": "each input spikes once, at the time that is its value, or not at all",
    "spikes": "the spikes of each input at each step are given",
}
_DECISIONS = {
    "first spike": "spikes first",
    "spike count": "spikes most often",
    "last potential": "has the largest potential after the last step",
    "summed potential": "has the largest potential, summed over the steps",
}


@dataclass(frozen=True, kw_only=True)
class Convention(ShortRepr):
    """How the neurons of a network run in time, and how the class is determined. All fields are required.

    In each step ``V = leak * V + input``; the neuron spikes if V is above its threshold.

    Parameters
    ----------
    steps
        T, the number of steps in the window, numbered 0 to T - 1.
    reset
        The effect of a spike on the potential: ``"zero"`` sets it to 0, ``"subtract"`` subtracts the
        threshold, ``"none"`` does nothing, ``"once"`` does nothing either, but the neuron never spikes again.
    when
        When the reset takes place. ``"at once"``: at the end of the step of the spike. ``"before the leak"``
        or ``"after the input"``: in the next step, so that the reset leaks or does not. ``"at once as in
        snnTorch"``: as `reset_mechanism="subtract", reset_delay=False` of snnTorch 1.0. There, if the
        potential including its reset is above the threshold at the end of a step, the neuron has to reach
        twice the threshold in the next step, and a spike subtracts the threshold once. None for the resets
        "none" and "once".
    fires
        ``">"``: above the threshold; ``">="``: at the threshold too.
    code
        The form of a sample. ``"latency"``: one value per input, the step of its only spike, or T for none.
        ``"spikes"``: one 0 or 1 per step and input, step by step.
    decision
        How the neurons of the last layer determine the class: ``"first spike"``, ``"spike count"``, ``"last
        potential"`` or ``"summed potential"``, measured at the end of a step.
    ties
        Which of several equal classes wins: the one of ``"lowest"`` or ``"highest"`` index. If no neuron
        spikes, all classes are equal.
    step
        The length of a step, if leaks are given in continuous time (NIR), by ``v += step / tau *
        ((v_leak - v) + r * input)``. None if leaks are given per step.

    Examples
    --------
    >>> print(Convention(steps=5, reset="subtract", when="after the input", fires=">", code="latency",
    ...                  decision="first spike", ties="lowest", step=None))
    5 steps; a neuron spikes where its potential is > the threshold; its potential then falls by the
    threshold, at the next step, after leak and input; each input spikes once, at the time that is its
    value, or not at all; the class is that of the neuron which spikes first, of equal ones the lowest
    """

    steps: int
    reset: Reset
    when: When | None
    fires: Fires
    code: Code
    decision: Decision
    ties: Ties
    step: Fraction | None

    def __post_init__(self) -> None:
        refuse(
            NetworkError,
            (
                not isinstance(self.steps, int)
                or isinstance(self.steps, bool)
                or not 1 <= self.steps <= MAX_STEPS,
                f"steps={self.steps!r} is not an integer from 1 to {MAX_STEPS}.",
            ),
        )
        for name, kind in FIELDS.items():
            options, value = get_args(kind), getattr(self, name)
            if value not in options and not (name == "when" and value is None):
                raise NetworkError(f"{name}={value!r} is not one of {', '.join(map(repr, options))}.")
        if (self.when is None) != (self.reset in ("none", "once")):
            needed = "has no time: give no when=" if self.when is not None else "needs one, such as 'at once'"
            raise NetworkError(f"reset={self.reset!r} with when={self.when!r}: this reset {needed}.")
        refuse(
            NetworkError,
            (
                self.when == "at once as in snnTorch" and self.reset != "subtract",
                f"when={self.when!r} is for reset='subtract' only. Otherwise give when='at once'.",
            ),
        )
        if self.step is not None:
            object.__setattr__(self, "step", exact(self.step, "step"))
            refuse(NetworkError, (not self.step > 0, f"step={self.step} is not positive."))

    @classmethod
    def of_snntorch(
        cls,
        *,
        steps: int,
        reset_mechanism: Literal["subtract", "zero", "none"],
        reset_delay: bool,
        code: Code,
        decision: Decision,
        ties: Ties,
    ) -> Convention:
        """Return the convention of `snntorch.Leaky`, given by its own arguments (snnTorch 1.0).

        Examples
        --------
        >>> found = Convention.of_snntorch(steps=5, reset_mechanism="zero", reset_delay=True, code="spikes",
        ...                                decision="spike count", ties="lowest")
        >>> found.reset, found.when, found.fires
        ('zero', 'before the leak', '>')
        """
        whens: dict[tuple[str, bool], When] = {
            ("subtract", True): "after the input",
            ("subtract", False): "at once as in snnTorch",
            ("zero", True): "before the leak",
            ("zero", False): "at once",
        }
        return cls(
            steps=steps,
            reset=reset_mechanism,
            when=whens.get((reset_mechanism, bool(reset_delay))),
            fires=">",
            code=code,
            decision=decision,
            ties=ties,
            step=None,
        )

    def above(self, bound: Fraction) -> int:
        """Return the smallest integer above a bound, or at it if that is enough to spike."""
        floor = bound.numerator // bound.denominator
        return floor + 1 if self.fires == ">" or floor != bound else floor

    def __str__(self) -> str:
        then = f"its potential then {_RESETS[self.reset]}{f', {_WHENS[self.when]}' if self.when else ''}"
        length = "" if self.step is None else f" of length {number_text(self.step)}"
        return (
            f"{self.steps} step{'s' * (self.steps > 1)}{length}; a neuron spikes where its potential is "
            f"{self.fires} the threshold; {then}; {_CODES[self.code]}; the class is that of the neuron which "
            f"{_DECISIONS[self.decision]}, of equal ones the {self.ties}"
        )


@dataclass(frozen=True)
class SpikingLayer(ShortRepr):
    """Neurons over the same inputs: in each step ``V = leak * V + weights @ spikes + bias``.

    Parameters
    ----------
    weights
        One row per neuron: exact numbers, floats by their exact values, texts such as "9/10" as written.
    leak
        The share of the potential that is kept from step to step, 0 to 1; 1 for integrate-and-fire. One
        number, or one per neuron.
    threshold
        One number, or one per neuron.
    bias
        The input at each step in addition to spikes.
    spikes
        False for a last layer with potentials but without spikes (leaky integrators). Its thresholds are not
        used.

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
        uneven = not rows or any(len(row) != len(rows[0]) for row in rows) or not rows[0]
        refuse(
            NetworkError,
            (uneven, "weights are one row a neuron, all of the same length, and not empty."),
            (spikes and threshold is None, "a layer that spikes needs a threshold."),
        )
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
        refuse(
            NetworkError,
            (wrong is not None, f"a leak of {wrong} is not from 0 to 1: it is what a step keeps."),
        )

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
        """The weights of each neuron as Python integers, and their denominator."""
        pairs = []
        for row in self.weights:
            unit = lcm(*(value.denominator for value in row))
            pairs.append((np.array([int(value * unit) for value in row], object), unit))
        return tuple(pairs)


@dataclass(frozen=True)
class SpikingNetwork(ShortRepr):
    """Layers of spiking neurons; the neurons of the last layer are the classes.

    Spikes reach the next layer in the step in which they occur.

    Parameters
    ----------
    layers
        First to last.
    convention
        How the layers run, and how the class is determined.
    names, classes
        Names of the inputs and classes (default: ``x1``, ``x2``, ... and ``0``, ``1``, ...).

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
        refuse(NetworkError, (not kept, "a spiking network has at least one layer."))
        for number, (one, two) in enumerate(pairwise(kept), start=1):
            refuse(
                NetworkError,
                (
                    one.neurons != two.inputs,
                    f"layer {number + 1} reads {two.inputs} inputs, but layer {number} has {one.neurons} "
                    "neurons.",
                ),
                (not one.spikes, f"layer {number} does not spike, but only the last layer may do so."),
            )
        by_potential = convention.decision.endswith("potential")
        refuse(
            NetworkError,
            (
                not kept[-1].spikes and not by_potential,
                f"decision={convention.decision!r}, but the last layer does not spike: decide by potential.",
            ),
            (
                kept[-1].spikes and by_potential and convention.reset == "zero",
                f"decision={convention.decision!r} with reset='zero', and the last layer spikes: that "
                "potential is not a weighted sum of spikes, so it has no exact head. Decide by spikes, or "
                "leave the last layer without a threshold, so that it does not spike.",
            ),
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
    refuse(
        NetworkError, (array.ndim != 2, f"{what} have shape {array.shape}, but one row a neuron is needed.")
    )
    return list(array.tolist())


def _each(values: Any, count: int, what: str) -> tuple[Fraction, ...]:
    one = isinstance(values, str) or np.ndim(values) == 0
    row = [values] * count if one else list(values)
    refuse(
        NetworkError,
        (len(row) != count, f"{len(row)} values of {what} for {count} neurons. Give one for each, or one."),
    )
    return tuple(exact(value, f"{what} of neuron {j}") for j, value in enumerate(row, start=1))


def _named(names: Iterable[object] | None, count: int, letter: str, first: int, what: str) -> tuple[str, ...]:
    kept = (
        tuple(f"{letter}{k}" for k in range(first, first + count))
        if names is None
        else tuple(map(str, names))
    )
    refuse(
        NetworkError,
        (
            len(kept) != count or len(set(kept)) < count,
            f"{len(kept)} names for {count} {what}: give each a name of its own.",
        ),
    )
    return kept
