"""Read one instance of a verification competition: an ONNX file and a VNNLIB query over real numbers.

The files do not say what raw samples are. A network that compares every input with thresholds reads
floats. A network whose first layer adds inputs keeps real numbers within the bounds of the query. A
network that reads only integers is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import ceil, floor, inf, nextafter

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.domains import Reals
from sugenet.io.importers import read_onnx
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.interpreter.program import Interpreter
from sugenet.io.onnx.interpreter.tensors import UncomparableError
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.vnnlib import read_vnnlib
from sugenet.nn import Network, Steps
from sugenet.problem.query import Query

__all__ = ["outputs_at", "read_instance"]


def read_instance(
    onnx: str | os.PathLike[str], vnnlib: str | os.PathLike[str], *, prove: bool = True
) -> tuple[Network, Query]:
    """Read the network and the query of an instance.

    Parameters
    ----------
    onnx, vnnlib
        The two files, compressed with gzip or not.
    prove
        False skips the comparison of the network with its file.

    Raises
    ------
    FileError
        If a file cannot be read, the files do not fit together, or the network reads only integers.
    """
    query = read_vnnlib(vnnlib)
    network = _network(onnx, query, prove)
    refuse_if(
        (network.encoder.features, network.head.outputs) != (query.inputs, query.outputs),
        f"the query has {query.inputs} inputs and {query.outputs} outputs, the network "
        f"{network.encoder.features} and {network.head.outputs}.",
    )
    real = all(isinstance(coding, Steps) and not coding.whole for coding in network.encoder.codings)
    refuse_if(
        not real,
        "the query is about real numbers, but the network reads only integers. Read it with "
        "read_onnx(path, inputs=Integers(low, high)), and ask verify about integers.",
    )
    return network, query


def outputs_at(onnx: str | os.PathLike[str], x: Sequence[float]) -> tuple[float, ...]:
    """Return the outputs of an ONNX file for one sample, in float64; empty if it cannot be run here."""
    graph = read_graph(onnx)
    name = graph.outputs[0].name
    try:
        program = Interpreter(graph, name)
        batch = np.repeat(np.array(x).reshape(1, *program.sample), program.batch or 1, axis=0)
        outputs = program.run(batch).values[name].values
    except (UncomparableError, LookupError, ValueError):
        return ()
    return tuple(float(value) for value in np.asarray(outputs).reshape(len(batch), -1)[0])


def _network(onnx: str | os.PathLike[str], query: Query, prove: bool) -> Network:
    try:
        return read_onnx(str(onnx), prove=prove)
    except FileError as error:
        if "reads inputs that are not binarized" not in str(error):
            raise
    ends = [end for case in query.cases for row in (case.box.lower, case.box.upper) for end in row]
    low, high = (floor(min(ends)), ceil(max(ends))) if ends else (0, 1)
    reals = Reals(_float(low, -inf), _float(max(high, low + 1), inf))
    return read_onnx(str(onnx), inputs=reals, prove=prove)


def _float(end: int, way: float) -> float:
    """Return an integer as a float. If it is not a float, return the next one towards an infinity."""
    try:
        near = float(end)
    except OverflowError:
        return way
    return near if near == end else nextafter(near, way)
