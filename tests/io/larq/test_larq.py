"""Larq files, written here as Keras 2 writes them, against Larq's own formulas in NumPy on (height,
width, channels) arrays.
"""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.thinned import examples

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

from sugenet.errors import FileError  # noqa: E402
from sugenet.io import hdf5  # noqa: E402
from sugenet.io.exact.domains import Bits, Integers  # noqa: E402
from sugenet.io.exact.lower import lower  # noqa: E402
from sugenet.io.exact.ops import Flatten, Sign  # noqa: E402
from sugenet.io.larq import reader as larq_reader  # noqa: E402
from tests.io.chains import evaluate  # noqa: E402

F = np.float32


def read_larq(path):
    """In this process, which is faster; files that are damaged on purpose are read apart."""
    return larq_reader.read_model(path, apart=False)[0]


# -- Keras' file ---------------------------------------------------------------------------------------------


def write(path, layers, shape, functional=False, **more):
    """A model file: `layers` are (class, config, arrays by name)."""
    entries, weights = [], {}
    for number, (kind, config, arrays) in enumerate(layers):
        name = f"{kind.lower()}_{number}"
        about = {"name": name, "trainable": True, "dtype": "float32", **config}
        if number == 0 and not functional:
            about["batch_input_shape"] = [None, *shape]
        entry = {"class_name": kind, "config": about}
        if functional:
            entry |= {
                "name": name,
                "inbound_nodes": [[[entries[-1]["config"]["name"] if entries else "input_1", 0, 0, {}]]],
            }
        entries.append(entry)
        weights[name] = arrays
    model = {"class_name": "Sequential", "config": {"name": "sequential", "layers": entries}}
    if functional:
        given_shape = {"name": "input_1", "batch_input_shape": [None, *shape], "dtype": "float32"}
        first = {"class_name": "InputLayer", "config": given_shape, "name": "input_1", "inbound_nodes": []}
        model = {"class_name": "Functional", "config": {"name": "model", "layers": [first, *entries]}}
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = b"2.4.0", b"tensorflow"
        file.attrs["model_config"] = json.dumps(more.get("config", model)).encode()
        root = file.create_group("model_weights")
        root.attrs["layer_names"] = [name.encode() for name in weights]
        for name, arrays in weights.items():
            group = root.create_group(name)
            group.attrs["weight_names"] = [f"{name}/{part}:0".encode() for part in arrays]
            for part, array in arrays.items():
                group.create_dataset(f"{name}/{part}:0", data=array)
    return path


# -- Larq's formulas -----------------------------------------------------------------------------------------


def ste_sign(x):
    return np.sign(np.sign(x) + 0.1)


def heaviside(x):
    return np.sign(np.maximum(x, 0))


def ternary(x, threshold=0.05):
    x = np.clip(x, -1, 1)
    return np.sign(np.sign(x + threshold) + np.sign(x - threshold))


def magnitude(x):
    return np.abs(x).mean(axis=tuple(range(x.ndim - 1))) * ste_sign(x)


def same_pads(size, kernel, stride):
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def conv2d(x, kernel, stride=1, padding="valid", value=0.0, depthwise=False):
    """x is (samples, height, width, channels), the kernel (height, width, in, out)."""
    high, wide = kernel.shape[:2]
    if padding == "same":
        pads = [same_pads(x.shape[1], high, stride), same_pads(x.shape[2], wide, stride)]
        x = np.pad(x, ((0, 0), *pads, (0, 0)), constant_values=value)
    rows, columns = (x.shape[1] - high) // stride + 1, (x.shape[2] - wide) // stride + 1
    out = []
    for i in range(rows):
        for j in range(columns):
            patch = x[:, i * stride : i * stride + high, j * stride : j * stride + wide]
            how = "nhwc,hwcm->ncm" if depthwise else "nhwc,hwco->no"
            out.append(np.einsum(how, patch, kernel).reshape(len(x), -1))
    return np.stack(out, axis=1).reshape(len(x), rows, columns, -1)


def norm(x, arrays, eps=1e-3):
    gamma, beta = arrays.get("gamma", 1.0), arrays.get("beta", 0.0)
    return gamma * (x - arrays["moving_mean"]) / np.sqrt(arrays["moving_variance"].astype(float) + eps) + beta


def pooled(x, how, size=2, stride=2, padding="valid"):
    if padding == "same":
        pads = [same_pads(x.shape[1], size, stride), same_pads(x.shape[2], size, stride)]
        x = np.pad(x, ((0, 0), *pads, (0, 0)), constant_values=np.nan)
    rows, columns = (x.shape[1] - size) // stride + 1, (x.shape[2] - size) // stride + 1
    pick = np.nanmax if how == "max" else np.nanmean
    cells = [
        pick(x[:, i * stride : i * stride + size, j * stride : j * stride + size], axis=(1, 2))
        for i in range(rows)
        for j in range(columns)
    ]
    return np.stack(cells, axis=1).reshape(len(x), rows, columns, -1)


