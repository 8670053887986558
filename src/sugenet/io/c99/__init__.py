"""Write networks as one file of portable C99, for microcontrollers and any other C compiler."""

__all__: list[str] = []
