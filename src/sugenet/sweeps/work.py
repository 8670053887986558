"""The work of one worker: a few samples of a sweep, one after another, on one thread.

A worker keeps the networks that it has received, so each is sent once. It is called without a network, and
replies if it does not have it. It returns samples that would hold up the others.
"""

import json
import multiprocessing
import os
import socket
import threading
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import log2
from time import monotonic
from typing import Any

from sugenet import __version__
from sugenet.errors import SugenetError, refuse
from sugenet.io.native.file import network_from
from sugenet.nn import Network
from sugenet.orphans import end_with_parent
from sugenet.problem import plain, sets_within
from sugenet.reason import ask, is_settled
from sugenet.reason.rechecking import is_checkable
from sugenet.sweeps.interrupts import deaf, loud
from sugenet.sweeps.samples import REFUSALS, REFUSED, Row, hash_of
from sugenet.sweeps.store import LARGEST, Entry

__all__ = ["Chunk", "Done", "Task", "do", "here"]

_BUDGET = 1.0
"""Seconds after which a worker returns the samples that it has not started."""
_DEAR = 0.25
"""Seconds from which the size of a question is worth computing."""
_WARM_UP = 0.5
"""Maximum seconds of the first question in a process, besides compiling."""
_KEPT = 4
_networks: dict[str, Network] = {}
_warm: set[str] = set()
_guard = threading.Lock()


@dataclass(frozen=True)
class Task:
    """The common part of all samples of a sweep."""

    fingerprint: str
    """Digest of the network file, which also says which inputs can occur."""
    question: Any
    """The question, with `each` in place of the sample."""
    settings: dict[str, Any]
    time_limit: float | None
    seed: int
    driver: tuple[str, int]
    """Machine name and process id of the driver."""
    version: str = __version__


@dataclass(frozen=True)
class Chunk:
    """Some samples: index, raw values, predicted class, true class."""

    samples: tuple[tuple[int, list[Any], int, int | None], ...]
    dear: float | None = None
    """Return samples that allow this many changes (as a power of two) or more, unless one is alone."""


@dataclass(frozen=True)
class Done:
    """The results of a chunk."""

    entries: tuple[Entry, ...] = ()
    sizes: Mapping[int, float | None] = field(default_factory=dict)
    """Number of changes allowed, as a power of two, for samples that needed it."""
    back: tuple[tuple[int, float | None], ...] = ()
    """Samples that were not started, with their sizes."""
    failed: tuple[tuple[int, str], ...] = ()
    """Samples without an answer, and the reasons."""
    cold: bool = False
    """Whether it was the first chunk of its job in this process, which had to load or compile."""
    unknown: tuple[int, ...] = ()
    """All samples of the chunk, if nothing was done because the network is not known here."""


def here() -> tuple[str, int]:
    """Return the name of this machine and the id of this process."""
    return socket.gethostname(), os.getpid()


def do(job: Task, chunk: Chunk, network: bytes | None = None) -> Done:
    """Ask about the samples of a chunk, cheapest first."""
    refuse(
        SugenetError,
        (
            job.version != __version__,
            f"a worker runs sugenet {__version__}, but the sweep was started by {job.version}. "
            f"Install the same version everywhere.",
        ),
    )
    known = _known(job.fingerprint, network)
    if known is None:
        return Done(unknown=tuple(sample for sample, *_ in chunk.samples))
    away = here() != job.driver
    parent = multiprocessing.parent_process()
    if parent is not None and job.driver == (socket.gethostname(), parent.pid):  # not on a cluster
        end_with_parent()
    cold = job.fingerprint not in _warm
    _warm.add(job.fingerprint)
    with deaf() if away else loud() as stopped:
        if cold and job.time_limit is not None:
            _warm_up(job, chunk, known)
            cold = False
        return replace(_answers(job, chunk, known, stopped), cold=cold)


