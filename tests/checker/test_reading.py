"""The strict reader: every type against every kind of JSON value, and objects field by field."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan
from typing import Any, ClassVar, Literal

import pytest

from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.form import Bound, Closure, InputDomain, Lemma, Limit, Proof, read_certificate
from sugenet.checker.reading import (
    ClassIndex,
    Feature,
    Features,
    Integer,
    Natural,
    Nested,
    Number,
    Row,
    Rows,
    Scalar,
    Sizes,
    Tree,
    exact,
    read,
)
from sugenet.errors import CertificateError
from tests.checker.test_golden import golden
from tests.checker.test_wall import some_of_each

SIZES = Sizes(features=2, classes=3)
HUGE = 1 << 40_000
INTEGERS = [-1, 0, 1, 2, 3, 10**30]
FLOATS = [-0.0, 0.5, 1.0, -2.0, 5e-324, 1e300]
TEXTS = ["", "1", "-7/2", "x", "true", "null", "9" * 4300, "9" * 4301, "QUJD"]
LISTS = [[], [0], [1, 0], [0, 0], [0, 2], [[0]], [[0, 1], [1, 1]], [True], [1.0], ["1"], [None]]
OBJECTS = [{}, {"kind": "bound"}]
EVERYTHING = [None, True, False, *INTEGERS, HUGE, -HUGE, *FLOATS, nan, inf, -inf, *TEXTS, *LISTS, *OBJECTS]

ACCEPTED: dict[Any, list[Any]] = {
    Integer: INTEGERS,
    Natural: INTEGERS[1:],
    Number: [*INTEGERS, *FLOATS, "1", "-7/2", "9" * 4300],
    Scalar: [None, True, False, *INTEGERS, *FLOATS, *TEXTS],
    Feature: [0, 1],
    ClassIndex: [0, 1, 2],
    Features: [[], [0], [1, 0]],
    Row: [[1, 0], [0, 0], [0, 2]],
    Rows: [[1, 0], [0, 0], [0, 2], [[0, 1], [1, 1]]],
    Tree: [*INTEGERS, [], [0], [1, 0], [0, 0], [0, 2], [[0]], [[0, 1], [1, 1]]],
    Nested: OBJECTS,
    bool: [True, False],
    str: TEXTS,
    None: [None],
    Literal["x", 1]: ["x", 1],
    Integer | None: [None, *INTEGERS],
    tuple[Integer, ...]: [[], [0], [1, 0], [0, 0], [0, 2]],
    tuple[Integer, Natural]: [[1, 0], [0, 0], [0, 2]],
    str | tuple[Integer, ...]: [*TEXTS, [], [0], [1, 0], [0, 0], [0, 2]],
    Bound: [{"kind": "bound"}],
    Bound | None: [None, {"kind": "bound"}],
}
"""For each type all values of `EVERYTHING` that it has."""


def same(a, b):
    """Whether two JSON values are the same, in type too."""
    return (
        type(a) is type(b) and repr(a) == repr(b) if not isinstance(a, int) else type(a) is type(b) and a == b
    )


@pytest.mark.parametrize("kind", ACCEPTED, ids=str)
def test_a_type_has_its_own_values_and_no_others(kind):
    for value in EVERYTHING:
        if any(same(value, one) for one in ACCEPTED[kind]):
            read(kind, value, SIZES, "it")
        else:
            with pytest.raises(CertificateError, match=r"^it(:| is)"):
                read(kind, value, SIZES, "it")


def test_what_values_are_read_as():
    for value in (-1, 0, 10**30):
        assert same(read(Integer, value, SIZES, "it"), value)
    for value, number in (
        (1, 1),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(0.1)),
        (-0.0, 0),
        ("-7/2", Fraction(-7, 2)),
    ):
        found = read(Number, value, SIZES, "it")
        assert type(found) is Fraction
        assert found == number
    for value in (True, 1, 1.0, "1", None):
        assert same(read(Scalar, value, SIZES, "it"), value)
    assert read(Tree, [1, [2, []]], SIZES, "it") == (1, (2, ()))
    assert read(Rows, [1, "a"], SIZES, "it") == ((1, "a"),)
    assert read(Rows, [[1, "a"], [2, None]], SIZES, "it") == ((1, "a"), (2, None))


@pytest.mark.parametrize(
    "text",
    [
        *("01", "-0", "+1", " 1", "1 ", "1\n", "1.0", "1e3", "1_0", "\uff11", "0x1", "1/1", "2/4", "0/5"),
        *("1/0", "1/-2", "--1", "/2", "1/", "-", "1/02", "inf", "nan", f"1/{'9' * 4301}"),
    ],
)
def test_a_number_has_one_spelling_as_text(text):
    with pytest.raises(CertificateError, match=r"is needed, not|not in lowest terms"):
        exact(text)


def test_a_number_may_have_a_least_value():
    assert exact("1/2", least=0) == Fraction(1, 2)
    with pytest.raises(CertificateError, match="must not be below 0"):
        exact("-1/2", least=0)


@dataclass(frozen=True)
class Pair:
    """An object with a field that has a default."""

    tag: ClassVar[tuple[str, str]] = ("kind", "pair")
    first: Integer
    second: Integer | None = None
    third: Number = Fraction(0)


@dataclass(frozen=True)
class Other:
    """Another object of a union."""

    tag: ClassVar[tuple[str, str]] = ("kind", "other")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"kind": "pair"}, "pair has no field 'first'"),
        ({"first": 1}, "no field 'kind'|unknown kind null"),
        ({"kind": "Pair", "first": 1}, "unknown kind 'Pair'"),
        ({"kind": ["pair"], "first": 1}, "unknown kind a list"),
        ({"kind": None, "first": 1}, "unknown kind null"),
        (
            {"kind": "other", "first": 1},
            "other has a field 'first' that it must not have|unknown kind 'other'",
        ),
        ({"kind": "pair", "first": 1, "fourth": 1}, "pair has a field 'fourth' that it must not have"),
        ({"kind": "pair", "first": 1, "tag": 1}, "pair has a field 'tag' that it must not have"),
        ({"kind": "pair", "first": 1, "second": None}, "second must be left out if it is null"),
        ({"kind": "pair", "first": 1, "third": 0}, "third must be left out if it is 0"),
        ({"kind": "pair", "first": 1, "third": "0"}, "third must be left out if it is '0'"),
        ({"kind": "pair", "first": 1, "third": -0.0}, "third must be left out if it is -0.0"),
        ({"kind": "pair", "first": True}, "first: an integer is needed, not True"),
        ({"kind": "pair", "first": [1]}, "first: an integer is needed, not a list"),
        ({"kind": "pair", "first": 1, "second": {}}, "second: an integer is needed, not a JSON object"),
        ([], "a JSON object is needed, not a list"),
        ("pair", "a JSON object is needed, not 'pair'"),
    ],
)
def test_an_object_has_its_fields_and_no_others(data, words):
    for kind in (Pair, Pair | Other):
        with pytest.raises(CertificateError, match=words):
            read(kind, data, SIZES, "it")


def test_a_field_with_a_default_may_be_there_with_another_value():
    assert read(Pair, {"kind": "pair", "first": 1}, SIZES, "it") == Pair(1)
    assert read(Pair, {"kind": "pair", "first": 1, "second": 0, "third": 1}, SIZES, "it") == Pair(
        1, 0, Fraction(1)
    )
    proof = {"kind": "lemma", "variables": 1, "facts": [], "cuts": [], "clauses": [[]]}
    assert read(Lemma, proof, SIZES, "it").encoding is None
    with pytest.raises(CertificateError, match="encoding must be left out if it is null"):
        read(Lemma, proof | {"encoding": None}, SIZES, "it")


def test_limits_are_pairs_or_lists_of_values():
    assert read(Limit, [None, "1/2"], SIZES, "it") == (None, Fraction(1, 2))
    assert read(Limit, {"one of": [True, "a"]}, SIZES, "it").values == (True, "a")
    for wrong in (
        [],
        [1],
        [1, 2, 3],
        ["a", None],
        [True, None],
        {"one of": []},
        {"one of": [[]]},
        {"values": [1]},
        3,
    ):
        with pytest.raises(CertificateError):
            read(Limit, wrong, SIZES, "it")
    for wrong in ({"limits": [], "laws": []}, {"limits": [[0, [0, 1]], [0, [0, 1]]], "laws": []}):
        with pytest.raises(CertificateError, match=r"must be left out|twice"):
            read(InputDomain, wrong, SIZES, "it")


def test_an_error_names_the_field_in_words_of_at_most_a_line():
    for long in ("x" * 500, HUGE, -HUGE, ["x"] * 500, {"x" * 500: 1}):
        proof = {"kind": "lemma", "variables": 1, "cuts": [], "clauses": [], "facts": [long]}
        with pytest.raises(CertificateError, match=r"^it: facts: an integer") as caught:
            read(Lemma, proof, SIZES, "it")
        assert len(str(caught.value)) < 150
    with pytest.raises(CertificateError, match="must not have") as caught:
        read(Bound, {"kind": "bound", "x" * 500: 1}, SIZES, "it")
    assert len(str(caught.value)) < 150


def test_what_is_nested_without_end_is_refused():
    tree: Any = 0
    closure: Any = {"by": "bounds", "mix": [1]}
    for _ in range(100_000):
        tree = [tree]
        closure = {"by": "split", "neuron": 0, "on": closure, "off": {"by": "bounds", "mix": []}}
    with pytest.raises(CertificateError, match="it is nested too deeply"):
        read(Tree, tree, SIZES, "it")
    with pytest.raises(CertificateError, match="it is nested too deeply"):
        read(Closure, closure, SIZES, "it")
    with pytest.raises(CertificateError, match="it: a JSON object is needed, not a list"):
        read(Proof, tree, SIZES, "it")


# -- whole certificates --------------------------------------------------------------------------------------


def places(data, path=()):
    """The integers of JSON data, as paths."""
    if type(data) is int:
        yield path
    for key, value in (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    ):
        yield from places(value, (*path, key))


def changed(data, path, value):
    """JSON data with another value at a path."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


