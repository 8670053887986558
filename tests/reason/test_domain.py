"""Inputs that can occur: every question asked of small networks with limits and laws, against all inputs."""

from fractions import Fraction
from itertools import pairwise, product
from math import inf, nextafter

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, EncodingError, NetworkError, QuestionError, RuleSyntaxError
from sugenet.nn import (
    DenseLayer,
    Domain,
    Encoder,
    Head,
    Network,
    OneHot,
    Span,
    Steps,
    bit,
    integer,
    thermometer,
)
from sugenet.nn.laws import Law
from sugenet.reason import Always, Fair, Monotone, Never, Robust
from tests.checker.typed import law_data

LAWS = [
    "if c = red then n >= 2",
    "b or x < 1.25",
    "if n > 3 and b then x >= 0.75 or c != blue",
    "0.5 <= x <= 2 or c in {red, blue}",
    "not (n = 2 and b)",
]
VALUES = [
    list(range(6)),
    [-1.0, 0.3, 0.5, 0.75, 1.0, 1.25, 1.7, 2.0, 2.1, 3.0],
    ["red", "green", "blue"],
    [0, 1],
]
"""Of each feature values on every side of every cut that the network or a law knows."""


def drawn(seed):
    rng = np.random.default_rng(seed)
    codings = [
        integer(0, 5),
        thermometer([0.5, 2.0], low=-1.0, high=3.0),
        OneHot(("red", "green", "blue")),
        bit(),
    ]
    encoder = Encoder(codings, ["n", "x", "c", "b"])
    shape = [encoder.width, int(rng.integers(2, 6)), int(rng.integers(2, 5))][: int(rng.integers(1, 4))]
    layers = []
    for a, b in pairwise(shape):
        layers.append(DenseLayer(rng.integers(-1, 2, (b, a)), rng.integers(1, 4, b)))
    head = Head(rng.integers(-1, 2, (3, shape[-1])), rng.integers(-1, 2, 3))
    return Network(encoder, layers, head, ["u", "v", "w"]), rng


def limits(rng):
    spans = {0: Span(1, 4), 1: Span(0.3, 2.5), 2: Span(values=("red", "blue")), 3: Span(values=(1,))}
    spans[0] = Span(values=(0, 2, 5)) if rng.random() < 0.5 else spans[0]
    return {f: span for f, span in spans.items() if rng.random() < 0.4}


def known(network, rng):
    laws = [LAWS[k] for k in rng.permutation(len(LAWS))[: int(rng.integers(0, 4))]]
    return network.within(Domain(limits(rng))).within(laws)


def holds(text, n, x, c, b):
    """The laws once more, in Python."""
    return {
        LAWS[0]: c != "red" or n >= 2,
        LAWS[1]: b == 1 or x < 1.25,
        LAWS[2]: not (n > 3 and b == 1) or x >= 0.75 or c != "blue",
        LAWS[3]: 0.5 <= x <= 2 or c in ("red", "blue"),
        LAWS[4]: not (n == 2 and b == 1),
    }[text]


def can_occur(network, row, sample=None):
    for feature, span in network.domain.limits.items():
        value = row[feature]
        free = sample is None or value != sample[feature]
        inside = value in span.values if span.values is not None else span.low <= value <= span.high
        if free and not inside:
            return False
    return all(holds(law.text, *row) for law in network.domain.laws)


EVERYTHING = [tuple(row) for row in product(*VALUES)]