@pytest.fixture
def random():
    return np.random.default_rng(7)


def latent(random, *shape):
    return random.uniform(-1, 1, shape).astype(F)


def statistics(random, size, scale=True, center=True):
    arrays = {"gamma": random.standard_normal(size).astype(F)} if scale else {}
    arrays |= {"beta": random.standard_normal(size).astype(F)} if center else {}
    return arrays | {
        "moving_mean": random.standard_normal(size).astype(F),
        "moving_variance": random.uniform(0.5, 3, size).astype(F),
    }


STE = {"class_name": "SteSign", "config": {"clip_value": 1.0}}
PLAIN = {"use_bias": False}


# -- whole networks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("functional", [False, True])
def test_dense_network(tmp_path, random, functional):
    k1, k2, k3, bias = latent(random, 6, 8), latent(random, 8, 5), latent(random, 5, 3), latent(random, 3)
    n1, n2 = statistics(random, 8, scale=False), statistics(random, 5)
    layers = [
        (
            "QuantDense",
            {"units": 8, "kernel_quantizer": STE, "input_quantizer": None, **PLAIN},
            {"kernel": k1},
        ),
        ("BatchNormalization", {"scale": False, "center": True, "epsilon": 0.001, "axis": [1]}, n1),
        ("Dropout", {"rate": 0.5}, {}),
        (
            "QuantDense",
            {
                "units": 5,
                "kernel_quantizer": "magnitude_aware_sign",
                "input_quantizer": "approx_sign",
                **PLAIN,
            },
            {"kernel": k2},
        ),
        ("BatchNormalization", {"scale": True, "center": True, "epsilon": 1e-4, "axis": -1}, n2),
        (
            "QuantDense",
            {"units": 3, "kernel_quantizer": "ste_tern", "input_quantizer": "SwishSign", "use_bias": True},
            {"kernel": k3, "bias": bias},
        ),
        ("Activation", {"activation": "softmax"}, {}),
    ]
    chain = read_larq(write(tmp_path / "net.h5", layers, (6,), functional))
    x = random.integers(0, 256, (50, 6))
    h = ste_sign(norm(x @ ste_sign(k1), n1))
    h = ste_sign(norm(h @ magnitude(k2), n2, 1e-4))
    scores = h @ ternary(k3) + bias
    np.testing.assert_allclose(evaluate(chain, x), scores, atol=1e-5)
    assert chain.left_out == ("softmax at activation_6 (Activation)",)
    network = lower(chain, Integers(0, 255)).network
    assert (network.predict(x) == scores.argmax(1)).all()


def test_convolutional_network(tmp_path, random):
    k1, k2, k3, k4 = (
        latent(random, 3, 3, 3, 4),
        latent(random, 2, 3, 4, 6),
        latent(random, 3, 3, 6, 2),
        latent(random, 2 * 3 * 12, 5),
    )
    n1, n2, n3, n4 = (statistics(random, size, center=k % 2 == 0) for k, size in enumerate((4, 6, 12, 5)))
    quant = {"input_quantizer": STE, **PLAIN}
    layers = [
        (
            "QuantConv2D",
            {
                "filters": 4,
                "kernel_size": [3, 3],
                "strides": [1, 1],
                "padding": "same",
                "kernel_quantizer": STE,
                "pad_values": 0.0,
                **PLAIN,
            },
            {"kernel": k1},
        ),
        ("MaxPooling2D", {"pool_size": [2, 2], "strides": [2, 2], "padding": "same"}, {}),
        ("BatchNormalization", {"axis": [3]}, n1),
        (
            "QuantConv2D",
            {
                "filters": 6,
                "kernel_size": [2, 3],
                "strides": [1, 1],
                "padding": "same",
                "pad_values": 1.0,
                "kernel_quantizer": STE,
                **quant,
            },
            {"kernel": k2},
        ),
        ("BatchNormalization", {"axis": [3], "center": False}, n2),
        (
            "QuantDepthwiseConv2D",
            {
                "kernel_size": [3, 3],
                "strides": [2, 2],
                "padding": "same",
                "depth_multiplier": 2,
                "depthwise_quantizer": "ste_sign",
                **quant,
            },
            {"depthwise_kernel": k3},
        ),
        ("BatchNormalization", {"axis": [3]}, n3),
        ("Flatten", {"data_format": "channels_last"}, {}),
        ("QuantDense", {"units": 5, "kernel_quantizer": STE, **quant}, {"kernel": k4}),
        ("BatchNormalization", {"axis": [1], "center": False}, n4),
    ]
    chain = read_larq(write(tmp_path / "net.h5", layers, (7, 9, 3)))
    x = random.choice([-1.0, 1.0], (30, 7, 9, 3))
    h = norm(pooled(conv2d(x, ste_sign(k1), padding="same"), "max", padding="same"), n1)
    h = norm(conv2d(ste_sign(h), ste_sign(k2), padding="same", value=1.0), n2)
    h = norm(conv2d(ste_sign(h), ste_sign(k3), stride=2, padding="same", depthwise=True), n3)
    scores = norm(ste_sign(h.reshape(30, -1)) @ ste_sign(k4), n4)
    np.testing.assert_allclose(evaluate(chain, x), scores, atol=1e-4)
    assert (chain.shape, chain.channels_last) == ((3, 7, 9), True)
    assert [op.order for op in chain.ops if isinstance(op, Flatten)] == ["HWC"]
    imported = lower(chain, Bits())
    assert (imported.network.predict(x) == scores.argmax(1)).all()


