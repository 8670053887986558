import csv
import gzip
import os
import random
import re
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.errors import FileError, SugenetError
from sugenet.io.vnnlib import parse_vnnlib, read_vnnlib, write_vnnlib
from sugenet.nn import DenseLayer, Encoder, Head, Network
from sugenet.problem.query import BIT_LIMIT, Case, Inequality, Query, QueryBox
from tests.io.queries import around

BITS = Network.of_bits([], Head([[1, 1], [-1, -1]]))
HEAD = "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)\n"
BOUNDED = HEAD + "(assert (and (<= 0 X_0 1) (<= 0 X_1 1)))\n"

decimals = st.decimals(-1000, 1000, places=3).map(Fraction)
rationals = (
    st.fractions(-100, 100, max_denominator=60)
    | decimals
    | st.floats(-1e3, 1e3).map(Fraction)
    | st.integers(-9, 9).map(Fraction)
)


@st.composite
def inequalities(draw, outputs):
    terms = draw(st.dictionaries(st.integers(0, outputs - 1), rationals.filter(bool), min_size=1, max_size=3))
    return Inequality(terms, draw(rationals))


@st.composite
def queries(draw, inputs=4, outputs=4):
    n, m = draw(st.integers(1, inputs)), draw(st.integers(1, outputs))
    cases = []
    for _ in range(draw(st.integers(0, 3))):
        ends = [
            sorted(pair) for pair in draw(st.lists(st.tuples(rationals, rationals), min_size=n, max_size=n))
        ]
        condition = draw(st.lists(st.lists(inequalities(m), max_size=3), max_size=3))
        cases.append(Case(QueryBox([low for low, _ in ends], [high for _, high in ends]), condition))
    if cases and draw(st.booleans()):
        cases = [Case(case.box, cases[0].condition) for case in cases]
    return Query(n, m, cases)


# -- there and back ------------------------------------------------------------------------------------------


@given(queries())
def test_text_reads_back_to_an_equal_query(query):
    text = query.to_text()
    again = parse_vnnlib(text)
    assert again == query
    assert hash(again) == hash(query)
    assert again.to_text() == text


@given(queries())
def test_layout_does_not_matter(query):
    text = query.to_text()
    spread = re.sub(r"([()])", r" \1 ; (comment\n\t", text)
    assert parse_vnnlib(spread) == parse_vnnlib(text.replace("\n", "\r\n")) == query


def test_files_plain_and_compressed(tmp_path):
    query = around([Fraction(1, 3), 0.1, 7], eps=Fraction(1, 7), label=2, outputs=4)
    for name in ("a.vnnlib", "a.vnnlib.gz"):
        write_vnnlib(query, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        assert read_vnnlib(tmp_path / name) == query
        write_vnnlib(query, str(tmp_path / name))
        assert (tmp_path / name).read_bytes() == first
    assert (tmp_path / "a.vnnlib.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert gzip.decompress((tmp_path / "a.vnnlib.gz").read_bytes()) == (tmp_path / "a.vnnlib").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.vnnlib", "a.vnnlib.gz"]


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("195.00000000", Fraction(195)),
        ("0.1", 0.1),
        ("1/10", Fraction(1, 10)),
        ("-0.1", -0.1),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1e-3", 0.001),
        ("-2.50E+2", Fraction(-250)),
        ("(- 2.5)", Fraction(-5, 2)),
        ("(- 1 2 3)", Fraction(-4)),
        ("(+ 1 (* 2 3.5 (- 1)))", Fraction(-6)),
        ("0e4000", Fraction(0)),
        ("000100", Fraction(100)),
        ("1e4001", None),
        ("1e-3999", 0),
        (f"{2**53 + 1}", 2**53 + 1),
        (f"{2**53 + 1}.0", 2**53),
        ("9" * 4000, Fraction(10**4000 - 1)),
    ],
)
def test_numbers_are_exact(spelling, value):
    text = f"(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= {spelling} X_0 {spelling}))"
    if value is None:
        with pytest.raises(FileError, match="beyond all floats"):
            parse_vnnlib(text)
        return
    query = parse_vnnlib(text)
    assert query.cases[0].box == QueryBox([value], [value])
    assert parse_vnnlib(query.to_text()) == query


