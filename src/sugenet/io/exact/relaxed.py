"""Networks with a float part at either end: the exact middle as a `Network`,
the rest kept as it is and named.

Many published networks have a first or last layer in floats. `split` finds the exact part between the first
and the last sign that can be lowered; what stands in front and behind is computed in float64 and decides
nothing about the exact part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Source
from sugenet.errors import FileError
from sugenet.io.exact.domains import BitInputs, Inputs, Integers
from sugenet.io.exact.evaluation import laid_out, passed
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import LinearOp, Op, OpChain, Sign, Stairs
from sugenet.io.exact.order import source_shape
from sugenet.io.exact.report import Imported, SignPlace

__all__ = ["PartlyImported", "split"]


@dataclass(frozen=True, eq=False)
class PartlyImported(Imported):
    """An exact network with float operations in front of it, behind it, or both."""

    stem: OpChain | None = None
    tail: tuple[Op, ...] = ()

    def bits(self, X: Any) -> npt.NDArray[Any]:
        """What the exact part reads: the float stem's signs or levels,
        or the samples themselves where there is no stem.
        """
        if self.stem is None:
            raise FileError("there is no float stem: give the samples to the network.")
        x = passed(self.stem.ops, laid_out(self.stem, X))
        last = self.stem.ops[-1]
        given = x == last.high if isinstance(last, Sign) else x.astype(np.int64)
        return np.asarray(given).reshape(len(x), -1)

    def scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Class scores: float stem, exact part, float tail."""
        return passed(self.tail, self.network.logits(X if self.stem is None else self.bits(X)))

    def predict(self, X: Any) -> npt.NDArray[np.intp]:
        """Class of each sample."""
        return np.asarray(self.scores(X).argmax(axis=1))


def split(
    chain: OpChain,
    inputs: Inputs | None = None,
    *,
    zero: Literal[1, -1] | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
) -> Imported:
    """Lower a chain, leaving out as few operations at its ends as possible; parameters as of `lower`.

    Names of features or classes are refused where a float part reads the features or gives the scores: the
    exact part has none of these.

    Raises
    ------
    FileError
        Where no part between two signs can be exact; it is the reason why the whole chain cannot.
    """
    about = _Names(None if names is None else tuple(names), None if classes is None else tuple(classes))
    try:
        return lower(chain, inputs, zero=zero, names=about.features, classes=about.classes)
    except FileError as error:
        whole = error
    signs = [place for place, op in enumerate(chain.ops) if isinstance(op, Sign | Stairs)]
    for stem_end in [-1, *signs]:
        for tail_start in [len(chain.ops), *(place + 1 for place in reversed(signs) if place > stem_end)]:
            if (stem_end, tail_start) == (-1, len(chain.ops)):
                continue
            try:
                found = _middle(chain, stem_end, tail_start, inputs, zero, about)
            except FileError:
                continue
            if about.features is not None and found.stem is not None:
                raise FileError(
                    f"{chain.source}: names= has no use: a part in floats reads the features. Leave it out."
                )
            if about.classes is not None and found.tail:
                raise FileError(
                    f"{chain.source}: classes= has no use: a part in floats gives the scores. Leave it out."
                )
            return found
    raise whole


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
) -> PartlyImported:
    stem, exact, tail = (
        chain.ops[: stem_end + 1],
        chain.ops[stem_end + 1 : tail_start],
        chain.ops[tail_start:],
    )
    shape = chain.shape
    remarks = []
    if stem:
        shape = passed(stem, np.zeros((1, *chain.shape))).shape[1:]
        last = stem[-1]
        assert isinstance(last, Sign | Stairs)
        inputs = BitInputs(last.low, last.high) if isinstance(last, Sign) else Integers(0, last.top)
        remarks.append(f"computed in floats in front: {', '.join(op.where for op in stem)}")
    if tail:
        if not any(isinstance(op, Sign | Stairs) for op in exact):
            raise FileError("nothing exact is left.")
        _, *sizes = passed(exact, np.zeros((1, *shape))).shape
        if len(sizes) != 1:
            raise FileError("the exact part ends in maps, not in flat bits.")
        exact = (*exact, LinearOp("the bits themselves", np.eye(sizes[0])))
        remarks.append(f"computed in floats behind: {', '.join(op.where for op in tail)}")
    part = replace(chain, shape=shape, ops=exact, channels_last=chain.channels_last and not stem)
    found = lower(
        part,
        inputs,
        zero=zero,
        names=None if stem else about.features,
        classes=None if tail else about.classes,
    )
    source = Source() if stem else found.network.source
    source = replace(source, outputs="other", remark="; ".join(remarks))
    return PartlyImported(
        replace(found.network, source=source),
        found.layers,
        (*found.remarks, *remarks),
        source_shape(chain),
        signs=_placed(found.signs, chain, stem),
        stem=replace(chain, ops=stem) if stem else None,
        tail=tail,
    )


def _placed(signs: tuple[SignPlace, ...], chain: OpChain, stem: tuple[Op, ...]) -> tuple[SignPlace, ...]:
    """The signs of the exact part among those of the whole chain."""
    every = [
        SignPlace(k, op.where, None)
        for k, op in enumerate(op for op in chain.ops if isinstance(op, Sign | Stairs))
    ]
    first = sum(isinstance(op, Sign | Stairs) for op in stem)
    for sign in signs:
        every[first + sign.number] = replace(sign, number=first + sign.number)
    return tuple(every)
