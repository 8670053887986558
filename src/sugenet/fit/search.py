"""Choosing sizes, cuts and settings by cross-validation within a time limit: successive halving over a list.

Every candidate is scored on a part of the samples that it has not learned from. The better half is scored on
further parts, until one is left. Test samples take no part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.settings import Epoch, Settings
from sugenet.nn import Encoder, Network
from sugenet.reprs import Sentences

__all__ = ["CANDIDATES", "Candidate", "Search", "check_searchable", "search"]

_FOLDS = 5
_ROUNDS: tuple[tuple[tuple[int, ...], int], ...] = (((0,), 4000), ((1, 2), 16000), ((3, 4), 64000))
"""Folds of each round, and the most samples that a network learns from in it."""
_FEW_ROUNDS: tuple[tuple[tuple[int, ...], int], ...] = (((0, 1, 2), 4000), ((3, 4), 4000))
_FEW = 1500  # samples: one fold of fewer does not tell candidates apart
_NEAR = 0.5  # standard errors by which scores hardly differ
_SHARE = 0.7  # of the time is for the search, the rest for the final training
_WIDEST = 6000  # bits that the cuts of numbers may give


@dataclass(frozen=True)
class Candidate:
    """Sizes, cuts per number, and settings that differ from the defaults."""

    hidden: tuple[int, ...] | None
    cuts: int
    changed: tuple[tuple[str, Any], ...]

    def settings(self, base: Settings) -> Settings:
        """Return the settings of a run; all samples are for learning, since other folds score it."""
        return replace(base, validation_share=0.0, **dict(self.changed))

    def __str__(self) -> str:
        sizes = "" if self.hidden is None else f"hidden={self.hidden}, "
        return f"{sizes}cuts={self.cuts}, " + ", ".join(f"{name}={value}" for name, value in self.changed)


def _candidate(hidden: tuple[int, ...] | None, cuts: int, **changed: Any) -> Candidate:
    return Candidate(hidden, cuts, tuple(changed.items()))


CANDIDATES = (
    _candidate(None, 32, depth=1, epochs=200),
    _candidate(None, 32, depth=3, epochs=30),
    _candidate((32,), 8, levels=4, weight_bits=4, noise=0.1, epochs=30),
    _candidate((16,), 4, sparsity=0.5, epochs=40),
    _candidate(None, 32, depth=2, epochs=80),
    _candidate(None, 32, depth=3, epochs=80),
    _candidate((64, 32), 16, levels=4, weight_bits=4, epochs=40),
    _candidate(None, 100, depth=5, epochs=60),
)
"""The candidates, in the order in which they are tried.

