"""Selection and elimination rules of a Sugeno integral (paper section 2.2), as values that print as sentences
and are read back.

The paper gives one rule for each focal set, with one threshold. These rules are sound, and on {0, 1} they say
everything; on a longer scale they say too little (docs/theory.md 6.6). A *graded* rule says the same for
every threshold at once, "for every a <= 0.7: if price >= a and safety >= a then S >= a", so that a finite set
of rules determines the integral on any scale.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sugenet.brief import cut, quoted
from sugenet.capacity.criteria import Criteria, Criterion, Subset, bits
from sugenet.capacity.scales import UNIT, Scale, Value
from sugenet.capacity.text import Reader, write_name, write_value
from sugenet.errors import CapacityError, CriteriaError, RuleSyntaxError

__all__ = ["EliminationRule", "SelectionRule", "ThresholdRule", "parse_rule", "read_sample"]


@dataclass(frozen=True, repr=False)
class ThresholdRule(ABC):
    """What selection and elimination rules share: a body of criteria,
    and the same threshold for all of them and for S.

    A rule that says the same graded or not (without conditions, or with a single threshold to speak of) is
    kept as plain, so that equal rules are equal values.
    """

    criteria: Criteria
    body: frozenset[Criterion]
    level: Value
    graded: bool
    scale: Scale

    kind: ClassVar[str]
    sign: ClassVar[str]
    to_level: ClassVar[str]

    def __init__(
        self,
        criteria: Criteria | int | Iterable[Criterion],
        body: Subset,
        level: Any,
        graded: bool = False,
        scale: Scale = UNIT,
    ) -> None:
        criteria = criteria if isinstance(criteria, Criteria) else Criteria(criteria)
        mask = criteria.mask(body)
        object.__setattr__(self, "criteria", criteria)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "body", criteria.members(mask))
        object.__setattr__(self, "level", scale.check(level, "the level of a rule"))
        object.__setattr__(self, "graded", True)
        says_more = bool(mask) and self._is_long()
        object.__setattr__(self, "graded", bool(graded) and says_more)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Positions of the criteria of the body, in order."""
        return tuple(bits(self.criteria.mask(self.body)))

    @property
    def levels(self) -> tuple[Value, ...] | None:
        """The thresholds the rule speaks of, of a plain one its level alone; None where they are infinitely
        many.
        """
        if not self.graded:
            return (self.level,)
        chain = self.scale.levels
        return None if chain is None else tuple(level for level in chain if self._speaks_of(level))

    @abstractmethod
    def _speaks_of(self, level: Value) -> bool:
        """Whether the rule has an instance at this threshold."""

    @abstractmethod
    def bound_of(self, row: Sequence[Value]) -> Value | None:
        """Like `bound`, for checked values in the order of the criteria."""

    def bound(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> Value | None:
        """The bound on S that the rule gives for a sample, or None where the rule does not apply."""
        return self.bound_of(read_sample(self.criteria, self.scale, x))

    def applies(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> bool:
        """Whether the sample meets the body, for a graded rule at one threshold at least."""
        return self.bound(x) is not None

    def at(self, level: Any) -> ThresholdRule:
        """The plain rule that a graded rule contains at one threshold."""
        value = self.scale.check(level, "level")
        if not self._speaks_of(value):
            raise CapacityError(f"level={value} is no threshold of the rule {str(self)!r}.")
        return type(self)(self.criteria, self.body, value, False, self.scale)

    def to_json(self) -> dict[str, Any]:
        """Give the rule as JSON data; `ThresholdRule.from_json` reads it back."""
        body = [self.criteria.names[place] for place in self.places]
        return {
            "kind": self.kind,
            "body": body,
            "level": self.scale.value_to_json(self.level),
            "graded": self.graded,
        }

    @staticmethod
    def from_json(
        data: Mapping[str, Any], criteria: Criteria | int | Iterable[Criterion], scale: Scale = UNIT
    ) -> ThresholdRule:
        """Read a rule from the data that `to_json` gave."""
        match data:
            case {
                "kind": "selection" | "elimination" as kind,
                "body": list(body),
                "level": level,
                "graded": bool(graded),
            }:
                made = SelectionRule if kind == "selection" else EliminationRule
                return made(criteria, body, level, graded, scale)
        raise RuleSyntaxError(
            f"{quoted(data)} does not describe a rule. It must be like {{'kind': 'selection', "
            f"'body': ['price'], 'level': 0.5, 'graded': True}}."
        )

    def _is_long(self) -> bool:
        levels = self.levels
        return levels is None or len(levels) > 1

    def __str__(self) -> str:
        level = write_value(self.level, self.scale)
        if not self.body:
            return f"always S {self.sign} {level}"
        threshold = "a" if self.graded else level
        conditions = " and ".join(
            f"{write_name(self.criteria.names[place])} {self.sign} {threshold}" for place in self.places
        )
        sentence = f"if {conditions} then S {self.sign} {threshold}"
        return f"for every a {self.to_level} {level}: {sentence}" if self.graded else sentence

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {cut(str(self), letters=900)}>"


class SelectionRule(ThresholdRule):
    """If x_i >= a for all i of the body, then S >= a; graded: for every a up to `level`, which is S >=
    min(level, x_i of the body).

    Examples
    --------
    >>> rule = SelectionRule(["price", "comfort", "safety"], {"price", "safety"}, 0.7, graded=True)
    >>> print(rule)
    for every a <= 0.7: if price >= a and safety >= a then S >= a
    >>> rule.bound({"price": 0.9, "comfort": 0, "safety": 0.4})
    0.4
    >>> print(rule.at(0.4))
    if price >= 0.4 and safety >= 0.4 then S >= 0.4
    >>> print(SelectionRule(["price"], {}, 0.3))
    always S >= 0.3
    """

    kind = "selection"
    sign = ">="
    to_level = "<="

    def _speaks_of(self, level: Value) -> bool:
        return bool(self.scale.bottom < level <= self.level) if self.graded else bool(level == self.level)

    def bound_of(self, row: Sequence[Value]) -> Value | None:
        """Return the greatest a with S >= a that follows, or None."""
        if not self.graded:
            return self.level if all(row[place] >= self.level for place in self.places) else None
        reached = min(self.level, *(row[place] for place in self.places))
        return reached if reached > self.scale.bottom else None


class EliminationRule(ThresholdRule):
    """If x_i <= a for all i of the body, then S <= a; graded: for every a from `level`, which is S <=
    max(level, x_i of the body).

    Examples
    --------
    >>> rule = EliminationRule(["price", "comfort", "safety"], {"price", "comfort"}, 0.2, graded=True)
    >>> print(rule)
    for every a >= 0.2: if price <= a and comfort <= a then S <= a
    >>> rule.bound({"price": 0.1, "comfort": 0.6, "safety": 1})
    0.6
    >>> rule.applies({"price": 0, "comfort": 1, "safety": 1})
    False
    """

    kind = "elimination"
    sign = "<="
    to_level = ">="

    def _speaks_of(self, level: Value) -> bool:
        return bool(self.level <= level < self.scale.top) if self.graded else bool(level == self.level)

    def bound_of(self, row: Sequence[Value]) -> Value | None:
        """Return the least a with S <= a that follows, or None."""
        if not self.graded:
            return self.level if all(row[place] <= self.level for place in self.places) else None
        held = max(self.level, *(row[place] for place in self.places))
        return held if held < self.scale.top else None


def parse_rule(
    text: str, criteria: Criteria | int | Iterable[Criterion], scale: Scale = UNIT, line: int | None = None
) -> ThresholdRule:
    """Read a rule from the sentence that `str` gives for it; `line` is only told in errors.

    Names and levels that are not plain words, or that are words of the sentence itself, stand in double
    quotes with the escapes of JSON; whole numbers without quotes are numbered criteria.

    Examples
    --------
    >>> parse_rule('if "top speed" >= 0.5 and 3 >= 0.5 then S >= 0.5', ["top speed", 3])
    <SelectionRule: if "top speed" >= 0.5 and 3 >= 0.5 then S >= 0.5>
    >>> parse_rule("if price is 0.5 then S >= 0.5", ["price"])
    Traceback (most recent call last):
    ...
    sugenet.errors.RuleSyntaxError: column 10: found is, expected >= or <=.
        if price is 0.5 then S >= 0.5
                 ^
    Write it like this: if price >= 1 then S >= 1
    """
    criteria = criteria if isinstance(criteria, Criteria) else Criteria(criteria)
    reader = Reader(text, str(SelectionRule(criteria, criteria.names[:1], scale.top, False, scale)), line)
    rule = _read_rule(reader, criteria, scale)
    reader.end()
    return rule


def _read_rule(reader: Reader, criteria: Criteria, scale: Scale) -> ThresholdRule:
    first = reader.take("if", "for", "always")
    level: Value = None
    quantifier = ""
    if first == "for":
        reader.take("every")
        reader.take("a")
        quantifier = reader.take("<=", ">=")
        level = reader.value(scale)
        reader.take(":")
        reader.take("if")
    # a rule reaches up to its level from the other side
    signs = {"<=": (">=",), ">=": ("<=",)}.get(quantifier, (">=", "<="))
    body: list[Criterion] = []
    word = "then" if first == "always" else "and"
    while word == "and":
        body.append(reader.criterion(criteria, body))
        signs = (reader.take(*signs),)
        level = _read_threshold(reader, scale, level, bool(quantifier))
        word = reader.take("and", "then")
    reader.take("S")
    signs = (reader.take(*signs),)
    level = _read_threshold(reader, scale, level, bool(quantifier))
    made = SelectionRule if signs == (">=",) else EliminationRule
    return made(criteria, body, level, bool(quantifier), scale)


def _read_threshold(reader: Reader, scale: Scale, before: Value, graded: bool) -> Value:
    if graded:
        reader.take("a")
        return before
    level = reader.value(scale)
    if before is not None and level != before:
        reader.fail(
            f"the threshold is {level} here and {before} before, but a rule has one threshold for all "
            f"criteria and for S",
            back=1,
        )
    return level


def read_sample(criteria: Criteria, scale: Scale, x: Mapping[Criterion, Any] | Sequence[Any]) -> list[Value]:
    """Check one sample, a mapping or a sequence in order of the criteria,
    and give its values in that order.
    """
    row = criteria.row(x, "the sample") if isinstance(x, Mapping) else list(x)
    if len(row) != len(criteria):
        raise CriteriaError(
            f"the sample has {len(row)} values for {len(criteria)} criteria. Give one value for each."
        )
    return [scale.check(value, f"the value of {name}") for name, value in zip(criteria, row, strict=True)]
