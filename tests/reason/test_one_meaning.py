"""A box denotes the same inputs in every question: `Query`, `Always`, `Never` and `Robust` agree on it,
and with every input of the box evaluated by the definition.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, LevelLayer, Network, RealLayer, bit, integer, thermometer
from sugenet.problem.query import Case, Inequality, Query, QueryBox

BELOW = float(np.nextafter(1.5, 0))
KINDS = {
    "integers": (integer(0, 3), [0, Fraction(1, 2), 1, Fraction(19, 10), 3], [0, 1, 2, 3]),
    "floats": (thermometer([0.5, 1.5]), [-1, 0.5, BELOW, 1.5, 2], [-1.0, 0.25, 0.5, 1.0, BELOW, 1.5, 2.0]),
    "bits": (bit(), [0, Fraction(1, 2), 1], [0, 1]),
}
"""A coding, ends of boxes, and values that have every state in every box between such ends."""


def network(kind, seed):
    rng = np.random.default_rng(seed)
    encoder = Encoder([KINDS[kind][0]] * 2, ["a", "b"])
    if kind == "integers":
        layer = LevelLayer(rng.choice([-1, 1], (3, 2)), rng.integers(1, 6, 3), [3, 3])
    else:
        layer = DenseLayer(rng.choice([-1, 1], (3, encoder.width)), rng.integers(1, encoder.width + 1, 3))
    return Network(encoder, [layer], Head(rng.choice([-1, 1], (3, 3)), [0, 1, 0]))


def beats(k, other):
    """Class k has the larger score, or the same and the lower number."""
    return Inequality({k: 1, other: -1}, int(k > other))


def queries(box, label):
    """No other class wins in the box; the class itself does not."""
    others = [k for k in range(3) if k != label]
    lost, won = [[beats(k, label)] for k in others], [[beats(label, k) for k in others]]
    return tuple(Query(2, 3, [Case(box, way)]) for way in (lost, won))


def holds(net, question):
    answer = sg.verify(net, question)
    sg.check(answer.certificate, net)
    assert answer.outcome in ("proved", "refuted")
    return answer.outcome == "proved"


@pytest.mark.parametrize("kind", KINDS)
def test_questions_agree_on_every_box(kind):
    _, ends, values = KINDS[kind]
    sides, seen = list(combinations_with_replacement(ends, 2)), set()
    for number, pair in enumerate(product(sides, repeat=2)):
        net, label = network(kind, number % 7), number % 3
        where = dict(zip(("a", "b"), pair, strict=True))
        box = QueryBox(*zip(*pair, strict=True))
        inside = [row for row in product(values, repeat=2) if box.contains(row)]
        always, never = queries(box, label)
        if not inside:
            for question in (sg.Always(label, where), sg.Never(label, where), always, never):
                with pytest.raises(QuestionError, match="the box is empty"):
                    sg.verify(net, question)
            continue
        labels = net.predict(np.array(inside)).tolist()
        truth = set(labels) == {label}, label not in labels
        assert (holds(net, sg.Always(label, where)), holds(net, sg.Never(label, where))) == truth
        assert (holds(net, always), holds(net, never)) == truth
        sample = inside[number % len(inside)]
        stays, _ = queries(box, labels[number % len(inside)])
        assert holds(net, sg.Robust(sample, sg.Box(where))) == (len(set(labels)) == 1) == holds(net, stays)
        seen.add(truth)
    assert seen == {(True, False), (False, True), (False, False)}


def test_a_query_about_an_integer_is_about_integers():
    """Low below 2: all integers of 0..1.9 are low; real numbers are high from a threshold of 3/2 on."""
    head, box, names = Head([[-1], [1]]), QueryBox([0], [Fraction(19, 10)]), ["low", "high"]
    query = Query(1, 2, [Case(box, [[Inequality({1: 1, 0: -1}, 0)]])])
    always = sg.Always("low", {0: (0, Fraction(19, 10))})
    whole = Network(Encoder.of_integers(1, 0, 4), [LevelLayer([[1]], [2], [4])], head, names)
    real = Network(Encoder.of_reals(1, 0, 4), [RealLayer([[1]], [Fraction(3, 2)])], head, names)
    for net, proved in ((whole, True), (real, False)):
        assert holds(net, always) == holds(net, query) == proved
