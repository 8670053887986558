"""Selection and elimination rules of a Sugeno integral (paper section 2.2).

Rules print as sentences that can be parsed again.

The paper gives one rule for each focal set, with one threshold. These rules are sound, and complete on {0,
1}, but not on a longer scale (docs/theory.md 6.6). A *graded* rule holds for every threshold at once: "for
every a <= 0.7: if price >= a and safety >= a then S >= a". So a finite set of rules determines the integral
on any scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from sugenet.capacity.arguments import magnitude
from sugenet.capacity.base import FocalSet, Order, SetFunction, need_set_function
from sugenet.capacity.combine import Conjugate, Join, Meet, Nested
from sugenet.capacity.criteria import Criteria, Criterion, Subset, bits
from sugenet.capacity.scales import BOOLEAN, UNIT, Scale, Value
from sugenet.capacity.tables import Focal
from sugenet.capacity.text import (
    Reader,
    compares,
    read_header,
    text_lines,
    write_header,
    write_name,
    write_value,
)
from sugenet.errors import CapacityError, CriteriaError, RuleSyntaxError, ScaleError, TooLargeError
from sugenet.reprs import cut, quoted, set_fields

__all__ = [
    "EliminationRule",
    "RuleSet",
    "SelectionRule",
    "ThresholdRule",
    "elimination_rules",
    "iter_elimination_rules",
    "iter_selection_rules",
    "lifting",
    "parse_rule",
    "read_sample",
    "selection_rules",
    "up_to",
]


@dataclass(frozen=True, repr=False)
class ThresholdRule:
    """Shared base of selection and elimination rules: a body of criteria, and one threshold for them and for
    S.

    A rule that has the same meaning graded or not (without conditions, or with only one possible threshold)
    is stored as plain, so that equal rules are equal values.
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
        set_fields(
            self,
            criteria=criteria,
            scale=scale,
            body=criteria.members(mask),
            level=scale.check(level, "the level of a rule"),
            graded=True,
        )
        says_more = bool(mask) and self._is_long()
        object.__setattr__(self, "graded", bool(graded) and says_more)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Indices of the criteria of the body, in order."""
        return tuple(bits(self.criteria.mask(self.body)))

    @property
    def levels(self) -> tuple[Value, ...] | None:
        """The thresholds of the rule (for a plain rule its level alone), or None if infinitely many."""
        if not self.graded:
            return (self.level,)
        chain = self.scale.levels
        return None if chain is None else tuple(level for level in chain if self._speaks_of(level))

    @property
    def _limit(self) -> Value:
        """The bound on S that holds in any case, so that no rule need state it."""
        return self.scale.bottom if self.sign == ">=" else self.scale.top

    def _speaks_of(self, level: Value) -> bool:
        """Return whether the rule has an instance at this threshold."""
        if not self.graded:
            return bool(level == self.level)
        return bool(level != self._limit) and compares(self.level, self.sign, level)

    def bound_of(self, row: Sequence[Value]) -> Value | None:
        """Return the same as `bound`, for checked values in the order of the criteria."""
        values = [row[index] for index in self.places]
        if not self.graded:
            return self.level if all(compares(value, self.sign, self.level) for value in values) else None
        bound = (min if self.sign == ">=" else max)(self.level, *values)
        return bound if bound != self._limit else None

    def bound(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> Value | None:
        """Return the bound on S that the rule gives for a sample, or None if the rule does not apply."""
        return self.bound_of(read_sample(self.criteria, self.scale, x))

    def applies(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> bool:
        """Return whether the sample meets the body; for a graded rule, at one threshold at least."""
        return self.bound(x) is not None

    def at(self, level: Any) -> ThresholdRule:
        """Return the plain rule that a graded rule contains at one threshold."""
        value = self.scale.check(level, "level")
        if not self._speaks_of(value):
            raise CapacityError(f"level={value} is not a threshold of the rule {str(self)!r}.")
        return type(self)(self.criteria, self.body, value, False, self.scale)

    def to_json(self) -> dict[str, Any]:
        """Return the rule as JSON data; `ThresholdRule.from_json` reads it back."""
        body = [self.criteria.names[index] for index in self.places]
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
        """Read a rule from the output of `to_json`."""
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
            f"{write_name(self.criteria.names[index])} {self.sign} {threshold}" for index in self.places
        )
        sentence = f"if {conditions} then S {self.sign} {threshold}"
        return f"for every a {self.to_level} {level}: {sentence}" if self.graded else sentence

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {cut(str(self), letters=900)}>"


class SelectionRule(ThresholdRule):
    """If x_i >= a for all i of the body, then S >= a.

    A graded rule holds for every a up to `level`, which means S >= min(level, x_i of the body).

    Reference: Greco, Matarazzo and Słowiński [GMS04].

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


