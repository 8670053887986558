"""Windows of images: what a neuron of the first layer reads lies in one square, drawn by the seed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sugenet.errors import SugenetError
from sugenet.fit import Settings, train
from sugenet.fit.trainer import windows
from sugenet.nn import Encoder, Steps, integer, thermometer

pytest.importorskip("torch")

SHORT = Settings(epochs=4, batch=16)


def images(n=60, side=4, seed=0):
    X = np.random.default_rng(seed).integers(0, 16, (n, side * side))
    return X, (X[:, 5] + X[:, 6] > X[:, 9] + X[:, 10]).astype(int)


def squares(image, side):
    """By definition: every square inside the image, as the set of its pixels."""
    corners = range(image - side + 1)
    cells = list(product(range(side), repeat=2))
    return {frozenset((a + i) * image + b + j for i, j in cells) for a in corners for b in corners}


@pytest.mark.parametrize(("image", "side"), [(1, 1), (4, 1), (4, 2), (5, 3), (4, 4)])
def test_every_window_is_a_square_inside_the_image_and_all_are_drawn(image, side):
    cut = [thermometer([3, 8]), Steps((), 0, 15, True), thermometer([5])]  # one is constant, without bits
    coder = Encoder([cut[place % 3] for place in range(image * image)])
    for levels in (False, True):
        pixels = np.arange(image * image) if levels else np.array(coder.feature_of)
        seen = windows(coder, levels, side, 400, seed=1)
        wanted = {tuple(np.isin(pixels, list(square))) for square in squares(image, side)}
        assert {tuple(row) for row in seen} == wanted


@pytest.mark.parametrize("options", [{}, {"sparsity": 0.8}, {"sparsity": 0.8, "robust": "linf:2"}])
@pytest.mark.parametrize("kind", ["bits", "levels"])
def test_a_neuron_reads_its_window_only(kind, options):
    X, y = images()
    coder = Encoder([thermometer([4, 9], 0, 15, True) if kind == "bits" else integer(0, 15)] * 16)
    trained = train(X, y, (12, 5), encoder=coder, settings=replace(SHORT, window=2, **options))
    assert trained.comparison.differing == 0
    first, second = (np.asarray(layer.weights) for layer in trained.network.layers)
    pixels = np.array(coder.feature_of) if kind == "bits" else np.arange(16)
    read = [{int(pixel) for pixel in pixels[row != 0]} for row in first]
    assert all(any(some <= square for square in squares(4, 2)) for some in read)
    whole = 8 if kind == "bits" else 4
    kept = min(whole, round(0.2 * first.shape[1])) if options else whole
    assert ((first != 0).sum(axis=1) == kept).all()
    assert ((second != 0).sum(axis=1) == (2 if options else 12)).all()


def test_a_window_of_the_whole_image_changes_nothing():
    X, y = images()
    chosen = replace(SHORT, sparsity=0.5, robust="linf:2")
    plain, whole = (train(X, y, (6,), settings=replace(chosen, window=side)) for side in (None, 4))
    assert (plain.network, plain.history) == (whole.network, whole.history)


def test_a_window_without_anything_to_read_is_a_constant_neuron():
    X, y = images()
    X[:, :4] = 0
    trained = train(X, y, (40,), settings=replace(SHORT, window=1))
    assert 0 in (np.asarray(trained.network.layers[0].weights) != 0).sum(axis=1)
    assert trained.comparison.differing == 0


def test_a_resumed_run_ends_alike(tmp_path):
    X, y = images()
    chosen = replace(SHORT, window=2, sparsity=0.8, robust="linf:2")

    def stop(epoch):
        if epoch.number == 2:
            raise KeyboardInterrupt

    file = tmp_path / "run"
    assert train(X, y, (9,), settings=chosen, checkpoint=file, progress=stop).interrupted
    with pytest.raises(SugenetError, match="belongs to a run with other data, layers or settings"):
        train(X, y, (9,), settings=replace(chosen, window=3), checkpoint=file)
    rest = train(X, y, (9,), settings=chosen, checkpoint=file)
    assert rest.network == train(X, y, (9,), settings=chosen).network


@pytest.mark.parametrize(
    ("features", "hidden", "window", "match"),
    [
        (16, (5,), 0, "window=0 must be an integer of at least 1"),
        (16, (5,), 2.0, r"window=2\.0 must be an integer"),
        (16, (5,), 5, "window=5 is larger than images of 4 x 4 pixels. Give at most 4."),
        (15, (5,), 2, "window=2 is for square images, pixels row by row, but 15 features are not a square"),
        (16, (), 2, "window=2 is for neurons of the first hidden layer"),
    ],
)
def test_what_makes_no_sense_is_refused(features, hidden, window, match):
    X, y = images()
    with pytest.raises(SugenetError, match=match):
        train(X[:, :features], y, hidden, settings=replace(SHORT, window=window))
