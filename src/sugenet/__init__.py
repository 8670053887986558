"""Binarized neural networks read exactly as Sugeno integrals: which rule fired, what would change the answer, can it fail."""

from sugenet import capacity, errors

__version__ = "0.1.0"

__all__ = ["capacity", "errors"]
