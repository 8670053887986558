"""The vector instructions of the walks by blocks, against counting."""

import numba as nb
import numpy as np
import pytest

from sugenet.engines.walk import adders
from sugenet.engines.walk.adders import (
    BLOCK,
    SLOT,
    add_fours,
    add_up,
    apart_of,
    fours,
    reached_by,
    signs,
    sure_of_any,
    sure_of_near,
    sure_of_whole,
)

SETS = 64 * BLOCK


def words(bits):
    """Rows of truth values as words, the first in the lowest bit."""
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 64)))
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def slots(bits):
    """The planes of inputs, as walks have them: each, its complement, and zeros."""
    planes = words(bits)
    return np.concatenate([planes, ~planes, np.zeros_like(planes)], axis=1).reshape(-1)


@nb.njit
def few(groups, table, bytes_, q, least, valid, out):
    return add_fours(table, bytes_, q, 64, groups, least, valid, out, 0)


@nb.njit
def tables(groups, columns, inputs, planes, table, bytes_):
    for t in range(0, 4 * groups, 8):
        signs(columns, 0, inputs, t, 1, bytes_, 8 * t)
    for t in range(groups):
        fours(planes, 4 * t, table, 48 * BLOCK * t)


@pytest.mark.parametrize("groups", [*range(1, 11), 33])
def test_sums_of_fours(groups):
    rng = np.random.default_rng(groups)
    many = 4 * groups
    bits = rng.random((many, SETS)) < rng.random((many, 1))
    weights = rng.choice([-1, 1], (64, many))  # one column an input, one row a neuron
    inputs = np.arange(many + 8)
    columns = np.append(words(np.ascontiguousarray(weights.T > 0)).reshape(-1), np.zeros(8, np.uint64))
    table, bytes_ = np.zeros(48 * BLOCK * groups, np.uint64), np.zeros(64 * (groups + 2), np.uint8)
    tables(groups, columns, inputs, slots(bits), table, bytes_)
    out = np.zeros(3 * BLOCK, np.uint64)
    for q in (0, 1, 31, 63):
        sums = np.where(weights[q][:, None] > 0, bits, ~bits).sum(axis=0)
        for least in {1, 2, many // 2, many - 1, many, int(np.median(sums))} - {0}:
            inside = rng.random(SETS) < 0.5
            met = sums >= least
            found = few(groups, table, bytes_, q, least, words(inside[None])[0], out)
            assert (out[:BLOCK] == words(met[None])[0]).all()
            assert (out[BLOCK : 2 * BLOCK] == words(~met[None])[0]).all()
            assert found == (0 if not met[inside].any() else 1 if met[inside].all() else 2)


@nb.njit
def apart(planes, inputs, many, valid, out):
    return apart_of(planes, inputs, 0, many, valid, out)


@pytest.mark.parametrize("many", [1, 2, 31, 32, adders.APART])
def test_how_far_sets_are_apart(many):
    rng = np.random.default_rng(many)
    bits = rng.random((many, SETS)) < rng.random((many, 1))
    inside = rng.random(SETS) < 0.7
    inputs = rng.permutation(130)[:many]
    out = np.zeros(2 + 3, np.int64)
    found = apart(slots(bits), inputs, many, words(inside[None])[0], out)
    most = 2 * bits[:, inside].sum(axis=1) > inside.sum()
    like = np.zeros((1, 192), bool)
    like[0, inputs] = most
    assert (out[2:].view(np.uint64) == words(like)[0]).all()
    assert found == (bits[:, inside] != most[:, None]).sum(axis=0).max()


@nb.njit
def added(inputs, kinds, many, least, valid, planes, where):
    return add_up(inputs, 0, kinds, 0, many, least, valid, planes, where)


@pytest.mark.parametrize("many", [4, 16, 64, 68, 2000, 4000])
def test_sums_of_planes(many):
    rng = np.random.default_rng(many)
    bits = rng.random((many, SETS)) < 0.5
    kinds = rng.integers(0, 3, many).astype(np.uint8)
    planes = np.append(slots(bits), np.zeros(SLOT, np.uint64))
    sums = np.where(kinds[:, None] == 0, bits, (kinds[:, None] == 1) & ~bits).sum(axis=0)
    for least in {1, int(np.median(sums)), int(sums.max()), int(sums.max()) + 1} - {0}:
        inside = rng.random(SETS) < 0.5
        met = sums >= least
        found = added(np.arange(many), kinds, many, least, words(inside[None])[0], planes, many * SLOT)
        assert (planes[many * SLOT :][:BLOCK] == words(met[None])[0]).all()
        assert (planes[many * SLOT :][BLOCK : 2 * BLOCK] == words(~met[None])[0]).all()
        assert found == (0 if not met[inside].any() else 1 if met[inside].all() else 2)


@nb.njit
def needed(adds, need, valid, planes):
    return reached_by(adds, 0, need, valid, planes, 0)


@pytest.mark.parametrize("kind", [np.int8, np.int32])
def test_what_pieces_add(kind):
    rng = np.random.default_rng(3)
    ends = np.iinfo(kind)
    adds = rng.integers(ends.min, ends.max, SETS, dtype=kind, endpoint=True)
    adds[:2], planes = (ends.min, ends.max), np.zeros(SLOT, np.uint64)
    for need in (ends.min, ends.min + 1, 0, int(np.median(adds)), ends.max):
        inside = rng.random(SETS) < 0.5
        met = adds >= need
        found = needed(adds, need, words(inside[None])[0], planes)
        assert (planes[:BLOCK] == words(met[None])[0]).all()
        assert (planes[BLOCK : 2 * BLOCK] == words(~met[None])[0]).all()
        assert found == (0 if not met[inside].any() else 1 if met[inside].all() else 2)


@nb.njit
def looked(kind, positive, negative, many, on, open_, tau, left, far):
    if kind == 0:
        return sure_of_any(positive, negative, 0, 64, many, on, 0, open_, 0, tau, 0, left, far)
    if kind == 1:
        return sure_of_whole(positive, negative, 0, 64, many, on, 0, open_, 0, tau, 0, left, far)
    return sure_of_near(positive, negative, 0, 64, many, on, 0, open_, 0, tau, 0, left, far)


@pytest.mark.parametrize("inputs", [1, 63, 64, 65, 130])
def test_what_open_inputs_decide(inputs):
    rng = np.random.default_rng(inputs)
    for kind in (0, 1, 2):
        weights = rng.choice([-1, 0, 1] if kind == 0 else [-1, 1], (64, inputs))
        unknown = rng.random(inputs) < 0.3
        on = (rng.random(inputs) < 0.5) & ~unknown
        tau = rng.integers(0, inputs + 2, 64)
        like = (rng.random(inputs) < 0.5) & unknown
        many = -(-inputs // 64)
        far = int(rng.integers(0, unknown.sum() + 1))
        positive, negative = (words(weights == sign).T.reshape(-1).copy() for sign in (1, -1))
        told = np.append([int(unknown.sum()), far], words(like[None])[0].view(np.int64))
        left = np.zeros(64, np.int64)
        sure, rest = looked(
            kind, positive, negative, many, words(on[None])[0], words(unknown[None])[0], tau, left, told
        )
        known = ((weights > 0) & on).sum(axis=1) + ((weights < 0) & ~on & ~unknown).sum(axis=1)
        low, high = known, known + ((weights != 0) & unknown).sum(axis=1)
        if kind == 2:
            middle = ((weights > 0) & (on | like)).sum(axis=1) + ((weights < 0) & ~(on | like)).sum(axis=1)
            low, high = np.maximum(low, middle - far), np.minimum(high, middle + far)
        assert (left == tau - known).all()
        assert sure == int(words((low >= tau)[None])[0, 0])
        assert rest == int(words(((low < tau) & (high >= tau))[None])[0, 0])
