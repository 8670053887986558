"""Files of TensorFlow that hold programs and not layers: what to do with them instead."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from sugenet.errors import FileError

__all__ = ["refuse_tensorflow"]


def refuse_tensorflow(path: Path) -> None:
    """Say the way for SavedModel folders, `.pb`, `.tflite` and TensorFlow's checkpoints; other files pass.

    Examples
    --------
    >>> refuse_tensorflow(Path("net.tflite"))
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: net.tflite is a TensorFlow Lite program, in which layers are fused and rounded.
    Save the Keras model that it was made from, model.save('net.h5'), and read that; or, where its operators
    are all TensorFlow's own, convert it: python -m tf2onnx.convert --tflite net.tflite --output net.onnx
    """
    name = path.name.lower().removesuffix(".gz")
    folder = path if path.is_dir() else path.parent
    to = quote(f"{path.name.split('.')[0] or 'net'}.onnx")
    if name.endswith((".tflite", ".lite")):
        raise FileError(
            f"{path} is a TensorFlow Lite program, in which layers are fused and rounded. Save the Keras "
            "model that it was made from, model.save('net.h5'), and read that; or, where its operators are "
            "all TensorFlow's own, convert it: "
            f"python -m tf2onnx.convert --tflite {quote(str(path))} --output {to}"
        )
    if name in ("saved_model.pb", "saved_model.pbtxt") or (
        path.is_dir() and any((path / file).is_file() for file in ("saved_model.pb", "saved_model.pbtxt"))
    ):
        raise FileError(
            f"{folder} is a SavedModel of TensorFlow, which holds a program and not layers. Where TensorFlow "
            'is installed, save its layers: python -c "import tensorflow as tf; '
            f"tf.keras.models.load_model({str(folder)!r}).save('net.h5')\", or convert it: "
            f"python -m tf2onnx.convert --saved-model {quote(str(folder))} --output {to}"
        )
    if name.endswith(".pb"):
        raise FileError(
            f"{path} is a graph of TensorFlow, which holds a program and not layers. Convert it: "
            f"python -m tf2onnx.convert --graphdef {quote(str(path))} --output {to} --inputs ... --outputs "
            "..., with the names of its first and last tensor; or save the Keras model: model.save('net.h5')."
        )
    if name.endswith((".ckpt", ".index", ".meta")) or ".data-00000-of-" in name:
        raise FileError(
            f"{path} is a checkpoint of TensorFlow, which holds weights without layers. Load it into the "
            "Keras model and save that: model.load_weights(...), model.save('net.h5')."
        )
