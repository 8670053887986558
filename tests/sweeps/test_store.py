"""The results file: what it refuses, and in which words; damage shows wherever it is."""

import os
import random
import shutil
import sqlite3
import subprocess
import zlib
from contextlib import closing
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError, QuestionError, SweepError
from sugenet.sweeps.samples import Row
from sugenet.sweeps.store import LARGEST, Entry, _digest, reading, writing
from sugenet.sweeps.sweeping import _says_less
from tests.sweeps.content import ask, content
from tests.test_files import give_away

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
        {"index": 99},
        {"index": "x"},
        {"truth": 99},
        {"outcome": b"proved"},
        {"settled": 7},
        {"seconds": float("inf")},
        {"seconds": -1.0},
        {"time_limit": "long"},
        {"cost": "1/0"},
        {"cost": "9" * 5000},
        {"lower": "1e999999999"},
        {"engine": b"\xff"},
    ],
    ids=str,
)
def test_rows_that_no_sweep_writes_are_damage_although_their_digests_fit(copy, forged):
    connection = sqlite3.connect(copy)
    names = [field.name for field in fields(Row)]
    quoted = ", ".join(f'"{name}"' for name in names)
    said = f"SELECT {quoted}, hash, packed FROM answers WHERE sample = 1"
    *columns, known, packed = connection.execute(said).fetchone()
    columns = [forged.get(name, column) for name, column in zip(names, columns, strict=True)]
    told = ", ".join(f'"{name}" = ?' for name in (*names, "digest"))
    digest = _digest(columns, known, packed)
    connection.execute(f"UPDATE answers SET {told} WHERE sample = 1", (*columns, digest))
    connection.commit()
    connection.close()
    for call in (again, lambda path: sg.read_results(path).tally(), lambda path: sg.read_results(path).X(1)):
        with pytest.raises(FileError, match="damaged: the row of sample 1 "):
            call(copy)


@pytest.mark.parametrize(
    "forged",
    [
        *({"samples": samples} for samples in ("x", 0, 10**8, 10**12)),
        *({"settings": settings} for settings in ([], {"a": 1})),
        {"seed": None},
    ],
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
        with pytest.raises(FileError, match="is not a results file"):
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
            with pytest.raises(FileError, match="cannot be used as a results file"):
                call(path)
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match=r"is not a path: embedded null"):
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
    assert not words or "damaged" in words or "is not a results file" in words or "newer" in words
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


# -- names, links and other users ----------------------------------------------------------------------------


@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_with_two_names_has_no_two_writers(copy, tmp_path, is_first):
    other = tmp_path / "other.db"
    if is_first:
        os.link(copy, other)
        for path in (copy, other):
            with pytest.raises(
                FileError, match=r"has 2 names \(hard links\), but a results file can have onl"
            ):
                again(path)
        other.unlink()
    else:
        store, _ = writing(copy)
        os.link(copy, other)
        with pytest.raises(FileError, match="another sweep is writing to"):
            writing(other)
        store.close()
        other.unlink()
    again(copy).close()
    assert [file.name for file in tmp_path.iterdir()] == ["copy.db"]


