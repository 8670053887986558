"""The native format: what is saved comes back equal, and nothing else ever comes back."""

import base64
import gzip
import hashlib
import io
import json
import os
import pickle
import re
import tracemalloc
import zipfile
import zlib
from collections import Counter
from copy import deepcopy
from fractions import Fraction
from functools import cache
from math import ceil, floor, inf, isinf
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sugenet.checker.network import load_network
from sugenet.errors import EncodingError, FileError, NetworkError
from sugenet.io import load, save
from sugenet.io.native.file import network_bytes, network_from
from sugenet.nn import (
    NEVER,
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    RealLayer,
    Steps,
    Window,
    bit,
    integer,
    threshold,
    unused,
)
from tests.checker import make_golden
from tests.thinned import examples

MARK = b'\\"sha256\\":\\"'
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

# -- networks ------------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=5).filter(lambda text: text == text.strip())
scalars = st.one_of(
    texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()
)
floats = st.integers(-(10**30), 10**30).map(lambda number: int(float(number)))  # that are a float64
numbers = st.one_of(st.integers(-9, 9), floats, st.floats(allow_nan=False))


@st.composite
def steps(draw):
    cuts = sorted(draw(st.sets(st.floats(allow_nan=False), max_size=4)))
    low, high = sorted([draw(st.one_of(st.just(-inf), numbers)), draw(st.one_of(st.just(inf), numbers))])
    has_whole = isinf(low) or isinf(high) or ceil(low) <= floor(high)
    return Steps(tuple(cuts), low, high, has_whole and draw(st.booleans()), draw(st.booleans()))


@st.composite
def encoders(draw):
    shared = [
        draw(steps())
        if draw(st.booleans())
        else OneHot(draw(st.lists(scalars, min_size=1, max_size=4, unique=True)))
    ]
    fresh = st.one_of(
        steps(),
        st.lists(scalars, min_size=1, max_size=4, unique=True).map(OneHot),
        st.just(bit()),
        st.just(integer(0, 9)),
    )
    codings = draw(st.lists(st.one_of(st.sampled_from(shared), fresh), max_size=4))
    return Encoder(codings, draw(st.lists(texts, min_size=len(codings), max_size=len(codings), unique=True)))


