"""Tables of rated alternatives: options for reading one, for fit and check."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import TYPE_CHECKING

from sugenet.cli.options import refuse_idle, shared, sign_of
from sugenet.cli.parser import Argument, option
from sugenet.errors import SugenetError

if TYPE_CHECKING:
    from sugenet.fit import Ratings
    from sugenet.fit.table import RatedTable

__all__ = [
    "TABLE",
    "levels_in",
    "one_order",
    "orders_in",
    "ratings_of",
    "refuse_table",
    "table_of",
    "table_options",
]

TABLE = ("label_column", "order", "name", "weights", "ignore", "delimiter")
"""Options for reading a table."""
_MOST_LEVELS = 1000


def table_options(*, required: bool) -> list[Argument]:
    """Return the options for reading a table."""
    return [
        *shared("label_column", label_column={"required": required, "help": "CSV column with the ratings"}),
        option(
            "--order",
            action="append",
            default=[],
            metavar="LEVELS",
            help="levels, as 'bad<ok<good', 1..5 or 'COLUMN=low<high'; repeatable",
        ),
        option("--name", metavar="COLUMN", help="column with the names of the rows"),
        option("--weights", metavar="COLUMN", help="column with the weights of the rows"),
        option(
            "--ignore",
            action="append",
            default=[],
            metavar="NAME",
            help="column to leave out; repeatable",
        ),
        *shared("delimiter"),
    ]


def table_of(options: Namespace, path: str) -> RatedTable:
    """Return the table that the options name."""
    from sugenet.fit.table import read_ratings

    return read_ratings(
        path,
        options.label_column,
        name=options.name,
        weights=options.weights,
        ignore=options.ignore,
        delimiter=sign_of(options.delimiter),
    )


def ratings_of(options: Namespace, path: str) -> Ratings:
    """Return the table as ratings, all on one scale."""
    if options.label_column is None:
        raise SugenetError(
            "the certificate is about rated alternatives. Give the options of sugenet fit: --label-column "
            "NAME, and --order, --name, --weights and --ignore if they were used."
        )
    return table_of(options, path).ratings(one_order(options))


def one_order(options: Namespace) -> list[str] | None:
    """Return the one scale of all columns; None for numbers."""
    orders = orders_in(options.order)
    named = next((column for column in orders if column is not None), None)
    if named is not None:
        raise SugenetError(
            f"--order {named}=... gives a column levels of its own, which needs --terms. Without it, all "
            "columns have the scale of the ratings."
        )
    return orders.get(None)


def orders_in(texts: list[str]) -> dict[str | None, list[str]]:
    """Return levels by column; those of the ratings under None."""
    orders: dict[str | None, list[str]] = {}
    for text in texts:
        first, sign, rest = text.partition("<")
        column, equals, level = first.partition("=")
        key, levels = (column.strip(), f"{level}{sign}{rest}") if equals else (None, text)
        if key in orders:
            raise SugenetError(f"--order {text[:60]}: there are two orders for one column. Give one.")
        orders[key] = levels_in(levels)
    return orders


def levels_in(text: str) -> list[str]:
    """Return levels from worst to best.

    Examples
    --------
    >>> levels_in("bad < ok < very good"), levels_in("0..3")
    (['bad', 'ok', 'very good'], ['0', '1', '2', '3'])
    """
    ends = re.fullmatch(r"\s*(-?[0-9]{1,6})\.\.(-?[0-9]{1,6})\s*", text)
    if ends:
        low, high = int(ends[1]), int(ends[2])
        step = 1 if low <= high else -1
        levels = [str(level) for level in range(low, high + step, step)][: _MOST_LEVELS + 1]
    else:
        levels = [level.strip() for level in text.split("<")]
    if len(levels) < 2 or not all(levels) or len(set(levels)) < len(levels):
        raise SugenetError(
            f"--order {text[:60]} must be different levels, worst first, such as 'bad<ok<good' or 1..5."
        )
    if len(levels) > _MOST_LEVELS:
        raise SugenetError(f"--order {text[:40]} has more than {_MOST_LEVELS:,} levels.")
    return levels


def refuse_table(options: Namespace) -> None:
    """Refuse options for reading a table if there is none."""
    refuse_idle(options, TABLE, "is for tables of ratings, and the certificate is about a network.")
