"""Questions and answers as JSON: a question becomes one call of `sugenet.reason`, and its answer becomes
JSON.

The page, the server and files with precomputed answers use this module.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from time import monotonic
from typing import Any

import numpy as np

from sugenet.nn import Network
from sugenet.problem import BALLS, row_of
from sugenet.reason import (
    Always,
    CheckedRule,
    NetworkRule,
    Proved,
    Reason,
    Refuted,
    Robust,
    RuleFigures,
    Undecided,
    count,
    coverage,
    parse_rule,
    verify,
    whatif,
    why,
)
from sugenet.web.fields import MOST_SECONDS, checked
from sugenet.web.page_data import raw_values

__all__ = [
    "ask",
    "cleaned",
    "precompute",
]

_EXACT = 2**53
"""Larger integers are rounded by JavaScript."""

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
        Called with each reason of a ``why`` as soon as it is proved, and with the verdict on a ``rule``
        before its coverage is counted.
    notify
        Called with a sentence about the progress.
    threads
        Maximum number of threads (default: one per core).

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> neuron, sample = DenseLayer([[+1, +1, -1, +1]], [2]), [1, -1, 1, -1]
    >>> net = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    >>> answer = ask(net, {"kind": "whatif", "sample": sample, "cost": "L0", "target": "on"})
    >>> answer["outcome"], answer["cost"], answer["label"]
    ('found', '1', 'on')
    >>> ball = {"kind": "L0", "radius": "1"}
    >>> ask(net, {"kind": "verify", "sample": sample, "region": ball})["sentence"].partition(". ")[0]
    'the class stays off, with up to 1 feature changed: refuted by flip enumeration'
    """
    fields = checked(network, question)
    start = monotonic()
    parts: list[dict[str, Any]] = []

    def add_part(part: Reason | _Rule) -> None:
        parts.append(cleaned(part.data()))
        if isinstance(part, _Rule):
            parts[-1] |= {"kind": "rule", "sentence": str(part)}
        if on_part is not None:
            on_part(parts[-1])

    try:
        answer = _call(
            network, fields, add_part, {"threads": threads, "seed": fields["seed"], "notify": notify}
        )
    except KeyboardInterrupt:  # if no engine can still return an answer of its own
        return _stopped(fields["kind"], parts, monotonic() - start)
    reply: dict[str, Any] = cleaned({"kind": fields["kind"], "sentence": str(answer)} | answer.data())
    return reply


def _call(
    network: Network, fields: dict[str, Any], add_part: Callable[[Any], None], options: dict[str, Any]
) -> Any:
    """Answer a checked question by one call."""
    limit, network = fields["time_limit"], network.within(fields["within"])
    match fields["kind"]:
        case "verify":
            return verify(
                network,
                Robust(fields["sample"], fields["region"], fields["target"]),
                time_limit=limit,
                **options,
            )
        case "whatif":
            wanted = {name: fields[name] for name in ("target", "keep", "n")}
            return whatif(
                network, fields["sample"], BALLS[fields["cost"]], **wanted, time_limit=limit, **options
            )
        case "why":
            wanted = {name: fields[name] for name in ("region", "minimal", "n", "precision")}
            return why(network, fields["sample"], **wanted, each=add_part, time_limit=limit, **options)
        case "rule":
            return _rule(network, parse_rule(network, fields["text"]), limit / 2, add_part, options)
    return count(network, fields["sample"], fields["region"], time_limit=limit, **options)


@dataclass(frozen=True, eq=False)
class _Rule:
    """A decided rule, counted if there was time."""

    rule: NetworkRule
    verdict: Proved | Refuted | Undecided
    figures: RuleFigures | None

    def data(self) -> dict[str, Any]:
        figures = None if self.figures is None else self.figures.data()
        return {
            "outcome": self.verdict.outcome,
            "rule": str(self.rule),
            "verdict": self.verdict.data(),
            "figures": figures,
        }

    def __str__(self) -> str:
        return (
            str(self.verdict)
            if self.figures is None
            else str(CheckedRule(self.rule, self.verdict, self.figures))
        )


