"""Modules at the edges of what can be read, as small as can be: each is equal to PyTorch on all its samples,
or refused by name.
"""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")


class Sign(nn.Module):
    def forward(self, x):
        return torch.where(x >= 0, 1.0, -1.0)


class Do(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def shift(number):
    return Do(lambda x: x + number)


def made(shape, *parts):
    """The parts in a row, with weights and biases that tell places apart, and a linear layer at the end."""
    module = nn.Sequential(*parts).eval()
    with torch.no_grad():
        module.append(nn.Flatten()).append(nn.Linear(module(torch.zeros(2, *shape)).shape[1], 2))
        for part in module.modules():
            if isinstance(part, nn.Linear | nn.Conv2d | nn.Conv1d):
                signs = torch.arange(part.weight.numel()).reshape(part.weight.shape) % 3
                part.weight.copy_(torch.where(signs == 1, -1.0, 1.0))
                if part.bias is not None:
                    part.bias.copy_(torch.arange(part.bias.numel()) * 0.5 - 0.5)
    return module.eval()


def same(module, shape, inputs, values, **options):
    """All samples of the values, or so many of them."""
    count = int(np.prod(shape))
    X = (
        np.array(list(product(values, repeat=count)))
        if len(values) ** count <= 1024
        else np.random.default_rng(0).choice(values, (512, count))
    )
    found = sg.from_torch(module, torch.zeros(1, *shape), inputs=inputs, prove=False, **options).report
    with torch.no_grad():
        expected = module(torch.tensor(X, dtype=torch.float32).reshape(-1, *shape)).numpy()
    assert np.allclose(found.network.logits(X), expected, rtol=1e-5, atol=1e-5)
    proved = sg.from_torch(module, torch.zeros(1, *shape), inputs=inputs, **options).report
    assert proved.proof.left == 0


def levels(module, shape):
    same(module, shape, sg.Integers(0, 2), [0, 1, 2])


def bits(module, shape):
    same(module, shape, sg.Bits(), [-1, 1])


def norm(features, shifts):
    found = nn.BatchNorm1d(features, eps=0.0)
    found.bias.data = torch.tensor(shifts)
    return found


@pytest.mark.parametrize(
    "first",
    [
        lambda: nn.ZeroPad2d((1, 0, 0, 0)),
        lambda: nn.ZeroPad2d((1, 0, 2, 1)),
        lambda: nn.Sequential(nn.ZeroPad2d((0, 1, 0, 0)), nn.ZeroPad2d(1)),
        lambda: Do(lambda x: F.pad(x, (1, 0), value=0.0)),
    ],
)
@pytest.mark.parametrize(
    "second",
    [lambda: nn.Conv2d(1, 2, (1, 2), padding="same"), lambda: nn.Conv2d(1, 2, 2, padding=1, stride=2)],
)
def test_two_pads_in_a_row_are_both_there(first, second):
    levels(made((1, 1, 2), first(), second(), Sign()), (1, 1, 2))
    bits(made((1, 1, 3), first(), second(), Sign()), (1, 1, 3))


def test_pads_of_one_value_compose_and_of_two_are_refused():
    same_value = made(
        (1, 1, 2),
        nn.ConstantPad2d((1, 0, 0, 0), 2.0),
        nn.ConstantPad2d((0, 1, 1, 0), 2.0),
        nn.Conv2d(1, 1, 2),
        Sign(),
    )
    levels(same_value, (1, 1, 2))
    two = made((1, 1, 2), nn.ConstantPad2d((1, 0, 0, 0), 2.0), nn.Conv2d(1, 1, 1, padding=1), Sign())
    with pytest.raises(FileError, match=r"1 \(Conv2d\): padded with 2 and then with 0"):
        levels(two, (1, 1, 2))


def test_padding_goes_through_what_follows_it():
    scaled = made((1, 1, 3), Sign(), nn.ZeroPad2d(1), Do(lambda x: (x + 1) / 2), nn.Conv2d(1, 1, 2), Sign())
    levels(scaled, (1, 1, 3))
    signed = made(
        (1, 1, 3), shift(-0.5), Sign(), nn.ZeroPad2d((1, 0, 0, 0)), Sign(), nn.Conv2d(1, 2, (1, 2)), Sign()
    )
    levels(signed, (1, 1, 3))
    raw = made((1, 1, 3), nn.ZeroPad2d((1, 0, 0, 0)), shift(-1.0), Sign(), nn.Conv2d(1, 2, (1, 2)), Sign())
    levels(raw, (1, 1, 3))
    before_sum = made(
        (1, 1, 3), nn.ConstantPad2d((1, 0, 0, 0), 2.0), Do(lambda x: 1 - x), nn.Conv2d(1, 2, (1, 2)), Sign()
    )
    levels(before_sum, (1, 1, 3))


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize(
    "pool", [lambda: nn.AvgPool2d(2, 1), lambda: nn.AdaptiveAvgPool2d(1), lambda: nn.AvgPool2d((1, 2))]
)
def test_averages_of_padded_bits(value, pool):
    levels(made((1, 1, 3), shift(-1.0), Sign(), nn.ConstantPad2d((1, 0, 1, 0), value), pool()), (1, 1, 3))
    levels(
        made(
            (1, 1, 3),
            shift(-1.0),
            Sign(),
            nn.ConstantPad2d((1, 0, 1, 0), value),
            pool(),
            shift(-0.25),
            Sign(),
        ),
        (1, 1, 3),
    )


def test_maps_padded_with_zeros_may_be_flattened_for_the_last_layer():
    levels(made((1, 1, 3), shift(-1.0), Sign(), nn.ZeroPad2d(1)), (1, 1, 3))
    with pytest.raises(FileError, match=r"padding with 1\.0 before the last layer"):
        levels(made((1, 1, 3), shift(-1.0), Sign(), nn.ConstantPad2d(1, 1.0)), (1, 1, 3))


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("ceil", [True, False])
@pytest.mark.parametrize("divisor", [None, 3])
@pytest.mark.parametrize("signed", [True, False])
def test_average_pooling_counts_what_pytorch_counts(counts, ceil, divisor, signed):
    pool = nn.AvgPool2d((2, 2), 2, (1, 1), ceil_mode=ceil, count_include_pad=counts, divisor_override=divisor)
    first_layer = [nn.Conv2d(1, 1, 1), Sign()] if signed else [nn.Conv2d(1, 1, 1)]
    levels(made((1, 2, 3), *first_layer, pool, shift(-0.6), Sign()), (1, 2, 3))
    if signed:
        levels(made((1, 2, 3), *first_layer, pool), (1, 2, 3))


@pytest.mark.parametrize("order", ["CHW", "HWC"])
@pytest.mark.parametrize("kernel", [(1, 3), (3, 3), (1, 2)])
def test_steps_for_each_feature_stay_behind_the_pool(order, kernel):
    pool = nn.MaxPool2d(kernel, 1, (kernel[0] // 2, kernel[1] // 2))
    flatten = nn.Flatten() if order == "CHW" else Do(lambda x: x.permute(0, 2, 3, 1).flatten(1))
    first_layer = [nn.Conv2d(1, 2, 1), pool, flatten]
    count = nn.Sequential(*first_layer)(torch.zeros(2, 1, 1, 3)).shape[1]
    shifts = [(-1.0, -2.0, 0.0, -1.5, 0.5, -0.5, 0.0, 1.0)[k] for k in range(count)]
    levels(made((1, 1, 3), *first_layer, norm(count, shifts), Sign()), (1, 1, 3))
    turned = norm(count, shifts)
    turned.weight.data = torch.tensor([1.0, -1.0] * count)[:count]
    levels(made((1, 1, 3), *first_layer, turned, Sign()), (1, 1, 3))
    levels(
        made(
            (1, 1, 3),
            *first_layer,
            Do(lambda x: x * torch.tensor([1.0, -1.0] * count)[:count] + torch.tensor(shifts)),
            Sign(),
        ),
        (1, 1, 3),
    )


def test_a_norm_for_each_feature_behind_averages():
    first_layer = [shift(-1.0), Sign(), nn.AvgPool2d((1, 2), 1), nn.Flatten()]
    levels(made((2, 1, 3), *first_layer, norm(4, [0.5, -0.5, 0.0, 1.0]), Sign()), (2, 1, 3))
    levels(made((2, 1, 3), *first_layer, Do(lambda x: x * torch.tensor([1.0, 2.0, -1.0, 0.5]))), (2, 1, 3))


def test_scores_of_maps_keep_their_order():
    module = nn.Sequential(
        shift(-1.0), Sign(), nn.Conv2d(1, 2, 1, bias=False), Do(lambda x: x.permute(0, 2, 3, 1).flatten(1))
    ).eval()
    with torch.no_grad():
        module[2].weight.copy_(torch.tensor([1.0, -1.0]).reshape(2, 1, 1, 1))
    levels(module, (1, 1, 3))


def test_inputs_that_all_become_one_number():
    levels(
        made(
            (3,),
            Do(lambda x: torch.where(torch.relu(-x) >= 0, 1.0, -1.0)),
            nn.Linear(3, 2),
            Sign(),
            nn.Linear(2, 2),
            Sign(),
        ),
        (3,),
    )


def in_a_view(x):
    y = x.clone()
    y[:, :1].add_(1e-4)
    return y


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (in_a_view, "add changed it in place through a view"),
        (lambda x: x.half().float(), "floats of 16 bits"),
    ],
)
def test_values_that_cannot_be_followed_are_refused_by_name(step, words):
    with pytest.raises(FileError, match=rf"1 \(Do\).*{words}"):
        levels(made((3,), nn.Linear(3, 2), Do(step), Sign()), (3,))


def test_the_indices_of_a_pool_are_refused():
    module = made(
        (1, 1, 3),
        nn.Conv2d(1, 1, 1),
        Do(lambda x: F.max_pool2d(x, 1, return_indices=True)[1].float()),
        Sign(),
    )
    with pytest.raises(FileError, match=r"1 \(Do\).*gives more than one result"):
        levels(module, (1, 1, 3))


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (lambda x: x.topk(2, largest=False)[0], "largest=False"),
        (lambda x: x.argmax(), "say dim=1"),
        (lambda x: x.max(), "say dim=1"),
    ],
)
def test_tails_that_turn_the_classes_around_are_refused(tail, words):
    with pytest.raises(FileError, match=words):
        sg.from_torch(
            made((3,), nn.Linear(3, 2), Sign()).append(Do(tail)), torch.zeros(1, 3), inputs=sg.Integers(0, 2)
        )


