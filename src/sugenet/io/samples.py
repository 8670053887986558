"""Raw samples from files: CSV, .npy, .npz, IDX, images and folders of images.

Nothing is guessed; what does not fit the model is refused with its place.
"""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, OneHot, Steps
from sugenet.bnn.samples import shape_words
from sugenet.capacity.arguments import NUMBER, number_words, read_number
from sugenet.errors import FileError
from sugenet.files import write_bytes, write_text
from sugenet.io.images import IMAGES, SIZE_LIMIT, read_folder, read_image
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.packed import open_archive, read_array, refusing
from sugenet.io.plain.rows import LINE_LIMIT, csv_rows, otherwise_separated
from sugenet.io.plain.texts import read_standard_input
from sugenet.reading import open_text, read_file

__all__ = ["read_samples", "write_samples"]

PIPE_LIMIT = 1 << 27
_SAMPLES, _CLASSES = (
    ("biufU", "samples are numbers or texts"),
    ("biufU", "true classes are whole numbers or names"),
)
_IDX = re.compile(r"[.-]idx[1-8]?-ubyte$|[.-]ubyte$|\.idx[1-8]?$", re.IGNORECASE)
_IDX_KINDS = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_DIGITS = re.compile(r"[0-9.eE+-]*")
_EXACT = 2.0**53  # floats hold every whole number up to here


def read_samples(
    path: str | Path, network: Network, target: str | None = None, *, delimiter: str = ","
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None]:
    """Read raw samples for a network.

    Parameters
    ----------
    path
        A CSV file (``-`` for standard input) with one sample a line, columns named like the features or in
        their order without a header; a ``.npy`` array or a ``.npz`` file with an array ``X``, and in ``y``
        the numbers or names of the true classes; an IDX file, as MNIST's are, such as
        ``t10k-images-idx3-ubyte``; an image with one pixel a feature; or a folder of images. CSV, ``.npy``
        and IDX files may be packed by gzip (``.gz``). Shades of grey, from black to white, become the range
        of the features: rounded where these are whole numbers, exactly otherwise. Where the features have no
        common finite range, that is 0 to 255.

        A folder holds images and nothing else; or folders of images that are named like classes, the true
        ones of what is in them. Its samples are sorted by folder and name, and within names digits count as
        the number they are: ``2.png`` comes before ``10.png``. All else is compared letter by letter, upper
        case before lower case; so are names that are equal then, as ``02.png`` and ``2.png``.
    network
        The network that will read them.
    target
        Column of a CSV file that holds the true class, by name. Other files and folders have no columns,
        and it is refused for them.
    delimiter
        What stands between the cells of a CSV file.

    Returns
    -------
    The samples, and the numbers of their true classes where the file has them.
    """
    name = str(path)
    if name == "-":
        text = io.StringIO(read_standard_input("CSV", PIPE_LIMIT), newline="")
        return _csv(text, "standard input", network, target, delimiter)
    file = Path(path)
    try:
        size = file.stat().st_size
        packed = file.suffix.lower() == ".gz" and not file.is_dir()
        plain = Path(file.stem) if packed else file
        kind = "folder" if file.is_dir() else "idx" if _IDX.search(plain.name) else plain.suffix.lower()
        if kind != "folder" and size > SIZE_LIMIT:
            raise FileError(f"{name} has {size:,} bytes; the limit for samples is {SIZE_LIMIT:,}. Split it.")
        other = kind in ("folder", "idx", ".npy", ".npz") or kind in IMAGES
        for option, value, usual in (("target", target, None), ("delimiter", delimiter, ",")):
            if other and value != usual:
                what = "names a column of a CSV file" if option == "target" else "is for a CSV file"
                raise FileError(f"{option}={value!r} {what}, but {name} has no columns. Leave it out.")
        if packed and (kind == ".npz" or kind in IMAGES):
            raise FileError(f"{name}: a {kind} file is packed already. Give it without gzip: gunzip {name}")
        if kind in (".npy", ".npz", "idx"):
            return _numpy(file, kind, network)
        if kind in IMAGES:
            return read_image(file, network), None
        if kind == "folder":
            return read_folder(file, network)
        if packed:
            raw = _unpacked(file)
            lines = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
            return _csv(lines, name, network, target, delimiter)
        with open_text(file, SIZE_LIMIT) as stream:
            return _csv(stream, name, network, target, delimiter)
    except FileError as error:
        raise error if name in str(error) else FileError(f"{name}: {error}") from None
    except FileNotFoundError:
        raise FileError(f"there is no file {name}.") from None
    except UnicodeDecodeError as error:
        if kind in (".csv", ".txt", ".tsv"):
            raise FileError(
                f"{name} is not in UTF-8: {error}. Save it as CSV in UTF-8; spreadsheets offer that."
            ) from None
        raise FileError(
            f"{name} is neither text nor a .npy, .npz, IDX or image file. Samples come as CSV, .npy, .npz, "
            f"IDX (its name ends in ubyte) or PNG."
        ) from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None


