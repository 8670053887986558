"""Rules about a network from any source: text, Anchors or a decision tree.

Each rule is proved or refuted by a counterexample.

A rule is written ``mean radius >= 14 and side = left -> malignant``. Its conditions are those of laws
(`sugenet.nn.laws`), joined by *and*. A bit is compared as 0 or 1; -1 is another spelling of 0.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, nextafter
from typing import Any

from sugenet.capacity.arguments import number_text
from sugenet.errors import QuestionError, RuleSyntaxError
from sugenet.nn import Network, OneHot, Steps
from sugenet.nn.laws import FeatureCondition, conjuncts
from sugenet.nn.samples import indices_of
from sugenet.problem.boxes import Box
from sugenet.reason.questions import class_of
from sugenet.reprs import Sentences, quoted

__all__ = ["NetworkRule", "limits_in", "parse_rule", "rule_of_anchor", "rules_of_tree"]


@dataclass(frozen=True, eq=False)
class NetworkRule(Sentences):
    """Rule: if the conditions hold, the class is `label`.

    Parameters
    ----------
    network : Network
        The network that the rule is about.
    limits : tuple of pairs
        Limited features and their limits.
    index : int
        The class.

    Examples
    --------
    >>> from sugenet.nn import Encoder, Head, Network, OneHot, integer
    >>> encoder = Encoder([integer(0, 9), OneHot(("left", "right"))], ["size", "side"])
    >>> net = Network(encoder, [], Head([[1] * 11, [-1] * 11]), ["a", "b"])
    >>> print(NetworkRule(net, ((0, (3, 5)), (1, frozenset(["left"]))), 0))
    3 <= size <= 5 and side = left -> a

    See Also
    --------
    parse_rule : reads a rule from text.
    check_rule : decides it.
    """

    network: Network
    limits: tuple[tuple[int, Any], ...]
    """Feature index from 0, and its limit as in `Box`."""
    index: int
    """Index of the class, from 0."""

    @property
    def label(self) -> str:
        """Name of the class."""
        return self.network.classes[self.index]

    @property
    def box(self) -> Box:
        """The inputs that it covers."""
        return Box(self.limits)

    def __str__(self) -> str:
        names = self.network.encoder.names
        box = Box([(names[feature], limit) for feature, limit in self.limits])
        return f"{box if self.limits else 'any input'} -> {self.network.class_texts[self.index]}"


def parse_rule(network: Network, text: str) -> NetworkRule:
    """Read a rule.

    Parameters
    ----------
    network : Network
        The network that the rule is about.
    text : str
        Conditions joined by *and*, an arrow, and a class by name or index.

    Returns
    -------
    NetworkRule
        The rule, with closed bounds for each feature.

    Raises
    ------
    RuleSyntaxError
        If the text has no arrow, or its conditions cannot be read or exclude each other.
    QuestionError
        If the class does not exist.

    Examples
    --------
    >>> from sugenet.nn import Encoder, Head, Network, OneHot, integer
    >>> encoder = Encoder([integer(0, 9), OneHot(("left", "right"))], ["size", "side"])
    >>> net = Network(encoder, [], Head([[1] * 11, [-1] * 11]), ["a", "b"])
    >>> print(parse_rule(net, "2 < size <= 5 and side != left -> a"))
    3 <= size <= 5 and side = right -> a

    See Also
    --------
    check_rule : decides a rule, also from text.
    rule_of_anchor : reads a rule from Anchors.
    rules_of_tree : reads the rules of a decision tree.
    """
    body, label = _sides(network, text)
    return _rule(network, [] if body.strip() in ("", "any input") else [body], label)


def _rule(network: Network, parts: Iterable[str], label: int) -> NetworkRule:
    """Return the rule with the conditions of all parts."""
    return NetworkRule(network, tuple(limits_in(network, parts, "rule").items()), label)


def rule_of_anchor(network: Network, explanation: Mapping[str, Any]) -> NetworkRule:
    """Read an explanation by alibi's Anchors, as its `to_json` writes it.

    The conditions are in `anchor`, the class in `raw.prediction`.

    Parameters
    ----------
    network : Network
        The network that was explained.
    explanation : mapping
        JSON data of the explanation.

    Returns
    -------
    NetworkRule
        The rule that the explanation claims.

    Raises
    ------
    RuleSyntaxError
        If this is not an explanation by Anchors, or its conditions cannot be read.
    QuestionError
        If the class does not exist.

    Examples
    --------
    >>> from sugenet.nn import Encoder, Head, Network, OneHot, integer
    >>> encoder = Encoder([integer(0, 9), OneHot(("left", "right"))], ["size", "side"])
    >>> net = Network(encoder, [], Head([[1] * 11, [-1] * 11]), ["a", "b"])
    >>> explanation = {"data": {"anchor": ["size > 2.00", "side = left"], "raw": {"prediction": [0]}}}
    >>> print(rule_of_anchor(net, explanation))
    size >= 3 and side = left -> a

    See Also
    --------
    check_rule : decides it.
    parse_rule : reads a rule from text.
    """
    try:
        data = explanation["data"]
        prediction = data["raw"]["prediction"]
        label = prediction[0] if isinstance(prediction, list | tuple) else prediction
        conditions = data["anchor"]
    except (KeyError, TypeError, IndexError) as error:
        raise RuleSyntaxError(f"this is not an explanation by Anchors: {error!r} is missing.") from error
    if not isinstance(conditions, list | tuple) or not all(isinstance(part, str) for part in conditions):
        raise RuleSyntaxError(
            f"this is not an explanation by Anchors: its anchor is {conditions!r}, not a list of conditions."
        )
    return _rule(network, conditions, class_of(network, label))


def rules_of_tree(network: Network, tree: Any) -> list[NetworkRule]:
    """Return the paths of a fitted scikit-learn decision tree over the network's raw features.

    There is one rule per leaf that some input can reach.

    Its classes must be indices or names of the network's classes. scikit-learn itself rounds inputs to 32
    bits before it compares them. A tree that was fitted to a table with names is read by them.

    Parameters
    ----------
    network : Network
        The network to compare with the tree.
    tree : DecisionTreeClassifier
        The fitted tree, over numeric features.

    Returns
    -------
    list of NetworkRule
        One rule per leaf, from left to right.

    Raises
    ------
    QuestionError
        If the tree has no classes or other ones, reads other features, or compares a category.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sugenet.nn import Encoder, Head, Network, integer
    >>> net = Network(Encoder([integer(0, 9)], ["size"]), [], Head([[-1] * 9, [1] * 9]), ["low", "high"])
    >>> tree = DecisionTreeClassifier().fit([[2], [3], [6], [7]], ["low", "low", "high", "high"])
    >>> [str(rule) for rule in rules_of_tree(net, tree)]
    ['size <= 4 -> low', 'size >= 5 -> high']

    See Also
    --------
    check_rule : decides each rule of a tree.
    rulebook : finds rules of the network.
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
            except RuleSyntaxError:  # no input takes this branch
                continue
            if (
                isinstance(coding, Steps)
                and (low is None or low <= coding.high)
                and (high is None or high >= coding.low)
            ):
                left.append((int(child), {**limits, feature: both}))
    return rules


