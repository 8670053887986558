"""Layouts of state dicts that their names tell: which program wrote them, its architecture,
and whether they say all of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.torch.architecture import Architecture, Part

__all__ = ["Layout", "known_layout"]

_FLOOR = "1/65536"


@dataclass(frozen=True)
class Layout:
    """What the names of a state dict tell."""

    program: str
    architecture: Architecture
    tells_bits: bool = True
    """Whether only networks of one bit have these names."""

    def of_bits(self, weights: int, activations: int, inputs: int) -> Architecture:
        """The architecture with quantizers of these widths."""
        parts, first = [], True
        if max(weights, activations, inputs) > 1 and any(
            part.text("weights", "").startswith("scaled") for part in self.architecture
        ):
            raise FileError(
                f"early releases of {self.program} wrote it, whose scales of {weights}-bit weights and "
                f"{activations}-bit activations are not known from the file. Say them in an architecture: "
                "linear:NAME(weights=quantized, bits=2, scale=1), quantize:NAME(bits=2, learned=log2)."
            )
        for part in self.architecture:
            if part.kind == "sign":
                width, first = (inputs if first else activations), False
                part = part if width == 1 else Part("quantize", options=(("bits", str(width)),))
            elif part.kind in ("linear", "conv") and weights > 1:
                part = replace(part, options=(("weights", "quantized"), ("bits", str(weights))))
            parts.append(part)
        return Architecture(tuple(parts))


def known_layout(state: Mapping[str, Any]) -> Layout | None:
    """The layout of a state dict whose names tell it: BNN verification (msakai), NPAQ (both), Brevitas' TFC,
    SFC and LFC; else None.

    Examples
    --------
    >>> names = ("fc1.weight", "bn1.weight", "bn1.running_mean", "fc5.weight")
    >>> print(known_layout({name: np.ones((2, 2)) for name in names}).architecture)
    sign(zero=0) linear:fc1(weights=ternary) batchnorm:bn1 sign(zero=0) linear:fc5(weights=ternary)
    """
    names = list(state)
    for program, layout, tells_bits in (
        ("BNN verification", _msakai, True),
        ("NPAQ", _npaq, True),
        ("NPAQ", _npaq_list, True),
        ("Brevitas", _bnn_pynq, False),
    ):
        text = layout(names, state)
        if text is not None:
            return Layout(program, Architecture.parse(text), tells_bits)
    return None


def _msakai(names: list[str], _state: Mapping[str, Any]) -> str | None:
    """A sign on normalized pixels, then blocks with weights +-1, in Chainer's batch norm."""
    count = sum(name.startswith("hidden_layers.") and name.endswith(".0.weight") for name in names)
    if "input_block.0.running_var" not in names or "output_layer.weight" not in names or not count:
        return None
    blocks = " ".join(
        f"linear:hidden_layers.{b}.0 batchnorm:hidden_layers.{b}.1(eps=2e-5) sign" for b in range(count)
    )
    return f"batchnorm:input_block.0(eps=2e-5) sign {blocks} linear:output_layer"


def _npaq(names: list[str], _state: Mapping[str, Any]) -> str | None:
    """Networks of fixed sizes: fc1, bn1, fc2, bn2, ..., and fc5, however many blocks there are; fcN and bnN
    alone are names that many programs use, each in its own way.
    """
    linear = _numbered(r"fc(\d+)\.weight", names)
    norms = _numbered(r"bn(\d+)\.running_mean", names)
    if not 1 <= len(norms) <= 4 or norms != list(range(1, len(norms) + 1)) or linear != [*norms, 5]:
        return None
    return _npaq_text([f"fc{k}" for k in linear], [f"bn{k}" for k in norms])


def _npaq_list(names: list[str], _state: Mapping[str, Any]) -> str | None:
    """Networks made from a description: one list of linear layer, batch norm and hard tanh for each block,
    and a linear layer.
    """
    linear, norms = _listed("mod_list", names)
    if (
        not norms
        or linear != [3 * b for b in range(len(norms) + 1)]
        or norms != [3 * b + 1 for b in range(len(norms))]
    ):
        return None
    return _npaq_text([f"mod_list.{k}" for k in linear], [f"mod_list.{k}" for k in norms])


def _npaq_text(linear: list[str], norms: list[str]) -> str:
    """Latent weights through torch.sign, so that zeros stay zeros;
    a hard tanh in front of a sign changes nothing.
    """
    blocks = " ".join(
        f"linear:{a}(weights=ternary) batchnorm:{b} sign(zero=0)" for a, b in zip(linear, norms, strict=False)
    )
    return f"sign(zero=0) {blocks} linear:{linear[-1]}(weights=ternary)"


def _bnn_pynq(names: list[str], state: Mapping[str, Any]) -> str | None:
    """Pixels 0..1 become 2x - 1 and a sign.

    Early releases scale the weights of every neuron by their mean size, and those of the scores all alike;
    later ones use plain signs and end in a scalar norm. Networks of more bits have the same names; early ones
    tell more than one bit of activations by a learned scale, later ones not even that.
    """
    linear, norms = _listed("features", names)
    if (
        not norms
        or norms != [4 * b + 3 for b in range(len(norms))]
        or linear != [4 * b + 2 for b in range(len(norms))]
    ):
        return None
    end = f"features.{norms[-1]}"
    scores = f"features.{linear[-1]}"
    if "fc.weight" in names:
        hidden, how, scores, last = (
            list(zip(linear, norms, strict=True)),
            f"scaled, floor={_FLOOR}",
            "fc",
            f"scaled-all, floor={_FLOOR}",
        )
    elif np.size(state[f"{end}.running_mean"]) == 1 and len(norms) > 1:
        hidden, how, last = list(zip(linear, norms, strict=True))[:-1], "sign", "sign"
    else:
        return None
    blocks = " ".join(f"linear:features.{a}(weights={how}) batchnorm:features.{b} sign" for a, b in hidden)
    text = f"affine(scale=2, shift=-1) sign {blocks} linear:{scores}(weights={last})"
    return text if scores == "fc" else f"{text} tensornorm:{end}"


def _listed(owner: str, names: list[str]) -> tuple[list[int], list[int]]:
    """The numbers of the linear layers and of the batch norms in a list of layers."""
    plain = [name for name in names if name.removesuffix("weight") + "running_mean" not in names]
    return _numbered(rf"{owner}\.(\d+)\.weight", plain), _numbered(rf"{owner}\.(\d+)\.running_mean", names)


def _numbered(pattern: str, names: list[str]) -> list[int]:
    """The numbers in the names that follow a pattern, in their order."""
    return sorted(int(found[1]) for found in (re.fullmatch(pattern, name) for name in names) if found)
