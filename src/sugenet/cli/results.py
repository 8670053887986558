"""``sugenet results``: show, export and check the answers of a sweep."""

from __future__ import annotations

import os
from argparse import Namespace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import announced, asked_among, keep_certificate
from sugenet.cli.options import integer_in, network_of, number, refuse_idle, shared, typed
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, Group, UsageError, option
from sugenet.errors import SugenetError, refuse
from sugenet.visible import visible

if TYPE_CHECKING:
    from sugenet.sweeps import AccuracyCurve, CheckedResults, Results

__all__ = ["COMMANDS"]

_OF_ONE = ("csv", "parquet", "sample")
"""Outputs that use only one file."""


def _share(text: str) -> Any:
    is_percent = text.endswith("%")
    try:
        share = Fraction(number(text.removesuffix("%"))) / (100 if is_percent else 1)
    except SugenetError:
        raise SugenetError(f"{text[:60]} is not a share such as 0.1, 1/10 or 10%. Put files first") from None
    if not 0 < share <= 1:
        raise SugenetError(f"{text[:60]} must be above 0 and at most 1")
    return share


def _radii(text: str) -> list[Any]:
    return [number(part) for part in text.split(",")]


def _check_usage(options: Namespace) -> None:
    """Refuse options that do not apply."""
    needs = {"radii": "curve", "output": "sample", "jobs": "check", "time_limit": "check", "seed": "check"}
    for name, needed in needs.items():
        flag = "-o" if name == "output" else f"--{name.replace('_', '-')}"
        refuse(
            UsageError,
            (
                getattr(options, name) is not None and not asked_among(options, (needed,)),
                f"{flag} needs --{needed}.",
            ),
        )
    several, one_sample = len(options.files) > 1, options.sample is not None
    other = asked_among(options, ("check", "curve", "csv", "parquet", "svg", "html"))
    alone = asked_among(options, _OF_ONE)
    refuse(UsageError, (one_sample and other, f"give --sample or --{''.join(other[:1])}, not both."))
    refuse_idle(options, ["limit"] * one_sample, "is not used by --sample. Leave it out.")
    refuse(
        UsageError,
        (
            several and alone,
            f"--{''.join(alone[:1])} takes one results file, not {len(options.files)}.",
        ),
        (
            several and options.svg is not None and not options.curve,
            "--svg takes one results file, or --curve.",
        ),
    )


def _show_results(options: Namespace, screen: Screen) -> int:
    _check_usage(options)
    from sugenet.sweeps import read_results

    network = None if options.model is None else network_of(options.model)
    opened: list[Results] = []
    try:
        for file in options.files:
            opened.append(read_results(file, network))
        if options.sample is not None:
            return _show_sample(options, screen, opened[0])
        return _show_files(options, screen, opened)
    finally:
        for results in opened:
            results.close()


def _show_sample(options: Namespace, screen: Screen, results: Results) -> int:
    answer = results.answer(options.sample)
    from sugenet.reason.rechecking import certificates_of

    certificates = certificates_of(answer)
    keep_certificate(options, screen, certificates[0] if certificates else None, "the answer has none")
    data = {"sample": options.sample, **answer.data()}
    return screen.say(answer.said(screen.mark), data, beside=options.output == "-" and bool(certificates))


def _show_files(options: Namespace, screen: Screen, opened: list[Results]) -> int:
    parts: list[str] = []
    entries: list[dict[str, Any]] = []
    curve, code = _curve(options, opened), 0
    for name, results in zip(options.files, opened, strict=True):
        tally = results.tally()
        entry = {"file": name, **_about(results), **tally.data()}
        if curve is None or len(opened) == 1:
            parts.append(f"{visible(os.path.basename(name))}: {tally.text(options.limit)}")
        if options.check is not None:
            done = _checked(options, screen, results)
            entry["check"] = done.data()
            parts.append(f"{visible(os.path.basename(name))}: {done}" if len(opened) > 1 else str(done))
            code = max(code, {True: 0, None: 1, False: 2}[done.holds])
        entries.append(entry)
    data: dict[str, Any] = {"files": entries}
    if curve is not None:
        parts.append(str(curve))
        data["curve"] = curve.data()
    to_output = _write(options, screen, opened, curve)
    screen.say("\n\n".join(parts), data, beside=to_output)
    return (0, 3, 1)[code]


