"""Everything sugenet raises on purpose, in one tree.

::

    SugenetError
    ├── CapacityError            a set function, or what it is asked, is not what it must be
    │   ├── ScaleError           a value that is not on the scale
    │   ├── CriteriaError        an unknown, doubled or missing criterion
    │   ├── NotMonotoneError     a larger set worth less than a smaller one
    │   └── TooLargeError        right, but more work than fits: says what to use instead
    └── RuleSyntaxError          a rule or a base that cannot be read

All of them are `ValueError`s too, since each names a wrong value and what would be right.
"""

__all__ = [
    "CapacityError",
    "CriteriaError",
    "NotMonotoneError",
    "RuleSyntaxError",
    "ScaleError",
    "SugenetError",
    "TooLargeError",
]


class SugenetError(ValueError):
    """Base of all errors that sugenet raises on purpose."""


class CapacityError(SugenetError):
    """A set function, or a question to it, is not what it must be."""


class ScaleError(CapacityError):
    """A value is not on the scale."""


class CriteriaError(CapacityError):
    """A criterion is unknown, doubled or missing."""


class NotMonotoneError(CapacityError):
    """A larger set is worth less than a smaller one."""


class TooLargeError(CapacityError):
    """The answer exists but is more work than fits; the message says what to use instead."""


class RuleSyntaxError(SugenetError):
    """A rule or a possibilistic base cannot be read."""