def test_other_ways_to_a_file_that_is_written_are_refused(copy, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.db").symlink_to(copy)
    (tmp_path / "way").symlink_to(tmp_path, target_is_directory=True)
    store, _ = writing(tmp_path / "link.db")
    for path in (copy, tmp_path / "link.db", tmp_path / "way" / "copy.db", tmp_path / "folder/../copy.db"):
        with pytest.raises(FileError, match="another sweep is writing to"):
            writing(path)
    store.close()


def test_a_file_that_is_mounted_twice_has_no_two_writers(copy, tmp_path):
    other = tmp_path / "other.db"
    other.touch()
    mount = shutil.which("mount") or "false"
    if subprocess.run([mount, "--bind", copy, other], check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount a file")
    try:
        store, _ = writing(copy)
        with pytest.raises(FileError, match="another sweep is writing to"):
            writing(other)
        store.close()
        writing(other)[0].close()
    finally:
        subprocess.run(["umount", "-l", other], check=True)


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_file_that_is_replaced_meanwhile_is_not_written(copy, whole, tmp_path, is_replaced):
    store, _ = writing(copy)
    row, known = store.row(1)
    entry = Entry(row, known, store.packed(1))
    store.put([entry])
    copy.unlink()
    if is_replaced:
        copy.write_bytes(whole.read_bytes())
        with pytest.raises(FileError, match="another sweep is writing to"):
            writing(copy)
    with pytest.raises(
        FileError, match=r"was removed or replaced while this sweep wrote to it\. Give the comm"
    ):
        store.put([entry])
    store.close()
    again(copy).close()
    assert content(copy) == content(whole)


@pytest.mark.parametrize("name", ["copy.db", "copy.db-lock", "copy.db-wal", "copy.db-journal"])
def test_files_of_others_in_shared_folders_are_not_written(copy, tmp_path, monkeypatch, name):
    tmp_path.chmod(0o1777)
    (tmp_path / name).touch()
    with monkeypatch.context() as patch:
        give_away(tmp_path / name, patch)
        with pytest.raises(
            FileError, match=rf"copy\.db' cannot be written: '.*{name}' is a file of another us"
        ):
            again(copy)
        tmp_path.chmod(0o755)
    if name != "copy.db":
        (tmp_path / name).unlink()
    again(copy).close()


# -- hostile files -------------------------------------------------------------------------------------------


def forge(path, raw):
    """Put this in the place of the answer about sample 1, with digests that fit."""
    store, _ = writing(path)
    row, known = store.row(1)
    store.put([Entry(row, known, zlib.compress(raw, 1))])
    store.close()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b" " * (LARGEST + 1), "the answer of sample 1 unpacks to more than 64 MiB"),
        (b"[" + b"[]," * (1 << 21) + b"[]]", "the answer of sample 1 has more parts than any can have"),
        (b'{"a": ' * 100_000, "the answer of sample 1 is not JSON"),
        (b"\xff", "the answer of sample 1 is not JSON"),
    ],
    ids=["large", "many", "deep", "bytes"],
)
def test_answers_that_take_much_memory_are_refused_with_their_sample(copy, raw, words):
    forge(copy, raw)
    with sg.read_results(copy) as found:
        found.answer(0)
        with pytest.raises(FileError, match=f"is damaged: {words}"):
            found.answer(1)
        assert found.check(jobs=1).counts == {"holds": FEW - 1, "fails": 1}


def test_a_network_that_unpacks_without_end_is_refused(copy, monkeypatch):
    monkeypatch.setattr("sugenet.sweeps.store._NETWORK", 1 << 20)
    store, _ = writing(copy)
    with store._writing():
        store._say("network", zlib.compress(bytes((1 << 20) + 1)))
    store.close()
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match="damaged: its network unpacks to more than 1 MiB"):
            call(copy)
    monkeypatch.setattr("sugenet.sweeps.store._NETWORK", 100)
    with pytest.raises(FileError, match="the network has 0 MiB, but a results file keeps at most"):
        again(None)


def test_answers_that_are_too_large_to_be_read_again_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("sugenet.sweeps.work.LARGEST", 100)
    with pytest.raises(SweepError, match=r"sample 0: its answer has 0 MiB, but a results file keeps at most"):
        again(tmp_path / "small.db", samples=1)


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM about; END",
        "CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT * FROM n",
        "CREATE INDEX i ON answers (outcome)",
        "CREATE TABLE sneaky (a CHECK (length(zeroblob(1000000000)) > a))",
        "DROP TABLE about; CREATE VIEW about AS SELECT 'about' AS name, zeroblob(1000000000) AS value",
    ],
)
def test_a_file_that_could_run_anything_is_refused(copy, made):
    connection = sqlite3.connect(copy)
    connection.executescript(made)
    connection.close()
    before = copy.read_bytes()
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match="damaged: its tables are others"):
            call(copy)
    assert copy.read_bytes() == before


