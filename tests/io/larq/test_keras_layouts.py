"""Files in the layouts of Keras 2, QKeras and hls4ml, whose own tools need TensorFlow: written by hand
here, and evaluated by definition.
"""

import json
import zipfile
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.thinned import examples

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402
from sugenet.io import Bits, Integers, import_file, read_larq  # noqa: E402
from sugenet.io.exact.ops import Affine, Quantize, Sign  # noqa: E402
from sugenet.io.larq import quantizers  # noqa: E402
from sugenet.io.larq.keras_file import KerasLayer  # noqa: E402
from sugenet.io.plain.refusals import Ledger  # noqa: E402

F = np.float32
RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """HDF5 files that are whole are read here, which is faster; without an interpreter nothing else is."""
    monkeypatch.setattr("sys.executable", "")


def signs(x):
    return np.where(x >= 0, 1.0, -1.0)


def norm_of(size, seed):
    random = np.random.default_rng(seed)
    columns = {name: random.uniform(-1, 1, size).astype(F) for name in ("gamma", "beta", "moving_mean")}
    return columns | {"moving_variance": random.uniform(0.5, 2, size).astype(F)}


def normed(x, arrays, eps=1e-3):
    spread = np.sqrt(arrays["moving_variance"].astype(float) + eps)
    return arrays["gamma"] * (x - arrays["moving_mean"]) / spread + arrays["beta"]


def agree(found, scores, samples):
    network = found.network
    np.testing.assert_allclose(network.head.logits(network.match_counts(samples)), scores, atol=1e-6)
    assert len(np.unique(scores, axis=0)) > 4


# -- a model within a model, in the three layouts ------------------------------------------------------------

SIGNED = {"kernel_quantizer": "ste_sign", "use_bias": False}
NAMES = ("first", "second")


def inner(name, size, wide, kind="Functional"):
    """A model within: input, dense layer, batch norm, sign; its layers have the same names in each."""
    given = {"name": f"{name}_input", "batch_input_shape": [None, size], "dtype": "float32"}
    entries = [
        ("InputLayer", given),
        ("QuantDense", {"name": "fc", "units": wide, **SIGNED}),
        ("BatchNormalization", {"name": "bn", "axis": [1], "epsilon": 1e-3}),
        ("SteSign", {"name": "act", "clip_value": 1.0}),
    ]
    listed, before = [], None
    for place, (layer, config) in enumerate(entries):
        nodes = [[[before, 0, 0, {}]]] if place else []
        before = config["name"]
        listed.append({"class_name": layer, "config": config, "name": before, "inbound_nodes": nodes})
    ends = {"input_layers": [[given["name"], 0, 0]], "output_layers": [[before, 0, 0]]}
    return {"class_name": kind, "config": {"name": name, "layers": listed, **ends}, "name": name}


def outer():
    """Two of them and a dense layer; Keras counts the first use of a model within as number 1."""
    given = {"name": "in", "batch_input_shape": [None, 6], "dtype": "float32"}
    models = [inner("first", 6, 9), inner("second", 9, 7)]
    head = {"class_name": "QuantDense", "config": {"name": "fc", "units": 3, **SIGNED}, "name": "fc"}
    entries = [{"class_name": "InputLayer", "config": given, "name": "in", "inbound_nodes": []}]
    for entry, (before, use) in zip([*models, head], [("in", 0), ("first", 1), ("second", 1)], strict=True):
        entries.append({**entry, "inbound_nodes": [[[before, use, 0, {}]]]})
    ends = {"input_layers": [["in", 0, 0]], "output_layers": [["fc", 0, 0]]}
    return {"class_name": "Functional", "config": {"name": "model", "layers": entries, **ends}}


def parameters():
    random = np.random.default_rng(0)
    kernels = {
        name: random.uniform(-1, 1, shape).astype(F)
        for name, shape in zip(NAMES, ((6, 9), (9, 7)), strict=True)
    }
    return (
        kernels,
        {name: norm_of(size, size) for name, size in zip(NAMES, (9, 7), strict=True)},
        random.uniform(-1, 1, (7, 3)).astype(F),
    )


def scores_of(x):
    kernels, norms, head = parameters()
    for name in NAMES:
        x = signs(normed(x @ signs(kernels[name]), norms[name]))
    return x @ signs(head)


