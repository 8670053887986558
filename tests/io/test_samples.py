import gzip
import io
import os
import re
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io import read_samples
from sugenet.io.samples import write_samples
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, bit, integer, thermometer, threshold


def network(*codings, names=None, classes=("no", "yes")):
    encoder = Encoder(codings, names)
    return Network(
        encoder,
        (DenseLayer(np.ones((1, encoder.width), int), [1]),),
        Head(np.ones((len(classes), 1), int)),
        classes,
    )


def save(path, pixels, mode=None):
    image = Image.fromarray(pixels) if mode is None else Image.fromarray(pixels).convert(mode)
    image.save(path)
    return path


def png(path, width, height):
    """The first bytes of an image that claims to be large."""
    parts = [b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0), b"IDAT" + zlib.compress(b"")]
    chunks = [struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part)) for part in parts]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    return path


# -- images --------------------------------------------------------------------------------------------------

SHADES = np.array([[0, 100, 128, 255]], np.uint8)


@pytest.mark.parametrize(
    ("coding", "expected"),
    [
        (threshold(0.5, 0, 1), [0, 100 / 255, 128 / 255, 1]),
        (threshold(0.0, -0.5, 0.5), [-0.5, (200 - 255) / 510, (256 - 255) / 510, 0.5]),
        (threshold(0.5, 0, 0.1), [0, 0.1 * 100 / 255, 0.1 * 128 / 255, 0.1]),
        (integer(0, 16), [0, 6, 8, 16]),
        (thermometer([1], -1.5, 1.5, whole=True), [-1, 0, 0, 1]),
        (bit(), [0, 0, 1, 1]),
        (integer(0, 255), [0, 100, 128, 255]),
        (threshold(128), [0, 100, 128, 255]),
        (threshold(128, low=0), [0, 100, 128, 255]),
    ],
)
def test_shades_become_the_range_of_the_features(tmp_path, coding, expected):
    X, truth = read_samples(save(tmp_path / "x.png", SHADES), network(*[coding] * 4))
    assert truth is None
    assert np.allclose(X.tolist(), [expected], rtol=1e-15, atol=0)
    assert (X[0, 0], X[0, -1]) == (expected[0], expected[-1])


def test_sixteen_bits_are_scaled_not_clipped(tmp_path):
    deep = np.array([[0, 1000, 32768, 65535]], np.uint16)
    for name in ("x.png", "x.tif", "x.pgm"):
        file = save(tmp_path / name, deep)
        assert read_samples(file, network(*[integer(0, 255)] * 4))[0].tolist() == [[0, 4, 128, 255]]
        assert read_samples(file, network(*[threshold(0.5, 0, 1)] * 4))[0].tolist() == [
            (deep[0] / 65535).tolist()
        ]


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_pixels_without_a_known_white_are_refused(tmp_path, kind):
    file = save(tmp_path / "x.tif", np.array([[0, 100, 128, 255]], kind))
    with pytest.raises(FileError, match="pixels of 32 bits, whose white is not known"):
        read_samples(file, network(*[integer(0, 255)] * 4))


def test_transparent_pixels_are_refused(tmp_path):
    net = network(*[integer(0, 255)] * 4)
    opaque = np.dstack([SHADES, SHADES, SHADES, np.full_like(SHADES, 255)])
    assert read_samples(save(tmp_path / "opaque.png", opaque), net)[0].tolist() == SHADES.tolist()
    glass = opaque.copy()
    glass[0, 2, 3] = 254
    palette = Image.fromarray(SHADES).convert("P")
    palette.save(tmp_path / "palette.png", transparency=palette.getpixel((1, 0)))
    Image.fromarray(SHADES).save(tmp_path / "key.png", transparency=100)
    for file in (
        save(tmp_path / "glass.png", glass),
        save(tmp_path / "la.png", glass, "LA"),
        tmp_path / "key.png",
        tmp_path / "palette.png",
    ):
        with pytest.raises(FileError, match="has transparent pixels"):
            read_samples(file, net)


@pytest.mark.parametrize("side", [5_000, 10_000, 15_000])
def test_huge_images_are_refused_without_a_warning(tmp_path, side):
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always")
        with pytest.raises(FileError, match=r"x\.png has .* more .*than any model reads"):
            read_samples(png(tmp_path / "x.png", side, side), network(*[integer(0, 255)] * 4))
    assert not leaked


