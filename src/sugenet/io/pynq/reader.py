"""Read a BNN-PYNQ folder as a chain of operations.

The files are read as words, and every size is checked before memory is allocated. The folding of the layers
comes from ``config.h``, or from one of the two published designs.

A neuron fires iff its match count is *above* its threshold. M > T is 2 M - n >= 2 T - n + 1, and since sums
are two apart, the bias n - 1 - 2 T is never met. The first layer of a convolutional design adds fixed-point
numbers q / 128 and compares the sum with T / 256.

With 2-bit activations a neuron has two thresholds, and its value is -1 plus the number of them that its sum
is above. Sums are then plain: a weight bit is -1 or +1, and 2-bit weights are in two's complement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Quantize,
    Sign,
    numbers,
    rounded,
)
from sugenet.io.plain.refusals import named, refuse_if, required
from sugenet.nn.arrays import Doubles, Ints
from sugenet.reading import read_file

__all__ = [
    "DESIGNS",
    "Folding",
    "Last",
    "Memory",
    "PixelRounding",
    "chain_of_memory",
    "is_folder",
    "read_memory",
]

_MAX_CONFIG = 1 << 20
_MAX_SIZE = 1 << 16
_DEFINED = re.compile(r"^\s*#define\s+L(\d{1,3})_([A-Z_]+)\s+(-?\d{1,12})\s*$")
_GUARD = re.compile(r"^\s*(#ifndef\s+\w+|#define\s+\w+|#endif|#pragma\s+once)\s*$")
_DENSE, _CONV = ("MW", "MH"), ("K", "IFM_CH", "IFM_DIM", "OFM_CH", "OFM_DIM")
_ALWAYS = ("SIMD", "PE", "WMEM", "TMEM")
_WIDTHS = ("WPI", "WPF", "API", "APF")


@dataclass(frozen=True)
class Folding:
    """One layer: a matrix of `height` neurons over `width` bits.

    It is cut into words of `simd` bits, which `pe` processing elements hold in turn. Neuron n has index n //
    pe in element n % pe.
    """

    width: int
    height: int
    simd: int
    pe: int
    kernel: int = 0
    """Side of the window of a convolution; 0 for a dense layer."""
    channels: int = 0
    side: int = 0
    """Side of the square maps that a convolution reads."""
    bits: int = 1
    """Bits of a weight."""
    thresholds: int = 1
    """Thresholds per neuron: two with 2-bit activations."""

    @property
    def words(self) -> int:
        """Number of 64-bit words per neuron."""
        return self.width // self.simd

    @property
    def out_side(self) -> int:
        """Side of the maps that a convolution returns."""
        return self.side - self.kernel + 1

    @property
    def values(self) -> int:
        """Number of output bits."""
        return self.height * self.out_side**2 if self.kernel else self.height


@dataclass(frozen=True)
class _Design:
    """All layers of an accelerator, and the number of inputs that are not padding, if known."""

    name: str
    layers: tuple[Folding, ...]
    features: int | None = None

    @property
    def is_conv(self) -> bool:
        """Whether it reads pixels in fixed point; otherwise they are bits."""
        return bool(self.layers[0].kernel)

    def counts_matches(self, number: int) -> bool:
        """Return whether thresholds of a layer are on match counts, not on plain sums: if all its numbers are
        bits.
        """
        before = self.layers[number - 1].thresholds if number else 1
        return self.layers[number].bits == self.layers[number].thresholds == before == 1

    def pools_behind(self, number: int) -> bool:
        """Return whether maps are pooled two by two after a layer, by the size that the next one reads."""
        here, after = self.layers[number : number + 2]
        read = after.channels * after.side**2 if after.kernel else after.width
        if here.values == read and (not after.kernel or here.out_side == after.side):
            return False
        pooled = here.height * (here.out_side // 2) ** 2 if here.kernel else 0
        if here.kernel and here.out_side % 2 == 0 and pooled == read:
            return True
        raise FileError(f"layer {number} gives {here.values} values, but layer {number + 1} reads {read}.")


def _conv(channels: int, side: int, out: int, simd: int, pe: int) -> Folding:
    return Folding(9 * channels, out, simd, pe, 3, channels, side)


def _wider(layers: Sequence[Folding], bits: int = 1) -> tuple[Folding, ...]:
    """Return layers with 2-bit activations, except the last."""
    return (*(replace(one, thresholds=2, bits=bits) for one in layers[:-1]), replace(layers[-1], bits=bits))


_LFC = (
    Folding(832, 1024, 64, 32),
    Folding(1024, 1024, 32, 64),
    Folding(1024, 1024, 64, 32),
    Folding(1024, 64, 8, 16),
)
_CNV = (
    _conv(3, 32, 64, 3, 16),
    _conv(64, 30, 64, 32, 32),
    _conv(64, 14, 128, 32, 16),
    _conv(128, 12, 128, 32, 16),
    _conv(128, 5, 256, 32, 4),
    _conv(256, 3, 256, 32, 1),
    Folding(256, 512, 4, 1),
    Folding(512, 512, 8, 1),
    Folding(512, 64, 1, 4),
)
_CNV_2 = (
    _conv(3, 32, 64, 3, 8),
    _conv(64, 30, 64, 16, 16),
    _conv(64, 14, 128, 16, 8),
    _conv(128, 12, 128, 16, 8),
    _conv(128, 5, 256, 8, 4),
    _conv(256, 3, 256, 8, 1),
    Folding(256, 512, 2, 1),
    Folding(512, 512, 2, 2),
    Folding(512, 64, 1, 4),
)
DESIGNS: Mapping[str, _Design] = {
    "lfcW1A1": _Design("lfcW1A1", _LFC, features=784),
    "lfcW1A2": _Design("lfcW1A2", _wider(_LFC), features=784),
    "cnvW1A1": _Design("cnvW1A1", _CNV),
    "cnvW1A2": _Design("cnvW1A2", _wider(_CNV)),
    "cnvW2A2": _Design("cnvW2A2", _wider(_CNV_2, bits=2)),
}
"""The published designs. W is followed by the bits of a weight, A by those of an activation."""


def _design_named(design: str | Path) -> _Design:
    """Return a published design by its name, or the one that a ``config.h`` describes."""
    if str(design) in DESIGNS:
        return DESIGNS[str(design)]
    if str(design).endswith(".h"):
        return _read_config(Path(design))
    raise FileError(f"design={str(design)!r} is not one of {', '.join(DESIGNS)}, nor a path of a config.h.")


def _design_of_files(elements: Sequence[int], thresholds: int) -> _Design:
    """Return the published design whose layers have these numbers of processing elements, and whose first
    layer has so many thresholds in each.
    """
    for design in DESIGNS.values():
        first = design.layers[0]
        wanted = first.thresholds * first.height // first.pe
        if [layer.pe for layer in design.layers] == list(elements) and wanted == thresholds:
            return design
    raise FileError(
        f"its {len(elements)} layers have {', '.join(map(str, elements))} processing elements, and the first "
        f"has {thresholds} thresholds in each, unlike {', '.join(DESIGNS)}. Give the config.h that it was "
        "made with: design='.../config.h'."
    )


def _read_config(path: Path) -> _Design:
    """Read the layers that a ``config.h`` of finnthesizer describes.

    Raises
    ------
    FileError
        If a line or a size is not understood, or more than one bit is used.
    """
    with named(path.name):
        text = read_file(path, _MAX_CONFIG).decode("ascii", "replace")
    layers: dict[int, dict[str, int]] = {}
    for number, line in enumerate(_bare(text).splitlines(), 1):
        match = _DEFINED.match(line)
        if match:
            layer = layers.setdefault(int(match[1]), {})
            refuse_if(
                match[2] not in (*_DENSE, *_CONV, *_ALWAYS, *_WIDTHS) or match[2] in layer,
                f"{path.name}, line {number}: L{match[1]}_{match[2]} is not known, or twice.",
            )
            layer[match[2]] = int(match[3])
        elif line.strip() and not _GUARD.match(line):
            raise FileError(f"{path.name}, line {number}: {line.strip()[:60]!r} is not understood.")
    refuse_if(
        not layers or sorted(layers) != list(range(len(layers))),
        f"{path.name} describes no layers L0, L1, ...",
    )
    last = len(layers) - 1
    return _Design(
        path.name,
        tuple(
            _folding(f"{path.name}: L{number}", layers[number], last=number == last)
            for number in range(len(layers))
        ),
    )


def _bare(text: str) -> str:
    """Return the text without comments; lines keep their numbers."""
    plain = re.sub(r"/\*.*?(\*/|\Z)", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", plain)


def _folding(what: str, defines: Mapping[str, int], *, last: bool) -> Folding:
    def size(name: str) -> int:
        refuse_if(name not in defines, f"{what}_{name} is missing.")
        refuse_if(
            not 0 < defines[name] <= _MAX_SIZE,
            f"{what}_{name} is {defines[name]}, but a size from 1 to {_MAX_SIZE} is needed.",
        )
        return defines[name]

    (bits, part), (activations, other) = ((defines.get(f"{k}PI", 1), defines.get(f"{k}PF", 0)) for k in "WA")
    refuse_if(
        bits not in (1, 2) or part or (not last and (activations not in (1, 2) or other)),
        f"{what} has weights of {bits}.{part} bits and activations of {activations}.{other} bits. Folders of "
        "1 and 2 bits without fractions are read; for others export the trained network to QONNX: "
        "sg.read_onnx.",
    )
    more = {"bits": bits, "thresholds": 1 if last else activations}
    simd, pe = size("SIMD"), size("PE")
    if "K" in defines:
        kernel, channels, side = size("K"), size("IFM_CH"), size("IFM_DIM")
        folding = Folding(kernel**2 * channels, size("OFM_CH"), simd, pe, kernel, channels, side, **more)
        refuse_if(
            folding.out_side != size("OFM_DIM"),
            f"{what}: windows of {kernel} over {side} pixels give {folding.out_side}, "
            f"not {defines['OFM_DIM']}.",
        )
    else:
        folding = Folding(size("MW"), size("MH"), simd, pe, **more)
    refuse_if(
        simd * bits > 64 or folding.width % simd or folding.height % pe,
        what,
        f"{folding.height} x {folding.width} weights cannot be folded by {pe} elements of {simd} weights.",
    )
    wanted = (folding.words * folding.height // pe, folding.height // pe)
    refuse_if(
        (size("WMEM"), size("TMEM")) != wanted,
        f"{what}: WMEM {defines['WMEM']} and TMEM {defines['TMEM']} do not fit its sizes, "
        f"which give {wanted[0]} and {wanted[1]}.",
    )
    return folding


_FILE = re.compile(r"(\d{1,3})-(\d{1,4})-(weights|thres)\.bin")
_CONFIGS = ("config.h", "hw/config.h")
_MAX_CLASSES = 1 << 16
_MAX_WORDS = 1 << 25


@dataclass(frozen=True, eq=False)
class Memory:
    """The contents of the processing elements."""

    source: str
    design: _Design
    weights: tuple[npt.NDArray[np.uint64], ...]
    """For each layer, one row of words per element."""
    thresholds: tuple[Ints | None, ...]
    """For each element its neurons, and the thresholds of each; None if a layer has no thresholds."""
    classes: tuple[str, ...] | None


def is_folder(folder: Path) -> bool:
    """Return whether a folder has words for processing elements."""
    return folder.is_dir() and any(_FILE.fullmatch(path.name) for path in folder.iterdir())


def read_memory(folder: str | Path, design: str | Path | None = None) -> Memory:
    """Read all files of a folder; refuse those that the design does not use."""
    path = Path(folder)
    refuse_if(not path.is_dir(), f"{path} is not a folder.")
    names = {tuple(part) for part in _names(path)}
    refuse_if(not names, "it has no files such as 0-0-weights.bin, so it is not a BNN-PYNQ folder.")
    folded = _design(path, names, design)
    refuse_if(
        sum(layer.height * (layer.words + 1) for layer in folded.layers) > _MAX_WORDS,
        f"{folded.name} has layers of more than {_MAX_WORDS:,} words, far more than a board.",
    )
    weights: list[npt.NDArray[np.uint64]] = []
    thresholds: list[Ints | None] = []
    last = len(folded.layers) - 1
    for number, layer in enumerate(folded.layers):
        words = _rows(path, number, layer, "weights", layer.words, short=number == last)
        weights.append(words)
        rows = words.shape[1] // layer.words
        names -= {(str(number), str(pe), "weights") for pe in range(layer.pe)}
        if number < last or (str(number), "0", "thres") in names:
            held = _rows(path, number, layer, "thres", layer.thresholds, short=number == last)
            limits = held.astype(np.int64).reshape(layer.pe, -1, layer.thresholds)
            refuse_if(
                limits.shape[1] < rows,
                f"layer {number} has {rows} rows of weights an element, but thresholds for "
                f"{limits.shape[1]}.",
            )
            thresholds.append(limits[:, :rows])
            names -= {(str(number), str(pe), "thres") for pe in range(layer.pe)}
        else:
            thresholds.append(None)
    if names:
        name = "-".join(min(names)) + ".bin"
        raise FileError(f"{name} would be left over: {folded.name} has no place for it.")
    return Memory(path.name, folded, tuple(weights), tuple(thresholds), _classes(path))


def _names(folder: Path) -> Iterator[tuple[str, str, str]]:
    for path in folder.iterdir():
        match = _FILE.fullmatch(path.name)
        if match:
            yield match[1], match[2], match[3]
        elif path.suffix == ".bin":
            raise FileError(f"{path.name} is not a file of an element, such as 0-0-weights.bin.")


def _design(folder: Path, names: set[tuple[str, ...]], design: str | Path | None) -> _Design:
    if design is not None:
        return _design_named(design)
    for name in _CONFIGS:
        if (folder / name).exists():
            return _read_config(folder / name)
    layers = sorted({int(number) for number, _, _ in names})
    if layers != list(range(len(layers))):
        raise FileError(f"layer {next(k for k in range(len(layers)) if k not in layers)} is missing.")
    elements = [
        sum(1 for number, _, kind in names if kind == "weights" and int(number) == layer) for layer in layers
    ]
    first = folder / "0-0-thres.bin"
    return _design_of_files(elements, first.stat().st_size // 8 if first.exists() else 0)


def _rows(
    folder: Path, number: int, layer: Folding, kind: str, n_words: int, *, short: bool
) -> npt.NDArray[np.uint64]:
    """Return one row of words per element.

    The rows of the last layer may lack their end, as in older folders. The driver reads it as nothing.
    """
    expected = layer.height // layer.pe * n_words
    rows: list[npt.NDArray[np.uint64]] = []
    for pe in range(layer.pe):
        path = folder / f"{number}-{pe}-{kind}.bin"
        with named(path.name, f" It needs {expected} words of 8 bytes."):
            data = read_file(path, 8 * 2 * expected)
        refuse_if(
            len(data) % 8, f"{path.name} has {len(data)} bytes, but {expected} words of 8 bytes are needed."
        )
        row = np.frombuffer(data, "<u8")
        if len(row) != expected and not (short and 0 < len(row) < expected and len(row) % n_words == 0):
            several = " (two per neuron, as for 2-bit activations)" * (
                kind == "thres" and len(row) == 2 * expected
            )
            raise FileError(f"{path.name} has {len(row)} words{several}, but {expected} are needed.")
        if rows and len(row) != len(rows[0]):
            raise FileError(
                f"{path.name} has {len(row)} words, but {number}-0-{kind}.bin has {len(rows[0])}."
            )
        rows.append(row)
    return np.stack(rows)


def _classes(folder: Path) -> tuple[str, ...] | None:
    path = folder / "classes.txt"
    if not path.exists():
        return None
    try:
        with named(path.name):
            lines = read_file(path, _MAX_CLASSES).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(f"{path.name} cannot be read: {error}.") from None
    return tuple(line.strip() for line in lines if line.strip()) or None


Last: TypeAlias = Literal["bits", "matches"]
PixelRounding: TypeAlias = Literal["nearest", "floor"]

_THRESHOLDS = (-(1 << 15), (1 << 15) - 1)
_FIXED = (-(1 << 23), (1 << 23) - 1)
"""Ranges of the accelerators' threshold memories: 16 bits, and 24 bits of which 8 are fractional."""


