"""Conversion of bits to 64-bit words and back: the only module that fixes the order of bits."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError

__all__ = ["Words", "check_words", "pack", "pack_signs", "tail_mask", "unpack", "words_for"]

Words = npt.NDArray[np.uint64]

_FULL = (1 << 64) - 1
# the characters of the unsigned 64-bit types, in either byte order
_UINT64 = "QL" if np.dtype("L").itemsize == 8 else "Q"


def words_for(width: int) -> int:
    """Return how many 64-bit words hold `width` bits.

    Examples
    --------
    >>> words_for(64), words_for(65)
    (1, 2)
    """
    return -(-width // 64)


def tail_mask(width: int) -> int:
    """Return the mask of the bits in use in the last of the words that hold `width` bits.

    Examples
    --------
    >>> bin(tail_mask(67))
    '0b111'
    """
    return _FULL >> (-width % 64)


def pack(bits: npt.ArrayLike) -> Words:
    """Pack truth values along the last axis: 1 or True means +1, 0 or False means -1.

    Parameters
    ----------
    bits : array of shape (..., n)
        Booleans, or numbers that are all 0 or 1. For arrays of -1 and +1 use `pack_signs`.

    Returns
    -------
    uint64 array of shape (..., ceil(n / 64))
        Feature ``i`` is bit ``i % 64`` of word ``i // 64``; bits after the last feature are 0.

    Examples
    --------
    >>> pack([[True, False, True], [0, 0, 1]])
    array([[5],
           [4]], dtype=uint64)
    """
    array = _with_last_axis(bits, "bits")
    if array.dtype != np.bool_:
        flags = _equal(array, 1)
        _refuse(
            array,
            flags | _equal(array, 0),
            "bits",
            "0 and 1",
            "An array of -1 and +1 is packed by pack_signs().",
        )
        array = flags
    return _pack_flags(array)


def pack_signs(signs: npt.ArrayLike) -> Words:
    """Pack bipolar values along the last axis: +1 becomes bit 1, -1 becomes bit 0.

    Parameters
    ----------
    signs : array of shape (..., n)
        Numbers that are all -1 or +1. For booleans and arrays of 0 and 1 use `pack`.

    Returns
    -------
    uint64 array of shape (..., ceil(n / 64))
        In the format of `pack`.

    Examples
    --------
    >>> pack_signs([1, -1, 1])
    array([5], dtype=uint64)
    """
    array = _with_last_axis(signs, "signs")
    flags = _equal(array, 1)
    good = flags | _equal(array, -1) if array.dtype != np.bool_ else np.zeros(array.shape, np.bool_)
    _refuse(array, good, "signs", "-1 and +1", "An array of booleans or of 0 and 1 is packed by pack().")
    return _pack_flags(flags)


def unpack(words: npt.ArrayLike, width: int) -> npt.NDArray[np.bool_]:
    """Return the first `width` bits of packed words as booleans; the inverse of `pack`.

    Examples
    --------
    >>> unpack(pack([1, 0, 1]), 3)
    array([ True, False,  True])
    """
    array = np.asarray(words)
    if array.dtype != np.uint64 or array.ndim == 0 or array.shape[-1] != words_for(width):
        raise EncodingError(
            f"words has type {array.dtype} and shape {array.shape}, but {width} bits are held by uint64 "
            f"words of shape (..., {words_for(width)}). Give the words as pack() made them, with the width "
            f"they were packed from."
        )
    octets = np.ascontiguousarray(array).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=width, bitorder="little").view(np.bool_)


def check_words(words: Any, width: int, name: str = "words") -> Words:
    """Return `words` as a C-ordered uint64 array of shape (batch, words), or raise an error."""
    if not (isinstance(words, np.ndarray) and words.dtype.char in _UINT64):
        kind = f"an array of {words.dtype}" if isinstance(words, np.ndarray) else f"a {type(words).__name__}"
        raise EncodingError(
            f"{name} is {kind}, but packed uint64 words are needed. Pack booleans or 0/1 with pack(), -1/+1 "
            f"with pack_signs()."
        )
    if words.ndim != 2 or words.shape[1] != words_for(width):
        raise EncodingError(
            f"{name} has shape {words.shape}, but {width} inputs need shape (batch, {words_for(width)}). "
            f"One sample is a batch of one: {name}[None, :]."
        )
    good = words.flags.c_contiguous and words.flags.aligned and words.dtype.isnative
    return words if good else np.array(words, np.uint64, order="C")


def _with_last_axis(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 0:
        raise EncodingError(
            f"{name} is the single value {values!r}, but an array with the features along its "
            f"last axis is needed."
        )
    return array


def _equal(array: npt.NDArray[Any], value: int) -> npt.NDArray[np.bool_]:
    return np.asarray(array == value, np.bool_)


def _refuse(array: npt.NDArray[Any], good: npt.NDArray[np.bool_], name: str, right: str, advice: str) -> None:
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        raise EncodingError(
            f"{name}{list(where)} is {array[where]!r}, but only {right} can be packed. {advice}"
        )


def _pack_flags(flags: npt.NDArray[np.bool_]) -> Words:
    width = flags.shape[-1]
    octets = np.zeros((*flags.shape[:-1], 8 * words_for(width)), np.uint8)
    octets[..., : -(-width // 8)] = np.packbits(flags, axis=-1, bitorder="little")
    words: Words = octets.view(np.uint64)
    return words if sys.byteorder == "little" else words.byteswap()
