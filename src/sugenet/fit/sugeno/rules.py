"""Rules of learned models in the features' own units; they print as sentences and are read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.brief import Said
from sugenet.capacity.arguments import float_number
from sugenet.capacity.text import Reader, write_name
from sugenet.errors import CapacityError
from sugenet.fit.sugeno.columns import FeatureLevels

__all__ = ["LevelRule", "parse_level_rule", "strongest"]


@dataclass(frozen=True)
class LevelRule(Said):
    """If features reach these values, the target is at least of some level.

    Parameters
    ----------
    conditions
        Feature, ``>=`` or ``<=``, and value; none for a rule that always holds.
    level
        What the target then is at least.
    chains
        The features that the rule may speak of, with their orders.

    Examples
    --------
    >>> room = FeatureLevels("room", ("good",), "rising", ("bad", "good"))
    >>> chains = (FeatureLevels("price", (300.0,), "falling"), room)
    >>> rule = LevelRule((("price", "<=", 300.0), ("room", ">=", "good")), "ok", chains)
    >>> print(rule)
    if price <= 300 and room >= good then at least ok
    >>> rule.holds({"price": 250, "room": "good"}), rule.holds({"price": 250, "room": "bad"})
    (True, False)
    >>> parse_level_rule(str(rule), chains, ["bad", "ok"]) == rule
    True
    """

    conditions: tuple[tuple[str, str, Any], ...]
    level: Any
    chains: tuple[FeatureLevels, ...]

    def holds(self, sample: Mapping[str, Any] | Sequence[Any]) -> bool:
        """Whether a sample meets the conditions; values by name, or in the order of the features."""
        names = [chain.name for chain in self.chains]
        orders = {chain.name: chain.order for chain in self.chains}
        for name, sign, step in self.conditions:
            value = sample[name] if isinstance(sample, Mapping) else sample[names.index(name)]
            order = orders[name]
            if order is not None:
                value, step = order.index(value), order.index(step)
            if not (value >= step if sign == ">=" else value <= step):
                return False
        return True

    def __str__(self) -> str:
        if not self.conditions:
            return f"always at least {_write(self.level)}"
        said = [f"{write_name(name)} {sign} {_write(value)}" for name, sign, value in self.conditions]
        return f"if {' and '.join(said)} then at least {_write(self.level)}"


def _write(value: Any) -> str:
    """A value as it stands in a rule: names in quotes unless they are plain words, numbers in full."""
    if isinstance(value, str):
        return write_name(value) if not _is_number(value) else json.dumps(value)
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e15:
        return str(int(plain))
    return repr(plain) if isinstance(plain, int | float) else json.dumps(str(plain), ensure_ascii=False)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9.].*|[+-]?(inf|nan).*", text, re.IGNORECASE) is not None


def parse_level_rule(text: str, chains: Sequence[FeatureLevels], levels: Iterable[Any]) -> LevelRule:
    """Read a rule from the sentence that `str` gives for it.

    Parameters
    ----------
    text
        Such as ``if price <= 300 and room >= good then at least ok``.
    chains
        The features; ``model.chains`` of a learned one.
    levels
        Those of the target.

    Examples
    --------
    >>> parse_level_rule("if size is 3 then at least 1", [FeatureLevels("size", (3.0,), "rising")], [0, 1])
    Traceback (most recent call last):
    ...
    sugenet.errors.RuleSyntaxError: column 9: found is, expected >= or <=.
        if size is 3 then at least 1
                ^
    Write it like this: if size >= 3 then at least 1
    """
    known = {chain.name: chain for chain in chains}
    targets = list(levels)
    example = LevelRule(
        tuple((chain.name, *chain.condition(1)) for chain in chains[:1] if chain.steps),
        targets[-1],
        tuple(chains),
    )
    reader = Reader(text, str(example))
    conditions: list[tuple[str, str, Any]] = []
    word = "and" if reader.take("if", "always") == "if" else "then"
    while word == "and":
        name = str(reader.name())
        if name not in known:
            reader.fail(f"unknown feature {write_name(name)}; they are {', '.join(list(known)[:8])}", back=1)
        sign = reader.take(">=", "<=")
        conditions.append((name, sign, _read_step(reader, known[name])))
        word = reader.take("and", "then")
    reader.take("at")
    reader.take("least")
    level = _named(reader, targets)
    reader.end()
    return LevelRule(tuple(conditions), level, tuple(chains))


def _read_step(reader: Reader, chain: FeatureLevels) -> Any:
    if chain.order is not None:
        return _named(reader, list(chain.order))
    _, text, _ = reader.tokens[reader.next] if not reader.at_end else ("", "the end", 0)
    try:
        number = float_number(text)
    except CapacityError:
        reader.fail(f"found {text}, expected a number, as {chain.name} has")
    reader.next += 1
    return number


def _named(reader: Reader, values: list[Any]) -> Any:  # noqa: RET503  # fail does not return
    """One of some values, as it is written."""
    kind, text, _ = reader.tokens[reader.next] if not reader.at_end else ("", "the end", 0)
    for value in values:
        if text == _write(value) or (kind == "quoted" and json.loads(text) == value):
            reader.next += 1
            return value
    shown = ", ".join(_write(value) for value in values[:12])
    reader.fail(f"found {text}, expected one of {shown}")


def strongest(
    corners: Iterable[tuple[int, tuple[tuple[int, int], ...]]],
    chains: Sequence[FeatureLevels],
    levels: Sequence[Any],
) -> tuple[LevelRule, ...]:
    """The rules that no other one makes needless, best level first, then short ones.

    Parameters
    ----------
    corners
        Levels of the target from 1, and the levels of features that suffice for them.
    chains, levels
        The features, and the levels of the target by name.
    """
    able = [
        (level, needs)
        for level, needs in dict.fromkeys(corners)
        if all(rank <= len(chains[i].steps) for i, rank in needs)
    ]
    able.sort(key=lambda one: (-one[0], len(one[1]), one[1]))
    if not able:
        return ()
    points = np.zeros((len(able), len(chains)), dtype=np.int64)
    for row, (_, needs) in enumerate(able):
        for i, rank in needs:
            points[row, i] = rank
    heights = np.array([level for level, _ in able])
    rules = []
    for row, (level, needs) in enumerate(able):
        easier = (points <= points[row]).all(axis=1) & (heights >= level)
        easier[row] = False
        if not easier.any():
            conditions = tuple((chains[i].name, *chains[i].condition(rank)) for i, rank in needs)
            rules.append(LevelRule(conditions, levels[level], tuple(chains)))
    return tuple(rules)
