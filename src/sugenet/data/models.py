"""Loading the shipped networks and their held-out samples; works from an installed wheel, offline."""

from functools import cache
from importlib.resources import as_file, files
from io import BytesIO
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sugenet.errors import SugenetError
from sugenet.io import load
from sugenet.nn import Network

__all__ = ["ModelName", "breast_cancer", "digits", "samples"]

ModelName = Literal["digits", "breast_cancer"]


def digits() -> Network:
    """Return a network that reads handwritten digits of 8 x 8 pixels with values 0 to 16, each compared with
    4, 8 and 12.

    Trained on scikit-learn's copy of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, UCI
    Machine Learning Repository, CC BY 4.0). The notes hold its accuracy on held-out images.

    Examples
    --------
    >>> net = digits()
    >>> print(net)
    network 192-64-10 over 64 features, classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    >>> net.neuron(1, 1).size  # literals that each hidden neuron reads
    48
    """
    return _network("digits")


def breast_cancer() -> Network:
    """Return a network that tells malignant from benign tumours by 30 measurements of cell nuclei, two cuts
    each.

    Not for medical use.

    Trained on "Breast Cancer Wisconsin (Diagnostic)" (W. Wolberg, O. Mangasarian, N. Street, W. Street, UCI
    Machine Learning Repository, CC BY 4.0). The notes hold its accuracy on held-out samples.

    Examples
    --------
    >>> net = breast_cancer()
    >>> print(net)
    network 60-16-2 over 30 features, classes malignant, benign
    """
    return _network("breast_cancer")


def samples(name: ModelName) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return raw samples that the network of this name never saw in training, and their class indices.

    Examples
    --------
    >>> X, y = samples("digits")
    >>> X.shape, X.dtype, y[:5].tolist()
    ((359, 64), dtype('uint8'), [5, 9, 2, 4, 6])
    """
    if name not in get_args(ModelName):
        raise SugenetError(f"there is no shipped model {name!r}; there are {', '.join(get_args(ModelName))}.")
    with np.load(
        BytesIO((files("sugenet.data") / f"{name}_samples.npz").read_bytes()), allow_pickle=False
    ) as arrays:
        return arrays["X"], arrays["y"].astype(np.int64)


@cache
def _network(name: ModelName) -> Network:
    with as_file(files("sugenet.data") / f"{name}.sugenet") as path:
        return load(path)
