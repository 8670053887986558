"""The page on networks of several levels: the same levels, votes and classes as Python, walks, bounds and
rules as by brute force, certificates that both sides accept.
"""

import json
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.nn import Encoder, Head, Network, PoolLayer, QuantizedConv, QuantizedLayer, Window
from sugenet.problem.neighbourhood import row_of
from sugenet.reason.envelope import kind_of
from sugenet.web import page_html, payload
from tests.checker.typed import without_form
from tests.problem.levels import KINDS, every_input, lively_network
from tests.problem.small import random_sample, raw_values
from tests.show.garden import garden
from tests.web.serving import serving
from tests.web.test_check_here import answers_about, by_python, here, plain
from tests.web.test_engine import NEAREST, WIDTHS, compare, json_row, least_by_brute_force

pytest.importorskip("playwright")
from playwright.sync_api import expect

from tests.web.test_page import by, show

WIDE = (1 << 31) - 1


def stairs(rng, inputs, top, outputs, height):
    """Neurons over levels 0..top, with steps anywhere."""
    weights = rng.integers(-2, 3, (outputs, inputs))
    sizes = np.abs(weights).sum(axis=1) * top
    tau = [sorted(rng.integers(0, size + 3, height).tolist()) for size in sizes.tolist()]
    return QuantizedLayer(weights, tau, [top] * inputs)


def sized(rng, n, top):
    """Staircases over n inputs of levels 0..top, twice, and a head over their levels."""
    first = stairs(rng, n, top, outputs=n, height=int(rng.integers(1, 9)))
    last = stairs(rng, n, first.height, outputs=3, height=int(rng.integers(1, 9)))
    return Network(
        Encoder.of_integers(n, 0, top),
        [first, last],
        Head(rng.integers(-2, 3, (3, 3)), tops=[last.height] * 3),
    )


def maps(rng, top, height):
    """A convolution with a level on its padding, pooled levels of both kinds, groups, and a dense layer."""
    window = Window((2, 5, 4), kernel=(3, 2), stride=(2, 1), pads=(1, 1, 1, 0))
    steps = np.sort(rng.integers(-6 * top, 6 * top, (4, height)), axis=1)
    kernel = rng.integers(-3, 4, (4, 2, 3, 2))
    first = QuantizedConv(kernel, steps, window, top=top, pad=int(rng.integers(1, top + 1)))
    pool = PoolLayer(Window(first.output_shape, kernel=2, pads=(1, 0, 0, 0)), rng.random(4) < 0.5, top=height)
    inner = Window(pool.output_shape, kernel=(2, 1))
    steps = np.sort(rng.integers(-2 * height, 3 * height, (4, 3)), axis=1)
    second = QuantizedConv(rng.integers(-2, 3, (4, 2, 2, 1)), steps, inner, groups=2, top=height, pad=0)
    last = stairs(rng, second.outputs, 3, outputs=5, height=4)
    return Network(
        Encoder.of_integers(window.inputs, 0, top),
        [first, pool, second, last],
        Head(rng.integers(-2, 3, (3, 5)), bias=[0, 1, 0], tops=[4] * 5),
    )


def test_1000_random_inputs(engine):
    rng = np.random.default_rng(0)
    dense, conv = sized(rng, 12, 7), maps(rng, top=3, height=7)
    compare(
        engine,
        [
            (net, rng.integers(0, net.encoder.tops[0] + 1, (1000, net.encoder.features)).tolist())
            for net in (dense, conv)
        ],
    )


def test_widths_around_a_word_and_wide_levels(engine):
    rng = np.random.default_rng(1)
    cases = [(sized(rng, n, 3), rng.integers(0, 4, (5, n)).tolist()) for n in WIDTHS]
    byte = sized(rng, 5, 255)
    heights = maps(rng, top=255, height=40)
    cases += [(net, rng.integers(0, 256, (20, net.encoder.features)).tolist()) for net in (byte, heights)]
    compare(engine, cases)


def test_match_counts_up_to_the_end_of_32_bits(engine):
    """The largest match count there is, a step at it, and a step that nothing reaches."""
    layer = QuantizedLayer([[WIDE], [-WIDE]], [[1, WIDE, WIDE + 1], [0, WIDE, WIDE]], [1])
    network = Network.of_bits([layer], Head([[1, 0], [0, 1]], tops=[3, 3]))
    assert network.hidden([[1], [-1]])[0].tolist() == [[2, 1], [0, 3]]
    compare(engine, [(network, [[1], [-1]])])


@pytest.mark.parametrize("kind", KINDS)
def test_all_inputs_of_small_networks(engine, kind):
    rng = np.random.default_rng(2)
    cases = []
    for _ in range(6):
        network = lively_network(rng, kind)
        cases.append((network, every_input(network).tolist()))
    compare(engine, cases)


