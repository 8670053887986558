"""Time and memory of training and prediction on a large table.

Run: python -m benchmarks.large [--quick] [--rows N] [--columns N] [--mixed] [--epochs N] [--batch N]

The table is synthetic: numbers, and with --mixed a pandas frame of numbers, integers, booleans and texts. One
row in 25 is of the rare class. Rows per second are per second of processor time, on one thread. Memory is the
largest resident size of the process.
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
    ends = [_now()]

    def progress(epoch: Any) -> None:
        ends.append(_now())
        print_progress(epoch)

    trained = train(table, y, HIDDEN, settings=settings, progress=progress)
    ends.append(_now())
    training = _peak()
    print(trained)
    start = _now()
    trained.network.predict(table, threads=1)
    predicted = _now() - start
    fit, epoch = ends[-1] - ends[0], (ends[-2] - ends[1]) / max(1, options.epochs - 1)
    assert trained.scores is not None
    result = {
        "rows": rows,
        "columns": options.columns,
        "mixed": options.mixed,
        "epochs": options.epochs,
        "batch": options.batch,
        "seconds_epoch": round(float(epoch[0]), 1),
        "cpu_seconds_epoch": round(float(epoch[1]), 1),
        "seconds_train": round(float(fit[0]), 1),
        "cpu_seconds_train": round(float(fit[1]), 1),
        "rows_per_s_epoch": round(trained.counts.training / float(epoch[1])) if epoch[1] else None,
        "rows_per_s_train": round(rows * options.epochs / float(fit[1])),
        "rows_per_s_predict": round(rows / float(predicted[1])),
        "gib_table": round(before, 2),
        "gib_train": round(training, 2),
        "gib_predict": round(_peak(), 2),
        "balanced_accuracy": round(trained.scores.balanced_accuracy, 4),
    }
    print(f"RESULT {json.dumps(result)}")


def _now() -> Any:
    """Return elapsed and processor time."""
    return np.array([time.perf_counter(), time.process_time()])


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