@st.composite
def networks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    widths = st.sampled_from([0, 1, 2, 3, 7, 8, 9, 63, 64, 65])

    def weights(outputs, inputs):
        largest = draw(st.sampled_from([1, 1, 1, 2, 127, 128, 40_000]))
        rows = rng.integers(-largest, largest + 1, (outputs, inputs))
        return np.where(rows == 0, 1, rows) if draw(st.booleans()) else rows

    def marks(outputs):
        return {mark: rng.random(outputs) < 0.5 for mark in ("flipped", "ties") if draw(st.booleans())}

    encoder = draw(st.one_of(encoders(), widths.map(Encoder.of_bits), widths.map(Encoder.of_integers)))
    width, layers = encoder.width, []
    if (
        isinstance(encoder.tops, tuple)
        and len(set(encoder.tops)) == 1
        and encoder.features
        and draw(st.booleans())
    ):
        levels = encoder.tops[0] != 1 or draw(st.booleans())
        window = Window(
            (1, 1, encoder.features if levels else width), (1, draw(st.integers(1, 3))), pads=(0, 1, 0, 1)
        )
        kernel = rng.integers(-1, 2, (2, 1, *window.kernel))
        tau = rng.integers(-3, 300, (2, *window.positions) if draw(st.booleans()) else 2)
        layers.append(ConvLayer(kernel, tau, window, 1, encoder.tops[0] if levels else None, **marks(2)))
        layers.append(PoolLayer(Window(layers[0].output_shape, (1, 1), (1, 2)), rng.random(2) < 0.5))
        width = layers[-1].outputs
    for number in range(draw(st.integers(0, 3))):
        outputs = draw(widths)
        largest = draw(st.sampled_from([1, 100, 2**15, 2**31, 2**62]))
        tau = rng.integers(-largest, largest, outputs)
        if number == 0 and not layers and encoder.tops is not None and draw(st.booleans()):
            layers.append(
                LevelLayer(weights(outputs, encoder.features) // 20, tau, encoder.tops, **marks(outputs))
            )
        else:
            layers.append(DenseLayer(weights(outputs, width), tau, **marks(outputs)))
        width = outputs
    classes = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    exact = st.one_of(st.integers(-5, 5), st.fractions(), st.floats(allow_nan=False, allow_infinity=False))
    bias = [draw(exact) for _ in classes]
    scale = [abs(draw(exact)) for _ in classes]
    head = Head(weights(len(classes), width), bias, scale)
    return Network(encoder, layers, head, classes, draw(st.dictionaries(texts, texts, max_size=3)))


def small():
    layer = DenseLayer([[1, -1, 0], [1, 1, 3]], [1, 300], flipped=[True, False])
    encoder = Encoder([threshold(0.5), OneHot(("left", "right"))], ["size", "side"])
    return Network(
        encoder, [layer], Head([[1, -1], [-1, 1]], [0, Fraction(1, 3)]), ["no", "yes"], {"from": "a test"}
    )


@cache
def small_file():
    with TemporaryDirectory() as folder:
        save(small(), f"{folder}/small")
        return Path(f"{folder}/small").read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "net.sugenet"


@pytest.fixture
def raw(path):
    path.write_bytes(small_file())
    return small_file()


# -- files by hand: a second writer, after docs/format.md ----------------------------------------------------


def sealed(header, data=b""):
    header = header if isinstance(header, bytes) else header.encode()
    raw = len(header).to_bytes(8, "little") + header + data
    place = raw.find(MARK) + len(MARK)
    if place < len(MARK):
        return raw
    raw = raw[:place] + b"0" * 64 + raw[place + 64 :]
    return raw[:place] + hashlib.sha256(raw).hexdigest().encode() + raw[place + 64 :]


def parts(raw):
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    return header, json.loads(header["__metadata__"]["sugenet"]), raw[end:]


def dumps(value):
    return json.dumps(value, separators=(",", ":"))


def joined(header, document, data):
    header["__metadata__"]["sugenet"] = dumps(document)
    return sealed(dumps(header), data)


def refused(path, raw, match):
    """Refused by the reader, for what it says, and by that of the checker alone."""
    with pytest.raises(FileError):
        load_network(raw)
    path.write_bytes(raw)
    with pytest.raises(FileError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)


def with_theta():
    window = Window((1, 1, 3), (1, 2))
    theta = [(Fraction(-1, 2), Fraction(-1, 3))] * 2 + [Fraction(5, 2)] * 2
    layer = RealLayer([[[[1, -1]]], [[[1, 1]]]], theta, window)
    return Network(Encoder.of_reals(3, 0, 4), [layer], Head([[1, -1, 1, 1], [-1, 1, 1, 1]]))


def test_thresholds_on_real_values_are_kept(path):
    check_round_trip(with_theta(), path)
    header, document, _ = parts(path.read_bytes())
    assert document["layers"][0]["theta"] == [["-1/2", "-1/3"], ["5/2", "5/2"]]
    assert header["layer1.theta"]["shape"] == [2]


@pytest.mark.parametrize(
    ("theta", "match"),
    [
        ([["-1/2", "-1/3"]], "a theta that is not there"),
        ([["-1/2"], ["5/2", "5/2"]], "pairs of exact numbers"),
        ([["-1/2", "-1/3"], ["5/2", "5/0"]], "pairs of exact numbers"),
        ([["-1/2", "-1/3"], "5/2"], "pairs of exact numbers"),
        ([["-1/2", "-1/4"], ["5/2", "5/2"]], "fingerprint"),
        ([["-2/4", "-1/3"], ["5/2", "5/2"]], "in another way"),
        ("many", "theta must be list"),
    ],
)
def test_wrong_thresholds_are_refused(path, theta, match):
    save(with_theta(), path)
    header, document, data = parts(path.read_bytes())
    document["layers"][0]["theta"] = theta
    refused(path, joined(header, document, data), match)


def test_the_version_is_the_first_that_can_hold_the_network(path, raw):
    header, document, data = parts(raw)
    refused(path, joined(header, document | {"version": 2}, data), "holds what version 1 is for")
    save(with_theta(), path)
    header, document, data = parts(path.read_bytes())
    refused(path, joined(header, document | {"version": 1}, data), "holds what version 6 is for")


# -- there and back ------------------------------------------------------------------------------------------


def check_round_trip(network, path):
    save(network, path)
    first = path.read_bytes()
    again = load(path)
    assert again == network
    assert again.fingerprint == network.fingerprint
    assert again.notes == network.notes
    assert load_network(first).fingerprint == network.fingerprint
    assert [coding.spelled for coding in again.encoder.codings] == [
        coding.spelled for coding in network.encoder.codings
    ]
    for one, other in zip(again.layers, network.layers, strict=True):
        assert type(one) is type(other)
        assert getattr(one, "theta", None) == getattr(other, "theta", None)
        for mark in ("flipped", "ties"):
            kept, given = getattr(one, mark, None), getattr(other, mark, None)
            assert (kept is None) == (given is None)
            assert kept is None or np.array_equal(kept, given)
    save(again, path)
    assert path.read_bytes() == first


@settings(in_one_folder, max_examples=examples(100))
@given(networks())
def test_what_is_saved_comes_back(tmp_path, network):
    check_round_trip(network, tmp_path / "net.sugenet")


@pytest.mark.parametrize("n", [1, 63, 64, 65])
@pytest.mark.parametrize("largest", [1, 2, 200])
def test_widths_around_the_word(path, n, largest):
    rng = np.random.default_rng(n)
    rows = rng.integers(-largest, largest + 1, (n, n))
    check_round_trip(Network.of_bits([DenseLayer(rows, range(n))], Head(rows)), path)
    check_round_trip(
        Network.of_bits([DenseLayer(np.where(rows > 0, 1, -1), range(n))], Head(np.ones((1, n)))), path
    )


def test_types_and_infinities_of_the_encoder_survive(path):
    codings = [
        OneHot((True, 2, 3.0, "4", None, -1.5, "inf", 10**40)),
        Steps((-inf, -0.0, 5e-324, 1e308, inf), low=0, high=1e300),
        Steps((0.1,), 0.0, whole=True),
        unused(),
        Steps((0.0,)),
        Steps((-0.0,)),
    ]
    network = Network(Encoder(codings), [], Head(np.ones((1, 16))))
    check_round_trip(network, path)
    again = load(path).encoder.codings
    assert [type(value) for value in again[0].categories] == [
        bool,
        int,
        float,
        str,
        type(None),
        float,
        str,
        int,
    ]
    assert type(again[1].low) is float


def test_notes_that_look_like_the_seal(path):
    network = Network.of_bits(
        [],
        Head([[1]]),
        classes=['"sha256":"' + "0" * 64],
        notes={'"sha256":"': '\\"sha256\\":\\"', "Ω\0": "☃"},
    )
    check_round_trip(network, path)


def test_notes_and_marks_are_covered_though_the_fingerprint_leaves_them_out(path):
    one = Network.of_bits([DenseLayer([[1]], [1], flipped=[True])], Head([[1]]), notes={"a": "b"})
    other = Network.of_bits([DenseLayer([[1]], [1], flipped=[False])], Head([[1]]), notes={"a": "b"})
    save(one, path)
    first = path.read_bytes()
    save(other, path)
    assert one == other
    assert path.read_bytes() != first


def test_the_planes_are_as_documented(path):
    save(Network.of_bits([DenseLayer([[1] * 9, [0, -1] + [1] * 7], [2, 300])], Head([[1, -1]])), path)
    tensors = safetensors.numpy.load(path.read_bytes())
    assert tensors["layer1.positive"].tolist() == [[0b11111111, 1], [0b11111100, 1]]
    assert tensors["layer1.nonzero"].tolist() == [[0b11111111, 1], [0b11111110, 1]]
    assert tensors["layer1.tau"].dtype == np.int16
    assert tensors["head.positive"].tolist() == [[1]]
    assert "head.nonzero" not in tensors
    assert tensors["cuts"].tolist() == [1.0]


def test_equal_codings_are_written_once(path):
    save(
        Network(
            Encoder([integer(0, 255) for _ in range(100)]),
            [LevelLayer(np.ones((1, 100)), [1], [255] * 100)],
            Head([[1]]),
        ),
        path,
    )
    assert len(safetensors.numpy.load(path.read_bytes())["cuts"]) == 255
    assert len({id(coding) for coding in load(path).encoder.codings}) == 1


def test_the_second_writer_agrees(raw):
    assert joined(*parts(raw)) == sealed(
        raw[8 : 8 + int.from_bytes(raw[:8], "little")].rstrip(b" "), parts(raw)[2]
    )


GOLDEN = """
eNp9VEtu2zAQjdoeJNCaTfmxJCqb7gr0AF3FhkGLQ5uILAoincANdNfepB1ScqD8yhXn92beG0ryy1U6T/l2e4SgtApqu81vn3J/2kMHIb/Nn9a5ccNRhXV+u774
1zlZ5w8weOs69DO0/EHxokxJDGoGoi5WouRKrBqQFUBRV5KXpSwoh4aJ2jSGGUEV7LSWwlRQFpXYUcGVTOjGdnsY+sF2U2cskZxKU/CiBmCm5LIuBQfWrHSly7Ku
K14U2pSMK0pXRWHqohGCsqrZrRpqEmjjNMJ6BLxDXve20xOrAL2fEk7Bz4Ra94i3SL91M/uvtkOcEYMHuz+8jj4HHw+uBXQZ1XpAe2d716rh4hnJsrfr4OAmQRsV
YO8GC2lAnADMFBiwG9424yYKAyqchikHk7z9jb0I3ZBk6GiwTUxs1Rk39Jqrhs5DQrVdP7EVaLhTmC0eGUDs6GdaOBUMqeSohvt5ONPavgd9meoASk+CPMPy/8Lu
bKeGc0LdWTWD0mSzbwJh45tqVBISI2yKxHZRqVZ5f5Gpcyl2jnas6lxIobicwR1TN3WNPpRwHHFDacvxletw7gHf+I9ylZP4gqN1xzYkT1+CM8ZDzLyjRGLfSVF2
E9RpWf2TlYtq/rZaEsYX5bMKLyDkEoGItxiME5ZmiELf9M7bYB9gifHrJcY7LJgknC4GmVf4Icg7EJwSzjbjeJ3O9Pf48z27Iln29yrLPmefsn+3elf8
"""


def test_a_file_written_once_stays_readable(path):
    path.write_bytes(zlib.decompress(base64.b64decode(GOLDEN)))
    again = load(path)
    assert again == small()
    assert again.notes == {"from": "a test"}
    assert again.layers[0].flipped.tolist() == [True, False]


# -- damage --------------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_noticed(path, raw):
    with open(path, "r+b", buffering=0) as stream:  # in place, since this is some 9000 files
        for place, byte in enumerate(raw):
            for changed in [byte ^ 1 << bit_number for bit_number in range(8)]:
                stream.seek(place)
                stream.write(bytes([changed]))
                with pytest.raises(FileError, match="cannot be read"):
                    load(path)
            stream.seek(place)
            stream.write(bytes([byte]))
    assert load(path) == small()


def test_every_truncation_and_every_addition_is_noticed(path, raw):
    for length in range(len(raw)):
        refused(path, raw[:length], "is empty|has . bytes|cut off")
    refused(
        path,
        raw + b"\0",
        "its tensors take 21 bytes, but 22 follow the header: something was added. The file is damaged",
    )
    refused(path, b"", "it is empty. Save the network again")
    refused(
        path,
        raw[:-1],
        "its tensors take 21 bytes, but 20 follow the header: it is cut off. The file is damaged: "
        "fetch or save it again",
    )
    refused(path, raw[:100], r"its header should have \d+ bytes, but only 92 are there: it is cut off")


@in_one_folder
@given(data=st.binary(max_size=300), start=st.booleans())
def test_garbage_is_refused(tmp_path, data, start):
    refused(tmp_path / "x", len(data).to_bytes(8, "little") + data if start else data, "cannot be read")


@in_one_folder
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 3000), st.integers(0, 4), st.binary(max_size=4)), min_size=1, max_size=4
    )
)
def test_random_edits_are_refused(tmp_path, edits):
    path, raw = tmp_path / "x", small_file()
    changed = bytearray(raw)
    for place, length, new in edits:
        place %= len(changed)
        changed[place : place + length] = new
    if changed != raw:
        refused(path, changed, "cannot be read")


