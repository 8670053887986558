"""VNN-COMP queries as exact values: boxes of inputs, and for each box the outputs that violate the property.

A query is *sat* (the property is violated) iff some x of a box gives outputs y that meet the condition of
that box. All numbers are exact: a float is the rational it stores, and a decimal text is the nearest float.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sugenet.capacity.arguments import exact_number
from sugenet.errors import FileError, QuestionError, SugenetError

if TYPE_CHECKING:
    from sugenet.nn import Network

__all__ = ["BIT_LIMIT", "SIZE_LIMIT", "Case", "Condition", "Inequality", "Query", "QueryBox", "of_network"]

BIT_LIMIT = 13288
"""Largest number of bits of a numerator or denominator in a file, enough for any number of 4000 digits."""
SIZE_LIMIT = 1 << 26
"""Largest number of characters of a query."""


@dataclass(frozen=True, slots=True, init=False)
class Inequality:
    """A linear inequality over the outputs: the sum of ``coefficient * Y_k`` is at least `bound`.

    It is stored in integers without a common factor, so two spellings of the same half-space compare equal.

    Parameters
    ----------
    terms
        The coefficient of each output that takes part, by its index.
    bound
        The least value of the sum.

    Examples
    --------
    >>> half = Inequality({0: 0.5, 2: -1}, 0.25)
    >>> half, half == Inequality({2: -4, 0: 2}, 1)
    (Inequality(terms=((0, 2), (2, -4)), bound=1), True)
    >>> print(half, "|", Inequality({1: 1, 0: -1}, 0), "|", Inequality({0: -2}, -3))
    (>= (+ (* 2 Y_0) (* -4 Y_2)) 1.0) | (>= Y_1 Y_0) | (<= Y_0 1.5)
    """

    terms: tuple[tuple[int, int], ...]
    bound: int

    def __init__(self, terms: Mapping[int, Any] | Iterable[tuple[int, Any]], bound: Any) -> None:
        pairs = list(terms.items() if isinstance(terms, Mapping) else terms)
        exact = {_number(k, "an output"): _exact(value, f"the coefficient of Y_{k}") for k, value in pairs}
        if len(exact) < len(pairs):
            raise SugenetError(f"terms {pairs} name an output twice. Add its coefficients up.")
        kept = {k: exact[k] for k in sorted(exact) if exact[k]}
        if not kept:
            raise SugenetError(
                "an inequality without an output is always or never met. Remove it, "
                "or the conjunction that contains it."
            )
        exact_bound = _exact(bound, "the bound")
        unit = lcm(exact_bound.denominator, *(value.denominator for value in kept.values()))
        integers = [int(value * unit) for value in kept.values()]
        common = gcd(int(exact_bound * unit), *integers)
        object.__setattr__(
            self, "terms", tuple(zip(kept, (value // common for value in integers), strict=True))
        )
        object.__setattr__(self, "bound", int(exact_bound * unit) // common)

    def holds(self, y: Sequence[Fraction]) -> bool:
        """Return whether exact outputs meet the inequality."""
        return sum((value * y[k] for k, value in self.terms), start=Fraction(0)) >= self.bound

    def __str__(self) -> str:
        (first, a), *others = self.terms
        if not others:
            return f"({'>=' if a > 0 else '<='} {_against(f'Y_{first}', Fraction(self.bound, a))})"
        (second, b), *more = others
        if not more and self.bound == 0 and {a, b} == {-1, 1}:
            return f"(>= Y_{first} Y_{second})" if a > 0 else f"(>= Y_{second} Y_{first})"
        terms = " ".join(
            f"Y_{k}" if value == 1 else f"(* {_integer(value)} Y_{k})" for k, value in self.terms
        )
        return f"(>= (+ {terms}) {_decimal(Fraction(self.bound))})"


Condition: TypeAlias = tuple[tuple[Inequality, ...], ...]
"""A disjunction of conjunctions: met iff all inequalities of some conjunction hold.

