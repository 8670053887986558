"""Colours of both renderers: those of Okabe and Ito, which colour-blind people can tell apart, and greys for
print.
"""

from fractions import Fraction

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
    "blues",
    "grey",
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
