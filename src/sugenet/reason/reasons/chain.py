"""The chain of reasons of one prediction, from the deciding hidden neurons and their focal sets to raw
features.

At the head, a set of neurons is chosen that suffices for the class whatever the other neurons do. For an
active neuron, `tau` of the literals that hold are chosen; for an inactive one, as many failing literals as
make `tau` unreachable. This is a focal set of its capacity or of the conjugate. The same is repeated down to
the bits and the raw features. Every step is checked by counting, and no neuron or literal of a step can be
left out. If neurons have several levels, conditions on levels replace literals: a neuron must be at or above
a level, or at or below one. Its inputs get conditions of the same form, each as weak as possible
(docs/theory.md 3.4).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sugenet.nn import NEVER, Condition, Head, Layer, Network, network_of
from sugenet.nn.arrays import Ints
from sugenet.plottable import Plottable
from sugenet.problem.neighbourhood import row_of
from sugenet.reprs import ShortRepr

__all__ = ["Chain", "Link", "key_of", "trace_reasons"]


@dataclass(frozen=True)
class Link(ShortRepr):
    """Hidden neuron of the chain, and the inputs that determine its state."""

    layer: int
    """Index of the layer, from 1."""
    neuron: int
    """Index of the neuron from 1, as in literals."""
    active: bool
    """Whether it is active; False for a neuron that must not exceed a level."""
    matches: int
    tau: int
    """The threshold that it reaches, or does not reach."""
    literals: tuple[int | Condition, ...]
    """Literals of its inputs that suffice: those that hold (active), or contrary ones (inactive); signed,
    from 1.

    In a network of several levels, conditions on levels.
    """
    wanted: Condition | None = None
    """In a network of several levels, the condition on its level."""
    level: int | None = None
    """Its level, if it has several."""

    @property
    def state(self) -> str:
        """Return its state, and the match count that explains it."""
        counted = f"M = {self.matches} {'>=' if self.active else '<'} tau = {self.tau}"
        if self.tau == NEVER:
            counted = "no input lifts it higher"
        if self.level is None or self.wanted is None:
            return f"is {'on' if self.active else 'off'}: {counted}"
        return f"{self.wanted.relation} (it is {self.level}): {counted}"


@dataclass(frozen=True, eq=False)
class Chain(Plottable):
    """Chain of reasons from a prediction down to raw features.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> chain = trace_reasons(net, [1, 1, -1])
    >>> chain.label, chain.conditions()
    ('on', ['x1 = +1', 'x2 = +1'])

    See Also
    --------
    trace_reasons : gives it.
    why : minimal sets of features, with certificates.
    """

    network: Network
    sample: tuple[Any, ...]
    index: int
    """Index of the class, from 0."""
    decisive: tuple[int | Condition, ...]
    """Literals of the last hidden layer that suffice for the class; in a network of several levels,
    conditions.
    """
    links: dict[tuple[int, int], Link]
    """Links by layer and neuron, both from 1; the key -j holds the upper limit of neuron j of several
    levels.
    """
    features: tuple[int, ...]
    """Indices of raw features from 0: sufficient for the class, though not always minimal as a whole."""

    @property
    def label(self) -> str:
        """Name of the class."""
        return self.network.classes[self.index]

    def conditions(self) -> list[str]:
        """Return the conditions on raw features that the chain uses, in words."""
        names, codings, sample = self.network.encoder.names, self.network.encoder.codings, self.sample
        return [codings[f].describe(names[f], codings[f].state(sample[f])) for f in self.features]

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
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
        return {
            "label": self.label,
            "index": self.index,
            "decisive": list(map(_plain, self.decisive)),
            "links": links,
            "features": list(self.features),
            "conditions": self.conditions(),
        }

    def text(self, limit: int = 12) -> str:
        """Return indented text that explains each neuron at its first use; at most `limit` lines below
        each.
        """
        what = "neurons of the last layer" if self.links else "inputs"
        if any(isinstance(literal, Condition) for literal in self.decisive):
            what = "conditions on the last layer"
        lines = [
            f"{self.network.class_texts[self.index]}, because these {len(self.decisive)} {what} suffice:"
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
            phrases = self._input_text(listed)
            lines += [pad + word for word in phrases[:limit]]
            lines += [f"{pad}... and {len(phrases) - limit} more"] if len(phrases) > limit else []
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

    def _input_text(self, literals: list[int | Condition]) -> list[str]:
        """Return literals of the inputs as text, feature by feature."""
        network, encoder = self.network, self.network.encoder
        allowed: dict[int, set[int]] = {}
        for literal in literals:
            index = abs(key_of(literal)) - 1
            feature = index if network.reads_levels else encoder.feature_of[index]
            coding = encoder.codings[feature]
            states = allowed.setdefault(feature, set(range(coding.states)))
            if not network.reads_levels:
                on = literal > 0 if isinstance(literal, int) else literal.at_least is not None
                bit = index - encoder.group(feature).start
                states &= {state for state in states if bool(coding.bits(state)[bit]) == on}
            elif isinstance(literal, Condition):
                states &= {state for state in states if literal.holds(state)}
            else:
                states &= {coding.state(self.sample[feature])}
        return [
            encoder.codings[f].describe_several(encoder.names[f], sorted(states))
            for f, states in sorted(allowed.items())
        ]

    def __str__(self) -> str:
        return self.text()


def trace_reasons(network: Network, x: Any) -> Chain:
    """Trace the reasons of one prediction through the layers, down to raw features.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    x : array, list or mapping
        One raw sample: values in the order of the features, or by name.

    Returns
    -------
    Chain
        The deciding neurons of each layer, and for each of them the inputs that suffice.

    Raises
    ------
    EncodingError
        If the sample has a value that its feature cannot have.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(trace_reasons(net, [+1, +1, +1, -1]))
    on, because these 1 neurons of the last layer suffice:
      neuron 1 of layer 1 is on: M = 2 >= tau = 2, because of these 2:
        x1 = +1
        x2 = +1

    See Also
    --------
    why : minimal sets of features, with certificates.
    """
    network = network_of(network)
    values = network.encoder.values(x)
    row = row_of(values)
    label = int(network.predict(row, engine="definition")[0])
    layer_inputs = [network.inputs(row)[0], *(activity[0] for activity in network.hidden(row))]
    decisive = _decisive(network, label, layer_inputs[-1])
    written: Callable[[Condition], int | Condition] = (lambda one: one) if network.has_levels else _literal
    links, asked = {}, decisive
    for number in range(len(network.layers), 0, -1):
        layer, below = network.layers[number - 1], _Asked()
        for wanted in asked:
            matches, tau, because = _step(network, layer, wanted, layer_inputs[number - 1], below)
            below.add(because)
            level = None if layer.is_binary else int(layer_inputs[number][wanted.place - 1])
            about = (wanted, level) if network.has_levels else ()
            active, literals = wanted.at_least is not None, tuple(map(written, because))
            link = Link(number, wanted.place, active, matches, tau, literals, *about)
            links[number, key_of(written(wanted))] = link
        asked = below.conditions()
    indices = {one.place - 1 for one in asked}
    features = indices if network.reads_levels else {network.encoder.feature_of[index] for index in indices}
    return Chain(network, tuple(values), label, tuple(map(written, decisive)), links, tuple(sorted(features)))


def _literal(condition: Condition) -> int:
    """Return the literal of a bit, or the index of a feature."""
    return condition.place if condition.at_least is not None else -condition.place


def _because(count: int) -> str:
    return "because of this" if count == 1 else f"because of these {count}"


def key_of(literal: int | Condition) -> int:
    """Return the neuron that a literal or a condition names; negative if it must not exceed a level."""
    if isinstance(literal, int):
        return abs(literal)
    return literal.place if literal.at_least is not None else -literal.place


def _plain(literal: int | Condition) -> Any:
    if isinstance(literal, int):
        return literal
    return {"neuron": literal.place, "at_least": literal.at_least, "at_most": literal.at_most}


# -- what suffices -------------------------------------------------------------------------------------------


class _Asked:
    """Conditions on the values of a layer; of several on the same side of one value, only the strongest is
    kept.
    """

    def __init__(self) -> None:
        self.lows: dict[int, int] = {}
        self.highs: dict[int, int] = {}
        self.uses: Counter[int] = Counter()

    def add(self, conditions: Iterable[Condition]) -> None:
        for one in conditions:
            self.uses[one.place] += 1
            if one.at_least is not None:
                self.lows[one.place] = max(one.at_least, self.lows.get(one.place, 0))
            elif one.at_most is not None:
                self.highs[one.place] = min(one.at_most, self.highs.get(one.place, one.at_most))

    def conditions(self) -> list[Condition]:
        asked = [Condition(index, at_least=low) for index, low in self.lows.items()]
        asked += [Condition(index, at_most=high) for index, high in self.highs.items()]
        return sorted(asked, key=lambda one: (one.place, one.at_least is None))


def _step(
    network: Network, layer: Layer, wanted: Condition, inputs: Ints, below: _Asked
) -> tuple[int, int, tuple[Condition, ...]]:
    """Return the match count of a neuron, the required threshold, and inputs that suffice for it."""
    if network.has_levels and layer.every is not None:
        return _pool_step(layer, wanted, inputs, below)
    j, tops, levels = wanted.place - 1, layer.input_tops, np.asarray(inputs, np.int64)
    weights, taus = layer.row(j), layer.thresholds_of(j)
    sizes = np.abs(weights)
    matches = int((sizes * np.where(weights > 0, levels, tops - levels)).sum())
    if wanted.at_least is not None:
        tau = taus[wanted.at_least - 1]
        need = tau
    else:  # more must fail than tau leaves
        tau = taus[wanted.at_most or 0]
        need, weights = int(sizes @ tops) - tau + 1, -weights
    held = np.where(weights > 0, levels, tops - levels)
    if not network.has_levels and layer.tops is None:
        chosen = {index: int(held[index]) for index in _focal(sizes * held, need, below)}
    else:
        chosen = _least(sizes, held, max(need, 0), below if network.has_levels else None)
    because = []
    for index, value in chosen.items():
        low, high = (value, None) if weights[index] > 0 else (None, int(tops[index]) - value)
        if not network.has_levels and layer.tops is not None:  # a feature is named directly
            low = high = int(levels[index])
        because.append(Condition(index + 1, low, high))
    return matches, tau, tuple(because)


def _focal(brought: Ints, need: int, below: _Asked) -> list[int]:
    """Return bits whose weights reach the required sum, none redundant; bits already in use come first."""
    chosen: list[int] = []
    useful = np.flatnonzero(brought).tolist()
    for index in sorted(useful, key=lambda i: (-int(brought[i]), -below.uses[i + 1], i)):
        if need <= 0:
            break
        chosen.append(index)
        need -= int(brought[index])
    for index in sorted(
        chosen, key=lambda i: int(brought[i])
    ):  # weights larger than 1 may leave a redundant one
        if need + int(brought[index]) <= 0:
            chosen.remove(index)
            need += int(brought[index])
    return sorted(chosen)


def _least(sizes: Ints, held: Ints, need: int, below: _Asked | None) -> dict[int, int]:
    """Return inputs, and how much of each must be held to bring a match count to the required value.

    Inputs that contribute little are released first. If it is known which conditions were `below`, the others
    are lowered as far as the slack allows.
    """
    brought = sizes * held
    room, kept = int(brought.sum()) - need, np.flatnonzero(brought).tolist()
    uses = Counter() if below is None else below.uses
    for index in sorted(kept, key=lambda i: (uses[i + 1] > 0, int(brought[i]), i)):
        if brought[index] <= room:
            kept.remove(index)
            room -= int(brought[index])
    chosen = {index: int(held[index]) for index in kept}
    for index in kept if below is not None else ():
        spared = min(room // int(sizes[index]), chosen[index])
        room -= spared * int(sizes[index])
        chosen[index] -= spared
    return {index: value for index, value in chosen.items() if value}


def _pool_step(
    layer: Any, wanted: Condition, inputs: Ints, below: _Asked
) -> tuple[int, int, tuple[Condition, ...]]:
    """Bound a maximum: it is at least any one of its inputs, and at most all of them; a minimum the other
    way.
    """
    window = layer.window
    channel, position = divmod(wanted.place - 1, len(window.taps))
    taps = window.taps[position]
    indices = [channel * window.shape[1] * window.shape[2] + int(tap) for tap in taps if tap >= 0]
    every, rises = bool(layer.every[channel]), wanted.at_least is not None
    values = [int(inputs[index]) for index in indices]
    result = min(values) if every else max(values)
    fitting = [replace(wanted, place=index + 1) for index in indices]
    tau = wanted.at_least if rises else (wanted.at_most or 0) + 1
    if rises == every:
        return result, tau or 0, tuple(fitting)
    good = [one for one, value in zip(fitting, values, strict=True) if one.holds(value)]
    return result, tau or 0, (min(good, key=lambda one: (not below.uses[one.place], one.place)),)


def _decisive(network: Network, label: int, levels: Ints) -> list[Condition]:
    """Return conditions on the inputs of the head that suffice for the class; none can be weakened."""
    head = network.head
    tops, here = head.input_tops.tolist(), [int(level) for level in levels]
    room, rows = _rivals(head, label, levels)

    def costs(position: int, rises: bool) -> list[int]:
        """Return the cost of one level up, or down, against each rival."""
        return [max(0, -row[position] if rises else row[position]) for row in rows]

    sides = [(position, rises) for position in range(head.inputs) for rises in (False, True)]
    way = {
        (position, rises): tops[position] - here[position] if rises else here[position]
        for position, rises in sides
    }
    for side in sorted(sides, key=lambda s: (sum(costs(*s)) * way[s], s)):  # the whole way, if that fits
        cost = costs(*side)
        if all(one * way[side] <= left for one, left in zip(cost, room, strict=True)):
            room = [left - one * way[side] for one, left in zip(cost, room, strict=True)]
            way.pop(side)
    asked = []
    for (index, rises), distance in way.items():
        cost = costs(index, rises)
        by = min([distance, *(left // one for one, left in zip(cost, room, strict=True) if one)])
        room = [left - one * by for one, left in zip(cost, room, strict=True)]
        low, high = (None, here[index] + by) if rises else (here[index] - by, None)
        asked.append(Condition(index + 1, low, high))
    return sorted(asked, key=lambda one: (one.place, one.at_least is None))


def _rivals(head: Head, label: int, levels: Ints) -> tuple[list[int], list[list[int]]]:
    """Return for each rival the margin by which it loses, and its gain from one level of each input."""
    slopes, offsets, _ = head.integers
    inputs = np.asarray(levels, bool if head.tops is None else np.int64)
    counts = head.match_counts(inputs[None, :])[0].tolist()
    room, rows = [], []
    for k in range(head.outputs):
        if k == label:
            continue
        lead = slopes[label] * counts[label] + offsets[label] - slopes[k] * counts[k] - offsets[k]
        room.append(lead - (1 if k < label else 0))  # a tie goes to the lowest class
        weights = zip(head.weights[label].tolist(), head.weights[k].tolist(), strict=True)
        rows.append([slopes[label] * weight - slopes[k] * other for weight, other in weights])
    return room, rows