def test_one_dimension_and_global_pooling(tmp_path, random):
    k1, k2 = latent(random, 3, 2, 4), latent(random, 4, 3)
    layers = [
        (
            "QuantConv1D",
            {
                "filters": 4,
                "kernel_size": [3],
                "strides": [2],
                "padding": "causal",
                "kernel_quantizer": STE,
                **PLAIN,
            },
            {"kernel": k1},
        ),
        ("Activation", {"activation": "ste_sign"}, {}),
        ("GlobalAveragePooling1D", {}, {}),
        ("Dense", {"units": 3, "activation": "softmax", **PLAIN}, {"kernel": k2}),
    ]
    chain = read_larq(write(tmp_path / "net.h5", layers, (9, 2)))
    x = random.choice([-1.0, 1.0], (20, 9, 2))
    maps = np.pad(x, ((0, 0), (2, 0), (0, 0)))[:, None]
    scores = ste_sign(conv2d(maps, ste_sign(k1)[None], stride=1))[:, :, ::2].mean(axis=(1, 2)) @ k2
    np.testing.assert_allclose(evaluate(chain, x), scores, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "zero", "low"),
    [
        ("ste_sign", 1, -1),
        ("approx_sign", 1, -1),
        ("swish_sign", 1, -1),
        ("ste_heaviside", -1, 0),
        ({"class_name": "Larq>SteHeaviside", "config": {}}, -1, 0),
    ],
)
def test_input_quantizers_at_zero(tmp_path, random, name, zero, low):
    layers = [
        (
            "QuantDense",
            {"units": 2, "kernel_quantizer": "ste_sign", "input_quantizer": name, **PLAIN},
            {"kernel": latent(random, 3, 2)},
        )
    ]
    sign, _ = read_larq(write(tmp_path / "net.h5", layers, (3,))).ops
    assert isinstance(sign, Sign)
    assert (sign.zero, sign.low, sign.high) == (zero, low, 1)


@pytest.mark.parametrize(
    ("quantizer", "formula"),
    [
        ("ste_sign", ste_sign),
        ("ste_heaviside", heaviside),
        ("magnitude_aware_sign", magnitude),
        (
            {
                "class_name": "SteTern",
                "config": {"threshold_value": 0.25, "ternary_weight_networks": False, "clip_value": 1.0},
            },
            lambda x: ternary(x, F(0.25)),
        ),
        (
            {"class_name": "SteTern", "config": {"ternary_weight_networks": True}},
            lambda x: ternary(x, F(0.7) * np.abs(x).sum() / x.size),
        ),
        ({"class_name": "NoOp", "config": {"precision": 1}}, lambda x: x),
    ],
)
def test_kernel_quantizers(tmp_path, random, quantizer, formula):
    kernel = latent(random, 5, 4)
    kernel[0] = [0.0, 0.25, -0.25, -0.0]
    layers = [
        (
            "QuantDense",
            {"units": 4, "kernel_quantizer": quantizer, "input_quantizer": "ste_sign", **PLAIN},
            {"kernel": kernel},
        )
    ]
    linear = read_larq(write(tmp_path / "net.h5", layers, (5,))).ops[-1]
    assert np.array_equal(linear.weights, formula(kernel).T)


