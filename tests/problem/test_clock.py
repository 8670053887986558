"""The clock, read from a time that the test gives."""

from __future__ import annotations

from itertools import count

import pytest

from sugenet.compiling import compiling_seconds
from sugenet.problem.clock import Clock, TimeUpError


def test_time_runs_out_once():
    clock = Clock(3, now=count().__next__)
    assert [clock.up() for _ in range(4)] == [False, False, True, True]
    assert clock.left() == 0.0


def test_no_limit_never_runs_out():
    clock = Clock(now=count().__next__)
    assert not any(clock.up() for _ in range(100))
    assert clock.left() is None
    assert clock.share(0.5).left() is None


def test_parts_of_the_time():
    times = iter([0, 4, 4, 4, 4, 5])
    clock = Clock(10, 2, 7, now=lambda: next(times))
    assert clock.within(3).time_limit == 3
    assert clock.share(0.5).time_limit == 3
    assert clock.left() == 5


def test_a_part_is_never_longer_than_what_is_left_and_keeps_the_rest():
    told = []
    times = iter([0, 9, 9])
    part = Clock(10, 2, 7, told.append, lambda: next(times)).within(5)
    assert (part.time_limit, part.threads, part.seed) == (1, 2, 7)
    part.tell("a word")
    assert told == ["a word"]


def test_compiling_does_not_count():
    numba = pytest.importorskip("numba")
    clock = Clock(5)
    before = compiling_seconds()
    numba.njit(lambda x: x + 1)(1)
    assert compiling_seconds() > before
    clock.now = lambda: clock.start + compiling_seconds() - before  # nothing else took any time
    assert clock.seconds == pytest.approx(0, abs=1e-6)
    assert clock.left() == pytest.approx(5)


def test_a_clock_interrupts_a_step():
    clock = Clock(2, now=count().__next__)
    clock.see()
    with pytest.raises(TimeUpError):
        clock.see()
