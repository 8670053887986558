"""How an accelerator of BNN-PYNQ folds its layers: sizes, processing elements and words, as ``config.h`` says
them or as one of the two published designs has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sugenet.errors import FileError
from sugenet.reading import read_file

__all__ = ["DESIGNS", "Design", "Folding", "design_named", "design_of_files", "read_config"]

_MAX_CONFIG = 1 << 20
_MAX_SIZE = 1 << 16
_DEFINED = re.compile(r"^\s*#define\s+L(\d{1,3})_([A-Z_]+)\s+(-?\d{1,12})\s*$")
_GUARD = re.compile(r"^\s*(#ifndef\s+\w+|#define\s+\w+|#endif|#pragma\s+once)\s*$")
_DENSE, _CONV = ("MW", "MH"), ("K", "IFM_CH", "IFM_DIM", "OFM_CH", "OFM_DIM")
_ALWAYS = ("SIMD", "PE", "WMEM", "TMEM")
_WIDTHS = ("WPI", "WPF", "API", "APF")


@dataclass(frozen=True)
class Folding:
    """One layer: a matrix of `height` neurons over `width` bits, cut into words of `simd` bits that `pe`
    processing elements hold in turn. Neuron n is number n // pe of element n % pe.
    """

    width: int
    height: int
    simd: int
    pe: int
    kernel: int = 0
    """Side of the window of a convolution; 0 of a dense layer."""
    channels: int = 0
    side: int = 0
    """Of the square maps that a convolution reads."""

    @property
    def words(self) -> int:
        """Of 64 bits, for one neuron."""
        return self.width // self.simd

    @property
    def out_side(self) -> int:
        """Of the maps that a convolution gives."""
        return self.side - self.kernel + 1

    @property
    def values(self) -> int:
        """How many bits come out."""
        return self.height * self.out_side**2 if self.kernel else self.height


@dataclass(frozen=True)
class Design:
    """All layers of an accelerator, and how many of its inputs are not padding, where that is known."""

    name: str
    layers: tuple[Folding, ...]
    features: int | None = None

    @property
    def is_conv(self) -> bool:
        """Whether it reads pixels in fixed point; else they are bits."""
        return bool(self.layers[0].kernel)

    def pools_behind(self, number: int) -> bool:
        """Whether maps are pooled two by two between a layer and the next: where the next one reads so many
        fewer.
        """
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


DESIGNS: Mapping[str, Design] = {
    "lfcW1A1": Design(
        "lfcW1A1",
        (
            Folding(832, 1024, 64, 32),
            Folding(1024, 1024, 32, 64),
            Folding(1024, 1024, 64, 32),
            Folding(1024, 64, 8, 16),
        ),
        features=784,
    ),
    "cnvW1A1": Design(
        "cnvW1A1",
        (
            _conv(3, 32, 64, 3, 16),
            _conv(64, 30, 64, 32, 32),
            _conv(64, 14, 128, 32, 16),
            _conv(128, 12, 128, 32, 16),
            _conv(128, 5, 256, 32, 4),
            _conv(256, 3, 256, 32, 1),
            Folding(256, 512, 4, 1),
            Folding(512, 512, 8, 1),
            Folding(512, 64, 1, 4),
        ),
    ),
}
"""As published, which has stayed the same over all versions with one bit for weights and activations."""


def design_named(given: str | Path) -> Design:
    """A published design by its name, or the one that a ``config.h`` describes."""
    if str(given) in DESIGNS:
        return DESIGNS[str(given)]
    if str(given).endswith(".h"):
        return read_config(Path(given))
    raise FileError(f"design={str(given)!r} is none of {', '.join(DESIGNS)}, and no path of a config.h.")


def design_of_files(elements: Sequence[int]) -> Design:
    """The published design that has so many processing elements in its layers."""
    for design in DESIGNS.values():
        if [layer.pe for layer in design.layers] == list(elements):
            return design
    raise FileError(
        f"its {len(elements)} layers have {', '.join(map(str, elements))} processing elements, as neither "
        f"{' nor '.join(DESIGNS)} has. Give the config.h that it was made with: design='.../config.h'."
    )


def read_config(path: Path) -> Design:
    """The layers that a ``config.h`` of finnthesizer describes.

    Raises
    ------
    FileError
        Where a line or a size is not understood, or more than one bit is meant.
    """
    try:
        text = read_file(path, _MAX_CONFIG).decode("ascii", "replace")
    except FileError as error:
        raise FileError(f"{path.name}: {error}") from None
    except OSError as error:
        raise FileError(f"{path.name} cannot be read: {error.strerror or error}.") from None
    layers: dict[int, dict[str, int]] = {}
    for number, line in enumerate(_bare(text).splitlines(), 1):
        found = _DEFINED.match(line)
        if found:
            layer = layers.setdefault(int(found[1]), {})
            if found[2] not in (*_DENSE, *_CONV, *_ALWAYS, *_WIDTHS) or found[2] in layer:
                raise FileError(f"{path.name}, line {number}: L{found[1]}_{found[2]} is not known, or twice.")
            layer[found[2]] = int(found[3])
        elif line.strip() and not _GUARD.match(line):
            raise FileError(f"{path.name}, line {number}: {line.strip()[:60]!r} is not understood.")
    if not layers or sorted(layers) != list(range(len(layers))):
        raise FileError(f"{path.name} describes no layers L0, L1, ...")
    last = len(layers) - 1
    return Design(
        path.name,
        tuple(
            _folding(f"{path.name}: L{number}", layers[number], last=number == last)
            for number in range(len(layers))
        ),
    )


def _bare(text: str) -> str:
    """Without comments; lines keep their numbers."""
    plain = re.sub(r"/\*.*?(\*/|\Z)", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", plain)


def _folding(what: str, said: Mapping[str, int], *, last: bool) -> Folding:
    def size(name: str) -> int:
        if name not in said:
            raise FileError(f"{what}_{name} is missing.")
        if not 0 < said[name] <= _MAX_SIZE:
            raise FileError(f"{what}_{name} is {said[name]}, but a size from 1 to {_MAX_SIZE} is needed.")
        return said[name]

    weights, given = (said.get(f"{kind}PI", 1) + said.get(f"{kind}PF", 0) for kind in "WA")
    if weights != 1 or (given != 1 and not last):
        raise FileError(
            f"{what} has {weights}-bit weights and {given}-bit activations. Folders of one bit (W1A1) are "
            "read; for W1A2 and W2A2 export the trained network to QONNX: sg.read_onnx."
        )
    simd, pe = size("SIMD"), size("PE")
    if "K" in said:
        kernel, channels, side = size("K"), size("IFM_CH"), size("IFM_DIM")
        folding = Folding(kernel**2 * channels, size("OFM_CH"), simd, pe, kernel, channels, side)
        if folding.out_side != size("OFM_DIM"):
            raise FileError(
                f"{what}: windows of {kernel} over {side} pixels give {folding.out_side}, "
                f"not {said['OFM_DIM']}."
            )
    else:
        folding = Folding(size("MW"), size("MH"), simd, pe)
    if simd > 64 or folding.width % simd or folding.height % pe:
        raise FileError(
            f"{what}: {folding.height} x {folding.width} weights cannot be folded by {pe} elements of "
            f"{simd} bits."
        )
    wanted = (folding.words * folding.height // pe, folding.height // pe)
    if (size("WMEM"), size("TMEM")) != wanted:
        raise FileError(
            f"{what}: WMEM {said['WMEM']} and TMEM {said['TMEM']} do not fit its sizes, "
            f"which give {wanted[0]} and {wanted[1]}."
        )
    return folding
