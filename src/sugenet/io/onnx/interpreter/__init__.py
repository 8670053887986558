"""An interpreter of ONNX operators, written from their specification:
to compare with what the reader made of a file.
"""

__all__: list[str] = []