def _unpacked(file: Path) -> bytes:
    try:
        return unzipped(read_file(file, SIZE_LIMIT), SIZE_LIMIT)
    except FileError as error:
        raise FileError(f"{file}: {error}") from None


def write_samples(path: str | Path, network: Network, rows: Sequence[Sequence[Any]]) -> None:
    """Write raw samples so that `read_samples` reads the same values: CSV with the names of the features, or
    a ``.npy`` array of numbers.
    """
    if Path(path).suffix.lower() != ".npy":
        lines = io.StringIO(newline="")
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(network.encoder.names)
        writer.writerows(
            [value if isinstance(value, str) else number_words(value) for value in row] for row in rows
        )
        write_text(path, lines.getvalue())
        return
    if not all(isinstance(coding, Steps) for coding in network.encoder.codings):
        raise FileError(f"{path}: an array of numbers holds no categories. Name a .csv file.")
    array = np.array([list(row) for row in rows])
    if array.dtype.kind not in "iuf":
        raise FileError(f"{path}: an array does not hold these numbers exactly. Name a .csv file.")
    raw = io.BytesIO()
    np.save(raw, array, allow_pickle=False)
    write_bytes(path, raw.getvalue())


def _csv(
    lines: TextIO, name: str, network: Network, target: str | None, delimiter: str
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None]:
    features, codings = network.encoder.names, network.encoder.codings
    rows = csv_rows(lines, name, delimiter=delimiter, longest=max(LINE_LIMIT, 64 * len(features)))
    first = next(rows, None)
    if first is None:
        raise FileError(f"{name} is empty. Give one sample a line.")
    header = first[1]
    if set(features) & set(header) or (target is not None and target in header):
        _check_header(header, name, network, target, delimiter)
        places = [header.index(feature) for feature in features]
    else:
        places = list(range(len(features)))
        if target is not None:
            raise FileError(
                f"{name} has no column {target!r}: its first line is {', '.join(header[:6])}."
                f"{otherwise_separated(header, delimiter, lambda cells: target in cells)}"
            )
        if len(header) != len(features):
            raise FileError(
                f"{name} has {len(header)} column{'s' * (len(header) != 1)} and no header with the feature "
                f"names, but the model reads {len(features)} features."
                f"{otherwise_separated(header, delimiter, lambda cells: len(cells) >= len(features) > 1)}"
            )
        second = next(rows, None)
        words = [
            isinstance(coding, Steps) and not re.fullmatch(NUMBER, cell)
            for coding, cell in zip(codings, header, strict=True)
        ]
        if all(words):
            raise FileError(
                f"{name}: its first line, {_some(header)}, is neither a sample nor the names of the "
                f"features, which are {_some(features)}. Name the columns like the features, in any order; "
                "or leave the first line out and keep their order."
            )
        rows = chain([first], rows) if second is None else chain([first, second], rows)
    kind = np.float64 if all(isinstance(coding, Steps) for coding in codings) else object
    column = None if target is None else header.index(target)
    samples, labels = [], []
    for number, row in rows:
        if len(row) != len(header):
            raise FileError(f"{name}, line {number}: {len(row)} cells, but the first line has {len(header)}.")
        samples.append(
            _sample([row[place] for place in places], network, f"{name}, line {number}, column", kind)
        )
        if column is not None:
            labels.append(row[column])
    if not samples:
        raise FileError(f"{name} has a line of names and no samples below it. Give one sample a line.")
    X = np.stack(samples)
    return X, None if column is None else _truth(labels, network, f"{name}, column {target}")


def _sample(cells: list[str], network: Network, where: str, kind: Any) -> npt.NDArray[Any]:
    # the usual case at once: of these letters floats are made as below
    if kind is np.float64 and _DIGITS.fullmatch("".join(cells)):
        with suppress(ValueError):
            numbers = np.array([float(cell) for cell in cells])
            if np.abs(numbers).max(initial=0) < _EXACT:
                return numbers
    values = np.empty(len(cells), object)
    for j, (text, coding) in enumerate(zip(cells, network.encoder.codings, strict=True)):
        try:
            values[j] = _cell(text, coding)
        except FileError as error:
            raise FileError(f"{where} {network.encoder.names[j]}: {error}") from None
    is_long = any(type(v) is Fraction or (type(v) is int and abs(v) >= _EXACT) for v in values)
    return values if is_long else values.astype(kind)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def _check_header(header: list[str], name: str, network: Network, target: str | None, delimiter: str) -> None:
    features = network.encoder.names
    missing = next((feature for feature in features if feature not in header), None)
    if missing is not None:
        raise FileError(
            f"{name} has no column {missing!r}. The model reads {len(features)} features: "
            f"{_some(features)}.{otherwise_separated(header, delimiter, lambda cells: missing in cells)}"
        )
    if target is not None and target not in header:
        raise FileError(f"{name} has no column {target!r}: its first line is {_some(header)}.")
    doubled = next(
        (column for column in (*features, target) if column is not None and header.count(column) > 1), None
    )
    if doubled is not None:
        raise FileError(
            f"{name}: the column {doubled!r} stands twice in the first line. Give each column its own name."
        )


