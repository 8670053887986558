"""Rulebooks against brute force: every rule true and prime, complete books exact, exports that say the same;
large networks by certificate.
"""

from __future__ import annotations

import copy
import importlib
import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, EncodingError, QuestionError, TooLargeError
from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    Steps,
    bit,
    integer,
    thermometer,
    threshold,
    unused,
)
from sugenet.problem.clock import Clock
from sugenet.reason import Always, Proved, verify
from sugenet.reason.rules.book import BookWork, Rulebook, rulebook
from sugenet.reason.rules.grid import Grid, indices_of
from sugenet.reason.rules.recheck import KINDS
from sugenet.reason.rules.rule import parse_rule
from sugenet.reason.rules.small import all_primes, cover
from tests.fuzzing.wrappers import altered, uncovered_in
from tests.problem.small import raw_values

whole = importlib.import_module("sugenet.reason.rules.book")  # the module, not the function of that name

CODINGS = [
    bit(),
    thermometer([1, 2, 3], 0, 4, True),
    OneHot(("a", "b", "c")),
    OneHot((1, 2, 3, 4)),
    threshold(2, 0, 3, True),
    thermometer([1.2, 1.5, 2.5], 0, 3, True),  # no whole number between two of the cuts
    threshold(9, 0, 3, True),
    unused(0, 1, True),
]


def random_network(rng, features=None, classes=None):
    encoder = Encoder([CODINGS[k] for k in rng.integers(0, len(CODINGS), features or rng.integers(1, 6))])
    layers, size = [], encoder.width
    for _ in range(rng.integers(0, 3)):
        m = int(rng.integers(1, 6))
        weights = rng.integers(-1, 2, (m, size))
        layers.append(DenseLayer(weights, [int(rng.integers(0, abs(row).sum() + 2)) for row in weights]))
        size = m
    classes = classes or int(rng.integers(2, 4))
    bias = [Fraction(int(rng.integers(-4, 5)), 3) for _ in range(classes)]
    return Network(
        encoder, layers, Head(rng.integers(-1, 2, (classes, size)), bias), [f"k{k}" for k in range(classes)]
    )


def with_levels(rng):
    """A network whose first layer reads levels."""
    encoder = Encoder(
        [
            (CODINGS[1], CODINGS[4], CODINGS[5], integer(0, 5))[k]
            for k in rng.integers(0, 4, rng.integers(1, 5))
        ]
    )
    first = LevelLayer(
        rng.integers(-2, 3, (4, encoder.features)), rng.integers(0, encoder.width + 1, 4), encoder.tops
    )
    return Network(
        encoder, [first], Head(rng.integers(-1, 2, (3, 4)), [0, Fraction(1, 2), -1]), ["k0", "k1", "k2"]
    )


def everything(network):
    """All raw samples and their classes by definition."""
    rows = list(product(*map(raw_values, network.encoder.codings)))
    X = np.empty((len(rows), network.encoder.features), dtype=object)
    for number, row in enumerate(rows):
        X[number] = row
    return X, network.predict(X, engine="definition").tolist()


def wider(grid, masks):
    """Every box with one more place."""
    for feature in grid.conditions(masks):
        places = indices_of(masks[feature])
        options = (places[0] - 1, places[-1] + 1) if grid.is_number(feature) else range(grid.sizes[feature])
        for place in options:
            if 0 <= place < grid.sizes[feature] and place not in places:
                yield (*masks[:feature], masks[feature] | 1 << place, *masks[feature + 1 :])


def assert_true_and_prime(book, network):
    grid = Grid(network)
    X, y = everything(network)
    places, labels = grid.places(X), np.array(y)
    for rule in book.rules:
        assert (labels[grid.inside(rule.masks, places)] == rule.index).all()
        assert rule.prime
        for masks in wider(grid, rule.masks):
            assert (labels[grid.inside(masks, places)] != rule.index).any()
        again = parse_rule(network, str(rule).replace("any input", ""))
        near, same = again.box.of(network), rule.box.of(network)
        assert {(m.feature, m.state) for m in near.moves} | set(enumerate(near.states)) == {
            (m.feature, m.state) for m in same.moves
        } | set(enumerate(same.states))


