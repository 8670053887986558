"""The command line: parse, call one function, show.

``sugenet --help`` lists the commands, docs/cli.md shows them.

Exit codes: 0 done, found or proved, 1 refuted or a certificate that does not hold, 2 wrong usage or bad
input, 3 undecided, 130 interrupted. A training that is interrupted after its first epoch keeps its best
epoch, writes the model and ends with 0.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # else numba, where colorama is there, ends every command on a terminal with a sign that resets colours
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    try:
        # here, so that Ctrl-C is answered while modules are still being loaded
        from sugenet.cli.session import (
            run,
        )

        return run(arguments)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            with suppress(OSError):
                print("sugenet: interrupted", file=sys.stderr)
        return 130
