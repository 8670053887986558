"""Compressed proofs, unpacked piece by piece, so that a small text cannot fill the memory; and clauses."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from re import compile as pattern
from typing import Any
from zlib import decompressobj
from zlib import error as zlib_error

from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = ["literals_of", "unpacked"]

_FEED = 1 << 16
_PIECE = 1 << 20
_NUMBER = pattern(rb"0|-?[1-9][0-9]{0,18}")
"""An integer in its shortest form."""


def unpacked(text: Any, limit: Limit) -> Iterator[bytes]:
    """The pieces, of a megabyte at most, that base64 text of one zlib stream holds;
    nothing may follow the stream.
    """
    if not isinstance(text, str):
        raise CertificateError("a compressed proof is text.")
    limit.fits(len(text), "a compressed proof")
    reader = decompressobj()
    try:
        data = b64decode(text, validate=True)
        for start in range(0, len(data), _FEED):
            feed, piece = data[start : start + _FEED], None
            while feed or piece is None or len(piece) == _PIECE:  # a full piece may have more behind it
                limit.look()
                piece = reader.decompress(feed, _PIECE)
                feed = reader.unconsumed_tail
                if piece:
                    yield piece
            if reader.unused_data or (reader.eof and start + _FEED < len(data)):
                raise CertificateError("something follows the compressed proof.")
    except (zlib_error, ValueError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"the proof is damaged: {error}") from error
    if not reader.eof:
        raise CertificateError("the compressed proof is cut off.")


def literals_of(clauses: Any, encoding: str | None, most: int, limit: Limit) -> Iterator[tuple[int, ...]]:
    """The clauses of a proof, each of at most so many literals: lists, or packed text with a 0 after each."""
    if isinstance(clauses, tuple) != (encoding is None):
        raise CertificateError("clauses are lists, or text with an encoding.")
    if isinstance(clauses, tuple):
        yield from clauses
        return
    rest, clause = b"", list[int]()
    for piece in unpacked(clauses, limit):
        *words, rest = (rest + piece).replace(b"\n", b" ").split(b" ")
        for word in words:
            if not _NUMBER.fullmatch(word):
                raise CertificateError("the proof is damaged: clauses are integers in their shortest form.")
            if word != b"0":
                clause.append(int(word))
                continue
            if len(clause) > most:
                raise CertificateError("a clause has more literals than there are variables.")
            yield tuple(clause)
            clause = []
    if _NUMBER.fullmatch(rest) and rest == b"0":
        yield tuple(clause)
    elif rest or clause:
        raise CertificateError("the last clause does not end.")