def test_the_text_is_what_other_readers_know():
    text = around([0.5, 3], eps=0.25, label=0, outputs=2, low=0, high=3).to_text()
    lines = [line for line in text.splitlines() if not line.startswith(";")]
    assert lines == [
        *(f"(declare-const {name} Real)" for name in ("X_0", "X_1", "Y_0", "Y_1")),
        *(
            "(assert (>= X_0 0.25))",
            "(assert (<= X_0 0.75))",
            "(assert (>= X_1 2.75))",
            "(assert (<= X_1 3.0))",
        ),
        *("(assert (or", "  (and (>= Y_1 Y_0))", "))"),
    ]


# -- what a query means --------------------------------------------------------------------------------------


def formula_text(tree):
    if tree[0] in ("and", "or"):
        return f"({tree[0]} {' '.join(map(formula_text, tree[1]))})"
    sign, terms, bound = tree
    return f"({sign} (+ {' '.join(f'(* {value} {name})' for name, value in terms)}) {bound})"


def formula_holds(tree, values):
    if tree[0] == "and":
        return all(formula_holds(part, values) for part in tree[1])
    if tree[0] == "or":
        return any(formula_holds(part, values) for part in tree[1])
    sign, terms, bound = tree
    total = sum(value * values[name] for name, value in terms)
    return total <= bound if sign == "<=" else total >= bound


signs = st.sampled_from(["<=", ">="])
small = st.integers(-2, 2)
atoms = st.tuples(signs, st.lists(st.tuples(st.sampled_from(["X_0"]), small), min_size=1, max_size=2), small)
atoms |= st.tuples(
    signs, st.lists(st.tuples(st.sampled_from(["Y_0", "Y_1"]), small), min_size=1, max_size=3), small
)
trees = st.recursive(
    atoms,
    lambda part: st.tuples(st.sampled_from(["and", "or"]), st.lists(part, min_size=1, max_size=3)),
    max_leaves=8,
)


@given(st.lists(trees, max_size=3))
def test_meaning_is_that_of_the_formula(assertions):
    """Every point of a small grid, by evaluating the formula as it is written."""
    text = "(declare-const X_0 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)(assert (<= -2 X_0 2))"
    query = parse_vnnlib(text + "".join(f"(assert {formula_text(tree)})" for tree in assertions))
    assert parse_vnnlib(query.to_text()) == query
    for x, *y in product([-3, -2, -1, -0.5, 0, 0.5, 1, 2], [-1, 0, 0.5, 2], [-2, 0, 1]):
        expected = abs(x) <= 2 and all(
            formula_holds(tree, {"X_0": x, "Y_0": y[0], "Y_1": y[1]}) for tree in assertions
        )
        assert query.violated_by([x], y) == expected


@given(queries(inputs=1, outputs=2), st.lists(st.integers(-100, 100), min_size=3, max_size=3))
def test_violated_by_and_contains_by_definition(query, numbers):
    x, y = numbers[:1], numbers[1 : 1 + query.outputs]
    inside = [case for case in query.cases if case.box.lower[0] <= x[0] <= case.box.upper[0]]
    assert query.contains(x) == bool(inside)
    met = [
        all(sum(value * y[k] for k, value in part.terms) >= part.bound for part in conjunction)
        for case in inside
        for conjunction in case.condition
    ]
    assert query.violated_by(x, y) == any(met)


@given(queries(inputs=2, outputs=1))
def test_whole_numbers_keeps_the_whole_points_and_only_shrinks(query):
    whole = query.integer_bounds()
    assert whole.integer_bounds() == whole
    for case in whole.cases:
        assert all(end.denominator == 1 for end in (*case.box.lower, *case.box.upper))
        assert query.contains(case.box.lower)
        assert query.contains(case.box.upper)
    near = sorted(
        {
            int(end) + d
            for case in query.cases
            for end in (*case.box.lower, *case.box.upper)
            for d in (-1, 0, 1)
        }
    )[:12]
    for x in product(near, repeat=query.inputs):
        assert query.violated_by(x, [0]) == whole.violated_by(x, [0])


