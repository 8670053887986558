"""Shared parts of the commands that ask: options for each kind of question, as declared in `sugenet.fields`.

The module converts options to a question about one sample or about `each`, with its settings, and writes
certificates.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from sugenet.cli.options import WORK, integer, network_of, number, shared, typed
from sugenet.cli.output import Screen
from sugenet.cli.parser import Argument, Arguments, Group, UsageError, option
from sugenet.errors import SugenetError
from sugenet.fields import BALLS, FIELDS, KINDS

if TYPE_CHECKING:
    from sugenet.nn import Network

__all__ = [
    "ASKERS",
    "CHANGES",
    "CLASSES",
    "DOMAIN",
    "REGIONS",
    "WITNESS",
    "WORK_OPTIONS",
    "Asker",
    "announced",
    "asked",
    "asked_among",
    "asked_network",
    "check_region",
    "class_number",
    "dest_of",
    "field",
    "flags_of",
    "how",
    "keep_certificate",
    "keep_witness",
    "limits_in",
    "names_in",
    "on_regions",
    "region_of",
    "target_of",
]

REGIONS = (*BALLS, "free", "any_input")


# -- options -------------------------------------------------------------------------------------------------


def _how_many(text: str) -> Any:
    """Return a number, or the word all."""
    if text == "all":
        return text
    with suppress(SugenetError):
        if 0 <= (count := integer(text)) < 10**18:
            return count
    raise SugenetError(f"{text[:40]} is not an integer or the word all")


def _price(text: str) -> tuple[str, Any]:
    name, equals, price = text.rpartition("=")
    if not equals:
        raise SugenetError(f"{text[:60]} is not FEATURE=PRICE")
    return name, number(price)


_REPEATED = {"action": "append", "default": []}
_READING: dict[str, dict[str, Any]] = {
    "prices": {"type": typed(_price), **_REPEATED},
    "keep": _REPEATED,
    "max_cost": {"type": typed(number)},
    "precision": {"type": typed(number)},
    "where": _REPEATED,
    "n": {"type": typed(_how_many)},
}
"""Conversions of an option's text to the value of a field."""


def field(name: str, **changes: Any) -> Argument:
    """Return the option of a field of questions."""
    about = FIELDS[name]
    settings = {"metavar": about.metavar, "help": about.about, "default": about.default}
    return option(about.flag, **settings, choices=list(about.choices) or None).but(
        **_READING.get(name, {}) | changes
    )


def on_regions(title: str, default: str = "", balls: dict[str, str] = BALLS, *, named: bool = True) -> Group:
    """Return options for regions; those that name features only for questions about one sample."""
    free = option("--free", metavar="FEATURES", help="these features free, separated by commas")
    rows = [
        option(f"--{name}", type=typed(number), metavar="R", help=description)
        for name, description in balls.items()
    ]
    rows += [free] * named + [option("--any-input", action="store_true", help=f"any input{default}")]
    return Group(title, [*rows, *[field("where")] * named])


CLASSES = (field("target"), field("ties"))
"""Options that define a change of class."""
CHANGES = tuple(field(name) for name in ("cost", "prices", "keep", "max_cost"))
"""Options for the cost of a change, and for features that may change."""
DOMAIN = Group(
    "realistic inputs only",
    [
        option(
            "--within",
            choices=["data", "any"],
            metavar="RANGE",
            help="data: their training range; any: no limits",
        ),
        option(
            "--law",
            metavar="LAW",
            help="such as 'if smoker = yes then age >= 16'; repeatable",
            **_REPEATED,
        ),
    ],
)
"""Options that restrict the inputs."""
WORK_OPTIONS: Arguments = (DOMAIN, *shared("output", *WORK))
"""Options for the search and the output."""
WITNESS = option(
    "--witness",
    metavar="FILE",
    help="write the whole input that was found: .csv or .npy",
)
"""Option for the file of a complete input."""


def asked_network(options: Namespace) -> Network:
    """Return the model, restricted to inputs that can occur."""
    network = network_of(options.model)
    return network.within(options.within).within(options.law or None)