# -- files of others -----------------------------------------------------------------------------------------


def zip_file():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a", "b")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("raw", "match"),
    [
        (
            b"\x89PNG\r\n\x1a\n" + bytes(20),
            "it is not a sugenet file: it looks like a PNG picture .* Give a file that sugenet wrote",
        ),
        (zip_file(), "a zip archive"),
        (b"\x08\x07\x12\x07pytorch\x1a\x051.9.0" + bytes(99), "an ONNX model"),
        (b"\x89HDF\r\n\x1a\n" + bytes(20), "an HDF5 file"),
        (gzip.compress(b"a" * 99, mtime=0), "a gzip archive"),
        (pickle.dumps(list(range(99))), "a pickle"),
        (b'{"format": "sugenet"}', "JSON text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        (b"abc", r"it is not a sugenet file \(it has 3 bytes\)"),
        (bytes(64), "its header would have 0 bytes"),
        (
            safetensors.numpy.save({"w": np.zeros((2, 2), np.float32)}),
            "a safetensors file of another program",
        ),
        (
            safetensors.numpy.save({"w": np.zeros(2)}, {"format": "pt"}),
            "a safetensors file of another program",
        ),
        (sealed("[1,2]"), "a safetensors file of another program"),
        (sealed('{"__metadata__":[]}'), "a safetensors file of another program"),
        (
            sealed('{"__metadata__":{"sugenet":"","more":""}}'),
            "the metadata in its header hold more than the sugenet document",
        ),
        (sealed('{"__metadata__":{"sugenet":"[1]"}}'), "does not begin with the name of the format"),
        (
            sealed('{"__metadata__":{"sugenet":"{\\"format\\":\\"other\\"}"}}'),
            "does not begin with the name of the format",
        ),
    ],
)
def test_foreign_files_are_named(path, raw, match):
    refused(path, raw, match)


