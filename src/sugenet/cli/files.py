"""Commands about files: columns, train, convert, export.

The file of a spiking network does not contain the firing convention. Each part of it is an option, and an
error names the missing ones.
"""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sugenet.cli.options import (
    direction,
    directions_in,
    integer,
    integer_in,
    is_shipped,
    network_of,
    number,
    refuse_idle,
    shared,
    sign_of,
    typed,
)
from sugenet.cli.output import Screen, as_typed
from sugenet.cli.parser import Argument, Arguments, Command, Commands, Group, UsageError, option
from sugenet.errors import FileError, SugenetError
from sugenet.reading import open_text
from sugenet.visible import visible

if TYPE_CHECKING:
    from sugenet.fit.table import Table
    from sugenet.nn import Network

__all__ = [
    "COMMANDS",
    "SPIKING",
    "SPIKING_NAMES",
    "is_spiking",
    "read_spiking",
]

_WORDS = {
    "reset": ["zero", "subtract", "none", "once"],
    "when": ["at-once", "before-the-leak", "after-the-input", "at-once-as-in-snnTorch"],
    "fires": ["above", "reaching"],
    "code": ["latency", "spikes"],
    "decision": ["first-spike", "spike-count", "last-potential", "summed-potential"],
    "ties": ["lowest", "highest"],
}
_ABOUT = {
    "reset": "what a spike does to the potential",
    "when": "when the potential is reset",
    "fires": "a neuron spikes above its threshold, or reaching it",
    "code": "a sample is spike latencies, or spikes per step",
    "decision": "what decides the class",
    "ties": "which of tied classes wins",
}
_FIRES = {"above": ">", "reaching": ">="}

SPIKING = Group(
    "spiking networks (.nir, snnTorch, .npz)",
    [
        option("--steps", type=integer_in(1, 64), metavar="N", help="number of steps"),
        *(
            option(f"--{name}", choices=choices, metavar=name.upper(), help=_ABOUT[name])
            for name, choices in _WORDS.items()
        ),
        option(
            "--step",
            type=typed(number),
            metavar="X",
            help="length of a step, for continuous time (NIR)",
        ),
        option(
            "--floats",
            choices=["exact", "decimal"],
            metavar="HOW",
            help="read floats as they are, or as printed decimals",
        ),
        option(
            "--grid",
            type=typed(number),
            metavar="X",
            help="round weights to multiples of X, such as 1/64",
        ),
        option(
            "--leak",
            type=typed(number),
            metavar="X",
            help="intended leak, such as 9/10",
        ),
        option(
            "--layers",
            metavar="NAMES",
            help="modules of an snnTorch state dict, in order",
        ),
    ],
)
"""Options for spiking networks."""
SPIKING_NAMES = tuple(one.flags[0].lstrip("-") for one in SPIKING.options)


def is_spiking(options: Namespace) -> bool:
    """Return whether a spiking network is to be read."""
    name = options.source.lower().removesuffix(".gz")
    return name.endswith(".nir") or any(name in options.given for name in SPIKING_NAMES)


def read_spiking(options: Namespace, names: Any, classes: Any, others: tuple[str, ...]) -> Network:
    """Read it, with the convention of the options."""
    refuse_idle(options, others, "is not for spiking networks.")
    needed = ["steps", *(name for name in _WORDS if name != "when")]
    if options.reset in ("zero", "subtract"):
        needed.append("when")
    if options.source.lower().removesuffix(".gz").endswith(".nir"):
        needed.append("step")
    missing = [name for name in needed if getattr(options, name) is None]
    if missing:
        hints = "; ".join(f"--{name} ({_ABOUT.get(name, _OTHER.get(name))})" for name in missing)
        raise UsageError(
            f"{options.source} does not say how its neurons run, and sugenet does not guess. Give {hints}."
        )
    from sugenet.spiking import Convention, import_spiking

    def spelled(name: str) -> Any:
        return None if getattr(options, name) is None else getattr(options, name).replace("-", " ")

    convention = Convention(
        steps=options.steps,
        reset=options.reset,
        when=spelled("when"),
        fires=_FIRES[options.fires],  # type: ignore[arg-type]
        code=options.code,
        decision=spelled("decision"),
        ties=options.ties,
        step=options.step,
    )
    return import_spiking(
        options.source,
        convention,
        layers=None if options.layers is None else [part.strip() for part in options.layers.split(",")],
        floats=options.floats or "exact",
        grid=options.grid,
        leak=options.leak,
        names=names,
        classes=classes,
        image=options.image,
        prove=not options.no_proof,
    )