@pytest.mark.parametrize("seed", range(120))
def test_complete_books_say_what_the_network_says(seed):
    rng = np.random.default_rng(seed)
    network = with_levels(rng) if seed % 4 == 0 else random_network(rng)
    X, y = everything(network)
    book = rulebook(network, seed=seed)
    assert book.complete
    assert book.predict(X) == y
    assert_true_and_prime(book, network)
    assert book.check().startswith(f"{len(book)} rules hold")
    shares = [book.covered(k) for k in range(len(network.classes))]
    assert all(share.exact for share in shares)
    assert sum(share.value for share in shares) == 1
    assert all(book._grid.union([rule.masks for rule in book.of(k)]) == shares[k] for k in range(len(shares)))
    assert [rule.coverage for rule in book.rules] == sorted(
        (rule.coverage for rule in book.rules), reverse=True
    )
    for rule in book.rules:  # none is needless
        others = [other.masks for other in book.of(rule.index) if other is not rule]
        assert book._grid.union(others).value < shares[rule.index].value
    one = rulebook(network, network.classes[-1])
    assert one.predict(X) == [label if label == len(network.classes) - 1 else None for label in y]


@pytest.mark.parametrize("seed", range(60))
def test_every_prime_rule(seed):
    rng = np.random.default_rng(1000 + seed)
    network = random_network(rng, features=int(rng.integers(1, 4)))
    book = rulebook(network, every=True)
    assert book.complete
    assert_true_and_prime(book, network)
    grid, (X, y) = Grid(network), everything(network)
    places, labels = grid.places(X), np.array(y)
    options = []
    for f, size in enumerate(grid.sizes):
        masks = [
            m
            for m in range(1, 1 << size)
            if not grid.is_number(f) or indices_of(m)[-1] - indices_of(m)[0] < m.bit_count()
        ]
        options.append(masks)
    true = {}
    for box in product(*options):
        held = set(labels[grid.inside(box, places)].tolist())
        if len(held) == 1:
            true[box] = held.pop()
    primes = {
        (box, label) for box, label in true.items() if all(true.get(w) != label for w in wider(grid, box))
    }
    assert {(rule.masks, rule.index) for rule in book.rules} == primes


@pytest.mark.parametrize("seed", range(60))
def test_grown_rules(seed, monkeypatch):
    """As in large networks: from samples, by asking the solver, or by the ladder of engines."""
    monkeypatch.setattr(whole, "CODEWORDS", 0)
    if seed % 3 == 0:
        monkeypatch.setattr("sugenet.engines.hard.learn.solver._HEAVY_LAYERS", -1)
    rng = np.random.default_rng(2000 + seed)
    network = with_levels(rng) if seed % 4 == 0 else random_network(rng)
    X, y = everything(network)
    book = rulebook(network, X=X if seed % 2 else None, seed=seed)
    assert not book.complete
    assert_true_and_prime(book, network)
    book.check()
    said = book.predict(X)
    assert all(a in (None, b) for a, b in zip(said, y, strict=True))
    if seed % 2:
        assert said == y
    for k in range(len(network.classes)):
        share = book.covered(k)
        assert share.exact
        monkeypatch.setattr("sugenet.reason.rules.grid._NODES", 0)
        bound = book.covered(k)
        monkeypatch.undo()
        monkeypatch.setattr(whole, "CODEWORDS", 0)
        assert bound.value <= share.value


def clauses_of(text, kind):
    lines = [line for line in text.splitlines() if not line.startswith("c")]
    head, variables, count = lines[0].split()[1], *map(int, lines[0].split()[2:])
    rows = [[int(word) for word in line.split()] for line in lines[1:]]
    assert head == kind
    assert len(rows) == count
    assert all(row[-1] == 0 and all(1 <= abs(v) <= variables for v in row[:-1]) for row in rows)
    return variables, [row[:-1] for row in rows]


