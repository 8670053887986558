"""An import proves itself: judges say what the source computes, on random samples and near thresholds."""

__all__: list[str] = []
