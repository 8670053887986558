"""Read HDF5 files safely. The HDF5 library trusts its files: on some damaged ones it crashes or never
ends. Files are read in a separate process, so both cases become an error. Links out of a file are not
followed. The size of an array is checked before it is read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sugenet.errors import FileError, how_to_install
from sugenet.io.exact.ops import check_numbers
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.arrays import Array
from sugenet.reading import open_file

__all__ = ["Contents", "Hdf5File", "Hdf5Format"]

_REFUSED = 3
"""Exit code of the reading process when it reports an error."""
_MAX_FILE = 1 << 29
_MAX_SPARE = 1 << 26
"""Bytes by which all arrays may exceed the file size (compression, several names for one array)."""
_MAX_PROCESS = 1 << 28
_MAX_TEXTS, _CHUNK = 1 << 18, 1 << 20
_SECONDS, _BYTES_A_SECOND = 10.0, 20e6
"""Time limit of the reading process: for any file, and per byte."""


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of a file: its structure as text, and the arrays of each layer by name."""

    model: str
    arrays: dict[str, dict[str, Array]]
    notes: dict[str, dict[str, str]] = field(default_factory=dict)
    """Further information from the file, by subject."""


@dataclass(frozen=True, eq=False)
class Hdf5Format:
    """One kind of HDF5 file, read in a separate process with the library h5py."""

    module: str
    """The module that runs there. As the main program, it ends with ``sys.exit(FORMAT.main())``."""
    contents: Callable[[Hdf5File, Any], Contents]
    """Function that returns the contents of an open file."""
    damaged: str
    """Error message for unreadable files."""
    whose: str
    extra: str
    """The origin of these files, and the extra that installs h5py."""

    def read(self, path: str | Path, *, apart: bool = True) -> Contents:
        """Return the contents of a file, read in a separate process if `apart` (default: True).

        Raises
        ------
        FileError
            If the file is damaged, or of another kind.
        """
        file = Path(path)
        _check_file(file, self.damaged)
        return self._read_apart(file) if apart and sys.executable else self._opened(file)

    def main(self) -> int:
        """Read one file and write its contents to standard output. This is the other side of `read`."""
        from safetensors.numpy import save

        file = Path(sys.argv[1])
        _limit_memory(3 * file.stat().st_size + _MAX_PROCESS)
        try:
            contents = self._opened(file)
        except FileError as error:
            sys.stderr.buffer.write(str(error).encode())
            return _REFUSED
        indices = [(layer, name) for layer, arrays in contents.arrays.items() for name in arrays]
        tensors = {
            str(k): np.ascontiguousarray(contents.arrays[layer][name])
            for k, (layer, name) in enumerate(indices)
        }
        about = {
            "model": contents.model,
            "places": json.dumps([indices, list(contents.arrays)]),
            "notes": json.dumps(contents.notes),
        }
        sys.stdout.buffer.write(save(tensors, about))
        return 0

    def _read_apart(self, path: Path) -> Contents:
        seconds = _SECONDS + path.stat().st_size / _BYTES_A_SECOND
        command = [sys.executable, "-W", "ignore", "-m", self.module, str(path.resolve())]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise FileError(f"HDF5 did not end with it in {seconds:.0f} seconds. {self.damaged}") from None
        except OSError as error:
            raise FileError(f"the process that reads it could not be started: {error}.") from None
        refuse_if(done.returncode == _REFUSED, done.stderr.decode(errors="replace")[-2000:])
        refuse_if(
            done.returncode,
            f"the HDF5 library broke down on it (exit code {done.returncode}). {self.damaged}",
        )
        return _unpacked(done.stdout, self.damaged)

    def _opened(self, path: Path) -> Contents:
        try:
            import h5py  # type: ignore[import-untyped]
        except ImportError:
            raise FileError(f"reading {self.whose} files needs h5py; {how_to_install(self.extra)}") from None
        try:
            with h5py.File(path, "r") as file:
                return self.contents(Hdf5File(h5py, self.damaged, path.stat().st_size + _MAX_SPARE), file)
        except FileError:
            raise
        except Exception as error:
            why = str(error).strip().splitlines()[:1]
            raise FileError(
                f"HDF5 cannot read it: {why[0][:160] if why else type(error).__name__}. {self.damaged}"
            ) from None


