"""The network on packed words: prepare the layers of the definition for the kernels of `sugenet.bits`.

Consecutive layers of one kind run together: convolutions and pooling as maps, dense layers as rows of words,
layers that read or give levels as bytes. If a dense layer follows maps, its columns are reordered once, here,
so that it reads the words of the packed maps directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bits import (
    LevelConv,
    LevelMaps,
    PackedConv,
    PackedLayer,
    PackedMaps,
    PackedNetwork,
    PackedPool,
    map_columns,
    pack,
    pack_maps,
    unpack,
    unpack_maps,
    words_for,
)
from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Bits, Ints
from sugenet.nn.conv import QuantizedConv
from sugenet.nn.head import Head
from sugenet.nn.layers import SUM_BITS, Layer
from sugenet.nn.sparse import SparseLayer, in_lanes

__all__ = [
    "Levels",
    "Maps",
    "Packed",
    "PackedStage",
    "Plain",
    "PlainHead",
    "Rows",
    "Wide",
    "Woven",
    "compiled",
    "is_wide",
    "is_wide_sum",
    "parts_of",
    "unmerged",
]

_CHUNK_BYTES = 1 << 26  # of the maps before a dense layer, to bound memory
_FEW_CHANNELS = 32  # up to this many bits per pixel, reading bytes is faster than packing
_LARGEST = 127  # largest weight of a packed convolution
_LITERALS = 1 << 28  # largest number of literals of a packed convolution, to bound memory

_Values: TypeAlias = npt.NDArray[Any]

_EXACT = 1 << 53  # float64 is exact for all integers up to here
_NARROW = 1 << 31  # upper limit of sums of the kernels over levels
_COPIES = 1 << 20
_WIDE, _FEW_COPIES = 32, 1 << 12
"""From this many copies per input, and this many in total, integer weights are faster unsplit."""


def unmerged(
    weights: Sequence[Ints],
) -> tuple[list[npt.NDArray[np.int8]], npt.NDArray[np.intp], list[npt.NDArray[np.intp]]]:
    """Split weights larger than 1 into several inputs that are copies of each other.

    Returns weights in -1, 0, +1 for each layer, and the original input that each input of the first layer
    copies. For every later layer it returns the original neuron that each of its inputs copies.
    """
    signs: list[npt.NDArray[np.int8]] = []
    copies: list[npt.NDArray[np.intp]] = []
    for rows in weights:
        repeats = np.maximum(np.abs(rows).max(axis=0, initial=0), 1)
        if int(repeats.sum()) > _COPIES:
            raise TooLargeError(
                f"weights of up to {int(repeats.max())} would need {int(repeats.sum()):,} packed inputs; the "
                f"limit is {_COPIES:,}. Evaluate this network with engine='definition'."
            )
        source = np.repeat(np.arange(rows.shape[1]), repeats)
        copies.append(source)
        if len(source) == rows.shape[1]:
            signs.append(rows.astype(np.int8))
            continue
        # 0, 1, ... within the copies of an input
        turn = np.arange(len(source)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        wide = rows[:, source]
        signs.append(np.where(np.abs(wide) > turn, np.sign(wide), 0).astype(np.int8))
    for number in range(len(signs) - 1):
        if len(copies[number + 1]) != len(signs[number]):
            signs[number] = signs[number][copies[number + 1]]
    return signs, copies[0], copies[1:]


class PackedStage:
    """Layers that run together, from flat bits or levels to those of the last layer."""

    size = 0
    """Bytes of its output maps per sample."""

    def bits(self, values: _Values, threads: int | None = None) -> _Values:
        """Return the output of the last layer: bits or levels."""
        raise NotImplementedError

    def hidden(self, values: _Values) -> list[_Values]:
        """Return the output of every layer."""
        return [self.bits(values)]


@dataclass(frozen=True)
class Plain(PackedStage):
    """A layer evaluated by definition: sparse, with very large weights, or of width zero."""

    layer: Layer

    def bits(self, values: _Values, threads: int | None = None) -> _Values:  # noqa: ARG002
        """Return the activity of the layer."""
        return self.layer.activity(values)


@dataclass(frozen=True)
class Woven(PackedStage):
    """Consecutive sparse layers: 64 samples pass all of them together, as bits of words."""

    layers: tuple[SparseLayer, ...]

    def bits(self, values: _Values, threads: int | None = None) -> _Values:  # noqa: ARG002
        """Return the activity of the last layer."""
        return in_lanes(
            values, lambda words: reduce(lambda before, one: one.after(before), self.layers, words)
        )

    def hidden(self, values: _Values) -> list[_Values]:
        """Return the activity of every layer."""
        return list(accumulate(self.layers, lambda bits, one: one.activity(bits), initial=values))[1:]


# -- sums of many bits ---------------------------------------------------------------------------------------


def is_wide_sum(layer: Layer) -> bool:
    """Return whether match counts over levels can exceed the 31 bits of the kernels."""
    return layer.every is None and layer.is_binary and bool(layer.sizes.max(initial=0) >= _NARROW)


def parts_of(weights: Ints, top: int, exact: int = _EXACT) -> list[tuple[int, npt.NDArray[np.float64]]]:
    """Split rows of weights into sums of ``2**shift * part``. Sums of each part over levels up to `top` stay
    below `exact`, up to which floats represent every integer (default: float64).

    Examples
    --------
    >>> [(shift, part.tolist()) for shift, part in parts_of(np.array([[(1 << 50) + 3, -5]]), 255)]
    [(0, [[3.0, -5.0]]), (44, [[64.0, 0.0]])]
    """
    room = (exact - 1) // max(1, top * max(1, weights.shape[1]))
    bits = room.bit_length() - 1
    if bits < 1:
        raise OverflowError("so many levels have no exact sums in floats")
    sizes, signs, parts, shift = np.abs(weights), np.sign(weights), [], 0
    while shift == 0 or (sizes >> shift).any():
        part = (sizes >> shift) & ((1 << bits) - 1)
        if shift == 0 or part.any():
            parts.append((shift, (part * signs).astype(np.float64)))
        shift += bits
    return parts


@dataclass(frozen=True)
class Wide(PackedStage):
    """A first layer over levels whose sums do not fit the kernels: as fast as float64, and exact
    (docs/theory.md 3.6).

    A product of float64 matrices is exact if no partial sum can exceed 53 bits. Weights that are too long
    for that are split into shorter parts, and the sums of the parts are combined in 64 bits.
    """

    layer: Any

    def bits(self, values: _Values, threads: int | None = None) -> Bits:  # noqa: ARG002
        """Return the activity of the layer."""
        layer, floats = self.layer, np.asarray(values, np.float64)
        total = np.zeros((len(floats), layer.outputs), np.int64)
        for shift, part in self._parts:
            if layer.window is None:
                sums = (floats @ part.T)[:, layer.runs[1]]
            else:
                sums = layer.window.sums(floats, part, layer.groups).reshape(total.shape)
            total += sums.astype(np.int64) << shift
        return np.asarray(total >= self._thresholds)

    @cached_property
    def _thresholds(self) -> Ints:
        return np.asarray(self.layer.sum_thresholds[:, 0])

    @cached_property
    def _parts(self) -> list[tuple[int, npt.NDArray[np.float64]]]:
        weights = self.layer.runs[0] if self.layer.window is None else self.layer.weights
        return parts_of(weights.reshape(len(weights), -1), int(self.layer.input_tops.max(initial=1)))


# -- stages that run on the kernels --------------------------------------------------------------------------


@dataclass(frozen=True)
class Maps(PackedStage):
    """Convolutions and pooling on packed maps."""

    maps: PackedMaps

    @classmethod
    def of(cls, layers: Sequence[Layer], engine: Any) -> Maps:
        """Pack kernels; flat bits of few channels are read as levels 0 and 1, which gives the same match
        counts.
        """
        first = layers[0]
        few = first.kind == "conv" and first.window is not None and first.window.shape[0] <= _FEW_CHANNELS
        return cls(
            PackedMaps([_packed_map(layer, read_bytes=few and layer is first) for layer in layers], engine)
        )

    def words(self, values: _Values, threads: int | None = None) -> npt.NDArray[np.uint64]:
        """Return the packed maps of the last layer, one row of words per sample."""
        maps = self.maps.activity(self._inputs(values), threads)
        return maps.reshape(len(maps), maps.shape[1] * maps.shape[2])

    def bits(self, values: _Values, threads: int | None = None) -> Bits:
        """Return the activity of the last layer, flattened as in the definition."""
        return unpack_maps(self.maps.activity(self._inputs(values), threads), self.maps.output_shape[0])

    def hidden(self, values: _Values) -> list[Bits]:
        """Return the activity of every layer."""
        activities = self.maps.hidden(self._inputs(values))
        return [
            unpack_maps(words, layer.output_shape[0])
            for words, layer in zip(activities, self.maps.layers, strict=True)
        ]

    @property
    def size(self) -> int:  # type: ignore[override]
        """Bytes of its output maps per sample."""
        channels, height, width = self.maps.output_shape
        return 8 * words_for(channels) * height * width

    def _inputs(self, values: _Values) -> _Values:
        return pack_maps(values, self.maps.layers[0].slide.shape) if self.maps.top is None else values


@dataclass(frozen=True)
class Rows(PackedStage):
    """Dense layers on packed rows of bits."""

    inputs: npt.NDArray[np.intp] | None
    """The bit that each packed input copies; None if the inputs are the bits themselves."""
    copies: int
    """How many times the words of preceding maps are repeated, for weights larger than 1."""
    firsts: tuple[Bits, ...]
    """For each layer, the outputs that are the first copy of a neuron."""
    shift: int
    """Excess of the match counts of the first layer: padding bits after the last channel of preceding maps,
    which always match.
    """
    network: PackedNetwork
    """The packed layers; the last is the head."""
    shape: tuple[int, int, int] | None = None
    """Shape of the preceding maps."""

    @classmethod
    def of(cls, weights: Sequence[Ints], taus: Sequence[Ints], maps: PackedMaps | None, engine: Any) -> Rows:
        """Pack weights, split if they are larger than 1; after maps, in the order of their bits."""
        first, copies, shift = weights[0], 1, 0
        if maps is not None:
            first, copies, shift = _behind_maps(first, maps)
        signs, inputs, sources = unmerged([first, *weights[1:]])
        thresholds = [tau[source] for tau, source in zip(taus, sources, strict=False)] + [taus[-1]]
        thresholds[0] = thresholds[0] + shift
        # kernels need at least one of each
        signs = [np.pad(rows, [(0, int(not size)) for size in rows.shape]) for rows in signs]
        thresholds = [np.pad(tau, (0, int(not len(tau))), constant_values=1) for tau in thresholds]
        *layers, last = (
            PackedLayer.from_arrays(rows, tau, engine=engine)
            for rows, tau in zip(signs, thresholds, strict=True)
        )
        plain = np.array_equal(inputs, np.arange(len(inputs)))
        firsts = tuple(np.diff(source, prepend=-1) > 0 for source in sources)
        return cls(
            None if plain else inputs,
            copies,
            (*firsts, np.ones(len(taus[-1]), bool)),
            shift,
            PackedNetwork(layers, last),
            None if maps is None else maps.output_shape,
        )

    def words(self, bits: Bits) -> npt.NDArray[np.uint64]:
        """Pack flat bits."""
        if self.shape is not None:
            words = pack_maps(bits, self.shape)
            return words.reshape(len(words), words.shape[1] * words.shape[2])
        if self.inputs is not None:
            bits = bits[:, self.inputs]
        return pack(bits if bits.shape[1] else np.zeros((len(bits), 1), bool))

    def match_counts(self, values: Bits, threads: int | None = None) -> Ints:
        """Return the match counts of the last layer, from flat bits."""
        return self.count_words(self.words(values), threads)

    def count_words(self, words: npt.NDArray[np.uint64], threads: int | None = None) -> Ints:
        """Return the match counts of the last layer, from packed bits."""
        counts = self.network.match_counts(self._repeated(words), threads=threads).astype(np.int64)
        return counts if self.network.layers else counts - self.shift

    def hidden(self, values: Bits) -> list[Bits]:
        """Return the activity of every layer but the last."""
        activities = self.network.hidden(self._repeated(self.words(values)))
        return [
            unpack(part, len(first))[:, first] for part, first in zip(activities, self.firsts, strict=False)
        ]

    def bits(self, values: Bits, threads: int | None = None) -> Bits:
        """Return the activity of the last layer, from flat bits; for dense layers before others."""
        counts = self.network.match_counts(self.words(values), threads)
        return np.asarray(counts >= self.network.head.tau)[:, : len(self.firsts[-1])]

    def _repeated(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return words if self.copies == 1 else np.tile(words, (1, self.copies))


@dataclass(frozen=True)
class Levels(PackedStage):
    """Layers that read or give levels, on bytes."""

    maps: LevelMaps
    binary: tuple[bool, ...]
    """For each layer, whether it gives bits."""
    lowest: Ints | None = None
    """If the last layer is the head, the smallest sum of each class."""

    @classmethod
    def of(cls, layers: Sequence[Layer], head: Head | None, engine: Any) -> Levels:
        """Prepare layers, and the head if it follows them."""
        maps: list[LevelConv | PackedPool] = []
        for layer in layers:
            maps.append(_level_map(layer, maps[-1].output_shape if maps else None))
        binary, lowest = tuple(layer.is_binary for layer in layers), None
        if head is not None:
            assert head.tops is not None
            shape = maps[-1].output_shape if maps else (head.inputs, 1, 1)
            maps.append(LevelConv.dense(head.weights, None, shape, head.tops))
            lowest = np.minimum(head.weights, 0) @ head.tops
        return cls(LevelMaps(maps, engine), binary, lowest)

    def bits(self, values: _Values, threads: int | None = None) -> _Values:
        """Return the output of the last layer: levels or bits."""
        return _as_passed(self.maps.levels(values, threads), binary=self.binary[-1])

    def hidden(self, values: _Values) -> list[_Values]:
        """Return the output of every layer except the head."""
        return [
            _as_passed(levels, binary=binary)
            for levels, binary in zip(self.maps.hidden(values), self.binary, strict=True)
        ]

    @property
    def size(self) -> int:  # type: ignore[override]
        """Bytes of its output maps per sample."""
        return int(np.prod(self.maps.output_shape))

    def match_counts(self, values: _Values, threads: int | None = None) -> Ints:
        """Return the match counts of the head."""
        assert self.lowest is not None
        return np.asarray(self.maps.sums(values, threads) - self.lowest)


@dataclass(frozen=True)
class PlainHead:
    """A head evaluated by definition: if its match counts exceed the bits of the kernels, or on request."""

    head: Head

    def match_counts(self, values: _Values, threads: int | None = None) -> Ints:  # noqa: ARG002
        """Return the match counts of the head."""
        return self.head.match_counts(values)

    def hidden(self, values: _Values) -> list[_Values]:  # noqa: ARG002
        """Return an empty list: the stage has no hidden layers."""
        return []


def _as_passed(levels: _Values, *, binary: bool) -> _Values:
    return levels.view(bool) if binary else levels


@dataclass(frozen=True)
class Packed:
    """A network compiled for one engine of `sugenet.bits`."""

    stages: tuple[PackedStage, ...]
    """Stages before the last layers. Each gives flat bits or levels, except that rows read the words of
    preceding maps directly.
    """
    tail: Rows | Levels | PlainHead
    """The last layers, of one kind, with the head."""

    @classmethod
    def of(cls, layers: Sequence[Layer], head: Head, engine: Any = "auto") -> Packed:
        """Pack the weights of a network."""
        parts = _parts(layers)
        wide = head.sum_bits > SUM_BITS
        if not wide and head.tops is None and is_wide(head.weights):
            head = Head(head.weights, head.bias, head.scale, np.ones(head.inputs, np.int64))
        last = Rows if head.tops is None else Levels
        ending = parts.pop()[1] if parts and parts[-1][0] is last and not wide else []
        stages = tuple(stage for kind, part in parts for stage in _stages(kind, part, engine))
        if wide:
            return cls(stages, PlainHead(head))
        if head.tops is not None:
            return cls(stages, Levels.of(ending, head, engine))
        taus = [*(layer.tau for layer in ending), np.zeros(head.outputs, np.int64)]
        before = stages[-1].maps if stages and isinstance(stages[-1], Maps) else None
        return cls(
            stages, Rows.of([*(layer.weights for layer in ending), head.weights], taus, before, engine)
        )

    def match_counts(self, inputs: _Values, threads: int | None = None) -> Ints:
        """Return the match counts of the classes, from the inputs of the first layer."""
        if not self._widest:
            return self._counts(inputs, threads)
        parts = [self._counts(chunk, threads) for chunk in self._chunks(inputs)]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def hidden(self, inputs: _Values) -> list[_Values]:
        """Return the activity of every hidden layer."""
        activities: list[_Values] = []
        for stage in self.stages:
            values = activities[-1] if activities else inputs
            activities += stage.hidden(values)
            if isinstance(stage, Rows):
                activities.append(stage.bits(values))
        return activities + self.tail.hidden(activities[-1] if activities else inputs)

    def _counts(self, values: _Values, threads: int | None) -> Ints:
        for stage in self.stages:
            if isinstance(stage, Maps) and isinstance(self.tail, Rows) and stage is self.stages[-1]:
                return self.tail.count_words(stage.words(values, threads), threads)
            values = stage.bits(values, threads)
        return self.tail.match_counts(values, threads)

    @cached_property
    def _widest(self) -> int:
        return max((stage.size for stage in self.stages), default=0)

    def _chunks(self, inputs: _Values) -> Iterator[_Values]:
        step = max(64, _CHUNK_BYTES // self._widest) if self._widest else max(1, len(inputs))
        for start in range(0, max(len(inputs), 1), step):
            yield inputs[start : start + step]


def _stages(kind: type, part: Sequence[Any], engine: Any) -> list[PackedStage]:
    """Return the stages that run layers of one kind."""
    if kind is Plain or kind is Wide:
        return [kind(layer) for layer in part]
    if kind is Woven:
        return [Woven(tuple(part))]
    if kind is Maps:
        return [Maps.of(part, engine)]
    if kind is Levels:
        return [Levels.of(part, None, engine)]
    return [Rows.of([layer.weights for layer in part], [layer.tau for layer in part], None, engine)]


def compiled(layers: Sequence[Layer], head: Head, engine: Any = "auto") -> Packed:
    """Return a network compiled for an engine. It is evaluated by definition if that is requested, or if any
    engine is allowed and the weights are too large to pack.
    """
    if engine != "definition" and (head.tops is None or head.inputs):
        try:
            return Packed.of(layers, head, engine)
        except TooLargeError:
            if engine != "auto":
                raise
    return Packed(tuple(map(Plain, layers)), PlainHead(head))


def _parts(layers: Sequence[Layer]) -> list[tuple[type, list[Layer]]]:
    """Group layers of one kind that run together; maps of levels, or of another shape, start a new group."""
    parts: list[tuple[type, list[Layer]]] = []
    for kind, run in groupby(layers, _kind):
        part: list[Layer] = []
        for layer in run:
            begins = part and (
                (kind is Maps and layer.tops is not None) or (kind is Levels and not _follows(part, layer))
            )
            if begins:
                parts.append((kind, part))
                part = []
            part.append(layer)
        parts.append((kind, part))
    return parts


def _follows(part: Sequence[Layer], layer: Layer) -> bool:
    """Return whether a layer reads maps of the shape that the layers before it give."""
    before = part[-1]
    return layer.window is None or layer.window.shape == (before.output_shape or (before.outputs, 1, 1))


def _kind(layer: Layer) -> type:
    """Return the stage of a layer: bits in words (`Rows`, `Maps`), levels in bytes (`Levels`), or others."""
    if isinstance(layer, SparseLayer):
        return Woven if layer.is_counted else Plain
    if layer.kind == "real":
        return Plain
    if layer.every is not None:
        return Maps if layer.is_binary else Levels
    if layer.kind == "dense" and layer.is_binary and layer.tops is None:
        return Levels if is_wide(layer.weights) else Rows
    if not layer.weights.size:
        return Plain
    if layer.tops is not None and is_wide_sum(layer):
        return Wide
    if layer.kind == "dense" or not layer.is_binary:
        return Levels
    # kernels are packed over all channels
    largest, spread = int(np.abs(layer.weights).max()), layer.weights.size * layer.groups
    return Maps if largest <= _LARGEST and largest * spread <= _LITERALS else Plain


def is_wide(weights: Ints) -> bool:
    """Return whether weights would need so many copies of their inputs that reading bits as levels 0 and 1
    is better.
    """
    copies = int(np.maximum(np.abs(weights).max(axis=0, initial=0), 1).sum())
    return bool(copies > max(_FEW_COPIES, _WIDE * weights.shape[1]))


def _packed_map(layer: Layer, *, read_bytes: bool = False) -> Any:
    """Return a convolution or pooling for the kernels; with `read_bytes`, bits are read as bytes."""
    window = layer.window
    assert window is not None
    geometry = {name: getattr(window, name) for name in ("stride", "dilation", "pads")}
    top = None if layer.tops is None else int(layer.tops[0])
    if layer.every is not None:
        return PackedPool(window.shape, window.kernel, every=layer.every, top=top, **geometry)
    about = {"groups": layer.groups, "top": top, **geometry}
    if isinstance(layer, QuantizedConv):
        return LevelConv.from_arrays(layer.weights, layer.steps, window.shape, pad=layer.pad, **about)
    tau = layer.tau.reshape(len(layer.weights), -1)
    about["top"] = 1 if read_bytes and top is None else top
    return PackedConv.from_arrays(layer.weights, tau, window.shape, **about)


def _level_map(layer: Layer, shape: tuple[int, int, int] | None) -> LevelConv | PackedPool:
    if layer.window is not None:
        made: LevelConv | PackedPool = _packed_map(layer)
        return made
    maps = shape or (layer.inputs, 1, 1)
    return LevelConv.dense(layer.weights, layer.sum_thresholds, maps, layer.input_tops)


def _behind_maps(weights: Ints, maps: PackedMaps) -> tuple[Ints, int, int]:
    """Return weights over the bits of packed maps, how many times the words are repeated, and how many
    bits always match.

    The bits after the last channel of a pixel are always 0. If no weight is 0 they get the weight -1, which
    always matches, so that the faster kernel for layers without zeros can run. Otherwise they get 0.
    """
    columns = map_columns(maps.output_shape)
    copies = max(1, int(np.abs(weights).max(initial=0)))
    full = copies == 1 and bool(weights.all())
    parts = []
    for turn in range(copies):
        signs = np.where(np.abs(weights) > turn, np.sign(weights), 0)
        parts.append(np.where(columns >= 0, signs[:, columns], -1 if full else 0))
    return np.concatenate(parts, axis=1), copies, int((columns < 0).sum()) if full else 0
