"""Check a claim about a composite: the certificates of its parts, and the conclusion from them.

To be ensured: every reading is recomputed by the definition. Every part is a valid certificate about the
network, the sample and the inputs of its reading, and about the same region or cost as the composite. The
claim follows from the given parts, even if others are missing. A reading without a network is given: it has
the classes and gaps of the certificate, and nothing changes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from sugenet.checker.composed_form import (
    Change,
    Composed,
    CompositeMinimal,
    CompositeMinimum,
    CompositePossible,
    CompositeProof,
    CompositeProved,
    CompositeReason,
    CompositeRefuted,
    CompositeRobust,
    CompositeSufficient,
    CompositeUndecided,
    CompositeUnknown,
    CompositeWhatIf,
    Impossible,
    KnownReading,
    NetworkReading,
    NoChange,
    OpenChange,
    Possible,
)
from sugenet.checker.composites import ClassCosts, CompositeFormula, Wish, composite_of
from sugenet.checker.domain import within_domain
from sugenet.checker.form import (
    Certificate,
    Counterfactual,
    InputDomain,
    Minimal,
    Minimum,
    NoCounterfactual,
    OpenCounterfactual,
    Proved,
    Reason,
    Refuted,
    Robust,
    Sufficient,
    UnknownReason,
    WhatIf,
    read_certificate,
    sizes_of,
)
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import row_of, sample_in, scores, top, within_limits
from sugenet.checker.network import Clause, NetworkForm
from sugenet.checker.reading import Row, Sizes, Tagged, read
from sugenet.errors import CertificateError, CheckLimitError, refuse

__all__ = ["check_composed"]

_CheckPart = Callable[[Certificate, NetworkForm], str]


@dataclass(frozen=True, slots=True)
class _Variable:
    """A computed reading."""

    network: NetworkForm | None
    classes: tuple[str, ...]
    gaps: Sequence[Fraction]
    own: int
    """Its class."""
    sample: tuple[Any, ...] = ()
    domain: InputDomain | None = None
    is_narrowed: bool = False
    """Whether it chooses among only some classes of its network."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A composed certificate with computed readings."""

    certificate: Composed
    readings: list[_Variable]
    whole: CompositeFormula
    choice: list[int]
    """The classes of the readings."""
    check_part: _CheckPart
    limit: Limit
    plain: bool

    @property
    def movable(self) -> list[int]:
        """Return the readings that can change."""
        return [index for index, reading in enumerate(self.readings) if reading.network is not None]

    def everything(self) -> list[dict[int, Fraction]]:
        """Return all classes of each reading at cost 0; a given reading stays fixed."""
        return [
            dict.fromkeys(
                [reading.own] if reading.network is None else range(len(reading.classes)), Fraction(0)
            )
            for reading in self.readings
        ]

    def parts(self, kind: type[Tagged]) -> list[tuple[int, Certificate]]:
        """Return the parts, after checking that each holds and is about its reading; all questions have one
        kind.
        """
        pairs = []
        for part in self.certificate.parts:
            if part.reading not in self.movable:
                raise CertificateError("a part is about a reading that does not exist, or that is given.")
            reading = self.readings[part.reading]
            assert reading.network is not None
            certificate = read_certificate(part.certificate, reading.network)
            question = certificate.question
            if not isinstance(question, kind):
                raise CertificateError(f"a part answers {question.tag[1]!r}, not {kind.tag[1]!r}.")
            assert isinstance(question, Robust | Reason | WhatIf)
            refuse(
                CertificateError,
                (
                    row_of(reading.network, question.sample) != reading.sample,
                    f"a part is about another sample than that of reading {part.reading}.",
                ),
                (question.ties != "lowest", "a part counts ties in another way than the class of a reading."),
                (
                    certificate.domain != reading.domain,
                    "a part is about other inputs that can occur than its reading.",
                ),
                (
                    question.label != reading.own,
                    f"a part says that reading {part.reading} has another class than it has.",
                ),
            )
            self.check_part(certificate, reading.network)
            pairs.append((part.reading, certificate))
        return pairs


