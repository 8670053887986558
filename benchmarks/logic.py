"""Sums and Sudoku grids of MNIST images by a public network: ``python -m benchmarks.logic [--quick]``.

The network is lfcW1A1 of BNN-PYNQ (784-1024-1024-1024-10), read from the folder that SUGENET_ZOO names. It
was trained on single digits; systems that were trained on sums alone are a harder setting, so their figures
stand beside ours for orientation and are not a comparison. Test images are put together at random, each once
in a round. Where the line between valid and invalid grids is drawn is fitted on training images alone.

Half of the grids are valid. The others are valid ones in which, once and then again with probability 1/2, a
cell is replaced by another digit or two cells are exchanged, until they are invalid; each cell is an image of
its digit, drawn at random.

The same tasks are done a second time by possibilistic rules with learned parameters, as Pi-NeSy does them
(`benchmarks._rules`). Sums have up to 100 digits there. If Pi-NeSy's code is there (`benchmarks._pinesy`), it
learns the parameters from the same equations in the same run, and from those of degrees that rules with
random parameters give. ``pi_nesy_largest_difference`` is that of a parameter. ``pi_nesy_seconds`` and
``rules_seconds`` are the times of both sets of equations, ours with certificates that are checked.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks import _pinesy, _rules, _zoo
from sugenet import logic
from sugenet.logic import GapLine, Reading, Sudoku, Sum, readings_of
from sugenet.logic.composed import Wanted
from sugenet.nn import Network

PUBLISHED = {1: "97.9", 2: "96.4", 4: "94.0", 15: "80.8"}
"""The best of systems that were trained on sums alone, as published."""


def sums_right(readings: tuple[Reading, ...], truth: np.ndarray, digits: int, rounds: int) -> tuple[int, int]:
    """How many sums of two numbers are right, each image being used once in a round; how many there are."""
    right = many = 0
    for seed in range(rounds):
        order = np.random.default_rng(seed).permutation(len(readings))
        for start in range(0, len(order) - 2 * digits + 1, 2 * digits):
            left, rest = order[start : start + digits], order[start + digits : start + 2 * digits]
            total = Sum(tuple(readings[k] for k in left), tuple(readings[k] for k in rest))
            wanted = sum(int("".join(str(truth[k]) for k in side)) for side in (left, rest))
            right += total.says == wanted
            many += 1
    return right, many


def drawn_grid(size: int, rng: np.random.Generator) -> np.ndarray:
    """A valid grid: one that is known, with digits, rows and columns exchanged in ways that keep it valid."""
    box = round(size**0.5)
    rows = [box * band + row for band in rng.permutation(box) for row in rng.permutation(box)]
    columns = [box * band + column for band in rng.permutation(box) for column in rng.permutation(box)]
    digits = rng.permutation(size) + 1
    return np.array(
        [[digits[(box * (r % box) + r // box + c) % size] for c in columns] for r in rows]
    ).ravel()


def is_valid(grid: np.ndarray, size: int) -> bool:
    square, box = grid.reshape(size, size), round(size**0.5)
    boxes = square.reshape(box, box, box, box).swapaxes(1, 2).reshape(size, size)
    return all(len(set(row)) == size for part in (square, square.T, boxes) for row in part)


def corrupted(grid: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    found = grid.copy()
    while is_valid(found, size) or rng.random() < 0.5:
        a, b = rng.choice(len(grid), 2, replace=False)
        if rng.random() < 0.5:
            found[a] = (found[a] + rng.integers(1, size) - 1) % size + 1
        else:
            found[a], found[b] = found[b], found[a]
    return found


def grids(network: Network, X: np.ndarray, y: np.ndarray, size: int, many: int, seed: int) -> dict[str, Any]:
    """Gaps and truths of grids of images, whether they are read as valid, and the seconds of each step."""
    rng = np.random.default_rng(seed)
    of_digit = {digit: np.flatnonzero(y == digit) for digit in range(1, size + 1)}
    names = ("gaps", "truths", "read", "reading", "deciding", "cells", "digits")
    found: dict[str, Any] = {name: [] for name in names}
    for number in range(many):
        digits = drawn_grid(size, rng)
        if number % 2:
            digits = corrupted(digits, size, rng)
        cells = X[[rng.choice(of_digit[digit]) for digit in digits]]
        start = time.perf_counter()
        grid = Sudoku.of(network, cells)
        found["reading"].append(time.perf_counter() - start)
        start = time.perf_counter()
        best = grid.min_gap(Wanted(True))
        found["deciding"].append(time.perf_counter() - start)
        found["gaps"].append(None if best is None else best[0])
        found["truths"].append(number % 2 == 0)
        found["read"].append(grid.says)
        found["cells"].append(grid.readings)
        found["digits"].append(digits.tolist())
    return found


def certified(network: Network, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds to prove that a sum of two numbers of two digits stays when any pixel of each image changes,
    and to check the certificate.
    """
    some = _zoo.right(network, X, y, 40)
    safe = [x for x in some if isinstance(sg.verify(network, sg.Robust(x, sg.L0(1))), sg.Proved)][:4]
    total = Sum.of(network, safe[:2], safe[2:])
    start = time.perf_counter()
    answer = logic.verify(total, sg.L0(1))
    found = time.perf_counter() - start
    start = time.perf_counter()
    said = sg.check(answer.certificate, network)
    checked = time.perf_counter() - start
    print(f"\n{answer}\nin {found:.2f} s; checked in {checked:.2f} s: {said}")
    return found + checked


