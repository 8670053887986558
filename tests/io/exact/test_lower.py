"""Lowering against an evaluation of the chain in exact fractions, one operation after the other."""

import random
from fractions import Fraction
from itertools import product
from math import isqrt, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.errors import FileError
from sugenet.io.exact.domains import Bits, Integers, Reals
from sugenet.io.exact.lower import Refusal, lower, lowered
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    OpChain,
    Pad,
    Sign,
)
from sugenet.nn import Window
from tests.thinned import examples

F = np.float32


def root(v):
    """Square root to 60 digits, exact for squares."""
    v = Fraction(v)
    return Fraction(isqrt(v.numerator * v.denominator * 10**120), v.denominator * 10**60)


def exact(values):
    return np.array([Fraction(float(v)) for v in np.asarray(values).reshape(-1)], dtype=object).reshape(
        np.shape(values)
    )


def along_channels(values, x):
    row = exact(np.reshape(values, -1))
    if row.size == 1:
        return row[0]
    return row.reshape(-1, *[1] * (x.ndim - 1)) if row.size == x.shape[0] else row.reshape(x.shape)


def windows_of(x, kernel, stride, dilation, pads, fill):
    """Yield position, and the list of taps (values or None on padding) of each channel."""
    window = Window(x.shape, kernel, stride, dilation, pads)
    flat = x.reshape(x.shape[0], -1)
    for position, pixels in zip(product(*map(range, window.positions)), window.taps, strict=True):
        yield (
            window.positions,
            position,
            [[fill if p < 0 else flat[c, p] for p in pixels] for c in range(x.shape[0])],
        )


def run(op, x):
    match op:
        case LinearOp():
            y = np.array(
                [sum((w * v for w, v in zip(row, x, strict=True)), Fraction(0)) for row in exact(op.weights)],
                dtype=object,
            )
            return y if op.bias is None else y + exact(op.bias)
        case Convolution():
            weights, out = exact(op.weights), None
            per_in, per_out = x.shape[0] // op.groups, len(weights) // op.groups
            for shape, place, taps in windows_of(
                x, op.weights.shape[2:], op.stride, op.dilation, op.pads, Fraction(0)
            ):
                out = np.empty((len(weights), *shape), dtype=object) if out is None else out
                for o in range(len(weights)):
                    group = o // per_out * per_in
                    rows = zip(weights[o].reshape(per_in, -1), taps[group : group + per_in], strict=True)
                    out[(o, *place)] = sum(
                        (w * v for row, values in rows for w, v in zip(row, values, strict=True)), Fraction(0)
                    )
            return out if op.bias is None else out + exact(op.bias).reshape(-1, 1, 1)
        case Affine():
            return along_channels(op.scale, x) * x + along_channels(op.shift, x)
        case BatchNorm():
            v = along_channels(op.var, x) + Fraction(op.eps)
            roots = (
                np.array([root(value) for value in np.reshape(v, -1)], dtype=object).reshape(np.shape(v))
                if isinstance(v, np.ndarray)
                else root(v)
            )
            return along_channels(op.gamma, x) * (x - along_channels(op.mean, x)) / roots + along_channels(
                op.beta, x
            )
        case Clip():
            return np.array([min(max(v, op.low), op.high) for v in x.reshape(-1)], dtype=object).reshape(
                x.shape
            )
        case Sign():
            side = [op.high if v > 0 or (v == 0 and op.zero == 1) else op.low for v in x.reshape(-1)]
            return exact(side).reshape(x.shape)
        case MaxPool() | AveragePool():
            kernel = op.kernel or x.shape[1:]
            stride = op.stride if op.kernel else (1, 1)
            out = None
            for shape, place, taps in windows_of(
                x, kernel, stride, (1, 1), op.pads if op.kernel else 0, None
            ):
                out = np.empty((x.shape[0], *shape), dtype=object) if out is None else out
                for c, values in enumerate(taps):
                    inside = [v for v in values if v is not None]
                    if isinstance(op, MaxPool):
                        out[(c, *place)] = max(inside)
                    else:
                        out[(c, *place)] = Fraction(sum(inside)) / (
                            len(values) if op.count_pads else len(inside)
                        )
            return out
        case Pad():
            top, left, bottom, right = op.pads
            c, h, w = x.shape
            out = np.full((c, h + top + bottom, w + left + right), Fraction(op.value), dtype=object)
            out[:, top : top + h, left : left + w] = x
            return out
        case Flatten():
            return (x if op.order == "CHW" or x.ndim == 1 else x.transpose(1, 2, 0)).reshape(-1)
    raise AssertionError(op)


