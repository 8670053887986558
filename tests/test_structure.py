"""The source keeps the structure that CONTRIBUTING.md describes: packages and their order, the separate
checker, public names, light imports, words. Each rule is a function from a tree to its complaints, and is
tested on a bad tree, too.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import sugenet

SOURCE = Path(sugenet.__file__).parent

ORDERS = {
    "sugenet": [
        "visible",
        "errors",
        "files",
        "reading",
        "orphans",
        "compiling",
        "reprs",
        "plottable",
        "fields",
        "frames",
        "capacity",
        "bits",
        "nn",
        "checker",
        "problem",
        "engines",
        "reason",
        "logic",
        "io",
        "spiking",
        "fit",
        "sweeps",
        "glance",
        "show",
        "data",
        "web",
        "cli",
    ],
    "sugenet.problem": [
        "query",
        "clock",
        "moves",
        "neighbourhood",
        "boxes",
        "regions",
        "goal",
        "first_layer",
        "cascade",
        "problem",
        "formula",
        "pairs",
    ],
    "sugenet.engines": ["protocol", "TEMPLATE", "bounds", "walk", "hard", "ladder"],
    "sugenet.engines.hard": ["dual", "learn", "outside", "reals"],
    "sugenet.reason": [
        "phrases",
        "questions",
        "shown",
        "envelope",
        "verdicts",
        "comparison",
        "counterfactuals",
        "counts",
        "reasons",
        "rules",
        "demands",
        "rectifying",
        "asking",
        "rechecking",
    ],
    "sugenet.logic": [
        "readings",
        "formulas",
        "parsing",
        "degrees",
        "rulebases",
        "search",
        "integral",
        "composed",
        "addition",
        "sudoku",
        "stated",
        "envelopes",
        "answers",
        "asking",
        "changing",
    ],
    "sugenet.io": [
        "plain",
        "native",
        "samples",
        "vnnlib_parsing",
        "vnnlib",
        "exports",
        "refutations",
        "exact",
        "hdf5",
        "proof",
        "c99",
        "arrays",
        "pynq",
        "torch",
        "onnx",
        "tflite",
        "gates",
        "larq",
        "nir",
        "marabou",
        "tables",
        "tsetlin",
        "importers",
        "competition",
        "agreement",
        "TEMPLATE",
    ],
}
"""Bottom to top: what stands in a package imports from itself and from what stands before it."""

WALLED = {
    "sugenet.checker": {
        "sugenet.checker",
        "sugenet.nn",
        "sugenet.errors",
        "sugenet.compiling",
        "sugenet.reading",
        "sugenet.visible",
    }
}
"""Rooms that import nothing of the project but these."""

FORMAT = "sugenet.checker.form"
"""The certificate format, whose classes have the names of the questions, regions and answers they spell."""

KEEP_OUT = {
    "torch": {"fit", "io"},
    "numba": {"compiling", "bits", "checker", "engines", "reason"},
    "llvmlite": {"bits", "checker", "engines"},
    "ortools": {"engines"},
    "pysat": {"engines", "logic", "reason"},
    "scipy": {"engines", "fit", "reason"},
    "matplotlib": {"show"},
    "sklearn": {"fit", "data"},
    "onnx": {"io"},
    "h5py": {"io"},
    "joblib": {"sweeps"},
    "sqlite3": {"sweeps"},
    "pyarrow": {"sweeps"},
    "fastapi": {"web"},
    "starlette": {"web"},
    "pydantic": {"web"},
    "uvicorn": {"web"},
    "anywidget": {"web"},
    "traitlets": {"web"},
}
"""Heavy third parties and the only packages that import them."""

CIRCLES = {frozenset({"sugenet.cli.commands", "sugenet.cli.complete"})}
"""Files that import each other, inside functions: the command that completes all commands, itself among
them.
"""


# -- reading a tree ------------------------------------------------------------------------------------------


def files_of(source: Path) -> dict[str, Path]:
    """The modules of a tree, by name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def syntax(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, outer ones first."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@cache
def imports_of(path: Path, *, typing: bool = True) -> tuple[tuple[str, str | None], ...]:
    """What a file imports, anywhere in it: modules, and the name that is taken from each.

    Relative imports begin with a dot; without `typing` those for type checkers alone are left out.
    """
    skipped = {
        inner
        for node in syntax(path)
        if isinstance(node, ast.If) and not typing and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    imported: list[tuple[str, str | None]] = []
    for node in syntax(path):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            imported += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            imported += [(origin, alias.name) for alias in node.names]
    return tuple(imported)


def looked_up(path: Path) -> Iterator[str]:
    """Modules that a file names when it is called; `drawn` must do so, since drawing lies above it."""
    for node in syntax(path):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
            yield from (name.value for name in node.args if isinstance(name, ast.Constant))


def targets_of(path: Path, modules: dict[str, Path], *, typing: bool = True) -> set[str]:
    """The modules of the tree that a file imports."""
    found = set()
    for module, name in imports_of(path, typing=typing):
        longer = f"{module}.{name}"
        found.add(longer if longer in modules else module)
    return found & set(modules)


# -- the rules -----------------------------------------------------------------------------------------------


def out_of_order(source: Path, orders: dict[str, list[str]]) -> list[str]:
    """Imports of what stands above."""
    modules, found = files_of(source), []
    for module, path in modules.items():
        for target in targets_of(path, modules):
            for package, order in orders.items():
                mine, theirs = child(module, package), child(target, package)
                if mine is None or module == "sugenet.__main__":
                    continue
                if target == package and package != "sugenet":
                    found.append(f"{module} imports {package}, the package that it is in")
                elif theirs and mine in order and theirs in order and order.index(theirs) > order.index(mine):
                    found.append(f"{module} imports {target}, which stands above it")
    return found


def child(module: str, package: str) -> str | None:
    """What of a package a module is or is in; None for the package itself and all others."""
    return module.removeprefix(package + ".").partition(".")[0] if module.startswith(package + ".") else None


def without_place(source: Path, orders: dict[str, list[str]]) -> list[str]:
    """What stands in no order of its package, and places where nothing stands."""
    found = []
    for package, order in orders.items():
        there = {child(module, package) for module in files_of(source)} - {None, "__main__"}
        found += [f"{package}.{name} has no place in the order" for name in sorted(there - set(order))]
        found += [f"{package}.{name} has a place and is not there" for name in sorted(set(order) - there)]
        found += [f"{package} has {len(order) - len(set(order))} places twice"] * (
            len(order) > len(set(order))
        )
    return found


def through_walls(source: Path, walled: dict[str, set[str]]) -> list[str]:
    """Imports of packages that a separate package must not use."""
    modules = files_of(source)
    return [
        f"{module} imports {target}, which the checker must not use"
        for package, open_to in walled.items()
        for module, path in modules.items()
        if module == package or child(module, package)
        for target in targets_of(path, modules)
        if not any(target == other or child(target, other) for other in open_to)
    ]


def not_written_out(source: Path) -> list[str]:
    """Relative imports, and those of other files' private names."""
    return [
        f"{module} imports {name} from {origin or 'here'}"
        for module, path in files_of(source).items()
        for origin, name in imports_of(path)
        if origin.startswith(".")
        or (
            origin.split(".")[0] == "sugenet"
            and (name or "").startswith("_")
            and not str(name).endswith("__")
        )
    ]


def packages_that_import(source: Path, packages: set[str]) -> dict[str, set[str]]:
    """For each package the packages that import it."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in files_of(source).items():
        for origin in (*(name for name, _ in imports_of(path)), *looked_up(path)):
            package = origin.partition(".")[0]
            if package in packages:
                found[package].add(child(module, "sugenet") or "sugenet")
    return dict(found)


def circles(source: Path) -> set[frozenset[str]]:
    """Files each of which reaches the others by imports; those for type checkers do not count."""
    modules = files_of(source)
    after = {module: targets_of(path, modules, typing=False) - {module} for module, path in modules.items()}

    @cache
    def reach(start: str) -> frozenset[str]:
        seen, left = set(), [start]
        while left:
            for target in after[left.pop()] - seen:
                seen.add(target)
                left.append(target)
        return frozenset(seen)

    return {
        frozenset(other for other in reach(module) if module in reach(other))
        for module in modules
        if module in reach(module)
    }


def doubled_classes(source: Path) -> dict[str, list[str]]:
    """Names that more than one class has, private ones included; those of the format are apart."""
    found = defaultdict(list)
    for module, path in files_of(source).items():
        if module == FORMAT:
            continue
        for node in syntax(path):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


def names_of(package: str) -> list[str]:
    """A package and all modules in it."""
    root = importlib.import_module(package)
    names = [module.name for module in pkgutil.walk_packages(root.__path__, f"{package}.")]
    return [package, *(name for name in names if not name.endswith("__main__"))]


def shadowed(package: str) -> list[str]:
    """Modules that are hidden behind something else of their name, once everything is imported."""
    modules = {name: importlib.import_module(name) for name in names_of(package)}
    pairs = [(name, *name.rpartition(".")[::2]) for name in modules if name != package]
    return [name for name, package, last in pairs if getattr(modules[package], last) is not modules[name]]


def with_two_names(package: str) -> list[str]:
    """Classes and functions that are public under more than one name."""
    names = defaultdict(set)
    for module in map(importlib.import_module, names_of(package)):
        for item in getattr(module, "__all__", ()):
            value = getattr(module, item)
            if inspect.isclass(value) or inspect.isfunction(value):
                names[value].add(item)
    return [f"{value.__module__}.{value.__qualname__}" for value, given in names.items() if len(given) > 1]


# -- the source ----------------------------------------------------------------------------------------------


def test_packages_and_what_stands_in_them_import_only_what_stands_before():
    assert out_of_order(SOURCE, ORDERS) == []


def test_everything_has_its_place_and_every_place_is_taken():
    assert without_place(SOURCE, ORDERS) == []
    assert list(sugenet._PACKAGES) == ORDERS["sugenet"]


def test_the_guide_and_the_tests_follow_the_packages():
    root = SOURCE.parents[1]
    table = re.findall(r"^\| `(\w+)(?:\.py|/)` \|", (root / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert table == ORDERS["sugenet"]
    folders = {path.name for path in (root / "tests").iterdir() if path.is_dir() and path.name[0] not in "_."}
    assert folders - {"fuzzing", "tools", "zoo"} <= set(ORDERS["sugenet"])


def test_the_checker_is_separate():
    assert through_walls(SOURCE, WALLED) == []


def test_imports_are_written_out():
    assert not_written_out(SOURCE) == []


def test_heavy_packages_are_imported_by_these_packages_and_no_others():
    assert packages_that_import(SOURCE, set(KEEP_OUT)) == KEEP_OUT


def test_files_import_each_other_in_no_circle():
    assert circles(SOURCE) == CIRCLES


def test_no_two_classes_have_one_name():
    assert doubled_classes(SOURCE) == {}


def test_no_module_is_hidden():
    assert shadowed("sugenet") == []


def test_what_is_public_has_one_name():
    assert with_two_names("sugenet") == []


# -- the rules can fail --------------------------------------------------------------------------------------


def plant(folder: Path, files: dict[str, str]) -> Path:
    """A small tree of a package called sugenet, or as its first name says."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / next(iter(files)).split("/")[0]


ORDER = {"sugenet": ["low", "high"], "sugenet.high": ["first", "second"]}
GOOD = {
    "sugenet/__init__.py": "",
    "sugenet/low.py": "import os",
    "sugenet/high/__init__.py": "from sugenet.high.second import two",
    "sugenet/high/first.py": "from sugenet.low import one",
    "sugenet/high/second.py": "from sugenet.high import first\nfrom sugenet.high.first import Two",
}


def test_a_good_tree_has_no_complaints(tmp_path):
    tree = plant(tmp_path, GOOD)
    assert out_of_order(tree, ORDER) == without_place(tree, ORDER) == not_written_out(tree) == []
    assert through_walls(tree, {"sugenet.high": {"sugenet.high", "sugenet.low"}}) == []
    assert circles(tree) == set()
    assert doubled_classes(tree) == packages_that_import(tree, {"torch"}) == {}


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("low.py", "from sugenet.high import two", "sugenet.low imports sugenet.high, which stands above it"),
        (
            "low.py",
            "def f():\n    import sugenet.high.first",
            "imports sugenet.high.first, which stands above",
        ),
        (
            "high/first.py",
            "from sugenet.high.second import x",
            "imports sugenet.high.second, which stands above",
        ),
        (
            "high/first.py",
            "from sugenet.high import second",
            "imports sugenet.high.second, which stands above",
        ),
        ("high/first.py", "from sugenet.high import two", "imports sugenet.high, the package that it is in"),
    ],
)
def test_what_is_out_of_order_is_seen(tmp_path, file, text, said):
    found = out_of_order(plant(tmp_path, GOOD | {f"sugenet/{file}": text}), ORDER)
    assert len(found) == 1
    assert said in found[0]


