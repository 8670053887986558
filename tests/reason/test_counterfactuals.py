"""Counterfactuals against brute force over all samples, all costs, tie rules, targets and keep features;
certificates that can fail.
"""

import copy
import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.data import breast_cancer, samples
from sugenet.errors import CertificateError, EncodingError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, integer, thermometer, threshold
from sugenet.problem.regions import surroundings
from sugenet.reason import (
    L0,
    L1,
    L2,
    Counterfactual,
    Free,
    Hamming,
    Linf,
    NoCounterfactual,
    OpenCounterfactual,
    Prices,
    answer_of,
    check,
    whatif,
)
from tests.problem.small import random_network, random_sample, raw_values
from tests.thinned import examples

COSTS = [L0, L1, L2, Linf, Hamming]


@st.composite
def questions(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    network = random_network(rng, features=int(rng.integers(1, 4)))
    return network, random_sample(network, rng)


def price(network, x, y, cost):
    total = []
    for coding, a, b in zip(network.encoder.codings, x, y, strict=True):
        if a != b and not (
            isinstance(coding, OneHot) is False and coding.state(a) == coding.state(b) and cost is Hamming
        ):
            distance = Fraction(1) if isinstance(coding, OneHot) else abs(Fraction(b) - Fraction(a))
            bits = int((coding.bits(coding.state(a)) != coding.bits(coding.state(b))).sum())
            total.append(
                {L0: Fraction(1), L1: distance, L2: distance**2, Linf: distance, Hamming: Fraction(bits)}[
                    cost
                ]
            )
    return max(total, default=Fraction(0)) if cost is Linf else sum(total, Fraction(0))


def by_brute_force(network, x, cost, target, ties, fixed):
    """Least price over all raw samples; None when none violates."""
    label = None
    options = [
        [v] if k in fixed else raw_values(c)
        for k, (c, v) in enumerate(zip(network.encoder.codings, x, strict=True))
    ]
    rows = [tuple(x), *product(*options)]
    array = np.empty((len(rows), len(x)), dtype=object)
    for number, row in enumerate(rows):
        array[number] = row
    scores = network.head.scores(network.match_counts(array, engine="definition"))
    best = None
    for number, row in enumerate(scores.tolist()):
        tops = [k for k, s in enumerate(row) if s == max(row)]
        if number == 0:
            label = tops[0]
        if target is None:
            bad = tops[0] != label if ties == "lowest" else tops != [label]
        else:
            bad = tops[0] == target if ties == "lowest" else target in tops
        if bad:
            cheap = price(network, x, rows[number], cost)
            best = cheap if best is None else min(best, cheap)
    return label, best


@settings(max_examples=examples(80))
@given(
    questions(), st.sampled_from(COSTS), st.sampled_from(["lowest", "against"]), st.booleans(), st.booleans()
)
def test_the_least_cost_is_that_of_brute_force_and_the_certificate_holds(question, cost, ties, aimed, keep):
    network, x = question
    label, _ = by_brute_force(network, x, cost, None, ties, set())
    target = (label + 1) % 3 if aimed else None
    fixed = {0} if keep else set()
    _, expected = by_brute_force(network, x, cost, target, ties, fixed)
    names = [network.encoder.names[k] for k in fixed]
    answer = whatif(network, x, cost, target=target, ties=ties, keep=names)
    if expected is None:
        assert isinstance(answer, NoCounterfactual)
        assert "proved" in str(answer)
    else:
        assert isinstance(answer, Counterfactual)
        assert answer.cost == answer.lower == expected
        assert price(network, x, answer.changed, cost) == expected
        assert "proved to be the least" in str(answer)
    certificate = json.loads(json.dumps(answer.certificate))
    assert check(certificate, network)


def example():
    layer = DenseLayer([[1, 1, -1, 1, 1], [1, -1, 1, 1, -1], [-1, 1, 1, 1, 1]], [3, 3, 3])
    return Network.of_bits([layer], Head([[1, 1, 1], [-1, -1, -1]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format="other"), "not a sugenet certificate"),
        (lambda c: c.update(network="0" * 64), "is for the network 000000000000"),
        (lambda c: c["question"].update(label=1 - c["question"]["label"]), "the sample has class"),
        (lambda c: c.update(value="1/2"), "the witness costs"),
        (lambda c: c["witness"].__setitem__(slice(None), c["question"]["sample"]), "the witness costs 0"),
        (lambda c: c.update(lower="9"), "the lower bound is above"),
        (lambda c: c["question"].update(movable=[]), "which the question does not allow"),
        (lambda c: c["question"].pop("sample"), "whatif has no field 'sample'"),
        (lambda c: c["question"].update(cost={"kind": "L7"}), "cost: unknown kind 'L7'"),
        (lambda c: c.update(witness=[1]), "a sample has 1 values"),
        (
            lambda c: (c.pop("value"), c.update(witness=None, answer="open", lower="4")),
            "is a violation|do not exclude",
        ),
        (
            lambda c: (c.pop("value"), c.pop("lower"), c.update(answer="none", witness=None)),
            "is a violation|do not exclude",
        ),
        (lambda c: c.update(answer="none"), "none has a field 'value' that it must not have"),
        (lambda c: c.update(note="holds"), "counterfactual has a field 'note' that it must not have"),
        (lambda c: c["proof"].update(note="holds"), "proof: .* has a field 'note' that it must not have"),
        (lambda c: c.pop("witness"), "counterfactual has no field 'witness'"),
        (lambda c: c.update(version=3.0), "not a sugenet certificate of version 3"),
        (lambda c: c["question"].update(limit="0"), "the witness is at 1, outside the region of 0"),
        (lambda c: c.update(proof={"kind": "magic"}), "proof: unknown kind 'magic'"),
    ],
)
def test_a_tampered_certificate_fails(change, message):
    network = example()
    answer = whatif(network, [1, 1, -1, 1, 1], L0)
    good = json.loads(json.dumps(answer.certificate))
    assert check(good, network)
    bad = copy.deepcopy(good)
    change(bad)
    with pytest.raises(CertificateError, match=message):
        check(bad, network)


