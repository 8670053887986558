"""Count the differences between a network and its reference, batch by batch: hidden bits, classes, scores.
The first of each is kept with both numbers. If both follow the same operations, these define which sign of
the reference is which layer. Otherwise size and order do.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.io.exact.report import SignLocation
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.proof.interpreters import Seen, Stage
from sugenet.nn import Network
from sugenet.nn.arrays import Array, Bits, Doubles, Indices, Ints

__all__ = ["SHOWN", "ClassDifference", "Difference", "NearTie", "Tally"]


@dataclass(frozen=True, eq=False)
class _LayerPair:
    """Index of a hidden layer, from 0, index of its stage, and the position of each of its neurons in the
    stage.

    None for the positions means in order.
    """

    layer: int
    stage: int
    order: Indices | None = None
    part: tuple[int, int] | None = None
    """The neurons of the layer that belong to the stage, as in `SignLocation`."""

    def of(self, stages: Sequence[Stage]) -> Stage:
        """Return the stage in the order of the layer's neurons."""
        stage = stages[self.stage]
        return stage if self.order is None else stage.at(self.order)


def _aligned(
    network: Network,
    bits: Sequence[Array],
    stages: Sequence[Stage],
    signs: Sequence[SignLocation],
    follows: bool = False,
) -> list[_LayerPair]:
    """Return pairs of layers and stages, first to last.

    `signs` maps signs of the chain to layers. If the reference `follows` the chain, its signs are the same.
    Other references have more signs than the network has layers (those on the inputs), or fewer (pooling is a
    separate layer here). Then stages of the same size are matched in order, such that as much as possible
    agrees.
    """
    known = _known(bits, stages, signs) if follows else None
    return known if known is not None else _matched(network, bits, stages, signs)


def _known(
    bits: Sequence[Array], stages: Sequence[Stage], signs: Sequence[SignLocation]
) -> list[_LayerPair] | None:
    if not signs or len(stages) != len(signs):
        return None
    pairs = []
    for sign in signs:
        if sign.layer is None:
            continue
        if stages[sign.number].high.shape != bits[sign.layer][:, sign.neurons].shape:
            return None
        pairs.append(_LayerPair(sign.layer, sign.number, sign.places, sign.part))
    return sorted(pairs, key=lambda pair: pair.layer)  # branches are side by side


def _matched(
    network: Network, bits: Sequence[Array], stages: Sequence[Stage], signs: Sequence[SignLocation]
) -> list[_LayerPair]:
    orders = {sign.layer: sign.places for sign in signs}
    best: list[list[tuple[float, list[_LayerPair]]]] = [
        [(0.0, [])] * (len(stages) + 1) for _ in range(len(bits) + 1)
    ]
    for i in range(1, len(bits) + 1):
        ways = (_pixel_by_pixel(network, i - 1), orders.get(i - 1))
        for j in range(1, len(stages) + 1):
            choices = [best[i - 1][j], best[i][j - 1]]
            if stages[j - 1].high.shape == bits[i - 1].shape:
                total, pairs = best[i - 1][j - 1]
                for order in (None, *(way for way in ways if way is not None)):
                    stage_bits = stages[j - 1].values if order is None else stages[j - 1].values[:, order]
                    share = float((stage_bits == bits[i - 1]).mean())
                    choices.append((total + 1 + share, [*pairs, _LayerPair(i - 1, j - 1, order)]))
            best[i][j] = max(choices, key=lambda choice: choice[0])
    return best[-1][-1][1]


def _pixel_by_pixel(network: Network, layer: int) -> Indices | None:
    """Return the positions of the neurons of maps in a stage laid out pixel by pixel."""
    shape = network.layers[layer].output_shape
    if shape is None:
        return None
    channels, height, width = shape
    indices = np.arange(channels * height * width).reshape(height, width, channels)
    return indices.transpose(2, 0, 1).reshape(-1)


SHOWN = 20
"""Largest number of near ties that are kept per batch of a layer, and shown."""
_NEAR = 2.0**-20
"""Eight roundings of float32. A value this small relative to the neuron's largest may have either sign in
floats.
"""


