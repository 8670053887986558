"""Commands about several images at once: sum, sudoku, state."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import (
    WORK_OPTIONS,
    announced,
    asked_among,
    asked_network,
    flags_of,
    how,
    keep_certificate,
    on_regions,
    region_of,
)
from sugenet.cli.options import integer, refuse_idle, samples_of, shared, typed
from sugenet.cli.output import Screen
from sugenet.cli.parser import Argument, Arguments, Command, Commands, Group, UsageError, option
from sugenet.errors import SugenetError, refuse
from sugenet.fields import BALLS

if TYPE_CHECKING:
    from sugenet.logic import Composed
    from sugenet.nn import Network

__all__ = ["COMMANDS"]

_PLACES = (*BALLS, "any_input")
_IN_EACH = {
    name: description if name == "linf" else f"{description}, in each image"
    for name, description in BALLS.items()
}
_VERBS = ("verify", "whatif", "why")
_CODES = {"refuted": 1, "undecided": 3, "unknown": 3}


def _places(text: str) -> list[int]:
    """Return indices of samples, separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    with suppress(SugenetError):
        indices = [integer(part) for part in parts]
        if min(indices) >= 0:
            return indices
    raise SugenetError(f"{text[:60]} is not a list of sample numbers from 0, such as 7,3")


def _check_usage(options: Namespace) -> str | None:
    """Return the question of the options; refuse two questions, and options that do not apply."""
    asked, regions = asked_among(options, _VERBS), asked_among(options, _PLACES)
    verb, region = next(iter(asked), None), next(iter(regions), None)
    refuse(
        UsageError,
        (len(asked) > 1, f"give one question, not {flags_of(asked, ' and ')}."),
        (len(regions) > 1, f"give one region, not {flags_of(regions, ' and ')}."),
        (
            verb not in ("verify", "why") and regions,
            f"{flags_of(regions[:1])} needs --verify or --why.",
        ),
        (
            verb == "verify" and not regions,
            f"a region is missing. Give one of {flags_of(_PLACES)}.",
        ),
        (
            options.joint and verb != "verify",
            "--joint needs --verify.",
        ),
        (
            options.joint and region in ("linf", "any_input"),
            f"--joint shares a budget, and {flags_of(regions[:1])} has none. Leave --joint out.",
        ),
    )
    if verb is None:
        idle = ["time_limit", "threads", "seed", "within", "law"]
        refuse_idle(options, idle, f"needs one of {flags_of(_VERBS)}.")
    refuse(
        UsageError,
        (
            options.cost is not None and verb != "whatif",
            "--cost needs --whatif.",
        ),
    )
    return verb


def _rows(options: Namespace, network: Network, indices: list[int], option: str) -> list[Any]:
    X, _ = samples_of(options, network)
    wrong = next((index for index in indices if index >= len(X)), None)
    if wrong is not None:
        raise SugenetError(f"{option} {wrong} is not one of the {len(X)} samples, which are numbered from 0.")
    return [X[index] for index in indices]


# -- answering -----------------------------------------------------------------------------------------------


def _answered(
    options: Namespace,
    screen: Screen,
    verb: str | None,
    network: Network,
    compose: Callable[[], Composed],
    value: Any = None,
) -> int:
    from sugenet import logic
    from sugenet.problem import regions

    def ask() -> Any:
        about, work = compose(), how(options, screen)
        match verb:
            case "verify":
                return logic.verify(about, region_of(options, network), joint=options.joint, **work)
            case "whatif":
                return logic.whatif(about, value, regions.BALLS[options.cost or "L0"], **work)
            case "why":
                return logic.why(about, region_of(options, network), **work)
        return logic.read(about, value)

    answer = announced(screen, ask)
    keep_certificate(options, screen, answer.certificate)
    screen.say(answer.said(screen.mark), answer.data(), beside=options.output == "-")
    return _CODES.get(answer.outcome, 0)


def _ask_sum(options: Namespace, screen: Screen) -> int:
    verb = _check_usage(options)
    if options.total is not None and verb in ("verify", "why"):
        raise UsageError(f"--total is not used by --{verb}, which is about the predicted sum. Leave it out.")
    network = asked_network(options)
    left = _rows(options, network, options.left, "--left")
    right = _rows(options, network, options.right, "--right")
    from sugenet.logic import Sum

    return _answered(options, screen, verb, network, lambda: Sum.of(network, left, right), options.total)


