"""Certificates checked in the browser: what Python accepts is seen again there,
and nothing passes there that Python refuses.
"""

import copy
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError
from sugenet.nn import DenseLayer, Domain, Encoder, Head, Network, OneHot, Span, Steps, threshold
from sugenet.reason.envelope import kind_of
from sugenet.web import payload
from sugenet.web.bundle import bundled
from tests.checker.typed import without_form
from tests.fuzzing.forgeries import _huge
from tests.fuzzing.truth import is_true
from tests.problem.small import random_network, random_sample
from tests.thinned import examples

CHECK = """(text) => {
  const [pages, asked] = JSON.parse(text);
  const models = pages.map((page) => new _engine_model.Model(page));
  return JSON.stringify(asked.map(([place, text]) => _engine_check.check(text, models[place])));
}"""

COSTS = [sg.L0, sg.Hamming, sg.L1, sg.L2, sg.Linf]


def here(engine, networks, asked):
    """Verdicts of the browser on (place of the network, certificate) pairs."""
    texts = [(place, json.dumps(certificate)) for place, certificate in asked]
    pages = [payload(network, title="check") for network in networks]
    return json.loads(engine(CHECK, json.dumps([pages, texts])))


def by_python(certificate, network):
    try:
        return sg.check(json.loads(json.dumps(certificate)), network)
    except CertificateError:
        return None


def plain(certificate):
    return json.loads(json.dumps(certificate))


def mixed_network():
    """Cuts between floats, categories, bits and integers."""
    encoder = Encoder(
        [
            threshold(0.1),
            Steps((0.5, 0.75, 3.0), 0.25, 3.5),
            OneHot((True, "b", None)),
            sg.nn.bit(),
            sg.nn.integer(0, 4),
        ]
    )
    rng = np.random.default_rng(1)
    layer = DenseLayer(rng.integers(-1, 2, (6, encoder.width)), [2, 3, 3, 4, 2, 3])
    return Network(
        encoder, [layer], Head(rng.integers(-1, 2, (3, 6)), bias=[Fraction(1, 3), 0, Fraction(-1, 7)])
    )


def limit_around(coding, value):
    return (
        {value, *coding.categories[:2]}
        if isinstance(coding, OneHot)
        else (None, value + 1)
        if coding.width > 1
        else (value, None)
    )


def answers_about(network, x, rng):
    """Answers of every kind that the browser checks, and the regions and costs of each."""
    names = list(network.encoder.names)
    label = int(network.predict(np.array([x], object))[0])
    target = next(k for k in range(len(network.classes)) if k != label)
    radius = int(rng.integers(1, 4))
    box = sg.Box(
        {
            name: limit_around(coding, value)
            for name, coding, value in list(zip(names, network.encoder.codings, x, strict=True))[1:]
        }
    )
    regions = [
        box,
        sg.L0(radius),
        sg.Hamming(radius),
        sg.L1(Fraction(radius, 2)),
        sg.L2(radius),
        sg.Linf(radius),
        sg.Free(names[: radius + 1]),
        sg.AnyInput(),
    ]
    for region in regions:
        yield sg.verify(network, sg.Robust(x, region))
        yield sg.verify(network, sg.Robust(x, region, target=target, ties="against"))
    for cost in COSTS:
        yield sg.whatif(network, x, cost=cost)
    for region in (sg.Linf(2), sg.Free(names[:2]), box):
        yield sg.whatif(network, x, region=region, ties="against")
    yield sg.whatif(network, x, cost=sg.L1, target=target, max_cost=2)
    yield sg.whatif(
        network,
        x,
        cost=sg.Prices({name: Fraction(k + 1, 2) for k, name in enumerate(names)}),
        keep=names[:1],
    )
    yield from sg.why(network, x, sg.AnyInput()).reasons
    yield from sg.why(network, x, sg.Hamming(2), minimal="size").reasons
    for question in (sg.Always(label, {}), sg.Never(target, {}), sg.Always(label, {names[0]: {x[0]}})):
        yield sg.verify(network, question)


