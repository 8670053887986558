"""Rules about a network, from anywhere: typed, from Anchors, from a decision tree; each is proved or gets a counterexample.

A rule is written ``mean radius >= 14 and side = left -> malignant``. Conditions compare a feature with a number (``<``, ``<=``, ``>``,
``>=``, ``=``, also ``2 < x <= 5``) or name categories (``=``, ``!=``, ``in {a, b}``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, inf, nextafter
from typing import Any

from sugenet.bnn import Network, OneHot, Steps
from sugenet.errors import QuestionError, RuleSyntaxError
from sugenet.reason.boxes import Box
from sugenet.reason.questions import class_of

__all__ = ["NetworkRule", "parse_rule", "rule_of_anchor", "rules_of_tree"]

_AND = re.compile(r"\s+and\s+|\s*&+\s*|\s*∧\s*", re.IGNORECASE)
_SIGN = r"(<=|>=|==|!=|<|>|=|≤|≥|≠)"
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
_SAME = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}


@dataclass(frozen=True, eq=False)
class NetworkRule:
    """If the conditions hold, the class is `label`."""

    network: Network
    limits: tuple[tuple[int, Any], ...]
    """Feature from 0, and its limit as in `Box`."""
    label: int

    @property
    def box(self) -> Box:
        """Where it speaks."""
        return Box(self.limits)

    def __str__(self) -> str:
        names = self.network.encoder.names
        words = Box([(names[feature], limit) for feature, limit in self.limits])
        return f"{words} -> {self.network.classes[self.label]}"


def parse_rule(network: Network, text: str) -> NetworkRule:
    """Read a rule.

    Examples
    --------
    >>> from sugenet.bnn import Encoder, Head, Network, OneHot, integer
    >>> net = Network(Encoder([integer(0, 9), OneHot(("left", "right"))], ["size", "side"]), [], Head([[1] * 11, [-1] * 11]), ["a", "b"])
    >>> print(parse_rule(net, "2 < size <= 5 and side != left -> a"))
    3 <= size <= 5 and side one of right -> a
    """
    body, arrow, label = text.rpartition("->")
    if not arrow:
        raise RuleSyntaxError(f"the rule {text!r} has no '->' in front of its class.")
    limits: dict[int, Any] = {}
    for part in filter(None, (piece.strip() for piece in _AND.split(body.strip()))):
        for feature, limit in _condition(network, part):
            limits[feature] = _both(network, feature, limits.get(feature), limit)
    return NetworkRule(network, tuple(sorted(limits.items())), class_of(network, label.strip()))


def rule_of_anchor(network: Network, explanation: Mapping[str, Any]) -> NetworkRule:
    """Read an explanation of alibi's Anchors, as its `to_json` gives it: the conditions in `anchor`, the class in `raw.prediction`."""
    try:
        data = explanation["data"]
        prediction = data["raw"]["prediction"]
        label = prediction[0] if isinstance(prediction, list | tuple) else prediction
        conditions = list(data["anchor"])
    except (KeyError, TypeError, IndexError) as error:
        raise RuleSyntaxError(f"this is no explanation of Anchors: {error!r} is missing.") from error
    return parse_rule(network, f"{' and '.join(conditions)} -> {network.classes[int(label)]}")


def rules_of_tree(network: Network, tree: Any) -> list[NetworkRule]:
    """The paths of a fitted decision tree of scikit-learn over the network's raw features, one rule a leaf.

    Its classes must be numbers or names of the network's classes.
    """
    inner = tree.tree_
    if inner.n_features != network.encoder.features:
        raise QuestionError(f"the tree reads {inner.n_features} features, the network {network.encoder.features}.")
    found: list[NetworkRule] = []

    def walk(node: int, limits: dict[int, Any]) -> None:
        if inner.children_left[node] == inner.children_right[node]:
            label = tree.classes_[int(inner.value[node][0].argmax())]
            name = label if isinstance(label, str) else int(label)
            found.append(NetworkRule(network, tuple(sorted(limits.items())), class_of(network, name)))
            return
        feature, cut = int(inner.feature[node]), float(inner.threshold[node])
        for child, sign in ((inner.children_left[node], "<="), (inner.children_right[node], ">")):
            limit = _compared(network, feature, sign, cut)
            walk(int(child), {**limits, feature: _both(network, feature, limits.get(feature), limit)})

    walk(0, {})
    return found


