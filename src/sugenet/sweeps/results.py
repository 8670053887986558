"""Read a results file (`read_results`), and export it as a table with one row per sample.

The table is a pandas data frame, a CSV file or a Parquet file, always with the same columns. Samples without
an answer also have a row, with the outcome ``missing``. Costs are exact: fractions in a data frame, text such
as ``7/2`` in files, since a float would round them. Under L2 they are sums of squares. For `WhatIf` the
columns of the changed sample follow.
"""

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from math import inf
from typing import Any

from sugenet.checker.form import exact
from sugenet.checker.limit import SECONDS
from sugenet.errors import CertificateError, FileError, QuestionError, SugenetError, how_to_install, refuse
from sugenet.files import write_bytes, write_text
from sugenet.frames import Column, pandas_frame, renamed
from sugenet.io.native.file import network_from
from sugenet.nn import Network
from sugenet.plottable import Plottable
from sugenet.reason import L2, WhatIf, answer_of, each, question_of, settings_of
from sugenet.reason.counterfactuals.several import (
    change_columns,
    changed_row,
    feature_columns,
    long_form,
    typed_changes,
)
from sugenet.reason.envelope import asked_of, changes_between
from sugenet.reason.questions import data_of, described, raw_of
from sugenet.sweeps.checking import CheckedResults, check_results
from sugenet.sweeps.samples import REFUSED, Row, hash_of
from sugenet.sweeps.store import SAMPLES, Store, reading
from sugenet.sweeps.tally import SweepTally, tally_of

__all__ = ["COLUMNS", "Results", "answer_columns", "arrow_table", "csv_text", "read_results"]

COLUMNS = {
    "sample": "int",
    "outcome": "text",
    "label": "category",
    "true_label": "category",
    "right": "bool",
    "settled": "bool",
    "certified": "bool",
    "engine": "text",
    "seconds": "float",
    "time_limit": "float",
    "cost": "exact",
    "lower": "exact",
    "version": "text",
}
"""Names and kinds of the columns, in order."""


def answer_columns(rows: Iterable[Row], samples: int, classes: Sequence[str]) -> dict[str, Column]:
    """Return the columns of all samples of a data set; None for unknown values."""
    known = {row.sample: row for row in rows}
    table = [_cells(sample, known.get(sample), classes) for sample in range(samples)]
    columns = zip(*table, strict=True) if table else [()] * len(COLUMNS)
    pairs = zip(COLUMNS.items(), columns, strict=True)
    return {name: Column(kind, list(values), classes) for (name, kind), values in pairs}


def _cells(sample: int, row: Row | None, classes: Sequence[str]) -> tuple[Any, ...]:
    if row is None:
        return (sample, "missing", *[None] * (len(COLUMNS) - 2))
    truth = None if row.truth is None else classes[row.truth]
    right = None if row.truth is None else row.truth == row.index
    outcome_fields = (row.outcome, classes[row.index], truth, right, row.settled, row.certified, row.engine)
    costs = (None if cost is None else exact(cost) for cost in (row.cost, row.lower))
    return (sample, *outcome_fields, row.seconds, row.time_limit, *costs, row.version)


