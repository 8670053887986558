"""Trace of one sample through all layers: match counts and thresholds, and on request the Sugeno integrals
that give the same results.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sugenet.capacity import sugeno
from sugenet.capacity.criteria import Criteria
from sugenet.capacity.integral import Method
from sugenet.errors import SoundnessError, TooLargeError
from sugenet.nn.arrays import Bits, Ints
from sugenet.nn.packed import is_wide_sum
from sugenet.nn.reals import RealLayer
from sugenet.plottable import Plottable
from sugenet.reprs import ShortRepr, roughly

if TYPE_CHECKING:
    from sugenet.nn.network import Network

__all__ = ["LayerTrace", "Trace", "many", "trace"]

DEFINITION_LIMIT = 8  # inputs up to which all 2^(2n) sets of literals are enumerated
LEVELS_LIMIT = 4  # the same for weighted literals or capacities with several levels: each set takes longer
SORTING_LIMIT = 4096  # inputs up to which literals are sorted one neuron at a time
STEPS_LIMIT = 1 << 22  # literals of all steps of a network over levels; each step is an integral


@dataclass(frozen=True, eq=False)
class LayerTrace(ShortRepr):
    """Match counts, thresholds and activity of one hidden layer; for a layer over real numbers, its exact
    sums and their thresholds.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> layer = DenseLayer([[1, 1, -1], [-1, 1, 1]], tau=[1, 2])
    >>> seen = Network.of_bits([layer], Head([[1, 1], [1, -1]])).trace([1, -1, 1]).layers[0]
    >>> seen.matches.tolist(), seen.slack.tolist(), seen.active.tolist()
    ([1, 1], [0, -1], [True, False])

    See Also
    --------
    Trace : all layers.
    """

    matches: Ints
    tau: Ints
    """One threshold per neuron; for staircases one row per neuron, one column per step."""
    sizes: Ints
    active: Bits
    """For staircases, whether the level is above 0."""
    levels: Ints | None = None
    """For staircases, the level of each neuron."""

    @property
    def slack(self) -> Ints:
        """M - tau: distance of each neuron from its threshold, or from its nearest step; it is reached at 0
        or more.
        """
        if self.tau.ndim == 1:
            return np.asarray(self.matches - self.tau)
        all_of = self.matches[:, None] - self.tau
        nearest = np.argmin(np.abs(2 * all_of + 1), axis=1)  # reached by s, missed by s + 1: equally near
        return np.asarray(all_of[np.arange(len(nearest)), nearest])


@dataclass(frozen=True, eq=False)
class Trace(Plottable):
    """Trace of one sample through a network.

    Prints as a table; `prove` recomputes every neuron as a Sugeno integral.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> layer = DenseLayer([[1, 1, -1], [-1, 1, 1]], tau=[1, 2])
    >>> trace = Network.of_bits([layer], Head([[1, 1], [1, -1]])).trace([1, -1, 1])
    >>> print(trace)
    layer 1: 1 of 2 neurons active, 2 within 3 matches of turning
    class 0: 1 of 2 votes, score 0
    class 1: 2 of 2 votes, score 2 <- predicted
    >>> print(trace.prove())
    layer 1: 2 Sugeno integrals by definition equal the activity
    head: 2 scores equal 2n S_nu - n + b

    See Also
    --------
    Network.trace : returns traces.
    LayerTrace : one hidden layer.
    """

    network: Network
    sample: tuple[Any, ...]
    """The raw sample."""
    inputs: Any
    """Bits or levels that the first layer reads, one row."""
    layers: tuple[LayerTrace, ...]
    matches: Ints
    scores: tuple[Fraction, ...]
    index: int
    """Index of the predicted class, from 0."""

    @property
    def label(self) -> str:
        """Name of the predicted class."""
        return self.network.classes[self.index]

    def prove(self) -> str:
        """Recompute every neuron and every class score as a Sugeno integral over the polarized encoding, and
        return a description of the method.

        Few inputs are computed by definition, over all sets of literals; more inputs by sorting, and
        thousands by order statistics.

        Raises
        ------
        SoundnessError
            If an integral differs from the count. It never should.
        """
        lines, network = [], self.network
        if network.expanded is not network:
            return self._prove_levels()
        bits = self.layers[0].active if network.passes_reals else self.first_bits()
        for number, (layer, seen) in enumerate(zip(network.layers, self.layers, strict=True), start=1):
            if isinstance(layer, RealLayer):
                lines.append(self._prove_reals(layer, seen))
                continue
            dense = layer if is_wide_sum(layer) else layer.unrolled()
            sample = _polarized(bits)
            method: Method = (
                "definition"
                if len(bits)
                <= (DEFINITION_LIMIT if np.abs(dense.weights).max(initial=0) <= 1 else LEVELS_LIMIT)
                else "sorting"
                if len(bits) <= SORTING_LIMIT
                else "auto"
            )
            for j in range(dense.outputs):
                integral = sugeno(dense.neuron(j + 1).capacity(), sample, method=method)
                if bool(integral) != bool(seen.active[j]):
                    raise SoundnessError(
                        f"layer {number}, neuron {j + 1}: the Sugeno integral is {integral}, "
                        f"the activity {seen.active[j]}."
                    )
            way = "order statistics" if method == "auto" else method
            lines.append(
                f"layer {number}: {many(dense.outputs, 'Sugeno integral')} by {way} equal the activity"
            )
            bits = seen.active
        head, sample = network.head, _polarized(bits)
        for k in range(head.outputs):
            n = int(head.sizes[k])
            integral = Fraction(sugeno(head.capacity(k), sample)) if n else Fraction(0)
            if head.scale[k] * (2 * n * integral - n) + head.bias[k] != self.scores[k]:
                raise SoundnessError(f"class {k}: the score from S = {integral} is not {self.scores[k]}.")
        plain = all(scale == 1 for scale in head.scale)
        lines.append(
            f"head: {many(head.outputs, 'score')} equal "
            f"{'' if plain else 'scale '}{'2n S_nu - n' if plain else '(2n S_nu - n)'} + b"
        )
        return "\n".join(lines)

    def _prove_reals(self, layer: RealLayer, seen: LayerTrace) -> str:
        """Recompute the sums of a real layer in fractions: real numbers are not literals."""
        active = [s >= edge for s, edge in zip(layer.sums(self.sample), layer.edges, strict=True)]
        if active != seen.active.tolist():
            raise SoundnessError("layer 1: sums of real numbers in fractions differ from the activity.")
        return f"layer 1: {many(layer.outputs, 'sum')} of real numbers in fractions equal the activity"

    def _prove_levels(self) -> str:
        """Do the same for staircases: each step is a separate integral, and if there are few inputs, the
        whole neuron is one on the scale of its levels.
        """
        network = self.network
        literals = sum(layer.outputs * layer.height * int(layer.input_tops.sum()) for layer in network.layers)
        if literals > STEPS_LIMIT:
            raise TooLargeError(
                f"each step of a neuron is a Sugeno integral of its own: all together have {literals:,} "
                f"literals, and the limit is {STEPS_LIMIT:,}. Look at single neurons: "
                f"sugeno(network.neuron(layer, j).capacity(), literals)."
            )
        expanded = trace(network.expanded, np.asarray(self.sample, dtype=object)[None, :])
        lines = [expanded.prove()]
        values = self.inputs[0]
        for number, (layer, seen) in enumerate(zip(network.layers, self.layers, strict=True), start=1):
            tops = layer.input_tops
            if not layer.is_binary and layer.every is None and tops.sum() <= LEVELS_LIMIT:
                assert seen.levels is not None
                bits = np.concatenate([np.arange(top) < int(v) for v, top in zip(values, tops, strict=True)])
                for j in range(layer.outputs):
                    neuron = layer.neuron(j + 1)
                    integral = sugeno(neuron.capacity(), _polarized(bits), method="definition")
                    if Fraction(integral) * layer.height != int(seen.levels[j]):
                        raise SoundnessError(
                            f"layer {number}, neuron {j + 1}: the Sugeno integral is {integral}, "
                            f"the level {seen.levels[j]} of {layer.height}."
                        )
                lines.append(
                    f"layer {number}: {many(layer.outputs, 'Sugeno integral')} on {layer.height + 1} levels "
                    f"by definition equal the level"
                )
            values = seen.active if seen.levels is None else seen.levels
        if not np.array_equal(expanded.matches, self.matches):
            raise SoundnessError("the votes of the network and of its cut into steps differ.")
        return "\n".join(lines)

    def first_bits(self) -> Bits:
        """Return the bits of the sample; thermometer bits if the first layer reads levels."""
        row = (
            self.network.encoder.bits_of_levels(self.inputs)[0]
            if self.network.reads_levels
            else self.inputs[0]
        )
        return np.asarray(row, dtype=bool)

    def __str__(self) -> str:
        lines = []
        for number, seen in enumerate(self.layers, start=1):
            active, total = int(seen.active.sum()), len(seen.active)
            if seen.matches.dtype == object:
                lines.append(f"layer {number}: {active} of {total} neurons over real numbers active")
                continue
            near = int((np.abs(2 * seen.slack + 1) <= 5).sum())
            if seen.levels is None:
                lines.append(
                    f"layer {number}: {active} of {total} neurons active, {near} within 3 matches of turning"
                )
                continue
            top = seen.tau.shape[1]
            lines.append(
                f"layer {number}: {active} of {total} neurons above level 0, "
                f"{int((seen.levels == top).sum())} at the top ({top}), {near} within 3 matches of a step"
            )
        votes, scores = [str(count) for count in self.matches], [roughly(score) for score in self.scores]
        widths = [max(map(len, column)) for column in (self.network.class_texts, votes, scores)]
        for k, name in enumerate(self.network.class_texts):
            mark = " <- predicted" if k == self.index else ""
            lines.append(
                f"class {f'{name}:':<{widths[0] + 1}} {votes[k]:>{widths[1]}} "
                f"of {self.network.head.sizes[k]} votes, score {scores[k]:>{widths[2]}}{mark}"
            )
        return "\n".join(lines)


def trace(network: Network, x: Any) -> Trace:
    """Evaluate one raw sample, given as one row, by definition and record every layer."""
    row = network.encoder.rows(x)
    inputs = network.inputs(row)
    bits: Any = inputs
    counts: Any
    seen = []
    for layer in network.layers:
        if isinstance(layer, RealLayer):
            bits = layer.activity(bits)
            sums, ends = layer.sums(inputs[0].tolist()), layer.edges
            weight_sums = np.array([int(np.abs(weights).sum()) for _, weights in layer.reads()])
            exact: Any = [np.array(row, dtype=object) for row in (sums, ends)]
            seen.append(LayerTrace(exact[0], exact[1], weight_sums, bits[0]))
            continue
        activity = layer.activity(bits)
        if layer.every is not None and not layer.is_binary:  # a maximum reaches each step at its level
            top = layer.height
            steps = np.broadcast_to(np.arange(1, top + 1), (layer.outputs, top))
            counts, sizes = activity, np.full(layer.outputs, top)
        else:
            counts, steps, sizes = layer.match_counts(bits), layer.tau, layer.sizes
        bits = activity
        seen.append(LayerTrace(counts[0], steps, sizes, bits[0] > 0, None if layer.is_binary else bits[0]))
    counts = network.head.match_counts(bits)
    scores = tuple(network.head.scores(counts)[0])
    return Trace(
        network,
        tuple(row[0].tolist()),
        inputs,
        tuple(seen),
        counts[0],
        scores,
        int(network.head.classes(counts)[0]),
    )


def _polarized(bits: Bits) -> list[int]:
    """Return the values of the literals 1, -1, 2, -2, ... in the order of `Criteria.literals`."""
    row = [int(held) for value in bits.tolist() for held in (value, not value)]
    assert len(row) == len(Criteria.literals(len(bits)))
    return row


def many(count: int, what: str) -> str:
    """Return a count in words: 1 layer, 2 layers."""
    return f"{count} {what}{'' if count == 1 else 's'}"
