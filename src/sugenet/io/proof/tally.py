"""Counting, batch by batch, what of a network and of its reference differs: hidden bits, classes, scores; and
the first of each, with both numbers. Which sign of a reference is which layer is known by the operations
where both follow the same ones, else found by size and order.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.bnn.arrays import Bits, Ints
from sugenet.io.exact.report import SignLocation
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.proof.interpreters import Seen, Stage

__all__ = ["SHOWN", "ClassDifference", "Difference", "NearTie", "Tally"]

_Bits = npt.NDArray[Any]
"""Bits or levels of a layer."""


@dataclass(frozen=True, eq=False)
class _LayerPair:
    """A hidden layer, from 0, the number of its stage, and where in the stage each of its neurons
    stands (None: in order).
    """

    layer: int
    stage: int
    order: npt.NDArray[np.intp] | None = None
    part: tuple[int, int] | None = None
    """The neurons of the layer that are the stage's, as `SignLocation` has them."""

    def of(self, stages: Sequence[Stage]) -> Stage:
        """The stage in the order of the layer's neurons."""
        stage = stages[self.stage]
        return stage if self.order is None else stage.at(self.order)


def _aligned(
    network: Network,
    bits: Sequence[_Bits],
    stages: Sequence[Stage],
    signs: Sequence[SignLocation],
    follows: bool = False,
) -> list[_LayerPair]:
    """Pairs of layers and stages, first to last.

    `signs` says which sign of the chain that was read became which layer; where the reference `follows` the
    chain, its signs are the same. Others have more signs than the network has layers (those on the inputs) or
    fewer (pooling is a layer of its own here): then stages are taken in order, of the same size, and such
    that as much as possible agrees.
    """
    known = _known(bits, stages, signs) if follows else None
    return known if known is not None else _matched(network, bits, stages, signs)


def _known(
    bits: Sequence[_Bits], stages: Sequence[Stage], signs: Sequence[SignLocation]
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
    return sorted(pairs, key=lambda pair: pair.layer)  # branches stand beside one another


def _matched(
    network: Network, bits: Sequence[_Bits], stages: Sequence[Stage], signs: Sequence[SignLocation]
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


def _pixel_by_pixel(network: Network, layer: int) -> npt.NDArray[np.intp] | None:
    """Where the neurons of maps stand in a stage that lies pixel by pixel."""
    shape = network.layers[layer].output_shape
    if shape is None:
        return None
    channels, height, width = shape
    indices = np.arange(channels * height * width).reshape(height, width, channels)
    return indices.transpose(2, 0, 1).reshape(-1)


SHOWN = 20
"""Near ties that are kept of one batch of a layer, and shown."""
_NEAR = 2.0**-20
"""Eight roundings of float32: a value this small beside the neuron's largest may have
either sign in floats.
"""


@dataclass(frozen=True)
class Difference:
    """One neuron that is active here and not there, or the reverse, or has another level.

    Layers and neurons count from 1, samples from 0.
    """

    layer: int
    neuron: int
    sample: int
    matches: int
    tau: int | tuple[int, ...]
    value: float
    """What the reference has before its sign; before a quantizer, how far from a threshold."""
    reference: str
    """``on``, ``off``, or ``0`` where the reference's sign is neither; or the level."""

    @property
    def state(self) -> str:
        """What the neuron is here."""
        if isinstance(self.tau, tuple):
            return f"at level {sum(self.matches >= step for step in self.tau)}"
        return "on" if self.matches >= self.tau else "off"

    @property
    def there(self) -> str:
        """What the reference has, in words."""
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
    """A value before a sign that is so near to 0 that float rounding could turn it."""

    layer: int
    neuron: int
    sample: int
    value: float


@dataclass(frozen=True)
class ClassDifference:
    """A sample with another class; the exact scores are apart,
    so this is no matter of how a tie is broken.
    """

    sample: int
    network: int
    reference: int

    def __str__(self) -> str:
        return f"sample {self.sample}: class {self.network}, but {self.reference} in the reference"


@dataclass(frozen=True)
class _ScoreDifference:
    """A score that is another number, by more than rounding."""

    sample: int
    number: int
    network: float
    reference: float


class Tally:
    """Counts over the chunks: bits of hidden layers, then classes or scores.

    `bounds` says for each layer how far from 0 a reference's value may be on the wrong side through rounding
    alone; a sample in which that happened is not held against later layers. In `decided` layers it happens
    to every input with the same sum; `turned` has the first such neuron. `declared`: what sign(0) is
    where the reference gives neither value was said by the user, so the reference does not decide it.
    `follows`: the stages of the reference are `signs`, one by one.
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
        """Which layers can be compared; settled once, by the first samples."""
        if self.pairs is None:
            self.pairs = _aligned(self.network, bits, seen.stages, self.signs, self.follows)
        return self.pairs

    def add(
        self, rows: npt.NDArray[Any], bits: Sequence[Bits], seen: Seen, start: int, since: Ints | None = None
    ) -> Bits:
        """Compare hidden layers; gives back which samples may differ from here on through rounding alone.

        `since` says for each sample from which layer on it does so already.
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
        self, rows: npt.NDArray[Any], pair: _LayerPair, bits: Bits, stage: Stage, start: int, doubt: Bits
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
        self, rows: npt.NDArray[Any], pair: _LayerPair, stage: Stage, start: int, differs: Bits
    ) -> Difference:
        """The first of some neurons that differ."""
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

    def add_classes(
        self, counts: Ints, outputs: npt.NDArray[Any], start: int, doubt: Bits | None = None
    ) -> None:
        """Compare classes; a tie of exact scores, or of outputs that saturate in the reference's floats, may
        be broken in another way.
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

    def add_scores(
        self, mine: npt.NDArray[np.float64], theirs: npt.NDArray[Any], start: int, doubt: Bits, bound: Any
    ) -> None:
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
    """Whether two outputs are one number up to the last digits of their floats,
    as two large scores are behind a sigmoid.
    """
    return bool(abs(a - b) <= 4 * np.spacing(max(abs(a), abs(b))))