@dataclass(frozen=True)
class Difference:
    """One neuron that is active in only one of the two, or has different levels.

    Layers and neurons count from 1, samples from 0.
    """

    layer: int
    neuron: int
    sample: int
    matches: int
    tau: int | tuple[int, ...]
    value: float
    """The reference's value before its sign. For a quantizer, its distance to a threshold."""
    reference: str
    """``on``, ``off``, or ``0`` if the reference's sign is neither; or the level."""

    @property
    def state(self) -> str:
        """The state of the neuron in the network."""
        if isinstance(self.tau, tuple):
            return f"at level {sum(self.matches >= step for step in self.tau)}"
        return "on" if self.matches >= self.tau else "off"

    @property
    def there(self) -> str:
        """The state of the reference, in words."""
        what = "is" if isinstance(self.tau, tuple) else "has"
        before = "from a threshold" if isinstance(self.tau, tuple) else "before its sign"
        return f"{what} {self.value:.6g} {before}, so {self.reference}"

    def __str__(self) -> str:
        return (
            f"layer {self.layer}, neuron {self.neuron}, sample {self.sample}: {self.matches} matches against "
            f"tau {self.tau}, so {self.state}; the reference {self.there}"
        )


@dataclass(frozen=True)
class NearTie:
    """A value before a sign that is so near to 0 that float rounding could change the sign."""

    layer: int
    neuron: int
    sample: int
    value: float


@dataclass(frozen=True)
class ClassDifference:
    """A sample with different classes. The exact scores differ, so this is not a tie broken differently."""

    sample: int
    network: int
    reference: int

    def __str__(self) -> str:
        return f"sample {self.sample}: class {self.network}, but {self.reference} in the reference"


@dataclass(frozen=True)
class _ScoreDifference:
    """A score that differs by more than rounding."""

    sample: int
    number: int
    network: float
    reference: float


