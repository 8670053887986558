"""Widest intervals of reasons, against brute force over every input of the region."""

import json
from fractions import Fraction

import numpy as np
import pytest

from sugenet.errors import QuestionError
from sugenet.nn import OneHot
from sugenet.reason import AnyInput, Box, Free, Hamming, Linf, check, inflate, why
from tests.problem.small import samples_inside
from tests.reason.test_shares import some_network


def inside(network, values, chosen):
    """Whether an input has one of some states at each feature of a reason."""
    codings = network.lawful.encoder.codings
    return all(codings[f].state(values[f]) in states for f, states in chosen.items())


@pytest.mark.parametrize("seed", range(18))
def test_intervals_by_brute_force(seed):
    network, x, rng = some_network(seed)
    box = {f: (None, None) for f in range(network.encoder.features) if rng.random() < 0.7}
    for region in (AnyInput(), Linf(1), Free([0, 1]), Box(box)):
        answer = why(network, x, region)
        wide = inflate(answer)
        assert wide.verdict.is_proved
        assert wide.is_widest
        label = answer.index
        inputs = [
            values
            for values in samples_inside(answer.question.near(network))
            if network.domain.broken(values) is None
        ]
        labels = network.predict(np.array(inputs, dtype=object))
        codings = network.lawful.encoder.codings
        known = {f: {codings[f].state(values[f]) for values in inputs} for f in answer.features}
        spans = Box(wide.limits).spans(network)
        chosen = {}
        for f, states in known.items():
            column = [values[f] for values in inputs if f not in spans or spans[f].holds(values[f])]
            own = set(map(codings[f].state, column))
            chosen[f] = own
            assert codings[f].state(x[f]) in own
            if not isinstance(codings[f], OneHot):
                between = {state for state in states if min(own) <= state <= max(own)}
                assert own == between
        assert all(k == label for k, v in zip(labels, inputs, strict=True) if inside(network, v, chosen))
        for f, own in chosen.items():  # one state more at any end, and the class changes
            if isinstance(codings[f], OneHot):
                more = known[f] - own
            else:
                more = {s for s in known[f] if s in (max(own) + 1, min(own) - 1)}
            for state in more:
                wider = {**chosen, f: {*own, state}}
                pairs = zip(labels, inputs, strict=True)
                assert any(k != label for k, values in pairs if inside(network, values, wider))
        assert check(wide, network)
        for certificate in json.loads(json.dumps(wide.data()))["beyond"]:
            assert "witness" in check(certificate, network)


def test_reasons_that_cannot_be_widened():
    network, x, _ = some_network(0)
    with pytest.raises(QuestionError, match="limits the changes of all features together"):
        inflate(why(network, x, Hamming(1)))
    with pytest.raises(QuestionError, match="holds for all inputs"):
        inflate(why(network, x, AnyInput(), precision=0.5))
    open_one = inflate(why(network, x, AnyInput()), time_limit=0)
    assert not open_one.is_widest or not open_one.reason.features


def test_exact_ends_of_a_ball():
    network, x, _ = some_network(0)
    wide = inflate(why(network, x, Linf(Fraction(1, 3))))
    assert wide.is_widest
    assert check(wide, network)
