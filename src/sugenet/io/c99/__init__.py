"""Networks as one file of portable C99, for microcontrollers and everything else that has a C compiler."""

__all__: list[str] = []
