"""One neuron in words, as the paper's Example 1 shows it: its literals, its threshold, its minimal rules, what would turn it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from sugenet.bnn import Network, Neuron
from sugenet.errors import NetworkError

__all__ = ["NeuronView", "magnitude", "view_neuron"]

SEARCH_LIMIT = 5_000  # rules or flips looked through for those that a raw sample can meet
WRITTEN_BITS = 14_000  # larger counts are given as text: Python refuses to write them out


@dataclass(frozen=True)
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
        return self.network.neuron(self.layer, self.number)

    def _bits(self) -> list[int] | None:
        """What the neuron reads in the sample, as -1 and +1."""
        if self.sample is None:
            return None
        trace = self.network.trace(self.sample)
        bits = trace.first_bits() if self.layer == 1 else trace.layers[self.layer - 2].active
        return [1 if on else -1 for on in bits]

    def data(self) -> dict[str, Any]:
        """Everything the text says, as JSON data."""
        neuron, words = self.neuron, self.network.words
        literals = sorted(neuron.lam, key=abs)
        rules = [] if neuron.kind == "always" else list(islice(self._possible_rules(), self.limit))
        out: dict[str, Any] = {
            "layer": self.layer,
            "neuron": self.number,
            "kind": neuron.kind,
            "tau": neuron.tau,
            "size": neuron.size,
            "literals": [
                {"literal": lit, "weight": abs(neuron.weights[abs(lit) - 1]), "words": words(self.layer, lit)} for lit in literals
            ],
            "rule_count": count if (count := neuron.rule_count()).bit_length() < WRITTEN_BITS else magnitude(count),
            "rules": [{"literals": sorted(rule, key=abs), "words": said} for rule, said in rules],
        }
        bits = self._bits()
        if bits is not None:
            turn = neuron.turn(bits)
            flips = [{"inputs": sorted(places), "words": said} for places, said in islice(self._possible_turns(bits), self.limit)]
            out["sample"] = {
                "matches": neuron.match_count(bits),
                "active": neuron.active(bits),
                "flips_to_turn": turn.flips,
                "ways_to_turn": turn.sets,
                "turning_sets": flips,
            }
        return out

    def __str__(self) -> str:
        data = self.data()
        lines = [f"neuron {self.number} of layer {self.layer}: {self.neuron}"]
        if data["kind"] == "threshold":
            shown = [item["words"] for item in data["literals"][: max(self.limit, 12)]]
            more = len(data["literals"]) - len(shown)
            lines.append("literals: " + "; ".join(shown) + (f"; and {more} more" if more else ""))
            count, listed = self.neuron.rule_count(), len(data["rules"])
            lines.append(f"minimal rules: {magnitude(count)}" + ("" if listed == count else f", {listed} of them shown"))
            lines += [f"  if {' and '.join(rule['words'])}, then the neuron activates" for rule in data["rules"]]
        if "sample" in data:
            lines += self._sample_lines(data["sample"])
        return "\n".join(lines)

    def _sample_lines(self, seen: dict[str, Any]) -> list[str]:
        state = "active" if seen["active"] else "not active"
        relation = ">=" if seen["active"] else "<"
        lines = [f"on this sample: {seen['matches']} matches {relation} {self.neuron.tau}, so it is {state}"]
        if seen["flips_to_turn"] is None:
            return [*lines, "  nothing turns it"]
        flips, ways = seen["flips_to_turn"], seen["ways_to_turn"]
        lines.append(
            f"  {flips} flip{'s' if flips > 1 else ''} would turn it, in {magnitude(ways)} way{'s' if ways > 1 else ''} of choosing bits"
        )
        lines += [f"    if {' and '.join(turn['words'])}" for turn in seen["turning_sets"][:3]]
        return lines

    def _possible_rules(self) -> Iterator[tuple[frozenset[int], list[str]]]:
        """Minimal rules, shortest first, as far as some raw sample can meet them, with their words."""
        for rule in islice(self.neuron.rules(by="size"), SEARCH_LIMIT):
            said = self.network.conditions(self.layer, rule)
            if said is not None:
                yield rule, said

    def _possible_turns(self, bits: list[int]) -> Iterator[tuple[frozenset[int], list[str]]]:
        """Smallest flips that turn the neuron and lead to a raw sample, with what then holds."""
        for places in islice(self.neuron.turning_sets(bits), SEARCH_LIMIT):
            flipped = [-value if place in places else value for place, value in enumerate(bits, start=1)]
            if self.layer > 1 or self.network.encoder.is_legal(np.array(flipped) > 0):
                said = self.network.conditions(self.layer, [flipped[place - 1] * place for place in places])
                assert said is not None
                yield places, said


def view_neuron(network: Network, layer: int, number: int, *, limit: int = 10, sample: Any = None) -> NeuronView:
    """Look at one neuron, on its own or on a sample.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], tau=[2])], Head([[1], [-1]]))
    >>> print(view_neuron(net, 1, 1, limit=2, sample=[+1, -1, +1, -1]))
    neuron 1 of layer 1: active iff at least 2 of 4 literals hold
    literals: x1 = +1; x2 = +1; x3 = -1; x4 = +1
    minimal rules: 6, 2 of them shown
      if x1 = +1 and x2 = +1, then the neuron activates
      if x1 = +1 and x3 = -1, then the neuron activates
    on this sample: 1 matches < 2, so it is not active
      1 flip would turn it, in 3 ways of choosing bits
        if x2 = +1
        if x3 = -1
    """
    if limit < 0:
        raise NetworkError(f"limit={limit} must not be negative.")
    network.layer(layer)
    if layer == 1 and network.encoder.width > 100_000:
        raise NetworkError(f"layer {layer} has {network.encoder.width:,} literals, too many to show one by one.")
    network.neuron(layer, number)
    return NeuronView(network, layer, number, limit, sample)


def magnitude(count: int) -> str:
    """A count, written out while that is readable."""
    if count < 10**15:
        return f"{count:,}"
    power = (count.bit_length() - 1) * 30103 // 100000  # at most one too small, without writing a huge number out
    return f"about 10^{power + (count >= 10 ** (power + 1))}"
