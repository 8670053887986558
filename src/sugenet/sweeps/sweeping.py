"""Ask one question about every sample of a data set, with many workers and one results file: `sweep`."""

import os
import platform
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from sugenet import __version__
from sugenet.checker.form import exact
from sugenet.errors import FileError, QuestionError, SugenetError, refuse
from sugenet.frames import index_of
from sugenet.io.native.file import network_bytes
from sugenet.nn import Network, network_of
from sugenet.problem.clock import Clock
from sugenet.reason import ask, each, settings_of
from sugenet.reason.envelope import domain_data
from sugenet.reason.questions import Asked
from sugenet.sweeps.driving import Progress, drive
from sugenet.sweeps.interrupts import interrupted_once
from sugenet.sweeps.results import Results, read_results
from sugenet.sweeps.samples import DataSet, Row
from sugenet.sweeps.store import SAMPLES, Entry, Store, writing
from sugenet.sweeps.work import Task, here

__all__ = ["sweep"]

_TRIED = 20
"""Maximum number of samples for trying out a question, besides one of each class."""
_RANKS = {"undecided": 0, "found": 1}
"""Outcomes that are only partial answers. More time never makes the other outcomes worse."""


@interrupted_once()
def sweep(
    network: Network,
    X: Any,
    question: Asked,
    *,
    y: Any = None,
    store: str | os.PathLike[str] | None = None,
    backend: str | None = None,
    backend_options: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    time_limit: float | None = None,
    total_time: float | None = None,
    seed: int = 0,
    within: Any = None,
    retry: bool = False,
    notify: Callable[[str], None] | None = None,
    **settings: Any,
) -> Results:
    """Ask one question about every sample of a data set, and keep each answer as soon as it is found.

    If it is interrupted, run it again with the same file to resume.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    X : array or data frame
        Raw samples, as `predict` takes them.
    question : question
        A question with `each` in place of its sample: ``Robust(each, Linf(25))``, ``WhatIf(each)``,
        ``Why(each, Hamming(3))``, ``Count(each, Hamming(3))`` or ``Predict(each)``.
    y : array, default: None
        True classes, by name or index.
    store : str or Path, default: None
        Results file (created or resumed). It must be about the same network, samples, question, settings and
        seed. None: keep everything in memory.
    backend : str, default: None
        Backend of joblib. None: as configured there, else processes of this machine.
    backend_options : mapping, default: None
        Options of the backend, as `joblib.parallel_config` takes them.
    jobs : int, default: None
        How many samples to ask about at once. None: one per core. Each uses one thread.
    time_limit : float, default: None
        Seconds for each sample.
    total_time : float, default: None
        Seconds for all of them, after which the other samples have no answer.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    within : str, list of str or Domain, default: None
        Ask only about inputs that can occur: ``"data"`` for the range of the training data, ``"any"`` for
        any values, laws as text, or a `Domain`, as in `Network.within`. None: the domain of the network.
    retry : bool, default: False
        Ask again about samples that are not settled and had a shorter time limit.
    notify : callable, default: None
        Called with a sentence about the progress.
    settings : keyword arguments
        Settings of the verb that answers the question: ``engine``, ``n``, ``minimal``, ``method``, ...

    Returns
    -------
    Results
        Rows and answers.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.
    FileError
        If the results file is damaged, or about something else.

    Examples
    --------
    >>> from sugenet.data import digits, samples
    >>> from sugenet.reason import Hamming, Robust
    >>> X, y = samples("digits")
    >>> found = sweep(digits(), X[:4], Robust(each, Hamming(2)), y=y[:4], jobs=1)
    >>> [(row.sample, row.outcome) for row in found.rows()]
    [(0, 'refuted'), (1, 'proved'), (2, 'refuted'), (3, 'proved')]

    See Also
    --------
    read_results : reads a results file.
    """
    network = network_of(network).within(within)
    _check(question, jobs, total_time)
    clock = Clock(time_limit, None, seed)
    limit = None if clock.time_limit in (None, inf) else max(0.0, float(clock.time_limit or 0))
    asked = settings_of(question, **settings)
    samples = DataSet.of(network, X, y)
    too_many = f"{len(samples):,} samples are more than one results file takes, {SAMPLES:,}. Sweep parts."
    refuse(QuestionError, (len(samples) > SAMPLES, too_many))
    _try_out(network, question, samples, asked)
    about = {
        "network": network.fingerprint,
        "question": question.data(network),  # type: ignore[union-attr]  # no query: it has each
        **domain_data(network),
        "settings": asked,
        "seed": int(seed),
        "samples": len(samples),
        "data": samples.digest,
        "truths": samples.truths is not None,
        "time_limit": limit,
        "made": {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "sugenet": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }
    raw = network_bytes(network)
    kept, fresh = writing(store)
    try:
        if fresh:
            kept.begin(about, raw)
        else:
            _go_on(kept, about, samples, retry)
        known = {row.sample: row for row in kept.rows()}
        pending = [sample for sample in range(len(samples)) if _is_open(known.get(sample), about, retry)]
        progress = Progress(len(samples), Counter(row.outcome for row in known.values()), notify)
        job = Task(sha256(raw).hexdigest(), question, asked, limit, int(seed), here())

        def better(entry: Entry) -> Entry:
            return _better(kept, known.get(entry.row.sample), entry, progress)

        with progress.told():
            if pending:
                drive(
                    job,
                    raw,
                    samples,
                    pending,
                    kept,
                    progress,
                    backend=backend,
                    options=dict(backend_options or {}),
                    jobs=jobs,
                    total_time=total_time,
                    keep=better,
                )
    except BaseException:
        kept.close()
        raise
    if kept.path is None:
        results = Results(kept, network)
    else:
        kept.close()
        results = read_results(kept.path, network)
    results.index = index_of(X)
    return results


def _check(question: Any, jobs: int | None, total_time: float | None) -> None:
    refuse(
        QuestionError,
        (
            getattr(question, "sample", None) is not each,
            "the question must be about each sample: write each in its place, as in "
            "Robust(each, Hamming(2)).",
        ),
        (
            jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0),
            f"jobs={jobs!r} must be a number of workers, or -1 for one a core.",
        ),
        (
            total_time is not None
            and (isinstance(total_time, bool) or not isinstance(total_time, Real) or not total_time >= 0),
            f"total_time={total_time!r} must be a number of seconds, 0 or more.",
        ),
    )


