"""Counting once more, for the checker: nothing here is shared with the engines but the
definition (`sugenet.bnn`).

The parts of a certificate must make up the region. Each is counted again by visiting its combinations one by
one in plain loops, and taking every different pattern of the first layer through the later layers as the
definition says; or, where there are too many, by adding feature after feature and putting
equal sums together.
"""
# mypy: disable-error-code="no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from sugenet.bnn import DenseLayer, Network
from sugenet.bnn.arrays import Ints
from sugenet.checker.form import (
    _fields,
    _limits,
    _list,
    _place,
    _sample,
    check_outside,
    check_proof_form,
    exact,
)
from sugenet.checker.form import _region as _check_region
from sugenet.checker.limit import MEMORY, SECONDS, Limit
from sugenet.checker.sets import as_words, sets_of
from sugenet.checker.setting import Option, Plain, Setting, plain_of, raw, scores, setting_of, weights_of
from sugenet.errors import CertificateError

__all__ = ["check_count", "recount"]

_VISITED = 1 << 30  # combinations that are visited one by one
_FEW = 1 << 16  # combinations for which nothing else is tried
_SUMS = 1 << 17  # different sums
_CHUNK = 1 << 16  # combinations that are visited at a time
_CELLS = 1 << 21  # neurons of all of them
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
        return recount(certificate, network, Limit(time_limit, memory_limit), parts, seed)
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as error:
        raise CertificateError(f"the certificate is damaged: {type(error).__name__}: {error}") from error