class EliminationRule(ThresholdRule):
    """If x_i <= a for all i of the body, then S <= a.

    A graded rule holds for every a from `level`, which means S <= max(level, x_i of the body).

    Reference: Greco, Matarazzo and Słowiński [GMS04].

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


def parse_rule(
    text: str, criteria: Criteria | int | Iterable[Criterion], scale: Scale = UNIT, line: int | None = None
) -> ThresholdRule:
    """Parse a rule from its `str` sentence; `line` is used only in errors.

    Names and levels that are not plain words, or that are words of the sentence itself, are written in double
    quotes with the escapes of JSON. Integers without quotes are numbered criteria.

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
    """Check one sample, a mapping or a sequence in order of the criteria, and return its values in that
    order.
    """
    x = criteria.labelled(x)
    row = criteria.row(x, "the sample") if isinstance(x, Mapping) else list(x)
    if len(row) != len(criteria):
        raise CriteriaError(
            f"the sample has {len(row)} values for {len(criteria)} criteria. Give one value for each."
        )
    return [scale.check(value, f"the value of {name}") for name, value in zip(criteria, row, strict=True)]


RULE_LIMIT = 10_000
"""Default limit on the number of rules listed at once."""

COUNTED_BY_TABLE = 16
"""Largest number of criteria for which focal sets without a formula are counted, only to state their number
in an error.
"""

LAZILY = "take the first ones: itertools.islice({}(mu, by='size'), 10)"

Side: TypeAlias = Literal["selection", "elimination"]
_R = TypeVar("_R", bound=ThresholdRule)


