"""Questions to a network, as values: each describes itself in words and as JSON, which is what a certificate
is about, comes back from it, and comes down to problems.
"""

from sugenet.reason.questions.amounts import HowMany, Rules
from sugenet.reason.questions.everyone import OfSample, Predict, each
from sugenet.reason.questions.inputs import Agree, Always, Fair, Monotone, Never
from sugenet.reason.questions.names import class_of, raw_of
from sugenet.reason.questions.problems import problems_of
from sugenet.reason.questions.reading import (
    Asked,
    Question,
    data_of,
    described,
    described_within,
    question_of,
)
from sugenet.reason.questions.samples import Robust, Suffices, WhatIf, Why

__all__ = [
    "Agree",
    "Always",
    "Asked",
    "Fair",
    "HowMany",
    "Monotone",
    "Never",
    "OfSample",
    "Predict",
    "Question",
    "Robust",
    "Rules",
    "Suffices",
    "WhatIf",
    "Why",
    "class_of",
    "data_of",
    "described",
    "described_within",
    "each",
    "problems_of",
    "question_of",
    "raw_of",
]
