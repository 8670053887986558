"""Weight of each neuron of the last layer in the vote for the classes: Shapley and Banzhaf values."""

from fractions import Fraction
from itertools import combinations

from sugenet.capacity import WeightedThreshold, banzhaf, shapley
from sugenet.errors import TooLargeError
from sugenet.nn import Network

__all__ = ["duel", "voting_power"]


def duel(network: Network, one: int, other: int) -> WeightedThreshold:
    """Return when a class beats another one, as a capacity over the neurons of the last layer.

    It is worth 1 on a set if the first class wins when the neurons of the set vote for it and all others
    against it. A neuron votes for a class if it is on, or off if its weight is negative. Ties go to the lower
    class.

    Examples
    --------
    >>> from sugenet.nn import Head
    >>> print(duel(Network.of_bits([], Head([[1, 1, -1], [-1, -1, 1]])), 0, 1))
    4 1 + 4 2 + 4 3 >= 6
    """
    head = network.head
    votes = [
        head.scale[one] * int(a) - head.scale[other] * int(b)
        for a, b in zip(head.weights[one], head.weights[other], strict=True)
    ]
    theta = sum(map(abs, votes), head.bias[other] - head.bias[one])
    if other < one:  # a tie is not enough, and scores differ by at least this
        theta += Fraction(1, head.integers[2])
    return WeightedThreshold([2 * abs(vote) for vote in votes], theta)


def voting_power(network: Network) -> list[tuple[Fraction, Fraction]] | None:
    """Return the Shapley and the Banzhaf value of each neuron of the last layer, as means over all pairs of
    classes.

    None if the head reads levels, or if its numbers are too long for exact values.

    Examples
    --------
    >>> from sugenet.nn import Head
    >>> net = Network.of_bits([], Head([[1, 1, -1, 1], [-1, -1, 1, 1]]))
    >>> [(str(a), str(b)) for a, b in voting_power(net)]
    [('1/3', '1/2'), ('1/3', '1/2'), ('1/3', '1/2'), ('0', '0')]
    """
    pairs = list(combinations(range(network.head.outputs), 2))
    if network.head.tops is not None or not pairs:
        return None
    try:
        duels = [duel(network, *pair) for pair in pairs]
        values = [[list(index(mu).values()) for mu in duels] for index in (shapley, banzhaf)]
    except TooLargeError:
        return None
    means = (
        [sum(map(Fraction, column)) / len(pairs) for column in zip(*rows, strict=True)] for rows in values
    )
    return list(zip(*means, strict=True))
