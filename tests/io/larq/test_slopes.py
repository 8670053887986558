"""Leaky ReLU, ReLU with a slope and PReLU of Keras files, against Keras."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="Keras runs on PyTorch")

import sugenet as sg
from sugenet.errors import FileError
from tests.fuzzing.keras_layers import QuantDense, keras

pytestmark = pytest.mark.filterwarnings("ignore")


def saved(path, *, low=0.2, shared=None):
    random = np.random.default_rng(1)
    model = keras.Sequential(
        [
            keras.layers.Input((6,)),
            QuantDense(8, kernel_quantizer="ste_sign", use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.LeakyReLU(0.2),
            keras.layers.PReLU(shared_axes=shared),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(negative_slope=0.5),
            QuantDense(3, input_quantizer="ste_sign", kernel_quantizer="ste_sign", use_bias=False),
        ]
    )
    for weight in model.weights:
        least = {"kernel": -1.0, "alpha": low}.get(weight.name, 0.2)
        weight.assign(random.uniform(least, 1, weight.shape))
    model.save(path)
    return model


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_slopes_are_those_of_keras(ending, tmp_path):
    model = saved(tmp_path / f"net.{ending}")
    network = sg.read_larq(tmp_path / f"net.{ending}", inputs=sg.Integers(-4, 4))
    samples = np.random.default_rng(0).integers(-4, 5, (200, 6))
    wanted = np.asarray(model(samples.astype("float32")).detach())
    assert (network.predict(samples) == wanted.argmax(axis=1)).all()


def test_other_slopes_are_refused_by_name(tmp_path):
    saved(tmp_path / "net.keras", low=-0.5)
    with pytest.raises(FileError, match=r"has the slope .* below zero"):
        sg.read_larq(tmp_path / "net.keras", inputs=sg.Integers(-4, 4))
    saved(tmp_path / "one.keras", shared=[1])
    with pytest.raises(FileError, match="Only one per channel"):
        sg.read_larq(tmp_path / "one.keras", inputs=sg.Integers(-4, 4))
