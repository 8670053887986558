"""The engine in the browser against Python: the same bits, votes and classes,
walks that give proved minima, bounds that hold.
"""

import json
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    Steps,
    Window,
    integer,
    threshold,
)
from sugenet.problem.neighbourhood import row_of
from sugenet.web import payload
from tests.bits.test_conv import draw_conv
from tests.io.exact.test_order import KINDS, twins
from tests.io.exact.test_order import rows as images
from tests.nn.nets import networks, samples
from tests.problem.small import random_network, random_sample
from tests.thinned import examples

WIDTHS = [1, 31, 32, 33, 63, 64, 65]

EVALUATE = """(text) => JSON.stringify(JSON.parse(text).map(([page, rows]) => {
  const model = new _engine_model.Model(page);
  return rows.map((values) => {
    const states = model.statesOf(values);
    const { layers, votes, label, tied, scores, possibility } = model.evaluate(states);
    const bits = model.bitsOf(states);
    return {
      bits: Array.from({ length: model.width }, (_, i) => (bits[i >> 5] >>> (i & 31)) & 1),
      M: layers.map(({ M }) => [...M]),
      hidden: layers.map(({ active }) => [...active]),
      votes: [...votes], label, tied, scores, possibility,
    };
  });
}))"""  # as text: much faster than to hand over thousands of objects one by one


def json_row(row):
    return [str(v) if isinstance(v, Fraction) else v.item() if isinstance(v, np.generic) else v for v in row]


def evaluated(engine, cases):
    asked = [[payload(network, title="test"), [json_row(row) for row in rows]] for network, rows in cases]
    return json.loads(engine(EVALUATE, json.dumps(asked)))


