"""Questions to a network and their exact answers."""

from sugenet.checker.certificate import check
from sugenet.problem.regions import L0, L1, L2, Anything, Box, Free, Hamming, Linf, Prices, Region
from sugenet.reason.counterfactuals.answers import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.counterfactuals.hunting import whatif
from sugenet.reason.counts.answers import Counted, CountOpen, CountSampled
from sugenet.reason.counts.counting import count
from sugenet.reason.problems import problems_of
from sugenet.reason.questions import (
    Agree,
    Always,
    Fair,
    HowMany,
    Monotone,
    Never,
    Question,
    Robust,
    Rules,
    Suffices,
    WhatIf,
    Why,
    question_of,
)
from sugenet.reason.reading import answer_of
from sugenet.reason.reasons.answers import Reason, Reasons
from sugenet.reason.reasons.chain import Chain, chain_of
from sugenet.reason.reasons.finding import each_reason, why
from sugenet.reason.rules.book import Rulebook, rulebook
from sugenet.reason.rules.checked import CheckedRule, check_rule
from sugenet.reason.verdicts.answers import Proved, Refuted, Undecided
from sugenet.reason.verdicts.verifying import verify

__all__ = [
    "L0",
    "L1",
    "L2",
    "Agree",
    "Always",
    "Anything",
    "Box",
    "Chain",
    "CheckedRule",
    "CountOpen",
    "CountSampled",
    "Counted",
    "Counterfactual",
    "Fair",
    "Free",
    "Hamming",
    "HowMany",
    "Linf",
    "Monotone",
    "Never",
    "NoCounterfactual",
    "OpenCounterfactual",
    "Prices",
    "Proved",
    "Question",
    "Reason",
    "Reasons",
    "Refuted",
    "Region",
    "Robust",
    "Rulebook",
    "Rules",
    "Suffices",
    "Undecided",
    "WhatIf",
    "Why",
    "answer_of",
    "chain_of",
    "check",
    "check_rule",
    "count",
    "each_reason",
    "problems_of",
    "question_of",
    "rulebook",
    "verify",
    "whatif",
    "why",
]
