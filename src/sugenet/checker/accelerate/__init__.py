"""Compiled forms of the rules: faster than the plain forms in `rules`, which define them."""

__all__: list[str] = []
