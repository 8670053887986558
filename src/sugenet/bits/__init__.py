"""Packed 64-bit words, bytes and compiled kernels: the fast version of `sugenet.nn`, with bit-identical
answers.

Feature ``i`` is bit ``i % 64`` of word ``i // 64``; bit 1 is +1 and bit 0 is -1. A `PackedLayer` holds many
neurons over one input space, and a `PackedNetwork` a chain of them with a head. `PackedMaps` is a chain of
convolutions and pooling, and `LevelMaps` a chain of layers over levels, one byte each. All have one of two
engines: ``"numba"`` (compiled, fast) and ``"numpy"`` (no compiler needed). Importing this package imports
neither compiler nor kernels; creating the first layer does.

Examples
--------
>>> import numpy as np
>>> from sugenet.bits import PackedLayer, pack_signs, unpack
>>> layer = PackedLayer.from_arrays(np.array([[1, -1, 1], [0, 1, 0]], np.int8), tau=[2, 1])
>>> words = pack_signs(np.array([[1, 1, 1], [-1, -1, -1]]))
>>> layer.match_counts(words)
array([[2, 1],
       [1, 0]], dtype=int32)
>>> unpack(layer.activity(words), 2)
array([[ True,  True],
       [False, False]])
"""

from sugenet.bits.conv import LevelConv, PackedConv, PackedPool
from sugenet.bits.engine import EngineName, prepare
from sugenet.bits.layer import PackedLayer, PackedNetwork
from sugenet.bits.maps import LevelMaps, PackedMaps, map_columns, pack_maps, unpack_maps
from sugenet.bits.window import Window
from sugenet.bits.words import pack, pack_signs, unpack, words_for

__all__ = [
    "EngineName",
    "LevelConv",
    "LevelMaps",
    "PackedConv",
    "PackedLayer",
    "PackedMaps",
    "PackedNetwork",
    "PackedPool",
    "Window",
    "map_columns",
    "pack",
    "pack_maps",
    "pack_signs",
    "prepare",
    "unpack",
    "unpack_maps",
    "words_for",
]