def _cell(text: str, coding: Steps | OneHot) -> Any:
    if isinstance(coding, OneHot):
        if text not in coding.by_text:
            known = ", ".join(map(str, coding.categories[:12]))
            raise FileError(f"{_shown(text)} is no category. The categories are {known}.")
        return coding.by_text[text]
    return read_number(text, error=FileError)


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}..."


def _truth(labels: list[str], network: Network, where: str) -> npt.NDArray[np.intp]:
    places = {name: k for k, name in enumerate(network.classes)}
    unknown = next((label for label in labels if label not in places), None)
    if unknown is not None:
        raise FileError(
            f"{where}: {_shown(unknown)} is no class of the model. "
            f"The classes are {', '.join(network.classes)}."
        )
    return np.array([places[label] for label in labels], dtype=np.intp)


def _numpy(file: Path, kind: str, network: Network) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None]:
    labels = None
    try:
        if kind == ".npz":
            with open_archive(file, SIZE_LIMIT) as archive:
                names = archive.names
                if "X" not in names and len(names) != 1:
                    raise FileError(f"it holds the arrays {', '.join(names)[:200]}; call the samples X.")
                array = archive.read("X" if "X" in names else names[0], *_SAMPLES)
                labels = archive.read("y", *_CLASSES) if "y" in names and "X" in names else None
        elif kind == "idx":
            array = _idx(unzipped(read_file(file, SIZE_LIMIT), SIZE_LIMIT))
        else:
            raw = unzipped(read_file(file, SIZE_LIMIT), SIZE_LIMIT)
            with refusing("it is no .npy file, or damaged"):
                array = read_array(io.BytesIO(raw), len(raw), "its array", *_SAMPLES)
    except FileError as error:
        raise FileError(f"{file}: {error}") from None
    X = _values(_flat(array, network, str(file)), network, str(file))
    return X, None if labels is None else _labels(labels, len(X), network, f"{file}, array y")


def _idx(raw: bytes) -> npt.NDArray[Any]:
    """An IDX file: two zeros, the kind of numbers, how many axes, their lengths, and the numbers."""
    kind = _IDX_KINDS.get(raw[2]) if len(raw) > 4 and raw[:2] == b"\0\0" else None
    start = 4 + 4 * raw[3] if kind is not None else 0
    if kind is None or not 1 <= raw[3] <= 8 or len(raw) < start:
        raise FileError("it is no IDX file, or damaged.")
    shape = struct.unpack(f">{raw[3]}I", raw[4:start])
    takes = prod(shape) * np.dtype(kind).itemsize
    if takes != len(raw) - start:
        raise FileError(
            f"its array of shape {shape} takes {takes:,} bytes, but {len(raw) - start:,} are there."
        )
    array = np.frombuffer(raw, kind, offset=start).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="))


def _values(X: npt.NDArray[Any], network: Network, name: str) -> npt.NDArray[Any]:
    """Numbers as they are, texts as the cells of a CSV file are read."""
    if X.dtype.kind in "biuf":
        return X
    read = np.empty(X.shape, dtype=object)
    for i, row in enumerate(X.tolist()):
        read[i] = _sample([text.strip() for text in row], network, f"{name}, sample {i}, feature", object)
    return read


def _labels(y: npt.NDArray[Any], samples: int, network: Network, where: str) -> npt.NDArray[np.intp]:
    """True classes from an array: their numbers or their names."""
    if y.shape != (samples,):
        raise FileError(
            f"{where} has the shape {y.shape}, but there are {samples} samples: give one class for each."
        )
    if y.dtype.kind == "U":
        return _truth(y.tolist(), network, where)
    last = len(network.classes) - 1
    for i, label in enumerate(y.tolist()):
        if not (0 <= label <= last and label == int(label)):
            raise FileError(
                f"{where}: entry {i} is {label}, but a class is a whole number from 0 to {last}, or a name."
            )
    return y.astype(np.intp)


def _flat(array: npt.NDArray[Any], network: Network, name: str) -> npt.NDArray[Any]:
    """Samples as rows: an image stack is flattened, one sample becomes a batch of one."""
    n = network.encoder.features
    if network.encoder.shape is not None:
        rows = network.encoder.rows(array[None] if array.ndim == 1 else array)
        if rows.ndim == 2 and rows.shape[1] == n:
            return rows
        wanted = shape_words(n, network.encoder.shape)
        raise FileError(
            f"{name} holds an array of shape {array.shape}, but the model reads samples of shape {wanted}."
        )
    if array.ndim >= 1 and array.size and array.size == n and array.shape[0] != array.size // n:
        return array.reshape(1, n)
    if array.ndim >= 2 and array.size == len(array) * n:
        return array.reshape(len(array), n)
    raise FileError(
        f"{name} holds an array of shape {array.shape}, but the model reads samples of {n} features."
    )
