"""How long the checker takes to go through a walk again, against finding it."""

from __future__ import annotations

import time

import sugenet as sg
from benchmarks import _zoo
from benchmarks.frontier.row import Row

WORK = "re-checking a walk: zoo msakai, test image 10"
BEFORE = "2 to 3 times the time of finding it"


def run(quick: bool) -> Row:
    """Find and check in the same run; radius 3 keeps its patterns, radius 4 does not."""
    zoo = _zoo.folder()
    if zoo is None:
        return Row(WORK, BEFORE, "not measured", {"check_over_find": None})
    network, (images, _) = _zoo.msakai(zoo), _zoo.mnist(zoo)
    question = sg.Robust(images[10].tolist(), sg.Hamming(3 if quick else 4))
    start = time.process_time()
    answer = sg.verify(network, question, engine="flips")
    found, start = time.process_time() - start, time.process_time()
    sg.check(answer.certificate, network, time_limit=None)
    checked = time.process_time() - start
    ratio = checked / found
    now = f"radius {3 if quick else 4}: found in {found:.1f} s, checked in {checked:.1f} s of processor time"
    return Row(WORK, BEFORE, f"{now}: {ratio:.2f} times", {"check_over_find": round(ratio, 2)})
