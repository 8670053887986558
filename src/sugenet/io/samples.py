"""Read raw samples from files: CSV, .npy, .npz, IDX, images and folders of images.

Nothing is guessed. Data that does not fit the model is refused, with its position.
"""

import csv
import io
import re
import struct
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from fractions import Fraction
from itertools import chain
from math import ceil, floor, isfinite, prod
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from sugenet.capacity.arguments import NUMBER, number_text, read_number
from sugenet.errors import EncodingError, FileError, how_to_install
from sugenet.files import write_bytes, write_text
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.packed import open_archive, read_array, refusing
from sugenet.io.plain.refusals import refuse_if, required, within
from sugenet.io.plain.texts import (
    LINE_LIMIT,
    csv_rows,
    otherwise_separated,
    read_standard_input,
    recognized_delimiter,
)
from sugenet.nn import Encoder, Network, OneHot, Steps
from sugenet.nn.arrays import Array, Indices, Ints
from sugenet.nn.samples import shape_text
from sugenet.reading import open_file, open_text, read_file

__all__ = ["read_samples", "write_samples"]

SIZE_LIMIT = 1 << 30
"""Largest size of samples in bytes, in the file and as an array."""
PIXEL_LIMIT = 1 << 24
_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".tif", ".tiff"}
# other readers of Pillow start programs, or are rarely audited
_FORMATS = ["PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF"]
_NUMBERS = re.compile(r"([0-9]+)")
_WITHOUT_COLUMNS = {"folder", "idx", ".npy", ".npz", *_IMAGES}
PIPE_LIMIT = 1 << 27
_SAMPLES, _CLASSES = (
    ("biufU", "samples are numbers or texts"),
    ("biufU", "true classes are integers or names"),
)
_IDX = re.compile(r"[.-]idx[1-8]?-ubyte$|[.-]ubyte$|\.idx[1-8]?$", re.IGNORECASE)
_IDX_KINDS = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_DIGITS = re.compile(r"[0-9.eE+-]*")
_EXACT = 2.0**53  # floats represent every integer up to this one


def read_samples(
    path: str | Path, network: Network, target: str | None = None, *, delimiter: str | None = None
) -> tuple[Array, Indices | None]:
    """Read raw samples for a network.

    Parameters
    ----------
    path
        One of these:

        - A CSV file (``-`` for standard input) with one sample per line. Columns are named like the features
          or like the raw columns that these are read from (`Encoder.columns`), or are in their order without
          a header.
        - A ``.npy`` array, or a ``.npz`` file with an array ``X``, and the indices or names of the true
          classes in ``y``.
        - An IDX file, such as ``t10k-images-idx3-ubyte`` of MNIST.
        - An image with one pixel per feature, or a folder of images.

        CSV, ``.npy`` and IDX files may be compressed with gzip (``.gz``). Shades of grey, from black to
        white, are mapped to the range of the features: rounded if these are integers, exactly otherwise. If
        the features have no common finite range, it is 0 to 255.

        A folder contains only images, or folders of images that are named after their true classes. Samples
        are sorted by folder and name. Digits in names are compared as numbers: ``2.png`` is before
        ``10.png``.
        Other characters are compared one by one, upper case before lower case. So are names that are then
        equal, such as ``02.png`` and ``2.png``.
    network
        The network that will read the samples.
    target
        Name of the CSV column with the true class. Refused for other files and for folders.
    delimiter
        Separator of the cells of a CSV file. None: a comma, semicolon, tab or bar, if only one of them gives
        a first line that fits.

    Returns
    -------
    The samples, and the indices of their true classes if the file contains them.
    """
    name = str(path)
    if name == "-":
        text = io.StringIO(read_standard_input("CSV", PIPE_LIMIT), newline="")
        return _csv(text, "standard input", network, target, delimiter)
    file = Path(path)
    try:
        size = file.stat().st_size
        is_packed = file.suffix.lower() == ".gz" and not file.is_dir()
        plain = Path(file.stem) if is_packed else file
        kind = "folder" if file.is_dir() else "idx" if _IDX.search(plain.name) else plain.suffix.lower()
        refuse_if(
            kind != "folder" and size > SIZE_LIMIT,
            f"{name} has {size:,} bytes; the limit for samples is {SIZE_LIMIT:,}. Split it.",
        )
        if kind in _WITHOUT_COLUMNS:
            _refuse_columns(name, target, delimiter)
        refuse_if(
            is_packed and (kind == ".npz" or kind in _IMAGES),
            name,
            f"a {kind} file is compressed already. Give it without gzip: gunzip {name}",
        )
        if kind in (".npy", ".npz", "idx"):
            return _numpy(file, kind, network)
        if kind in _IMAGES:
            return _Scale(network).read(file), None
        if kind == "folder":
            return _read_folder(file, network)
        with _text_of(file, is_packed) as stream:
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


