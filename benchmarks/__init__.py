"""Figures of the README and docs, each from a script: ``python -m benchmarks.NAME [--quick]``."""
