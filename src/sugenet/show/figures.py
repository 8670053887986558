"""What is to be drawn, as frozen values with exact numbers: nothing here draws.

`svg_writer` and `plots` are the two ways to draw them.

In a notebook a figure shows itself, and `plot` draws it on axes, as answers do.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sugenet.plottable import Plottable

__all__ = [
    "Band",
    "BandPoint",
    "Bar",
    "Bars",
    "Cactus",
    "Cell",
    "Figure",
    "FocalRow",
    "Focals",
    "Heat",
    "Histogram",
    "Lattice",
    "LatticeSet",
    "Meter",
    "Meters",
    "Pixels",
    "Race",
    "Strip",
    "StripRow",
    "Vote",
    "percent",
    "plural",
]


def plural(count: int, noun: str) -> str:
    """A noun as a number asks for it: one class, two classes."""
    return noun if count == 1 else f"{noun}es" if noun.endswith("s") else f"{noun}s"


def percent(share: Fraction) -> str:
    """A share in whole percent; 0 and 100 are written only where they are exact.

    Examples
    --------
    >>> [percent(Fraction(part, 300)) for part in (0, 1, 200, 299, 300)]
    ['0', '<1', '67', '>99', '100']
    """
    if 0 < share < Fraction(1, 200):
        return "<1"
    return ">99" if Fraction(199, 200) < share < 1 else str(round(100 * share))


@dataclass(frozen=True)
class _Titled(Plottable):
    """What every figure has."""

    title: str

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True)
class Meter:
    """One neuron: its match count M against its threshold tau, or against the nearest of its steps."""

    name: str
    matches: int
    tau: int
    size: int
    """Largest match count it can have."""
    low: int | None = None
    """Least match count that the inputs that are still free can bring about; None where that is not asked."""
    high: int | None = None
    """Largest such match count; never too small, sometimes too large."""
    steps: tuple[int, ...] = ()
    """All thresholds of a neuron of several levels."""

    def level(self, matches: int) -> int:
        """How many steps a match count reaches."""
        return sum(matches >= step for step in self.steps or (self.tau,))

    @property
    def slack(self) -> int:
        """M - tau: 0 or more is active."""
        return self.matches - self.tau

    @property
    def active(self) -> bool:
        """Whether the threshold is reached."""
        return self.matches >= self.tau

    @property
    def state(self) -> str:
        """``on`` or ``off``; with a band also whether anything can change that."""
        if self.steps:
            level, top = self.level(self.matches), len(self.steps)
            if self.low is None or self.high is None:
                return f"level {level} of {top}"
            low, high = self.level(self.low), self.level(self.high)
            return f"locked at level {level}" if low == high else f"level {level}, may be {low} to {high}"
        word = "on" if self.active else "off"
        if self.low is None or self.high is None:
            return word
        return f"locked {word}" if self.low >= self.tau or self.high < self.tau else f"{word}, may turn"


@dataclass(frozen=True)
class Meters(_Titled):
    """Match meters of some neurons, those nearest to turning first."""

    meters: tuple[Meter, ...]
    left_out: int = 0
    """Further neurons that are not drawn."""
    banded: str = ""
    """What the bands allow, in words; empty where there are none."""

    @property
    def has_levels(self) -> bool:
        """Whether the neurons have several levels."""
        return any(meter.steps for meter in self.meters)

    @property
    def axis(self) -> str:
        """What lies along it."""
        if self.has_levels:
            return "matches above the nearest step (M - tau); 0 or more reaches it"
        return "matches above the threshold (M - tau); 0 or more is on"


@dataclass(frozen=True)
class Vote:
    """One class: its votes, exact score and possibility."""

    name: str
    votes: int
    size: int
    """Most votes it can have."""
    score: Fraction
    possibility: float
    predicted: bool = False
    truth: bool = False


@dataclass(frozen=True)
class Race(_Titled):
    """The race of the classes, best score first: votes, and the possibility distribution."""

    votes: tuple[Vote, ...]
    left_out: int = 0


@dataclass(frozen=True)
class Cell:
    """A marked pixel: ``kept`` (must stay), ``up`` (becomes larger), ``down`` (becomes smaller) or ``other``
    (another category).
    """

    row: int
    column: int
    kind: str
    words: str


@dataclass(frozen=True)
class Pixels(_Titled):
    """An image with marked pixels."""

    shades: tuple[tuple[float, ...], ...]
    """Rows of pixels, each from 0 (least, drawn white) to 1 (largest, drawn black)."""
    cells: tuple[Cell, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Heat(_Titled):
    """A share for each pixel of an image."""

    shares: tuple[tuple[Fraction | None, ...], ...]
    """Rows of shares from 0 to 1; None for a pixel that cannot matter."""
    caption: str = ""


@dataclass(frozen=True)
class StripRow:
    """One feature of a table: its value, what is said of it, and a mark as in `Cell`;
    ``plain`` without one.
    """

    name: str
    value: str
    words: str
    kind: str = "plain"


@dataclass(frozen=True)
class Strip(_Titled):
    """Features of a table, one a row."""

    rows: tuple[StripRow, ...]
    left_out: int = 0
    caption: str = ""


@dataclass(frozen=True)
class Bar:
    """One bar, with the number written out, and a span where only bounds or an interval are known."""

    name: str
    value: Fraction
    text: str
    low: Fraction | None = None
    high: Fraction | None = None
    strong: bool = False


@dataclass(frozen=True)
class Bars(_Titled):
    """Named bars on one scale that begins at 0."""

    axis: str
    bars: tuple[Bar, ...]
    top: Fraction
    """Where the scale ends."""
    left_out: int = 0
    percent: bool = False
    """Whether values are shares, written in percent along the axis."""


@dataclass(frozen=True)
class Histogram(_Titled):
    """How many things fall between edges; `mark` is a value that a line is drawn at."""

    axis: str
    what: str
    """What is counted."""
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    mark: float | None = None
    mark_text: str = ""


@dataclass(frozen=True)
class Cactus(_Titled):
    """How many questions were settled within how many seconds each, one line a series."""

    of: int
    """How many questions there were."""
    series: tuple[tuple[str, tuple[float, ...]], ...]
    """Name and seconds of those that were settled."""


@dataclass(frozen=True)
class BandPoint:
    """A share that is known between two ends, at one place of the axis; and how both are written."""

    x: float
    low: Fraction
    high: Fraction
    name: str
    text: str


@dataclass(frozen=True)
class Band(_Titled):
    """Shares between two ends along an axis that begins at 0."""

    axis: str
    what: str
    """What the shares are of."""
    points: tuple[BandPoint, ...]
    """From left to right."""


@dataclass(frozen=True)
class LatticeSet:
    """A set of criteria, by their places, and what it is worth at least and at most: the share of the scale
    below, from 0 to 1, and the value in words.
    """

    members: tuple[int, ...]
    low: Fraction
    high: Fraction
    low_text: str
    high_text: str
    focal: bool
    """Worth more at least than each smaller set inside it."""

    @property
    def settled(self) -> bool:
        """Whether the worth is known."""
        return self.low_text == self.high_text


@dataclass(frozen=True)
class Lattice(_Titled):
    """All sets of a few criteria by size, the largest on top, with what each is worth."""

    criteria: tuple[str, ...]
    sets: tuple[LatticeSet, ...]
    """By mask: the set {i, j} is at 2^i + 2^j."""

    @property
    def letters(self) -> str:
        """One for each criterion."""
        return "abcdefghij"[: len(self.criteria)]

    def key(self, one: LatticeSet) -> str:
        """A set in letters."""
        return "".join(self.letters[index] for index in one.members) or "none"

    @property
    def caption(self) -> str:
        """What is drawn."""
        if all(one.settled for one in self.sets):
            return "darker: worth more; framed: focal sets, worth more than every smaller set inside"
        return (
            "upper cell: worth at most; lower: at least; one cell: settled; framed: focal sets of the least"
        )


@dataclass(frozen=True)
class FocalRow:
    """A set of criteria, by their places, and what it brings about."""

    members: tuple[int, ...]
    share: Fraction
    """Of the scale below that, from 0 to 1."""
    words: str


@dataclass(frozen=True)
class Focals(_Titled):
    """Sets of criteria as rows of dots."""

    criteria: tuple[str, ...]
    """Only those that are in a row."""
    rows: tuple[FocalRow, ...]
    left_out: int = 0
    caption: str = ""

    @property
    def short_names(self) -> list[str]:
        """The criteria, long names without their middle: names often differ at their ends."""
        return [name if len(name) <= 26 else f"{name[:14]}…{name[-11:]}" for name in self.criteria]


Figure: TypeAlias = (
    Meters | Race | Pixels | Heat | Strip | Bars | Histogram | Cactus | Band | Lattice | Focals
)
