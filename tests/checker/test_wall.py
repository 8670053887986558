"""The wall around the checker: it imports the definition and the errors, and runs where nothing else is."""

import ast
import json
import pickle
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import sugenet as sg
from sugenet.checker.learned_form import RatedSamples
from sugenet.errors import CertificateError
from sugenet.reason.envelope import kind_of
from tests.checker import make_golden
from tests.checker.test_learned import ANSWERS as LEARNED
from tests.checker.typed import without_form

SOURCE = Path(sg.__file__).parent
FILES = [f"{name}.py" for name in ("visible", "errors", "files", "compiling", "reprs", "plottable")]
BELOW = [name for name in (*FILES, "capacity", "bits", "nn") if (SOURCE / name).exists()]
"""What the definition itself needs."""
OPEN_TO = ("nn", "checker", "compiling", "errors", "reading", "visible")

ALONE = """
import json, pickle, sys
from pathlib import Path
from sugenet.checker import check
from sugenet.errors import CertificateError

networks, rows = pickle.loads(Path(sys.argv[1]).read_bytes())
said = []
for network, other, certificate in rows:
    try:
        said.append(check(certificate, networks[network], networks.get(other), plain=PLAIN))
    except CertificateError as error:
        said.append(f"{type(error).__name__}: {error}")
packages = {name.split(".")[1] for name in sys.modules if name.startswith("sugenet.")}
print(json.dumps([said, sorted(packages), sys.modules["sugenet.checker"].__file__]))
"""
HOOK = """
import sys

class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("sugenet.") and name.split(".")[1] not in PACKAGES:
            raise ImportError(f"{name} is behind the wall")

sys.meta_path.insert(0, Wall())
"""


def imported(path):
    """Modules of this package that a file imports, and the names that it takes from them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            yield from ((node.module, alias.name) for alias in node.names)


def test_the_checker_imports_itself_and_one_file_of_it_the_definition():
    files = sorted((SOURCE / "checker").rglob("*.py"))
    assert len(files) > 20
    for path in files:
        for module, name in imported(path):
            if module.split(".")[0] == "sugenet":
                allowed = module.split(".")[1] in (
                    "checker",
                    "compiling",
                    "errors",
                    "reading",
                    "visible",
                )
                is_own = module.split(".")[1] == "nn" and path.name == "origin.py"
                assert allowed or is_own, (path.name, module)
                assert not name.startswith("_"), (path.name, module, name)


def some_of_each(rows, many=3):
    """Of each kind of question, answer and proof the first few."""
    kept = {}
    for row in rows:
        certificate = row["certificate"]
        proof = kind_of(certificate["proof"])
        kept.setdefault((certificate["question"]["kind"], certificate["answer"], proof), []).append(row)
    return [row for same in kept.values() for row in same[:many]]


def about_ratings():
    """Certificates of what was learned from ratings, as found and with another claim."""
    for name, (ratings, ask) in LEARNED.items():
        found = dict(ask().certificate)
        for forged in (found, found | {"answer": "fits"}, found | {"error": "7"}):
            try:
                said = sg.check(forged, ratings)
            except CertificateError as error:
                said = f"{type(error).__name__}: {error}"
            yield {"network": name, "other": None, "certificate": forged, "said": said}


def asked_alone(tmp_path, chosen, where, *, plain):
    """What the checker says in a process of its own, where only the packages below are importable."""
    networks = make_golden.stored()["networks"] | {
        name: RatedSamples(*(getattr(ratings.samples, part.name) for part in fields(RatedSamples)))
        for name, (ratings, _) in LEARNED.items()
    }
    rows = [(row["network"], row["other"], row["certificate"]) for row in chosen]
    (tmp_path / "asked").write_bytes(pickle.dumps((networks, rows)))
    packages = {name.removesuffix(".py") for name in [*BELOW, "checker"]}
    code = (
        f"{HOOK.replace('PACKAGES', repr(packages))}\n"
        f"sys.path.insert(0, {str(where)!r})\n"
        f"{ALONE.replace('PLAIN', str(plain))}"
    )
    command = [sys.executable, "-I", "-c", code, str(tmp_path / "asked")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, loaded, file = json.loads(done.stdout)
    assert Path(file).is_relative_to(where)
    assert set(loaded) <= packages
    return said


def test_the_checker_runs_where_every_other_package_is_locked(tmp_path):
    chosen = [*some_of_each(make_golden.stored()["certificates"]), *about_ratings()]
    assert len(chosen) > 90 + 3 * len(LEARNED)
    assert asked_alone(tmp_path, chosen, SOURCE.parent, plain=False) == [row["said"] for row in chosen]


@pytest.mark.slow
def test_the_checker_can_be_copied_out(tmp_path):
    package = tmp_path / "copied" / "sugenet"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in [*BELOW, "checker"]:
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(SOURCE / name, package / name)
    chosen = [*some_of_each(make_golden.stored()["certificates"], 1), *about_ratings()]
    said = asked_alone(
        tmp_path, chosen, package.parent, plain=True
    )  # what is compiled would be compiled anew
    pairs = zip(chosen, said, strict=True)
    small = [(row["said"], words) for row, words in pairs if kind_of(row["certificate"]["proof"]) != "drup"]
    assert len(small) > 30 + 3 * len(LEARNED)
    assert all(without_form(first) == without_form(second) for first, second in small)
