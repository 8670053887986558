"""The layers of a network whose file has parameters but not their meaning.

They are given as one line of text, or derived from the names and shapes of a state dict.

The names used by a few programs determine the whole architecture. For other files, the names only suggest a
chain of layers that fits, and a line for it. The line is shown and never used. A checkpoint does not contain
the positions of signs, whether weights are binarized, the preprocessing of inputs, pads, strides or pools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sugenet.errors import FileError, refuse
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.nn.arrays import Array

__all__ = ["Architecture", "Layout", "Part", "known_layout", "recognized_chain"]

_WEIGHTS = frozenset({"weights", "floor", "bias", "bits", "scale"})
_QUANTIZER = frozenset({"bits", "scale", "learned", "signed", "narrow"})
_KINDS: dict[str, tuple[bool | None, frozenset[str]]] = {
    "linear": (True, _WEIGHTS),
    "conv": (True, _WEIGHTS | {"stride", "dilation", "pad", "groups"}),
    "batchnorm": (True, frozenset({"eps"})),
    "tensornorm": (True, frozenset({"eps"})),
    "affine": (False, frozenset({"scale", "shift"})),
    "sign": (False, frozenset({"zero", "low", "high"})),
    "quantize": (None, _QUANTIZER),
    "clip": (False, frozenset({"low", "high"})),
    "hardtanh": (False, frozenset()),
    "relu": (False, frozenset()),
    "leaky": (None, frozenset({"slope"})),
    "maxpool": (False, frozenset({"kernel", "stride", "pad"})),
    "avgpool": (False, frozenset({"kernel", "stride", "pad", "count_pads"})),
    "globalavgpool": (False, frozenset()),
    "pad": (False, frozenset({"size", "value"})),
    "flatten": (False, frozenset({"order"})),
    "unused": (True, frozenset()),
}
"""Each kind of part: whether it has parameters (None: optional), and its options."""
_CHOICES = {
    "weights": ("stored", "sign", "ternary", "scaled", "scaled-all", "quantized"),
    "learned": ("value", "log2"),
    "signed": ("yes", "no"),
    "narrow": ("yes", "no"),
    "bias": ("yes", "no"),
    "count_pads": ("yes", "no"),
    "order": ("CHW", "HWC"),
    "zero": ("1", "-1", "0"),
}
_PAIRS = frozenset({"stride", "dilation", "pad", "kernel", "size"})
_PART = re.compile(r"\s*([a-z]+)(?::([^\s():]+))?(?:\(([^()]*)\))?(?=\s|$)")
_MAX_TEXT = 1 << 20


@dataclass(frozen=True)
class Part:
    """One layer: its kind, the name of its parameters in the file, and its options as text."""

    kind: str
    name: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        refuse_if(self.kind not in _KINDS, f"there is no part {self.kind!r}. Parts are {', '.join(_KINDS)}.")
        named, known = _KINDS[self.kind]
        if named is not None and named != bool(self.name):
            right = (
                f"{self.kind}:name with the name of its parameters"
                if named
                else f"{self.kind} without a name"
            )
            raise FileError(f"{self}: write {right}.")
        for index, (key, value) in enumerate(self.options):
            refuse_if(
                key not in known,
                f"{self}: unknown option {key!r}. {self.kind} takes {', '.join(sorted(known)) or 'none'}.",
            )
            refuse_if(
                any(key == other for other, _ in self.options[:index]), f"{self}: {key} is given twice."
            )
            choices = _CHOICES.get(key, (value,))
            refuse_if(value not in choices, f"{self}: {key} must be one of {', '.join(choices)}.")
            refuse_if(
                key not in _CHOICES and len(self._number(key, value)) > 1 and key not in _PAIRS,
                f"{self}: {key} is one number, not two.",
            )
        options = dict(self.options)
        quantized = self.kind == "quantize" or self.text("weights", "") == "quantized"
        scaled = self.text("weights", "stored") in ("scaled", "scaled-all")
        refuse(
            FileError,
            (
                quantized and not 2 <= self.pair("bits", 0)[0] <= 16,
                f"{self}: it needs a number of bits from 2 to 16, as in quantize(bits=2); one bit is a sign.",
            ),
            (
                not quantized and {"bits", "scale"} & options.keys() and self.kind != "affine",
                f"{self}: bits and scale are for weights=quantized.",
            ),
            (quantized and not self.number("scale", 1) > 0, f"{self}: its scale must be positive."),
            (
                self.kind == "quantize" and bool(self.name) != ("learned" in options),
                f"{self}: a learned scale needs the name of its parameter and how it is kept: "
                "quantize:NAME(bits=2, learned=value), or learned=log2 for its logarithm.",
            ),
            (
                "floor" in options and not scaled,
                f"{self}: floor is for weights=scaled and weights=scaled-all.",
            ),
        )

    def text(self, key: str, otherwise: str) -> str:
        """Return an option as text."""
        return dict(self.options).get(key, otherwise)

    def number(self, key: str, otherwise: Any) -> Fraction:
        """Return an option as an exact number.

        ``1/255`` is that fraction; a decimal is the float that a program would use.
        """
        option = dict(self.options).get(key)
        return Fraction(otherwise) if option is None else self._number(key, option)[0]

    def float(self, key: str, otherwise: float) -> float:
        """Return an option that a program would keep as a float; refuse a fraction that is not a float."""
        option = dict(self.options).get(key)
        if option is None:
            return otherwise
        exact = self._number(key, option)[0]
        refuse_if(
            Fraction(float(exact)) != exact,
            f"{self}: {key}={option[:40]} is not a float. Write the decimal that the program has.",
        )
        return float(exact)

    def pair(self, key: str, otherwise: int) -> tuple[int, int]:
        """Return an option as height and width: ``3`` or ``3x1``."""
        option = dict(self.options).get(key)
        row = [Fraction(otherwise)] if option is None else self._number(key, option)
        refuse_if(
            any(value.denominator != 1 or not 0 <= value < 1 << 20 for value in row),
            f"{self}: {key} must be a small integer, or two as 3x1.",
        )
        return int(row[0]), int(row[-1])

    def _number(self, key: str, value: str) -> list[Fraction]:
        try:
            parts = value.split("x")
            if len(parts) > 2:
                raise ValueError
            return [
                Fraction(word) if re.fullmatch(r"-?\d{1,18}(/\d{1,18})?", word) else Fraction(float(word))
                for word in parts
            ]
        except (ValueError, OverflowError, ZeroDivisionError):
            raise FileError(f"{self}: {key}={value[:40]} is not a number.") from None

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.options)
        return f"{self.kind}{':' if self.name else ''}{self.name}{f'({options})' if options else ''}"


@dataclass(frozen=True)
class Architecture:
    """The parts of a network from input to scores; written as text, one word per part.

    ========================== ===============================================================================
    part                       means
    ========================== ===============================================================================
    ``linear:fc1``             ``fc1.weight`` and, if there is one, ``fc1.bias``; ``bias=no`` leaves it out.
                               ``weights=stored`` unchanged (default), ``sign`` (+1 at 0), ``ternary`` (0 at
                               0), ``scaled`` (the sign times the mean magnitude of the row, at least
                               ``floor``), ``scaled-all`` (the same with one magnitude for all rows),
                               ``quantized`` (as by ``quantize``, with ``bits`` and ``scale``)
    ``conv:conv1``             the same for a convolution, with ``stride``, ``dilation``,
                               ``pad`` and ``groups``
    ``batchnorm:bn1``          ``weight``, ``bias``, ``running_mean``, ``running_var``
                               (default: ``eps=1e-5``)
    ``tensornorm:norm``        the same with one number for all values (default: ``eps=1e-4``)
    ``quantize``               rounds to integer multiples of a step, half to even: ``bits=2`` and more,
                               ``narrow=yes``, ``signed=yes``; the largest multiple is ``scale=1``, or the
                               learned value: ``quantize:NAME(bits=2, learned=value)``, ``learned=log2``
    ``sign``                   ``zero=1``, ``-1`` or ``0`` is its value at 0; ``low=-1``, ``high=1``
    ``affine``                 ``scale=1``, ``shift=0``
    ``clip``                   ``low`` and ``high``; ``hardtanh`` and ``relu`` are special cases
    ``leaky``                  leaky ReLU with ``slope=0.01``; ``leaky:NAME`` is a PReLU with the slopes of
                               ``NAME.weight``
    ``maxpool``, ``avgpool``   ``kernel=2``, ``stride`` (default: the kernel), ``pad=0``;
                               ``count_pads=yes``; ``globalavgpool``
    ``pad``, ``flatten``       ``size=1``, ``value=0``; ``order=CHW``
    ``unused:bn0``             not a layer: the file has ``bn0.*``, but the network does not use them
    ========================== ===============================================================================

    Examples
    --------
    >>> text = "linear:fc1(weights=sign) batchnorm:bn1(eps=2e-5) sign linear:fc2(weights=sign)"
    >>> net = Architecture.parse(text)
    >>> [part.name or part.kind for part in net]
    ['fc1', 'bn1', 'sign', 'fc2']
    >>> Architecture.parse(str(net)) == net
    True
    >>> Architecture.parse("linear:fc1 signum")
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: there is no part 'signum'. Parts are linear, conv, batchnorm, tensornorm,
    affine, sign, quantize, clip, hardtanh, relu, leaky, maxpool, avgpool, globalavgpool, pad, flatten,
    unused.
    """

    parts: tuple[Part, ...]

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Read the text form."""
        parts, at = [], 0
        refuse_if(len(text) > _MAX_TEXT, f"an architecture of {len(text)} characters is too long.")
        while text[at:].strip():
            match = required(
                _PART.match(text, at),
                f"the architecture cannot be read at {text[at : at + 40].strip()!r}. Write parts with "
                "spaces between, as in linear:fc1(weights=sign) batchnorm:bn1 "
                "sign linear:fc2(weights=sign).",
            )
            kind, name, options = match.groups()
            pairs = [word.partition("=") for word in (options or "").split(",") if word.strip()]
            parts.append(
                Part(kind, name or "", tuple((key.strip(), value.strip()) for key, _, value in pairs))
            )
            at = match.end()
        refuse_if(
            not parts,
            "the architecture is empty. Write parts, as in linear:fc1(weights=sign) batchnorm:bn1 "
            "sign linear:fc2.",
        )
        return cls(tuple(parts))

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def __str__(self) -> str:
        return " ".join(map(str, self.parts))


