"""How long the checker takes to go through sets again, against finding that none is a violation.

Two forms of enumeration: walks whose patterns are kept, also of a large convolutional network of random
weights, and blocks, of combinations of free bits too. Each
question is asked and checked some times in turns, and the least processor time of both counts; a first run,
which may compile, is not measured. Products of matrices get one thread, since others that wait for work would
count.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import sugenet as sg
from benchmarks import _zoo
from benchmarks.conv import Task
from benchmarks.frontier.row import Row
from benchmarks.limits import ahead
from sugenet.nn import Network

WORK = "re-checking a walk, against finding it: the worst of several kinds"
BEFORE = "walks 2 to 5 times the time of finding them, sweeps 0.6, combinations 0.6 to 1.4"


def run(quick: bool) -> Row:
    """Find and check in the same run; with `quick` one question of each kind."""
    zoo = _zoo.folder()
    if zoo is None:
        return Row(WORK, BEFORE, "not measured", {"check_over_find": None})
    ratios = []
    for name, network, question, engine in _questions(zoo, quick):
        answer, said, found, checked = _least(network, question, engine, 0.5 if quick else 5.0)
        assert isinstance(answer, sg.Proved), f"{name} was not proved"
        ratios.append((checked / found, f"{said[said.index('(') + 1 : -1]}, {name}"))
        print(f"  {ratios[-1][1]}: {answer.sets:,} sets, found in {found:.3f} s, checked in {checked:.3f} s"
              f" of processor time: {ratios[-1][0]:.2f} times", flush=True)  # fmt: skip
    worst, where = max(ratios)
    least, _ = min(ratios)
    now = f"{least:.2f} to {worst:.2f} times the processor time of finding it ({where})"
    return Row(WORK, BEFORE, now, {"check_over_find": round(worst, 2)})


def _questions(zoo: Any, quick: bool) -> Iterator[tuple[str, Network, sg.Robust, str]]:
    network, (images, _) = _zoo.msakai(zoo), _zoo.mnist(zoo)
    for number, radius in ((10, 2), (0, 3)) if quick else ((7, 2), (10, 2), (0, 2), (0, 3), (10, 3), (10, 4)):
        ball = sg.Robust(images[number].tolist(), sg.Hamming(radius))
        yield f"msakai, image {number}, Hamming {radius}", network, ball, "flips"
    if not quick:
        digits, samples = sg.models.digits(), sg.models.samples("digits")[0]
        for number in (1, 12):
            yield f"digits, sample {number}, L1 10", digits, sg.Robust(samples[number], sg.L1(10)), "flips"
        image = np.random.default_rng(1).integers(0, 256, 3072).tolist()
        yield "shape of CNV, L0 1", ahead(Task.random().network, 200), sg.Robust(image, sg.L0(1)), "flips"
    wide = _zoo.lfc(zoo)
    for number in (9,) if quick else (9, 77, 28):
        ball = sg.Robust(images[number].astype(int).tolist(), sg.Linf(25))
        yield f"lfcW1A1, image {number}, L-inf 25", wide, ball, "exhaust"


def _least(
    network: Network, question: sg.Robust, engine: str, enough: float
) -> tuple[Any, str, float, float]:
    """The answer, what the checker says of it, and the least processor time of finding and of checking it, in
    turns: up to ten of each behind a first one, no more once they have taken enough seconds.
    """
    found: list[float] = []
    checked: list[float] = []
    answer: Any = None
    said = ""
    with threadpool_limits(1):
        while len(found) < 11 and sum(found[1:]) + sum(checked[1:]) < 2 * enough:
            start = time.process_time()
            answer = sg.verify(network, question, engine=engine)
            middle = time.process_time()
            said = sg.check(answer.certificate, network, time_limit=None)
            found.append(middle - start)
            checked.append(time.process_time() - middle)
    return answer, said, min(found[1:]), min(checked[1:])
