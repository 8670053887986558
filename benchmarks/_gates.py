"""Logic-gate networks for `benchmarks.neighbours`: small ones trained with PyTorch, the sets that they learn,
and robustness as clauses for a SAT solver.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from threading import Timer
from typing import Any

import numpy as np

__all__ = ["SETS", "Clauses", "Trained", "trained"]

Gates = list[tuple[np.ndarray, np.ndarray, np.ndarray]]

_TERMS = np.array(  # constant, a, b, a * b of the 16 gates
    [
        (0, 0, 0, 0),
        (0, 0, 0, 1),
        (0, 1, 0, -1),
        (0, 1, 0, 0),
        (0, 0, 1, -1),
        (0, 0, 1, 0),
        (0, 1, 1, -2),
        (0, 1, 1, -1),
        (1, -1, -1, 1),
        (1, -1, -1, 2),
        (1, 0, -1, 0),
        (1, 0, -1, 1),
        (1, -1, 0, 0),
        (1, -1, 0, 1),
        (1, 0, 0, -1),
        (1, 0, 0, 0),
    ]
)


def _monk(rule: Any) -> tuple[np.ndarray, np.ndarray]:
    """One of the MONK's problems: all 432 robots, one bit per value of each attribute."""
    sizes = (3, 3, 2, 3, 4, 2)
    rows = list(product(*[range(1, size + 1) for size in sizes]))
    bits = [
        [int(value == k) for value, size in zip(row, sizes, strict=True) for k in range(1, size + 1)]
        for row in rows
    ]
    return np.array(bits), np.array([int(rule(*row)) for row in rows])


