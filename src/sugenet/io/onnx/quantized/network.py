"""Build the exact network of a quantized file: raw inputs as levels, integer operations as a chain of layers,
class scores.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.domains import Bits, Inputs, Integers, Reals, line_of
from sugenet.io.exact.head import see_apart
from sugenet.io.exact.integers import LevelWire, Operation, Place, chained, remapped
from sugenet.io.exact.pixels import pixel_by_pixel, pixel_names
from sugenet.io.exact.report import ImportReport, LayerReport
from sugenet.io.exact.requantize import steps_of
from sugenet.io.onnx.quantized import runtime
from sugenet.io.onnx.quantized.runtime import Floats, QuantGrid
from sugenet.io.onnx.quantized.values import (
    DequantizedTensor,
    LevelArray,
    LevelTensor,
    PendingSum,
    RawInput,
)
from sugenet.io.onnx.quantized.walk import IntegerProgram
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import Coding, Encoder, Head, Network, Source, Steps, bit, integer
from sugenet.nn.arrays import Ints

__all__ = ["LevelImport", "level_import"]

_MOST = np.float32(np.finfo(np.float32).max)


@dataclass(frozen=True)
class LevelImport:
    """An import with the data needed to compare it with the file."""

    found: ImportReport
    places: tuple[Place, ...]
    """Positions of the tensors of the file in the layers."""
    values: Floats | None
    """For integer raw inputs: the value of each in the file; None: the raw numbers themselves."""
    first: int
    """The smallest of these raw numbers."""


def level_import(
    program: IntegerProgram,
    inputs: Inputs | None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
) -> LevelImport:
    """Return the network of a program.

    Raises
    ------
    FileError
        If the declared inputs do not fit the file, or a layer would be too large.
    """
    try:
        return _made(program, inputs, names, classes)
    except (FileError, NetworkError) as error:
        text = str(error)
        raise FileError(text if text.startswith(program.source) else f"{program.source}: {text}") from error


def _made(
    program: IntegerProgram,
    inputs: Inputs | None,
    names: Iterable[object] | None,
    classes: Iterable[object] | None,
) -> LevelImport:
    codings, wire, before, values, first = _read(program, inputs)
    operations = [*before, *program.operations]
    end = program.end.source if isinstance(program.end, PendingSum) else program.end
    used = _needed(operations, end.wire)
    layers, indices = chained(wire, used, end.wire)
    head = _head(program, end, layers[-1].height)
    see_apart(head, program.left_out, program.source)
    shape = program.raw.shape
    encoder = Encoder(codings, pixel_names(shape))
    if program.channels_last and len(shape) == 3:
        encoder, layers, head = pixel_by_pixel(encoder, layers, head, shape)
        shape = (*shape[1:], shape[0])
    called = encoder.names if names is None else names
    encoder = Encoder(encoder.codings, called, shape if len(shape) > 1 else None)
    remarks = [f"left out at the end: {name}" for name in program.left_out] + list(program.remarks)
    if isinstance(program.end, PendingSum):
        remarks.append("scores are exact sums; ONNX Runtime rounds them to float32")
    outputs = "other" if program.picks else "ordered" if remarks else "equal"
    source = Source(*line_of(inputs), outputs, "; ".join(remarks))  # type: ignore[arg-type]
    network = Network(encoder, layers, head, classes, {"source": program.source}, source)
    reports = tuple(
        LayerReport(
            next((index.name for index in indices if index.layer == k), ""),
            "QuantizedNeuron" + type(layer).__name__.removesuffix("Layer").removeprefix("QuantizedNeuron"),
            layer.outputs,
            0,
            int(np.count_nonzero(layer.constant)),
            0,
        )
        for k, layer in enumerate(layers)
    )
    imported = ImportReport(network, reports, tuple(remarks), shape)
    return LevelImport(imported, indices, values, first)


def _needed(operations: list[Operation], end: LevelWire) -> list[Operation]:
    """Return the operations that lead to the end."""
    needed, kept = {end}, []
    for operation in reversed(operations):
        if operation.result in needed:
            kept.append(operation)
            needed |= set(operation.sources)
    return kept[::-1]


# -- inputs --------------------------------------------------------------------------------------------------


def _read(
    program: IntegerProgram, inputs: Inputs | None
) -> tuple[list[Coding], LevelWire, list[Operation], Floats | None, int]:
    """Return codings of the raw features, the first wire, the operations before the program, and raw values.

    The raw values are the file's numbers for integer inputs.
    """
    raw = program.raw
    count = prod(raw.shape)
    if isinstance(raw, LevelArray):
        low, high = raw.low, raw.low + raw.wire.top
        message = f"its input is integers from {low} to {high}. Declare inputs=Integers({low}, {high})."
        first = low
        match inputs:
            case None:
                pass
            case Integers(low=a, high=b, step=step, start=start) if step == 1 and start == low - a:
                refuse_if(b - a != high - low, message)
                first = a
            case _:
                raise FileError(message)
        values = np.arange(low, high + 1, dtype=np.float32)
        return [integer(first, first + high - low)] * count, raw.wire, [], values, first
    grid, wire = program.start_grid, program.start
    if grid is None or wire is None:
        raise FileError("its input is never quantized.")
    match inputs:
        case None | Reals():
            reals = inputs or Reals()
            return _real(raw, grid, reals), wire, [], None, 0
        case Integers() if inputs.channels > 1:
            raise FileError(
                "steps or starts of their own for the channels are not read before a quantizer: use one "
                "for all, or put them into the file."
            )
        case Integers():
            numbers = [float(inputs.value(x)) for x in range(inputs.low, inputs.high + 1)]
            return _integer_inputs(
                program, raw, grid, wire, np.array(numbers, np.float32), inputs.low, inputs.high
            )
        case Bits():
            pair = np.array([float(Fraction(inputs.low)), float(Fraction(inputs.high))], np.float32)
            return _integer_inputs(program, raw, grid, wire, pair, 0, 1, bits=True)
    raise FileError(f"inputs={inputs!r} is not known.")


def _at(raw: RawInput, grid: QuantGrid, rows: Floats) -> Ints:
    """Return the levels of raw numbers in the file's floats, one row per sample."""
    for step in raw.steps:
        with np.errstate(over="ignore", invalid="ignore"):
            rows = step(rows)
    return runtime.quantized(rows, grid)


