"""Networks kept as plain arrays: `.npz` files of two conventions, and BNNQuanalyst's folders of CSV files, as chains of operations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, BatchNorm, Chain, Linear, Op, Sign
from sugenet.io.packed import open_archive

__all__ = ["read_arrays", "read_bnnquanalyst", "read_npz"]

_CHAINER_EPS = 2e-5
_MAX_BYTES = 1 << 29
_MAX_CSV = 1 << 27
_MAX_BLOCKS = 1000
_PARTS = ("weight", "bias", "mean", "var")


def read_npz(path: str | Path, *, inputs: int | None = None, classes: int | None = None, above: float | None = None) -> Chain:
    """A network in a NumPy `.npz` file, by the names of its arrays.

    ================================== =========================================================================================
    names                              meaning
    ================================== =========================================================================================
    ``input_bn/*``, ``blocks/0/lin/*``, the networks of msakai's BNN verification: pixels in 0..1, batch norm (``gamma``, ``beta``,
    ``blocks/0/bn/*``, ...,             ``avg_mean``, ``avg_var``; eps 2e-5) and sign, blocks of linear layer (``W``, ``b``), batch norm and
    ``output_lin/*``                    sign, and a linear output. ``input_bn`` may be missing: then inputs are bits
    ``W0``, ``T0``, ``W1``, ...         match counts, as in BNN-PYNQ: rows of bits, 1 for +1 and 0 for -1; a neuron is active iff its
                                        matches are more than ``T``; the scores are the last match counts
    ================================== =========================================================================================

    Parameters
    ----------
    inputs
        For W and T: how many inputs there are; columns beyond are padding that is always off.
    classes
        For W and T: how many of the last rows are classes.
    above
        For W and T: an input is on iff the raw number is above this; None when inputs are bits already.
    """
    name = Path(path).name
    try:
        arrays = read_arrays(path)
        if any(key.startswith("blocks/") for key in arrays):
            return _msakai(name, arrays)
        if "W0" in arrays and "T0" in arrays:
            return _match_counts(name, arrays, inputs, classes, above)
        raise FileError(
            f"its arrays {', '.join(list(arrays)[:6])} follow no known convention: blocks/0/lin/W and so on, or W0, T0, W1, T1 and so on."
        )
    except FileError as error:
        raise FileError(f"{name}: {error}") from None


def read_arrays(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of a `.npz` file, without pickles; every size is checked before memory is taken."""
    try:
        with open_archive(path, _MAX_BYTES) as archive:
            return {name: _finite(name, archive.read(name)) for name in archive.names}
    except OSError as error:
        raise FileError(f"it cannot be read: {error.strerror or error}.") from None


def _finite(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.itemsize > 8:
        raise FileError(f"array {name[:80]!r} is of type {array.dtype}, but numbers of up to 64 bits are needed.")
    if not np.isfinite(array).all():
        raise FileError(f"array {name[:80]!r} holds numbers that are not finite.")
    return array


def _get(arrays: dict[str, npt.NDArray[Any]], name: str, ndim: int, rows: int | None = None) -> npt.NDArray[Any]:
    array = arrays.get(name)
    if array is None:
        raise FileError(f"there is no array {name!r}.")
    if array.ndim != ndim or not array.size or (rows is not None and len(array) != rows):
        wanted = f"({rows}, ...)" if ndim == 2 and rows else f"({rows},)" if rows else f"{ndim} dimensions"
        raise FileError(f"array {name!r} has shape {array.shape}, but {wanted} is needed.")
    return array


def _check_width(name: str, weights: npt.NDArray[Any], width: int | None) -> None:
    if width is not None and weights.shape[1] != width:
        raise FileError(f"array {name!r} has {weights.shape[1]} weights a neuron, but {width} values come in.")


def _msakai(source: str, arrays: dict[str, npt.NDArray[Any]]) -> Chain:
    def norm(name: str, size: int | None) -> BatchNorm:
        mean = _get(arrays, f"{name}/avg_mean", 1, size)
        rows = [_get(arrays, f"{name}/{part}", 1, len(mean)) for part in ("gamma", "beta")]
        var = _get(arrays, f"{name}/avg_var", 1, len(mean))
        if (var < 0).any():
            raise FileError(f"{name}/avg_var is negative at {int(np.argmax(var < 0))}.")
        return BatchNorm(name, rows[0], rows[1], mean, var, _CHAINER_EPS)

    def linear(name: str, width: int | None) -> Linear:
        weights = _get(arrays, f"{name}/W", 2)
        _check_width(f"{name}/W", weights, width)
        return Linear(name, weights, _get(arrays, f"{name}/b", 1, len(weights)) if f"{name}/b" in arrays else None)

    ops: list[Op] = []
    width = None
    if "input_bn/avg_mean" in arrays:
        first = norm("input_bn", None)
        ops, width = [first, Sign("input_bn sign")], len(first.mean)
    shape = None if width is None else (width,)
    for block in range(sum(key.startswith("blocks/") and key.endswith("/lin/W") for key in arrays)):
        layer = linear(f"blocks/{block}/lin", width)
        shape, width = shape or layer.weights.shape[1:], len(layer.weights)
        ops += [layer, norm(f"blocks/{block}/bn", width), Sign(f"blocks/{block} sign")]
    ops.append(linear("output_lin", width))
    assert shape is not None
    return Chain(source, shape, tuple(ops))


def _match_counts(source: str, arrays: dict[str, npt.NDArray[Any]], inputs: int | None, classes: int | None, above: float | None) -> Chain:
    """Matches > T is 2 M - n > 2 T - n, and since sums are two apart 2 M - n > 2 T - n + 1: the bias n - 2 T - 1 is never met exactly."""
    count = sum(name[:1] == "W" and name[1:].isdigit() for name in arrays)
    ops: list[Op] = [] if above is None else [Affine("inputs", np.ones(1), np.array([-float(above)])), Sign("inputs", zero=-1)]
    width = None
    for number in range(count):
        name = f"W{number}"
        bits = _get(arrays, name, 2)
        if not np.isin(bits, (0, 1)).all():
            raise FileError(f"array {name!r} holds other numbers than 0 and 1.")
        _check_width(name, bits, width)
        signs = bits.astype(np.float64) * 2 - 1
        bias = np.zeros(len(signs))
        if number < count - 1:
            bias = signs.shape[1] - 1 - 2.0 * _get(arrays, f"T{number}", 1, len(signs))
        if number == 0 and inputs is not None:
            if not 0 < inputs <= signs.shape[1]:
                raise FileError(f"inputs={inputs}, but {name} has {signs.shape[1]} columns.")
            bias = bias - signs[:, inputs:].sum(axis=1)  # padding is always off, that is -1
            signs = signs[:, :inputs]
        if number == count - 1 and classes is not None:
            if not 0 < classes <= len(signs):
                raise FileError(f"classes={classes}, but {name} has {len(signs)} rows.")
            signs, bias = signs[:classes], bias[:classes]
        ops += [Linear(name, signs, bias)] + ([Sign(f"T{number}")] if number < count - 1 else [])
        width = len(signs)
        if number == 0:
            shape = (signs.shape[1],)
    return Chain(source, shape, tuple(ops))


def read_bnnquanalyst(folder: str | Path) -> Chain:
    """A network of BNNQuanalyst: folders ``blk1``, ``blk2``, ... and ``out_blk`` with CSV files; inputs are bits.

    A block has ``lin_weight.csv``, ``lin_bias.csv`` and ``bn_weight.csv``, ``bn_bias.csv``, ``bn_mean.csv``, ``bn_var.csv``. Its batch
    norm divides by the root of the variance without an eps, and a value of 0 is active.
    """
    place = Path(folder)
    try:
        if not (place / "out_blk").is_dir():
            raise FileError("it has no folder 'out_blk', so it is no network of BNNQuanalyst.")
        ops: list[Op] = []
        width, number = None, 1
        while (place / f"blk{number}").is_dir() and number <= _MAX_BLOCKS:
            name = f"blk{number}"
            layer = _linear(place / name, name, width)
            width = len(layer.weights)
            gamma, beta, mean, var = (_row(place / name / f"bn_{part}.csv", f"{name}/bn_{part}.csv", width) for part in _PARTS)
            if (var <= 0).any():
                raise FileError(f"{name}/bn_var.csv is not positive at {int(np.argmax(var <= 0))}.")
            ops += [layer, BatchNorm(name, gamma, beta, mean, var, 0.0), Sign(f"{name} sign")]
            number += 1
        ops.append(_linear(place / "out_blk", "out_blk", width))
        first = ops[0]
        assert isinstance(first, Linear)
        return Chain(place.name, (int(first.weights.shape[1]),), tuple(ops))
    except FileError as error:
        raise FileError(f"{place.name}: {error}") from None


def _linear(folder: Path, name: str, width: int | None) -> Linear:
    weights = _table(folder / "lin_weight.csv", f"{name}/lin_weight.csv")
    _check_width(f"{name}/lin_weight.csv", weights, width)
    return Linear(name, weights, _row(folder / "lin_bias.csv", f"{name}/lin_bias.csv", len(weights)))


def _row(path: Path, name: str, size: int) -> npt.NDArray[Any]:
    row = _table(path, name).reshape(-1)
    if len(row) != size:
        raise FileError(f"{name} has {len(row)} numbers, but {size} neurons need one each.")
    return row


def _table(path: Path, name: str) -> npt.NDArray[np.float64]:
    try:
        if path.stat().st_size > _MAX_CSV:
            raise FileError(f"{name} has {path.stat().st_size} bytes, more than a layer takes.")
        text = path.read_text(encoding="ascii")
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{name} is not a table of numbers.") from None
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                rows.append([float(word) for word in line.split(",")])
            except ValueError as error:
                raise FileError(f"{name}, line {number}: {str(error)[:80]}.") from None
            if len(rows[-1]) != len(rows[0]):
                raise FileError(f"{name}, line {number}: {len(rows[-1])} numbers, but {len(rows[0])} stand in the first line.")
    table = np.array(rows)
    if not table.size or not np.isfinite(table).all():
        raise FileError(f"{name} is empty, or holds numbers that are not finite.")
    return table
