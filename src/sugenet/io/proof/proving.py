"""An import that proves itself: before it returns, the exact network is compared with its source, on random
samples and near thresholds.

Where the source and the network differ by more than rounding, the import is refused and the first operation
that differs is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.bnn.arrays import Bits, Ints
from sugenet.errors import FileError, TooLargeError
from sugenet.io.exact.domains import Inputs
from sugenet.io.exact.evaluation import Rounding, rounding_of
from sugenet.io.exact.ops import OpChain, Sign, Stairs, every
from sugenet.io.exact.relaxed import PartlyImported, source_values
from sugenet.io.exact.report import Imported, ImportProof, many
from sugenet.io.proof.judges import Seen, SourceJudge, Stage, judge_of_chain
from sugenet.io.proof.near import RawRanges, turning
from sugenet.io.proof.tally import Difference, Tally

__all__ = ["prove_import"]

_WORK = 1 << 28
"""Multiplications of one network or judge over all samples."""
_PASSES = 64
"""What looking at one value costs, in multiplications."""
_MOST, _LEAST = 256, 8
_CHUNK = 512


def prove_import(
    found: Imported,
    chain: OpChain,
    judges: Sequence[SourceJudge],
    inputs: Inputs | None = None,
    *,
    declared: bool = False,
) -> Imported:
    """The import with its proof, or a refusal that names the first operation that differs.

    Parameters
    ----------
    found, chain
        What `lower` or `split` made, and of what.
    judges
        Who says what the source computes.
    inputs
        What raw samples are.
    declared
        Whether the user said what sign(0) shall be.

    Raises
    ------
    FileError
        Where a judge disagrees by more than its rounding.
    """
    ours = _Ours(found, chain, inputs)
    random = np.random.default_rng(0)
    pool = ours.domain.samples(min(_MOST, max(_LEAST, _WORK // (2 * ours.work))), random)
    layers = max(1, len(found.network.layers))
    halvings = 2 + len(bin(pool.shape[1]))
    targets = min(16, max(1, _WORK // (2 * ours.work * layers * halvings)))
    near = turning(found.network, ours.domain, ours.hidden, pool, targets, random, direct=ours.direct)
    rows = np.concatenate([pool, near])
    tallies = [_judged(ours, chain, judge, rows, inputs, declared) for judge in judges]
    compared = [{pair.layer for pair in tally.pairs or []} for tally in tallies]
    seen = {None}.union(*compared)
    proof = ImportProof(
        tuple(judge.name for judge in judges),
        len(rows),
        len(near),
        max(map(len, compared)),
        tuple(sign.where for sign in found.signs if sign.layer not in seen),
        sum(tally.bits for tally in tallies),
        sum(tally.scores for tally in tallies),
        sum(tally.rounded for tally in tallies),
        max(tally.left for tally in tallies),
        any(not layer.is_binary for layer in found.network.layers),
    )
    return replace(found, proof=proof)


class _Ours:
    """The exact network, or one with float ends, on raw samples in its own order and numbers."""

    def __init__(self, found: Imported, chain: OpChain, inputs: Inputs | None) -> None:
        self.found, self.network, self.chain, self.inputs = found, found.network, chain, inputs
        self.direct = not (isinstance(found, PartlyImported) and found.stem is not None)
        self.domain = (
            RawRanges.of_encoder(self.network.encoder)
            if self.direct
            else RawRanges.of_inputs(inputs, prod(chain.shape))
        )
        self.work = max(1, _work(self.network))

    def read(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the network reads."""
        if self.direct:
            return rows
        assert isinstance(self.found, PartlyImported)
        return self.found.bits(rows)

    def hidden(self, rows: npt.NDArray[Any]) -> list[Bits]:
        try:
            return self.network.hidden(self.read(rows), engine="numpy")
        except TooLargeError:
            return self.network.hidden(self.read(rows))

    def scores(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        if isinstance(self.found, PartlyImported):
            return self.found.scores(rows)
        return self.network.head.logits(self.counts(rows))

    def counts(self, rows: npt.NDArray[Any]) -> Ints:
        last = self.hidden(rows)[-1] if self.network.layers else self.network.encoder.encode(self.read(rows))
        return self.network.head.match_counts(last)

    def source(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Samples, flat, in the numbers of the source."""
        return source_values(self.chain, self.inputs, rows)


def _judged(
    ours: _Ours,
    chain: OpChain,
    judge: SourceJudge,
    rows: npt.NDArray[Any],
    inputs: Inputs | None,
    declared: bool,
) -> Tally:
    """What a judge says of all samples; a refusal where it differs by more than rounding."""
    found, network = ours.found, ours.network
    if judge.floats.bits < 53 and not ours.domain.whole:
        rows = ours.domain.in_float32(rows)
    source = ours.source(rows)
    parts = range(0, len(rows), _CHUNK)
    seen = [_ran(chain, judge, source[start : start + _CHUNK]) for start in parts]
    rounding = rounding_of(
        chain,
        inputs,
        judge.floats,
        largest=float(np.abs(source).max(initial=0)),
        clean=all(stage.clean for part in seen for stage in part.stages),
        others=judge.ops,
        reaches=None if judge.reaches is None else judge.reaches(),
    )
    places = [number for number, op in enumerate(every(chain.ops)) if isinstance(op, Sign | Stairs)]
    tally = Tally(
        network,
        found.signs,
        bounds=_bounds(found, rounding, places),
        decided=[sign.layer for sign in found.signs if places[sign.number] in rounding.after_sums],
        declared=declared,
        follows=judge.follows,
    )
    evaluator = judge_of_chain(chain)
    for start, part in zip(parts, seen, strict=True):
        chunk = rows[start : start + _CHUNK]
        read, bits = ours.read(chunk), ours.hidden(chunk)
        if judge.follows and len(part.stages) == len(found.signs):
            _same_sizes(found, chain, judge, bits, part)
        compared = {pair.layer for pair in tally.align(bits, part)}
        unsure = [sign for sign in found.signs if sign.layer not in compared]
        exact = not unsure or (
            all(rounding.signs[places[sign.number]] == 0 for sign in unsure) and not declared
        )
        shown = judge.follows and len(part.stages) == len(found.signs)
        since = None
        if unsure and (shown or not exact):
            since = _since(
                part if shown else evaluator.run(source[start : start + _CHUNK]),
                found,
                unsure,
                rounding,
                places,
            )
        doubt = tally.add(read, bits, part, start, since)
        if tally.found is not None:
            raise FileError(_difference(found, chain, judge, tally))
        if tally.turned is not None:
            raise FileError(_turned(found, chain, judge, tally.turned))
        _scored(ours, chain, tally, chunk, part, start, doubt, rounding)
        if tally.first_score is not None or tally.first_class is not None:
            raise FileError(_score_difference(chain, judge, tally))
    return tally


def _ran(chain: OpChain, judge: SourceJudge, source: npt.NDArray[np.float64]) -> Seen:
    try:
        return judge.run(source)
    except FileError:
        raise
    except Exception as error:
        raise FileError(
            f"{chain.source}: it was read, but {judge.name} cannot be run on {many(len(source), 'sample')} "
            f"to compare: {type(error).__name__}: {str(error)[:200]}. "
            f"prove=False goes without the comparison."
        ) from error


def _bounds(found: Imported, rounding: Rounding, places: Sequence[int]) -> dict[int, float]:
    """For each layer the rounding of its sign; a layer without one, as pooling,
    has that of its neighbours.
    """
    known: dict[int, float] = {}
    for sign in found.signs:
        if sign.layer is not None:
            known[sign.layer] = max(known.get(sign.layer, 0.0), rounding.signs[places[sign.number]])
    bounds = {}
    for layer in range(len(found.network.layers)):
        before, after = ([known[k] for k in known if k <= layer], [known[k] for k in known if k >= layer])
        bounds[layer] = known[layer] if layer in known else max([*before[-1:], *after[:1]], default=0.0)
    return bounds


def _scored(
    ours: _Ours,
    chain: OpChain,
    tally: Tally,
    rows: npt.NDArray[Any],
    seen: Seen,
    start: int,
    doubt: Bits,
    rounding: Rounding,
) -> None:
    """All scores where the judge shows them, and its classes where a tail such as softmax
    stands behind them.
    """
    mine = ours.scores(rows)
    theirs = seen.scores if seen.scores is not None else None if chain.left_out else seen.outputs
    if theirs is not None:
        if theirs.size != mine.size:
            raise FileError(
                f"{chain.source}: the source gives {theirs.size // len(mine)} scores a sample, "
                f"the network {mine.shape[1]}."
            )
        float_ends = 2.0 if isinstance(ours.found, PartlyImported) else 1.0
        bound = float_ends * rounding.scores + 2.0**-48 * float(np.abs(mine).max(initial=0))
        known = 0.0 if seen.error is None else seen.error.reshape(mine.shape)
        tally.add_scores(
            mine, theirs.reshape(mine.shape), start, doubt, bound + known + 1.01 * ours.found.error
        )
    if chain.left_out and not isinstance(ours.found, PartlyImported):
        outputs = seen.outputs.reshape(len(mine), -1)[:, :1] if chain.picks == "class" else seen.outputs
        if chain.picks != "scores" and outputs.size in (len(mine), mine.size):
            tally.add_classes(ours.counts(rows), outputs, start, doubt)


def _since(
    seen: Seen, found: Imported, unsure: Sequence[Any], rounding: Rounding, places: Sequence[int]
) -> Ints:
    """From which layer on each sample may differ through the rounding of a sign that the
    judge does not show.
    """
    first = np.full(len(seen.outputs), len(found.network.layers) + 1)
    for sign in unsure:
        stage: Stage = seen.stages[sign.number]
        near = (np.abs(stage.before) <= rounding.signs[places[sign.number]]) & (
            rounding.signs[places[sign.number]] > 0
        )
        near |= ~stage.high & ~stage.low
        if stage.turned is not None:
            near |= stage.turned
        layer = min(
            (other.layer for other in found.signs[sign.number :] if other.layer is not None),
            default=len(found.network.layers),
        )
        first = np.minimum(first, np.where(near.any(axis=1), layer, first))
    return first


def _same_sizes(
    found: Imported, chain: OpChain, judge: SourceJudge, bits: Sequence[Bits], seen: Seen
) -> None:
    """A judge with the same signs must have as many values at each."""
    for sign, stage in zip(found.signs, seen.stages, strict=True):
        theirs = stage.high.shape[1]
        mine = None if sign.layer is None else len(range(bits[sign.layer].shape[1])[sign.neurons])
        if mine not in (None, theirs):
            raise FileError(
                f"{chain.source}: what was read is not what the source computes; the first difference is at "
                f"{sign.where}: {mine} neurons, but {theirs} values in {judge.name}. {_SORRY}"
            )


def _difference(found: Imported, chain: OpChain, judge: SourceJudge, tally: Tally) -> str:
    first = tally.found
    assert first is not None
    where = next(
        (sign.where for sign in found.signs if sign.layer is not None and sign.layer >= first.layer - 1),
        "the end",
    )
    return (
        f"{chain.source}: what was read is not what the source computes; the first difference is at {where}: "
        f"neuron {first.neuron} of layer {first.layer} is {first.state} ({first.matches} matches, tau "
        f"{first.tau}), but {judge.name} {first.there}. {_SORRY}"
    )


def _turned(found: Imported, chain: OpChain, judge: SourceJudge, first: Difference) -> str:
    where = next((sign.where for sign in found.signs if sign.layer == first.layer - 1), "its sign")
    return (
        f"{chain.source}: {where}: neuron {first.neuron} of layer {first.layer} is {first.state} in exact "
        f"numbers ({first.matches} matches, tau {first.tau}), but {judge.name} {first.there}, by rounding "
        "alone. Move its threshold away from the sums that occur, as to the middle between two of them."
    )


def _score_difference(chain: OpChain, judge: SourceJudge, tally: Tally) -> str:
    if tally.first_score is not None:
        one = tally.first_score
        what = f"score {one.number} is {one.network:.9g}, but {one.reference:.9g} in {judge.name}"
    else:
        assert tally.first_class is not None
        what = f"the class is {tally.first_class.network}, but {tally.first_class.reference} in {judge.name}"
    return (
        f"{chain.source}: what was read is not what the source computes; the first difference is at "
        f"{chain.ops[-1].where}: {what}. {_SORRY}"
    )


_SORRY = "Nothing was imported. This is a fault of the reader: please report it with the file."


def _work(network: Network) -> int:
    """Multiplications for one sample."""
    total = network.head.weights.size + _PASSES * network.encoder.features
    for layer in network.layers:
        total += _PASSES * layer.outputs
        if layer.every is not None:
            total += layer.outputs
        else:
            total += layer.weights.size * (1 if layer.window is None else len(layer.window.taps))
    return int(total)
