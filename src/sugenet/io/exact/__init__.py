"""Turn chains of operations into exact networks. This is the last step of every importer."""

__all__: list[str] = []