def gathered(seeds):
    networks, asked = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        network = random_network(rng, features=4)
        x = random_sample(network, rng)
        networks.append(network)
        asked += [(len(networks) - 1, plain(answer.certificate)) for answer in answers_about(network, x, rng)]
    network = mixed_network()
    networks.append(network)
    for x in ([0.25, 0.6, "b", -1, 3], [Fraction(1, 4), 3.0, None, 1, 0], [-7.5, 0.3, True, 0, 2]):
        asked += [
            (len(networks) - 1, plain(answer.certificate))
            for answer in answers_about(network, x, np.random.default_rng(9))
        ]
    return networks, asked


# -- what is right passes ------------------------------------------------------------------------------------


def test_what_python_accepts_is_seen_again_in_the_same_words(engine):
    networks, asked = gathered(range(8))
    kinds = set()
    for (place, certificate), seen in zip(asked, here(engine, networks, asked), strict=True):
        said = by_python(certificate, networks[place])
        proof = kind_of(certificate["proof"])
        if seen["holds"] is None:
            assert proof not in ("enumerate", "bound")
            assert "sugenet check certificate.json MODEL" in seen["said"]
            continue
        assert without_form(seen) == {"holds": True, "said": without_form(said)}
        kinds.add((certificate["question"]["kind"], certificate["answer"], proof))
    assert kinds >= {
        ("robust", "proved", "enumerate"),
        ("robust", "proved", "bound"),
        ("robust", "refuted", None),
        ("whatif", "counterfactual", "enumerate"),
        ("whatif", "counterfactual", "bound"),
        ("whatif", "none", "enumerate"),
        ("reason", "minimum", "enumerate"),
        ("reason", "minimum", "bound"),
        ("always", "refuted", None),
        ("never", "proved", "bound"),
    }


def test_shipped_models(engine):
    digits, cancer = sg.models.digits(), sg.models.breast_cancer()
    X, B = sg.models.samples("digits")[0], sg.models.samples("breast_cancer")[0]
    answers = [
        (0, sg.whatif(digits, X[7])),
        (0, sg.whatif(digits, X[3], cost=sg.Hamming)),
        (0, sg.verify(digits, sg.Robust(X[3], sg.L0(2)))),
        (0, sg.verify(digits, sg.Robust(X[7], sg.Hamming(3)))),
        (0, sg.why(digits, X[8], sg.Hamming(2), minimal="size").reasons[0]),
        (1, sg.verify(cancer, sg.Robust(B[3], sg.Hamming(2)))),
        (1, sg.whatif(cancer, B[5], cost=sg.L1)),
    ]
    asked = [(place, plain(answer.certificate)) for place, answer in answers]
    for (place, certificate), seen in zip(asked, here(engine, [digits, cancer], asked), strict=True):
        said = sg.check(certificate, (digits, cancer)[place])
        assert without_form(seen) == {"holds": True, "said": without_form(said)}


def test_a_part_of_a_region_that_was_proved(engine):
    """What an answer that ran out of time knows."""
    network = sg.models.digits()
    X, _ = sg.models.samples("digits")
    proved = plain(sg.verify(network, sg.Robust(X[3], sg.L0(2))).certificate)
    proved |= {
        "answer": "undecided",
        "proved_up_to": "2",
        "question": proved["question"] | {"region": {"kind": "L0", "radius": "9"}},
    }
    nothing = plain(proved) | {"proved_up_to": None, "proof": None}
    (part, none) = here(engine, [network], [(0, proved), (0, nothing)])
    assert without_form(part) == {"holds": True, "said": without_form(sg.check(proved, network))}
    assert part["said"].endswith("the rest is not decided")
    assert none["holds"] is None


