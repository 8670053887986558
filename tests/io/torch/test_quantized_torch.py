"""Networks of more than one bit from PyTorch: Brevitas checkpoints, modules that round, and torch.ao's
quantized modules, against formulas written out here and against PyTorch itself.
"""

import os
import re
import subprocess
import sys
import warnings
from fractions import Fraction
from itertools import product
from math import floor
from pathlib import Path

import numpy as np
import pytest

from sugenet.errors import FileError
from sugenet.io import Integers, Reals, from_state_dict, from_torch

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

WHOLE = Integers(0, 3, step=Fraction(1, 3))
KEY = "features.0.act_quant_proxy.fused_activation_quant_proxy.tensor_quant.scaling_impl.learned_value"


def state(seed, inputs=3, hidden=4, classes=2):
    """A checkpoint with the names of Brevitas' TFC: two hidden layers, and a scalar norm at the end."""
    random = np.random.default_rng(seed)
    found, width = {}, inputs
    for block, outputs in enumerate((hidden, hidden, classes)):
        place = 4 * block + 2
        found[f"features.{place}.weight"] = random.uniform(-1, 1, (outputs, width))
        count = outputs if block < 2 else 1
        found[f"features.{place + 1}.weight"] = random.choice([-1.5, -0.5, 0.5, 1, 2], count)
        found[f"features.{place + 1}.bias"] = random.normal(0, 0.3, count)
        found[f"features.{place + 1}.running_mean"] = random.normal(0, 1, count)
        found[f"features.{place + 1}.running_var"] = random.uniform(0.5, 3, count)
        width = outputs
    return {name: value.astype(np.float32) for name, value in found.items()}


def half_even(value):
    below = floor(value)
    rest = value - below
    return below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1))


def quantized(value, bits, scale):
    """What Brevitas' narrow signed quantizer gives, as a code and the step that it counts."""
    top = 2 ** (bits - 1) - 1
    step = Fraction(float(np.float32(scale) / np.float32(top)))
    return max(-top, min(top, half_even(value / step))) * step


def activated(value, bits, scale):
    return (1 if value >= 0 else -1) if bits == 1 else quantized(value, bits, scale)


def weights(row, bits):
    if bits == 1:
        return [1 if w >= 0 else -1 for w in row]
    top = np.float32(2 ** (bits - 1) - 1)
    step = np.float32(1) / top
    return [  # the program divides in float32
        Fraction(float(np.clip(np.rint(np.float32(w) / step), -top, top))) * Fraction(float(step))
        for w in row
    ]


def levels_of(arrays, sample, bits, scales=(1, 1, 1)):
    """The values behind each quantizer in high precision: batch norms have roots, so 60 digits decide."""
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    eps = Decimal(float("1e-5"))
    wide, narrow, first = bits
    x = [activated(2 * value - 1, first, scales[0]) for value in sample]
    seen = []
    for block, place in enumerate((2, 6)):
        sums = [
            sum(w * v for w, v in zip(weights(row, wide), x, strict=True))
            for row in arrays[f"features.{place}.weight"]
        ]
        norm = [
            arrays[f"features.{place + 1}.{name}"].tolist() for name in ("weight", "bias", "running_mean")
        ]
        var = arrays[f"features.{place + 1}.running_var"].tolist()
        x = []
        for s, g, b, m, v in zip(sums, *norm, var, strict=True):
            root = Fraction((Decimal(v) + eps).sqrt())
            value = Fraction(g) * (s - Fraction(m)) / root + Fraction(b)
            x.append(activated(value, narrow, scales[block + 1]))
        seen.append(x)
    return seen


@pytest.mark.parametrize("bits", [(1, 2, 2), (2, 2, 2), (2, 3, 1), (4, 2, 3), (8, 4, 4), (3, 8, 8)])
def test_a_checkpoint_of_brevitas_has_the_levels_of_its_formulas_on_every_input(bits):
    arrays = state(sum(bits))
    found = from_state_dict(arrays, bits=bits, inputs=WHOLE).report
    assert "equal to PyTorch's functions in float64" in str(found.proof)
    assert " hidden levels of 2 layers" in str(found.proof)
    samples = list(product(range(4), repeat=3))
    hidden = found.network.hidden(samples)
    top = 2 ** (bits[1] - 1) - 1
    step = Fraction(float(np.float32(1) / np.float32(top)))
    for k, sample in enumerate(samples):
        expected = levels_of(arrays, [WHOLE.value(v) for v in sample], bits)
        assert [[int(v / step) + top for v in row] for row in expected] == [
            layer[k].tolist() for layer in hidden
        ]