def test_places_without_packages_and_packages_without_places_are_seen(tmp_path):
    tree = plant(tmp_path, GOOD | {"sugenet/high/third.py": ""})
    order = {"sugenet": ["low", "high", "high", "attic"], "sugenet.high": ["first", "second"]}
    assert without_place(tree, order) == [
        "sugenet.attic has a place and is not there",
        "sugenet has 1 places twice",
        "sugenet.high.third has no place in the order",
    ]


def test_a_hole_in_the_wall_is_seen(tmp_path):
    tree = plant(tmp_path, GOOD)
    assert through_walls(tree, {"sugenet.high": {"sugenet.high"}}) == [
        "sugenet.high.first imports sugenet.low, which the checker must not use"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from .low import one", ["sugenet.bad imports one from .low"]),
        ("from sugenet.low import _one", ["sugenet.bad imports _one from sugenet.low"]),
        ("from sugenet import __version__", []),
        ("from ctypes import _Pointer", []),
    ],
)
def test_imports_that_are_not_written_out_are_seen(tmp_path, text, found):
    assert not_written_out(plant(tmp_path, GOOD | {"sugenet/bad.py": text})) == found


def test_heavy_packages_are_seen_wherever_they_are_imported(tmp_path):
    late = {
        "sugenet/low.py": "import_module('scipy.stats')",
        "sugenet/high/first.py": "def f():\n    import torch.nn",
    }
    tree = plant(tmp_path, GOOD | late)
    assert packages_that_import(tree, {"torch", "scipy", "onnx"}) == {"torch": {"high"}, "scipy": {"low"}}


