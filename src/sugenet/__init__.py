"""Exact reading of binarized neural networks as Sugeno integrals: explanations, counterfactuals,
robustness.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sugenet import capacity, errors, fit, io, logic, nn
    from sugenet import data as models
    from sugenet.fit import BNNClassifier, SugenoClassifier, from_sklearn
    from sugenet.glance import Overview, overview
    from sugenet.io import (
        Bits,
        Integers,
        Reals,
        from_logic_gates,
        from_tables,
        from_torch,
        from_tsetlin,
        load,
        read_bnn_pynq,
        read_larq,
        read_onnx,
        read_tflite,
        read_vnnlib,
        save,
        verify_against,
        write_c,
        write_onnx,
    )
    from sugenet.nn import Domain, Law, Network, Neuron, summary
    from sugenet.reason import (
        L0,
        L1,
        L2,
        Agree,
        Always,
        AnyInput,
        Box,
        CheckedRule,
        ComparedNetworks,
        Count,
        Counted,
        Counterfactual,
        Counterfactuals,
        CountOpen,
        CountSampled,
        Fair,
        Free,
        Hamming,
        Linf,
        Monotone,
        Never,
        NoCounterfactual,
        OpenCounterfactual,
        Predict,
        Predicted,
        Prices,
        Proved,
        Reason,
        Reasons,
        Rectified,
        Refuted,
        Robust,
        Rulebook,
        Undecided,
        WhatIf,
        Why,
        check,
        check_rule,
        compare,
        count,
        each,
        inflate,
        rectify,
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
    "BNNClassifier",
    "Bits",
    "Box",
    "CheckedRule",
    "ComparedNetworks",
    "Count",
    "CountOpen",
    "CountSampled",
    "Counted",
    "Counterfactual",
    "Counterfactuals",
    "Domain",
    "Fair",
    "Free",
    "Hamming",
    "Integers",
    "Law",
    "Linf",
    "Monotone",
    "Network",
    "Neuron",
    "Never",
    "NoCounterfactual",
    "OpenCounterfactual",
    "Overview",
    "Predict",
    "Predicted",
    "Prices",
    "Proved",
    "Reals",
    "Reason",
    "Reasons",
    "Rectified",
    "Refuted",
    "Results",
    "Robust",
    "Rulebook",
    "SugenoClassifier",
    "Undecided",
    "WhatIf",
    "Why",
    "capacity",
    "check",
    "check_rule",
    "compare",
    "count",
    "each",
    "errors",
    "explore",
    "fit",
    "from_logic_gates",
    "from_sklearn",
    "from_tables",
    "from_torch",
    "from_tsetlin",
    "inflate",
    "io",
    "load",
    "logic",
    "models",
    "nn",
    "overview",
    "read_bnn_pynq",
    "read_larq",
    "read_onnx",
    "read_results",
    "read_tflite",
    "read_vnnlib",
    "rectify",
    "rulebook",
    "save",
    "summary",
    "sweep",
    "trace_reasons",
    "verify",
    "verify_against",
    "whatif",
    "why",
    "write_c",
    "write_onnx",
]

_PACKAGES = (
    "visible",
    "errors",
    "files",
    "reading",
    "orphans",
    "compiling",
    "reprs",
    "plottable",
    "fields",
    "frames",
    "capacity",
    "bits",
    "nn",
    "checker",
    "problem",
    "engines",
    "reason",
    "logic",
    "io",
    "spiking",
    "fit",
    "sweeps",
    "glance",
    "show",
    "data",
    "web",
    "cli",
)
_FACES = ("nn", "io", "reason", "logic", "fit", "sweeps", "glance", "web")
"""Packages that export public names, fastest import first; a name is imported from the first that has it."""


def __getattr__(name: str) -> Any:
    """Load a package or a name on first use, so that ``import sugenet`` is fast."""
    if name in _PACKAGES or name == "models":
        value = _package("data" if name == "models" else name)
    elif name in __all__:
        value = next(getattr(package, name) for package in map(_package, _FACES) if name in package.__all__)
    else:
        raise AttributeError(f"module 'sugenet' has no attribute {name!r}")
    globals()[name] = value
    return value


def _package(name: str) -> Any:
    return import_module(f"sugenet.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
