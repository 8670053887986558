"""Large networks: convolutions stay convolutions, memory is asked for before it is taken, and small ones
agree with brute force.
"""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate import enumeration
from sugenet.engines.walk.singles import violating_singles, walk_singles
from sugenet.errors import CertificateError, CheckLimitError, TooLargeError
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, LevelLayer, Network, Window, integer
from sugenet.nn.arrays import available, make_sure
from sugenet.problem.clock import Clock
from sugenet.problem.first_layer import FirstLayer, first_layer, move_gains, reach
from sugenet.problem.goal import loses
from sugenet.problem.moves import FeatureMove, Moves, Way
from sugenet.problem.neighbourhood import sets_within
from sugenet.problem.problem import Problem
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from sugenet.reason import L0, L1, Free, Hamming, Linf, Robust, check, count, verify, why
from sugenet.reason.counts import points as count_points
from sugenet.reason.envelope import envelope
from tests.problem.clocks import ringing
from tests.problem.large import cnv, image, one_convolution, small_conv_network
from tests.problem.small import random_sample, raw_values, samples_inside

REGIONS = [L0(1), Hamming(1), L1(1), L0(2), Hamming(2), Linf(1), Free([0]), Free([0, 1])]


def _small(seed):
    rng = np.random.default_rng(seed)
    while True:
        network = small_conv_network(rng)
        if (
            network.encoder.features > 1
            and np.prod([float(len(raw_values(c))) for c in network.encoder.codings]) <= 4**7
        ):
            return network, random_sample(network, rng)


@pytest.fixture
def written(monkeypatch):
    """Whether the checker writes networks out, switched by the test."""

    def switch(*, out: bool) -> None:
        monkeypatch.setattr(enumeration, "_CELLS", 1 << 60 if out else -1)

    return switch


@pytest.mark.parametrize("seed", range(24))
def test_convolutions_agree_with_brute_force_and_both_checkers(seed, written):
    network, x = _small(seed)
    own = int(network.predict(np.array([x], dtype=object), engine="definition")[0])
    for region in REGIONS:
        inside = np.array(list(samples_inside(region.around(network, x))), dtype=object)
        bad = bool((network.predict(inside, engine="definition") != own).any())
        for engine in ("auto", "bounds", "flips", "exhaust"):
            answer = verify(network, Robust(x, region), engine=engine)
            if isinstance(answer, sg.Undecided):
                continue
            assert isinstance(answer, sg.Refuted) == bad
            for out in (True, False):
                written(out=out)
                check(answer.certificate, network)


@pytest.mark.parametrize("seed", range(24))
def test_counts_by_inference_are_those_by_definition(seed, monkeypatch):
    network, x = _small(seed)
    monkeypatch.setattr(count_points, "_HEAVY", -1)
    for region in REGIONS:
        near = region.around(network, x)
        labels = network.predict(np.array(list(samples_inside(near)), dtype=object), engine="definition")
        answer = count(network, x, region)
        assert answer.counts == tuple(np.bincount(labels, minlength=3).tolist())
        check(answer.certificate, network)


@pytest.mark.parametrize("seed", range(24))
def test_a_first_layer_by_columns_is_the_one_of_the_unrolled_layer(seed):
    network, x = _small(seed)
    for region in REGIONS:
        near = region.around(network, x)
        layer, first = FirstLayer.of(near), first_layer(network)
        gains, margins = move_gains(near, first), first.match_counts(near.inputs)[0] - first.tau
        turns = np.where(margins >= 0, margins - reach(near, -gains) < 0, margins + reach(near, gains) >= 0)
        assert layer.fragile.tolist() == np.flatnonzero(turns).tolist()
        assert (layer.deltas == gains[:, layer.fragile]).all()
        chosen = [near.moves[moves.start] for moves in near.places.values()][::-1]
        assert (layer.rows(chosen) == [layer.deltas[list(near.moves).index(move)] for move in chosen]).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_column_is_that_of_the_unrolled_layer(seed):
    network, _ = _small(seed)
    for layer in network.layers:
        rows = (
            layer.unrolled().weights if getattr(layer, "top", None) is None else first_layer(network).weights
        )
        for place in range(layer.inputs):
            column = np.zeros(layer.outputs, np.int64)
            neurons, weights = layer.column(place)
            column[neurons] = weights
            assert (column == rows[:, place]).all()


