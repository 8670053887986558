"""Logic over networks: questions about several readings together (docs/theory.md 12).

A network reads a sample: a `Reading`, a variable whose values are the classes, each with its gap to the best
score. A *composite* follows from several readings: a `Sum` of digits, a `Sudoku` of cells, a `Statement`
about them. `read`, `verify`, `whatif` and `why` ask about a composite what the functions of `sugenet.reason`
ask about one sample. Their certificates are composed of those of the parts. `integrate` is the Sugeno
integral over interpretations by any capacity, of which possibility is one.
"""

from sugenet.logic.addition import Sum
from sugenet.logic.answers import (
    ComposedAnswer,
    ComposedChange,
    ComposedProved,
    ComposedRead,
    ComposedReason,
    ComposedRefuted,
    ComposedUndecided,
    NoComposedChange,
    OpenComposedChange,
    answer_of,
)
from sugenet.logic.asking import read, verify, why
from sugenet.logic.changing import whatif
from sugenet.logic.composed import Composed
from sugenet.logic.degrees import degrees_of, possibilities
from sugenet.logic.integral import Distortion, integrate, interpretations, necessity_of, possibility_of
from sugenet.logic.parsing import parse_formula
from sugenet.logic.readings import Reading, readings_of
from sugenet.logic.rulebases import PossibilisticRule, RuleBase
from sugenet.logic.stated import Statement
from sugenet.logic.sudoku import GapLine, Sudoku

__all__ = [
    "Composed",
    "ComposedAnswer",
    "ComposedChange",
    "ComposedProved",
    "ComposedRead",
    "ComposedReason",
    "ComposedRefuted",
    "ComposedUndecided",
    "Distortion",
    "GapLine",
    "NoComposedChange",
    "OpenComposedChange",
    "PossibilisticRule",
    "Reading",
    "RuleBase",
    "Statement",
    "Sudoku",
    "Sum",
    "answer_of",
    "degrees_of",
    "integrate",
    "interpretations",
    "necessity_of",
    "parse_formula",
    "possibilities",
    "possibility_of",
    "read",
    "readings_of",
    "verify",
    "whatif",
    "why",
]
