"""Commands that ask: why, whatif, verify, count, check."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import (
    LIMITS,
    REGIONS,
    announced,
    asked_among,
    check_region,
    class_number,
    how,
    how_many,
    keep_certificate,
    limits_in,
    names_in,
    on_classes,
    on_regions,
    on_sample,
    on_work,
    region_of,
    target_of,
)
from sugenet.cli.options import give, network_of, number, one_sample, typed, whole
from sugenet.cli.output import Screen
from sugenet.cli.parser import Commands, Parser, Run, UsageError
from sugenet.errors import CertificateError, CheckLimitError, SugenetError

if TYPE_CHECKING:
    from sugenet.bnn import Network

__all__ = ["COMMANDS"]

_OBJECTS = 32
"""Bytes that a byte of JSON may become as Python objects: ``{"":0},`` is the worst."""
_CLAIMS = ("always", "never", "monotone", "fair", "agree", "query")


# -- why -----------------------------------------------------------------------------------------------------


def _why(parser: Parser) -> Run:
    on_sample(parser)
    on_regions(parser, "region in which the reason shall suffice", "; so it is where no region is given")
    on_classes(parser)
    about = "subset: none can be left out; size: none smaller exists"
    parser.add_argument("--minimal", choices=["subset", "size"], default="subset", metavar="HOW", help=about)
    parser.add_argument(
        "-n", type=typed(how_many), default="1", metavar="N", help="how many reasons, shortest first; or all"
    )
    parser.add_argument("--chain", action="store_true", help="instead, the path through the layers as rules")
    give(parser, "limit", limit={"default": 12, "help": "with --chain, show at most N lines below each"})
    on_work(parser)
    return _ask_why


def _ask_why(options: Namespace, screen: Screen) -> int:
    check_region(options)
    idle = [*asked_among(options, (*REGIONS, "output")), *(["where"] if options.where else [])]
    if options.chain and idle:
        raise UsageError(
            f"--chain follows the neurons for any input and has no certificate: leave out --{idle[0]}."
        )
    network = network_of(options.model)
    from sugenet import reason

    x = one_sample(options, network).tolist()
    if options.chain:
        chain = reason.chain_of(network, x)
        return screen.say(chain.text(options.limit), chain.data())
    ask = {
        "minimal": options.minimal,
        "n": options.n,
        "target": target_of(options, network),
        "ties": options.ties,
    }
    region = region_of(options, network)
    found = announced(screen, lambda: reason.why(network, x, region, **ask, **how(options, screen)))
    keep_certificate(
        options, screen, found.reasons[0].certificate if found.reasons else None, "no reason was found"
    )
    screen.say(str(found), found.data(), beside=options.output == "-" and bool(found.reasons))
    wanted = ("minimum",) if options.minimal == "size" else ("minimum", "minimal")
    return 0 if found.reasons and found.reasons[0].status in wanted else 3


# -- whatif --------------------------------------------------------------------------------------------------


def _whatif(parser: Parser) -> Run:
    on_sample(parser)
    on_classes(parser)
    costs = ["L0", "L1", "L2", "Linf", "Hamming"]
    about = "what a change costs: L0, L1, L2, Linf or Hamming; L0 unless given"
    parser.add_argument("--cost", choices=costs, metavar="COST", help=about)
    about = "instead, FEATURE=P, the price of changing a feature; others stay"
    parser.add_argument(
        "--price", type=typed(_price), action="append", default=[], metavar="PRICE", help=about
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="FEATURE",
        help="feature that must stay; may be repeated",
    )
    parser.add_argument(
        "--where", action="append", default=[], metavar="LIMITS", help=f"{LIMITS}; only these may change"
    )
    parser.add_argument("--within", type=typed(number), metavar="COST", help="look no further than this cost")
    parser.add_argument(
        "-n",
        type=typed(how_many),
        default="1",
        metavar="N",
        help="how many, cheapest first; or all of least cost",
    )
    parser.add_argument(
        "--engine", default="auto", metavar="NAME", help="one engine by name; auto: cheapest first"
    )
    on_work(parser)
    return _ask_whatif


def _price(text: str) -> tuple[str, Any]:
    name, equals, price = text.rpartition("=")
    if not equals:
        raise SugenetError(f"{text} must be FEATURE=PRICE")
    return name, number(price)


def _ask_whatif(options: Namespace, screen: Screen) -> int:
    if options.price and options.cost is not None:
        raise UsageError("name the cost once: --cost, or a --price for each feature that may change.")
    network = network_of(options.model)
    from sugenet import reason
    from sugenet.problem.regions import BALLS

    x = one_sample(options, network)
    ask: dict[str, Any] = {
        "target": target_of(options, network),
        "immutable": options.keep,
        "region": reason.Box(limits_in(options.where, network)) if options.where else None,
        "limit": options.within,
        "ties": options.ties,
        "n": options.n,
        "engine": options.engine,
    }
    cost: Any = reason.Prices(options.price) if options.price else BALLS[options.cost or "L0"]
    answer = announced(
        screen, lambda: reason.whatif(network, x.tolist(), cost, **ask, **how(options, screen))
    )
    keep_certificate(options, screen, answer.certificate)
    screen.say(str(answer), answer.data(), beside=options.output == "-")
    return 3 if isinstance(answer, reason.OpenCounterfactual) else 0


# -- verify --------------------------------------------------------------------------------------------------


def _verify(parser: Parser) -> Run:
    on_sample(parser)
    on_regions(parser, "region in which the class of the sample stays")
    group = parser.add_argument_group("or a claim about all inputs, or those of --where")
    group.add_argument("--always", metavar="CLASS", help="every input has this class")
    group.add_argument("--never", metavar="CLASS", help="no input has this class")
    group.add_argument(
        "--monotone", metavar="FEATURE", help="raising it never lowers the class, or never loses --to CLASS"
    )
    group.add_argument("--falling", action="store_true", help="with --monotone, lowering it instead")
    group.add_argument(
        "--fair", metavar="FEATURES", help="the class does not depend on these, commas between them"
    )
    group.add_argument("--agree", metavar="MODEL2", help="the other model gives the same classes")
    group.add_argument("--query", metavar="FILE", help="a query in a VNNLIB file")
    on_classes(parser)
    parser.add_argument(
        "--engine", default="auto", metavar="NAME", help="one engine by name; auto: cheapest first"
    )
    about = "write the question for other solvers: .opb, .wbo, .cnf, .smt2 or .mps"
    parser.add_argument("--export", metavar="FILE", help=about)
    on_work(parser)
    return _ask_verify


def _check_question(options: Namespace) -> None:
    """Refuse none, and two at once."""
    asked = asked_among(options, (*REGIONS, *_CLAIMS))
    if len(asked) > 1 or (not asked and not options.where):
        given = f"--{' and --'.join(asked)}" if asked else "none"
        raise UsageError(
            f"ask one question ({given} given): --{', --'.join((*REGIONS, *_CLAIMS))}, or --where alone."
        )
    if asked and asked[0] in REGIONS:
        check_region(options)
    claim = next(iter(asked_among(options, _CLAIMS)), None)
    if options.falling and claim != "monotone":
        raise UsageError("--falling says which way --monotone goes: give --monotone too.")
    idle = {
        "SAMPLES": options.samples is not None,
        "--index": options.index is not None,
        "--to": options.to is not None and claim != "monotone",
        "--ties": options.ties != "lowest",
        "--where": bool(options.where) and claim == "query",
    }
    if claim is not None and any(idle.values()):
        wrong = next(name for name, given in idle.items() if given)
        raise UsageError(f"--{claim} is not about one sample, and {wrong} means nothing to it: leave it out.")


def _question(options: Namespace, network: Network) -> Any:
    """The question that the options ask."""
    from sugenet import reason

    where, to = limits_in(options.where, network), target_of(options, network)
    match next(iter(asked_among(options, _CLAIMS)), None):
        case "always":
            return reason.Always(class_number(network, options.always, "--always"), where)
        case "never":
            return reason.Never(class_number(network, options.never, "--never"), where)
        case "monotone":
            return reason.Monotone(options.monotone, to, rising=not options.falling, where=where)
        case "fair":
            return reason.Fair(names_in(options.fair, network), where)
        case "agree":
            return reason.Agree(network_of(options.agree), where)
        case "query":
            from sugenet.io import read_vnnlib

            return read_vnnlib(options.query)
    return reason.Robust(one_sample(options, network).tolist(), region_of(options, network), to, options.ties)


def _ask_verify(options: Namespace, screen: Screen) -> int:
    _check_question(options)
    network = network_of(options.model)
    from sugenet import reason

    question = _question(options, network)
    if options.export is not None:
        from sugenet.io import export

        problems, _ = reason.problems_of(network, question)
        if len(problems) != 1:
            raise SugenetError(
                f"--export writes one box at a time, but the query has {len(problems)}. Split it, "
                f"one file for each box."
            )
        export(problems[0], options.export)
    answer = announced(
        screen, lambda: reason.verify(network, question, engine=options.engine, **how(options, screen))
    )
    keep_certificate(options, screen, answer.certificate)
    screen.say(str(answer), answer.data(), beside=options.output == "-")
    return {reason.Proved: 0, reason.Refuted: 1, reason.Undecided: 3}[type(answer)]


# -- count ---------------------------------------------------------------------------------------------------


def _count(parser: Parser) -> Run:
    on_sample(parser)
    on_regions(parser, "region to count in", "; so it is where no region is given")
    methods = ["auto", "walk", "sums", "sample"]
    parser.add_argument("--method", choices=methods, default="auto", metavar="NAME", help="how to count")
    on_work(parser)
    return _ask_count


def _ask_count(options: Namespace, screen: Screen) -> int:
    check_region(options)
    network = network_of(options.model)
    from sugenet import reason

    x, region, where = None, None, None
    # such a region needs a sample
    around = [name for name in asked_among(options, REGIONS) if name != "anything"]
    if options.samples is not None or options.index is not None or around:
        x, region = one_sample(options, network).tolist(), region_of(options, network)
    else:
        where = limits_in(options.where, network) or None
    answer = announced(
        screen,
        lambda: reason.count(network, x, region, where=where, method=options.method, **how(options, screen)),
    )
    exact = isinstance(answer, reason.Counted)
    keep_certificate(options, screen, answer.certificate if exact else None, "not everything was counted")
    screen.say(str(answer), answer.data(), beside=options.output == "-" and exact)
    return 3 if isinstance(answer, reason.CountOpen) else 0


# -- check ---------------------------------------------------------------------------------------------------


def _check(parser: Parser) -> Run:
    parser.add_argument(
        "certificate",
        metavar="CERTIFICATE",
        help="JSON file that -o of a question wrote, - for standard input",
    )
    give(parser, "model")
    parser.add_argument(
        "other", metavar="MODEL2", nargs="?", help="the other model of a certificate about two"
    )
    about = "give up after this time, with exit code 3"
    give(parser, "time_limit", time_limit={"default": 600, "help": about})
    about = "give up where more memory is needed, with exit code 3"
    parser.add_argument("--memory-limit", type=whole(1, 1 << 24), default=2048, metavar="MB", help=about)
    give(parser, "json", "quiet")
    return _check_certificate


def _check_certificate(options: Namespace, screen: Screen) -> int:
    from sugenet.io import read_json
    from sugenet.reason import check

    memory = options.memory_limit << 20
    certificate = read_json(options.certificate, memory // _OBJECTS)
    network, other = network_of(options.model), None if options.other is None else network_of(options.other)
    try:
        said = announced(
            screen,
            lambda: check(certificate, network, other, time_limit=options.time_limit, memory_limit=memory),
        )
    except CertificateError as error:
        undecided = isinstance(error, CheckLimitError)
        words = str(error).replace("time_limit=", "--time-limit").replace("memory_limit=", "--memory-limit")
        if options.json:
            screen.say("", {"holds": None if undecided else False, "error": words})
        else:
            screen.complain(words)
        return 3 if undecided else 1
    return screen.say(f"the certificate holds: {said}", {"holds": True, "checked": said.split("; ")})


COMMANDS: Commands = {
    "why": (
        _why,
        "find features that suffice for a sample's class",
        ["sugenet why digits --index 7 --hamming 3", "sugenet why breast_cancer --index 3 --chain"],
    ),
    "whatif": (
        _whatif,
        "find the cheapest change of a sample that changes its class",
        ["sugenet whatif digits --index 7", "sugenet whatif breast_cancer --index 3 --keep 'mean radius'"],
    ),
    "verify": (
        _verify,
        "decide whether a network can fail: proved, refuted, undecided",
        [
            "sugenet verify digits --index 7 --hamming 1 -o certificate.json",
            "sugenet verify breast_cancer --fair 'mean radius,mean area'",
        ],
    ),
    "count": (
        _count,
        "count the inputs of each class in a region, exactly",
        ["sugenet count digits --index 7 --hamming 3"],
    ),
    "check": (
        _check,
        "check a certificate against a model",
        [
            "sugenet check certificate.json digits",
            "sugenet whatif digits --index 7 -o - | sugenet check - digits",
        ],
    ),
}