def _checked(options: Namespace, screen: Screen, results: Results) -> CheckedResults:
    how = {"seed": options.seed or 0, "jobs": options.jobs, "notify": screen.progress}
    if options.time_limit is not None:
        how["time_limit"] = options.time_limit
    done: CheckedResults = announced(screen, lambda: results.check(options.check, **how))
    return done


def _about(results: Results) -> dict[str, Any]:
    return {
        "network": results.network.fingerprint,
        "settings": results.settings,
        "seed": results.seed,
        "time_limit": results.time_limit,
        "made": results.made,
    }


def _curve(options: Namespace, opened: list[Results]) -> AccuracyCurve | None:
    if not options.curve:
        return None
    from sugenet.sweeps.curve import curve_of

    return curve_of(opened, options.radii)


def _write(options: Namespace, screen: Screen, opened: list[Results], curve: AccuracyCurve | None) -> bool:
    """Write the files of the options; return whether something went to standard output."""
    first = opened[0]
    texts = {}
    if options.csv is not None:
        from sugenet.sweeps.results import csv_text

        texts[options.csv] = csv_text(first.columns())
    if options.svg is not None:
        from sugenet.show.drawings import drawing
        from sugenet.show.svg_writer import svg

        texts[options.svg] = svg(drawing(first if curve is None else curve).figures[0]) + "\n"
    if options.html is not None:
        from sugenet.show import report_results

        names = [os.path.basename(file) for file in options.files]
        texts[options.html] = report_results(opened, names, curve=curve, notify=screen.progress)
    if options.parquet is not None:
        first.write_parquet(options.parquet)
        screen.tell(f"written to {options.parquet}")
    for path, text in texts.items():
        screen.write(path, text)
    return "-" in texts


COMMANDS: Commands = {
    "results": Command(
        _show_results,
        "show, check or export the results of a sweep",
        [
            "sugenet results results.db --check",
            "sugenet results linf8.db linf16.db linf25.db --curve --svg curve.svg",
        ],
        [
            option("files", metavar="FILE", nargs="+", help="results file of sugenet sweep"),
            option(
                "--check",
                nargs="?",
                const=1,
                type=typed(_share),
                metavar="[SHARE]",
                help="check all certificates, or a SHARE such as 0.1",
            ),
            option(
                "--curve",
                action="store_true",
                help="certified accuracy by radius",
            ),
            option(
                "--radii",
                type=typed(_radii),
                metavar="R,R,...",
                help="radii of the curve, for a whatif sweep",
            ),
            option(
                "--sample",
                type=integer_in(None),
                metavar="I",
                help="show the answer about sample I, from 0",
            ),
            Group(
                "write",
                [
                    option("--csv", metavar="FILE", help="one row per sample, or - for standard output"),
                    option("--parquet", metavar="FILE", help="one row per sample, as Parquet"),
                    option("--svg", metavar="FILE", help="figure of the curve, or of the times"),
                    option("--html", metavar="FILE", help="a page with tables and figures"),
                    *shared("output", output={"help": "with --sample: write its certificate to FILE"}),
                ],
            ),
            option("--model", metavar="MODEL", help="network that the results must be about"),
            *shared("limit", limit={"default": 5, "help": "samples to list"}),
            option(
                "--jobs",
                type=integer_in(1, 1024),
                metavar="N",
                help="with --check: processes (default: one per core)",
            ),
            *shared(
                "time_limit",
                "seed",
                "json",
                "quiet",
                time_limit={"help": "with --check: seconds per certificate (default: 600)"},
                seed={"default": None, "help": "with --check: seed of the share (default: 0)"},
            ),
        ],
    ),
}
