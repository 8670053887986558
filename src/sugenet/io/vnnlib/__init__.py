"""Queries of the verification competition: boxes over inputs, linear conditions over outputs."""

__all__: list[str] = []