def test_how_many_bits_is_asked_and_never_assumed():
    arrays = state(0)
    with pytest.raises(FileError, match=r"do not say how many bits .* bits=1; .* bits=\(1, 2\)"):
        from_state_dict(arrays, inputs=WHOLE)
    for wrong in (0, 9, (1, 2, 3, 4), (1, 2.0), "1", True, ()):
        with pytest.raises(FileError, match="but an integer from 1 to 8 is needed"):
            from_state_dict(arrays, bits=wrong, inputs=WHOLE)
    one, two = (from_state_dict(arrays, bits=bits, inputs=WHOLE) for bits in (1, 2))
    assert one.layers != two.layers


def test_a_learned_scale_is_never_dropped():
    arrays = state(1)
    learned = {**arrays, KEY: np.array(0.49, np.float32)}
    for bits in (None, 1, 2, (1, 2)):
        with pytest.raises(FileError, match=r"learned_value' is a learned scale .* learned=log2"):
            from_state_dict(learned, bits=bits, inputs=WHOLE)
    rest = (
        "linear:features.2(weights=sign) batchnorm:features.3 quantize(bits=2) "
        "linear:features.6(weights=sign) batchnorm:features.7 quantize(bits=2) "
        "linear:features.10(weights=sign) tensornorm:features.11"
    )
    with pytest.raises(FileError, match="learned_value' would be left over"):
        from_state_dict(learned, f"affine(scale=2, shift=-1) quantize(bits=2) {rest}", inputs=WHOLE)
    samples = list(product(range(4), repeat=3))
    for kept, scale in (("value", np.float32(0.49)), ("log2", np.float32(2) ** np.float32(0.49))):
        text = f"affine(scale=2, shift=-1) quantize:{KEY}(bits=2, learned={kept}) {rest}"
        hidden = from_state_dict(learned, text, inputs=WHOLE).hidden(samples)
        for k, sample in enumerate(samples):
            raw = [WHOLE.value(v) for v in sample]
            expected = levels_of(arrays, raw, (1, 2, 2), (scale, 1, 1))
            assert [[int(v) + 1 for v in row] for row in expected] == [layer[k].tolist() for layer in hidden]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("quantize", "from 2 to 16, as in quantize.bits=2.; one bit is a sign"),
        ("quantize(bits=1)", "it needs a number of bits from 2 to 16"),
        ("quantize:s(bits=2)", "a learned scale needs the name of its parameter and how it is kept"),
        ("quantize(bits=2, learned=value)", "a learned scale needs the name"),
        ("quantize(bits=2, scale=0)", "its scale must be positive"),
        ("linear:a(bits=2)", "bits and scale are for weights=quantized"),
        ("linear:a(weights=quantized)", "it needs a number of bits from 2 to 16"),
    ],
)
def test_what_is_said_of_a_quantizer_must_be_whole(part, message):
    with pytest.raises(FileError, match=message):
        from_state_dict({"a.weight": np.ones((2, 2))}, part)


class Rounded(nn.Module):
    """A quantizer as libraries write it: divided, rounded, clamped, multiplied."""

    def __init__(self, bits, scale=1.0):
        super().__init__()
        self.top = 2 ** (bits - 1) - 1
        self.register_buffer("step", torch.tensor(scale, dtype=torch.float32) / self.top)

    def forward(self, x):
        codes = torch.round(x / self.step)
        codes = torch.where(codes > self.top, torch.tensor(float(self.top)), codes)
        return torch.where(codes < -self.top, torch.tensor(float(-self.top)), codes) * self.step


class QuantLinear(nn.Linear):
    """Weights rounded to codes in `forward`, one scale a neuron where asked."""

    def __init__(self, inputs, outputs, bits, rows=False):
        super().__init__(inputs, outputs, bias=False)
        self.top, self.rows = 2 ** (bits - 1) - 1, rows

    def forward(self, x):
        scale = self.weight.abs().amax(dim=1, keepdim=True) if self.rows else torch.ones(1, 1)
        step = scale / self.top
        codes = torch.clamp(torch.round(self.weight / step), -self.top, self.top)
        return nn.functional.linear(x, codes * step)


