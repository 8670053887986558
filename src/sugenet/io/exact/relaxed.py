"""Networks with a float part at either end. The exact middle is a `Network`; the rest is kept as it is and
named.

Many published networks have a first or last layer in floats. `split` finds the exact part between the first
and the last sign that can be lowered. The operations before and after it are computed in float64. They decide
nothing about the exact part.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from sugenet.errors import EncodingError, FileError
from sugenet.io.exact.domains import Bits, Inputs, Integers
from sugenet.io.exact.evaluation import laid_out, passed
from sugenet.io.exact.lower import WAY, Refusal, lowered
from sugenet.io.exact.ops import Convolution, Flatten, LinearOp, Op, OpChain, Quantize, Sign, every
from sugenet.io.exact.pixels import source_shape
from sugenet.io.exact.report import ImportReport, SignLocation
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.nn import Encoder, Source
from sugenet.nn.arrays import Array, Doubles, Indices

__all__ = ["PartialImportReport", "source_values", "split"]

_MOST = 1 << 12
"""Largest number of outputs of the exact part, if a float part reads them."""


@dataclass(frozen=True, eq=False)
class PartialImportReport(ImportReport):
    """An exact network with float operations before it, after it, or both.

    `network` is the exact part alone. With a float stem, its features are the signs that the stem computes.
    With a float tail, its outputs are the values that the tail reads, not classes.
    """

    stem: OpChain | None = None
    tail: tuple[Op, ...] = ()
    inside: tuple[int, ...] = ()
    """The shape of the values that the tail reads."""
    inputs: Inputs | None = None
    """The values that raw samples can have, if a float stem reads them."""

    def __str__(self) -> str:
        network = self.network
        sizes = "-".join(
            str(size) for size in (network.encoder.width, *(layer.outputs for layer in network.layers))
        )
        first = f"partly exact: a network {sizes}-{network.head.outputs} between float layers"
        return "\n".join([first, *super().__str__().splitlines()[1:]])

    def bits(self, X: Any) -> Array:
        """Return the signs or levels of the float stem for raw samples, which the exact part reads."""
        stem = required(self.stem, "there is no float stem: give the samples to the network.")
        x = passed(stem.ops, laid_out(stem, source_values(stem, self.inputs, X)))
        last = stem.ops[-1]
        values = x == last.high if isinstance(last, Sign) else x.astype(np.int64)
        return np.asarray(values).reshape(len(x), -1)

    def scores(self, X: Any) -> Doubles:
        """Return the class scores of raw samples: float stem, exact part, float tail."""
        logits = self.network.logits(X if self.stem is None else self.bits(X))
        return passed(self.tail, logits.reshape(len(logits), *self.inside) if self.tail else logits)

    def predict(self, X: Any) -> Indices:
        """Return the class of each sample."""
        return np.asarray(self.scores(X).argmax(axis=1))


def source_values(chain: OpChain, inputs: Inputs | None, X: Any) -> Doubles:
    """Return raw samples as the source reads them, one flat row per sample, in its own order.

    Examples
    --------
    >>> from fractions import Fraction
    >>> chain = OpChain("net", (2,), ())
    >>> source_values(chain, Integers(0, 4, step=[Fraction(1, 4), 1], start=[0, -2]), [[1, 3]]).tolist()
    [[0.25, 1.0]]
    >>> source_values(chain, Bits(0, 1), [[-1, 1]]).tolist()
    [[0.0, 1.0]]
    """
    count, rows = prod(chain.shape), np.asarray(X).reshape(len(X), -1)
    if rows.shape[1] != count:
        raise EncodingError(f"a sample has {rows.shape[1]} values, but {chain.source} reads {count}.")
    match inputs:
        case Integers():
            levels = Encoder.of_integers(count, inputs.low, inputs.high).levels(rows)
            raw = range(inputs.low, inputs.high + 1)
            tables = [[float(inputs.value(x, k)) for x in raw] for k in range(inputs.channels)]
            indices = np.arange(count)
            channel = (
                indices % inputs.channels if chain.channels_last else indices // (count // inputs.channels)
            )
            return np.asarray(np.array(tables)[channel, levels])
        case Bits():
            bits = Encoder.of_bits(count).encode(rows)
            return np.where(bits, float(inputs.high), float(inputs.low))
    return rows.astype(np.float64)


def split(
    chain: OpChain,
    inputs: Inputs | None = None,
    *,
    zero: Literal[1, -1] | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
) -> ImportReport:
    """Lower a chain, leaving out as few operations at its ends as possible. The parameters are those of
    `lower`.

    Names of features or classes are refused if a float part reads the features or computes the scores. The
    exact part then has neither.

    Raises
    ------
    FileError
        If no part between two signs can be exact. The message says why the whole chain cannot.
    """
    about = _Names(None if names is None else tuple(names), None if classes is None else tuple(classes))
    full = lowered(chain, inputs, zero=zero, names=about.features, classes=about.classes)
    if not isinstance(full, Refusal):
        return full
    signs = [index for index, op in enumerate(chain.ops) if isinstance(op, Sign | Quantize)]
    for stem_end in [-1, *signs]:
        for tail_start in [len(chain.ops), *(index + 1 for index in reversed(signs) if index > stem_end)]:
            if (stem_end, tail_start) == (-1, len(chain.ops)):
                continue
            partial = _middle(chain, stem_end, tail_start, inputs, zero, about)
            if isinstance(partial, Refusal):
                continue
            for name, labels, floats, does in (
                ("names", about.features, partial.stem, "reads the features"),
                ("classes", about.classes, partial.tail, "gives the scores"),
            ):
                refuse_if(
                    labels is not None and floats,
                    chain.source,
                    f"{name}= has no use: a part in floats {does}. Leave it out.",
                )
            return partial
    raise FileError(f"{full.text.removesuffix(WAY)} No part of it between two signs can be exact either.")


class _Names(NamedTuple):
    features: tuple[object, ...] | None
    classes: tuple[object, ...] | None


def _middle(
    chain: OpChain,
    stem_end: int,
    tail_start: int,
    inputs: Inputs | None,
    zero: Literal[1, -1] | None,
    about: _Names,
) -> PartialImportReport | Refusal:
    stem, exact, tail = (
        chain.ops[: stem_end + 1],
        chain.ops[stem_end + 1 : tail_start],
        chain.ops[tail_start:],
    )
    shape, inside = chain.shape, tuple[int, ...]()
    names, classes, source_inputs = about.features, about.classes, inputs
    if stem:
        shape = passed(stem, np.zeros((1, *chain.shape))).shape[1:]
        last = stem[-1]
        assert isinstance(last, Sign | Quantize)
        if isinstance(last, Quantize) and last.top > 1 << 16:
            return Refusal("more steps than integers have.")
        inputs = Bits(last.low, last.high) if isinstance(last, Sign) else Integers(0, last.top)
        names = _numbered(last, prod(shape))
    kept = exact
    if tail:
        if not any(isinstance(op, LinearOp | Convolution) for op in every(exact)):
            return Refusal("nothing exact is left.")
        inside = passed(exact, np.zeros((1, *shape))).shape[1:]
        if prod(inside) > _MOST:
            return Refusal("the exact part ends in too many values.")
        flat = (Flatten("the values themselves"),) if len(inside) == 3 else ()
        exact = (*exact, *flat, LinearOp("the values themselves", np.eye(prod(inside))))
        ending = next(op for op in reversed(list(every(kept))) if isinstance(op, Sign | Quantize))
        classes = _numbered(ending, prod(inside))
    part = replace(chain, shape=shape, ops=exact, channels_last=chain.channels_last and not stem)
    outcome = lowered(part, inputs, zero=zero, names=names, classes=classes)
    if isinstance(outcome, Refusal):
        return outcome
    source = Source() if stem else outcome.network.source
    floats = _places((*stem, *tail))
    source = replace(source, outputs="other", remark=f"a part of it is computed in floats: {floats}")
    remarks = _said(chain, stem, kept, tail, prod(shape), outcome.network.head.outputs)
    return PartialImportReport(
        replace(outcome.network, source=source),
        outcome.layers,
        (*outcome.remarks, *remarks),
        source_shape(chain),
        signs=_placed(outcome.signs, chain, stem),
        stem=replace(chain, ops=stem) if stem else None,
        tail=tail,
        inside=inside,
        error=outcome.error,
        inputs=source_inputs,
    )


def _numbered(op: Sign | Quantize, count: int) -> tuple[object, ...]:
    """Return names for values that have none in the file."""
    word = "sign" if isinstance(op, Sign) else "level"
    return tuple(f"{word} {k}" for k in range(1, count + 1))


def _places(ops: Iterable[Op]) -> str:
    return ", ".join(dict.fromkeys(op.where for op in every(ops)))


def _said(
    chain: OpChain, stem: Sequence[Op], exact: Sequence[Op], tail: Sequence[Op], read: int, n_outputs: int
) -> list[str]:
    """Describe the exact part, the float parts, and which questions are possible."""
    layers = [op.where for op in every(exact) if isinstance(op, LinearOp | Convolution)]
    remarks = [f"exact: {', '.join(layers)}"]
    cannot = []
    if stem:
        remarks.append(
            f"in floats, before the network: {_places(stem)}. They turn {prod(chain.shape):,} raw numbers "
            f"into the {read:,} values that the network reads; bits(X) gives these"
        )
        cannot.append("how far a raw input may move, since the first layers round")
    if tail:
        remarks.append(
            f"in floats, after the network: {_places(tail)}. They turn the {n_outputs:,} values that the "
            "network gives into the scores of the file; scores(X) and predict(X) give these"
        )
        cannot.append("which class the file picks, since the last layers round")
    what = f"each of its {n_outputs:,} outputs" if tail else "the class"
    of = f"the {read:,} values that it reads" if stem else "the raw inputs"
    remarks.append(f"can be asked of the network, and is proved: what {of} do to {what}")
    remarks.append(f"cannot be proved: {'; '.join(cannot)}")
    return remarks


def _placed(
    signs: tuple[SignLocation, ...], chain: OpChain, stem: tuple[Op, ...]
) -> tuple[SignLocation, ...]:
    """Return the signs of the exact part among those of the whole chain."""
    signs_before = [
        SignLocation(k, op.where, None)
        for k, op in enumerate(op for op in every(chain.ops) if isinstance(op, Sign | Quantize))
    ]
    first = sum(isinstance(op, Sign | Quantize) for op in every(stem))
    for sign in signs:
        signs_before[first + sign.number] = replace(sign, number=first + sign.number)
    return tuple(signs_before)