def _refuse_columns(name: str, target: str | None, delimiter: str | None) -> None:
    """Refuse column options for a file without columns."""
    for option, value, usual, what in (
        ("target", target, None, "names a column of a CSV file"),
        ("delimiter", delimiter, None, "is for a CSV file"),
    ):
        refuse_if(value != usual, f"{option}={value!r} {what}, but {name} has no columns. Leave it out.")


def _text_of(file: Path, is_packed: bool) -> AbstractContextManager[TextIO]:
    """Return the text of a CSV file, compressed with gzip or not."""
    if not is_packed:
        return open_text(file, SIZE_LIMIT)
    with within(file):
        raw = unzipped(read_file(file, SIZE_LIMIT), SIZE_LIMIT)
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")


def write_samples(path: str | Path, network: Network, rows: Sequence[Sequence[Any]]) -> None:
    """Write raw samples so that `read_samples` returns the same values.

    The file is a CSV file with the names of the features, or a ``.npy`` array of numbers.
    """
    if Path(path).suffix.lower() != ".npy":
        lines = io.StringIO(newline="")
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(network.encoder.names)
        writer.writerows(
            [value if isinstance(value, str) else number_text(value) for value in row] for row in rows
        )
        write_text(path, lines.getvalue())
        return
    refuse_if(
        not all(isinstance(coding, Steps) for coding in network.encoder.codings),
        f"{path}: an array of numbers holds no categories. Name a .csv file.",
    )
    array = np.array([list(row) for row in rows])
    refuse_if(
        array.dtype.kind not in "iuf",
        f"{path}: an array does not hold these numbers exactly. Name a .csv file.",
    )
    raw = io.BytesIO()
    np.save(raw, array, allow_pickle=False)
    write_bytes(path, raw.getvalue())


