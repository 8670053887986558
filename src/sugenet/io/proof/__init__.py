"""Verify imports: interpreters run the source, on random samples and near thresholds."""

__all__: list[str] = []
