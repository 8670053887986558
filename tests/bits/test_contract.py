"""What every engine must do, judged by integers compared one by one:
M = number of coordinates where x equals w and w is not 0.
"""

import copy
import itertools
import pickle

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.bits import EngineName, PackedLayer, PackedNetwork, pack, pack_signs, unpack
from sugenet.errors import SugenetError
from tests.thinned import examples

ENGINES: list[EngineName] = ["numba", "numpy"]
SIZES = [1, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 129, 192]
BATCHES = [0, 1, 2, 3, 4, 5, 63, 64, 65, 130]

Ints = npt.NDArray[np.int64]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> EngineName:
    name: EngineName = request.param
    return name


def twin_counts(x: Ints, w: Ints) -> Ints:
    """By definition, for x in {-1, +1} and w in {-1, 0, +1}."""
    return np.array(
        [[sum(a == b and b != 0 for a, b in zip(row, neuron, strict=True)) for neuron in w] for row in x]
    ).reshape(len(x), len(w))


def quick_counts(x: Ints, w: Ints) -> Ints:
    """Also by definition, with arrays."""
    return ((x[:, None, :] == w[None]) & (w[None] != 0)).sum(axis=2)


def draw(rng: np.random.Generator, batch: int, n: int, m: int, zeros: bool) -> tuple[Ints, Ints, Ints]:
    x = rng.choice([-1, 1], (batch, n))
    w = rng.choice([-1, 0, 1] if zeros else [-1, 1], (m, n))
    near = (w != 0).sum(axis=1) // 2 + rng.integers(-2, 3, m)
    return x, w, np.where(rng.random(m) < 0.8, near, rng.integers(-2, n + 3, m))


def check_layer(layer: PackedLayer, x: Ints, w: Ints, tau: Ints) -> None:
    words, expected = pack_signs(x), quick_counts(x, w)
    counts = layer.match_counts(words)
    assert counts.dtype == np.int32
    assert np.array_equal(counts, expected)
    activity = layer.activity(words)
    assert activity.dtype == np.uint64
    assert np.array_equal(activity, pack(expected >= tau))  # padding bits too


def test_the_two_twins_agree() -> None:
    x, w, _ = draw(np.random.default_rng(0), 5, 20, 7, True)
    assert np.array_equal(twin_counts(x, w), quick_counts(x, w))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_neuron_every_tau_and_every_input(engine: EngineName, n: int) -> None:
    neurons = [(w, tau) for w in itertools.product([-1, 0, 1], repeat=n) for tau in range(-1, n + 3)]
    for chosen in (neurons, [(w, tau) for w, tau in neurons if 0 not in w]):
        w, tau = np.array([neuron for neuron, _ in chosen]), np.array([t for _, t in chosen])
        x = np.array(list(itertools.product([-1, 1], repeat=n)))
        assert np.array_equal(quick_counts(x, w), twin_counts(x, w))
        check_layer(PackedLayer.from_arrays(w, tau, engine=engine), x, w, tau)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_sizes_around_words_and_blocks(engine: EngineName, n: int, zeros: bool) -> None:
    rng = np.random.default_rng(n)
    for m, batch in [*((m, 6) for m in SIZES), *((17, batch) for batch in BATCHES)]:
        x, w, tau = draw(rng, batch, n, m, zeros)
        layer = PackedLayer.from_arrays(w.astype(np.int8), tau, engine=engine)
        assert layer.is_dense == bool((w != 0).all())
        check_layer(layer, x, w, tau)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 1100), st.integers(1, 150), st.integers(0, 70), st.booleans(), st.integers(0, 2**32))
@pytest.mark.parametrize("name", ENGINES)
def test_layers_of_any_size(name: EngineName, n: int, m: int, batch: int, zeros: bool, seed: int) -> None:
    x, w, tau = draw(np.random.default_rng(seed), batch, n, m, zeros)
    check_layer(PackedLayer.from_arrays(w, tau, engine=name), x, w, tau)


def test_all_and_none_match(engine: EngineName) -> None:
    """The largest and smallest sums, where every word is full or empty."""
    for n in (64, 65, 784, 5000):
        w = np.ones((3, n), int)
        w[1, -1] = 0
        for rows in (slice(0, 1), slice(0, 3)):
            layer = PackedLayer.from_arrays(w[rows], [n] * len(w[rows]), engine=engine)
            check_layer(layer, np.array([[1] * n, [-1] * n]), w[rows], np.array([n] * len(w[rows])))


