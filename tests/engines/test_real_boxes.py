"""Real boxes whose ends have long decimals, and a time limit that is used: answers against exact fractions,
with a clock that is given.
"""

from fractions import Fraction
from itertools import count, product
from math import ceil, floor

import numpy as np
import pytest

import sugenet as sg
from sugenet.engines.hard.reals.anneal import Search
from sugenet.engines.hard.reals.bound import Slack
from sugenet.engines.hard.reals.deciding import decide_query
from sugenet.engines.hard.reals.first_layer import BoxFirstLayer, finest_grid
from sugenet.engines.hard.reals.gradient import Climber
from sugenet.engines.hard.reals.witness import check_real_witness, real_scores
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, RealLayer, Window
from sugenet.nn.boxed import in_box
from sugenet.problem.clock import Clock
from sugenet.problem.problem import Fails, Holds, Open
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from sugenet.reason.verdicts import Proved
from tests.checker.typed import check_patches

TOP = 3


def network(weights, theta, head, top=TOP):
    layer = RealLayer(weights, theta)
    return Network(Encoder.of_reals(layer.inputs, 0, top), [layer], Head(head))


def front_of(net, box):
    return BoxFirstLayer.of(in_box(net, box.lower, box.upper))


def asked(lower, upper, bound=0):
    return Query(len(lower), 2, [Case(QueryBox(lower, upper), [[Inequality({1: 1, 0: -1}, bound)]])])


# -- the definition, by elimination in fractions -------------------------------------------------------------


def solvable(rows, variables):
    """Whether some real point meets all ``a @ x >= b`` (or > where strict),
    by Fourier-Motzkin elimination in fractions.
    """
    for i in range(variables):
        below = [row for row in rows if row[0][i] > 0]
        above = [row for row in rows if row[0][i] < 0]
        rows = [row for row in rows if row[0][i] == 0]
        for (a, b, s), (c, d, t) in product(below, above):
            one, other = -c[i], a[i]
            rows.append(
                ([one * p + other * q for p, q in zip(a, c, strict=True)], one * b + other * d, s or t)
            )
    return all(b < 0 if strict else b <= 0 for _, b, strict in rows)


def truth(net, query):
    """Whether some real input of the box violates, by every sign pattern of the first layer."""
    first = net.layers[0]
    n = first.inputs
    (case,) = query.cases
    unit = [[Fraction(int(i == k)) for i in range(n)] for k in range(n)]
    box = [(row, low, False) for row, low in zip(unit, case.box.lower, strict=True)]
    box += [([-v for v in row], -high, False) for row, high in zip(unit, case.box.upper, strict=True)]
    for pattern in product([False, True], repeat=first.outputs):
        scores = list(net.head.scores(net.head.match_counts(np.array([pattern])))[0])
        if all(part.holds(scores) for part in case.condition[0]):
            signs = []
            for on, weights, (edge, _) in zip(pattern, first.weights.tolist(), first.theta, strict=True):
                row = [Fraction(w) for w in weights]
                signs.append((row, edge, False) if on else ([-v for v in row], -edge, True))
            if solvable(box + signs, n):
                return True
    return False


def agrees(net, query):
    """The answer of the engine, after it was compared with the truth and checked against the
    query as it was asked.
    """
    outcome = decide_query(net, query, Clock())
    if isinstance(outcome, Holds):
        assert not truth(net, query)
        check_patches(outcome.proof, net, query)
    elif isinstance(outcome, Fails):
        assert truth(net, query)
        assert query.contains(outcome.witness)
        check_real_witness(outcome.witness, net, query)
    else:  # ends and thresholds a hair apart: what fits on a grid is proved where it holds
        assert truth(net, query) or front_of(net, query.cases[0].box).grid >= 1 << 50
    return type(outcome)


# -- long decimals -------------------------------------------------------------------------------------------


