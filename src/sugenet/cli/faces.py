"""Commands that write or serve pages: report, page, serve; and warm-up."""

from __future__ import annotations

import os
from argparse import Namespace
from contextlib import closing
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any

from sugenet.cli.asking import DOMAIN, announced, asked_network, how
from sugenet.cli.options import (
    SAMPLE,
    WORK,
    chosen_sample,
    integer_in,
    is_shipped,
    refuse_idle,
    samples_of,
    shared,
    title_of,
)
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, UsageError, option
from sugenet.visible import visible

if TYPE_CHECKING:
    from sugenet.nn import Network

__all__ = ["COMMANDS", "without_times"]

_ANSWER = 1 << 26
"""Maximum number of bytes of an answer about several samples."""
_SECONDS = "30"
"""Default seconds for all questions of a page together."""


def _write_report(options: Namespace, screen: Screen) -> int:
    if options.results is not None and not options.interactive:
        raise UsageError(
            "--results needs --interactive. For a page to read: "
            f"sugenet results {quote(options.results)} --html {quote(options.output)}"
        )
    if options.overview and not options.interactive:
        raise UsageError(
            "--overview needs --interactive. For a page to read: sugenet overview MODEL --html FILE"
        )
    network = asked_network(options)
    make = _interactive if options.interactive else _static
    page: str = announced(screen, lambda: make(options, screen, network, *_samples(options, network)))
    about = {"interactive": options.interactive, "fingerprint": network.fingerprint}
    return _written(options, screen, page, about)


def _write_empty(options: Namespace, screen: Screen) -> int:
    from sugenet.web import empty_page

    return _written(options, screen, empty_page(), {})


def _written(options: Namespace, screen: Screen, page: str, about: dict[str, Any]) -> int:
    if options.output == "-":
        screen.put(page)
        return 0
    from sugenet.files import write_text

    write_text(options.output, page)
    size = len(page.encode())
    return screen.say(
        f"written to {visible(options.output)}: one file of {size / 1000:,.0f} kB that opens in any browser",
        {"output": options.output, "bytes": size, **about},
    )


def _samples(options: Namespace, network: Network) -> tuple[Any, Any]:
    """Return the samples of the options; a results file has its own."""
    if options.results is not None and options.samples is None:
        if options.label_column is not None:
            raise UsageError("--label-column needs SAMPLES: the results file has its own classes.")
        refuse_idle(options, ["delimiter"], "needs SAMPLES: the results file has its own.")
        return None, None
    return samples_of(options, network)


def _static(options: Namespace, screen: Screen, network: Network, X: Any, truth: Any) -> str:
    from sugenet.show import report

    index = chosen_sample(options, X)
    known = None if truth is None else int(truth[index])
    name = os.path.basename(options.model)  # as it must be written to check a certificate
    about: dict[str, Any] = {"truth": known, "index": index, "title": name}
    composed = _composed(options, network)
    return report(network, X[index], **about, composed=composed, **how(options, screen))


def _interactive(options: Namespace, screen: Screen, network: Network, X: Any, truth: Any) -> str:
    from sugenet.web import page_html, payload
    from sugenet.web.asking import precompute
    from sugenet.web.composites import composed_data, overview_data

    title = title_of(options.model)
    more: dict[str, Any] = {"composed": composed_data(_composed(options, network))}
    seen = _overview(options, screen, network, X, truth)
    if seen is not None:
        more["overview"] = overview_data(seen)
    if options.results is None:
        index = chosen_sample(options, X)
        answers = without_times(precompute(network, X[index], **how(options, screen)))
        data = payload(network, X, truth, title=title, index=index, answers=answers)
        return page_html(data | more, server=False)
    from sugenet.web.results import Shelf, with_results

    with closing(Shelf(options.results, network)) as shelf:
        asked = shelf.asked()
        about: dict[str, Any] = {"title": title, "index": options.index, "server": False, "network": asked}
        data = shelf.ask(lambda file: with_results(file, X, truth, **about))
    shown = data["samples"][data["start"]]
    if shown["index"] is not None:
        data["answers"] = without_times(precompute(asked, shown["values"], **how(options, screen)))
    for note in data["results"]["notes"]:
        screen.tell(f"note: {note}")
    return page_html(data | more, server=False)


def _overview(options: Namespace, screen: Screen, network: Network, X: Any, truth: Any) -> Any:
    """Return an overview of the network if the options ask for one."""
    if not options.overview:
        return None
    from sugenet.glance import overview

    return overview(network, X, truth, notify=screen.progress)


