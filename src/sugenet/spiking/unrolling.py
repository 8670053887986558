"""Unroll a spiking network into a network of thresholds over literals (input, time) (docs/theory.md 13).

Unrolling is exact, so every question and certificate is about the spiking network itself.

Everything that depends on the inputs is in the first layer: for each neuron and step, whether its drive
reaches the few bounds that matter. The rest is small. Spikes of step t are one layer after those of step
t - 1, and each spiking layer is one step after the previous one. So the depth grows with steps plus layers,
not with their product.

This module also defines the features of an unrolled network, and how far spikes may move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import lcm
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import NetworkError, QuestionError, TooLargeError, refuse
from sugenet.nn import Domain, Encoder, Head, Network, Span, integer
from sugenet.nn.arrays import Ints
from sugenet.reprs import ShortRepr
from sugenet.spiking.network import Convention, SpikingLayer, SpikingNetwork
from sugenet.spiking.wiring import Ref, Wiring

__all__ = ["Unrolled", "bit_row", "encoder_of", "keeping_spikes", "scaled_costs", "subset_sums", "unroll"]

_TIME = "time of "


def encoder_of(convention: Convention, names: Sequence[str]) -> Encoder:
    """Return the encoder of the features.

    In the latency code, a feature is the time of an input's spike, T for none. In the spikes code there is
    one 0 or 1 per step and input, step by step.

    Examples
    --------
    >>> parts = dict(reset="none", when=None, fires=">", decision="first spike", ties="lowest", step=None)
    >>> encoder_of(Convention(steps=2, code="latency", **parts), ["left", "right"]).names
    ('time of left', 'time of right')
    >>> encoder_of(Convention(steps=2, code="spikes", **parts), ["left", "right"]).names[1:3]
    ('right spikes at 0', 'left spikes at 1')
    """
    steps = convention.steps
    if convention.code == "latency":
        return Encoder([integer(0, steps)] * len(names), [f"{_TIME}{name}" for name in names])
    features = [f"{name} spikes at {t}" for t in range(steps) for name in names]
    return Encoder([integer(0, 1)] * len(features), features, (steps, len(names)))


def keeping_spikes(network: Network, sample: Any, by: int | None = None) -> Network:
    """Restrict a network to inputs that spike iff they do in a sample of the latency code.

    No spike appears, none vanishes, and each moves by at most `by` steps. This restricts the inputs that can
    occur; a region restricts the total change. `L1(2)` is then a total shift of two steps, `L0(3)` three
    moved spikes, and `Linf(1)` a shift of every spike by at most one step.

    Parameters
    ----------
    network
        An unrolled network of the latency code.
    sample
        The times.
    by
        How far each spike may move; None: anywhere in the window.
    """
    encoder = network.encoder
    refuse(
        QuestionError,
        (
            not all(name.startswith(_TIME) for name in encoder.names),
            "the features of this network are not times of spikes: it has no latency code.",
        ),
        (
            by is not None and (isinstance(by, bool) or not isinstance(by, int) or by < 0),
            f"by={by!r}, but a shift is a number of steps: an integer, at least 0.",
        ),
    )
    limits = {}
    for feature, (coding, value) in enumerate(zip(encoder.codings, encoder.values(sample), strict=True)):
        coding.state(value)  # refuses invalid times
        none = coding.states - 1
        near = none if by is None else by
        limits[feature] = (
            Span(none, none)
            if value == none
            else Span(max(0, int(value) - near), min(none - 1, int(value) + near))
        )
    network.packed()  # packed once for all samples, since the result of `within` keeps it
    _ = network.fingerprint
    return network.within(Domain(limits))


_MAX_BOUNDS = 1 << 12
_LARGEST = 1 << 31
_SIZES = (*range(1, 65), *(1 << k for k in range(7, 20)))
"""Candidates for the largest of the small integers, tried in order."""

_Terms: TypeAlias = list[tuple[Fraction, Ref]]
"""Past spikes, each with the amount that it subtracts from the potential."""


@dataclass(frozen=True, eq=False)
class Unrolled(ShortRepr):
    """The network of thresholds, and the meaning of its neurons."""

    network: Network
    neurons: tuple[tuple[str, ...], ...]
    """For each layer, what each neuron means when it is on."""

    def words(self, layer: int, neuron: int) -> str:
        """Return the meaning of a neuron; layer and neuron are numbered from 1."""
        refuse(
            NetworkError,
            (
                not (1 <= layer <= len(self.neurons) and 1 <= neuron <= len(self.neurons[layer - 1])),
                f"there is no neuron {neuron} of layer {layer}.",
            ),
        )
        return self.neurons[layer - 1][neuron - 1]


def unroll(spiking: SpikingNetwork) -> Unrolled:
    """Return a network of thresholds with the class and scores of a spiking network on every input.

    Raises
    ------
    TooLargeError
        If sums exceed 31 bits, or subtractive reset with a leak has too many possible potentials.

    Examples
    --------
    >>> convention = Convention(steps=3, reset="zero", when="at once", fires=">=", code="spikes",
    ...                         decision="spike count", ties="lowest", step=None)
    >>> layer = SpikingLayer([[1], [2]], leak=1, threshold=[2, 3])
    >>> found = unroll(SpikingNetwork([layer], convention))
    >>> found.network.predict([[1, 0, 1], [1, 1, 1]]), found.words(1, 1)
    (array([0, 0]), 'neuron 1 of spiking layer 1 reaches its threshold at 1, running from 0')
    """
    convention = spiking.convention
    encoder = encoder_of(convention, spiking.names)
    wiring = Wiring(encoder.width)
    trains: list[list[Ref]] | None = None
    for number, layer in enumerate(spiking.layers[:-1], start=1):
        drives = [_Drive(wiring, layer, j, number, trains, convention) for j in range(layer.neurons)]
        trains = [_spikes(drive) for drive in drives]
    last = spiking.layers[-1]
    drives = [_Drive(wiring, last, j, len(spiking.layers), trains, convention) for j in range(last.neurons)]
    votes = [_votes(drive) for drive in drives]
    head_of, layers, phrases = _head(wiring, votes, convention)
    network = Network(
        encoder,
        layers,
        head_of,
        spiking.classes,
        notes={"spiking": str(spiking), "convention": str(convention)},
    )
    return Unrolled(network, phrases)


# -- the potential of one neuron -----------------------------------------------------------------------------


class _Drive:
    """One neuron: its potential without resets, from any step on."""

    def __init__(
        self,
        wiring: Wiring,
        layer: SpikingLayer,
        j: int,
        number: int,
        trains: Sequence[Sequence[Ref]] | None,
        convention: Convention,
    ) -> None:
        self.wiring, self.trains, self.convention = wiring, trains, convention
        self.weights, self.divisor = layer.whole[j]
        self.leak, self.threshold, self.bias = layer.leak[j], layer.threshold[j], layer.bias[j]
        self.spikes = layer.spikes
        self.words = f"neuron {j + 1} of spiking layer {number}"

    def factors(self, start: int, end: int) -> list[Fraction]:
        """Return the factor of a spike at each step in the potential at the end, running from `start`."""
        leak = self.leak
        return [leak ** (end - u) if start <= u <= end else Fraction(0) for u in range(self.convention.steps)]

    def reaches(self, start: int, end: int, taken: _Terms, phrase: str) -> Ref:
        """Return whether the drive from `start` to `end`, minus past spikes, reaches the threshold."""
        factors = self.factors(start, end)
        bound = self.threshold - self.bias * sum(factors)
        taken = [(cost, ref) for cost, ref in taken if cost and ref is not False]
        bound += sum((cost for cost, ref in taken if ref is True), Fraction(0))
        taken = [(cost, ref) for cost, ref in taken if ref is not True]
        phrase = f"{self.words} {phrase}"
        if self.trains is not None:
            return self._over_spikes(factors, bound, taken, phrase)
        return self._over_bits(factors, bound, taken, phrase)

    def _over_spikes(self, factors: list[Fraction], bound: Fraction, taken: _Terms, phrase: str) -> Ref:
        assert self.trains is not None
        unit = _unit([*(f / self.divisor for f in factors), *(cost for cost, _ in taken)])
        times = [int(f * unit / self.divisor) for f in factors]
        terms: list[tuple[int, Ref]] = [
            (weight * times[u], ref)
            for weight, train in zip(self.weights.tolist(), self.trains, strict=True)
            if weight
            for u, ref in enumerate(train)
            if times[u]
        ]
        terms += [(-int(cost * unit), ref) for cost, ref in taken]
        return self.wiring.over(terms, self.convention.above(bound * unit), phrase)

    def _over_bits(self, factors: list[Fraction], bound: Fraction, taken: _Terms, phrase: str) -> Ref:
        """Compare the drive with each bound that past spikes can set, then these spikes with the bounds."""
        row, constant, unit = self._bit_row(factors)
        bounds = {bound}
        for cost, _ in taken:
            bounds |= {value + cost for value in bounds}
            if len(bounds) > _MAX_BOUNDS:
                raise TooLargeError(
                    f"{phrase}: its past spikes set more than {_MAX_BOUNDS} different bounds. Reset by "
                    "subtraction with a leak is exact for about 12 steps; ask for fewer."
                )
        values = sorted(bounds)
        reached = [
            self.wiring.over_bits(
                row,
                self.convention.above(value * unit) - constant,
                phrase if not taken else f"{phrase} if {value - bound} was taken from its potential",
            )
            for value in values
        ]
        if not taken:
            return reached[0]
        costs = scaled_costs(tuple(cost for cost, _ in taken))
        sums = sorted(set(subset_sums(costs)))  # in the order of the values
        terms: list[tuple[int, Ref]] = [(1, reached[0])]
        terms += [(after - here, ref) for (here, after), ref in zip(pairwise(sums), reached[1:], strict=True)]
        terms += [(-cost, ref) for cost, (_, ref) in zip(costs, taken, strict=True)]
        return self.wiring.over(terms, 1 - sums[0], phrase)

    def potential(self, ends: Sequence[int], taken: _Terms) -> _Votes:
        """Return the sum of the potentials at some steps, minus the amounts of past spikes."""
        factors = [sum(parts, Fraction(0)) for parts in zip(*(self.factors(0, t) for t in ends), strict=True)]
        start, terms = self.bias * sum(factors), [(-cost, ref) for cost, ref in taken]
        if self.trains is None:
            row, constant, unit = self._bit_row(factors)
            return _Votes(start + Fraction(constant, unit), (row, unit), terms)
        for weight, train in zip(self.weights.tolist(), self.trains, strict=True):
            terms += [
                (factor * weight / self.divisor, ref) for factor, ref in zip(factors, train, strict=True)
            ]
        return _Votes(start, _NO_BITS, terms)

    def _bit_row(self, factors: Sequence[Fraction]) -> tuple[Ints, int, int]:
        """Return the drive over the encoder's bits, one factor per step: weights, constant, unit."""
        unit = _unit([f / self.divisor for f in factors])
        times = [int(f * unit / self.divisor) for f in factors]
        return (*bit_row(self.weights, times, self.convention), unit)