@pytest.mark.parametrize("bits", [(2, 2), pytest.param((4, 3), marks=pytest.mark.slow), (8, 8)])
def test_a_module_that_rounds_is_the_checkpoint_of_the_same_numbers(bits):
    wide, narrow = bits
    arrays = state(7)
    names = [name for name in arrays if "features.11" not in name]
    net = nn.Sequential(
        Rounded(narrow), QuantLinear(3, 4, wide), nn.BatchNorm1d(4), Rounded(narrow),
        QuantLinear(4, 4, wide), nn.BatchNorm1d(4), Rounded(narrow), QuantLinear(4, 2, wide),
    ).eval()  # fmt: skip
    places = {"features.2": 1, "features.3": 2, "features.6": 4, "features.7": 5, "features.10": 7}
    tensors = {}
    for name in names:
        owner, _, last = name.rpartition(".")
        tensors[f"{places[owner]}.{last}"] = torch.from_numpy(arrays[name])
    net.load_state_dict({**net.state_dict(), **tensors})
    found = from_torch(net, torch.rand(1, 3), inputs=WHOLE).report
    assert "the module itself in float64" in str(found.proof)
    text = (
        "quantize(bits=N) linear:features.2(weights=quantized, bits=W) batchnorm:features.3 quantize(bits=N) "
    )
    text += "linear:features.6(weights=quantized, bits=W) batchnorm:features.7 quantize(bits=N) "
    text += "linear:features.10(weights=quantized, bits=W)"
    text = text.replace("N", str(narrow)).replace("W", str(wide))
    other = from_state_dict({name: arrays[name] for name in names}, text, inputs=WHOLE).report
    assert found.network.layers == other.network.layers
    assert found.network.head == other.network.head


def test_scales_of_their_own_for_each_neuron():
    torch.manual_seed(3)
    net = nn.Sequential(
        QuantLinear(4, 6, 4, rows=True), nn.BatchNorm1d(6), Rounded(3), QuantLinear(6, 3, 2)
    ).eval()
    found = from_torch(net, torch.rand(1, 4), inputs=Integers(0, 7, step=Fraction(1, 8))).report
    X = np.random.default_rng(0).integers(0, 8, (200, 4))
    with torch.no_grad():
        expected = net(torch.from_numpy(X / 8).float()).numpy()
    assert np.abs(found.network.logits(X) - expected).max() < 1e-5


def test_fake_quantizers_are_quantizers():
    class Fake(nn.Module):
        def forward(self, x):
            return torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)

    class FakeLinear(nn.Linear):
        def forward(self, x):
            scale = self.weight.detach().abs().amax(dim=1) / 7
            zero = torch.zeros(len(scale), dtype=torch.int32)
            return nn.functional.linear(
                x, torch.fake_quantize_per_channel_affine(self.weight, scale, zero, 0, -7, 7)
            )

    torch.manual_seed(5)
    net = nn.Sequential(FakeLinear(3, 5, bias=False), Fake(), FakeLinear(5, 2, bias=False)).eval()
    found = from_torch(net, torch.rand(1, 3), inputs=Integers(0, 7, step=Fraction(1, 7))).report
    assert found.layers[0].kind == "quantized"
    X = np.array(list(product(range(8), repeat=3)))
    with torch.no_grad():
        expected = net((torch.from_numpy(X).double() / 7).float()).numpy()
    assert np.abs(found.network.logits(X) - expected).max() < 1e-5


def test_a_float_stem_may_end_in_a_quantizer():
    torch.manual_seed(6)
    net = nn.Sequential(nn.Linear(3, 4), Rounded(3), QuantLinear(4, 4, 2), Rounded(2), nn.Linear(4, 2)).eval()
    found = from_torch(net, torch.rand(1, 3), strict=False).report
    X = np.array(list(product(range(8), repeat=3))) / 7
    with torch.no_grad():
        expected = net.double()(torch.from_numpy(X)).numpy()
    assert found.stem is not None
    assert not found.tail  # whose floats are exact numbers
    assert np.abs(found.scores(X) - expected).max() < 1e-6


def test_rounding_without_bounds_is_refused():
    class Free(nn.Module):
        def forward(self, x):
            return torch.round(x)

    net = nn.Sequential(nn.Linear(2, 2, bias=False), Free(), nn.Linear(2, 2))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0, -1.0], [1.0, 1.0]]))
    with pytest.raises(FileError, match=r"rounds numbers without bounds to whole ones\. Clip them"):
        from_torch(net.eval(), torch.rand(1, 2), inputs=Integers(0, 3))


