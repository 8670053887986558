"""A network's layers in one line of text, for files that hold parameters and do not say what they are for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if

__all__ = ["Architecture", "Part"]

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
    "maxpool": (False, frozenset({"kernel", "stride", "pad"})),
    "avgpool": (False, frozenset({"kernel", "stride", "pad", "count_pads"})),
    "globalavgpool": (False, frozenset()),
    "pad": (False, frozenset({"size", "value"})),
    "flatten": (False, frozenset({"order"})),
    "unused": (True, frozenset()),
}
"""Each kind of part: whether it has parameters (None: it may have), and its options."""
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
    """One layer: its kind, the name of its parameters in the file, and options as text."""

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
        for place, (key, value) in enumerate(self.options):
            if key not in known:
                raise FileError(
                    f"{self}: unknown option {key!r}. {self.kind} takes {', '.join(sorted(known)) or 'none'}."
                )
            refuse_if(any(key == other for other, _ in self.options[:place]), f"{self}: {key} is said twice.")
            if key in _CHOICES and value not in _CHOICES[key]:
                raise FileError(f"{self}: {key} must be one of {', '.join(_CHOICES[key])}.")
            refuse_if(
                key not in _CHOICES and len(self._number(key, value)) > 1 and key not in _PAIRS,
                f"{self}: {key} is one number, not two.",
            )
        quantized = self.kind == "quantize" or self.text("weights", "") == "quantized"
        refuse_if(
            quantized and not 2 <= self.pair("bits", 0)[0] <= 16,
            f"{self}: it needs a number of bits from 2 to 16, as in quantize(bits=2); one bit is a sign.",
        )
        refuse_if(
            not quantized and {"bits", "scale"} & dict(self.options).keys() and self.kind != "affine",
            f"{self}: bits and scale are for weights=quantized.",
        )
        refuse_if(quantized and not self.number("scale", 1) > 0, f"{self}: its scale must be positive.")
        refuse_if(
            self.kind == "quantize" and bool(self.name) != ("learned" in dict(self.options)),
            f"{self}: a learned scale needs the name of its parameter and how it is kept: "
            "quantize:NAME(bits=2, learned=value), or learned=log2 for its logarithm.",
        )
        refuse_if(
            "floor" in dict(self.options) and self.text("weights", "stored") not in ("scaled", "scaled-all"),
            f"{self}: floor is for weights=scaled and weights=scaled-all.",
        )

    def text(self, key: str, otherwise: str) -> str:
        """An option as it was written."""
        return dict(self.options).get(key, otherwise)

    def number(self, key: str, otherwise: Any) -> Fraction:
        """An option as an exact number: ``1/255`` is that fraction,
        a decimal the float that a program would use.
        """
        given = dict(self.options).get(key)
        return Fraction(otherwise) if given is None else self._number(key, given)[0]

    def float(self, key: str, otherwise: float) -> float:
        """An option that a program would keep as a float; a fraction that no float is, is refused."""
        given = dict(self.options).get(key)
        if given is None:
            return otherwise
        exact = self._number(key, given)[0]
        refuse_if(
            Fraction(float(exact)) != exact,
            f"{self}: {key}={given[:40]} is no float. Write the decimal that the program has.",
        )
        return float(exact)

    def pair(self, key: str, otherwise: int) -> tuple[int, int]:
        """An option as height and width: ``3`` or ``3x1``."""
        given = dict(self.options).get(key)
        row = [Fraction(otherwise)] if given is None else self._number(key, given)
        refuse_if(
            any(value.denominator != 1 or not 0 <= value < 1 << 20 for value in row),
            f"{self}: {key} must be a small whole number, or two as 3x1.",
        )
        return int(row[0]), int(row[-1])

    def _number(self, key: str, value: str) -> list[Fraction]:
        try:
            words = value.split("x")
            if len(words) > 2:
                raise ValueError
            return [
                Fraction(word) if re.fullmatch(r"-?\d{1,18}(/\d{1,18})?", word) else Fraction(float(word))
                for word in words
            ]
        except (ValueError, OverflowError, ZeroDivisionError):
            raise FileError(f"{self}: {key}={value[:40]} is no number.") from None

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.options)
        return f"{self.kind}{':' if self.name else ''}{self.name}{f'({options})' if options else ''}"


@dataclass(frozen=True)
class Architecture:
    """The parts of a network from input to scores; written as text, one word a part.

    ========================== ===============================================================================
    part                       means
    ========================== ===============================================================================
    ``linear:fc1``             ``fc1.weight`` and, if there is one, ``fc1.bias``; ``bias=no`` leaves it out.
                               ``weights=stored`` as they stand (this unless said), ``sign`` (+1 at 0),
                               ``ternary`` (0 at 0), ``scaled`` (the sign times the mean size of the row, at
                               least ``floor``), ``scaled-all`` (the same with one size for all rows),
                               ``quantized`` (as ``quantize`` does, with ``bits`` and ``scale``)
    ``conv:conv1``             the same for a convolution, with ``stride``, ``dilation``,
                               ``pad`` and ``groups``
    ``batchnorm:bn1``          ``weight``, ``bias``, ``running_mean``, ``running_var``;
                               ``eps=1e-5`` unless said
    ``tensornorm:norm``        the same with one number for all, ``eps=1e-4``
    ``quantize``               rounds to whole steps of a scale, half to even: ``bits=2`` and more,
                               ``narrow=yes``, ``signed=yes``; the largest step stands for ``scale=1``, or for
                               what is learned: ``quantize:NAME(bits=2, learned=value)``, ``learned=log2``
    ``sign``                   ``zero=1``, ``-1`` or ``0`` is what it gives at 0; ``low=-1``, ``high=1``
    ``affine``                 ``scale=1``, ``shift=0``
    ``clip``                   ``low`` and ``high``; ``hardtanh`` and ``relu`` are two such
    ``maxpool``, ``avgpool``   ``kernel=2``, ``stride`` (as the kernel), ``pad=0``;
                               ``count_pads=yes``; ``globalavgpool``
    ``pad``, ``flatten``       ``size=1``, ``value=0``; ``order=CHW``
    ``unused:bn0``             not a layer: the network does not use ``bn0.*``, though the file has them
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
    affine, sign, quantize, clip, hardtanh, relu, maxpool, avgpool, globalavgpool, pad, flatten, unused.
    """

    parts: tuple[Part, ...]

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Read the text form."""
        parts, at = [], 0
        refuse_if(len(text) > _MAX_TEXT, f"an architecture of {len(text)} characters is too long.")
        while text[at:].strip():
            found = _PART.match(text, at)
            if found is None:
                raise FileError(
                    f"the architecture cannot be read at {text[at : at + 40].strip()!r}. Write parts with "
                    "spaces between, as in linear:fc1(weights=sign) batchnorm:bn1 "
                    "sign linear:fc2(weights=sign)."
                )
            kind, name, options = found.groups()
            pairs = [word.partition("=") for word in (options or "").split(",") if word.strip()]
            parts.append(
                Part(kind, name or "", tuple((key.strip(), value.strip()) for key, _, value in pairs))
            )
            at = found.end()
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