def test_robustness_of_a_network_by_trying_every_input():
    rng = np.random.default_rng(0)
    for seed in range(20):
        weights, last = rng.choice([-1, 1], (5, 3)), rng.choice([-1, 1], (3, 5))
        network = Network(
            Encoder.of_integers(3, 0, 2),
            [DenseLayer(np.repeat(weights, 2, axis=1), rng.integers(1, 6, 5))],
            Head(last),
        )
        center = rng.integers(0, 3, 3)
        label = int(network.predict([center])[0])
        query = around(center, 1, label, 3, low=0, high=2)
        assert query.label == label
        text = query.to_text()
        for x in product(range(3), repeat=3):
            scores = network.head.scores(network.match_counts([x]))[0]
            wanted = np.abs(np.array(x) - center).max() <= 1 and any(
                scores[k] >= scores[label] for k in range(3) if k != label
            )
            assert parse_vnnlib(text).violated_by(x, scores) == wanted, seed


def test_a_float_is_the_number_it_holds():
    query = parse_vnnlib(HEAD + "(assert (<= 0.1 X_0 0.1)) (assert (<= 0 X_1 1))")
    assert query.contains([Decimal("0.1"), 0])
    assert query.contains([0.1, np.float32(0.5)])
    assert not query.contains([Fraction(1, 10), 0])
    assert query.contains(np.array([[Fraction(0.1)], [1]], dtype=object))


def test_spellings_of_a_half_space_are_one_value():
    for spelling in (
        "(>= Y_0 Y_1)",
        "(<= Y_1 Y_0)",
        "(<= (- Y_1 Y_0) 0)",
        "(>= (* 3 Y_0) (+ Y_1 Y_1 (* 1.0 Y_1)))",
        "(<= (- Y_0) (- Y_1))",
    ):
        assert parse_vnnlib(BOUNDED + f"(assert {spelling})").cases[0].condition == (
            (Inequality({0: 1, 1: -1}, 0),),
        )


def test_trivial_conditions():
    assert parse_vnnlib(BOUNDED).violated_by([0, 0], [5, 5])
    for never in ("(<= 1 0)", "(>= (- Y_0 Y_0) 1)", "(and (>= X_0 0.75) (<= X_0 0.25))", "(<= X_1 -1)"):
        query = parse_vnnlib(BOUNDED + f"(assert {never})")
        assert query.cases == ()
        assert not query.contains([0, 0])
        assert parse_vnnlib(query.to_text()) == query
    always = parse_vnnlib(BOUNDED + "(assert (or (>= Y_0 3) (<= 0 0)))")
    assert always.cases[0].condition == ((),)


def test_boxes_with_conditions_of_their_own():
    text = HEAD + (
        "(assert (or (and (<= 0 X_0 1) (<= 0 X_1 1) (>= Y_0 5)) (and (<= 2 X_0 3) (<= 0 X_1 1) (<= Y_1 0))))"
    )
    query = parse_vnnlib(text)
    assert [case.box.lower for case in query.cases] == [(0, 0), (2, 0)]
    assert query.violated_by([1, 1], [5, 9])
    assert not query.violated_by([2, 1], [5, 9])
    assert query.violated_by([2, 1], [4, 0])
    assert parse_vnnlib(query.to_text()) == query


@pytest.mark.parametrize(
    ("condition", "label"),
    [
        ("(or (and (>= Y_0 Y_1)) (and (>= Y_2 Y_1)))", 1),
        ("(or (<= Y_2 Y_1) (<= Y_2 Y_0))", 2),
        ("(or (>= Y_0 Y_1) (>= Y_2 Y_0))", None),
        ("(or (>= Y_0 Y_1))", None),
        ("(and (>= Y_0 Y_1) (>= Y_2 Y_1))", None),
        ("(>= Y_0 0)", None),
    ],
)
def test_label(condition, label):
    names = "".join(f"(declare-const {name} Real)" for name in ("X_0", "Y_0", "Y_1", "Y_2"))
    assert parse_vnnlib(f"{names}(assert (<= 0 X_0 1))(assert {condition})").label == label


# -- refusals ------------------------------------------------------------------------------------------------

