"""Engines: each decides problems by its own method and returns that a problem holds, fails or is open."""

__all__: list[str] = []
