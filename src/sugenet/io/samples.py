"""Raw samples from files: CSV, .npy, .npz and images. Nothing is guessed; what does not fit the model is refused with its place."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, OneHot, Steps
from sugenet.errors import FileError

__all__ = ["read_samples"]

SIZE_LIMIT = 1 << 30
IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".tif", ".tiff"}


def read_samples(path: str | Path, network: Network, target: str | None = None) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None]:
    """Read raw samples for a network.

    Parameters
    ----------
    path
        A CSV file (``-`` for standard input) with one sample a line, columns named like the features or in their order without a
        header; a ``.npy`` array or a ``.npz`` file with an array ``X`` (and ``y``); or an image with one pixel a feature.
    network
        The network that will read them.
    target
        Column of a CSV file that holds the true class, by name.

    Returns
    -------
    The samples, and the numbers of their true classes where the file has them.
    """
    name = str(path)
    if name == "-":
        return _csv(sys.stdin.read(), "standard input", network, target)
    file = Path(path)
    try:
        size = file.stat().st_size
        if file.is_dir():
            raise FileError(f"{name} is a folder. Give a CSV, .npy, .npz or image file.")
        if size > SIZE_LIMIT:
            raise FileError(f"{name} has {size:,} bytes; the limit for samples is {SIZE_LIMIT:,}. Split it.")
        kind = file.suffix.lower()
        if kind in (".npy", ".npz"):
            return _numpy(file, network)
        if kind in IMAGES:
            return _image(file, network), None
        return _csv(file.read_text(encoding="utf-8-sig"), name, network, target)
    except FileNotFoundError:
        raise FileError(f"there is no file {name}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{name} is neither text nor a .npy, .npz or image file. Samples come as CSV, .npy, .npz or PNG.") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None


def _csv(text: str, name: str, network: Network, target: str | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None]:
    lines = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(text)), start=1) if any(cell.strip() for cell in row)]
    features = network.encoder.names
    if not lines:
        raise FileError(f"{name} is empty. Give one sample a line.")
    header = [cell.strip() for cell in lines[0][1]]
    if set(features) & set(header) or (target is not None and target in header):
        missing = [feature for feature in features if feature not in header]
        if missing:
            raise FileError(
                f"{name} has no column {missing[0]!r}. The model reads {len(features)} features: {', '.join(features[:6])}, ..."
            )
        places, rows = [header.index(feature) for feature in features], lines[1:]
    else:
        places, rows = list(range(len(features))), lines
        if target is not None:
            raise FileError(f"{name} has no column {target!r}: its first line is {', '.join(header[:6])}.")
        if len(header) != len(features):
            raise FileError(
                f"{name} has {len(header)} columns and no header with the feature names, but the model reads {len(features)} features."
            )
    X = np.empty((len(rows), len(features)), dtype=object)
    for i, (number, row) in enumerate(rows):
        if len(row) != len(header):
            raise FileError(f"{name}, line {number}: {len(row)} cells, but the first line has {len(header)}.")
        for j, place in enumerate(places):
            X[i, j] = _cell(row[place].strip(), network.encoder.codings[j], f"{name}, line {number}, column {features[j]}")
    truth = None
    if target is not None:
        column = header.index(target)
        truth = _truth([row[column].strip() for _, row in rows], network, f"{name}, column {target}")
    return X, truth


def _cell(text: str, coding: Steps | OneHot, where: str) -> Any:
    if isinstance(coding, OneHot):
        known = {str(category): category for category in coding.categories}
        if text not in known:
            raise FileError(f"{where}: {text!r} is no category. The categories are {', '.join(list(known)[:12])}.")
        return known[text]
    try:
        return float(text)
    except ValueError:
        raise FileError(f"{where}: {text!r} is not a number.") from None


def _truth(labels: list[str], network: Network, where: str) -> npt.NDArray[np.intp]:
    places = {name: k for k, name in enumerate(network.classes)}
    unknown = next((label for label in labels if label not in places), None)
    if unknown is not None:
        raise FileError(f"{where}: {unknown!r} is no class of the model. The classes are {', '.join(network.classes)}.")
    return np.array([places[label] for label in labels], dtype=np.intp)


def _numpy(file: Path, network: Network) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None]:
    truth = None
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.lib.npyio.NpzFile):
            with loaded:
                names = loaded.files
                if "X" not in names and len(names) != 1:
                    raise FileError(f"{file} holds the arrays {', '.join(names)}; call the samples X.")
                array = loaded["X" if "X" in names else names[0]]
                truth = loaded["y"].astype(np.intp) if "y" in names else None
        else:
            array = loaded
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, TypeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{file} is no array file that can be read safely: {error}") from None
    return _flat(array, network, str(file)), truth


def _flat(array: npt.NDArray[Any], network: Network, name: str) -> npt.NDArray[Any]:
    """Samples as rows: an image stack is flattened, one sample becomes a batch of one."""
    n = network.encoder.features
    if array.ndim >= 1 and array.size and array.size == n and array.shape[0] != array.size // n:
        return array.reshape(1, n)
    if array.ndim >= 2 and array.size == len(array) * n:
        return array.reshape(len(array), n)
    raise FileError(f"{name} holds an array of shape {array.shape}, but the model reads samples of {n} features.")


def _image(file: Path, network: Network) -> npt.NDArray[Any]:
    """One sample from an image in shades of grey; 0..255 becomes the range of the features where they have one."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file) as image:
            if image.width * image.height > 1 << 24:
                raise FileError(f"{file} has {image.width} x {image.height} pixels, far more than any model reads.")
            grey = np.asarray(image.convert("L")).astype(np.int64)
    except (UnidentifiedImageError, SyntaxError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{file} is no image that can be read.") from None
    n = network.encoder.features
    if grey.size != n:
        raise FileError(f"{file} has {grey.shape[1]} x {grey.shape[0]} = {grey.size} pixels, but the model reads {n}. Resize it first.")
    ranges = {(c.low, c.high) if isinstance(c, Steps) else None for c in network.encoder.codings}
    ends = ranges.pop() if len(ranges) == 1 else None
    if ends is None or not np.isfinite(ends).all() or ends == (0.0, 255.0):
        return grey.reshape(1, n)
    low, high = int(ends[0]), int(ends[1])
    return (low + (grey * (high - low) * 2 + 255) // 510).reshape(1, n)  # nearest, in whole numbers
