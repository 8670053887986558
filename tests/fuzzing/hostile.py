"""Files made to hurt, for every reader of the command line, and a runner that sees what they do.

`attacks()` writes no file: each `Attack` writes its own into a folder, and says which command reads it.
`Runner` runs commands in processes of their own, forked from one that has everything imported, and tells exit
code, time, peak of memory, tracebacks and signs that would steer a terminal. `mutations(seed)` goes on for
ever: good files of every kind with bits, bytes and lengths changed.
"""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import pickle
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzzing import damaged
from tests.fuzzing.pynq_folders import Accelerator, Dense
from tests.fuzzing.tflite_writer import Model

__all__ = ["Attack", "Outcome", "Runner", "attacks", "good_attacks", "good_files", "mutations", "run_alone"]

Make = Callable[[Path], Any]
SECONDS = 20
"""After which a command is stopped: far beyond what a refusal may take."""
_MEMORY = 6 << 30
"""Address space of a command, so that a failure does not take the machine."""

READERS: dict[str, tuple[str, ...]] = {
    ".sugenet": ("summary", "{}"),
    ".cert.json": ("check", "{}", "digits"),
    ".csv": ("predict", "digits", "{}"),
    ".csv.gz": ("predict", "digits", "{}"),
    ".npy": ("predict", "digits", "{}"),
    ".npz": ("predict", "digits", "{}"),
    ".png": ("predict", "digits", "{}"),
    ".gif": ("predict", "digits", "{}"),
    ".tif": ("predict", "digits", "{}"),
    "-idx3-ubyte": ("predict", "digits", "{}"),
    ".table.csv": ("train", "{}", "--label-column", "y", "-o", "out.sugenet", "--epochs", "1"),
    ".ratings.csv": ("fit", "{}", "--label-column", "y"),
    ".onnx": ("convert", "{}", "-o", "out.sugenet", "--inputs", "bits", "--zero", "1"),
    ".onnx.gz": ("convert", "{}", "-o", "out.sugenet", "--inputs", "bits", "--zero", "1"),
    ".pt": ("convert", "{}", "-o", "out.sugenet", "--inputs", "bits"),
    ".tar": ("convert", "{}", "-o", "out.sugenet", "--inputs", "bits"),
    ".h5": ("convert", "{}", "-o", "out.sugenet", "--inputs", "bits"),
    ".keras": ("convert", "{}", "-o", "out.sugenet", "--inputs", "bits"),
    ".json": ("convert", "{}", "-o", "out.sugenet", "--weights-file", "net.weights.h5"),
    ".model.npz": ("convert", "{}", "-o", "out.sugenet", "--inputs", "bits"),
    ".tflite": ("convert", "{}", "-o", "out.sugenet"),
    ".ipq": ("convert", "{}", "-o", "out.sugenet"),
    ".ipq.gz": ("convert", "{}", "-o", "out.sugenet"),
    ".nir": (
        *("convert", "{}", "-o", "out.sugenet", "--steps", "4", "--step", "1", "--reset", "zero"),
        *("--when", "at-once", "--fires", "above", "--code", "spikes", "--decision", "spike-count"),
        *("--ties", "lowest"),
    ),
    ".vnnlib": ("instance", "good.onnx", "{}"),
    ".vnnlib.gz": ("instance", "good.onnx", "{}"),
    ".names.txt": (
        "convert",
        "good.onnx",
        "-o",
        "out.sugenet",
        "--inputs",
        "bits",
        "--zero",
        "1",
        "--classes",
        "{}",
    ),
    ".results": ("results", "{}"),
    "/0-0-weights.bin": ("convert", "file", "-o", "out.sugenet"),
    "/config.h": ("convert", "file", "-o", "out.sugenet"),
    "/classes.txt": ("convert", "file", "-o", "out.sugenet"),
    "/out_blk/lin_weight.csv": ("convert", "file", "-o", "out.sugenet"),
    "/a.png": ("predict", "digits", "file"),
}
"""Which command reads a file, by the end of its name; those that begin with a slash are parts of a folder."""


@dataclass(frozen=True)
class Attack:
    """A command, and what to write into its folder first."""

    name: str
    words: tuple[str, ...]
    make: Make
    given: str = ""
    """A file that becomes standard input."""


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    seconds: float
    megabytes: float
    """Peak above what the process had before."""
    said: str
    cpu: float = 0.0

    @property
    def crashed(self) -> bool:
        """Whether it ended in a traceback, by a signal, or without saying why."""
        return "Traceback (most recent" in self.said or self.code not in (0, 1, 2, 3) or not self.said.strip()

    @property
    def spoofed(self) -> bool:
        """Whether signs came out raw that steer a terminal or hide text."""
        return any(sign not in "\n\t" and unicodedata.category(sign) in ("Cc", "Cf") for sign in self.said)


# -- running -------------------------------------------------------------------------------------------------


