"""Commands that ask: why, whatif, verify, compare, rectify, count."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import (
    ASKERS,
    CHANGES,
    CLASSES,
    REGIONS,
    WITNESS,
    WORK_OPTIONS,
    announced,
    asked,
    asked_among,
    asked_network,
    check_region,
    class_number,
    field,
    flags_of,
    how,
    keep_certificate,
    keep_witness,
    limits_in,
    names_in,
    on_regions,
    target_of,
)
from sugenet.cli.options import (
    SAMPLE,
    WORK,
    integer_in,
    is_shipped,
    network_of,
    one_sample,
    refuse_idle,
    samples_of,
    shared,
)
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, Group, UsageError, option
from sugenet.errors import SugenetError, refuse
from sugenet.visible import visible

if TYPE_CHECKING:
    from sugenet.nn import Network

__all__ = ["COMMANDS"]

_FEW_CONDITIONS = 3
"""Maximum number of conditions in one line."""
_ANSWER = 1 << 30
"""Largest size in bytes of an answer that is resumed."""
INDICES = ("ffa", "shapley", "banzhaf", "deegan-packel", "holler-packel")
"""Indices of `Reasons.importance`."""
_CLAIMS = {
    "always": ("CLASS", "every input has this class"),
    "never": ("CLASS", "no input has this class"),
    "monotone": ("FEATURE", "raising it never lowers the class or loses --target"),
    "fair": ("FEATURES", "the class does not depend on these features"),
    "agree": ("MODEL2", "both models give the same classes"),
    "query": ("FILE", "query in a VNNLIB or .ipq file"),
}
"""Options for claims about all inputs."""


def _answer(options: Namespace, screen: Screen, network: Network, asks: tuple[Any, dict[str, Any]]) -> Any:
    """Return the answer to the question of the options."""
    from sugenet.reason import ask

    question, settings = asks
    return announced(screen, lambda: ask(network, question, **settings, **how(options, screen)))


def _ask_why(options: Namespace, screen: Screen) -> int:
    ASKERS["why"].check(options)
    if options.importance and options.n != "all":
        raise UsageError("--importance needs all reasons. Add -n all.")
    if options.chain:
        idle = [
            *REGIONS,
            "where",
            "law",
            "within",
            "output",
            "target",
            "ties",
            "minimal",
            "n",
            "precision",
            "importance",
            "widest",
            "resume",
            *WORK[:3],
        ]
        refuse_idle(options, idle, "is not used by --chain, which follows the neurons for any input.")
    else:
        refuse_idle(options, ["limit"], "needs --chain.")
    network = asked_network(options)
    x = one_sample(options, network).tolist()
    if options.chain:
        from sugenet.reason import trace_reasons

        chain = trace_reasons(network, x)
        return screen.say(chain.text(options.limit), chain.data())
    asks = asked("why", options, network, x)
    find = _resumed if options.resume else _answer
    answer = find(options, screen, network, asks)
    keep_certificate(options, screen, answer.certificate, "no reason was found")
    text, data = _listed(answer, screen), answer.data()
    if options.importance and not answer.all_reasons:
        text += "\nno importance: not all reasons were listed in the time"
    elif options.importance:
        values = answer.importance(options.importance)
        data["importance"] = {name: str(value) for name, value in values.items()}
        rows = sorted(((value, name) for name, value in values.items() if value), key=lambda row: -row[0])
        listed = "".join(f"\n  {float(value):7.4f}  {visible(name)}" for value, name in rows)
        text += f"\nimportance ({options.importance}) of {len(rows)} features:{listed}"
    if options.widest and answer.reasons:
        from sugenet.reason import inflate

        widest = inflate(answer, **how(options, screen))
        text, data["widest"] = f"{text}\nwidest intervals: {widest.said(screen.mark)}", widest.data()
    screen.say(text, data, beside=options.output == "-" and bool(answer.reasons))
    wanted = ("minimum",) if options.minimal == "size" else ("minimum", "minimal")
    return 0 if answer.status in wanted else 3


def _resumed(options: Namespace, screen: Screen, network: Network, asks: tuple[Any, dict[str, Any]]) -> Any:
    """Return the answer to a question that continues an earlier answer."""
    from sugenet.io import read_json
    from sugenet.reason import Reasons, answer_of, why

    question, settings = asks
    data = read_json(options.resume, _ANSWER)
    if isinstance(data, dict):
        data = {name: value for name, value in data.items() if name not in ("importance", "widest")}
    earlier = answer_of(data, network)
    if not isinstance(earlier, Reasons):
        raise SugenetError(f"{options.resume} is not an answer of sugenet why --json.")
    settings |= {"target": question.target, "ties": question.ties, "precision": question.precision}
    settings |= {**how(options, screen), "resume": earlier}
    return announced(screen, lambda: why(network, question.sample, question.region, **settings))


def _listed(answer: Any, screen: Screen) -> str:
    """Return reasons as text, long ones with one condition per line."""
    text: str = answer.said(screen.mark)
    for reason in answer.reasons:
        conditions = reason.conditions()
        before, opening, after = text.partition(f"because {reason} (")
        if opening and len(conditions) > _FEW_CONDITIONS:
            verdict, end, others = after.partition("\n")
            listed = "".join(f"\n  {visible(condition)}" for condition in conditions)
            text = f"{before}because of these ({verdict}:{listed}{end}{others}"
    return text


# -- whatif --------------------------------------------------------------------------------------------------


def _ask_whatif(options: Namespace, screen: Screen) -> int:
    ASKERS["whatif"].check(options)
    network = asked_network(options)
    from sugenet.reason import OpenCounterfactual

    x = one_sample(options, network).tolist()
    answer = _answer(options, screen, network, asked("whatif", options, network, x))
    keep_certificate(options, screen, answer.certificate, "the engine gives no proof")
    screen.say(*keep_witness(options, screen, answer), beside=options.output == "-")
    return 3 if isinstance(answer, OpenCounterfactual) else 0


# -- verify --------------------------------------------------------------------------------------------------


def _check_question(options: Namespace) -> None:
    """Refuse a missing question, and two at once."""
    named = asked_among(options, (*REGIONS, *_CLAIMS))
    refuse(
        UsageError,
        (len(named) > 1, f"give one region or claim, not {flags_of(named, ' and ')}."),
        (
            not named and not options.where,
            f"a region or a claim is missing. Give one of {flags_of((*REGIONS, 'where', *_CLAIMS))}.",
        ),
    )
    if named and named[0] in REGIONS:
        check_region(options)
    claim = next(iter(asked_among(options, tuple(_CLAIMS))), None)
    idle = {
        "SAMPLES": options.samples is not None,
        "--index": options.index is not None,
        "--label-column": options.label_column is not None,
        "--delimiter": "delimiter" in options.given,
        "--target": options.target is not None and claim != "monotone",
        "--ties": options.ties != "lowest",
        "--where": bool(options.where) and claim == "query",
    }
    wrong = next((name for name, is_set in idle.items() if is_set), None)
    refuse(
        UsageError,
        (
            options.falling and claim != "monotone",
            "--falling needs --monotone.",
        ),
        (
            options.witness is not None and claim == "query",
            "--witness cannot write the numbers of a query. Use --counterexample FILE or --json.",
        ),
        (
            options.counterexample is not None and claim != "query",
            "--counterexample needs --query. Use --witness FILE instead.",
        ),
        (
            claim is not None and wrong is not None,
            f"{wrong} is not used by --{claim}, which is about all inputs. Leave it out.",
        ),
    )


def _claim(options: Namespace, network: Network, claim: str) -> Any:
    """Return the question about all inputs that the options ask."""
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
    claim = next(iter(asked_among(options, tuple(_CLAIMS))), None)
    if claim is None:
        asks = asked("verify", options, network, one_sample(options, network).tolist())
    else:
        asks = _claim(options, network, claim), {"engine": options.engine}
    if options.export is not None:
        from sugenet.io import export
        from sugenet.reason import problems_of

        problems, _ = problems_of(network, asks[0])
        if len(problems) != 1:
            raise SugenetError(
                f"--export writes one box, and the query has {len(problems)}. Split the query into one file "
                "per box."
            )
        export(problems[0], options.export)
    answer = _answer(options, screen, network, asks)
    keep_certificate(options, screen, answer.certificate, f"{answer.engine} gives no proof")
    if options.counterexample is not None:
        from sugenet.io import write_counterexample

        write_counterexample(answer, options.counterexample)
    screen.say(*keep_witness(options, screen, answer), beside=options.output == "-")
    return {"proved": 0, "refuted": 1, "undecided": 3}[answer.outcome]


# -- compare -------------------------------------------------------------------------------------------------


def _compare(options: Namespace, screen: Screen) -> int:
    from sugenet.reason import compare

    left, right = (
        _read(options.model).within(options.within).within(options.law or None),
        _read(options.other),
    )
    where = limits_in(options.where, left)
    settings = {"where": where, "engine": options.engine, **how(options, screen)}
    settings |= {"cost": options.cost, "smallest": not options.any}
    answer = announced(screen, lambda: compare(left, right, **settings))
    keep_certificate(options, screen, answer.certificate, f"{answer.verdict.engine} gives no proof")
    text, _ = keep_witness(options, screen, answer.verdict)
    after = answer.said().removeprefix(answer.verdict.said())
    screen.say(text + after, answer.data(), beside=options.output == "-")
    return {"equal": 0, "different": 1, "undecided": 3}[answer.outcome]


def _read(name: str) -> Network:
    """Return a model from a native file, or from the file of another program that says enough itself."""
    if is_shipped(name) or name.endswith(".sugenet"):
        return network_of(name)
    from sugenet.io import import_file

    return import_file(name)


# -- rectify -------------------------------------------------------------------------------------------------


def _rectify(options: Namespace, screen: Screen) -> int:
    from sugenet.io import save
    from sugenet.reason import Fair, Monotone, rectify

    network = network_of(options.model)
    has_samples = options.samples is not None or is_shipped(options.model)
    if not has_samples:
        refuse_idle(options, ["label_column", "delimiter"], "needs SAMPLES, and none are given.")
    X, truth = samples_of(options, network) if has_samples else (None, None)
    claims: list[Any] = list(options.rule)
    claims += [] if options.monotone is None else [Monotone(options.monotone)]
    claims += [] if options.fair is None else [Fair(names_in(options.fair, network))]
    refuse(
        UsageError,
        (not claims, "there is nothing to repair. Give --rule, --monotone or --fair."),
        (
            options.samples is not None and truth is None,
            "SAMPLES need their classes, to compare the accuracy. Give --label-column.",
        ),
    )
    ask = {"weights": options.with_weights, "max_change": options.max_change, **how(options, screen)}
    answer = announced(screen, lambda: rectify(network, claims, X, truth, **ask))
    text = answer.said()
    if options.output is not None and answer.network is not None:
        save(answer.network, options.output)
        text += f"\nwritten to {visible(options.output)}"
    elif options.output is not None:
        screen.tell("no model written: no change is known after which the claims hold")
    screen.say(text, answer.data())
    return {"rectified": 0, "none": 1, "undecided": 3}[answer.outcome]


# -- count ---------------------------------------------------------------------------------------------------


def _ask_count(options: Namespace, screen: Screen) -> int:
    ASKERS["count"].check(options)
    network = asked_network(options)
    from sugenet.reason import CountOpen

    # such a region needs a sample
    around = [name for name in asked_among(options, REGIONS) if name != "any_input"]
    near = options.samples is not None or options.index is not None or around
    if not near:
        refuse_idle(options, ["label_column", "delimiter"], "needs a sample, and none is given.")
    x = one_sample(options, network).tolist() if near else None
    answer = _answer(options, screen, network, asked("count", options, network, x))
    exact = answer.is_certified
    keep_certificate(options, screen, answer.certificate if exact else None, "not everything was counted")
    screen.say(answer.said(screen.mark), answer.data(), beside=options.output == "-" and exact)
    return 3 if isinstance(answer, CountOpen) else 0


_DEFAULT = " (default)"
_CLAIM_OPTIONS = [option(f"--{name}", metavar=value, help=about) for name, (value, about) in _CLAIMS.items()]
_CLAIM_OPTIONS.insert(
    3, option("--falling", action="store_true", help="with --monotone: lowering the feature instead")
)

COMMANDS: Commands = {
    "why": Command(
        _ask_why,
        "find features that suffice for a sample's class",
        ["sugenet why digits --index 7 --hamming 3", "sugenet why breast_cancer --index 3 --chain"],
        [
            *shared(*SAMPLE),
            on_regions("region in which the reason suffices (default: smallest)"),
            *CLASSES,
            field("minimal"),
            field("n", help="how many reasons, shortest first, or all"),
            field("precision"),
            option(
                "--importance",
                choices=INDICES,
                metavar="INDEX",
                help="with -n all: an index of each feature",
            ),
            option("--resume", metavar="FILE", help="continue an answer that --json wrote"),
            option("--widest", action="store_true", help="also widen its features to intervals"),
            option("--chain", action="store_true", help="show the path through the layers as rules instead"),
            *shared("limit", limit={"default": 12, "help": "with --chain: lines to show below each"}),
            *WORK_OPTIONS,
        ],
    ),
    "whatif": Command(
        _ask_whatif,
        "find the cheapest change that changes a sample's class",
        ["sugenet whatif digits --index 7", "sugenet whatif breast_cancer --index 3 --keep 'mean radius'"],
        [
            *shared(*SAMPLE),
            *CLASSES,
            *CHANGES,
            field("where", help="only these change, within 'income < 30000 and city = Paris'"),
            field("n", help="how many, cheapest first, or all of minimum cost"),
            field("engine"),
            WITNESS,
            *WORK_OPTIONS,
        ],
    ),
    "verify": Command(
        _ask_verify,
        "prove or refute that the class stays in a region",
        [
            "sugenet verify digits --index 7 --hamming 1 -o certificate.json",
            "sugenet verify breast_cancer --fair 'mean radius,mean area'",
        ],
        [
            *shared(*SAMPLE),
            on_regions("region in which the sample's class stays"),
            Group("or a claim about all inputs, or about those of --where", _CLAIM_OPTIONS),
            *CLASSES,
            field("engine"),
            WITNESS,
            option(
                "--counterexample",
                metavar="FILE",
                help="with --query: write the result in VNN-COMP format",
            ),
            option(
                "--export",
                metavar="FILE",
                help="write the question as .opb, .wbo, .cnf, .smt2 or .mps",
            ),
            *WORK_OPTIONS,
        ],
    ),
    "compare": Command(
        _compare,
        "prove two models equal, or find where they differ",
        ["sugenet compare digits digits", "sugenet compare trained.sugenet device.onnx --time-limit 60"],
        [
            *shared(
                "model",
                "other",
                model={"help": "first model: .sugenet, shipped, or a file that convert reads"},
                other={"nargs": None, "help": "second model"},
            ),
            field("where", help="only inputs within 'income < 30000 and city = Paris'"),
            field(
                "cost",
                choices=["L0", "L1"],
                default="L0",
                help="size of a difference: L0 features or L1 sum",
            ),
            option("--any", action="store_true", help="any difference, not the smallest"),
            field("engine"),
            WITNESS,
            *WORK_OPTIONS,
        ],
    ),
    "rectify": Command(
        _rectify,
        "repair a model: the least change after which claims hold",
        ["sugenet rectify net.sugenet data.csv --rule 'age >= 60 -> yes' -o new.sugenet"],
        [
            *shared("model", "samples", "label_column", "delimiter"),
            option(
                "--rule",
                action="append",
                default=[],
                metavar="RULE",
                help="rule to hold, such as 'age >= 60 -> yes'; repeatable",
            ),
            option("--monotone", metavar="FEATURE", help="raising it never lowers the class"),
            option("--fair", metavar="FEATURES", help=_CLAIMS["fair"][1]),
            option("--with-weights", action="store_true", help="weights may change, too"),
            option("--max-change", type=integer_in(), metavar="N", help="largest size of a change"),
            *shared("output", *WORK, output={"help": "write the repaired model to FILE"}),
        ],
        defaults={"index": None},
    ),
    "count": Command(
        _ask_count,
        "count the inputs of each class in a region",
        ["sugenet count digits --index 7 --hamming 3"],
        [
            *shared(*SAMPLE),
            on_regions("region to count in", _DEFAULT),
            field("method"),
            *WORK_OPTIONS,
        ],
    ),
}