def test_a_pad_value_is_rounded_as_the_module_rounds_it():
    module = made(
        (1, 1, 2),
        nn.ConstantPad2d((1, 0, 0, 0), 0.1),
        nn.Conv2d(1, 1, (1, 2), bias=False),
        Do(lambda x: x - 0.1),
        Sign(),
    )
    levels(module, (1, 1, 2))


# -- the class that is picked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pick",
    [
        lambda x: x.max(1)[1],
        lambda x: torch.max(x, 1).indices,
        lambda x: x.topk(1, 1)[1],
        lambda x: x.topk(3, 1)[1],
    ],
)
def test_the_class_of_the_largest_score_is_followed(pick):
    head = nn.Linear(2, 3)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]))
        head.bias.copy_(torch.tensor([0.0, 0.5, 0.25]))
    module = nn.Sequential(Sign(), head, Do(pick)).eval()
    X = np.array(list(product((-1.0, 1.0), repeat=2)))
    found = sg.from_torch(module, torch.zeros(1, 2), inputs=sg.Reals()).report
    expected = module(torch.from_numpy(X).float()).numpy().reshape(len(X), -1)[:, 0]
    assert found.network.predict(X).tolist() == expected.tolist()


@pytest.mark.parametrize("pick", [lambda x: x.max(1), lambda x: x.max(1)[0], lambda x: x.topk(1, 1)[0]])
def test_the_largest_score_alone_is_no_class(pick):
    head = nn.Linear(2, 3)
    with torch.no_grad():
        head.weight.copy_(torch.ones(3, 2))
    with pytest.raises(FileError, match="only the first, or the class, is followed"):
        sg.from_torch(nn.Sequential(Sign(), head, Do(pick)).eval(), torch.zeros(1, 2), inputs=sg.Reals())