def test_a_newer_version_says_upgrade(path, raw):
    header, document, data = parts(raw)
    refused(
        path,
        joined(header, document | {"version": 9, "more": [1]}, data),
        "it has format version 9, and this .* up to 8: upgrade sugenet",
    )
    refused(
        path,
        raw.replace(b'\\"version\\":1', b'\\"version\\":3'),
        "do not have the SHA-256 that it states. The file is damaged",
    )
    for wrong in (0, -1, "1", 1.0, True, None, [1]):
        refused(
            path,
            joined(header, document | {"version": wrong}, data),
            "its format version is .* but an integer from 1 is needed",
        )


# -- hostile headers -----------------------------------------------------------------------------------------

ABOUT = (
    '{"__metadata__":{"sugenet":"{\\"format\\":\\"sugenet\\",\\"version\\":1,\\"sha256\\":\\"'
    + "0" * 64
    + '\\"}"}'
)


def entry(dtype="U8", shape=(4,), offsets=(0, 4)):
    return dumps({"dtype": dtype, "shape": shape, "data_offsets": offsets})


@pytest.mark.parametrize(
    ("tensors", "match"),
    [
        (f'"a":{entry(shape=[-4])}', "tensor 'a' has shape"),
        (f'"a":{entry(shape=[4.0])}', "tensor 'a' has shape"),
        (f'"a":{entry(shape=[True])}', "tensor 'a' has shape"),
        (f'"a":{entry(shape=[])}', "tensor 'a' has shape"),
        (f'"a":{entry(shape="4")}', "tensor 'a' has shape"),
        (f'"a":{entry(shape=[0, 2**200])}', "tensor 'a' has shape"),
        (f'"a":{entry(shape=[2**39, 2**39, 0])}', "tensor 'a' has shape"),
        (
            f'"a":{entry(shape=[2**39], offsets=[0, 2**39])}',
            "its tensors take 549755813888 bytes, but 4 follow",
        ),
        (f'"a":{entry(shape=[2**39])}', "takes 549755813888 bytes, not 4"),
        (f'"a":{entry(offsets=[0, 4, 4])}', "data_offsets"),
        (f'"a":{entry(offsets=[-4, 0])}', "data_offsets"),
        (f'"a":{entry(offsets=[4, 0])}', "takes 4 bytes, not -4"),
        (f'"a":{entry(offsets=[0, 2**64])}', "data_offsets"),
        (f'"a":{entry(offsets=None)}', "data_offsets"),
        (f'"a":{entry(dtype="F8_E4M3")}', "has dtype 'F8_E4M3'"),
        (f'"a":{entry(dtype=["U8"])}', "has dtype"),
        (
            f'"a":{entry()},"b":{entry()}',
            "tensor 'b' begins at byte 0 of the data, but the one before ends at 4",
        ),
        (
            f'"a":{entry(shape=[2], offsets=[0, 2])},"b":{entry(shape=[3], offsets=[1, 4])}',
            "tensor 'b' begins at byte 1",
        ),
        (f'"a":{entry(shape=[2], offsets=[2, 4])}', "tensor 'a' begins at byte 2"),
        (f'"a":{entry(shape=[2], offsets=[0, 2])}', "something was added"),
        (f'"a":{entry()},"a":{entry()}', "the key 'a' stands twice"),
        ('"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}', "the key 'dtype' stands twice"),
        (
            '"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"more":1}',
            "needs dtype, shape and data_offsets, and nothing else",
        ),
        ('"a":7', "needs dtype, shape and data_offsets"),
        ('"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,4]}', "NaN is not a JSON number"),
        ('"a":{"dtype":"U8","shape":[-Infinity],"data_offsets":[0,4]}', "-Infinity is not a JSON number"),
        ('"a":{"dtype":"U8","shape":[1e999],"data_offsets":[0,4]}', "1e999 is not a JSON number"),
        (
            '"a":{"dtype":"U8","shape":[' + "9" * 5000 + '],"data_offsets":[0,4]}',
            "is not JSON as sugenet writes it",
        ),
        ('"a":' + "[" * 100_000, "its header is nested too deeply"),
        ('"a":' + '{"a":' * 100_000, "its header is nested too deeply"),
        ('"a"', "its header is not JSON as sugenet writes it: .* line 1 column"),
    ],
)
def test_hostile_headers_are_refused(path, tensors, match):
    refused(path, sealed(f"{ABOUT},{tensors}}}", b"abcd"), match)


