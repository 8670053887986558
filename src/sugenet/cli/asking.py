"""What commands that ask have in common: options for regions, classes and work;
limits and regions in words; certificates.
"""

from __future__ import annotations

import argparse
import json
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from sugenet.cli.options import give, integer, network_of, number, typed
from sugenet.cli.output import Screen
from sugenet.cli.parser import Parser, UsageError
from sugenet.errors import SugenetError
from sugenet.visible import visible

if TYPE_CHECKING:
    from sugenet.bnn import Network

__all__ = [
    "LIMITS",
    "REGIONS",
    "announced",
    "asked_among",
    "asked_network",
    "check_region",
    "class_number",
    "how",
    "how_many",
    "keep_certificate",
    "keep_witness",
    "limits_in",
    "names_in",
    "on_classes",
    "on_domain",
    "on_regions",
    "on_sample",
    "on_witness",
    "on_work",
    "region_of",
    "target_of",
]

Options: TypeAlias = argparse._ActionsContainer
"""What takes options: a parser, or a group in its help."""

_BALLS = {
    "hamming": "up to R bits flipped",
    "l0": "up to R features changed",
    "l1": "raw changes of up to R in all",
    "l2": "a raw distance of up to R",
    "linf": "every feature changed by up to R",
}
REGIONS = (*_BALLS, "free", "anything")
LIMITS = "within FEATURE=LOW..HIGH or FEATURE=VALUE; may be repeated"


# -- options that some of them share -------------------------------------------------------------------------


def on_sample(parser: Parser) -> None:
    """Whom it is about."""
    give(parser, "model", "samples", "index", "target", "delimiter")


def on_regions(parser: Parser, title: str, default: str = "") -> None:
    """Where the sample may go."""
    group = parser.add_argument_group(title)
    for name, words in _BALLS.items():
        group.add_argument(f"--{name}", type=typed(number), metavar="R", help=words)
    group.add_argument("--free", metavar="FEATURES", help="these features free, commas between them")
    group.add_argument("--anything", action="store_true", help=f"any input{default}")
    group.add_argument("--where", action="append", default=[], metavar="LIMITS", help=LIMITS)


def on_classes(options: Options) -> None:
    """What counts as a change."""
    options.add_argument(
        "--to", metavar="CLASS", help="only changes to this class count; any other unless given"
    )
    options.add_argument(
        "--ties",
        choices=["lowest", "against"],
        default="lowest",
        metavar="WHO",
        help="a tie is won by the lowest class, or counts against",
    )


def on_domain(parser: Parser) -> None:
    """Which inputs can occur."""
    group = parser.add_argument_group("inputs that can occur; the others are not asked about")
    about = "each feature within what was seen of it in training"
    group.add_argument("--within-data", action="store_true", help=about)
    about = "such as 'if smoker = yes then age >= 16'; may be repeated"
    group.add_argument("--law", action="append", default=[], metavar="LAW", help=about)


def asked_network(options: Namespace) -> Network:
    """The model that is asked, for inputs that can occur."""
    network = network_of(options.model)
    return network.within("data" if options.within_data else None).within(options.law or None)


def on_work(parser: Parser) -> None:
    """How it is answered, and where the answer goes."""
    on_domain(parser)
    give(parser, "output", "time_limit", "threads", "seed", "json", "quiet")


def on_witness(parser: Parser) -> None:
    """Where a whole input goes."""
    about = "write the input that was found to FILE, all features of it: .csv, or .npy for numbers alone"
    parser.add_argument("--witness", metavar="FILE", help=about)


def how(options: Namespace, screen: Screen) -> dict[str, Any]:
    """Arguments that all questions have."""
    return {
        "time_limit": options.time_limit,
        "threads": options.threads,
        "seed": options.seed,
        "notify": screen.progress,
    }


def how_many(text: str) -> Any:
    """A number, or the word all."""
    if text == "all":
        return text
    with suppress(SugenetError):
        if 0 <= (many := integer(text)) < 10**18:
            return many
    raise SugenetError(f"{text[:40]} must be a number, or all")


# -- what they share in work ---------------------------------------------------------------------------------


def announced(screen: Screen, run: Callable[[], Any]) -> Any:
    """Do something that may have to be compiled first, and say so then."""
    from sugenet.telling import telling

    with telling(screen.tell_once):
        return run()


