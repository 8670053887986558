"""Boolean inputs of a model: the bits themselves, or comparisons of raw features with thresholds.

A Boolean ``x >= threshold`` is a bit of the encoder, so that questions and answers are about the feature.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, nextafter
from typing import Any

import numpy as np

from sugenet.capacity.thresholds import exact_number
from sugenet.errors import FileError, SugenetError
from sugenet.io.exact.domains import Bits, Inputs, Integers, Reals
from sugenet.io.exact.ops import LinearOp, Op, Sign
from sugenet.io.exact.report import ImportReport
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.nn import Encoder, Steps
from sugenet.nn.arrays import Array, Doubles, Ints
from sugenet.nn.arrays import Bits as BitArray

__all__ = ["Booleans", "read_booleans"]

_ROWS = 64
"""Number of samples on which an encoder is compared with its source."""


@dataclass(frozen=True, eq=False)
class Booleans:
    """Boolean inputs of a model as values that the encoder gives."""

    encoder: Encoder
    columns: Ints
    """For each Boolean input, the index of its value after `stem`."""
    stem: tuple[Op, ...] = ()
    """Operations between the bits of the encoder and these values."""
    transform: Callable[[Array], Any] | None = None
    """The function of the source that makes Booleans of raw rows, by code of its own; None: not known."""

    @property
    def width(self) -> int:
        """Number of values after `stem`."""
        last = self.stem[0] if self.stem else None
        return len(last.weights) if isinstance(last, LinearOp) else self.encoder.width

    def read(self, x: Array) -> BitArray:
        """Return the Boolean inputs for rows of encoder bits, without `stem`."""
        on = x > 0.5
        if self.stem:  # a bin: its lower edge is reached, its upper one is not
            parts = [on[:, self.encoder.group(k)] for k in range(self.encoder.features)]
            edges = [np.pad(part, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0))) for part in parts]
            on = np.hstack([edge[:, :-1] & ~edge[:, 1:] for edge in edges])
        return np.asarray(on[:, self.columns])

    def placed(self, imported: ImportReport, names: Iterable[object] | None) -> ImportReport:
        """Return an import over bits as one over the raw features."""
        encoder = self.encoder if names is None else replace(self.encoder, names=tuple(map(str, names)))
        network = replace(imported.network, encoder=encoder)
        return replace(imported, network=network, shape=(encoder.features,))

    def compare(self, source: str) -> str | None:
        """Compare the encoder with the source on raw numbers next to the thresholds. Return a remark."""
        if self.transform is None:
            return None
        random = np.random.default_rng(0)
        rows = np.array([_next_to_cuts(coding, random) for coding in self.encoder.codings]).T
        bits: BitArray = self.encoder.encode(rows)
        for op in self.stem:
            if isinstance(op, LinearOp):
                assert op.bias is not None
                bits = np.asarray(bits @ op.weights.T + op.bias >= 0)
        theirs = np.asarray(self.transform(rows)) != 0
        wrong = np.argwhere(bits[:, self.columns] != theirs)
        if len(wrong):
            row, column = wrong[0].tolist()
            raise FileError(
                f"{source}: the booleanizer gives {int(theirs[row, column])} for Boolean input {column} of a "
                f"sample where its thresholds give {int(not theirs[row, column])}. Please report this."
            )
        return f"thresholds of features equal to the booleanizer on {len(rows):,} samples next to them"


def _next_to_cuts(coding: Any, random: np.random.Generator) -> Doubles:
    cuts = list(coding.cuts) or [0.0]
    near = [
        value
        for cut in cuts
        for value in ((ceil(cut) - 1, ceil(cut)) if coding.whole else (nextafter(cut, -np.inf), cut))
        if coding.low <= value <= coding.high
    ]
    return random.choice(np.array(near or [coding.ends[0]], np.float64), _ROWS)


def read_booleans(booleanizer: Any, inputs: Inputs | None, count: int, source: str) -> Booleans:
    """Return the `count` Boolean inputs of a model.

    Parameters
    ----------
    booleanizer
        None if inputs are bits; an `Encoder`; a fitted booleanizer object with ``unique_values`` (tmu) or
        one-hot ``bin_edges_`` (scikit-learn); a number, the threshold of every feature; or for each feature a
        number or a sequence of numbers. A Boolean is on iff the feature is at least its threshold.
    inputs
        The values of raw features.
    count
        The number of Boolean inputs.
    source
        The model, for messages.
    """
    if booleanizer is None or isinstance(booleanizer, Encoder):
        what = "reads bits, 0 or 1" if booleanizer is None else "has the domains of its encoder"
        refuse_if(inputs not in (None, Bits(0, 1)), source, f"inputs={inputs}, but the model {what}.")
        encoder = booleanizer or Encoder.of_bits(count)
        made = Booleans(encoder, np.arange(encoder.width))
    else:
        made = _cut(booleanizer, inputs, count, source)
    n_made = len(made.columns)
    refuse_if(
        n_made != count, source, f"the booleanizer makes {n_made:,} Booleans, but the model reads {count:,}."
    )
    return made


def _cut(booleanizer: Any, inputs: Inputs | None, count: int, source: str) -> Booleans:
    """Return comparisons with thresholds, in the order of the model."""
    ends: dict[str, Any] = {}
    match inputs:
        case Integers(step=step, start=start):
            refuse_if((step, start) != (1, 0), source, f"inputs={inputs}: thresholds are about raw numbers.")
            ends = {"low": inputs.low, "high": inputs.high, "whole": True}
        case Reals():
            ends = {"low": inputs.low, "high": inputs.high}
        case Bits():
            raise FileError(f"{source}: inputs={inputs} are not compared with thresholds. Leave one out.")
    one_hot = hasattr(booleanizer, "bin_edges_")
    transform = getattr(booleanizer, "transform", None)
    if one_hot:
        refuse_if(
            not str(getattr(booleanizer, "encode", "")).startswith("onehot"),
            source,
            f"the booleanizer has encode={getattr(booleanizer, 'encode', None)!r}, not one-hot bins.",
        )
        edges: Any = [row[1:-1] for row in booleanizer.bin_edges_]
        transform = _dense(transform)
    elif hasattr(booleanizer, "unique_values"):
        edges = booleanizer.unique_values
    else:
        refuse_if(
            transform is not None,
            source,
            f"a booleanizer of type {type(booleanizer).__name__} is not known. Give its thresholds.",
        )
        edges = booleanizer if isinstance(booleanizer, Iterable) else [booleanizer] * count
    cuts = [_row(row, feature, source) for feature, row in enumerate(edges)]
    rising = [sorted(set(row)) for row in cuts]
    with within(source, SugenetError):
        encoder = Encoder([Steps(tuple(row), **ends) for row in rising])
    starts = [group.start for group in map(encoder.group, range(encoder.features))]
    if one_hot:
        refuse_if(rising != cuts, source, "bin edges do not rise.")
        return _bins(encoder, transform)
    columns = [
        start + kept.index(cut) for start, kept, row in zip(starts, rising, cuts, strict=True) for cut in row
    ]
    return Booleans(encoder, np.array(columns, np.int64), (), transform or _comparing(cuts))


def _row(row: Any, feature: int, source: str) -> list[float]:
    try:
        exact = [
            exact_number(cut, f"a threshold of feature {feature}") for cut in np.atleast_1d(row).tolist()
        ]
    except (SugenetError, TypeError, ValueError) as error:
        raise FileError(f"{source}: {error}") from None
    cuts = [float(cut) for cut in exact]
    refuse_if(cuts != exact, source, f"a threshold of feature {feature} is not a float64.")
    return cuts


def _comparing(cuts: Sequence[Sequence[float]]) -> Callable[[Array], Any]:
    """Return the comparison with thresholds, by NumPy."""
    return lambda rows: np.hstack([rows[:, [i]] >= np.array(row) for i, row in enumerate(cuts)])


def _dense(transform: Any) -> Callable[[Array], Any]:
    def run(rows: Array) -> Any:
        bits = transform(rows)
        return bits.toarray() if hasattr(bits, "toarray") else bits

    return run


def _bins(encoder: Encoder, transform: Any) -> Booleans:
    """Return one Boolean per bin of a feature: at or above its lower edge and below its upper edge."""
    rows, bias = [], []
    for group in map(encoder.group, range(encoder.features)):
        for index in range(len(group) + 1):
            row = np.zeros(encoder.width)
            if index:
                row[group[index - 1]] = 1
            if index < len(group):
                row[group[index]] = -1
            rows.append(row)
            bias.append(0.5 - bool(index))
    stem = (LinearOp("bins", np.array(rows), np.array(bias)), Sign("bins", low=0.0, high=1.0))
    return Booleans(encoder, np.arange(len(rows)), stem, transform)
