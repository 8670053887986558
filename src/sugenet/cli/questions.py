"""Commands that ask: why, whatif, verify, count."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import (
    LIMITS,
    REGIONS,
    announced,
    asked_among,
    asked_network,
    check_region,
    class_number,
    how,
    keep_certificate,
    keep_witness,
    limits_in,
    names_in,
    on_classes,
    on_regions,
    on_sample,
    on_witness,
    on_work,
    target_of,
)
from sugenet.cli.kinds import (
    KINDS,
    Asks,
    on_changes,
    on_engine,
    on_method,
    on_minimal,
    on_number,
    on_where,
)
from sugenet.cli.options import give, network_of, one_sample, refuse_idle
from sugenet.cli.output import Screen
from sugenet.cli.parser import Commands, Parser, Run, UsageError
from sugenet.errors import SugenetError

if TYPE_CHECKING:
    from sugenet.bnn import Network

__all__ = ["COMMANDS"]

_CLAIMS = ("always", "never", "monotone", "fair", "agree", "query")


def _ask(options: Namespace, screen: Screen, network: Network, kind: str, x: Any) -> Any:
    """The answer to what the options ask."""
    return _answer(options, screen, network, KINDS[kind].read(options, network, x))


def _answer(options: Namespace, screen: Screen, network: Network, asked: Asks) -> Any:
    from sugenet.reason import ask

    question, settings = asked
    return announced(screen, lambda: ask(network, question, **settings, **how(options, screen)))


# -- why -----------------------------------------------------------------------------------------------------


def _why(parser: Parser) -> Run:
    on_sample(parser)
    on_regions(parser, "region in which the reason shall suffice", "; so it is where no region is given")
    on_classes(parser)
    on_minimal(parser)
    on_number(parser, "how many reasons, shortest first; or all")
    parser.add_argument("--chain", action="store_true", help="instead, the path through the layers as rules")
    give(parser, "limit", limit={"default": 12, "help": "with --chain, show at most N lines below each"})
    on_work(parser)
    return _ask_why


def _ask_why(options: Namespace, screen: Screen) -> int:
    KINDS["why"].check(options)
    idle = [*asked_among(options, (*REGIONS, "output", "within_data")), *(["where"] if options.where else [])]
    idle += ["law"] if options.law else []
    if options.chain and idle:
        flag = idle[0].replace("_", "-")
        raise UsageError(
            f"--chain follows the neurons for any input and has no certificate: leave out --{flag}."
        )
    if options.chain:
        why = "means nothing to --chain, which follows the neurons once: leave it out."
        refuse_idle(options, ["to", "ties", "minimal", "n", "time_limit", "threads", "seed"], why)
    else:
        refuse_idle(options, ["limit"], "goes with --chain: give that too, or leave it out.")
    network = asked_network(options)
    x = one_sample(options, network).tolist()
    if options.chain:
        from sugenet.reason import chain_of

        chain = chain_of(network, x)
        return screen.say(chain.text(options.limit), chain.data())
    found = _ask(options, screen, network, "why", x)
    keep_certificate(
        options, screen, found.reasons[0].certificate if found.reasons else None, "no reason was found"
    )
    screen.say(found.said(screen.mark), found.data(), beside=options.output == "-" and bool(found.reasons))
    wanted = ("minimum",) if options.minimal == "size" else ("minimum", "minimal")
    return 0 if found.reasons and found.reasons[0].status in wanted else 3


# -- whatif --------------------------------------------------------------------------------------------------


def _whatif(parser: Parser) -> Run:
    on_sample(parser)
    on_classes(parser)
    on_changes(parser)
    on_where(parser, f"{LIMITS}; only these may change")
    on_number(parser, "how many, cheapest first; or all of least cost")
    on_engine(parser)
    on_witness(parser)
    on_work(parser)
    return _ask_whatif


def _ask_whatif(options: Namespace, screen: Screen) -> int:
    KINDS["whatif"].check(options)
    network = asked_network(options)
    from sugenet.reason import OpenCounterfactual

    answer = _ask(options, screen, network, "whatif", one_sample(options, network).tolist())
    keep_certificate(options, screen, answer.certificate, "the engine gives no proof")
    screen.say(*keep_witness(options, screen, answer), beside=options.output == "-")
    return 3 if isinstance(answer, OpenCounterfactual) else 0


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
    group.add_argument("--query", metavar="FILE", help="a query in a VNNLIB file, or in an .ipq file")
    on_classes(parser)
    on_engine(parser)
    on_witness(parser)
    about = "with --query, write the result as VNN-COMP has it: sat and all values, unsat, timeout or unknown"
    parser.add_argument("--counterexample", metavar="FILE", help=about)
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
        "--target": options.target is not None,
        "--delimiter": "delimiter" in options.given,
        "--to": options.to is not None and claim != "monotone",
        "--ties": options.ties != "lowest",
        "--where": bool(options.where) and claim == "query",
    }
    if options.witness is not None and claim == "query":
        raise UsageError(
            "--witness writes the features of a network, and a query is in the numbers of its file: "
            "give --json, which has them all, or --counterexample FILE."
        )
    if options.counterexample is not None and claim != "query":
        raise UsageError("--counterexample is in the format of queries: give --query too, or --witness FILE.")
    if claim is not None and any(idle.values()):
        wrong = next(name for name, given in idle.items() if given)
        raise UsageError(f"--{claim} is not about one sample, and {wrong} means nothing to it: leave it out.")


def _claim(options: Namespace, network: Network, claim: str) -> Any:
    """A question about all inputs that the options ask."""
    from sugenet import reason

    where = limits_in(options.where, network)
    match claim:
        case "always":
            return reason.Always(class_number(network, options.always, "--always"), where)
        case "never":
            return reason.Never(class_number(network, options.never, "--never"), where)
        case "monotone":
            to = target_of(options, network)
            return reason.Monotone(options.monotone, to, rising=not options.falling, where=where)
        case "fair":
            return reason.Fair(names_in(options.fair, network), where)
        case "agree":
            return reason.Agree(network_of(options.agree), where)
    from sugenet.io import read_query

    return read_query(options.query)


def _ask_verify(options: Namespace, screen: Screen) -> int:
    _check_question(options)
    network = asked_network(options)
    claim = next(iter(asked_among(options, _CLAIMS)), None)
    if claim is None:
        asked = KINDS["verify"].read(options, network, one_sample(options, network).tolist())
    else:
        asked = _claim(options, network, claim), {"engine": options.engine}
    if options.export is not None:
        from sugenet.io import export
        from sugenet.reason import problems_of

        problems, _ = problems_of(network, asked[0])
        if len(problems) != 1:
            raise SugenetError(
                f"--export writes one box at a time, but the query has {len(problems)}. Split it, "
                f"one file for each box."
            )
        export(problems[0], options.export)
    answer = _answer(options, screen, network, asked)
    keep_certificate(options, screen, answer.certificate, f"{answer.engine} gives no proof")
    if options.counterexample is not None:
        from sugenet.io import write_counterexample

        write_counterexample(answer, options.counterexample)
    screen.say(*keep_witness(options, screen, answer), beside=options.output == "-")
    return {"proved": 0, "refuted": 1, "undecided": 3}[answer.outcome]


# -- count ---------------------------------------------------------------------------------------------------


def _count(parser: Parser) -> Run:
    on_sample(parser)
    on_regions(parser, "region to count in", "; so it is where no region is given")
    on_method(parser)
    on_work(parser)
    return _ask_count


def _ask_count(options: Namespace, screen: Screen) -> int:
    KINDS["count"].check(options)
    network = asked_network(options)
    from sugenet.reason import CountOpen

    # such a region needs a sample
    around = [name for name in asked_among(options, REGIONS) if name != "anything"]
    near = options.samples is not None or options.index is not None or around
    if not near:
        refuse_idle(options, ["target", "delimiter"], "is about a sample, and none is named: leave it out.")
    x = one_sample(options, network).tolist() if near else None
    answer = _ask(options, screen, network, "count", x)
    exact = answer.is_certified
    keep_certificate(options, screen, answer.certificate if exact else None, "not everything was counted")
    screen.say(answer.said(screen.mark), answer.data(), beside=options.output == "-" and exact)
    return 3 if isinstance(answer, CountOpen) else 0


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
}
