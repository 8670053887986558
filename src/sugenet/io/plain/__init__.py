"""Plain files: JSON, CSV, `.npz` archives, and the account of what was taken from them; nothing in them is run."""

__all__: list[str] = []
