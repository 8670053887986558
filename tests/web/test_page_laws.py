"""Limits and laws in the page's own engine, against all inputs of small networks: what it finds can occur,
and nothing that can occur is missed.
"""

import json
import re
import subprocess
import sys
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.nn import Domain, Encoder, Head, LevelLayer, Network, Span, Steps
from sugenet.reason.envelope import domain_data
from sugenet.web import page_html, payload
from sugenet.web.asking import precompute
from sugenet.web.results import Shelf, with_results
from sugenet.web.worker import MODEL
from tests.checker.typed import law_data
from tests.reason.test_domain import EVERYTHING, LAW, can_occur, classes, drawn, known, smoker
from tests.web.serving import serving
from tests.web.test_page import by, expect, settle

ASK = """(text) => JSON.stringify(JSON.parse(text).map(([page, rows, sample, locked, goal]) => {
  const model = new _engine_model.Model(page);
  const asked = _engine_model.askedOf(page);
  const plain = new _engine_model.Model({ ...page, domain: null });
  const states = model.statesOf(sample);
  const put = (row, f, value) => row.with(f, value);
  const values = (changes, of) => changes && changes.reduce((row, [f, s]) => put(row, f, of(f, s)), sample);
  const near = (f, s) => model.valueOf(f, s, sample[f]);
  const both = (changes) => [values(changes, near), values(changes, (f, s) => model.shownOf(f, s, sample))];
  const targets = [null, 0, 1, 2].map((target) => {
    const walked = _engine_walk.nearest(asked, states, { target, locked });
    const found = _engine_walk.nearest(asked, states, { target, locked, budget: 0 });
    const held = _engine_free.free(asked, states, { target, locked });
    const there = { goal: model.statesOf(goal), target, locked };
    const way = target === null ? null : _engine_search.towards(asked, states, there);
    const isProved = walked.outcome !== "undecided" && walked.changes?.length !== 0;
    const claim = { sample, target, locked, changes: walked.changes };
    const certificate = isProved ? _engine_certify.certify(asked, claim) : null;
    const text = _engine_strict_json.writePlain(certificate);
    return {
      outcome: walked.outcome, size: walked.changes?.length, label: walked.label,
      walked: both(walked.changes),
      found: both(found.changes), foundLabel: found.label, way: both(way),
      held: held.outcome, against: both(held.changes), againstLabel: held.label,
      certificate, here: certificate && _engine_check.check(text, plain).holds,
    };
  });
  return {
    labels: rows.map((row) => model.evaluate(model.statesOf(row)).label),
    asked: rows.map((row) => asked.evaluate(asked.statesOf(row)).label),
    broken: rows.map((row) => model.broken(model.statesOf(row))),
    targets,
    counts: [1, 2, 4].map((most) => _engine_walk.countUpTo(asked, states, { most, locked })),
  };
}))"""


def test_questions_are_about_inputs_that_can_occur(engine):
    cases, asked = [], []
    for seed in range(24):
        network, rng = drawn(seed)
        network = known(network, rng)
        good = [row for row in EVERYTHING if network.domain.broken(row) is None]
        sample, goal = (good[int(k)] for k in rng.integers(len(good), size=2))
        locked = [int(f) for f in range(4) if rng.random() < 0.2]
        cases.append((network, sample, locked))
        asked.append([payload(network, title=""), EVERYTHING, sample, locked, goal])
    found = json.loads(engine(ASK, json.dumps(asked)))
    for (network, sample, locked), seen in zip(cases, found, strict=True):
        compare(network, sample, locked, seen)
    proved = [one["certificate"]["answer"] for seen in found for one in seen["targets"] if one["certificate"]]
    assert {"none", "counterfactual"} == set(proved)


