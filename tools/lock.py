"""Write the lock files of CI: every package that development installs, with its version and hash.

``python -m tools.lock`` asks pip what it would install on this machine. Users have the ranges of
``pyproject.toml``; CI installs what the lock files name, and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {"requirements-core.lock": [str(ROOT)], "requirements.lock": [f"{ROOT}[dev]"]}
BUILD = ["editables", "hatchling"]
"""What builds the package itself."""


def resolved(wanted: list[str]) -> list[str]:
    """What pip would install, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*pip, "--report", str(report), *wanted, *BUILD], check=True)
        found = json.loads(report.read_text())["install"]
    lines = []
    for package in found:
        name, version = package["metadata"]["name"], package["metadata"]["version"].partition("+")[0]
        digest = package["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if name != "sugenet":
            lines.append(f"{name.lower()}=={version} --hash=sha256:{digest}")
    return sorted(lines)


def main() -> None:
    """Write both files."""
    python = ".".join(map(str, sys.version_info[:2]))
    about = f"# For CI: Linux on x86_64, Python {python}. Written by `make lock`.\n"
    for name, wanted in FILES.items():
        (ROOT / name).write_text(about + "\n".join(resolved(wanted)) + "\n")


if __name__ == "__main__":
    main()
