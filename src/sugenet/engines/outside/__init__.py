"""Third-party solvers as engines; each loads its package when it is first asked."""

from __future__ import annotations

from sugenet.engines.outside.cpsat import CPSAT
from sugenet.engines.outside.exact import EXACT
from sugenet.engines.outside.pysat import PYSAT
from sugenet.engines.protocol import Engine

__all__ = ["SOLVERS"]

SOLVERS: dict[str, Engine] = {solver.name: solver for solver in (CPSAT, PYSAT, EXACT)}