def rules_for_sums(network: Network, readings: tuple[Reading, ...], y: Any, trained: Any, rounds: int) -> Any:
    """Learn the rules of a column, and return the fit and figures: the percentage of right sums of 100
    digits, and times. Print those of fewer digits.
    """
    rng = np.random.default_rng(5)
    chosen = rng.permutation(len(trained[0]))[:60]
    pairs = _rules.column_samples(readings_of(network, trained[0][chosen]), trained[1][chosen], rng)
    start = time.perf_counter()
    learned = _rules.learned_columns(*pairs)
    figures = {"rules_seconds": round(time.perf_counter() - start, 3)}
    print(f"\nrules of a column, learned from 30 pairs of training images\n{learned}")
    if _pinesy.folder() is None:
        print("Pi-NeSy is not in SUGENET_PEERS; its figures are null")
    else:
        made = _rules.degrees_by_chance(pairs[0], rng)
        start = time.perf_counter()
        both = [(learned, pairs[1]), (_rules.learned_columns(pairs[0], made), made)]
        figures["rules_seconds"] = round(figures["rules_seconds"] + time.perf_counter() - start, 3)
        found = [_pinesy.compared(fit, pairs[0], truths, _rules.TOLERANCE) for fit, truths in both]
        largest, seconds = max(one[0] for one in found), sum(one[1] for one in found)
        print(
            f"and from degrees by random parameters: {figures['rules_seconds']:.2f} s in all. Pi-NeSy takes "
            f"{seconds:.2f} s for both, and its parameters differ by at most {largest:.1g}"
        )
        figures |= {"pi_nesy_seconds": round(seconds, 3), "pi_nesy_largest_difference": largest}
    known = _rules.degrees(readings)
    print(f"{'digits':>6}{'sums':>8}{'by rules, right %':>20}{'digits right %':>16}")
    single = np.mean([reading.values[reading.best] == str(t) for reading, t in zip(readings, y, strict=True)])
    percent = 0.0
    for digits in (1, 2, 4, 15, 100):
        orders = [np.random.default_rng(seed).permutation(len(y)) for seed in range(rounds)]
        few = [order[: 100 * 2 * digits] if digits < 100 else order for order in orders]
        right, many = _rules.sums_by_rules(learned, known, y, digits, few)
        percent = round(100 * right / many, 2)
        print(f"{digits:>6}{many:>8,}{percent:>20}{100 * single ** (2 * digits):>16.2f}", flush=True)
    return learned, figures | {"pi_nesy_add100": percent}


