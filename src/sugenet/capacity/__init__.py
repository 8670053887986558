"""Capacities and Sugeno integrals on any scale (paper section 2.2): set functions, transforms, integrals, rules, indices."""

from sugenet.capacity.base import FocalSet, SetFunction
from sugenet.capacity.combine import Conjugate, Join, Meet, Nested
from sugenet.capacity.criteria import Criteria
from sugenet.capacity.integral import sugeno
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.moebius import from_inner_moebius, from_outer_moebius, inner_moebius, outer_moebius, transversals
from sugenet.capacity.scales import BOOLEAN, UNIT, Boolean, Complement, Level, Ordinal, Scale, UnitInterval
from sugenet.capacity.tables import Dense, Focal, FromFunction
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold

__all__ = [
    "BOOLEAN",
    "UNIT",
    "Boolean",
    "CardinalityThreshold",
    "Complement",
    "Conjugate",
    "Criteria",
    "Dense",
    "Focal",
    "FocalSet",
    "FromFunction",
    "Join",
    "Level",
    "Meet",
    "Necessity",
    "Nested",
    "Ordinal",
    "Possibility",
    "Scale",
    "SetFunction",
    "Symmetric",
    "UnitInterval",
    "WeightedThreshold",
    "from_inner_moebius",
    "from_outer_moebius",
    "inner_moebius",
    "outer_moebius",
    "sugeno",
    "transversals",
]
