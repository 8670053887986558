"""One neuron in words, as in the paper's Example 1: literals, threshold, minimal rules, and changes that turn
it.

A neuron of several levels is shown with its steps, and with the minimal levels of its inputs that raise it to
one of them (docs/theory.md 3.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from sugenet.capacity.arguments import magnitude, written
from sugenet.errors import NetworkError
from sugenet.nn import Condition, Network, Neuron, PoolLayer, QuantizedNeuron, RawNeuron
from sugenet.nn.trace import many
from sugenet.problem.neighbourhood import row_of

__all__ = ["NeuronView", "QuantizedView", "view_neuron"]

INPUTS = 4096  # inputs listed in the JSON data; of more, only the first


class _View:
    """Base class of views of neurons: the neuron, its rules, and a sample."""

    network: Network
    layer: int
    number: int
    level = 1
    """The level of rules and changes."""
    limit: int
    sample: Any
    reads_raw: bool
    """Whether it is in the first layer and counts literals."""

    @cached_property
    def raw(self) -> RawNeuron | None:
        """Return the condition that it reaches the level, in raw features if it reads them."""
        return RawNeuron.of(self.network, self.number, self.level) if self.reads_raw else None

    @property
    def title(self) -> str:
        """Name of the neuron."""
        return f"neuron {self.number} of layer {self.layer}"

    def shown(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The listed inputs."""
        return inputs if len(inputs) <= INPUTS else inputs[: max(self.limit, 12)]

    def rule_count(self) -> int | None:
        """Number of minimal rules, or None if counting them would take too long."""
        raise NotImplementedError

    def own_rules(self) -> Iterator[dict[str, Any]]:
        """Return minimal rules over the outputs of the previous layer."""
        raise NotImplementedError

    def rules(self) -> list[dict[str, Any]]:
        """Return the first minimal rules, in raw features if the neuron reads them."""
        rules = (
            self.own_rules()
            if self.raw is None
            else ({"words": rule.words(self.network.encoder)} for rule in self.raw.rules())
        )
        return list(islice(rules, self.limit))

    def raw_turn(self) -> tuple[int | None, list[str]]:
        """Return the minimum number of features whose change turns it, and an example."""
        assert self.raw is not None
        encoder = self.network.encoder
        turn = self.raw.turn(encoder.levels(row_of(encoder.values(self.sample)))[0])
        return (None, []) if turn is None else (turn[0], turn[1].words(encoder))

    def input_line(self, what: str, phrases: Sequence[str], count: int) -> str:
        """Return its inputs, with a note if there are more."""
        more = f"; and {count - len(phrases):,} more" if count > len(phrases) else ""
        return f"{what}: {'; '.join(phrases)}{more}"

    def rule_lines(self, rules: list[dict[str, Any]], about: str, outcome: str) -> list[str]:
        """Return the number of rules, and the first of them."""
        count = self.rule_count()
        total = "too many to count" if count is None else magnitude(count)
        what = "minimal rules in raw features" if self.raw is not None else "minimal rules"
        shown = "" if len(rules) == count else f", {len(rules)} of them shown"
        return [
            f"{what}{about}: {total}{shown}",
            *(f"  if {' and '.join(rule['words'])}, then {outcome}" for rule in rules),
        ]


