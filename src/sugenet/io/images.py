"""Images as raw samples, one pixel a feature: one of them, or a folder, whose folders may name classes."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from math import ceil, floor, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, OneHot, Steps
from sugenet.errors import FileError, how_to_install
from sugenet.io.plain.refusals import refuse_if
from sugenet.reading import open_file

__all__ = ["IMAGES", "SIZE_LIMIT", "read_folder", "read_image"]

SIZE_LIMIT = 1 << 30
"""Bytes that samples may have, in their file and as an array."""
PIXEL_LIMIT = 1 << 24
IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".tif", ".tiff"}
# other readers of Pillow start programs, or are seldom looked at
_FORMATS = ["PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF"]
_NUMBERS = re.compile(r"([0-9]+)")


# -- folders -------------------------------------------------------------------------------------------------


def read_folder(folder: Path, network: Network) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None]:
    """The images of a folder, and their classes where these are the names of its folders."""
    entries = _sorted(folder)
    inner = [entry for entry in entries if entry.is_dir()]
    if inner and len(inner) < len(entries):
        beside = next(entry for entry in entries if entry not in inner)
        raise FileError(
            f"{folder} holds folders, such as {inner[0].name}, and files, such as {beside.name}. "
            f"Give images alone, or folders alone that are named like their classes."
        )
    for part in inner:
        if part.name not in network.classes:
            raise FileError(
                f"{part}: {part.name} is no class of the model, but folders are named like their classes: "
                f"{', '.join(network.classes)}."
            )
    groups = {part: _sorted(part) for part in inner} or {folder: entries}
    files = [file for part in groups.values() for file in part]
    _check(folder, files, network)
    scale = _Scale(network)
    X = np.concatenate([scale.read(file) for file in files])
    if not inner:
        return X, None
    truth = [network.classes.index(part.name) for part, held in groups.items() for _ in held]
    return X, np.array(truth, dtype=np.intp)


def _sorted(folder: Path) -> list[Path]:
    """What stands in a folder, by name: digits as numbers, and what is equal then by the name as it is."""
    found = sorted(folder.iterdir(), key=lambda path: (_natural(path.name), path.name))
    refuse_if(not found, f"{folder} is an empty folder. Put images into it, or leave it out.")
    return found


def _natural(name: str) -> list[Any]:
    """Texts and numbers in turn."""
    parts = _NUMBERS.split(name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _check(folder: Path, files: list[Path], network: Network) -> None:
    """Refuse what is no image, and more than can be meant, before any is read."""
    for file in files:
        if file.suffix.lower() not in IMAGES or not file.is_file():
            what = "a folder" if file.is_dir() else "no image file"
            raise FileError(
                f"{file} is {what}, but a folder of samples holds images alone: "
                f"{', '.join(sorted(IMAGES))}. Move it elsewhere."
            )
    size = max(sum(file.stat().st_size for file in files), 8 * len(files) * network.encoder.features)
    refuse_if(
        size > SIZE_LIMIT,
        f"the {len(files):,} images of {folder} make {size:,} bytes; the limit for samples is "
        f"{SIZE_LIMIT:,}. Split the folder.",
    )


# -- one image -----------------------------------------------------------------------------------------------


def read_image(file: Path, network: Network) -> npt.NDArray[Any]:
    """One sample from an image in shades of grey."""
    return _Scale(network).read(file)


class _Scale:
    """Shades of grey as raw values of a network's features."""

    def __init__(self, network: Network) -> None:
        codings = network.encoder.codings
        ranges = {(c.low, c.high) if isinstance(c, Steps) else None for c in codings}
        ends = ranges.pop() if len(ranges) == 1 else None
        low, high = ends if ends is not None and isfinite(ends[0]) and isfinite(ends[1]) else (0.0, 255.0)
        self.features = network.encoder.features
        self.whole = all(isinstance(c, OneHot) or c.whole or c.bipolar for c in codings)
        if self.whole:
            low, high = ceil(low), floor(high)
        self.low, self.high = Fraction(low), Fraction(high)
        self.known: dict[tuple[int, int], int | float] = {}

    def read(self, file: Path) -> npt.NDArray[Any]:
        """One sample."""
        grey, white = _shades(file, self.features)
        shades, places = np.unique(grey, return_inverse=True)
        kind = np.int64 if self.whole else np.float64
        table = np.array([self._value(shade, white) for shade in shades.tolist()], kind)
        return table[places].reshape(1, self.features)

    def _value(self, shade: int, white: int) -> int | float:
        if (shade, white) not in self.known:
            exact = self.low + shade * (self.high - self.low) / white
            self.known[shade, white] = floor(exact + Fraction(1, 2)) if self.whole else float(exact)
        return self.known[shade, white]


def _shades(file: Path, n: int) -> tuple[npt.NDArray[np.int64], int]:
    """The grey value of every pixel, of which there must be `n`, and the one that is white."""
    try:
        from PIL import Image
    except ImportError as error:
        raise FileError(
            f"reading {file} needs Pillow, which cannot be imported ({error}). Install it "
            f"{how_to_install('images')}."
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with open_file(file, SIZE_LIMIT) as stream, Image.open(stream, formats=_FORMATS) as image:
                size = image.width * image.height
                refuse_if(
                    size > PIXEL_LIMIT,
                    f"{file} has {image.width} x {image.height} pixels, far more than any model reads.",
                )
                refuse_if(
                    size != n,
                    f"{file} has {image.width} x {image.height} = {size} pixels, but the model reads "
                    f"{n}. Resize it first.",
                )
                image.load()
                deep = image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM"))
                refuse_if(
                    not deep and image.mode in ("I", "F"),
                    f"{file} has pixels of 32 bits, whose white is not known. Save it with 8 or 16 bits.",
                )
                refuse_if(
                    not _is_opaque(image, deep),
                    f"{file} has transparent pixels, which have no shade of grey. "
                    f"Put it on a background first.",
                )
                return np.asarray(image if deep else image.convert("L")).astype(
                    np.int64
                ), 65535 if deep else 255
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            raise FileError(f"{file} has far more pixels than any model reads.") from None
        except FileError as error:
            raise error if str(file) in str(error) else FileError(f"{file}: {error}") from None
        except (FileNotFoundError, PermissionError, MemoryError):
            raise
        except Exception:  # broken images are reported in many ways
            raise FileError(f"{file} is no image that can be read.") from None


def _is_opaque(image: Any, deep: bool) -> bool:
    if "transparency" not in image.info and not image.mode.upper().endswith("A"):
        return True
    return not deep and bool(image.convert("RGBA").getchannel("A").getextrema()[0] == 255)
