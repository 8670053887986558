"""Learning monotone models from tables: Sugeno integrals, the maximum of several, score cards.

Importing this package does not require scikit-learn; the estimators are in `sugenet.fit.sugeno.estimators`.
"""

from sugenet.fit.sugeno.columns import FeatureLevels
from sugenet.fit.sugeno.learning import UtilityFunctional
from sugenet.fit.sugeno.model import LearnedModel, LevelRule, ScoreCard, parse_level_rule

__all__ = ["FeatureLevels", "LearnedModel", "LevelRule", "ScoreCard", "UtilityFunctional", "parse_level_rule"]
