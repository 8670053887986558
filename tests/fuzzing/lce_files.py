"""Binarized files that Larq Compute Engine made and ran (`lce_maker`), against what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io import Integers, read_tflite

__all__ = ["compare", "made", "outcome"]

_NEAR = 1e-5


def made(folder: Path) -> list[Path]:
    """The files of a folder."""
    return sorted(folder.glob("*.tflite"), key=lambda path: int(path.stem))


def outcome(path: Path) -> str:
    """Read one file and compare its scores with the recorded outputs: "equal", or what is wrong.

    The program adds in float32: a sample is passed over if it is within rounding of a sign.
    """
    with np.load(path.with_suffix(".npz")) as recorded:
        samples, outputs = recorded["samples"], recorded["outputs"]
    try:
        network = read_tflite(path, inputs=Integers(-4, 4))
    except FileError as error:
        return f"different: {error}" if "please report" in str(error) else f"refused: {error}"
    rows = samples.reshape(len(samples), -1)
    mine = network.head.logits(network.match_counts(rows))
    if any("SOFTMAX" in remark for remark in network.report.remarks):
        wide = np.exp(mine - mine.max(axis=1, keepdims=True))
        mine = wide / wide.sum(axis=1, keepdims=True)
    theirs = np.asarray(outputs, np.float64).reshape(len(rows), -1)
    if mine.shape != theirs.shape:
        return f"different: shape {theirs.shape}, not {mine.shape}"
    off = np.abs(mine - theirs).max(axis=1) > 1e-4 * max(1.0, float(np.abs(theirs).max()))
    off &= ~_close(path, samples)
    if off.any():
        row = int(np.argmax(off))
        return f"different: sample {row}: {theirs[row]}, not {mine[row]} ({int(off.sum())} of {len(off)})"
    return "equal"


def _close(path: Path, samples: Any) -> Any:
    """Whether a value before a sign is so near 0 that float32 can have another sign."""
    from sugenet.io.exact.ops import Sign, every
    from sugenet.io.tflite.binary import chain_of_file
    from sugenet.io.tflite.binary_interpreter import interpreter_of_file
    from sugenet.io.tflite.file import read_tflite_file

    file = read_tflite_file(path)
    signs = [op.where for op in every(chain_of_file(file).ops) if isinstance(op, Sign)]
    near = np.zeros(len(samples), bool)
    for stage in interpreter_of_file(file, signs).run(samples.astype(np.float64)).stages:
        size = np.abs(stage.before).reshape(len(samples), -1)
        near |= ((size > 0) & (size < _NEAR * max(1.0, float(size.max())))).any(axis=1)
    return near


def compare(path: Path) -> bool | None:
    """Whether all outputs are equal; None if the file is refused."""
    found = outcome(path)
    return None if found.startswith("refused") else found == "equal"
