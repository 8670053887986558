"""Damaged and hostile files: refused in our words, with little memory, in Python and on the command line."""

from decimal import Decimal
from itertools import islice

import numpy as np
import pytest

from sugenet.capacity import UnitInterval
from sugenet.errors import FileError, ScaleError, SugenetError
from sugenet.io import read_samples
from sugenet.io.plain.packed import open_archive
from sugenet.problem.query import QueryBox
from tests.cli.runner import in_process
from tests.fuzzing.damaged import Case, bombs, cases, good, measured, model, outcome
from tests.thinned import examples

READ = {".npy: type <f16", ".png: PNG of 28 x 28", *(f"{end}: the number" for end in (".csv", ".table.csv"))}
"""What looks odd and is fine: a wide float, more rows than an image needs,
a number too large or fine for a float.
"""


@pytest.mark.parametrize("ending", sorted(good()))
def test_good_files_are_read(ending):
    assert outcome(Case(ending, "as it is", good()[ending])).said == "read"


def test_damaged_files_are_refused_kindly_or_read():
    found = [(case, outcome(case)) for case in islice(cases(0), examples(450))]
    assert [(case.ending, case.about, said.said) for case, said in found if not said.kind] == []
    assert sum(said.said.startswith("refused") for _, said in found) > examples(200)


@pytest.mark.slow
def test_hostile_files_are_refused_with_little_memory():
    for case, found in measured(bombs()):
        name = f"{case.ending}: {case.about}"
        assert found.said.startswith("refused") or any(name.startswith(fine) for fine in READ), (name, found)
        assert found.megabytes < 300, (name, found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_damaged_files_are_refused_kindly_or_read(seed):
    wrong = [
        (case.ending, case.about, found)
        for case, found in measured(islice(cases(seed), 1500))
        if not found.kind or found.megabytes > 300
    ]
    assert wrong == []


def test_the_command_line_says_what_is_wrong_with_a_file(tmp_path):
    hostile = {
        ".npz": "4 GiB of zeros",
        ".npy": "shape (1000000, 1000000)",
        ".csv": "one line of 8 MiB",
        ".png": "PNG of 60000 x 60000",
    }
    for case in bombs():
        if hostile.get(case.ending) == case.about:
            hostile.pop(case.ending)
            path = tmp_path / f"x{case.ending}"
            path.write_bytes(case.content)
            code, out, err = in_process(["predict", "digits", str(path)])
            assert (code, out) == (2, "")
            assert err.startswith("sugenet:")
            assert "Traceback" not in err
        if not hostile:
            return
    raise AssertionError(hostile)


def test_the_command_line_says_what_is_wrong_with_a_locked_or_damaged_archive(tmp_path):
    wanted = {
        "locked by a password": "password",
        "no deflate at all": "damaged",
        "packed by method 14": "never does",
        "one name twice": "twice",
    }
    for case in bombs():
        if case.ending == ".npz" and case.about in wanted:
            (tmp_path / "x.npz").write_bytes(case.content)
            with pytest.raises(FileError, match=wanted[case.about]):
                read_samples(tmp_path / "x.npz", model())
            code, _, err = in_process(["predict", "digits", str(tmp_path / "x.npz")])
            assert code == 2
            assert wanted.pop(case.about) in " ".join(err.split())
        if not wanted:
            return
    raise AssertionError(wanted)


def test_arrays_come_back_as_numpy_saved_them(tmp_path):
    rng = np.random.default_rng(0)
    kinds = ["?", "i1", "<u2", ">i4", "<i8", "<f2", ">f4", "<f8", "<U3", ">U2"]
    arrays = {f"a{k}": rng.integers(0, 2, (k % 3 + 1, k + 2)).astype(kind) for k, kind in enumerate(kinds)}
    arrays |= {
        "turned": np.asfortranarray(rng.normal(size=(3, 4))),
        "none": np.zeros((0, 7)),
        "one": np.array(3.5),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        with open_archive(tmp_path / "x.npz", 1 << 20) as archive:
            assert archive.names == list(arrays)
            for name, array in arrays.items():
                found = archive.read(name, "biufU")
                assert found.dtype == array.dtype.newbyteorder("=")
                assert np.array_equal(found, array)


def test_a_large_file_may_unpack_to_more_than_a_small_one(tmp_path):
    np.savez_compressed(tmp_path / "small.npz", X=np.zeros(1 << 16))
    with (
        pytest.raises(FileError, match="unpacks to more than 65,536 bytes"),
        open_archive(tmp_path / "small.npz", 1 << 16),
    ):
        raise AssertionError
    with open_archive(tmp_path / "small.npz", 1 << 20) as archive:
        assert archive.read("X").size == 1 << 16


LONG = "9" * 5000


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["verify", "digits", "--index", "0", f"--linf={number}"]
            for number in ("1e999999999", "1/0", "nan", "inf", LONG)
        ),
        *(
            ["verify", "breast_cancer", "--index", "0", f"--where=mean radius={number}"]
            for number in ("1e999999999", "1/0", "nan", LONG)
        ),
        *(
            ["whatif", "breast_cancer", "--index", "0", f"--price=mean radius={number}"]
            for number in ("1e999999999", "nan", LONG)
        ),
        *(["why", "digits", "--index", "0", "-n", number] for number in (LONG, "nan", "1e3")),
        *(
            ["convert", "net.npz", "-o", "net.sugenet", f"--inputs=0..{number}"]
            for number in (LONG, f"255/{LONG}", "nan", "1/0")
        ),
        ["rules", "breast_cancer", "--check", "mean radius <= 1e999999999 -> malignant"],
        ["predict", "digits", f"--index={LONG}"],
        ["train", "data.csv", "--label-column", "y", "-o", "net.sugenet", f"--hidden={LONG}"],
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_numbers_that_cannot_be_meant_are_wrong_usage(words):
    code, out, err = in_process(words)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_decimals_that_would_fill_the_memory_are_refused():
    with pytest.raises(SugenetError, match="beyond all floats"):
        QueryBox([0], [Decimal("1e999999999")])
    with pytest.raises(ScaleError, match="not a number in"):
        UnitInterval().check(Decimal("1e999999999"))
    assert QueryBox([Decimal("-1e-999999999")], [Decimal("1e-30")]) == QueryBox([0], [1e-30])
