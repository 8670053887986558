"""scikit-learn pipelines as one exact network over the raw columns.

The steps before the classifier are followed column by column (`sugenet.fit.steps`). Each bit of the
classifier's network is then a function of one raw column. A raw number gets the cuts at which scikit-learn's
own float computation passes a cut of the network. A raw category keeps its categories. The weights of the
first layer are added up per raw value. So no answer is about a scaled number or a one-hot column.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, isfinite, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError, NetworkError, SoundnessError
from sugenet.fit.columns import ColumnType, RawColumn, alone_among, by_beginning, one_hot_groups
from sugenet.fit.encoding import short_between
from sugenet.fit.steps import Cells, StepColumn, as_column, follow, least_reaching
from sugenet.fit.weights import taken
from sugenet.io.exact.report import ImportProof, ImportReport
from sugenet.nn import (
    NEVER,
    Coding,
    Columns,
    Encoder,
    Head,
    Layer,
    Network,
    OneHot,
    Preparation,
    Span,
    Steps,
    is_gap,
    network_of,
    unused,
)
from sugenet.nn.arrays import Ints
from sugenet.nn.layers import dense_layer
from sugenet.nn.samples import rows_of

__all__ = ["TrainingColumns", "compose", "from_sklearn"]

_MAX = float(np.finfo(np.float64).max)
_EXACT = 2.0**53
_RANDOM = 200
"""Number of random rows that are compared with the pipeline."""
_MOST_VALUES = 1000
"""Largest number of values of a column that tell whether a step before the classifier scaled integers."""
_DAYS = 30_000
"""Days before and after 1970-01-01 of which dates are compared."""


def from_sklearn(model: Any, X: Any = None) -> Network:
    """Read a fitted pipeline of scikit-learn that ends with a `BNNClassifier`, as one network over its raw
    columns.

    Parameters
    ----------
    model : Pipeline, BNNClassifier or Network
        The fitted pipeline, or the classifier alone.
    X : data frame or array, default: None
        Rows in raw columns, such as the training data. They tell which number columns hold integers only,
        which are one-hot, and the range of each column. None: the range is that of the training data, as far
        as the steps recorded it. If the steps hide whether a column holds integers, its values are numbers;
        a warning and the `report` of the network name such columns.

    Returns
    -------
    Network
        The exact network. It predicts what the pipeline predicts. Its `report` lists raw columns that have no
        effect and describes the comparison with the pipeline.

    Raises
    ------
    EncodingError
        If a step cannot be turned around. The message names it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sugenet.fit import BNNClassifier
    >>> X = np.arange(40.0)[:, None]
    >>> pipe = make_pipeline(StandardScaler(), BNNClassifier((2,), cuts=1, epochs=5, random_state=0))
    >>> net = from_sklearn(pipe.fit(X, X[:, 0] > 20))
    >>> net.encoder.words(0), net.predict_one([30.0]) == str(pipe.predict([[30.0]])[0])
    ('x1 >= 20', True)

    See Also
    --------
    BNNClassifier : the classifier.
    from_torch : reads a PyTorch module.
    """
    return network_of(model, X)


@dataclass(frozen=True)
class TrainingColumns:
    """What the columns that a classifier was trained with tell about the raw columns of a pipeline."""

    values: tuple[Cells | None, ...] = ()
    """Different values of each column; None if they are many, or not numbers."""
    groups: tuple[tuple[int, ...], ...] = ()
    """Columns of two values each, of which exactly one had its larger value in every row."""
    declared: frozenset[str] = frozenset()
    """Columns whose types were given."""

    @classmethod
    def of(cls, columns: Sequence[RawColumn], types: Mapping[str, str] | None) -> TrainingColumns:
        """Return what columns tell; `types` as in `understand`."""
        values = tuple(map(_different, columns))
        switches = [
            RawColumn(str(index), np.where(column.gaps, np.nan, _floats(column) == known[1]))
            for index, (column, known) in enumerate(zip(columns, values, strict=True))
            if known is not None and len(known) == 2 and column.name not in (types or {})
        ]
        groups = one_hot_groups(switches)
        return cls(
            values, tuple(tuple(map(int, group)) for group in groups), frozenset(map(str, types or ()))
        )


def compose(pipeline: Any, network: Network, seen: TrainingColumns | None = None, X: Any = None) -> Network:
    """Return a network over the raw columns of a pipeline, whose last step predicts with a given network.

    Parameters
    ----------
    pipeline
        The fitted pipeline.
    network
        The network of its last step.
    seen
        The columns that the last step was trained with.
    X
        As in `from_sklearn`.
    """
    steps = [(name, step) for name, step in pipeline.steps[:-1] if step is not None and step != "passthrough"]
    if not steps:
        return network if X is None else network.with_training_range(X)
    if network.domain.laws:
        raise NetworkError("the network has laws over columns that the steps before the classifier made.")
    if network.passes_reals:
        raise NetworkError("the network of the classifier reads real numbers: import it with cuts.")
    n_columns = next((int(step.n_features_in_) for _, step in steps if hasattr(step, "n_features_in_")), None)
    if n_columns is None:
        raise EncodingError("the pipeline is not fitted. Call fit first.")
    named = getattr(steps[0][1], "feature_names_in_", None)
    names = [f"x{i}" for i in range(1, n_columns + 1)] if named is None else [str(name) for name in named]
    columns = [StepColumn(index, lambda cells: cells) for index in range(n_columns)]
    fillers: dict[int, Any] = {}
    for name, step in steps:
        columns = follow(step, f"step {name}", columns, fillers)
    rows = None if X is None else rows_of(X, names)
    made = _Composition(network, columns, names, seen or TrainingColumns(), rows)
    composed = made.composed if X is None else made.composed.with_training_range(made.readable(X))
    if X is not None and network.domain:
        composed = composed.anywhere().within("data")
    if made.unsure:
        warnings.warn(made.unsure, UserWarning, stacklevel=5)
    return made.proved(composed, pipeline, named, fillers)


@dataclass(frozen=True)
class _Inner:
    """A feature of the classifier's network, or one column of a one-hot group, and its source."""

    name: str
    coding: Coding
    preparation: Preparation
    columns: tuple[StepColumn, ...]
    bits_read: tuple[int, ...]
    """Its bits in the network."""
    seen: Span | None
    values: Cells | None
    """Different values in training, if they are known."""

    @property
    def is_date(self) -> bool:
        """Whether it is a part of a date."""
        return self.preparation.how not in ("value", "one-hot", "ranges")

    @property
    def is_group(self) -> bool:
        """Whether it is read from one-hot columns."""
        return self.preparation.how == "one-hot"

    def parts(self) -> list[_Inner]:
        """Return the feature; for a one-hot group one part per column, since a step may have made each of
        another raw column.
        """
        if len(self.columns) == 1:
            return [self]
        return [
            _Inner(
                name,
                Steps((1.0,)),
                Preparation((name,)),
                (column,),
                (bit,),
                None if self.seen is None else Span(values=(0, 1)),
                None,
            )
            for name, column, bit in zip(self.preparation.columns, self.columns, self.bits_read, strict=True)
        ]

    def bits(self, cells: Cells) -> npt.NDArray[np.bool_]:
        """Return its bits for raw values; domains of numbers do not matter."""
        free = Steps(self.coding.cuts) if isinstance(self.coding, Steps) else self.coding
        return Encoder([free], ["x"]).encode(np.stack([self.read(cells)], axis=1))

    def read(self, cells: Cells) -> Cells:
        """Return its values for raw values."""
        table = [_plain(column.values(cells)) for column in self.columns]
        return self.preparation.read(table, self.coding, str)


