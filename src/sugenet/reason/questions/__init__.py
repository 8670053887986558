"""Questions to a network, as values.

Each question describes itself in words, is written to JSON and read back, and is translated to problems. A
certificate contains the JSON.
"""

from sugenet.reason.questions.kinds import (
    Agree,
    Always,
    Count,
    Fair,
    Monotone,
    Never,
    OfSample,
    Predict,
    Robust,
    Rules,
    Suffices,
    WhatIf,
    Why,
    class_of,
    each,
    named_cost,
    named_region,
    raw_of,
)
from sugenet.reason.questions.problems import problems_of
from sugenet.reason.questions.reading import (
    Asked,
    Question,
    data_of,
    described,
    described_within,
    question_of,
    reading_data,
)

__all__ = [
    "Agree",
    "Always",
    "Asked",
    "Count",
    "Fair",
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
    "named_cost",
    "named_region",
    "problems_of",
    "question_of",
    "raw_of",
    "reading_data",
]