``()`` is never met, ``((),)`` always.
"""


@dataclass(frozen=True, slots=True, init=False)
class QueryBox:
    """Inputs between bounds, both included.

    Examples
    --------
    >>> box = QueryBox([0, 0.5], [1, 2.25])
    >>> box.contains([1, 0.5]), box.contains([1, 0.4]), box.integer_bounds()
    (True, False, QueryBox(lower=(Fraction(0, 1), Fraction(1, 1)), upper=(Fraction(1, 1), Fraction(2, 1))))
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def __init__(self, lower: Any, upper: Any) -> None:
        object.__setattr__(self, "lower", _row(lower, "the lower bound of X"))
        object.__setattr__(self, "upper", _row(upper, "the upper bound of X"))
        if len(self.lower) != len(self.upper):
            raise SugenetError(
                f"{len(self.lower)} lower and {len(self.upper)} upper bounds do not fit. Give one of each "
                f"for every input."
            )
        for i, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if low > high:
                raise SugenetError(
                    f"X_{i} has the lower bound {_shown(low)} above its upper bound {_shown(high)}: "
                    f"the box is empty."
                )

    def contains(self, x: Any) -> bool:
        """Return whether a sample is inside, in exact arithmetic."""
        row = _row(x, "X", len(self.lower))
        return all(low <= value <= high for low, value, high in zip(self.lower, row, self.upper, strict=True))

    def integer_bounds(self) -> QueryBox | None:
        """Return the box with its bounds rounded inwards to integers, or None if it contains no integer
        point.
        """
        lower, upper = [ceil(low) for low in self.lower], [floor(high) for high in self.upper]
        return (
            QueryBox(lower, upper)
            if all(low <= high for low, high in zip(lower, upper, strict=True))
            else None
        )


@dataclass(frozen=True, slots=True, init=False)
class Case:
    """A box and the condition on outputs that violates the property there.

    Repeated conjunctions are stored once.
    """

    box: QueryBox
    condition: Condition

    def __init__(self, box: QueryBox, condition: Iterable[Iterable[Inequality]]) -> None:
        kept = tuple(dict.fromkeys(tuple(dict.fromkeys(conjunction)) for conjunction in condition))
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "condition", ((),) if () in kept else kept)

    def violated_by(self, x: Any, y: Any) -> bool:
        """Return whether a sample is in the box and its outputs meet the condition."""
        outputs = _row(y, "Y")
        return self.box.contains(x) and any(
            all(part.holds(outputs) for part in conjunction) for conjunction in self.condition
        )


