"""Which arrays belong to which layer: by the names that Keras 2 gives them, or by their places in Keras 3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.hdf5 import Contents
from sugenet.io.larq.hdf5_contents import CONTAINERS, DAMAGED
from sugenet.io.larq.keras_model import PlannedLayer

__all__ = ["arrays_of_layers"]

_Arrays = dict[str, npt.NDArray[Any]]
_RANDOM = "seed_generator"
"""State of random numbers, which a network that is used and not trained does not draw."""


def arrays_of_layers(layers: Sequence[PlannedLayer], contents: Contents) -> list[_Arrays]:
    """For each layer its arrays by the word that it knows them by: ``kernel``, ``gamma``.

    Raises
    ------
    FileError
        For arrays that belong to no layer, or where it is not known to which.
    """
    found = _by_place(layers, contents) if "names" in contents.notes else _by_name(layers, contents)
    for layer, arrays in zip(layers, found, strict=True):
        if "Depthwise" in layer.kind and "kernel" in arrays:  # its name in Keras 3
            arrays["depthwise_kernel"] = arrays.pop("kernel")
    return found


# -- by name: model_weights/dense/dense/kernel:0 -------------------------------------------------------------


def _by_name(layers: Sequence[PlannedLayer], contents: Contents) -> list[_Arrays]:
    found: list[_Arrays] = [{} for _ in layers]
    for group, arrays in contents.arrays.items():
        inside = [k for k, layer in enumerate(layers) if layer.path[0] == group]
        if arrays and not inside:
            raise FileError(
                f"the arrays of {group[:80]!r} would be left over: "
                f"the model has no layer of that name. {DAMAGED}"
            )
        for name, array in arrays.items():
            *folders, last = name.split("/")
            owner = inside[0] if len(layers[inside[0]].path) == 1 else _owner(layers, inside, group, folders)
            word = last.split(":")[0]
            if word in found[owner]:
                raise FileError(
                    f"{'/'.join(layers[owner].path)}: two arrays are called {word[:80]!r}. {DAMAGED}"
                )
            if _RANDOM not in folders:
                found[owner][word] = array
    return found


def _owner(layers: Sequence[PlannedLayer], inside: list[int], group: str, folders: list[str]) -> int:
    """The layer of a model within that an array belongs to: the last folder of its name is the layer's, those
    before it are models that it stands in.
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


# -- by place: layers/sequential/layers/dense_1/vars/0 -------------------------------------------------------


def _by_place(layers: Sequence[PlannedLayer], contents: Contents) -> list[_Arrays]:
    paths = [path for path in contents.arrays if _RANDOM not in path.split("/")]
    owners: dict[str, int] = {}
    _match(layers, list(range(len(layers))), 0, "", paths, contents.notes["names"], owners)
    for path in paths:
        if path not in owners:
            raise FileError(
                f"the arrays of {path[:80] or 'the model itself'!r} would be left over: the model has no "
                f"layer that they belong to. {DAMAGED}"
            )
    found: list[_Arrays] = [{} for _ in layers]
    for path, owner in owners.items():
        words = _words(layers[owner])
        for place, array in contents.arrays[path].items():
            known = place.isdecimal() and int(place) < len(words)
            found[owner][words[int(place)] if known else f"vars/{place}"] = array
    return found


def _match(
    layers: Sequence[PlannedLayer],
    inside: list[int],
    depth: int,
    above: str,
    paths: list[str],
    names: dict[str, str],
    owners: dict[str, int],
) -> None:
    """Give the paths below a model to its layers: each class counts its own, in the order of the list."""
    for container in CONTAINERS:
        start = f"{above}/{container}/" if above else f"{container}/"
        below = sorted({path[len(start) :].split("/")[0] for path in paths if path.startswith(start)})
        for word in sorted({_snake(layers[k].classes[depth]) for k in inside}):
            members: dict[str, list[int]] = {}
            for k in sorted(inside, key=lambda k: layers[k].place):
                if _snake(layers[k].classes[depth]) == word:
                    members.setdefault(layers[k].path[depth], []).append(k)
            numbered = {name: _count(word, name) for name in below}
            groups = sorted((n for n in below if numbered[n] is not None), key=lambda n: numbered[n] or 0)
            for group, name in zip(groups, _names(start, groups, list(members), names), strict=True):
                own, path = members[name], start + group
                if len(layers[own[0]].path) > depth + 1:
                    _match(layers, own, depth + 1, path, paths, names, owners)
                elif path in paths:
                    owners[path] = own[0]


def _names(start: str, groups: list[str], members: list[str], names: dict[str, str]) -> list[str]:
    """For each group of one class the name of its layer: as the file says it, else in their order."""
    said = [names.get(start + group) for group in groups]
    if groups and len(set(said)) == len(said) and all(name in members for name in said):
        return [str(name) for name in said]
    if len(groups) not in (0, len(members)):
        raise FileError(
            f"{start}{groups[0]}: {len(groups)} groups of arrays for {len(members)} layers, and their names "
            f"do not tell which is whose. {DAMAGED}"
        )
    return members if groups else []


def _count(word: str, group: str) -> int | None:
    found = re.fullmatch(rf"{re.escape(word)}(?:_([0-9]{{1,9}}))?", group)
    return None if found is None else int(found[1] or 0)


def _snake(name: str) -> str:
    """A class as Keras writes it in paths: QuantConv2D as quant_conv2d."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _words(layer: PlannedLayer) -> list[str]:
    """The arrays of a layer in the order in which it makes them."""
    if layer.kind.startswith("BatchNormalization"):
        parts = [("gamma", "scale"), ("beta", "center")]
        return [word for word, key in parts if layer.config.get(key, True)] + [
            "moving_mean",
            "moving_variance",
        ]
    return ["kernel", "bias"] if layer.config.get("use_bias", True) else ["kernel"]