def test_a_cut_image_is_refused(tmp_path):
    file = save(tmp_path / "x.png", np.random.default_rng(0).integers(0, 256, (2, 2), np.uint8))
    file.write_bytes(file.read_bytes()[:45])
    with pytest.raises(FileError, match="is not a readable image"):
        read_samples(file, network(*[integer(0, 255)] * 4))


# -- folders of images ---------------------------------------------------------------------------------------


def folder_of(path, names):
    """Images of one pixel each, every one lighter than the one before."""
    for shade, name in enumerate(names):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        save(path / name, np.array([[shade]], np.uint8))
    return path


NAMES = ["10.png", "b2.bmp", "2.png", "B10.gif", "02.png", "b10.png", "2a.png", "0.png", "00.png", "a-1.tif"]
IN_ORDER = [
    "0.png",
    "00.png",
    "02.png",
    "2.png",
    "2a.png",
    "10.png",
    "B10.gif",
    "a-1.tif",
    "b2.bmp",
    "b10.png",
]


def test_a_folder_is_read_by_name_with_digits_as_numbers(tmp_path):
    net = network(integer(0, 255))
    folder = folder_of(tmp_path / "some.png", NAMES)  # a folder, whatever its name
    X, truth = read_samples(folder, net)
    assert truth is None
    assert X.tolist() == [[NAMES.index(name)] for name in IN_ORDER]
    alone = [read_samples(folder / name, net)[0] for name in IN_ORDER]
    assert np.array_equal(X, np.concatenate(alone))
    assert X.dtype == alone[0].dtype


@pytest.mark.parametrize("coding", [threshold(0.5, 0, 1), integer(0, 16), bit(), threshold(128)])
def test_shades_of_a_folder_are_those_of_one_image(tmp_path, coding):
    folder = tmp_path / "some"
    folder.mkdir()
    save(folder / "1.png", SHADES)
    save(folder / "2.png", SHADES.astype(np.uint16) * 256)
    net = network(*[coding] * 4)
    X, _ = read_samples(folder, net)
    alone = [read_samples(folder / name, net)[0] for name in ("1.png", "2.png")]
    assert np.array_equal(X, np.concatenate(alone))
    assert X.dtype == alone[0].dtype


def test_folders_named_like_classes_give_the_truth(tmp_path):
    net = network(integer(0, 255), classes=("10", "9", "unseen"))
    folder = folder_of(tmp_path / "some", ["10/a.png", "9/7.png", "9/b.png", "10/3.png"])
    X, truth = read_samples(folder, net)
    assert X.tolist() == [[1], [2], [3], [0]]  # 9 before 10, as names, whatever the order of the classes
    assert truth.tolist() == [1, 1, 0, 0]
    assert truth.dtype == np.intp


@pytest.mark.parametrize(
    ("names", "also", "message"),
    [
        (["yes/1.png", "2.png"], None, r"holds folders, such as yes, and files, such as 2\.png"),
        (["yes/1.png", "maybe/2.png"], None, r"maybe: maybe is not a class .*their classes: no, yes"),
        (["1.png"], "notes.txt", r"notes\.txt is not an image file, .* Move it elsewhere"),
        (["1.png"], ".DS_Store", r"\.DS_Store is not an image file"),
        (["yes/1.png"], "yes/notes", r"notes is not an image file"),
        (["yes/1.png", "yes/more.png/2.png"], None, r"more\.png is a folder, but a folder of samples holds"),
        (["yes/1.png"], "no/", r"no is an empty folder"),
        ([], "empty/", r"some/empty: empty is not a class"),
        ([], None, r"some is an empty folder. Put images into it"),
    ],
)
def test_folders_that_hold_something_else_are_refused(tmp_path, names, also, message):
    folder = tmp_path / "some"
    folder.mkdir()
    folder_of(folder, names)
    if also is not None and also.endswith("/"):
        (folder / also).mkdir()
    elif also is not None:
        (folder / also).write_text("")
    with pytest.raises(FileError, match=message):
        read_samples(folder, network(integer(0, 255)))


def test_the_image_of_a_folder_that_cannot_be_read_is_named(tmp_path):
    folder = folder_of(tmp_path / "some", ["1.png", "2.png"])
    (folder / "2.png").write_bytes(b"no image")
    with pytest.raises(FileError, match=r"2\.png is not a readable image"):
        read_samples(folder, network(integer(0, 255)))
    (folder / "2.png").unlink()
    os.mkfifo(folder / "2.png")  # which would never end
    with pytest.raises(FileError, match=r"2\.png is not an image file"):
        read_samples(folder, network(integer(0, 255)))


