"""Integer networks in ONNX files, as `onnxruntime.quantization` writes them: QuantizeLinear and
DequantizeLinear around float operators (QDQ), or integer operators (QLinearConv, QGemm, MatMulInteger, ...).

The graph is walked once, in order. Every tensor of whole numbers becomes a wire of levels, every quantizer
the steps of a staircase, found on the arithmetic of ONNX Runtime (see `runtime`). What that computes in
floats, whose order of additions nothing fixes, is refused by name unless ``strict=False``, which reads it in
exact numbers.
"""

from __future__ import annotations

from sugenet.errors import FileError, NetworkError
from sugenet.io.onnx.graph import Graph
from sugenet.io.onnx.quantized import joins, operators, points, quantizers, sums
from sugenet.io.onnx.quantized.walk import IntegerProgram, Rule, Walk

__all__ = ["KNOWN", "is_quantized", "read_program"]

_MARKS = {
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "QLinearConv",
    "QLinearMatMul",
    "QGemm",
    "QLinearAdd",
    "QLinearConcat",
    "QLinearAveragePool",
    "QLinearGlobalAveragePool",
    "MatMulInteger",
    "ConvInteger",
}
_TAILS = {"Softmax", "LogSoftmax", "ArgMax", "Hardmax", "Sigmoid"}
KNOWN: dict[str, Rule] = {
    "Add": joins.added,
    "AveragePool": joins.average,
    "Cast": points.cast,
    "Clip": points.clipped,
    "Concat": joins.concat,
    "Constant": points.unchanged,
    "Conv": sums.conv,
    "ConvInteger": operators.integer_product,
    "DequantizeLinear": quantizers.dequantize,
    "Div": points.scaled,
    "Dropout": points.unchanged,
    "Flatten": points.reshaped,
    "Gemm": sums.gemm,
    "GlobalAveragePool": joins.global_average,
    "Identity": points.unchanged,
    "MatMul": sums.matmul,
    "MatMulInteger": operators.integer_product,
    "MaxPool": joins.pooled,
    "Mul": points.scaled,
    "QGemm": operators.qgemm,
    "QLinearAdd": operators.qlinear_add,
    "QLinearAveragePool": operators.qlinear_average,
    "QLinearConcat": operators.qlinear_concat,
    "QLinearConv": operators.qlinear_conv,
    "QLinearGlobalAveragePool": operators.qlinear_average,
    "QLinearMatMul": operators.qlinear_matmul,
    "QuantizeLinear": quantizers.quantize,
    "Relu": points.clipped,
    "Reshape": points.reshaped,
    "Squeeze": points.reshaped,
    "Sub": points.scaled,
    "Transpose": points.turned,
    **dict.fromkeys(_TAILS, points.at_the_end),
}


def is_quantized(graph: Graph) -> bool:
    """Whether a file holds integer quantization."""
    return any(node.op in _MARKS for node in graph.nodes)


def read_program(graph: Graph, *, strict: bool = True) -> IntegerProgram:
    """The integer operations of a file.

    Raises
    ------
    FileError
        Where something cannot be read exactly: the message names the node and says what to do.
    """
    try:
        return Walk(graph, strict, KNOWN).program()
    except (FileError, NetworkError) as error:
        raise FileError(f"{graph.source}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise FileError(
            f"{graph.source}: it could not be understood ({error!r}). If other programs read it, "
            f"please report it."
        ) from error
