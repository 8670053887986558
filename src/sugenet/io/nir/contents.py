"""Read the nodes and edges of a NIR file with h5py in a separate process, without the package nir.

A file is one graph: nodes by name, each with its type and its arrays, and edges from node to node.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sugenet.errors import FileError
from sugenet.io.hdf5 import Contents, Hdf5File, Hdf5Format
from sugenet.io.plain.refusals import Ledger, refuse_if
from sugenet.nn.arrays import Array

__all__ = ["NIR", "NirNode", "chain_of_nodes"]

_DAMAGED = "The file is damaged, or no graph that nir.write has written."
_MAX_NODES, _MAX_TEXT = 10_000, 1 << 12
_GRAPH = ("type", "nodes", "edges", "metadata", "input_type", "output_type")
"""Keys of a graph; the types are shapes, which its nodes also have."""


@dataclass(frozen=True, eq=False)
class NirNode:
    """One node: its type, its name and its arrays by name."""

    kind: str
    name: str
    arrays: Ledger[Array]
    notes: tuple[str, ...] = ()
    """Keys in its metadata."""

    @property
    def where(self) -> str:
        """The node in error messages."""
        return f"{self.name} ({self.kind})"


def chain_of_nodes(path: str | Path) -> tuple[str, list[NirNode]]:
    """Return the version of a file, and its nodes in order, Input first and Output last.

    The nodes must form one chain. Flatten, which only changes shapes, is left out.

    Raises
    ------
    FileError
        If the file is damaged, or the graph has branches or cycles.
    """
    contents = NIR.read(path)
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
    """Return the nodes from the only input to the only output."""
    ends = {
        kind: [name for name, node_kind in kinds.items() if node_kind == kind] for kind in ("Input", "Output")
    }
    for kind, names in ends.items():
        refuse_if(len(names) != 1, f"it has {len(names)} nodes of type {kind}, and a chain has one.")
    following: dict[str, str] = {}
    for one, two in dict.fromkeys(edges):
        refuse_if(
            one not in kinds or two not in kinds,
            f"an edge leads from {one[:80]!r} to {two[:80]!r}, but a node is missing.",
        )
        refuse_if(
            one in following,
            f"{one} ({kinds[one]}) leads to {following.get(one)} and to {two}: only chains are read, and no "
            "recurrent connections.",
        )
        following[one] = two
    order = [ends["Input"][0]]
    while order[-1] in following:
        order.append(following[order[-1]])
        refuse_if(
            len(order) > len(kinds),
            "its edges run in a circle: only chains are read, and no recurrent connections.",
        )
    if order[-1] != ends["Output"][0] or len(order) < len(kinds):
        left = next((name for name in kinds if name not in order), ends["Output"][0])
        raise FileError(f"{left} ({kinds[left]}) is not on the way from the input to the output.")
    return order


def _contents(hdf5: Hdf5File, file: Any) -> Contents:
    extra = next((name for name in file if name not in ("version", "node")), None)
    refuse_if(
        extra is not None,
        f"its part {str(extra)[:80]!r} would be left over: a NIR file has none of that name.",
    )
    version = _text(hdf5, file, "version") if "version" in file else "unknown"
    graph = hdf5.group(file, "node")
    refuse_if(
        _text(hdf5, graph, "type") != "NIRGraph",
        f"it holds a single node of type {_text(hdf5, graph, 'type')!r} and not a graph.",
    )
    extra = next((name for name in graph if name not in _GRAPH), None)
    refuse_if(
        extra is not None,
        f"the part {str(extra)[:80]!r} of its graph would be left over: NIR has none of that name.",
    )
    nodes = hdf5.group(graph, "nodes")
    refuse_if(len(nodes) > _MAX_NODES, f"it has {len(nodes)} nodes. {_DAMAGED}")
    kinds, arrays, notes = {}, {}, {}
    for name in nodes:
        node = hdf5.group(nodes, name)
        kinds[name] = kind = _text(hdf5, node, "type")
        refuse_if(
            kind == "NIRGraph",
            f"{name[:80]} is a graph within the graph, as recurrent layers are: only chains are read.",
        )
        # Weights read values in row order, regardless of the shape that Flatten gives them.
        parts = [part for part in node if part not in ("type", "metadata") and kind != "Flatten"]
        notes[name] = [note[:80] for note in _metadata(hdf5, node)]
        arrays[name] = {part: hdf5.array(node, part, f"{name[:80]}: {part[:80]!r}") for part in parts}
    about = {"version": version, "kinds": kinds, "edges": _edges(hdf5, graph), "notes": notes}
    return Contents(json.dumps(about), arrays)


def _metadata(hdf5: Hdf5File, node: Any) -> list[str]:
    """Return the keys in the metadata of a node, which are notes by the author of the file."""
    return list(hdf5.group(node, "metadata")) if "metadata" in node else []


def _text(hdf5: Hdf5File, group: Any, name: str) -> str:
    data = hdf5.dataset(group, name, f"its {name!r}")
    value = data[()] if data.shape == () else None
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    refuse_if(not isinstance(text, str) or len(text) > _MAX_TEXT, f"its {name!r} is not text. {_DAMAGED}")
    return str(text)


def _edges(hdf5: Hdf5File, graph: Any) -> list[list[str]]:
    data = hdf5.dataset(graph, "edges", "its 'edges'")
    refuse_if(
        len(data.shape) != 2 or data.shape[1] != 2 or data.shape[0] > _MAX_NODES,
        f"its edges have shape {data.shape}, but pairs of names are needed. {_DAMAGED}",
    )
    rows = data[()].tolist()
    return [
        [part.decode(errors="replace") if isinstance(part, bytes) else str(part) for part in row]
        for row in rows
    ]


NIR = Hdf5Format("sugenet.io.nir.contents", _contents, _DAMAGED, "NIR", "nir")
"""Files of NIR."""

if __name__ == "__main__":
    sys.exit(NIR.main())
