"""What questions name: classes, features, limits and raw values, and each read back from JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sugenet.bnn import Network, OneHot
from sugenet.checker.form import exact
from sugenet.errors import QuestionError
from sugenet.problem.boxes import Box, limits_of
from sugenet.problem.neighbourhood import place_of

__all__ = ["box_of", "class_of", "class_or_none", "number_in", "places", "raw_of"]


def raw_of(network: Network, row: Iterable[Any]) -> tuple[Any, ...]:
    """A raw sample from its JSON: numbers that are written as text are exact fractions."""
    pairs = zip(network.encoder.codings, row, strict=True)
    return tuple(value if isinstance(coding, OneHot) else number_in(value) for coding, value in pairs)


def number_in(value: Any) -> Any:
    """A number that may be written as a fraction; other text stays as it is."""
    return exact(value) if isinstance(value, str) and str(exact(value)) == value else value


def class_of(network: Network, label: Any) -> int:
    """Number of a class given by name or number."""
    if isinstance(label, str) and label in network.classes:
        return network.classes.index(label)
    if (
        isinstance(label, bool)
        or not isinstance(label, int | np.integer)
        or not 0 <= label < len(network.classes)
    ):
        raise QuestionError(
            f"there is no class {label!r}. The classes are {', '.join(network.class_words)}, numbered from 0."
        )
    return int(label)


def class_or_none(network: Network, label: Any) -> int | None:
    """Number of a class, where one is given."""
    return None if label is None else class_of(network, label)


def places(network: Network, features: Iterable[Any]) -> list[int]:
    """Numbers of features, each once."""
    return list(dict.fromkeys(place_of(network, feature) for feature in features))


def box_of(network: Network, limits: Iterable[Any]) -> Box:
    """Limits from their JSON, with features by their names."""
    names = network.encoder.names
    return Box([(names[feature], limit) for feature, limit in limits_of(limits, network).limits])