_OTHER = {"steps": "number of steps", "step": "length of a step"}


_CERTIFICATE = 1 << 26  # bytes of a certificate
_MODEL_FILE = {"required": True, "help": "write the model to FILE"}


def _sizes(text: str) -> list[int]:
    try:
        return [integer(size) for size in text.split(",") if size.strip()]
    except SugenetError:
        raise SugenetError(f"{text[:60]} is not a list of integers, such as 64,32") from None


def _cuts(text: str) -> list[float]:
    cuts = [_number(cut) for cut in text.split(",")]
    if not all(a < b for a, b in pairwise(cuts)):
        raise SugenetError(f"{text[:60]} must be increasing, such as 0.5,1.5")
    return cuts


def _type(text: str) -> tuple[str, str]:
    column, _, kind = text.rpartition("=")
    if not column or not kind:
        raise SugenetError(f"{text[:60]} is not COLUMN=TYPE, such as zip=category")
    return column, kind


def _region(text: str) -> str:
    from sugenet.fit.settings import robust_region

    try:
        robust_region(text)
    except SugenetError as error:
        raise SugenetError(str(error).removeprefix("robust=").rstrip(".")) from None
    return text


def _class_weight(text: str) -> str | dict[str, float]:
    if text == "balanced":
        return text
    parts = re.findall(r"([^=]+)=([^,=]+)(?:,|$)", text)
    if ",".join(f"{name}={weight}" for name, weight in parts) != text:
        raise SugenetError(f"{text[:60]} is not the word balanced, or a list such as stay=1,leave=20")
    return {name: _number(weight) for name, weight in parts}


def _number(text: str) -> float:
    from sugenet.capacity.arguments import float_number

    return float_number(text)


_SETTINGS: dict[str, tuple[Callable[[str], Any], Any, str, str]] = {
    "epochs": (integer_in(), 60, "N", "passes over the data"),
    "batch": (integer_in(), 64, "N", "samples per step"),
    "rate": (typed(_number), 0.01, "X", "initial learning rate; falls to 0 along a cosine"),
    "validation_share": (typed(_number), 0.1, "SHARE", "share of samples held out to choose the epoch"),
    "patience": (integer_in(), None, "N", "stop after N epochs without better validation accuracy"),
    "smoothing": (typed(_number), 0.1, "X", "label smoothing of the loss"),
    "class_weight": (
        typed(_class_weight),
        None,
        "WEIGHTS",
        "balanced, or costs of errors, as stay=1,leave=20",
    ),
    "noise": (typed(_number), 0.0, "P", "probability of flipping an input bit in training"),
    "sparsity": (typed(_number), 0.0, "SHARE", "share of weights set to 0"),
    "features": (integer_in(), None, "N", "features that the network reads, chosen in training"),
    "tau_decay": (typed(_number), 0.0, "X", "weight of the penalty on high thresholds"),
    "tau_goal": (integer_in(), 4, "N", "threshold that --tau-decay accepts"),
    "levels": (integer_in(2, 256), 2, "N", "output levels of a hidden neuron"),
    "weight_bits": (integer_in(1, 8), 1, "N", "bits per weight; 1 means -1 and +1"),
    "window": (integer_in(), None, "N", "square images: first-layer neurons read N x N pixels"),
    "robust": (typed(_region), None, "REGION", "train against linf:R or hamming:K around each sample"),
    "bound_share": (typed(_number), 0.1, "SHARE", "with --robust: share of the bound loss"),
    "depth": (integer_in(), None, "N", "grow one hidden layer of trees of this depth"),
}
"""Options for the fields of `fit.Settings`: type, default, metavar, help.

They are repeated here, so that help needs no import; a test compares them.
"""


