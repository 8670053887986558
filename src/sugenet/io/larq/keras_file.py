"""Read the layers of a Keras model in order, with their arrays, without TensorFlow.

A model is one file (`.h5`, or `.keras`, which is a zip archive), or its layers as text (`.json`) and its
weights (`.h5`). Its configuration names the layers, including those of nested models. Arrays belong to layers
by the names that Keras 2 gives, or by their positions in Keras 3.
"""

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from sugenet.errors import FileError
from sugenet.io.hdf5 import Contents
from sugenet.io.larq.hdf5_contents import CONTAINERS, DAMAGED, KERAS
from sugenet.io.plain.refusals import Ledger, expected, refuse_if, required, within
from sugenet.nn.arrays import Array
from sugenet.reading import open_file, read_file

__all__ = ["KerasLayer", "planned_layers", "read_layers", "refuse_tensorflow"]

_MODELS = ("Sequential", "Functional", "Model")
_OWN = ("keras", "tf_keras", "tensorflow", "larq", "qkeras", "builtins")
"""Known authors of a class, by the first word of a module or of a registered name."""
_DEEP = 16
_WHOLE = frozenset(
    {"class_name", "config", "name", "inbound_nodes", "module", "registered_name", "build_config"}
    | {"compile_config", "shared_object_id", "keras_version", "backend", "build_input_shape"}
)
"""Known keys of entries: identity, inputs, construction and training."""
_MODEL = frozenset(
    {"name", "trainable", "dtype", "layers", "input_layers", "output_layers", "build_input_shape"}
)


@dataclass(frozen=True, eq=False)
class _PlannedLayer:
    """One layer or nested model of the configuration, without its arrays."""

    kind: str
    path: tuple[str, ...]
    """Its name, after those of the models that contain it."""
    classes: tuple[str, ...]
    """The same with classes."""
    indices: tuple[int, ...]
    """Its position in the lists of layers, which may differ from the order in which they are applied."""
    config: Mapping[str, Any]
    raw: Mapping[str, Any]
    """Its whole entry."""
    reads: tuple[str, ...] = ()
    """The paths of the layers that it reads: several if branches are added."""

    @property
    def name(self) -> str:
        """Its path as text."""
        return "/".join(self.path)

    @property
    def is_model(self) -> bool:
        """Whether it is a model."""
        return "layers" in self.config


def planned_layers(text: str) -> list[_PlannedLayer]:
    """Return the layers of a model, each after those that it reads, input first.

    The inputs of nested models are left out.

    Raises
    ------
    FileError
        If the text is not a Keras configuration, or the model has branches that are not added.
    """
    layers: list[_PlannedLayer] = []
    try:
        _model(layers, json.loads(text, object_pairs_hook=_once), (), (), (), ())
    except RecursionError:
        raise FileError(f"its configuration is nested too deeply. {DAMAGED}") from None
    except FileError:
        raise
    except (ValueError, AttributeError, TypeError, KeyError, IndexError) as error:
        raise FileError(f"its configuration cannot be read: {str(error)[:160]}. {DAMAGED}") from None
    inner = {layer.name: layer.reads for layer in layers[1:] if layer.kind == "InputLayer"}

    def source(name: str) -> str:
        for _ in range(len(inner) + 1):
            if not inner.get(name):
                return name
            (name,) = inner[name]
        raise FileError(f"its models within read each other in a circle. {DAMAGED}")

    return [
        replace(layer, reads=tuple(map(source, layer.reads)))
        for index, layer in enumerate(layers)
        if index == 0 or layer.kind != "InputLayer"
    ]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the entries of a mapping; refuse repeated keys."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise FileError(f"its configuration says {twice[:40]!r} twice. {DAMAGED}")
    return mapping


