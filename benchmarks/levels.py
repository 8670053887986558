"""Networks of more than two levels: ``python -m benchmarks.levels [--quick]``.

The six-bit network 784-64-32 of zoo qnn (Henzinger, Lechner, Zikelic, AAAI 2021) and its 400 queries: every
pixel of a uint8 image may move by up to eps, and the first largest of the outputs, which saturate, must stay.
Each is asked with `verify`, every certificate is checked, and the answers are compared with those of the zoo.
Beyond the publication: the same samples with eps 5 to 10 (``--quick``: 5 alone), with a time limit each. Then
how fast the network and others of int8 are beside ONNX Runtime (`benchmarks.levels_speed`).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
from collections import Counter
from time import perf_counter

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from sugenet.nn import Encoder, Head, Network, QuantizedLayer
from sugenet.nn.codings import integer

ANSWERS = {"misclassified": 0, "undecided": 1, "refuted": 2, "proved": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="beyond the publication, eps 5 alone, 1 s each")
    parser.add_argument(
        "--time-limit", type=float, default=60.0, metavar="SECONDS", help="beyond the publication"
    )
    options = parser.parse_args()
    zoo = _zoo.folder()
    if zoo is None:
        print("RESULT {}")
        return
    data = np.load(zoo / "qnn" / "mnist_mlp.npz")
    network = qnn(data)
    figures = published(network, data)
    limit, radii = (1.0, [5]) if options.quick else (options.time_limit, [5, 6, 7, 8, 9, 10])
    left = beyond(network, data, radii, limit, 20 if options.quick else None)
    figures |= {"eps5_open": left["open"]["5"], "beyond": left}
    print(f"RESULT {json.dumps({**figures, **speed(options.quick)})}")


def qnn(data) -> Network:
    """The network of plain integers as layers of staircases: its biases go into the steps."""
    w1, b1, w2, b2, t1, t2 = (data[name].astype(np.int64) for name in ("W1", "b1", "W2", "b2", "t1", "t2"))
    one, two = data["bias_mul"].tolist()
    first = QuantizedLayer.from_sums(w1.T, t1 - one * b1[:, None], [255] * len(w1))
    second = QuantizedLayer.from_sums(w2.T, t2 - two * b2[:, None], [first.height] * len(w2))
    head = Head(np.eye(second.outputs, dtype=int), tops=[second.height] * second.outputs)
    return Network(Encoder([integer(0, 255)] * len(w1)), [first, second], head)


def asked(network, x, label, eps, limit):
    """The answer to one query, whether its certificate is checked, and the engine."""
    if int(network.predict(x[None])[0]) != label:
        return "misclassified", False, "-"
    answer = sg.verify(network, sg.Robust(x, sg.Linf(eps)), time_limit=limit)
    kind = type(answer).__name__.lower()
    if kind != "undecided":
        sg.check(answer.certificate, network)
    return kind, kind != "undecided", answer.certificate["proof"]["kind"] if kind == "proved" else kind


def published(network, data):
    """The 400 queries of the publication."""
    found, certified, start = [], 0, perf_counter()
    rows = []
    for x, label, eps in zip(data["x"], data["label"].tolist(), data["eps"].tolist(), strict=True):
        began = perf_counter()
        kind, checked, how = asked(network, x, label, eps, 60.0)
        found.append(ANSWERS[kind])
        certified += checked
        rows.append((eps, kind, how, perf_counter() - began))
    total = perf_counter() - start
    print("eps  misclassified  refuted  proved  undecided      s  slowest s")
    for eps in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == eps]
        kinds = Counter(row[1] for row in own)
        print(
            f"{eps:3}  {kinds['misclassified']:13}  {kinds['refuted']:7}  {kinds['proved']:6}  "
            f"{kinds['undecided']:9}  {sum(row[3] for row in own):5.1f}  {max(row[3] for row in own):9.2f}"
        )
    answers = np.array(found)
    timeouts = int((answers[data["published"] == ANSWERS["undecided"]] != ANSWERS["undecided"]).sum())
    return {
        "decided": int((answers != ANSWERS["undecided"]).sum()),
        "of": len(answers),
        "equal": bool((answers == data["decided"]).all()),
        "certified": certified,
        "total_s": round(total, 2),
        "timeouts_of_publication_decided": timeouts,
    }


def beyond(network, data, radii, limit, count):
    """How many of the samples stay open with larger eps; of the first `count` that are classified right."""
    first = {}
    for sample, x, label, decided in zip(
        data["sample"].tolist(), data["x"], data["label"].tolist(), data["decided"].tolist(), strict=True
    ):
        if decided != ANSWERS["misclassified"]:
            first.setdefault(sample, (x, label))
    chosen = list(first.values())[:count]
    print(f"\neps  samples  refuted  proved  open      s   ({limit:g} s each)")
    left = {}
    for eps in radii:
        start = perf_counter()
        kinds = Counter(asked(network, x, label, eps, limit)[0] for x, label in chosen)
        left[str(eps)] = kinds["undecided"]
        print(
            f"{eps:3}  {len(chosen):7}  {kinds['refuted']:7}  {kinds['proved']:6}  {kinds['undecided']:4}  "
            f"{perf_counter() - start:5.1f}",
            flush=True,
        )
    return {"of": len(chosen), "seconds_each": limit, "open": left}


def speed(quick):
    """How many times as fast as ONNX Runtime's int8, dense and convolutional."""
    none = {"int8_vs_onnxruntime": None, "conv_int8_vs_onnxruntime": None}
    if importlib.util.find_spec("benchmarks.levels_speed") is None:
        return none
    return {**none, **importlib.import_module("benchmarks.levels_speed").measure(quick)}


if __name__ == "__main__":
    main()
