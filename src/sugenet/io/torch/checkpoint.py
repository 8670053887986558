"""Arrays out of PyTorch checkpoints, without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import check_numbers
from sugenet.io.torch.reader import require_torch
from sugenet.io.torch.saved import PLAIN, OtherObject, SavedTensor, open_saved

__all__ = ["Arrays", "arrays_of_state", "read_checkpoint"]

Arrays = dict[str, npt.NDArray[Any]]
"""Parameters by name, as they stand in the file."""

_MAX_NAME = 1 << 10
_INSIDE = ("state_dict", "model_state_dict", "model", "net", "network")


def read_checkpoint(path: str | Path) -> Arrays:
    """The parameters in a `.pt`, `.pth` or `.tar` file of `torch.save`: a state dict,
    or a dict that holds one.

    Raises
    ------
    FileError
        For a damaged file, one that needs code to be run, or one whose tensors claim more memory
        than the file has.
    """
    place = Path(path)
    try:
        with open_saved(place) as found:
            return arrays_of_state(_read(_state(found), place.stat().st_size))
    except FileError as error:
        raise FileError(f"{place.name}: {error}") from None


def arrays_of_state(state: Mapping[str, Any]) -> Arrays:
    """Tensors or arrays by name, as arrays; names lose the ``module.`` of data-parallel training.

    Examples
    --------
    >>> arrays_of_state({"module.fc.weight": np.ones((2, 3))})
    {'fc.weight': array([[1., 1., 1.],
           [1., 1., 1.]])}
    >>> arrays_of_state({"fc.weight": np.ones((2, 3)), "fc.scale": 0.5})
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: 'fc.scale' is a float and no tensor, so what it means is not known. Take it
    out, or save the parameters alone: torch.save(model.state_dict(), path).
    """
    arrays = {}
    for name, value in state.items():
        if not isinstance(name, str) or len(name) > _MAX_NAME:
            raise FileError(f"a state dict has names, but {str(name)[:80]!r} is none. {PLAIN}")
        if "_packed_params" in name or getattr(value, "is_quantized", False):
            raise FileError(
                f"{name[:80]!r} is of a quantized module, whose file does not say how its layers follow each "
                "other. Load it into the module and read that: from_torch(module, example)."
            )
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif hasattr(value, "detach"):
            arrays[name] = _array(name, value)
        else:
            raise FileError(
                f"{name[:80]!r} is a {_kind(value)} and no tensor, so what it means is not known. "
                f"Take it out, or s{PLAIN[1:]}"
            )
    if not arrays:
        raise FileError(f"no tensor stands in it. {PLAIN}")
    if all(name.startswith("module.") for name in arrays):
        arrays = {name.removeprefix("module."): array for name, array in arrays.items()}
    for name, array in arrays.items():
        check_numbers(repr(name[:80]), array)
    return arrays


def _read(state: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The tensors of a file of so many bytes as arrays."""
    for name, value in state.items():
        if isinstance(value, SavedTensor) and prod(value.shape) * value.storage.itemsize > size:
            raise FileError(
                f"{str(name)[:80]!r} of shape {value.shape} takes more than the {size} bytes of the file."
            )
    return {name: value.array() if isinstance(value, SavedTensor) else value for name, value in state.items()}


def _kind(value: Any) -> str:
    return value.name if isinstance(value, OtherObject) else type(value).__name__


def _state(found: Any) -> Mapping[str, Any]:
    for _ in _INSIDE:  # a pickle may hold itself
        inside = [
            key for key in _INSIDE if isinstance(found, Mapping) and isinstance(found.get(key), Mapping)
        ]
        if len(inside) > 1:
            raise FileError(
                f"it holds several state dicts: {', '.join(inside)}. Save the one of the network alone, or "
                f"give it as a dict."
            )
        found = found[inside[0]] if inside else found
    if not isinstance(found, Mapping):
        raise FileError(f"it holds a {_kind(found)} and no state dict. {PLAIN}")
    return found


def _array(name: str, tensor: Any) -> npt.NDArray[Any]:
    torch = require_torch()
    if (
        not isinstance(tensor, torch.Tensor)
        or tensor.layout != torch.strided
        or tensor.device.type != "cpu"
        or tensor.is_quantized
    ):
        raise FileError(f"{name[:80]!r} is no plain tensor. {PLAIN}")
    if tensor.is_complex():
        raise FileError(f"{name[:80]!r} holds complex numbers.")
    plain = tensor.detach()
    if plain.dtype in (torch.float16, torch.bfloat16):
        plain = plain.float()
    return np.array(plain.numpy())