@pytest.mark.parametrize("seed", range(60))
def test_exports_say_the_same(seed):
    rng = np.random.default_rng(3000 + seed)
    network = random_network(rng)
    X, _ = everything(network)
    book = rulebook(network, most=None if seed % 2 else 2)
    said = book.predict(X)
    bits = network.encoder.encode(X)
    scope = {}
    exec(book.to_python(), scope)
    assert [scope["classify"](row) for row in X.tolist()] == [
        None if k is None else network.classes[k] for k in said
    ]

    for k in range(len(network.classes)):
        _, terms = clauses_of(book.to_dnf(k), "dnf")
        by_terms = [any(all(row[abs(v) - 1] == (v > 0) for v in term) for term in terms) for row in bits]
        assert by_terms == [label == k for label in said]

    variables, clauses = clauses_of(book.to_cnf_dimacs(), "cnf")
    if variables <= 14:
        models = {
            m
            for m in product([False, True], repeat=variables)
            if all(any(m[abs(v) - 1] == (v > 0) for v in c) for c in clauses)
        }
        wanted = set()
        for row, label in zip(bits.tolist(), said, strict=True):
            for k in range(len(network.classes)):
                if label in (None, k):
                    wanted.add((*row, *(j == k for j in range(len(network.classes)))))
        assert models == wanted

    base = book.possibilistic_base()
    for row, label in list(zip(bits.tolist(), said, strict=True))[:20]:
        held = {s * (i + 1): int(on == (s > 0)) for i, on in enumerate(row) for s in (1, -1)}
        for k in range(len(network.classes)):
            sample = held | {f"class {name}": int(j == k) for j, name in enumerate(network.classes)}
            assert base(sample) == int(label in (None, k))
    assert type(base).from_text(base.to_text()) == base


@pytest.mark.parametrize("seed", range(20))
def test_json_and_back(seed):
    rng = np.random.default_rng(4000 + seed)
    network = random_network(rng)
    book = rulebook(network)
    data = json.loads(json.dumps(book.data()))
    again = Rulebook.from_data(network, data)
    assert again.data() == book.data()
    assert again.text() == book.text()
    assert again.check() == book.check()


def steps_network():
    encoder = Encoder(
        [thermometer([4, 8, 12], 0, 16, True), OneHot(("left", "right", "top")), bit()], ["size", "side", "b"]
    )
    return Network(encoder, [DenseLayer([[1, 1, 1, -1, 0, 1, 1]], [3])], Head([[-1], [1]]), ["no", "yes"])


def test_damage_is_found():
    network = steps_network()
    book = rulebook(network)
    good = json.loads(json.dumps(book.data()))
    with pytest.raises(CertificateError, match="is for the network"):
        Rulebook.from_data(random_network(np.random.default_rng(0)), good)
    with pytest.raises(CertificateError, match="not a sugenet rulebook"):
        Rulebook.from_data(network, {**good, "version": 7})
    with pytest.raises(CertificateError, match="damaged"):
        Rulebook.from_data(network, {key: value for key, value in good.items() if key != "rules"})
    for states in ([[0, [0, 2]]], [[0, []]], [[0, [9]]], [[7, [0]]]):
        bad = copy.deepcopy(good)
        bad["rules"][0]["states"] = states
        with pytest.raises(CertificateError, match="damaged"):
            Rulebook.from_data(network, bad)
    wide = copy.deepcopy(good)
    wide["rules"][0]["states"] = []
    with pytest.raises(CertificateError, match="not about the rule"):
        Rulebook.from_data(network, wide).check()
    wide["rules"][0]["certificate"]["question"]["where"] = []
    with pytest.raises(CertificateError, match="the words or the coverage of rule 1"):
        Rulebook.from_data(network, wide).check()
    fewer = copy.deepcopy(good)
    fewer["rules"].pop()
    with pytest.raises(CertificateError, match="do not cover exactly"):
        Rulebook.from_data(network, fewer).check()
    with pytest.raises(CertificateError, match="is for the network"):
        book.check(random_network(np.random.default_rng(1)))


def test_what_is_left_out_is_counted():
    network = steps_network()
    book = rulebook(network)
    short = rulebook(network, longest=2)
    assert not short.complete
    assert len(short) + short.left_out["too long"] == len(book)
    assert max(map(len, short.rules)) <= 2
    few = rulebook(network, most=1)
    assert not few.complete
    assert few.left_out["beyond most"] == len(book) - 1
    assert few.rules[0].coverage == book.rules[0].coverage
    assert "left out" in str(few)
    assert not rulebook(network, time_limit=0).complete


