"""Read parameter folders of BNN-PYNQ: packed words for the processing elements of an accelerator."""

__all__: list[str] = []