@dataclass
class Hdf5File:
    """An open file: the parts of h5py in use, and how many more bytes arrays may take."""

    h5py: Any
    damaged: str
    left: int

    def group(self, parent: Any, name: str) -> Any:
        """Return a group inside another. Links out of the file are refused."""
        child = self._child(parent, name)
        refuse_if(
            not isinstance(child, self.h5py.Group), f"its group {name[:80]!r} is missing. {self.damaged}"
        )
        return child

    def dataset(self, group: Any, name: str, what: str) -> Any:
        """Return the dataset of a group with a name. Groups, and data in other files, are refused."""
        data = self._child(group, name)
        refuse_if(
            not isinstance(data, self.h5py.Dataset) or data.is_virtual or data.external or data.shape is None,
            f"{what} is missing, or is in another file. {self.damaged}",
        )
        return data

    def array(self, group: Any, name: str, what: str) -> Array:
        """Return an array of numbers from a group."""
        data = self.dataset(group, name, what)
        refuse_if(
            data.dtype.kind not in "fiu" or data.dtype.itemsize > 8,
            f"{what} has dtype {data.dtype}, but numbers are needed. {self.damaged}",
        )
        size = max(prod(data.shape), prod(data.chunks or ())) * data.dtype.itemsize
        self.left -= size
        refuse_if(
            self.left < 0,
            f"{what} of shape {data.shape} takes {size} bytes, and its arrays together far more than the "
            f"file. {self.damaged}",
        )
        array = np.asarray(data[()])
        check_numbers(what, array)
        return array

    def _child(self, parent: Any, name: str) -> Any:
        is_hard = isinstance(parent.get(name, getlink=True), self.h5py.HardLink)
        return parent.get(name) if is_hard else None


def _limit_memory(limit: int) -> None:
    """Limit the further memory of this process to a number of bytes. A compressed part may expand without
    end.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])
        limit += pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    except (ImportError, OSError, ValueError, IndexError):
        return


def _unpacked(raw: bytes, damaged: str) -> Contents:
    from safetensors.numpy import load

    try:
        about = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
        indices, layers = json.loads(about["places"])
        tensors = load(raw)
        arrays: dict[str, dict[str, Array]] = {layer: {} for layer in layers}
        for k, (layer, name) in enumerate(indices):
            arrays[layer][name] = tensors[str(k)]
        return Contents(about["model"], arrays, json.loads(about["notes"]))
    except Exception as error:
        raise FileError(
            f"the process that reads it answered nonsense ({type(error).__name__}). {damaged}"
        ) from None


def _check_file(path: Path, damaged: str) -> None:
    """Refuse files that are not HDF5, are too large, or would make the library loop forever."""
    try:
        with open_file(path, _MAX_FILE) as stream:
            start = stream.read(8)
            refuse_if(start != b"\x89HDF\r\n\x1a\n", "it is not an HDF5 file.")
            _check_heaps(stream, damaged)
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None


def _check_heaps(stream: BinaryIO, damaged: str) -> None:
    """Check the heaps in which HDF5 stores texts. The library never ends on one with an object of size 0."""
    total, steps = stream.seek(0, 2), 0
    for at in _indices_of(b"GCOL", stream):
        stream.seek(at + 8)
        position, end = at + 16, at + int.from_bytes(stream.read(8), "little")
        while position + 16 <= min(end, total):
            stream.seek(position)
            raw = stream.read(16)
            index, size = int.from_bytes(raw[:2], "little"), int.from_bytes(raw[8:], "little")
            step = size if index == 0 else 16 + -(-size // 8) * 8
            steps += 1
            if step < 16 or position + step > end or steps > _MAX_TEXTS:
                raise FileError(f"a heap of texts is broken at byte {position}. {damaged}")
            position += step


def _indices_of(mark: bytes, stream: BinaryIO) -> list[int]:
    """Return the positions of a byte marker in a file, read in pieces."""
    positions: list[int] = []
    start, before = stream.seek(0), b""
    while chunk := stream.read(_CHUNK):
        raw = before + chunk
        at = raw.find(mark)
        while at >= 0:
            positions.append(start - len(before) + at)
            at = raw.find(mark, at + 1)
        start, before = start + len(chunk), raw[-len(mark) + 1 :]
    return positions
