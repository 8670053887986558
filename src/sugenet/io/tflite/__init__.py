"""Read TensorFlow Lite files: 8-bit networks, and binarized ones from Larq Compute Engine."""

__all__: list[str] = []
