"""Trained networks from elsewhere, made exact: one function for each kind of source, all with the same
options and the same report.

Each option is spelled out in every signature, so that ``help(read_onnx)`` has them all; what an option means
stands in the docstring of each function that takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sugenet.errors import FileError
from sugenet.io.arrays import reader as arrays_reader
from sugenet.io.arrays.interpreter import interpreter_of_arrays, interpreter_of_folder
from sugenet.io.exact.domains import Inputs, Integers
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import LinearOp, OpChain, Quantize, Sign, every
from sugenet.io.exact.pixels import with_image, with_shape
from sugenet.io.exact.ranges import sharpened
from sugenet.io.exact.relaxed import split
from sugenet.io.exact.report import ImportReport
from sugenet.io.larq import reader as larq_reader
from sugenet.io.larq.interpreter import interpreter_of_layers
from sugenet.io.larq.keras_file import refuse_tensorflow
from sugenet.io.marabou.interpreter import interpreter_of_query
from sugenet.io.marabou.reader import chain_of_query, query_of_contents, read_input_query
from sugenet.io.onnx import reader as onnx_reader
from sugenet.io.onnx.alone import compare_nodes
from sugenet.io.onnx.dataflow import plain_graph
from sugenet.io.onnx.graph import Graph, read_graph
from sugenet.io.onnx.interpreters import interpreters_of_graph
from sugenet.io.onnx.quantized.network import level_import
from sugenet.io.onnx.quantized.proof import prove_levels
from sugenet.io.onnx.quantized.reader import is_quantized, read_program
from sugenet.io.plain.gzipped import plain_file
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.io.proof.interpreters import SourceInterpreter, interpreter_of_chain
from sugenet.io.proof.proving import prove_import
from sugenet.io.pynq.interpreter import interpreter_of_memory
from sugenet.io.pynq.reader import Last, PixelRounding, chain_of_memory, is_folder, read_memory
from sugenet.io.torch import quantized, state_dict
from sugenet.io.torch import reader as torch_reader
from sugenet.io.torch.interpreter import interpreters_of_module, interpreters_of_state_dict
from sugenet.io.vnnlib import read_vnnlib
from sugenet.nn import Network
from sugenet.problem.query import Query

__all__ = [
    "from_state_dict",
    "from_torch",
    "import_file",
    "read_bnn_pynq",
    "read_bnnquanalyst",
    "read_ipq",
    "read_larq",
    "read_npz",
    "read_onnx",
    "read_query",
]


@dataclass(frozen=True)
class _Options:
    """What every importer takes."""

    inputs: Inputs | None
    zero: Literal[1, -1] | None
    strict: bool
    names: Iterable[object] | None
    classes: Iterable[object] | None
    image: Sequence[int] | None
    prove: bool
    shape: tuple[int, ...] = ()
    """Of the samples, where they are followed as flat rows."""

    def seen(self, imported: ImportReport) -> ImportReport:
        """An import with the image that the samples are, or that the user knows of."""
        imported = with_shape(imported, self.shape) if self.names is None else imported
        return imported if self.image is None else with_image(imported, self.image, self.names)


def _network(
    chain: OpChain,
    options: _Options,
    judges: Callable[[OpChain], Sequence[SourceInterpreter]],
    remarks: tuple[str, ...] = (),
) -> Network:
    """The exact network of a chain, with its report."""
    imported = _imported(chain, options, judges)
    return replace(imported, remarks=(*imported.remarks, *remarks)).reported


def _imported(
    chain: OpChain, options: _Options, judges: Callable[[OpChain], Sequence[SourceInterpreter]]
) -> ImportReport:
    """Make a chain exact and compare it with its source; where it has no judges,
    with the operations as they were read.
    """
    chain = sharpened(chain)
    inputs, zero = options.inputs, options.zero
    made_exact = lower if options.strict else split
    imported = made_exact(chain, inputs, zero=zero, names=options.names, classes=options.classes)
    imported = replace(options.seen(imported), operations_judged_alone=chain.judged_alone)
    if not options.prove:
        return imported
    return prove_import(
        imported, chain, judges(chain) or [interpreter_of_chain(chain)], inputs, declared=zero is not None
    )


def read_onnx(
    path: str | Path | bytes,
    *,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read an ONNX, QONNX or FINN file.

    Integer networks (QuantizeLinear and DequantizeLinear, QLinearConv, QGemm, ...) become layers of
    staircases that give, bit for bit, what ONNX Runtime gives on x86-64 with its default optimizations.

    Parameters
    ----------
    path : str, Path or bytes
        The file, compressed with gzip or not, or its bytes.
    inputs : Integers, Reals or Bits, default: None
        What raw samples are. A file says what happens to its inputs, not what they can be.
    zero : {1, -1}, default: None
        What sign(0) is, if the source says 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside of the exact part; `report` has them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width). Then features are called ``pixel (row,column)``. Not needed if samples of the source
        are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.nn import DenseLayer, Head
    >>> from sugenet.io import Bits, write_onnx
    >>> made = Network.of_bits([DenseLayer([[+1, -1, +1]], tau=[2])], Head([[+1], [-1]]))
    >>> with TemporaryDirectory() as folder:
    ...     write_onnx(made, f"{folder}/small.onnx")
    ...     net = read_onnx(f"{folder}/small.onnx", inputs=Bits())
    >>> net.predict([[1, -1, 1], [-1, 1, -1]]).tolist() == made.predict([[1, -1, 1], [-1, 1, -1]]).tolist()
    True

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    graph = read_graph(path)
    if is_quantized(graph):
        return _levels(graph, options).reported
    chain, graph, output = onnx_reader.read_file(graph)
    if prove:
        chain = replace(chain, judged_alone=compare_nodes(plain_graph(graph)))
    return _network(chain, options, lambda chain: interpreters_of_graph(graph, output, chain))


def _levels(graph: Graph, options: _Options) -> ImportReport:
    """A quantized file, made exact and compared with its source."""
    refuse_if(
        options.zero is not None,
        f"{graph.source}: zero={options.zero} says what sign(0) shall be, but there is no sign.",
    )
    program = read_program(graph, strict=options.strict)
    made = level_import(program, options.inputs, options.names, options.classes)
    made = replace(made, found=options.seen(made.found))
    return prove_levels(made, program) if options.prove else made.found


def from_torch(
    module: Any,
    example: Any = None,
    *,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a PyTorch module in eval mode by following an example through it.

    Modules of torch.ao.nn.quantized are read in integers.

    Parameters
    ----------
    module : torch.nn.Module
        Any module whose forward pass takes one tensor and does not branch on its values.
    example : tensor or array, default: None
        A batch of at least one sample, of shape (samples, ...); its numbers do not matter. Always needed: a
        module does not say what it reads.
    inputs : Integers, Reals or Bits, default: None
        What raw samples are. A file says what happens to its inputs, not what they can be.
    zero : {1, -1}, default: None
        What sign(0) is, if the source says 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside of the exact part; `report` has them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width). Then features are called ``pixel (row,column)``. Not needed if samples of the source
        are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    Examples
    --------
    >>> import torch
    >>> from sugenet.io import Bits
    >>> class Vote(torch.nn.Module):
    ...     def forward(self, x):
    ...         majority = torch.sign(torch.nn.functional.linear(x, torch.ones(1, 3)))
    ...         return torch.nn.functional.linear(majority, torch.tensor([[1.0], [-1.0]]))
    >>> net = from_torch(Vote().eval(), torch.zeros(1, 3), inputs=Bits(), classes=["yes", "no"])
    >>> net.predict_one([1, 1, -1])
    'yes'

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    if quantized.is_quantized(module):
        return _whole(module, example, options).reported
    chain = torch_reader.chain_of_module(module, example, alone=prove)
    options = replace(options, shape=tuple(int(size) for size in np.shape(example)[1:]))
    return _network(
        chain,
        options,
        lambda chain: interpreters_of_module(module, example, chain),
    )


def _whole(module: Any, example: Any, options: _Options) -> ImportReport:
    for name, otherwise in (("zero", None), ("strict", True)):
        refuse_if(
            getattr(options, name) != otherwise,
            f"{name}= has no use in a quantized module, which has no signs and no float ends.",
        )
    return quantized.read_quantized(
        module,
        example,
        options.inputs,
        names=options.names,
        classes=options.classes,
        image=options.image,
        prove=options.prove,
    )


def from_state_dict(
    source: str | Path | Mapping[str, Any],
    architecture: Any = None,
    *,
    shape: Sequence[int] | None = None,
    bits: int | Sequence[int] | None = None,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a PyTorch checkpoint or state dict whose architecture is declared, or is one of the known layouts.

    Parameters
    ----------
    source : str, Path or mapping
        The file, compressed with gzip or not, or what `module.state_dict()` gives.
    architecture : str, default: None
        The layers in their order, such as ``linear:fc1(weights=sign) batchnorm:bn1 sign
        linear:fc2(weights=sign)``. Not needed for known layouts.
    shape : sequence of int, default: None
        Shape of one sample, (channels, height, width), if the first layer is a convolution.
    bits : int or sequence of int, default: None
        1 says that all weights and activations have one bit, (1, 2) that weights have one and activations and
        inputs two, if the file does not say it (Brevitas); a third number is for the inputs.
    inputs : Integers, Reals or Bits, default: None
        What raw samples are. A file says what happens to its inputs, not what they can be.
    zero : {1, -1}, default: None
        What sign(0) is, if the source says 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside of the exact part; `report` has them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width). Then features are called ``pixel (row,column)``. Not needed if samples of the source
        are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    if isinstance(source, str | Path):
        with plain_file(source) as file:
            arrays, parts, told = state_dict.declared(file, architecture, bits)
    else:
        arrays, parts, told = state_dict.declared(source, architecture, bits)
    name = Path(source).name if isinstance(source, str | Path) else "state dict"
    chain = state_dict.chain_of_parts(name, arrays, parts, shape)
    remarks = (told,) if told else ()
    return _network(
        chain, options, lambda chain: interpreters_of_state_dict(arrays, parts, chain.shape), remarks
    )


def read_larq(
    path: str | Path,
    *,
    weights_file: str | Path | None = None,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a model of Keras, Larq, QKeras or hls4ml's examples; needs the package h5py, but not TensorFlow.

    Parameters
    ----------
    path : str or Path
        The file, `.h5` or `.keras`, compressed with gzip or not; or the layers alone as `.json`
        (``model.to_json()``).
    weights_file : str or Path, default: None
        The file of the weights, if the layers are alone (``model.save_weights(...)``).
    inputs : Integers, Reals or Bits, default: None
        What raw samples are. A file says what happens to its inputs, not what they can be.
    zero : {1, -1}, default: None
        What sign(0) is, if the source says 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside of the exact part; `report` has them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width). Then features are called ``pixel (row,column)``. Not needed if samples of the source
        are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    Examples
    --------
    >>> read_larq("nowhere.h5")
    Traceback (most recent call last):
    sugenet.errors.FileError: nowhere.h5: it cannot be opened: No such file or directory.

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    with plain_file(path) as file, plain_file(path if weights_file is None else weights_file) as arrays:
        chain, layers = larq_reader.read_model(file, None if weights_file is None else arrays)
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    return _network(chain, options, lambda chain: [interpreter_of_layers(layers, _signs(chain))])


def _signs(chain: OpChain) -> list[str]:
    """Where the signs and quantizers of a chain stand."""
    return [op.where for op in every(chain.ops) if isinstance(op, Sign | Quantize)]


def read_npz(
    path: str | Path,
    *,
    features: int | None = None,
    outputs: int | None = None,
    above: float | None = None,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a network that is stored as arrays in an `.npz` file.

    Parameters
    ----------
    path : str or Path
        The file, compressed with gzip or not.
    features : int, default: None
        For files of match counts (W0, T0, ...): number of inputs; columns beyond are padding.
    outputs : int, default: None
        For the same: how many of the last rows are classes.
    above : float, default: None
        For the same: an input is on iff the raw number is above this.
    inputs : Integers, Reals or Bits, default: None
        What raw samples are. A file says what happens to its inputs, not what they can be.
    zero : {1, -1}, default: None
        What sign(0) is, if the source says 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside of the exact part; `report` has them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width). Then features are called ``pixel (row,column)``. Not needed if samples of the source
        are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    with plain_file(path) as file:
        chain = arrays_reader.read_npz(file, features=features, outputs=outputs, above=above)
        return _network(
            chain,
            options,
            lambda _: [interpreter_of_arrays(arrays_reader.read_arrays(file), features, outputs, above)],
        )


def read_bnnquanalyst(
    folder: str | Path,
    *,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a BNNQuanalyst folder of CSV files.

    Parameters
    ----------
    folder : str or Path
        The folder.
    inputs : Integers, Reals or Bits, default: None
        What raw samples are. A file says what happens to its inputs, not what they can be.
    zero : {1, -1}, default: None
        What sign(0) is, if the source says 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside of the exact part; `report` has them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width). Then features are called ``pixel (row,column)``. Not needed if samples of the source
        are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    return _network(
        arrays_reader.read_bnnquanalyst(folder), options, lambda _: [interpreter_of_folder(folder)]
    )


def read_bnn_pynq(
    folder: str | Path,
    design: str | Path | None = None,
    *,
    features: int | None = None,
    outputs: int | None = None,
    last: Last | None = None,
    rounding: PixelRounding | None = None,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a parameter folder of BNN-PYNQ with one bit for weights and activations.

    Samples are bytes, 0 to 255; of a convolutional design plane by plane, (channels, height, width), as files
    of CIFAR-10 hold them.

    Parameters
    ----------
    folder : str or Path
        The folder, with ``0-0-weights.bin``, ``0-0-thres.bin``, ... and ``classes.txt``.
    design : str or Path, default: None
        How the words are folded: ``"lfcW1A1"``, ``"cnvW1A1"``, or the path of the ``config.h`` that the
        folder was made with. Not needed if the folder has a config.h, or its files are those of one of the
        two.
    features : int, default: None
        How many bits a dense design reads; those beyond are padding. Known of lfcW1A1.
    outputs : int, default: None
        How many of the last rows are classes. None: as many as ``classes.txt`` names.
    last : {"bits", "matches"}, default: None
        ``"bits"``: the class of the highest bit that is on, as the driver answers (default). ``"matches"``:
        the class of most matches.
    rounding : {"nearest", "floor"}, default: None
        Rounding of pixels to fixed point (cnvW1A1): ``"nearest"`` as newer drivers do (default), or
        ``"floor"`` as older ones.
    inputs : Integers, default: None
        Of no use here: the driver reads bytes.
    zero : {1, -1}, default: None
        Of no use here: no sum is 0.
    strict : bool, default: True
        Of no use here: nothing is a float.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is, (height, width). None: (28, 28) for lfcW1A1.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    Examples
    --------
    >>> read_bnn_pynq("nowhere")
    Traceback (most recent call last):
    sugenet.errors.FileError: nowhere: nowhere is not a folder.

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    with within(Path(folder).name):
        refuse_if(
            inputs not in (None, Integers(0, 255)),
            f"inputs={inputs}, but the driver of such a folder reads bytes: Integers(0, 255).",
        )
        refuse_if(
            zero is not None or not strict,
            "zero= and strict= have no use here: no sum is 0, and nothing is a float.",
        )
        memory = read_memory(folder, design)
        chain = chain_of_memory(memory, features=features, outputs=outputs, last=last, rounding=rounding)
        if classes is None and outputs in (None, len(memory.classes or ())):
            classes = memory.classes
    if image is None and names is None and memory.design.name == "lfcW1A1" and chain.shape == (784,):
        image = (28, 28)
    options = _Options(Integers(0, 255), None, True, names, classes, image, prove)
    last_op = chain.ops[-1]
    assert isinstance(last_op, LinearOp)
    return _network(
        chain, options, lambda _: [interpreter_of_memory(memory, len(last_op.weights), last, rounding)]
    )


def read_ipq(
    path: str | Path,
    *,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read the network of an input query of Marabou (``query.saveQuery("net.ipq")``), if it is one of signs.

    Parameters
    ----------
    path : str or Path
        The file, compressed with gzip or not.
    inputs : Integers, Reals or Bits, default: None
        What raw samples are. A file says what happens to its inputs, not what they can be.
    zero : {1, -1}, default: None
        What sign(0) is, if the source says 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside of the exact part; `report` has them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width). Then features are called ``pixel (row,column)``. Not needed if samples of the source
        are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` says what was found in each layer, and what was compared with the
        source.

    Raises
    ------
    FileError
        If the source cannot be read exactly; the message says where and why.

    See Also
    --------
    sugenet.io.read_query : reads what the file asks about it.
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    contents = read_input_query(path)
    with within(contents.source):
        chain = chain_of_query(contents)
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    return _network(chain, options, lambda _: [interpreter_of_query(contents)])


def read_query(path: str | Path) -> Query:
    """Read a query: a VNNLIB file, version 1 or 2, or what an ``.ipq`` file of Marabou asks.

    Parameters
    ----------
    path
        The file, packed by gzip or not.
    """
    if not Path(path).name.lower().removesuffix(".gz").endswith(".ipq"):
        return read_vnnlib(path)
    contents = read_input_query(path)
    with within(contents.source):
        return query_of_contents(contents)


def import_file(
    path: str | Path,
    *,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
    architecture: Any = None,
    shape: Sequence[int] | None = None,
    bits: int | Sequence[int] | None = None,
    features: int | None = None,
    outputs: int | None = None,
    above: float | None = None,
    weights_file: str | Path | None = None,
    design: str | Path | None = None,
    last: Last | None = None,
    rounding: PixelRounding | None = None,
) -> Network:
    """Read any kind of file that has an importer, by its ending.

    Parameters
    ----------
    path
        ``.onnx``, ``.pt``, ``.pth``, ``.tar``, ``.h5``, ``.hdf5``, ``.keras``, ``.json``, ``.npz`` or
        ``.ipq``, each also packed as ``.gz``; a folder is BNN-PYNQ's where it has files such as
        ``0-0-weights.bin``, else BNNQuanalyst's.
    inputs
        What raw samples are: `Integers`, `Reals` or `Bits`; a file says what happens to its inputs, not
        what they can be.
    zero
        What sign(0) shall be, 1 or -1, where the source says 0 and zero can occur.
    strict
        False keeps a float stem or head outside the exact part, and says so.
    names, classes
        Names of features and classes.
    image
        Shape of the image that each flat row is: (height, width), (height, width, channels) or (channels,
        height, width), so that features are called ``pixel (row,column)``. Not needed where samples of the
        source are images themselves; never guessed from how many features there are.
    prove
        False leaves out the comparison of the network with its source, which is made before this returns.
    architecture, shape, bits
        For PyTorch checkpoints, see `from_state_dict`; refused for other files.
    features, outputs, above
        For `.npz` files, see `read_npz`, the first two also for folders of BNN-PYNQ; refused for other files.
    weights_file
        For models of Keras as `.json`, see `read_larq`; refused for other files.
    design, last, rounding
        For folders of BNN-PYNQ, see `read_bnn_pynq`; refused for other files.
    """
    file = Path(path)
    common: dict[str, Any] = {
        "inputs": inputs,
        "zero": zero,
        "strict": strict,
        "names": names,
        "classes": classes,
        "image": image,
        "prove": prove,
    }
    checkpoint = {"architecture": architecture, "shape": shape, "bits": bits}
    counts = {"features": features, "outputs": outputs, "above": above}
    layers = {"weights_file": weights_file}
    packed = {"design": design, "last": last, "rounding": rounding}
    reader, accepted = _reader_of(file)
    kinds = (
        ("a PyTorch checkpoint", checkpoint),
        ("an .npz file", counts),
        ("a model of Keras", layers),
        ("a folder of BNN-PYNQ", packed),
    )
    for what, mine in kinds:
        misplaced = next(
            (name for name, value in mine.items() if value is not None and name not in accepted), None
        )
        refuse_if(
            misplaced is not None, f"{misplaced}= is for {what}, and {file.name} is none. Leave it out."
        )
    network: Network = reader(
        file, **common, **{name: (checkpoint | counts | layers | packed)[name] for name in accepted}
    )
    return network


def _reader_of(file: Path) -> tuple[Callable[..., Network], tuple[str, ...]]:
    """Who reads a file, and the options that it takes alone."""
    refuse_tensorflow(file)
    if file.is_dir() and is_folder(file):
        return read_bnn_pynq, ("features", "outputs", "design", "last", "rounding")
    if file.is_dir():
        return read_bnnquanalyst, ()
    name = file.name.lower().removesuffix(".gz")
    readers: dict[tuple[str, ...], tuple[Callable[..., Network], tuple[str, ...]]] = {
        (".onnx",): (read_onnx, ()),
        (".pt", ".pth", ".tar"): (from_state_dict, ("architecture", "shape", "bits")),
        (".h5", ".hdf5", ".keras", ".json"): (read_larq, ("weights_file",)),
        (".npz",): (read_npz, ("features", "outputs", "above")),
        (".ipq",): (read_ipq, ()),
    }
    for endings, reader in readers.items():
        if name.endswith(endings):
            return reader
    refuse_if(
        name.endswith(".nnet"),
        f"{file} is an NNet file, and these are networks of ReLUs, which are not binarized. Networks of "
        "signs are read from ONNX, or from Marabou's input queries: query.saveQuery('net.ipq').",
    )
    refuse_if(
        name.endswith(".nir"),
        f"{file} is a spiking network, which needs to be told how its neurons run: "
        "sugenet.spiking.read_nir(path, convention).",
    )
    raise FileError(
        f"{file} is of no kind that can be imported: .onnx, .pt, .pth, .tar, .h5, .keras, .json, .npz, .ipq, "
        f"each also as .gz, or a folder of CSV files or of BNN-PYNQ."
    )
