"""Codings: how one raw feature becomes bits, which bit patterns are possible, the cost of a change,
and a description of each bit.

A value of a feature is a category, an integer of a range, or a finite float64 of a range. A bit is off,
written -1 or 0, or on, written 1. Infinity is not a value, nor is a fraction that is not a float64.

A feature takes one of a few *states*, numbered from 0; a state is a legal bit pattern and a set of raw
values. For `Steps` (thresholds, thermometers, integers) state t means "t cuts reached" and holds the raw
values of one interval; for `OneHot` it is a category.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, inf, isfinite, isnan, nextafter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import (
    float_number,
    is_float,
    nearest_float,
    number_text,
    plain,
    read_number,
)
from sugenet.errors import CapacityError, EncodingError, QuestionError
from sugenet.reprs import ShortRepr, quoted, set_fields
from sugenet.visible import see_name, visible

__all__ = [
    "Coding",
    "Move",
    "OneHot",
    "Real",
    "Refused",
    "Span",
    "Steps",
    "bit",
    "integer",
    "thermometer",
    "threshold",
    "unused",
]


@dataclass(frozen=True)
class Move:
    """The nearest raw value of another state, and its distance from the present value.

    Examples
    --------
    >>> threshold(18.0, low=0.0, whole=True).move(21, 0)
    Move(value=17, distance=Fraction(4, 1))

    See Also
    --------
    Steps : numbers, whose changes have a size.
    OneHot : categories, whose changes have distance 1.
    """

    value: Any
    distance: Fraction
    """Exact size of the raw change; 1 for a change of category."""


@dataclass(frozen=True)
class Span:
    """Limit of a feature in addition to its coding: from `low` to `high`, both included (None: no bound), or
    one of several values, in their order.

    Parameters
    ----------
    low : number, default: None
        Smallest value allowed. None: no bound.
    high : number, default: None
        Largest value allowed. None: no bound.
    values : iterable, default: None
        The only values allowed, at least one. None: limited by the bounds alone.

    Raises
    ------
    EncodingError
        If both bounds and values are given, if the values are empty, or if `low` is above `high`.

    Examples
    --------
    >>> Span(0, 2.5).holds(2.5), Span(values=("red", "blue")).holds("green")
    (True, False)
    >>> Span(0, 3).both(Span(values=(1, 5)))
    Span(low=None, high=None, values=(1,))

    See Also
    --------
    Domain : limits of several features, with laws.
    Steps : coding of a number, with its own range.
    """

    low: Any = None
    high: Any = None
    values: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        values = None if self.values is None else tuple(map(_own, self.values))
        set_fields(self, low=_own(self.low), high=_own(self.high), values=values)
        if self.values is not None and (not self.values or (self.low, self.high) != (None, None)):
            raise EncodingError("a feature is limited by bounds, or to at least one of some values.")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise EncodingError(f"no number is from {self.low} to {self.high}.")

    def holds(self, value: Any) -> bool:
        """Return whether a raw value is within the span."""
        if self.values is not None:
            return value in self.values
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def both(self, other: Span) -> Span | None:
        """Return the values that both spans allow; None if there are none."""
        for one, two in ((self, other), (other, self)):
            if one.values is not None:
                kept = tuple(value for value in one.values if two.holds(value))
                return Span(values=kept) if kept else None
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        low, high = max(lows, default=None), min(highs, default=None)
        return None if low is not None and high is not None and low > high else Span(low, high)


@dataclass(frozen=True)
class Steps(ShortRepr):
    """A number compared with rising cuts: bit t is ``x >= cuts[t]`` (a thermometer;
    a single threshold with one cut).

    Parameters
    ----------
    cuts : sequence of float
        Rising numbers.
    low : float, default: -inf
        Smallest raw value that can occur.
    high : float, default: inf
        Largest raw value that can occur.
    whole : bool, default: False
        Whether raw values are integers.
    bipolar : bool, default: False
        Whether -1 is accepted for 0, as in bipolar bits.
    silent : tuple of int, default: ()
        Indices of cuts that the network does not read. Their bits do not count as flipped.

    Raises
    ------
    EncodingError
        If a cut or a bound is not a float64, if the cuts do not rise, or if no value is in the range.

    Examples
    --------
    >>> age = Steps((18.0, 65.0), low=0.0, whole=True)
    >>> age.bits(1).tolist(), age.describe("age", 1), age.state(70)
    ([True, False], '18 <= age < 65', 2)
    >>> age.move(20, 0), age.move(20, 2)
    (Move(value=17, distance=Fraction(3, 1)), Move(value=65, distance=Fraction(45, 1)))
    >>> age.words("age", 0, True), age.words("age", 1, False)
    ('age >= 18', 'age < 65')

    See Also
    --------
    thermometer : the same coding from cuts and a range.
    integer : one cut per integer.
    OneHot : coding of categories.
    """

    cuts: tuple[float, ...]
    low: float = -inf
    high: float = inf
    whole: bool = False
    bipolar: bool = False
    silent: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        set_fields(
            self,
            cuts=tuple(_end(cut, "a cut") for cut in self.cuts),
            low=_end(self.low, "low"),
            high=_end(self.high, "high"),
            whole=bool(self.whole),
            bipolar=bool(self.bipolar),
        )
        if any(isnan(cut) for cut in self.cuts) or list(self.cuts) != sorted(set(self.cuts)):
            raise EncodingError(f"cuts {self.cuts} do not rise. Give different numbers, smallest first.")
        if not self.low <= self.high:
            raise EncodingError(f"low={self.low} is above high={self.high}.")
        lower, upper = self.ends
        if lower > upper or lower == inf or upper == -inf:
            kind = "integer" if self.whole else "finite number"
            raise EncodingError(f"there is no {kind} from low={self.low} to high={self.high}.")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.cuts, self.low, self.high, self.whole, self.bipolar, self.silent))

    @property
    def width(self) -> int:
        """Number of bits."""
        return len(self.cuts)

    @property
    def spelled(self) -> str:
        """The whole coding as one text, used in fingerprints. It must never change."""
        ends = f"low={self.low!r}, high={self.high!r}, whole={self.whole!r}, bipolar={self.bipolar!r}"
        silent = f", silent={self.silent!r}" if self.silent else ""
        return f"Steps(cuts={self.cuts!r}, {ends}{silent})"

    @property
    def states(self) -> int:
        """Number of bit patterns, reachable or not."""
        return len(self.cuts) + 1

    @cached_property
    def every_step(self) -> bool:
        """Whether values are integers with a cut at each step, as in `integer`: then levels follow
        raw values.
        """
        if (
            not self.whole
            or self.bipolar
            or self.silent
            or self.high - self.low != self.width
            or not (self.low // 1 == self.low > -inf)
        ):
            return False
        return bool(np.array_equal(self.array, self.low + 1 + np.arange(self.width)))

    @cached_property
    def array(self) -> npt.NDArray[np.float64]:
        """Cuts as an array."""
        cuts = np.array(self.cuts, np.float64)
        cuts.setflags(write=False)
        return cuts

    def bits(self, state: int) -> npt.NDArray[np.bool_]:
        """Return the bits of a state: the first `state` bits are on."""
        return np.arange(self.width) < state

    def flips(self, before: int, after: int) -> int:
        """Return how many bits differ between two states."""
        passed = range(min(before, after), max(before, after))
        return len(passed) - sum(index in passed for index in self.silent)

    def state(self, value: Any) -> int:
        """Return the state of a raw value."""
        return bisect_right(self.cuts, self.number(value))

    def reachable(self, state: int) -> bool:
        """Return whether some raw value that can occur has this state."""
        return self.interval(state) is not None

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value; infinite for integers without a bound."""
        if not self.whole:
            return max(self.low, -_LARGEST), min(self.high, _LARGEST)
        return _integer_bound(self.low, ceil), _integer_bound(self.high, floor)

    def interval(self, state: int) -> tuple[float, float] | None:
        """Return the smallest and largest value of a state, both included; None if no value has the state.

        For integers without a bound, one end is infinite.
        """
        low, high = self.ends
        if state > 0:
            cut = self.cuts[state - 1]
            low = max(low, _integer_bound(cut, ceil) if self.whole else cut)
        if state < self.width:
            cut = self.cuts[state]
            high = min(high, _integer_bound(cut, ceil) - 1 if self.whole else nextafter(cut, -inf))
        return (low, high) if low <= high and low < inf and high > -inf else None

    def move(self, value: Any, state: int, span: Span | None = None) -> Move | None:
        """Return the nearest value of a state, within a span if one is given; None if there is none."""
        ends, here = self.interval(state), self.number(value)
        if ends is None:
            return None
        if span is not None and span.values is not None:
            inside = [there for there in map(self._number, span.values) if ends[0] <= there <= ends[1]]
            inside = [there for there in inside if self.has(there)]
            if not inside:
                return None
            there = min(inside, key=lambda there: (abs(Fraction(there) - Fraction(here)), there))
        else:
            low, high = ends if span is None else self._between(*ends, span)
            if low > high:
                return None
            there = min(max(here, low), high)
        there = self.number(there)
        return Move(there, abs(Fraction(there) - Fraction(here)))

    def _between(self, low: float, high: float, span: Span) -> tuple[float, float]:
        """Return the smallest and largest value of an interval within a span."""
        if self.bipolar:  # a span that contains -1 contains "off"
            held = [value for value in (0, 1) if low <= value <= high and self.holds(span, value)]
            return (held[0], held[-1]) if held else (1, 0)
        if span.low is not None and span.low > low:
            low = ceil(span.low) if self.whole else _float(span.low, up=True)
        if span.high is not None and span.high < high:
            high = floor(span.high) if self.whole else _float(span.high, up=False)
        return low, high

    def holds(self, span: Span, value: Any) -> bool:
        """Return whether a span allows a value; off is allowed if the span contains -1 or 0."""
        return span.holds(value) or (
            self.bipolar and self._number(value) == 0 and (span.holds(0) or span.holds(-1))
        )

    def _number(self, value: Any) -> Any:
        """Return a raw value as the number to compare with the cuts: -1 becomes 0 for a bipolar bit."""
        return 0 if self.bipolar and value == -1 else value

    def words(self, name: str, index: int, on: bool) -> str:
        """Describe a bit."""
        cut, name = self.cuts[index], visible(name)
        if self.bipolar:
            return f"{name} = {'+1' if on else '-1'}"
        return f"{name} {'>=' if on else '<'} {_short(cut)}"

    def describe(self, name: str, state: int) -> str:
        """Describe a state."""
        if self.bipolar and self.cuts:
            return self.words(name, 0, state == 1)
        name = visible(name)
        low = None if state == 0 else _short(self.cuts[state - 1])
        high = None if state == self.width else _short(self.cuts[state])
        if self.whole and (ends := self.interval(state)) and ends[0] == ends[1]:
            return f"{name} = {_short(ends[0])}"
        if low is None and high is None:
            return f"{name} is anything"
        if low is None:
            return f"{name} < {high}"
        return f"{name} >= {low}" if high is None else f"{low} <= {name} < {high}"

    def span(self, state: int) -> str:
        """Describe the value in a state without the feature's name; empty if the value alone is enough.

        Examples
        --------
        >>> Steps((8.0, 12.5)).span(0), Steps((8.0, 12.5)).span(1), Steps((8.0, 12.5)).span(2), bit().span(1)
        ('below 8', 'at least 8, below 12.5', 'at least 12.5', '')
        """
        if self.whole or self.bipolar:
            return ""
        low = [] if state == 0 else [f"at least {_short(self.cuts[state - 1])}"]
        high = [] if state == self.width else [f"below {_short(self.cuts[state])}"]
        return ", ".join(low + high)

    def describe_several(self, name: str, states: Sequence[int]) -> str:
        """Describe several neighbouring states together."""
        if self.bipolar and len(states) == 1:
            return self.describe(name, states[0])
        return replace(
            self,
            cuts=tuple(self.cuts[t - 1] for t in (states[0], states[-1] + 1) if 1 <= t <= self.width),
            bipolar=False,
        ).describe(name, int(states[0] > 0))

    def has(self, number: Any) -> bool:
        """Return whether a number is a value of the feature."""
        low, high = self.ends
        if not low <= number <= high or isnan(number) or abs(number) == inf:
            return False
        return bool(number == number // 1) if self.whole else is_float(number)

    def number(self, value: Any) -> int | float:
        """Return the number for a raw value: an integer or a finite float64; -1 becomes 0 for a bit."""
        number = self._number(value)
        if type(number) is float or (type(number) is int and (self.whole or abs(number) < _EXACT)):
            low, high = self.ends
            if low <= number <= high and abs(number) != inf and (not self.whole or number == number // 1):
                return int(number) if self.whole else float(number) + 0.0
        return self._read_one(value, "the feature", 0)

    def read(self, column: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
        """Check a column of raw values and return floats that compare with the cuts as the values do."""
        if column.dtype.kind in "biuf" and column.dtype.itemsize <= 8:
            numbers = column.astype(np.float64)
            if column.dtype.kind in "bf" or not column.size or np.abs(numbers).max() < _EXACT:
                if self.bipolar:
                    numbers = np.where(numbers == -1, 0.0, numbers)
                low, high = self.ends
                wrong = ~((numbers >= low) & (numbers <= high) & np.isfinite(numbers))
                if self.whole:
                    with np.errstate(invalid="ignore"):
                        wrong |= numbers != np.floor(numbers)
                if wrong.any():
                    row = int(np.argmax(wrong))
                    self._read_one(column[row].item(), name, row)
                return numbers
        values = [self._read_one(value, name, row) for row, value in enumerate(column.tolist())]
        return np.array([self._comparable(value) for value in values], np.float64)

    def _read_one(self, value: Any, name: str, row: int) -> int | float:
        try:
            truth = isinstance(value, bool | np.bool_)
            number = self._number(read_number(int(value) if truth else value, name))
        except CapacityError:
            if isinstance(value, float | np.floating):  # infinite, or not a number
                raise self._refused_value(value, name, row) from None
            raise EncodingError(f"{visible(name)} needs numbers, but holds {value!r}.") from None
        if not self.has(number):
            raise self._refused_value(value, name, row)
        return int(number) if self.whole else float(number) + 0.0

    def _refused_value(self, value: Any, name: str, row: int) -> EncodingError:
        return EncodingError(
            f"{visible(name)} is {value!r} in sample {row}, but it must be {self._domain()}."
        )

    def _comparable(self, value: int | float) -> float:
        """Return the nearest float that is on the same side of every cut as the value."""
        if isinstance(value, float) or abs(value) < _EXACT:
            return float(value)
        state = bisect_right(self.cuts, value)
        low = max(self.cuts[state - 1], -_LARGEST) if state else -_LARGEST
        high = min(nextafter(self.cuts[state], -inf), _LARGEST) if state < self.width else _LARGEST
        if high == -inf:  # no float is below the cut
            return high
        return _float(min(max(Fraction(value), Fraction(low)), Fraction(high)), up=value <= low)

    def _domain(self) -> str:
        if self.bipolar:
            return "-1, 0 or +1 (a bit)"
        kind = "an integer" if self.whole else "a finite number"
        if self.low == -inf and self.high == inf:
            return kind
        return f"{kind} from {_short(self.low)} to {_short(self.high)}"


class Refused:
    """Descriptor for an attribute that values over real numbers do not have: reading it raises an error."""

    def __init__(self, message: str, error: type[Exception] = QuestionError) -> None:
        self.message, self.error = message, error

    def __get__(self, value: Any, owner: type) -> Any:
        if value is None:
            return self
        raise self.error(self.message)


@dataclass(frozen=True)
class Real(Steps):
    """A real number kept unchanged, for a first layer that reads real numbers (`RealLayer`). It has no
    cuts, and so no states to enumerate.

    Parameters
    ----------
    cuts : tuple, default: ()
        Must be empty.
    low : float, default: -inf
        Smallest raw value that can occur.
    high : float, default: inf
        Largest raw value that can occur.
    whole : bool, default: False
        Must be False.
    bipolar : bool, default: False
        Must be False.
    silent : tuple, default: ()
        Must be empty.

    Raises
    ------
    EncodingError
        If a parameter other than the range is set, or if no value is in the range.
    QuestionError
        If the states of the feature are read.

    Examples
    --------
    >>> Real(low=0.0).width, Real(low=0.0).read(np.array([0.5, 3.25]), "x").tolist()
    (0, [0.5, 3.25])

    See Also
    --------
    RealLayer : first layer that reads real numbers.
    Steps : a number compared with cuts.
    """

    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cuts or self.whole or self.bipolar or self.silent:
            raise EncodingError(
                "a real number that is kept as it is has no cuts, and is neither an integer nor a bit. "
                "Laws and thresholds require integers: import the network with inputs=Integers(...)."
            )

    @property
    def spelled(self) -> str:
        """The whole coding as one text, used in fingerprints. It must never change."""
        return f"Real(low={self.low!r}, high={self.high!r})"

    def has(self, number: Any) -> bool:
        """Return whether a number is a value of the feature: any rational in its range."""
        return bool(self.low <= number <= self.high) and abs(number) != inf

    states = bits = flips = state = reachable = interval = move = Refused(
        "the network reads real numbers, which have no states to enumerate. Questions about single "
        "changes, reasons and counts require integers. Ask about a box of real inputs, with "
        "verify(net, Robust(x, Linf(r))), Robust(x, Box(...)), Always, Never or a Query; or import the "
        "network with inputs=Integers(...)."
    )


@dataclass(frozen=True)
class OneHot(ShortRepr):
    """A category: bit c is on iff the value is ``categories[c]``; exactly one bit is on.

    Parameters
    ----------
    categories : sequence
        Different values, at least one: text, integers, finite floats, True, False or None.

    Raises
    ------
    EncodingError
        If there is no category, if two are equal or have the same text, or if certificates cannot hold one.

    Examples
    --------
    >>> colour = OneHot(("red", "green", "blue"))
    >>> colour.state("green"), colour.bits(1).tolist(), colour.describe("colour", 1), colour.move("red", 2)
    (1, [False, True, False], 'colour = green', Move(value='blue', distance=Fraction(1, 1)))

    See Also
    --------
    Steps : coding of a number.
    Encoder : codings of all features.
    """

    categories: tuple[Any, ...]

    def __post_init__(self) -> None:
        set_fields(self, categories=tuple(map(plain, self.categories)))
        for category in self.categories:
            self._see(category)
        texts = Counter(text for category in self.categories for text in _texts(category))
        alike = texts.most_common(1)
        if alike and alike[0][1] > 1 and len(set(self.categories)) == len(self.categories):
            raise EncodingError(
                f"two categories are written {alike[0][0]!r}, which no text can tell apart. Rename one."
            )
        if not self.categories or len(set(self.categories)) < len(self.categories):
            raise EncodingError(f"categories {self.categories} must be different, and at least one.")

    @cached_property
    def by_text(self) -> dict[str, Any]:
        """Categories by every text that denotes one in files, laws and rules.

        Examples
        --------
        >>> OneHot((3.0, "left")).by_text
        {'3': 3.0, '3.0': 3.0, 'left': 'left'}
        """
        return {text: category for category in self.categories for text in _texts(category)}

    @staticmethod
    def _see(category: Any) -> None:
        """Raise an error for a category that certificates cannot hold."""
        if isinstance(category, str):
            see_name(category, "category", EncodingError)
        if isinstance(category, int) and category.bit_length() > _BITS:
            raise EncodingError("a category has more than 4300 digits, which JSON cannot hold.")
        if category is None or isinstance(category, str | bool | int):
            return
        if not (isinstance(category, float) and isfinite(category)):
            raise EncodingError(
                f"the category {category!r} is a {type(category).__name__}. Use text, integers, "
                "finite floats, True, False or None, which certificates can hold."
            )

    @property
    def width(self) -> int:
        """Number of bits."""
        return len(self.categories)

    @property
    def spelled(self) -> str:
        """The whole coding as one text, used in fingerprints. It must never change."""
        return f"OneHot(categories={self.categories!r})"

    @property
    def states(self) -> int:
        """Number of categories."""
        return len(self.categories)

    def bits(self, state: int) -> npt.NDArray[np.bool_]:
        """Return the bits of a state: exactly one is on."""
        return np.asarray(np.arange(self.width) == state)

    def flips(self, before: int, after: int) -> int:
        """Return how many bits differ between two states: one goes off, one on."""
        return 2 * (before != after)

    def state(self, value: Any) -> int:
        """Return the index of a category."""
        return int(self.read(np.array([value], dtype=object), "the feature")[0])

    def reachable(self, state: int) -> bool:
        """Return True: every category can occur."""
        return 0 <= state < self.states

    def move(self, value: Any, state: int, span: Span | None = None) -> Move | None:
        """Return the change to another category, at distance 1; None if a span excludes it."""
        if span is not None and not span.holds(self.categories[state]):
            return None
        return Move(self.categories[state], Fraction(int(self.state(value) != state)))

    def words(self, name: str, index: int, on: bool) -> str:
        """Describe a bit."""
        return f"{visible(name)} {'=' if on else '!='} {visible(str(self.categories[index]))}"

    def describe(self, name: str, state: int) -> str:
        """Describe a state."""
        return self.words(name, state, True)

    def span(self, _state: int) -> str:
        """Return an empty text: a category needs no description."""
        return ""

    def describe_several(self, name: str, states: Sequence[int]) -> str:
        """Describe several categories together."""
        name, labels = visible(name), [visible(str(category)) for category in self.categories]
        left_out = [word for s, word in enumerate(labels) if s not in states]
        if len(states) == 1 or len(left_out) > len(states):
            return f"{name} = {' or '.join(labels[s] for s in states)}"
        return " and ".join(f"{name} != {word}" for word in left_out) if left_out else f"{name} is anything"

    def read(self, column: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
        """Check a column of raw values and return the indices of their categories."""
        index = {category: number for number, category in enumerate(self.categories)}
        values = column.tolist()
        try:
            states = list(map(index.get, values))
        except TypeError:  # a value without hash, such as a list
            states = [index.get(value) if isinstance(value, Hashable) else None for value in values]
        if None in states:
            row = states.index(None)
            shown = ", ".join(visible(str(category)) for category in self.categories[:12])
            n_more = len(self.categories) - 12
            raise EncodingError(
                f"{visible(name)} is {quoted(values[row])} in sample {row}, which is not a category. The "
                f"{len(self.categories)} categories are {shown}"
                f"{f' and {n_more} more' if n_more > 0 else ''}."
            )
        return np.array(states, np.float64)


def _texts(category: Any) -> list[str]:
    """Return the texts of a category: as in descriptions, and as in Python."""
    return list(dict.fromkeys((number_text(category), str(category))))


Coding: TypeAlias = Steps | OneHot


def threshold(cut: float, low: float = -inf, high: float = inf, whole: bool = False) -> Steps:
    """Return a coding with one bit: whether the value is at least `cut`.

    Parameters
    ----------
    cut : float
        Smallest value for which the bit is on.
    low : float, default: -inf
        Smallest raw value that can occur.
    high : float, default: inf
        Largest raw value that can occur.
    whole : bool, default: False
        Whether raw values are integers.

    Returns
    -------
    Steps
        The coding, with one cut.

    Raises
    ------
    EncodingError
        If the cut or a bound is not a float64, or if no value is in the range.

    Examples
    --------
    >>> adult = threshold(18, low=0)
    >>> adult.state(17.5), adult.state(18), adult.describe("age", 1)
    (0, 1, 'age >= 18')

    See Also
    --------
    thermometer : several cuts.
    bit : a feature that is a bit already.
    """
    return Steps((cut,), low, high, whole)


def thermometer(cuts: Sequence[float], low: float = -inf, high: float = inf, whole: bool = False) -> Steps:
    """Return a coding with one bit per cut.

    Parameters
    ----------
    cuts : sequence of float
        Rising numbers. A bit is on if the value is at least its cut.
    low : float, default: -inf
        Smallest raw value that can occur.
    high : float, default: inf
        Largest raw value that can occur.
    whole : bool, default: False
        Whether raw values are integers.

    Returns
    -------
    Steps
        The coding, with these cuts.

    Raises
    ------
    EncodingError
        If a cut or a bound is not a float64, if the cuts do not rise, or if no value is in the range.

    Examples
    --------
    >>> age = thermometer([18, 65], low=0, whole=True)
    >>> age.state(40), age.bits(1).tolist(), age.describe("age", 1)
    (1, [True, False], '18 <= age < 65')

    See Also
    --------
    threshold : one cut.
    integer : one cut per integer.
    """
    return Steps(tuple(cuts), low, high, whole)


def integer(low: int, high: int) -> Steps:
    """Return a coding of integers: one bit per step from `low` to `high` (255 for a uint8 pixel).

    Parameters
    ----------
    low : int
        Smallest value.
    high : int
        Largest value.

    Returns
    -------
    Steps
        The coding, with cuts from `low + 1` to `high`.

    Raises
    ------
    EncodingError
        If `low` is above `high`, or if a cut or a bound is not a float64.

    Examples
    --------
    >>> integer(0, 3).cuts, integer(0, 3).bits(2).tolist(), integer(0, 255).width
    ((1.0, 2.0, 3.0), [True, True, False], 255)

    See Also
    --------
    thermometer : chosen cuts.
    OneHot : categories, which have no order.
    """
    return Steps(tuple(range(low + 1, high + 1)), low, high, whole=True)


def bit() -> Steps:
    """Return the coding of a feature that is a bit: -1 or 0 is off, +1 is on.

    Returns
    -------
    Steps
        The coding, with one cut.

    Examples
    --------
    >>> [bit().state(value) for value in (-1, 0, 1)], bit().describe("smoker", 1)
    ([0, 0, 1], 'smoker = +1')

    See Also
    --------
    threshold : a number compared with one cut.
    """
    return Steps((1.0,), 0.0, 1.0, whole=True, bipolar=True)


def unused(low: float = -inf, high: float = inf, whole: bool = False) -> Steps:
    """Return the coding of a feature that no bit reads.

    Parameters
    ----------
    low : float, default: -inf
        Smallest raw value that can occur.
    high : float, default: inf
        Largest raw value that can occur.
    whole : bool, default: False
        Whether raw values are integers.

    Returns
    -------
    Steps
        The coding, without cuts.

    Raises
    ------
    EncodingError
        If a bound is not a float64, or if no value is in the range.

    Examples
    --------
    >>> unused(low=0).width, unused(low=0).describe("age", 0)
    (0, 'age is anything')

    See Also
    --------
    threshold : a feature that one bit reads.
    Real : a number that the first layer reads unchanged.
    """
    return Steps((), low, high, whole)


_BITS = 14_000  # of an integer that Python writes out
_EXACT = 2.0**53  # floats hold every integer up to here
_LARGEST = float(np.finfo(np.float64).max)


def _own(value: Any) -> Any:
    """A NumPy scalar or a Decimal as Python's own number, which compares exactly; all else as it is."""
    return read_number(value) if isinstance(value, np.number | Decimal) else plain(value)


def _end(value: Any, what: str) -> float:
    """Return a cut or a bound as a float64 or infinity; other numbers raise an error and are not rounded."""
    if isinstance(value, float | np.float32 | np.float16):
        return float(value) + 0.0  # normalizes -0.0 to 0.0
    return float_number(value, what, EncodingError) + 0.0


def _integer_bound(end: float, rounded: Callable[[float], int]) -> float:
    """Return a bound of integers; infinite if there is no bound."""
    return end if end in (inf, -inf) else rounded(end)


def _float(number: Any, *, up: bool) -> float:
    """Return the smallest float64 >= a number, or the largest <= it; infinite if there is none."""
    near = nearest_float(number)
    if up:
        return near if near >= number else nextafter(near, inf)
    return near if near <= number else nextafter(near, -inf)


def _short(value: float) -> str:
    return str(int(value)) if value == value // 1 and abs(value) < 1e15 else repr(value)