_FLOOR = "1/65536"


@dataclass(frozen=True)
class Layout:
    """The architecture implied by the names of a state dict."""

    program: str
    architecture: Architecture
    tells_bits: bool = True
    """Whether only one-bit networks have these names."""

    def of_bits(self, weights: int, activations: int, inputs: int) -> Architecture:
        """Return the architecture with quantizers of these widths."""
        parts, first = [], True
        refuse_if(
            max(weights, activations, inputs) > 1
            and any(part.text("weights", "").startswith("scaled") for part in self.architecture),
            f"early releases of {self.program} wrote it, whose scales of {weights}-bit weights and "
            f"{activations}-bit activations are not known from the file. Say them in an architecture: "
            "linear:NAME(weights=quantized, bits=2, scale=1), quantize:NAME(bits=2, learned=log2).",
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
    """Return the layout of a state dict, if its names are known; otherwise None.

    Known names are those of BNN verification (msakai), NPAQ (both), and Brevitas' TFC, SFC and LFC.

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
    """A sign of normalized pixels, then blocks with weights +-1, with Chainer's batch norm."""
    count = sum(name.startswith("hidden_layers.") and name.endswith(".0.weight") for name in names)
    if "input_block.0.running_var" not in names or "output_layer.weight" not in names or not count:
        return None
    blocks = " ".join(
        f"linear:hidden_layers.{b}.0 batchnorm:hidden_layers.{b}.1(eps=2e-5) sign" for b in range(count)
    )
    return f"batchnorm:input_block.0(eps=2e-5) sign {blocks} linear:output_layer"


def _npaq(names: list[str], _state: Mapping[str, Any]) -> str | None:
    """Networks of fixed sizes: fc1, bn1, fc2, bn2, ..., and fc5 for any number of blocks.

    The names fcN and bnN alone are used by many programs, with different meanings.
    """
    linear = _numbered(r"fc(\d+)\.weight", names)
    norms = _numbered(r"bn(\d+)\.running_mean", names)
    if not 1 <= len(norms) <= 4 or norms != list(range(1, len(norms) + 1)) or linear != [*norms, 5]:
        return None
    return _npaq_text([f"fc{k}" for k in linear], [f"bn{k}" for k in norms])


def _npaq_list(names: list[str], _state: Mapping[str, Any]) -> str | None:
    """Networks made from a description: a list of linear layer, batch norm and hard tanh per block, then a
    linear layer.
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
    """Latent weights through torch.sign, so that zeros stay zeros.

    A hard tanh before a sign changes nothing.
    """
    blocks = " ".join(
        f"linear:{a}(weights=ternary) batchnorm:{b} sign(zero=0)" for a, b in zip(linear, norms, strict=False)
    )
    return f"sign(zero=0) {blocks} linear:{linear[-1]}(weights=ternary)"


def _bnn_pynq(names: list[str], state: Mapping[str, Any]) -> str | None:
    """Pixels 0..1 are mapped to 2x - 1 and a sign.

    Early releases scale the weights of every neuron by their mean magnitude, and those of the scores by one
    common number. Later ones use plain signs and end in a scalar norm. Networks of more bits have the same
    names. Early ones have a learned scale if activations have more than one bit; later ones do not show it.
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
    """Return the indices of the linear layers and of the batch norms in a list of layers."""
    plain = [name for name in names if name.removesuffix("weight") + "running_mean" not in names]
    return _numbered(rf"{owner}\.(\d+)\.weight", plain), _numbered(rf"{owner}\.(\d+)\.running_mean", names)


def _numbered(pattern: str, names: list[str]) -> list[int]:
    """Return the numbers in the names that match a pattern, in order."""
    return sorted(int(match[1]) for match in (re.fullmatch(pattern, name) for name in names) if match)


_Arrays = Mapping[str, Array]
_NORM = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
_MAX_MODULES = 1000


@dataclass(frozen=True)
class _NamedLayer:
    """A layer with parameters: kind, name, number of inputs and outputs."""

    kind: str
    name: str
    inputs: int
    outputs: int
    values: int = 0
    """Number of different values among its weights, up to 4."""
    zeros: bool = False
    """Whether one of them is 0."""

    @property
    def is_binary(self) -> bool:
        """Whether its weights have two values, or those and 0."""
        return self.values <= 2 + self.zeros


@dataclass(frozen=True)
class _RecognizedChain:
    """Layers that form one chain by their shapes."""

    layout: str
    """How the layers are named, such as ``fcN, bnN``."""
    modules: tuple[_NamedLayer, ...]

    @property
    def architecture(self) -> Architecture:
        """A possible architecture, with a sign before every weight layer except the first."""
        parts: list[Part] = []
        for index, module in enumerate(self.modules):
            if module.kind != "batchnorm" and index:
                parts.append(Part("sign"))
            if module.kind == "linear" and index and self._before(index).kind == "conv":
                parts.append(Part("flatten"))
            rule = () if module.is_binary or module.kind == "batchnorm" else (("weights", "sign"),)
            parts.append(Part(module.kind, module.name, rule))
        return Architecture(tuple(parts))

    def _before(self, index: int) -> _NamedLayer:
        """Return the weight layer before another one."""
        return next((m for m in reversed(self.modules[:index]) if m.kind != "batchnorm"), self.modules[0])

    @property
    def told(self) -> str:
        """Return the recognized layers, the line, and its assumptions."""
        sizes = [f"{m.name} ({m.inputs} to {m.outputs})" for m in self.modules if m.kind != "batchnorm"]
        shown = sizes if len(sizes) <= 6 else [*sizes[:3], "...", *sizes[-2:]]
        return (
            f"By names and shapes it is one chain of layers ({self.layout}): {', '.join(shown)}. A line that "
            f"fits them: architecture='{self.architecture}'. The file cannot say, and this line takes for "
            f"granted: {'; '.join(self.unknown)}. Change what is otherwise."
        )

    @property
    def unknown(self) -> list[str]:
        """Return the assumptions of the line, each with the word that changes it."""
        latent = [m for m in self.modules if m.kind != "batchnorm" and not m.is_binary]
        norms = [m.name for m in self.modules if m.kind == "batchnorm"]
        assumptions = []
        if latent:
            names = ", ".join(m.name for m in latent[:4]) + (", ..." if len(latent) > 4 else "")
            zeros = ", ternary where 0 stays 0" if any(m.zeros for m in latent) else ""
            assumptions.append(
                f"that weights are used by their signs (of {names}: weights=stored where they are used as "
                f"they stand, scaled with a size a row{zeros})"
            )
        assumptions.append(
            "that a sign comes directly before every layer of weights"
            + ("" if self.modules[0].kind == "batchnorm" else " but the first")
            + ", and makes 1 of 0 (sign(zero=0) for torch.sign; move signs to where they are)"
        )
        assumptions.append(
            "that nothing happens to the inputs first (affine(scale=2, shift=-1), sign, ... at the start)"
        )
        if norms:
            assumptions.append("eps=1e-5 of batch norms")
        return assumptions + self._of_maps()

    def _of_maps(self) -> list[str]:
        """Return the unknown properties of convolutions."""
        convolutions = [m for m in self.modules if m.kind == "conv"]
        if not convolutions:
            return []
        assumptions = [
            "that convolutions have stride=1 and pad=0, and that nothing is pooled (maxpool, avgpool)"
        ]
        for index, module in enumerate(self.modules):
            if module.kind == "linear" and self._before(index).kind == "conv":
                pixels = module.inputs // self._before(index).outputs
                assumptions[0] += f"; {pixels} pixels per channel must be left before {module.name}"
        return [*assumptions, "the shape of a sample: shape=(channels, height, width)"]


def recognized_chain(arrays: _Arrays) -> _RecognizedChain | None:
    """Return the chain that the layers of a state dict form by their shapes.

    The order is that of the file or of the numbers in their names. None if there is no chain, if two orders
    fit, or if a parameter belongs to an unknown kind of layer.

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
    orders = [order for order in (modules, _with_norms(modules)) if order is not None and _fits(order)]
    if not orders or any(order != orders[0] for order in orders):
        return None
    patterns = dict.fromkeys(re.sub(r"\d+", "N", module.name) for module in modules)
    return _RecognizedChain(", ".join(patterns), tuple(orders[0]))


def _modules(arrays: _Arrays) -> list[_NamedLayer] | None:
    """Return all layers with parameters in file order; None if a parameter is of another kind."""
    owners: dict[str, dict[str, Array]] = {}
    for name, array in arrays.items():
        owner, _, word = name.rpartition(".")
        owners.setdefault(owner, {})[word] = array
    layers = [_module(name, parts) for name, parts in owners.items()]
    if not 0 < len(layers) <= _MAX_MODULES or None in layers:
        return None
    return [module for module in layers if module is not None]


def _module(name: str, parts: Mapping[str, Array]) -> _NamedLayer | None:
    if not re.fullmatch(r"[^\s():']+", name):
        return None
    if "running_mean" in parts and "running_var" in parts and set(parts) <= set(_NORM):
        sizes = {array.shape for word, array in parts.items() if word != "num_batches_tracked"}
        size = parts["running_mean"].size
        return _NamedLayer("batchnorm", name, size, size) if sizes == {(size,)} and size > 1 else None
    weight = parts.get("weight")
    if weight is None or not set(parts) <= {"weight", "bias"} or weight.ndim not in (2, 4) or not weight.size:
        return None
    if weight.dtype.kind not in "fiu" or ("bias" in parts and parts["bias"].shape != weight.shape[:1]):
        return None
    numbers = np.unique(np.abs(weight))
    sizes = len(numbers) - (numbers[0] == 0)
    values = 2 + (numbers[0] == 0) if sizes <= 1 else 4
    kind = "linear" if weight.ndim == 2 else "conv"
    return _NamedLayer(kind, name, weight.shape[1], weight.shape[0], int(values), bool(numbers[0] == 0))


def _with_norms(modules: Sequence[_NamedLayer]) -> list[_NamedLayer] | None:
    """Return the weight layers in file order, each followed by the batch norm of its number.

    This is for files that list all layers of one kind first.
    """
    ordered: list[_NamedLayer] = []
    norms = [module for module in modules if module.kind == "batchnorm"]
    for module in modules:
        if module.kind == "batchnorm":
            continue
        number = re.search(r"(\d+)\D*$", module.name)
        paired_norms = [
            n for n in norms if number and (end := re.search(r"(\d+)\D*$", n.name)) and end[1] == number[1]
        ]
        if len(paired_norms) > 1:
            return None
        ordered += [module, *paired_norms]
    return ordered if len(ordered) == len(modules) and len(set(ordered)) == len(ordered) else None


def _fits(order: Sequence[_NamedLayer]) -> bool:
    """Return whether the outputs of each layer fit the next, and no two batch norms follow each other."""
    maps = order[0].kind == "conv"
    for before, module in pairwise(order):
        if module.kind == "batchnorm":
            fits = before.kind != "batchnorm" and module.outputs == before.outputs
        elif maps and module.kind == "linear":  # flattened in between
            fits, maps = module.inputs % before.outputs == 0, False
        else:
            fits = module.inputs == before.outputs and maps == (module.kind == "conv")
        if not fits:
            return False
    return True
