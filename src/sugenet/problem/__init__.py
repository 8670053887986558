"""A question in its simplest form: where an input may go, what counts as a violation,
and what can be said of it.
"""

__all__: list[str] = []
