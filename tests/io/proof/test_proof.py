"""Imports that prove themselves: the report says what was compared,
and a reader that is wrong is refused at the right module.
"""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402
from sugenet.io.exact import lower, signals  # noqa: E402
from sugenet.io.exact.domains import Integers, Reals  # noqa: E402
from sugenet.io.exact.evaluation import DOUBLE, SINGLE, rounding_of  # noqa: E402
from sugenet.io.exact.lower import lower as lower_chain  # noqa: E402
from sugenet.io.exact.ops import Affine, BatchNorm, Flatten, LinearOp, OpChain, Sign  # noqa: E402
from sugenet.io.proof.interpreters import Seen, SourceInterpreter, Stage, interpreter_of_chain  # noqa: E402
from sugenet.io.proof.near import RawRanges, turning  # noqa: E402
from sugenet.io.proof.proving import prove_import  # noqa: E402


class Cut(nn.Module):
    def forward(self, x):
        return torch.where(x >= 0, 1.0, -1.0)


class Do(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def binary(*parts):
    module = nn.Sequential(*parts).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.Linear | nn.Conv2d):
                part.weight.copy_(
                    torch.where(torch.rand(part.weight.shape, generator=generator) < 0.5, -1.0, 1.0)
                )
                if part.bias is not None:
                    part.bias.copy_(torch.randint(-1, 2, part.bias.shape, generator=generator).float())
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.copy_(torch.randn(part.num_features, generator=generator))
                part.bias.copy_(torch.randn(part.num_features, generator=generator))
    return module


def dense():
    return binary(nn.Linear(40, 12), nn.BatchNorm1d(12), Cut(), nn.Linear(12, 9), Cut(), nn.Linear(9, 3))


def test_the_report_says_what_was_compared_and_by_whom():
    found = sg.from_torch(dense(), torch.zeros(1, 40), inputs=sg.Bits()).report
    proof = found.proof
    assert proof.interpreters == ("the module itself in float64",)
    assert (proof.layers, proof.unseen, proof.rounded, proof.left) == (2, (), 0, 0)
    assert proof.samples > proof.near > 20
    assert proof.bits == proof.samples * 21
    assert proof.scores == proof.samples * 3
    assert str(found).splitlines()[-1].strip() == (
        f"equal to the module itself in float64 on {proof.samples} samples, {proof.near} of them near "
        f"thresholds: {proof.bits:,} hidden bits of 2 layers and {proof.scores:,} scores; "
        f"{found.operations_compared_alone} operations compared alone"
    )
    assert json.loads(json.dumps(found.data()))["proof"]["samples"] == proof.samples


def test_it_can_be_left_out_and_the_report_says_so():
    found = sg.from_torch(dense(), torch.zeros(1, 40), inputs=sg.Bits(), prove=False).report
    assert found.proof is None
    assert found.data()["proof"] is None
    assert str(found).endswith("nothing was compared with the source")


def test_near_samples_bring_neurons_of_the_first_layer_to_their_thresholds():
    for module, shape, inputs in (
        (dense(), (40,), sg.Bits()),
        (binary(nn.Linear(30, 8), Cut(), nn.Linear(8, 2)), (30,), sg.Integers(0, 255)),
        (
            binary(nn.Conv2d(2, 3, 3, padding=1), Cut(), nn.Flatten(), nn.Linear(75, 2)),
            (2, 5, 5),
            sg.Integers(0, 15),
        ),
    ):
        network = sg.from_torch(module, torch.zeros(1, *shape), inputs=inputs, prove=False)
        domain = RawRanges.of_encoder(network.encoder)
        random = np.random.default_rng(0)
        pool = domain.samples(32, random)
        rows = turning(network, domain, network.hidden, pool, 8, random, direct=True)
        layer = network.layers[0]
        counts = layer.match_counts(network.inputs(rows))
        reached = (counts == layer.tau).any(axis=0) & (counts == layer.tau - 1).any(axis=0)
        assert reached.sum() >= min(8, int((~layer.constant).sum()))


@pytest.mark.parametrize("neuron", [0, 5, 11])
@pytest.mark.parametrize("by", [-1, 1])
def test_one_threshold_that_is_off_by_one_is_found(monkeypatch, neuron, by):
    real = lower._min_sums

    def wrong(*given):
        found = real(*given)
        if len(found.steps) == 12:
            found.steps[neuron] += by
        return found

    right = sg.from_torch(dense(), torch.zeros(1, 40), inputs=sg.Bits(), prove=False).layers[0]
    assert not right.constant[neuron]
    monkeypatch.setattr(lower, "_min_sums", wrong)
    with pytest.raises(
        FileError, match=rf"first difference is at 0 \(Linear\): neuron {neuron + 1} of layer 1 is"
    ):
        sg.from_torch(dense(), torch.zeros(1, 40), inputs=sg.Bits())


