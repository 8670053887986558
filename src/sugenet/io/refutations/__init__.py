"""Proofs of certificates as files for other people's checkers."""

__all__: list[str] = []
