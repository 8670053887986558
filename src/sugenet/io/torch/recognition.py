"""What names and shapes of a state dict tell, and what they cannot: a chain of layers that fits, the line
that one could type for it, and what that line takes for granted.

Nothing here is used to read a file. A checkpoint does not hold where signs stand, whether weights are
binarized, what happens to inputs, nor pads, strides and pools: a person has to say it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.torch.architecture import Architecture, Part

__all__ = ["RecognizedChain", "recognized_chain"]

_Arrays = Mapping[str, npt.NDArray[Any]]
_NORM = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
_MAX_MODULES = 1000


@dataclass(frozen=True)
class _Module:
    """A layer with parameters: kind, name, how many values come in and go out."""

    kind: str
    name: str
    inputs: int
    outputs: int
    values: int = 0
    """How many different numbers its weights hold, up to 4."""
    zeros: bool = False
    """Whether one of them is 0."""

    @property
    def is_binary(self) -> bool:
        """Whether its weights are two numbers, or those and 0."""
        return self.values <= 2 + self.zeros


@dataclass(frozen=True)
class RecognizedChain:
    """Layers that make one chain by their shapes."""

    layout: str
    """How the layers are called, such as ``fcN, bnN``."""
    modules: tuple[_Module, ...]

    @property
    def architecture(self) -> Architecture:
        """What one could type: a sign in front of every layer of weights that something stands before."""
        parts: list[Part] = []
        for place, module in enumerate(self.modules):
            if module.kind != "batchnorm" and place:
                parts.append(Part("sign"))
            if module.kind == "linear" and place and self._before(place).kind == "conv":
                parts.append(Part("flatten"))
            rule = () if module.is_binary or module.kind == "batchnorm" else (("weights", "sign"),)
            parts.append(Part(module.kind, module.name, rule))
        return Architecture(tuple(parts))

    def _before(self, place: int) -> _Module:
        """The layer of weights in front of one."""
        return next((m for m in reversed(self.modules[:place]) if m.kind != "batchnorm"), self.modules[0])

    @property
    def told(self) -> str:
        """What was recognized, the line, and what it takes for granted."""
        sizes = [f"{m.name} ({m.inputs} to {m.outputs})" for m in self.modules if m.kind != "batchnorm"]
        shown = sizes if len(sizes) <= 6 else [*sizes[:3], "...", *sizes[-2:]]
        return (
            f"By names and shapes it is one chain of layers ({self.layout}): {', '.join(shown)}. A line that "
            f"fits them: architecture='{self.architecture}'. The file cannot say, and this line takes for "
            f"granted: {'; '.join(self.unknown)}. Change what is otherwise."
        )

    @property
    def unknown(self) -> list[str]:
        """What the line takes for granted, each with the word that says otherwise."""
        latent = [m for m in self.modules if m.kind != "batchnorm" and not m.is_binary]
        norms = [m.name for m in self.modules if m.kind == "batchnorm"]
        found = []
        if latent:
            names = ", ".join(m.name for m in latent[:4]) + (", ..." if len(latent) > 4 else "")
            zeros = ", ternary where 0 stays 0" if any(m.zeros for m in latent) else ""
            found.append(
                f"that weights are used by their signs (of {names}: weights=stored where they are used as "
                f"they stand, scaled with a size a row{zeros})"
            )
        found.append(
            "that a sign stands directly in front of every layer of weights"
            + ("" if self.modules[0].kind == "batchnorm" else " but the first")
            + ", and makes 1 of 0 (sign(zero=0) for torch.sign; move signs to where they are)"
        )
        found.append(
            "that nothing happens to the inputs first (affine(scale=2, shift=-1), sign, ... in front)"
        )
        if norms:
            found.append("eps=1e-5 of batch norms")
        return found + self._of_maps()

    def _of_maps(self) -> list[str]:
        """What is not known of convolutions."""
        convolutions = [m for m in self.modules if m.kind == "conv"]
        if not convolutions:
            return []
        found = ["that convolutions have stride=1 and pad=0, and that nothing is pooled (maxpool, avgpool)"]
        for place, module in enumerate(self.modules):
            if module.kind == "linear" and self._before(place).kind == "conv":
                pixels = module.inputs // self._before(place).outputs
                found[0] += f"; {pixels} pixels a channel must be left in front of {module.name}"
        return [*found, "the shape of a sample: shape=(channels, height, width)"]


def recognized_chain(arrays: _Arrays) -> RecognizedChain | None:
    """The chain that the layers of a state dict make by their shapes, in the order of the file or of the
    numbers in their names; None where there is none, where two orders fit, or where a parameter is of no
    known layer.

    Examples
    --------
    >>> norm = {f"bn1.{part}": np.ones(3) for part in ("weight", "bias", "running_mean", "running_var")}
    >>> state = {"fc1.weight": np.array([[0.2, -0.5], [1.5, 0.1], [0.3, 0.4]]), "fc2.weight": np.ones((2, 3))}
    >>> chain = recognized_chain(state | norm)
    >>> print(chain.layout, "|", chain.architecture)
    fcN, bnN | linear:fc1(weights=sign) batchnorm:bn1 sign linear:fc2
    """
    modules = _modules(arrays)
    if modules is None or not any(module.kind != "batchnorm" for module in modules):
        return None
    orders = [order for order in (modules, _numbered(modules)) if order is not None and _fits(order)]
    if not orders or any(order != orders[0] for order in orders):
        return None
    words = dict.fromkeys(re.sub(r"\d+", "N", module.name) for module in modules)
    return RecognizedChain(", ".join(words), tuple(orders[0]))


def _modules(arrays: _Arrays) -> list[_Module] | None:
    """All layers with parameters in the order of the file; None where a parameter is of another kind."""
    owners: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for name, array in arrays.items():
        owner, _, word = name.rpartition(".")
        owners.setdefault(owner, {})[word] = array
    found = [_module(name, parts) for name, parts in owners.items()]
    if not 0 < len(found) <= _MAX_MODULES or None in found:
        return None
    return [module for module in found if module is not None]


def _module(name: str, parts: Mapping[str, npt.NDArray[Any]]) -> _Module | None:
    if not re.fullmatch(r"[^\s():']+", name):
        return None
    if "running_mean" in parts and "running_var" in parts and set(parts) <= set(_NORM):
        sizes = {array.shape for word, array in parts.items() if word != "num_batches_tracked"}
        size = parts["running_mean"].size
        return _Module("batchnorm", name, size, size) if sizes == {(size,)} and size > 1 else None
    weight = parts.get("weight")
    if weight is None or not set(parts) <= {"weight", "bias"} or weight.ndim not in (2, 4) or not weight.size:
        return None
    if weight.dtype.kind not in "fiu" or ("bias" in parts and parts["bias"].shape != weight.shape[:1]):
        return None
    numbers = np.unique(np.abs(weight))
    sizes = len(numbers) - (numbers[0] == 0)
    values = 2 + (numbers[0] == 0) if sizes <= 1 else 4
    kind = "linear" if weight.ndim == 2 else "conv"
    return _Module(kind, name, weight.shape[1], weight.shape[0], int(values), bool(numbers[0] == 0))


def _numbered(modules: Sequence[_Module]) -> list[_Module] | None:
    """Layers of weights in the order of the file, each with the batch norm of its number behind it: for files
    that list all of one kind first.
    """
    found: list[_Module] = []
    norms = [module for module in modules if module.kind == "batchnorm"]
    for module in modules:
        if module.kind == "batchnorm":
            continue
        number = re.search(r"(\d+)\D*$", module.name)
        own = [
            n for n in norms if number and (end := re.search(r"(\d+)\D*$", n.name)) and end[1] == number[1]
        ]
        if len(own) > 1:
            return None
        found += [module, *own]
    return found if len(found) == len(modules) and len(set(found)) == len(found) else None


def _fits(order: Sequence[_Module]) -> bool:
    """Whether what goes out of each layer comes into the next, and no two batch norms follow each other."""
    before: _Module | None = None
    maps = False
    for module in order:
        if before is None:
            maps = module.kind == "conv"
        elif module.kind == "batchnorm":
            if before.kind == "batchnorm" or module.outputs != before.outputs:
                return False
        elif module.kind == "conv":
            if not maps or module.inputs != before.outputs:
                return False
        elif maps:  # flattened in between
            maps = False
            if module.inputs % before.outputs:
                return False
        elif module.inputs != before.outputs:
            return False
        before = module
    return True