def _composed(options: Namespace, network: Network) -> list[Any]:
    """Return the answers about several samples that the options name."""
    if not options.answer:
        return []
    from sugenet.io.plain.texts import read_json
    from sugenet.logic import answer_of

    return [answer_of(read_json(path, _ANSWER), network) for path in options.answer]


def without_times(data: Any) -> Any:
    """Return answers as JSON data without their times, so that a page is the same in every run.

    Examples
    --------
    >>> without_times([{"outcome": "proved", "seconds": 0.1}])
    [{'outcome': 'proved'}]
    """
    if isinstance(data, dict):
        return {name: without_times(value) for name, value in data.items() if name != "seconds"}
    return [without_times(value) for value in data] if isinstance(data, list) else data


def _run_server(options: Namespace, screen: Screen) -> int:
    from sugenet.web import serve

    network = asked_network(options)
    has_samples = options.samples is not None or options.results is not None or is_shipped(options.model)
    if not has_samples:
        refuse_idle(options, ["index", "label_column", "delimiter"], "needs SAMPLES, and none are given.")
    X, truth = _samples(options, network) if has_samples else (None, None)
    serve(
        network,
        X,
        truth,
        title=title_of(options.model),
        index=options.index,
        host=options.host,
        port=options.port,
        open_browser=options.open,
        # the link is printed even with --quiet
        notify=partial(print, flush=True) if options.quiet and not options.no_token else screen.tell,
        results=options.results,
        token=not options.no_token,
        allow_hosts=options.allow_host,
        composed=_composed(options, network),
        seen=announced(screen, lambda: _overview(options, screen, network, X, truth)),
    )
    return 0


def _warm(_options: Namespace, screen: Screen) -> int:
    from sugenet import data
    from sugenet.show.warming import warm_up

    models = [(getattr(data, name)(), data.samples(name)[0][7]) for name in ("digits", "breast_cancer")]
    done = warm_up(models, screen.progress)
    return screen.say(str(done), done.data())


_PAGE = {"required": True, "help": "write the page to FILE, or - for standard output"}
_RESULTS = option(
    "--results",
    metavar="FILE",
    help="also show the results file of a sweep",
)

_ANSWERS = option(
    "--answer",
    action="append",
    default=[],
    metavar="FILE",
    help="also show an answer about several samples; repeatable",
)

_OVERVIEW = option("--overview", action="store_true", help="also show the whole network (up to a minute)")

COMMANDS: Commands = {
    "warm-up": Command(
        _warm,
        "compile all kernels now, once for this machine",
        ["sugenet warm-up"],
        shared("json", "quiet"),
    ),
    "report": Command(
        _write_report,
        "write one HTML page about a sample",
        [
            "sugenet report digits --index 7 -o report.html",
            "sugenet report digits --index 7 --interactive -o explorer.html",
            "sugenet report digits --results results.db --interactive -o explorer.html",
        ],
        [
            *shared(
                *SAMPLE,
                "output",
                output=_PAGE,
            ),
            option(
                "--interactive",
                action="store_true",
                help="a page to click, not one to print",
            ),
            _RESULTS,
            _ANSWERS,
            _OVERVIEW,
            DOMAIN,
            *shared(*WORK, time_limit={"default": _SECONDS}),
        ],
    ),
    "page": Command(
        _write_empty,
        "write a page that opens model files in the browser",
        ["sugenet page -o sugenet.html"],
        shared("output", "json", "quiet", output=_PAGE),
    ),
    "serve": Command(
        _run_server,
        "explore a model in the browser, on this machine only",
        ["sugenet serve digits --index 7 --open", "sugenet serve digits --results results.db --open"],
        [
            *shared(*SAMPLE, index={"help": "sample to show first, from 0"}),
            option(
                "--host",
                default="127.0.0.1",
                metavar="HOST",
                help="address to listen on",
            ),
            option(
                "--port",
                type=integer_in(0, 65535),
                default=8765,
                metavar="PORT",
                help="port to listen on; 0 picks a free one",
            ),
            option("--open", action="store_true", help="open the page in a browser"),
            option("--no-token", action="store_true", help="accept requests without a token"),
            option(
                "--allow-host",
                action="append",
                default=[],
                metavar="NAME",
                help="another host name, as NAME or NAME:PORT; repeatable",
            ),
            _RESULTS,
            _ANSWERS,
            _OVERVIEW,
            DOMAIN,
            *shared("quiet"),
        ],
    ),
}
