"""Every question against its meaning by enumeration (`twin`): answers, witnesses, accepted proofs."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import sugenet as sg
from sugenet.errors import (
    CertificateError,
    EncodingError,
    QuestionError,
    RuleSyntaxError,
    SugenetError,
    TooLargeError,
)
from tests.checker import twin

SHOWN = 40


def accepts(certificate, network):
    try:
        return bool(sg.check(json.loads(json.dumps(certificate)), network))
    except CertificateError:
        return False


def exactly(data):
    """JSON data with its numbers as exact ones, however they are spelled."""
    if isinstance(data, dict):
        sets = {"one of": lambda values: sorted(values, key=str)}
        return {
            name: sets.get(name, list)(exactly(value)) if isinstance(value, list) else exactly(value)
            for name, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [exactly(value) for value in data]
    try:
        return data if data is None or isinstance(data, bool) else Fraction(data)
    except ValueError:
        return data


def asked_at(seed, *kinds):
    chance = twin.chance_of(seed)
    while True:
        net = twin.random_net(chance)
        kind = chance.choice(kinds) if kinds else None
        asked = twin.random_question(chance, net, kind)
        network = net.network()
        try:
            twin.within(asked, network)
        except (EncodingError, RuleSyntaxError, SugenetError):
            continue  # a domain without inputs, or a law that says nothing
        if list(asked.inputs(net)) and _small(asked, net):
            return chance, net, asked, network


def _small(asked, net):
    size = 1
    for row in asked.inputs(net):
        size *= len(row)
    return size <= 4000


PROOFS = (
    {"kind": "bound"},
    {"kind": "enumerate"},
    *({"kind": "dual", "cases": [0] * cases, "multipliers": ""} for cases in range(1, 4)),
)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_verdicts_mean_what_enumeration_says(start):
    for seed in range(start, start + 20):
        check_verdict(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 41000, 2000))
def test_verdicts_mean_what_enumeration_says_at_length(start):
    for seed in range(start, start + 400):
        check_verdict(seed)


def is_fine(sample):
    """Whether a sample has values that differ from others by less than 60 bits can say."""
    return any(isinstance(value, Fraction) and value.denominator > 1 << 40 for value in sample)


def check_verdict(seed):
    chance, net, asked, network = asked_at(seed, "robust", "robust", "always", "never", "query")
    inputs, bad = twin.decided(asked, net)
    known = twin.within(asked, network)
    if not asked.is_sample_inside(net) or (asked.sample is not None and not asked.obeys(asked.sample)):
        with pytest.raises(QuestionError):
            sg.verify(known, twin.python_question(asked, network, net))
        inputs, bad = [], []
    elif inputs:
        answer = sg.verify(known, twin.python_question(asked, network, net))
        outcomes = ["refuted" if bad else "proved"]
        if asked.region is not None and asked.region[0] in ("L1", "L2") and is_fine(asked.sample):
            outcomes.append("undecided")  # engines round prices, and a violation is just outside
        assert answer.outcome in outcomes, (seed, asked, net)
        assert accepts(answer.certificate, network), (seed, asked, net)
        if asked.kind != "query":  # whose inequalities are brought to lowest terms
            assert exactly(answer.certificate["question"]) == exactly(asked.question(net)), seed
    elif asked.kind != "query" or len(net.head) > 1:  # with one class there is nothing to violate
        with pytest.raises(QuestionError):
            sg.verify(known, twin.python_question(asked, network, net))
    rows = list(twin.product(*asked.inputs(net)))
    for row in chance.sample(rows, min(SHOWN, len(rows))) + bad[:5]:
        witness = [twin.shown(value) for value in row]
        certificate = asked.certificate(net, network, answer="refuted", witness=witness, proof=None)
        assert accepts(certificate, network) == (row in bad), (seed, asked, net, row)
    if bad or not inputs:
        for proof in PROOFS:
            certificate = asked.certificate(net, network, answer="proved", witness=None, proof=proof)
            assert not bad or not accepts(certificate, network), (seed, asked, net, proof)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_counterfactuals_cost_what_enumeration_says(start):
    for seed in range(start, start + 20):
        check_counterfactual(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 41000, 2000))
def test_counterfactuals_cost_what_enumeration_says_at_length(start):
    for seed in range(start, start + 400):
        check_counterfactual(seed)


def is_rounded(price):
    """Whether prices are rounded for the engines."""
    return max(price.numerator, price.denominator) >= 1 << 20


def has_huge_prices(asked, net):
    """Whether prices leave 60 bits, so that they are rounded for the engines."""
    rows = [
        (*asked.sample[:f], value, *asked.sample[f + 1 :])
        for f, own in enumerate(asked.inputs(net))
        for value in own
    ]
    named = range(len(asked.sample)) if not asked.cost.startswith("Prices") else asked.prices
    return any(
        asked.price(net, row) >= 1 << 40
        for row in rows
        if all(f in named or a == b for f, (a, b) in enumerate(zip(asked.sample, row, strict=True)))
    )


COSTS = {"L0": sg.L0, "L1": sg.L1, "L2": sg.L2, "Linf": sg.Linf, "Hamming": sg.Hamming}


def check_counterfactual(seed):
    chance, net, asked, network = asked_at(seed, "whatif")
    _, bad = twin.decided(asked, net)
    power = 2 if asked.cost == "L2" else 1
    beyond = min((asked.price(net, row) for row in bad), default=Fraction(0))
    if asked.limit is not None:
        bad = [row for row in bad if asked.price(net, row) <= asked.limit**power]
    least = min((asked.price(net, row) for row in bad), default=None)
    known = twin.within(asked, network)
    cost = COSTS.get(asked.cost) or sg.Prices(asked.prices, asked.cost == "Prices per unit")
    region = None
    if asked.region is not None:
        region = twin.python_question(twin.Asked("robust", asked.sample, asked.region), network, net).region

    def ask():
        fixed = [f for f in range(len(net.features)) if f not in asked.movable]
        sample = [twin.shown(value) for value in asked.sample]
        return sg.whatif(
            known,
            sample,
            cost,
            target=asked.target,
            keep=fixed,
            region=region,
            max_cost=asked.limit,
            ties=asked.ties,
        )

    if not asked.is_sample_inside(net) or not asked.obeys(asked.sample):
        with pytest.raises(QuestionError):
            ask()
        least, bad = None, []
    elif asked.changes(net, asked.sample):
        ask()
    else:
        answer = ask()
        if least is None and not (is_rounded(beyond) and isinstance(answer, sg.OpenCounterfactual)):
            assert type(answer).__name__ == "NoCounterfactual", (seed, asked, net)
        elif least is not None:
            lower, value = (Fraction(answer.certificate[name]) for name in ("lower", "value"))
            assert lower <= least <= value, (seed, asked, net)
            if not is_rounded(least) and not has_huge_prices(asked, net):
                assert lower == value, (seed, asked, net)
        assert accepts(answer.certificate, network), (seed, asked, net)
    rows = list(twin.product(*asked.inputs(net)))
    for row in chance.sample(rows, min(SHOWN, len(rows))) + bad[:5]:
        price = Fraction(0)
        if not asked.cost.startswith("Prices") or all(
            f in asked.prices or a == b for f, (a, b) in enumerate(zip(asked.sample, row, strict=True))
        ):
            price = asked.price(net, row)
        for value in (price, price + 1):
            contents = {"answer": "counterfactual", "value": str(value), "lower": "0", "proof": None}
            certificate = asked.certificate(net, network, witness=[twin.shown(v) for v in row], **contents)
            right = row in bad and value == price
            assert accepts(certificate, network) == right, (seed, asked, net, row, value)
    for proof in PROOFS:
        none = asked.certificate(net, network, answer="none", witness=None, proof=proof)
        assert least is None or not accepts(none, network), (seed, asked, net, proof)
        if least is not None:
            over = str(least + Fraction(1, 7))
            wrong = asked.certificate(net, network, answer="open", witness=None, lower=over, proof=proof)
            assert not accepts(wrong, network), (seed, asked, net, proof)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_counts_are_what_enumeration_says(start):
    for seed in range(start, start + 20):
        check_count(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 41000, 2000))
def test_counts_are_what_enumeration_says_at_length(start):
    for seed in range(start, start + 400):
        check_count(seed)


def check_count(seed):
    _, net, asked, network = asked_at(seed, "count")
    if asked.law is not None:  # laws make more states
        return
    known = twin.within(asked, network)
    counts = twin.counted(asked, net) if asked.is_sample_inside(net) else [0]
    sample = None if asked.sample is None else [twin.shown(value) for value in asked.sample]
    region = None
    if asked.region is not None:
        region = twin.python_question(twin.Asked("robust", asked.sample, asked.region), network, net).region
    where = {f: set(limit) if isinstance(limit, set) else limit for f, limit in asked.where.items()}
    try:
        answer = sg.count(known, sample, region, where=where)
    except QuestionError:
        assert not sum(counts), (seed, asked, net)
    except TooLargeError:  # prices between far floats have no common unit of 60 bits
        pass
    else:
        assert list(answer.counts) == counts, (seed, asked, net)
        is_wide = asked.region is not None and asked.region[0] == "L2"  # squares may leave 60 bits
        assert is_wide or accepts(answer.certificate, network), (seed, asked, net)
    for total in {sum(counts) + 1, max(sum(counts) - 1, 0)}:
        rows = [[*([0] * (len(net.head) - 1)), total]]
        proof = {"kind": "partition", "order": [], "parts": [[[], rows[0]]]}
        contents = {"answer": "counted", "counts": rows[0], "total": total, "method": "walk", "proof": proof}
        assert not accepts(asked.certificate(net, network, **contents), network), (seed, asked, net)


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_pairs_mean_what_enumeration_says(start):
    for seed in range(start, start + 20):
        check_pairs(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 11000, 500))
def test_pairs_mean_what_enumeration_says_at_length(start):
    for seed in range(start, start + 100):
        check_pairs(seed)


def check_pairs(seed):
    chance, net, asked, network = asked_at(seed, "monotone", "fair")
    if asked.kind not in ("monotone", "fair"):
        return
    inputs, _ = twin.decided(asked, net)
    if len(inputs) > 400:
        return
    bad = twin.pairs(asked, net)
    known = twin.within(asked, network)
    try:
        answer = sg.verify(known, twin.python_question(asked, network, net))
    except QuestionError:
        assert not bad, (seed, asked, net)
    else:
        assert answer.outcome == ("refuted" if bad else "proved"), (seed, asked, net)
        assert accepts(answer.certificate, network), (seed, asked, net)
    rows = list(twin.product(*asked.inputs(net)))
    for _ in range(SHOWN):
        pair = (
            chance.choice(bad)
            if bad and chance.random() < 0.3
            else (chance.choice(rows), chance.choice(rows))
        )
        witness = [[twin.shown(value) for value in row] for row in pair]
        certificate = asked.certificate(net, network, answer="refuted", witness=witness, proof=None)
        assert accepts(certificate, network) == (pair in bad), (seed, asked, net, pair)
