"""Questions to a network and their exact answers."""

from sugenet.checker.certificate import check
from sugenet.problem.regions import L0, L1, L2, Anything, Box, Free, Hamming, Linf, Prices, Region
from sugenet.reason.counterfactuals.hunting import whatif
from sugenet.reason.counts.counting import Counted, CountOpen, CountSampled, count
from sugenet.reason.questions import Agree, Always, Fair, Monotone, Never, Question, Robust, problems_of
from sugenet.reason.reasons.answers import Reason, Reasons
from sugenet.reason.reasons.chain import Chain, chain_of
from sugenet.reason.reasons.finding import each_reason, why
from sugenet.reason.rules.book import Rulebook, rulebook
from sugenet.reason.rules.checked import CheckedRule, check_rule
from sugenet.reason.verdicts.answers import (
    Counterfactual,
    NoCounterfactual,
    OpenCounterfactual,
    Proved,
    Refuted,
    Undecided,
)
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
    "Undecided",
    "chain_of",
    "check",
    "check_rule",
    "count",
    "each_reason",
    "problems_of",
    "rulebook",
    "verify",
    "whatif",
    "why",
]