def _table(options: Namespace) -> Table:
    from sugenet.fit.table import read_arrays, read_table

    if options.data.lower().endswith(".npz"):
        refuse_idle(
            options,
            ["label_column", "ignore", "delimiter", "weights", "types", "missing"],
            "is for CSV files; a .npz file has its classes in y.",
        )
        return read_arrays(options.data)
    if options.label_column is None:
        raise UsageError("--label-column is missing: name the CSV column with the class.")
    return read_table(
        options.data,
        options.label_column,
        weights=options.weights,
        ignore=options.ignore,
        delimiter=sign_of(options.delimiter),
        types=_types(options),
        missing=options.missing,
    )


def _types(options: Namespace) -> dict[str, str]:
    """Return the types by column; refuse two for one column."""
    twice = [name for name, times in Counter(name for name, _ in options.types).items() if times > 1]
    if twice:
        raise UsageError(f"--type gives {twice[0]} two types. Give one; parts of a date are joined by +.")
    return dict(options.types)


def _tell_delimiter(options: Namespace, screen: Screen, sign: str | None) -> None:
    """Say which separator was recognized, unless it is a comma."""
    if options.delimiter is None and sign is not None and sign != ",":
        from sugenet.io.plain.texts import SEPARATORS

        screen.tell(f"cells are separated by {SEPARATORS[sign]}")


def _show_columns(options: Namespace, screen: Screen) -> int:
    from sugenet.fit.columns import understood
    from sugenet.fit.table import read_columns

    types = _types(options)
    columns, classes, sign, _ = read_columns(
        options.data,
        options.label_column,
        ignore=options.ignore,
        delimiter=sign_of(options.delimiter),
        types=types,
    )
    _tell_delimiter(options, screen, sign)
    kinds = understood(columns, types, options.missing)
    text, data = as_typed(str(kinds), options.flags), kinds.data()
    data["problems"] = [as_typed(problem, options.flags) for problem in kinds.problems]
    if options.label_column is not None:
        counts = Counter(classes).most_common()
        shares = ", ".join(f"{name} {count:,} ({count / len(classes):.1%})" for name, count in counts[:12])
        more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
        text += f"\nclasses of {options.label_column}: {shares}{more}"
        data["classes"] = dict(counts)
    return screen.say(text, data)


_BY_SEARCH = ("hidden", "cuts", "cut_at", "coding", "checkpoint")
_MINUTES = 2.0


def _minutes(options: Namespace) -> float | None:
    """Return the time limit of the search; None if options choose the network, or the samples are arrays."""
    determining = [*_BY_SEARCH, *(name for name in _SETTINGS if name != "class_weight")]
    if "minutes" in options.given:
        refuse_idle(options, determining, "excludes --minutes, which chooses sizes, cuts and settings.")
        return float(options.minutes)
    plain = not options.data.lower().endswith(".npz") and not options.given.intersection(determining)
    return _MINUTES if plain else None


