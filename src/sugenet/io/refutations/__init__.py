"""Write proofs of certificates as files for other checkers."""

__all__: list[str] = []
