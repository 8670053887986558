"""Large counts in words."""

from __future__ import annotations

__all__ = ["magnitude", "written"]

WRITTEN_BITS = 14_000  # larger counts are given as text: Python refuses to write them out


def magnitude(count: int) -> str:
    """A count, written out while that is readable."""
    if count < 10**15:
        return f"{count:,}"
    # at most one too small, without writing a huge number out
    power = (count.bit_length() - 1) * 30103 // 100000
    return f"about 10^{power + (count >= 10 ** (power + 1))}"


def written(count: int | None) -> int | str | None:
    """A count for JSON: the number itself while it can be written out."""
    return count if count is None or count.bit_length() < WRITTEN_BITS else magnitude(count)