def csv_text(columns: Mapping[str, Column]) -> str:
    r"""Return columns as CSV (RFC 4180); unknown values are empty fields.

    Examples
    --------
    >>> row = Row(1, 0, 1, "proved", True, True, "bounds", 0.5, None, None, None, "0.1.0")
    >>> print(csv_text(answer_columns([row], 2, ["no", "yes, sir"])).replace("\r", ""), end="")
    sample,outcome,label,true_label,right,settled,certified,engine,seconds,time_limit,cost,lower,version
    0,missing,,,,,,,,,,,
    1,proved,no,"yes, sir",false,true,true,bounds,0.5,,,,0.1.0
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(columns)
    for row in zip(*(column.values for column in columns.values()), strict=True):
        writer.writerow([str(value).lower() if isinstance(value, bool) else value for value in row])
    return stream.getvalue()


def arrow_table(columns: Mapping[str, Column], about: Mapping[str, str]) -> Any:
    """Return columns as an Arrow table; `about` goes to its metadata.

    Raises
    ------
    SugenetError
        If pyarrow (extra ``parquet``) is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise SugenetError(
            f"Parquet needs pyarrow. Install it {how_to_install('parquet')}; or write CSV."
        ) from error
    types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}

    def array(column: Column) -> Any:
        kinds = set(map(type, column.categories))
        if column.kind == "category" and kinds <= {str}:
            codes = dict(zip(column.categories, range(len(column.categories)), strict=True))
            numbers = pa.array(map(codes.get, column.values), pa.int32())
            return pa.DictionaryArray.from_arrays(numbers, list(column.categories))
        if column.kind == "date" or (column.kind == "category" and len(kinds) == 1):
            return pa.array(column.values)
        known = (value if value is None or column.kind in types else str(value) for value in column.values)
        return pa.array(known, types.get(column.kind, pa.string()))

    arrays = [array(column) for column in columns.values()]
    known = ("sample", "outcome")
    named = zip(columns, arrays, strict=True)
    schema = pa.schema([pa.field(name, one.type, nullable=name not in known) for name, one in named])
    return pa.Table.from_arrays(arrays, schema=schema.with_metadata(dict(about)))