def test_a_box_shifted_by_very_little_is_proved_as_the_first_was():
    net = network([[1, 1]], [1], [[1], [-1]], top=1)
    for shift in (0, Fraction(1, 10**10), Fraction(1, 10**40), Fraction(1, 3), Fraction(0.1)):
        query = asked([Fraction("0.519") + shift] * 2, [Fraction("0.521") + shift] * 2)
        answer = sg.verify(net, query)
        assert isinstance(answer, Proved), shift
        stated = answer.certificate["question"]["cases"][0]
        assert [Fraction(stated[end][0]) - shift for end in ("lower", "upper")] == [
            Fraction("0.519"),
            Fraction("0.521"),
        ]
        sg.check(answer.certificate, net)


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "2",
        "3",
        "7",
        "1000",
        "2**24 - 1",
        "2**24",
        "2**24 + 1",
        "10**10",
        "3**20",
        "2**52 + 1",
        "2**54",
        "2**61 - 1",
        "10**30",
        "3**300",
        "2**1074",
    ],
)
def test_boxes_of_every_denominator_are_decided_as_fractions_say(text):
    """Ends at thresholds and one step of the denominator beside them: corners that just touch,
    just miss, and just pass.
    """
    denominator = eval(text)
    step, seen = Fraction(1, denominator), set()
    for seed in range(10):
        rng = np.random.default_rng([seed, denominator % 1000])
        weights = rng.choice([-1, 1], (3, 2))
        corner = [Fraction(int(v)) / 2 + step for v in rng.integers(1, 4, 2)]
        theta = [
            sum(int(w) * c for w, c in zip(row, corner, strict=True)) + int(rng.integers(-1, 2)) * step
            for row in weights
        ]
        net = network(weights, theta, [[1, 1, 1], [-1, -1, -1]])
        width = [Fraction(int(v), 4) for v in rng.integers(0, 2, 2)]
        for side in (-1, 1):
            lower = [max(c if side > 0 else c - w, Fraction(0)) for c, w in zip(corner, width, strict=True)]
            upper = [min(c + w if side > 0 else c, Fraction(TOP)) for c, w in zip(corner, width, strict=True)]
            lower = [min(a, b) for a, b in zip(lower, upper, strict=True)]
            seen.add(agrees(net, asked(lower, upper, 2 * int(rng.integers(-1, 2)))))
    assert seen >= {Holds, Fails}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_boxes_of_floats_are_decided_as_fractions_say(kind):
    seen = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        weights = rng.choice([-1, 1], (4, 3))
        theta = [Fraction(float(kind(v))) for v in rng.normal(weights.sum(axis=1) * 1.5, 0.4)]
        net = network(weights, theta, [[1] * 4, [-1] * 4])
        center, eps = rng.uniform(0.5, 2.5, 3).astype(kind), kind(rng.choice([1e-6, 1e-3, 0.1, 0.4]))
        seen.add(agrees(net, asked((center - eps).tolist(), (center + eps).tolist())))
    assert seen == {Holds, Fails}


def test_a_counterexample_lies_in_the_box_itself_where_no_point_of_the_grid_does():
    third = Fraction(1, 3**60)
    net = network([[1, 1]], [1 + 2 * third], [[1], [-1]])
    below = asked([Fraction(1, 2) + third, Fraction(1, 2)], [Fraction(1, 2) + third, Fraction(1, 2)])
    outcome = decide_query(net, below, Clock())
    assert outcome.witness == (Fraction(1, 2) + third, 0.5)
    at = asked([Fraction(1, 2) + third] * 2, [Fraction(1, 2) + third] * 2)
    check_patches(decide_query(net, at, Clock()).proof, net, at)
    grown = asked([Fraction(1, 2)] * 2, [Fraction(1, 2) + third] * 2)
    assert isinstance(decide_query(net, grown, Clock()), Fails)


