"""Figures as inline SVG, which notebooks, reports and printers show alike, without any library.

Each figure has its own white background, so that it is legible on a dark page. Its `title` element describes
it. No information is in colour alone: there are also shapes, frames, hatching and words. Only attributes are
used, no styles, scripts or ids.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import singledispatch
from itertools import groupby
from textwrap import wrap
from typing import Any, TypeVar

from sugenet.show.figures import (
    BLUE,
    INK,
    MUTED,
    PAPER,
    RULE,
    SERIES,
    SHAPES,
    SKY,
    TRACK,
    VERMILLION,
    Band,
    Bars,
    Board,
    Cactus,
    Figure,
    Focals,
    Heat,
    Histogram,
    Lattice,
    LatticeSet,
    Meters,
    Pixels,
    Race,
    Strip,
    Swarm,
    Weights,
    blues,
    grey,
    percent,
    plural,
    tinted,
)
from sugenet.show.markup import Html, decimal, element

__all__ = ["draw", "nice_ticks", "svg", "thumbnail"]

_T = TypeVar("_T")
_ROW = 22
_LETTER = 0.63
"""Width of a character, as a share of its size: that of wide sans-serif fonts, since the font is unknown."""


def svg(figure: Figure) -> str:
    """Return a figure as SVG text.

    Examples
    --------
    >>> from sugenet.show.figures import Pixels
    >>> svg(Pixels("a < b", ((0.0, 1.0), (1.0, 0.0)))).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    return str(draw(figure))


@singledispatch
def draw(figure: Any) -> Html:
    """Return a figure as SVG that may be put into HTML."""
    raise TypeError(f"{type(figure).__name__} is not a figure.")


# -- paper and pencil ----------------------------------------------------------------------------------------


def _width(text: str, size: float) -> float:
    """Return an upper estimate of the width of a text."""
    return _LETTER * size * len(text)


def _cut(text: str, room: float, size: float = 12) -> str:
    max_letters = max(3, int(room / (_LETTER * size) + 1e-6))
    return text if len(text) <= max_letters else text[: max_letters - 1] + "…"


class _Sheet:
    """Drawing area that grows downwards."""

    def __init__(self, width: float, title: str, words: str = "") -> None:
        self.width, self.title, self.words = width, title, words
        self.parts: list[Html] = []
        self.y = 10.0
        for line in wrap(title, max(8, int((width - 24) / (0.65 * 13)))):
            self.y += 16
            self.text(12, self.y - 3, line, size=13, bold=True)
        self.y += 6

    def add(self, name: str, **attributes: object) -> None:
        """Draw an element without content."""
        self.parts.append(element(name, **attributes))

    @contextmanager
    def group(self, title: str = "", **attributes: object) -> Iterator[None]:
        """Group all elements that are drawn inside this context."""
        outside, self.parts = self.parts, [element("title", title)] if title else []
        yield
        outside.append(element("g", *self.parts, **attributes))
        self.parts = outside

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        anchor: str | None = None,
        fill: str = INK,
        bold: bool = False,
    ) -> None:
        look = {"fill": fill, "text_anchor": anchor, "font_weight": "bold" if bold else None}
        self.parts.append(element("text", text, x=x, y=y, font_size=size, **look))

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **more: object) -> None:
        self.add("rect", x=x, y=y, width=width, height=height, fill=fill, **more)

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        stroke: str = RULE,
        width: float = 1,
        **more: object,
    ) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=width, **more)

    def mark(self, shape: str, x: float, y: float, r: float, fill: str, stroke: str = PAPER) -> None:
        """Draw a small shape around a point."""
        if shape == "circle":
            self.add("circle", cx=x, cy=y, r=r, fill=fill, stroke=stroke)
        elif shape == "square":
            self.rect(x - r, y - r, 2 * r, 2 * r, fill, stroke=stroke)
        else:
            points = " ".join(f"{decimal(x + r * a)},{decimal(y + r * b)}" for a, b in _CORNERS[shape])
            self.add("polygon", points=points, fill=fill, stroke=stroke)

    def hatch(self, x: float, y: float, width: float, height: float, stroke: str) -> None:
        """Draw diagonal lines over a rectangle: a mark that needs no colour."""
        steps = []
        for start in range(5, math.ceil(width + height), 5):
            x1, y1 = (x + start, y) if start <= width else (x + width, y + start - width)
            x2, y2 = (x, y + start) if start <= height else (x + start - height, y + height)
            steps.append(f"M{decimal(x1)} {decimal(y1)}L{decimal(x2)} {decimal(y2)}")
        if steps:
            self.add("path", d="".join(steps), stroke=stroke, stroke_width=0.8, fill="none")

    def caption(self, text: str) -> None:
        for line in wrap(text, max(8, int((self.width - 24) / (0.58 * 11)))):
            self.y += 15
            self.text(12, self.y - 3, line, size=11, fill=MUTED)

    def rows(self, items: Iterable[_T]) -> Iterator[tuple[_T, float]]:
        """Yield items one below the other, each with the middle of its row."""
        for item in items:
            yield item, self.y + _ROW / 2
            self.y += _ROW

    def done(self, *captions: str) -> Html:
        """Return the figure, with captions at the bottom."""
        for caption in captions:
            self.caption(caption)
        size = {"width": self.width, "height": self.y + 10}
        description = [element("desc", self.words)] if self.words else []
        return element(
            "svg",
            element("title", self.title),
            *description,
            element("rect", **size, rx=6, fill=PAPER),
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            role="img",
            **size,
            viewBox=f"0 0 {decimal(size['width'])} {decimal(size['height'])}",
            font_family="system-ui, sans-serif",
        )


