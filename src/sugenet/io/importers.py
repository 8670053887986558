"""Import trained networks from other tools. There is one function per kind of source, all with the same
options and the same report.

Every signature lists every option, so that ``help(read_onnx)`` shows them all. Each function documents the
options that it takes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sugenet.errors import FileError
from sugenet.io.arrays import reader as arrays_reader
from sugenet.io.arrays.interpreter import interpreter_of_arrays, interpreter_of_folder
from sugenet.io.exact.booleans import Booleans, read_booleans
from sugenet.io.exact.domains import Bits, Inputs, Integers
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import LinearOp, OpChain, Quantize, Sign, every
from sugenet.io.exact.pixels import with_image, with_shape
from sugenet.io.exact.ranges import sharpened
from sugenet.io.exact.relaxed import split
from sugenet.io.exact.report import ImportReport
from sugenet.io.gates.network import gate_import
from sugenet.io.gates.proof import prove_gates
from sugenet.io.gates.reader import read_gates
from sugenet.io.larq import reader as larq_reader
from sugenet.io.larq.interpreter import interpreter_of_layers
from sugenet.io.larq.keras_file import refuse_tensorflow
from sugenet.io.marabou.interpreter import interpreter_of_query
from sugenet.io.marabou.reader import chain_of_query, query_of_contents, read_input_query
from sugenet.io.onnx import reader as onnx_reader
from sugenet.io.onnx.alone import compare_nodes
from sugenet.io.onnx.graph import Graph, read_graph
from sugenet.io.onnx.interpreters import interpreters_of_graph
from sugenet.io.onnx.own import own_network, prove_own
from sugenet.io.onnx.quantized.network import level_import
from sugenet.io.onnx.quantized.proof import prove_levels
from sugenet.io.onnx.quantized.reader import is_quantized, read_program
from sugenet.io.onnx.rewriting import narrowed, plain_graph
from sugenet.io.plain.gzipped import plain_file
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.io.proof.interpreters import SourceInterpreter, interpreter_of_chain
from sugenet.io.proof.proving import prove_import
from sugenet.io.pynq.interpreter import interpreter_of_memory
from sugenet.io.pynq.reader import Last, PixelRounding, chain_of_memory, is_folder, read_memory
from sugenet.io.tables.interpreter import interpreter_of_tables
from sugenet.io.tables.reader import SOURCE, chain_of_tables, read_tables
from sugenet.io.tflite.arithmetic import KERNELS, Kernels
from sugenet.io.tflite.binary import chain_of_file
from sugenet.io.tflite.binary_interpreter import interpreter_of_file
from sugenet.io.tflite.file import read_tflite_file
from sugenet.io.tflite.interpreter import prove_integers
from sugenet.io.tflite.reader import read_integer_program
from sugenet.io.torch import quantized, state_dict
from sugenet.io.torch import reader as torch_reader
from sugenet.io.torch.interpreter import interpreters_of_module, interpreters_of_state_dict
from sugenet.io.tsetlin.interpreter import interpreters_of_clauses
from sugenet.io.tsetlin.reader import chain_of_clauses, read_clauses
from sugenet.io.vnnlib import read_vnnlib
from sugenet.nn import Network
from sugenet.problem.query import Query

__all__ = [
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
]


@dataclass(frozen=True)
class _Options:
    """Options that every importer takes."""

    inputs: Inputs | None
    zero: Literal[1, -1] | None
    strict: bool
    names: Iterable[object] | None
    classes: Iterable[object] | None
    image: Sequence[int] | None
    prove: bool
    shape: tuple[int, ...] = ()
    """Shape of the samples, if they are followed as flat rows."""

    @property
    def describes_nothing(self) -> bool:
        """Whether no option describes the network."""
        describing = (self.inputs, self.zero, self.names, self.classes, self.image)
        return self.strict and all(option is None for option in describing)

    def seen(self, imported: ImportReport) -> ImportReport:
        """Return an import with the shape of its images, from the samples or from the user."""
        imported = with_shape(imported, self.shape) if self.names is None else imported
        return imported if self.image is None else with_image(imported, self.image, self.names)


def _network(
    chain: OpChain,
    options: _Options,
    interpreters: Callable[[OpChain], Sequence[SourceInterpreter]],
    remarks: tuple[str, ...] = (),
) -> Network:
    """Return the exact network of a chain, with its report."""
    imported = _imported(chain, options, interpreters)
    return replace(imported, remarks=(*imported.remarks, *remarks)).reported


def _imported(
    chain: OpChain, options: _Options, interpreters: Callable[[OpChain], Sequence[SourceInterpreter]]
) -> ImportReport:
    """Make a chain exact and compare it with its source.

    Without interpreters of the source, compare it with the operations as they were read.
    """
    chain = sharpened(chain)
    inputs, zero = options.inputs, options.zero
    made_exact = lower if options.strict else split
    imported = made_exact(chain, inputs, zero=zero, names=options.names, classes=options.classes)
    imported = replace(options.seen(imported), operations_compared_alone=chain.compared_alone)
    if not options.prove:
        return imported
    compared = interpreters(chain) or [interpreter_of_chain(chain)]
    return prove_import(imported, chain, compared, inputs, declared=zero is not None)


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

    A file that `write_onnx` wrote gives back an equal network, with names, limits and laws. Give `inputs` to
    read its operations instead.

    Integer networks (QuantizeLinear and DequantizeLinear, QLinearConv, QGemm, ...) become layers of
    staircases. Their outputs equal, bit for bit, those of ONNX Runtime on x86-64 with its default
    optimizations.

    Parameters
    ----------
    path : str, Path or bytes
        The file, compressed with gzip or not, or its bytes.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. Files of other programs do not contain this.
    zero : {1, -1}, default: None
        Value of sign(0), if the source defines it as 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

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
    imported = own_network(graph) if options.describes_nothing else None
    if imported is not None:
        return (prove_own(imported, graph) if prove else imported).reported
    graph = narrowed(read_graph(path))
    if is_quantized(graph):
        return _levels(graph, options).reported
    chain, graph, output = onnx_reader.read_file(graph)
    if prove:
        chain = replace(chain, compared_alone=compare_nodes(plain_graph(graph)))
    return _network(chain, options, lambda chain: interpreters_of_graph(graph, output, chain), graph.unread)


def _levels(graph: Graph, options: _Options) -> ImportReport:
    """Make a quantized file exact and compare it with its source."""
    refuse_if(
        options.zero is not None,
        f"{graph.source}: zero={options.zero} defines sign(0), but there is no sign.",
    )
    program = read_program(graph, strict=options.strict)
    made = level_import(program, options.inputs, options.names, options.classes)
    made = replace(made, found=options.seen(made.found))
    return prove_levels(made, program, graph) if options.prove else made.found


def read_tflite(
    path: str | Path | bytes,
    *,
    kernels: Kernels | None = None,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a TensorFlow Lite file: an 8-bit network, or a binarized one from Larq Compute Engine.

    The outputs of an 8-bit network equal those of the chosen kernels, bit for bit. A binarized network is
    read in the exact numbers of the file.

    Parameters
    ----------
    path : str, Path or bytes
        The file, compressed with gzip or not, or its bytes.
    kernels : {"reference", "micro"}, default: None
        How the sums of dense 8-bit layers are rounded: like LiteRT's reference kernels (default), or like
        TensorFlow Lite Micro. They differ only next to ties. Refused for files without 8-bit layers.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. Files do not contain this. Files with int8 inputs also take
        ``Integers(0, 255, start=-128)``.
    zero : {1, -1}, default: None
        Not used: sign(0) is +1 in Larq Compute Engine.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

    Examples
    --------
    >>> read_tflite("nowhere.tflite")
    Traceback (most recent call last):
    sugenet.errors.FileError: nowhere.tflite cannot be read: No such file or directory.

    See Also
    --------
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    refuse_if(kernels not in (None, *KERNELS), f"kernels={kernels!r} is not known. Use {', '.join(KERNELS)}.")
    refuse_if(zero is not None, "zero= has no use: sign(0) is +1 in such files.")
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    file = read_tflite_file(path)
    if not file.is_integer:
        refuse_if(kernels is not None, f"{file.source}: kernels= has no use: it has no 8-bit layers.")
        chain = chain_of_file(file)
        return _network(chain, options, lambda chain: [interpreter_of_file(file, _signs(chain))])
    refuse_if(
        not strict, f"{file.source}: strict= has no use: an 8-bit network is read exactly or not at all."
    )
    kernels = kernels or "reference"
    program = read_integer_program(file, kernels)
    made = level_import(program, inputs, names, classes)
    made = replace(made, found=options.seen(made.found))
    return prove_integers(made, program, file, kernels).reported if prove else made.found.reported


def from_logic_gates(
    model: Any,
    *,
    features: int | None = None,
    outputs: int | None = None,
    temperature: float | None = None,
    shape: Sequence[int] | None = None,
    inputs: Inputs | None = None,
    zero: Literal[1, -1] | None = None,
    strict: bool = True,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a logic-gate network of difflogic or torchlogix, or one given as arrays.

    14 of the 16 gates with two inputs become one neuron. XOR and XNOR become two neurons in the same layer,
    and whatever reads the gate reads both. `GroupSum` becomes the class scores. A binarization in front of
    the gates becomes the encoder, so that answers speak of raw features.

    Parameters
    ----------
    model : torch.nn.Sequential, Circuit, mapping, str, Path or list
        A trained module in eval mode; a `Circuit` of torchlogix, its dictionary, or the JSON file that it
        wrote; or one row (first inputs, second inputs, numbers of gates) per layer. Inputs are numbered from
        0. The number of a gate is its truth table as in both libraries: 1 is AND, 6 is XOR, 7 is OR.
    features : int, default: None
        For arrays: how many bits the first layer can read.
    outputs : int, default: None
        For arrays: the number of classes. The gates of the last layer are summed in groups of equal size.
    temperature : float, default: None
        For arrays: the number that sums are divided by, the tau of `GroupSum`. None: 1.
    shape : sequence of int, default: None
        For modules: shape of one sample, (channels, height, width). None: samples are flat.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. None: any real numbers if the model has thresholds, else bits.
        Integers are read as the nearest float32 of ``start + step * x``.
    zero : {1, -1}, default: None
        Not used: there are no signs.
    strict : bool, default: True
        Not used: nothing is a float.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.
    TooLargeError
        If a layer has too many gates. Layers of up to about 10,000 gates are read.

    Examples
    --------
    >>> gates = [([0, 1], [1, 2], [6, 1])]  # x1 XOR x2, x2 AND x3
    >>> net = from_logic_gates(gates, features=3, outputs=2)
    >>> net.predict([[1, 0, 1], [1, 1, 1]])
    array([0, 1])
    >>> print(net.report.remarks[0])
    1 XOR or XNOR gate as two neurons each

    See Also
    --------
    from_torch : reads binarized PyTorch modules.
    verify_against : compares a network with its source on samples.
    """
    refuse_if(
        zero is not None or not strict,
        "zero= and strict= do not apply here: there are no signs, and nothing is a float.",
    )
    program = read_gates(model, features, outputs, temperature, shape)
    made = gate_import(program, inputs, names, classes)
    options = _Options(inputs, None, True, names, classes, image, prove)
    made = replace(made, found=options.seen(made.found))
    return (prove_gates(made, program, model, inputs) if prove else made.found).reported


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
        A batch of at least one sample, of shape (samples, ...). Its values do not matter. Always required,
        since a module does not store its input shape.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. Files do not contain this.
    zero : {1, -1}, default: None
        Value of sign(0), if the source defines it as 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

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
        return _quantized_module(module, example, options).reported
    chain = torch_reader.chain_of_module(module, example, alone=prove)
    options = replace(options, shape=tuple(int(size) for size in np.shape(example)[1:]))
    return _network(
        chain,
        options,
        lambda chain: interpreters_of_module(module, example, chain),
    )


