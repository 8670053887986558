"""Trained networks from elsewhere, made exact: one function for each kind of source, all with the same
options and the same report.

Options of all of them: `inputs` says what raw samples are (`Integers`, `Reals`, `BitInputs`); `zero` what
sign(0) shall be where a file says 0 and zero can occur; `strict=False` keeps a float stem or head outside the
exact part and says so; `names` and `classes` name features and classes. `prove=False` leaves out the
comparison of the network with its source, which is made before an importer returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from sugenet.errors import FileError
from sugenet.io.arrays import reader as arrays_reader
from sugenet.io.arrays.judge import judge_of_arrays, judge_of_folder
from sugenet.io.exact.domains import Inputs
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import OpChain
from sugenet.io.exact.ranges import sharpened
from sugenet.io.exact.relaxed import split
from sugenet.io.exact.report import Imported
from sugenet.io.larq import reader as larq_reader
from sugenet.io.larq.judge import judge_of_layers
from sugenet.io.onnx import reader as onnx_reader
from sugenet.io.onnx.graph import Graph, read_graph
from sugenet.io.onnx.judging import judges_of_graph
from sugenet.io.onnx.quantized.network import level_import
from sugenet.io.onnx.quantized.proof import prove_levels
from sugenet.io.onnx.quantized.reader import is_quantized, read_program
from sugenet.io.proof.judges import SourceJudge, judge_of_chain
from sugenet.io.proof.proving import prove_import
from sugenet.io.torch import quantized, state_dict
from sugenet.io.torch import reader as torch_reader
from sugenet.io.torch.judge import judges_of_state_dict
from sugenet.io.torch.module_judge import judges_of_module

__all__ = [
    "ImportOptions",
    "from_state_dict",
    "from_torch",
    "import_file",
    "read_bnnquanalyst",
    "read_larq",
    "read_npz",
    "read_onnx",
]


class ImportOptions(TypedDict, total=False):
    """What every importer takes."""

    inputs: Inputs | None
    zero: Literal[1, -1] | None
    strict: bool
    names: Iterable[object] | None
    classes: Iterable[object] | None
    prove: bool


def _imported(
    chain: OpChain, options: ImportOptions, judges: Callable[[OpChain], Sequence[SourceJudge]]
) -> Imported:
    """Make a chain exact and compare it with its source; where it has no judges,
    with the operations as they were read.
    """
    _known(options)
    chain = sharpened(chain)
    inputs, zero = options.get("inputs"), options.get("zero")
    made_exact = lower if options.get("strict", True) else split
    found = made_exact(chain, inputs, zero=zero, names=options.get("names"), classes=options.get("classes"))
    if not options.get("prove", True):
        return found
    return prove_import(
        found, chain, judges(chain) or [judge_of_chain(chain)], inputs, declared=zero is not None
    )


def _known(options: ImportOptions) -> None:
    unknown = set(options) - set(ImportOptions.__annotations__)
    if unknown:
        raise FileError(
            f"unknown option {unknown.pop()!r}. Importers take {', '.join(ImportOptions.__annotations__)}."
        )


def read_onnx(path: str | Path | bytes, **options: Unpack[ImportOptions]) -> Imported:
    """Read an ONNX, QONNX or FINN file.

    Integer networks (QuantizeLinear and DequantizeLinear, QLinearConv, QGemm, ...) become layers of
    staircases that give, bit for bit, what ONNX Runtime gives on x86-64 with its default optimizations.
    """
    graph = read_graph(path)
    if is_quantized(graph):
        return _levels(graph, options)
    chain, graph, output = onnx_reader.read_file(graph)
    return _imported(chain, options, lambda chain: judges_of_graph(graph, output, chain))


def _levels(graph: Graph, options: ImportOptions) -> Imported:
    """A quantized file, made exact and compared with its source."""
    _known(options)
    if options.get("zero") is not None:
        raise FileError(
            f"{graph.source}: zero={options['zero']} says what sign(0) shall be, but there is no sign."
        )
    program = read_program(graph, strict=options.get("strict", True))
    made = level_import(program, options.get("inputs"), options.get("names"), options.get("classes"))
    return prove_levels(made, program) if options.get("prove", True) else made.found


def from_torch(module: Any, example: Any, **options: Unpack[ImportOptions]) -> Imported:
    """Read a PyTorch module in eval mode by following an example through it; modules of torch.ao.nn.quantized
    are read in whole numbers.
    """
    if quantized.is_quantized(module):
        return _whole(module, example, options)
    return _imported(
        torch_reader.chain_of_module(module, example),
        options,
        lambda chain: judges_of_module(module, example, chain),
    )


def _whole(module: Any, example: Any, options: ImportOptions) -> Imported:
    for name, otherwise in (("zero", None), ("strict", True)):
        if options.get(name, otherwise) != otherwise:
            raise FileError(
                f"{name}= has no use in a quantized module, which has no signs and no float ends."
            )
    return quantized.read_quantized(
        module,
        example,
        options.get("inputs"),
        names=options.get("names"),
        classes=options.get("classes"),
        prove=options.get("prove", True),
    )


def from_state_dict(
    source: str | Path | Mapping[str, Any],
    architecture: Any = None,
    *,
    shape: Sequence[int] | None = None,
    bits: int | Sequence[int] | None = None,
    **options: Unpack[ImportOptions],
) -> Imported:
    """Read a PyTorch checkpoint or state dict whose architecture is declared, or is one of the known layouts.

    `shape` is that of one sample, (channels, height, width), where the first layer is a convolution; `bits=1`
    says that all weights and activations have one bit, `bits=(1, 2)` that weights have one and activations
    and inputs two, where the file does not say it (Brevitas); a third number is for the inputs.
    """
    arrays, parts = state_dict.declared(source, architecture, bits)
    name = Path(source).name if isinstance(source, str | Path) else "state dict"
    chain = state_dict.chain_of_parts(name, arrays, parts, shape)
    return _imported(chain, options, lambda chain: judges_of_state_dict(arrays, parts, chain.shape))


def read_larq(path: str | Path, **options: Unpack[ImportOptions]) -> Imported:
    """Read a Larq or Keras `.h5` file; needs the package h5py, and no TensorFlow."""
    chain, layers = larq_reader.read_model(path)
    return _imported(chain, options, lambda _: [judge_of_layers(layers)])


def read_npz(
    path: str | Path,
    *,
    features: int | None = None,
    outputs: int | None = None,
    above: float | None = None,
    **options: Unpack[ImportOptions],
) -> Imported:
    """Read a network kept as arrays in an `.npz` file; `features`, `outputs` and `above` are for files of
    match counts (W0, T0, ...).
    """
    chain = arrays_reader.read_npz(path, features=features, outputs=outputs, above=above)
    return _imported(
        chain, options, lambda _: [judge_of_arrays(arrays_reader.read_arrays(path), features, outputs, above)]
    )


def read_bnnquanalyst(folder: str | Path, **options: Unpack[ImportOptions]) -> Imported:
    """Read a BNNQuanalyst folder of CSV files."""
    return _imported(arrays_reader.read_bnnquanalyst(folder), options, lambda _: [judge_of_folder(folder)])


def import_file(path: str | Path, **options: Any) -> Imported:
    """Read any kind of file that has an importer, by its ending; a folder is BNNQuanalyst's. Options are
    those of that importer.
    """
    file = Path(path)
    if file.is_dir():
        return read_bnnquanalyst(file, **options)
    name = file.name.lower().removesuffix(".gz")
    readers: dict[tuple[str, ...], Callable[..., Imported]] = {
        (".onnx",): read_onnx,
        (".pt", ".pth", ".tar"): from_state_dict,
        (".h5", ".hdf5"): read_larq,
        (".npz",): read_npz,
    }
    for endings, reader in readers.items():
        if name.endswith(endings):
            return reader(file, **options)
    raise FileError(
        f"{path} is of no kind that can be imported: .onnx, .pt, .pth, .tar, .h5, .npz, "
        f"or a folder of CSV files."
    )
