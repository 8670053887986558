"""Figures as frozen values with exact numbers, and their colours; nothing here draws.

`svg_writer` and `plots` draw them. Their colours are those of Okabe and Ito, which colour-blind people can
tell apart, and greys for print.

In a notebook a figure displays itself, and `plot` draws it on axes, as for answers.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sugenet.plottable import Plottable

__all__ = [
    "BLUE",
    "INK",
    "MUTED",
    "PAPER",
    "RULE",
    "SERIES",
    "SHAPES",
    "SKY",
    "TRACK",
    "VERMILLION",
    "Band",
    "BandPoint",
    "Bar",
    "Bars",
    "Board",
    "BoardCell",
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
    "Swarm",
    "SwarmDots",
    "Vote",
    "Weights",
    "blues",
    "grey",
    "percent",
    "plural",
    "tinted",
]

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
)
INK, MUTED, RULE, TRACK, PAPER = "#1b1f24", "#57606a", "#d8dee4", "#eef1f4", "#ffffff"

SERIES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
SHAPES = ("circle", "square", "triangle", "diamond", "circle", "square")
"""One shape for each colour of a series, for readers without colours."""

_LIGHT, _DARK = (247, 251, 255), (0, 68, 107)


def grey(share: float) -> str:
    """Return a shade of ink on paper: white for 0, black for 1."""
    level = round(255 * (1 - share))
    return f"#{level:02x}{level:02x}{level:02x}"


def blues(share: Fraction | float) -> str:
    """Return a colour of a scale that only darkens: nearly white for 0, dark blue for 1."""
    return "#" + "".join(
        f"{round(a + (b - a) * float(share)):02x}" for a, b in zip(_LIGHT, _DARK, strict=True)
    )


def tinted(share: float, ink: str) -> str:
    """Return a mixture of a colour with white: white for 0, the colour for 1."""
    mixed = (round(255 + (int(ink[k : k + 2], 16) - 255) * share) for k in (1, 3, 5))
    return "#" + "".join(f"{level:02x}" for level in mixed)


def plural(count: int, noun: str) -> str:
    """Return a noun in the form that a number requires: one class, two classes."""
    return noun if count == 1 else f"{noun}es" if noun.endswith("s") else f"{noun}s"


def percent(share: Fraction) -> str:
    """Return a share in whole percent; 0 and 100 are written only if they are exact.

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
    """Base class of figures."""

    title: str

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True)
class Meter:
    """Match count M of one neuron, with its threshold tau or the nearest of its steps."""

    name: str
    matches: int
    tau: int
    size: int
    """Largest possible match count."""
    low: int | None = None
    """Minimum match count that the free inputs allow; None if not requested."""
    high: int | None = None
    """Upper bound on such match counts."""
    steps: tuple[int, ...] = ()
    """All thresholds of a neuron of several levels."""

    def level(self, matches: int) -> int:
        """Return how many steps a match count reaches."""
        return sum(matches >= step for step in self.steps or (self.tau,))

    @property
    def slack(self) -> int:
        """M - tau: active if at least 0."""
        return self.matches - self.tau

    @property
    def active(self) -> bool:
        """Whether the threshold is reached."""
        return self.matches >= self.tau

    @property
    def state(self) -> str:
        """``on`` or ``off``; with a band, also whether anything can change this."""
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
    """Match meters of some neurons, those closest to turning first."""

    meters: tuple[Meter, ...]
    left_out: int = 0
    """Number of further neurons that are not drawn."""
    banded: str = ""
    """Description of the region of the bands; empty if there are none."""

    @property
    def has_levels(self) -> bool:
        """Whether the neurons have several levels."""
        return any(meter.steps for meter in self.meters)

    @property
    def axis(self) -> str:
        """Label of the axis."""
        if self.has_levels:
            return "matches above the nearest step (M - tau); 0 or more reaches it"
        return "matches above the threshold (M - tau); 0 or more is on"


@dataclass(frozen=True)
class Vote:
    """One class: its votes, exact score and possibility."""

    name: str
    votes: int
    size: int
    """Maximum number of votes."""
    score: Fraction
    possibility: float
    predicted: bool = False
    truth: bool = False


@dataclass(frozen=True)
class Race(_Titled):
    """Ranking of the classes, best score first: votes, and the possibility distribution."""

    votes: tuple[Vote, ...]
    left_out: int = 0


@dataclass(frozen=True)
class Cell:
    """A marked pixel: ``kept`` (must stay), ``up`` (increases), ``down`` (decreases) or ``other`` (another
    category).
    """

    row: int
    column: int
    kind: str
    words: str


