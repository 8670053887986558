"""Problems in their simplest form: the inputs that are allowed, the goal that counts as a violation,
and the outcomes.
"""

__all__: list[str] = []
