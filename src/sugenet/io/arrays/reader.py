"""Read networks stored as plain arrays as chains of operations: `.npz` files of two conventions, and
BNNQuanalyst's folders of CSV files.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import TextIO

import numpy as np

from sugenet.capacity.arguments import float_number
from sugenet.errors import CapacityError, FileError
from sugenet.io.exact.ops import Affine, BatchNorm, LinearOp, Op, OpChain, Sign, check_numbers
from sugenet.io.plain.packed import open_archive
from sugenet.io.plain.refusals import Ledger, refuse_if, required, within
from sugenet.io.plain.texts import csv_rows
from sugenet.nn.arrays import Array, Doubles
from sugenet.reading import open_text

__all__ = ["read_arrays", "read_bnnquanalyst", "read_npz"]

_CHAINER_EPS = 2e-5
_MAX_BYTES = 1 << 29
_MAX_CSV, _MAX_LINE = 1 << 26, 1 << 24
"""Largest size of all tables of a folder in bytes, and of a line in characters."""
_MAX_BLOCKS = 1000
_PARTS = ("weight", "bias", "mean", "var")


def read_npz(
    path: str | Path, *, features: int | None = None, outputs: int | None = None, above: float | None = None
) -> OpChain:
    """Read a network from a NumPy `.npz` file, by the names of its arrays.

    ================================== =======================================================================
    names                              meaning
    ================================== =======================================================================
    ``input_bn/*``, ``blocks/0/lin/*``, the networks of msakai's BNN verification: pixels in 0..1, batch norm
    (``gamma``, ``beta``,
    ``blocks/0/bn/*``, ...,             ``avg_mean``, ``avg_var``; eps 2e-5) and sign, blocks of linear layer
                                        (``W``, ``b``), batch norm and
    ``output_lin/*``                    sign, and a linear output. ``input_bn`` may be missing:
                                        then inputs are bits
    ``W0``, ``T0``, ``W1``, ... match counts, as in BNN-PYNQ: rows of bits, 1 for +1 and 0 for -1;
    a neuron is active iff its
                                        matches are more than ``T``; the scores are the last match counts, so
                                        that a ``T`` of the last layer means nothing
    ================================== =======================================================================

    Parameters
    ----------
    features
        For W and T: number of inputs. Further columns are padding that is always off.
    outputs
        For W and T: how many of the last rows are classes.
    above
        For W and T: an input is on iff the raw number is above this (default: 0, as for bits).
    """
    name = Path(path).name
    with within(name):
        arrays = Ledger(read_arrays(path))
        if any(key.startswith("blocks/") for key in arrays):
            for option, value in (("features", features), ("outputs", outputs), ("above", above)):
                refuse_if(
                    value is not None,
                    f"{option}={value} is for files of match counts (W0, T0, ...), which this is not.",
                )
            chain = _msakai(name, arrays)
        elif "W0" in arrays and "T0" in arrays:
            chain = _match_counts(name, arrays, features, outputs, above)
        elif "weight1" in arrays and "leak1" in arrays:
            raise FileError(
                "it holds a spiking network, and does not say how its neurons run. Give a convention: "
                "sugenet.spiking.read_spiking_npz, or sugenet convert with --steps and what it asks for then."
            )
        else:
            raise FileError(
                f"its arrays {', '.join(list(arrays)[:6])} follow no known convention: blocks/0/lin/W and "
                f"so on, or W0, T0, W1, T1 and so on."
            )
        left = arrays.left()
        if left:
            raise FileError(
                f"array {left[0]!r}{f' and {len(left) - 1} more' if len(left) > 1 else ''} would be left "
                "over: the networks of this convention have none of that name."
            )
        return chain


def read_arrays(path: str | Path) -> dict[str, Array]:
    """Return all arrays of a `.npz` file, without pickles. Sizes are checked before memory is allocated."""
    try:
        with open_archive(path, _MAX_BYTES) as archive:
            return {name: _numbers(name, archive.read(name)) for name in archive.names}
    except OSError as error:
        raise FileError(f"it cannot be read: {error.strerror or error}.") from None


def _numbers(name: str, array: Array) -> Array:
    check_numbers(f"array {name[:80]!r}", array)
    return array


def _get(arrays: Mapping[str, Array], name: str, ndim: int, rows: int | None = None) -> Array:
    array = required(arrays.get(name), f"there is no array {name!r}.")
    if array.ndim != ndim or not array.size or (rows is not None and len(array) != rows):
        wanted = f"({rows}, ...)" if ndim == 2 and rows else f"({rows},)" if rows else f"{ndim} dimensions"
        raise FileError(f"array {name!r} has shape {array.shape}, but {wanted} is needed.")
    return array


def _check_width(name: str, weights: Array, width: int | None) -> None:
    refuse_if(
        width is not None and weights.shape[1] != width,
        f"array {name!r} has {weights.shape[1]} weights a neuron, but {width} values come in.",
    )


def _msakai(source: str, arrays: Ledger[Array]) -> OpChain:
    def norm(name: str, size: int | None) -> BatchNorm:
        arrays.pass_over(f"{name}/N")  # Chainer's count of batches
        mean = _get(arrays, f"{name}/avg_mean", 1, size)
        rows = [_get(arrays, f"{name}/{part}", 1, len(mean)) for part in ("gamma", "beta")]
        var = _get(arrays, f"{name}/avg_var", 1, len(mean))
        refuse_if((var < 0).any(), f"{name}/avg_var is negative at {int(np.argmax(var < 0))}.")
        return BatchNorm(name, rows[0], rows[1], mean, var, _CHAINER_EPS)

    def linear(name: str, width: int | None) -> LinearOp:
        weights = _get(arrays, f"{name}/W", 2)
        _check_width(f"{name}/W", weights, width)
        return LinearOp(
            name, weights, _get(arrays, f"{name}/b", 1, len(weights)) if f"{name}/b" in arrays else None
        )

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
    last = linear("output_lin", width)
    return OpChain(source, shape or last.weights.shape[1:], (*ops, last))


def _match_counts(
    source: str,
    arrays: Ledger[Array],
    features: int | None,
    outputs: int | None,
    above: float | None,
) -> OpChain:
    """Return the chain of match counts.

    For an integer T, M > T is 2 M - n > 2 T - n. Since sums are two apart, it is also 2 M - n > 2 T - n + 1.
    So the sum with bias n - 2 T - 1 is never 0. Other T are replaced by the integer below.
    """
    refuse_if(above is not None and not isfinite(above), f"above={above} is not a number.")
    count = sum(name[:1] == "W" and name[1:].isdigit() for name in arrays)
    ops: list[Op] = [Affine("inputs", np.ones(1), np.array([-float(above)]))] if above else []
    ops.append(Sign("inputs", zero=-1))
    width = None
    for number in range(count):
        name = f"W{number}"
        bits = _get(arrays, name, 2)
        refuse_if(not np.isin(bits, (0, 1)).all(), f"array {name!r} holds other numbers than 0 and 1.")
        _check_width(name, bits, width)
        signs = bits.astype(np.float64) * 2 - 1
        bias = np.zeros(len(signs))
        if number < count - 1:
            limits = np.floor(_get(arrays, f"T{number}", 1, len(signs)).astype(np.float64))
            bias = signs.shape[1] - 1 - 2 * np.clip(limits, -1, signs.shape[1])  # beyond, always or never
        if number == 0 and features is not None:
            refuse_if(
                not 0 < features <= signs.shape[1],
                f"features={features}, but {name} has {signs.shape[1]} columns.",
            )
            bias = bias - signs[:, features:].sum(axis=1)  # padding is always off, that is -1
            signs = signs[:, :features]
        if number == count - 1:
            arrays.pass_over(f"T{number}")
            if outputs is not None:
                refuse_if(
                    not 0 < outputs <= len(signs), f"outputs={outputs}, but {name} has {len(signs)} rows."
                )
                signs, bias = signs[:outputs], bias[:outputs]
        ops += [LinearOp(name, signs, bias)] + ([Sign(f"T{number}")] if number < count - 1 else [])
        width = len(signs)
        if number == 0:
            shape = (signs.shape[1],)
    return OpChain(source, shape, tuple(ops))


def read_bnnquanalyst(folder: str | Path) -> OpChain:
    """Read a network of BNNQuanalyst: folders ``blk1``, ``blk2``, ... and ``out_blk`` with CSV files.

    Inputs are bits, on if above 0. A block has ``lin_weight.csv``, ``lin_bias.csv`` and ``bn_weight.csv``,
    ``bn_bias.csv``, ``bn_mean.csv``, ``bn_var.csv``. Its batch norm divides by the root of the variance
    without an eps, and a value of 0 is active.
    """
    path = Path(folder)
    with within(path.name):
        refuse_if(
            not (path / "out_blk").is_dir(),
            "it has no folder 'out_blk', so it is not a network of BNNQuanalyst.",
        )
        refuse_if(
            sum(table.stat().st_size for table in path.glob("*/*.csv") if table.is_file()) > _MAX_CSV,
            f"its tables have more than {_MAX_CSV:,} bytes together.",
        )
        ops: list[Op] = [Sign("inputs", zero=-1)]
        width, number = None, 1
        while (path / f"blk{number}").is_dir() and number <= _MAX_BLOCKS:
            name = f"blk{number}"
            layer = _linear(path / name, name, width)
            width = len(layer.weights)
            gamma, beta, mean, var = (
                _row(path / name / f"bn_{part}.csv", f"{name}/bn_{part}.csv", width) for part in _PARTS
            )
            refuse_if((var <= 0).any(), f"{name}/bn_var.csv is not positive at {int(np.argmax(var <= 0))}.")
            ops += [layer, BatchNorm(name, gamma, beta, mean, var, 0.0), Sign(f"{name} sign")]
            number += 1
        ops.append(_linear(path / "out_blk", "out_blk", width))
        _nothing_left(path, number - 1)
        first = ops[1]
        assert isinstance(first, LinearOp)
        return OpChain(path.name, (int(first.weights.shape[1]),), tuple(ops))


