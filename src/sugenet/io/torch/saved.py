"""Read files of `torch.save` as plain values and arrays, without running code.

A pickle is a program. This reader follows its steps and calls nothing. Dicts, lists, texts and numbers are
read as such, tensors as views of their storages, and every other name raises a `FileError`. A storage is read
only when its tensor is, and is never larger than its data in the file.
"""

import pickletools
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import check_numbers
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.io.torch.reader import require_torch
from sugenet.nn.arrays import Array
from sugenet.reading import open_file

__all__ = [
    "PLAIN",
    "Arrays",
    "OtherObject",
    "SavedTensor",
    "arrays_of_state",
    "open_saved",
    "read_checkpoint",
]

PLAIN = "Save the parameters alone: torch.save(model.state_dict(), path)."
_MAX_FILE = 1 << 30
_MAX_ENTRIES = 100_000
_MAX_STEPS, _MAX_PICKLE, _MAX_LINE = 1 << 19, 1 << 26, 1 << 12
_MAX_DIMENSIONS = 32
_SPARE = 1 << 26
"""Maximum bytes of arrays beyond twice the file size."""
_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001

_STORAGES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
    "ComplexFloatStorage": "c8",
    "ComplexDoubleStorage": "c16",
}
_OTHER_STORAGES = ("QInt8Storage", "QInt32Storage", "QUInt8Storage", "QUInt4x2Storage", "QUInt2x4Storage")
_UTILS = "torch._utils."
_TENSORS = (f"{_UTILS}_rebuild_tensor_v2", f"{_UTILS}_rebuild_tensor")
_PARAMETERS = (f"{_UTILS}_rebuild_parameter", f"{_UTILS}_rebuild_parameter_with_state")
_SUBCLASS = "torch._tensor._rebuild_from_type_v2"
_QUANTIZED = f"{_UTILS}_rebuild_qtensor"
_DICTS = ("collections.OrderedDict", "builtins.dict")
_OPAQUE = {
    "collections.Counter",
    "collections.defaultdict",
    "builtins.set",
    "builtins.complex",
    "_codecs.encode",
    "torch.Size",
    "torch.Tensor",
    "torch.device",
    "torch.nn.parameter.Parameter",
    "torch.serialization._get_layout",
    *(
        f"{_UTILS}_rebuild_{kind}"
        for kind in ("qtensor", "sparse_tensor", "tensor_v3", "meta_tensor_no_storage")
    ),
    *(f"torch.{kind}_{how}" for kind in ("per_tensor", "per_channel") for how in ("affine", "symmetric")),
    *(f"torch.{kind}{bits}" for kind in ("float", "int") for bits in (16, 32, 64)),
    *(f"torch.{kind}" for kind in ("bfloat16", "int8", "uint8", "bool", "qint8", "quint8", "qint32")),
}
"""Names that a checkpoint may have beside its parameters. Their objects are not created."""
_KNOWN = {
    *_TENSORS,
    *_PARAMETERS,
    _SUBCLASS,
    *_DICTS,
    *_OPAQUE,
    *(f"torch.{name}" for name in (*_STORAGES, *_OTHER_STORAGES)),
    "torch.storage.UntypedStorage",
    "torch.storage.TypedStorage",
}


@dataclass(frozen=True)
class OtherObject:
    """A value that is neither plain nor a tensor of numbers, by the name of its constructor."""

    name: str

    @property
    def is_quantized(self) -> bool:
        """Whether it is a quantized tensor."""
        return self.name == _QUANTIZED


class _Allowance:
    """Memory budget for the arrays of a file: several tensors can share one storage."""

    def __init__(self, size: int) -> None:
        self.size, self.left = size, 2 * size + _SPARE

    def spend(self, count: int) -> None:
        """Refuse arrays that exceed the budget."""
        self.left -= count
        refuse_if(
            self.left < 0,
            f"its tensors share their numbers, and take far more than the {self.size:,} bytes of the "
            f"file. {PLAIN}",
        )


@dataclass(frozen=True, eq=False)
class _Storage:
    dtype: str
    count: int
    read: Callable[[], bytes]
    budget: _Allowance
    order: str = "<"

    @property
    def itemsize(self) -> int:
        return 2 if self.dtype == "bfloat16" else np.dtype(self.dtype).itemsize


