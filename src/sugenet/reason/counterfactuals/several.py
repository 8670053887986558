"""Answers of `whatif` about several samples, and the columns that changed samples have in a data frame."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, overload

from sugenet.frames import Column, index_of, pandas_frame, retyped, side_by_side
from sugenet.nn import Encoder, Network, OneHot, Real
from sugenet.nn.samples import indices_of
from sugenet.reason.counterfactuals.answers import Answer, Counterfactual

__all__ = [
    "Counterfactuals",
    "change_columns",
    "changed_row",
    "feature_columns",
    "long_form",
    "typed_changes",
]

_LARGEST = 1 << 63


@dataclass(frozen=True, eq=False)
class Counterfactuals(Sequence[Answer | None]):
    """Answers of `whatif` about several samples, in order.

    Each is the answer about one sample, with its certificate. It is None if the question makes no sense for
    that sample, such as a target class that it has already, or if the user interrupted before it.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import check, whatif
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> answers = whatif(net, [[1, 1, 1], [-1, -1, -1]])
    >>> print(answers)
    2 samples: 2 found
    >>> answers.to_pandas()[["outcome", "label", "label_after", "n_changes", "x1", "x2", "x3"]]
      outcome label label_after  n_changes  x1  x2  x3
    0   found    on         off          1  -1   1   1
    1   found   off          on          1   1  -1  -1

    See Also
    --------
    whatif : gives these answers for a data frame or an array of samples.
    sweep : asks about a large data set, with many workers.
    """

    network: Network = field(repr=False)
    X: Any = field(repr=False)
    """The samples, as they were given."""
    rows: Any = field(repr=False)
    """The same samples as an array, one row per sample."""
    labels: tuple[int, ...]
    """Their classes, by index."""
    answers: tuple[Answer | None, ...]
    refusals: Mapping[int, str]
    """Why samples were not asked about, by index."""

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, sample: int) -> Answer | None: ...

    @overload
    def __getitem__(self, sample: slice) -> Sequence[Answer | None]: ...

    def __getitem__(self, sample: int | slice) -> Any:
        return self.answers[sample]

    def outcomes(self) -> list[str]:
        """Return one word per sample: the outcome of its answer, ``"refused"`` or ``"missing"``."""
        return [
            "refused" if number in self.refusals else "missing" if answer is None else answer.outcome
            for number, answer in enumerate(self.answers)
        ]

    def __str__(self) -> str:
        counted = ", ".join(f"{n:,} {word}" for word, n in Counter(self.outcomes()).items())
        return f"{len(self):,} sample{'' if len(self) == 1 else 's'}: {counted}"

    def changed(self) -> Any:
        """Return the samples as a pandas data frame, with all changes made.

        A frame keeps its columns, types and index. Only a date that is read as year, month or weekday is
        replaced by these. A sample without a counterfactual stays as it is. So `Network.predict` of the frame
        gives the class after each change.

        Raises
        ------
        SugenetError
            If pandas is not installed.
        """
        if index_of(self.X) is None:
            rows = map(self.network.encoder.values, self.rows)
            changed = [changed_row(self.network, *one) for one in zip(rows, self._each(), strict=True)]
            return pandas_frame(feature_columns(self.network, changed))
        return _with_changes(self.network.encoder, self.X, self.rows, self._each())

    def changes(self) -> Any:
        """Return the changes as a pandas data frame, one row per change.

        Its columns are ``sample`` (from 0), ``feature``, ``before`` and ``after``.

        Raises
        ------
        SugenetError
            If pandas is not installed.
        """
        return long_form(self.network, self._each(), index_of(self.X))

    def to_pandas(self) -> Any:
        """Return one row per sample: the answer, then the changed sample as in `changed`.

        Columns of the answer are ``outcome``, ``label`` (the class of the sample), ``label_after``,
        ``n_changes``, ``cost`` and ``lower`` (fractions), ``is_minimum``, ``certified`` and ``engine``. A
        column of the samples with one of these names is called ``"NAME (feature)"``.

        Returns
        -------
        pandas.DataFrame
            With the index of the samples, if they have one.

        Raises
        ------
        SugenetError
            If pandas is not installed.
        """
        classes = self.network.classes
        changes = [
            (answer.label, len(answer.changes()), answer.is_minimum)
            if isinstance(answer, Counterfactual)
            else None
            for answer in self.answers
        ]
        answers = {
            "outcome": Column("text", self.outcomes()),
            "label": Column("category", [classes[index] for index in self.labels], classes),
            **change_columns(changes, classes),
            **{
                name: Column("exact", [_given(answer, name) for answer in self.answers])
                for name in ("cost", "lower")
            },
            "certified": Column("bool", [_given(answer, "is_certified") for answer in self.answers]),
            "engine": Column("text", [_given(answer, "engine") for answer in self.answers]),
        }
        return side_by_side(pandas_frame(answers, index_of(self.X)), self.changed())

    def _each(self) -> Iterator[dict[str, tuple[Any, Any]]]:
        """Yield the changes of every sample, by feature."""
        for answer in self.answers:
            yield typed_changes(answer.changes()) if isinstance(answer, Counterfactual) else {}


def typed_changes(changes: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, Any]]:
    """Return changes in which a bit that was given as a bool stays one."""
    is_bit = {-1: False, 0: False, 1: True}
    return {
        name: (before, is_bit.get(after, after) if isinstance(before, bool) else after)
        for name, (before, after) in changes.items()
    }


def _with_changes(encoder: Encoder, X: Any, rows: Any, changes: Iterable[dict[str, tuple[Any, Any]]]) -> Any:
    """Return a data frame of samples with the changes of each."""
    frame = X.copy()
    new: dict[Any, list[Any]] = {}
    labels = {str(label): label for label in X.columns}
    if encoder.columns is None:
        numbers = indices_of(list(X.columns), encoder.names)
        labels = {name: X.columns[number] for name, number in zip(encoder.names, numbers, strict=True)}
    for feature, (name, how) in enumerate(encoder.preparations.items()):
        if how.is_part and name not in labels:
            frame[name], labels[name] = rows[:, feature].astype(int), name
    for sample, one in enumerate(changes):
        for name, (_, after) in one.items():
            cells = {name: after}
            if name not in labels:
                cells = encoder.preparations[name].cells(after, encoder.codings[encoder.names.index(name)])
            for column, cell in cells.items():
                values = new.setdefault(labels[column], frame[labels[column]].tolist())
                values[sample] = str(cell) if isinstance(values[sample], str) and cell is not None else cell
    for label, values in new.items():
        frame[label] = retyped(values, frame[label])
    parted = {column for how in encoder.preparations.values() if how.is_part for column in how.columns}
    return frame.drop(columns=[labels[column] for column in parted if column in labels])


def changed_row(network: Network, row: Sequence[Any], changes: Mapping[str, tuple[Any, Any]]) -> list[Any]:
    """Return a sample with its changes made."""
    pairs = zip(network.encoder.names, row, strict=True)
    return [changes[name][1] if name in changes else value for name, value in pairs]


def feature_columns(network: Network, rows: Sequence[Sequence[Any] | None]) -> dict[str, Column]:
    """Return samples as one column per feature; None for an unknown sample.

    Days and seconds become dates, with the name of the column that they are read from.
    """
    encoder, unknown = network.encoder, [None] * network.encoder.features
    columns = zip(*(unknown if row is None else row for row in rows), strict=True)
    table = {}
    for name, coding, values in zip(encoder.names, encoder.codings, columns, strict=True):
        label, dates = _dated(encoder, name, values)
        table[label] = Column("date", dates) if label != name else _column(coding, values)
    return table


def _dated(encoder: Encoder, name: str, values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return days and seconds as dates, with the name of their column; other values as they are."""
    how = encoder.preparations.get(name)
    if how is not None and how.how in ("days", "seconds"):
        dates = [how.cells(value, encoder.codings[0])[how.columns[0]] for value in values]
        if all(value is None or isinstance(value, date) for value in dates):
            return how.columns[0], dates
    return name, values


