"""An argument parser with help in 80 columns, errors in two lines, and suggestions for misspelled names."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from errno import EBADF
from typing import Any, NamedTuple, NoReturn

from sugenet.cli.output import CLOSED, Screen, columns
from sugenet.errors import SugenetError

__all__ = [
    "Argument",
    "Arguments",
    "Command",
    "Commands",
    "Group",
    "Parser",
    "Run",
    "UsageError",
    "nearest",
    "option",
    "options_of",
    "positionals_of",
]

_ALIKE = 0.7
"""Minimum similarity of a suggestion."""
_LEFT = 24
"""Columns for the names of options; their help follows."""


class UsageError(SugenetError):
    """A wrong command line; the message names the problem, the hint where to find help."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is nearest to a wrong one: one that contains it, or a similar one.

    Examples
    --------
    >>> nearest("--limit", ["--delimiter", "--time-limit"]), nearest("--colour", ["--cost"])
    (' Did you mean --time-limit?', '')
    """
    plain = {one.lstrip("-").lower(): one for one in known}
    wrong = word.lstrip("-").lower()
    parts = [name for name in plain if wrong in name.split("-")] if len(wrong) > 2 else []
    close = parts or get_close_matches(wrong, plain, n=1, cutoff=_ALIKE)
    return f" Did you mean {plain[close[0]]}?" if close else ""


# -- commands as values --------------------------------------------------------------------------------------

Run = Callable[[argparse.Namespace, Screen], int]
"""Function that runs a command, prints the result, and returns the exit code."""


class Argument(NamedTuple):
    """An argument or an option, with the settings of argparse."""

    flags: tuple[str, ...]
    settings: dict[str, Any]

    def but(self, **changes: Any) -> Argument:
        """Return the same argument with other settings."""
        return Argument(self.flags, self.settings | changes)


def option(*flags: str, **settings: Any) -> Argument:
    """Return an argument or an option by its spellings."""
    return Argument(flags, settings)


class Group(NamedTuple):
    """Options under their own title."""

    title: str
    options: Sequence[Argument]


Arguments = Sequence[Argument | Group]
"""Arguments and options of a command, in order."""


class Command(NamedTuple):
    """A command: the function to run, a line of help, examples, arguments and options in order."""

    run: Run
    about: str
    examples: Sequence[str]
    options: Arguments = ()
    elsewhere: Mapping[str, str] = {}
    """Options of other commands, and the commands to which they belong."""
    defaults: Mapping[str, Any] = {}
    """Values of options that it does not have."""


Commands = dict[str, Command]
"""Commands by name."""


class Parser(argparse.ArgumentParser):
    """Parser of one command, or of all; errors are raised, not printed."""

    def __init__(self, *, command: Command | None = None, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, add_help=False, **settings)
        self.command = command or Command(lambda *_: 0, "", ())
        self.add_argument("-h", "--help", action="help", help="show this help")
        if command is not None:
            self.set_defaults(run=command.run, **command.defaults)
        self._take(self, self.command.options)

    def _take(self, container: argparse._ActionsContainer, options: Iterable[Argument | Group]) -> None:
        for one in options:
            if isinstance(one, Group):
                self._take(self.add_argument_group(one.title), one.options)
            else:
                container.add_argument(*one.flags, **one.settings)

    def _print_message(self, message: str, _file: Any = None) -> None:
        """Print help or the version; argparse itself would ignore a full disk."""
        if sys.stdout is None:
            raise OSError(EBADF, CLOSED)
        sys.stdout.write(message)

    def error(self, message: str) -> NoReturn:
        """Raise a `UsageError` in the style of this project."""
        message = re.sub(r"^argument (?:-\w/)?(\S+): ", r"\1 ", message)
        message = re.sub(r"^the following arguments are required: (.*)$", r"missing: \1", message)
        message = message.replace(" expected one argument", " needs a value")
        end = "" if message.endswith((".", "?")) else "."
        raise UsageError(f"{message}{end}", f"Try: {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            if isinstance(action, argparse._SubParsersAction):
                self.error(f"there is no command {value}.{nearest(str(value), known)}")
            raise argparse.ArgumentError(
                action, f"{value} is not one of {', '.join(known)}.{nearest(str(value), known)}"
            )

    def refuse(self, rest: Sequence[str]) -> NoReturn:
        """Raise a `UsageError` about unknown arguments."""
        wrong = next((word for word in rest if word.startswith("-") and word != "-"), None)
        if wrong is None:
            self.error(f"{rest[0]} is one argument too many")
        name = wrong.partition("=")[0]
        known = [flag for action in options_of(self) for flag in action.option_strings]
        if name in known:
            self.error(f"{name} must come after the command")
        if name in self.command.elsewhere:
            self.error(f"{name} is not an option of this command: {self.command.elsewhere[name]}")
        self.error(f"there is no option {name}.{nearest(name, known)}")

    def format_usage(self) -> str:
        """Return one line: the command, its arguments, and whether there are options."""
        parts = [self.prog]
        for action in positionals_of(self):
            name = _name(action)
            parts.append({"?": f"[{name}]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name))
        parts += [
            f"{action.option_strings[0]} {_value(action)}" for action in options_of(self) if action.required
        ]
        return f"usage: {' '.join(parts)} [OPTIONS]\n"

    def format_help(self) -> str:
        """Return usage, purpose, arguments and options by group, examples."""
        parts = [self.format_usage(), _paragraph(self.description or "")]
        groups = [group for group in self._action_groups if group._group_actions]
        for group in sorted(groups, key=lambda group: group.title == "options"):  # the general ones come last
            title = "arguments" if group.title == "positional arguments" else group.title
            help_last = sorted(group._group_actions, key=lambda action: action.dest == "help")
            parts.append("".join([f"{title}\n", *map(_entry, help_last)]))
        examples = self.command.examples
        plural = "" if len(examples) == 1 else "s"
        parts.append("".join([f"example{plural}\n", *(f"  {example}\n" for example in examples)]))
        return "\n".join(parts)


def options_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options, which begin with a dash."""
    return [action for action in parser._actions if action.option_strings]


def positionals_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the positional arguments."""
    return [action for action in parser._actions if not action.option_strings]


def _name(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper())


def _value(action: argparse.Action) -> str:
    return "" if action.nargs == 0 else _name(action)


def _entry(action: argparse.Action) -> str:
    """Return name and help of one argument or option."""
    left = (
        f"{', '.join(action.option_strings)} {_value(action)}".rstrip()
        if action.option_strings
        else _name(action)
    )
    text = action.help or ""
    if action.choices is not None and not all(str(choice) in text for choice in action.choices):
        text += f": {', '.join(map(str, action.choices))}"
    if (
        action.default is not None
        and action.default is not False
        and action.default not in ([], argparse.SUPPRESS)
    ):
        text += f" (default: {action.default})"
    lines = textwrap.wrap(text, _width() - _LEFT)
    gap = " " * _LEFT
    first = f"  {left}".ljust(_LEFT)
    begin = [f"{first}{lines.pop(0)}"] if len(left) + 4 <= _LEFT else [f"  {left}"]
    return "".join(f"{line}\n" for line in [*begin, *(f"{gap}{line}" for line in lines)])


def _paragraph(text: str) -> str:
    return "".join(f"{line}\n" for line in textwrap.wrap(text, _width()))


def _width() -> int:
    return max(_LEFT + 20, min(columns(), 80))
