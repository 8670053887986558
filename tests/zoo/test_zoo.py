"""Public trained networks keep every bit: what their authors' formulas give in float64, the exact networks
give, and nothing else.

The files are found through the environment variable SUGENET_ZOO, a folder whose README says where they come
from and what is known about them. Where a fact below is not from there it was measured once and is stated
here so that a change is noticed.
"""

import os
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sugenet.nn import DenseLayer, Network, fold, simplify, summary
from tests.nn.evaluated import fold_by_evaluation
from tests.zoo import readers

ENGINES = ["numba", "numpy"]
NEAR_A_TIE = 1e-9
"""Below this a float64 value of batch norm may have the wrong sign;
its rounding errors are below 1e-13 in these networks.
"""


@dataclass(frozen=True)
class Facts:
    """Measured; the shapes are also in the names or the README."""

    shape: str
    constant: list[int]
    """Neurons of each hidden layer that never change."""
    flipped: list[int] | None
    """Neurons of each hidden layer whose batch norm has a negative scale;
    None for files that hold thresholds.
    """
    simplified: str


FACTS = {
    "msakai/mnist": Facts("784-200-100-100-100-10", [0, 0, 0, 2], [0, 0, 0, 8], "683-200-100-100-98-10"),
    "msakai/mnist_rot": Facts("784-200-100-100-100-10", [0, 0, 0, 5], [0, 0, 0, 6], "772-200-100-100-95-10"),
    "bnn_pynq/lfcW1A1_mnist": Facts("784-1024-1024-1024-10", [0, 0, 0], None, "784-1024-1024-1024-10"),
    "bnnquanalyst/mnist_bnn_1_blk_100_100_10": Facts("100-100-10", [2], [40], "100-98-10"),
    "bnnquanalyst/mnist_bnn_1_blk_100_50_10": Facts("100-50-10", [0], [19], "100-50-10"),
    "bnnquanalyst/mnist_bnn_1_blk_64_10_10": Facts("64-10-10", [0], [1], "64-10-10"),
    "bnnquanalyst/mnist_bnn_2_blk_100_50_20_10": Facts("100-50-20-10", [0, 1], [2, 6], "100-50-19-10"),
    "bnnquanalyst/mnist_bnn_2_blk_16_25_20_10": Facts("16-25-20-10", [0, 1], [0, 7], "16-25-19-10"),
    "bnnquanalyst/mnist_bnn_3_blk_25_25_25_20_10": Facts(
        "25-25-25-20-10", [0, 0, 6], [0, 0, 7], "25-25-25-14-10"
    ),
}


@dataclass(frozen=True)
class Case:
    name: str
    network: Network
    blocks: list[readers.Block]
    """The blocks in float64; none for files that hold thresholds."""
    samples: np.ndarray
    evaluation: readers.Evaluation


@cache
def zoo() -> Path:
    folder = os.environ.get("SUGENET_ZOO")
    if not folder:
        pytest.skip(
            "SUGENET_ZOO is not set; it names the folder of public trained networks that this test reads"
        )
    return Path(folder)


@cache
def mnist_images():
    return readers.idx(zoo() / "mnist/t10k-images-idx3-ubyte.gz").reshape(-1, 784)


@cache
def mnist_labels():
    return readers.idx(zoo() / "mnist/t10k-labels-idx1-ubyte.gz")


def arrays(name):
    with np.load(zoo() / f"{name}.npz") as file:
        return dict(file)


