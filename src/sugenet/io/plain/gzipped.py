"""Read gzip archives within limits; decompression bombs are refused early."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from sugenet.errors import FileError
from sugenet.io.plain.refusals import named, refuse_if
from sugenet.reading import read_file

__all__ = ["plain_file", "unzipped"]

MODEL_LIMIT = 1 << 30
_MARK = b"\x1f\x8b"
_CHUNK = 1 << 16
_MEMBERS = 1 << 17
_FREELY, _RATIO = 1 << 25, 16
"""Decompressed bytes allowed for any archive, and the largest ratio to its own size for a large one."""


def unzipped(raw: bytes, limit: int) -> bytes:
    """Decompress bytes if they are a gzip archive, otherwise return them unchanged.

    Examples
    --------
    >>> import gzip
    >>> unzipped(gzip.compress(b"a,b") + gzip.compress(b",c"), 100), unzipped(b"a,b", 100)
    (b'a,b,c', b'a,b')
    >>> unzipped(gzip.compress(bytes(1 << 10)), 1 << 9)
    Traceback (most recent call last):
    sugenet.errors.FileError: it is a gzip archive of more than 512 bytes, the limit.
    """
    if not raw.startswith(_MARK):
        return raw
    likely = max(_FREELY, _RATIO * len(raw))
    way_out = " Unpack it first if you trust it." if likely < limit else ""
    limit = min(limit, likely)
    out, view, at, members = BytesIO(), memoryview(raw), 0, 0
    while at < len(raw):
        members += 1
        machine = zlib.decompressobj(wbits=31)
        while not machine.eof:
            refuse_if(at >= len(raw), "it is a gzip archive that is cut off.")
            part = view[at : at + _CHUNK]
            try:
                out.write(machine.decompress(part, limit + 1 - out.tell()))
            except zlib.error as error:
                raise FileError(f"it is a gzip archive that is damaged ({error}).") from None
            if out.tell() > limit or members > _MEMBERS:
                raise FileError(f"it is a gzip archive of more than {limit:,} bytes, the limit.{way_out}")
            at += len(part) - len(machine.unused_data)
        if not raw.startswith(_MARK, at):
            # Zeros may follow as padding.
            refuse_if(
                raw[at:].strip(b"\0"),
                "it is a gzip archive that is damaged (other data follow it).",
            )
            break
    return out.getvalue()


@contextmanager
def plain_file(path: str | Path, limit: int = MODEL_LIMIT) -> Iterator[Path]:
    """Yield the file itself, or a temporary decompressed copy if its name ends in ``.gz``.

    The copy has the rest of the name.
    """
    source = Path(path)
    if source.suffix.lower() != ".gz" or not source.is_file():
        yield source
        return
    with named(source.name):
        raw = unzipped(read_file(source, limit), limit)
    with TemporaryDirectory() as folder:
        plain = Path(folder) / source.stem
        plain.write_bytes(raw)
        yield plain
