"""Rules about a network: whether one is true, how far it reaches, and all of them as a book."""

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