class Results(Plottable, AbstractContextManager["Results"]):
    """Rows and answers of a sweep; read-only.

    Rows are summaries. Answers have the same types as those of the verbs. `to_pandas` returns all rows as a
    data frame.

    Examples
    --------
    >>> from sugenet.data import digits, samples
    >>> from sugenet.reason import Hamming, Robust, each
    >>> from sugenet.sweeps import sweep
    >>> X, y = samples("digits")
    >>> found = sweep(digits(), X[:3], Robust(each, Hamming(1)), y=y[:3], jobs=1)
    >>> [row.outcome for row in found.rows()]
    ['refuted', 'proved', 'proved']
    >>> print(found.answer(2))
    the class stays 2, with up to 1 bit flipped: proved by bounds through all layers

    See Also
    --------
    sweep : returns results.
    read_results : reads them from a file.
    """

    def __init__(self, store: Store, network: Network | None = None) -> None:
        self._store = store
        about = store.about()
        _check_about(store, about)
        try:
            self.network = _network(store, about, network)
            self.question = question_of(about["question"], self.network)
            self.settings: dict[str, Any] = about["settings"]
            self.seed, self.time_limit = about["seed"], about["time_limit"]
            self.samples: int = about["samples"]
            self.digest: str = about["data"]
            """Digest of all samples and their true classes."""
            self.has_truths: bool = about["truths"]
            self.made: dict[str, str] = about["made"]
            """Date, and versions of the software."""
            self.index: Any = None
            """Index of the data frame that was swept; a results file does not hold it."""
            settings_of(self.question, **self.settings)
            refuse(
                QuestionError,
                (getattr(self.question, "sample", None) is not each, "its question is not about each sample"),
            )
        except FileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, QuestionError, CertificateError) as error:
            raise store.damaged(f"what it is about does not fit: {error}") from error

    @property
    def path(self) -> str | None:
        """Path of the file; None: in memory."""
        return None if self._store.path is None else str(self._store.path)

    def __str__(self) -> str:
        where = "" if self.path is None else f", in {self.path}"
        samples = f"{self.samples:,} sample{'' if self.samples == 1 else 's'}"
        return f"{described(self.network, self.question)}: asked of {samples}{where}"

    def __len__(self) -> int:
        """Return the number of samples with an answer."""
        return len(self.rows())

    def rows(self) -> list[Row]:
        """Return the rows of samples with an answer, by index, without the answers themselves."""
        return [self._fitting(row) for row in self._store.rows()]

    def _fitting(self, row: Row) -> Row:
        """Check that a row has a valid sample and valid classes, and return it."""
        numbers = (row.index, row.index if row.truth is None else row.truth)
        classes = len(self.network.classes)
        fits = 0 <= row.sample < self.samples and all(0 <= n < classes for n in numbers)
        self._store.refuse_if(not fits, f"the row of sample {row.sample} has an invalid number")
        return row

    def row(self, sample: int) -> Row:
        """Return the row of one sample.

        Parameters
        ----------
        sample : int
            Index of the sample, from 0.

        Returns
        -------
        Row
            Outcome, classes and figures of the sample.
        """
        return self._found(sample)[0]

    def missing(self) -> list[int]:
        """Return the samples without an answer."""
        return list(self.tally().missing)

    def data(self, sample: int) -> dict[str, Any]:
        """Return the JSON data of the answer about a sample.

        Parameters
        ----------
        sample : int
            Index of the sample, from 0.

        Returns
        -------
        dict
            JSON data, as `answer.data()` gives it.
        """
        self._found(sample)
        data = self._store.answer(sample)
        assert data is not None
        return data

    def answer(self, sample: int) -> Any:
        """Return the answer about a sample, as the verb returned it.

        It is read but not checked. Use `check` on its certificate, or `check_results` for all of them.

        Parameters
        ----------
        sample : int
            Index of the sample, from 0.

        Returns
        -------
        answer
            The answer, such as `Proved` or `Counterfactual`.
        """
        data, (row, known) = self.data(sample), self._found(sample)
        if row.outcome == REFUSED:
            raise QuestionError(f"sample {sample} was not asked about: {self.refusal(sample)}")
        try:
            answer = answer_of(data, self.network)
        except CertificateError as error:
            raise self._store.damaged(f"the answer of sample {row.sample}: {error}") from error
        question: Any = getattr(answer, "question", None)
        self._check_hash(row, question.values(self.network), known)
        return answer

    def refusal(self, sample: int) -> str:
        """Return why a sample with the outcome ``refused`` was not asked about.

        Parameters
        ----------
        sample : int
            Index of the sample, from 0.

        Returns
        -------
        str
            The reason.
        """
        reason = self.data(sample).get("reason")
        self._store.refuse_if(
            not isinstance(reason, str), f"it does not say why sample {sample} was not asked about"
        )
        return str(reason)

    def answers(self) -> Iterator[Any]:
        """Yield all answers, by index of the sample; samples for which the question makes no sense have
        none.
        """
        return (self.answer(row.sample) for row in self.rows() if row.outcome != REFUSED)

    def X(self, sample: int) -> tuple[Any, ...]:  # noqa: N802
        """Return the raw values of a sample with an answer.

        Parameters
        ----------
        sample : int
            Index of the sample, from 0.

        Returns
        -------
        tuple
            One raw value per feature.
        """
        row, known = self._found(sample)
        data = self.data(sample)
        try:
            values = raw_of(self.network, data["question"]["sample"])
        except (LookupError, TypeError, ValueError, SugenetError) as error:
            raise self._store.damaged(f"the answer of sample {row.sample} does not name it") from error
        self._check_hash(row, list(values), known)
        return values

    def _check_hash(self, row: Row, values: list[Any], known: bytes) -> None:
        """Refuse an answer about a sample other than that of its row."""
        which = f"the answer of sample {row.sample} is about another sample"
        self._store.refuse_if(hash_of(values) != known, which)

    def _found(self, sample: int) -> tuple[Row, bytes]:
        refuse(
            QuestionError,
            (
                isinstance(sample, bool) or not 0 <= sample < self.samples,
                f"there is no sample {sample}: they are numbered from 0 to {self.samples - 1}.",
            ),
        )
        record = self._store.row(int(sample))
        if record is None:
            raise QuestionError(f"sample {sample} has no answer yet. Run the same sweep again to resume.")
        self._fitting(record[0])
        return record

    def hash(self, sample: int) -> bytes:
        """Return the hash of the raw values of a sample with an answer, as stored in its row.

        Parameters
        ----------
        sample : int
            Index of the sample, from 0.

        Returns
        -------
        bytes
            The hash.
        """
        return self._found(sample)[1]

    def hashes(self) -> dict[int, bytes]:
        """Return the hashes of all samples with an answer, by index."""
        return dict(self._store.hashes())

    def columns(self) -> dict[str, Column]:
        """Return the columns of all tables: of the answers, and for `WhatIf` of the changed samples."""
        network, rows = self.network, self.rows()
        answers = answer_columns(rows, self.samples, network.classes)
        if not isinstance(self.question, WhatIf):
            return answers
        pairs = {row.sample: self._changed(row.sample) for row in rows}
        changed = [pairs[sample][1] if sample in pairs else None for sample in range(self.samples)]
        changes: list[tuple[str, int, bool] | None] = [None] * self.samples
        for row, label in zip(rows, self._labels([pairs[row.sample][1] for row in rows]), strict=True):
            if row.outcome == "found":
                n_changes = len(changes_between(network, *pairs[row.sample]))
                changes[row.sample] = (network.classes[label], n_changes, row.cost == row.lower)
        answers |= change_columns(changes, network.classes)
        features = feature_columns(network, changed)
        return answers | {renamed(name, answers): column for name, column in features.items()}

    def _changed(self, sample: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return a sample with an answer, and the same with the changes of a counterfactual."""
        before, data = self.X(sample), self.data(sample)
        try:
            after = changed_row(self.network, before, typed_changes(data.get("changes", {})))
            return before, raw_of(self.network, after)
        except (TypeError, ValueError, AttributeError) as error:
            raise self._store.damaged(f"the changes of sample {sample}: {error}") from error

    def _labels(self, rows: list[tuple[Any, ...]]) -> list[int]:
        """Return the classes of changed samples."""
        try:
            return self.network.predict(rows).tolist() if rows else []
        except SugenetError as error:
            raise self._store.damaged(f"a changed sample: {error}") from error

    def to_pandas(self) -> Any:
        """Return all samples as a pandas data frame, one row per sample with the columns of the CSV file.

        After a sweep of a data frame it has the index of that frame.

        Returns
        -------
        pandas.DataFrame
            A sample without an answer has the outcome ``"missing"``. Outcomes are text, classes are
            categories, and costs are fractions. Integers and booleans have nullable types if some are
            unknown. For `WhatIf` there are also ``label_after``, ``n_changes`` and ``is_minimum``, and the
            features of the changed sample. A feature with the name of another column is called
            ``"NAME (feature)"``.

        Raises
        ------
        SugenetError
            If pandas is not installed.
        """
        return pandas_frame(self.columns(), self.index)

    def changes(self) -> Any:
        """Return the changes that `WhatIf` found as a pandas data frame, one row per change.

        Its columns are ``sample`` (from 0), ``feature``, ``before`` and ``after``.

        Raises
        ------
        QuestionError
            If the question is not `WhatIf`.
        SugenetError
            If pandas is not installed.
        """
        wrong = f"{described(self.network, self.question)}: these answers have no changes. Ask WhatIf(each)."
        refuse(QuestionError, (not isinstance(self.question, WhatIf), wrong))
        changed = {row.sample: self._changed(row.sample) for row in self.rows()}
        pairs = [changed.get(sample) for sample in range(self.samples)]
        changes = [{} if pair is None else changes_between(self.network, *pair) for pair in pairs]
        return long_form(self.network, changes, self.index)

    def tally(self) -> SweepTally:
        """Summarize all rows: outcomes, certified accuracy, times."""
        return tally_of(
            self.rows(),
            self.samples,
            data_of(self.network, self.question)["kind"],
            described(self.network, self.question),
            squares=getattr(self.question, "cost", None) is L2,
            has_truth=self.has_truths,
            has_target=getattr(self.question, "target", None) is not None,
        )

    def check(
        self,
        share: Any = 1,
        *,
        seed: int = 0,
        jobs: int | None = None,
        backend: str | None = None,
        backend_options: Mapping[str, Any] | None = None,
        time_limit: float | None = SECONDS,
        notify: Callable[[str], None] | None = None,
    ) -> CheckedResults:
        """Check the answers again, all or a share of them.

        See `check_results`, also for `backend`, `backend_options` and `notify`.

        Parameters
        ----------
        share : int, float or Fraction, default: 1
            Share of the answers to check, chosen at random.
        seed : int, default: 0
            Random seed.
        jobs : int, default: None
            Number of worker processes. None: one per core.
        backend : str, default: None
            Name of the backend for the workers. None: this machine.
        backend_options : mapping, default: None
            Options of the backend.
        time_limit : float, default: 600
            Seconds per answer. None: no limit.
        notify : function, default: None
            Called with a sentence about the progress.

        Returns
        -------
        CheckedResults
            The verdict of each checked answer.
        """
        return check_results(
            self,
            share,
            seed=seed,
            jobs=jobs,
            backend=backend,
            backend_options=backend_options,
            time_limit=time_limit,
            notify=notify,
        )

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns as CSV, one row per sample, atomically.

        Parameters
        ----------
        path : str or path
            File to write.
        """
        write_text(path, csv_text(self.columns()))

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table; requires pyarrow (extra ``parquet``)."""
        about = {"network": self.network.fingerprint, "question": described(self.network, self.question)}
        return arrow_table(self.columns(), about)

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the columns as Parquet, one row per sample, atomically; requires pyarrow.

        Parameters
        ----------
        path : str or path
            File to write.
        """
        table, stream = self.to_arrow(), io.BytesIO()
        from pyarrow import parquet

        parquet.write_table(table, stream)
        write_bytes(path, stream.getvalue())

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def read_results(path: str | os.PathLike[str], network: Network | None = None) -> Results:
    """Read a results file that `sweep` wrote, or is still writing.

    Parameters
    ----------
    path : str or Path
        Results file.
    network : Network, default: None
        The network that it must be about. None: the one in the file.

    Returns
    -------
    Results
        Rows and answers.

    Raises
    ------
    FileError
        If it is not a results file, is of a later version, is damaged, or is about another network.

    Examples
    --------
    >>> read_results("nowhere.db")
    Traceback (most recent call last):
    sugenet.errors.FileError: 'nowhere.db' cannot be read: it is empty, or there is no such file.

    See Also
    --------
    sweep : writes a results file.
    """
    store = reading(path)
    try:
        return Results(store, network)
    except BaseException:
        store.close()
        raise


def _check_about(store: Store, about: dict[str, Any]) -> None:
    """Refuse a description that no sweep writes."""
    kinds = {"samples": int, "data": str, "truths": bool, "seed": int, "made": dict, "settings": dict}
    wrong = [name for name, kind in kinds.items() if type(about.get(name)) is not kind]
    limit = about.get("time_limit", "")
    if limit is not None and (type(limit) is not float or not 0 <= limit < inf):
        wrong.append("time_limit")
    if "samples" not in wrong and not 1 <= about["samples"] <= SAMPLES:
        wrong.append("samples")
    store.refuse_if(wrong, f"what it is about does not fit: {', '.join(wrong)}")


def _network(store: Store, about: dict[str, Any], network: Network | None) -> Network:
    if network is None:
        try:
            network = network_from(store.network())
        except SugenetError as error:
            raise store.damaged(f"its network: {error}") from error
        store.refuse_if(network.fingerprint != about["network"], "its network is another than it says")
    elif network.fingerprint != about["network"]:
        raise FileError(
            f"{store.name} is about the network {about['network'][:12]}, not about "
            f"{network.fingerprint[:12]}. "
            f"Give the model that was asked; sugenet results takes the one inside unless one is given."
        )
    return asked_of(about, network)
