"""A question as JSON becomes one call of `sugenet.reason`, and its answer JSON again: what the page asks,
the server answers and a file carries along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from time import monotonic
from typing import Any

import numpy as np

from sugenet.bnn import Network
from sugenet.problem.regions import BALLS
from sugenet.reason import (
    Always,
    CheckedRule,
    Proved,
    Reason,
    Refuted,
    Robust,
    Undecided,
    count,
    verify,
    whatif,
    why,
)
from sugenet.reason.rules.figures import RuleFigures, coverage
from sugenet.reason.rules.rule import NetworkRule, parse_rule
from sugenet.web.fields import checked

__all__ = ["ask", "cleaned"]

_EXACT = 2**53
"""JavaScript rounds whole numbers beyond."""

Tell = Callable[[str], None]
Part = Callable[[dict[str, Any]], None]


def ask(
    network: Network,
    question: Mapping[str, Any],
    *,
    on_part: Part | None = None,
    notify: Tell | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Answer a question that is given as JSON data, as JSON data.

    Parameters
    ----------
    network
        The network.
    question
        Its ``kind`` is verify, whatif, why, rule or count; the page on the explorer lists the fields of each.
    on_part
        Is given each reason of a ``why`` as soon as it is proved, and the verdict on a ``rule`` before it is
        counted how far it reaches.
    notify
        Is told what is going on.
    threads
        How many may work at once; one for each core unless said.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head
    >>> neuron, sample = DenseLayer([[+1, +1, -1, +1]], [2]), [1, -1, 1, -1]
    >>> net = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    >>> answer = ask(net, {"kind": "whatif", "sample": sample, "cost": "L0", "target": "on"})
    >>> answer["outcome"], answer["value"], answer["label"]
    ('minimum', '1', 'on')
    >>> ball = {"kind": "L0", "radius": "1"}
    >>> ask(net, {"kind": "verify", "sample": sample, "region": ball})["sentence"].partition(". ")[0]
    'the class stays off, with up to 1 feature changed: refuted by flip enumeration'
    """
    fields = checked(network, question)
    start = monotonic()
    parts: list[dict[str, Any]] = []

    def found(part: Reason | _Rule) -> None:
        parts.append(cleaned(part.data()))
        if isinstance(part, _Rule):
            parts[-1] |= {"kind": "rule", "sentence": str(part)}
        if on_part is not None:
            on_part(parts[-1])

    try:
        answer = _call(network, fields, found, {"threads": threads, "seed": fields["seed"], "notify": notify})
    except KeyboardInterrupt:  # where no engine could give an answer of its own any more
        return _stopped(fields["kind"], parts, monotonic() - start)
    said: dict[str, Any] = cleaned({"kind": fields["kind"], "sentence": str(answer)} | answer.data())
    if fields["kind"] == "why":
        said["outcome"] = "found" if answer.reasons else "undecided"
    return said


def _call(
    network: Network, fields: dict[str, Any], found: Callable[[Any], None], options: dict[str, Any]
) -> Any:
    """The one call that answers a checked question."""
    limit = fields["time_limit"]
    match fields["kind"]:
        case "verify":
            return verify(
                network,
                Robust(fields["sample"], fields["region"], fields["target"]),
                time_limit=limit,
                **options,
            )
        case "whatif":
            wanted = {name: fields[name] for name in ("target", "immutable", "n")}
            return whatif(
                network, fields["sample"], BALLS[fields["cost"]], **wanted, time_limit=limit, **options
            )
        case "why":
            wanted = {name: fields[name] for name in ("region", "minimal", "n")}
            return why(network, fields["sample"], **wanted, each=found, time_limit=limit, **options)
        case "rule":
            return _rule(network, parse_rule(network, fields["text"]), limit / 2, found, options)
    return count(network, fields["sample"], fields["region"], time_limit=limit, **options)


@dataclass(frozen=True, eq=False)
class _Rule:
    """A rule that is decided, and counted where the time allowed it."""

    rule: NetworkRule
    verdict: Proved | Refuted | Undecided
    figures: RuleFigures | None

    def data(self) -> dict[str, Any]:
        found = None if self.figures is None else self.figures.data()
        return {
            "outcome": self.verdict.outcome,
            "rule": str(self.rule),
            "verdict": self.verdict.data(),
            "figures": found,
        }

    def __str__(self) -> str:
        return (
            str(self.verdict)
            if self.figures is None
            else str(CheckedRule(self.rule, self.verdict, self.figures))
        )


def _rule(
    network: Network, rule: NetworkRule, limit: float, found: Callable[[_Rule], None], options: dict[str, Any]
) -> _Rule:
    """As `check_rule` does, but the verdict is told before the count begins, and stays when that is
    interrupted.
    """
    named = {network.encoder.names[feature]: kept for feature, kept in rule.limits}
    verdict = verify(network, Always(rule.label, named), time_limit=limit, **options)
    found(_Rule(rule, verdict, None))
    if options["notify"] is not None:
        options["notify"]("counting how many inputs the rule covers, and for how many it is right")
    try:
        figures = coverage(
            network, rule, time_limit=limit, threads=options["threads"], notify=options["notify"]
        )
    except KeyboardInterrupt:
        return _Rule(rule, verdict, None)
    return _Rule(rule, verdict, figures)


def _stopped(kind: str, parts: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    sentence = f"undecided: stopped after {seconds:.1f} s."
    known: dict[str, Any] = {
        "kind": kind,
        "outcome": "undecided",
        "reason": "interrupted",
        "seconds": seconds,
        "certificate": None,
    }
    if kind == "why":
        known |= {"reasons": parts, "all_reasons": False, "outcome": "found" if parts else "undecided"}
        if parts:
            sentence = (
                f"stopped after {seconds:.1f} s with {len(parts)} reason{'' if len(parts) == 1 else 's'}."
            )
    return known | {"sentence": sentence}


def cleaned(data: Any, *, whole: bool = False) -> Any:
    """Data as every JSON reader takes it: fractions and numbers that JavaScript would round as text.

    A certificate keeps its whole numbers, since its checkers want them.
    """
    match data:
        case dict():
            return {
                str(key): cleaned(value, whole=whole or key == "certificate") for key, value in data.items()
            }
        case list() | tuple() | set() | frozenset():
            return [cleaned(value, whole=whole) for value in data]
        case np.ndarray() | np.generic():
            return cleaned(data.tolist(), whole=whole)
        case bool() | None | str():
            return data
        case int():
            return data if whole or abs(data) < _EXACT else str(data)
        case float():
            return data if isfinite(data) else str(data)
    return str(data)