def bit_row(weights: Ints, times: Sequence[int], convention: Convention) -> tuple[Ints, int]:
    """Return weights of the encoder's bits, and a constant, that sum the spikes of the inputs.

    A spike of input i at step u counts ``weights[i] * times[u]``.
    """
    factors = np.array(list(times), object)
    if convention.code == "spikes":  # step by step
        return np.outer(factors, weights).reshape(-1), 0
    # A spike at u means "the time is at least u" and not "at least u + 1".
    changes = np.append(factors[1:], 0) - factors
    return np.outer(weights, changes).reshape(-1), int(factors[0] * sum(weights.tolist()))


@cache
def scaled_costs(costs: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Return small integers whose subset sums have the same order as those of the given costs.

    Equal sums stay equal. Only the order matters when bounds are compared.

    Examples
    --------
    >>> scaled_costs((Fraction(81, 100), Fraction(9, 10), Fraction(1)))
    (6, 7, 8)
    """
    exact = subset_sums(costs)
    order = sorted(range(len(exact)), key=exact.__getitem__)
    largest = max(map(abs, costs), default=Fraction(1))
    for size in _SIZES:
        tried = tuple(round(cost * size / largest) for cost in costs)
        sums = subset_sums(tried)
        if all(
            (sums[a] == sums[b]) if exact[a] == exact[b] else (sums[a] < sums[b]) for a, b in pairwise(order)
        ):
            return tried
    unit = _unit(costs)
    return tuple(int(cost * unit) for cost in costs)


def subset_sums(costs: Sequence[Any]) -> list[Any]:
    """Return the sums over all subsets, in the order of their masks."""
    sums: list[Any] = [0]
    for cost in costs:
        sums += [value + cost for value in sums]
    return sums


def _unit(values: Sequence[Fraction]) -> int:
    return lcm(1, *(value.denominator for value in values))


# -- spikes --------------------------------------------------------------------------------------------------


def _spikes(drive: _Drive) -> list[Ref]:
    """Return whether a neuron spikes at each step."""
    match drive.convention.reset:
        case "zero":
            return _after_zero(drive)
        case "subtract":
            return _after_subtraction(drive)[0]
        case "none":
            return _plain(drive)
    reached = _plain(drive)
    return [
        drive.wiring.over(
            [(1, reached[t]), *((-1, ref) for ref in reached[:t])], 1, f"{drive.words} spikes at {t}"
        )
        for t in range(len(reached))
    ]


def _plain(drive: _Drive) -> list[Ref]:
    """Return whether the drive from the beginning reaches the threshold, at each step."""
    return [
        drive.reaches(0, t, [], f"reaches its threshold at {t}, running from 0")
        for t in range(drive.convention.steps)
    ]


def _after_subtraction(drive: _Drive) -> tuple[list[Ref], list[list[Fraction]]]:
    """Return the spikes, and the amount that each has subtracted by the end of each step."""
    steps, theta, leak = drive.convention.steps, drive.threshold, drive.leak
    when = drive.convention.when
    late = 1 if when == "after the input" else 0
    spikes: list[Ref] = []
    still: Ref = False
    for t in range(steps):
        taken: _Terms = [(theta * leak ** (t - u - late), spikes[u]) for u in range(t)]
        waiting: _Terms = [(theta, still)] if when == "at once as in snnTorch" else []
        spikes.append(drive.reaches(0, t, taken + waiting, f"spikes at {t}"))
        if when == "at once as in snnTorch" and t + 1 < steps:
            taken.append((theta, spikes[t]))
            still = drive.reaches(0, t, taken, f"is above its threshold after step {t}")
    first = 0 if when in ("at once", "at once as in snnTorch") else 1
    costs = [
        [theta * leak ** (t - u - late) if t - u >= first else Fraction(0) for u in range(steps)]
        for t in range(steps)
    ]
    return spikes, costs


def _after_zero(drive: _Drive) -> list[Ref]:
    """Return the spikes if a spike sets the potential to zero: it then restarts from the last spike.

    ``quiet[r, t]`` holds iff the neuron spiked at r (-1: at the beginning) and at none of the later steps up
    to t. For each t this holds for exactly one r <= t, so a spike at t means "for no r < t".
    """
    wiring, late = drive.wiring, int(drive.convention.when == "after the input")
    steps = drive.convention.steps
    at_zero = drive.convention.above(drive.threshold) <= 0  # whether a potential of 0 spikes

    def runs(r: int, t: int) -> Ref:
        start = 0 if r < 0 else r + 1 + late
        if start > t:  # the input of this step was erased
            return at_zero
        return drive.reaches(start, t, [], f"reaches its threshold at {t}, running from {start}")

    quiet: dict[tuple[int, int], Ref] = {}
    spikes: list[Ref] = []
    for t in range(steps):
        for r in range(-1, t):
            spiked: list[tuple[int, Ref]] = [] if r < 0 else [(-1, quiet[q, r]) for q in range(-1, r)]
            silent: list[tuple[int, Ref]] = [(-1, runs(r, v)) for v in range(r + 1, t + 1)]
            quiet[r, t] = wiring.over(
                spiked + silent, 0, f"{drive.words} is quiet to {t} since {'the start' if r < 0 else r}"
            )
        spikes.append(
            wiring.over([(-1, quiet[r, t]) for r in range(-1, t)], 0, f"{drive.words} spikes at {t}")
        )
    return spikes


# -- the decision --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Votes:
    """The score of one class: a constant, weights of the encoder's bits, weights of thresholds."""

    constant: Fraction
    bits: tuple[Ints, int]
    terms: _Terms


_NO_BITS = (np.zeros(0, np.int64), 1)


def _votes(drive: _Drive) -> _Votes:
    convention = drive.convention
    steps = convention.steps
    if convention.decision == "first spike":
        reached = _plain(drive)
        firsts = [
            drive.wiring.over([(1, ref) for ref in reached[: t + 1]], 1, f"{drive.words} has spiked by {t}")
            for t in range(steps)
        ]
        return _Votes(Fraction(0), _NO_BITS, [(Fraction(1), ref) for ref in firsts])
    if convention.decision == "spike count":
        return _Votes(Fraction(0), _NO_BITS, [(Fraction(1), ref) for ref in _spikes(drive)])
    ends = [steps - 1] if convention.decision == "last potential" else list(range(steps))
    if convention.reset != "subtract" or not drive.spikes:
        return drive.potential(ends, [])
    spikes, costs = _after_subtraction(drive)
    taken = [(sum((costs[t][u] for t in ends), Fraction(0)), spike) for u, spike in enumerate(spikes)]
    return drive.potential(ends, [(cost, ref) for cost, ref in taken if cost])


def _head(
    wiring: Wiring, votes: Sequence[_Votes], convention: Convention
) -> tuple[Head, tuple[Any, ...], tuple[tuple[str, ...], ...]]:
    """Return exact scores over the bits of the last layer; over the encoder's bits if there are no layers."""
    used = {ref for vote in votes for _, ref in vote.terms if not isinstance(ref, bool)}
    bits: dict[int, Ref] = {}
    if used:
        for vote in votes:
            for index in np.flatnonzero(vote.bits[0]).tolist():
                if index not in bits:
                    row = np.zeros(wiring.bits, object)
                    row[index] = 1
                    bits[index] = wiring.over_bits(row, 1, f"input bit {index + 1}")
    laid = wiring.laid([*used, *(ref for ref in bits.values() if not isinstance(ref, bool))])
    width = len(laid.words[-1]) if laid.layers else wiring.bits
    rows, biases, scales = [], [], []
    units = [lcm(vote.bits[1], _unit([vote.constant, *(cost for cost, _ in vote.terms)])) for vote in votes]
    finest = lcm(*units)
    for number, (vote, unit) in enumerate(zip(votes, units, strict=True)):
        row = np.zeros(width, object)
        constant, (weights, divisor) = vote.constant, vote.bits
        for index in np.flatnonzero(weights).tolist():
            column = laid.indices[bits[index]] if used else index
            row[column] += int(weights[index]) * (unit // divisor)
        for cost, ref in vote.terms:
            if isinstance(ref, bool):
                constant += cost * ref
            else:
                row[laid.indices[ref]] += int(cost * unit)
        size = sum(abs(value) for value in row.tolist())
        refuse(
            TooLargeError,
            (
                size >= _LARGEST,
                f"the potential of class {number} is a sum of integers of up to {size.bit_length()} bits, "
                "and exact sums are limited to 31. Round the weights to a grid such as 1/64 (grid=).",
            ),
        )
        later = Fraction(number, len(votes) * finest) if convention.ties == "highest" else Fraction(0)
        rows.append(row.astype(np.int64))
        scales.append(Fraction(1, 2 * unit))
        biases.append(constant + Fraction(int(row.sum()) if width else 0, 2 * unit) + later)
    return Head(np.array(rows), biases, scales), laid.layers, laid.words