class Tally:
    """Counts over the chunks: bits of hidden layers, then classes or scores.

    - `bounds`: for each layer, how far from 0 a reference's value may be on the wrong side through rounding
      alone. A sample in which that happened does not count against later layers.
    - `decided`: layers in which it happens to every input with the same sum.
    - `turned`: the first such neuron.
    - `declared`: the user declared sign(0) for references that give neither value, so the reference does not
      decide it.
    - `follows`: the stages of the reference are `signs`, one by one.
    """

    def __init__(
        self,
        network: Network,
        signs: Sequence[SignLocation] = (),
        *,
        bounds: Mapping[int, float] | None = None,
        decided: Container[int | None] = (),
        declared: bool = False,
        follows: bool = False,
    ) -> None:
        self.network, self.signs = network, signs
        self.bounds, self.declared, self.follows = bounds or {}, declared, follows
        self.decided = decided
        self.turned: Difference | None = None
        self.pairs: list[_LayerPair] | None = None
        self.differences = self.class_differences = self.ties = self.near = self.bits = self.scores = (
            self.rounded
        ) = self.left = 0
        self.found: Difference | None = None
        self.first_class: ClassDifference | None = None
        self.first_score: _ScoreDifference | None = None
        self.nearest: list[tuple[float, NearTie]] = []

    def align(self, bits: Sequence[Bits], seen: Seen) -> list[_LayerPair]:
        """Choose the layers that can be compared, once, by the first samples."""
        if self.pairs is None:
            self.pairs = _aligned(self.network, bits, seen.stages, self.signs, self.follows)
        return self.pairs

    def add(
        self, rows: Array, bits: Sequence[Bits], seen: Seen, start: int, since: Ints | None = None
    ) -> Bits:
        """Compare hidden layers. Return which samples may differ from here on through rounding alone.

        `since` is the layer from which on each sample already does.
        """
        doubt = np.zeros(len(rows), bool)
        for pair in self.align(bits, seen):
            first, last = pair.part or (0, bits[pair.layer].shape[1])
            here = bits[pair.layer][:, first:last]
            refuse_if(
                pair.stage >= len(seen.stages) or seen.stages[pair.stage].high.shape != here.shape,
                "the reference performs other operations for other samples. Compare it with a fixed program.",
            )
            if since is not None:
                doubt |= since <= pair.layer
            doubt |= self._layer(rows, pair, here, pair.of(seen.stages), start, doubt)
        return doubt if since is None else doubt | (since <= len(bits))

    def _layer(
        self, rows: Array, pair: _LayerPair, bits: Bits, stage: Stage, start: int, doubt: Bits
    ) -> Bits:
        layer, first = pair.layer, 0 if pair.part is None else pair.part[0]
        differs = np.where(bits, ~stage.high, ~stage.low) if stage.levels is None else bits != stage.levels
        differs &= ~doubt[:, None]
        size, bound = np.abs(stage.before), self.bounds.get(layer, 0.0)
        rounded = differs & (size <= bound) & (bound > 0)
        turned = rounded & (stage.high | stage.low) if self.declared else rounded.copy()
        if stage.turned is not None:
            rounded |= differs & stage.turned
        if self.declared:
            rounded |= differs & ~stage.high & ~stage.low
        wrong = differs & ~rounded
        self.differences += int(wrong.sum())
        self.rounded += int(rounded.sum())
        self.bits += int((~doubt).sum()) * bits.shape[1] - int(rounded.sum())
        if wrong.any() and (self.found is None or layer + 1 < self.found.layer):
            self.found = self._difference(rows, pair, stage, start, wrong)
        if layer in self.decided and turned.any() and self.turned is None:
            self.turned = self._difference(rows, pair, stage, start, turned)
        near = size <= _NEAR * size.max(axis=0, keepdims=True, initial=0)
        self.near += int(near.sum())
        for sample, neuron in np.argwhere(near)[:SHOWN].tolist():
            value = float(stage.before[sample, neuron])
            self.nearest.append((abs(value), NearTie(layer + 1, first + neuron + 1, start + sample, value)))
        return np.asarray(rounded.any(axis=1))

    def _difference(
        self, rows: Array, pair: _LayerPair, stage: Stage, start: int, differs: Bits
    ) -> Difference:
        """Return the first of some neurons that differ."""
        layer, first = pair.layer, 0 if pair.part is None else pair.part[0]
        sample, neuron = (int(k) for k in np.argwhere(differs)[0])
        trace = self.network.trace(rows[sample]).layers[layer]
        state = "on" if stage.high[sample, neuron] else "off" if stage.low[sample, neuron] else "0"
        if stage.levels is not None:
            state = f"at level {int(stage.levels[sample, neuron])}"
        tau = trace.tau[first + neuron].tolist()
        return Difference(
            layer + 1,
            first + neuron + 1,
            start + sample,
            int(trace.matches[first + neuron]),
            tuple(tau) if isinstance(tau, list) else int(tau),
            float(stage.before[sample, neuron]),
            state,
        )

    def add_classes(self, counts: Ints, outputs: Array, start: int, doubt: Bits | None = None) -> None:
        """Compare classes. Ties of exact scores, or of outputs that saturate in the reference's floats, may
        be broken differently.
        """
        mine = self.network.head.classes(counts)
        scores = (
            outputs.reshape(len(counts), -1)
            if outputs.size == len(counts) * self.network.head.outputs
            else None
        )
        theirs = outputs.reshape(-1) if scores is None else np.argmax(scores, axis=1)
        refuse_if(
            len(theirs) != len(counts),
            f"the reference gave shape {outputs.shape} for {len(counts)} samples: "
            f"{self.network.head.outputs} scores or one class each are needed.",
        )
        differs = mine != theirs if doubt is None else (mine != theirs) & ~doubt
        for sample in np.flatnonzero(differs).tolist():
            exact = self.network.head.scores(counts[sample : sample + 1])[0]
            other = int(theirs[sample])
            saturated = scores is not None and _same(scores[sample, mine[sample]], scores[sample, other])
            if saturated or (0 <= other < len(exact) and exact[other] == exact[mine[sample]]):
                self.ties += 1
                continue
            self.class_differences += 1
            if self.first_class is None:
                self.first_class = ClassDifference(start + sample, int(mine[sample]), other)

    def add_scores(self, mine: Doubles, theirs: Array, start: int, doubt: Bits, bound: Any) -> None:
        """Compare all scores, up to a bound on the rounding of both."""
        differs = ~(np.abs(mine - theirs) <= bound) & ~doubt[:, None]
        self.scores += int((~doubt).sum()) * mine.shape[1]
        self.left += int(doubt.sum())
        self.class_differences += int(differs.any(axis=1).sum())
        if differs.any() and self.first_score is None:
            sample, k = (int(index) for index in np.argwhere(differs)[0])
            self.first_score = _ScoreDifference(
                start + sample, k, float(mine[sample, k]), float(theirs[sample, k])
            )


def _same(a: Any, b: Any) -> bool:
    """Return whether two outputs are equal up to the last digits of their floats, such as two large scores
    after a sigmoid.
    """
    return bool(abs(a - b) <= 4 * np.spacing(max(abs(a), abs(b))))
