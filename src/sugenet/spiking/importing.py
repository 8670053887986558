"""Import spiking networks: NIR graphs, state dicts of snnTorch, arrays in an `.npz` file.

The given convention makes the layers of a file exact. The network is then unrolled and compared with an exact
simulation before anything is returned. If a reader would ignore part of a file, it refuses it by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import number_text
from sugenet.errors import FileError, NetworkError, SoundnessError, refuse
from sugenet.io import ImportProof, ImportReport
from sugenet.io.arrays.reader import read_arrays
from sugenet.io.exact.pixels import pixel_names
from sugenet.io.nir.contents import NirNode, chain_of_nodes
from sugenet.io.plain.gzipped import plain_file
from sugenet.io.plain.refusals import Ledger, refuse_if, required
from sugenet.io.torch.saved import arrays_of_state, read_checkpoint
from sugenet.nn import Encoder, Network
from sugenet.spiking.network import (
    Convention,
    Floats,
    Reset,
    SpikingLayer,
    SpikingNetwork,
    exact,
    meant,
    on_grid,
)
from sugenet.spiking.simulation import simulate, simulate_floats
from sugenet.spiking.unrolling import unroll

__all__ = [
    "LayerPart",
    "checked_leak",
    "from_snntorch",
    "import_spiking",
    "parts_of_nir",
    "parts_of_npz",
    "parts_of_snntorch",
    "prove_unrolled",
    "read_nir",
    "read_spiking_npz",
]

_Array = npt.NDArray[Any]
_PartsReader: TypeAlias = Callable[[Any, Convention, Floats], tuple[list["LayerPart"], list[str]]]


@dataclass(frozen=True, eq=False)
class LayerPart:
    """One spiking layer of a file as exact numbers; the weights are those of the file."""

    where: str
    weights: _Array
    gain: tuple[Fraction, ...]
    """Factor for the weights and the bias of each neuron."""
    leak: tuple[Fraction, ...]
    threshold: tuple[Fraction, ...] | None
    """None for neurons that do not spike."""
    bias: tuple[Fraction, ...]
    """The bias per step, including gain and leak potential."""


def _row(array: Any, count: int, what: str, floats: Floats) -> tuple[Fraction, ...]:
    """Return one number per neuron; the array has one per neuron or one for all, None means 0."""
    values = _numbers(np.zeros(1) if array is None else np.asarray(array).reshape(-1))
    refuse_if(len(values) not in (1, count), f"{what} has {len(values)} values for {count} neurons.")
    known = {value: meant(value, what, floats) for value in dict.fromkeys(values)}
    row = tuple(known[value] for value in values)
    return row * count if len(row) == 1 else row


def _numbers(row: _Array) -> list[Any]:
    """Return the numbers of an array, each in its own type."""
    return row.tolist() if row.dtype == np.float64 else list(row)


def _matrix(array: _Array, what: str) -> _Array:
    refuse_if(
        array.ndim != 2 or not array.size,
        f"{what} has shape {array.shape}, but one row a neuron is needed: only dense layers.",
    )
    return array


# -- NIR -----------------------------------------------------------------------------------------------------

_NEURONS = {
    "LIF": ("tau", "r", "v_leak", "v_threshold", "v_reset"),
    "IF": ("r", "v_threshold", "v_reset"),
    "LI": ("tau", "r", "v_leak"),
    "I": ("r",),
}


def parts_of_nir(
    path: str | Path, convention: Convention, floats: Floats
) -> tuple[list[LayerPart], list[str]]:
    """Return the layers of a NIR graph, and remarks about them.

    Time in NIR is continuous: ``tau v' = (v_leak - v) + r I`` becomes ``v += step / tau ((v_leak - v) + r
    I)``, and ``v' = r I`` becomes ``v += step r I``.
    """
    version, (first, *nodes, last) = chain_of_nodes(path)
    step = required(
        convention.step,
        "NIR gives time constants in continuous time: say how long a step is (step=), such as 0.0001.",
    )
    remarks = [f"NIR {version}, by Euler steps of length {step}"]
    if convention.reset != "zero":
        remarks.append(
            f"NIR sets the potential to v_reset after a spike; reset={convention.reset!r} was asked for"
        )
    if convention.fires != ">":
        remarks.append("NIR neurons spike above their threshold (>); '>=' was asked for")
    parts = []
    for weights, neurons in _pairs(nodes):
        parts.append(_nir_part(weights, neurons, step, convention.reset, floats))
        for node in (weights, neurons):
            _refuse_left(node)
    _check_end(first, parts[0].weights.shape[1], "inputs")
    _check_end(last, len(parts[-1].weights), "neurons in the last layer")
    noted = [f"{node.name} ({', '.join(node.notes)})" for node in (first, *nodes, last) if node.notes]
    if noted:
        remarks.append(f"metadata of the file is not used: {', '.join(noted)}")
    return parts, remarks


def _refuse_left(node: NirNode) -> None:
    """Refuse a node that has an unused array."""
    for name in node.arrays.left():
        raise FileError(f"{node.where}: its array {name!r} would be left over.")


def _check_end(node: NirNode, count: int, what: str) -> None:
    """Refuse an Input or Output whose size differs from that of the weights."""
    shape = np.asarray(node.arrays["shape"]).reshape(-1).tolist() if "shape" in node.arrays else [count]
    _refuse_left(node)
    refuse_if(
        prod(shape) != count, f"{node.where}: its shape is {tuple(shape)}, but there are {count} {what}."
    )


def _pairs(nodes: Sequence[NirNode]) -> list[tuple[NirNode, NirNode]]:
    """Return the pairs of weights and the neurons that follow them."""
    pairs = []
    for number, node in enumerate(nodes):
        wanted = ("Linear", "Affine") if number % 2 == 0 else tuple(_NEURONS)
        if node.kind not in wanted:
            known = "Linear, Affine, LIF, IF, LI, I, Flatten, Input and Output"
            if node.kind in ("Linear", "Affine", *_NEURONS):
                what = "weights and neurons come in turn"
            elif node.kind == "CubaLIF":
                what = "it has a current of its own beside the potential, which is not supported"
            else:
                what = f"supported are {known}"
            raise FileError(f"{node.where}: {what}.")
        if number % 2:
            pairs.append((nodes[number - 1], node))
    if not pairs or len(nodes) % 2:
        last = nodes[-1].where if nodes else "the graph"
        raise FileError(f"{last}: neurons are missing after it. A last layer without spikes is an LI node.")
    return pairs


def _nir_part(weights: NirNode, neurons: NirNode, step: Fraction, reset: Reset, floats: Floats) -> LayerPart:
    matrix = _matrix(_taken(weights, "weight"), f"{weights.where}: weight")
    count = len(matrix)
    parameters = {
        name: _row(_taken(neurons, name), count, f"{neurons.where}: {name}", floats)
        for name in _NEURONS[neurons.kind]
        if name != "v_reset" or name in neurons.arrays
    }
    stored_bias = _taken(weights, "bias") if weights.kind == "Affine" else None
    bias = _row(stored_bias, count, f"{weights.where}: bias", floats)
    refuse_if(
        any(parameters.get("v_reset", ())) and reset == "zero",
        f"{neurons.where}: v_reset is not 0, and no other reset potential is supported.",
    )
    shares = (
        tuple(step / tau if tau else Fraction(2) for tau in parameters["tau"])
        if "tau" in parameters
        else None
    )
    refuse_if(
        shares is not None and not all(0 < share <= 1 for share in shares),
        f"{neurons.where}: a step of {step} is longer than tau, or tau is not positive: "
        f"such neurons have no leak in 0..1. Give a shorter step.",
    )
    gain = tuple(r * (shares[j] if shares else step) for j, r in enumerate(parameters["r"]))
    leak = tuple(1 - share for share in shares) if shares else (Fraction(1),) * count
    rest = parameters.get("v_leak", (Fraction(0),) * count)
    return LayerPart(
        f"{weights.name}, {neurons.name}",
        matrix,
        gain,
        leak,
        parameters.get("v_threshold"),
        tuple(gain[j] * bias[j] + (1 - leak[j]) * rest[j] for j in range(count)),
    )


def _taken(node: NirNode, name: str) -> _Array:
    refuse_if(name not in node.arrays, f"{node.where}: its {name} is missing.")
    return node.arrays[name]


# -- snnTorch ------------------------------------------------------------------------------------------------

_MECHANISMS = ("subtract", "zero", "none")
_WHENS = {"subtract": ("after the input", "at once as in snnTorch"), "zero": ("before the leak", "at once")}


def parts_of_snntorch(
    source: str | Path | Mapping[str, Any],
    convention: Convention,
    floats: Floats,
    layers: Sequence[str] | None = None,
) -> tuple[list[LayerPart], list[str]]:
    """Return the layers of a state dict of alternating `torch.nn.Linear` and `snntorch.Leaky` modules.

    The default order of the modules is that of the file.
    """
    _check_snntorch(convention)
    arrays = read_checkpoint(source) if isinstance(source, str | Path) else arrays_of_state(source)
    modules: dict[str, dict[str, _Array]] = {}
    for name, array in arrays.items():
        prefix, _, word = name.rpartition(".")
        modules.setdefault(prefix, {})[word] = array
    groups = {prefix: Ledger(module) for prefix, module in modules.items()}
    order = list(groups) if layers is None else list(layers)
    refuse_if(
        sorted(order) != sorted(groups),
        f"layers={order}, but the parameters are of {', '.join(groups)}: name each once.",
    )
    refuse_if(
        len(order) % 2,
        f"its parameters are of {', '.join(map(repr, order))}: Linear and Leaky layers come in turn, so "
        "one is missing, or one is of another kind. Synaptic, RLeaky, Alpha and normalizing layers are "
        "not read.",
    )
    parts = []
    for linear, leaky in zip(order[::2], order[1::2], strict=True):
        last = leaky == order[-1]
        parts.append(_snntorch_part(linear, leaky, groups, convention, floats, last=last))
        for prefix in (linear, leaky):
            for left in groups[prefix].left():
                raise FileError(
                    f"{prefix}: {left!r} would be left over: dense layers and snntorch.Leaky have none of "
                    "that name, and Synaptic, RLeaky, Alpha and normalizing layers are not read."
                )
    return parts, [f"layers in the order {', '.join(order)}"]


def _check_snntorch(convention: Convention) -> None:
    """Refuse a convention that no snnTorch network follows."""
    refuse_if(
        convention.fires != ">",
        f"fires={convention.fires!r}, but snnTorch's neurons spike above their threshold: '>'.",
    )
    whens = _WHENS.get(convention.reset, (None,))
    if convention.reset == "once" or convention.when not in whens:
        known = "; ".join(
            f"reset={reset!r} with when={delayed!r} (reset_delay=True) or {plain!r} (reset_delay=False)"
            for reset, (delayed, plain) in _WHENS.items()
        )
        raise FileError(
            f"reset={convention.reset!r} with when={convention.when!r} is nothing that snntorch.Leaky does: "
            f"{known}; or reset='none'."
        )
    refuse_if(
        convention.step is not None,
        "step= is for continuous time; snnTorch's beta is for a step already. Give no step=.",
    )


def _snntorch_part(
    linear: str,
    leaky: str,
    groups: Mapping[str, Ledger[_Array]],
    convention: Convention,
    floats: Floats,
    *,
    last: bool,
) -> LayerPart:
    for prefix, name in ((linear, "weight"), (leaky, "beta"), (leaky, "threshold")):
        if name not in groups[prefix]:
            kind = "torch.nn.Linear" if name == "weight" else "snntorch.Leaky"
            raise FileError(
                f"{prefix!r} has no {name!r}, but {kind} is expected there. Say the order: "
                "layers=['fc1', 'lif1', ...]."
            )
    weights, leaky_arrays = groups[linear], groups[leaky]
    matrix = _matrix(weights["weight"], f"{linear}.weight")
    count = len(matrix)
    beta = _row(leaky_arrays["beta"], count, f"{leaky}.beta", floats)
    threshold = _row(leaky_arrays["threshold"], count, f"{leaky}.threshold", floats)
    refuse_if(
        min(threshold) < 0,
        f"{leaky}.threshold is negative: snnTorch then resets before the first spike, which is not "
        "supported.",
    )
    refuse_if(
        "graded_spikes_factor" in leaky_arrays
        and (np.asarray(leaky_arrays["graded_spikes_factor"]) != 1).any(),
        f"{leaky}.graded_spikes_factor is not 1: spikes of other sizes are not supported.",
    )
    spikes = not (last and convention.decision.endswith("potential") and convention.reset == "none")
    if "reset_mechanism_val" in leaky_arrays:
        codes = np.asarray(leaky_arrays["reset_mechanism_val"]).reshape(-1).tolist()
        refuse_if(
            len(codes) != 1 or codes[0] not in (0, 1, 2),
            f"{leaky}.reset_mechanism_val is {codes[:4]}, but snnTorch writes one of 0, 1 and 2.",
        )
        mechanism = _MECHANISMS[int(codes[0])]
        if last and mechanism == "none" and convention.decision.endswith("potential"):
            spikes = False  # without a reset, spikes do not affect the potential
        elif mechanism != convention.reset:
            raise FileError(
                f"{leaky} was saved with reset_mechanism={mechanism!r}, "
                f"but reset={convention.reset!r} was given."
            )
    return LayerPart(
        f"{linear}, {leaky}",
        matrix,
        (Fraction(1),) * count,
        tuple(min(max(value, Fraction(0)), Fraction(1)) for value in beta),  # as snnTorch does
        threshold if spikes else None,
        _row(weights.get("bias"), count, f"{linear}.bias", floats),
    )


# -- arrays --------------------------------------------------------------------------------------------------


def parts_of_npz(
    path: str | Path, convention: Convention, floats: Floats
) -> tuple[list[LayerPart], list[str]]:
    """Return the layers of the arrays ``weight1``, ``leak1``, ``threshold1``, ``bias1``, ``weight2`` and so
    on.

    A missing bias is 0. If the last layer has no threshold, it does not spike.
    """
    refuse_if(
        convention.step is not None,
        "step= is for continuous time; leaks of an .npz file are for a step already. Give no step=.",
    )
    arrays = Ledger(read_arrays(path))
    parts: list[LayerPart] = []
    while f"weight{len(parts) + 1}" in arrays:
        number = len(parts) + 1
        matrix = _matrix(arrays[f"weight{number}"], f"weight{number}")
        count = len(matrix)
        refuse_if(
            f"leak{number}" not in arrays,
            f"there is no array 'leak{number}': what a step keeps of the potential.",
        )
        leak, threshold, bias = (
            _row(arrays.get(f"{name}{number}"), count, f"{name}{number}", floats)
            for name in ("leak", "threshold", "bias")
        )
        parts.append(
            LayerPart(
                f"layer {number}",
                matrix,
                (Fraction(1),) * count,
                leak,
                threshold if f"threshold{number}" in arrays else None,
                bias,
            )
        )
    left = arrays.left()
    if left or not parts:
        what = f"its arrays {', '.join(left[:6])} are not understood" if left else "it has no arrays"
        raise FileError(f"{what}: weight1, leak1, threshold1, bias1, weight2 and so on are read.")
    return parts, []


def checked_leak(part: LayerPart, leak: Any) -> tuple[Fraction, ...]:
    """Return the intended leaks, after checking that they equal those of the file up to rounding."""
    one = isinstance(leak, str) or np.ndim(leak) == 0
    row = [leak] * len(part.leak) if one else list(leak)
    refuse(
        NetworkError,
        (len(row) != len(part.leak), f"{len(row)} leaks for {len(part.leak)} neurons of {part.where}."),
    )
    leaks = tuple(exact(value, "leak") for value in row)
    far = next(
        ((a, b) for a, b in zip(leaks, part.leak, strict=True) if abs(a - b) > Fraction(1, 10**5)), None
    )
    if far is not None:
        raise FileError(
            f"{part.where}: a leak of {far[0]} was given, but the file says about {float(far[1]):.7g}."
        )
    return leaks


_SAMPLES, _NEAR, _POOL = 24, 16, 400


def read_nir(
    path: str | Path,
    convention: Convention,
    *,
    floats: Floats = "exact",
    grid: Any = None,
    leak: Any = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a NIR file: a chain of Linear or Affine nodes and LIF, IF or LI neurons. Requires h5py.

    Parameters
    ----------
    path
        The file, optionally compressed with gzip.
    convention
        The properties that the file does not state. `step` is required, since time in NIR is continuous.
    floats
        How to read floats. ``"exact"``: by their exact values. ``"decimal"``: as the shortest decimals that
        name them, so that 0.9 is 9/10.
    grid
        Round the weights to multiples of this number. The network is then the rounded one, and the report
        says by how much weights were rounded. Required if sums would exceed 31 bits.
    leak
        The intended leak of all neurons, or of each layer, such as "9/10". It must equal that of the file up
        to rounding.
    names, classes
        Names of the inputs and classes.
    image
        (height, width) of the input image, to name the inputs ``pixel (row,column)``.
    prove
        Whether to compare the network with a simulation before returning it.
    """
    return _imported(path, parts_of_nir, convention, floats, grid, leak, names, classes, image, prove=prove)


