"""One command that learns from rated alternatives: fit."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import asked_among, keep_certificate
from sugenet.cli.options import refuse_idle, shared, sign_of, typed, whole
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, Group, UsageError, option
from sugenet.cli.tables import one_order, orders_in, table_of, table_options
from sugenet.errors import SugenetError, TooLargeError, refuse

if TYPE_CHECKING:
    from sugenet.fit.table import RatedTable
    from sugenet.show.fits import FitView, LearnedView

__all__ = ["COMMANDS"]

_EXACT = ("loss", "maxitive", "minitive", "weights", "output", "time_limit")
_LEARNED = ("direction", "seed")


def _terms(text: str) -> Any:
    if text == "card":
        return text
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= 1000:
        raise SugenetError(f"{text[:40]} must be a whole number from 1 to 1000, or card")
    return int(text)


def _direction(text: str) -> tuple[str, str]:
    column, _, way = text.rpartition("=")
    if not column or way not in ("rising", "falling"):
        raise SugenetError(f"{text[:80]} must be COLUMN=rising or COLUMN=falling")
    return column, way


def _check(options: Namespace) -> None:
    """Refuse options that mean nothing here."""
    if options.terms is not None:
        refuse_idle(
            options, _EXACT, "is for exact fits, and --terms learns what values are worth: leave it out."
        )
    else:
        refuse_idle(options, _LEARNED, "goes with --terms: give that too, or leave it out.")
        total, limits = options.loss == "total", asked_among(options, ("maxitive", "minitive"))
        refuse_idle(options, ["weights"] * (not total), "counts in --loss total: give that too.")
        refuse(UsageError, (len(limits) > 1, "--maxitive and --minitive are both given. Choose one."))
        refuse_idle(options, limits * total, "is for --loss largest.")
        exact = ["time_limit"] * (not total and not limits)
        refuse_idle(options, exact, "is for --loss total, --maxitive and --minitive.")
    named = options.output not in (None, "-")
    refuse(
        UsageError,
        (
            named and os.path.realpath(options.output) == os.path.realpath(options.data),
            f"{options.output} holds the table, which would be lost. Give another file to write.",
        ),
    )


def _run(options: Namespace, screen: Screen) -> int:
    _check(options)
    table = table_of(options, options.data)
    try:
        view = _exact(options, table) if options.terms is None else _learned(options, screen, table)
    except TooLargeError as error:
        if options.time_limit is None:
            raise
        screen.complain(str(error))
        return 3
    if options.terms is None:
        keep_certificate(options, screen, view.answer.certificate)  # type: ignore[union-attr]
    if options.svg is not None:
        _draw(options, screen, view)
    beside = "-" in (options.output, options.svg)
    screen.say(view.text(options.limit), view.data(options.limit), beside=beside)
    return 0 if view.is_settled else 3


def _cases(options: Namespace, table: RatedTable) -> RatedTable | None:
    if options.predict is None:
        return None
    from sugenet.fit.table import read_cases

    spare = [options.label_column, *options.ignore, *([] if options.weights is None else [options.weights])]
    how = {"name": options.name, "spare": spare, "delimiter": sign_of(options.delimiter)}
    return read_cases(options.predict, table.criteria, **how)


def _exact(options: Namespace, table: RatedTable) -> FitView:
    from sugenet.show.fits import view_fit

    limits = {name: getattr(options, name) for name in ("maxitive", "minitive", "time_limit")}
    return view_fit(table, one_order(options), options.loss, cases=_cases(options, table), **limits)


def _learned(options: Namespace, screen: Screen, table: RatedTable) -> LearnedView:
    from sugenet.show.fits import view_learned

    orders, ways = orders_in(options.order), dict(options.direction)
    if len(ways) < len(options.direction):
        raise UsageError("--direction speaks of a column twice. Give one direction for each.")
    known = set(table.criteria)
    for flag, names in (("--order", orders), ("--direction", ways)):
        strange = next((name for name in names if name is not None and name not in known), None)
        if strange is not None:
            raise SugenetError(
                f"{flag} {strange}=...: there is no such column to learn from. They are "
                f"{', '.join(table.criteria[:20])}."
            )
    screen.progress("learning")
    return view_learned(
        table, orders, terms=options.terms, directions=ways, seed=options.seed, cases=_cases(options, table)
    )


def _draw(options: Namespace, screen: Screen, view: Any) -> None:
    from sugenet.files import write_text
    from sugenet.show.drawings import drawing
    from sugenet.show.svg_writer import svg

    if options.terms is None:
        subject = view.fit
    elif options.terms == 1:
        subject = view.model.capacities[0]
    else:
        raise UsageError("--svg draws one capacity: it goes with --terms 1, or without --terms.")
    text = svg(drawing(subject).figures[0]) + "\n"
    if options.svg == "-":
        screen.put(text.removesuffix("\n"))
    else:
        write_text(options.svg, text)
        screen.tell(f"written to {options.svg}")


COMMANDS: Commands = {
    "fit": Command(
        _run,
        "learn capacities from rated alternatives, or see conflicts",
        [
            "sugenet fit flats.csv --target grade --order 'bad<ok<good' --name flat",
            "sugenet fit flats.csv --target grade --order 'bad<ok<good' --predict new.csv",
            "sugenet fit cars.csv --target grade --order 'bad<ok<good' --terms 1",
        ],
        [
            option(
                "data",
                metavar="DATA",
                help="CSV file with a header, a row for each rated alternative; also packed, as .csv.gz",
            ),
            *table_options(required=True),
            option(
                "--predict",
                metavar="FILE",
                help="CSV file with alternatives to rate: the same columns, the rating not needed",
            ),
            Group(
                "best fits, exact; unless asked for, all that fit or the conflicts",
                [
                    option(
                        "--loss",
                        choices=["largest", "total"],
                        metavar="WHICH",
                        help="largest: the largest error is least; total: the sum of all errors is least",
                    ),
                    option(
                        "--maxitive",
                        type=whole(1, 1 << 20),
                        metavar="K",
                        help="only capacities without focal sets of more than K criteria",
                    ),
                    option(
                        "--minitive",
                        type=whole(1, 1 << 20),
                        metavar="K",
                        help="only capacities whose conjugate is such",
                    ),
                ],
            ),
            Group(
                "columns on scales of their own: what their values are worth is learned",
                [
                    option(
                        "--terms",
                        type=typed(_terms),
                        metavar="N",
                        help="1: one Sugeno integral; N: the greatest of N; card: a score card",
                    ),
                    option(
                        "--direction",
                        type=typed(_direction),
                        action="append",
                        default=[],
                        metavar="PAIR",
                        help="COLUMN=rising where more is better, COLUMN=falling where less is; unless "
                        "given, levels rise as ordered, and of numbers it is learned",
                    ),
                ],
            ),
            option("--svg", metavar="FILE", help="draw the capacity: all sets, or its focal sets"),
            *shared(
                "limit",
                "output",
                "time_limit",
                "seed",
                "json",
                "quiet",
                limit={"help": "list at most N conflicts, N rules and N cases", "default": 20},
                time_limit={
                    "help": "of --loss total, --maxitive and --minitive: give up after this time, with exit "
                    "code 3"
                },
            ),
        ],
    ),
}
