"""Rule checking: whether a rule holds for a network (`check_rule`), and its exact coverage and precision
(`coverage`).

As in `count`, inputs are combinations of legal states of the features, each state once. A rule covers a state
if some raw value of it meets the rule's conditions.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from sugenet.errors import QuestionError, TooLargeError
from sugenet.nn import Network, network_of
from sugenet.problem import Clock, Region
from sugenet.reason.counts.answers import Counted, CountOpen
from sugenet.reason.counts.counting import count
from sugenet.reason.counts.space import combinations_within
from sugenet.reason.envelope import Answered, is_outcome
from sugenet.reason.phrases import part_text
from sugenet.reason.questions import Always, Count, Question
from sugenet.reason.questions.problems import some_inside
from sugenet.reason.rules.rule import NetworkRule, parse_rule, rule_of_anchor, rules_of_tree
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify
from sugenet.reprs import ShortRepr, quoted

__all__ = [
    "CheckedRule",
    "RuleFigures",
    "check_rule",
    "coverage",
]

_COUNT_SECONDS = 10.0
"""Time limit of the count in `check_rule` if none is given: counting may take days."""
_NOT_COUNTED = "coverage not counted in the time"


@dataclass(frozen=True, eq=False)
class RuleFigures(ShortRepr):
    """Number of inputs that a rule covers, and how many of them have its class; bounds if not all were
    counted.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import coverage, parse_rule
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> figures = coverage(net, parse_rule(net, "x1 = 1 -> on"))
    >>> figures.total, figures.covered, figures.right
    (8, 4, 3)

    See Also
    --------
    coverage : gives them.
    check_rule : also decides the rule.
    """

    rule: NetworkRule
    total: int
    """Number of all inputs; 0 if no figure is known, since the count was interrupted, or too short to find
    how many inputs obey the laws.
    """
    covered: int
    """Number of inputs that meet the rule's conditions."""
    right: int
    """Lower bound on how many of these have its class; exact if `is_exact`."""
    max_right: int
    certificate: dict[str, Any] | None
    """Certificate of the count of covered inputs."""

    @property
    def is_exact(self) -> bool:
        """Whether everything was counted."""
        return self.right == self.max_right

    @property
    def coverage(self) -> Fraction:
        """Share of the inputs that the rule covers."""
        if not self.total:
            raise QuestionError("not all inputs were counted, so coverage is not known. Raise time_limit.")
        return Fraction(self.covered, self.total)

    @property
    def precision(self) -> Fraction:
        """Share of the covered inputs that have the rule's class."""
        low, high = self.precision_bounds
        if low != high:
            raise QuestionError(
                f"not all inputs were counted; the precision is between {low} and {high}: "
                f"see precision_bounds."
            )
        return low

    @property
    def precision_bounds(self) -> tuple[Fraction, Fraction]:
        """Lower and upper bound on the precision."""
        if not self.covered:
            raise QuestionError("the rule covers nothing, so there is no precision.")
        return Fraction(self.right, self.covered), Fraction(self.max_right, self.covered)

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        bounds = [str(end) for end in self.precision_bounds] if self.covered else None
        figures = {"total": self.total, "covered": self.covered, "right": [self.right, self.max_right]}
        return {
            "rule": str(self.rule),
            **figures,
            "coverage": str(self.coverage) if self.total else None,
            "precision": bounds,
            "certificate": self.certificate,
        }

    @classmethod
    def of(cls, rule: NetworkRule, data: Mapping[str, Any]) -> Self:
        """Return the figures from their JSON data."""
        lower, upper = data["right"]
        return cls(rule, data["total"], data["covered"], lower, upper, data["certificate"])

    def __str__(self) -> str:
        if not self.total:
            return f"{self.rule}: {_NOT_COUNTED}"
        text = f"{self.rule}: covers {self.covered:,} of {self.total:,} inputs ({float(self.coverage):.4g})"
        if not self.covered:
            return text
        if self.is_exact:
            return f"{text}, right for {self.right:,} of them ({float(self.precision):.4g})"
        return f"{text}, right for {self.right:,} to {self.max_right:,} of them"