def keep_certificate(
    options: Namespace, screen: Screen, certificate: dict[str, Any] | None, missing: str = ""
) -> None:
    """Write a certificate where the options say so; where there is none, say why."""
    if options.output is None:
        return
    if certificate is None:
        screen.tell(f"no certificate was written: {missing}.")
        return
    text = json.dumps(certificate, indent=1)
    if options.output == "-":
        screen.put(text)
    else:
        from sugenet.files import write_text

        write_text(options.output, text + "\n")


def keep_witness(options: Namespace, screen: Screen, answer: Any) -> tuple[str, dict[str, Any]]:
    """Write the input that an answer has found where the options say so; the answer with that in words,
    and as JSON data.
    """
    from sugenet.reason import Counterfactual, Refuted

    text, data = answer.said(screen.mark), answer.data()
    if not isinstance(answer, Counterfactual | Refuted):
        if options.witness is not None:
            screen.tell("no witness was written: there is none.")
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
    many = "the whole input is" if len(rows) == 1 else f"the {len(rows)} whole inputs are"
    return f"{text}\n{many} in {visible(options.witness)}", data | {"witness_file": options.witness}


def class_number(network: Network, name: str | None, option: str) -> int:
    """The number of a class by its name."""
    if name not in network.classes:
        raise SugenetError(f"{option} {name} is no class. The classes are {', '.join(network.classes)}.")
    return network.classes.index(name)


def target_of(options: Namespace, network: Network) -> int | None:
    """The class that ``--to`` names."""
    return None if options.to is None else class_number(network, options.to, "--to")


def names_in(text: str, network: Network) -> list[str]:
    """Names with commas between them; a name may hold a comma itself,
    and the longest that is one is meant.
    """
    parts, names = text.split(","), []
    while parts:
        found = (
            many
            for many in range(len(parts), 0, -1)
            if ",".join(parts[:many]).strip() in network.encoder.names
        )
        many = next(found, 1)
        names.append(",".join(parts[:many]).strip())
        parts = parts[many:]
    return [name for name in names if name]


def limits_in(parts: list[str], network: Network) -> dict[str, Any]:
    """Limits of features: NAME=LOW..HIGH with an end left out for none, or NAME=A or NAME=A|B for values."""
    from sugenet.bnn import OneHot

    limits: dict[str, Any] = {}
    for part in parts:
        name, equals, limit = part.rpartition("=")
        if not equals or name not in network.encoder.names:
            raise SugenetError(
                f"--where {part} must be FEATURE=LOW..HIGH or FEATURE=VALUE, with the name of a feature."
            )
        if name in limits:
            raise SugenetError(f"--where {part}: {name} has limits already. Give what both allow.")
        coding = network.encoder.codings[network.encoder.names.index(name)]
        if isinstance(coding, OneHot):
            wrong = [value for value in limit.split("|") if value not in coding.by_text]
            if wrong:
                known = ", ".join(map(str, coding.categories))
                raise SugenetError(f"--where {part}: {wrong[0]} is no category. The categories are {known}.")
            limits[name] = {coding.by_text[value] for value in limit.split("|")}
        else:
            if "..." in limit:
                raise SugenetError(
                    f"--where {part} has three dots. Put blanks around the two between bounds."
                )
            low, dots, high = limit.partition("..")
            if not limit.strip():
                raise SugenetError(
                    f"--where {part} must be FEATURE=LOW..HIGH or FEATURE=VALUE, with a value or bounds."
                )
            ends = tuple(None if not end.strip() else number(end) for end in (low, high))
            limits[name] = ends if dots else ends[0]
    return limits


def asked_among(options: Namespace, names: tuple[str, ...]) -> list[str]:
    """Those of some options that are given."""
    # 0 is given
    return [
        name for name in names if getattr(options, name) is not None and getattr(options, name) is not False
    ]


def check_region(options: Namespace) -> None:
    """Refuse two regions at once."""
    asked = [*asked_among(options, REGIONS), *(["where"] if options.where else [])]
    if len(asked) > 1:
        raise UsageError(f"name one region, not --{' and --'.join(asked)}.")


def region_of(options: Namespace, network: Network) -> Any:
    """The region that the options name; any input where they name none."""
    from sugenet.problem.regions import BALLS, Anything, Box, Free

    if options.where:
        return Box(limits_in(options.where, network))
    kind = next(iter(asked_among(options, REGIONS)), "anything")
    if kind in _BALLS:
        return BALLS[kind.capitalize()](getattr(options, kind))
    return Free(names_in(options.free, network)) if kind == "free" else Anything()
