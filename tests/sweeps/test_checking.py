"""Checking a results file: what was answered holds, and whatever is changed in it shows."""

import json
import random
import zlib
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import QuestionError, SugenetError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.reason.reasons.oracle import Contrast
from sugenet.sweeps.checking import ROW_REMARKS, check_answer, check_results, chosen_samples
from sugenet.sweeps.samples import hash_of
from sugenet.sweeps.store import Entry, writing
from tests.fuzzing.wrappers import altered
from tests.reason.test_rechecking import says_less

NET = Network.of_bits(
    [DenseLayer([[1, 1, -1, 1], [1, -1, 1, 1]], [2, 3])], Head([[-1, 1], [1, 1]]), classes=["off", "on"]
)
X = np.array([[1, 1, -1, 1], [-1, -1, 1, -1], [1, -1, 1, 1], [-1, 1, 1, 1], [1, 1, 1, 1]])
Y = [1, 0, 1, 1, 0]
ROBUST = sg.Robust(sg.each, sg.Hamming(1))
QUESTIONS = {
    "robust": (ROBUST, {}),
    "undecided": (sg.Robust(sg.each, sg.Hamming(3)), {"time_limit": 0}),
    "trusted": (ROBUST, {"engine": "cpsat"}),
    "whatif": (sg.WhatIf(sg.each, sg.Hamming), {"n": 3}),
    "open": (sg.WhatIf(sg.each), {"time_limit": 0}),
    "why": (sg.Why(sg.each, sg.Hamming(2)), {"n": "all"}),
    "count": (sg.Count(sg.each, sg.Hamming(2)), {}),
    "estimate": (sg.Count(sg.each, sg.Hamming(2)), {"method": "sample", "samples": 50}),
    "predict": (sg.Predict(sg.each), {}),
}


def swept(path, question=ROBUST, **settings):
    return sg.sweep(NET, X, question, y=Y, store=path, jobs=1, **settings)


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_a_sweep_answered_holds(name):
    question, settings = QUESTIONS[name]
    found = swept(None, question, **settings)
    done = check_results(found, jobs=1)
    assert done.holds is True, str(done)
    assert done.same_data is True
    assert [one.sample for one in done.checks] == list(range(len(X)))
    expected = {
        "estimate": {"recomputed"},
        "predict": {"recomputed"},
        "open": {"nothing", "holds"},
        "undecided": {"nothing", "holds", "partly"},
        "whatif": {"partly"},  # nothing shows that the further ones are the next cheapest
        "trusted": {"trusted", "holds"},
    }
    assert set(done.counts) <= expected.get(name, {"holds"})
    assert all(
        row.certified == (one.status in ("holds", "partly"))
        for row, one in zip(found.rows(), done.checks, strict=True)
    )
    data = json.loads(json.dumps(done.data()))
    assert data["holds"] is True
    assert set(data["not_covered"]) >= {"engine", "seconds", "time_limit", "version"}
    assert ("others" in data["not_covered"]) == (name == "whatif")


def test_two_processes_say_the_same_as_one(tmp_path):
    found = swept(tmp_path / "r.db")
    told = []
    alone = check_results(found, jobs=1)
    assert check_results(found, jobs=2, notify=told.append) == alone
    assert check_results(found, jobs=2, backend="threading") == alone
    assert told[-1] == "checked 5 of 5"


def test_a_share_is_drawn_by_its_seed():
    found = swept(None)
    done = check_results(found, 0.5, seed=3, jobs=1)
    assert len(done.checks) == 3
    assert [one.sample for one in done.checks] == chosen_samples(list(range(5)), "1/2", 3)[0]
    assert str(done).startswith("checked 3 of 5 answers, drawn with seed 3:\n  3 hold")
    drawn = {tuple(chosen_samples(list(range(5)), 0.5, seed)[0]) for seed in range(50)}
    assert len(drawn) == 10  # every choice comes up


@pytest.mark.parametrize("share", [0, -1, 1.5, "all", None, float("nan")])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(QuestionError, match="share="):
        check_results(swept(None), share, jobs=1)


# -- forgeries -----------------------------------------------------------------------------------------------