def test_forged_walks_over_large_networks_are_refused(written):
    written(out=False)
    layer = ConvLayer([[[[1, 1], [1, 1]]]], [4], Window((1, 4, 4), 2))
    network = Network.of_bits([layer], Head([[1] * 9, [-1] * 9]))
    x = [1] * 16
    answer = verify(network, Robust(x, L0(1)), engine="flips")
    assert check(answer.certificate, network) == "none of the 17 sets of changes is a violation (walk)"
    wider = answer.certificate | {
        "question": answer.certificate["question"] | {"region": {"kind": "L0", "radius": "4"}}
    }
    with pytest.raises(CertificateError, match="is a violation"):
        check(wider, network)
    with pytest.raises(CheckLimitError, match="limit"):
        check(answer.certificate, network, memory_limit=100)


# -- one pixel, and networks of the size of CNV --------------------------------------------------------------


@pytest.mark.slow
def test_a_free_pixel_of_one_convolution_is_settled_as_predict_says():
    network, x = one_convolution(), image()
    rows = np.repeat(np.array([x]), 256, axis=0)
    rows[:, 1500] = range(256)
    labels = network.predict(rows)
    answer = verify(network, Robust(x, Free([1500])))
    assert isinstance(answer, sg.Proved if (labels == labels[x[1500]]).all() else sg.Refuted)
    assert check(answer.certificate, network)
    counted = count(network, x, Free([1500]))
    assert counted.counts == tuple(np.bincount(labels, minlength=10).tolist())


_CHILD = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import sugenet as sg
from sugenet.errors import TooLargeError
from tests.problem.clocks import ringing
from tests.problem.large import cnv, image
network, x = cnv({lead}), image()
try:
    answer = {question}
    print(type(answer).__name__)
    {then}
except TooLargeError as error:
    print("TooLargeError", error)
