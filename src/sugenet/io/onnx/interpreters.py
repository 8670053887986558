"""Interpreters of an ONNX file: our interpreter of its operators, and ONNX Runtime if it is installed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sugenet.io.exact.evaluation import Floats, laid_out, passed
from sugenet.io.exact.ops import Affine, Op, OpChain, Quantize, Sign, every
from sugenet.io.onnx.graph import Array, Graph
from sugenet.io.onnx.interpreter.program import Computed, Interpreter
from sugenet.io.onnx.interpreter.tensors import Decision, Tensor, UncomparableError
from sugenet.io.onnx.wire import blob, number
from sugenet.io.proof.interpreters import Seen, SourceInterpreter, Stage, interpreter_of_chain

__all__ = ["NOT_INSTALLED", "NOT_RUN", "batches", "interpreters_of_graph", "runtime_session"]

_WORK = 1 << 24
"""Largest number of values that one run of the interpreter computes."""
_FORMAT = 10
"""A version of the file format that every recent runtime reads. Operators do not depend on it."""


def interpreters_of_graph(graph: Graph, output: str, chain: OpChain) -> list[SourceInterpreter]:
    """Return the interpreters that compute the class scores of a file at one of its outputs.

    Our interpreter is first. If it cannot run the file, its name says so, and only the operations as read are
    compared.
    """
    try:
        interpreted = _Interpreted(Interpreter(graph, output), chain)
        interpreted.measure()
    except UncomparableError as error:
        return [
            replace(
                interpreter_of_chain(chain),
                name=f"the operations as read, because the file itself could not be run ({error})",
            )
        ]
    first = SourceInterpreter("an interpreter of ONNX operators in float64", interpreted, follows=True)
    second = _runtime(graph, output, interpreted.program)
    if isinstance(second, str):
        return [replace(first, name=f"{first.name} ({second})")]
    return [first, second]


# -- the interpreter -----------------------------------------------------------------------------------------


@dataclass
class _Interpreted:
    """A program that shows the signs of a chain."""

    program: Interpreter
    chain: OpChain
    ways: dict[int, tuple[bool, Array | None]] = field(default_factory=dict)
    """For each sign, whether the decision is its opposite, and the positions of the chain's values in those
    of the file.
    """
    per: int = 1
    """Samples per run, if the file does not fix it."""

    def measure(self) -> None:
        """Run once, to find out whether the file can be run and how expensive it is."""
        self.per = max(
            1,
            _WORK
            // max(self.program.run(np.zeros((self.program.batch or 1, *self.program.sample))).spent, 1),
        )

    def __call__(self, x: Array) -> Seen:
        rows = x.reshape(len(x), *self.program.sample)
        outcomes = [
            (self.program.run(part), (len(part), kept))
            for part, kept in batches(rows, self.program.batch, self.per)
        ]
        ops = list(every(self.chain.ops))
        signs = [_levels(ops, k) for k, op in enumerate(ops) if isinstance(op, Sign | Quantize)]
        scores = np.concatenate([_rows(outcome.scores.values, *counts) for outcome, counts in outcomes])
        error = np.concatenate(
            [_rows(np.ascontiguousarray(outcome.scores.errors), *counts) for outcome, counts in outcomes]
        )
        ends = np.concatenate(
            [_rows(outcome.values[self.program.output].values, *counts) for outcome, counts in outcomes]
        )
        return Seen(ends, tuple(self._stages(x, outcomes, signs)), scores, error)

    def _stages(
        self, x: Array, outcomes: list[tuple[Computed, tuple[int, int]]], signs: list[Sign | Quantize]
    ) -> list[Stage]:
        """Return the signs and quantizers of the chain, by the nodes they are named after.

        Return none if one of them cannot be found.
        """
        stages: list[Stage] = []
        for sign in signs:
            parts = []
            for outcome, counts in outcomes:
                pair = next((pair for pair in outcome.decisions if pair[0].name == sign.where), None)
                if pair is None or pair[0].before.size % counts[0]:
                    return []
                if isinstance(sign, Quantize) and pair[0].levels is None:
                    return []
                columns = self._columns(sign, *pair)
                parts.append([_rows(np.asarray(column), *counts) for column in columns])
            stages.append(_stage(sign, *(np.concatenate(column) for column in zip(*parts, strict=True))))
        return self._ordered(x, stages, outcomes[0][0].decisions, signs)

    def _columns(self, sign: Sign | Quantize, decision: Decision, after: Tensor) -> tuple[Any, ...]:
        """Return the columns of a stage: the values before it, their margins, and its levels.

        A sign has its two sides instead of levels, and the values after it with their errors.
        """
        if decision.levels is not None and isinstance(sign, Quantize):
            base = self._base(sign) if decision.unbased else 0
            return decision.before, decision.margin, decision.levels - base
        values, errors = after.values, np.ascontiguousarray(after.errors)
        if decision.before.shape != after.shape:
            values, errors = decision.high * 1.0, decision.margin * 0
        return decision.before, decision.margin, decision.high, decision.low, values, errors

    def _base(self, quantizer: Quantize) -> int:
        """Return the smallest integer of a quantizer, which the shift after it defines."""
        ops = list(every(self.chain.ops))
        behind = ops[next(k for k, op in enumerate(ops) if op is quantizer) + 1]
        assert isinstance(behind, Affine)
        return int(np.asarray(behind.shift).reshape(-1)[0])

    def _ordered(
        self, x: Array, stages: list[Stage], decisions: Any, signs: list[Sign | Quantize]
    ) -> list[Stage]:
        """Return the stages in the order of the chain's own values, which are channel by channel."""
        if not self.ways or len(self.ways) != len(stages):
            chain_values = _own(self.chain, x[:16])
            shapes = [
                next(pair[0].before.shape for pair in decisions if pair[0].name == sign.where)
                for sign in signs
            ]
            self.ways = {
                k: _way(stage, mine, shape)
                for k, (stage, mine, shape) in enumerate(zip(stages, chain_values, shapes, strict=True))
            }
        ordered = []
        for k, stage in enumerate(stages):
            turned, order = self.ways[k]
            one = replace(stage, high=stage.low, low=stage.high) if turned else stage
            ordered.append(one if order is None else one.at(order))
        return ordered


