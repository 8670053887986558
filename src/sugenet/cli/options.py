"""Arguments and options that commands share, each defined once; values are checked before work begins."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any

from sugenet.cli.parser import Argument, UsageError, nearest
from sugenet.errors import FileError, SugenetError, refuse

if TYPE_CHECKING:
    from sugenet.nn import Network

__all__ = [
    "MOST_THREADS",
    "SAMPLE",
    "SHIPPED",
    "WORK",
    "check_paths",
    "chosen_sample",
    "direction",
    "directions_in",
    "integer",
    "integer_in",
    "is_shipped",
    "network_of",
    "number",
    "one_sample",
    "refuse_idle",
    "samples_of",
    "seconds",
    "shared",
    "sign_of",
    "title_of",
    "typed",
]

SHIPPED = ("digits", "breast_cancer")
_FOREIGN = (".onnx", ".pt", ".pth", ".tar", ".h5", ".npz", ".ipq", ".tflite")
"""File name endings that ``sugenet convert`` reads."""
MOST_THREADS = 1024


# -- values --------------------------------------------------------------------------------------------------


def typed(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function for the parser that reads a value and raises `SugenetError`."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except SugenetError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def integer_in(low: int | None = 0, high: int | None = None) -> Callable[[str], int]:
    """Return a function for the parser that reads integers within limits."""

    def read(text: str) -> int:
        value = integer(text)
        if high is not None and low is not None and not low <= value <= high:
            raise SugenetError(f"{text} must be from {low} to {high}")
        if low == 0 and value < 0:
            raise SugenetError(f"{text} must not be negative")
        if high is None and low is not None and value < low:
            raise SugenetError(f"{text} must be at least {low}")
        return value

    return typed(read)


def number(text: str) -> Any:
    """Return a number as Python reads it: 2, 1.5, 1e-3; or exactly 3/2."""
    from sugenet.capacity.arguments import read_number

    return read_number(text)


def integer(text: str) -> int:
    """Return an integer."""
    with suppress(SugenetError):
        value = number(text)
        if isinstance(value, int):
            return value
    raise SugenetError(f"{text[:40]} is not an integer")


def direction(text: str) -> tuple[str, str]:
    """Return a column and its direction."""
    column, _, way = text.rpartition("=")
    if not column or way not in ("rising", "falling"):
        raise SugenetError(f"{text[:60]} is not COLUMN=rising or COLUMN=falling")
    return column, way


def directions_in(pairs: list[tuple[str, str]], flag: str) -> dict[str, str]:
    """Return the direction of each column that an option names; each may be named once."""
    ways = dict(pairs)
    if len(ways) < len(pairs):
        raise UsageError(f"{flag} names a column twice. Give one direction per column.")
    return ways


def seconds(text: str) -> float:
    """Return a time that may be 0."""
    with suppress(SugenetError, OverflowError):
        value = float(number(text))
        if value >= 0:
            return value
    raise SugenetError(f"{text[:40]} must be a number of seconds, 0 or more")


# -- the vocabulary ------------------------------------------------------------------------------------------

_SHARED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "model": (
        ("model",),
        {"metavar": "MODEL", "help": f".sugenet file, or a shipped model: {', '.join(SHIPPED)}"},
    ),
    "samples": (
        ("samples",),
        {
            "metavar": "SAMPLES",
            "nargs": "?",
            "help": "CSV, .npy, .npz, IDX or image file, folder, or -",
        },
    ),
    "certificate": (
        ("certificate",),
        {"metavar": "CERTIFICATE", "help": "JSON file written by -o, or - for standard input"},
    ),
    "other": (
        ("other",),
        {"metavar": "MODEL2", "nargs": "?", "help": "second model, if the certificate is about two"},
    ),
    "index": (("--index",), {"type": integer_in(None), "metavar": "I", "help": "sample number, from 0"}),
    "label_column": (("--label-column",), {"metavar": "NAME", "help": "CSV column with the true class"}),
    "delimiter": (
        ("--delimiter",),
        {"metavar": "SIGN", "help": "separator of CSV cells, or tab (default: recognized)"},
    ),
    "limit": (("--limit",), {"type": integer_in(), "metavar": "N", "help": "show at most N"}),
    "output": (
        ("-o", "--output"),
        {"metavar": "FILE", "help": "write the certificate to FILE, or - for standard output"},
    ),
    "time_limit": (
        ("--time-limit",),
        {
            "type": typed(seconds),
            "metavar": "SECONDS",
            "help": "stop after this time and report what is known",
        },
    ),
    "threads": (
        ("--threads",),
        {
            "type": integer_in(1, MOST_THREADS),
            "metavar": "N",
            "help": "number of threads (default: all cores)",
        },
    ),
    "seed": (
        ("--seed",),
        {"type": integer_in(), "default": 0, "metavar": "N", "help": "random seed"},
    ),
    "json": (("--json",), {"action": "store_true", "help": "print JSON"}),
    "quiet": (("--quiet",), {"action": "store_true", "help": "no notes and no progress"}),
}


def shared(*names: str, **changes: dict[str, Any]) -> tuple[Argument, ...]:
    """Return some of the shared arguments and options; `changes` may set a default, or name the items that N
    counts.
    """
    return tuple(Argument(*_SHARED[name]).but(**changes.get(name, {})) for name in names)


SAMPLE = ("model", "samples", "index", "label_column", "delimiter")
"""Shared arguments that name one sample."""
WORK = ("time_limit", "threads", "seed", "json", "quiet")
"""Shared options that say how a question is answered."""


# -- what they name ------------------------------------------------------------------------------------------

_MODELS = ("model", "source", "other", "agree")
_TEXTS = ("samples", "certificate")
_INPUTS = (*_MODELS, *_TEXTS, "data", "predict", "query", "results", "seen")
"""Options that name an input: a model, possibly a shipped one; or a text, possibly from standard input, or a
file.
"""

_OUTPUTS = {
    "output": "-o",
    "witness": "--witness",
    "counterexample": "--counterexample",
    "csv": "--csv",
    "parquet": "--parquet",
    "svg": "--svg",
    "html": "--html",
}
"""Options that name a file to write."""


def check_paths(options: argparse.Namespace) -> None:
    """Refuse missing inputs and outputs that cannot be written, before anything is loaded."""
    outputs = {flag: getattr(options, name, None) for name, flag in _OUTPUTS.items()}
    _check_streams(outputs, writes_json=getattr(options, "json", False))
    _check_files(options, [path for path in outputs.values() if path not in (None, "-")])
    named = [(name, getattr(options, name, None)) for name in _INPUTS]
    if [path for _, path in named].count("-") > 1:
        raise UsageError("standard input can be read only once. Give a file instead of one -.")
    for name, path in named:
        if path is not None:
            _check_input(name, path)


def _check_streams(outputs: dict[str, Any], *, writes_json: bool) -> None:
    """Refuse two outputs on standard output, and binary files there."""
    witness = outputs["--witness"] or ""
    spoken = ["--json"] * writes_json + [f"{flag} -" for flag, path in outputs.items() if path == "-"]
    refuse(
        UsageError,
        (
            witness == "-",
            "--witness needs a file, because the answer goes to standard output. Give a path.",
        ),
        (
            witness and not witness.lower().endswith((".csv", ".npy")),
            f"--witness {witness} must end in .csv or .npy.",
        ),
        (
            len(spoken) > 1,
            f"{' and '.join(spoken[:2])} both write to standard output. Give a file to one of them.",
        ),
        (
            outputs["--counterexample"] == "-",
            "--counterexample needs a file, because the answer goes to standard output. Give a path.",
        ),
        (
            outputs["--parquet"] == "-",
            "--parquet needs a file, because Parquet is not text. Give a path.",
        ),
    )


def _check_files(options: argparse.Namespace, files: list[str]) -> None:
    """Refuse to write one file twice, over results, or to a path that cannot be written."""
    if len(files) > len({os.path.realpath(path) for path in files}):
        raise UsageError("two outputs go to the same file. Give each its own name.")
    sources = (*getattr(options, "files", ()), getattr(options, "results", None))
    results = {os.path.realpath(path) for path in sources if path is not None}
    for path in files:
        if os.path.realpath(path) in results:
            raise UsageError(f"{path} holds the results and would be overwritten. Give another file.")
    if files:
        from sugenet.files import check_writable

        for path in files:
            check_writable(path)


def _check_input(name: str, path: str) -> None:
    """Refuse a path that cannot be read."""
    if path == "-" and name not in _TEXTS:
        raise UsageError(
            "only samples and certificates are read from standard input. Give a file instead of -."
        )
    if path != "-" and not (name in _MODELS and is_shipped(path)) and not os.path.exists(path):
        near = nearest(path, SHIPPED) if name in _MODELS and name != "source" else ""
        raise FileError(f"{path} cannot be read: there is no such file or folder. Check the path.{near}")


def is_shipped(name: str) -> bool:
    """Return whether this is a model that ships with the package; a file of that name takes precedence."""
    return name in SHIPPED and not os.path.isfile(name)


def title_of(model: str) -> str:
    """Return the title of a page about the model."""
    return model if is_shipped(model) else os.path.splitext(os.path.basename(model))[0]


def network_of(name: str) -> Network:
    """Return the model with this name or path."""
    if is_shipped(name):
        from sugenet import data

        return {"digits": data.digits, "breast_cancer": data.breast_cancer}[name]()
    if name.lower().endswith(_FOREIGN):
        raise FileError(
            f"{name} is not a .sugenet file. Convert it first: sugenet convert {quote(name)} -o model.sugenet"
        )
    from sugenet.io import load

    return load(name)


def samples_of(options: argparse.Namespace, network: Network) -> tuple[Any, Any]:
    """Return all raw samples that the options name, and their true classes if known."""
    if options.samples is not None:
        from sugenet.io import read_samples

        X, truth = read_samples(
            options.samples, network, options.label_column, delimiter=sign_of(options.delimiter)
        )
    elif is_shipped(options.model):
        from sugenet import data

        if options.label_column is not None:
            raise SugenetError(
                f"--label-column {options.label_column} needs a CSV file: the shipped samples have "
                "their own classes."
            )
        if "delimiter" in options.given:
            raise SugenetError(
                "--delimiter is for CSV files, and the shipped samples are not one. Leave it out."
            )
        X, truth = data.samples(options.model)
    else:
        raise SugenetError(
            "SAMPLES is missing. Give a CSV, .npy, .npz, IDX or image file, or a folder of images, after the "
            "model."
        )
    if options.index is not None and not 0 <= options.index < len(X):
        raise SugenetError(
            f"--index {options.index} is not one of the {len(X)} samples, which are numbered from 0."
        )
    return X, truth


def sign_of(delimiter: str | None) -> str | None:
    """Return the separator itself; None if it is to be recognized."""
    return {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)


def refuse_idle(options: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse options that are given but not used."""
    idle = next((name for name in names if name in options.given), None)
    if idle is not None:
        raise UsageError(f"{options.flags.get(idle, idle.upper())} {why}")


def chosen_sample(options: argparse.Namespace, X: Any) -> int:
    """Return the index of the one sample that the options name."""
    if options.index is None and len(X) != 1:
        raise SugenetError(f"there are {len(X)} samples. Choose one with --index.")
    return options.index or 0


def one_sample(options: argparse.Namespace, network: Network) -> Any:
    """Return the one raw sample that the options name."""
    X, _ = samples_of(options, network)
    return X[chosen_sample(options, X)]
