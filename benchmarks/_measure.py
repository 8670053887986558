"""Timing and drawing for the benchmarks: compared systems take turns, and the shortest of many times counts.

Other work on the machine only ever makes a time longer, so the minimum is the figure closest to the machine's
own. Taking turns spreads what slow spells there are over all systems alike.
"""

import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Point", "Watch", "machine", "roofline", "take_turns"]

# seconds between two systems: thread pools that spin after their work would otherwise slow the next system
_PAUSE = 0.02

_TURN = 0.05  # seconds a turn lasts about, but for systems that take longer: they are called twice


def take_turns(systems: Mapping[str, Callable[[], Any]], seconds: float, least: int = 5) -> dict[str, float]:
    """Return the shortest time of each system in seconds.

    Each turn of a system begins with a pause and one call that is not counted, so that its threads are awake
    and its data is in the caches, as in the middle of a long run.

    Parameters
    ----------
    systems : mapping of name to function without arguments
        What is compared.
    seconds : float
        Turns go on until this much time has passed.
    least : int
        But every system has at least this many turns.
    """
    best = dict.fromkeys(systems, float("inf"))
    start, turns = time.perf_counter(), 0
    while turns < least or time.perf_counter() - start < seconds:
        for name, call in systems.items():
            time.sleep(_PAUSE)
            call()
            for _ in range(max(2, min(500, int(_TURN / best[name])))):
                begin = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - begin)
        turns += 1
    return best


class Watch:
    """Tells how much of the machine other programs took since the watch was made,
    where the system says so (Linux).
    """

    def __init__(self) -> None:
        self._start = self._read()

    def others(self) -> float:
        """Return the share of all cores' time that went to other programs, 0 to 1;
        0 where it is not known.
        """
        busy, everything, own = (now - then for now, then in zip(self._read(), self._start, strict=True))
        return max(0.0, busy - own) / everything if everything else 0.0

    @staticmethod
    def _read() -> tuple[float, float, float]:
        path = Path("/proc/stat")
        if not path.exists():
            return 0.0, 0.0, 0.0
        ticks = [
            int(word) / os.sysconf("SC_CLK_TCK")
            for word in path.read_text(encoding="ascii").splitlines()[0].split()[1:9]
        ]
        own = os.times()
        return (
            sum(ticks) - ticks[3] - ticks[4],
            sum(ticks),
            own.user + own.system + own.children_user + own.children_system,
        )  # all but idle and waiting for disks; programs that it started, and that have ended, are its own


def machine() -> str:
    """Describe the processor in a few words."""
    lines = (
        Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if Path("/proc/cpuinfo").exists()
        else []
    )
    models = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    flags = next((line for line in lines if line.startswith("flags")), "")
    vectors = next((word for flag, word in _VECTORS if f" {flag}" in flags), "")
    return ", ".join(
        filter(None, [" / ".join(sorted(models)) or platform.processor() or platform.machine(), vectors])
    )


_VECTORS = (("avx512_vpopcntdq", "AVX-512 with VPOPCNTDQ"), ("avx512f", "AVX-512"), ("avx2", "AVX2"))


class Point(NamedTuple):
    """One measured system in a roofline picture."""

    name: str
    intensity: float  # products per byte moved
    rate: float  # products a second
    label: str
    right: bool = True  # on which side of the mark the label stands


_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
)  # Okabe and Ito: told apart by colour-blind people too
_SHAPES = ("circle", "square", "triangle", "diamond")  # and by people without colours
_LEFT, _RIGHT, _TOP, _BOTTOM = 80.0, 740.0, 40.0, 400.0