def _run_training(options: Namespace, screen: Screen) -> int:
    from sugenet.fit import Settings, learn_encoder, print_progress, train
    from sugenet.fit.trainer import as_table
    from sugenet.io import save

    _is_file(options.output)
    refuse_idle(
        options, ["cuts", "cut_at"] * (options.coding in ("bits", "integers")), "needs a coding with cuts."
    )
    both = ["cuts"] * (options.cut_at is not None)
    refuse_idle(options, both, "and --cut-at exclude each other.")
    refuse_idle(options, ["tau_goal"] * (not options.tau_decay), "needs --tau-decay.")
    refuse_idle(options, ["bound_share"] * (options.robust is None), "needs --robust.")
    settings = Settings(
        **{name: getattr(options, name) for name in _SETTINGS}, seed=options.seed, threads=options.threads
    )
    table = _table(options)
    _tell_delimiter(options, screen, table.delimiter)
    screen.tell(str(table))
    minutes = _minutes(options)
    if minutes is not None:
        screen.tell(
            f"choosing sizes, cuts and settings, for at most {minutes:g} minutes; Ctrl-C ends it earlier"
        )
    reading: dict[str, Any] = {"types": _types(options) or None, "missing": options.missing}
    trained = train(
        table.samples,
        table.y,
        options.hidden,
        settings=settings,
        encoder=None
        if minutes is not None
        else learn_encoder(
            table.samples, coding=options.coding, cuts=options.cut_at or options.cuts, **reading
        ),
        **(reading if minutes is not None else {}),
        minutes=minutes,
        classes=table.classes,
        monotone=directions_in(options.monotone, "--monotone") or None,
        sample_weight=table.weights,
        test_share=options.test_share,
        progress=None if options.quiet else print_progress,
        checkpoint=options.checkpoint,
        notes={
            "data": visible(str(options.data)),
            "trained with": f"seed {options.seed}, "
            + (f"{options.epochs} epochs" if minutes is None else f"a search of {minutes:g} minutes"),
        },
    )
    is_table = not options.data.lower().endswith(".npz")
    save(as_table(trained.network) if is_table else trained.network, options.output)
    data = {
        "output": options.output,
        "network": str(trained.network),
        "test_accuracy": trained.test_accuracy,
        "accuracy": trained.accuracy,
        "under_attack": trained.attacked,
        "monotone": dict(trained.monotone),
        "scores": None if trained.scores is None else trained.scores.data(),
        "samples": trained.counts._asdict(),
        "best_epoch": trained.best_epoch,
        "epochs": len(trained.history),
        "compared": {name: getattr(trained.comparison, name) for name in ("samples", "values", "differing")},
        "interrupted": trained.interrupted,
        "search": None if trained.search is None else trained.search.data(),
        "fingerprint": trained.network.fingerprint,
    }
    return screen.say(f"{trained}\nwritten to {visible(options.output)}", data)


_OTHERS = {".onnx": "ONNX", ".c": "C"}
"""Formats to which networks are exported."""
_PYNQ = ("design", "last", "rounding")
_PLAIN = (
    "inputs",
    "zero",
    "image",
    "shape",
    "bits",
    "features",
    "outputs",
    "above",
    "weights_file",
    "kernels",
    *_PYNQ,
)
_READING = (*_PLAIN, "names", "classes", "architecture", "no_strict", "no_proof")
"""Options for reading networks from other tools; the first ones are passed on unchanged."""
_NOT_SPIKING = tuple(name for name in _READING if name not in ("image", "names", "classes", "no_proof"))


def _image(text: str) -> list[int]:
    parts = text.lower().split("x")
    if len(parts) not in (2, 3) or not all(re.fullmatch("[0-9]{1,6}", part) for part in parts):
        raise SugenetError(f"{text[:60]} is not a size such as 28x28, 32x32x3 or 3x32x32")
    return [int(part) for part in parts]


_EXACT = r"[0-9.]{1,30}(?:/[0-9]{1,18})?(?:e-?[0-9]{1,3})?"


def _kind(text: str) -> tuple[Any, ...]:
    """Return the kind of raw samples: one word, or the ends of a range of integers with a factor and an
    offset.
    """
    ends = r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})"
    match = re.fullmatch(rf"{ends}(?:(/|\*)({_EXACT}))?([+-]{_EXACT})?", text)
    if match:
        step = Fraction(number(match[4] or "1"))
        if step:
            return (
                int(match[1]),
                int(match[2]),
                1 / step if match[3] == "/" else step,
                number(match[5] or "0"),
            )
    if text in ("bits", "reals"):
        return (text,)
    between = re.fullmatch(rf"reals:(-?{_EXACT})\.\.(-?{_EXACT})", text)
    if between:
        return ("reals", _number(between[1]), _number(between[2]))
    raise SugenetError(
        f"{text[:60]} is not a kind of input. Use bits, reals, reals:-3..3, 0..255, 0..255/255 or "
        "0..255*2/255-1"
    )


