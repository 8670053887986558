"""Questions to a network and their exact answers.

A question is a value (`questions`) that is translated to one or more problems. A function passes them to the
engines, replays the witnesses, and returns an answer with its question and its certificate (`envelope`).
The functions are `verify` in `verdicts`, `whatif` in `counterfactuals`, `count` in `counts`, `why` in
`reasons`, `check_rule` and `rulebook` in `rules`. Each package uses only those before it. `ask` (`asking`)
passes any question to its function. `data` writes an answer as JSON, and `answer_of` (`reading`) reads it
back. `check` verifies it, independently of all this code.
"""

from sugenet.problem.regions import L0, L1, L2, AnyInput, Box, Free, Hamming, Linf, Prices, Region
from sugenet.reason.asking import Predicted, answer_of, ask, is_settled, settings_of
from sugenet.reason.comparison import ComparedNetworks, FirstDifference, compare
from sugenet.reason.counterfactuals import (
    Counterfactual,
    Counterfactuals,
    NoCounterfactual,
    OpenCounterfactual,
    whatif,
)
from sugenet.reason.counts import Counted, CountOpen, CountSampled, count
from sugenet.reason.questions import (
    Agree,
    Always,
    Count,
    Fair,
    Monotone,
    Never,
    Predict,
    Question,
    Robust,
    Rules,
    Suffices,
    WhatIf,
    Why,
    each,
    problems_of,
    question_of,
)
from sugenet.reason.reasons import (
    Chain,
    ComparedScores,
    Inflated,
    Reason,
    Reasons,
    each_reason,
    inflate,
    trace_reasons,
    why,
)
from sugenet.reason.rechecking import AnswerCheck, check, check_answer
from sugenet.reason.rectifying import Rectified, rectify
from sugenet.reason.rules import (
    CheckedRule,
    NetworkRule,
    Rulebook,
    RuleFigures,
    check_rule,
    coverage,
    parse_rule,
    rule_of_anchor,
    rulebook,
    rules_of_tree,
)
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify

__all__ = [
    "L0",
    "L1",
    "L2",
    "Agree",
    "Always",
    "AnswerCheck",
    "AnyInput",
    "Box",
    "Chain",
    "CheckedRule",
    "ComparedNetworks",
    "ComparedScores",
    "Count",
    "CountOpen",
    "CountSampled",
    "Counted",
    "Counterfactual",
    "Counterfactuals",
    "Fair",
    "FirstDifference",
    "Free",
    "Hamming",
    "Inflated",
    "Linf",
    "Monotone",
    "NetworkRule",
    "Never",
    "NoCounterfactual",
    "OpenCounterfactual",
    "Predict",
    "Predicted",
    "Prices",
    "Proved",
    "Question",
    "Reason",
    "Reasons",
    "Rectified",
    "Refuted",
    "Region",
    "Robust",
    "RuleFigures",
    "Rulebook",
    "Rules",
    "Suffices",
    "Undecided",
    "WhatIf",
    "Why",
    "answer_of",
    "ask",
    "check",
    "check_answer",
    "check_rule",
    "compare",
    "count",
    "coverage",
    "each",
    "each_reason",
    "inflate",
    "is_settled",
    "parse_rule",
    "problems_of",
    "question_of",
    "rectify",
    "rule_of_anchor",
    "rulebook",
    "rules_of_tree",
    "settings_of",
    "trace_reasons",
    "verify",
    "whatif",
    "why",
]
