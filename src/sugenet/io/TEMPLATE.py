"""A template for a reader. ``cp TEMPLATE.py mine.py && python mine.py FILE`` runs it and says what to
write next.

Then add a function with all common options to ``importers.py``, the file ending to `import_file`, and a
generator of such files to ``tests/fuzzing``.
"""

import sys
from pathlib import Path

from sugenet.io.exact.domains import Bits, Inputs
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import OpChain
from sugenet.io.proof.interpreters import SourceInterpreter
from sugenet.io.proof.proving import prove_import
from sugenet.nn import Network

__all__ = ["read_template"]


def _chain_of(path: str | Path) -> OpChain:
    raise NotImplementedError("_chain_of(): return the operations of the file, in its own numbers")


def _interpreter_of(path: str | Path) -> SourceInterpreter:
    raise NotImplementedError(
        "_interpreter_of(): return an interpreter that runs the file by code of its own"
    )


def read_template(path: str | Path, *, inputs: Inputs | None = None) -> Network:
    """Describe here which files this function reads."""
    chain = _chain_of(path)
    return prove_import(lower(chain, inputs), chain, [_interpreter_of(path)], inputs).reported


if __name__ == "__main__":
    print(read_template(sys.argv[1], inputs=Bits()).report)
