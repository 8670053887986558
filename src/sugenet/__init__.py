"""Binarized neural networks read exactly as Sugeno integrals: which rule fired,
what would change the answer, can it fail.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sugenet import capacity, errors, io, logic
    from sugenet import data as models
    from sugenet.bnn import (
        ConvLayer,
        DenseLayer,
        Domain,
        Encoder,
        Head,
        Law,
        LevelLayer,
        Network,
        Neuron,
        OneHot,
        PoolLayer,
        QuantizedConv,
        QuantizedLayer,
        Span,
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
    from sugenet.fit import (
        CapacityFit,
        Conflict,
        InducedCapacity,
        Ratings,
        VersionSpace,
        fit_capacity,
        induced_capacity,
        read_ratings,
        version_space,
    )
    from sugenet.io import (
        Bits,
        Integers,
        Reals,
        from_torch,
        load,
        read_bnn_pynq,
        read_larq,
        read_onnx,
        read_vnnlib,
        save,
        verify_against,
        write_c,
        write_onnx,
    )
    from sugenet.logic import Reading, Statement, Sudoku, Sum
    from sugenet.reason import (
        L0,
        L1,
        L2,
        Agree,
        Always,
        AnyInput,
        Box,
        Count,
        Counterfactual,
        Fair,
        Free,
        Hamming,
        Linf,
        Monotone,
        Never,
        NoCounterfactual,
        OpenCounterfactual,
        Predict,
        Prices,
        Proved,
        Refuted,
        Robust,
        Undecided,
        WhatIf,
        Why,
        check,
        check_rule,
        count,
        each,
        rulebook,
        trace_reasons,
        verify,
        whatif,
        why,
    )
    from sugenet.sweeps import Results, read_results, sweep
    from sugenet.web import explore

__version__ = "0.1.0"

__all__ = [
    "L0",
    "L1",
    "L2",
    "Agree",
    "Always",
    "AnyInput",
    "Bits",
    "Box",
    "CapacityFit",
    "Conflict",
    "ConvLayer",
    "Count",
    "Counterfactual",
    "DenseLayer",
    "Domain",
    "Encoder",
    "Fair",
    "Free",
    "Hamming",
    "Head",
    "InducedCapacity",
    "Integers",
    "Law",
    "LevelLayer",
    "Linf",
    "Monotone",
    "Network",
    "Neuron",
    "Never",
    "NoCounterfactual",
    "OneHot",
    "OpenCounterfactual",
    "PoolLayer",
    "Predict",
    "Prices",
    "Proved",
    "QuantizedConv",
    "QuantizedLayer",
    "Ratings",
    "Reading",
    "Reals",
    "Refuted",
    "Results",
    "Robust",
    "Span",
    "Statement",
    "Sudoku",
    "Sum",
    "Trace",
    "Undecided",
    "VersionSpace",
    "WhatIf",
    "Why",
    "Window",
    "bit",
    "capacity",
    "check",
    "check_rule",
    "count",
    "each",
    "errors",
    "explore",
    "fit_capacity",
    "fold",
    "fold_by_evaluation",
    "fold_conv",
    "fold_levels",
    "from_torch",
    "induced_capacity",
    "integer",
    "io",
    "load",
    "logic",
    "models",
    "read_bnn_pynq",
    "read_larq",
    "read_onnx",
    "read_ratings",
    "read_results",
    "read_vnnlib",
    "rulebook",
    "save",
    "simplify",
    "summary",
    "sweep",
    "thermometer",
    "threshold",
    "trace_reasons",
    "verify",
    "verify_against",
    "version_space",
    "whatif",
    "why",
    "write_c",
    "write_onnx",
]

_ROOMS = (
    "visible",
    "errors",
    "files",
    "reading",
    "orphans",
    "compile_notice",
    "compiling",
    "reprs",
    "plottable",
    "fields",
    "capacity",
    "bits",
    "bnn",
    "checker",
    "problem",
    "engines",
    "reason",
    "logic",
    "io",
    "spiking",
    "fit",
    "sweeps",
    "show",
    "data",
    "web",
    "cli",
)
_FACES = ("bnn", "io", "reason", "logic", "fit", "sweeps", "web")
"""Rooms that public names come from, cheapest first; a name comes from the first that has it."""


def __getattr__(name: str) -> Any:
    """Rooms and names are loaded when first asked for, so that ``import sugenet`` and the command
    line begin at once.
    """
    if name in _ROOMS or name == "models":
        value = _room("data" if name == "models" else name)
    elif name in __all__:
        value = next(getattr(room, name) for room in map(_room, _FACES) if name in room.__all__)
    else:
        raise AttributeError(f"module 'sugenet' has no attribute {name!r}")
    globals()[name] = value
    return value


def _room(name: str) -> Any:
    return import_module(f"sugenet.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
