import numpy as np
import pytest

from sugenet.errors import EncodingError, SugenetError
from sugenet.fit import Settings, train
from sugenet.fit.search import CANDIDATES, search
from sugenet.fit.trainer import _test_part
from sugenet.io import load
from tests.cli.runner import in_process


class Clock:
    """Seconds that pass only when a run says so."""

    now = 0.0

    def __call__(self):
        return self.now


def runs(labels, right, clock=None, seconds=0.0):
    """Return a function that answers a share of the samples of each candidate, and its calls."""
    calls = []

    def run(candidate, inside, outside, _):
        if clock is not None:
            clock.now += seconds
        calls.append((candidate, inside, outside))
        share = right[CANDIDATES.index(candidate)]
        wrong = np.arange(len(outside)) >= share * len(outside)
        return np.where(wrong, 1 - labels[outside], labels[outside])

    return run, calls


LABELS = np.arange(4000) % 2
RISING = [0.6 + 0.02 * index for index in range(len(CANDIDATES))]


def test_the_best_candidate_is_chosen_by_halving():
    run, calls = runs(LABELS, RISING)
    found = search(LABELS, 1, run, Settings(), Clock())
    assert found.complete
    assert found.trials[0].candidate == CANDIDATES[-1]
    tried = [candidate for candidate, _, _ in calls]
    assert [tried.count(candidate) for candidate in CANDIDATES] == [1, 1, 1, 1, 3, 3, 5, 5]
    for _, inside, outside in calls:
        assert not set(inside) & set(outside)
    last = [outside for candidate, _, outside in calls if candidate == CANDIDATES[-1]]
    assert sorted(np.concatenate(last).tolist()) == list(range(4000))


def test_an_earlier_candidate_wins_if_scores_hardly_differ():
    run, _ = runs(LABELS, [0.5] * 4 + [0.8, 0.802, 0.5, 0.5])
    assert search(LABELS, 1, run, Settings(), Clock()).trials[0].candidate == CANDIDATES[4]


def test_few_samples_are_scored_on_three_folds_first():
    labels = LABELS[:200]
    run, calls = runs(labels, RISING)
    found = search(labels, 1, run, Settings(), Clock())
    assert sorted(trial.folds for trial in found.trials) == [3] * 4 + [5] * 4
    assert len(calls) == 8 * 3 + 4 * 2


def test_the_time_limit_ends_the_search_with_the_best_so_far():
    clock = Clock()
    run, calls = runs(LABELS, [0.7, 0.9, *RISING[2:]], clock, seconds=16)
    found = search(LABELS, 1, run, Settings(), clock)
    assert len(calls) == 3  # 48 s, more than 0.7 of a minute
    assert not found.complete
    assert found.trials[0].candidate == CANDIDATES[1]
    assert found.skipped == len(CANDIDATES) - 3
    assert "a rerun may differ" in str(found)


def test_an_interrupt_ends_the_search_with_the_best_so_far():
    run, calls = runs(LABELS, RISING)

    def interrupted(*arguments):
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(*arguments)

    assert len(search(LABELS, 1, interrupted, Settings(), Clock()).trials) == 2
    calls[:] = [None, None]
    with pytest.raises(KeyboardInterrupt):
        search(LABELS, 1, interrupted, Settings(), Clock())


def test_candidates_that_do_not_fit_are_left_out():
    run, calls = runs(LABELS, RISING)
    found = search(LABELS, 1, run, Settings(robust="hamming:1"), Clock())
    assert all(dict(candidate.changed).get("depth") is None for candidate, _, _ in calls)
    assert found.skipped == sum("depth" in dict(candidate.changed) for candidate in CANDIDATES)

    def refused(candidate, inside, outside, watch):
        raise EncodingError("too many bits.")

    with pytest.raises(EncodingError, match="too many bits"):
        search(LABELS, 1, refused, Settings(), Clock())