def classes(network):
    rows = np.empty((len(EVERYTHING), 4), dtype=object)
    rows[:] = EVERYTHING
    return dict(zip(EVERYTHING, network.predict(rows).tolist(), strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_laws_say_what_they_say(seed):
    network, rng = drawn(seed)
    network = known(network, rng)
    for row in EVERYTHING:
        good = all(holds(law.text, *row) for law in network.domain.laws)
        assert (network.domain.broken(row) is None) == good
    found = classes(network)
    lawful = classes(network.lawful)
    for row, label in found.items():
        broken = network.domain.broken(row) is not None
        assert lawful[row] == (3 if broken else label)


@pytest.mark.parametrize("seed", range(20))
def test_robustness_and_least_changes(seed):
    network, rng = drawn(seed)
    network = known(network, rng)
    found = classes(network)
    start = [row for row in EVERYTHING if network.domain.broken(row) is None]
    sample = start[int(rng.integers(len(start)))]
    other = {row for row in EVERYTHING if found[row] != found[sample] and can_occur(network, row, sample)}

    def changed(row):
        return sum(a != b for a, b in zip(row, sample, strict=True))

    def far(row):
        return sum(abs(Fraction(row[f]) - Fraction(sample[f])) for f in (0, 1, 3)) + (row[2] != sample[2])

    for radius in (1, 2, 4):
        answer = sg.verify(network, Robust(sample, sg.L0(radius)))
        assert isinstance(answer, sg.reason.Refuted) == any(changed(row) <= radius for row in other)
        assert sg.check(answer.certificate, network.anywhere())
    for cost, size in ((sg.L0, changed), (sg.L1, far)):
        answer = sg.whatif(network, sample, cost)
        assert sg.check(answer.certificate, network)
        if not other:
            assert isinstance(answer, sg.reason.NoCounterfactual)
            continue
        assert answer.cost == answer.lower
        assert answer.cost <= min(map(size, other))
        assert can_occur(network, answer.changed, sample)
        if cost is sg.L0:
            assert answer.cost == min(map(size, other))
    reason = sg.why(network, sample, sg.AnyInput(), minimal="size").reasons[0]
    assert sg.check(reason.certificate, network)
    kept = set(reason.features)
    names = network.encoder.names
    assert not any(all(row[f] == sample[f] for f in kept) for row in other), names
    sizes = [
        len(fixed)
        for fixed in (set(np.flatnonzero(row)) for row in product([0, 1], repeat=4))
        if not any(all(row[f] == sample[f] for f in fixed) for row in other)
    ]
    assert len(kept) == min(sizes)


@pytest.mark.parametrize("seed", range(20))
def test_rules_fairness_and_counts(seed):
    network, rng = drawn(seed)
    network = known(network, rng)
    found = classes(network)
    rows = [row for row in EVERYTHING if can_occur(network, row)]
    if not rows:
        return
    for label in range(3):
        for question, wrong in (
            (Always(label, {"n": (1, 4)}), lambda row, k=label: found[row] != k),
            (Never(label, {"n": (1, 4)}), lambda row, k=label: found[row] == k),
        ):
            if not any(1 <= row[0] <= 4 for row in rows):
                with pytest.raises(QuestionError, match=r"nothing to ask|nothing that can occur"):
                    sg.verify(network, question)
                continue
            answer = sg.verify(network, question)
            bad = [row for row in rows if 1 <= row[0] <= 4 and wrong(row)]
            assert isinstance(answer, sg.reason.Refuted) == bool(bad)
            assert sg.check(answer.certificate, network)
    pairs = [(a, b) for a in rows for b in rows if a[1:] == b[1:]]
    if len({row[0] for row in rows}) > 1:
        answer = sg.verify(network, Monotone("n"))
        if len(network.domain.limits.get(0, Span(0, 5)).values or (1, 2)) > 1:
            bad = any(found[a] > found[b] for a, b in pairs if a[0] < b[0])
            assert isinstance(answer, sg.reason.Refuted) == bad
        assert sg.check(answer.certificate, network)
        answer = sg.verify(network, Fair(["n"]))
        assert isinstance(answer, sg.reason.Refuted) == any(found[a] != found[b] for a, b in pairs)
        assert sg.check(answer.certificate, network)
    lawful = network.lawful.encoder
    states = {}
    for row in rows:
        key = tuple(coding.state(value) for coding, value in zip(lawful.codings, row, strict=True))
        states[key] = found[row]
    answer = sg.count(network)
    assert answer.counts == tuple(list(states.values()).count(k) for k in range(3))
    assert sg.check(answer.certificate, network.anywhere())


def test_what_lies_between_two_inputs_may_break_a_law():
    """Raising n from 1 to 3 lowers the class; where 2 cannot occur, no two neighbours show it."""
    layer = DenseLayer([[1, 0, -1]], [2])
    network = Network(Encoder([integer(0, 3)], ["n"]), [layer], Head([[-1], [1]]))
    assert network.predict([[0], [1], [2], [3]]).tolist() == [0, 1, 1, 0]
    answer = sg.verify(network, Monotone("n"), within="n != 2")
    assert isinstance(answer, sg.reason.Refuted)
    assert sg.check(answer.certificate, network)


def smoker():
    codings = [OneHot(("yes", "no")), integer(0, 99), thermometer([1.5], low=0.0, high=9.0)]
    encoder = Encoder(codings, ["smoker", "age", "dose"])
    rows = [["yes", 40, 1.0], ["no", 12, 2.0], ["yes", 16, 8.5], *(["no", age, 0.5] for age in range(20, 30))]
    weights = np.ones((1, encoder.width), int)
    network = Network(encoder, [DenseLayer(weights, [30])], Head([[-1], [1]]), ["well", "ill"])
    return network.with_training_range(rows)


LAW = "if smoker then age >= 16"


@pytest.mark.parametrize(
    "save", [sg.save, sg.io.write_network] if hasattr(sg.io, "write_network") else [sg.save]
)
def test_a_file_keeps_what_was_seen_and_the_laws(tmp_path, save):
    network = smoker().within("data").within(LAW)
    save(network, tmp_path / "net.sugenet")
    again = sg.load(tmp_path / "net.sugenet")
    assert again.encoder.seen == network.encoder.seen
    assert again.domain == network.domain
    assert again.fingerprint == smoker().fingerprint


def test_answers_come_back_with_their_domain():
    network, sample = smoker(), ["no", 12, 2.0]
    answers = [
        sg.verify(network, Robust(sample, sg.L0(1)), within=LAW),
        sg.whatif(network, sample, sg.L1, within=["dose >= 1", LAW]),
        sg.why(network, sample, sg.AnyInput(), within="data"),
        sg.count(network, sample, sg.L0(2), within=LAW),
        sg.check_rule(network, "smoker = yes -> well", within=LAW),
    ]
    for answer in answers:
        again = sg.reason.answer_of(answer.data(), network)
        assert again.network.domain == answer.network.domain != network.domain
        assert str(again) == str(answer)
    assert "age >= 16" in str(answers[0])


def test_what_is_seen_is_where_features_stay():
    network = smoker()
    for x in (["no", 12, 2.0], ["yes", 40, 1.0], ["no", 99, 0.0]):
        answer = sg.whatif(network, x, within="data")
        if isinstance(answer, sg.reason.NoCounterfactual):
            continue
        for name, (_, value) in answer.changes().items():
            span = network.encoder.seen[network.encoder.names.index(name)]
            assert span.holds(value)
    law = "if smoker = yes then age >= 30"
    assert network.within(["data", law]).domain == network.within("data").within(law).domain


def test_any_drops_limits_and_keeps_laws():
    network = smoker()
    limited = network.within("data").within(LAW)
    assert limited.within("any").domain == network.within(LAW).domain
    assert network.within("data").within("any").domain == network.domain
    assert network.within("any") is network
    assert limited.within(["any", "dose >= 1"]).domain == network.within([LAW, "dose >= 1"]).domain
    assert not limited.anywhere().domain
    with pytest.raises(NetworkError, match="both 'data' and 'any'"):
        network.within(["any", "data"])
    sample = ["no", 12, 2.0]
    for ask in (sg.whatif, lambda *given, **how: sg.verify(*given, sg.L0(2), **how)):
        free, kept = ask(network, sample), ask(network.within("data"), sample, within="any")
        assert kept.data() | {"seconds": 0} == free.data() | {"seconds": 0}


def test_another_training_range_moves_the_limits():
    network, rows = smoker(), [["no", 12, 2.0], ["yes", 40, 1.0]]
    moved = network.with_training_range(rows)
    assert moved.domain == network.domain
    assert network.within("data").with_training_range(rows).domain == moved.within("data").domain
    other = network.within(Domain({1: Span(0, 20)}))
    assert other.with_training_range(rows).domain == other.domain
    assert (network.is_within_data, other.is_within_data) == (False, False)
    assert network.within(["data", LAW]).is_within_data


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("if smoker then age >=", "a number"),
        ("if smokes then age >= 16", "a condition on a feature"),
        ("smoker >= yes", "which is a category"),
        ("smoker = maybe", "a category of smoker"),
        ("if smoker age >= 16", "'then' is needed"),
        ("age >= 0", "holds for every input"),
        ("age >= 100", "no input can obey"),
        ("age", "does not compare it"),
        ("(age >= 3", "')' is needed"),
        ("age >= 3 dose < 1", "the end is needed"),
        ("age >= dose", "with a value"),
        ("age >= 1e999999999", "beyond all floats"),
        ("age < " + "9" * 400, "holds for every input"),
        ("age >= 1/0", "it divides by zero"),
        ("age >= 0x10", "'0x10' is not a number"),
        ("age >= 1_0", "'1_0' is not a number"),
        ("age >= inf", "a number"),
        ("age >= \u0661", "a number"),
        ("", "a condition on a feature"),
    ],
)
def test_a_law_that_cannot_be_read_is_named(law, said):
    with pytest.raises(RuleSyntaxError, match="law") as error:
        smoker().within(law)
    assert said in str(error.value)