def test_relu_rescaling_padding_and_dense_on_maps(tmp_path, random):
    k1, k2, b = latent(random, 2, 3), latent(random, 3, 3, 3, 2), latent(random, 3)
    layers = [
        ("Rescaling", {"scale": 1 / 127.5, "offset": -1.0}, {}),
        ("ZeroPadding2D", {"padding": [[1, 0], [2, 1]]}, {}),
        (
            "QuantDense",
            {"units": 3, "kernel_quantizer": "ste_sign", "activation": "relu", "use_bias": True},
            {"kernel": k1, "bias": b},
        ),
        ("AveragePooling2D", {"pool_size": [2, 2], "strides": [1, 1], "padding": "same"}, {}),
        (
            "QuantConv2D",
            {
                "filters": 2,
                "kernel_size": [3, 3],
                "input_quantizer": "ste_heaviside",
                "kernel_quantizer": "ste_sign",
                **PLAIN,
            },
            {"kernel": k2},
        ),
        ("GlobalMaxPooling2D", {}, {}),
    ]
    chain = read_larq(write(tmp_path / "net.h5", layers, (4, 4, 2)))
    x = random.integers(0, 256, (20, 4, 4, 2))
    h = np.pad(x * F(1 / 127.5).astype(float) - 1, ((0, 0), (1, 0), (2, 1), (0, 0)))
    h = pooled(np.maximum(h @ ste_sign(k1) + b, 0), "mean", stride=1, padding="same")
    np.testing.assert_allclose(
        evaluate(chain, x), conv2d(heaviside(h), ste_sign(k2)).max(axis=(1, 2)), atol=1e-5
    )


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "config", "arrays", "message"),
    [
        ("Lambda", {"function": ["print(1)", None, None]}, {}, "It holds Python code, which is never run"),
        ("Multiply", {}, {}, "this layer cannot be read"),
        ("LSTM", {"units": 3}, {}, r"lstm_1 \(LSTM\): this layer cannot be read. QuantDense"),
        (
            "QuantDense",
            {"units": 2, "input_quantizer": "dorefa_quantizer", **PLAIN},
            {"kernel": np.ones((4, 2), F)},
            "'dorefaquantizer' has more than two values",
        ),
        (
            "QuantDense",
            {"units": 2, "input_quantizer": "magnitude_aware_sign", **PLAIN},
            {"kernel": np.ones((4, 2), F)},
            "depends on all inputs at once",
        ),
        (
            "QuantDense",
            {"units": 2, "kernel_quantizer": "dorefa_quantizer", **PLAIN},
            {"kernel": np.ones((4, 2), F)},
            "'dorefaquantizer' is not known",
        ),
        (
            "QuantDense",
            {"units": 2, **PLAIN},
            {"kernel": np.ones((5, 2), F)},
            r"'kernel' has shape \(5, 2\), but \(4, 2\) is needed",
        ),
        ("QuantDense", {"units": 2}, {"kernel": np.ones((4, 2), F)}, "its array 'bias' is missing"),
        ("QuantDense", {"units": "many", **PLAIN}, {}, "units is 'many'"),
        ("QuantDense", {"units": 10**30, **PLAIN}, {}, "units is '1000000"),
        (
            "QuantConv2D",
            {"filters": 2, "kernel_size": [3, 3], **PLAIN},
            {},
            "reads maps, but values of shape",
        ),
        ("BatchNormalization", {"axis": [0]}, {}, "is not the channel axis"),
        (
            "BatchNormalization",
            {},
            {
                "gamma": np.ones(4),
                "beta": np.ones(4),
                "moving_mean": np.ones(4),
                "moving_variance": -np.ones(4),
            },
            "moving_variance is negative at 0",
        ),
        ("Dense", {"units": 2, **PLAIN}, {"kernel": np.full((4, 2), np.nan, F)}, "not finite"),
        ("Activation", {"activation": "swish"}, {}, "activation 'swish' has more than two values"),
        ("Reshape", {"target_shape": [2, 2]}, {}, "Only flat features can be made of maps"),
    ],
)
def test_refusals_name_the_layer_and_the_remedy(tmp_path, kind, config, arrays, message):
    first = (
        "QuantDense",
        {"units": 4, "kernel_quantizer": "ste_sign", "input_quantizer": "ste_sign", **PLAIN},
        {"kernel": np.ones((3, 4), F)},
    )
    with pytest.raises(FileError, match=message):
        read_larq(write(tmp_path / "net.h5", [first, (kind, config, arrays)], (3,)))


KERNEL = np.linspace(-1, 1, 24, dtype=F).reshape(2, 2, 2, 3)
CONV = {
    "filters": 3,
    "kernel_size": [2, 2],
    "kernel_quantizer": "ste_sign",
    "input_quantizer": "ste_sign",
    **PLAIN,
}
NORM = {"moving_mean": np.zeros(3, F), "moving_variance": np.ones(3, F)}


