"""Engines: each decides a problem by one way of its own, and hands up that it holds, fails or is open."""

__all__: list[str] = []
