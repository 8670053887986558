"""Replaying an input that is said to violate a question.

To be ensured: it is an input of the network, lies where the question allows, and its scores, by the
definition, are a violation; with that the answer is true, whoever found it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sugenet.bnn import Network, Steps
from sugenet.checker.domain import can_occur
from sugenet.checker.query import query_of
from sugenet.checker.reals import check_real_witness
from sugenet.checker.setting import see_other
from sugenet.checker.values import bits_flipped, distance, meets, number, raw, scores, top
from sugenet.errors import CertificateError

__all__ = ["changed_as_claimed", "changes_of", "check_witness", "lies_inside", "price_of"]


def check_witness(question: dict[str, Any], witness: Any, network: Network, other: Network | None) -> str:
    """Replay an input, or a pair of them, that is said to violate the question; say what it shows."""
    kind = question["kind"]
    if kind in ("monotone", "fair"):
        return _check_pair(question, [raw(network, row) for row in witness], network)
    x = raw(network, witness)
    if kind == "query":
        return _check_query_witness(question, x, network)
    found = scores(network, x)
    if kind == "robust":
        sample = raw(network, question["sample"])
        if top(scores(network, sample))[0] != question["label"]:
            raise CertificateError(f"the sample has not class {question['label']}.")
        lies_inside(network, question["region"], sample, x)
        if not changed_as_claimed(question, found):
            raise CertificateError("the witness does not change the answer as claimed.")
        return f"the witness lies in the region and has class {network.classes[top(found)[0]]}"
    _within(network, question["where"], x)
    label = top(found)[0]
    if kind == "agree":
        other = see_other(question, network, other)
        second = top(scores(other, raw(other, witness)))[0]
        if label == second:
            raise CertificateError("the two networks agree on the witness.")
        return (
            f"the witness has class {network.classes[label]} in one network and "
            f"{network.classes[second]} in the other"
        )
    if (label == question["label"]) == (kind == "always"):
        raise CertificateError("the witness is no violation.")
    return f"the witness lies within the limits and has class {network.classes[label]}"


def _check_pair(question: dict[str, Any], pair: list[tuple[Any, ...]], network: Network) -> str:
    left, right = pair
    for row in pair:
        _within(network, question["where"], row)
    special = (
        {int(question["feature"])}
        if question["kind"] == "monotone"
        else {int(f) for f in question["protected"]}
    )
    differ = {f for f, (a, b) in enumerate(zip(left, right, strict=True)) if a != b}
    if not differ <= special:
        raise CertificateError(
            f"the two witnesses differ in feature {min(differ - special)}, which must be equal."
        )
    p, q = (top(scores(network, row))[0] for row in pair)
    if question["kind"] == "monotone":
        (feature,) = special
        coding = network.encoder.codings[feature]
        if not isinstance(coding, Steps):
            raise CertificateError("a category cannot be raised.")
        before, after = (number(coding, row[feature]) for row in pair)
        if not (after > before if question["rising"] else after < before):
            raise CertificateError("the feature does not move in the direction of the question.")
        label = question["label"]
        bad = q < p if label is None else p == label != q
    else:
        bad = p != q
    if not bad:
        raise CertificateError("the two witnesses are no violation.")
    return f"the two witnesses have the classes {network.classes[p]} and {network.classes[q]}"


def _check_query_witness(question: dict[str, Any], x: tuple[Any, ...], network: Network) -> str:
    query = query_of(question)
    can_occur(network, x)
    if network.keeps_reals:
        return check_real_witness(x, network, query)
    if not query.violated_by([Fraction(value) for value in x], scores(network, x)):
        raise CertificateError("the witness lies in no box of the query whose condition its outputs meet.")
    return "the witness lies in a box of the query, and its outputs meet the condition there"


# -- what moves, how far, and whether it may -----------------------------------------------------------------


def changed_as_claimed(question: dict[str, Any], found: list[Fraction]) -> bool:
    """Whether scores violate "the class stays", with the tie rule."""
    tops, label, target = top(found), question["label"], question["target"]
    if target is None:
        return tops[0] != label if question["ties"] == "lowest" else tops != [label]
    return tops[0] == target if question["ties"] == "lowest" else target in tops


def changes_of(
    network: Network, sample: Sequence[Any], witness: Sequence[Any]
) -> dict[int, tuple[Fraction, int]]:
    """For every feature that differs, the size of the raw change and how many bits it flips."""
    moved = [f for f, (a, b) in enumerate(zip(sample, witness, strict=True)) if a != b]
    codings = network.encoder.codings
    flipped = {f: bits_flipped(codings[f], sample[f], witness[f]) for f in moved}  # refuses what is no value
    return {f: (distance(codings[f], sample[f], witness[f]), flipped[f]) for f in moved}


def price_of(cost: dict[str, Any], changes: dict[int, tuple[Fraction, int]]) -> Fraction:
    """What changes cost; for L2 the sum of squares."""
    sizes = {feature: far for feature, (far, _) in changes.items()}
    match cost["kind"]:
        case "L0":
            return Fraction(len(changes))
        case "Hamming":
            return Fraction(sum(bits for _, bits in changes.values()))
        case "L1":
            return sum(sizes.values(), Fraction(0))
        case "L2":
            return sum((far**2 for far in sizes.values()), Fraction(0))
        case "Linf":
            return max(sizes.values(), default=Fraction(0))
    prices = {int(f): Fraction(p) for f, p in cost["prices"]}
    return sum((prices[f] * (far if cost["per_unit"] else 1) for f, far in sizes.items()), Fraction(0))


def lies_inside(
    network: Network, region: dict[str, Any], sample: Sequence[Any], witness: Sequence[Any]
) -> None:
    """See that a witness lies in a region around the sample, and can occur."""
    can_occur(network, witness, sample)
    changes = changes_of(network, sample, witness)
    kind = region["kind"]
    if kind in ("Hamming", "L0", "L1", "L2", "Linf"):
        radius = Fraction(region["radius"]) ** (2 if kind == "L2" else 1)
        price = price_of(region, changes)
        if price > radius:
            raise CertificateError(f"the witness is at {price}, outside the region of {radius}.")
    elif kind in ("Free", "Box"):
        free = region["features"] if kind == "Free" else [f for f, _ in region["limits"]]
        stray = sorted(set(changes) - {int(f) for f in free})
        if stray:
            raise CertificateError(f"the witness changes feature {stray[0]}, which must stay.")
        if kind == "Box":
            _meets_all(network, region["limits"], witness)


def _within(network: Network, limits: list[Any], witness: Sequence[Any]) -> None:
    can_occur(network, witness)
    _meets_all(network, limits, witness)


def _meets_all(network: Network, limits: list[Any], witness: Sequence[Any]) -> None:
    for feature, limit in limits:
        if not meets(network.encoder.codings[int(feature)], witness[int(feature)], limit):
            raise CertificateError(
                f"the witness has {witness[int(feature)]} for feature {feature}, outside its limits."
            )
