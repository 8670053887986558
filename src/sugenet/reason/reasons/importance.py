"""Importance of features from all minimal reasons, exactly; and what other scores get wrong.

A set of features is worth 1 if it suffices, else 0. This game is a capacity, and the minimal reasons are its
focal sets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sugenet.capacity import Focal, banzhaf, shapley
from sugenet.errors import QuestionError
from sugenet.reprs import Sentences, quoted

__all__ = ["INDICES", "ComparedScores", "compared", "importance_of"]

INDICES = ("ffa", "shapley", "banzhaf", "deegan-packel", "holler-packel")


def importance_of(reasons: Sequence[frozenset[str]], names: Iterable[str], index: str) -> dict[str, Fraction]:
    """Return an index of the importance of each name in a list of all minimal reasons.

    Examples
    --------
    >>> reasons = [frozenset({"a", "b"}), frozenset({"a", "c", "d"})]
    >>> {index: str(importance_of(reasons, "abcde", index)["a"]) for index in INDICES}
    {'ffa': '1', 'shapley': '7/12', 'banzhaf': '5/8', 'deegan-packel': '5/12', 'holler-packel': '2/5'}
    """
    if index not in INDICES:
        raise QuestionError(f"index={quoted(index)} is unknown. Use {', '.join(INDICES)}.")
    scores = dict.fromkeys(names, Fraction(0))
    if not any(reasons):  # one reason, and it is empty: no feature matters
        return scores
    if index in ("shapley", "banzhaf"):
        members = sorted(frozenset().union(*reasons))
        values = (shapley if index == "shapley" else banzhaf)(Focal(members, dict.fromkeys(reasons, 1)))
        return scores | {str(name): Fraction(value) for name, value in values.items()}
    total = sum(map(len, reasons)) if index == "holler-packel" else len(reasons)
    for row in reasons:
        for name in row:
            scores[name] += Fraction(1, total * len(row) if index == "deegan-packel" else total)
    return scores


@dataclass(frozen=True)
class ComparedScores(Sentences):
    """Scores from elsewhere, compared with proved facts about the features.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import why
    >>> net = Network.of_bits([DenseLayer([[1, 1, 0]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> compared = why(net, [1, 1, 1], "AnyInput", n="all").compare_scores([0.4, 0.1, 0.2])
    >>> compared.irrelevant, compared.relevant, compared.is_misleading
    (('x3',), (), True)

    See Also
    --------
    Reasons.compare_scores : gives it.
    """

    irrelevant: tuple[str, ...]
    """Features with a score other than 0 that are in no minimal reason, largest first."""
    relevant: tuple[str, ...]
    """Features with the score 0 that are in a minimal reason."""
    first: tuple[str, str] | None
    """An irrelevant feature, and a relevant one that is scored lower; None if there is no such pair."""

    @property
    def is_misleading(self) -> bool:
        """Whether an irrelevant feature is scored above a relevant one."""
        return self.first is not None

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        rows = {"irrelevant": list(self.irrelevant), "relevant": list(self.relevant)}
        return {**rows, "first": None if self.first is None else list(self.first)}

    def __str__(self) -> str:
        lines = []
        if self.irrelevant:
            lines.append(f"scored, but in no minimal reason (proved): {', '.join(self.irrelevant)}")
        if self.relevant:
            lines.append(f"scored 0, but in a minimal reason (proved): {', '.join(self.relevant)}")
        if self.first is not None:
            lines.append(
                f"{self.first[0]} is scored above {self.first[1]}, but only the latter is in a reason"
            )
        return "\n".join(lines) or "every scored feature is in a minimal reason"


def compared(
    scores: Mapping[str, Any] | Iterable[Any],
    names: Sequence[str],
    relevant: Iterable[str],
    irrelevant: Iterable[str],
) -> ComparedScores:
    """Compare the sizes of scores, by name or in the order of the features, with proved facts.

    Examples
    --------
    >>> print(compared([0.5, 0, -1], ["a", "b", "c"], ["a", "b"], ["c"]))
    scored, but in no minimal reason (proved): c
    scored 0, but in a minimal reason (proved): b
    c is scored above b, but only the latter is in a reason
    """
    pairs = dict(scores) if isinstance(scores, Mapping) else dict(zip(names, scores, strict=True))
    unknown = next((name for name in pairs if name not in set(names)), None)
    if unknown is not None:
        raise QuestionError(f"there is no feature {quoted(unknown)} to score.")
    sizes = {name: abs(float(pairs.get(name, 0))) for name in names}
    idle = sorted((name for name in irrelevant if sizes[name]), key=lambda name: -sizes[name])
    lowest = min(relevant, key=lambda name: sizes[name], default=None)
    first = (idle[0], lowest) if idle and lowest is not None and sizes[idle[0]] > sizes[lowest] else None
    return ComparedScores(tuple(idle), tuple(name for name in relevant if not sizes[name]), first)
