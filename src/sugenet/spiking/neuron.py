"""One neuron over a window as Sugeno integrals (docs/theory.md 13).

The time of the first spike is always a Sugeno integral. The number of spikes is one under some conditions.

Literals are those of the input spikes, step by step. ``+k`` says that spike k occurs, ``-k`` that it does
not. Spike ``t * inputs + i`` is that of input i at step t. Inputs are numbered from 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from sugenet.capacity import Join, Meet, Nested, SetFunction
from sugenet.errors import NetworkError, refuse
from sugenet.nn import Neuron
from sugenet.reprs import ShortRepr
from sugenet.spiking.network import Convention, SpikingLayer
from sugenet.spiking.simulation import run_neuron

__all__ = ["SpikingNeuron"]


@dataclass(frozen=True)
class SpikingNeuron(ShortRepr):
    """A leaky integrate-and-fire neuron over a window of steps.

    Parameters
    ----------
    layer
        The layer of the neuron.
    number
        Its index in the layer, from 1.
    convention
        How it runs.

    Examples
    --------
    >>> convention = Convention(steps=3, reset="zero", when="at once", fires=">=", code="spikes",
    ...                         decision="first spike", ties="lowest", step=None)
    >>> neuron = SpikingNeuron(SpikingLayer([[2, -1]], leak="1/2", threshold=2), 1, convention)
    >>> neuron.spikes([0, 0, 1, 0, 0, 0]), neuron.first_spike([0, 0, 1, 0, 0, 0])
    ((0, 1, 0), 1)
    >>> from sugenet.capacity import sugeno
    >>> sugeno(neuron.first_spike_capacity(), neuron.literals([0, 0, 1, 0, 0, 0]))  # (3 - 1) / 3
    Fraction(2, 3)
    >>> [neuron.words(rule) for rule in neuron.rules(0)]
    ['input 1 spikes at 0 and input 2 does not at 0']
    """

    layer: SpikingLayer
    number: int
    convention: Convention

    def __post_init__(self) -> None:
        refuse(
            NetworkError,
            (
                not 1 <= self.number <= self.layer.neurons,
                f"there is no neuron {self.number}: the layer has {self.layer.neurons}, numbered from 1.",
            ),
        )

    @property
    def _weights(self) -> tuple[Fraction, ...]:
        return self.layer.weights[self.number - 1]

    @property
    def _numbers(self) -> tuple[Fraction, Fraction, Fraction]:
        """The leak, threshold and bias."""
        j = self.number - 1
        return self.layer.leak[j], self.layer.threshold[j], self.layer.bias[j]

    def spikes(self, inputs: Sequence[int]) -> tuple[int, ...]:
        """Return whether the neuron spikes at each step, by running it on given spikes."""
        leak, threshold, bias = self._numbers
        n = self.layer.inputs
        drive = [
            sum((w for w, x in zip(self._weights, inputs[t * n : (t + 1) * n], strict=True) if x), bias)
            for t in range(self.convention.steps)
        ]
        return tuple(run_neuron(drive, leak, threshold, self.convention)[0])

    def first_spike(self, inputs: Sequence[int]) -> int | None:
        """Return the step of the first spike; None if there is none."""
        train = self.spikes(inputs)
        return train.index(1) if 1 in train else None

    def literals(self, inputs: Sequence[int]) -> list[int]:
        """Return the literals that hold, in the order of the criteria."""
        return [int(held) for x in inputs for held in (x == 1, x == 0)]

    def reaching(self, t: int, times: int = 1) -> Neuron:
        """Return the threshold over the literals at which the drive at step t reaches the neuron's threshold.

        The drive is the potential without resets. `times` multiplies the neuron's threshold.
        """
        leak, threshold, bias = self._numbers
        factors = [leak ** (t - u) if u <= t else Fraction(0) for u in range(self.convention.steps)]
        parts = [weight * factor for factor in factors for weight in self._weights]
        unit = lcm(1, *(part.denominator for part in parts))
        row = [int(part * unit) for part in parts]
        bound = self.convention.above((times * threshold - bias * sum(factors)) * unit)
        return Neuron(row, bound - sum(min(0, weight) for weight in row))

    def first_spike_capacity(self) -> SetFunction:
        """Return the capacity whose Sugeno integral of the literals encodes the first spike.

        It is nu, the maximum over t of min((T - t) / T, mu_t), where mu_t is the capacity of `reaching` t.
        The integral is (T - t) / T for a first spike at t, and 0 without one. Resets happen only after the
        first spike, so this holds for all resets.
        """
        steps = self.convention.steps
        return Nested({Fraction(steps - t, steps): self.reaching(t).capacity() for t in range(steps)})

    def spike_count_capacity(self) -> SetFunction:
        """Return the capacity whose Sugeno integral of the literals is the number of spikes divided by T.

        It is nu, the maximum over m of min(m / T, the meet over j = 1..m of "the drive reaches j thresholds
        at step T - m + j - 1").

        It exists only if no weight and no bias is negative, nothing leaks, and a spike subtracts the
        threshold. Otherwise later spikes are not monotone in the inputs, and there is no such integral.
        """
        leak, _, bias = self._numbers
        convention = self.convention
        reasons = [
            (min(self._weights) < 0 or bias < 0, "a weight or the bias is negative"),
            (leak != 1, f"the leak is {leak} and not 1"),
            (convention.reset != "subtract", f"reset={convention.reset!r} does not take the threshold away"),
            (convention.when == "at once as in snnTorch", f"when={convention.when!r}"),
        ]
        wrong = next((why for is_so, why in reasons if is_so), None)
        if wrong is not None:
            raise NetworkError(
                f"the number of spikes is not a single Sugeno integral here, since {wrong}. "
                "Unroll the network."
            )
        steps = convention.steps
        return Nested(
            {
                Fraction(m, steps): Meet(
                    self.reaching(steps - m + j - 1, j).capacity() for j in range(1, m + 1)
                )
                for m in range(1, steps + 1)
            }
        )

    def rules(self, by: int) -> Iterator[frozenset[Any]]:
        """Yield the focal sets: minimal sets of literals that make the neuron spike by step `by`."""
        refuse(
            NetworkError,
            (
                not 0 <= by < self.convention.steps,
                f"there is no step {by}: steps are numbered 0 to {self.convention.steps - 1}.",
            ),
        )
        together = Join(self.reaching(t).capacity() for t in range(by + 1))
        return (focal.members for focal in together.focal_sets())

    def words(self, rule: frozenset[Any]) -> str:
        """Return a set of literals in words."""
        n = self.layer.inputs
        phrases = (
            f"input {(abs(k) - 1) % n + 1} {'spikes' if k > 0 else 'does not'} at {(abs(k) - 1) // n}"
            for k in sorted(rule, key=abs)
        )
        return " and ".join(phrases) or "whatever comes in"
