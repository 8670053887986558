"""Chains of operations as the tests want them: read alone,
without what an import makes of them, and evaluated.
"""

from pathlib import Path

import numpy as np

from sugenet.io.onnx.reader import read_file
from sugenet.io.proof.interpreters import interpreter_of_chain
from sugenet.io.torch.state_dict import chain_of_parts, declared


def read_chain(source):
    """The operations of an ONNX file."""
    return read_file(source)[0]


def chain_of_state_dict(state, architecture=None, shape=None, bits=None):
    """The operations of a checkpoint."""
    source = Path(state).name if isinstance(state, str | Path) else "state dict"
    return chain_of_parts(source, *declared(state, architecture, bits)[:2], shape)


def evaluate(chain, X):
    """Scores of samples in float64, one row a sample."""
    return interpreter_of_chain(chain).run(np.asarray(X, dtype=np.float64)).scores
