"""Checking a claim about a whole: of its parts' certificates, and of what follows from them.

To be ensured: every reading is worked out again by the definition; every part is a certificate that holds,
about the network, the sample and the inputs of the reading that it is given for, and about the same region
or cost as the whole; and the claim follows from the parts that are there, whatever is left out. A reading
without a network is given: it has the classes and gaps that the certificate says, and nothing changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from sugenet.bnn import Domain, Network
from sugenet.checker.form import Region, exact, sizes_of
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import row_of, scores, top
from sugenet.checker.reading import Row, read
from sugenet.checker.wholes import ComposedWhole, composed_whole
from sugenet.errors import CertificateError

__all__ = ["check_composed"]

_Judge = Callable[[dict[str, Any], Network], str]
_SUMMED = ("L0", "L1", "L2", "Hamming")
_TOP = {"format", "version", "networks", "readings", "whole", "question", "answer", "parts"}
_QUESTIONS = {
    "possible": {"kind", "value"},
    "robust": {"kind", "region", "joint"},
    "reason": {"kind", "region"},
    "whatif": {"kind", "cost", "value", "other"},
}
_MORE: dict[tuple[str, str], set[str]] = {
    ("possible", "possible"): {"gap", "choice", "margin"},
    ("possible", "impossible"): {"margin"},
    ("robust", "proved"): set(),
    ("robust", "refuted"): {"choice"},
    ("robust", "undecided"): set(),
    ("reason", "minimum"): set(),
    ("reason", "minimal"): set(),
    ("reason", "sufficient"): set(),
    ("reason", "unknown"): set(),
    ("whatif", "counterfactual"): {"choice", "cost", "lower"},
    ("whatif", "open"): {"lower"},
    ("whatif", "none"): set(),
}
"""For each question and answer the fields that a certificate has besides."""


class _Variable(NamedTuple):
    """A reading, worked out."""

    network: Network | None
    classes: tuple[str, ...]
    gaps: list[Fraction]
    own: int
    """The class that it has."""
    sample: tuple[Any, ...] | None
    domain: Any
    is_narrowed: bool
    """Whether it chooses among some classes of its network alone."""


class _Claim(NamedTuple):
    """A composed certificate whose readings are worked out."""

    data: dict[str, Any]
    readings: list[_Variable]
    whole: ComposedWhole
    choice: list[int]
    """As it is read."""
    judge: _Judge
    limit: Limit

    @property
    def movable(self) -> list[int]:
        """Readings that can change."""
        return [place for place, reading in enumerate(self.readings) if reading.network is not None]

    def everything(self) -> list[dict[int, Fraction]]:
        """All classes of each reading, at no cost; a given reading stays as it is."""
        return [
            dict.fromkeys(
                [reading.own] if reading.network is None else range(len(reading.classes)), Fraction(0)
            )
            for reading in self.readings
        ]

    def parts(self, kind: str) -> list[tuple[int, dict[str, Any]]]:
        """The parts, each seen to hold and to be about its reading; the question of each is of one kind."""
        found = []
        for part in _list(self.data["parts"], "the parts"):
            _see_fields(part, {"reading", "certificate"}, "a part")
            place, certificate = part["reading"], part["certificate"]
            if type(place) is not int or place not in self.movable:
                raise CertificateError("a part is about a reading that there is not, or that is given.")
            reading = self.readings[place]
            assert reading.network is not None
            if not isinstance(certificate, dict) or "networks" in certificate:
                raise CertificateError("a part is no certificate about one network.")
            question = certificate["question"]
            if question["kind"] != kind:
                raise CertificateError(f"a part answers {str(question['kind'])[:40]!r}, not {kind!r}.")
            if row_of(reading.network, question["sample"]) != reading.sample:
                raise CertificateError(f"a part is about another sample than that of reading {place}.")
            if question["ties"] != "lowest":
                raise CertificateError("a part counts ties in another way than the class of a reading.")
            if certificate.get("domain") != reading.domain:
                raise CertificateError("a part is about other inputs that can occur than its reading.")
            self.judge(certificate, reading.network)
            if question["label"] != reading.own:
                raise CertificateError(f"a part says that reading {place} has another class than it has.")
            found.append((place, certificate))
        return found


def check_composed(
    certificate: dict[str, Any], networks: Sequence[Network], limit: Limit, judge: _Judge
) -> str:
    """Check a certificate about a whole against the networks that read its parts; say what was checked."""
    claim = _opened(certificate, networks, judge, limit)
    checks = {"possible": _possible, "robust": _robust, "reason": _reason, "whatif": _whatif}
    said = checks[certificate["question"]["kind"]](claim)
    many = len(claim.readings) - len(claim.movable)
    said += f"; {many} of the readings are as the certificate gives them" if many else ""
    some = sum(reading.is_narrowed for reading in claim.readings)
    return said + (f"; {some} of the readings choose among some classes of their network" if some else "")


# -- reading -------------------------------------------------------------------------------------------------


def _opened(data: dict[str, Any], networks: Sequence[Network], judge: _Judge, limit: Limit) -> _Claim:
    question, answer = data["question"], data["answer"]
    kind = question["kind"] if isinstance(question, dict) else None
    if not isinstance(kind, str) or kind not in _QUESTIONS:
        raise CertificateError("unknown question about a whole.")
    if not isinstance(answer, str) or (kind, answer) not in _MORE:
        raise CertificateError(f"unknown answer {str(answer)[:40]!r}.")
    _see_fields(question, _QUESTIONS[kind], f"the question {kind}")
    _see_fields(data, _TOP | _MORE[kind, answer], "the certificate")
    readings = [
        _variable(one, _list(data["networks"], "networks"), networks, limit)
        for one in _list(data["readings"], "readings")
    ]
    _see_names(data["readings"], data["networks"])
    for reading in readings:
        if "region" in question and reading.network is not None:
            read(Region, question["region"], sizes_of(reading.network), "the region")
    whole = composed_whole(data["whole"], [reading.classes for reading in readings])
    if "value" in question:
        whole.see_value(question["value"])
    return _Claim(data, readings, whole, [reading.own for reading in readings], judge, limit)


def _see_names(readings: list[dict[str, Any]], networks: list[Any]) -> None:
    """See that each reading has a name of its own, and that what is named is read."""
    names = [one["name"] for one in readings]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise CertificateError("each reading has a name of its own, which is text.")
    used = {one["network"] for one in readings if "network" in one}
    if used != set(range(len(networks))) or len(set(networks)) < len(networks):
        raise CertificateError("a network is named twice, or reads nothing.")


def _variable(data: Any, named: list[Any], networks: Sequence[Network], limit: Limit) -> _Variable:
    limit.look()
    if isinstance(data, dict) and "gaps" in data:
        _see_fields(data, {"name", "values", "gaps"}, "a reading that is given")
        gaps = [exact(gap, least=0) for gap in _list(data["gaps"], "gaps")]
        names = _list(data["values"], "values")
        if len(names) != len(gaps) or 0 not in gaps or len(set(map(str, names))) < len(names):
            raise CertificateError("a reading that is given needs a gap for each value, and 0 for the best.")
        return _Variable(None, tuple(map(str, names)), gaps, gaps.index(Fraction(0)), None, None, False)
    _see_fields(data, {"name", "network", "classes", "sample"} | ({"domain"} & set(data)), "a reading")
    number = data["network"]
    if type(number) is not int or not 0 <= number < len(named):
        raise CertificateError("a reading names a network that there is not.")
    base = next((one for one in networks if one.fingerprint == named[number]), None)
    if base is None:
        raise CertificateError(
            f"the certificate is about the network {str(named[number])[:12]}, which is not given."
        )
    network = base.anywhere()
    if data["classes"] is not None:
        rows = _list(data["classes"], "classes")
        if any(type(k) is not int for k in rows) or sorted(set(rows)) != rows:
            raise CertificateError("classes are numbers that rise.")
        network = network.among(rows)
    domain = data.get("domain")
    if domain is not None:
        network = network.within(Domain.of(domain, network.encoder, limit.look))
    sample = row_of(network, read(Row, data["sample"], sizes_of(network), "a sample"))
    found = scores(network, sample)
    gaps = [max(found) - score for score in found]
    narrowed = len(network.classes) < len(base.classes)
    return _Variable(network, network.classes, gaps, top(found)[0], sample, domain, narrowed)


def _parts(many: int) -> str:
    return "1 part" if many == 1 else f"{many} parts"


def _see_fields(data: Any, names: set[str], what: str) -> None:
    if not isinstance(data, dict):
        raise CertificateError(f"{what} must be a JSON object.")
    for name in sorted(names - set(data)):
        raise CertificateError(f"{what} has no field {name!r}.")
    for name in data:
        if name not in names:
            raise CertificateError(f"{what} has a field {str(name)[:40]!r} that it must not have.")


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise CertificateError(f"{what} must be a list.")
    return value


def _choice(claim: _Claim) -> list[int]:
    """The classes that a certificate says its readings may have."""
    choice = _list(claim.data["choice"], "a choice")
    if len(choice) != len(claim.readings):
        raise CertificateError("a choice has a class for each reading.")
    for k, reading in zip(choice, claim.readings, strict=True):
        if type(k) is not int or not 0 <= k < len(reading.classes):
            raise CertificateError("a choice names a class that there is not.")
    return choice


# -- how possible --------------------------------------------------------------------------------------------


def _possible(claim: _Claim) -> str:
    """The gap is that of a choice, and no choice has a smaller one; the same of the margin."""
    if claim.data["parts"] != []:
        raise CertificateError("there are parts, but nothing that needs them.")
    value = claim.data["question"]["value"]
    if claim.data["answer"] == "impossible":
        if _some(claim, value, other=False, most=None, strict=False):
            raise CertificateError("what is said to be impossible is not.")
        said = "no classes have this value"
    else:
        choice, gap = _choice(claim), exact(claim.data["gap"], least=0)
        if claim.whole.value(choice) != value:
            raise CertificateError("the choice does not have the value that is claimed.")
        worst = max(reading.gaps[k] for reading, k in zip(claim.readings, choice, strict=True))
        if worst != gap:
            raise CertificateError(f"the choice has a gap of {worst}, not {gap}.")
        if _some(claim, value, other=False, most=gap, strict=True):
            raise CertificateError(f"there are classes of a smaller gap than {gap}.")
        said = f"these classes have a gap of {gap}, and none with this value have a smaller one"
    margin = claim.data["margin"]
    if margin is None:
        if _some(claim, value, other=True, most=None, strict=False):
            raise CertificateError("another value is said to be impossible, and is not.")
        return f"{said}; no classes have another value"
    least = exact(margin, least=0)
    if _some(claim, value, other=True, most=least, strict=True) or not _some(
        claim, value, other=True, most=least, strict=False
    ):
        raise CertificateError(f"another value does not have the gap of {least} that is claimed.")
    return f"{said}; another value has a gap of {least}"


def _some(claim: _Claim, value: Any, *, other: bool, most: Fraction | None, strict: bool) -> bool:
    """Whether classes of a gap up to a bound, or below it, have a value."""
    rows = [
        {
            k: Fraction(0)
            for k, gap in enumerate(reading.gaps)
            if most is None or (gap < most if strict else gap <= most)
        }
        for reading in claim.readings
    ]
    return claim.whole.least(rows, value, other, claim.limit) is not None


# -- can it fail ---------------------------------------------------------------------------------------------


def _robust(claim: _Claim) -> str:
    question, answer = claim.data["question"], claim.data["answer"]
    region, joint = question["region"], question["joint"]
    if type(joint) is not bool or (joint and region.get("kind") not in _SUMMED):
        raise CertificateError("a budget that images share is one that adds up their changes.")
    allowed, moved = claim.everything(), list(claim.choice)
    changed: set[int] = set()
    proved = 0
    for place, part in claim.parts("robust"):
        asked, reading = part["question"], claim.readings[place]
        if asked["region"] != region:
            raise CertificateError("a part is about another region than the whole.")
        if part["answer"] == "proved":
            proved += 1
            gone = [asked["target"]] if asked["target"] is not None else range(len(reading.classes))
            for k in gone:
                if k != reading.own:
                    allowed[place].pop(k, None)
        elif part["answer"] == "refuted":
            assert reading.network is not None
            if place in changed:
                raise CertificateError("a reading is changed twice.")
            changed.add(place)
            moved[place] = top(scores(reading.network, row_of(reading.network, part["witness"])))[0]
    own = claim.whole.value(claim.choice)
    if answer == "undecided":
        return f"{_parts(proved)} proved; the whole is not decided"
    if answer == "refuted":
        if moved != _choice(claim):
            raise CertificateError("the witnesses do not have the classes that are claimed.")
        if claim.whole.value(moved) == own:
            raise CertificateError("the witnesses do not change the value of the whole.")
        if joint and len(changed) > 1:
            raise CertificateError("several images are changed, each with a budget of its own.")
        return (
            f"with the witnesses of {_parts(len(changed))} the value is {claim.whole.value(moved)}, not {own}"
        )
    if claim.whole.least(allowed, own, True, claim.limit) is not None:
        raise CertificateError("classes that no part excludes change the value of the whole.")
    return f"{_parts(proved)} checked, and what is left open does not change the value {own}"


# -- why -----------------------------------------------------------------------------------------------------


def _reason(claim: _Claim) -> str:
    status = claim.data["answer"]
    allowed = claim.everything()
    fixed: set[int] = set()
    ranks = ("unknown", "sufficient", "minimal", "minimum")
    lowest = len(ranks) - 1
    for place, part in claim.parts("reason"):
        if part["question"]["region"] != claim.data["question"]["region"]:
            raise CertificateError("a part is about another region than the whole.")
        if part["question"]["target"] is not None:
            raise CertificateError("a part is about one other class, not about all of them.")
        if place in fixed:
            raise CertificateError("a reading has two reasons.")
        rank = ranks.index(part["answer"])
        lowest = min(lowest, rank)
        fixed.add(place)
        if rank:
            allowed[place] = {claim.readings[place].own: Fraction(0)}
    if status == "unknown":
        return "nothing is claimed of the whole"
    own = claim.whole.value(claim.choice)
    if claim.whole.least(allowed, own, True, claim.limit) is not None:
        raise CertificateError("the readings of the parts do not suffice for the value of the whole.")
    if ranks.index(status) > 1:
        if lowest < ranks.index(status):
            raise CertificateError(f"a part is not {status}, so the whole is not.")
        if fixed != set(claim.movable) or not claim.whole.is_sensitive(claim.choice, claim.movable):
            raise CertificateError(
                f"one reading may change without the whole, so it is not seen to be {status}."
            )
    return f"the reasons of {_parts(len(fixed))} suffice for the value {own}: {status}"


# -- what if -------------------------------------------------------------------------------------------------


def _whatif(claim: _Claim) -> str:
    question, answer = claim.data["question"], claim.data["answer"]
    cost, value, other = question["cost"], question["value"], question["other"]
    if not isinstance(cost, dict) or set(cost) != {"kind"} or cost["kind"] not in _SUMMED:
        raise CertificateError("the costs of several images are not added up so.")
    if type(other) is not bool:
        raise CertificateError("true or false is needed.")
    own = claim.whole.value(claim.choice)
    if (own == value) != other:
        raise CertificateError("the whole has such a value already.")
    whole_steps = cost["kind"] in ("L0", "Hamming")
    lower = claim.everything()
    for place, reading in enumerate(claim.readings):
        for k in lower[place]:
            lower[place][k] = Fraction(int(whole_steps and k != reading.own))
    changed: dict[tuple[int, int], Fraction] = {}
    for place, part in claim.parts("whatif"):
        _bound(claim, place, part, lower[place], changed, whole_steps=whole_steps)
    if answer == "none":
        if claim.whole.least(lower, value, other, claim.limit) is not None:
            raise CertificateError("classes that no part excludes have such a value.")
        return f"{_parts(len(claim.data['parts']))} checked: every such value is excluded"
    least = exact(claim.data["lower"], least=0)
    if least > 0 and claim.whole.least(lower, value, other, claim.limit, least) is not None:
        raise CertificateError(f"the parts do not show that less than {least} is not enough.")
    if answer == "open":
        return f"the parts show that less than {least} is not enough"
    choice, total = _choice(claim), Fraction(0)
    if (claim.whole.value(choice) == value) == other:
        raise CertificateError("the choice does not have the value that is claimed.")
    for place, (k, reading) in enumerate(zip(choice, claim.readings, strict=True)):
        if k != reading.own:
            if (place, k) not in changed:
                raise CertificateError(f"no part changes reading {place} to the class that is claimed.")
            total += changed[place, k]
    if total != exact(claim.data["cost"]):
        raise CertificateError(f"the changes cost {total}, not {claim.data['cost']}.")
    if least > total:
        raise CertificateError("the lower bound is above the cost.")
    return (
        f"the changes cost {total} and give such a value; the parts show that less than {least} is not enough"
    )


def _bound(
    claim: _Claim,
    place: int,
    part: dict[str, Any],
    lower: dict[int, Fraction],
    changed: dict[tuple[int, int], Fraction],
    *,
    whole_steps: bool,
) -> None:
    """What a part says of the classes of a reading: what reaching them costs at least, and at most."""
    asked, reading = part["question"], claim.readings[place]
    network = reading.network
    assert network is not None
    if asked["cost"] != claim.data["question"]["cost"]:
        raise CertificateError("a part counts changes in another way than the whole.")
    if asked["region"] is not None or asked["movable"] != list(range(network.encoder.features)):
        raise CertificateError("a part is about some changes only.")
    target = asked["target"]
    classes = [k for k in list(lower) if k != reading.own and target in (None, k)]
    if part["answer"] == "none":
        if asked["limit"] is None:
            for k in classes:
                del lower[k]
            return
        most = exact(asked["limit"])
        bound = Fraction(most.__floor__() + 1) if whole_steps else most
    else:
        bound = exact(part["lower"])
        if part["answer"] == "counterfactual":
            k, price = top(scores(network, row_of(network, part["witness"])))[0], exact(part["value"])
            changed[place, k] = min(price, changed.get((place, k), price))
    for k in classes:
        lower[k] = max(lower[k], bound)
