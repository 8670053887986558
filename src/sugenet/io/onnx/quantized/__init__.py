"""Integer networks in ONNX files, as `onnxruntime.quantization` writes them, read as layers of staircases."""

__all__: list[str] = []
