"""The results file: what it refuses, and in which words; damage shows wherever it is."""

import os
import random
import sqlite3
from contextlib import closing
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError, QuestionError
from sugenet.sweeps.rows import Row
from sugenet.sweeps.store import Entry, _digest, reading, writing
from sugenet.sweeps.sweeping import _says_less
from tests.sweeps.content import ask, content

FEW = 12


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "whole.db"
    ask(path, samples=FEW, jobs=1).close()
    return path


@pytest.fixture
def copy(whole, tmp_path):
    path = tmp_path / "copy.db"
    path.write_bytes(whole.read_bytes())
    return path


def again(path, **more):
    return ask(path, **{"samples": FEW, "jobs": 1} | more)


def test_one_file_is_left(whole):
    assert [file.name for file in whole.parent.iterdir()] == ["whole.db"]


def test_the_same_again_asks_nothing_and_changes_no_byte(copy):
    before = copy.read_bytes()
    again(copy).close()
    assert copy.read_bytes() == before


X, Y = sg.models.samples("digits")
OTHERS = {
    "question": (
        {"question": sg.Robust(sg.each, sg.Hamming(3))},
        "its question has the region .*2.*, not .*3",
    ),
    "target": ({"question": sg.Robust(sg.each, sg.Hamming(2), target=3)}, "has the target None, not 3"),
    "kind": ({"question": sg.WhatIf(sg.each)}, "its question has the kind robust, not whatif"),
    "settings": ({"engine": "flips"}, "its settings are engine auto, not engine flips"),
    "seed": ({"seed": 1}, "its seed is 0, not 1"),
    "fewer": ({"samples": FEW - 1}, "it is about 12 samples, not about 11"),
    "time": ({"time_limit": 60}, r"was made with no time limit, not a time limit of 60 s\. Give the same"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_sweep_is_refused_with_the_difference(copy, name):
    before = copy.read_bytes()
    more, words = OTHERS[name]
    with pytest.raises(FileError, match=words):
        again(copy, **more)
    assert copy.read_bytes() == before


def test_other_samples_and_other_classes_are_refused(copy):
    net, question = sg.models.digits(), sg.Robust(sg.each, sg.Hamming(2))
    moved = X[:FEW].copy()
    moved[7, 3] ^= 1
    with pytest.raises(FileError, match="it is about other samples: sample 7 is another one"):
        sg.sweep(net, moved, question, y=Y[:FEW], store=copy, jobs=1)
    with pytest.raises(FileError, match="it is about other samples, or other true classes"):
        sg.sweep(net, X[:FEW], question, y=(Y[:FEW] + 1) % 10, store=copy, jobs=1)
    with pytest.raises(FileError, match="it was made with true classes"):
        sg.sweep(net, X[:FEW], question, store=copy, jobs=1)


def test_equal_values_are_the_same_samples_whatever_their_type(copy):
    net, rows, labels = sg.models.digits(), X[:FEW], Y[:FEW]
    before = copy.read_bytes()
    for same in (
        rows.astype(float),
        rows.astype(np.float32),
        rows.astype(object),
        np.where(rows == 0, -0.0, rows),
        [[Fraction(int(value)) for value in row] for row in rows],
    ):
        sg.sweep(net, same, sg.Robust(sg.each, sg.Hamming(2)), y=labels, store=copy, jobs=1).close()
    names = [str(label) for label in labels]
    sg.sweep(net, rows, sg.Robust(sg.each, sg.Hamming(2)), y=np.array(names), store=copy, jobs=1).close()
    assert copy.read_bytes() == before


@pytest.mark.parametrize(
    "forged",
    [
        {"label": 99},
        {"label": "x"},
        {"truth": 99},
        {"outcome": b"proved"},
        {"settled": 7},
        {"seconds": float("inf")},
        {"seconds": -1.0},
        {"time_limit": "long"},
        {"value": "1/0"},
        {"value": "9" * 5000},
        {"lower": "1e999999999"},
        {"engine": b"\xff"},
    ],
    ids=str,
)
def test_rows_that_no_sweep_writes_are_damage_although_their_digests_fit(copy, forged):
    connection = sqlite3.connect(copy)
    names = [field.name for field in fields(Row)]
    said = f"SELECT {', '.join(names)}, hash, packed FROM answers WHERE sample = 1"
    *columns, known, packed = connection.execute(said).fetchone()
    columns = [forged.get(name, column) for name, column in zip(names, columns, strict=True)]
    told = ", ".join(f"{name} = ?" for name in (*names, "digest"))
    digest = _digest(columns, known, packed)
    connection.execute(f"UPDATE answers SET {told} WHERE sample = 1", (*columns, digest))
    connection.commit()
    connection.close()
    for call in (again, lambda path: sg.read_results(path).tally(), lambda path: sg.read_results(path).X(1)):
        with pytest.raises(FileError, match="damaged: the row of sample 1 "):
            call(copy)


@pytest.mark.parametrize(
    "forged", [{"samples": "x"}, {"samples": 0}, {"settings": []}, {"settings": {"a": 1}}, {"seed": None}]
)
def test_a_file_that_says_nonsense_of_itself_is_damaged(copy, forged):
    store, _ = writing(copy)
    store.amend(store.about() | forged)
    store.close()
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match="damaged: what it is about does not fit"):
            call(copy)


def test_another_network_is_refused(copy):
    net = sg.models.breast_cancer()
    raw, y = sg.models.samples("breast_cancer")
    with pytest.raises(FileError, match=r"it is about the network [0-9a-f]{12}, not about [0-9a-f]{12}"):
        sg.sweep(net, raw[:FEW], sg.Robust(sg.each, sg.Hamming(2)), y=y[:FEW], store=copy, jobs=1)
    with pytest.raises(FileError, match=r"^'[^']*' is about the network [0-9a-f]{12}, not about"):
        sg.read_results(copy, net)


def test_strangers_are_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("a letter")
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match="is no results file"):
            call(path)
    assert path.read_text() == "a letter"
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (a)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match="is a database of another program"):
            call(path)
    assert path.read_bytes() == before
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match="folder"):
            call(tmp_path)
    with pytest.raises(FileError, match="no such file"):
        sg.read_results(tmp_path / "nothing.db")
    with pytest.raises(FileError, match="there is no folder"):
        again(tmp_path / "nowhere" / "a.db")
    assert not (tmp_path / "nothing.db").exists()