def _csv(
    lines: TextIO, name: str, network: Network, target: str | None, delimiter: str | None
) -> tuple[Array, Indices | None]:
    encoder = network.encoder
    features, columns = encoder.names, encoder.columns
    sources: Sequence[tuple[str, ...]] = [(feature,) for feature in features]
    labels = list(features if columns is None else columns.names)
    if delimiter is None:
        known, lengths = {*features, *labels}, (len(features), len(labels))
        delimiter = recognized_delimiter(
            lines,
            lambda cells: (
                len(cells) in lengths
                if target is None and known.isdisjoint(cells)
                else target in (None, *cells)
            ),
        )
    rows = csv_rows(lines, name, delimiter=delimiter, longest=max(LINE_LIMIT, 64 * len(labels)))
    first = required(next(rows, None), f"{name} is empty. Give one sample a line.")
    header = first[1]
    if {*features, *labels, target} & set(header):
        if columns is not None:
            sources = columns.sources(header, features)
        _check_header(header, name, list(dict.fromkeys(chain(*sources))), target, delimiter)
        labels = header
    else:
        if target is not None:
            raise FileError(
                f"{name} has no column {target!r}: its first line is {', '.join(header[:6])}."
                f"{otherwise_separated(header, delimiter, lambda cells: target in cells)}"
            )
        if len(header) == len(features):
            labels = list(features)
        elif columns is not None:
            sources = [feature.columns for feature in columns.features]
        if len(header) != len(labels):
            raise FileError(
                f"{name} has {len(header)} column{'s' * (len(header) != 1)} and no header with the feature "
                f"names, but the model reads {len(features)} features."
                f"{otherwise_separated(header, delimiter, lambda cells: len(cells) >= len(features) > 1)}"
            )
        refuse_if(
            all(isinstance(coding, Steps) for coding in encoder.codings)
            and not any(re.fullmatch(NUMBER, cell) for cell in header),
            name,
            f"its first line, {_some(header)}, is neither a sample nor the names of the "
            f"features, which are {_some(features)}. Name the columns like the features, in any order; "
            "or leave the first line out and keep their order.",
        )
        rows = chain([first], rows)
    indices = [[labels.index(label) for label in source] for source in sources]
    titles = [
        source[0] if len(source) == 1 else title for source, title in zip(sources, features, strict=True)
    ]
    kind = np.float64 if all(isinstance(coding, Steps) for coding in encoder.codings) else object
    column = None if target is None else header.index(target)
    samples, truths = [], []
    for number, row in rows:
        if len(row) != len(header):
            raise FileError(f"{name}, line {number}: {len(row)} cells, but the first line has {len(header)}.")
        cells = [[row[index] for index in group] for group in indices]
        try:
            samples.append(_sample(cells, encoder, titles, kind))
        except FileError as error:
            raise FileError(f"{name}, line {number}, column {error}") from None
        if column is not None:
            truths.append(row[column])
    refuse_if(not samples, f"{name} has a line of names and no samples below it. Give one sample a line.")
    X = np.stack(samples)
    return X, None if column is None else _truth(truths, network, f"{name}, column {target}")


def _sample(cells: list[list[Any]], encoder: Encoder, titles: Sequence[str], kind: Any) -> Array:
    """Return the values of the features of one sample, each read from one or several cells."""
    # the usual case in one step: these characters become floats as below
    if kind is np.float64 and _DIGITS.fullmatch("".join(cell for (cell,) in cells)):
        with suppress(ValueError):
            numbers = np.array([float(cell) for (cell,) in cells])
            if np.abs(numbers).max(initial=0) < _EXACT:
                return numbers
    values = np.empty(len(cells), object)
    for j, (group, coding) in enumerate(zip(cells, encoder.codings, strict=True)):
        try:
            value = group[0] if encoder.columns is None else encoder.columns.features[j].value(group, coding)
            values[j] = _cell(value, coding) if isinstance(value, str) else value
        except (FileError, EncodingError) as error:
            raise FileError(f"{titles[j]}: {error}") from None
    is_long = any(type(v) is Fraction or (type(v) is int and abs(v) >= _EXACT) for v in values)
    return values if is_long else values.astype(kind)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def _check_header(
    header: list[str], name: str, labels: list[str], target: str | None, delimiter: str
) -> None:
    missing = next((label for label in labels if label not in header), None)
    if missing is not None:
        raise FileError(
            f"{name} has no column {missing!r}. The model reads {len(labels)} features: "
            f"{_some(labels)}.{otherwise_separated(header, delimiter, lambda cells: missing in cells)}"
        )
    refuse_if(
        target is not None and target not in header,
        f"{name} has no column {target!r}: its first line is {_some(header)}.",
    )
    doubled = next(
        (column for column in (*labels, target) if column is not None and header.count(column) > 1), None
    )
    refuse_if(
        doubled is not None,
        name,
        f"the column {doubled!r} occurs twice in the first line. Give each column its own name.",
    )