def _known(fingerprint: str, raw: bytes | None) -> Network | None:
    with _guard:
        if fingerprint not in _networks and raw is not None:
            network = network_from(raw)
            network.packed()
            while len(_networks) >= _KEPT:
                del _networks[next(iter(_networks))]
            _networks[fingerprint] = network
        return _networks.get(fingerprint)


def _warm_up(job: Task, chunk: Chunk, network: Network) -> None:
    """Load or compile what a first question needs, so that it does not use up a sample's time."""
    _, values, _, _ = chunk.samples[0]
    with suppress(Exception):  # errors are reported when the question is asked
        limit = min(job.time_limit or 0.0, _WARM_UP)
        ask(network, job.question.about(values), time_limit=limit, threads=1, seed=job.seed, **job.settings)


def _answers(job: Task, chunk: Chunk, network: Network, stopped: list[int]) -> Done:
    start = monotonic()
    sizes: dict[int, float | None] = {}
    order = list(chunk.samples)
    if chunk.dear is not None and len(order) > 1:
        sizes = {sample: _size(network, job.question, values) for sample, values, _, _ in order}
        order.sort(key=lambda one: (sizes[one[0]] or 0.0, one[0]))
    entries: list[Entry] = []
    failed: list[tuple[int, str]] = []
    for index, (sample, values, label, truth) in enumerate(order):
        size = sizes.get(sample)
        dear = chunk.dear is not None and size is not None and size >= chunk.dear
        if dear or (index and monotonic() - start >= _BUDGET):
            back = tuple((number, sizes.get(number)) for number, *_ in order[index:])
            return Done(tuple(entries), sizes, back, tuple(failed))
        try:
            entry = _entry(job, network, sample, values, label, truth)
        except Exception as error:  # an error of this worker, or a bug: the other samples continue
            is_told = isinstance(error, SugenetError)
            failed.append((sample, str(error) if is_told else f"{type(error).__name__}: {error}"))
            continue
        if stopped:
            raise KeyboardInterrupt
        entries.append(entry)
        if sample not in sizes and entry.row.seconds >= _DEAR:
            sizes[sample] = _size(network, job.question, values)
    return Done(tuple(entries), sizes, (), tuple(failed))


def _size(network: Network, question: Any, values: list[Any]) -> float | None:
    """Return the number of changes that a question allows, as a power of two: its cost grows with it."""
    near = getattr(question, "near", None)
    if near is None:
        return None
    try:
        return log2(sets_within(question.about(values).near(network)))
    except Exception:  # errors are reported when the question is asked
        return None


def _entry(
    job: Task, network: Network, sample: int, values: list[Any], label: int, truth: int | None
) -> Entry:
    start = monotonic()
    try:
        answer: Any = ask(
            network,
            job.question.about(values),
            time_limit=job.time_limit,
            threads=1,
            seed=job.seed,
            **job.settings,
        )
    except REFUSALS as error:  # the question makes no sense for this sample
        asked = {"sample": [plain(value) for value in values]}
        data = {"outcome": REFUSED, "reason": str(error), "question": asked}
        outcome, settled, certified, engine, seconds = REFUSED, True, False, None, 0.0
    else:
        seconds, data = monotonic() - start, answer.data()
        outcome, settled = answer.outcome, is_settled(answer, **job.settings)
        certified, engine = is_checkable(answer), getattr(answer, "engine", None)
    cost, lower = (part if isinstance(part, str) else None for part in map(data.get, ("cost", "lower")))
    limit = None if job.time_limit is None else float(job.time_limit)
    row = Row(
        sample, label, truth, outcome, settled, certified, engine, seconds, limit, cost, lower, __version__
    )
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    refuse(
        SugenetError,
        (
            len(text) > LARGEST,
            f"its answer has {len(text) >> 20:,} MiB, but a results file keeps at most {LARGEST >> 20}",
        ),
    )
    return Entry(row, hash_of(values), zlib.compress(text.encode()))