@dataclass(frozen=True, eq=False)
class SavedTensor:
    """A tensor of a file, as a view of a storage that is not read yet."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self) -> None:
        row = (self.offset, *self.shape, *self.strides)
        refuse_if(
            len(self.shape) != len(self.strides)
            or len(self.shape) > _MAX_DIMENSIONS
            or not all(type(size) is int and 0 <= size < 1 << 40 for size in row),
            "a tensor has invalid sizes.",
        )
        last = self.offset + sum(
            (size - 1) * step for size, step in zip(self.shape, self.strides, strict=True)
        )
        refuse_if(
            prod(self.shape) and last >= self.storage.count,
            f"a tensor of shape {self.shape} ends at number {last + 1} of {self.storage.count} that are "
            "stored for it.",
        )

    @property
    def nbytes(self) -> int:
        """Size of its array in bytes; half floats become float32."""
        return prod(self.shape) * max(self.storage.itemsize, 4 if self._is_half else 1)

    @property
    def _is_half(self) -> bool:
        return self.storage.dtype in ("f2", "bfloat16")

    def array(self) -> Array:
        """Return the numbers, in a separate array."""
        self.storage.budget.spend(self.nbytes)
        kind = {"bfloat16": "u2", "?": "u1"}.get(self.storage.dtype, self.storage.dtype)
        dtype = np.dtype(self.storage.order + kind)
        flat = np.frombuffer(self.storage.read(), dtype)[self.offset :]
        steps = [step * dtype.itemsize for step in self.strides]
        view = np.lib.stride_tricks.as_strided(flat, self.shape, steps) if prod(self.shape) else None
        array = np.zeros(self.shape, dtype) if view is None else np.array(view)
        array = array.astype(dtype.newbyteorder("="), copy=False)
        match self.storage.dtype:
            case "bfloat16":
                return np.asarray(array.astype(np.uint32) << 16).view(np.float32)
            case "f2":
                return array.astype(np.float32)
            case "?":
                return np.asarray(array != 0)
        return array


@contextmanager
def open_saved(path: str | Path) -> Iterator[Any]:
    """Open a file of `torch.save`, and yield its contents; tensors can be read while it is open.

    Raises
    ------
    FileError
        If the file is damaged, needs code to be run, or claims more than it contains.
    """
    try:
        with open_file(path, _MAX_FILE) as stream:
            start = stream.read(4)
            size = stream.seek(0, 2)
            stream.seek(0)
            refuse_if(not start, f"it has 0 bytes; a checkpoint has 1 to {_MAX_FILE} (1 GiB).")
            if start == b"PK\x03\x04":
                with zipfile.ZipFile(stream) as archive:
                    yield _of_archive(archive, size)
            elif start[:1] == b"\x80":
                yield _of_pickles(stream, size)
            else:
                raise FileError("it is not a checkpoint of torch.save: neither a zip archive nor a pickle.")
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, RuntimeError) as error:
        raise FileError(f"its archive is damaged: {str(error)[:160]}.") from None


# -- the two formats -----------------------------------------------------------------------------------------


def _of_archive(archive: zipfile.ZipFile, size: int) -> Any:
    entries = {entry.filename: entry for entry in archive.infolist()}
    refuse_if(
        any(name.endswith("constants.pkl") or "/code/" in name for name in entries),
        f"it is a TorchScript archive, which holds code. {PLAIN}",
    )
    refuse_if(
        any(entry.compress_type for entry in entries.values())
        or sum(entry.file_size for entry in archive.infolist()) > size
        or len(archive.infolist()) > _MAX_ENTRIES,
        f"its archive unpacks to more than its {size} bytes, which torch.save never does.",
    )
    refuse_if(len(entries) < len(archive.infolist()), "one part of its archive is there twice.")
    folders = [name.removesuffix("data.pkl") for name in entries if name.endswith("/data.pkl")]
    refuse_if(len(folders) != 1, "it is a zip archive, but not of torch.save.")
    order = f"{folders[0]}byteorder"
    budget = _Allowance(size)
    is_big = order in entries and archive.read(entries[order])[:3] == b"big"

    def storage(dtype: str, key: str, count: int) -> _Storage:
        entry = entries.get(f"{folders[0]}data/{key}")
        stored = _Storage(
            dtype, count, lambda: archive.read(entry) if entry else b"", budget, ">" if is_big else "<"
        )
        refuse_if(
            entry is None or entry.file_size != count * stored.itemsize,
            f"storage {key[:40]!r} takes {count * stored.itemsize} bytes, but "
            f"{entry.file_size if entry else 0} are there.",
        )
        return stored

    with archive.open(entries[f"{folders[0]}data.pkl"]) as program:
        return _PickleSteps(storage).run(program)


def _of_pickles(stream: IO[bytes], size: int) -> Any:
    """Read the format before 2020: a few pickles, then the storages one by one."""
    budget = _Allowance(size)
    known: dict[str, _Storage] = {}
    indices: dict[str, int] = {}

    def storage(dtype: str, key: str, count: int) -> _Storage:
        def read() -> bytes:
            stream.seek(indices[key])
            return stream.read(count * known[key].itemsize)

        registered = known.setdefault(key, _Storage(dtype, count, read, budget))
        refuse_if(
            (registered.dtype, registered.count) != (dtype, count),
            f"storage {key[:40]!r} is there with two sizes.",
        )
        return registered

    head = [_PickleSteps(storage).run(stream) for _ in range(3)]
    refuse_if(
        head[0] != _MAGIC or head[1] != _PROTOCOL or not isinstance(head[2], dict),
        f"it is a pickle, but no checkpoint of torch.save. {PLAIN}",
    )
    refuse_if(
        head[2].get("little_endian") is not True,
        f"it was written on a machine with another order of bytes. {PLAIN}",
    )
    contents, keys = _PickleSteps(storage).run(stream), _PickleSteps(storage).run(stream)
    refuse_if(not isinstance(keys, list), "its list of storages is missing.")
    for key in keys:
        stored = known.get(key) if isinstance(key, str) else None
        if stored is None or key in indices or int.from_bytes(stream.read(8), "little") != stored.count:
            raise FileError("its storages are not those of its tensors.")
        indices[key] = stream.tell()
        refuse_if(
            stream.seek(stored.count * stored.itemsize, 1) > size, "it is cut off: a storage is not whole."
        )
    refuse_if(len(indices) < len(known), "a storage of its tensors is missing.")
    return contents


# -- pickles -------------------------------------------------------------------------------------------------


class _Name(str):
    """A name that a pickle would import."""

    __slots__ = ()


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_LITERALS = {
    *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "INT", "LONG", "FLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE"),
    *("BINSTRING", "SHORT_BINSTRING", "STRING", "BINBYTES", "SHORT_BINBYTES"),
}
_PUTS, _GETS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), ("GET", "BINGET", "LONG_BINGET")


class _Short:
    """A stream that limits how much a pickle can read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.left = stream, _MAX_PICKLE

    def read(self, count: int) -> bytes:
        """Return some bytes."""
        self.left -= count
        if self.left < 0:
            raise FileError(f"its pickle has more than {_MAX_PICKLE:,} bytes.")
        return self.stream.read(count)

    def readline(self) -> bytes:
        """Return a line of limited length."""
        line = self.stream.readline(_MAX_LINE)
        self.left -= len(line)
        return line


