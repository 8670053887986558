"""How many statements of the package a command loads, measured by running it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import sugenet

__all__ = ["CODE", "loaded_by", "statements", "statements_in"]

SOURCE = Path(sugenet.__file__).parent
CODE = """
import json, runpy, sys
module, *words = sys.argv[1:]
sys.argv = [module, *words]
try:
    runpy.run_module(module, run_name="__main__")
except SystemExit as end:
    code = end.code
names = ("sugenet", "numpy", "numba")
print(json.dumps([code, sorted(name for name in sys.modules if name.split(".")[0] in names)]))
"""


def statements(path):
    """How many statements a file has, docstrings aside."""
    found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.stmt)]
    values = [one.value for one in found if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
    return len(found) - sum(isinstance(value.value, str) for value in values)


def statements_in(names):
    """How many statements modules of the package have."""
    total = 0
    for name in names:
        path = SOURCE.joinpath(*name.split(".")[1:])
        total += statements(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))
    return total


def loaded_by(module, *words):
    """Run a module as a command; its exit code, what it printed, and what it has loaded at the end."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, module, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    *said, last = done.stdout.splitlines()
    code, loaded = json.loads(last)
    return code, "\n".join(said) + done.stderr, loaded