def test_a_proof_on_a_grid_is_none_for_a_box_that_reaches_further():
    """The checker puts the box that was asked on the grid itself, so a box that is larger by less than a step
    is judged as such.
    """
    net = network([[1]], [Fraction(1, 2)], [[1], [-1]], top=1)
    inside = asked([Fraction(1, 2)], [Fraction(3, 4)])
    proof = decide_query(net, inside, Clock()).proof
    for grid in (1, 2, 4, 1 << 20, 3):
        further = asked([Fraction(1, 2) - Fraction(1, 10**30)], [Fraction(3, 4)])
        proof["cases"][0]["grid"] = grid
        with pytest.raises(CertificateError, match="must be below 0"):
            check_patches(proof, net, further)
        assert isinstance(decide_query(net, further, Clock()), Fails)


def test_the_grid_is_the_finest_on_which_sums_fit():
    assert finest_grid({1}, 10) == 1
    assert finest_grid({2, 3, 1 << 24}, 10) == 3 << 24
    for size in (1, 255, 784 * 255, (1 << 31) - 1):
        for long in ({10**40}, {(1 << 61) - 1, 3}, {7**30, 5**30, 3**30}):
            grid = finest_grid(long, size)
            assert grid * (size + 1) < 1 << 58 <= 4 * grid * (size + 1)
    assert finest_grid({3, 10**40}, 255) % 3 == 0
    with pytest.raises(QuestionError, match="too large"):
        finest_grid({1}, 1 << 60)


def test_a_box_grows_by_less_than_a_step():
    net = network([[1, -1]], [Fraction(1, 7)], [[1], [-1]])
    box = QueryBox([Fraction(1, 10**30), Fraction(1, 3)], [Fraction(1, 3) + Fraction(1, 10**30), TOP])
    boxed = in_box(net, box.lower, box.upper)
    first_layer = BoxFirstLayer.of(boxed)
    for i in range(2):
        assert 0 <= boxed.lower[i] * first_layer.grid - int(first_layer.lower[i]) < 1
        assert 0 <= int(first_layer.upper[i]) - boxed.upper[i] * first_layer.grid < 1


def test_fractions_too_long_to_add_up_are_left_open_or_proved_on_the_grid():
    primes = [p for p in range(3, 12000) if all(p % q for q in range(2, int(p**0.5) + 1))][:1400]
    net = network([[1] * 1400], [Fraction(1, 2)], [[1], [-1]])
    far = [Fraction(1) + Fraction(1, p**2) for p in primes]
    query = asked(far, far)
    check_patches(decide_query(net, query, Clock()).proof, net, query)
    near = network([[1] * 1400], [sum(far)], [[1], [-1]])
    assert isinstance(decide_query(near, query, Clock()), Open)
    with pytest.raises(CertificateError, match="common denominator"):
        check_real_witness(far, near, query)


# -- time ----------------------------------------------------------------------------------------------------


def hard(bound=16):
    """A question with more open neurons behind the last layer than patterns are made of, so that bounds and
    cases end at once.
    """
    rng = np.random.default_rng(0)
    weights = rng.choice([-1, 1], (200, 6))
    theta = [Fraction(int(v)) + Fraction(1, 2) for v in weights.sum(axis=1)]
    first = network(weights, theta, rng.choice([-1, 1], (2, 200)))
    second = DenseLayer(rng.choice([-1, 1], (24, 200)), [100] * 24)
    head = rng.choice([-1, 1], 24)
    return Network(first.encoder, [*first.layers, second], Head([head, -head])), asked(
        [0] * 6, [2] * 6, bound
    )


class Ticks:
    """A clock that goes on by a step whenever it is read."""

    def __init__(self, step):
        self.step, self.reads = step, count()

    def __call__(self):
        return next(self.reads) * self.step


@pytest.mark.parametrize("boxes", [1, 3])
def test_a_time_limit_is_used_and_kept(boxes, monkeypatch):
    monkeypatch.setattr("sugenet.engines.hard.reals.deciding._LONG", 10_000)
    net, query = hard(bound=40)
    (case,) = query.cases
    ends = [
        ([v + Fraction(k, 10) for v in case.box.lower], [v + Fraction(k, 10) for v in case.box.upper])
        for k in range(boxes)
    ]
    ticks = Ticks(0.1)
    outcome = decide_query(
        net,
        Query(query.inputs, 2, [Case(QueryBox(*pair), case.condition) for pair in ends]),
        Clock(20, now=ticks),
    )
    assert isinstance(outcome, Open)
    assert outcome.reason.endswith("time is up.")
    assert 20 <= ticks() < 22