@pytest.mark.parametrize(
    ("kind", "config", "arrays", "message"),
    [
        (
            "QuantConv2D",
            CONV | {"blur": 2},
            {"kernel": KERNEL},
            r"quantconv2d_0 \(QuantConv2D\): its setting 'blur' \(2\) is not known",
        ),
        (
            "QuantConv2D",
            CONV,
            {"kernel": KERNEL, "bias": np.ones(3, F)},
            "its array 'bias' would be left over",
        ),
        (
            "QuantConv2D",
            CONV,
            {"kernel": KERNEL, "alpha": np.ones(3, F)},
            "its array 'alpha' would be left over",
        ),
        (
            "Conv2D",
            CONV,
            {"kernel": KERNEL},
            r"its setting '(kernel|input)_quantizer' .ste_sign. is not known",
        ),
        ("QuantConv2D", CONV | {"dtype": "mixed_float16"}, {"kernel": KERNEL}, "computes in mixed_float16"),
        (
            "QuantConv2D",
            CONV | {"dtype": {"class_name": "Policy", "config": {"name": "bfloat16"}}},
            {"kernel": KERNEL},
            "computes in bfloat16",
        ),
        ("QuantConv2D", CONV | {"padding": "causal"}, {"kernel": KERNEL}, "padding 'causal'"),
        (
            "QuantConv2D",
            CONV | {"data_format": "channels_first"},
            {"kernel": KERNEL},
            "data_format is channels_first",
        ),
        (
            "QuantConv1D",
            CONV | {"kernel_size": [2]},
            {"kernel": KERNEL[0]},
            "reads maps, but values of shape",
        ),
        (
            "QuantConv2D",
            CONV | {"kernel_quantizer": {"class_name": "SteSign", "config": {"clip_value": 0}}},
            {"kernel": KERNEL},
            "clip_value of kernel_quantizer is '0'",
        ),
        (
            "QuantConv2D",
            CONV | {"kernel_quantizer": {"class_name": "SteSign", "config": {"gain": 2}}},
            {"kernel": KERNEL},
            "'gain' of kernel_quantizer is not a setting of Larq's stesign",
        ),
        (
            "QuantConv2D",
            CONV
            | {
                "kernel_quantizer": {
                    "class_name": "SteTern",
                    "config": {"ternary_weight_networks": True, "clip_value": 0.1},
                }
            },
            {"kernel": KERNEL},
            "where releases of Larq differ",
        ),
        (
            "QuantDepthwiseConv2D",
            {"kernel_size": [2, 2], "groups": 2, **PLAIN},
            {"depthwise_kernel": KERNEL[..., :1]},
            "groups in a depthwise convolution",
        ),
        (
            "BatchNormalization",
            {"axis": [2], "center": False, "scale": False},
            NORM,
            "axis '2' is not the channel axis",
        ),
        (
            "BatchNormalization",
            {"axis": [3], "center": False, "scale": False, "renorm": True},
            NORM,
            "renorm makes another layer of it",
        ),
        (
            "BatchNormalization",
            {"axis": [3], "center": False, "scale": False},
            NORM | {"gamma": np.ones(3, F)},
            "its array 'gamma' would be left over",
        ),
        ("MaxPooling2D", {"pool_size": [2, 2], "dilation": 2}, {}, "its setting 'dilation'"),
        ("Flatten", {"data_format": "channels_first"}, {}, "data_format is channels_first"),
        ("Reshape", {"target_shape": [7]}, {}, "Only flat features"),
        ("Softmax", {"axis": 1}, {}, "axis '1' is not the axis of the classes"),
        ("InputLayer", {"sparse": True}, {}, "its setting 'sparse'"),
        ("Rescaling", {"scale": 2.0, "offset": 0.0, "mean": 3.0}, {}, "its setting 'mean'"),
    ],
)
def test_no_setting_and_no_array_is_left_over(tmp_path, kind, config, arrays, message):
    shape = (3, 3, 3) if kind == "BatchNormalization" else (3, 3, 2)
    channels = shape[-1] if kind != "QuantConv2D" else 3
    quant = {"units": 2, "kernel_quantizer": "ste_sign", "input_quantizer": "ste_sign", **PLAIN}
    plain = ("QuantDense", quant, {"kernel": np.ones((channels, 2), F)})
    with pytest.raises(FileError, match=message):
        read_larq(write(tmp_path / "net.h5", [(kind, config, arrays), plain], shape))


@pytest.mark.parametrize(("tail", "is_apart"), [("softmax", True), ("sigmoid", False), ("tanh", False)])
def test_classes_that_tie_behind_an_activation_are_refused(tmp_path, tail, is_apart):
    kernel = np.ones((40, 2), F)
    kernel[0, 0] = -1
    quant = {"units": 2, "kernel_quantizer": "ste_sign", "input_quantizer": "ste_sign", "activation": tail}
    chain = read_larq(write(tmp_path / "net.h5", [("QuantDense", quant | PLAIN, {"kernel": kernel})], (40,)))
    if is_apart:
        assert lower(chain, Bits()).network.predict([[1] * 40]).tolist() == [1]
        return
    with pytest.raises(FileError, match=f"after {tail} at .* tie in 32-bit floats"):
        lower(chain, Bits())