def test_circles_are_seen(tmp_path):
    late = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sugenet.high import second"
    assert circles(plant(tmp_path, GOOD | {"sugenet/high/first.py": late})) == set()
    tree = plant(
        tmp_path / "other", GOOD | {"sugenet/low.py": "def f():\n    from sugenet.high import first"}
    )
    assert circles(tree) == {frozenset({"sugenet.low", "sugenet.high.first"})}


def test_classes_of_one_name_are_seen(tmp_path):
    tree = plant(
        tmp_path, GOOD | {"sugenet/low.py": "class _A: ...", "sugenet/high/first.py": "class _A: ..."}
    )
    assert doubled_classes(tree) == {"_A": ["sugenet.high.first", "sugenet.low"]}


def test_hidden_modules_and_second_names_are_seen(tmp_path, monkeypatch):
    """A function in the place of its module, and a class under two names."""
    plant(
        tmp_path,
        {
            "shed/__init__.py": "from shed.verify import verify",
            "shed/verify.py": "def verify(): ...\n__all__ = ['verify']",
            "shed/other.py": "class A: ...\nB = A\n__all__ = ['A', 'B']",
        },
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert shadowed("shed") == ["shed.verify"]
        assert with_two_names("shed") == ["shed.other.A"]
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "shed"]:
            del sys.modules[name]


