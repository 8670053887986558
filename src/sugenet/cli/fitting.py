"""The command that learns from rated alternatives: fit."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import asked_among, keep_certificate
from sugenet.cli.options import direction, directions_in, integer_in, refuse_idle, shared, sign_of, typed
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
    if text in ("card", "all"):
        return text
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= 1000:
        raise SugenetError(f"{text[:40]} is not an integer from 1 to 1000, card or all")
    return int(text)


def _check(options: Namespace) -> None:
    """Refuse options that do not apply."""
    if options.terms is not None:
        refuse_idle(options, _EXACT, "is for exact fits, without --terms.")
    else:
        refuse_idle(options, _LEARNED, "needs --terms.")
        total, limits = options.loss == "total", asked_among(options, ("maxitive", "minitive"))
        refuse_idle(options, ["weights"] * (not total), "needs --loss total.")
        refuse(UsageError, (len(limits) > 1, "give --maxitive or --minitive, not both."))
        refuse_idle(options, limits * total, "needs --loss largest.")
        exact = ["time_limit"] * (not total and not limits)
        refuse_idle(options, exact, "needs --loss total, --maxitive or --minitive.")
    named = options.output not in (None, "-")
    refuse(
        UsageError,
        (
            named and os.path.realpath(options.output) == os.path.realpath(options.data),
            f"{options.output} holds the table and would be overwritten. Give another file.",
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

    orders, ways = orders_in(options.order), directions_in(options.direction, "--direction")
    known = set(table.criteria)
    for flag, names in (("--order", orders), ("--direction", ways)):
        strange = next((name for name in names if name is not None and name not in known), None)
        if strange is not None:
            raise SugenetError(
                f"{flag} {strange}=...: there is no such column. Use {', '.join(table.criteria[:20])}."
            )
    screen.progress("learning")
    return view_learned(
        table, orders, terms=options.terms, directions=ways, seed=options.seed, cases=_cases(options, table)
    )


def _draw(options: Namespace, screen: Screen, view: Any) -> None:
    from sugenet.show.drawings import drawing
    from sugenet.show.svg_writer import svg

    if options.terms is None:
        subject = view.fit
    elif options.terms == 1:
        subject = view.model.capacities[0]
    else:
        raise UsageError("--svg draws one capacity. Use --terms 1, or no --terms.")
    screen.write(options.svg, svg(drawing(subject).figures[0]) + "\n")


COMMANDS: Commands = {
    "fit": Command(
        _run,
        "learn capacities from rated alternatives, or show conflicts",
        [
            "sugenet fit flats.csv --label-column grade --order 'bad<ok<good' --name flat",
            "sugenet fit flats.csv --label-column grade --order 1..5 --predict new.csv",
            "sugenet fit cars.csv --label-column grade --order 'bad<ok<good' --terms 1",
        ],
        [
            option(
                "data",
                metavar="DATA",
                help="CSV file with a header; one alternative per row",
            ),
            *table_options(required=True),
            option(
                "--predict",
                metavar="FILE",
                help="CSV file with alternatives to rate",
            ),
            Group(
                "exact best fits (default: all exact fits, or the conflicts)",
                [
                    option(
                        "--loss",
                        choices=["largest", "total"],
                        metavar="WHICH",
                        help="minimize the largest error, or the total",
                    ),
                    option(
                        "--maxitive",
                        type=integer_in(1, 1 << 20),
                        metavar="K",
                        help="only focal sets of at most K criteria",
                    ),
                    option(
                        "--minitive",
                        type=integer_in(1, 1 << 20),
                        metavar="K",
                        help="only capacities whose conjugate is K-maxitive",
                    ),
                ],
            ),
            Group(
                "learned: each column has its own scale",
                [
                    option(
                        "--terms",
                        type=typed(_terms),
                        metavar="N",
                        help="maximum of N Sugeno integrals, all, or card (scorecard)",
                    ),
                    option(
                        "--direction",
                        type=typed(direction),
                        action="append",
                        default=[],
                        metavar="PAIR",
                        help="COLUMN=rising or COLUMN=falling (default: learned); repeatable",
                    ),
                ],
            ),
            option("--svg", metavar="FILE", help="draw the capacity"),
            *shared(
                "limit",
                "output",
                "time_limit",
                "seed",
                "json",
                "quiet",
                limit={"help": "conflicts, rules and cases to list", "default": 20},
                time_limit={"help": "time limit of an exact fit; then exit code 3"},
            ),
        ],
    ),
}
