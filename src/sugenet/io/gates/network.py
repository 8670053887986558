"""Build the exact network of a logic-gate network.

14 of the 16 gates are one threshold on a sum of two literals. XOR and XNOR are two thresholds on the same
sum: ``XOR = [a + b >= 1] - [a + b >= 2]``. The difference is not a neuron. Readers of the gate read both
neurons instead, with opposite weights. So depth stays the same, and each XOR or XNOR adds one neuron.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.domains import Bits, Inputs, Integers, Reals, line_of
from sugenet.io.exact.report import ImportReport, LayerReport, many
from sugenet.io.gates.program import GateLayer, GateProgram, InputCuts
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import Coding, Encoder, Head, Layer, Network, Source, SparseLayer, Steps, bit
from sugenet.nn.arrays import Ints

__all__ = ["GateImport", "GateSums", "as_float32", "gate_import"]

_FORMS = np.array(
    [  # the gate is on iff one * a + two * b >= cut
        (0, 0, 1),
        (1, 1, 2),
        (1, -1, 1),
        (1, 0, 1),
        (-1, 1, 1),
        (0, 1, 1),
        (1, 1, 1),  # XOR: less a second neuron with cut = 2
        (1, 1, 1),
        (-1, -1, 0),
        (1, 1, 1),  # XNOR: 1 minus XOR
        (0, -1, 0),
        (1, -1, 0),
        (-1, 0, 0),
        (-1, 1, 0),
        (-1, -1, -1),
        (0, 0, 0),
    ],
    np.int64,
)
_XOR, _XNOR = 6, 9
_DENSE = 1 << 22
"""Largest number of weights of a dense layer, zeros included; larger layers are sparse."""
_CUTS = 1 << 20


@dataclass(frozen=True, eq=False)
class GateSums:
    """Values as sums over the outputs of a layer: value j is ``constants[j]`` plus `signs` times the outputs
    in row j of `indices`.
    """

    indices: Ints
    """Two outputs per value."""
    signs: Ints
    """Their weights: 1, -1, or 0 if the value needs only one output."""
    constants: Ints
    width: int
    """Number of outputs of the layer."""

    @classmethod
    def plain(cls, count: int) -> GateSums:
        """Return values that are the outputs themselves."""
        indices = np.repeat(np.arange(count)[:, None], 2, axis=1)
        signs = np.tile([1, 0], (count, 1))
        return cls(indices, signs, np.zeros(count, np.int64), count)

    def of(self, outputs: npt.NDArray[np.bool_]) -> Ints:
        """Return the values of samples from the outputs of the layer."""
        picked = outputs[:, self.indices].astype(np.int64) * self.signs
        return np.asarray(picked.sum(axis=2) + self.constants)


@dataclass(frozen=True, eq=False)
class GateImport:
    """An import with the data needed to compare it with its source."""

    found: ImportReport
    values: tuple[GateSums, ...]
    """How the gates of each layer follow from its neurons."""


def gate_import(
    program: GateProgram,
    inputs: Inputs | None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
) -> GateImport:
    """Return the network of a logic-gate network.

    Raises
    ------
    FileError
        If the declared inputs do not fit, or scores of classes could tie by rounding.
    """
    codings, values = _inputs(program, inputs)
    layers, steps = [], []
    for layer in program.layers:
        made, values = _layer(layer, values)
        layers.append(made)
        steps.append(values)
    head, is_equal = _head(program, values)
    carried = sum(layer.carried for layer in program.layers)
    pairs = sum(int(np.isin(layer.gates, (_XOR, _XNOR)).sum()) for layer in program.layers)
    remarks = []
    if pairs:
        remarks.append(f"{many(pairs, 'XOR or XNOR gate')} as two neurons each")
    if carried:
        remarks.append(f"{many(carried, 'neuron')} carry a value past a layer")
    if not is_equal:
        remarks.append("scores are exact quotients; the source rounds them to float32")
    source = Source(*line_of(inputs), "equal" if is_equal else "ordered", "" if is_equal else remarks[-1])
    shape = program.shape if len(program.shape) > 1 else None
    encoder = Encoder(codings, names, shape)
    network = Network(encoder, layers, head, classes, {"source": program.source}, source)
    reports = tuple(
        LayerReport(
            gates.where,
            "Gate",
            layer.outputs,
            0,
            int(np.count_nonzero(layer.constant)),
            0,
            carried=gates.carried,
        )
        for gates, layer in zip(program.layers, layers, strict=True)
    )
    return GateImport(ImportReport(network, reports, tuple(remarks), program.shape), tuple(steps))


# -- inputs --------------------------------------------------------------------------------------------------


def _inputs(program: GateProgram, inputs: Inputs | None) -> tuple[list[Coding], GateSums]:
    """Return codings of the raw features, and the values that the first layer reads."""
    if program.thresholds is None:
        refuse_if(
            not (inputs is None or (isinstance(inputs, Bits) and (inputs.low, inputs.high) == (0, 1))),
            program.source,
            f"inputs={inputs}, but the gates read raw inputs directly, so these must be bits. Declare "
            "inputs=Bits(0, 1), or put the thresholds before it (FixedBinarization).",
        )
        return [bit()] * program.features, GateSums.plain(program.features)
    return _cut(program.thresholds, inputs, program.source)


def _cut(thresholds: InputCuts, inputs: Inputs | None, source: str) -> tuple[list[Coding], GateSums]:
    """Return one coding per feature, with its different cuts in order, and the bits in the source's order."""
    rows = thresholds.values
    refuse_if(
        rows.size > _CUTS, f"{source}: {thresholds.where}", f"{rows.size:,} cuts are more than {_CUTS:,}."
    )
    known: dict[bytes, tuple[Steps, Ints]] = {}
    codings: list[Coding] = []
    indices = np.zeros(rows.shape, np.int64)
    start = 0
    for feature, row in enumerate(rows):
        key = row.tobytes()
        if key not in known:
            cuts = [_first_above(float(value), inputs, source) for value in row]
            different = sorted(set(cuts))
            known[key] = _steps(different, inputs), np.array([different.index(cut) for cut in cuts])
        coding, order = known[key]
        codings.append(coding)
        indices[feature] = start + order
        start += coding.width
    picked = indices.reshape(-1)[thresholds.order]
    plain = GateSums.plain(len(picked))
    return codings, GateSums(np.repeat(picked[:, None], 2, axis=1), plain.signs, plain.constants, start)


