"""Spiking networks from elsewhere: read, made exact by the convention that is given, unrolled, and compared
with a simulation in exact numbers before anything is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Encoder, Network
from sugenet.capacity.arguments import number_words
from sugenet.errors import FileError, NetworkError, SoundnessError
from sugenet.io import Imported, ImportProof
from sugenet.io.exact.pixels import pixel_names
from sugenet.io.plain.gzipped import plain_file
from sugenet.spiking.convention import Convention
from sugenet.spiking.network import SpikingLayer, SpikingNetwork
from sugenet.spiking.numbers import Floats, exact, meant, on_grid
from sugenet.spiking.parts import LayerPart, checked_leak, parts_of_nir, parts_of_npz, parts_of_snntorch
from sugenet.spiking.simulation import simulate, simulate_floats
from sugenet.spiking.unrolling import unroll

__all__ = ["from_snntorch", "import_spiking", "prove_unrolled", "read_nir", "read_spiking_npz"]

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
) -> Imported:
    """Read a NIR file: a chain of Linear or Affine nodes and LIF, IF or LI neurons; needs the package h5py.

    Parameters
    ----------
    path
        The file, packed by gzip or not.
    convention
        What the file does not say; `step` is needed, since time in NIR is continuous.
    floats
        ``"exact"``: floats are the numbers that they are; ``"decimal"``: the shortest decimals that name
        them, so that 0.9 is 9/10.
    grid
        Rounds weights to multiples of it, on purpose: the network is then the rounded one, and the report
        says how far it was rounded. Needed where sums would leave 31 bits.
    leak
        The leak of all neurons, or of each layer, as it is meant: "9/10"; it must be that of the file up to
        rounding.
    names, classes
        Of the inputs and classes.
    image
        (height, width) of the image that the inputs are, to call them ``pixel (row,column)``.
    prove
        False leaves out the comparison with a simulation, which is made before this returns.
    """
    with plain_file(path) as file:
        parts, remarks = _named(path, lambda: parts_of_nir(file, convention, floats))
    return _imported(path, parts, remarks, convention, floats, grid, leak, names, classes, image, prove=prove)


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
) -> Imported:
    """Read a state dict of `torch.nn.Linear` and `snntorch.Leaky` in turn; snnTorch itself is not needed.

    Parameters
    ----------
    source
        The file, packed by gzip or not, or what `module.state_dict()` gives.
    convention
        What a state dict does not say (`Convention.of_snntorch`); what it says is compared.
    layers
        Names of the modules in the order in which they run, such as ["fc1", "lif1", "fc2", "lif2"]; the
        order of the file unless given.
    floats, grid, leak, names, classes, image, prove
        As in `read_nir`.
    """
    if isinstance(source, str | Path):
        with plain_file(source) as file:
            parts, remarks = _named(source, lambda: parts_of_snntorch(file, convention, floats, layers))
    else:
        parts, remarks = parts_of_snntorch(source, convention, floats, layers)
    return _imported(
        source if isinstance(source, str | Path) else "state dict",
        parts,
        remarks,
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
) -> Imported:
    """Read arrays ``weight1``, ``leak1``, ``threshold1``, ``bias1``, ``weight2`` and so on of an `.npz` file.

    Parameters
    ----------
    path
        The file, packed by gzip or not.
    convention
        What the arrays do not say.
    floats, grid, leak, names, classes, image, prove
        As in `read_nir`.
    """
    with plain_file(path) as file:
        parts, remarks = _named(path, lambda: parts_of_npz(file, convention, floats))
    return _imported(path, parts, remarks, convention, floats, grid, leak, names, classes, image, prove=prove)


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
) -> Imported:
    """Read a spiking network by the ending of its file.

    Parameters
    ----------
    path
        ``.nir``, ``.pt``, ``.pth``, ``.tar`` or ``.npz``, each also packed as ``.gz``.
    convention
        What the file does not say.
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
    if layers is not None:
        raise FileError(
            f"layers= is for state dicts of snnTorch, and {Path(path).name} is none. Leave it out."
        )
    if name.endswith(".nir"):
        return read_nir(path, convention, **common)
    if name.endswith(".npz"):
        return read_spiking_npz(path, convention, **common)
    raise FileError(
        f"{path} is of no kind that holds a spiking network: .nir, .pt, .pth, .tar or .npz, each also as .gz."
    )


