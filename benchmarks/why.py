"""Sufficient reasons on the shipped digits and a public MNIST network:
``python -m benchmarks.why [--quick]``.

Digits: minimum reasons inside Hamming balls of radius 1 to 3, and minimal reasons over all inputs. msakai
mnist (from the folder that SUGENET_ZOO names): minimal reasons inside L-inf and Hamming balls. Every
certificate is checked in the same run. Where SUGENET_ALIBI names the Python of an environment with alibi (it
needs an older NumPy than we do), its Anchors explain the same digits, and each anchor, which claims a
precision of at least 0.95, is decided as a rule over the box that it describes. If the environment has shap
and dice-ml, their answers on breast cancer are compared with proved ones.
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

FREE = 12
"""Number of features whose SHAP values are compared: all subsets of them are evaluated."""


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
        images = _zoo.right(mnist, *_zoo.mnist(zoo), 2 if quick else 20)
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
        "inflated_checked": inflated(net, X[: 2 if quick else 10]),
        "anchors_refuted": anchors(net, X, 2 if quick else 12),
        **peers(4 if quick else 12),
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


def ratio(network: sg.Network, images: np.ndarray, checked: list[bool]) -> float | None:
    """Return the median size of minimal reasons for 99.9 % of a Hamming ball, as a part of the median for all
    inputs, over the images that are not robust in the ball.
    """
    sizes: list[tuple[int, int]] = []
    for x in images:
        pair = []
        for precision in (None, "0.999"):
            reason = sg.why(network, x, sg.Hamming(3), precision=precision).reasons[0]
            pair.append(len(reason.features))
            checked.append(bool(sg.check(reason, network)) and reason.status in ("minimal", "minimum"))
        if pair[0]:
            sizes.append((pair[0], pair[1]))
    print(f"digits, Hamming 3, sizes of minimal reasons for all inputs and for 99.9 %: {sizes}")
    if not sizes:
        return None
    whole, part = (median(row) for row in zip(*sizes, strict=True))
    return round(part / whole, 3)


def inflated(network: sg.Network, images: np.ndarray) -> bool:
    """Return whether reasons within L-inf 4 are widened as far as possible, and all certificates hold."""
    answers = [sg.inflate(sg.why(network, x, sg.Linf(4), time_limit=10.0), time_limit=10.0) for x in images]
    return all(answer.is_widest and bool(sg.check(answer, network)) for answer in answers)


def anchors(network: sg.Network, X: np.ndarray, count: int) -> str | None:
    """Decide each anchor as a rule: how many are refuted."""
    found = elsewhere("_anchors.py", network, X, X[:count])
    if found is None:
        return None
    refuted = decided = 0
    for explanation in found:
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


def peers(count: int) -> dict[str, str | None]:
    """Compare SHAP values and counterfactuals of DiCE with proved facts, on breast cancer."""
    net = sg.models.breast_cancer()
    X, _ = sg.models.samples("breast_cancer")
    free = list(range(net.encoder.features - FREE, net.encoder.features))
    found = elsewhere("_peers.py", net, X, X[:count], free=np.array(free))
    if found is None:
        return {"dice_not_minimal": None, "shap_irrelevant_first": None}
    misled = asked = 0
    for x, values in zip(X, found["shap"], strict=False):
        answer = sg.why(net, x, sg.Free(free), n="all", time_limit=60.0)
        if answer.all_reasons and answer.relevant:
            asked += 1
            scores = dict.fromkeys(net.encoder.names, 0.0) | {
                net.encoder.names[f]: v for f, v in zip(free, values, strict=True)
            }
            misled += answer.compare_scores(scores).is_misleading
    excess = []
    for x, row in zip(X, found["dice"], strict=False):
        if row is None or net.predict([row])[0] == net.predict([x])[0]:
            continue
        least = sg.whatif(net, x, sg.L0, time_limit=20.0)
        if least.is_found and least.is_minimum:
            excess.append(sum(a != b for a, b in zip(x.tolist(), row, strict=True)) - int(least.cost))
    more = sum(extra > 0 for extra in excess)
    print(f"DiCE: features changed beyond the proved minimum: {excess}")
    return {
        "dice_not_minimal": f"{more} of {len(excess)}, median excess {median(excess) if excess else 0:g}",
        "shap_irrelevant_first": f"{misled} of {asked}",
    }


def elsewhere(
    script: str, network: sg.Network, X: np.ndarray, samples: np.ndarray, **more: np.ndarray
) -> object:
    """Run a script on a network in the Python that SUGENET_ALIBI names; None if there is none."""
    python = os.environ.get("SUGENET_ALIBI")
    if not python:
        print(f"SUGENET_ALIBI is not set: {script} did not run.")
        return None
    cuts, feature = [], []
    for number, coding in enumerate(network.encoder.codings):
        cuts += list(coding.cuts)
        feature += [number] * coding.width
    layer = network.layers[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.npz"
        np.savez(
            path,
            cuts=np.array(cuts),
            feature=np.array(feature),
            weights=layer.weights,
            tau=layer.tau,
            head=network.head.weights,
            scale=np.array([float(s) for s in network.head.scale]),
            bias=np.array([float(b) for b in network.head.bias]),
            names=np.array(network.encoder.names),
            train=X.astype(float),
            samples=samples.astype(float),
            **more,
        )
        done = subprocess.run(
            [python, str(Path(__file__).parent / script), str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        print(f"{script} did not run: {done.stderr.strip().splitlines()[-1]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
