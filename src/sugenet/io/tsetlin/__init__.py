"""Read Tsetlin machines: clauses over Boolean literals, and their votes."""

__all__: list[str] = []