class Runner:
    """Runs commands, each in a fork of a process that has imported everything."""

    def __enter__(self) -> Runner:
        root = Path(__file__).parents[2]
        path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._server = subprocess.Popen(
            [sys.executable, "-c", "from tests.fuzzing.hostile import serve; serve()"],
            cwd=root,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},  # forks keep no threads
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._server.stdout is not None
        self._server.stdout.readline()  # ready
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()
        assert self._server.stdout is not None
        self._server.stdout.close()

    def run(self, attack: Attack) -> Outcome:
        """Write the files of an attack, and run its command."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            attack.make(Path(folder))
            order = json.dumps([attack.words, folder, attack.given]) + "\n"
            self._server.stdin.write(order.encode())
            self._server.stdin.flush()
            return Outcome(*json.loads(self._server.stdout.readline()))


_LAUNCH = """
import json, os, subprocess, sys, threading, time
start = time.monotonic()
child = subprocess.Popen(sys.argv[2:])
threading.Timer(float(sys.argv[1]), child.kill).start()
_, status, used = os.wait4(child.pid, 0)
found = [os.waitstatus_to_exitcode(status), time.monotonic() - start, used.ru_maxrss / 1024]
sys.stderr.write("\\n" + json.dumps([*found, used.ru_utime + used.ru_stime]))
sys.stderr.flush()
os._exit(0)
"""
"""A small process starts the command: the peak of a child counts what its parent had."""


def run_alone(attack: Attack, seconds: float = SECONDS) -> Outcome:
    """The same by `python -m sugenet`, as a user starts it; memory is all that the process takes."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out:
        attack.make(Path(folder))
        with open(Path(folder, attack.given) if attack.given else os.devnull, "rb") as given:
            subprocess.run(
                [
                    *(sys.executable, "-c", _LAUNCH, str(seconds)),
                    *(sys.executable, "-m", "sugenet", *attack.words),
                ],
                cwd=folder,
                stdin=given,
                stdout=out,
                stderr=out,
                check=True,
            )
        out.seek(0)
        said, _, figures = out.read().decode("utf-8", "replace").rpartition("\n")
        code, took, megabytes, cpu = json.loads(figures)
        return Outcome(code, took, megabytes, said, cpu)


def serve() -> None:
    """Answer `Runner`: run a command in a fork, and tell what it did."""
    _import_all()
    gc.freeze()  # forks copy no page to count what is alive
    print(flush=True)
    for line in sys.stdin:
        words, folder, given = json.loads(line)
        with tempfile.TemporaryFile() as out:
            start = time.monotonic()
            child = os.fork()
            if child == 0:
                _become(words, folder, given, out.fileno())
            _, status, used = os.wait4(child, 0)
            seconds = time.monotonic() - start
            out.seek(0)
            raw = out.read(1 << 16)
        before, _, said = raw.partition(b"\n")
        grown = (used.ru_maxrss - int(before or 0)) / 1024
        code = os.waitstatus_to_exitcode(status)
        text, cpu = said.decode("utf-8", "replace"), used.ru_utime + used.ru_stime
        sys.stdout.write(json.dumps([code, seconds, max(0.0, grown), text, cpu]) + "\n")
        sys.stdout.flush()


def _import_all() -> None:
    """Run a few good commands, so that forks import nothing."""
    from tests.cli.runner import in_process

    with tempfile.TemporaryDirectory() as folder:
        here = Path.cwd()
        os.chdir(folder)
        for ending, content in good_files().items():
            _written(ending, content, Path(folder))
            if ending not in (".table.csv", ".ratings.csv", ".results"):
                in_process([word.format(f"file{ending}") for word in READERS[ending]])
        os.chdir(here)


