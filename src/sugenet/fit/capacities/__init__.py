"""Capacities from rated samples, exactly: all that fit, the conflicts where none does, and best fits.

`Ratings` are the samples. `version_space` gives all capacities that fit them (`spaces`, by `clashes` and
`envelopes`), or the conflicts and the fewest samples to drop (`dropping`). `fit_capacity` (`fitting`) gives
a best one, by its `largest` error (also among `maxitive` ones) or by the `total` of costs. Each makes a
certificate, and the answer is read from that (`reading`). `induced_capacity` (`induced`) is the way back from
networks.
"""

from sugenet.fit.capacities.answers import CapacityFit, Conflict, VersionSpace
from sugenet.fit.capacities.fitting import fit_capacity
from sugenet.fit.capacities.induced import InducedCapacity, induced_capacity
from sugenet.fit.capacities.ratings import Ratings
from sugenet.fit.capacities.reading import learned_of
from sugenet.fit.capacities.spaces import version_space

__all__ = [
    "CapacityFit",
    "Conflict",
    "InducedCapacity",
    "Ratings",
    "VersionSpace",
    "fit_capacity",
    "induced_capacity",
    "learned_of",
    "version_space",
]