def coverage(
    network: Network,
    rule: NetworkRule,
    x: Any = None,
    region: Region | None = None,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    notify: Callable[[str], None] | None = None,
) -> RuleFigures:
    """Return coverage and precision of a rule, over the whole domain or a region around a sample.

    Parameters
    ----------
    network : Network
        The network of the rule.
    rule : NetworkRule
        The rule.
    x : array, list or mapping, default: None
        One raw sample, with a region around it.
    region : region or str, default: None
        Region around the sample.
    time_limit : float, default: None
        Seconds after which bounds are given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    RuleFigures
        Numbers of inputs, and the shares that follow from them.

    Raises
    ------
    QuestionError
        If the rule is about another network, or only one of sample and region is given.
    EncodingError
        If the sample has a value that its feature cannot have.
    TooLargeError
        If the costs of the region are too finely divided to count.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason.rules.rule import parse_rule
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]))
    >>> figures = coverage(net, parse_rule(net, "x1 = 1 -> 1"))
    >>> figures.coverage, figures.precision
    (Fraction(1, 2), Fraction(3, 4))

    See Also
    --------
    check_rule : also decides the rule.
    count : number of inputs of each class.
    """
    if rule.network.fingerprint != network.fingerprint:
        raise QuestionError("the rule is about another network.")
    if (x is None) != (region is None):
        raise QuestionError("give a sample and a region around it, or neither.")
    clock = Clock(time_limit, threads, 0, notify)
    total = combinations_within(Count(x, region).near(network))
    if network.domain.laws:  # of the inputs that obey the laws
        everything = count(network, x, region, time_limit=time_limit, threads=threads, notify=notify)
        if not isinstance(everything, Counted):
            return RuleFigures(rule, 0, 0, 0, 0, None)
        total = everything.total
    try:
        answer = count(
            network, x, region, where=rule.box, time_limit=clock.left(), threads=threads, notify=notify
        )
    except QuestionError:  # the rule covers nothing there
        return RuleFigures(rule, total, 0, 0, 0, None)
    except TooLargeError:  # the covered inputs are still known, unless some break laws
        if network.domain.laws:
            return RuleFigures(rule, 0, 0, 0, 0, None)
        covered = combinations_within(Count(x, region, rule.box).near(network))
        return RuleFigures(rule, total, covered, 0, covered, None)
    if isinstance(answer, Counted):
        return RuleFigures(
            rule,
            total,
            answer.total,
            answer.counts[rule.index],
            answer.counts[rule.index],
            answer.certificate,
        )
    assert isinstance(answer, CountOpen)
    if network.domain.laws:
        return RuleFigures(rule, 0, 0, 0, 0, None)
    return RuleFigures(rule, total, answer.total, answer.lower[rule.index], answer.upper[rule.index], None)