def test_where_nothing_can_be_tried_again_no_time_is_waited_for():
    low, high = Fraction(1, 2) - Fraction(1, 10**6), Fraction(1, 2)
    net = Network(Encoder.of_reals(1, 0, 1), [RealLayer([[1]], [(low, high)])], Head([[1], [-1]]))
    ticks = Ticks(0.01)
    outcome = decide_query(net, asked([low], [low]), Clock(25, now=ticks))
    assert isinstance(outcome, Open)
    assert "no bound or case" in outcome.reason
    assert ticks() < 5


# -- climbs by gradients -------------------------------------------------------------------------------------


def climber(net, query):
    (case,) = query.cases
    boxed = in_box(net, case.box.lower, case.box.upper)
    first_layer = BoxFirstLayer.of(boxed)
    low = np.array([ceil(value * first_layer.grid) for value in boxed.lower], np.int64)
    high = np.array([floor(value * first_layer.grid) for value in boxed.upper], np.int64)
    slack = Slack.of(boxed.network.expanded.head, case.condition[0])
    return Climber(Search.of(first_layer, (low, high))), slack


@pytest.mark.parametrize("seed", range(3))
def test_a_climb_sees_the_signs_that_exact_sums_have(seed):
    rng = np.random.default_rng(seed)
    theta = [Fraction(int(v), 2) for v in rng.integers(-9, 9, 27)]
    real = RealLayer(rng.choice([-1, 1], (3, 1, 2, 2)), theta, Window((1, 4, 4), kernel=2))
    second = DenseLayer(rng.choice([-1, 1], (9, 27)), rng.integers(9, 18, 9))
    head = Head(rng.choice([-1, 1], (2, 9)))
    net = Network(Encoder.of_reals(16, 0, TOP), [real, second], head)
    climbing, _ = climber(net, asked([0] * 16, [TOP] * 16))
    points = rng.integers(0, TOP * climbing.search.first_layer.grid + 1, (16, 50))
    signs, _ = climbing._forwards(points.astype(float))
    for point, column in zip(points.T, signs.T, strict=True):
        assert (column == climbing.search._signs(climbing.search.sums(point))).all()


def test_a_climb_finds_what_walks_on_the_grid_cannot():
    # both thresholds are met on a stripe between the integers only
    net = network([[1, 1], [-1, -1]], [Fraction(5, 4), Fraction(-7, 4)], [[-1, -1], [1, 1]])
    query = asked([0, 0], [3, 3], bound=2)
    climbing, slack = climber(net, query)
    seen = []

    def accepts(point):
        raw = [value / climbing.search.first_layer.grid for value in point]
        seen.append(raw)
        return query.violated_by(raw, real_scores(raw, net)) and query.contains(raw)

    assert climbing.climb(slack, (0,), accepts, lambda: False) == float("inf")
    assert Fraction(5, 4) <= sum(seen[-1]) <= Fraction(7, 4)
    # what is refused does not end the climb
    never = climbing.climb(slack, (0,), lambda _: False, lambda: False)
    assert 0 <= never < float("inf")
    assert climbing.climb(slack, (0,), accepts, lambda: True) == -float("inf")


def test_a_tie_gives_way_to_a_strict_witness(monkeypatch):
    net = network([[1], [1]], [1, 2], [[-1, -1], [1, 1]])
    tie = np.array([1])
    monkeypatch.setattr(Search, "walk", lambda *_, **__: (0.0, tie))
    outcome = decide_query(net, asked([0], [3]), Clock(None))
    assert isinstance(outcome, Fails)
    assert real_scores([Fraction(value) for value in outcome.witness], net) == [-2, 2]
    monkeypatch.setattr(Climber, "climb", lambda *_: 0.0)
    assert decide_query(net, asked([0], [3]), Clock(None)).witness == (1,)
