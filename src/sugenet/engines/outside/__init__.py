"""Third-party solvers behind one function each, ``solve(problem, time_limit=, threads=, seed=, stop=)``;
loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from sugenet.engines.outside.outcome import Solver
from sugenet.errors import QuestionError

__all__ = ["SOLVERS", "Solver", "solver_named"]

SOLVERS = {
    "cpsat": ("ortools", "pip install ortools"),
    "pysat": ("pysat", "pip install python-sat"),
    "exact": ("exact", "pip install sugenet[exact]"),
}
"""For each solver the package that it needs, and how to get it."""


def solver_named(name: str) -> Solver:
    """The solver with this name: ``cpsat``, ``pysat`` or ``exact``.

    Raises
    ------
    QuestionError
        Where there is none, or its package is not installed; the message says how to install it.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> from sugenet.problem.goal import loses
    >>> from sugenet.problem.problem import Problem
    >>> from sugenet.problem.regions import Hamming
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[1], [-1]]))
    >>> solver_named("cpsat")(Problem(Hamming(3).around(net, [1, 1, 1]), loses(net.head, 1))).engine[:15]
    'OR-Tools CP-SAT'
    """
    if name not in SOLVERS:
        raise QuestionError(f"there is no solver {name!r}. Choose one of {', '.join(SOLVERS)}.")
    package, how = SOLVERS[name]
    if find_spec(package) is None:
        raise QuestionError(
            f"the solver {name!r} needs the package {package!r}, which is not installed: {how}"
        )
    solve: Solver = import_module(f"sugenet.engines.outside.{name}").solve
    return solve