def chain_of_memory(
    memory: Memory,
    *,
    features: int | None = None,
    outputs: int | None = None,
    last: Last | None = None,
    rounding: PixelRounding | None = None,
) -> OpChain:
    """Return all operations from the pixels (0..255) to the scores.

    Parameters
    ----------
    features
        Number of bits that the first dense layer reads; the others are padding that is always off.
    outputs
        Number of classes among the last rows.
    last
        ``"bits"``: the class of the highest bit that is on, like the driver if the last layer has thresholds;
        ``"matches"``: the class with most matches.
    rounding
        Rounding of pixels to fixed point, if the first layer uses it.
    """
    design, count = memory.design, _outputs(memory, outputs)
    first = design.layers[0]
    refuse_if(first.bits == 2 and not first.kernel, "its first layer reads bits with 2-bit weights.")
    for number, layer in enumerate(design.layers[1:-1], 1):
        refuse_if(
            bool(layer.kernel) and layer.thresholds == 1 and not design.counts_matches(number),
            f"layer {number} is a convolution that gives bits, and reads 2-bit values or has 2-bit weights.",
        )
    ops: list[Op]
    shape: tuple[int, ...]
    if design.is_conv:
        shape, ops = (design.layers[0].channels, *(design.layers[0].side,) * 2), _pixels(rounding)
        refuse_if(
            features is not None, f"features={features} is for dense designs; here {shape} pixels are read."
        )
    else:
        refuse_if(
            rounding is not None,
            f"rounding={rounding!r} is for designs that read pixels; here they are bits.",
        )
        shape, ops = (_features(memory, features),), [Affine("pixels", np.ones(1), np.array([-127.5]))]
        ops.append(Sign("pixels"))
    for number, layer in enumerate(design.layers[:-1]):
        ops += _layer(memory, number, layer, shape)
        if design.pools_behind(number):
            ops.append(MaxPool(f"pool after layer {number}", (2, 2), (2, 2)))
        if layer.kernel and not design.layers[number + 1].kernel:
            ops.append(Flatten("maps", "HWC"))
    tail, left_out = _last(memory, count, last, shape)
    return OpChain(memory.source, shape, (*ops, *tail), left_out=left_out)


