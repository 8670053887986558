"""An interpreter of ONNX operators, written from their specification:
the judge of what the reader made of a file.
"""

__all__: list[str] = []