def check_composed(
    data: Any, networks: Sequence[NetworkForm], limit: Limit, check_part: _CheckPart, *, plain: bool
) -> str:
    """Check a certificate about a composite against the networks of its readings; return what was checked."""
    certificate: Composed = read(Composed, data, Sizes(), "the certificate")
    readings = [
        _given(one) if isinstance(one, KnownReading) else _read(one, certificate.networks, networks, limit)
        for one in certificate.readings
    ]
    composite = composite_of(certificate.whole, [reading.classes for reading in readings])
    claim = _Claim(
        certificate, readings, composite, [reading.own for reading in readings], check_part, limit, plain
    )
    match certificate.question:
        case CompositePossible() | CompositeWhatIf():
            composite.see_value(certificate.question.value)
    match certificate:
        case Possible() | Impossible():
            summary = _possible(claim, certificate)
        case CompositeProved() | CompositeRefuted() | CompositeUndecided():
            summary = _robust(claim, certificate)
        case NoChange() | OpenChange() | Change():
            summary = _whatif(claim, certificate)
        case _:
            summary = _reason(claim, certificate)
    n_fixed = len(claim.readings) - len(claim.movable)
    summary += f"; {n_fixed} of the readings are as the certificate gives them" if n_fixed else ""
    some = sum(reading.is_narrowed for reading in claim.readings)
    return summary + (f"; {some} of the readings choose among some classes of their network" if some else "")


# -- readings ------------------------------------------------------------------------------------------------


def _given(reading: KnownReading) -> _Variable:
    return _Variable(None, reading.values, reading.gaps, reading.gaps.index(Fraction(0)))


def _read(
    reading: NetworkReading, named: Sequence[str], networks: Sequence[NetworkForm], limit: Limit
) -> _Variable:
    limit.look()
    base = next((one for one in networks if one.fingerprint == named[reading.network]), None)
    if base is None:
        raise CertificateError(
            f"the certificate is about the network {named[reading.network][:12]}, which is not given."
        )
    network = base
    if reading.classes is not None:
        if reading.classes[-1] >= len(network.classes):
            raise CertificateError("a reading names a class that its network does not have.")
        network = network.among(reading.classes)
    domain: InputDomain | None = None
    clauses: tuple[Clause, ...] = ()
    if reading.domain is not None:
        domain = read(InputDomain, reading.domain, sizes_of(network), "the domain of a reading")
        lawful, limits = within_domain(domain, network, limit)
        clauses = lawful.clauses
        for feature, one in limits.items():
            within_limits(network.codings[feature], [one])
    row = read(Row, [*reading.sample], sizes_of(network), "the sample of a reading")
    sample = sample_in(network, row, clauses)
    class_scores = scores(network, sample)
    gaps = [max(class_scores) - score for score in class_scores]
    narrowed = len(network.classes) < len(base.classes)
    return _Variable(network, network.classes, gaps, top(class_scores)[0], sample, domain, narrowed)


def _parts(count: int) -> str:
    return "1 part" if count == 1 else f"{count} parts"


def _see_choice(claim: _Claim, choice: Sequence[int]) -> None:
    """Check that a choice has a class for each reading."""
    if len(choice) != len(claim.readings):
        raise CertificateError("a choice needs a class for each reading.")
    if any(k >= len(reading.classes) for k, reading in zip(choice, claim.readings, strict=True)):
        raise CertificateError("a choice names a class that does not exist.")


# -- how possible --------------------------------------------------------------------------------------------


def _possible(claim: _Claim, certificate: Possible | Impossible) -> str:
    """Check that the gap is that of a choice, and that no choice has a smaller one; likewise the margin."""
    if certificate.parts:
        raise CertificateError("there are parts, but nothing that needs them.")
    value = certificate.question.value
    if isinstance(certificate, Impossible):
        _see_gap(claim, Wish(value, other=False), None, None, certificate.proof)
        summary = "no classes have this value"
    else:
        gap = certificate.gap
        _see_gap(claim, Wish(value, other=False), gap, certificate.choice, certificate.proof)
        summary = f"these classes have a gap of {gap}, and none with this value have a smaller one"
    margin = certificate.margin
    _see_gap(claim, Wish(value, other=True), margin, certificate.other, certificate.other_proof)
    if margin is None:
        return f"{summary}; no classes have another value"
    return f"{summary}; another value has a gap of {margin}"


def _see_gap(
    claim: _Claim,
    wish: Wish,
    gap: Fraction | None,
    choice: Sequence[int] | None,
    proof: CompositeProof | None,
) -> None:
    """Check that the smallest gap of classes as wished is that of a choice; None if there are none."""
    what = "another value" if wish.other else "the value"
    if (gap is None) != (choice is None):
        raise CertificateError(f"a gap of {what} needs a choice, and without a gap there must be none.")
    if gap is not None and choice is not None:
        _see_choice(claim, choice)
        if not wish.met(claim.whole.value(choice)):
            raise CertificateError(f"the choice does not have {what} that is claimed.")
        worst = max(reading.gaps[k] for reading, k in zip(claim.readings, choice, strict=True))
        if worst != gap:
            raise CertificateError(f"the choice has a gap of {worst}, not {gap}.")
    rows = [
        {k: Fraction(0) for k, one in enumerate(reading.gaps) if gap is None or one < gap}
        for reading in claim.readings
    ]
    less = f"{what} is possible" if gap is None else f"{what} has a smaller gap than {gap}"
    _see_none(claim, rows, wish, proof, f"for all that is shown, {less}")