def _integer_inputs(
    program: IntegerProgram,
    raw: RawInput,
    grid: QuantGrid,
    wire: LevelWire,
    values: Floats,
    low: int,
    high: int,
    bits: bool = False,
) -> tuple[list[Coding], LevelWire, list[Operation], Floats, int]:
    """Return integer raw numbers: cuts if the quantizer rises by one, else a first layer that looks up
    levels.
    """
    count = prod(raw.shape)
    table = _at(raw, grid, np.repeat(values[:, None], count, axis=1)).T  # one row per feature
    refuse_if(
        (np.diff(table, axis=1) < 0).any(),
        "its quantized input falls where the raw number rises. Declare a positive step.",
    )
    raw_wire = LevelWire(f"{wire.name} (raw)", wire.shape, high - low)
    codings: list[Coding] = [bit() if bits else integer(low, high)] * count
    if wire.top == high - low and (table == np.arange(wire.top + 1)).all():
        return codings, wire, [], values, low
    if (np.diff(table, axis=1) <= 1).all() and not bits:
        return _cut(table, wire.top, low, high), wire, [], values, low
    distinct = np.unique(table, axis=0, return_inverse=True)
    channels, size = wire.shape[0], wire.shape[1] * wire.shape[2]
    groups = distinct[1].reshape(channels, size)
    shape = wire.shape if (groups == groups[:, :1]).all() else (count, 1, 1)
    picked = table.reshape(channels, size, -1)[:, 0] if shape == wire.shape else table
    steps = np.stack([np.searchsorted(row, np.arange(1, wire.top + 1), side="left") for row in picked])
    steps = np.where(steps == high - low + 1, 1 << 31, steps)
    first = remapped(raw_wire, wire.name, steps, f"the quantizer of {program.port!r}", shape)
    return codings, raw_wire, [replace(first, result=wire)], values, low