def how(options: Namespace, screen: Screen) -> dict[str, Any]:
    """Return the arguments that all questions share."""
    return {
        "time_limit": options.time_limit,
        "threads": options.threads,
        "seed": options.seed,
        "notify": screen.progress,
    }


# -- what they share in work ---------------------------------------------------------------------------------


def announced(screen: Screen, run: Callable[[], Any]) -> Any:
    """Run something that may compile kernels; notify interactive users, and compile the rest in the
    background.
    """
    from sugenet.compiling import compile_in_background, notify_compiling

    if screen.is_watched() and compile_in_background():
        screen.tell("compiling in the background, once for this machine (about a minute)")
    with notify_compiling(screen.progress):
        return run()


def keep_certificate(
    options: Namespace, screen: Screen, certificate: dict[str, Any] | None, missing: str = ""
) -> None:
    """Write a certificate if the options say so, and report its path, or why there is none."""
    if options.output is None:
        return
    if certificate is None:
        screen.tell(f"no certificate written: {missing}")
    else:
        screen.write(options.output, json.dumps(certificate, indent=1) + "\n", "certificate")


def keep_witness(options: Namespace, screen: Screen, answer: Any) -> tuple[str, dict[str, Any]]:
    """Write the input that an answer has found if the options say so; return the answer with a note and as
    JSON data.
    """
    from sugenet.reason import Counterfactual, Refuted

    text, data = answer.said(screen.mark), answer.data()
    if not isinstance(answer, Counterfactual | Refuted):
        if options.witness is not None:
            screen.tell("no witness written: none was found")
        return text, data
    if options.witness is None:
        if answer.is_long:
            text += f"\n(--witness FILE writes all {answer.network.encoder.features:,} values of it)"
        return text, data
    from sugenet.io.samples import write_samples

    is_pair = isinstance(answer, Refuted) and answer.is_pair
    rows = list(answer.example) if is_pair else [answer.example]
    if isinstance(answer, Counterfactual):
        rows += [other.example for other in answer.others]
    write_samples(options.witness, answer.network, rows)
    screen.tell(f"{'witness' if len(rows) == 1 else f'{len(rows)} witnesses'} written to {options.witness}")
    return text, data | {"witness_file": options.witness}


def class_number(network: Network, name: str | None, option: str) -> int:
    """Return the index of a class by name."""
    if name not in network.classes:
        raise SugenetError(f"{option} {name} is not a class. Use {', '.join(network.classes)}.")
    return network.classes.index(name)


def target_of(options: Namespace, network: Network) -> int | None:
    """Return the class that ``--target`` names."""
    return None if options.target is None else class_number(network, options.target, "--target")


def names_in(text: str, network: Network) -> list[str]:
    """Split names at commas; a name may contain a comma itself, and the longest match is used."""
    parts, names = text.split(","), []
    while parts:
        lengths = (
            n_parts
            for n_parts in range(len(parts), 0, -1)
            if ",".join(parts[:n_parts]).strip() in network.encoder.names
        )
        length = next(lengths, 1)
        names.append(",".join(parts[:length]).strip())
        parts = parts[length:]
    return [name for name in names if name]


def limits_in(texts: list[str], network: Network) -> dict[str, Any]:
    """Return limits of features by name, from the conditions of ``--where``."""
    from sugenet.reason.rules.rule import limits_in

    limits = limits_in(network, texts)
    return {network.encoder.names[feature]: limit for feature, limit in limits.items()}


def dest_of(flag: str) -> str:
    """Return the name under which the parser stores an option."""
    return flag.lstrip("-").replace("-", "_")


def flags_of(names: Iterable[str], between: str = ", ") -> str:
    """Return options as they are typed, by the names under which they are stored."""
    return between.join(f"--{name.replace('_', '-')}" for name in names)