def recount(
    certificate: dict[str, Any], network: Network, limit: Limit, parts: int | None = None, seed: int = 0
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
    _check_form(certificate["question"], network)
    check_outside(certificate, "count")
    proof = certificate["proof"]
    check_proof_form(proof)
    if certificate["method"] not in ("constant", "sums", "walk"):
        raise CertificateError(f"unknown method {str(certificate['method'])[:40]!r}.")
    region = _region(certificate["question"], network, _whole(certificate["total"]), limit)
    roots = _roots(region, proof)
    claimed = [[_whole(many) for many in row] for _, row in proof["parts"]]
    if any(
        len(row) != network.head.outputs
        for row in [*claimed, [_whole(many) for many in certificate["counts"]]]
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
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        found = list(
            pool.map(
                lambda number: _recount(region, roots[number], visit=size <= _VISITED, share=threads), chosen
            )
        )
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


def _check_form(question: dict[str, Any], network: Network) -> None:
    """See that a question has the fields of a count and no others,
    which could narrow the region without anybody noticing.
    """
    _fields(question, {"sample": _sample, "region": _check_region, "where": _limits}, "the question count")
    _limits(question["where"], network)
    region = question["region"]
    if question["sample"] is None:
        if region is not None:
            raise CertificateError("there is a region, but no sample that it is around.")
        return
    _sample(question["sample"], network)
    if region["kind"] != "Moves":
        _check_region(region, network)
        return
    _fields(region, {"moves": _limits, "budget": _limits}, "the region Moves")
    for row in _list(region["moves"], "moves"):
        if len(_list(row, "a move")) != 4:
            raise CertificateError("a move is a feature, a state, a value and a weight.")
        _place(row[0], network.encoder.features, "a feature")
        _place(row[1], network.encoder.codings[row[0]].states, "a state")
        _whole(row[3])
    if region["budget"] is not None:
        exact(_whole(region["budget"]))


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CertificateError(f"a count is {value!r}, but must be a whole number.")
    return value


# -- the region ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Region:
    """What the question asks about, in whole numbers; features in order of their numbers."""

    network: Network
    plain: Plain
    features: list[int]
    states: list[list[int]]
    """The states of the options of each feature."""
    own: dict[int, int]
    """The states at the sample."""
    limit: Limit

    @cached_property
    def rows(self) -> dict[int, tuple[Ints, Ints]]:
        """For each feature the weights and the gains of its options."""
        width = len(self.plain.base)
        found = {}
        for feature, row in zip(self.features, self.plain.features, strict=True):
            gains = np.array([gain for _, gain in row], np.int64).reshape(len(row), width)
            found[feature] = np.array([weight for weight, _ in row], np.int64), gains
        return found

    @cached_property
    def place(self) -> dict[int, int]:
        """Where each feature stands."""
        return {feature: place for place, feature in enumerate(self.features)}

    def options(self, feature: int) -> list[tuple[int, Ints]]:
        """Weight and gain of each option."""
        return self.plain.features[self.place[feature]]


@dataclass(frozen=True, eq=False)
class _Root:
    """A part of a region: M - tau to begin with, the features that may still change,
    and what is left of the budget.
    """

    base: Ints
    rest: list[int]
    left: int | None
    size: int
    """How many inputs it has."""


def _region(question: dict[str, Any], network: Network, total: int, limit: Limit) -> _Region:
    codings = network.encoder.codings
    boxed = setting_of({"kind": "always", "label": 0, "where": question["where"]}, network, None, limit)
    inside = [{codings[f].state(boxed.samples[0][f]): boxed.samples[0][f]} for f in range(len(codings))]
    for feature, row in boxed.options.items():
        inside[feature] |= {codings[feature].state(option.values[0]): option.values[0] for option in row}
    options: dict[int, list[Option]]
    if question["sample"] is None:
        sample, budget = list(boxed.samples[0]), None
        own = [coding.state(value) for coding, value in zip(codings, sample, strict=True)]
        options = {
            f: [Option(s, (v,), Fraction(0)) for s, v in states.items() if s != own[f]]
            for f, states in enumerate(inside)
        }
    else:
        sample, options, budget = _around(question, network, limit)
        named = {int(f) for f, _ in question["where"]}
        options = {
            f: [o for o in row if f not in named or o.order in inside[f]] for f, row in options.items()
        }
        for feature in sorted(named):
            if codings[feature].state(sample[feature]) in inside[feature]:
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
    unit = 1
    for divisor in {price.denominator for price in prices}:
        unit = lcm(unit, divisor)
        if unit.bit_length() > 1 << 14:
            raise CertificateError("the costs are too finely divided to count again.")
    if sum(prices, Fraction(0)) * unit >= 2**60:
        raise CertificateError("the costs are too finely divided to count again.")
    setting = Setting((network,), (tuple(sample),), tuple(own), options, budget, [])
    if (
        size := _size(*weights_of(setting, limit), limit)
    ) != total:  # nothing is measured for a claim that cannot hold
        raise CertificateError(f"the region has {as_words(size)} inputs, not {as_words(total)}.")
    plain = plain_of(setting, limit)
    limit.take(8 * len(plain.base) * len(prices), "what each change adds to the neurons")
    return _Region(
        network,
        plain,
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
        found = scores(network, sample)
        asked = {"kind": "robust", "label": found.index(max(found)), "target": None, "ties": "lowest"}
        setting = setting_of({**asked, "sample": question["sample"], "region": region}, network, None, limit)
        return sample, setting.options, setting.budget
    options: dict[int, list[Option]] = {}
    for feature, state, value, weight in region["moves"]:
        limit.take(500, "all changes of a count")
        exact = raw(network, [*question["sample"][:feature], value, *question["sample"][feature + 1 :]])[
            feature
        ]
        here = network.encoder.codings[feature].state(exact)
        taken = {
            network.encoder.codings[feature].state(sample[feature]),
            *(option.order for option in options.get(feature, [])),
        }
        if here != state or state in taken or _whole(weight) != weight:
            raise CertificateError(
                f"the change of feature {feature} to {value} is not what it says, or is there twice."
            )
        options.setdefault(int(feature), []).append(Option(state, (exact,), Fraction(weight)))
    return sample, options, None if region["budget"] is None else Fraction(region["budget"])


def _roots(region: _Region, proof: dict[str, Any]) -> list[list[_Root]]:
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


def _by_states(region: _Region, names: list[Any]) -> list[list[_Root]]:
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


def _changed(region: _Region, chosen: Sequence[tuple[int, Ints]], rest: list[int]) -> _Root:
    """What is left after some options."""
    base, budget = region.plain.base, region.plain.budget
    region.limit.take(8 * len(base) + 16 * len(rest) + 400, "the parts of a count")
    left = None if budget is None else budget - sum(weight for weight, _ in chosen)
    size = _size([region.rows[feature][0].tolist() for feature in rest], left, region.limit)
    return _Root(base + sum((gain for _, gain in chosen), np.zeros(len(base), np.int64)), rest, left, size)


def _size(weights: list[list[int]], left: int | None, limit: Limit) -> int:
    """How many choices of at most one option a feature there are, with what is left of the budget."""
    size = sets_of(weights, left, limit, sums=_BUDGETS)
    if size is None:
        raise CertificateError("the costs have too many different sums to count again.")
    return size


# -- counting ------------------------------------------------------------------------------------------------


def _recount(region: _Region, roots: list[_Root], *, visit: bool, share: int) -> list[int]:
    counts = [0] * region.network.head.outputs
    for root in roots:
        region.limit.look()
        if root.size == 0:
            continue
        found = _by_sums(region, root, share) if root.size > _FEW else None
        if found is None:
            if not visit:
                raise CertificateError(
                    f"{root.size:,} inputs of one part are too many to count again, and have too many "
                    "different sums. Count some parts: check_count(certificate, network, parts=2)."
                )
            found = _by_visits(region, root)
        counts = [a + b for a, b in zip(counts, found, strict=True)]
    return counts


def _classes(region: _Region, active: npt.NDArray[np.bool_], many: Sequence[int]) -> list[int]:
    """Counts by class of patterns of the first layer, each with how many it stands for."""
    values = active
    for layer in region.plain.behind:
        if isinstance(layer, tuple | DenseLayer):
            weights, tau = layer if isinstance(layer, tuple) else (layer.weights, layer.tau)
            values = np.asarray(_sums(values, weights) - np.minimum(weights, 0).sum(axis=1) >= tau)
        else:  # a convolution stays one
            region.limit.look()
            values = np.concatenate(
                [layer.activity(values[k : k + 64]) for k in range(0, max(1, len(values)), 64)]
            )
    held = _sums(values, region.plain.head) - np.minimum(region.plain.head, 0).sum(axis=1)
    counts = [0] * region.network.head.outputs
    for label, each in zip(region.network.head.classes(held).tolist(), many, strict=True):
        counts[label] += int(each)
    return counts


def _sums(values: npt.NDArray[np.bool_], weights: Ints) -> Ints:
    """Sums of weights over true values; floats below 2^24 are exact."""
    if int(np.abs(weights).sum(axis=1).max(initial=0)) < 1 << 24:
        return np.asarray((values.astype(np.float32) @ weights.T.astype(np.float32)).astype(np.int64))
    return np.asarray(values.astype(np.int64) @ weights.T)


def _by_sums(region: _Region, root: _Root, share: int) -> list[int] | None:
    """Feature after feature, with equal sums put together; None where there are too many different ones."""
    rows, used, many = root.base[None].copy(), np.zeros(1, np.int64), [1]
    far = [np.abs([gain for _, gain in region.options(f)]).max(axis=0) for f in root.rest]
    after = sum(far, np.zeros(len(root.base), np.int64))
    for feature, most in zip(root.rest, far, strict=True):
        after = after - most
        region.limit.look()
        room = region.limit.room()
        if (
            room is not None
            and 48 * (len(root.base) + 4) * len(rows) * (len(region.options(feature)) + 1) > room // share
        ):
            return None
        grown, spent, times = [rows], [used], list(many)
        for weight, gain in region.options(feature):
            fits = np.ones(len(rows), bool) if root.left is None else used + weight <= root.left
            grown.append(rows[fits] + gain)
            spent.append(used[fits] + (0 if root.left is None else weight))
            times += [value for value, good in zip(many, fits.tolist(), strict=True) if good]
        rows, used = np.clip(np.concatenate(grown), -1 - after, after), np.concatenate(spent)
        both, where = np.unique(np.column_stack([rows, used]), axis=0, return_inverse=True)
        many = [0] * len(both)
        for place, value in zip(where.reshape(-1).tolist(), times, strict=True):
            many[place] += value
        rows, used = both[:, :-1], both[:, -1]
        if len(rows) > _SUMS or 64 * len(rows) > root.size:
            return None
    return _classes(region, rows >= 0, many)


def _by_visits(region: _Region, root: _Root) -> list[int]:
    """Every combination one by one."""
    tables = [region.rows[feature] for feature in root.rest]
    weights = np.concatenate([np.zeros(0, np.int64), *(row for row, _ in tables)])
    gains = np.concatenate([np.zeros((0, len(root.base)), np.int64), *(row for _, row in tables)])
    sizes = [len(row) for row, _ in tables]
    behind = np.repeat(np.cumsum(sizes), sizes).astype(np.int64) if sizes else np.zeros(0, np.int64)
    left = int(weights.sum()) if root.left is None else min(root.left, int(weights.sum()))
    lightest = np.append(np.minimum.accumulate(weights[::-1])[::-1], 2**62)
    small = int(np.abs(root.base).max(initial=0)) + int(np.abs(gains).sum(axis=0).max(initial=0)) < 1 << 15
    kind = np.int16 if small else np.int64
    words = max(1, -(-len(root.base) // 64))
    base, gains = root.base.astype(kind), gains.astype(kind)
    chosen, state = np.full(len(sizes) + 1, -1, np.int64), np.array([0], np.int64)
    chunk = np.zeros((max(64, min(_CHUNK, _CELLS // max(1, len(root.base)))), words), np.uint64)
    counts = [0] * region.network.head.outputs
    while state[0] >= 0:
        region.limit.look()
        size = _visit(state, chosen, base, gains, weights, behind, lightest, left, chunk)
        keys = (
            chunk[:size, 0]
            if words == 1
            else np.ascontiguousarray(chunk[:size]).view(f"V{8 * words}").reshape(-1)
        )
        found, many = np.unique(keys, return_counts=True)
        rows = np.ascontiguousarray(found).view(np.uint64).reshape(len(found), words)
        bits = np.unpackbits(rows.astype("<u8").view(np.uint8), axis=1, bitorder="little")[
            :, : len(root.base)
        ].astype(bool)
        counts = [a + b for a, b in zip(counts, _classes(region, bits, many.tolist()), strict=True)]
    return counts


@nb.njit(nogil=True, cache=True)
def _visit(state, chosen, base, gains, weights, behind, lightest, left, chunk):  # type: ignore[no-untyped-def]
    """Write down the active neurons of every set of options, depth first from where `state` and `chosen` are,
    until the chunk is full.

    ``state[0]`` is the depth, -1 at the end; ``chosen[d]`` the option tried last at depth d.
    """
    neurons, depth, size = len(base), state[0], 0
    sums = np.zeros((len(chosen) + 1, neurons), base.dtype)
    spent = np.zeros(len(chosen) + 1, np.int64)
    sums[0] = base
    for d in range(depth):
        sums[d + 1] = sums[d] + gains[chosen[d]]
        spent[d + 1] = spent[d] + weights[chosen[d]]
    if depth == 0 and chosen[0] == -1:
        chunk[0] = 0
        for j in range(neurons):
            chunk[0, j >> 6] |= nb.uint64(base[j] >= 0) << nb.uint64(j & 63)
        size = 1
    while depth >= 0:
        k = chosen[depth] + 1
        while k < len(weights) and spent[depth] + weights[k] > left:
            k = len(weights) if spent[depth] + lightest[k] > left else k + 1
        if k >= len(weights):
            depth -= 1
            continue
        if size == len(chunk):
            state[0] = depth
            return size
        chosen[depth] = k
        for j in range(neurons):
            sums[depth + 1, j] = sums[depth, j] + gains[k, j]
        for w in range(chunk.shape[1]):
            key = nb.uint64(0)
            for j in range(64 * w, min(64 * w + 64, neurons)):
                key |= nb.uint64(sums[depth + 1, j] >= 0) << nb.uint64(j & 63)
            chunk[size, w] = key
        size += 1
        if spent[depth] + weights[k] + lightest[behind[k]] <= left:
            spent[depth + 1] = spent[depth] + weights[k]
            depth += 1
            chosen[depth] = behind[k] - 1
    state[0] = -1
    return size