@dataclass(frozen=True, repr=False)
class RuleSet:
    """Rules over the same criteria and scale, in order, each once.

    Examples
    --------
    >>> rules = RuleSet.from_text('''
    ... criteria: price, comfort, safety
    ... scale: bad < ok < good
    ... for every a <= good: if price >= a and safety >= a then S >= a
    ... if comfort >= ok then S >= ok
    ... for every a >= ok: if price <= a then S <= a
    ... ''')
    >>> x = {"price": "bad", "comfort": "good", "safety": "good"}
    >>> rules.bounds(x), len(rules.fired(x))
    (('ok', 'ok'), 2)
    >>> mu = rules.capacity("selection")
    >>> mu({"price", "safety"}), mu({"comfort"}), mu({"price"})
    ('good', 'ok', 'bad')
    """

    criteria: Criteria
    rules: tuple[ThresholdRule, ...]
    scale: Scale

    def __init__(
        self,
        criteria: Criteria | int | Iterable[Criterion],
        rules: Iterable[ThresholdRule],
        scale: Scale = UNIT,
    ) -> None:
        criteria = criteria if isinstance(criteria, Criteria) else Criteria(criteria)
        kept = tuple(dict.fromkeys(rules))
        for rule in kept:
            if rule.criteria != criteria:
                raise CriteriaError(
                    f"the rule {str(rule)!r} is over other criteria than the set. "
                    f"Build both over one Criteria."
                )
            if rule.scale != scale:
                raise ScaleError(
                    f"the rule {str(rule)!r} is on the scale {rule.scale}, the set on {scale}. "
                    f"They must agree."
                )
        set_fields(self, criteria=criteria, rules=kept, scale=scale)

    @property
    def selection(self) -> RuleSet:
        """The selection rules of the set."""
        return self._only(rule for rule in self.rules if isinstance(rule, SelectionRule))

    @property
    def elimination(self) -> RuleSet:
        """The elimination rules of the set."""
        return self._only(rule for rule in self.rules if isinstance(rule, EliminationRule))

    def bounds(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> tuple[Value, Value]:
        """Return the greatest lower and least upper bound on S that the rules give for a sample."""
        lower, upper = self.scale.bottom, self.scale.top
        for rule, bound in self._bounds(x):
            if isinstance(rule, SelectionRule):
                lower = max(lower, bound)
            else:
                upper = min(upper, bound)
        return lower, upper

    def fired(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> RuleSet:
        """Return the rules that apply to a sample."""
        return self._only(rule for rule, _ in self._bounds(x))

    def deciding(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> RuleSet:
        """Return the shortest rules that give the bounds of a sample, as plain rules at the threshold that
        counts.

        Examples
        --------
        >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.4})
        >>> print(selection_rules(mu).deciding([0.9, 0.2, 0.7]))
        if price >= 0.7 and safety >= 0.7 then S >= 0.7
        """
        lower, upper = self.bounds(x)
        wanted = {"selection": lower, "elimination": upper}
        return self._only(
            _shortest(rule.at(bound) for rule, bound in self._bounds(x) if bound == wanted[rule.kind])
        )

    def expand(self) -> RuleSet:
        """Return the graded rules as plain rules, one per level, without those that a shorter rule makes
        redundant.

        Examples
        --------
        >>> from sugenet.capacity import Ordinal
        >>> worth = {("price", "safety"): "good", "price": "ok"}
        >>> mu = Focal(["price", "safety"], worth, Ordinal(["bad", "ok", "good"]))
        >>> print(selection_rules(mu).expand())
        if price >= ok then S >= ok
        if price >= good and safety >= good then S >= good
        """
        plain: list[ThresholdRule] = []
        for rule in self.rules:
            levels = rule.levels
            if levels is None:
                raise CapacityError(
                    f"the graded rule {str(rule)!r} stands for infinitely many, since the scale is "
                    f"{self.scale}. Use it as it is, take one of them with rule.at(level), "
                    "or use an Ordinal scale."
                )
            plain.extend(rule.at(level) for level in levels)
        return self._only(_shortest(plain))

    def conflicts(self) -> Iterator[tuple[SelectionRule, EliminationRule]]:
        """Yield the pairs of rules that no set function can meet together.

        Such rules have no common criterion, and state S >= a and S <= b < a.

        Examples
        --------
        >>> rules = [SelectionRule(2, {1}, 0.8), EliminationRule(2, {2}, 0.5)]
        >>> [(str(first), str(second)) for first, second in RuleSet(2, rules).conflicts()]
        [('if 1 >= 0.8 then S >= 0.8', 'if 2 <= 0.5 then S <= 0.5')]
        """
        eliminations = [rule for rule in self.rules if isinstance(rule, EliminationRule)]
        for first in self.rules:
            if isinstance(first, SelectionRule):
                yield from (
                    (first, rule)
                    for rule in eliminations
                    if first.level > rule.level and not first.body & rule.body
                )

    def capacity(self, side: Side | None = None) -> SetFunction:
        """Return the set function of the rules: the least that meets the selection rules, or the greatest
        that meets the elimination rules.

        A Sugeno integral meets a plain rule if and only if it meets the graded one, so both describe the same
        function.

        Parameters
        ----------
        side
            ``"selection"`` or ``"elimination"``; required only if the set has rules of both kinds, or none.

        Examples
        --------
        >>> rules = RuleSet(2, [SelectionRule(2, {1}, 0.5), EliminationRule(2, {2}, 0.75)])
        >>> [rules.capacity(side)({1}) for side in ("selection", "elimination")]
        [0.5, 0.75]
        """
        kinds = {rule.kind for rule in self.rules}
        chosen = side or (kinds.pop() if len(kinds) == 1 else None)
        if chosen not in ("selection", "elimination"):
            raise CapacityError(
                f"{'side=' + repr(side) if side else 'a set with both kinds of rules or none'} does not say "
                "which set function is meant. Ask for the least with capacity('selection') or for the "
                "greatest with capacity('elimination')."
            )
        if chosen == "selection":
            return Focal(
                self.criteria, (FocalSet(rule.body, rule.level) for rule in self.selection), self.scale
            )
        reversed_levels = (FocalSet(rule.body, self.scale.reverse(rule.level)) for rule in self.elimination)
        return Conjugate(Focal(self.criteria, reversed_levels, self.scale))

    def to_text(self) -> str:
        """Return the rules as text, after one line with the criteria and one with the scale.

        `from_text` reads it back.
        """
        return "\n".join([*write_header(self.criteria, self.scale), *map(str, self.rules)]) + "\n"

    @classmethod
    def from_text(cls, text: str) -> RuleSet:
        """Read rules from text; empty lines and lines that begin with # are skipped."""
        lines = text_lines(text)
        criteria, scale = read_header(lines)
        return cls(criteria, [parse_rule(line, criteria, scale, number) for number, line in lines], scale)

    def to_json(self) -> dict[str, Any]:
        """Return criteria, scale and rules as JSON data; `from_json` reads it back."""
        rules = [rule.to_json() for rule in self.rules]
        return {"criteria": list(self.criteria), "scale": self.scale.to_json(), "rules": rules}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RuleSet:
        """Read rules from the output of `to_json`."""
        match data:
            case {"criteria": list(names), "scale": dict(chain), "rules": list(rules)}:
                criteria, scale = Criteria(names), Scale.from_json(chain)
                return cls(
                    criteria, [ThresholdRule.from_json(rule, criteria, scale) for rule in rules], scale
                )
        raise RuleSyntaxError(
            "the data does not describe a set of rules. It must be {'criteria': [...], 'scale': {...}, "
            "'rules': [...]}."
        )

    def _bounds(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> Iterator[tuple[ThresholdRule, Value]]:
        row = read_sample(self.criteria, self.scale, x)
        for rule in self.rules:
            bound = rule.bound_of(row)
            if bound is not None:
                yield rule, bound

    def _only(self, rules: Iterable[ThresholdRule]) -> RuleSet:
        return RuleSet(self.criteria, rules, self.scale)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[ThresholdRule]:
        return iter(self.rules)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))

    def __repr__(self) -> str:
        return f"<RuleSet: {len(self.rules)} rules over {len(self.criteria)} criteria, scale {self.scale}>"


def _shortest(plain: Iterable[ThresholdRule]) -> list[ThresholdRule]:
    """Remove the plain rules that one with a smaller body and the same conclusion makes redundant."""
    distinct = list(dict.fromkeys(plain))
    bodies: dict[tuple[str, Value], list[frozenset[Criterion]]] = {}
    for rule in distinct:
        bodies.setdefault((rule.kind, rule.level), []).append(rule.body)
    return [
        rule for rule in distinct if not any(other < rule.body for other in bodies[rule.kind, rule.level])
    ]


def iter_selection_rules(
    mu: SetFunction, complete: bool = True, by: Order = None, scale: Scale | None = None
) -> Iterator[SelectionRule]:
    """Yield the rules of `selection_rules` one by one, without a limit.

    Reference: Greco, Matarazzo and Słowiński [GMS04].

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold
    >>> print(next(iter_selection_rules(CardinalityThreshold(400, tau=2))))
    if 1 >= 1 and 2 >= 1 then S >= 1
    """
    need_set_function(mu)
    return _made(SelectionRule, mu, mu.focal_sets(by), complete, scale)


def iter_elimination_rules(
    mu: SetFunction, complete: bool = True, by: Order = None, scale: Scale | None = None
) -> Iterator[EliminationRule]:
    """Yield the rules of `elimination_rules` one by one, without a limit.

    Reference: Greco, Matarazzo and Słowiński [GMS04].
    """
    need_set_function(mu)
    return _made(EliminationRule, mu, mu.conjugate().focal_sets(by), complete, scale)


def selection_rules(
    mu: SetFunction,
    complete: bool = True,
    by: Order = None,
    limit: int = RULE_LIMIT,
    scale: Scale | None = None,
) -> RuleSet:
    """Return one selection rule for each focal set of `mu`.

    Reference: Greco, Matarazzo and Słowiński [GMS04].

    Parameters
    ----------
    mu
        Any monotone set function.
    complete
        True: graded rules, whose best bound is S for every sample. False: the paper's rules, with the weight
        of the focal set as the only threshold; sound, and complete on {0, 1}.
    by
        Order of the rules, as in `SetFunction.focal_sets`: None, ``"size"``, or a cost per criterion.
    limit
        Raise an error if there are more rules than this.
    scale
        The scale of the samples. A Boolean `mu` can have rules on any scale: its 0 and 1 become bottom and
        top.

    Examples
    --------
    >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.4})
    >>> print(selection_rules(mu))
    for every a <= 0.4: if comfort >= a then S >= a
    for every a <= 1: if price >= a and safety >= a then S >= a
    >>> print(selection_rules(mu, complete=False))
    if comfort >= 0.4 then S >= 0.4
    if price >= 1 and safety >= 1 then S >= 1
    """
    need_set_function(mu)
    focal_sets = up_to(
        limit, mu, by, "selection rules, one for each focal set", LAZILY.format("iter_selection_rules")
    )
    return RuleSet(mu.criteria, _made(SelectionRule, mu, focal_sets, complete, scale), lifting(mu, scale)[0])


def elimination_rules(
    mu: SetFunction,
    complete: bool = True,
    by: Order = None,
    limit: int = RULE_LIMIT,
    scale: Scale | None = None,
) -> RuleSet:
    """Return one elimination rule per focal set of the conjugate of `mu`; parameters as in `selection_rules`.

    Reference: Greco, Matarazzo and Słowiński [GMS04].

    Examples
    --------
    >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.4})
    >>> print(elimination_rules(mu, by="size"))
    for every a >= 0.4: if price <= a then S <= a
    for every a >= 0.4: if safety <= a then S <= a
    for every a >= 0: if price <= a and comfort <= a then S <= a
    for every a >= 0: if comfort <= a and safety <= a then S <= a
    """
    need_set_function(mu)
    what = "elimination rules, one for each focal set of the conjugate"
    focal_sets = up_to(limit, mu.conjugate(), by, what, LAZILY.format("iter_elimination_rules"))
    return RuleSet(
        mu.criteria, _made(EliminationRule, mu, focal_sets, complete, scale), lifting(mu, scale)[0]
    )


def _made(
    kind: type[_R], mu: SetFunction, focal_sets: Iterable[FocalSet], complete: bool, scale: Scale | None
) -> Iterator[_R]:
    """Return one rule per focal set: of `mu` for selection, of its conjugate for elimination."""
    chosen, lift = lifting(mu, scale)

    def level_of(members: frozenset[Criterion], weight: Value) -> Value:
        # 1 - mu^c(A) is by definition mu of the complement of A: looked up, not subtracted
        if kind is EliminationRule:
            weight = mu.at(mu.criteria.full ^ mu.criteria.mask(members))
        return lift(weight)

    return (
        kind(mu.criteria, members, level_of(members, weight), complete, chosen)
        for members, weight in focal_sets
    )


def lifting(mu: SetFunction, scale: Scale | None) -> tuple[Scale, Callable[[Value], Value]]:
    """Return the scale of the rules, and a function that reads values of `mu` on it.

    The values 0 and 1 of a Boolean `mu` become bottom and top of any scale.
    """
    if scale is None or scale == mu.scale:
        return mu.scale, lambda value: value
    if mu.scale != BOOLEAN:
        raise ScaleError(f"scale is {scale}, but the set function has values on {mu.scale}. They must agree.")
    return scale, lambda value: scale.top if value else scale.bottom


def up_to(limit: int, mu: SetFunction, by: Order, what: str, otherwise: str) -> list[FocalSet]:
    """List the focal sets of `mu` if there are at most `limit`.

    Otherwise raise an error with their number and the remedy.
    """
    listed = list(islice(mu.focal_sets(by), limit + 1))
    if len(listed) <= limit:
        return listed
    raise TooLargeError(
        f"there are {_how_many(mu, limit)} {what}; the limit is {limit:,}. "
        f"Allow more with limit=..., or {otherwise}."
    )


def _how_many(mu: SetFunction, limit: int) -> str:
    if not isinstance(mu, Conjugate | Join | Meet | Nested) or len(mu.criteria) <= COUNTED_BY_TABLE:
        with suppress(TooLargeError):
            return magnitude(mu.focal_count())
    return f"more than {limit:,}"
