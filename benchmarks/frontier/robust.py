"""Networks trained to be certified: training against a region, then exact verification of test images.

The full run trains two networks on MNIST with the commands of docs/training.md, each in less than half an
hour, and sweeps the first 1,000 test images with them, one at 25 and one at 76 of 255. It works in the folder
``build/robust``; broken off, it goes on. ``--quick`` trains on the digits of scikit-learn, with and without a
region.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import sugenet as sg
from benchmarks import _zoo
from benchmarks.frontier.row import Row
from sugenet.bnn import Encoder, Network, thermometer
from sugenet.fit import Settings, train

__all__ = ["run"]

_ALIKE = "--batch 128 --rate 0.06 --validation-share 0.02 --test-share 0 --threads 2"
TRAINED = {
    25: "--robust linf:27 --bound-share 0 --hidden 5000 --window 12 --sparsity 0.87 --epochs 32 --cut-at 98",
    76: "--robust linf:76 --hidden 1000 --sparsity 0.9 --epochs 10 --cut-at 128",
}
COUNT, LIMIT, CHECKED = 1000, 20.0, 0.2
_BEFORE = "no robust training; published: 84.5 and 36.4 % (binarized, EEV), 94.3 and 80.7 % (real-valued)"


def run(quick: bool) -> Row:
    """Certified accuracy after robust training."""
    work = "certified accuracy of networks trained for it"
    if quick:
        plain, robust = (_digits(region) for region in (None, "linf:3"))
        now = f"digits, 3 of 16: {robust:.0%} of 60 images certified, {plain:.0%} without robust training"
        return Row(work, _BEFORE, now, {"robust_digits": robust, "robust_digits_plain": plain})
    zoo = _zoo.folder()
    if zoo is None:
        return Row(work, _BEFORE, "not measured", {})
    folder = Path("build/robust")
    folder.mkdir(parents=True, exist_ok=True)
    X, y = _zoo.mnist_train(zoo)
    np.savez(folder / "train.npz", X=X, y=y)
    figures: dict[str, Any] = {}
    for radius, options in TRAINED.items():
        model = folder / f"robust{radius}.sugenet"
        figures[f"robust_training_{radius}_s"] = _train(folder, model, f"{options} {_ALIKE}")
        figures |= _swept(sg.load(model), *_zoo.mnist(zoo), radius, folder / f"linf{radius}.db")
    now = "; ".join(
        f"{radius} of 255: {figures[f'robust_certified_{radius}']:.1%} certified, "
        f"{figures[f'robust_undecided_{radius}']} undecided, "
        f"{figures[f'robust_mean_{radius}_s']:.2f} s a decision"
        for radius in TRAINED
    )
    return Row(work, _BEFORE, now, figures)


def _train(folder: Path, model: Path, options: str) -> float | None:
    """Train with the command of the docs, unless it was done; the seconds that it took."""
    if model.exists():
        return None
    line = f"train {folder / 'train.npz'} {options} -o {model} --checkpoint {model}.checkpoint"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sugenet", *line.split()], check=True)
    return time.perf_counter() - start


def _swept(network: Network, X: np.ndarray, y: np.ndarray, radius: int, store: Path | None) -> dict[str, Any]:
    found = sg.sweep(
        network,
        X[:COUNT].astype(int),
        sg.Robust(sg.each, sg.Linf(radius)),
        y=y[:COUNT].astype(int),
        store=store,
        time_limit=LIMIT,
    )
    rows = found.rows()
    kinds = Counter(row.outcome for row in rows if row.index == row.truth)
    proofs = sum(row.outcome == "proved" and row.certified and row.index == row.truth for row in rows)
    checked = found.check(CHECKED)
    print(f"  {radius} of 255: {kinds}, {proofs} proofs with certificates\n  {checked}", flush=True)
    found.close()
    return {
        f"robust_certified_{radius}": proofs / len(rows),
        f"robust_accuracy_{radius}": sum(kinds.values()) / len(rows),
        f"robust_undecided_{radius}": kinds["undecided"],
        f"robust_mean_{radius}_s": sum(row.seconds for row in rows) / len(rows),
    }


def _digits(region: str | None) -> float:
    """Share of 60 images that a small network classifies rightly and provably keeps, 3 of 16."""
    X, y = load_digits(return_X_y=True)
    X = X.astype(int)
    encoder = Encoder([thermometer([8], 0, 16, True)] * 64)
    chosen = Settings(epochs=10, batch=64, sparsity=0.6, robust=region)
    network = train(X[200:], y[200:], (32,), encoder=encoder, test_share=0, settings=chosen).network
    found = sg.sweep(network, X[:60], sg.Robust(sg.each, sg.Linf(3)), y=y[:60], jobs=1)
    return sum(row.outcome == "proved" and row.index == row.truth for row in found.rows()) / 60