def _model(
    layers: list[_PlannedLayer],
    model: Any,
    path: tuple[str, ...],
    classes: tuple[str, ...],
    index: tuple[int, ...],
    inputs: tuple[str, ...],
) -> tuple[str, ...]:
    """Add the layers of a model that reads `inputs`, and return its last layer."""
    refuse_if(len(path) > _DEEP, f"its models are nested too deeply. {DAMAGED}")
    ends: dict[str, tuple[str, ...]] = {}
    last = inputs
    for entry, sources in _in_order(model):
        names, kinds, indices = (*path, entry.name), (*classes, entry.kind), (*index, *entry.indices)
        reads = tuple(end for source in sources for end in ends[source]) if sources else inputs
        if entry.is_model:
            refuse_if(
                len(reads) > 1, f"{entry.name}: a model within that reads several values. One can be read."
            )
            before = len(layers)
            last = _model(layers, entry.raw, names, kinds, indices, reads)
            refuse_if(
                len(layers) == before, f"{entry.name}: a model within the model, without layers. {DAMAGED}"
            )
        else:
            layers.append(replace(entry, path=names, classes=kinds, indices=indices, reads=reads))
            last = (layers[-1].name,)
        ends[entry.name] = last
    return last


def _in_order(model: Any) -> list[tuple[_PlannedLayer, list[str]]]:
    """Return the entries of a model in the order in which they are applied, with the names of their
    inputs.
    """
    whole = _mapping(model, "model_config")
    kind, config = whole.get("class_name"), whole.get("config")
    _check_keys("its model", whole, _WHOLE)
    if isinstance(config, dict):
        _check_keys("its model", config, _MODEL)
    listed: Any = config if isinstance(config, list) else _mapping(config, "config").get("layers")
    refuse_if(
        not isinstance(listed, list) or not 0 < len(listed) <= 10_000,
        f"its model_config lists no layers. {DAMAGED}",
    )
    layers: dict[str, _PlannedLayer] = {}
    for index, raw in enumerate(listed):
        about = _mapping(_mapping(raw, "a layer").get("config"), "a layer's config")
        name = str(about.get("name", raw.get("name")))[:200]
        _check_keys(name, raw, _WHOLE)
        refuse_if(name in layers, f"two layers are called {name!r}. {DAMAGED}")
        word = str(raw.get("class_name")).split(">")[-1]
        layers[name] = _PlannedLayer(word, (name,), (word,), (index,), about, raw)
    kind = str(kind).split(">")[-1]
    if kind == "Sequential":
        names = list(layers)
        return [(entry, names[k - 1 : k] if k else []) for k, entry in enumerate(layers.values())]
    refuse_if(
        kind not in _MODELS,
        f"a model of class {kind[:80]!r}. Sequential and functional models can be read: build it from "
        "layers, without a class of its own, or export it to ONNX.",
    )
    return _chain(config, layers)


def _chain(config: Any, layers: Mapping[str, _PlannedLayer]) -> list[tuple[_PlannedLayer, list[str]]]:
    """Return the layers of a functional model, from its input to its output."""
    reads: dict[str, list[str]] = {}
    called: dict[str, _PlannedLayer] = {}
    for name, entry in layers.items():
        sources, constants = _call(entry.raw.get("inbound_nodes"), layers)
        refuse_if(
            len(sources) > 1 and entry.kind != "Add",
            f"{name}: joins {', '.join(sources[:3])}. Only branches that are added (Add) can be read.",
        )
        reads[name] = sources
        if any(value is not None for value in constants):
            called[name] = replace(entry, config={**entry.config, "called_with": constants})
    order = _sorted(reads)
    refuse_if(
        [name for name in order if not reads[name]] != order[:1] or len(order) != len(layers),
        f"its layers do not make one chain from one input. {DAMAGED}",
    )
    read = {source for sources in reads.values() for source in sources}
    unread = [name for name in order[:-1] if name not in read]
    if unread:
        raise FileError(
            f"{unread[0]}: nothing reads it, and it is not the output. Only one output can be read."
        )
    for what, end in (("input_layers", order[0]), ("output_layers", order[-1])):
        ends = _ends(_mapping(config, "config").get(what), layers)
        refuse_if(
            ends not in ([], [end]),
            f"its {what} are {', '.join(ends)[:80]}, but its layers make one chain from "
            f"{order[0]} to {order[-1]}.",
        )
    return [(called.get(name, layers[name]), reads[name]) for name in order]


def _sorted(reads: Mapping[str, list[str]]) -> list[str]:
    """Sort names after those that they read, else in their own order; leave out cycles."""
    order: dict[str, None] = {}
    waiting = list(reads)
    while ready := [name for name in waiting if all(source in order for source in reads[name])]:
        for name in ready:
            order[name] = None
        waiting = [name for name in waiting if name not in order]
    return list(order)


