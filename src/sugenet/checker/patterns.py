"""Sign patterns over boxes of real numbers in plain form: no input of a box violates a query.

To be ensured: a neuron is settled only if its sum is on one side of the threshold for the whole box. No sign
pattern of any input is missing. Every conjunction of the query is closed by a sum that stays below its bound.
The neurons of the last layer are grouped in *patches*. The *cone* of a patch consists of the open neurons of
the first layer that it depends on.

Let v be the weights of the signs h of the last layer in a weighted sum of inequalities. A violation requires
that this sum is 0 or more. For any shares lambda of (patch, neuron of its cone), no input exceeds

    v h over settled neurons + sum of |v| over open ones outside patches
    + sum over patches of max over patterns (v h + sum of lambda of active neurons)
    + sum over neurons of max (0, - sum of lambda)

since each share is added for a patch and subtracted again. A wrong share proves less, never something false.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any, TypeAlias

from sugenet.checker.form import (
    ByBounds,
    ByImpossible,
    ByMultipliers,
    BySplit,
    CaseAsked,
    PatchedCase,
    Patches,
    QueryAsked,
)
from sugenet.checker.limit import Limit
from sugenet.checker.network import NetworkForm, RealNumbers, Summed
from sugenet.checker.problem import later_rows
from sugenet.errors import CertificateError

__all__ = ["check_patterns"]

_TRIPLES = 40
"""Largest number of neurons of a cone for which triples of signs are compared."""
_MOST = 1 << 16
"""Largest number of patterns of a patch."""
_LONGEST = 1 << 14
"""Largest number of bits of a common denominator."""
_Fixed: TypeAlias = Mapping[int, bool]
"""Signs of neurons of the first layer in a case."""
_Pattern: TypeAlias = tuple[dict[int, bool], dict[int, bool]]
"""The signs of a cone, and of the open neurons of its patch."""


def check_patterns(proof: Patches, network: NetworkForm, query: QueryAsked, limit: Limit) -> str:
    """Check that no input of a query violates its property."""
    if len(proof.cases) != len(query.cases):
        raise CertificateError(f"the proof has {len(proof.cases)} cases, the query {len(query.cases)}.")
    seen = 0
    for case, part in zip(query.cases, proof.cases, strict=True):
        box = _Box(network, case, part, limit.part())
        box.check()
        seen += sum(len(patterns) for _, patterns in box.known.values())
    ways = sum(len(case.condition) for case in query.cases)
    return (
        f"none of {ways} ways to violate the property can occur, by {seen:,} sign patterns of patches "
        "(plain form)"
    )


class _Box:
    """One box of the query, with its part of the proof."""

    def __init__(self, network: NetworkForm, case: CaseAsked, part: PatchedCase, limit: Limit) -> None:
        self.head, self.case, self.part, self.limit = network.head, case, part, limit
        for coding, low, high in zip(network.codings, case.lower, case.upper, strict=True):
            if not isinstance(coding, RealNumbers) or low < coding.low or high > coding.high:
                raise CertificateError(
                    "the network does not read real numbers, or the box exceeds the values of a feature."
                )
        if part.grid < 1:
            raise CertificateError("the grid is not an integer above 0.")
        unit = 1
        for end in (*case.lower, *case.upper):
            unit = lcm(unit, Fraction(end).denominator) if unit.bit_length() <= _LONGEST else unit
        unit = unit if unit.bit_length() <= _LONGEST else part.grid
        pairs = zip(case.lower, case.upper, strict=True)
        self.ends = [(floor(low * unit), ceil(high * unit)) for low, high in pairs]
        """The box in such units, exact or rounded outwards."""
        self.first: list[tuple[dict[int, int], tuple[Fraction, Fraction]]] = []
        for neuron in network.layers[0].neurons:
            assert isinstance(neuron, Summed)
            low, high = neuron.thresholds[0]
            weights = dict(zip(neuron.inputs, neuron.weights, strict=True))
            self.first.append((weights, (low * unit, high * unit)))
        self.rows, self.last = later_rows(network.layers)
        self.states: list[list[bool | None]] = [[self._settled(j) for j in range(len(self.first))]]
        """For each neuron of each layer whether it is active; None if it is open."""
        for rows in self.rows:
            self.states.append([_settled_row(*row, self.states[-1]) for row in rows])
        named = [j for outs in part.patches for j in outs]
        if len(set(named)) < len(named) or max(named, default=0) >= len(self.last):
            raise CertificateError("a patch names a neuron twice, or one that is not there.")
        self.known: dict[int, tuple[list[int], list[_Pattern]]] = {}
        """Cones of patches, and their patterns."""

    def _never(self, signs: Iterable[tuple[int, bool, int]]) -> bool:
        """Return whether no input of the box gives first-layer neurons these signs.

        This is so if the weighted sum of their margins stays below 0.
        """
        total, needed, is_strict = dict[int, int](), Fraction(0), False
        for neuron, on, share in signs:
            weights, (low, high) = self.first[neuron]
            factor = share if on else -share
            needed += factor * (low if on else high)
            is_strict |= factor < 0  # off means below the threshold
            for i, weight in weights.items():
                total[i] = total.get(i, 0) + factor * weight
        max_sum = sum(value * self.ends[i][value > 0] for i, value in total.items())
        return max_sum < needed or (is_strict and max_sum == needed)

    def _settled(self, j: int) -> bool | None:
        return True if self._never([(j, False, 1)]) else False if self._never([(j, True, 1)]) else None

    # -- closures --------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check the closure of every conjunction."""
        if len(self.part.closures) != len(self.case.condition):
            raise CertificateError(
                f"{len(self.part.closures)} closures for {len(self.case.condition)} conjunctions."
            )
        for conjunction, closure in zip(self.case.condition, self.part.closures, strict=True):
            waiting: list[tuple[Any, _Fixed]] = [(closure, {})]
            while waiting:
                self.limit.look()
                part, fixed = waiting.pop()
                if isinstance(part, BySplit):
                    if part.neuron >= len(self.first) or part.neuron in fixed:
                        raise CertificateError(f"neuron {part.neuron} is split twice, or is not there.")
                    sides = ((part.on, True), (part.off, False))
                    waiting += [(child, {**fixed, part.neuron: on}) for child, on in sides]
                elif isinstance(part, ByImpossible):
                    if not all(neuron in fixed for neuron, _ in part.shares):
                        raise CertificateError("a neuron has a weight in a case without its sign.")
                    if not self._never((neuron, fixed[neuron], share) for neuron, share in part.shares):
                        raise CertificateError("a case is not shown to be impossible.")
                else:
                    bound = self._bound(conjunction, part, fixed)
                    if bound is not None and bound >= 0:
                        raise CertificateError("a bound is 0 or more, but must be below 0.")

    def _bound(
        self, conjunction: Sequence[Any], part: ByBounds | ByMultipliers, fixed: _Fixed
    ) -> Fraction | None:
        """Return an upper bound on a weighted sum of the inequalities of a conjunction, over the inputs of a
        case.

        Return None if no input has the signs of the case.
        """
        if len(part.mix) != len(conjunction):
            raise CertificateError(f"{len(part.mix)} weights for {len(conjunction)} inequalities.")
        if any(self.states[0][neuron] is (not on) for neuron, on in fixed.items()):
            return None
        votes, total, unit = self._votes(conjunction, part.mix)
        patches = self.part.patches if isinstance(part, ByMultipliers) else ()
        covered = {j for outs in patches for j in outs}
        for j, (vote, on) in enumerate(zip(votes, self.states[-1], strict=True)):
            if on is not None:
                total += vote if on else -vote
            elif j not in covered:
                total += abs(vote)
        shares, left = self._shares(part.shares if isinstance(part, ByMultipliers) else (), len(patches))
        for patch, patch_shares in enumerate(shares):
            values = [
                sum(votes[j] if on else -votes[j] for j, on in outs.items())
                + unit * sum(share for neuron, share in patch_shares.items() if first[neuron])
                for first, outs in self._patterns(patch)[1]
                if all(first.get(neuron, on) == on for neuron, on in fixed.items())
            ]
            if not values:  # no pattern agrees with the case
                return None
            total += max(values)
        total += unit * sum(value * fixed[n] if n in fixed else max(value, 0) for n, value in left.items())
        return Fraction(total, unit)

    def _shares(
        self, multipliers: Iterable[tuple[int, int, int]], patches: int
    ) -> tuple[list[Counter[int]], Counter[int]]:
        """Return the amounts that multipliers add to neurons in each patch, and those
        subtracted in return.
        """
        shares, left = [Counter[int]() for _ in range(patches)], Counter[int]()
        for patch, neuron, share in multipliers:
            if patch >= patches or neuron >= len(self.first):
                raise CertificateError(f"neuron {neuron} or patch {patch} of a multiplier is not there.")
            if self.states[0][neuron] is not None:  # the amount added for the patch is subtracted again
                continue
            if neuron not in self._patterns(patch)[0]:
                raise CertificateError(f"neuron {neuron} has a multiplier of patch {patch}, not in its cone.")
            shares[patch][neuron] += share
            left[neuron] -= share
        return shares, left

    def _votes(self, conjunction: Sequence[Any], mix: Sequence[int]) -> tuple[list[int], int, int]:
        """Return weighted inequalities over the signs of the last layer, and their constant, both times a
        unit.
        """
        head, constant = self.head, Fraction(0)
        factors = [Fraction(0)] * head.outputs
        for weight, (terms, bound) in zip(mix, conjunction, strict=True):
            constant -= weight * bound
            for k, value in terms:
                factors[k] += weight * value * head.scale[k]
                constant += weight * value * head.bias[k]
        unit = lcm(constant.denominator, *(factor.denominator for factor in factors))
        some = [
            (int(factor * unit), row) for factor, row in zip(factors, head.weights, strict=True) if factor
        ]
        votes = [sum(factor * row[j] for factor, row in some) for j, _ in self.last]
        return votes, int(constant * unit), unit

    # -- patterns --------------------------------------------------------------------------------------------

    def _patterns(self, patch: int) -> tuple[list[int], list[_Pattern]]:
        """Return the cone of a patch, and its patterns in which no two and no three signs contradict each
        other.
        """
        if patch in self.known:
            return self.known[patch]
        outs = [j for j in self.part.patches[patch] if self.states[-1][j] is None]
        memo: dict[tuple[int, int], set[int]] = {}
        cone = sorted(set[int]().union(*(self._behind(len(self.rows), j, memo) for j in outs)))
        patterns = [0]  # literal 2 k means that neuron k of the cone is off, 2 k + 1 that it is on
        for literal in range(2 * len(cone)):
            if literal % 2 == 0:
                before, patterns = patterns, []
            pairs = self._clashing(cone, [literal], literal // 2, 0)
            triples: dict[int, int] = {}
            for pattern in before:
                self.limit.look()
                if pattern & pairs:
                    continue
                for other in range(literal // 2 * 2 if len(cone) <= _TRIPLES else 0):
                    if pattern >> other & 1:
                        if other not in triples:
                            triples[other] = self._clashing(cone, [literal, other], other // 2, pairs)
                        if pattern & triples[other]:
                            break
                else:
                    patterns.append(pattern | 1 << literal)
            if len(patterns) > _MOST:
                raise CertificateError("a patch has more sign patterns than can be checked.")
        self.limit.take(200 * len(patterns) * (1 + len(cone) + len(outs)), "the sign patterns of a patch")
        listed: list[_Pattern] = []
        for pattern in patterns:
            self.limit.look()
            first = {neuron: bool(pattern >> 2 * k + 1 & 1) for k, neuron in enumerate(cone)}
            signs: dict[tuple[int, int], bool] = {(0, neuron): on for neuron, on in first.items()}
            listed.append((first, {j: self._is_on(len(self.rows), j, signs) for j in outs}))
        self.known[patch] = cone, listed
        return self.known[patch]

    def _clashing(self, cone: Sequence[int], literals: Sequence[int], count: int, known: int) -> int:
        """Return the literals of the first neurons of a cone that contradict some literals together, as bits.

        Literals in `known` already contradict one of them and are skipped.
        """
        signs = [(cone[literal // 2], literal % 2 == 1, 1) for literal in literals]
        others = ((other, (cone[other // 2], other % 2 == 1, 1)) for other in range(2 * count))
        return sum(1 << k for k, sign in others if not known >> k & 1 and self._never([*signs, sign]))

    def _behind(self, layer: int, j: int, memo: dict[tuple[int, int], set[int]]) -> set[int]:
        """Return the open neurons of the first layer that a neuron depends on."""
        if self.states[layer][j] is not None:
            return set()
        if layer == 0:
            return {j}
        if (layer, j) not in memo:
            inputs = self.rows[layer - 1][j][0]
            memo[layer, j] = set[int]().union(*(self._behind(layer - 1, i, memo) for i in inputs))
        return memo[layer, j]

    def _is_on(self, layer: int, j: int, memo: dict[tuple[int, int], bool]) -> bool:
        """Return whether a neuron is active in a pattern."""
        known = self.states[layer][j]
        if known is not None:
            return known
        if (layer, j) not in memo:
            weights, threshold = self.rows[layer - 1][j]
            total = sum(w for i, w in weights.items() if self._is_on(layer - 1, i, memo))
            memo[layer, j] = total >= threshold
        return memo[layer, j]


def _settled_row(weights: dict[int, int], threshold: int, before: Sequence[bool | None]) -> bool | None:
    """Return whether a later neuron is active, if the settled neurons before it decide that."""
    here = sum(w for i, w in weights.items() if before[i])
    loose = [w for i, w in weights.items() if before[i] is None]
    if here + sum(w for w in loose if w < 0) >= threshold:
        return True
    return False if here + sum(w for w in loose if w > 0) < threshold else None