def bit_samples(n):
    """All inputs where they are 2^16; else random ones, more of them for the network that
    is deep and narrow.
    """
    if n == 16:
        return (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    return np.random.default_rng(n).integers(0, 2, (1 << 18 if n == 25 else 2000, n))


@cache
def case_named(name):
    origin = name.partition("/")[0]
    if origin == "bnnquanalyst":
        parts, network = readers.quanalyst_float(zoo() / name), readers.quanalyst_exact(zoo() / name)
        n = network.encoder.features
        instances = readers.quanalyst_inputs(zoo() / "bnnquanalyst/inputs", n)
        assert len(instances), f"no instance has {n} inputs"
        samples = np.concatenate([instances, bit_samples(n)])
        return Case(name, network, parts.blocks, samples, parts(2.0 * samples - 1))
    if origin == "bnn_pynq":
        return Case(
            name,
            readers.lfc_exact(arrays(name)),
            [],
            mnist_images(),
            readers.lfc_float(arrays(name))(mnist_images()),
        )
    parts = readers.msakai_float(arrays(name))
    return Case(
        name, readers.msakai_exact(arrays(name)), parts.network.blocks, mnist_images(), parts(mnist_images())
    )


@pytest.fixture(params=FACTS, scope="module")
def case(request):
    return case_named(request.param)


normed = pytest.mark.parametrize(
    "case", [name for name, facts in FACTS.items() if facts.flipped is not None], indirect=True
)
"""For the networks whose files hold batch norm and not thresholds."""


def hidden(network, samples, engine):
    """Activity of every hidden layer, as the packed engine has it."""
    return network.hidden(samples, engine=engine)


def differing(found, expected):
    """How many bits differ in each layer."""
    return [int((one != other).sum()) for one, other in zip(found, expected, strict=True)]


# -- every network -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_no_bit_differs_from_float64(case, engine):
    none = [0] * len(case.network.layers)
    assert differing(hidden(case.network, case.samples, engine), case.evaluation.hidden) == none
    assert np.array_equal(case.network.logits(case.samples, engine), case.evaluation.scores)
    assert np.array_equal(case.network.predict(case.samples, engine), case.evaluation.classes)


def test_the_definition_gives_the_same(case):
    few = case.samples[:: max(len(case.samples) // 200, 1)]
    counts = case.network.match_counts(few, "definition")
    by_definition = case.network.hidden(few)
    for engine in ENGINES:
        assert np.array_equal(case.network.match_counts(few, engine), counts)
        assert differing(hidden(case.network, few, engine), by_definition) == [0] * len(by_definition)


@normed
def test_no_float64_value_is_near_a_tie(case):
    doubtful = [
        number for number, nearest in enumerate(case.evaluation.nearest, start=1) if nearest < NEAR_A_TIE
    ]
    assert doubtful == []


@normed
def test_float64_agrees_at_every_sum_that_can_occur(case):
    """So no input whatever, seen above or not, has a bit that differs;
    the float32 of the authors' frameworks does no worse.
    """
    for block, layer in zip(case.blocks, case.network.layers, strict=True):
        assert fold_by_evaluation(block.weights, block.value) == layer
        assert fold_by_evaluation(block.weights, block.in_float32().value) == layer
        assert not layer.ties.any()  # so every convention for sign(0) gives these bits


@normed
def test_the_variance_is_so_large_that_another_eps_changes_nothing(case):
    """BNNQuanalyst adds none, Chainer 2e-5; with torch's 1e-5 the neurons are the same."""
    for block, layer in zip(case.blocks, case.network.layers, strict=True):
        assert fold(block.weights, bias=block.bias, **(block.norm.fields() | {"eps": 1e-5})) == layer


def test_the_comparison_notices_thresholds_that_are_off_by_one(case):
    few, expected = case.samples[:2000], [bits[:2000] for bits in case.evaluation.hidden]
    for number, layer in enumerate(case.network.layers):
        layers = [*case.network.layers]
        layers[number] = DenseLayer(layer.weights, layer.tau + 1)
        found = differing(
            hidden(Network(case.network.encoder, layers, case.network.head), few, "numba"), expected
        )
        assert found[:number] == [0] * number
        assert found[number] > 0


def test_simplified_scores_are_the_same(case):
    small = simplify(case.network)
    assert str(small).startswith(f"network {FACTS[case.name].simplified} ")
    assert not any(layer.constant.any() for layer in small.layers)
    samples = case.samples[:10_000]
    assert np.array_equal(small.logits(samples), case.evaluation.scores[:10_000])
    assert np.array_equal(small.predict(samples), case.evaluation.classes[:10_000])
    few = samples[:100]
    exact = case.network.head.scores(case.network.match_counts(few))
    for engine in [*ENGINES, "definition"]:
        assert np.array_equal(small.head.scores(small.match_counts(few, engine)), exact)


def test_summary_counts_what_is_constant_flipped_and_tied(case):
    facts, table = FACTS[case.name], summary(case.network)
    *layers, head = table.layers
    assert table.title.startswith(f"network {facts.shape} ")
    assert [row.constant for row in layers] == facts.constant
    assert [row.flipped for row in layers] == (facts.flipped or [None] * len(layers))
    assert [row.ties for row in layers] == [0 if facts.flipped else None] * len(layers)
    assert head.one_bit == case.network.head.weights.size
    assert len(str(table).partition("\nfeatures ")[0].splitlines()) == 4 + len(table.layers) + 4


def test_constant_neurons_never_change(case):
    for layer, bits in zip(case.network.layers, case.evaluation.hidden, strict=True):
        same = (bits == bits[0]).all(axis=0)
        assert same[layer.constant].all()


# -- published accuracies, MNIST test set --------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
@pytest.mark.parametrize(
    ("name", "right"), [("msakai/mnist", 9587), ("bnn_pynq/lfcW1A1_mnist", 9834)]
)  # 95.87 % and 98.34 %
def test_the_published_accuracy_is_met_exactly(name, right, engine):  # both from the README
    found = case_named(name).network.predict(mnist_images(), engine)
    assert len(found) == 10_000
    assert int((found == mnist_labels()).sum()) == right


# -- msakai --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "always_on"), [("msakai/mnist", 101), ("msakai/mnist_rot", 12)])
def test_pixel_cuts_are_those_of_float64_at_all_256_values(name, always_on):
    parts, network = readers.msakai_float(arrays(name)), case_named(name).network
    every = np.tile(np.arange(256)[:, None], 784)
    value = parts.value(every)
    assert np.abs(value).min() > NEAR_A_TIE
    assert (parts.norm.gamma > 0).all()  # so no bit is reversed
    assert np.array_equal(network.encoder.encode(every), value >= 0)
    assert int((value >= 0).all(axis=0).sum()) == always_on
    assert not (value < 0).all(axis=0).any()


@pytest.mark.parametrize("name", ["msakai/mnist", "msakai/mnist_rot"])
def test_pixels_read_as_levels_give_the_same(name):
    case, levels = case_named(name), readers.msakai_on_levels(arrays(name))
    few = case.samples[:300]
    for engine in [*ENGINES, "definition"]:
        assert np.array_equal(levels.logits(few, engine), case.evaluation.scores[:300])
    pixels, *rest = levels.hidden(few)
    assert np.array_equal(pixels, case.network.encoder.encode(few))
    assert differing(rest, [bits[:300] for bits in case.evaluation.hidden]) == [0] * len(rest)


@pytest.mark.parametrize("name", ["bnn_mnist_7_label9", "bnn_mnist_rot_8_label1", "bnn_mnist_rot_16_label5"])
def test_images_have_the_class_in_their_name(name):
    image = readers.grey_png(zoo() / f"msakai/{name}.png")
    is_rotated = "_rot_" in name
    network = case_named("msakai/mnist_rot" if is_rotated else "msakai/mnist").network
    pixels = image.T if is_rotated else image  # rotated ones are stored column by column
    assert network.predict(pixels.reshape(1, -1)) == [int(name[-1])]
    if not is_rotated:
        assert np.array_equal(
            image.ravel(), mnist_images()[int(name.split("_")[2])]
        )  # the number is its place in the test set


def test_a_rotated_image_read_row_by_row_is_misread():
    image = readers.grey_png(zoo() / "msakai/bnn_mnist_rot_16_label5.png")
    assert case_named("msakai/mnist_rot").network.predict(image.reshape(1, -1)) == [7]


def made_up_msakai(seed):
    """A small network of the same kind with what the two files do not have:
    pixels with gamma of both signs and zero.
    """
    rng = np.random.default_rng(seed)
    sizes = [9, 8, 7]
    made = {"output_lin/W": rng.choice([-1, 1], (4, sizes[-1])), "output_lin/b": rng.normal(size=4)}
    for b, (n, m) in enumerate(pairwise(sizes)):
        made |= {f"blocks/{b}/lin/W": rng.choice([-1, 1], (m, n)), f"blocks/{b}/lin/b": rng.normal(size=m)}
    for name, n in [("input_bn", sizes[0]), ("blocks/0/bn", sizes[1]), ("blocks/1/bn", sizes[2])]:
        made |= {f"{name}/{part}": rng.normal(size=n) for part in ("gamma", "beta", "avg_mean")}
        made[f"{name}/avg_var"] = rng.random(n)
    made["input_bn/gamma"][:2] = 0  # one always on, one never
    made["input_bn/beta"][:2] = [0.5, -0.5]
    return {name: value.astype(np.float32) for name, value in made.items()}


@pytest.mark.parametrize("seed", range(20))
def test_a_pixel_with_negative_gamma_is_reversed(seed):
    made = made_up_msakai(seed)
    pixels = np.random.default_rng(seed).integers(0, 256, (500, 9))
    expected = readers.msakai_float(made)(pixels)
    assert (made["input_bn/gamma"] < 0).any()
    for network, above in [(readers.msakai_exact(made), 0), (readers.msakai_on_levels(made), 1)]:
        assert differing(network.hidden(pixels)[above:], expected.hidden) == [0, 0]
        assert np.array_equal(network.predict(pixels, "numpy"), expected.classes)
        assert np.array_equal(simplify(network).predict(pixels, "numpy"), expected.classes)


# -- BNN-PYNQ ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_padding_counted_in_tau_and_padding_simplified_away_agree():
    case = case_named("bnn_pynq/lfcW1A1_mnist")
    padded = readers.lfc_padded(arrays(case.name))
    assert padded.encoder.width == 832
    few = readers.with_padding(case.samples[:500], 832)
    assert np.array_equal(padded.match_counts(few), case.evaluation.scores[:500])
    one, other = simplify(padded), simplify(case.network)
    assert one.encoder.width == 784
    assert one.layers == other.layers
    assert one.head == other.head
    assert np.array_equal(one.match_counts(few), case.evaluation.scores[:500])


def test_counts_equal_to_the_stored_threshold_occur_and_do_not_fire():
    case = case_named("bnn_pynq/lfcW1A1_mnist")
    stored, counts = (
        arrays(case.name),
        case.network.layers[0].match_counts(case.network.inputs(case.samples[:200])),
    )
    padding = (stored["W0"][:, 784:] == 0).sum(axis=1)
    equal = counts + padding == stored["T0"]
    assert equal.any()
    assert not case.evaluation.hidden[0][:200][equal].any()
    assert case.evaluation.nearest == [0, 0, 0]  # it happens in every layer


def test_three_images_tie_at_the_output():
    """The published accuracy is met with the lowest class of a tie."""
    case = case_named("bnn_pynq/lfcW1A1_mnist")
    assert int(case.network.head.tied(case.network.match_counts(case.samples)).sum()) == 3
