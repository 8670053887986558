"""Binarized neural networks read exactly as Sugeno integrals: which rule fired, what would change the answer, can it fail."""

from typing import TYPE_CHECKING, Any

from sugenet import capacity, errors, io
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
from sugenet.reason import (
    L0,
    L1,
    L2,
    Agree,
    Always,
    Anything,
    Box,
    Fair,
    Free,
    Hamming,
    Linf,
    Monotone,
    Never,
    Prices,
    Robust,
    chain_of,
    check,
    check_rule,
    count,
    rulebook,
    verify,
    whatif,
    why,
)

if TYPE_CHECKING:
    from sugenet.io import BitInputs, Integers, Reals, from_torch, read_larq, read_onnx, read_vnnlib, verify_against, write_onnx

__version__ = "0.1.0"

__all__ = [
    "L0",
    "L1",
    "L2",
    "Agree",
    "Always",
    "Anything",
    "BitInputs",
    "Box",
    "ConvLayer",
    "DenseLayer",
    "Encoder",
    "Fair",
    "Free",
    "Hamming",
    "Head",
    "Integers",
    "LevelLayer",
    "Linf",
    "Monotone",
    "Network",
    "Neuron",
    "Never",
    "OneHot",
    "PoolLayer",
    "Prices",
    "Reals",
    "Robust",
    "Trace",
    "Window",
    "bit",
    "capacity",
    "chain_of",
    "check",
    "check_rule",
    "count",
    "errors",
    "fold",
    "fold_by_evaluation",
    "fold_conv",
    "fold_levels",
    "from_torch",
    "integer",
    "io",
    "load",
    "models",
    "read_larq",
    "read_onnx",
    "read_vnnlib",
    "rulebook",
    "save",
    "simplify",
    "summary",
    "thermometer",
    "threshold",
    "verify",
    "verify_against",
    "whatif",
    "why",
    "write_onnx",
]


def __getattr__(name: str) -> Any:
    """Importers are loaded when first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'sugenet' has no attribute {name!r}")
    return getattr(io, name)