def test_a_time_limit_of_nothing_gives_what_is_known():
    network = example()
    answer = whatif(network, [1, 1, -1, 1, 1], L0, time_limit=-1)
    assert isinstance(answer, Counterfactual | OpenCounterfactual)
    assert answer.lower >= 1
    if isinstance(answer, Counterfactual):
        assert not answer.is_minimum or answer.cost == 1


def test_bounds_of_every_cost_are_sentences():
    network = Network.of_bits([DenseLayer([[1] * 6], [4])], Head([[1], [-1]]))
    said = [str(whatif(network, [-1] * 6, cost, time_limit=-1)) for cost in COSTS]
    assert "any change needs at least a largest raw change of 1." in said[COSTS.index(Linf)]
    assert "with up to a largest raw change of 0.5: proved" in str(
        whatif(network, [-1] * 6, Linf, max_cost=Fraction(1, 2))
    )


def test_an_open_answer_claims_its_lower_bound_and_no_more():
    network = Network.of_bits([DenseLayer([[1] * 6], [4])], Head([[1], [-1]]))
    answer = whatif(network, [-1] * 6, L0, time_limit=-1)
    assert isinstance(answer, OpenCounterfactual)
    assert answer.lower == 1
    assert (
        check(answer.certificate, network)
        == "the sample has class 1; below 1: bounds through all layers exclude every violation"
    )
    with pytest.raises(CertificateError, match="do not exclude"):
        check({**answer.certificate, "lower": "5"}, network)


def test_costs_too_finely_divided_to_walk_leave_a_bound_and_a_checked_certificate():
    encoder = Encoder([threshold(0.1 + k / 7) for k in range(4)])
    network = Network(encoder, [DenseLayer([[1, 1, 1, 1]], [4])], Head([[1], [-1]]))
    answer = whatif(network, [1e-9, 1e-7, 0.3, 1 / 3], L2)
    assert isinstance(answer, Counterfactual)
    assert 0 < answer.lower <= answer.cost
    assert check(answer.certificate, network)


@settings(max_examples=examples(60))
@given(questions(), st.sampled_from([L0, L1, L2, Hamming]), st.integers(2, 5))
def test_the_n_best_are_those_of_brute_force(question, cost, n):
    """All sets of changes in which none can be left out, cheapest first."""
    network, x = question
    near = surroundings(network, x, cost, None, range(len(x)))
    label = int(network.predict(np.array([x], object))[0])
    sets = [
        frozenset(c)
        for c in product(*([None, *(m for m in near.moves if m.feature == f)] for f in range(len(x))))
    ]
    sets = [frozenset(m for m in row if m is not None) for row in sets]
    bad = {row for row in sets if int(network.predict(np.array([near.moved(row)], object))[0]) != label}
    needed = [row for row in bad if not any(other < row for other in bad)]
    prices = sorted(sum(m.price for m in row) for row in needed)
    answer = whatif(network, x, cost, n=n)
    if not prices:
        assert isinstance(answer, NoCounterfactual)
        return
    found = [answer, *answer.others]
    assert [one.cost for one in found] == prices[:n]
    assert len({one.changed for one in found}) == len(found)
    everything = whatif(network, x, cost, n="all")
    assert len(everything.others) + 1 == prices.count(prices[0])
    for one in found:
        assert check(json.loads(json.dumps(one.certificate)), network)


