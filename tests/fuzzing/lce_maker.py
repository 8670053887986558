"""Make binarized files with the converter of Larq Compute Engine, and run them with its interpreter.

Runs in an environment of its own (`make lce`), as a program: ``python lce_maker.py FOLDER FIRST LAST``. For
each seed it writes N.tflite, and N.npz with samples and outputs. `lce_files` compares them with what is read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import larq
import larq_compute_engine as lce
import numpy as np
import tensorflow as tf

keras = tf.keras
_SAMPLES = 24


def _signed(x: Any, random: np.random.Generator, layer: Any, *args: Any, **options: Any) -> Any:
    """A binarized layer with batch norm after it, in one of the usual orders."""
    made = layer(
        *args, input_quantizer="ste_sign", kernel_quantizer="ste_sign", use_bias=bool(random.random() < 0.2),
        **options,
    )(x)  # fmt: skip
    if random.random() < 0.2:
        made = keras.layers.ReLU()(made)
    if made.shape.rank == 4 and random.random() < 0.3 and min(made.shape[1:3]) >= 2:
        same = "same" if random.random() < 0.3 else "valid"
        made = keras.layers.MaxPool2D(2, strides=int(random.integers(1, 3)), padding=same)(made)
    made = keras.layers.BatchNormalization(scale=bool(random.random() < 0.8))(made)
    if made.shape.rank == 4 and random.random() < 0.3 and min(made.shape[1:3]) >= 2:  # a pool of signs
        made = keras.layers.MaxPool2D(2, padding="same" if random.random() < 0.5 else "valid")(made)
    return made


def _conv(x: Any, random: np.random.Generator) -> Any:
    kernel = tuple(int(min(size, random.integers(1, 4))) for size in x.shape[1:3])
    stride = int(random.integers(1, 3))
    dilation = 2 if stride == 1 and random.random() < 0.2 else 1
    padding = str(random.choice(["valid", "same"]))
    if dilation == 2 and any((k - 1) * 2 + 1 > size for k, size in zip(kernel, x.shape[1:3], strict=True)):
        dilation = 1
    return _signed(
        x, random, larq.layers.QuantConv2D, int(random.choice([1, 3, 8, 31, 32, 33, 40])), kernel,
        strides=stride, dilation_rate=dilation, padding=padding,
        pad_values=float(random.integers(0, 2)) if padding == "same" else 0.0,
    )  # fmt: skip


def model_of(seed: int) -> Any:
    """A random model."""
    random = np.random.default_rng(seed)
    tf.keras.utils.set_random_seed(seed)
    images = random.random() < 0.8
    shape = (
        (int(random.integers(2, 8)), int(random.integers(2, 8)), int(random.choice([1, 2, 3, 33])))
        if images
        else (int(random.integers(3, 70)),)
    )
    x = start = keras.Input(shape, batch_size=1)
    if images:
        if random.random() < 0.5:
            x = larq.layers.QuantConv2D(
                int(random.choice([2, 4, 33])), 2, kernel_quantizer="ste_sign", padding="same", use_bias=False
            )(x)
            x = keras.layers.BatchNormalization()(x)
        for _ in range(int(random.integers(1, 3))):
            x = _conv(x, random)
        if random.random() < 0.3:
            x = larq.quantizers.SteSign()(x)
            if min(x.shape[1:3]) >= 2:
                x = keras.layers.MaxPool2D(2)(x)
        x = keras.layers.GlobalAveragePooling2D()(x) if random.random() < 0.15 else keras.layers.Flatten()(x)
    if random.random() < 0.4:
        x = _signed(x, random, larq.layers.QuantDense, int(random.choice([4, 32, 37])))
    x = larq.layers.QuantDense(
        int(random.integers(2, 6)), input_quantizer="ste_sign", kernel_quantizer="ste_sign", use_bias=False
    )(x)
    if random.random() < 0.7:
        x = keras.layers.BatchNormalization()(x)
    if random.random() < 0.4:
        x = keras.layers.Softmax()(x)
    made = keras.Model(start, x)
    for weight in made.weights:
        if "moving_variance" in weight.name:
            weight.assign(random.uniform(0.5, 9, weight.shape))
        elif any(word in weight.name for word in ("gamma", "beta", "moving_mean", "bias")):
            weight.assign(random.normal(0, 1, weight.shape))
    return made


def main(folder: Path, seeds: range) -> None:
    """Write files, samples and outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        keras.backend.clear_session()
        raw = lce.convert_keras_model(model_of(seed))
        run = lce.testing.Interpreter(raw)
        samples = np.random.default_rng(seed).integers(
            -4, 5, (_SAMPLES, *run.input_shapes[0][1:]), dtype=np.int8
        )
        outputs = run.predict(samples.astype(np.float32))
        (folder / f"{seed}.tflite").write_bytes(raw)
        np.savez_compressed(folder / f"{seed}.npz", samples=samples, outputs=outputs)


if __name__ == "__main__":
    main(Path(sys.argv[1]), range(int(sys.argv[2]), int(sys.argv[3])))
