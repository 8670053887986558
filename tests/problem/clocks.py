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


def hold(patch, step=0.0):
    """Let all clocks that the library makes read one that the test holds: it stands still, or goes on by
    `step` seconds whenever somebody looks at it. So no answer depends on how fast the machine is.
    """
    looks = count()
    made = Clock.__init__
    patch.setattr(made, "__defaults__", (*made.__defaults__[:-1], lambda: next(looks) * step))