def _pixels(rounding: PixelRounding | None) -> list[Op]:
    """Return 2 x / 255 - 1 as a number q / 128; 256 x / 255 - 128 is never halfway between two integers."""
    refuse_if(
        rounding not in (None, "nearest", "floor"),
        f"rounding={rounding!r} is not known: 'nearest' or 'floor'.",
    )
    integers = rounded("pixels", -128, 127, "floor" if rounding == "floor" else "half even")
    spread = Affine("pixels", numbers([Fraction(256, 255)]), np.array([-128.0]))
    return [spread, integers, Affine("pixels", np.ones(1), np.array([-128.0]))]


def _features(memory: Memory, features: int | None) -> int:
    width = memory.design.layers[0].width
    known = required(
        memory.design.features if features is None else features,
        f"its first layer reads {width} bits, of which the last are padding. Say how many are inputs: "
        "features=784.",
    )
    refuse_if(not 0 < known <= width, f"features={known}, but the first layer reads {width} bits.")
    return known


def _outputs(memory: Memory, outputs: int | None) -> int:
    rows = memory.weights[-1].size // memory.design.layers[-1].words
    count = required(
        len(memory.classes) if outputs is None and memory.classes else outputs,
        f"its last layer has {rows} rows, of which the first are classes, and there is no classes.txt. "
        "Say how many: outputs=10.",
    )
    refuse_if(not 0 < count <= rows, f"{count} classes, but the last layer has {rows} rows.")
    return count


