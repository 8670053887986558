"""C files compute what the definition does: compiled with every warning an error and undefined behaviour
stopped, on random networks of every kind.
"""

from __future__ import annotations

import subprocess
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io import write_c
from sugenet.io.proof.near import directed
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    QuantizedLayer,
    RealLayer,
    Steps,
    Window,
    integer,
    threshold,
)
from tests.fuzzing.every_network import every_network
from tests.io.c99.programs import compiled, evaluated
from tests.nn.level_nets import KINDS, level_network
from tests.nn.nets import networks, raw, samples
from tests.thinned import examples


def same(folder, cases):
    for (network, X), (classes, counts) in zip(cases, evaluated(folder, cases), strict=True):
        assert np.array_equal(counts, network.match_counts(X, engine="definition"))
        assert np.array_equal(classes, network.head.classes(counts.astype(np.int64)))


def chain(rng, widths, zeros):
    """Dense layers over bits, thresholds near the middle."""
    layers = []
    for n, m in pairwise(widths[:-1]):
        weights = rng.choice([-1, 0, 1] if zeros else [-1, 1], (m, n))
        layers.append(DenseLayer(weights, np.abs(weights).sum(axis=1) // 2 + rng.integers(-1, 2, m)))
    return Network.of_bits(layers, Head(rng.choice([-1, 1], (widths[-1], widths[-2]))))


@pytest.mark.parametrize("zeros", [False, True])
def test_words(tmp_path, zeros):
    rng = np.random.default_rng(zeros)
    cases = []
    for n in (1, 31, 32, 33, 63, 64, 65):
        network = chain(rng, (n, 33, 65, 3), zeros)
        cases.append((network, rng.choice([-1, 0, 1], (60, n))))
    same(tmp_path, cases)


def maps(rng, groups, every, most, pads):
    """Bits through convolutions and pooling: packed where groups is 1 and weights are -1, 0 and +1."""
    channels = 34 if groups == 1 else 4
    first = Window((2, 6, 5), 3, pads=pads)
    kernel = rng.integers(-most, most + 1, (channels, 2, 3, 3))
    layers = [ConvLayer(kernel, rng.integers(3, 12, (channels, *first.positions)), first)]
    pool = PoolLayer(Window(layers[0].output_shape, 2, 2, pads=(0, 0, 1, 1)), every=every)
    second = Window(pool.output_shape, 2, dilation=1)
    kernel = rng.choice([-1, 1], (3, channels // groups * 1, 2, 2)) if groups == 1 else None
    if kernel is None:
        kernel = rng.choice([-1, 1], (groups, channels // groups, 2, 2))
    layers += [pool, ConvLayer(kernel, np.full(len(kernel), kernel[0].size // 2), second, groups)]
    return Network.of_bits(layers, Head(rng.choice([-1, 0, 1], (3, layers[-1].outputs))))


def test_maps(tmp_path):
    rng = np.random.default_rng(5)
    cases = [
        (network, rng.choice([-1, 1], (40, 60)))
        for groups in (1, 2)
        for every in (False, True)
        for most in (1, 3)
        for pads in (0, 1)
        for network in [maps(rng, groups, every, most, pads)]
    ]
    same(tmp_path, cases)


def test_maps_that_are_read_in_another_shape(tmp_path):
    rng = np.random.default_rng(6)
    conv = ConvLayer(rng.choice([-1, 1], (4, 1, 2, 2)), rng.integers(1, 4, 4), Window((1, 3, 3), 2))
    turned = ConvLayer(rng.choice([-1, 1], (3, 2, 2, 2)), np.full(3, 4), Window((2, 2, 4), 2))
    pool = PoolLayer(Window((4, 2, 2), 2))
    after = DenseLayer(rng.choice([-1, 1], (5, 4)), np.full(5, 2))
    again = ConvLayer(rng.choice([-1, 1], (2, 5, 1, 1)), [2, 3], Window((5, 1, 1), 1))
    cases = [
        (Network.of_bits(layers, Head(rng.choice([-1, 1], (3, layers[-1].outputs)))), X)
        for layers in ([conv, turned], [conv, pool, after, again])
        for X in [rng.choice([-1, 1], (64, 9))]
    ]
    same(tmp_path, cases)


def test_levels(tmp_path):
    rng = np.random.default_rng(7)
    cases = []
    for kind in KINDS:
        for _ in range(2):
            network = level_network(rng, kind)
            picks = [
                coding.categories
                if isinstance(coding, OneHot)
                else range(int(coding.low), int(coding.high) + 1)
                for coding in network.encoder.codings
            ]
            rows = [tuple(pick[rng.integers(len(pick))] for pick in picks) for _ in range(50)]
            cases.append((network, raw(rows)))
    same(tmp_path, cases)


@settings(
    max_examples=examples(6),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_encoder(tmp_path, data):
    drawn = [data.draw(networks(most=2)) for _ in range(8)]
    same(tmp_path, [(network, raw(data.draw(samples(network, 20)))) for network in drawn])


def test_the_edges_of_31_bits_and_of_the_scores(tmp_path):
    large = 2**31 - 1
    encoder = Encoder.of_integers(1, 0, 1)
    cases = []
    for weight in (large, -large):
        layer = LevelLayer([[weight], [weight], [weight]], [0, large, 2**40], encoder.tops)
        network = Network(encoder, [layer], Head([[1, 1, 1], [-1, 1, 1]], bias=[Fraction(1, 3**50), 0]))
        cases.append((network, np.array([[0], [1]])))
    stairs = QuantizedLayer([[large]], [[1, large, 2**50]], [1])
    cases.append(
        (Network(encoder, [stairs], Head([[1], [-1]], [Fraction(1, 3**50), 0.1], tops=[3])), [[0], [1]])
    )
    wide = LevelLayer([[2**54, -(2**53)], [1, -(2**54)]], [2**53 + 1, 2**54], [1, 2])
    pixels = Encoder([integer(0, 1), integer(0, 2)])
    cases.append(
        (Network(pixels, [wide], Head([[1, 1], [-1, 1]])), [[a, c] for a in (0, 1) for c in (0, 1, 2)])
    )
    floats = Encoder([threshold(0.1), Steps((-0.25, 1e300), low=-1e308), threshold(3, 0, 2**40, whole=True)])
    near = [[np.nextafter(0.1, 0), -0.25, 2], [0.1, 1e300, 3], [0.5, np.nextafter(1e300, 0), 2**40]]
    cases.append((Network(floats, [], Head([[1, 1, 1, 1], [-1, 1, 1, -1]])), np.array(near)))
    same(tmp_path, cases)


def test_values_that_cannot_occur_are_refused(tmp_path):
    network = Network(Encoder.of_thresholds([2.0, 3.0], low=0, high=5), [], Head([[1, 1], [-1, -1]]))
    X = np.array([[0, 0], [np.nan, 1], [1, 5.5], [-0.5, 1]])
    assert evaluated(tmp_path, [(network, X)])[0][0].tolist() == [1, -1, -1, -1]
    bytes_ = Network(Encoder.of_integers(1, 0, 16), [], Head(np.ones((1, 16), int)))
    assert evaluated(tmp_path, [(bytes_, np.array([[16], [17]]))])[0][0].tolist() == [0, -1]
    whole = Network(Encoder([threshold(2, 0, whole=True)]), [], Head([[1], [-1]]))
    assert evaluated(tmp_path, [(whole, np.array([[3], [2.5], [1e300], [1]]))])[0][0].tolist() == [
        0,
        -1,
        0,
        1,
    ]


@pytest.mark.parametrize("name", ["digits", "breast_cancer"])
def test_the_shipped_models(tmp_path, name):
    network = getattr(sg.models, name)()
    X, _ = sg.models.samples(name)
    same(tmp_path, [(network, X)])
    write_c(network, tmp_path / f"{name}.c")
    program = compiled(tmp_path, tmp_path / f"{name}.c", "-O2", f"-D{name}_SELF_TEST")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0 of 64 samples differ\n")


def test_the_self_test_sees_a_wrong_bit(tmp_path):
    path = tmp_path / "net.c"
    write_c(sg.models.digits(), path)
    text = path.read_text(encoding="ascii")
    before, after = text.split("net_layer1_sign[384] = {\n    0x", 1)
    changed = f"{before}net_layer1_sign[384] = {{\n    0x{int(after[:8], 16) ^ 0xFFFFFFFF:08x}{after[8:]}"
    path.write_text(changed, encoding="ascii")
    done = subprocess.run([compiled(tmp_path, path, "-Dnet_SELF_TEST")], capture_output=True, check=False)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("stem", "prefix"),
    [("net", "net"), ("2 layers", "net_2_layers"), ("double", "net_double"), ("é*/", "net")],
)
def test_names(tmp_path, stem, prefix):
    folder = tmp_path / "a"
    folder.mkdir()
    network = Network.of_bits([], Head([[1], [-1]]), classes=["*/ #error", "ü@"])
    path = folder / f"{stem.replace('/', '_')}.c"
    write_c(network, path)
    assert f"int {prefix}_predict(" in path.read_text(encoding="ascii")
    compiled(tmp_path, path, f"-D{prefix}_SELF_TEST")


def test_every_network_that_is_accepted(tmp_path):
    """Compiled without a warning; equal on all inputs if they are few, else at and next to thresholds."""
    cases, every = [], 0
    for seed in range(examples(45)):
        network = every_network(seed)
        if not network.passes_reals:
            samples = directed(network, 300, every=5000)
            every += samples.every
            cases.append((network, samples.raw))
    assert len(cases) > examples(35)
    assert every >= examples(12)
    same(tmp_path, cases)


def test_the_self_tests_of_small_networks_are_exhaustive(tmp_path):
    network = Network(
        Encoder([integer(-1, 8), threshold(0.5), OneHot(("a", "b"))]), [], Head([[1] * 12, [-1] * 12])
    )
    write_c(network, tmp_path / "net.c")
    done = subprocess.run(
        [compiled(tmp_path, tmp_path / "net.c", "-Dnet_SELF_TEST")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "0 of 40 samples differ\n"


@pytest.mark.parametrize("weight", [1, 2])
def test_real_numbers_are_refused(tmp_path, weight):
    network = Network(Encoder.of_reals(1), [RealLayer([[weight]], [Fraction(1, 3)])], Head([[1], [-1]]))
    with pytest.raises(FileError, match="layer 1 reads real numbers as they are"):
        write_c(network, tmp_path / "net.c")


def test_what_is_too_large_is_refused(tmp_path):
    head = Head([[2**30], [2**30 - 1]], bias=[Fraction(1, 3**50), 0])
    with pytest.raises(FileError, match=r"'.*net\.c': its scores need a table"):
        write_c(Network.of_bits([], head), tmp_path / "net.c")
    assert not (tmp_path / "net.c").exists()


def test_it_is_its_own_header(tmp_path):
    network = Network.of_bits([], Head([[1], [-1]]))
    for name in ("one", "two"):
        write_c(network, tmp_path / f"{name}.c")
    both = "".join(
        f'#define {n}_DECLARATIONS_ONLY\n#include "{n}.c"\n#include "{n}.c"\n' for n in ("one", "two")
    )
    main = tmp_path / "main.c"
    main.write_text(both + "int main(void) { int8_t x[1] = {1}; return one_predict(x) + two_predict(x); }\n")
    program = compiled(tmp_path, main, str(tmp_path / "one.c"), str(tmp_path / "two.c"))
    assert subprocess.run([program], check=False).returncode == 0