class Maker:
    """Random chains with every operation in every legal place."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ops = []

    def numbers(self, n, among=(-1.5, -1, -0.5, 0.25, 0.5, 1, 2)):
        return np.array([self.random.choice(among) for _ in range(n)], dtype=F)

    def steps(self, channels, most=2):
        kinds = self.random.sample(["affine", "norm", "clip", "scalar"], k=self.random.randint(0, most))
        for kind in kinds:
            if kind == "affine":
                self.ops.append(
                    Affine("affine", self.numbers(channels), self.numbers(channels, (-1, 0, 0.5, 3)))
                )
            elif kind == "scalar":
                self.ops.append(Affine("scalar", self.numbers(1, (-2, 0.5, 1)), self.numbers(1, (0, 0.25))))
            elif kind == "norm":
                gamma = self.numbers(channels, (-1, -0.5, 0, 0.5, 1, 2))
                self.ops.append(
                    BatchNorm(
                        "norm",
                        gamma,
                        self.numbers(channels, (-0.5, 0, 0.3, 1)),
                        self.numbers(channels, (-1, 0, 0.7)),
                        self.numbers(channels, (0.25, 1, 2, 3.7)),
                        self.random.choice([0.0, 1e-5]),
                    )
                )
            else:
                self.ops.append(
                    Clip("clip", *self.random.choice([(-1.0, 1.0), (0.0, float("inf")), (-0.5, 3.0)]))
                )

    def sign(self):
        low, high = self.random.choice([(-1.0, 1.0), (-1.0, 1.0), (0.0, 1.0), (-0.5, 0.5)])
        self.ops.append(Sign("sign", self.random.choice([1, 1, -1]), low, high))

    def binary(self, *shape):
        rows = np.array([self.random.choice([-1, 1, 1, -1, 0]) for _ in range(prod(shape))], dtype=F).reshape(
            shape
        )
        if self.random.random() < 0.4:
            rows = rows * self.numbers(shape[0], (0.25, 0.5, 3)).reshape(-1, *[1] * (len(shape) - 1))
        return rows

    def bias(self, n):
        return self.numbers(n) if self.random.random() < 0.5 else None

    def maps(self, shape):
        """A convolution with pooling in some place."""
        channels, height, width = shape
        if self.random.random() < 0.3:
            self.ops.append(Pad("pad", (1, 1, 1, 1), self.random.choice([-1.0, 0.0, 1.0])))
            pads = (0, 0, 0, 0)
        else:
            pads = self.random.choice([(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 1, 0)])
        groups = channels if self.random.random() < 0.3 else 1
        outs = groups * self.random.randint(1, 2)
        kernel = (min(2, height), min(2, width))
        self.ops.append(
            Convolution(
                "conv",
                self.binary(outs, channels // groups, *kernel),
                self.bias(outs),
                (1, 1),
                (1, 1),
                pads,
                groups,
            )
        )
        extra = (
            self.ops[-2].pads
            if isinstance(self.ops[-2] if len(self.ops) > 1 else None, Pad)
            else (0, 0, 0, 0)
        )
        total = [p + q for p, q in zip(pads, extra, strict=True)]
        shape = (outs, *Window(shape, kernel, 1, 1, total).positions)
        before = self.random.choice(["none", "max", "average", "after"])
        self.steps(outs, most=1 if before in ("max", "average") else 2) if before != "average" else None
        if before == "max" and min(shape[1:]) >= 2:
            self.ops.append(MaxPool("pool", (2, 2), (1, 1)))
            shape = (outs, shape[1] - 1, shape[2] - 1)
        if before == "average" and min(shape[1:]) >= 2:
            self.ops.append(AveragePool("mean", (2, 2), (1, 1)))
            shape = (outs, shape[1] - 1, shape[2] - 1)
        if before in ("max", "average") and not any(isinstance(op, BatchNorm) for op in self.ops[-3:]):
            self.steps(outs, most=1)
        self.sign()
        if before == "after" and min(shape[1:]) >= 2:
            self.ops.append(MaxPool("pool", (2, 2), (2, 2)))
            shape = (outs, shape[1] // 2, shape[2] // 2)
        return shape

    def averaged(self, shape):
        """Average pooling of bits in front of a linear layer."""
        if self.random.random() < 0.5 or min(shape[1:]) < 2:
            self.ops.append(AveragePool("mean of all"))
            return (shape[0], 1, 1)
        self.ops.append(AveragePool("mean", (2, 2), (1, 1)))
        return (shape[0], shape[1] - 1, shape[2] - 1)

    def flatten(self, shape):
        averaged = bool(self.ops) and isinstance(self.ops[-1], AveragePool) and prod(shape[1:]) > 1
        self.ops.append(Flatten("flatten", "CHW" if averaged else self.random.choice(["CHW", "HWC"])))
        return prod(shape)

    def dense(self, n):
        m = self.random.randint(1, 4)
        self.ops.append(LinearOp("linear", self.binary(m, n), self.bias(m)))
        self.steps(m)
        self.sign()
        return m

    def head(self, n):
        classes = self.random.randint(2, 3)
        self.ops.append(LinearOp("head", self.binary(classes, n), self.bias(classes)))
        kind = self.random.choice(["none", "scalar", "rows"])
        if kind == "scalar":
            self.ops.append(Affine("scores", F([self.random.choice([0.5, 2])]), F([0.25])))
        if kind == "rows":
            self.ops.append(Affine("scores", self.numbers(classes, (0.5, 1, -1)), self.numbers(classes)))

    def chain(self):
        if self.random.random() < 0.5:
            shape = (self.random.randint(1, 2), self.random.randint(2, 3), self.random.randint(2, 3))
        else:
            shape = (self.random.randint(1, 4),)
        domain = self.random.choice(["bits", "levels", "cuts", "reals"])
        current = shape
        if domain in ("cuts", "reals"):
            self.steps(shape[0])
            self.sign()
        elif domain == "levels" and self.random.random() < 0.5:
            self.ops.append(Affine("input", F([0.5]), F([-1])))
        if len(shape) == 3 and self.random.random() < 0.8:
            current = self.maps(current)
            if self.random.random() < 0.4 and min(current[1:]) >= 1:
                current = self.maps(current)
        if (
            len(current) == 3
            and self.ops
            and isinstance(self.ops[-1], Sign | MaxPool)
            and self.random.random() < 0.3
        ):
            current = self.averaged(current)
        n = current[0] if len(current) == 1 else self.flatten(current)
        if (
            domain == "levels" and not any(isinstance(op, Sign) for op in self.ops)
        ) or self.random.random() < 0.6:
            n = self.dense(n)
        self.head(n)
        inputs = {
            "bits": Bits(),
            "levels": Integers(0, 3),
            "cuts": Integers(-1, 2, step=Fraction(1, 2)),
            "reals": Reals(-2, 2),
        }[domain]
        return OpChain("test", shape, tuple(self.ops)), inputs


def samples(rng, chain, inputs, count):
    shape = (count, prod(chain.shape))
    if isinstance(inputs, Bits):
        raw = rng.choice([-1, 1], shape)
        return raw, raw.astype(object)
    if isinstance(inputs, Integers):
        raw = rng.integers(inputs.low, inputs.high + 1, shape)
        return raw, np.array([[inputs.value(int(v)) for v in row] for row in raw], dtype=object)
    raw = np.round(rng.uniform(-2, 2, shape) * 4) / 4
    return raw, exact(raw)


def result(chain, value):
    x = np.array([Fraction(v) for v in value], dtype=object).reshape(chain.shape)
    signs = []
    for op in chain.ops:
        x = run(op, x)
        if isinstance(op, Sign):
            signs.append(x)
    return x, signs


@settings(max_examples=examples(150))
@given(st.integers(0, 10**9))
def test_a_lowered_chain_computes_what_its_operations_do(seed):
    chain, inputs = Maker(seed).chain()
    if refused_on_purpose(chain):
        with pytest.raises(FileError):
            lower(chain, inputs)
        return
    imported = lower(chain, inputs)
    raw, values = samples(np.random.default_rng(seed), chain, inputs, 6)
    scores = imported.network.head.scores(imported.network.match_counts(raw, engine="definition"))
    for row, value in zip(scores, values, strict=True):
        expected, _ = result(chain, value)
        assert list(row) == list(expected)
    assert str(imported).startswith("network")


def refused_on_purpose(chain):
    """Two batch norms or roots where values must stay rational; the generator makes a few such chains."""
    since, pad = [], None
    for op in chain.ops:
        if isinstance(op, Sign | LinearOp | Convolution):
            if isinstance(op, Convolution) and pad is not None and pad.value != 0 and any(op.pads):
                return True
            since, pad = [], None
        elif isinstance(op, BatchNorm):
            since.append(op)
            if len(since) > 1:
                return True
        elif isinstance(op, Pad):
            pad = op
    return False


def test_a_traced_example_by_hand():
    chain = OpChain(
        "example",
        (4,),
        (
            LinearOp("fc", F([[1, 1, -1, 1]])),
            BatchNorm("bn", F([-1]), F([0.5]), F([0]), F([1]), 0.0),
            Sign("sign"),
            LinearOp("out", F([[1], [-1]]), F([0, 0.25])),
        ),
    )
    imported = lower(chain, Bits(), classes=["off", "on"])
    assert imported.layers[0].flipped == 1
    assert imported.layers[0].ties == 0
    assert imported.network.predict([[1, -1, 1, -1]]).tolist() == [0]
    assert imported.data()["layers"][0]["neurons"] == 1
    assert "1 flipped, 0 constant, zero cannot occur" in str(imported)


def head_with_norms(beta):
    norm = BatchNorm("tail", F([1, 1]), np.array([0, beta]), F([0, 0]), F([2, 3]), 0.0)
    return OpChain("norms", (2,), (LinearOp("out", F([[1, 1], [1, -1]])), norm))


def test_class_scores_with_square_roots_are_rounded_only_with_proof():
    imported = lower(head_with_norms(0.5), Bits())
    assert "proved unchanged" in str(imported)
    scores = imported.network.logits([[1, 1], [1, -1]])
    assert np.allclose(scores, [[2 / 2**0.5, 0.5], [0, 2 / 3**0.5 + 0.5]])
    refused = 0
    for offset in range(-30, 30):  # both classes at about 1.41421356, one rounding apart
        beta = 2**0.5 - 2 / 3**0.5 + offset * 2.0**-54
        try:
            network = lower(head_with_norms(beta), Bits()).network
        except FileError as error:
            assert "can have scores so close" in str(error)  # noqa: PT017
            refused += 1
            continue
        exact_first = 2 / root(2) > 2 / root(3) + Fraction(beta)
        for k, x in ((0, [1, 1]), (1, [1, -1])):
            scores = network.head.scores(network.match_counts([x]))[0]
            assert scores[k] > scores[1 - k]
        first, second = network.head.scores(np.array([[2, 2]]))[0]
        assert (first > second) == exact_first
    assert 0 < refused < 10


@pytest.mark.parametrize(
    ("ops", "inputs", "message"),
    [
        (
            [LinearOp("fc", F([[1, 1]])), Sign("s"), LinearOp("o", F([[1]]))],
            None,
            r"operation 0: fc reads inputs that are not binarized. Say what they are: inputs=Integers",
        ),
        (
            [LinearOp("fc", F([[1, 0.3]])), Sign("s")],
            Bits(),
            "fc: row 0 of the weights is not quantized: it holds weights of size 0.3 and 1",
        ),
        (
            [LinearOp("fc", F([[1, 1]])), LinearOp("o", F([[1]]))],
            Bits(),
            "o: Linear after fc without a sign between",
        ),
        ([Sign("s")], Bits(), "ends without class scores"),
        (
            [LinearOp("fc", F([[1, 1]])), Sign("s", zero=0), LinearOp("o", F([[1]]))],
            Bits(),
            "operation 1, s: neuron 1: 1 matches of 2 give exactly zero",
        ),
        ([Sign("s", zero=0), LinearOp("o", F([[1, 1]]))], Reals(), "input 0 can be exactly zero"),
        ([LinearOp("fc", F([[1, 1, 1]])), Sign("s")], Bits(), "3 weights a neuron for values of shape"),
        ([LinearOp("fc", F([[1, np.nan]])), Sign("s")], Bits(), "not finite"),
        (
            [BatchNorm("bn", F([1]), F([0]), F([0]), F([-1]), 0.0), Sign("s"), LinearOp("o", F([[1, 1]]))],
            Reals(),
            "bn: channel 0 has variance -1.0",
        ),
        (
            [BatchNorm("bn", F([1, 2, 3]), F([0]), F([0]), F([1]), 0.0), Sign("s")],
            Reals(),
            "bn: 3 numbers for 2 channels",
        ),
        (
            [Sign("s"), BatchNorm("bn", F([1]), F([0]), F([0]), F([1]), 0.0)],
            Reals(),
            "bn: batch norm directly after a sign",
        ),
        ([MaxPool("p", (1, 1), (1, 1))], Reals(), "p: MaxPool on inputs that are not binarized yet"),
        ([LinearOp("fc", F([[1, 1]]))], Integers(), "the only layer reads raw numbers"),
    ],
)
def test_what_cannot_be_exact_is_refused_with_its_place(ops, inputs, message):
    with pytest.raises(FileError, match=message):
        lower(OpChain("net", (2,), tuple(ops)), inputs)


def test_a_refusal_is_a_value_with_its_operation():
    ops = (Sign("s"), BatchNorm("bn", *[np.ones(2)] * 4, 0.0), Sign("t"), LinearOp("out", np.eye(2)))
    chain = OpChain("net", (2,), ops)
    found = lowered(chain)
    assert isinstance(found, Refusal)
    assert (found.operation, ops[found.operation].where) == (1, "bn")
    with pytest.raises(FileError) as caught:
        lower(chain)
    assert str(caught.value) == found.text
    tail = lowered(
        OpChain("net", (2,), ops[:2] + ops[3:])
    )  # the same batch norm can be read behind the last sign
    assert not isinstance(tail, Refusal)


def test_a_sign_of_zero_can_be_declared_at_import():
    ops = (LinearOp("fc", F([[1, 1]])), Sign("s", zero=0), LinearOp("o", F([[1]])))
    for zero in (1, -1):
        imported = lower(OpChain("net", (2,), ops), Bits(), zero=zero)
        assert imported.network.logits([[1, -1]]).tolist() == [[zero]]
        assert imported.layers[0].ties == 1


def test_channel_last_samples_stay_as_they_are():
    chain = OpChain(
        "net",
        (2, 1, 2),
        (Sign("s"), Flatten("f", "HWC"), LinearOp("o", F([[1, 1, 1, -1]]))),
        channels_last=True,
    )
    imported = lower(chain, Reals())
    X = np.array([[[[5.0, -1.0], [2.0, 3.0]]]])  # height 1, width 2, 2 channels
    assert (
        imported.network.logits(X).tolist()
        == imported.network.logits([[5.0, -1.0, 2.0, 3.0]]).tolist()
        == [[1 - 1 + 1 - 1]]
    )
    assert imported.network.encoder.names == tuple(
        f"channel {c} pixel (0,{x})" for x in (0, 1) for c in (0, 1)
    )
    assert imported.shape == imported.network.encoder.shape == (1, 2, 2)
