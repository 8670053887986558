"""Explanations: `why`, reasons one by one, and the chain of rules that fired."""

from sugenet.reason.reasons.answers import Reason, Reasons
from sugenet.reason.reasons.chain import Chain, trace_reasons
from sugenet.reason.reasons.finding import each_reason, why
from sugenet.reason.reasons.importance import ComparedScores
from sugenet.reason.reasons.inflating import Inflated, inflate

__all__ = [
    "Chain",
    "ComparedScores",
    "Inflated",
    "Reason",
    "Reasons",
    "each_reason",
    "inflate",
    "trace_reasons",
    "why",
]
