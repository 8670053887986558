"""Rules about a network, from anywhere: typed, from Anchors, from a decision tree;
each is proved or gets a counterexample.

A rule is written ``mean radius >= 14 and side = left -> malignant``. Conditions compare a feature with a
number (``<``, ``<=``, ``>``, ``>=``, ``=``, also ``2 < x <= 5``) or name categories (``=``, ``!=``,
``in {a, b}``). A bit is compared as 0 or 1; -1 is another spelling of 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, inf, nextafter
from typing import Any

from sugenet.bnn import Network, OneHot, Steps
from sugenet.bnn.samples import indices_of
from sugenet.capacity.arguments import number_text, read_number
from sugenet.capacity.text import SAME, TURNED, compares
from sugenet.errors import QuestionError, RuleSyntaxError
from sugenet.problem.boxes import Box
from sugenet.reason.questions import class_of
from sugenet.reprs import Sentences, quoted

__all__ = ["NetworkRule", "parse_rule", "rule_of_anchor", "rules_of_tree"]

_AND = re.compile(r"\s+and\s+|\s*&+\s*|\s*∧\s*", re.IGNORECASE)
_SIGN = r"(<=|>=|==|!=|<|>|=|≤|≥|≠)"


@dataclass(frozen=True, eq=False)
class NetworkRule(Sentences):
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
        box = Box([(names[feature], limit) for feature, limit in self.limits])
        return f"{box if self.limits else 'any input'} -> {self.network.class_texts[self.label]}"


def parse_rule(network: Network, text: str) -> NetworkRule:
    """Read a rule.

    Examples
    --------
    >>> from sugenet.bnn import Encoder, Head, Network, OneHot, integer
    >>> encoder = Encoder([integer(0, 9), OneHot(("left", "right"))], ["size", "side"])
    >>> net = Network(encoder, [], Head([[1] * 11, [-1] * 11]), ["a", "b"])
    >>> print(parse_rule(net, "2 < size <= 5 and side != left -> a"))
    3 <= size <= 5 and side = right -> a
    """
    body, label = _sides(network, text)
    return _rule(network, [body], label)


def _rule(network: Network, parts: Iterable[str], label: int) -> NetworkRule:
    """The rule with the conditions of all parts."""
    limits: dict[int, Any] = {}
    for part in parts:
        for feature, limit in _conditions(network, part):
            limits[feature] = _both(network, feature, limits.get(feature), limit)
    codings = network.encoder.codings
    for feature, limit in limits.items():  # bounds of a bit are 0 and 1; a single value of it can be -1
        if limit == (-1, -1) and isinstance(coding := codings[feature], Steps) and coding.bipolar:
            limits[feature] = -1
    return NetworkRule(network, tuple(sorted(limits.items())), label)


def rule_of_anchor(network: Network, explanation: Mapping[str, Any]) -> NetworkRule:
    """Read an explanation of alibi's Anchors, as its `to_json` gives it: the conditions in `anchor`, the
    class in `raw.prediction`.
    """
    try:
        data = explanation["data"]
        prediction = data["raw"]["prediction"]
        label = prediction[0] if isinstance(prediction, list | tuple) else prediction
        conditions = data["anchor"]
    except (KeyError, TypeError, IndexError) as error:
        raise RuleSyntaxError(f"this is no explanation of Anchors: {error!r} is missing.") from error
    if not isinstance(conditions, list | tuple) or not all(isinstance(part, str) for part in conditions):
        raise RuleSyntaxError(
            f"this is no explanation of Anchors: its anchor is {conditions!r}, not a list of conditions."
        )
    return _rule(network, conditions, class_of(network, label))


def rules_of_tree(network: Network, tree: Any) -> list[NetworkRule]:
    """The paths of a fitted decision tree of scikit-learn over the network's raw features, one rule a leaf
    that some input can reach.

    Its classes must be numbers or names of the network's classes. scikit-learn itself rounds inputs to 32
    bits before it compares them. A tree that was fitted to a table with names is read by them.
    """
    inner = tree.tree_
    if not hasattr(tree, "classes_"):
        raise QuestionError("the tree has no classes: it must be a classifier.")
    if inner.n_features != network.encoder.features:
        raise QuestionError(
            f"the tree reads {inner.n_features} features, the network {network.encoder.features}."
        )
    named = getattr(tree, "feature_names_in_", None)
    columns = range(inner.n_features) if named is None else indices_of(list(named), network.encoder.names)
    indices = {column: feature for feature, column in enumerate(columns)}
    rules: list[NetworkRule] = []

    left: list[tuple[int, dict[int, Any]]] = [(0, {})]
    while left:  # a tree may be deeper than Python's stack
        node, limits = left.pop()
        if inner.children_left[node] == inner.children_right[node]:
            label = tree.classes_[int(inner.value[node][0].argmax())]
            name = label if isinstance(label, str) else int(label)
            rules.append(NetworkRule(network, tuple(sorted(limits.items())), class_of(network, name)))
            continue
        feature, threshold = indices[int(inner.feature[node])], float(inner.threshold[node])
        for child, sign in ((inner.children_right[node], ">"), (inner.children_left[node], "<=")):
            limit, coding = _compared(network, feature, sign, threshold), network.encoder.codings[feature]
            try:
                low, high = both = _both(network, feature, limits.get(feature), limit)
            except RuleSyntaxError:  # nothing goes this way
                continue
            if (
                isinstance(coding, Steps)
                and (low is None or low <= coding.high)
                and (high is None or high >= coding.low)
            ):
                left.append((int(child), {**limits, feature: both}))
    return rules


def _sides(network: Network, text: str) -> tuple[str, int]:
    """The conditions and the class of a rule; the class may have an arrow in its name."""
    arrows = [arrow.start() for arrow in re.finditer("->", text)]
    if not arrows:
        raise RuleSyntaxError(f"the rule {quoted(text)} has no '->' in front of its class.")
    for index in arrows:
        if text[index + 2 :].strip() in network.classes:
            return text[:index], class_of(network, text[index + 2 :].strip())
    label = text[arrows[-1] + 2 :].strip()
    return text[: arrows[-1]], class_of(network, int(label) if re.fullmatch("[0-9]{1,9}", label) else label)


def _conditions(network: Network, body: str) -> list[tuple[int, Any]]:
    """The features and limits that conditions name, joined by "and",
    which names and categories may have in them too.
    """
    if body.strip() in ("", "any input"):
        return []
    names = [
        *network.encoder.names,
        *(
            str(c)
            for coding in network.encoder.codings
            if isinstance(coding, OneHot)
            for c in coding.categories
        ),
    ]
    joined = any(_AND.search(word) for word in names)
    return [
        condition
        for row in _grouped(body.strip(), _AND, lambda part: _condition(network, part), joined=joined)
        for condition in row
    ]


def _grouped(text: str, separator: re.Pattern[str], read: Callable[[str], Any], *, joined: bool) -> list[Any]:
    """Read the parts between separators, the shortest that can be read first; `joined`:
    a separator may also be inside a part.
    """
    cuts = list(separator.finditer(text))
    starts, ends = [0, *(hit.end() for hit in cuts)], [*(hit.start() for hit in cuts), len(text)]
    after: dict[int, tuple[Any, int] | RuleSyntaxError | None] = {len(starts): None}
    for first in range(len(starts) - 1, -1, -1):
        wrong: RuleSyntaxError | None = None
        for last in range(first, len(starts) if joined else first + 1):
            try:
                one = read(text[starts[first] : ends[last]].strip())
            except RuleSyntaxError as error:
                wrong = wrong or error
                continue
            rest = after[last + 1]
            if not isinstance(rest, RuleSyntaxError):
                after[first] = (one, last + 1)
                break
            wrong = rest
        else:
            assert wrong is not None
            after[first] = wrong
    values, one = [], after[0]
    while one is not None:
        if isinstance(one, RuleSyntaxError):
            raise one
        values.append(one[0])
        one = after[one[1]]
    return values


def _condition(network: Network, part: str) -> list[tuple[int, Any]]:
    """The features and limits that one condition names."""
    candidates: list[list[tuple[int, Any]]] = []
    wrong: RuleSyntaxError | None = None
    for feature, name in enumerate(network.encoder.names):
        index = part.find(name)
        while index >= 0:
            sides = _around(part[:index].strip(), part[index + len(name) :].strip())
            index = part.find(name, index + 1)
            if sides is None:
                continue
            try:
                candidates.append(_limits(network, feature, *sides, part))
            except RuleSyntaxError as error:
                wrong = error
    if len(candidates) == 1:
        return candidates[0]
    if wrong is not None and not candidates:
        raise wrong
    known = ", ".join(network.encoder.names[:5]) + (", ..." if len(network.encoder.names) > 5 else "")
    raise RuleSyntaxError(
        f"the condition {quoted(part)} must compare one feature with a value; features are {known}"
    )


def _around(left: str, right: str) -> tuple[tuple[str, str] | None, tuple[str, str] | None] | None:
    """Sign and value in front of a feature's name, and behind it; None where something else stands there."""
    before = re.fullmatch(rf"(.*?)\s*{_SIGN}", left)
    several = re.fullmatch(r"in\s*[{\[(](.*)[}\])]", right, re.IGNORECASE) or re.fullmatch(
        r"one\s+of\s+(.*)", right, re.IGNORECASE
    )
    after = re.fullmatch(rf"{_SIGN}\s*(.*)", right)
    if (
        (left and not before)
        or (right and not after and not several)
        or (several and left)
        or not (left or right)
    ):
        return None
    behind = ("in", several[1]) if several else (after[1], after[2]) if after else None
    return (before[2], before[1]) if before else None, behind