def from_snntorch(
    source: str | Path | Mapping[str, Any],
    convention: Convention,
    *,
    layers: Sequence[str] | None = None,
    floats: Floats = "exact",
    grid: Any = None,
    leak: Any = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a state dict of alternating `torch.nn.Linear` and `snntorch.Leaky`; snnTorch is not required.

    Parameters
    ----------
    source
        The file, optionally compressed with gzip, or the result of `module.state_dict()`.
    convention
        The properties that a state dict does not state (see `Convention.of_snntorch`). Those that it does
        state are compared.
    layers
        Names of the modules in the order in which they run, such as ["fc1", "lif1", "fc2", "lif2"] (default:
        the order of the file).
    floats, grid, leak, names, classes, image, prove
        As in `read_nir`.
    """
    return _imported(
        source,
        partial(parts_of_snntorch, layers=layers),
        convention,
        floats,
        grid,
        leak,
        names,
        classes,
        image,
        prove=prove,
    )


def read_spiking_npz(
    path: str | Path,
    convention: Convention,
    *,
    floats: Floats = "exact",
    grid: Any = None,
    leak: Any = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read arrays ``weight1``, ``leak1``, ``threshold1``, ``bias1``, ``weight2`` and so on of an `.npz` file.

    Parameters
    ----------
    path
        The file, optionally compressed with gzip.
    convention
        The properties that the arrays do not state.
    floats, grid, leak, names, classes, image, prove
        As in `read_nir`.
    """
    return _imported(path, parts_of_npz, convention, floats, grid, leak, names, classes, image, prove=prove)


def import_spiking(
    path: str | Path,
    convention: Convention,
    *,
    layers: Sequence[str] | None = None,
    floats: Floats = "exact",
    grid: Any = None,
    leak: Any = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Sequence[int] | None = None,
    prove: bool = True,
) -> Network:
    """Read a spiking network in the format given by its file extension.

    Parameters
    ----------
    path
        ``.nir``, ``.pt``, ``.pth``, ``.tar`` or ``.npz``, each also compressed as ``.gz``.
    convention
        The properties that the file does not state.
    layers
        For snnTorch, see `from_snntorch`; refused for other files.
    floats, grid, leak, names, classes, image, prove
        As in `read_nir`.
    """
    name = Path(path).name.lower().removesuffix(".gz")
    common: dict[str, Any] = {
        "floats": floats,
        "grid": grid,
        "leak": leak,
        "names": names,
        "classes": classes,
        "image": image,
        "prove": prove,
    }
    if name.endswith((".pt", ".pth", ".tar")):
        return from_snntorch(path, convention, layers=layers, **common)
    refuse_if(
        layers is not None,
        f"layers= is for state dicts of snnTorch, and {Path(path).name} is not one. Leave it out.",
    )
    if name.endswith(".nir"):
        return read_nir(path, convention, **common)
    if name.endswith(".npz"):
        return read_spiking_npz(path, convention, **common)
    raise FileError(
        f"{path} is not a file of a spiking network: .nir, .pt, .pth, .tar or .npz, each also as .gz."
    )


def _parts(
    source: Any, read: _PartsReader, convention: Convention, floats: Floats
) -> tuple[list[LayerPart], list[str]]:
    """Return the layers of a source; errors about a file include its name."""
    if not isinstance(source, str | Path):
        return read(source, convention, floats)
    with plain_file(source) as file:
        try:
            return read(file, convention, floats)
        except (FileError, NetworkError) as error:
            name = Path(source).name
            raise FileError(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def _imported(
    source: Any,
    read: _PartsReader,
    convention: Convention,
    floats: Floats,
    grid: Any,
    leak: Any,
    names: Iterable[object] | None,
    classes: Iterable[object] | None,
    image: Sequence[int] | None,
    *,
    prove: bool,
) -> Network:
    parts, notes = _parts(source, read, convention, floats)
    name = Path(source).name if isinstance(source, str | Path) else "state dict"
    step = None if grid is None else exact(grid, "grid")
    refuse(NetworkError, (step is not None and step <= 0, f"grid={grid} is not positive."))
    try:
        layers = [
            _layer(part, floats, step, _leak_of(leak, number, len(parts)), notes)
            for number, part in enumerate(parts)
        ]
        spiking = SpikingNetwork(layers, convention, _input_names(names, image, layers[0].inputs), classes)
    except (FileError, NetworkError) as error:
        raise FileError(f"{name}: {error}") from None
    network = unroll(spiking).network
    if image is not None:
        network = _in_shape(network, convention, tuple(int(size) for size in image))
    network = replace(network, notes={**network.notes, "source": name})
    proof = prove_unrolled(spiking, network) if prove else None
    pool = _random_samples(spiking, _POOL, 1)
    differing = int((simulate_floats(spiking, pool) != network.predict(pool)).sum())
    notes.append(
        f"float64 gives another class on {differing} of {len(pool)} random samples: rounding matters"
        if differing
        else f"float64 gives the same class on {len(pool)} random samples"
    )
    return ImportReport(network, (), (str(convention), *notes), (spiking.inputs,), proof=proof).reported


def _leak_of(leak: Any, number: int, count: int) -> Any:
    """Return the leak that was given for a layer."""
    if leak is None or isinstance(leak, str) or np.ndim(leak) == 0:
        return leak
    refuse(
        NetworkError,
        (len(leak) != count, f"{len(leak)} leaks for {count} layers. Give one, or one for each."),
    )
    return leak[number]


def _layer(
    part: LayerPart, floats: Floats, grid: Fraction | None, leak: Any, notes: list[str]
) -> SpikingLayer:
    kept = part.leak if leak is None else checked_leak(part, leak)
    rows, far = [], Fraction(0)
    for j, row in enumerate(part.weights):
        scaled = [meant(value, f"{part.where}: a weight", floats) * part.gain[j] for value in _numbers(row)]
        rounded = [on_grid(value, grid) for value in scaled]
        far = max(far, *(abs(a - b) for a, b in zip(scaled, rounded, strict=True)))
        rows.append(rounded)
    shown = sorted(set(kept))
    notes.append(
        f"{part.where}: {len(rows)} neurons, leak {number_text(shown[0])}"
        + (f" to {number_text(shown[-1])}" if len(shown) > 1 else "")
        + ("" if part.threshold is not None else ", no spikes")
    )
    if far:
        notes.append(
            f"{part.where}: weights rounded to multiples of {grid}, by up to {float(far):.2g}: "
            "the network is the rounded one"
        )
    return SpikingLayer(
        np.array(rows, object),
        leak=kept,
        threshold=part.threshold,
        bias=part.bias,
        spikes=part.threshold is not None,
    )


def _input_names(
    names: Iterable[object] | None, image: Sequence[int] | None, inputs: int
) -> list[str] | None:
    if image is None:
        return None if names is None else [str(name) for name in names]
    refuse_if(names is not None, "names= and image= both say what inputs are called. Leave one of them out.")
    sizes = tuple(int(size) for size in image)
    called = pixel_names(sizes)
    if called is None or prod(sizes) != inputs:
        raise FileError(f"image={sizes} is not a (height, width) of {inputs} inputs.")
    return called


def _in_shape(network: Network, convention: Convention, image: tuple[int, ...]) -> Network:
    """Return the same network, taking samples as images, or as one image per step."""
    shape = image if convention.code == "latency" else (convention.steps, *image)
    encoder = network.encoder
    return replace(network, encoder=Encoder(encoder.codings, encoder.names, shape))


# -- the proof -----------------------------------------------------------------------------------------------


def prove_unrolled(spiking: SpikingNetwork, network: Network) -> ImportProof:
    """Compare an unrolled network with an exact simulation.

    The samples are random ones, and ones near the thresholds of the first layer.

    Raises
    ------
    SoundnessError
        If a class or a score differs.
    """
    pool = _random_samples(spiking, _POOL, 2)
    if network.layers:
        first = network.layers[0]
        margins = np.abs(first.match_counts(network.inputs(pool)) - np.asarray(first.tau)).min(axis=1)
        near = pool[np.argsort(margins, kind="stable")[:_NEAR]]
    else:
        near = pool[:0]
    samples = np.concatenate([_random_samples(spiking, _SAMPLES, 3), near])
    counts = network.match_counts(samples)
    labels, scores = network.head.classes(counts), network.head.scores(counts)
    lowest = spiking.convention.ties == "lowest"
    for k, sample in enumerate(samples):
        run = simulate(spiking, sample)
        if run.label != labels[k] or (lowest and tuple(scores[k]) != run.scores):
            raise SoundnessError(
                f"the unrolled network says class {labels[k]} of {sample.tolist()[:20]}, where a simulation "
                f"in exact numbers says {run.label}. Please report this network."
            )
    compared = ("a simulation step by step in exact numbers",)
    return ImportProof(compared, len(samples), len(near), 0, (), 0, scores.size, 0, 0)


def _random_samples(spiking: SpikingNetwork, count: int, seed: int) -> npt.NDArray[np.int64]:
    """Return samples with few and with many spikes."""
    random, steps, inputs = np.random.default_rng(seed), spiking.convention.steps, spiking.inputs
    share = random.random((count, 1))
    if spiking.convention.code == "latency":
        times = random.integers(0, steps, (count, inputs))
        return np.where(random.random((count, inputs)) < share, times, steps)
    return (random.random((count, inputs * steps)) < share).astype(np.int64)
