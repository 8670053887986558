"""Numbers, as docs/glossary.md states: layers, neurons, inputs and literals from 1, classes from 0."""

import pytest

import sugenet as sg
from sugenet.errors import NetworkError, QuestionError
from sugenet.nn import DenseLayer, Head, Network, Neuron, RawNeuron
from sugenet.spiking import Convention, SpikingLayer, SpikingNeuron


def test_layers_neurons_and_inputs_count_from_1_classes_from_0():
    layers = [DenseLayer([[1, 1], [-1, 1], [1, -1]], tau=[1, 2, 1]), DenseLayer([[1, 1, -1]], tau=[2])]
    net = Network.of_bits(layers, Head([[1], [-1]]))
    assert net.neuron(1, 2) == Neuron([-1, 1], 2)
    assert net.neuron(2, 1) == Neuron([1, 1, -1], 2)
    assert net.words(2, -3) == "neuron 3 of layer 1 is off"
    assert next(net.neuron(1, 3).turning_sets([1, -1])) == {1, 2}
    assert net.layer(1).neuron(1) == net.neuron(1, 1)
    assert net.predict([[1, 1], [-1, -1]]).tolist() == [1, 1]
    assert net.classes == ("0", "1")
    assert net.head.capacity(1).focal_count() == 1
    for layer, j in ((0, 1), (3, 1), (1, 0), (1, 4), (-1, 1), (1, -1)):
        with pytest.raises(NetworkError, match="numbered from 1"):
            net.neuron(layer, j)
    for k in (-1, 2):
        with pytest.raises(NetworkError, match=f"there is no class {k}: the head has 2, numbered from 0"):
            net.head.capacity(k)
        with pytest.raises(QuestionError, match="numbered from 0"):
            sg.verify(net, sg.Always(k))
    for neuron in ((0, 1), (1, 0)):
        with pytest.raises((NetworkError, QuestionError), match=r"neurons 1 to 3|numbered from 1"):
            sg.fit.induced_capacity(net, [-1, -1], {"x1": 1}, neuron=neuron)
    assert RawNeuron.of(net, 1).tau == 1
    with pytest.raises(NetworkError, match="numbered from 1"):
        RawNeuron.of(net, 0)
    convention = Convention(
        steps=3,
        reset="zero",
        when="at once",
        fires=">=",
        code="spikes",
        decision="first spike",
        ties="lowest",
        step=None,
    )
    with pytest.raises(NetworkError, match="there is no neuron 0: the layer has 1, numbered from 1"):
        SpikingNeuron(SpikingLayer([[2, -1]], leak="1/2", threshold=2), 0, convention)
