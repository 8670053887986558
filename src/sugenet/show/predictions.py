"""Predictions and traces as tables and as JSON data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.errors import NetworkError
from sugenet.nn import NEVER, Network, Trace
from sugenet.reprs import Sentences

__all__ = ["PredictionView", "TraceView", "view_predictions", "view_trace"]


@dataclass(frozen=True, eq=False)
class PredictionView(Sentences):
    """Classes of a batch of samples, with the margin of each decision."""

    network: Network
    first: int
    """Index of the first sample."""
    classes: Any
    logits: Any
    tied: Any
    truth: Any = None

    @property
    def margins(self) -> Any:
        """Best score minus second best; 0 for a tie."""
        if self.logits.shape[1] < 2:
            return np.zeros(len(self.logits))
        ordered = np.sort(self.logits, axis=1)
        # a tie is exact, the difference is rounded
        return np.where(self.tied, 0.0, ordered[:, -1] - ordered[:, -2])

    def data(self) -> dict[str, Any]:
        """Return all samples as JSON data."""
        names, margins = self.network.classes, self.margins
        rows = []
        for i, k in enumerate(self.classes.tolist()):
            row: dict[str, Any] = {
                "sample": self.first + i,
                "label": names[k],
                "index": k,
                "scores": self.logits[i].tolist(),
                "margin": float(margins[i]),
                "is_tie": bool(self.tied[i]),
            }
            if self.truth is not None:
                row["truth"] = int(self.truth[i])
            rows.append(row)
        return {"predictions": rows} | ({} if self.truth is None else {"accuracy": self.accuracy})

    @property
    def accuracy(self) -> float | None:
        """Share of correct classes, if the true ones are known."""
        return (
            None
            if self.truth is None or not len(self.truth)
            else float(np.mean(self.classes == np.asarray(self.truth)))
        )

    def table(self, limit: int | None = None) -> str:
        """Return one line per sample, up to a limit, and the accuracy if the true classes are known."""
        rows = self.data()["predictions"]
        shown = rows if limit is None else rows[:limit]
        names = self.network.class_texts
        width = max([len(name) for name in names] + [5])
        lines = [f"{'sample':>6}  {'class':<{width}}  {'score':>9}  {'margin':>9}"]
        for row in shown:
            wrong = (
                ""
                if self.truth is None or row["truth"] == row["index"]
                else f"  wrong: it is {names[row['truth']]}"
            )
            tie = "  tie" if row["is_tie"] else ""
            score = row["scores"][row["index"]]
            lines.append(
                f"{row['sample']:>6}  {names[row['index']]:<{width}}  {score:>9.6g}  "
                f"{row['margin']:>9.6g}{tie}{wrong}"
            )
        if len(shown) < len(rows):
            lines.append(f"... and {len(rows) - len(shown):,} more samples")
        if self.accuracy is not None:
            right = int(np.sum(self.classes == np.asarray(self.truth)))
            lines.append(f"{right} of {len(rows)} right: {100 * self.accuracy:.2f} %")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def view_predictions(
    network: Network,
    X: Any,
    truth: Any = None,
    first: int = 0,
    engine: Any = "auto",
    threads: int | None = None,
) -> PredictionView:
    """Predict a batch of raw samples."""
    counts = network.match_counts(X, engine=engine, threads=threads)
    head = network.head
    return PredictionView(network, first, head.classes(counts), head.logits(counts), head.tied(counts), truth)


@dataclass(frozen=True, eq=False)
class TraceView(Sentences):
    """Activity of the network for one sample, optionally with the neurons of one layer."""

    trace: Trace
    layer: int | None = None
    limit: int = 20

    def data(self) -> dict[str, Any]:
        """Return the match counts, thresholds and activity of every layer as JSON data."""
        trace = self.trace
        layers = [
            {
                "matches": seen.matches.tolist(),
                "tau": _steps(seen.tau),
                "size": seen.sizes.tolist(),
                "active": seen.active.tolist(),
                **({} if seen.levels is None else {"levels": seen.levels.tolist()}),
            }
            for seen in trace.layers
        ]
        head = {
            "matches": trace.matches.tolist(),
            "size": trace.network.head.sizes.tolist(),
            "scores": [float(score) for score in trace.scores],
            "possibility": trace.network.head.possibility(trace.matches[None, :])[0].tolist(),
        }
        return {"label": trace.label, "index": trace.index, "layers": layers, "head": head}

    def __str__(self) -> str:
        lines = [f"prediction: {self.trace.network.class_texts[self.trace.index]}", str(self.trace)]
        if self.layer is not None:
            seen = self.trace.layers[self.layer - 1]
            has_levels = seen.levels is not None
            lines.append(f"layer {self.layer}, nearest to {'a step' if has_levels else 'turning'} first:")
            lines.append(
                f"{'neuron':>6}  {'M':>5}  {'step' if has_levels else 'tau':>5}  {'of':>5}  {'M - tau':>7}"
            )
            slack = seen.slack
            order = np.argsort(np.abs(2 * slack + 1), kind="stable")[: self.limit]
            for j in order.tolist():
                if seen.levels is None:
                    state = "active" if seen.active[j] else ""
                else:
                    state = f"level {seen.levels[j]} of {seen.tau.shape[1]}"
                tau = seen.matches[j] - slack[j]
                near = f"{'never':>5}  {seen.sizes[j]:>5}  {'':>7}"
                if tau != NEVER:
                    near = f"{tau:>5}  {seen.sizes[j]:>5}  {slack[j]:>7}"
                lines.append(f"{j + 1:>6}  {seen.matches[j]:>5}  {near}  {state}".rstrip())
            if len(seen.tau) > self.limit:
                lines.append(f"... and {len(seen.tau) - self.limit} more neurons")
        return "\n".join(lines)


def _steps(tau: Any) -> list[Any]:
    """Return thresholds; for staircases one list per neuron, with None for a step that no input reaches."""
    if tau.ndim == 1:
        return list(tau.tolist())
    return [[None if step == NEVER else step for step in row] for row in tau.tolist()]


def view_trace(network: Network, x: Any, layer: int | None = None, limit: int = 20) -> TraceView:
    """Trace one raw sample, optionally with the neurons of one layer."""
    if layer is not None:
        network.layer(layer)
    if limit < 0:
        raise NetworkError(f"limit={limit} must not be negative.")
    return TraceView(network.trace(network.encoder.values(x)), layer, limit)
