"""Arrays out of PyTorch checkpoints.

Nothing in a file is run: it is loaded with ``weights_only=True`` and never otherwise.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.sizes import check_numbers
from sugenet.io.torch.reader import require_torch

__all__ = ["Arrays", "arrays_of_state", "read_checkpoint"]

Arrays = dict[str, npt.NDArray[Any]]
"""Parameters by name, as they stand in the file."""

_MAX_FILE = 1 << 30
_MAX_TENSORS = 100_000
_INSIDE = ("state_dict", "model_state_dict", "model", "net", "network")
_PLAIN = "Save the parameters alone: torch.save(model.state_dict(), path)."


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
        return arrays_of_state(_state(_loaded(place)), limit=place.stat().st_size)
    except FileError as error:
        raise FileError(f"{place.name}: {error}") from None


def arrays_of_state(state: Mapping[str, Any], limit: int | None = None) -> Arrays:
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
        if not isinstance(name, str):
            raise FileError(f"a state dict has names, but {str(name)[:80]!r} is none. {_PLAIN}")
        if "_packed_params" in name or getattr(value, "is_quantized", False):
            raise FileError(
                f"{name[:80]!r} is of a quantized module, whose file does not say how its layers follow each "
                "other. Load it into the module and read that: from_torch(module, example)."
            )
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif hasattr(value, "detach"):
            arrays[name] = _array(name, value, limit)
        else:
            raise FileError(
                f"{name[:80]!r} is a {type(value).__name__} and no tensor, so what it means is not known. "
                f"Take it out, or s{_PLAIN[1:]}"
            )
    if not arrays:
        raise FileError(f"no tensor stands in it. {_PLAIN}")
    if all(name.startswith("module.") for name in arrays):
        arrays = {name.removeprefix("module."): array for name, array in arrays.items()}
    for name, array in arrays.items():
        check_numbers(repr(name[:80]), array)
    return arrays


def _loaded(path: Path) -> Any:
    torch = require_torch()
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None
    if not 0 < size <= _MAX_FILE:
        raise FileError(f"it has {size} bytes; a checkpoint has 1 to {_MAX_FILE} (1 GiB).")
    if start == b"PK\x03\x04":
        _check_archive(path, size)
    elif start[:1] != b"\x80":
        raise FileError("it is no checkpoint of torch.save: neither a zip archive nor a pickle.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        needs = re.search(
            r"GLOBAL (\S+) (?:was not an allowed global|whose module \S+ is blocked)", str(error)
        )
        if needs:
            raise FileError(
                f"reading it would run code ({needs[1][:80]}), which is never done. {_PLAIN}"
            ) from None
        found = re.search(r"WeightsUnpickler error: *(\S[^\n]*)", str(error)) or re.search(
            r"(\S[^\n]*)", str(error)
        )
        raise FileError(
            f"PyTorch cannot read it: {found[1][:160] if found else type(error).__name__}. {_PLAIN}"
        ) from None


def _check_archive(path: Path, size: int) -> None:
    """Refuse archives that unpack to more than they are, before anything is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise FileError(f"its archive is damaged: {error}.") from None
    if any(entry.filename.endswith("constants.pkl") or "/code/" in entry.filename for entry in entries):
        raise FileError(f"it is a TorchScript archive, which holds code. {_PLAIN}")
    if (
        any(entry.compress_type for entry in entries)
        or sum(entry.file_size for entry in entries) > size
        or len(entries) > _MAX_TENSORS
    ):
        raise FileError(f"its archive unpacks to more than its {size} bytes, which torch.save never does.")


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
        raise FileError(f"it holds a {type(found).__name__} and no state dict. {_PLAIN}")
    return found


def _array(name: str, tensor: Any, limit: int | None) -> npt.NDArray[Any]:
    torch = require_torch()
    if (
        not isinstance(tensor, torch.Tensor)
        or tensor.layout != torch.strided
        or tensor.device.type != "cpu"
        or tensor.is_quantized
    ):
        raise FileError(f"{name[:80]!r} is no plain tensor. {_PLAIN}")
    if tensor.is_complex():
        raise FileError(f"{name[:80]!r} holds complex numbers.")
    if limit is not None and tensor.numel() * tensor.element_size() > limit:
        raise FileError(
            f"{name[:80]!r} of shape {tuple(tensor.shape)} takes more than the {limit} bytes of the file."
        )
    plain = tensor.detach()
    if plain.dtype in (torch.float16, torch.bfloat16):
        plain = plain.float()
    return np.array(plain.numpy())
