"""Seeded faults: the contract must see each of them.

Run in a process of its own, which loads the package once for every fault with one line of it changed;
compiled files, which are not changed, are loaded once.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Fault:
    """One change of one line, and the engine whose answers it spoils."""

    name: str
    module: str
    old: str
    new: str
    engine: str


FAULTS = [
    Fault(
        "a threshold off by one",
        "sugenet.engines.walk.sweep",
        "np.where(active, -1 - first_layer.margins, first_layer.margins)",
        "np.where(active, -first_layer.margins, first_layer.margins)",
        "flips",
    ),
    Fault(
        "a margin of the first layer off by one",
        "sugenet.problem.first_layer",
        "np.where(active, margins - down < 0, margins + up >= 0)",
        "np.where(active, margins - down < 0, margins + up > 0)",
        "exhaust",
    ),
    Fault(
        "the first move dropped, being number 0",
        "sugenet.engines.walk.choices",
        "nothing if k is None else rows[k]",
        "nothing if not k else rows[k]",
        "exhaust",
    ),
    Fault(
        "a slack off by one",
        "sugenet.engines.walk.branches",
        "-1 - first_layer.margins - min_gains.sum(axis=0)",
        "-2 - first_layer.margins - min_gains.sum(axis=0)",
        "branch",
    ),
    Fault(
        "a need off by one",
        "sugenet.engines.walk.credits",
        "moves.margins[lanes] + 1",
        "moves.margins[lanes] + 2",
        "branch",
    ),
    Fault(
        "dropped moves that use up the budget",
        "sugenet.engines.walk.singles",
        "near.columns.weights[part.moves] <= budget",
        "near.columns.weights[part.moves] < budget",
        "flips",
    ),
    Fault(
        "a budget one too small",
        "sugenet.engines.walk.sets",
        "start, moves, min(budget, _HEAVY), together",
        "start, moves, min(budget - 1, _HEAVY), together",
        "flips",
    ),
    Fault(
        "a tie given to the wrong class",
        "sugenet.problem.goal",
        'strictly=ties == "lowest" and k > label',
        'strictly=ties == "lowest" and k < label',
        "cdcl",
    ),
    Fault(
        "a tie that counts although it should not",
        "sugenet.problem.goal",
        'strictly=ties == "lowest" and k < target',
        "strictly=False",
        "cdcl",
    ),
    Fault(
        "a wrong sign in bounds",
        "sugenet.engines.bounds",
        "np.where(active[unknown], -1, 1) * weights",
        "np.where(active[unknown], 1, -1) * weights",
        "bounds",
    ),
    Fault(
        "the bits of levels in another order",
        "sugenet.nn.binary_expansion",
        "return np.repeat(np.arange(layer.outputs), top) if",
        "return np.tile(np.arange(layer.outputs), top) if",
        "bounds",
    ),
    Fault(
        "a step off by one",
        "sugenet.nn.layers",
        "np.repeat(self.weights, self.height, axis=0), self.tau.reshape(-1)",
        "np.repeat(self.weights, self.height, axis=0), self.tau.reshape(-1) + 1",
        "exhaust",
    ),
    Fault(
        "the levels of a map before its pixels",
        "sugenet.nn.conv",
        "self.height).transpose(0, 2, 1)",
        "self.height)",
        "flips",
    ),
    Fault(
        "padding that holds nothing",
        "sugenet.nn.conv",
        "self._over_taps(np.minimum(self.weights, 0)) * self._top + self.rim)",
        "self._over_taps(np.minimum(self.weights, 0)) * self._top)",
        "cdcl",
    ),
    Fault(
        "the pixels of a pool in another order",
        "sugenet.nn.binary_expansion",
        'pool.weights[:, np.argsort(indices, kind="stable")]',
        "pool.weights",
        "flips",
    ),
    Fault(
        "bounds that give up everywhere",
        "sugenet.engines.bounds",
        "possible = (high >= min_sums).tolist()",
        "possible = (high >= min_sums.min()).tolist()",
        "bounds",
    ),
    Fault(
        "a clause lost before learning",
        "sugenet.engines.hard.learn.solver",
        "2 * (cascade.starts[-2] + row)] for row in case]",
        "2 * (cascade.starts[-2] + row)] for row in case[1:]]",
        "cdcl",
    ),
    Fault(
        "a half of every threshold lost before learning",
        "sugenet.engines.hard.learn.halves",
        "both = number < len(cascade.layers) - 1",
        "both = False",
        "cdcl",
    ),
    Fault(
        "a threshold settled beforehand that is not",
        "sugenet.engines.hard.learn.halves",
        "settle(weights, min_sums, below",
        "settle(weights, _read(min_sums + 1), below",
        "cdcl",
    ),
    Fault(
        "a cut by too much of the budget",
        "sugenet.engines.hard.learn.halves",
        "q * bound + p * limit",
        "q * bound + p * (limit - 1)",
        "cdcl",
    ),
    Fault(
        "a search that stops before it begins",
        "sugenet.engines.walk.anneal",
        "while failures < restarts and not clock.up():",
        "while failures > restarts and not clock.up():",
        "search",
    ),
    Fault(
        "a walk that is never asked for",
        "sugenet.engines.walk.choices",
        "if combinations > MAX_COMBINATIONS:",
        "if combinations > 0:",
        "exhaust",
    ),
]


class _Changed(SourceFileLoader):
    """Reads a module with one line changed, and keeps nothing of it."""

    fault: Fault

    def get_data(self, path):
        return super().get_data(path).replace(self.fault.old.encode(), self.fault.new.encode())

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


class _Finder(MetaPathFinder):
    def __init__(self, fault):
        self.fault = fault

    def find_spec(self, fullname, path, target=None):
        if fullname != self.fault.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        spec.loader = _Changed(fullname, spec.origin)
        spec.loader.fault = self.fault
        return spec


def seen(fault):
    """What the contract says of the engine with the fault: complaints, and how often it gave up."""
    text = Path(find_spec(fault.module).origin).read_text()
    assert text.count(fault.old) == 1, f"{fault.module} has {fault.old!r} {text.count(fault.old)} times"
    for name in list(sys.modules):
        if name.startswith(("sugenet", "tests.")) and not name.endswith(("kernels", ".lanes")):
            del sys.modules[name]
    finder = _Finder(fault)
    sys.meta_path.insert(0, finder)
    try:
        return import_module("tests.engines.contract").judged(fault.engine)
    except Exception as error:  # an engine that falls over is seen, too
        return [f"{type(error).__name__}: {error}"], 0
    finally:
        sys.meta_path.remove(finder)


if __name__ == "__main__":
    json.dump({fault.name: seen(fault) for fault in FAULTS}, sys.stdout)
