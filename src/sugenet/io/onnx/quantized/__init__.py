"""Read integer networks in ONNX files, as `onnxruntime.quantization` writes them, as layers of staircases."""

__all__: list[str] = []
