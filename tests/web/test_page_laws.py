"""Limits and laws in the page's own engine, against all inputs of small networks: what it finds can occur, and
nothing that can occur is missed.
"""

import json
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import Domain, Encoder, Head, LevelLayer, Network, Span, Steps
from sugenet.web import payload
from tests.reason.test_domain import EVERYTHING, can_occur, classes, drawn, known

ASK = """(text) => JSON.stringify(JSON.parse(text).map(([page, rows, sample, locked, goal]) => {
  const model = new _engine_model.Model(page);
  const asked = _engine_model.askedOf(page);
  const plain = new _engine_model.Model({ ...page, domain: null });
  const states = model.statesOf(sample);
  const values = (changes, of) => changes && changes.reduce((row, [f, s]) => row.with(f, of(f, s)), sample);
  const near = (f, s) => model.valueOf(f, s, sample[f]);
  const both = (changes) => [values(changes, near), values(changes, (f, s) => model.shownOf(f, s, sample))];
  const targets = [null, 0, 1, 2].map((target) => {
    const walked = _engine_walk.nearest(asked, states, { target, locked });
    const found = _engine_walk.nearest(asked, states, { target, locked, budget: 0 });
    const held = _engine_free.free(asked, states, { target, locked });
    const way = target === null ? null : _engine_search.towards(asked, states, { goal: model.statesOf(goal), target, locked });
    const isProved = walked.outcome !== "undecided" && walked.changes?.length !== 0;
    const certificate = isProved ? _engine_certify.certify(asked, { sample, target, locked, changes: walked.changes }) : null;
    return {
      outcome: walked.outcome, size: walked.changes?.length, label: walked.label, walked: both(walked.changes),
      found: both(found.changes), foundLabel: found.label, way: both(way),
      held: held.outcome, against: both(held.changes), againstLabel: held.label,
      certificate, here: certificate && _engine_check.check(certificate, plain).holds,
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
    for seed in range(40):
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
            assert one["certificate"].get("domain") == (network.domain.data() if network.domain else None)
            assert one["here"] is (None if network.domain else True)
    codings = network.lawful.encoder.codings
    states = {
        tuple(coding.state(value) for coding, value in zip(codings, row, strict=True)): labels[row] for row in rows
    }
    start = tuple(coding.state(value) for coding, value in zip(codings, sample, strict=True))
    for most, counted in zip([1, 2, 4], seen["counts"], strict=True):
        near = [k for key, k in states.items() if sum(a != b for a, b in zip(key, start, strict=True)) <= most]
        assert counted == {"counts": [near.count(k) for k in range(3)], "all": len(near)}
