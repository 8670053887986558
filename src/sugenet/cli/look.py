"""Commands that show a model: demo, summary, overview, predict, trace, rules."""

from argparse import Namespace
from typing import Any

from sugenet.cli.asking import (
    DOMAIN,
    announced,
    asked_among,
    asked_network,
    class_number,
    how,
    keep_certificate,
)
from sugenet.cli.options import (
    MOST_THREADS,
    SAMPLE,
    WORK,
    integer_in,
    is_shipped,
    network_of,
    one_sample,
    refuse_idle,
    samples_of,
    shared,
    title_of,
)
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, UsageError, option
from sugenet.errors import refuse
from sugenet.visible import visible

__all__ = ["COMMANDS"]

MOST_RULES = 100_000
"""Maximum number of rules listed at once; a neuron can have more rules than fit into memory."""


_SHOWN = 7
"""Index of the sample of the demonstration."""
_BOOK_SECONDS = 30
"""Default seconds for the rules of a network."""


def _show_demo(options: Namespace, screen: Screen) -> int:
    from sugenet import data
    from sugenet.cli.faces import without_times
    from sugenet.files import write_text
    from sugenet.show.demonstration import demo, questions
    from sugenet.web import page_html, payload
    from sugenet.web.asking import precompute

    network, (X, y) = data.digits(), data.samples("digits")
    screen.say(announced(screen, lambda: demo(network, X, y)), None)
    asked = questions(network, X[_SHOWN].tolist(), screen.mark)
    while (text := announced(screen, lambda: next(asked, None))) is not None:
        screen.say(text, None)
    answers = announced(screen, lambda: precompute(network, X[_SHOWN], notify=screen.progress))
    page = payload(network, X, y, title="digits", index=_SHOWN, answers=without_times(answers))
    write_text(options.output, page_html(page, server=False))
    return screen.say(f"\nAll of it to click, in a browser: {visible(options.output)}", None)


def _show_summary(options: Namespace, screen: Screen) -> int:
    from dataclasses import asdict

    from sugenet.nn import summary
    from sugenet.reason.questions import described_within

    network = network_of(options.model)
    table, inputs = summary(network), described_within(network, "").removeprefix(", for ")
    text = "\n".join(
        [
            str(table),
            *(visible(f"{key}: {value}") for key, value in network.notes.items()),
            *([visible(f"asked about: {inputs}")] if network.domain else []),
            f"fingerprint: {network.fingerprint}",
        ]
    )
    if options.widths:
        from sugenet.nn import accumulators

        widths = accumulators(network)
        text += "\n" + "\n".join(map(str, widths))
    data: dict[str, Any] = {
        "network": table.title,
        "layers": [asdict(row) for row in table.layers],
        "features": [{"name": name, "kind": kind} for name, kind in table.features],
        "notes": dict(network.notes),
    }
    if network.domain:
        data["domain"] = network.domain.data()
    if options.widths:
        data["accumulators"] = [asdict(width) | {"bits": width.bits} for width in widths]
    return screen.say(text, data | {"fingerprint": network.fingerprint})


def _show_overview(options: Namespace, screen: Screen) -> int:
    from sugenet.glance import overview

    network = asked_network(options)
    has_samples = options.samples is not None or is_shipped(options.model)
    if not has_samples:
        refuse_idle(options, ["label_column", "delimiter"], "needs SAMPLES, and none are given.")
    X, truth = samples_of(options, network) if has_samples else (None, None)
    ask: dict[str, Any] = {
        "samples": options.limit,
        "time_limit": options.time_limit,
        "seed": options.seed,
        "jobs": options.jobs or 1,
        "notify": screen.progress,
    }
    seen: Any = announced(screen, lambda: overview(network, X, truth, **ask))
    text = str(seen)
    if options.html is not None:
        from sugenet.files import write_text
        from sugenet.show import report_overview

        page = report_overview(seen, title=title_of(options.model))
        if options.html == "-":
            screen.put(page)
            return 0
        write_text(options.html, page)
        text += f"\n\nwritten to {visible(options.html)}"
    return screen.say(text, seen.data())


def _show_predictions(options: Namespace, screen: Screen) -> int:
    from sugenet.show import view_predictions

    if options.engine == "definition" and options.threads != 1:
        refuse_idle(options, ["threads"], "is not used by --engine definition, which has one thread.")
    network = network_of(options.model)
    X, truth = samples_of(options, network)
    first = options.index or 0
    if options.index is not None:
        X, truth = X[first : first + 1], None if truth is None else truth[first : first + 1]
    how = {"engine": options.engine, "threads": options.threads}
    view = announced(screen, lambda: view_predictions(network, X, truth, first, **how))
    return screen.say(view.table(options.limit), view.data())


def _show_trace(options: Namespace, screen: Screen) -> int:
    from sugenet.show import picture, view_trace

    if options.layer is None:
        refuse_idle(options, ["limit"], "needs --layer.")
    network = network_of(options.model)
    x = one_sample(options, network)
    view = view_trace(network, x, options.layer, options.limit)
    data, lines = view.data(), [str(view)]
    figure = picture(network, x)
    if figure is not None:
        lines.insert(0, figure)
    if options.prove:
        proof = view.trace.prove()
        lines.append(proof)
        data["proof"] = proof.splitlines()
    return screen.say("\n".join(lines), data)


