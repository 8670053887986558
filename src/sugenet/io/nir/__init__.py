"""Read NIR files: graphs of spiking neurons in HDF5."""

__all__: list[str] = []
