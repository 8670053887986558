from math import inf

import numpy as np
import pytest

from sugenet.errors import EncodingError, SugenetError
from sugenet.fit import Settings, learn_encoder, train

pytest.importorskip("torch")

from sugenet.fit.growing import grow, planted
from sugenet.fit.loop import Samples


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.normal(size=n).round(2).tolist()
    X[:, 1] = rng.integers(0, 9, n).tolist()
    X[:, 2] = rng.choice(["red", "green", "blue"], n)
    X[:, 3] = 1.5
    y = (X[:, 0] > 0).astype(int) + ((X[:, 1] > 4) & (X[:, 2] == "red"))
    return X, y.astype(int)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_neurons_are_leaves(depth):
    X, y = table()
    trained = train(X, y, settings=Settings(depth=depth, epochs=5))
    (layer,) = trained.network.layers
    sizes = np.abs(layer.weights).sum(axis=1)
    assert set(np.unique(layer.weights)) <= {-1, 0, 1}
    assert (sizes <= depth).all()
    assert (layer.tau == sizes).all()
    assert trained.comparison.differing == 0
    assert len(trained.history) == 5


@pytest.mark.parametrize("seed", range(4))
def test_the_network_adds_the_values_of_the_leaves(seed):
    X, y = table(seed=seed)
    encoder = learn_encoder(X, cuts=6)
    inputs = encoder.encode(X)
    leaves, course = grow(Samples(inputs, y), None, 3, Settings(depth=3, epochs=4))
    assert course.best_epoch == 4
    module, smaller, read = planted(leaves, encoder)
    assert (smaller.encode(X) == inputs[:, read]).all()
    factor = 127 / max(np.abs(value).max() for path, value in leaves.items() if path)
    scores = np.array(
        [
            sum(
                np.rint(value * factor) if path else value * factor
                for path, value in leaves.items()
                if all(row[abs(literal) - 1] == (literal > 0) for literal in path)
            )
            for row in inputs
        ]
    )
    import torch

    signs = torch.from_numpy(np.where(inputs[:, read], 1.0, -1.0))
    logits = module.evaluate(signs).logits.numpy() / module.unit / 2
    assert np.abs(logits - scores).max() <= 1 / 8  # biases are on a grid of 1/8 of a vote, here half of it


@pytest.mark.parametrize("seed", range(4))
def test_the_first_cut_has_the_largest_gain(seed):
    X, y = table(seed=seed)
    inputs = learn_encoder(X, cuts=6).encode(X)
    leaves, _ = grow(Samples(inputs, y), None, 3, Settings(depth=1, epochs=1))
    (chosen,) = (path[0] for path in leaves if path)
    shares = np.bincount(y, minlength=3) / len(y)

    def gain(rows):  # of a Newton step from the shares of the classes, with a ridge of 1
        slope = shares * len(rows) - np.bincount(y[rows], minlength=3)
        return (slope**2 / (shares * (1 - shares) * len(rows) + 1)).sum()

    gains = []
    for bit in range(inputs.shape[1]):
        parts = [np.flatnonzero(inputs[:, bit] == on) for on in (True, False)]
        gains.append(sum(map(gain, parts)) if min(map(len, parts)) >= 5 else -inf)
    assert gains[chosen - 1] == pytest.approx(max(gains), rel=1e-4)


def test_two_features_together_need_depth_two():
    rng = np.random.default_rng(0)
    X = rng.random((400, 5)) < 0.5
    y = X[:, 0] ^ X[:, 1]
    one, two = (train(X, y, settings=Settings(depth=depth, epochs=20)).test_accuracy for depth in (1, 2))
    assert one < 0.75
    assert two == 1


def test_unread_cuts_are_dropped_and_features_stay():
    X, y = table()
    encoder = learn_encoder(X, cuts=20)
    network = train(X, y, encoder=encoder, settings=Settings(depth=1, epochs=3)).network
    assert network.encoder.names == encoder.names
    assert network.encoder.width < encoder.width
    assert network.encoder.codings[2] == encoder.codings[2]


def test_weights_of_classes_count():
    rng = np.random.default_rng(1)
    X = rng.random((600, 4)).round(2)
    y = (X[:, 0] + rng.normal(scale=0.5, size=600) > 1.3).astype(int)
    plain, heavy = (
        train(X, y, settings=Settings(depth=2, epochs=20, class_weight=weight)).network.predict(X).mean()
        for weight in (None, {1: 20.0})
    )
    assert heavy > plain + 0.2


def test_patience_ends_the_growth():
    rng = np.random.default_rng(0)
    X, y = rng.random((120, 3)).round(2), rng.integers(0, 2, 120)  # nothing to learn
    trained = train(X, y, settings=Settings(depth=2, epochs=200, patience=3))
    assert len(trained.history) < 200
    assert trained.best_epoch <= len(trained.history)


def test_refusals(tmp_path):
    X, y = table()
    with pytest.raises(SugenetError, match=r"^rate=0.1 is for training by gradient descent, but depth=2"):
        Settings(depth=2, rate=0.1)
    with pytest.raises(SugenetError, match=r"^robust=Linf\(radius=2\) is for training by gradient descent"):
        Settings(depth=2, robust="linf:2")
    with pytest.raises(SugenetError, match="depth=0 must be an integer of at least 1"):
        Settings(depth=0)
    with pytest.raises(SugenetError, match=r"hidden=\(8,\) and depth=2 exclude each other"):
        train(X, y, (8,), settings=Settings(depth=2))
    with pytest.raises(SugenetError, match="checkpoint=c is for training by gradient descent"):
        train(X, y, settings=Settings(depth=2), checkpoint=tmp_path / "c")
    with pytest.raises(EncodingError, match="finds no tree: no feature divides the 8 samples"):
        train(X[:8], y[:8] > 0, settings=Settings(depth=2, validation_share=0), test_share=0)
