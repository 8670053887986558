"""Commands about several images at once: sum, sudoku, state."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import announced, asked_among, asked_network, how, keep_certificate, on_work
from sugenet.cli.options import give, integer, number, refuse_idle, samples_of, typed
from sugenet.cli.output import Screen
from sugenet.cli.parser import Commands, Parser, Run, UsageError
from sugenet.errors import SugenetError

if TYPE_CHECKING:
    from sugenet.bnn import Network
    from sugenet.logic import Composed

__all__ = ["COMMANDS"]

_BALLS = {
    "hamming": "up to R bits flipped in each image",
    "l0": "up to R features changed in each image",
    "l1": "raw changes of up to R in all of each image",
    "l2": "a raw distance of up to R in each image",
    "linf": "every feature changed by up to R",
}
_VERBS = ("verify", "whatif", "why")
_CODES = {"refuted": 1, "undecided": 3, "unknown": 3}


# -- options -------------------------------------------------------------------------------------------------


def _on_question(parser: Parser) -> None:
    """What is asked, and how."""
    group = parser.add_argument_group("question; without one, how possible it is")
    group.add_argument(
        "--verify", action="store_true", help="whether it stays while images change in a region"
    )
    group.add_argument("--whatif", action="store_true", help="the cheapest changes with which it is another")
    group.add_argument("--why", action="store_true", help="features that suffice for it in a region")
    parser.add_argument(
        "--cost",
        choices=["L0", "L1", "L2", "Hamming"],
        metavar="COST",
        help="what --whatif adds up over all images, L0 unless given",
    )
    group = parser.add_argument_group("region of --verify and --why")
    for name, words in _BALLS.items():
        group.add_argument(f"--{name}", type=typed(number), metavar="R", help=words)
    group.add_argument("--anything", action="store_true", help="any input")
    about = "with --verify, all images share the budget R"
    group.add_argument("--joint", action="store_true", help=about)
    on_work(parser)


def _on_images(parser: Parser) -> None:
    give(parser, "model", "samples", "target", "delimiter")
    parser.set_defaults(index=None)


def _places(text: str) -> list[int]:
    """Numbers of samples with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    with suppress(SugenetError):
        places = [integer(part) for part in parts]
        if min(places) >= 0:
            return places
    raise SugenetError(f"{text} must be numbers of samples from 0, such as 7,3")


def _check_usage(options: Namespace) -> str | None:
    """The question that is asked; refuses two, and what means nothing to it."""
    asked = asked_among(options, _VERBS)
    if len(asked) > 1:
        raise UsageError(f"ask one question, not --{' and --'.join(asked)}.")
    verb = asked[0] if asked else None
    regions = asked_among(options, (*_BALLS, "anything"))
    if len(regions) > 1:
        raise UsageError(f"name one region, not --{' and --'.join(regions)}.")
    if verb not in ("verify", "why") and regions:
        raise UsageError(
            f"--{regions[0]} is a region of --verify or --why: give one of them, or leave it out."
        )
    if verb == "verify" and not regions:
        raise UsageError(f"name a region in which it stays: --{', --'.join((*_BALLS, 'anything'))}.")
    if options.joint and verb != "verify":
        raise UsageError("--joint goes with --verify: give that too, or leave it out.")
    if options.joint and regions[0] in ("linf", "anything"):
        raise UsageError(f"--joint shares a budget, and --{regions[0]} has none that adds up: leave it out.")
    if verb is None:
        idle = ["time_limit", "threads", "seed", "within_data", "law"]
        refuse_idle(options, idle, f"means nothing without --{', --'.join(_VERBS)}: leave it out.")
    if options.cost is not None and verb != "whatif":
        raise UsageError("--cost goes with --whatif: give that too, or leave it out.")
    return verb


def _rows(options: Namespace, network: Network, places: list[int], option: str) -> list[Any]:
    X, _ = samples_of(options, network)
    wrong = next((place for place in places if place >= len(X)), None)
    if wrong is not None:
        raise SugenetError(f"{option} {wrong} is not one of the {len(X)} samples, which are numbered from 0.")
    return [X[place] for place in places]


def _region(options: Namespace) -> Any:
    from sugenet.problem.regions import BALLS, Anything

    kind = next(iter(asked_among(options, _BALLS_AND_ALL)), "anything")
    return Anything() if kind == "anything" else BALLS[kind.capitalize()](getattr(options, kind))


_BALLS_AND_ALL = (*_BALLS, "anything")


# -- answering -----------------------------------------------------------------------------------------------


