"""One instance of a verification competition: an ONNX file and a VNNLIB query, which speaks of real numbers.

What raw samples are is not said there and need not be: a network that takes the sign of every input at once
is asked about real thresholds, and one that reads numbers keeps the real thresholds of its first layer. One
that knows neither would answer for whole numbers alone, and is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import ceil, floor

import numpy as np

from sugenet.bnn import Network, Steps
from sugenet.checker.query import Query
from sugenet.errors import FileError
from sugenet.io.exact.domains import Integers
from sugenet.io.importers import read_onnx
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.judge.interpreter import Interpreter
from sugenet.io.onnx.judge.tensors import UncomparableError
from sugenet.io.vnnlib import read_vnnlib

__all__ = ["outputs_at", "read_instance"]


def read_instance(
    onnx: str | os.PathLike[str], vnnlib: str | os.PathLike[str], *, prove: bool = True
) -> tuple[Network, Query]:
    """Read the network and the query of an instance.

    Parameters
    ----------
    onnx, vnnlib
        The two files, packed by gzip or not.
    prove
        False leaves out the comparison of the network with its file.

    Raises
    ------
    FileError
        Where one of them cannot be read, they do not fit, or the network is not known between whole numbers.
    """
    query = read_vnnlib(vnnlib)
    network = _network(onnx, query, prove)
    if (network.encoder.features, network.head.outputs) != (query.inputs, query.outputs):
        raise FileError(
            f"the query has {query.inputs} inputs and {query.outputs} outputs, the network "
            f"{network.encoder.features} and {network.head.outputs}."
        )
    real = all(isinstance(coding, Steps) and not coding.whole for coding in network.encoder.codings)
    if not (real or network.reads_reals):
        raise FileError(
            "the query is about real numbers, but the network is known for whole numbers alone: it quantizes "
            "its inputs, or reads them in a way whose thresholds are not kept."
        )
    return network, query


def outputs_at(onnx: str | os.PathLike[str], x: Sequence[float]) -> tuple[float, ...]:
    """What an ONNX file gives for one sample, in float64; nothing where it cannot be run here."""
    graph = read_graph(onnx)
    name = graph.outputs[0].name
    try:
        program = Interpreter(graph, name)
        batch = np.repeat(np.array(x).reshape(1, *program.sample), program.batch or 1, axis=0)
        found = program.run(batch).values[name].values
    except (UncomparableError, LookupError, ValueError):
        return ()
    return tuple(float(value) for value in np.asarray(found).reshape(len(batch), -1)[0])


def _network(onnx: str | os.PathLike[str], query: Query, prove: bool) -> Network:
    try:
        return read_onnx(str(onnx), prove=prove).network
    except FileError as error:
        if "reads inputs that are not binarized" not in str(error):
            raise
    ends = [end for case in query.cases for row in (case.box.lower, case.box.upper) for end in row]
    low, high = (floor(min(ends)), ceil(max(ends))) if ends else (0, 1)
    return read_onnx(str(onnx), inputs=Integers(low, max(high, low + 1)), prove=prove).network
