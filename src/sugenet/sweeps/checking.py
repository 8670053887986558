"""Check a results file: each certificate against the network, its row and the sweep.

A valid certificate may still be about another sample, or answer another question. So an answer counts as
checked only if all its certificates hold and it matches the file. It must be about the sample whose hash is
in its row, ask the question of the sweep, and agree with the row.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sugenet.checker.limit import SECONDS
from sugenet.errors import CertificateError, CheckLimitError, QuestionError, SugenetError, SweepError, refuse
from sugenet.io.native.file import network_bytes, network_from
from sugenet.nn import Network
from sugenet.problem import plain, row_of
from sugenet.reason import (
    Counterfactual,
    CountSampled,
    OpenCounterfactual,
    Predicted,
    answer_of,
    ask,
    is_settled,
    rechecking,
)
from sugenet.reason.phrases import uncovered_text
from sugenet.reason.questions import raw_of
from sugenet.reason.rechecking import STATUSES, is_checkable
from sugenet.reprs import Sentences
from sugenet.sweeps.driving import workers
from sugenet.sweeps.samples import REFUSALS, REFUSED, Row, digest_of, hash_of
from sugenet.sweeps.tally import listed

if TYPE_CHECKING:
    from sugenet.sweeps.results import Results

__all__ = [
    "CheckedResults",
    "SampleCheck",
    "check_answer",
    "check_results",
    "chosen_samples",
]

ROW_REMARKS = ("engine", "seconds", "time_limit", "version")
"""Fields of a row that say how its answer was found."""
_SHOWN = 20
_TOGETHER = 16
"""Maximum number of answers that go to a worker at a time."""


@dataclass(frozen=True)
class SampleCheck:
    """The result of checking one answer: a status of `STATUSES`, details, and the fields of the answer that
    no certificate covers.
    """

    sample: int
    status: str
    words: str
    uncovered: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"sample {self.sample}: {self.words}"


@dataclass(frozen=True)
class CheckedResults(Sentences):
    """The result of checking a results file, or a share of it.

    Examples
    --------
    >>> from sugenet import Hamming, Robust, each, models, sweep
    >>> X, y = models.samples("digits")
    >>> found = sweep(models.digits(), X[:4], Robust(each, Hamming(2)), y=y[:4], jobs=1)
    >>> checked = check_results(found, share=0.5, jobs=1)
    >>> checked.holds, checked.counts, checked.failures
    (True, {'holds': 2}, ())

    See Also
    --------
    check_results : checks results.
    """

    answered: int
    """Answers in the file."""
    share: Fraction
    seed: int
    checks: tuple[SampleCheck, ...]
    """One per checked answer, by index of the sample."""
    same_data: bool | None
    """Whether samples and true classes are those that the sweep started with; None: some are missing."""

    @property
    def failures(self) -> tuple[SampleCheck, ...]:
        """Answers that do not hold."""
        return self._of("fails")

    @property
    def left(self) -> tuple[SampleCheck, ...]:
        """Answers that were not checked within the time and memory limits."""
        return self._of("not checked")

    @property
    def uncovered(self) -> dict[str, int]:
        """Fields of answers and rows that no certificate covers, with the number of answers that have
        them.
        """
        names = Counter(name for one in self.checks for name in (*one.uncovered, *ROW_REMARKS))
        return {name: names[name] for name in sorted(names)}

    @property
    def holds(self) -> bool | None:
        """Whether everything that was checked holds, except for the `uncovered` fields.

        None: not everything could be checked in time.
        """
        if self.failures or self.same_data is False:
            return False
        return None if self.left else True

    def _of(self, status: str) -> tuple[SampleCheck, ...]:
        return tuple(one for one in self.checks if one.status == status)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of answers with each status."""
        counter = Counter(one.status for one in self.checks)
        return {status: counter[status] for status in STATUSES if counter[status]}

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data; answers that hold are only counted."""
        return {
            "holds": self.holds,
            "answered": self.answered,
            "checked": len(self.checks),
            "share": str(self.share),
            "seed": self.seed,
            "same_data": self.same_data,
            "counts": self.counts,
            "not_covered": self.uncovered,
            "failures": [{"sample": one.sample, "error": one.words} for one in self.failures],
            "not_checked": [{"sample": one.sample, "error": one.words} for one in self.left],
        }

    def __str__(self) -> str:
        what = f"{len(self.checks):,} of {self.answered:,} answers"
        what += "" if self.share == 1 else f", drawn with seed {self.seed}"
        lines = [f"checked {what}:", *(f"  {count:,} {STATUSES[one]}" for one, count in self.counts.items())]
        if self.same_data is False:
            lines.append("the samples or their true classes are not those that the sweep began with")
        if self.same_data is None:
            lines.append("answers are missing: whether it is the same data set was not checked")
        for checks in (self.failures, self.left):
            lines += [str(one) for one in checks[:_SHOWN]]
            if len(checks) > _SHOWN:
                lines.append(f"and samples {listed([one.sample for one in checks[_SHOWN:]], _SHOWN)}")
        if self.uncovered:
            lines.append(uncovered_text(self.uncovered))
        return "\n".join(lines)


def chosen_samples(samples: list[int], share: Any, seed: int) -> tuple[list[int], Fraction]:
    """Return a share of some samples, rounded up and chosen by the seed, and the share as an exact number.

    Examples
    --------
    >>> chosen_samples(list(range(10)), 0.25, seed=1)
    ([1, 2, 4], Fraction(1, 4))
    """
    try:
        exact = Fraction(share)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise QuestionError(f"share={share!r} is not a number, such as 0.1 or 1.") from None
    refuse(
        QuestionError,
        (not 0 < exact <= 1, f"share={share} must be above 0 and at most 1, which is all of them."),
    )
    count = math.ceil(exact * len(samples))
    return sorted(random.Random(seed).sample(sorted(samples), count)), exact


def check_results(
    results: Results,
    share: Any = 1,
    *,
    seed: int = 0,
    jobs: int | None = None,
    backend: str | None = None,
    backend_options: Mapping[str, Any] | None = None,
    time_limit: float | None = SECONDS,
    notify: Callable[[str], None] | None = None,
) -> CheckedResults:
    """Check the answers of a results file again, all or a share of them, using the definition alone.

    Parameters
    ----------
    results : Results
        The results.
    share : number, default: 1
        Share of the answers to check, such as 0.1, rounded up to an integer number of them.
    seed : int, default: 0
        Random seed for choosing the answers.
    jobs : int, default: None
        How many tasks run at once. None: one per core.
    backend : str, default: None
        Backend of joblib, as in `sweep`.
    backend_options : mapping, default: None
        Options of the backend, as in `sweep`.
    time_limit : float, default: 600.0
        Seconds per certificate; None: no limit.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    CheckedResults
        A status for each checked answer. Answers that do not hold are its `failures`, and raise no error.

    Raises
    ------
    QuestionError
        If the share is not a number above 0 and at most 1.
    SweepError
        If the backend cannot be used, or a worker ended.
    FileError
        If rows of the results file cannot be read.

    Examples
    --------
    >>> from sugenet import Hamming, Robust, each, models, sweep
    >>> X, y = models.samples("digits")
    >>> found = sweep(models.digits(), X[:3], Robust(each, Hamming(2)), y=y[:3], jobs=1)
    >>> print(check_results(found, jobs=1))
    checked 3 of 3 answers:
      3 hold
    not covered by a certificate: engine, seconds, sets, time_limit, version

    See Also
    --------
    CheckedResults : what it returns.
    Results.check : the same as a method.
    check : checks one certificate.
    """
    from joblib import delayed

    rows, hashes = {row.sample: row for row in results.rows()}, results.hashes()
    chosen, exact = chosen_samples(list(rows), share, seed)
    raw = network_bytes(results.network)
    sample_checks: list[SampleCheck] = []

    def tasks(together: int) -> Iterator[Any]:
        for start in range(0, len(chosen), together):
            read = []
            for sample in chosen[start : start + together]:
                try:
                    read.append((rows[sample], hashes[sample], results.data(sample)))
                except SugenetError as error:  # an unreadable answer does not hold
                    sample_checks.append(SampleCheck(sample, "fails", str(error)))
            if read:
                yield delayed(_check_some)(raw, results.question, results.settings, read, time_limit)

    with workers(backend, dict(backend_options or {}), jobs) as (count, parallel):
        together = max(1, min(_TOGETHER, len(chosen) // (4 * count)))
        try:
            for checks in parallel(tasks(together)):
                sample_checks += checks
                if notify is not None:
                    notify(f"checked {len(sample_checks):,} of {len(chosen):,}")
        except SugenetError:
            raise
        except Exception as error:  # each backend has its own error for a lost worker
            raise SweepError(
                f"a worker ended while it checked: {type(error).__name__}: {str(error)[:200]}. There may be "
                f"too little memory: check with fewer jobs."
            ) from error
    ordered = tuple(sorted(sample_checks, key=lambda one: one.sample))
    return CheckedResults(len(rows), exact, seed, ordered, _is_same_data(results, rows, hashes))


def _is_same_data(results: Results, rows: Mapping[int, Row], hashes: Mapping[int, bytes]) -> bool | None:
    """Return whether hashes and true classes have the digest of the data set in the file."""
    if len(rows) < results.samples:
        return None
    order = range(results.samples)
    truths = [rows[sample].truth for sample in order] if results.has_truths else None
    return digest_of((hashes[sample] for sample in order), truths) == results.digest


def _check_some(
    raw: bytes,
    question: Any,
    settings: Mapping[str, Any],
    answers: list[tuple[Row, bytes, dict[str, Any]]],
    time_limit: float | None,
) -> list[SampleCheck]:
    """Check some answers, in a worker."""
    network = _network(raw)
    return [check_answer(network, question, settings, *one, time_limit) for one in answers]


@lru_cache(maxsize=2)
def _network(raw: bytes) -> Network:
    """Return the network in a file, read once per worker."""
    return network_from(raw)


# -- one answer ----------------------------------------------------------------------------------------------


def check_answer(
    network: Network,
    question: Any,
    settings: Mapping[str, Any],
    row: Row,
    known: bytes,
    data: Mapping[str, Any],
    time_limit: float | None = SECONDS,
) -> SampleCheck:
    """Check the answer about one sample.

    Parameters
    ----------
    network
        The network that was asked about.
    question, settings
        The question and settings for all samples, with `each` in place of the sample.
    row, known
        The row of the sample, and the hash of its values in the row.
    data
        JSON data of the answer.
    time_limit
        Seconds per certificate.
    """
    uncovered: tuple[str, ...] = ()
    try:
        if data.get("outcome") == REFUSED:
            status, message = _check_refusal(network, question, settings, row, known, data)
        else:
            answer: Any = answer_of(data, network)
            refuse(
                CertificateError,
                (
                    not isinstance(answer, Predicted) and answer.network.domain != network.domain,
                    "the answer is about other inputs that can occur than the sweep.",
                ),
            )
            _check_row(network, question, settings, row, known, answer)
            checked = rechecking.check_answer(answer, n=settings.get("n"), time_limit=time_limit)
            status, message, uncovered = checked.status, str(checked), checked.uncovered
    except CheckLimitError as error:
        status, message = "not checked", str(error)
    except SugenetError as error:
        status, message = "fails", str(error)
    return SampleCheck(row.sample, status, message, uncovered)


def _check_refusal(
    network: Network,
    question: Any,
    settings: Mapping[str, Any],
    row: Row,
    known: bytes,
    data: Mapping[str, Any],
) -> tuple[str, str]:
    """Check that the question does not make sense for the sample of a row."""
    try:
        values = list(raw_of(network, data["question"]["sample"]))
    except (LookupError, TypeError, ValueError) as error:
        raise CertificateError("the answer does not name its sample.") from error
    refuse(CertificateError, (hash_of(values) != known, "the answer is about another sample than its row."))
    label = int(network.predict(row_of(values), engine="definition")[0])
    kept = (row.index, row.outcome, row.settled, row.certified, row.cost, row.lower)
    refuse(
        CertificateError,
        (
            kept != (label, REFUSED, True, False, None, None),
            "the row says something else than that the sample was not asked about.",
        ),
    )
    try:
        ask(network, question.about(values), time_limit=0.0, threads=1, **settings)
    except REFUSALS as error:
        asked = {"sample": [plain(value) for value in values]}
        if data != {"outcome": REFUSED, "reason": str(error), "question": asked}:
            raise CertificateError(f"the sample was refused for another reason: {error}") from error
        return "recomputed", f"refused again: {error}"
    raise CertificateError("the question makes sense for this sample, and was not asked.")


def _check_row(
    network: Network, question: Any, settings: Mapping[str, Any], row: Row, known: bytes, answer: Any
) -> None:
    """Check that an answer agrees with its row."""
    values = answer.question.values(network)
    if values is None or hash_of(list(values)) != known:
        raise CertificateError("the answer is about another sample than its row.")
    asked = question.about(list(values)).data(network)
    answered = answer.question.data(network)
    for name in [*answered, *asked]:
        if (name in answered) != (name in asked) or answered[name] != asked[name]:
            raise CertificateError(
                f"the answer is to another question: its {name} is {_short(answered.get(name))}, "
                f"not {_short(asked.get(name))}."
            )
    label = int(network.predict(row_of(list(values)), engine="definition")[0])
    is_cost = isinstance(answer, Counterfactual | OpenCounterfactual)
    claims = {
        "index": (row.index, label),
        "outcome": (row.outcome, answer.outcome),
        "settled": (row.settled, is_settled(answer, **settings)),
        "certified": (row.certified, is_checkable(answer)),
        "cost": (row.cost, str(answer.cost) if isinstance(answer, Counterfactual) else None),
        "lower bound": (row.lower, str(answer.lower) if is_cost else None),
    }
    if isinstance(answer, CountSampled):
        claims["confidence"] = (settings["confidence"], answer.confidence)
        if settings["samples"] is not None:
            claims["number of samples"] = (settings["samples"], answer.drawn)
    for name, (mine, its) in claims.items():
        if mine != its or type(mine) is not type(its):
            raise CertificateError(f"the row says {name} {_short(mine)}, but the answer {_short(its)}.")


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