def _steps(cuts: Sequence[float], inputs: Inputs | None) -> Steps:
    match inputs:
        case Integers():
            return Steps(tuple(cuts), inputs.low, inputs.high, whole=True)
        case Reals():
            return Steps(tuple(cuts), inputs.low, inputs.high)
        case _:
            return Steps(tuple(cuts))


def _first_above(value: float, inputs: Inputs | None, source: str) -> float:
    """Return the smallest raw number that the source reads as more than a threshold."""
    if inputs is None or isinstance(inputs, Reals):
        return float(np.nextafter(value, np.inf))
    refuse_if(
        not isinstance(inputs, Integers),
        source,
        f"inputs={inputs}, but its inputs are compared with thresholds. Declare Reals or Integers.",
    )
    assert isinstance(inputs, Integers)
    refuse_if(
        inputs.channels > 1,
        source,
        "steps or starts of their own for the channels are not read before thresholds: use one for all.",
    )
    refuse_if(
        inputs.steps[0] < 0, source, "its inputs fall where raw integers rise. Declare a positive step."
    )
    return float(inputs.low + np.searchsorted(as_float32(inputs), value, side="right"))


def as_float32(inputs: Integers) -> npt.NDArray[np.float64]:
    """Return the number that the source reads for each raw integer: the nearest float32."""
    values = [float(inputs.value(x)) for x in range(inputs.low, inputs.high + 1)]
    return np.array(values, np.float32).astype(np.float64)


# -- layers --------------------------------------------------------------------------------------------------


def _layer(layer: GateLayer, values: GateSums) -> tuple[Layer, GateSums]:
    """Return the neurons of a layer of gates, and its gates as sums over these neurons."""
    is_pair = np.isin(layer.gates, (_XOR, _XNOR))
    count = len(layer.gates)
    owner = np.repeat(np.arange(count), 1 + is_pair)
    starts = np.cumsum(1 + is_pair) - (1 + is_pair)
    min_sums = _FORMS[layer.gates, 2][owner]
    min_sums[starts[is_pair] + 1] = 2
    reads, factors = [], []
    for read, side in ((layer.first, 0), (layer.second, 1)):
        factor = _FORMS[layer.gates, side][owner]
        min_sums -= factor * values.constants[read][owner]
        for k in (0, 1):
            reads.append(values.indices[read, k][owner])
            factors.append(factor * values.signs[read, k][owner])
    bare = SparseLayer(np.stack(reads, axis=1), np.stack(factors, axis=1), min_sums, values.width)
    made: Layer = SparseLayer(bare.reads, bare.factors, min_sums - bare.lowest, values.width)
    if made.outputs * made.inputs <= _DENSE:
        made = made.dense()
    indices = np.stack([starts, starts + is_pair], axis=1)
    is_xnor = layer.gates == _XNOR
    sign = np.where(is_xnor, -1, 1)
    signs = np.stack([sign, np.where(is_pair, -sign, 0)], axis=1)
    return made, GateSums(indices, signs, is_xnor.astype(np.int64), len(owner))


# -- class scores --------------------------------------------------------------------------------------------


def _head(program: GateProgram, values: GateSums) -> tuple[Head, bool]:
    """Return the class scores, and whether the source computes exactly these numbers."""
    weights = np.zeros((len(program.members), values.width), np.int64)
    constants = []
    for k, members in enumerate(program.members):
        for side in (0, 1):
            np.add.at(weights[k], values.indices[members, side], values.signs[members, side])
        constants.append(int(values.constants[members].sum()))
    divisor = program.divisor
    refuse_if(
        not (isfinite(divisor) and divisor > 0),
        program.source,
        f"the sums are divided by {divisor:g}. Use a positive number (tau of GroupSum).",
    )
    is_equal = _is_exact(program)
    unit = 1 / Fraction(divisor)
    bias = [
        unit * (Fraction(int(row.sum()), 2) + constant + Fraction(offset))
        for row, constant, offset in zip(weights, constants, program.offsets, strict=True)
    ]
    return Head(weights, bias, [unit / 2] * len(weights)), is_equal


def _is_exact(program: GateProgram) -> bool:
    """Return whether float32 scores are exact. Refuse them if rounding could make two of them equal."""
    offsets = np.array(program.offsets, np.float64)
    refuse_if(
        not np.isfinite(offsets).all(), program.source, "a number that is added to a sum is not finite."
    )
    largest = max(len(members) for members in program.members)
    sums: Ints = np.arange(largest + 1)
    different = np.unique(offsets)
    exact = np.unique(np.add.outer(different, sums).reshape(-1))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scores = exact.astype(np.float32) / np.float32(program.divisor)
    refuse_if(
        not np.isfinite(scores).all() or (np.diff(scores) <= 0).any(),
        program.source,
        "float32 cannot tell all sums of gates apart after they are shifted and divided. Use tau and beta "
        "of GroupSum of usual size.",
    )
    divisor = Fraction(float(program.divisor))
    return all(
        Fraction(float(score)) * divisor == Fraction(float(one))
        for score, one in zip(scores, exact, strict=True)
    )
