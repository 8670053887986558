"""The command line: parse, call one function, show. ``sugenet --help`` lists the commands.

Exit codes: 0 done, found or proved, 1 refuted or a certificate that does not hold, 2 wrong usage or bad input, 3 undecided, 130
interrupted. A training that is interrupted after its first epoch keeps its best epoch, writes the model and ends with 0.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from sugenet import __version__
from sugenet.errors import CertificateError, SugenetError

if TYPE_CHECKING:
    from sugenet.bnn import Network

__all__ = ["main"]

SHIPPED = ("digits", "breast_cancer")
MOST_THREADS = 1024
MOST_RULES = 100_000
"""Listed at once; a neuron can have more rules than any memory holds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if isinstance(sys.stdout, TextIOWrapper):  # a letter that the terminal cannot show is spelled out
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _run(arguments)
    except SugenetError as error:
        _tell(f"sugenet: {error}")
        return 1 if isinstance(error, CertificateError) else 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        _tell("sugenet: interrupted")
        return 130
    except MemoryError:
        _tell("sugenet: there is not enough memory for this. Give fewer samples at a time, or a smaller model.")
    except RecursionError:
        _tell("sugenet: the input is nested too deeply.")
    except OSError as error:
        _drop_output()
        what = "" if error.filename is None else f"{error.filename}: "
        _tell(f"sugenet: {what}{error.strerror or error}.")
    return 2


def _run(arguments: Sequence[str] | None) -> int:
    try:
        options = _parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a closed pipe or a full disk can still be answered


