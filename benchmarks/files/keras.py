"""Models of Keras, Larq, QKeras and hls4ml's examples: written by Keras 3 and compared with what it computes.

Layers of Larq, QKeras and hls4ml are those of tests/fuzzing/keras_layers.py, written for Keras 3 after their
descriptions, since their own packages need TensorFlow.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.files.kind import Kind, Outcome, Read, Refused, Skipped
from sugenet.errors import FileError
from sugenet.io import Integers, import_file

__all__ = ["kinds"]

_SAMPLES = 300
_SIGNED = {"kernel_quantizer": "ste_sign", "use_bias": False}
_LOW, _HIGH = -4, 4


def kinds() -> Iterator[Kind]:
    yield _read(".keras", "Keras 3, Larq", _larq, _archive)
    yield _read(".h5", "Keras 3, Larq", _larq, _whole)
    yield _read(".json with .weights.h5", "Keras 3, Larq", _larq, _pair)
    yield _read(".keras with models within", "Keras 3, Larq", _nested, _archive)
    yield _read(".h5 with models within", "Keras 3, Larq", _nested, _whole)
    yield _read(".keras, images", "Keras 3, Larq", _images, _archive)
    yield _read("ops.where as a sign", "Keras 3", _chosen, _archive)
    for name, alpha in (("binary", "auto"), ("binary", None), ("ternary", "auto_po2"), ("ternary", 1)):
        yield _read(f"QKeras {name}, alpha {alpha}", "Keras 3, QKeras", _qkeras(name, alpha), _archive)
    yield _read("BinaryDense, TernaryDense", "Keras 3, hls4ml", _hls4ml, _pair)
    yield Kind(
        "SavedModel folder", "TensorFlow", _told("saved_model.pb", "python -m tf2onnx.convert --saved-model")
    )
    yield Kind("weights alone (.h5)", "Keras 3", _weights_alone)


def _read(
    name: str, tool: str, build: Callable[[Any, Any], Any], save: Callable[[Any, Path], dict[str, Path]]
) -> Kind:
    def attempt(folder: Path) -> Outcome:
        if find_spec("keras") is None:
            return Skipped("Keras is not installed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tests.fuzzing import keras_layers

            logging.getLogger("absl").setLevel(logging.ERROR)  # advice against .h5
            model = _random(build(keras_layers, keras_layers.keras.layers))
            files = save(model, folder)
            found = import_file(files.pop("path"), inputs=Integers(_LOW, _HIGH), **files).report
            return _compared(keras_layers.keras, model, found)

    return Kind(name, tool, attempt)


def _random(model: Any) -> Any:
    random = np.random.default_rng(7)
    for weight in model.weights:
        values = random.uniform(-1, 1, weight.shape)
        if "seed" not in weight.path:
            weight.assign(np.abs(values) + 0.2 if weight.path.endswith(("variance", "gamma")) else values)
    return model


def _compared(keras: Any, model: Any, found: Any) -> Read:
    X = np.random.default_rng(8).integers(_LOW, _HIGH + 1, (_SAMPLES, *model.input_shape[1:]))
    theirs = keras.ops.convert_to_numpy(model(X.astype("float32"), training=False))
    ours = found.network.head.logits(found.network.match_counts(X.reshape(_SAMPLES, -1)))
    near = np.abs(ours - theirs) <= 1e-4 * np.maximum(1, np.abs(theirs))
    return Read(_SAMPLES, int((~near).any(axis=1).sum()))


def _archive(model: Any, folder: Path) -> dict[str, Path]:
    model.save(folder / "net.keras")
    return {"path": folder / "net.keras"}


def _whole(model: Any, folder: Path) -> dict[str, Path]:
    model.save(folder / "net.h5")
    return {"path": folder / "net.h5"}


def _pair(model: Any, folder: Path) -> dict[str, Path]:
    model.save_weights(folder / "net.weights.h5")
    (folder / "net.json").write_text(model.to_json())
    return {"path": folder / "net.json", "weights_file": folder / "net.weights.h5"}


def _larq(ours: Any, layers: Any) -> Any:
    return ours.keras.Sequential(
        [
            layers.Input((20,)),
            ours.QuantDense(16, **_SIGNED),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            ours.QuantDense(12, input_quantizer="ste_sign", **_SIGNED),
            layers.BatchNormalization(),
            ours.QuantDense(5, input_quantizer="ste_sign", **_SIGNED),
        ]
    )


def _nested(ours: Any, layers: Any) -> Any:
    def block(size: int, wide: int, name: str) -> Any:
        parts = [
            ours.QuantDense(wide, name="fc", **_SIGNED),
            layers.BatchNormalization(name="bn"),
            ours.SteSign(),
        ]
        return ours.keras.Sequential([layers.Input((size,)), *parts], name=name)

    first = ours.keras.Input((20,))
    x = block(16, 12, "two")(block(20, 16, "one")(first))
    return ours.keras.Model(first, ours.QuantDense(5, name="fc", **_SIGNED)(x))


def _images(ours: Any, layers: Any) -> Any:
    return ours.keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            ours.QuantConv2D(6, 3, padding="same", **_SIGNED),
            layers.MaxPooling2D(2),
            layers.BatchNormalization(),
            layers.Activation(ours.ste_sign),
            layers.Flatten(),
            ours.QuantDense(5, **_SIGNED),
        ]
    )


def _chosen(ours: Any, layers: Any) -> Any:
    first = ours.keras.Input((20,))
    x = layers.BatchNormalization()(ours.QuantDense(16, **_SIGNED)(first))
    return ours.keras.Model(first, ours.QuantDense(5, **_SIGNED)(ours.keras.ops.where(x >= 0, 1.0, -1.0)))


def _qkeras(name: str, alpha: Any) -> Callable[[Any, Any], Any]:
    kernel = {"class_name": name, "config": {"alpha": alpha, "use_stochastic_rounding": False}}

    def build(ours: Any, layers: Any) -> Any:
        return ours.keras.Sequential(
            [
                layers.Input((20,)),
                ours.QDense(16, kernel_quantizer=kernel, use_bias=False),
                layers.BatchNormalization(),
                ours.QActivation(f"{name}(alpha=1)"),
                ours.QDense(5, kernel_quantizer=kernel, use_bias=False),
            ]
        )

    return build


def _hls4ml(ours: Any, layers: Any) -> Any:
    return ours.keras.Sequential(
        [
            layers.Input((16,)),
            ours.BinaryDense(16, use_bias=False),
            layers.BatchNormalization(epsilon=1e-6),
            layers.Activation(ours.binary_tanh),
            ours.TernaryDense(12, use_bias=False),
            layers.BatchNormalization(epsilon=1e-6),
            layers.Activation(ours.ternary_tanh),
            ours.BinaryDense(5, use_bias=False),
        ]
    )


def _told(file: str, way: str) -> Callable[[Path], Outcome]:
    def attempt(folder: Path) -> Outcome:
        (folder / file).write_bytes(b"")
        return _refused(folder / file, way)

    return attempt


def _refused(path: Path, way: str) -> Refused:
    try:
        import_file(path)
    except FileError as error:
        if way in str(error):
            return Refused(way)
        raise
    raise AssertionError(f"{path.name} was read")


def _weights_alone(folder: Path) -> Outcome:
    if find_spec("keras") is None:
        return Skipped("Keras is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tests.fuzzing import keras_layers

        _larq(keras_layers, keras_layers.keras.layers).save_weights(folder / "net.weights.h5")
    return _refused(folder / "net.weights.h5", "model.to_json()")