RAW = {"sample", "witness", "one of", "contrasts"}
"""Fields that hold raw values, which may be of any type."""


def test_an_integer_of_a_certificate_is_not_spelled_in_another_way():
    refused = 0
    for row in some_of_each(golden()["certificates"]):
        network, certificate = golden()["networks"][row["network"]], row["certificate"]
        value = read_certificate(certificate, form_of(network))
        found = list(places(certificate))
        for path in found[:: len(found) // 20 + 1]:
            number = certificate
            for key in path:
                number = number[key]
            for other in (bool(number), float(number), str(number), f"{number}.0", None, [number], {}, HUGE):
                try:
                    said = read_certificate(changed(certificate, path, other), form_of(network))
                except CertificateError:
                    refused += 1
                    continue
                tree = isinstance(other, list) and path[0] == "proof"
                assert said == value or RAW & set(path) or other is None or tree, (row["name"], path, other)
                assert not isinstance(other, bool) or RAW & set(path), (row["name"], path, other)
    assert refused > 5000


def test_a_certificate_has_all_of_its_fields_and_no_others():
    for row in some_of_each(golden()["certificates"]):
        network, certificate = golden()["networks"][row["network"]], row["certificate"]
        objects = [(), ("question",), *([("proof",)] if isinstance(certificate["proof"], dict) else [])]
        for path in objects:
            inside = certificate[path[0]] if path else certificate
            for name in inside:
                if path == () and name == "domain":
                    continue
                fewer = {key: value for key, value in inside.items() if key != name}
                if name == "encoding":
                    continue
                with pytest.raises(CertificateError):
                    read_certificate(changed(certificate, path, fewer), form_of(network))
            with pytest.raises(CertificateError, match="must not have"):
                read_certificate(changed(certificate, path, inside | {"note": 1}), form_of(network))
