"""An interpreter of ONNX operators, written from their specification, to verify the reader of a file."""

__all__: list[str] = []
