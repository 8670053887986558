"""A results file for the page: its rows as columns, a summary, and each answer with its certificate."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from shlex import quote
from threading import Lock
from typing import Any, TypeVar

from sugenet.errors import FileError, QuestionError, SugenetError
from sugenet.files import advice
from sugenet.nn import Network
from sugenet.reason.questions import data_of
from sugenet.sweeps import Results, Row, SweepTally, read_results
from sugenet.sweeps.samples import REFUSED, DataSet
from sugenet.web.asking import cleaned
from sugenet.web.page_data import MOST_SAMPLES, payload, raw_values

__all__ = ["COLUMNS", "Shelf", "embedded", "overview", "sample_data", "stored", "with_results"]

COLUMNS = (
    *("sample", "index", "truth", "outcome", "settled", "certified"),
    *("engine", "seconds", "time_limit", "cost", "lower"),
)
MOST_VALUES = 1_000_000
"""Maximum number of values of samples in a file; of more samples, the first are used."""
MOST_ROWS = 100_000
"""Maximum number of rows on a page; of more, the first are used."""
MOST_BYTES = 16_000_000
"""Maximum number of bytes of all answers in a file, with their certificates."""
_VERBS = {"robust": "verify"}
"""Names of questions: in JSON, and on the page."""

_T = TypeVar("_T")


# -- as a whole ----------------------------------------------------------------------------------------------


def overview(results: Results) -> dict[str, Any]:
    """Return the summary of a results file, and its rows, one list for each column."""
    asked, tally = data_of(results.network, results.question), results.tally()
    rows = tally.rows[:MOST_ROWS]
    notes = []
    if len(rows) < tally.answered:
        notes.append(f"The table has the first {len(rows):,} of {tally.answered:,} answered samples.")
    return {
        "name": _name(results),
        "question": tally.asked,
        "cost": asked["cost"]["kind"] if asked["kind"] == "whatif" else None,
        "samples": tally.samples,
        "summary": _summary(tally),
        "notes": notes,
        "rows": {name: [getattr(row, name) for row in rows] for name in COLUMNS},
    }


def _name(results: Results) -> str:
    assert results.path is not None
    return os.path.basename(results.path)


def _summary(tally: SweepTally) -> list[str]:
    """Return the most important figure, then the others."""
    figures = [
        f"{tally.answered:,} of {tally.samples:,} samples answered",
        *(f"{count:,} {word}" for word, count in tally.outcomes.items() if word != "missing"),
    ]
    if tally.on_trust:
        figures.append(f"{len(tally.on_trust):,} of them on the word of a solver")
    if tally.accuracy is not None:
        figures.append(f"accuracy {tally.accuracy}")
    if tally.certified is not None:
        name = "certified accuracy" if tally.has_truth else "proved, with right classes unknown"
        figures.insert(0, f"{name}: {tally.certified}")
    return figures


# -- one sample ----------------------------------------------------------------------------------------------


def stored(results: Results, sample: int) -> dict[str, Any]:
    """Return the row of one sample, and its answer with the certificate; None if it is not answered yet."""
    row = _row(results, sample)
    if row is None:
        return {"sample": sample, "row": None, "answer": None}
    named = {name: getattr(row, name) for name in COLUMNS}
    return {"sample": sample, "row": named, "answer": _answer(results, row)}


def sample_data(results: Results, sample: int) -> dict[str, Any] | None:
    """Return one raw sample as JSON for the page; None if it has no answer, since the file stores no
    others.
    """
    row = _row(results, sample)
    if row is None:
        return None
    return {
        "index": sample,
        "values": raw_values(results.network, results.X(sample), sample),
        "truth": row.truth,
    }


def _row(results: Results, sample: int) -> Row | None:
    try:
        return results.row(sample)
    except QuestionError:
        return None


def _answer(results: Results, row: Row) -> dict[str, Any]:
    kind = data_of(results.network, results.question)["kind"]
    about = {"kind": _VERBS.get(kind, kind), "outcome": row.outcome}
    if row.outcome == REFUSED:
        return about | {"sentence": f"not asked about: {results.refusal(row.sample)}"}
    answer = results.answer(row.sample)
    entry: dict[str, Any] = cleaned(answer.data() | about | {"sentence": str(answer)})
    return entry


# -- the page ------------------------------------------------------------------------------------------------


def with_results(
    results: Results,
    samples: Any = None,
    truth: Any = None,
    *,
    title: str,
    index: int | None = None,
    answers: Iterable[Mapping[str, Any]] = (),
    server: bool,
    network: Network | None = None,
) -> dict[str, Any]:
    """Return the result of `payload` with a results file: next to the page on a server, embedded in a file.

    Samples must be those of the results file; without them the page shows those in the file. The network is
    the one that the page itself asks (default: that of the file).
    """
    network, numbers = network or results.network, None
    max_samples = MOST_SAMPLES if server else max(MOST_SAMPLES, MOST_VALUES // network.encoder.features)
    if samples is not None:
        _refuse_others(results, samples)
    elif index is not None:
        results.row(index)  # raises an error if there is none
    if samples is None and (rows := results.rows()):
        known = {row.sample: row.truth for row in rows}
        numbers = list(known)[:max_samples]
        if index is not None and index not in numbers:
            numbers[-1] = index
        samples = [results.X(number) for number in numbers]
        truth = [known[number] for number in numbers]
    first = index if index is not None else numbers[0] if numbers else 0
    about = {"name": _name(results), "samples": results.samples} if server else embedded(results)
    return payload(
        network,
        samples,
        truth,
        title=title,
        index=first,
        answers=answers,
        numbers=numbers,
        most=max_samples,
        results=about,
    )


# -- in a file -----------------------------------------------------------------------------------------------


def embedded(results: Results, most: int = MOST_BYTES) -> dict[str, Any]:
    """Return a results file embedded in a page without a server.

    Answers are included while they are not too large together; the others are only given as sentences.
    """
    data, rows = overview(results), results.rows()[:MOST_ROWS]
    answers: dict[int, Any] = {}
    room, bare = most, 0
    for row in rows:
        answer = _answer(results, row)
        size = len(json.dumps(answer))
        if size <= room:
            room -= size
        else:
            answer = {name: answer[name] for name in ("kind", "outcome", "sentence")}
            bare += 1
        answers[row.sample] = answer
    if bare:
        data["notes"].append(
            f"To keep this file small, {bare:,} answers are here without their certificates: "
            f"sugenet serve MODEL --results {quote(_name(results))} shows all."
        )
    return data | {"answers": answers}


def _refuse_others(results: Results, samples: Any) -> None:
    """Refuse samples that are not those of a results file."""
    right = "Give the samples that were asked about, or none: the file has its own."
    if len(samples) < results.samples:
        raise FileError(
            f"'{results.path}' is about {results.samples:,} samples, but {len(samples):,} are given. {right}"
        )
    data_set = DataSet.of(results.network, samples[: results.samples])
    for row in results.rows():
        if data_set.hashes[row.sample] != results.hash(row.sample):
            raise FileError(f"sample {row.sample} is another one in '{results.path}'. {right}")


# -- while it is served --------------------------------------------------------------------------------------


class Shelf:
    """Results file that is open while a page is served, and may still be written.

    Parameters
    ----------
    path
        The file.
    network
        The network of the results.
    """

    def __init__(self, path: str | os.PathLike[str], network: Network) -> None:
        self.path, self._network = os.fspath(path), network
        self._lock = Lock()
        self._open: Results | None = None
        self._is: tuple[int, int] | None = None

    def asked(self) -> Network:
        """Return the network of a page with results: for inputs that both allow."""
        return self.ask(lambda results: results.network.within(self._network.domain))

    def ask(self, read: Callable[[Results], _T]) -> _T:
        """Read from the file as it is now, one request at a time; a replaced file is opened again."""
        with self._lock:
            try:
                there = os.stat(self.path)
            except OSError as error:
                self._drop()
                raise FileError(f"'{self.path}' cannot be read: {advice(error)}") from None
            if self._is != (there.st_dev, there.st_ino):
                self._drop()
            try:
                if self._open is None:
                    self._open = read_results(self.path, self._network)
                    self._is = (there.st_dev, there.st_ino)
                return read(self._open)
            except SugenetError:
                self._drop()
                raise
            except (KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError) as error:
                self._drop()  # written by somebody else, since its digests match
                cause = f"{type(error).__name__}: {str(error)[:200]}"
                raise FileError(
                    f"'{self.path}' is damaged: {cause}. Make it again with sugenet sweep."
                ) from error

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = self._is = None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._drop()
