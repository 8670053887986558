"""Queries over boxes of real values."""

__all__: list[str] = []