@dataclass(frozen=True)
class _Raw:
    """A feature of the composed network, with the bits of the classifier's network in each of its states."""

    first: int
    """Index of its first raw column."""
    name: str
    coding: Coding
    preparation: Preparation
    seen: Span | None
    bits: npt.NDArray[np.bool_]
    """One row per state, one column per bit of `bits_read`."""
    bits_read: tuple[int, ...]
    """Bits of the classifier's network."""


class _Composition:
    """The parts of the composed network."""

    def __init__(
        self,
        network: Network,
        columns: list[StepColumn],
        names: list[str],
        seen: TrainingColumns,
        rows: Cells | None,
    ) -> None:
        self.network, self.columns, self.names = network, columns, names
        self.values = seen.values or (None,) * len(columns)
        self.rows = rows
        self.hidden: list[str] = []
        """Raw columns of which the steps hide whether they hold integers."""
        encoder = network.encoder
        self.door = encoder.columns or Columns(encoder.names, tuple(Preparation((n,)) for n in encoder.names))
        if len(self.door.names) != len(columns):
            raise EncodingError(
                f"the steps make {len(columns)} columns, but the classifier reads {len(self.door.names)}. "
                "Fit the pipeline again."
            )
        inner = [self._inner(index) for index in range(encoder.features)]
        users = Counter(column.raw for one in inner for column in one.columns)
        changed = {c.raw for one in inner for c in one.columns if not c.is_raw or c.fills}
        groups = self._groups(seen, inner)
        grouped = {raw for group in groups for raw in group}
        kept, by_raw = [], dict[int | None, list[_Inner]]()
        for one in inner:
            raws = {column.raw for column in one.columns}
            if not raws & (changed | grouped) and (one.is_date or all(users[raw] == 1 for raw in raws)):
                kept.append(self._unchanged(one))
                continue
            if one.is_date:
                raise EncodingError(f"{one.name} is a date, but a step reads its column as well.")
            for part in one.parts():
                by_raw.setdefault(part.columns[0].raw, []).append(part)
        self.constant = by_raw.pop(None, [])
        alone = alone_among([tuple(names[raw] for raw in group) for group in groups], names)
        made = [self._group(group, [by_raw.pop(raw, []) for raw in group], alone) for group in groups]
        made += [self._feature(raw, group) for raw, group in by_raw.items() if raw is not None]
        self.features = sorted([*kept, *made], key=lambda one: one.first)

    def readable(self, X: Any) -> Any:
        """Return the rows of X without those whose gaps no value of a feature stands for."""
        assert self.rows is not None
        kept = np.ones(len(self.rows), bool)
        for feature in self.features:
            names, fill = feature.preparation.columns, feature.preparation.fill
            if fill is None and not (
                isinstance(feature.coding, OneHot) and None in feature.coding.categories
            ):
                cells = self.rows[:, [self.names.index(name) for name in names]]
                kept &= ~np.array([any(map(is_gap, row)) for row in cells.tolist()])
        return X if kept.all() or not kept.any() else taken(X, np.flatnonzero(kept))

    @property
    def unsure(self) -> str:
        """What the steps hide about raw columns; empty if nothing."""
        if not self.hidden:
            return ""
        names = ", ".join(dict.fromkeys(self.hidden))
        return (
            "The steps hide whether these columns hold integers or are one-hot, so answers may show other "
            f"values: {names}. Give the training data in raw columns: net = sugenet.from_sklearn(pipe, X)."
        )

    def _groups(self, seen: TrainingColumns, inner: Sequence[_Inner]) -> list[tuple[int, ...]]:
        """Return groups of raw columns that are one-hot: as the classifier saw them, or the rows.

        The classifier's columns tell it if scaling gives them for 0 and 1 and for nothing else.
        """
        door = self.door.names
        taken = {column.raw for name, column in zip(door, self.columns, strict=True) if name in seen.declared}
        known = {
            index: column.raw
            for index, (column, values) in enumerate(zip(self.columns, self.values, strict=True))
            if column.raw is not None and column.is_injective and _are_made_of(column, values, 0.0, 1.0)
        }
        certain = {raw for index, raw in known.items() if not self.columns[index].fills}
        inside = [[door.index(name) for name in one.preparation.columns] for one in inner if one.is_group]
        groups: list[tuple[int, ...]] = []
        for members in (*seen.groups, *inside):
            raws = tuple(sorted({known[index] for index in members if index in known}))
            if len(raws) == len(members) and taken.isdisjoint(raws):
                groups.append(raws)
                taken.update(raws)
        if self.rows is not None:
            cells = [
                RawColumn(name, as_column(self.rows[:, i].tolist())) for i, name in enumerate(self.names)
            ]
            switches = [one for i, one in enumerate(cells) if i not in taken and one.is_switch]
            raw_groups = [tuple(map(self.names.index, names)) for names in one_hot_groups(switches)]
            groups += [raws for raws in raw_groups if not set(raws) <= certain]
        else:
            self.hidden += self._loose(set().union(*groups))
        return groups

    def _loose(self, grouped: set[int]) -> list[str]:
        """Return raw columns that may be one-hot except for gaps that a step filled."""
        loose = {
            self.names[column.raw]
            for column, values in zip(self.columns, self.values, strict=True)
            if column.raw is not None and column.raw not in grouped and column.fills
            if values is not None and len(values) in (2, 3)
        }
        several = [members for members in by_beginning(sorted(loose)) if len(members) > 1]
        return [
            name for index, name in enumerate(sorted(loose)) if any(index in inside for inside in several)
        ]

    def _inner(self, index: int) -> _Inner:
        encoder, preparation = self.network.encoder, self.door.features[index]
        numbers = [self.door.names.index(name) for name in preparation.columns]
        return _Inner(
            encoder.names[index],
            encoder.codings[index],
            preparation,
            tuple(self.columns[number] for number in numbers),
            tuple(encoder.group(index)),
            None if encoder.seen is None else encoder.seen[index],
            self.values[numbers[0]],
        )

    def _unchanged(self, one: _Inner) -> _Raw:
        """Return a feature that is read from raw columns as they are."""
        raws = [column.raw or 0 for column in one.columns]
        titles = tuple(self.names[raw] for raw in raws)
        name, coding, seen = one.name.replace(one.preparation.columns[0], titles[0], 1), one.coding, one.seen
        bits = np.stack([coding.bits(state) for state in range(coding.states)])
        preparation = replace(one.preparation, columns=titles)
        return _Raw(min(raws), name, coding, preparation, seen, bits, one.bits_read)

    def _group(self, raws: tuple[int, ...], readers: list[list[_Inner]], alone: set[tuple[str, ...]]) -> _Raw:
        """Return a feature that is read from one-hot columns, through the steps."""
        titles = tuple(self.names[raw] for raw in raws)
        kind = ColumnType(titles, "one-hot", "", 0, None, is_alone=titles in alone)
        coding = OneHot(kind.categories)
        parts = [(column, one) for column, inside in enumerate(readers) for one in inside]
        states = np.eye(len(raws))
        bits = np.concatenate(
            [np.zeros((len(raws), 0), bool), *(one.bits(states[column]) for column, one in parts)], axis=1
        )
        inside = [one for _, one in parts]
        preparation = Preparation(titles, "one-hot", fill=_fill(inside, coding, bits))
        seen = None if self.network.encoder.seen is None else Span(values=kind.categories)
        bits_read = tuple(bit for one in inside for bit in one.bits_read)
        return _Raw(min(raws), kind.name, coding, preparation, seen, bits, bits_read)

    def _feature(self, raw: int, group: list[_Inner]) -> _Raw:
        """Return a feature that is read from one raw column, through the steps."""
        limited = [one.columns[0].categories for one in group if one.columns[0].categories is not None]
        limited += [
            one.coding.categories
            for one in group
            if isinstance(one.coding, OneHot) and one.columns[0].is_raw and not one.preparation.cuts
        ]
        coding: Coding
        if not limited and self._is_sign(raw, group):
            limited = [(-1, 1)]
        if limited:
            coding = self._categories(raw, group, limited)
            cells = _cells(coding.categories)
        else:
            coding = self._number(raw, group)
            cells = np.array([_some_value(coding, state) for state in range(coding.states)])
        bits = np.concatenate([one.bits(cells) for one in group], axis=1)
        if isinstance(coding, Steps):
            changes = (bits[1:] != bits[:-1]).any(axis=1)
            bits = bits[np.append(True, changes)]
            coding = replace(coding, cuts=tuple(np.array(coding.cuts)[changes].tolist()))
        bits_read = tuple(bit for one in group for bit in one.bits_read)
        preparation = Preparation((self.names[raw],), fill=_fill(group, coding, bits))
        return _Raw(raw, self.names[raw], coding, preparation, _seen(group, coding), bits, bits_read)

    def _categories(self, raw: int, group: list[_Inner], limited: list[tuple[Any, ...]]) -> OneHot:
        """Return the values that all steps know, and that the classifier can read."""
        known = [
            value
            for value in limited[0]
            if all(value in other or (is_gap(value) and any(map(is_gap, other))) for other in limited[1:])
            and _is_readable(group, value)
        ]
        if not known:
            raise EncodingError(f"the steps have no category of {self.names[raw]} in common.")
        return OneHot(tuple(None if isinstance(value, float) and is_gap(value) else value for value in known))

    def _number(self, raw: int, group: list[_Inner]) -> Steps:
        """Return the cuts at which a bit can change, and the range in which the steps give finite numbers."""
        low, high = -inf, inf
        columns = list({id(one.columns[0].gauge or one): one.columns[0] for one in group}.values())
        for column in columns:
            below, above = _finite(column, self.names[raw])
            low, high = max(low, below), min(high, above)
        ends = max(low, -_MAX), min(high, _MAX)
        cuts: set[float | None] = set()
        for column in columns:
            if column.gauge is not None:
                marks = {
                    mark
                    for one in group
                    for mark in one.columns[0].marks
                    if one.columns[0].gauge is column.gauge
                }
                cuts.update(least_reaching(column.gauge, sorted(marks), *ends))
        for one in group:
            if one.columns[0].gauge is not None:
                continue
            if isinstance(one.coding, OneHot) and not one.preparation.cuts:
                raise EncodingError(
                    f"{self.names[raw]} is a number, but the classifier reads it as a category. Give the "
                    "classifier types= that say 'number'."
                )
            targets = one.coding.cuts if isinstance(one.coding, Steps) else one.preparation.cuts
            cuts.update(least_reaching(one.columns[0].values, targets, *ends))
        unchanged = [one.coding for one in group if isinstance(one.coding, Steps) and one.columns[0].is_raw]
        low, high = (
            max([low, *(coding.low for coding in unchanged)]),
            min([high, *(coding.high for coding in unchanged)]),
        )
        whole = any(coding.whole for coding in unchanged) or self._is_integer(raw, group)
        rising = {float(ceil(cut)) if whole else cut for cut in cuts if cut is not None and cut > ends[0]}
        inside = tuple(sorted(cut for cut in rising if low < cut <= high))
        return Steps(inside, low, high, whole, whole and any(coding.bipolar for coding in unchanged))

    def _is_sign(self, raw: int, group: list[_Inner]) -> bool:
        """Return whether the values known from training are -1 and +1 in the raw column."""
        told = [
            _are_made_of(one.columns[0], one.values, -1.0, 1.0)
            for one in group
            if one.values is not None and one.columns[0].is_injective
        ]
        if told or self.rows is None:
            return any(told)
        return RawColumn("", as_column(self.rows[:, raw].tolist())).different == [-1, 1]

    def _is_integer(self, raw: int, group: list[_Inner]) -> bool:
        """Return whether all values known from training are integers in the raw column."""
        if self.rows is not None:
            known = [float(value) for value in self.rows[:, raw].tolist() if not is_gap(value)]
            return all(value.is_integer() for value in known)
        told = [_comes_from_integers(one.columns[0], one.values) for one in group]
        told += [False for one in group if not all(map(float.is_integer, one.columns[0].ends or ()))]
        if set(told) == {None} and not any(one.columns[0].is_raw for one in group):
            self.hidden.append(self.names[raw])
        return any(told)

    # -- weights -------------------------------------------------------------------------------------------

    @cached_property
    def composed(self) -> Network:
        """The network."""
        network, features = self.network, self.features
        first = network.layers[0].dense() if network.layers else network.head
        rows = first.weights if isinstance(first, Head) else first.rows()
        rows = (
            np.repeat(rows, first.tops, axis=1) if first.tops is not None and network.reads_levels else rows
        )
        constant = np.zeros(len(rows), np.int64)
        for one in self.constant:
            bits = one.bits(np.zeros(1))[0]
            constant += rows[:, list(one.bits_read)] @ bits
        blocks = [np.zeros((len(rows), 0), np.int64)]
        for feature in features:
            sums = feature.bits.astype(np.int64) @ rows[:, list(feature.bits_read)].T
            if isinstance(feature.coding, OneHot):
                blocks.append(sums.T)
            else:
                constant += sums[0]
                blocks.append(np.diff(sums, axis=0).T)
        encoder = Encoder(
            [feature.coding for feature in features],
            [feature.name for feature in features],
            seen=None if network.encoder.seen is None else [feature.seen or Span() for feature in features],
            columns=Columns(tuple(self.names), tuple(feature.preparation for feature in features)),
        )
        weights = np.concatenate(blocks, axis=1)
        made = (
            replace(network, encoder=encoder, head=_shifted_head(first, weights, constant))
            if isinstance(first, Head)
            else replace(
                network,
                encoder=encoder,
                layers=(_shifted_layer(first, blocks[1:], weights, constant, encoder), *network.layers[1:]),
            )
        )
        made = made.anywhere()
        return made.within("data") if network.domain else made

    # -- comparison ----------------------------------------------------------------------------------------

    def proved(self, network: Network, pipeline: Any, named: Any, fillers: dict[int, Any]) -> Network:
        """Return the network, after comparing it with the pipeline at every cut, on both sides, and at
        random.
        """
        rows, near = self._samples(network)
        table = _raw_table(network, rows, self.names, fillers)
        self._put_dates(network, rows, table)
        with np.errstate(all="ignore"):
            scores = pipeline.decision_function(_frame(table, named))
        logits = network.logits(rows)
        expected = logits[:, 1] - logits[:, 0] if len(network.classes) == 2 else logits
        if not np.array_equal(np.asarray(scores), expected):
            row = int(np.argmax(np.asarray(scores != expected).reshape(len(expected), -1).any(axis=1)))
            raise SoundnessError(
                f"the pipeline and the composed network differ for {rows[row].tolist()}. Please report this."
            )
        read = {name for feature in self.features for name in feature.preparation.columns}
        unread = [name for name in self.names if name not in read]
        remarks = [f"raw columns without effect: {', '.join(unread)}"] if unread else []
        remarks += [self.unsure] if self.unsure else []
        proof = ImportProof(("the pipeline",), len(rows), near, 0, (), 0, scores.size, 0, 0)
        return ImportReport(network, (), tuple(remarks), proof=proof).reported

    def _put_dates(self, network: Network, rows: Cells, table: list[Cells]) -> None:
        """Put dates into columns that are read as their year, month or weekday."""
        by_column: dict[str, list[int]] = {}
        for index, feature in enumerate(self.features):
            if feature.preparation.is_part:
                by_column.setdefault(feature.preparation.columns[0], []).append(index)
        for name, features in by_column.items():
            dates = np.arange(-_DAYS, _DAYS).astype("datetime64[D]")
            codings = [network.encoder.codings[index] for index in features]
            parts = [
                self.features[index].preparation.read([dates], unused(whole=True), str) for index in features
            ]
            known = [
                all(_has(coding, value) for coding, value in zip(codings, values, strict=True))
                for values in zip(*(part.tolist() for part in parts), strict=True)
            ]
            chosen = np.random.default_rng(0).choice(np.flatnonzero(known), len(rows))
            table[self.names.index(name)] = dates[chosen].astype("datetime64[s]")
            for index, part in zip(features, parts, strict=True):
                rows[:, index] = part[chosen].tolist()

    def _samples(self, network: Network) -> tuple[Cells, int]:
        """Return rows to compare: each cut and both neighbours, each category, and random rows."""
        rng = np.random.default_rng(0)
        pools = [_edges(coding) for coding in network.encoder.codings]
        near = max(len(pool) for pool in pools)
        rows = np.empty((near + _RANDOM, len(pools)), dtype=object)
        for feature, pool in enumerate(pools):
            chosen = rng.integers(len(pool), size=len(rows))
            chosen[: len(pool)] = rng.permutation(len(pool))
            rows[:, feature] = [pool[index] for index in chosen]
        return rows, near


