"""Answers to `why`: reasons in raw features, each with status and certificate, and facts about every
feature.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, ClassVar

from sugenet.capacity.arguments import rating_text
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import Network
from sugenet.problem.boxes import plain
from sugenet.reason.envelope import Certified, Recorded, Source, is_outcome, opened
from sugenet.reason.phrases import percent_text
from sugenet.reason.questions import Suffices, Why, described_within
from sugenet.reason.reasons.importance import ComparedScores, compared, importance_of
from sugenet.reason.reasons.oracle import Contrast, Features
from sugenet.reason.reasons.shares import Estimated, share_of

__all__ = ["Reason", "Reasons"]


@dataclass(frozen=True, eq=False)
class Reason(Certified):
    """Set of features whose values suffice for the class.

    `status` is ``minimum`` (no smaller reason exists), ``minimal`` (no feature can be left out),
    ``sufficient``, or ``unknown`` if it is not proved.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import why
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> why(net, [1, 1, 1], "AnyInput").reasons[0].names
    ('x1', 'x2')

    See Also
    --------
    why : gives this answer.
    check : verifies its certificate.
    """

    json: ClassVar[Mapping[str, Source]] = {
        name: name for name in ("label", "index", "names", "features", "conditions", "status")
    } | {"share": lambda answer: ... if answer.share is None else answer.share}
    is_found = is_outcome("found")
    is_undecided = is_outcome("undecided")

    network: Network
    question: Suffices
    status: str
    """``minimum``: no smaller reason exists; ``minimal``: no feature can be left out; ``sufficient``: proved.

    ``unknown``: not proved.
    """
    certificate: dict[str, Any]

    @property
    def outcome(self) -> str:
        """``"found"``, or ``"undecided"`` if nothing is proved."""
        return "undecided" if self.status == "unknown" else "found"

    @property
    def label(self) -> str:
        """Name of the explained class."""
        return self.network.classes[self.index]

    @property
    def index(self) -> int:
        """Index of the class `label`, from 0."""
        return self.question.label_goal(self.network).label

    @property
    def features(self) -> tuple[int, ...]:
        """Feature indices from 0, in increasing order."""
        return self.question.fixed

    @property
    def is_certified(self) -> bool:
        """Whether there is a proof to check."""
        return self.proof_kind is not None

    @property
    def share(self) -> Fraction | None:
        """Share of the inputs that keep the class, if a precision was asked for and they were counted."""
        proof = self.certificate["proof"]
        if self.proof_kind != "shares":
            return None
        return share_of(self.network, self.question, proof["reason"])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self.network.encoder.names[feature] for feature in self.features)

    def conditions(self) -> list[str]:
        """Return the conditions that must stay true, in words: ranges of raw values with the same code."""
        encoder, sample = self.network.lawful.encoder, self.sample  # including the steps that laws name
        names, codings = encoder.names, encoder.codings
        return [codings[f].describe(names[f], codings[f].state(sample[f])) for f in self.features]

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """Return the proved facts."""
        return {"status": data["certificate"]["answer"]}

    def __str__(self) -> str:
        return " and ".join(self.conditions()) or "nothing needs to be known"


@dataclass(frozen=True, eq=False)
class Reasons(Recorded):
    """Reasons for the class of a sample inside one region, shortest first: the answer to `why`.

    The first reason can be read from it directly: `conditions()`, `features`, `names`, `status` and
    `certificate`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import why
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> why(net, [1, 1, 1], "AnyInput").conditions()
    ['x1 = +1', 'x2 = +1']

    See Also
    --------
    why : gives this answer.
    check : verifies its certificate.
    """

    json: ClassVar[Mapping[str, Source]] = {
        "label": "label",
        "index": "index",
        "region": "region",
        "is_nearest": "is_nearest",
        "reasons": lambda answer: [reason.data() for reason in answer.reasons],
        "contrasts": lambda answer: [
            {answer.network.encoder.names[f]: plain(value) for f, value in contrast.values.items()}
            for contrast in answer.contrasts
        ],
        "all_reasons": "all_reasons",
        "all_contrasts": "all_contrasts",
        "lower": "lower",
        "upper": "upper",
        "core": "core",
        "relevant": "relevant",
        "irrelevant": "irrelevant",
        "attribution": lambda answer: {
            name: str(share) for name, share in answer.attribution.items() if share
        },
        "estimated": lambda answer: ... if answer.estimated is None else answer.estimated.data(),
        "order": "order",
        "seconds": "seconds",
    }
    is_found = is_outcome("found")
    is_undecided = is_outcome("undecided")

    question: Why
    network: Network
    region: str
    """Description of the region of the other features."""
    reasons: tuple[Reason, ...]
    contrasts: tuple[Contrast, ...]
    """Contrastive sets: features that change the class when changed together, each with one example.

    They are minimal if all are listed.
    """
    all_reasons: bool
    """Whether these are all minimal reasons."""
    all_contrasts: bool
    """Whether these are all minimal contrastive sets."""
    lower: int
    """Proved lower bound on the number of features of a reason."""
    movable: Features
    """Features that can change their code inside the region; the others are in no reason."""
    order: str
    """Description of the order in which features were freed."""
    seconds: float
    is_nearest: bool = False
    """Whether the region was chosen, since none was given: the smallest in which the class is known to
    change.
    """
    interrupted: bool = field(default=False, repr=False, compare=False)
    """Whether the user interrupted the search; callers with several questions then stop."""
    estimated: Estimated | None = None
    """Fewer features that random inputs estimate to reach the `precision`, if counts are out of reach."""

    @property
    def outcome(self) -> str:
        """``"found"``, or ``"undecided"`` if no reason is proved."""
        return self.reasons[0].outcome if self.reasons else "undecided"

    @property
    def label(self) -> str:
        """Name of the explained class."""
        return self.network.classes[self.index]

    @property
    def index(self) -> int:
        """Index of the class `label`, from 0."""
        return self.question.label_goal(self.network).label

    @property
    def status(self) -> str:
        """Status of the first reason; ``unknown`` if there is none."""
        return self.reasons[0].status if self.reasons else "unknown"

    @property
    def features(self) -> tuple[int, ...]:
        """Indices of the features of the first reason, from 0."""
        return self.reasons[0].features if self.reasons else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features of the first reason."""
        return self.reasons[0].names if self.reasons else ()

    def conditions(self) -> list[str]:
        """Return the conditions of the first reason, in words."""
        return self.reasons[0].conditions() if self.reasons else []

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Certificate of the first reason; each reason has its own."""
        return self.reasons[0].certificate if self.reasons else None

    @property
    def is_certified(self) -> bool:
        """Whether there is a reason, and every reason has a proof to check."""
        return bool(self.reasons) and all(reason.is_certified for reason in self.reasons)

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data; each reason has its own certificate."""
        return {name: value for name, value in super().data().items() if name != "certificate"}

    @property
    def upper(self) -> int | None:
        """Size of the smallest reason found."""
        return min(
            (len(reason.features) for reason in self.reasons if reason.status != "unknown"), default=None
        )

    @cached_property
    def core(self) -> tuple[str, ...]:
        """Features known to be in every reason: those that change the class on their own.

        They are all such features if all contrastive sets are listed, and unless time or memory ran out.
        """
        return self.named({feature for c in self.contrasts if len(c.features) == 1 for feature in c.features})

    @cached_property
    def relevant(self) -> tuple[str, ...]:
        """Features known to be in some minimal reason."""
        if self.all_contrasts:
            return self.named({feature for c in self.contrasts for feature in c.features})
        proved = [reason for reason in self.reasons if reason.status in ("minimum", "minimal")]
        return self.named({feature for reason in proved for feature in reason.features})

    @cached_property
    def irrelevant(self) -> tuple[str, ...]:
        """Features known to be in no minimal reason."""
        if self.all_contrasts or self.all_reasons:
            return tuple(name for name in self.network.encoder.names if name not in self.relevant)
        return tuple(name for f, name in enumerate(self.network.encoder.names) if f not in self.movable)

    @cached_property
    def attribution(self) -> dict[str, Fraction]:
        """Return the FFA of each feature that can change: its share of the listed reasons.

        Exact if `all_reasons`, otherwise an estimate from the listed ones.
        """
        count = max(1, len(self.reasons))
        names = self.network.encoder.names
        return {
            names[f]: Fraction(sum(f in reason.features for reason in self.reasons), count)
            for f in sorted(self.movable)
        }

    def importance(self, index: str = "ffa") -> dict[str, Fraction]:
        """Return an exact index of the importance of each feature that can change.

        Parameters
        ----------
        index : {"ffa", "shapley", "banzhaf", "deegan-packel", "holler-packel"}, default: "ffa"
            ``"ffa"``: share of the minimal reasons that have the feature. ``"shapley"``, ``"banzhaf"``: value
            in the game in which a set of features is worth 1 if it suffices. ``"deegan-packel"``: each reason
            divides one vote equally among its features. ``"holler-packel"``: number of reasons that have the
            feature, rescaled to the sum 1.

        Returns
        -------
        dict
            Exact value by name.

        Raises
        ------
        QuestionError
            If not all minimal reasons are listed, or the index is unknown.

        Reference: Biradar et al. [BIL24]; Marques-Silva et al. [MHL25].

        Examples
        --------
        >>> from sugenet.nn import DenseLayer, Head, Network
        >>> from sugenet.reason import why
        >>> net = Network.of_bits([DenseLayer([[2, 1, 1]], [3])], Head([[-1], [1]]), classes=["off", "on"])
        >>> values = why(net, [1, 1, 1], "AnyInput", n="all").importance("shapley")
        >>> {name: str(value) for name, value in values.items()}
        {'x1': '2/3', 'x2': '1/6', 'x3': '1/6'}

        See Also
        --------
        compare_scores : compares scores from elsewhere with proved facts.
        """
        if not self.all_reasons:
            raise QuestionError(
                "importance needs all minimal reasons, and not all are listed. Ask why(..., n='all')."
            )
        names = [self.network.encoder.names[f] for f in sorted(self.movable)]
        return importance_of([frozenset(reason.names) for reason in self.reasons], names, index)

    def compare_scores(self, scores: Any) -> ComparedScores:
        """Return which features scores from elsewhere get wrong, such as SHAP values.

        Parameters
        ----------
        scores : mapping or sequence
            Score of each feature, by name or in the order of the features.

        Returns
        -------
        ComparedScores
            Irrelevant features that are scored, and relevant ones that are not.

        Examples
        --------
        >>> from sugenet.nn import DenseLayer, Head, Network
        >>> from sugenet.reason import why
        >>> net = Network.of_bits([DenseLayer([[1, 1, 0]], [2])], Head([[-1], [1]]), classes=["off", "on"])
        >>> answer = why(net, [1, 1, 1], "AnyInput", n="all")
        >>> answer.compare_scores([0.4, 0.1, 0.2]).first
        ('x3', 'x2')

        See Also
        --------
        importance : exact scores of the features.
        """
        return compared(scores, self.network.encoder.names, self.relevant, self.irrelevant)

    def named(self, features: AbstractSet[int]) -> tuple[str, ...]:
        """Return the names of features, in order.

        Parameters
        ----------
        features : set of int
            Indices of features, from 0.

        Returns
        -------
        tuple of str
            Their names.
        """
        return tuple(self.network.encoder.names[feature] for feature in sorted(features))

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return reasons with their certificates, contrastive sets, and facts that follow from the
        question.
        """
        for name in ("lower", "all_reasons", "is_nearest", "all_contrasts"):
            if type(data[name]) is not (int if name == "lower" else bool):
                raise CertificateError(f"the field {name!r} of the answer is not what it must be.")
        contrasts = []
        for row in data["contrasts"]:
            values = tuple((network.encoder.names.index(name), value) for name, value in row.items())
            contrasts.append(Contrast(frozenset(feature for feature, _ in values), (), values))
        reasons = [Reason.of(network, opened(row["certificate"], network), row) for row in data["reasons"]]
        return {
            "region": described_within(network, question.described_region(network)),
            "reasons": tuple(reasons),
            "contrasts": tuple(contrasts),
            "movable": frozenset(question.near(network).places),
            "estimated": Estimated.of(data["estimated"]) if "estimated" in data else None,
        }

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return a sentence for each reason, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        label = self.network.class_texts[self.question.label_goal(self.network).label]
        where = f"{'for' if self.region.startswith('any input') else 'with'} {self.region}"
        where += " (the fewest known to change the class)" if self.is_nearest else ""
        total = self.network.encoder.features
        if not self.reasons:
            return (
                f"{label}, {where}: no reason was found in the time; "
                f"every reason has at least {self.lower} features."
            )
        lines = []
        precision = self.question.precision
        where += "" if precision is None else f", for at least {rating_text(100 * precision)} % of the inputs"
        for reason in self.reasons:
            size = len(reason.features)
            if not size and precision is not None:
                shown = "all" if reason.share is None else percent_text(reason.share)
                lines.append(
                    f"{label}, {where}: nothing needs to be known, {shown} of them keep the class "
                    f"({mark('proved')} {reason.status})"
                )
                continue
            if not size:
                lines.append(
                    f"{label}, {where}: nothing needs to be known, the class stays whatever changes "
                    f"({mark('proved')})"
                )
                continue
            summary = (
                f"{size} of {total} features: "
                f"{mark('proved') + ' ' if reason.status != 'unknown' else ''}{reason.status}"
                f"{'' if reason.share is None else ', ' + percent_text(reason.share) + ' keep the class'}"
            )
            lines.append(f"{label}, {where}, because {reason} ({summary})")
        if self.estimated is not None:
            one = self.estimated
            names = ", ".join(self.named(set(one.features))) or "no feature"
            share = f"{floor(10_000 * one.low) / 100:.2f} to {ceil(10_000 * one.high) / 100:.2f} %"
            lines.append(
                f"estimated, not proved: {names} ({len(one.features)} of {total} features) keep the class "
                f"for {share} of the inputs, with confidence {one.confidence:g}, from {one.samples:,} drawn"
            )
        return "\n".join(lines)
