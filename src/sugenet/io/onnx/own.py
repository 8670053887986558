"""Files that `write_onnx` wrote: they hold the network itself, next to the operations that compute it.

ONNX has no place for names, categories, limits and laws, so `write_onnx` stores the network in a property of
the file. The property is believed only if writing that network again gives the file, byte for byte. Then the
operations of the file are run on samples near thresholds, by the interpreter of operators.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import replace

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.report import ImportProof, ImportReport
from sugenet.io.native.file import network_from
from sugenet.io.onnx.graph import Graph
from sugenet.io.onnx.interpreter.program import Interpreter
from sugenet.io.onnx.wire import Budget, Message
from sugenet.io.onnx.writer import CERTAIN, PROPERTY, onnx_bytes
from sugenet.io.proof.near import directed
from sugenet.io.proof.proving import different, work_of

__all__ = ["own_network", "prove_own"]

_WORK = 1 << 26
_SAMPLES = 256
_REMARK = "read from the network in the file: the file is, byte for byte, what write_onnx writes for it"


def own_network(graph: Graph) -> ImportReport | None:
    """Return the network that a file was written from; None if the file holds none.

    Raises
    ------
    FileError
        If the network in the file is damaged, or the file was changed since it was written.
    """
    entries = {entry.text(1): entry.raw(2) for entry in Message(graph.raw, Budget()).messages(14)}
    held = entries.get(PROPERTY)
    if held is None:
        return None
    try:
        network = network_from(b64decode(held, validate=True))
    except (Base64Error, FileError) as error:
        raise FileError(
            f"{graph.source}: its property {PROPERTY!r} is not a network ({error}). {_CHANGED}"
        ) from error
    if not any(onnx_bytes(network, hidden=hidden) == graph.raw for hidden in (False, True)):
        raise FileError(
            f"{graph.source}: it is not the file that this version of sugenet writes for the network in its "
            f"property {PROPERTY!r}. {_CHANGED}"
        )
    return ImportReport(network, (), (_REMARK,))


_CHANGED = "Give inputs=, to read the operations of the file instead, or write the network again."


def prove_own(report: ImportReport, graph: Graph) -> ImportReport:
    """Return the report with its proof: the operations of the file give the scores of the network."""
    network = report.network
    samples = directed(network, max(8, min(_SAMPLES, _WORK // work_of(network))))
    run = Interpreter(graph, "scores").run(samples.numbers)
    theirs, mine = run.values["scores"].values, network.logits(samples.raw, engine="definition")
    sure = np.ones(len(mine), bool)
    if network.passes_reals:
        sure = Interpreter(graph, CERTAIN).run(samples.numbers).values[CERTAIN].values.astype(bool)
    if theirs.shape != mine.shape or (theirs != mine)[sure].any():
        raise different(graph.source, "the output 'scores'", "the network in the file has other scores")
    interpreter = "an interpreter of its operators in exact numbers"
    compared = int(sure.sum()) * network.head.outputs
    left = int((~sure).sum())
    return replace(
        report, proof=ImportProof((interpreter,), len(mine), samples.near, 0, (), 0, compared, 0, left)
    )
