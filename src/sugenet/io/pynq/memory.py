"""The files of a BNN-PYNQ folder as words, every size checked before memory is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.pynq.design import Design, Folding, design_named, design_of_files, read_config
from sugenet.reading import read_file

__all__ = ["Memory", "is_folder", "read_memory"]

_FILE = re.compile(r"(\d{1,3})-(\d{1,4})-(weights|thres)\.bin")
_CONFIGS = ("config.h", "hw/config.h")
_MAX_CLASSES = 1 << 16
_MAX_WORDS = 1 << 25


@dataclass(frozen=True, eq=False)
class Memory:
    """What the processing elements hold."""

    source: str
    design: Design
    weights: tuple[npt.NDArray[np.uint64], ...]
    """Of each layer: a row of words for each element."""
    thresholds: tuple[npt.NDArray[np.int64] | None, ...]
    """None where a layer has none."""
    classes: tuple[str, ...] | None


def is_folder(folder: Path) -> bool:
    """Whether it holds words for processing elements."""
    return folder.is_dir() and any(_FILE.fullmatch(path.name) for path in folder.iterdir())


def read_memory(folder: str | Path, design: str | Path | None = None) -> Memory:
    """Read all files of a folder; refuses those that the design has no place for."""
    place = Path(folder)
    if not place.is_dir():
        raise FileError(f"{place} is no folder.")
    found = {tuple(part) for part in _names(place)}
    if not found:
        raise FileError("it has no files such as 0-0-weights.bin, so it is no folder of BNN-PYNQ.")
    folded = _design(place, found, design)
    if sum(layer.height * (layer.words + 1) for layer in folded.layers) > _MAX_WORDS:
        raise FileError(f"{folded.name} has layers of more than {_MAX_WORDS:,} words, far more than a board.")
    weights: list[npt.NDArray[np.uint64]] = []
    thresholds: list[npt.NDArray[np.int64] | None] = []
    last = len(folded.layers) - 1
    for number, layer in enumerate(folded.layers):
        words = _rows(place, number, layer, "weights", layer.words, short=number == last)
        weights.append(words)
        rows = words.shape[1] // layer.words
        found -= {(str(number), str(pe), "weights") for pe in range(layer.pe)}
        if number < last or (str(number), "0", "thres") in found:
            limits = _rows(place, number, layer, "thres", 1, short=number == last).astype(np.int64)
            if limits.shape[1] < rows:
                raise FileError(
                    f"layer {number} has {rows} rows of weights an element, but {limits.shape[1]} thresholds."
                )
            thresholds.append(limits[:, :rows])
            found -= {(str(number), str(pe), "thres") for pe in range(layer.pe)}
        else:
            thresholds.append(None)
    if found:
        name = "-".join(min(found)) + ".bin"
        raise FileError(f"{name} would be left over: {folded.name} has no place for it.")
    return Memory(place.name, folded, tuple(weights), tuple(thresholds), _classes(place))


def _names(place: Path) -> Iterator[tuple[str, str, str]]:
    for path in place.iterdir():
        match = _FILE.fullmatch(path.name)
        if match:
            yield match[1], match[2], match[3]
        elif path.suffix == ".bin":
            raise FileError(f"{path.name} is no file of an element, such as 0-0-weights.bin.")


def _design(place: Path, found: set[tuple[str, ...]], design: str | Path | None) -> Design:
    if design is not None:
        return design_named(design)
    for name in _CONFIGS:
        if (place / name).exists():
            return read_config(place / name)
    layers = sorted({int(number) for number, _, _ in found})
    if layers != list(range(len(layers))):
        raise FileError(f"layer {next(k for k in range(len(layers)) if k not in layers)} is missing.")
    elements = [
        sum(1 for number, _, kind in found if kind == "weights" and int(number) == layer) for layer in layers
    ]
    return design_of_files(elements)


def _rows(
    place: Path, number: int, layer: Folding, kind: str, words: int, *, short: bool
) -> npt.NDArray[np.uint64]:
    """One row of words an element; those of the last layer may leave out rows at the end, as older folders
    do, which the driver reads as nothing.
    """
    most = layer.height // layer.pe * words
    rows: list[npt.NDArray[np.uint64]] = []
    for pe in range(layer.pe):
        path = place / f"{number}-{pe}-{kind}.bin"
        try:
            data = read_file(path, 8 * 2 * most)
        except FileError as error:
            raise FileError(f"{path.name}: {error} It needs {most} words of 8 bytes.") from None
        except OSError as error:
            raise FileError(f"{path.name} cannot be read: {error.strerror or error}.") from None
        if len(data) % 8:
            raise FileError(f"{path.name} has {len(data)} bytes, but {most} words of 8 bytes are needed.")
        row = np.frombuffer(data, "<u8")
        if len(row) != most and not (short and 0 < len(row) < most and len(row) % words == 0):
            several = " (two a neuron: 2-bit activations, of which W1A1 has none)" * (
                kind == "thres" and len(row) == 2 * most
            )
            raise FileError(f"{path.name} has {len(row)} words{several}, but {most} are needed.")
        if rows and len(row) != len(rows[0]):
            raise FileError(
                f"{path.name} has {len(row)} words, but {number}-0-{kind}.bin has {len(rows[0])}."
            )
        rows.append(row)
    return np.stack(rows)


def _classes(place: Path) -> tuple[str, ...] | None:
    path = place / "classes.txt"
    if not path.exists():
        return None
    try:
        lines = read_file(path, _MAX_CLASSES).decode("utf-8").splitlines()
    except FileError as error:
        raise FileError(f"classes.txt: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"classes.txt cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    return tuple(line.strip() for line in lines if line.strip()) or None
