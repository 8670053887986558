"""Verify an import before it returns: compare the exact network with its source, on random samples and near
thresholds.

If the source and the network differ by more than rounding, the import is refused. The message names the first
operation that differs.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError, TooLargeError
from sugenet.io.exact.domains import Inputs
from sugenet.io.exact.evaluation import rounding_of
from sugenet.io.exact.ops import OpChain, Quantize, Sign, every
from sugenet.io.exact.relaxed import PartialImportReport, source_values
from sugenet.io.exact.report import ImportProof, ImportReport, SignLocation, many
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.proof.interpreters import Seen, SourceInterpreter, interpreter_of_chain
from sugenet.io.proof.near import RawRanges, turning
from sugenet.io.proof.tally import Difference, Tally
from sugenet.nn import Network, SparseLayer
from sugenet.nn.arrays import Array, Bits, Doubles, Ints

__all__ = ["SORRY", "different", "prove_import", "work_of"]

_WORK = 1 << 28
"""Largest number of multiplications of one network or interpreter over all samples."""
_PASSES = 64
"""Cost of examining one value, in multiplications."""
_MOST, _LEAST = 256, 8
_CHUNK = 512


def prove_import(
    imported: ImportReport,
    chain: OpChain,
    interpreters: Sequence[SourceInterpreter],
    inputs: Inputs | None = None,
    *,
    declared: bool = False,
) -> ImportReport:
    """Return the import with its proof, or refuse it and name the first operation that differs.

    Parameters
    ----------
    imported, chain
        The result of `lower` or `split`, and its source chain.
    interpreters
        Implementations of the source.
    inputs
        The values that raw samples can have.
    declared
        Whether the user declared the value of sign(0).

    Raises
    ------
    FileError
        If an interpreter disagrees by more than its rounding.
    """
    ours = _Ours(imported, chain, inputs)
    random = np.random.default_rng(0)
    pool = ours.domain.samples(min(_MOST, max(_LEAST, _WORK // (2 * ours.work))), random)
    layers = max(1, len(imported.network.layers))
    halvings = 2 + len(bin(pool.shape[1]))
    targets = min(16, max(1, _WORK // (2 * ours.work * layers * halvings)))
    near = turning(imported.network, ours.domain, ours.hidden, pool, targets, random, direct=ours.direct)
    rows = np.concatenate([pool, near])
    tallies = [_Comparison(ours, interpreter, rows, declared).tallied() for interpreter in interpreters]
    compared = [{pair.layer for pair in tally.pairs or []} for tally in tallies]
    seen = {None}.union(*compared)
    proof = ImportProof(
        tuple(interpreter.name for interpreter in interpreters),
        len(rows),
        len(near),
        max(map(len, compared)),
        tuple(sign.where for sign in imported.signs if sign.layer not in seen),
        sum(tally.bits for tally in tallies),
        sum(tally.scores for tally in tallies),
        sum(tally.rounded for tally in tallies),
        max(tally.left for tally in tallies),
        any(not layer.is_binary for layer in imported.network.layers),
    )
    return replace(imported, proof=proof)


class _Ours:
    """The exact network, or one with float ends, on raw samples in its own order and numbers."""

    def __init__(self, imported: ImportReport, chain: OpChain, inputs: Inputs | None) -> None:
        self.imported, self.network, self.chain, self.inputs = imported, imported.network, chain, inputs
        self.direct = not (isinstance(imported, PartialImportReport) and imported.stem is not None)
        self.domain = (
            RawRanges.of_encoder(self.network.encoder)
            if self.direct
            else RawRanges.of_inputs(inputs, prod(chain.shape))
        )
        self.work = work_of(self.network)

    def read(self, rows: Array) -> Array:
        """Return the input of the network."""
        if self.direct:
            return rows
        assert isinstance(self.imported, PartialImportReport)
        return self.imported.bits(rows)

    def hidden(self, rows: Array) -> list[Bits]:
        try:
            return self.network.hidden(self.read(rows), engine="numpy")
        except TooLargeError:
            return self.network.hidden(self.read(rows))

    def scores(self, rows: Array) -> Doubles:
        if isinstance(self.imported, PartialImportReport):
            return self.imported.scores(rows)
        return self.network.head.logits(self.counts(rows))

    def counts(self, rows: Array) -> Ints:
        last = self.hidden(rows)[-1] if self.network.layers else self.network.encoder.encode(self.read(rows))
        return self.network.head.match_counts(last)

    def source(self, rows: Array) -> Doubles:
        """Return samples, flat, in the numbers of the source."""
        return source_values(self.chain, self.inputs, rows)


class _Comparison:
    """One interpreter and an import, on the same samples."""

    def __init__(self, ours: _Ours, interpreter: SourceInterpreter, rows: Array, declared: bool) -> None:
        self.ours, self.interpreter, self.declared = ours, interpreter, declared
        self.imported, self.chain = ours.imported, ours.chain
        coarse = interpreter.floats.bits < 53 and not ours.domain.whole
        self.rows = ours.domain.in_float32(rows) if coarse else rows
        self.source = ours.source(self.rows)
        self.starts = range(0, len(rows), _CHUNK)
        self.seen = [self._ran(self.source[start : start + _CHUNK]) for start in self.starts]
        self.rounding = rounding_of(
            self.chain,
            ours.inputs,
            interpreter.floats,
            largest=float(np.abs(self.source).max(initial=0)),
            clean=all(stage.clean for part in self.seen for stage in part.stages),
            others=interpreter.ops,
            reaches=None if interpreter.reaches is None else interpreter.reaches(),
        )
        self.places = [k for k, op in enumerate(every(self.chain.ops)) if isinstance(op, Sign | Quantize)]
        self.tally = Tally(
            ours.network,
            self.imported.signs,
            bounds=self._bounds(),
            decided=[
                sign.layer
                for sign in self.imported.signs
                if self.places[sign.number] in self.rounding.after_sums
            ],
            declared=declared,
            follows=interpreter.follows,
        )

    def tallied(self) -> Tally:
        """Return the results of the interpreter on all samples. Refuse if they differ by more than
        rounding.
        """
        for start, part in zip(self.starts, self.seen, strict=True):
            self._add(start, part)
        return self.tally

    def _ran(self, source: Doubles) -> Seen:
        try:
            return self.interpreter.run(source)
        except FileError:
            raise
        except Exception as error:
            raise FileError(
                f"{self.chain.source}: it was read, but {self.interpreter.name} cannot be run on "
                f"{many(len(source), 'sample')} to compare: {type(error).__name__}: {str(error)[:200]}. "
                "prove=False goes without the comparison."
            ) from error

    def _bound(self, sign: SignLocation) -> float:
        """Return the distance from 0 within which rounding may change a sign."""
        return self.rounding.signs[self.places[sign.number]]

    def _bounds(self) -> dict[int, float]:
        """Return the rounding of the sign of each layer. A layer without a sign, such as pooling, has that of
        its neighbours.
        """
        known: dict[int, float] = {}
        for sign in self.imported.signs:
            if sign.layer is not None:
                known[sign.layer] = max(known.get(sign.layer, 0.0), self._bound(sign))
        bounds = {}
        for layer in range(len(self.ours.network.layers)):
            before, after = ([known[k] for k in known if k <= layer], [known[k] for k in known if k >= layer])
            bounds[layer] = known[layer] if layer in known else max([*before[-1:], *after[:1]], default=0.0)
        return bounds

    def _add(self, start: int, part: Seen) -> None:
        """Compare one chunk: hidden layers, then scores or classes."""
        tally, chunk = self.tally, self.rows[start : start + _CHUNK]
        bits = self.ours.hidden(chunk)
        shown = self.interpreter.follows and len(part.stages) == len(self.imported.signs)
        if shown:
            self._same_sizes(bits, part)
        since = self._since(start, part, bits, shown)
        doubt = tally.add(self.ours.read(chunk), bits, part, start, since)
        if tally.found is not None:
            raise different(self.chain.source, *self._difference(tally.found))
        if tally.turned is not None:
            raise self._turned(tally.turned)
        self._score(chunk, part, start, doubt)
        if tally.first_score is not None or tally.first_class is not None:
            raise different(self.chain.source, self.chain.ops[-1].where, self._score_difference())

    def _since(self, start: int, part: Seen, bits: Sequence[Bits], shown: bool) -> Ints | None:
        """Return the layer from which on each sample may differ through rounding of a sign that is not
        visible.

        Return None if there is no such sign.
        """
        compared = {pair.layer for pair in self.tally.align(bits, part)}
        unsure = [sign for sign in self.imported.signs if sign.layer not in compared]
        exact = all(self._bound(sign) == 0 for sign in unsure) and not self.declared
        if not unsure or (exact and not shown):
            return None
        seen = part if shown else interpreter_of_chain(self.chain).run(self.source[start : start + _CHUNK])
        end = len(self.ours.network.layers)
        first = np.full(len(seen.outputs), end + 1)
        for sign in unsure:
            stage = seen.stages[sign.number]
            near = (np.abs(stage.before) <= self._bound(sign)) & (self._bound(sign) > 0)
            near |= ~stage.high & ~stage.low
            if stage.turned is not None:
                near |= stage.turned
            later = self.imported.signs[sign.number :]
            layer = min((other.layer for other in later if other.layer is not None), default=end)
            first = np.minimum(first, np.where(near.any(axis=1), layer, first))
        return first

    def _score(self, rows: Array, seen: Seen, start: int, doubt: Bits) -> None:
        """Compare all scores if the interpreter shows them, and its classes if a tail such as softmax
        follows.
        """
        ours, chain, mine = self.ours, self.chain, self.ours.scores(rows)
        is_partly = isinstance(self.imported, PartialImportReport)
        if mine.shape[1] == 2 and not chain.picks and seen.outputs.size == len(mine):
            error = None if seen.error is None else np.stack([seen.error.reshape(-1)] * 2, axis=1)
            outputs, scores = _beside(mine, seen.outputs), _beside(mine, seen.scores)
            seen = replace(seen, outputs=outputs, scores=scores, error=error)
        theirs = seen.scores if seen.scores is not None else None if chain.left_out else seen.outputs
        if theirs is not None:
            refuse_if(
                theirs.size != mine.size,
                chain.source,
                f"the source gives {theirs.size // len(mine)} scores a sample, the network {mine.shape[1]}.",
            )
            bound = (2.0 if is_partly else 1.0) * self.rounding.scores
            bound += 2.0**-48 * float(np.abs(mine).max(initial=0))
            known = 0.0 if seen.error is None else seen.error.reshape(mine.shape)
            bounds = bound + known + 1.01 * self.imported.error
            self.tally.add_scores(mine, theirs.reshape(mine.shape), start, doubt, bounds)
        if chain.left_out and not is_partly:
            outputs = seen.outputs.reshape(len(mine), -1)[:, :1] if chain.picks == "class" else seen.outputs
            if chain.picks != "scores" and outputs.size in (len(mine), mine.size):
                self.tally.add_classes(ours.counts(rows), outputs, start, doubt)

    # -- messages ------------------------------------------------------------------------------------------

    def _same_sizes(self, bits: Sequence[Bits], seen: Seen) -> None:
        """Check that an interpreter with the same signs has the same number of values at each."""
        for sign, stage in zip(self.imported.signs, seen.stages, strict=True):
            theirs = stage.high.shape[1]
            mine = None if sign.layer is None else len(range(bits[sign.layer].shape[1])[sign.neurons])
            if mine not in (None, theirs):
                raise different(
                    self.chain.source,
                    sign.where,
                    f"{mine} neurons, but {theirs} values in {self.interpreter.name}",
                )

    def _difference(self, first: Difference) -> tuple[str, str]:
        layers = ((sign.where, sign.layer) for sign in self.imported.signs if sign.layer is not None)
        where = next((where for where, layer in layers if layer >= first.layer - 1), "the end")
        return where, (
            f"neuron {first.neuron} of layer {first.layer} is {first.state} ({first.matches} matches, tau "
            f"{first.tau}), but {self.interpreter.name} {first.there}"
        )

    def _turned(self, first: Difference) -> FileError:
        where = next(
            (sign.where for sign in self.imported.signs if sign.layer == first.layer - 1), "its sign"
        )
        return FileError(
            f"{self.chain.source}: {where}: neuron {first.neuron} of layer {first.layer} is {first.state} in "
            f"exact numbers ({first.matches} matches, tau {first.tau}), but {self.interpreter.name} "
            f"{first.there}, by rounding alone. Move its threshold away from the sums that occur, as to the "
            "middle between two of them."
        )

    def _score_difference(self) -> str:
        score, label, name = self.tally.first_score, self.tally.first_class, self.interpreter.name
        if score is not None:
            return f"score {score.number} is {score.network:.9g}, but {score.reference:.9g} in {name}"
        assert label is not None
        return f"the class is {label.network}, but {label.reference} in {name}"


def _beside(mine: Doubles, theirs: Any) -> Any:
    """Return the only output of a source, a sign, beside the score of class 0, between its values."""
    return None if theirs is None else np.stack([mine[:, 0], np.asarray(theirs).reshape(-1)], axis=1)


SORRY = "Nothing was imported. This is a fault of the reader: please report it with the file."


def different(source: str, where: str, what: str) -> FileError:
    """Return the error for an import that differs from its source."""
    return FileError(
        f"{source}: what was read is not what the source computes; the first difference is at {where}: "
        f"{what}. {SORRY}"
    )


def work_of(network: Network) -> int:
    """Return the number of multiplications for one sample, at least 1."""
    total = network.head.weights.size + _PASSES * network.encoder.features
    for layer in network.layers:
        total += _PASSES * layer.outputs
        if layer.every is not None:
            total += layer.outputs
        elif isinstance(layer, SparseLayer):
            total += layer.factors.size
        else:
            total += layer.weights.size * (1 if layer.window is None else len(layer.window.taps))
    return max(1, int(total))
