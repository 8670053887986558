"""Capacities from rated samples, exactly: all that fit, the conflicts where none does, and best fits.

`Ratings` are the samples. `version_space` gives all capacities that fit them (`spaces`, by `clashes` and
`envelopes`), or the conflicts and the fewest samples to drop (`dropping`). `fit_capacity` (`fitting`) gives
a best one, by its `largest` error or by the `total` of costs.
"""

from sugenet.fit.capacities.answers import CapacityFit, Conflict, VersionSpace
from sugenet.fit.capacities.fitting import fit_capacity
from sugenet.fit.capacities.ratings import Ratings
from sugenet.fit.capacities.spaces import version_space

__all__ = ["CapacityFit", "Conflict", "Ratings", "VersionSpace", "fit_capacity", "version_space"]
