"""Exact counts of public networks: Hamming balls and whole domains: ``python -m benchmarks.count [--quick]``.

The networks and inputs are BNNQuanalyst's and msakai's, read from the folder that SUGENET_ZOO names. Counts
of smaller regions are done once more by the checker, which shares nothing with the engine;
of larger ones it counts two parts.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from sugenet.nn import Network
from sugenet.reason import Counted, count

PUBLISHED = {2: "0.20 s", 3: "6.1 s", 4: "over 60 s"}
"""BNNQuanalyst on 100-50-10, measured before; see its own paper for others."""

CHECKED = 5_000_000  # larger counts are not counted again
WORST = {"r4_worst_s": 4, "r5_worst_s": 5, "r6_worst_s": 6}


def timed(
    name: str, network: Network, x: Any, region: Any, label: str, peer: str, *, check: bool = True
) -> float:
    """Count, check, print a line; the seconds of the count."""
    start, work = time.perf_counter(), time.process_time()
    answer = count(network, x, region)
    seconds, work = time.perf_counter() - start, time.process_time() - work
    assert isinstance(answer, Counted)
    checked = "-"
    if check and answer.total <= CHECKED:
        start = time.perf_counter()
        sg.check(answer, network)
        checked = f"{time.perf_counter() - start:.1f}"
    share = f"{float(answer.robustness):.6f}"
    print(
        f"{name:<22}{label:<10}{answer.total:>15,}{seconds:>9.2f}{work:>9.2f}{share:>11}{checked:>14}{peer:>12}",
        flush=True,
    )
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one input each, radius 6 as long as there is time, within 50 s"
    )
    quick = parser.parse_args().quick
    figures: dict[str, float | None] = dict.fromkeys([*WORST, "full_2^25_s", "mnist_r3_s", "mnist_r4_s"])
    zoo = _zoo.folder()
    if zoo is not None:
        measure(zoo, figures, quick=quick)
    print(
        "RESULT "
        + json.dumps({name: None if value is None else round(value, 2) for name, value in figures.items()})
    )


def measure(zoo: Path, figures: dict[str, float | None], *, quick: bool) -> None:
    begun = time.perf_counter()
    networks = _zoo.quanalyst(zoo)
    deep = _zoo.msakai(zoo)
    images = _zoo.right(deep, *_zoo.mnist(zoo), 1 if quick else 2)
    small = next(network for _, network, _ in networks if network.encoder.features == 16)
    for radius in (2, 16):
        count(small, np.zeros(16, int), sg.Hamming(radius))  # compile before anything is timed
    count(deep, images[0], sg.Hamming(1))
    print(
        f"{'network':<22}{'region':<10}{'inputs':>15}{'s':>9}{'cpu s':>9}{'own class':>11}"
        f"{'checked, s':>14}{'published':>12}"
    )
    for name, network, inputs in networks:
        features = network.encoder.features
        if features in (16, 25):
            seconds = timed(
                name,
                network,
                inputs[0],
                sg.AnyInput(),
                f"all 2^{features}",
                "",
                check=not quick or features < 20,
            )
            if features == 25:
                figures["full_2^25_s"] = seconds
        if features != 100:
            continue
        for x in inputs[: 1 if quick else 3]:
            for radius in range(2, 6 if quick else 7):
                peer = PUBLISHED.get(radius, "") if name.endswith("100_50_10") else ""
                seconds = timed(
                    name,
                    network,
                    x,
                    sg.Hamming(radius),
                    f"radius {radius}",
                    peer,
                    check=radius < (4 if quick else 6),
                )
                for figure, at in WORST.items():
                    if at == radius:
                        figures[figure] = max(seconds, figures[figure] or 0.0)
    if quick:  # radius 6 as long as there is time
        for name, network, inputs in networks:
            if network.encoder.features == 100 and time.perf_counter() - begun < 22:
                seconds = timed(name, network, inputs[0], sg.Hamming(6), "radius 6", "", check=False)
                figures["r6_worst_s"] = max(seconds, figures["r6_worst_s"] or 0.0)
    for x in images:
        for radius in (2, 3) if quick else (2, 3, 4):
            seconds = timed(
                "mnist 784-200-100^3",
                deep,
                x,
                sg.Hamming(radius),
                f"radius {radius}",
                "",
                check=radius < 3 and not quick,
            )
            if radius > 2:
                figures[f"mnist_r{radius}_s"] = max(seconds, figures[f"mnist_r{radius}_s"] or 0.0)


if __name__ == "__main__":
    main()
