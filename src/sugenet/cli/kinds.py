"""What can be asked about a sample: the options of each kind of question, defined once, and how they become a
question about one sample, or about each, with its settings.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from sugenet.cli.asking import (
    LIMITS,
    REGIONS,
    Options,
    asked_among,
    check_region,
    how_many,
    limits_in,
    names_in,
    region_of,
    target_of,
)
from sugenet.cli.options import number, typed
from sugenet.cli.parser import UsageError
from sugenet.errors import SugenetError

if TYPE_CHECKING:
    from sugenet.bnn import Network

__all__ = [
    "KINDS",
    "Asks",
    "Kind",
    "on_changes",
    "on_engine",
    "on_method",
    "on_minimal",
    "on_number",
    "on_where",
]


# -- options -------------------------------------------------------------------------------------------------


def on_where(options: Options, words: str = LIMITS) -> None:
    """Limits of features."""
    options.add_argument("--where", action="append", default=[], metavar="LIMITS", help=words)


def on_changes(options: Options) -> None:
    """What a change costs, and what may change."""
    costs = ["L0", "L1", "L2", "Linf", "Hamming"]
    about = "what a change costs: L0, L1, L2, Linf or Hamming; L0 unless given"
    options.add_argument("--cost", choices=costs, metavar="COST", help=about)
    about = "instead, FEATURE=P, the price of changing a feature; others stay"
    options.add_argument(
        "--price", type=typed(_price), action="append", default=[], metavar="PRICE", help=about
    )
    about = "features that must stay, commas between them; may be repeated"
    options.add_argument("--keep", action="append", default=[], metavar="FEATURES", help=about)
    about = "look no further than this cost"
    options.add_argument("--within", type=typed(number), metavar="COST", help=about)


def _price(text: str) -> tuple[str, Any]:
    name, equals, price = text.rpartition("=")
    if not equals:
        raise SugenetError(f"{text} must be FEATURE=PRICE")
    return name, number(price)


def on_minimal(options: Options) -> None:
    """How small a reason shall be."""
    about = "subset: none can be left out; size: none smaller exists"
    options.add_argument("--minimal", choices=["subset", "size"], default="subset", metavar="HOW", help=about)


def on_number(options: Options, words: str) -> None:
    """How many answers."""
    options.add_argument("-n", type=typed(how_many), default=1, metavar="N", help=words)


def on_engine(options: Options) -> None:
    """Who decides."""
    about = "one engine by name; auto: cheapest first"
    options.add_argument("--engine", default="auto", metavar="NAME", help=about)


def on_method(options: Options) -> None:
    """Who counts."""
    methods = ["auto", "walk", "sums", "sample"]
    about = "how to count: auto, walk, sums or sample"
    options.add_argument("--method", choices=methods, default="auto", metavar="NAME", help=about)


# -- kinds ---------------------------------------------------------------------------------------------------

Asks = tuple[Any, dict[str, Any]]
"""A question, and its settings."""


class Kind(NamedTuple):
    """A kind of question about a sample."""

    options: tuple[str, ...]
    """Those that mean something to it."""
    check: Callable[[Namespace], None]
    """Refuses what makes no sense together, before anything is loaded."""
    read: Callable[[Namespace, Network, Any], Asks]
    """What the options ask of a network about a sample, or about each."""


def _check_ball(options: Namespace) -> None:
    check_region(options)
    if not asked_among(options, REGIONS) and not options.where:
        raise UsageError(f"name a region in which the class stays: --{', --'.join((*REGIONS, 'where'))}.")


def _robust(options: Namespace, network: Network, x: Any) -> Asks:
    from sugenet.reason import Robust

    question = Robust(x, region_of(options, network), target_of(options, network), options.ties)
    return question, {"engine": options.engine}


def _check_cost(options: Namespace) -> None:
    if options.price and options.cost is not None:
        raise UsageError("name the cost once: --cost, or a --price for each feature that may change.")


def _changes(options: Namespace, network: Network, x: Any) -> Asks:
    from sugenet.problem.regions import BALLS
    from sugenet.reason import Box, Prices, WhatIf

    cost: Any = Prices(options.price) if options.price else BALLS[options.cost or "L0"]
    where = Box(limits_in(options.where, network)) if options.where else None
    target = target_of(options, network)
    kept = [name for names in options.keep for name in names_in(names, network)]
    question = WhatIf(x, cost, target, kept, where, options.within, options.ties)
    return question, {"n": options.n, "engine": options.engine}


def _reasons(options: Namespace, network: Network, x: Any) -> Asks:
    from sugenet.reason import Why

    question = Why(x, region_of(options, network), target_of(options, network), options.ties)
    return question, {"minimal": options.minimal, "n": options.n}


def _counts(options: Namespace, network: Network, x: Any) -> Asks:
    """Without a sample, among all inputs."""
    from sugenet.reason import HowMany

    if x is None:
        question = HowMany(where=limits_in(options.where, network) or None)
    else:
        question = HowMany(x, region_of(options, network))
    return question, {"method": options.method}


def _classes(_options: Namespace, _network: Network, x: Any) -> Asks:
    from sugenet.reason import Predict

    return Predict(x), {}


_PLACES, _CLASSES = (*REGIONS, "where"), ("to", "ties")
_CHANGES = ("cost", "price", "keep", "within", "where")

KINDS = {
    "verify": Kind((*_PLACES, *_CLASSES, "engine"), _check_ball, _robust),
    "whatif": Kind((*_CHANGES, *_CLASSES, "n", "engine"), _check_cost, _changes),
    "why": Kind((*_PLACES, *_CLASSES, "minimal", "n"), check_region, _reasons),
    "count": Kind((*_PLACES, "method"), check_region, _counts),
    "predict": Kind((), lambda _options: None, _classes),
}
"""By the command that asks it."""