def _cells(values: Sequence[Any]) -> Cells:
    """Return raw values as scikit-learn has them: NaN for the category None."""
    return as_column([np.nan if value is None else value for value in values])


def _plain(column: Cells) -> Cells:
    return column.astype(np.float64) if column.dtype.kind in "iuf" else column


def _some_value(coding: Steps, state: int) -> float:
    """Return a value of a state: one of its ends, if one is finite."""
    ends = coding.interval(state)
    return next((float(end) for end in ends or () if isfinite(end)), 0.0)


def _is_readable(group: Sequence[_Inner], value: Any) -> bool:
    """Return whether the classifier can read what the steps make of a category."""
    try:
        for one in group:
            one.bits(_cells([value]))
    except EncodingError:
        return False
    return True


def _floats(column: RawColumn) -> Cells:
    """Return the numbers of a column, with NaN for gaps."""
    out = np.full(len(column.values), np.nan)
    out[~column.gaps] = column.numbers
    return out


def _different(column: RawColumn) -> npt.NDArray[np.float64] | None:
    """Return the different values of a column of numbers, in order; None if they are many, or not numbers."""
    numbers = column.numbers
    if numbers is None or len(np.unique(numbers[: 2 * _MOST_VALUES])) > _MOST_VALUES:
        return None
    values = np.unique(numbers)
    return values if np.isfinite(values).all() and len(values) <= _MOST_VALUES else None