def test_names_and_categories_with_words_of_laws_in_them():
    encoder = Encoder([integer(0, 9), OneHot(("then", "a or b")), bit()], ["age and sex", "if", "age"])
    network = Network(encoder, [], Head(np.ones((2, encoder.width), int)))
    domain = network.within("if 'if' = a or b then age and sex >= 3 and not `age`").domain
    assert domain.broken([2, "a or b", 0]) is not None
    assert domain.broken([3, "a or b", 0]) is None
    assert domain.broken([0, "then", 1]) is None


def test_a_sample_that_breaks_a_law_is_refused():
    with pytest.raises(QuestionError, match="the sample itself breaks the law"):
        sg.whatif(smoker(), ["yes", 3, 1.0], within=LAW)
    with pytest.raises(QuestionError, match="the sample itself breaks the law"):
        sg.count(smoker(), ["yes", 3, 1.0], sg.L0(1), within=LAW)


def test_without_data_nothing_was_seen():
    network = smoker()
    bare = Network(Encoder(network.encoder.codings, network.encoder.names), network.layers, network.head)
    with pytest.raises(NetworkError, match="does not know the range of its training data"):
        bare.within("data")
    with pytest.raises(EncodingError, match="no samples"):
        bare.with_training_range(np.zeros((0, 3)))


