"""Compressed proofs, unpacked piece by piece, so that a small text cannot fill the memory."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any
from zlib import decompressobj
from zlib import error as zlib_error

from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = ["unpacked"]

_FEED = 1 << 16
_PIECE = 1 << 20


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
