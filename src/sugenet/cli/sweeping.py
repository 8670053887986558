"""The command that asks about a whole data set: sweep."""

from __future__ import annotations

import re
from argparse import Namespace
from importlib import import_module
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import (
    ASKERS,
    CHANGES,
    CLASSES,
    DOMAIN,
    announced,
    asked,
    asked_network,
    dest_of,
    field,
    on_regions,
)
from sugenet.cli.options import MOST_THREADS, integer_in, refuse_idle, samples_of, seconds, shared, typed
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, Group, UsageError, option
from sugenet.errors import SugenetError, refuse

if TYPE_CHECKING:
    from sugenet.sweeps import Results

__all__ = ["COMMANDS"]

_CLAIM = "a claim about all inputs is for sugenet verify"
_ELSEWHERE = {
    "--index": "a sweep is about all samples; --first N takes the first N",
    "--threads": "a worker has one thread; --jobs N sets the number of workers",
    "--chain": "it is for sugenet why",
    "--export": "it is for sugenet verify",
    "--limit": "it is for sugenet results",
    "--witness": "it is for sugenet whatif and sugenet verify",
    "--counterexample": "it is for sugenet verify",
    **dict.fromkeys(("--importance", "--resume", "--widest"), "it is for sugenet why"),
    **{f"--{name}": _CLAIM for name in ("always", "never", "monotone", "falling", "fair", "agree", "query")},
}
"""Options of the commands that ask about one sample, and the commands to which they belong."""

_REGISTER = {"ray": ("ray.util.joblib", "register_ray"), "spark": ("joblibspark", "register_spark")}
"""Backends that must be registered with joblib: module and function."""


def _pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise SugenetError(f"{text[:60]} is not KEY=VALUE")
    return key, int(value) if re.fullmatch("[0-9]{1,18}", value) else value


# -- what is asked -------------------------------------------------------------------------------------------

_QUESTIONS = (
    on_regions("region around each sample (verify, why, count)", " (default of why, count)"),
    Group("classes (verify, whatif, why)", CLASSES),
    Group("changes (whatif)", CHANGES),
    Group("answers", [field(name) for name in ("n", "minimal", "precision", "engine", "method")]),
)
"""Options of all questions."""


def _unset(group: Group) -> Group:
    """Return options whose default is None, so that given ones can be recognized.

    Their help names the default, and the questions to which they apply if the title does not.
    """
    rows = []
    for one in group.options:
        about, default = one.settings["help"], one.settings.get("default")
        if group.title == "answers":
            kinds = [kind for kind, asker in ASKERS.items() if dest_of(one.flags[0]) in asker.options]
            about = f"{', '.join(kinds)}: {about}"
        if default not in (None, []):
            about = f"{about} (default: {default})"
        rows.append(one.but(help=about, default=None))
    return Group(group.title, rows)


def _check(options: Namespace) -> None:
    """Refuse options that do not apply to the question, and set missing ones."""
    kind = ASKERS[options.ask]
    for group in _QUESTIONS:
        for one in group.options:
            name = dest_of(one.flags[0])
            if getattr(options, name) is None:
                setattr(options, name, one.settings.get("default", False if name == "any_input" else None))
            elif name not in kind.options:
                raise UsageError(f"{one.flags[0]} is not used by --ask {options.ask}. Leave it out.")
    kind.check(options)
    if options.ask == "predict":
        refuse_idle(options, ("law", "within", "retry"), "is not used by --ask predict. Leave it out.")
    refuse(
        UsageError,
        (options.output == "-", "-o needs a file, because results are not text. Give a path."),
        (
            "-" in (options.csv, options.parquet),
            "--csv and --parquet need a file here. To print a table: sugenet results FILE --csv -",
        ),
        (options.backend_option and options.backend is None, "--backend-option needs --backend."),
    )


# -- asking it -----------------------------------------------------------------------------------------------


