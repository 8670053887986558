"""One command from its words to its exit code: errors in one or two lines, output that nobody reads,
a disk that is full.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper

from sugenet.cli.commands import parse
from sugenet.cli.output import Screen, drop_output
from sugenet.errors import CertificateError, SugenetError

__all__ = ["run"]


def run(arguments: Sequence[str] | None) -> int:
    """Run one command and return its exit code; Ctrl-C goes on to the caller."""
    if isinstance(sys.stdout, TextIOWrapper):  # a letter that the terminal cannot show is spelled out
        sys.stdout.reconfigure(errors="backslashreplace")
    screen = Screen()
    try:
        return _answer(arguments, screen)
    except SugenetError as error:
        screen.complain(str(error))
        return 1 if isinstance(error, CertificateError) else 2
    except BrokenPipeError:  # the reader of a help, such as head, has seen enough
        drop_output()
        return 0
    except MemoryError:
        screen.complain(
            "there is not enough memory for this. Give fewer samples at a time, or a smaller model."
        )
    except RecursionError:
        screen.complain("the input is nested too deeply.")
    except RuntimeError as error:  # of numba, which says it where a kernel is defined
        if "no locator available" not in str(error):
            raise
        screen.complain(
            "no folder can be written in which numba keeps what it compiles. "
            "Set NUMBA_CACHE_DIR to one that can, for example: export NUMBA_CACHE_DIR=/tmp/numba."
        )
    except OSError as error:
        drop_output()
        what = "" if error.filename is None else f"{error.filename}: "
        screen.complain(f"{what}{error.strerror or error}.")
    return 2


def _answer(arguments: Sequence[str] | None, screen: Screen) -> int:
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        screen.as_json, screen.quiet = getattr(options, "json", False), getattr(options, "quiet", False)
        screen.flags = options.flags
        return int(options.run(options, screen))
    finally:
        screen.finish()  # here, where a full disk can still be answered
