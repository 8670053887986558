"""Docstrings of all public names, those of `nn`, `reason` and `sweeps` too: summary, each parameter with its
type and its default, Returns, Raises, an example, See Also. Names that lack something are listed; the list
may only shrink.
"""

import inspect
import re
from types import ModuleType
from typing import is_typeddict

import pytest

import sugenet as sg
from sugenet import nn, reason, sweeps
from sugenet.reason.envelope import Answered

LACKING: set[str] = set()
"""Names whose docstrings are not complete yet. Take names away, add none."""

RAISES_NOTHING = {
    "AnyInput",
    "summary",
    "nn.bit",
    "nn.decode",
    "nn.is_gap",
    "nn.lam_of",
    "nn.moment_of",
    "nn.range_labels",
    "reason.NetworkRule",
    "reason.Rules",
}
GIVEN = {
    "ComparedNetworks",
    "Counterfactuals",
    "Overview",
    "Rectified",
    "Results",
    "nn.Accumulator",
    "nn.Condition",
    "nn.LayerSummary",
    "nn.LayerTrace",
    "nn.Move",
    "nn.NeuronReasons",
    "nn.RawNeuron",
    "nn.RawRule",
    "nn.Summary",
    "nn.Trace",
    "nn.Turn",
    "reason.AnswerCheck",
    "reason.Chain",
    "reason.ComparedScores",
    "reason.FirstDifference",
    "reason.Inflated",
    "reason.RuleFigures",
    "sweeps.AccuracyCurve",
    "sweeps.CheckedResults",
    "sweeps.Row",
    "sweeps.SweepTally",
}
"""Types that verbs give and nobody makes, besides answers: they need no parameters."""


def named(module, prefix=""):
    """The types and functions among the public names of a module."""
    every = {f"{prefix}{name}": getattr(module, name) for name in module.__all__}
    return {
        name: thing
        for name, thing in every.items()
        if callable(thing) and not isinstance(thing, ModuleType) and not is_typeddict(thing)
    }


NAMES = named(sg)
for package in (nn, reason, sweeps):
    known = {id(thing) for thing in NAMES.values()}
    more = named(package, f"{package.__name__.rpartition('.')[2]}.")
    NAMES |= {name: thing for name, thing in more.items() if id(thing) not in known}


def sections(text):
    """The summary of a docstring, and its sections by title."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(section):
    """The parameters of a section, each with its type and its text."""
    entries = re.findall(r"^(\w+) : (.+(?:\n +.*)*)", section, flags=re.MULTILINE)
    return dict(entries)


def lacks(name):
    """What the docstring of a public name lacks."""
    thing = NAMES[name]
    found = sections(inspect.getdoc(thing) or "")
    is_type = inspect.isclass(thing)
    is_given = is_type and (issubclass(thing, Answered) or name in GIVEN)
    wanted = ["Examples", "See Also"]
    if not is_given and name not in RAISES_NOTHING:
        wanted.append("Raises")
    if not is_type:
        wanted.append("Returns")
    missing = [title for title in wanted if not found.get(title, "").strip()]
    if not found[""].strip().partition("\n\n")[0].endswith("."):
        missing.append("a summary that ends with a period")
    if is_given:
        return missing
    texts = documented(found.get("Parameters", ""))
    for parameter in inspect.signature(thing).parameters.values():
        has_default = parameter.default is not parameter.empty
        if parameter.name not in texts:
            missing.append(f"parameter {parameter.name}")
        elif has_default and "default: " not in texts[parameter.name]:
            missing.append(f"default of {parameter.name}")
    return missing


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_documented(name):
    if name.endswith("Classifier"):
        pytest.importorskip("sklearn")
    missing = lacks(name)
    if name in LACKING:
        assert missing, f"{name} lacks nothing: take it off the list"
    else:
        assert missing == []


def test_the_list_has_public_names_only():
    assert set(NAMES) >= LACKING


IMPERATIVES = {
    *("Check", "Close", "Count", "Describe", "Draw", "Learn", "Predict", "Raise", "Read", "Recompute"),
    *("Return", "Summarize", "Write", "Yield"),
}
"""First words of the docstrings of methods."""

HELD = [name for name in NAMES if inspect.isclass(NAMES[name]) and issubclass(NAMES[name], Answered)] + [
    *("AnyInput", "BNNClassifier", "Box", "Free", "Hamming", "L0", "L1", "L2", "Linf", "Network", "Neuron"),
    *("Prices", "Results", "Rulebook", "SugenoClassifier", "nn.Encoder"),
]
"""Types that people hold: their methods have parameters and results in full."""

OF_ANSWERS = {"known", "of"}
"""Methods that only the reader of answers calls."""


def methods(thing):
    """Public methods and properties of a type that this project defines, by name."""
    for name in dir(thing):
        value = inspect.getattr_static(thing, name)
        owner = next(kind for kind in thing.__mro__ if name in vars(kind))
        function = getattr(value, "__func__", value)
        if name.startswith("_") or not owner.__module__.startswith("sugenet"):
            continue
        if inspect.isfunction(function) or isinstance(value, property):
            yield name, function


def method_lacks(name, function, *, is_held):
    """What the docstring of a method or a property lacks."""
    found = sections(inspect.getdoc(function) or "")
    summary = found[""].strip().partition("\n\n")[0]
    missing = [] if summary.endswith((".", ":")) else ["a summary that ends with a period"]
    if not inspect.isfunction(function):
        return missing
    if summary.partition(" ")[0] not in IMPERATIVES:
        missing.append(f"an imperative summary, not {summary!r}")
    signature = inspect.signature(function)
    asked = [one for key, one in signature.parameters.items() if key not in ("self", "cls")]
    if not is_held or not asked or name in OF_ANSWERS:
        return missing
    texts = documented(found.get("Parameters", ""))
    for parameter in asked:
        if parameter.name not in texts:
            missing.append(f"parameter {parameter.name}")
        elif parameter.default is not parameter.empty and "default: " not in texts[parameter.name]:
            missing.append(f"default of {parameter.name}")
    if signature.return_annotation not in ("None", None) and not {"Returns", "Yields"} & set(found):
        missing.append("Returns")
    return missing


def test_methods_of_public_types_are_documented():
    """A summary for each method and property; parameters and results for types that people hold."""
    wrong = {}
    for kind in (name for name in NAMES if inspect.isclass(NAMES[name])):
        for name, function in methods(NAMES[kind]):
            missing = method_lacks(name, function, is_held=kind in HELD)
            if missing:
                wrong[f"{kind}.{name}"] = missing
    assert wrong == {}