def test_names_of_tables_that_never_end_are_refused(tmp_path):
    """Twelve levels of pages, each of which refers to the next fifty times, down to one name."""
    path, size, levels = tmp_path / "endless.db", 512, 12
    connection = sqlite3.connect(path)
    connection.executescript(f"PRAGMA page_size = {size}; CREATE TABLE t (a UNIQUE)")
    connection.close()
    raw = bytearray(path.read_bytes())
    first = len(raw) // size + 1
    start, names = int.from_bytes(raw[105:107]), [bytes(raw[108:110]), bytes(raw[110:112])]

    def leaf(names):
        head = b"\x0d\0\0" + len(names).to_bytes(2) + start.to_bytes(2) + b"\0" + b"".join(names)
        return head.ljust(start, b"\0") + raw[start:size]

    def fork(*children, before=0):
        *cells, last = (child.to_bytes(4) for child in children)
        places = [(size - 5 * (i + 1)).to_bytes(2) for i in range(len(cells))]
        head = b"\x05\0\0" + len(cells).to_bytes(2) + places[-1] + b"\0" + last + b"".join(places)
        ends = b"".join(cell + b"\x01" for cell in reversed(cells))
        return head.ljust(size - before - len(ends), b"\0") + ends

    pages = [leaf(names), leaf(names[1:])]
    pages += [fork(*[first + 1 + level] * 50) for level in range(levels)]
    raw[100:size] = fork(first, first + 1 + levels, before=100)
    raw += b"".join(pages)
    raw[28:32] = (len(raw) // size).to_bytes(4)
    path.write_bytes(raw)
    for call in (again, sg.read_results):
        with pytest.raises(FileError, match="is damaged: interrupted"):
            call(path)


def test_answers_come_back_as_the_verbs_gave_them(whole):
    net = sg.models.digits()
    with sg.read_results(whole) as found:
        assert found.network == net
        assert found.question.region == sg.Hamming(2)
        for sample, answer in enumerate(found.answers()):
            assert found.X(sample) == tuple(X[sample].tolist())
            row = found.row(sample)
            assert (row.truth, row.index) == (Y[sample], net.predict(X[sample : sample + 1])[0])
            direct = sg.verify(net, sg.Robust(X[sample].tolist(), sg.Hamming(2)), threads=1)
            assert type(answer) is type(direct)
            assert str(answer) == str(direct)
            assert answer.certificate == direct.certificate
            assert (row.outcome, row.settled, row.certified) == (direct.outcome, True, True)


KINDS = {
    "whatif": (sg.WhatIf(sg.each, sg.L0), {}),
    "prices": (sg.WhatIf(sg.each, sg.Prices({0: 1, 9: 2}), max_cost=2), {"n": 2}),
    "why": (sg.Why(sg.each, sg.Hamming(1)), {"minimal": "size"}),
    "count": (sg.Count(sg.each, sg.Hamming(1)), {}),
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
    coder = sg.nn.Encoder(
        [sg.nn.OneHot(["a", "b"]), sg.nn.threshold(0.5), sg.nn.threshold(0.25)], ["c", "u", "v"]
    )
    net = sg.Network(coder, [sg.nn.DenseLayer([[1, 1, 1, 1]], [2])], sg.nn.Head([[-1], [1]]))
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
        row("undecided", None, "1"),
        row("undecided", None, "3/2"),
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
        lambda: again(path, n=2): "n=2 is not a setting of Robust",
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

NONE, OTHER = "is not one that a sweep writes", "has an invalid number"
ROWS = {
    "index": ({"index": 99}, OTHER),
    "negative": ({"index": -1}, OTHER),
    "truth": ({"truth": 10}, OTHER),
    "sample": ({"sample": FEW}, OTHER),
    "endless": ({"seconds": float("inf")}, NONE),
    "time": ({"seconds": "soon"}, NONE),
    "word": ({"outcome": b"proved"}, NONE),
    "cost": ({"cost": "<b>"}, NONE),
    "division": ({"lower": "1/0"}, NONE),
    "long": ({"cost": "9" * 5000}, NONE),
    "large": ({"cost": "9" * 400}, NONE),
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
