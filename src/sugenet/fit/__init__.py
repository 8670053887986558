"""Learning: binarized networks, and those with more levels, from arrays and CSV files, with PyTorch, folded
exactly.

Importing this room does not import PyTorch.
"""

from sugenet.fit.capacities import (
    CapacityFit,
    Conflict,
    InducedCapacity,
    Ratings,
    VersionSpace,
    fit_capacity,
    induced_capacity,
    learned_of,
    version_space,
)
from sugenet.fit.encoding import learn_encoder
from sugenet.fit.folding import Comparison, compare
from sugenet.fit.loop import Epoch, print_progress
from sugenet.fit.module import LevelModule
from sugenet.fit.settings import Settings
from sugenet.fit.sugeno import (
    FeatureLevels,
    LearnedModel,
    LevelRule,
    ScoreCard,
    UtilityFunctional,
    parse_level_rule,
)
from sugenet.fit.table import RatedTable, Table, read_cases, read_ratings, read_table
from sugenet.fit.trainer import Trained, train

__all__ = [
    "CapacityFit",
    "Comparison",
    "Conflict",
    "Epoch",
    "FeatureLevels",
    "InducedCapacity",
    "LearnedModel",
    "LevelModule",
    "LevelRule",
    "RatedTable",
    "Ratings",
    "ScoreCard",
    "Settings",
    "Table",
    "Trained",
    "UtilityFunctional",
    "VersionSpace",
    "compare",
    "fit_capacity",
    "induced_capacity",
    "learn_encoder",
    "learned_of",
    "parse_level_rule",
    "print_progress",
    "read_cases",
    "read_ratings",
    "read_table",
    "train",
    "version_space",
]
