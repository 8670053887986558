"""Checkpoints: a training run on disk after every epoch, so that it can go on where it stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError, SugenetError
from sugenet.files import write_bytes
from sugenet.fit.progress import Epoch
from sugenet.io.torch.saved import SavedTensor, open_saved

__all__ = ["Checkpoint", "read_checkpoint", "run_mark", "unreadable", "write_checkpoint"]

_FORMAT = "sugenet checkpoint 1"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run after its last whole epoch: module, optimizer, history, and the best module so far."""

    mark: str
    """Of the data and settings it belongs to."""
    history: tuple[Epoch, ...]
    module: dict[str, Any]
    optimizer: dict[str, Any]
    best: dict[str, Any]
    best_epoch: int


def run_mark(description: dict[str, Any], *arrays: npt.NDArray[Any]) -> str:
    """SHA-256 of what decides a run: settings and shapes as JSON, then the encoded data."""
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write all or nothing: a run that is killed while writing leaves the checkpoint before it."""
    import torch

    content = {
        "format": _FORMAT,
        "mark": checkpoint.mark,
        "history": [asdict(epoch) for epoch in checkpoint.history],
        "module": checkpoint.module,
        "optimizer": checkpoint.optimizer,
        "best": checkpoint.best,
        "best_epoch": checkpoint.best_epoch,
    }
    raw = BytesIO()
    torch.save(content, raw)
    write_bytes(path, raw.getvalue())


def unreadable(path: Path, error: Exception) -> SugenetError:
    """What to say of a file that is no checkpoint, or a broken one."""
    return SugenetError(
        f"{path.name} is no checkpoint that can be read ({type(error).__name__}). Delete it, or give another."
    )


def _with_tensors(value: Any, known: dict[int, Any]) -> Any:
    """Saved values with tensors of PyTorch; one that is there several times is made once."""
    import torch

    if id(value) not in known:
        if isinstance(value, SavedTensor):
            known[id(value)] = torch.from_numpy(value.array())
        elif isinstance(value, dict):
            known[id(value)] = {key: _with_tensors(part, known) for key, part in value.items()}
        elif isinstance(value, list):
            known[id(value)] = [_with_tensors(part, known) for part in value]
        else:
            return value
    return known[id(value)]


def read_checkpoint(path: Path, mark: str) -> Checkpoint | None:
    """Read a checkpoint, or return None where there is no file; nothing in the file is run."""
    if not path.exists():
        return None
    try:
        with open_saved(path) as saved_values:
            content = _with_tensors(saved_values, {})
        found = content["format"] == _FORMAT
    except (FileError, KeyError, TypeError, RecursionError) as error:
        raise unreadable(path, error) from error
    if not found:
        raise SugenetError(
            f"{path.name} is a checkpoint of another version ({content['format']!r}). Delete it, "
            f"or give another."
        )
    try:
        history = tuple(Epoch(**epoch) for epoch in content["history"])
        saved = Checkpoint(
            content["mark"],
            history,
            content["module"],
            content["optimizer"],
            content["best"],
            int(content["best_epoch"]),
        )
        whole = 1 <= saved.best_epoch <= len(history) and all(
            epoch.number == at for at, epoch in enumerate(history, start=1)
        )
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(path, error) from error
    if saved.mark != mark:
        raise SugenetError(
            f"{path.name} belongs to a run with other data, layers or settings. Give these to go on with it, "
            "delete it, or give another name to start anew."
        )
    if not whole:
        raise SugenetError(
            f"{path.name} is a checkpoint whose epochs do not fit together. Delete it, or give another."
        )
    return saved
