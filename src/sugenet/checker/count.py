"""Checking a count: its parts must make up the region, and each is counted again.

To be ensured: no input of the region is in two parts or in none, and the inputs of each class in each part
(`counting`) are as many as is claimed. Nothing here is shared with the engines but the definition.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from sugenet.bnn import Network
from sugenet.bnn.arrays import Ints
from sugenet.checker.counting import CountPart, CountRegion, counted
from sugenet.checker.domain import asked_within
from sugenet.checker.form import check_count_form, check_outside, check_proof_form, whole_number
from sugenet.checker.limit import MEMORY, SECONDS, Limit
from sugenet.checker.reals import unit_of_all
from sugenet.checker.recounting import MANY, counted_in_words
from sugenet.checker.sets import as_words, sets_of
from sugenet.checker.setting import Option, Setting, Within, around, boxed
from sugenet.checker.values import allowed, meets, raw, rows_of
from sugenet.checker.whole import priced, whole_of
from sugenet.errors import CertificateError

__all__ = ["check_count", "recount"]

_VISITED = 1 << 30  # combinations that are visited one by one
_BUDGETS = 1 << 20  # different sums of weights, where inputs within a budget are numbered


def check_count(
    certificate: dict[str, Any],
    network: Network,
    parts: int | None = None,
    seed: int = 0,
    *,
    time_limit: float | None = SECONDS,
    memory_limit: int | None = MEMORY,
) -> str:
    """Count again and compare, part by part; say what was checked.

    Parameters
    ----------
    certificate, network
        Of a count, and what it is about.
    parts
        Count only so many parts, chosen at random by `seed`; that the parts make up the region is
        checked in any case.
    time_limit, memory_limit
        As in `sugenet.check`.

    Raises
    ------
    CertificateError
        Where a count is wrong, the parts do not make up the region, or there is too much to count again.
    """
    if not isinstance(certificate, dict):
        raise CertificateError(f"a certificate is a JSON object, not {type(certificate).__name__}.")
    try:
        limit = Limit(time_limit, memory_limit)
        return recount(*asked_within(certificate, network, limit), limit, parts, seed)
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as error:
        raise CertificateError(f"the certificate is damaged: {type(error).__name__}: {error}") from error


def recount(
    certificate: dict[str, Any],
    network: Network,
    limit: Limit,
    parts: int | None = None,
    seed: int = 0,
    *,
    plain: bool = False,
) -> str:
    """The same within limits, for a certificate that is a JSON object."""
    if certificate.get("network") != network.fingerprint:
        raise CertificateError(f"the certificate is for another network than {network.fingerprint[:12]}.")
    if (
        certificate.get("answer") != "counted"
        or certificate["question"]["kind"] != "count"
        or certificate["proof"]["kind"] != "partition"
    ):
        raise CertificateError("this is no certificate of a count.")
    check_count_form(certificate["question"], network)
    check_outside(certificate, "count")
    proof = certificate["proof"]
    check_proof_form(proof)
    if certificate["method"] not in ("constant", "sums", "walk"):
        raise CertificateError(f"unknown method {str(certificate['method'])[:40]!r}.")
    network = network.lawful  # its last class has the inputs that break a law
    region = _region(certificate["question"], network, whole_number(certificate["total"]), limit)
    roots = _roots(region, proof)
    claimed = [[whole_number(many) for many in row] for _, row in proof["parts"]]
    if any(
        len(row) != network.head.outputs
        for row in [*claimed, [whole_number(many) for many in certificate["counts"]]]
    ):
        raise CertificateError(f"a part does not have {network.head.outputs} counts, one for each class.")
    for (what, _), row, rows in zip(proof["parts"], claimed, roots, strict=True):
        size = sum(root.size for root in rows)
        if sum(row) != size:
            raise CertificateError(
                f"part {what} has {as_words(size)} inputs, but its counts sum to {as_words(sum(row))}."
            )
    if [sum(column) for column in zip(*claimed, strict=True)] != certificate["counts"] or sum(
        certificate["counts"]
    ) != certificate["total"]:
        raise CertificateError("the counts of the parts do not sum to what is claimed.")
    chosen = list(range(len(claimed)))
    if parts is not None and parts < len(claimed):
        chosen = sorted(random.Random(seed).sample(chosen, parts))
    size = sum(root.size for number in chosen for root in roots[number])
    found = None
    if size >= MANY and not plain:
        found = counted_in_words(region, proof["order"], [what for what, _ in proof["parts"]], chosen)
    if found is None:
        found = counted(region, [roots[number] for number in chosen], visit=size <= _VISITED, plain=plain)
    for number, counts in zip(chosen, found, strict=True):
        if counts != claimed[number]:
            raise CertificateError(
                f"part {proof['parts'][number][0]} has {counts} inputs of the classes, not {claimed[number]}."
            )
    if len(chosen) < len(claimed):
        named = ", ".join(str(proof["parts"][number][0]) for number in chosen)
        return (
            f"the parts make up {certificate['total']:,} inputs; {len(chosen)} of {len(claimed)} parts "
            f"counted again: {named}"
        )
    return f"{certificate['total']:,} inputs counted again in {len(claimed)} parts"


# -- the region ----------------------------------------------------------------------------------------------


def _region(question: dict[str, Any], network: Network, total: int, limit: Limit) -> CountRegion:
    codings = network.encoder.codings
    options: dict[int, list[Option]]
    if question["sample"] is None:
        inside = [dict(row) for row in boxed(network, question["where"], limit).values()]
        sample, budget = [next(iter(states.values())) for states in inside], None
        options = {
            f: [Option(s, (v,), Fraction(0)) for s, v in states.items()][1:]
            for f, states in enumerate(inside)
        }
    else:
        sample, options, budget = _around(question, network, limit)
        named: dict[int, set[int]] = {}
        for f, bounds in question["where"]:
            good = allowed(codings[int(f)], bounds, limit, network.domain.span(int(f)))
            named[int(f)] = {state for state, _ in good}
            if meets(codings[int(f)], sample[int(f)], bounds):  # its own value is allowed in any case
                named[int(f)].add(codings[int(f)].state(sample[int(f)]))
        options = {f: [o for o in row if f not in named or o.order in named[f]] for f, row in options.items()}
        for feature in sorted(named):
            if codings[feature].state(sample[feature]) in named[feature]:
                continue
            if not options.get(feature):
                raise CertificateError(f"nothing in the region meets the limits of feature {feature}.")
            first = min(options[feature], key=lambda option: (option.price, option.order))
            others = [
                Option(o.order, o.values, o.price - first.price) for o in options[feature] if o is not first
            ]
            sample[feature], options[feature] = first.values[0], others
            budget = None if budget is None else budget - first.price
        if budget is not None and budget < 0:
            raise CertificateError("nothing in the region meets the limits.")
    own = [coding.state(value) for coding, value in zip(codings, sample, strict=True)]
    options = {f: [o for o in row if budget is None or o.price <= budget] for f, row in options.items()}
    options = {f: sorted(row, key=lambda option: option.order) for f, row in sorted(options.items()) if row}
    prices = [option.price for row in options.values() for option in row]
    unit = unit_of_all(prices)
    if unit is None or sum(prices, Fraction(0)) * unit >= 2**60:
        raise CertificateError("the costs are too finely divided to count again.")
    setting = Setting((network,), (tuple(sample),), tuple(own), options, budget, False, [])
    weights, units = priced(setting, limit)
    size = _size([row for _, row in weights.values()], units, limit)
    if size != total:  # nothing is measured for a claim that cannot hold
        raise CertificateError(f"the region has {as_words(size)} inputs, not {as_words(total)}.")
    whole = whole_of(setting, limit)
    limit.take(8 * len(whole.base) * len(prices), "what each change adds to the neurons")
    return CountRegion(
        network,
        whole,
        list(options),
        [[o.order for o in row] for row in options.values()],
        dict(enumerate(own)),
        limit,
    )


def _around(
    question: dict[str, Any], network: Network, limit: Limit
) -> tuple[list[Any], dict[int, list[Option]], Fraction | None]:
    """A sample, the options of the features around it, and what they may cost."""
    sample = list(raw(network, question["sample"]))
    region = question["region"]
    if region["kind"] != "Moves":
        network.encoder.encode(rows_of([sample]))  # refuses what is no value of its feature, by name
        return sample, *around(network, sample, Within.of_region(region), limit)
    options: dict[int, list[Option]] = {}
    for feature, state, value, weight in region["moves"]:
        limit.take(500, "all changes of a count")
        value_there = raw(
            network, [*question["sample"][:feature], value, *question["sample"][feature + 1 :]]
        )[feature]
        here = network.encoder.codings[feature].state(value_there)
        taken = {
            network.encoder.codings[feature].state(sample[feature]),
            *(option.order for option in options.get(feature, [])),
        }
        if here != state or state in taken or whole_number(weight) != weight:
            raise CertificateError(
                f"the change of feature {feature} to {value} is not what it says, or is there twice."
            )
        options.setdefault(int(feature), []).append(Option(state, (value_there,), Fraction(weight)))
    return sample, options, None if region["budget"] is None else Fraction(region["budget"])


# -- its parts -----------------------------------------------------------------------------------------------


def _roots(region: CountRegion, proof: dict[str, Any]) -> list[list[CountPart]]:
    """What each part begins with; parts must not overlap, and make up the region."""
    names = [what for what, _ in proof["parts"]]
    if not names:
        raise CertificateError("the certificate has no parts.")
    if None not in names:
        return _by_states(region, names)
    order = proof["order"]
    if not all(type(feature) is int for feature in order):
        raise CertificateError("the order of the features must be their numbers.")
    if len(set(order)) < len(order) or not set(order) <= set(region.features):
        raise CertificateError("the order of the features names some twice, or some that cannot change.")
    if (
        names[0] is not None
        or None in names[1:]
        or [feature for name in names[1:] for feature in name] != order
    ):
        raise CertificateError(
            "the parts do not make up the region: they must be no change, then each feature in order."
        )
    idle = [feature for feature in region.features if feature not in set(order)]
    roots = [[_changed(region, [], idle)]]
    done = 0
    for name in names[1:]:
        roots.append([])
        for feature in name:
            done += 1
            rest = [*order[done:], *idle]
            roots[-1] += [_changed(region, [option], rest) for option in region.options(feature)]
    return roots


def _by_states(region: CountRegion, names: list[Any]) -> list[list[CountPart]]:
    fixed = [feature for feature, _ in names[0]]
    if len(set(fixed)) < len(fixed) or not set(fixed) <= set(region.features):
        raise CertificateError("the parts do not make up the region: they fix features that cannot change.")
    combinations = {tuple((f, s) for f, s in name) for name in names}
    expected = prod(len(region.states[region.place[f]]) + 1 for f in fixed)
    if (
        len(combinations) < len(names)
        or len(names) != expected
        or any([f for f, _ in name] != fixed for name in names)
    ):
        raise CertificateError(
            f"the parts do not make up the region: {len(names)} of {expected} combinations of states."
        )
    rest = [feature for feature in region.features if feature not in set(fixed)]
    roots = []
    for name in names:
        chosen = []
        for feature, state in name:
            if state == region.own[feature]:
                continue
            if type(feature) is not int or type(state) is not int:
                raise CertificateError("a part is named by features and their states.")
            states = region.states[region.place[feature]]
            if state not in states:
                raise CertificateError(f"feature {feature} cannot have state {state}.")
            chosen.append(region.options(feature)[states.index(state)])
        roots.append([_changed(region, chosen, rest)])
    return roots


def _changed(region: CountRegion, chosen: Sequence[tuple[int, Ints]], rest: list[int]) -> CountPart:
    """What is left after some options."""
    base, budget = region.whole.base, region.whole.budget
    region.limit.take(8 * len(base) + 16 * len(rest) + 400, "the parts of a count")
    left = None if budget is None else budget - sum(weight for weight, _ in chosen)
    size = _size([region.rows[feature][0].tolist() for feature in rest], left, region.limit)
    return CountPart(
        base + sum((gain for _, gain in chosen), np.zeros(len(base), np.int64)), rest, left, size
    )


def _size(weights: list[list[int]], left: int | None, limit: Limit) -> int:
    """How many choices of at most one option a feature there are, with what is left of the budget."""
    size = sets_of(weights, left, limit, sums=_BUDGETS)
    if size is None:
        raise CertificateError("the costs have too many different sums to count again.")
    return size
