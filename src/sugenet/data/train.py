"""Train the shipped networks again: ``python -m sugenet.data.train digits`` (or ``breast_cancer``).

Requires PyTorch and scikit-learn, which provides the data. Split and seed are fixed. A fifth of the samples,
stratified by class, is held out before anything is learned, including the cuts. Sizes and settings were
chosen by their mean over five other random splits of the same data. The same versions on the same kind of
machine give the same network.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import SugenetError
from sugenet.files import write_bytes
from sugenet.fit import Epoch, Settings, Trained, learn_encoder, print_progress, train
from sugenet.io import save
from sugenet.nn import Encoder, thermometer

__all__ = ["RECIPES", "Recipe", "main", "make", "try_split"]

_HELD_OUT = 0.2


@dataclass(frozen=True, eq=False)
class Recipe:
    """All settings of a shipped network."""

    name: str
    loader: str
    """Name of the function in `sklearn.datasets`."""
    dtype: str
    """Type of the raw values as shipped."""
    hidden: tuple[int, ...]
    settings: Settings
    encoder: Callable[[npt.NDArray[Any], Any], Encoder]
    """Function of the training samples and scikit-learn's description of the data."""
    credit: str


def _pixels(X: npt.NDArray[Any], about: Any) -> Encoder:
    names = [f"pixel ({row},{column})" for row in range(8) for column in range(8)]
    assert X.shape[1] == len(names) == about.data.shape[1]
    return Encoder([thermometer((4, 8, 12), low=0, high=16, whole=True)] * 64, names)


def _measurements(X: npt.NDArray[Any], about: Any) -> Encoder:
    return learn_encoder(X, coding="cuts", cuts=2, names=about.feature_names, low=0)


RECIPES = {
    "digits": Recipe(
        "digits",
        "load_digits",
        "uint8",
        hidden=(64,),
        settings=Settings(epochs=100, noise=0.05, sparsity=0.75, validation_share=0),
        encoder=_pixels,
        credit="Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, 1998, UCI Machine "
        "Learning Repository, doi:10.24432/C50P49; the 1,797 images that scikit-learn ships",
    ),
    "breast_cancer": Recipe(
        "breast_cancer",
        "load_breast_cancer",
        "float64",
        hidden=(16,),
        settings=Settings(epochs=60, noise=0.05, sparsity=0.5, validation_share=0),
        encoder=_measurements,
        credit="Breast Cancer Wisconsin (Diagnostic), W. Wolberg, O. Mangasarian, N. Street and W. Street, "
        "1993, UCI Machine Learning Repository, doi:10.24432/C5DW2B; the 569 samples that "
        "scikit-learn ships",
    ),
}
"""The shipped networks by name."""


def make(recipe: Recipe, folder: Path) -> tuple[Trained, float]:
    """Train one network, write it and its held-out samples to a folder, and return it with its held-out
    accuracy.
    """
    X, y, held, trained = _train_on_split(recipe, 0, recipe.settings, print_progress)
    right = int((trained.network.predict(X[held], engine="definition") == y[held]).sum())
    accuracy = right / int(held.sum())
    notes = {
        "data": recipe.credit,
        "licence of the data": "CC BY 4.0",
        "held-out accuracy": f"{accuracy:.4f}",
        "held-out samples": (
            f"{right} of {int(held.sum())} right; {int((~held).sum())} others were trained on"
        ),
        "trained by": f"python -m sugenet.data.train {recipe.name}",
    }
    save(replace(trained.network, notes=notes), folder / f"{recipe.name}.sugenet")
    samples = BytesIO()
    np.savez_compressed(samples, X=X[held], y=y[held].astype(np.uint8))
    write_bytes(folder / f"{recipe.name}_samples.npz", samples.getvalue())
    return trained, accuracy


def try_split(recipe: Recipe, split: int, settings: Settings) -> tuple[Trained, float]:
    """Train on another random split of the same data with these settings, without writing anything.

    Split 0 is the split of the shipped network.
    """
    X, y, held, trained = _train_on_split(recipe, split, settings, None)
    return trained, float((trained.network.predict(X[held]) == y[held]).mean())


def main() -> None:
    """Train one of the networks and print its accuracy."""
    parser = argparse.ArgumentParser(
        prog="python -m sugenet.data.train", description="Train a shipped network again."
    )
    parser.add_argument("name", choices=sorted(RECIPES))
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(__file__).parent,
        help="where to write; the package itself unless given",
    )
    asked = parser.parse_args()
    trained, accuracy = make(RECIPES[asked.name], asked.folder)
    print(trained)
    print(f"held-out accuracy {accuracy:.2%}")


def _train_on_split(
    recipe: Recipe, split: int, settings: Settings, progress: Callable[[Epoch], None] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.bool_], Trained]:
    about = _load(recipe.loader)
    X, y = about.data.astype(recipe.dtype), about.target.astype(np.int64)
    held = _held_out(y, split)
    trained = train(
        X[~held],
        y[~held],
        recipe.hidden,
        settings=settings,
        encoder=recipe.encoder(X[~held], about),
        classes=about.target_names.tolist(),
        test_share=0,  # they are held out above
        progress=progress,
    )
    return X, y, held, trained


def _load(loader: str) -> Any:
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError as error:
        raise SugenetError(
            f"the data comes with scikit-learn, which cannot be imported ({error}): pip install scikit-learn."
        ) from error
    return getattr(datasets, loader)()


def _held_out(y: npt.NDArray[np.int64], split: int) -> npt.NDArray[np.bool_]:
    rng = np.random.default_rng(split)
    held = np.zeros(len(y), bool)
    for kind in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == kind))
        held[rows[: round(_HELD_OUT * len(rows))]] = True
    return held


if __name__ == "__main__":
    main()
