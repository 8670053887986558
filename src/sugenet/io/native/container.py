"""The container of a `.sugenet` file: a safetensors file with a SHA-256 of all its bytes (docs/format.md).

The digest is inside the file that it covers, so it is computed with zeros in its own place. It detects a
change of any bit in the header, the padding or a tensor, for every layout of the safetensors library. A
digest shows damage, not forgery.
"""

import hashlib
import json
from math import prod
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.plain.texts import strict_json
from sugenet.nn.arrays import Array

__all__ = ["MAX_FILE", "Document", "Tensors", "canonical", "seal", "unseal"]

Document: TypeAlias = dict[str, Any]
Tensors: TypeAlias = dict[str, Array]
_Layout: TypeAlias = dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]

_VERSION = 8
"""The latest version. A file has the first version that can hold it:

- 8 if a layer is sparse;
- else 7 if it says how features are read from the columns of a table;
- else 6 if the first layer reads real numbers, or features have steps of their own in its source;
- else 5 if it says what was seen in training or which inputs can occur;
- else 4 if something after the encoder has more than two levels;
- else 3 if it describes its source;
- else 1. No file has version 2.
"""
_STAIRS = ("stairs", "stairs conv", "level pool")
"""Kinds of layers since version 4."""
_REAL = ("real", "real conv")
"""Kinds of layers since version 6."""
MAX_FILE = 1 << 30
_MAX_HEADER = 1 << 24
_MAX_PARTS = 1 << 20
"""Maximum number of lists and objects in the header, which take far more memory than their characters."""
_MAX_NUMBER = 1 << 40
"""Above every valid size or offset, and small enough for NumPy to hold an empty array with such a side."""

