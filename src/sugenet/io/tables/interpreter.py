"""Run a network of look-up tables by looking up, to verify the reader."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.booleans import Booleans
from sugenet.io.proof.interpreters import Seen, SourceInterpreter
from sugenet.io.tables.reader import Tables

__all__ = ["interpreter_of_tables"]


def interpreter_of_tables(tables: Tables, booleans: Booleans) -> SourceInterpreter:
    """Return an interpreter that addresses each table with its bits."""

    def run(x: npt.NDArray[Any]) -> Seen:
        bits = booleans.read(x)
        for layer in tables.layers:
            bits = np.array([_looked_up(table.connections, table.values, bits) for table in layer]).T
        scores = np.array([_scores(tables, sample) for sample in bits.tolist()], np.float64)
        return Seen(scores, (), scores)

    return SourceInterpreter("tables looked up by NumPy", run)


def _looked_up(connections: tuple[int, ...], values: tuple[bool, ...], bits: npt.NDArray[Any]) -> Any:
    address = np.zeros(len(bits), np.int64)
    for shift, wire in enumerate(connections):
        address |= bits[:, wire].astype(np.int64) << shift
    return np.array(values)[address]


def _scores(tables: Tables, sample: list[bool]) -> list[int]:
    votes = [sum(vote for vote, on in zip(row, sample, strict=True) if on) for row in tables.votes.tolist()]
    return [vote + offset for vote, offset in zip(votes, tables.bias.tolist(), strict=True)]