@dataclass(frozen=True, eq=False)
class CheckedRule(Answered):
    """A rule with its verdict, coverage and precision: the answer of `check_rule`.

    The outcome and the certificate are those of `verdict`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import check_rule
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> check_rule(net, "x1 = 1 and x2 = 1 -> on").outcome
    'proved'

    See Also
    --------
    check_rule : gives this answer.
    check : verifies its certificate.
    """

    is_proved = is_outcome("proved")
    is_refuted = is_outcome("refuted")
    is_undecided = is_outcome("undecided")

    rule: NetworkRule
    verdict: Proved | Refuted | Undecided
    figures: RuleFigures
    """Figures over all inputs; each combination of feature states counts once."""

    @property
    def question(self) -> Question:
        """The claim that every input that it covers has its class."""
        return self.verdict.question

    @property
    def network(self) -> Network:
        """The network of the rule."""
        return self.rule.network

    @property
    def outcome(self) -> str:
        """Outcome of the verdict: ``"proved"``, ``"refuted"`` or ``"undecided"``."""
        return self.verdict.outcome

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Certificate of the verdict; `figures` has its own."""
        return self.verdict.certificate

    @property
    def is_certified(self) -> bool:
        """Whether a certificate proves the verdict."""
        return self.verdict.is_certified

    @property
    def holds(self) -> bool | None:
        """Whether it is proved (True), refuted (False) or undecided (None)."""
        return {Proved: True, Refuted: False, Undecided: None}[type(self.verdict)]

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        verdict = self.verdict.data()
        return {
            "outcome": self.outcome,
            "rule": str(self.rule),
            "verdict": verdict,
            "figures": self.figures.data(),
            **{name: verdict[name] for name in ("question", "domain", "certificate") if name in verdict},
        }

    @classmethod
    def of(cls, network: Network, verdict: Any, data: Mapping[str, Any]) -> Self:
        """Return the answer from its JSON data and its verdict."""
        limits = verdict.question.box.placed(network)
        rule = NetworkRule(network, tuple(limits.items()), verdict.question.label)
        return cls(rule, verdict, RuleFigures.of(rule, data["figures"]))

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return the verdict, with `mark` applied, and the coverage of the rule.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        figures = self.figures
        if not figures.total:
            return f"{self.verdict.said(mark)}\n{_NOT_COUNTED}"
        reach = f"covers {part_text(figures.coverage, 3)} of all inputs"
        if figures.is_exact and figures.covered:
            reach += f", and is right for {part_text(figures.precision, 4)} of those"
        elif figures.covered:
            low, high = figures.precision_bounds
            known = [f"at least {part_text(low, 4, -1)}"] * (low > 0)
            known += [f"at most {part_text(high, 4, 1)}"] * (high < 1)
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
    """Decide a rule, or each rule of a decision tree, and count the inputs that it covers.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    rule : str, NetworkRule, mapping or tree
        Text such as ``mean radius >= 14 and side = left -> malignant``, a `NetworkRule`, JSON data of an
        explanation by Anchors, or a fitted decision tree of scikit-learn over the same raw features.
    within : str, list of str or Domain, default: None
        Ask only about inputs that can occur: ``"data"`` for the range of the training data, ``"any"`` for
        any values, laws as text, or a `Domain`, as in `Network.within`. None: the domain of the network.
    time_limit : float, default: None
        Seconds for each rule, its decision and its count together. None: no limit for the decision, and
        10 seconds for the count. Ctrl-C ends both, and the answer has what is known by then.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    CheckedRule or list of CheckedRule
        A list for a tree, one for each leaf that inputs can reach. The `outcome` is that of `verify`.

    Raises
    ------
    RuleSyntaxError
        If the text is not a rule about these features.
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(check_rule(net, "x1 = 1 and x2 = 1 -> on"))
    the class is on for x1 = 1 and x2 = 1: proved by bounds through all layers
    it covers 0.25 of all inputs, and is right for 1 of those

    See Also
    --------
    rulebook : finds rules.
    verify : decides the question `Always`.
    """
    network = network_of(network).within(within)
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
            checked
            for one in rules_of_tree(network, rule)
            if some_inside(network, one.box)  # the others cover no input that can occur
            for checked in [check_rule(network, one, **options)]
            if not isinstance(checked, list)
        ]
    elif not isinstance(rule, NetworkRule):
        raise QuestionError(
            f"{quoted(rule)} is not a rule. Give text, a NetworkRule, JSON of Anchors, "
            f"or a decision tree of scikit-learn."
        )
    named = [(network.encoder.names[feature], limit) for feature, limit in rule.limits]
    clock = Clock(time_limit, threads, seed, notify)
    half = None if time_limit is None else time_limit / 2
    verdict = verify(
        network, Always(rule.index, dict(named)), time_limit=half, threads=threads, seed=seed, notify=notify
    )
    figures = RuleFigures(rule, 0, 0, 0, 0, None)
    if not (isinstance(verdict, Undecided) and verdict.reason == "interrupted"):
        left = _COUNT_SECONDS if time_limit is None else clock.left()
        with suppress(KeyboardInterrupt):  # the verdict is known
            figures = coverage(network, rule, time_limit=left, threads=threads, notify=notify)
    return CheckedRule(rule, verdict, figures)