def compare(network, sample, locked, seen):
    labels = classes(network)
    broken = [network.domain.broken(row) for row in EVERYTHING]
    assert seen["labels"] == [labels[row] for row in EVERYTHING]
    assert seen["broken"] == broken
    assert seen["asked"] == [
        3 if law is not None else labels[row] for law, row in zip(broken, EVERYTHING, strict=True)
    ]
    own = labels[sample]
    rows = [
        row
        for row in EVERYTHING
        if can_occur(network, row, sample) and all(row[f] == sample[f] for f in locked)
    ]

    def size(row):
        return sum(a != b for a, b in zip(row, sample, strict=True))

    def fits(found, label, most=4):
        for row in map(tuple, found):
            assert can_occur(network, row, sample)
            assert all(row[f] == sample[f] for f in locked)
            assert network.predict(np.array([row], object))[0] == label
            assert size(row) <= most

    for target, one in zip([None, 0, 1, 2], seen["targets"], strict=True):
        there = [row for row in rows if (labels[row] != own if target is None else labels[row] == target)]
        assert one["outcome"] == ("minimum" if there else "none")
        assert one["held"] == ("refuted" if there else "proved")
        if there:
            assert one["size"] == min(map(size, there))
            fits(one["walked"], one["label"], one["size"])
            fits(one["against"], one["againstLabel"])
        for found, label in (("found", one["foundLabel"]), ("way", target)):
            if one[found][0] is not None:
                fits(one[found], label)
        if one["certificate"] is not None:
            assert sg.check(one["certificate"], network.anywhere())
            assert one["certificate"].get("domain") == domain_data(network).get("domain")
            assert one["here"] is (None if network.domain.laws else True)
    codings = network.lawful.encoder.codings
    states = {
        tuple(coding.state(value) for coding, value in zip(codings, row, strict=True)): labels[row]
        for row in rows
    }
    start = tuple(coding.state(value) for coding, value in zip(codings, sample, strict=True))
    for most, counted in zip([1, 2, 4], seen["counts"], strict=True):
        near = [
            k for key, k in states.items() if sum(a != b for a, b in zip(key, start, strict=True)) <= most
        ]
        assert counted == {"counts": [near.count(k) for k in range(3)], "all": len(near)}


def test_levels_are_those_that_the_network_reads(engine):
    """Steps of laws stand between those of a network that reads levels: it does not count them."""
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(6):
        codings = [Steps((2.0, 4.0, 6.0), 0, 7, True), Steps((1.0, 5.0), 0, 7, True)]
        encoder = Encoder(codings, ["a", "b"])
        layer = LevelLayer(rng.integers(-2, 3, (4, 2)), rng.integers(1, 5, 4), (3, 2))
        network = Network(encoder, [layer], Head(rng.integers(-1, 2, (3, 4)), rng.integers(-1, 2, 3)))
        cases.append(network.within("if a >= 3 then b < 4").within(Domain({0: Span(1, 6)})))
    rows = [(a, b) for a in range(8) for b in range(8)]
    found = engine(
        """(cases) => cases.map(([page, rows]) => {
          const model = new _engine_model.Model(page);
          const asked = _engine_model.askedOf(page);
          const all = page.features.map((_, f) => model.reachableStates(f));
          const { lo, hi } = _engine_bounds.bounds(model, all).layers[0];
          const seen = rows.map((row) => model.evaluate(model.statesOf(row)));
          return {
            label: seen.map(({ label }) => label),
            bounded: seen.every(({ layers }) => layers[0].M.every((m, j) => lo[j] <= m && m <= hi[j])),
            asked: rows.map((row) => asked.evaluate(asked.statesOf(row)).label),
            counts: _engine_walk.countUpTo(asked, asked.statesOf([0, 0])).counts,
          };
        })""",
        [[payload(network, title=""), rows] for network in cases],
    )
    for network, seen in zip(cases, found, strict=True):
        labels = network.predict(rows).tolist()
        lawful = [not (a >= 3 and b >= 4) for a, b in rows]
        assert seen["label"] == labels
        assert seen["bounded"]
        assert seen["asked"] == [k if good else 3 for k, good in zip(labels, lawful, strict=True)]
        assert seen["counts"] == list(sg.count(network, [0, 0], sg.AnyInput()).counts)


SPANS = [
    (Steps((0.5, 0.75, 3.0), 0.25, 3.5), Span(0.3, 0.6)),
    (Steps((0.5, 0.75, 3.0), 0.25, 3.5), Span(None, 0.75)),
    (Steps((0.5, 0.75, 3.0), 0.25, 3.5), Span(Fraction(1, 3), Fraction(10, 3))),
    (Steps((0.5, 0.75, 3.0), 0.25, 3.5), Span(values=(Fraction(1, 3), 0.5, 0.7, 3.25))),
    (Steps((2.0, 4.0, 6.0), 0, 7, True), Span(1, 4)),
    (Steps((2.0, 4.0, 6.0), 0, 7, True), Span(2.5, None)),
    (Steps((2.0, 4.0, 6.0), 0, 7, True), Span(values=(0, 1, 3, 7))),
]


