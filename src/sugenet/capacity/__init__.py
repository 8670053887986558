"""Capacities and Sugeno integrals on any scale (paper section 2.2): set functions, transforms, integrals, rules, indices."""

from sugenet.capacity.base import FocalSet, SetFunction
from sugenet.capacity.combine import Conjugate, Join, Meet, Nested
from sugenet.capacity.criteria import Criteria
from sugenet.capacity.integral import sugeno
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.moebius import from_inner_moebius, from_outer_moebius, inner_moebius, outer_moebius, transversals
from sugenet.capacity.possibilistic import Atom, GuaranteedBase, PossibilisticBase, Weighted, guaranteed_base, possibilistic_base
from sugenet.capacity.rules import EliminationRule, SelectionRule, ThresholdRule, parse_rule
from sugenet.capacity.rulesets import RuleSet, elimination_rules, iter_elimination_rules, iter_selection_rules, selection_rules
from sugenet.capacity.scales import BOOLEAN, UNIT, Boolean, Complement, Level, Ordinal, Scale, UnitInterval
from sugenet.capacity.tables import Dense, Focal, FromFunction
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold

__all__ = [
    "BOOLEAN",
    "UNIT",
    "Atom",
    "Boolean",
    "CardinalityThreshold",
    "Complement",
    "Conjugate",
    "Criteria",
    "Dense",
    "EliminationRule",
    "Focal",
    "FocalSet",
    "FromFunction",
    "GuaranteedBase",
    "Join",
    "Level",
    "Meet",
    "Necessity",
    "Nested",
    "Ordinal",
    "PossibilisticBase",
    "Possibility",
    "RuleSet",
    "Scale",
    "SelectionRule",
    "SetFunction",
    "Symmetric",
    "ThresholdRule",
    "UnitInterval",
    "Weighted",
    "WeightedThreshold",
    "elimination_rules",
    "from_inner_moebius",
    "from_outer_moebius",
    "guaranteed_base",
    "inner_moebius",
    "iter_elimination_rules",
    "iter_selection_rules",
    "outer_moebius",
    "parse_rule",
    "possibilistic_base",
    "selection_rules",
    "sugeno",
    "transversals",
]
