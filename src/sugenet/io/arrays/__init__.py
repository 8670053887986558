"""Read networks stored as plain arrays, in `.npz` files or folders of CSV files."""

__all__: list[str] = []