def _weights(memory: Memory, number: int) -> Doubles:
    """Return weights, one row per neuron: -1 and +1, or -2 to 1."""
    layer, words = memory.design.layers[number], memory.weights[number]
    used = layer.simd * layer.bits
    refuse_if(
        used < 64 and (words >> np.uint64(used)).any(),
        f"layer {number} has words with more than {used} bits.",
    )
    lanes = words[..., None] >> (layer.bits * np.arange(layer.simd, dtype=np.uint64))
    codes = (lanes & np.uint64(2**layer.bits - 1)).astype(np.float64)
    values = 2 * codes - 1 if layer.bits == 1 else codes - 4 * (codes > 1)
    return values.reshape(layer.pe, -1, layer.width).swapaxes(0, 1).reshape(-1, layer.width)


def _limits(memory: Memory, number: int, rows: int, ends: tuple[int, int]) -> Doubles:
    """Return the thresholds of each neuron in rising order."""
    held = required(memory.thresholds[number], f"layer {number} has no thresholds.")
    limits = np.sort(held.swapaxes(0, 1).reshape(-1, held.shape[2])[:rows], axis=1)
    wrong = (limits < ends[0]) | (limits > ends[1])
    first = int(np.argmax(wrong.any(axis=1)))
    refuse_if(
        wrong.any(),
        f"layer {number}, neuron {first}: its threshold {limits[first][wrong[first]][:1].sum()} is not "
        f"one of {ends[0]}..{ends[1]}, which the accelerator can hold.",
    )
    return limits.astype(np.float64)


