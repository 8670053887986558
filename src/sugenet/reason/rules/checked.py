"""Is a rule true of a network, and how far does it reach: `check_rule`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from sugenet.bnn import Network
from sugenet.drawn import Drawn
from sugenet.errors import QuestionError
from sugenet.problem.clock import Clock
from sugenet.reason.questions import Always, Question
from sugenet.reason.questions.problems import some_inside
from sugenet.reason.rules.figures import RuleFigures, coverage
from sugenet.reason.rules.rule import NetworkRule, parse_rule, rule_of_anchor, rules_of_tree
from sugenet.reason.verdicts.answers import Proved, Refuted, Undecided
from sugenet.reason.verdicts.verifying import verify
from sugenet.reason.words import part_words

__all__ = ["CheckedRule", "check_rule"]


@dataclass(frozen=True, eq=False)
class CheckedRule(Drawn):
    """A rule, whether it always holds, and its coverage and precision."""

    rule: NetworkRule
    verdict: Proved | Refuted | Undecided
    figures: RuleFigures
    """Over all inputs, each combination of feature states counting once."""

    @property
    def question(self) -> Question:
        """Whether every input that it speaks of has its class."""
        return self.verdict.question

    @property
    def network(self) -> Network:
        """The network that the rule is about."""
        return self.rule.network

    @property
    def holds(self) -> bool | None:
        """Whether it is proved (True), refuted (False) or open (None)."""
        return {Proved: True, Refuted: False, Undecided: None}[type(self.verdict)]

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {"rule": str(self.rule), "verdict": self.verdict.data(), "figures": self.figures.data()}

    @classmethod
    def of(cls, network: Network, verdict: Any, data: Mapping[str, Any]) -> Self:
        """The answer from its JSON data and its verdict."""
        limits = verdict.question.box.placed(network)
        rule = NetworkRule(network, tuple(limits.items()), verdict.question.label)
        return cls(rule, verdict, RuleFigures.of(rule, data["figures"]))

    def said(self, mark: Callable[[str], str] = str) -> str:
        """The verdict, put through `mark`, and how far the rule reaches."""
        figures = self.figures
        reach = (
            f"covers {part_words(figures.coverage, 3) if figures.total else 'an unknown part'} of all inputs"
        )
        if figures.is_exact and figures.covered:
            reach += f", and is right for {part_words(figures.precision, 4)} of those"
        elif figures.covered:
            low, high = figures.precision_bounds
            known = [f"at least {part_words(low, 4, -1)}"] * (low > 0)
            known += [f"at most {part_words(high, 4, 1)}"] * (high < 1)
            reach += f", and is right for {' and '.join(known) or 'an unknown part'} of those"
        return f"{self.verdict.said(mark)}\nit {reach}"


def check_rule(
    network: Network,
    rule: Any,
    *,
    within: Any = None,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> CheckedRule | list[CheckedRule]:
    """Decide a rule, or each rule of a decision tree, and count what it covers.

    Parameters
    ----------
    network
        The network.
    rule
        Text such as ``mean radius >= 14 and side = left -> malignant``; a `NetworkRule`; JSON data of an
        explanation by Anchors; or a fitted decision tree of scikit-learn over the same raw features, for
        which a list is given, one for each leaf that inputs can reach.
    within
        Ask about inputs that can occur: ``"data"``, laws as text or a `Domain`, as in `Network.within`.
    time_limit, threads, seed, notify
        As in `verify`; the time limit is for each rule, its decision and its count together.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(check_rule(net, "x1 = 1 and x2 = 1 -> on"))
    the class is on for x1 = 1 and x2 = 1: proved by bounds through all layers
    it covers 0.25 of all inputs, and is right for 1 of those
    """
    network = network.within(within)
    if isinstance(rule, str):
        rule = parse_rule(network, rule)
    elif isinstance(rule, Mapping):
        rule = rule_of_anchor(network, rule)
    elif hasattr(rule, "tree_"):
        options: dict[str, Any] = {
            "time_limit": time_limit,
            "threads": threads,
            "seed": seed,
            "notify": notify,
        }
        return [
            found
            for one in rules_of_tree(network, rule)
            if some_inside(network, one.box)  # the others say nothing of inputs that can occur
            for found in [check_rule(network, one, **options)]
            if not isinstance(found, list)
        ]
    elif not isinstance(rule, NetworkRule):
        raise QuestionError(
            f"{rule!r} is no rule. Give text, a NetworkRule, JSON of Anchors, "
            f"or a decision tree of scikit-learn."
        )
    named = [(network.encoder.names[feature], limit) for feature, limit in rule.limits]
    clock = Clock(time_limit, threads, seed, notify)
    half = None if time_limit is None else time_limit / 2
    verdict = verify(
        network, Always(rule.label, dict(named)), time_limit=half, threads=threads, seed=seed, notify=notify
    )
    return CheckedRule(
        rule, verdict, coverage(network, rule, time_limit=clock.left(), threads=threads, notify=notify)
    )
