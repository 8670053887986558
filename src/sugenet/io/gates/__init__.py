"""Read logic-gate networks: layers of gates with two inputs, and sums of gates as class scores."""

__all__: list[str] = []
