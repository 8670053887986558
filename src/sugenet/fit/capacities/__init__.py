"""Capacities from rated samples, exactly: all that fit, the conflicts if none does, and best fits.

`Ratings` are the samples. `version_space` returns all capacities that fit them (by `clashes`), or the
conflicts and the fewest samples to drop. `fit_capacity` returns a best capacity, by its `largest` error (also
among k-maxitive ones) or by the `total` of costs. Both are in `fitting`. Each creates a certificate, and the
answer is read from it (`answers`). `induced_capacity` (`induced`) extracts capacities from networks.
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
