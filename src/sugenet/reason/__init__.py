"""Questions to a network and their exact answers."""

from sugenet.reason.answers import Counterfactual, NoCounterfactual, OpenCounterfactual, Proved, Refuted, Undecided
from sugenet.reason.certificate import check
from sugenet.reason.chain import Chain, chain_of
from sugenet.reason.count import Counted, CountOpen, CountSampled, count
from sugenet.reason.questions import Agree, Always, Fair, Monotone, Never, Question, Robust, problems_of
from sugenet.reason.reasons import Reason, Reasons
from sugenet.reason.regions import L0, L1, L2, Anything, Box, Free, Hamming, Linf, Prices, Region
from sugenet.reason.rulebook import Rulebook, rulebook
from sugenet.reason.rulecheck import CheckedRule, check_rule
from sugenet.reason.verify import verify
from sugenet.reason.whatif import whatif
from sugenet.reason.why import each_reason, why

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