@dataclass(frozen=True, eq=False)
class NeuronView(_View):
    """A neuron of a network, ready to print (`str`) or to write as JSON (`data`)."""

    network: Network
    layer: int
    number: int
    limit: int = 10
    sample: Any = None
    """One raw sample to look at the neuron with, or None."""

    @property
    def neuron(self) -> Neuron:
        """The neuron itself."""
        neuron = self.network.neuron(self.layer, self.number)
        assert isinstance(neuron, Neuron)
        return neuron

    def _bits(self) -> list[int] | None:
        """The inputs of the neuron for the sample, as -1 and +1."""
        if self.sample is None:
            return None
        trace = self.network.trace(self.network.encoder.values(self.sample))
        bits = trace.first_bits() if self.layer == 1 else trace.layers[self.layer - 2].active
        return [1 if on else -1 for on in bits]

    @property
    def reads_raw(self) -> bool:  # type: ignore[override]
        """Whether it is in the first layer."""
        return self.layer == 1

    def data(self) -> dict[str, Any]:
        """Return the content of the text as JSON data."""
        neuron, describe = self.neuron, self.network.words
        literals = sorted(neuron.lam, key=abs)
        out: dict[str, Any] = {
            "layer": self.layer,
            "neuron": self.number,
            "kind": neuron.kind,
            "tau": neuron.tau,
            "size": neuron.size,
            "literal_count": len(literals),
            "literals": [
                {
                    "literal": lit,
                    "weight": abs(neuron.weights[abs(lit) - 1]),
                    "words": describe(self.layer, lit),
                }
                for lit in self.shown(literals)
            ],
            "rule_count": written(self.rule_count()),
            "rules": [] if neuron.kind != "threshold" else self.rules(),
        }
        bits = self._bits()
        if bits is not None:
            out["sample"] = {
                "matches": neuron.match_count(bits),
                "active": neuron.active(bits),
                **self._turn(bits),
            }
        return out

    def rule_count(self) -> int | None:
        """Number of minimal rules."""
        return self.neuron.rule_count() if self.raw is None else self.raw.count()

    def own_rules(self) -> Iterator[dict[str, Any]]:
        """Return minimal rules over neurons of the previous layer."""
        for rule in self.neuron.rules(by="size"):
            ordered = sorted(rule, key=abs)
            yield {
                "literals": ordered,
                "words": [self.network.words(self.layer, literal) for literal in ordered],
            }

    def _turn(self, bits: list[int]) -> dict[str, Any]:
        """Return the minimum number of features, or of previous neurons, whose change turns it; with
        examples.
        """
        if self.raw is not None and self.network.encoder.width != self.network.encoder.features:
            changes, example = self.raw_turn()
            ways = None if changes is not None else 0
            return {"changes_to_turn": changes, "ways_to_turn": ways, "turns": [example] if example else []}
        turn = self.neuron.turn(bits)
        turns = [
            [self.network.words(self.layer, -bits[index - 1] * index) for index in sorted(indices)]
            for indices in islice(self.neuron.turning_sets(bits), min(self.limit, 3))
        ]
        return {"changes_to_turn": turn.flips, "ways_to_turn": turn.sets, "turns": turns}

    def __str__(self) -> str:
        data = self.data()
        lines = [f"{self.title}: {self.neuron}"]
        if data["kind"] == "threshold":
            shown = [item["words"] for item in data["literals"][: max(self.limit, 12)]]
            lines.append(self.input_line("literals", shown, data["literal_count"]))
            lines += self.rule_lines(data["rules"], "", "the neuron activates")
        if "sample" in data:
            lines += self._sample_lines(data["sample"])
        return "\n".join(lines)

    def _sample_lines(self, seen: dict[str, Any]) -> list[str]:
        state = "active" if seen["active"] else "not active"
        relation = ">=" if seen["active"] else "<"
        lines = [f"on this sample: {seen['matches']} matches {relation} {self.neuron.tau}, so it is {state}"]
        changes = seen["changes_to_turn"]
        if changes is None:
            return [*lines, "  nothing turns it"]
        what = "feature" if self.raw is not None else "input neuron"
        ways = "" if seen["ways_to_turn"] is None else f", in {magnitude(seen['ways_to_turn'])} ways"
        lines.append(
            f"  {changes} changed {what}{'' if changes == 1 else 's'} would turn it{ways}, for example"
        )
        return [*lines, *(f"    if {' and '.join(turn)}" for turn in seen["turns"])]