def by_name(file, root):
    """Weights as Keras 2 keeps them: of a model within, those that are trained first."""
    kernels, norms, head = parameters()
    trained = {"fc/kernel:0": None, "bn/gamma:0": "gamma", "bn/beta:0": "beta"}
    others = {"bn/moving_mean:0": "moving_mean", "bn/moving_variance:0": "moving_variance"}
    for name in NAMES:
        group = root.create_group(name)
        group.attrs["weight_names"] = [word.encode() for word in (*trained, *others)]
        for word, key in (trained | others).items():
            group.create_dataset(word, data=kernels[name] if key is None else norms[name][key])
    group = root.create_group("fc")
    group.attrs["weight_names"] = [b"fc/kernel:0"]
    group.create_dataset("fc/kernel:0", data=head)
    root.create_group("in").attrs["weight_names"] = np.zeros(0)
    root.attrs["layer_names"] = [b"in", b"first", b"second", b"fc"]


def by_place(file):
    """As Keras 2 keeps them in `.keras` files: every layer with weights is met twice, so that numbers are
    skipped.
    """
    kernels, norms, head = parameters()
    start = "_layer_checkpoint_dependencies"
    for path, name in ((f"{start}/functional", "first"), (f"{start}/functional_2", "second")):
        file.create_dataset(f"{path}/{start}/quant_dense/vars/0", data=kernels[name])
        for place, array in enumerate(norms[name].values()):
            file.create_dataset(f"{path}/{start}/batch_normalization/vars/{place}", data=array)
    file.create_dataset(f"{start}/quant_dense/vars/0", data=head)
    file.create_dataset("optimizer/vars/0", data=1)