@dataclass(frozen=True, slots=True, init=False)
class Query:
    """The question whether some input of a box has outputs that meet the condition of that box.

    Cases with equal boxes are joined, and cases whose condition is never met are dropped. Inputs and outputs
    are those of the file that the network was read from, in its order and units. `verify` converts them to
    the network's own, or refuses the query if it cannot.

    Parameters
    ----------
    inputs, outputs
        The number of each.
    cases
        Boxes (`QueryBox`) and their conditions.

    Examples
    --------
    >>> query = Query.within([9, 19], [11, 21], label=1, outputs=3)
    >>> print(query)
    query over 2 inputs and 3 outputs: 1 box, 2 ways to violate it
    >>> query.violated_by([9.5, 21], [0, 2, 2]), query.violated_by([9.5, 21], [0, 2, 1]), query.label
    (True, False, 1)
    >>> query.to_text().splitlines()[-4:]
    ['(assert (or', '  (and (>= Y_0 Y_1))', '  (and (>= Y_2 Y_1))', '))']
    """

    inputs: int
    outputs: int
    cases: tuple[Case, ...]

    def __init__(self, inputs: int, outputs: int, cases: Iterable[Case]) -> None:
        if _number(inputs, "inputs") < 1 or _number(outputs, "outputs") < 1:
            raise SugenetError(f"a query needs inputs and outputs, but has {inputs} and {outputs}.")
        joined: dict[QueryBox, Condition] = {}
        for case in cases:
            if len(case.box.lower) != inputs:
                raise SugenetError(f"a box bounds {len(case.box.lower)} inputs, but the query has {inputs}.")
            largest = max(
                (k for conjunction in case.condition for part in conjunction for k, _ in part.terms),
                default=0,
            )
            if largest >= outputs:
                raise SugenetError(
                    f"a condition names Y_{largest}, but the outputs are Y_0 to Y_{outputs - 1}."
                )
            joined[case.box] = joined.get(case.box, ()) + case.condition
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(
            self, "cases", tuple(Case(box, condition) for box, condition in joined.items() if condition)
        )

    @classmethod
    def around(
        cls,
        network: Network,
        x: Any,
        eps: Any,
        label: int | None = None,
        *,
        low: Any = None,
        high: Any = None,
    ) -> Query:
        """Return the local robustness query: whether another class scores at least as high as `label` within
        `eps`.

        The network reads the sample first. A bit that is off is 0, whether it is written -1 or 0. So the bit
        can turn on if `eps` is at least 1, as within ``Linf(eps)``.

        Parameters
        ----------
        network
            The network that the query is about.
        x
            The sample, in the units of the file that the network was read from.
        eps
            How far each input may move: one number, or one per input.
        label
            Index of the class that must keep the highest score alone (default: the network's class of `x`).
        low, high
            The smallest and largest value of every input, such as 0 and 255 (default: unbounded).

        Examples
        --------
        >>> from sugenet.nn import Head, Network
        >>> net = Network.of_bits([], Head([[1, 1], [-1, -1]]))
        >>> Query.around(net, [-1, 1], 1).cases[0].box == Query.around(net, [0, 1], 1).cases[0].box
        True
        """
        values = _row(network.encoder.values(x), "x")
        lines = network.source.lines(len(values))
        raw = [(value - start) / step for value, (start, step) in zip(values, lines, strict=True)]
        bits = [getattr(coding, "bipolar", False) for coding in network.encoder.codings]
        center = network.source.inputs(
            [Fraction(0) if is_bit and v == -1 else v for v, is_bit in zip(raw, bits, strict=True)]
        )
        if label is None:
            label = int(network.predict([raw])[0])
        reach = _row(eps, "eps", len(center)) if np.ndim(eps) else (_exact(eps, "eps"),) * len(center)
        if min(reach, default=Fraction(0)) < 0:
            raise SugenetError(f"eps={_shown(min(reach))} must not be negative.")
        lower, upper = ([a + sign * b for a, b in zip(center, reach, strict=True)] for sign in (-1, 1))
        if low is not None:
            lower = [max(value, _exact(low, "low")) for value in lower]
        if high is not None:
            upper = [min(value, _exact(high, "high")) for value in upper]
        return cls.within(lower, upper, label, network.head.outputs)

    @classmethod
    def within(cls, lower: Any, upper: Any, label: int, outputs: int) -> Query:
        """Return the query whether some input between two bounds gives another class a score at least that of
        `label`. Both bounds are included.

        Examples
        --------
        >>> Query.within([9, 19], [11, 21], label=1, outputs=3).label
        1
        """
        if not 0 <= _number(label, "label") < outputs:
            raise SugenetError(f"label={label} is not a class: classes are 0 to {outputs - 1}.")
        box = QueryBox(lower, upper)
        return cls(len(box.lower), outputs, [Case(box, _misclassified(label, outputs))])

    @property
    def label(self) -> int | None:
        """The class that must keep the highest score alone, if every case asks whether another class scores
        at least as high; else None.
        """
        conditions = {frozenset(case.condition) for case in self.cases}
        if len(conditions) != 1:
            return None
        (condition,) = conditions
        negative = {
            k for conjunction in condition for part in conjunction for k, value in part.terms if value < 0
        }
        label = min(negative, default=0)
        return (
            label
            if self.outputs > 1 and condition == frozenset(_misclassified(label, self.outputs))
            else None
        )

    def contains(self, x: Any) -> bool:
        """Return whether a sample is in some box, in exact arithmetic."""
        row = _row(x, "X", self.inputs)
        return any(case.box.contains(row) for case in self.cases)

    def violated_by(self, x: Any, y: Any) -> bool:
        """Return whether a sample with these outputs is a counterexample, in exact arithmetic.

        `y` may be exact scores or floats.
        """
        row, outputs = _row(x, "X", self.inputs), _row(y, "Y", self.outputs)
        return any(case.violated_by(row, outputs) for case in self.cases)

    def integer_bounds(self) -> Query:
        """Return the query for integer inputs, such as pixels: bounds rounded inwards, empty
        boxes dropped.
        """
        smaller = [(case.box.integer_bounds(), case.condition) for case in self.cases]
        return Query(
            self.inputs, self.outputs, [Case(box, condition) for box, condition in smaller if box is not None]
        )

    def to_text(self) -> str:
        """Return the query as VNNLIB text, as used in VNN-COMP; it reads back as an equal query.

        A float is written as a decimal that reads back as the same float. A bound that is not a float, such
        as 1/3 or 1/10, is written as ``(<= (* 3 X_0) 1.0)``.
        """
        lines = ["; inputs", *(f"(declare-const X_{i} Real)" for i in range(self.inputs))]
        lines += ["; outputs", *(f"(declare-const Y_{k} Real)" for k in range(self.outputs))]
        conditions = {case.condition for case in self.cases}
        if not self.cases:
            lines += ["; no input is asked for", "(assert (<= 1.0 0.0))"]
        elif len(self.cases) == 1:
            lines += [
                "; bounds of the inputs",
                *(f"(assert {bound})" for bound in _bounds(self.cases[0].box)),
            ]
        elif len(conditions) == 1:
            lines += ["; boxes of inputs", *_either(_bounds(case.box) for case in self.cases)]
        else:  # repeat the box for each of its conjunctions: every reader accepts this form
            parts = ([*_bounds(case.box), *map(str, row)] for case in self.cases for row in case.condition)
            lines += [
                "; boxes of inputs, each with the outputs that violate the property there",
                *_either(parts),
            ]
        if len(conditions) == 1 and ((),) not in conditions:
            (condition,) = conditions
            lines += [
                "; outputs that violate the property",
                *_either(map(str, conjunction) for conjunction in condition),
            ]
        text = "\n".join(lines) + "\n"
        if len(text) > SIZE_LIMIT:
            raise FileError(
                f"the query takes {len(text):,} characters, but {SIZE_LIMIT:,} is the limit. "
                f"Split it by boxes."
            )
        return text

    def __repr__(self) -> str:
        return f"<Query: {self}>"

    def __str__(self) -> str:
        ways = sum(len(case.condition) for case in self.cases)
        boxes = f"{len(self.cases)} box{'' if len(self.cases) == 1 else 'es'}"
        return (
            f"query over {self.inputs} inputs and {self.outputs} outputs: {boxes}, {ways} "
            f"way{'' if ways == 1 else 's'} to violate it"
        )