def _call(nodes: Any, layers: Mapping[str, _PlannedLayer]) -> tuple[list[str], list[Any]]:
    """Return the names of the layers that a layer reads, and the other arguments of its call.

    An argument that is a layer is None. Both the nested lists of Keras 2 and the later form are read.
    """
    if not isinstance(nodes, list) or not nodes:
        return [], []
    refuse_if(len(nodes) > 1, "a layer is used twice. Only one chain of layers can be read.")
    node = nodes[0]
    if isinstance(node, dict):
        _check_call(node.get("kwargs"), layers)
        arguments = node.get("args")
        arguments = arguments if isinstance(arguments, list) else [arguments]
        return _histories(node, layers), [None if _histories(value, layers) else value for value in arguments]
    edges = [edge for edge in node if isinstance(edge, list) and edge]
    for edge in edges:
        _check_edge(str(edge[0]), edge[1:3], layers)
        _check_call(edge[3] if len(edge) > 3 else None, layers)
    return [str(edge[0]) for edge in edges], []


def _check_edge(source: str, numbers: Sequence[Any], layers: Mapping[str, _PlannedLayer]) -> None:
    """Refuse other outputs and other uses.

    The first use of a nested model has the number 1, since its creation is number 0.
    """
    usual = (0, 1) if source in layers and layers[source].is_model else (0,)
    refuse_if(
        any(number not in allowed for number, allowed in zip(numbers, (usual, (0,)), strict=False)),
        "a layer reads the second output or the second use of another. Only one chain of layers can be read.",
    )


def _check_call(arguments: Any, layers: Mapping[str, _PlannedLayer]) -> None:
    """Refuse arguments of a call to a layer, except those for inference without a mask."""
    for name, value in (arguments or {}).items():
        refuse_if(
            value is not None and (name, value) != ("training", False) and not _histories(value, layers),
            f"a layer is called with {str(name)[:40]}={str(value)[:40]}. "
            f"Build the model without such arguments.",
        )


def _ends(value: Any, layers: Mapping[str, _PlannedLayer]) -> list[str]:
    """Return the names of the inputs or outputs of a model: one triple, or a list of them."""
    if not isinstance(value, list) or not value:
        return []
    triples = [value] if isinstance(value[0], str) else value
    for triple in triples:
        _check_edge(str(triple[0]), triple[1:3], layers)
    return [str(triple[0]) for triple in triples]


def _histories(value: Any, layers: Mapping[str, _PlannedLayer]) -> list[str]:
    if isinstance(value, dict):
        history = value.get("keras_history")
        if isinstance(history, list) and history:
            _check_edge(str(history[0]), history[1:3], layers)
            return [str(history[0])]
        return [name for part in value.values() for name in _histories(part, layers)]
    return [name for part in value for name in _histories(part, layers)] if isinstance(value, list) else []


def _package(raw: Mapping[str, Any]) -> str:
    """Return the author of the class of a layer, if it is not a known one."""
    for word in (raw.get("registered_name"), raw.get("class_name")):
        package, mark, _ = str(word or "").rpartition(">")
        if mark:
            return "" if package.lower() in _OWN else package[:80]
    module = str(raw.get("module") or "")
    return "" if not module or module.split(".", maxsplit=1)[0] in _OWN else module[:80]