def write_h5(folder):
    with h5py.File(folder / "net.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(outer()).encode()
        by_name(file, file.create_group("model_weights"))
    return folder / "net.h5", None


def write_pair(folder):
    (folder / "net.json").write_text(
        json.dumps({**outer(), "keras_version": "2.4.0", "backend": "tensorflow"})
    )
    with h5py.File(folder / "weights.h5", "w") as file:
        by_name(file, file)
    return folder / "net.json", folder / "weights.h5"


def write_archive(folder):
    with h5py.File(folder / "model.weights.h5", "w") as file:
        by_place(file)
    with zipfile.ZipFile(folder / "net.keras", "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "2.13.1"}))
        archive.writestr("config.json", json.dumps(outer()))
        archive.write(folder / "model.weights.h5", "model.weights.h5")
    return folder / "net.keras", None


@pytest.mark.parametrize("write", [write_h5, write_pair, write_archive])
def test_models_within_a_model(tmp_path, write):
    path, weights = write(tmp_path)
    found = import_file(path, weights_file=weights, inputs=Bits()).report
    bits = RANDOM.integers(0, 2, (300, 6))
    agree(found, scores_of(2.0 * bits - 1), bits)


def change_h5(path, change):
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def renamed(file):
    group = file["model_weights/first"]
    group.move("fc", "fc_1")
    group.attrs["weight_names"] = [
        name.replace(b"fc/", b"fc_1/") if isinstance(name, bytes) else name.replace("fc/", "fc_1/").encode()
        for name in group.attrs["weight_names"]
    ]


@pytest.mark.parametrize(
    ("write", "change", "message"),
    [
        (write_h5, renamed, "first: a model within the model, whose array 'fc_1' names none of its layers"),
        (
            write_archive,
            lambda file: file.move(
                "_layer_checkpoint_dependencies/quant_dense", "_layer_checkpoint_dependencies/dense"
            ),
            "'_layer_checkpoint_dependencies/dense' would be left over",
        ),
        (
            write_archive,
            lambda file: file.create_dataset(
                "_layer_checkpoint_dependencies/functional_4/layers/dense/vars/0", data=np.ones(3)
            ),
            "3 groups of arrays for 2 layers, and their names do not tell which is whose",
        ),
        (write_archive, lambda file: file.create_dataset("vars/0", data=np.ones(3)), "would be left over"),
        (
            write_archive,
            lambda file: file.create_dataset("more", data=np.ones(3)),
            "'more' would be left over",
        ),
        (
            write_archive,
            lambda file: file.create_dataset(
                "_layer_checkpoint_dependencies/quant_dense/vars/1", data=np.ones(3)
            ),
            "its array 'vars/1' would be left over",
        ),
    ],
)
def test_weights_whose_place_is_not_known(tmp_path, write, change, message):
    path, _ = write(tmp_path)
    if path.suffix == ".keras":
        change_h5(tmp_path / "model.weights.h5", change)
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in ("metadata.json", "config.json")}
        with zipfile.ZipFile(path, "w") as archive:
            for name, raw in parts.items():
                archive.writestr(name, raw)
            archive.write(tmp_path / "model.weights.h5", "model.weights.h5")
    else:
        change_h5(path, change)
    with pytest.raises(FileError, match=message):
        read_larq(path, inputs=Bits())


# -- hls4ml's example models ---------------------------------------------------------------------------------


def plain_file(folder, layers, shape, listed=False):
    """Layers (class, configuration, arrays) as text and weights, as Keras 2 keeps them."""
    entries = []
    with h5py.File(folder / "net.h5", "w") as file:
        for place, (kind, config, arrays) in enumerate(layers):
            name = f"layer_{place}"
            first = {} if place else {"batch_input_shape": [None, *shape]}
            entries.append(
                {"class_name": kind, "config": {"name": name, "trainable": True, **first, **config}}
            )
            group = file.create_group(name)
            group.attrs["weight_names"] = [f"{name}/{word}:0".encode() for word in arrays]
            for word, array in arrays.items():
                group.create_dataset(f"{name}/{word}:0", data=array)
        file.attrs["layer_names"] = [entry["config"]["name"].encode() for entry in entries]
    model = {"class_name": "Sequential", "config": entries if listed else {"name": "all", "layers": entries}}
    (folder / "net.json").write_text(json.dumps({**model, "keras_version": "2.0.5", "backend": "tensorflow"}))
    return folder / "net.json", folder / "net.h5"


def of_height(units, height=1):
    """A configuration as hls4ml's example models have it."""
    clip = {"class_name": "Clip", "config": {"max_value": height, "min_value": -height}}
    return {
        "H": height,
        "units": units,
        "use_bias": False,
        "activation": "linear",
        "kernel_constraint": clip,
        "kernel_lr_multiplier": 7.302967548370361,
        "bias_lr_multiplier": None,
        "dtype": "float32",
    }


def binary_tanh(x):
    return np.where(x > 0, 1.0, -1.0)


def ternary_tanh(x):
    return np.where(x > 0.5, 1.0, np.where(x <= -0.5, -1.0, 0.0))


@pytest.mark.parametrize("height", [1, 0.25])
@pytest.mark.parametrize("listed", [True, False])
def test_models_of_hls4ml(tmp_path, height, listed):
    random = np.random.default_rng(1)
    kernels = [(random.uniform(-1, 1, shape) * height).astype(F) for shape in ((16, 12), (12, 9), (9, 5))]
    norms = [norm_of(size, size) for size in (12, 9, 5)]
    layers = []
    for kind, activation, kernel, norm in zip(
        ("BinaryDense", "TernaryDense", "BinaryDense"),
        ("binary_tanh", "ternary_tanh", ""),
        kernels,
        norms,
        strict=True,
    ):
        layers += [
            (kind, of_height(kernel.shape[1], height), {"kernel": kernel}),
            ("BatchNormalization", {"axis": -1, "epsilon": 1e-6, "momentum": 0.9}, norm),
        ]
        if activation:
            layers.append(("Activation", {"activation": activation}, {}))
    path, weights = plain_file(tmp_path, layers, (16,), listed)
    found = import_file(path, weights_file=weights, inputs=Integers(0, 15)).report
    x = samples = RANDOM.integers(0, 16, (300, 16))
    x = binary_tanh(normed(x @ (height * binary_tanh(kernels[0])), norms[0], 1e-6))
    x = ternary_tanh(normed(x @ (height * ternary_tanh(kernels[1] / height)), norms[1], 1e-6))
    agree(found, normed(x @ (height * binary_tanh(kernels[2])), norms[2], 1e-6), samples)


def layer_of(kind, **config):
    return KerasLayer(kind, "fc", Ledger(config), Ledger({}))


def test_weights_of_hls4ml_at_zero_and_at_a_half():
    """Halves are rounded to even, and what vanishes beside 1/2 is 0."""
    kernel = np.array([[0.0, -0.0, 1e-9, 1e-7, -1e-9, 0.5, -0.5, 0.25]], F)
    used = quantizers.hls4ml_kernel(layer_of("BinaryDense", H=1), kernel)
    assert used.tolist() == [[-1, -1, -1, 1, -1, 1, -1, 1]]
    wide = quantizers.hls4ml_kernel(layer_of("BinaryDense", H=1, dtype="float64"), kernel)
    assert wide.tolist() == [[-1, -1, 1, 1, -1, 1, -1, 1]]
    assert quantizers.hls4ml_kernel(layer_of("TernaryDense", H=1), kernel).tolist() == [
        [0, 0, 0, 0, 0, 0, -1, 0]
    ]
    assert quantizers.hls4ml_kernel(layer_of("TernaryDense", H=0.5), kernel).tolist() == [
        [0, 0, 0, 0, 0, 0.5, -0.5, 0]
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "it has no setting 'H', so it is not the layer of hls4ml's examples"),
        ({"H": "Glorot"}, "H is 'Glorot', but a number above 0 is needed"),
        ({"H": 0}, "H is '0'"),
        ({"H": True}, "H is 'True'"),
        ({"H": 1e-300}, "which is 0 in its floats"),
    ],
)
def test_heights_that_are_none(config, message):
    with pytest.raises(FileError, match=message):
        quantizers.hls4ml_kernel(layer_of("BinaryDense", **config), np.ones((2, 2), F))


