"""The layers of a Keras 2 model in their order, from the configuration and the arrays in its `.h5` file;
without TensorFlow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.larq.hdf5_contents import DAMAGED, read_contents
from sugenet.io.plain.ledger import Ledger

__all__ = ["KerasLayer", "read_layers"]


@dataclass(frozen=True, eq=False)
class KerasLayer:
    """One layer: its class, configuration and arrays by the last word of their names
    (``kernel``, ``gamma``).
    """

    kind: str
    name: str
    config: Ledger[Any]
    arrays: Ledger[npt.NDArray[Any]]

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.name} ({self.kind})"


def read_layers(path: str | Path, *, apart: bool = True) -> list[KerasLayer]:
    """The layers of a model that is one chain, input first.

    Parameters
    ----------
    path
        A file that Keras 2 or Larq saved.
    apart
        Whether the HDF5 library runs in a process of its own, so that a file on which it breaks
        down ends in an error.

    Raises
    ------
    FileError
        For files that are damaged, are not of Keras, or hold a model with branches or a model within.
    """
    contents = read_contents(path, apart=apart)
    try:
        found = _in_order(json.loads(contents.model, object_pairs_hook=_once))
    except RecursionError:
        raise FileError(f"its configuration is nested too deeply. {DAMAGED}") from None
    except (json.JSONDecodeError, AttributeError, TypeError, KeyError, IndexError) as error:
        raise FileError(f"its configuration cannot be read: {str(error)[:160]}. {DAMAGED}") from None
    names = {name for _, name, _ in found}
    for name, arrays in contents.arrays.items():
        if arrays and name not in names:
            raise FileError(
                f"the arrays of {name[:80]!r} would be left over: "
                f"the model has no layer of that name. {DAMAGED}"
            )
    return [
        KerasLayer(kind, name, Ledger(config), Ledger(contents.arrays.get(name, {})))
        for kind, name, config in found
    ]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of a mapping, each said once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        raise FileError(f"its configuration says {twice[:40]!r} twice. {DAMAGED}")
    return found


def _in_order(model: Any) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Class, name and configuration of the layers, in the order in which they are applied."""
    kind, config = (
        _mapping(model, "model_config").get("class_name"),
        _mapping(model, "model_config").get("config"),
    )
    entries = config if isinstance(config, list) else _mapping(config, "config").get("layers")
    if not isinstance(entries, list) or not 0 < len(entries) <= 10_000:
        raise FileError(f"its model_config lists no layers. {DAMAGED}")
    layers = {}
    for entry in entries:
        about = _mapping(_mapping(entry, "a layer").get("config"), "a layer's config")
        name = str(about.get("name", entry.get("name")))[:200]
        if "layers" in about:
            raise FileError(
                f"{name}: a model within the model. Build the model from plain layers, without models inside."
            )
        if name in layers:
            raise FileError(f"two layers are called {name!r}. {DAMAGED}")
        layers[name] = (str(entry.get("class_name")).split(">")[-1], about, entry)
    if kind == "Sequential":
        return [(kind, name, about) for name, (kind, about, _) in layers.items()]
    if kind not in ("Functional", "Model"):
        raise FileError(f"a model of class {str(kind)[:80]!r}. Sequential and functional models can be read.")
    following: dict[str, str] = {}
    first = []
    for name, (_, _, entry) in layers.items():
        sources = _sources(entry.get("inbound_nodes"))
        if len(sources) > 1:
            raise FileError(
                f"{name}: joins {', '.join(sources[:3])}. Shortcuts and branches cannot be read, only one "
                f"chain of layers."
            )
        if not sources:
            first.append(name)
        elif sources[0] in following:
            raise FileError(
                f"{sources[0]}: goes to both {following[sources[0]]} and {name}. "
                f"Only one chain of layers can be read."
            )
        else:
            following[sources[0]] = name
    order = first[:1]
    while order and order[-1] in following and len(order) <= len(layers):
        order.append(following[order[-1]])
    if len(first) != 1 or len(order) != len(layers) or any(name not in layers for name in order):
        raise FileError(f"its layers do not make one chain from one input. {DAMAGED}")
    for what, end in (("input_layers", order[0]), ("output_layers", order[-1])):
        ends = _ends(_mapping(config, "config").get(what))
        if ends not in ([], [end]):
            raise FileError(
                f"its {what} are {', '.join(ends)[:80]}, but its layers make one chain from "
                f"{order[0]} to {order[-1]}."
            )
    return [(layers[name][0], name, layers[name][1]) for name in order]


def _sources(nodes: Any) -> list[str]:
    """Names of the layers that a layer reads: as Keras 2 writes them, in nested lists,
    or as later releases do.
    """
    if not isinstance(nodes, list) or not nodes:
        return []
    if len(nodes) > 1:
        raise FileError("a layer is used twice. Only one chain of layers can be read.")
    node = nodes[0]
    if isinstance(node, dict):
        _check_call(node.get("kwargs"))
        return _histories(node)
    edges = [edge for edge in node if isinstance(edge, list) and edge]
    for edge in edges:
        _check_edge(edge[1:3])
        _check_call(edge[3] if len(edge) > 3 else None)
    return [str(edge[0]) for edge in edges]


def _check_edge(numbers: Any) -> None:
    if any(number != 0 for number in numbers):
        raise FileError(
            "a layer reads the second output or the second use of another. "
            "Only one chain of layers can be read."
        )


def _check_call(arguments: Any) -> None:
    """Refuse what was said when a layer was called; that it is used, not trained, and without a mask, is how
    networks are read.
    """
    for name, value in (arguments or {}).items():
        if value is not None and (name, value) != ("training", False) and not _histories(value):
            raise FileError(
                f"a layer is called with {str(name)[:40]}={str(value)[:40]}. "
                f"Build the model without such arguments."
            )


def _ends(value: Any) -> list[str]:
    """Names of the inputs or outputs of a model: one triple, or a list of them."""
    if not isinstance(value, list) or not value:
        return []
    triples = [value] if isinstance(value[0], str) else value
    for triple in triples:
        _check_edge(triple[1:3])
    return [str(triple[0]) for triple in triples]


def _histories(value: Any) -> list[str]:
    if isinstance(value, dict):
        history = value.get("keras_history")
        if isinstance(history, list) and history:
            _check_edge(history[1:3])
            return [str(history[0])]
        return [name for part in value.values() for name in _histories(part)]
    return [name for part in value for name in _histories(part)] if isinstance(value, list) else []


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FileError(f"{what} is not what Keras writes. {DAMAGED}")
    return value