def test_what_the_page_finds_itself_gets_a_certificate_that_python_accepts(engine):
    digits, mixed = sg.models.digits(), mixed_network()
    X = sg.models.samples("digits")[0]
    asked = [(0, X[i].tolist(), None, []) for i in (0, 3, 7)] + [
        (0, X[7].tolist(), 5, [9]),
        (0, X[3].tolist(), 0, []),
    ]
    asked += [
        (1, [0.25, 0.6, "b", -1, 3], None, []),
        (1, ["1/4", 3.0, None, 1, 0], None, [1]),
        (1, [-7.5, 0.3, True, 0, 2], 1, []),
    ]
    found = engine(
        """([pages, asked]) => {
          const models = pages.map((page) => new _engine_model.Model(page));
          return asked.map(([place, sample, target, locked]) => {
            const model = models[place];
            const near = _engine_walk.nearest(model, model.statesOf(sample), { target, locked, most: 3 });
            const limit = near.outcome === "none" ? near.provedUpTo : null;
            const asked = { sample, target, locked, changes: near.changes, limit };
            const certificate = _engine_certify.certify(model, asked);
            const text = _engine_strict_json.writePlain(certificate);
            return [text, _engine_check.check(text, model)];
          });
        }""",
        [[payload(network, title="certify") for network in (digits, mixed)], asked],
    )
    for (place, *_), (text, seen) in zip(asked, found, strict=True):
        said = sg.check(json.loads(text), (digits, mixed)[place])
        assert without_form(seen) == {"holds": True, "said": without_form(said)}
    assert {json.loads(text)["answer"] for text, _ in found} == {"counterfactual", "none"}
    untrue = (
        "([page, sample]) => _engine_certify.certify(new _engine_model.Model(page), { sample, limit: 3 })"
    )
    with pytest.raises(Exception, match="the certificate would not be true"):
        engine(untrue, [payload(digits, title="certify"), X[7].tolist()])


# -- what is not does not ------------------------------------------------------------------------------------


