"""Binarized neural networks read exactly as Sugeno integrals: which rule fired, what would change the answer, can it fail."""

from sugenet import capacity, errors
from sugenet import data as models
from sugenet.bnn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    Neuron,
    OneHot,
    PoolLayer,
    Trace,
    Window,
    bit,
    fold,
    fold_by_evaluation,
    fold_conv,
    fold_levels,
    integer,
    simplify,
    summary,
    thermometer,
    threshold,
)
from sugenet.io import load, save
from sugenet.reason import L0, L1, L2, Hamming, Linf, check, whatif

__version__ = "0.1.0"

__all__ = [
    "L0",
    "L1",
    "L2",
    "ConvLayer",
    "DenseLayer",
    "Encoder",
    "Hamming",
    "Head",
    "LevelLayer",
    "Linf",
    "Network",
    "Neuron",
    "OneHot",
    "PoolLayer",
    "Trace",
    "Window",
    "bit",
    "capacity",
    "check",
    "errors",
    "fold",
    "fold_by_evaluation",
    "fold_conv",
    "fold_levels",
    "integer",
    "load",
    "models",
    "save",
    "simplify",
    "summary",
    "thermometer",
    "threshold",
    "whatif",
]