def _are_made_of(column: StepColumn, values: Cells | None, low: float, high: float) -> bool:
    """Return whether the values of a column are those that the steps make of two raw numbers alone.

    A scaler that clips gives one value to many numbers.
    """
    if values is None or len(values) != 2:
        return False
    step = (high - low) / (1 << 20)
    made = column.values(np.array([low, low + step, high - step, high])).astype(np.float64).tolist()
    is_same = made[0] == values[0] and made[3] == values[1]
    return bool(is_same and made[0] < made[1] and made[2] < made[3])


def _comes_from_integers(column: StepColumn, values: Cells | None) -> bool | None:
    """Return whether a scaled column has exactly the values that the scaling gives for some integers.

    Values that fill gaps are left out. None: the steps or the values do not tell.
    """
    if values is None or not column.is_affine:
        return None
    if column.is_raw or len(values) < 2:
        return column.is_raw and all(float(value).is_integer() for value in values)
    if _are_scaled_integers(column, values):
        return True
    fills = [fill for fill in column.fills if isinstance(fill, int | float)]
    others = values[~np.isin(values, column.values(np.array(fills)))] if fills else values[:0]
    return len(others) > 1 and _are_scaled_integers(column, others)


def _are_scaled_integers(column: StepColumn, values: Cells) -> bool:
    """Return whether scaling gives these values for some integers."""
    low, high = least_reaching(column.values, [values[0], values[-1]], -_EXACT, _EXACT)
    if low is None or high is None:
        return False
    near = np.rint(low + (values - values[0]) / (values[-1] - values[0]) * (high - low))
    rest = values[column.values(near) != values]  # large integers are not found by proportion
    for some in (rest[:1], rest) if len(rest) else ():
        reached = least_reaching(column.values, some.tolist(), -_EXACT, _EXACT)
        if None in reached or not np.array_equal(column.values(np.ceil(np.array(reached, float))), some):
            return False
    return True


