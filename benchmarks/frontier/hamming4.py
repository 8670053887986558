"""Hamming 4 of robust MNIST images on a public 784-200-100-100-100-10 network."""

from __future__ import annotations

import time

import sugenet as sg
from benchmarks import _zoo
from benchmarks.frontier.row import Row

WORK = "zoo msakai, Hamming 4 of the first 20 images that no 3 flips turn"
BEFORE = (
    "image 10 proved in 52 s; image 0 open after 70 s, too many patterns to keep; image 3 refuted in 127 s"
)
_IMAGES = (0, 1, 3, 4, 6, 7, 10, 12, 13, 14, 15, 16, 17, 19, 21, 22, 23, 25, 26, 27)
_QUICK = (14,)


def run(quick: bool) -> Row:
    """Ask about each; the quick one has a violation that is found early."""
    zoo = _zoo.folder()
    if zoo is None:
        return Row(WORK, BEFORE, "not measured", {"hamming4_worst_s": None})
    network, (images, _) = _zoo.msakai(zoo), _zoo.mnist(zoo)
    seconds, work, decided, open_ = [], [], [], 0
    for number in _QUICK if quick else _IMAGES:
        start, used = time.perf_counter(), time.process_time()
        answer = sg.verify(network, sg.Robust(images[number].tolist(), sg.Hamming(4)), time_limit=600)
        seconds.append(time.perf_counter() - start)
        work.append(time.process_time() - used)
        decided.append(isinstance(answer, sg.Proved))
        open_ += isinstance(answer, sg.Undecided)
        print(f"  image {number}: {answer.verdict if hasattr(answer, 'verdict') else type(answer).__name__}, "
              f"{seconds[-1]:.1f} s, {work[-1]:.1f} s of processor time", flush=True)  # fmt: skip
    proved = sum(decided)
    now = (
        f"{proved} proved, {len(decided) - proved - open_} refuted, {open_} open; "
        f"worst {max(seconds):.1f} s, {max(work):.1f} s of processor time"
    )
    figures = {
        "hamming4_worst_s": round(max(seconds), 1),
        "hamming4_worst_cpu_s": round(max(work), 1),
        "hamming4_decided": f"{len(decided) - open_} of {len(decided)}",
    }
    return Row(WORK, BEFORE, now, figures)