def _cell(text: str, coding: Steps | OneHot) -> Any:
    if isinstance(coding, OneHot):
        if text not in coding.by_text:
            known = ", ".join(map(str, coding.categories[:12]))
            raise FileError(f"{_shown(text)} is not a category. The categories are {known}.")
        return coding.by_text[text]
    return read_number(text, error=FileError)


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}..."


def _truth(labels: list[str], network: Network, where: str) -> Indices:
    indices = {name: k for k, name in enumerate(network.classes)}
    unknown = next((label for label in labels if label not in indices), None)
    if unknown is not None:
        raise FileError(
            f"{where}: {_shown(unknown)} is not a class of the model. "
            f"The classes are {', '.join(network.classes)}."
        )
    return np.array([indices[label] for label in labels], dtype=np.intp)


def _numpy(file: Path, kind: str, network: Network) -> tuple[Array, Indices | None]:
    labels = None
    with within(file):
        if kind == ".npz":
            with open_archive(file, SIZE_LIMIT) as archive:
                names = archive.names
                refuse_if(
                    "X" not in names and len(names) != 1,
                    f"it holds the arrays {', '.join(names)[:200]}; call the samples X.",
                )
                array = archive.read("X" if "X" in names else names[0], *_SAMPLES)
                labels = archive.read("y", *_CLASSES) if "y" in names and "X" in names else None
        elif kind == "idx":
            array = _idx(unzipped(read_file(file, SIZE_LIMIT), SIZE_LIMIT))
        else:
            raw = unzipped(read_file(file, SIZE_LIMIT), SIZE_LIMIT)
            with refusing("it is not an .npy file, or damaged"):
                array = read_array(io.BytesIO(raw), len(raw), "its array", *_SAMPLES)
    X = _values(_flat(array, network, str(file)), network, str(file))
    return X, None if labels is None else _labels(labels, len(X), network, f"{file}, array y")


def _idx(raw: bytes) -> Array:
    """Read an IDX file: two zeros, the number type, the number of axes, their lengths, and the numbers."""
    kind = _IDX_KINDS.get(raw[2]) if len(raw) > 4 and raw[:2] == b"\0\0" else None
    start = 4 + 4 * raw[3] if kind is not None else 0
    refuse_if(kind is None or not 1 <= raw[3] <= 8 or len(raw) < start, "it is not an IDX file, or damaged.")
    shape = struct.unpack(f">{raw[3]}I", raw[4:start])
    takes = prod(shape) * np.dtype(kind).itemsize
    refuse_if(
        takes != len(raw) - start,
        f"its array of shape {shape} takes {takes:,} bytes, but {len(raw) - start:,} are there.",
    )
    array = np.frombuffer(raw, kind, offset=start).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="))


def _values(X: Array, network: Network, name: str) -> Array:
    """Return numbers as they are, and texts parsed like CSV cells."""
    if X.dtype.kind in "biuf":
        return X
    read, encoder = np.empty(X.shape, dtype=object), network.encoder
    for i, row in enumerate(X.tolist()):
        cells = [[cell.strip() if isinstance(cell, str) else cell] for cell in row]
        try:
            read[i] = _sample(cells, encoder, encoder.names, object)
        except FileError as error:
            raise FileError(f"{name}, sample {i}, feature {error}") from None
    return read


def _labels(y: Array, samples: int, network: Network, where: str) -> Indices:
    """Return the true classes from an array of indices or names."""
    refuse_if(
        y.shape != (samples,),
        f"{where} has the shape {y.shape}, but there are {samples} samples: give one class for each.",
    )
    if y.dtype.kind == "U":
        return _truth(y.tolist(), network, where)
    last = len(network.classes) - 1
    for i, label in enumerate(y.tolist()):
        if not (0 <= label <= last and label == int(label)):
            raise FileError(
                f"{where}: entry {i} is {label}, but a class is an integer from 0 to {last}, or a name."
            )
    return y.astype(np.intp)