@settings(max_examples=examples(60))
@given(questions(), st.booleans(), st.integers(0, 10**6))
def test_own_prices_and_regions(question, per_unit, seed):
    network, x = question
    rng = np.random.default_rng(seed)
    prices = {f: Fraction(int(rng.integers(0, 7)), 2) for f in range(len(x)) if rng.random() < 0.8}
    cost = Prices(prices, per_unit=per_unit)
    region = [None, Linf(1), Free([0])][int(rng.integers(3))]
    near = surroundings(network, x, cost, None, range(len(x)))
    inside = {(m.feature, m.state) for m in near.moves}
    if region is not None:
        inside &= {(m.feature, m.state) for m in region.around(network, x).moves}
    label = int(network.predict(np.array([x], object))[0])
    best = None
    for chosen in product(
        *(
            [None, *(m for m in near.moves if m.feature == f and (m.feature, m.state) in inside)]
            for f in range(len(x))
        )
    ):
        moves = [m for m in chosen if m is not None]
        if int(network.predict(np.array([near.moved(moves)], object))[0]) != label:
            total = sum((prices[m.feature] * (m.distance if per_unit else 1) for m in moves), Fraction(0))
            best = total if best is None else min(best, total)
    answer = whatif(network, x, cost, region=region)
    assert (answer.cost if isinstance(answer, Counterfactual) else None) == best
    if isinstance(answer, Counterfactual):
        assert answer.is_minimum
    assert check(json.loads(json.dumps(answer.certificate)), network)


@pytest.mark.parametrize("engine", ["cdcl", "cpsat", "flips"])
@pytest.mark.parametrize("cost", COSTS)
def test_other_engines_prove_the_same_minimum(engine, cost):
    network, x = example(), [1, 1, -1, 1, 1]
    best, other = whatif(network, x, cost), whatif(network, x, cost, engine=engine)
    assert best.cost == other.cost
    assert other.is_minimum
    assert check(other.certificate, network)
    assert other.is_certified == (other.certificate["lower"] == str(other.lower))
    assert other.is_certified or ("not certified: OR-Tools" in str(other) and engine == "cpsat")
    assert str(answer_of(json.loads(json.dumps(other.data())), network)) == str(other)
    if not other.is_certified:
        for lower in ("-1", str(other.cost + 1)):
            with pytest.raises(CertificateError, match="'lower' does not fit"):
                answer_of(other.data() | {"lower": lower}, network)


def test_a_limit_bounds_the_claim():
    network = Network.of_bits([DenseLayer([[1] * 6], [6])], Head([[1], [-1]]))
    answer = whatif(network, [-1] * 6, L0, max_cost=3)
    assert isinstance(answer, NoCounterfactual)
    assert "with up to 3 features changed: proved" in str(answer)
    assert "up to 3: none of the 42 sets of changes is a violation" in check(answer.certificate, network)
    assert whatif(network, [-1] * 6, L0).cost == 6


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda n: whatif(n, [1, 1, 1, 1, 1], target=5), QuestionError, "there is no class 5"),
        (
            lambda n: whatif(n, [1, 1, 1, 1, 1], target=int(n.predict([[1] * 5])[0])),
            QuestionError,
            "has already",
        ),
        (lambda n: whatif(n, [1, 1, 1, 1, 1], ties="odd"), QuestionError, "ties='odd'"),
        (lambda n: whatif(n, [1, 1, 1, 1, 1], keep=["nose"]), QuestionError, "no feature 'nose'"),
        (lambda n: whatif(n, [1, 1]), EncodingError, "2"),
        (lambda n: whatif(n, [1, 1, 1, 1, 1], "l0"), QuestionError, "Unknown cost 'l0'. Use 'L0'"),
        (lambda n: whatif(n, [1, 1, 1, 1, 1], L0(2)), QuestionError, "is not a cost"),
        (
            lambda n: whatif(n, [1, 1, 1, 1, 1], max_cost=-1),
            QuestionError,
            "a largest cost of -1 is negative",
        ),
        (lambda n: check([], n), CertificateError, "a JSON object, not list"),
    ],
)
def test_questions_that_make_no_sense_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(example())


NET = Network.of_bits(
    [DenseLayer([[1, 1, -1, 1], [-1, 1, 1, 1], [1, -1, 1, 1]], [2, 3, 2])], Head([[1, 1, 1], [-1, -1, 1]])
)
X = [1, 1, 1, 1]


