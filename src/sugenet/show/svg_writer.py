"""Figures as inline SVG: text that a notebook, a report and a printer show alike, without any library.

Each picture brings its own white paper, so that it is legible on a dark page. It says what it shows in its
`title` element, and nothing is told by colour alone: there are shapes, frames, hatching and words beside it.
Only attributes are used, no styles, scripts or ids.
"""

from __future__ import annotations

import math
from functools import singledispatch
from textwrap import wrap
from typing import Any

from sugenet.show.figures import (
    Bars,
    Cactus,
    Figure,
    Heat,
    Histogram,
    Meters,
    Pixels,
    Strip,
    Votes,
    percent,
    plural,
)
from sugenet.show.markup import safe
from sugenet.show.palette import (
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
    blues,
    grey,
)

__all__ = ["nice_ticks", "svg"]

_ROW = 22
_LETTER = 0.63
"""Width of a letter, as a share of its size: that of wide sans-serif fonts,
since nobody knows which one the reader has.
"""


def svg(figure: Figure) -> str:
    """A figure as SVG text.

    Examples
    --------
    >>> from sugenet.show.figures import Pixels
    >>> svg(Pixels("a < b", ((0.0, 1.0), (1.0, 0.0)))).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    return _draw(figure)


@singledispatch
def _draw(figure: Any) -> str:
    raise TypeError(f"{type(figure).__name__} is no figure.")


# -- paper and pencil ----------------------------------------------------------------------------------------


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _width(text: str, size: float) -> float:
    """About how wide a text is; a little too much rather than too little."""
    return _LETTER * size * len(text)


def _cut(text: str, room: float, size: float = 12) -> str:
    most = max(3, int(room / (_LETTER * size) + 1e-6))
    return text if len(text) <= most else text[: most - 1] + "…"


class _Sheet:
    """A sheet of paper that grows downwards."""

    def __init__(self, width: float, title: str, words: str = "") -> None:
        self.width, self.title, self.words = width, title, words
        self.parts: list[str] = []
        self.y = 10.0
        for line in wrap(title, max(8, int((width - 24) / (0.65 * 13)))):
            self.y += 16
            self.text(12, self.y - 3, line, size=13, weight="bold")
        self.y += 6

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12,
        anchor: str = "start",
        fill: str = INK,
        weight: str = "normal",
    ) -> None:
        extra = (f' text-anchor="{anchor}"' if anchor != "start" else "") + (
            f' font-weight="{weight}"' if weight != "normal" else ""
        )
        self.parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="{fill}"{extra}>{safe(words)}</text>'
        )

    def rect(self, x: float, y: float, width: float, height: float, fill: str, extra: str = "") -> None:
        self.parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" fill="{fill}"{extra}/>'
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        stroke: str = RULE,
        width: float = 1,
        extra: str = "",
    ) -> None:
        self.parts.append(
            f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" '
            f'stroke="{stroke}" stroke-width="{_n(width)}"{extra}/>'
        )

    def hatch(self, x: float, y: float, width: float, height: float, stroke: str) -> None:
        """Diagonal lines over a rectangle: a mark that needs no colour."""
        steps, d = [], 5.0
        start = d
        while start < width + height:
            x1, y1 = (x + start, y) if start <= width else (x + width, y + start - width)
            x2, y2 = (x, y + start) if start <= height else (x + start - height, y + height)
            steps.append(f"M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}")
            start += d
        if steps:
            self.parts.append(
                f'<path d="{"".join(steps)}" stroke="{stroke}" stroke-width="0.8" fill="none"/>'
            )

    def caption(self, words: str) -> None:
        if words:
            for line in wrap(words, max(8, int((self.width - 24) / (0.58 * 11)))):
                self.y += 15
                self.text(12, self.y - 3, line, size=11, fill=MUTED)

    def done(self) -> str:
        height = self.y + 10
        words = f"<desc>{safe(self.words)}</desc>" if self.words else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_n(self.width)}" '
            f'height="{_n(height)}" viewBox="0 0 {_n(self.width)} {_n(height)}" font-family="system-ui, '
            f'sans-serif"><title>{safe(self.title)}</title>{words}<rect width="{_n(self.width)}" '
            f'height="{_n(height)}" rx="6" fill="{PAPER}"/>{"".join(self.parts)}</svg>'
        )


def _shape(shape: str, x: float, y: float, r: float, fill: str, stroke: str = PAPER) -> str:
    paint = f'fill="{fill}" stroke="{stroke}"'
    if shape == "circle":
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}" {paint}/>'
    if shape == "square":
        return f'<rect x="{_n(x - r)}" y="{_n(y - r)}" width="{_n(2 * r)}" height="{_n(2 * r)}" {paint}/>'
    corners = {
        "triangle": ((0, -1.1), (1.1, 0.9), (-1.1, 0.9)),
        "down": ((0, 1.1), (1.1, -0.9), (-1.1, -0.9)),
        "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    }[shape]
    return f'<polygon points="{" ".join(f"{_n(x + r * a)},{_n(y + r * b)}" for a, b in corners)}" {paint}/>'


_MARKS = {"up": ("triangle", VERMILLION), "down": ("down", BLUE), "other": ("diamond", VERMILLION)}


# -- images --------------------------------------------------------------------------------------------------

_IMAGE = 208.0
_MANY = 100


@_draw.register
def _(figure: Pixels) -> str:
    columns = len(figure.shades[0])
    cell = _IMAGE / max(columns, len(figure.shades))
    sheet = _Sheet(_IMAGE + 24, figure.title, "; ".join(c.words for c in figure.cells[:_MANY]))
    left, top = 12.0, sheet.y
    kept = {(c.row, c.column) for c in figure.cells if c.kind == "kept"}
    squares: dict[str, list[str]] = {}
    for r, row in enumerate(figure.shades):
        for c, share in enumerate(row):
            faint = kept and (r, c) not in kept  # what may change steps back
            colour = grey(round(share * 32) / 32 * (0.45 if faint else 1))
            squares.setdefault(colour, []).append(
                f"M{_n(left + c * cell)} {_n(top + r * cell)}h{_n(cell)}v{_n(cell)}h{_n(-cell)}z"
            )
    sheet.rect(left, top, cell * columns, cell * len(figure.shades), PAPER)
    for colour, paths in sorted(squares.items()):
        if colour != PAPER:
            sheet.parts.append(f'<path fill="{colour}" d="{"".join(paths)}" shape-rendering="crispEdges"/>')
    sheet.rect(left, top, cell * columns, cell * len(figure.shades), "none", f' stroke="{RULE}"')
    inset, wide = max(1.0, cell / 14), max(1.4, min(2.4, cell / 9))
    if len(kept) > _MANY:  # so many frames say where, not what: one path, without a word for each
        side = cell - 2 * inset
        path = (
            f"M{_n(left + c * cell + inset)} {_n(top + r * cell + inset)}h{_n(side)}v{_n(side)}h{_n(-side)}z"
            for r, c in sorted(kept)
        )
        sheet.parts.append(
            f'<path data-mark="kept" d="{"".join(path)}" fill="none" '
            f'stroke="{BLUE}" stroke-width="{_n(wide / 2)}"/>'
        )
    for mark in figure.cells if len(kept) <= _MANY else ():
        x, y = left + mark.column * cell, top + mark.row * cell
        frame = (
            f'x="{_n(x + inset)}" y="{_n(y + inset)}" width="{_n(cell - 2 * inset)}" '
            f'height="{_n(cell - 2 * inset)}" fill="none"'
        )
        shape, colour = _MARKS.get(mark.kind, ("", BLUE))
        inner = _shape(shape, x + cell / 2, y + cell / 2, cell / 5, colour) if shape else ""
        sheet.parts.append(
            f'<g data-mark="{mark.kind}"><title>{safe(mark.words)}</title><rect {frame} stroke="{PAPER}" '
            f'stroke-width="{_n(2 * wide)}"/><rect {frame} stroke="{colour}" '
            f'stroke-width="{_n(wide)}"/>{inner}</g>'
        )
    sheet.y = top + cell * len(figure.shades) + 4
    sheet.caption(figure.caption)
    return sheet.done()


@_draw.register
def _(figure: Heat) -> str:
    columns = len(figure.shares[0])
    cell = _IMAGE / max(columns, len(figure.shares))
    sheet = _Sheet(_IMAGE + 24, figure.title)
    left, top = 12.0, sheet.y
    for r, row in enumerate(figure.shares):
        for c, share in enumerate(row):
            if not share:
                continue
            x, y = left + c * cell, top + r * cell
            sheet.parts.append(
                f'<g data-share="{share}"><rect x="{_n(x)}" y="{_n(y)}" width="{_n(cell)}" '
                f'height="{_n(cell)}" fill="{blues(share)}"/>'
            )
            if cell >= 20:
                sheet.text(
                    x + cell / 2,
                    y + cell / 2 + 4,
                    percent(share),
                    size=10,
                    anchor="middle",
                    fill=_over(share),
                )
            sheet.parts.append("</g>")
    for k in range(len(figure.shares) + 1):
        sheet.line(left, top + k * cell, left + columns * cell, top + k * cell, RULE, 0.6)
    for k in range(columns + 1):
        sheet.line(left + k * cell, top, left + k * cell, top + len(figure.shares) * cell, RULE, 0.6)
    sheet.y = top + cell * len(figure.shares) + 8
    for k in range(5):
        x = left + 30 + k * 30
        sheet.rect(x, sheet.y, 30, 9, blues(k / 4), f' stroke="{RULE}" stroke-width="0.6"')
    sheet.text(left, sheet.y + 9, "0 %", size=11, fill=MUTED)
    sheet.text(left + 186, sheet.y + 9, "100 %", size=11, fill=MUTED)
    sheet.y += 13
    sheet.caption(("numbers in percent: " if cell >= 20 else "") + figure.caption)
    return sheet.done()


def _over(share: Any) -> str:
    return PAPER if share > 0.45 else INK


# -- tables --------------------------------------------------------------------------------------------------


@_draw.register
def _(figure: Strip) -> str:
    names = max([_width(row.name, 12) for row in figure.rows] + [60.0])
    values = max([_width(row.value, 12) for row in figure.rows] + [30.0])
    names, values = min(names, 190.0), min(values, 150.0)
    words = min(max([_width(row.words, 12) for row in figure.rows] + [60.0]), 290.0)
    width = max(300.0, 12 + 20 + names + 14 + values + 18 + words + 12)
    sheet = _Sheet(width, figure.title)
    for row in figure.rows:
        middle = sheet.y + _ROW / 2
        sheet.parts.append(f'<g data-mark="{row.kind}">')
        if row.kind == "kept":
            sheet.rect(14, middle - 5, 10, 10, "none", f' stroke="{BLUE}" stroke-width="2"')
        elif row.kind in _MARKS:
            shape, colour = _MARKS[row.kind]
            sheet.parts.append(_shape(shape, 19, middle, 5.5, colour))
        sheet.text(32, middle + 4, _cut(row.name, names), weight="bold" if row.kind != "plain" else "normal")
        sheet.text(32 + names + 14 + values, middle + 4, _cut(row.value, values), anchor="end")
        sheet.text(32 + names + values + 32, middle + 4, _cut(row.words, words), fill=MUTED)
        sheet.parts.append("</g>")
        sheet.y += _ROW
        sheet.line(12, sheet.y, width - 12, sheet.y)
    _left_out(sheet, figure.left_out, "feature")
    sheet.caption(figure.caption)
    return sheet.done()


def _left_out(sheet: _Sheet, count: int, what: str) -> None:
    if count:
        sheet.caption(f"... and {count:,} more {plural(count, what)}")


# -- neurons and classes -------------------------------------------------------------------------------------


@_draw.register
def _(figure: Meters) -> str:
    meters, left, right = figure.meters, 96.0, 400.0
    ends = [m.slack for m in meters] + [e - m.tau for m in meters for e in (m.low, m.high) if e is not None]
    far = max([abs(e + 0.5) for e in ends] + [3.0]) + 0.6
    sheet = _Sheet(
        600, figure.title, "; ".join(f"{m.name}: M {m.matches}, tau {m.tau}, {m.state}" for m in meters)
    )

    def x(slack: float) -> float:
        return left + (right - left) * (slack + 0.5 + far) / (2 * far)

    sheet.text(x(-0.5) - 20, sheet.y + 12, "off", size=11, anchor="end", fill=MUTED)
    sheet.text(x(-0.5) + 20, sheet.y + 12, "on", size=11, fill=MUTED)
    sheet.text(x(-0.5), sheet.y + 12, "tau", size=11, anchor="middle", weight="bold")
    sheet.text(right + 14, sheet.y + 12, "M", size=11, fill=MUTED)
    sheet.text(right + 54, sheet.y + 12, "tau", size=11, fill=MUTED)
    sheet.text(right + 94, sheet.y + 12, "state", size=11, fill=MUTED)
    sheet.y += 18
    top = sheet.y
    for m in meters:
        middle = sheet.y + _ROW / 2
        sheet.text(left - 10, middle + 4, _cut(m.name, 84), anchor="end")
        sheet.rect(left, middle - 6, right - left, 12, TRACK, ' rx="6"')
        if m.low is not None and m.high is not None:
            a, b = x(m.low - m.tau - 0.4), x(m.high - m.tau + 0.4)
            sheet.rect(
                a,
                middle - 6,
                b - a,
                12,
                "#cfe3f1",
                f' stroke="{BLUE}" stroke-width="0.8" data-band="{m.low} {m.high}"',
            )
            sheet.hatch(a, middle - 6, b - a, 12, SKY)
        sheet.line(x(-0.5), middle, x(m.slack), middle, BLUE if m.active else MUTED, 3)
        mark = _shape(
            "circle", x(m.slack), middle, 5, BLUE if m.active else PAPER, PAPER if m.active else MUTED
        )
        sheet.parts.append(f'<g data-slack="{m.slack}"><title>{safe(_meter_words(m))}</title>{mark}</g>')
        sheet.text(right + 14, middle + 4, str(m.matches))
        sheet.text(right + 54, middle + 4, str(m.tau))
        sheet.text(
            right + 94, middle + 4, m.state, weight="bold" if m.state.startswith("locked") else "normal"
        )
        sheet.y += _ROW
    sheet.line(x(-0.5), top - 2, x(-0.5), sheet.y + 2, INK, 1.6)
    for tick in nice_ticks(-far + 0.5, far - 0.5):
        if tick == int(tick):
            sheet.line(x(tick), sheet.y + 2, x(tick), sheet.y + 6, MUTED)
            sheet.text(
                x(tick), sheet.y + 17, f"{tick:+g}" if tick else "0", size=11, anchor="middle", fill=MUTED
            )
    sheet.y += 20
    band = f"; hatched: M stays inside with {figure.banded}" if figure.banded else ""
    sheet.caption(f"matches above the threshold (M - tau); 0 or more is on: filled{band}")
    _left_out(sheet, figure.left_out, "neuron")
    return sheet.done()


def nice_ticks(low: float, high: float, most: int = 9) -> list[float]:
    """Round numbers between two ends, evenly spaced: at most so many.

    Examples
    --------
    >>> nice_ticks(0, 6.2), nice_ticks(-20.5, 20.5)
    ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [-20.0, -15.0, -10.0, -5.0, 0.0, 5.0, 10.0, 15.0, 20.0])
    """
    if not high > low:
        return [low]
    power = math.floor(math.log10((high - low) / most))
    step = next(s for s in (10.0**power * k for k in (1, 2, 5, 10, 20)) if (high - low) / s <= most)
    return [
        round(k * step, 12) for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def _meter_words(m: Any) -> str:
    return f"{m.name}: {m.matches} of {m.size} literals match, {m.tau} needed: {m.state}"


@_draw.register
def _(figure: Votes) -> str:
    names = min(max([_width(v.name, 12) for v in figure.votes] + [40.0]), 150.0)
    left = 12 + names + 10
    track = 220.0
    gap = 22 + max([_width(f"{v.votes} of {v.size}", 12) for v in figure.votes] + [50.0])
    second = left + track + gap
    width = second + 60 + 56 + 62 + 92 * any(v.truth for v in figure.votes)
    sheet = _Sheet(
        width, figure.title, "; ".join(f"{v.name}: {v.votes} of {v.size} votes" for v in figure.votes)
    )
    most = max([v.size for v in figure.votes] + [1])
    sheet.text(left, sheet.y + 12, "votes", size=11, fill=MUTED)
    sheet.text(second, sheet.y + 12, "possibility", size=11, fill=MUTED)
    sheet.y += 18
    for v in figure.votes:
        middle = sheet.y + _ROW / 2
        weight = "bold" if v.predicted else "normal"
        sheet.text(left - 10, middle + 4, _cut(v.name, names), anchor="end", weight=weight)
        sheet.rect(left, middle - 6, track * v.size / most, 12, TRACK)
        sheet.rect(
            left,
            middle - 6,
            track * v.votes / most,
            12,
            BLUE if v.predicted else SKY,
            f' data-votes="{v.votes}"',
        )
        if not v.predicted:
            sheet.hatch(left, middle - 6, track * v.votes / most, 12, PAPER)
        sheet.text(left + track + 8, middle + 4, f"{v.votes} of {v.size}", weight=weight)
        sheet.rect(second, middle - 6, 60, 12, TRACK)
        sheet.rect(
            second,
            middle - 6,
            60 * v.possibility,
            12,
            INK if v.predicted else MUTED,
            f' data-possibility="{v.possibility:.6g}"',
        )
        sheet.text(second + 68, middle + 4, _degree(v.possibility), weight=weight)
        said = ["predicted"] * v.predicted + ["true class"] * v.truth
        sheet.text(second + 112, middle + 4, ", ".join(said), size=11, weight="bold")
        sheet.y += _ROW
    _left_out(sheet, figure.left_out, "class")
    return sheet.done()


def _degree(value: float) -> str:
    return "1" if value == 1 else "< 0.001" if value < 0.001 else f"{value:.3f}"


# -- charts --------------------------------------------------------------------------------------------------


@_draw.register
def _(figure: Bars) -> str:
    names = min(max([_width(b.name, 12) for b in figure.bars] + [40.0]), 190.0)
    texts = min(max([_width(b.text, 12) for b in figure.bars] + [40.0]), 220.0)
    left, track = 12 + names + 10, 240.0
    sheet = _Sheet(
        max(440.0, left + track + 10 + texts + 12),
        figure.title,
        "; ".join(f"{b.name}: {b.text}" for b in figure.bars),
    )
    top = float(figure.top) or 1.0
    for b in figure.bars:
        middle = sheet.y + _ROW / 2
        weight = "bold" if b.strong else "normal"
        sheet.text(left - 10, middle + 4, _cut(b.name, names), anchor="end", weight=weight)
        sheet.rect(left, middle - 6, track, 12, TRACK)
        long = track * float(b.value) / top
        sheet.rect(left, middle - 6, long, 12, BLUE if b.strong else SKY, f' data-value="{b.value}"')
        if not b.strong:
            sheet.hatch(left, middle - 6, long, 12, PAPER)
        if b.low is not None and b.high is not None:
            a, z = left + track * float(b.low) / top, left + track * float(b.high) / top
            sheet.line(a, middle, z, middle, INK, 1.6)
            for end in (a, z):
                sheet.line(end, middle - 5, end, middle + 5, INK, 1.6)
        sheet.text(left + track + 10, middle + 4, _cut(b.text, texts), weight=weight)
        sheet.y += _ROW
    sheet.line(left, sheet.y + 2, left + track, sheet.y + 2, MUTED)
    for share in (0.0, 0.5, 1.0):
        x = left + track * share
        sheet.line(x, sheet.y + 2, x, sheet.y + 6, MUTED)
        label = f"{share * top:.0%}" if figure.percent else f"{share * top:,.4g}"
        sheet.text(x, sheet.y + 17, label, size=11, anchor="middle", fill=MUTED)
    sheet.y += 20
    sheet.caption(figure.axis)
    _left_out(sheet, figure.left_out, "bar")
    return sheet.done()


@_draw.register
def _(figure: Histogram) -> str:
    left, right, tall = 60.0, 500.0, 150.0
    sheet = _Sheet(524, figure.title)
    sheet.text(12, sheet.y + 10, figure.what, size=11, fill=MUTED)
    top = sheet.y + 18
    most = max([*figure.counts, 1])
    low, high = figure.edges[0], figure.edges[-1]

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    for share in (0, 0.5, 1):
        y = top + tall * (1 - share)
        sheet.line(left, y, right, y)
        sheet.text(
            left - 6,
            y + 4,
            f"{most * share:,.0f}" if most * share == int(most * share) else "",
            size=11,
            anchor="end",
            fill=MUTED,
        )
    for a, b, count in zip(figure.edges, figure.edges[1:], figure.counts, strict=False):
        if count:
            high_bar = tall * count / most
            sheet.rect(
                x(a) + 0.5,
                top + tall - high_bar,
                max(0.5, x(b) - x(a) - 1),
                high_bar,
                BLUE,
                f' data-count="{count}"',
            )
    if figure.mark is not None:
        sheet.line(
            x(figure.mark), top - 6, x(figure.mark), top + tall, VERMILLION, 1.6, ' stroke-dasharray="4 3"'
        )
        sheet.text(x(figure.mark) + 4, top - 1, figure.mark_words, size=11, weight="bold")
    for value in nice_ticks(low, high):
        sheet.line(x(value), top + tall, x(value), top + tall + 4, MUTED)
        sheet.text(x(value), top + tall + 16, f"{value:g}", size=11, anchor="middle", fill=MUTED)
    sheet.y = top + tall + 20
    sheet.caption(figure.axis)
    return sheet.done()


@_draw.register
def _(figure: Cactus) -> str:
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
        points = " ".join(f"{_n(x(number))},{_n(y(t))}" for number, t in enumerate(sorted(row), start=1))
        sheet.parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for number, t in enumerate(sorted(row), start=1):
            if number % max(1, figure.of // 20) == 0 or number == len(row):
                sheet.parts.append(_shape(shape, x(number), y(t), 5, colour))
    sheet.y = top + tall + 24
    sheet.caption(f"questions settled, of {figure.of}: each line shows how many took at most so long")
    for k, (name, row) in enumerate(figure.series):
        sheet.y += 20
        sheet.parts.append(_shape(SHAPES[k % len(SHAPES)], 20, sheet.y - 4, 5, SERIES[k % len(SERIES)]))
        sheet.text(32, sheet.y, f"{name}: {len(row)} of {figure.of}")
    return sheet.done()
