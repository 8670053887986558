"""What is shown can be typed back in: every value of a witness that text, JSON, pictures and the report show
gives the class that they promise, through the same face, and lies inside what was asked.
"""

import csv
import json
import re
from fractions import Fraction
from html import unescape
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.checker.form import exact
from sugenet.cli import main
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps, bit, integer
from sugenet.reason import Counterfactual, Refuted, answer_of
from sugenet.reason.phrases import short_number
from sugenet.reason.questions import raw_of
from sugenet.reason.shown import raw_cost, short_witness
from sugenet.show.figures import Strip
from tests.problem.clocks import hold
from tests.thinned import examples


@pytest.fixture(scope="module", autouse=True)
def held_clock():
    """No time passes: what a report says does not depend on how fast the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        hold(patch)
        yield


LINE = re.compile(r"(x\d+) from (\S+) to ([^\s;(]+)")
CUTS = [
    0.1 + 0.2,
    1e-7,
    1e17,
    -1e17,
    -2.5,
    0.0,
    1 / 3,
    float(np.float32(12.62)),
    1.675,
    5e-324,
    1e-300,
    123456.789012345,
    -0.7000000000000001,
    2.0**53 + 2,
]


@st.composite
def steps(draw):
    cuts = sorted(draw(st.sets(st.sampled_from(CUTS), min_size=1, max_size=3)))
    kind = draw(st.sampled_from(["plain", "domain", "whole", "bit", "integer"]))
    match kind:
        case "bit":
            return bit()
        case "integer":
            return integer(-2, 3)
        case "whole":
            return Steps(tuple(sorted({float(int(cut)) for cut in cuts})), whole=True)
        case "domain":
            return Steps(tuple(cuts), cuts[0] - 1e-3, cuts[-1] + 1e-3)
    return Steps(tuple(cuts))


def value_of(draw, coding):
    """A raw value, awkward ones too."""
    if isinstance(coding, OneHot):
        return draw(st.sampled_from(coding.categories))
    if coding.bipolar:
        return draw(st.sampled_from([-1, 1]))
    ends = [end for state in range(coding.states) for end in coding.interval(state) or ()]
    finite = sorted({end for end in ends if abs(end) != float("inf")})
    if coding.whole:
        return int(draw(st.sampled_from(finite)))
    near = [*finite, *((a + b) / 2 for a, b in pairwise(finite))]
    near += [Fraction(5, 2)] if coding.low < 2 and coding.high > 3 else []
    return draw(st.sampled_from(near))


@st.composite
def asked(draw):
    """A small network with awkward cuts, and a sample of it."""
    codings = draw(st.lists(steps() | st.just(OneHot(("left", "right"))), min_size=2, max_size=4))
    encoder = Encoder(codings)
    width, sign = encoder.width, st.sampled_from([-1, 1])
    rows = draw(st.lists(st.lists(sign, min_size=width, max_size=width), min_size=2, max_size=2))
    tau = draw(st.lists(st.integers(1, max(1, width - 1)), min_size=2, max_size=2))
    network = Network(encoder, [DenseLayer(rows, tau)], Head([[1, -1], [-1, 1]]), ["no", "yes"])
    return network, [value_of(draw, coding) for coding in codings]


def read(text, coding):
    """What somebody types: a category, a whole number, a decimal or a fraction."""
    if isinstance(coding, OneHot):
        return text
    if "/" in text:
        return Fraction(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def class_of(network, x):
    return network.classes[int(network.predict([list(x)], engine="definition")[0])]


def typed(network, sample, text):
    """The sample with the changes that a text names, each as it is spelled."""
    changed, places = list(sample), {name: place for place, name in enumerate(network.encoder.names)}
    for name, before, after in LINE.findall(text):
        coding = network.encoder.codings[places[name]]
        assert read(before, coding) == sample[places[name]]
        changed[places[name]] = read(after, coding)
    return changed


def looked_at(network, sample, answer):
    """Every face of one answer with a witness, read back in."""
    label = answer.label
    exact_one = answer.witness if isinstance(answer, Refuted) else answer.changed
    assert class_of(network, exact_one) == label
    assert class_of(network, typed(network, sample, str(answer).split(" (with just")[0])) == label
    data = json.loads(json.dumps(answer.data()))
    changes = data["changes"]
    names, codings = network.encoder.names, network.encoder.codings
    shown = list(sample)
    for name, (_, after) in changes.items():
        place = names.index(name)
        shown[place] = exact(after) if isinstance(after, str) and isinstance(codings[place], Steps) else after
    assert class_of(network, shown) == label
    assert shown == list(answer.example)
    assert class_of(network, raw_of(network, data["certificate"]["witness"])) == label
    assert str(answer_of(data, network)) == str(answer)
    for name, condition in data["conditions"].items():
        place = names.index(name)
        assert condition == codings[place].describe(name, codings[place].state(answer.example[place]))
    for place, (before, after) in enumerate(zip(sample, answer.example, strict=True)):
        if isinstance(codings[place], Steps) and codings[place].bipolar:
            assert after in (-1, 1)  # as the sample was written
        if before == after:
            assert before == exact_one[place]
    figure = sg.show.drawing(answer).figures[0]
    assert isinstance(figure, Strip)
    drawn = list(sample)
    for row in figure.rows:
        place = names.index(row.name)
        found = re.match(r"(\S+) \(", row.words)
        drawn[place] = read(found[1], codings[place]) if found else answer.example[place]
    assert class_of(network, drawn) == label


def test_costs_beyond_floats_are_exact():
    assert short_number(Fraction(10**400, 3), 1) == f"{10**400}/3"


@given(asked(), st.sampled_from([sg.L0, sg.L1, sg.L2, sg.Linf, sg.Hamming]))
def test_counterfactuals_can_be_typed_back_in(given_, cost):
    network, sample = given_
    answer = sg.whatif(network, sample, cost)
    if not isinstance(answer, Counterfactual):
        return
    looked_at(network, sample, answer)
    if cost in (sg.L1, sg.L2, sg.Linf):
        least, shown = (raw_cost(network, cost, sample, one) for one in (answer.changed, answer.example))
        assert least == answer.cost <= shown
        assert ("with just these values" in str(answer)) == (shown != least)
        within = sg.whatif(network, sample, cost, max_cost=least) if cost is not sg.L2 else answer
        if not isinstance(within, Counterfactual):  # costs that leave 60 bits are rounded, and it is open
            assert max(least.numerator, least.denominator) >> 50
            return
        if cost is not sg.L2:
            assert raw_cost(network, cost, sample, within.example) <= least


@given(asked(), st.sampled_from([sg.L1, sg.L2, sg.Linf, sg.L0]), st.integers(1, 8))
def test_refutations_can_be_typed_back_in_and_lie_in_the_region(given_, kind, radius):
    network, sample = given_
    answer = sg.verify(network, sg.Robust(sample, kind(radius)))
    if not isinstance(answer, Refuted) or not answer.changes():
        return
    looked_at(network, sample, answer)
    far = raw_cost(network, kind, sample, answer.example)
    assert far <= radius ** (2 if kind is sg.L2 else 1)


@settings(max_examples=examples(40))
@given(asked())
def test_witnesses_without_a_sample_can_be_typed_back_in(given_):
    network, _ = given_
    names, codings = network.encoder.names, network.encoder.codings
    for label in network.classes:
        answer = sg.verify(network, sg.Always(label))
        if isinstance(answer, Refuted):
            parts = re.findall(r"(x\d+) = ([^\s;]+)", str(answer))
            assert [name for name, _ in parts] == list(names)
            row = [read(text, coding) for (_, text), coding in zip(parts, codings, strict=True)]
            assert class_of(network, row) == answer.labels[0] != label
    if sum(codings[0].reachable(state) for state in range(codings[0].states)) < 2:
        return
    answer = sg.verify(network, sg.Fair([names[0]]))
    if isinstance(answer, Refuted):
        one, other = answer.example
        assert [class_of(network, row) for row in (one, other)] == list(answer.labels)
        assert one[1:] == other[1:]
        parts = dict(re.findall(r"(x\d+) = ([^\s;]+)", str(answer).split(", where ")[1]))
        assert [
            read(parts[name], coding) for name, coding in zip(names[1:], codings[1:], strict=True)
        ] == list(one[1:])


@pytest.mark.parametrize(
    ("coding", "before", "state", "shown"),
    [
        (Steps((12.62,)), 13.2, 0, 12.6),
        (Steps((1.675,)), 2, 0, 1.67),
        (Steps((0.1 + 0.2,)), 0.5, 0, 0.3),
        (Steps((12.62,)), 12.0, 1, 12.62),
        (Steps((float(np.float32(12.62)),)), 12.0, 1, 12.62),
        (Steps((0.0,)), 1.0, 0, -0.1),
        (Steps((1e17,), whole=True), 10**17, 0, 999 * 10**14),
        (Steps((8.0, 12.5)), 20, 1, 12),
        (Steps((12.62,), low=12.61), 13.2, 0, 12.61),
        (Steps((12.62,), low=12.6150001), 13.2, 0, 12.619),
        (integer(0, 9), 7, 3, 3),
    ],
)
def test_values_that_are_shown(coding, before, state, shown):
    network = Network(Encoder([coding]), [], Head([[1] * coding.width, [-1] * coding.width]))
    move = coding.move(before, state)
    found = short_witness(network, sg.WhatIf([before]), [move.value])
    assert (found[0], coding.state(found[0])) == (shown, state)


def test_bits_are_shown_as_the_sample_is_written():
    network = Network.of_bits([], Head([[1, 1, 1], [-1, -1, -1]]))
    assert "from 1 to -1" in str(sg.whatif(network, [1, 1, -1]))
    assert "from 1 to -1" in str(sg.whatif(network, [1, 1, 1]))
    assert "from 1 to 0" in str(sg.whatif(network, [1, 1, 0]))


def test_numbers_are_written_as_they_were():
    network = Network(Encoder([Steps((0.5, 7.0))] * 2), [], Head([[1] * 4, [-1] * 4]))
    assert str(sg.Linf(Fraction(5, 2))) == "every feature changed by up to 2.5"
    assert str(sg.Linf(Fraction(1, 3))) == "every feature changed by up to 1/3"
    rule = sg.reason.parse_rule(network, "x1 < 0.3 and x2 > 0.1 -> 0")
    assert str(rule) == "x1 < 0.3 and x2 > 0.1 -> 0"
    assert sg.reason.parse_rule(network, str(rule)).limits == rule.limits


# -- shipped models, the report, the command line ------------------------------------------------------------


def test_the_report_of_a_table_can_be_typed_back_in():
    cuts = (Steps((12.62,)), Steps((0.1 + 0.2, 1.675)), Steps((1e-7,)), OneHot(("left", "right")))
    layer = DenseLayer([[1, 1, 1, 1, 1, -1], [1, -1, 1, 1, -1, 1]], [4, 3])
    network = Network(Encoder(cuts), [layer], Head([[1, 1], [-1, -1]]), ["no", "yes"])
    sample = [13.2, 2, 0.5, "left"]
    page = sg.show.report(network, sample, time_limit=10).split('id="changes"')[1].split('id="robust"')[0]
    texts = [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", page)]
    changed, places = list(sample), {name: place for place, name in enumerate(network.encoder.names)}
    for name, before, after in zip(texts, texts[1:], texts[2:], strict=False):
        if name in places:
            assert read(before, cuts[places[name]]) == sample[places[name]]
            changed[places[name]] = read(after.split(" (")[0], cuts[places[name]])
    nearest = sg.whatif(network, sample)
    assert changed == list(nearest.example)
    assert class_of(network, changed) == nearest.label != class_of(network, sample)


@pytest.mark.parametrize(
    ("ending", "question"),
    [
        ("csv", ["whatif", "breast_cancer", "--index", "7"]),
        ("npy", ["verify", "breast_cancer", "--always", "benign"]),
        ("csv", ["verify", "breast_cancer", "--monotone", "mean radius"]),
    ],
)
def test_a_whole_witness_is_written_and_read(ending, question, tmp_path, capsys):
    path = tmp_path / f"witness.{ending}"
    main([*question, "--witness", str(path), "--json", "--quiet"])
    data = json.loads(capsys.readouterr().out)
    assert data["witness_file"] == str(path)
    promised = data["labels"] if "labels" in data else [data["label"]]
    main(["predict", "breast_cancer", str(path), "--json", "--quiet"])
    found = json.loads(capsys.readouterr().out)["predictions"]
    assert [row["label"] for row in found] == promised
    if ending == "csv":
        assert next(csv.reader(path.read_text().splitlines())) == list(
            sg.models.breast_cancer().encoder.names
        )


def test_what_has_no_witness_says_so(tmp_path, capsys):
    path = tmp_path / "witness.csv"
    main(["verify", "breast_cancer", "--index", "7", "--l0", "0", "--witness", str(path)])
    assert "no witness written: none was found" in capsys.readouterr().err
    assert not path.exists()
    assert main(["whatif", "breast_cancer", "--index", "7", "--witness", "-"]) == 2
    assert "--witness needs a file" in capsys.readouterr().err


def test_categories_go_to_csv_and_large_numbers_too(tmp_path):
    from sugenet.errors import FileError
    from sugenet.io.samples import read_samples, write_samples

    encoder = Encoder([OneHot(("a, b", 'c"')), Steps((1e17,), whole=True)], ["kind, of", "many"])
    network = Network(encoder, [], Head([[1] * 3, [-1] * 3]))
    write_samples(tmp_path / "x.csv", network, [("a, b", 10**17 - 16)])
    assert read_samples(tmp_path / "x.csv", network)[0].tolist() == [["a, b", 10**17 - 16]]
    with pytest.raises(FileError, match="holds no categories"):
        write_samples(tmp_path / "x.npy", network, [("a, b", 1)])