# -- names and weight ----------------------------------------------------------------------------------------


def unnamed(name):
    """What a module lacks: a docstring, names in `__all__`, docstrings of these."""
    module = importlib.import_module(name)
    public = getattr(module, "__all__", None)
    if not module.__doc__ or public is None:
        return [f"{name} has no docstring or no __all__"]
    values = {item: getattr(module, item) for item in public}
    found = [
        f"{name}.{item} has no docstring"
        for item, value in values.items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and not inspect.getdoc(value)
    ]
    own = {item for item, value in vars(module).items() if getattr(value, "__module__", None) == name}
    missing = sorted(item for item in own - set(public) if not item.startswith("_"))
    found += [f"{name}.{item}: put it into __all__ or begin with an underscore" for item in missing]
    return found + [f"{name}: __all__ names something twice"] * (len(set(public)) < len(public))


def test_all_names_what_is_importable_and_documented():
    assert [words for name in names_of("sugenet") for words in unnamed(name)] == []


def test_names_that_are_missing_are_seen(tmp_path, monkeypatch):
    text = '"""Words."""\ndef a(): ...\ndef b():\n    """Words."""\n__all__ = ["a", "a"]\n'
    plant(tmp_path, {"hut/__init__.py": text})
    monkeypatch.syspath_prepend(tmp_path)
    assert unnamed("hut") == [
        "hut.a has no docstring",
        "hut.b: put it into __all__ or begin with an underscore",
        "hut: __all__ names something twice",
    ]
    del sys.modules["hut"]


