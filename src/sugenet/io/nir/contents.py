"""The nodes and edges of a NIR file, read with h5py in a process of its own, without the package nir.

A file is one graph: nodes by name, each with its type and its arrays, and edges from node to node.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.hdf5 import Contents, check_file, child_array, child_group, opened, read_apart, write_contents
from sugenet.io.plain.ledger import Ledger

__all__ = ["NirNode", "chain_of_nodes", "main", "read_contents"]

_SECONDS = 10.0
_DAMAGED = "The file is damaged, or no graph that nir.write has written."
_MAX_NODES, _MAX_TEXT = 10_000, 1 << 12
_GRAPH = ("type", "nodes", "edges", "metadata", "input_type", "output_type")
"""What a graph consists of; the types are shapes, which its nodes have as well."""


@dataclass(frozen=True, eq=False)
class NirNode:
    """One node: its type, its name and its arrays by name."""

    kind: str
    name: str
    arrays: Ledger[npt.NDArray[Any]]
    notes: tuple[str, ...] = ()
    """Names in its metadata."""

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.name} ({self.kind})"


def chain_of_nodes(path: str | Path, *, apart: bool = True) -> tuple[str, list[NirNode]]:
    """The version that a file names, and its nodes in order where they are one chain, Input first and Output
    last; Flatten, which only shapes values, is left out.

    Raises
    ------
    FileError
        For files that are damaged, and graphs with branches or cycles.
    """
    contents = read_contents(path, apart=apart)
    try:
        about = json.loads(contents.model)
        kinds, edges = dict(about["kinds"]), [tuple(edge) for edge in about["edges"]]
        notes = dict(about["notes"])
    except (ValueError, KeyError, TypeError):
        raise FileError(f"its graph is not understood. {_DAMAGED}") from None
    order = _ordered(kinds, edges)
    nodes = [NirNode(kinds[name], name, Ledger(contents.arrays[name]), tuple(notes[name])) for name in order]
    return about["version"], [node for node in nodes if node.kind != "Flatten"]


def _ordered(kinds: dict[str, str], edges: list[tuple[str, str]]) -> list[str]:
    """The nodes from the one input to the one output."""
    ends = {kind: [name for name, own in kinds.items() if own == kind] for kind in ("Input", "Output")}
    for kind, names in ends.items():
        if len(names) != 1:
            raise FileError(f"it has {len(names)} nodes of type {kind}, and a chain has one.")
    following: dict[str, str] = {}
    for one, two in dict.fromkeys(edges):
        if one not in kinds or two not in kinds:
            raise FileError(f"an edge leads from {one[:80]!r} to {two[:80]!r}, but a node is missing.")
        if one in following:
            raise FileError(
                f"{one} ({kinds[one]}) leads to {following[one]} and to {two}: only chains are read, and no "
                "recurrent connections."
            )
        following[one] = two
    order = [ends["Input"][0]]
    while order[-1] in following:
        order.append(following[order[-1]])
        if len(order) > len(kinds):
            raise FileError("its edges run in a circle: only chains are read, and no recurrent connections.")
    if order[-1] != ends["Output"][0] or len(order) < len(kinds):
        left = next((name for name in kinds if name not in order), ends["Output"][0])
        raise FileError(f"{left} ({kinds[left]}) is not on the way from the input to the output.")
    return order


def read_contents(path: str | Path, *, apart: bool = True) -> Contents:
    """What stands in a file, read in a process of its own unless told otherwise."""
    place = Path(path)
    check_file(place, _DAMAGED)
    if not apart or not sys.executable:
        return _read(place)
    return read_apart("sugenet.io.nir.contents", place, _SECONDS, _DAMAGED)


def main(arguments: Sequence[str]) -> int:
    """Read one file and write its contents to standard output: the other side of `read_contents`."""
    place = Path(arguments[0])
    return write_contents(place, lambda: _read(place))


def _read(place: Path) -> Contents:
    return opened(place, _contents, _DAMAGED, "NIR", "nir")


def _contents(h5py: Any, file: Any) -> Contents:
    extra = next((name for name in file if name not in ("version", "node")), None)
    if extra is not None:
        raise FileError(f"its part {extra[:80]!r} would be left over: a NIR file has none of that name.")
    version = _text(h5py, file, "version") if "version" in file else "unknown"
    graph = child_group(h5py, file, "node", _DAMAGED)
    if _text(h5py, graph, "type") != "NIRGraph":
        raise FileError(f"it holds a single node of type {_text(h5py, graph, 'type')!r} and no graph.")
    extra = next((name for name in graph if name not in _GRAPH), None)
    if extra is not None:
        raise FileError(
            f"the part {extra[:80]!r} of its graph would be left over: NIR has none of that name."
        )
    nodes = child_group(h5py, graph, "nodes", _DAMAGED)
    if len(nodes) > _MAX_NODES:
        raise FileError(f"it has {len(nodes)} nodes. {_DAMAGED}")
    kinds, arrays, notes = {}, {}, {}
    for name in nodes:
        node = child_group(h5py, nodes, name, _DAMAGED)
        kinds[name] = kind = _text(h5py, node, "type")
        if kind == "NIRGraph":
            raise FileError(
                f"{name[:80]} is a graph within the graph, as recurrent layers are: only chains are read."
            )
        parts = [part for part in node if part not in ("type", "metadata")]
        if kind == "Flatten":  # weights read values in the order of their rows, whatever their shape
            parts = []
        notes[name] = [note[:80] for note in _metadata(h5py, node)]
        arrays[name] = {
            part: child_array(h5py, node, part, f"{name[:80]}: {part[:80]!r}", _DAMAGED) for part in parts
        }
    about = {"version": version, "kinds": kinds, "edges": _edges(h5py, graph), "notes": notes}
    return Contents(json.dumps(about), arrays)


def _metadata(h5py: Any, node: Any) -> list[str]:
    """Names of what a node has in its metadata, which is notes of whoever wrote the file."""
    return list(child_group(h5py, node, "metadata", _DAMAGED)) if "metadata" in node else []


def _dataset(h5py: Any, group: Any, name: str) -> Any:
    data = group.get(name) if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external or data.shape is None:
        raise FileError(f"its {name!r} is missing, or stands in another file. {_DAMAGED}")
    return data


def _text(h5py: Any, group: Any, name: str) -> str:
    data = _dataset(h5py, group, name)
    value = data[()] if data.shape == () else None
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    if not isinstance(text, str) or len(text) > _MAX_TEXT:
        raise FileError(f"its {name!r} is no text. {_DAMAGED}")
    return text


def _edges(h5py: Any, graph: Any) -> list[list[str]]:
    data = _dataset(h5py, graph, "edges")
    if len(data.shape) != 2 or data.shape[1] != 2 or data.shape[0] > _MAX_NODES:
        raise FileError(f"its edges have shape {data.shape}, but pairs of names are needed. {_DAMAGED}")
    rows = data[()].tolist()
    return [
        [part.decode(errors="replace") if isinstance(part, bytes) else str(part) for part in row]
        for row in rows
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