"""


def _in_little_memory(question, then="", lead=0):
    code = _CHILD.format(question=question, then=then or "pass", lead=lead)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "region", ["Free([1500])", "Free([1, 2])", "Hamming(1)", pytest.param("L0(1)", marks=pytest.mark.slow)]
)
def test_small_regions_of_a_network_like_cnv_are_settled(region):
    said = _in_little_memory(f"sg.verify(network, sg.Robust(x, sg.{region}))", lead=100)
    assert said[0] in ("Proved", "Refuted")


@pytest.mark.parametrize("region", ["Free([1500])", pytest.param("Hamming(1)", marks=pytest.mark.slow)])
def test_what_is_settled_of_a_network_like_cnv_is_checked_within_the_same_memory(region):
    checked = "print(sg.check(answer.certificate, network, time_limit=None))"
    assert len(_in_little_memory(f"sg.verify(network, sg.Robust(x, sg.{region}))", checked, lead=100)) == 2


@pytest.mark.parametrize(
    "question",
    [
        "sg.verify(network, sg.Robust(x, sg.L0(1)), time_limit=2)",
        "sg.verify(network, sg.Robust(x, sg.Linf(8)), time_limit=2)",
        "sg.verify(network, sg.Robust(x, sg.AnyInput()), time_limit=2)",
        "sg.verify(network, sg.Monotone(5), time_limit=2)",
        "sg.verify(network, sg.Agree(cnv(1)), time_limit=2)",
        "sg.whatif(network, x, sg.L1, time_limit=2)",
        "sg.whatif(network, x, sg.Linf, time_limit=2)",
        "sg.why(network, x, sg.AnyInput(), time_limit=2)",
        "sg.count(network, x, sg.L0(1), time_limit=2)",
        "sg.count(network, time_limit=2)",
        "sg.check_rule(network, 'x1 >= 1 -> 3', time_limit=2)",
        "sg.rulebook(network, X=[x], most=1, time_limit=2)",
    ],
)
@pytest.mark.slow
def test_no_question_about_a_network_like_cnv_takes_the_machine_down(question):
    assert _in_little_memory(question)


def test_a_ball_over_the_whole_of_cnv_ends_within_memory():
    said = _in_little_memory("sg.verify(network, sg.Robust(x, sg.Linf(8)), time_limit=1)")
    assert said[0].split()[0] in ("Undecided", "Refuted", "TooLargeError")


# -- memory --------------------------------------------------------------------------------------------------


def test_memory_is_asked_for_before_it_is_taken():
    assert available() > 0
    make_sure(1 << 10, "a little", "")
    with pytest.raises(
        TooLargeError, match=r"everything would take .* GiB of memory, and a step may take .* Ask for less"
    ):
        make_sure(1 << 60, "everything", "Ask for less.")
    with pytest.raises(TooLargeError, match="neurons over"):
        cnv().layers[1].unrolled()


def test_a_limit_of_the_process_counts_as_memory():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); import "
        "sugenet.nn.arrays as m; print(m.available())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 3 << 30


# -- very many moves -----------------------------------------------------------------------------------------


def test_moves_kept_once_are_the_moves_one_by_one():
    network, x = _small(3)
    for region in REGIONS:
        near = region.around(network, x)
        each = [FeatureMove(f, *way) for f, ways in sorted(near.moves.ways.items()) for way in ways]
        assert list(near.moves) == each == [near.moves[k] for k in range(len(each))]
        assert near.moves[1:3] == tuple(each[1:3])
        assert near.moves[-1] == each[-1]
        for column, name in zip(near.columns, ("feature", "state", "weight"), strict=True):
            assert column.tolist() == [getattr(move, name) for move in each]
        assert list(near.only(lambda way: way.state == 0).moves) == [move for move in each if move.state == 0]
        assert list(near.fixing({0}).moves) == [move for move in each if move.feature]
        assert near.places == {
            f: slice(rows.index(True), len(rows) - rows[::-1].index(True))
            for f in near.moves.ways
            if (rows := [move.feature == f for move in each])
        }
        for move in each:
            assert near.move_to(move.feature, move.value) == move
            assert near.has(move)
            assert not near.has(move._replace(weight=move.weight + 1))
        apart = Moves({f: tuple(Way(*way) for way in ways) for f, ways in near.moves.ways.items()})
        assert list(apart) == each  # also if equal features do not share their ways
        assert all((a == b).all() for a, b in zip(near.columns, apart.columns(), strict=True))


def test_sets_are_counted_as_they_are_listed():
    network, x = _small(5)
    for region in REGIONS:
        near = region.around(network, x)
        assert sets_within(near) == len(list(samples_inside(near)))


# -- stopping ------------------------------------------------------------------------------------------------


def test_single_moves_look_at_the_clock_feature_by_feature():
    network = Network.of_bits(
        [DenseLayer(np.eye(12, dtype=int), np.ones(12, int))], Head([[1] * 12, [-1] * 12])
    )
    problem = Problem(L0(1).around(network, [1] * 12), loses(network.head, 0))
    assert walk_singles(problem, 1, ringing(5)) is None
    assert walk_singles(problem, 1, Clock()).sets == 13
    assert list(violating_singles(problem, ringing(0))) == []


def test_a_count_without_time_counts_nothing_and_says_so():
    network, x = _small(2)
    answer = count(network, x, L0(1), time_limit=0)
    assert isinstance(answer, sg.reason.CountOpen) or sum(answer.counts) == sets_within(
        L0(1).around(network, x)
    )


def test_reasons_without_time_are_those_that_bounds_give():
    network, x = _small(2)
    answer = why(network, x, sg.AnyInput(), time_limit=0)
    assert {reason.status for reason in answer.reasons} <= {"sufficient", "minimal", "minimum", "unknown"}


def test_brute_force_of_this_file_sees_every_value():
    network, x = _small(0)
    everything = list(product(*map(raw_values, network.encoder.codings)))
    assert len(list(samples_inside(L0(len(x)).around(network, x)))) == len(everything)


def test_many_levels_of_one_feature_keep_to_the_memory_of_the_checker():
    rng = np.random.default_rng(0)
    layer = LevelLayer(rng.choice([-1, 1], (4096, 1)), [2500] * 4096, [5000])
    network = Network(Encoder([integer(0, 5000)]), [layer], Head(rng.choice([-1, 1], (2, 4096))))
    forged = envelope(network, sg.Always(0), witness=None, proof=None) | {
        "answer": "proved",
        "proof": {"kind": "bound"},
    }
    with pytest.raises(CheckLimitError, match="the table of gains in neurons needs more than"):
        check(forged, network, memory_limit=64 << 20)


def test_conditions_that_contradict_each_other_are_seen_in_large_networks_too(written):
    network = Network.of_bits([DenseLayer([[1, 1], [1, -1]], [1, 1])], Head([[1, 1], [1, -1]]))
    both = [
        Inequality([(0, 1), (1, -1)], 1),
        Inequality([(0, -1), (1, 1)], 1),
    ]  # each class scores more than the other
    answer = verify(network, Query(2, 2, [Case(QueryBox([0, 0], [1, 1]), [both])]), engine="bounds")
    assert isinstance(answer, sg.Proved)
    for out in (True, False):
        written(out=out)
        check(answer.certificate, network)
