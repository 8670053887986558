"""Damaged and hostile files of every kind that sugenet reads (but ONNX, HDF5 and pickles): what it makes of
them, in what time and memory.

`cases(seed)` goes on for ever: good files cut off, with bits turned, bytes doubled or lost. `bombs()` are the
files made to hurt. `outcome` reads one here; `measured` reads many in processes of their own, and tells how
long each took and how much memory it added.
"""

import gzip
import io
import json
import os
import resource
import struct
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sugenet.bnn import DenseLayer, Encoder, Head, Network
from sugenet.errors import SugenetError
from tests.io.queries import around

FEATURES = 784


@dataclass(frozen=True)
class Case:
    """A file: how its name ends, which says who reads it, what was done to it, and its bytes."""

    ending: str
    about: str
    content: bytes


@dataclass(frozen=True)
class Outcome:
    """``read``, ``refused: ...`` in our words, or ``crashed: ...``; how long it took,
    and how much memory it added.
    """

    said: str
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def kind(self) -> bool:
        return not self.said.startswith("crashed")


# -- who reads what ------------------------------------------------------------------------------------------


@cache
def model() -> Network:
    weights = np.random.default_rng(0).choice([-1, 1], (4, FEATURES))
    return Network(
        Encoder.of_thresholds([0.5] * FEATURES),
        [DenseLayer(weights, [FEATURES // 2] * 4)],
        Head([[1, 1, 1, 1], [-1, -1, -1, -1]]),
    )


def read(path: Path) -> None:
    from sugenet.fit import read_table
    from sugenet.io import Bits, import_file, load, read_samples, read_vnnlib

    name = path.name
    if name.endswith(".sugenet"):
        load(path)
    elif name.endswith((".vnnlib", ".vnnlib.gz")):
        read_vnnlib(path)
    elif name.endswith(".model.npz"):
        import_file(path, inputs=Bits())
    elif name.endswith(".table.csv"):
        read_table(path, "y")
    elif name.endswith(".cert.json"):
        from sugenet import check
        from sugenet.io.plain.texts import read_json

        check(read_json(path), model())
    else:
        read_samples(path, model())


def outcome(case: Case) -> Outcome:
    """What sugenet makes of a file, in this process; memory is not looked at."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"file{case.ending}"
        path.write_bytes(case.content)
        start = time.monotonic()
        try:
            read(path)
            said = "read"
        except SugenetError as error:
            said = f"refused: {str(error)[:300]}"
        except BaseException as error:  # a MemoryError or RecursionError is what is looked for
            said = f"crashed: {type(error).__name__}: {str(error)[:300]}"
        return Outcome(said, time.monotonic() - start)


def measured(cases: Iterable[Case]) -> Iterator[tuple[Case, Outcome]]:
    """Each file read by a process of its own, from a server without threads that has all libraries loaded."""
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    }
    command = [sys.executable, "-c", "from tests.fuzzing.damaged import serve; serve()"]
    with subprocess.Popen(
        command, cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for case in cases:
            server.stdin.write(
                json.dumps([case.ending, case.about, len(case.content)]).encode() + b"\n" + case.content
            )
            server.stdin.flush()
            yield case, Outcome(*json.loads(server.stdout.readline()))
        server.stdin.close()


def serve() -> None:
    """Answer `measured`: read a file in a fork, and tell what came out."""
    for ending, content in good().items():  # so that what is imported is imported before anything is measured
        outcome(Case(ending, "good", content))
    while line := sys.stdin.buffer.readline():
        ending, about, size = json.loads(line)
        case = Case(ending, about, sys.stdin.buffer.read(size))
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found = outcome(case)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            os.write(theirs, json.dumps([found.said, found.seconds, grown]).encode())
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(child, 0)
        sys.stdout.buffer.write(
            (answer or json.dumps([f"crashed: status {status}", 0.0, 0.0]).encode()) + b"\n"
        )
        sys.stdout.buffer.flush()


# -- good files ----------------------------------------------------------------------------------------------


@cache
def good() -> dict[str, bytes]:
    """A small file of every kind, by the end of its name."""
    from PIL import Image

    import sugenet as sg

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (5, FEATURES))
    found = {".csv": "\n".join(",".join(map(str, row)) for row in X.tolist()).encode()}
    for ending, save in (
        (".npy", lambda raw: np.save(raw, X)),
        (".npz", lambda raw: np.savez_compressed(raw, X=X, y=[0, 1, 1, 0, 1])),
    ):
        raw = io.BytesIO()
        save(raw)
        found[ending] = raw.getvalue()
    image = Image.fromarray(rng.integers(0, 256, (28, 28)).astype(np.uint8))
    for ending, name in (
        (".png", "PNG"),
        (".jpg", "JPEG"),
        (".bmp", "BMP"),
        (".gif", "GIF"),
        (".pgm", "PPM"),
        (".tif", "TIFF"),
    ):
        raw = io.BytesIO()
        image.save(raw, name)
        found[ending] = raw.getvalue()
    raw = io.BytesIO()
    np.savez(raw, W0=rng.integers(0, 2, (6, 8)), T0=[4] * 6, W1=rng.integers(0, 2, (3, 6)))
    found[".model.npz"] = raw.getvalue()
    with TemporaryDirectory() as folder:
        sg.save(model(), Path(folder) / "m.sugenet")
        found[".sugenet"] = (Path(folder) / "m.sugenet").read_bytes()
    text = around([0.25] * 6, 0.125, 0, 3).to_text().encode()
    found |= {".vnnlib": text, ".vnnlib.gz": gzip.compress(text, mtime=0)}
    found[".table.csv"] = b"a,b,y\n" + b"".join(
        b"%d,%d.5,%s\n" % (k % 7, k % 5, b"yn"[k % 2 : k % 2 + 1]) for k in range(60)
    )
    found[".cert.json"] = json.dumps(sg.verify(model(), sg.Robust(X[0], sg.Hamming(1))).certificate).encode()
    return found


def cases(seed: int) -> Iterator[Case]:
    """Good files, damaged at random; without end."""
    rng = np.random.default_rng(seed)
    while True:
        for ending, content in good().items():
            about, damaged = _damaged(rng, content)
            yield Case(ending, about, damaged)


def _damaged(rng: np.random.Generator, content: bytes) -> tuple[str, bytes]:
    size = len(content)
    start, stop = sorted(int(v) for v in rng.integers(0, size + 1, 2))
    match int(rng.integers(0, 7)):
        case 0:
            return f"cut off at {start}", content[:start]
        case 1:
            return f"without bytes {start} to {stop}", content[:start] + content[stop:]
        case 2:
            return f"bytes {start} to {stop} twice", content[:stop] + content[start:]
        case 3:
            return f"zeros from {start} to {stop}", content[:start] + bytes(stop - start) + content[stop:]
        case 4:
            return f"noise from {start}", content[:start] + rng.bytes(min(64, size - start)) + content[
                start + 64 :
            ]
        case 5:
            return "something behind it", content + rng.bytes(100)
        case _:
            places = rng.integers(0, size, int(rng.integers(1, 9))).tolist()
            turned = bytearray(content)
            for place in places:
                turned[place] ^= 1 << int(rng.integers(0, 8))
            return f"bits turned at {places}", bytes(turned)


# -- files made to hurt --------------------------------------------------------------------------------------


def bombs() -> Iterator[Case]:
    """Files that unpack to gigabytes, claim them, are locked, nested,
    or spell numbers that fill the memory.
    """
    yield from _array_bombs()
    yield from _text_bombs()
    yield from _image_bombs()
    for number in ("1e999999999", "9" * 5000, "1" + "0" * 100_000):
        for ending, text in (
            (
                ".vnnlib",
                (
                    f"(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= X_0 {number}))(assert (>= "
                    f"X_0 0))(assert (<= Y_0 1))"
                ),
            ),
            (".csv", ",".join([number] * (FEATURES if len(number) < 50 else 20))),
            (".table.csv", f"a,b,y\n{number},1,1\n1,1,0\n"),
            (
                ".cert.json",
                good()[".cert.json"]
                .decode()
                .replace('"radius": 1', f'"radius": {number}')
                .replace('"radius": "1"', f'"radius": "{number}"'),
            ),
        ):
            yield Case(ending, f"the number {number[:12]} of {len(number)} letters", text.encode())


def _header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, {"descr": descr, "fortran_order": False, "shape": shape})
    return raw.getvalue()


def _array_bombs() -> Iterator[Case]:
    rows = (1 << 32) // (8 * FEATURES)
    head = _header((rows, FEATURES))
    zeros = _deflated(head, 1 << 32)
    plain = _header((2, FEATURES)) + bytes(16 * FEATURES)
    for ending, name in ((".npz", "X"), (".model.npz", "W0")):
        size = len(head) + rows * 8 * FEATURES
        yield Case(ending, "4 GiB of zeros", _zipped(f"{name}.npy", zeros, size))
        yield Case(ending, "4 GiB of zeros that claim to be few", _zipped(f"{name}.npy", zeros, len(plain)))
        small = _header((2, FEATURES))
        yield Case(
            ending,
            "a small array with 4 GiB behind it",
            _zipped(f"{name}.npy", _deflated(small, 1 << 32), len(plain)),
        )
        long = b"\x93NUMPY\x02\x00" + struct.pack("<I", (1 << 32) - 1)
        yield Case(ending, "a header of 4 GiB", _zipped(f"{name}.npy", _deflated(long, 1 << 32), 1 << 27))
        yield Case(
            ending,
            "locked by a password",
            _zipped(f"{name}.npy", zlib.compress(plain)[2:-4], len(plain), flags=1),
        )
        for method in (9, 12, 14, 93, 99):
            yield Case(
                ending,
                f"packed by method {method}",
                _zipped(f"{name}.npy", zlib.compress(plain)[2:-4], len(plain), method=method),
            )
        yield Case(ending, "no deflate at all", _zipped(f"{name}.npy", b"\xff" * 100, len(plain)))
        yield Case(ending, "60,000 arrays", _zipped(f"{name}.npy", b"", 0, count=60_000))
        yield Case(
            ending, "many arrays of the same 256 MiB", _zipped(f"{name}.npy", zeros, 1 << 28, count=100)
        )
        yield Case(
            ending,
            "one name twice",
            _zipped(f"{name}.npy", zlib.compress(plain)[2:-4], len(plain), count=2, same=True),
        )
    for shape, descr in [
        ((10**6, 10**6), "<f8"),
        ((1 << 62, 4), "<f8"),
        ((0, 1 << 62), "<f8"),
        ((-5, -7), "<f8"),
        ((1,) * 40, "<f8"),
    ]:
        yield Case(".npy", f"shape {shape[:3]}", _header(shape, descr) + bytes(100))
    for descr in ("|O", "<M8[D]", "|V100000000", "<U999999999", "<c16", "|S5", "<f16", "<U1"):
        yield Case(".npy", f"type {descr}", _header((5, FEATURES), descr) + b"\xff" * 62720)
    yield Case(
        ".npy",
        "a header of 4 GiB",
        b"\x93NUMPY\x02\x00" + struct.pack("<I", (1 << 32) - 1) + b" " * (1 << 24),
    )
    nested = (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", 9000)
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': "
        + b"(" * 8900
    )
    yield Case(".npy", "a nested header", nested.ljust(9010))
    yield Case(".npy", "odd truth", _header((5, FEATURES), "|b1") + b"\x07" * 5 * FEATURES)


def _text_bombs() -> Iterator[Case]:
    for ending in (".csv", ".table.csv"):
        yield Case(ending, "one line of 8 MiB", b"1" * (1 << 23))
        yield Case(ending, "a line of 4 million cells", b"1," * 4_000_000)
        yield Case(ending, "2 million lines", b"1\n" * 2_000_000)
        yield Case(ending, "a quote that never ends", b'"' + b"1,\n" * 2_000_000)
        yield Case(ending, "zero bytes", b"1,2,\x00\n" * 1000)
        yield Case(ending, "UTF-16", ("1," * FEATURES).encode("utf-16"))
        yield Case(ending, "no text", bytes(range(256)) * 100)
    yield Case(".csv", "a wrong line behind many", (b",".join([b"1"] * FEATURES) + b"\n") * 4_000 + b"oops\n")
    yield Case(".vnnlib", "a million brackets deep", b"(assert " + b"(and " * 1_000_000)
    yield Case(".vnnlib", "16 million brackets", b"(" * (1 << 24))
    yield Case(".vnnlib", "one word of 16 MiB", b"(" + b"x" * (1 << 24))
    start = b"(declare-const X_0 Real)(declare-const Y_0 Real)"
    yield Case(
        ".vnnlib.gz",
        "many bounds, and a mistake",
        gzip.compress(start + b"(assert (<= X_0 1))" * 600_000 + b"(oops)", 1),
    )
    yield Case(
        ".vnnlib",
        "products of sums",
        start + b"(assert " + b"(and " + b"(or (<= X_0 1) (<= X_0 2) (<= Y_0 3))" * 60 + b"))",
    )
    yield Case(".vnnlib.gz", "16 GiB of zeros", b"".join([gzip.compress(bytes(1 << 24), mtime=0)] * 1024))
    yield Case(".vnnlib.gz", "an odd header", b"\x1f\x8b\x08\xff" + bytes(100))
    size = 1 << 24
    for about, text in (
        ("nested", b"[" * (size - 10)),
        ("of empty lists", b"[" + b"[]," * (size // 3 - 10)),
        ("of digits", b"9" * (size - 10)),
    ):
        yield Case(".sugenet", f"a header {about}", struct.pack("<Q", len(text)) + text + bytes(100))
    yield Case(".sugenet", "a header of 2^63 bytes", struct.pack("<Q", 1 << 63) + bytes(100))
    for about, text in (
        ("nested", b'{"a":' * 100_000),
        ("a list", b"[1,2]"),
        ("of NaN", b'{"format": NaN}'),
        ("digits", b'{"a": ' + b"9" * 10_000 + b"}"),
    ):
        yield Case(".cert.json", f"JSON: {about}", text)


def _image_bombs() -> Iterator[Case]:
    rows = zlib.compress(bytes(1 << 24), 9) * 8
    for width, height in ((60_000, 60_000), ((1 << 31) - 1, (1 << 31) - 1), (4096, 4096), (0, 0), (28, 28)):
        yield Case(
            ".png",
            f"PNG of {width} x {height}",
            b"\x89PNG\r\n\x1a\n"
            + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + _chunk(b"IDAT", rows)
            + _chunk(b"IEND", b""),
        )
    head = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0))
    text = _chunk(b"zTXt", b"note\x00\x00" + zlib.compress(bytes(1 << 26), 1))
    yield Case(".png", "texts of 64 MiB in a PNG", head + text * 8 + good()[".png"][33:])
    yield Case(".pgm", "PGM of many pixels", b"P5\n100000 100000\n255\n" + bytes(100))
    yield Case(".pgm", "PGM that counts to 4 billion", b"P5\n28 28\n4294967295\n" + bytes(100_000))
    yield Case(".gif", "GIF of many pixels", b"GIF89a\xff\xff\xff\xff\x80\x00\x00" + bytes(100))
    yield Case(
        ".bmp",
        "BMP of many pixels",
        b"BM" + struct.pack("<IHHIIiiHHIIIIII", 100, 0, 0, 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0),
    )
    yield Case(
        ".png", "a program in PostScript", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 28 28\n{} loop\n"
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _deflated(start: bytes, size: int) -> bytes:
    """Raw deflate of some bytes and `size` zeros, put together from the same piece again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(1 << 22)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + piece * (size >> 22) + packer.flush(zlib.Z_FINISH)


def _zipped(
    name: str,
    packed: bytes,
    size: int,
    *,
    method: int = 8,
    flags: int = 0,
    count: int = 1,
    same: bool = False,
) -> bytes:
    """A zip archive whose entries, each over the same packed bytes, claim to unpack to `size` bytes."""
    names = [(name if k == 0 or same else f"{k}.npy").encode() for k in range(count)]
    large = size >= 0xFFFFFFFF
    extra = struct.pack("<HHQ", 1, 8, size) if large else b""
    about = struct.pack("<HHHHHIII", 45, flags, method, 0, 33, 0, len(packed), 0xFFFFFFFF if large else size)
    local = b"PK\x03\x04" + about + struct.pack("<HH", len(names[0]), len(extra)) + names[0] + extra
    entries = b"".join(
        b"PK\x01\x02"
        + struct.pack("<H", 45)
        + about
        + struct.pack("<HHHHHII", len(n), len(extra), 0, 0, 0, 0, 0)
        + n
        + extra
        for n in names
    )
    start = len(local) + len(packed)
    return (
        local
        + packed
        + entries
        + b"PK\x05\x06"
        + struct.pack("<HHHHIIH", 0, 0, count, count, len(entries), start, 0)
    )