def _inputs(kind: tuple[Any, ...] | None) -> Any:
    from sugenet.io import Bits, Integers, Reals

    match kind:
        case None:
            return None
        case (low, high, step, start):
            return Integers(low, high, step=step, start=start)
        case (_, low, high):
            return Reals(low, high)
    return Bits() if kind == ("bits",) else Reals()


def _names(text: str | None) -> list[str] | None:
    """Return names, separated by commas or given as the lines of a file."""
    if text is None:
        return None
    if os.path.isfile(text):
        return [line.strip() for line in _text(text).splitlines() if line.strip()]
    return [name.strip() for name in text.split(",")]


def _text(path: str) -> str:
    try:
        with open_text(path, 1 << 24, newline=None) as file:
            return file.read()
    except (OSError, UnicodeDecodeError, FileError) as error:
        raise FileError(f"{path} cannot be read as text: {str(error).rstrip('.')}.") from None


def _run_conversion(options: Namespace, screen: Screen) -> int:
    _is_file(options.output)
    ending = os.path.splitext(options.output)[1].lower()
    if ending not in (".sugenet", *_OTHERS):
        raise SugenetError(f"-o {options.output} must end in .sugenet, .onnx or .c.")
    from sugenet.io import PartialImportReport, import_file, save, write_c, write_onnx

    data: dict[str, Any] = {}
    if ending in _OTHERS:
        why = f"is for imports, and -o {options.output} is an export."
        refuse_idle(options, (*_READING, *SPIKING_NAMES, "seen", "law"), why)
        network, text = network_of(options.source), f"{visible(options.source)} as {_OTHERS[ending]}"
        (write_c if ending == ".c" else write_onnx)(network, options.output)
    elif (options.seen is not None or options.law) and (
        is_shipped(options.source) or options.source.lower().endswith(".sugenet")
    ):
        refuse_idle(
            options,
            (*_READING, *SPIKING_NAMES),
            f"is for imports, and {options.source} is a sugenet model.",
        )
        network = _seeing(network_of(options.source), options.seen).within(options.law or None)
        text = f"{visible(options.source)}, with realistic inputs"
        save(network, options.output)
    elif is_spiking(options):
        read = read_spiking(options, _names(options.names), _names(options.classes), _NOT_SPIKING)
        imported = read.report
        network = _seeing(read, options.seen).within(options.law or None)
        data, text = imported.data(), str(imported)
        save(network, options.output)
    else:
        plain = {name: getattr(options, name) for name in _PLAIN if name != "inputs"}
        layers = options.architecture
        read = import_file(
            options.source,
            inputs=_inputs(options.inputs),
            names=_names(options.names),
            classes=_names(options.classes),
            architecture=_text(layers) if layers is not None and os.path.isfile(layers) else layers,
            strict=not options.no_strict,
            prove=not options.no_proof,
            **plain,
        )
        imported = read.report
        if isinstance(imported, PartialImportReport):
            raise SugenetError(
                f"{options.source}: a part of it stays in floats, which a model file cannot hold. "
                f"{'. '.join(part for part in imported.remarks if part.startswith(('exact', 'in floats')))}. "
                "In Python, sugenet.io.import_file gives the exact part, and its `report` has the floats."
            )
        network = _seeing(read, options.seen).within(options.law or None)
        data, text = imported.data(), str(imported)
        save(network, options.output)
    return screen.say(
        f"{text}\nwritten to {visible(options.output)}",
        {**data, "output": options.output, "fingerprint": network.fingerprint},
    )


def _seeing(network: Network, samples: str | None) -> Network:
    if samples is None:
        return network
    from sugenet.io import read_samples

    return network.with_training_range(read_samples(samples, network)[0])


def _is_file(output: str) -> None:
    if output == "-":
        raise SugenetError("-o needs a file, because a model is not text. Give a path.")