def _condition(network: Network, part: str) -> Iterable[tuple[int, Any]]:
    """The features and limits that one condition names."""
    inside = re.fullmatch(r"(.+?)\s+in\s+[{\[(](.*)[}\])]", part, re.IGNORECASE)
    if inside and inside[1].strip() in network.encoder.names:
        feature = network.encoder.names.index(inside[1].strip())
        return [(feature, frozenset(_category(network, feature, word.strip()) for word in inside[2].split(",")))]
    pieces = [piece.strip() for piece in re.split(_SIGN, part)]
    places = [k for k, piece in enumerate(pieces) if piece in network.encoder.names and k % 2 == 0]
    if len(places) != 1 or len(pieces) not in (3, 5):
        known = ", ".join(network.encoder.names[:5])
        raise RuleSyntaxError(f"the condition {part!r} must compare one feature with a value; features are {known}, ...")
    place = places[0]
    feature = network.encoder.names.index(pieces[place])
    found = []
    if place + 1 < len(pieces):
        found.append((feature, _limit(network, feature, pieces[place + 1], pieces[place + 2], part)))
    if place > 0:
        sign = _SAME.get(pieces[place - 1], pieces[place - 1])
        if sign not in _TURNED:
            raise RuleSyntaxError(f"the condition {part!r} cannot be read: {sign} must stand behind the feature.")
        found.append((feature, _limit(network, feature, _TURNED[sign], pieces[place - 2], part)))
    return found


def _category(network: Network, feature: int, word: str) -> Any:
    coding = network.encoder.codings[feature]
    if not isinstance(coding, OneHot):
        return _number(word)
    known = {str(category): category for category in coding.categories}
    if word not in known:
        raise RuleSyntaxError(f"{word!r} is no category of {network.encoder.names[feature]}: {', '.join(known)}.")
    return known[word]


def _limit(network: Network, feature: int, sign: str, word: str, part: str) -> Any:
    sign, coding = _SAME.get(sign, sign), network.encoder.codings[feature]
    if isinstance(coding, OneHot):
        value = _category(network, feature, word)
        if sign == "=":
            return frozenset({value})
        if sign == "!=":
            return frozenset(category for category in coding.categories if category != value)
        raise RuleSyntaxError(f"the condition {part!r} orders categories; use = or !=.")
    if sign == "!=":
        raise RuleSyntaxError(f"the condition {part!r} leaves out one number; write two rules, below and above it.")
    return _compared(network, feature, sign, _number(word))


def _compared(network: Network, feature: int, sign: str, value: float) -> tuple[Any, Any]:
    """Closed bounds for a comparison with a number: the next whole number or float where the bound itself is left out."""
    coding = network.encoder.codings[feature]
    if not isinstance(coding, Steps):
        raise QuestionError(f"feature {network.encoder.names[feature]} is a category, and cannot be compared with {value}.")
    if coding.bipolar and value == -1:
        value = 0.0  # -1 is another spelling of 0
    match sign:
        case "=":
            return value, value
        case ">=":
            return (ceil(value) if coding.whole else value), None
        case ">":
            return (floor(value) + 1 if coding.whole else nextafter(value, inf)), None
        case "<=":
            return None, (floor(value) if coding.whole else value)
    return None, (ceil(value) - 1 if coding.whole else nextafter(value, -inf))


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise RuleSyntaxError(f"{word!r} is not a number.") from None


def _both(network: Network, feature: int, a: Any, b: Any) -> Any:
    """Two limits of one feature at once."""
    if a is None:
        return b
    if isinstance(a, frozenset) or isinstance(b, frozenset):
        rows = [limit if isinstance(limit, frozenset) else None for limit in (a, b)]
        joined = a & b if None not in rows else None
        if not joined:
            raise RuleSyntaxError(f"the conditions on {network.encoder.names[feature]} exclude each other, or mix values with bounds.")
        return joined
    lows, highs = ([limit[k] for limit in (a, b) if limit[k] is not None] for k in (0, 1))
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        raise RuleSyntaxError(f"the conditions on {network.encoder.names[feature]} exclude each other.")
    return low, high
