"""Sugeno integrals as possibilistic logic bases (paper section 2.2, end), and as the dual bases of guaranteed
possibility.

An atom says x_i >= a. A weighted clause (x_1 >= a or x_2 >= a, w) means N(clause) >= w: a sample that
violates it is possible to the degree 1 - w at most. A weighted term [x_1 >= a and x_2 >= a, w] grants every
sample that satisfies it at least the degree w. The implication from x_i >= a to x_i >= b for b <= a is
assumed and never written (docs/theory.md 6.10).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

from sugenet.capacity.base import FocalSet, SetFunction
from sugenet.capacity.combine import Conjugate
from sugenet.capacity.criteria import Criteria, Criterion
from sugenet.capacity.integral import sugeno
from sugenet.capacity.rules import RULE_LIMIT, lifting, read_sample, up_to
from sugenet.capacity.scales import UNIT, Scale, Value
from sugenet.capacity.tables import Focal
from sugenet.capacity.text import (
    Reader,
    next_line,
    read_header,
    text_lines,
    write_header,
    write_name,
    write_value,
)
from sugenet.errors import CapacityError, RuleSyntaxError, ScaleError, SugenetError
from sugenet.reprs import set_fields

__all__ = ["Atom", "GuaranteedBase", "PossibilisticBase", "Weighted", "guaranteed_base", "possibilistic_base"]


class Atom(NamedTuple):
    """The proposition x_criterion >= level."""

    criterion: Criterion
    level: Value


class Weighted(NamedTuple):
    """A clause (atoms joined by or) or a term (atoms joined by and) with its weight."""

    atoms: frozenset[Atom]
    weight: Value


@dataclass(frozen=True, repr=False)
class _Base(ABC):
    """Shared base class: weighted sets of atoms over samples whose values are among `levels`."""

    criteria: Criteria
    formulas: tuple[Weighted, ...]
    scale: Scale
    levels: tuple[Value, ...] | None

    kind: ClassVar[str]
    joined: ClassVar[str]
    brackets: ClassVar[str]
    empty: ClassVar[str]

    def __init__(
        self,
        criteria: Criteria | int | Iterable[Criterion],
        formulas: Iterable[tuple[Iterable[tuple[Criterion, Any]], Any]],
        scale: Scale = UNIT,
        levels: Iterable[Any] | None = None,
    ) -> None:
        criteria = criteria if isinstance(criteria, Criteria) else Criteria(criteria)
        weights: dict[frozenset[Atom], Value] = {}
        for atoms, weight in formulas:
            checked = frozenset(self._atom(criteria, scale, *atom) for atom in atoms)
            value = scale.check(weight, "a weight")
            weights[checked] = max(weights.get(checked, value), value)
        set_fields(
            self,
            criteria=criteria,
            formulas=tuple(Weighted(atoms, weight) for atoms, weight in weights.items()),
            scale=scale,
            levels=None if levels is None else _sample_levels(levels, scale),
        )

    @staticmethod
    def _atom(criteria: Criteria, scale: Scale, criterion: Criterion, level: Any) -> Atom:
        criteria.place(criterion)
        value = scale.check(level, f"the level of an atom for {criterion}")
        if value == scale.bottom:
            raise CapacityError(
                f"the atom {criterion} >= {value} holds for every sample, "
                f"since {value} is the bottom. Leave it out."
            )
        return Atom(criterion, value)

    def _bodies(self) -> Iterator[FocalSet]:
        """Yield the criteria of each formula with its weight."""
        return (
            FocalSet(frozenset(atom.criterion for atom in atoms), weight) for atoms, weight in self.formulas
        )

    def _degrees(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> dict[Criterion, Value]:
        """Check a sample: its values must be on the scale, and among the levels if the base is limited to
        some.
        """
        row = dict(zip(self.criteria, read_sample(self.criteria, self.scale, x), strict=True))
        if self.levels is not None:
            off = next((name for name, value in row.items() if value not in self.levels), None)
            if off is not None:
                raise ScaleError(
                    f"the value of {off} is {row[off]}, but this base tells apart only the levels "
                    f"{', '.join(map(str, self.levels))}. Build the base with this level too: "
                    f"levels=[..., {row[off]}]."
                )
        return row

    def to_text(self) -> str:
        """Return the base as text, one formula per line, after the criteria, the scale and the levels.

        `from_text` reads it back.
        """
        told = (
            []
            if self.levels is None
            else ["levels: " + ", ".join(write_value(level, self.scale) for level in self.levels)]
        )
        return "\n".join([*write_header(self.criteria, self.scale), *told, *self._lines()]) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read a base from text; empty lines and lines that begin with # are skipped."""
        lines = list(text_lines(text))
        rest = iter(lines)
        criteria, scale = read_header(rest)
        levels: list[Value] | None = None
        if len(lines) > 2 and lines[2][1].split(":")[0].strip() == "levels":
            reader = next_line(rest, "levels: 0, 0.5, 1")
            levels = reader.separated(",", lambda: reader.value(scale))
        name, top = write_name(criteria.names[0]) if len(criteria) else "price", write_value(scale.top, scale)
        example = f"{cls.brackets[0]}{name} >= {top}, {top}{cls.brackets[1]}"
        return cls(
            criteria,
            [cls._read(Reader(line, example, number), criteria, scale) for number, line in rest],
            scale,
            levels,
        )

    @classmethod
    def _read(cls, reader: Reader, criteria: Criteria, scale: Scale) -> Weighted:
        reader.take(cls.brackets[0])
        atoms: list[Atom] = []
        if reader.sees(cls.empty):
            reader.take(cls.empty)
            reader.take(",")
        else:
            mark = cls.joined
            while mark == cls.joined:
                name = reader.criterion(criteria, ())
                reader.take(">=")
                atoms.append(Atom(name, reader.value(scale)))
                mark = reader.take(cls.joined, ",")
        weight = reader.value(scale)
        reader.take(cls.brackets[1])
        reader.end()
        return Weighted(frozenset(atoms), weight)

    def to_json(self) -> dict[str, Any]:
        """Return the base as JSON data; `from_json` reads it back."""
        write = self.scale.value_to_json
        return {
            "kind": self.kind,
            "criteria": list(self.criteria),
            "scale": self.scale.to_json(),
            "levels": None if self.levels is None else [write(level) for level in self.levels],
            "formulas": [
                {
                    "atoms": [[atom.criterion, write(atom.level)] for atom in self._sorted(atoms)],
                    "weight": write(weight),
                }
                for atoms, weight in self.formulas
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a base from the output of `to_json`."""
        match data:
            case {
                "kind": cls.kind,
                "criteria": list(names),
                "scale": dict(chain),
                "levels": levels,
                "formulas": list(listed),
            }:
                try:
                    formulas = [
                        ([tuple(atom) for atom in formula["atoms"]], formula["weight"]) for formula in listed
                    ]
                    return cls(names, formulas, Scale.from_json(chain), levels)
                except SugenetError:
                    raise
                except (KeyError, TypeError) as error:
                    raise RuleSyntaxError(
                        "a formula must be like {'atoms': [['price', 0.5]], 'weight': 1}."
                    ) from error
        raise RuleSyntaxError(
            f"the data does not describe a {cls.kind} base. It must be "
            f"{{'kind': {cls.kind!r}, 'criteria': [...], 'scale': {{...}}, 'levels': ..., "
            f"'formulas': [...]}}."
        )

    def _sorted(self, atoms: Iterable[Atom]) -> list[Atom]:
        return sorted(atoms, key=lambda atom: (self.criteria.place(atom.criterion), atom.level))

    def _lines(self) -> Iterator[str]:
        for atoms, weight in self.formulas:
            shown = (
                f"{write_name(atom.criterion)} >= {write_value(atom.level, self.scale)}"
                for atom in self._sorted(atoms)
            )
            formula = f" {self.joined} ".join(shown) or self.empty
            yield f"{self.brackets[0]}{formula}, {write_value(weight, self.scale)}{self.brackets[1]}"

    @abstractmethod
    def __call__(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> Value:
        """Return the degree of a sample."""

    @abstractmethod
    def _on_sets(self) -> SetFunction:
        """Return the degrees of the samples that have only bottom and top, as a set function."""

    @abstractmethod
    def _edge(self, atoms: Iterable[Atom], chain: Sequence[Value]) -> list[Value]:
        """Return the sample that decides a formula: the greatest that violates a clause, or the least that
        satisfies a term.
        """

    @abstractmethod
    def _written(self, mu: SetFunction, levels: Iterable[Value]) -> Self:
        """Return the base of a set function."""

    def capacity(self) -> SetFunction:
        """Return the set function whose Sugeno integral is the degree of every sample.

        It is the inverse of `possibilistic_base` and `guaranteed_base`: a set is worth the degree of the
        sample that has top on it and bottom elsewhere. Samples have the values in `levels`, or any on a
        finite scale.

        Raises
        ------
        CapacityError
            If the degrees are not a Sugeno integral; the error names a sample that shows it.

        Examples
        --------
        >>> formulas = [([("price", 1)], 0.6), ([("price", 1), ("safety", 1)], 1)]
        >>> mu = PossibilisticBase(["price", "safety"], formulas, levels=[0, 1]).capacity()
        >>> mu({"price"}), mu({"safety"}), mu(())
        (1, 0.4, 0)
        """
        chain = self.scale.levels if self.levels is None else self.levels
        if chain is None:
            raise CapacityError(
                f"this base does not limit the values of samples, and no base is a Sugeno integral on all of "
                f"{self.scale}. Say which values samples have: {type(self).__name__}(..., levels=[0, 1])."
            )
        mu = self._on_sets()
        # at these samples the two bases differ, if they differ anywhere
        for atoms, _ in (*self.formulas, *self._written(mu, chain).formulas):
            row = self._edge(atoms, chain)
            integral = sugeno(mu, row, scale=self.scale)
            if self(row) != integral:
                sample = ", ".join(f"{name}: {value}" for name, value in zip(self.criteria, row, strict=True))
                raise CapacityError(
                    f"the degrees are not a Sugeno integral: that of {{{sample}}} is {self(row)}, and the "
                    f"degrees of samples with only {self.scale.bottom} and {self.scale.top} would make it "
                    f"{integral}. Limit the values of samples with levels=..., or mend the formulas."
                )
        return mu

    def __len__(self) -> int:
        return len(self.formulas)

    def __iter__(self) -> Iterator[Weighted]:
        return iter(self.formulas)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self.formulas)} formulas over {len(self.criteria)} criteria, "
            f"scale {self.scale}>"
        )


class PossibilisticBase(_Base):
    """Weighted positive clauses; a sample is possible to the degree pi(x) = min of 1 - weight over the
    clauses it violates.

    Reference: Dubois, Prade and Rico [DPR14].

    Examples
    --------
    >>> formulas = [([("price", 1)], 0.6), ([("price", 1), ("safety", 1)], 1)]
    >>> pi = PossibilisticBase(["price", "safety"], formulas)
    >>> print(pi)
    (price >= 1, 0.6)
    (price >= 1 or safety >= 1, 1)
    >>> pi([1, 0]), pi([0, 1]), pi([0, 0])
    (1, 0.4, 0)
    >>> pi.inconsistency
    0
    """

    kind = "possibilistic"
    joined = "or"
    brackets = "()"
    empty = "false"

    def __call__(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> Value:
        """Return the degree pi(x): the smallest 1 - weight among the violated clauses."""
        worst = max((formula.weight for formula in self.violated(x)), default=self.scale.bottom)
        return self.scale.reverse(worst)

    def violated(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> tuple[Weighted, ...]:
        """Return the clauses that the sample violates."""
        degrees = self._degrees(x)
        return tuple(
            formula
            for formula in self.formulas
            if not any(degrees[name] >= level for name, level in formula.atoms)
        )

    def _on_sets(self) -> SetFunction:
        return Conjugate(Focal(self.criteria, self._bodies(), self.scale))

    def _edge(self, atoms: Iterable[Atom], chain: Sequence[Value]) -> list[Value]:
        row = dict.fromkeys(self.criteria, chain[-1])
        for name, level in atoms:
            row[name] = min(row[name], chain[bisect_left(chain, level) - 1])
        return list(row.values())

    def _written(self, mu: SetFunction, levels: Iterable[Value]) -> PossibilisticBase:
        return possibilistic_base(mu, levels)

    @property
    def inconsistency(self) -> Value:
        """Return the inconsistency level, 1 - max of pi.

        Clauses are positive, so only the weight of the empty clause counts.
        """
        return max((weight for atoms, weight in self.formulas if not atoms), default=self.scale.bottom)


class GuaranteedBase(_Base):
    """Weighted positive terms; a sample is granted the degree delta(x) = max of the weights of the
    terms it satisfies.

    Reference: Dubois and Prade [DP04].

    Examples
    --------
    >>> formulas = [([("price", 1)], 0.4), ([("price", 1), ("safety", 1)], 1)]
    >>> delta = GuaranteedBase(["price", "safety"], formulas)
    >>> print(delta)
    [price >= 1, 0.4]
    [price >= 1 and safety >= 1, 1]
    >>> delta([1, 0]), delta([1, 1]), delta([0, 1])
    (0.4, 1, 0)
    """

    kind = "guaranteed"
    joined = "and"
    brackets = "[]"
    empty = "true"

    def __call__(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> Value:
        """Return the degree delta(x): the largest weight among the satisfied terms."""
        return max((formula.weight for formula in self.satisfied(x)), default=self.scale.bottom)

    def _on_sets(self) -> SetFunction:
        return Focal(self.criteria, self._bodies(), self.scale)

    def _edge(self, atoms: Iterable[Atom], chain: Sequence[Value]) -> list[Value]:
        row = dict.fromkeys(self.criteria, chain[0])
        for name, level in atoms:
            row[name] = max(row[name], chain[bisect_left(chain, level)])
        return list(row.values())

    def _written(self, mu: SetFunction, levels: Iterable[Value]) -> GuaranteedBase:
        return guaranteed_base(mu, levels)

    def satisfied(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> tuple[Weighted, ...]:
        """Return the terms that the sample satisfies."""
        degrees = self._degrees(x)
        return tuple(
            formula
            for formula in self.formulas
            if all(degrees[name] >= level for name, level in formula.atoms)
        )


def possibilistic_base(
    mu: SetFunction, levels: Iterable[Any] | None = None, limit: int = RULE_LIMIT, scale: Scale | None = None
) -> PossibilisticBase:
    """Return the possibilistic logic base whose pi is the Sugeno integral of `mu`, for samples with values
    among `levels`.

    For each focal set A of the conjugate and each level a above the bottom, with a' the level below a, the
    clause "x_i >= a for some i of A" has the weight min(mu^c(A), 1 - a'). Clauses that others imply are left
    out. With the levels 0 and 1 alone it is the simple form: one clause for each A, with weight mu^c(A).

    Reference: Dubois, Prade and Rico [DPR14].

    Parameters
    ----------
    mu
        Any monotone set function.
    levels
        The values that samples may have; bottom and top are added. Default: all levels of a finite scale, or
        on the unit interval the values of `mu` and their reversals. A sample with another value raises an
        error.
    limit
        Raise an error if there are more focal sets than this.
    scale
        The scale of the samples. A Boolean `mu` can have a base on any scale: its 0 and 1 become bottom and
        top.

    Examples
    --------
    >>> from sugenet.capacity import Focal, Ordinal
    >>> worth = {("price", "safety"): "good", "price": "ok"}
    >>> mu = Focal(["price", "safety"], worth, Ordinal(["bad", "ok", "good"]))
    >>> pi = possibilistic_base(mu)
    >>> print(pi)
    (price >= ok, good)
    (price >= good, ok)
    (safety >= good, ok)
    >>> pi({"price": "good", "safety": "bad"})
    'ok'
    >>> print(possibilistic_base(mu, levels=["bad", "good"]))
    (price >= good, good)
    (safety >= good, ok)
    """
    chosen, lift = lifting(mu, scale)
    reverse = chosen.reverse
    what = "focal sets of the conjugate, each with one or more clauses"
    focal_sets = up_to(
        limit,
        mu.conjugate(),
        None,
        what,
        "use elimination rules, which can be taken one by one: iter_elimination_rules(mu)",
    )
    full, mask = mu.criteria.full, mu.criteria.mask
    worth = [
        FocalSet(focal.members, reverse(lift(mu.at(full ^ mask(focal.members))))) for focal in focal_sets
    ]
    chain = _chain(chosen, levels, [reverse(weight) for _, weight in worth])
    steps = [(above, reverse(below)) for below, above in pairwise(chain)]  # a with 1 - a', weights falling
    formulas = [
        formula for group in reversed(list(_formulas(worth, steps[::-1], chosen.bottom))) for formula in group
    ]
    return PossibilisticBase(mu.criteria, formulas, chosen, None if chain == chosen.levels else chain)


def guaranteed_base(
    mu: SetFunction, levels: Iterable[Any] | None = None, limit: int = RULE_LIMIT, scale: Scale | None = None
) -> GuaranteedBase:
    """Return the base of guaranteed possibility whose delta is the Sugeno integral of `mu`; parameters as in
    `possibilistic_base`.

    For each focal set F of `mu` and each level a above the bottom, the term "x_i >= a for all i of F" has the
    weight min(mu(F), a). Terms that others imply are left out.

    Reference: Dubois, Prade and Rico [DPR14].

    Examples
    --------
    >>> from sugenet.capacity import Focal, Ordinal
    >>> worth = {("price", "safety"): "good", "price": "ok"}
    >>> mu = Focal(["price", "safety"], worth, Ordinal(["bad", "ok", "good"]))
    >>> print(guaranteed_base(mu))
    [price >= ok, ok]
    [price >= good and safety >= good, good]
    """
    chosen, lift = lifting(mu, scale)
    what = "focal sets, each with one or more terms"
    focal_sets = up_to(
        limit, mu, None, what, "use selection rules, which can be taken one by one: iter_selection_rules(mu)"
    )
    worth = [FocalSet(members, lift(weight)) for members, weight in focal_sets]
    chain = _chain(chosen, levels, [weight for _, weight in worth])
    steps = [(level, level) for level in chain[1:]]
    formulas = [formula for group in _formulas(worth, steps, chosen.bottom) for formula in group]
    return GuaranteedBase(mu.criteria, formulas, chosen, None if chain == chosen.levels else chain)


def _formulas(
    worth: Sequence[FocalSet], steps: Iterable[tuple[Value, Value]], bottom: Value
) -> Iterator[list[Weighted]]:
    """Yield, for each step (level, cap) with increasing caps, the sets that need a formula with atoms at that
    level and weight min(worth, cap).

    For one set, only the steps up to the first cap that is at least its worth count: later steps have the
    same weight and weaker atoms. In one step, only the sets count that have no smaller set of the same weight
    there.
    """
    below = bottom
    for level, cap in steps:
        reached = [focal for focal in worth if focal.weight >= cap]
        kept = [
            Weighted(_atoms(members, level), cap)
            for members, value in reached
            if not any(other < members for other, lesser in reached if lesser < value)
        ]
        yield kept + [
            Weighted(_atoms(members, level), value) for members, value in worth if below < value < cap
        ]
        below = cap


def _atoms(members: Iterable[Criterion], level: Value) -> frozenset[Atom]:
    return frozenset(Atom(name, level) for name in members)


def _chain(scale: Scale, levels: Iterable[Any] | None, values: Iterable[Value]) -> tuple[Value, ...]:
    """Return the levels that samples may have, from bottom to top."""
    if levels is not None:
        return _sample_levels(levels, scale)
    if scale.levels is not None:
        return scale.levels
    return _sample_levels([mirrored for value in values for mirrored in (value, scale.reverse(value))], scale)


def _sample_levels(levels: Iterable[Any], scale: Scale) -> tuple[Value, ...]:
    """Check and sort levels, with bottom and top added."""
    return tuple(sorted({scale.bottom, scale.top, *(scale.check(level, "a level") for level in levels)}))
