"""Third-party solvers as engines; each imports its package at first use."""

from sugenet.engines.hard.outside.cpsat import CPSAT
from sugenet.engines.hard.outside.exact import EXACT
from sugenet.engines.hard.outside.pysat import PYSAT
from sugenet.engines.protocol import Engine
from sugenet.errors import QuestionError

__all__ = ["SOLVERS", "solver_named"]

SOLVERS: dict[str, Engine] = {solver.name: solver for solver in (CPSAT, PYSAT, EXACT)}


def solver_named(name: str) -> Engine:
    """Return the solver with this name: ``cpsat``, ``pysat`` or ``exact``.

    Raises
    ------
    QuestionError
        If there is none, or its package is not installed; the message says how to install it.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.problem.clock import Clock
    >>> from sugenet.problem.goal import loses
    >>> from sugenet.problem.problem import Problem
    >>> from sugenet.problem.regions import Hamming
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[1], [-1]]))
    >>> problem = Problem(Hamming(3).around(net, [1, 1, 1]), loses(net.head, 1))
    >>> solver_named("cpsat")(problem, Clock(time_limit=10)).engine[:15]
    'OR-Tools CP-SAT'
    """
    if name not in SOLVERS:
        raise QuestionError(f"there is no solver {name!r}. Choose one of {', '.join(SOLVERS)}.")
    SOLVERS[name].need()
    return SOLVERS[name]