def _column(coding: Any, values: Sequence[Any]) -> Column:
    """Return the values of a feature: a category, bools, or integers or floats if these are exact."""
    known = [value for value in values if value is not None]
    if known and set(map(type, known)) <= {bool}:
        return Column("bool", values)
    if isinstance(coding, OneHot):
        return Column("category", values, [one for one in coding.categories if one is not None])
    if not isinstance(coding, Real) and (coding.whole or coding.bipolar):
        if all(value == int(value) and abs(value) < _LARGEST for value in known):
            return Column("int", [value if value is None else int(value) for value in values])
    elif all(Fraction(value) == float(value) for value in known):
        return Column("float", [value if value is None else float(value) for value in values])
    return Column("object", values)


def change_columns(
    changes: Sequence[tuple[str, int, bool] | None], classes: Sequence[str]
) -> dict[str, Column]:
    """Return the columns that only counterfactuals have: class after, number of changes, whether minimum."""
    after, numbers, minima = zip(*((None,) * 3 if one is None else one for one in changes), strict=True)
    return {
        "label_after": Column("category", after, classes),
        "n_changes": Column("int", numbers),
        "is_minimum": Column("bool", minima),
    }


def long_form(network: Network, changes: Iterable[Mapping[str, tuple[Any, Any]]], index: Any = None) -> Any:
    """Return changes per sample as a pandas data frame, one row per change."""
    rows = []
    for sample, one in enumerate(changes):
        for name, ends in one.items():
            label, (start, end) = _dated(network.encoder, name, ends)
            rows.append((sample, label, start, end))
    numbers, names, before, after = zip(*rows, strict=True) if rows else [()] * 4
    columns = {
        "sample": Column("int", numbers),
        "feature": Column("text", names),
        "before": Column("object", before),
        "after": Column("object", after),
    }
    return pandas_frame(columns, None if index is None else index[list(numbers)])


def _given(answer: Answer | None, name: str) -> Any:
    return getattr(answer, name, None)