def test_a_parameter_that_nothing_uses_is_refused_by_name():
    arrays = state(2)
    for name in ("features.2.bias_quant.scale", "features.15.weight", "extra"):
        with pytest.raises(FileError, match=f"'{name}' would be left over|follow no known layout"):
            from_state_dict({**arrays, name: np.ones(1, np.float32)}, bits=(1, 2), inputs=WHOLE)

    class Spare(nn.Sequential):
        def forward(self, x):
            for part in list(self)[:-1]:
                x = part(x)
            return x

    parts = [Rounded(2), QuantLinear(3, 2, 2), Rounded(2), QuantLinear(2, 2, 2)]
    from_torch(nn.Sequential(*parts).eval(), torch.rand(1, 3), inputs=WHOLE)
    with pytest.raises(FileError, match=r"Spare: its parameter '4\.weight' would be left over"):
        from_torch(Spare(*parts, nn.Linear(2, 2, bias=False)).eval(), torch.rand(1, 3), inputs=WHOLE)


# -- torch.ao ------------------------------------------------------------------------------------------------


def converted(net, shape, seed=0):
    """A module after PyTorch's own calibration and conversion."""
    from torch.ao import quantization

    engines = [name for name in ("x86", "fbgemm") if name in torch.backends.quantized.supported_engines]
    if not engines:
        pytest.skip("PyTorch has no quantized kernels for this processor")
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = nn.Sequential(quantization.QuantStub(), *net, quantization.DeQuantStub()).eval()
        whole.qconfig = quantization.get_default_qconfig(engines[0])
        for part in whole.modules():
            if isinstance(part, nn.Linear | nn.Conv2d):
                nn.init.normal_(part.weight)
        pairs = [
            [str(k), str(k + 1)]
            for k in range(len(whole) - 1)
            if isinstance(whole[k], nn.Linear | nn.Conv2d) and isinstance(whole[k + 1], nn.ReLU)
        ]
        if pairs:
            whole = quantization.fuse_modules(whole, pairs)
        quantization.prepare(whole, inplace=True)
        whole(torch.rand(64, *shape))
        return quantization.convert(whole)


PIXELS = Integers(0, 255, step=Fraction(1, 255))


NETS = {
    "dense": ((6,), lambda: (nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))),
    "conv": (
        (2, 4, 4),
        lambda: (nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3)),
    ),
    "grouped": (
        (2, 4, 4),
        lambda: (nn.Conv2d(2, 4, 2, stride=2, groups=2), nn.Flatten(), nn.Linear(16, 2, bias=False)),
    ),
    "wider than its map": (
        (2, 2, 2),
        lambda: (nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3)),
    ),
}


