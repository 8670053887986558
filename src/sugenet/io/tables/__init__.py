"""Read networks of look-up tables: layers of truth tables over a few bits, and votes of the last bits."""

__all__: list[str] = []
