"""Execution of one command: errors in one or two lines, closed pipes, full disks, exit code."""

import sys
import warnings
from collections.abc import Sequence
from errno import EBADF
from io import TextIOWrapper

from sugenet.cli.commands import parse
from sugenet.cli.interrupts import finish_on_interrupt
from sugenet.cli.output import CLOSED, Screen, drop_output
from sugenet.compiling import see_space
from sugenet.errors import CertificateError, CheckLimitError, SoundnessError, SugenetError

__all__ = ["run"]

_OWN_INTERRUPTS = ("serve",)
"""Commands that handle Ctrl-C themselves; so does a sweep with a time limit, which ends by a signal."""
_SAVING = ("train",)
"""Commands that still evaluate and save a model, for as long as that takes."""


def run(arguments: Sequence[str] | None) -> int:
    """Run one command and return its exit code; Ctrl-C and bugs are raised to the caller."""
    if isinstance(sys.stdout, TextIOWrapper):  # a character that the terminal cannot show is escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    screen = Screen()
    try:
        return _answer(arguments, screen)
    except CheckLimitError as error:
        screen.complain(str(error))
        return 3
    except CertificateError as error:
        screen.complain(str(error))
        return 1
    except SoundnessError:
        raise  # a bug that sugenet itself detected
    except SugenetError as error:
        screen.complain(str(error), getattr(error, "hint", ""))
    except BrokenPipeError:  # the reader of the help, such as head, has closed the pipe
        drop_output()
        return 0
    except MemoryError:
        screen.complain(
            "there is not enough memory for this. Give fewer samples at a time, or a smaller model."
        )
    except RecursionError:
        screen.complain("the input is nested too deeply.")
    except OSError as error:
        drop_output()
        what = "" if error.filename is None else f"{error.filename}: "
        screen.complain(f"{what}{error.strerror or error}.")
    return 2


def _answer(arguments: Sequence[str] | None, screen: Screen) -> int:
    try:
        argv = sys.argv[1:] if arguments is None else arguments
        if not {"-h", "--help", "--version"} & set(argv):
            see_space()  # before NumPy is loaded: without space it ends the process
        options = parse(argv)
        screen.as_json, screen.quiet = getattr(options, "json", False), getattr(options, "quiet", False)
        screen.flags = options.flags
        if sys.stdout is None and options.command != "serve":  # at once, not after an hour of work
            raise OSError(EBADF, CLOSED)
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **_more: screen.tell_once(f"note: {message}")
            if options.command in _OWN_INTERRUPTS or getattr(options, "total_time", None) is not None:
                return int(options.run(options, screen))
            with finish_on_interrupt(screen, limited=options.command not in _SAVING):
                return int(options.run(options, screen))
    finally:
        screen.finish()  # here, where a full disk can still be reported
