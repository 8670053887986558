"""Whole data sets: one question asked of every sample, kept in one file that survives and resumes."""

__all__: list[str] = []
