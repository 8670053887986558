"""What `why` answers: reasons in raw features, each with its status and certificate,
and what is known of every feature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sugenet.bnn import Network
from sugenet.errors import CertificateError
from sugenet.plottable import Plottable
from sugenet.problem.boxes import plain
from sugenet.reason.envelope import Certified, Recorded, Source, opened
from sugenet.reason.questions import Suffices, Why, described_within
from sugenet.reason.reasons.oracle import Contrast, Features

__all__ = ["Reason", "Reasons"]


@dataclass(frozen=True, eq=False)
class Reason(Certified):
    """Features that suffice for the answer as they are."""

    json: ClassVar[Mapping[str, Source]] = {
        "features": "names",
        "conditions": "conditions",
        "status": "status",
        "certificate": "certificate",
    }

    network: Network
    question: Suffices
    status: str
    """``minimum``: none smaller exists; ``minimal``: none can be left out; ``sufficient``; each proved.

    ``unknown``: not proved.
    """
    certificate: dict[str, Any]

    @property
    def features(self) -> tuple[int, ...]:
        """Numbers from 0, rising."""
        return self.question.fixed

    @property
    def is_certified(self) -> bool:
        """Whether there is a proof to check."""
        return self.proof_kind is not None

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.network.encoder.names[feature] for feature in self.features)

    def conditions(self) -> list[str]:
        """What must stay true, in words: the range of raw values with the same code."""
        encoder, sample = self.network.lawful.encoder, self.sample  # with the steps that laws name
        names, codings = encoder.names, encoder.codings
        return [codings[f].describe(names[f], codings[f].state(sample[f])) for f in self.features]

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """What is proved."""
        return {"status": data["certificate"]["answer"]}

    def __str__(self) -> str:
        return " and ".join(self.conditions()) or "nothing needs to be known"


@dataclass(frozen=True, eq=False)
class Reasons(Recorded, Plottable):
    """Reasons for one answer inside one region, shortest first."""

    json: ClassVar[Mapping[str, Source]] = {
        "region": "region",
        "reasons": lambda answer: [reason.data() for reason in answer.reasons],
        "contrastive": lambda answer: [
            list(answer.named(contrast.features)) for contrast in answer.contrasts
        ],
        "contrastive_values": lambda answer: [
            [plain(value) for value in contrast.values.values()] for contrast in answer.contrasts
        ],
        "all_reasons": "all_reasons",
        "all_contrastive": "all_contrasts",
        "lower": "lower",
        "upper": "upper",
        "core": "core",
        "relevant": "relevant",
        "irrelevant": "irrelevant",
        "attribution": lambda answer: {
            name: str(share) for name, share in answer.attribution.items() if share
        },
        "attribution_exact": "all_reasons",
        "order": "order",
        "seconds": "seconds",
        "question": "question",
    }

    question: Why
    network: Network
    region: str
    """Where the other features may go, in words."""
    reasons: tuple[Reason, ...]
    contrasts: tuple[Contrast, ...]
    """Sets of features that change the class when changed together, each with one way to do it;
    minimal when all are listed.
    """
    all_reasons: bool
    """Whether these are all minimal reasons."""
    all_contrasts: bool
    """Whether these are all minimal contrastive sets."""
    lower: int
    """No reason has fewer features than this: proved."""
    movable: Features
    """Features that can change their code inside the region; all others are in no reason."""
    order: str
    """In which order features were freed, in words."""
    seconds: float
    interrupted: bool = field(default=False, repr=False, compare=False)
    """Whether somebody ended the search: whoever asks several questions then asks no further one."""

    @property
    def upper(self) -> int | None:
        """Size of the smallest reason found."""
        return min(
            (len(reason.features) for reason in self.reasons if reason.status != "unknown"), default=None
        )

    @cached_property
    def core(self) -> tuple[str, ...]:
        """Features known to be in every reason: those that change the class on their own. All of them, where
        all contrastive sets are listed, and unless time or memory ended first.
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
        """FFA of each feature that can change: its share of the listed reasons.

        Exact when `all_reasons`, else an estimate from these.
        """
        count = max(1, len(self.reasons))
        names = self.network.encoder.names
        return {
            names[f]: Fraction(sum(f in reason.features for reason in self.reasons), count)
            for f in sorted(self.movable)
        }

    def named(self, features: AbstractSet[int]) -> tuple[str, ...]:
        """Names of features, in their order."""
        return tuple(self.network.encoder.names[feature] for feature in sorted(features))

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:
        """Reasons with their certificates, contrastive sets, and what follows from the question."""
        for name, kind in (("lower", int), ("all_reasons", bool), ("all_contrastive", bool)):
            if type(data[name]) is not kind:
                raise CertificateError(f"the field {name!r} of the answer is not what it must be.")
        contrasts = []
        if [len(row) for row in data["contrastive"]] != [len(row) for row in data["contrastive_values"]]:
            raise CertificateError("each feature of a contrastive set has a value in 'contrastive_values'.")
        for names, values in zip(data["contrastive"], data["contrastive_values"], strict=True):
            indices = tuple(map(network.encoder.names.index, names))
            contrasts.append(Contrast(frozenset(indices), (), tuple(zip(indices, values, strict=True))))
        reasons = [Reason.of(network, opened(row["certificate"], network), row) for row in data["reasons"]]
        return {
            "region": described_within(network, question.described_region(network)),
            "reasons": tuple(reasons),
            "contrasts": tuple(contrasts),
            "all_contrasts": data["all_contrastive"],
            "movable": frozenset(question.near(network).places),
        }

    def said(self, mark: Callable[[str], str] = str) -> str:
        """A sentence for each reason, its verdict put through `mark`."""
        label = self.network.class_texts[self.question.label_goal(self.network).label]
        where = f"for {self.region}" if self.region == "any input" else f"with {self.region}"
        total = self.network.encoder.features
        if not self.reasons:
            return (
                f"{label}, {where}: no reason was found in the time; "
                f"every reason has at least {self.lower} features."
            )
        lines = []
        for reason in self.reasons:
            size = len(reason.features)
            if not size:
                lines.append(
                    f"{label}, {where}: nothing needs to be known, the class stays whatever changes "
                    f"({mark('proved')})"
                )
                continue
            summary = (
                f"{size} of {total} features: "
                f"{mark('proved') + ' ' if reason.status != 'unknown' else ''}{reason.status}"
            )
            lines.append(f"{label}, {where}, because {reason} ({summary})")
        return "\n".join(lines)