def _sides(network: Network, text: str) -> tuple[str, int]:
    """Split a rule into its conditions and its class, whose name may contain an arrow."""
    arrows = [arrow.start() for arrow in re.finditer("->", text)]
    if not arrows:
        raise RuleSyntaxError(f"the rule {quoted(text)} has no '->' before its class.")
    for index in arrows:
        if text[index + 2 :].strip() in network.classes:
            return text[:index], class_of(network, text[index + 2 :].strip())
    label = text[arrows[-1] + 2 :].strip()
    return text[: arrows[-1]], class_of(network, int(label) if re.fullmatch("[0-9]{1,9}", label) else label)


def limits_in(network: Network, texts: Iterable[str], what: str = "condition") -> dict[int, Any]:
    """Return the limits of features, by index from 0, in conditions that must all hold.

    Examples
    --------
    >>> from sugenet.nn import Encoder, Head, Network, OneHot, integer
    >>> encoder = Encoder([integer(0, 9), OneHot(("left", "right", "up"))], ["size", "side"])
    >>> net = Network(encoder, [], Head([[1] * 12, [-1] * 12]))
    >>> limits_in(net, ["2 < size <= 5", "side != left"]) == {0: (3, 5), 1: {"right", "up"}}
    True
    """
    limits: dict[int, Any] = {}
    for text in texts:
        for several in conjuncts(text, network.encoder, what):
            feature = several[0].feature
            limit = _limit(network, several, f"the {what} {quoted(text)}")
            limits[feature] = _both(network, feature, limits.get(feature), limit)
    codings = network.encoder.codings
    for feature, limit in limits.items():  # bounds of a bit are 0 and 1; a single value may be -1
        if limit == (-1, -1) and isinstance(coding := codings[feature], Steps) and coding.bipolar:
            limits[feature] = -1
    return dict(sorted(limits.items()))


def _limit(network: Network, several: Sequence[FeatureCondition], subject: str) -> Any:
    """Return the limit of a feature that is compared with a value, or equals one of several."""
    feature, sign, value = several[0]
    coding = network.encoder.codings[feature]
    if len(several) > 1:
        return frozenset(comparison.value for comparison in several)
    if isinstance(coding, OneHot):
        return frozenset(one for one in coding.categories if (one == value) == (sign == "="))
    if sign == "!=":
        raise RuleSyntaxError(
            f"{subject} excludes one number, which leaves two ranges. Ask about each: below it, and above it."
        )
    return _compared(network, feature, sign, value)


def _compared(network: Network, feature: int, sign: str, value: Any) -> tuple[Any, Any]:
    """Return closed bounds for a comparison with a number: the next integer or float if the bound is
    excluded.
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
    """Return a closed bound for all floats beyond a number: the next float, or the number if it is not a
    float.
    """
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
    """Return the intersection of two limits of one feature."""
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