@pytest.mark.parametrize("minutes", [0, -1, True, "2", float("inf"), float("nan")])
def test_minutes_must_be_positive(minutes):
    with pytest.raises(SugenetError, match=r"minutes=.* must be a positive number, such as 2"):
        search(LABELS, minutes, lambda *_: LABELS, Settings(), Clock())


def test_arguments_that_a_search_chooses_are_refused():
    X, y = np.zeros((4, 2), bool), [0, 1, 0, 1]
    pytest.importorskip("torch")
    with pytest.raises(SugenetError, match="so hidden= has no effect"):
        train(X, y, (8,), minutes=1)
    with pytest.raises(SugenetError, match="so epochs= has no effect"):
        train(X, y, settings=Settings(epochs=3), minutes=1)


def test_test_samples_take_no_part_and_equal_seeds_give_equal_networks():
    pytest.importorskip("torch")
    X = np.random.default_rng(0).random((150, 5)) < 0.5
    y = X[:, :3].sum(axis=1) >= 2
    trained = train(X, y, minutes=10)
    test, _ = _test_part(y.astype(np.int64), 0, 0.1)
    other = X.copy()
    other[test] = ~other[test]
    again = train(other, y, minutes=10)
    assert trained.search == again.search
    assert trained.network.fingerprint == again.network.fingerprint
    assert trained.search.complete
    assert trained.counts.test == len(test)
    assert str(trained).startswith("tried 8 candidates")


def test_the_estimator_searches():
    pytest.importorskip("torch")
    estimators = pytest.importorskip("sugenet.fit.estimators")
    rng = np.random.default_rng(0)
    X = rng.random((120, 3)).round(2)
    y = np.where(X[:, 0] > X[:, 1], "more", "less")
    classifier = estimators.BNNClassifier(minutes=0.001, random_state=0).fit(X, y)  # the first candidate
    assert classifier.score(X, y) > 0.8
    for wrong in ({"cuts": 3}, {"coding": "cuts"}, {"hidden": (4,)}, {"epochs": 3}):
        with pytest.raises(SugenetError, match=f"so {next(iter(wrong))}= has no effect"):
            estimators.BNNClassifier(minutes=1, **wrong).fit(X, y)


def test_a_search_reads_columns_as_it_is_told(tmp_path, capsys):

    lines = [
        "id,size,colour,y",
        *(f"n{i},{'' if i % 7 == 3 else i},{'rg'[i % 2]},{i > 30}" for i in range(60)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    file, model = tmp_path / "t.csv", tmp_path / "m.sugenet"
    args = ["train", file, "--label-column", "y", "-o", model, "--minutes", "0.001", "--quiet"]
    code, _, said = in_process(list(map(str, args)))
    assert code == 2
    assert "'id' (identifier" in said
    assert "'size' (9)" in said
    code, said, _ = in_process([*map(str, args), "--type", "id=ignore", "--missing", "impute"])
    assert code == 0
    assert "tried 1 candidate," in said
    network = load(model)
    assert network.encoder.names == ("size", "colour")
    assert network.is_within_data
    assert network.encoder.columns.features[0].fill == 29


def test_scores_are_weighted_and_every_candidate_is_reported():
    labels = np.repeat([0, 1], 50)
    weights = np.tile([9.0, 1.0], 50)  # only the heavy samples are right
    told = []

    def run(candidate, inside, outside, _):
        first = candidate == CANDIDATES[0]
        return np.where((weights[outside] > 1) == first, labels[outside], 1 - labels[outside])

    found = search(labels, 1, run, Settings(), Clock(), weights=weights, progress=told.append)
    assert found.trials[0].candidate == CANDIDATES[0]
    assert found.trials[0].score == pytest.approx(0.9)
    assert search(labels, 1, run, Settings(), Clock()).trials[0].score == pytest.approx(0.5)
    assert {trial.candidate for trial in told} == set(CANDIDATES)
    assert str(told[0]).startswith("90.00% on 3 of 5 folds")