def _finite(column: StepColumn, name: str) -> tuple[float, float]:
    """Return the raw numbers for which the steps give finite numbers: smallest and largest; infinite if all
    are.
    """
    if column.is_raw:
        return -inf, inf

    def is_finite(cells: Cells) -> Cells:
        return np.isfinite(np.asarray(column.values(cells), np.float64))

    if is_finite(np.array([-_MAX, _MAX])).all():
        return -inf, inf
    middle = column.ends[0] if column.ends else 0.0
    if not is_finite(np.array([middle]))[0]:
        raise EncodingError(f"{name}: the steps give no finite number at {middle}.")
    low = least_reaching(is_finite, [1.0], -_MAX, middle)[0]
    beyond = least_reaching(lambda cells: ~is_finite(cells), [1.0], middle, _MAX)[0]
    assert low is not None
    return -inf if low == -_MAX else low, inf if beyond is None else nextafter(beyond, -inf)


def _fill(group: Sequence[_Inner], coding: Coding, bits: npt.NDArray[np.bool_]) -> Any:
    """Return a value that the classifier reads as it reads a gap; None if nothing fills gaps."""
    fills = [fill for one in group for column in one.columns for fill in column.fills]
    if not fills and all(one.preparation.fill is None for one in group):
        return None
    gap = np.array([np.nan]) if isinstance(coding, Steps) else np.array([np.nan], dtype=object)
    try:
        wanted = np.concatenate([one.bits(gap) for one in group], axis=1)
    except (EncodingError, ValueError):  # not all steps that read the column fill its gaps
        return None
    same = np.flatnonzero((bits == wanted).all(axis=1)).tolist()
    for fill in fills:
        if fill is not None and _has(coding, fill) and coding.state(fill) in same:
            return fill
    if not same:
        return None
    return coding.categories[same[0]] if isinstance(coding, OneHot) else _some_value(coding, same[0])


