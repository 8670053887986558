"""Verification competitions: read an instance (an ONNX file and a VNNLIB query over real numbers), and write
the answer in the format of VNN-COMP.

An answer is one word, and the values of all inputs and outputs if the query can be violated. Values are
written as floats. Before anything is written, the inputs are read back as exact numbers. They must violate
the query by the definition, in exact arithmetic.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import Any

import numpy as np

from sugenet.engines.hard.reals.witness import real_scores
from sugenet.errors import CertificateError, FileError, QuestionError
from sugenet.files import write_text
from sugenet.io.exact.domains import Reals
from sugenet.io.importers import read_onnx
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.interpreter.program import Interpreter
from sugenet.io.onnx.interpreter.tensors import UncomparableError
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.vnnlib import read_vnnlib
from sugenet.nn import Network, Steps
from sugenet.problem.query import Query, QueryBox
from sugenet.reason import Proved, Refuted, Undecided

__all__ = ["outcome_word", "outputs_at", "read_instance", "write_counterexample"]


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


_TIME = ("time was up", "time is up", "time limit")


def write_counterexample(
    answer: Proved | Refuted | Undecided,
    path: str | os.PathLike[str],
    *,
    outputs: Callable[[Sequence[float]], Sequence[float]] | None = None,
) -> None:
    """Write the answer to a query in the format of VNN-COMP.

    The file contains ``sat`` with the values of X and Y, ``unsat``, ``timeout`` or ``unknown``. It is written
    completely or not at all.

    Parameters
    ----------
    answer
        The result of `verify` for a `Query`.
    path
        The file to write.
    outputs
        The outputs of the file that the network was read from, for these inputs (default: the scores). No
        outputs are written if the scores only have the same order as the outputs, as before a softmax.

    Raises
    ------
    QuestionError
        If the question is not a query, or no floats near the counterexample violate it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.problem.query import Query
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[+1, -1]], tau=[1])], Head([[+1], [-1]]))
    >>> with TemporaryDirectory() as folder:
    ...     write_counterexample(verify(net, Query.within([0, -1], [2, 1], 0, 2)), Path(folder) / "result")
    ...     print((Path(folder) / "result").read_text())
    sat
    ((X_0 0.0)
     (X_1 1.0)
     (Y_0 -1.0)
     (Y_1 1.0))
    <BLANKLINE>
    """
    word = outcome_word(answer)
    if not isinstance(answer, Refuted):
        write_text(path, f"{word}\n")
        return
    x, y = _values(answer.network, _query_of(answer), answer.witness)
    y = y if outputs is None else tuple(float(value) for value in outputs(x))
    lines = [f"(X_{i} {value!r})" for i, value in enumerate(x)]
    lines += [f"(Y_{k} {value!r})" for k, value in enumerate(y)]
    write_text(path, f"{word}\n(" + "\n ".join(lines) + ")\n")


def outcome_word(answer: Proved | Refuted | Undecided) -> str:
    """Return ``sat``, ``unsat``, ``timeout`` or ``unknown``."""
    _query_of(answer)
    if isinstance(answer, Refuted):
        return "sat"
    if isinstance(answer, Proved):
        return "unsat"
    return "timeout" if any(phrase in answer.reason for phrase in _TIME) else "unknown"


def _query_of(answer: Any) -> Query:
    if not isinstance(answer.question, Query):
        raise QuestionError("counterexamples in this format are of queries, as read_vnnlib gives them.")
    return answer.question


def _values(
    network: Network, query: Query, witness: Sequence[Any]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return inputs as the file reads them, and its outputs if these are the scores."""
    exact = [Fraction(value) for value in network.source.inputs([Fraction(value) for value in witness])]
    for case in query.cases:
        if not case.box.contains(exact):
            continue
        for floats in _candidates(exact, case.box):
            scores = _scores(network, [Fraction(value) for value in floats], witness)
            if scores is not None and query.violated_by([Fraction(value) for value in floats], scores):
                shown = scores if network.source.outputs == "equal" else []
                return floats, tuple(float(score) for score in shown)
    raise QuestionError(
        "the counterexample is exact as fractions, but no floats next to it violate the query as well. "
        "The certificate has it: -o FILE, or --json."
    )


def _candidates(exact: Sequence[Fraction], box: QueryBox) -> Iterator[tuple[float, ...]]:
    """Yield floats next to a point, inside the box: of 32 bits, which other tools read, and of 64 bits."""
    for kind in (np.float32, np.float64):
        ends = zip(exact, box.lower, box.upper, strict=True)
        near = [_inside(value, low, high, kind) for value, low, high in ends]
        if all(value is not None for value in near):
            yield tuple(value for value in near if value is not None)


def _inside(value: Fraction, low: Fraction, high: Fraction, kind: Any) -> float | None:
    """Return the float nearest to a number. If it lies outside the bounds, return the next one inside."""
    near = float(kind(float(value)))
    for goal, outside in ((inf, near < low), (-inf, near > high)):
        if outside:
            near = float(np.nextafter(kind(near), kind(goal)))
    return near + 0.0 if low <= near <= high else None


def _scores(network: Network, x: Sequence[Fraction], witness: Sequence[Any]) -> Sequence[Fraction] | None:
    """Return the exact scores of an input as the file reads it.

    If the network reads integers, these are the scores of the integers that the input represents.
    """
    lines = network.source.lines(len(x))
    raw = [(value - start) / step for value, (start, step) in zip(x, lines, strict=True)]
    if network.passes_reals:
        try:
            return real_scores(raw, network)
        except CertificateError:
            return None
    codings = network.encoder.codings
    meant = [
        value if isinstance(coding, Steps) and not coding.whole else witness_value
        for coding, value, witness_value in zip(codings, raw, witness, strict=True)
    ]
    if any(abs(Fraction(one) - other) * 2 > 1 for one, other in zip(meant, raw, strict=True)):
        return None
    row = np.empty((1, len(meant)), object)
    row[0] = meant
    return list(network.head.scores(network.match_counts(row, engine="definition"))[0])