If the time is short, the first ones count, and an earlier one wins if scores hardly differ.
"""
_FEWEST = min(one.cuts for one in CANDIDATES)
_CHOSEN = {"validation_share", "patience", *(name for one in CANDIDATES for name, _ in one.changed)}


@dataclass(frozen=True)
class Trial:
    """A candidate, the folds that scored it, and its score."""

    candidate: Candidate
    folds: int
    score: float

    def __str__(self) -> str:
        return f"{self.score:.2%} on {self.folds} of {_FOLDS} folds: {self.candidate}"


@dataclass(frozen=True)
class Search(Sentences):
    """The candidates that were tried, the chosen one first."""

    trials: tuple[Trial, ...]
    complete: bool
    """Whether every round ended. If the time ended the search before, a faster machine may choose another."""
    skipped: int = 0
    """Number of candidates that were not tried: the settings or the data do not fit, or the time was over."""

    def __str__(self) -> str:
        ended = "" if self.complete else "; the time limit or Ctrl-C ended the search, so a rerun may differ"
        skipped = f"; {self.skipped} not tried" if self.skipped else ""
        head = f"tried {len(self.trials)} candidates, scored by the mean of accuracy and balanced accuracy"
        first, *others = self.trials
        return "\n".join(
            [f"{head}{skipped}{ended}", f"  chosen {first}", *(f"         {one}" for one in others)]
        )


class _OutOfTime(Exception):  # noqa: N818
    """The time of the search is over."""


def check_searchable(hidden: Any, encoder: Any, checkpoint: Any, settings: Settings) -> None:
    """Refuse what a search would choose by itself."""
    given = [name for name in sorted(_CHOSEN) if getattr(settings, name) != getattr(Settings(), name)]
    others = {"hidden": hidden, "encoder": encoder, "checkpoint": checkpoint}
    given += [name for name, value in others.items() if value is not None]
    if given:
        raise SugenetError(
            f"minutes= searches for good sizes, cuts and settings, so {given[0]}= has no effect. Leave "
            "one of them out."
        )


def search(
    rows: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    minutes: float,
    learn: Callable[[int], Encoder],
    run: Callable[[npt.NDArray[np.intp], Candidate, Encoder, Callable[[Epoch], None]], Network],
    settings: Settings,
    clock: Callable[[], float],
) -> Search:
    """Choose a candidate by cross-validation.

    Parameters
    ----------
    rows, labels
        Samples and class indices, without test samples.
    minutes
        Time limit, which also leaves time for a final training.
    learn
        Returns the encoder with this number of cuts per numeric feature.
    run
        Trains a candidate on some of the samples, with an encoder, and calls the progress after every epoch.
    settings
        Settings that candidates change; its seed also determines the folds.
    clock
        Returns the time in seconds.

    Returns
    -------
    Search
        The chosen candidate is that of its first trial. Equal seeds and data give equal searches, unless the
        time ends one.

    Raises
    ------
    SugenetError
        If `minutes` is not positive, or no candidate fits.
    """
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes < float("inf"):
        raise SugenetError(f"minutes={minutes!r} must be a positive number, such as 2.")
    end, rng, learned = (
        clock() + 60 * minutes * _SHARE,
        np.random.default_rng([settings.seed, 4]),
        cache(learn),
    )
    fold_of = np.empty(len(labels), np.int64)
    for kind in np.unique(labels):
        found = rng.permutation(np.flatnonzero(labels == kind))
        fold_of[found] = np.arange(len(found)) % _FOLDS
    order = rng.permutation(len(labels))
    answers: dict[Candidate, npt.NDArray[np.int64]] = {}
    folds: dict[Candidate, int] = {}
    left, complete, wrong = [one for one in CANDIDATES if _fits(one, settings)], True, None

    def watch(_: Epoch) -> None:
        if clock() > end and answers:
            raise _OutOfTime

    def score(candidate: Candidate) -> float:
        return _score(labels, answers[candidate])

    try:
        for tested, most in _FEW_ROUNDS if len(labels) < _FEW else _ROUNDS:
            for candidate in list(left):
                encoder = learned(candidate.cuts)
                got = answers.get(candidate, np.full(len(labels), -1)).copy()
                try:
                    if encoder.width > _WIDEST and candidate.cuts > _FEWEST:
                        raise EncodingError(f"cuts={candidate.cuts} gives {encoder.width} bits.")
                    for fold in tested:
                        inside, outside = (
                            order[part][:most] for part in (fold_of[order] != fold, fold_of[order] == fold)
                        )
                        got[outside] = run(np.sort(inside), candidate, encoder, watch).predict(rows[outside])
                except EncodingError as error:  # too few samples, or too many bits
                    left.remove(candidate)
                    wrong = error
                    continue
                answers[candidate], folds[candidate] = got, folds.get(candidate, 0) + len(tested)
                if clock() > end:
                    raise _OutOfTime
            left = sorted(left, key=score, reverse=True)[: max(1, (len(left) + 1) // 2)]
    except (_OutOfTime, KeyboardInterrupt) as stop:
        if not answers:
            raise KeyboardInterrupt from stop
        complete = False
    if not answers:
        raise wrong or SugenetError("no candidate of the search fits the settings. Leave minutes= out.")
    trials = [Trial(one, folds[one], score(one)) for one in CANDIDATES if one in answers]
    top = max(trials, key=lambda one: (one.folds, one.score))
    error = sqrt(top.score * (1 - top.score) / int((answers[top.candidate] >= 0).sum()))
    chosen = next(one for one in trials if one.folds == top.folds and one.score >= top.score - _NEAR * error)
    trials.sort(key=lambda one: (one is chosen, one.folds, one.score), reverse=True)
    return Search(tuple(trials), complete, len(CANDIDATES) - len(trials))


def _fits(candidate: Candidate, settings: Settings) -> bool:
    try:
        candidate.settings(settings)
    except SugenetError:
        return False
    return True


def _score(labels: npt.NDArray[np.int64], answers: npt.NDArray[np.int64]) -> float:
    """Return the mean of accuracy and balanced accuracy on the samples with an answer."""
    asked = np.flatnonzero(answers >= 0)
    right = answers[asked] == labels[asked]
    recalls = [right[labels[asked] == kind].mean() for kind in np.unique(labels[asked])]
    return float(right.mean() + np.mean(recalls)) / 2
