"""One Keras model in every way that Keras keeps models: whole, as layers and weights, as an archive, and with
some of its layers as a model within.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import h5py

__all__ = ["WAYS", "save", "with_model_within"]

WAYS = ("h5", "pair", "places", "archive")
_ORDER = ("kernel", "depthwise_kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance")

Layer = tuple[str, dict[str, Any], dict[str, Any]]
Entries = list[dict[str, Any]]


def with_model_within(entries: Entries, random: Random, functional: bool) -> Entries:
    """The same layers, some that follow each other as a model of their own."""
    start = random.randint(1, len(entries) - 1)
    end = random.randint(start + 1, len(entries))
    inside, name = entries[start:end], "within"
    kind = random.choice(["Sequential", "Functional"])
    given = {"class_name": "InputLayer", "config": {"name": "in_1"}, "name": "in_1", "inbound_nodes": []}
    first = {**inside[0], "inbound_nodes": [[["in_1", 0, 0, {}]]]}
    ends = {"input_layers": [["in_1", 0, 0]], "output_layers": [[inside[-1]["name"], 0, 0]]}
    model = {
        "class_name": kind,
        "config": {
            "name": name,
            "layers": [given, first, *inside[1:]],
            **(ends if kind != "Sequential" else {}),
        },
        "name": name,
        "inbound_nodes": inside[0]["inbound_nodes"],
    }
    after = entries[end:]
    if after:
        after[0] = {**after[0], "inbound_nodes": [[[name, 1 if functional else 0, 0, {}]]]}
    return [*entries[:start], model, *after]


def save(
    folder: Path, model: dict[str, Any], weights: dict[str, dict[str, Any]], way: str
) -> tuple[Path, Path | None]:
    """The files of a model, and of its weights where they are apart; `weights` by the name of a layer."""
    entries = model["config"]["layers"]
    if way == "h5":
        with h5py.File(folder / "net.h5", "w") as file:
            file.attrs["keras_version"], file.attrs["backend"] = b"2.4.0", b"tensorflow"
            file.attrs["model_config"] = json.dumps(model).encode()
            _by_name(file.create_group("model_weights"), entries, weights)
        return folder / "net.h5", None
    with h5py.File(folder / "net.weights.h5", "w") as file:
        if way == "pair":
            _by_name(file, entries, weights)
        else:
            file.create_group("layers")
            _by_index(file, "", entries, weights)
    if way == "archive":
        with zipfile.ZipFile(folder / "net.keras", "w") as archive:
            archive.writestr("metadata.json", json.dumps({"keras_version": "3.0.0"}))
            archive.writestr("config.json", json.dumps(model))
            archive.write(folder / "net.weights.h5", "model.weights.h5")
        return folder / "net.keras", None
    (folder / "net.json").write_text(json.dumps(model))
    return folder / "net.json", folder / "net.weights.h5"


def _by_name(root: Any, entries: Entries, weights: dict[str, dict[str, Any]]) -> None:
    root.attrs["layer_names"] = [entry["name"].encode() for entry in entries]
    for entry in entries:
        group = root.create_group(entry["name"])
        inside = entry["config"].get("layers", [entry])
        rows = {
            f"{layer['name']}/{word}:0": array
            for layer in inside
            for word, array in weights.get(layer["name"], {}).items()
        }
        group.attrs["weight_names"] = [name.encode() for name in rows]
        for name, array in rows.items():
            group.create_dataset(name, data=array)


def _by_index(file: Any, above: str, entries: Entries, weights: dict[str, dict[str, Any]]) -> None:
    counts: dict[str, int] = {}
    for entry in entries:
        word = _snake(entry["class_name"])
        number = counts[word] = counts.get(word, -1) + 1
        path = f"{above}layers/{word}{f'_{number}' if number else ''}"
        if "layers" in entry["config"]:
            _by_index(file, f"{path}/", entry["config"]["layers"], weights)
        arrays = weights.get(entry["name"], {})
        names = sorted(arrays, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
        for place, name in enumerate(names):
            file.create_dataset(f"{path}/vars/{place}", data=arrays[name])


def _snake(name: str) -> str:
    """Words of a class name in small letters: QuantConv2D is quant_conv2d."""
    return re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", name).lower()
