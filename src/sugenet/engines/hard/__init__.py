"""Engines for hard questions: those that bounds and walks do not decide."""

__all__: list[str] = []