def questions(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        network = lively_network(rng, KINDS[seed % len(KINDS)])
        x = random_sample(network, rng)
        label = int(network.predict(row_of(x))[0])
        target = int(rng.integers(3)) if rng.random() < 0.4 else None
        yield network, x, label, (None if target == label else target), [0] if rng.random() < 0.2 else []


def test_nearest_and_free_decide_as_brute_force_does(engine):
    asked = list(questions(range(70)))
    pages = [
        [payload(net, title="s"), json_row(x), {"target": target, "locked": locked}]
        for net, x, _, target, locked in asked
    ]
    free = NEAREST.replace("_engine_walk.nearest", "_engine_free.free")
    outcomes = set()
    for (network, x, label, target, locked), near, rule in zip(
        asked, engine(NEAREST, pages), engine(free, pages), strict=True
    ):
        movable = set(range(len(x))) - set(locked)
        least = least_by_brute_force(
            network, x, lambda k, t=target, own=label: k == t if t is not None else k != own, movable
        )
        outcomes |= {near["outcome"], rule["outcome"]}
        assert rule["outcome"] == ("proved" if least is None else "refuted")
        if least is None:
            assert (near["outcome"], near["changes"]) == ("none", None)
            continue
        assert (near["outcome"], len(near["changes"]), near["provedUpTo"]) == ("minimum", least, least - 1)
        for seen in (near, rule):
            assert {f for f, _ in seen["changes"]} <= movable
            assert seen["reached"] != label
            assert target in (None, seen["reached"])
    assert outcomes == {"minimum", "none", "proved", "refuted"}


BOUNDS = """(cases) => cases.map(([page, allowed]) => {
  const { layers, head, classes } = _engine_bounds.bounds(new _engine_model.Model(page), allowed);
  const plain = (found) => Object.fromEntries(Object.entries(found).map(([name, row]) => [name, [...row]]));
  return { layers: layers.map(plain), lo: [...head.lo], hi: [...head.hi], classes };
})"""


def test_bounds_hold_for_everything_allowed(engine):
    rng = np.random.default_rng(4)
    cases = []
    for seed in range(35):
        network = lively_network(np.random.default_rng(seed), KINDS[seed % len(KINDS)])
        allowed = [
            sorted(rng.choice(c.states, int(rng.integers(1, c.states + 1)), replace=False).tolist())
            for c in network.encoder.codings
        ]
        cases.append((network, allowed))
    found = engine(BOUNDS, [[payload(network, title="b"), allowed] for network, allowed in cases])
    locked = 0
    for (network, allowed), seen in zip(cases, found, strict=True):
        codings = network.encoder.codings
        values = [[raw_of(c, s) for s in states] for c, states in zip(codings, allowed, strict=True)]
        X = np.array(list(product(*values)), object)
        votes = network.match_counts(X, engine="definition")
        for levels, bound in zip(network.hidden(X), seen["layers"], strict=True):
            assert (levels >= bound["least"]).all()
            assert (levels <= bound["most"]).all()
            fixed = np.array(bound["state"]) != 0
            assert ((levels[0] == levels) | ~fixed).all()
            locked += int(fixed.sum())
        assert (votes >= seen["lo"]).all()
        assert (votes <= seen["hi"]).all()
        assert set(network.predict(X, engine="definition").tolist()) <= set(seen["classes"])
    assert locked


def raw_of(coding, state):
    return next(value for value in raw_values(coding) if coding.state(value) == state)


# -- certificates --------------------------------------------------------------------------------------------


def test_what_python_accepts_is_seen_again_in_the_same_words(engine):
    networks, asked = [], []
    for seed in range(len(KINDS)):
        rng = np.random.default_rng(seed)
        network = lively_network(rng, KINDS[seed])
        networks.append(network)
        found = answers_about(network, random_sample(network, rng), rng)
        asked += [(seed, plain(answer.certificate)) for answer in found]
    kinds = set()
    for (place, certificate), seen in zip(asked, here(engine, networks, asked), strict=True):
        said = by_python(certificate, networks[place])
        proof = kind_of(certificate["proof"])
        if seen["holds"] is None:
            assert proof not in ("enumerate", "bound")
            continue
        assert without_form(seen) == {"holds": True, "said": without_form(said)}
        kinds.add((certificate["question"]["kind"], proof))
    assert kinds >= {
        ("robust", "enumerate"),
        ("robust", "bound"),
        ("whatif", "enumerate"),
        ("reason", "enumerate"),
    }


def test_what_the_page_finds_itself_gets_a_certificate_that_python_accepts(engine):
    asked = [(network, x, target, locked) for network, x, _, target, locked in questions(range(200, 228))]
    found = engine(
        """(cases) => cases.map(([page, sample, target, locked]) => {
          const model = new _engine_model.Model(page);
          const near = _engine_walk.nearest(model, model.statesOf(sample), { target, locked });
          const limit = near.outcome === "none" ? near.provedUpTo : null;
          const about = { sample, target, locked, changes: near.changes, limit };
          const text = _engine_strict_json.writePlain(_engine_certify.certify(model, about));
          return [text, _engine_check.check(text, model)];
        })""",
        [[payload(network, title="c"), json_row(x), target, locked] for network, x, target, locked in asked],
    )
    for (network, *_), (text, seen) in zip(asked, found, strict=True):
        said = sg.check(json.loads(text), network)
        assert without_form(seen) == {"holds": True, "said": without_form(said)}
    assert {json.loads(text)["answer"] for text, _ in found} == {"counterfactual", "none"}


def test_a_page_stays_small():
    """A neuron of 255 levels over 200 inputs is one row of weights and its steps, not 255 rows."""
    rng = np.random.default_rng(3)
    network = sized(rng, 200, 255)
    assert network.layers[0].max_level is not None
    page = payload(network, title="small")
    assert len(page["layers"]) == 2
    assert page["layers"][0]["outputs"] == 200
    assert len(page["layers"][0]["weights"]) < 4 * 200 * 200 * 1.4


# -- the page and the server ---------------------------------------------------------------------------------


@pytest.fixture
def garden_file(tmp_path):
    path = tmp_path / "garden.html"
    path.write_text(page_html(payload(garden(), [[2, 3, 1], [3, 1, 0]], title="garden"), server=False))
    return path


def test_a_neuron_is_shown_with_its_level_and_steps(page, garden_file):
    page.goto(garden_file.as_uri())
    rows = by(page, "neuron")
    expect(rows).to_have_count(2)
    texts = {row.get_attribute("data-neuron"): " ".join(row.inner_text().split()) for row in rows.all()}
    assert texts == {"0": "n 1 6 < 7 ● level 1", "1": "n 2 2 < 3 ○ level 0"}
    assert rows.first.locator(".step").count() == 3
    page.locator('[data-neuron="0"]').click()
    expect(by(page, "rule")).to_contain_text(
        "Neuron 1 is at level 1 of 3: it counts 6 of 12; "
        "1 more lifts it to level 2, 3 fewer drops it to level 0."
    )
    expect(by(page, "rule")).to_contain_text("2 × (3 − level 2) of soil, 0 to 3")
    by(page, "layer").select_option(index=1)
    page.locator('[data-neuron="1"]').click()
    expect(by(page, "rule")).to_contain_text("2 × (level 1) of neuron 1 of layer 1, 0 to 3")


def test_the_verdict_is_proved_in_the_page(page, garden_file):
    assert show(page, garden_file) == "water. Changing 1 feature makes it rest: proved"


def test_check_my_rule_and_what_it_locks(page, garden_file):
    """While soil and sun stay, wind changes nothing; the second neuron does not read it."""
    show(page, garden_file, "#s=0&h=0,1")
    facts = page.locator('[data-neuron="1"]').get_attribute("aria-label")
    assert facts == "Neuron 2: M 2 of 6, nearest step 3, level 0 of 3, locked by what is held"
    assert "may be 1 to 2" in page.locator('[data-neuron="0"]').get_attribute("aria-label")
    by(page, "check-rule").click()
    card = page.locator('[data-test="answer"][data-kind="rule"]')
    expect(card).to_contain_text("While these 2 features stay, it is water whatever the others do: proved")


def test_questions_through_workers():
    begin = "from tests.show.garden import garden"
    call = "serve(garden(), [[2, 3, 1]], title='garden', notify=notify, port=0, workers=1)"
    sample, near = [2, 3, 1], {"kind": "L0", "radius": "2"}
    asked = [
        {"kind": "verify", "region": near, "target": None},
        {"kind": "whatif", "cost": "L1", "target": "rest", "keep": [], "n": 2},
        {"kind": "why", "region": {"kind": "AnyInput"}, "minimal": "size", "n": 2},
        {"kind": "count", "region": near},
    ]
    with serving(begin, call) as client:
        assert client.get("/").status == 200
        for question in asked:
            standing = client.ask(sample=sample, **question)
            assert standing["state"] == "done", standing
            certificate = standing["answer"].get("certificate")
            if certificate is not None:
                checked = client.post("/api/check", {"certificate": certificate})
                assert (checked.status, checked.json["holds"]) == (200, True)
        assert standing["answer"]["outcome"] == "counted"
