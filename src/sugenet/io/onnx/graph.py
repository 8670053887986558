"""Parse an ONNX file: nodes, constants and the one data input, within limits and without running anything
from the file.

Sizes are checked before memory is allocated. Tensors in side files are read only from the folder of the
model.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.files import advice
from sugenet.io.onnx.wire import Budget, Message
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.reading import read_file

__all__ = ["DTYPES", "Array", "Graph", "Node", "Port", "Subgraph", "read_graph"]

Array: TypeAlias = npt.NDArray[Any]

_MAX_BYTES = 1 << 29
_MAX_NODES = 20_000
_SPARE = 1 << 26
_MAX_RANK = 8
_MAX_VALUES = 1 << 29
_NEWEST = 28
"""The last operator set that was reviewed. A later one may change the meaning of operations."""

DTYPES: Mapping[int, str] = {
    1: "<f4",
    2: "<u1",
    3: "<i1",
    4: "<u2",
    5: "<i2",
    6: "<i4",
    7: "<i8",
    9: "?",
    10: "<f2",
    11: "<f8",
    12: "<u4",
    13: "<u8",
}
"""The supported element types of ONNX."""
_HALF_BYTES = {21: "<u1", 22: "<i1"}
"""4-bit integers, two per byte; kept in 8 bits."""

_OTHER_TYPES = {8: "text", 14: "complex64", 15: "complex128", 16: "bfloat16"}


@dataclass(frozen=True)
class Subgraph:
    """An attribute that contains a graph, as in control flow. It is not read."""


@dataclass(frozen=True, eq=False)
class Node:
    """One operation."""

    number: int
    """Position in the file, from 0."""
    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    """Names; empty for an omitted optional input."""
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    origin: str = ""
    """The node of the file that it was made from, in words, if it is not one itself."""

    def __str__(self) -> str:
        if self.origin:
            return self.origin
        called = f" {_shown(self.name)}" if self.name else ""
        return f"node {self.number} ({_short(self.op)}{called})"


@dataclass(frozen=True)
class Port:
    """A graph input or output: its name and its shape, with None for an open size."""

    name: str
    shape: tuple[int | None, ...] | None
    dtype: int = 0


@dataclass(frozen=True, eq=False)
class Graph:
    """A whole model, checked to be a graph without cycles."""

    source: str
    opset: int
    nodes: tuple[Node, ...]
    """Sorted: every node comes after those that it reads."""
    constants: Mapping[str, Array]
    inputs: tuple[Port, ...]
    """Inputs, except constants."""
    outputs: tuple[Port, ...]
    functions: frozenset[tuple[str, str]] = frozenset()
    """Domain and name of the functions that the file itself defines."""
    raw: bytes = b""
    """The bytes of the file."""
    widths: Mapping[str, int] = field(default_factory=dict)
    """Bit widths of integer constants that are narrower than their array."""

    @property
    def unread(self) -> tuple[str, ...]:
        """A remark about constants that no node reads, if there are any."""
        read = {name for node in self.nodes for name in node.inputs}
        read |= {port.name for port in (*self.outputs, *self.inputs)}
        values = (value for node in self.nodes for value in node.attributes.values())
        left = [name for name in self.constants if name not in read]
        if not left or any(isinstance(value, Subgraph) for value in values):
            return ()
        shown = f"{left[0][:60]!r}{f' and {len(left) - 1} more' if len(left) > 1 else ''}"
        return (f"ignored: no node reads the constant {shown}",)

    def leading_to(self, *names: str) -> tuple[list[Node], set[str]]:
        """Return the nodes that some of the names depend on, sorted, and all names that were read or asked
        for.
        """
        needed, nodes = set(names), []
        for node in reversed(self.nodes):
            if any(name in needed for name in node.outputs if name):
                needed |= set(node.inputs)
                nodes.append(node)
        return nodes[::-1], needed


def read_graph(source: str | os.PathLike[str] | bytes) -> Graph:
    """Read an ONNX model from a path (also ending in ``.gz``) or from its bytes.

    Raises
    ------
    FileError
        If the file is missing, too large, damaged, or not an ONNX model, or if a side file with tensor data
        is missing.

    Examples
    --------
    >>> read_graph(b"")
    Traceback (most recent call last):
    sugenet.errors.FileError: the ONNX model cannot be read: it is empty.
    """
    shown = "the ONNX model" if isinstance(source, bytes) else repr(os.fspath(source))
    try:
        if isinstance(source, bytes):
            return _ModelReader("the ONNX model", None).read(_unzipped(source))
        path = Path(source)
        return _ModelReader(path.name, path.parent).read(_unzipped(_contents(path, "it")))
    except (OSError, FileError, ValueError) as error:
        raise FileError(f"{shown} cannot be read: {advice(error)}") from error


def _contents(path: Path, what: str) -> bytes:
    try:
        return read_file(path, _MAX_BYTES)
    except FileError as error:
        raise FileError(f"{what}{str(error).removeprefix('it')}") from None


def _unzipped(raw: bytes) -> bytes:
    refuse_if(
        len(raw) > _MAX_BYTES, f"it has {len(raw):,} bytes, more than the {_MAX_BYTES:,} that are read."
    )
    return unzipped(raw, _MAX_BYTES)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _shown(text: str) -> str:
    return repr(_short(text))


@dataclass
class _ModelReader:
    """One model being read."""

    source: str
    folder: Path | None
    sides: dict[Path, bytes] = field(default_factory=dict)
    shared: int = 0
    """Bytes of side files that constants were made from."""

    def read(self, raw: bytes) -> Graph:
        refuse_if(not raw, "it is empty.")
        model = Message(raw, Budget())
        inner = required(
            model.message(7), "it holds no graph. The file is damaged, or it is not an ONNX file."
        )
        opset = max((ids.number(2) for ids in model.messages(8) if ids.text(1) in ("", "ai.onnx")), default=1)
        if not 7 <= opset <= _NEWEST:
            wrong = "7 or later is needed" if opset < 7 else f"{_NEWEST} is the last that is known"
            raise FileError(
                f"it uses opset {opset}, but {wrong}. Convert it: "
                f"onnx.version_converter.convert_version(model, 13)."
            )
        refuse_if(
            15 in inner, "it holds sparse constants, which are not supported. Write them as dense tensors."
        )
        constants: dict[str, Array] = {}
        widths: dict[str, int] = {}
        for tensor in inner.messages(5):
            name = tensor.text(8)
            refuse_if(name in constants, f"the constant {_shown(name)} occurs twice.")
            constants[name] = self.array(tensor, f"constant {_shown(name)}", _HALF_BYTES)
            if tensor.number(2) in _HALF_BYTES:
                widths[name] = 4
        rows = inner.raws(1)
        refuse_if(
            len(rows) > _MAX_NODES, f"it has {len(rows):,} nodes, more than the {_MAX_NODES:,} that are read."
        )
        nodes = [self.node(number, Message(row, model.budget)) for number, row in enumerate(rows)]
        inputs = tuple(port for port in map(self.port, inner.messages(11)) if port.name not in constants)
        outputs = tuple(map(self.port, inner.messages(12)))
        functions = frozenset((function.text(10), function.text(1)) for function in model.messages(25))
        return Graph(
            self.source,
            opset,
            _sorted(nodes, {*constants, *(port.name for port in inputs)}),
            constants,
            inputs,
            outputs,
            functions,
            raw,
            widths,
        )

    def port(self, message: Message) -> Port:
        name, kind = message.text(1), message.message(2)
        tensor = None if kind is None else kind.message(1)
        if tensor is None:
            return Port(name, None)
        shape = tensor.message(2)
        if shape is None:
            return Port(name, None, tensor.number(1))
        sizes = [dim.number(1) if 1 in dim else None for dim in shape.messages(1)]
        return Port(
            name, tuple(None if size is None or size < 0 else size for size in sizes), tensor.number(1)
        )

    def node(self, number: int, message: Message) -> Node:
        op, name = message.text(4), message.text(3)
        attributes = {}
        for attribute in message.messages(5):
            key = attribute.text(1)
            refuse_if(
                key in attributes, f"node {number} ({_short(op)}): the attribute {_shown(key)} occurs twice."
            )
            attributes[key] = self.attribute(
                attribute, f"node {number} ({_short(op)}), attribute {_shown(key)}"
            )
        domain = message.text(7)
        inputs, outputs = tuple(message.texts(1)), tuple(message.texts(2))
        return Node(number, op, "" if domain == "ai.onnx" else domain, name, inputs, outputs, attributes)

    def attribute(self, message: Message, what: str) -> Any:
        refuse_if(21 in message, f"{what} refers to an attribute of a function. Write functions out first.")
        kind = message.number(20)
        if not kind:  # files of the first format versions do not contain it
            kind = next((k for k in range(1, 9) if k + 1 in message), 0)
        match kind:
            case 1:
                return message.real(2)
            case 2:
                return message.number(3)
            case 3:
                return str(message.raw(4) or b"", "utf-8", "replace")
            case 4:
                tensor = message.message(5)
                return Subgraph() if tensor is None else self.array(tensor, what)
            case 6:
                return tuple(message.fixed(7, "<f4").tolist())
            case 7:
                return tuple(message.numbers(8).tolist())
            case 8:
                return tuple(str(raw, "utf-8", "replace") for raw in message.raws(9))
        return Subgraph()

    # -- tensors ---------------------------------------------------------------------------------------------

    def array(self, tensor: Message, what: str, packed: Mapping[int, str] | None = None) -> Array:
        """Return a tensor as an array, allocated only if its shape fits its data.

        `packed` are the element types of which two share a byte.
        """
        shape, kind = tuple(tensor.numbers(1).tolist()), tensor.number(2)
        kinds = {**DTYPES, **(packed or {})}
        refuse_if(
            kind not in kinds,
            f"{what} has element type {_OTHER_TYPES.get(kind, kind)}, which is not supported. Use float32.",
        )
        dtype = np.dtype(kinds[kind])
        refuse_if(
            len(shape) > _MAX_RANK
            or any(size < 0 for size in shape)
            or prod(max(size, 1) for size in shape) > _MAX_VALUES,
            f"{what} has shape {str(list(shape[:9]))[:80]}, but at most {_MAX_RANK} sizes from 0 with "
            f"{_MAX_VALUES:,} values fit.",
        )
        refuse_if(3 in tensor, f"{what} is cut into segments, which is not supported.")
        count = prod(shape)
        size = (count + 1) // 2 if kind in _HALF_BYTES else count * dtype.itemsize
        outside = tensor.number(14) == 1 or 13 in tensor
        raw = self.outside(tensor, what) if outside else tensor.raw(9)
        if raw is None and kind in _HALF_BYTES:
            raw = memoryview(tensor.numbers(5).astype(np.uint8).tobytes())
        if raw is None:
            flat = _typed(tensor, kind, dtype)
            refuse_if(
                len(flat) != count,
                f"{what} of shape {list(shape)} needs {count} values, but {len(flat)} are there.",
            )
            return _frozen(flat.reshape(shape))
        flat = np.frombuffer(raw, np.uint8)
        refuse_if(
            len(flat) != size, f"{what} of shape {list(shape)} needs {size} bytes, but {len(flat)} are there."
        )
        if dtype.kind == "b":
            return _frozen((flat != 0).reshape(shape))
        if kind in _HALF_BYTES:  # the first of a byte is in its lower half
            halves = np.stack([flat & 15, flat >> 4], axis=1).reshape(-1)[:count].astype(dtype)
            signed = np.where(halves > 7, halves - 16, halves) if dtype.kind == "i" else halves
            return _frozen(signed.reshape(shape))
        return _frozen(flat.view(dtype).astype(dtype.newbyteorder("="), copy=False).reshape(shape))

    def outside(self, tensor: Message, what: str) -> memoryview:
        """Return data from a side file in the folder of the model."""
        entries = {entry.text(1): entry.text(2) for entry in tensor.messages(13)}
        location = entries.get("location", "")
        folder = required(
            self.folder,
            f"{what} lies in the side file {_shown(location)}, but only bytes were given. Give the path "
            f"of the model instead.",
        ).resolve()
        path = (folder / location.replace("\x00", "")).resolve()
        refuse_if(
            not location
            or os.path.isabs(location)
            or "\x00" in location
            or not path.is_relative_to(folder)
            or path == folder,
            f"{what} points to {_shown(location)}, outside the folder of the model. Such files are not read.",
        )
        if path not in self.sides:
            refuse_if(
                not path.exists(),
                f"{what} lies in the side file {_shown(location)}, which is missing. Put it beside the "
                f"model: both belong together.",
            )
            self.sides[path] = _contents(path, f"the side file {_shown(location)}")
            refuse_if(
                sum(map(len, self.sides.values())) > _MAX_BYTES,
                f"its side files have more than {_MAX_BYTES:,} bytes together.",
            )
        data = memoryview(self.sides[path])
        try:
            offset = int(entries.get("offset", "0"))
            length = int(entries["length"]) if "length" in entries else len(data) - offset
        except ValueError:
            raise FileError(f"{what} has an offset or length that is not a number.") from None
        refuse_if(
            not 0 <= offset <= offset + length <= len(data),
            f"{what} lies at bytes {offset} to {offset + length} of {_shown(location)}, "
            f"which has {len(data)}.",
        )
        self.shared += length
        refuse_if(
            self.shared > 2 * sum(map(len, self.sides.values())) + _SPARE,
            f"{what} and others share their numbers, far more than its side files have.",
        )
        return data[offset : offset + length]


def _typed(tensor: Message, kind: int, dtype: np.dtype[Any]) -> Array:
    """Return values from the field of their own type."""
    native = dtype.newbyteorder("=")
    if kind in (1, 11):
        return tensor.fixed(4 if kind == 1 else 10, dtype.str).astype(native, copy=False)
    if kind == 10:  # half floats are stored as their bits
        return tensor.numbers(5).astype(np.uint16).view(np.float16)
    return tensor.numbers(7 if kind == 7 else 11 if kind in (12, 13) else 5).astype(native)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _sorted(nodes: list[Node], known: set[str]) -> tuple[Node, ...]:
    """Return the nodes in an order in which everything is computed before it is read.

    Names that are defined twice, unknown names and cycles are refused.
    """
    maker: dict[str, int] = {}
    for node in nodes:
        for name in filter(None, node.outputs):
            refuse_if(
                name in maker or name in known,
                f"{node} makes {_shown(name)}, which is there already: every name may be made once.",
            )
            maker[name] = node.number
    sorter = TopologicalSorter[int]({node.number: () for node in nodes})
    for node in nodes:
        for name in filter(None, node.inputs):
            refuse_if(
                name not in maker and name not in known,
                f"{node} reads {_shown(name)}, which nothing makes.",
            )
            if name in maker:
                sorter.add(node.number, maker[name])
    try:
        return tuple(nodes[number] for number in sorter.static_order())
    except CycleError as error:
        culprit = nodes[min(error.args[1])]
        raise FileError(
            f"{culprit} reads, through others, what it makes itself: the graph has a cycle."
        ) from None
