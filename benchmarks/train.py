"""How accurate a binarized network becomes on MNIST, how long training takes, and whether the exact network answers as the trained one.

Run: python -m benchmarks.train [--quick]

The environment variable SUGENET_ZOO names a folder that holds `mnist/` with the four idx.gz files. A network of 784-256-256-10 reads
pixels compared with 128. It learns from the 60,000 training images alone, 6,000 of them held out to choose the epoch; the 10,000 test
images are asked once, at the end, through the exact integer network.
"""

import argparse
import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from sugenet.bnn import Encoder
from sugenet.fit import Settings, compare, print_progress, train

FULL = Settings(epochs=60, batch=128, rate=0.02, noise=0.01)
QUICK = Settings(epochs=6, batch=128, rate=0.01)
QUICK_SAMPLES = 12_000


def images(path: Path) -> Any:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16).reshape(-1, 784)


def labels(path: Path) -> Any:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=8).astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a binarized network on MNIST and check it bit for bit.")
    parser.add_argument("--quick", action="store_true", help="fewer samples and epochs: shows that it works, not how well")
    quick = parser.parse_args().quick
    zoo = os.environ.get("SUGENET_ZOO")
    folder = Path(zoo or "") / "mnist"
    if not zoo or not folder.is_dir():
        print("skipped: set SUGENET_ZOO to a folder that holds mnist/ with the four idx.gz files.")
        return
    X, y = images(folder / "train-images-idx3-ubyte.gz"), labels(folder / "train-labels-idx1-ubyte.gz")
    test, truth = images(folder / "t10k-images-idx3-ubyte.gz"), labels(folder / "t10k-labels-idx1-ubyte.gz")
    settings = FULL
    if quick:
        X, y, settings = X[:QUICK_SAMPLES], y[:QUICK_SAMPLES], QUICK
        print(f"quick: {len(X)} samples and {settings.epochs} epochs only; run without --quick for the accuracy that counts.")
    encoder = Encoder.of_thresholds([128] * 784, [f"pixel ({i // 28}, {i % 28})" for i in range(784)], low=0, high=255, whole=True)
    start = time.perf_counter()
    trained = train(X, y, hidden=(256, 256), settings=settings, encoder=encoder, progress=print_progress)
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