def _limits(
    network: Network, feature: int, before: tuple[str, str] | None, behind: tuple[str, str] | None, part: str
) -> list[tuple[int, Any]]:
    """The limits of one feature from what stands in front of its name and behind it."""
    limits = []
    if behind is not None and behind[0] == "in":
        comma = any("," in str(c) for c in getattr(network.encoder.codings[feature], "categories", ()))
        categories = _grouped(
            behind[1], re.compile(r"\s*,\s*"), lambda word: _category(network, feature, word), joined=comma
        )
        return [(feature, frozenset(categories))]
    if behind is not None:
        limits.append((feature, _limit(network, feature, *behind, part)))
    if before is not None:
        sign = SAME.get(before[0], before[0])
        if sign == "!=":
            raise RuleSyntaxError(
                f"the condition {quoted(part)} cannot be read: {sign} must stand behind the feature."
            )
        limits.append((feature, _limit(network, feature, TURNED[sign], before[1], part)))
    return limits


def _category(network: Network, feature: int, word: str) -> Any:
    coding = network.encoder.codings[feature]
    if not isinstance(coding, OneHot):
        return read_number(word, error=RuleSyntaxError)
    if word not in coding.by_text:
        known = ", ".join(map(str, coding.categories))
        raise RuleSyntaxError(f"{quoted(word)} is no category of {network.encoder.names[feature]}: {known}.")
    return coding.by_text[word]


