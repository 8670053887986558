"""An exact count in the Hamming ball of radius 4 around an MNIST image on a public network."""

from __future__ import annotations

import time

import sugenet as sg
from benchmarks import _zoo
from benchmarks.frontier.row import Row
from sugenet.reason import Counted

WORK = "zoo msakai, count at Hamming 4 around test image 0 (9.0 billion legal inputs)"
BEFORE = "about 130 s by extrapolation, never finished"


def run(quick: bool) -> Row:
    """Count, and let the checker count again; the quick one has radius 3."""
    zoo = _zoo.folder()
    if zoo is None:
        return Row(WORK, BEFORE, "not measured", {"count_r4_s": None})
    network, (images, _) = _zoo.msakai(zoo), _zoo.mnist(zoo)
    start, used = time.perf_counter(), time.process_time()
    answer = sg.count(network, images[0].tolist(), sg.Hamming(3 if quick else 4))
    seconds, work = time.perf_counter() - start, time.process_time() - used
    assert isinstance(answer, Counted)
    said = "" if quick else sg.check(answer, network, time_limit=None)
    now = f"{answer.counts} in {seconds:.1f} s, {work:.1f} s of processor time"
    name = "count_r3_s" if quick else "count_r4_s"
    return Row(WORK + (", radius 3" if quick else ""), BEFORE, f"{now}; {said}", {name: round(seconds, 1)})
