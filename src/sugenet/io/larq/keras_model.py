"""What a Keras model consists of, from its configuration: layers in the order in which they are applied,
those of models within among them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sugenet.errors import FileError
from sugenet.io.larq.hdf5_contents import DAMAGED

__all__ = ["PlannedLayer", "planned_layers"]

MODELS = ("Sequential", "Functional", "Model")
_OWN = ("keras", "tf_keras", "tensorflow", "larq", "qkeras", "builtins")
"""Who is known to have written a class, by the first word of a module or of a registered name."""
_DEEP = 16
_WHOLE = frozenset(
    {"class_name", "config", "name", "inbound_nodes", "module", "registered_name", "build_config"}
    | {"compile_config", "shared_object_id", "keras_version", "backend", "build_input_shape"}
)
"""What entries say: who they are, what they read, how they are built and trained."""
_MODEL = frozenset(
    {"name", "trainable", "dtype", "layers", "input_layers", "output_layers", "build_input_shape"}
)


@dataclass(frozen=True, eq=False)
class PlannedLayer:
    """One layer as the configuration has it, without its arrays."""

    kind: str
    path: tuple[str, ...]
    """Its name, behind those of the models that it stands in."""
    classes: tuple[str, ...]
    """The same with classes."""
    place: tuple[int, ...]
    """Where it stands in the lists of layers, which need not be the order in which they are applied."""
    config: Mapping[str, Any]
    package: str
    """Who wrote its class, where that is none of those that are known."""
    reads: tuple[str, ...] = ()
    """The layers whose values it reads, by their paths: several where branches are added."""

    @property
    def name(self) -> str:
        """Its path as text."""
        return "/".join(self.path)


def planned_layers(text: str) -> list[PlannedLayer]:
    """The layers of a model, each behind those that it reads, input first; the inputs of models within are
    left out.

    Raises
    ------
    FileError
        For texts that are no configuration of Keras, and models with branches that are not added.
    """
    found: list[PlannedLayer] = []
    try:
        _model(found, json.loads(text, object_pairs_hook=_once), (), (), (), ())
    except RecursionError:
        raise FileError(f"its configuration is nested too deeply. {DAMAGED}") from None
    except FileError:
        raise
    except (ValueError, AttributeError, TypeError, KeyError, IndexError) as error:
        raise FileError(f"its configuration cannot be read: {str(error)[:160]}. {DAMAGED}") from None
    inner = {layer.name: layer.reads for layer in found[1:] if layer.kind == "InputLayer"}

    def source(name: str) -> str:
        for _ in range(len(inner) + 1):
            if not inner.get(name):
                return name
            (name,) = inner[name]
        raise FileError(f"its models within read each other in a circle. {DAMAGED}")

    return [
        replace(layer, reads=tuple(map(source, layer.reads)))
        for place, layer in enumerate(found)
        if place == 0 or layer.kind != "InputLayer"
    ]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of a mapping, each said once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise FileError(f"its configuration says {twice[:40]!r} twice. {DAMAGED}")
    return found


@dataclass(frozen=True, eq=False)
class _Entry:
    """One entry of a list of layers."""

    kind: str
    name: str
    config: Mapping[str, Any]
    raw: Mapping[str, Any]
    place: int

    @property
    def is_model(self) -> bool:
        return "layers" in self.config


def _model(
    found: list[PlannedLayer],
    model: Any,
    path: tuple[str, ...],
    classes: tuple[str, ...],
    place: tuple[int, ...],
    given: tuple[str, ...],
) -> tuple[str, ...]:
    """Add the layers of a model that reads what it is `given`; gives back the layer that it ends with."""
    if len(path) > _DEEP:
        raise FileError(f"its models are nested too deeply. {DAMAGED}")
    ends: dict[str, tuple[str, ...]] = {}
    last = given
    for entry, sources in _in_order(model):
        names, kinds, places = (*path, entry.name), (*classes, entry.kind), (*place, entry.place)
        reads = tuple(end for source in sources for end in ends[source]) if sources else given
        if entry.is_model:
            if len(reads) > 1:
                raise FileError(f"{entry.name}: a model within that reads several values. One can be read.")
            before = len(found)
            last = _model(found, entry.raw, names, kinds, places, reads)
            if len(found) == before:
                raise FileError(f"{entry.name}: a model within the model, without layers. {DAMAGED}")
        else:
            found.append(
                PlannedLayer(entry.kind, names, kinds, places, entry.config, _package(entry.raw), reads)
            )
            last = (found[-1].name,)
        ends[entry.name] = last
    return last


def _in_order(model: Any) -> list[tuple[_Entry, list[str]]]:
    """The entries of a model in the order in which they are applied, with the names of those they read."""
    kind, config = (
        _mapping(model, "model_config").get("class_name"),
        _mapping(model, "model_config").get("config"),
    )
    _check_keys("its model", _mapping(model, "model_config"), _WHOLE)
    if isinstance(config, dict):
        _check_keys("its model", config, _MODEL)
    listed = config if isinstance(config, list) else _mapping(config, "config").get("layers")
    if not isinstance(listed, list) or not 0 < len(listed) <= 10_000:
        raise FileError(f"its model_config lists no layers. {DAMAGED}")
    layers: dict[str, _Entry] = {}
    for place, raw in enumerate(listed):
        about = _mapping(_mapping(raw, "a layer").get("config"), "a layer's config")
        name = str(about.get("name", raw.get("name")))[:200]
        _check_keys(name, raw, _WHOLE)
        if name in layers:
            raise FileError(f"two layers are called {name!r}. {DAMAGED}")
        layers[name] = _Entry(str(raw.get("class_name")).split(">")[-1], name, about, raw, place)
    kind = str(kind).split(">")[-1]
    if kind == "Sequential":
        names = list(layers)
        return [(entry, names[k - 1 : k] if k else []) for k, entry in enumerate(layers.values())]
    if kind not in MODELS:
        raise FileError(
            f"a model of class {kind[:80]!r}. Sequential and functional models can be read: build it from "
            "layers, without a class of its own, or export it to ONNX."
        )
    return _chain(config, layers)


def _chain(config: Any, layers: Mapping[str, _Entry]) -> list[tuple[_Entry, list[str]]]:
    """The layers of a functional model, from its input to its output."""
    reads: dict[str, list[str]] = {}
    called: dict[str, _Entry] = {}
    for name, entry in layers.items():
        sources, constants = _call(entry.raw.get("inbound_nodes"), layers)
        if len(sources) > 1 and entry.kind != "Add":
            raise FileError(
                f"{name}: joins {', '.join(sources[:3])}. Only branches that are added (Add) can be read."
            )
        reads[name] = sources
        if any(value is not None for value in constants):
            about = {**entry.config, "called_with": constants}
            called[name] = _Entry(entry.kind, name, about, entry.raw, entry.place)
    order = _sorted(reads)
    if [name for name in order if not reads[name]] != order[:1] or len(order) != len(layers):
        raise FileError(f"its layers do not make one chain from one input. {DAMAGED}")
    read = {source for sources in reads.values() for source in sources}
    unread = [name for name in order[:-1] if name not in read]
    if unread:
        raise FileError(
            f"{unread[0]}: nothing reads it, and it is not the output. Only one output can be read."
        )
    for what, end in (("input_layers", order[0]), ("output_layers", order[-1])):
        ends = _ends(_mapping(config, "config").get(what), layers)
        if ends not in ([], [end]):
            raise FileError(
                f"its {what} are {', '.join(ends)[:80]}, but its layers make one chain from "
                f"{order[0]} to {order[-1]}."
            )
    return [(called.get(name, layers[name]), reads[name]) for name in order]


def _sorted(reads: Mapping[str, list[str]]) -> list[str]:
    """Names behind those that they read, else in their own order; without those that read one another."""
    order: dict[str, None] = {}
    waiting = list(reads)
    while ready := [name for name in waiting if all(source in order for source in reads[name])]:
        for name in ready:
            order[name] = None
        waiting = [name for name in waiting if name not in order]
    return list(order)


def _call(nodes: Any, layers: Mapping[str, _Entry]) -> tuple[list[str], list[Any]]:
    """Names of the layers that a layer reads, and the other arguments of its call, with None at the place of
    a layer: as Keras 2 writes them, in nested lists, or as later releases do.
    """
    if not isinstance(nodes, list) or not nodes:
        return [], []
    if len(nodes) > 1:
        raise FileError("a layer is used twice. Only one chain of layers can be read.")
    node = nodes[0]
    if isinstance(node, dict):
        _check_call(node.get("kwargs"), layers)
        given = node.get("args")
        given = given if isinstance(given, list) else [given]
        return _histories(node, layers), [None if _histories(value, layers) else value for value in given]
    edges = [edge for edge in node if isinstance(edge, list) and edge]
    for edge in edges:
        _check_edge(str(edge[0]), edge[1:3], layers)
        _check_call(edge[3] if len(edge) > 3 else None, layers)
    return [str(edge[0]) for edge in edges], []


def _check_edge(source: str, numbers: Sequence[Any], layers: Mapping[str, _Entry]) -> None:
    """Refuse other outputs and other uses; the first use of a model within has the number 1, since its own
    making is number 0.
    """
    usual = (0, 1) if source in layers and layers[source].is_model else (0,)
    if any(number not in allowed for number, allowed in zip(numbers, (usual, (0,)), strict=False)):
        raise FileError(
            "a layer reads the second output or the second use of another. "
            "Only one chain of layers can be read."
        )


def _check_call(arguments: Any, layers: Mapping[str, _Entry]) -> None:
    """Refuse what was said when a layer was called; that it is used, not trained, and without a mask, is how
    networks are read.
    """
    for name, value in (arguments or {}).items():
        if value is not None and (name, value) != ("training", False) and not _histories(value, layers):
            raise FileError(
                f"a layer is called with {str(name)[:40]}={str(value)[:40]}. "
                f"Build the model without such arguments."
            )


def _ends(value: Any, layers: Mapping[str, _Entry]) -> list[str]:
    """Names of the inputs or outputs of a model: one triple, or a list of them."""
    if not isinstance(value, list) or not value:
        return []
    triples = [value] if isinstance(value[0], str) else value
    for triple in triples:
        _check_edge(str(triple[0]), triple[1:3], layers)
    return [str(triple[0]) for triple in triples]


def _histories(value: Any, layers: Mapping[str, _Entry]) -> list[str]:
    if isinstance(value, dict):
        history = value.get("keras_history")
        if isinstance(history, list) and history:
            _check_edge(str(history[0]), history[1:3], layers)
            return [str(history[0])]
        return [name for part in value.values() for name in _histories(part, layers)]
    return [name for part in value for name in _histories(part, layers)] if isinstance(value, list) else []


def _package(raw: Mapping[str, Any]) -> str:
    """Who wrote the class of a layer, where that is none of those that are known."""
    for word in (raw.get("registered_name"), raw.get("class_name")):
        package, mark, _ = str(word or "").rpartition(">")
        if mark:
            return "" if package.lower() in _OWN else package[:80]
    module = str(raw.get("module") or "")
    return "" if not module or module.split(".", maxsplit=1)[0] in _OWN else module[:80]


def _check_keys(where: str, given: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse what is said beside that; what is not set (null) says nothing."""
    for key, value in given.items():
        if key not in known and value is not None and value is not False:
            raise FileError(
                f"{where}: {key[:40]!r} ({str(value)[:40]}) is not known, so neither is what it does."
            )


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FileError(f"{what} is not what Keras writes. {DAMAGED}")
    return value