def _thermometer(X: np.ndarray, y: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    cuts = np.quantile(X, [k / (bits + 1) for k in range(1, bits + 1)], axis=0)
    return np.concatenate([cut < X for cut in cuts], axis=1).astype(int), y


def _cancer() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    return _thermometer(*load_breast_cancer(return_X_y=True), 3)


def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    return _thermometer(*load_digits(return_X_y=True), 3)


def _first(*row: int) -> bool:
    return row[0] == row[1] or row[4] == 1


def _second(*row: int) -> bool:
    return sum(value == 1 for value in row) == 2


def _third(*row: int) -> bool:
    return row[3:5] == (1, 3) or (row[4] != 4 and row[1] != 3)


SETS = {
    "MONK-1": (lambda: _monk(_first), 6, 24, 1.0),
    "MONK-2": (lambda: _monk(_second), 6, 12, 1.0),
    "MONK-3": (lambda: _monk(_third), 6, 12, 1.0),
    "cancer": (_cancer, 5, 128, 20.0),
    "digits": (_digits, 5, 1000, 10.0),
}
"""Sets that can be made here, with layers, gates per layer and tau of difflogic's own experiments; for
digits, those of the smallest MNIST network of torchlogix.
"""


@dataclass(frozen=True)
class Trained:
    """A trained network, in arrays."""

    layers: Gates
    bits: np.ndarray
    labels: np.ndarray
    outputs: int
    tau: float


def trained(name: str, steps: int, seed: int = 0) -> Trained:
    """Train gates as difflogic does: a softmax over the 16 gates of each neuron, then the likeliest gate."""
    import torch

    torch.set_num_threads(1)
    make, depth, width, tau = SETS[name]
    bits, labels = make()
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    outputs = int(labels.max()) + 1
    wires, weights, count = [], [], bits.shape[1]
    for _ in range(depth):
        size = max(width, (count + 1) // 2)
        size += -size % outputs
        chosen = random.permutation(count)[random.permutation(2 * size) % count].reshape(2, size)
        wires.append(torch.tensor(chosen))
        start = torch.randn(size, 16)
        start[:, 3] += 3.0  # gates that pass a value on learn deeper networks
        weights.append(start.requires_grad_())
        count = size
    terms = torch.tensor(_TERMS, dtype=torch.float32)
    x, y = torch.tensor(bits, dtype=torch.float32), torch.tensor(labels)
    adam = torch.optim.Adam(weights, lr=0.05)
    for _ in range(steps):
        rows = torch.tensor(random.integers(0, len(x), min(len(x), 128)))
        values = x[rows]
        for (first, second), weight in zip(wires, weights, strict=True):
            one, a, b, both = (weight.softmax(-1) @ terms).T
            u, v = values[:, first], values[:, second]
            values = one + a * u + b * v + both * (u * v)
        scores = values.reshape(len(rows), outputs, -1).sum(-1) / tau
        adam.zero_grad()
        torch.nn.functional.cross_entropy(scores, y[rows]).backward()
        adam.step()
    layers = [
        (wire[0].numpy(), wire[1].numpy(), weight.detach().argmax(-1).numpy())
        for wire, weight in zip(wires, weights, strict=True)
    ]
    return Trained(layers, bits, labels, outputs, tau)


class Clauses:
    """Robustness of a network as clauses: a variable per gate and sorted sums, as difflogic_verify encodes
    it. There is one copy of the network instead of two, since the sample is fixed.
    """

    def __init__(self, model: Trained) -> None:
        self.model, self.clauses = model, []
        self.solvers: dict[tuple[int, int], Any] = {}
        self.tops: dict[tuple[int, int], int] = {}
        self.last = model.bits.shape[1]
        values = list(range(1, self.last + 1))
        for first, second, gates in model.layers:
            values = [
                self._gate(values[a], values[b], int(gate))
                for a, b, gate in zip(first, second, gates, strict=True)
            ]
        size = len(values) // model.outputs
        self.groups = [values[k * size : (k + 1) * size] for k in range(model.outputs)]

    def _gate(self, a: int, b: int, gate: int) -> int:
        self.last += 1
        for row, (x, y) in enumerate(product((False, True), repeat=2)):
            out = self.last if gate >> (3 - row) & 1 else -self.last
            self.clauses.append([-a if x else a, -b if y else b, out])
        return self.last

    def is_robust(self, sample: np.ndarray, own: int, flips: int, seconds: float) -> bool | None:
        """Ask Glucose, once for each other class, whether a sample keeps its class; None if time is up.

        A solver keeps its network and its sums, as with push and pop. The flips are added for each question.
        """
        from pysat.card import CardEnc, EncType

        end = time.perf_counter() + seconds
        flipped = [-k if on else k for k, on in enumerate(sample.tolist(), 1)]
        unknown = False
        for other in range(self.model.outputs):
            if other == own:
                continue
            solver = self._solver(own, other)
            top = self.tops[own, other]
            near = CardEnc.atmost(flipped, flips, top_id=top + 1, encoding=EncType.seqcounter)
            self.tops[own, other] = max(top + 1, near.nv)
            for clause in near.clauses:
                solver.add_clause([*clause, -(top + 1)])
            timer = Timer(max(0.0, end - time.perf_counter()), solver.interrupt)
            timer.start()
            found = solver.solve_limited(assumptions=[top + 1], expect_interrupt=True)
            timer.cancel()
            solver.clear_interrupt()
            solver.add_clause([-(top + 1)])
            if found:
                return False
            unknown |= found is None
        return None if unknown else True

    def prepare(self, own: int) -> None:
        """Load the solvers of a class, so that questions need not."""
        for other in range(self.model.outputs):
            if other != own:
                self._solver(own, other)

    def _solver(self, own: int, other: int) -> Any:
        """The solver for inputs that the network gives another class."""
        from pysat.card import CardEnc, EncType
        from pysat.solvers import Solver

        if (own, other) not in self.solvers:
            # other sum - own sum >= 1, or >= 0 if a tie goes to the other class
            literals = [*self.groups[other], *(-value for value in self.groups[own])]
            needed = len(self.groups[own]) + int(other > own)
            beats = CardEnc.atleast(literals, needed, top_id=self.last, encoding=EncType.totalizer)
            clauses = [*self.clauses, *beats.clauses]
            self.solvers[own, other] = Solver("glucose42", bootstrap_with=clauses)
            self.tops[own, other] = max(self.last, beats.nv)
        return self.solvers[own, other]
