"""Plain files: JSON, CSV, `.npz` archives, and a record of which entries were read."""

__all__: list[str] = []