@dataclass(frozen=True, eq=False)
class QuantizedView(_View):
    """A neuron of several levels, ready to print (`str`) or to write as JSON (`data`)."""

    network: Network
    layer: int
    number: int
    level: int
    """The level of rules and changes."""
    limit: int = 10
    sample: Any = None
    """One raw sample to look at the neuron with, or None."""

    @classmethod
    def of(cls, network: Network, layer: int, number: int, level: int | None, **about: Any) -> QuantizedView:
        """Return the neuron at a level (default: the lowest that not all inputs reach)."""
        view = cls(network, layer, number, 1, **about)
        steps = view.steps
        if level is not None and not 1 <= level <= len(steps):
            raise NetworkError(
                f"layer {layer}, neuron {number} has levels 1 to {len(steps)} above 0, not {level}."
            )
        open_steps = (m for m, tau in enumerate(steps, start=1) if tau is not None and tau > 0)
        return cls(network, layer, number, next(open_steps, 1) if level is None else level, **about)

    @cached_property
    def quantized(self) -> QuantizedNeuron | None:
        """The neuron itself; None if it is the maximum or minimum of several levels."""
        if self._pool is not None:
            return None
        layer = self.network.layer(self.layer)
        j = layer.index_of(self.number)
        return QuantizedNeuron(layer.row(j).tolist(), layer.thresholds_of(j), layer.input_tops.tolist())

    @cached_property
    def _pool(self) -> PoolLayer | None:
        layer = self.network.layer(self.layer)
        return layer if isinstance(layer, PoolLayer) else None

    @cached_property
    def weights(self) -> list[tuple[int, int]]:
        """The inputs that it reads, from 0, and their weights."""
        if self.quantized is not None:
            return [(index, weight) for index, weight in enumerate(self.quantized.weights) if weight]
        assert self._pool is not None
        window = self._pool.window
        channel, position = divmod(self.number - 1, len(window.taps))
        pixels = window.shape[1] * window.shape[2]
        return [(channel * pixels + int(tap), 1) for tap in window.taps[position] if tap >= 0]

    @cached_property
    def _every(self) -> bool:
        """Whether pooling takes the minimum."""
        assert self._pool is not None
        return bool(self._pool.every[(self.number - 1) // len(self._pool.window.taps)])

    @property
    def steps(self) -> list[int | None]:
        """For each level the required match count; None if no input reaches it. For pooling the level
        itself.
        """
        if self.quantized is None:
            assert self._pool is not None
            assert self._pool.top is not None
            return list(range(1, self._pool.top + 1))
        return [tau if tau <= self.quantized.size else None for tau in self.quantized.tau]

    @property
    def reads_raw(self) -> bool:  # type: ignore[override]
        """Whether it is in the first layer and counts literals."""
        return self.layer == 1 and self.quantized is not None

    def data(self) -> dict[str, Any]:
        """Return the content of the text as JSON data."""
        tops = self.network.layer(self.layer).input_tops.tolist()
        out: dict[str, Any] = {
            "layer": self.layer,
            "neuron": self.number,
            "kind": "staircase" if self._pool is None else "least" if self._every else "largest",
            "levels": len(self.steps),
            "steps": self.steps,
            "size": len(self.steps) if self.quantized is None else self.quantized.size,
            "input_count": len(self.weights),
            "inputs": [
                {
                    "input": index + 1,
                    "weight": weight,
                    "top": tops[index],
                    "words": self._input_text(index),
                }
                for index, weight in self.shown(self.weights)
            ],
            "level": self.level,
            "rule_count": written(self.rule_count()),
            "rules": self.rules() if self._is_open else [],
        }
        if self.sample is not None:
            out["sample"] = self._seen()
        return out

    @property
    def _is_open(self) -> bool:
        """Whether some inputs reach the level and some do not."""
        tau = self.steps[self.level - 1]
        return tau is not None and tau > 0

    def _input_text(self, index: int) -> str:
        if self.layer > 1:
            return f"neuron {index + 1} of layer {self.layer - 1}"
        encoder = self.network.encoder
        return encoder.names[index] if self.network.reads_levels else encoder.words(index, True)

    def rule_count(self) -> int | None:
        """Number of minimal rules, or None if counting them would take too long."""
        if self.raw is not None:
            return self.raw.count()
        if self.quantized is not None:
            return self.quantized.rule_count(self.level)
        return 1 if self._every else len(self.weights)

    def own_rules(self) -> Iterator[dict[str, Any]]:
        """Return minimal conditions on the levels of neurons of the previous layer."""
        for rule in self._level_rules():
            yield {
                "conditions": [
                    {"input": one.place, "at_least": one.at_least, "at_most": one.at_most} for one in rule
                ],
                "words": [self.network.words(self.layer, one) for one in rule],
            }

    def _level_rules(self) -> Iterator[tuple[Condition, ...]]:
        if self.quantized is not None:
            return self.quantized.rules(self.level)
        every = tuple(Condition(index + 1, at_least=self.level) for index, _ in self.weights)
        return iter([every] if self._every else [(one,) for one in every])

    # -- on a sample -----------------------------------------------------------------------------------------

    def _seen(self) -> dict[str, Any]:
        trace = self.network.trace(self.network.encoder.values(self.sample))
        seen = trace.layers[self.layer - 1]
        level = int((seen.active if seen.levels is None else seen.levels)[self.number - 1])
        return {
            "matches": int(seen.matches[self.number - 1]),
            "level": level,
            **self._turn(level >= self.level, trace),
        }

    def _turn(self, reached: bool, trace: Any) -> dict[str, Any]:
        """Return the minimum number of features, or inputs, whose change moves it across the level; with an
        example.
        """
        if self.raw is not None:
            changes, example = self.raw_turn()
            return {"changes": changes, "example": example}
        if self.layer == 1:
            values = trace.inputs[0]
        else:
            before = trace.layers[self.layer - 2]
            values = before.active.astype(int) if before.levels is None else before.levels
        chosen = self._changed(values, reached)
        if chosen is None:
            return {"changes": None, "example": []}
        return {"changes": len(chosen), "example": [self.network.words(self.layer, one) for one in chosen]}

    def _changed(self, values: Any, reached: bool) -> list[Condition] | None:
        if not self._is_open:
            return None
        if self.quantized is None:
            wrong = [position for position, _ in self.weights if (values[position] >= self.level) == reached]
            asked = {"at_most": self.level - 1} if reached else {"at_least": self.level}
            some = wrong if reached is not self._every else wrong[:1]
            return [Condition(position + 1, **asked) for position in some]
        weights, tops = np.array(self.quantized.weights), np.array(self.quantized.tops)
        ups = (weights > 0) != reached  # the direction in which each input must change
        gains = np.abs(weights) * np.where(ups, tops - values, values)
        count, tau = self.quantized.match_count(values.tolist()), self.quantized.reaches(self.level)
        need = count - tau + 1 if reached else tau - count
        chosen: list[Condition] = []
        for index in np.argsort(-gains, kind="stable").tolist():
            if need <= 0 or not gains[index]:
                break
            moves = min(int(gains[index]), need)
            by = -(-moves // abs(int(weights[index])))
            goal = int(values[index]) + (by if ups[index] else -by)
            chosen.append(
                Condition(index + 1, at_least=goal) if ups[index] else Condition(index + 1, at_most=goal)
            )
            need -= int(gains[index])
        return chosen if need <= 0 else None

    # -- words -----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        data = self.data()
        kind = self.quantized or f"the {data['kind']} of {many(len(self.weights), 'level')}"
        lines = [f"{self.title}: {kind}"]
        listed = data["inputs"][: max(self.limit, 12)]
        weighed = "" if self.quantized is None else "weight {weight:+}, "
        inputs = [f"{{words}} ({weighed}levels 0..{{top}})".format(**item) for item in listed]
        lines.append(self.input_line("inputs", inputs, data["input_count"]))
        if not self._is_open:
            always = self.steps[self.level - 1] is not None
            lines.append(f"level {self.level}: {'always' if always else 'never'} reached")
        else:
            lines += self.rule_lines(
                data["rules"], f" for level {self.level}", f"it is at least {self.level}"
            )
        if "sample" in data:
            lines += self._sample_lines(data["sample"])
        return "\n".join(lines)

    def _sample_lines(self, seen: dict[str, Any]) -> list[str]:
        by = "" if self.quantized is None else f"{seen['matches']} matches, so it is at "
        lines = [f"on this sample: {by}level {seen['level']}"]
        goal = f"drop it below {self.level}" if seen["level"] >= self.level else f"lift it to {self.level}"
        changes = seen["changes"]
        if changes is None:
            return [*lines, f"  nothing would {goal}"]
        what = "feature" if self.raw is not None else "input"
        lines.append(f"  {changes} changed {what}{'' if changes == 1 else 's'} would {goal}, for example")
        return [*lines, f"    if {' and '.join(seen['example'])}"]


def view_neuron(
    network: Network,
    layer: int,
    number: int,
    *,
    level: int | None = None,
    limit: int = 10,
    sample: Any = None,
) -> NeuronView | QuantizedView:
    """Return a view of one neuron, on its own or on a sample.

    For several levels, the rules are for `level` (default: the lowest that is not always reached).

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], tau=[2])], Head([[1], [-1]]))
    >>> print(view_neuron(net, 1, 1, limit=2, sample=[+1, -1, +1, -1]))
    neuron 1 of layer 1: active iff at least 2 of 4 literals hold
    literals: x1 = +1; x2 = +1; x3 = -1; x4 = +1
    minimal rules in raw features: 6, 2 of them shown
      if x1 = +1 and x2 = +1, then the neuron activates
      if x1 = +1 and x3 = -1, then the neuron activates
    on this sample: 1 matches < 2, so it is not active
      1 changed feature would turn it, in 3 ways, for example
        if x2 = +1
        if x3 = -1
    """
    if limit < 0:
        raise NetworkError(f"limit={limit} must not be negative.")
    chosen = network.layer(layer)
    if not 1 <= number <= chosen.outputs:
        raise NetworkError(
            f"layer {layer}: there is no neuron {number}: the layer has {chosen.outputs}, numbered from 1."
        )
    if not chosen.is_binary or (layer > 1 and chosen.tops is not None):
        return QuantizedView.of(network, layer, number, level, limit=limit, sample=sample)
    if level not in (None, 1):
        raise NetworkError(f"layer {layer} has neurons of two levels, 0 and 1: there is no level {level}.")
    return NeuronView(network, layer, number, limit, sample)
