"""All commands in one parser, built without loading their dependencies, so that help and errors are fast."""

import argparse
from collections.abc import Sequence
from functools import cache

from sugenet import __version__
from sugenet.cli import checking
from sugenet.cli.options import SHIPPED, check_paths
from sugenet.cli.parser import Commands, Parser, options_of, positionals_of

__all__ = ["groups", "parse", "parser_of_all"]


_GROUPS = {
    "ask": ("why", "whatif", "verify", "compare", "rectify", "count", "rules", "check"),
    "model": ("summary", "overview", "predict", "trace", "train", "convert"),
    "data sets": ("columns", "sweep", "results", "fit"),
    "logic": ("sum", "sudoku", "state"),
    "tools": ("demo", "report", "page", "serve", "export", "instance", "vnncomp", "warm-up", "completion"),
}
"""Names of commands by task."""


@cache
def groups() -> dict[str, Commands]:
    """Return the commands by task."""
    from sugenet.cli import (
        competition,
        complete,
        composites,
        faces,
        files,
        fitting,
        look,
        questions,
        results,
        sweeping,
    )

    modules = (
        *(look, questions, checking, composites, sweeping, results, faces, fitting, files),
        *(competition, complete),
    )
    known = {name: command for module in modules for name, command in module.COMMANDS.items()}
    groups = {title: {name: known.pop(name) for name in names} for title, names in _GROUPS.items()}
    groups["tools"] |= known
    return groups


_CODES = (
    ("0", "done, found or proved"),
    ("1", "refuted, or a certificate that does not hold"),
    ("2", "wrong usage or bad input"),
    ("3", "undecided"),
    ("70", "a bug in sugenet"),
    ("130", "interrupted"),
)


class _Sugenet(Parser):
    """Parser of all commands; its help lists them in groups."""

    def format_usage(self) -> str:
        return "usage: sugenet COMMAND [OPTIONS]\n"

    def format_help(self) -> str:
        lines = [
            "Exact answers about binarized and low-bit neural networks, with certificates.",
            "",
            self.format_usage(),
        ]
        for title, commands in groups().items():
            lines += [title, *(f"  {name:<12}{one.about}" for name, one in commands.items()), ""]
        lines += [
            "options",
            "  -h, --help  show this help, or the help of a command",
            "  --version   show the version",
            "",
            "exit codes",
            *(f"  {code:<12}{meaning}" for code, meaning in _CODES),
            "",
            f"MODEL is a .sugenet file or a shipped model: {', '.join(SHIPPED)}.",
            "Start here: sugenet demo",
            "",
        ]
        return "\n".join(lines)


def parser_of_all(word: str | None = None) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser, and those of the commands by name.

    For ``check`` only its own parser is built, so that a check loads little.
    """
    parser = _Sugenet(prog="sugenet")
    parser.add_argument("--version", action="version", version=f"sugenet {__version__}")
    indices = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    made = {}
    for commands in [checking.COMMANDS] if word in checking.COMMANDS else groups().values():
        for name, command in commands.items():
            description = f"{command.about[0].upper()}{command.about[1:]}."
            made[name] = indices.add_parser(
                name, prog=f"sugenet {name}", description=description, command=command
            )
    return parser, made


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line: the options, with the function to run as ``run``."""
    parser, made = parser_of_all(arguments[0] if arguments else None)
    options, rest = parser.parse_known_args(arguments)
    if options.command is None:
        if rest:
            parser.refuse(rest)
        parser.print_help()
        parser.exit()
    chosen = made[options.command]
    for action in positionals_of(chosen):
        while action.nargs == "+" and rest and not rest[0].startswith("-"):
            getattr(options, action.dest).append(rest.pop(0))
    for action in positionals_of(chosen):  # an optional one may also come after the options
        if rest and (rest[0] == "-" or not rest[0].startswith("-")) and getattr(options, action.dest) is None:
            setattr(options, action.dest, rest.pop(0))
    if rest:
        chosen.refuse(rest)
    options.flags = {action.dest: action.option_strings[-1] for action in options_of(chosen)}
    options.given = {
        action.dest for action in chosen._actions if getattr(options, action.dest, None) != action.default
    }
    check_paths(options)
    return options
