"""Networks with shortcuts, made straight, against their operations evaluated branch by branch."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io.exact import branches
from sugenet.io.exact.branches import straightened
from sugenet.io.exact.domains import Bits, Integers
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    OpChain,
    Pad,
    Sign,
    rounded,
)
from sugenet.io.exact.ranges import sharpened
from sugenet.io.proof.interpreters import interpreter_of_chain
from sugenet.io.proof.proving import prove_import
from sugenet.nn import ConvLayer, DenseLayer

F = np.float32


class Maker:
    """Random operations; weights are -1 and +1."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def signs(self, *shape):
        return self.rng.choice([-1.0, 1.0], shape)

    def linear(self, outs, ins, where="fc"):
        return LinearOp(where, self.signs(outs, ins))

    def conv(self, outs, ins, size=3, pad=1, stride=1, where="conv", groups=1):
        weights = self.signs(outs, ins // groups, size, size)
        return Convolution(where, weights, None, (stride, stride), (1, 1), (pad,) * 4, groups)

    def norm(self, count, where="bn"):
        parts = [self.rng.uniform(low, 1.5, count).astype(F) for low in (-1.5, -1.5, -1.5, 0.2)]
        return BatchNorm(where, *parts, 1e-5)

    def floats(self, *shape):
        return self.rng.normal(size=shape).astype(F)


def direct(ops, x):
    """Maps, one sample, by loops: shares nothing with what is tested."""
    for op in ops:
        match op:
            case Branches():
                x = sum(direct(branch, x) for branch in op.branches)
            case LinearOp():
                x = op.weights.astype(float) @ x + (0 if op.bias is None else op.bias)
            case Convolution():
                top, left, bottom, right = op.pads
                wide = np.pad(x, ((0, 0), (top, bottom), (left, right)))
                outs, each, h, w = op.weights.shape
                (s, t), (d, e) = op.stride, op.dilation
                rows, columns = (
                    (n - g * (k - 1) - 1) // r + 1
                    for n, k, r, g in zip(wide.shape[1:], (h, w), (s, t), (d, e), strict=True)
                )
                made = np.zeros((outs, rows, columns))
                for o, i, j in product(range(outs), range(rows), range(columns)):
                    group = o * op.groups // outs
                    seen = wide[
                        group * each : (group + 1) * each,
                        i * s : i * s + d * (h - 1) + 1 : d,
                        j * t : j * t + e * (w - 1) + 1 : e,
                    ]
                    made[o, i, j] = (seen * op.weights[o].astype(float)).sum()
                x = made
            case BatchNorm():
                gamma, beta, mean, var = (
                    v.astype(float).reshape(-1, *[1] * (x.ndim - 1))
                    for v in (op.gamma, op.beta, op.mean, op.var)
                )
                x = gamma * (x - mean) / np.sqrt(var + op.eps) + beta
            case Affine():
                scale, shift = (
                    np.asarray(v, float).reshape(-1, *[1] * (x.ndim - 1)) for v in (op.scale, op.shift)
                )
                x = scale * x + shift
            case Clip():
                x = np.minimum(np.maximum(x, op.low), op.high)
            case Sign():
                x = np.where(x > 0, op.high, np.where(x < 0, op.low, op.high if op.zero == 1 else op.low))
            case Flatten():
                x = (x if op.order == "CHW" else x.transpose(1, 2, 0)).reshape(-1)
            case MaxPool():
                (h, w), (s, t) = op.kernel, op.stride
                x = np.array(
                    [
                        [
                            [c[i : i + h, j : j + w].max() for j in range(0, c.shape[1] - w + 1, t)]
                            for i in range(0, c.shape[0] - h + 1, s)
                        ]
                        for c in x
                    ]
                )
            case AveragePool():
                x = (
                    x.mean(axis=(1, 2), keepdims=True)
                    if op.kernel is None
                    else np.array(
                        [
                            [
                                [
                                    c[i : i + op.kernel[0], j : j + op.kernel[1]].mean()
                                    for j in range(0, c.shape[1] - op.kernel[1] + 1, op.stride[1])
                                ]
                                for i in range(0, c.shape[0] - op.kernel[0] + 1, op.stride[0])
                            ]
                            for c in x
                        ]
                    )
                )
            case _:
                raise AssertionError(op)
    return x


def compared(ops, shape, count=40, zero=None):
    """The import, with scores compared with `direct` and with the chain as its own interpreter."""
    chain = OpChain("net", shape, tuple(ops))
    found = lower(sharpened(chain), Bits(), zero=zero)
    size = int(np.prod(shape))
    X = (
        np.array(list(product((0, 1), repeat=size)))
        if size <= 8
        else np.random.default_rng(0).integers(0, 2, (count, size))
    )
    expected = np.array([direct(ops, row.reshape(shape)) for row in X * 2.0 - 1])
    assert np.abs(found.network.logits(X) - expected).max() <= 1e-9
    return prove_import(found, chain, [interpreter_of_chain(chain)], Bits(), declared=zero is not None)


M = Maker(1)
START = (M.conv(4, 1, where="first"), M.norm(4), Sign("s0"))
MAPS = {
    "one block": (
        *START,
        Branches("add", ((M.conv(4, 4), M.norm(4), Sign("s1")), ())),
        M.conv(3, 4),
        M.norm(3),
    ),
    "three in a row": (
        *START,
        Branches("a", ((), (M.conv(4, 4), M.norm(4), Sign("s1")))),
        Branches("b", ((M.conv(4, 4), M.norm(4), Sign("s2")), ())),
        Branches("c", ((M.conv(4, 4), M.norm(4), Sign("s3")), ())),
        M.norm(4),
    ),
    "nested": (
        *START,
        Branches(
            "out",
            (
                (
                    M.conv(4, 4),
                    M.norm(4),
                    Sign("s1"),
                    Branches("in", ((M.conv(4, 4), M.norm(4), Sign("s2")), ())),
                ),
                (),
            ),
        ),
        M.conv(3, 4),
        M.norm(3),
    ),
    "a sign within a branch": (
        *START,
        Branches("a", ((M.conv(4, 4), M.norm(4), Sign("s1")), ())),
        Branches("b", ((M.norm(4), Sign("s2"), M.conv(4, 4), M.norm(4), Sign("s3")), ())),
        M.conv(3, 4),
        M.norm(3),
    ),
    "two strides": (
        *START,
        Branches(
            "a",
            (
                (M.conv(6, 4, stride=2), M.norm(6), Sign("s1"), M.conv(6, 6), M.norm(6), Sign("s2")),
                (M.conv(6, 4, 1, 0, 2), M.norm(6), Sign("s3")),
            ),
        ),
        M.conv(3, 6),
        M.norm(3),
    ),
    "groups": (
        *START,
        Branches("a", ((M.conv(4, 4, groups=4), M.norm(4), Sign("s1")), ())),
        M.conv(4, 4, groups=2),
        M.norm(4),
    ),
    "bits of 0 and 1": (
        *START[:2],
        Sign("s0", 1, 0.0, 1.0),
        Branches("a", ((M.conv(4, 4), M.norm(4), Sign("s1", -1, 0.0, 1.0)), ())),
        M.conv(3, 4),
        M.norm(3),
    ),
    "taken away": (
        *START,
        Branches("a", ((M.conv(4, 4), M.norm(4), Sign("s1"), Affine("n", -np.ones(1), np.zeros(1))), ())),
        M.conv(3, 4),
        M.norm(3),
    ),
    "scaled branch": (
        *START,
        Branches("a", ((M.conv(4, 4), M.norm(4), Sign("s1"), Affine("n", np.full(1, 2.0), np.zeros(1))), ())),
        M.conv(3, 4),
        M.norm(3),
    ),
    "averages in a branch": (
        *START,
        Branches(
            "a",
            (
                (AveragePool("p", (2, 2), (2, 2)), M.norm(4), Sign("s1")),
                (M.conv(4, 4, 2, 0, 2), M.norm(4), Sign("s2")),
            ),
        ),
        M.conv(3, 4),
        M.norm(3),
    ),
    "pooled before": (
        *START,
        MaxPool("m", (2, 2), (1, 1)),
        Branches("a", ((M.conv(4, 4), M.norm(4), Sign("s1")), ())),
        M.conv(3, 4),
        M.norm(3),
    ),
    "pooled behind": (
        *START,
        Branches("a", ((M.conv(4, 4), M.norm(4), Sign("s1")), ())),
        MaxPool("m", (2, 2), (1, 1)),
        M.norm(4),
    ),
    "a real branch": (*START, Branches("a", ((M.conv(4, 4), M.norm(4)), ()))),
    "a real branch and two terms": (
        *START,
        Branches("a", ((M.conv(4, 4), M.norm(4), Sign("s1")), ())),
        Branches("b", ((M.conv(4, 4), M.norm(4)), ())),
    ),
    "a real branch without a norm": (
        *START,
        Branches("a", ((M.conv(4, 4), Affine("n", M.floats(4), M.floats(4))), ())),
        M.norm(4),
    ),
    "itself": (*START, Branches("a", ((), ())), M.conv(3, 4), M.norm(3)),
}


def scaled(channels):
    return Affine(
        "scaled", M.rng.choice([0.5, -1.0, 2.0], channels), M.rng.choice([0.25, -1.5, 0.0], channels)
    )


STREAM = (
    *START,
    M.conv(4, 4, where="stem"),
    Branches("a", ((Sign("s1"), M.conv(4, 4), scaled(4)), ())),
    Branches("b", ((Sign("s2"), M.conv(4, 4, size=1, pad=0)), (scaled(4),))),
)
BI_REAL = (
    *START,
    Branches("a", ((M.conv(4, 4), M.norm(4)), ())),
    Branches("b", ((Sign("s1"), M.conv(4, 4), M.norm(4)), ())),
)
MAPS["blocks as in Bi-Real Net"] = (*BI_REAL, M.norm(4))
MAPS["a real start, as in Bi-Real Net"] = (
    *(*START, M.conv(4, 4, where="stem"), M.norm(4)),
    Branches("a", ((Sign("s1"), M.conv(4, 4), M.norm(4)), ())),
    M.norm(4),
    Branches("b", ((), (Sign("s2"), M.conv(4, 4, size=1, pad=0), M.norm(4)))),
)
MAPS["a real clip beside -1 and +1"] = (
    *START,
    Branches("a", ((M.conv(4, 4), M.norm(4), Clip("hard", -1.0, 1.5)), ())),
    M.norm(4),
)


def picks(*channels, ins):
    rows = np.array(channels)[:, None] == np.arange(ins)
    return Convolution("picks", rows[:, :, None, None].astype(float))


MAPS["joined channels, as in real dense networks"] = (
    *START,
    Branches(
        "cat", ((picks(0, 1, 2, 3, -1, -1, ins=4),), (M.conv(2, 4), picks(-1, -1, -1, -1, 0, 1, ins=2)))
    ),
    Branches("b", ((Sign("s1"), M.conv(6, 6, size=1, pad=0), M.norm(6)), ())),
    M.norm(6),
)
MAPS["halves and shuffled channels"] = (
    *START,
    Branches(
        "cat",
        (
            (picks(0, 1, ins=4), M.conv(2, 2), M.norm(2), Sign("s1"), picks(0, -1, 1, -1, ins=2)),
            (picks(3, 3, ins=4), picks(-1, 0, -1, 1, ins=2)),
        ),
    ),
    M.conv(3, 4),
    M.norm(3),
)
MAPS["a real stream"] = (*STREAM, M.norm(4))
MAPS["a real stream of scaled parts"] = (*STREAM, scaled(4), Branches("c", ((), (Sign("s3"), M.conv(4, 4)))))
ENDS = ("signs", "float", "gap")
FIRST = [
    (name, "signs" if "real" in name or "pooled b" in name else ENDS[k % 3]) for k, name in enumerate(MAPS)
]


@pytest.mark.parametrize(
    ("name", "end"),
    [pytest.param(*pair, marks=[] if pair in FIRST else [pytest.mark.slow]) for pair in product(MAPS, ENDS)],
)
def test_maps_with_shortcuts(name, end):
    ops, maker = MAPS[name], Maker(3)
    if end == "signs" or "real" in name or name == "pooled behind":
        ops = (*ops, Sign("last"))
    shape = direct(ops, np.ones((1, 4, 4))).shape
    tail = {"gap": (AveragePool("gap"), Flatten("f"), LinearOp("out", maker.floats(3, shape[0])))}.get(
        end, (Flatten("f", "HWC"), LinearOp("out", maker.floats(3, int(np.prod(shape)))))
    )
    found = compared((*ops, *tail), (1, 4, 4), count=30)
    assert found.proof.bits > 0


def test_layers_are_binary_and_carry_what_is_needed_alone():
    found = compared(
        (*MAPS["three in a row"], Sign("s4"), Flatten("f"), LinearOp("out", M.signs(3, 64))), (1, 4, 4)
    )
    assert [layer.outputs // 16 for layer in found.network.layers] == [4, 8, 12, 16, 4]
    assert [report.carried // 16 for report in found.layers] == [0, 4, 8, 12, 0]
    assert all(isinstance(layer, ConvLayer) for layer in found.network.layers)
    assert "128 of them carry a value of a shortcut" in str(found)
    strided = compared(
        (*MAPS["two strides"], Sign("s4"), Flatten("f"), LinearOp("out", M.signs(3, 12))), (1, 4, 4)
    )
    assert [report.carried for report in strided.layers] == [0, 0, 24, 0]


@given(st.integers(0, 2**32), st.integers(1, 3), st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_of_dense_layers(seed, blocks, data):
    """Every input of small networks: sums of branches in any nesting."""
    maker, width = Maker(seed), 4

    def branch(depth):
        kind = data.draw(st.integers(0, 3 if depth else 2))
        layer = (maker.linear(width, width, f"fc{seed % 97}"), maker.norm(width), Sign("s"))
        if kind == 0:
            return ()
        if kind == 1:
            return layer
        if kind == 2:
            return (*layer, maker.linear(width, width), maker.norm(width), Sign("t", -1))
        return (Branches("in", (branch(depth - 1), branch(depth - 1))), maker.norm(width), Sign("u"))

    ops = [maker.linear(width, 6), maker.norm(width), Sign("s0")]
    ops += [Branches(f"add {k}", (branch(1), branch(1))) for k in range(blocks)]
    if data.draw(st.booleans()):
        ops += [maker.norm(width), Sign("end")]
    compared((*ops, LinearOp("out", maker.floats(3, width), maker.floats(3))), (6,))


def test_random_streams_of_real_values():
    """Shortcuts of dense layers without signs: integer combinations of all layers so far, also as scores."""
    for seed in range(6):
        maker, width = Maker(seed), 4
        ops = [maker.linear(width, 6), Sign("s0"), maker.linear(width, width, "stem")]
        for k in range(2):
            block = (Sign(f"s{k + 1}"), maker.linear(width, width, f"fc{k}"))
            scale = Affine(
                "scale", maker.rng.choice([0.5, 1.0, -2.0], width), maker.rng.choice([0.25, 1.5], width)
            )
            ops.append(Branches(f"add {k}", ((*block, scale), ()) if seed % 2 else ((scale,), block)))
        if seed % 3:
            ops += [maker.norm(width), Clip("clip", -1.0, 1.0), Sign("end")]
        compared((*ops, LinearOp("out", maker.floats(3, width), maker.floats(3))), (6,), zero=1)


def test_random_streams_with_batch_norms():
    """Every input of small networks: blocks of a linear layer and a batch norm, added up without signs."""
    for seed in range(8):
        maker, width = Maker(seed), 4
        ops = [maker.linear(width, 6), maker.norm(width), Sign("s0")]
        ops += [maker.linear(width, width, "stem"), maker.norm(width)] if seed % 2 else []
        for k in range(1 + seed % 3):
            block = (Sign(f"s{k + 1}"), maker.linear(width, width, f"fc{k}"), maker.norm(width))
            ops.append(Branches(f"add {k}", (block[seed % 2 == 0 and k == 0 :], ())))
            ops += [maker.norm(width)] if seed == 5 else []
        ops += [maker.norm(width), Sign("end")] if seed % 4 == 0 else []
        compared((*ops, LinearOp("out", maker.floats(3, width), maker.floats(3))), (6,))


def test_shortcuts_from_raw_bits():
    """Branches that begin at the raw inputs, if they are declared as bits."""
    maker = Maker(3)
    block = (maker.linear(6, 6), maker.norm(6))
    for ops in (
        (Branches("a", (block, ())), Sign("s")),
        (Branches("a", ((*block, Sign("s")), ())), maker.linear(4, 6), Sign("t")),
        (maker.linear(4, 6, "stem"), maker.norm(4), Branches("a", ((Sign("s"), maker.linear(4, 4)), ()))),
    ):
        width = direct(ops, np.ones(6)).size
        chain = OpChain("net", (6,), (*ops, LinearOp("out", maker.floats(3, width))))
        compared(chain.ops, (6,))
        with pytest.raises(FileError, match="inputs=Bits\\(\\) if raw samples are bits"):
            lower(chain)
        found = lower(chain, Bits(-3, 2))
        X = np.array(list(product((-3, 2), repeat=6)))
        expected = [direct(chain.ops, row.astype(float)) for row in X]
        assert np.abs(found.network.logits(X == 2) - expected).max() <= 1e-9


def test_ties_are_ties_of_the_file():
    """Whole thresholds that sums meet: what sign(0) is decides, and the report says so."""
    first, inner = LinearOp("a", np.ones((2, 3))), LinearOp("b", np.array([[1.0, 1.0], [1.0, -1.0]]))
    for zero in (1, -1):
        ops = (
            first,
            Sign("s0"),
            Branches("add", ((inner, Sign("s1", zero)), ())),
            LinearOp("out", np.eye(2)),
        )
        found = compared(ops, (3,))
        assert found.layers[1].ties == 2
    neither = (first, Sign("s0"), Branches("add", ((inner, Sign("s1", 0)), ())), LinearOp("out", np.eye(2)))
    with pytest.raises(FileError, match=r"a sum of exactly zero can occur.*Declare zero=1 or zero=-1"):
        lower(OpChain("net", (3,), neither), Bits())
    assert lower(OpChain("net", (3,), neither), Bits(), zero=-1).layers[1].ties == 2


def test_relu_in_a_branch_is_a_step_like_any_other():
    ops = (
        M.linear(4, 6),
        M.norm(4),
        Sign("s0"),
        Branches("a", ((M.linear(4, 4), Clip("relu", 0.0, np.inf), M.norm(4), Sign("s1")), ())),
    )
    compared((*ops, LinearOp("out", M.floats(3, 4))), (6,))


def test_questions_about_networks_with_shortcuts():
    maker = Maker(11)
    ops = (
        maker.linear(6, 7),
        maker.norm(6),
        Sign("s0"),
        Branches("a", ((maker.linear(6, 6), maker.norm(6), Sign("s1")), ())),
        maker.linear(5, 6),
        maker.norm(5),
        Sign("s2"),
        LinearOp("out", maker.floats(3, 5)),
    )
    network = compared(ops, (7,)).network
    assert all(isinstance(layer, DenseLayer) for layer in network.layers)
    X = np.array(list(product((0, 1), repeat=7)))
    labels = np.array([direct(ops, row).argmax() for row in X * 2.0 - 1])
    for place in (0, 55, 101):
        apart = (X[place] != X).sum(axis=1)
        answer = sg.verify(network, sg.Robust(X[place], sg.L0(2)))
        assert isinstance(answer, sg.Proved) == (labels[apart <= 2] == labels[place]).all()
        sg.check(answer.certificate, network)
        assert sg.count(network, X[place], sg.L0(2)).counts == tuple(
            int((labels[apart <= 2] == k).sum()) for k in range(3)
        )


REFUSED = [
    (
        (Branches("add", ((M.conv(1, 1), Sign("s")), ())),),
        "begins at the raw inputs, which is not -1 and \\+1",
    ),
    ((*START[:2], Branches("add", ((Sign("s"), M.conv(4, 4)), ()))), "begins at what bn gives"),
    (
        (*START, Branches("add", tuple((M.conv(4, 4), M.norm(4)) for _ in range(6))), Sign("s")),
        "channel 0 adds 6 values whose scales have no common unit, and no integer weights .* Put a sign",
    ),
    (
        (
            *START,
            Branches("a", ((M.conv(4, 4), M.norm(4), Clip("relu", 0.0, np.inf)), ())),
            Branches("b", ((Sign("s"), M.conv(4, 4)), ())),
        ),
        "conv: a shortcut adds values after steps that are clipped or bent. Put a sign before",
    ),
    (
        (
            *START,
            Branches("a", ((M.conv(4, 4), M.norm(4)), ())),
            MaxPool("max", (2, 2), (2, 2)),
            Flatten("f"),
            LinearOp("out", M.floats(3, 16)),
        ),
        r"max: MaxPool of a real value that a shortcut was added to \(conv\)",
    ),
    (
        (
            *START,
            Branches(
                "add",
                (
                    (M.conv(6, 4, stride=2), M.norm(6), Sign("s"), M.conv(6, 6), M.norm(6), Sign("t")),
                    (AveragePool("p", (2, 2), (1, 1), (0, 0, 1, 1)),),
                ),
            ),
        ),
        "windows count more values",
    ),
    (
        (
            *START,
            Branches("add", ((M.conv(4, 4, stride=2), M.norm(4), Sign("s")), (M.conv(4, 4, stride=2),))),
        ),
        "carried past a layer that",
    ),
    (
        (*START, Branches("add", ((M.conv(4, 4, stride=2), M.norm(4), Sign("s")), ()))),
        r"it adds values of shapes \(4, 2, 2\) and \(4, 4, 4\)",
    ),
    (
        (M.conv(4, 1), rounded("q", 0, 3), Branches("add", ((M.conv(4, 4), Sign("s")), ()))),
        "on several levels",
    ),
    (
        (*START, Branches("add", ((Pad("pad", (1, 1, 1, 1), 1.0), M.conv(4, 4, pad=0), Sign("s")), ()))),
        "pad: Pad inside a branch cannot be carried along",
    ),
    ((*START, Branches("add", ((M.conv(4, 4), M.norm(4), Sign("s")), ()))), "ends with a sum of branches"),
]


@pytest.mark.parametrize(("ops", "why"), REFUSED)
def test_what_cannot_be_carried_is_refused_by_name(ops, why):
    with pytest.raises(FileError, match=why):
        lower(OpChain("net", (1, 4, 4), ops), Integers(0, 255))


def test_a_wrong_reading_of_a_shortcut_is_noticed(monkeypatch):
    """The comparison with the source sees a lane that is left out, and names where."""
    ops = (*MAPS["one block"], Sign("s"), Flatten("f"), LinearOp("out", M.floats(3, 48)))
    chain = OpChain("net", (1, 4, 4), ops)
    found = lower(chain, Bits())
    (block,) = [op for op in ops if isinstance(op, Branches)]
    other = tuple(replace(op, branches=(op.branches[0],)) if op is block else op for op in ops)
    judge = interpreter_of_chain(replace(chain, ops=other))
    with pytest.raises(FileError, match="first difference is at conv"):
        prove_import(found, chain, [judge], Bits())
    real = branches.smallest_sum
    monkeypatch.setattr(
        branches,
        "smallest_sum",
        lambda *given: (
            found if isinstance(found := real(*given), bool) else found._replace(least=found.least + 1)
        ),
    )
    wrong = lower(chain, Bits())
    with pytest.raises(FileError, match="first difference is at conv"):
        prove_import(wrong, chain, [interpreter_of_chain(chain)], Bits())


def test_a_straight_chain_is_the_same_function():
    from sugenet.io.exact.evaluation import laid_out, passed

    ops = (*MAPS["nested"], Sign("s"), Flatten("f"), LinearOp("out", M.floats(3, 48)))
    chain = OpChain("net", (1, 4, 4), ops)
    made = straightened(chain)
    assert not any(isinstance(op, Branches) for op in made.chain.ops)
    X = M.signs(40, 16)
    assert np.array_equal(passed(made.chain.ops, laid_out(chain, X)), passed(ops, laid_out(chain, X)))
    assert [[part.number for part in parts] for parts in made.parts] == [[0], [1], [2], [3]]