def test_a_certificate_says_itself_which_inputs_it_is_about():
    network = smoker()
    sample = ["no", 12, 2.0]
    answer = sg.verify(network, Robust(sample, sg.AnyInput()), within=[LAW, "dose >= 1.5"])
    kept = answer.certificate
    assert sg.check(kept, network) == sg.check(kept, network.within("age < 50"))
    for wrong in (
        {**kept, "domain": {"limits": [], "laws": []}},
        {**kept, "domain": {"limits": []}},
        {**kept, "domain": {"limits": [[9, [0, 1]]], "laws": []}},
        {**kept, "domain": {"limits": [[1, [0, "x"]]], "laws": []}},
        {**kept, "domain": {"limits": [[1, [0, "1e999999999"]]], "laws": []}},
        {**kept, "domain": {"limits": [[2, [float("nan"), None]]], "laws": []}},
        {**kept, "domain": {"limits": [], "laws": ["age >= 3"]}},
        {**kept, "domain": {"limits": [], "laws": [{"text": "age >= ", "clauses": [[[1, 3, True]]]}]}},
        {**kept, "domain": {"limits": [], "laws": [{"text": "age >= 3", "clauses": [[[1, 4, True]]]}]}},
        {**kept, "domain": {"limits": [], "laws": [{"text": "age >= 3", "clauses": [[[1, "3", True]]]}]}},
        {**kept, "domain": {"limits": [], "laws": [{"text": "age >= 3", "clauses": [[]]}]}},
        {**kept, "domain": None},
    ):
        with pytest.raises(CertificateError, match=r"domain|limits|law|damaged"):
            sg.check(wrong, network)


def test_a_witness_outside_what_can_occur_is_refused():
    network, sample = smoker(), ["no", 12, 2.0]
    answer = sg.verify(network, Robust(sample, sg.AnyInput()))
    assert isinstance(answer, sg.reason.Refuted)
    row = answer.certificate["witness"]
    law = f"age != {row[1]}"
    with pytest.raises(CertificateError, match="breaks a law"):
        sg.check({**answer.certificate, "domain": {"limits": [], "laws": [law_data(law, network)]}}, network)
    limits = [[1, {"one of": [12, 13]}]]
    with pytest.raises(CertificateError, match="which the question does not allow"):
        sg.check({**answer.certificate, "domain": {"limits": limits, "laws": []}}, network)


def test_sweeps_respect_it(tmp_path):
    network = smoker()
    rows = [["no", 12, 2.0], ["yes", 40, 1.0], ["yes", 3, 1.0]]
    store = tmp_path / "found.db"
    found = sg.sweep(network, rows, Robust(sg.each, sg.L0(1)), within=LAW, store=store, jobs=1)
    assert [row.outcome for row in found.rows()][2] == "refused"
    assert found.answer(0).network.domain.laws[0].text == LAW
    assert not [one for one in found.check(jobs=1).checks if one.status == "fails"]
    with pytest.raises(sg.errors.FileError, match="other inputs that can occur"):
        sg.sweep(network, rows, Robust(sg.each, sg.L0(1)), store=store, jobs=1)