@dataclass(frozen=True)
class Pixels(_Titled):
    """An image with marked pixels."""

    shades: tuple[tuple[float, ...], ...]
    """Rows of pixels, each from 0 (minimum, drawn white) to 1 (maximum, drawn black)."""
    cells: tuple[Cell, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Heat(_Titled):
    """A share for each pixel of an image."""

    shares: tuple[tuple[Fraction | None, ...], ...]
    """Rows of shares from 0 to 1; None for a pixel that cannot matter."""
    caption: str = ""
    top: Fraction = Fraction(1)
    """The share that is drawn darkest."""


@dataclass(frozen=True)
class Weights(_Titled):
    """A weight for each pixel of an image."""

    weights: tuple[tuple[int, ...], ...]
    """Rows of weights: positive ones are drawn as full squares, negative ones as smaller squares of another
    colour.
    """
    caption: str = "full squares: positive weights; small squares: negative; darker: larger"


@dataclass(frozen=True)
class SwarmDots:
    """Samples of one class with the same value."""

    value: int
    known: int
    """Number of samples with exactly this value."""
    at_least: int
    """Number of samples whose value is at least this."""


@dataclass(frozen=True)
class Swarm(_Titled):
    """Integers of samples as dots, one lane per class."""

    axis: str
    lanes: tuple[tuple[str, tuple[SwarmDots, ...]], ...]
    """Names of the classes, and their dots by rising value."""
    caption: str = ""


@dataclass(frozen=True)
class BoardCell:
    """One cell of a board: its text, a mark as in `Cell`, or ``plain`` without one, and what it says."""

    text: str
    kind: str = "plain"
    words: str = ""


@dataclass(frozen=True)
class Board(_Titled):
    """Short texts in rows and columns, such as the digits of a grid or of a sum."""

    rows: tuple[tuple[BoardCell, ...], ...]
    """Rows of equal length."""
    heavy: tuple[int, ...] = ()
    """Rows before which a line is drawn."""
    box: int = 0
    """Number of rows and columns between two lines; 0: none."""
    caption: str = ""

    @property
    def lines(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rows and the columns before which a line is drawn."""
        columns = len(self.rows[0])
        every = range(0, columns + 1, self.box) if self.box else ()
        return (*every, *self.heavy), tuple(every)


@dataclass(frozen=True)
class StripRow:
    """One feature of a table: its value, a note, and a mark as in `Cell`; ``plain`` without one."""

    name: str
    value: str
    words: str
    kind: str = "plain"


@dataclass(frozen=True)
class Strip(_Titled):
    """Features of a table, one per row."""

    rows: tuple[StripRow, ...]
    left_out: int = 0
    caption: str = ""


@dataclass(frozen=True)
class Bar:
    """One bar with its number, and a span if only bounds or an interval are known."""

    name: str
    value: Fraction
    text: str
    low: Fraction | None = None
    high: Fraction | None = None
    strong: bool = False


@dataclass(frozen=True)
class Bars(_Titled):
    """Named bars on one scale from 0."""

    axis: str
    bars: tuple[Bar, ...]
    top: Fraction
    """End of the scale."""
    left_out: int = 0
    percent: bool = False
    """Whether values are shares, labelled in percent."""


@dataclass(frozen=True)
class Histogram(_Titled):
    """Number of items between edges; a line is drawn at the value `mark`."""

    axis: str
    what: str
    """Name of the counted items."""
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    mark: float | None = None
    mark_text: str = ""


@dataclass(frozen=True)
class Cactus(_Titled):
    """Number of questions that were settled within a time per question, one line per series."""

    of: int
    """Number of questions."""
    series: tuple[tuple[str, tuple[float, ...]], ...]
    """Name and seconds of the settled ones."""


@dataclass(frozen=True)
class BandPoint:
    """Share between two bounds at one position of the axis, with both bounds as text."""

    x: float
    low: Fraction
    high: Fraction
    name: str
    text: str


@dataclass(frozen=True)
class Band(_Titled):
    """Shares between two bounds along an axis from 0."""

    axis: str
    what: str
    """Name of the shares."""
    points: tuple[BandPoint, ...]
    """Points from left to right."""


@dataclass(frozen=True)
class LatticeSet:
    """A set of criteria, by position, and bounds on its worth: as shares of the scale from 0 to 1, and as
    text.
    """

    members: tuple[int, ...]
    low: Fraction
    high: Fraction
    low_text: str
    high_text: str
    focal: bool
    """Whether its lower bound is larger than that of each proper subset."""

    @property
    def settled(self) -> bool:
        """Whether the worth is known exactly."""
        return self.low_text == self.high_text


@dataclass(frozen=True)
class Lattice(_Titled):
    """All sets of a few criteria by size, the largest on top, with their worths."""

    criteria: tuple[str, ...]
    sets: tuple[LatticeSet, ...]
    """Sets by mask: the set {i, j} is at 2^i + 2^j."""

    @property
    def letters(self) -> str:
        """One letter for each criterion."""
        return "abcdefghij"[: len(self.criteria)]

    def key(self, one: LatticeSet) -> str:
        """Return a set as text, one letter per criterion."""
        return "".join(self.letters[index] for index in one.members) or "none"

    @property
    def caption(self) -> str:
        """Description of the figure."""
        if all(one.settled for one in self.sets):
            return "darker: worth more; framed: focal sets, worth more than every smaller set inside"
        return (
            "upper cell: worth at most; lower: at least; one cell: settled; framed: focal sets of the least"
        )


@dataclass(frozen=True)
class FocalRow:
    """A set of criteria, by position, and its value."""

    members: tuple[int, ...]
    share: Fraction
    """Share of the scale below this value, from 0 to 1."""
    words: str


@dataclass(frozen=True)
class Focals(_Titled):
    """Sets of criteria as rows of dots."""

    criteria: tuple[str, ...]
    """Only criteria that occur in a row."""
    rows: tuple[FocalRow, ...]
    left_out: int = 0
    caption: str = ""

    @property
    def short_names(self) -> list[str]:
        """Return the criteria; long names are cut in the middle, since names often differ at their ends."""
        return [name if len(name) <= 26 else f"{name[:14]}…{name[-11:]}" for name in self.criteria]


Figure: TypeAlias = (
    Meters
    | Race
    | Pixels
    | Heat
    | Board
    | Weights
    | Strip
    | Bars
    | Histogram
    | Cactus
    | Band
    | Lattice
    | Focals
    | Swarm
)