@pytest.fixture(autouse=True)
def one_thread():
    """Many small calls: threads would wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def seeded(make, shape, seed):
    torch.manual_seed(1000 + seed)  # biases are drawn where layers are made
    return converted(make(), shape)


def scores_of(module, X, shape, batch):
    """What the module gives in batches of one size, which its kernels are chosen by."""
    given = (torch.from_numpy(X).double() / 255).float().reshape(-1, *shape)
    with torch.no_grad():
        return np.concatenate([module(given[k : k + batch]).numpy() for k in range(0, len(given), batch)])


@pytest.mark.parametrize("name", NETS)
def test_a_quantized_module_is_read_byte_by_byte(name):
    shape, make = NETS[name]
    module = seeded(make, shape, 0)
    found = from_torch(module, torch.rand(1, *shape), inputs=PIXELS).report
    assert "the module itself, byte by byte" in str(found.proof)
    assert " hidden levels of " in str(found.proof)
    X = np.random.default_rng(1).integers(0, 256, (300, int(np.prod(shape))))
    expected = scores_of(module, X, shape, 1)
    assert np.array_equal(found.network.logits(X).astype(np.float32), expected)
    assert np.array_equal(found.network.predict(X), expected.argmax(axis=1))


SEEDS = [36, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60) if seed != 36)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NETS)
def test_steps_are_where_the_kernels_have_them(name, seed):
    """One sum of thousands may be rounded in another order than one thinks: module 36 had such sums."""
    shape, make = NETS[name]
    module = seeded(make, shape, seed)
    X = np.random.default_rng(1).integers(0, 256, (3000, int(np.prod(shape))))
    for batch in (1, 500):
        found = from_torch(module, torch.rand(batch, *shape), inputs=PIXELS, prove=batch > 1).report
        asked, steps = re.match(
            r"([\d,]+) of ([\d,]+) steps of 2 operations were asked", found.remarks[0]
        ).groups()
        assert asked == steps or "could not be asked" in found.remarks[1]
        mine = found.network.logits(X).astype(np.float32)
        assert np.array_equal(mine, scores_of(module, X, shape, batch))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "make",
    [
        lambda: (nn.Flatten(), nn.Linear(2, 24)),
        lambda: (nn.Conv2d(2, 24, 1), nn.Flatten()),
        lambda: (nn.Conv2d(2, 24, 1, groups=2), nn.ReLU(), nn.Flatten()),
    ],
    ids=["dense", "conv", "grouped"],
)
def test_every_input_of_two_bytes_has_its_levels(make, seed):
    """The definition itself: all that can be given is given."""
    module = seeded(make, (2, 1, 1), seed)
    found = from_torch(module, torch.rand(256, 2, 1, 1), inputs=PIXELS, prove=False).report
    X = np.array(list(product(range(256), repeat=2)))
    mine = found.network.logits(X).astype(np.float32)
    assert np.array_equal(mine, scores_of(module, X, (2, 1, 1), 256))


@pytest.mark.parametrize("batch", [1, 256])
def test_the_size_of_the_example_says_in_which_batches(batch):
    """A module whose own bytes depend on it, at one step, where oneDNN has products in 32 bits."""
    shape = (2, 1, 2)
    module = seeded(lambda: (nn.Conv2d(2, 4, (1, 2), groups=2), nn.Flatten()), shape, 5)
    found = from_torch(module, torch.rand(batch, *shape), inputs=PIXELS, prove=False).report
    with torch.no_grad():
        levels = module[0](torch.arange(256) / 255).int_repr().numpy()
    raw = np.unique(levels, return_index=True)[1]  # one number for each level
    X = np.array([pair * 2 for pair in product(raw.tolist(), repeat=2)])
    mine = found.network.logits(X).astype(np.float32)
    assert np.array_equal(mine, scores_of(module, X, shape, batch))
    assert f"batches of {batch})" in found.remarks[0]


def test_the_most_doubtful_steps_come_first_where_not_all_can_be_asked(monkeypatch):
    from sugenet.io.torch import backend

    module = seeded(NETS["dense"][1], (6,), 0)
    whole = from_torch(module, torch.rand(1, 6), inputs=PIXELS, prove=False).report
    monkeypatch.setattr(backend, "_WORK", 1 << 32)
    found = from_torch(module, torch.rand(1, 6), inputs=PIXELS).report
    assert len(whole.remarks) == 1
    said = r"steps could not be asked .* the nearest of them is 0\.\d+ levels from a tie"
    assert re.search(said, found.remarks[1])
    assert found.network == whole.network  # FBGEMM's arithmetic, or steps that were asked all the same


def kernel(tamper=lambda levels: levels, weights=((3, -2),), high=255):
    """A real kernel of one neuron, and what it is asked with; `tamper` breaks it on purpose."""
    from sugenet.io.torch.backend import PackedOperation

    engines = [name for name in ("x86", "fbgemm") if name in torch.backends.quantized.supported_engines]
    if not engines:
        pytest.skip("PyTorch has no quantized kernels for this processor")
    torch.backends.quantized.engine = engines[0]
    rows = np.array(weights)
    whole = torch._make_per_tensor_quantized_tensor(torch.tensor(weights, dtype=torch.int8), 0.5, 0)
    packed = torch.ops.quantized.linear_prepack(whole, torch.zeros(len(rows)))

    def call(tensor):
        out = torch.ops.quantized.linear(tensor, packed, 1.0, 100)
        return torch._make_per_tensor_quantized_tensor(tamper(out.int_repr()), 1.0, 100)

    def tensor(levels):
        return torch._make_per_tensor_quantized_tensor(torch.from_numpy(levels.astype(np.uint8)), 0.5, 10)

    size = rows.shape[1]
    return PackedOperation("here", call, tensor, rows, 10, np.zeros(size, int), np.full(size, high), 64)


def test_a_wrong_guess_of_steps_is_put_right_by_the_kernel():
    from sugenet.io.torch.backend import ask_steps

    operation = kernel()
    exact = [min(s for s in range(-700, 900) if half_even(Fraction(s, 4)) + 100 >= m) for m in range(1, 256)]
    tops = np.array([exact])
    for guess in (tops, tops + 5, tops - 40, np.sort(np.random.default_rng(0).integers(-900, 900, (1, 255)))):
        steps, asked = ask_steps(operation, guess, np.ones((1, 255)))
        assert asked.asked == asked.steps > 200
        reached = (tops > -530) & (tops <= 735)  # 3 * (0..255 - 10) - 2 * (0..255 - 10)
        sums = (3 * np.arange(256)[:, None] - 2 * np.arange(256)).ravel() - 10
        for step, own in zip(steps[reached], tops[reached], strict=True):
            assert np.array_equal(sums >= step, sums >= own)


def test_a_kernel_that_falls_or_looks_at_more_than_the_sum_is_refused():
    from sugenet.io.torch.backend import ask_steps

    guess = np.sort(np.random.default_rng(0).integers(-500, 700, (1, 255)))
    turned = kernel(lambda levels: 255 - levels)
    with pytest.raises(FileError, match=r"here: channel 0 gives \d+ for the sum .* monotone function"):
        ask_steps(turned, guess, np.ones((1, 255)))
    state = np.random.default_rng(0)
    unsteady = kernel(
        lambda levels: levels ^ torch.from_numpy(state.integers(0, 2, levels.shape).astype(np.uint8))
    )
    with pytest.raises(FileError, match=r"here: channel 0 gives \d+ (and|for) .* monotone function"):
        ask_steps(unsteady, guess, np.ones((1, 255)))


OVERFLOW = """
import numpy as np, torch
from tests.io.torch.test_quantized_torch import kernel
from sugenet.io.torch.backend import ask_steps
operation = kernel(weights=((127, 127, 127, 127, -127, -127, -127, -126),))
guess = np.sort(np.random.default_rng(0).integers(-900, 900, (1, 255)))
print(ask_steps(operation, guess, np.ones((1, 255)))[1].quiet)
"""


@pytest.mark.slow
@pytest.mark.parametrize("narrow", [True, False])
def test_kernels_that_overflow_in_16_bits_are_told_of(narrow):
    """PyTorch's kernels for older processors, which newer ones run, too, when they are told to."""
    kernel()
    if sys.platform != "linux":
        pytest.skip("what the processor has is read from /proc/cpuinfo")
    told = {"FBGEMM_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"} if narrow else {}
    if not narrow and "avx512_vnni" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no products of bytes in 32 bits")
    done = subprocess.run(
        [sys.executable, "-c", OVERFLOW],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(narrow)]


