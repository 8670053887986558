"""Capacities and Sugeno integrals on any scale (paper section 2.2): set functions, transforms,
integrals, rules, indices.
"""

from sugenet.capacity.base import FocalSet, SetFunction
from sugenet.capacity.combine import Conjugate, Join, Meet, Nested
from sugenet.capacity.criteria import Criteria
from sugenet.capacity.envelopes import lower_envelope, upper_envelope
from sugenet.capacity.indices import (
    additive_moebius,
    banzhaf,
    from_additive_moebius,
    interaction,
    interactions,
    orness,
    shapley,
)
from sugenet.capacity.integral import sugeno
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.modularity import is_submodular, is_supermodular
from sugenet.capacity.moebius import (
    from_inner_moebius,
    from_outer_moebius,
    inner_moebius,
    outer_moebius,
    transversals,
)
from sugenet.capacity.possibilistic import (
    Atom,
    GuaranteedBase,
    PossibilisticBase,
    Weighted,
    guaranteed_base,
    possibilistic_base,
)
from sugenet.capacity.properties import (
    equal,
    is_k_maxitive,
    is_k_minitive,
    is_necessity,
    is_possibility,
    is_self_conjugate,
    is_symmetric,
    maxitivity,
    minitivity,
    violating_pair,
)
from sugenet.capacity.rules import EliminationRule, SelectionRule, ThresholdRule, parse_rule
from sugenet.capacity.rulesets import (
    RuleSet,
    elimination_rules,
    iter_elimination_rules,
    iter_selection_rules,
    selection_rules,
)
from sugenet.capacity.sampling import random_capacity
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
    "additive_moebius",
    "banzhaf",
    "elimination_rules",
    "equal",
    "from_additive_moebius",
    "from_inner_moebius",
    "from_outer_moebius",
    "guaranteed_base",
    "inner_moebius",
    "interaction",
    "interactions",
    "is_k_maxitive",
    "is_k_minitive",
    "is_necessity",
    "is_possibility",
    "is_self_conjugate",
    "is_submodular",
    "is_supermodular",
    "is_symmetric",
    "iter_elimination_rules",
    "iter_selection_rules",
    "lower_envelope",
    "maxitivity",
    "minitivity",
    "orness",
    "outer_moebius",
    "parse_rule",
    "possibilistic_base",
    "random_capacity",
    "selection_rules",
    "shapley",
    "sugeno",
    "transversals",
    "upper_envelope",
    "violating_pair",
]