def test_a_folder_of_too_many_images_is_refused_before_it_is_read(tmp_path, monkeypatch):
    folder = folder_of(tmp_path / "some", ["1.png", "2.png", "3.png"])
    monkeypatch.setattr("sugenet.io.samples.SIZE_LIMIT", 20)
    with pytest.raises(FileError, match=r"the 3 images of .*some make .* bytes; the limit .* is 20\. Split"):
        read_samples(folder, network(integer(0, 255)))


# -- arrays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [[1, 0, 1], [1.0, 0.0, 1.0], [True, False, True], ["yes", "no", "yes"]])
def test_true_classes_are_numbers_or_names(tmp_path, y):
    np.savez(tmp_path / "x.npz", X=np.zeros((3, 2)), y=y)
    assert read_samples(tmp_path / "x.npz", network(bit(), bit()))[1].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"array y has the shape \(2,\), but there are 3 samples"),
        ([[0], [1], [0]], r"has the shape \(3, 1\)"),
        ([0, 2, 7], "entry 1 is 2, but a class is an integer from 0 to 1, or a name"),
        ([0, -1, 1], "entry 1 is -1,"),
        ([0, 1, 0.5], "entry 2 is 0.5,"),
        ([0, np.nan, 1], "entry 1 is nan,"),
        ([0, 1, np.inf], "entry 2 is inf,"),
        (["no", "maybe", "yes"], "'maybe' is not a class of the model. The classes are no, yes"),
        ([0j, 1j, 0j], "has dtype complex128, but true classes are integers or names"),
    ],
)
def test_wrong_classes_are_named(tmp_path, y, message):
    np.savez(tmp_path / "x.npz", X=np.zeros((3, 2)), y=y)
    with pytest.raises(FileError, match=message):
        read_samples(tmp_path / "x.npz", network(bit(), bit()))


@pytest.mark.parametrize("kind", ["complex128", "M8[D]", "m8[s]", "S3", "i4,i4"])
def test_arrays_that_are_no_numbers_are_refused(tmp_path, kind):
    np.save(tmp_path / "x.npy", np.zeros((3, 2), kind))
    with pytest.raises(FileError, match="but samples are numbers or texts"):
        read_samples(tmp_path / "x.npy", network(bit(), bit()))


def test_text_arrays_are_read_like_cells(tmp_path):
    net = network(threshold(1.5), OneHot(("red", "blue")), names=["size", "colour"])
    np.save(tmp_path / "x.npy", [["2.5", "red"], ["1", "blue"]])
    assert read_samples(tmp_path / "x.npy", net)[0].tolist() == [[2.5, "red"], [1.0, "blue"]]
    np.save(tmp_path / "x.npy", [["2.5", "red"], ["1_0", "blue"]])
    with pytest.raises(FileError, match="sample 1, feature size: '1_0' is not a number"):
        read_samples(tmp_path / "x.npy", net)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.png", "folder"])
def test_a_target_column_is_for_csv_alone(tmp_path, name):
    (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).write_bytes(b"")
    with pytest.raises(FileError, match=r"target='kind' names a column of a CSV file, but .* has no columns"):
        read_samples(tmp_path / name, network(bit(), bit()), "kind")