def of_network(network: Network, query: Query) -> Query:
    """Return the query with its inputs in the raw units of the network.

    Raises
    ------
    QuestionError
        If the outputs of the source are not the scores.
    """
    if (query.inputs, query.outputs) != (network.encoder.features, network.head.outputs):
        raise QuestionError(
            f"the query has {query.inputs} inputs and {query.outputs} outputs, the network "
            f"{network.encoder.features} features and {network.head.outputs} classes."
        )
    source = network.source
    if source.outputs == "other":
        raise QuestionError(
            f"a query is about the whole file, but its outputs are not the network's scores: {source.remark}."
        )
    parts = [part for case in query.cases for conjunction in case.condition for part in conjunction]
    if source.outputs == "ordered" and not all(
        part.bound == 0 and sorted(v for _, v in part.terms) == [-1, 1] for part in parts
    ):
        raise QuestionError(
            f"the query does more than compare outputs, and the network's scores only compare as the file's "
            f"outputs do: {source.remark}."
        )
    if source.is_plain:
        return query
    cases = []
    for case in query.cases:
        lines = source.lines(query.inputs)
        ends = (
            [(value - start) / step for value, (start, step) in zip(row, lines, strict=True)]
            for row in (case.box.lower, case.box.upper)
        )
        cases.append(Case(QueryBox(*source.turned(*ends)), case.condition))
    return Query(query.inputs, query.outputs, cases)


# -- numbers -------------------------------------------------------------------------------------------------


def _misclassified(label: int, outputs: int) -> Condition:
    return tuple((Inequality({k: 1, label: -1}, 0),) for k in range(outputs) if k != label)


def _exact(value: Any, what: str) -> Fraction:
    return Fraction(exact_number(value, what))


def _number(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise SugenetError(f"{what} is {value!r}, but must be an integer of at least 0.")
    return int(value)


def _row(values: Any, what: str, length: int | None = None) -> tuple[Fraction, ...]:
    """Return exact numbers; an array of any shape is flattened in its own order, as a network
    reads an image.
    """
    row = values if isinstance(values, list | tuple) else np.asarray(values).ravel().tolist()
    if length is not None and len(row) != length:
        raise SugenetError(f"{what} has {len(row)} values, but {length} are needed.")
    return tuple(
        value if type(value) is Fraction else _exact(value, f"{what}_{i}") for i, value in enumerate(row)
    )


# -- text ----------------------------------------------------------------------------------------------------


def _either(conjunctions: Iterable[Iterable[str]]) -> list[str]:
    return ["(assert (or", *(f"  (and {' '.join(conjunction)})" for conjunction in conjunctions), "))"]


def _bounds(box: QueryBox) -> list[str]:
    pairs = enumerate(zip(box.lower, box.upper, strict=True))
    return [
        f"({sign} {_against(f'X_{i}', value)})"
        for i, ends in pairs
        for sign, value in zip((">=", "<="), ends, strict=True)
    ]


def _against(name: str, value: Fraction) -> str:
    """Return both sides of a comparison of a variable with a number; `read_number` reads the same number
    back.
    """
    if value.denominator == 1 or _is_float(value):
        return f"{name} {_decimal(value)}"
    return f"(* {_integer(value.denominator)} {name}) {_decimal(Fraction(value.numerator))}"


def _decimal(value: Fraction) -> str:
    """Return a float as a decimal without an exponent, and any other integer as it is."""
    if not _is_float(value):
        return _integer(value.numerator)
    digits = format(Decimal(repr(float(value))), "f")
    return digits if "." in digits else f"{digits}.0"


def _is_float(value: Fraction) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


def _integer(value: int) -> str:
    if value.bit_length() > BIT_LIMIT:
        raise FileError(
            "the query holds a number that takes more than 4000 digits. Round it before it is written."
        )
    return str(value)


def _shown(value: Fraction) -> str:
    short = max(value.numerator.bit_length(), value.denominator.bit_length()) <= 64
    return str(value) if short else f"about 2^{value.numerator.bit_length() - value.denominator.bit_length()}"
