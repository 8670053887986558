"""One neuron in words, as the paper's Example 1 shows it: its literals, its threshold, its minimal rules,
what would turn it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from sugenet.bnn import Network, Neuron
from sugenet.bnn.layer import gives, tops_of
from sugenet.bnn.raw_rules import RawNeuron
from sugenet.capacity.arguments import magnitude, written
from sugenet.errors import NetworkError
from sugenet.problem.neighbourhood import row_of
from sugenet.show.stairs import StairView

__all__ = ["NeuronView", "view_neuron"]

LITERALS = 4096  # literals listed in the JSON data; of more only the first are


@dataclass(frozen=True, eq=False)
class NeuronView:
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
        found = self.network.neuron(self.layer, self.number)
        assert isinstance(found, Neuron)
        return found

    def _bits(self) -> list[int] | None:
        """What the neuron reads in the sample, as -1 and +1."""
        if self.sample is None:
            return None
        trace = self.network.trace(self.sample)
        bits = trace.first_bits() if self.layer == 1 else trace.layers[self.layer - 2].active
        return [1 if on else -1 for on in bits]

    @cached_property
    def raw(self) -> RawNeuron | None:
        """The neuron in raw features, where it reads them."""
        return RawNeuron.of(self.network, self.number) if self.layer == 1 else None

    def data(self) -> dict[str, Any]:
        """Everything the text says, as JSON data."""
        neuron, words = self.neuron, self.network.words
        literals = sorted(neuron.lam, key=abs)
        shown = literals if len(literals) <= LITERALS else literals[: max(self.limit, 12)]
        out: dict[str, Any] = {
            "layer": self.layer,
            "neuron": self.number,
            "kind": neuron.kind,
            "tau": neuron.tau,
            "size": neuron.size,
            "literal_count": len(literals),
            "literals": [
                {"literal": lit, "weight": abs(neuron.weights[abs(lit) - 1]), "words": words(self.layer, lit)}
                for lit in shown
            ],
            "rule_count": written(self._count()),
            "rules": [] if neuron.kind != "threshold" else list(islice(self._rules(), self.limit)),
        }
        bits = self._bits()
        if bits is not None:
            out["sample"] = {
                "matches": neuron.match_count(bits),
                "active": neuron.active(bits),
                **self._turn(bits),
            }
        return out

    def _count(self) -> int | None:
        return self.neuron.rule_count() if self.raw is None else self.raw.count()

    def _rules(self) -> Iterator[dict[str, Any]]:
        """Minimal rules: in raw features where the neuron reads them, else in neurons of the layer before."""
        if self.raw is not None:
            yield from ({"words": rule.words(self.network.encoder)} for rule in self.raw.rules())
            return
        for rule in self.neuron.rules(by="size"):
            ordered = sorted(rule, key=abs)
            yield {
                "literals": ordered,
                "words": [self.network.words(self.layer, literal) for literal in ordered],
            }

    def _turn(self, bits: list[int]) -> dict[str, Any]:
        """The least number of features, or of neurons of the layer before,
        whose change turns the neuron; with examples.
        """
        if self.raw is not None and self.network.encoder.width != self.network.encoder.features:
            states = self.network.encoder.levels(row_of(self.network.encoder.values(self.sample)))[0]
            found = self.raw.turn(states)
            if found is None:
                return {"changes_to_turn": None, "ways_to_turn": 0, "turns": []}
            return {
                "changes_to_turn": found[0],
                "ways_to_turn": None,
                "turns": [found[1].words(self.network.encoder)],
            }
        turn = self.neuron.turn(bits)
        turns = [
            [self.network.words(self.layer, -bits[place - 1] * place) for place in sorted(places)]
            for places in islice(self.neuron.turning_sets(bits), min(self.limit, 3))
        ]
        return {"changes_to_turn": turn.flips, "ways_to_turn": turn.sets, "turns": turns}

    def __str__(self) -> str:
        data = self.data()
        lines = [f"neuron {self.number} of layer {self.layer}: {self.neuron}"]
        if data["kind"] == "threshold":
            shown = [item["words"] for item in data["literals"][: max(self.limit, 12)]]
            more = data["literal_count"] - len(shown)
            lines.append("literals: " + "; ".join(shown) + (f"; and {more:,} more" if more else ""))
            count, listed = self._count(), len(data["rules"])
            total = "too many to count" if count is None else magnitude(count)
            what = "minimal rules" if self.raw is None else "minimal rules in raw features"
            lines.append(f"{what}: {total}" + ("" if listed == count else f", {listed} of them shown"))
            lines += [
                f"  if {' and '.join(rule['words'])}, then the neuron activates" for rule in data["rules"]
            ]
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


def view_neuron(
    network: Network,
    layer: int,
    number: int,
    *,
    level: int | None = None,
    limit: int = 10,
    sample: Any = None,
) -> NeuronView | StairView:
    """Look at one neuron, on its own or on a sample; of several levels, with the rules for one of them: the
    lowest that is not always reached, unless `level` says another.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
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
    if gives(chosen) is not None or (layer > 1 and tops_of(chosen) is not None):
        return StairView.of(network, layer, number, level, limit=limit, sample=sample)
    if level not in (None, 1):
        raise NetworkError(f"layer {layer} has neurons of two levels, 0 and 1: there is no level {level}.")
    return NeuronView(network, layer, number, limit, sample)
