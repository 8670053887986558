import numpy as np
import pytest

from sugenet.errors import EncodingError
from sugenet.fit import learn_encoder
from sugenet.fit.encoding import reads_levels
from sugenet.nn import Encoder, OneHot, Steps, bit, integer, threshold, unused


def codings(X, **options):
    return learn_encoder(X, **options).codings


def test_auto_decides_by_column():
    X = np.array([[True, -1, 0, "a", 3.5, 7], [False, 1, 1, "b", 4.5, 7]], dtype=object)
    found = codings(X, cuts=1)
    assert found[:4] == (OneHot((False, True)), bit(), threshold(1, 0, 1, whole=True), OneHot(("a", "b")))
    assert found[4] == Steps((4.0,))
    assert found[5] == unused(whole=True)


@pytest.mark.parametrize("cuts", [1, 2, 3, 9])
def test_cuts_split_the_samples_evenly(cuts):
    column = np.random.default_rng(0).normal(size=1000)
    (steps,) = codings(column[:, None], cuts=cuts)
    below = (column[:, None] < np.array(steps.cuts)).mean(axis=0)
    assert np.allclose(below, np.arange(1, cuts + 1) / (cuts + 1), atol=0.01)
    assert not np.isin(steps.cuts, column).any()


def test_cuts_are_short_numbers_between_samples():
    assert codings([[1.234567], [1.987654]], cuts=1) == (Steps((1.6,)),)
    assert codings([[0.1], [0.1 + 2**-50]], cuts=3)[0].width == 1
    assert codings(np.array([[3], [4], [4], [10]]), cuts=1) == (Steps((4.0,), whole=True),)


def test_neighbouring_floats_are_told_apart():
    values = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    assert learn_encoder(values, cuts=1).encode(values).ravel().tolist() == [False, True]


def test_integers_and_pixels():
    assert codings(np.array([[2], [9]]), coding="integers") == (integer(2, 9),)
    assert codings(np.array([[2], [9]], np.uint8), coding="integers") == (integer(0, 255),)
    assert codings(np.array([[2], [9]], np.uint8), coding="integers", high=16) == (integer(0, 16),)
    assert codings(np.array([[2.0], [9.0]]), coding="integers", low=0) == (integer(0, 9),)


def test_which_encoders_are_read_as_levels():
    assert reads_levels(Encoder.of_integers(3))
    assert not reads_levels(Encoder.of_bits(3))
    assert not reads_levels(Encoder.of_thresholds([1.0, 2.0]))
    assert not reads_levels(Encoder.of_thresholds([1.0], low=0, high=1, whole=True))
    assert not reads_levels(Encoder([integer(0, 3), OneHot("ab")]))


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[1.0], [2.0]], {"coding": "bits"}, "x1 is .*2.0.* in sample 1, but it must be -1, 0 or"),
        ([[1.0], [2.5]], {"coding": "integers"}, "x1 is 2.5 in sample 1, which is not an integer"),
        ([[0], [100_000]], {"coding": "integers"}, "too many levels"),
        ([[1.0], [np.inf]], {}, "x1 is inf in sample 1; only finite"),
        (
            [["a"], ["b"]],
            {"coding": "cuts", "names": ["size"]},
            "size needs numbers for coding='cuts', but holds 'a'",
        ),
        ([["a"], [None]], {}, r"gaps .* in 2 rows: 'x1' \(1\)"),
        ([[1], [np.nan]], {"coding": "cuts"}, r"gaps .* in 2 rows: 'x1' \(1\). Fill them in"),
        ([[f"id{i}"] for i in range(200)], {}, "'x1' .identifier: 200 different texts in 200 rows"),
        ([[1, 1], [1, 1]], {}, "every feature is constant"),
        ([[1], [2]], {"names": ["a", "b"]}, "2 feature names for 1 features"),
        ([[1], [2]], {"coding": "magic"}, "coding='magic' is not known"),
        ([[1], [2]], {"cuts": 0}, "cuts=0 must be"),
        ([[1], [20]], {"high": 16}, "x1 is 20 in sample 1, beyond 16"),
        ([1, 2], {}, r"X has shape \(2,\)"),
    ],
)
def test_mistakes_are_named(X, options, message):
    with pytest.raises(EncodingError, match=message):
        learn_encoder(X, **options)