def _see_none(
    claim: _Claim, costs: ClassCosts, wish: Wish, proof: CompositeProof | None, failure: str
) -> None:
    """Check that no choice of classes is as wished, by the proof or because no choice is cheap enough."""
    min_cost = sum((min(row.values()) for row in costs), Fraction(0)) if all(costs) else None
    if min_cost is None or (wish.below is not None and min_cost >= wish.below):
        if proof is not None:
            raise CertificateError("there is a proof, but nothing that needs it.")
        return
    if proof is None:
        raise CertificateError(f"{failure}: there is no proof.")
    try:
        claim.whole.refute(proof, costs, wish, claim.limit, plain=claim.plain)
    except CheckLimitError:
        raise
    except CertificateError as error:
        raise CertificateError(f"{failure}: {error}") from None


# -- can it fail ---------------------------------------------------------------------------------------------


def _robust(claim: _Claim, certificate: CompositeProved | CompositeRefuted | CompositeUndecided) -> str:
    question: CompositeRobust = certificate.question
    allowed, moved = claim.everything(), list(claim.choice)
    changed: set[int] = set()
    proved = 0
    for index, part in claim.parts(Robust):
        asked, reading = part.question, claim.readings[index]
        assert isinstance(asked, Robust)
        if asked.region != question.region:
            raise CertificateError("a part is about another region than the composite.")
        if isinstance(part, Proved):
            proved += 1
            gone = range(len(reading.classes)) if asked.target is None else [asked.target]
            for k in gone:
                if k != reading.own:
                    allowed[index].pop(k, None)
        elif isinstance(part, Refuted):
            if index in changed:
                raise CertificateError("a reading is changed twice.")
            changed.add(index)
            moved[index] = _class_of(reading, part.witness[0])
    current_value = claim.whole.value(claim.choice)
    if isinstance(certificate, CompositeUndecided):
        return f"{_parts(proved)} proved; the composite is not decided"
    if isinstance(certificate, CompositeRefuted):
        refuse(
            CertificateError,
            (moved != list(certificate.choice), "the witnesses do not have the classes that are claimed."),
            (
                claim.whole.value(moved) == current_value,
                "the witnesses do not change the value of the composite.",
            ),
            (
                question.joint and len(changed) > 1,
                "several images are changed, each with a budget of its own.",
            ),
        )
        value = claim.whole.value(moved)
        return f"with the witnesses of {_parts(len(changed))} the value is {value}, not {current_value}"
    failure = "classes that no part excludes change the value of the composite, for all that is shown"
    _see_none(claim, allowed, Wish(current_value, other=True), certificate.proof, failure)
    return f"{_parts(proved)} checked, and what is left open does not change the value {current_value}"


def _class_of(reading: _Variable, witness: Sequence[Any]) -> int:
    assert reading.network is not None
    return top(scores(reading.network, row_of(reading.network, witness)))[0]


# -- why -----------------------------------------------------------------------------------------------------


_RANKS = (UnknownReason, Sufficient, Minimal, Minimum)
_COMPOSITE_RANKS = (CompositeUnknown, CompositeSufficient, CompositeMinimal, CompositeMinimum)


def _reason(
    claim: _Claim, certificate: CompositeUnknown | CompositeSufficient | CompositeMinimal | CompositeMinimum
) -> str:
    question: CompositeReason = certificate.question
    status, rank = certificate.tag[1], _COMPOSITE_RANKS.index(type(certificate))
    allowed = claim.everything()
    fixed: set[int] = set()
    lowest = len(_RANKS) - 1
    for index, part in claim.parts(Reason):
        asked = part.question
        assert isinstance(part, _RANKS)
        assert isinstance(asked, Reason)
        refuse(
            CertificateError,
            (asked.region != question.region, "a part is about another region than the composite."),
            (asked.target is not None, "a part is about one other class, not about all of them."),
            (asked.precision is not None, "a part is about a share of the inputs, not about all of them."),
            (index in fixed, "a reading has two reasons."),
        )
        fixed.add(index)
        lowest = min(lowest, _RANKS.index(type(part)))
        if not isinstance(part, UnknownReason):
            allowed[index] = {claim.readings[index].own: Fraction(0)}
    if isinstance(certificate, CompositeUnknown):
        return "nothing is claimed of the composite"
    current_value = claim.whole.value(claim.choice)
    failure = "the readings of the parts do not suffice for the value of the composite, for all that is shown"
    _see_none(claim, allowed, Wish(current_value, other=True), certificate.proof, failure)
    if rank > 1:
        if lowest < rank:
            raise CertificateError(f"a part is not {status}, so the composite is not.")
        if fixed != set(claim.movable) or not claim.whole.is_sensitive(claim.choice, claim.movable):
            raise CertificateError(
                f"one reading may change without the composite, so it is not seen to be {status}."
            )
    return f"the reasons of {_parts(len(fixed))} suffice for the value {current_value}: {status}"