def test_headers_that_are_no_text(path):
    refused(path, sealed(b'{"__metadata__":{"sugenet":"\xff"}}'), "its header is not UTF-8 at byte 36")
    refused(
        path,
        sealed(dumps({"__metadata__": {"sugenet": "[" * 100_000}})),
        "the sugenet document in its header is nested too deeply",
    )
    refused(
        path,
        sealed(dumps({"__metadata__": {"sugenet": '{"format":1,"format":2}'}})),
        "the key 'format' stands twice",
    )
    refused(
        path,
        sealed(dumps({"__metadata__": {"sugenet": '{"format":"sugenet"}'}})),
        "does not state the SHA-256",
    )


@pytest.mark.parametrize("length", [2**24 + 1, 2**31, 2**63, 2**64 - 1])
def test_a_header_of_a_huge_length_is_refused(path, length):
    refused(path, length.to_bytes(8, "little") + b"{}", f"its header would have {length} bytes")


def peak_of_refusal(path, match):
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=match):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_no_memory_is_taken_for_what_is_only_declared(path):
    path.write_bytes(sealed(f'{ABOUT},"a":{entry(shape=[2**36], offsets=[0, 2**36])}}}'))
    assert peak_of_refusal(path, "cut off") < 1 << 20
    path.write_bytes((1 << 24).to_bytes(8, "little") + b"{}")
    assert peak_of_refusal(path, "cut off") < 1 << 20
    with open(path, "wb") as stream:
        stream.truncate((1 << 30) + 1)
    assert peak_of_refusal(path, r"it has more than 1,073,741,824 bytes") < 1 << 20


def test_no_memory_is_taken_for_layers_and_codings_that_a_short_document_declares(path, raw):
    header, document, data = parts(raw)
    for inputs, outputs in [(2**30, 2**30), (2**20, 2**10), (2**40, 0), (0, 2**31), (-1, 2)]:
        layer = document["layers"][0] | {"inputs": inputs, "outputs": outputs}
        path.write_bytes(joined(header, document | {"layers": [layer]}, data))
        assert (
            peak_of_refusal(path, r"weights, but a file may hold 134217728 of them|not in 0\.\.2\^31-1")
            < 1 << 20
        )
    document["codings"][1]["categories"] = list(range(1000))
    document["features"] = [[f"x{i}", 1] for i in range(70_000)]
    path.write_bytes(joined(header, document, data))
    assert peak_of_refusal(path, "it has 70000000 bits of the encoder") < 1 << 26


# -- sealed, but wrong inside --------------------------------------------------------------------------------


def put(document, keys, value):
    *way, last = keys
    for key in way:
        document = document[key]
    document[last] = value


