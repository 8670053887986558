"""Findings of a report: the questions about one decision, asked one after another within a time limit."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType
from typing import Any, TypeVar

from sugenet.errors import QuestionError, SugenetError
from sugenet.nn import Layer, Network, Steps, Trace
from sugenet.nn.images import grid_of
from sugenet.problem import Clock, Cost
from sugenet.reason import (
    L0,
    AnyInput,
    Chain,
    Hamming,
    Linf,
    Proved,
    Reasons,
    Refuted,
    Region,
    Robust,
    Undecided,
    WhatIf,
    trace_reasons,
    verify,
    why,
)
from sugenet.reason.counterfactuals.answers import (
    Answer,
    Counterfactual,
    NoCounterfactual,
    OpenCounterfactual,
)
from sugenet.reason.counterfactuals.searching import nearest as nearest_change
from sugenet.sweeps.interrupts import Handler, on_interrupt

__all__ = ["Findings", "find"]

_T = TypeVar("_T")

_TARGETS = 3
_HEAT = 200
"""Maximum number of reasons for a heat map."""
_NEURONS = 2000
"""Maximum number of neurons of all layers for a chain."""
_WORK = 1 << 26
"""Maximum initial size of a question: changes of one feature times neurons of the first layer.

Larger questions are not asked.
"""


@dataclass(frozen=True, eq=False)
class Findings:
    """Answers about one decision. None means that a question was not asked; `skipped` says why."""

    network: Network
    sample: tuple[Any, ...]
    trace: Trace
    nearest: Answer | None
    """The minimum number of features whose change alters the class."""
    stays: Proved | Refuted | Undecided | None
    """The largest number of changed features that is known not to alter it, with its own proof."""
    shifts: Answer | None
    """The same for images by the largest change of all pixels at once; for tables by flipped bits."""
    shifts_stay: Proved | Refuted | Undecided | None
    near: Reasons | None
    """Reasons within the smallest region in which the class can change."""
    everywhere: Reasons | None
    """A reason for any input."""
    targets: tuple[tuple[int, Answer], ...]
    """For the classes with the next best scores: the cheapest change that leads there."""
    chain: Chain | None
    skipped: tuple[str, ...]

    @property
    def best(self) -> Counterfactual | None:
        """Return the cheapest change that was found, to any class.

        A change to a specific class may be cheaper while the minimum is undecided.
        """
        counterfactuals = [
            answer
            for answer in (self.nearest, *(one for _, one in self.targets))
            if isinstance(answer, Counterfactual)
        ]
        return min(counterfactuals, key=lambda answer: answer.cost, default=None)


class _Asking:
    """Questions asked one after another, each with a share of the remaining time."""

    def __init__(self, time_limit: float, notify: Callable[[str], None] | None) -> None:
        self.clock, self.notify, self.is_stopped = Clock(time_limit), notify, False
        self.skipped: list[str] = []

    def stop(self, before: Handler, number: int, frame: FrameType | None) -> None:
        """End the current question on Ctrl-C with its partial results, and leave no time for later ones."""
        self.is_stopped = True
        before(number, frame)

    def ask(self, what: str, share: float, question: Callable[[float], _T]) -> _T | None:
        if self.notify is not None:
            self.notify(f"report: {what} ...")
        try:
            return question(0.0 if self.is_stopped else (self.clock.left() or 0.0) * share)
        except SugenetError as error:  # this network does not support the question: the report says so
            self.skipped.append(f"{what}: {error}")
            return None


def find(
    network: Network,
    x: Any,
    *,
    time_limit: float = 30.0,
    seed: int = 0,
    threads: int | None = None,
    notify: Callable[[str], None] | None = None,
) -> Findings:
    """Ask all questions of a report, in about `time_limit` seconds in total.

    Ctrl-C ends them all.
    """
    if (
        isinstance(time_limit, bool)
        or not isinstance(time_limit, int | float)
        or not 0 <= time_limit < float("inf")
    ):
        raise QuestionError(f"time_limit={time_limit!r} must be a number of seconds, not negative.")
    values = network.encoder.values(x)
    trace = network.trace(values)
    asking = _Asking(time_limit, notify)
    with on_interrupt(asking.stop):
        return _ask_all(network, values, trace, asking, {"seed": seed, "threads": threads, "notify": notify})


def _ask_all(
    network: Network, values: list[Any], trace: Trace, asking: _Asking, how: dict[str, Any]
) -> Findings:
    if _first_work(network) > _WORK:
        asking.skipped.append(
            "the questions what it rests on, what would change it and how robust it is: the network is too "
            "large to ask them within a report. Ask about a small region with sugenet verify"
        )
        chain = None
        if network.has_levels:  # a chain uses the levels directly, which are few
            chain = asking.ask("the chain of neurons", 0, lambda _: _chain(network, values))
        nothing = (None, None, None, None, None, None)
        return Findings(network, tuple(values), trace, *nothing, (), chain, tuple(asking.skipped))

    def change(cost: type[Cost], seconds: float | None, target: int | None = None) -> Answer:
        return nearest_change(network, WhatIf(values, cost, target), time_limit=seconds, **how)

    nearest = asking.ask("the least change", 0.3, lambda t: change(L0, t))
    stays = asking.ask(
        "how many features may change", 0.2, lambda t: _stays(network, values, nearest, L0, t, how)
    )
    kind = Linf if _is_uniform(network) else Hamming
    shifts = asking.ask("the least shift", 0.2, lambda t: change(kind, t))
    shifts_stay = asking.ask(
        "how far features may shift", 0.2, lambda t: _stays(network, values, shifts, kind, t, how)
    )
    targets = []
    order = sorted(range(len(network.classes)), key=lambda k: (-trace.scores[k], k))
    # the minimum over all classes already answers that one
    known = nearest.index if isinstance(nearest, Counterfactual) and nearest.is_minimum else None
    rivals = [k for k in order if k not in (trace.index, known)][:_TARGETS] if len(order) > 2 else []
    for k in rivals:
        answer = asking.ask(
            f"the least change to {network.classes[k]}",
            0.15,
            lambda t, k=k: change(L0, t, k),  # type: ignore[misc]
        )
        targets += [(k, answer)] if answer is not None else []
    near = asking.ask("a reason in a small region", 0.7, lambda t: _near(network, values, nearest, t, how))
    everywhere = asking.ask(
        "a reason for any input", 0.9, lambda t: why(network, values, AnyInput(), time_limit=t, **how)
    )
    chain = asking.ask("the chain of neurons", 0, lambda _: _chain(network, values))
    return Findings(
        network,
        tuple(values),
        trace,
        nearest,
        stays,
        shifts,
        shifts_stay,
        near,
        everywhere,
        tuple(targets),
        chain,
        tuple(asking.skipped),
    )


def _chain(network: Network, values: list[Any]) -> Chain:
    neurons = sum(layer.outputs for layer in network.layers)
    if neurons > _NEURONS:
        raise QuestionError(
            f"{neurons:,} neurons are too many to follow here. sugenet why --chain shows them"
        )
    return trace_reasons(network, values)


def _first_work(network: Network) -> int:
    """Return the work in the first layer for all changes of one feature, including unrolled convolutions."""
    outputs = (
        network.layers[0].outputs * _height(network.layers[0]) if network.layers else network.encoder.width
    )
    moves = sum(coding.states - 1 for coding in network.encoder.codings)
    read = [1, *map(_height, network.layers)]  # steps of the inputs of each later layer
    largest = max(
        (
            n * layer.inputs * layer.outputs * _height(layer)
            for n, layer in zip(read, network.layers, strict=False)
        ),
        default=0,
    )
    return max(moves * outputs, largest)


def _height(layer: Layer) -> int:
    """Return the number of steps of a neuron."""
    return layer.max_level or 1


def _is_uniform(network: Network) -> bool:
    """Return whether one largest change has the same meaning for every feature.

    This holds for pixels with integer values other than bits.
    """
    codings = network.encoder.codings
    return grid_of(network) is not None and all(
        isinstance(c, Steps) and c.whole and not c.bipolar for c in codings
    )


def _stays(
    network: Network,
    values: list[Any],
    nearest: Answer | None,
    kind: Callable[[Any], Region],
    t: float,
    how: dict[str, Any],
) -> Proved | Refuted | Undecided:
    """Return robustness in the largest region for which it is known, else in the smallest region."""
    radius = Fraction(1)
    if isinstance(nearest, Counterfactual | OpenCounterfactual):
        radius = max(Fraction(1), nearest.lower - 1)
    elif isinstance(nearest, NoCounterfactual):
        radius = Fraction(len(values) if kind is L0 else network.encoder.width)
    return verify(
        network, Robust(values, kind(int(radius) if radius.denominator == 1 else radius)), time_limit=t, **how
    )


def _near(
    network: Network, values: list[Any], nearest: Answer | None, t: float, how: dict[str, Any]
) -> Reasons:
    """Return reasons in the smallest region where the class may change."""
    radius = max(1, int(nearest.lower)) if isinstance(nearest, Counterfactual | OpenCounterfactual) else 2
    clock = Clock(t)
    first = why(network, values, L0(radius), minimal="size", time_limit=t, **how)
    if not first.reasons or first.reasons[0].status != "minimum" or not first.reasons[0].features:
        return first
    several = why(
        network,
        values,
        L0(radius),
        minimal="size",
        n=_HEAT,
        time_limit=clock.left(),
        **how,
    )
    proved = bool(several.reasons) and several.reasons[0].status == "minimum"
    return several if proved else first