class Steady:
    """A clock that goes on by one second whenever it is looked at."""

    def __init__(self):
        self.time = 0

    def __call__(self):
        self.time += 1
        return self.time


def work_until(network, limit, now):
    return BookWork(Grid(network), (0, 1), None, None, Clock(limit, now=now))


def test_nothing_goes_on_when_the_time_is_up():
    """Of a small network: its table, the cover, what is needless in it, every prime rule, the proofs."""
    network, seen = steps_network(), set()
    whole = Steady()
    every_look = len(work_until(network, 10**6, whole).small(False)) and whole.time
    for limit in range(0, every_look, max(1, every_look // 60)):
        for every in (False, True):
            now = Steady()
            book = work_until(network, limit, now).small(every)
            assert now.time <= limit + 6, (limit, every)  # a few looks to see that it is up
            assert not book.complete or limit > every_look // 2
            book.check()
            seen.add(len(book))
    assert 0 in seen
    assert len(seen) > 2  # some of the time is for proofs, so that some rules are found and proved


def test_tables_covers_and_primes_look_at_the_clock_in_every_step():
    network = steps_network()
    grid = Grid(network)
    has_class = grid.table() == 1
    looks = iter([False] * 3 + [True] * 10**6)
    few = cover(grid, has_class, stop=lambda: next(looks))
    assert len(few) == 3
    assert sum(1 for _ in looks) > 10**6 - 5
    with pytest.raises(TimeoutError):
        grid.table(stop=lambda: True)
    with pytest.raises(TimeoutError):
        all_primes(grid, has_class, lambda: True)


def test_rules_of_a_large_network_stop_with_the_clock():
    network, X = sg.models.breast_cancer(), sg.models.samples("breast_cancer")[0][:20]
    for limit in (0, 10, 40, 200):
        now = Steady()
        book = work_until(network, limit, now).large(X)
        assert now.time <= limit + 40  # one feature is widened as far as it goes, by halving
        assert not book.complete
        book.check()


def test_wrong_questions_are_named():
    network = steps_network()
    with pytest.raises(QuestionError, match="there is no class"):
        rulebook(network, "maybe")
    with pytest.raises(QuestionError, match="most=-1"):
        rulebook(network, most=-1)
    with pytest.raises(QuestionError, match="Say which"):
        rulebook(network).to_dnf()
    with pytest.raises(QuestionError, match="too many for every rule"):
        rulebook(sg.models.digits(), every=True)
    many = Network.of_bits([], Head([[1] * 16, [-1] * 16]))
    with pytest.raises(TooLargeError, match="every=False"):
        rulebook(many, every=True)
    with pytest.raises(EncodingError, match="which certificates can hold"):
        OneHot((object(), "b"))


def test_majority_has_all_its_focal_sets():
    """Of a threshold every prime rule is needed: C(9, 5) for on, C(9, 5) for off."""
    network = Network.of_bits([DenseLayer([[1] * 9], [5])], Head([[-1], [1]]))
    book = rulebook(network)
    assert len(book.of(0)) == len(book.of(1)) == 126
    assert book.covered(1) == (Fraction(1, 2), True)


def test_a_network_of_a_million_codewords():
    rng = np.random.default_rng(5)
    weights = np.zeros((3, 20), np.int64)
    weights[:, :5], weights[0, 5:8] = rng.choice([-1, 1], (3, 5)), 1
    network = Network.of_bits([DenseLayer(weights, [4, 3, 3])], Head([[1, -1, 1], [-1, 1, 1]]))
    book = rulebook(network)
    assert book.complete
    X = rng.integers(0, 2, (500, 20))
    assert book.predict(X) == network.predict(X).tolist()


def test_many_features_that_do_nothing():
    codings = [bit(), *[unused(0, 1, True)] * 80, Steps((2.0,), 0, 3, True)]
    network = Network(Encoder(codings), [], Head([[1, 1], [-1, -1]]))
    book = rulebook(network)
    assert book.complete
    assert book.check()


def test_breast_cancer():
    network = sg.models.breast_cancer()
    X, _ = sg.models.samples("breast_cancer")
    book = rulebook(network, X=X[:10])
    said = book.predict(X)
    assert all(a in (None, b) for a, b in zip(said, network.predict(X).tolist(), strict=True))
    assert None not in said[:10]
    assert all(rule.prime for rule in book.rules)
    assert book.check().startswith(f"{len(book)} rules hold for any input, all of them prime; not covered")
    for rule in book.rules[:3]:  # prime: each widening is refuted
        for masks in wider(rule.grid, rule.masks):
            assert not isinstance(
                verify(network, Always(rule.index, dict(rule.grid.limits(masks))), engine="cdcl"), Proved
            )
    again = Rulebook.from_data(network, json.loads(json.dumps(book.data())))
    assert again.predict(X) == said
    scope = {}
    exec(book.to_python(), scope)
    assert [scope["classify"](row) for row in X.astype(np.float32)[:20]] != [None] * 20
    assert [scope["classify"](row) for row in X] == [None if k is None else network.classes[k] for k in said]
    only = rulebook(network, "malignant", most=3)
    assert {rule.index for rule in only.rules} == {0}
    assert len(only) == 3


@pytest.mark.slow
def test_digits():
    network = sg.models.digits()
    X, _ = sg.models.samples("digits")
    book = rulebook(network, X=X, most=3)
    assert len(book) == 3
    assert book.check()
    assert all(a in (None, b) for a, b in zip(book.predict(X), network.predict(X).tolist(), strict=True))
    assert all(len(rule) > 20 for rule in book.rules)
    assert not rulebook(network, X=X[:2], longest=3).rules


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(note=1), "the rulebook has a field 'note' that it must not have"),
        (lambda d: d["rules"][0].update(note=1), "rule 1 has a field 'note' that it must not have"),
        (lambda d: d.update(version=True), "not a sugenet rulebook"),
        (lambda d: d.update(version=1.0), "not a sugenet rulebook"),
        (lambda d: d.update(classes=["no", "no"]), "each once"),
        (lambda d: d.update(classes=[0, 1]), "names of the network's"),
        (lambda d: d.update(kind="best"), "kind one of cover, every, some"),
        (lambda d: d.update(complete=1), "complete is true or false"),
        (lambda d: d.update(kind="some"), "complete, and that rules are missing"),
        (lambda d: d["left_out"].update({"too long": 2}), "complete, and that rules are missing"),
        (lambda d: d["left_out"].update({"too long": -1}), "must be integers of at least 0"),
        (lambda d: d.update(seconds=float("nan")), "not a valid duration"),
        (lambda d: d["rules"][0]["if"].append("b = +1"), "not about the rule"),
        (lambda d: d["rules"][0].update(coverage="1"), "not about the rule"),
        (lambda d: d["rules"][0].update(prime=1), "is prime or not"),
        (lambda d: d["rules"][0]["states"].append(d["rules"][0]["states"][0]), "states of feature"),
        (lambda d: d["covered"]["no"].update(share="1/2"), "do not cover exactly the shares"),
        (lambda d: d["rules"].append(d["rules"][0]), "is needless"),
    ],
)
def test_what_a_book_claims_is_checked_when_it_is_read(change, message):
    network = steps_network()
    good = json.loads(json.dumps(rulebook(network).data()))
    assert Rulebook.from_data(network, good).data() == good
    change(good)
    with pytest.raises(CertificateError, match=message):
        Rulebook.from_data(network, good)


