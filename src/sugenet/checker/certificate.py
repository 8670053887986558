"""Checking an answer again, by the definition alone: nothing here or in the `check_` files is shared with the
engines but `sugenet.bnn`.

A witness is replayed. A claim that there is none is checked in the way its proof says: bounds are worked out
again, walks are walked again and must give the same numbers and digest, clauses of a solver's proof must
follow one by one, dual bounds are evaluated in exact fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sugenet.bnn import DenseLayer, Network, OneHot, Steps
from sugenet.checker.bounds import check_bounds
from sugenet.checker.form import check_form, check_outside, check_proof_form, exact
from sugenet.checker.large import Large, is_large
from sugenet.checker.limit import MEMORY, SECONDS, Limit
from sugenet.checker.sets import see_sets
from sugenet.checker.setting import (
    Plain,
    as_steps,
    meets,
    parts_of,
    plain_of,
    raw,
    scores,
    see_other,
    setting_of,
    weights_of,
)
from sugenet.errors import CertificateError, CheckLimitError, TooLargeError

__all__ = ["changed_as_claimed", "check", "lies_inside"]


def check(
    certificate: dict[str, Any],
    network: Network,
    other: Network | None = None,
    *,
    time_limit: float | None = SECONDS,
    memory_limit: int | None = MEMORY,
) -> str:
    """Check a certificate against its network, and the other one where it is about two; say what was checked.

    Parameters
    ----------
    certificate
        JSON data, from a stranger perhaps.
    network, other
        What it is about.
    time_limit
        Seconds after which to give up; None: never.
    memory_limit
        Bytes that may be used besides the networks and the certificate; None: any.

    Raises
    ------
    CertificateError
        Where it is for another network, is damaged, or claims what is not so.
    CheckLimitError
        Where time or memory ended first: then it is not known whether it holds.
        It is a `CertificateError` too.
    """
    if not isinstance(certificate, dict):
        raise CertificateError(f"a certificate is a JSON object, not {type(certificate).__name__}.")
    limit = Limit(time_limit, memory_limit)
    try:
        return _check(certificate, network, other, limit)
    except CertificateError:
        raise
    except RecursionError:
        raise CertificateError("the certificate is nested too deeply.") from None
    except (TooLargeError, MemoryError) as error:
        raise CheckLimitError(
            f"not checked within the limit: {str(error) or 'there is not enough memory.'}"
        ) from error
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as error:
        raise CertificateError(
            f"the certificate is damaged: {type(error).__name__}: {str(error)[:200]}"
        ) from error


def _check(certificate: dict[str, Any], network: Network, other: Network | None, limit: Limit) -> str:
    if (
        certificate.get("format") != "sugenet certificate"
        or type(certificate.get("version")) is not int
        or certificate["version"] != 2
    ):
        raise CertificateError("this is no sugenet certificate of version 2.")
    if certificate["network"] != network.fingerprint:
        raise CertificateError(
            f"the certificate is for the network {str(certificate['network'])[:12]}, "
            f"not for {network.fingerprint[:12]}."
        )
    question = certificate["question"]
    if not isinstance(question, dict):
        raise CertificateError(
            f"the question of a certificate is a JSON object, not {type(question).__name__}."
        )
    if question["kind"] == "count":
        from sugenet.checker.count import recount

        return recount(certificate, network, limit)
    check_form(question, network)
    check_outside(certificate, question["kind"])
    answer = certificate["answer"]
    if question["kind"] == "reason":
        from sugenet.checker.reason import check_reason

        if answer == "unknown":
            return "nothing is claimed, so there is nothing to check"
        proved = _check_none(question, certificate["proof"], network, other, limit)
        return check_reason(certificate, network, proved, limit)
    if question["kind"] == "whatif":
        return _check_whatif(question, answer, certificate, network, limit)
    if answer == "refuted":
        return _check_witness(question, certificate["witness"], network, other)
    if answer == "proved":
        return _check_none(question, certificate["proof"], network, other, limit)
    if certificate["proved_up_to"] is None:
        if certificate["proof"] is not None:
            raise CertificateError("there is a proof, but nothing that it proves.")
        return "nothing is claimed, so there is nothing to check"
    if question["kind"] != "robust" or question["region"]["kind"] not in ("Hamming", "L0", "L1", "L2"):
        raise CertificateError("a part of a region is claimed that has no parts.")
    region = {**question["region"], "total": exact(certificate["proved_up_to"], least=0)}
    said = _check_none({**question, "region": region}, certificate["proof"], network, other, limit)
    what = "a sum of squares of " if region["kind"] == "L2" else ""
    return f"up to {what}{certificate['proved_up_to']}: {said}; the rest is not decided"


# -- proofs --------------------------------------------------------------------------------------------------


def _check_none(
    question: dict[str, Any],
    proof: dict[str, Any],
    network: Network,
    other: Network | None,
    limit: Limit,
    *,
    strict: bool = False,
) -> str:
    """Check the proof that a question has no violation."""
    if check_proof_form(proof) == "patches":
        from sugenet.checker.patches import check_patches

        return check_patches(proof, network, _query(question), limit)
    if question["kind"] == "query" and network.reads_reals:  # all other proofs go through whole numbers
        raise CertificateError("a query over real values needs a proof of kind 'patches'.")
    parts = proof["parts"] if proof["kind"] == "parts" else [proof]
    if not isinstance(parts, list) or len(parts) != parts_of(question):
        raise CertificateError(f"{len(parts)} proofs for {parts_of(question)} parts of the question.")
    kinds = [check_proof_form(part) for part in parts]
    said: dict[str, None] = {}
    for number, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
        mine = limit.part()
        setting = setting_of(question, network, other, mine, number)
        if kind == "walk":
            see_sets(*weights_of(setting, mine, strict=strict), part["sets"], mine)
        if kind in ("bounds", "walk") and is_large(setting):
            large = Large(setting, mine, strict=strict)
            said[large.check_bounds() if kind == "bounds" else large.check_walk(part)] = None
        else:
            said[_check_proof(kind, part, plain_of(setting, mine, strict=strict))] = None
    return "; ".join(said)


def _check_proof(kind: str, proof: dict[str, Any], plain: Plain) -> str:
    match kind:
        case "bounds":
            return check_bounds(plain)
        case "walk":
            return _check_walk(proof, plain)
        case "rup":
            from sugenet.checker.rup import Plain as Steps01
            from sugenet.checker.rup import check_rup

            return check_rup(proof, Steps01(*as_steps(plain)), limit=plain.limit)
        case "drup":
            from sugenet.checker.drup import check_drup

            return check_drup(proof, plain)
    raise CertificateError(f"a proof of kind {kind!r} is none of this question.")


def _check_walk(proof: dict[str, Any], plain: Plain) -> str:
    from sugenet.checker.walk import MOST_SETS, walk

    sets, patterns = proof["sets"], proof["patterns"]
    if type(sets) is not int or not 0 < sets <= MOST_SETS:
        raise CertificateError(f"a walk goes through at most {MOST_SETS:,} sets.")
    if type(patterns) is not int or not 0 < patterns <= sets:
        raise CertificateError("a walk meets a pattern or more, and no more of them than sets.")
    problem = plain.base, plain.features, plain.budget, _behind(plain), plain.head, plain.violates
    found = walk(*problem, most=sets, patterns=patterns, limit=plain.limit)
    if found.bad:
        raise CertificateError("a change that the certificate excludes is a violation.")
    claimed = (sets, patterns, proof["digest"])
    if found.sets > sets:
        raise CertificateError(f"there are more than the {sets:,} sets of changes that the certificate says.")
    if found.patterns > patterns:
        raise CertificateError(f"there are more than the {patterns:,} patterns that the certificate says.")
    if (found.sets, found.patterns, found.digest) != claimed:
        raise CertificateError(
            f"the walk has {found.sets} sets, {found.patterns} patterns and digest {found.digest}, "
            f"but the certificate says {str(claimed)[:120]}."
        )
    return (
        f"none of the {found.sets:,} changes is a violation ({found.patterns:,} patterns, "
        f"digest {found.digest})"
    )


_WRITTEN = 1 << 22
"""Weights of later layers up to which convolutions are written out as neurons, which is faster then."""


def _behind(plain: Plain) -> list[Any]:
    """The later layers as weights and tau; as they are where some would be large so, or have no neurons."""
    sizes = [
        layer.outputs * layer.inputs for layer in plain.behind if not isinstance(layer, tuple | DenseLayer)
    ]
    empty = not len(plain.base) or any(
        (len(layer[1]) if isinstance(layer, tuple) else layer.outputs) == 0 for layer in plain.behind
    )
    return list(plain.behind) if empty or sum(sizes) > _WRITTEN else list(plain.layers)


def _query(question: dict[str, Any]) -> Any:
    """A query of a certificate, for the checker of dual bounds."""
    from sugenet.checker.query import Box, Case, Inequality, Query

    if question["kind"] != "query":
        raise CertificateError("dual bounds over patterns prove queries alone.")
    cases = []
    for case in question["cases"]:
        box = Box([Fraction(v) for v in case["lower"]], [Fraction(v) for v in case["upper"]])
        parts = [
            [Inequality([(int(k), Fraction(v)) for k, v in terms], Fraction(b)) for terms, b in row]
            for row in case["condition"]
        ]
        cases.append(Case(box, parts))
    return Query(int(question["inputs"]), int(question["outputs"]), cases)


# -- witnesses -----------------------------------------------------------------------------------------------


def _top(values: list[Fraction]) -> list[int]:
    best = max(values)
    return [k for k, value in enumerate(values) if value == best]


def changed_as_claimed(question: dict[str, Any], found: list[Fraction]) -> bool:
    """Whether scores violate "the class stays", with the tie rule."""
    tops, label, target = _top(found), question["label"], question["target"]
    if target is None:
        return tops[0] != label if question["ties"] == "lowest" else tops != [label]
    return tops[0] == target if question["ties"] == "lowest" else target in tops


def _distance(network: Network, feature: int, before: Any, after: Any) -> tuple[Fraction, int]:
    """Size of a raw change and number of bits that it flips."""
    coding = network.encoder.codings[feature]
    bits = int((coding.bits(coding.state(before)) != coding.bits(coding.state(after))).sum())
    if isinstance(coding, OneHot):
        return Fraction(int(before != after)), bits
    low = [0 if coding.bipolar and value == -1 else value for value in (before, after)]
    return abs(Fraction(low[1]) - Fraction(low[0])), bits


def _price(claim: dict[str, Any], changes: dict[int, tuple[Fraction, int]]) -> Fraction:
    """What changes cost; for L2 the sum of squares."""
    prices = {int(f): Fraction(p) for f, p in claim.get("prices", [])}
    match claim["kind"]:
        case "L0":
            return Fraction(len(changes))
        case "Hamming":
            return Fraction(sum(bits for _, bits in changes.values()))
        case "L1":
            return sum((distance for distance, _ in changes.values()), Fraction(0))
        case "L2":
            return sum((distance**2 for distance, _ in changes.values()), Fraction(0))
        case "Prices":
            return sum(
                (prices[f] * (d if claim["per_unit"] else 1) for f, (d, _) in changes.items()), Fraction(0)
            )
        case "Linf":
            return max((distance for distance, _ in changes.values()), default=Fraction(0))
    raise CertificateError(f"unknown cost {claim['kind']!r}.")


def _changes(
    network: Network, sample: Sequence[Any], witness: Sequence[Any]
) -> dict[int, tuple[Fraction, int]]:
    moved = [f for f, (a, b) in enumerate(zip(sample, witness, strict=True)) if a != b]
    return {f: _distance(network, f, sample[f], witness[f]) for f in moved}


def lies_inside(
    network: Network, region: dict[str, Any], sample: Sequence[Any], witness: Sequence[Any]
) -> None:
    """See that a witness lies in a region around the sample."""
    changes = _changes(network, sample, witness)
    kind = region["kind"]
    if kind in ("Hamming", "L0", "L1", "L2", "Linf"):
        radius = Fraction(region["radius"]) ** (2 if kind == "L2" else 1)
        price = _price(region, changes)
        if price > radius:
            raise CertificateError(f"the witness is at {price}, outside the region of {radius}.")
    elif kind in ("Free", "Box"):
        free = region["features"] if kind == "Free" else [f for f, _ in region["limits"]]
        stray = sorted(set(changes) - {int(f) for f in free})
        if stray:
            raise CertificateError(f"the witness changes feature {stray[0]}, which must stay.")
        if kind == "Box":
            _within(network, region["limits"], witness)
    elif kind != "Anything":
        raise CertificateError(f"unknown region {kind!r}.")


def _within(network: Network, limits: list[Any], witness: Sequence[Any]) -> None:
    for feature, limit in limits:
        if not meets(network.encoder.codings[int(feature)], witness[int(feature)], limit):
            raise CertificateError(
                f"the witness has {witness[int(feature)]} for feature {feature}, outside its limits."
            )


def _check_witness(question: dict[str, Any], witness: Any, network: Network, other: Network | None) -> str:
    kind = question["kind"]
    if kind in ("monotone", "fair"):
        return _check_pair(question, [raw(network, row) for row in witness], network)
    x = raw(network, witness)
    if kind == "query":
        return _check_query_witness(question, x, network)
    found = scores(network, x)
    if kind == "robust":
        sample = raw(network, question["sample"])
        if _top(scores(network, sample))[0] != question["label"]:
            raise CertificateError(f"the sample has not class {question['label']}.")
        lies_inside(network, question["region"], sample, x)
        if not changed_as_claimed(question, found):
            raise CertificateError("the witness does not change the answer as claimed.")
        return f"the witness lies in the region and has class {network.classes[_top(found)[0]]}"
    _within(network, question["where"], x)
    label = _top(found)[0]
    if kind == "agree":
        other = see_other(question, network, other)
        second = _top(scores(other, raw(other, witness)))[0]
        if label == second:
            raise CertificateError("the two networks agree on the witness.")
        return (
            f"the witness has class {network.classes[label]} in one network and "
            f"{network.classes[second]} in the other"
        )
    if kind not in ("always", "never") or (label == question["label"]) == (kind == "always"):
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
    p, q = (_top(scores(network, row))[0] for row in pair)
    if question["kind"] == "monotone":
        (feature,) = special
        coding = network.encoder.codings[feature]
        if not isinstance(coding, Steps):
            raise CertificateError("a category cannot be raised.")
        before, after = (
            0 if coding.bipolar and row[feature] == -1 else Fraction(row[feature]) for row in pair
        )
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
    query = _query(question)
    if network.reads_reals:
        from sugenet.checker.patches import check_patches_witness

        return check_patches_witness(x, network, query)
    if not query.violated_by([Fraction(value) for value in x], scores(network, x)):
        raise CertificateError("the witness lies in no box of the query whose condition its outputs meet.")
    return "the witness lies in a box of the query, and its outputs meet the condition there"


# -- counterfactuals -----------------------------------------------------------------------------------------


def _check_whatif(
    question: dict[str, Any], answer: str, certificate: dict[str, Any], network: Network, limit: Limit
) -> str:
    sample, cost = raw(network, question["sample"]), question["cost"]
    if _top(scores(network, sample))[0] != question["label"]:
        raise CertificateError(
            f"the sample has class {_top(scores(network, sample))[0]}, not {question['label']}."
        )
    said = [f"the sample has class {network.classes[question['label']]}"]
    if answer == "counterfactual":
        said.append(_check_counterfactual(question, certificate, network, sample))
        bound, strict = certificate["lower"], True
    elif answer == "open":
        bound, strict = certificate["lower"], True
    else:
        bound, strict = question["limit"], False
    if strict and exact(bound, least=0) == 0:
        if certificate["proof"] is not None:
            check_proof_form(certificate["proof"])
        return "; ".join(said)
    within = {**cost, "features": question["movable"], "region": question["region"], "strict": strict}
    if bound is not None:
        within["total"] = bound
    proved = _check_none(
        {**question, "within": within}, certificate["proof"], network, None, limit, strict=strict
    )
    said.append(f"{'below' if strict else 'up to'} {bound}: {proved}" if bound is not None else proved)
    return "; ".join(said)


def _check_counterfactual(
    question: dict[str, Any], certificate: dict[str, Any], network: Network, sample: tuple[Any, ...]
) -> str:
    witness = raw(network, certificate["witness"])
    changes = _changes(network, sample, witness)
    stray = sorted(set(changes) - set(question["movable"]))
    if stray:
        raise CertificateError(f"the witness changes feature {stray[0]}, which must stay.")
    price = _price(question["cost"], changes)
    if price != exact(certificate["value"]):
        raise CertificateError(f"the witness costs {price}, not {certificate['value']}.")
    if exact(certificate["lower"]) > price:
        raise CertificateError("the lower bound is above the cost of the witness.")
    if question["limit"] is not None and price > Fraction(question["limit"]):
        raise CertificateError(f"the witness costs {price}, above the limit of {question['limit']}.")
    if question["region"] is not None:
        lies_inside(network, question["region"], sample, witness)
    if not changed_as_claimed(question, scores(network, witness)):
        raise CertificateError("the witness does not change the answer as claimed.")
    return f"the witness changes it at cost {price}"
