"""The command line: parse, call one function, print.

``sugenet --help`` lists the commands, docs/cli.md shows them.

Exit codes: 0 for done, found or proved; 1 for refuted, or a certificate that does not hold. 2 for wrong usage
or bad input, 3 for undecided, 70 for a bug in sugenet, 130 for interrupted. A training that is interrupted
after its first epoch keeps its best epoch, writes the model and ends with 0.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sugenet.visible import visible

__all__ = ["main"]

_BUG, _LONGEST = 70, 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # otherwise Numba, if colorama is installed, ends every command on a terminal with an escape sequence
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    try:
        # here, so that Ctrl-C works while modules are still being loaded
        from sugenet.cli.session import run

        code = run(arguments)
        if arguments is None:  # the answer is printed: Ctrl-C must not change the exit code any more
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return code
    except (Exception, KeyboardInterrupt) as error:
        if not any(isinstance(cause, KeyboardInterrupt) for cause in _causes(error)):
            return _internal(error)
        if sys.stderr is not None:
            with suppress(OSError):
                print("sugenet: interrupted", file=sys.stderr, flush=True)
        if arguments is None:  # Python itself would end by the signal if it came during an import
            os._exit(130)
        return 130


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes: an interrupt inside a class definition is wrapped in other errors."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _internal(error: BaseException) -> int:
    """Report a bug, with a traceback if SUGENET_DEBUG=1; the exit code is never that of an answer."""
    if sys.stderr is not None:
        from traceback import format_exception

        cause = visible(f"{type(error).__name__}: {error}")[:_LONGEST].rstrip(".")
        text = f"sugenet: a bug in sugenet, please report it: {cause}. SUGENET_DEBUG=1 shows where it is."
        if os.environ.get("SUGENET_DEBUG", "") not in ("", "0"):
            text = visible("".join(format_exception(error)), keep="\n") + text
        with suppress(OSError):
            print(text, file=sys.stderr)
    return _BUG
