"""Dual bounds in exact integers through all layers, with branching."""

__all__: list[str] = []
