"""How accurate a binarized network becomes on MNIST, how long training takes, and whether the exact network
answers as the trained one.

Run: python -m benchmarks.train [--quick] [--splits | --levels]

The environment variable SUGENET_ZOO names a folder that holds `mnist/` with the four idx.gz files. A network
of 784-256-256-10 reads pixels compared with 128. It learns from the 60,000 training images alone, 6,000 of
them held out to choose the epoch; the 10,000 test images are asked once, at the end,
through the exact integer network.

With --splits the recipes of the shipped networks are trained on other random splits of scikit-learn's data
instead, which takes minutes: how accurate they are on the samples held out,
and what `tau_decay` does to the digits network.

With --levels networks with 2, 4 and 8 levels are trained on both, with the same width, epochs and seeds:
whether more levels make them more accurate, and weights of 4 bits with them.
"""

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sugenet.data.train import RECIPES, try_split
from sugenet.fit import Settings, Trained, compare, print_progress, train
from sugenet.nn import Encoder

FULL = Settings(epochs=60, batch=128, rate=0.02, noise=0.01)
QUICK = Settings(epochs=6, batch=128, rate=0.01)
QUICK_SAMPLES = 12_000
SPLITS = range(1, 6)
TAU_SPLITS = range(1, 4)
TAU_DECAYS = (0.0, 1.0, 5.0, 20.0)


LEVELS = (2, 4, 8)
WEIGHT_BITS = (1, 4)
SEEDS = range(1, 4)


def images(path: Path) -> Any:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16).reshape(-1, 784)


def labels(path: Path) -> Any:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=8).astype(np.int64)


def splits() -> None:
    """Means over random splits: the shipped recipes, then the digits recipe with thresholds pulled
    towards low bounds.
    """
    result: dict[str, Any] = {}
    for name, recipe in RECIPES.items():
        found = [try_split(recipe, split, recipe.settings)[1] for split in SPLITS]
        result[name] = {"mean": float(np.mean(found)), "least": min(found), "most": max(found)}
        print(
            f"{name}, splits {SPLITS[0]} to {SPLITS[-1]}: mean {np.mean(found):.1%}, from {min(found):.1%} "
            f"to {max(found):.1%}"
        )
    recipe = RECIPES["digits"]
    print(
        f"digits, splits {TAU_SPLITS[0]} to {TAU_SPLITS[-1]}: tau_decay, accuracy, "
        f"mean of min(tau, n + 1 - tau)"
    )
    for decay in TAU_DECAYS:
        tried = [try_split(recipe, split, replace(recipe.settings, tau_decay=decay)) for split in TAU_SPLITS]
        layers = [trained.network.layers[0] for trained, _ in tried]
        bound = float(np.mean([np.minimum(layer.tau, layer.sizes + 1 - layer.tau) for layer in layers]))
        accuracy = float(np.mean([accuracy for _, accuracy in tried]))
        result[f"tau_decay {decay:g}"] = {"accuracy": accuracy, "bound": bound}
        print(f"{decay:4g}  {accuracy:6.1%}  {bound:5.1f}")
    print(f"RESULT {json.dumps(result)}")


