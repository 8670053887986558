"""The chain of reasons of one prediction: which hidden neurons decided the class, which focal set of each
fired, down to raw features.

At the head a set of neurons is chosen that suffices for the class whatever the other neurons do; for every
chosen neuron, `tau` of the literals that hold (active), or as many that fail as make `tau` out of reach
(idle): a focal set of its capacity or of the conjugate. So on down to the bits, and so to raw features. Every
step is checked by counting, and no neuron or literal of a step can be left out.

Neurons that give levels are looked at step by step, in the cut network: *at level m or more*, or below. Of a
neuron no more is named than the step that is needed, which those before it follow from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sugenet.bnn import DenseLayer, Head, Network, PoolLayer
from sugenet.bnn.arrays import Bits, Ints
from sugenet.bnn.cutting import owners_of
from sugenet.bnn.layer import Layer, dense_of
from sugenet.drawn import Drawn
from sugenet.errors import NetworkError
from sugenet.problem.neighbourhood import row_of

__all__ = ["Chain", "Link", "chain_of"]


@dataclass(frozen=True)
class Link:
    """A hidden neuron of the chain and what made it what it is."""

    layer: int
    """From 1."""
    neuron: int
    """From 1."""
    active: bool
    """Whether it is on; of one that gives levels, whether it reaches the level."""
    matches: int
    tau: int
    literals: tuple[int, ...]
    """Literals of its inputs that hold (active), or contrary ones (idle),
    and that suffice; signed, from 1: bits of the cut network.
    """
    level: int | None = None
    """Of a neuron that gives levels, the step that is meant."""


@dataclass(frozen=True, eq=False)
class Chain(Drawn):
    """From a prediction down to raw features."""

    network: Network
    sample: tuple[Any, ...]
    label: int
    decisive: tuple[int, ...]
    """Literals of the last hidden layer that suffice for the class."""
    links: dict[tuple[int, int], Link]
    """By layer and bit of the cut network, both from 1: the neuron, where it gives bits."""
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
                **({} if k.level is None else {"level": k.level}),
                "active": k.active,
                "M": k.matches,
                "tau": k.tau,
                "because": list(k.literals),
            }
            for k in self.links.values()
        ]
        label = self.network.classes[self.label]
        return {
            "class": label,
            "decisive": list(self.decisive),
            "links": links,
            "features": self.conditions(),
        }

    def text(self, limit: int = 12) -> str:
        """Indented text, each neuron explained where it is first used;
        at most `limit` lines below any one.
        """
        what = "neurons of the last layer" if self.links else "inputs"
        lines = [f"{self.network.classes[self.label]}, because these {len(self.decisive)} {what} suffice:"]
        self._below(len(self.network.layers), self.decisive, 1, limit, lines, set())
        return "\n".join(lines)

    def _below(
        self,
        layer: int,
        literals: Iterable[int],
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
            link = self.links[layer, abs(literal)]
            if link.level is None:
                state = "on" if link.active else "off"
            else:
                state = f"at level {link.level} or more" if link.active else f"below level {link.level}"
            state += f": M = {link.matches} {'>=' if link.active else '<'} tau = {link.tau}"
            known = (
                " (see above)"
                if (layer, abs(literal)) in seen
                else f", because of these {len(link.literals)}:"
            )
            lines.append(f"{pad}neuron {link.neuron} of layer {layer} is {state}{known}")
            if (layer, abs(literal)) not in seen:
                seen.add((layer, abs(literal)))
                self._below(layer - 1, link.literals, depth + 1, limit, lines, seen)
        if len(listed) > limit:
            lines.append("  " * depth + f"... and {len(listed) - limit} more")

    def _input_words(self, literals: list[int]) -> list[str]:
        """What literals of the inputs say, feature by feature."""
        encoder = self.network.encoder
        allowed: dict[int, set[int]] = {}
        for literal in literals:
            place = abs(literal) - 1
            levels = self.network.cut.reads_levels
            feature = place if levels else encoder.feature_of[place]
            coding = encoder.codings[feature]
            states = allowed.setdefault(feature, set(range(coding.states)))
            if levels:
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
    counts = network.match_counts(row, engine="definition")
    label = int(network.head.classes(counts)[0])
    cut = network.cut
    steps = [
        _Steps.of(layer, owners) for layer, owners in zip(cut.layers, owners_of(network.layers), strict=True)
    ]
    hidden = [bits[0] for bits in cut.hidden(row)]
    last = hidden[-1] if hidden else network.encoder.encode(row)[0]
    decisive = _decisive(cut.head, label, last, steps[-1] if steps else _Steps.single(len(last)))
    links: dict[tuple[int, int], Link] = {}
    wanted = list(decisive)
    for number in range(len(cut.layers), 0, -1):
        own = steps[number - 1]
        below: dict[int, None] = {}
        inputs = hidden[number - 2] if number > 1 else cut.inputs(row)[0]
        if number == 1 and cut.reads_levels:
            found = _level_links(network, wanted, inputs)
        else:
            layer = cut.layers[number - 1]
            whole = number > 1 and not isinstance(layer, PoolLayer)  # a pool reads one level of its inputs
            read = steps[number - 2] if whole else _Steps.single(len(inputs))
            found = _links(number, dense_of(layer), wanted, inputs, read)
        for link in found:
            links[number, link.neuron] = replace(link, **own.named(link.neuron))
            below |= dict.fromkeys(link.literals)
        wanted = sorted(below, key=abs)
    places = {abs(literal) - 1 for literal in wanted}
    features = places if cut.reads_levels else {network.encoder.feature_of[place] for place in places}
    return Chain(network, tuple(values), label, tuple(decisive), links, tuple(sorted(features)))


@dataclass(frozen=True, eq=False)
class _Steps:
    """Which bits of a cut layer are steps of which neuron."""

    table: Ints
    """One row a neuron: its bits, lowest level first."""
    owners: Ints
    levels: Ints
    """Of each bit the neuron, from 0, and its level."""
    bits: bool
    """Whether the layer gives bits, each of them a neuron."""

    @classmethod
    def of(cls, layer: Layer, owners: Ints | None) -> _Steps:
        if owners is None:
            return cls.single(layer.outputs)
        table = np.argsort(owners, kind="stable").reshape(int(owners.max()) + 1, -1)
        levels = np.empty(len(owners), np.int64)
        levels[table] = np.arange(1, table.shape[1] + 1)
        return cls(table, owners, levels, bits=False)

    @classmethod
    def single(cls, count: int) -> _Steps:
        """Bits that are neurons."""
        places = np.arange(count)
        return cls(places[:, None], places, np.ones(count, np.int64), bits=True)

    def named(self, bit: int) -> dict[str, Any]:
        """The neuron and the level of a bit, from 1."""
        if self.bits:
            return {}
        return {"neuron": int(self.owners[bit - 1]) + 1, "level": int(self.levels[bit - 1])}

    def strongest(self, literals: Iterable[int]) -> list[int]:
        """Literals without those that follow from another one of the same neuron."""
        found: dict[tuple[int, bool], int] = {}
        for literal in literals:
            key = int(self.owners[abs(literal) - 1]), literal > 0
            level = self.levels[abs(literal) - 1]
            known = found.get(key)
            if known is None or (level > self.levels[abs(known) - 1]) == (literal > 0):
                found[key] = literal
        return sorted(found.values(), key=abs)


def _decisive(head: Head, label: int, active: Bits, steps: _Steps) -> list[int]:
    """Neurons of the last layer that suffice for the class: each that can be left out is,
    the least telling first; of a neuron's steps the outermost.
    """
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
    outwards = np.where(active, -steps.levels, steps.levels)
    for neuron in sorted(kept, key=lambda i: (sum(row[i] for row in swings), steps.owners[i], outwards[i])):
        if all(row[neuron] <= left for row, left in zip(swings, room, strict=True)):
            kept.discard(neuron)
            room = [left - row[neuron] for row, left in zip(swings, room, strict=True)]
    return steps.strongest(i + 1 if active[i] else -(i + 1) for i in sorted(kept))


def _links(number: int, layer: DenseLayer, wanted: list[int], inputs: Bits, read: _Steps) -> Iterable[Link]:
    """What made neurons over bits what they are."""
    matches = layer.match_counts(inputs[None, :])[0].tolist()
    usage = np.zeros(len(read.table), np.int64)
    for literal in wanted:
        j = abs(literal) - 1
        tau = int(layer.tau[j])
        chosen = _focal(layer.weights[j], tau, inputs, matches[j] >= tau, usage, read)
        usage[[read.owners[abs(c) - 1] for c in chosen]] += 1
        yield Link(number, j + 1, matches[j] >= tau, matches[j], tau, tuple(chosen))


def _focal(weights: Ints, tau: int, inputs: Bits, active: bool, usage: Ints, read: _Steps) -> list[int]:
    """Literals that hold and reach tau; or contrary ones, so many that the rest cannot reach it: a minimal
    level vector, of each input as many literals as needed, named by the last of them.

    Those in use already come first.
    """
    rows = weights[read.table[:, 0]]  # all bits of an input have its weight
    top, levels, sizes = read.table.shape[1], inputs[read.table].sum(axis=1), np.abs(rows)
    upwards = (rows > 0) == active  # whether the literals that help say: at least
    helping = np.where(upwards, levels, top - levels)
    useful = np.flatnonzero((helping > 0) & (sizes > 0))
    need = tau if active else int(sizes.sum()) * top - tau + 1
    taken: dict[int, int] = {}
    for place in sorted(useful.tolist(), key=lambda i: (-int(sizes[i]), -int(usage[i]), i)):
        if need <= 0:
            break
        size = int(sizes[place])
        taken[place] = min(int(helping[place]), -(-need // size))
        need -= taken[place] * size
    for place in sorted(taken, key=lambda i: int(sizes[i])):  # weights larger than 1 may leave some needless
        spare = min(taken[place], -need // int(sizes[place]))
        taken[place] -= spare
        need += spare * int(sizes[place])
    found = []
    for place, many in taken.items():
        if many:
            bit = int(read.table[place, many - 1 if upwards[place] else top - many])
            found.append(bit + 1 if upwards[place] else -(bit + 1))
    return sorted(found, key=abs)


def _level_links(network: Network, wanted: list[int], levels: Ints) -> Iterable[Link]:
    """Neurons over levels: features are taken, those that weigh most first,
    until the rest can do what they like.
    """
    from sugenet.problem.front import first_layer

    first = first_layer(network)
    tops = np.array(network.encoder.tops)
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
        yield Link(1, j + 1, bool(active), int(counts[j]), tau, tuple(place + 1 for place in sorted(kept)))
