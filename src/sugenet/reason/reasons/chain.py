"""The chain of reasons of one prediction: which hidden neurons decided the class, which focal set of each
fired, down to raw features.

At the head a set of neurons is chosen that suffices for the class whatever the other neurons do; for every
chosen neuron, `tau` of the literals that hold (active), or as many that fail as make `tau` out of reach
(idle): a focal set of its capacity or of the conjugate. So on down to the bits, and so to raw features. Every
step is checked by counting, and no neuron or literal of a step can be left out. Where neurons have several
levels, conditions on levels stand in place of literals (`level_chain`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.bnn import NEVER, Condition, Network
from sugenet.bnn.arrays import Bits, Ints
from sugenet.brief import Brief
from sugenet.drawn import Drawn
from sugenet.errors import NetworkError
from sugenet.problem.neighbourhood import row_of
from sugenet.reason.reasons.level_chain import decisive_levels, follow

__all__ = ["Chain", "Link", "chain_of", "key_of"]


@dataclass(frozen=True)
class Link(Brief):
    """A hidden neuron of the chain and what made it what it is."""

    layer: int
    """From 1."""
    neuron: int
    """From 1, as literals name it."""
    active: bool
    """Whether it is on; of a neuron that must not exceed a level, False."""
    matches: int
    tau: int
    """The threshold that it reaches, or does not."""
    literals: tuple[int | Condition, ...]
    """Literals of its inputs that hold (active), or contrary ones (idle), and that suffice; signed, from 1.
    In a network of several levels, conditions on levels.
    """
    wanted: Condition | None = None
    """In a network of several levels, what is asked of its level."""
    level: int | None = None
    """Its level, where it has several."""

    @property
    def state(self) -> str:
        """What it is, and why by its match count."""
        counted = f"M = {self.matches} {'>=' if self.active else '<'} tau = {self.tau}"
        if self.tau == NEVER:
            counted = "no input lifts it higher"
        if self.level is None or self.wanted is None:
            return f"is {'on' if self.active else 'off'}: {counted}"
        return f"{self.wanted.relation} (it is {self.level}): {counted}"


@dataclass(frozen=True, eq=False)
class Chain(Drawn):
    """From a prediction down to raw features."""

    network: Network
    sample: tuple[Any, ...]
    label: int
    decisive: tuple[int | Condition, ...]
    """Literals of the last hidden layer that suffice for the class; conditions on its levels in a network of
    several levels.
    """
    links: dict[tuple[int, int], Link]
    """By layer and neuron, both from 1; under -j what neuron j of several levels must not exceed."""
    features: tuple[int, ...]
    """Raw features at the bottom, from 0: sufficient for the class, though not always minimal as a whole."""

    def conditions(self) -> list[str]:
        """What of the raw features the chain rests on, in words."""
        names, codings, sample = self.network.encoder.names, self.network.encoder.codings, self.sample
        return [codings[f].describe(names[f], codings[f].state(sample[f])) for f in self.features]

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        links = [
            {
                "layer": k.layer,
                "neuron": k.neuron,
                "active": k.active,
                "M": k.matches,
                "tau": k.tau,
                "because": list(map(_plain, k.literals)),
                **({} if k.wanted is None else {"wanted": _plain(k.wanted), "level": k.level}),
            }
            for k in self.links.values()
        ]
        label = self.network.classes[self.label]
        return {
            "class": label,
            "decisive": list(map(_plain, self.decisive)),
            "links": links,
            "features": self.conditions(),
        }

    def text(self, limit: int = 12) -> str:
        """Indented text, each neuron explained where it is first used;
        at most `limit` lines below any one.
        """
        what = "neurons of the last layer" if self.links else "inputs"
        if any(isinstance(literal, Condition) for literal in self.decisive):
            what = "conditions on the last layer"
        lines = [
            f"{self.network.class_words[self.label]}, because these {len(self.decisive)} {what} suffice:"
        ]
        self._below(len(self.network.layers), self.decisive, 1, limit, lines, set())
        return "\n".join(lines)

    def _below(
        self,
        layer: int,
        literals: Iterable[int | Condition],
        depth: int,
        limit: int,
        lines: list[str],
        seen: set[tuple[int, int]],
    ) -> None:
        listed, pad = list(literals), "  " * depth
        if layer == 0:
            words = self._input_words(listed)
            lines += [pad + word for word in words[:limit]]
            lines += [f"{pad}... and {len(words) - limit} more"] if len(words) > limit else []
            return
        for literal in listed[:limit]:
            key = layer, key_of(literal)
            link = self.links[key]
            known = " (see above)" if key in seen else f", {_because(len(link.literals))}:"
            lines.append(f"{pad}neuron {link.neuron} of layer {layer} {link.state}{known}")
            if key not in seen:
                seen.add(key)
                self._below(layer - 1, link.literals, depth + 1, limit, lines, seen)
        if len(listed) > limit:
            lines.append("  " * depth + f"... and {len(listed) - limit} more")

    def _input_words(self, literals: list[int | Condition]) -> list[str]:
        """What literals of the inputs say, feature by feature."""
        encoder = self.network.encoder
        allowed: dict[int, set[int]] = {}
        for literal in literals:
            if isinstance(literal, Condition):
                if self.network.reads_levels:
                    feature = literal.place - 1
                    states = allowed.setdefault(feature, set(range(encoder.codings[feature].states)))
                    states &= {state for state in states if literal.holds(state)}
                    continue
                literal = key_of(literal)
            place = abs(literal) - 1
            feature = place if self.network.reads_levels else encoder.feature_of[place]
            coding = encoder.codings[feature]
            states = allowed.setdefault(feature, set(range(coding.states)))
            if self.network.reads_levels:
                states &= {coding.state(self.sample[feature])}
            else:
                bit = place - encoder.group(feature).start
                states &= {state for state in states if bool(coding.bits(state)[bit]) == (literal > 0)}
        return [
            encoder.codings[f].describe_several(encoder.names[f], sorted(states))
            for f, states in sorted(allowed.items())
        ]

    def __str__(self) -> str:
        return self.text()


def chain_of(network: Network, x: Any) -> Chain:
    """Make the chain of reasons of one prediction.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(chain_of(net, [+1, +1, +1, -1]))
    on, because these 1 neurons of the last layer suffice:
      neuron 1 of layer 1 is on: M = 2 >= tau = 2, because of these 2:
        x1 = +1
        x2 = +1
    """
    values = network.encoder.values(x)
    row = row_of(values)
    if network.has_levels:
        return _level_chain(network, values)
    counts = network.match_counts(row, engine="definition")
    label = int(network.head.classes(counts)[0])
    hidden = [bits[0] for bits in network.hidden(row)]
    last = hidden[-1] if hidden else network.encoder.encode(row)[0]
    decisive = _decisive(network, label, last)
    links: dict[tuple[int, int], Link] = {}
    wanted = list(decisive)
    for number in range(len(network.layers), 0, -1):
        layer = network.layers[number - 1]
        below: dict[int, None] = {}
        levels = number == 1 and network.reads_levels
        inputs = (
            network.encoder.levels(row)[0]
            if levels
            else hidden[number - 2]
            if number > 1
            else network.encoder.encode(row)[0]
        )
        usage = np.zeros(len(inputs), np.int64)
        if levels:
            links |= _level_links(network, wanted, inputs, below)
        else:
            dense = layer.unrolled()
            matches = dense.match_counts(inputs[None, :])[0].tolist()
            for literal in wanted:
                j = abs(literal) - 1
                chosen = _focal(
                    dense.weights[j], int(dense.tau[j]), inputs, bool(hidden[number - 1][j]), usage
                )
                usage[[abs(c) - 1 for c in chosen]] += 1
                links[number, j + 1] = Link(
                    number, j + 1, bool(hidden[number - 1][j]), matches[j], int(dense.tau[j]), tuple(chosen)
                )
                below |= dict.fromkeys(chosen)
        wanted = sorted(below, key=abs)
    places = {abs(literal) - 1 for literal in wanted}
    features = places if network.reads_levels else {network.encoder.feature_of[place] for place in places}
    return Chain(network, tuple(values), label, tuple(decisive), links, tuple(sorted(features)))


def _level_chain(network: Network, values: list[Any]) -> Chain:
    row = row_of(values)
    label = int(network.predict(row, engine="definition")[0])
    levels = [network.inputs(row)[0], *(found[0] for found in network.hidden(row))]
    decisive = decisive_levels(network, label, levels[-1])
    steps, bottom = follow(network, levels, decisive)
    links = {}
    for step in steps:
        height = network.layers[step.layer - 1].max_level
        links[step.layer, key_of(step.wanted)] = Link(
            step.layer,
            step.wanted.place,
            step.wanted.at_least is not None,
            step.matches,
            step.tau,
            step.because,
            step.wanted,
            None if height is None else step.level,
        )
    places = {one.place - 1 for one in bottom}
    features = places if network.reads_levels else {network.encoder.feature_of[place] for place in places}
    return Chain(network, tuple(values), label, tuple(decisive), links, tuple(sorted(features)))


def _because(count: int) -> str:
    return "because of this" if count == 1 else f"because of these {count}"


def key_of(literal: int | Condition) -> int:
    """The neuron that a literal or a condition names; negative where it must not exceed a level."""
    if isinstance(literal, int):
        return abs(literal)
    return literal.place if literal.at_least is not None else -literal.place


def _plain(literal: int | Condition) -> Any:
    if isinstance(literal, int):
        return literal
    return {"neuron": literal.place, "at_least": literal.at_least, "at_most": literal.at_most}


def _decisive(network: Network, label: int, active: Bits) -> list[int]:
    """Neurons of the last layer that suffice for the class: each that can be left out is,
    the least telling first.
    """
    head = network.head
    slopes, offsets, _ = head.integers
    rivals = [k for k in range(head.outputs) if k != label]
    gaps, swings = [], []  # for each rival: by how much it loses, and by how much each neuron could help it
    for k in rivals:
        weights = slopes[label] * head.weights[label].astype(object) - slopes[k] * head.weights[k].astype(
            object
        )
        counts = [
            int(np.maximum(head.weights[c], 0) @ active - np.minimum(head.weights[c], 0) @ ~active)
            for c in (label, k)
        ]
        lead = slopes[label] * counts[0] + offsets[label] - slopes[k] * counts[1] - offsets[k]
        gaps.append(lead - (1 if k < label else 0))  # a tie goes to the lowest
        swings.append(
            [max(0, int(w if on else -w)) for w, on in zip(weights.tolist(), active.tolist(), strict=True)]
        )
    kept = set(range(head.inputs))
    room = list(gaps)
    for neuron in sorted(kept, key=lambda i: (sum(row[i] for row in swings), i)):
        if all(row[neuron] <= left for row, left in zip(swings, room, strict=True)):
            kept.discard(neuron)
            room = [left - row[neuron] for row, left in zip(swings, room, strict=True)]
    return [i + 1 if active[i] else -(i + 1) for i in sorted(kept)]


def _focal(weights: Ints, tau: int, inputs: Bits, active: bool, usage: Ints) -> list[int]:
    """Literals that hold and reach tau; or contrary ones, so many that the rest cannot reach it.

    Those in use already come first.
    """
    holds = (weights > 0) == inputs
    sizes = np.abs(weights)
    useful = np.flatnonzero((holds if active else ~holds) & (sizes > 0))
    need = tau if active else int(sizes.sum()) - tau + 1
    chosen: list[int] = []
    for place in sorted(useful.tolist(), key=lambda i: (-int(sizes[i]), -int(usage[i]), i)):
        if need <= 0:
            break
        chosen.append(place)
        need -= int(sizes[place])
    for place in sorted(chosen, key=lambda i: int(sizes[i])):  # weights larger than 1 may leave one needless
        if need + int(sizes[place]) <= 0:
            chosen.remove(place)
            need += int(sizes[place])
    return [place + 1 if inputs[place] else -(place + 1) for place in sorted(chosen)]


def _level_links(
    network: Network, wanted: list[int], levels: Ints, below: dict[int, None]
) -> dict[tuple[int, int], Link]:
    """Neurons over levels: features are taken, those that weigh most first,
    until the rest can do what they like.
    """
    from sugenet.problem.front import first_layer

    first = first_layer(network)
    tops = np.array(network.encoder.tops)
    found = {}
    if first.outputs * first.inputs > 1 << 26:
        raise NetworkError("the first layer is too large to follow a chain through it.")
    counts = first.match_counts(levels[None, :])[0]
    for literal in wanted:
        j = abs(literal) - 1
        weights, tau = first.weights[j], int(first.tau[j])
        active = counts[j] >= tau
        brought = np.where(weights > 0, weights * levels, -weights * (tops - levels))
        # what a feature could take away, or add
        swing = brought if active else np.abs(weights) * tops - brought
        room = int(counts[j]) - tau if active else tau - 1 - int(counts[j])
        kept = set(np.flatnonzero(swing).tolist())
        for place in sorted(kept, key=lambda i: (int(swing[i]), i)):
            if swing[place] <= room:
                kept.discard(place)
                room -= int(swing[place])
        chosen = tuple(place + 1 for place in sorted(kept))
        found[1, j + 1] = Link(1, j + 1, bool(active), int(counts[j]), tau, chosen)
        below |= dict.fromkeys(chosen)
    return found
