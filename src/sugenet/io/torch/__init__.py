"""PyTorch modules and checkpoints, read into chains of operations."""

__all__: list[str] = []
