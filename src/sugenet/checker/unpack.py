"""Unpack compressed proofs piece by piece, so that a small text cannot fill the memory, and
read lemma steps.
"""

from base64 import b64decode
from collections.abc import Iterator
from itertools import chain
from re import compile as pattern
from typing import Any
from zlib import decompressobj
from zlib import error as zlib_error

from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = ["steps_of", "unpacked"]

_FEED = 1 << 16
_PIECE = 1 << 20
_END = pattern(rb"(?<![^ ])0 ")
"""The end of a step."""
_CLAUSE = pattern(rb"(?:-?[1-9][0-9]{0,18} )*+")
"""Integers in their shortest form, each followed by a space."""
_SUM = b"p "
"""The prefix of a sum."""
_MOST, _LONGEST = 1 << 20, 200
"""Largest number of words of a sum, and of characters of a word."""
_WORD = 21
"""Largest number of characters of a literal and the space after it."""


def unpacked(text: Any, limit: Limit) -> Iterator[bytes]:
    """Yield pieces of at most a megabyte from base64 text of one zlib stream; nothing may
    follow the stream.
    """
    if not isinstance(text, str):
        raise CertificateError("a compressed proof is text.")
    limit.fits(len(text), "a compressed proof")
    reader = decompressobj()
    try:
        data = b64decode(text, validate=True)
        for start in range(0, len(data), _FEED):
            feed, piece = data[start : start + _FEED], None
            while feed or piece is None or len(piece) == _PIECE:  # more data may follow a full piece
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


def steps_of(
    steps: Any, encoding: str | None, max_literals: int, limit: Limit
) -> Iterator[tuple[int, ...] | str]:
    """Yield the steps of a proof: clauses of at most `max_literals` literals, and sums as text.

    The steps are a list, or packed text with a 0 after each step, in which a sum begins with p.
    """
    if isinstance(steps, tuple) != (encoding is None):
        raise CertificateError("clauses are lists, or text with an encoding.")
    if isinstance(steps, tuple):
        yield from steps
        return
    rest = b""
    for piece in chain(unpacked(steps, limit), [b" "]):
        *done, rest = _END.split(rest + piece.replace(b"\n", b" "))
        for step in done:
            yield _step(step, max_literals)
        if len(rest) > (_MOST * _LONGEST if rest.startswith(_SUM) else _WORD * (max_literals + 1)):
            raise CertificateError(
                "a clause has more literals than there are variables, or a sum is too long."
            )
    if rest not in (b"", b" "):  # after the last step at most one space
        raise CertificateError("the last clause does not end.")


def _step(text: bytes, max_literals: int) -> tuple[int, ...] | str:
    if text.startswith(_SUM):
        if text.count(b" ") > _MOST:
            raise CertificateError("a sum is too long.")
        return text[len(_SUM) : -1].decode("latin-1")
    if not _CLAUSE.fullmatch(text):
        raise CertificateError("the proof is damaged: clauses are integers in their shortest form.")
    if text.count(b" ") > max_literals:
        raise CertificateError("a clause has more literals than there are variables.")
    return tuple(map(int, text.split()))
