"""Answers: one type for each outcome; each prints as a sentence and goes to JSON, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any

from sugenet.bnn import Network
from sugenet.drawn import Drawn
from sugenet.problem.keeps import Keeps
from sugenet.problem.neighbourhood import row_of

__all__ = [
    "Counterfactual",
    "NoCounterfactual",
    "OpenCounterfactual",
    "Proved",
    "Refuted",
    "Undecided",
    "engine_words",
    "show_cost",
]

_ENGINES = {
    "evaluation": "evaluating one input",
    "bounds": "bounds through all layers",
    "search": "local search",
    "flips": "flip enumeration",
    "exhaust": "exhaustion of all combinations",
    "cdcl": "our own solver with threshold propagation",
    "patches": "patterns of patches and an exact linear bound",
}


def engine_words(engine: str, proof: dict[str, Any] | None = None) -> str:
    """What settled a question, in words; who is trusted, where there is no proof to check."""
    if proof is not None and proof.get("kind") == "trust":
        return f"trusting {proof['solver']}"
    words = _ENGINES.get(engine, engine)
    if proof is not None and proof.get("kind") == "walk":
        return f"{words} ({proof['sets']:,} changes)"
    return words


# -- verify --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Proved(Drawn):
    """The claim holds."""

    network: Network
    claim: str
    engine: str
    seconds: float
    certificate: dict[str, Any]

    @property
    def is_certified(self) -> bool:
        """Whether there is a proof to check; otherwise a solver is trusted."""
        return bool(self.certificate["proof"]["kind"] != "trust")

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        words = engine_words(self.engine, self.certificate["proof"])
        return {
            "outcome": "proved",
            "claim": self.claim,
            "engine": words,
            "seconds": self.seconds,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        words = engine_words(self.engine, self.certificate["proof"])
        return f"{self.claim}: {'proved by ' if self.is_certified else 'so it is said, '}{words}"


@dataclass(frozen=True, eq=False)
class Refuted(Drawn):
    """The claim does not hold: here is an input, or a pair of inputs, against it."""

    network: Network
    claim: str
    witness: tuple[Any, ...]
    """Raw sample; for questions about pairs, two of them."""
    labels: tuple[str, ...]
    """Class of each."""
    changes: dict[str, tuple[Any, Any]]
    """How it differs: from the sample of the question, or the two of a pair from each other."""
    engine: str
    seconds: float
    certificate: dict[str, Any]

    @property
    def is_certified(self) -> bool:
        """A witness can always be replayed."""
        return True

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        source = (
            {} if self._in_source is None else {"source_witness": [str(value) for value in self._in_source]}
        )
        return {
            "outcome": "refuted",
            "claim": self.claim,
            "labels": list(self.labels),
            "changes": {name: [_json(a), _json(b)] for name, (a, b) in self.changes.items()},
            "witness": self.certificate["witness"],
            **source,
            "engine": engine_words(self.engine),
            "seconds": self.seconds,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        found = " and ".join(self.labels)
        if self.changes:
            shown = f"with {_listed(self.changes)}"
        elif self.certificate["question"]["kind"] == "robust":
            shown = "for the sample itself"
        else:
            values = self.witness if self._in_source is None else self._in_source
            pairs = list(zip(self.network.encoder.names, values, strict=True))
            shown = f"for {'; '.join(f'{name} = {value}' for name, value in pairs[:4])}" + (
                "; ..." if len(pairs) > 4 else ""
            )
            shown += "" if self._in_source is None else ", in the numbers of the file, as the query"
        return f"{self.claim}: refuted by {engine_words(self.engine)}. Class {found} {shown}"

    @property
    def _in_source(self) -> tuple[Any, ...] | None:
        """The witness in the numbers of the file that a query is about,
        where these are not the network's own.
        """
        own = self.network.source.is_plain or self.certificate["question"]["kind"] != "query"
        return None if own else self.network.source.inputs(self.witness)


@dataclass(frozen=True, eq=False)
class Undecided(Drawn):
    """Neither shown: what was tried, and what is known so far."""

    network: Network
    claim: str
    reason: str
    facts: dict[str, Any]
    engine: str
    seconds: float
    certificate: dict[str, Any]

    @property
    def is_certified(self) -> bool:
        """Nothing is claimed but what the certificate says."""
        return False

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {
            "outcome": "undecided",
            "claim": self.claim,
            "reason": self.reason,
            "facts": self.facts,
            "engine": self.engine,
            "seconds": self.seconds,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        known = ""
        if "proved_up_to" in self.facts:
            kind = self.certificate["question"]["region"]["kind"]
            known = f" Proved so far: it holds up to {show_cost(kind, Fraction(self.facts['proved_up_to']))}."
        if "open_cases" in self.facts:
            known += (
                f" Bounds exclude {self.facts['cases'] - self.facts['open_cases']} of {self.facts['cases']} "
                f"ways to violate it."
            )
        return f"{self.claim}: undecided ({self.reason}).{known} {_advice(self.reason)}"


# -- whatif --------------------------------------------------------------------------------------------------


def show_cost(cost: str, value: Fraction) -> str:
    """A cost in words."""
    number = str(int(value)) if value.denominator == 1 else f"{float(value):.6g}"
    many = "" if value == 1 else "s"
    match cost:
        case "L0":
            return f"{number} feature{many} changed"
        case "Hamming":
            return f"{number} bit{many} flipped"
        case "L1":
            return f"raw changes of {number} in all"
        case "L2":
            return f"a raw distance of {sqrt(value):.6g} (sum of squares {number})"
        case "Prices":
            return f"a price of {number}"
    return f"no raw change larger than {number}"


@dataclass(frozen=True, eq=False)
class Counterfactual(Drawn):
    """A changed sample that violates the property, with what is proved about its cost."""

    prop: Keeps
    cost: str
    value: Fraction
    """Its cost; for L2 the sum of squares."""
    lower: Fraction
    """No counterfactual is cheaper than this: equal to `value` when it is proved to be a minimum."""
    sample: tuple[Any, ...]
    changed: tuple[Any, ...]
    engine: str
    certificate: dict[str, Any]
    others: tuple[Counterfactual, ...] = field(default=())
    """Further counterfactuals, cheapest first, where several were asked for."""
    all_listed: bool = True
    """False where several were asked for, but time or the number of sets did not allow to list them."""

    @property
    def is_minimum(self) -> bool:
        """Whether nothing cheaper exists, proved."""
        return self.lower == self.value

    @property
    def is_certified(self) -> bool:
        """Whether everything said can be checked; otherwise a solver is trusted for the lower bound."""
        proof = self.certificate["proof"]
        return proof is None or proof["kind"] != "trust"

    @property
    def label(self) -> int:
        """Class of the changed sample."""
        return int(self.prop.network.predict(row_of(self.changed), engine="definition")[0])

    def changes(self) -> dict[str, tuple[Any, Any]]:
        """What changed, by feature: before and after."""
        names = self.prop.network.encoder.names
        return {n: (a, b) for n, a, b in zip(names, self.sample, self.changed, strict=True) if a != b}

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        found: dict[str, Any] = {
            "outcome": "minimum" if self.is_minimum else "found",
            "property": str(self.prop),
            "cost": self.cost,
            "value": str(self.value),
            "lower": str(self.lower),
            "label": self.prop.network.classes[self.label],
            "changes": {name: [_json(a), _json(b)] for name, (a, b) in self.changes().items()},
            "engine": engine_words(self.engine, self.certificate["proof"]),
            "certificate": self.certificate,
        }
        if not self.all_listed:
            found["all_listed"] = False
        return found | ({"others": [other.data() for other in self.others]} if self.others else {})

    def __str__(self) -> str:
        names = self.prop.network.classes
        proof = (
            "proved to be the least"
            if self.is_minimum
            else f"the least is at least {show_cost(self.cost, self.lower)}"
        )
        if self.is_minimum and not self.is_certified:
            proof = f"the least, {engine_words(self.engine, self.certificate['proof'])}"
        tie = " (a tie)" if self.label == self.prop.label else ""
        shown = _listed(self.changes())
        text = (
            f"{names[self.prop.label]} becomes {names[self.label]}{tie} with "
            f"{show_cost(self.cost, self.value)}, {proof}: {shown}"
        )
        missing = (
            []
            if self.all_listed
            else ["others were not listed: there are too many sets of changes, or the time was up"]
        )
        return "\n".join([text, *(str(other) for other in self.others), *missing])


@dataclass(frozen=True, eq=False)
class NoCounterfactual(Drawn):
    """Nothing allowed violates the property: proved."""

    prop: Keeps
    cost: str
    limit: Fraction | None
    """Within this cost; None: at any cost."""
    engine: str
    certificate: dict[str, Any]

    @property
    def is_certified(self) -> bool:
        """Whether there is a proof to check; otherwise a solver is trusted."""
        return bool(self.certificate["proof"]["kind"] != "trust")

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {
            "outcome": "none",
            "property": str(self.prop),
            "cost": self.cost,
            "limit": None if self.limit is None else str(self.limit),
            "engine": engine_words(self.engine, self.certificate["proof"]),
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        within = (
            "whatever is changed" if self.limit is None else f"with up to {show_cost(self.cost, self.limit)}"
        )
        question = self.certificate["question"]
        if question["region"] or len(question["movable"]) < len(question["sample"]) or self.cost == "Prices":
            within += " of what may change"
        end = "proved" if self.is_certified else engine_words(self.engine, self.certificate["proof"])
        return f"{self.prop}, {within}: {end}"


@dataclass(frozen=True, eq=False)
class OpenCounterfactual(Drawn):
    """Nothing was found, and nothing more proved than a lower bound: what is known, and what to try."""

    prop: Keeps
    cost: str
    lower: Fraction
    """No counterfactual is cheaper than this."""
    reason: str
    certificate: dict[str, Any]

    @property
    def is_certified(self) -> bool:
        """Nothing is claimed but the lower bound."""
        return False

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {
            "outcome": "undecided",
            "property": str(self.prop),
            "cost": self.cost,
            "lower": str(self.lower),
            "reason": self.reason,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        known = f"Proved so far: any change needs at least {show_cost(self.cost, self.lower)}."
        return f"undecided: {self.reason}. {known} {_advice(self.reason, 'allow fewer changes')}"


def _advice(reason: str, smaller: str = "ask about a smaller region") -> str:
    """What to do next: more time helps only where it ran out."""
    if any(
        words in reason for words in ("time was up", "time is up", "time limit", "stopped", "interrupted")
    ):
        return f"Allow more time, or {smaller}."
    return f"{smaller[0].upper()}{smaller[1:]}, or try another engine."


def _json(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _listed(changes: dict[str, tuple[Any, Any]]) -> str:
    listed = [f"{name} from {before} to {after}" for name, (before, after) in changes.items()]
    return "; ".join(listed[:6]) + (f"; and {len(listed) - 6} more" if len(listed) > 6 else "")