def roofline(points: Sequence[Point], peak: float, bandwidth: float) -> str:
    """Return an SVG picture: products a second over products per byte, under the roof that the machine sets.

    Parameters
    ----------
    points : sequence of Point
        The measured systems; those of one name share a colour and a shape.
    peak : float
        Products a second that the machine's own loop reaches in registers.
    bandwidth : float
        Bytes a second read from memory.
    """
    x0, x1 = 0.1, 1e4
    y0, y1 = (
        10 ** math.floor(math.log10(min(p.rate for p in points)) - 0.2),
        10 ** math.ceil(math.log10(peak) + 0.2),
    )

    def x(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * math.log(value / x0) / math.log(x1 / x0)

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * math.log(value / y0) / math.log(y1 / y0)

    out = [
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 560" font-family="sans-serif" '
            'font-size="13" fill="#222">'
        ),
        "<title>Roofline of binarized inference</title>",
        '<rect width="780" height="560" fill="#fff"/>',
    ]
    for k in range(round(math.log10(x0)), round(math.log10(x1)) + 1):
        out.append(
            f'<line x1="{x(10**k):.1f}" y1="{_TOP}" x2="{x(10**k):.1f}" y2="{_BOTTOM}" stroke="#e4e4e4"/>'
        )
        out.append(f'<text x="{x(10**k):.1f}" y="{_BOTTOM + 18}" text-anchor="middle">{10**k:,g}</text>')
    for k in range(round(math.log10(y0)), round(math.log10(y1)) + 1):
        out.append(
            f'<line x1="{_LEFT}" y1="{y(10**k):.1f}" x2="{_RIGHT}" y2="{y(10**k):.1f}" stroke="#e4e4e4"/>'
        )
        out.append(f'<text x="{_LEFT - 8}" y="{y(10**k) + 4:.1f}" text-anchor="end">{_short(10**k)}</text>')
    ridge = peak / bandwidth
    floor = max(x0, y0 / bandwidth)
    roof = f"{x(floor):.1f},{y(floor * bandwidth):.1f} {x(ridge):.1f},{y(peak):.1f} {_RIGHT},{y(peak):.1f}"
    out.append(f'<polyline points="{roof}" fill="none" stroke="#222" stroke-width="2"/>')
    out.append(
        f'<text x="{_RIGHT}" y="{y(peak) - 8:.1f}" text-anchor="end">XOR, popcount, add in registers: '
        f"{_short(peak)} products/s</text>"
    )
    steep = math.degrees(math.atan2(y(floor * bandwidth) - y(peak), x(ridge) - x(floor)))
    middle = floor**0.6 * ridge**0.4
    spot = f"{x(middle):.1f} {y(middle * bandwidth):.1f}"
    turned = f"translate({spot}) rotate({-steep:.1f}) translate(0 -8)"
    out.append(f'<text transform="{turned}" text-anchor="middle">memory: {bandwidth / 1e9:.0f} GB/s</text>')
    names = list(dict.fromkeys(p.name for p in points))
    for p in points:
        k = names.index(p.name)
        out.append(_mark(_SHAPES[k], x(p.intensity), y(p.rate), _COLOURS[k]))
        side, anchor = (11, "start") if p.right else (-11, "end")
        out.append(
            f'<text x="{x(p.intensity) + side:.1f}" y="{y(p.rate) + 15:.1f}" '
            f'text-anchor="{anchor}" font-size="11">{p.label}</text>'
        )
    for k, name in enumerate(names):
        left, low = _LEFT + 340 * (k % 2), _BOTTOM + 72 + 24 * (k // 2)
        out += [
            _mark(_SHAPES[k], left, low - 4, _COLOURS[k]),
            f'<text x="{left + 14}" y="{low}">{name}</text>',
        ]
    out.append(
        f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 40}" text-anchor="middle">products per '
        f"byte moved</text>"
    )
    out.append(f'<text x="{_LEFT - 60}" y="{_TOP - 16}">products per second</text>')
    return "\n".join([*out, "</svg>", ""])


def _short(value: float) -> str:
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:g}"


def _mark(shape: str, x: float, y: float, colour: str) -> str:
    paint = f'fill="{colour}" stroke="#fff"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" {paint}/>'
    if shape == "square":
        return f'<rect x="{x - 5.5:.1f}" y="{y - 5.5:.1f}" width="11" height="11" {paint}/>'
    corners = ((0, -7), (7, 6), (-7, 6)) if shape == "triangle" else ((0, -8), (8, 0), (0, 8), (-8, 0))
    return f'<polygon points="{" ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)}" {paint}/>'
