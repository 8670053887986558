"""The command line: parse, call one function, show. ``sugenet --help`` lists the commands.

Exit codes: 0 done or found, 1 a certificate that does not hold, 2 wrong usage or bad input, 3 undecided, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sugenet.errors import CertificateError, SugenetError

if TYPE_CHECKING:
    from sugenet.bnn import Network

__all__ = ["main"]

SHIPPED = ("digits", "breast_cancer")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except SugenetError as error:
        print(f"sugenet: {error}", file=sys.stderr)
        return 1 if isinstance(error, CertificateError) else 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("sugenet: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sugenet",
        description="Binarized neural networks read exactly as Sugeno integrals.",
        epilog="MODEL is a .sugenet file or a shipped model: digits, breast_cancer. Example: sugenet predict digits --index 7",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], help_: str, example: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help_, description=help_ + ".", epilog=f"Example: {example}")
        made.set_defaults(command=run)
        return made

    def on_samples(made: argparse.ArgumentParser) -> None:
        made.add_argument("model", metavar="MODEL")
        made.add_argument("samples", metavar="SAMPLES", nargs="?", help="CSV, .npy, .npz or image file, - for CSV on standard input")
        made.add_argument(
            "--index", type=int, metavar="I", help="only sample number I, from 0; of the shipped set when SAMPLES is left out"
        )
        made.add_argument("--target", metavar="NAME", help="CSV column with the true class")
        made.add_argument("--json", action="store_true", help="write JSON")

    command("demo", _demo, "Walk through the paper's example and the shipped digits model", "sugenet demo")

    made = command("summary", _summary, "Count layers, parameters, constant and flipped neurons", "sugenet summary digits")
    made.add_argument("model", metavar="MODEL")
    made.add_argument("--json", action="store_true", help="write JSON")

    made = command("predict", _predict, "Classify samples", "sugenet predict digits --index 7")
    on_samples(made)
    made.add_argument("--limit", type=int, default=50, metavar="N", help="show at most N lines (default 50; JSON has all)")
    made.add_argument("--engine", choices=["auto", "numba", "numpy", "definition"], default="auto", help="who counts (default auto)")
    made.add_argument("--threads", type=int, metavar="N", help="threads (default: all cores)")

    made = command("trace", _trace, "Show one sample's way through all layers", "sugenet trace digits --index 7 --layer 1")
    on_samples(made)
    made.add_argument("--layer", type=int, metavar="L", help="list the neurons of layer L, from 1")
    made.add_argument("--limit", type=int, default=20, metavar="N", help="list at most N neurons (default 20)")
    made.add_argument("--prove", action="store_true", help="recompute every neuron as a Sugeno integral")

    made = command("rules", _rules, "Print a neuron as rules", "sugenet rules digits --layer 1 --neuron 3")
    on_samples(made)
    made.add_argument("--layer", type=int, default=1, metavar="L", help="layer, from 1 (default 1)")
    made.add_argument("--neuron", type=int, required=True, metavar="J", help="neuron, from 1")
    made.add_argument("--limit", type=int, default=10, metavar="N", help="list at most N rules, shortest first (default 10)")

    made = command("whatif", _whatif, "Find the cheapest change of a sample that changes its class", "sugenet whatif digits --index 7")
    on_samples(made)
    made.add_argument("--cost", choices=["L0", "L1", "L2", "Linf", "Hamming"], default="L0", help="what a change costs (default L0)")
    made.add_argument("--to", metavar="CLASS", help="the class to reach, by name (default: any other)")
    made.add_argument("--keep", action="append", default=[], metavar="FEATURE", help="feature that must stay; may be repeated")
    made.add_argument("--limit", metavar="COST", help="look no further than this cost")
    made.add_argument("--ties", choices=["lowest", "against"], default="lowest", help="whether a tie counts as a change (against)")
    made.add_argument("--time-limit", type=float, metavar="SECONDS", help="give the best answer so far after this time")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the search (default 0)")
    made.add_argument("-o", "--output", metavar="FILE", help="write the certificate here")

    made = command("check", _check, "Check a certificate against a model", "sugenet check certificate.json digits")
    made.add_argument("certificate", metavar="CERTIFICATE")
    made.add_argument("model", metavar="MODEL")
    made.add_argument("--json", action="store_true", help="write JSON")

    made = command("train", _train, "Train a network on a CSV file", "sugenet train data.csv --target y -o model.sugenet")
    made.add_argument("data", metavar="DATA", help="CSV file with a header")
    made.add_argument("--target", required=True, metavar="NAME", help="column with the class")
    made.add_argument("-o", "--output", required=True, metavar="FILE", help="model file to write")
    made.add_argument("--hidden", default="64,32", metavar="SIZES", help="sizes of the hidden layers (default 64,32)")
    made.add_argument("--ignore", action="append", default=[], metavar="NAME", help="column to leave out; may be repeated")
    made.add_argument("--epochs", type=int, default=60, metavar="N", help="passes over the data (default 60)")
    made.add_argument("--sparsity", type=float, default=0.0, metavar="SHARE", help="share of weights that are 0 (default 0)")
    made.add_argument("--checkpoint", metavar="FILE", help="write progress here and go on from it")
    made.add_argument("--threads", type=int, default=1, metavar="N", help="threads (default 1, which is best for small networks)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default 0)")
    made.add_argument("--json", action="store_true", help="write JSON")
    return parser


def _say(text: str, data: Any, as_json: bool) -> int:
    print(json.dumps(data, indent=2, ensure_ascii=False) if as_json else text)
    return 0


def _tell(message: str) -> None:
    print(message, file=sys.stderr)


def _network(name: str) -> Network:
    from sugenet import data
    from sugenet.io import load

    if name in SHIPPED and not os.path.exists(name):
        return {"digits": data.digits, "breast_cancer": data.breast_cancer}[name]()
    return load(name)


def _samples(options: argparse.Namespace, network: Network) -> tuple[Any, Any, int]:
    """The raw samples that the options name, their true classes if known, and the number of the first."""
    from sugenet import data
    from sugenet.io import read_samples

    if options.samples is not None:
        X, truth = read_samples(options.samples, network, options.target)
    elif options.model in SHIPPED:
        X, truth = data.samples(options.model)
    else:
        raise SugenetError("no samples given. Name a CSV, .npy, .npz or image file after the model.")
    if options.index is None:
        return X, truth, 0
    if not 0 <= options.index < len(X):
        raise SugenetError(f"--index {options.index} is not one of the {len(X)} samples, which are numbered from 0.")
    chosen = slice(options.index, options.index + 1)
    return X[chosen], None if truth is None else truth[chosen], options.index


def _one_sample(options: argparse.Namespace, network: Network) -> Any:
    X, _, _ = _samples(options, network)
    if options.index is None and len(X) != 1:
        raise SugenetError(f"there are {len(X)} samples. Choose one with --index.")
    return X[0]


def _demo(_options: argparse.Namespace) -> int:
    from sugenet import data
    from sugenet.bits import prepare
    from sugenet.show import demo

    prepare(notify=_tell)
    print(demo(data.digits(), *data.samples("digits")))
    return 0


def _summary(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from sugenet.bnn import summary

    network = _network(options.model)
    table = summary(network)
    text = "\n".join([str(table), *(f"{key}: {value}" for key, value in network.notes.items()), f"fingerprint: {network.fingerprint}"])
    data = {"network": table.title, "layers": [asdict(row) for row in table.layers], "notes": dict(network.notes)}
    return _say(text, data | {"fingerprint": network.fingerprint}, options.json)


def _predict(options: argparse.Namespace) -> int:
    from sugenet.bits import prepare
    from sugenet.show import view_predictions

    network = _network(options.model)
    X, truth, first = _samples(options, network)
    if options.engine != "definition":
        prepare(options.engine, notify=_tell)
    view = view_predictions(network, X, truth, first, engine=options.engine, threads=options.threads)
    return _say(view.table(options.limit), view.data(), options.json)


def _trace(options: argparse.Namespace) -> int:
    from sugenet.show import picture, view_trace

    network = _network(options.model)
    x = _one_sample(options, network)
    view = view_trace(network, x, options.layer, options.limit)
    data, lines = view.data(), [str(view)]
    drawn = picture(network, x)
    if drawn is not None:
        lines.insert(0, drawn)
    if options.prove:
        proof = view.trace.prove()
        lines.append(proof)
        data["proof"] = proof.splitlines()
    return _say("\n".join(lines), data, options.json)


def _rules(options: argparse.Namespace) -> int:
    from sugenet.show import view_neuron

    network = _network(options.model)
    asked = options.samples is not None or options.index is not None
    sample = _one_sample(options, network) if asked else None
    view = view_neuron(network, options.layer, options.neuron, limit=options.limit, sample=sample)
    return _say(str(view), view.data(), options.json)


def _whatif(options: argparse.Namespace) -> int:
    from sugenet import reason
    from sugenet.bits import prepare

    network = _network(options.model)
    x = _one_sample(options, network)
    target = None
    if options.to is not None:
        if options.to not in network.classes:
            raise SugenetError(f"--to {options.to} is no class. The classes are {', '.join(network.classes)}.")
        target = network.classes.index(options.to)
    prepare(notify=_tell)
    answer = reason.whatif(
        network,
        x.tolist(),
        getattr(reason, options.cost),
        target=target,
        immutable=options.keep,
        limit=None if options.limit is None else _number(options.limit),
        ties=options.ties,
        time_limit=options.time_limit,
        seed=options.seed,
    )
    if options.output is not None:
        from sugenet.io import write_text

        write_text(options.output, json.dumps(answer.certificate, indent=1) + "\n")
    _say(str(answer), answer.data(), options.json)
    return 3 if isinstance(answer, reason.OpenCounterfactual) else 0


def _number(text: str) -> Any:
    from fractions import Fraction

    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise SugenetError(f"{text} is not a number.") from None


def _check(options: argparse.Namespace) -> int:
    from sugenet.io import read_json
    from sugenet.reason import check

    said = check(read_json(options.certificate), _network(options.model))
    return _say(f"the certificate holds: {said}", {"holds": True, "checked": said.split("; ")}, options.json)


def _train(options: argparse.Namespace) -> int:
    from sugenet.fit import Settings, print_progress, read_table, train
    from sugenet.io import save

    try:
        hidden = [int(size) for size in options.hidden.split(",") if size.strip()]
    except ValueError:
        raise SugenetError(f"--hidden {options.hidden} must be whole numbers with commas between them, such as 64,32.") from None
    table = read_table(options.data, options.target, ignore=options.ignore)
    _tell(str(table))
    settings = Settings(epochs=options.epochs, seed=options.seed, sparsity=options.sparsity, threads=options.threads)
    trained = train(
        table.X,
        table.y,
        hidden,
        settings=settings,
        names=table.names,
        classes=table.classes,
        progress=print_progress,
        checkpoint=options.checkpoint,
        notes={"data": str(options.data), "trained with": f"seed {options.seed}, {options.epochs} epochs"},
    )
    save(trained.network, options.output)
    data = {
        "output": options.output,
        "network": str(trained.network),
        "accuracy": trained.accuracy,
        "best_epoch": trained.best_epoch,
        "interrupted": trained.interrupted,
        "fingerprint": trained.network.fingerprint,
    }
    return _say(f"{trained}\nwritten to {options.output}", data, options.json)


if __name__ == "__main__":
    sys.exit(main())
