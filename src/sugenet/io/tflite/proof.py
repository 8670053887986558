"""Compare an 8-bit import with its file before it is returned: every tensor, value by value."""

from __future__ import annotations

import numpy as np

from sugenet.io.exact.report import ImportReport
from sugenet.io.onnx.quantized.network import LevelImport
from sugenet.io.onnx.quantized.proof import LevelInterpreter, compared_levels
from sugenet.io.onnx.quantized.walk import IntegerProgram
from sugenet.io.tflite.arithmetic import Kernels
from sugenet.io.tflite.file import TfliteFile
from sugenet.io.tflite.interpreter import IntegerRunner
from sugenet.nn.arrays import Array

__all__ = ["prove_integers"]


def prove_integers(
    made: LevelImport, program: IntegerProgram, file: TfliteFile, kernels: Kernels
) -> ImportReport:
    """Return the import with its proof, or refuse it and name the first tensor that differs."""
    runner = IntegerRunner(file, kernels, program.scores)

    def run(rows: Array) -> tuple[Array, dict[str, Array], Array]:
        scores, tensors = runner(rows)
        maps = {
            key: tensor.transpose(0, 3, 1, 2) if tensor.ndim == 4 else tensor
            for key, tensor in tensors.items()
        }
        return scores, maps, np.zeros(len(rows), bool)

    name = f"an interpreter of its operators in 8-bit integers, rounded like the {kernels} kernels"
    return compared_levels(made, program, LevelInterpreter(name, run))[0]