def _show_rules(options: Namespace, screen: Screen) -> int:
    from sugenet.show import view_neuron

    asked = asked_among(options, ("check", "neuron", "label"))
    flags = " and --".join("class" if name == "label" else name for name in asked)
    refuse(
        UsageError,
        (len(asked) > 1, f"give one of --{flags}."),
        (
            options.output is not None and options.check is None,
            "-o needs --check: it writes the certificate of the rule.",
        ),
        (
            options.level is not None and options.neuron is None,
            "--level needs --neuron.",
        ),
    )
    asked_for, idle = (
        ("--check", ("samples", "index", "label_column", "delimiter", "layer", "limit"))
        if options.check is not None
        else ("--neuron", ("time_limit", "threads", "seed"))
        if options.neuron is not None
        else ("the rules of a network", ("index", "layer", "threads"))
    )
    refuse_idle(options, idle, f"is not used by {asked_for}. Leave it out.")
    if options.check is None:
        refuse_idle(options, ("law", "within"), "needs --check.")
    network = asked_network(options)
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

    checked: Any = announced(
        screen, lambda: reason.check_rule(network, options.check, **how(options, screen))
    )
    keep_certificate(options, screen, checked.verdict.certificate, "the engine gives no proof")
    screen.say(checked.said(screen.mark), checked.data(), beside=options.output == "-")
    return {True: 0, False: 1, None: 3}[checked.holds]


def _show_book(options: Namespace, screen: Screen, network: Any) -> int:
    from sugenet import reason

    label = None if options.label is None else class_number(network, options.label, "--class")
    X = samples_of(options, network)[0] if options.samples is not None or is_shipped(options.model) else None
    seconds = _BOOK_SECONDS if options.time_limit is None else options.time_limit
    ask: dict[str, Any] = {
        "most": options.limit,
        "time_limit": seconds,
        "seed": options.seed,
        "notify": screen.progress,
    }
    book: Any = announced(screen, lambda: reason.rulebook(network, label, X=X, **ask))
    screen.say(str(book), book.data())
    if book.interrupted:
        return 3
    if book.complete or len(book.rules) >= options.limit or book.seconds < seconds:
        return 0
    screen.tell(f"stopped after {seconds:g} s; there may be more rules. Raise --time-limit.")
    return 3


_RULES_SHARED = shared(
    "limit",
    "output",
    *WORK,
    limit={"type": integer_in(0, MOST_RULES), "default": 10, "help": "rules to show"},
    time_limit={"help": f"stop after this time (default for rulebooks: {_BOOK_SECONDS})"},
    output={"help": "with --check: write the certificate to FILE, or -"},
)

_LOOKED = {"type": integer_in(1), "default": 1000, "help": "samples to look at"}

COMMANDS: Commands = {
    "demo": Command(
        _show_demo,
        "ask four questions about one digit",
        ["sugenet demo"],
        shared("output", "quiet", output={"default": "sugenet-demo.html", "help": "page to write"}),
    ),
    "summary": Command(
        _show_summary,
        "show layers, parameters, memory and constant neurons",
        ["sugenet summary digits", "sugenet summary digits --widths"],
        [
            *shared("model"),
            option("--widths", action="store_true", help="show how many bits the sums of each layer need"),
            *shared("json"),
        ],
    ),
    "overview": Command(
        _show_overview,
        "describe a whole network: neurons, classes, fragile features",
        ["sugenet overview digits --html overview.html", "sugenet overview model.sugenet samples.csv"],
        [
            *shared("model", "samples", "label_column", "delimiter", "limit", limit=_LOOKED),
            option("--html", metavar="FILE", help="write a page to FILE, or - for standard output"),
            option(
                "--jobs", type=integer_in(1, MOST_THREADS), metavar="N", help="number of workers (default: 1)"
            ),
            DOMAIN,
            *shared("time_limit", "seed", "json", "quiet", time_limit={"default": "60"}),
        ],
        defaults={"index": None},
    ),
    "predict": Command(
        _show_predictions,
        "classify samples",
        ["sugenet predict digits --index 7", "sugenet predict model.sugenet - < samples.csv"],
        [
            *shared(*SAMPLE, "limit", limit={"default": 50, "help": "samples to show; JSON has all"}),
            option(
                "--engine",
                choices=["auto", "numba", "numpy", "definition"],
                default="auto",
                metavar="NAME",
                help="implementation to use",
            ),
            *shared("threads", "json", "quiet"),
        ],
    ),
    "trace": Command(
        _show_trace,
        "follow one sample through all layers",
        ["sugenet trace digits --index 7 --layer 1"],
        [
            *shared(*SAMPLE),
            option("--layer", type=integer_in(), metavar="L", help="list the neurons of this layer, from 1"),
            *shared("limit", limit={"default": 20, "help": "neurons to show"}),
            option("--prove", action="store_true", help="recompute every neuron as a Sugeno integral"),
            *shared("json"),
        ],
    ),
    "rules": Command(
        _show_rules,
        "extract rules of a neuron or network; check a rule",
        [
            "sugenet rules digits --layer 1 --neuron 3",
            "sugenet rules breast_cancer --check 'mean radius >= 14 -> malignant'",
        ],
        [
            *shared(*SAMPLE),
            option("--layer", type=integer_in(), default=1, metavar="L", help="layer, from 1"),
            option(
                "--neuron",
                type=integer_in(),
                metavar="J",
                help="neuron, from 1 (default: rules of the whole network)",
            ),
            option(
                "--level",
                type=integer_in(),
                metavar="M",
                help="with --neuron: rules for reaching this level",
            ),
            option("--class", dest="label", metavar="CLASS", help="only rules of this class"),
            option(
                "--check",
                metavar="RULE",
                help="rule to decide, such as 'mean radius >= 14 -> malignant'",
            ),
            DOMAIN,
            *_RULES_SHARED,
        ],
    ),
}
