"""Read PyTorch modules and checkpoints into chains of operations."""

__all__: list[str] = []
