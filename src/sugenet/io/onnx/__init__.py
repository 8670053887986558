"""Read ONNX files into chains of operations, and write networks as ONNX files, without the onnx package."""

__all__: list[str] = []
