"""Packing: the order of bits, the way back, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.bits import pack, pack_signs, unpack, words_for
from sugenet.bits.words import check_words, tail_mask
from sugenet.errors import SugenetError

WIDTHS = [0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 784]


@pytest.mark.parametrize("width", WIDTHS)
def test_feature_i_is_bit_i_mod_64_of_word_i_div_64(width: int) -> None:
    for i in range(width):
        bits = np.zeros(width, bool)
        bits[i] = True
        words = pack(bits)
        assert words.shape == (words_for(width),)
        assert [int(word) for word in words] == [
            (1 << (i % 64)) if k == i // 64 else 0 for k in range(words_for(width))
        ]


@pytest.mark.parametrize("width", WIDTHS)
def test_unpack_is_the_way_back_and_padding_is_zero(width: int) -> None:
    bits = np.random.default_rng(width).random((3, 2, width)) < 0.5
    words = pack(bits)
    assert words.dtype == np.uint64
    assert words.shape == (3, 2, words_for(width))
    assert np.array_equal(unpack(words, width), bits)
    if width:
        assert not (pack(np.ones((2, width), bool))[:, -1] & ~np.uint64(tail_mask(width))).any()


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_all_spellings_of_the_same_bits_pack_alike(bits: list[bool]) -> None:
    flags = np.array(bits)
    words = pack(flags)
    for dtype in (np.int8, np.uint8, np.int64, np.float32, object):
        assert np.array_equal(pack(flags.astype(dtype)), words)
        if dtype is not np.uint8:
            assert np.array_equal(pack_signs(np.where(flags, 1, -1).astype(dtype)), words)
    assert sum(int(word) << (64 * k) for k, word in enumerate(words)) == sum(
        1 << i for i, bit in enumerate(bits) if bit
    )


def test_strided_arrays_pack_like_their_copies() -> None:
    bits = np.random.default_rng(1).random((6, 200)) < 0.5
    assert np.array_equal(pack(bits[::2, ::-3]), pack(bits[::2, ::-3].copy()))
    assert np.array_equal(pack(bits.T), pack(bits.T.copy()))
    words = pack(bits)
    assert np.array_equal(unpack(words[::-2], 200), bits[::-2])


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (pack, [0, 1, -1], r"bits\[2\] is .*-1.*only 0 and 1.*pack_signs\(\)"),
        (pack, [[0.5]], r"bits\[0, 0\] is .*0\.5"),
        (pack, [np.nan], r"bits\[0\] is .*nan"),
        (pack, 1, "single value 1"),
        (pack_signs, [1, 0], r"signs\[1\] is .*0.*only -1 and \+1.*pack\(\)"),
        (pack_signs, [True, False], "only -1 and"),
        (pack_signs, np.array(1), "single value"),
    ],
)
def test_refuses_other_values(function: object, values: object, message: str) -> None:
    with pytest.raises(SugenetError, match=message):
        function(values)  # type: ignore[operator]


@pytest.mark.parametrize("words", [np.zeros((2, 2), np.uint64), np.zeros((2, 1), np.int64), np.uint64(3)])
def test_unpack_refuses_words_of_another_width(words: object) -> None:
    with pytest.raises(SugenetError, match="64 bits are held by uint64 words of shape"):
        unpack(words, 64)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (np.zeros((2, 2), np.int64), r"array of int64.*pack\(\)"),
        (np.zeros((2, 70), bool), r"array of bool.*pack\(\)"),
        ([[1, 2]], r"is a list.*pack\(\)"),
        (np.zeros((2, 3), np.uint64), r"shape \(2, 3\), but 70 inputs need shape \(batch, 2\)"),
        (np.zeros(2, np.uint64), r"words\[None, :\]"),
    ],
)
def test_check_words_says_what_is_wrong(words: object, message: str) -> None:
    with pytest.raises(SugenetError, match=message):
        check_words(words, 70)


def test_check_words_keeps_good_arrays_and_copies_the_others() -> None:
    words = np.arange(12, dtype=np.uint64).reshape(6, 2)
    assert check_words(words, 70) is words
    for other in (words[::2], np.asfortranarray(words), words.astype(">u8")):
        got = check_words(other, 70)
        assert np.array_equal(got, other)
        assert got.flags.c_contiguous
        assert got.dtype.isnative
