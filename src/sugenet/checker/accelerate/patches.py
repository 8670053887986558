"""Checking a proof by patches: neurons of the last layer in groups, the sign patterns that each group can
have, and bounds that they add up to.

To be ensured: a neuron is settled only if its sum is on one side for the whole box; no sign pattern that
some input has is left out; and every conjunction of the query is closed by a sum that stays below what it
needs, in whole numbers and fractions. Nothing here is shared with the engine but `sugenet.bnn`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, PoolLayer
from sugenet.bnn.boxed import in_box
from sugenet.checker.accelerate.products import Bits, Ints
from sugenet.checker.accelerate.reals import reads, sums_of, unit_of_all
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
from sugenet.errors import CertificateError

__all__ = ["check_patches"]

_TRIPLES = 40  # neurons of a cone up to which three signs are compared
_ROWS = 1 << 16


def check_patches(proof: Patches, network: Network, query: QueryAsked, limit: Limit | None = None) -> str:
    """Check a proof that no input of the query violates its property; say what was checked.

    Raises
    ------
    CertificateError
        If the proof does not show it.
    """
    if len(proof.cases) != len(query.cases):
        raise CertificateError(f"the proof has {len(proof.cases)} cases, the query {len(query.cases)}.")
    whole = limit or Limit(None, None)
    found = [
        _Case(network, case, part, whole.part()).run()
        for case, part in zip(query.cases, proof.cases, strict=True)
    ]
    bounds, patterns, seen, patches = (
        (sum(column) for column in zip(*found, strict=True)) if found else (0, 0, 0, 0)
    )
    ways = sum(len(case.condition) for case in query.cases)
    said = f"{bounds} by bounds, {patterns} by {seen:,} sign patterns of {patches} patches"
    return f"none of {ways} ways to violate the property can occur: {said}"


class _Case:
    """One box of the query, with the part of the proof for it."""

    def __init__(self, network: Network, case: CaseAsked, part: PatchedCase, limit: Limit) -> None:
        boxed = in_box(network, case.lower, case.upper)
        if boxed is None:
            raise CertificateError(
                "the network does not keep real numbers, or the box leaves the values of a feature."
            )
        self.network, self.case, self.part, self.limit = boxed.network.cut, case, part, limit
        self.layer, self.theta, self.grid = boxed.layer, boxed.theta, part.grid
        if not 0 < self.grid * (int(self.layer.sizes.max(initial=0)) + 1) < 1 << 58:
            raise CertificateError(f"the grid {str(self.grid)[:40]} is not an integer that sums fit on.")
        self.lower, self.upper = boxed.lower, boxed.upper
        self.low, self.high = self._edges()
        self.states = self._states()
        self.patches = [list(outs) for outs in part.patches]
        flat = [j for outs in self.patches for j in outs]
        if len(set(flat)) < len(flat) or not all(
            0 <= j < len(self.states[-1]) and self.states[-1][j] == 0 for j in flat
        ):
            raise CertificateError("a patch names a neuron twice, or one that is not open.")
        self._known: dict[tuple[int, int], frozenset[int]] = {}
        self.enumerated: dict[int, tuple[list[int], Bits, npt.NDArray[np.int64]]] = {}
        self.by_bounds = self.by_patterns = self.seen = 0

    @cached_property
    def box(self) -> tuple[Ints, Ints]:
        """The box on the grid, rounded outwards."""
        lower = np.array([floor(value * self.grid) for value in self.lower], np.int64)
        return lower, np.array([ceil(value * self.grid) for value in self.upper], np.int64)

    @cached_property
    def _ends(self) -> tuple[int, list[int], list[int]]:
        """A unit and the box in it: exact, or on the grid where exact numbers are too long."""
        unit = unit_of_all([*self.lower, *self.upper])
        if unit is None:
            return self.grid, self.box[0].tolist(), self.box[1].tolist()
        return unit, [int(value * unit) for value in self.lower], [int(value * unit) for value in self.upper]

    def _edges(self) -> tuple[Ints, Ints]:
        """ThresholdSystem on the grid, rounded apart; those beyond every sum are brought just beyond."""
        most = self.grid * (int(self.layer.sizes.max(initial=0)) + 1)
        low = [min(max(floor(start * self.grid), -most), most) for start, _ in self.theta]
        high = [min(max(ceil(end * self.grid), -most), most) for _, end in self.theta]
        return np.array(low, np.int64), np.array(high, np.int64)

    def _states(self) -> list[npt.NDArray[np.int64]]:
        """+1, -1 or 0 (open) for all neurons of all layers."""
        weights, (lower, upper) = self.layer.weights, self.box
        up, down = np.maximum(weights, 0), np.minimum(weights, 0)
        least = sums_of(self.layer, up, lower) + sums_of(self.layer, down, upper)
        most = sums_of(self.layer, up, upper) + sums_of(self.layer, down, lower)
        states = [np.where(least >= self.high, 1, np.where(most < self.low, -1, 0))]
        for layer in self.network.layers[1:]:
            before = states[-1]
            if isinstance(layer, PoolLayer):
                surely, maybe = layer.activity(before[None] > 0)[0], layer.activity(before[None] >= 0)[0]
                states.append(np.where(surely, 1, np.where(maybe, 0, -1)))
                continue
            middle, reach = (
                sums_of(layer, layer.weights, before),
                sums_of(layer, np.abs(layer.weights), (before == 0).astype(np.int64)),
            )
            # active iff the bipolar sum plus this is 0 or more
            twice = layer.sizes - 2 * np.clip(layer.tau, 0, layer.sizes + 1)
            states.append(
                np.where(middle - reach + twice >= 0, 1, np.where(middle + reach + twice < 0, -1, 0))
            )
        return states

    # -- closures --------------------------------------------------------------------------------------------

    def run(self) -> tuple[int, int, int, int]:
        """Check the closure of every conjunction; how many by bounds and by patterns, and how many patterns
        of how many patches.
        """
        if len(self.part.closures) != len(self.case.condition):
            raise CertificateError(
                f"{len(self.part.closures)} closures for {len(self.case.condition)} conjunctions."
            )
        for conjunction, closure in zip(self.case.condition, self.part.closures, strict=True):
            stack: list[tuple[Any, dict[int, bool]]] = [(closure, {})]
            while stack:
                self.limit.look()
                part, fixed = stack.pop()
                if isinstance(part, BySplit):
                    neuron = part.neuron
                    if neuron >= self.layer.outputs:
                        raise CertificateError(f"there is no neuron {neuron} to split at.")
                    if neuron in fixed:
                        raise CertificateError(f"neuron {neuron} is split twice.")
                    stack += [(part.on, {**fixed, neuron: True}), (part.off, {**fixed, neuron: False})]
                elif isinstance(part, ByImpossible):
                    self._check_impossible(part.shares, fixed)
                else:
                    self._check_bound(conjunction, part, fixed)
            self.by_bounds += isinstance(closure, ByBounds)
            self.by_patterns += not isinstance(closure, ByBounds)
        return self.by_bounds, self.by_patterns, self.seen, len(self.enumerated)

    def _check_impossible(self, shares: Sequence[tuple[int, int]], fixed: Mapping[int, bool]) -> None:
        """The margins of neurons with fixed signs, weighted and added up, stay below what they need."""
        total, needed, strict = [0] * len(self.lower), Fraction(0), False
        for neuron, share in shares:
            if neuron not in fixed:
                raise CertificateError(
                    f"neuron {neuron} has the weight {share} in a case where its sign is not given."
                )
            sign = share if fixed[neuron] else -share
            for i, w in zip(*(part.tolist() for part in reads(self.layer, neuron)), strict=True):
                total[i] += sign * w
            low, high = self.theta[neuron]
            needed += sign * (low if fixed[neuron] else high)
            strict |= sign < 0
        unit, lower, upper = self._ends
        most = sum(
            value * (high if value > 0 else low) for value, low, high in zip(total, lower, upper, strict=True)
        )
        if not (most < needed * unit or (strict and most == needed * unit)):
            raise CertificateError("a case that is said to be impossible is not shown to be.")

    def _check_bound(
        self, conjunction: Sequence[Any], part: ByBounds | ByMultipliers, fixed: Mapping[int, bool]
    ) -> None:
        mix = part.mix
        if len(mix) != len(conjunction):
            raise CertificateError(f"weights {str(mix)[:80]} do not fit {len(conjunction)} inequalities.")
        votes, constant, unit = self._votes(conjunction, mix)
        settled = constant + sum(int(v) * int(s) for v, s in zip(votes, self.states[-1], strict=True) if s)
        patches = self.patches if isinstance(part, ByMultipliers) else []
        covered = {j for outs in patches for j in outs}
        total = settled + sum(
            abs(int(votes[j])) for j in np.flatnonzero(self.states[-1] == 0).tolist() if j not in covered
        )
        shares: dict[int, list[tuple[int, int]]] = {}
        left: dict[int, int] = {}
        for patch, neuron, share in part.shares if isinstance(part, ByMultipliers) else ():
            if patch >= len(patches) or neuron not in self._cone(patch):
                raise CertificateError(
                    f"a multiplier of neuron {neuron} is for patch {patch}, which has none."
                )
            shares.setdefault(patch, []).append((neuron, share * unit))
            left[neuron] = left.get(neuron, 0) - share * unit
        for number in range(len(patches)):
            most = self._most(number, votes, shares.get(number, []), fixed)
            if most is None:  # no pattern agrees with the case
                return
            total += most
        total += sum(
            value * fixed[neuron] if neuron in fixed else max(value, 0) for neuron, value in left.items()
        )
        if total >= 0:
            raise CertificateError("a bound is 0 or more, where it must be below 0.")

    def _votes(self, conjunction: Sequence[Any], mix: Sequence[int]) -> tuple[npt.NDArray[Any], int, int]:
        """The weighted inequalities over the signs of the last layer, and their constant,
        both times a unit.
        """
        head = self.network.head
        factor: dict[int, Fraction] = {}
        constant = Fraction(0)
        for weight, (terms, bound) in zip(mix, conjunction, strict=True):
            constant -= weight * bound
            for k, value in terms:
                factor[k] = factor.get(k, Fraction(0)) + weight * value * head.scale[k]
                constant += weight * value * head.bias[k]
        unit = lcm(constant.denominator, *(value.denominator for value in factor.values()))
        votes = np.zeros(head.inputs, dtype=object)
        for k, share in factor.items():
            votes = votes + int(share * unit) * head.weights[k].astype(object)
        return votes, int(constant * unit), unit

    # -- patterns --------------------------------------------------------------------------------------------

    def _most(
        self,
        number: int,
        votes: npt.NDArray[Any],
        shares: Sequence[tuple[int, int]],
        fixed: Mapping[int, bool],
    ) -> int | None:
        """The most that a patch adds, over its patterns that agree with the case; None where none does."""
        cone, patterns, signs = self._patch(number)
        place = {neuron: k for k, neuron in enumerate(cone)}
        keep = np.ones(len(patterns), bool)
        for neuron in fixed.keys() & place.keys():
            keep &= patterns[:, place[neuron]] == fixed[neuron]
        if not keep.any():
            return None
        own = votes[self.patches[number]]
        size = sum(abs(int(v)) for v in own) + sum(abs(share) for _, share in shares)
        kind: Any = np.int64 if size < 1 << 62 else object
        values = signs[keep].astype(kind) @ own.astype(kind)
        for neuron, share in shares:
            values = values + patterns[keep, place[neuron]].astype(kind) * share
        return int(values.max())

    def _patch(self, number: int) -> tuple[list[int], Bits, npt.NDArray[np.int64]]:
        if number not in self.enumerated:
            self.enumerated[number] = self._enumerate(self.patches[number])
            self.seen += len(self.enumerated[number][1])
        return self.enumerated[number]

    def _cone(self, number: int) -> list[int]:
        """The open first-layer neurons behind a patch."""
        return self._patch(number)[0]

    def _enumerate(self, outs: Sequence[int]) -> tuple[list[int], Bits, npt.NDArray[np.int64]]:
        """The open first-layer neurons behind a patch, the patterns that they can have,
        and what the patch is in each.
        """
        last = len(self.states) - 1
        cone = sorted(set().union(*(self._behind(last, j) for j in outs)))
        patterns = self._patterns(cone)
        self.limit.take(
            len(patterns) * (len(cone) + 8 * (len(cone) + len(outs))), "the sign patterns of a patch"
        )
        memo: dict[tuple[int, int], npt.NDArray[np.int64]] = {
            (0, neuron): np.where(patterns[:, k], 1, -1) for k, neuron in enumerate(cone)
        }
        columns = [self._column(last, j, memo, len(patterns)) for j in outs]
        return (
            cone,
            patterns,
            np.stack(columns, axis=1) if columns else np.zeros((len(patterns), 0), np.int64),
        )

    def _behind(self, layer: int, j: int) -> frozenset[int]:
        if self.states[layer][j]:
            return frozenset()
        if layer == 0:
            return frozenset({j})
        if (layer, j) not in self._known:
            inputs, _ = reads(self.network.layers[layer], j)
            still = inputs[self.states[layer - 1][inputs] == 0].tolist()
            self._known[layer, j] = frozenset().union(*(self._behind(layer - 1, i) for i in still))
        return self._known[layer, j]

    def _column(
        self, layer: int, j: int, memo: dict[tuple[int, int], npt.NDArray[np.int64]], count: int
    ) -> npt.NDArray[np.int64]:
        """-1 or +1 of a neuron in every pattern."""
        if self.states[layer][j]:
            return np.full(count, self.states[layer][j])
        if (layer, j) not in memo:
            part = self.network.layers[layer]
            inputs, weights = reads(part, j)
            before = self.states[layer - 1][inputs]
            total = np.full(count, int(weights @ before) + int(np.abs(weights).sum()) - 2 * int(part.tau[j]))
            for i, w in zip(inputs[before == 0].tolist(), weights[before == 0].tolist(), strict=True):
                if w:
                    total = total + w * self._column(layer - 1, i, memo, count)
            memo[layer, j] = np.where(total >= 0, 1, -1)
        return memo[layer, j]

    def _patterns(self, cone: Sequence[int]) -> Bits:
        """Patterns in which no two and no three signs contradict each other over the box,
        one neuron at a time.
        """
        two, three = self._contradictions(cone)
        held = np.zeros((1, 2 * len(cone)), np.float32)
        for k in range(len(cone)):
            self.limit.look()
            self.limit.fits(48 * len(held) * len(cone), "the sign patterns of a patch")
            parts = []
            for literal in (2 * k, 2 * k + 1):
                clash = held @ two[:, literal]
                if three is not None:
                    clash = clash + ((held @ three[:, :, literal]) * held).sum(axis=1)
                rows = held[clash == 0].copy()
                rows[:, literal] = 1
                parts.append(rows)
            held = np.concatenate(parts)
            if len(held) > _ROWS:
                raise CertificateError("a patch has more sign patterns than can be checked.")
        return held[:, 1::2] > 0

    def _contradictions(
        self, cone: Sequence[int]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32] | None]:
        """Pairs and triples of literals that exclude each other; literal 2k says that neuron k of the cone is
        off, 2k + 1 that it is on.

        Twice the largest sum over a box is its value at twice the middle plus the sizes of its
        coefficients times the widths.
        """
        count = len(cone)
        self.limit.fits(64 * count * len(self.lower) + 32 * count**2, "the neurons of a patch")
        rows = np.zeros((count, len(self.lower)), np.int64)
        for row, neuron in zip(rows, cone, strict=True):
            inputs, weights = reads(self.layer, neuron)
            row[inputs] = weights
        used = np.flatnonzero(rows.any(axis=0))
        rows, lower, upper = rows[:, used], self.box[0][used], self.box[1][used]
        middle, width = rows @ (lower + upper), upper - lower
        # what each literal needs
        edge = np.array([[-self.high[j], self.low[j]] for j in cone], np.int64).reshape(count, 2) * 2
        turn = np.array([-1, 1])
        # by literal: what is left of the margin at the middle
        rest = (middle[:, None] * turn - edge).reshape(-1)
        signed = (rows[:, None, :] * turn[None, :, None]).reshape(2 * count, -1)
        strict = np.tile([True, False], count)
        two = np.zeros((2 * count, 2 * count), np.float32)
        three = np.zeros((2 * count,) * 3, np.float32) if count <= _TRIPLES else None
        for a in range(2 * count):
            self.limit.look()
            pair = signed[a] + signed
            most = rest[a] + rest + np.abs(pair) @ width
            two[a] = (most < 0) | ((most == 0) & (strict[a] | strict))
            two[a, a // 2 * 2 : a // 2 * 2 + 2] = 0
            for b in range(a + 1, 2 * count) if three is not None else ():
                assert three is not None
                most = rest[a] + rest[b] + rest + np.abs(pair[b] + signed) @ width
                row = (most < 0) | ((most == 0) & (strict[a] | strict[b] | strict))
                for same in (a, b):
                    row[same // 2 * 2 : same // 2 * 2 + 2] = False
                three[a, b] = row if a // 2 != b // 2 else False
        return two, three
