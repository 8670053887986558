"""Clocks for tests that wait for nothing."""

from __future__ import annotations

from itertools import count

from sugenet.problem.clock import Clock


def ringing(looks):
    """A clock whose time is up once it has been looked at so many times."""
    return Clock(looks + 1, now=count().__next__)


def interrupting(looks):
    """A clock at which Ctrl-C comes once it has been looked at so many times."""
    numbers = count()

    def look():
        if next(numbers) > looks:
            raise KeyboardInterrupt
        return 0

    return Clock(1, now=look)
