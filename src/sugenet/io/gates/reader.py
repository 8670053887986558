"""Read logic-gate networks from PyTorch modules (difflogic, torchlogix), circuits and plain arrays.

Modules are recognized by the names of their classes and read through their attributes. Each import is
compared with a run of the module itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.io.gates.circuit import program_of_circuit
from sugenet.io.gates.program import GateLayer, GateProgram, InputCuts, gate_layer
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.io.plain.texts import read_json
from sugenet.nn.arrays import Ints

__all__ = ["is_module", "read_gates"]

_Array: TypeAlias = npt.NDArray[Any]

_BINARIZATIONS = ("FixedBinarization", "SoftBinarization", "LearnableBinarization")
_TWO, _BASIS = 2, 4


def is_module(model: Any) -> bool:
    """Return whether a model is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.modules") for kind in type(model).__mro__)


def read_gates(
    model: Any,
    features: int | None,
    outputs: int | None,
    temperature: float | None,
    shape: Sequence[int] | None,
) -> GateProgram:
    """Return the program of a module, of a circuit, of the JSON file of a circuit, or of arrays."""
    if isinstance(model, str | Path):
        _refuse_counts("a circuit", features, outputs, temperature, shape)
        return program_of_circuit(read_json(Path(model)), Path(model).name)
    if is_module(model):
        _refuse_counts("a module", features, outputs, temperature, None)
        return _module(model, shape)
    _refuse_shape(shape)
    if isinstance(model, Mapping) or hasattr(model, "sum_nodes"):
        _refuse_counts("a circuit", features, outputs, temperature, shape)
        circuit = model if isinstance(model, Mapping) else model.to_dict()
        return program_of_circuit(circuit, "the circuit")
    return _arrays(model, features, outputs, temperature)


def _refuse_shape(shape: Sequence[int] | None) -> None:
    refuse_if(shape is not None, "shape= is for PyTorch modules. Leave it out.")


def _refuse_counts(
    what: str,
    features: int | None,
    outputs: int | None,
    temperature: float | None,
    shape: Sequence[int] | None,
) -> None:
    options = {"features": features, "outputs": outputs, "temperature": temperature, "shape": shape}
    for name, value in options.items():
        refuse_if(value is not None, f"{name}= does not apply to {what}, which says it itself. Leave it out.")


# -- plain arrays --------------------------------------------------------------------------------------------


def _arrays(model: Any, features: int | None, outputs: int | None, temperature: float | None) -> GateProgram:
    """Return the program of rows (first inputs, second inputs, numbers of gates), one per layer."""
    refuse_if(
        not isinstance(model, Iterable),
        f"a logic-gate network is a module, a circuit or a list of layers, not {type(model).__name__}.",
    )
    width = count = required(features, "say how many bits the first layer can read: features=.")
    classes = required(outputs, "say how many classes there are: outputs=.")
    layers: list[GateLayer] = []
    for number, rows in enumerate(model, 1):
        where = f"layer {number}"
        refuse_if(
            not isinstance(rows, Sequence | np.ndarray) or len(rows) != 3,
            where,
            "give three rows of integers: first inputs, second inputs and numbers of gates.",
        )
        layers.append(gate_layer(where, rows[0], rows[1], rows[2], width))
        width = len(layers[-1].gates)
    members = _groups(width, classes, "the network")
    divisor = 1.0 if temperature is None else float(temperature)
    return GateProgram(
        "the arrays",
        (count,),
        None,
        tuple(layers),
        members,
        divisor,
        (0.0,) * classes,
    )


def _groups(width: int, classes: int, where: str) -> tuple[Ints, ...]:
    refuse_if(
        classes < 1 or width % classes,
        where,
        f"{width:,} values cannot be summed in {classes} groups of the same size.",
    )
    return tuple(np.arange(width).reshape(classes, -1))


# -- modules -------------------------------------------------------------------------------------------------


