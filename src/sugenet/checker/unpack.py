"""Compressed proofs, unpacked piece by piece, so that a small text cannot fill the memory; and the steps of a
lemma proof.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from re import compile as pattern
from typing import Any
from zlib import decompressobj
from zlib import error as zlib_error

from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = ["steps_of", "unpacked"]

_FEED = 1 << 16
_PIECE = 1 << 20
_NUMBER = pattern(rb"0|-?[1-9][0-9]{0,18}")
"""An integer in its shortest form."""
_SUM = b"p"
"""The first word of a sum."""
_MOST, _LONGEST = 1 << 20, 200
"""Words of a sum, and characters of a word."""


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


def steps_of(
    steps: Any, encoding: str | None, max_literals: int, limit: Limit
) -> Iterator[tuple[int, ...] | str]:
    """The steps of a proof: clauses of at most so many literals, and sums as text. They are a list, or packed
    text with a 0 after each, where a sum begins with p.
    """
    if isinstance(steps, tuple) != (encoding is None):
        raise CertificateError("clauses are lists, or text with an encoding.")
    if isinstance(steps, tuple):
        yield from steps
        return
    step = list[bytes]()
    for word in _words(steps, limit):
        if word == b"0":
            yield _step(step)
            step = []
            continue
        step.append(word)
        if len(step) > (_MOST if step[0] == _SUM else max_literals):
            raise CertificateError(
                "a clause has more literals than there are variables, or a sum is too long."
            )
    if step:
        raise CertificateError("the last clause does not end.")


def _words(text: Any, limit: Limit) -> Iterator[bytes]:
    rest = b""
    for piece in unpacked(text, limit):
        *tokens, rest = (rest + piece).replace(b"\n", b" ").split(b" ")
        if len(rest) > _LONGEST:
            raise CertificateError("the proof is damaged: a number of a clause is too long.")
        yield from tokens
    if rest:
        yield rest


def _step(tokens: list[bytes]) -> tuple[int, ...] | str:
    if tokens[:1] == [_SUM]:
        return b" ".join(tokens[1:]).decode("latin-1")
    if not all(map(_NUMBER.fullmatch, tokens)):
        raise CertificateError("the proof is damaged: clauses are integers in their shortest form.")
    return tuple(map(int, tokens))
