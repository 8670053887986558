"""ONNX files, read into chains of operations and written from networks; without the onnx package."""

__all__: list[str] = []