def levels(quick: bool) -> None:
    """Accuracy on samples held out, by levels and bits of a weight, over three seeds; two if quick."""
    rows: dict[str, Callable[[Settings, int], tuple[Trained, float]]] = {}
    for hidden in ((64,), (32, 32)):
        recipe = replace(RECIPES["digits"], hidden=hidden)
        plain = Settings(epochs=10 if quick else 60, noise=0.05, validation_share=0)
        rows[f"digits 192-{'-'.join(map(str, hidden))}-10, {plain.epochs} epochs"] = (
            lambda own, seed, recipe=recipe, plain=plain: try_split(
                recipe, seed, replace(plain, seed=seed, levels=own.levels, weight_bits=own.weight_bits)
            )
        )
    data = mnist()
    if data is not None:
        X, y, test, truth = data
        if quick:
            X, y, test, truth = X[:4000], y[:4000], test[:4000], truth[:4000]
        brief = Settings(epochs=4 if quick else 10, batch=128, validation_share=0)

        def on_images(own: Settings, seed: int) -> tuple[Trained, float]:
            settings = replace(brief, seed=seed, levels=own.levels, weight_bits=own.weight_bits)
            trained = train(X, y, hidden=(64, 64), settings=settings, encoder=binarized(), test_share=0)
            return trained, float((trained.network.predict(test) == truth).mean())

        rows[f"MNIST 784-64-64-10, {len(X)} images, {brief.epochs} epochs"] = on_images
    result: dict[str, Any] = {"differing": 0}
    seeds = SEEDS[:2] if quick else SEEDS
    for name, fit in rows.items():
        print(f"{name}: bits of a weight, levels, mean accuracy, least, most, seconds")
        for bits in WEIGHT_BITS:
            for count in LEVELS:
                start = time.perf_counter()
                tried = [fit(Settings(levels=count, weight_bits=bits), seed) for seed in seeds]
                seconds = time.perf_counter() - start
                found = [accuracy for _, accuracy in tried]
                result["differing"] += sum(trained.comparison.differing for trained, _ in tried)
                means = result.setdefault(name, {}).setdefault(f"weight_bits {bits}", {})
                means[count] = round(float(np.mean(found)), 4)
                print(
                    f"{bits:4}  {count:4}  {np.mean(found):7.2%}  {min(found):7.2%}  {max(found):7.2%}  "
                    f"{seconds:5.1f}"
                )
    print(f"values in which network and module differ: {result['differing']}")
    print(f"RESULT {json.dumps(result)}")


def mnist() -> tuple[Any, Any, Any, Any] | None:
    """Training images and classes, test images and classes; None where there are none."""
    zoo = os.environ.get("SUGENET_ZOO")
    folder = Path(zoo or "") / "mnist"
    if not zoo or not folder.is_dir():
        print("skipped: set SUGENET_ZOO to a folder that holds mnist/ with the four idx.gz files.")
        return None
    X, y = images(folder / "train-images-idx3-ubyte.gz"), labels(folder / "train-labels-idx1-ubyte.gz")
    test, truth = images(folder / "t10k-images-idx3-ubyte.gz"), labels(folder / "t10k-labels-idx1-ubyte.gz")
    return X, y, test, truth


def binarized() -> Encoder:
    """Pixels compared with 128."""
    names = [f"pixel ({i // 28}, {i % 28})" for i in range(784)]
    return Encoder.of_thresholds([128] * 784, names, low=0, high=255, whole=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Train a binarized network on MNIST and check it bit for bit."
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer samples and epochs: shows that it works, not how well"
    )
    parser.add_argument(
        "--splits",
        action="store_true",
        help="the shipped recipes on other splits of their data, in place of MNIST",
    )
    parser.add_argument(
        "--levels", action="store_true", help="2, 4 and 8 levels side by side, in place of one long run"
    )
    options = parser.parse_args()
    quick = options.quick
    if options.splits or options.levels:
        splits() if options.splits else levels(quick)
        return
    data = mnist()
    if data is None:
        return
    X, y, test, truth = data
    settings = FULL
    if quick:
        X, y, settings = X[:QUICK_SAMPLES], y[:QUICK_SAMPLES], QUICK
        print(
            f"quick: {len(X)} samples and {settings.epochs} epochs only; run without --quick for the "
            f"accuracy that counts."
        )
    start = time.perf_counter()
    trained = train(
        X,
        y,
        hidden=(256, 256),
        settings=settings,
        encoder=binarized(),
        test_share=0,
        progress=print_progress,
    )
    seconds = time.perf_counter() - start
    unseen = compare(trained.network, trained.module, test)
    accuracy = float((trained.network.predict(test) == truth).mean())
    print(trained.network)
    print(f"training data: {trained.comparison}")
    print(f"test data: {unseen}")
    print(f"test accuracy of the exact network: {accuracy:.2%}, trained and checked in {seconds:.0f} s")
    result = {
        "accuracy": accuracy,
        "seconds": round(seconds, 1),
        "epochs": len(trained.history),
        "differing_bits": trained.comparison.differing + unseen.differing,
    }
    print(f"RESULT {json.dumps(result)}")


if __name__ == "__main__":
    main()