def checked(answer, network, *others):
    return sg.check(json.loads(json.dumps(answer.certificate)), network, *others)


@pytest.mark.parametrize("engine", ["auto", "cdcl", "exhaust", "flips"])
@pytest.mark.parametrize("limit", [None, 9, Fraction(9, 2)])
@pytest.mark.parametrize("region", [None, sg.Free([0, 1])])
def test_that_there_is_nothing_at_all_is_certified(engine, limit, region):
    net = Network(
        Encoder([integer(0, 3)] * 3),
        [DenseLayer([[1] * 9, [1, -1, 1] * 3], [2, 3])],
        Head([[1, 1], [1, -1]], [5, 0]),
    )
    answer = sg.whatif(net, [1, 2, 0], sg.L1, engine=engine, max_cost=limit, region=region)
    assert isinstance(answer, NoCounterfactual) or engine == "exhaust"  # which takes no budgets
    assert checked(answer, net)


def test_what_rounding_hides_is_said_and_no_more():
    """Where only less than is shown lies between cost and bound, that much is said."""
    network, (X, _) = breast_cancer(), samples("breast_cancer")
    answer = whatif(network, X[5], L1)
    assert 0 < answer.cost - answer.lower <= Fraction(1, 10**12)
    assert "proved to be the least to within 1e-1" in str(answer)
    place = int(str(answer).split("to within 1e-")[1].split(":")[0])
    assert Fraction(1, 10 ** (place + 1)) < answer.cost - answer.lower <= Fraction(1, 10**place)
    assert checked(answer, network)


def test_costs_of_floats_are_walked_again():
    net = Network(
        Encoder([thermometer([0.1, 0.3, 0.7])] * 3),
        [DenseLayer([[1, 1, -1] * 3, [1, -1, 1] * 3], [3, 5])],
        Head([[1, 1], [-1, 1]]),
    )
    x = [0.123456789, 0.987654321, 0.55555]
    for cost in (sg.L1, sg.L2):
        for radius in (0.1, 0.25, 1.0):
            assert checked(sg.verify(net, sg.Robust(x, cost(radius)), engine="flips"), net)
        for region in (None, sg.Free([0, 2]), sg.Linf(0.4)):
            assert checked(sg.whatif(net, x, cost, region=region), net)


def test_fractions_are_measured_exactly():
    net = Network(Encoder([threshold(3.0)]), [], Head([[-1], [1]]))
    answer = sg.whatif(net, [Fraction(1, 4)], sg.L1)
    assert answer.cost == Fraction(11, 4)
    assert checked(answer, net)
    with pytest.raises(EncodingError, match=r"Fraction\(1, 3\)"):  # which no float64 is
        sg.whatif(net, [Fraction(1, 3)], sg.L1)
    answer = sg.whatif(net, [1 / 3], sg.L1)
    assert answer.cost == 3 - Fraction(1 / 3)
    assert checked(answer, net)


def test_numbers_and_words_as_categories():
    net = Network(
        Encoder([OneHot((3, 1, 2)), OneHot(("a", "b"))]), [], Head([[1, -1, -1, 1, 0], [-1, 1, 1, 0, 1]])
    )
    answer = sg.whatif(net, [3, "a"])
    assert "becomes" in str(answer)
    assert checked(answer, net)


def test_largest_change_of_several():
    net = Network(Encoder([integer(0, 4)] * 2), [], Head([[1] * 8, [-1] * 8], [0, -1]))
    found = sg.whatif(net, [4, 4], sg.Linf, n=4)
    listed = [found, *found.others]
    assert [answer.cost for answer in listed] == sorted(answer.cost for answer in listed)
    assert len(listed) == 4
    assert found.all_listed
    assert {tuple(answer.changed) for answer in listed} >= {(2, 2)} or found.cost > 2


def test_lists_of_numbers_do_not_hide_counterfactuals():
    net = Network(Encoder([thermometer([10, 20], 0, 30, True)]), [], Head([[-1, -1], [1, 1]], [1, 0]))
    answer = sg.whatif(net, [5], sg.L1, region=sg.Box({0: {5, 25}}))
    assert (answer.changed, answer.cost) == ((25,), 20)
    assert checked(answer, net)
    assert isinstance(sg.whatif(net, [5], sg.L1, region=sg.Box({0: {5, 9}})), sg.NoCounterfactual)


def test_lists_that_are_not_complete_say_so(monkeypatch):
    from sugenet.engines.walk import listing

    monkeypatch.setattr(listing, "MOST_SETS", 0)
    found = sg.whatif(NET, X, n="all")
    assert not found.all_listed
    assert "not listed" in str(found)
    assert found.data()["all_listed"] is False
