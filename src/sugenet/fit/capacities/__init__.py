"""Capacities from rated samples, exactly: all that fit, the conflicts where none does, and best fits.

`Ratings` are the samples. `version_space` gives all capacities that fit them (by `clashes`), or the conflicts
and the fewest samples to drop; `fit_capacity` gives a best one, by its `largest` error (also among k-maxitive
ones) or by the `total` of costs: both are in `fitting`. Each makes a certificate, and the answer is read from
that (`answers`). `induced_capacity` (`induced`) is the way back from networks.
"""

from sugenet.fit.capacities.answers import CapacityFit, Conflict, VersionSpace, learned_of
from sugenet.fit.capacities.fitting import fit_capacity, version_space
from sugenet.fit.capacities.induced import InducedCapacity, induced_capacity
from sugenet.fit.capacities.ratings import Ratings

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