def test_padding_bits_of_the_input_are_ignored(engine: EngineName) -> None:
    for zeros in (False, True):
        x, w, tau = draw(np.random.default_rng(3), 9, 70, 20, zeros)
        layer, words = PackedLayer.from_arrays(w, tau, engine=engine), pack_signs(x)
        dirty = words.copy()
        dirty[:, -1] |= ~np.uint64((1 << 6) - 1)
        assert np.array_equal(layer.match_counts(dirty), layer.match_counts(words))
        assert np.array_equal(layer.activity(dirty), layer.activity(words))


@pytest.mark.parametrize("tau", [-(2**63), -(10**30), -1, 0, 1, 3, 4, 2**31, 2**63 - 1, 2**64 - 1, 10**30])
def test_tau_of_any_size(engine: EngineName, tau: int) -> None:
    w = np.array([[1, 1, -1], [0, 0, 0], [0, 1, 0]])
    x = np.array(list(itertools.product([-1, 1], repeat=3)))
    layer = PackedLayer.from_arrays(w, [tau, tau, 0], engine=engine)
    expected = [[int(M) >= t for M, t in zip(row, [tau, tau, 0], strict=True)] for row in quick_counts(x, w)]
    assert unpack(layer.activity(pack_signs(x)), 3).tolist() == expected


