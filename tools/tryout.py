"""Install the wheel into a clean environment and type the README in:
``python -m tools.tryout dist PYTHON...``.

Every Python that runs here is tried, and those that do not are named; at least one must run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cli.pages import ROOT, Command, steps, type_in

LEFT_OUT = ("pip install ", "make ")
"""What the environment stands for: the wheel is installed already."""


def version(python: str) -> str | None:
    """Which version it is, or None where it does not run."""
    try:
        done = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout.split()[1]


def places(python: str) -> list[str]:
    """Where it may be: on the path, or among those that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [python, *map(str, kept.glob(f"{python.removeprefix('python')}.*/bin/{python}"))]


def try_out(wheel: Path, python: str) -> None:
    """README's commands and examples, with nothing but the wheel and what it asks for."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", f"{folder}/venv"], check=True)
        subprocess.run([f"{folder}/venv/bin/pip", "install", "--quiet", str(wheel)], check=True)
        (Path(folder) / "desk").mkdir()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["PATH"] = f"{folder}/venv/bin:{environment['PATH']}"
        page = ROOT / "README.md"
        asked = [
            step
            for step in steps(page.read_text())
            if not (isinstance(step, Command) and step.line.startswith(LEFT_OUT))
        ]
        for command, code, out in type_in(asked, f"{folder}/desk", environment):
            if code not in (0, 1, 3) or (command.shown.strip() and out.rstrip() != command.shown.rstrip()):
                raise SystemExit(f"$ {command.line}\n{out}[exit {code}]\nREADME.md shows:\n{command.shown}")
        doctest = [f"{folder}/venv/bin/python", "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", str(page)]
        subprocess.run(doctest, cwd=f"{folder}/desk", env=environment, check=True)


def main(dist: str, pythons: list[str]) -> None:
    """Try the wheel of this folder with each Python."""
    (wheel,) = Path(dist).resolve().glob("*.whl")
    tried = 0
    for python in pythons:
        if place := next(filter(version, places(python)), None):
            try_out(wheel, place)
            tried += 1
            print(f"{python}: README holds with Python {version(place)}")
        else:
            print(f"{python}: not here")
    if not tried:
        raise SystemExit("no Python to try the wheel with")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
