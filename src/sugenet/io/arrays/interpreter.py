"""Run networks stored as plain arrays like the programs of their authors, to verify the reader."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sugenet.io.proof.interpreters import SourceInterpreter, Stage, interpreter_of_stages
from sugenet.nn.arrays import Array
from sugenet.reading import open_text

__all__ = ["interpreter_of_arrays", "interpreter_of_folder"]

_MAX_CSV = 1 << 26
_BLOCKS = "blocks computed in float64 by NumPy"


def interpreter_of_arrays(
    arrays: Mapping[str, Array], features: int | None, outputs: int | None, above: float | None
) -> SourceInterpreter:
    """Return an interpreter that counts matches, or computes blocks in float64."""
    if "W0" in arrays:
        return interpreter_of_stages(
            "match counts counted by NumPy",
            lambda x, stages: _counted(arrays, features, outputs, above or 0, x, stages),
        )
    return interpreter_of_stages(_BLOCKS, lambda x, stages: _blocks(arrays, x, stages))


def interpreter_of_folder(folder: str | Path) -> SourceInterpreter:
    """Return an interpreter that reads the CSV files again and computes in float64."""
    return interpreter_of_stages(_BLOCKS, lambda x, stages: _folder(Path(folder), x, stages))


def _counted(
    arrays: Mapping[str, Array],
    features: int | None,
    outputs: int | None,
    above: float,
    x: Array,
    stages: list[Stage],
) -> Array:
    on = x > above
    stages.append(Stage.of_bits("inputs", x - above, on))
    on = np.pad(on, ((0, 0), (0, 0 if features is None else arrays["W0"].shape[1] - features)))
    number = 0
    while True:
        bits = arrays[f"W{number}"] == 1
        matches = np.array([(bits == row).sum(axis=1) for row in on]).reshape(len(on), len(bits))
        number += 1
        if f"W{number}" not in arrays:
            break
        limits = arrays[f"T{number - 1}"].astype(np.float64)
        on = matches > limits
        stages.append(Stage.of_bits(f"T{number - 1}", matches - np.floor(limits) - 0.5, on))
    return np.asarray(2.0 * matches[:, :outputs] - bits.shape[1])


def _signed(stages: list[Stage], name: str, x: Array) -> Array:
    stages.append(Stage(name, x, x >= 0, x < 0))
    return np.where(x >= 0, 1.0, -1.0)


def _blocks(arrays: Mapping[str, Array], x: Array, stages: list[Stage]) -> Array:
    def normed(name: str, x: Array) -> Array:
        gamma, beta, mean, var = (
            arrays[f"{name}/{part}"].astype(np.float64) for part in ("gamma", "beta", "avg_mean", "avg_var")
        )
        return np.asarray((x - mean) / np.sqrt(var + 2e-5) * gamma + beta)

    def linear(name: str, x: Array) -> Array:
        out = x @ arrays[f"{name}/W"].astype(np.float64).T
        return np.asarray(out + arrays[f"{name}/b"] if f"{name}/b" in arrays else out)

    if "input_bn/gamma" in arrays:
        x = _signed(stages, "input_bn", normed("input_bn", x))
    number = 0
    while f"blocks/{number}/lin/W" in arrays:
        x = _signed(
            stages, f"blocks/{number}", normed(f"blocks/{number}/bn", linear(f"blocks/{number}/lin", x))
        )
        number += 1
    return linear("output_lin", x)


def _folder(folder: Path, x: Array, stages: list[Stage]) -> Array:
    def table(block: str, name: str) -> Array:
        with open_text(folder / block / f"{name}.csv", _MAX_CSV) as lines:
            return np.loadtxt(lines, delimiter=",", ndmin=2)

    def linear(block: str, x: Array) -> Array:
        return np.asarray(x @ table(block, "lin_weight").T + table(block, "lin_bias").reshape(-1))

    on = x > 0
    stages.append(Stage.of_bits("inputs", x, on))
    x = np.where(on, 1.0, -1.0)
    number = 1
    while (folder / f"blk{number}").is_dir():
        block = f"blk{number}"
        gamma, beta, mean, var = (
            table(block, f"bn_{part}").reshape(-1) for part in ("weight", "bias", "mean", "var")
        )
        x = _signed(stages, block, (linear(block, x) - mean) / np.sqrt(var) * gamma + beta)
        number += 1
    return linear("out_blk", x)