# -- QKeras' quantizers by definition ------------------------------------------------------------------------

EPSILON = Fraction(1, 10**7)


def best_scale(column, codes):
    above = sum((x * q for x, q in zip(column, codes, strict=True)), Fraction(0)) / len(column)
    return above / (Fraction(sum(q * q for q in codes), len(column)) + EPSILON)


def nearest_power(scale):
    """The power of two whose logarithm is nearest, by squares, and whether it is safely so."""
    size, k = (scale + EPSILON) ** 2, -60
    while Fraction(2) ** (2 * k + 1) <= size:
        k += 1
    ends = Fraction(2) ** (2 * k - 1), Fraction(2) ** (2 * k + 1)
    safe = all(abs(size / end - 1) > Fraction(1, 10000) for end in ends)
    return Fraction(2) ** k, safe


def by_definition(name, alpha, column):
    """Scale and codes of one output in exact numbers; the last says whether rounding cannot decide."""
    safe = True

    def scaled(scale):
        nonlocal safe
        if alpha != "auto_po2":
            return scale
        power, fine = nearest_power(scale)
        safe = safe and fine
        return power

    if name == "binary":
        codes = [1 if x >= 0 else -1 for x in column]
        return scaled(best_scale(column, codes)), codes, safe
    scale, codes = scaled(2 * max(map(abs, column)) / 3), []
    for _ in range(5):
        if scale == 0:
            return scale, codes, False
        safe = safe and all(abs(abs(x) / scale - Fraction(1, 2)) > Fraction(1, 10000) for x in column)
        codes = [0 if abs(x) * 2 <= scale else 1 if x > 0 else -1 for x in column]
        scale = scaled(best_scale(column, codes))
    return scale, codes, safe


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.integers(-999, 999), min_size=10, max_size=10),
    st.sampled_from(["binary", "ternary"]),
    st.sampled_from(["auto", "auto_po2"]),
)
def test_scales_of_qkeras_by_definition(numbers, name, alpha):
    kernel = np.array(numbers, F).reshape(5, 2) / F(1000)
    value = {"class_name": name, "config": {"alpha": alpha}}
    expected = [by_definition(name, alpha, [Fraction(float(x)) for x in column]) for column in kernel.T]
    try:
        used = quantizers.qkeras_kernel("fc", "kernel_quantizer", value, kernel)
    except FileError:
        assert not all(safe for _, _, safe in expected)
        return
    for column, (scale, codes, safe) in zip(used.T, expected, strict=True):
        if safe:
            assert column.tolist() == [float(F(float(scale))) * q for q in codes]