REFUSED = [
    ("", "line 1, column 1: the input X_0 is not declared"),
    ("hello", "line 1, column 1: hello is outside of brackets"),
    (")", r"line 1, column 1: \) is outside"),
    ("(declare-const X_0 Real", "never closed. Is the file whole"),
    (HEAD + "(assert (< X_0 1))", r"line 2, column 10: < is not supported\. Supported are declare-const"),
    (HEAD + "(check-sat)", "line 2, column 2: check-sat is not supported"),
    (HEAD + "\n  (assert (= Y_0 1))", "line 3, column 12: = is not supported"),
    (HEAD + "(assert (not (<= Y_0 1)))", "not is not supported"),
    (HEAD + "(assert (<= (/ 1 3) Y_0))", "/ is not supported"),
    (HEAD + "(declare-const X_2 Int)", "line 2, column 1: a declaration must be like"),
    (HEAD + "(declare-const Z_0 Real)", "a declaration must be like"),
    (HEAD + "(declare-const X_00 Real)", "a declaration must be like"),
    (HEAD + "(declare-const (X_2) Real)", "X_2 is not supported"),
    (HEAD + "(declare-const X_0 Real)", "X_0 is declared twice"),
    (HEAD + "(declare-const X_3 Real)", "the input X_2 is not declared"),
    ("(declare-const X_0 Real)", "the output Y_0 is not declared"),
    (HEAD + "(assert (<= X_7 1))", "X_7 is not declared"),
    (HEAD + "(assert (<= x 1))", "x is not a number or variable"),
    (HEAD + "(assert (<= Y_0 1_000))", "1_000 is not a number"),
    (HEAD + "(assert (<= Y_0 ١))", "is not a number"),
    (HEAD + "(assert (<= Y_0 e5))", "is not a number"),
    (HEAD + "(assert (<= Y_0 .))", "is not a number"),
    (HEAD + "(assert (<= Y_0 nan))", "nan is not a number"),
    (HEAD + "(assert (<= Y_0))", "at least two"),
    (HEAD + "(assert (and))", "and is empty"),
    (HEAD + "(assert ())", "must begin with the name"),
    (HEAD + "(assert ((<= Y_0 1)))", "must begin with the name"),
    (HEAD + "(assert Y_0)", "assert takes conditions"),
    (HEAD + "(assert (and Y_0 (<= Y_0 1)))", "and takes conditions"),
    (HEAD + "(assert (<= (<= Y_0 1) 1))", "<= takes numbers"),
    (HEAD + "(assert (<= Y_0 1) (<= Y_1 1))", "assert takes one condition, not 2"),
    (HEAD + "(assert (assert (<= Y_0 1)))", "assert must not be nested"),
    (HEAD + "(assert (<= Y_0 (declare-const X_2 Real)))", "declare-const must not be nested"),
    (HEAD + "(and (<= Y_0 1))", "and must be in assert"),
    (HEAD + "(assert (<= (* Y_0 Y_1) 1))", "only linear"),
    (HEAD + "(assert (<= X_0 X_1))", "only boxes of inputs"),
    (HEAD + "(assert (<= X_0 Y_1))", "only boxes of inputs"),
    (HEAD + "(assert (<= 0 X_0 1))(assert (<= X_1 1))", "X_1 has no lower bound"),
    (HEAD + "(assert (<= 0 X_0 1))(assert (>= X_1 1))", "X_1 has no upper bound"),
    (BOUNDED + "(assert (or (<= X_0 0.5) (<= Y_0 1)", "never closed"),
]


@pytest.mark.parametrize(("text", "match"), REFUSED, ids=range(len(REFUSED)))
def test_refused_with_place_and_reason(text, match):
    with pytest.raises(FileError, match=match) as caught:
        parse_vnnlib(text)
    assert str(caught.value).startswith("line ")