@pytest.mark.parametrize(
    ("keys", "value", "match"),
    [
        (["fingerprint"], "0" * 64, "the network in it has the fingerprint [0-9a-f]{64}, not 000"),
        (["fingerprint"], None, "fingerprint must be str, not NoneType"),
        (["surplus"], 1, "the document needs fingerprint, .* but has"),
        (["layers"], {}, "layers must be list, not dict"),
        (
            ["layers", 0],
            3,
            "layer 1 is of kind 'None', but 'dense', 'level', 'conv', 'pool', 'stairs', "
            "'stairs conv', 'level pool', 'real', 'real conv', 'sparse' are known",
        ),
        (
            ["layers", 0, "inputs"],
            4,
            (
                r"the tensor layer1.weights must be int8 or .* of shape \(2, 4\), "
                r"but it is int8 of shape \(2, 3\)"
            ),
        ),
        (
            ["layers", 0, "outputs"],
            3,
            r"the tensor layer1.tau must be .* of shape \(3,\), but it is int16 of shape \(2,\)",
        ),
        (["layers", 0, "outputs"], 2.0, "layer 1: outputs must be int, not float"),
        (["layers", 0, "outputs"], True, "layer 1: outputs must be int, not bool"),
        (["layers", 0, "kind"], "attention", "layer 1 is of kind 'attention'"),
        (["layers", 0, "kind"], "conv", "layer 1 needs kind, shape, kernel"),
        (["layers", 0, "kind"], "level", "layer1 reads levels, but a feature is a category"),
        (["layers", 0, "weights"], "binary", "the tensor layer1.positive must be uint8 .* but there is none"),
        (["layers", 0, "weights"], "pickle", "layer1 has weights 'pickle'"),
        (
            ["layers", 0, "marks"],
            ["flipped", "ties"],
            "the tensor layer1.ties must be uint8 of shape .* but there is none",
        ),
        (["layers", 0, "marks"], ["other"], "layer1 has marks"),
        (["layers", 0, "marks"], [[]], "layer1 has marks"),
        (["layers", 0, "marks"], [], "another way than sugenet does"),
        (["layers", 0, "marks"], ["flipped", "flipped"], "another way than sugenet does"),
        (["layers"], [], "its contents are not a network: the head reads 2 inputs, but the encoder gives 3"),
        (["head", "bias"], ["0", "1/0"], "bias of the head must be exact numbers"),
        (["head", "bias"], ["0", "2/6"], "another way than sugenet does"),
        (["head", "bias"], ["0", "1/3\n"], "bias of the head must be exact numbers"),
        (["head", "bias"], ["0", "1e9999999999"], "bias of the head must be exact numbers"),
        (["head", "bias"], ["0", "٣"], "bias of the head must be exact numbers"),
        (["head", "bias"], [0, 1], "bias of the head must be exact numbers"),
        (["head", "bias"], ["0", "1/4"], "has the fingerprint"),
        (["head", "bias"], ["0"], "its contents are not a network: bias has 1 values for 2 classes"),
        (["head", "scale"], ["1", "-1"], "its contents are not a network: scale of class 1"),
        (["classes"], ["a", "a"], "classes must be text, each a different one"),
        (["classes"], ["a", 1], "classes must be text, each a different one"),
        (["classes"], ["a", "b"], "has the fingerprint"),
        (["notes"], {"a": 1}, "notes must be text"),
        (["features"], [["size", 0], ["size", 1]], "feature names must be text, each a different one"),
        (["features"], [["size", 0], ["side", 2]], "is not a name and the number of one of the 2 codings"),
        (["features"], [["size", 0], ["side", -1]], "is not a name and the number of one of the 2 codings"),
        (["features"], [["size", 0], "xy"], "is not a name and the number of one of the 2 codings"),
        (["codings", 1], "steps", "coding 1 needs kind, cuts"),
        (
            ["codings", 0, "kind"],
            "steep",
            "coding 0 must be 'onehot', or 'steps' or 'real' between two numbers",
        ),
        (["codings", 0, "cuts"], 2, r"the tensor cuts must be float64 of shape \(2,\)"),
        (["codings", 0, "cuts"], -1, "the number of cuts of a coding is not an integer from 0"),
        (["codings", 0, "cuts"], True, "the number of cuts of a coding is not an integer from 0"),
        (["codings", 0, "low"], True, "coding 0 must be"),
        (
            ["codings", 0, "low"],
            {"float": "nan"},
            "coding 0: low is .* but the only such value is an infinite float",
        ),
        (["codings", 0, "low"], {"float": "inf"}, "there is no finite number"),
        (["codings", 0, "high"], [0], "coding 0: high is a list"),
        (["codings", 1, "categories"], ["left", "left"], "its contents are not a network: categories"),
        (["codings", 1, "categories"], ["left", {}], "a category is"),
        (["codings", 1, "categories"], ["left", ["right"]], "a category is a list"),
        (["codings", 1, "cuts"], 0, "coding 1 needs kind, categories, but has kind, categories, cuts"),
    ],
)
def test_a_sealed_file_with_wrong_content_is_refused(path, raw, keys, value, match):
    header, document, data = parts(raw)
    put(document, keys, value)
    refused(
        path, joined(header, document, data), f"{match}.* The file is whole, but sugenet did not write it so"
    )


def test_tensors_that_nobody_asked_for_and_padding_bits(path):
    save(Network.of_bits([], Head([[1, -1]])), path)
    header, document, data = parts(path.read_bytes())
    assert header["head.positive"]["data_offsets"] == [8, 9]
    refused(path, joined(header, document, data[:8] + b"\x81"), "another way than sugenet does")
    header["more"] = {"dtype": "U8", "shape": [0], "data_offsets": [9, 9]}
    refused(path, joined(header, document, data), "another way than sugenet does")


def places(value, way=()):
    yield way
    for key, part in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(part, (*way, key))