def test_settings_of_training_mean_nothing(tmp_path):
    config = CONV | {
        "metrics": ["flip_ratio"],
        "groups": 1,
        "lora_rank": None,
        "kernel_initializer": {"class_name": "GlorotUniform"},
    }
    config["kernel_constraint"] = {"class_name": "WeightClip", "config": {"clip_value": 1.0}}
    settings = {"name": "ste_sign", "trainable": True, "dtype": "float32", "clip_value": None}
    config["kernel_quantizer"] = {"class_name": "Larq>SteSign", "config": settings}
    chain = read_larq(write(tmp_path / "net.h5", [("QuantConv2D", config, {"kernel": KERNEL})], (3, 3, 2)))
    assert chain.ops[-1].weights.shape == (3, 2, 2, 2)


def test_a_quantizer_that_is_a_layer(tmp_path, random):
    dense = (
        "QuantDense",
        {"units": 2, "kernel_quantizer": "ste_sign", **PLAIN},
        {"kernel": latent(random, 3, 2)},
    )
    sign, _ = read_larq(
        write(tmp_path / "net.h5", [("SteHeaviside", {"clip_value": 1.0}, {}), dense], (3,))
    ).ops
    assert (sign.zero, sign.low, sign.high) == (-1, 0, 1)


def test_ternary_kernels_are_not_clipped(tmp_path):
    """As in later releases of Larq; here it makes no difference to the early ones."""
    kernel = np.array([[3.0, -2.0], [0.2, -0.01]], F)
    layers = [
        (
            "QuantDense",
            {"units": 2, "kernel_quantizer": "ste_tern", "input_quantizer": "ste_sign", **PLAIN},
            {"kernel": kernel},
        )
    ]
    assert read_larq(write(tmp_path / "net.h5", layers, (2,))).ops[-1].weights.tolist() == [
        [1, 1],
        [-1, 0],
    ]


def add_layer(file):
    group = file["model_weights"].create_group("other")
    group.attrs["weight_names"] = [b"a:0"]
    group.create_dataset("a:0", data=np.ones(2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda file: file["model_weights/quantdense_0"].create_dataset("scale:0", data=np.ones(2)),
            "quantdense_0: its array 'scale:0' would be left over",
        ),
        (add_layer, "the arrays of 'other' would be left over"),
        (lambda file: file.create_group("extra"), "its group 'extra' would be left over"),
        (
            lambda file: file["model_weights/quantdense_0"].attrs.update(
                {"weight_names": [b"quantdense_0/kernel:0"] * 2}
            ),
            "two arrays are called 'quantdense_0/kernel:0'",
        ),
        (
            lambda file: file.attrs.update(
                {"model_config": file.attrs["model_config"].replace('"units": 2', '"units": 3, "units": 2')}
            ),
            "says 'units' twice",
        ),
    ],
)
def test_nothing_in_a_file_is_left_over(tmp_path, change, message):
    path = small(tmp_path / "net.h5")
    with h5py.File(path, "a") as file:
        file.create_group("optimizer_weights")
    read_larq(path)
    with h5py.File(path, "a") as file:
        change(file)
    with pytest.raises(FileError, match=message):
        read_larq(path)


def first_call(model):
    return model["config"]["layers"][1]["inbound_nodes"][0][0]


def later_release(model):
    call = {"args": [{"config": {"keras_history": ["i", 0, 0]}}], "kwargs": {"training": True}}
    model["config"]["layers"][1]["inbound_nodes"] = [call]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda model: first_call(model).__setitem__(3, {"training": True}),
            "a layer is called with training=True",
        ),
        (later_release, "a layer is called with training=True"),
        (lambda model: first_call(model).__setitem__(2, 1), "the second output"),
        (lambda model: first_call(model).__setitem__(3, [1]), "its configuration cannot be read"),
        (
            lambda model: model["config"].update(output_layers=[["a", 0, 0], ["b", 0, 0]]),
            "its output_layers are a, b, but its layers make one chain from i to b",
        ),
        (lambda model: model["config"].update(output_layers=[["a", 0, 0]]), "its output_layers are a, but"),
    ],
)
def test_calls_and_ends_of_functional_models(tmp_path, edit, message):
    dense = {"units": 3, "input_quantizer": "ste_sign", "kernel_quantizer": "ste_sign", **PLAIN}

    def entry(kind, name, config, *sources):
        nodes = [[[source, 0, 0, {"training": False}] for source in sources]] if sources else []
        return {"class_name": kind, "config": {"name": name, **config}, "name": name, "inbound_nodes": nodes}

    first = entry("InputLayer", "i", {"batch_input_shape": [None, 3]})
    layers = [first, entry("QuantDense", "a", dense, "i"), entry("QuantDense", "b", dense, "a")]
    model = {
        "class_name": "Functional",
        "config": {"layers": layers, "input_layers": [["i", 0, 0]], "output_layers": [["b", 0, 0]]},
    }

    def saved(name):
        with h5py.File(tmp_path / name, "w") as file:
            file.attrs["model_config"] = json.dumps(model).encode()
            root = file.create_group("model_weights")
            for layer in "ab":
                root.create_group(layer).attrs["weight_names"] = [b"kernel:0"]
                root[layer].create_dataset("kernel:0", data=np.ones((3, 3), F))
        return tmp_path / name

    assert len(read_larq(saved("good.h5")).ops) == 4
    edit(model)
    with pytest.raises(FileError, match=message):
        read_larq(saved("bad.h5"))


