"""Which engine counts the matches: the interface both engines have, and the one place where one is chosen.

The name comes from the argument ``engine=``; ``"auto"`` asks the environment variable ``SUGENET_ENGINE``, and
without one it is compiled kernels as soon as they are on this machine or compiling pays, NumPy until then.
Where numba cannot be imported, ``"auto"`` falls back to ``"numpy"`` with a warning, and without one where
``NUMBA_DISABLE_JIT`` is set; an engine asked for by name is used or refused, never replaced.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from sugenet.bits.compile_policy import ENGINE, is_disabled, see_compiler
from sugenet.bits.conv import LevelMap, MapLayer
from sugenet.bits.words import Words
from sugenet.compiling import space_missing
from sugenet.errors import SugenetError

__all__ = [
    "CountingEngine",
    "Counts",
    "EngineName",
    "LevelProgram",
    "MapProgram",
    "Neurons",
    "Program",
    "engine_named",
    "prepare",
]

EngineName = Literal["auto", "numba", "numpy"]
Counts = npt.NDArray[np.int32]

_VARIABLE = ENGINE


class Neurons(Protocol):
    """What an engine reads of a layer."""

    @property
    def positive(self) -> Words: ...
    @property
    def negative(self) -> Words: ...
    @property
    def tau(self) -> npt.NDArray[np.int64]: ...
    @property
    def lam_sizes(self) -> npt.NDArray[np.int64]: ...
    @property
    def width(self) -> int: ...
    @property
    def is_dense(self) -> bool: ...


class Program(Protocol):
    """A chain of layers made ready to run; inputs have been checked before."""

    def match_counts(self, words: Words, threads: int | None) -> Counts:
        """Return the match counts of the last layer, the ones before it having given their activity."""

    def activity(self, words: Words, threads: int | None) -> Words:
        """Return the packed activity of the last layer."""


class MapProgram(Protocol):
    """A chain of convolutions and pooling made ready to run; inputs have been checked before."""

    def activity(self, inputs: npt.NDArray[Any], threads: int | None) -> Words:
        """Return the packed maps of the last layer, from packed maps or,
        where the first layer reads levels, from flat levels.
        """


class LevelProgram(Protocol):
    """A chain of layers of staircases made ready to run; inputs have been checked before."""

    def levels(self, inputs: npt.NDArray[Any], threads: int | None) -> npt.NDArray[Any]:
        """Return the levels of the last layer, flat."""

    def sums(self, inputs: npt.NDArray[Any], threads: int | None) -> npt.NDArray[Any]:
        """Return the sums of the last layer, which has no steps."""


class CountingEngine(Protocol):
    """One way of counting matches."""

    @property
    def name(self) -> str:
        """The word by which the engine is chosen."""

    def program(self, layers: Sequence[Neurons]) -> Program:
        """Make a chain of layers ready to run."""

    def maps(self, layers: Sequence[MapLayer]) -> MapProgram:
        """Make a chain of convolutions and pooling ready to run."""

    def levels(self, layers: Sequence[LevelMap]) -> LevelProgram:
        """Make a chain of layers of staircases ready to run."""

    def prepare(self, notify: Callable[[str], None] | None = None, *, levels: bool = False) -> None:
        """Load whatever the first run would have to wait for, that of levels where asked, and call `notify`
        before a wait of seconds.
        """


def engine_named(name: str = "auto") -> CountingEngine:
    """Return the engine called `name`; ``"auto"`` is decided here."""
    source = "engine"
    if name == "auto" and os.environ.get(_VARIABLE):
        name, source = os.environ[_VARIABLE], f"the environment variable {_VARIABLE}"
    if name not in ("auto", "numba", "numpy"):
        raise SugenetError(f'{source} is {name!r}, but must be "auto", "numba" or "numpy".')
    if name == "auto" and (missing := space_missing()):
        warnings.warn(f"{missing}. Until then the slower NumPy engine is used.", RuntimeWarning, stacklevel=3)
        name = "numpy"
    if name == "auto" and is_disabled():
        name = "numpy"
    if name != "numpy":
        see_compiler()
        try:
            if name == "numba":
                from sugenet.bits.numba_engine import NumbaEngine

                return NumbaEngine()
            from sugenet.bits.numba_engine import AutomaticEngine

            return AutomaticEngine()
        except ImportError as error:
            if name == "numba":
                raise SugenetError(
                    f'The engine "numba" was asked for by {source}, but numba cannot be imported ({error}). '
                    f'Install it with: pip install numba. Or use engine="numpy", which needs no compiler.'
                ) from error
            warnings.warn(
                f"numba cannot be imported ({error}), so the slower NumPy engine is used. "
                f"Install numba for speed, or set {_VARIABLE}=numpy to choose this engine without a warning.",
                RuntimeWarning,
                stacklevel=3,
            )
    from sugenet.bits.numpy_engine import NumpyEngine

    return NumpyEngine()


def prepare(
    engine: EngineName = "auto", notify: Callable[[str], None] | None = None, *, levels: bool = False
) -> EngineName:
    """Load the kernels now, and say so before they have to be compiled.

    Kernels are compiled once for a machine and then read from a cache on disk, in a few hundredths of a
    second. A program with a face calls this at its start, so that a person who waits knows why.

    Parameters
    ----------
    engine : {"auto", "numba", "numpy"}
        The engine to make ready.
    notify : callable, optional
        Called with one sentence before a wait of seconds; not called when nothing has to be compiled.
    levels : bool
        Whether layers over levels will run, too: they have a kernel of their own.

    Returns
    -------
    str
        The name of the engine that "auto" stands for from now on.

    Examples
    --------
    >>> prepare("numpy", notify=print)
    'numpy'
    """
    chosen = engine_named(engine)
    chosen.prepare(notify, levels=levels)
    return "numpy" if chosen.name == "numpy" else "numba"