def test_paths_that_are_no_files_are_refused_and_odd_names_are_files(tmp_path, whole):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        for call in (again, sg.read_results):
            with pytest.raises(FileError, match="is no file that could keep results"):
                call(path)
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match=r"is no path: embedded null"):
            call("a\0b")
    for name in ("a b?mode=rw#%41.db", os.fsdecode(b"\xfe\xff.db")):
        again(tmp_path / name).close()
        assert content(tmp_path / name) == content(whole)


def test_the_file_alone_has_all_answers_also_where_somebody_reads_it(tmp_path, whole):
    path = tmp_path / "read.db"
    ask(path, samples=FEW, jobs=1, total_time=0.0).close()
    store, _ = writing(path)
    with closing(reading(whole)) as all_of_it:
        rows, hashes = all_of_it.rows(), dict(all_of_it.hashes())
        store.put(Entry(row, hashes[row.sample], all_of_it.packed(row.sample)) for row in rows)
    with sg.read_results(path) as reader:
        assert len(reader) == FEW
        store.close()
        (tmp_path / "alone.db").write_bytes(path.read_bytes())
        assert len(reader) == FEW
    assert content(tmp_path / "alone.db") == content(whole)


def test_a_newer_file_is_refused_kindly(copy):
    newer = sqlite3.connect(copy)
    newer.execute("PRAGMA user_version = 2")
    newer.close()
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match=r"written by a newer sugenet; this one reads version 1\. Update"):
            call(copy)


def test_an_empty_file_is_filled(tmp_path, whole):
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(FileError, match="it is empty"):
        sg.read_results(path)
    again(path).close()
    assert content(path) == content(whole)


def damaged(path, place, flip, said):
    """Flip bits of one byte: whoever reads the file says the same as before, or that it is damaged."""
    raw = bytearray(path.read_bytes())
    raw[place] ^= flip
    path.write_bytes(raw)
    try:
        found, words = content(path), ""
    except FileError as error:
        found, words = said, str(error)
    raw[place] ^= flip
    path.write_bytes(raw)
    for end in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    assert found == said
    assert not words or "damaged" in words or "is no results file" in words or "newer" in words
    return bool(words)


def test_a_flipped_byte_shows_or_changes_nothing(copy):
    said, rng, size = content(copy), random.Random(5), copy.stat().st_size
    shown = sum(damaged(copy, rng.randrange(size), 1 << rng.randrange(8), said) for _ in range(200))
    assert shown > 50  # most bytes count


@pytest.mark.slow
def test_every_flipped_byte_shows_or_changes_nothing(copy):
    said, rng = content(copy), random.Random(6)
    for place in range(copy.stat().st_size):
        damaged(copy, place, rng.randrange(1, 256), said)