AWKWARD = [
    *(
        None,
        0,
        1,
        2,
        -1,
        2**31,
        2**70,
        0.5,
        -0.0,
        True,
        "",
        "x",
        "U8",
        "I8",
        "I16",
        "F64",
        "inf",
        "1/2",
        "2/4",
    ),
    *([], {}, [[]], [0], [1, 1], [0, 0, 0, 0], ["0", "0"], ["ties"], {"float": "inf"}, {"float": "-inf"}),
    *("dense", "level", "conv", "pool", "integer", "binary", "ternary", "levels", "bits"),
]


@settings(in_one_folder, max_examples=examples(300))
@given(data=st.data())
def test_a_sealed_mutant_is_refused_or_is_the_network_that_it_says(tmp_path, data):
    path = tmp_path / "x"
    header, document, tensors = parts(small_file())
    del header["__metadata__"]
    both = {"header": header, "document": document}
    where = data.draw(st.sampled_from([way for way in places(both) if len(way) > 1]))
    put(both, where, data.draw(st.sampled_from(AWKWARD)))
    path.write_bytes(joined({"__metadata__": {}, **header}, document, tensors))
    try:
        network = load(path)
    except FileError:
        with pytest.raises(FileError):
            load_network(path.read_bytes())
        return
    assert network == small()
    assert network.fingerprint == document["fingerprint"]


def mutant(raw, rng):
    """Another file, with a right seal: something else in its header, or in what it says of the network,
    or in the bytes of tensors.
    """
    header, document, data = parts(raw)
    del header["__metadata__"]
    both = {"header": header, "document": document}
    ways = [
        way for way in places(both) if len(way) > 1 and way[1] not in ("source", "seen", "domain", "columns")
    ]
    way, value = ways[rng.integers(len(ways))], deepcopy(AWKWARD[rng.integers(len(AWKWARD))])
    old = both
    for key in way:
        old = old[key]
    match int(rng.integers(4)), old:
        case 0, _ if data:
            place = int(rng.integers(len(data)))
            data = data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :]
        case 1, int():
            put(both, way, int(old) + int(rng.integers(-2, 3)))
        case 2, [_, *_]:
            put(both, way, [old[k] for k in rng.integers(len(old), size=len(old) + rng.integers(-1, 2))])
        case _:
            put(both, way, value)
    return {"__metadata__": {}, **both["header"]}, both["document"], data


def test_the_reader_of_the_checker_alone_refuses_what_is_refused_and_nothing_else():
    """Also if the fingerprint is that of what a mutant holds."""
    rng, seen = np.random.default_rng(0), Counter()
    made = [small(), with_theta(), with_stairs(), *make_golden.stored()["networks"].values()]
    files = [network_bytes(network) for network in made if network.encoder.features < 40]
    for turn in range(examples(1200)):
        header, document, data = mutant(files[turn % len(files)], rng)
        raw = joined(header, document, data)
        for read in (load_network, network_from):
            try:
                read(raw)
            except FileError as error:
                stated = re.search("has the fingerprint ([0-9a-f]{64})", str(error))
                if stated:
                    document["fingerprint"] = stated[1]
                    raw = joined(header, document, data)
        found = []
        for read in (load_network, network_from):
            try:
                found.append(read(raw).fingerprint)
            except FileError:
                found.append(None)
        assert found[0] == found[1], (turn, document)
        seen[found[0] is None] += 1
    assert min(seen.values()) > examples(50)


@settings(in_one_folder, max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 255)), min_size=1, max_size=3))
def test_sealed_tensors_of_other_bytes_are_refused(tmp_path, edits):
    """The fingerprint guards the tensors even from one who takes the digest anew;
    marks alone it leaves out.
    """
    path = tmp_path / "x"
    header, document, data = parts(small_file())
    marks = header["layer1.flipped"]["data_offsets"][0]
    changed = bytearray(data)
    for place, mask in edits:
        if place != marks:
            changed[place] ^= mask
    if changed != data:
        refused(path, joined(header, document, bytes(changed)), "cannot be read")


# -- places --------------------------------------------------------------------------------------------------


