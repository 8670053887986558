"""Read Marabou's input queries: a network and a question about it in one text file."""

__all__: list[str] = []