def _has(coding: Coding, value: Any) -> bool:
    return value in coding.categories if isinstance(coding, OneHot) else coding.has(value)


def _seen(group: Sequence[_Inner], coding: Coding) -> Span | None:
    """Return the training range in raw values, from the values that the classifier and the steps saw."""
    if any(one.seen is None for one in group):
        return None
    if isinstance(coding, OneHot):
        cells = _cells(coding.categories)
        kept = np.ones(len(cells), bool)
        for one in group:
            assert one.seen is not None
            kept &= [one.seen.holds(value) for value in one.read(cells).tolist()]
        values = tuple(value for value, is_seen in zip(coding.categories, kept, strict=True) if is_seen)
        return Span(values=values) if values else None
    span: Span | None = Span()
    for one in group:
        for column in one.columns:
            limit = Span(*column.ends) if column.ends is not None else _raw_span(column, one.seen, coding)
            span = None if span is None or limit is None else span.both(limit)
    return span


def _raw_span(column: StepColumn, seen: Span | None, coding: Steps) -> Span | None:
    """Return the raw numbers that a rising column mapped to the values seen, in their shortest spelling."""
    if column.is_raw or seen is None:
        return seen
    if not column.is_affine or any(isinstance(value, str) for value in seen.values or ()):
        return Span()  # many raw numbers have the same value, or are in one range
    ends = seen.values if seen.values is not None else (seen.low, seen.high)
    low, high = max(coding.ends[0], -_MAX), min(coding.ends[1], _MAX)
    targets = [float(end) for end in ends]
    first = least_reaching(column.values, targets, low, high)
    beyond = least_reaching(column.values, [nextafter(target, inf) for target in targets], low, high)
    raw = [
        short_between(nextafter(a, -inf), high if b is None else nextafter(b, -inf), False)
        for a, b in zip(first, beyond, strict=True)
        if a is not None
    ]
    if len(raw) < len(targets):
        return None
    return Span(raw[0], raw[1]) if seen.values is None else Span(values=tuple(raw))


