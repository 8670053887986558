"""Figures with matplotlib, the extra ``plot``: for papers, and for users who edit the axes further."""

import math
from functools import singledispatch
from math import comb
from textwrap import fill
from typing import Any

from sugenet.errors import SugenetError, how_to_install
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
    Meters,
    Pixels,
    Race,
    Strip,
    Swarm,
    Weights,
    blues,
    percent,
    plural,
)
from sugenet.visible import visible

__all__ = ["plot_figure"]

_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
_KINDS = {"up": ("^", VERMILLION), "down": ("v", BLUE), "other": ("D", VERMILLION), "kept": ("s", BLUE)}


def plot_figure(figure: Figure, ax: Any = None) -> Any:
    """Draw a figure on matplotlib axes, by default new ones; return them."""
    if ax is None:
        ax = _axes(figure)
    _draw(figure, ax)
    narrow = isinstance(figure, Pixels | Heat | Weights)
    ax.set_title(_plain(fill(figure.title, 30 if narrow else 64)), loc="left", fontsize=11, fontweight="bold")
    return ax


def _axes(figure: Figure) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise SugenetError(f"plot() needs matplotlib. Install it {how_to_install('plot')}") from error
    return pyplot.subplots(figsize=_size(figure), layout="constrained")[1]


def _size(figure: Figure) -> tuple[float, float]:
    match figure:
        case Pixels() | Heat() | Weights():
            return 3.2, 3.6
        case Board(rows=rows):
            return max(3.2, 0.6 + 0.3 * len(rows[0])), 1.0 + 0.3 * len(rows)
        case Lattice(criteria=names):
            return max(4.2, 0.95 * comb(len(names), len(names) // 2)), 1.3 + 0.95 * (len(names) + 1)
        case Focals(rows=rows, criteria=names):
            return 2.6 + 0.34 * len(names), 2.2 + 0.28 * max(1, len(rows))
        case Histogram() | Cactus() | Band():
            return 6.4, 3.6
        case Swarm(lanes=lanes):
            return 6.8, 1.4 + 0.55 * max(1, len(lanes))
        case Race(votes=rows):
            return 6.8, 1.7 + 0.28 * max(1, len(rows))
        case Meters(meters=rows) | Strip(rows=rows) | Bars(bars=rows):
            return 6.4, 1.2 + 0.28 * max(1, len(rows))


def _plain(text: str) -> str:
    """Return plain text: a dollar sign must not begin a formula, and invisible characters are spelled out."""
    return visible(text, keep="\n").replace("$", r"\$")


@singledispatch
def _draw(figure: Any, _ax: Any) -> None:
    raise TypeError(f"{type(figure).__name__} is not a figure.")


# -- images --------------------------------------------------------------------------------------------------


def _bare(ax: Any, caption: str) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_color(RULE)
    ax.set_xlabel(_plain(fill(caption, 44)), fontsize=8, color=MUTED)


@_draw.register
def _(figure: Pixels, ax: Any) -> None:
    from matplotlib.patches import Rectangle

    ax.imshow(figure.shades, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    for cell in figure.cells:
        marker, colour = _KINDS[cell.kind]
        for edge, wide in ((PAPER, 4.0), (colour, 2.0)):
            ax.add_patch(
                Rectangle(
                    (cell.column - 0.43, cell.row - 0.43),
                    0.86,
                    0.86,
                    fill=False,
                    edgecolor=edge,
                    linewidth=wide,
                )
            )
        if cell.kind != "kept":
            ax.plot(
                cell.column,
                cell.row,
                marker,
                color=colour,
                markeredgecolor=PAPER,
                markersize=max(3.0, 60 / len(figure.shades[0])),
            )
    _bare(ax, figure.caption)


@_draw.register
def _(figure: Heat, ax: Any) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shares = [[float(share or 0) for share in row] for row in figure.shares]
    ax.imshow(
        shares,
        cmap=LinearSegmentedColormap.from_list("shares", [blues(0), blues(1)]),
        vmin=0,
        vmax=float(figure.top),
        interpolation="nearest",
    )
    written = len(shares[0]) <= 10
    if written:
        for r, row in enumerate(figure.shares):
            for c, share in enumerate(row):
                if share:
                    ax.text(
                        c,
                        r,
                        percent(share),
                        ha="center",
                        va="center",
                        fontsize=8,
                        color=PAPER if share > 0.45 * figure.top else INK,
                    )
    _bare(ax, ("numbers in percent: " if written else "") + figure.caption)


@_draw.register
def _(figure: Board, ax: Any) -> None:
    from matplotlib.patches import Rectangle

    ax.set_xlim(0, len(figure.rows[0]))
    ax.set_ylim(len(figure.rows), 0)
    ax.set_aspect("equal")
    for r, row in enumerate(figure.rows):
        for c, cell in enumerate(row):
            if cell.kind != "plain":
                marker, colour = _KINDS[cell.kind]
                ax.add_patch(
                    Rectangle((c + 0.1, r + 0.1), 0.8, 0.8, fill=False, edgecolor=colour, linewidth=1.6)
                )
                if cell.kind != "kept":
                    ax.plot(c + 0.9, r + 0.1, marker, color=colour, markersize=4)
            weight = "normal" if cell.kind == "plain" else "bold"
            ax.text(
                c + 0.5, r + 0.53, _plain(cell.text), ha="center", va="center", fontsize=9, fontweight=weight
            )
    rows, columns = figure.lines
    for draw_line, ends in ((ax.axhline, rows), (ax.axvline, columns)):
        for k in ends:
            draw_line(k, color=INK, linewidth=0.8)
    _bare(ax, figure.caption)


@_draw.register
def _(figure: Weights, ax: Any) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    far = max((abs(w) for row in figure.weights for w in row), default=0) or 1
    shares = [[w / far for w in row] for row in figure.weights]
    colours = LinearSegmentedColormap.from_list("weights", [VERMILLION, PAPER, BLUE])
    ax.imshow(shares, cmap=colours, vmin=-1, vmax=1, interpolation="nearest")
    _bare(ax, "blue: positive weights; red: negative; darker: larger")


# -- rows ----------------------------------------------------------------------------------------------------


def _rows(ax: Any, names: list[str], caption: str, left_out: int, what: str) -> None:
    """Write names on the left side, the first on top."""
    ax.set_yticks(range(len(names)), [_plain(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(left=False)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    more = [f"and {left_out:,} more {plural(left_out, what)}"] if left_out else []
    ax.set_xlabel(_plain(fill("; ".join([caption] * bool(caption) + more), 52)), fontsize=9, color=MUTED)


def _beside(ax: Any, y: float, text: str, *, bold: bool = False, at: float = 1.01) -> None:
    """Write text to the right of a row, outside the axes."""
    ax.annotate(
        _plain(text),
        (at, y),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=9,
        fontweight="bold" if bold else "normal",
        annotation_clip=False,
    )


@_draw.register
def _(figure: Strip, ax: Any) -> None:
    for y, row in enumerate(figure.rows):
        if row.kind in _KINDS:
            marker, colour = _KINDS[row.kind]
            ax.plot(
                0.02,
                y,
                marker,
                color=colour,
                markersize=7,
                fillstyle="none" if row.kind == "kept" else "full",
                markeredgewidth=2,
            )
        ax.text(0.30, y, _plain(row.value), ha="right", va="center", fontsize=9)
        ax.text(0.34, y, _plain(row.words), ha="left", va="center", fontsize=9, color=MUTED)
        ax.axhline(y + 0.5, color=RULE, linewidth=0.6)
    _rows(ax, [row.name for row in figure.rows], figure.caption, figure.left_out, "feature")
    ax.set_xlim(0, 1)
    ax.set_xticks([])


@_draw.register
def _(figure: Meters, ax: Any) -> None:
    for y, m in enumerate(figure.meters):
        if m.low is not None and m.high is not None:
            width = m.high - m.low + 0.8
            ax.barh(
                y,
                width,
                left=m.low - m.tau - 0.4,
                height=0.55,
                facecolor="#cfe3f1",
                edgecolor=SKY,
                hatch="////",
                linewidth=0.8,
            )
        colour = BLUE if m.active else MUTED
        ax.plot([-0.5, m.slack], [y, y], color=colour, linewidth=2.5)
        ax.plot(m.slack, y, "o", color=colour, markerfacecolor=colour if m.active else PAPER, markersize=7)
        _beside(ax, y, f"M {m.matches}, tau {m.tau}: {m.state}", bold=m.state.startswith("locked"))
    ax.axvline(-0.5, color=INK, linewidth=1.4)
    far = max([abs(v) for v in ax.get_xlim()] + [3.5])
    ax.set_xlim(-far, far)
    ax.xaxis.get_major_locator().set_params(integer=True)
    band = f"; hatched: M stays inside with {figure.banded}" if figure.banded else ""
    caption = f"{figure.axis}{band}"
    _rows(ax, [m.name for m in figure.meters], caption, figure.left_out, "neuron")


@_draw.register
def _(figure: Race, ax: Any) -> None:
    for y, v in enumerate(figure.votes):
        ax.barh(y, v.size, height=0.6, color=TRACK)
        ax.barh(
            y,
            v.votes,
            height=0.6,
            facecolor=BLUE if v.predicted else SKY,
            hatch=None if v.predicted else "////",
            edgecolor=PAPER,
        )
        tags = ["predicted"] * v.predicted + ["true class"] * v.truth
        degree = "1" if v.possibility == 1 else f"{v.possibility:.3f}"
        _beside(
            ax,
            y,
            f"{v.votes} of {v.size}, possibility {degree}{'  ' if tags else ''}{', '.join(tags)}",
            bold=v.predicted,
            at=1.03,
        )
    max_size = max([v.size for v in figure.votes] + [1])
    ax.set_xlim(0, max_size)
    ax.xaxis.get_major_locator().set_params(integer=True)
    degrees = ax.twiny()
    degrees.plot(
        [v.possibility for v in figure.votes],
        range(len(figure.votes)),
        "D",
        color=INK,
        markeredgecolor=PAPER,
        clip_on=False,
    )
    degrees.set_xlim(0, 1)
    degrees.set_xlabel("possibility: diamonds", fontsize=9, color=MUTED)
    for side in ("right", "left"):
        degrees.spines[side].set_visible(False)
    _rows(ax, [v.name for v in figure.votes], "votes: literals that match", figure.left_out, "class")


@_draw.register
def _(figure: Bars, ax: Any) -> None:
    for y, b in enumerate(figure.bars):
        ax.barh(
            y,
            float(b.value),
            height=0.6,
            facecolor=BLUE if b.strong else SKY,
            hatch=None if b.strong else "////",
            edgecolor=PAPER,
        )
        if b.low is not None and b.high is not None:
            ax.plot([float(b.low), float(b.high)], [y, y], "|-", color=INK, markersize=9)
        _beside(ax, y, b.text, bold=b.strong)
    ax.set_xlim(0, float(figure.top) or 1.0)
    if figure.percent:
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    _rows(ax, [b.name for b in figure.bars], figure.axis, figure.left_out, "bar")


# -- capacities ----------------------------------------------------------------------------------------------


@_draw.register
def _(figure: Lattice, ax: Any) -> None:
    from matplotlib.patches import Rectangle

    n, index = len(figure.criteria), dict[tuple[int, ...], tuple[float, float]]()
    for size in range(n + 1):
        layer = sorted(one.members for one in figure.sets if len(one.members) == size)
        for number, members in enumerate(layer):
            index[members] = (number - (len(layer) - 1) / 2, 1.5 * size)
    for members, (x, y) in index.items():
        for gone in members:
            below = index[tuple(member for member in members if member != gone)]
            ax.plot([x, below[0]], [y, below[1] + 1], color=RULE, linewidth=0.8, zorder=1)
    for one in figure.sets:
        x, y = index[one.members]
        cells = [(one.low, one.low_text, y, 0.33), (one.high, one.high_text, y + 0.33, 0.33)]
        if one.settled:
            cells = [(one.low, one.low_text, y, 0.66)]
        ax.add_patch(Rectangle((x - 0.45, y), 0.9, 1, facecolor=PAPER, edgecolor="none", zorder=2))
        for share, text, bottom, tall in cells:
            ax.add_patch(
                Rectangle((x - 0.45, bottom), 0.9, tall, facecolor=blues(share), edgecolor=PAPER, zorder=3)
            )
            colour, letters = PAPER if share > 0.45 else INK, 8 if len(text) <= 10 else 6.5
            label = _plain(text if len(text) <= 13 else text[:12] + "…")
            ax.text(
                x,
                bottom + tall / 2,
                label,
                ha="center",
                va="center",
                fontsize=letters,
                color=colour,
                zorder=4,
            )
        ax.text(
            x, y + 0.83, figure.key(one), ha="center", va="center", fontsize=9, fontweight="bold", zorder=4
        )
        edge, wide = (INK, 1.8) if one.focal else (MUTED, 0.7)
        ax.add_patch(Rectangle((x - 0.45, y), 0.9, 1, fill=False, edgecolor=edge, linewidth=wide, zorder=5))
    half_width = max(abs(x) for x, _ in index.values()) + 0.6
    ax.set_xlim(-half_width, half_width)
    ax.set_ylim(-0.15, 1.5 * n + 1.15)
    names = ", ".join(f"{a}: {name}" for a, name in zip(figure.letters, figure.criteria, strict=True))
    _bare(ax, "")
    wide = max(48, int(26 * half_width))
    ax.set_xlabel(
        f"{_plain(fill(names, wide))}\n{_plain(fill(figure.caption, wide))}", fontsize=8, color=MUTED
    )
    for side in ax.spines.values():
        side.set_visible(False)


@_draw.register
def _(figure: Focals, ax: Any) -> None:
    for y, row in enumerate(figure.rows):
        rest = [i for i in range(len(figure.criteria)) if i not in row.members]
        ax.plot(rest, [y] * len(rest), "o", color=RULE, markersize=3)
        held = [y] * len(row.members)
        ax.plot(
            row.members,
            held,
            "o-",
            color=INK,
            markerfacecolor=blues(max(float(row.share), 0.25)),
            markersize=9,
            linewidth=1.2,
        )
        _beside(ax, y, row.words)
    _rows(ax, [""] * len(figure.rows), figure.caption, figure.left_out, "set")
    ax.set_xlim(-0.6, len(figure.criteria) - 0.4)
    names = figure.short_names
    ax.set_xticks(
        range(len(names)), [_plain(name) for name in names], rotation=40, ha="left", rotation_mode="anchor"
    )
    ax.xaxis.tick_top()
    ax.tick_params(top=False)
    ax.spines["bottom"].set_visible(False)


# -- charts --------------------------------------------------------------------------------------------------


@_draw.register
def _(figure: Histogram, ax: Any) -> None:
    ax.stairs(figure.counts, figure.edges, fill=True, color=BLUE)
    if figure.mark is not None:
        ax.axvline(figure.mark, color=VERMILLION, linestyle="--")
        ax.annotate(
            figure.mark_text,
            (figure.mark, 0.96),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
        )
    ax.set_xlabel(_plain(figure.axis))
    ax.set_ylabel(_plain(figure.what))


@_draw.register
def _(figure: Swarm, ax: Any) -> None:
    crowd = max([dots.known + dots.at_least for _, lane in figure.lanes for dots in lane] + [1])
    for y, (_, lane) in enumerate(figure.lanes):
        for dots in lane:
            count = dots.known + dots.at_least
            tall = max(1, math.ceil(math.sqrt(crowd)))
            for k in range(count):
                column, row = divmod(k, tall)
                ax.plot(
                    dots.value + 0.8 * (column - (math.ceil(count / tall) - 1) / 2) / tall,
                    y + 0.8 * (row - (min(tall, count - column * tall) - 1) / 2) / tall,
                    "o",
                    color=BLUE,
                    fillstyle="full" if k < dots.known else "none",
                    markersize=3,
                )
    _rows(ax, [name for name, _ in figure.lanes], f"{figure.axis}; {figure.caption}".strip("; "), 0, "class")
    ax.xaxis.get_major_locator().set_params(integer=True)


@_draw.register
def _(figure: Cactus, ax: Any) -> None:
    for k, (name, row) in enumerate(figure.series):
        marker, colour = _MARKERS[SHAPES[k % len(SHAPES)]], SERIES[k % len(SERIES)]
        counts = range(1, len(row) + 1)
        label = _plain(f"{name}: {len(row)} of {figure.of}")
        ax.plot(
            counts,
            sorted(row),
            color=colour,
            marker=marker,
            markevery=max(1, math.ceil(figure.of / 20)),
            label=label,
        )
    ax.set_yscale("log")
    ax.set_xlim(0, max(1, figure.of))
    ax.set_xlabel(f"questions settled, of {figure.of}")
    ax.set_ylabel("seconds each")
    if figure.series:
        ax.legend(frameon=False)


@_draw.register
def _(figure: Band, ax: Any) -> None:
    indices = [p.x for p in figure.points]
    low, high = [float(p.low) for p in figure.points], [float(p.high) for p in figure.points]
    ax.fill_between(indices, low, high, color="#cfe3f1")
    ax.vlines(indices, low, high, color=SKY)
    ax.plot(indices, high, "v--", color=MUTED, markerfacecolor=PAPER, label="at most: not refuted")
    ax.plot(indices, low, "o-", color=BLUE, label="at least: proved")
    ax.set_ylim(0, 1.02)
    ax.set_xlim(0, None)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlabel(_plain(figure.axis))
    ax.set_ylabel(_plain(figure.what))
    ax.legend(frameon=False)
