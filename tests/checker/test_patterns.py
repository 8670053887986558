"""Proofs by sign patterns: no input of a box leaves what is settled, has a pattern that is left out, or
exceeds a bound, whatever the multipliers and splits are.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.form import ByMultipliers, CaseAsked, PatchedCase
from sugenet.checker.limit import Limit
from sugenet.checker.patterns import _Box
from sugenet.errors import CertificateError
from sugenet.nn import Network, RealLayer
from tests.engines.test_reals import KINDS, TOP, network, rows_of, scores_of

LONG = Fraction(1, 3 << 20_000)
"""No common denominator of the box is short: it is rounded to the grid."""
CONDITION = (
    (((0, Fraction(1)), (1, Fraction(-1, 2))), Fraction(1, 3)),
    (((2, Fraction(2, 3)),), Fraction(1)),
)


def apart(net, rng):
    """The same network with thresholds that are known less exactly."""
    first = net.layers[0]
    theta = [(low - Fraction(int(rng.integers(3)), 4), high + Fraction(1, 4)) for low, high in first.theta]
    layers = RealLayer(first.weights, theta, first.window, first.groups), *net.layers[1:]
    return Network(net.encoder, layers, net.head)


def box_of(net, rng):
    """A box, and patches of the open neurons that it has."""
    ends = []
    for _ in range(net.encoder.features):
        low = Fraction(int(rng.integers(0, 3 * TOP)), 3)
        ends.append((low, min(low + Fraction(int(rng.integers(0, 12)), 4), Fraction(TOP))))
    if rng.integers(4) == 0:
        ends[0] = ends[0][0] + LONG if ends[0][0] < ends[0][1] else ends[0][0], ends[0][1]
    case = CaseAsked(*zip(*ends, strict=True), (CONDITION,))
    form = form_of(net)
    bare = _Box(form, case, PatchedCase(7, (), ()), Limit())
    outs = [j for j, on in enumerate(bare.states[-1]) if on is None or rng.integers(2)]
    patches = tuple(tuple(outs[k::3]) for k in range(3))
    return _Box(form, case, PatchedCase(7, patches, ()), Limit())


def points_of(box, rng):
    """Inputs of a box: corners, and others."""
    pairs = list(zip(box.case.lower, box.case.upper, strict=True))
    for turn in range(12):
        shares = rng.integers(0, 2, len(pairs)) * 6 if turn % 2 else rng.integers(0, 7, len(pairs))
        yield [low + (high - low) * int(k) / 6 for (low, high), k in zip(pairs, shares, strict=True)]


def signs_at(net, x, rng):
    """The signs of the first layer; where only rounding could decide, any."""
    first = net.layers[0]
    sums = [sum(int(w) * v for w, v in zip(row, x, strict=True)) for row in rows_of(first)]
    pairs = zip(sums, first.theta, strict=True)
    return [bool(total >= high or (total >= low and rng.integers(2))) for total, (low, high) in pairs]


@pytest.mark.parametrize("kind", KINDS)
def test_no_input_exceeds_a_bound(kind):
    rng, seen = np.random.default_rng(len(kind)), Counter()
    for seed in range(40):
        net = network(kind, seed)
        net = apart(net, rng) if seed % 2 else net
        box = box_of(net, rng)
        every = [signs_at(net, x, rng) for x in points_of(box, rng)]
        shares = [
            (patch, neuron, int(rng.integers(-9, 10)))
            for patch in range(3)
            for neuron in box._patterns(patch)[0]
            if rng.integers(2)
        ]
        mix = tuple(rng.integers(0, 4, 2).tolist())
        for signs in every:
            named = rng.integers(0, len(signs), rng.integers(4)).tolist()
            fixed = {neuron: signs[neuron] for neuron in named}
            assert not box._never([(neuron, on, int(rng.integers(4))) for neuron, on in fixed.items()])
            scores = scores_of(net, np.array([signs]))
            terms = [sum(f * scores[k] for k, f in row) - least for row, least in CONDITION]
            reached = sum(weight * term for weight, term in zip(mix, terms, strict=True))
            bound = box._bound(CONDITION, ByMultipliers(mix, tuple(shares)), fixed)
            assert bound is not None
            assert reached <= bound
            seen[reached == bound] += 1
            seen["open"] += bool(shares)
    assert seen["open"]
    assert seen[True]


def test_wrong_boxes_patches_and_multipliers_are_refused():
    net = network("conv, conv", 3)
    form, lower = form_of(net), (Fraction(0),) * net.encoder.features
    beyond = CaseAsked(lower, (Fraction(TOP + 1), *lower[1:]), (CONDITION,))
    with pytest.raises(CertificateError, match="exceeds the values"):
        _Box(form, beyond, PatchedCase(7, (), ()), Limit())
    case = CaseAsked(lower, (Fraction(TOP),) * len(lower), (CONDITION,))
    for patches in (((0, 0),), ((0,), (0,)), ((10**6,),)):
        with pytest.raises(CertificateError, match="twice, or one that is not there"):
            _Box(form, case, PatchedCase(7, patches, ()), Limit())
    box = _Box(form, case, PatchedCase(7, ((0,),), ()), Limit())
    free = [j for j, on in enumerate(box.states[0]) if on is None]
    (other, *_) = sorted(set(free) - set(box._patterns(0)[0]))
    with pytest.raises(CertificateError, match="not in its cone"):
        box._bound(CONDITION, ByMultipliers((1, 1), ((0, other, 1),)), {})
