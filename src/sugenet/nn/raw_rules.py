"""Rules of a first-layer neuron in raw features: minimal sets of conditions, each on one feature, that
activate it (docs/theory.md 3.3).

If the value of a feature has state s, g(s) of its literals hold. A condition "g >= v" on a feature guarantees
v matches. So a rule is a level v per feature with levels that sum to tau; it is minimal if no level can be
lowered. For features of one bit these are the focal sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sugenet.errors import NetworkError
from sugenet.nn.encoder import Encoder
from sugenet.nn.network import Network
from sugenet.nn.neuron import count_minimal, minimal_vectors
from sugenet.reprs import ShortRepr

__all__ = ["RawNeuron", "RawRule"]


@dataclass(frozen=True)
class RawRule(ShortRepr):
    """Features and the states that each may be in; together they activate the neuron.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, thermometer, threshold
    >>> codings = [thermometer([4, 8, 12], low=0, high=16, whole=True), threshold(18.0, low=0.0)]
    >>> encoder = Encoder(codings, ["p", "age"])
    >>> net = Network(encoder, [DenseLayer([[-1, -1, -1, 1]], [3])], Head([[1], [-1]]))
    >>> first, second = RawNeuron.of(net, 1).rules()
    >>> second
    RawRule(states=((0, (0, 1)), (1, (1,))))
    >>> second.words(encoder)
    ['p < 8', 'age >= 18']

    See Also
    --------
    RawNeuron.rules : yields rules.
    """

    states: tuple[tuple[int, tuple[int, ...]], ...]

    def words(self, encoder: Encoder) -> list[str]:
        """Return one condition per feature, in words."""
        return [_describe(encoder, feature, states) for feature, states in self.states]


@dataclass(frozen=True, eq=False)
class RawNeuron(ShortRepr):
    """A neuron of the first layer, feature by feature.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, thermometer
    >>> encoder = Encoder([thermometer([4, 8, 12], low=0, high=16, whole=True)], ["p"])
    >>> net = Network(encoder, [DenseLayer([[-1, -1, -1]], [2])], Head([[1], [-1]]))
    >>> neuron = RawNeuron.of(net, 1)
    >>> neuron.count(), [rule.words(encoder) for rule in neuron.rules()]
    (1, [['p < 8']])

    See Also
    --------
    RawRule : a rule of the neuron.
    Neuron : a neuron over bits.
    """

    encoder: Encoder
    matches: tuple[tuple[int, ...], ...]
    """For each feature, the number of literals that hold in each state; -1 for a state without raw values."""
    tau: int

    @classmethod
    def of(cls, network: Network, j: int, level: int = 1) -> RawNeuron:
        """Return neuron j, from 1, of the first layer. If it has several levels: whether it reaches
        `level`.
        """
        layer = network.layer(1)
        taus = layer.thresholds_of(layer.index_of(j))
        if not 1 <= level <= len(taus):
            raise NetworkError(
                f"a neuron of two levels does not reach level {level}: ask for 1."
                if layer.is_binary
                else f"there is no level {level}: the neuron has levels 1 to {len(taus)} above 0."
            )
        encoder, row = network.encoder, layer.row(j - 1)
        matches = []
        for feature, coding in enumerate(encoder.codings):
            if network.reads_levels:
                weight = int(row[feature])
                top = int(layer.input_tops[feature])
                held = [abs(weight) * (s if weight > 0 else top - s) for s in range(coding.states)]
            else:
                group = encoder.group(feature)
                weights = row[group.start : group.stop]
                held = [
                    int(np.abs(weights[(weights > 0) == coding.bits(s)]).sum()) for s in range(coding.states)
                ]
            matches.append(
                tuple(count if coding.reachable(state) else -1 for state, count in enumerate(held))
            )
        return cls(encoder, tuple(matches), taus[level - 1])

    @cached_property
    def _levels(self) -> list[list[int]]:
        """For each feature the distinct gains above its minimum, rising from 0."""
        return [
            sorted({count - min(c for c in counts if c >= 0) for count in counts if count >= 0})
            for counts in self.matches
        ]

    @cached_property
    def need(self) -> int:
        """Total gain that the features must reach; 0 or less: always active."""
        return self.tau - sum(min(c for c in counts if c >= 0) for counts in self.matches)

    def rules(self) -> Iterator[RawRule]:
        """Yield the minimal rules lazily, beginning with one of the fewest features."""
        return (self._rule(chosen) for chosen in minimal_vectors(self._levels, self.need))

    def _rule(self, chosen: tuple[tuple[int, int], ...]) -> RawRule:
        conditions = []
        for feature, level in sorted(chosen):
            counts = self.matches[feature]
            min_count = min(c for c in counts if c >= 0) + level
            conditions.append(
                (feature, tuple(state for state, count in enumerate(counts) if count >= min_count))
            )
        return RawRule(tuple(conditions))

    def count(self) -> int | None:
        """Return the exact number of minimal rules, or None if counting would take too long."""
        return count_minimal(self._levels, self.need)

    def turn(self, states: Any) -> tuple[int, RawRule] | None:
        """Return the smallest number of features to change so that the neuron turns, with one such change;
        None if nothing turns it.
        """
        now = [counts[int(state)] for counts, state in zip(self.matches, states, strict=True)]
        missing = self.tau - sum(now)
        towards = 1 if missing > 0 else -1
        needed = missing if missing > 0 else 1 - missing
        gains = []
        for feature, counts in enumerate(self.matches):
            best = max(
                (towards * (count - now[feature]), -abs(state - int(states[feature])), state)
                for state, count in enumerate(counts)
                if count >= 0
            )
            gains.append((best[0], feature, best[2]))
        gains.sort(key=lambda gain: -gain[0])
        total, chosen = 0, []
        for gain, feature, state in gains:
            if total >= needed or gain <= 0:
                break
            total += gain
            chosen.append((feature, (state,)))
        return (len(chosen), RawRule(tuple(sorted(chosen)))) if total >= needed else None


def _describe(encoder: Encoder, feature: int, states: tuple[int, ...]) -> str:
    """Describe states, neighbouring ones together."""
    coding, name = encoder.codings[feature], encoder.names[feature]
    if not hasattr(coding, "cuts"):
        return coding.describe_several(name, states)
    runs: list[list[int]] = []
    for state in states:
        if runs and runs[-1][-1] == state - 1:
            runs[-1].append(state)
        else:
            runs.append([state])
    return " or ".join(coding.describe_several(name, run) for run in runs)