def asked_among(options: Namespace, names: tuple[str, ...]) -> list[str]:
    """Return the given ones of some options; 0 counts as given."""
    values = {name: getattr(options, name, None) for name in names}
    return [name for name, value in values.items() if value is not None and value is not False]


def check_region(options: Namespace) -> None:
    """Refuse two regions at once."""
    named = [*asked_among(options, REGIONS), *["where"] * bool(getattr(options, "where", None))]
    if len(named) > 1:
        raise UsageError(f"give one region, not {flags_of(named, ' and ')}.")


def region_of(options: Namespace, network: Network) -> Any:
    """Return the region of the options; any input if they name none."""
    from sugenet.problem import BALLS as KNOWN
    from sugenet.problem import AnyInput, Box, Free

    if getattr(options, "where", None):
        return Box(limits_in(options.where, network))
    kind = next(iter(asked_among(options, REGIONS)), "any_input")
    if kind in BALLS:
        return KNOWN[kind.capitalize()](getattr(options, kind))
    return Free(names_in(options.free, network)) if kind == "free" else AnyInput()


# -- kinds of questions --------------------------------------------------------------------------------------


class Asker(NamedTuple):
    """A kind of question about a sample, as the command line asks it."""

    options: tuple[str, ...]
    """Options that apply to it."""
    check: Callable[[Namespace], None]
    """Function that refuses invalid combinations before anything is loaded."""


def _check_ball(options: Namespace) -> None:
    check_region(options)
    if not asked_among(options, REGIONS) and not options.where:
        raise UsageError(f"a region is missing. Give one of {flags_of((*REGIONS, 'where'))}.")


def _check_cost(options: Namespace) -> None:
    if options.price and options.cost is not None:
        raise UsageError("give --cost, or a --price for each feature that may change, not both.")


def _spelled(kind: str) -> tuple[str, ...]:
    """Return the options for the fields and the settings of a kind of question."""
    names = [*KINDS[kind].fields, *KINDS[kind].settings, *["prices"] * (kind == "whatif")]
    fields = ("where",) if kind == "whatif" else (*REGIONS, "where") if "region" in names else ()
    return (
        *fields,
        *(dest_of(FIELDS[name].flag) for name in names if name in FIELDS and name != "where"),
    )


_CHECKS = {
    "verify": _check_ball,
    "whatif": _check_cost,
    "why": check_region,
    "count": check_region,
    "predict": lambda _options: None,
}
ASKERS = {kind: Asker(_spelled(kind), check) for kind, check in _CHECKS.items()}
"""Askers by the name of their command."""


def _cost(options: Namespace, _network: Network) -> Any:
    from sugenet.problem import BALLS as KNOWN
    from sugenet.problem import Prices

    return Prices(options.price) if options.price else KNOWN[options.cost or "L0"]


def _kept(options: Namespace, network: Network) -> list[str]:
    return [name for names in options.keep for name in names_in(names, network)]


_VALUES: dict[str, Callable[[Namespace, Network], Any]] = {
    "region": region_of,
    "target": target_of,
    "ties": lambda options, _: options.ties,
    "precision": lambda options, _: options.precision,
    "cost": _cost,
    "keep": _kept,
    "max_cost": lambda options, _: options.max_cost,
}
"""Functions that compute the value of a field from the options."""


def asked(kind: str, options: Namespace, network: Network, x: Any) -> tuple[Any, dict[str, Any]]:
    """Return the question of the options about a sample or `each`, with its settings.

    Without a sample, the question is how many inputs there are in all.
    """
    from sugenet import reason

    settings = {name: getattr(options, name) for name in KINDS[kind].settings if name in FIELDS}
    question = getattr(reason, KINDS[kind].question)
    if x is None:
        return question(where=limits_in(options.where, network) or None), settings
    fields = {name: _VALUES[name](options, network) for name in KINDS[kind].fields if name in _VALUES}
    chosen = options.where or (kind == "why" and (x is reason.each or asked_among(options, REGIONS)))
    if kind in ("whatif", "why") and not chosen:
        fields["region"] = None
    return question(x, **fields), settings
