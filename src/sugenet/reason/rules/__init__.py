"""Rules about a network: whether one is true, how far it reaches, and all of them as a book."""

from sugenet.reason.rules.book import rulebook
from sugenet.reason.rules.checked import check_rule
from sugenet.reason.rules.figures import coverage

__all__ = ["check_rule", "coverage", "rulebook"]
