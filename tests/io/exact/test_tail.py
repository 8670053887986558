"""Float layers, averages and batch norms behind the last sign, against sums of Fractions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError, NetworkError, TooLargeError
from sugenet.io.exact.domains import Bits
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Convolution,
    Flatten,
    LinearOp,
    OpChain,
    Pad,
    Sign,
    rounded,
)
from sugenet.nn import DenseLayer, Head, Network
from sugenet.nn.head import WIDE
from tests.io.chains import evaluate

RNG = np.random.default_rng(5)
F = np.float32


def signs(*shape):
    return RNG.choice([-1.0, 1.0], shape)


def floats(*shape):
    return RNG.normal(size=shape).astype(F)


def norm(count, where="bn", **fixed):
    parts = {"gamma": floats(count), "beta": floats(count), "mean": floats(count)}
    return BatchNorm(where, **{**parts, "var": RNG.uniform(0.3, 4, count).astype(F), "eps": 1e-5, **fixed})


FRONT = (Convolution("conv", signs(4, 1, 2, 2)), Affine("shift", np.ones(1), np.full(1, 0.5)), Sign("s"))
SQUARE = {"var": np.array([0.25, 1, 2.25, 4], F), "eps": 0.0}
ENDS = {
    "float": (Flatten("f"), LinearOp("out", floats(3, 36), floats(3))),
    "pixel by pixel": (Flatten("f", "HWC"), LinearOp("out", floats(3, 36), floats(3))),
    "two layers": (Flatten("f"), LinearOp("a", floats(5, 36)), LinearOp("out", floats(3, 5), floats(3))),
    "average": (AveragePool("p", (2, 2), (1, 1)), Flatten("f"), LinearOp("out", floats(3, 16))),
    "padded": (
        AveragePool("p", (2, 2), (2, 2), (1, 1, 0, 0), True),
        Flatten("f"),
        LinearOp("out", floats(3, 16)),
    ),
    "global": (AveragePool("p"), Flatten("f"), LinearOp("out", floats(3, 4), floats(3))),
    "scaled": (
        Affine("a", floats(4), floats(4)),
        AveragePool("p"),
        Flatten("f"),
        LinearOp("out", floats(3, 4)),
    ),
    "kernel": (
        Pad("pad", (1, 0, 1, 0)),
        Convolution("c", floats(6, 2, 2, 2), floats(6), (2, 1), groups=2),
        Flatten("f"),
        LinearOp("out", floats(3, 24)),
    ),
    "square roots": (norm(4, **SQUARE), AveragePool("p"), Flatten("f"), LinearOp("out", floats(3, 4))),
}


def by_fractions(ops, x):
    """Class scores as sums of Fractions, value by value: the definition."""
    exact = np.vectorize(Fraction, otypes=[object])
    for op in ops:
        match op:
            case LinearOp():
                x = exact(op.weights) @ x + (0 if op.bias is None else exact(op.bias))
            case Affine():
                x = exact(op.scale).reshape(-1, 1, 1) * x + exact(op.shift).reshape(-1, 1, 1)
            case BatchNorm():
                root = exact(np.sqrt(op.var.astype(float)))  # of squares
                g, b, m, r = (exact(v).reshape(-1, 1, 1) for v in (op.gamma, op.beta, op.mean, root))
                x = g * (x - m) / r + b
            case Flatten():
                x = (x if op.order == "CHW" else x.transpose(1, 2, 0)).reshape(-1)
            case AveragePool(kernel=None):
                x = np.array([[[sum(c.reshape(-1)) / Fraction(c.size)]] for c in x], dtype=object)
            case AveragePool():
                top, left, bottom, right = op.pads
                wide = np.pad(x, ((0, 0), (top, bottom), (left, right)), constant_values=Fraction(0))
                (h, w), (i, j) = op.kernel, op.stride
                x = np.array(
                    [
                        [
                            [
                                sum(c[y : y + h, z : z + w].reshape(-1)) / Fraction(h * w)
                                for z in range(0, c.shape[1] - w + 1, j)
                            ]
                            for y in range(0, c.shape[0] - h + 1, i)
                        ]
                        for c in wide
                    ],
                    dtype=object,
                )
            case Pad():
                top, left, bottom, right = op.pads
                x = np.pad(x, ((0, 0), (top, bottom), (left, right)), constant_values=Fraction(0))
            case Convolution():
                out, each, h, w = op.weights.shape
                per = out // op.groups
                x = np.array(
                    [
                        [
                            [
                                sum(
                                    (
                                        exact(op.weights[o])
                                        * x[o // per * each : (o // per + 1) * each, y : y + h, z : z + w]
                                    ).reshape(-1)
                                )
                                + Fraction(op.bias[o].item())
                                for z in range(0, x.shape[2] - w + 1, op.stride[1])
                            ]
                            for y in range(0, x.shape[1] - h + 1, op.stride[0])
                        ]
                        for o in range(out)
                    ],
                    dtype=object,
                )
    return x.tolist()


@pytest.mark.parametrize("name", ENDS)
def test_scores_are_the_rationals_that_the_file_says(name):
    chain = OpChain("net", (1, 4, 4), (*FRONT, *ENDS[name]))
    found = lower(chain, Bits())
    X = RNG.integers(0, 2, (12, 16))
    assert found.remarks == ()
    assert found.network.source.outputs == "equal"
    bits = found.network.hidden(X)[-1]
    scores = found.network.head.scores(found.network.match_counts(X))
    for row, mine in zip(bits, scores, strict=True):
        values = np.array([Fraction(1 if bit else -1) for bit in row], dtype=object).reshape(4, 3, 3)
        assert mine.tolist() == by_fractions(ENDS[name], values)
    assert np.allclose(evaluate(chain, X * 2.0 - 1), scores.astype(float))


@pytest.mark.parametrize(
    "last",
    [
        (AveragePool("p"), Flatten("f"), LinearOp("out", floats(3, 4))),
        (Flatten("f"), LinearOp("out", floats(3, 36))),
    ],
)
def test_square_roots_are_rounded_as_far_as_it_is_said(last):
    chain = OpChain("net", (1, 4, 4), (*FRONT, norm(4), *last))
    found = lower(chain, Bits())
    assert "within" in found.remarks[0]
    assert found.network.source.outputs == "other"
    assert 0 < found.error < 1e-12
    X = RNG.integers(0, 2, (300, 16))
    assert np.abs(found.network.logits(X) - evaluate(chain, X * 2.0 - 1)).max() <= found.error + 1e-13


def test_the_bound_on_rounding_holds_in_200_digits():
    """Roots to 200 bits: no score is further from the file's than is said, and some are off at all."""
    bn = norm(4)
    chain = OpChain("net", (1, 4, 4), (*FRONT, bn, Flatten("f"), LinearOp("out", (weights := floats(3, 36)))))
    found = lower(chain, Bits())
    X = RNG.integers(0, 2, (20, 16))
    bits, scores = found.network.hidden(X)[-1], found.network.head.scores(found.network.match_counts(X))
    factor = []
    for gamma, var in zip(bn.gamma.tolist(), bn.var.tolist(), strict=True):
        square = Fraction(gamma) ** 2 / (Fraction(var) + Fraction(1e-5))
        root = Fraction(int_root(square.numerator * square.denominator << 400), square.denominator << 200)
        factor.append(root if gamma > 0 else -root)
    off = []
    for row, mine in zip(bits, scores, strict=True):
        for k in range(3):
            total = sum(
                Fraction(weights[k, i].item())
                * (
                    factor[i // 9] * ((1 if row[i] else -1) - Fraction(bn.mean[i // 9].item()))
                    + Fraction(bn.beta[i // 9].item())
                )
                for i in range(36)
            )
            off.append(abs(total - mine[k]))
    assert 0 < max(off) <= found.error


def int_root(value):
    low, high = 0, 1 << (value.bit_length() // 2 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * middle <= value else (low, middle)
    return low


def test_levels_have_float_tails_too():
    stairs = rounded("q", 0, 3)
    ops = (
        LinearOp("fc", signs(6, 5)),
        stairs,
        Affine("a", np.full(1, 0.25), np.full(1, -1.0)),
        LinearOp("out", weights := floats(3, 6)),
    )
    found = lower(OpChain("net", (5,), ops), Bits())
    X = np.array(list(product((0, 1), repeat=5)))
    levels = found.network.hidden(X)[-1]
    for row, mine in zip(levels, found.network.head.scores(found.network.match_counts(X)), strict=True):
        values = [Fraction(int(level), 4) - 1 for level in row]
        assert mine.tolist() == [
            sum(Fraction(w) * v for w, v in zip(r, values, strict=True)) for r in weights.tolist()
        ]


def test_what_leaves_the_bits_is_refused_with_a_way():
    weights = floats(2, 3)
    weights[0, 0] = 1e-30
    ops = (LinearOp("fc", signs(3, 4)), Sign("s"), LinearOp("out", weights))
    with pytest.raises(FileError, match=f"leave {WIDE} bits .*Round them to a common grid"):
        lower(OpChain("net", (4,), ops), Bits())
    ops = (LinearOp("fc", floats(3, 4)), Sign("s"), LinearOp("out", signs(2, 3)))
    with pytest.raises(FileError, match="row 0 of the weights is not quantized"):  # a hidden layer is no tail
        lower(OpChain("net", (4,), ops), Bits())


# -- wide heads ----------------------------------------------------------------------------------------------


def wide(bits, scale=(Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)), seed=0):
    rng = np.random.default_rng(seed)
    layers = [
        DenseLayer(rng.choice([-1, 1], (9, 7)), rng.integers(2, 6, 9)),
        DenseLayer(rng.choice([-1, 0, 1], (7, 9)), rng.integers(1, 5, 7)),
    ]
    weights = rng.integers(-(1 << bits), 1 << bits, (3, 7))
    weights[2] = weights[1] + rng.integers(-1, 2, 7)  # classes that differ in the last digit
    bias = [Fraction(int(v), 7) for v in rng.integers(-9, 9, 3)]
    return Network.of_bits(layers, Head(weights, bias, scale))


def defined(network, X):
    """Scores and classes by the definition, in Python's numbers."""
    values = X.astype(bool)
    for layer in network.layers:
        values = np.array(
            [
                [
                    sum(abs(w) for w, v in zip(row, x, strict=True) if v == (w > 0)) >= t
                    for row, t in zip(layer.weights.tolist(), layer.tau.tolist(), strict=True)
                ]
                for x in values.tolist()
            ]
        )
    head = network.head
    scores = [
        [
            head.scale[k] * sum(w if v else -w for w, v in zip(row, x, strict=True)) + head.bias[k]
            for k, row in enumerate(head.weights.tolist())
        ]
        for x in values.tolist()
    ]
    return scores, np.array([max(range(len(row)), key=lambda k: (row[k], -k)) for row in scores])


ENGINES = ("auto", "bounds", "dual", "search", "flips", "exhaust", "cdcl", "pysat")


@pytest.mark.parametrize("bits", [30, 56, *(pytest.param(bits, marks=pytest.mark.slow) for bits in (33, 52))])
def test_questions_of_wide_heads_are_answered_as_the_definition_says(bits):
    X = np.array(list(product((0, 1), repeat=7)))
    network = next(
        net for seed in range(bits, bits + 99) if len(set((net := wide(bits, seed=seed)).predict(X))) == 3
    )
    scores, labels = defined(network, X)
    counts = network.match_counts(X)
    assert network.head.scores(counts).tolist() == scores
    assert (network.predict(X) == labels).all()
    assert (network.match_counts(X, engine="numpy") == counts).all()
    x = X[77]
    apart = (x != X).sum(axis=1)
    for radius in (1, 2):
        stays = bool((labels[apart <= radius] == labels[77]).all())
        for engine in ENGINES:
            answer = sg.verify(network, sg.Robust(x, sg.L0(radius)), engine=engine)
            assert isinstance(answer, (sg.Proved if stays else sg.Refuted) | sg.Undecided), engine
            assert engine != "auto" or not isinstance(answer, sg.Undecided)
            if not isinstance(answer, sg.Undecided) and (engine != "pysat" or isinstance(answer, sg.Refuted)):
                sg.check(answer.certificate, network)
    found = sg.count(network, x, sg.L0(3))
    assert found.counts == tuple(int(((apart <= 3) & (labels == k)).sum()) for k in range(3))
    sg.check(found.certificate, network)
    change = sg.whatif(network, x)
    assert f"with {apart[labels != labels[77]].min()} feature" in str(change)
    sg.check(change.certificate, network)
    held = [
        k
        for k, feature in enumerate(network.encoder.names)
        if feature in str(sg.why(network, x, sg.AnyInput()))
    ]
    assert (labels[(X[:, held] == x[held]).all(axis=1)] == labels[77]).all()


def test_scores_that_are_too_fine_to_rank_are_counted_one_by_one():
    scale = (Fraction(1, 3), Fraction(2, 5), Fraction(1, 7))
    network = wide(56, scale)
    X = np.array(list(product((0, 1), repeat=7)))
    labels = defined(network, X)[1]
    assert (network.predict(X) == labels).all()
    found = sg.count(network, X[5], sg.L0(7))
    assert found.counts == tuple(int((labels == k).sum()) for k in range(3))
    stays = bool((labels[(X[5] != X).sum(axis=1) <= 2] == labels[5]).all())
    answer = sg.verify(network, sg.Robust(X[5], sg.L0(2)))
    assert isinstance(answer, sg.Proved) == stays


def test_a_head_has_its_limit():
    rows = np.array([[(1 << WIDE) - 3, 1, 1]])
    assert Head(rows).sizes.tolist() == [(1 << WIDE) - 1]
    for wrong in (rows + np.array([[1, 0, 0]]), np.array([[-(1 << 63), 0, 0]])):
        with pytest.raises(NetworkError, match=f"match counts must stay below 2\\^{WIDE}"):
            Head(wrong)


def test_a_wide_head_is_kept_by_its_file(tmp_path):
    network = wide(56)
    sg.save(network, tmp_path / "wide.sugenet")
    assert sg.load(tmp_path / "wide.sugenet") == network


def test_the_page_refuses_what_it_cannot_count():
    from sugenet.web.page_data import payload

    with pytest.raises(TooLargeError, match="page computes with at most 31 bits"):
        payload(wide(40), title="wide")