HOSTILE = {
    "deep": BOUNDED + "(assert " + "(and " * 1_000_000,
    "deep sums": BOUNDED + "(assert (<= " + "(+ 1 " * 100_000 + "1" + ")" * 100_000 + " Y_0))",
    "huge exponent": BOUNDED + "(assert (<= Y_0 1e999999999))",
    "long exponent": BOUNDED + "(assert (<= Y_0 1e" + "9" * 1_000_000 + "))",
    "long number": BOUNDED + "(assert (<= Y_0 " + "9" * 10_000_000 + "))",
    "product": BOUNDED + "(assert (<= Y_0 (* " + "1e3000 " * 100_000 + ")))",
    "long sum": BOUNDED + "(assert (<= Y_0 (+ " + "1e-3000 1e3000 " * 1000 + ")))",
    "whole numbers": BOUNDED + "(assert (<= (* 1e3000 Y_0) (* 1e-3000 Y_1)))",
    "power set": BOUNDED + "".join(f"(assert (or (<= Y_0 {i}) (<= Y_1 {i})))" for i in range(10_000)),
    "power set of boxes": BOUNDED
    + "".join(f"(assert (or (<= X_0 {i}) (<= X_1 {i})))" for i in range(10_000)),
    "one large product": BOUNDED + f"(assert (and {'(or (<= Y_0 1) (<= Y_1 2) (<= Y_0 Y_1)) ' * 1000}))",
    "open": "(" * 10_000_000,
    "close": ")" * 10_000_000,
    "NUL": "\0" * 1_000_000,
    "words": "(declare-const X_0 Real)(" + "a " * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused(text):
    with pytest.raises(FileError, match=r"^line \d+, column \d+: ") as caught:
        parse_vnnlib(text)
    assert len(str(caught.value)) < 300


def test_many_conjunctions_are_not_a_power_set():
    rows = " ".join(f"(and (<= Y_0 {i}) (>= Y_1 {i}))" for i in range(5_000))
    assert len(parse_vnnlib(BOUNDED + f"(assert (or {rows}))").cases[0].condition) == 5_000
    rows = " ".join(f"(<= Y_0 {i})" for i in range(5_000))
    assert len(parse_vnnlib(BOUNDED + f"(assert (and {rows}))").cases[0].condition[0]) == 5_000


def test_a_comment_or_space_of_any_size_is_no_harm():
    assert parse_vnnlib("; " + "(" * 1_000_000 + "\n" * 1_000_000 + BOUNDED) == parse_vnnlib(BOUNDED)


@given(st.integers(0, 10_000))
def test_garbled_text_is_read_or_refused(seed):
    """Nothing but `FileError` comes out of a text with a few changes."""
    rng = random.Random(seed)
    text = around([1, 2], eps=Fraction(1, 3), label=0, outputs=3).to_text()
    for _ in range(rng.randint(1, 4)):
        place, other = rng.randrange(len(text)), rng.randrange(len(text))
        piece = rng.choice(["(", ")", "", "-", "X_1", "Y_0", "1e99", "\0", "and", text[other : other + 9]])
        text = text[:place] + piece + text[place + rng.choice([0, 1, 5]) :]
    try:
        query = parse_vnnlib(text)
    except FileError:
        return
    assert parse_vnnlib(query.to_text()) == query


def test_bad_files(tmp_path):
    with pytest.raises(FileError, match=r"nowhere.*No such file.*Check the path"):
        read_vnnlib(tmp_path / "nowhere.vnnlib")
    with pytest.raises(FileError, match="Is a directory"):
        read_vnnlib(tmp_path)
    with pytest.raises(FileError, match="null"):
        read_vnnlib("a\0b")
    file = tmp_path / "bad.vnnlib"
    whole = gzip.compress(BOUNDED.encode())
    for raw, match in [
        (b"\xff\xfe\x00", "not text"),
        (whole[:-9], "a gzip archive that is (damaged|cut off)"),
        (whole[:12] + bytes([whole[12] ^ 255]) + whole[13:], "a gzip archive that is (damaged|cut off)"),
        (b"\x1f\x8b\x08", "a gzip archive that is (damaged|cut off)"),
        (b"\x1f\x8b" + b"x" * 100, "a gzip archive that is (damaged|cut off)"),
        (gzip.compress(b" " * (1 << 26) + b" "), "limit"),
        (gzip.compress(b"(declare-const X_0 Int)"), "line 1, column 1: a declaration"),
    ]:
        file.write_bytes(raw)
        with pytest.raises(FileError, match=match) as caught:
            read_vnnlib(file)
        assert str(file) in str(caught.value)
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "no folder" / "a.vnnlib", tmp_path / "folder", "a\0b"):
        with pytest.raises(FileError, match="cannot be written"):
            write_vnnlib(parse_vnnlib(BOUNDED), path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.vnnlib", "folder"]
    file.write_bytes(b"\xef\xbb\xbf" + BOUNDED.encode())
    assert read_vnnlib(file) == parse_vnnlib(BOUNDED)


def test_what_cannot_be_written_is_refused():
    for value in (Fraction(1, 3**9000), Fraction(1, 2**13289), Fraction(2 ** (BIT_LIMIT + 1))):
        with pytest.raises(FileError, match="more than 4000 digits"):
            Query(1, 1, [Case(QueryBox([value], [value]), [[]])]).to_text()
    fits = Query(1, 1, [Case(QueryBox([Fraction(1, 2**5000)], [Fraction(7**4000, 3)]), [[]])])
    assert parse_vnnlib(fits.to_text()) == fits


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: QueryBox([1], [0]), "X_0 has the lower bound 1 above its upper bound 0"),
        (lambda: QueryBox([2**100], [0]), r"about 2\^100"),
        (lambda: QueryBox([1, 2], [3]), "2 lower and 1 upper"),
        (lambda: QueryBox([float("nan")], [0]), "X_0 is nan, which is not a finite number"),
        (lambda: Inequality({}, 0), "without an output"),
        (lambda: Inequality({0: 0}, 0), "without an output"),
        (lambda: Inequality([(0, 1), (0, 1)], 0), "twice"),
        (lambda: Inequality({-1: 1}, 0), "an output is -1"),
        (lambda: Inequality({0: "1"}, 0), "coefficient of Y_0 is the text '1'"),
        (lambda: Query(0, 1, []), "needs inputs and outputs"),
        (lambda: Query(2, 1, [Case(QueryBox([0], [1]), [])]), "bounds 1 inputs, but the query has 2"),
        (lambda: Query(1, 1, [Case(QueryBox([0], [1]), [[Inequality({1: 1}, 0)]])]), "names Y_1"),
        (lambda: Query.around(BITS, [0, 1], -1), "must not be negative"),
        (lambda: Query.within([0], [1], 2, 2), "label=2 is not a class"),
        (lambda: Query.around(BITS, [0, 1], [1]), "eps has 1 values, but 2 are needed"),
        (lambda: around([5], 1, 0, 2, high=3), "the box is empty"),
        (lambda: around([0], 1, 0, 2).contains([0, 0]), "X has 2 values, but 1 are needed"),
        (lambda: around([0], 1, 0, 2).violated_by([0], [0]), "Y has 1 values, but 2 are needed"),
    ],
)
def test_wrong_values_are_named(make, match):
    with pytest.raises(SugenetError, match=match):
        make()