@pytest.mark.parametrize(
    ("value", "kernel", "message"),
    [
        ("binary(alpha='auto_po2')", [[2**0.5 / 2 - 1e-7]], "half-way between two powers of two"),
        ("ternary(alpha='auto')", [[1.0], [1 / 3]], "so near to half of its scale"),
        ("ternary('auto', 0.3)", [[0.6], [0.2]], "works out the threshold, so it can have none"),
        ("ternary(alpha='auto')", [[0.0], [0.0]], "becomes 0, which QKeras divides by"),
        ("binary(alpha='best')", [[1.0]], "alpha is 'best'"),
        ("binary(alpha=-1)", [[1.0]], "alpha is '-1'"),
        ("binary(alpha=[1, 2])", [[1.0]], r"alpha is '\[1, 2\]'"),
        ("binary(beta=1)", [[1.0]], "its setting 'beta' .1. is not known"),
        ("binary(0, 'auto', 0, 7)", [[1.0]], "cannot be read as a quantizer"),
        ("binary(0, use_01=1)", [[1.0]], "cannot be read as a quantizer"),
        ("binary(open('x'))", [[1.0]], "cannot be read as a quantizer"),
        ("binary(", [[1.0]], "cannot be read as a quantizer"),
        ("stochastic_binary", [[1.0]], "'stochastic_binary' is not known. binary and ternary can be read"),
        ("quantized_bits(4)", [[1.0]], "kernels of several bits are not read from QKeras"),
        (
            {"class_name": "binary", "config": {"alpha": "auto", "scale_axis": 0}},
            [[1.0]],
            "its setting 'scale_axis'",
        ),
        ({"class_name": "ternary", "config": {"alpha": 1, "threshold": inf}}, [[1.0]], "threshold is 'inf'"),
    ],
)
def test_quantizers_that_are_refused(value, kernel, message):
    with pytest.raises(FileError, match=message):
        quantizers.qkeras_kernel("fc", "kernel_quantizer", value, np.array(kernel, F))


def test_activations_of_qkeras():
    def steps(text):
        return quantizers.qkeras_steps("act", "activation", text)

    assert [(op.zero, op.low, op.high) for op in steps("binary")] == [(1, -1.0, 1.0)]
    assert [(op.low, op.high) for op in steps("binary(use_01=1, alpha=2.0)")] == [(0.0, 2.0)]
    stairs, affine = steps("ternary(alpha=0.5, threshold=0.25)")
    assert isinstance(stairs, Quantize)
    assert isinstance(affine, Affine)
    assert (stairs.thresholds.tolist(), stairs.strict.tolist()) == ([[-0.25, 0.25]], [True, False])
    assert (affine.scale.tolist(), affine.shift.tolist()) == ([0.5], [-0.5])
    assert steps("ternary")[0].thresholds.tolist() == [[-float(F(0.33)), float(F(0.33))]]
    assert steps("ternary(threshold=0)")[0].strict.tolist() == [False, True]
    with pytest.raises(FileError, match="has more than three values"):
        steps("quantized_bits(4)")
    with pytest.raises(FileError, match="takes the scale from all samples of a batch at once"):
        steps("ternary(alpha='auto_po2')")


@pytest.mark.parametrize(
    ("value", "bias", "used"),
    [
        (None, 0.3, 0.3),
        ("quantized_bits(4, 0, 1)", 0.3, 0.25),
        ("quantized_bits(4, 0, 1)", -1.0, -0.875),
        ("quantized_bits(4, 0)", -1.0, -1.0),
        ("quantized_bits(4, 2, 0, 0)", -1.0, 0.0),
        ("quantized_bits(4, 2, 0, 0)", 9.0, 3.75),
        ("quantized_bits(bits=3, integer=1, alpha=0.5)", 0.7, 0.25),
    ],
)
def test_biases_in_fixed_point(value, bias, used):
    assert quantizers.qkeras_bias("fc", value, np.array([bias], F)).tolist() == [float(F(used))]