def test_branches_models_inside_and_unknown_shapes(tmp_path):
    dense = (
        "QuantDense",
        {"units": 3, "input_quantizer": "ste_sign", **PLAIN},
        {"kernel": np.ones((3, 3), F)},
    )
    with pytest.raises(FileError, match="Every side must be known"):
        read_larq(write(tmp_path / "a.h5", [dense], (None,)))
    inner = {"class_name": "Sequential", "config": {"name": "inner", "layers": []}}
    with pytest.raises(FileError, match="its model_config lists no layers"):
        read_larq(
            write(
                tmp_path / "b.h5",
                [dense],
                (3,),
                config={"class_name": "Sequential", "config": {"layers": [inner]}},
            )
        )

    def entry(name, *sources):
        return {
            "class_name": "ReLU",
            "config": {"name": name},
            "name": name,
            "inbound_nodes": [[[s, 0, 0, {}] for s in sources]] if sources else [],
        }

    forked = [entry("i"), entry("a", "i"), entry("b", "i")]
    joined = [entry("i"), entry("a", "i"), entry("b", "a", "i")]
    for entries, message in (
        (forked, "a: nothing reads it, and it is not the output"),
        (joined, "b: joins a, i. Only branches that are added"),
    ):
        with pytest.raises(FileError, match=message):
            read_larq(
                write(
                    tmp_path / "c.h5",
                    [dense],
                    (3,),
                    config={"class_name": "Functional", "config": {"layers": entries}},
                )
            )


def test_a_network_without_a_sign(tmp_path):
    with pytest.raises(FileError, match="no sign was found"):
        read_larq(
            write(
                tmp_path / "net.h5", [("Dense", {"units": 2, **PLAIN}, {"kernel": np.ones((3, 2), F)})], (3,)
            )
        )


def test_other_files(tmp_path):
    (tmp_path / "x.h5").write_bytes(b"PK\x03\x04nothing at all")
    with pytest.raises(FileError, match=r"x.h5: its archive is damaged"):
        read_larq(tmp_path / "x.h5")
    (tmp_path / "y.h5").write_bytes(b"nothing at all")
    with pytest.raises(FileError, match=r"y.h5: it is not an HDF5 file."):
        read_larq(tmp_path / "y.h5")
    with pytest.raises(FileError, match="cannot be opened"):
        read_larq(tmp_path / "missing.h5")
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file.attrs["layer_names"] = [b"dense"]
    with pytest.raises(FileError, match=r"it holds weights without a model. Save the model's layers too"):
        read_larq(tmp_path / "w.h5")
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_group("something")
    with pytest.raises(FileError, match=r"it holds neither a model nor weights of Keras"):
        read_larq(tmp_path / "v.h5")


def test_arrays_that_claim_more_than_the_file_and_links_out_of_it(tmp_path):
    dense = (
        "QuantDense",
        {"units": 60000, "kernel_quantizer": "ste_sign", "input_quantizer": "ste_sign", **PLAIN},
        {},
    )
    path = write(tmp_path / "net.h5", [dense], (60000,))
    with h5py.File(path, "a") as file:
        group = file["model_weights/quantdense_0"]
        group.attrs["weight_names"] = [b"kernel:0"]
        group.create_dataset("kernel:0", shape=(60000, 60000), dtype="f4", chunks=(100, 100))
    with pytest.raises(
        FileError, match=r"of shape \(60000, 60000\) takes 14400000000 bytes, and its arrays together"
    ):
        read_larq(path)
    for link in (h5py.ExternalLink("other.h5", "/secret"), h5py.SoftLink("/model_weights")):
        with h5py.File(path, "a") as file:
            group = file["model_weights/quantdense_0"]
            del group["kernel:0"]
            group["kernel:0"] = link
        with pytest.raises(FileError, match="is missing, or is in another file"):
            read_larq(path)


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        "7",
        '{"class_name": "Sequential"}',
        '{"class_name": "Odd", "config": {"layers": [{"config": {}}]}}',
        "[" * 100_000,
    ],
)
def test_wrong_configurations(tmp_path, config):
    with h5py.File(tmp_path / "x.h5", "w", libver="latest") as file:
        file.attrs["model_config"] = config
        file.create_group("model_weights")
    with pytest.raises(FileError, match=r"x\.h5: "):
        read_larq(tmp_path / "x.h5")