_DTYPES = {
    "BOOL": "?",
    "U8": "<u1",
    "I8": "<i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
"""More types than version 1 uses, so that a file of a later version is distinguished from a damaged one."""
_DIGEST = '"sha256":"'
_MARK = json.dumps(_DIGEST)[1:-1].encode()
"""The text before the digest in the raw header.

The text of a note cannot look like it, since its quotes are escaped twice.
"""
_ZEROS = "0" * 64
_DAMAGED = "The file is damaged: fetch or save it again."
_FOREIGN = "Give a file that sugenet wrote."
_KINDS = {
    b"\x89PNG": "a PNG picture",
    b"PK\x03\x04": "a zip archive, as Keras, NumPy and PyTorch write them",
    b"\x89HDF": "an HDF5 file, as Keras and Larq write them",
    b"\x1f\x8b": "a gzip archive",
    b"\x80": "a pickle",
    b"{": "JSON text",
    b"version ": "a Git LFS pointer, to be replaced by the file itself with `git lfs pull`",
    b"\x08": "an ONNX model",
}


def canonical(value: Any) -> str:
    """Return JSON in the canonical form of the format: ASCII, no spaces, keys in order.

    Floats are written in full, and are never NaN or infinite.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def seal(content: Document, tensors: Tensors) -> bytes:
    """Return the bytes of a file with a document and tensors.

    Examples
    --------
    >>> import io
    >>> raw = seal({"answer": 42}, {"a": np.array([1, 2], np.int8)})
    >>> unseal(io.BytesIO(raw), len(raw))
    ({'answer': 42}, {'a': array([1, 2], dtype=int8)})
    """
    from safetensors.numpy import save

    document = {"format": "sugenet", "version": _version_of(content), "sha256": _ZEROS, **content}
    # A single key, since the library writes several in random order. Contiguous, since it copies raw memory.
    raw = save(
        {name: np.ascontiguousarray(array) for name, array in tensors.items()},
        {"sugenet": canonical(document)},
    )
    length = int.from_bytes(raw[:8], "little")
    refuse_if(
        length > _MAX_HEADER or len(raw) > MAX_FILE,
        f"its header would take {length} bytes of {len(raw)}, but {_MAX_HEADER} of {MAX_FILE} are the "
        f"most. Shorten names and notes.",
    )
    index = raw.index(_MARK) + len(_MARK)
    return raw[:index] + hashlib.sha256(raw).hexdigest().encode() + raw[index + len(_ZEROS) :]


def unseal(stream: BinaryIO, size: int) -> tuple[Document, Tensors]:
    """Return the document and tensors of a file of `size` bytes.

    Arrays are created last, after all checks of their sizes.
    """
    start = stream.read(8)
    length = _header_length(start, size)
    header = stream.read(length)
    document, layout = _read_header(header, size - 8 - length)
    data = stream.read(size - 8 - length)
    refuse_if(
        len(start) + len(header) + len(data) != size,
        "it became shorter while it was read. Load it again when nothing writes to it.",
    )
    _check_seal(document, start + header, data)
    _check_version(document)
    content = {key: value for key, value in document.items() if key not in ("format", "version", "sha256")}
    return content, {name: _array(data, *index) for name, index in layout.items()}


def _array(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> Array:
    flat = np.frombuffer(data, dtype, prod(shape), begin) if prod(shape) else np.zeros(0, dtype)
    return flat.reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _header_length(start: bytes, size: int) -> int:
    refuse_if(size == 0, "it is empty. Save the network again.")
    refuse_if(
        size > MAX_FILE,
        f"it has {size} bytes, more than the {MAX_FILE} (1 GiB) that a network may take. {_FOREIGN}",
    )
    length = int.from_bytes(start, "little")
    kind = next((f": it looks like {kind}" for first, kind in _KINDS.items() if start.startswith(first)), "")
    if len(start) < 8 or length < 2 or length > _MAX_HEADER or (kind and length > size - 8):
        why = (
            f"its header would have {length} bytes, and 2 to {_MAX_HEADER} can be right"
            if len(start) == 8
            else f"it has {size} bytes"
        )
        raise FileError(f"it is not a sugenet file{kind} ({why}). {_FOREIGN}")
    refuse_if(
        length > size - 8,
        f"its header should have {length} bytes, but only {size - 8} are there: it is cut off. {_DAMAGED}",
    )
    return length


def _read_header(raw: bytes, room: int) -> tuple[Document, _Layout]:
    """Return the document, and dtype, shape and first byte of each tensor.

    They are checked against `room`, the number of bytes after the header.
    """
    try:
        header = raw.decode()
    except UnicodeDecodeError as error:
        raise FileError(f"its header is not UTF-8 at byte {8 + error.start}. {_DAMAGED}") from None
    refuse_if(
        header.count("[") + header.count("{") > _MAX_PARTS,
        f"its header holds more than {_MAX_PARTS} parts. {_FOREIGN}",
    )
    entries = _parse(header, "its header")
    about: Any = entries.pop("__metadata__", None) if isinstance(entries, dict) else None
    refuse_if(
        not isinstance(about, dict) or not isinstance(about.get("sugenet"), str),
        f"its header says nothing of sugenet: it is a safetensors file of another program. {_FOREIGN}",
    )
    refuse_if(len(about) > 1, f"the metadata in its header hold more than the sugenet document. {_FOREIGN}")
    document = _parse(about["sugenet"], "the sugenet document in its header")
    refuse_if(
        not isinstance(document, dict) or document.get("format") != "sugenet",
        f"the sugenet document in its header does not begin with the name of the format. {_DAMAGED}",
    )
    return document, _read_layout(entries, room)


def _parse(text: str, what: str) -> Any:
    try:
        return strict_json(text)
    except RecursionError:
        raise FileError(f"{what} is nested too deeply. {_FOREIGN}") from None
    except ValueError as error:
        raise FileError(f"{what} is not JSON as sugenet writes it: {error}. {_DAMAGED}") from None


def _read_layout(entries: dict[str, Any], room: int) -> _Layout:
    layout: _Layout = {}
    spans: list[tuple[int, int, str]] = []
    for name, entry in entries.items():
        what = f"tensor {name[:80]!r}"
        refuse_if(
            not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"},
            f"{what} needs dtype, shape and data_offsets, and nothing else. {_DAMAGED}",
        )
        kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        refuse_if(
            not isinstance(kind, str) or kind not in _DTYPES,
            f"{what} has dtype {str(kind)[:80]!r}, but only {', '.join(_DTYPES)} can be read. {_DAMAGED}",
        )
        refuse_if(
            not _sizes(shape) or prod(max(side, 1) for side in shape) >= _MAX_NUMBER,
            f"{what} has shape {str(shape)[:80]}, but a few integers from 0 are needed. {_DAMAGED}",
        )
        refuse_if(
            not _sizes(offsets) or len(offsets) != 2,
            f"{what} has data_offsets {str(offsets)[:80]}, but two integers from 0 are needed. {_DAMAGED}",
        )
        dtype, (begin, end) = np.dtype(_DTYPES[kind]), offsets
        refuse_if(
            end - begin != prod(shape) * dtype.itemsize,
            f"{what} of shape {shape} takes {prod(shape) * dtype.itemsize} bytes, "
            f"not {end - begin}. {_DAMAGED}",
        )
        layout[name] = dtype, tuple(shape), begin
        spans.append((begin, end, name))
    reached = 0
    for begin, end, name in sorted(spans):
        refuse_if(
            begin != reached,
            f"tensor {name[:80]!r} begins at byte {begin} of the data, but the one before ends at "
            f"{reached}. {_DAMAGED}",
        )
        reached = end
    if reached != room:
        way = "it is cut off" if reached > room else "something was added"
        raise FileError(f"its tensors take {reached} bytes, but {room} follow the header: {way}. {_DAMAGED}")
    return layout


def _sizes(values: Any) -> bool:
    return (
        isinstance(values, list)
        and 1 <= len(values) <= 8
        and all(type(value) is int and 0 <= value < _MAX_NUMBER for value in values)
    )


def _check_seal(document: Document, head: bytes, data: bytes) -> None:
    index = head.find(_MARK) + len(_MARK)
    end = index + len(_ZEROS)
    refuse_if(
        index < len(_MARK) or document.get("sha256") != head[index:end].decode("ascii", "replace"),
        f"its header does not state the SHA-256 of the file. {_DAMAGED}",
    )
    digest = hashlib.sha256(head[:index] + _ZEROS.encode() + head[end:])
    digest.update(data)
    refuse_if(
        head[index:end] != digest.hexdigest().encode(),
        f"its bytes do not have the SHA-256 that it states. {_DAMAGED}",
    )


def _check_version(document: Document) -> None:
    version: Any = document.get("version")
    refuse_if(
        type(version) is not int or version < 1,
        f"its format version is {str(version)[:80]!r}, but an integer from 1 is needed. {_FOREIGN}",
    )
    refuse_if(
        version > _VERSION,
        f"it has format version {version}, and this sugenet reads up to {_VERSION}: upgrade sugenet.",
    )
    refuse_if(
        version != _version_of(document),
        f"it has format version {version}, but holds what version {_version_of(document)} is for. {_FOREIGN}",
    )


def _version_of(document: Document) -> int:
    layers, head = document.get("layers"), document.get("head")
    known = [layer for layer in layers if isinstance(layer, dict)] if isinstance(layers, list) else []
    if any(layer.get("kind") == "sparse" for layer in known):
        return 8
    if "columns" in document:
        return 7
    source = document.get("source")
    rows = isinstance(source, dict) and any(isinstance(source.get(end), list) for end in ("start", "step"))
    if rows or any(layer.get("kind") in _REAL for layer in known):
        return 6
    if "seen" in document or "domain" in document:
        return 5
    if (isinstance(head, dict) and "top" in head) or any(layer.get("kind") in _STAIRS for layer in known):
        return 4
    return 3 if "source" in document else 1