def test_a_damaged_file_is_not_gone_on_with(copy):
    raw = bytearray(copy.read_bytes())
    place = raw.index(b"proved")
    raw[place : place + 6] = b"PROVED"
    copy.write_bytes(raw)
    with pytest.raises(
        FileError, match=r"damaged: the row of sample \d+ is not as it was written. Restore a copy"
    ):
        again(copy)
    with pytest.raises(FileError, match="damaged: the row"):
        sg.read_results(copy).rows()


def test_samples_without_an_answer_are_named(copy):
    connection = sqlite3.connect(copy)
    connection.execute("DELETE FROM answers WHERE sample IN (3, 8)")
    connection.commit()
    connection.close()
    with sg.read_results(copy) as found:
        assert found.missing() == [3, 8]
        assert len(found) == FEW - 2
        with pytest.raises(QuestionError, match="sample 3 has no answer yet"):
            found.answer(3)
        with pytest.raises(QuestionError, match="there is no sample 12: they are numbered from 0 to 11"):
            found.answer(12)
    with again(copy) as found:
        assert found.missing() == []


def test_answers_come_back_as_the_verbs_gave_them(whole):
    net = sg.models.digits()
    with sg.read_results(whole) as found:
        assert found.network == net
        assert found.question.region == sg.Hamming(2)
        for sample, answer in enumerate(found.answers()):
            assert found.X(sample) == tuple(X[sample].tolist())
            row = found.row(sample)
            assert (row.truth, row.label) == (Y[sample], net.predict(X[sample : sample + 1])[0])
            direct = sg.verify(net, sg.Robust(X[sample].tolist(), sg.Hamming(2)), threads=1)
            assert type(answer) is type(direct)
            assert str(answer) == str(direct)
            assert answer.certificate == direct.certificate
            assert (row.outcome, row.settled, row.certified) == (direct.outcome, True, True)


