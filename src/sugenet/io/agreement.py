"""Compare an exact network with its reference. They are equal in every layer on every sample, or the first
neuron that differs is reported with both values.
"""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Quantize, Sign
from sugenet.io.exact.relaxed import PartialImportReport
from sugenet.io.exact.report import many
from sugenet.io.plain.gzipped import plain_file
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.proof.interpreters import Run, Seen, Stage
from sugenet.io.proof.tally import SHOWN, ClassDifference, Difference, NearTie, Tally
from sugenet.io.torch.reader import signal_of_module
from sugenet.nn import Network, Steps
from sugenet.nn.arrays import Array
from sugenet.reading import read_file
from sugenet.reprs import Sentences

__all__ = ["Agreement", "source_numbers", "verify_against"]

_MAX_FILE = 1 << 29


def _reference_of(reference: Any) -> tuple[Run, str]:
    """Return a function that runs a reference, and why its layers are not visible ("" if they are)."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(reference, torch.nn.Module):
        return _module(torch, reference)
    if isinstance(reference, str | Path):
        return _onnx_file(Path(reference)), ""
    if hasattr(reference, "run") and hasattr(reference, "get_inputs"):
        entry, first = reference.get_inputs()[0], reference.get_outputs()[0].name
        return (
            lambda x: Seen(np.asarray(_ran(reference, entry, x, [first])[first]))
        ), "a session shows its outputs only; give the path of the .onnx file"
    if callable(reference):
        return (lambda x: Seen(np.asarray(reference(x)))), "a function shows its outputs only"
    raise FileError(
        f"a reference is a PyTorch module, an .onnx file, an ONNX Runtime session or a function, "
        f"not {type(reference).__name__}."
    )


def _module(torch: Any, module: Any) -> tuple[Run, str]:
    first = next(iter(module.parameters()), None)

    def tensor(x: Array) -> Any:
        made = torch.from_numpy(np.array(x))
        if first is None:
            return made
        return made.to(first.device, first.dtype if made.is_floating_point() else None)

    def run(x: Array) -> Seen:
        try:
            signal, outputs, _ = signal_of_module(module, tensor(x))
        except FileError:  # it cannot be followed, but it can be run
            with torch.no_grad():
                return Seen(np.asarray(module(tensor(x)).detach().cpu().numpy()))
        stages = [
            Stage.of_op(node.op, node.before.values, node.values)
            for node in signal.node.path()
            if isinstance(node.op, Sign | Quantize) and node.before is not None
        ]
        return Seen(outputs, tuple(stages))

    refuse_if(module.training, "the reference is in training mode. Call module.eval() first.")
    return run, ""


_KINDS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int16)": np.int16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


def _ran(session: Any, entry: Any, x: Array, names: list[str]) -> dict[str, Any]:
    """Return the outputs of a session for samples, by name, in the number type that it requires.

    If the file fixes the batch size, the samples run in batches of that size. The last batch is padded.
    """
    kind = _KINDS.get(entry.type)
    batch = x if kind is None else x.astype(kind)
    block = entry.shape[0] if entry.shape and isinstance(entry.shape[0], int) else 0
    if block < 1 or block == len(x):
        return dict(zip(names, session.run(names, {entry.name: batch}), strict=True))
    parts: dict[str, list[Any]] = {name: [] for name in names}
    for start in range(0, len(x), block):
        rows = batch[start : start + block]
        full = np.concatenate([rows, np.repeat(rows[-1:], block - len(rows), axis=0)])
        for name, value in zip(names, session.run(names, {entry.name: full}), strict=True):
            if block == 1 and isinstance(value, np.ndarray) and (not value.ndim or len(value) != 1):
                value = value[None]
            parts[name].append(value)
    return {name: _joined(blocks, block, len(x)) for name, blocks in parts.items()}


def _joined(blocks: list[Any], block: int, samples: int) -> Any:
    """Join the batches. Outputs without a row per sample stay as they are."""
    if all(isinstance(part, np.ndarray) and part.ndim and len(part) == block for part in blocks):
        return np.concatenate(blocks)[:samples]
    return blocks[0]


def _onnx_file(path: Path) -> Run:
    """Return a copy of the graph that outputs every tensor. Signs are recognized by their values."""
    try:
        import onnx
    except ImportError:
        raise FileError("looking into an .onnx file needs the package onnx: pip install onnx") from None
    try:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise FileError("running an .onnx file needs ONNX Runtime: pip install onnxruntime") from None
    try:
        with plain_file(path) as plain:
            model = onnx.load_from_string(read_file(plain, _MAX_FILE))
            onnx.external_data_helper.load_external_data_for_model(model, str(plain.parent))
    except FileError:
        raise
    except Exception as error:
        raise FileError(f"{path.name}: it cannot be read: {str(error)[:160]}.") from None
    output_names = {value.name for value in model.graph.output}
    made = {name: node for node in model.graph.node for name in node.output if name}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in output_names)
    model.ir_version = min(model.ir_version, 10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        why = str(error).strip().splitlines()[:1]
        raise FileError(
            f"{path.name}: ONNX Runtime cannot run it: {why[0][:200] if why else ''}. "
            f"Give a function that does."
        ) from None
    fed = {value.name for value in model.graph.initializer}
    entry = next(value for value in session.get_inputs() if value.name not in fed)
    names = [value.name for value in session.get_outputs()]

    def run(x: Array) -> Seen:
        values = _ran(session, entry, x, names)
        values[entry.name] = x
        few = {name: _levels(value, len(x)) for name, value in values.items()}
        stages = []
        for name in made:
            levels = few.get(name)
            if levels is None or values[name].dtype == bool:
                continue
            before = _before(name, made, values, few)
            if before is not None:
                flat = values[name].reshape(len(x), -1)
                stages.append(
                    Stage(
                        name,
                        values[before].reshape(len(x), -1).astype(float),
                        flat == levels[-1],
                        flat == levels[0],
                    )
                )
        return Seen(
            np.asarray(values["scores" if "scores" in output_names else model.graph.output[0].name]),
            tuple(stages),
        )

    return run


def _levels(value: Any, samples: int) -> Array | None:
    """Return the two values of a two-valued tensor, else None.

    A tensor with three values, 0 in the middle, counts as a sign that can be 0.
    """
    if (
        not isinstance(value, np.ndarray)
        or value.ndim < 2
        or len(value) != samples
        or value.dtype.kind not in "bf"
    ):
        return None
    levels = np.unique(value)
    return (
        levels
        if len(levels) == 2 or (len(levels) == 3 and levels[1] == 0 and levels[0] == -levels[2])
        else None
    )


def _before(name: str, made: dict[str, Any], values: dict[str, Any], few: dict[str, Any]) -> str | None:
    """Return the many-valued tensor of the same size from which a tensor with few values was computed."""
    seen, size = set(), np.size(values[name])
    pending = [name]
    while pending:
        tensor = pending.pop()
        if tensor in seen or tensor not in made:
            continue
        seen.add(tensor)
        for source in made[tensor].input:
            if source in values and np.size(values[source]) == size:
                if few.get(source) is None:
                    return str(source)
                pending.append(source)
    return None


_CHUNK = 256


@dataclass(frozen=True)
class Agreement(Sentences):
    """The result of a comparison. It prints as a sentence."""

    samples: int
    layers: int
    """Number of hidden layers that were compared."""
    neurons: int
    classes: int
    differences: int
    """Number of pairs of neuron and sample that differ."""
    first: Difference | None
    """First difference, in the earliest layer. It may be the only cause of later ones."""
    class_differences: int
    first_class: ClassDifference | None
    ties: int
    """Number of samples whose class differs because of a tie: the exact scores, or the outputs of the
    reference, are equal, and the tie is broken differently.
    """
    near_ties: int
    nearest: tuple[NearTie, ...]
    """Up to 20 near ties, the nearest first."""
    remark: str = ""

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differences and not self.class_differences

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        return {**asdict(self), "equal": self.equal, "nearest": [asdict(tie) for tie in self.nearest]}

    def __str__(self) -> str:
        parts = [many(self.layers, "layer"), many(self.neurons, "neuron")] if self.layers else []
        what = ", ".join([*parts, many(self.classes, "class")])
        ties = f"; {many(self.ties, 'tie')} between classes" if self.ties else ""
        near = (
            f"; {many(self.near_ties, 'near tie')}"
            if self.layers
            else f"; outputs only ({self.remark})"
            if self.remark
            else ""
        )
        if self.equal:
            return f"equal on {many(self.samples, 'sample')}: {what}{near}{ties}"
        shown = "; ".join(
            str(difference) for difference in (self.first, self.first_class) if difference is not None
        )
        counts = (
            f"{many(self.differences, 'activity')} and {many(self.class_differences, 'class')} of "
            f"{many(self.samples, 'sample')} differ"
        )
        return f"different: {counts} ({what}{near}{ties}). First: {shown}"


def verify_against(
    network: Network,
    reference: Any,
    X: Any,
    *,
    prepare: Callable[[Array], Any] | None = None,
) -> Agreement:
    """Compare an exact network with the source that it was read from, on samples.

    Parameters
    ----------
    network : Network
        The network. If an importer returned it, its report says which activities to compare.
    reference : module, path, session or callable
        A PyTorch module or the path of an .onnx file, which are compared layer by layer; an ONNX Runtime
        session; or a function from a batch to scores or classes.
    X : array or data frame
        Raw samples, as the network reads them.
    prepare : callable, default: None
        Function that turns raw samples into the input of the reference. None: ``start + step * x`` of the
        declared inputs,
        as float32, in the shape of the file's samples.

    Returns
    -------
    Agreement
        Whether all are equal, and the first difference.

    Raises
    ------
    FileError
        If only a part of the source was made exact, or the reference cannot be run.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], tau=[2])], Head([[-1], [1]]))
    >>> X = [[1, 1, 1], [1, -1, 1]]
    >>> print(verify_against(net, lambda x: (x @ [1, 1, -1] > 0).astype(int), X))
    equal on 2 samples: 2 classes; outputs only (a function shows its outputs only)
    >>> print(verify_against(net, lambda x: [0, 0], X))
    different: 0 activities and 1 class of 2 samples differ (2 classes; outputs only (a function shows its
    outputs only)). First: sample 0: class 1, but 0 in the reference

    See Also
    --------
    from_torch : reads a module and compares it automatically.
    """
    refuse_if(
        isinstance(network.report, PartialImportReport),
        "only a part of the source was made exact. Compare the whole yourself: net.report.scores(X) or "
        "net.report.predict(X) with the output of the source.",
    )
    rows = network.encoder.rows(X)
    refuse_if(
        rows.ndim != 2 or not len(rows),
        f"X has shape {rows.shape}, but a batch of samples is needed: (samples, ...).",
    )
    array = np.asarray(X) if hasattr(X, "ndim") or isinstance(X, list | tuple) else rows
    shaped = array if array.ndim > 2 and len(array) == len(rows) else rows
    shape = network.encoder.shape or shaped.shape[1:]
    run, remark = _reference_of(reference)
    samples = shaped if prepare is not None else rows
    ready = prepare or (lambda x: source_numbers(network, x).reshape(len(x), *shape))
    tally = Tally(network, () if network.report is None else network.report.signs)
    for start in range(0, len(samples), _CHUNK):
        seen = run(np.asarray(ready(samples[start : start + _CHUNK])))
        part = rows[start : start + _CHUNK]
        tally.add(part, network.hidden(part), seen, start)
        tally.add_classes(network.match_counts(part, engine="definition"), seen.outputs, start)
    pairs = tally.pairs or []
    neurons = sum(network.layers[pair.layer].outputs for pair in pairs)
    nearest = tuple(tie for _, tie in sorted(tally.nearest, key=lambda pair: pair[0])[:SHOWN])
    return Agreement(
        len(samples),
        len(pairs),
        neurons,
        network.head.outputs,
        tally.differences,
        tally.found,
        tally.class_differences,
        tally.first_class,
        tally.ties,
        tally.near,
        nearest,
        remark or ("" if pairs else "no layer of the reference could be matched"),
    )


def source_numbers(network: Network, rows: Array) -> npt.NDArray[np.float32]:
    """Return raw samples as the source reads them, as float32. Without a source, they stay as they are.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from sugenet.nn import Encoder, Head, Source
    >>> net = Network(Encoder.of_bits(3), [], Head([[1, 1, 1], [-1, 1, 1]]), source=Source(0, Fraction(1, 2)))
    >>> source_numbers(net, np.array([[-1, 0, 1]]))
    array([[0. , 0. , 0.5]], dtype=float32)
    """
    source = network.source
    on = [isinstance(coding, Steps) and coding.bipolar for coding in network.encoder.codings]
    if source.is_plain and (network.report is None or not any(on)):
        return rows.astype(np.float32)
    raw = np.where(on, rows > 0, rows)  # a bit is the raw number 0 or 1, in either notation
    if isinstance(source.step, tuple):
        moved = [source.inputs(row) for row in raw.tolist()]
        return np.array([[float(value) for value in row] for row in moved], np.float32).reshape(raw.shape)
    seen, indices = np.unique(raw.astype(np.float64), return_inverse=True)
    assert isinstance(source.start, Fraction)
    numbers = np.array([float(source.start + source.step * Fraction(x)) for x in seen.tolist()])
    return numbers[indices].reshape(rows.shape).astype(np.float32)
