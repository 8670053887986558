"""Read and write files: the native format, networks from other tools, samples and queries.

Loading never runs code from a file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sugenet.files import write_text
    from sugenet.io.agreement import Agreement, verify_against
    from sugenet.io.c99.writer import write_c
    from sugenet.io.competition import read_instance, write_counterexample
    from sugenet.io.exact.domains import Bits, Integers, Reals
    from sugenet.io.exact.relaxed import PartialImportReport
    from sugenet.io.exact.report import ImportProof, ImportReport, LayerReport
    from sugenet.io.exact.requantize import quantized_conv, quantized_layer
    from sugenet.io.exports import export, sample_of, write_cnf, write_mps, write_opb, write_smt2, write_wbo
    from sugenet.io.importers import (
        from_logic_gates,
        from_state_dict,
        from_tables,
        from_torch,
        from_tsetlin,
        import_file,
        read_bnn_pynq,
        read_bnnquanalyst,
        read_ipq,
        read_larq,
        read_npz,
        read_onnx,
        read_query,
        read_tflite,
    )
    from sugenet.io.native.file import load, save
    from sugenet.io.onnx.writer import write_onnx
    from sugenet.io.plain.texts import read_json
    from sugenet.io.refutations.writers import export_proof
    from sugenet.io.samples import read_samples
    from sugenet.io.torch.architecture import Architecture
    from sugenet.io.vnnlib import read_vnnlib, write_vnnlib
    from sugenet.problem.query import Query

__all__ = [
    "Agreement",
    "Architecture",
    "Bits",
    "ImportProof",
    "ImportReport",
    "Integers",
    "LayerReport",
    "PartialImportReport",
    "Query",
    "Reals",
    "export",
    "export_proof",
    "from_logic_gates",
    "from_state_dict",
    "from_tables",
    "from_torch",
    "from_tsetlin",
    "import_file",
    "load",
    "quantized_conv",
    "quantized_layer",
    "read_bnn_pynq",
    "read_bnnquanalyst",
    "read_instance",
    "read_ipq",
    "read_json",
    "read_larq",
    "read_npz",
    "read_onnx",
    "read_query",
    "read_samples",
    "read_tflite",
    "read_vnnlib",
    "sample_of",
    "save",
    "verify_against",
    "write_c",
    "write_cnf",
    "write_counterexample",
    "write_mps",
    "write_onnx",
    "write_opb",
    "write_smt2",
    "write_text",
    "write_vnnlib",
    "write_wbo",
]

_PACKAGES = {
    "problem.query": ["Query"],
    "files": ["write_text"],
    "io.agreement": ["Agreement", "verify_against"],
    "io.c99.writer": ["write_c"],
    "io.exact.domains": ["Bits", "Integers", "Reals"],
    "io.exact.relaxed": ["PartialImportReport"],
    "io.exact.report": ["ImportProof", "ImportReport", "LayerReport"],
    "io.exact.requantize": ["quantized_conv", "quantized_layer"],
    "io.exports": ["export", "sample_of", "write_cnf", "write_mps", "write_opb", "write_smt2", "write_wbo"],
    "io.native.file": ["load", "save"],
    "io.importers": [
        "from_logic_gates",
        "from_state_dict",
        "from_tables",
        "from_torch",
        "from_tsetlin",
        "import_file",
        "read_bnn_pynq",
        "read_bnnquanalyst",
        "read_ipq",
        "read_larq",
        "read_npz",
        "read_onnx",
        "read_query",
        "read_tflite",
    ],
    "io.competition": ["read_instance", "write_counterexample"],
    "io.onnx.writer": ["write_onnx"],
    "io.samples": ["read_samples"],
    "io.plain.texts": ["read_json"],
    "io.refutations.writers": ["export_proof"],
    "io.torch.architecture": ["Architecture"],
    "io.vnnlib": ["read_vnnlib", "write_vnnlib"],
}
_HOME = {name: package for package, names in _PACKAGES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a module of this package on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'sugenet.io' has no attribute {name!r}")
    return getattr(import_module(f"sugenet.{_HOME[name]}"), name)
