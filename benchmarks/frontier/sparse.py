"""Robustness of sparse networks: many questions of a few milliseconds each, so what is fixed counts.

Six networks are trained on MNIST, pixels compared with 128, 15 epochs, batches of 128, `tau_decay=1`: five
sparse ones and a dense one. Each is asked about the first images that it classifies right. Times are of one
core, certificates included; every certificate is checked afterwards, outside of the time. The quick run
trains one small network on few images.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from benchmarks.frontier.row import Row
from sugenet.fit import Settings, train
from sugenet.nn import Encoder, Network

RADII = (16, 25, 51, 76)
SECONDS = 20.0
NETS: dict[str, tuple[tuple[int, ...], float]] = {
    "S3": ((256, 128), 0.9),
    "S1": ((100,), 0.9),
    "S2": ((128, 64), 0.9),
    "M1": ((128, 64), 0.7),
    "M2": ((200,), 0.8),
    "D1": ((100,), 0.0),
}
DENSE = "D1"
WORK = "robustness of sparse networks, L-inf 16 to 76 of 255"
BEGAN = "9 to 25 ms a question; these networks and images, machine quiet: S3 at 76 30 ms, by bounds 5.4 ms"


@dataclass
class Tally:
    """What questions took and came to."""

    took: list[float] = field(default_factory=list)
    trivial: list[float] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    open_ones: int = 0
    certificates: int = 0

    def ask(self, network: Network, x: Any, radius: int) -> None:
        start = time.process_time()
        answer = sg.verify(network, sg.Robust(x, sg.Linf(radius)), threads=1, time_limit=SECONDS)
        took = 1e3 * (time.process_time() - start)
        self.took.append(took)
        if answer.engine == "bounds":
            self.trivial.append(took)
        self.answers.append(answer)

    def check(self, network: Network) -> None:
        for answer in self.answers:
            if isinstance(answer, sg.Undecided):
                self.open_ones += 1
            else:
                assert answer.is_certified
                sg.check(answer.certificate, network)
                self.certificates += 1


def network_of(
    zoo: Path, hidden: Sequence[int], sparsity: float, settings: dict[str, Any], some: int
) -> Network:
    X, y = _zoo.mnist_train(zoo)
    names = [f"pixel ({k // 28},{k % 28})" for k in range(784)]
    encoder = Encoder.of_thresholds([128] * 784, names, low=0, high=255, whole=True)
    chosen = Settings(batch=128, sparsity=sparsity, tau_decay=1.0, **settings)
    return train(X[:some], y[:some], hidden, encoder=encoder, settings=chosen, test_share=0).network


def tally(network: Network, samples: np.ndarray, radius: int) -> Tally:
    found = Tally()
    for x in samples:
        found.ask(network, x, radius)
    found.check(network)
    return found


def run(quick: bool) -> Row:
    zoo = _zoo.folder()
    if zoo is None:
        return Row(WORK, BEGAN, "not measured", {})
    chosen = {"small": ((64,), 0.9)} if quick else NETS
    settings, some = ({"epochs": 2}, 2000) if quick else ({"epochs": 15}, 60_000)
    found: dict[tuple[str, int], Tally] = {}
    for name, (hidden, sparsity) in chosen.items():
        network = network_of(zoo, hidden, sparsity, settings, some)
        samples = _zoo.right(network, *_zoo.mnist(zoo), 150)
        for radius in RADII:  # what is compiled or kept for a network is so before anything is timed
            tally(network, samples[-2:], radius)
        for radius in RADII:
            many = 8 if quick else 150 if (name, radius) == ("S3", 76) else 30
            found[name, radius] = one = tally(network, samples[:many], radius)
            print(
                f"  {name} at {radius}: mean {np.mean(one.took):.2f} ms, median {np.median(one.took):.2f}, "
                f"longest {max(one.took):.1f}; open {one.open_ones}; {one.certificates} certificates checked",
                flush=True,
            )
    sparse = [one for (name, _), one in found.items() if name != DENSE]
    # of the trivial ones that have little to look at
    fixed = float(np.median([took for one in sparse for took in one.trivial]))
    hardest = found["small" if quick else "S3", 76]
    figures = {
        "sparse_mean_ms": round(float(np.mean(hardest.took)), 2),
        "sparse_open": sum(one.open_ones for one in sparse),
        "fixed_ms": round(fixed, 2),
    }
    if not quick:
        figures["dense_open"] = sum(found[DENSE, radius].open_ones for radius in RADII)
    now = (
        f"hardest row {figures['sparse_mean_ms']} ms a question, what is settled by bounds {fixed:.2f} ms, "
        f"open {figures['sparse_open']} of {sum(len(one.took) for one in sparse)}; all certificates checked"
    )
    return Row(WORK, BEGAN, now, figures)
