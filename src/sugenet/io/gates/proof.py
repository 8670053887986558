"""Compare an imported logic-gate network with its source: every gate and every score, on random samples and
next to thresholds. The references are an interpreter of the gates and, for a PyTorch module, the module
itself.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.domains import Inputs, Integers
from sugenet.io.exact.report import ImportProof, ImportReport
from sugenet.io.gates.interpreter import run_gates
from sugenet.io.gates.network import GateImport, as_float32
from sugenet.io.gates.program import GateProgram
from sugenet.io.gates.reader import is_module
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.proof.near import RawRanges, turning
from sugenet.io.proof.proving import different, work_of

__all__ = ["prove_gates"]

_WORK = 1 << 31
"""Largest number of products of one network over all samples. Kernels compute 64 of them at once."""
_MOST, _LEAST = 256, 8
_CLOSE = 2.0**-20
_INTERPRETER, _MODULE = "truth tables of its gates", "the module itself"


def prove_gates(made: GateImport, program: GateProgram, model: Any, inputs: Inputs | None) -> ImportReport:
    """Return the import with its proof, or refuse it and name the first gate that differs."""
    network = made.found.network
    random = np.random.default_rng(0)
    domain = RawRanges.of_encoder(network.encoder)
    work = work_of(network)
    pool = domain.samples(min(_MOST, max(_LEAST, _WORK // work)), random)
    halvings = 2 + len(bin(pool.shape[1]))
    targets = min(16, _WORK // (work * max(1, len(network.layers)) * halvings))

    def hidden(rows: npt.NDArray[Any]) -> list[npt.NDArray[np.bool_]]:
        return network.hidden(rows, engine="auto")

    near = turning(network, domain, hidden, pool, targets, random, direct=True) if targets else pool[:0]
    rows = np.concatenate([pool, near])
    if not domain.whole:
        rows = domain.in_float32(rows)
    source = _source(inputs, rows)
    theirs = run_gates(program, source)
    shown = hidden(rows) if network.layers else []
    bits = 0
    for layer, values, mine, seen in zip(program.layers, made.values, shown, theirs.layers, strict=True):
        wrong = np.argwhere(values.of(mine) != seen)
        if len(wrong):
            row, gate = (int(k) for k in wrong[0])
            raise different(
                program.source, layer.where, f"gate {gate} differs on sample {row} from {_INTERPRETER}"
            )
        bits += seen.size
    last = shown[-1] if shown else network.encoder.encode(rows)
    scores = network.head.logits(network.head.match_counts(last))
    references = {_INTERPRETER: theirs.scores}
    if is_module(model):
        references[_MODULE] = _run(model, source.reshape(len(source), *program.shape))
    for name, other in references.items():
        refuse_if(
            other.shape != scores.shape, program.source, f"{name} gives scores of shape {other.shape[1:]}."
        )
        wrong = np.argwhere(~(np.abs(scores - other) <= _CLOSE * np.maximum(1, np.abs(scores))))
        if len(wrong):
            row, k = (int(index) for index in wrong[0])
            raise different(
                program.source,
                "the scores",
                f"score {k} is {scores[row, k]:.9g}, but {other[row, k]:.9g} in {name}",
            )
    proof = ImportProof(
        tuple(references), len(rows), len(near), len(shown), (), bits, scores.size * len(references), 0, 0
    )
    return replace(made.found, proof=proof)


def _source(inputs: Inputs | None, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return samples in the numbers of the source."""
    if isinstance(inputs, Integers):
        return as_float32(inputs)[rows.astype(np.int64) - inputs.low]
    return np.asarray(rows, np.float64)


def _run(model: Any, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the scores of the module."""
    import torch

    with torch.no_grad():
        return np.asarray(model(torch.tensor(rows, dtype=torch.float32)).numpy(), np.float64)