def test_places_that_cannot_be_read(tmp_path):
    with pytest.raises(
        FileError, match=r"net\.sugenet' cannot be read: there is no such file or folder\. Check the path"
    ):
        load(tmp_path / "net.sugenet")
    with pytest.raises(FileError, match=r"it is a folder\. Add the name of a file"):
        load(tmp_path)
    with pytest.raises(FileError, match="it is not a file"):
        load(os.devnull)
    with pytest.raises(FileError, match="null"):
        load(f"{tmp_path}/a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="it is not a file"):
        load(tmp_path / "pipe")
    with pytest.raises(FileError, match="it is not a file"):
        save(small(), tmp_path / "pipe")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind here")
def test_permissions_are_respected(tmp_path):
    path = tmp_path / "net.sugenet"
    save(small(), path)
    path.chmod(0o400)
    with pytest.raises(FileError, match="permission is denied"):
        save(small(), path)
    path.chmod(0o000)
    with pytest.raises(FileError, match="permission is denied"):
        load(path)


def test_what_the_format_has_no_place_for_is_refused():
    with pytest.raises(EncodingError, match="more than 4300 digits"):
        OneHot((10**4300,))


@pytest.mark.parametrize(
    "coding", [OneHot((np.str_("a"),)), OneHot((np.int64(3),)), Steps((1.0,), low=np.float64(0))]
)
def test_numpy_scalars_survive_or_are_refused(path, coding):
    network = Network(Encoder([coding]), [], Head([[1]]))
    try:
        save(network, path)
    except FileError:
        assert not path.exists()
    else:
        check_round_trip(network, path)


def test_more_refusals_of_saving(path):
    with pytest.raises(NetworkError, match="A dict is not a network"):
        save({}, path)
    with pytest.raises(FileError, match=r"a number of the network cannot be written: .*4300 digits"):
        save(Network.of_bits([], Head([[1]], bias=Fraction(1, 10**5000))), path)
    with pytest.raises(
        FileError,
        match=r"cannot be saved to .* its header would take 16\d{6} bytes of .* Shorten names and notes",
    ):
        save(Network.of_bits([], Head([[1]]), notes={"long": "a" * (1 << 24)}), path)
    with pytest.raises(
        FileError, match="it has 70000000 bits of the encoder, but a file may hold 67108864 of them"
    ):
        save(
            Network(
                Encoder.of_integers(70_000, 0, 1000),
                [LevelLayer(np.ones((0, 70_000)), [], [1000] * 70_000)],
                Head(np.ones((1, 0))),
            ),
            path,
        )
    assert not path.exists()


def test_the_same_network_gives_the_same_file(path):
    files = set()
    for _ in range(
        5
    ):  # the library writes maps in random order: the header must not hold one of several keys
        save(small(), path)
        files.add(path.read_bytes())
    assert len(files) == 1


def with_stairs():
    conv = QuantizedConv([[[[2, -1]]]], [[1, 3]], Window((1, 1, 3), (1, 2), pads=(0, 1, 0, 0)), top=4, pad=1)
    pool = PoolLayer(Window((1, 1, 3), (1, 2)), top=2)
    dense = QuantizedLayer([[1, 2], [3, -1]], [[1, 4], [2, 9]], [2, 2])
    return Network(Encoder.of_integers(3, 0, 4), [conv, pool, dense], Head([[1, 0], [0, 1]], tops=[2, 2]))


@pytest.mark.parametrize(
    ("keys", "value", "match"),
    [
        (("version",), 3, "it has format version 3, but holds what version 4 is for"),
        (("head", "top"), 3, "the head reads levels 0..3, but layer 3 gives levels 0..2"),
        (("head", "top"), "2", "the head: top must be int, not str"),
        (("layers", 0, "pad"), 5, "pad=5 is not a level in 0..4"),
        (("layers", 0, "pad"), 2, "fingerprint"),
        (("layers", 0, "top"), 3, "its tops are not those of the encoder"),
        (("layers", 0, "steps"), 3, "layer1.steps must be .* of shape"),
        (("layers", 0, "steps"), -1, "not in 0..2"),
        (("layers", 0, "steps"), 1 << 30, "a file may hold"),
        (("layers", 1, "top"), 3, "layer 2 reads levels 0..3, but layer 1 gives levels 0..2"),
        (("layers", 1, "top"), None, "top must be int"),
        (("layers", 2, "reads"), "words", "layer3 reads 'words', but 'levels' and 'bits' are known"),
        (("layers", 2, "reads"), "bits", "layer 3 reads levels 0..1, but layer 2 gives levels 0..2"),
        (("layers", 2, "steps"), 1, "layer3.tau must be .* of shape"),
        (("layers", 2, "kind"), "level", "layer 3 needs .*marks"),
    ],
)
def test_a_sealed_file_with_wrong_staircases_is_refused(path, keys, value, match):
    save(with_stairs(), path)
    assert load(path) == with_stairs()
    header, document, data = parts(path.read_bytes())
    place = document
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    refused(path, joined(header, document, data), match)


def test_a_step_in_another_spelling_is_refused(path):
    save(with_stairs(), path)
    header, document, data = parts(path.read_bytes())
    first, end = header["layer3.tau"]["data_offsets"]
    taus = np.frombuffer(data[first:end], f"<i{(end - first) // 4}").copy()
    assert taus.tolist() == [1, 4, 2, NEVER]
    taus[3] = NEVER - 1  # never reached either, but not how it is written
    refused(path, joined(header, document, data[:first] + taus.tobytes() + data[end:]), "spells its network")


def test_real_numbers_make_version_6(tmp_path):
    """And what only looks so is refused: a theta that is missing, a kind that does not fit the features."""
    layer = RealLayer([[1, -2]], [Fraction(1, 3)])
    network = Network(Encoder.of_reals(2, -1, 1), [layer], Head([[1], [-1]]))
    save(network, tmp_path / "net.sugenet")
    header, document, data = parts((tmp_path / "net.sugenet").read_bytes())
    assert (document["version"], document["codings"]) == (6, [{"kind": "real", "low": -1.0, "high": 1.0}])
    bare = {key: value for key, value in document["layers"][0].items() if key != "theta"}
    refused(
        tmp_path / "bad.sugenet", joined(header, document | {"layers": [bare]}, data), "layer 1 needs .*theta"
    )
    other = [{"kind": "steps", "cuts": 0, "low": -1.0, "high": 1.0, "whole": False, "bipolar": False}]
    refused(tmp_path / "bad.sugenet", joined(header, document | {"codings": other}, data), "go together")