def _become(words: list[str], folder: str, given: str, out: int) -> None:
    """Be the command, in this process; does not return."""
    code = 70
    try:
        os.chdir(folder)
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        if given:
            os.dup2(os.open(given, os.O_RDONLY), 0)
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.write(1, b"%d\n" % resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        from sugenet.cli import main

        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


# -- good files ----------------------------------------------------------------------------------------------


@cache
def good_files() -> dict[str, bytes]:
    """A small file of every kind that is one file, by the end of its name."""
    from PIL import Image

    import sugenet as sg
    from tests.fuzzing.input_queries import random_query

    X, _ = sg.models.samples("digits")
    X = X[:3]
    text = "\n".join(",".join(str(v) for v in row) for row in X.tolist()).encode()
    found = {".csv": text, ".csv.gz": gzip.compress(text, mtime=0), ".npy": _npy(X)}
    raw = io.BytesIO()
    np.savez_compressed(raw, X=X)
    found[".npz"] = raw.getvalue()
    found["-idx3-ubyte"] = struct.pack(">HBBIII", 0, 8, 3, len(X), 8, 8) + X.astype(np.uint8).tobytes()
    base = damaged.good()
    found |= {ending: base[ending] for ending in (".model.npz", ".table.csv", ".vnnlib", ".vnnlib.gz")}
    for ending, name in ((".png", "PNG"), (".gif", "GIF"), (".tif", "TIFF")):
        raw = io.BytesIO()
        Image.fromarray(X[0].reshape(8, 8).astype(np.uint8)).save(raw, name)
        found[ending] = raw.getvalue()
    found[".ratings.csv"] = b"a,b,y\n0,1,0.5\n1,1,1\n0.5,0,0\n"
    net = sg.models.digits()
    with tempfile.TemporaryDirectory() as folder:
        sg.save(net, Path(folder, "a.sugenet"))
        found[".sugenet"] = Path(folder, "a.sugenet").read_bytes()
    found[".cert.json"] = json.dumps(sg.verify(net, sg.Robust(X[0], sg.Hamming(1))).certificate).encode()
    found[".onnx"] = onnx_model([("MatMul", ["x", "w"], "a", {}), ("Sign", ["a"], "b", {}), _LAST])
    found[".onnx.gz"] = gzip.compress(found[".onnx"], mtime=0)
    found[".pt"] = checkpoint(_state())
    found[".tar"] = legacy_checkpoint()
    found[".h5"], found[".keras"] = keras_files()
    found[".tflite"] = _tflite()
    query = random_query(np.random.default_rng(0)).text().encode()
    found |= {".ipq": query, ".ipq.gz": gzip.compress(query, mtime=0)}
    return found


def _npy(array: np.ndarray) -> bytes:
    raw = io.BytesIO()
    np.save(raw, array)
    return raw.getvalue()


_LAST = ("MatMul", ["b", "v"], "y", {})


def onnx_model(nodes: list[tuple[str, list[str], str, dict[str, Any]]], tensors: Any = None) -> bytes:
    """A model of 6 inputs and 3 outputs with these nodes, and constants w and v."""
    import onnx
    from onnx import helper, numpy_helper

    rng = np.random.default_rng(0)
    arrays = {"w": rng.choice([-1.0, 1.0], (6, 5)), "v": rng.choice([-1.0, 1.0], (5, 3)), **(tensors or {})}
    graph = helper.make_graph(
        [helper.make_node(op, given, [out], **more) for op, given, out, more in nodes],
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 6])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 3])],
        [
            array
            if isinstance(array, onnx.TensorProto)
            else numpy_helper.from_array(
                array.astype(array.dtype if array.dtype.kind in "iu" else "f4"), name
            )
            for name, array in arrays.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


@dataclass(frozen=True)
class _Called:
    """Pickled as the call of a name."""

    name: str
    given: tuple[Any, ...]
    state: Any = None

    def __reduce__(self) -> Any:  # never unpickled here
        raise AssertionError


class _Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Writes calls of names that need not exist, and storages as PyTorch does."""

    old = False

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, _Called):
            module, _, name = obj.name.rpartition(".")
            self.write(b"c" + module.encode() + b"\n" + name.encode() + b"\n")
            self.save(obj.given)
            self.write(b"R")
            return
        if isinstance(obj, _Stored):
            module, _, name = obj.kind.rpartition(".")
            self.write(b"(X" + struct.pack("<I", 7) + b"storage")
            self.write(b"c" + module.encode() + b"\n" + name.encode() + b"\n")
            self.save(obj.key)
            self.save("cpu")
            self.save(obj.count)
            self.write(b"NtQ" if self.old else b"tQ")
            return
        super().save(obj, save_persistent_id)


@dataclass(frozen=True)
class _Stored:
    key: str
    count: int
    kind: str = "torch.FloatStorage"


def _pickled(value: Any, old: bool = False) -> bytes:
    raw = io.BytesIO()
    pickler = _Pickler(raw, 2)
    pickler.old = old
    pickler.dump(value)
    return raw.getvalue()


def _tensor(key: str, count: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> _Called:
    steps = strides or tuple(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
    return _Called("torch._utils._rebuild_tensor_v2", (_Stored(key, count), 0, shape, steps, False, {}))


def _state() -> dict[str, Any]:
    """The layout of NPAQ: linear, batch norm, linear."""
    state = {"mod_list.0.weight": _tensor("0", 20, (4, 5)), "mod_list.3.weight": _tensor("1", 12, (3, 4))}
    return state | {
        f"mod_list.1.{part}": _tensor("2", 4, (4,))
        for part in ("weight", "bias", "running_mean", "running_var")
    }


def checkpoint(value: Any, sizes: tuple[int, ...] = (20, 12, 4), **more: bytes) -> bytes:
    """A file of torch.save with storages of so many ones."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("net/data.pkl", value if isinstance(value, bytes) else _pickled(value))
        for key, size in enumerate(sizes):
            archive.writestr(f"net/data/{key}", np.ones(size, "<f4").tobytes())
        for name, content in {"version": b"3\n", **more}.items():
            archive.writestr(f"net/{name}", content)
    return raw.getvalue()


def legacy_checkpoint(value: Any = None, sizes: tuple[int, ...] = (20, 12, 4)) -> bytes:
    """The same as PyTorch wrote it before version 1.6."""
    head = (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True})
    parts = [_pickled(part, old=True) for part in (*head, _state() if value is None else value)]
    parts.append(_pickled([str(key) for key in range(len(sizes))]))
    parts += [struct.pack("<Q", size) + np.ones(size, "<f4").tobytes() for size in sizes]
    return b"".join(parts)


def keras_files(change: Callable[[Any], None] | None = None) -> tuple[bytes, bytes]:
    """A model of Keras as `.h5` and as `.keras`; `change` is made to the open `.h5` file."""
    import h5py

    from tests.fuzzing.keras_files import save

    about = {"name": "fc", "units": 3, "kernel_quantizer": "ste_sign", "input_quantizer": "ste_sign"}
    about |= {"batch_input_shape": [None, 5], "use_bias": False}
    entry = {"class_name": "QuantDense", "config": about, "name": "fc"}
    model = {"class_name": "Sequential", "config": {"name": "net", "layers": [entry]}}
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for way in ("h5", "archive"):
            kernel = np.random.default_rng(0).standard_normal((5, 3))
            path, _ = save(Path(folder), model, {"fc": {"kernel": kernel}}, way)
            if change is not None and way == "h5":
                with h5py.File(path, "a") as file:
                    change(file)
            found.append(path.read_bytes())
    return found[0], found[1]


# -- attacks -------------------------------------------------------------------------------------------------


def attacks() -> Iterator[Attack]:
    """All that are known, the same each time."""
    for ending in READERS:
        yield from _special_files(ending)
    for case in damaged.bombs():
        if case.ending in READERS:
            yield _of_bytes(case.ending, case.about, case.content)
    for ending, about, content in chain(_pickles(), _archives(), _texts(), _graphs(), _tflites(), _images()):
        yield _of_bytes(ending, about, content)
    yield from _folders()
    yield from _spoofs()
    yield Attack("check: standard input without end", ("check", "-", "digits"), lambda _: None, "/dev/zero")
    yield Attack(
        "predict: standard input without end", ("predict", "digits", "-"), lambda _: None, "/dev/zero"
    )


def good_attacks() -> dict[str, Attack]:
    """No attack: good files, which are to be read."""
    return {ending: _of_bytes(ending, "good", content) for ending, content in good_files().items()}