@pytest.mark.parametrize("most", [1 << 20, 1])
def test_a_rule_that_could_be_wider_is_not_prime(monkeypatch, most):
    """A true rule, with its proof, but narrower than it could be; looked at in the table,
    and asked of the network.
    """
    network = steps_network()
    book = rulebook(network, "yes", most=1)
    data = json.loads(json.dumps(book.data()))
    rule = book.rules[0]
    feature = next(f for f, size in enumerate(rule.grid.sizes) if f not in rule.states and size > 1)
    masks = tuple(1 if f == feature else mask for f, mask in enumerate(rule.masks))
    narrow = sg.verify(
        network, sg.Always("yes", sg.Box({network.encoder.names[f]: v for f, v in rule.grid.limits(masks)}))
    )
    data["rules"][0] |= {
        "if": rule.grid.words(masks),
        "coverage": str(rule.grid.coverage(masks)),
        "certificate": narrow.certificate,
    }
    data["rules"][0]["states"] = [
        [f, [rule.grid.states[f][p] for p in indices_of(masks[f])]] for f in rule.grid.conditions(masks)
    ]
    monkeypatch.setattr("sugenet.reason.rules.recheck.CODEWORDS", most)
    with pytest.raises(CertificateError, match="rule 1 is not prime"):
        Rulebook.from_data(network, json.loads(json.dumps(data)))


