"""Read networks of look-up tables as thresholds.

A table that is a threshold function is one neuron. Any other table is an OR of ANDs: one neuron per prime
implicant of a cover, in a layer of its own, and one for the OR. The cover is that of the table or of its
complement, whichever is smaller.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.errors import NetworkError
from sugenet.io.exact.booleans import Booleans
from sugenet.io.exact.ops import LinearOp, Op, OpChain, Sign
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.nn.arrays import Bits, Ints, integer_array

__all__ = ["SOURCE", "Tables", "TruthTable", "chain_of_tables", "cover", "read_tables", "threshold_of"]

SOURCE = "look-up tables"
_MOST_BITS = 12
_EPOCHS = 300
_EXACT = 1 << 53
_CELLS = 1 << 28
"""Largest number of weights of one layer."""


@dataclass(frozen=True)
class TruthTable:
    """A truth table over bits of the layer before.

    The first connection is the least significant bit of the address, as in the INIT value of an FPGA.
    """

    connections: tuple[int, ...]
    values: tuple[bool, ...]

    @property
    def cube(self) -> Bits:
        """The table with one axis per connection, in their order."""
        return np.array(self.values, bool).reshape([2] * len(self.connections)).transpose()


@dataclass(frozen=True, eq=False)
class Tables:
    """Layers of tables, and integer votes of the last bits."""

    inputs: int
    layers: tuple[tuple[TruthTable, ...], ...]
    votes: Ints
    bias: Ints


def read_tables(layers: Any, votes: Any, bias: Any, features: int | None) -> Tables:
    """Check layers of (connections, tables), and votes."""
    refuse_if(not len(layers), SOURCE, "there are no layers.")
    read, width = [], features
    for number, layer in enumerate(layers, start=1):
        with within(f"{SOURCE}: layer {number}"):
            refuse_if(len(layer) != 2, "a layer is a pair: connections and tables.")
            connections, tables = layer
            read.append(tuple(_tables(connections, tables, width)))
            if number == 1 and features is None:
                features = 1 + max(max(table.connections, default=-1) for table in read[0])
            width = len(read[-1])
    refuse_if(not features, SOURCE, "no table reads an input.")
    assert features is not None
    try:
        weights = integer_array(votes, 2, "votes")
        offsets = integer_array(np.zeros(len(weights), int) if bias is None else bias, 1, "bias")
    except NetworkError as error:
        refuse_if(True, SOURCE, str(error))
    refuse_if(
        any(abs(vote) > _EXACT for vote in [*weights.ravel().tolist(), *offsets.tolist()]),
        SOURCE,
        "a vote or a bias is beyond 2^53.",
    )
    refuse_if(
        weights.shape[1] != width,
        SOURCE,
        f"votes have {weights.shape[1]} columns, but the last layer {width} bits.",
    )
    refuse_if(
        len(offsets) != len(weights), SOURCE, f"{len(offsets)} numbers in bias for {len(weights)} classes."
    )
    return Tables(features, tuple(read), weights, offsets)


def _tables(connections: Any, tables: Any, width: int | None) -> Iterator[TruthTable]:
    refuse_if(
        len(connections) != len(tables) or not len(tables),
        f"{len(connections)} rows of connections and {len(tables)} tables. Every table has one of each.",
    )
    for number, (row, values) in enumerate(zip(connections, tables, strict=True), start=1):
        with within(f"table {number}"):
            wires, cells = np.asarray(row), np.asarray(values)
            refuse_if(
                wires.ndim != 1 or (wires.size and wires.dtype.kind not in "iu"),
                "connections must be a row of integers.",
            )
            refuse_if(len(wires) > _MOST_BITS, f"{len(wires)} connections. At most {_MOST_BITS} are read.")
            refuse_if(
                wires.size and (wires.min() < 0 or (width is not None and wires.max() >= width)),
                f"connections {wires.tolist()}, but the bits before are numbered from 0"
                f"{'' if width is None else f' to {width - 1}'}.",
            )
            refuse_if(
                cells.ndim not in (1, 2) or len(cells) != 1 << len(wires),
                f"{len(cells) if cells.ndim else 1} entries, but {len(wires)} connections need "
                f"{1 << len(wires)}.",
            )
            refuse_if(not np.isin(cells, (0, 1)).all(), "entries must be 0 or 1.")
            for column in cells.reshape(len(cells), -1).T:
                yield TruthTable(tuple(wires.tolist()), tuple((column != 0).tolist()))


def threshold_of(cube: Bits) -> tuple[Ints, int] | None:
    """Return integer weights and the smallest sum over bits that turns the function on, if these are found.

    None does not prove that there are none: a perceptron searches, up to a limit.

    Examples
    --------
    >>> majority = np.indices((2, 2, 2)).sum(axis=0) >= 2
    >>> weights, theta = threshold_of(majority)
    >>> bool(((np.indices((2, 2, 2)).T @ weights >= theta).T == majority).all())
    True
    >>> threshold_of(np.array([[False, True], [True, False]])) is None
    True
    """
    if cube.all() or not cube.any():
        return np.zeros(cube.ndim, np.int64), int(not cube.all())
    axes = range(cube.ndim)
    rises = [bool((cube.take(1, axis) & ~cube.take(0, axis)).any()) for axis in axes]
    falls = [bool((cube.take(0, axis) & ~cube.take(1, axis)).any()) for axis in axes]
    if any(up and down for up, down in zip(rises, falls, strict=True)):
        return None  # a threshold function is monotone in each input
    points = np.indices(cube.shape).reshape(cube.ndim, -1).T
    on = cube.reshape(-1)
    weights = np.array(rises, np.int64) - np.array(falls, np.int64)
    points = points * np.abs(weights)  # an input that changes nothing has weight 0
    for _ in range(_EPOCHS):
        sums = points @ weights
        low, high = int(sums[on].min()), int(sums[~on].max())
        if low > high:
            return weights, low
        weights = weights + points[on & (sums == low)][0] - points[~on & (sums == high)][0]
    return None


def cover(cube: Bits) -> list[tuple[int, ...]]:
    """Return prime implicants whose OR is the function: 1, 0 or 2 (either) for each input.

    Examples
    --------
    >>> cover(np.array([[False, True], [True, True]]))
    [(1, 2), (2, 1)]
    """
    implied = cube
    for axis in range(cube.ndim):
        both = implied.take([0], axis) & implied.take([1], axis)
        implied = np.concatenate([implied, both], axis=axis)
    prime = implied.copy()
    for axis in range(cube.ndim):
        larger = implied.take([2], axis)
        prime &= ~np.concatenate([larger, larger, np.zeros_like(larger)], axis=axis)
    terms = np.argwhere(prime)
    terms = terms[np.argsort(-(terms == 2).sum(axis=1), kind="stable")]
    points = np.argwhere(cube)
    holds = np.ones((len(terms), len(points)), bool)
    for fixed, values in zip(terms.T, points.T, strict=True):
        holds &= (fixed[:, None] == values) | (fixed[:, None] == 2)
    chosen = (holds & (holds.sum(axis=0) == 1)).any(axis=1)  # those without which a point is not covered
    missing = ~holds[chosen].any(axis=0)
    while missing.any():
        best = (holds & missing).sum(axis=1).argmax()
        chosen[best] = True
        missing &= ~holds[best]
    return [tuple(term) for term in terms[chosen].tolist()]


@dataclass(frozen=True)
class _TableForm:
    """A table as neurons: weights, the smallest sum that turns each on, and how they are joined."""

    rows: tuple[tuple[tuple[int, ...], int], ...]
    negated: bool = False
    """Whether the table is on iff all rows are off, instead of iff one of them is on."""


def _form(cube: Bits) -> _TableForm:
    threshold = threshold_of(cube)
    if threshold is not None:
        return _TableForm(((tuple(threshold[0].tolist()), threshold[1]),))
    terms, others = cover(cube), cover(~cube)
    negated = len(others) < len(terms)
    rows = [
        (tuple((-1, 1, 0)[value] for value in term), term.count(1)) for term in (others if negated else terms)
    ]
    return _TableForm(tuple(rows), negated)


def chain_of_tables(tables: Tables, booleans: Booleans) -> OpChain:
    """Return the network as operations on the bits of an encoder."""
    ops: list[Op] = list(booleans.stem)
    columns, width = booleans.columns, booleans.width
    known: dict[tuple[bool, ...], _TableForm] = {}
    for number, layer in enumerate(tables.layers, start=1):
        forms = []
        for table in layer:
            if table.values not in known:
                known[table.values] = _form(table.cube)
            forms.append(known[table.values])
        rows: dict[tuple[tuple[tuple[int, int], ...], int], int] = {}
        owners = [
            [
                rows.setdefault((_sparse(table.connections, columns, weights), theta), len(rows))
                for weights, theta in form.rows
            ]
            for table, form in zip(layer, forms, strict=True)
        ]
        single = all(len(form.rows) == 1 and not form.negated for form in forms)
        name = f"layer {number}"
        ops += _neurons(name if single else f"{name} terms", list(rows), width)
        if single:
            columns, width = np.array([ids[0] for ids in owners]), len(rows)
            continue
        joined = [
            (tuple((j, -1 if form.negated else 1) for j in sorted(set(ids))), 0 if form.negated else 1)
            for ids, form in zip(owners, forms, strict=True)
        ]
        ops += _neurons(name, joined, len(rows))
        columns, width = np.arange(len(joined)), len(joined)
    votes = np.zeros((len(tables.votes), width))
    for column, index in enumerate(columns.tolist()):
        votes[:, index] += tables.votes[:, column]
    ops.append(LinearOp("votes", votes, tables.bias.astype(np.float64)))
    return OpChain(SOURCE, (booleans.encoder.width,), tuple(ops))


def _sparse(connections: Sequence[int], columns: Ints, weights: Sequence[int]) -> tuple[tuple[int, int], ...]:
    total: dict[int, int] = {}
    for wire, weight in zip(connections, weights, strict=True):
        index = int(columns[wire])
        total[index] = total.get(index, 0) + weight
    return tuple(sorted((index, weight) for index, weight in total.items() if weight))


def _neurons(name: str, rows: Sequence[tuple[tuple[tuple[int, int], ...], int]], width: int) -> list[Op]:
    """Return a layer from pairs of inputs and weights, and the smallest sum that turns each neuron on."""
    refuse_if(
        len(rows) * width > _CELLS, SOURCE, f"{name}: {len(rows):,} neurons over {width:,} bits are too many."
    )
    weights = np.zeros((len(rows), width))
    for row, (pairs, _) in zip(weights, rows, strict=True):
        for index, weight in pairs:
            row[index] = weight
    bias = np.array([0.5 - theta for _, theta in rows])
    return [LinearOp(name, weights, bias), Sign(name, low=0.0, high=1.0)]
