"""Rules about a network: check a rule, measure its coverage, and extract all rules as a rulebook."""

from sugenet.reason.rules.book import Rulebook, rulebook
from sugenet.reason.rules.checked import CheckedRule, RuleFigures, check_rule, coverage
from sugenet.reason.rules.rule import NetworkRule, parse_rule, rule_of_anchor, rules_of_tree

__all__ = [
    "CheckedRule",
    "NetworkRule",
    "RuleFigures",
    "Rulebook",
    "check_rule",
    "coverage",
    "parse_rule",
    "rule_of_anchor",
    "rulebook",
    "rules_of_tree",
]