# -- modes and examples --------------------------------------------------------------------------------------


class Turned(nn.Module):
    """A layer of one's own that does something else while it learns."""

    def forward(self, x):
        return -x if self.training else x


def test_a_training_mode_that_matters_is_refused():
    linear = nn.Linear(2, 1)
    with torch.no_grad():
        linear.weight.copy_(torch.ones(1, 2))
    module = nn.Sequential(Turned(), Sign(), linear)
    with pytest.raises(FileError, match=r"training mode, where it computes something else.*module\.eval\(\)"):
        sg.from_torch(module, torch.ones(1, 2), inputs=sg.Reals())
    assert all(part.training for part in module.modules())
    assert sg.from_torch(module.eval(), torch.ones(1, 2), inputs=sg.Reals()).logits([[1, 1]]) > 1
    assert sg.from_torch(nn.Sequential(Sign(), linear), torch.ones(1, 2), inputs=sg.Reals()).layers == ()


def test_an_example_that_does_not_fit_is_named():
    module = nn.Sequential(Sign(), nn.Linear(2, 1)).eval()
    with pytest.raises(FileError, match=r"forward pass fails on samples of shape \(3,\)"):
        sg.from_torch(module, torch.ones(1, 3), inputs=sg.Reals())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_parameters_that_are_not_finite_are_named(value):
    linear = nn.Linear(2, 1)
    with torch.no_grad():
        linear.weight.copy_(torch.ones(1, 2))
        linear.bias.fill_(value)
    with pytest.raises(FileError, match="not finite"):
        sg.from_torch(
            nn.Sequential(linear, Sign(), nn.Linear(1, 1)).eval(), torch.ones(1, 2), inputs=sg.Bits()
        )