def _nothing_left(location: Path, blocks: int) -> None:
    """Refuse tables and folders that are not part of the network."""
    used = {Path("out_blk")} | {Path(f"blk{k}") for k in range(1, blocks + 1)}
    used |= {folder / f"lin_{part}.csv" for folder in used for part in ("weight", "bias")} | {
        Path(f"blk{k}") / f"bn_{part}.csv" for k in range(1, blocks + 1) for part in _PARTS
    }
    for path in sorted(location.glob("*")) + sorted(location.glob("*/*")):
        name = path.relative_to(location)
        refuse_if(
            name not in used and (path.is_dir() or path.suffix.lower() == ".csv"),
            f"{name} would be left over: the network of {blocks} blocks has no place for it.",
        )


def _linear(folder: Path, name: str, width: int | None) -> LinearOp:
    weights = _table(folder / "lin_weight.csv", f"{name}/lin_weight.csv")
    _check_width(f"{name}/lin_weight.csv", weights, width)
    return LinearOp(name, weights, _row(folder / "lin_bias.csv", f"{name}/lin_bias.csv", len(weights)))


def _row(path: Path, name: str, size: int) -> Array:
    row = _table(path, name).reshape(-1)
    refuse_if(len(row) != size, f"{name} has {len(row)} numbers, but {size} neurons need one each.")
    return row


def _table(path: Path, name: str) -> Doubles:
    try:
        with open_text(path, _MAX_CSV, "ascii") as lines:
            table = np.array(list(_rows(lines, name)))
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None
    except FileError as error:
        raise error if str(error).startswith(name) else FileError(f"{name}: {error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{name} is not a table of numbers.") from None
    refuse_if(not table.size, f"{name} is empty.")
    check_numbers(name, table)
    return table


def _rows(lines: TextIO, name: str) -> Iterator[Doubles]:
    width = None
    for number, cells in csv_rows(lines, name, quotes=False, longest=_MAX_LINE):
        try:
            row = np.array([float_number(cell) for cell in cells])
        except CapacityError as error:
            raise FileError(f"{name}, line {number}: {error}") from None
        width = width or len(row)
        refuse_if(
            len(row) != width,
            f"{name}, line {number}: {len(row)} numbers, but {width} stand in the first line.",
        )
        yield row