def small(path):
    layers = [
        (
            "QuantDense",
            {"units": 2, "kernel_quantizer": "ste_sign", "input_quantizer": "ste_sign", **PLAIN},
            {"kernel": np.ones((3, 2), F)},
        )
    ]
    return write(path, layers, (3,))


def test_a_process_apart_gives_the_same(tmp_path, random):
    kernel = latent(random, 4, 3)
    layers = [
        ("QuantDense", {"units": 3, "input_quantizer": "ste_sign", **PLAIN}, {"kernel": kernel}),
        ("Dropout", {}, {}),
    ]
    path = write(tmp_path / "a file with spaces é.h5", layers, (4,))
    chain, _ = larq_reader.read_model(path)
    assert chain.source == path.name
    assert np.array_equal(chain.ops[-1].weights, kernel.T)
    assert chain.ops[-1].weights.dtype == F


@settings(
    max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32))
def test_damaged_files_end_in_a_file_error_or_in_a_chain(tmp_path, seed):
    raw, random = bytearray(small(tmp_path / "base.h5").read_bytes()), np.random.default_rng(seed)
    for place in random.integers(8, len(raw), random.integers(1, 9)):
        raw[place] = random.integers(256)
    broken = tmp_path / "broken.h5"
    broken.write_bytes(raw[: random.integers(8, len(raw))] if seed % 4 == 0 else raw)
    try:
        chain, _ = larq_reader.read_model(broken)
    except FileError:
        return
    assert len(chain.ops) >= 1


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import os; os.abort()", "the HDF5 library broke down on it"),
        ("while True: pass", "HDF5 did not end with it in 1 seconds"),
        ("print('hello')", "answered nonsense"),
    ],
)
def test_a_library_that_breaks_down_is_an_error(tmp_path, monkeypatch, program, message):
    path = small(tmp_path / "net.h5")
    (tmp_path / "python").write_text(f"#!{hdf5.sys.executable} -S\n{program}\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(hdf5.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(hdf5, "_SECONDS", 1.0)
    with pytest.raises(FileError, match=message):
        larq_reader.read_model(path)


def test_a_heap_with_an_object_of_no_size_is_refused_at_once(tmp_path):
    raw = bytearray(small(tmp_path / "net.h5").read_bytes())
    heap = raw.index(b"GCOL")
    raw[heap + 16 : heap + 32] = bytes(16)
    (tmp_path / "heap.h5").write_bytes(raw)
    with pytest.raises(FileError, match=f"a heap of texts is broken at byte {heap + 16}"):
        larq_reader.read_model(tmp_path / "heap.h5")


OPTIONS = (
    "filters",
    "units",
    "kernel_size",
    "strides",
    "padding",
    "pool_size",
    "input_quantizer",
    "kernel_quantizer",
    "axis",
    "scale",
    "offset",
    "activation",
    "dilation_rate",
    "max_value",
    "pad_values",
    "groups",
    "data_format",
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 5)
    | st.floats(-2, 2)
    | st.sampled_from(["ste_sign", "same", "linear"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["class_name", "config", "name", "layers"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kind=st.sampled_from(
        [
            "QuantConv2D",
            "QuantDense",
            "MaxPooling2D",
            "BatchNormalization",
            "ZeroPadding2D",
            "Rescaling",
            "ReLU",
            "Activation",
        ]
    ),
    config=st.dictionaries(st.sampled_from(OPTIONS), VALUES),
)
def test_odd_configurations_end_in_a_file_error_or_in_a_chain(tmp_path, kind, config):
    conv = (
        "QuantConv2D",
        {"filters": 2, "kernel_size": [1, 1], "input_quantizer": "ste_sign", **PLAIN},
        {"kernel": np.ones((1, 1, 2, 2), F)},
    )
    try:
        chain = read_larq(
            write(
                tmp_path / "odd.h5", [conv, (kind, config, {"kernel": np.ones((2, 2, 2, 2), F)})], (4, 4, 2)
            )
        )
    except FileError:
        return
    assert len(chain.ops) >= 2