KINDS = {
    "whatif": (sg.WhatIf(sg.each, sg.L0), {}),
    "prices": (sg.WhatIf(sg.each, sg.Prices({0: 1, 9: 2}), limit=2), {"n": 2}),
    "why": (sg.Why(sg.each, sg.Hamming(1)), {"minimal": "size"}),
    "count": (sg.HowMany(sg.each, sg.Hamming(1)), {}),
    "predict": (sg.Predict(sg.each), {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_question_is_kept_and_read(tmp_path, kind):
    question, settings = KINDS[kind]
    net = sg.models.digits()
    path = tmp_path / "kind.db"
    again(path, samples=3, question=question, **settings).close()
    with sg.read_results(path) as found:
        assert found.settings.items() >= settings.items()
        for sample in range(3):
            from sugenet.reason import ask as put

            direct = put(net, question.about(X[sample].tolist()), threads=1, **settings)
            answer = found.answer(sample)
            assert type(answer) is type(direct)
            assert str(answer) == str(direct)
            assert found.X(sample) == tuple(X[sample].tolist())


def test_fractions_and_categories_are_kept(tmp_path):
    coder = sg.Encoder([sg.OneHot(["a", "b"]), sg.threshold(0.5), sg.threshold(0.25)], ["c", "u", "v"])
    net = sg.Network(coder, [sg.DenseLayer([[1, 1, 1, 1]], [2])], sg.Head([[-1], [1]]))
    rows = [["a", 0.1, 0.3], ["b", 0.7, 0.1]]
    path = tmp_path / "mixed.db"
    sg.sweep(net, rows, sg.Robust(sg.each, sg.L0(1)), store=path, jobs=1).close()
    with sg.read_results(path) as found:
        assert [found.X(i) for i in range(2)] == [tuple(row) for row in rows]
    sg.sweep(net, np.array(rows, dtype=object), sg.Robust(sg.each, sg.L0(1)), store=path, jobs=1).close()


def test_undecided_are_asked_again_with_more_time_and_nothing_else(tmp_path):
    path = tmp_path / "retry.db"
    question = sg.WhatIf(sg.each, sg.L0)
    short = again(path, question=question, time_limit=0.0)
    before = {row.sample: row for row in short.rows()}
    short.close()
    openly = {sample for sample, row in before.items() if not row.settled}
    assert openly  # no time settles little
    with pytest.raises(FileError, match=r"was made with a time limit of 0 s, not a time limit of 60 s"):
        again(path, question=question, time_limit=60.0)
    long = again(path, question=question, time_limit=60.0, retry=True)
    after = {row.sample: row for row in long.rows()}
    long.close()
    assert all(row.settled for row in after.values())
    for sample, row in before.items():
        assert (after[sample] != row) == (sample in openly)
        assert after[sample].time_limit == (60.0 if sample in openly else 0.0)
    kept = path.read_bytes()
    again(path, question=question, time_limit=60.0, retry=True).close()
    assert path.read_bytes() == kept
    with pytest.raises(
        FileError, match=r"a retry needs more time: .* was made with a time limit of 60 s already"
    ):
        again(path, question=question, time_limit=1.0, retry=True)


def test_of_two_answers_that_are_not_settled_the_worse_is_not_kept():
    def row(outcome, value=None, lower=None):
        return Row(0, 0, None, outcome, False, True, None, 1.0, 1.0, value, lower, "0")

    rows = [
        row("unknown", None, "1"),
        row("unknown", None, "3/2"),
        row("found", "5", "1"),
        row("found", "9/2", "1"),
        row("found", "4", "2"),
    ]
    for worse, better in combinations(rows, 2):
        assert _says_less(worse, better)
        assert not _says_less(better, worse)
        assert not _says_less(better, better)
    for one, other in permutations([row("found", "4", "1"), row("found", "5", "2")]):
        assert not _says_less(one, other)


def test_wrong_arguments_are_refused_before_any_work(tmp_path):
    path, net = tmp_path / "a.db", sg.models.digits()
    for call, words in {
        lambda: sg.sweep(
            net, X[:2], sg.Robust(X[0].tolist(), sg.Hamming(1)), store=path
        ): "write each in its",
        lambda: sg.sweep(net, X[:2], sg.Always(3), store=path): "write each in its place",
        lambda: again(path, n=2): "n=2 is no setting of Robust",
        lambda: again(path, jobs=0): "jobs=0 must be a number of workers",
        lambda: again(path, total_time=-1): "total_time=-1 must be",
        lambda: again(path, total_time="5"): "total_time='5' must be",
        lambda: sg.sweep(net, X[:2], sg.Predict(sg.each), y=[[1], [2]], store=path): "y must be a list",
        lambda: sg.sweep(net, X[:2], sg.Predict(sg.each), y="12", store=path): "y must be a list",
        lambda: again(path, time_limit="a"): "time_limit='a' must be",
        lambda: sg.sweep(net, X[:0], sg.Predict(sg.each), store=path): "there are no samples",
        lambda: sg.sweep(net, X[:2], sg.Predict(sg.each), y=[1], store=path): "y has 1 classes for 2 samples",
        lambda: sg.sweep(net, X[:2] + 99, sg.Predict(sg.each), store=path): "from 0",
        lambda: again(path, question=sg.Robust(sg.each, sg.Free(["nothing"]))): "nothing",
    }.items():
        with pytest.raises(sg.errors.SugenetError, match=words):
            call()
    assert not path.exists()


# -- written by others, with fitting digests ----------------------------------------------------------------

NONE, OTHER = "is none that a sweep writes", "has a number that is none here"
ROWS = {
    "class": ({"label": 99}, OTHER),
    "negative": ({"label": -1}, OTHER),
    "truth": ({"truth": 10}, OTHER),
    "sample": ({"sample": FEW}, OTHER),
    "endless": ({"seconds": float("inf")}, NONE),
    "time": ({"seconds": "soon"}, NONE),
    "word": ({"outcome": b"proved"}, NONE),
    "cost": ({"value": "<b>"}, NONE),
    "division": ({"lower": "1/0"}, NONE),
    "long": ({"value": "9" * 5000}, NONE),
    "large": ({"value": "9" * 400}, NONE),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_cannot_be_is_told_as_damage(copy, name):
    changes, words = ROWS[name]
    store, _ = writing(copy)
    row, known = store.row(3)
    store.put([Entry(replace(row, **changes), known, store.packed(3))])
    store.close()
    with (
        sg.read_results(copy) as found,
        pytest.raises(FileError, match=f"is damaged: the row of sample .* {words}"),
    ):
        found.rows()


ABOUT = {"samples": 0, "seed": "1", "time_limit": "<b>", "settings": [], "truths": 1, "made": ["<b>"]}


@pytest.mark.parametrize("name", ABOUT)
def test_what_a_file_cannot_be_about_is_told_as_damage(copy, name):
    store, _ = writing(copy)
    store.amend(store.about() | {name: ABOUT[name]})
    store.close()
    with pytest.raises(FileError, match=f"is damaged: what it is about does not fit: {name}"):
        sg.read_results(copy)
