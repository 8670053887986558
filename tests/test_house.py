"""The tree keeps the shape that CONTRIBUTING.md describes: rooms, public names, light imports."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import sugenet

SOURCE = Path(sugenet.__file__).parent
ROOMS = [
    "errors",
    "files",
    "drawn",
    "capacity",
    "bits",
    "bnn",
    "checker",
    "problem",
    "engines",
    "reason",
    "io",
    "fit",
    "show",
    "data",
    "web",
    "cli",
]
"""Bottom to top: a room imports from itself and from rooms before it."""

KEEP_OUT = {
    "torch": {"fit", "io"},
    "numba": {"bits", "checker", "engines", "reason"},
    "llvmlite": {"bits", "engines"},
    "ortools": {"engines"},
    "pysat": {"engines", "reason"},
    "scipy": {"engines", "reason", "fit"},
    "matplotlib": {"show"},
    "sklearn": {"fit", "data"},
    "onnx": {"io"},
    "h5py": {"io"},
    "fastapi": {"web"},
    "starlette": {"web"},
    "pydantic": {"web"},
    "uvicorn": {"web"},
}
"""Heavy third parties and the only rooms that may import them."""

FILES = sorted(
    path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py" and path.name != "__main__.py"
)


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write it out"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return names


def complaints(path: Path) -> list[str]:
    room, found = room_of(path), []
    if room not in ROOMS:
        return [f"{path.name}: no room called {room}"]
    for name in imported(path):
        parts = name.split(".")
        if (
            parts[0] == "sugenet"
            and len(parts) > 1
            and parts[1] in ROOMS
            and ROOMS.index(parts[1]) > ROOMS.index(room)
        ):
            found.append(f"{path.name} in {room} imports {name}, a room above it")
        if parts[0] in KEEP_OUT and room not in KEEP_OUT[parts[0]]:
            found.append(
                f"{path.name} in {room} imports {parts[0]}, which belongs to {sorted(KEEP_OUT[parts[0]])}"
            )
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_before_it(path):
    assert not complaints(path)


def test_the_room_test_can_fail(tmp_path, monkeypatch):
    (tmp_path / "capacity").mkdir()
    bad = tmp_path / "capacity" / "bad.py"
    bad.write_text("from sugenet.bnn import Neuron\nimport torch\n")
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    assert len(complaints(bad)) == 3


MODULES = [
    "sugenet",
    *(
        module.name
        for module in pkgutil.walk_packages([str(SOURCE)], "sugenet.")
        if not module.name.endswith("__main__")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_all_names_what_is_importable_and_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    public = getattr(module, "__all__", None)
    assert public is not None, f"{name} has no __all__"
    assert list(public) == sorted(set(public), key=public.index)
    for item in public:
        value = getattr(module, item)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{item} has no docstring"
    own = {
        item
        for item, value in vars(module).items()
        if getattr(value, "__module__", None) == name and not item.startswith("_")
    }
    assert own <= set(public), f"{name}: put into __all__ or begin with an underscore"


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
    for name, (room, origin) in names.items():
        loaded = (
            importlib.import_module(f"sugenet.{origin}")
            if room == "sugenet"
            else getattr(importlib.import_module(room), origin)
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