def rules_for_grids(fitted: dict[str, Any], tested: dict[str, Any], size: int, many: int) -> Any:
    """Learn the rules of grids, and return their fits and the percentage of grids that are judged right."""
    few, some = 40, slice(0, many)
    truths = list(zip(fitted["digits"], fitted["truths"], strict=True))[:few]
    learned = _rules.learned_grids([_rules.degrees(one) for one in fitted["cells"][:few]], truths, size)
    cells = [_rules.degrees(one) for one in tested["cells"][some]]
    right = _rules.grids_by_rules(learned, cells, tested["truths"][some], size)
    print(f"     by learned rules, {len(cells)} grids: {100 * right / len(cells):.1f} % right")
    return learned, round(100 * right / len(cells), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and grids, within 50 s")
    quick = parser.parse_args().quick
    names = ["add1", "add2", "add4", "add15", "sudoku4", "sudoku9", "sudoku9_ms", "certified_sum_s"]
    names += ["pi_nesy_add100", "pi_nesy_sudoku4", "pi_nesy_sudoku9", "rules_learned_certified"]
    names += ["rules_seconds", "pi_nesy_seconds", "pi_nesy_largest_difference"]
    figures: dict[str, float | None] = dict.fromkeys(names)
    zoo = _zoo.folder()
    if zoo is not None:
        network = _zoo.lfc(zoo)
        X, y = _zoo.mnist(zoo)
        readings = readings_of(network, X, [f"image {k}" for k in range(len(X))])
        rounds = 2 if quick else 10
        print(f"{'digits':>6}{'sums':>8}{'right %':>9}{'trained on sums alone, up to %':>32}")
        for digits in (1, 2, 4, 15):
            right, many = sums_right(readings, y, digits, rounds)
            figures[f"add{digits}"] = round(100 * right / many, 2)
            print(f"{digits:>6}{many:>8,}{figures[f'add{digits}']:>9}{PUBLISHED[digits]:>32}", flush=True)
        trained = _zoo.mnist_train(zoo)
        learned, of_sums = rules_for_sums(network, readings, y, trained, rounds)
        figures |= of_sums
        fits = [learned]
        columns = ("tested", "line", "right %", "read only %", "ms to read", "ms to decide")
        print(f"\n{'grid':>6}" + "".join(f"{name:>14}" for name in columns))
        for size in (4, 9):
            fitted = grids(network, *trained, size, 100 if quick else 400, seed=1)
            line = GapLine.fit(fitted["gaps"], fitted["truths"])
            tested = grids(network, X, y, size, 200 if quick else 1000, seed=2)
            said = [line.says(gap) for gap in tested["gaps"]]
            many = len(said)
            right, plain = (
                100 * sum(a == b for a, b in zip(one, tested["truths"], strict=True)) / many
                for one in (said, tested["read"])
            )
            times = [1000 * float(np.mean(tested[step][1:])) for step in ("reading", "deciding")]
            figures[f"sudoku{size}"] = right
            row = (many, float(line.most or 0), f"{right:.1f}", f"{plain:.1f}", *(f"{t:.2f}" for t in times))
            print(f"{size:>4}x{size}" + "".join(f"{value:>14}" for value in row), flush=True)
            learned, figures[f"pi_nesy_sudoku{size}"] = rules_for_grids(
                fitted, tested, size, (100 if size == 4 else 20) if quick else 200
            )
            fits += learned
            if size == 9:
                figures["sudoku9_ms"] = round(times[1], 2)
        figures["rules_learned_certified"] = sum(len(fit.base.rules) for fit in fits)
        figures["certified_sum_s"] = round(certified(network, X, y), 2)
    print(f"\nRESULT {json.dumps(figures)}")


if __name__ == "__main__":
    main()