def test_a_feature_moves_to_the_nearest_value_within_its_limits(engine):
    encoder = Encoder([coding for coding, _ in SPANS])
    network = Network(encoder, [], Head(np.ones((2, encoder.width), int)))
    network = network.within(Domain({f: span for f, (_, span) in enumerate(SPANS)}))
    found = engine(
        """([page, values]) => {
          const model = new _engine_model.Model(page);
          const both = (f, s, v) => [model.valueOf(f, s, v), model.features[f].coding.shownOf(s, v)];
          return model.features.map(({ coding }, f) => values.filter((v) => coding.takes(v)).map((v) =>
            Array.from({ length: coding.states }, (_, s) => coding.possible(s) && both(f, s, v))));
        }""",
        [payload(network, title=""), [0, 0.25, 0.5, 0.7, 1, 2, 3, 3.25, 5, 7]],
    )
    for (coding, span), rows in zip(SPANS, found, strict=True):
        taken = [v for v in (0, 0.25, 0.5, 0.7, 1, 2, 3, 3.25, 5, 7) if _takes(coding, v)]
        for value, moves in zip(taken, rows, strict=True):
            for state, seen in enumerate(moves):
                move = coding.move(value, state, span)
                assert bool(seen) == (move is not None)
                if move is None:
                    continue
                there, shown = (Fraction(one) for one in seen)
                assert abs(there - Fraction(move.value)) <= Fraction(1, 10**15)  # ends that are no floats
                for one in (there, shown):
                    assert coding.state(one) == state
                    assert span.holds(one)


def _takes(coding, value):
    try:
        coding.state(value)
    except sg.errors.EncodingError:
        return False
    return True


# -- the page ------------------------------------------------------------------------------------------------