# -- the queries of a competition ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def traffic():
    if "SUGENET_ZOO" not in os.environ:
        pytest.skip("SUGENET_ZOO names no folder of public networks")
    return Path(os.environ["SUGENET_ZOO"]) / "traffic"


@pytest.mark.slow
def test_the_traffic_sign_queries(traffic):
    with open(traffic / "instances.csv", newline="") as stream:
        names = [Path(row[1]).name for row in csv.reader(stream)]
    assert sorted(f"{name}.gz" for name in names) == sorted(path.name for path in traffic.glob("*.vnnlib.gz"))
    assert len(names) == 15
    labels, centers = {}, {}
    for name in sorted(names, key=lambda name: float(name.split("_")[-1].removesuffix(".vnnlib"))):
        index, eps = re.fullmatch(r"model_30_idx_(\d+)_eps_([\d.]+)\.vnnlib", name).groups()
        query = read_vnnlib(traffic / f"{name}.gz")
        assert (query.inputs, query.outputs, len(query.cases)) == (2700, 43, 1)
        box = query.cases[0].box
        labels.setdefault(index, set()).add(query.label)
        if index not in centers:  # from the smallest box, which is cut off at 0 and 255
            centers[index] = [
                low + 1 if low else high - 1 for low, high in zip(box.lower, box.upper, strict=True)
            ]
        center = centers[index]
        assert query == around(center, Fraction(eps), query.label, 43, low=0, high=255)
        assert query.integer_bounds() == query
        assert query.contains(center)
        assert parse_vnnlib(query.to_text()) == query
    assert labels == {"7040": {3}, "8258": {33}, "11985": {7}}