def test_what_is_not_read_of_quantized_modules_is_named():
    module = converted((nn.Linear(3, 2),), (3,))
    with pytest.raises(FileError, match=r"say what raw samples are: inputs=Integers"):
        from_torch(module, torch.rand(1, 3), inputs=Reals())
    with pytest.raises(FileError, match="zero= has no use in a quantized module"):
        from_torch(module, torch.rand(1, 3), inputs=PIXELS, zero=1)
    with pytest.raises(FileError, match=r"is of a quantized module.* from_torch\(module, example\)"):
        from_state_dict(module.state_dict())

    class Spare(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.spare = module, converted((nn.Linear(3, 2),), (3,))

        def forward(self, x):
            return self.used(x)

    with pytest.raises(FileError, match=r"1 layers ran, but it holds 2: used.1, spare.1"):
        from_torch(Spare().eval(), torch.rand(1, 3), inputs=PIXELS)
    for spare in (nn.Linear(2, 2), nn.BatchNorm1d(2)):
        more = converted((nn.Linear(3, 2),), (3,))
        more[1].spare = spare
        with pytest.raises(FileError, match=r"its float parameter '.*spare.weight' is used by nothing"):
            from_torch(more, torch.rand(1, 3), inputs=PIXELS)
    pooled = converted((nn.Conv2d(1, 2, 1), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(2, 2)), (1, 2, 2))
    with pytest.raises(
        FileError, match=r"avg_pool2d.* is not read in quantized modules: average pooling rounds"
    ):
        from_torch(pooled, torch.rand(1, 1, 2, 2), inputs=PIXELS)