def _stage(sign: Sign | Quantize, before: Array, margin: Array, *columns: Array) -> Stage:
    """Return the stage of a sign or a quantizer, from its columns."""
    unsure = (np.abs(before) <= margin) & (margin > 0)
    if isinstance(sign, Quantize):
        return Stage.of_levels(sign.where, before, columns[0], unsure)
    high, low, values, errors = columns
    high, low = _sides(sign, high, low, values.astype(np.float64), errors)
    return Stage(sign.where, before, high, low, turned=unsure)


def batches(rows: Array, batch: int | None, per: int) -> list[tuple[Array, int]]:
    """Return the samples in batches that the file accepts, the last one padded, with the number of real
    samples.
    """
    step = batch or per
    parts = [rows[start : start + step] for start in range(0, len(rows), step)]
    if batch is None:
        return [(part, len(part)) for part in parts]
    return [
        (np.concatenate([part, np.repeat(part[-1:], batch - len(part), axis=0)]), len(part)) for part in parts
    ]


def _rows(array: Array, batch: int, kept: int) -> Array:
    """Return one row per sample."""
    sizes = array.shape
    first = next((axis for axis, size in enumerate(sizes) if size > 1), 0)
    if batch > 1 and batch in sizes and sizes[first] % batch:
        array = np.moveaxis(array, sizes.index(batch), 0)
    return array.reshape(batch, -1)[:kept]


def _levels(ops: Sequence[Op], index: int) -> Sign | Quantize:
    """Return a sign with the values of its node.

    If these are not symmetric about 0, the chain writes them as a sign and a shift.
    """
    sign, behind = ops[index], ops[index + 1 : index + 2]
    if isinstance(sign, Quantize):
        return sign
    assert isinstance(sign, Sign)
    if (
        behind
        and isinstance(behind[0], Affine)
        and behind[0].where == sign.where
        and np.size(behind[0].shift) == 1
    ):
        shift = float(np.asarray(behind[0].shift).reshape(-1)[0])
        return replace(sign, low=sign.low + shift, high=sign.high + shift)
    return sign


def _sides(sign: Sign, high: Array, low: Array, values: Array, errors: Array) -> tuple[Array, Array]:
    """Return where a sign has its high and its low value.

    They are found by value if the values are the chain's, otherwise by the decision. If nothing is certain,
    both are set, so that nothing is claimed.
    """
    gap = sign.high - sign.low
    near = 1e-6 * gap + errors
    top, bottom = np.abs(values - sign.high) <= near, np.abs(values - sign.low) <= near
    middle = np.abs(values - (sign.high + sign.low) / 2) <= near
    unsure = errors >= gap / 4
    if np.all(top | bottom | (middle & (sign.zero == 0)) | unsure):
        return top | unsure, bottom | unsure
    neither = ~high & ~low
    return high | unsure | neither, low | unsure | neither