def test_the_page_is_told_which_inputs_can_occur():
    from sugenet.web.page_data import payload

    page = payload(smoker().within(LAW), [["no", 12, 2.0]], title="")
    assert page["domain"]["words"] == f'for inputs that obey "{LAW}"'
    assert page["domain"]["data"] == {"limits": [], "laws": [law_data(LAW, smoker())]}
    assert "domain" not in payload(smoker(), [["no", 12, 2.0]], title="")


@pytest.mark.parametrize("method", ["auto", "walk", "sums", "sample"])
@pytest.mark.parametrize(
    ("x", "region", "where", "law"),
    [
        (None, None, {"x1": 1, "x2": 1}, "if x1 = 1 then x2 = 0"),
        ([0, 0, 0], sg.AnyInput(), {"x1": 1, "x2": 1}, "if x1 = 1 then x2 = 0"),
        ([1, 1, 0], sg.L0(2), {"x1": 0, "x3": 1}, "if x3 = 1 then x1 = 1 or x2 = 0"),
    ],
    ids=["limits", "around a sample", "within a budget"],
)
def test_a_count_of_inputs_none_of_which_obeys_the_laws_is_refused(method, x, region, where, law):
    """As every question about no input. With two changes x1 and x3 are within the limits; the law needs a
    third one.
    """
    network = Network(Encoder([bit()] * 3), [], Head([[1, 1, 1], [-1, -1, -1]]), ["a", "b"])
    with pytest.raises(QuestionError, match=r"obeys the laws|there are no inputs"):
        sg.count(network, x, region, where=where, within=law, method=method)


def test_a_rule_covers_nothing_around_a_sample_if_laws_leave_nothing():
    network = Network(Encoder([bit()] * 3), [], Head([[1, 1, 1], [-1, -1, -1]]), ["a", "b"])
    network = network.within("if x3 = 1 then x1 = 1 or x2 = 0")
    rule = sg.reason.parse_rule(network, "x1 = 0 and x3 = 1 -> a")
    figures = sg.reason.coverage(network, rule, [1, 1, 0], sg.L0(2))
    assert (figures.covered, figures.total) == (0, 6)


def by_clauses(law, row):
    def on(feature, at):
        coding = law.encoder.codings[feature]
        return row[feature] == at if isinstance(coding, OneHot) else row[feature] >= at

    return all(any(on(f, at) == sense for f, at, sense in clause) for clause in law.clauses)


@pytest.mark.parametrize(
    "text",
    [
        "(s = 1.5 and b) or (s != 2.5 and x > 0.1)",
        "if x <= 0.1 then s in {1.5, 3.5} and not b",
        "x = 0.1 or b = -1",
        "x  y>=2 or n = 2.5 or x < 0.3",
        "not (x  y < 2 and s != 1.5) or 0.1 < x",
    ],
)
def test_both_readings_of_a_law_are_the_same(text):
    """Categories that are floats, decimals that no float is, names with several blanks."""
    codings = [OneHot((1.5, 2.5, 3.5)), thermometer([0.3]), bit(), integer(0, 4), integer(0, 3)]
    law = Law(text, Encoder(codings, ["s", "x", "b", "n", "x  y"]))
    xs = [0.0, 0.1, nextafter(0.1, 1), 0.3, inf, -inf]
    for row in product((1.5, 2.5, 3.5), xs, (0, 1), (2, 3), (1, 2, 3)):
        assert by_clauses(law, row) == law.holds(row)


