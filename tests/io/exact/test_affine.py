"""Raw inputs that are rescaled in front of the first layer: by channel, by feature, by batch norm; whole
numbers and real ones, against a twin in fractions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import FileError, QuestionError
from sugenet.io.exact.lower import lower
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
from sugenet.io.exact.steps import Pipeline, Root
from sugenet.io.exact.units import Roots, in_common_units, wide_row
from sugenet.io.native.file import network_bytes, network_from
from sugenet.nn import ConvLayer, LevelLayer, RealLayer
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from tests.io.affine_twin import followed, root
from tests.io.queries import around
from tests.thinned import examples

PIXELS = sg.Integers(0, 255, step=Fraction(1, 255))
MEAN, STD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
INVERSE = np.array([1 / Fraction(float(s)) for s in STD], dtype=object)


def signs(rng, *shape):
    return rng.choice([-1.0, 1.0], shape)


def norm(rng, count, name="bn"):
    gamma, beta, mean = (rng.normal(size=count).astype(np.float32) for _ in range(3))
    return BatchNorm(name, gamma, beta, mean, (rng.random(count) + 0.1).astype(np.float32), 1e-5)


def conv_chain(rng, *first_layer, channels=3, pads=(1, 1, 1, 1), groups=1, pool=False, behind=True):
    kernel = Convolution("conv", signs(rng, 6, channels // groups, 3, 3), None, (1, 1), (1, 1), pads, groups)
    ops = [*first_layer, kernel, *([norm(rng, 6)] if behind else [])]
    side = (
        6
        - 2
        + (pads[0] + pads[2] if any(pads) else 0)
        + sum(op.pads[0] * 2 for op in first_layer if isinstance(op, Pad))
    )
    if pool:
        ops, side = [*ops, MaxPool("pool", (2, 2), (2, 2))], side // 2
    ops += [Sign("sign"), Flatten("flat"), LinearOp("out", signs(rng, 4, 6 * side * side))]
    return OpChain("net", (channels, 6, 6), tuple(ops))


def dense_chain(rng, *first_layer, features=7, weights=None, zero=1):
    hidden = signs(rng, 9, features) if weights is None else weights
    ops = (
        *first_layer,
        LinearOp("fc", hidden),
        norm(rng, 9),
        Sign("sign", zero),
        LinearOp("out", signs(rng, 4, 9)),
    )
    return OpChain("net", (features,), ops)


def assert_equal(chain, inputs, X, found=None):
    """Hidden bits and scores of all samples are those of the twin; bits do not depend on the engine."""
    network = (found or lower(chain, inputs)).network
    bits, scores = network.hidden(X)[0], network.head.scores(network.match_counts(X))
    assert np.array_equal(bits, network.hidden(X, engine="numpy")[0])
    assert np.array_equal(network.match_counts(X), network.match_counts(X, engine="numba"))
    for row, mine, known in zip(X.tolist(), bits, scores, strict=True):
        values = [inputs.value(x) for x in row] if isinstance(inputs, sg.Integers) else row
        theirs, given = followed(chain.ops, values, chain.shape)
        if not any(isinstance(op, MaxPool) for op in chain.ops):
            assert mine.tolist() == theirs[0]
        assert list(known) == given
    return network


FRONTS = {
    "divided by std": lambda _: (Affine("sub", np.ones(1), -MEAN), Affine("div", INVERSE, np.zeros(1))),
    "times 1/std": lambda _: (Affine("scale", 1 / STD, -MEAN),),
    "decimals": lambda _: (
        Affine("scale", np.array([Fraction(1000, v) for v in (229, 224, 225)], object), np.array([-2, 0, 1])),
    ),
    "negative and zero": lambda _: (Affine("scale", np.array([-0.3, 0.0, 0.7]), np.array([0.1, 0.2, 0.3])),),
    "batch norm": lambda rng: (norm(rng, 3, "bn0"),),
    "scale, then batch norm": lambda rng: (
        Affine("scale", np.array([2.0]), np.array([-1.0])),
        norm(rng, 3, "bn0"),
    ),
}


@pytest.mark.parametrize("name", FRONTS)
@pytest.mark.parametrize("real", [False, True])
def test_channels_are_rescaled(name, real):
    """Padding is zero behind the rescaling: borders have constants of their own."""
    rng = np.random.default_rng(len(name))
    chain = conv_chain(rng, *FRONTS[name](rng))
    X = rng.normal(size=(6, 108)) if real else rng.integers(0, 256, (6, 108))
    network = assert_equal(chain, sg.Reals() if real else PIXELS, X)
    assert isinstance(network.layers[0], RealLayer if real else ConvLayer)
    assert network_from(network_bytes(network)) == network


@pytest.mark.parametrize("name", ["times 1/std", "batch norm"])
@pytest.mark.parametrize("inputs", [PIXELS, sg.Reals(0, 255)])
def test_averages_of_the_first_sums(name, inputs):
    """They stay sums of real numbers, and are off by as much as the sums are."""
    rng = np.random.default_rng(21)
    kernel = Convolution("conv", signs(rng, 4, 3, 3, 3), None, (1, 1), (1, 1), (0, 0, 0, 0), 1)
    ops = (*FRONTS[name](rng), kernel, AveragePool("mean", (2, 2), (1, 1)), Sign("sign"), Flatten("flat"))
    chain = OpChain("net", (3, 6, 6), (*ops, LinearOp("out", signs(rng, 4, 36))))
    found = lower(chain, inputs)
    X = rng.integers(0, 256, (5, 108)) / (1 if inputs is PIXELS else 4)
    network = assert_equal(chain, inputs, X.astype(int) if inputs is PIXELS else X, found)
    assert isinstance(network.layers[0], LevelLayer if inputs is PIXELS else RealLayer)
    assert any("square roots" in remark for remark in found.remarks) == (name == "batch norm")


@pytest.mark.parametrize("real", [False, True])
def test_shapes_of_convolutions(real):
    """Groups, pooling in front of the sign, padding in front of the rescaling, channels last."""
    rng = np.random.default_rng(5)
    first_layer = FRONTS["times 1/std"](rng)
    around = (Pad("pad", (1, 1, 1, 1), 0.5), *first_layer)
    for chain in (
        conv_chain(rng, *first_layer, groups=3, pads=(0, 0, 0, 0)),
        conv_chain(rng, *first_layer, pool=True),
        conv_chain(rng, *around, pads=(0, 0, 0, 0)),
    ):
        X = rng.normal(size=(4, 108)) if real else rng.integers(0, 256, (4, 108))
        assert_equal(chain, sg.Reals() if real else PIXELS, X)
    chain = conv_chain(rng, *first_layer)
    last = OpChain("net", chain.shape, chain.ops, channels_last=True)
    first, inputs = lower(chain, sg.Reals() if real else PIXELS).network, sg.Reals() if real else PIXELS
    X = rng.normal(size=(8, 3, 6, 6)) if real else rng.integers(0, 256, (8, 3, 6, 6))
    turned = lower(last, inputs).network
    assert np.array_equal(turned.hidden(X.transpose(0, 2, 3, 1))[0], first.hidden(X.reshape(8, -1))[0])


def test_a_batch_norm_before_padding_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(FileError, match=r"batch norm of padded values.*Pad after it"):
        lower(conv_chain(rng, Pad("pad", (1, 1, 1, 1), 0.5), norm(rng, 3)), PIXELS)
    with pytest.raises(FileError, match=r"conv: the inputs are clipped.*Clip the samples before"):
        lower(conv_chain(rng, Clip("clip", 0.0, 0.5)), PIXELS)


floats = st.floats(-4, 4, width=32).filter(lambda v: v == 0 or abs(v) > 1e-6) | st.sampled_from(
    [0.0, -1.0, 1e-30, 2.0**-20, 0.1, 1 / 3]
)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(floats, min_size=5, max_size=5),
    st.lists(floats, min_size=5, max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_any_scale_and_shift_of_features(seed, scale, shift, real, falls):
    """Negative, zero and tiny factors, of whole numbers and real ones; at sums that meet their threshold."""
    rng = np.random.default_rng(seed)
    chain = dense_chain(
        rng, Affine("scale", np.array(scale), np.array(shift)), features=5, zero=-1 if falls else 1
    )
    inputs = sg.Reals() if real else sg.Integers(-3, 9, step=Fraction(1, 4), start=Fraction(-1, 2))
    X = rng.normal(size=(4, 5)) if real else rng.integers(-3, 10, (4, 5))
    assert_equal(chain, inputs, X)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_batch_norms_of_features(seed, real):
    rng = np.random.default_rng(seed)
    first_layer = norm(rng, 5, "bn0")
    first_layer.gamma[rng.integers(5)] = 0
    chain = dense_chain(rng, first_layer, features=5)
    inputs = sg.Reals() if real else sg.Integers(0, 20)
    found = lower(chain, inputs)
    assert_equal(chain, inputs, rng.normal(size=(4, 5)) if real else rng.integers(0, 21, (4, 5)), found)
    assert "square roots, or no short common unit" in found.remarks[0]


def test_exact_ties_keep_the_rule_for_zero():
    """0.1 (x0 - x1) is zero exactly where both are equal, whatever float 0.1 is."""
    weights = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for zero, on in ((1, True), (-1, False)):
        ops = (
            Affine("scale", np.array([0.1, 0.1]), np.zeros(1)),
            LinearOp("fc", weights),
            Sign("sign", zero),
        )
        chain = OpChain("net", (2,), (*ops, LinearOp("out", np.eye(2))))
        for inputs in (PIXELS, sg.Reals()):
            X = np.array([[7, 7], [3, 4]]) if inputs is PIXELS else np.array([[0.1, 0.1], [0.0, 5e-324]])
            bits = lower(chain, inputs).network.hidden(X)[0]
            assert bits.tolist() == [[on, on], [False, True]]
    ops = (LinearOp("fc", weights), Sign("sign", 0), LinearOp("out", np.eye(2)))
    with pytest.raises(FileError, match="Declare zero=1 or zero=-1"):
        lower(OpChain("net", (2,), ops), sg.Reals())


def test_one_channel_keeps_small_weights_and_proves_its_root():
    rng = np.random.default_rng(3)
    found = lower(conv_chain(rng, norm(rng, 1, "bn0"), channels=1), PIXELS)
    assert np.abs(found.network.layers[0].weights).max() == 1
    assert found.remarks == (
        "conv: its inputs are rescaled with a square root that is kept to 192 bits; no sum of integers "
        "is so near a threshold that the rest matters",
    )


def test_weights_that_are_floats_are_exact_over_raw_inputs():
    rng = np.random.default_rng(4)
    weights = rng.normal(size=(9, 7)).astype(np.float32)
    for inputs, X in ((PIXELS, rng.integers(0, 256, (6, 7))), (sg.Reals(), rng.normal(size=(6, 7)))):
        chain = dense_chain(rng, Affine("scale", rng.random(7), rng.random(7)), weights=weights)
        found = lower(chain, inputs)
        assert_equal(chain, inputs, X, found)
        assert "its weights are floats, taken as the exact numbers that they are" in found.remarks[0]
    kernel = Convolution("conv", rng.normal(size=(2, 3, 3, 3)), np.array([0.25, -0.5]), pads=(1, 0, 0, 1))
    ops = (norm(rng, 3, "bn0"), kernel, Sign("sign"), Flatten("flat"), LinearOp("out", signs(rng, 2, 18)))
    for inputs, X in ((PIXELS, rng.integers(0, 256, (4, 48))), (sg.Reals(), rng.normal(size=(4, 48)))):
        assert_equal(OpChain("net", (3, 4, 4), ops), inputs, X)
    with pytest.raises(FileError, match="row 0 of the weights is not quantized"):
        lower(
            OpChain("net", (7,), (LinearOp("fc", weights), Sign("s"), LinearOp("out", np.ones((2, 9))))),
            sg.Bits(),
        )


def test_quantizers_of_real_sums_are_refused():
    from sugenet.io.exact.ops import rounded

    ops = (LinearOp("fc", np.ones((3, 2))), rounded("quant", 0, 3), LinearOp("out", np.ones((2, 3))))
    with pytest.raises(FileError, match=r"a quantizer of sums of real numbers.*inputs=Integers"):
        lower(OpChain("net", (2,), ops), sg.Reals())


# -- parts ---------------------------------------------------------------------------------------------------


@given(st.fractions(Fraction(1, 10**6), 10**6), st.fractions(Fraction(1, 1000), 1000))
def test_roots_are_near_and_share(value, ratio):
    roots = Roots()
    near, off = roots.inverse(value)
    other, _ = roots.inverse(value * ratio**2)
    assert near <= 1 / root(value) * (1 + Fraction(1, 10**90))
    assert abs(near - 1 / root(value)) <= off + Fraction(1, 10**80)
    assert off <= near / 2**180
    assert near / other == ratio


@given(
    st.fractions(-5, 5),
    st.fractions(-5, 5),
    st.fractions(-5, 5),
    st.fractions(Fraction(1, 100), 9),
    st.fractions(-9, 9),
)
def test_the_error_of_a_straight_line_is_a_bound(gamma, beta, mean, v, x):
    line = Roots().straight(
        Pipeline(((Fraction(3), Fraction(-1)), Root(gamma, beta, mean, v), (Fraction(-2), beta)))
    )
    exact = -2 * (gamma * (3 * x - 1 - mean) / root(v) + beta) + beta
    assert abs(line.scale * x + line.shift - exact) <= line.error(abs(x)) + Fraction(1, 10**80)


@given(st.lists(st.fractions(-3, 3, max_denominator=10**9), min_size=1, max_size=6), st.integers(1, 10**6))
def test_common_units_are_exact_or_rounded_by_half_a_unit(factors, weight):
    found = in_common_units(factors, weight, "here")
    for factor, whole, error in zip(factors, found.whole, found.errors, strict=True):
        assert abs(factor - whole * found.unit) == error <= found.unit / 2
        assert abs(whole) * weight < 1 << 56
    row = wide_row(factors, weight, "here")
    assert sum(map(abs, row.whole)) * weight < 1 << 56
    moved = sum((abs(f - w * row.unit) for f, w in zip(factors, row.whole, strict=True)), Fraction(0))
    assert moved == row.error


def test_factors_that_leave_no_range_are_refused():
    with pytest.raises(FileError, match="leave no room to keep these to more than 26 bits"):
        in_common_units([Fraction(1, 3**40), Fraction(1)], 1 << 30, "scale")


# -- questions -----------------------------------------------------------------------------------------------


def test_questions_about_whole_numbers():
    """Robust, minimum changes and counts of a network with a wide first layer, against brute force."""
    rng = np.random.default_rng(8)
    chain = dense_chain(rng, norm(rng, 3, "bn0"), features=3)
    network = lower(chain, sg.Integers(0, 3)).network
    assert isinstance(network.layers[0], LevelLayer)
    assert network.layers[0].sizes.max() > 1 << 40
    X = np.array(np.meshgrid(*[range(4)] * 3)).reshape(3, -1).T
    labels = network.predict(X)
    assert len(set(labels.tolist())) > 1
    x = X[21]
    inside = np.abs(X - x).max(axis=1) <= 1
    answer = sg.verify(network, sg.Robust(x, sg.Linf(1)), engine="dual")
    assert (type(answer).__name__ == "Proved") == (set(labels[inside]) == {labels[21]})
    sg.check(answer.certificate, network)


def test_whole_number_questions_of_real_inputs_are_refused_with_the_way():
    rng = np.random.default_rng(9)
    network = lower(dense_chain(rng, features=3), sg.Reals()).network
    x = [0.1, 0.2, 0.3]
    for ask in (
        lambda: sg.whatif(network, x),
        lambda: sg.why(network, x, sg.AnyInput()),
        lambda: sg.count(network),
        lambda: sg.verify(network, sg.Monotone(0)),
        lambda: sg.verify(network, sg.Fair([0])),
        lambda: sg.verify(network, sg.Robust(x, sg.L0(1))),
    ):
        with pytest.raises(QuestionError, match=r"real (numbers|inputs).*inputs=Integers"):
            ask()
    with pytest.raises(QuestionError, match=r"x1 has no bound below.*inputs=Reals\(low, high\)"):
        sg.verify(network, sg.Always(0))


def test_thresholds_are_as_far_apart_as_rounded_factors_can_matter():
    """The exact sign at real values is that of the layer wherever its thresholds say one."""
    rng = np.random.default_rng(11)
    first_layer = norm(rng, 5, "bn0")
    chain = dense_chain(rng, first_layer, features=5)
    found = lower(chain, sg.Reals(0, 20))
    layer, seen = found.network.layers[0], 0
    assert found.network.source.outputs == "equal"
    assert "boxes of real inputs allow for the rest" in found.remarks[0]
    for _ in range(40):
        x = [Fraction(int(v), 8) for v in rng.integers(0, 161, 5)]
        (exact, *_), _ = followed(chain.ops, x, (5,))
        for row, (low, high), on in zip(layer.weights.tolist(), layer.theta, exact, strict=True):
            s = sum(w * v for w, v in zip(row, x, strict=True))
            assert 0 < (high - low) / max(map(abs, row)) < Fraction(1, 2**40)
            assert on if s >= high else not on if s < low else True
            seen += not low <= s < high
    assert seen > 350


def test_queries_about_a_file_need_bounds_where_factors_are_rounded():
    rng = np.random.default_rng(11)
    chain = dense_chain(rng, norm(rng, 5, "bn0"), features=5)
    found, query = lower(chain, sg.Reals()), around([1] * 5, 1, 0, 4)
    assert found.network.source.outputs == "other"
    with pytest.raises(QuestionError, match=r"the rest may matter: inputs=Reals\(low, high\)"):
        sg.verify(found.network, query)
    assert sg.verify(lower(chain, sg.Reals(0, 2)).network, query).outcome != "undecided"
    sg.check(sg.verify(found.network, sg.Robust([1.0] * 5, sg.Linf(1))).certificate, found.network)


def test_boxes_of_reals_over_a_wide_first_layer():
    """Levels of the box itself keep the grid fine; what is proved holds at sampled points, by the twin."""
    rng = np.random.default_rng(12)
    chain = dense_chain(rng, norm(rng, 5, "bn0"), features=5)
    network = lower(chain, sg.Reals(0, 20)).network
    kinds = set()
    for number in range(8):
        x = [Fraction(int(v)) for v in rng.integers(8, 14, 5)]
        label, wide = (
            int(network.predict([[int(v) for v in x]])[0]),
            Fraction(8) if number % 2 else Fraction(1, 40),
        )
        way = [[Inequality({k: 1, label: -1}, 1)] for k in range(4) if k != label]
        box = QueryBox([v - wide for v in x], [v + wide / 2 for v in x])
        answer = sg.verify(network, Query(5, 4, [Case(box, way)]))
        sg.check(answer.certificate, network)
        kinds.add(type(answer).__name__)
        if isinstance(answer, sg.reason.Refuted):
            _, scores = followed(chain.ops, answer.witness, (5,))
            assert max(scores) >= scores[label] + 1
            continue
        for _ in range(10):
            ends = zip(box.lower, box.upper, rng.integers(0, 6, 5), strict=True)
            _, scores = followed(chain.ops, [a + (b - a) * Fraction(int(k), 5) for a, b, k in ends], (5,))
            assert max(scores) < scores[label] + 1
    assert kinds == {"Proved", "Refuted"}


def test_steps_of_their_own_for_channels():
    """A normalization outside the file is the same as one inside, bits and source alike."""
    rng = np.random.default_rng(13)
    steps = [Fraction(1, 255) / Fraction(s) for s in ("0.229", "-0.224", "0.225")]
    starts = [Fraction(-2), Fraction(1, 3), Fraction(0)]
    plain = conv_chain(rng)
    inside = OpChain(
        "net", plain.shape, (Affine("scale", np.array(steps, object), np.array(starts, object)), *plain.ops)
    )
    outside = sg.Integers(0, 255, step=steps, start=starts)
    X = rng.integers(0, 256, (5, 108))
    one, two = lower(inside, sg.Integers(0, 255)).network, lower(plain, outside).network
    assert one == two
    assert_equal(inside, sg.Integers(0, 255), X)
    assert two.layers[0].sizes.max() < 1 << 31
    assert two.source.inputs(X[0].tolist())[40] == starts[1] + steps[1] * int(X[0, 40])
    again = network_from(network_bytes(two))
    assert again == two
    assert again.source == two.source
    last = lower(OpChain("net", plain.shape, plain.ops, channels_last=True), outside).network
    assert last.source.step[:3] == tuple(steps)
    low, high = two.source.turned(*([v] * 108 for v in (0, 1)))
    assert (low[0], low[36], high[36]) == (0, 1, 0)
    with pytest.raises(FileError, match="for each of 2 channels, but samples have 3"):
        lower(plain, sg.Integers(0, 255, step=[1, 2]))
    with pytest.raises(FileError, match="2 steps and 3 starts do not fit"):
        sg.Integers(0, 255, step=[1, 2], start=[0, 0, 0])
    with pytest.raises(FileError, match="step 0"):
        sg.Integers(0, 255, step=[1, 0])
