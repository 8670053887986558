"""Read Larq and Keras `.h5` files into chains of operations, without TensorFlow."""

__all__: list[str] = []
