"""Training: binarized networks, and those with more levels, from arrays and CSV files with PyTorch.

Trained networks are folded exactly.

Importing this package does not import PyTorch: names that require it are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from sugenet.fit.columns import ColumnType, ColumnTypes
from sugenet.fit.encoding import learn_encoder
from sugenet.fit.parameters import RuleFit, fit_rules, rule_equations
from sugenet.fit.pipelines import from_sklearn
from sugenet.fit.settings import Epoch, Settings, print_progress
from sugenet.fit.sugeno import (
    FeatureLevels,
    LearnedModel,
    LevelRule,
    ScoreCard,
    UtilityFunctional,
    parse_level_rule,
)
from sugenet.fit.table import RatedTable, Table, read_cases, read_ratings, read_table, understand
from sugenet.fit.trainer import Trained, train

if TYPE_CHECKING:
    from sugenet.fit.estimators import BNNClassifier
    from sugenet.fit.folding import Comparison, compare
    from sugenet.fit.module import LevelModule
    from sugenet.fit.sugeno.estimators import SugenoClassifier, SugenoRegressor

__all__ = [
    "BNNClassifier",
    "CapacityFit",
    "ColumnType",
    "ColumnTypes",
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
    "RuleFit",
    "ScoreCard",
    "Settings",
    "SugenoClassifier",
    "SugenoRegressor",
    "Table",
    "Trained",
    "UtilityFunctional",
    "VersionSpace",
    "compare",
    "fit_capacity",
    "fit_rules",
    "from_sklearn",
    "induced_capacity",
    "learn_encoder",
    "learned_of",
    "parse_level_rule",
    "print_progress",
    "read_cases",
    "read_ratings",
    "read_table",
    "rule_equations",
    "train",
    "understand",
    "version_space",
]

_LATER = {"Comparison": "folding", "compare": "folding", "LevelModule": "module"}
_LATER |= {"BNNClassifier": "estimators", "SugenoClassifier": "sugeno.estimators"}
_LATER |= {"SugenoRegressor": "sugeno.estimators"}
"""Modules of the names that require PyTorch or scikit-learn."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'sugenet.fit' has no attribute {name!r}")
    return getattr(import_module(f"sugenet.fit.{_LATER[name]}"), name)
