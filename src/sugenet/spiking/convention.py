"""What a leaky integrate-and-fire network leaves open, said once: without it, two simulators of the same
weights disagree (docs/spiking.md).

Nothing here has a default. A file of weights, leaks and thresholds does not tell these things, and to guess
one of them is to answer for another network.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from sugenet.brief import Brief
from sugenet.capacity.arguments import number_words
from sugenet.errors import NetworkError
from sugenet.spiking.numbers import exact

__all__ = ["FIELDS", "MOST_STEPS", "Code", "Convention", "Decision", "Fires", "Reset", "Ties", "When"]

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
"""The fields that are one of a few words, and their words."""
MOST_STEPS = 64

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
class Convention(Brief):
    """How the neurons of a network run in time, and how a class is read off. Every field has to be given.

    In each step ``V = leak * V + input``; the neuron spikes where V is above its threshold.

    Parameters
    ----------
    steps
        T, the number of steps in the window, numbered 0 to T - 1.
    reset
        What a spike does to the potential: ``"zero"`` sets it to 0, ``"subtract"`` takes the threshold away,
        ``"none"`` does nothing, ``"once"`` does nothing either, but the neuron spikes no more.
    when
        When the reset comes: ``"at once"``, at the end of the step of the spike; ``"before the leak"`` or
        ``"after the input"`` of the next step, so that it leaks or does not; ``"at once as in snnTorch"`` for
        `reset_mechanism="subtract", reset_delay=False` of snnTorch 1.0, where a neuron whose potential is
        above the threshold at the end of a step, its reset included, has to reach twice the threshold in the
        next, and a spike takes the threshold once. None for the resets "none" and
        "once".
    fires
        ``">"``: above the threshold; ``">="``: at the threshold too.
    code
        What a sample is: ``"latency"``, one value an input, the step of its only spike, T for none;
        ``"spikes"``, one 0 or 1 for each step and input, step by step.
    decision
        What makes a class, of the neurons of the last layer: ``"first spike"``, ``"spike count"``, ``"last
        potential"``, ``"summed potential"``, as it is at the end of a step.
    ties
        Which class wins of several that are equal, ``"lowest"`` or ``"highest"`` number; where none spikes,
        all are equal.
    step
        The length of a step, where leaks are given in continuous time (NIR), by ``v += step / tau *
        ((v_leak - v) + r * input)``; None where they are given for a step.

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
        if (
            not isinstance(self.steps, int)
            or isinstance(self.steps, bool)
            or not 1 <= self.steps <= MOST_STEPS
        ):
            raise NetworkError(f"steps={self.steps!r} is not a whole number from 1 to {MOST_STEPS}.")
        for name, kind in FIELDS.items():
            words, given = get_args(kind), getattr(self, name)
            if given not in words and not (name == "when" and given is None):
                raise NetworkError(f"{name}={given!r} is none of {', '.join(map(repr, words))}.")
        if (self.when is None) != (self.reset in ("none", "once")):
            needed = "has no time: give no when=" if self.when is not None else "needs one, such as 'at once'"
            raise NetworkError(f"reset={self.reset!r} with when={self.when!r}: this reset {needed}.")
        if self.when == "at once as in snnTorch" and self.reset != "subtract":
            raise NetworkError(
                f"when={self.when!r} is about reset='subtract'; with reset='zero' it is plain 'at once'."
            )
        if self.step is not None:
            object.__setattr__(self, "step", exact(self.step, "step"))
            if not self.step > 0:
                raise NetworkError(f"step={self.step} is not positive.")

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
        """What `snntorch.Leaky` does, in the words of its own arguments (snnTorch 1.0).

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
        """The least whole number that is above a bound, or at it where that is enough."""
        whole = bound.numerator // bound.denominator
        return whole + 1 if self.fires == ">" or whole != bound else whole

    def __str__(self) -> str:
        then = f"its potential then {_RESETS[self.reset]}{f', {_WHENS[self.when]}' if self.when else ''}"
        length = "" if self.step is None else f" of length {number_words(self.step)}"
        return (
            f"{self.steps} step{'s' * (self.steps > 1)}{length}; a neuron spikes where its potential is "
            f"{self.fires} the threshold; {then}; {_CODES[self.code]}; the class is that of the neuron which "
            f"{_DECISIONS[self.decision]}, of equal ones the {self.ties}"
        )