def _codings(rows: Iterable[Any], made: Callable[[Any], Coding]) -> list[Coding]:
    """Return a coding for each row. Equal rows share one."""
    known: dict[bytes, Coding] = {}
    for row in rows:
        if row.tobytes() not in known:
            known[row.tobytes()] = made(row)
    return [known[row.tobytes()] for row in rows]


def _cut(table: Ints, top: int, low: int, high: int) -> list[Coding]:
    """Return a cut at every point at which the level rises by one. Levels that no raw number has are cut
    outside the
    domain.
    """

    def steps(row: Ints) -> Coding:
        rises = (low + 1 + np.flatnonzero(np.diff(row))).tolist()
        below = range(low - int(row[0]) + 1, low + 1)
        above = range(high + 1, high + 1 + top - int(row[-1]))
        return Steps(tuple(map(float, (*below, *rises, *above))), low, high, whole=True)

    return _codings(table, steps)


def _real(raw: RawInput, grid: QuantGrid, domain: Reals) -> list[Coding]:
    """Return, for each feature, the smallest float32 number at which each level starts."""
    smallest, largest = (np.full(prod(raw.shape), code) for code in _code(np.array([-_MOST, _MOST])))
    cuts = steps_of(lambda codes: _at(raw, grid, _float(codes.T)).T, smallest, largest, grid.top)
    refuse_if(
        (cuts > largest[:, None]).any() or (np.diff(cuts, axis=1) <= 0).any(),
        "the quantizer of its input leaves levels out, or never reaches some. Declare whole inputs: "
        "inputs=Integers(0, 255, step=Fraction(1, 255)).",
    )
    return _codings(_float(cuts), lambda row: Steps(tuple(row.tolist()), domain.low, domain.high))


def _code(values: Floats) -> Ints:
    """Return float32 numbers as integers in the same order."""
    bits = values.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))


def _float(codes: Ints) -> Floats:
    bits = np.where(codes >= 0, codes, (-codes) | (1 << 31)).astype(np.uint32)
    return bits.view(np.float32)


# -- class scores --------------------------------------------------------------------------------------------


def _head(program: IntegerProgram, end: LevelArray, top: int) -> Head:
    """Return exact scores over the last levels."""
    value, count = program.end, end.wire.size
    tops = np.full(count, top)
    if isinstance(value, PendingSum):
        return _linear_head(value, end, tops)
    unit, offset = Fraction(1), end.low
    if isinstance(value, DequantizedTensor):
        unit, offset = Fraction(float(value.grid.scale)), end.low - value.grid.zero
    refuse_if(
        isinstance(value, LevelTensor) and not isinstance(value, DequantizedTensor),
        f"its output {program.output[:60]!r} is clipped after the last quantizer, so that classes "
        f"can tie. Leave the last Relu or Clip out.",
    )
    bias = unit * offset + unit * Fraction(top, 2)
    return Head(np.eye(count, dtype=np.int64), [bias] * count, [unit / 2] * count, tops)


def _linear_head(value: PendingSum, end: LevelArray, tops: Ints) -> Head:
    refuse_if(value.clips, value.where, "class scores are clipped, so classes can tie. Leave the clip out.")
    refuse_if(value.rescaled, value.where, "class scores are rescaled sums. Quantize them, or use QGemm.")
    window = value.window
    refuse_if(
        window.positions != (1, 1) or any(window.pads) or value.groups != 1,
        value.where,
        "class scores are maps. Pool or flatten them first.",
    )
    refuse_if(window.kernel != window.shape[1:], value.where, "it does not read all that it is given.")
    rows = value.weights.reshape(len(value.weights), -1)
    zero = value.source.grid.zero - end.low
    scale = value.source.grid.scale
    fused = value.op in ("Gemm", "MatMul", "QGemm") and value.shift is None
    units = [
        Fraction(float(np.float32(scale * s))) if fused else Fraction(float(scale)) * Fraction(float(s))
        for s in value.scales
    ]
    bias = []
    for k, unit in enumerate(units):
        offset = Fraction(int((rows[k] * tops).sum()), 2) - zero * int(rows[k].sum()) + int(value.bias[k])
        shift = Fraction(0) if value.shift is None else Fraction(float(value.shift[k]))
        bias.append(unit * offset + shift)
    return Head(rows, bias, [unit / 2 for unit in units], tops)