def _module(model: Any, shape: Sequence[int] | None) -> GateProgram:
    """Return the program of modules that run one after the other."""
    source = type(model).__name__
    parts = list(_parts(model, ""))
    for where, part in parts:
        refuse_if(
            part.training,
            f"{source}: {where}",
            "it is in training mode, where gates are mixed. Call module.eval() first.",
        )
    gates = [part for part in parts if type(part[1]).__name__ in ("LogicDense", "LogicLayer")]
    refuse_if(not gates, source, "it has no layer of gates (LogicDense or LogicLayer).")
    width = int(gates[0][1].in_dim)
    thresholds: InputCuts | None = None
    layers: list[GateLayer] = []
    size: tuple[int, ...] = tuple(shape) if shape is not None else (width,)
    end: tuple[str, Any] | None = None
    is_flat = len(size) == 1
    for where, part in parts:
        location, kind = f"{source}: {where}", type(part).__name__
        refuse_if(end is not None, location, f"{kind} follows the sums of classes. Leave it out.")
        if kind in _BINARIZATIONS:
            refuse_if(
                thresholds is not None or layers, location, "raw inputs are compared with thresholds once."
            )
            thresholds = _thresholds(part, width, shape, location)
            size = tuple(shape) if shape is not None else (len(thresholds.values),)
            is_flat = len(size) == 1
        elif kind == "Flatten":
            refuse_if(
                (part.start_dim, part.end_dim) != (1, -1), location, "it flattens only some dimensions."
            )
            is_flat = True
        elif kind in ("LogicDense", "LogicLayer"):
            refuse_if(
                not is_flat and not layers,
                location,
                f"it reads samples of shape {size}. Put a Flatten before it.",
            )
            read = (
                len(layers[-1].gates)
                if layers
                else prod(size)
                if thresholds is None
                else len(thresholds.order)
            )
            refuse_if(int(part.in_dim) != read, location, f"it reads {part.in_dim:,} values of {read:,}.")
            name = f"layer {len(layers) + 1} ({where})"
            layers.append(
                gate_layer(name, *_connections(part, location), _numbers(part, location), inputs=read)
            )
        elif kind == "GroupSum":
            end = where, part
        elif kind not in ("DummyBinarization", "Identity", "Dropout"):
            reason = (
                "is read from a circuit: Circuit.from_model(model, shape)"
                if kind.startswith("LogicConv")
                else "is not read"
            )
            _refuse_kind(location, kind, reason)
    refuse_if(end is None, source, "it does not end with GroupSum, which sums the gates of each class.")
    assert end is not None
    where, last = end
    members = _groups(len(layers[-1].gates), int(last.k), f"{source}: {where}")
    beta = float(getattr(last, "beta", 0.0))
    return GateProgram(
        source, size, thresholds, tuple(layers), members, float(last.tau), (beta,) * len(members)
    )


def _refuse_kind(location: str, kind: str, reason: str) -> None:
    """Refuse a kind of module by name."""
    refuse_if(
        True,
        location,
        f"{kind} {reason}. Logic-gate networks are Sequential modules of a binarization, Flatten, LogicDense "
        "(or LogicLayer) and GroupSum.",
    )


def _parts(model: Any, path: str) -> Iterable[tuple[str, Any]]:
    """Yield the modules that run, in order, with their paths."""
    is_sequence = any(
        kind.__name__ == "Sequential" and getattr(kind, "forward", None) is getattr(type(model), "forward", 0)
        for kind in type(model).__mro__
    )
    if not is_sequence:
        yield path or "the module", model
        return
    for name, part in model.named_children():
        yield from _parts(part, f"{path}.{name}" if path else name)


def _numpy(tensor: Any, where: str) -> _Array:
    array = np.asarray(tensor.detach().cpu().numpy())
    refuse_if(not np.isfinite(array).all(), where, "it holds numbers that are not finite.")
    return array


