"""The native `.sugenet` format."""

__all__: list[str] = []
