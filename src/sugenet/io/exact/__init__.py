"""From chains of operations to exact networks: what every importer ends with."""

__all__: list[str] = []