def forged(path, sample, change, row=None, known=None):
    """Put another answer into the place of one, with digests as they must be."""
    with sg.read_results(path) as found:
        entry_row, entry_hash, data = found.row(sample), found.hash(sample), found.data(sample)
    data = change(data) if change else data
    packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode())
    store, _ = writing(path)
    store.put([Entry(replace(entry_row, **row or {}), known or entry_hash, packed)])
    store.close()
    with sg.read_results(path) as found:
        return check_results(found, jobs=1)


def only_failure(done, sample=1):
    assert done.holds is False
    (failure,) = done.failures
    assert failure.sample == sample
    assert f"sample {sample}: {failure.words}" in str(done)
    return failure.words


FIELDS = {"found": ["none"], "proved": ["refuted"], "refuted": ["proved"], "on": ["off"], "off": ["on"]}


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_field_of_a_row_and_its_answer_is_compared_or_named_as_not_covered(name):
    question, settings = QUESTIONS[name]
    found = swept(None, question, **settings)
    for row in list(found.rows())[:2]:
        known, data = found.hashes()[row.sample], json.loads(json.dumps(found.data(row.sample)))

        def seen(one, answer, known=known):
            done = check_answer(NET, found.question, found.settings, one, known, answer)
            trusted = {"certificate"} if done.status == "trusted" else set()
            return done.status == "fails" or {*done.uncovered, *ROW_REMARKS, *trusted}

        fields = asdict(row)
        for path, false in altered(fields, others=FIELDS):
            if path[0] not in ("sample", "truth"):  # which the digest of the data set covers
                said = seen(replace(row, **false), data)
                assert said is True or path[0] in said, (path, false)
        for path, false in altered(data, others=FIELDS, skip=lambda path: "certificate" in path[:-1]):
            said = seen(row, false)
            assert said is True or said & set(path) or says_less(path, false, data), (path, said)