def _layer(memory: Memory, number: int, layer: Folding, shape: tuple[int, ...]) -> list[Op]:
    """Return a layer with its signs or levels."""
    where, weights = f"layer {number}", _weights(memory, number)
    ends = _FIXED if layer.kernel and number == 0 else _THRESHOLDS
    limits, padded = _limits(memory, number, len(weights), ends), np.zeros(len(weights))
    if layer.kernel and number == 0:
        limits = limits / 2  # twice the sum of q is above T, or not
    elif memory.design.counts_matches(number):
        limits = 2 * limits - layer.width
    if number == 0 and not layer.kernel:  # padding is always off, that is -1
        padded, weights = -weights[:, shape[0] :].sum(axis=1), weights[:, : shape[0]]
    bias, ops = padded if layer.thresholds > 1 else padded - np.floor(limits[:, 0]) - 0.5, list[Op]()
    if layer.kernel:
        kernel = weights.reshape(-1, layer.kernel, layer.kernel, layer.channels).transpose(0, 3, 1, 2)
        ops.append(Convolution(where, np.ascontiguousarray(kernel), bias))
    else:
        ops.append(LinearOp(where, weights, bias))
    if layer.thresholds == 1:
        return [*ops, Sign(where)]
    above = np.ones(layer.thresholds, bool)
    return [*ops, Quantize(where, limits, above), Affine(where, np.ones(1), np.array([-1.0]))]


