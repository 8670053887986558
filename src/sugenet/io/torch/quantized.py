"""PyTorch's quantized modules (torch.ao): whole numbers all the way, read by following a batch through them.

Every operation gives bytes; a layer is a sum of whole numbers and a requantizer in float32, whose steps are
asked of PyTorch's own kernel, both sides of each. What the module itself gives, byte by byte at every
operation, is the judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Encoder, Network, Source
from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.domains import Inputs, Integers
from sugenet.io.exact.pixels import pixel_names, with_image
from sugenet.io.exact.report import Imported, ImportProof
from sugenet.io.proof.near import RawRanges, turning
from sugenet.io.torch.quantized_layers import QuantizedLayers
from sugenet.io.torch.quantized_run import CONV, LINEAR, QuantizedRun, QuantizedStep
from sugenet.io.torch.reader import checked_example, require_torch

__all__ = ["is_quantized", "read_quantized"]

_SAMPLES, _NEAR = 256, 8


def is_quantized(module: Any) -> bool:
    """Whether a module holds layers of torch.ao.nn.quantized, whose weights are packed."""
    return hasattr(module, "modules") and any(
        type(part).__module__.startswith(("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized"))
        for part in module.modules()
    )


def read_quantized(
    module: Any,
    example: Any,
    inputs: Inputs | None,
    *,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Any = None,
    prove: bool = True,
) -> Imported:
    """The exact network of a quantized module, compared with it byte by byte."""
    torch = require_torch()
    source = type(module).__name__
    batch, *sizes = (int(size) for size in checked_example(torch, example, source).shape)
    shape = tuple(sizes)
    if not isinstance(inputs, Integers):
        raise FileError(
            f"{source}: say what raw samples are: inputs=Integers(0, 255, step=Fraction(1, 255)) for pixels "
            "divided by 255; a quantized module rounds them in float32."
        )
    if inputs.channels > 1:
        raise FileError(
            f"{source}: a quantized module rounds its inputs with one scale: use one step and start for all "
            "channels."
        )
    with _one_thread(torch):
        runner = QuantizedRun(torch, module, batch, shape, inputs, source)
        steps, _ = runner.run(np.full((batch, prod(shape)), inputs.low))
        _all_used(source, module, steps)
        try:
            made = QuantizedLayers(torch, source, shape, runner.levels(steps), steps)
        except NetworkError as error:
            raise FileError(f"{source}: {error}") from error
        called = pixel_names(shape) if names is None else names
        encoder = Encoder([runner.coding(made.raw)] * prod(shape), called, shape if len(shape) > 1 else None)
        about = Source(inputs.start, inputs.step, "equal")
        network = Network(encoder, made.layers, made.head, classes, {"source": source}, about)
        found = Imported(network, tuple(made.reports), made.remarks(), shape)
        found = found if image is None else with_image(found, image, names)
        if not prove:
            return found
        return _proved(found, runner, made)


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Questions are many small calls, for which threads only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _all_used(source: str, module: Any, steps: Sequence[QuantizedStep]) -> None:
    """Refuse a module with a layer that did not run, or with parameters that are no part of one."""
    used = sum(step.name in LINEAR | CONV for step in steps)
    there = [path for path, part in module.named_modules() if hasattr(part, "_packed_params")]
    own = [path for path in there if not path.endswith("._packed_params")]
    if used != len(own):
        raise FileError(
            f"{source}: {used} layers ran, but it holds {len(own)}: {', '.join(own[:8])}. Each must be used "
            "exactly once."
        )
    floats = next((name for name, _ in module.named_parameters()), None)
    if floats is not None:
        raise FileError(
            f"{source}: its float parameter {floats!r} is used by nothing that was read. Remove it, or "
            "quantize its layer."
        )


def _proved(found: Imported, runner: QuantizedRun, made: QuantizedLayers) -> Imported:
    """The import, after every byte of the module was compared with it."""
    network, random = found.network, np.random.default_rng(0)
    domain = RawRanges.of_encoder(network.encoder)

    def hidden(rows: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        return network.hidden(rows, engine="numpy")

    pool = domain.samples(_SAMPLES, random)
    near = turning(network, domain, hidden, pool, _NEAR, random, direct=True)
    rows = np.concatenate([pool, near])
    steps, scores = runner.run(rows)
    ours = hidden(rows)
    for layer, number in zip(ours, made.shown, strict=True):
        step = steps[number]
        differs = layer != step.levels
        if differs.any():
            sample, place = (int(k) for k in np.argwhere(differs)[0])
            raise FileError(
                f"{runner.source}: {step.where}: value {place} of sample {sample} is "
                f"{int(step.levels[sample, place])} in PyTorch, where its kernel, asked alone, gives "
                f"{int(layer[sample, place])}. This backend computes in a way that is not known; nothing was "
                "imported. Export the model to ONNX instead."
            )
    mine = network.logits(rows)
    if not np.array_equal(mine.astype(np.float32), scores.astype(np.float32)):
        raise FileError(f"{runner.source}: its scores are not those of the network. Please report this.")
    count = sum(layer.size for layer in ours)
    proof = ImportProof(
        ("the module itself, byte by byte",),
        len(rows),
        len(near),
        len(ours),
        (),
        count,
        scores.size,
        0,
        0,
        True,
    )
    return Imported(network, found.layers, found.remarks, found.shape, (), proof)
