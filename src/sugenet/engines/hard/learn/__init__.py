"""Conflict-driven search with clause learning."""

__all__: list[str] = []