_CORNERS = {
    "triangle": ((0, -1.1), (1.1, 0.9), (-1.1, 0.9)),
    "down": ((0, 1.1), (1.1, -0.9), (-1.1, -0.9)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
}
_MARKS = {"up": ("triangle", VERMILLION), "down": ("down", BLUE), "other": ("diamond", VERMILLION)}


# -- images --------------------------------------------------------------------------------------------------

_IMAGE = 208.0
_MANY = 100


@draw.register
def _(figure: Pixels) -> Html:
    columns = len(figure.shades[0])
    cell = _IMAGE / max(columns, len(figure.shades))
    sheet = _Sheet(_IMAGE + 24, figure.title, "; ".join(c.words for c in figure.cells[:_MANY]))
    left, top = 12.0, sheet.y
    kept = {(c.row, c.column) for c in figure.cells if c.kind == "kept"}
    squares: dict[str, list[str]] = {}
    for r, row in enumerate(figure.shades):
        for c, share in enumerate(row):
            faint = kept and (r, c) not in kept  # features that may change are drawn lighter
            colour = grey(round(share * 32) / 32 * (0.45 if faint else 1))
            squares.setdefault(colour, []).append(_square(left + c * cell, top + r * cell, cell))
    sheet.rect(left, top, cell * columns, cell * len(figure.shades), PAPER)
    for colour, paths in sorted(squares.items()):
        if colour != PAPER:
            sheet.add("path", fill=colour, d="".join(paths), shape_rendering="crispEdges")
    sheet.rect(left, top, cell * columns, cell * len(figure.shades), "none", stroke=RULE)
    inset, wide = max(1.0, cell / 14), max(1.4, min(2.4, cell / 9))
    if len(kept) > _MANY:  # too many frames to describe each: one path without titles
        path = (
            _square(left + c * cell + inset, top + r * cell + inset, cell - 2 * inset)
            for r, c in sorted(kept)
        )
        sheet.add("path", data_mark="kept", d="".join(path), fill="none", stroke=BLUE, stroke_width=wide / 2)
    for mark in figure.cells if len(kept) <= _MANY else ():
        x, y, side = left + mark.column * cell, top + mark.row * cell, cell - 2 * inset
        shape, colour = _MARKS.get(mark.kind, ("", BLUE))
        with sheet.group(mark.words, data_mark=mark.kind):
            sheet.rect(x + inset, y + inset, side, side, "none", stroke=PAPER, stroke_width=2 * wide)
            sheet.rect(x + inset, y + inset, side, side, "none", stroke=colour, stroke_width=wide)
            if shape:
                sheet.mark(shape, x + cell / 2, y + cell / 2, cell / 5, colour)
    sheet.y = top + cell * len(figure.shades) + 4
    return sheet.done(figure.caption)


def _square(x: float, y: float, side: float) -> str:
    return f"M{decimal(x)} {decimal(y)}h{decimal(side)}v{decimal(side)}h{decimal(-side)}z"


@draw.register
def _(figure: Heat) -> Html:
    columns = len(figure.shares[0])
    cell = _IMAGE / max(columns, len(figure.shares))
    sheet = _Sheet(_IMAGE + 24, figure.title)
    left, top = 12.0, sheet.y
    for r, row in enumerate(figure.shares):
        for c, share in enumerate(row):
            if not share:
                continue
            x, y = left + c * cell, top + r * cell
            with sheet.group(data_share=share):
                sheet.rect(x, y, cell, cell, blues(share / figure.top))
                if cell >= 20:
                    colour = PAPER if share > 0.45 * figure.top else INK
                    sheet.text(
                        x + cell / 2, y + cell / 2 + 4, percent(share), size=10, anchor="middle", fill=colour
                    )
    for k in range(len(figure.shares) + 1):
        sheet.line(left, top + k * cell, left + columns * cell, top + k * cell, RULE, 0.6)
    for k in range(columns + 1):
        sheet.line(left + k * cell, top, left + k * cell, top + len(figure.shares) * cell, RULE, 0.6)
    sheet.y = top + cell * len(figure.shares) + 8
    for k in range(5):
        sheet.rect(left + 30 + k * 30, sheet.y, 30, 9, blues(k / 4), stroke=RULE, stroke_width=0.6)
    sheet.text(left, sheet.y + 9, "0 %", size=11, fill=MUTED)
    sheet.text(left + 186, sheet.y + 9, f"{percent(figure.top)} %", size=11, fill=MUTED)
    sheet.y += 13
    return sheet.done(("numbers in percent: " if cell >= 20 else "") + figure.caption)


_TINTS = 6
"""Number of tints of each sign."""


def _weight_paths(weights: Sequence[Sequence[int]], cell: int) -> Iterator[Html]:
    """Yield one path per tint: runs of full cells for positive weights, smaller squares for negative ones."""
    largest = max((abs(w) for row in weights for w in row), default=0) or 1
    squares: dict[tuple[bool, int], list[str]] = {}
    inset, small = max(1, cell // 5), cell - 2 * max(1, cell // 5)
    for r, row in enumerate(weights):
        tints = [(w > 0, -(-abs(w) * _TINTS // largest)) for w in row]
        for (positive, tint), run in groupby(range(len(row)), key=tints.__getitem__):
            columns = list(run)
            if not tint:
                continue
            paths = squares.setdefault((positive, tint), [])
            if positive:
                paths.append(
                    f"M{columns[0] * cell} {r * cell}h{len(columns) * cell}v{cell}H{columns[0] * cell}z"
                )
            else:
                paths += [
                    f"M{c * cell + inset} {r * cell + inset}h{small}v{small}h-{small}z" for c in columns
                ]
    for (positive, tint), paths in sorted(squares.items()):
        colour = tinted(0.15 + 0.85 * tint / _TINTS, BLUE if positive else VERMILLION)
        yield element("path", fill=colour, d="".join(paths), shape_rendering="crispEdges")


def thumbnail(
    cells: Sequence[Sequence[Any]], title: str, side: float = 84, *, signed: bool = False, blue: bool = False
) -> Html:
    """Return a small image without text: weights if `signed`, else shares from 0 to 1, grey or blue."""
    columns, cell = max(1, len(cells[0])), 10
    if signed:
        parts = list(_weight_paths(cells, cell))
    else:
        shaded: dict[str, list[str]] = {}
        for r, row in enumerate(cells):
            colours = [
                None if not share else blues(share) if blue else grey(round(share * 16) / 16) for share in row
            ]
            for colour, run in groupby(range(len(row)), key=colours.__getitem__):
                if colour is not None and colour != PAPER:
                    run_of = list(run)
                    path = f"M{run_of[0] * cell} {r * cell}h{len(run_of) * cell}v{cell}H{run_of[0] * cell}z"
                    shaded.setdefault(colour, []).append(path)
        parts = [
            element("path", fill=colour, d="".join(paths), shape_rendering="crispEdges")
            for colour, paths in sorted(shaded.items())
        ]
    width, height = columns * cell, len(cells) * cell
    return element(
        "svg",
        element("title", title),
        element("rect", width=width, height=height, fill=PAPER),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        class_="thumb",
        width=side * columns / max(columns, len(cells)),
        height=side * len(cells) / max(columns, len(cells)),
        viewBox=f"0 0 {width} {height}",
    )


@draw.register
def _(figure: Weights) -> Html:
    columns, rows = len(figure.weights[0]), len(figure.weights)
    sheet = _Sheet(_IMAGE + 24, figure.title)
    scale = _IMAGE / (10 * max(columns, rows))
    left, top = 12.0, sheet.y
    with sheet.group(transform=f"translate({decimal(left)} {decimal(top)}) scale({scale:.4f})"):
        sheet.parts += _weight_paths(figure.weights, 10)
    sheet.rect(left, top, 10 * scale * columns, 10 * scale * rows, "none", stroke=RULE)
    sheet.y = top + 10 * scale * rows + 4
    return sheet.done(figure.caption)


_LANE = 46.0


@draw.register
def _(figure: Swarm) -> Html:
    values = [dots.value for _, lane in figure.lanes for dots in lane] or [0]
    first, last = min(values), max(values)
    left = 12 + min(max([_width(name, 12) for name, _ in figure.lanes] + [40.0]), 150.0) + 14
    sheet = _Sheet(600, figure.title)
    room = 600 - left - 16
    step = room / (last - first + 1)
    crowd = max([dots.known + dots.at_least for _, lane in figure.lanes for dots in lane] + [1])
    r = next((r for r in (4.0, 3.0, 2.2, 1.6) if crowd <= _fits(step, r)), 1.6)
    each = max(1, math.ceil(crowd / max(1, _fits(step, r))))
    for name, lane in figure.lanes:
        middle = sheet.y + _LANE / 2
        sheet.line(left, middle, left + room, middle)
        sheet.text(left - 10, middle + 4, _cut(name, left - 22), anchor="end")
        for dots in lane:
            x = left + (dots.value - first + 0.5) * step
            known, at_least = math.ceil(dots.known / each), math.ceil(dots.at_least / each)
            words = f"{name}: {dots.known} with {dots.value}"
            words += f", {dots.at_least} with at least {dots.value}" if dots.at_least else ""
            tall = max(1, int((_LANE - 6) / (2.3 * r)))
            wide = math.ceil((known + at_least) / tall)
            with sheet.group(words):
                for k in range(known + at_least):
                    column, row = divmod(k, tall)
                    here = min(tall, known + at_least - column * tall)
                    at = x + (column - (wide - 1) / 2) * 2.3 * r, middle + (row - (here - 1) / 2) * 2.3 * r
                    look = {"fill": BLUE} if k < known else {"fill": PAPER, "stroke": BLUE}
                    sheet.add("circle", cx=at[0], cy=at[1], r=r if k < known else r - 0.4, **look)
        sheet.y += _LANE
    ticks = range(first, last + 1, max(1, math.ceil((last - first + 1) / 20)))
    for value in ticks:
        sheet.text(left + (value - first + 0.5) * step, sheet.y + 12, str(value), size=11, anchor="middle")
    sheet.y += 30
    sheet.text(left + room / 2, sheet.y - 2, figure.axis, anchor="middle", fill=MUTED)
    note = f"each dot: up to {each} samples" if each > 1 else "each dot: one sample"
    return sheet.done(f"{note}; {figure.caption}" if figure.caption else note)


def _fits(step: float, r: float) -> int:
    """Return how many dots fit into a lane beside one value."""
    return max(1, int((_LANE - 6) / (2.3 * r))) * max(1, int((step - 4) / (2.3 * r)))


# -- tables --------------------------------------------------------------------------------------------------


@draw.register
def _(figure: Board) -> Html:
    columns, side = len(figure.rows[0]), _ROW
    marked = [cell for row in figure.rows for cell in row if cell.words]
    sheet = _Sheet(
        max(24.0 + side * columns, _IMAGE + 24),
        figure.title,
        "; ".join(cell.words for cell in marked[:_MANY]),
    )
    left, top = 12.0, sheet.y
    for r, row in enumerate(figure.rows):
        for c, cell in enumerate(row):
            x, y = left + c * side, top + r * side
            with sheet.group(cell.words, data_mark=cell.kind):
                if cell.kind != "plain":
                    shape, colour = _MARKS.get(cell.kind, ("", BLUE))
                    sheet.rect(x + 2, y + 2, side - 4, side - 4, "none", stroke=colour, stroke_width=2)
                    if shape:
                        sheet.mark(shape, x + side - 3, y + 3, 3, colour)
                sheet.text(
                    x + side / 2,
                    y + side / 2 + 4,
                    _cut(cell.text, side + 4),
                    anchor="middle",
                    bold=cell.kind != "plain",
                )
    rows, ends = figure.lines
    for k in rows:
        sheet.line(left, top + k * side, left + columns * side, top + k * side, INK)
    for k in ends:
        sheet.line(left + k * side, top, left + k * side, top + len(figure.rows) * side, INK)
    sheet.y = top + side * len(figure.rows) + 4
    return sheet.done(figure.caption)


@draw.register
def _(figure: Strip) -> Html:
    names = max([_width(row.name, 12) for row in figure.rows] + [60.0])
    values = max([_width(row.value, 12) for row in figure.rows] + [30.0])
    names, values = min(names, 190.0), min(values, 150.0)
    text_width = min(max([_width(row.words, 12) for row in figure.rows] + [60.0]), 330.0)
    width = max(300.0, 12 + 20 + names + 14 + values + 18 + text_width + 12)
    sheet = _Sheet(width, figure.title)
    for row, middle in sheet.rows(figure.rows):
        with sheet.group(data_mark=row.kind):
            if row.kind == "kept":
                sheet.rect(14, middle - 5, 10, 10, "none", stroke=BLUE, stroke_width=2)
            elif row.kind in _MARKS:
                shape, colour = _MARKS[row.kind]
                sheet.mark(shape, 19, middle, 5.5, colour)
            sheet.text(32, middle + 4, _cut(row.name, names), bold=row.kind != "plain")
            sheet.text(32 + names + 14 + values, middle + 4, _cut(row.value, values), anchor="end")
            sheet.text(32 + names + values + 32, middle + 4, _cut(row.words, text_width), fill=MUTED)
        sheet.line(12, middle + _ROW / 2, width - 12, middle + _ROW / 2)
    return sheet.done(_left_out(figure.left_out, "feature"), figure.caption)


def _left_out(count: int, what: str) -> str:
    return f"... and {count:,} more {plural(count, what)}" if count else ""


# -- neurons and classes -------------------------------------------------------------------------------------


@draw.register
def _(figure: Meters) -> Html:
    meters, left, right = figure.meters, 96.0, 400.0
    ends = [m.slack for m in meters] + [e - m.tau for m in meters for e in (m.low, m.high) if e is not None]
    far = max([abs(e + 0.5) for e in ends] + [3.0]) + 0.6
    sheet = _Sheet(
        600, figure.title, "; ".join(f"{m.name}: M {m.matches}, tau {m.tau}, {m.state}" for m in meters)
    )

    def x(slack: float) -> float:
        return left + (right - left) * (slack + 0.5 + far) / (2 * far)

    below, above, at = ("below", "above", "step") if figure.has_levels else ("off", "on", "tau")
    sheet.text(x(-0.5) - 20, sheet.y + 12, below, size=11, anchor="end", fill=MUTED)
    sheet.text(x(-0.5) + 20, sheet.y + 12, above, size=11, fill=MUTED)
    sheet.text(x(-0.5), sheet.y + 12, at, size=11, anchor="middle", bold=True)
    for column, word in ((14, "M"), (54, at), (94, "state")):
        sheet.text(right + column, sheet.y + 12, word, size=11, fill=MUTED)
    sheet.y += 18
    top = sheet.y
    for m, middle in sheet.rows(meters):
        sheet.text(left - 10, middle + 4, _cut(m.name, 84), anchor="end")
        sheet.rect(left, middle - 6, right - left, 12, TRACK, rx=6)
        if m.low is not None and m.high is not None:
            a, b = x(m.low - m.tau - 0.4), x(m.high - m.tau + 0.4)
            band = f"{m.low} {m.high}"
            sheet.rect(a, middle - 6, b - a, 12, "#cfe3f1", stroke=BLUE, stroke_width=0.8, data_band=band)
            sheet.hatch(a, middle - 6, b - a, 12, SKY)
        sheet.line(x(-0.5), middle, x(m.slack), middle, BLUE if m.active else MUTED, 3)
        description = f"{m.name}: {m.matches} of {m.size} literals match, {m.tau} needed: {m.state}"
        with sheet.group(description, data_slack=m.slack):
            fill, stroke = (BLUE, PAPER) if m.active else (PAPER, MUTED)
            sheet.mark("circle", x(m.slack), middle, 5, fill, stroke)
        sheet.text(right + 14, middle + 4, str(m.matches))
        sheet.text(right + 54, middle + 4, str(m.tau))
        sheet.text(right + 94, middle + 4, m.state, bold=m.state.startswith("locked"))
    sheet.line(x(-0.5), top - 2, x(-0.5), sheet.y + 2, INK, 1.6)
    for tick in nice_ticks(-far + 0.5, far - 0.5):
        if tick == int(tick):
            sheet.line(x(tick), sheet.y + 2, x(tick), sheet.y + 6, MUTED)
            sheet.text(
                x(tick), sheet.y + 17, f"{tick:+g}" if tick else "0", size=11, anchor="middle", fill=MUTED
            )
    sheet.y += 20
    hatched = f"; hatched: M stays inside with {figure.banded}" if figure.banded else ""
    return sheet.done(f"{figure.axis}: filled{hatched}", _left_out(figure.left_out, "neuron"))


def nice_ticks(low: float, high: float, max_count: int = 9) -> list[float]:
    """Return at most this many round, evenly spaced numbers between two ends.

    Examples
    --------
    >>> nice_ticks(0, 6.2), nice_ticks(-20.5, 20.5)
    ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [-20.0, -15.0, -10.0, -5.0, 0.0, 5.0, 10.0, 15.0, 20.0])
    """
    if not high > low:
        return [low]
    power = math.floor(math.log10((high - low) / max_count))
    step = next(s for s in (10.0**power * k for k in (1, 2, 5, 10, 20)) if (high - low) / s <= max_count)
    return [
        round(k * step, 12) for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


@draw.register
def _(figure: Race) -> Html:
    names = min(max([_width(v.name, 12) for v in figure.votes] + [40.0]), 150.0)
    left = 12 + names + 10
    track = 220.0
    gap = 22 + max([_width(f"{v.votes} of {v.size}", 12) for v in figure.votes] + [50.0])
    second = left + track + gap
    width = second + 60 + 56 + 62 + 92 * any(v.truth for v in figure.votes)
    sheet = _Sheet(
        width, figure.title, "; ".join(f"{v.name}: {v.votes} of {v.size} votes" for v in figure.votes)
    )
    max_size = max([v.size for v in figure.votes] + [1])
    sheet.text(left, sheet.y + 12, "votes", size=11, fill=MUTED)
    sheet.text(second, sheet.y + 12, "possibility", size=11, fill=MUTED)
    sheet.y += 18
    for v, middle in sheet.rows(figure.votes):
        sheet.text(left - 10, middle + 4, _cut(v.name, names), anchor="end", bold=v.predicted)
        sheet.rect(left, middle - 6, track * v.size / max_size, 12, TRACK)
        colour = BLUE if v.predicted else SKY
        sheet.rect(left, middle - 6, track * v.votes / max_size, 12, colour, data_votes=v.votes)
        if not v.predicted:
            sheet.hatch(left, middle - 6, track * v.votes / max_size, 12, PAPER)
        sheet.text(left + track + 8, middle + 4, f"{v.votes} of {v.size}", bold=v.predicted)
        sheet.rect(second, middle - 6, 60, 12, TRACK)
        colour, degree = INK if v.predicted else MUTED, f"{v.possibility:.6g}"
        sheet.rect(second, middle - 6, 60 * v.possibility, 12, colour, data_possibility=degree)
        sheet.text(second + 68, middle + 4, _degree(v.possibility), bold=v.predicted)
        tags = ["predicted"] * v.predicted + ["true class"] * v.truth
        sheet.text(second + 112, middle + 4, ", ".join(tags), size=11, bold=True)
    return sheet.done(_left_out(figure.left_out, "class"))


def _degree(value: float) -> str:
    return "1" if value == 1 else "< 0.001" if value < 0.001 else f"{value:.3f}"


# -- capacities ----------------------------------------------------------------------------------------------

_BOX, _HEAD, _VALUE, _APART = 76.0, 17.0, 18.0, 34.0
"""Sizes of a set in a lattice: its width, the height of its name and of a value, and the space above it."""


@draw.register
def _(figure: Lattice) -> Html:
    n = len(figure.criteria)
    layers = [[one for one in figure.sets if len(one.members) == size] for size in range(n, -1, -1)]
    widest = max(len(layer) for layer in layers)
    sheet = _Sheet(
        max(24 + widest * (_BOX + 8), 380),
        figure.title,
        "; ".join(f"{figure.key(one)}: {_worth(one)}" for one in figure.sets),
    )
    _legend(sheet, figure)
    high = _HEAD + 2 * _VALUE
    index = {}
    for depth, layer in enumerate(layers):
        for number, one in enumerate(sorted(layer, key=lambda one: one.members)):
            middle = sheet.width / 2 + (number - (len(layer) - 1) / 2) * (_BOX + 8)
            index[one.members] = (middle, sheet.y + 6 + depth * (high + _APART))
    for members, (x, y) in index.items():
        for gone in members:
            below = index[tuple(member for member in members if member != gone)]
            sheet.line(x, y + high, below[0], below[1], RULE, 0.9)
    for one in figure.sets:
        _lattice_set(sheet, figure, one, *index[one.members])
    sheet.y += 6 + len(layers) * (high + _APART) - _APART + 8
    return sheet.done(figure.caption)


def _worth(one: LatticeSet) -> str:
    return one.low_text if one.settled else f"{one.low_text} to {one.high_text}"


def _legend(sheet: _Sheet, figure: Lattice) -> None:
    """Draw the criterion of each letter, in as many rows as required."""
    x, sheet.y = 12.0, sheet.y + 14
    for letter, name in zip(figure.letters, figure.criteria, strict=True):
        label = _cut(name, sheet.width - 60)
        room = 16 + _width(label, 12) + 14
        if x > 12 and x + room > sheet.width:
            x, sheet.y = 12.0, sheet.y + 18
        sheet.text(x, sheet.y, letter, bold=True)
        sheet.text(x + 14, sheet.y, label)
        x += room
    sheet.y += 10


def _lattice_set(sheet: _Sheet, figure: Lattice, one: LatticeSet, x: float, y: float) -> None:
    left, key = x - _BOX / 2, figure.key(one)
    named = " and ".join(figure.criteria[index] for index in one.members) or "no criteria"
    with sheet.group(f"{named}: {_worth(one)}", data_set=key, data_low=one.low_text, data_high=one.high_text):
        high = _HEAD + 2 * _VALUE
        sheet.rect(left, y, _BOX, high, PAPER)
        cells = [(one.high, one.high_text, 1.0), (one.low, one.low_text, 1.0)]
        if one.settled:
            cells = [(one.low, one.low_text, 2.0)]
        top = y + _HEAD
        for share, text, tall in cells:
            sheet.rect(left, top, _BOX, tall * _VALUE, blues(share))
            colour = PAPER if share > 0.45 else INK
            size = 11 if _width(text, 11) <= _BOX - 4 else 9.5
            sheet.text(
                x,
                top + tall * _VALUE / 2 + 4,
                _cut(text, _BOX - 4, size),
                size=size,
                anchor="middle",
                fill=colour,
            )
            top += tall * _VALUE
        if not one.settled:
            sheet.line(left, y + _HEAD + _VALUE, left + _BOX, y + _HEAD + _VALUE, PAPER, 1)
        sheet.text(x, y + 13, key, size=11.5, anchor="middle", bold=True)
        wide, stroke = (2.2, INK) if one.focal else (1, MUTED)
        sheet.rect(left, y, _BOX, high, "none", stroke=stroke, stroke_width=wide, rx=2)


@draw.register
def _(figure: Focals) -> Html:
    names = figure.short_names
    step, left = 24.0, 20.0
    slant = max([_width(name, 12) for name in names] + [20.0])
    right = left + step * len(names)
    texts = max([_width(row.words, 12) for row in figure.rows] + [40.0])
    width = max(right + max(18 + texts, 0.77 * slant) + 12, 320)
    descriptions = (
        f"{' and '.join(figure.criteria[i] for i in row.members)}: {row.words}" for row in figure.rows
    )
    sheet = _Sheet(width, figure.title, "; ".join(descriptions))
    sheet.y += 0.64 * slant + 8
    for column, name in enumerate(names):
        x = left + step * (column + 0.5)
        turned = f"rotate(-40 {decimal(x)} {decimal(sheet.y)})"
        sheet.parts.append(element("text", name, x=x, y=sheet.y, font_size=12, fill=INK, transform=turned))
    sheet.y += 8
    for row, middle in sheet.rows(figure.rows):
        sheet.line(left, sheet.y + _ROW, right, sheet.y + _ROW, RULE, 0.6)
        ends = [left + step * (i + 0.5) for i in (row.members[0], row.members[-1])] if row.members else []
        if len(ends) == 2 and ends[0] < ends[1]:
            sheet.line(ends[0], middle, ends[1], middle, INK, 1.4)
        with sheet.group(
            data_members=" ".join(figure.criteria[i] for i in row.members), data_words=row.words
        ):
            for column in range(len(names)):
                x = left + step * (column + 0.5)
                if column in row.members:
                    sheet.mark("circle", x, middle, 6.5, blues(max(float(row.share), 0.25)), INK)
                else:
                    sheet.mark("circle", x, middle, 2, RULE, RULE)
        sheet.text(right + 12, middle + 4, row.words)
    sheet.y += 4
    return sheet.done(figure.caption, _left_out(figure.left_out, "set"))


# -- charts --------------------------------------------------------------------------------------------------


@draw.register
def _(figure: Bars) -> Html:
    names = min(max([_width(b.name, 12) for b in figure.bars] + [40.0]), 190.0)
    texts = min(max([_width(b.text, 12) for b in figure.bars] + [40.0]), 220.0)
    left, track = 12 + names + 10, 240.0
    sheet = _Sheet(
        max(440.0, left + track + 10 + texts + 12),
        figure.title,
        "; ".join(f"{b.name}: {b.text}" for b in figure.bars),
    )
    top = float(figure.top) or 1.0
    for b, middle in sheet.rows(figure.bars):
        sheet.text(left - 10, middle + 4, _cut(b.name, names), anchor="end", bold=b.strong)
        sheet.rect(left, middle - 6, track, 12, TRACK)
        long = track * float(b.value) / top
        sheet.rect(left, middle - 6, long, 12, BLUE if b.strong else SKY, data_value=b.value)
        if not b.strong:
            sheet.hatch(left, middle - 6, long, 12, PAPER)
        if b.low is not None and b.high is not None:
            a, z = left + track * float(b.low) / top, left + track * float(b.high) / top
            sheet.line(a, middle, z, middle, INK, 1.6)
            for end in (a, z):
                sheet.line(end, middle - 5, end, middle + 5, INK, 1.6)
        sheet.text(left + track + 10, middle + 4, _cut(b.text, texts), bold=b.strong)
    sheet.line(left, sheet.y + 2, left + track, sheet.y + 2, MUTED)
    for share in (0.0, 0.5, 1.0):
        x = left + track * share
        sheet.line(x, sheet.y + 2, x, sheet.y + 6, MUTED)
        label = f"{share * top:.0%}" if figure.percent else f"{share * top:,.4g}"
        sheet.text(x, sheet.y + 17, label, size=11, anchor="middle", fill=MUTED)
    sheet.y += 20
    return sheet.done(figure.axis, _left_out(figure.left_out, "bar"))


@draw.register
def _(figure: Histogram) -> Html:
    left, right, tall = 60.0, 500.0, 150.0
    sheet = _Sheet(524, figure.title)
    sheet.text(12, sheet.y + 10, figure.what, size=11, fill=MUTED)
    top = sheet.y + 18
    max_count = max([*figure.counts, 1])
    low, high = figure.edges[0], figure.edges[-1]

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    for share in (0, 0.5, 1):
        y = top + tall * (1 - share)
        sheet.line(left, y, right, y)
        sheet.text(
            left - 6,
            y + 4,
            f"{max_count * share:,.0f}" if max_count * share == int(max_count * share) else "",
            size=11,
            anchor="end",
            fill=MUTED,
        )
    for a, b, count in zip(figure.edges, figure.edges[1:], figure.counts, strict=False):
        if count:
            high_bar = tall * count / max_count
            wide = max(0.5, x(b) - x(a) - 1)
            sheet.rect(x(a) + 0.5, top + tall - high_bar, wide, high_bar, BLUE, data_count=count)
    if figure.mark is not None:
        at = x(figure.mark)
        sheet.line(at, top - 6, at, top + tall, VERMILLION, 1.6, stroke_dasharray="4 3")
        sheet.text(at + 4, top - 1, figure.mark_text, size=11, bold=True)
    for value in nice_ticks(low, high):
        sheet.line(x(value), top + tall, x(value), top + tall + 4, MUTED)
        sheet.text(x(value), top + tall + 16, f"{value:g}", size=11, anchor="middle", fill=MUTED)
    sheet.y = top + tall + 20
    return sheet.done(figure.axis)


@draw.register
def _(figure: Cactus) -> Html:
    left, right, tall = 70.0, 720.0, 320.0
    sheet = _Sheet(760, figure.title)
    sheet.text(12, sheet.y + 10, "seconds each", size=11, fill=MUTED)
    top = sheet.y + 22
    times = [t for _, row in figure.series for t in row]
    low = math.floor(math.log10(max(min(times, default=0.01), 1e-3)))
    high = max(low + 1, math.ceil(math.log10(max([*times, 1e-3]))))
    of = max(figure.of, 1)

    def x(count: float) -> float:
        return left + (right - left) * count / of

    def y(seconds: float) -> float:
        return top + tall - tall * (math.log10(max(seconds, 10.0**low)) - low) / (high - low)

    for k in range(low, high + 1):
        sheet.line(left, y(10.0**k), right, y(10.0**k))
        sheet.text(left - 8, y(10.0**k) + 4, f"{10.0**k:g} s", anchor="end")
    for k in range(0, figure.of + 1, max(1, figure.of // 10)):
        sheet.text(x(k), top + tall + 18, str(k), anchor="middle")
    for k, (_, row) in enumerate(figure.series):
        colour, shape = SERIES[k % len(SERIES)], SHAPES[k % len(SHAPES)]
        points = " ".join(
            f"{decimal(x(number))},{decimal(y(t))}" for number, t in enumerate(sorted(row), start=1)
        )
        sheet.add("polyline", points=points, fill="none", stroke=colour, stroke_width=2)
        for number, t in enumerate(sorted(row), start=1):
            if number % max(1, figure.of // 20) == 0 or number == len(row):
                sheet.mark(shape, x(number), y(t), 5, colour)
    sheet.y = top + tall + 24
    sheet.caption(f"questions settled, of {figure.of}: each line shows how many took at most so long")
    for k, (name, row) in enumerate(figure.series):
        sheet.y += 20
        sheet.mark(SHAPES[k % len(SHAPES)], 20, sheet.y - 4, 5, SERIES[k % len(SERIES)])
        sheet.text(32, sheet.y, f"{name}: {len(row)} of {figure.of}")
    return sheet.done()


@draw.register
def _(figure: Band) -> Html:
    left, right, tall = 60.0, 520.0, 220.0
    sheet = _Sheet(544, figure.title, "; ".join(f"{p.name}: {p.text}" for p in figure.points))
    sheet.text(12, sheet.y + 10, figure.what, size=11, fill=MUTED)
    top = sheet.y + 20
    far = max([p.x for p in figure.points] + [0.0]) or 1.0

    def x(value: float) -> float:
        return left + (right - left) * value / far

    def y(share: Any) -> float:
        return top + tall * (1 - float(share))

    for percentage in range(0, 101, 20):
        sheet.line(left, y(percentage / 100), right, y(percentage / 100))
        label = f"{percentage} %"
        sheet.text(left - 6, y(percentage / 100) + 4, label, size=11, anchor="end", fill=MUTED)
    for value in nice_ticks(0, far):
        sheet.line(x(value), top + tall, x(value), top + tall + 4, MUTED)
        sheet.text(x(value), top + tall + 16, f"{value:g}", size=11, anchor="middle", fill=MUTED)
    low = [f"{decimal(x(p.x))},{decimal(y(p.low))}" for p in figure.points]
    high = [f"{decimal(x(p.x))},{decimal(y(p.high))}" for p in figure.points]
    sheet.add("polygon", points=" ".join([*high, *reversed(low)]), fill="#cfe3f1", stroke="none")
    sheet.add("polyline", points=" ".join(high), fill="none", stroke=MUTED, stroke_dasharray="5 3")
    sheet.add("polyline", points=" ".join(low), fill="none", stroke=BLUE, stroke_width=2)
    for p in figure.points:
        with sheet.group(f"{p.name}: {p.text}", data_x=f"{p.x:g}", data_low=p.low, data_high=p.high):
            sheet.line(x(p.x), y(p.low), x(p.x), y(p.high), SKY, 1.4)
            sheet.mark("down", x(p.x), y(p.high), 4, PAPER, MUTED)
            sheet.mark("circle", x(p.x), y(p.low), 4.5, BLUE)
    sheet.y = top + tall + 20
    signs = "circles: at least, proved; triangles: at most, not refuted; lines only lead the eye"
    return sheet.done(figure.axis, signs)
