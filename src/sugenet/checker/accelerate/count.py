"""Check a count: its parts must make up the region, and each part is counted again.

To be ensured: every input of the region is in exactly one part, and each part has the claimed number of
inputs of each class (`counting`). Only the definition is shared with the engines.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from sugenet.checker.accelerate.arrays import Arrays, Ints, backed
from sugenet.checker.accelerate.counting import MANY, CountPart, CountRegion, counted, counted_in_words
from sugenet.checker.accelerate.enumeration import as_words, sets_of
from sugenet.checker.accelerate.integers import array_problem
from sugenet.checker.counting import see_parts, see_totals
from sugenet.checker.form import Counted, Partition, Share
from sugenet.checker.limit import Limit
from sugenet.checker.problem import priced
from sugenet.checker.setting import Asked, setting_of
from sugenet.errors import CertificateError, CheckLimitError

__all__ = ["recount"]

_VISITED = 1 << 30  # largest number of combinations that are visited one by one
_BUDGETS = 1 << 20  # largest number of distinct sums of weights, if inputs within a budget are counted


def recount(certificate: Counted | Share, asked: Asked, limit: Limit) -> str:
    """Count again and compare, part by part; return what was checked.

    Raises
    ------
    CertificateError
        If a count is wrong, the parts do not make up the region, or there is too much to count again.
    """
    proof = certificate.proof
    network = backed(asked.lawful).quantized  # its last class contains the inputs that break a law
    region = _region(asked, network, certificate.total, limit)
    roots = _roots(region, proof)
    claimed = [list(row) for _, row in proof.parts]
    if any(len(row) != len(network.head) for row in [*claimed, certificate.counts]):
        raise CertificateError(f"a part does not have {len(network.head)} counts, one for each class.")
    for (what, _), row, rows in zip(proof.parts, claimed, roots, strict=True):
        size = sum(root.size for root in rows)
        if sum(row) != size:
            raise CertificateError(
                f"part {what} has {as_words(size)} inputs, but its counts sum to {as_words(sum(row))}."
            )
    see_totals(certificate)
    names = [what for what, _ in proof.parts]
    class_counts = None
    if certificate.total >= MANY:
        class_counts = counted_in_words(region, list(proof.order), names)
    if class_counts is None:
        class_counts = counted(region, roots, visit=certificate.total <= _VISITED)
    for what, counts, row in zip(names, class_counts, claimed, strict=True):
        if counts != row:
            raise CertificateError(f"part {what} has {counts} inputs of the classes, not {row}.")
    return f"{certificate.total:,} inputs counted again in {len(claimed)} parts"


# -- the region ----------------------------------------------------------------------------------------------


def _region(asked: Asked, network: Arrays, total: int, limit: Limit) -> CountRegion:
    setting = setting_of(asked, limit)
    if setting.budget is not None and setting.budget < 0:
        raise CertificateError("no input of the region meets the limits.")
    if setting.budget is not None:  # before prices are converted to a unit: options beyond have none
        within = {f: [o for o in row if o.price <= setting.budget] for f, row in setting.options.items()}
        setting = replace(setting, options={f: row for f, row in within.items() if row})
    prices = [option.price for row in setting.options.values() for option in row]
    if _leave_60_bits(prices):
        raise CheckLimitError("not checked within the limit: the costs exceed 60 bits.")
    weights, units = priced(setting, limit)
    size = _size([row for _, row in weights.values()], units, limit)
    if size != total:  # the claim is false, so nothing is computed
        raise CertificateError(f"the region has {as_words(size)} inputs, not {as_words(total)}.")
    problem = array_problem(setting, limit)
    options = dict(zip(weights, problem.features, strict=True))
    states = {feature: sorted(option.order for option in row) for feature, (row, _) in weights.items()}
    return CountRegion(network, problem, options, states, setting.own, limit)


def _leave_60_bits(prices: Sequence[Fraction]) -> bool:
    """Return whether the sum of all prices in a common unit exceeds 60 bits."""
    unit, total = 1, sum(prices, Fraction(0))
    for denominator in {price.denominator for price in prices}:
        unit = lcm(unit, denominator)
        if total * unit >= 2**60:
            return True
    return False


# -- its parts -----------------------------------------------------------------------------------------------


def _roots(region: CountRegion, proof: Partition) -> list[list[CountPart]]:
    """Return the roots of each part, after checking that parts do not overlap and make up the region."""
    names, fixed = see_parts(proof, {f: [region.own[f], *states] for f, states in region.states.items()})
    if fixed is not None:
        rest = [feature for feature in region.options if feature not in set(fixed)]
        return [
            [
                _changed(
                    region,
                    [region.options[f][region.states[f].index(s)] for f, s in name if s != region.own[f]],
                    rest,
                )
            ]
            for name in names
        ]
    order = list(proof.order)
    idle = [feature for feature in region.options if feature not in set(order)]
    roots = [[_changed(region, [], idle)]]
    done = 0
    for name in names[1:]:
        roots.append([])
        for feature in name:
            done += 1
            rest = [*order[done:], *idle]
            roots[-1] += [_changed(region, [option], rest) for option in region.options[feature]]
    return roots


def _changed(region: CountRegion, chosen: Sequence[tuple[int, Ints]], rest: list[int]) -> CountPart:
    """Return the part that is left after some options."""
    base, budget = region.problem.base, region.problem.budget
    region.limit.take(8 * len(base) + 16 * len(rest) + 400, "the parts of a count")
    left = None if budget is None else budget - sum(weight for weight, _ in chosen)
    size = _size([region.weights[feature] for feature in rest], left, region.limit)
    return CountPart(
        base + sum((gain for _, gain in chosen), np.zeros(len(base), np.int64)), rest, left, size
    )


def _size(weights: list[list[int]], left: int | None, limit: Limit) -> int:
    """Return the number of choices of at most one option per feature within the remaining budget."""
    size = sets_of(weights, left, limit, sums=_BUDGETS)
    if size is None:
        raise CertificateError("the costs have too many different sums to count again.")
    return size