def test_any_number_of_threads_gives_the_same(engine: EngineName) -> None:
    x, w, tau = draw(np.random.default_rng(4), 4097, 784, 100, False)
    layer = PackedLayer.from_arrays(w, tau, engine=engine)
    words = pack_signs(x)
    bipolar = (x.astype(np.float64) @ w.T.astype(np.float64)).astype(np.int64)
    for threads in (None, 1, 2, 5):
        assert np.array_equal(layer.match_counts(words, threads=threads), (bipolar + 784) // 2)
        assert np.array_equal(layer.activity(words, threads=threads), pack((bipolar + 784) // 2 >= tau))
    with pytest.raises(SugenetError, match="threads is 0, but must be 1 or more"):
        layer.match_counts(words, threads=0)


def test_inputs_of_other_layout(engine: EngineName) -> None:
    x, w, tau = draw(np.random.default_rng(5), 40, 130, 20, True)
    layer, words = PackedLayer.from_arrays(w, tau, engine=engine), pack_signs(x)
    frozen = words.copy()
    frozen.flags.writeable = False
    expected = quick_counts(x, w)
    for same in (
        frozen,
        np.asfortranarray(words),
        words.astype(">u8"),
        words.astype("Q"),
        np.repeat(words, 2, axis=0)[::2],
    ):
        assert np.array_equal(layer.match_counts(same), expected)
    assert np.array_equal(layer.match_counts(words[::-3]), expected[::-3])
    with pytest.raises(SugenetError, match=r"shape \(40, 2\), but 130 inputs need shape \(batch, 3\)"):
        layer.match_counts(words[:, :2])
    with pytest.raises(SugenetError, match=r"pack_signs\(\)"):
        layer.activity(x)  # type: ignore[arg-type]


def test_a_layer_keeps_its_own_arrays(engine: EngineName) -> None:
    x, w, tau = draw(np.random.default_rng(6), 5, 30, 4, True)
    layer, words = PackedLayer.from_arrays(w, tau, engine=engine), pack_signs(x)
    before = words.copy()
    first = layer.match_counts(words)
    w[:] = 0
    tau[:] = 0
    assert np.array_equal(layer.match_counts(words), first)
    assert np.array_equal(words, before)
    with pytest.raises(ValueError, match="read-only"):
        layer.positive[0, 0] = 1


def test_copies_count_alike(engine: EngineName) -> None:
    x, w, tau = draw(np.random.default_rng(7), 9, 65, 17, True)
    layer = PackedLayer.from_arrays(w, tau, engine=engine)
    assert np.array_equal(layer.lam_sizes, (w != 0).sum(axis=1))
    network = PackedNetwork([], layer)
    for twin in (
        pickle.loads(pickle.dumps(layer)),
        copy.deepcopy(layer),
        pickle.loads(pickle.dumps(network)).head,
    ):
        assert twin.engine == engine
        check_layer(twin, x, w, tau)
    check_layer(layer.with_engine("numpy"), x, w, tau)


# Networks


def twin_network(x: Ints, weights: list[Ints], taus: list[Ints]) -> list[Ints]:
    """Activity of each hidden layer as -1 and +1, and the match counts of the head last."""
    out = []
    for w, tau in zip(weights[:-1], taus[:-1], strict=True):
        x = np.where(quick_counts(x, w) >= tau, 1, -1)
        out.append(x)
    return [*out, quick_counts(x, weights[-1])]


def build(weights: list[Ints], taus: list[Ints], engine: EngineName) -> PackedNetwork:
    *layers, head = (
        PackedLayer.from_arrays(w, tau, engine=engine) for w, tau in zip(weights, taus, strict=True)
    )
    return PackedNetwork(layers, head)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.integers(1, 140), min_size=2, max_size=5), st.integers(0, 140), st.integers(0, 2**32))
@pytest.mark.parametrize("name", ENGINES)
def test_networks_of_any_shape(name: EngineName, sizes: list[int], batch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([-1, 1], (batch, sizes[0]))
    weights, taus = [], []
    for n, m in itertools.pairwise(sizes):
        _, w, tau = draw(rng, 0, n, m, bool(rng.integers(2)))
        weights.append(w)
        taus.append(tau)
    network = build(weights, taus, name)
    words = pack_signs(x)
    *hidden, counts = twin_network(x, weights, taus)
    assert network.width == sizes[0]
    assert np.array_equal(network.match_counts(words), counts)
    got = network.hidden(words)
    assert len(got) == len(hidden)
    for activity, expected in zip(got, hidden, strict=True):
        assert np.array_equal(activity, pack(expected == 1))


def test_a_wide_then_narrow_network_in_many_blocks(engine: EngineName) -> None:
    """Rows of scratch words change their length between layers, in both directions."""
    rng = np.random.default_rng(9)
    weights, taus = [], []
    for n, m in itertools.pairwise([784, 300, 20, 500, 10]):
        _, w, tau = draw(rng, 0, n, m, n == 300)
        weights.append(w)
        taus.append(tau)
    x = rng.choice([-1, 1], (777, 784))
    network = build(weights, taus, engine)
    expected = np.concatenate([twin_network(part, weights, taus)[-1] for part in np.array_split(x, 20)])
    for threads in (None, 1, 3):
        assert np.array_equal(network.match_counts(pack_signs(x), threads=threads), expected)


def test_networks_refuse_layers_that_do_not_fit(engine: EngineName) -> None:
    small = PackedLayer.from_arrays([[1, 1]], [1], engine=engine)
    with pytest.raises(SugenetError, match="layer 0 has 1 neurons, but the head reads 2 inputs"):
        PackedNetwork([small], small)
    with pytest.raises(SugenetError, match="layer 0 has 1 neurons, but layer 1 reads 2 inputs"):
        PackedNetwork([small, small], small)
    other: EngineName = "numpy" if engine == "numba" else "numba"
    head = PackedLayer.from_arrays([[1]], [1], engine=other)
    with pytest.raises(SugenetError, match=rf"layer\.with_engine\('{other}'\)"):
        PackedNetwork([small], head)
    assert PackedNetwork([small], head.with_engine(engine)).with_engine(other).engine == other


@pytest.mark.parametrize(
    ("signs", "tau", "message"),
    [
        ([[1, 2]], [1], r"signs\[0, 1\] is .*2.*-1, 0 and \+1"),
        ([[1, -1], [1, np.nan]], [1, 1], r"signs\[1, 1\] is .*nan"),
        ([[True, False]], [1], "must be one of the numbers"),
        ([1, -1], [1], r"signs has shape \(2,\)"),
        (np.zeros((3, 0)), [1, 1, 1], r"signs has shape \(3, 0\)"),
        ([[1, -1]], [1.5], r"tau holds 1\.5.*ceil"),
        ([[1, -1]], np.array([1.0]), r"tau holds .*1\.0.*ceil"),
        ([[1, -1]], [True], "tau holds True"),
        ([[1, -1]], ["1"], "tau holds '1'"),
        ([[1, -1]], [1, 1], r"tau has shape \(2,\), but signs has 1 rows"),
        ([[1, -1]], 1, r"tau has shape \(\)"),
    ],
)
def test_from_arrays_says_what_is_wrong(signs: object, tau: object, message: str) -> None:
    with pytest.raises(SugenetError, match=message):
        PackedLayer.from_arrays(signs, tau, engine="numpy")  # type: ignore[arg-type]