def _connections(part: Any, where: str) -> tuple[Ints, Ints]:
    """Return the first and the second input of each gate."""
    indices: Any = getattr(part, "indices", None)
    if indices is None:
        connections = part.connections
        kind = type(connections).__name__
        if kind == "FixedDenseConnections":
            indices = connections.indices
        elif kind == "LearnableDenseConnections":
            refuse_if(
                connections.gumbel and not hasattr(connections, "export_mode"),
                where,
                "this version of torchlogix draws random connections in eval mode, too. Set its "
                "connections.gumbel = False.",
            )
            chosen = connections.weights.detach().argmax(dim=0)
            indices = connections.indices.gather(0, chosen[None])[0]
        else:
            refuse_if(True, where, f"its connections are {kind}, which are not read.")
    rank = getattr(part, "lut_rank", _TWO)
    refuse_if(
        rank != _TWO or len(indices) != _TWO,
        where,
        f"its gates have {rank} inputs. Gates with two inputs are read: lut_rank=2.",
    )
    first, second = (_numpy(row, where).astype(np.int64) for row in indices)
    return first, second


def _numbers(part: Any, where: str) -> Ints:
    """Return the number of each gate after training: what the module computes in eval mode."""
    name = "weight" if hasattr(part, "weight") else "weights"
    tensor = getattr(part, name)
    weights = _numpy(tensor, f"{where}: {name}")
    form = (
        type(part.parametrization).__name__ if hasattr(part, "parametrization") else "RawLUTParametrization"
    )
    if form == "RawLUTParametrization":
        refuse_if(
            weights.shape[1:] != (16,), where, f"its weights have shape {weights.shape}, not (gates, 16)."
        )
        return np.asarray(_numpy(tensor.detach().argmax(dim=-1), where), np.int64)
    refuse_if(
        weights.shape[1:] != (_BASIS,), where, f"its weights have shape {weights.shape}, not (gates, 4)."
    )
    powers = np.array([8, 4, 2, 1])
    if form == "LightLUTParametrization":
        return np.asarray((weights > 0) @ powers)
    refuse_if(form != "WarpLUTParametrization", where, f"its parametrization is {form}, which is not read.")
    a, b = np.array([1, 1, -1, -1]), np.array([1, -1, 1, -1])
    sums = weights.astype(np.float64) @ np.array([a * a, b, a, a * b])
    unsure = np.abs(sums) <= 2.0**-20 * np.abs(weights).sum(axis=1, keepdims=True).astype(np.float64)
    refuse_if(
        unsure.any(),
        where,
        f"rounding decides the output of gate {int(np.argmax(unsure.any(axis=1)))}: its coefficients cancel.",
    )
    return np.asarray((sums < 0) @ powers)


def _thresholds(part: Any, width: int, shape: Sequence[int] | None, where: str) -> InputCuts:
    """Return the cuts of every raw input, and the order in which the first layer reads them."""
    tensor = part.get_thresholds() if hasattr(part, "get_thresholds") else part.thresholds
    cuts = _numpy(tensor, f"{where}: thresholds")
    refuse_if(cuts.dtype.kind != "f" or cuts.itemsize < 4, where, f"its thresholds are {cuts.dtype}.")
    refuse_if(not cuts.ndim or not cuts.size, where, "it has no thresholds.")
    count = cuts.shape[-1]
    refuse_if(shape is None and width % count, where, f"{width:,} values are not {count} for each raw input.")
    size = (width // count,) if shape is None else tuple(shape)
    if cuts.ndim == 2 and len(size) == 3:  # one row per channel
        cuts = cuts.reshape(len(cuts), 1, 1, count)
    try:
        rows = np.broadcast_to(cuts, (*size, count))
    except ValueError:
        refuse_if(
            True,
            where,
            f"thresholds of shape {cuts.shape} do not fit samples of shape {size}. Give the shape of one "
            "sample: shape=.",
        )
    dimensions = len(size) + 2
    merged = int(part.feature_dim) % dimensions
    refuse_if(
        not 1 <= merged < dimensions - 1,
        where,
        f"feature_dim={part.feature_dim} is not a dimension of samples of shape {size}.",
    )
    order = np.moveaxis(np.arange(prod(size) * count).reshape(*size, count), -1, merged).reshape(-1)
    return InputCuts(where, rows.reshape(-1, count), order)
