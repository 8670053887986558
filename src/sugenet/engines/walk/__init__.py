"""Walks: enumeration of sets of moves, and random search over them."""

__all__: list[str] = []
