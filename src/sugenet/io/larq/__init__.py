"""Larq and Keras `.h5` files, read into chains of operations without TensorFlow."""

__all__: list[str] = []