def _try_out(network: Network, question: Any, samples: DataSet, asked: Mapping[str, Any]) -> None:
    """Ask the question for some samples, with no time to answer, until it makes sense for one.

    A question that never makes sense, or a wrong setting, is thus refused at once.
    """
    by_class = np.unique(samples.labels, return_index=True)[1].tolist()
    spread = np.linspace(0, len(samples) - 1, _TRIED).astype(int).tolist()
    refused: SugenetError | None = None
    for sample in dict.fromkeys([*by_class, *spread]):
        try:
            ask(network, question.about(samples.values(sample)), time_limit=0.0, threads=1, **asked)
        except SugenetError as error:
            refused = refused or error
        else:
            return
    assert refused is not None
    raise refused


# -- going on ------------------------------------------------------------------------------------------------


def _go_on(store: Store, about: dict[str, Any], samples: DataSet, retry: bool) -> None:
    """Refuse a file about something else, naming the difference; adopt a longer time limit."""
    store.inspect()
    Results(store).rows()
    before = store.about()
    wrong = _difference(store, before, about, samples)
    refused = f"{store.name} cannot be gone on with: {wrong} Give another file for this sweep."
    refuse(FileError, (wrong is not None, refused))
    was, now = before["time_limit"], about["time_limit"]
    if was == now:
        return
    refuse(
        FileError,
        (
            not retry,
            f"{store.name} was made with {_limit(was)}, not {_limit(now)}. Give the same, or ask for a retry "
            f"of the undecided with a longer one.",
        ),
        (
            (inf if now is None else now) < (inf if was is None else was),
            f"a retry needs more time: {store.name} was made with {_limit(was)} already.",
        ),
    )
    store.amend(before | {"time_limit": now})


def _difference(
    store: Store, before: Mapping[str, Any], about: Mapping[str, Any], samples: DataSet
) -> str | None:
    if before["network"] != about["network"]:
        return f"it is about the network {before['network'][:12]}, not about {about['network'][:12]}."
    if before["question"] != about["question"]:
        was, now = before["question"], about["question"]
        name = next(name for name in ("kind", *was, *now) if was.get(name) != now.get(name))
        return f"its question has the {name} {_short(was.get(name))}, not {_short(now.get(name))}."
    if before.get("domain") != about.get("domain"):
        return "it is about other inputs that can occur: its limits or laws are not the same."
    for name in ("settings", "seed"):
        if before[name] != about[name]:
            verb = "is" if name == "seed" else "are"
            return f"its {name} {verb} {_short(before[name])}, not {_short(about[name])}."
    if before["samples"] != about["samples"]:
        return f"it is about {before['samples']} samples, not about {about['samples']}."
    if before["data"] != about["data"]:
        other = next((i for i, known in store.hashes() if samples.hashes[i] != known), None)
        if other is not None:
            return f"it is about other samples: sample {other} is another one."
        if before["truths"] != about["truths"]:
            return f"it was made with{'' if before['truths'] else 'out'} true classes."
        return "it is about other samples, or other true classes."
    return None


def _short(value: Any) -> str:
    text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _limit(seconds: float | None) -> str:
    return "no time limit" if seconds is None else f"a time limit of {seconds:g} s"


def _is_open(row: Row | None, about: Mapping[str, Any], retry: bool) -> bool:
    """Return whether a sample has to be asked about."""
    if row is None:
        return True
    if not retry or row.settled:
        return False
    had, has = (inf if limit is None else limit for limit in (row.time_limit, about["time_limit"]))
    return had < has


def _better(store: Store, before: Row | None, entry: Entry, progress: Progress) -> Entry:
    """Choose what to keep of a new answer: of two unsettled ones, not the less informative."""
    if before is None:
        return entry
    progress.replaced(before.outcome)
    if entry.row.settled or not _says_less(entry.row, before):
        return entry
    packed = store.packed(before.sample)
    return Entry(replace(before, time_limit=entry.row.time_limit), entry.hash, packed)


def _says_less(new: Row, old: Row) -> bool:
    """Return whether the new one of two unsettled rows is worse in something and better in nothing.

    It is worse if its outcome is lower, or if the outcome is the same with a larger cost or a smaller lower
    bound.
    """
    ranks = [_RANKS.get(row.outcome, 2) for row in (new, old)]
    if ranks[0] != ranks[1]:
        return ranks[0] < ranks[1]
    ends = [(-exact(row.cost or "0"), exact(row.lower or "0")) for row in (new, old)]
    return ends[0] != ends[1] and all(mine <= its for mine, its in zip(*ends, strict=True))