# -- CSV -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1_0,0\n", "line 1, column x1: '1_0' is not a number"),
        ("٣,0\n", "is not a number"),
        ("nan,0\n", "'nan' is not a number"),
        ("1,inf\n", "line 1, column x2: 'inf' is not a number"),
        ("1,1e400\n", "line 1, column x2: '1e400' is beyond all floats"),
        (f"1,{'0' * 131073}\n", "line 1: it cannot be read as CSV: field larger than field limit"),
        ("x1,x2,x1\n1,0,0\n", "the column 'x1' occurs twice in the first line"),
        ("x1,x2,kind,kind\n1,0,no,yes\n", "the column 'kind' occurs twice"),
        ("x1,x2\n1,0\n", "has no column 'kind'"),
    ],
)
def test_wrong_tables_are_named(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    target = "kind" if "kind" in message else None
    with pytest.raises(FileError, match=message):
        read_samples(tmp_path / "x.csv", network(threshold(0.5), threshold(0.5)), target)


def test_numbers_in_cells(tmp_path):
    (tmp_path / "x.csv").write_text("1e3,-.5\n+2.,1/4\n")
    assert read_samples(tmp_path / "x.csv", network(threshold(0.5), threshold(0.5)))[0].tolist() == [
        [1000, -0.5],
        [2, 0.25],
    ]


def test_whole_numbers_beyond_the_floats_are_kept(tmp_path):
    (tmp_path / "x.csv").write_text(f"{2**60 + 1},0.5\n3,1\n-{2**70 + 1},-1e30\n{'9' * 400},0\n")
    X, _ = read_samples(tmp_path / "x.csv", network(threshold(0.5), threshold(0.5)))
    assert X.tolist() == [[2**60 + 1, 0.5], [3, 1], [-(2**70) - 1, -1e30], [10**400 - 1, 0]]


def test_columns_that_nobody_reads_may_share_a_name(tmp_path):
    (tmp_path / "x.csv").write_text("x1,,x2,\n1,?,0,?\n")
    assert read_samples(tmp_path / "x.csv", network(bit(), bit()))[0].tolist() == [[1, 0]]


def test_the_line_of_a_cell_counts_lines_within_quotes(tmp_path):
    (tmp_path / "x.csv").write_text('x1,x2,words\n1,0,"two\nlines"\n1,wide,\n')
    with pytest.raises(FileError, match="line 4, column x2: 'wide'"):
        read_samples(tmp_path / "x.csv", network(bit(), bit()))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xef\xbb\xbfx1,x2\r\n1,0\r\n", None),
        (b"\xff\xfe1,0\n", "standard input is not UTF-8 text: byte 0 is wrong"),
    ],
)
def test_standard_input_is_read_like_a_file(monkeypatch, raw, message):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="latin-1"))
    net = network(bit(), bit())
    if message is None:
        assert read_samples("-", net)[0].tolist() == [[1, 0]]
        return
    with pytest.raises(FileError, match=message):
        read_samples("-", net)


def test_a_closed_standard_input_is_named():
    line = f"{sys.executable} -m sugenet predict digits - <&-"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "sugenet: standard input is closed. Give a file, or CSV on standard input.\n"


# -- packed files, IDX, other signs between cells ------------------------------------------------------------


def test_packed_files_are_those_that_they_hold(tmp_path):
    net = network(*[integer(0, 255)] * 4)
    X = np.arange(12, dtype=np.uint8).reshape(3, 4)
    text = "\n".join(",".join(map(str, row)) for row in X.tolist())
    array, idx = io.BytesIO(), b"\0\0\x08\x03" + struct.pack(">3I", 3, 2, 2) + X.tobytes()
    np.save(array, X)
    for name, raw in {
        "a.csv": text.encode(),
        "a.npy": array.getvalue(),
        "t10k-images-idx3-ubyte": idx,
    }.items():
        (tmp_path / name).write_bytes(raw)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(raw[:9]) + gzip.compress(raw[9:]))
        for path in (tmp_path / name, tmp_path / f"{name}.gz"):
            read, truth = read_samples(path, net)
            assert read.tolist() == X.tolist()
            assert truth is None


def test_idx_files_of_other_numbers(tmp_path):
    net = network(threshold(0.5), threshold(0.5))
    (tmp_path / "a.idx2").write_bytes(b"\0\0\x0d\x02" + struct.pack(">2I4f", 2, 2, 0, 0.5, 1, -2))
    assert read_samples(tmp_path / "a.idx2", net)[0].tolist() == [[0, 0.5], [1, -2]]


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.csv.gz", b"\x1f\x8b" + bytes(30), "a gzip archive that is damaged"),
        ("a.csv.gz", gzip.compress(b"1,2\n", mtime=0)[:-4], "a gzip archive that is cut off"),
        ("a.csv.gz", gzip.compress(b"1,2\n", mtime=0) + b"more", "other data follow it"),
        ("a.npz.gz", b"", "a .npz file is compressed already. Give it without gzip: gunzip"),
        ("a.png.gz", b"", "a .png file is compressed already"),
        (
            "a-ubyte",
            b"\0\0\x08\x02" + struct.pack(">2I", 1 << 31, 1 << 31),
            "takes 4,611,686,018,427,387,904 bytes",
        ),
        ("a-ubyte", b"\0\0\x08", "it is not an IDX file"),
        ("a-ubyte", b"\0\0\x07\x01\0\0\0\x01\0", "it is not an IDX file"),
        ("a-ubyte.gz", gzip.compress(b"\0\0\x08\x01\0\0\0\x02\0", mtime=0), "takes 2 bytes, but 1 are there"),
        ("a.csv", b"x1,x2\n", "has a line of names and no samples below it"),
        ("a.csv", b"\n\n", "is empty"),
    ],
)
def test_packed_or_cut_otherwise_and_wrong(tmp_path, name, raw, message):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(FileError, match=message):
        read_samples(tmp_path / name, network(threshold(0.5), threshold(0.5)))


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_delimiters_are_recognized_unless_given(tmp_path, sign):
    net, file = network(threshold(0.5), threshold(0.5)), tmp_path / "a.csv"
    for text in ("x1;x2\n1;2\n", "1;2\n"):
        file.write_text(text.replace(";", sign))
        assert read_samples(file, net)[0].tolist() == [[1, 2]]
        if sign != ",":
            with pytest.raises(FileError, match=rf"not commas: say delimiter={re.escape(repr(sign))}"):
                read_samples(file, net, delimiter=",")