def paths(value, path=()):
    """Every place in JSON data."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*path, key))
    elif isinstance(value, list):
        for place in range(len(value)):
            yield from paths(value[place], (*path, place))


def others(value, rng):
    """Values to put in the place of another."""
    if isinstance(value, bool):
        return [not value, int(value), None]
    if isinstance(value, int | float):
        return [value + 1, value - 1, 0, -value, value + 0.5, str(value), [value], None, 1e300, 2**60, True]
    if isinstance(value, str):
        words = [
            "",
            "L0",
            "L1",
            "L2",
            "Hamming",
            "Linf",
            "AnyInput",
            "lowest",
            "against",
            "proved",
            "refuted",
            "none",
            "open",
            "minimum",
            "0",
            "1",
            "3",
            "1/2",
        ]
        return [
            value + "0",
            value[:-1],
            None,
            1,
            *rng.choice(words, 6).tolist(),
            "0" * 16,
            "1/0",
            "7/3",
            "-1",
            "1e3",
        ]
    if isinstance(value, list):
        return [[], value[:-1], value + value[:1], value[::-1], None, {}]
    if isinstance(value, dict):
        return [
            {},
            None,
            [],
            {**value, "more": 1},
            *({k: v for k, v in value.items() if k != gone} for gone in value),
        ]
    return [0, 1, "0", [], {}]


def put(data, path, value):
    out = copy.deepcopy(data)
    if not path:
        return value
    inner = out
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return out


def forgeries(certificate, rng, many):
    every = [path for path in paths(certificate) if path not in ((), ("network",))]
    for path in [every[k] for k in rng.permutation(len(every))[:many]]:
        value = certificate
        for key in path:
            value = value[key]
        for other in others(value, rng):
            yield put(certificate, path, other)


def test_nothing_passes_here_that_python_refuses(engine):
    rng = np.random.default_rng(0)
    networks, asked = gathered([0, 3, 5, 6])
    forged = [
        (place, fake) for place, certificate in asked for fake in forgeries(certificate, rng, examples(6))
    ]
    assert len(forged) > examples(10_000)
    passed, refused = 0, 0
    for (place, fake), seen in zip(forged, here(engine, networks, forged), strict=True):
        assert seen["holds"] in (True, False, None)
        assert seen["said"]
        refused += seen["holds"] is False
        if seen["holds"]:
            passed += 1
            assert by_python(fake, networks[place]) is not None, (fake, seen)
    assert refused > 0.8 * len(forged)
    assert passed  # a smaller region, say, is still proved


@cache
def certificate_of_kind(kind):
    """A network and a certificate about it."""
    network, X = sg.models.breast_cancer(), sg.models.samples("breast_cancer")[0]
    match kind:
        case "robust":
            return network, plain(sg.verify(network, sg.Robust(X[3], sg.Hamming(3))).certificate)
        case "refuted":
            return network, plain(sg.verify(network, sg.Robust(X[3], sg.AnyInput())).certificate)
        case "whatif":
            return network, plain(sg.whatif(network, X[3]).certificate)
    rng = np.random.default_rng(3)
    network = random_network(rng, features=4)
    return network, plain(
        sg.why(network, random_sample(network, rng), sg.AnyInput(), minimal="size").reasons[0].certificate
    )


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        ("robust", ("network",), "0" * 64, "is for the network 000000000000"),
        ("robust", ("version",), 1, "not a sugenet certificate of version 3"),
        ("robust", ("question", "more"), 1, "has a field more that it must not have"),
        ("robust", ("more",), 1, "has a field more that it must not have"),
        ("robust", ("question", "label"), 1, "the sample has class 0, not 1"),
        ("robust", ("question", "target"), 0, "the target is the class of the sample"),
        ("robust", ("question", "region", "radius"), "9", ""),
        ("robust", ("proof",), {"kind": "trust", "solver": "somebody"}, "unknown kind trust"),
        ("robust", ("answer",), "sure", "unknown answer sure"),
        ("refuted", ("question", "region"), {"kind": "L0", "radius": "0"}, "outside the region"),
        ("refuted", ("witness",), None, "a list is needed, not null"),
        ("whatif", ("value",), "1/2", "the witness costs"),
        ("whatif", ("lower",), "99", "above the cost of the witness"),
        ("whatif", ("question", "movable"), [], "which the question does not allow"),
        ("reason", ("question", "fixed"), [], ""),
        ("reason", ("contrasts",), [], "do not exclude a smaller reason"),
        ("reason", ("contrasts",), [[]], "does not change the answer"),
    ],
)
def test_what_is_wrong_is_said(engine, kind, path, value, message):
    network, certificate = certificate_of_kind(kind)
    forged = put(certificate, path, value)
    (seen,) = here(engine, [network], [(0, forged)])
    assert seen["holds"] is False
    assert message in seen["said"]
    assert by_python(forged, network) is None


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("reason", {("contrasts",): []}),
        ("reason", {("contrasts",): [[]]}),
        ("reason", {("witness",): []}),
        ("robust", {("question", "region", "radius"): "30", ("proof",): {"kind": "bound"}}),
    ],
)
def test_wrong_proofs_are_refused_in_the_same_words(engine, kind, changes):
    network, certificate = certificate_of_kind(kind)
    for path, value in changes.items():
        certificate = put(certificate, path, value)
    with pytest.raises(CertificateError) as refused:
        sg.check(plain(certificate), network)
    assert here(engine, [network], [(0, certificate)]) == [{"holds": False, "said": str(refused.value)}]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("question", "kind"), "count", "does not check questions of kind count"),
        (("question", "kind"), "fair", "does not check questions of kind fair"),
        (("question", "kind"), "monotone", "does not check questions of kind monotone"),
        (("proof",), {"kind": "order"}, "does not check proofs of kind order"),
        (("proof",), {"kind": "lemma", "clauses": []}, "does not check proofs of kind lemma"),
        (("proof",), {"kind": "dual"}, "does not check proofs of kind dual"),
    ],
)
def test_what_the_browser_cannot_do_is_left_open(engine, path, value, message):
    network, certificate = certificate_of_kind("robust")
    (seen,) = here(engine, [network], [(0, put(certificate, path, value))])
    assert seen["holds"] is None
    assert message in seen["said"]
    assert seen["said"].endswith("sugenet check certificate.json MODEL")


def test_a_walk_stops_at_the_time_limit_and_too_many_sets_are_not_begun(engine):
    network = Network.of_bits(
        [DenseLayer(np.random.default_rng(0).choice([-1, 1], (64, 40)), [20] * 64)],
        Head([[1] * 64, [-1] * 64]),
    )
    asked = {
        **sg.verify(network, sg.Robust([0] * 40, sg.Hamming(1))).certificate,
        "answer": "proved",
        "witness": None,
    }
    asked["proof"] = {"kind": "enumerate"}
    for radius, seconds, message in (
        (12, 60, "at most 100,000,000 sets of changes"),
        (6, 0, "0 s were not enough"),
    ):
        asked["question"]["region"]["radius"] = str(radius)
        code = (
            "([page, text, seconds]) => _engine_check.check(text, new _engine_model.Model(page), { seconds })"
        )
        seen = engine(code, [payload(network, title="check"), json.dumps(asked), seconds])
        assert seen["holds"] is None
        assert message in seen["said"]


def test_scores_at_the_edges_of_the_machine(engine):
    """Heads whose scores are near 2^31, 2^53 and 2^63: claims with all numbers right, true and false ones."""
    rng = np.random.default_rng(7)
    forged = [one for _ in range(40) for one in _huge(rng) if one.certificate["proof"]["kind"] != "lemma"]
    seen = here(
        engine, [one.network for one in forged], [(k, one.certificate) for k, one in enumerate(forged)]
    )
    for one, found in zip(forged, seen, strict=True):
        assert found["holds"] is (by_python(one.certificate, one.network) is not None), one.certificate
        assert not found["holds"] or is_true(one.certificate, one.network)
    assert {found["holds"] for found in seen} == {True, False}


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": [], "a": {}}}]', '{"a": 1, "\\u0061": 2}']
)
def test_a_key_that_stands_twice_is_refused(page, text):
    page.add_script_tag(content=bundled("engine/strict_json.js"))
    engine = page.evaluate
    code = (
        "(text) => { try { return _engine_strict_json.parseStrict(text); } catch (error) { return "
        "error.message; } }"
    )
    assert "stands twice" in engine(code, text)
    good = '{"a": {"a": ["a", ":", "{\\"a\\": 1"]}, "b": {"a": 1}}'
    assert engine(code, good) == json.loads(good)


def test_smaller_reasons_are_looked_for_exhaustively(engine):
    rng = np.random.default_rng(2)
    cases = [
        (
            [
                sorted(rng.choice(7, int(rng.integers(1, 4)), replace=False).tolist())
                for _ in range(rng.integers(0, 7))
            ],
            int(rng.integers(0, 4)),
        )
        for _ in range(200)
    ]
    found = engine(
        "(cases) => cases.map(([sets, size]) => _engine_check_reason.hittingSetWithin(sets, size))", cases
    )
    for (sets, size), seen in zip(cases, found, strict=True):
        chosen = (mask for mask in range(1 << 7) if mask.bit_count() <= size)
        assert seen == any(all(any(mask >> f & 1 for f in row) for row in sets) for mask in chosen)


def test_the_checker_shares_nothing_with_the_engine():
    from sugenet.web.bundle import _needed

    names = _needed("engine/check.js")
    assert "engine/check_walk.js" in names
    assert not {
        f"engine/{name}.js" for name in ("walk", "bounds", "free", "search", "effects", "votes", "table")
    } & set(names)


def test_laws_are_left_to_python_and_limits_are_not(engine):
    """A certificate about them is not wrong, and is not taken for one about any input."""
    network = mixed_network()
    x = (0.3, 1.0, "b", 1, 2)
    law = sg.verify(network, sg.Robust(x, sg.L0(1)), within="x5 < 4").certificate
    limited = network.within(Domain({4: Span(0, 3)}))
    limits = sg.verify(limited, sg.Robust(x, sg.L0(1))).certificate
    assert "limits" in limits["domain"]
    found = here(engine, [network], [(0, plain(law)), (0, plain(limits))])
    assert found[0]["holds"] is None
    assert "does not check laws" in found[0]["said"]
    assert without_form(found[1]) == {"holds": True, "said": without_form(sg.check(limits, network))}