def _check_keys(where: str, settings: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse unknown settings; unset ones (null) are ignored."""
    for key, value in settings.items():
        if key not in known and value is not None and value is not False:
            raise FileError(f"{where}: {key[:40]!r} ({str(value)[:40]}) is not known.")


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    return expected(value, dict, f"{what} is not what Keras writes. {DAMAGED}")


_Arrays = dict[str, Array]
_RANDOM = "seed_generator"
"""State of random numbers, which inference does not use."""


def _arrays_of_layers(layers: Sequence[_PlannedLayer], contents: Contents) -> list[_Arrays]:
    """Return the arrays of each layer by its own words for them: ``kernel``, ``gamma``.

    Raises
    ------
    FileError
        If arrays belong to no layer, or it is not known to which.
    """
    by_layer = _by_index(layers, contents) if "names" in contents.notes else _by_name(layers, contents)
    for layer, arrays in zip(layers, by_layer, strict=True):
        if "Depthwise" in layer.kind and "kernel" in arrays:  # its name in Keras 3
            arrays["depthwise_kernel"] = arrays.pop("kernel")
    return by_layer


# -- by name: model_weights/dense/dense/kernel:0 -------------------------------------------------------------


def _by_name(layers: Sequence[_PlannedLayer], contents: Contents) -> list[_Arrays]:
    by_layer: list[_Arrays] = [{} for _ in layers]
    for group, arrays in contents.arrays.items():
        inside = [k for k, layer in enumerate(layers) if layer.path[0] == group]
        refuse_if(
            arrays and not inside,
            f"the arrays of {group[:80]!r} would be left over: "
            f"the model has no layer of that name. {DAMAGED}",
        )
        for name, array in arrays.items():
            *folders, last = name.split("/")
            owner = inside[0] if len(layers[inside[0]].path) == 1 else _owner(layers, inside, group, folders)
            word = last.split(":")[0]
            refuse_if(
                word in by_layer[owner],
                f"{'/'.join(layers[owner].path)}: two arrays are called {word[:80]!r}. {DAMAGED}",
            )
            if _RANDOM not in folders:
                by_layer[owner][word] = array
    return by_layer


def _owner(layers: Sequence[_PlannedLayer], inside: list[int], group: str, folders: list[str]) -> int:
    """Return the layer of a nested model that an array belongs to.

    The last folder of its name is the layer's; those before it are the models that contain it.
    """
    folders = [folder for folder in folders if folder != _RANDOM]
    for depth in range(1, len(folders) + 1):
        near = [k for k in inside if folders and list(layers[k].path[-depth:]) == folders[-depth:]]
        if len(near) == 1:
            return near[0]
    raise FileError(
        f"{group}: a model within the model, whose array {'/'.join(folders)[:80]!r} names none of its "
        f"layers, or several. Give all layers names of their own and save again, or save as .keras."
    )


# -- by index: layers/sequential/layers/dense_1/vars/0 -------------------------------------------------------


def _by_index(layers: Sequence[_PlannedLayer], contents: Contents) -> list[_Arrays]:
    paths = [path for path in contents.arrays if _RANDOM not in path.split("/")]
    owners: dict[str, int] = {}
    _match(layers, list(range(len(layers))), 0, "", paths, contents.notes["names"], owners)
    for path in paths:
        refuse_if(
            path not in owners,
            f"the arrays of {path[:80] or 'the model itself'!r} would be left over: the model has no "
            f"layer that they belong to. {DAMAGED}",
        )
    by_layer: list[_Arrays] = [{} for _ in layers]
    for path, owner in owners.items():
        names = _words(layers[owner])
        for index, array in contents.arrays[path].items():
            known = index.isdecimal() and int(index) < len(names)
            by_layer[owner][names[int(index)] if known else f"vars/{index}"] = array
    return by_layer


def _match(
    layers: Sequence[_PlannedLayer],
    inside: list[int],
    depth: int,
    above: str,
    paths: list[str],
    names: dict[str, str],
    owners: dict[str, int],
) -> None:
    """Assign the paths below a model to its layers: each class is numbered separately, in list order."""
    for container in CONTAINERS:
        start = f"{above}/{container}/" if above else f"{container}/"
        below = sorted({path[len(start) :].split("/")[0] for path in paths if path.startswith(start)})
        for word in sorted({_snake(layers[k].classes[depth]) for k in inside}):
            members: dict[str, list[int]] = {}
            for k in sorted(inside, key=lambda k: layers[k].indices):
                if _snake(layers[k].classes[depth]) == word:
                    members.setdefault(layers[k].path[depth], []).append(k)
            numbered = {name: _count(word, name) for name in below}
            groups = sorted((n for n in below if numbered[n] is not None), key=lambda n: numbered[n] or 0)
            for group, name in zip(groups, _names(start, groups, list(members), names), strict=True):
                group_layers, path = members[name], start + group
                if len(layers[group_layers[0]].path) > depth + 1:
                    _match(layers, group_layers, depth + 1, path, paths, names, owners)
                elif path in paths:
                    owners[path] = group_layers[0]


def _names(start: str, groups: list[str], members: list[str], names: dict[str, str]) -> list[str]:
    """Return the layer name of each group of one class: as the file names it, else by order."""
    stored_names = [names.get(start + group) for group in groups]
    if (
        groups
        and len(set(stored_names)) == len(stored_names)
        and all(name in members for name in stored_names)
    ):
        return [str(name) for name in stored_names]
    if len(groups) not in (0, len(members)):
        raise FileError(
            f"{start}{groups[0]}: {len(groups)} groups of arrays for {len(members)} layers, and their names "
            f"do not tell which is whose. {DAMAGED}"
        )
    return members if groups else []


def _count(word: str, group: str) -> int | None:
    match = re.fullmatch(rf"{re.escape(word)}(?:_([0-9]{{1,9}}))?", group)
    return None if match is None else int(match[1] or 0)


def _snake(name: str) -> str:
    """Return a class name as Keras writes it in paths: QuantConv2D as quant_conv2d."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _words(layer: _PlannedLayer) -> list[str]:
    """Return the names of a layer's arrays, in the order in which it creates them."""
    if layer.kind.startswith("BatchNormalization"):
        parts = [("gamma", "scale"), ("beta", "center")]
        return [word for word, key in parts if layer.config.get(key, True)] + [
            "moving_mean",
            "moving_variance",
        ]
    if layer.kind == "PReLU":
        return ["alpha"]
    return ["kernel", "bias"] if layer.config.get("use_bias", True) else ["kernel"]


_MAX_TEXT = 1 << 24
_MAX_ARCHIVE = 1 << 29
_FREELY, _RATIO = 1 << 26, 100
"""Unpacked bytes allowed for any archive, and the largest ratio to its own size for a large one."""
_CONFIG, _ABOUT, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"


@dataclass(frozen=True, eq=False)
class KerasLayer:
    """One layer: its class, configuration, and arrays by the last word of their names, such as ``kernel``."""

    kind: str
    name: str
    config: Ledger[Any]
    arrays: Ledger[Array]
    package: str = ""
    """The author of its class, if that is neither Keras, Larq nor QKeras."""
    reads: tuple[str, ...] = ()
    """Names of the layers that it reads."""

    @property
    def where(self) -> str:
        """The layer in error messages."""
        return f"{self.name} ({self.kind})"


def read_layers(
    path: str | Path, weights: str | Path | None = None, *, apart: bool = True
) -> list[KerasLayer]:
    """Read the layers of a model, each after those that it reads, input first.

    Parameters
    ----------
    path
        A file that Keras, Larq or QKeras saved: `.h5`, `.keras`, or `.json`.
    weights
        The weights, if the file has only the layers (`.json`).
    apart
        Whether to run the HDF5 library in a separate process, so that a crash becomes an error.

    Raises
    ------
    FileError
        If the file is damaged, is not a Keras file, or has a model with branches.
    """
    text, contents = _model_and_weights(Path(path), None if weights is None else Path(weights), apart)
    layers = planned_layers(text)
    return [
        KerasLayer(
            layer.kind, layer.name, Ledger(layer.config), Ledger(arrays), _package(layer.raw), layer.reads
        )
        for layer, arrays in zip(layers, _arrays_of_layers(layers, contents), strict=True)
    ]


def _model_and_weights(path: Path, weights: Path | None, apart: bool) -> tuple[str, Contents]:
    try:
        with open_file(path, _MAX_ARCHIVE) as stream:
            start = stream.read(64)
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None
    if start.lstrip()[:1] == b"{":
        return _pair(path, weights, apart)
    if weights is not None:
        raise FileError(
            f"{weights.name} would be left over: weights_file= goes with a model as text (model.to_json()), "
            f"and {path.name} is not one."
        )
    if start[:2] == b"PK":
        return _unpacked(path, apart)
    contents = KERAS.read(path, apart=apart)
    refuse_if(
        not contents.model,
        "it holds weights without a model. Save the model's layers too, as text (model.to_json() in a "
        f"file model.json), and give both: model.json with weights_file={path.name}. Or save all in "
        "one: model.save('net.h5').",
    )
    return contents.model, contents


def _pair(path: Path, weights: Path | None, apart: bool) -> tuple[str, Contents]:
    """Read layers as text, and their weights."""
    weights = required(
        weights,
        "it holds the layers of a model without their weights. Give those too: "
        "weights_file=net.weights.h5, as model.save_weights('net.weights.h5') writes them.",
    )
    try:
        text = read_file(path, _MAX_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"it cannot be read as text: {error}. {DAMAGED}") from None
    with within(weights.name):
        contents = KERAS.read(weights, apart=apart)
    refuse_if(contents.model, f"{weights.name} holds a whole model: read it alone, without {path.name}.")
    return text, contents


def _unpacked(path: Path, apart: bool) -> tuple[str, Contents]:
    """Read a `.keras` file."""
    size = path.stat().st_size
    try:
        with (
            open_file(path, _MAX_ARCHIVE) as packed,
            zipfile.ZipFile(packed) as archive,
            TemporaryDirectory() as folder,
        ):
            files = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            entries = {entry.filename: entry for entry in files}
            refuse_if(
                len(entries) < len(files),
                f"one of its parts is there twice. {DAMAGED}",
            )
            for name in entries:
                refuse_if(
                    name not in (_CONFIG, _ABOUT, _WEIGHTS),
                    f"its part {name[:80]!r} would be left over. {_hint(name)}",
                )
            for name in (_CONFIG, _WEIGHTS):
                refuse_if(name not in entries, f"its part {name!r} is missing. {DAMAGED}")
            refuse_if(
                len(archive.infolist()) > 100
                or sum(entry.file_size for entry in entries.values())
                > min(_MAX_ARCHIVE, max(_FREELY, _RATIO * size)),
                f"its archive unpacks to far more than its {size} bytes. {DAMAGED}",
            )
            refuse_if(
                entries[_CONFIG].file_size > _MAX_TEXT,
                f"its {_CONFIG} has {entries[_CONFIG].file_size} bytes. {DAMAGED}",
            )
            text = archive.read(_CONFIG).decode()
            weights = Path(folder) / _WEIGHTS
            with archive.open(_WEIGHTS) as stream, weights.open("wb") as out:
                copyfileobj(stream, out)
            contents = KERAS.read(weights, apart=apart)
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
    refuse_if(contents.model, f"its {_WEIGHTS} holds a model of its own. {DAMAGED}")
    return text, contents


def _hint(name: str) -> str:
    if name.startswith("model.weights") or name.endswith((".npz", ".json")):
        return "Save the weights in one piece: model.save('net.keras') without max_shard_size."
    return "A model of plain layers has no such part: build it without vocabularies and other assets."


def refuse_tensorflow(path: Path) -> None:
    """Refuse SavedModel folders, `.pb` and TensorFlow's checkpoints, and say how to convert them.

    Examples
    --------
    >>> refuse_tensorflow(Path("net.ckpt"))
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: net.ckpt is a checkpoint of TensorFlow, which holds weights without layers. Load
    it into the Keras model and save that: model.load_weights(...), model.save('net.h5').
    """
    name = path.name.lower().removesuffix(".gz")
    folder = path if path.is_dir() else path.parent
    to = quote(f"{path.name.split('.')[0] or 'net'}.onnx")
    refuse_if(
        name in ("saved_model.pb", "saved_model.pbtxt")
        or (
            path.is_dir() and any((path / file).is_file() for file in ("saved_model.pb", "saved_model.pbtxt"))
        ),
        f"{folder} is a SavedModel of TensorFlow, which holds a program and not layers. Where TensorFlow "
        'is installed, save its layers: python -c "import tensorflow as tf; '
        f"tf.keras.models.load_model({str(folder)!r}).save('net.h5')\", or convert it: "
        f"python -m tf2onnx.convert --saved-model {quote(str(folder))} --output {to}",
    )
    refuse_if(
        name.endswith(".pb"),
        f"{path} is a graph of TensorFlow, which holds a program and not layers. Convert it: "
        f"python -m tf2onnx.convert --graphdef {quote(str(path))} --output {to} --inputs ... --outputs "
        "..., with the names of its first and last tensor; or save the Keras model: model.save('net.h5').",
    )
    refuse_if(
        name.endswith((".ckpt", ".index", ".meta")) or ".data-00000-of-" in name,
        f"{path} is a checkpoint of TensorFlow, which holds weights without layers. Load it into the "
        "Keras model and save that: model.load_weights(...), model.save('net.h5').",
    )
