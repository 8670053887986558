"""A small network of several levels: two layers of staircases, three features, two classes."""

import sugenet as sg


def garden():
    """Whether to water, from soil, sun and wind in four levels each; also the network of docs/levels.md."""
    first = sg.nn.QuantizedLayer.from_sums([[-2, 1, 1], [1, -1, 0]], [[-2, 1, 4], [0, 1, 3]], tops=[3, 3, 3])
    second = sg.nn.QuantizedLayer.from_sums([[-1, 1], [2, -1]], [[0, 1], [1, 4]], tops=[3, 3])
    encoder = sg.nn.Encoder([sg.nn.integer(0, 3)] * 3, ["soil", "sun", "wind"])
    return sg.Network(encoder, [first, second], sg.nn.Head([[1, 0], [0, 1]], tops=[2, 2]), ["rest", "water"])