# -- what if -------------------------------------------------------------------------------------------------


def _whatif(claim: _Claim, certificate: NoChange | OpenChange | Change) -> str:
    question: CompositeWhatIf = certificate.question
    value, other = question.value, question.other
    current_value = claim.whole.value(claim.choice)
    if (current_value == value) != other:
        raise CertificateError("the composite has such a value already.")
    lower = [
        {k: Fraction(k != reading.own and _by_one(question, reading)) for k in row}
        for reading, row in zip(claim.readings, claim.everything(), strict=True)
    ]
    changed: dict[tuple[int, int], Fraction] = {}
    for index, part in claim.parts(WhatIf):
        assert isinstance(part, Counterfactual | OpenCounterfactual | NoCounterfactual)
        _bound(question, claim.readings[index], part, lower[index])
        if isinstance(part, Counterfactual):
            key = index, _class_of(claim.readings[index], part.witness)
            changed[key] = min(part.value, changed.get(key, part.value))
    if isinstance(certificate, NoChange):
        failure = "classes that no part excludes have such a value, for all that is shown"
        _see_none(claim, lower, Wish(value, other), certificate.proof, failure)
        return f"{_parts(len(certificate.parts))} checked: every such value is excluded"
    lower_bound = certificate.lower
    if lower_bound < 0:
        raise CertificateError(f"the lower bound {lower_bound} is negative.")
    failure = f"the parts do not show that less than {lower_bound} is not enough"
    _see_none(claim, lower, Wish(value, other, lower_bound), certificate.proof, failure)
    if isinstance(certificate, OpenChange):
        return f"the parts show that less than {lower_bound} is not enough"
    _see_choice(claim, certificate.choice)
    if (claim.whole.value(certificate.choice) == value) == other:
        raise CertificateError("the choice does not have the value that is claimed.")
    total = Fraction(0)
    for index, (k, reading) in enumerate(zip(certificate.choice, claim.readings, strict=True)):
        if k != reading.own:
            if (index, k) not in changed:
                raise CertificateError(f"no part changes reading {index} to the class that is claimed.")
            total += changed[index, k]
    if total != certificate.cost:
        raise CertificateError(f"the changes cost {total}, not {certificate.cost}.")
    if lower_bound > total:
        raise CertificateError("the lower bound is above the cost.")
    return (
        f"the changes cost {total} and give such a value; "
        f"the parts show that less than {lower_bound} is not enough"
    )


def _by_one(question: CompositeWhatIf, reading: _Variable) -> bool:
    """Return whether costs are integers, so that another class costs at least 1; bits of silent cuts are
    free.
    """
    if question.cost.kind != "Hamming":
        return question.cost.kind == "L0"
    codings = () if reading.network is None else reading.network.codings
    return not any(getattr(coding, "silent", ()) for coding in codings)


def _bound(
    question: CompositeWhatIf,
    reading: _Variable,
    part: Counterfactual | OpenCounterfactual | NoCounterfactual,
    lower: dict[int, Fraction],
) -> None:
    """Record the lower bounds that a part gives on the costs of the classes of a reading."""
    asked = part.question
    assert reading.network is not None
    if asked.cost != question.cost:
        raise CertificateError("a part counts changes in another way than the composite.")
    if asked.region is not None or asked.movable != tuple(range(len(reading.network.codings))):
        raise CertificateError("a part is about some changes only.")
    classes = [k for k in list(lower) if k != reading.own and asked.target in (None, k)]
    if not isinstance(part, NoCounterfactual):
        bound = part.lower
    elif asked.limit is not None:
        bound = Fraction(floor(asked.limit) + 1) if question.cost.kind in ("L0", "Hamming") else asked.limit
    else:
        for k in classes:
            del lower[k]
        return
    for k in classes:
        lower[k] = max(lower[k], bound)
