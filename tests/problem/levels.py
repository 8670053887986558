"""Small networks of more than two levels in which something can happen, for tests against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.bnn.level_nets import KINDS, level_network
from tests.problem.small import raw_values

__all__ = ["KINDS", "every_input", "lively_network"]


def every_input(network):
    """All raw samples, one row each."""
    values = [raw_values(coding) for coding in network.encoder.codings]
    rows = np.empty((int(np.prod([len(row) for row in values])), len(values)), object)
    rows[:] = list(product(*values))
    return rows


def lively_network(rng, kind):
    """A network of one kind that knows at least two classes."""
    while True:
        network = level_network(rng, kind)
        if len(set(network.predict(every_input(network), engine="definition").tolist())) > 1:
            return network