def test_claims_beside_the_certificates_are_seen(tmp_path):
    """All with certificates that hold: a counterfactual is missing, or is about another sample, or a bound,
    contrastive sets or a list of reasons are not so.
    """
    network = Network.of_bits([DenseLayer([[1, 1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    samples = [[1, 1, 0, 0], [1, 1, 1, 1]]

    def failure(question, sample, change):
        path = tmp_path / "r.db"
        path.unlink(missing_ok=True)
        found = sg.sweep(network, np.array(samples), question, store=path, jobs=1, n="all")
        other = found.data(1 - sample)
        assert check_results(found, jobs=1).counts == {"holds": 2}
        return only_failure(forged(path, sample, lambda data: change(data, other)), sample)

    nearest, why = sg.WhatIf(sg.each, sg.L0), sg.Why(sg.each, sg.AnyInput())
    words = failure(nearest, 0, lambda data, _: {k: v for k, v in data.items() if k != "others"})
    assert words == "2 changes of least cost change the class, but 1 are listed."
    assert "another question" in failure(nearest, 0, lambda data, other: data | {"others": [other]})
    assert "4 features at least" in failure(why, 0, lambda data, _: data | {"lower": 4})

    def changed(data, **fields):
        return json.loads(json.dumps(replace(sg.reason.answer_of(data, network), **fields).data()))

    false = tuple(Contrast(frozenset({place}), (), ((place, 1),)) for place in (2, 3))
    words = failure(why, 0, lambda data, _: changed(data, contrasts=false, all_contrasts=True))
    assert words.startswith("x3 are not a contrastive set")
    one = sg.why(network, samples[1], sg.AnyInput(), n="all").reasons[:1]
    assert "all reasons are listed" in failure(why, 1, lambda data, _: changed(data, reasons=one))


def test_the_answer_of_another_sample_is_seen(tmp_path):
    path = tmp_path / "r.db"
    other = swept(path).data(2)
    assert "about another sample than its row" in only_failure(forged(path, 1, lambda _: other))


def test_an_answer_with_its_hash_in_the_wrong_place_is_seen(tmp_path):
    """Answer, row and hash of another sample in one: only the digest of the data set tells."""
    path = tmp_path / "r.db"
    found = swept(path)
    other, row = found.data(4), found.row(4)
    done = forged(path, 2, lambda _: other, row={**vars_of(row), "sample": 2}, known=hash_of(X[4].tolist()))
    assert done.failures == ()
    assert done.same_data is False
    assert done.holds is False
    assert "not those that the sweep began with" in str(done)


def vars_of(row):
    return {name: getattr(row, name) for name in type(row).__slots__}


def test_an_answer_to_another_question_is_seen(tmp_path):
    path = tmp_path / "r.db"
    swept(path)
    easier = sg.verify(NET, sg.Robust(X[0].tolist(), sg.Hamming(0))).data()
    words = only_failure(forged(path, 0, lambda _: easier), 0)
    assert words.startswith(
        "the answer is to another question: its region is {'kind': 'Hamming', 'radius': '0'}"
    )


def test_a_reason_for_all_inputs_does_not_answer_a_question_about_a_share(tmp_path):
    path = tmp_path / "r.db"
    question = sg.Why(sg.each, sg.Hamming(2), precision=0.6)
    sg.sweep(NET, X[:2], question, store=path, jobs=1)
    whole = sg.why(NET, X[0], sg.Hamming(2)).data()
    words = only_failure(forged(path, 0, lambda _: whole), 0)
    assert words == "the answer is to another question: its precision is none, not 3/5."


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"outcome": "undecided"}, "the row says outcome undecided, but the answer"),
        ({"settled": False}, "the row says settled False"),
        ({"certified": False}, "the row says certified False"),
        ({"index": 1}, "the row says index 1, but the answer 0"),
        ({"cost": "1"}, "the row says cost 1, but the answer none"),
        ({"lower": "7"}, "the row says lower bound 7"),
    ],
)
def test_rows_that_say_more_than_their_answers_are_seen(tmp_path, row, words):
    path = tmp_path / "r.db"
    swept(path)
    assert words in only_failure(forged(path, 1, None, row=row))


def test_costs_of_rows_are_those_of_the_answers(tmp_path):
    path = tmp_path / "r.db"
    swept(path, sg.WhatIf(sg.each, sg.Hamming))
    words = only_failure(forged(path, 1, None, row={"lower": "9"}))
    assert words == "the row says lower bound 9, but the answer 2."


def test_another_true_class_is_seen(tmp_path):
    path = tmp_path / "r.db"
    swept(path)
    assert forged(path, 1, None, row={"truth": 1}).same_data is False


def refuted(found):
    return next(row.sample for row in found.rows() if row.outcome == "refuted")


TO_ON = sg.Robust(sg.each, sg.Hamming(1), "on")
"""Makes no sense for samples that are on."""


def test_what_cannot_be_told_of_a_part_of_the_data_set_is_said(tmp_path):
    X, y = sg.models.samples("digits")
    path = tmp_path / "a.db"
    with sg.sweep(
        sg.models.digits(), X[:3], sg.Predict(sg.each), y=y[:3], store=path, jobs=1, total_time=0
    ) as found:
        done = check_results(found, jobs=1)
    assert done.same_data is None
    assert "whether it is the same data set was not checked" in str(done)


def test_refusals_are_seen_again(tmp_path):
    done = check_results(swept(tmp_path / "r.db", TO_ON), jobs=1)
    assert done.holds is True
    assert done.counts["recomputed"] == 4
    assert "target" in next(one.words for one in done.checks if one.status == "recomputed")


def test_a_refusal_of_what_makes_sense_is_seen(tmp_path):
    path = tmp_path / "r.db"
    found = swept(path, TO_ON)
    assert found.row(1).outcome != "refused"
    words = X[1].tolist()
    data = {"outcome": "refused", "reason": "no", "question": {"sample": words}}
    row = {"outcome": "refused", "settled": True, "certified": False}
    assert "was not asked" in only_failure(forged(path, 1, lambda _: data, row=row))
    assert "another sample" in only_failure(
        forged(path, 1, lambda _: data | {"question": {"sample": X[0].tolist()}}, row=row)
    )
    assert "does not name its sample" in only_failure(
        forged(path, 1, lambda _: data | {"question": {}}, row=row)
    )
    assert "says something else" in only_failure(
        forged(path, 1, lambda _: data, row=row | {"settled": False})
    )


def test_a_witness_that_changes_nothing_is_seen(tmp_path):
    path = tmp_path / "r.db"
    sample = refuted(swept(path))

    def change(data):
        asked = data["certificate"]["question"]["sample"]
        certificate = data["certificate"] | {"witness": asked}
        return data | {"certificate": certificate, "witness": asked, "changes": {}, "labels": ["off"]}

    done = forged(path, sample, change)
    assert only_failure(done, sample)


def test_a_witness_beside_the_word_of_a_solver_is_replayed(tmp_path):
    path = tmp_path / "r.db"
    found = swept(path, sg.WhatIf(sg.each, sg.Hamming), engine="cpsat")
    row = [row for row in found.rows() if not row.certified][-1]
    assert check_results(found, jobs=1).counts["trusted"]

    def change(data):
        """Another witness at the same cost, which is none."""
        sample, cost = data["certificate"]["question"]["sample"], int(data["cost"])
        near = (
            [-v if k in turned else v for k, v in enumerate(sample)]
            for turned in combinations(range(4), cost)
        )
        same = next(one for one in near if NET.predict([one])[0] == row.index)
        certificate = data["certificate"] | {"witness": same}
        return replace(sg.reason.answer_of(data, NET), changed=tuple(same), certificate=certificate).data()

    words = only_failure(forged(path, row.sample, change), row.sample)
    assert words == "the witness does not change the answer as claimed."


def test_an_estimate_that_was_not_drawn_is_seen(tmp_path):
    path = tmp_path / "r.db"
    swept(path, sg.Count(sg.each, sg.Hamming(2)), method="sample", samples=50)
    again = sg.count(NET, X[1].tolist(), sg.Hamming(2), method="sample", samples=50, seed=9).data()
    assert "another estimate" in only_failure(forged(path, 1, lambda data: again | {"seed": 0}))


def test_match_counts_that_are_not_so_are_seen(tmp_path):
    path = tmp_path / "r.db"
    found = swept(path, sg.Predict(sg.each))
    answer = found.answer(1)
    other = tuple(many ^ 1 if k else many for k, many in enumerate(answer.matches))
    changed = replace(answer, matches=other)
    done = forged(path, 1, lambda _: changed.data())
    assert "other match counts" in only_failure(done)


def test_reasons_of_another_region_are_seen(tmp_path):
    path = tmp_path / "r.db"
    swept(path, sg.Why(sg.each, sg.Hamming(2)))
    near = sg.why(NET, X[1].tolist(), sg.Hamming(1)).data()
    words = only_failure(forged(path, 1, lambda data: data | {"reasons": near["reasons"]}))
    assert words


def test_too_little_time_is_no_failure():
    net, (digits, y) = sg.models.digits(), sg.models.samples("digits")
    found = sg.sweep(net, digits[7:8], sg.Robust(sg.each, sg.L0(1)), y=y[7:8], jobs=1)
    done = check_results(found, jobs=1, time_limit=0)
    assert done.holds is None
    assert done.left[0].words.startswith("not checked within the limit")
    assert "1 not checked within the limits" in str(done)


def test_lower_bounds_of_open_answers_are_checked():
    """Nothing was found in the time, but that no change is free was proved."""
    net, (digits, y) = sg.models.digits(), sg.models.samples("digits")
    found = sg.sweep(net, digits[:6], sg.WhatIf(sg.each, sg.Linf), y=y[:6], jobs=1, time_limit=0)
    done = check_results(found, jobs=1)
    assert done.holds is True
    for row, one in zip(found.rows(), done.checks, strict=True):
        assert row.certified == (one.status == "holds")
        assert (row.outcome, row.lower, one.status) == ("undecided", "1", "holds")


@pytest.mark.parametrize("seed", range(12))
def test_a_flipped_bit_shows_or_changes_nothing(tmp_path, seed):
    """Anywhere in the file: it is refused, or a sample fails, or all that can be read is as it was."""
    path = tmp_path / "r.db"
    with swept(path) as found:
        before = [(row, found.data(row.sample)) for row in found.rows()], found.made, found.digest
    raw = bytearray(path.read_bytes())
    rng = random.Random(seed)
    for _ in range(8):
        place = rng.randrange(len(raw))
        damaged = bytearray(raw)
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            with sg.read_results(path) as found:
                done = check_results(found, jobs=1)
                if done.holds:
                    after = [(row, found.data(row.sample)) for row in found.rows()], found.made, found.digest
                    assert after == before
        except SugenetError:
            continue