def _shifted_layer(
    first: Layer, blocks: Sequence[Ints], weights: Ints, constant: Ints, encoder: Encoder
) -> Layer:
    """Return a first layer over other bits, for the same sums minus a constant."""
    tops = None
    if first.tops is not None and encoder.tops is not None and all((b == b[:, :1]).all() for b in blocks):
        tops = np.array(encoder.tops, np.int64)  # one weight per feature, as before
        weights = np.stack([b[:, 0] if b.shape[1] else np.zeros(len(b), np.int64) for b in blocks], axis=1)
    sizes = np.ones(weights.shape[1], np.int64) if tops is None else tops
    lowest = np.minimum(weights, 0) @ sizes
    wanted = first.sum_thresholds
    taus = np.where(wanted == NEVER, NEVER, wanted - (constant + lowest)[:, None])
    if first.is_binary:
        return dense_layer(weights, np.minimum(taus[:, 0], 1 << 40), tops, **first.marks)
    return dense_layer(weights, taus, tops)


def _shifted_head(head: Head, weights: Ints, constant: Ints) -> Head:
    """Return a head over other bits with the same scores: its sums are those before, minus a constant."""
    bare = Head(weights, 0, head.scale)
    bias = [
        old + scale * (2 * int(shift) + int(size) - int(old_size))
        for old, scale, shift, size, old_size in zip(
            head.bias, head.scale, constant - head.lowest + bare.lowest, bare.sizes, head.sizes, strict=True
        )
    ]
    return Head(weights, bias, head.scale)


