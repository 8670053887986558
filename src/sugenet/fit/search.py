"""Choosing sizes, cuts and settings by cross-validation within a time limit: successive halving over a list.

Every candidate is scored on a part of the samples that it has not learned from. The better half is scored on
further parts, until one is left. Test samples take no part.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.settings import Epoch, Settings
from sugenet.nn.arrays import Ints
from sugenet.reprs import Sentences

__all__ = ["CANDIDATES", "Candidate", "SearchReport", "Trial", "check_searchable", "search"]

_FOLDS = 5
_ROUNDS: tuple[tuple[tuple[int, ...], int], ...] = (((0,), 4000), ((1, 2), 16000), ((3, 4), 64000))
"""Folds of each round, and the most samples that a network learns from in it."""
_FEW_ROUNDS: tuple[tuple[tuple[int, ...], int], ...] = (((0, 1, 2), 4000), ((3, 4), 4000))
_FEW = 1500  # samples: one fold of fewer does not tell candidates apart
_NEAR = 0.5  # standard errors by which scores hardly differ
_SHARE = 0.7  # of the time is for the search, the rest for the final training


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
_PLAIN = Settings()
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
class SearchReport(Sentences):
    """The candidates that were tried, the chosen one first."""

    trials: tuple[Trial, ...]
    complete: bool
    """Whether every round ended. If the time ended the search before, a faster machine may choose another."""
    skipped: int = 0
    """Number of candidates that were not tried: the settings or the data do not fit, or the time was over."""

    def data(self) -> dict[str, Any]:
        """Return the search as JSON values."""
        trials = [
            {
                "score": one.score,
                "folds": one.folds,
                "hidden": one.candidate.hidden,
                "cuts": one.candidate.cuts,
            }
            | dict(one.candidate.changed)
            for one in self.trials
        ]
        return {"trials": trials, "complete": self.complete, "skipped": self.skipped}

    def __str__(self) -> str:
        ended = "" if self.complete else "; the time limit or Ctrl-C ended the search, so a rerun may differ"
        skipped = f"; {self.skipped} not tried" if self.skipped else ""
        n = len(self.trials)
        head = f"tried {n} candidate{'s' * (n > 1)}, scored by the mean of accuracy and balanced accuracy"
        first, *others = self.trials
        return "\n".join(
            [f"{head}{skipped}{ended}", f"  chosen {first}", *(f"         {one}" for one in others)]
        )


class _OutOfTime(Exception):  # noqa: N818
    """The time of the search is over."""


def check_searchable(arguments: Mapping[str, Any], settings: Settings | None = None) -> None:
    """Refuse arguments (other than None) and settings that a search would choose by itself."""
    refused = [name for name, value in arguments.items() if value is not None]
    for name in sorted(_CHOSEN) if settings is not None else ():
        if getattr(settings, name) != getattr(_PLAIN, name):
            refused.append(name)
    if refused:
        raise SugenetError(
            f"minutes= searches for good sizes, cuts and settings, so {refused[0]}= has no effect. Leave "
            "one of them out."
        )


def search(
    labels: Ints,
    minutes: float,
    run: Callable[[Candidate, Ints, Ints, Callable[[Epoch], None]], Ints],
    settings: Settings,
    clock: Callable[[], float],
    *,
    grown: bool = True,
    weights: npt.NDArray[np.float64] | None = None,
    progress: Callable[[Trial], None] | None = None,
) -> SearchReport:
    """Choose a candidate by cross-validation.

    Parameters
    ----------
    labels
        Class indices of the samples, without test samples.
    minutes
        Time limit, which also leaves time for a final training.
    run
        Trains a candidate on the first samples given, and returns the classes of the second. It calls the
        progress after every epoch, and raises `EncodingError` if the candidate does not fit the data.
    settings
        Settings that candidates change; its seed also determines the folds.
    clock
        Returns the time in seconds.
    grown
        Whether trees may be grown.
    weights
        Weight of each sample in the score; None for equal weights.
    progress
        Called after every candidate of every round, with its score so far.

    Returns
    -------
    SearchReport
        The chosen candidate is that of its first trial. Equal seeds and data give equal searches, unless the
        time ends one.

    Raises
    ------
    SugenetError
        If `minutes` is not positive, or no candidate fits.
    """
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes < inf:
        raise SugenetError(f"minutes={minutes!r} must be a positive number, such as 2.")
    shares = np.ones(len(labels)) if weights is None else weights
    end, rng = clock() + 60 * minutes * _SHARE, np.random.default_rng([settings.seed, 4])
    fold_of = np.empty(len(labels), np.int64)
    for kind in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == kind))
        fold_of[members] = np.arange(len(members)) % _FOLDS
    order = rng.permutation(len(labels))
    answers: dict[Candidate, Ints] = {}
    folds: dict[Candidate, int] = {}
    left, complete, wrong = [one for one in CANDIDATES if _fits(one, settings, grown)], True, None

    def watch(_: Epoch) -> None:
        if clock() > end and answers:
            raise _OutOfTime

    try:
        for tested, limit in _FEW_ROUNDS if len(labels) < _FEW else _ROUNDS:
            for candidate in list(left):
                classes = answers.get(candidate, np.full(len(labels), -1)).copy()
                try:
                    for fold in tested:
                        outside = order[fold_of[order] == fold][:limit]
                        inside = np.sort(order[fold_of[order] != fold][:limit])
                        classes[outside] = run(candidate, inside, outside, watch)
                except EncodingError as error:
                    left.remove(candidate)
                    wrong = error
                    continue
                answers[candidate], folds[candidate] = classes, folds.get(candidate, 0) + len(tested)
                if progress is not None:
                    progress(Trial(candidate, folds[candidate], _score(labels, classes, shares)))
                if clock() > end:
                    raise _OutOfTime
            left.sort(key=lambda one: _score(labels, answers[one], shares), reverse=True)
            left = left[: (len(left) + 1) // 2]
    except (_OutOfTime, KeyboardInterrupt):
        if not answers:
            raise
        complete = False
    if not answers:
        raise wrong or SugenetError("no candidate of the search fits the settings. Leave minutes= out.")
    trials = [
        Trial(one, folds[one], _score(labels, answers[one], shares)) for one in CANDIDATES if one in answers
    ]
    top = max(trials, key=lambda one: (one.folds, one.score))
    asked = shares[answers[top.candidate] >= 0]
    deviation = sqrt(top.score * (1 - top.score) * float((asked**2).sum() / asked.sum() ** 2))
    chosen = next(
        one for one in trials if one.folds == top.folds and one.score >= top.score - _NEAR * deviation
    )
    trials.sort(key=lambda one: (one is chosen, one.folds, one.score), reverse=True)
    return SearchReport(tuple(trials), complete, len(CANDIDATES) - len(trials))


def _fits(candidate: Candidate, settings: Settings, grown: bool) -> bool:
    try:
        return candidate.settings(settings).depth is None or grown
    except SugenetError:
        return False


def _score(labels: Ints, answers: Ints, weights: npt.NDArray[np.float64]) -> float:
    """Return the mean of weighted accuracy and balanced accuracy on the samples with an answer."""
    asked = np.flatnonzero(answers >= 0)
    known, shares = labels[asked], weights[asked]
    right = shares * (answers[asked] == known)
    recalls = [right[known == kind].sum() / shares[known == kind].sum() for kind in np.unique(known)]
    return float(right.sum() / shares.sum() + np.mean(recalls)) / 2
