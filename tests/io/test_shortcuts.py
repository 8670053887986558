"""Residual networks in files of their own tools: ONNX written by PyTorch, PyTorch modules, Keras files; all
scores compared with the tool and, where it is here, with ONNX Runtime.
"""

import json
import warnings
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io.exact.relaxed import PartialImportReport

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402

F = np.float32


class Cut(nn.Module):
    def forward(self, x):
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)


class Kernel(nn.Conv2d):
    def forward(self, x):
        return self._conv_forward(x, torch.where(self.weight >= 0, 1.0, -1.0).to(x.dtype), self.bias)


class Rows(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, torch.where(self.weight >= 0, 1.0, -1.0).to(x.dtype))


def kernel(ins, outs, size=3, stride=1):
    return Kernel(ins, outs, size, stride, size // 2, bias=False)


class Block(nn.Module):
    """Kernel, batch norm, sign, and a shortcut around them, with a layer of its own where sizes change."""

    def __init__(self, ins, outs, stride=1):
        super().__init__()
        self.way = nn.Sequential(kernel(ins, outs, 3, stride), nn.BatchNorm2d(outs), Cut())
        self.down = (
            nn.Sequential(kernel(ins, outs, 1, stride), nn.BatchNorm2d(outs), Cut()) if stride > 1 else None
        )

    def forward(self, x):
        return self.way(x) + (x if self.down is None else self.down(x))


class Residual(nn.Module):
    def __init__(self, pooled=True):
        super().__init__()
        self.first = nn.Sequential(kernel(1, 4), nn.BatchNorm2d(4), Cut())
        self.blocks = nn.Sequential(Block(4, 4), nn.BatchNorm2d(4), Cut(), Block(4, 6, 2), Block(6, 6))
        self.norm, self.pooled = nn.BatchNorm2d(6), pooled
        self.out = nn.Linear(6 if pooled else 54, 5)

    def forward(self, x):
        x = self.norm(self.blocks(self.first(x)))
        x = nn.functional.adaptive_avg_pool2d(x, 1) if self.pooled else x
        return self.out(torch.flatten(x, 1))


class Dense(nn.Module):
    """x + sign(...), twice; `real` leaves out the sign of the last branch."""

    def __init__(self, real=False):
        super().__init__()
        self.layers = nn.ModuleList([Rows(9, 8, bias=False), Rows(8, 8, bias=False), Rows(8, 8, bias=False)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(8) for _ in range(3)])
        self.cut, self.out, self.real = Cut(), nn.Linear(8, 4), real

    def forward(self, x):
        x = self.cut(self.norms[0](self.layers[0](x)))
        x = x + self.cut(self.norms[1](self.layers[1](x)))
        y = self.norms[2](self.layers[2](x))
        return self.out(self.cut(y + x) if self.real else x - self.cut(y))


def trained(module, seed=0):
    """As if it were trained: statistics and factors of both signs."""
    torch.manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            for row, low, high in (
                (part.running_mean, -1, 1),
                (part.running_var, 0.3, 4),
                (part.weight.data, -1, 1.5),
                (part.bias.data, -1, 1),
            ):
                row.uniform_(low, high)
    return module.eval()


def scores(module, X):
    with torch.no_grad():
        found = module.double()(torch.from_numpy(X * 2.0 - 1))
    module.float()
    return found.numpy()


def exported(module, shape, path, dynamo=False):
    x, more = torch.zeros(1, *shape), {}
    if dynamo:
        more = {"dynamic_shapes": ({0: torch.export.Dim("samples")},), "verbose": False}
    else:
        more = {"dynamic_axes": {"x": {0: "samples"}}, "input_names": ["x"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), str(path), dynamo=dynamo, **more)
    return path


NETWORKS = [
    (Residual, (1, 5, 5)),
    (Dense, (9,)),
    (lambda: Dense(real=True), (9,)),
    pytest.param(lambda: Residual(pooled=False), (1, 5, 5), marks=pytest.mark.slow),
]


def samples(shape, count=300):
    size = int(np.prod(shape))
    if size <= 9:
        return np.array(list(product((0, 1), repeat=size)))
    return np.random.default_rng(1).integers(0, 2, (count, *shape))


@pytest.mark.parametrize(("make", "shape"), NETWORKS)
def test_modules(make, shape):
    module, X = trained(make()), samples(shape)
    found = sg.from_torch(module, torch.zeros(1, *shape), inputs=sg.Bits()).report
    assert np.abs(found.network.logits(X) - scores(module, X)).max() < 1e-11
    assert found.proof.interpreters == ("the module itself in float64",)
    assert found.proof.unseen == ()
    assert any(layer.carried for layer in found.layers)


@pytest.mark.parametrize(("make", "shape"), NETWORKS)
@pytest.mark.parametrize("dynamo", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_onnx(make, shape, dynamo, tmp_path):
    pytest.importorskip("onnxscript" if dynamo else "onnx")
    module, X = trained(make(), 1), samples(shape)
    path = exported(module, shape, tmp_path / "net.onnx", dynamo)
    found = sg.read_onnx(path, inputs=sg.Bits()).report
    mine = found.network.logits(X)
    # batch norms that the exporter folds are rounded to float32
    assert np.abs(mine - scores(module, X)).max() < (1e-5 if dynamo else 1e-11)
    assert found.proof.unseen == ()
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(path))
    theirs = session.run(None, {session.get_inputs()[0].name: (X * 2 - 1).astype(F)})[0]
    assert np.abs(mine - theirs).max() < 1e-4
    clear = np.sort(mine, axis=1)[:, -1] - np.sort(mine, axis=1)[:, -2] > 1e-4
    assert (found.network.predict(X)[clear] == theirs.argmax(axis=1)[clear]).all()


@pytest.mark.parametrize("name", ["flattened at once", "sign at once"])
def test_onnx_with_a_sum_that_is_read_at_once(name, tmp_path):
    """What follows the addition directly: a flatten, or a comparison."""
    pytest.importorskip("onnx")

    class Added(nn.Module):
        def __init__(self, *way):
            super().__init__()
            self.way = nn.Sequential(*way)

        def forward(self, x):
            return self.way(x) + x

    real = name == "sign at once"
    way = [kernel(3, 3), nn.BatchNorm2d(3), *([] if real else [Cut()])]
    end = [*([Cut()] if real else []), nn.Flatten(), nn.Linear(48, 3)]
    module = trained(nn.Sequential(kernel(1, 3), nn.BatchNorm2d(3), Cut(), Added(*way), *end))
    found = sg.read_onnx(exported(module, (1, 4, 4), tmp_path / "net.onnx"), inputs=sg.Bits()).report
    X = samples((1, 4, 4), 100)
    assert np.abs(found.network.logits(X) - scores(module, X)).max() < 1e-11


class BiReal(nn.Module):
    """Bi-Real Net's blocks: sign, kernel, batch norm, and a shortcut of real values around all of them."""

    def __init__(self, ins, width, blocks):
        super().__init__()
        self.first = nn.Sequential(kernel(ins, width), nn.BatchNorm2d(width))
        self.kernels = nn.ModuleList([kernel(width, width) for _ in range(blocks)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(width) for _ in range(blocks)])
        self.cut, self.out = Cut(), nn.Linear(width, 3)

    def forward(self, x):
        x = self.first(x)
        for layer, norm in zip(self.kernels, self.norms, strict=True):
            x = norm(layer(self.cut(x))) + x
        return self.out(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Joined(nn.Module):
    """Channels that are joined, split and shuffled: blocks of a dense network, then of a ShuffleNet."""

    def __init__(self, *, shuffled, chunked=True):
        super().__init__()
        self.chunked = chunked
        self.first = nn.Sequential(kernel(1, 4), nn.BatchNorm2d(4), Cut())
        self.grown = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(width), Cut(), kernel(width, 2)) for width in (4, 6)
        )
        self.changed = nn.Sequential(kernel(4, 4), nn.BatchNorm2d(4), Cut())
        self.norm, self.cut, self.shuffled = nn.BatchNorm2d(8), Cut(), shuffled
        self.last, self.end, self.out = kernel(7, 3), nn.BatchNorm2d(3), nn.Linear(48, 3)

    def forward(self, x):
        x = self.first(x)
        for part, width in zip(self.grown, (6, 8), strict=True):
            x = torch.cat([x, part(x)], 1)
            if self.shuffled:
                x = x.reshape(-1, 2, width // 2, 4, 4).transpose(1, 2).reshape(-1, width, 4, 4)
        x = self.cut(self.norm(x))
        x, y = x.chunk(2, 1) if self.chunked else (x[:, :4], x[:, 4:])
        x = torch.cat([y, self.changed(x)], 1)[:, 1:]
        return self.out(self.cut(self.end(self.last(x))).flatten(1))


@pytest.mark.parametrize("shuffled", [False, True])
def test_joined_and_split_channels_of_modules(shuffled):
    module, X = trained(Joined(shuffled=shuffled)), samples((1, 4, 4), 100)
    found = sg.from_torch(module, torch.zeros(1, 1, 4, 4), inputs=sg.Bits()).report
    assert np.abs(found.network.logits(X.reshape(100, -1)) - scores(module, X)).max() < 1e-11
    assert found.proof.interpreters == ("the module itself in float64",)


@pytest.mark.parametrize("shuffled", [False, True])
def test_joined_and_sliced_channels_of_onnx_files(shuffled, tmp_path):
    pytest.importorskip("onnx")
    module, X = trained(Joined(shuffled=shuffled, chunked=False)), samples((1, 4, 4), 100)
    path = exported(module, (1, 4, 4), tmp_path / "net.onnx")
    found = sg.read_onnx(path, inputs=sg.Bits()).report
    assert np.abs(found.network.logits(X.reshape(100, -1)) - scores(module, X)).max() < 1e-11
    assert found.proof.unseen == ()


class Reordered(nn.Module):
    """Shortcuts that bring channels in another order, from raw bits if there is no first layer."""

    def __init__(self, way, width=4, first=True):
        super().__init__()
        self.way, self.cut, self.norm = way, Cut(), nn.BatchNorm2d(width)
        self.first = nn.Sequential(kernel(1, width), nn.BatchNorm2d(width)) if first else nn.Identity()
        self.inner, self.out = kernel(width, width), nn.Linear(width * 9, 3)

    def forward(self, x):
        x = self.first(x)
        y = self.norm(self.inner(self.cut(x)))
        return self.out(self.cut(y + self.way(x)).flatten(1))


WAYS = {
    "halves": lambda x: torch.cat(x.chunk(2, 1)[::-1], 1),
    "shuffled": lambda x: x.reshape(-1, 2, 2, 3, 3).transpose(1, 2).reshape(-1, 4, 3, 3),
    "repeated": lambda x: torch.cat([x[:, ::2], x[:, :2]], 1),
}


@pytest.mark.parametrize("way", WAYS)
def test_shortcuts_may_bring_channels_in_another_order(way):
    module = trained(Reordered(WAYS[way]))
    X = samples((1, 3, 3))
    found = sg.from_torch(module, torch.zeros(1, 1, 3, 3), inputs=sg.Bits())
    assert np.abs(found.logits(X) - scores(module, X.reshape(-1, 1, 3, 3))).max() < 1e-11


@pytest.mark.parametrize("joined", [False, True])
def test_shortcuts_of_maps_from_raw_bits(joined):
    """The input is flat until a layer reads it as maps."""

    class FromBits(Reordered):
        def forward(self, x):
            y = torch.cat([self.cut(x), self.norm(self.inner(self.cut(x)))[:, :1]], 1)
            return self.out(self.cut(y).flatten(1))

    module = trained(FromBits(None, 2, first=False) if joined else Reordered(nn.Identity(), 2, first=False))
    module.out = nn.Linear(27 if joined else 18, 3)
    X = samples((2, 3, 3), 100)
    found = sg.from_torch(module, torch.zeros(1, 2, 3, 3), inputs=sg.Bits())
    assert np.abs(found.logits(X.reshape(100, -1)) - scores(module, X)).max() < 1e-11


@pytest.mark.parametrize("dead", [[0], [1], [0, 1], [0, 1, 2]])
def test_layers_that_read_constants(dead):
    """A batch norm whose gamma is 0 leaves nothing of the values before it."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(Rows(5, 4, bias=False), nn.BatchNorm1d(4))
            self.inner = nn.ModuleList([Rows(4, 4, bias=False) for _ in range(2)])
            self.norms, self.cut = nn.ModuleList([nn.BatchNorm1d(4) for _ in range(2)]), Cut()
            self.out = nn.Linear(4, 3)

        def forward(self, x):
            x = self.first(x)
            for layer, norm in zip(self.inner, self.norms, strict=True):
                x = x + norm(layer(self.cut(x)))
            return self.out(self.cut(x))

    module = trained(Block())
    for k in dead:
        (module.first[1], *module.norms)[k].weight.data.zero_()
    X = samples((5,))
    found = sg.from_torch(module, torch.zeros(1, 5), inputs=sg.Bits())
    assert np.abs(found.logits(X) - scores(module, X)).max() < 1e-11


def test_splits_of_onnx_files_are_refused_with_a_way(tmp_path):
    pytest.importorskip("onnx")
    module = trained(Reordered(lambda x: torch.cat(torch.split(x, 2, 1)[::-1], 1)))
    path = exported(module, (1, 3, 3), tmp_path / "net.onnx")
    with pytest.raises(FileError, match=r"Split.*it splits a tensor. Export slices instead: x\[:, :8\]"):
        sg.read_onnx(path, inputs=sg.Bits())


def test_joined_features_of_onnx_files(tmp_path):
    pytest.importorskip("onnx")

    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.cut = Rows(9, 6, bias=False), Rows(6, 4, bias=False), Cut()
            self.norm, self.last, self.out = nn.BatchNorm1d(9), Rows(9, 5, bias=False), nn.Linear(5, 3)

        def forward(self, x):
            x = self.cut(self.first(x))
            x = torch.cat([self.second(x), x[:, ::2], x[:, 4:]], 1)
            return self.out(self.cut(self.last(self.cut(self.norm(x)))))

    module = trained(Features())
    X = samples((9,))
    found = sg.read_onnx(exported(module, (9,), tmp_path / "net.onnx"), inputs=sg.Bits())
    assert np.abs(found.logits(X) - scores(module, X)).max() < 1e-11
    other = sg.from_torch(module, torch.zeros(1, 9), inputs=sg.Bits())
    assert (other.logits(X) == found.logits(X)).all()


def test_bi_real_blocks_are_read_from_bits_and_otherwise_refused_by_name(tmp_path):
    module, X = trained(BiReal(1, 4, 2)), samples((1, 4, 4), 100)
    expected = scores(module, X)
    network = sg.from_torch(module, torch.zeros(1, 1, 4, 4), inputs=sg.Bits())
    assert np.abs(network.logits(X.reshape(100, -1)) - expected).max() < 1e-11
    again = sg.read_onnx(exported(module, (1, 4, 4), tmp_path / "net.onnx"), inputs=sg.Bits())
    assert np.abs(again.logits(X.reshape(100, -1)) - expected).max() < 1e-11
    label = int(network.predict(X[:1].reshape(1, -1))[0])
    answer = sg.verify(network, sg.Robust(X[0].reshape(-1), sg.Hamming(1)))
    near = [X[0].reshape(-1) ^ (np.arange(16) == k) for k in range(16)]
    stays = bool((network.predict(np.array(near).astype(int)) == label).all())
    assert isinstance(answer, sg.Proved) == stays
    sg.check(answer.certificate, network)
    with pytest.raises(FileError, match=r"begins at what first.1 .* Take the sign of the first layer"):
        sg.from_torch(module, torch.zeros(1, 1, 4, 4), inputs=sg.Integers(0, 255))
    many = trained(BiReal(1, 8, 5))
    with pytest.raises(
        FileError, match=r"adds \d values whose scales have no common unit.*Put a sign before"
    ):
        sg.from_torch(many, torch.zeros(1, 1, 4, 4), inputs=sg.Bits())


def test_streams_of_integer_combinations_are_read(tmp_path):
    """Bi-Real's stream without batch norms: no sign before the additions, a batch norm only at its end."""

    class Stream(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = kernel(1, 4), kernel(4, 4), kernel(4, 4)
            self.norm, self.cut, self.out = nn.BatchNorm2d(4), Cut(), nn.Linear(64, 3)

        def forward(self, x):
            x = self.a(self.cut(x))
            x = x + 0.5 * self.b(self.cut(x))
            x = x + self.c(self.cut(x - 1))
            return self.out(self.cut(self.norm(x)).flatten(1))

    module, X = trained(Stream()), samples((1, 4, 4), 100)
    network = sg.from_torch(module, torch.zeros(1, 1, 4, 4), inputs=sg.Bits())
    assert np.abs(network.logits(X.reshape(100, -1)) - scores(module, X)).max() < 1e-11
    path = exported(module, (1, 4, 4), tmp_path / "net.onnx")
    again = sg.read_onnx(path, inputs=sg.Bits())
    assert (again.logits(X.reshape(100, -1)) == network.logits(X.reshape(100, -1))).all()
    assert sum(report.carried for report in network.report.layers) > 0


def test_products_of_two_layers_are_refused():
    class Gate(Dense):
        def forward(self, x):
            x = self.cut(self.norms[0](self.layers[0](x)))
            return self.out(x * self.cut(self.norms[1](self.layers[1](x))))

    gate = trained(Gate())
    gate.layers, gate.norms = gate.layers[:2], gate.norms[:2]
    with pytest.raises(FileError, match="only their sum or difference can be read"):
        sg.from_torch(gate, torch.zeros(1, 9), inputs=sg.Bits())


# -- Keras ---------------------------------------------------------------------------------------------------


class KerasNet:
    """A functional model with its arrays, written as Keras 2 writes it, and computed here."""

    def __init__(self, shape, seed=0):
        self.rng, self.shape, self.layers = np.random.default_rng(seed), shape, []

    def add(self, kind, *sources, config=None, **arrays):
        name = f"{kind.lower()}_{len(self.layers)}"
        self.layers.append(
            (name, kind, config or {}, arrays, sources or (self.layers[-1][0] if self.layers else "in",))
        )
        return name

    def block(self, source, ins, outs):
        sizes = {
            "filters": outs,
            "kernel_size": [3, 3],
            "strides": [1, 1],
            "padding": "same",
            "use_bias": False,
        }
        config = {
            **sizes,
            "kernel_quantizer": "ste_sign",
            "input_quantizer": None if source == "in" else "ste_sign",
        }
        self.add(
            "QuantConv2D", source, config=config, kernel=self.rng.normal(size=(3, 3, ins, outs)).astype(F)
        )
        self.norm(outs)
        return self.add("Activation", config={"activation": "ste_sign"})

    def norm(self, count, source=None):
        rows = {"gamma": (-1, 1.5), "beta": (-1, 1), "moving_mean": (-2, 2), "moving_variance": (0.3, 4)}
        made = {name: self.rng.uniform(*ends, count).astype(F) for name, ends in rows.items()}
        return self.add(
            "BatchNormalization", *(source,) if source else (), config={"axis": [3], "epsilon": 1e-3}, **made
        )

    def write(self, path):
        h5py = pytest.importorskip("h5py", reason="h5py is not installed")
        first = {"name": "in", "batch_input_shape": [None, *self.shape], "dtype": "float32"}
        entries = [{"class_name": "InputLayer", "name": "in", "config": first, "inbound_nodes": []}]
        for name, kind, config, _, sources in self.layers:
            about = {"name": name, "trainable": True, "dtype": "float32", **config}
            nodes = [[[source, 0, 0, {}] for source in sources]]
            entries.append({"class_name": kind, "name": name, "config": about, "inbound_nodes": nodes})
        ends = {"input_layers": [["in", 0, 0]], "output_layers": [[self.layers[-1][0], 0, 0]]}
        model = {"class_name": "Functional", "config": {"name": "model", "layers": entries, **ends}}
        with h5py.File(path, "w") as file:
            file.attrs["keras_version"], file.attrs["backend"] = b"2.4.0", b"tensorflow"
            file.attrs["model_config"] = json.dumps(model).encode()
            root = file.create_group("model_weights")
            root.attrs["layer_names"] = [name.encode() for name, *_ in self.layers]
            for name, _, _, arrays, _ in self.layers:
                group = root.create_group(name)
                group.attrs["weight_names"] = [f"{name}/{part}:0".encode() for part in arrays]
                for part, array in arrays.items():
                    group.create_dataset(f"{name}/{part}:0", data=array)
        return path

    def scores(self, X):
        """By PyTorch's functions, channels first."""
        known = {"in": torch.from_numpy(X).permute(0, 3, 1, 2)}
        for name, kind, _, arrays, sources in self.layers:
            x = sum(known[source] for source in sources)
            a = {part: torch.from_numpy(array.astype(float)) for part, array in arrays.items()}
            if kind == "QuantConv2D":
                x = x if sources == ("in",) else torch.where(x >= 0, 1.0, -1.0).double()
                weights = torch.where(a["kernel"] >= 0, 1.0, -1.0).double().permute(3, 2, 0, 1)
                x = nn.functional.conv2d(x, weights, padding=1)
            elif kind == "BatchNormalization":
                rows = (a["moving_mean"], a["moving_variance"], a["gamma"], a["beta"])
                x = nn.functional.batch_norm(x, *rows, eps=1e-3)
            elif kind == "Activation":
                x = torch.where(x >= 0, 1.0, -1.0).double()
            elif kind == "GlobalAveragePooling2D":
                x = x.mean(dim=(2, 3))
            elif kind == "Dense":
                x = x @ a["kernel"] + a["bias"]
            known[name] = x
        return x.numpy()


def keras_net(seed):
    net = KerasNet((5, 4, 1), seed)
    first = net.block("in", 1, 4)
    one = net.add("Add", first, net.block(first, 4, 4))
    two = net.block(one, 4, 4)
    three = net.add("Add", one, two, first)  # three terms, one of them for the second time
    net.norm(4, three)
    net.add("GlobalAveragePooling2D")
    net.add(
        "Dense",
        config={"units": 3},
        kernel=net.rng.normal(size=(4, 3)).astype(F),
        bias=net.rng.normal(size=3).astype(F),
    )
    return net


@pytest.mark.parametrize("seed", [0, 1])
def test_keras(seed, tmp_path):
    net = keras_net(seed)
    found = sg.read_larq(net.write(tmp_path / "net.h5"), inputs=sg.Bits()).report
    X = np.random.default_rng(2).integers(0, 2, (300, 5, 4, 1))
    assert np.abs(found.network.logits(X) - net.scores(X * 2.0 - 1)).max() < 1e-11
    assert found.proof.unseen == ()
    assert found.proof.layers == 4


def test_keras_branches_that_are_not_added(tmp_path):
    net = KerasNet((5, 4, 1))
    first = net.block("in", 1, 4)
    net.add("Concatenate", first, net.block(first, 4, 4))
    net.add("Dense", config={"units": 3}, kernel=np.zeros((8, 3), F), bias=np.zeros(3, F))
    with pytest.raises(FileError, match="Only branches that are added \\(Add\\) can be read"):
        sg.read_larq(net.write(tmp_path / "net.h5"), inputs=sg.Bits())


class Signed(nn.Module):
    """Signs on the inputs themselves, and a shortcut past the last layer."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList([Rows(6 if k == 0 else 5, 5, bias=False) for k in range(layers + 1)])
        self.cut, self.out = Cut(), Rows(5, 3, bias=False)

    def forward(self, x):
        x = self.cut(x)
        for layer in self.layers[:-1]:
            x = self.cut(layer(x))
        return self.out(self.cut(self.layers[-1](x)) + x)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("inputs", [sg.Bits(), sg.Integers(-1, 1), None])
def test_a_shortcut_behind_signs_on_the_inputs(layers, inputs):
    """A sign of bits has no layer and no report, so reports are not counted by signs."""
    net = trained(Signed(layers))
    found = sg.from_torch(net, torch.zeros(1, 6), inputs=inputs).report
    named = [layer.where.split()[0] for layer in found.layers if layer.kind != "inputs"]
    assert named == [f"layers.{k}" for k in range(layers + 1)]
    assert [layer.carried for layer in found.layers if layer.kind != "inputs"] == [0] * layers + [5]
    X = np.array(list(product([-1, 1], repeat=6)))
    with torch.no_grad():
        assert (found.network.logits(X) == net(torch.tensor(X, dtype=torch.float32)).numpy()).all()


@pytest.mark.parametrize("spelled", list(product([False, True], repeat=4)))
def test_a_sign_in_two_comparisons_beside_another_branch(spelled):
    """x > 0 or x == 0: behind the addition of branches, values are no longer those of one sign."""
    onnx = pytest.importorskip("onnx")
    helper, random = onnx.helper, np.random.default_rng(0)
    nodes, numbers = [], {"zero": F(0), "one": F(1), "minus": F(-1)}

    def sign(before, after, twice):
        test = [("GreaterOrEqual", [before, "zero"], f"{after}o")]
        if twice:
            test = [("Greater", [before, "zero"], f"{after}g"), ("Equal", [before, "zero"], f"{after}e")]
            test.append(("Or", [f"{after}g", f"{after}e"], f"{after}o"))
        for op, reads, made in (*test, ("Where", [f"{after}o", "one", "minus"], after)):
            nodes.append(helper.make_node(op, reads, [made]))

    def layer(before, after, sizes):
        numbers[f"{after}w"] = random.choice([-1, 1], sizes).astype(F)
        nodes.append(helper.make_node("MatMul", [before, f"{after}w"], [after]))

    first, second, left, right = spelled
    sign("x", "a", first)
    layer("a", "b", (6, 4))
    sign("b", "c", second)
    layer("c", "d", (4, 4))
    sign("d", "e", left)
    layer("c", "f", (4, 4))
    sign("f", "g", right)
    nodes.append(helper.make_node("Add", ["e", "g"], ["h"]))
    nodes.append(helper.make_node("Add", ["h", "c"], ["i"]))
    layer("i", "y", (4, 3))
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", 1, [None, 6])],
        [helper.make_tensor_value_info("y", 1, [None, 3])],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in numbers.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    raw = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    X = np.array(list(product([-1, 1], repeat=6)), F)

    def up(x):
        return np.where(x >= 0, 1, -1)

    c = up(up(X) @ numbers["bw"])
    expected = (up(c @ numbers["dw"]) + up(c @ numbers["fw"]) + c) @ numbers["yw"]
    assert (sg.read_onnx(raw, inputs=sg.Bits()).logits(X) == expected).all()


# -- floats at both ends -------------------------------------------------------------------------------------


def test_what_is_exact_and_what_is_not_is_said(tmp_path):
    pytest.importorskip("onnx")
    net = nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.ReLU(),
        nn.BatchNorm2d(3),
        Cut(),
        kernel(3, 4),
        nn.BatchNorm2d(4),
        Cut(),
        nn.Flatten(),
        nn.Linear(36, 6),
        nn.ReLU(),
        nn.Linear(6, 3),
    )
    path = exported(trained(net), (1, 5, 5), tmp_path / "net.onnx")
    with pytest.raises(FileError, match="leave this layer in floats: strict=False"):
        sg.read_onnx(path)
    found = sg.read_onnx(path, strict=False).report
    assert isinstance(found, PartialImportReport)
    said = str(found).splitlines()
    assert said[0] == "partly exact: a network 27-36-36 between float layers"
    text = " ".join(said)
    for part in (
        "exact: node",
        "in floats, before the network: node 0 (Conv",
        "in floats, after the network: node",
        "turn 25 raw numbers into the 27",
        "can be asked of the network",
        "cannot be proved: how far a raw input may move",
    ):
        assert part in text, part
    assert found.network.encoder.names[:2] == ("sign 1", "sign 2")
    assert found.network.classes[:2] == ("sign 1", "sign 2")
    X = np.random.default_rng(0).normal(size=(200, 1, 5, 5))
    with torch.no_grad():
        expected = net.double()(torch.from_numpy(X)).numpy()
    assert np.abs(found.scores(X) - expected).max() < 1e-9
    assert (found.predict(X) == expected.argmax(axis=1)).all()
    bits = found.bits(X[:1])[0]
    answer = sg.verify(found.network, sg.Robust(bits, sg.L0(1)))
    sg.check(answer.certificate, found.network)
