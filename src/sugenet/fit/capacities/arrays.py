"""Rated samples as arrays, for what learns from them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.rated import RatedSamples

__all__ = ["SampleArrays"]

_SMALL = 1 << 61


class SampleArrays(RatedSamples):
    """Samples with their values and ratings as arrays too."""

    @cached_property
    def x(self) -> npt.NDArray[Any]:
        """The rows as an array, of Python's numbers where they are large."""
        shape = len(self.rows), len(self.criteria)
        return np.array(self.rows, dtype=self._kind).reshape(shape)

    @cached_property
    def a(self) -> npt.NDArray[Any]:
        """The ratings as an array."""
        return np.array(self.ratings, dtype=self._kind)

    @property
    def _kind(self) -> Any:
        return np.int64 if self.top < _SMALL else object