def test_root_names_come_from_where_types_say():
    """What is loaded when first asked for is what a reader of the types is told."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    said = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sugenet")
    ]
    names = {alias.asname or alias.name: (node.module, alias.name) for node in said for alias in node.names}
    assert set(names) == set(sugenet.__all__)
    for name, (package, origin) in names.items():
        loaded = (
            importlib.import_module(f"sugenet.{origin}")
            if package == "sugenet"
            else getattr(importlib.import_module(package), origin)
        )
        assert getattr(sugenet, name) is loaded
    assert set(sugenet.__all__) <= set(dir(sugenet))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sugenet.nothing  # noqa: B018


HEAVY = (
    "numpy",
    "numba",
    "torch",
    "ortools",
    "pysat",
    "scipy",
    "matplotlib",
    "sklearn",
    "fastapi",
    "pydantic",
    "uvicorn",
)


def loaded_by(code: str) -> list[str]:
    """Heavy libraries that some code loads in a process of its own."""
    told = f"{code}\nimport sys\nprint('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()[1:]


def test_import_is_light():
    assert loaded_by("import sugenet") == []
    assert loaded_by("import sugenet as sg; sg.load, sg.verify, sg.models, sg.capacity") == ["numpy"]
    assert loaded_by("import numba") != []  # the question can be answered with something


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["why", "--help"],
        ["whatiff"],
        ["predict", "digits", "--indx", "7"],
        ["why", "nowhere.sugenet"],
    ],
)
def test_help_and_errors_load_nothing_heavy(words):
    code = f"from sugenet.cli import main\ntry:\n    main({words!r})\nexcept SystemExit:\n    pass"
    assert loaded_by(code) == []


# -- words ---------------------------------------------------------------------------------------------------

RETIRED = {
    *("brief", "drawn", "telling", "paying", "keeps", "front", "hunt", "hunting", "leeway", "beforehand"),
    *("everyone", "stair", "stairs", "judge", "judges"),
}
"""Words that no module, class, function, parameter or local variable has in its name."""
AS_VERBS = {"drawn", "keeps"}
"""Those of them that say what a test or the page does: a file keeps its columns, a rule is drawn."""
EMPTY = {"found", "given", "own", "said", "most", "least", "many", "place", "places"}
"""Names that say nothing about a value: no local variable has them."""
KEPT = {"drawn", "_drawn", "most_common"}
"""Names about random draws, one of them a JSON field, and one of Python."""


def words_in(name: str) -> set[str]:
    """The words of a name in either spelling."""
    return {word.lower() for word in re.findall(r"[a-z]+|[A-Z][a-z]*", name)}


def retired(source: Path) -> list[str]:
    """Names with retired words, and local variables whose names say nothing."""
    complaints = []
    for module, path in files_of(source).items():
        names = {(1, module.rpartition(".")[2])}
        empty = set()
        for node in syntax(path):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.add((node.lineno, node.name))
            elif isinstance(node, ast.arg):
                names.add((node.lineno, node.arg))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add((node.lineno, node.id))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                stored = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
                empty |= {(one.lineno, one.id) for one in stored if isinstance(one.ctx, ast.Store)}
        bad = {one for one in names if words_in(one[1]) & RETIRED and one[1] not in KEPT}
        bad |= {one for one in empty if one[1] in EMPTY}
        complaints += [f"{module}, line {line}: {name}" for line, name in sorted(bad)]
    return complaints


def test_names_have_no_retired_word():
    assert retired(SOURCE) == []


def test_names_of_tests_and_of_the_page_have_no_retired_word():
    tests = dict.fromkeys(Path(__file__).parent.rglob("test_*.py"), r"^ *def (test_\w+)")
    page = dict.fromkeys(SOURCE.rglob("*.js"), r"^(?:export )?(?:async )?function (\w+)")
    for path, form in (tests | page).items():
        names = [path.stem, *re.findall(form, path.read_text(), re.MULTILINE)]
        assert [one for one in names if words_in(one) & (RETIRED - AS_VERBS)] == [], path.name


def test_retired_words_are_seen(tmp_path):
    text = "def hunt(x):\n    if x:\n        found = 1\n    return StairConv(x)\nclass StairConv: ..."
    tree = plant(tmp_path, {"sugenet/__init__.py": "", "sugenet/low.py": text})
    assert retired(tree) == [
        "sugenet.low, line 1: hunt",
        "sugenet.low, line 3: found",
        "sugenet.low, line 5: StairConv",
    ]


def test_the_glossary_is_short():
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text().partition("## Glossary")[2]
    assert 20 <= len(re.findall(r"^\| (?!word|--)", page, re.MULTILINE)) <= 60
