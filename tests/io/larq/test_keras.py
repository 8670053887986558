"""Files that Keras 3 itself writes, against what Keras computes: all scores on hundreds of samples."""

import json
import os
import zipfile

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "torch")
pytest.importorskip("h5py", reason="h5py is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("keras", reason="Keras is not installed")

from keras import layers, ops

import sugenet as sg
from sugenet.errors import FileError
from tests.fuzzing.keras_layers import (
    BinaryDense,
    QActivation,
    QConv2D,
    QDense,
    QuantConv2D,
    QuantDense,
    SteSign,
    TernaryDense,
    binary_tanh,
    keras,
    ste_sign,
    ternary_tanh,
)

pytestmark = pytest.mark.filterwarnings(  # of Keras' PyTorch backend under NumPy 2
    "ignore:__array__ implementation:DeprecationWarning",
    "ignore:You are saving your model:UserWarning",
    "ignore:Gradients do not exist:UserWarning",
)
SIGNED = {"kernel_quantizer": "ste_sign", "use_bias": False}
BINARY = {"class_name": "binary", "config": {"use_01": False, "alpha": 1, "use_stochastic_rounding": False}}


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """HDF5 files that are whole are read here, which is faster; without an interpreter nothing else is."""
    monkeypatch.setattr("sys.executable", "")


def shuffled(model, seed=0):
    """A model whose arrays are random, so that none can be taken for another."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        values = random.uniform(-1, 1, weight.shape)
        positive = weight.path.endswith(("moving_variance", "gamma"))
        if weight.dtype == "float32" and "seed" not in weight.path:
            weight.assign(np.abs(values) + 0.2 if positive else values)
    return model


def agree(found, model, samples=300, low=0, high=1, start=-1, step=2, seed=1):
    """Compare all scores with those of Keras; raw numbers k enter as start + k * step."""
    shape = model.input_shape[1:]
    X = np.random.default_rng(seed).integers(low, high + 1, (samples, *shape))
    theirs = model(ops.convert_to_tensor((start + X * step).astype("float32")), training=False)
    network = found.network
    ours = network.head.logits(network.match_counts(X.reshape(samples, -1)))
    theirs = ops.convert_to_numpy(theirs)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    assert len(np.unique(ours.argmax(axis=1))) > 1


def every_file(model, folder):
    """The model in each way that Keras 3 saves it."""
    for name in ("net.keras", "net.h5"):
        model.save(folder / name)
        yield folder / name, None
    model.save_weights(folder / "net.weights.h5")
    (folder / "net.json").write_text(model.to_json())
    yield folder / "net.json", folder / "net.weights.h5"


def dense(*inner):
    return keras.Sequential(
        [
            layers.Input((12,)),
            QuantDense(16, **SIGNED),
            layers.BatchNormalization(),
            *inner,
            QuantDense(8, input_quantizer="ste_sign", **SIGNED),
            layers.BatchNormalization(scale=False),
            layers.Dropout(0.5),
            QuantDense(4, input_quantizer="ste_sign", kernel_quantizer="ste_sign", activation="softmax"),
        ]
    )


def test_a_dense_model_in_every_kind_of_file(tmp_path):
    model = shuffled(dense())
    # compiled and trained a little, so that optimizer, metrics and random states stand in the files
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(np.ones((4, 12), "float32"), np.zeros(4), epochs=1, verbose=0)
    model.layers[-1].activation = keras.activations.linear
    prints = set()
    for path, weights in every_file(model, tmp_path):
        found = sg.read_larq(path, weights_file=weights, inputs=sg.Bits()).report
        agree(found, model)
        prints.add(found.network.fingerprint)
    assert len(prints) == 1


def images():
    x = first = keras.Input((8, 6, 2))
    x = QuantConv2D(6, 3, padding="same", **SIGNED)(x)
    x = layers.MaxPooling2D(2)(x)
    x = SteSign()(layers.BatchNormalization()(x))
    x = layers.DepthwiseConv2D(2, use_bias=False, depthwise_initializer="ones")(x)
    x = layers.Activation(ste_sign)(x)
    x = layers.Flatten()(x)
    return keras.Model(first, QuantDense(3, **SIGNED)(x))


def test_a_convolutional_model_in_every_kind_of_file(tmp_path):
    model = shuffled(images())
    depthwise = next(layer for layer in model.layers if isinstance(layer, layers.DepthwiseConv2D))
    depthwise.set_weights([np.sign(depthwise.get_weights()[0])])
    for path, weights in every_file(model, tmp_path):
        found = sg.read_larq(path, weights_file=weights, inputs=sg.Integers(0, 15)).report
        agree(found, model, high=15, start=0, step=1)


def nested():
    """Models within models, with layers of equal names, called in other orders than they are listed in."""

    def block(size, wide, name):
        return keras.Sequential(
            [
                layers.Input((size,)),
                QuantDense(wide, name="fc", **SIGNED),
                layers.BatchNormalization(name="bn"),
                SteSign(name="act"),
            ],
            name=name,
        )

    first = keras.Input((10,))
    inside = keras.Input((12,))
    middle = keras.Model(inside, block(12, 12, "deep")(block(12, 12, "deeper")(inside)), name="middle")
    x = block(10, 12, "one")(first)
    x = middle(x)
    x = block(12, 9, "two")(x)
    return keras.Model(first, QuantDense(4, name="fc", **SIGNED)(x), name="all")


def test_models_within_models(tmp_path):
    model = shuffled(nested())
    prints = set()
    for path, weights in every_file(model, tmp_path):
        found = sg.read_larq(path, weights_file=weights, inputs=sg.Bits()).report
        assert [layer.where.split(" ")[0] for layer in found.layers] == [
            "one/fc",
            "middle/deeper/fc",
            "middle/deep/fc",
            "two/fc",
        ]
        agree(found, model)
        prints.add(found.network.fingerprint)
    assert len(prints) == 1


def test_a_sequential_model_that_begins_with_a_model(tmp_path):
    inner = keras.Sequential(
        [layers.Input((9,)), QuantDense(7, **SIGNED), layers.BatchNormalization(), SteSign()]
    )
    model = shuffled(keras.Sequential([inner, QuantDense(3, **SIGNED)]))
    for path, weights in every_file(model, tmp_path):
        agree(sg.read_larq(path, weights_file=weights, inputs=sg.Bits()).report, model)


@pytest.mark.parametrize(
    ("sign", "zero"),
    [
        (ops.sign, 1),
        (lambda x: ops.where(x >= 0, 1.0, -1.0), None),
        (lambda x: ops.where(x > 0.75, 1, 0), None),
    ],
)
def test_operations_of_keras(tmp_path, sign, zero):
    first = keras.Input((11,))
    x = sign(layers.BatchNormalization()(QuantDense(9, **SIGNED)(first)))
    model = shuffled(keras.Model(first, QuantDense(3, **SIGNED)(x)))
    model.save(tmp_path / "net.keras")
    agree(sg.read_larq(tmp_path / "net.keras", inputs=sg.Bits(), zero=zero).report, model)


@pytest.mark.parametrize(
    ("name", "alpha", "more"),
    [
        *((name, alpha, {}) for name in ("binary", "ternary") for alpha in ("auto", "auto_po2", 1, None)),
        ("binary", "auto", {"use_01": True}),
        ("binary", 0.375, {"use_01": True}),
        ("ternary", 0.375, {"threshold": 0.25}),
        ("ternary", "auto", {"number_of_unrolls": 2}),
    ],
)
def test_quantizers_of_qkeras(tmp_path, name, alpha, more):
    kernel = {"class_name": name, "config": {"alpha": alpha, "use_stochastic_rounding": False, **more}}
    bias = {"class_name": "quantized_bits", "config": {"bits": 6, "integer": 2, "keep_negative": True}}
    activation = f"{name}()" if alpha is None else {"class_name": name, "config": {"alpha": 0.5}}
    model = shuffled(
        keras.Sequential(
            [
                layers.Input((6, 5, 1)),
                QConv2D(6, 2, kernel_quantizer=kernel, use_bias=False),
                layers.BatchNormalization(),
                QActivation(activation),
                layers.Flatten(),
                QDense(7, kernel_quantizer=kernel, bias_quantizer=bias),
                layers.BatchNormalization(),
                QActivation(BINARY),
                QDense(3, kernel_quantizer=BINARY, bias_quantizer=bias),
            ]
        ),
        seed=5,
    )
    model.save(tmp_path / "net.keras")
    found = sg.read_larq(tmp_path / "net.keras", inputs=sg.Integers(-4, 4)).report
    agree(found, model, low=-4, high=4, start=0, step=1)


@pytest.mark.parametrize("height", [1.0, 0.3779644730092272])
def test_layers_of_hls4ml(tmp_path, height):
    model = shuffled(
        keras.Sequential(
            [
                layers.Input((16,)),
                BinaryDense(12, H=height, use_bias=False),
                layers.BatchNormalization(epsilon=1e-6),
                layers.Activation(binary_tanh),
                TernaryDense(9, H=height, use_bias=False),
                layers.BatchNormalization(epsilon=1e-6),
                layers.Activation(ternary_tanh),
                BinaryDense(5, H=height, use_bias=False),
            ]
        )
    )
    for path, weights in every_file(model, tmp_path):
        agree(
            sg.read_larq(path, weights_file=weights, inputs=sg.Integers(0, 7)).report,
            model,
            high=7,
            start=0,
            step=1,
        )


@keras.saving.register_keras_serializable("Mine")
class Dense(layers.Dense):
    """A class of a program of its own."""


@keras.saving.register_keras_serializable("Mine")
class Unknown(layers.Dense):
    """Another one."""


def saved(path, *inner, **more):
    keras.Sequential([layers.Input((4,)), *inner, SteSign(), QuantDense(2, **SIGNED)], **more).save(path)
    return path


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (
            [Dense(3)],
            r"dense\w* \(Dense\): a class of its own \(Mine\), so its name does not say what it does",
        ),
        ([Unknown(3)], r"\(Unknown\): this layer cannot be read. QuantDense"),
        ([QActivation("binary(alpha='auto')")], "takes the scale from all samples of a batch at once"),
        ([layers.LayerNormalization()], "Use BatchNormalization, whose statistics are fixed"),
        ([layers.Dense(3, activation="gelu")], "gelu"),
        ([layers.Dense(3, dtype="mixed_float16")], "whose rounding would be part of the network"),
    ],
)
def test_refusals(tmp_path, inner, message):
    with pytest.raises(FileError, match=message):
        sg.read_larq(saved(tmp_path / "net.keras", *inner), inputs=sg.Bits())


def test_lone_halves_and_wrong_pairs(tmp_path):
    model = shuffled(dense())
    (json_file, weights), whole = list(every_file(model, tmp_path))[-1], tmp_path / "net.h5"
    with pytest.raises(
        FileError, match=r"net.json: it holds the layers of a model without their weights. Give"
    ):
        sg.read_larq(json_file)
    with pytest.raises(
        FileError, match=r"net.weights.h5: it holds weights without a model. Save the model's"
    ):
        sg.read_larq(weights)
    with pytest.raises(FileError, match=r"net.h5 holds a whole model: read it alone, without net.json"):
        sg.read_larq(json_file, weights_file=whole)
    with pytest.raises(
        FileError, match=r"net.weights.h5 would be left over: weights_file= goes with a model as text"
    ):
        sg.read_larq(whole, weights_file=weights)
    shuffled(images()).save_weights(tmp_path / "other.weights.h5")
    with pytest.raises(FileError, match=r"would be left over|groups of arrays for"):
        sg.read_larq(json_file, weights_file=tmp_path / "other.weights.h5", inputs=sg.Bits())


def repacked(path, change):
    """An archive with its parts changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    return path


def edited(edit):
    def change(parts):
        model = json.loads(parts["config.json"])
        edit(model)
        parts["config.json"] = json.dumps(model).encode()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: parts.pop("config.json"), "its part 'config.json' is missing"),
        (lambda parts: parts.pop("model.weights.h5"), "its part 'model.weights.h5' is missing"),
        (
            lambda parts: parts.update({"assets/words.txt": b"a"}),
            "its part 'assets/words.txt' would be left over",
        ),
        (lambda parts: parts.update({"model.weights.json": b"{}"}), "Save the weights in one piece"),
        (
            lambda parts: parts.update({"config.json": b"{" + b" " * (1 << 25)}),
            "its config.json has 33554433 bytes",
        ),
        (
            lambda parts: parts.update({"model.weights.h5": bytes(1 << 28)}),
            "its archive unpacks to far more than its",
        ),
        (lambda parts: parts.update({"config.json": b"\xff"}), "its archive is damaged"),
        (edited(lambda model: model.update({"class_name": "Transformer"})), "a model of class 'Transformer'"),
        (
            edited(lambda model: model["config"]["layers"][1]["config"].update({"lora_rank": 4})),
            "its setting 'lora_rank'",
        ),
        (
            edited(lambda model: model["config"]["layers"].pop(2)),
            "layers/batch_normalization: 2 groups of arrays for 1 layers|would be left over",
        ),
    ],
)
def test_damaged_and_foreign_archives(tmp_path, change, message):
    shuffled(dense()).save(tmp_path / "net.keras")
    with pytest.raises(FileError, match=message) as refused:
        sg.read_larq(repacked(tmp_path / "net.keras", change), inputs=sg.Bits())
    assert str(refused.value).count("damaged") <= 1 + message.count("damaged")


def test_a_part_without_a_name_is_left_over(tmp_path):
    path = tmp_path / "net.keras"
    images().save(path)
    repacked(path, lambda parts: parts.update({"zz": b"more"}))
    path.write_bytes(path.read_bytes().replace(b"zz", b"\0z"))  # names end at a zero byte
    with pytest.raises(FileError, match="its part '' would be left over"):
        sg.read_larq(path)