def _quantized_module(module: Any, example: Any, options: _Options) -> ImportReport:
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
        The file, compressed with gzip or not, or the result of `module.state_dict()`.
    architecture : str, default: None
        The layers in their order, such as ``linear:fc1(weights=sign) batchnorm:bn1 sign
        linear:fc2(weights=sign)``. Not needed for known layouts.
    shape : sequence of int, default: None
        Shape of one sample, (channels, height, width), if the first layer is a convolution.
    bits : int or sequence of int, default: None
        Bit widths, if the file does not contain them (Brevitas). 1: all weights and activations have one bit.
        (1, 2): weights have one bit, activations and inputs two. A third number is for the inputs.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. Files do not contain this.
    zero : {1, -1}, default: None
        Value of sign(0), if the source defines it as 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

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


def from_tsetlin(
    machine: Any,
    weights: Any = None,
    *,
    booleanizer: Any = None,
    clamp: int | None = None,
    inputs: Inputs | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a Tsetlin machine: a fitted model of tmu, or arrays of any other library.

    Neuron j of the first layer is clause j, active iff all its literals hold. An empty clause is never
    active, as in tmu when it predicts. The score of a class is its sum of votes. Among equal scores the
    lowest class wins.

    Parameters
    ----------
    machine : TMClassifier, TMCoalescedClassifier or array
        A fitted model of tmu. Or the literals of each clause as 0 and 1: first all inputs, then all negated
        inputs. Shape (classes, clauses, 2 * inputs) if each class has clauses of its own, (clauses, 2 *
        inputs) if classes share them.
    weights : array of int, default: None
        For arrays, the votes of each clause, negative against the class: shape (classes, clauses). A single
        row, of shape (clauses,), decides between two classes: class 1 iff the sum is at least 0.
    booleanizer : object, default: None
        How raw features become Booleans: a fitted StandardBinarizer of tmu, a fitted KBinsDiscretizer of
        scikit-learn with one-hot bins, one threshold for all features, or a list with a threshold or several
        for each feature. A Boolean is on iff the feature is at least its threshold. Or an `Encoder`. None:
        raw features are bits.
    clamp : int, default: None
        T, if sums of votes are limited to -T..T before they are compared, as by ``clip_class_sum=True`` in
        tmu. None: they are not, as by default in tmu.
    inputs : Integers or Reals, default: None
        The values that raw features can have. None: bits, or any real number if there is a booleanizer.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row. Features are then named ``pixel (row,column)``.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the machine cannot be read exactly. The message says where and why.

    Examples
    --------
    Two clauses vote for class 1, "x1 and not x2" and "x2 and not x1"; two vote against it:

    >>> xor = [[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]
    >>> net = from_tsetlin(xor, [1, 1, -1, -1], classes=["equal", "different"])
    >>> net.predict_one([1, 0]), net.predict_one([1, 1])
    ('different', 'equal')
    >>> print(net.layers[0].neuron(1))
    active iff at least 2 of 2 literals hold

    See Also
    --------
    from_tables : reads look-up tables.
    verify_against : compares a network with its source on samples.
    """
    clauses = read_clauses(machine, weights, clamp)
    booleans = read_booleans(booleanizer, inputs, clauses.inputs, clauses.source)
    remarks = () if clamp is None or clauses.saturates else (f"a clamp of {clamp} changes no class",)
    options = _Options(Bits(0, 1), None, True, names, classes, image, prove)
    interpreters = interpreters_of_clauses(clauses, booleans)
    return _boolean_network(chain_of_clauses(clauses, booleans), booleans, options, interpreters, remarks)


def from_tables(
    layers: Sequence[tuple[Any, Any]],
    votes: Any,
    bias: Any = None,
    *,
    features: int | None = None,
    booleanizer: Any = None,
    inputs: Inputs | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a network of look-up tables, such as LogicNets or PolyLUT.

    A table that is a threshold function becomes one neuron. Any other table becomes an OR of ANDs, in two
    layers. The score of a class is the sum of its votes over the last bits. Among equal scores the lowest
    class wins.

    Parameters
    ----------
    layers : sequence of (connections, tables)
        For each table, the indices from 0 of the bits that it reads, at most 12, and its 2^k entries, 0 or 1.
        The first connection is the least significant bit of the address. A table of shape (2^k, b) gives b
        bits, one after the other.
    votes : array of int
        One row per class, one column per bit of the last layer. For scores that are binary numbers of b bits,
        use 1, 2, 4, ...; the last one is negative in two's complement.
    bias : array of int, default: None
        One number per class, added to its votes.
    features : int, default: None
        Number of Boolean inputs. None: the largest index in the connections of the first layer, plus 1.
    booleanizer : object, default: None
        How raw features become Booleans, as in `from_tsetlin`. None: raw features are bits.
    inputs : Integers or Reals, default: None
        The values that raw features can have. None: bits, or any real number if there is a booleanizer.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row. Features are then named ``pixel (row,column)``.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the tables cannot be read exactly. The message says where and why.

    Examples
    --------
    One table for the majority of three bits, which is one neuron, and one for the parity of two:

    >>> tables = [([[0, 1, 2], [0, 1]], [[0, 0, 0, 1, 0, 1, 1, 1], [0, 1, 1, 0]])]
    >>> net = from_tables(tables, votes=[[0, 0], [1, 1]], bias=[1, 0], classes=["no", "both"])
    >>> net.predict_one([1, 0, 1]), net.predict_one([1, 1, 1])
    ('both', 'no')
    >>> [layer.outputs for layer in net.layers]
    [3, 2]

    See Also
    --------
    from_tsetlin : reads Tsetlin machines.
    verify_against : compares a network with its source on samples.
    """
    tables = read_tables(layers, votes, bias, features)
    booleans = read_booleans(booleanizer, inputs, tables.inputs, SOURCE)
    options = _Options(Bits(0, 1), None, True, names, classes, image, prove)
    interpreters = [interpreter_of_tables(tables, booleans)]
    return _boolean_network(chain_of_tables(tables, booleans), booleans, options, interpreters)


def _boolean_network(
    chain: OpChain,
    booleans: Booleans,
    options: _Options,
    interpreters: Sequence[SourceInterpreter],
    remarks: tuple[str, ...] = (),
) -> Network:
    """Return the exact network of a model over Booleans, with raw features as its inputs."""
    over_bits = replace(options, names=None, image=None)
    imported = _imported(chain, over_bits, lambda _: interpreters)
    compared = booleans.compare(chain.source) if options.prove else None
    remarks = (*imported.remarks, *remarks, *([] if compared is None else [compared]))
    placed = booleans.placed(replace(imported, remarks=remarks), options.names)
    return options.seen(placed).reported


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
    """Read a model of Keras, Larq, QKeras or the hls4ml examples. Requires h5py, but not TensorFlow.

    Parameters
    ----------
    path : str or Path
        The file, `.h5` or `.keras`, compressed with gzip or not; or only the layers, as `.json`
        (``model.to_json()``).
    weights_file : str or Path, default: None
        The file of the weights (``model.save_weights(...)``), if `path` contains only the layers.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. Files do not contain this.
    zero : {1, -1}, default: None
        Value of sign(0), if the source defines it as 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

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
    """Return the positions of the signs and quantizers of a chain."""
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
        For files of match counts (W0, T0, ...): number of inputs. Further columns are padding.
    outputs : int, default: None
        For the same files: how many of the last rows are classes.
    above : float, default: None
        For the same files: an input is on iff the raw number is above this.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. Files do not contain this.
    zero : {1, -1}, default: None
        Value of sign(0), if the source defines it as 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

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
        The values that raw samples can have. Files do not contain this.
    zero : {1, -1}, default: None
        Value of sign(0), if the source defines it as 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

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

    Samples are bytes, 0 to 255. For a convolutional design they are laid out plane by plane, (channels,
    height, width), as in files of CIFAR-10.

    Parameters
    ----------
    folder : str or Path
        The folder, with ``0-0-weights.bin``, ``0-0-thres.bin``, ... and ``classes.txt``.
    design : str or Path, default: None
        How the words are folded: ``"lfcW1A1"``, ``"cnvW1A1"``, or the path of the ``config.h`` that the
        folder was generated with. Not needed if the folder contains a config.h, or its files match one of the
        two named designs.
    features : int, default: None
        Number of bits that a dense design reads. Further bits are padding. Known for lfcW1A1.
    outputs : int, default: None
        Number of last rows that are classes. None: the number of names in ``classes.txt``.
    last : {"bits", "matches"}, default: None
        ``"bits"``: the class of the highest bit that is on, like the driver (default). ``"matches"``: the
        class with the most matches.
    rounding : {"nearest", "floor"}, default: None
        Rounding of pixels to fixed point (cnvW1A1): ``"nearest"`` like newer drivers (default), or
        ``"floor"`` like older ones.
    inputs : Integers, default: None
        Not used: the driver reads bytes.
    zero : {1, -1}, default: None
        Not used: no sum is 0.
    strict : bool, default: True
        Not used: nothing is a float.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row, (height, width). None: (28, 28) for lfcW1A1.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

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
            "zero= and strict= do not apply here: no sum is 0, and nothing is a float.",
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
    """Read the network of a Marabou input query (``query.saveQuery("net.ipq")``), if its activations are
    signs.

    Parameters
    ----------
    path : str or Path
        The file, compressed with gzip or not.
    inputs : Integers, Reals or Bits, default: None
        The values that raw samples can have. Files do not contain this.
    zero : {1, -1}, default: None
        Value of sign(0), if the source defines it as 0 and zero can occur.
    strict : bool, default: True
        False keeps a float stem or head outside the exact part. `report` lists them.
    names : iterable, default: None
        Names of the features.
    classes : iterable, default: None
        Names of the classes.
    image : sequence of int, default: None
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images.
    prove : bool, default: True
        False skips the comparison of the network with its source.

    Returns
    -------
    Network
        The exact network. Its `report` describes each layer and the comparison with the source.

    Raises
    ------
    FileError
        If the source cannot be read exactly. The message says where and why.

    See Also
    --------
    sugenet.io.read_query : reads the query in the file.
    sugenet.io.import_file : reads any of these files, by its ending.
    verify_against : compares a network with its source on samples.
    """
    contents = read_input_query(path)
    with within(contents.source):
        chain = chain_of_query(contents)
    options = _Options(inputs, zero, strict, names, classes, image, prove)
    return _network(chain, options, lambda _: [interpreter_of_query(contents)])


def read_query(path: str | Path) -> Query:
    """Read a query from a VNNLIB file, version 1 or 2, or from an ``.ipq`` file of Marabou.

    Parameters
    ----------
    path
        The file, compressed with gzip or not.
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
    kernels: Kernels | None = None,
) -> Network:
    """Read any kind of file that has an importer, by its ending.

    Parameters
    ----------
    path
        ``.onnx``, ``.pt``, ``.pth``, ``.tar``, ``.h5``, ``.hdf5``, ``.keras``, ``.json``, ``.npz``,
        ``.ipq`` or ``.tflite``, each also compressed as ``.gz``. A folder is read as BNN-PYNQ if it has files
        such as ``0-0-weights.bin``, otherwise as BNNQuanalyst.
    inputs
        The values that raw samples can have: `Integers`, `Reals` or `Bits`. Files do not contain this.
    zero
        Value of sign(0), 1 or -1, if the source defines it as 0 and zero can occur.
    strict
        False keeps a float stem or head outside the exact part. The report lists them.
    names, classes
        Names of features and classes.
    image
        Shape of the image in each flat row: (height, width), (height, width, channels) or (channels,
        height, width). Features are then named ``pixel (row,column)``. Not needed if the samples of the
        source are images. The shape is never guessed from the number of features.
    prove
        False skips the comparison of the network with its source.
    architecture, shape, bits
        For PyTorch checkpoints, see `from_state_dict`. Refused for other files.
    features, outputs, above
        For `.npz` files, see `read_npz`. The first two also apply to BNN-PYNQ folders. Refused for other
        files.
    weights_file
        For Keras models as `.json`, see `read_larq`. Refused for other files.
    design, last, rounding
        For BNN-PYNQ folders, see `read_bnn_pynq`. Refused for other files.
    kernels
        For TensorFlow Lite files, see `read_tflite`. Refused for other files.
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
    lite = {"kernels": kernels}
    reader, accepted = _reader_of(file)
    kinds = (
        ("a PyTorch checkpoint", checkpoint),
        ("an .npz file", counts),
        ("a model of Keras", layers),
        ("a folder of BNN-PYNQ", packed),
        ("a TensorFlow Lite file", lite),
    )
    for what, mine in kinds:
        misplaced = next(
            (name for name, value in mine.items() if value is not None and name not in accepted), None
        )
        refuse_if(
            misplaced is not None, f"{misplaced}= is for {what}, and {file.name} is not one. Leave it out."
        )
    network: Network = reader(
        file, **common, **{name: (checkpoint | counts | layers | packed | lite)[name] for name in accepted}
    )
    return network


def _reader_of(file: Path) -> tuple[Callable[..., Network], tuple[str, ...]]:
    """Return the reader of a file, and the options that only this reader takes."""
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
        (".tflite", ".lite"): (read_tflite, ("kernels",)),
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
        f".tflite, each also as .gz, or a folder of CSV files or of BNN-PYNQ."
    )
