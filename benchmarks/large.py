"""Time and memory of training and prediction on a large table.

Run: python -m benchmarks.large [--quick] [--rows N] [--columns N] [--mixed] [--epochs N] [--batch N]

The table is synthetic: numbers, and with --mixed a pandas frame of numbers, integers, booleans and texts. One
row in 25 is of the rare class. Memory is the largest resident size of the process.
"""

import argparse
import json
import resource
import time
from typing import Any

import numpy as np

from sugenet.fit import Settings, print_progress, train

HIDDEN = (64, 32)


def numbers(rows: int, columns: int) -> tuple[Any, Any]:
    """Return numbers and classes; the first five columns decide, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    score = X[:, :5].sum(axis=1) + rng.normal(size=rows)
    return X, np.where(score > np.quantile(score, 0.96), "leave", "stay")


def mixed(X: Any) -> Any:
    """Return a frame in which one column in five each is integer, boolean and text."""
    import pandas as pd

    made = {}
    for index, column in enumerate(X.T):
        kind = index % 5
        made[f"c{index}"] = (
            (column * 10).astype(np.int64)
            if kind == 1
            else column > 0
            if kind == 2
            else np.array(["low", "middle", "high"])[np.digitize(column, [-0.5, 0.5])]
            if kind == 3
            else column
        )
    return pd.DataFrame(made)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    rows = options.rows or (20_000 if options.quick else 1_000_000)
    X, y = numbers(rows, options.columns)
    table = mixed(X) if options.mixed else X
    del X
    settings = Settings(epochs=options.epochs, batch=options.batch, class_weight="balanced")
    before = _peak()
    times: list[float] = []
    start = time.perf_counter()

    def progress(epoch: Any) -> None:
        times.append(time.perf_counter())
        print_progress(epoch)

    trained = train(table, y, HIDDEN, settings=settings, progress=progress)
    trained_in = time.perf_counter() - start
    after = _peak()
    per_epoch = (times[-1] - times[0]) / max(1, len(times) - 1)
    print(trained)
    start = time.perf_counter()
    trained.network.predict(table)
    predicted_in = time.perf_counter() - start
    result = {
        "rows": rows,
        "columns": options.columns,
        "mixed": options.mixed,
        "epochs": options.epochs,
        "batch": options.batch,
        "seconds_before_first_epoch_ends": round(times[0] - (start - trained_in), 1) if False else None,
        "seconds_per_epoch": round(per_epoch, 2),
        "seconds_train": round(trained_in, 1),
        "rows_per_s_epoch": round(trained.counts.training / per_epoch) if per_epoch else None,
        "rows_per_s_train": round(rows * options.epochs / trained_in),
        "rows_per_s_predict": round(rows / predicted_in),
        "gib_table": round(before, 2),
        "gib_train": round(after, 2),
        "gib_predict": round(_peak(), 2),
        "balanced_accuracy": round(trained.scores.balanced_accuracy, 4) if trained.scores else None,
    }
    print(f"RESULT {json.dumps(result)}")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