ROWS = [["no", 12, 2.0], ["yes", 40, 1.0]]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page of a network that knows a law, with answers found beforehand."""
    network = smoker().within(LAW)
    path = tmp_path_factory.mktemp("page") / "page.html"
    data = payload(network, ROWS, title="t", answers=precompute(network, ROWS[0]))
    path.write_text(page_html(data, server=False), encoding="utf-8")
    return path


@pytest.fixture(params=[390, 1280])
def shown(request, page, file):
    """The same at both widths."""
    page.set_viewport_size({"width": request.param, "height": 800})
    page.goto(file.as_uri())
    return page


def written(page):
    """The certificate in the drawer, once it is there."""
    expect(by(page, "certificate")).to_have_value(re.compile("domain"))
    return json.loads(by(page, "certificate").input_value())


def test_sentences_say_which_inputs_they_are_about(shown):
    words = f'for inputs that obey "{LAW}"'
    assert settle(shown) == f"well. Changing 1 feature makes it ill, {words}: proved"
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    by(shown, "count").click()
    said = by(shown, "answer").first
    expect(said).to_contain_text(
        f"Of 101 inputs with up to 1 feature changed, {words}, 29 are well"
    )  # not 102
    by(shown, "nearest-all").click()
    expect(by(shown, "answer").first).to_contain_text(f"One changed feature makes it ill, {words}: proved")
    by(shown, "verdict-certificate").click()
    certificate = written(shown)
    assert certificate["domain"] == {"limits": [], "laws": [law_data(LAW, smoker())]}
    assert sg.check(certificate, smoker())
    by(shown, "recheck").click()
    expect(by(shown, "recheck-result")).to_contain_text("sugenet check certificate.json")


def test_an_input_that_breaks_a_law_is_evaluated_and_not_asked_about(shown):
    settle(shown)
    shown.get_by_role("radio", name="yes").check(force=True)
    expect(by(shown, "state")).to_have_text("cannot occur")
    assert by(shown, "verdict").inner_text() == "well."
    expect(by(shown, "facts")).to_have_text(
        f'This input breaks the law "{LAW}", so nothing is asked about it.'
    )
    for name in ("why", "nearest-all", "count", "nearest-ill"):
        expect(by(shown, name)).to_be_disabled()
    by(shown, "undo").click()
    settle(shown)
    expect(by(shown, "why")).to_be_enabled()


def test_a_sample_that_breaks_a_law_has_no_precomputed_answers():
    assert precompute(smoker().within(LAW), ["yes", 3, 1.0]) == []


SAMPLES = [["no", 12, 2.0], ["yes", 3, 1.0]]
SERVED = "pixel (3,3) >= 4 or pixel (4,4) >= 4"
FIRST = f"known = sg.models.digits().within({SERVED!r}); sg.models.digits = lambda: known"


def test_a_page_beside_results_asks_within_what_both_know(tmp_path):
    path, network = tmp_path / "found.db", smoker()
    sg.sweep(network, ROWS, sg.Robust(sg.each, sg.L0(1)), within=LAW, store=path, jobs=1)
    with closing(Shelf(path, network.within("dose >= 1"))) as shelf:
        asked = shelf.asked()
        data = shelf.ask(lambda found: with_results(found, title="t", server=False, network=asked))
    assert [law["text"] for law in data["domain"]["data"]["laws"]] == [LAW, "dose >= 1"]
    assert [law.text for law in asked.domain.laws] == [LAW, "dose >= 1"]


def test_a_worker_of_the_server_answers_within_the_laws(tmp_path):
    network = smoker().within(LAW)
    sg.save(network, tmp_path / MODEL)
    code = f"from sugenet.web.worker import work; work({str(tmp_path)!r})"
    question = {"kind": "verify", "region": {"kind": "L0", "radius": "1"}}
    asked = [json.dumps(question | {"sample": row}).encode() for row in SAMPLES]
    heads = [{"do": "ask", "id": str(n), "threads": 1, "size": len(body)} for n, body in enumerate(asked)]
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as worker:
        for head, body in zip(heads, asked, strict=True):
            worker.stdin.write(json.dumps(head).encode() + b"\n" + body)
        worker.stdin.flush()
        ends = []
        while len(ends) < len(asked):
            said = json.loads(worker.stdout.readline())
            body = worker.stdout.read(said["size"])
            if said["said"] in ("done", "failed"):
                ends.append((said, body))
        worker.stdin.close()
    (_, good), (bad, _) = ends
    answer = json.loads(good)
    assert f'for inputs that obey "{LAW}"' in answer["sentence"]
    assert [law["text"] for law in answer["certificate"]["domain"]["laws"]] == [LAW]
    assert f'the sample itself breaks the law "{LAW}"' in bad["error"]


@pytest.mark.slow
def test_the_page_shows_what_the_server_answers_within_the_laws(page):
    with serving(first=FIRST) as client:
        page.goto(client.link)
        expect(by(page, "verdict")).to_contain_text(f'for inputs that obey "{SERVED}": proved', timeout=60000)
        by(page, "why").click()
        expect(by(page, "answer").first).to_contain_text(f'for inputs that obey "{SERVED}"', timeout=60000)
        by(page, "open-certificate").first.click()
        certificate = written(page)
        assert [law["text"] for law in certificate["domain"]["laws"]] == [SERVED]
        by(page, "recheck").click()
        expect(by(page, "recheck-result")).to_contain_text("does not check laws of inputs")
        by(page, "recheck-server").click()
        expect(by(page, "recheck-result")).to_contain_text("Holds", timeout=60000)


def test_the_page_asks_about_any_values_on_request(page, tmp_path):
    encoder = Encoder([Steps((3.0,), whole=True), Steps((5.0,), whole=True)], ["a", "b"])
    net = Network(encoder, [], Head([[-1, -1], [1, 1]]), classes=["low", "high"])
    net = net.with_training_range([[0, 0], [2, 9]]).within("data")
    data = payload(net, [[0, 0]], title="t", answers=precompute(net, [0, 0]))
    assert "anywhere" not in payload(net.within("any"), [[0, 0]], title="t")
    path = tmp_path / "page.html"
    path.write_text(page_html(data, server=False), encoding="utf-8")
    page.goto(path.as_uri())
    assert "for inputs within what was seen in training" in settle(page)
    by(page, "to-range").click()
    expect(by(page, "to-range")).to_have_text("Training range")
    assert "training" not in settle(page)
    assert page.evaluate("location.search") == "?within=any"
    by(page, "to-range").click()
    expect(by(page, "to-range")).to_have_text("Any values")
    assert "for inputs within what was seen in training" in settle(page)
