"""Minimum counterfactuals of three public images under four costs, proved and checked: ``python -m benchmarks.whatif [--quick]``.

The networks and images are those of msakai's BNN verification, read from the folder that SUGENET_ZOO names; ties count as misclassified
there. The optima and the best published times stand in that folder's README.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image

import sugenet as sg
from sugenet.bits import prepare
from sugenet.io import read_npz

CASES = [
    ("mnist", "bnn_mnist_7_label9", 9, False, {"L0": 4, "L1": 5, "L2": 5, "Linf": 1}),
    ("mnist_rot", "bnn_mnist_rot_8_label1", 1, True, {"L0": 3, "L1": 3, "L2": 3, "Linf": 1}),
    ("mnist_rot", "bnn_mnist_rot_16_label5", 5, True, {"L0": 2, "L1": 2, "L2": 2, "Linf": 1}),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the slow re-check of the largest certificates")
    quick = parser.parse_args().quick
    zoo = os.environ.get("SUGENET_ZOO")
    if not zoo:
        print("SUGENET_ZOO is not set: the public networks are not at hand, nothing was measured.")
        print("RESULT " + json.dumps({"proved": None, "of": None, "equal_to_published": None, "worst_s": None, "total_s": None}))
        return
    prepare()
    folder = Path(zoo) / "msakai"
    pixels = sg.Integers(0, 255, step=Fraction(1, 255))
    seconds, proved, equal, checked = [], 0, True, 0
    print(f"{'image':<26}{'cost':<6}{'minimum':>8}{'published':>10}{'seconds':>9}{'check s':>9}")
    for net_name, image, label, transposed, published in CASES:
        network = read_npz(folder / f"{net_name}.npz", inputs=pixels).network
        grey = np.asarray(Image.open(folder / f"{image}.png").convert("L"))
        x = (grey.T if transposed else grey).reshape(-1).astype(int)
        assert network.predict(x[None])[0] == label
        sg.whatif(network, x, sg.L0, ties="against", limit=1)  # compile before anything is timed
        for name, optimum in published.items():
            start = time.perf_counter()
            answer = sg.whatif(network, x, getattr(sg, name), ties="against")
            seconds.append(time.perf_counter() - start)
            minimum = getattr(answer, "value", None)
            proved += bool(getattr(answer, "is_minimum", False))
            equal &= minimum == optimum
            start = time.perf_counter()
            small = sum(level["sets"] for level in answer.certificate["walked"] if "sets" in level) < 2_000_000
            if small or not quick:
                sg.check(answer.certificate, network)
                checked += 1
            check = f"{time.perf_counter() - start:.1f}" if small or not quick else "-"
            print(f"{image:<26}{name:<6}{minimum!s:>8}{optimum:>10}{seconds[-1]:>9.2f}{check:>9}", flush=True)
    figures = {"worst_s": round(max(seconds), 2), "total_s": round(sum(seconds), 2), "certificates_checked": checked}
    result = {"proved": proved, "of": 12, "equal_to_published": equal, **figures}
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