def test_a_decimal_of_a_law_is_the_number_that_a_sample_has():
    network = Network(Encoder([thermometer([0.5])], ["x"]), [], Head([[1], [-1]]))
    assert network.within("x <= 0.1").domain.broken([0.1]) is None
    assert network.within("x > 0.1").domain.broken([0.1]) is not None


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("2 <= n in {1, 3}", "the end is needed"),
        ("0 >= 3", "the name of a feature too"),
        ("if b >= 0 then n > 2", "both are off"),
        ("n = 1.5", "no input can obey"),
        ("n > 3 and n < 2", "no input can obey"),
        ("s = a and s = c", "no input can obey"),
        ("s != a or s != c", "holds for every input"),
        ("s in {a, c}", "holds for every input"),
        ("w < 9007199254740993", "floats have no"),
    ],
)
def test_a_law_that_says_something_else_than_it_seems_is_refused(law, said):
    codings = [integer(0, 4), bit(), OneHot(("a", "c")), Steps((5.0,), whole=True), integer(0, 4)]
    encoder = Encoder(codings, ["n", "b", "s", "w", "0"])
    with pytest.raises(RuleSyntaxError) as error:
        Law(law, encoder)
    assert said in str(error.value)


def test_laws_that_exclude_each_other_are_refused():
    """Everything would hold for the inputs that obey them, since there are none."""
    with pytest.raises(NetworkError, match="no input can obey all these laws"):
        smoker().within("if smoker then age >= 16").within(["age < 12", "smoker"])


def test_steps_of_laws_do_not_count_as_flipped_bits():
    """Cuts at 1 and 3, and a law that adds 2, make every step of a whole number a cut."""
    network = Network(Encoder([Steps((1.0, 3.0), 0, 3, True), bit()]), [], Head([[1, 1, 0], [-1, -1, 0]]))
    least = sg.whatif(network, [0, 0], sg.Hamming, within="x1 != 1 or x2")
    assert (least.cost, least.changed) == (1, (2, 0))
    found = sg.count(network, [0, 0], sg.Hamming(2), within="x1 != 2")
    assert found.total == 5
    assert sg.check(found.certificate, network)


def test_a_bit_that_is_off_is_minus_one_and_zero_alike():
    network = Network(Encoder.of_bits(2, ["a", "b"]), [], Head([[1, 1], [-1, -1]])).with_training_range(
        [[-1, 1], [-1, -1]]
    )
    for off in (0, -1):
        assert isinstance(sg.verify(network, Always(0, {"a": off, "b": 1}), within="data"), sg.reason.Proved)
        around = sg.verify(network, Robust([-1, 1], sg.Box({"a": off, "b": {off, 1}})), within="data")
        assert sg.check(around.certificate, network)
    joined = network.within("data").within(Domain({0: Span(0, 1), 1: Span(values=(0,))}))
    assert not isinstance(sg.verify(joined, Always(0)), sg.reason.Proved)
    assert sg.count(joined).total == 1


def decades(law):
    network = Network(Encoder([integer(0, 9)] * 3, ["a", "b", "c"]), [], Head([[1] * 27, [-1] * 27]))
    return network.within(law)


def test_nothing_is_proved_of_no_input():
    network = decades("if b = 1 then a < 3").within(Domain({0: Span(5, 9)}))
    for question in (Always(0, {"b": 1}), Never(0, {"b": 1}), Fair(["c"], {"b": 1})):
        with pytest.raises(QuestionError, match="nothing to ask about"):
            sg.verify(network, question)
    with pytest.raises(QuestionError, match="nothing to ask about"):
        sg.check_rule(network, "b = 1 -> 0")


def test_leaves_that_only_broken_laws_reach_are_left_out():
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(max_depth=1)
    tree.fit([[0, 0, 0], [9, 0, 0]], [1, 0])
    assert [str(one.rule) for one in sg.check_rule(decades("a < 3"), tree)] == ["a <= 4 -> 1"]


def test_an_estimate_does_not_say_how_many_obey_laws():
    network = decades(["a < 3", "b = 4"])
    found = sg.count(network, method="sample", samples=500, seed=1)
    assert (found.total, found.drawn) == (None, 500)
    assert 0 < found.samples < 100
    assert str(found).startswith("inputs (any input")
    again = sg.reason.answer_of(found.data(), network)
    assert (str(again), again.drawn) == (str(found), 500)
    question = sg.reason.Count(sg.each, sg.L0(2))
    swept = sg.sweep(network, [[1, 4, 5]], question, method="sample", samples=200)
    assert swept.check().counts == {"recomputed": 1}


def test_what_a_rule_covers_is_not_known_where_laws_are_not_counted():
    network = decades("a < 3")
    answer = sg.check_rule(network, "b >= 3 -> 1", time_limit=0)
    assert (answer.figures.total, answer.figures.data()["coverage"]) == (0, None)
    assert str(answer).endswith("coverage not counted in the time")
    assert str(sg.reason.answer_of(answer.data(), network)) == str(answer)
    assert "coverage not counted in the time" in answer._repr_html_()


