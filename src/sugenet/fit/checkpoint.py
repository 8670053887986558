"""Checkpoints: a training run on disk after every epoch, so that it can go on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import SugenetError
from sugenet.fit.progress import Epoch

__all__ = ["Checkpoint", "read_checkpoint", "run_mark", "write_checkpoint"]

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

    unfinished = path.with_name(path.name + ".part")
    content = {
        "format": _FORMAT,
        "mark": checkpoint.mark,
        "history": [asdict(epoch) for epoch in checkpoint.history],
        "module": checkpoint.module,
        "optimizer": checkpoint.optimizer,
        "best": checkpoint.best,
        "best_epoch": checkpoint.best_epoch,
    }
    torch.save(content, unfinished)
    os.replace(unfinished, path)


def read_checkpoint(path: Path, mark: str) -> Checkpoint | None:
    """Read a checkpoint, or return None where there is no file; nothing in the file is run (``weights_only=True``)."""
    import torch

    if not path.exists():
        return None
    try:
        content = torch.load(path, weights_only=True)
        found = content["format"] == _FORMAT
    except Exception as error:  # torch reports broken files in many ways
        raise SugenetError(
            f"{path.name} is no checkpoint that can be read ({type(error).__name__}). Delete it, or give another."
        ) from error
    if not found:
        raise SugenetError(f"{path.name} is a checkpoint of another version ({content['format']!r}). Delete it, or give another.")
    if content["mark"] != mark:
        raise SugenetError(
            f"{path.name} belongs to a run with other data, layers or settings. Give these to go on with it, delete it, "
            "or give another name to start anew."
        )
    history = tuple(Epoch(**epoch) for epoch in content["history"])
    return Checkpoint(mark, history, content["module"], content["optimizer"], content["best"], content["best_epoch"])