def compare(engine, cases):
    """Networks and raw samples, all in one go: every number must be that of the definition."""
    found = evaluated(engine, cases)
    for (network, rows), seen in zip(cases, found, strict=True):
        X = np.empty((len(rows), network.encoder.features), object)
        for place, row in enumerate(rows):
            X[place] = row
        bits, hidden = network.encoder.encode(X).astype(int), network.hidden(X)
        counts = []
        inputs = network.inputs(X)
        for layer in network.layers:
            pooled = isinstance(layer, PoolLayer) and layer.top is not None  # counts nothing: its levels
            counts.append((layer.activity if pooled else layer.match_counts)(inputs))
            inputs = layer.activity(inputs)
        votes, labels = network.match_counts(X, engine="definition"), network.predict(X, engine="definition")
        logits, possibility, tied = network.logits(X), network.possibility(X), network.head.tied(votes)
        for k, one in enumerate(seen):
            assert one["bits"] == bits[k].tolist()
            assert one["hidden"] == [activity[k].astype(int).tolist() for activity in hidden]
            assert one["M"] == [count[k].tolist() for count in counts]
            assert (one["votes"], one["label"], one["tied"]) == (votes[k].tolist(), labels[k], tied[k])
        np.testing.assert_allclose([one["scores"] for one in seen], logits, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose([one["possibility"] for one in seen], possibility, rtol=1e-7, atol=1e-12)


# -- the same bits -------------------------------------------------------------------------------------------


def test_images_that_lie_pixel_by_pixel(engine):
    cases = []
    for seed, (kind, top) in enumerate(KINDS):
        _, network, _, rng = twins(seed, kind, top)
        cases.append((network, images(rng, network).tolist()))
    compare(engine, cases)


def test_1000_random_inputs_of_each_shipped_model(engine):
    rng = np.random.default_rng(0)
    X, _ = sg.models.samples("breast_cancer")
    spread = np.stack([rng.choice(column, 1000) for column in X.T], axis=1)
    compare(
        engine,
        [
            (sg.models.digits(), rng.integers(0, 17, (1000, 64)).tolist()),
            (sg.models.breast_cancer(), spread.tolist()),
        ],
    )


def test_small_networks_of_every_coding(engine):
    cases = []

    @settings(
        max_examples=examples(120), database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(networks(most=3), st.data())
    def gather(network, data):
        cases.append((network, data.draw(samples(network, size=4))))

    gather()
    compare(engine, cases)


def wide(rng, n, most):
    layers = [DenseLayer(rng.integers(-most, most + 1, (n, n)), rng.integers(0, n + 1, n)) for _ in range(2)]
    return Network.of_bits(
        layers, Head(rng.integers(-most, most + 1, (3, n)), bias=rng.integers(-1, 2, 3).tolist())
    )


@pytest.mark.parametrize("most", [1, 5])
def test_widths_around_a_word(engine, most):
    rng = np.random.default_rng(most)
    compare(engine, [(wide(rng, n, most), rng.choice([-1, 1], (10, n)).tolist()) for n in WIDTHS])


def test_full_rows_without_a_mask(engine):
    rng = np.random.default_rng(5)
    cases = []
    for n in WIDTHS:
        network = Network.of_bits(
            [DenseLayer(rng.choice([-1, 1], (n, n)), [n // 2] * n)], Head(rng.choice([-1, 1], (2, n)))
        )
        assert payload(network, title="full")["layers"][0]["mask"] is None
        cases.append((network, rng.choice([-1, 1], (5, n)).tolist()))
    compare(engine, cases)


def conv_networks(rng):
    """Convolutions with groups, strides, dilation and padding over bits and levels,
    then pooling of both kinds.
    """
    for window, outs, groups, top, most in [
        (Window((1, 5, 5), kernel=3, pads=1), 4, 1, None, 1),
        (Window((2, 6, 4), kernel=(2, 3), stride=(2, 1), pads=(1, 0, 0, 2)), 4, 2, None, 1),
        (Window((4, 5, 5), kernel=2, dilation=2), 4, 4, None, 3),
        (Window((1, 4, 4), kernel=2), 2, 1, 3, 1),
        (Window((3, 1, 9), kernel=(1, 3), pads=(0, 1, 0, 1)), 3, 3, 5, 2),
    ]:
        conv = draw_conv(rng, window, outs, groups, top, most)
        pool = PoolLayer(
            Window(conv.output_shape, kernel=(min(2, conv.output_shape[1]), 2), pads=(0, 1, 0, 0)),
            rng.random(outs) < 0.5,
        )
        after = draw_conv(rng, Window(pool.output_shape, kernel=(1, 2)), 3)
        encoder = (
            Encoder.of_bits(window.inputs) if top is None else Encoder.of_integers(window.inputs, 0, top)
        )
        network = Network(encoder, [conv, pool, after], Head(rng.integers(-1, 2, (3, after.outputs))))
        yield network, rng.integers(0, (top or 1) + 1, (6, window.inputs)).tolist()


def test_convolutions_and_pooling(engine):
    compare(engine, list(conv_networks(np.random.default_rng(1))))


def test_scores_beyond_the_floats_are_ordered_exactly(engine):
    tiny = Fraction(1, 3**60)
    layer = DenseLayer(np.eye(3, dtype=int), [1, 1, 1])
    head = Head([[2, 0, 0], [0, 2, 0], [0, 0, 2]], bias=[0, tiny, -tiny], scale=[1, 1, 1 + tiny])
    network = Network.of_bits([layer], head)
    rows = list(product([-1, 1], repeat=3))
    assert len(set(network.predict(rows).tolist())) == 3
    compare(engine, [(network, rows)])


def test_no_hidden_layer_and_thresholds_out_of_reach(engine):
    direct = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    far = Network.of_bits([DenseLayer([[1, 1], [1, -1]], [10**15, -(10**15)])], Head([[1, 0], [0, 1]]))
    rows = list(product([-1, 0, 1], repeat=2))
    assert [network.match_counts(rows).shape for network in (direct, far)] == [(9, 2), (9, 2)]
    found = evaluated(engine, [(direct, rows), (far, rows)])
    for network, seen in zip((direct, far), found, strict=True):
        assert [one["label"] for one in seen] == network.predict(rows, engine="definition").tolist()
        assert [one["votes"] for one in seen] == network.match_counts(rows, engine="definition").tolist()


# -- words and raw values ------------------------------------------------------------------------------------

CODINGS = [
    sg.nn.bit(),
    threshold(0.1),
    threshold(1e-5),
    threshold(1e16),
    threshold(-2.5e-7, low=-1.0),
    threshold(9, 0, 7, True),
    Steps((2.0, 4.0, 6.0), 0, 7, True),
    Steps((0.5, 0.75, 3.0), 0.25, 3.5),
    integer(0, 3),
    integer(-2, 2),
    Steps((), 0, 1),
    OneHot(("red", "green", "blue", "</script>")),
    OneHot((True, False)),
    OneHot((1, 2.5, None)),
]


def test_states_words_and_nearest_values_are_those_of_python(engine):
    encoder = Encoder(CODINGS)
    network = Network(encoder, [], Head(np.ones((2, encoder.width), int)))
    values = [
        -2,
        -1,
        0,
        0.1,
        0.25,
        0.5,
        0.7,
        1,
        2,
        2.5,
        3,
        3.5,
        4,
        6,
        7,
        1e16,
        1e17,
        "1/3",
        "7/2",
        "red",
        "blue",
        True,
        None,
    ]
    found = engine(
        """([page, values]) => {
          const model = new _engine_model.Model(page);
          return model.features.map(({ coding }, f) => {
            const all = Array.from({ length: coding.states }, (_, s) => s);
            const taken = values.filter((value) => coding.takes(value));
            return {
              reachable: all.map((s) => model.reachable(f, s)),
              one: all.map((s) => model.describe(f, s)),
              runs: all.flatMap((a) =>
                all.filter((b) => b >= a).map((b) => model.describe(f, all.slice(a, b + 1)))),
              words: [...Array(coding.width).keys()].flatMap((p) =>
                [1, -1].map((sign) => model.literalWords(1, sign * (model.starts[f] + p + 1)))),
              taken, states: taken.map((value) => model.stateOf(f, value)),
              moves: taken.map((value) => all.map((s) => model.valueOf(f, s, value))),
            };
          });
        }""",
        [payload(network, title="words"), values],
    )
    for f, (coding, name, seen) in enumerate(zip(CODINGS, encoder.names, found, strict=True)):
        states = range(coding.states)
        assert seen["reachable"] == [coding.reachable(s) for s in states]
        assert seen["one"] == [coding.describe(name, s) for s in states]
        runs = [list(range(a, b + 1)) for a in states for b in states if b >= a]
        assert seen["runs"] == [
            coding.describe_several(name, run) if len(run) > 1 else coding.describe(name, run[0])
            for run in runs
        ]
        assert seen["words"] == [
            network.words(1, sign * (place + 1)) for place in encoder.group(f) for sign in (1, -1)
        ]
        taken = []
        for value in values:
            exact = (
                Fraction(value)
                if isinstance(value, str) and "/" in value and isinstance(coding, Steps)
                else value
            )
            if value is True and isinstance(coding, Steps):
                continue  # samples have it as 1
            try:
                state = coding.state(exact)
            except sg.errors.EncodingError:
                continue
            taken.append((value, state, [getattr(coding.move(exact, s), "value", None) for s in states]))
        assert seen["taken"] == [value for value, _, _ in taken]
        assert seen["states"] == [state for _, state, _ in taken]
        assert seen["moves"] == [moves for _, _, moves in taken]


def test_neurons_have_the_literals_of_python(engine):
    rng = np.random.default_rng(2)
    levels = Network(
        Encoder.of_integers(3, 0, 2), [LevelLayer([[1, -2, 0]], [3], (2, 2, 2))], Head([[1], [-1]])
    )
    for network in [
        wide(rng, 33, 1),
        wide(rng, 9, 4),
        levels,
        *(network for network, _ in conv_networks(rng)),
    ]:
        asked = [
            (number, j) for number, layer in enumerate(network.layers, 1) for j in range(1, layer.outputs + 1)
        ][:60]
        script = (
            "([page, asked]) => { const m = new _engine_model.Model(page); return asked.map(([l, j]) => "
            "m.neuron(l, j)); }"
        )
        for (number, j), seen in zip(
            asked, engine(script, [payload(network, title="n"), asked]), strict=True
        ):
            neuron = network.neuron(number, j)
            literals = {(i + 1) * (1 if w > 0 else -1): abs(w) for i, w in enumerate(neuron.weights) if w}
            assert dict(zip(seen["literals"], seen["weights"], strict=True)) == literals
            assert (seen["tau"], seen["size"]) == (neuron.tau, neuron.size)


# -- walks ---------------------------------------------------------------------------------------------------

NEAREST = """(cases) => cases.map(([page, values, about]) => {
  const model = new _engine_model.Model(page);
  const states = model.statesOf(values);
  const found = _engine_walk.nearest(model, states, about);
  if (found.changes) for (const [f, s] of found.changes) states[f] = s;
  return { ...found, reached: model.evaluate(states).label };
})"""


def test_nearest_on_digits_is_the_proved_minimum_of_whatif(engine):
    network = sg.models.digits()
    X, _ = sg.models.samples("digits")
    page = payload(network, title="digits")
    asked = [(i, None) for i in range(12)] + [
        (3, 4 if network.predict(X[3:4])[0] != 4 else 9),
        (7, 5),
        (8, 1),
    ]
    found = engine(NEAREST, [[page, X[i].tolist(), {"target": target, "most": 3}] for i, target in asked])
    for (i, target), seen in zip(asked, found, strict=True):
        answer = sg.whatif(network, X[i], cost=sg.L0, target=target)
        assert answer.lower == answer.cost
        if answer.cost > 3:
            assert (seen["outcome"], seen["changes"], seen["provedUpTo"]) == ("none", None, 3)
            continue
        assert seen["outcome"] == "minimum"
        assert len(seen["changes"]) == answer.cost == seen["provedUpTo"] + 1
        assert seen["reached"] == seen["label"] != network.predict(X[i : i + 1])[0]
        assert target is None or seen["label"] == target


def states_of(network, x):
    return [coding.state(value) for coding, value in zip(network.encoder.codings, x, strict=True)]


def with_states(network, x, changes):
    """The sample with some features moved to other states."""
    values = list(x)
    for feature, state in changes:
        values[feature] = network.encoder.codings[feature].move(x[feature], state).value
    return values


def least_by_brute_force(network, x, wanted, movable):
    others = {
        f: [s for s in range(c.states) if s != c.state(x[f]) and c.reachable(s)]
        for f, c in enumerate(network.encoder.codings)
        if f in movable
    }
    for k in range(len(others) + 1):
        for chosen in combinations(others, k):
            for states in product(*(others[f] for f in chosen)):
                row = with_states(network, x, zip(chosen, states, strict=True))
                if wanted(int(network.predict(row_of(row), engine="definition")[0])):
                    return k
    return None


def small_questions(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        network = random_network(rng, features=int(rng.integers(2, 5)))
        x = random_sample(network, rng)
        label = int(network.predict(row_of(x))[0])
        target = int(rng.integers(3)) if rng.random() < 0.4 else None
        locked = [f for f in range(len(x)) if rng.random() < 0.2]
        yield network, x, label, (None if target == label else target), locked


def test_nearest_on_small_networks_is_the_minimum_by_brute_force(engine):
    questions = list(small_questions(range(60)))
    asked = [
        [payload(net, title="s"), json_row(x), {"target": target, "locked": locked}]
        for net, x, _, target, locked in questions
    ]
    outcomes = set()
    for (network, x, label, target, locked), seen in zip(questions, engine(NEAREST, asked), strict=True):
        movable = set(range(len(x))) - set(locked)
        least = least_by_brute_force(
            network, x, lambda k, t=target, own=label: k == t if t is not None else k != own, movable
        )
        outcomes.add(seen["outcome"])
        if least is None:
            assert (seen["outcome"], seen["changes"]) == ("none", None)
        else:
            assert (seen["outcome"], len(seen["changes"]), seen["provedUpTo"]) == (
                "minimum",
                least,
                least - 1,
            )
            assert {f for f, _ in seen["changes"]} <= movable
            assert seen["reached"] == seen["label"] != label
    assert outcomes == {"minimum", "none"}


def test_nearest_through_convolutions_levels_and_large_weights(engine):
    rng = np.random.default_rng(3)
    cases = [(network, rows[0]) for network, rows in conv_networks(rng)] + [
        (wide(rng, 9, 40), rng.choice([-1, 1], 9).tolist())
    ]
    found = engine(NEAREST, [[payload(network, title="c"), x, {"most": 2}] for network, x in cases])
    for (network, x), seen in zip(cases, found, strict=True):
        answer = sg.verify(network, sg.Robust(x, sg.L0(2)))
        assert (seen["outcome"] == "none") == isinstance(answer, sg.Proved)
        if seen["outcome"] == "minimum":
            below = len(seen["changes"]) - 1
            assert below == 0 or isinstance(sg.verify(network, sg.Robust(x, sg.L0(below))), sg.Proved)
            assert seen["reached"] != network.predict([x])[0]


def test_a_budget_that_is_too_small_leaves_it_open(engine):
    X, _ = sg.models.samples("digits")
    page = payload(sg.models.digits(), title="digits")
    (seen,) = engine(NEAREST, [[page, X[3].tolist(), {"budget": 20000}]])
    assert (seen["outcome"], seen["provedUpTo"], seen["tried"]) == (
        "undecided",
        2,
        1 + 192 + 64 * 63 // 2 * 9,
    )
    assert seen["changes"] is not None  # found by search, not proved to be the least
    assert seen["reached"] == seen["label"] != sg.models.digits().predict(X[3:4])[0]


def test_what_a_search_finds_may_be_the_least_that_is_still_possible(engine):
    X, _ = sg.models.samples("digits")
    least = sg.whatif(sg.models.digits(), X[2])
    assert least.cost == 1
    (seen,) = engine(NEAREST, [[payload(sg.models.digits(), title="digits"), X[2].tolist(), {"budget": 1}]])
    assert (seen["outcome"], seen["provedUpTo"], len(seen["changes"])) == ("minimum", 0, 1)


def test_the_only_class_cannot_be_left(engine):
    page = payload(
        Network.of_bits([DenseLayer(np.eye(3, dtype=int), [1, 1, 1])], Head([[1, 1, 1]])), title="one"
    )
    found = engine(NEAREST, [[page, [1, 1, 1], {}], [page, [1, 1, 1], {"budget": 2}]])
    assert [seen["outcome"] for seen in found] == ["none", "undecided"]
    assert [seen["changes"] for seen in found] == [None, None]


# -- bounds --------------------------------------------------------------------------------------------------


def test_bounds_hold_for_everything_allowed(engine):
    rng = np.random.default_rng(4)
    cases = []
    for seed in range(50):
        network = random_network(np.random.default_rng(seed), features=3)
        reachable = [[s for s in range(c.states) if c.reachable(s)] for c in network.encoder.codings]
        allowed = [
            sorted(rng.choice(row, int(rng.integers(1, len(row) + 1)), replace=False).tolist())
            for row in reachable
        ]
        cases.append((network, allowed))
    found = engine(
        """(cases) => cases.map(([page, allowed]) => {
          const { layers, head, classes } = _engine_bounds.bounds(new _engine_model.Model(page), allowed);
          const plain = ({ lo, hi, state }) => ({ lo: [...lo], hi: [...hi], state: [...state] });
          return { layers: layers.map(plain), lo: [...head.lo], hi: [...head.hi], classes };
        })""",
        [[payload(network, title="b"), allowed] for network, allowed in cases],
    )
    locked = open_ = 0
    for (network, allowed), seen in zip(cases, found, strict=True):
        start = [next(s for s in range(c.states) if c.reachable(s)) for c in network.encoder.codings]
        any_value = [
            c.categories[0] if isinstance(c, OneHot) else c.interval(s)[0]
            for c, s in zip(network.encoder.codings, start, strict=True)
        ]
        rows = [with_states(network, any_value, list(enumerate(states))) for states in product(*allowed)]
        X = np.concatenate([row_of(row).astype(object) for row in rows])
        inputs, votes = network.inputs(X), network.match_counts(X, engine="definition")
        for number, (layer, bound) in enumerate(zip(network.layers, seen["layers"], strict=True)):
            counts, inputs = layer.match_counts(inputs), layer.activity(inputs)
            assert (counts >= bound["lo"]).all()
            assert (counts <= bound["hi"]).all()
            if number == 0:  # one layer over independent features: nothing is lost
                assert (counts.min(axis=0) == bound["lo"]).all()
                assert (counts.max(axis=0) == bound["hi"]).all()
            for j, state in enumerate(bound["state"]):
                assert state == 0 or (inputs[:, j] == (state > 0)).all()
                locked, open_ = locked + (state != 0), open_ + (state == 0)
        assert (votes >= seen["lo"]).all()
        assert (votes <= seen["hi"]).all()
        assert set(network.predict(X, engine="definition").tolist()) <= set(seen["classes"])
    assert locked
    assert open_


def test_what_counts_for_both_classes_cancels(engine):
    """Interval against interval the two classes overlap; their difference does not."""
    network = Network.of_bits([DenseLayer(np.eye(3, dtype=int), [1, 1, 1])], Head([[1, 1, 1], [1, 1, -1]]))
    script = "([page, allowed]) => _engine_bounds.bounds(new _engine_model.Model(page), allowed).classes"
    assert engine(script, [payload(network, title="d"), [[0, 1], [0, 1], [1]]]) == [0]
    assert engine(script, [payload(network, title="d"), [[0, 1], [0, 1], [0, 1]]]) == [0, 1]


def test_free_decides_small_networks_as_brute_force_does(engine):
    questions = list(small_questions(range(100, 160)))
    found = engine(
        """(cases) => cases.map(([page, values, about]) => {
          const model = new _engine_model.Model(page);
          const states = model.statesOf(values);
          const found = _engine_free.free(model, states, about);
          if (found.changes) for (const [f, s] of found.changes) states[f] = s;
          return { ...found, reached: model.evaluate(states).label };
        })""",
        [
            [payload(net, title="f"), json_row(x), {"target": target, "locked": locked}]
            for net, x, _, target, locked in questions
        ],
    )
    for (network, x, label, target, locked), seen in zip(questions, found, strict=True):
        movable = set(range(len(x))) - set(locked)
        least = least_by_brute_force(
            network, x, lambda k, t=target, own=label: k == t if t is not None else k != own, movable
        )
        assert seen["outcome"] == ("proved" if least is None else "refuted")
        if least is not None:
            assert {f for f, _ in seen["changes"]} <= movable
            assert seen["reached"] == (target if target is not None else seen["label"]) != label
    assert {seen["by"] for seen in found} >= {"bounds", "search"}


def test_free_by_branching(engine):
    """Of four bits two are on or two are off, so one of the neurons is active; bounds see each alone."""
    rows = [[1, 1, 1, 1], [-1, -1, -1, -1]]
    network = Network.of_bits([DenseLayer(rows, [2, 2])], Head([[1, 1], [0, 0]], bias=[0, -1]))
    assert set(network.predict(list(product([-1, 1], repeat=4))).tolist()) == {0}
    script = (
        "([page, values]) => { const m = new _engine_model.Model(page); return _engine_free.free(m, "
        "m.statesOf(values)); }"
    )
    seen = engine(script, [payload(network, title="p"), [1, 1, 1, 1]])
    assert (seen["outcome"], seen["by"]) == ("proved", "branching")
    assert (
        engine(
            script.replace("values))", "values), { budget: 3 })"), [payload(network, title="p"), [1, 1, 1, 1]]
        )["outcome"]
        == "undecided"
    )


# -- in workers ----------------------------------------------------------------------------------------------


def test_work_runs_in_workers_with_progress_and_can_be_cancelled(page, digits_file):
    page.goto(digits_file.as_uri())
    found = page.evaluate(
        """async () => {
          const payload = JSON.parse(document.getElementById("payload").textContent);
          const engine = _engine_client.startWorker(payload);
          const model = new _engine_model.Model(payload);
          const states = model.statesOf(payload.samples[3].values);
          const progress = [];
          const near = await engine.run("nearest", { states, most: 3, locked: new Set([0]) },
            { onProgress: (p) => progress.push(p) });
          const free = await engine.run("free", { states, locked: [...states.keys()] });
          const bounds = await engine.run("bounds", { allowed: [...states].map((s) => [s]) });
          const wrong = await engine.run("check", { text: "{}" });
          const stop = new AbortController();
          const target = (model.evaluate(states).label + 5) % 10;
          const long = engine.run("nearest", { states, target, most: 9, budget: 1e12 },
            { signal: stop.signal, onProgress: () => stop.abort() });
          const name = await long.then(() => "ended", (error) => error.name);
          const failed = await engine.run("bounds", { allowed: null })
            .then(() => null, (error) => error.message);
          const again = await engine.run("free", { states, locked: [...states.keys()] });
          engine.stop();
          const label = model.evaluate(states).label;
          return { near, free, progress, classes: bounds.classes, wrong, name, failed, again, label };
        }"""
    )
    assert (found["near"]["outcome"], len(found["near"]["changes"])) == ("minimum", 3)
    assert found["free"]["outcome"] == found["again"]["outcome"] == "proved"
    assert found["classes"] == [found["label"]]
    assert found["wrong"] == {"holds": False, "said": "this is not a sugenet certificate of version 3."}
    assert found["name"] == "AbortError"
    assert found["failed"]
    assert all(0 < step["tried"] <= step["total"] for step in found["progress"])
