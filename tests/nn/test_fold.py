"""Folding against exact real arithmetic and against float32 as frameworks compute it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.errors import SugenetError, TieError
from sugenet.nn import fold, fold_levels
from sugenet.nn.folding import sign_of_affine
from tests.nn.evaluated import fold_by_evaluation
from tests.nn.nets import bipolars

small = st.one_of(
    st.integers(-3, 3), st.fractions(-3, 3, max_denominator=4), st.sampled_from([0.1, -0.7, 1e-30])
)
positive = st.one_of(st.integers(1, 4), st.fractions(Fraction(1, 4), 4, max_denominator=4))


@given(small, small, st.one_of(st.integers(0, 9), st.fractions(0, 9, max_denominator=5)))
def test_the_sign_of_a_number_with_a_square_root(linear, factor, radicand):
    linear, factor, radicand = Fraction(linear), Fraction(factor), Fraction(radicand)
    scale = 10**80  # the integer square root brackets the real one tightly enough for these sizes
    from math import isqrt

    low = Fraction(isqrt(radicand.numerator * radicand.denominator * scale**2), radicand.denominator * scale)
    ends = sorted([linear + factor * low, linear + factor * (low + Fraction(1, scale))])
    sign = sign_of_affine(linear, factor, radicand)
    if ends[0] > 0:
        assert sign == 1
    elif ends[1] < 0:
        assert sign == -1
    else:
        assert sign == 0
        assert linear**2 == factor**2 * radicand


@given(st.data(), st.sampled_from([1, -1]))
def test_fold_is_the_sign_of_the_real_batch_norm(data, zero):
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    weights = data.draw(
        st.lists(st.lists(st.integers(-1, 1), min_size=n, max_size=n), min_size=m, max_size=m)
    )
    names = ["bias", "scale", "gamma", "beta", "mean"]
    p = {name: data.draw(st.lists(small, min_size=m, max_size=m)) for name in names}
    p["var"], p["eps"] = (
        data.draw(st.lists(positive, min_size=m, max_size=m)),
        data.draw(st.sampled_from([0, 1e-5])),
    )
    layer = fold(
        weights, **{k: v if k == "eps" else np.array(v, dtype=object) for k, v in p.items()}, zero=zero
    )
    reached = [False] * m
    for x in bipolars(n):
        for j in range(m):
            s = sum(w * v for w, v in zip(weights[j], x, strict=True))
            b, a, g, beta, mean, var = (Fraction(p[name][j]) for name in [*names, "var"])
            value = sign_of_affine(g * (a * s + b - mean), beta, var + Fraction(p["eps"]))
            reached[j] |= value == 0
            assert layer.activity(np.array([x]) > 0)[0, j] == (value >= 0 if zero == 1 else value > 0)
    assert layer.ties.tolist() == reached  # ties are proved reachable or unreachable
    slopes = [Fraction(g) * Fraction(a) for g, a in zip(p["gamma"], p["scale"], strict=True)]
    assert layer.flipped.tolist() == [slope < 0 for slope in slopes]


def test_negative_zero_gamma_and_ties():  # docs/theory.md 2.3
    w = [[1, 1]]
    assert fold(w, gamma=0, beta=3).tau.tolist() == [0]  # constant sign(beta)
    assert fold(w, gamma=0, beta=-3).tau.tolist() == [3]
    assert fold(w, gamma=0, beta=0).tau.tolist() == [0]
    assert fold(w, gamma=0, beta=0, zero=-1).tau.tolist() == [3]
    falling = fold(w, gamma=-1)  # active iff s <= 0: the tie is active too
    assert falling.activity([[True, False]]).tolist() == [[True]]
    assert fold(w, gamma=-1, zero=-1).activity([[True, False]]).tolist() == [[False]]


def test_sign_of_zero_zero_is_taken_only_where_zero_cannot_occur():
    assert fold([[1, 1, 1]], zero=0).ties.tolist() == [False]  # odd sums are never 0
    with pytest.raises(
        TieError, match=r"neuron 2: 1 matches of 2 give exactly zero.*Declare zero=1 or zero=-1"
    ):
        fold([[1, 0, 0], [1, 1, 0]], zero=0)


@pytest.mark.parametrize("seed", range(3))
def test_near_ties_are_bit_exact_with_float32(seed):  # docs/theory.md 2.2
    rng = np.random.default_rng(seed)
    n, m = 33, 400
    weights = rng.choice([-1, 1], (m, n))
    gamma = rng.normal(size=m).astype(np.float32)
    mean = rng.normal(size=m).astype(np.float32)
    root = np.sqrt(rng.random(m).astype(np.float32) + np.float32(1e-5))
    at = (2 * rng.integers(0, n + 1, m) - n).astype(np.float32)
    beta = (-(gamma * (at - mean)) / root).astype(np.float32)  # the batch norm is about 0 at one of the sums

    def framework(s):
        return gamma * ((s.astype(np.float32) - mean) / root) + beta

    layer = fold_by_evaluation(weights, framework)
    x = rng.random((200, n)) < 0.5
    s = np.where(x, 1, -1) @ weights.T
    assert (layer.activity(x) == (framework(s) >= 0)).all()
    every = np.arange(n + 1)[:, None] * 2 - n + np.zeros(m, int)
    signs = framework(every) >= 0
    counts = np.where(layer.flipped, n - np.arange(n + 1)[:, None], np.arange(n + 1)[:, None])
    assert ((counts >= layer.tau) == signs).all()
    assert (layer.ties == (framework(every) == 0).any(axis=0)).all()


def test_evaluation_copes_with_rows_of_different_size():
    weights = [[1, 1, 1], [1, 0, 0], [0, 0, 0]]
    layer = fold_by_evaluation(weights, lambda s: -s + 0.5)
    for x in bipolars(3):
        s = np.array(weights) @ np.array(x)
        assert (layer.activity([np.array(x) > 0])[0] == (-s + 0.5 >= 0)).all()


@given(st.data(), st.sampled_from([1, -1]))
def test_levels_fold_like_the_sum_over_raw_values(data, zero):  # docs/theory.md 3.1
    n = data.draw(st.integers(1, 3))
    tops = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = [data.draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n))]
    step, start, bias, gamma, beta = (data.draw(small) for _ in range(5))
    layer = fold_levels(
        weights, tops, step=step, start=start, bias=bias, gamma=gamma, beta=beta, var=2, zero=zero
    )
    reached = False
    for levels in product(*(range(top + 1) for top in tops)):
        s = sum(w * (Fraction(start) + Fraction(step) * a) for w, a in zip(weights[0], levels, strict=True))
        value = sign_of_affine(Fraction(gamma) * (s + Fraction(bias)), Fraction(beta), Fraction(2))
        assert layer.activity([levels])[0, 0] == (value >= 0 if zero == 1 else value > 0)
        reached |= value == 0
    assert layer.ties[0] == reached


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fold([[1]], var=-1), "neuron 1: var . eps is -1.0"),
        (lambda: fold([[1]], gamma=[1, 2]), r"gamma has shape \(2,\) for 1 neurons"),
        (lambda: fold([[1]], gamma=float("nan")), "gamma is nan"),
        (lambda: fold([[2]]), "Put positive scales into"),
        (lambda: fold([[0.5]]), r"weights\[0, 0\] is 0.5, which is not an integer"),
        (lambda: fold([[1]], zero=2), "zero=2 is not a sign of zero"),
        (lambda: fold([1]), "2 dimensions"),
        (lambda: fold_levels([[1]], [1, 2]), "2 tops for 1 features"),
    ],
)
def test_what_cannot_be_folded_is_named(call, message):
    with pytest.raises(SugenetError, match=message):
        call()
