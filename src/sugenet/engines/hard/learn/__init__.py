"""Search that learns from what it ran into."""

__all__: list[str] = []
