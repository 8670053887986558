"""An engine to copy: ``cp TEMPLATE.py mine.py && python mine.py`` runs it and prints the next step.

Then add the engine to `ladder.ENGINES` and a row to `ladder.RUNGS`, a checker of its proof to
``sugenet/checker``, and the number of questions it leaves open to ``tests/engines/test_contract.py``.
"""

from typing import Any

from sugenet.engines.protocol import Engine
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem import Clock, FeatureMove, Hamming, Holds, Open, Outcome, Problem, loses, replayed

__all__ = ["TEMPLATE"]

_NAME = "template"


def _find(problem: Problem, clock: Clock) -> tuple[FeatureMove, ...] | None:
    raise NotImplementedError("_find(): return moves of problem.near that reach problem.goal, or None")


def _prove(problem: Problem, clock: Clock) -> dict[str, Any] | None:
    raise NotImplementedError("_prove(): return a proof as JSON for the checker, or None")


def _decide(problem: Problem, clock: Clock) -> Outcome:
    moves = _find(problem, clock)
    if moves is not None:
        return replayed(problem, _NAME, moves)
    proof = _prove(problem, clock)
    return Open(_NAME, "it was not decided", {}) if proof is None else Holds(_NAME, proof)


TEMPLATE = Engine(_NAME, _decide)
"""Describe the engine here."""

if __name__ == "__main__":
    network = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[1], [-1]]))
    near = Hamming(1).around(network, [1, 1, -1])
    print(TEMPLATE(Problem(near, loses(network.head, 0))))