def test_a_sign_in_a_name_is_not_taken_for_one_between_cells(tmp_path):
    net = network(threshold(0.5), threshold(0.5), names=["size;cm", "weight"])
    (tmp_path / "a.csv").write_text("size;cm,height\n1,2\n")
    with pytest.raises(FileError, match="no column 'weight'") as caught:
        read_samples(tmp_path / "a.csv", net)
    assert "semicolons" not in str(caught.value)


@pytest.mark.parametrize(
    ("part", "other"),
    [(b"(2, 3)", b"(2,x3)"), (b"False", b"f(1)*"), (b"'<f8'", b"f('8)"), (b"'shape'", b"'shap' ")],
)
def test_a_damaged_header_is_said_in_our_words(tmp_path, part, other):
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    raw = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(raw.replace(part, other))
    with pytest.raises(
        FileError, match=r"a.npy: its array has a damaged header. Save the array again, with numpy"
    ):
        read_samples(tmp_path / "a.npy", network(*[threshold(0.5)] * 3))


def test_a_small_archive_of_a_large_file_is_refused_early(tmp_path):
    bomb = gzip.compress(b"".join([gzip.compress(bytes(1 << 22), 9)] * 2), 9)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(bytes(1 << 26), 9) + bomb)
    with pytest.raises(FileError, match=r"bomb.csv.gz: it is a gzip archive of more than 33,554,432 bytes"):
        read_samples(tmp_path / "bomb.csv.gz", network(threshold(0.5)))


def test_what_stands_between_cells_can_be_said(tmp_path):
    net = network(threshold(0.5), OneHot(("a;b", "c")), names=["size", "kind"])
    (tmp_path / "a.csv").write_text('kind;size\n"a;b";1.5\nc;2\n')
    assert read_samples(tmp_path / "a.csv", net, delimiter=";")[0].tolist() == [[1.5, "a;b"], [2.0, "c"]]
    np.save(tmp_path / "a.npy", np.zeros((1, 2)))
    with pytest.raises(FileError, match=r"delimiter=';' is for a CSV file, but .*a.npy has no columns"):
        read_samples(tmp_path / "a.npy", net, delimiter=";")
    with pytest.raises(FileError, match="delimiter=';;' must be one character"):
        read_samples(tmp_path / "a.csv", net, delimiter=";;")


@pytest.mark.parametrize("category", [3.0, -0.0, 1e20, True, None, "", "a  b", "a\nb", 'x,"y"'], ids=repr)
def test_every_category_is_read_from_the_file_that_it_was_written_to(tmp_path, category):
    network = Network(Encoder([OneHot((3.5, category))], ["c"]), [], Head([[1, 0], [0, 1]]))
    write_samples(tmp_path / "x.csv", network, [[category], [3.5]])
    assert network.predict(read_samples(tmp_path / "x.csv", network)[0]).tolist() == [1, 0]
    (tmp_path / "y.csv").write_text('c\n"{}"\n'.format(str(category).replace('"', '""')))
    assert network.predict(read_samples(tmp_path / "y.csv", network)[0]).tolist() == [1]


@pytest.mark.parametrize("text", ["3", "3.0"])
def test_laws_and_rules_read_both_ways_to_write_a_category(text):
    network = Network(Encoder([OneHot((3.5, 3.0))], ["c"]), [], Head([[1, 0], [0, 1]]), ["p", "q"])
    assert sg.check_rule(network, f"c = {text} -> q").holds
    assert sg.verify(network, sg.Always("q"), within=f"c = {text}").outcome == "proved"
