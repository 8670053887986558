"""Minimum counterfactuals of public images, proved and checked:
``python -m benchmarks.whatif [--quick] [--images N]``.

First three images of msakai's BNN verification under four costs; ties count as misclassified there, and the
optima and the best published times stand in the README of the folder that SUGENET_ZOO names. Then how many of
some images have a counterfactual under each cost within a short limit, on networks where nothing is proved so
soon: 784-1024-1024-1024-10, and six bits of 784-64-32; and by how much the limit is overrun. Then, without
``--quick``, the first test images of MNIST that the network classifies rightly, L0 and L-inf, with a limit of
ten seconds each; the times go to docs/img/whatif.svg as a cactus plot.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from PIL import Image

import sugenet as sg
from benchmarks import _zoo
from benchmarks.levels import qnn
from sugenet.bits import prepare
from sugenet.show import cactus, svg

LIMIT = 10.0  # seconds for each of the many images
SHORT = 2.0  # seconds in which something is to be found

CASES = [
    ("mnist", "bnn_mnist_7_label9", 9, False, {"L0": 4, "L1": 5, "L2": 5, "Linf": 1}),
    ("mnist_rot", "bnn_mnist_rot_8_label1", 1, True, {"L0": 3, "L1": 3, "L2": 3, "Linf": 1}),
    ("mnist_rot", "bnn_mnist_rot_16_label5", 5, True, {"L0": 2, "L1": 2, "L2": 2, "Linf": 1}),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the twelve published ones alone")
    parser.add_argument(
        "--images",
        type=int,
        default=100,
        metavar="N",
        help="MNIST test images (default 100; none with --quick)",
    )
    options = parser.parse_args()
    zoo = _zoo.folder()
    if zoo is None:
        print(
            "RESULT "
            + json.dumps(
                dict.fromkeys(
                    (
                        *("proved", "of", "equal_to_published", "worst_s", "total_s"),
                        *("certificates_checked", "soon_found", "soon_limit_s", "soon_longest_s"),
                    )
                )
            )
        )
        return
    prepare()
    result = published(zoo) | found_soon(zoo, 1 if options.quick else 10)
    if not options.quick and options.images:
        result |= many(zoo, options.images)
    print("RESULT " + json.dumps(result))


def published(zoo: Path) -> dict:
    """The three images under four costs."""
    seconds, proved, equal, checked = [], 0, True, 0
    print(f"{'image':<26}{'cost':<6}{'minimum':>8}{'published':>10}{'seconds':>9}{'check s':>9}")
    for net_name, image, label, transposed, optima in CASES:
        network = _zoo.msakai(zoo, net_name)
        grey = np.asarray(Image.open(zoo / f"msakai/{image}.png").convert("L"))
        x = (grey.T if transposed else grey).reshape(-1).astype(int)
        assert network.predict(x[None])[0] == label
        sg.check(
            sg.whatif(network, x, sg.L0, ties="against", max_cost=1).certificate, network
        )  # compile before anything is timed
        for name, optimum in optima.items():
            start = time.perf_counter()
            answer = sg.whatif(network, x, getattr(sg, name), ties="against")
            seconds.append(time.perf_counter() - start)
            proved += bool(getattr(answer, "is_minimum", False))
            equal &= getattr(answer, "cost", None) == optimum
            start = time.perf_counter()
            sg.check(json.loads(json.dumps(answer.certificate)), network)
            checked += 1
            spent = time.perf_counter() - start
            print(
                f"{image:<26}{name:<6}{answer.cost!s:>8}{optimum:>10}{seconds[-1]:>9.2f}{spent:>9.2f}",
                flush=True,
            )
    figures = {
        "worst_s": round(max(seconds), 2),
        "total_s": round(sum(seconds), 2),
        "certificates_checked": checked,
    }
    return {"proved": proved, "of": 12, "equal_to_published": equal, **figures}


def found_soon(zoo: Path, images: int) -> dict:
    """What is found within a short limit, under all costs."""
    networks = {"lfc": _zoo.lfc(zoo), "qnn": qnn(np.load(zoo / "qnn/mnist_mlp.npz"))}
    found, asked, longest = 0, 0, 0.0
    for name, network in networks.items():
        X = _zoo.right(network, *_zoo.mnist(zoo), images).tolist()
        for cost in (sg.L0, sg.L1, sg.L2, sg.Linf, sg.Hamming):
            sg.whatif(network, X[0], cost, time_limit=0.1)  # compile before anything is timed
            values = []
            for x in X:
                start = time.perf_counter()
                answer = sg.whatif(network, x, cost, time_limit=SHORT)
                longest = max(longest, time.perf_counter() - start)
                values.append(getattr(answer, "cost", None))
            found, asked = found + sum(value is not None for value in values), asked + len(values)
            print(f"{name:<6}{cost.__name__:<9}{', '.join(map(str, values))}", flush=True)
    return {"soon_found": f"{found} of {asked}", "soon_limit_s": SHORT, "soon_longest_s": round(longest, 2)}


def many(zoo: Path, images: int) -> dict:
    """MNIST test images, L0 and L-inf."""
    network = _zoo.msakai(zoo)
    found: dict[str, list[float]] = {"L0": [], "L-inf": []}
    for number, x in enumerate(_zoo.right(network, *_zoo.mnist(zoo), images)):
        for name, cost in (("L0", sg.L0), ("L-inf", sg.Linf)):
            start = time.perf_counter()
            answer = sg.whatif(network, x.tolist(), cost, ties="against", time_limit=LIMIT)
            spent = time.perf_counter() - start
            if answer.is_certified and getattr(answer, "is_minimum", False):
                found[name].append(spent)
            print(f"image {number:<4}{name:<7}{str(answer)[:90]:<92}{spent:>8.2f} s", flush=True)
    picture = Path(__file__).parent.parent / "docs/img/whatif.svg"
    title = "minimum counterfactuals of MNIST images, 784-200-100-100-100-10"
    picture.write_text(svg(cactus(found, images, title)) + "\n", encoding="utf-8")
    print(f"cactus plot written to docs/img/{picture.name}")
    return {
        f"mnist_{name.lower().replace('-', '')}_proved": f"{len(row)} of {images}"
        for name, row in found.items()
    }


if __name__ == "__main__":
    main()