def _drop_output() -> None:
    """Let what cannot be written go, so that the interpreter does not try once more when it ends."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sugenet",
        description="Binarized neural networks read exactly as Sugeno integrals.",
        epilog="MODEL is a .sugenet file or a shipped model: digits, breast_cancer. Example: sugenet predict digits --index 7",
    )
    parser.add_argument("--version", action="version", version=f"sugenet {__version__}")
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

    made = command(
        "rules",
        _rules,
        "Print a neuron as rules, or without --neuron the network; check a rule",
        "sugenet rules digits --layer 1 --neuron 3",
    )
    on_samples(made)
    made.add_argument("--layer", type=int, default=1, metavar="L", help="layer, from 1 (default 1)")
    made.add_argument("--neuron", type=int, metavar="J", help="neuron, from 1; without it, rules of the network grown from samples")
    made.add_argument("--limit", type=int, default=10, metavar="N", help="list at most N rules (default 10)")
    made.add_argument("--class", dest="label", metavar="CLASS", help="only rules of this class (of the network)")
    made.add_argument("--check", metavar="RULE", help="decide a rule such as 'mean radius >= 14 -> malignant', and count what it covers")
    made.add_argument("--time-limit", type=float, metavar="SECONDS", help="give what is known after this time")

    made = command(
        "convert", _convert, "Read a trained network from elsewhere, or write one as ONNX", "sugenet convert net.onnx -o net.sugenet"
    )
    made.add_argument("source", metavar="SOURCE", help=".onnx, .pt, .pth, .tar, .h5, .npz, a folder of CSV files, or MODEL")
    made.add_argument("-o", "--output", required=True, metavar="FILE", help="file to write: .sugenet or .onnx")
    made.add_argument(
        "--inputs", metavar="KIND", help="what raw samples are: bits, reals, or integers such as 0..255 or 0..255/255 (divided by 255)"
    )
    made.add_argument("--zero", type=int, choices=[1, -1], help="what sign(0) shall be where the file says 0 and zero can occur")
    made.add_argument("--classes", metavar="NAMES", help="names of the classes, with commas between them")
    made.add_argument("--json", action="store_true", help="write the report as JSON")

    def on_work(made: argparse.ArgumentParser) -> None:
        made.add_argument("--time-limit", type=float, metavar="SECONDS", help="give what is known after this time")
        made.add_argument("--threads", type=int, metavar="N", help="threads (default: all cores)")
        made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the search (default 0)")
        made.add_argument("-o", "--output", metavar="FILE", help="write the certificate here")

    def on_classes(made: argparse.ArgumentParser) -> None:
        made.add_argument("--to", metavar="CLASS", help="the class to reach, by name (default: any other)")
        made.add_argument("--ties", choices=["lowest", "against"], default="lowest", help="whether a tie counts as a change (against)")
        on_work(made)

    def on_questions(made: argparse.ArgumentParser) -> None:
        made.add_argument("--engine", default="auto", metavar="NAME", help="one engine by name (default: cheapest first)")
        on_classes(made)

    made = command("whatif", _whatif, "Find the cheapest change of a sample that changes its class", "sugenet whatif digits --index 7")
    on_samples(made)
    on_questions(made)
    made.add_argument("--cost", choices=["L0", "L1", "L2", "Linf", "Hamming"], default="L0", help="what a change costs (default L0)")
    made.add_argument("--price", action="append", default=[], metavar="FEATURE=P", help="price of changing a feature; others stay")
    made.add_argument("--keep", action="append", default=[], metavar="FEATURE", help="feature that must stay; may be repeated")
    made.add_argument("--where", action="append", default=[], metavar="FEATURE=LOW..HIGH", help="stay within; only these may change")
    made.add_argument("--limit", metavar="COST", help="look no further than this cost")
    made.add_argument("-n", default="1", metavar="N", help="how many, cheapest first; all: all of least cost (default 1)")

    made = command(
        "verify", _verify, "Decide whether a network can fail: proved, refuted or undecided", "sugenet verify digits --index 7 --hamming 1"
    )
    on_samples(made)
    on_questions(made)
    for name, words in (("hamming", "bits flipped"), ("l0", "features changed"), ("l1", "raw change in all"), ("l2", "raw distance")):
        made.add_argument(f"--{name}", metavar="R", help=f"the sample's class stays with up to R {words}")
    made.add_argument("--linf", metavar="R", help="the sample's class stays when every feature changes by up to R")
    made.add_argument("--free", metavar="FEATURES", help="the sample's class stays whatever these do, with commas between them")
    made.add_argument("--anything", action="store_true", help="the sample's class stays whatever is changed")
    made.add_argument("--where", action="append", default=[], metavar="FEATURE=LOW..HIGH", help="only within these limits; may be repeated")
    made.add_argument("--always", metavar="CLASS", help="every input has this class")
    made.add_argument("--never", metavar="CLASS", help="no input has this class")
    made.add_argument("--monotone", metavar="FEATURE", help="raising the feature never lowers the class, or never loses --to CLASS")
    made.add_argument("--falling", action="store_true", help="lowering it, instead of raising")
    made.add_argument("--fair", metavar="FEATURES", help="the class does not depend on these, with commas between them")
    made.add_argument("--agree", metavar="MODEL2", help="the other model gives the same classes")
    made.add_argument("--query", metavar="FILE", help="a query in a VNNLIB file")
    made.add_argument("--export", metavar="FILE", help="write the question for other solvers: .opb, .wbo, .cnf, .smt2 or .mps")

    def on_regions(made: argparse.ArgumentParser) -> None:
        for name, words in (("hamming", "R bits flipped"), ("l0", "R features changed"), ("l1", "a raw change of R in all")):
            made.add_argument(f"--{name}", metavar="R", help=f"with up to {words}")
        made.add_argument("--l2", metavar="R", help="within a raw distance of R")
        made.add_argument("--linf", metavar="R", help="with every feature changed by up to R")
        made.add_argument("--free", metavar="FEATURES", help="with these features free, commas between them")
        made.add_argument("--anything", action="store_true", help="for any input (the default)")
        made.add_argument("--where", action="append", default=[], metavar="FEATURE=LOW..HIGH", help="within these limits; may be repeated")

    made = command("why", _why, "Find sets of features that suffice for a sample's class", "sugenet why digits --index 7 --hamming 3")
    on_samples(made)
    on_regions(made)
    on_classes(made)
    made.add_argument("--minimal", choices=["subset", "size"], default="subset", help="none can be left out, or none smaller exists")
    made.add_argument("-n", default="1", metavar="N", help="how many reasons, shortest first; or all (default 1)")
    made.add_argument("--chain", action="store_true", help="instead, the path through the layers as rules")
    made.add_argument("--limit", type=int, default=12, metavar="N", help="with --chain, at most N lines below each (default 12)")

    made = command("count", _count, "Count the inputs of each class in a region, exactly", "sugenet count digits --index 7 --hamming 3")
    on_samples(made)
    on_regions(made)
    on_work(made)
    made.add_argument("--method", default="auto", metavar="NAME", help="auto, walk, sums or sample (default auto)")

    made = command("check", _check, "Check a certificate against a model", "sugenet check certificate.json digits")
    made.add_argument("certificate", metavar="CERTIFICATE")
    made.add_argument("model", metavar="MODEL")
    made.add_argument("other", metavar="MODEL2", nargs="?", help="the other model of a certificate about two")
    made.add_argument("--json", action="store_true", help="write JSON")

    made = command(
        "train",
        _train,
        "Train a network on a CSV file; Ctrl-C ends it early with the best epoch so far",
        "sugenet train data.csv --target y -o model.sugenet",
    )
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
    print(_json(data) if as_json else text)
    return 0


def _json(data: Any) -> str:
    """JSON in letters that standard output can write: a letter spelled out by the stream would not be JSON."""
    written = json.dumps(data, indent=2, ensure_ascii=False)
    try:
        written.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(data, indent=2)
    return written


def _tell(message: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError):
            print(message, file=sys.stderr)


def _check_threads(threads: int | None) -> None:
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise SugenetError(f"--threads {threads} must be from 1 to {MOST_THREADS}.")


def _limit(limit: int) -> int:
    """How many to show; more than a machine can count are all."""
    if limit < 0:
        raise SugenetError(f"limit={limit} must not be negative.")
    return min(limit, sys.maxsize)


def _is_shipped(name: str) -> bool:
    return name in SHIPPED and not os.path.isfile(name)  # a file of that name is meant where there is one


def _network(name: str) -> Network:
    from sugenet import data
    from sugenet.io import load

    if _is_shipped(name):
        return {"digits": data.digits, "breast_cancer": data.breast_cancer}[name]()
    return load(name)


def _samples(options: argparse.Namespace, network: Network) -> tuple[Any, Any, int]:
    """The raw samples that the options name, their true classes if known, and the number of the first."""
    from sugenet import data
    from sugenet.io import read_samples

    if options.samples is not None:
        X, truth = read_samples(options.samples, network, options.target)
    elif _is_shipped(options.model):
        if options.target is not None:
            raise SugenetError(f"--target {options.target} names a column of a CSV file, but the shipped samples have their own classes.")
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

    limit = _limit(options.limit)
    _check_threads(options.threads)
    network = _network(options.model)
    X, truth, first = _samples(options, network)
    if options.engine != "definition":
        prepare(options.engine, notify=_tell)
    view = view_predictions(network, X, truth, first, engine=options.engine, threads=options.threads)
    return _say(view.table(limit), view.data(), options.json)


def _trace(options: argparse.Namespace) -> int:
    from sugenet.show import picture, view_trace

    network = _network(options.model)
    x = _one_sample(options, network)
    view = view_trace(network, x, options.layer, _limit(options.limit))
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

    limit = _limit(options.limit)
    if limit > MOST_RULES:
        raise SugenetError(f"--limit {options.limit} must be at most {MOST_RULES}.")
    network = _network(options.model)
    if options.check is not None:
        return _checked_rule(options, network)
    if options.neuron is None:
        return _book(options, network, limit)
    asked = options.samples is not None or options.index is not None
    sample = _one_sample(options, network) if asked else None
    view = view_neuron(network, options.layer, options.neuron, limit=limit, sample=sample)
    return _say(str(view), view.data(), options.json)


def _checked_rule(options: argparse.Namespace, network: Network) -> int:
    from sugenet import reason

    found = _announced(lambda: reason.check_rule(network, options.check, time_limit=options.time_limit, notify=_progress))
    _say(str(found), found.data(), options.json)
    return {True: 0, False: 1, None: 3}[found.holds]


def _book(options: argparse.Namespace, network: Network, limit: int) -> int:
    from sugenet import reason

    label = None if options.label is None else _class(network, options.label, "--class")
    X = _samples(options, network)[0] if options.samples is not None or _is_shipped(options.model) else None
    seconds = 30.0 if options.time_limit is None else options.time_limit
    book = _announced(lambda: reason.rulebook(network, label, X=X, most=limit, time_limit=seconds, notify=_progress))
    return _say(str(book), book.data(), options.json)


def _inputs(text: str | None) -> Any:
    """What raw samples are, from the words of the command line."""
    import re
    from fractions import Fraction

    from sugenet.io import BitInputs, Integers, Reals

    if text is None:
        return None
    found = re.fullmatch(r"(-?[0-9]+)\.\.(-?[0-9]+)(?:/([0-9]+))?", text)
    if found:
        return Integers(int(found[1]), int(found[2]), step=Fraction(1, int(found[3] or 1) or 1))
    if text in ("bits", "reals"):
        return BitInputs() if text == "bits" else Reals()
    raise SugenetError(f"--inputs {text} is not bits, reals, or integers such as 0..255 or 0..255/255.")


def _convert(options: argparse.Namespace) -> int:
    from sugenet.io import import_file, save, write_onnx

    if options.output.lower().endswith(".onnx"):
        network, data, text = _network(options.source), {}, f"{options.source} as ONNX"
        write_onnx(network, options.output)
    elif options.output.lower().endswith(".sugenet"):
        classes = None if options.classes is None else options.classes.split(",")
        found = import_file(options.source, inputs=_inputs(options.inputs), zero=options.zero, classes=classes)
        network, data, text = found.network, found.data(), str(found)
        save(network, options.output)
    else:
        raise SugenetError(f"-o {options.output} must end in .sugenet or .onnx.")
    return _say(
        f"{text}\nwritten to {options.output}", {**data, "output": options.output, "fingerprint": network.fingerprint}, options.json
    )


def _ready(options: argparse.Namespace) -> None:
    """What a question needs before work begins."""
    from sugenet.io.texts import check_writable

    _check_threads(options.threads)
    if options.seed < 0:
        raise SugenetError(f"--seed {options.seed} must not be negative.")
    if options.time_limit is not None and not options.time_limit >= 0:
        raise SugenetError(f"--time-limit {options.time_limit} must be a number of seconds.")
    if options.output is not None:
        check_writable(options.output)


def _how(options: argparse.Namespace) -> dict[str, Any]:
    """Options that all questions have."""
    return {"time_limit": options.time_limit, "threads": options.threads, "seed": options.seed, "notify": _progress}


def _announced(run: Callable[[], Any]) -> Any:
    """Do something that may have to be compiled first, and say so then."""
    from sugenet.reason.flip_kernels import prepare

    found: list[Any] = []
    prepare(_tell, lambda: found.append(run()))
    _end_progress()
    return found[0]


def _keep_certificate(options: argparse.Namespace, answer: Any) -> None:
    if options.output is not None:
        from sugenet.io import write_text

        write_text(options.output, json.dumps(answer.certificate, indent=1) + "\n")


def _progress(words: str) -> None:
    """On a terminal, one line that is written over; elsewhere nothing."""
    if sys.stderr is not None and sys.stderr.isatty():
        with suppress(OSError):
            sys.stderr.write(f"\r\x1b[K{words[:78]}")
            sys.stderr.flush()


def _end_progress() -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        with suppress(OSError):
            sys.stderr.write("\r\x1b[K")


def _class(network: Network, name: str, option: str) -> int:
    if name not in network.classes:
        raise SugenetError(f"{option} {name} is no class. The classes are {', '.join(network.classes)}.")
    return network.classes.index(name)


def _named(text: str, network: Network) -> list[str]:
    """Names with commas between them; a name may hold a comma itself."""
    if text in network.encoder.names:
        return [text]
    return [name.strip() for name in text.split(",") if name.strip()]


def _where(parts: list[str], network: Network) -> dict[str, Any]:
    """Limits of features: NAME=LOW..HIGH with an end left out for none, or NAME=A or NAME=A|B for values."""
    from sugenet.bnn import OneHot

    limits: dict[str, Any] = {}
    for part in parts:
        name, equals, limit = part.rpartition("=")
        if not equals or name not in network.encoder.names:
            raise SugenetError(f"--where {part} must be FEATURE=LOW..HIGH or FEATURE=VALUE, with the name of a feature.")
        if name in limits:
            raise SugenetError(f"--where {part}: {name} has limits already. Give what both allow.")
        coding = network.encoder.codings[network.encoder.names.index(name)]
        if isinstance(coding, OneHot):
            known = {str(category): category for category in coding.categories}
            wrong = [value for value in limit.split("|") if value not in known]
            if wrong:
                raise SugenetError(f"--where {part}: {wrong[0]} is no category. The categories are {', '.join(known)}.")
            limits[name] = {known[value] for value in limit.split("|")}
        else:
            low, dots, high = limit.partition("..")
            if not limit.strip():
                raise SugenetError(f"--where {part} must be FEATURE=LOW..HIGH or FEATURE=VALUE, with a value or bounds.")
            ends = (low, high) if dots else (low, low)
            limits[name] = tuple(None if not end.strip() else _number(end) for end in ends)
    return limits


def _whatif(options: argparse.Namespace) -> int:
    from sugenet import reason

    network = _network(options.model)
    x = _one_sample(options, network)
    cost: Any = getattr(reason, options.cost)
    if options.price:
        pairs = [part.rpartition("=") for part in options.price]
        wrong = next((part for part in options.price if "=" not in part), None)
        if wrong is not None:
            raise SugenetError(f"--price {wrong} must be FEATURE=PRICE.")
        cost = reason.Prices([(name, _number(price)) for name, _, price in pairs])
    if options.n != "all" and not options.n.isdecimal():
        raise SugenetError(f"-n {options.n} must be a number, or all.")
    target = None if options.to is None else _class(network, options.to, "--to")
    region = reason.Box(_where(options.where, network)) if options.where else None
    _ready(options)
    answer = _announced(
        lambda: reason.whatif(
            network,
            x.tolist(),
            cost,
            target=target,
            immutable=options.keep,
            region=region,
            limit=None if options.limit is None else _number(options.limit),
            ties=options.ties,
            n=options.n if options.n == "all" else int(options.n),
            engine=options.engine,
            **_how(options),
        )
    )
    _keep_certificate(options, answer)
    _say(str(answer), answer.data(), options.json)
    return 3 if isinstance(answer, reason.OpenCounterfactual) else 0


_ABOUT_SAMPLES = ("hamming", "l0", "l1", "l2", "linf", "free", "anything")
_ABOUT_ALL = ("always", "never", "monotone", "fair", "agree", "query")


def _question(options: argparse.Namespace, network: Network) -> Any:
    """The question that the options ask."""
    from sugenet import reason

    asked = [name for name in (*_ABOUT_SAMPLES, *_ABOUT_ALL) if getattr(options, name) not in (None, False)]
    if len(asked) > 1 or (not asked and not options.where):
        given = f"--{' and --'.join(asked)}" if asked else "none"
        raise SugenetError(f"ask one question ({given} given): --{', --'.join((*_ABOUT_SAMPLES, *_ABOUT_ALL))}, or --where alone.")
    kind = asked[0] if asked else "where"
    where, to = _where(options.where, network), None if options.to is None else _class(network, options.to, "--to")
    match kind:
        case "always" | "never":
            label = _class(network, getattr(options, kind), f"--{kind}")
            return (reason.Always if kind == "always" else reason.Never)(label, where)
        case "monotone":
            return reason.Monotone(options.monotone, to, rising=not options.falling, where=where)
        case "fair":
            return reason.Fair(_named(options.fair, network), where)
        case "agree":
            return reason.Agree(_network(options.agree), where)
        case "query":
            from sugenet.io import read_vnnlib

            return read_vnnlib(options.query)
    return reason.Robust(_one_sample(options, network).tolist(), _region(options, network), to, options.ties)


def _region(options: argparse.Namespace, network: Network) -> Any:
    """The region that the options name; any input where they name none."""
    from sugenet import reason

    asked = [name for name in _ABOUT_SAMPLES if getattr(options, name) not in (None, False)]
    where = _where(options.where, network)
    if len(asked) > 1 or (where and asked):
        raise SugenetError(f"name one region, not --{' and --'.join([*asked, *(['where'] if where else [])])}.")
    if where:
        return reason.Box(where)
    kind = asked[0] if asked else "anything"
    regions: dict[str, Any] = {"hamming": reason.Hamming, "l0": reason.L0, "l1": reason.L1, "l2": reason.L2, "linf": reason.Linf}
    if kind in regions:
        return regions[kind](_number(getattr(options, kind)))
    return reason.Free(_named(options.free, network)) if kind == "free" else reason.Anything()


def _verify(options: argparse.Namespace) -> int:
    from sugenet import reason

    network = _network(options.model)
    question = _question(options, network)
    if options.export is not None:
        from sugenet.io import export

        problems, _ = reason.problems_of(network, question)
        if len(problems) != 1:
            raise SugenetError(f"--export writes one box at a time, but the query has {len(problems)}. Split it, one file for each box.")
        export(problems[0], options.export)
    _ready(options)
    answer = _announced(lambda: reason.verify(network, question, engine=options.engine, **_how(options)))
    _keep_certificate(options, answer)
    _say(str(answer), answer.data(), options.json)
    return {reason.Proved: 0, reason.Refuted: 1, reason.Undecided: 3}[type(answer)]


def _why(options: argparse.Namespace) -> int:
    from sugenet import reason

    network = _network(options.model)
    x = _one_sample(options, network).tolist()
    if options.chain:
        chain = reason.chain_of(network, x)
        return _say(chain.text(_limit(options.limit)), chain.data(), options.json)
    if options.n != "all" and not options.n.isdecimal():
        raise SugenetError(f"-n {options.n} must be a number, or all.")
    region, to = _region(options, network), None if options.to is None else _class(network, options.to, "--to")
    _ready(options)
    n = options.n if options.n == "all" else int(options.n)
    ask = {"minimal": options.minimal, "n": n, "target": to, "ties": options.ties}
    found = _announced(lambda: reason.why(network, x, region, **ask, **_how(options)))
    if options.output is not None and found.reasons:
        from sugenet.io import write_text

        write_text(options.output, json.dumps(found.reasons[0].certificate, indent=1) + "\n")
    _say(str(found), found.data(), options.json)
    wanted = ("minimum",) if options.minimal == "size" else ("minimum", "minimal")
    return 0 if found.reasons and found.reasons[0].status in wanted else 3


def _count(options: argparse.Namespace) -> int:
    from sugenet import reason

    network = _network(options.model)
    around = options.samples is not None or options.index is not None
    _ready(options)
    if around:
        x, region, where = _one_sample(options, network).tolist(), _region(options, network), None
    else:
        x, region, where = None, None, _where(options.where, network) or None
    answer = _announced(lambda: reason.count(network, x, region, where=where, method=options.method, **_how(options)))
    if options.output is not None:
        if not isinstance(answer, reason.Counted):
            raise SugenetError("there is no certificate to write: not everything was counted.")
        _keep_certificate(options, answer)
    _say(str(answer), answer.data(), options.json)
    return 3 if isinstance(answer, reason.CountOpen) else 0


def _number(text: str) -> Any:
    import re
    from fractions import Fraction

    power = re.search(r"e([+-]?[0-9_]+)\s*$", text, re.IGNORECASE)
    if len(text) > 1000 or (power and (len(power[1]) > 5 or abs(int(power[1])) > 400)):
        raise SugenetError(f"{text[:40]} is a larger or finer number than can be meant.")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise SugenetError(f"{text} is not a number.") from None


def _check(options: argparse.Namespace) -> int:
    from sugenet.io import read_json
    from sugenet.reason import check

    other = None if options.other is None else _network(options.other)
    network, certificate = _network(options.model), read_json(options.certificate)
    said = _announced(lambda: check(certificate, network, other))
    return _say(f"the certificate holds: {said}", {"holds": True, "checked": said.split("; ")}, options.json)


def _train(options: argparse.Namespace) -> int:
    from sugenet.fit import Settings, print_progress, read_table, train
    from sugenet.io import save
    from sugenet.io.texts import check_writable

    try:
        hidden = [int(size) for size in options.hidden.split(",") if size.strip()]
    except ValueError:
        raise SugenetError(f"--hidden {options.hidden} must be whole numbers with commas between them, such as 64,32.") from None
    settings = Settings(epochs=options.epochs, seed=options.seed, sparsity=options.sparsity, threads=options.threads)
    check_writable(options.output)
    table = read_table(options.data, options.target, ignore=options.ignore)
    _tell(str(table))
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
