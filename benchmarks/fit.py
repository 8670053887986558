"""Capacities from data: how fast best fits are, how much faster than sugeno-classifier, and how accurate the
estimators are on seven public tables, in ten folds, beside others in the same run.

Run ``python -m benchmarks.fit [--few] [--quick]``. Data and peers are optional, and what is missing is said:

    pip install --no-deps skordinal==0.2.0 mord==0.7 sugeno-classifier==1.0.1 pulp xgboost==3.2.0 \
        lightgbm==4.7.0

ESL, LEV, ERA, SWD and balance-scale are read from the files of the package skordinal, car and auto-mpg from
the source archive Orange-2.7.8.tar.gz of PyPI; neither is imported. A folder with these packages and the
archive may be named by the environment variable SUGENET_PEERS. Peers that are not there are left out;
scikit-learn takes part always. The target of auto-mpg is put in five groups of equal size.

Parameters are chosen on the training folds alone, by cross-validation in them, with shuffled folds;
``terms=1`` and ``terms=8`` keep their defaults. Directions are given to all. With ``--few`` there are fewer
settings to choose from, and one shuffle of the folds in place of three. ``--quick`` does this for SWD alone.
Errors are mean absolute ones, in levels; behind +- stands the standard error over folds. A random forest is
not monotone and does not count as a monotone peer.
sugeno-classifier knows two classes only: there y >= 5 (ESL, of 1 to 9) and y >= 3 (LEV, of 1 to 5) are told
from less, and it is shown with the best of its settings *on the test folds*, which favours it; with
``--few`` with the setting that was best in the whole run.

In the last line, ``*_mae`` is the error of our model with the ``terms`` that the training folds choose;
``*_mae_monotone_peer`` and ``*_mae_best_peer`` are the least of the others', and ``*_mae_vs_best`` is our
error divided by that of the best monotone peer. ``*_rules`` is the mean number of rules, ``*_one_term`` is
the error of one Sugeno integral. ``l1_floats`` is about 500 samples with 10 criteria and random numbers as
ratings: the gap between the cost found and the proved bound, and the seconds. ``vs_sugeno_classifier`` is
how many times longer sugeno-classifier takes to learn from 100 samples with 14 features; in the quick run
it is stopped after some seconds, and the figure is a lower bound. All systems have one thread.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import warnings
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

import sugenet as sg
from sugenet.capacity import Ordinal
from sugenet.fit import Ratings, fit_capacity
from sugenet.fit.sugeno.estimators import SugenoClassifier, SugenoRegressor

INSTALL = (
    "pip install --no-deps skordinal==0.2.0 mord==0.7 sugeno-classifier==1.0.1 pulp xgboost==3.2.0 "
    "lightgbm==4.7.0"
)
ARCHIVE = "Orange-2.7.8.tar.gz"
SHA256 = "9602d621d8258c90a8122b2ae2eb7471139836f0a16b6941e83735739913af5c"
SIGNS = {
    "esl": [1] * 4,
    "lev": [1] * 4,
    "balance_scale": [-1, -1, 1, 1],
    "swd": [1] * 10,
    "era": [1] * 4,
    "car": [1] * 6,
    "autompg": [-1, -1, -1, -1, 1, 1, 1],
}
"""1 where more is better, -1 where less is."""
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


def floats_fit(seconds: float) -> tuple[float, float]:
    """The gap in percent between cost and bound on random floats, where time runs out, and the time taken."""
    rng = np.random.default_rng(0)
    start = perf_counter()
    found = fit_capacity(Ratings(rng.random((500, 10)), rng.random(500)), "total", time_limit=seconds)
    taken = perf_counter() - start
    gap = float(100 * (found.error - found.least) / found.error)
    print(f"loss='total', N = 500, n = 10, random floats: {taken:.1f} s, gap {gap:.4f} %")
    return round(gap, 4), taken


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
    """A data set from the files of skordinal or Orange."""
    if name in ("car", "autompg"):
        return from_archive(name)
    found = importlib.util.find_spec("skordinal")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / "datasets" / "data" / f"{name}.csv"
    # the first row has counts and names
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))[1:]
    table = np.array(rows, dtype=float)
    return table[:, :-1], table[:, -1].astype(int)


def from_archive(name: str) -> tuple[Any, Any] | None:
    """car and auto-mpg, from the archive of Orange if it is there and what it should be."""
    path = Path(os.environ.get("SUGENET_PEERS", ".")) / ARCHIVE
    if not path.is_file():
        print(f"{name}: {ARCHIVE} of PyPI is not in the folder SUGENET_PEERS; its figures are null")
        return None
    if sha256(path.read_bytes()).hexdigest() != SHA256:
        print(f"{name}: {path} is another file than the one of PyPI; its figures are null")
        return None
    file = "car.tab" if name == "car" else "auto-mpg.tab"
    with tarfile.open(path) as archive:
        member = archive.extractfile(f"Orange-2.7.8/Orange/datasets/{file}")
        assert member is not None
        lines = member.read().decode().splitlines()
    if name == "car":
        orders = [names.split() for names in lines[1].split("\t")]
        cells = [line.split("\t") for line in lines[3:] if line]
        table = np.array(
            [[order.index(cell) for order, cell in zip(orders, row, strict=True)] for row in cells]
        )
        return table[:, :-1].astype(float), table[:, -1]
    rows = [line.split("\t")[:8] for line in lines[3:] if line]
    numbers = np.array([row for row in rows if "?" not in row], dtype=float)  # 6 cars have no horsepower
    fifths = np.quantile(numbers[:, 0], [0.2, 0.4, 0.6, 0.8])
    return numbers[:, 1:], np.searchsorted(fifths, numbers[:, 0], side="right")


def searched(model: Any, grid: Any, few: bool) -> Any:
    folds = KFold(3 if few else 5, shuffle=True, random_state=0)  # auto-mpg is sorted by year
    return GridSearchCV(model, grid, scoring="neg_mean_absolute_error", cv=folds)


OURS = "sugenet, terms chosen"


def ours(signs: list[int], few: bool) -> dict[str, Callable[[], Any]]:
    smooth = [1.0, 3.0, 10.0] if few else [0.3, 1.0, 3.0, 10.0]
    cards = {"terms": ["card"], "smoothness": smooth, "points": [20] if few else [20, 50]}
    rules = {"terms": ["all"], "smoothness": [1.0] if few else smooth, "smoothing": [0.5, 0.8]}
    learner = SugenoRegressor(directions=signs, random_state=0)
    systems: dict[str, Callable[[], Any]] = {
        OURS: lambda: searched(learner, [cards, rules, {"terms": [1]}], few),
        'sugenet terms="card"': lambda: SugenoRegressor("card", directions=signs),
        'sugenet terms="all"': lambda: SugenoRegressor("all", directions=signs),
        "sugenet terms=1": lambda: SugenoRegressor(1, directions=signs, random_state=0),
    }
    if not few:
        systems["sugenet terms=8"] = lambda: SugenoRegressor(8, directions=signs, random_state=0)
    return systems


FOREST = "random forest (not monotone)"


def peers(signs: list[int], few: bool) -> dict[str, Callable[[], Any]]:
    trees = [100] if few else [50, 100, 200]

    def histogram() -> Any:
        model = HistGradientBoostingRegressor(monotonic_cst=signs, min_samples_leaf=5)
        return searched(model, {"max_depth": [2, 5] if few else [2, 3, 5], "max_iter": trees}, few)

    systems: dict[str, Callable[[], Any]] = {
        "scikit-learn, monotone boosting": histogram,
        FOREST: lambda: RandomForestRegressor(100, random_state=0),
    }
    if importlib.util.find_spec("xgboost") is not None:
        import xgboost

        def boosted() -> Any:
            model = xgboost.XGBRegressor(learning_rate=0.1, monotone_constraints=tuple(signs), n_jobs=1)
            return searched(model, {"max_depth": [2, 3, 5], "n_estimators": trees}, few)

        systems["XGBoost, monotone"] = boosted
    if importlib.util.find_spec("lightgbm") is not None:
        import lightgbm

        def light() -> Any:
            model = lightgbm.LGBMRegressor(monotone_constraints=signs, n_jobs=1, verbose=-1)
            return searched(model, {"num_leaves": [7, 15, 31], "n_estimators": trees}, few)

        systems["LightGBM, monotone"] = light
    if importlib.util.find_spec("mord") is not None:
        import mord

        alphas = {"alpha": [1.0] if few else [0.1, 1.0, 10.0]}
        systems["mord.LogisticAT"] = lambda: searched(mord.LogisticAT(), alphas, few)
    return systems


def errors(system: Callable[[], Any], X: Any, y: Any, seeds: range) -> tuple[Any, Any, float, float]:
    """Mean absolute error and share of exact answers, fold by fold, seconds for all, and rules per model."""
    start, off, right, rules = perf_counter(), [], [], []
    warnings.simplefilter("ignore")  # levels with few samples, and what peers have to say
    for seed in seeds:
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
            fitted = system().fit(X[train], y[train])
            answers = np.rint(fitted.predict(X[test]))
            off.append(np.abs(answers - y[test]).mean())
            right.append((answers == y[test]).mean())
            best = getattr(fitted, "best_estimator_", fitted)
            rules.append(len(best.rules_) if isinstance(best, SugenoRegressor) else np.nan)
    return np.array(off), np.array(right), perf_counter() - start, float(np.mean(rules))


def spread(values: Any) -> str:
    return f"{values.mean():.3f} +- {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def compare(name: str, few: bool) -> tuple[dict[str, float], float]:
    """Print the table of a data set; give the mean absolute error of each system, and our rules."""
    found = data(name)
    if found is None:
        return {}, np.nan
    X, y = found
    found_errors, ours_rules = {}, np.nan
    seeds = range(1 if few else 3)
    print(
        f"{name}: {len(y)} samples, {X.shape[1]} features, {len(np.unique(y))} levels; "
        f"ten folds, {len(seeds)} shuffles"
    )
    for title, system in {**ours(SIGNS[name], few), **peers(SIGNS[name], few)}.items():
        off, right, seconds, rules = errors(system, X, y, seeds)
        found_errors[title] = float(off.mean())
        ours_rules = rules if title == OURS else ours_rules
        lines = "" if np.isnan(rules) else f", {rules:.0f} rules"
        print(
            f"    {title:<32} error {spread(off)}, exact {spread(right)}, {seconds:6.1f} s{lines}", flush=True
        )
    return found_errors, ours_rules


def binary(name: str, few: bool) -> dict[str, float]:
    """Two classes: one Sugeno integral of ours, and sugeno-classifier at its best."""
    found = data(name)
    if found is None:
        return {}
    X, y = found[0], (found[1] >= CUT[name]).astype(int)
    seeds = range(1 if few else 3)
    out = {}
    _, right, seconds, _ = errors(lambda: SugenoClassifier(random_state=0, smoothing=0), X, y, seeds)
    out["ours"] = float(right.mean())
    print(f"    {'two classes, sugenet terms=1':<48} exact {spread(right)}, {seconds:6.1f} s", flush=True)
    if importlib.util.find_spec("classifier") is not None:
        from classifier.sugeno_classifier import SugenoClassifier as Theirs

        tried = [
            (errors(partial(Theirs, maxitivity=k, margin=margin), X, y, seeds)[1:3], k, margin)
            for k, margin in (BEST[name] if few else SETTINGS)
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
    parser.add_argument("--few", action="store_true", help="one shuffle, few settings")
    parser.add_argument("--quick", action="store_true", help="the same for one table")
    options = parser.parse_args()
    few = options.few or options.quick
    if "SUGENET_PEERS" in os.environ:
        sys.path.append(os.environ["SUGENET_PEERS"])
    for package in ("skordinal", "mord", "xgboost", "lightgbm", "classifier"):
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
        ratio, stopped = against_sugeno_classifier(Path(folder), PATIENCE if few else 600)
    gap, gap_seconds = floats_fit(10 if few else 60)
    tables: dict[str, dict[str, float]] = {}
    rules = {}
    for name in ["swd"] if options.quick else SIGNS:
        tables[name], rules[name] = compare(name, few)
        if name in CUT:
            tables[f"{name} two classes"] = binary(name, few)
    result: dict[str, Any] = {
        "chebyshev_n3000_s": round(chebyshev, 2),
        "l1_n500_s": round(l1, 2),
        "l1_floats_gap_percent": gap,
        "l1_floats_s": round(gap_seconds, 1),
        "vs_sugeno_classifier": None if ratio is None else round(ratio),
        "vs_sugeno_classifier_is_a_lower_bound": stopped,
    }
    for name in SIGNS:
        table = tables.get(name, {})
        others = {title: error for title, error in table.items() if not title.startswith("sugenet")}
        monotone = [error for title, error in others.items() if title != FOREST]
        result[f"{name}_mae"] = round(table[OURS], 4) if table else None
        result[f"{name}_mae_monotone_peer"] = round(min(monotone), 4) if table else None
        result[f"{name}_mae_best_peer"] = round(min(others.values()), 4) if table else None
        result[f"{name}_mae_vs_best"] = round(table[OURS] / min(monotone), 3) if table else None
        result[f"{name}_rules"] = round(rules[name]) if table else None
        result[f"{name}_mae_one_term"] = round(table["sugenet terms=1"], 4) if table else None
    for name in CUT:
        two = tables.get(f"{name} two classes", {})
        result[f"{name}_two_classes"] = round(two["ours"], 4) if two else None
        result[f"{name}_two_classes_sugeno_classifier"] = round(two["theirs"], 4) if "theirs" in two else None
    result["optimal_certified"] = first and second
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    with threadpool_limits(1):  # many small products, and other work on the machine
        main()
