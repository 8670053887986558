"""The notice about compilation: once, and only where something is compiled."""

from __future__ import annotations

import pytest

from sugenet.compiling import _Watch, notify_compiling

numba = pytest.importorskip("numba")


def test_one_word_for_all_that_is_compiled_meanwhile():
    told: list[str] = []
    double, half = numba.njit(lambda x: 2 * x), numba.njit(lambda x: x // 2)
    with notify_compiling(told.append):
        assert half(double(3)) == 3
    assert told == ["compiling, once for this machine ..."]


def test_no_word_where_nothing_is():
    told: list[str] = []
    double = numba.njit(lambda x: 2 * x)
    with notify_compiling(None):
        double(3)
    with notify_compiling(told.append):
        double(4)
    double(2.5)  # outside
    assert told == []


def test_what_began_unheard_does_not_end_what_is_heard():
    watch = _Watch()
    watch.end()  # of something that began before
    watch.begin(None)
    assert watch.depth == 1
    watch.end()
    assert (watch.depth, watch.before > 0) == (0, True)