def _run_export(options: Namespace, screen: Screen) -> int:
    from sugenet.io import export_proof, read_json

    if options.output == "-":
        raise UsageError("-o needs a file name without ending, because a proof has two files.")
    files = export_proof(
        read_json(options.certificate, _CERTIFICATE),
        network_of(options.model),
        options.output,
        options.proof,
        other=None if options.other is None else network_of(options.other),
        time_limit=options.time_limit,
    )
    names = list(map(str, files))
    return screen.say("\n".join(f"written to {name}" for name in names), {"files": names})


def _listed(flag: str, what: str) -> Argument:
    about = f"{what}: comma-separated, or a file with one per line"
    return option(flag, metavar="NAMES", help=about)


_COLUMN_OPTIONS: Arguments = (
    option("--ignore", action="append", default=[], metavar="NAME", help="column to leave out; repeatable"),
    option(
        "--type",
        dest="types",
        type=typed(_type),
        action="append",
        default=[],
        metavar="PAIR",
        help="COLUMN=TYPE, such as zip=category; repeatable",
    ),
    option(
        "--missing",
        choices=["refuse", "category", "impute"],
        default="refuse",
        metavar="HOW",
        help="refuse gaps, make them a category, or impute",
    ),
)
_COLUMNS: Arguments = (
    option("data", metavar="DATA", help="CSV file with a header"),
    *shared("label_column", "delimiter", label_column={"help": "CSV column with the class"}),
    *_COLUMN_OPTIONS,
    *shared("json"),
)
_TRAIN: Arguments = (
    option(
        "data",
        metavar="DATA",
        help="CSV file with a header, or .npz (X, y)",
    ),
    *shared(
        "label_column",
        "delimiter",
        "output",
        label_column={"help": "CSV column with the class"},
        output=_MODEL_FILE,
    ),
    option("--hidden", type=typed(_sizes), metavar="SIZES", help="sizes of the hidden layers, such as 64,32"),
    *_COLUMN_OPTIONS,
    option("--weights", metavar="COLUMN", help="column with the weights of the rows"),
    option(
        "--test-share",
        type=typed(_number),
        default=0.1,
        metavar="SHARE",
        help="share of samples held out for testing",
    ),
    Group(
        "coding of features",
        [
            option(
                "--coding",
                choices=["auto", "bits", "cuts", "integers"],
                default="auto",
                metavar="HOW",
                help="coding of numbers",
            ),
            option("--cuts", type=integer_in(), default=4, metavar="N", help="cuts per number, at quantiles"),
            option(
                "--cut-at",
                type=typed(_cuts),
                metavar="NUMBERS",
                help="the cuts themselves, separated by commas",
            ),
        ],
    ),
    option(
        "--monotone",
        type=typed(direction),
        action="append",
        default=[],
        metavar="PAIR",
        help="COLUMN=rising or COLUMN=falling: never lowers the class; repeatable",
    ),
    Group(
        "settings",
        [
            option(f"--{name.replace('_', '-')}", type=kind, default=default, metavar=value, help=about)
            for name, (kind, default, value, about) in _SETTINGS.items()
        ],
    ),
    option(
        "--minutes",
        type=typed(_number),
        metavar="M",
        help="choose sizes, cuts and settings within M minutes",
    ),
    option("--checkpoint", metavar="FILE", help="checkpoint file (created or resumed)"),
    *shared(
        "threads",
        "seed",
        "json",
        "quiet",
        threads={"default": 1, "help": "number of threads; 1 is best for small networks"},
    ),
)
_CONVERT: Arguments = (
    option(
        "source",
        metavar="SOURCE",
        help="trained network: ONNX, PyTorch, Keras, ... or MODEL",
    ),
    *shared("output", output=_MODEL_FILE | {"help": "write the model to FILE: .sugenet, .onnx or .c"}),
    option(
        "--inputs",
        type=typed(_kind),
        metavar="KIND",
        help="raw samples: bits, reals, or integers as in 0..255/255",
    ),
    option(
        "--zero",
        type=integer_in(None),
        choices=[1, -1],
        metavar="SIGN",
        help="value of sign(0), if the file leaves it open",
    ),
    _listed("--names", "feature names"),
    _listed("--classes", "class names"),
    option(
        "--image",
        type=typed(_image),
        metavar="SIZE",
        help="image size, such as 28x28, 32x32x3 or 3x32x32",
    ),
    option(
        "--no-strict",
        action="store_true",
        help="also read operators that runtimes round differently",
    ),
    option(
        "--no-proof",
        action="store_true",
        help="skip the comparison with the source",
    ),
    option(
        "--seen",
        metavar="SAMPLES",
        help="training samples, whose range --within data uses",
    ),
    option(
        "--law",
        action="append",
        default=[],
        metavar="LAW",
        help="stored law, such as 'if smoker then age >= 16'; repeatable",
    ),
    Group(
        "PyTorch checkpoints",
        [
            option(
                "--architecture",
                metavar="TEXT",
                help="layers, such as 'linear:fc1 sign linear:fc2', or a file",
            ),
            option(
                "--shape",
                type=typed(_sizes),
                metavar="SIZES",
                help="shape of a sample: channels,height,width",
            ),
            option(
                "--bits",
                type=typed(_sizes),
                metavar="N",
                help="bits of weights,activations,inputs (Brevitas)",
            ),
        ],
    ),
    Group(
        "Keras models as .json",
        [option("--weights-file", metavar="FILE", help="weights, as model.save_weights writes them")],
    ),
    Group(
        ".npz files of match counts, and BNN-PYNQ folders",
        [
            option(
                "--features",
                type=integer_in(1, 1 << 30),
                metavar="N",
                help="number of inputs; the rest is padding",
            ),
            option(
                "--outputs",
                type=integer_in(1, 1 << 30),
                metavar="N",
                help="number of classes, in the last rows",
            ),
            option(
                "--above",
                type=typed(_number),
                metavar="X",
                help="an input is on if its value is above X",
            ),
        ],
    ),
    Group(
        "TensorFlow Lite files",
        [
            option(
                "--kernels",
                choices=["reference", "micro"],
                metavar="NAME",
                help="rounding of dense 8-bit layers (default: reference)",
            ),
        ],
    ),
    Group(
        "BNN-PYNQ folders",
        [
            option(
                "--design",
                metavar="NAME",
                help="lfcW1A1, cnvW1A1, or the config.h of the folder",
            ),
            option(
                "--last",
                choices=["bits", "matches"],
                metavar="HOW",
                help="class by highest set bit (driver), or most matches",
            ),
            option(
                "--rounding",
                choices=["nearest", "floor"],
                metavar="HOW",
                help="rounding of pixels; floor in older drivers",
            ),
        ],
    ),
    SPIKING,
    *shared("json"),
)
_EXPORT: Arguments = (
    *shared("certificate", "model", "other"),
    option(
        "--proof",
        choices=["veripb", "xlrup", "drat", "lrat"],
        required=True,
        metavar="KIND",
        help="proof format",
    ),
    *shared(
        "output",
        "time_limit",
        "json",
        output={"required": True, "help": "files to write, without ending"},
        time_limit={"default": 600, "help": "time limit of the solver for drat and lrat"},
    ),
)

COMMANDS: Commands = {
    "columns": Command(
        _show_columns,
        "show the types of the columns of a CSV file",
        [
            "sugenet columns data.csv --label-column y",
            "sugenet columns data.csv --type zip=category --missing impute",
        ],
        _COLUMNS,
    ),
    "train": Command(
        _run_training,
        "train a network on a CSV or .npz file",
        ["sugenet train data.csv --label-column y -o model.sugenet"],
        _TRAIN,
    ),
    "convert": Command(
        _run_conversion,
        "import a trained network, or export to ONNX or C",
        ["sugenet convert net.onnx -o net.sugenet", "sugenet convert digits -o digits.c"],
        _CONVERT,
    ),
    "export": Command(
        _run_export,
        "write a certificate's proof for another checker",
        ["sugenet export certificate.json digits --proof veripb -o three"],
        _EXPORT,
    ),
}
