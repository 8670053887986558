"""Files in and out. The native format keeps a network exactly, and every damaged bit of a file is noticed (docs/format.md)."""

from sugenet.io.native import load, save
from sugenet.io.samples import read_samples
from sugenet.io.texts import read_json, write_text

__all__ = ["load", "read_json", "read_samples", "save", "write_text"]