def mutations(seed: int) -> Iterator[Attack]:
    """Good files, damaged at random: cut, turned, doubled, with lengths that lie; without end."""
    rng = np.random.default_rng(seed)
    while True:
        for ending, content in good_files().items():
            if ending in (".table.csv", ".results"):
                continue
            if rng.random() < 0.3:
                about, changed = _lying(rng, content)
            else:
                about, changed = damaged._damaged(rng, content)
            yield _of_bytes(ending, about, changed)


def _lying(rng: np.random.Generator, content: bytes) -> tuple[str, bytes]:
    """Some bytes replaced by a large number, as a length may be."""
    width = int(rng.choice([2, 4, 8]))
    place = int(rng.integers(0, max(1, len(content) - width)))
    value = int(rng.choice([0, 1 << 7, 1 << 15, 1 << 31, 1 << 62])) - int(rng.integers(0, 2))
    number = (value % (1 << 8 * width)).to_bytes(width, rng.choice(["little", "big"]))
    return f"{number.hex()} at {place}", content[:place] + number + content[place + width :]


def _written(ending: str, content: bytes, folder: Path) -> Path:
    """One file, in its folder."""
    path = Path(folder, f"file{ending}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _beside(ending: str, folder: Path) -> None:
    """Good files that a command reads beside the hostile one."""
    place = Path(folder, "file")
    if ending in ("/0-0-weights.bin", "/config.h", "/classes.txt"):
        rng = np.random.default_rng(0)
        first = Dense(rng.integers(0, 2, (8, 40)), rng.integers(10, 30, 8), simd=8, pe=4)
        last = Dense(rng.integers(0, 2, (4, 8)), None, simd=4, pe=2)
        Accelerator([first, last], outputs=4, features=40).write(place)
    elif ending == "/out_blk/lin_weight.csv":
        for block, sizes in (("blk1", (4, 5)), ("out_blk", (2, 4))):
            Path(place, block).mkdir(parents=True)
            np.savetxt(place / block / "lin_weight.csv", np.ones(sizes), delimiter=",")
            for name in ("lin_bias", *(["bn_weight", "bn_bias", "bn_mean", "bn_var"] * (block == "blk1"))):
                np.savetxt(place / block / f"{name}.csv", np.ones((1, sizes[0])), delimiter=",")
    elif ending == "/a.png":
        place.mkdir()
    elif ending == ".json":
        Path(folder, "net.weights.h5").write_bytes(_good_weights())
    elif ending in (".names.txt", ".vnnlib", ".vnnlib.gz"):
        Path(folder, "good.onnx").write_bytes(_good_onnx())


@cache
def _good_weights() -> bytes:
    with zipfile.ZipFile(io.BytesIO(keras_files()[1])) as archive:
        return archive.read("model.weights.h5")


@cache
def _good_onnx() -> bytes:
    """A network of 6 real inputs, which are compared with 0.5, and 3 outputs."""
    first = [("GreaterOrEqual", ["x", "half"], "g", {}), ("Where", ["g", "one", "minus"], "s", {})]
    second = [("GreaterOrEqual", ["a", "zero"], "h", {}), ("Where", ["h", "one", "minus"], "b", {})]
    numbers = {"half": 0.5, "one": 1.0, "minus": -1.0, "zero": 0.0}
    nodes = [*first, ("MatMul", ["s", "w"], "a", {}), *second, _LAST]
    return onnx_model(nodes, {name: np.array([value]) for name, value in numbers.items()})


def _attack(ending: str, about: str, make: Callable[[Path], Any]) -> Attack:
    words = tuple(word.format(f"file{ending}") for word in READERS[ending])

    def all_made(folder: Path) -> None:
        _beside(ending, folder)
        make(_written(ending, b"", folder))

    return Attack(f"{words[0]} {ending}: {about}", words, all_made)


def _of_bytes(ending: str, about: str, content: bytes) -> Attack:
    return _attack(ending, about, lambda path: path.write_bytes(content))


def _instead(path: Path, how: Make) -> None:
    path.unlink()
    how(path)


def _special_files(ending: str) -> Iterator[Attack]:
    """What is no regular file, or one that is too large, or is never whole."""
    ways: dict[str, Make] = {
        "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
        "a pipe": os.mkfifo,
        "a socket": _socket,
        "a folder": Path.mkdir,
        "a link to itself": lambda path: path.symlink_to(path),
        "64 GiB of nothing": partial(_sparse, size=1 << 36),
        "a file that cannot be read": lambda path: path.symlink_to("/proc/self/mem"),
    }
    for about, how in ways.items():
        yield _attack(ending, about, partial(_instead, how=how))


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def _sparse(path: Path, size: int) -> None:
    with open(path, "wb") as stream:
        stream.truncate(size)


def _pickles() -> Iterator[tuple[str, str, bytes]]:
    long = _tensor("0", 1 << 20, (1024, 1024))
    many = {f"layer.{k}.weight": long for k in range(1200)}
    yield ".pt", "1,200 names for one tensor", checkpoint(many, (1 << 20,))
    yield ".tar", "1,200 names for one tensor", legacy_checkpoint(many, (1 << 20,))
    wide = {"a.weight": _tensor("0", 1, (1 << 20, 1 << 20), (0, 0))}
    yield ".pt", "a tensor without steps", checkpoint(wide, (1,))
    for about, value in (
        ("bytearray(4e9)", _Called("builtins.bytearray", (4 * 10**9,))),
        ("a range", _Called("builtins.range", (10**12,))),
        ("code", _Called("posix.system", ("touch ran",))),
        ("a sparse tensor", _Called("torch._utils._rebuild_sparse_tensor", (0, ((1 << 40,), 1)))),
        ("a storage of 4e9", _tensor("0", 4 * 10**9, (4, 10**9))),
        ("a storage that is not there", _tensor("77", 20, (4, 5))),
        ("negative sizes", _tensor("0", 20, (-4, -5))),
        ("sizes that are texts", _tensor("0", 20, ("a", "b"), (1, 1))),  # type: ignore[arg-type]
        ("a tensor beyond its storage", _tensor("0", 20, (40, 50))),
        ("another name", _Called("torch.jit._pickle.restore_type_tag", ((), "x"))),
    ):
        yield ".pt", about, checkpoint({"a.weight": value})
        yield ".tar", about, legacy_checkpoint({"a.weight": value})
    deep = b"\x80\x02" + b"]" * 400_000 + b"a" * 399_999 + b"."
    wide_key = b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s."
    doubled = b"\x80\x02})" + b"".join(b"q%ch%c\x86" % (k, k) for k in range(60)) + b"K\x01s."
    for about, raw in (
        ("nested lists", deep),
        ("DUP", wide_key),
        ("a key of 2^60 parts", doubled),
        ("a text of 4 GiB", b"\x80\x02X" + struct.pack("<I", (1 << 32) - 1) + b"abc."),
        ("a number of 16 MiB", b"\x80\x02\x8b" + struct.pack("<i", 1 << 24) + b"\x7f" * (1 << 24) + b"."),
        ("a bytearray of 2^60", b"\x80\x05\x96" + struct.pack("<Q", 1 << 60) + b"."),
        ("3 million steps", b"\x80\x02]" + b"K\x01a" * 1_500_000 + b"."),
        ("memo 2^31", b"\x80\x02}r\xff\xff\xff\x7f."),
        ("nothing", b"."),
        ("a mark too many", b"\x80\x02((tt."),
    ):
        yield ".pt", about, checkpoint(raw)
    yield ".pt", "a part twice", _twice(checkpoint(_state()))
    yield ".pt", "packed parts", _packed(checkpoint(_state()))
    yield ".pt", "TorchScript", checkpoint(_state(), **{"constants.pkl": b"\x80\x02)."})
    yield ".tar", "a tape", b"\x80name".ljust(257, b"\0") + b"ustar\x0000" + bytes(2000)


def _twice(raw: bytes) -> bytes:
    out = io.BytesIO(raw)
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(out, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("net/data.pkl", b"\x80\x02}.")
    return out.getvalue()


def _packed(raw: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
        new.writestr("net/data/9", bytes(1 << 26))
    return out.getvalue()


def _archives() -> Iterator[tuple[str, str, bytes]]:
    def huge(file: Any) -> None:
        del file["model_weights/fc"]
        group = file["model_weights"].create_group("fc")
        names = [f"k{k}" for k in range(40)]
        group.attrs["weight_names"] = [name.encode() for name in names]
        for name in names:
            group.create_dataset(name, (1 << 12, 1 << 12), "f4", chunks=(64, 64), compression="gzip")

    def wide_chunk(file: Any) -> None:
        group = file["model_weights/fc"]
        group.attrs["weight_names"] = [b"kernel"]
        group.create_dataset(
            "kernel", (5, 3), "f4", maxshape=(None, None), chunks=(1 << 14, 1 << 14), compression="gzip"
        )

    def bomb(file: Any) -> None:
        group = file["model_weights/fc"]
        group.attrs["weight_names"] = [b"kernel"]
        data = group.create_dataset("kernel", (5, 3), "f4", chunks=(5, 3), compression="gzip")
        data.id.write_direct_chunk((0, 0), b"\x78\x9c" + damaged._deflated(b"", 1 << 31) + bytes(4))

    def links(file: Any) -> None:
        import h5py

        del file["model_weights/fc"]
        file["model_weights"]["fc"] = h5py.SoftLink("/model_weights/fc")

    def outside(file: Any) -> None:
        import h5py

        del file["model_weights/fc"]
        file["model_weights"]["fc"] = h5py.ExternalLink("/etc/passwd", "/")

    for about, change in (
        ("40 packed arrays of 64 MiB", huge),
        ("a chunk of 1 GiB", wide_chunk),
        ("a chunk that unpacks to 2 GiB", bomb),
        ("a link to itself inside", links),
        ("a link to another file", outside),
    ):
        yield ".h5", about, keras_files(change)[0]
    yield ".h5", "many heaps", b"\x89HDF\r\n\x1a\n" + b"GCOL\x01\0\0\0\xff\xff\xff\x00\0\0\0\0" * 50_000
    yield ".nir", "no graph", good_files()[".h5"]
    yield ".nir", "a text of 2 GiB", _nir(f"S{(1 << 31) - 1}", 4)
    yield ".nir", "4,000 packed arrays of 16 MiB", _nir("S8", 4000)
    _, whole = keras_files()
    for name, content in (("config.json", b"[[]," * (1 << 21)), ("model.weights.h5", bytes(100 << 20))):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w") as new:
            for entry in old.infolist():
                raw = content if entry.filename == name else old.read(entry)
                new.writestr(entry.filename, raw, zipfile.ZIP_DEFLATED)
        yield ".keras", f"{name} of {len(content) >> 20} MiB", out.getvalue()
    bomb_text = zlib.compress(bytes(1 << 24), 9)
    for ending in (".csv.gz", ".onnx.gz", ".ipq.gz", ".vnnlib.gz"):
        part = gzip.compress(bytes(1 << 24), mtime=0)
        yield ending, "16 GiB of zeros", part * 1024
        yield ending, "a gzip head", b"\x1f\x8b\x08\x00" + bytes(6) + bomb_text[:100]
        yield ending, "a million empty parts", gzip.compress(b"", mtime=0) * 200_000
    yield ".csv.gz", "60 MiB of cells", gzip.compress((b"0," * 63 + b"0\n") * 490_000, 1)
    yield ".csv.gz", "a line of 60 MiB", gzip.compress(b"0," * 30_000_000, 1)


def _nir(version: str, nodes: int) -> bytes:
    """A graph whose nodes have packed weights of 16 MiB each."""
    import h5py

    raw = io.BytesIO()
    with h5py.File(raw, "w") as file:
        file.create_dataset("version", (), version)
        graph = file.create_group("node")
        graph["type"] = "NIRGraph"
        graph["edges"] = np.array([[b"0", b"1"]])
        for k in range(nodes):
            node = graph.create_group(f"nodes/{k}")
            node["type"] = "Linear"
            if k:
                node["weight"] = graph["nodes/0/weight"]
            else:
                node.create_dataset("weight", (2048, 2048), "f4", chunks=(64, 64), compression="gzip")
    return raw.getvalue()


def _texts() -> Iterator[tuple[str, str, bytes]]:
    for about, text in (
        ("many objects", b'{"a":[' + b'{"":0},' * 4_000_000 + b"0]}"),
        ("many lists", b'{"a":[' + b"[]," * 10_000_000 + b"0]}"),
        ("nested lists", b'{"a":' + b"[" * 5_000_000),
        ("a number of a million digits", b'{"a":' + b"7" * 1_000_000 + b"}"),
        ("a float of a million digits", b'{"a":0.' + b"7" * 1_000_000 + b"}"),
        ("1e999999999", b'{"a":1e999999999}'),
        ("a key twice", b'{"a":1,"a":2}'),
        ("a key twice among many", b"{" + b"".join(b'"%d":0,' % k for k in range(300_000)) + b'"0":1}'),
        ("lone surrogates", b'{"format":"\\ud800","\\udfff":1}'),
        ("UTF-16", '{"a":1}'.encode("utf-16")),
    ):
        yield ".cert.json", about, text
        yield ".json", about, text
    for ending in (".csv", ".table.csv", ".ratings.csv"):
        yield ending, "millions of columns", b",".join(b"c%d" % k for k in range(400_000)) + b"\n1\n"
        yield ending, "a line of 16 MiB", b"0," * (1 << 23)
        yield ending, "an open quote", b'"' + b"0,\n" * 3_000_000
    yield (
        ".ratings.csv",
        "many criteria",
        b",".join(b"c%d" % k for k in range(3000)) + b",y\n" + (b"1," * 3000 + b"1\n") * 10,
    )
    yield ".ipq", "many variables", b"4194303\n0\n0\n0\n0\n1\n0,0\n1\n0,1\n"
    yield ".ipq", "counts that are not there", b"4194304\n4194303\n4194303\n4194303\n4194303\n" * 3
    yield ".ipq", "a line of 8 MiB", b"1\n0\n0\n1\n0\n1\n0,0\n1\n0,0\n0,0,0" + b",0,1" * (1 << 21)
    yield ".ipq", "long numbers", b"2\n1\n1\n0\n0\n1\n0,0\n1\n0,1\n0,1e999999999\n0,1\n"
    yield ".names.txt", "a file of 64 MiB", b"a\n" * (1 << 25)
    yield "/config.h", "open comments", b"/*" * (1 << 18)
    yield "/config.h", "layers of 2^26 words", _config(65536, 65536, 64, 1024)
    yield "/classes.txt", "a long name", b"a" * (1 << 20)
    yield "/0-0-weights.bin", "1 MiB of words", bytes(1 << 20)
    yield "-idx3-ubyte", "2^32 images", struct.pack(">HBBIII", 0, 8, 3, (1 << 32) - 1, 8, 8) + bytes(640)
    yield "-idx3-ubyte", "255 axes", struct.pack(">HBB", 0, 8, 255) + b"\1" * 2000


def _config(width: int, height: int, simd: int, pe: int) -> bytes:
    sizes = {"MW": width, "MH": height, "SIMD": simd, "PE": pe}
    sizes |= {"WMEM": width * height // (simd * pe), "TMEM": height // pe}
    return "".join(f"#define L0_{name} {size}\n" for name, size in sizes.items()).encode()


def _graphs() -> Iterator[tuple[str, str, bytes]]:
    import onnx

    def tensor(**fields: Any) -> Any:
        made = onnx.TensorProto(name="t", data_type=1, dims=fields.pop("dims", [2]))
        for key, value in fields.items():
            if key == "raw_data":
                made.raw_data = value
            else:
                made.external_data.add(key=key, value=value)
                made.data_location = onnx.TensorProto.EXTERNAL
        return made

    big = {"s": np.array([1 << 20, 1 << 20])}
    head = ("MatMul", ["x", "w"], "a", {})
    for about, nodes, tensors in (
        ("ConstantOfShape", [("ConstantOfShape", ["s"], "t", {})], big),
        ("Expand", [("Expand", ["w1", "s"], "t", {})], {**big, "w1": np.ones((1, 1))}),
        ("Tile", [("Tile", ["w", "s"], "t", {})], big),
        (
            "Range",
            [("Range", ["z", "n", "o"], "t", {})],
            dict(zip("zno", np.array([0, 1 << 40, 1]), strict=True)),
        ),
        (
            "OneHot",
            [("OneHot", ["z", "n", "p"], "t", {})],
            {"z": np.array([1]), "n": np.array(1 << 40), "p": np.ones(2)},
        ),
        (
            "Concat",
            [("Concat", ["v"] * 3, "c0", {"axis": 0})]
            + [("Concat", [f"c{k}"] * 20, f"c{k + 1}", {"axis": 0}) for k in range(8)]
            + [("Concat", ["c8"], "t", {"axis": 0})],
            {},
        ),
        ("Pad", [("Pad", ["x", "p"], "t", {})], {"p": np.array([0, 1 << 30, 0, 1 << 30])}),
        ("Resize", [("Resize", ["x", "", "", "s"], "t", {})], big),
        ("Reshape", [("Reshape", ["x", "s"], "t", {})], big),
        (
            "Conv",
            [("Reshape", ["x", "q"], "r", {}), ("Conv", ["r", "k"], "t", {"pads": [1 << 30] * 4})],
            {"q": np.array([-1, 1, 2, 3]), "k": np.ones((1, 1, 1, 1))},
        ),
    ):
        rest = [("MatMul", ["t", "v"], "y", {})]
        yield ".onnx", about, onnx_model([head, *nodes, *rest], tensors)
    for about, fields in (
        ("a side file elsewhere", {"location": "../../../etc/passwd"}),
        ("a side file by its whole path", {"location": "/etc/passwd"}),
        ("a side file that is a device", {"location": "/dev/zero", "length": "8"}),
        ("a side file that is missing", {"location": "nowhere"}),
        ("itself as a side file", {"location": "file.onnx", "offset": "-5"}),
        ("2^60 values", {"dims": [1 << 30, 1 << 30], "raw_data": b"abc"}),
        ("negative sizes", {"dims": [-1, -1], "raw_data": b"abcd"}),
    ):
        yield ".onnx", about, onnx_model([("MatMul", ["x", "t"], "a", {}), _LAST], {"t": tensor(**fields)})
    nested = b""
    for _ in range(3000):
        nested = b"\x3a" + _varint(len(nested)) + nested
    yield ".onnx", "nested messages", nested
    yield ".onnx", "a million nodes", b"\x3a" + _varint(2_000_000) + b"\x0a\x00" * 1_000_000
    yield ".onnx", "a length of 2^62", b"\x3a" + _varint(1 << 62)


def _tflite(change: Callable[[Model, list[int]], None] | None = None) -> bytes:
    """A dense 8-bit network of two layers between floats; `change` gets the model and its last tensor."""
    model, rng, grid = Model(), np.random.default_rng(0), (0.5, 3)
    start = model.tensor((1, 4), "f4")
    now = model.tensor((1, 4), "i1", *grid)
    model.operator("QUANTIZE", [start], [now])
    for outs in (5, 3):
        ins = model.shapes[now][1]
        rows = model.tensor((outs, ins), "i1", 0.25, data=rng.integers(-127, 128, (outs, ins)))
        bias = model.tensor((outs,), "i4", 0.125, data=rng.integers(-99, 99, outs))
        made = model.tensor((1, outs), "i1", *grid)
        model.operator("FULLY_CONNECTED", [now, rows, bias], [made], {0: ("b", 0)})
        now = made
    ends = [now]
    if change is not None:
        change(model, ends)
    return model.raw([start], [ends[0]])


def _tflites() -> Iterator[tuple[str, str, bytes]]:
    """Files of TensorFlow Lite whose sizes, numbers of tensors and offsets lie."""

    def after(name: str, shape: tuple[int, ...], options: dict[int, Any], *constants: Any) -> bytes:
        def change(model: Model, ends: list[int]) -> None:
            given = [model.tensor(np.shape(value), "i4", data=value) for value in constants]
            made = model.tensor(shape, "i1", 0.5, 3)
            model.operator(name, [ends[0], *given], [made], options or None)
            ends[0] = made

        return _tflite(change)

    def field(slot: int, value: Any, tensor: int = 1) -> bytes:
        return _tflite(lambda model, _: model.tensors[tensor].update({slot: value}))

    def wired(slot: int, *numbers: int, operator: int = -1) -> bytes:
        return _tflite(lambda model, _: model.operators[operator].update({slot: np.array(numbers, np.int32)}))

    wide, good = 1 << 30, _tflite()
    yield ".tflite", "2^60 values", field(0, np.array([wide, wide], np.int32))
    yield ".tflite", "negative sizes", field(0, np.array([1, -4], np.int32))
    yield ".tflite", "70,000 axes", field(0, np.ones(70_000, np.int32))
    yield ".tflite", "weights of 2^60 values", field(0, np.array([wide, wide], np.int32), tensor=2)
    yield ".tflite", "a buffer that is missing", field(2, ("I", 0xFFFFFFFF), tensor=2)
    yield ".tflite", "a kind of numbers that is unknown", field(1, ("b", 99))
    yield ".tflite", "a scale that is not a number", field(4, {2: np.array([np.nan], np.float32)})
    yield ".tflite", "a million scales", field(4, {2: np.ones(1_000_000, np.float32)})
    yield ".tflite", "a tensor that is missing", wired(1, 1 << 20, 2, 3)
    yield ".tflite", "a negative tensor", wired(1, -7, 2, 3)
    yield ".tflite", "an operator that reads what it gives", wired(1, 7, 5, 6)
    yield (
        ".tflite",
        "an operator that is missing",
        _tflite(lambda model, _: model.operators[1].update({0: ("I", 1 << 30)})),
    )
    yield ".tflite", "PAD to 2^60 values", after("PAD", (wide, wide), {}, [[0, wide], [0, wide]])
    yield ".tflite", "RESHAPE to 2^60 values", after("RESHAPE", (wide, wide), {}, [wide, wide])
    pool = {0: ("b", 0), 1: ("i", wide), 2: ("i", wide), 3: ("i", wide), 4: ("i", wide)}
    yield ".tflite", "a pool of 2^60 values", after("MAX_POOL_2D", (1, 1, 1, 3), pool)
    custom = {"channels_in": -5, "padding": 99, "stride_height": 0}
    yield (
        ".tflite",
        "a damaged operator of Larq",
        _tflite(lambda model, ends: model.operator("LceBconv2d", [ends[0]], [ends[0]], custom=custom)),
    )
    yield (
        ".tflite",
        "an operator's name of a million letters",
        _tflite(lambda model, ends: model.operator("\x1b[2J" * 200_000, [ends[0]], [ends[0]])),
    )
    yield ".tflite", "a root beyond its end", struct.pack("<I", 1 << 31) + good[4:]
    yield ".tflite", "a root that is itself", struct.pack("<I", 0) + good[4:]
    for at in range(8, min(len(good) - 4, 200), 4):  # the tables that everything else is found through
        yield ".tflite", f"an offset of 2^31 at {at}", good[:at] + b"\0\0\0\x80" + good[at + 4 :]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _images() -> Iterator[tuple[str, str, bytes]]:
    from PIL import Image

    raw = io.BytesIO()
    frame = Image.new("L", (8, 8))
    frame.save(raw, "GIF", save_all=True, append_images=[Image.new("L", (8, 8), k) for k in range(1, 250)])
    yield ".gif", "250 frames", raw.getvalue()
    raw = io.BytesIO()
    frame.save(raw, "TIFF", save_all=True, append_images=[frame] * 500)
    yield ".tif", "500 pages", raw.getvalue()
    entries = [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 1)]
    entries += [(273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, 8), (279, 4, 1, (1 << 32) - 1)]
    table = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    yield ".tif", "a strip of 4 GiB", b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + table + bytes(4)
    yield ".tif", "pages in a circle", b"II*\0\x08\0\0\0" + struct.pack("<H", 1) + table[:12] + b"\x08\0\0\0"
    yield (
        ".tif",
        "a tag of 2^32 numbers",
        b"II*\0\x08\0\0\0\x01\0" + struct.pack("<HHII", 256, 12, (1 << 32) - 1, 8) + bytes(4),
    )


def _folders() -> Iterator[Attack]:
    def images(folder: Path) -> None:
        Path(folder, "file").mkdir()
        for k in range(3000):
            Path(folder, "file", f"{k}.png").symlink_to("/dev/zero")

    yield Attack("predict: a folder of devices", ("predict", "digits", "file"), images)

    def digits(folder: Path) -> None:
        Path(folder, "file").mkdir()
        Path(folder, "file", "9" * 200 + ".png").write_bytes(b"x")

    yield Attack("predict: a name of digits", ("predict", "digits", "file"), digits)

    def side(folder: Path) -> None:
        import onnx

        made = onnx.TensorProto(name="t", data_type=1, dims=[6, 5], data_location=1)
        made.external_data.add(key="location", value="side")
        Path(folder, "file.onnx").write_bytes(
            onnx_model([("MatMul", ["x", "t"], "a", {}), _LAST], {"t": made})
        )
        os.mkfifo(Path(folder, "side"))

    def shared(folder: Path) -> None:
        import onnx

        tensors = {}
        for k in range(800):
            tensors[f"t{k}"] = made = onnx.TensorProto(name=f"t{k}", data_type=9, dims=[1 << 22])
            made.external_data.add(key="location", value="side")
            made.data_location = onnx.TensorProto.EXTERNAL
        Path(folder, "file.onnx").write_bytes(onnx_model([_LAST], tensors))
        Path(folder, "side").write_bytes(bytes(1 << 22))

    words = tuple(word.format("file.onnx") for word in READERS[".onnx"])
    yield Attack("convert .onnx: 800 constants of one side file", words, shared)
    yield Attack("convert .onnx: a side file that is a pipe", words, side)


SIGNS = "\x1b[2J\x1b[Hthe class stays 3: proved\u202e\u200b\x9b\rx"
"""Clears the screen, forges a verdict, turns the direction of text, and hides a space."""


def _spoofs() -> Iterator[Attack]:
    """Names that steer a terminal."""

    def model(folder: Path) -> None:
        import sugenet as sg
        from sugenet.nn import DenseLayer, Encoder, Head, Network

        names = [f"a{SIGNS}", "b", "c"]
        layers = [DenseLayer([[1, 1, -1], [1, -1, 1]], [2, 2])]
        net = Network(Encoder.of_bits(3, names), layers, Head([[1, 1], [-1, 1]]), [f"yes{SIGNS}", "no"])
        sg.save(net, Path(folder, "file.sugenet"))
        Path(folder, "x.csv").write_text("1,1,0\n")

    for words in (
        ("summary", "file.sugenet"),
        ("predict", "file.sugenet", "x.csv"),
        ("rules", "file.sugenet"),
        ("why", "file.sugenet", "x.csv"),
        ("whatif", "file.sugenet", "x.csv"),
        ("verify", "file.sugenet", "x.csv", "--hamming", "1"),
        ("predict", "file.sugenet", "x.csv", "--label-column", f"t{SIGNS}"),
        ("summary", f"none{SIGNS}.sugenet"),
    ):
        yield Attack(f"{words[0]}: signs in names ({words[-1][:8]!r})", words, model)
    yield _of_bytes(".csv", "signs in a cell", f"{SIGNS},1\n".encode())
    yield _of_bytes(".table.csv", "signs in a header", f"a{SIGNS},b\n1,2\n".encode())
    yield _of_bytes(".cert.json", "signs in a key", json.dumps({f"k{SIGNS}": 1}).encode())
    yield _of_bytes(".pt", "signs in a name", checkpoint({f"k{SIGNS}": 1}))
    yield _of_bytes(".onnx", "signs in a node", onnx_model([(f"Op{SIGNS}", ["x"], "y", {})]))
    raw = io.BytesIO()
    np.savez(raw, **{f"k{SIGNS}": np.ones(3)})
    yield _of_bytes(".model.npz", "signs in a name", raw.getvalue())
