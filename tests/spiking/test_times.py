"""What a sample is in time, and how far its spikes may move."""

from itertools import product

import pytest

import sugenet as sg
from sugenet.errors import EncodingError, NetworkError, QuestionError
from sugenet.spiking import SpikingLayer, SpikingNetwork, keeping_spikes, simulate, unroll
from tests.spiking.nets import convention


def network(**said) -> SpikingNetwork:
    layer = SpikingLayer([[2, 1, -1], [1, -1, 2]], leak="1/2", threshold=["3/2", 1])
    return SpikingNetwork([layer], convention(4, **({"code": "latency", "decision": "first spike"} | said)))


@pytest.mark.parametrize(
    ("by", "region"), [(None, sg.L0(2)), (1, sg.L0(2)), (None, sg.L1(3)), (2, sg.Linf(1))]
)
def test_no_spike_appears_or_vanishes(by, region):
    spiking = network()
    unrolled = unroll(spiking).network
    for x in [(0, 2, 4), (3, 1, 0)]:
        near = keeping_spikes(unrolled, x, by)
        labels = [
            simulate(spiking, y).label
            for y in product(range(5), repeat=3)
            if all((a == 4) == (b == 4) for a, b in zip(x, y, strict=True))
            and all(by is None or abs(a - b) <= by for a, b in zip(x, y, strict=True))
            and inside(region, [abs(a - b) for a, b in zip(x, y, strict=True)])
        ]
        counted = sg.count(near, x, region)
        assert [counted.counts[k] for k in range(2)] == [labels.count(0), labels.count(1)]
        answer = sg.verify(near, sg.Robust(x, region))
        assert isinstance(answer, sg.Proved) == (len(set(labels)) == 1)
        sg.check(answer.certificate, near)


def inside(region, shifts) -> bool:
    match region:
        case sg.L0():
            return sum(map(bool, shifts)) <= region.radius
        case sg.L1():
            return sum(shifts) <= region.radius
    return max(shifts) <= region.radius


def test_a_domain_of_times_is_for_times():
    given = unroll(network(code="spikes", decision="spike count")).network
    with pytest.raises(QuestionError, match="no latency code"):
        keeping_spikes(given, [0] * 12)
    times = unroll(network()).network
    with pytest.raises(QuestionError, match="by=-1"):
        keeping_spikes(times, [0, 1, 2], by=-1)
    with pytest.raises(EncodingError, match="must be an integer from 0 to 4"):
        keeping_spikes(times, [0, 1, 9])


def test_samples_that_are_none_are_refused():
    with pytest.raises(EncodingError, match="3 times from 0 to 4, where 4 means no spike"):
        simulate(network(), [0, 1])
    with pytest.raises(EncodingError, match="3 spikes, 0 or 1, for each of 4 steps"):
        simulate(network(code="spikes", decision="spike count"), [2] * 12)


def test_given_spikes_come_step_by_step():
    spiking = network(code="spikes", decision="spike count")
    unrolled = unroll(spiking).network
    assert unrolled.encoder.names[:4] == (
        "x1 spikes at 0",
        "x2 spikes at 0",
        "x3 spikes at 0",
        "x1 spikes at 1",
    )
    train = [[1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]]
    flat = [value for row in train for value in row]
    assert unrolled.predict([train]).tolist() == [simulate(spiking, flat).label]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"steps": 0}, "steps=0 is not an integer from 1 to 64"),
        ({"steps": 2.0}, "steps=2.0"),
        ({"reset": "half"}, "reset='half' is not one of 'zero', 'subtract', 'none', 'once'"),
        ({"fires": "=="}, "fires='=='"),
        ({"when": None}, "needs one, such as"),
        ({"reset": "none"}, "has no time: give no when="),
        ({"when": "at once as in snnTorch"}, "is for reset='subtract' only"),
        ({"step": 0}, "step=0 is not positive"),
        ({"step": "soon"}, "not a number such as 12"),
    ],
)
def test_conventions_that_make_no_sense(said, why):
    with pytest.raises(NetworkError, match=why):
        convention(**({"steps": 3} | said))


def test_every_part_of_a_convention_is_asked_for():
    from sugenet.spiking import Convention

    with pytest.raises(TypeError, match="8 required keyword-only arguments: 'steps', 'reset', 'when'"):
        Convention()


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"weights": [[1], [1, 2]]}, "one row a neuron"),
        ({"weights": [1, 2]}, "one row a neuron"),
        ({"leak": 2}, "not from 0 to 1"),
        ({"leak": "-1/2"}, "not from 0 to 1"),
        ({"threshold": None}, "needs a threshold"),
        ({"threshold": [1, 2, 3]}, "3 values of threshold for 2 neurons"),
        ({"weights": [["a", 1], [1, 2]]}, "weight 1 of neuron 1 is 'a'"),
        ({"weights": [[float("nan"), 1], [1, 2]]}, "not a finite number"),
    ],
)
def test_layers_that_make_no_sense(parts, why):
    usual = {"weights": [[1, 2], [3, 4]], "leak": 1, "threshold": 1}
    with pytest.raises(NetworkError, match=why):
        SpikingLayer(**(usual | parts))


def test_networks_that_make_no_sense():
    two, three = (SpikingLayer([[1] * n] * 2, leak=1, threshold=1) for n in (2, 3))
    for layers, why in (
        ([], "at least one layer"),
        ([two, three], "layer 2 reads 3 inputs"),
        ([SpikingLayer([[1] * 2] * 2, leak=1, spikes=False), two], "only the last layer"),
        ([SpikingLayer([[1] * 2] * 2, leak=1, spikes=False)], "decide by potential"),
    ):
        with pytest.raises(NetworkError, match=why):
            SpikingNetwork(layers, convention(2))
    with pytest.raises(NetworkError, match="has no exact head"):
        SpikingNetwork([two], convention(2, decision="last potential"))