def _edges(coding: Coding) -> list[Any]:
    """Return the values of a feature at which its bits can change, and their neighbours."""
    if isinstance(coding, OneHot):
        return list(coding.categories)
    step = 1.0 if coding.whole else 0.0
    values = [0.0, *coding.cuts, *(end for end in (*coding.ends, coding.low, coding.high) if isfinite(end))]
    for cut in coding.cuts:
        values += [cut - step, cut + step] if step else [nextafter(cut, -inf), nextafter(cut, inf)]
    return sorted({value for value in values if coding.has(value)}) or [_some_value(coding, 0)]


def _raw_table(network: Network, rows: Cells, names: Sequence[str], fillers: dict[int, Any]) -> list[Cells]:
    """Return samples as raw columns, one array each."""
    assert network.encoder.columns is not None
    known: dict[str, Cells] = {}
    for feature, preparation in enumerate(network.encoder.columns.features):
        cells = [np.nan if value is None else value for value in rows[:, feature].tolist()]
        coding = network.encoder.codings[feature]
        if preparation.how == "one-hot" and isinstance(coding, OneHot):
            for category, name in zip(coding.categories, preparation.columns, strict=False):
                known[name] = np.array([float(value == category) for value in rows[:, feature].tolist()])
        else:
            known[preparation.columns[0]] = as_column(cells)
    return [
        known.get(name, as_column([fillers.get(index, 0.0)] * len(rows))) for index, name in enumerate(names)
    ]


def _frame(columns: Sequence[Cells], named: Any) -> Any:
    """Return raw columns as the pipeline was fitted: a data frame if it has names, else an array."""
    if named is None:
        return np.stack(columns, axis=1)
    import pandas as pd  # type: ignore[import-untyped]

    return pd.DataFrame(dict(zip(named, columns, strict=True)))