def _limit(network: Network, feature: int, sign: str, word: str, part: str) -> Any:
    sign, coding = SAME.get(sign, sign), network.encoder.codings[feature]
    if isinstance(coding, OneHot):
        value = _category(network, feature, word)
        if sign == "=":
            return frozenset({value})
        if sign == "!=":
            return frozenset(category for category in coding.categories if category != value)
        raise RuleSyntaxError(f"the condition {quoted(part)} orders categories; use = or !=.")
    if sign == "!=":
        raise RuleSyntaxError(
            f"the condition {quoted(part)} leaves out one number; write two rules, below and above it."
        )
    value = read_number(word, error=RuleSyntaxError)
    if coding.bipolar and sign != "=" and compares(-1, sign, value) != compares(0, sign, value):
        name = network.encoder.names[feature]
        raise RuleSyntaxError(
            f"the condition {quoted(part)} orders {name} between -1 and 0, but it is a bit, and both "
            f"are off: use =."
        )
    return _compared(network, feature, sign, value)


def _compared(network: Network, feature: int, sign: str, value: Any) -> tuple[Any, Any]:
    """Closed bounds for a comparison with a number: the next whole number or float where the bound
    itself is left out.
    """
    coding = network.encoder.codings[feature]
    if not isinstance(coding, Steps):
        raise QuestionError(
            f"feature {network.encoder.names[feature]} is a category, and cannot be compared with {value}."
        )
    if coding.bipolar and value == -1 and sign != "=":
        value = 0.0  # -1 is another spelling of 0
    match sign:
        case "=":
            value = int(value) if coding.whole and value == value // 1 else value
            return value, value
        case ">=":
            return (ceil(value) if coding.whole else value), None
        case ">":
            return (floor(value) + 1 if coding.whole else _beyond(value, inf)), None
        case "<=":
            return None, (floor(value) if coding.whole else value)
    return None, (ceil(value) - 1 if coding.whole else _beyond(value, -inf))


def _beyond(value: Any, way: float) -> Any:
    """A closed bound for all floats beyond a number: the next float, or a number that is none itself."""
    try:
        near = float(value)
    except OverflowError:
        return value
    if near != value:
        return value
    neighbour = nextafter(near, way)
    if neighbour == way:
        raise RuleSyntaxError(f"no value is {'above' if way > 0 else 'below'} {number_text(value)}.")
    return neighbour


def _both(network: Network, feature: int, a: Any, b: Any) -> Any:
    """Two limits of one feature at once."""
    if a is None:
        return b
    if isinstance(a, frozenset) or isinstance(b, frozenset):
        joined = a & b if isinstance(a, frozenset) and isinstance(b, frozenset) else None
        if not joined:
            raise RuleSyntaxError(
                f"the conditions on {network.encoder.names[feature]} exclude each other, "
                f"or mix values with bounds."
            )
        return joined
    lows, highs = ([limit[k] for limit in (a, b) if limit[k] is not None] for k in (0, 1))
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        raise RuleSyntaxError(f"the conditions on {network.encoder.names[feature]} exclude each other.")
    return low, high