class _PickleSteps:
    """The steps of a pickle over plain values; nothing is imported or called."""

    def __init__(self, storage: Callable[[str, str, int], _Storage]) -> None:
        self.storage = storage
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.steps = 0

    def run(self, stream: IO[bytes]) -> Any:
        """Return the value with which the program ends."""
        try:
            for code, argument, _ in pickletools.genops(cast(IO[bytes], _Short(stream))):
                self.steps += 1
                if self.steps > _MAX_STEPS:
                    raise FileError(f"its pickle has more than {_MAX_STEPS:,} steps.")
                if code.name == "STOP":
                    return self.last(1)[0]
                self.step(code.name, argument)
        except FileError:
            raise
        except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
            raise FileError(f"its pickle is damaged: {str(error)[:80] or type(error).__name__}.") from None
        raise FileError("its pickle is damaged: it has no end.")

    def step(self, code: str, argument: Any) -> None:
        """Run one step, by the name of its opcode."""
        stack = self.stack
        match code:
            case _ if code in _LITERALS:
                if isinstance(argument, int) and argument.bit_length() > 128:
                    raise FileError("a number of its pickle has too many digits.")
                stack.append(argument)
            case _ if code in _CONSTANTS:
                stack.append(_CONSTANTS[code]())
            case _ if code in _PUTS:
                self.memo[len(self.memo) if argument is None else argument] = stack[-1]
            case _ if code in _GETS:
                stack.append(self.memo[argument])
            case "MARK":
                self.marks.append(len(stack))
            case "TUPLE":
                stack.append(tuple(self.marked()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(self.last(int(code[5:]))))
            case "APPEND" | "APPENDS":
                items = self.marked() if code == "APPENDS" else self.last(1)
                self.top(list).extend(items)
            case "SETITEM" | "SETITEMS":
                items = self.marked() if code == "SETITEMS" else self.last(2)
                self.top(dict).update(zip(map(_key, items[::2]), items[1::2], strict=True))
            case "GLOBAL":
                stack.append(_named(*argument.split(" ", 1)))
            case "STACK_GLOBAL":
                stack.append(_named(*self.last(2)))
            case "REDUCE" | "NEWOBJ":
                stack.append(self.made(*self.last(2)))
            case "BUILD":
                self.last(1)  # attributes, which plain values do not have
            case "BINPERSID":
                stack.append(self.stored(*self.last(1)))
            case _ if code not in ("PROTO", "FRAME"):
                raise FileError(f"its pickle has the step {code}, which torch.save never writes. {PLAIN}")

    def last(self, count: int) -> list[Any]:
        """Pop the last values from the stack, but none before a mark."""
        start = len(self.stack) - count
        if start < (self.marks[-1] if self.marks else 0):
            raise IndexError("a value is missing")
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def marked(self) -> list[Any]:
        """Pop all values after the last mark, and the mark."""
        values = self.last(len(self.stack) - self.marks[-1])
        self.marks.pop()
        return values

    def top(self, kind: type) -> Any:
        """Return the container that items are added to; a new one for an object that is not created."""
        target = self.stack[-1]
        if not isinstance(target, kind | OtherObject):
            raise TypeError(f"items are added to a value that is not a {kind.__name__}")
        return kind() if isinstance(target, OtherObject) else target

    def made(self, name: Any, args: Any) -> Any:
        """Return the result of a call, if it is a plain value or a tensor."""
        if not isinstance(name, _Name) or not isinstance(args, tuple):
            raise TypeError("a call of a value that is not a function")
        if name == _SUBCLASS and args[0] != _SUBCLASS:
            return self.made(args[0], args[2])
        if name in _PARAMETERS:
            return args[0]
        if name in _TENSORS and isinstance(args[0], _Storage):
            return SavedTensor(args[0], args[1], _sizes(args[2]), _sizes(args[3]))
        if name in _DICTS:
            pairs = args[0] if args else []
            self.steps += len(pairs)
            return {_key(key): value for key, value in pairs}
        return _sizes(args[0]) if name == "torch.Size" else OtherObject(name)

    def stored(self, reference: Any) -> Any:
        """Return the storage that a tensor refers to."""
        word, kind, key, _, count, *view = reference
        refuse_if(
            word != "storage" or not isinstance(kind, _Name) or not isinstance(key, str) or any(view),
            f"its pickle refers to a value that is not a storage. {PLAIN}",
        )
        refuse_if(
            type(count) is not int or not 0 <= count < 1 << 40,
            f"storage {key[:40]!r} has an invalid size.",
        )
        dtype = _STORAGES.get(kind.rpartition(".")[2])
        return OtherObject(kind) if dtype is None else self.storage(dtype, key, count)


def _key(key: Any) -> Any:
    """Return a key of a dict; deeply nested ones would take too long to compare."""
    refuse_if(
        isinstance(key, tuple) and (len(key) > 32 or any(isinstance(part, tuple) for part in key)),
        f"its pickle has a dict whose keys are long or nested tuples. {PLAIN}",
    )
    return key


def _named(module: Any, name: Any) -> _Name:
    full_name = f"{module}.{name}".replace("__builtin__.", "builtins.")
    refuse_if(
        full_name not in _KNOWN, f"reading it would run code ({full_name[:80]}), which is never done. {PLAIN}"
    )
    return _Name(full_name)


def _sizes(row: Any) -> tuple[Any, ...]:
    refuse_if(not isinstance(row, tuple | list) or len(row) > _MAX_DIMENSIONS, "a tensor has invalid sizes.")
    return tuple(row)


Arrays = dict[str, Array]
"""Parameters by name, as stored in the file."""

_MAX_NAME = 1 << 10
_INSIDE = ("state_dict", "model_state_dict", "model", "net", "network")


def read_checkpoint(path: str | Path) -> Arrays:
    """Read the parameters in a `.pt`, `.pth` or `.tar` file of `torch.save`: a state dict, or a dict with
    one.

    Raises
    ------
    FileError
        If the file is damaged, needs code to be run, or has tensors that claim more memory than the file has.
    """
    file = Path(path)
    with within(file.name), open_saved(file) as contents:
        return arrays_of_state(_read(_state(contents), file.stat().st_size))


def arrays_of_state(state: Mapping[str, Any]) -> Arrays:
    """Return tensors or arrays by name, as arrays; names lose the ``module.`` of data-parallel training.

    Examples
    --------
    >>> arrays_of_state({"module.fc.weight": np.ones((2, 3))})
    {'fc.weight': array([[1., 1., 1.],
           [1., 1., 1.]])}
    >>> arrays_of_state({"fc.weight": np.ones((2, 3)), "fc.scale": 0.5})
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: 'fc.scale' is a float and not a tensor, so its meaning is not known. Take it
    out, or save the parameters alone: torch.save(model.state_dict(), path).
    """
    arrays = {}
    for name, value in state.items():
        refuse_if(
            not isinstance(name, str) or len(name) > _MAX_NAME,
            f"a state dict has names, but {str(name)[:80]!r} is not one. {PLAIN}",
        )
        refuse_if(
            "_packed_params" in name or getattr(value, "is_quantized", False),
            f"{name[:80]!r} is of a quantized module, whose file does not say how its layers follow each "
            "other. Load it into the module and read that: from_torch(module, example).",
        )
        refuse_if(
            not isinstance(value, np.ndarray) and not hasattr(value, "detach"),
            f"{name[:80]!r} is a {_kind(value)} and not a tensor, so its meaning is not known. "
            f"Take it out, or s{PLAIN[1:]}",
        )
        arrays[name] = value if isinstance(value, np.ndarray) else _array(name, value)
    refuse_if(not arrays, f"it has no tensors. {PLAIN}")
    if all(name.startswith("module.") for name in arrays):
        arrays = {name.removeprefix("module."): array for name, array in arrays.items()}
    for name, array in arrays.items():
        check_numbers(repr(name[:80]), array)
    return arrays


def _read(state: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return the tensors of a file as arrays; `size` is its number of bytes."""
    for name, value in state.items():
        if isinstance(value, SavedTensor) and prod(value.shape) * value.storage.itemsize > size:
            raise FileError(
                f"{str(name)[:80]!r} of shape {value.shape} takes more than the {size} bytes of the file."
            )
    return {name: value.array() if isinstance(value, SavedTensor) else value for name, value in state.items()}


def _kind(value: Any) -> str:
    return value.name if isinstance(value, OtherObject) else type(value).__name__


def _state(contents: Any) -> Mapping[str, Any]:
    for _ in _INSIDE:  # a pickle may contain itself
        inside = [
            key for key in _INSIDE if isinstance(contents, Mapping) and isinstance(contents.get(key), Mapping)
        ]
        refuse_if(
            len(inside) > 1,
            f"it holds several state dicts: {', '.join(inside)}. Save the one of the network alone, or "
            f"give it as a dict.",
        )
        contents = contents[inside[0]] if inside else contents
    if not isinstance(contents, Mapping):
        raise FileError(f"it holds a {_kind(contents)} and not a state dict. {PLAIN}")
    return contents


def _array(name: str, tensor: Any) -> Array:
    torch = require_torch()
    refuse_if(
        not isinstance(tensor, torch.Tensor)
        or tensor.layout != torch.strided
        or tensor.device.type != "cpu"
        or tensor.is_quantized,
        f"{name[:80]!r} is not a plain tensor. {PLAIN}",
    )
    refuse_if(tensor.is_complex(), f"{name[:80]!r} holds complex numbers.")
    plain = tensor.detach()
    if plain.dtype in (torch.float16, torch.bfloat16):
        plain = plain.float()
    return np.array(plain.numpy())
