"""The last layer (paper section 3.4): match counts of K classes, exact scores, and softmax and
possibility as floats.

The score of class k is ``scale_k * (2 M_k - n_k) + bias_k`` in exact rationals;
a tie goes to the lowest class number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity import CardinalityThreshold, Criteria, Nested, SetFunction, WeightedThreshold
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import NetworkError
from sugenet.nn.arrays import ByContents, Ints, integer_array
from sugenet.nn.layers import SUM_BITS, check_size, checked_levels, checked_tops
from sugenet.nn.literals import lam_of
from sugenet.reprs import ShortRepr, set_fields

__all__ = ["WIDE", "Head"]

WIDE = 60
"""Maximum bits of the match counts of classes: float weights of a last layer, as integers, need more than
the `SUM_BITS` of hidden neurons.
"""


@dataclass(frozen=True, eq=False)
class Head(ByContents, ShortRepr):
    """Last layer with K classes, each voted for by the literals that its row of weights selects.

    Parameters
    ----------
    weights : array of int
        One row per class: -1, 0 or +1 in a BNN.
    bias : number or sequence of numbers, default: 0
        One number for all classes or one each. Floats are read as the exact numbers they are.
    scale : number or sequence of numbers, default: 1
        Factors of the sums, likewise; not negative.
    tops : array of int, default: None
        Largest level of each input. None: the inputs are bits. A level a of 0..t counts as the bipolar value
        2a - t, so the score is ``scale * sum(w * (2a - t)) + bias``.

    Raises
    ------
    NetworkError
        If shapes do not fit, a weight is not an integer, a scale is negative, or match counts could reach
        2^60.
    CapacityError
        If a bias or a scale is not a finite number.

    Examples
    --------
    >>> head = Head([[+1, +1, -1], [-1, +1, +1]], bias=[0, 0.5])
    >>> m = head.match_counts(np.array([[True, True, False]]))
    >>> m, [float(score) for score in head.scores(m)[0]], head.classes(m)
    (array([[3, 1]]), [3.0, -0.5], array([0]))
    >>> head.possibility(m, temperature=1)[0].round(3).tolist()
    [1.0, 0.03]

    See Also
    --------
    Network : encoder, layers and head together.
    DenseLayer : a hidden layer.
    """

    weights: Ints
    bias: tuple[Fraction, ...]
    scale: tuple[Fraction, ...]
    tops: Ints | None = None

    def __init__(self, weights: Any, bias: Any = 0, scale: Any = 1, tops: Any = None) -> None:
        rows = integer_array(weights, 2, "head weights")
        if not len(rows):
            raise NetworkError("the head has no class. Give one row of weights for each class.")
        check_size(rows, limit=1 << WIDE)
        set_fields(
            self,
            tops=None if tops is None else checked_tops(tops, rows, 1 << WIDE),
            weights=rows,
            bias=_per_class(bias, len(rows), "bias"),
            scale=_per_class(scale, len(rows), "scale"),
        )
        negative = next((k for k, value in enumerate(self.scale) if value < 0), None)
        if negative is not None:
            raise NetworkError(
                f"scale of class {negative} is {float(self.scale[negative])}: "
                f"negate its weights and use a positive scale."
            )

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.weights.shape[1])

    @property
    def outputs(self) -> int:
        """Number of classes."""
        return len(self.weights)

    @cached_property
    def sizes(self) -> Ints:
        """n_k: largest match count of each class."""
        return np.asarray(np.abs(self.weights) @ self.input_tops)

    @property
    def input_tops(self) -> Ints:
        """Largest level of each input: 1 for a bit."""
        return np.ones(self.inputs, np.int64) if self.tops is None else self.tops

    @cached_property
    def lowest(self) -> Ints:
        """Smallest sum of each class, at match count 0."""
        return np.asarray(np.minimum(self.weights, 0) @ self.input_tops)

    @cached_property
    def sum_bits(self) -> int:
        """Number of bits that hold every match count: those of a hidden neuron, or `WIDE`."""
        return SUM_BITS if int(self.sizes.max(initial=0)) < 1 << SUM_BITS else WIDE

    def capacity(self, k: int) -> SetFunction:
        """Return nu of class k, from 0: |A & Lam| / n over the 2n literals, with multiplicity (docs/theory.md
        5.1).

        If the head reads levels, the literals are over thermometer bits.
        """
        if not 0 <= k < self.outputs:
            raise NetworkError(f"there is no class {k}: the head has {self.outputs}, numbered from 0.")
        if self.tops is not None:
            return self.expanded().capacity(k)
        row, n = self.weights[k].tolist(), int(self.sizes[k])
        if not n:
            raise NetworkError(f"class {k} has no literals, so nu is not defined: its score is its bias.")
        lam, literals = lam_of(row), Criteria.literals(self.inputs)
        if max(map(abs, row)) <= 1:
            return Nested({Fraction(m, n): CardinalityThreshold(lam, m, literals) for m in range(1, n + 1)})
        weights: dict[int | str, int] = dict.fromkeys(literals, 0)
        weights |= {literal: abs(row[abs(literal) - 1]) for literal in lam}
        return Nested({Fraction(m, n): WeightedThreshold(weights, m) for m in range(1, n + 1)})

    def expanded(self) -> Head:
        """Return the same head over thermometer bits, input by input, if it reads levels."""
        if self.tops is None:
            return self
        return Head(np.repeat(self.weights, self.tops, axis=1), self.bias, self.scale)

    def match_counts(self, bits: Any) -> Ints:
        """Return M of every sample and class."""
        array = np.asarray(bits)
        if self.tops is not None:
            array = checked_levels(array, self.tops)
        elif array.dtype != bool or array.ndim != 2 or array.shape[1] != self.inputs:
            raise NetworkError(
                f"the head reads bits of shape (samples, {self.inputs}), "
                f"not {array.dtype} of shape {array.shape}."
            )
        return np.asarray(array.astype(np.int64) @ self.weights.T - self.lowest)

    @cached_property
    def integers(self) -> tuple[list[int], list[int], int]:
        """Integers (a, b, unit) with score_k = (a_k M_k + b_k) / unit: scores compare as integers."""
        slopes = [2 * scale for scale in self.scale]
        offsets = [
            bias - scale * int(size)
            for bias, scale, size in zip(self.bias, self.scale, self.sizes, strict=True)
        ]
        unit = lcm(1, *(number.denominator for number in slopes + offsets))
        return [int(slope * unit) for slope in slopes], [int(offset * unit) for offset in offsets], unit

    def ranked(self, counts: Ints) -> npt.NDArray[Any]:
        """Return the scores times a common unit: int64 if all of them fit, else Python integers."""
        slopes, offsets = self._ranking
        return np.asarray(counts.astype(slopes.dtype, copy=False) * slopes + offsets)

    @cached_property
    def _ranking(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The integers as arrays."""
        slopes, offsets, _ = self.integers
        largest = max(
            abs(a) * max(int(n), 1) + abs(b) for a, b, n in zip(slopes, offsets, self.sizes, strict=True)
        )
        dtype = np.int64 if largest < 1 << 62 else object
        return np.array(slopes, dtype), np.array(offsets, dtype)

    def scores(self, counts: Ints) -> npt.NDArray[Any]:
        """Return the exact scores as Fractions, in an object array."""
        unit = self.integers[2]
        ranked = self.ranked(counts).astype(object)
        out = np.empty(ranked.shape, dtype=object)
        out.ravel()[:] = [Fraction(int(value), unit) for value in ranked.ravel()]
        return out

    def logits(self, counts: Ints) -> npt.NDArray[np.float64]:
        """Return the scores as floats, each the nearest to the exact score."""
        return self._floats(self.ranked(counts))

    def _floats(self, ranked: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        unit = self.integers[2]
        if ranked.dtype != object and unit <= 1 << 52 and np.abs(ranked).max(initial=0) <= 1 << 52:
            return np.asarray(ranked / unit)  # both are exact floats, so the quotient is correctly rounded
        return np.array([_quotient(int(value), unit) for value in ranked.ravel()], dtype=np.float64).reshape(
            ranked.shape
        )

    def classes(self, counts: Ints) -> npt.NDArray[np.intp]:
        """Return the class with the largest exact score; among equal ones the lowest index."""
        return np.asarray(self.ranked(counts).argmax(axis=1))

    def tied(self, counts: Ints) -> npt.NDArray[np.bool_]:
        """Return for which samples several classes share the largest score."""
        ranked = self.ranked(counts)
        return np.asarray((ranked == ranked.max(axis=1, keepdims=True)).sum(axis=1) > 1)

    def possibility(self, counts: Ints, temperature: float = 1.0) -> npt.NDArray[np.float64]:
        """Return pi_k = exp((s_k - max s) / temperature): 1 for the best class or classes."""
        ranked = self.ranked(counts)
        if not temperature > 0:
            raise NetworkError(
                f"temperature={temperature} must be positive; larger values make the distribution flatter."
            )
        return np.asarray(np.exp(self._floats(ranked - ranked.max(axis=1, keepdims=True)) / temperature))

    def probability(self, counts: Ints, temperature: float = 1.0) -> npt.NDArray[np.float64]:
        """Return the softmax of the scores, computed without overflow."""
        pi = self.possibility(counts, temperature)
        return np.asarray(pi / pi.sum(axis=1, keepdims=True))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: without the goals that questions cache on the head."""
        return {name: value for name, value in self.__dict__.items() if name != "_goals"}


def _quotient(value: int, unit: int) -> float:
    try:
        return value / unit
    except OverflowError:  # beyond the largest float
        return inf if value > 0 else -inf


def _per_class(values: Any, count: int, what: str) -> tuple[Fraction, ...]:
    is_sequence = np.ndim(values) > 0 and not isinstance(values, str)
    row = (
        list(values) if is_sequence else [values.item() if isinstance(values, np.ndarray) else values] * count
    )
    if len(row) != count:
        raise NetworkError(
            f"{what} has {len(row)} values for {count} classes. Give one for each, or one for all."
        )
    return tuple(Fraction(exact_number(value, f"{what} of class {k}")) for k, value in enumerate(row))
