"""The layers of a Keras model in their order, with their arrays; without TensorFlow.

A model is one file (`.h5`, or `.keras`, which is a zip archive), or its layers as text (`.json`) and its
weights (`.h5`).
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.hdf5 import Contents
from sugenet.io.larq.hdf5_contents import DAMAGED, read_contents
from sugenet.io.larq.keras_model import planned_layers
from sugenet.io.larq.keras_weights import arrays_of_layers
from sugenet.io.plain.ledger import Ledger
from sugenet.reading import open_file, read_file

__all__ = ["KerasLayer", "read_layers"]

_MAX_TEXT = 1 << 24
_MAX_ARCHIVE = 1 << 29
_FREELY, _RATIO = 1 << 26, 100
"""Bytes that any archive may unpack to, and times its own size that a large one may."""
_CONFIG, _ABOUT, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"


@dataclass(frozen=True, eq=False)
class KerasLayer:
    """One layer: its class, configuration and arrays by the last word of their names
    (``kernel``, ``gamma``).
    """

    kind: str
    name: str
    config: Ledger[Any]
    arrays: Ledger[npt.NDArray[Any]]
    package: str = ""
    """Who wrote its class, where that is neither Keras, Larq nor QKeras."""
    reads: tuple[str, ...] = ()
    """Names of the layers whose values it reads."""

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.name} ({self.kind})"


def read_layers(
    path: str | Path, weights: str | Path | None = None, *, apart: bool = True
) -> list[KerasLayer]:
    """The layers of a model, each behind those that it reads, input first.

    Parameters
    ----------
    path
        A file that Keras, Larq or QKeras saved: `.h5`, `.keras`, or `.json`.
    weights
        The weights, where the file holds the layers alone (`.json`).
    apart
        Whether the HDF5 library runs in a process of its own, so that a file on which it breaks
        down ends in an error.

    Raises
    ------
    FileError
        For files that are damaged, are not of Keras, or hold a model with branches.
    """
    text, contents = _model_and_weights(Path(path), None if weights is None else Path(weights), apart)
    found = planned_layers(text)
    return [
        KerasLayer(layer.kind, layer.name, Ledger(layer.config), Ledger(arrays), layer.package, layer.reads)
        for layer, arrays in zip(found, arrays_of_layers(found, contents), strict=True)
    ]


def _model_and_weights(place: Path, weights: Path | None, apart: bool) -> tuple[str, Contents]:
    try:
        with open_file(place, _MAX_ARCHIVE) as stream:
            start = stream.read(64)
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None
    if start.lstrip()[:1] == b"{":
        return _pair(place, weights, apart)
    if weights is not None:
        raise FileError(
            f"{weights.name} would be left over: weights_file= goes with a model as text (model.to_json()), "
            f"and {place.name} is none."
        )
    if start[:2] == b"PK":
        return _unpacked(place, apart)
    contents = read_contents(place, apart=apart)
    if not contents.model:
        raise FileError(
            "it holds weights without a model. Save the model's layers too, as text (model.to_json() in a "
            f"file model.json), and give both: model.json with weights_file={place.name}. Or save all in "
            "one: model.save('net.h5')."
        )
    return contents.model, contents


def _pair(place: Path, weights: Path | None, apart: bool) -> tuple[str, Contents]:
    """Layers as text, and their weights."""
    if weights is None:
        raise FileError(
            "it holds the layers of a model without their weights. Give those too: "
            "weights_file=net.weights.h5, as model.save_weights('net.weights.h5') writes them."
        )
    try:
        text = read_file(place, _MAX_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"it cannot be read as text: {error}. {DAMAGED}") from None
    try:
        contents = read_contents(weights, apart=apart)
    except FileError as error:
        raise FileError(f"{weights.name}: {error}") from None
    if contents.model:
        raise FileError(f"{weights.name} holds a whole model: read it alone, without {place.name}.")
    return text, contents


def _unpacked(place: Path, apart: bool) -> tuple[str, Contents]:
    """A `.keras` file."""
    size = place.stat().st_size
    try:
        with (
            open_file(place, _MAX_ARCHIVE) as packed,
            zipfile.ZipFile(packed) as archive,
            TemporaryDirectory() as folder,
        ):
            entries = {entry.filename: entry for entry in archive.infolist() if not entry.is_dir()}
            if len(entries) < sum(not entry.is_dir() for entry in archive.infolist()):
                raise FileError(f"one of its parts is there twice. {DAMAGED}")
            for name in entries:
                if name not in (_CONFIG, _ABOUT, _WEIGHTS):
                    raise FileError(f"its part {name[:80]!r} would be left over. {_hint(name)}")
            for name in (_CONFIG, _WEIGHTS):
                if name not in entries:
                    raise FileError(f"its part {name!r} is missing. {DAMAGED}")
            if len(archive.infolist()) > 100 or sum(entry.file_size for entry in entries.values()) > min(
                _MAX_ARCHIVE, max(_FREELY, _RATIO * size)
            ):
                raise FileError(f"its archive unpacks to far more than its {size} bytes. {DAMAGED}")
            if entries[_CONFIG].file_size > _MAX_TEXT:
                raise FileError(f"its {_CONFIG} has {entries[_CONFIG].file_size} bytes. {DAMAGED}")
            text = archive.read(_CONFIG).decode()
            weights = Path(folder) / _WEIGHTS
            with archive.open(_WEIGHTS) as stream, weights.open("wb") as out:
                copyfileobj(stream, out)
            contents = read_contents(weights, apart=apart)
    except FileError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        ValueError,
        NotImplementedError,
        EOFError,
        RuntimeError,
    ) as error:
        raise FileError(f"its archive is damaged: {str(error)[:160]}. {DAMAGED}") from None
    if contents.model:
        raise FileError(f"its {_WEIGHTS} holds a model of its own. {DAMAGED}")
    return text, contents


def _hint(name: str) -> str:
    if name.startswith("model.weights") or name.endswith((".npz", ".json")):
        return "Save the weights in one piece: model.save('net.keras') without max_shard_size."
    return "A model of plain layers has no such part: build it without vocabularies and other assets."