def _own(chain: OpChain, x: Array) -> list[Array]:
    """Return where each sign of the chain is high, in the chain's own shape.

    This shows the order of values, and decides nothing.
    """
    chain_values: list[Array] = []

    def keep(op: Sign | Quantize, _: Array, after: Array) -> None:
        chain_values.append(after == op.high if isinstance(op, Sign) else after)

    passed(chain.ops, laid_out(chain, x), keep)
    return chain_values


def _way(stage: Stage, chain_values: Array, shape: tuple[int, ...]) -> tuple[bool, Array | None]:
    """Return how the values of a node are arranged relative to those of the chain: possibly pixel by pixel,
    possibly negated.
    """
    count = stage.high.shape[1]
    orders: list[Array | None] = [None]
    for rows in dict.fromkeys((chain_values.shape[1], shape[-1], shape[1] if len(shape) > 2 else 1)):
        if count % rows == 0 and 1 < rows < count:
            orders += [
                np.arange(count).reshape(rows, -1).T.reshape(-1),
                np.arange(count).reshape(-1, rows).T.reshape(-1),
            ]
    if chain_values[0].size != count:
        return False, None
    chain_values = chain_values.reshape(len(chain_values), -1)
    best: tuple[float, bool, Array | None] = (-1.0, False, None)
    for order in orders:
        if stage.levels is not None:
            levels = (
                stage.levels[: len(chain_values)]
                if order is None
                else stage.levels[: len(chain_values), order]
            )
            share = float((levels == chain_values).mean())
            best = (share, False, order) if share > best[0] else best
            continue
        high, low = (
            a[: len(chain_values)] if order is None else a[: len(chain_values), order]
            for a in (stage.high, stage.low)
        )
        sure = high != low
        for turned, share in (
            (False, float((sure & (high == chain_values)).mean())),
            (True, float((sure & (low == chain_values)).mean())),
        ):
            if share > best[0]:
                best = share, turned, order
    return best[1], best[2]


# -- ONNX Runtime --------------------------------------------------------------------------------------------


NOT_INSTALLED = "ONNX Runtime is not installed"
NOT_RUN = "ONNX Runtime does not run this file"


def runtime_session(raw: bytes, *, optimized: bool) -> Any:
    """Return a session of ONNX Runtime on one thread, with all or none of its default optimizations.

    Raises
    ------
    ImportError
        If ONNX Runtime is not installed. Its own errors if it rejects the file.
    """
    import onnxruntime  # type: ignore[import-untyped, unused-ignore]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(raw + number(1, _FORMAT), options, providers=["CPUExecutionProvider"])


def _runtime(graph: Graph, output: str, program: Interpreter) -> SourceInterpreter | str:
    """Return ONNX Runtime as an interpreter of the scores, or the reason why it is not available."""
    extra = (
        b""
        if program.scores in {port.name for port in graph.outputs}
        else blob(7, blob(12, blob(1, program.scores.encode())))
    )
    try:  # later text is added to a message, or replaces it
        session = _Session(runtime_session(graph.raw + extra, optimized=False), program, output)
        session(np.zeros((program.batch or 1, *program.sample)))
    except ImportError:
        return NOT_INSTALLED
    except Exception:  # operators of QONNX, side files, element types, attributes: anything that it rejects
        return NOT_RUN
    return SourceInterpreter("ONNX Runtime", session, Floats(24))  # its sums are plain sums, in some order


@dataclass
class _Session:
    """A session that runs on float64 samples."""

    session: Any
    program: Interpreter
    output: str

    def __call__(self, x: Array) -> Seen:
        rows = x.reshape(len(x), *self.program.sample).astype(self.program.kind)
        made = []
        for part, kept in batches(rows, self.program.batch, 128):
            outputs = self.session.run([self.output, self.program.scores], {self.program.input.name: part})
            made.append([_rows(np.asarray(value), len(part), kept) for value in outputs])
        ends, scores = (np.concatenate(column) for column in zip(*made, strict=True))
        return Seen(ends, (), scores.astype(np.float64))
