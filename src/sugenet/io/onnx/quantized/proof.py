"""Compare a quantized import with its file before it is returned. Every tensor of levels that a layer shows
and every score is compared, on random samples and next to steps. The references are an interpreter of the
file's operators, and ONNX Runtime if it is installed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.report import ImportProof, ImportReport
from sugenet.io.onnx.graph import Array, Graph
from sugenet.io.onnx.interpreter.integers import IntegerRun
from sugenet.io.onnx.interpreter.tensors import UncomparableError
from sugenet.io.onnx.interpreters import NOT_INSTALLED, NOT_RUN, batches, runtime_session
from sugenet.io.onnx.quantized.network import LevelImport
from sugenet.io.onnx.quantized.values import LevelArray, PendingSum, integer_levels
from sugenet.io.onnx.quantized.walk import IntegerProgram
from sugenet.io.plain.refusals import required
from sugenet.io.proof.near import RawRanges, turning
from sugenet.io.proof.proving import SORRY, different, work_of
from sugenet.nn import Network
from sugenet.nn.arrays import Bits

__all__ = ["LevelInterpreter", "compared_levels", "prove_levels"]

_WORK = 1 << 27
_MOST, _LEAST = 256, 8
_ROUND = 2.0**-20


@dataclass(frozen=True, eq=False)
class LevelInterpreter:
    """An interpreter of a quantized file."""

    name: str
    """Name, in words that follow "compared with"."""
    run: Callable[[Array], tuple[Array, dict[str, Array], Array]]
    """From samples in the file's numbers to scores, tensors of integers in the order of their wires, and
    the samples whose values depend on the order of float sums.
    """


def prove_levels(made: LevelImport, program: IntegerProgram, graph: Graph) -> ImportReport:
    """Return the import with its proof, or refuse it and name the first tensor that differs."""
    run = IntegerRun(graph, program.scores)
    interpreter = LevelInterpreter(
        "an interpreter of its operators in integers and float32", lambda rows: _batched(run, rows)
    )
    imported, scores, source = compared_levels(made, program, interpreter)
    runner = _runtime(graph, program)
    proof = required(imported.proof, graph.source)
    if isinstance(runner, str):
        proof = replace(proof, interpreters=(f"{interpreter.name} ({runner})",))
    elif program.exact:
        _same_outputs(program, scores, runner(source))
        proof = replace(proof, interpreters=(interpreter.name, "ONNX Runtime"), scores=2 * proof.scores)
    return replace(imported, proof=proof)


def compared_levels(
    made: LevelImport, program: IntegerProgram, interpreter: LevelInterpreter
) -> tuple[ImportReport, Array, Array]:
    """Return the import with its proof, its scores, and the samples in the file's numbers."""
    network = made.found.network
    random = np.random.default_rng(0)
    domain = RawRanges.of_encoder(network.encoder)
    work = work_of(network)
    pool = domain.samples(min(_MOST, max(_LEAST, _WORK // work)), random)
    if made.values is None:
        pool = pool.astype(np.float32).astype(np.float64)
    near = _near(network, domain, pool, work, random)
    if made.values is None:
        near = near.astype(np.float32).astype(np.float64)
    rows = np.concatenate([pool, near])
    source = rows if made.values is None else made.values[rows.astype(np.int64) - made.first]
    shown = network.hidden(rows)
    scores = network.head.logits(network.head.match_counts(shown[-1]))
    levels = 0
    try:
        theirs, tensors, unsure = interpreter.run(source)
    except UncomparableError as error:
        raise FileError(
            f"{program.source}: it was read, but its interpreter cannot run it to compare: {error} "
            f"prove=False goes without the comparison."
        ) from error
    sure = np.ones(len(rows), bool) if program.exact else ~unsure
    unseen = []
    for index in made.places:
        if index.name not in tensors:
            unseen.append(index.name)
            continue
        mine = shown[index.layer][:, index.start : index.stop] + program.lows[index.name]
        other = tensors[index.name].reshape(len(rows), -1).astype(np.int64)
        wrong = (mine != other) & sure[:, None] if mine.shape == other.shape else np.ones((1, 1), bool)
        if wrong.any():
            row, neuron = (int(k[0]) for k in np.nonzero(wrong))
            raise different(
                program.source,
                repr(index.name),
                f"value {neuron} is {mine[row, neuron]}, but {other[row, neuron]} in {interpreter.name}",
            )
        levels += int(mine[sure].size)
    _same_scores(program, scores, theirs, sure, interpreter.name)
    proof = ImportProof(
        (interpreter.name,),
        len(rows),
        len(near),
        len({position.layer for position in made.places}),
        tuple(unseen),
        levels,
        int(scores[sure].size),
        0,
        int((~sure).sum()),
        True,
    )
    return replace(made.found, proof=proof), scores, source


def _near(network: Network, domain: RawRanges, pool: Array, work: int, random: np.random.Generator) -> Array:
    """Return samples next to a step of some neurons: the one in the middle of the observed levels."""
    middles = [np.maximum(np.ceil(np.median(levels, axis=0)), 1) for levels in network.hidden(pool)]

    def on(rows: Array) -> list[Bits]:
        return [levels >= middle for levels, middle in zip(network.hidden(rows), middles, strict=True)]

    halvings = 2 + len(bin(pool.shape[1]))
    count = min(8, _WORK // (work * max(1, len(network.layers)) * halvings))
    if not count:
        return pool[:0]
    return turning(network, domain, on, pool, count, random, direct=False)


def _batched(interpreter: IntegerRun, rows: Array) -> tuple[Array, dict[str, Array], Array]:
    """Run the interpreter on all samples, in batches that the file accepts."""
    with np.errstate(over="ignore"):  # infinite values are clipped
        parts = [interpreter(rows[k : k + 64]) for k in range(0, len(rows), 64)]
    return (
        np.concatenate([part[0] for part in parts]),
        {name: np.concatenate([part[1][name] for part in parts]) for name in parts[0][1]},
        np.concatenate([part[2] for part in parts]),
    )


def _same_scores(program: IntegerProgram, scores: Array, theirs: Array, sure: Array, who: str) -> None:
    if integer_levels(program.end) is not None:
        theirs = theirs.astype(np.float64)
    rounded = isinstance(program.end, PendingSum)
    mine = scores if rounded else scores.astype(np.float32)
    scale = np.abs(scores).max(initial=0)
    wrong = (np.abs(scores - theirs) > _ROUND * scale) if rounded else mine != theirs
    if mine.shape != theirs.shape or (wrong & sure[:, None]).any():
        row, k = (
            (int(x[0]) for x in np.nonzero(wrong & sure[:, None])) if mine.shape == theirs.shape else (0, 0)
        )
        raise different(
            program.source,
            "the scores",
            f"score {k} is {scores[row, k]:.9g}, but {theirs[row, k]:.9g} in {who}",
        )


def _same_outputs(program: IntegerProgram, scores: Array, outputs: Array) -> None:
    """Compare the outputs of ONNX Runtime: scores, or their order after a tail."""
    if not program.left_out:
        _same_scores(program, scores, outputs, np.ones(len(scores), bool), "ONNX Runtime")
        return
    classes = np.argmax(scores, axis=1)
    top = np.sort(scores, axis=1)
    tied = (
        top[:, -1] - top[:, -2:][:, 0] <= _ROUND * np.abs(scores).max(initial=0)
        if scores.shape[1] > 1
        else (np.ones(len(scores), bool))
    )
    theirs = outputs.reshape(len(scores), -1)
    theirs = theirs[:, 0] if theirs.shape[1] == 1 else np.argmax(theirs, axis=1)
    if ((classes != theirs) & ~tied).any():
        row = int(np.argmax((classes != theirs) & ~tied))
        raise FileError(
            f"{program.source}: what was read is not what the source computes: "
            f"the class is {classes[row]}, but {int(theirs[row])} in ONNX Runtime. {SORRY}"
        )


def _runtime(graph: Graph, program: IntegerProgram) -> Callable[[Array], Array] | str:
    """Return ONNX Runtime with its default optimizations, or the reason why it is not compared."""
    try:
        session = runtime_session(graph.raw, optimized=True)
    except ImportError:
        return NOT_INSTALLED
    except Exception as error:
        if type(error).__name__ == "InvalidGraph":  # not just an operator that this version does not have
            raise FileError(
                f"{graph.source}: ONNX Runtime, which it was to be compared with, calls it invalid: "
                f"{_short(error)}. Mend the file; prove=False goes without the comparison."
            ) from error
        return NOT_RUN
    port = graph.inputs[0]
    kind: Any = np.float32 if not isinstance(program.raw, LevelArray) else program.raw.kind
    assert port.shape is not None
    batch, *sizes = port.shape

    def run(rows: Array) -> Array:
        results = []
        for part, kept in batches(rows.reshape(len(rows), *sizes).astype(kind), batch, 64):
            try:
                outputs = session.run([program.output], {port.name: part})
            except Exception as error:
                raise FileError(
                    f"{graph.source}: ONNX Runtime, which it was to be compared with, loads it and then "
                    f"fails: {_short(error)}. Mend the file; prove=False goes without the comparison."
                ) from error
            results.append(np.asarray(outputs[0])[:kept])
        return np.concatenate(results).reshape(len(rows), -1)

    return run


def _short(error: Exception) -> str:
    """Return the message of a runtime, without its codes and the names of its own files."""
    text = " ".join(str(error).split())
    for mark in ("INVALID_GRAPH : ", "This is an invalid model. ", "Status Message: "):
        text = text.split(mark)[-1]
    return text[:200]