def _flat(array: Array, network: Network, name: str) -> Array:
    """Return samples as rows. Images are flattened, and one sample becomes a batch of one."""
    n = network.encoder.features
    if network.encoder.shape is not None or network.encoder.columns is not None:
        try:
            rows = network.encoder.rows(array[None] if array.ndim == 1 else array)
        except EncodingError as error:
            raise FileError(f"{name}: {error}") from None
        if rows.ndim == 2 and rows.shape[1] == n:
            return rows
        wanted = shape_text(n, network.encoder.shape)
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


# -- folders -------------------------------------------------------------------------------------------------


def _read_folder(folder: Path, network: Network) -> tuple[Array, Indices | None]:
    """Return the images of a folder, and their classes if its subfolders are named after classes."""
    entries = _sorted(folder)
    inner = [entry for entry in entries if entry.is_dir()]
    if inner and len(inner) < len(entries):
        beside = next(entry for entry in entries if entry not in inner)
        raise FileError(
            f"{folder} holds folders, such as {inner[0].name}, and files, such as {beside.name}. "
            f"Give images alone, or folders alone that are named like their classes."
        )
    for part in inner:
        refuse_if(
            part.name not in network.classes,
            f"{part}: {part.name} is not a class of the model, but folders are named like their classes: "
            f"{', '.join(network.classes)}.",
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
    """Return the entries of a folder sorted by name. Digits are compared as numbers, ties by the plain
    name.
    """
    paths = sorted(folder.iterdir(), key=lambda path: (_natural(path.name), path.name))
    refuse_if(not paths, f"{folder} is an empty folder. Put images into it, or leave it out.")
    return paths


def _natural(name: str) -> list[Any]:
    """Split a name into alternating texts and numbers."""
    parts = _NUMBERS.split(name)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def _check(folder: Path, files: list[Path], network: Network) -> None:
    """Refuse files that are not images, and too many files, before reading any."""
    for file in files:
        if file.suffix.lower() not in _IMAGES or not file.is_file():
            what = "a folder" if file.is_dir() else "not an image file"
            raise FileError(
                f"{file} is {what}, but a folder of samples holds images alone: "
                f"{', '.join(sorted(_IMAGES))}. Move it elsewhere."
            )
    size = max(sum(file.stat().st_size for file in files), 8 * len(files) * network.encoder.features)
    refuse_if(
        size > SIZE_LIMIT,
        f"the {len(files):,} images of {folder} make {size:,} bytes; the limit for samples is "
        f"{SIZE_LIMIT:,}. Split the folder.",
    )


# -- one image -----------------------------------------------------------------------------------------------


class _Scale:
    """Conversion of shades of grey to raw values of the features of a network."""

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

    def read(self, file: Path) -> Array:
        """Return one sample."""
        grey, white = _shades(file, self.features)
        shades, indices = np.unique(grey, return_inverse=True)
        kind = np.int64 if self.whole else np.float64
        table = np.array([self._value(shade, white) for shade in shades.tolist()], kind)
        return table[indices].reshape(1, self.features)

    def _value(self, shade: int, white: int) -> int | float:
        if (shade, white) not in self.known:
            exact = self.low + shade * (self.high - self.low) / white
            self.known[shade, white] = floor(exact + Fraction(1, 2)) if self.whole else float(exact)
        return self.known[shade, white]


def _shades(file: Path, n: int) -> tuple[Ints, int]:
    """Return the grey value of each of the `n` pixels, and the value of white."""
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
        except Exception:  # broken images raise many kinds of errors
            raise FileError(f"{file} is not a readable image.") from None


def _is_opaque(image: Any, deep: bool) -> bool:
    if "transparency" not in image.info and not image.mode.upper().endswith("A"):
        return True
    return not deep and bool(image.convert("RGBA").getchannel("A").getextrema()[0] == 255)
