"""Sufficient reasons on the shipped digits and a public MNIST network:
``python -m benchmarks.why [--quick]``.

Digits: minimum reasons inside Hamming balls of radius 1 to 3, and minimal reasons over all inputs. msakai
mnist (from the folder that SUGENET_ZOO names): minimal reasons inside L-inf and Hamming balls. Every
certificate is checked in the same run. Where SUGENET_ALIBI names the Python of an environment with alibi (it
needs an older NumPy than we do), its Anchors explain the same digits, and each anchor, which claims a
precision of at least 0.95, is decided as a rule over the box that it describes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from sugenet.bits import prepare
from sugenet.errors import CertificateError, SugenetError
from sugenet.reason import Proved, Refuted
from sugenet.reason.rules.rule import rule_of_anchor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few images, within 50 s")
    quick = parser.parse_args().quick
    prepare()
    net = sg.models.digits()
    X, _ = sg.models.samples("digits")
    sg.why(net, X[0], sg.Hamming(2), minimal="size")  # compile before anything is timed
    sg.why(net, X[0], sg.AnyInput(), time_limit=20)
    checked: list[bool] = []
    print(f"{'network, region':<36}{'images':>7}{'median s':>10}{'worst s':>9}{'median size':>13}")
    figures: dict[str, object] = {}
    for radius in (1, 2, 3):
        figures[f"digits_r{radius}_minimum_median_s"] = series(
            f"digits, Hamming {radius}, minimum",
            net,
            X[: 8 if quick else 50],
            sg.Hamming(radius),
            checked,
            minimal="size",
        )
    figures["digits_global_minimal_median_s"] = series(
        "digits, any input, minimal", net, X[: 4 if quick else 50], None, checked
    )
    figures["mnist_ball_minimal_median_s"] = None
    zoo = _zoo.folder()
    if zoo is not None:
        mnist = _zoo.msakai(zoo)
        images = _zoo.right(mnist, *_zoo.mnist(zoo), 3 if quick else 20)
        limit = 25.0 if quick else 120.0
        balls = {"L-inf 1": sg.Linf(1), "Hamming 2": sg.Hamming(2)}
        times = [
            series(f"msakai mnist, {name}", mnist, images, ball, checked, time_limit=limit)
            for name, ball in balls.items()
        ]
        figures["mnist_ball_minimal_median_s"] = max(times)
        figures["lfc_minimal_reasons"] = large(zoo, 4 if quick else 10, checked)
    figures["probabilistic_reason_ratio"] = ratio(net, X[: 3 if quick else 20], checked)
    result = {
        "digits_r3_minimum_median_s": figures["digits_r3_minimum_median_s"],
        "digits_global_minimal_median_s": figures["digits_global_minimal_median_s"],
        "mnist_ball_minimal_median_s": figures["mnist_ball_minimal_median_s"],
        "lfc_minimal_reasons": figures.get("lfc_minimal_reasons"),
        "probabilistic_reason_ratio": figures["probabilistic_reason_ratio"],
        "all_checked": all(checked),
        "anchors_refuted": anchors(net, X, 2 if quick else 12),
    }
    print("RESULT " + json.dumps(result))


def series(
    name: str, network: sg.Network, images: np.ndarray, region: object, checked: list[bool], **options: object
) -> float:
    times, sizes = [], []
    for x in images:
        start = time.perf_counter()
        found = sg.why(network, x.tolist(), region, **options)
        times.append(time.perf_counter() - start)
        reason = found.reasons[0]
        sizes.append(len(reason.features))
        wanted = "minimum" if options.get("minimal") == "size" else "minimal"
        try:
            sg.check(json.loads(json.dumps(reason.certificate)), network)
            checked.append(reason.status in (wanted, "minimum"))
        except CertificateError as error:
            print(f"NOT CERTIFIED: {error}")
            checked.append(False)
        if not checked[-1]:
            print(f"{name}: a reason is only {reason.status}")
    print(
        f"{name:<36}{len(images):>7}{median(times):>10.3f}{max(times):>9.2f}{median(sizes):>13g}", flush=True
    )
    return round(median(times), 3)


def large(zoo: Path, count: int, checked: list[bool]) -> str:
    """Count minimal reasons of 784-1024-1024-1024-10 within L-inf 8, each in less than 60 s."""
    lfc, minimal = _zoo.lfc(zoo), 0
    images = _zoo.right(lfc, *_zoo.mnist(zoo), count)
    for x in images:
        start = time.perf_counter()
        reason = sg.why(lfc, x.tolist(), sg.Linf(8), time_limit=60.0).reasons[0]
        in_time = time.perf_counter() - start < 60
        minimal += in_time and reason.status in ("minimal", "minimum")
        checked.append(bool(sg.check(reason, lfc)))
    return f"{minimal} of {len(images)}"


def ratio(network: sg.Network, images: np.ndarray, checked: list[bool]) -> float:
    """Return the mean size of minimal reasons for 99.9 % of a Hamming ball, as a part of the mean for all
    inputs.
    """
    sizes: dict[str | None, list[int]] = {None: [], "0.999": []}
    for x in images:
        for precision, row in sizes.items():
            reason = sg.why(network, x, sg.Hamming(3), precision=precision).reasons[0]
            row.append(len(reason.features))
            checked.append(bool(sg.check(reason, network)) and reason.status in ("minimal", "minimum"))
    print(f"digits, Hamming 3, sizes of minimal reasons by share of the inputs: {sizes}")
    return round(sum(sizes["0.999"]) / max(1, sum(sizes[None])), 3)


def anchors(network: sg.Network, X: np.ndarray, count: int) -> str | None:
    """Decide each anchor as a rule: how many are refuted."""
    python = os.environ.get("SUGENET_ALIBI")
    if not python:
        print("SUGENET_ALIBI is not set: Anchors were not compared.")
        return None
    cuts, feature = [], []
    for number, coding in enumerate(network.encoder.codings):
        cuts += list(coding.cuts)
        feature += [number] * coding.width
    layer = network.layers[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.npz"
        head = {
            "head": network.head.weights,
            "scale": np.array([float(s) for s in network.head.scale]),
            "bias": np.array([float(b) for b in network.head.bias]),
        }
        arrays = {
            "cuts": np.array(cuts),
            "feature": np.array(feature),
            "weights": layer.weights,
            "tau": layer.tau,
            **head,
        }
        np.savez(
            path,
            **arrays,
            names=np.array(network.encoder.names),
            train=X.astype(float),
            samples=X[:count].astype(float),
        )
        done = subprocess.run(
            [python, str(Path(__file__).parent / "_anchors.py"), str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        print(f"Anchors did not run: {done.stderr.strip().splitlines()[-1]}")
        return None
    refuted = decided = 0
    for explanation in json.loads(done.stdout.splitlines()[-1]):
        try:
            rule = rule_of_anchor(network, explanation)
        except SugenetError as error:
            print(f"an anchor cannot be read: {error}")
            continue
        answer = sg.verify(network, sg.Always(rule.index, rule.box), time_limit=20.0)
        decided += isinstance(answer, Proved | Refuted)
        refuted += isinstance(answer, Refuted)
        precision = explanation["data"]["precision"]
        claimed = float(precision[0] if isinstance(precision, list) else precision)
        print(
            f"anchor with {len(rule.limits)} conditions, claimed precision "
            f"{claimed:.3f}: {type(answer).__name__.lower()}"
        )
    return f"{refuted} of {decided}"


if __name__ == "__main__":
    main()
