from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from sugenet import data
from sugenet.data.train import RECIPES, make, try_split
from sugenet.errors import SugenetError

MODELS = {"digits": data.digits, "breast_cancer": data.breast_cancer}


@pytest.mark.parametrize("name", MODELS)
def test_models_reach_the_accuracy_in_their_notes(name):
    network, (X, y) = MODELS[name](), data.samples(name)
    right = network.predict(X, engine="definition") == y
    assert network.notes["held-out accuracy"] == f"{right.mean():.4f}"
    assert network.notes["held-out samples"].startswith(f"{right.sum()} of {len(y)} right")
    assert right.mean() >= {"digits": 0.95, "breast_cancer": 0.94}[name]
    assert "CC BY" in network.notes["licence of the data"]


@pytest.mark.parametrize("name", MODELS)
def test_files_are_small(name):
    assert len((files(data) / f"{name}.sugenet").read_bytes()) < 50_000
    assert len((files(data) / f"{name}_samples.npz").read_bytes()) < 60_000


def test_what_they_speak_of():
    digits, cancer = data.digits(), data.breast_cancer()
    assert digits.classes == tuple("0123456789")
    assert digits.words(1, +2) == "pixel (0,0) >= 8"
    assert cancer.classes == ("malignant", "benign")
    assert cancer.encoder.names[0] == "mean radius"
    assert all(coding.width in (1, 2) for coding in cancer.encoder.codings)
    assert data.samples("breast_cancer")[0].dtype == np.float64
    assert data.samples("digits")[0].max() <= 16


def test_there_are_no_other_samples():
    with pytest.raises(SugenetError, match="no shipped model 'mnist'; there are digits, breast_cancer"):
        data.samples("mnist")


def test_a_recipe_can_be_tried_on_another_split():
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    recipe = RECIPES["breast_cancer"]
    (one, accuracy), (other, _) = (
        try_split(recipe, split, replace(recipe.settings, epochs=3)) for split in (1, 2)
    )
    assert one.comparison.differing == other.comparison.differing == 0
    assert one.network.encoder != other.network.encoder  # the cuts are learned from other samples
    assert accuracy > 0.8


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_script_trains_models_as_good(name, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    trained, accuracy = make(RECIPES[name], tmp_path)
    assert trained.comparison.differing == 0
    assert (
        accuracy >= {"digits": 0.94, "breast_cancer": 0.94}[name]
    )  # other machines may round gradients otherwise
    with np.load(tmp_path / f"{name}_samples.npz") as again:
        assert np.array_equal(again["X"], data.samples(name)[0])
