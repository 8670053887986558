"""Every public function spells out its options, and its docstring says what they are."""

import inspect
from importlib import import_module

import pytest

PUBLIC = [
    "sugenet",
    "sugenet.bits",
    "sugenet.nn",
    "sugenet.capacity",
    "sugenet.checker",
    "sugenet.data",
    "sugenet.engines",
    "sugenet.fit",
    "sugenet.fit.estimators",
    "sugenet.fit.sugeno.estimators",
    "sugenet.io",
    "sugenet.logic",
    "sugenet.problem",
    "sugenet.reason",
    "sugenet.show",
    "sugenet.sweeps",
    "sugenet.web",
]
BY_QUESTION = {"ask", "is_settled", "settings_of", "sweep", "Suffices.of", "QuantizedView.of"}
"""What takes the settings of a kind of question, or the fields of a class: which, another argument says."""


def callables(package):
    """Public functions and classes of a package, and the public methods of the classes, by name."""
    module = import_module(package)
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and not issubclass(thing, dict | Exception):
            yield name, thing
            for part in vars(thing):
                method = getattr(thing, part)
                if not part.startswith("_") and (inspect.isfunction(method) or inspect.ismethod(method)):
                    yield f"{name}.{part}", method


def open_ended(thing):
    parameters = inspect.signature(thing).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD]


@pytest.mark.parametrize("package", PUBLIC)
def test_no_public_function_hides_its_options(package):
    if package.startswith("sugenet.fit.est"):
        pytest.importorskip("sklearn")
    for name, thing in callables(package):
        hidden = open_ended(thing)
        assert not hidden or name in BY_QUESTION, f"{package}: {name} takes **{hidden[0]}: spell it out."


def test_the_test_sees_what_is_hidden():
    def hides(x, **options):
        return x, options

    assert open_ended(hides) == ["options"]


IMPORTERS = [
    "from_logic_gates",
    "from_state_dict",
    "from_torch",
    "import_file",
    "read_bnn_pynq",
    "read_bnnquanalyst",
    "read_ipq",
    "read_larq",
    "read_npz",
    "read_onnx",
    "read_tflite",
]


@pytest.mark.parametrize(
    "name", [*IMPORTERS, "read_samples", "verify_against", "export", "read_vnnlib", "read_query"]
)
def test_help_on_reading_has_every_option(name):
    io = import_module("sugenet.io")
    function = getattr(io, name)
    documented = {
        word.strip(" ,`")
        for line in inspect.cleandoc(function.__doc__).splitlines()
        if line and not line.startswith(" ")
        for word in line.partition(" : ")[0].split(",")
    }
    assert set(inspect.signature(function).parameters) <= documented


def test_importers_take_the_same_options():
    io = import_module("sugenet.io")
    common = {"inputs", "zero", "strict", "names", "classes", "image", "prove"}
    every = {name: inspect.signature(getattr(io, name)).parameters for name in IMPORTERS}
    for parameters in every.values():
        assert common <= set(parameters)
        assert [parameters[name].default for name in sorted(common)] == [
            None,
            None,
            None,
            None,
            True,
            True,
            None,
        ]
    files = [parameters for name, parameters in every.items() if name != "from_logic_gates"]
    own = set().union(*files) - {"source", "path", "folder", "module", "example"}
    assert set(every["import_file"]) == own | {"path"}