def drops_the_first_pad(before, after, where):
    return after if any(after.pads) else before


def never_counts_pads(shape, op, real=signals.averaged_window):
    window, _ = real(shape, op)
    return window, (window.taps >= 0).sum(axis=1).tolist()


def mean(channels):
    return nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 2)


def ones(*parts):
    module = binary(*parts)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.Conv2d):
                part.weight.fill_(1.0)
                part.bias.zero_()
    return module


MUTANTS = {
    "an earlier pad is lost": (
        [(lower, "padded", drops_the_first_pad), (signals, "padded", drops_the_first_pad)],
        lambda: ones(nn.ZeroPad2d((2, 1, 0, 0)), nn.Conv2d(1, 2, (1, 2), padding=1), Cut(), *mean(2)),
        (1, 1, 3),
        r"1 \(Conv2d\)",
    ),
    "an earlier pad of a later layer is lost": (
        [(lower, "padded", drops_the_first_pad), (signals, "padded", drops_the_first_pad)],
        lambda: ones(
            nn.Conv2d(1, 2, 1),
            Cut(),
            nn.ZeroPad2d((1, 0, 0, 0)),
            nn.Conv2d(2, 2, 1, padding=(0, 1)),
            Cut(),
            *mean(2),
        ),
        (1, 1, 3),
        r"3 \(Conv2d\)",
    ),
    "padding never counts": (
        [(signals, "averaged_window", never_counts_pads)],
        lambda: ones(
            nn.Conv2d(1, 2, 1),
            nn.AvgPool2d(2, 1, 1),
            Do(lambda x: x - 0.5),
            Cut(),
            nn.Flatten(),
            nn.Linear(24, 2),
        ),
        (1, 2, 3),
        r"0 \(Conv2d\)",
    ),
    "steps go in front of the pool": (
        [(signals, "_spread", signals.unrolled)],
        lambda: binary(
            nn.Conv2d(1, 2, 1),
            nn.MaxPool2d((1, 3), 1, (0, 1)),
            nn.Flatten(),
            nn.BatchNorm1d(6),
            Cut(),
            nn.Linear(6, 2),
        ),
        (1, 1, 3),
        r"0 \(Conv2d\)",
    ),
    "pixels are flattened channel by channel": (
        [(lower, "flat_order", lambda places, shape, order: places)],
        lambda: binary(
            nn.Conv2d(1, 2, 1),
            Cut(),
            Do(lambda x: x.permute(0, 2, 3, 1).flatten(1)),
            nn.Linear(12, 4),
            Cut(),
            nn.Linear(4, 2),
        ),
        (1, 2, 3),
        r"3 \(Linear\)",
    ),
    "a negative scale is not a reversal": (
        [(lower, "PoolLayer", lambda window, every, top=None: sg.nn.PoolLayer(window, top=top))],
        lambda: ones(
            nn.Conv2d(1, 2, 1),
            nn.MaxPool2d((1, 2), 1),
            Do(lambda x: 1.5 - x),
            Cut(),
            nn.Flatten(),
            nn.Linear(4, 2),
        ),
        (1, 1, 3),
        r"0 \(Conv2d\)",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_reader_that_is_wrong_again_is_refused_at_the_module(monkeypatch, name):
    patches, make, shape, where = MUTANTS[name]
    example = torch.zeros(1, *shape)
    assert sg.from_torch(make(), example, inputs=sg.Integers(0, 3)).report.proof is not None
    for room, what, instead in patches:
        monkeypatch.setattr(room, what, instead)
    with pytest.raises(FileError, match=rf"not what the source computes; the first difference is at {where}"):
        sg.from_torch(make(), example, inputs=sg.Integers(0, 3))


# -- ties and rounding ---------------------------------------------------------------------------------------


def test_ties_count_where_floats_are_exact(monkeypatch):
    module = binary(nn.Linear(4, 3), Cut(), nn.Linear(3, 2))
    torch.nn.init.zeros_(module[0].bias)
    monkeypatch.setattr(lower._Lowering, "_zero", lambda _, op: -op.zero)
    with pytest.raises(FileError, match=r"first difference is at 0 \(Linear\).*has 0 before its sign, so on"):
        sg.from_torch(module, torch.zeros(1, 4), inputs=sg.Bits())


def test_a_declared_zero_is_not_held_against_the_module():
    module = binary(nn.Linear(4, 3), Do(torch.sign), nn.Linear(3, 2))
    with pytest.raises(FileError, match="zero"):
        sg.from_torch(module, torch.zeros(1, 4), inputs=sg.Integers(0, 3))
    proof = sg.from_torch(module, torch.zeros(1, 4), inputs=sg.Integers(0, 3), zero=1).report.proof
    assert proof.rounded > 0
    assert 0 < proof.left < proof.samples


def test_values_within_rounding_are_left_out_and_counted():
    """x * 0.1 is exact in no float; a sum of three that meets its threshold may fall on either side."""
    module = binary(Do(lambda x: x * 0.1), nn.Linear(3, 4), Cut(), nn.Linear(4, 2))
    with torch.no_grad():
        module[1].weight.fill_(1.0)
        module[1].bias.fill_(-0.3)
    found = sg.from_torch(module, torch.zeros(1, 3), inputs=sg.Integers(0, 3)).report
    assert found.proof.layers == 1


def test_bounds_are_zero_where_sums_are_exact_and_hold_elsewhere():
    weights = np.array([[1.0, -1.0, 1.0], [0.5, 0.25, -2.0]])
    norm = BatchNorm(
        "norm", np.array([0.7, -1.3]), np.array([0.1, 0.2]), np.array([0.3, -2.1]), np.array([1.7, 0.4]), 1e-5
    )
    chain = OpChain(
        "example", (3,), (LinearOp("fc", weights), norm, Sign("sign"), LinearOp("head", np.eye(2)))
    )
    bounds = rounding_of(chain, Integers(0, 255))
    assert 0 < bounds.signs[2] < 1e-10
    assert bounds.scores == 0
    random = np.random.default_rng(0)
    root = [float(value) for value in np.sqrt(np.array([1.7, 0.4]) + 1e-5)]
    for _ in range(50):
        x = random.integers(0, 256, 3)
        seen = interpreter_of_chain(chain).run(x[None].astype(float)).stages[0].before[0]
        for k in range(2):
            total = sum(Fraction(w) * int(v) for w, v in zip(weights[k].tolist(), x, strict=True))
            exact = Fraction(0.7 if k == 0 else -1.3) * (total - Fraction(0.3 if k == 0 else -2.1))
            near = float(exact) / root[k] + (0.1, 0.2)[k]
            assert abs(near - seen[k]) <= bounds.signs[2]
    plain = OpChain(
        "example", (3,), (LinearOp("fc", weights), Sign("sign"), Flatten("flat"), LinearOp("head", np.eye(2)))
    )
    assert rounding_of(plain, Integers(0, 255)).signs[1] == 0
    assert rounding_of(plain, Integers(0, 255, step=Fraction(1, 255))).signs[1] > 0
    assert rounding_of(plain, Integers(0, 255), replace(SINGLE, whole=True)).signs[1] == 0
    assert rounding_of(plain, Reals(), DOUBLE, largest=3.0).signs[1] > 0
    assert rounding_of(plain, Integers(0, 255), clean=False).scores > 0
    moved = (LinearOp("fc", weights + 2.0**-30), *plain.ops[1:])
    assert rounding_of(plain, Integers(0, 255), others=moved).signs[1] >= 3 * 255 * 2.0**-30
    third = Affine("third", np.array([Fraction(1, 3)], dtype=object), np.zeros(1))
    assert rounding_of(replace(plain, ops=(third, *plain.ops)), Integers(0, 255)).signs[2] > 0


def test_an_interpreter_that_shows_only_outputs_is_compared_by_them():
    weights = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    chain = OpChain("example", (3,), (LinearOp("fc", weights), Sign("sign"), LinearOp("head", np.eye(2))))
    found = lower_chain(chain, Integers(0, 3))
    whole = interpreter_of_chain(chain)
    blind = SourceInterpreter("a function", lambda x: Seen(whole.run(x).outputs))
    proof = prove_import(found, chain, [blind], Integers(0, 3)).proof
    assert (proof.layers, proof.unseen) == (0, ("fc",))
    assert str(proof).endswith("scores; not seen inside: fc")
    wrong = SourceInterpreter("a function", lambda x: Seen(-whole.run(x).outputs))
    with pytest.raises(FileError, match=r"first difference is at head: score 0 is .* in a function"):
        prove_import(found, chain, [whole, wrong], Integers(0, 3))


def test_an_interpreter_with_other_stages_is_aligned_by_size():
    weights = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    chain = OpChain("example", (3,), (LinearOp("fc", weights), Sign("sign"), LinearOp("head", np.eye(2))))
    found = lower_chain(chain, Integers(0, 3))
    whole = interpreter_of_chain(chain)

    def more(x):
        seen = whole.run(x)
        extra = Stage("other", x, x > 1, x <= 1)
        return Seen(seen.outputs, (extra, *seen.stages))

    assert prove_import(found, chain, [SourceInterpreter("more", more)], Integers(0, 3)).proof.layers == 1


def test_a_softmax_at_the_end_is_compared_before_it_and_by_classes():
    module = binary(nn.Linear(6, 5), Cut(), nn.Linear(5, 3), nn.Softmax(dim=1))
    found = sg.from_torch(module, torch.zeros(1, 6), inputs=sg.Bits()).report
    assert found.proof.scores == 3 * found.proof.samples


@pytest.mark.parametrize(
    ("cut", "is_read"),
    [
        (lambda x: x / -3 >= 1 / 3, False),
        (lambda x: x / 3 > 1 / 3, True),
        (lambda x: x * 0.1 >= 0.3, False),
        (lambda x: x / -3 >= 0.3, True),
        (lambda x: x / 4 >= 0.25, True),
        (lambda x: x / 3 >= 0, True),
    ],
)
def test_a_sum_that_only_rounding_turns_is_decided_as_in_the_framework_or_refused(cut, is_read):
    """Sums of -3 to 3 in steps of 2: PyTorch decides the same for all inputs with one sum."""
    module = binary(nn.Linear(3, 1, bias=False), Do(lambda x: torch.where(cut(x), 1.0, -1.0).to(x.dtype)))
    module = nn.Sequential(*module, nn.Linear(1, 2, bias=False))
    with torch.no_grad():
        module[0].weight.fill_(1.0)
        module[2].weight.copy_(torch.tensor([[1.0], [-1.0]]))
    x = torch.tensor(list(product((-1.0, 1.0), repeat=3)))
    if not is_read:
        with pytest.raises(FileError, match=r"by rounding alone\. Move its threshold"):
            sg.from_torch(module, x[:1], inputs=sg.Bits())
        return
    found = sg.from_torch(module, x[:1], inputs=sg.Bits()).report
    mine = found.network.predict(x.numpy()).tolist()
    assert mine == module(x).argmax(1).tolist() == module.double()(x.double()).argmax(1).tolist()


def test_a_network_with_float_ends_is_compared_as_a_whole():
    module = binary(
        nn.Linear(6, 5), Cut(), nn.Linear(5, 4), Cut(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 3)
    )
    with torch.no_grad():
        module[0].weight.normal_()
        module[4].weight.normal_()
    found = sg.from_torch(module, torch.zeros(1, 6), strict=False).report
    assert found.proof.layers >= 1
    assert found.proof.scores == 3 * (found.proof.samples - found.proof.left)
    whole = interpreter_of_chain(found.stem)
    chain = OpChain(
        "example",
        (6,),
        (*found.stem.ops, LinearOp("fc", module[2].weight.detach().numpy()), Sign("sign"), *found.tail),
    )
    with pytest.raises(FileError, match="not what the source computes"):
        prove_import(
            replace(found, tail=(Affine("more", np.full(1, 2.0), np.zeros(1)), *found.tail)),
            chain,
            [interpreter_of_chain(chain)],
        )
    assert whole.run(np.zeros((1, 6))).stages


def test_a_module_without_a_copy_in_float64_is_compared_as_it_is():
    class Stubborn(nn.Linear):
        def double(self):
            raise RuntimeError("no")

        def _apply(self, fn, recurse=True):
            raise RuntimeError("no")

    module = binary(nn.Linear(6, 5), Cut(), nn.Linear(5, 3))
    module[2].__class__ = Stubborn
    found = sg.from_torch(module, torch.zeros(1, 6), inputs=sg.Integers(0, 3)).report
    assert found.proof.interpreters == ("the module itself",)


def test_the_default_float_is_as_it_was():
    before = torch.get_default_dtype()
    sg.from_torch(dense(), torch.zeros(1, 40), inputs=sg.Bits())
    assert torch.get_default_dtype() == before


def test_rounding_inside_an_elementwise_step_is_no_difference():
    """2x - 1 and back is x, but for the numbers that are lost beside 1."""
    module = binary(
        Do(lambda x: 2 * x - 1), Do(lambda x: (x + 1) / 2), Cut(), nn.Linear(6, 4), Cut(), nn.Linear(4, 2)
    )
    proof = sg.from_torch(module, torch.zeros(1, 6), inputs=sg.Reals()).report.proof
    assert proof.left > 0
    assert proof.scores > 0


def test_weights_made_in_the_forward_pass_may_have_other_last_digits_in_float64():
    latent = torch.linspace(-1, 1, 24).reshape(4, 6)
    made = Do(
        lambda x: nn.functional.linear(x, (latent.sign() * latent.abs().mean(1, keepdim=True)).to(x.dtype))
    )
    found = sg.from_torch(
        binary(made, Cut(), nn.Linear(4, 2)), torch.zeros(1, 6), inputs=sg.Integers(0, 3)
    ).report
    assert found.proof.interpreters == ("the module itself in float64",)
    assert found.proof.layers == 1