def _named(path: Any, read: Any) -> Any:
    try:
        return read()
    except (FileError, NetworkError) as error:
        name = Path(path).name
        raise FileError(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


def _imported(
    source: Any,
    parts: Sequence[LayerPart],
    remarks: Sequence[str],
    convention: Convention,
    floats: Floats,
    grid: Any,
    leak: Any,
    names: Iterable[object] | None,
    classes: Iterable[object] | None,
    image: Sequence[int] | None,
    *,
    prove: bool,
) -> Imported:
    name = Path(source).name
    said = list(remarks)
    step = None if grid is None else exact(grid, "grid")
    if step is not None and step <= 0:
        raise NetworkError(f"grid={grid} is not positive.")
    try:
        layers = [
            _layer(part, floats, step, _leak_of(leak, number, len(parts)), said)
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
    said.append(
        f"float64 gives another class on {differing} of {len(pool)} random samples: rounding matters"
        if differing
        else f"float64 gives the same class on {len(pool)} random samples"
    )
    return Imported(network, (), (str(convention), *said), (spiking.inputs,), proof=proof)


def _leak_of(leak: Any, number: int, count: int) -> Any:
    """The leak that was given for a layer."""
    if leak is None or isinstance(leak, str) or np.ndim(leak) == 0:
        return leak
    if len(leak) != count:
        raise NetworkError(f"{len(leak)} leaks for {count} layers. Give one, or one for each.")
    return leak[number]


def _layer(
    part: LayerPart, floats: Floats, grid: Fraction | None, leak: Any, said: list[str]
) -> SpikingLayer:
    kept = part.leak if leak is None else checked_leak(part, leak)
    rows, far = [], Fraction(0)
    for j, row in enumerate(part.weights):
        values = row.tolist() if row.dtype == np.float64 else list(row)
        found = [meant(value, f"{part.where}: a weight", floats) * part.gain[j] for value in values]
        rounded = [on_grid(value, grid) for value in found]
        far = max(far, *(abs(a - b) for a, b in zip(found, rounded, strict=True)))
        rows.append(rounded)
    shown = sorted(set(kept))
    said.append(
        f"{part.where}: {len(rows)} neurons, leak {number_words(shown[0])}"
        + (f" to {number_words(shown[-1])}" if len(shown) > 1 else "")
        + ("" if part.threshold is not None else ", no spikes")
    )
    if far:
        said.append(
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
    if names is not None:
        raise FileError("names= and image= both say what inputs are called. Leave one of them out.")
    sizes = tuple(int(size) for size in image)
    called = pixel_names(sizes)
    if called is None or prod(sizes) != inputs:
        raise FileError(f"image={sizes} is no (height, width) of {inputs} inputs.")
    return called


def _in_shape(network: Network, convention: Convention, image: tuple[int, ...]) -> Network:
    """The same network, which takes samples as images, or as one image a step."""
    shape = image if convention.code == "latency" else (convention.steps, *image)
    encoder = network.encoder
    return replace(network, encoder=Encoder(encoder.codings, encoder.names, shape))


# -- the proof -----------------------------------------------------------------------------------------------


def prove_unrolled(spiking: SpikingNetwork, network: Network) -> ImportProof:
    """Compare an unrolled network with a simulation in exact numbers, on random samples and on samples near
    the thresholds of its first layer.

    Raises
    ------
    SoundnessError
        Where a class or a score differs.
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
    judge = "a simulation step by step in exact numbers"
    return ImportProof((judge,), len(samples), len(near), 0, (), 0, scores.size, 0, 0)


def _random_samples(spiking: SpikingNetwork, count: int, seed: int) -> npt.NDArray[np.int64]:
    """Samples with few and with many spikes."""
    random, steps, inputs = np.random.default_rng(seed), spiking.convention.steps, spiking.inputs
    share = random.random((count, 1))
    if spiking.convention.code == "latency":
        times = random.integers(0, steps, (count, inputs))
        return np.where(random.random((count, inputs)) < share, times, steps)
    return (random.random((count, inputs * steps)) < share).astype(np.int64)
