"""Commands that look at a model: demo, summary, predict, trace, rules."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from sugenet.cli.asking import announced, asked_among, class_number, how, keep_certificate
from sugenet.cli.options import give, is_shipped, network_of, one_sample, samples_of, whole
from sugenet.cli.output import Screen
from sugenet.cli.parser import Commands, Parser, Run, UsageError

__all__ = ["COMMANDS"]

MOST_RULES = 100_000
"""Listed at once; a neuron can have more rules than any memory holds."""


_NEXT = """
Next:
  sugenet report digits --index 7 -o report.html
    this sample on one page, to read and print
  sugenet report digits --index 7 --interactive -o explorer.html
    a page to click; or, with the extra called web: sugenet serve digits
  sugenet --help
    everything else"""


def _demo(parser: Parser) -> Run:
    give(parser, "quiet")
    return _show_demo


def _show_demo(_options: Namespace, screen: Screen) -> int:
    from sugenet import data
    from sugenet.bits import prepare
    from sugenet.show.demonstration import demo, questions

    prepare(notify=screen.tell)
    network, (X, y) = data.digits(), data.samples("digits")
    screen.say(demo(network, X, y), None)
    asked = questions(network, X[7].tolist())
    while (text := announced(screen, lambda: next(asked, None))) is not None:
        screen.say(text, None)
    return screen.say(_NEXT, None)


def _summary(parser: Parser) -> Run:
    give(parser, "model", "json")
    return _show_summary


def _show_summary(options: Namespace, screen: Screen) -> int:
    from dataclasses import asdict

    from sugenet.bnn import summary

    network = network_of(options.model)
    table = summary(network)
    text = "\n".join(
        [
            str(table),
            *(f"{key}: {value}" for key, value in network.notes.items()),
            f"fingerprint: {network.fingerprint}",
        ]
    )
    data = {
        "network": table.title,
        "layers": [asdict(row) for row in table.layers],
        "notes": dict(network.notes),
    }
    return screen.say(text, data | {"fingerprint": network.fingerprint})


def _predict(parser: Parser) -> Run:
    give(
        parser,
        "model",
        "samples",
        "index",
        "target",
        "limit",
        limit={"default": 50, "help": "show at most N samples; JSON has all"},
    )
    engines = ["auto", "numba", "numpy", "definition"]
    parser.add_argument("--engine", choices=engines, default="auto", metavar="NAME", help="who counts")
    give(parser, "threads", "json", "quiet")
    return _show_predictions


def _show_predictions(options: Namespace, screen: Screen) -> int:
    from sugenet.bits import prepare
    from sugenet.bnn.layer import tops_of
    from sugenet.show import view_predictions

    network = network_of(options.model)
    X, truth = samples_of(options, network)
    first = options.index or 0
    if options.index is not None:
        X, truth = X[first : first + 1], None if truth is None else truth[first : first + 1]
    if options.engine != "definition":
        levels = network.head.tops is not None or any(tops_of(layer) is not None for layer in network.layers)
        prepare(options.engine, notify=screen.tell, levels=levels)
    view = view_predictions(network, X, truth, first, engine=options.engine, threads=options.threads)
    return screen.say(view.table(options.limit), view.data())


def _trace(parser: Parser) -> Run:
    give(parser, "model", "samples", "index", "target")
    parser.add_argument("--layer", type=whole(), metavar="L", help="list the neurons of layer L, from 1")
    give(parser, "limit", limit={"default": 20, "help": "show at most N neurons"})
    parser.add_argument("--prove", action="store_true", help="recompute every neuron as a Sugeno integral")
    give(parser, "json")
    return _show_trace


def _show_trace(options: Namespace, screen: Screen) -> int:
    from sugenet.show import picture, view_trace

    network = network_of(options.model)
    x = one_sample(options, network)
    view = view_trace(network, x, options.layer, options.limit)
    data, lines = view.data(), [str(view)]
    drawn = picture(network, x)
    if drawn is not None:
        lines.insert(0, drawn)
    if options.prove:
        proof = view.trace.prove()
        lines.append(proof)
        data["proof"] = proof.splitlines()
    return screen.say("\n".join(lines), data)


def _rules(parser: Parser) -> Run:
    give(parser, "model", "samples", "index", "target")
    parser.add_argument("--layer", type=whole(), default=1, metavar="L", help="layer, from 1")
    parser.add_argument(
        "--neuron",
        type=whole(),
        metavar="J",
        help="neuron, from 1; without it, rules of the network grown from samples",
    )
    parser.add_argument(
        "--level",
        type=whole(),
        metavar="M",
        help="with --neuron of several levels: rules that lift it to level M; else the lowest that is not "
        "always reached",
    )
    parser.add_argument(
        "--class", dest="label", metavar="CLASS", help="only rules of this class (of the network)"
    )
    about = "decide a rule such as 'mean radius >= 14 -> malignant', and count what it covers"
    parser.add_argument("--check", metavar="RULE", help=about)
    most = {"type": whole(0, MOST_RULES), "default": 10, "help": "show at most N rules"}
    give(
        parser,
        "limit",
        "output",
        "time_limit",
        "threads",
        "seed",
        "json",
        "quiet",
        limit=most,
        output={"help": "with --check, write the certificate to FILE, - for standard output"},
    )
    return _show_rules


def _show_rules(options: Namespace, screen: Screen) -> int:
    from sugenet.show import view_neuron

    asked = asked_among(options, ("check", "neuron", "label"))
    if len(asked) > 1:
        raise UsageError(
            f"ask one thing, not --{' and --'.join('class' if name == 'label' else name for name in asked)}."
        )
    if options.output is not None and options.check is None:
        raise UsageError("-o writes the certificate of a rule that is checked: give --check too.")
    if options.level is not None and options.neuron is None:
        raise UsageError("--level is a level of a neuron: give --neuron too.")
    network = network_of(options.model)
    if options.check is not None:
        return _check_rule(options, screen, network)
    if options.neuron is None:
        return _show_book(options, screen, network)
    sample = (
        one_sample(options, network) if options.samples is not None or options.index is not None else None
    )
    about = {"level": options.level, "limit": options.limit, "sample": sample}
    view = view_neuron(network, options.layer, options.neuron, **about)
    return screen.say(str(view), view.data())


def _check_rule(options: Namespace, screen: Screen, network: Any) -> int:
    from sugenet import reason

    found: Any = announced(screen, lambda: reason.check_rule(network, options.check, **how(options, screen)))
    keep_certificate(options, screen, found.verdict.certificate)
    screen.say(str(found), found.data(), beside=options.output == "-")
    return {True: 0, False: 1, None: 3}[found.holds]


def _show_book(options: Namespace, screen: Screen, network: Any) -> int:
    from sugenet import reason

    label = None if options.label is None else class_number(network, options.label, "--class")
    X = samples_of(options, network)[0] if options.samples is not None or is_shipped(options.model) else None
    seconds = 30.0 if options.time_limit is None else options.time_limit
    ask: dict[str, Any] = {
        "most": options.limit,
        "time_limit": seconds,
        "seed": options.seed,
        "notify": screen.progress,
    }
    book = announced(screen, lambda: reason.rulebook(network, label, X=X, **ask))
    return screen.say(str(book), book.data())


COMMANDS: Commands = {
    "demo": (_demo, "walk through the paper's example and the shipped digits", ["sugenet demo"]),
    "summary": (
        _summary,
        "count layers, parameters, constant and flipped neurons",
        ["sugenet summary digits"],
    ),
    "predict": (
        _predict,
        "classify samples",
        ["sugenet predict digits --index 7", "sugenet predict model.sugenet - < samples.csv"],
    ),
    "trace": (
        _trace,
        "show one sample's way through all layers",
        ["sugenet trace digits --index 7 --layer 1"],
    ),
    "rules": (
        _rules,
        "print a neuron, or the network, as rules; check a rule",
        [
            "sugenet rules digits --layer 1 --neuron 3",
            "sugenet rules breast_cancer --check 'mean radius >= 14 -> malignant'",
        ],
    ),
}