def _ask_sudoku(options: Namespace, screen: Screen) -> int:
    verb = _check_usage(options)
    network = asked_network(options)
    if options.cells is None:
        X, _ = samples_of(options, network)
        cells = list(X)
        if len(cells) not in (16, 81, 256, 625):
            raise SugenetError(
                f"{len(cells)} samples are not a grid of 16, 81, 256 or 625 cells. Choose some with --cells."
            )
    else:
        cells = _rows(options, network, options.cells, "--cells")
    from sugenet.logic import Sudoku

    return _answered(options, screen, verb, network, lambda: Sudoku.of(network, cells))


def _named(text: str) -> tuple[str, int]:
    name, equals, index = text.rpartition("=")
    if not equals or not name or not re.fullmatch("[0-9]{1,11}", index):
        raise SugenetError(f"{text[:60]} is not NAME=I, with the number of a sample from 0")
    return name, int(index)


def _ask_state(options: Namespace, screen: Screen) -> int:
    verb = _check_usage(options)
    network = asked_network(options)
    rows = _rows(options, network, [index for _, index in options.reading], "--reading")
    from sugenet.logic import Statement, readings_of

    def stated() -> Composed:
        return Statement.of(readings_of(network, rows, [name for name, _ in options.reading]), *options.claim)

    return _answered(options, screen, verb, network, stated)


_IMAGES = shared("model", "samples", "label_column", "delimiter")
_QUESTION: Arguments = (
    Group(
        "question (default: how possible it is)",
        [
            option("--verify", action="store_true", help="prove or refute that it stays in a region"),
            option("--whatif", action="store_true", help="find the cheapest change that changes it"),
            option("--why", action="store_true", help="find features that suffice for it"),
        ],
    ),
    option(
        "--cost",
        choices=["L0", "L1", "L2", "Hamming"],
        metavar="COST",
        help="with --whatif: cost of changes (default: L0)",
    ),
    Group(
        "region of --verify and --why",
        [
            *on_regions("", named=False, balls=_IN_EACH).options,
            option("--joint", action="store_true", help="with --verify: all images share the budget R"),
        ],
    ),
    *WORK_OPTIONS,
)
"""Options for the question and the search."""


def _digits(side: str) -> Argument:
    about = f"samples that are the digits of the {side.lstrip('-')} number"
    return option(side, type=typed(_places), required=True, metavar="I,I,...", help=about)


COMMANDS: Commands = {
    "sum": Command(
        _ask_sum,
        "add two numbers whose digits are images",
        [
            "sugenet sum digits --left 7,3 --right 4",
            "sugenet sum digits --left 7,3 --right 4 --verify --l0 1 -o certificate.json",
            "sugenet sum digits --left 7,3 --right 4 --whatif --total 41",
        ],
        [
            *_IMAGES,
            _digits("--left"),
            _digits("--right"),
            option(
                "--total",
                type=typed(integer),
                metavar="N",
                help="sum to ask about, or to reach with --whatif",
            ),
            *_QUESTION,
        ],
        defaults={"index": None},
    ),
    "sudoku": Command(
        _ask_sudoku,
        "check or correct a Sudoku grid of images",
        ["sugenet sudoku model.sugenet cells.npy"],
        [
            *_IMAGES,
            option(
                "--cells",
                type=typed(_places),
                metavar="I,I,...",
                help="samples row by row (default: all, in order)",
            ),
            *_QUESTION,
        ],
        defaults={"index": None},
    ),
    "state": Command(
        _ask_state,
        "ask about a statement on several images",
        ["sugenet state digits --reading a=7 --reading b=4 --claim 'if a = 3 then b > 4'"],
        [
            *_IMAGES,
            option(
                "--reading",
                action="append",
                required=True,
                type=typed(_named),
                metavar="NAME=I",
                help="name for the class of sample I; repeatable",
            ),
            option(
                "--claim",
                action="append",
                required=True,
                metavar="FORMULA",
                help="statement such as 'if a = 3 then b != 4'; repeatable",
            ),
            *_QUESTION,
        ],
        defaults={"index": None},
    ),
}
