"""Plain files: JSON, CSV, `.npz` archives, and the account of what was taken from them."""

__all__: list[str] = []