def _answered(
    options: Namespace, screen: Screen, verb: str | None, whole: Callable[[], Composed], value: Any
) -> int:
    from sugenet import logic
    from sugenet.problem.regions import BALLS

    def ask() -> Any:
        about, work = whole(), how(options, screen)
        match verb:
            case "verify":
                return logic.verify(about, _region(options), joint=options.joint, **work)
            case "whatif":
                return logic.whatif(about, value, BALLS[options.cost or "L0"], **work)
            case "why":
                return logic.why(about, _region(options), **work)
        return logic.read(about, value)

    answer = announced(screen, ask)
    keep_certificate(options, screen, answer.certificate)
    screen.say(answer.said(screen.mark), answer.data(), beside=options.output == "-")
    return _CODES.get(answer.outcome, 0)


def _sum(parser: Parser) -> Run:
    _on_images(parser)
    about = "the digits of the number on this side: numbers of samples from 0, the first digit first"
    for side in ("--left", "--right"):
        parser.add_argument(side, type=typed(_places), required=True, metavar="I,I,...", help=about)
    about = "ask about this sum, or with --whatif for it"
    parser.add_argument("--total", type=typed(integer), metavar="N", help=about)
    _on_question(parser)
    return _ask_sum


def _ask_sum(options: Namespace, screen: Screen) -> int:
    verb = _check_usage(options)
    if options.total is not None and verb in ("verify", "why"):
        raise UsageError(f"--{verb} is about the sum as it is read: leave out --total.")
    network = asked_network(options)
    left = _rows(options, network, options.left, "--left")
    right = _rows(options, network, options.right, "--right")
    from sugenet.logic import Sum

    return _answered(options, screen, verb, lambda: Sum.of(network, left, right), options.total)


def _sudoku(parser: Parser) -> Run:
    _on_images(parser)
    about = "the cells row by row, as numbers of samples from 0; all samples in their order unless given"
    parser.add_argument("--cells", type=typed(_places), metavar="I,I,...", help=about)
    _on_question(parser)
    return _ask_sudoku


def _ask_sudoku(options: Namespace, screen: Screen) -> int:
    verb = _check_usage(options)
    network = asked_network(options)
    if options.cells is None:
        X, _ = samples_of(options, network)
        cells = list(X)
        if len(cells) not in (16, 81, 256, 625):
            raise SugenetError(
                f"there are {len(cells)} samples, which are no grid of 16, 81, 256 or 625 cells. Choose some "
                f"with --cells."
            )
    else:
        cells = _rows(options, network, options.cells, "--cells")
    from sugenet.logic import Sudoku

    return _answered(options, screen, verb, lambda: Sudoku.of(network, cells), None)


def _state(parser: Parser) -> Run:
    _on_images(parser)
    about = "call what is read in sample number I by a name; may be repeated"
    parser.add_argument(
        "--reading", action="append", required=True, type=typed(_named), metavar="NAME=I", help=about
    )
    about = "a formula such as 'if a = 3 then b != 4'; may be repeated, then all of them"
    parser.add_argument("--claim", action="append", required=True, metavar="FORMULA", help=about)
    _on_question(parser)
    return _ask_state


def _named(text: str) -> tuple[str, int]:
    name, equals, place = text.rpartition("=")
    if not equals or not name or not re.fullmatch("[0-9]{1,11}", place):
        raise SugenetError(f"{text} must be NAME=I, with the number of a sample from 0")
    return name, int(place)


def _ask_state(options: Namespace, screen: Screen) -> int:
    verb = _check_usage(options)
    network = asked_network(options)
    rows = _rows(options, network, [place for _, place in options.reading], "--reading")
    from sugenet.logic import Stated, readings_of

    def stated() -> Composed:
        return Stated.of(readings_of(network, rows, [name for name, _ in options.reading]), *options.claim)

    return _answered(options, screen, verb, stated, None)


COMMANDS: Commands = {
    "sum": (
        _sum,
        "add two numbers of images: how sure, why, what if, can it fail",
        [
            "sugenet sum digits --left 7,3 --right 4",
            "sugenet sum digits --left 7,3 --right 4 --verify --l0 1 -o certificate.json",
            "sugenet sum digits --left 7,3 --right 4 --whatif --total 41",
        ],
    ),
    "sudoku": (
        _sudoku,
        "see whether a grid of images can be a Sudoku",
        ["sugenet sudoku model.sugenet cells.npy"],
    ),
    "state": (
        _state,
        "ask about a statement on what is read in several images",
        ["sugenet state digits --reading a=7 --reading b=4 --claim 'if a = 3 then b > 4'"],
    ),
}