def _rule(
    network: Network,
    rule: NetworkRule,
    limit: float,
    add_part: Callable[[_Rule], None],
    options: dict[str, Any],
) -> _Rule:
    """Check a rule as `check_rule` does, but report the verdict before the count, and keep it if that is
    interrupted.
    """
    named = {network.encoder.names[feature]: kept for feature, kept in rule.limits}
    verdict = verify(network, Always(rule.index, named), time_limit=limit, **options)
    add_part(_Rule(rule, verdict, None))
    if isinstance(verdict, Undecided) and verdict.reason == "interrupted":
        return _Rule(rule, verdict, None)
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
    """Return data for any JSON reader: fractions, and numbers that JavaScript would round, become text.

    A certificate keeps its integers, since checkers require them.
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


_TARGETS = 12
"""Maximum number of classes for which a counterfactual is found."""
_REACH = 6
"""Number of radii that are verified one by one."""


def precompute(
    network: Network,
    x: Any,
    *,
    time_limit: float | None = 20.0,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Answer the most common questions about a sample, and return a list of questions with their answers.

    Parameters
    ----------
    network, x
        The network and one raw sample.
    time_limit
        Seconds for all of them; questions not started by then are left out. None: the time of one question.
    threads, seed, notify
        As in `verify`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> neuron = DenseLayer([[+1, +1, -1, +1]], [2])
    >>> net = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    >>> [pair["answer"]["outcome"] for pair in precompute(net, [1, -1, 1, -1])][:3]
    ['found', 'refuted', 'found']
    """
    values = network.encoder.values(x)
    if network.domain.broken(values) is not None:  # the page says so, and asks nothing
        return []
    sample = raw_values(network, values, 0)
    label = network.classes[int(network.predict(row_of(values))[0])]
    total = MOST_SECONDS if time_limit is None else time_limit
    end: float = monotonic() + total
    pairs: list[dict[str, Any]] = []

    def add(share: float, **question: Any) -> dict[str, Any] | None:
        nonlocal end
        left = end - monotonic()
        if left <= 0:
            return None
        if notify is not None:
            notify(f"question {len(pairs) + 1}: {question['kind']}")
        limits = {"time_limit": min(left, MOST_SECONDS, max(share * total, 0.5)), "seed": seed}
        answer = ask(network, question | limits, notify=notify, threads=threads)
        if answer.get("reason") == "interrupted":  # as little as possible after Ctrl-C
            end = 0.0
        pairs.append({"question": question, "answer": answer})
        return answer

    def nearest(target: str | None) -> dict[str, Any] | None:
        return add(0.15, kind="whatif", sample=sample, cost="L0", target=target, keep=[], n=1)

    first = nearest(None)
    safe = _safe_radius(first)
    for radius in range(1, (1 if safe is None else min(safe + 1, _REACH)) + 1):
        add(0.1, kind="verify", sample=sample, region={"kind": "L0", "radius": str(radius)}, target=None)
    for name in [name for name in network.classes if name != label][:_TARGETS]:
        nearest(name)
    if first is not None and first.get("is_minimum"):  # in a smaller region no feature matters
        region = {"kind": "L0", "radius": first["cost"]}
        add(0.2, kind="why", sample=sample, region=region, minimal="size", n=5)
        add(0.1, kind="count", sample=sample, region=region)
    add(0.2, kind="why", sample=sample, region={"kind": "AnyInput"}, minimal="subset", n=1)
    return pairs


def _safe_radius(answer: dict[str, Any] | None) -> int | None:
    """Return the number of changed features up to which an answer proves that no counterfactual exists.

    None if nothing is known.
    """
    if answer is None or "lower" not in answer:
        return None
    return max(0, -(-Fraction(answer["lower"]) // 1) - 1)