@pytest.mark.parametrize("value", ["binary", "quantized_bits(8, alpha='auto')", "quantized_bits(40)", "x"])
def test_biases_that_are_refused(value):
    with pytest.raises(FileError, match="bias_quantizer"):
        quantizers.qkeras_bias("fc", value, np.ones(2, F))


# -- a sign that is a layer of its own -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "layer",
    [
        ("SteSign", {"clip_value": 1.0}),
        ("Larq>SteSign", {"clip_value": None, "metrics": None, "dtype": "float32"}),
        ("ApproxSign", {}),
        ("Larq>SwishSign", {"beta": 5.0}),
        ("Activation", {"activation": "ste_sign"}),
        ("Activation", {"activation": "Larq>ste_sign"}),
        ("Activation", {"activation": {"class_name": "Larq>SteSign", "config": {"clip_value": 1.0}}}),
        (
            "Activation",
            {
                "activation": {
                    "module": "larq",
                    "class_name": "function",
                    "config": "ste_sign",
                    "registered_name": "f",
                }
            },
        ),
    ],
)
def test_a_sign_that_is_a_layer(tmp_path, layer):
    kernels = [RANDOM.uniform(-1, 1, shape).astype(F) for shape in ((7, 5), (5, 3))]
    dense = [("QuantDense", {"units": k.shape[1], **SIGNED}, {"kernel": k}) for k in kernels]
    path, weights = plain_file(tmp_path, [dense[0], (*layer, {}), dense[1]], (7,))
    found = read_larq(path, weights_file=weights, inputs=Bits()).report
    bits = RANDOM.integers(0, 2, (200, 7))
    agree(found, signs((2.0 * bits - 1) @ signs(kernels[0])) @ signs(kernels[1]), bits)
    assert any(isinstance(op, Sign) for op in sg.io.larq.reader.read_model(path, weights)[0].ops)


# -- programs of TensorFlow ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("saved/saved_model.pb", ["load_model(", ".save('net.h5')", "tf2onnx.convert --saved-model"]),
        ("saved", ["load_model(", ".save('net.h5')", "tf2onnx.convert --saved-model", "--output saved.onnx"]),
        ("frozen.pb", ["tf2onnx.convert --graphdef", "model.save('net.h5')"]),
        ("net.ckpt.index", ["model.load_weights", "model.save('net.h5')"]),
        ("net.ckpt.data-00000-of-00001", ["model.load_weights"]),
    ],
)
def test_programs_of_tensorflow_are_told_the_way(tmp_path, name, ways):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"\x08\x01")
    if "saved" not in name:
        (tmp_path / name).write_bytes(b"TFL3")
    with pytest.raises(FileError) as refused:
        import_file(tmp_path / name)
    for way in ways:
        assert way in str(refused.value)


# -- nothing is left over ------------------------------------------------------------------------------------


def in_entry(model):
    model["config"]["layers"][1]["pruned"] = True


def in_model(model):
    model["config"]["masked"] = 3


def in_inner(model):
    model["config"]["layers"][1]["config"]["masked"] = 3


def author(model):
    model["config"]["layers"][1]["config"]["layers"][3]["registered_name"] = "Mine>SteSign"


def activation(model):
    model["config"]["layers"][3]["config"]["activation"] = "Mine>ste_sign"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_entry, r"first: 'pruned' \(True\) is not known"),
        (in_model, r"its model: 'masked' \(3\) is not known"),
        (in_inner, r"its model: 'masked' \(3\) is not known"),
        (author, r"first/act \(SteSign\): a class of its own \(Mine\)"),
        (activation, r"activation 'Mine>ste_sign' is of a program of its own"),
        (lambda model: model.update({"class_name": "Mine>Net"}), "a model of class 'Net'"),
    ],
)
def test_no_word_of_a_model_is_left_over(tmp_path, change, message):
    path, weights = write_pair(tmp_path)
    model = json.loads(path.read_text())
    change(model)
    path.write_text(json.dumps(model))
    with pytest.raises(FileError, match=message):
        read_larq(path, weights_file=weights, inputs=Bits())


def test_a_part_of_an_archive_that_is_there_twice(tmp_path):
    path, _ = write_archive(tmp_path)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("config.json", "{}")
    with pytest.raises(FileError, match=r"^net.keras: one of its parts is there twice"):
        read_larq(path, inputs=Bits())
