"""The command line: parse, call one function, show. ``sugenet --help`` lists the commands, docs/cli.md shows them.

Exit codes: 0 done, found or proved, 1 refuted or a certificate that does not hold, 2 wrong usage or bad input, 3 undecided, 130
interrupted. A training that is interrupted after its first epoch keeps its best epoch, writes the model and ends with 0.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper

from sugenet.cli.commands import parse
from sugenet.cli.output import Screen
from sugenet.errors import CertificateError, SugenetError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if isinstance(sys.stdout, TextIOWrapper):  # a letter that the terminal cannot show is spelled out
        sys.stdout.reconfigure(errors="backslashreplace")
    screen = Screen()
    try:
        return _run(arguments, screen)
    except SugenetError as error:
        screen.complain(str(error))
        return 1 if isinstance(error, CertificateError) else 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        screen.complain("interrupted")
        return 130
    except MemoryError:
        screen.complain("there is not enough memory for this. Give fewer samples at a time, or a smaller model.")
    except RecursionError:
        screen.complain("the input is nested too deeply.")
    except OSError as error:
        _drop_output()
        what = "" if error.filename is None else f"{error.filename}: "
        screen.complain(f"{what}{error.strerror or error}.")
    return 2


def _run(arguments: Sequence[str] | None, screen: Screen) -> int:
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        screen.as_json, screen.quiet = getattr(options, "json", False), getattr(options, "quiet", False)
        code: int = options.run(options, screen)
        return code
    finally:
        screen.clear()
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a closed pipe or a full disk can still be answered


def _drop_output() -> None:
    """Let what cannot be written go, so that the interpreter does not try once more when it ends."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