def test_two_witnesses_as_shown_obey_laws_that_join_features():
    """The first is shown with 0.34, for which the law forbids what the second has."""
    third = thermometer([1 / 3], low=0.0, high=9.0)
    encoder = Encoder([third, OneHot(("p", "q"))], ["x", "c"])
    network = Network(encoder, [], Head([[0, 1, -1], [0, -1, 1]]))
    network = network.within("if c = q then x < 0.3334")
    answer = sg.verify(network, Fair(["c"], {"x": (1 / 3, None)}))
    assert all(network.domain.broken(row) is None for row in answer.example)


def test_what_is_known_of_inputs_is_kept_and_read_for_its_own_network():
    network = smoker().within("data").within(LAW)
    simple = sg.nn.simplify(network)
    assert (simple.domain, simple.encoder.seen) == (network.domain, network.encoder.seen)
    assert simple.lawful.predict([["yes", 3, 1.0], ["no", 3, 1.0]]).tolist()[0] == 2
    turned = Encoder([integer(0, 99), OneHot(("yes", "no"))], ["age", "smoker"])
    other = Network(turned, [], Head(np.ones((2, turned.width), int)))
    assert other.within(smoker().within(LAW).domain).domain.broken([3, "yes"]) == LAW
    for wrong in (5, {"age": (0, 9)}, Domain({9: Span(0, 1)})):
        with pytest.raises(NetworkError):
            network.within(wrong)
    for span in (Span(inf, None), Span(float("nan"), None), Span("a", None), Span(values=("a",))):
        with pytest.raises(EncodingError, match="not by numbers"):
            network.within(Domain({1: span}))
    for feature, span in ((1, Span(values=(500, 2.5))), (0, Span(values=("maybe",))), (0, Span("no", "yes"))):
        with pytest.raises(EncodingError, match="within its limits"):
            network.within(Domain({feature: span}))


def test_a_sample_outside_its_limits_is_counted_with_its_own_values():
    network = decades("c < 5")
    network = network.within(Domain({0: Span(2, 4), 1: Span(15, 20)}))
    for where, total in (({}, 4 * 5), ({"a": (4, None)}, 2 * 5), ({"a": (6, None), "c": 1}, 1)):
        found = sg.count(network, [7, 3, 0], sg.AnyInput(), where=where)
        assert found.total == total
        assert sg.check(found.certificate, network)


def test_that_there_is_none_is_said_of_inputs_that_can_occur():
    network = Network(Encoder([integer(0, 9)], ["a"]), [], Head([[1] * 9, [-1] * 9]))
    assert str(sg.whatif(network, [0], within="a < 3")) == (
        'the class stays 1, whatever is changed, for inputs that obey "a < 3": proved'
    )


def test_numbers_that_are_text_and_values_that_are_none():
    network, row = smoker(), ["no", "12", "1.75"]
    found = sg.whatif(network, row, sg.L1, within="dose > 0.1")
    assert sg.check(found.certificate, network)
    assert str(found) == str(sg.whatif(network, ["no", 12.0, 1.75], sg.L1, within="dose > 0.1"))
    for ask in (
        lambda x: sg.whatif(network, x, within=LAW),
        lambda x: sg.count(network, x, sg.L0(1), within=LAW),
    ):
        with pytest.raises(EncodingError, match="age"):
            ask(["yes", None, 1.0])


def test_laws_with_many_brackets_and_long_laws_are_read_up_to_a_limit():
    net = Network.of_bits([], Head([[1, 1], [-1, 1]]))
    for text in ("(" * 100 + "x1 = 1" + ")" * 100, "not " * 9999 + "x1 = 0", "x1 = 1 and " * 999 + "x1 = 1"):
        assert net.within(text).domain.laws[0].holds([1, 0])
    for text in ("(" * 200 + "x1 = 1" + ")" * 200, "not (" * 101, "(x1 = 1 and " * 101, "(" * 100_000):
        with pytest.raises(RuleSyntaxError, match="more than 100 brackets inside each other, at character"):
            net.within(text)
    for text in ("x" * 100_000, "x1 >= " + "9" * 100_000, "x1 = 1 and " * 9999 + "x9 = 1"):
        with pytest.raises(RuleSyntaxError, match=r"the law '.*' (has|cannot be read)") as refused:
            net.within(text)
        assert len(str(refused.value)) < 300
