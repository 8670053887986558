"""Thresholds of imported first layers on real values, against the chain computed in fractions."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from sugenet.errors import QuestionError
from sugenet.io.exact.domains import Integers, Reals
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import Affine, BatchNorm, Clip, Convolution, Flatten, LinearOp, OpChain, Sign
from sugenet.io.exact.steps import Bend, Pipeline, Root, smallest_sum
from sugenet.problem.query import Case, Inequality, Query, of_network
from tests.io.exact.test_lower import Maker, run
from tests.io.queries import around


def chain_of(seed):
    """A first layer with random steps in front of its sign, over levels that enter it rescaled."""
    maker = Maker(seed)
    random = maker.random
    if random.random() < 0.5:
        maker.ops.append(Affine("scale", random.choice([0.25, -2.0]), random.choice([0.0, 0.5])))
    if random.random() < 0.5:
        maker.ops.append(LinearOp("linear", maker.binary(3, 4), maker.bias(3)))
        shape = (4,)
    else:
        pads = random.choice([(0, 0, 0, 0), (1, 0, 0, 1)])
        maker.ops.append(
            Convolution("conv", maker.binary(3, 1, 2, 2), maker.bias(3), (1, 1), (1, 1), pads, 1)
        )
        shape = (1, 2, 3)
    maker.steps(3)
    maker.sign()
    return OpChain("chain", shape, tuple(maker.ops)), Reals(random.choice([0, -2]), 3)


def with_head(chain, outputs):
    flat = (Flatten("flatten"),) if len(chain.shape) == 3 else ()
    return OpChain(chain.source, chain.shape, (*chain.ops, *flat, LinearOp("head", np.ones((2, outputs)))))


@pytest.mark.parametrize("part", range(4))
def test_the_layer_turns_on_real_values_where_the_chain_does(part):
    random, kinds = Random(part), set()
    for seed in range(part, 240, 4):
        chain, domain = chain_of(seed)
        n = int(np.prod(chain.shape))
        outputs = len(run_all(chain, [Fraction(0)] * n))
        layer = lower(with_head(chain, outputs), domain).network.layers[0]
        kinds |= {low == high for low, high in layer.theta}
        assert all(high - low <= Fraction(1, 2**100) for low, high in layer.theta)
        for _ in range(12):
            ends = domain.low, domain.high
            values = [
                random.choice([*map(Fraction, ends), Fraction(random.randint(60 * ends[0], 180), 60)])
                for _ in range(n)
            ]
            wanted = [value == chain.ops[-1].high for value in run_all(chain, values)]
            for total, (low, high), on in zip(layer.sums(values), layer.theta, wanted, strict=True):
                assert on if total >= high else low <= total or not on
            assert layer.activity(np.array([values], object))[0].tolist() == wanted
    assert kinds == {True, False}


def run_all(chain, values):
    x = np.array(values, dtype=object).reshape(chain.shape)
    for op in chain.ops:
        x = run(op, x)
    return x.reshape(-1).tolist()


def imported(*steps, zero=1, **domain):
    ops = (
        LinearOp("linear", np.array([[1.0, -1.0]])),
        *steps,
        Sign("sign", zero),
        LinearOp("head", np.array([[1.0], [-1.0]])),
    )
    return lower(OpChain("chain", (2,), ops), Integers(0, 4, **domain) if domain else Reals(0, 4))


def theta(*steps, zero=1):
    return imported(*steps, zero=zero).network.layers[0].theta


def test_thresholds_by_hand():
    assert theta(Affine("a", 2.0, -3.0)) == ((Fraction(3, 2),) * 2,)
    assert theta(Affine("a", -2.0, 3.0)) == ((Fraction(-3, 2),) * 2,)  # of -s
    assert theta(BatchNorm("b", 1.0, -1.0, 0.0, 4.0, 0.0)) == ((Fraction(2),) * 2,)
    ((low, high),) = theta(BatchNorm("b", 1.0, -1.0, 0.0, 2.0, 0.0))
    assert low**2 < 2 < high**2
    assert theta(Affine("a", 1.0, -3.0), zero=-1)[0][0] == 3
    assert 3 < theta(Affine("a", 1.0, -3.0), zero=-1)[0][1] < 3 + Fraction(1, 2**100)
    assert theta(Clip("c", 0.0, 1.0)) == ((Fraction(0),) * 2,)  # never below 0: always on, and reads nothing
    assert theta(Clip("c", -1.0, 0.0), zero=-1) == ((Fraction(1),) * 2,)  # never above 0: always off


def test_two_batch_norms_in_a_row_have_one_threshold():
    norm = BatchNorm("b", 1.0, -1.0, 0.0, 2.0, 0.0)
    ((low, high),) = theta(norm, norm)  # (x / sqrt(2) - 1) / sqrt(2) = 1, so x = 2 + sqrt(2)
    assert (low - 2) ** 2 < 2 < (high - 2) ** 2


def random_step(random):
    number = lambda: Fraction(random.randint(-8, 8), random.choice([1, 2, 3, 4]))  # noqa: E731
    match random.randrange(4):
        case 0:
            return number() or Fraction(1), number()
        case 1:
            return Root(number() or Fraction(-1), number(), number(), Fraction(random.randint(1, 12), 2))
        case 2:
            return Bend(Fraction(random.randint(1, 8), 4))
    low = number()
    return "clip", low, low + abs(number()) + 1


def by_decimals(line, x):
    """The steps in numbers of 60 digits."""
    for part in line.parts:
        if isinstance(part, Root):
            gamma, beta, mean = (decimal_of(v) for v in (part.gamma, part.beta, part.mean))
            x = gamma * (x - mean) / decimal_of(part.v).sqrt() + beta
        elif isinstance(part, Bend):
            x = x if x >= 0 else x * decimal_of(part.slope)
        elif len(part) == 2:
            x = x * decimal_of(part[0]) + decimal_of(part[1])
        else:
            x = min(max(x, decimal_of(part[1])), decimal_of(part[2]))
    return x


def decimal_of(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def test_thresholds_of_any_steps_are_those_of_sixty_digits():
    random, ties, several = Random(5), 0, 0
    with localcontext(Context(prec=60)):
        for _ in range(120):
            line = Pipeline(tuple(random_step(random) for _ in range(random.randint(2, 6))))
            unit, offset = Fraction(random.choice([1, -2, 3]), 2), Fraction(random.randint(-3, 3), 2)
            strict, turned = random.random() < 0.5, line.direction() * unit < 0
            least = smallest_sum(line, Fraction(0), strict, unit, offset)
            several += sum(isinstance(part, Root) for part in line.parts) > 1
            for s in range(-16, 17):
                x = unit * (-s if turned else s) + offset
                value, exact = by_decimals(line, decimal_of(x)), line(x)
                near = abs(value) < Decimal(10) ** -40
                assert exact.sign() == (0 if near else (value > 0) - (value < 0))
                assert abs(Decimal(float(exact)) - value) < Decimal("1e-9")
                ties += near
                on = (near and not strict) or (not near and value > 0)
                assert on == (least if isinstance(least, bool) else s >= least.least)
    assert ties > 30
    assert several > 30


def test_queries_about_the_file_are_put_in_the_numbers_of_the_network():
    found = imported(step=Fraction(1, 4), start=1).network
    query = of_network(found, around([1.25, 1.5], 0.125, 0, 2))
    assert query.cases[0].box.lower == (Fraction(1, 2), Fraction(3, 2))
    assert found.source.inputs(query.cases[0].box.lower) == (Fraction(9, 8), Fraction(11, 8))
    turned = imported(step=-1, start=4).network
    assert of_network(turned, around([1, 2], 1, 0, 2)).cases[0].box.lower == (2, 1)
    assert imported().network.source.inputs([3, 2.5]) == (3, 2.5)
    assert imported(step=1).network.source.inputs([3, 2]) == (3, 2)


def test_queries_about_a_file_with_channels_last_keep_their_order():
    ops = (
        Convolution("conv", np.ones((1, 2, 1, 1)), None, (1, 1), (1, 1), (0, 0, 0, 0), 1),
        Sign("sign", 1),
        Flatten("flatten"),
    )
    chain = OpChain(
        "chain",
        (2, 1, 2),
        (*ops, LinearOp("head", np.ones((2, 2)))),
        channels_last=True,
        left_out=("softmax",),
    )
    found = lower(chain, Integers(0, 4)).network
    query = around([1, 2, 3, 4], 0, 0, 2)
    assert of_network(found, query) == query
    absolute = Query(4, 2, [Case(query.cases[0].box, [[Inequality({0: 1}, 1)]])])
    with pytest.raises(QuestionError, match="more than compare outputs"):
        of_network(found, absolute)