def _last(
    memory: Memory, count: int, last: Last | None, shape: tuple[int, ...]
) -> tuple[list[Op], tuple[str, ...]]:
    """Return the scores: the highest bit that is on wins, and class 0 if none is.

    The score of class c is (c + 1) times its bit, ties to the lowest class. Without thresholds, most matches
    win.
    """
    number = len(memory.design.layers) - 1
    thresholds = memory.thresholds[number] is not None and not memory.design.is_conv
    refuse_if(last not in (None, "bits", "matches"), f"last={last!r} is not known: 'bits' or 'matches'.")
    refuse_if(
        last == "bits" and not thresholds,
        "last='bits' is for designs whose last layer has thresholds. Leave it out.",
    )
    weights, where = _weights(memory, number)[:count], f"layer {number}"
    if last == "matches" or not thresholds:
        note = f"thresholds of {where}: the class of most matches is taken, not that of the highest bit"
        bias = None
        if number == 0:  # padding is always off, that is -1
            bias, weights = -weights[:, shape[0] :].sum(axis=1), weights[:, : shape[0]]
        return [LinearOp(where, weights, bias)], (note,) if thresholds else ()
    indices = np.arange(1.0, count + 1)
    linear, sign = _layer(memory, number, memory.design.layers[number], shape)
    assert isinstance(linear, LinearOp)
    assert linear.bias is not None
    some = replace(linear, weights=linear.weights[:count], bias=linear.bias[:count])
    return [some, sign, LinearOp("highest bit", np.diag(indices), indices)], ()