def test_a_cover_is_not_every_prime_rule():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        network = Network.of_bits(
            [DenseLayer(rng.integers(-1, 2, (3, 4)), [1, 2, 2])], Head(rng.integers(-1, 2, (2, 3)))
        )
        cover, every = rulebook(network), rulebook(network, every=True)
        if len(every) > len(cover):
            break
    assert Rulebook.from_data(network, every.data()).check() == every.check()
    with pytest.raises(CertificateError, match="these are not all prime rules"):
        Rulebook.from_data(network, cover.data() | {"kind": "every"})
    with pytest.raises(CertificateError, match="is needless"):
        Rulebook.from_data(network, every.data() | {"kind": "cover"})


def test_a_rule_is_about_any_input_and_not_about_those_of_its_certificate():
    """The certificate holds within 12..20, where every input is high; 5 is low."""
    network = Network(Encoder([threshold(10.0)], ["x"]), [], Head([[-1], [1]]), ["low", "high"])
    good = json.loads(json.dumps(rulebook(network, "high").data()))
    proved = sg.verify(network, sg.Always("high"), within="12 <= x <= 20")
    rule = {"if": [], "then": "high", "states": [], "coverage": "1", "prime": True}
    false = good | {
        "complete": False,
        "kind": "some",
        "covered": {"high": {"share": "1", "exact": True}},
        "rules": [rule | {"certificate": proved.certificate}],
    }
    assert sg.check(proved.certificate, network)
    with pytest.raises(CertificateError, match="rule 1 is not about the rule any input -> high: its domain"):
        Rulebook.from_data(network, json.loads(json.dumps(false)))
    within = network.within("x >= 12")
    with pytest.raises(CertificateError, match="its domain is another one"):
        Rulebook.from_data(within, json.loads(json.dumps(false)))
    assert Rulebook.from_data(within, good).data() == good


def unsure(book):
    rules = tuple(replace(rule, prime=False) for rule in book.rules)
    return replace(book, kind="some", rules=rules)


@pytest.mark.parametrize(
    "made",
    [
        rulebook,
        lambda network: rulebook(network, every=True),
        lambda network: rulebook(network, "yes", most=1),
        lambda network: rulebook(network, "yes", every=True, most=2),
        lambda network: unsure(rulebook(network, "yes", most=2)),
    ],
    ids=["cover", "every", "some of a cover", "some of every", "grown"],
)
def test_each_field_of_a_book_is_compared_or_named_as_not_covered(made):
    """Also those of the certificates, but for their proofs, which may hold in another form. Of three prime
    rules for yes, one is needless.
    """
    encoder = Encoder([thermometer([4, 8], 0, 16, True), bit(), bit()], ["size", "b", "c"])
    layer = DenseLayer([[0, 1, 1, 0], [0, -1, 0, 1]], [2, 2])
    network = Network(encoder, [layer], Head([[-1, -1], [1, 1]], bias=[0, 1]), ["no", "yes"])
    data = json.loads(json.dumps(made(network).data()))
    others = {"yes": ["no"], "no": ["yes"]} | {kind: list(KINDS) for kind in KINDS}
    many = 0
    for path, false in altered(data, others=others, skip=lambda path: "proof" in path):
        if false == data:
            continue
        many += 1
        try:
            words = Rulebook.from_data(network, false).check()
        except CertificateError:
            continue
        assert uncovered_in(words) & set(path) or says_less(path, false, data), (path, words)
    assert many > 50


def says_less(path, false, data):
    """A book that does not say that it is complete, or that some of all prime rules are some of a cover: none
    of them is needless. Or the same rules in another order, where they cover as much.
    """
    if path == ("rules",):
        return sorted(map(str, false["rules"])) == sorted(map(str, data["rules"]))
    return (path == ("complete",) and not false["complete"]) or (
        path == ("kind",) and data["kind"] == "every"
    )