def _run(options: Namespace, screen: Screen) -> int:
    _check(options)
    network = asked_network(options)
    X, truth = samples_of(options, network)
    if options.first is not None:
        if options.first > len(X):
            raise SugenetError(f"--first {options.first} is more than the {len(X)} samples.")
        X, truth = X[: options.first], None if truth is None else truth[: options.first]
    from sugenet.reason import each
    from sugenet.sweeps import sweep

    question, settings = asked(options.ask, options, network, each)
    how = {
        "store": options.output,
        "backend": options.backend,
        "backend_options": dict(options.backend_option),
        "jobs": options.jobs,
        "time_limit": options.time_limit,
        "total_time": options.total_time,
        "seed": options.seed,
        "retry": options.retry,
        "notify": screen.progress,
    }
    _register(options.backend)
    start = monotonic()
    try:
        results = announced(screen, lambda: sweep(network, X, question, y=truth, **how, **settings))
    except KeyboardInterrupt:
        screen.complain(_interrupted(options.output))
        return 130
    with results:
        return _show(options, screen, results, monotonic() - start)


def _register(backend: str | None) -> None:
    """Register a backend with joblib, as a program that uses it would."""
    if backend not in _REGISTER:
        return
    module, function = _REGISTER[backend]
    try:
        register = getattr(import_module(module), function)
    except ImportError:
        package = module.partition(".")[0]
        raise SugenetError(
            f"--backend {backend} needs {package}, which is not installed. Install it: pip install {package}"
        ) from None
    register()
    if backend == "ray":  # the cluster that RAY_ADDRESS names, or else one on this machine
        import_module("ray").init(ignore_reinit_error=True, logging_level="ERROR", log_to_driver=False)


def _interrupted(path: str) -> str:
    from sugenet.sweeps import read_results

    try:
        with read_results(path) as results:
            kept = f"{len(results)} of {results.samples} samples have an answer in {path}"
    except SugenetError:  # the file does not exist yet
        kept = "no sample has an answer yet"
    return f"interrupted: {kept}. Run the same command to resume."


def _show(options: Namespace, screen: Screen, results: Results, seconds: float) -> int:
    from sugenet.reprs import time_text

    tally = results.tally()
    lines = [tally.headline()]
    if tally.missing:
        left = f"{len(tally.missing)} of {tally.samples} samples have no answer"
        lines.append(f"time limit reached: {left}. Run the same command to resume.")
    if tally.undecided and options.time_limit is not None:
        lines.append("To ask again about undecided samples: --retry and a longer --time-limit.")
    for path, write in ((options.csv, results.write_csv), (options.parquet, results.write_parquet)):
        if path is not None:
            write(path)
            screen.tell(f"written to {path}")
    screen.say("\n".join(lines), {"results": options.output, "elapsed_seconds": seconds} | tally.data())
    screen.tell(f"done in {time_text(seconds)}; to see the answers: sugenet results {quote(options.output)}")
    return 3 if tally.missing or tally.undecided else 0


_WORKERS = Group(
    "workers",
    [
        option(
            "--jobs",
            type=integer_in(1, MOST_THREADS),
            metavar="N",
            help="number of workers (default: one per core)",
        ),
        option(
            "--backend",
            metavar="NAME",
            help="joblib backend, such as dask or ray (default: processes)",
        ),
        option(
            "--backend-option",
            type=typed(_pair),
            action="append",
            default=[],
            metavar="PAIR",
            help="KEY=VALUE for the backend; repeatable",
        ),
    ],
)

COMMANDS: Commands = {
    "sweep": Command(
        _run,
        "ask one question about every sample of a data set",
        [
            "sugenet sweep digits --ask verify --linf 1 -o results.db",
            "sugenet sweep digits --ask whatif --cost L1 --time-limit 10 -o costs.db",
        ],
        [
            *shared("model", "samples", "label_column", "delimiter"),
            option(
                "--ask",
                choices=list(ASKERS),
                required=True,
                metavar="WHAT",
                help="question about each sample",
            ),
            *shared(
                "output",
                output={
                    "required": True,
                    "help": "results file (created or resumed)",
                },
            ),
            option("--csv", metavar="FILE", help="also write one row per sample"),
            option("--parquet", metavar="FILE", help="also write one row per sample, as Parquet"),
            option("--first", type=integer_in(1, 1 << 40), metavar="N", help="only the first N samples"),
            *map(_unset, _QUESTIONS),
            DOMAIN,
            *shared("time_limit", time_limit={"help": "seconds per sample"}),
            option(
                "--total-time",
                type=typed(seconds),
                metavar="SECONDS",
                help="seconds for all samples; rerun to resume",
            ),
            option(
                "--retry",
                action="store_true",
                help="ask again about undecided samples",
            ),
            _WORKERS,
            *shared("seed", "json", "quiet"),
        ],
        _ELSEWHERE,
        {"index": None},
    ),
}
