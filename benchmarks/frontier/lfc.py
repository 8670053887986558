"""Robustness of a wide binarized network: L-infinity 25 of 255 around test images of lfcW1A1.

Pixels are read as above 127 or not, so that a ball frees those that lie within 25 of that: 2 to 34 bits. What
bounds and search leave open is exhausted, one bit at a time.
"""

import time
from collections import Counter

import sugenet as sg
from benchmarks._zoo import folder, lfc, mnist
from benchmarks.frontier.row import Row

_RADIUS, _IMAGES, _LIMIT = 25, 100, 60.0
_FEW = (0, 9, 77)
"""Images of up to 21 free bits."""


def run(quick: bool) -> Row:
    """Ask about the first 100 images, 60 s each; with `quick` about a few, of which one is checked again."""
    work = f"lfcW1A1 784-1024-1024-1024-10, L-inf {_RADIUS}, first {_IMAGES} test images, {_LIMIT:g} s each"
    before = "82 proved, 3 refuted, 15 open in 6 s each: at most 22 free bits"
    zoo = folder()
    if zoo is None:
        return Row(work, before, "not measured", {})
    network, (X, _) = lfc(zoo), mnist(zoo)
    which = _FEW if quick else range(_IMAGES)
    seen: Counter[str] = Counter()
    slowest, walked, spent, checked = 0.0, 0, 0.0, 0.0
    for number in which:
        start, used = time.perf_counter(), time.process_time()
        ball = sg.Robust(X[number].astype(int).tolist(), sg.Linf(_RADIUS))
        answer = sg.verify(network, ball, time_limit=_LIMIT)
        slowest = max(slowest, time.perf_counter() - start)
        seen[type(answer).__name__] += 1
        if isinstance(answer, sg.Proved) and answer.engine == "exhaust" and answer.sets:
            walked += answer.sets
            spent += time.process_time() - used
            if not checked:
                used = time.process_time()
                sg.check(answer.certificate, network)
                checked = (time.process_time() - used) / answer.sets
    asked = sum(seen.values())
    now = f"{seen['Proved']} proved, {seen['Refuted']} refuted, {seen['Undecided']} open of {asked}"
    now += f", the slowest in {slowest:.1f} s"
    if walked:
        now += f"; {spent / walked * 1e9:.0f} ns of processor time a combination"
        now += f", {checked * 1e9:.0f} to check one"
    figures = {"lfc25_proved": seen["Proved"], "lfc25_open": seen["Undecided"], "lfc25_asked": asked}
    return Row(work, before, now, figures)
